// The page: its frame, its views, and its periodic tasks.

import { h, render } from '/preact/preact.mjs';
import { Dialog, Field, ask as question, submitted } from '/page/field.js';
import { Home } from '/page/home.js';
import { look as lookAsOperator, operator } from '/page/operator.js';
import { Operator } from '/page/operator_view.js';
import { Name } from '/page/parts.js';
import { hasToken, keepLogs, keepToken, leave as leaveToNext } from '/page/kept.js';
import { expire, holds, seen } from '/page/room.js';
import { RoomView } from '/page/room_view.js';
import { addressOf, listenAgain, look, lookForReaders, resume, show, shownAgain, signOut } from '/page/registration.js';
import { ask, forgetToken, giveToken } from '/page/server.js';
import { BASE, changed, dismiss, doing, drawBy, state } from '/page/state.js';

// The time between two updates of the overview, and of clocks, in milliseconds.
const LOOK = 2_500;
const TICK = 1_000;

// The page's name, with that of its realm.
const TITLE = ['Talking Stick', BASE.slice('/r/'.length)].filter(Boolean).join(' · ');

const CONNECTION = {
  retrying: 'Connection lost. Trying again…',
  closing: 'The server is stopping. Waiting for it to come back…',
};

// A link within the page, which keeps the stream open.
function Link({ view, room = null, here, children, ...more }) {
  const href = addressOf(view, room);
  const go = (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    show(view, room);
  };
  return h('a', { ...more, href, onClick: go, 'aria-current': here ? 'page' : undefined }, children);
}

function Top() {
  const leave = () => question({
    title: 'Sign out?',
    text: 'You leave every room and the queue, and your name is free again. If you close this tab instead, the next one can go on as you, for a day.',
    does: 'Sign out',
    danger: true,
    act: signOut,
  });
  const forget = () => question({
    title: 'Forget the token?',
    text: 'The page asks for it again at your next visit. You leave every room and the queue.',
    does: 'Forget it',
    danger: true,
    act: async () => {
      if (state.me) await signOut();
      await forgetToken();
      wake();
    },
  });
  return h('header', { class: 'top' },
    h('a', { class: 'skip', href: '#main', onClick: (event) => { event.preventDefault(); heading()?.focus(); } }, 'To the main part'),
    h(Link, { view: 'home', class: 'brand' }, h('img', { src: '/icon.svg', alt: '', width: 28, height: 28 }), h('span', null, TITLE)),
    h('nav', { 'aria-label': 'Views' },
      h(Link, { view: 'home', here: state.view === 'home' }, 'Who is here'),
      (state.overview?.operators || state.view === 'operator') && h(Link, { view: 'operator', here: state.view === 'operator' }, 'Operator')),
    h('div', { class: 'me' },
      state.me && h('span', { class: 'muted' }, 'You are ', h('strong', null, h(Name, null, state.me.name))),
      !state.gate && state.view !== 'operator' && hasToken() && h('button', { class: 'small quiet forget', onClick: forget }, 'Forget token'),
      state.me && h('button', { class: 'small quiet', onClick: leave }, 'Sign out')));
}

function YourRooms() {
  if (state.rooms.size === 0) return null;
  return h('nav', { class: 'rooms', 'aria-label': 'Your rooms' },
    h('ul', null, h('li', { class: 'home-tab' }, h(Link, { view: 'home', here: false }, 'Who is here')), [...state.rooms.values()].map((room) => h('li', { key: room.id },
      h(Link, { view: 'room', room: room.id, here: state.roomId === room.id, class: room.ended ? 'over' : '' },
        h('span', { class: 'label' }, room.kind === 'pair' && h('span', { class: 'muted' }, 'with '), h(Name, null, room.name)),
        holds(room, state.me?.userId) && h('span', { class: 'chip' }, 'your turn'),
        room.unread > 0 && h('span', { class: 'unread' }, room.unread, h('span', { class: 'hidden' }, ' new')))))));
}

function Notes() {
  return h('div', { class: 'notes' },
    h('div', { role: 'status' }, notes('info')),
    h('div', { role: 'alert' }, notes('error')));
}

const notes = (kind) => state.notes.filter((one) => one.kind === kind).map((one) => h('p', { key: one.id, class: `note ${kind}` },
  h('span', null, one.text),
  one.undo && h('button', { class: 'small', onClick: () => { dismiss(one.id); doing(`undo ${one.id}`, one.undo); } }, 'Undo'),
  h('button', { class: 'small quiet', onClick: () => dismiss(one.id) }, 'Dismiss')));

