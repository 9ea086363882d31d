// The operator's view: figures, lists, and acts.

import { h } from '/preact/preact.mjs';
import { ask as question } from '/page/dialog.js';
import { Field } from '/page/field.js';
import { LISTS, act, choose, operator, signIn, signOut, turn } from '/page/operator.js';
import { Clock, Name, Presence, Words, isolated, span } from '/page/parts.js';
import { state } from '/page/state.js';

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
  const submit = (event) => {
    event.preventDefault();
    signIn(new FormData(event.currentTarget).get('token'));
  };
  return h('form', { class: 'card gate', onSubmit: submit },
    h('h1', { tabindex: -1 }, 'Operator'),
    h('p', { class: 'muted' }, 'Sign in with an operator’s token. It is kept in a cookie that no program can read, for this browser alone.'),
    h(Field, { id: 'operator-token', name: 'token', label: 'Operator’s token', type: 'password', required: true, maxlength: 512, autocomplete: 'current-password' }),
    h('button', { class: 'primary', disabled: state.busy.has('operator') }, 'Sign in'));
}

const VIEWS = { figures: Figures, people: People, rooms: Rooms, reports: Reports, bans: Bans };

function Desk({ it }) {
  const data = it.data[it.list];
  return [
    h('header', { class: 'room-head' },
      h('div', null,
        h('h1', { tabindex: -1 }, 'Operator'),
        h('p', { class: 'muted', role: 'status' }, it.stale ?? 'Figures and lists follow by themselves.')),
      h('button', { class: 'quiet', onClick: signOut }, 'Sign out')),
    h('nav', { class: 'tabs', 'aria-label': 'Lists' },
      Object.entries(LISTS).map(([name, { label }]) => h('button', {
        key: name, 'aria-current': it.list === name ? 'page' : undefined, onClick: () => choose(name),
      }, label))),
    h('div', { class: 'desk' },
      data ? h(VIEWS[it.list], { data, it }) : h('p', { class: 'muted' }, it.stale ? '' : 'Looking…')),
  ];
}

