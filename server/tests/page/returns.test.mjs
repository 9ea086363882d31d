// People come back: after a restart of the server, a reload, or in the next tab.

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { OPERATOR, agent, button, everywhere, person, serve, sound, wire } from './stage.mjs';

let server;
before(async () => {
  server = await serve({ shared: true });
});

const told = (page, text) => page.getByRole('log').locator('.told').getByText(text);
const UNREACHABLE = /Failed to load resource: net::ERR_|status of 401/;

// An act of an operator.
async function operate(url, what, body) {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${OPERATOR}` };
  const response = await fetch(`${url}/admin/${what}`, { method: 'POST', headers, body: JSON.stringify(body) });
  assert.ok(response.ok, `${what}: ${await response.text()}`);
}

describe('a restart that forgets all', () => {
  test('leaves what was said readable beside the way back', async () => {
    const own = await serve();
    const ann = await person(own.url, { width: 390, height: 844, mobile: true, expected: UNREACHABLE });
    await ann.join('Phoenix', 'ashes');
    const bot = await agent(own.url, 'Ash bot', 'ashes');
    for (let n = 0; n < 12; n += 1) await bot.say(`Before ${n}`);
    await ann.said('Before 11');
    await ann.page.getByLabel('Your message').fill('not yet sent');
    await own.stop();
    const next = await serve({ port: own.port });
    await ann.page.getByText('The server no longer knows you').waitFor();
    const again = ann.page.getByRole('button', { name: 'Join again as Phoenix' });
    for (const [width, height] of [[390, 844], [390, 480], [1280, 900]]) {
      await ann.page.setViewportSize({ width, height });
      await ann.said('Before 11');
      const places = await Promise.all([again.boundingBox(), ann.page.getByText('Before 11', { exact: true }).boundingBox()]);
      for (const place of places) assert.ok(place.y >= 0 && place.y + place.height <= height, `at ${place.y} of ${height}`);
    }
    await everywhere(ann.page, 'restarted');

    // A reload changes nothing of it.
    await ann.page.reload();
    await ann.said('Before 0');
    await again.click();
    await ann.page.getByRole('log').getByText('You joined again here.').waitFor();
    await ann.said('Before 11');
    assert.equal(await ann.page.getByLabel('Your message').inputValue(), 'not yet sent');
    await (await agent(next.url, 'New bot', 'ashes')).say('After');
    await ann.said('After');
    await sound(ann.page, 'restarted-joined');
  });

  test('keeps what was said, also after a copy of the tab has closed', async () => {
    const own = await serve();
    const ann = await person(own.url, { expected: UNREACHABLE });
    await ann.join('Phoenix', 'ashes');
    const bot = await agent(own.url, 'Ash bot', 'ashes');
    await bot.say('Before');
    await ann.said('Before');
    // The browser copies the storage of a tab into one that it opens.
    const opened = ann.page.context().waitForEvent('page');
    await ann.page.evaluate(() => { globalThis.open(location.href); });
    const copy = await opened;
    await copy.getByRole('log').getByText('Before').waitFor();
    await copy.close({ runBeforeUnload: true });
    await own.stop();
    const next = await serve({ port: own.port });
    await ann.page.getByRole('button', { name: 'Join again as Phoenix' }).click();
    await ann.page.getByRole('log').getByText('You joined again here.').waitFor();
    await ann.said('Before');
  });

  test('says at the way back that the name is taken by now', async () => {
    const own = await serve();
    const ann = await person(own.url, { expected: /net::ERR_|status of 4/ });
    await ann.join('Phoenix', 'ashes');
    await own.stop();
    const next = await serve({ port: own.port });
    await (await agent(next.url, 'Phoenix', 'elsewhere')).tool('list_users');
    await ann.page.getByRole('button', { name: 'Join again as Phoenix' }).click();
    await ann.page.locator('.ended').getByRole('alert').getByText('That name is taken').waitFor();
  });
});

describe('a reload', () => {
  test('keeps what happened in a room, and not only what was said', async () => {
    const own = await serve();
    const ann = await person(own.url, { expected: /status of 40/ });
    await ann.join('Reloader', 'notices');
    const bot = await agent(own.url, 'Passer-by', 'notices');
    await bot.say('said in between');
    await bot.post('/tools/leave_chat', { room_id: bot.id });
    await told(ann.page, 'Passer-by left.').waitFor();
    await operate(own.url, 'mute', { name: 'Reloader', reason: 'for the test' });
    await ann.page.getByText('You may not speak: for the test').waitFor();
    await ann.page.reload();
    for (const text of ['Passer-by joined.', 'Passer-by left.', 'You were muted by an operator: for the test']) await told(ann.page, text).waitFor();
    await ann.said('said in between');
    await ann.page.getByText('You may not speak: for the test').waitFor();
    await everywhere(ann.page, 'reloaded');

    // The end of a room survives, too, until the user closes it.
    await operate(own.url, 'close', { room_id: bot.id, reason: 'the play is over' });
    await ann.page.locator('.ended').waitFor();
    await ann.page.reload();
    await ann.page.locator('.ended').getByText('An operator closed this room: the play is over').waitFor();
    await told(ann.page, 'Passer-by left.').waitFor();
    await button(ann.page, 'Close it').click();
    await ann.page.reload();
    await ann.page.getByRole('heading', { name: 'Join a room' }).waitFor();
    assert.equal(await ann.page.getByRole('navigation', { name: 'Your rooms' }).count(), 0);
  });
});

describe('a tab that closes', () => {
  // Closes the tab, and opens the next one of the same browser.
  async function nextTab(ann) {
    await ann.page.close({ runBeforeUnload: true });
    const page = await ann.page.context().newPage();
    page.setDefaultTimeout(20_000);
    await page.goto(server.url);
    await page.locator('main h1').waitFor();
    return page;
  }

  test('leaves its name to the next one', async () => {
    const ann = await person(server.url);
    await ann.join('Owner', 'tabs');
    // A second tab is another participant as long as the first is open.
    const beside = await ann.page.context().newPage();
    await beside.goto(server.url);
    await beside.locator('main h1').waitFor();
    assert.equal(await beside.getByText('You were here as').count(), 0);
    assert.deepEqual(await beside.evaluate(() => Object.keys(localStorage)), []);
    const bot = await agent(server.url, 'Tab bot', 'tabs');
    await bot.say('said before');
    const page = await nextTab(ann);
    const own = page.getByText('You were here as Owner, in tabs.');
    await own.waitFor();
    await beside.getByText('You were here as Owner').waitFor();
    await everywhere(page, 'left');
    await button(page, 'Go on as Owner').click();
    await page.getByRole('heading', { level: 1, name: 'tabs' }).waitFor();
    await page.getByRole('log').getByText('said before').waitFor();
    await beside.getByText('You were here as').waitFor({ state: 'detached' });
    assert.deepEqual(await page.evaluate(() => Object.keys(localStorage)), []);
    const { users } = await bot.tool('list_users');
    assert.deepEqual(users.map((user) => user.display_name), ['Owner', 'Tab bot']);
  });

  test('has its name also where the owner types it', async () => {
    const ann = await person(server.url);
    await ann.join('Typist', 'typed');
    const page = await nextTab(ann);
    await page.getByLabel('Your name').first().fill('Typist');
    await page.getByLabel('Room', { exact: true }).fill('another');
    await button(page, 'Join').click();
    await page.getByRole('heading', { level: 1, name: 'another' }).waitFor();
    await page.getByRole('navigation', { name: 'Your rooms' }).getByRole('link', { name: 'typed' }).waitFor();
  });

  test('of another browser holds its name, which says so', async () => {
    const own = await serve({ limits: ['idle_timeout=1s'] });
    await (await agent(own.url, 'Elsewhere', 'first')).tool('list_users');
    // To its own address, one who is away gives way.
    const apart = await wire(own.port, '127.0.0.2');
    const ann = await person(apart.url, { expected: /status of 409/ });
    await ann.page.getByText('Nobody is here yet.').waitFor();
    await ann.page.getByLabel('Your name').first().fill('elsewhere');
    await button(ann.page, 'Join').click();
    await ann.page.locator('.fault').getByText(/somebody who is away has it.*If that is you, go on in the browser where you took it.* for 24 h 0 min loses its name/).waitFor();
    await everywhere(ann.page, 'name-away');
  });

  test('is signed out from the next one', async () => {
    const ann = await person(server.url);
    await ann.join('Leaver', 'leaving');
    const page = await nextTab(ann);
    await button(page, 'Sign out Leaver').click();
    await page.getByText('You were here as').waitFor({ state: 'detached' });
    await agent(server.url, 'Leaver', 'elsewhere');
  });
});

test('a browser that forbids storage shows the page all the same', async () => {
  const ann = await person(server.url);
  await ann.page.addInitScript(() => {
    for (const name of ['localStorage', 'sessionStorage']) {
      Object.defineProperty(globalThis, name, { get() { throw new DOMException('forbidden', 'SecurityError'); } });
    }
  });
  await ann.page.reload();
  await ann.join('Storeless', 'bare');
  await (await agent(server.url, 'Bare bot', 'bare')).say('heard');
  await ann.said('heard');
  await ann.close();
});
