// The fixtures of the page's tests: a server, a browser, a page for each person, and agents on
// plain HTTP. What a test starts ends with it.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before } from 'node:test';
import { chromium } from 'playwright-core';

const screenshots = process.env.SCREENSHOTS;
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export const OPERATOR = 'operator-token-0123456789';
export const GUEST = 'guest-token-0123456789';

const folder = mkdtempSync(join(tmpdir(), 'talking-stick-page-'));

// A token file with one token.
function tokens(name, token) {
  const path = join(folder, name);
  writeFileSync(path, `${name} ${createHash('sha256').update(token).digest('hex')}\n`);
  return path;
}

let browser;
// Ends what the test has started.
const ends = [];
// Running servers. A server that a failed test left behind would keep this process from ending.
const running = new Set();

before(async () => {
  browser = await launch();
});
afterEach(async () => {
  while (ends.length > 0) await ends.pop()();
});
after(async () => {
  await browser?.close();
  for (const process_ of running) process_.kill('SIGKILL');
});

// Starts the server, and waits until it prints its address. A `shared` one is there for all tests of a
// file.
export async function serve({ guests = false, port = 0, limits = [], data = null, realms = null, shared = false } = {}) {
  const words = ['--listen', `127.0.0.1:${port}`, '--operator-tokens', tokens('olga', OPERATOR), '--log-level', 'warn'];
  if (guests) words.push('--auth-tokens', tokens('guest', GUEST));
  if (data) words.push('--data', join(folder, data));
  else words.push('--in-memory');
  if (realms) words.push('--realms', realms);
  for (const limit of limits) words.push('--limit', limit);
  const process_ = spawn(process.env.SERVER_PROGRAM, words, { stdio: ['ignore', 'inherit', 'pipe'] });
  running.add(process_);
  process_.once('close', () => running.delete(process_));
  const url = await new Promise((found, failed) => {
    let printed = '';
    process_.stderr.on('data', (data) => {
      printed += data;
      const address = printed.match(/http:\/\/[\d.]+:\d+/);
      if (address) found(address[0]);
    });
    process_.on('exit', (code) => failed(new Error(`the server ended with ${code}`)));
  });
  const stop = () => new Promise((done) => {
    process_.removeAllListeners('exit');
    process_.once('exit', done);
    if (!running.has(process_) || !process_.kill('SIGTERM')) done();
    // One that a failed test left frozen takes the signal only now.
    process_.kill('SIGCONT');
  });
  if (!shared) ends.push(stop);
  return {
    url,
    port: Number(new URL(url).port),
    stop,
    // A frozen server has open connections, and says nothing.
    freeze: () => process_.kill('SIGSTOP'),
    thaw: () => process_.kill('SIGCONT'),
  };
}

// A proxy between a browser and the server, which can be cut and restored. The server sees its address.
export async function wire(port, localAddress = '127.0.0.1') {
  const open = new Set();
  let isCut = false;
  const server = createServer((near) => {
    if (isCut) {
      near.destroy();
      return;
    }
    const far = connect({ port, host: '127.0.0.1', localAddress });
    for (const socket of [near, far]) {
      open.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        open.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far);
    far.pipe(near);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const cut = () => {
    isCut = true;
    for (const socket of open) socket.destroy();
  };
  ends.push(() => {
    cut();
    server.close();
  });
  return {
    cut,
    url: `http://127.0.0.1:${server.address().port}`,
    mend() {
      isCut = false;
    },
  };
}

async function launch() {
  mkdirSync(screenshots, { recursive: true });
  return chromium.launch({
    executablePath: process.env.BROWSER_PROGRAM,
    headless: true,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
}

// A person with a page open. The page's errors are collected; `expected` tells which are allowed. With
// a `clock` the test may move the page's time.
export async function person(url, { width = 1280, height = 860, colorScheme = 'light', mobile = false, expected = null, clock = null } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, reducedMotion: 'reduce', isMobile: mobile, hasTouch: mobile });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  if (clock) await page.clock.install(clock);
  const complaints = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()) && !expected?.test(message.text())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.stack));
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on('request', (request) => {
    const { origin } = new URL(request.url());
    if (origin !== new URL(url).origin) complaints.push(`asked ${origin}`);
    if (/h_|handle=/.test(request.url())) complaints.push(`a handle in ${request.url()}`);
  });
  // Ends its visit. Its page has told of no error.
  const close = async () => {
    if (ends.includes(close)) ends.splice(ends.indexOf(close), 1);
    assert.deepEqual(complaints, []);
    await context.close();
  };
  ends.push(close);
  await page.goto(url);
  await page.locator('main h1').waitFor();
  return {
    page,
    async join(name, room = 'lobby') {
      await page.getByLabel('Your name').first().fill(name);
      await page.getByLabel('Room', { exact: true }).fill(room);
      await page.getByRole('button', { name: 'Join', exact: true }).click();
      await page.getByRole('heading', { level: 1, name: room }).waitFor();
    },
    async connected() {
      await page.waitForFunction(() => performance.getEntriesByType('resource').length > 0);
      await page.locator('.line-state p').waitFor({ state: 'detached' });
    },
    said: (text) => page.getByRole('log').getByText(text, { exact: true }).waitFor(),
    close,
  };
}