function Figures({ data, it }) {
  const tiles = [['Participants', 'participants'], ['Waiting', 'waiting'], ['Rooms', 'rooms']];
  return [
    h('dl', { class: 'tiles' }, tiles.map(([label, key]) => h('div', { key, class: 'tile' },
      h('dt', null, label), h('dd', null, data[key].toLocaleString()),
      h(Line, { values: it.looks.map((one) => one[key]), label })))),
    h('div', { class: 'columns' },
      h(Counts, { title: 'The stick', counts: data.stick_moves }),
      h(Counts, { title: 'Timers that fired', counts: data.timers_fired }),
      h(Counts, { title: 'Breaks', counts: { ...data.breaks, 'noticed by a boss': data.boss_alerts, 'held back': data.breaks_held } }),
      h(Sizes, { sizes: data.sizes })),
  ];
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

function Counts({ title, counts }) {
  return h(Table, { title, heads: ['What', 'Times'], rows: Object.entries(counts).map(([name, times]) => ({ key: name, cells: [plain(name), times.toLocaleString()] })), figures: true });
}

function Sizes({ sizes }) {
  const rows = Object.entries(sizes).map(([name, { size, limit }]) => ({ key: name, cells: [plain(name), size.toLocaleString(), limit.toLocaleString()] }));
  return h(Table, { title: 'Sizes and their limits', heads: ['What', 'Most now', 'Limit'], rows, figures: true });
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

function Pages({ list, data, it }) {
  if (!data.next && !it.after[list]) return null;
  return h('div', { class: 'actions' },
    it.after[list] && h('button', { class: 'small', onClick: () => turn(list, null) }, 'From the beginning'),
    data.next && h('button', { class: 'small', onClick: () => turn(list, data.next) }, 'More'));
}

const REASON = { name: 'reason', label: 'Reason, which those concerned may see' };

const button = (label, user, onClick, more = '') => h('button', { class: `small ${more}`, onClick }, label, h('span', { class: 'hidden' }, ' ', h(Name, null, user)));

function People({ data, it }) {
  const rows = data.participants.map((one) => ({
    key: one.user_id,
    cells: [
      h(Name, null, one.display_name),
      h('span', { class: 'id' }, one.user_id),
      h('span', null, h(Presence, { is: one.presence }), one.presence === 'present' && 'here', one.muted && h('span', { class: 'chip' }, 'muted')),
      one.rooms.join(', ') || '–',
      one.waiting_since ? h(Clock, { at: one.waiting_since }) : '–',
      h('span', { class: 'actions' }, deeds(one)),
    ],
  }));
  return [
    h(Table, { title: 'Participants', heads: ['Name', 'Id', 'Presence', 'Rooms', 'Waits since', 'Do'], rows, none: 'Nobody is registered.' }),
    h(Pages, { list: 'people', data, it }),
  ];
}

// A room's label, as far as the page knows it.
function labelOf(id) {
  const named = state.overview?.named_rooms.find((room) => room.room_id === id);
  return named ? `${isolated(named.name)} (${id})` : `${id}, a room of two`;
}

function deeds({ user_id, display_name: name, muted, rooms }) {
  const who = isolated(name);
  const asks = (title, what, fields, text = null) => () => question({
    title, text, fields, does: title.split(' ')[0], danger: true,
    act: (values) => act(what, { user_id, ...values }, `Done: ${title}`),
  });
  const choices = rooms.map((room) => ({ value: room, label: labelOf(room) }));
  return [
    muted
      ? button('Unmute', name, () => question({ title: `Unmute ${who}`, does: 'Unmute', act: () => act('unmute', { user_id }, `Done: Unmute ${who}`) }))
      : button('Mute', name, asks(`Mute ${who}`, 'mute', [REASON], 'A muted user can read, but may not speak anywhere.')),
    rooms.length > 0 && button('Kick', name, asks(`Kick ${who}`, 'kick', [{ name: 'room_id', label: 'Out of', options: choices }, REASON])),
    button('Ban', name, asks(`Ban ${who}`, 'ban', [REASON], 'Puts them out of every room, and keeps the name from coming back.'), 'danger'),
  ];
}

function Rooms({ data, it }) {
  const close = ({ room_id, name }) => question({
    title: `Close ${isolated(name)}`, text: 'The room ends for all of its members.', fields: [REASON], does: 'Close', danger: true,
    act: (values) => act('close', { room_id, ...values }, `Done: Close ${isolated(name)}`),
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
  return [
    h(Table, { title: 'Named rooms', heads: ['Name', 'Id', 'Members', 'Has the stick', 'In line', 'Do'], rows, none: 'No named room is open.' }),
    h(Pages, { list: 'rooms', data, it }),
  ];
}

function Reports({ data }) {
  const who = (user) => h('span', null, h(Name, null, user.display_name ?? user.user_id), h('span', { class: 'muted' }, ` ${user.user_id}`));
  const rows = data.reports.map((one, index) => ({
    key: `${one.at} ${index}`,
    cells: [who(one.about), h(Words, null, one.reason), who(one.by), h(Clock, { at: one.at })],
  }));
  return h(Table, { title: `Reports, the newest first (${data.kept.toLocaleString()} kept)`, heads: ['About', 'Reason', 'By', 'When'], rows, none: 'Nobody was reported.' });
}

function Bans({ data, it }) {
  const called = (ban) => ban.name ?? ban.handle_of?.display_name ?? ban.address;
  const lift = (ban) => {
    const which = ban.address ? { address: ban.address } : { name: called(ban) };
    question({ title: `Lift the ban of ${isolated(called(ban))}`, does: 'Lift it', act: () => act('unban', which, 'Done: the ban is lifted') });
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
    h(Table, { title: 'Bans', heads: ['Whom', 'By', 'Reason', 'Operator', 'When', 'Do'], rows, none: 'Nobody is banned.' }),
    h(Pages, { list: 'bans', data, it }),
  ];
}
