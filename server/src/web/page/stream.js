// The stream of events: opened, read, and opened again whenever it breaks, from the last event on.

import { Refused, ask, pause } from '/page/server.js';
import { changed, keep, state } from '/page/state.js';

// Every type of event and notice that the page deals with.
const TYPES = [
  'chatroom.found', 'message.received', 'partner.disconnected', 'partner.away',
  'partner.reconnected', 'user.joined', 'user.left', 'user.away', 'user.back', 'stick.claimed',
  'stick.granted', 'stick.released', 'stick.expired', 'moderation.muted', 'moderation.kicked',
  'moderation.closed', 'gap', 'user.typing', 'user.waiting',
];

// How long to wait before the server is asked again, in milliseconds: a little longer each time.
const PAUSES = [500, 1_000, 2_000, 4_000];

let source = null;
// Counts streams, so that one that was given up does nothing any more.
let turn = 0;

// Reads the stream from here on. `on.event` gets each event and notice, `on.open` is told when the
// stream is there, for the first time or again, and `on.lost` when the server knows us no longer.
export function listen(on) {
  hush();
  const mine = turn;
  const after = state.cursor === null ? '' : `&after=${state.cursor}`;
  source = new EventSource(`/events?reader=${encodeURIComponent(state.me.readerId)}${after}`);
  state.connection = 'connecting';
  source.onopen = () => {
    if (mine !== turn) return;
    state.connection = 'open';
    changed();
    on.open();
  };
  for (const type of TYPES) {
    source.addEventListener(type, (message) => {
      if (mine === turn) receive(on, message);
    });
  }
  source.addEventListener('server.closing', () => {
    if (mine !== turn) return;
    state.connection = 'closing';
    source.close();
    again(on, mine);
  });
  source.onerror = () => {
    if (mine !== turn) return;
    // The browser comes back by itself, unless the server refused: then one asks why.
    if (state.connection !== 'closing') state.connection = 'retrying';
    changed();
    if (source.readyState === EventSource.CLOSED) again(on, mine);
  };
  changed();
}

// Reads no more.
export function hush() {
  turn += 1;
  source?.close();
  source = null;
  state.connection = 'off';
}

function receive(on, message) {
  const event = JSON.parse(message.data);
  // Notices have no place of their own.
  if (event.seq !== undefined) {
    if (state.cursor !== null && event.seq <= state.cursor) return;
    state.cursor = event.seq;
  }
  on.event(event);
  keep();
  changed();
}

// Asks the server until it answers, and then opens a new stream.
async function again(on, mine) {
  changed();
  for (let tried = 0; mine === turn; tried += 1) {
    await pause(PAUSES[Math.min(tried, PAUSES.length - 1)]);
    if (mine !== turn) return;
    try {
      await ask('POST', '/reconnect', { body: {}, handle: state.me.handle });
      if (mine === turn) listen(on);
      return;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (error.code === 'unknown_handle' && mine === turn) {
        on.lost();
        return;
      }
    }
  }
}
