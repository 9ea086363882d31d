// The operator's view: figures, lists, and acts.

import { h } from '/preact/preact.mjs';
import { Fault, Field, submitted, ask as question } from '/page/field.js';
import { act, actAtOnce, choose, context, errors, operator, signIn, signOut, turn } from '/page/operator.js';
import { Clock, Entry, Name, Presence, Words, isolated, span } from '/page/parts.js';
import { entryOf } from '/page/room.js';
import { changed, doing, state } from '/page/state.js';

export function Operator() {
  const it = operator();
  return h('main', { id: 'main', class: it.is === 'in' ? 'operator' : 'narrow' },
    it.is === 'in' ? h(Desk, { it }) : h(Door, { it }));
}

function Door({ it }) {
  if (it.is === 'asking') return h('p', { class: 'muted', role: 'status' }, it.stale ?? 'Asking the server…');
  if (it.is === 'none') {
    return h('section', { class: 'card' },
      h('h1', { tabindex: -1 }, 'No operators here'),
      h('p', null, 'This server was started without operators. Start it with ', h('code', null, '--operator-tokens FILE'), ' to have some.'));
  }
  return h('form', { class: 'card gate', onSubmit: submitted(({ token }) => signIn(token)) },
    h('h1', { tabindex: -1 }, 'Operator'),
    h('p', { class: 'muted' }, 'Sign in with an operator’s token. It is kept in a cookie that no program can read, for this browser alone.'),
    h(Field, { id: 'operator-token', name: 'token', label: 'Operator’s token', type: 'password', required: true, autocomplete: 'current-password' }),
    h('button', { class: 'primary', disabled: state.busy.has('operator') }, 'Sign in'));
}

// The lists, by their routes.
const LISTS = {
  overview: { label: 'Figures', view: Figures },
  participants: { label: 'Participants', view: People },
  rooms: { label: 'Rooms', view: Rooms },
  reports: { label: 'Reports', view: Reports },
  bans: { label: 'Bans', view: Bans },
};

function Desk({ it }) {
  const data = it.data[it.list];
  return [
    h('header', { class: 'room-head' },
      h('div', null,
        h('h1', { tabindex: -1 }, 'Operator'),
        h('p', { class: 'muted', role: 'status' }, it.stale ?? 'Figures and lists update by themselves.')),
      h('button', { class: 'quiet', onClick: signOut }, 'Sign out')),
    h('nav', { class: 'tabs', 'aria-label': 'Lists' },
      Object.entries(LISTS).map(([name, { label }]) => h('button', {
        key: name, 'aria-current': it.list === name ? 'page' : undefined, onClick: () => choose(name),
      }, label))),
    h('div', { class: 'desk' },
      data ? [h(LISTS[it.list].view, { data, it }), h(Pages, { next: data.next, after: it.after[it.list] })] : h('p', { class: 'muted' }, it.stale ? '' : 'Looking…')),
  ];
}

// The way to another part of a long list.
const Pages = ({ next, after }) => (next || after) && h('div', { class: 'actions' },
  after && h('button', { class: 'small', onClick: () => turn(null) }, 'From the beginning'),
  next && h('button', { class: 'small', onClick: () => turn(next) }, 'More'));

const REASON = { name: 'reason', label: 'Reason, which those concerned may see' };

const button = (label, user, onClick, more = '') => h('button', { class: `small ${more}`, onClick }, label, h('span', { class: 'hidden' }, ' ', h(Name, null, user)));

function People({ data, it }) {
  const rows = data.participants.map((one) => ({
    key: one.user_id,
    cells: [
      h(Name, null, one.display_name),
      h('span', { class: 'id' }, one.user_id),
      h('span', null, h(Presence, { is: one.presence }), one.presence === 'present' && 'here', one.muted && h('span', { class: 'chip' }, 'muted')),
      one.rooms.length === 0 ? '–' : h('span', null, one.rooms.map((room) => h('span', { class: 'one', key: room }, h(RoomLabel, { id: room, names: one.room_names })))),
      one.waiting_since ? h(Clock, { at: one.waiting_since }) : '–',
      h('span', { class: 'actions' }, deeds(one)),
    ],
  }));
  return [
    h(Reason, { it, label: 'Reason for your next action; the people concerned may see it' }),
    h(Table, { title: 'Participants', heads: ['Name', 'Id', 'Presence', 'Rooms', 'Waits since', 'Do'], rows, none: 'Nobody is registered.' }),
  ];
}

