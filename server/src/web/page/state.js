// What the page knows, in one place, and how it gets onto the screen. Whatever changes it calls
// `changed()`, and the whole page is drawn anew from it.

const KEPT = 'talking-stick';

export const state = {
  // Which view: 'home', 'room' or 'operator'; and which room.
  view: 'home',
  roomId: null,
  // Why the page asks for a token before anything else; null when it does not.
  gate: null,
  // GET /overview, the latest; null before the first.
  overview: null,
  // Who one is: { handle, userId, name }; null before one joins.
  me: null,
  // What became of one's seat when the server no longer knows it.
  lost: null,
  // How the stream of events is: 'off', 'connecting', 'open', 'retrying' or 'closing'.
  connection: 'off',
  // The last event that was dealt with: where a stream goes on.
  cursor: null,
  // Rooms one is in or was in, by id.
  rooms: new Map(),
  // While one waits for a partner: { since, position, length, estimate }.
  pairing: null,
  // What is being done, so that a button is not pressed twice.
  busy: new Set(),
  // What one should know, for a while: { id, text, kind }.
  notes: [],
  // The question on the screen, see dialog.js.
  dialog: null,
  // What an operator sees, see operator.js.
  operator: null,
};

let draw = () => {};
let waits = false;

// Sets what draws the page.
export function drawBy(how) {
  draw = how;
}

// Has the page drawn, once for all that changes in one go.
export function changed() {
  if (waits) return;
  waits = true;
  queueMicrotask(() => {
    waits = false;
    draw();
  });
}

// Tells something that passes: an error stays longer. Screen readers read it out.
export function note(text, kind = 'info') {
  const id = crypto.getRandomValues(new Uint32Array(1))[0];
  state.notes = [...state.notes.filter((one) => one.text !== text), { id, text, kind }].slice(-3);
  setTimeout(() => dismiss(id), kind === 'error' ? 12_000 : 6_000);
  changed();
}

export function dismiss(id) {
  state.notes = state.notes.filter((one) => one.id !== id);
  changed();
}

// Does something once at a time, and shows that it is being done. What goes wrong is told.
export async function doing(what, action) {
  if (state.busy.has(what)) return undefined;
  state.busy.add(what);
  changed();
  try {
    return await action();
  } catch (error) {
    note(error.message, 'error');
    return undefined;
  } finally {
    state.busy.delete(what);
    changed();
  }
}

// Keeps the seat for this tab alone, so that a reload goes on where it was. The handle is a
// secret: it is in no address, and goes with the tab.
export function keep() {
  if (!state.me) {
    sessionStorage.removeItem(KEPT);
    return;
  }
  const rooms = [...state.rooms.values()]
    .filter((room) => !room.ended)
    .map(({ id, kind, name, partner, text, draft }) => ({ id, kind, name, partner, text, draft }));
  const kept = { me: state.me, cursor: state.cursor, rooms, pairing: state.pairing };
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(kept));
  } catch {
    // A browser that keeps nothing still serves until the page is reloaded.
  }
}

export function kept() {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT));
  } catch {
    return null;
  }
}
