// What was said in a room, and what happened there.

import { Component, createRef, h } from '/preact/preact.mjs';
import { Fault } from '/page/field.js';
import { Entry } from '/page/parts.js';
import { mayHaveOlder, older } from '/page/past.js';
import { LOG, trim } from '/page/room.js';
import { doing, state } from '/page/state.js';

// The distance from an end of the log, in pixels, within which the user is at it.
const NEAR_END = 80;
const NEAR_START = 300;

// The log. It stays scrolled to its end while the user reads there. Elsewhere the user's place stays
// where it is, whatever is added before it. Near the start, older messages are loaded.
export class Log extends Component {
  constructor(props) {
    super(props);
    this.box = createRef();
    this.atEnd = true;
  }

  componentDidMount() {
    this.follow();
    this.watch = new ResizeObserver(() => this.follow());
    this.watch.observe(this.box.current);
  }

  componentWillUnmount() {
    this.watch.disconnect();
  }

  // The first entry in view, and where it ends on the screen. Its start changes when another message
  // of its sender comes before it.
  getSnapshotBeforeUpdate() {
    const box = this.box.current;
    const { top } = box.getBoundingClientRect();
    const entry = [...box.querySelectorAll('.entry, .told')].find((one) => one.getBoundingClientRect().bottom > top);
    return entry && { entry, bottom: entry.getBoundingClientRect().bottom };
  }

  componentDidUpdate(_, __, before) {
    if (!this.atEnd && before?.entry.isConnected) {
      this.box.current.scrollTop += before.entry.getBoundingClientRect().bottom - before.bottom;
    }
    this.follow();
  }

  follow() {
    const box = this.box.current;
    if (this.atEnd) box.scrollTop = box.scrollHeight;
    this.size = `${box.clientWidth} ${box.clientHeight}`;
  }

  scrolled({ room }) {
    const box = this.box.current;
    // A resized window also scrolls, which is no action of the user.
    if (this.size !== `${box.clientWidth} ${box.clientHeight}`) return;
    this.atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END;
    if (this.atEnd && room.limit > LOG) {
      room.limit = LOG;
      trim(room);
    }
    const failed = [...state.faults.values()].some(({ at }) => at === placeOf(room));
    if (!this.atEnd && box.scrollTop < NEAR_START && mayHaveOlder(room) && !failed) read(room);
  }

  render({ room }) {
    const empty = room.earlier.length === 0 && room.log.length === 0 && room.sending.length === 0;
    return h('div', { class: 'log', ref: this.box, role: 'log', 'aria-label': 'What was said', tabindex: 0, onScroll: () => this.scrolled(this.props) },
      empty && h('p', { class: 'empty' }, room.kind === 'pair' ? 'You are paired. Say hello.' : 'Nothing was said yet.'),
      room.earlier.map((entry, index) => h(Entry, { key: `earlier ${index}`, entry, goesOn: goesOn(room.earlier[index - 1], entry) })),
      !empty && h(Older, { key: 'older', room }),
      room.log.map((entry, index) => h(Entry, { key: `${entry.seq} ${entry.kind}`, entry, goesOn: goesOn(room.log[index - 1], entry) })),
      room.sending.map((one, index) => h('div', { key: `sending ${index}`, class: 'entry mine sending' },
        h('div', { class: 'bubble' }, h('p', { class: 'text', dir: 'auto' }, one.text)),
        h('p', { class: 'muted' }, 'On its way…'))));
  }
}

const goesOn = (before, entry) => before?.kind === 'message' && entry.kind === 'message' && before.sender.user_id === entry.sender.user_id;

const placeOf = (room) => `older ${room.id}`;

const read = (room) => doing(`older ${room.id}`, () => older(room), () => placeOf(room));

// The way to older messages at the start of the log.
function Older({ room }) {
  if (mayHaveOlder(room)) {
    const busy = state.busy.has(`older ${room.id}`);
    return h('div', { class: 'older' },
      h('button', { class: 'small quiet', disabled: busy, onClick: () => read(room) }, busy ? 'Loading older messages…' : 'Older messages'),
      h(Fault, { at: placeOf(room) }));
  }
  if (room.limit <= LOG) return null;
  return h('p', { class: 'older muted' }, room.more ? 'More does not fit on this page. Search finds what is older.' : 'There are no older messages for you.');
}
