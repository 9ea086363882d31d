// Tokens: the page asks for one when the server requires it, and stores it only as a cookie that
// scripts cannot read.

import { h } from '/preact/preact.mjs';
import { Field, submitted } from '/page/field.js';
import { keepProof, keepToken } from '/page/kept.js';
import { ask } from '/page/server.js';
import { changed, doing, state } from '/page/state.js';

// Exchanges a token for the cookie, which accompanies every later request.
export async function giveToken(token) {
  const session = await ask('POST', '/session', { token: token.trim() });
  keepProof(session.proof);
}

// Ends the session. Of an operator's, the server keeps the user that this browser is besides, and
// answers with the proof of that.
export async function endSession() {
  const { proof = null } = await ask('DELETE', '/session');
  keepProof(proof);
  return proof;
}

// Deletes the cookie.
export async function forgetToken() {
  while (await endSession());
  keepToken(false);
}

// The form that replaces the page until there is a token. `then` continues with it.
export function Gate({ then }) {
  const submit = ({ token }) => doing('gate', async () => {
    await giveToken(token);
    keepToken(true);
    state.gate = null;
    changed();
    await then();
  }, () => 'token');
  return h('main', { id: 'main', class: 'narrow' },
    h('form', { class: 'card gate', onSubmit: submitted(submit) },
      h('h1', { tabindex: -1 }, 'A token, please'),
      h('p', { class: 'muted' }, 'This server is for people with a token. Its operator can give you one; it is kept in a cookie for this browser.'),
      state.gate.why && h('p', { class: 'error', role: 'alert' }, state.gate.why),
      h(Field, { id: 'token', name: 'token', label: 'Token', type: 'password', required: true, autocomplete: 'current-password' }),
      h('button', { class: 'primary', disabled: state.busy.has('gate') }, 'Go in')));
}
