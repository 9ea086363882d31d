// Older messages: loaded by scrolling up, without moving what one reads.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { agent, button, everywhere, person, serve, wire } from './stage.mjs';

const LIMITS = ['stick=optional', 'rate_limit=none'];
const PHONE = { width: 390, height: 844, mobile: true };

async function sayMany(bot, count) {
  for (let n = 0; n < count; n += 1) await bot.tool('send_message', { room_id: bot.id, message: `Message ${n}` });
}

// The texts of the log, in order.
const texts = (page) => page.locator('.log .text').allTextContents();

// Scrolls to the start of the log, as a thumb or a wheel does.
const toStart = (page) => page.getByRole('log').evaluate((log) => {
  log.scrollTop = 0;
});

const many = (from, to) => Array.from({ length: to - from }, (_, n) => `Message ${from + n}`);

describe('older messages', () => {
  test('come by scrolling up, and what is read stays in its place', async () => {
    const own = await serve({ limits: LIMITS });
    const bot = await agent(own.url, 'Bot', 'long');
    await sayMany(bot, 260);
    const ann = await person(own.url, PHONE);
    await ann.join('Ann', 'long');
    await ann.said('Message 259');
    assert.deepEqual(await texts(ann.page), many(160, 260));
    await everywhere(ann.page, 'past-newest');
    await ann.page.setViewportSize({ width: 390, height: 844 });

    const read = ann.page.getByText('Message 165', { exact: true });
    await read.scrollIntoViewIfNeeded();
    const before = (await read.boundingBox()).y;
    await ann.page.getByText('Message 60', { exact: true }).waitFor({ state: 'attached' });
    const after = (await read.boundingBox()).y;
    assert.ok(Math.abs(after - before) < 3, `it moved from ${before} to ${after}`);
    assert.deepEqual(await texts(ann.page), many(60, 260));

    // The room keeps the last 200, and one that came later was not there before.
    await toStart(ann.page);
    await ann.page.getByText('There are no older messages for you.').waitFor();
    await everywhere(ann.page, 'past-start');

    // What is said meanwhile does not move the reader either.
    const first = ann.page.getByText('Message 60', { exact: true });
    const place = (await first.boundingBox()).y;
    await bot.tool('send_message', { room_id: bot.id, message: 'Message 260' });
    await ann.page.getByText('Message 260', { exact: true }).waitFor({ state: 'attached' });
    assert.ok(Math.abs((await first.boundingBox()).y - place) < 3);
  });

  test('of long ago come from the archive, after a reload too', async () => {
    const own = await serve({ data: 'past', limits: LIMITS });
    const ann = await person(own.url);
    await ann.join('Ann', 'archive');
    const bot = await agent(own.url, 'Bot', 'archive');
    await sayMany(bot, 450);
    await ann.said('Message 449');
    await ann.page.reload();
    await ann.said('Message 449');
    for (let left = 10; (await texts(ann.page))[0] !== 'Message 0'; left -= 1) {
      assert.ok(left > 0, 'the first message did not come');
      const [first] = await texts(ann.page);
      await toStart(ann.page);
      await ann.page.waitForFunction((known) => document.querySelector('.log .text').textContent !== known, first);
    }
    assert.deepEqual(await texts(ann.page), many(0, 450));
  });

  test('missed in a long interruption are all there', async () => {
    const own = await serve({ limits: [...LIMITS, 'inbox_limit=50'] });
    const line = await wire(own.port);
    const ann = await person(line.url, { expected: /net::ERR_/ });
    await ann.join('Ann', 'cut');
    const bot = await agent(own.url, 'Bot', 'cut');
    await bot.tool('send_message', { room_id: bot.id, message: 'Before' });
    await ann.said('Before');
    line.cut();
    await ann.page.getByText('Connection lost. Trying again…').waitFor();
    await sayMany(bot, 150);
    line.mend();
    await ann.said('Message 149');
    await ann.page.getByText('Message 0', { exact: true }).waitFor({ state: 'attached' });
    assert.deepEqual(await texts(ann.page), ['Before', ...many(0, 150)]);
  });

  test('are shown once beside a gap that is reported at the place of one', async () => {
    const own = await serve({ limits: LIMITS });
    const ann = await person(own.url);
    const [added, kinds] = await ann.page.evaluate(async () => {
      const { put } = await import('/page/room.js');
      const room = { log: [], limit: 9 };
      const both = ['message', 'told'];
      return [[...both, ...both].map((kind) => put(room, { seq: 7, kind })), room.log.map(({ kind }) => kind)];
    });
    assert.deepEqual([added, kinds], [[true, true, false, false], ['message', 'told']]);
  });

  test('that cannot be loaded say so there, and come on request', async () => {
    const own = await serve({ limits: LIMITS });
    const bot = await agent(own.url, 'Bot', 'refused');
    await sayMany(bot, 150);
    const ann = await person(own.url, { expected: /status of 500/ });
    await ann.join('Ann', 'refused');
    await ann.said('Message 149');
    const answer = { status: 500, contentType: 'application/json', body: JSON.stringify({ error: { code: 'broken', message: 'The past is out of reach' } }) };
    await ann.page.route('**/tools/history', (route) => route.fulfill(answer));
    await toStart(ann.page);
    await ann.page.locator('.older').getByRole('alert').getByText('The past is out of reach').waitFor();
    await everywhere(ann.page, 'past-refused');
    await ann.page.unroute('**/tools/history');
    await ann.page.getByRole('button', { name: 'Older messages' }).click();
    await ann.page.getByText('Message 0', { exact: true }).waitFor({ state: 'attached' });
    assert.deepEqual(await texts(ann.page), many(0, 150));
  });
});
