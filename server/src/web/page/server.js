// Calls of the server. A call that changes state carries a request key, so that it can be repeated
// if no answer came: the server performs it once, and repeats its answer.

import { keepProof, keepToken, proof } from '/page/kept.js';
import { BASE, changed, state } from '/page/state.js';

// The number of attempts, and the pauses in between, in milliseconds.
const TRIES = 6;
const PAUSES = [300, 700, 1_500, 3_000, 5_000];

// How long an answer may take, in milliseconds.
const PATIENCE = 20_000;

// Temporary refusals. The call is repeated with the same key.
const PASSING = new Set(['rate_limited', 'overloaded', 'storage_unavailable', 'shutting_down']);

// The codes that require a token, each with the page's message.
export const UNKNOWN = 'This server does not know that token.';

const ASKS = new Map([
  ['token_required', null],
  ['token_unknown', UNKNOWN],
  ['token_expired', 'That token has expired.'],
]);

// The sentences of refusals that tell programs what to call, in words for people.
const WORDS = {
  handle_required: 'The server does not know who you are here: join again.',
  unknown_handle: 'The server no longer knows you: join again.',
  already_waiting: 'You are in the queue already.',
  already_chatting: 'You are in a conversation of two: end it before you look for another partner.',
  address_full: 'Your address has reached its limit of users, and all of them are present. Go on as one of them, sign out as one, or wait until one is away.',
  room_ambiguous: 'You are in several rooms, or in none.',
};

// Why the server lets the user in no more: an operator banned it. Null if that is not so.
function bar({ code, reason }) {
  if (code !== 'blocked' && reason === undefined) return null;
  const whom = code === 'blocked' ? 'your address' : 'you';
  return `An operator has banned ${whom} from this server${reason === undefined ? '.' : `: ${reason}`}`;
}

export class Refused extends Error {
  constructor(code, message, more = {}) {
    super(message);
    Object.assign(this, { code, ...more });
  }
}

export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// A random key of more than 128 bits.
const requestKey = () => btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(24))));

// The headers by which the server knows the user, and that the cookie comes from this page.
export function secrets(handle) {
  const headers = {};
  if (handle) headers['Chat-Handle'] = handle;
  if (proof()) headers['Chat-Session'] = proof();
  return headers;
}

// Makes one request. A network failure, and an answer that does not come in time, count as a refusal.
// The answer is JSON, unless it is read as `text`.
export async function ask(method, path, { body, token, handle, text = false } = {}) {
  const headers = secrets(handle);
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (token) headers.Authorization = `Bearer ${token}`;
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(), PATIENCE);
  let response;
  let answer;
  try {
    response = await fetch(BASE + path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: 'no-store',
      credentials: 'same-origin',
      signal: silence.signal,
    });
    // An incomplete answer counts as none; a refusal may have another form.
    answer = text && response.ok ? await response.text() : await response.json().catch((error) => {
      if (response.ok) throw error;
    });
    reached(null);
  } catch {
    const why = silence.signal.aborted ? `No answer for ${PATIENCE / 1_000} s.` : 'The server cannot be reached.';
    reached(why);
    throw new Refused('unreachable', why);
  } finally {
    clearTimeout(timer);
  }
  if (response.ok) return answer;
  const error = answer?.error ?? {};
  // When, or how long after its holder's last call, a taken name is free.
  const { retry_after_ms: retryAfter, free_at: freeAt, free_after_away_seconds: freeAfter } = error;
  const message = WORDS[error.code] ?? error.message ?? `The server answered ${response.status}.`;
  const refused = new Refused(error.code ?? `http_${response.status}`, message, { retryAfter, freeAt, freeAfter, bar: bar(error) });
  // While an operator signs in or out, a refusal may be of the session before; and the form shows errors.
  if (ASKS.has(refused.code) && !state.busy.has('operator')) {
    state.gate ??= { why: ASKS.get(refused.code) };
    changed();
  }
  throw refused;
}

// Exchanges a token for the cookie, which accompanies every later request. Scripts cannot read it.
export async function giveToken(token) {
  const session = await ask('POST', '/session', { token: token.trim() });
  keepProof(session.proof);
}

// Ends the session. Of an operator's, the server keeps the user that this browser is besides, and
// answers with the proof of that.
export async function endSession() {
  const { proof: next = null } = await ask('DELETE', '/session');
  keepProof(next);
  return next;
}

// Deletes the cookie.
export async function forgetToken() {
  while (await endSession());
  keepToken(false);
}

// Notes whether the last request was answered.
function reached(why) {
  if (state.trouble === why) return;
  state.trouble = why;
  changed();
}

// Calls a tool as the user. Without a registration, `login` and `enter_queue` register.
export async function call(tool, body, { tries = TRIES } = {}) {
  const handle = state.me?.handle;
  const whole = reads(tool) ? body : { ...body, request_key: requestKey() };
  for (let tried = 1; ; tried += 1) {
    try {
      return await ask('POST', `/tools/${tool}`, { body: whole, handle });
    } catch (error) {
      const again = error.code === 'unreachable' || PASSING.has(error.code);
      if (!again || tried >= tries) throw error;
      await pause(error.retryAfter ?? PAUSES[Math.min(tried, PAUSES.length) - 1]);
    }
  }
}

const reads = (tool) => tool === 'list_users' || tool === 'history' || tool === 'search' || tool === 'check';
