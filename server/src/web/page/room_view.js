// A room: its head, the stick with its line, what was said and the search for it, the field to speak,
// how it ended, and its members with what one may do about another.

import { h } from '/preact/preact.mjs';
import { Fault, marked, mend, submitted, ask as question } from '/page/field.js';
import { JoinAgain } from '/page/home.js';
import { keepAndDraw } from '/page/kept.js';
import { Log, reach } from '/page/log.js';
import { Badge, Entry, Name, NoticeButton, Presence, Words, count, isolated, named, span } from '/page/parts.js';
import { entryOf, holds } from '/page/room.js';
import { leaveRoom, show } from '/page/registration.js';
import { call } from '/page/server.js';
import { append, asksForStick, claim, handBack, say, serverNow, tooLong, typing, undo } from '/page/speech.js';
import { changed, doing, label, note, state } from '/page/state.js';

export function RoomView({ room }) {
  return h('main', { id: 'main', class: `room ${room.showsMembers ? 'shows-members' : ''}`, 'aria-labelledby': 'room-title' },
    h('header', { class: 'room-head' },
      h('div', null,
        h('h1', { id: 'room-title', tabindex: -1 }, h(Name, null, room.name)),
        h('p', { class: 'muted' }, about(room))),
      !room.ended && h(MembersButton, { room }),
      !room.search && state.me && h('button', { class: 'quiet', onClick: () => openSearch(room) }, 'Search'),
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
    isPair && 'It ends for both of you, and cannot be resumed.',
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

// The text field and its buttons. In a room with a stick, the button first claims it.
function Composer({ room }) {
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
    document.getElementById('text').focus();
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
        id: 'text', rows: 2, dir: 'auto', value: room.text, onInput: typed, onKeyDown: pressed,
        placeholder: ready || free ? 'Your message' : 'Draft now, send when you hold the stick',
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

// What the key Enter does now.
function enter(room, { ready, says, free, long }) {
  if (long) return 'Enter sends nothing now.';
  if (ready) return `Enter sends${asksForStick(room) ? ' and passes the stick on' : ''}. Shift+Enter begins a new line.`;
  if (room.stick.place > 0) return 'Enter does nothing while you wait for the stick.';
  if (says) return 'The stick is free: Enter takes it, sends, and passes it on.';
  return `Enter ${free ? 'takes' : 'sends nothing yet: it puts you in line for'} the stick. With the stick, it sends.`;
}

// The search of a room, in place of its log: messages that were said while the user was there.

// The number of messages to request at once.
const FOUND_AT_ONCE = 20;

// Opens the search of a room.
function openSearch(room) {
  room.showsMembers = false;
  room.search = { query: '', asked: null, found: [], more: false, before: null };
  changed();
}

function closeSearch(room) {
  room.search = null;
  changed();
}

// Finds the newest messages, or those before the ones that are shown.
async function findIn(room, search, before) {
  const query = before === null ? search.query.trim() : search.asked;
  if (query === '') return;
  const words = { query, room_id: room.id, limit: FOUND_AT_ONCE };
  const answer = await call('search', before === null ? words : { ...words, before });
  search.asked = query;
  search.found = before === null ? answer.messages : [...search.found, ...answer.messages];
  search.more = answer.more;
  search.before = answer.before ?? null;
}

// Shows a message in the log, with what was said around it.
async function showThere(room, seq) {
  if (!await reach(room, seq)) {
    note('That is further back than this page shows.', 'error');
    return;
  }
  room.target = seq;
  closeSearch(room);
}

// Gives the focus to an element that appears.
const focus = (element) => element?.focus();

function Search({ room }) {
  const { search } = room;
  const busy = state.busy.has(`find ${room.id}`);
  const go = (action) => doing(`find ${room.id}`, action, () => 'query');
  const typed = (event) => {
    mend('query');
    search.query = event.currentTarget.value;
    changed();
  };
  return h('section', { class: 'log finder', 'aria-label': 'Search', tabindex: 0 },
    h('form', { role: 'search', onSubmit: submitted(() => go(() => findIn(room, search, null))) },
      h('label', { for: 'query', class: 'hidden' }, 'Words to find'),
      h('input', { id: 'query', type: 'search', ref: focus, dir: 'auto', autocomplete: 'off', placeholder: 'Words to find', value: search.query, onInput: typed, ...marked('query') }),
      h('button', { type: 'submit', class: 'primary', disabled: busy || search.query.trim() === '' }, 'Find'),
      h('button', { type: 'button', class: 'quiet', onClick: () => closeSearch(room) }, 'Back'),
      h(Fault, { at: 'query' })),
    h('p', { class: 'muted', role: 'status' }, outcome(search)),
    search.found.map((said) => h('div', { key: said.room_seq, class: 'found' },
      h(Entry, { entry: entryOf(said, state.me.userId), goesOn: false }),
      h('button', { class: 'small quiet', disabled: busy, onClick: () => go(() => showThere(room, said.room_seq)) }, 'Show it there'))),
    search.more && h('button', { class: 'quiet', disabled: busy, onClick: () => go(() => findIn(room, search, search.before)) }, 'Older ones'));
}

function outcome({ asked, found, more }) {
  if (asked === null) return 'Finds what was said here while you were in the room.';
  if (found.length === 0) return ['Nothing with ', h(Words, null, asked), ' was said while you were here.'];
  return [more && 'The newest ', count(found.length, 'message'), ' with ', h(Words, null, asked), !more && ', the newest first'];
}
