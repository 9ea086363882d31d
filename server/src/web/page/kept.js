// What the browser stores: the registration and the rooms of this tab, so that a reload resumes
// them, and registrations that closed tabs left for the next one.
//
// A handle is a secret. It is in no address. While its tab is open, it is in the storage of that tab
// alone, which is deleted with it. Other tabs of this page find it only after the tab closed.

import { BASE, changed, state } from '/page/state.js';

const TAB = `talking-stick${BASE}`;
const LOGS = `talking-stick-logs${BASE}`;
const LEFT = `talking-stick-left${BASE} `;
const PROOF = `talking-stick-proof${BASE}`;

// How much is stored: rooms, and the entries of each room's log.
const ROOMS = 32;
const ENTRIES = 200;

// How many registrations wait for another tab, and for how long: the server's own default.
const MOST_LEFT = 8;
const LEFT_FOR = 24 * 3_600_000;

// Stores the registration and the rooms. Without storage the page works until it is reloaded.
export function keep() {
  put(tab(), TAB, state.me || state.lost ? { ...saved(), lost: state.lost } : null);
}

export function keepAndDraw() {
  keep();
  changed();
}

const saved = () => ({ me: state.me, cursor: state.cursor, pairing: state.pairing, rooms: [...state.rooms.values()].slice(-ROOMS).map(small) });

const small = ({ id, kind, name, partner, text, draft, muted, ended, lost, turnsLeft }) =>
  ({ id, kind, name, partner, text, draft, muted, ended, lost, turnsLeft });

// Stores the logs. They are large, so this happens only when the page is hidden or ends. Without
// them a reload would show messages, and nothing else that happened.
export function keepLogs() {
  const logs = [...state.rooms.values()].slice(-ROOMS).map((room) => [room.id, { earlier: room.earlier.slice(-ENTRIES), log: room.log.slice(-ENTRIES) }]);
  put(tab(), LOGS, logs.length > 0 ? Object.fromEntries(logs) : null);
}

// What this tab stored, with the log in each room.
export function kept() {
  const before = get(tab(), TAB);
  const logs = get(tab(), LOGS) ?? {};
  for (const room of before?.rooms ?? []) Object.assign(room, logs[room.id]);
  return before;
}

// The secret that proves the session to be that of this page: the cookie goes to every port of the host,
// and this storage is of one alone. Without storage it lasts until the page is reloaded.
let unstored = null;

export function keepProof(proof) {
  unstored = proof;
  put(all(), PROOF, proof || null);
}

// Another tab may have a newer one.
export const proof = () => get(all(), PROOF) ?? unstored;

// Whether this browser has a token, of which only the server knows the cookie.
const TOKEN = `talking-stick-token${BASE}`;
export const hasToken = () => get(all(), TOKEN) === true;

export const keepToken = (has) => put(all(), TOKEN, has || null);

// Leaves the registration to the next tab, because this one ends.
export function leave() {
  if (!state.me) return;
  put(all(), LEFT + state.me.userId, { at: Date.now(), ...saved() });
  for (const { me } of left().slice(MOST_LEFT)) put(all(), LEFT + me.userId, null);
}

// Takes a registration that a tab left. Null if another tab took it already.
export function take(userId) {
  const found = get(all(), LEFT + userId);
  put(all(), LEFT + userId, null);
  return found;
}

// The registrations that tabs left, the latest first.
export function left() {
  const names = Object.keys(all() ?? {}).filter((name) => name.startsWith(LEFT));
  const found = names.map((name) => get(all(), name));
  const waits = (one) => Date.now() - one?.at < LEFT_FOR;
  found.forEach((one, index) => waits(one) || put(all(), names[index], null));
  return found.filter(waits).sort((a, b) => b.at - a.at);
}

// The storage of this tab, and that of all tabs. Null where the browser forbids it.
const tab = () => allowed(() => sessionStorage);
const all = () => allowed(() => localStorage);

function allowed(storage) {
  try {
    return storage();
  } catch {
    return null;
  }
}

// Stores a value; null removes the one of before.
function put(storage, name, value) {
  try {
    if (value !== null) return storage?.setItem(name, JSON.stringify(value));
  } catch {
    // It is full. An old value would be wrong.
  }
  return storage?.removeItem(name);
}

function get(storage, name) {
  try {
    return JSON.parse(storage?.getItem(name) ?? null);
  } catch {
    return null;
  }
}
