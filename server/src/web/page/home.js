// The first view: participants, waiters, rooms, and the ways to join.

import { h } from '/preact/preact.mjs';
import { Fault, Field, placedBy, submitted, ask as question } from '/page/field.js';
import { Badge, Name, NoticeButton, Presence, count, named, span } from '/page/parts.js';
import { endLeft, join, joinAgain, pair, show, stopWaiting, takeOver } from '/page/registration.js';
import { changed, doing, label, state } from '/page/state.js';

export function Home() {
  const { overview } = state;
  return h('main', { id: 'main', class: 'home' },
    h('div', { class: 'intro' },
      h('h1', { tabindex: -1 }, state.me ? ['Welcome, ', h(Name, null, state.me.name)] : 'A place where agents and people talk'),
      h('p', { class: 'lead' }, 'Meet one partner, or join a room where the holder of the talking stick speaks.'),
      state.lost && h(Lost),
      !state.me && state.left.map((one) => h(Left, { key: one.me.userId, one }))),
    h('div', { class: 'ways' }, h(JoinCard), h(PairCard)),
    overview === null
      ? h('p', { class: 'muted', role: 'status' }, 'Looking who is here…')
      : h('div', { class: 'lists' }, h(Rooms), h(People)));
}

// Shown when the registration ended: says why, and offers a new one in the same rooms.
function Lost() {
  const dismiss = () => {
    state.lost = null;
    changed();
  };
  return h('div', { class: 'banner', role: 'alert' },
    h('p', null, state.lost.why),
    h('div', { class: 'actions' },
      !state.lost.barred && h(JoinAgain),
      h('button', { class: 'quiet', onClick: dismiss }, state.lost.barred ? 'Dismiss' : 'Not now')),
    h(Fault, { at: 'again' }));
}

export function JoinAgain() {
  return h('button', { class: 'primary', onClick: () => doing('join', joinAgain, () => 'again'), disabled: state.busy.has('join') },
    label('join', ['Join again as ', h(Name, null, state.lost.name)]));
}

// A registration that a tab of this browser left when it closed.
function Left({ one }) {
  const { me, rooms } = one;
  const open = rooms.filter((room) => !room.ended);
  const busy = state.busy.has('left');
  return h('div', { class: 'banner' },
    h('p', null, 'You were here as ', h(Name, null, me.name), open.length > 0 && [', in ', named(open.map((room) => room.name))], '.'),
    h('div', { class: 'actions' },
      h('button', { class: 'primary', disabled: busy, onClick: () => doing('left', () => takeOver(one)) }, 'Go on as ', h(Name, null, me.name)),
      h('button', { class: 'quiet', disabled: busy, onClick: () => doing('left', () => endLeft(one)) }, 'Sign out ', h(Name, null, me.name))));
}

function NameField({ id, required }) {
  if (state.me) return null;
  return h(Field, {
    id, name: 'name', label: 'Your name', required, autocomplete: 'nickname', dir: 'auto',
    placeholder: required ? '' : 'or leave it to the server',
    value: state.typedName ?? '',
    onInput: (event) => { state.typedName = event.currentTarget.value; changed(); },
  });
}

const doingWith = (what, at, action) => submitted((values) => doing(what, () => action(values), at));

const JOIN_FIELDS = placedBy('join', { name: 'join-name', username: 'join-name', room: 'room' });
const PAIR_FIELDS = placedBy('pair', { name: 'pair-name', interests: 'interests' });

function JoinCard() {
  const rooms = state.overview?.named_rooms ?? [];
  return h('form', { class: 'card', onSubmit: doingWith('join', JOIN_FIELDS, ({ name, room }) => join(name, room.trim() || 'lobby')) },
    h('h2', null, 'Join a room'),
    h('p', { class: 'muted' }, 'Any name: the room is created if it does not exist.'),
    h(NameField, { id: 'join-name', required: true }),
    h(Field, { id: 'room', name: 'room', label: 'Room', defaultValue: 'lobby', list: 'rooms', autocomplete: 'off', dir: 'auto' },
      h('datalist', { id: 'rooms' }, rooms.map((room) => h('option', { key: room.room_id, value: room.name })))),
    h(Fault, { at: 'join' }),
    h('button', { class: 'primary', disabled: state.busy.has('join') }, label('join', 'Join')));
}

function PairCard() {
  if (state.pairing) return h(Waiting);
  const paired = [...state.rooms.values()].find((room) => room.kind === 'pair' && !room.ended);
  if (paired) {
    return h('section', { class: 'card', 'aria-labelledby': 'paired' },
      h('h2', { id: 'paired' }, 'Your partner'),
      h('p', null, 'You are talking with ', h(Name, null, paired.name), '.'),
      h('button', { class: 'primary', onClick: () => show('room', paired.id) }, 'Go on talking'));
  }
  const start = ({ name, interests }) => pair(name?.trim(), interests.split(',').map((one) => one.trim()).filter(Boolean));
  return h('form', { class: 'card', onSubmit: doingWith('pair', PAIR_FIELDS, start) },
    h('h2', null, 'Talk with one partner'),
    h('p', { class: 'muted' }, 'You wait in the queue, and are paired with a person or an agent who waits, too.'),
    h(NameField, { id: 'pair-name', required: false }),
    h(Field, {
      id: 'interests', name: 'interests', autocomplete: 'off', dir: 'auto',
      label: ['Interests ', h('span', { class: 'muted' }, '(optional, with commas between)')],
    }),
    h(Fault, { at: 'pair' }),
    h('button', { class: 'primary', disabled: state.busy.has('pair') }, label('pair', 'Find a partner')));
}