// An agent on plain HTTP.
export async function agent(url, username, room = 'lobby') {
  const post = async (path, body, handle) => {
    const headers = { 'content-type': 'application/json', ...(handle ? { 'chat-handle': handle } : {}) };
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    const answer = await response.json();
    assert.ok(response.ok, `${path}: ${JSON.stringify(answer)}`);
    return answer;
  };
  const { handle, room_id: id } = await post('/register', { username, room });
  const tool = (name, body = {}) => post(`/tools/${name}`, body, handle);
  return {
    id,
    tool,
    post: (path, body) => post(path, body, handle),
    // Takes the stick, and sends the text as a draft and a message.
    async say(text, room_id = id) {
      await tool('talking_stick', { room_id });
      const characters = [...text];
      for (let at = 0; at < characters.length; at += 200) await tool('append', { room_id, text: characters.slice(at, at + 200).join('') });
      return tool('push', { room_id });
    },
    // Waits until an event of this kind is in the inbox.
    async hears(wanted) {
      for (;;) {
        const { events, notices } = await tool('check', { wait_seconds: 10 });
        const found = [...events, ...notices].find(wanted);
        if (found) return found;
        assert.ok(events.length + notices.length > 0, 'nothing came');
      }
    },
  };
}

// The parts of names, and the short words in lists, that stand on more than one line although no blank
// or hyphen is between them.
const brokenNames = (page) => page.evaluate(() => {
  const place = document.createRange();
  const broken = [];
  const inLists = [...document.querySelectorAll('.listing :is(th, td, td *)')].flatMap((one) => [...one.childNodes]);
  for (const text of [...[...document.querySelectorAll('.name')].map((name) => name.firstChild), ...inLists]) {
    if (text?.nodeType !== Node.TEXT_NODE || !text.parentElement.checkVisibility()) continue;
    const most = text.parentElement.matches('.name') ? Infinity : 20;
    for (const { 0: part, index } of text.data.matchAll(/[^\s-]+/g)) {
      if (part.length > most) continue;
      const tops = new Set();
      for (let at = index; at < index + part.length; at += 1) {
        place.setStart(text, at);
        place.setEnd(text, at + 1);
        const { width, top } = place.getBoundingClientRect();
        if (width > 0) tops.add(Math.round(top / 4));
      }
      if (tops.size > 1) broken.push(part);
    }
  }
  return broken;
});

// The elements that reach beyond the one that they are in, unless that one scrolls or cuts them.
const misplaced = (page) => page.evaluate(() => {
  const isCut = (one) => one !== null && (getComputedStyle(one).clipPath !== 'none' || isCut(one.parentElement));
  const beyond = [];
  for (const one of document.querySelectorAll('#page *')) {
    const around = one.parentElement;
    if (!one.checkVisibility() || !['static', 'relative'].includes(getComputedStyle(one).position) || isCut(one)) continue;
    if (getComputedStyle(around).overflowX !== 'visible' || one.closest('svg')) continue;
    const [inner, outer] = [one.getBoundingClientRect(), around.getBoundingClientRect()];
    const by = Math.max(inner.right - outer.right, outer.left - inner.left);
    if (inner.width > 0 && outer.width > 0 && by > 5) beyond.push(`${one.tagName}.${one.className} by ${by}: ${one.textContent.slice(0, 40)}`);
  }
  return beyond;
});

// The page does not scroll sideways, nothing reaches over what is beside it, no name breaks within a word, and axe finds no accessibility
// errors.
export async function sound(page, name) {
  const widths = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
  assert.ok(widths[0] <= widths[1], `${name}: the page is ${widths[0]} wide in a window of ${widths[1]}`);
  assert.deepEqual(await brokenNames(page), [], name);
  assert.deepEqual(await misplaced(page), [], name);
  // The page's content security policy blocks scripts, but not those that the test driver injects.
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const options = { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] };
    const { violations } = await globalThis.axe.run(document, options);
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.target} ${node.failureSummary}`).join(' | ')}`);
  });
  assert.deepEqual(found, [], name);
  await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage: true });
}

export const button = (page, name) => page.getByRole('button', { name, exact: true });

// Checks the page at both widths and in both colour schemes.
export async function everywhere(page, name) {
  const before = page.viewportSize();
  for (const [width, height] of [[1280, 900], [360, 740]]) {
    await page.setViewportSize({ width, height });
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      await sound(page, `${name}-${width}-${colorScheme}`);
    }
  }
  await page.setViewportSize(before);
}
