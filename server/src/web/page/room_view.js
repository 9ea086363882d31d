// A room: its head, the stick with its line, what was said, how it ended, and its members with what
// one may do about another.

import { h } from '/preact/preact.mjs';
import { Composer } from '/page/composer.js';
import { ask as question } from '/page/dialog.js';
import { Fault } from '/page/field.js';
import { Search, opened } from '/page/finder.js';
import { JoinAgain } from '/page/home.js';
import { Log } from '/page/log.js';
import { Badge, Name, Presence, Words, isolated, named, span } from '/page/parts.js';
import { holds } from '/page/room.js';
import { leaveRoom, show } from '/page/registration.js';
import { call } from '/page/server.js';
import { asksForStick, serverNow } from '/page/speech.js';
import { changed, doing, label, note, state } from '/page/state.js';

export function RoomView({ room }) {
  return h('main', { id: 'main', class: `room ${room.showsMembers ? 'shows-members' : ''}`, 'aria-labelledby': 'room-title' },
    h('header', { class: 'room-head' },
      h('div', null,
        h('h1', { id: 'room-title', tabindex: -1 }, h(Name, null, room.name)),
        h('p', { class: 'muted' }, about(room))),
      !room.ended && h(MembersButton, { room }),
      !room.search && state.me && h('button', { class: 'quiet', onClick: () => opened(room) }, 'Search'),
      h('button', { class: 'quiet', onClick: () => leave(room), disabled: state.busy.has('leave') },
        label('leave', room.ended ? 'Close' : room.kind === 'pair' ? 'End it' : ['Leave', h('span', { class: 'wide' }, ' room')]))),
    asksForStick(room) && !room.ended && h(Stick, { room }),
    room.search ? h(Search, { key: `search ${room.id}`, room }) : h(Log, { key: room.id, room }),
    h(Passing, { room }),
    room.ended ? h(Ended, { room }) : h(Composer, { key: `write ${room.id}`, room }),
    !room.ended && h(Members, { room }));
}

function about(room) {
  if (room.ended) return 'This is over.';
  if (room.kind === 'pair') {
    return room.turnsLeft === null ? 'A conversation of two' : `A conversation of two; ${room.turnsLeft} messages left`;
  }
  return asksForStick(room) ? 'The holder of the stick speaks' : 'Everybody may speak';
}

// Leaving asks where something would be lost.
function leave(room) {
  const isPair = room.kind === 'pair';
  const lost = room.ended ? [] : [
    isPair && 'It ends for both of you, and cannot be taken up again.',
    !isPair && room.members.size === 1 && room.log.length > 0 && 'You are the last one here. The room ends, and nobody who joins it later reads what was said.',
    (room.text.trim() !== '' || room.draft.length > 0) && 'What you wrote and have not sent is lost.',
  ].filter(Boolean);
  if (lost.length === 0) return doing('leave', () => leaveRoom(room));
  return question({
    title: isPair ? 'End this conversation?' : ['Leave ', h(Name, null, room.name), '?'],
    text: lost,
    does: isPair ? 'End it' : 'Leave',
    danger: true,
    act: () => leaveRoom(room),
  });
}

// The stick's holder, lease and line. Changes are announced to screen readers.
function Stick({ room }) {
  const { holder, until, line, waiting, place } = room.stick;
  const mine = holds(room, state.me.userId);
  const left = until === null ? null : Math.max(0, (until - serverNow()) / 1_000);
  return h('section', { class: `stick ${mine ? 'mine' : ''}`, 'aria-label': 'The talking stick' },
    h('span', { class: 'stick-mark', 'aria-hidden': 'true' }),
    h('div', { class: 'what' },
      h('p', { class: 'holder', role: 'status' },
        mine ? 'You have the stick' : holder ? [h(Name, null, holder.display_name), ' has the stick'] : 'The stick is free',
        place > 0 && `; you are number ${place} in line`),
      line.length > 0 && h('p', { class: 'muted' }, 'Next: ', named(line.map((one) => one.display_name), waiting - line.length))),
    left !== null && h('span', { class: `lease ${left < 15 ? 'short' : ''}` }, h('span', { class: 'hidden' }, 'for another '), span(left)));
}

