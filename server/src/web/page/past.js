// Messages of the past: the newest ones, and older ones on request.

import { LOG, message, trim } from '/page/room.js';
import { call } from '/page/server.js';
import { state } from '/page/state.js';

// The number of messages to request at once.
const PAGE = 100;

// The number of pages after which an interruption counts as too long to be filled.
const PAGES = 5;

// The largest number of entries that reading older messages leads to.
const MOST = 2_000;

// The newest message in the log, if there is one.
export const newest = (room) => room.log.findLast((one) => one.kind === 'message')?.seq;

// Loads the newest messages, and those between them and the newest that was known before an
// interruption. After a long one the log begins anew, because it would lack some.
export async function past(room, known) {
  let { first, more } = await page(room);
  for (let read = 1; more && known !== undefined && first > known; read += 1) {
    if (read === PAGES) {
      room.log = room.log.filter((one) => one.seq >= first);
      break;
    }
    ({ first, more } = await page(room, first));
  }
  if (known === undefined || first > known) room.more = more;
}

// Loads the page of messages before the first in the log.
export async function older(room) {
  let before = room.log.find((one) => one.kind === 'message')?.seq;
  room.limit = Math.min(MOST, room.log.length + PAGE + LOG);
  let more;
  let count;
  // A page of many whom blocks hide may be empty.
  do ({ first: before, more, count } = await page(room, before)); while (more && count === 0);
  room.more = more;
}

// Loads older messages until this one is in the log. Returns whether it is.
export async function reach(room, seq) {
  const has = () => room.log.some((one) => one.kind === 'message' && one.seq === seq);
  while (!has() && room.log[0]?.seq > seq && mayHaveOlder(room)) await older(room);
  return has();
}

// Whether the log may have older messages, and has space for them.
export const mayHaveOlder = (room) => room.more !== false && !room.lost && state.me !== null && room.log.length < MOST - PAGE;

// Loads one page. Returns its first place, whether there are older ones, and the number of messages.
async function page(room, before) {
  const { messages, more, before: next } = await call('history', { room_id: room.id, limit: PAGE, before });
  for (const said of messages) message(room, said, state.me?.userId);
  trim(room);
  const first = next ?? messages[0]?.room_seq ?? 0;
  return { first, more: more && first > 0, count: messages.length };
}
