// The user's registration: joining, being matched, resuming after a reload, and leaving.

import { keep, keepAndDraw, keepLogs, kept, left, take } from '/page/kept.js';
import { clock, isolated, notice, span } from '/page/parts.js';
import { newest, past } from '/page/log.js';
import { apply, holds, lose, newRoom, noticed, put, readers, resumed } from '/page/room.js';
import { ask, call } from '/page/server.js';
import { BASE, changed, note, state } from '/page/state.js';
import { hush, listen } from '/page/stream.js';

// Whether the registration is new, and no stream was open since.
let isNew = false;

// Joins a room; registers first if needed.
export async function join(name, room) {
  if (!state.me) await takeByName(name);
  const username = state.me?.name ?? name;
  const answer = await call('login', { username, room }).catch((error) => { throw explained(error, username); });
  register(answer);
  const label = state.overview?.named_rooms.find((one) => one.room_id === answer.room_id)?.name ?? room;
  const joined = enter({ id: answer.room_id, kind: 'named', name: label });
  members(joined, answer.next === undefined ? answer.users : await everyone(joined));
  await past(joined, newest(joined));
  keep();
  show('room', joined.id);
  return joined;
}

// Says in words for people why a name is taken: maybe by the user itself, in another browser.
function explained(error, name) {
  if (error.code !== 'name_taken') return error;
  const holder = state.overview?.users.find((user) => user.display_name.toLowerCase() === name?.trim().toLowerCase());
  const taken = `That name is taken: somebody${holder?.presence === 'away' ? ' who is away' : ''} has it, or one that looks like it`;
  if (error.freeAt) error.message = `${taken}, at your own address. If that is you, go on in the browser where you took it. Nobody speaks for it? Then it is free at ${clock(error.freeAt)}.`;
  else if (error.freeAfter) error.message = `${taken}. If that is you, go on in the browser where you took it; else choose another. Whoever is away for ${span(error.freeAfter)} loses its name.`;
  return error;
}

// Enters the queue, or is matched at once.
export async function pair(name, interests) {
  const words = { interests };
  if (!state.me && name) words.display_name = name;
  const answer = await call('enter_queue', words).catch((error) => { throw explained(error, name); });
  state.pairing = { since: Date.now(), interests };
  register(answer);
  waiting(answer);
  keep();
}

function waiting(answer) {
  if (answer.status === 'matched') {
    found(answer.room_id, answer.partner);
    return;
  }
  const { position, queue_length: length, estimated_wait_seconds: estimate } = answer;
  state.pairing = { ...state.pairing, position, length, estimate };
}

function found(id, partner) {
  state.pairing = null;
  const known = state.rooms.get(id);
  // Nothing was said before a pair was found.
  const room = enter({ id, kind: 'pair', name: partner.display_name, partner, more: false });
  members(room, [partner, { user_id: state.me.userId, display_name: state.me.name }]);
  if (known) return;
  show('room', id);
  notice(`You are paired with ${isolated(partner.display_name)}`);
}

// Leaves the queue.
export async function stopWaiting() {
  await call('leave_queue', {});
  state.pairing = null;
  keepAndDraw();
}

// Stores the registration in the answer, unless there is one.
function register(answer) {
  if (state.me) return;
  const { handle, user_id: userId, display_name: name } = answer;
  state.me = { handle, userId, name };
  state.lost = null;
  state.cursor = null;
  state.acknowledged = null;
  isNew = true;
  keep();
  listen(HANDLERS);
}

// Adds a room to the user's rooms.
function enter(what) {
  const known = state.rooms.get(what.id);
  if (known && !known.ended) return known;
  const room = newRoom(what);
  const before = [...state.rooms.values()].find((one) => one.lost && one.kind === what.kind && one.name === what.name);
  if (before) {
    resumed(room, before);
    state.rooms.delete(before.id);
  }
  state.rooms.set(what.id, room);
  return room;
}

function members(room, users) {
  room.members = new Map(users.map((user) => [user.user_id, user]));
}