// Transient notices: members who type, and members who wait.
function Passing({ room }) {
  const typists = [...room.typing.values()].map((one) => one.name);
  const [waits] = room.waiting.values();
  let text = null;
  if (typists.length > 0) text = [named(typists), ` ${typists.length === 1 ? 'is' : 'are'} typing…`];
  else if (waits) text = [h(Name, null, waits.name), ` has been waiting for ${span(waits.seconds)}.`];
  return h('p', { class: 'passing', 'aria-live': 'polite' }, text);
}

function Ended({ room }) {
  const again = room.lost && room.kind === 'named' && state.lost && !state.lost.barred;
  return h('div', { class: 'composer ended', role: 'status' },
    h('p', null, room.ended),
    h('div', { class: 'actions' },
      again && h(JoinAgain),
      h('button', { class: again ? 'quiet' : 'primary', onClick: () => leaveRoom(room) }, 'Close it'),
      h('button', { class: 'quiet', onClick: () => show('home') }, 'Keep it open')),
    h(Fault, { at: 'again' }));
}

// Shows the members in place of the log, on a phone. A larger screen shows both.
function MembersButton({ room }) {
  const toggle = () => {
    room.showsMembers = !room.showsMembers;
    changed();
  };
  return h('button', { class: 'quiet members-button', 'aria-expanded': String(room.showsMembers), 'aria-controls': 'members', onClick: toggle },
    'Here ', h('span', { class: 'tally' }, room.members.size));
}

function Members({ room }) {
  const all = [...room.members.values()];
  return h('aside', { id: 'members', class: 'members', 'aria-labelledby': 'members-title' },
    h('h2', { id: 'members-title' }, 'Here ', h('span', { class: 'tally' }, all.length)),
    h('ul', { class: 'people' }, [...all, ...gone(room)].map((user) => h(Member, { key: user.user_id, room, user }))));
}

// Those who wrote here, and are no longer here.
function gone(room) {
  const wrote = new Map(room.log.filter((one) => one.sender && !one.mine).map(({ sender }) => [sender.user_id, { ...sender, presence: 'left' }]));
  return [...wrote.values()].filter((user) => !room.members.has(user.user_id));
}

function Member({ room, user }) {
  const me = user.user_id === state.me.userId;
  return h('li', null,
    h(Badge, { user }),
    h('div', { class: 'who' },
      h(Name, null, user.display_name),
      h('span', { class: 'standing' },
        me && h('span', { class: 'muted' }, 'you'),
        room.stick.holder?.user_id === user.user_id && h('span', { class: 'chip' }, 'stick'),
        h(Presence, { is: user.presence ?? 'present' }),
        !me && h('button', { class: 'small quiet', onClick: () => complain(room, user) }, 'Report', h('span', { class: 'hidden' }, ' ', h(Words, null, user.display_name))))));
}

// The number of a participant's messages that a report may name.
const LAST = 20;

function complain(room, user) {
  const wrote = room.log.filter((one) => one.id && one.sender.user_id === user.user_id).slice(-LAST).reverse();
  question({
    title: ['About ', h(Name, null, user.display_name)],
    text: 'A report goes to the operators of this server. Blocking hides your messages from each other, and ends a conversation of two.',
    fields: [
      { name: 'what', label: 'What to do', options: Object.entries(DEEDS).map(([value, { label }]) => ({ value, label })) },
      wrote.length > 0 && { name: 'message', label: 'Message (for a report)', required: false, options: [{ value: '', label: 'None in particular' }, ...wrote.map(({ id, text }) => ({ value: id, label: isolated(text.slice(0, 60)) }))] },
      { name: 'reason', label: 'Reason (for a report)', required: false },
    ].filter(Boolean),
    does: ({ what = 'report' }) => DEEDS[what].does,
    act: async ({ what, message, reason }) => {
      const why = [reason.trim() || 'no reason given', message && `(${message})`].filter(Boolean).join(' ');
      if (what === 'report' || what === 'both') await call('report_user', { user_id: user.user_id, reason: why });
      if (what === 'block' || what === 'both') await call('block_user', { user_id: user.user_id });
      if (what === 'unblock') await call('unblock_user', { user_id: user.user_id });
      note(DEEDS[what].done);
    },
  });
}

const DEEDS = {
  report: { label: 'Report', does: 'Send report', done: 'Your report was sent.' },
  block: { label: 'Block', does: 'Block', done: 'The block is set.' },
  both: { label: 'Report and block', does: 'Report and block', done: 'Your report was sent, and the block is set.' },
  unblock: { label: 'Lift your block', does: 'Lift block', done: 'Your block is lifted.' },
};
