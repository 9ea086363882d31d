// A room's members, and what one may do about another.

import { h } from '/preact/preact.mjs';
import { ask as question } from '/page/dialog.js';
import { Badge, Name, Presence, Words, isolated } from '/page/parts.js';
import { call } from '/page/server.js';
import { changed, note, state } from '/page/state.js';

// Shows the members in place of the log, on a phone. A larger screen shows both.
export function MembersButton({ room }) {
  const toggle = () => {
    room.showsMembers = !room.showsMembers;
    changed();
  };
  return h('button', { class: 'quiet members-button', 'aria-expanded': String(room.showsMembers), 'aria-controls': 'members', onClick: toggle },
    'Here ', h('span', { class: 'tally' }, room.members.size));
}

export function Members({ room }) {
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
