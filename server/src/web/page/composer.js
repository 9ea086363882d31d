// The text field and its buttons. In a room with a stick, the button first claims it.

import { Component, createRef, h } from '/preact/preact.mjs';
import { Fault, marked, mend } from '/page/field.js';
import { keepAndDraw } from '/page/kept.js';
import { NoticeButton } from '/page/notice.js';
import { holds } from '/page/room.js';
import { append, asksForStick, claim, handBack, say, tooLong, typing, undo } from '/page/speech.js';
import { doing, label, state } from '/page/state.js';

export class Composer extends Component {
  text = createRef();

  render({ room }) {
    const needsStick = asksForStick(room);
    const mine = holds(room, state.me.userId);
    const ready = !needsStick || mine;
    const busy = state.busy.has(`say ${room.id}`);
    const { place } = room.stick;
    const asked = !ready && place > 0;
    const nothing = room.text.trim() === '' && room.draft.length === 0;
    const free = !ready && !room.stick.holder && room.stick.waiting === 0;
    const says = (ready || free) && !nothing;
    const long = tooLong(room);
    const acting = (action) => doing(`say ${room.id}`, action, () => 'text');
    const act = () => {
      this.text.current.focus();
      if (asked || long || (ready && nothing)) return undefined;
      return acting(async () => {
        if (!ready && await claim(room) !== 'granted') return;
        if (says) await say(room);
      });
    };
    const typed = (event) => {
      mend('text');
      room.text = event.currentTarget.value;
      if (room.text !== '') typing(room);
      keepAndDraw();
    };
    const pressed = (event) => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      act();
    };
    const first = says || ready ? 'Say it' : free ? 'Take the stick' : 'Ask for the stick';
    return h('form', { class: 'composer', 'aria-label': 'Speak', onSubmit: (event) => { event.preventDefault(); act(); } },
      room.muted && h('p', { class: 'error', role: 'alert' }, `You may not speak: ${room.muted}`),
      room.draft.length > 0 && h('div', { class: 'draft' },
        h('p', { class: 'muted' }, 'In your draft'),
        h('p', { class: 'text', dir: 'auto' }, room.draft.join('')),
        mine && h('button', { type: 'button', class: 'small', disabled: busy, onClick: () => acting(() => undo(room)) }, 'Take the last piece back')),
      h('div', { class: 'write' },
        h('label', { for: 'text', class: 'hidden' }, 'Your message'),
        h('textarea', {
          id: 'text', ref: this.text, rows: 2, dir: 'auto', value: room.text, onInput: typed, onKeyDown: pressed,
          placeholder: ready || free ? 'Your message' : 'Write already; say it once you have the stick',
          enterkeyhint: says || ready ? 'send' : 'go',
          ...(long ? { 'aria-invalid': 'true', 'aria-describedby': 'too-long keys' } : marked('text', 'keys')),
        }),
        long ? h('p', { id: 'too-long', class: 'error fault', role: 'alert' }, long) : h(Fault, { at: 'text' }),
        h('p', { id: 'keys', class: `keys muted ${ready ? 'ready' : ''}` }, enter(room, { ready, says, free, long }), asked && h(NoticeButton)),
        h('div', { class: 'actions' },
          needsStick && mine && h('button', { type: 'button', class: 'quiet', disabled: busy, onClick: () => acting(() => handBack(room)) }, 'Pass it on'),
          needsStick && mine && h('button', { type: 'button', class: 'quiet', disabled: busy || room.text.trim() === '', onClick: () => acting(() => append(room)) }, 'Add to draft'),
          asked && h('button', { type: 'button', class: 'quiet', disabled: busy, onClick: () => acting(() => handBack(room)) }, 'Stop waiting'),
          h('button', { type: 'submit', class: 'primary', disabled: asked || busy || long || (ready && nothing) }, asked ? `Number ${place} in line` : label(`say ${room.id}`, first)))));
  }
}

// What the key Enter does now.
function enter(room, { ready, says, free, long }) {
  if (long) return 'Enter sends nothing now.';
  if (ready) return `Enter sends${asksForStick(room) ? ' and passes the stick on' : ''}. Shift+Enter begins a new line.`;
  if (room.stick.place > 0) return 'Enter does nothing while you wait for the stick.';
  if (says) return 'The stick is free: Enter takes it, sends, and passes it on.';
  return `Enter ${free ? 'takes' : 'sends nothing yet: it puts you in line for'} the stick. With the stick, it sends.`;
}
