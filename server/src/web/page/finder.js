// The search of a room, in place of its log: messages that were said while the user was there.

import { Component, createRef, h } from '/preact/preact.mjs';
import { Fault, marked, mend, submitted } from '/page/field.js';
import { Entry, Words, count } from '/page/parts.js';
import { reach } from '/page/past.js';
import { call } from '/page/server.js';
import { changed, doing, note, state } from '/page/state.js';

// The number of messages to request at once.
const PAGE = 20;

// Opens the search of a room.
export function opened(room) {
  room.showsMembers = false;
  room.search = { query: '', asked: null, found: [], more: false, before: null };
  changed();
}

function closed(room) {
  room.search = null;
  changed();
}

// Finds the newest messages, or those before the ones that are shown.
async function find(room, search, before) {
  const query = before === null ? search.query.trim() : search.asked;
  if (query === '') return;
  const words = { query, room_id: room.id, limit: PAGE };
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
  closed(room);
}

export class Search extends Component {
  query = createRef();

  componentDidMount() {
    this.query.current.focus();
  }

  render({ room }) {
    const { search } = room;
    const busy = state.busy.has(`find ${room.id}`);
    const go = (action) => doing(`find ${room.id}`, action, () => 'query');
    const typed = (event) => {
      mend('query');
      search.query = event.currentTarget.value;
      changed();
    };
    return h('section', { class: 'log finder', 'aria-label': 'Search', tabindex: 0 },
      h('form', { role: 'search', onSubmit: submitted(() => go(() => find(room, search, null))) },
        h('label', { for: 'query', class: 'hidden' }, 'Words to find'),
        h('input', { id: 'query', type: 'search', ref: this.query, dir: 'auto', autocomplete: 'off', placeholder: 'Words to find', value: search.query, onInput: typed, ...marked('query') }),
        h('button', { type: 'submit', class: 'primary', disabled: busy || search.query.trim() === '' }, 'Find'),
        h('button', { type: 'button', class: 'quiet', onClick: () => closed(room) }, 'Back'),
        h(Fault, { at: 'query' })),
      h('p', { class: 'muted', role: 'status' }, told(search)),
      search.found.map((said) => h('div', { key: said.room_seq, class: 'found' },
        h(Entry, { entry: entry(said), goesOn: false }),
        h('button', { class: 'small quiet', disabled: busy, onClick: () => go(() => showThere(room, said.room_seq)) }, 'Show it there'))),
      search.more && h('button', { class: 'quiet', disabled: busy, onClick: () => go(() => find(room, search, search.before)) }, 'Older ones'));
  }
}

function told({ asked, found, more }) {
  if (asked === null) return 'Finds what was said here while you were in the room.';
  if (found.length === 0) return ['Nothing with ', h(Words, null, asked), ' was said while you were here.'];
  return [more && 'The newest ', count(found.length, 'message'), ' with ', h(Words, null, asked), !more && ', the newest first'];
}

const entry = ({ room_seq: seq, timestamp: at, sender, message: text }) =>
  ({ seq, at, kind: 'message', sender, text, mine: sender.user_id === state.me.userId });