// The address of a view.
export const addressOf = (view, roomId) => `${BASE}/${{ home: '', operator: 'operator', room: `#${roomId}` }[view]}`;

// Shows a view. The address names it, so that the browser's buttons work.
export function show(view, roomId = null) {
  const path = addressOf(view, roomId);
  if (location.pathname + location.hash !== path) history.pushState(null, '', path);
  look();
}

// Shows the view of the address.
export function look() {
  const id = location.hash.slice(1);
  const before = `${state.view} ${state.roomId}`;
  const operates = location.pathname === addressOf('operator');
  const room = operates ? undefined : state.rooms.get(id);
  if (room) room.unread = 0;
  state.roomId = room ? id : null;
  state.view = operates ? 'operator' : room ? 'room' : 'home';
  state.left = state.me ? [] : left();
  // Errors belong to the view that they occurred in.
  const moved = before !== `${state.view} ${state.roomId}`;
  if (moved) state.faults.clear();
  state.moved ||= moved;
  changed();
}

// Handlers for the stream.
const HANDLERS = {
  event(event) {
    if (event.type === 'gap') return missed(event);
    if (event.type === 'chatroom.found') return found(event.room_id, event.partner);
    const room = state.rooms.get(event.room_id);
    if (!room) return undefined;
    if (event.seq === undefined) return noticed(room, event, state.me.userId, Date.now());
    const spoken = apply(room, event, state.me.userId);
    const looksAway = state.roomId !== room.id || document.hidden;
    if (spoken && looksAway) room.unread += 1;
    if (event.type === 'stick.granted' && holds(room, state.me.userId)) notice(`Your turn in ${isolated(room.name)}`);
    return undefined;
  },
  open() {
    // A new user has missed nothing.
    if (!isNew) refresh();
    isNew = false;
  },
  lost({ bar }) {
    lost(bar ?? 'The server no longer knows you: you were away for too long, or it was restarted.', bar !== null);
  },
};

// Handles a gap: reloads messages; other events are not recovered.
function missed(event) {
  for (const { room_id: id, from_room_seq: from, to_room_seq: to } of event.rooms) {
    const room = state.rooms.get(id);
    if (!room) continue;
    put(room, { seq: to, at: null, kind: 'told', text: `Some of what happened here was missed (${from} to ${to}).` });
    recall(room);
  }
}

// Reloads members and messages: after an interruption, both may have changed.
async function refresh() {
  const all = [...state.rooms.values()].filter((room) => !room.ended).map(recall);
  if (state.pairing) all.push(stillWaiting());
  await Promise.all(all);
}

// All members, which come in parts.
async function everyone(room) {
  const all = [];
  let after;
  do {
    const part = await call('list_users', { room_id: room.id, limit: 1000, ...(after && { after }) });
    all.push(...part.users);
    after = part.next;
  } while (after !== undefined);
  return all;
}

// Acknowledges the events so far, unless the user has not looked at some of them: others see what it has
// read. Then asks who has read what the user said last.
export async function lookForReaders() {
  const { cursor } = state;
  const looked = [...state.rooms.values()].every((room) => room.unread === 0);
  if (looked && cursor !== null && cursor !== state.acknowledged) {
    await call('check', { after: cursor, wait_seconds: 0, max: 1 });
    state.acknowledged = cursor;
  }
  const room = state.rooms.get(state.roomId);
  if (!room || room.ended || !readers(room)?.waits) return;
  for (const { user_id: id, since, read_to } of await everyone(room)) {
    const known = room.members.get(id);
    // Others joined or left while the answer was awaited.
    if (known) Object.assign(known, { since, read_to });
  }
}

async function recall(room) {
  // Events arrive while the answers are awaited.
  const known = newest(room);
  try {
    members(room, await everyone(room));
    await past(room, known);
  } catch (error) {
    if (['chat_ended', 'not_in_room', 'room_not_found'].includes(error.code)) room.ended ??= error.message;
  }
  keepAndDraw();
}