// A room's label. A room without a name is of two.
const RoomLabel = ({ id, names }) => (names[id] ? [h(Name, null, names[id]), ` (${id})`] : `${id}, a room of two`);

// The same in a text without elements.
const labelOf = (id, names) => (names[id] ? `${isolated(names[id])} (${id})` : `${id}, a room of two`);

// The reason for what is done next. An act takes one press, and can be undone where that is possible.
function Reason({ it, label }) {
  return h('div', { class: 'reason' },
    h(Field, {
      id: 'reason', label, autocomplete: 'off', dir: 'auto', value: it.reason,
      onInput: (event) => { it.reason = event.currentTarget.value; changed(); },
    }),
    h(Fault, { at: 'deed' }));
}

function deeds({ user_id: id, display_name: name, muted, rooms, room_names: names }, reason = '') {
  const who = isolated(name);
  const body = { user_id: id };
  const kick = (room) => actAtOnce('kick', { ...body, room_id: room }, `${who} was removed from ${labelOf(room, names)}, and can join again.`, { reason });
  const choose = () => question({
    title: ['Kick ', h(Name, null, name)], does: 'Kick', danger: true,
    fields: [{ name: 'room_id', label: 'Out of', options: rooms.map((room) => ({ value: room, label: labelOf(room, names) })) }, { ...REASON, value: operator().reason }],
    act: (values) => act('kick', { ...body, ...values }, `${who} was removed, and can join again.`),
  });
  return [
    muted ? unmute(id, name) : mute(id, name, reason),
    rooms.length > 0 && button('Kick', name, () => (rooms.length === 1 ? kick(rooms[0]) : choose())),
    ban(id, name, reason),
  ];
}

const unmute = (id, name) => button('Unmute', name, () => doing(`unmute ${id}`, () => act('unmute', { user_id: id }, `${isolated(name)} may speak again.`), () => 'deed'));

const mute = (id, name, reason) => button('Mute', name, () => actAtOnce('mute', { user_id: id }, `${isolated(name)} may read, but not speak.`, {
  reason, undo: { what: 'unmute', body: { user_id: id }, said: `${isolated(name)} may speak again.` },
}));

const ban = (id, name, reason) => button('Ban', name, () => actAtOnce('ban', { user_id: id }, `${isolated(name)} is banned, and out of every room.`, {
  reason, undo: { what: 'unban', body: { name }, said: `The ban of ${isolated(name)} is lifted. They can join again.` },
}), 'danger');

function Rooms({ data }) {
  const close = ({ room_id, name }) => question({
    title: ['Close ', h(Name, null, name)], text: 'The room ends for all of its members.', fields: [REASON], does: 'Close', danger: true,
    act: (values) => act('close', { room_id, ...values }, `${isolated(name)} is closed.`),
  });
  const rows = data.rooms.map((room) => ({
    key: room.room_id,
    cells: [
      h(Name, null, room.name),
      h('span', { class: 'id' }, room.room_id),
      room.members.toLocaleString(),
      room.holder ? h('span', null, h(Name, null, room.holder.display_name), ` for another ${span(room.lease_expires_in_seconds)}`) : '–',
      room.stick_line.toLocaleString(),
      button('Close', room.name, () => close(room), 'danger'),
    ],
  }));
  return h(Table, { title: 'Named rooms', heads: ['Name', 'Id', 'Members', 'Has the stick', 'In line', 'Do'], rows, none: 'No named room is open.' });
}

function Reports({ data, it }) {
  const who = (user) => h('span', null, h(Name, null, user.display_name ?? user.user_id), h('span', { class: 'muted' }, ` ${user.user_id}`));
  const rows = data.reports.map((one, index) => ({
    key: `${one.at} ${index}`,
    cells: [who(one.about), h(Words, null, one.reason), who(one.by), h(Clock, { at: one.at }), h('span', { class: 'actions' }, onReport(one))],
  }));
  return [
    rows.length > 0 && h(Reason, { it, label: 'Reason for your next action; if empty, the reason of the report' }),
    h(Table, { title: `Reports, the newest first (${data.kept.toLocaleString()} kept)`, heads: ['About', 'Reason', 'By', 'When', 'Do'], rows, none: 'Nobody was reported.' }),
  ];
}

// Of a participant that has gone, a report has no name.
function onReport({ about: { user_id: id, display_name: name }, reason }) {
  if (!name) return h('span', { class: 'muted' }, 'has gone');
  const show = async () => {
    const { rooms } = await context(id);
    question({ title: ['What was said around ', h(Name, null, name)], body: h(Context, { rooms }) });
  };
  return [
    button('What was said', name, () => doing(`context ${id}`, show, () => 'deed')),
    mute(id, name, reason),
    ban(id, name, reason),
  ];
}

