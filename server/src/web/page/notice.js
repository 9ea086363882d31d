// Notices of the browser, for users who asked for them and look at something else.

import { h } from '/preact/preact.mjs';
import { changed } from '/page/state.js';

// Whether the user looks at another window or tab.
export const looksAway = () => document.hidden || !document.hasFocus();

// Asks the browser for the permission. Nothing where that is decided, or not possible.
export function NoticeButton() {
  if (globalThis.Notification?.permission !== 'default') return null;
  const allow = () => Notification.requestPermission().then(changed);
  return h('button', { type: 'button', class: 'small quiet', onClick: allow }, 'Notify me');
}

export function notice(text) {
  if (globalThis.Notification?.permission !== 'granted' || !looksAway()) return;
  try {
    const shown = new Notification(text, { tag: text });
    shown.onclick = () => globalThis.focus();
  } catch {
    // Some phones let only a service worker show notices.
  }
}