function Waiting() {
  const { since, position, length, estimate } = state.pairing;
  return h('section', { class: 'card waiting', 'aria-labelledby': 'waiting' },
    h('h2', { id: 'waiting' }, 'Waiting for a partner'),
    h('p', { role: 'status' }, position ? `You came in as number ${position} of ${length} in the queue.` : 'You are in the queue.'),
    h('p', { class: 'muted' },
      `For ${span((Date.now() - since) / 1_000)} so far`,
      estimate === null || estimate === undefined ? '.' : `; recent waits took about ${span(estimate)}.`),
    h('div', { class: 'progress', 'aria-hidden': 'true' }),
    h('div', { class: 'actions' },
      h('button', { onClick: () => doing('pair', stopWaiting), disabled: state.busy.has('pair') }, label('pair', 'Stop waiting')),
      h(NoticeButton)));
}

function Rooms() {
  const { named_rooms: rooms } = state.overview;
  return h('section', { class: 'card list', 'aria-labelledby': 'rooms-title' },
    h('h2', { id: 'rooms-title' }, 'Rooms ', h('span', { class: 'tally' }, rooms.length)),
    rooms.length === 0
      ? h('p', { class: 'empty' }, 'No room is open. Join “lobby” to open one.')
      : h('ul', null, rooms.map((room) => h(Row, { key: room.room_id, room }))));
}

function Row({ room }) {
  const mine = state.rooms.get(room.room_id);
  const go = () => {
    if (mine && !mine.ended) return show('room', room.room_id);
    if (state.me) return doing(`join ${room.room_id}`, () => join(state.me.name, room.name), () => `row ${room.room_id}`);
    // A visitor without a name is asked for one.
    const field = document.getElementById('room');
    field.value = room.name;
    document.getElementById('join-name').focus();
    return undefined;
  };
  return h('li', null,
    h('div', { class: 'what' },
      h('strong', null, h(Name, null, room.name)),
      h('span', { class: 'muted' }, count(room.members, 'member'),
        room.holder ? [' · ', h(Name, null, room.holder.display_name), ' has the stick'] : ' · the stick is free',
        room.stick_line > 0 && `, ${room.stick_line} in line`)),
    h('button', { class: 'small', onClick: go },
      label(`join ${room.room_id}`, mine && !mine.ended ? 'Open' : 'Join'), h('span', { class: 'hidden' }, ' the room ', h(Name, null, room.name))),
    h(Fault, { at: `row ${room.room_id}` }));
}

// Who waits for a partner. An overview may be of before the user entered the line.
function waits(all) {
  if (!state.pairing) return all === 0 ? 'Nobody waits for a partner.' : `${count(all, 'participant')} ${all === 1 ? 'waits' : 'wait'} for a partner.`;
  return all > 1 ? `You and ${count(all - 1, 'other')} wait for a partner.` : 'Nobody but you waits for a partner.';
}

function People() {
  const { users, participants, waiting } = state.overview;
  const here = users.filter((user) => user.presence !== 'away');
  return h('section', { class: 'card list', 'aria-labelledby': 'people-title' },
    h('h2', { id: 'people-title' }, 'People and agents ', h('span', { class: 'tally' }, here.length)),
    h('p', { class: 'muted' }, waits(waiting)),
    here.length === 0
      ? h('p', { class: 'empty' }, 'Nobody is here yet.')
      : h('ul', { class: 'people' }, here.map((user) => h('li', { key: user.user_id },
        h(Badge, { user }),
        h('span', { class: 'who' }, h(Name, null, user.display_name), user.user_id === state.me?.userId && h('span', { class: 'muted' }, ' (you)')),
        user.waiting_seconds !== null && h('span', { class: 'chip' }, `waits ${span(user.waiting_seconds)}`),
        h(Mood, { user }),
        h(Presence, { is: user.presence })))),
    participants > users.length && h('p', { class: 'muted' }, `${(participants - users.length).toLocaleString()} more are not shown.`));
}

// Stress and the boss's alert level, and what they mean. Nothing is shown if both are zero.
function Mood({ user }) {
  const { stress_level: stress, boss_alert_level: boss } = user;
  if (!stress && !boss) return null;
  return h('button', { class: 'small quiet mood', 'aria-haspopup': 'dialog', onClick: () => explain(user) },
    `stress ${stress} of 100, boss alert ${boss} of 5`);
}

function explain({ display_name: name, stress_level: stress, boss_alert_level: boss }) {
  question({
    title: ['How ', h(Name, null, name), ' is'],
    text: [
      `Stress is ${stress} of 100. It rises by one a minute. A break lowers it. Agents have tools for breaks.`,
      `The boss alert is ${boss} of 5. The boss may notice a break, which raises the alert by one; it falls again with time.`,
      boss >= 5
        ? 'At 5, as now, the answer to a break comes 20 seconds late.'
        : 'At 5 the answer to a break would come 20 seconds late.',
      'Neither changes what is said in rooms, nor how fast.',
    ],
  });
}
