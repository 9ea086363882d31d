// A room's members, and what one may do about another.

import { h } from '/preact/preact.mjs';
import { ask as question } from '/page/dialog.js';
import { Badge, Name, Presence, Words } from '/page/parts.js';
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
    h('ul', { class: 'people' }, all.map((user) => h(Member, { key: user.user_id, room, user }))));
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
        !me && h('button', { class: 'small quiet', onClick: () => complain(user) }, 'Report', h('span', { class: 'hidden' }, ' ', h(Words, null, user.display_name))))));
}

function complain(user) {
  question({
    title: ['About ', h(Name, null, user.display_name)],
    text: 'A report goes to the operators of this server. Blocking hides your messages from each other, and ends a conversation of two.',
    fields: [
      { name: 'what', label: 'What to do', options: [{ value: 'report', label: 'Report' }, { value: 'block', label: 'Block' }, { value: 'both', label: 'Report and block' }, { value: 'unblock', label: 'Lift your block' }] },
      { name: 'reason', label: 'Reason (for a report)', required: false },
    ],
    does: 'Do it',
    danger: true,
    act: async ({ what, reason }) => {
      if (what === 'report' || what === 'both') await call('report_user', { user_id: user.user_id, reason: reason.trim() || 'no reason given' });
      if (what === 'block' || what === 'both') await call('block_user', { user_id: user.user_id });
      if (what === 'unblock') await call('unblock_user', { user_id: user.user_id });
      note(DONE[what]);
    },
  });
}

const DONE = {
  report: 'Your report was sent.',
  block: 'The block is set.',
  both: 'Your report was sent, and the block is set.',
  unblock: 'Your block is lifted.',
};
