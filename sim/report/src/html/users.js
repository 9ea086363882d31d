// The users of a run: a search over all of them, and the lane of a chosen one.

// The diagram of one user, from the packed lanes; none if they do not hold it.
function laneOf(run, row, index) {
  const users = run.lanes ? run.lanes.users : [];
  const lane = users.findIndex((one) => one.user === index);
  if (lane < 0 || users[lane].events.length === 0) return null;
  const events = users[lane].events.map(([kind, label, fate, from_us, to_us, served_us]) => ({
    kind, lane: 0, from_us, to_us: to_us ?? undefined, served_us, label: run.lanes.labels[label], fate, facts: [] }));
  const from_us = events[0].from_us - 1000;
  const to_us = Math.max(...events.map((event) => event.to_us ?? event.from_us)) + 1000;
  const bands = run.lanes.bands.filter((band) => (band.lane === lane || band.lane === users.length) && band.from_us < to_us && band.to_us > from_us);
  const more = users[lane].left_out;
  return { of: 'followed', seed: run.series.seed, property: '', detail: `What ${userName(row)} did and received`, violation_us: from_us, from_us, to_us, events,
    lanes: [{ name: row.user || row.name, persona: row.user ? row.name : '', role: 'bystander' }, { name: 'server', persona: '', role: 'server' }],
    bands: bands.map((band) => ({ ...band, lane: band.lane === lane ? 0 : 1 })),
    left_out: more > 0 ? [`${grouped(more)} later events of this user are not in this file.`] : [] };
}

// The users of a series, whose rows are lists of fields.
const usersOf = (series) => series.users.map(([[user, name], arrived_ms, left_ms, [calls, refused, sent, received]]) => ({ user, name, arrived_ms, left_ms, calls, refused, sent, received }));

// A user, in a list of any kind: its id, and its name in the scenario.
const userName = (row) => (row.user ? `${row.user} (${row.name})` : row.name);

// A word of a shell command.
const shellWord = (word) => (/^[\w.-][\w.#-]*$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

// The longest latencies and waits, each with the lanes of its users.
function slowestSection(run) {
  const metrics = run.series ? Object.entries(run.series.slowest) : [];
  if (metrics.length === 0) return null;
  const listed = new Set(run.series.users.map(([[, name]]) => name));
  const who = (user) => (user === null ? '–' : listed.has(user.name) ? h('button', { type: 'button', class: 'user-link', on: { click: () => run.chooseUser(user.name) } }, userName(user)) : userName(user));
  const crossed = (metric) => run.thresholds.some((threshold) => threshold.met === false && threshold.of === metric);
  const shown = metrics.map(([metric, slow]) => {
    const rows = slow.map((one) => [span(one.took_ms) + (one.open ? ' and on' : ''), clock(one.since_ms), who(one.user), who(one.recipient), one.room ?? '–']);
    return h('details', { 'data-slowest': metric, open: crossed(metric) ? '' : null, tabindex: '-1' }, h('summary', {}, `${metricName(metric)}: the longest ${span(slow[0].took_ms)}`),
      table(metricName(metric), ['#Took', '#From', 'User', 'Seen by', 'Room'], rows, 'tight'));
  });
  return section('slowest', 'What took longest', h('p', { class: 'lead' }, `Of seed ${run.series.seed}. A user's name leads to its lane.`), shown);
}

function toSlowest(event, metric) {
  const place = event.target.closest('main').querySelector(`[data-slowest="${metric}"]`);
  place.open = true;
  place.scrollIntoView();
  place.focus();
}

function usersSection(run) {
  const series = run.series;
  if (!series || series.users.length === 0) return null;
  const stuck = new Set(run.stuck.filter((one) => one.seed === series.seed).map((one) => one.name));
  const all = usersOf(series).map((row, index) => ({ row, index, words: userName(row).toLowerCase() }));
  const end = (row) => (stuck.has(row.name) ? '✗ stuck' : row.left_ms === null ? 'still there at the end' : `done at ${clock(row.left_ms)}`);
  const box = h('div', { class: 'found' });
  const lane = h('div', { class: 'chosen', tabindex: '-1' });
  const count = h('p', { class: 'muted', role: 'status' });
  const choose = ({ row, index }) => {
    const diagram = laneOf(run, row, index);
    lane.replaceChildren(h('h3', {}, userName(row)),
      ...(diagram ? [diagramView(diagram)] : [h('p', { class: 'nothing' }, run.live ? 'A live run does not record packets, so that no lane can be drawn.' : 'The lane of this user is not in this file.')]),
      h('p', { class: 'muted' }, run.live ? 'Everything of this user, line by line: ' : 'This user among those of its rooms, with all facts: ', command(`${run.follow} ${shellWord(row.user || row.name)}`)));
    lane.focus();
  };
  const show = (text) => {
    const wanted = text.trim().toLowerCase();
    const found = all.filter((one) => one.words.includes(wanted));
    count.textContent = `${grouped(found.length)} of ${grouped(all.length + series.users_left_out)} users${series.users_left_out > 0 ? `; the last ${grouped(series.users_left_out)} are not in this file` : ''}`;
    const rows = found.slice(0, 200).map((one) => [h('button', { type: 'button', class: 'user-link', on: { click: () => choose(one) } }, userName(one.row)), clock(one.row.arrived_ms), end(one.row), one.row.calls, one.row.refused, one.row.sent, one.row.received]);
    box.replaceChildren(found.length === 0 ? h('p', { class: 'nothing' }, 'No user has this in its name.') : foldedTable('Users', ['User', 'Arrived', 'End', '#Calls', '#Refused', '#Sent', '#Received'], rows, 'tight'),
      found.length > 200 ? h('p', { class: 'muted' }, 'The first 200 are listed: search for others by name.') : '');
  };
  const search = h('input', { type: 'search', placeholder: 'penpal#12, user_7', 'aria-label': 'Search users by name or id', on: { input: () => show(search.value) } });
  show('');
  run.chooseUser = (name) => choose(all.find((one) => one.row.name === name));
  return section('users', 'Users', h('p', { class: 'lead' }, `Of seed ${series.seed}. Choose one to see its lane: what it sent, what it received, and when.`), h('label', { class: 'search' }, 'Search ', search), count, box, lane);
}
