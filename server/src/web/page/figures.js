// Rates and times from the server's metrics, in the text format of Prometheus. A metric counts since
// the start of the server; the difference of two readings is what happened between them.

// Reads what the operator's view shows.
export function read(text) {
  const reading = { at: Date.now(), calls: new Map(), refusals: new Map(), turnedAway: new Map(), buckets: [] };
  const counts = { calls: reading.calls, refusals: reading.refusals, turned_away: reading.turnedAway };
  for (const [, name, label, value] of text.matchAll(/^talking_stick_(\w+)\{\w+="([^"]*)"\} (\S+)$/gm)) {
    if (name === 'call_seconds_bucket') reading.buckets.push({ upTo: label === '+Inf' ? Infinity : Number(label), count: Number(value) });
    else counts[name?.replace(/_total$/, '')]?.set(label, Number(value));
  }
  return reading;
}

const sum = (counts) => [...counts.values()].reduce((all, one) => all + one, 0);

// What happened between two readings: calls and refusals a second, and within how many seconds half
// and 99 of 100 of the calls were answered; null without calls.
export function between(before, now) {
  const seconds = Math.max(.001, (now.at - before.at) / 1_000);
  const rate = (name) => Math.max(0, sum(now[name]) - sum(before[name])) / seconds;
  const buckets = now.buckets.map(({ upTo, count }, index) => ({ upTo, count: count - (before.buckets[index]?.count ?? 0) }));
  return { at: now.at, calls: rate('calls'), refusals: rate('refusals'), half: within(buckets, .5), most: within(buckets, .99) };
}

// The time within which this share of the calls was answered, interpolated in its bucket.
function within(buckets, share) {
  const wanted = (buckets.at(-1)?.count ?? 0) * share;
  if (!(wanted > 0)) return null;
  const index = buckets.findIndex(({ count }) => count >= wanted);
  const { upTo, count } = buckets[index];
  const { upTo: from, count: less } = buckets[index - 1] ?? { upTo: 0, count: 0 };
  if (upTo === Infinity) return from;
  return from + ((upTo - from) * (wanted - less)) / (count - less);
}

// Refusals and requests that the guard refused, by code, the most frequent first: since the start
// of the server, and since the first reading.
export function errors(first, now) {
  const rows = ['refusals', 'turnedAway'].flatMap((name) => [...now[name]].map(([code, all]) => ({
    code, all, recent: all - (first[name].get(code) ?? 0),
  })));
  return rows.filter(({ all }) => all > 0).sort((a, b) => b.recent - a.recent || b.all - a.all);
}
