// A room: its head, the stick with its line, what was said, and how it ended.

import { h } from '/preact/preact.mjs';
import { Composer } from '/page/composer.js';
import { ask as question } from '/page/dialog.js';
import { Fault } from '/page/field.js';
import { Search, opened } from '/page/finder.js';
import { JoinAgain } from '/page/home.js';
import { Log } from '/page/log.js';
import { Members, MembersButton } from '/page/members.js';
import { Name, named, span } from '/page/parts.js';
import { holds } from '/page/room.js';
import { leaveRoom, show } from '/page/registration.js';
import { asksForStick, serverNow } from '/page/speech.js';
import { doing, label, state } from '/page/state.js';

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
