// A field of a form, and the errors that stand at it.

import { h } from '/preact/preact.mjs';
import { state } from '/page/state.js';

// Which field each refusal is about. A refusal of an argument begins with its name.
const ABOUT_NAMES = new Set(['name_taken', 'name_not_allowed', 'user_id_taken']);
const ABOUT_ROOMS = new Set(['room_full', 'room_not_found', 'room_ambiguous']);

// The place of an error in a form: the field that it is about, by the name of its argument, or else
// the form itself. `fields` has the fields' ids by argument.
export const placedBy = (form, fields) => (error) => {
  const argument = ABOUT_NAMES.has(error.code) ? 'name'
    : ABOUT_ROOMS.has(error.code) ? 'room'
      : error.code === 'invalid_arguments' ? error.message.match(/^`?([a-z_]+)/)?.[1] : null;
  return fields[argument] ?? form;
};

// The error at a field or a form, if there is one.
export function Fault({ at }) {
  const fault = faultAt(at);
  return fault && h('p', { id: `${at}-fault`, class: 'error fault', role: 'alert' }, fault.message);
}

const faultAt = (at) => [...state.faults.values()].find((one) => one.at === at);

// The attributes that join a control to the error at it. `more` describes it, too.
export function marked(id, more = null) {
  const fault = faultAt(id);
  return {
    'aria-invalid': fault ? 'true' : undefined,
    'aria-describedby': [more, fault && `${id}-fault`].filter(Boolean).join(' ') || undefined,
  };
}

// Removes the errors at a field, because the user changes it.
export function mend(id) {
  for (const [what, { at }] of state.faults) {
    if (at === id) state.faults.delete(what);
  }
}

// The values of the fields of the form that an event is about.
export const valuesOf = (event) => Object.fromEntries(new FormData(event.currentTarget));

// Handles the submission of a form by an action that receives the values of its fields.
export const submitted = (action) => (event) => {
  event.preventDefault();
  action(valuesOf(event));
};

// A label, a control, and the error at it.
export function Field({ id, label, options = null, onInput = null, children = null, ...control }) {
  const typed = (event) => {
    mend(id);
    onInput?.(event);
  };
  return h('div', { class: 'field' },
    h('label', { for: id }, label),
    h(options ? 'select' : 'input', { id, ...control, ...marked(id), onInput: typed },
      options?.map((one) => h('option', { key: one.value, value: one.value }, one.label))),
    children,
    h(Fault, { at: id }));
}
