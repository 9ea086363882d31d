// Speaking: directly in a pair room, and by stick and draft in a room with a stick.

import { keepAndDraw } from '/page/kept.js';
import { free, heard, holds, lined, message, unlined } from '/page/room.js';
import { call } from '/page/server.js';
import { changed, state } from '/page/state.js';

// The largest length of one append, in characters.
const PIECE = 200;

// The shortest time between two typing notices, in milliseconds.
const TYPING_EVERY = 3_000;

let typedAt = 0;

// Whether this room requires the stick.
export const asksForStick = (room) => room.kind === 'named' && state.overview?.stick !== 'optional';

// Claims the stick, or reads the user's place in line.
export async function claim(room) {
  const answer = await call('talking_stick', { room_id: room.id });
  // No event announces the end of a mute: it shows when a message succeeds.
  room.muted = null;
  const me = { user_id: state.me.userId, display_name: state.me.name };
  if (answer.status === 'granted') {
    room.stick.holder = me;
    room.stick.epoch = answer.epoch;
    room.stick.until = serverNow() + answer.lease_expires_in_seconds * 1_000;
  } else {
    lined(room, me, me.user_id, answer.place);
  }
  if (state.skew !== undefined) heard(room, serverNow());
  changed();
  return answer.status;
}

// Releases the stick without a message, or withdraws the claim. The draft is cleared.
export async function handBack(room) {
  await call('reset', { room_id: room.id });
  room.draft = [];
  if (holds(room, state.me.userId)) free(room);
  unlined(room, { user_id: state.me.userId }, state.me.userId);
  keepAndDraw();
}

// The draft and the text, as one message.
function whole(room) {
  const draft = room.draft.join('');
  const text = room.text.trim();
  return `${draft}${draft !== '' && text !== '' && /\S$/.test(draft) ? ' ' : ''}${text}`.trim();
}

// The largest number of members that a message is addressed to.
const MOST_ADDRESSEES = 16;

// The members that the text names after an `@`.
function addressees(room, text) {
  const ends = (rest) => !/^[\p{L}\p{N}]/u.test(rest);
  const lower = text.toLowerCase();
  const isNamed = (name) => lower.split(`@${name.toLowerCase()}`).slice(1).some(ends);
  const others = [...room.members.values()].filter((user) => user.user_id !== state.me.userId);
  return others.filter((user) => isNamed(user.display_name)).slice(0, MOST_ADDRESSEES);
}

// Why the message cannot be sent: it is too long. Null if it is not.
export function tooLong(room) {
  const most = state.overview?.max_message ?? Infinity;
  const length = [...whole(room)].length;
  if (length <= most) return null;
  const [all, limit, over] = [length, most, length - most].map((n) => n.toLocaleString());
  return `A message has at most ${limit} characters, and this one ${all}: shorten it by ${over}.`;
}

// Sends the draft and the text in one call, and passes the stick on.
export async function say(room) {
  const text = whole(room);
  const written = room.text;
  if (text === '') return;
  const sending = { text };
  room.sending = [...room.sending, sending];
  room.text = '';
  changed();
  try {
    const to = addressees(room, text);
    const sent = await call('send_message', { room_id: room.id, message: text, to: to.map((user) => user.user_id) });
    room.muted = null;
    room.turnsLeft = sent.turns_left ?? null;
    room.draft = [];
    said(room, sent, to, text);
  } catch (error) {
    // A text that was not sent returns to the text field.
    room.text = room.text === '' ? written : `${written}\n${room.text}`;
    throw blame(room, error);
  } finally {
    room.sending = room.sending.filter((one) => one !== sending);
    keepAndDraw();
  }
  if (asksForStick(room)) await handBack(room);
}

// Appends the text to the draft, in pieces that the server accepts.
export async function append(room) {
  // Pieces are joined as they are: sentences need a space between them.
  const last = room.draft.at(-1) ?? ' ';
  if (/\S$/.test(last) && /^\S/.test(room.text)) room.text = ` ${room.text}`;
  while (room.text.trim() !== '') {
    const characters = [...room.text];
    const piece = characters.slice(0, PIECE).join('');
    try {
      await call('append', { room_id: room.id, text: piece });
    } catch (error) {
      throw blame(room, error);
    }
    room.draft = [...room.draft, piece];
    room.text = room.text.startsWith(piece) ? room.text.slice(piece.length) : room.text;
    keepAndDraw();
  }
  room.text = '';
}

// Removes the last piece from the draft, and returns it to the text field.
export async function undo(room) {
  const answer = await call('undo', { room_id: room.id });
  const piece = room.draft.at(-1) ?? '';
  room.draft = answer.draft_length === 0 ? [] : room.draft.slice(0, -1);
  room.text = piece + room.text;
  keepAndDraw();
}

// The server delivers a message to all but its sender, so it is added here.
function said(room, sent, to, text) {
  const sender = { user_id: state.me.userId, display_name: state.me.name };
  message(room, { ...sent, sender, to, message: text }, state.me.userId);
}

// Applies a refusal to the room's state, and returns it in words for the user.
function blame(room, error) {
  if (error.code === 'stick_required') {
    if (holds(room, state.me.userId)) free(room);
    error.message = 'Your turn ended before you were done. What you wrote is kept: ask for the stick again.';
  } else if (error.code === 'muted') {
    room.muted ??= 'an operator muted you';
  } else if (error.code === 'chat_ended' || error.code === 'not_in_room') {
    room.ended ??= error.message;
  }
  return error;
}

// Notifies the others that the user types, at most every few seconds.
export function typing(room) {
  const mayTell = !asksForStick(room) || holds(room, state.me.userId);
  const now = Date.now();
  if (!mayTell || room.ended || now - typedAt < TYPING_EVERY) return;
  typedAt = now;
  // A failed notice does not matter.
  call('typing', { room_id: room.id }, { tries: 1 }).catch(() => {});
}

// The server's time, estimated from its answers.
export const serverNow = () => Date.now() + (state.skew ?? 0);
