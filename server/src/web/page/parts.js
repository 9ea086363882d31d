// Small parts of several views.

import { Component, h } from '/preact/preact.mjs';

// A peer's name or words: always plain text, in its own writing direction, without effect on that
// of its surroundings.
export const Words = ({ children }) => h('bdi', { class: 'words' }, children);

// The name of a participant or a room: words that stay whole. One that is too long for its place is
// cut, and its title shows it.
export const Name = ({ children }) => h('bdi', { class: 'words name', title: children }, children);

const PRESENCE = { present: 'here', reconnecting: 'reconnecting', away: 'away' };

// A participant's presence: a mark and a word, because colour alone is not accessible.
export const Presence = ({ is }) => h('span', { class: `presence ${is}` },
  h('span', { class: 'dot', 'aria-hidden': 'true' }),
  h('span', { class: is === 'present' ? 'hidden' : '' }, PRESENCE[is] ?? is));

// A letter to recognise a participant by.
export function Badge({ user }) {
  const first = [...(user.display_name ?? '?').trim()][0] ?? '?';
  let hue = 0;
  for (const letter of user.user_id) hue = (hue * 31 + letter.codePointAt(0)) % 6;
  return h('span', { class: `badge hue-${hue}`, 'aria-hidden': 'true' }, h('bdi', null, first.toUpperCase()));
}

// Making a format takes far longer than using it.
const SHORT = new Intl.DateTimeFormat([], { hour: '2-digit', minute: '2-digit' });
const LONG = new Intl.DateTimeFormat([], { dateStyle: 'medium', timeStyle: 'medium' });

// An instant in short form.
export function Clock({ at }) {
  if (!at) return null;
  const date = new Date(at);
  return h('time', { datetime: at, title: LONG.format(date) }, SHORT.format(date));
}

// An entry of a log: a message, or an event in words. `goesOn`: its sender also sent the one before.
// An entry never changes, so a long log is not drawn again for each new one.
export class Entry extends Component {
  shouldComponentUpdate({ entry, goesOn }) {
    return entry !== this.props.entry || goesOn !== this.props.goesOn;
  }

  render({ entry, goesOn: again }) {
    if (entry.kind !== 'message') return h('p', { class: 'told', dir: 'auto' }, entry.who && h(Name, null, entry.who), entry.text, ' ', h(Clock, { at: entry.at }));
    return h('div', { class: `entry ${entry.mine ? 'mine' : ''} ${again ? 'again' : ''}` },
      h('p', { class: again ? 'hidden' : 'by' },
        !entry.mine && h(Badge, { user: entry.sender }),
        entry.mine ? 'You' : h(Name, null, entry.sender.display_name), h(Clock, { at: entry.at })),
      h('div', { class: 'bubble' }, h('p', { class: 'text', dir: 'auto' }, entry.text)));
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
