// A modal dialog: a title, some fields, and an action.

import { Component, createRef, h } from '/preact/preact.mjs';
import { Fault, Field, placedBy, submitted, valuesOf } from '/page/field.js';
import { changed, doing, label as buttonLabel, state } from '/page/state.js';

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
      const done = await doing('dialog', async () => {
        await act(values);
        return true;
      }, at);
      if (done) this.box.current?.close();
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
