// What was said in a room, and what happened there; and messages of the past: the newest ones, and older
// ones on request.

import { Component, createRef, h } from '/preact/preact.mjs';
import { Fault } from '/page/field.js';
import { Entry, Said, named } from '/page/parts.js';
import { LOG, message, readers, trim } from '/page/room.js';
import { call } from '/page/server.js';
import { changed, doing, state } from '/page/state.js';

// The distance from an end of the log, in pixels, within which the user is at it.
const NEAR_END = 80;
const NEAR_START = 300;

// The log. It stays scrolled to its end while the user reads there. Elsewhere the user's place stays
// where it is, whatever is added before it. Near the start, older messages are loaded.
export class Log extends Component {
  box = createRef();
  atEnd = true;
  // The last entry that was in view.
  seen = 0;

  componentDidMount() {
    this.follow();
    this.find();
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
    if (this.atEnd) {
      box.scrollTop = box.scrollHeight;
      this.seen = this.props.room.log.at(-1)?.seq ?? 0;
    }
    this.size = `${box.clientWidth} ${box.clientHeight}`;
  }

  // Shows the message that a search leads to.
  find() {
    const { room } = this.props;
    const target = room.target && this.box.current.querySelector(`[data-seq="${room.target}"]`);
    room.target = null;
    if (!target) return;
    this.atEnd = false;
    target.scrollIntoView({ block: 'center' });
    target.classList.add('target');
  }

  scrolled({ room }) {
    const box = this.box.current;
    // The event may come after the room was left. A resized window also scrolls, which is no action of the user.
    if (!box || this.size !== `${box.clientWidth} ${box.clientHeight}`) return;
    this.atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END;
    if (this.atEnd) changed();
    if (this.atEnd && room.limit > LOG) {
      room.limit = LOG;
      trim(room);
    }
    const failed = [...state.faults.values()].some(({ at }) => at === placeOf(room));
    if (!this.atEnd && box.scrollTop < NEAR_START && mayHaveOlder(room) && !failed) read(room);
  }

  toEnd() {
    this.atEnd = true;
    this.follow();
    changed();
  }

  render({ room }) {
    const fresh = this.atEnd ? 0 : room.log.filter((one) => one.kind === 'message' && one.seq > this.seen).length;
    const empty = room.earlier.length === 0 && room.log.length === 0 && room.sending.length === 0;
    return h('div', { class: 'log', ref: this.box, role: 'log', 'aria-label': 'What was said', tabindex: 0, onScroll: () => this.scrolled(this.props) },
      empty && h('p', { class: 'empty' }, room.kind === 'pair' ? 'You are paired. Say hello.' : 'Nothing was said yet.'),
      lines(room.earlier, 'earlier '),
      !empty && h(Older, { key: 'older', room }),
      lines(room.log),
      room.sending.map((one, index) => h('div', { key: `sending ${index}`, class: 'entry mine sending' },
        h('div', { class: 'bubble' }, h(Said, { text: one.text })),
        h('p', { class: 'muted' }, 'On its way…'))),
      h(HaveRead, { key: 'read', room }),
      fresh > 0 && h('div', { key: 'fresh', class: 'fresh' }, h('button', { class: 'small primary', onClick: () => this.toEnd() }, `${fresh} new`, h('span', { class: 'hidden' }, ' below'))));
  }
}

// Who has read what the user said last.
function HaveRead({ room }) {
  const { read = [], waits } = readers(room) ?? {};
  if (read.length === 0) return null;
  const names = read.map((user) => user.display_name);
  return h('p', { class: 'told' }, waits === 0 && read.length > 1 ? 'All' : named(names.slice(0, 3), names.length - 3), read.length === 1 ? ' has read it.' : ' have read it.');
}

// From how many on comings and goings in a row are shown as one line.
const CROWD = 5;

const DAY = new Intl.DateTimeFormat([], { weekday: 'long', month: 'long', day: 'numeric' });
const dayOf = (entry) => (entry?.at ? new Date(entry.at).toDateString() : null);

// The entries, with a line where a day begins, and with a crowd of comings and goings in one line that
// opens.
function lines(entries, of = '') {
  const all = [];
  for (let at = 0; at < entries.length; at += 1) {
    const [entry, before] = [entries[at], entries[at - 1]];
    const key = `${of}${entry.seq} ${entry.kind}`;
    const day = dayOf(entry);
    const isNew = day !== null && day !== (dayOf(before) ?? (before ? day : new Date().toDateString()));
    if (isNew) all.push(h('p', { key: `${key} day`, class: 'told day' }, DAY.format(new Date(entry.at))));
    let end = at;
    while (entries[end]?.passing && dayOf(entries[end]) === day) end += 1;
    if (end - at < CROWD) {
      all.push(h(Entry, { key, entry, goesOn: !isNew && goesOn(before, entry) }));
    } else {
      const crowd = entries.slice(at, end);
      const names = [...new Set(crowd.map((one) => one.who))];
      all.push(h('details', { key: `${key} crowd`, class: 'told' },
        h('summary', null, named(names.slice(0, 3), names.length - 3), ' came or went.'),
        crowd.map((one) => h(Entry, { key: one.seq, entry: one, goesOn: false }))));
      at = end - 1;
    }
  }
  return all;
}

const goesOn = (before, entry) => before?.kind === 'message' && entry.kind === 'message' && before.sender.user_id === entry.sender.user_id && entry.to.length === 0;

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
async function older(room) {
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
const mayHaveOlder = (room) => room.more !== false && !room.lost && state.me !== null && room.log.length < MOST - PAGE;

// Loads one page. Returns its first place, whether there are older ones, and the number of messages.
async function page(room, before) {
  const { messages, more, before: next } = await call('history', { room_id: room.id, limit: PAGE, before });
  for (const said of messages) message(room, said, state.me?.userId);
  trim(room);
  const first = next ?? messages[0]?.room_seq ?? 0;
  return { first, more: more && first > 0, count: messages.length };
}