// The form that replaces the page until there is a token.
function Gate() {
  const submit = ({ token }) => doing('gate', async () => {
    await giveToken(token);
    keepToken(true);
    state.gate = null;
    changed();
    await begin();
  }, () => 'token');
  return h('main', { id: 'main', class: 'narrow' },
    h('form', { class: 'card gate', onSubmit: submitted(submit) },
      h('h1', { tabindex: -1 }, 'A token, please'),
      h('p', { class: 'muted' }, 'This server is for people with a token. Its operator can give you one; it is kept in a cookie for this browser.'),
      state.gate.why && h('p', { class: 'error', role: 'alert' }, state.gate.why),
      h(Field, { id: 'token', name: 'token', label: 'Token', type: 'password', required: true, autocomplete: 'current-password' }),
      h('button', { class: 'primary', disabled: state.busy.has('gate') }, 'Go in')));
}

function App() {
  if (state.gate) return [h(Top), h(Gate), h(Notes)];
  const room = state.rooms.get(state.roomId);
  const trouble = CONNECTION[state.connection] ?? (state.trouble && `${state.trouble} Trying again…`);
  return [
    h(Top),
    h('div', { class: 'line-state', role: 'status' }, trouble && h('p', null, trouble)),
    h('div', { class: `body ${state.rooms.size > 0 ? 'with-rooms' : ''}` },
      h(YourRooms),
      state.view === 'operator' ? h(Operator) : room ? h(RoomView, { key: room.id, room }) : h(Home)),
    h(Notes),
    state.dialog && h(Dialog, { key: state.dialog.key, question: state.dialog }),
  ];
}

const heading = () => document.querySelector('main h1');

function draw() {
  render(h(App), document.getElementById('page'));
  const unread = [...state.rooms.values()].reduce((sum, room) => sum + room.unread, 0);
  const where = state.view === 'operator' ? 'Operator · ' : state.roomId ? `${state.rooms.get(state.roomId)?.name} · ` : '';
  // The stick waits for the user, who looks elsewhere.
  const held = [...state.rooms.values()].find((room) => holds(room, state.me?.userId) && (state.roomId !== room.id || document.hidden));
  document.title = held ? `Your turn · ${held.name} · ${TITLE}` : `${unread > 0 ? `(${unread}) ` : ''}${where}${TITLE}`;
  document.documentElement.classList.toggle('in-room', state.view === 'room');
  // After a change of view, the focus moves to its beginning; in a room, to the text field.
  if (state.moved) {
    state.moved = false;
    wake();
    (document.getElementById('text') ?? heading())?.focus({ preventScroll: false });
    document.querySelector('.rooms a[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }
  // After an error the user is where something is to be changed.
  if (state.focus) document.getElementById(state.focus)?.focus();
  state.focus = null;
}

// Updates the overview, and who has read what, unless the page is hidden.
async function lookAround() {
  if (document.hidden || state.gate) return;
  if (state.view === 'operator') await lookAsOperator();
  try {
    const overview = await ask('GET', '/overview');
    state.overview = overview;
    // The answer may be a second old: the smallest lag seen is the best estimate.
    state.skew = Math.max(state.skew ?? -Infinity, Date.parse(overview.at) - Date.now());
    for (const view of overview.named_rooms) {
      const room = state.rooms.get(view.room_id);
      if (room && !room.ended) seen(room, view, overview.at, state.me?.userId);
    }
    if (state.me) await lookForReaders();
  } catch {
    // The screen stays as it is, and says what is wrong.
  }
  changed();
}

async function lookForEver() {
  for (;;) {
    await lookAround();
    await new Promise((done) => {
      wake = done;
      setTimeout(done, LOOK);
    });
  }
}

let wake = () => {};

// Updates clocks, and removes expired notices.
function tick() {
  const now = Date.now();
  let moves = state.pairing !== null;
  for (const room of state.rooms.values()) {
    const expired = expire(room, now);
    moves ||= expired || room.stick.until !== null;
  }
  if (moves && !document.hidden) changed();
}

// Starts the page, and again after a token was given.
async function begin() {
  if (state.me) listenAgain();
  else await resume();
  wake();
}

// A keyboard may cover a part of the page instead of making it smaller, as on an iPhone. What is left
// of it is the visual viewport, unless the user zooms.
function fit() {
  const { height, offsetTop, scale } = visualViewport;
  const root = document.documentElement.style;
  const covered = scale === 1 && height < innerHeight - 1;
  root.setProperty('--seen', covered ? `${height}px` : '100dvh');
  root.setProperty('--seen-top', covered ? `${offsetTop}px` : '0');
}

drawBy(draw);
visualViewport.addEventListener('resize', fit);
visualViewport.addEventListener('scroll', fit);
addEventListener('pagehide', () => {
  keepLogs();
  leaveToNext();
});
addEventListener('pageshow', (event) => {
  if (event.persisted) shownAgain();
});
// Another tab closed, or took a registration that one left.
addEventListener('storage', look);
addEventListener('popstate', look);
addEventListener('hashchange', look);
document.addEventListener('visibilitychange', () => {
  const room = state.rooms.get(state.roomId);
  if (!document.hidden && room) room.unread = 0;
  if (document.hidden) keepLogs();
  changed();
  wake();
});
setInterval(tick, TICK);
if (location.pathname === addressOf('operator')) operator();
look();
await begin();
lookForEver();