// The last messages of the reported participant's rooms.
function Context({ rooms }) {
  const said = rooms.filter((room) => room.messages.length > 0);
  if (said.length === 0) return h('p', null, 'Nothing is kept of the rooms that they are in now.');
  return h('div', { class: 'said', tabindex: 0, role: 'region', 'aria-label': 'Messages' }, said.map((room) => h('section', { key: room.room_id },
    h('h3', null, room.name ? h(Name, null, room.name) : 'A conversation of two'),
    room.messages.map((one) => h(Entry, { key: one.room_seq, entry: entryOf(one), goesOn: false })))));
}

function Bans({ data }) {
  const called = (ban) => ban.name ?? ban.handle_of?.display_name ?? ban.address;
  const lift = (ban) => {
    const which = ban.address ? { address: ban.address } : { name: called(ban) };
    doing('lift', () => act('unban', which, `${isolated(called(ban))} is free again.`), () => 'deed');
  };
  // A handle is unbanned by its owner's name, which mostly is listed, too.
  const one = (ban) => `${ban.measure} ${called(ban)}`;
  const names = new Set(data.bans.filter((ban) => ban.name).map(one));
  const shown = data.bans.filter((ban) => !ban.handle_of || !names.has(one(ban)));
  const by = (ban) => (ban.name ? 'name' : ban.address ? 'address' : 'handle');
  const rows = shown.map((ban) => ({
    key: `${by(ban)} ${ban.handle_of?.user_id ?? called(ban)}`,
    cells: [h(Name, null, called(ban)), by(ban), h(Words, null, ban.reason), ban.by, h(Clock, { at: ban.at }), button('Lift', called(ban), () => lift(ban))],
  }));
  const address = () => question({
    title: 'Ban an address', text: 'All calls from there are refused from now on.', does: 'Ban', danger: true,
    fields: [{ name: 'address', label: 'IP address' }, REASON], act: (values) => act('ban', values, 'Done: the address is banned'),
  });
  return [
    h('div', { class: 'actions' }, h('button', { onClick: address }, 'Ban an address')),
    h(Fault, { at: 'deed' }),
    h(Table, { title: 'Bans', heads: ['Whom', 'By', 'Reason', 'Operator', 'When', 'Do'], rows, none: 'Nobody is banned.' }),
  ];
}

// The figures: rates, times and errors over time, counts and sizes.
function Figures({ data, it }) {
  const tiles = [['Participants', 'participants'], ['Waiting', 'waiting'], ['Rooms', 'rooms']];
  const rate = it.rates.at(-1);
  const each = (n) => (n === undefined ? '–' : n.toLocaleString([], { maximumFractionDigits: 1 }));
  return [
    h('dl', { class: 'tiles' },
      h(Tile, { label: 'Calls a second', value: each(rate?.calls), values: it.rates.map((one) => one.calls) }),
      h(Tile, { label: 'Refusals a second', value: each(rate?.refusals), values: it.rates.map((one) => one.refusals) }),
      h(Tile, { label: 'Half of the calls within', value: short(rate?.half), values: it.rates.map((one) => one.half ?? 0) }),
      h(Tile, { label: '99 of 100 calls within', value: short(rate?.most), values: it.rates.map((one) => one.most ?? 0) })),
    h(Latency, { rates: it.rates }),
    h(Errors, { errors: errors(it) }),
    h('dl', { class: 'tiles' }, tiles.map(([label, key]) => h(Tile, { key, label, value: data[key].toLocaleString(), values: it.looks.map((one) => one[key]) }))),
    h('div', { class: 'columns' },
      h(Counts, { title: 'The stick', counts: data.stick_moves }),
      h(Counts, { title: 'Timers that fired', counts: data.timers_fired }),
      h(Counts, { title: 'Breaks', counts: { ...data.breaks, 'noticed by a boss': data.boss_alerts, 'held back': data.breaks_held } }),
      h(Sizes, { sizes: data.sizes })),
  ];
}

const Tile = ({ label, value, values }) => h('div', { class: 'tile' }, h('dt', null, label), h('dd', null, value), h(Line, { values }));

// A span of seconds, short; without calls there is none.
function short(seconds) {
  if (seconds === null || seconds === undefined) return '–';
  const ms = seconds * 1_000;
  return ms < 1_000 ? `${ms.toLocaleString([], { maximumSignificantDigits: 2 })} ms` : span(seconds);
}

