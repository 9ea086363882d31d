// Small parts of several views.

import { Component, h } from '/preact/preact.mjs';
import { changed } from '/page/state.js';

// A peer's name or words: always plain text, in its own writing direction, without effect on that
// of its surroundings.
export const Words = ({ children }) => h('bdi', { class: 'words' }, children);

// The name of a participant or a room: words that stay whole. One that is too long for its place is
// cut, and its title shows it.
export const Name = ({ children }) => h('bdi', { class: 'words name', title: children }, children);

const PRESENCE = { present: 'here', reconnecting: 'reconnecting', away: 'away', left: 'left' };

// A participant's presence: a mark and a word, because colour alone is not accessible.
export const Presence = ({ is }) => h('span', { class: `presence ${is}` },
  h('span', { class: 'dot', 'aria-hidden': 'true' }),
  h('span', { class: is === 'present' ? 'hidden' : '' }, PRESENCE[is] ?? is));

// A letter to recognise a participant by.
export function Badge({ user }) {
  const first = [...(user.display_name ?? '?').trim()][0] ?? '?';
  let hue = 0;
  for (const letter of user.user_id) hue = (hue * 31 + letter.codePointAt(0)) % 6;
  return h('span', { class: 'badge', style: { '--hue': hue * 60 }, 'aria-hidden': 'true' }, h('bdi', null, first.toUpperCase()));
}

// Making a format takes far longer than using it.
const SHORT = new Intl.DateTimeFormat([], { hour: '2-digit', minute: '2-digit' });
const DATED = new Intl.DateTimeFormat([], { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' });
const LONG = new Intl.DateTimeFormat([], { dateStyle: 'medium', timeStyle: 'medium' });

// An instant in short form: with its date, unless that is today.
export function clock(at) {
  const date = new Date(at);
  return (date.toDateString() === new Date().toDateString() ? SHORT : DATED).format(date);
}

export const Clock = ({ at }) => at && h('time', { datetime: at, title: LONG.format(new Date(at)) }, clock(at));

// Code between backticks, and addresses of pages.
const SPECIAL = /\n?```(?:[\w+#.-]*\n)?([^]*?)```\n?|`([^`\n]+)`|(https?:\/\/[^\s<>"`]*[^\s<>"`.,;:!?)\]}'*])/g;

// Characters that make an address look like another.
const UNSEEN = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/;

// What somebody said: a text whose code is in a type of its own, and whose addresses are links. Nothing
// else in it has an effect.
export function Said({ text }) {
  const parts = [];
  let from = 0;
  for (const found of text.matchAll(SPECIAL)) {
    const [all, fence, code, address] = found;
    if (address && !isAddress(address)) continue;
    parts.push(text.slice(from, found.index));
    if (address) parts.push(h('a', { href: address, target: '_blank', rel: 'noopener noreferrer nofollow', dir: 'ltr' }, address));
    else parts.push(h('code', { class: fence === undefined ? undefined : 'fence', dir: 'ltr' }, fence?.replace(/\n$/, '') ?? code));
    from = found.index + all.length;
  }
  return h('p', { class: 'text', dir: 'auto' }, parts, text.slice(from));
}

// Whether a text is the address of a page, and looks like the one that it leads to.
function isAddress(text) {
  const url = URL.canParse(text) ? new URL(text) : null;
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && !UNSEEN.test(text);
}

// An entry of a log: a message, or an event in words. `goesOn`: its sender also sent the one before.
// An entry never changes, so a long log is not drawn again for each new one.
export class Entry extends Component {
  shouldComponentUpdate({ entry, goesOn }) {
    return entry !== this.props.entry || goesOn !== this.props.goesOn;
  }

  render({ entry, goesOn: again }) {
    if (entry.kind !== 'message') return h('p', { class: 'told', dir: 'auto' }, entry.who && h(Name, null, entry.who), entry.text, ' ', h(Clock, { at: entry.at }));
    return h('div', { class: `entry ${entry.mine ? 'mine' : ''} ${again ? 'again' : ''}`, 'data-seq': entry.seq },
      h('p', { class: again ? 'hidden' : 'by' },
        !entry.mine && h(Badge, { user: entry.sender }),
        entry.mine ? 'You' : h(Name, null, entry.sender.display_name), entry.to.length > 0 && [' to ', named(entry.to)], h(Clock, { at: entry.at })),
      h('div', { class: 'bubble' }, h(Said, { text: entry.text })));
  }
}

export const count = (n, one, many = `${one}s`) => `${n.toLocaleString()} ${n === 1 ? one : many}`;

// A duration, from seconds.
export function span(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  return minutes < 60 ? `${minutes} min ${whole % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

// Names in a sentence of the page: `Ann, Ben and Cat`, or `Ann, Ben and 6 more`.
export const named = (names, more = 0) => [...names.map((name, index) => h(Name, { key: index }, name)), ...(more > 0 ? [`${more} more`] : [])]
  .flatMap((one, index, all) => (index === 0 ? [one] : [index === all.length - 1 ? ' and ' : ', ', one]));

// A name in a text without elements, such as a title: between FIRST STRONG ISOLATE and POP
// DIRECTIONAL ISOLATE, which limit its writing direction to itself.
export const isolated = (name) => `\u2068${name}\u2069`;

// Notices of the browser, for users who asked for them and look at something else.

// Whether the user looks at another window or tab.
const looksAway = () => document.hidden || !document.hasFocus();

// Asks the browser for the permission. Nothing where that is decided, or not possible.
export function NoticeButton() {
  if (globalThis.Notification?.permission !== 'default') return null;
  const allow = () => Notification.requestPermission().then(changed);
  return h('button', { type: 'button', class: 'small quiet', onClick: allow }, 'Notify me');
}

export function notice(text) {
  if (globalThis.Notification?.permission !== 'granted' || !looksAway()) return;
  try {
    const shown = new Notification(text, { tag: text });
    shown.onclick = () => globalThis.focus();
  } catch {
    // Some phones let only a service worker show notices.
  }
}
