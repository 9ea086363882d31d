// A field of a form, and the errors that stand at it; and a modal dialog: a title, some fields, and an
// action.

import { Component, createRef, h } from '/preact/preact.mjs';
import { changed, doing, label as buttonLabel, state } from '/page/state.js';

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
const valuesOf = (event) => Object.fromEntries(new FormData(event.currentTarget));

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

// Opens a dialog. `title` is a text, or a text with names in it; `text` is a paragraph or several, and
// `body` an element;
// without `does` the dialog only tells something; it may depend on the fields' values. `fields` are { name, label, kind?, options?, required?, value? }; `act` receives
// their values.
export function ask({ title, text = null, body = null, fields = [], does = null, danger = false, act = null }) {
  state.faults.delete('dialog');
  asked += 1;
  state.dialog = { key: asked, title, text, body, fields, does, danger, act };
  changed();
}

// The number of dialogs so far. Each has an element of its own.
let asked = 0;

// The browser tells of a closed dialog later, when the next one may be open.
function close(question) {
  if (state.dialog === question) state.dialog = null;
  changed();
}

// The browser's dialog element keeps the focus inside, closes on Escape, and restores the focus.
export class Dialog extends Component {
  box = createRef();

  componentDidMount() {
    this.box.current.showModal();
  }

  render({ question }) {
    const { title, text, body, fields, does, danger, act } = question;
    const at = placedBy('dialog', Object.fromEntries(fields.map(({ name }) => [name, `dialog-${name}`])));
    const label = typeof does === 'function' ? does(this.state) : does;
    const submit = async (values) => {
      if (await doing('dialog', () => act(values), at)) this.box.current?.close();
    };
    return h('dialog', { ref: this.box, class: 'dialog', 'aria-labelledby': 'dialog-title', onClose: () => close(question) },
      h('form', { onSubmit: submitted(submit), onChange: (event) => this.setState(valuesOf(event)) },
        h('h2', { id: 'dialog-title' }, title),
        [text].flat().map((one) => one && h('p', { key: one, class: 'muted' }, one)),
        body,
        fields.map(({ name, label, options, value = '', required = true, kind = 'text' }) => h(Field, {
          key: name, id: `dialog-${name}`, name, label, required,
          ...(options ? { options } : { type: kind, defaultValue: value, autocomplete: 'off', dir: 'auto' }),
        })),
        h(Fault, { at: 'dialog' }),
        h('div', { class: 'actions' },
          h('button', { type: 'button', class: 'quiet', onClick: () => this.box.current.close() }, does ? 'Cancel' : 'Close'),
          does && h('button', { type: 'submit', class: danger ? 'danger' : 'primary', disabled: state.busy.has('dialog') }, buttonLabel('dialog', label)))));
  }
}
