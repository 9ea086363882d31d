// The operator's data and acts. The server identifies an operator by a token in the cookie.

import { Refused, UNKNOWN, ask, endSession, giveToken } from '/page/server.js';
import { changed, doing, note, state } from '/page/state.js';

// The first list: figures. The route of a list has its name.
const FIGURES = 'overview';

// The number of items that are asked for at once.
const LIMIT = 200;

// The number of updates in the charts: half an hour.
const LOOKS = 720;

export function operator() {
  state.operator ??= {
    // 'asking', 'out', 'none' (the server has no operators) or 'in'.
    is: 'asking',
    list: FIGURES,
    data: {},
    // The figures of the last updates: { waiting, participants }.
    looks: [],
    // The first and the last reading of the metrics, and the rates between each two: see `read` and `between`.
    first: null,
    last: null,
    rates: [],
    // Why the next act is done.
    reason: '',
    // The place at which the next part of a long list begins.
    after: {},
  };
  return state.operator;
}

// Updates the list on the screen.
export async function look() {
  const it = operator();
  const list = it.list;
  const after = it.after[list];
  const more = after ? `&after=${encodeURIComponent(after)}` : '';
  try {
    it.data[list] = await ask('GET', `/admin/${list}?limit=${LIMIT}${more}`);
    it.is = 'in';
    it.stale = null;
    if (list === FIGURES) {
      it.looks = [...it.looks, it.data[list]].slice(-LOOKS);
      measure(it, read(await ask('GET', '/metrics', { text: true })));
    }
  } catch (error) {
    if (error.code === 'operator_required') it.is = 'out';
    else if (error.code === 'not_found') it.is = 'none';
    else it.stale = error.message;
  }
  changed();
}

function measure(it, now) {
  if (it.last) it.rates = [...it.rates, between(it.last, now)].slice(-LOOKS);
  it.first ??= now;
  it.last = now;
}

export function choose(list) {
  operator().list = list;
  changed();
  look();
}

// Shows the part of the list after this place.
export function turn(after) {
  const it = operator();
  it.after[it.list] = after;
  look();
}

export function signIn(token) {
  return doing('operator', async () => {
    try {
      await giveToken(token);
    } catch (error) {
      if (error.code === 'token_unknown' || error.code === 'token_required') error.message = UNKNOWN;
      throw error;
    }
    await look();
    if (operator().is === 'out') throw new Refused('operator_required', 'That is not the token of an operator.');
  }, () => 'operator-token');
}

export function signOut() {
  return doing('operator', async () => {
    await endSession();
    state.operator = null;
    await look();
  });
}

// Performs an act, and updates the list. `undo` is the act that takes it back: { what, body, said }.
export async function act(what, body, said, undo = null) {
  const { lifted } = await ask('POST', `/admin/${what}`, { body });
  note(lifted === false ? 'There was nothing to lift.' : said, 'info', undo && (() => act(undo.what, undo.body, undo.said)));
  await look();
}

// Performs an act with the reason in the field of the list, or with `reason` where that is empty.
export function actAtOnce(what, body, said, { undo = null, reason = '' } = {}) {
  const why = operator().reason.trim() || reason;
  return doing(`act ${what} ${said}`, async () => {
    if (why === '') throw new Refused('invalid_arguments', 'Say why: those concerned may see it.');
    await act(what, { ...body, reason: why }, said, undo);
  }, (error) => (why === '' || error.message.startsWith('reason') ? 'reason' : 'deed'));
}

// The last messages of the rooms that a participant is in.
export const context = (id) => ask('GET', `/admin/context?user_id=${encodeURIComponent(id)}`);

// Rates and times from the server's metrics, in the text format of Prometheus. A metric counts since
// the start of the server; the difference of two readings is what happened between them.

// Reads what the operator's view shows.
function read(text) {
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
function between(before, now) {
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
export function errors({ first, last: now }) {
  if (!first) return [];
  const rows = ['refusals', 'turnedAway'].flatMap((name) => [...now[name]].map(([code, all]) => ({
    code, all, recent: all - (first[name].get(code) ?? 0),
  })));
  return rows.filter(({ all }) => all > 0).sort((a, b) => b.recent - a.recent || b.all - a.all);
}