// After a long absence the user is no longer in the queue: enters it again. If it is still in it,
// nothing changes.
async function stillWaiting() {
  try {
    waiting(await call('enter_queue', { interests: state.pairing.interests }));
  } catch (error) {
    // Matched meanwhile: the event follows.
    if (error.code === 'already_chatting') state.pairing = null;
    else if (error.code !== 'already_waiting') note(error.message, 'error');
  }
  keepAndDraw();
}

// Resumes the registration that this tab had before it was reloaded.
export async function resume() {
  const before = kept();
  if (before?.me) {
    take(before.me.userId);
    await goOn(before);
  } else if (before?.lost) {
    state.lost = before.lost;
    restore(before.rooms);
  }
  look();
}

const restore = (rooms) => rooms.forEach((room) => state.rooms.set(room.id, newRoom(room)));

// Goes on with a stored registration, unless the server no longer knows it.
async function goOn(before) {
  const { me, cursor, pairing, rooms } = before;
  Object.assign(state, { me, cursor, pairing, acknowledged: null });
  restore(rooms);
  try {
    await ask('POST', '/reconnect', { body: {}, handle: state.me.handle });
  } catch (error) {
    if (error.code === 'unknown_handle' || error.bar) {
      HANDLERS.lost(error);
      return;
    }
    // The stream reconnects when the server is back.
  }
  look();
  if (!state.gate) listen(HANDLERS);
}

// Goes on with a registration that a tab left.
export async function takeOver({ me }) {
  const before = take(me.userId);
  if (!before) {
    look();
    return;
  }
  await goOn(before);
  keep();
  const [room] = state.rooms.values();
  if (state.me && room) show('room', room.id);
}

// The same for a user that gives its name instead. If the server no longer knows it, the name is
// free.
async function takeByName(name) {
  const one = left().find(({ me }) => me.name === name?.trim());
  if (!one) return;
  const before = take(one.me.userId);
  const { lost: mine } = state;
  await goOn(before);
  if (state.me) return;
  state.lost = mine;
  for (const room of before.rooms) state.rooms.delete(room.id);
}

// Ends a registration that a tab left.
export async function endLeft({ me }) {
  try {
    await ask('POST', '/unregister', { body: {}, handle: me.handle });
  } catch (error) {
    // It had ended before.
    if (error.code !== 'unknown_handle') throw error;
  }
  take(me.userId);
  look();
}

// A page that the browser kept while another one was shown: its registration may be with another
// tab.
export function shownAgain() {
  if (!state.me || take(state.me.userId)) return;
  hush();
  lost('Another tab of this browser goes on with your name.');
}

// Opens the stream again, for example after a token was given.
export const listenAgain = () => listen(HANDLERS);

export async function leaveRoom(room) {
  if (!room.ended) await call('leave_chat', { room_id: room.id });
  state.rooms.delete(room.id);
  keep();
  show('home');
}

// Ends the registration.
export async function signOut() {
  await ask('POST', '/unregister', { body: {}, handle: state.me.handle });
  hush();
  unregistered(null);
  state.rooms.clear();
  keep();
  keepLogs();
  show(state.view === 'operator' ? 'operator' : 'home');
}

// The registration ended without the user. What was said stays on the screen.
function lost(why, barred = false) {
  hush();
  // A copy of this tab may have left it.
  take(state.me.userId);
  unregistered({ why, name: state.me.name, barred });
  for (const room of state.rooms.values()) lose(room, why);
  keep();
  look();
}

const unregistered = (lost) => Object.assign(state, { lost, me: null, pairing: null, cursor: null });

// Joins the rooms again that ended with the registration, and shows the one on the screen.
export async function joinAgain() {
  const { name } = state.lost;
  const rooms = [...state.rooms.values()].filter((room) => room.lost && room.kind === 'named');
  const shown = state.rooms.get(state.roomId)?.name;
  const names = rooms.length > 0 ? rooms.map((room) => room.name) : ['lobby'];
  const joined = [];
  for (const room of names) joined.push(await join(name, room));
  show('room', (joined.find((room) => room.name === shown) ?? joined[0]).id);
}
