// The event stream: opened, read, and opened again after the last event whenever it breaks.
//
// It is opened with the handle, so that the user is present while it is open. A browser's
// EventSource cannot send the header, and an address with a reader id only reads.

import { keep } from '/page/kept.js';
import { Refused, ask, pause, secrets } from '/page/server.js';
import { BASE, changed, changedSoon, state } from '/page/state.js';

// The pauses before reconnecting, in milliseconds.
const PAUSES = [500, 1_000, 2_000, 4_000];

// The time without a word after which the stream counts as broken, in milliseconds. The server sends a
// comment every 15 seconds.
const SILENCE = 40_000;

// Ends the current stream. Events of an earlier, abandoned stream are ignored.
let source = null;

// Reads the stream from here on. `on.event` receives each event and notice, `on.open` is called
// when the stream opens, for the first time or again, and `on.lost` when the server no longer knows
// the user, or bars it.
export function listen(on) {
  hush();
  source = new AbortController();
  state.connection = 'connecting';
  changed();
  read(on, source);
}

// Stops reading.
export function hush() {
  source?.abort();
  source = null;
  state.connection = 'off';
}

async function read(on, mine) {
  const messages = open(mine);
  for (;;) {
    let next;
    try {
      next = await messages.next();
    } catch {
      // The connection broke, or the server refused: `again` finds out why.
      next = { done: true };
    }
    if (mine !== source) return;
    if (next.done) break;
    const { type, data } = next.value;
    if (type === 'open') {
      state.connection = 'open';
      changed();
      on.open();
    } else if (type === 'server.closing') {
      state.connection = 'closing';
      source.abort();
      break;
    } else {
      receive(on, data);
    }
  }
  if (state.connection !== 'closing') state.connection = 'retrying';
  again(on, mine);
}

// The messages of a stream: first `open`, then those of the server (HTML Living Standard, 9.2; the
// server writes each as one line of data).
async function* open(mine) {
  let timer;
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(() => mine.abort(), SILENCE);
  };
  heard();
  const after = state.cursor === null ? '' : `?after=${state.cursor}`;
  const response = await fetch(`${BASE}/events${after}`, {
    headers: { Accept: 'text/event-stream', ...secrets(state.me.handle) },
    cache: 'no-store',
    credentials: 'same-origin',
    signal: mine.signal,
  });
  if (!response.ok) return;
  yield { type: 'open' };
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    heard();
    const blocks = (text + value).split('\n\n');
    text = blocks.pop();
    for (const block of blocks) {
      const field = (name) => block.split('\n').find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const [type, data] = [field('event'), field('data')];
      if (type !== undefined && data !== undefined) yield { type, data };
    }
  }
}

function receive(on, data) {
  const event = JSON.parse(data);
  // Notices have no place in the inbox.
  if (event.seq !== undefined) {
    if (state.cursor !== null && event.seq <= state.cursor) return;
    state.cursor = event.seq;
  }
  on.event(event);
  keep();
  changedSoon();
}

// Calls the server until it answers, and then opens a new stream.
async function again(on, mine) {
  changed();
  for (let tried = 0; mine === source; tried += 1) {
    await pause(PAUSES[Math.min(tried, PAUSES.length - 1)]);
    if (mine !== source) return;
    try {
      await ask('POST', '/reconnect', { body: {}, handle: state.me.handle });
      if (mine === source) listen(on);
      return;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if ((error.code === 'unknown_handle' || error.bar) && mine === source) {
        on.lost(error);
        return;
      }
    }
  }
}
