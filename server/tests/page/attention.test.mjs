// What the page says unasked: that it is one's turn, that something is new, and that nothing comes.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { agent, button, everywhere, person, serve, sound, wire } from './stage.mjs';

const UNREACHABLE = /Failed to load resource: net::ERR_/;

describe('one\u2019s turn', () => {
  test('is in the title, at the room, and in a notice for those who want one', async () => {
    const own = await serve();
    const bot = await agent(own.url, 'Holder', 'turns');
    await bot.tool('talking_stick');
    const ann = await person(own.url, { width: 390, height: 844, mobile: true });
    await ann.page.addInitScript(() => {
      globalThis.notices = [];
      globalThis.Notification = class {
        static permission = 'default';

        static async requestPermission() {
          this.permission = 'granted';
        }

        constructor(text) {
          globalThis.notices.push(text);
        }
      };
      document.hasFocus = () => false;
    });
    await ann.page.reload();
    await ann.join('Ann', 'turns');
    await button(ann.page, 'Ask for the stick').click();
    await everywhere(ann.page, 'turn-asked');
    await button(ann.page, 'Notify me').click();
    await button(ann.page, 'Notify me').waitFor({ state: 'detached' });
    await ann.page.getByRole('link', { name: 'Who is here' }).last().click();
    await ann.page.getByRole('heading', { name: 'Join a room' }).waitFor();
    assert.equal(await ann.page.title(), 'Talking Stick');
    await bot.tool('reset');
    await ann.page.getByRole('navigation', { name: 'Your rooms' }).getByText('your turn').waitFor();
    assert.equal(await ann.page.title(), 'Your turn \u00b7 turns \u00b7 Talking Stick');
    assert.deepEqual(await ann.page.evaluate(() => globalThis.notices), ['Your turn in \u2068turns\u2069']);
    await everywhere(ann.page, 'turn');
  });
});

describe('what is new', () => {
  test('is counted while one reads further up', async () => {
    const own = await serve({ limits: ['stick=optional', 'rate_limit=none'] });
    const bot = await agent(own.url, 'Bot', 'scroll');
    const say = (message) => bot.tool('send_message', { room_id: bot.id, message });
    for (let n = 0; n < 40; n += 1) await say(`Message ${n}`);
    const ann = await person(own.url, { width: 390, height: 844 });
    await ann.join('Ann', 'scroll');
    await ann.said('Message 39');
    const log = ann.page.getByRole('log');
    await log.evaluate((box) => new Promise((scrolled) => {
      box.addEventListener('scroll', scrolled, { once: true });
      box.scrollTop = 400;
    }));
    for (const n of [40, 41, 42]) await say(`Message ${n}`);
    const fresh = ann.page.getByRole('button', { name: '3 new below' });
    await fresh.waitFor();
    const place = await fresh.boundingBox();
    const box = await log.boundingBox();
    assert.ok(place.y > box.y && place.y + place.height <= box.y + box.height, `at ${place.y} of ${box.y} to ${box.y + box.height}`);
    await everywhere(ann.page, 'fresh');
    await fresh.click();
    await fresh.waitFor({ state: 'detached' });
    assert.ok(await log.evaluate((one) => one.scrollHeight - one.scrollTop - one.clientHeight < 2));
  });

  test('has a line where its day begins, and a crowd in one line', async () => {
    const own = await serve();
    const bot = await agent(own.url, 'Bot', 'days');
    await bot.say('Said yesterday');
    // The page's clock is a day ahead.
    const ann = await person(own.url, { width: 390, height: 844, clock: { time: Date.now() + 86_400_000 } });
    await ann.join('Ann', 'days');
    await ann.said('Said yesterday');
    const day = await ann.page.evaluate(() => new Intl.DateTimeFormat([], { weekday: 'long', month: 'long', day: 'numeric' }).format(Date.now() - 86_400_000));
    await ann.page.getByRole('log').getByText(day).waitFor();
    for (let n = 1; n <= 6; n += 1) await agent(own.url, `Crowd ${n}`, 'days');
    const crowd = ann.page.getByRole('log').getByText('Crowd 1, Crowd 2, Crowd 3 and 3 more came or went.');
    await crowd.waitFor();
    await everywhere(ann.page, 'crowd');
    await crowd.click();
    await ann.page.getByRole('log').getByText('Crowd 6 joined.').waitFor();
  });
});

describe('a server that says nothing', () => {
  test('is noticed by who waits for its answer, and by who only reads', async () => {
    const own = await serve();
    const ann = await person(own.url, { width: 390, height: 844, clock: { time: Date.now() }, expected: UNREACHABLE });
    await ann.join('Ann');
    own.freeze();
    await button(ann.page, 'Take the stick').click();
    await ann.page.clock.fastForward(2_000);
    await button(ann.page, 'One moment\u2026').waitFor();
    await ann.page.clock.fastForward(20_000);
    await ann.page.getByText('No answer for 20 s. Trying again\u2026').waitFor();
    await everywhere(ann.page, 'silent');
    await ann.page.clock.fastForward(40_000);
    await ann.page.getByText('Connection lost. Trying again\u2026').waitFor();
    own.thaw();
    await ann.page.clock.fastForward(20_000);
    await ann.page.getByText('You have the stick').waitFor();
    await ann.page.locator('.line-state p').waitFor({ state: 'detached' });
  });

  test('is told to a visitor who has joined nothing', async () => {
    const own = await serve();
    const line = await wire(own.port);
    const ann = await person(line.url, { expected: UNREACHABLE });
    await ann.page.getByText('Nobody is here yet.').waitFor();
    line.cut();
    await ann.page.getByText('The server cannot be reached. Trying again\u2026').waitFor();
    await sound(ann.page, 'unreachable');
    line.mend();
    await ann.page.locator('.line-state p').waitFor({ state: 'detached' });
  });
});