// How long calls took, over the time that this view is open.
function Latency({ rates }) {
  const measured = rates.filter((one) => one.most !== null);
  if (measured.length < 2) return h('p', { class: 'muted' }, 'How long calls take over time is shown after two updates with calls.');
  const highest = Math.max(...measured.map((one) => one.most));
  const first = measured[0].at;
  const width = Math.max(1, measured.at(-1).at - first);
  const points = (name) => measured.map((one) => `${((one.at - first) * 100) / width},${23 - (one[name] * 22) / highest}`).join(' ');
  return h('figure', { class: 'card chart' },
    h('figcaption', null, 'How long calls take'),
    h('p', { class: 'muted' }, `Solid: half of the calls. Dashed: 99 of 100. The highest is ${short(highest)}.`),
    h('svg', { class: 'line', viewBox: '0 0 100 24', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
      h('polyline', { points: points('most'), class: 'dashed', fill: 'none', 'vector-effect': 'non-scaling-stroke' }),
      h('polyline', { points: points('half'), fill: 'none', 'vector-effect': 'non-scaling-stroke' })),
    h('div', { class: 'ends muted' }, h(Clock, { at: new Date(first).toISOString() }), h('span', null, 'now')));
}

function Errors({ errors }) {
  const rows = errors.map(({ code, recent, all }) => ({ key: code, cells: [plain(code), recent.toLocaleString(), all.toLocaleString()] }));
  return h(Table, { title: 'Errors by code', heads: ['Code', 'Since this view opened', 'Since the server started'], rows, figures: true, none: 'No call was refused.' });
}

// The last updates as a line. The figure beside it shows the value in digits.
function Line({ values }) {
  if (values.length < 2) return h('svg', { class: 'line', viewBox: '0 0 100 24', 'aria-hidden': 'true' });
  const most = Math.max(1, ...values);
  const points = values.map((value, index) => `${(index * 100) / (values.length - 1)},${22 - (value * 20) / most}`).join(' ');
  return h('svg', { class: 'line', viewBox: '0 0 100 24', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    h('polyline', { points, fill: 'none', 'vector-effect': 'non-scaling-stroke' }));
}

const plain = (name) => name.replaceAll('_', ' ');

// What happened, the most frequent first. What never did is behind one press.
function Counts({ title, counts }) {
  const all = Object.entries(counts).sort(([, a], [, b]) => b - a);
  return h(Zeros, { title, heads: ['What', 'Times'], all: all.map(([name, times]) => ({ is: times, key: name, cells: [plain(name), times.toLocaleString()] })) });
}

function Zeros({ title, heads, all }) {
  const [some, none] = [all.filter(({ is }) => is > 0), all.filter(({ is }) => is === 0)];
  return h('div', null,
    some.length > 0 ? h(Table, { title, heads, rows: some, figures: true }) : h('p', { class: 'muted' }, `${title}: nothing so far.`),
    none.length > 0 && h('details', null,
      h('summary', { class: 'muted' }, `${none.length} more, all 0`),
      h('p', { class: 'muted' }, none.map(({ cells }) => cells[0]).join(', '))));
}

function Sizes({ sizes }) {
  const all = Object.entries(sizes).sort(([, a], [, b]) => b.size / b.limit - a.size / a.limit);
  return h(Zeros, { title: 'Sizes and their limits', heads: ['What', 'Most now', 'Limit'], all: all.map(([name, { size, limit }]) => ({ is: size, key: name, cells: [plain(name), size.toLocaleString(), limit.toLocaleString()] })) });
}

// A table with a caption. Wide content scrolls within it, also by keys. On a phone its rows are
// shown as cards; roles keep it a table for assistive technology.
function Table({ title, heads, rows, figures = false, none = 'Nothing here.' }) {
  if (rows.length === 0) return h('p', { class: 'empty' }, none);
  return h('div', { class: 'table', tabindex: 0, role: 'region', 'aria-label': title },
    h('table', { role: 'table', class: figures ? 'figures' : 'listing' },
      h('caption', null, title),
      h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, heads.map((head) => h('th', { key: head, scope: 'col', role: 'columnheader' }, head)))),
      h('tbody', { role: 'rowgroup' }, rows.map(({ key, cells }) => h('tr', { key, role: 'row' }, cells.map((cell, index) => (index === 0
        ? h('th', { key: index, scope: 'row', role: 'rowheader' }, cell)
        : h('td', { key: index, role: 'cell', 'data-head': heads[index] }, cell))))))));
}
