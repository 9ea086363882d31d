// Speaking: at once in a room of two, and by stick and draft in a room that has a stick.

import { free, holds, message } from '/page/room.js';
import { call } from '/page/server.js';
import { changed, keep, state } from '/page/state.js';

// How much one append takes, in characters.
const PIECE = 200;

// How often others are told that one types, in milliseconds.
const TYPING_EVERY = 3_000;

let typedAt = 0;

// Whether this room asks for the stick.
export const asksForStick = (room) => room.kind === 'named' && state.overview?.stick !== 'optional';

// Claims the stick, or asks where in the line one is.
export async function claim(room) {
  const answer = await call('talking_stick', { room_id: room.id });
  // Nobody tells that one may speak again: it shows when one does.
  room.muted = null;
  const me = { user_id: state.me.userId, display_name: state.me.name };
  if (answer.status === 'granted') {
    room.stick.holder = me;
    room.stick.epoch = answer.epoch;
    room.stick.until = serverNow() + answer.lease_expires_in_seconds * 1_000;
  } else if (!room.stick.line.some((one) => one.user_id === me.user_id)) {
    room.stick.line = [...room.stick.line, me];
  }
  changed();
  return answer.status;
}

// Gives the stick back without a word, or waits for it no longer. The draft goes with it.
export async function handBack(room) {
  await call('reset', { room_id: room.id });
  room.draft = [];
  if (holds(room, state.me.userId)) free(room);
  room.stick.line = room.stick.line.filter((one) => one.user_id !== state.me.userId);
  keep();
  changed();
}

// Says what is written.
export async function say(room) {
  const text = room.text.trim();
  if (asksForStick(room)) {
    if (text !== '') await append(room);
    await push(room);
    return;
  }
  if (text === '') return;
  const sending = { text };
  room.sending = [...room.sending, sending];
  room.text = '';
  changed();
  try {
    const sent = await call('send_message', { room_id: room.id, message: text });
    room.muted = null;
    room.turnsLeft = sent.turns_left ?? null;
    said(room, sent, text);
  } catch (error) {
    // What was not said is there to be said again.
    room.text = room.text === '' ? text : `${text}\n${room.text}`;
    throw blame(room, error);
  } finally {
    room.sending = room.sending.filter((one) => one !== sending);
    keep();
    changed();
  }
}

// Puts what is written into the draft, in pieces as large as the server takes.
export async function append(room) {
  // Pieces are put together as they are: sentences need a space between them.
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
    keep();
    changed();
  }
  room.text = '';
}

// Takes the last piece out of the draft, and back to where it can be changed.
export async function undo(room) {
  const answer = await call('undo', { room_id: room.id });
  const piece = room.draft.at(-1) ?? '';
  room.draft = answer.draft_length === 0 ? [] : room.draft.slice(0, -1);
  room.text = piece + room.text;
  keep();
  changed();
}

async function push(room) {
  const text = room.draft.join('');
  try {
    const sent = await call('push', { room_id: room.id });
    room.draft = [];
    if (holds(room, state.me.userId)) free(room);
    said(room, sent, text);
  } catch (error) {
    throw blame(room, error);
  } finally {
    keep();
    changed();
  }
}

// The server tells a message to all but its sender.
function said(room, sent, text) {
  const sender = { user_id: state.me.userId, display_name: state.me.name };
  message(room, { room_seq: sent.room_seq, timestamp: sent.timestamp, sender, message: text }, state.me.userId);
}

// What a refusal says of the room; and the refusal, in words for whoever wrote.
function blame(room, error) {
  if (error.code === 'stick_required') {
    if (holds(room, state.me.userId)) free(room);
    error.message = 'The stick went on before you were done. What you wrote is kept: ask for the stick again.';
  } else if (error.code === 'muted') {
    room.muted ??= 'an operator muted you';
  } else if (error.code === 'chat_ended' || error.code === 'not_in_room') {
    room.ended ??= error.message;
  }
  return error;
}

// Tells the others that one types, now and then.
export function typing(room) {
  const mayTell = !asksForStick(room) || holds(room, state.me.userId);
  const now = Date.now();
  if (!mayTell || room.ended || now - typedAt < TYPING_EVERY) return;
  typedAt = now;
  // Nothing is lost when nobody hears of it.
  call('typing', { room_id: room.id }, { tries: 1 }).catch(() => {});
}

// What time it is for the server, as far as its answers tell.
export const serverNow = () => Date.now() + (state.skew ?? 0);
