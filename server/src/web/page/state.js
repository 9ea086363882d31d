// The page's state, in one place, and its drawing. All changes call `changed()`, and the whole page
// is drawn again.

// The time in which changes are drawn together, in milliseconds.
const FRAME = 16;

// The path of the page's realm: none for the first one. The page's files are the same in all realms.
export const BASE = location.pathname.match(/^\/r\/[^/]+/)?.[0] ?? '';

export const state = {
  // The view, 'home', 'room' or 'operator', and the room.
  view: 'home',
  roomId: null,
  // Why the page asks for a token before anything else; null when it does not.
  gate: null,
  // The latest GET /overview; null before the first.
  overview: null,
  // The user: { handle, userId, name }; null before it registers.
  me: null,
  // The registration that ended without the user: { why, name, barred }; null without one.
  lost: null,
  // Registrations that closed tabs left, see kept.js.
  left: [],
  // The state of the event stream: 'off', 'connecting', 'open', 'retrying' or 'closing'.
  connection: 'off',
  // Why the last request had no answer; null if it had one.
  trouble: null,
  // The last event that was handled, after which a stream continues.
  cursor: null,
  // The last event that was acknowledged since the page was loaded.
  acknowledged: null,
  // The user's present and past rooms, by id.
  rooms: new Map(),
  // While the user waits for a partner: { since, position, length, estimate }.
  pairing: null,
  // Actions in progress, so that a button is not pressed twice; with whether they take so long that they
  // say so.
  busy: new Map(),
  // Errors that stand at a field until it changes or the action succeeds, by action: { at, message }.
  faults: new Map(),
  // The field that gets the focus with the next drawing; null without one.
  focus: null,
  // Temporary messages: { id, text, kind, undo }.
  notes: [],
  // The open dialog, see `ask` in field.js.
  dialog: null,
  // The operator's state, see operator.js.
  operator: null,
};

// The time after which an action says that it takes long, in milliseconds.
const SLOW = 1_000;

let draw = () => {};
let waits = false;
let soon = null;

// Sets the function that draws the page.
export function drawBy(how) {
  draw = how;
}

// Schedules a drawing, once for all changes of a task.
export function changed() {
  if (waits) return;
  waits = true;
  queueMicrotask(drawNow);
}

// Schedules a drawing, once for all changes of a short time, such as many events. A hidden page is
// drawn, too, for its title.
export function changedSoon() {
  soon ??= setTimeout(drawNow, FRAME);
}

function drawNow() {
  clearTimeout(soon);
  soon = null;
  waits = false;
  draw();
}

// Shows a temporary message; errors stay longer, and what can be undone longest. Screen readers
// announce it.
export function note(text, kind = 'info', undo = null) {
  const id = crypto.getRandomValues(new Uint32Array(1))[0];
  state.notes = [...state.notes.filter((one) => one.text !== text), { id, text, kind, undo }].slice(-3);
  setTimeout(() => dismiss(id), undo ? 30_000 : kind === 'error' ? 12_000 : 6_000);
  changed();
}

export function dismiss(id) {
  state.notes = state.notes.filter((one) => one.id !== id);
  changed();
}

// Runs an action once at a time, and shows that it is in progress. An error is shown at the field
// whose id `at` gives for it, or for a moment. Returns whether the action succeeded.
export async function doing(what, action, at = null) {
  if (state.busy.has(what)) return false;
  state.busy.set(what, false);
  state.faults.delete(what);
  changed();
  const slow = setTimeout(() => {
    state.busy.set(what, true);
    changed();
  }, SLOW);
  try {
    await action();
    return true;
  } catch (error) {
    if (at) {
      state.focus = at(error);
      state.faults.set(what, { at: state.focus, message: error.message });
    } else {
      note(error.message, 'error');
    }
    return false;
  } finally {
    clearTimeout(slow);
    state.busy.delete(what);
    changed();
  }
}

// The label of an action's button.
export const label = (what, text) => (state.busy.get(what) ? 'One moment…' : text);
