// What the browser stores: the registration and the rooms of this tab, so that a reload resumes
// them, and registrations that closed tabs left for the next one.
//
// A handle is a secret. It is in no address. While its tab is open, it is in the storage of that tab
// alone, which is deleted with it. Other tabs of this page find it only after the tab closed.

import { state } from '/page/state.js';

const TAB = 'talking-stick';
const LOGS = 'talking-stick-logs';
const LEFT = 'talking-stick-left ';

// How much is stored: rooms, and the entries of each room's log.
const ROOMS = 32;
const ENTRIES = 200;

// How many registrations wait for another tab, and for how long: the server's own default.
const MOST_LEFT = 8;
const LEFT_FOR = 24 * 3_600_000;

// Stores the registration and the rooms. Without storage the page works until it is reloaded.
export function keep() {
  if (!state.me && !state.lost) sessionStorage.removeItem(TAB);
  else put(sessionStorage, TAB, { ...seat(), lost: state.lost });
}

const seat = () => ({ me: state.me, cursor: state.cursor, pairing: state.pairing, rooms: [...state.rooms.values()].slice(-ROOMS).map(small) });

const small = ({ id, kind, name, partner, text, draft, muted, ended, lost, turnsLeft }) =>
  ({ id, kind, name, partner, text, draft, muted, ended, lost, turnsLeft });

// Stores the logs. They are large, so this happens only when the page is hidden or ends. Without
// them a reload would show messages, and nothing else that happened.
export function keepLogs() {
  const logs = [...state.rooms.values()].slice(-ROOMS).map((room) => [room.id, { earlier: room.earlier.slice(-ENTRIES), log: room.log.slice(-ENTRIES) }]);
  if (logs.length === 0) sessionStorage.removeItem(LOGS);
  else put(sessionStorage, LOGS, Object.fromEntries(logs));
}

// What this tab stored, with the log in each room.
export function kept() {
  const before = get(sessionStorage, TAB);
  const logs = get(sessionStorage, LOGS) ?? {};
  for (const room of before?.rooms ?? []) Object.assign(room, logs[room.id]);
  return before;
}

// Leaves the registration to the next tab, because this one ends.
export function leave() {
  if (!state.me) return;
  put(localStorage, LEFT + state.me.userId, { at: Date.now(), ...seat() });
  for (const { me } of left().slice(MOST_LEFT)) localStorage.removeItem(LEFT + me.userId);
}

// Takes a registration that a tab left. Null if another tab took it already.
export function take(userId) {
  const found = get(localStorage, LEFT + userId);
  localStorage.removeItem(LEFT + userId);
  return found;
}

// The registrations that tabs left, the latest first.
export function left() {
  const names = Object.keys(localStorage).filter((name) => name.startsWith(LEFT));
  const all = names.map((name) => [name, get(localStorage, name)]);
  for (const [name, one] of all) {
    if (!(Date.now() - one?.at < LEFT_FOR)) localStorage.removeItem(name);
  }
  return all.map(([, one]) => one).filter((one) => Date.now() - one?.at < LEFT_FOR).sort((a, b) => b.at - a.at);
}

function put(storage, name, value) {
  try {
    storage.setItem(name, JSON.stringify(value));
  } catch {
    // It is full or forbidden. An old value would be wrong.
    storage.removeItem(name);
  }
}

function get(storage, name) {
  try {
    return JSON.parse(storage.getItem(name));
  } catch {
    return null;
  }
}
