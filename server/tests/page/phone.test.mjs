// The page on a phone, with and without a keyboard on the screen, and its names at every width.

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { agent, button, person, serve, sound } from './stage.mjs';

let server;
before(async () => {
  server = await serve({ shared: true });
});

const PHONE = { width: 390, height: 844, mobile: true };
// A phone whose keyboard is up, a small one, and one that lies on its side.
const KEYBOARD = { width: 390, height: 480 };
const SMALL = { width: 360, height: 420 };
const LYING = { width: 844, height: 390 };

// The place of an element on the screen.
const place = (page, what) => page.locator(what).evaluate((one) => {
  const { top, bottom, height } = one.getBoundingClientRect();
  return { top, bottom, height };
});

// The text field and its buttons are on the screen, the page does not scroll, and the log ends above
// them with its last message in view.
async function composerInView(page, name) {
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  const { height } = page.viewportSize();
  const scrolls = await page.evaluate(() => document.scrollingElement.scrollHeight - innerHeight);
  assert.equal(scrolls, 0, `${name}: the page scrolls by ${scrolls}`);
  for (const what of ['#text', '.composer button[type=submit]']) {
    const { top, bottom } = await place(page, what);
    assert.ok(top >= 0 && bottom <= height, `${name}: ${what} is at ${top} to ${bottom} of ${height}`);
  }
  const beside = await page.locator('main button:visible').evaluateAll((all) => all
    .filter((one) => !one.closest('.log') && one.getBoundingClientRect().right > innerWidth).map((one) => one.textContent));
  assert.deepEqual(beside, [], `${name}: beside the screen`);
  const log = await place(page, '.log');
  const last = await page.locator('.log > *').last().evaluate((one) => one.getBoundingClientRect().bottom);
  assert.ok(log.height >= 56, `${name}: the log is ${log.height} high`);
  assert.ok(last <= log.bottom, `${name}: the last message ends at ${last}, the log at ${log.bottom}`);
}

describe('on a phone', () => {
  for (const colorScheme of ['light', 'dark']) {
    test(`the composer is in view, with the keyboard and without (${colorScheme})`, async () => {
      const room = `pocket ${colorScheme}`;
      const ann = await person(server.url, { ...PHONE, colorScheme });
      const bot = await agent(server.url, `Pocket bot ${colorScheme}`, room);
      for (let n = 0; n < 12; n += 1) await bot.say(`Message ${n}, long enough to take two lines on a screen as narrow as this one is.`);
      await ann.join(`Pocket Ann ${colorScheme}`, room);
      await ann.page.getByText('Message 11,').waitFor();
      const look = async (name) => {
        for (const size of [PHONE, KEYBOARD, SMALL, LYING]) {
          await ann.page.setViewportSize({ width: size.width, height: size.height });
          await composerInView(ann.page, `${name} ${size.width} x ${size.height}`);
          await sound(ann.page, `phone-${name}-${size.width}x${size.height}-${colorScheme}`);
        }
      };
      await look('reads');
      await button(ann.page, 'Take the stick').click();
      await ann.page.getByText('You have the stick').waitFor();
      const draft = 'A draft of many words. '.repeat(8);
      await ann.page.getByLabel('Your message').fill(draft);
      await button(ann.page, 'Add to draft').click();
      await ann.page.locator('.draft').waitFor();
      await ann.page.getByLabel('Your message').fill(draft);
      await look('writes');
    });
  }

  test('a page with no height for the log scrolls', async () => {
    const ann = await person(server.url, { ...PHONE, width: 320, height: 256 });
    await agent(server.url, 'Low bot', 'low');
    await ann.join('Low Ann', 'low');
    assert.ok((await place(ann.page, '.log')).height >= 100);
    await button(ann.page, 'Take the stick').scrollIntoViewIfNeeded();
    const { top, bottom } = await place(ann.page, '.composer button[type=submit]');
    assert.ok(top >= 0 && bottom <= 256, `at ${top} to ${bottom}`);
    await sound(ann.page, 'phone-320x256');
  });

  test('a keyboard that covers the page leaves the composer above it', async () => {
    const ann = await person(server.url, PHONE);
    await ann.join('Covered Ann', 'covered');
    // This is what Safari on an iPhone reports: the page keeps its height, and less of it is seen.
    const cover = (height, offsetTop) => ann.page.evaluate(([h, top]) => {
      Object.defineProperty(visualViewport, 'height', { value: h, configurable: true });
      Object.defineProperty(visualViewport, 'offsetTop', { value: top, configurable: true });
      visualViewport.dispatchEvent(new Event('resize'));
    }, [height, offsetTop]);
    await cover(480, 60);
    const column = await place(ann.page, '#page');
    assert.deepEqual([column.top, column.bottom], [60, 540]);
    assert.ok((await place(ann.page, '.composer')).bottom <= 540);
    await cover(844, 0);
    assert.equal((await place(ann.page, '#page')).height, 844);
  });

  test('the members take the place of the log, and give it back', async () => {
    const ann = await person(server.url, PHONE);
    await ann.join('Member Ann', 'folded');
    await agent(server.url, 'Folded bot', 'folded');
    const members = ann.page.getByRole('complementary');
    assert.equal(await members.isVisible(), false);
    const here = ann.page.getByRole('button', { name: 'Here 2' });
    await here.click();
    await members.locator('.name').getByText('Folded bot').waitFor();
    assert.equal(await ann.page.getByRole('log').isVisible(), false);
    await sound(ann.page, 'phone-members');
    await here.click();
    await ann.page.getByRole('log').waitFor();
  });
});

describe('names', () => {
  const LONG = ['Bartholomew Featherstonehaugh', 'Donaudampfschifffahrtsgesellschaft', 'agent-of-the-north-western-district', '会議室の山田太郎'];

  test('do not break into letters', async () => {
    const room = 'Rooms of the constitutional convention';
    const ann = await person(server.url, { width: 1280, height: 900 });
    await ann.join('Maximiliane Wolfeschlegelstein', room);
    for (const name of LONG) {
      const bot = await agent(server.url, name, room);
      await bot.say(`I am ${name}.`);
    }
    const first = await agent(server.url, 'Wolfeschlegelsteinhausenbergerdorff', room);
    await first.tool('talking_stick');
    await ann.page.getByText('I am 会議室の山田太郎.').waitFor();
    await ann.page.locator('.stick').getByText('Wolfeschlegel').waitFor();
    for (const [width, height] of [[1280, 900], [390, 844], [360, 740]]) {
      await ann.page.setViewportSize({ width, height });
      if (width < 800) await ann.page.getByRole('button', { name: /^Here/ }).click();
      for (const name of LONG) assert.ok((await ann.page.locator('.members .name').getByText(name).boundingBox()).width > 40, `${name} at ${width}`);
      await sound(ann.page, `names-members-${width}`);
      if (width < 800) await ann.page.getByRole('button', { name: /^Here/ }).click();
      await sound(ann.page, `names-room-${width}`);
    }
    await ann.page.goBack();
    await ann.page.getByRole('region', { name: /People/ }).getByText(LONG[0]).waitFor();
    for (const [width, height] of [[1280, 900], [390, 844]]) {
      await ann.page.setViewportSize({ width, height });
      await sound(ann.page, `names-home-${width}`);
    }
  });

  test('of one long word leave everything in its place', async () => {
    // The widest letters, as many as a name may have.
    const long = (first) => first + 'W'.repeat(63);
    const room = long('R');
    const ann = await person(server.url, { width: 1280, height: 900 });
    const [holder, waiter] = [await agent(server.url, long('A'), room), await agent(server.url, long('B'), room)];
    await holder.say('Here I am');
    await holder.tool('talking_stick');
    await waiter.tool('talking_stick');
    const partner = await agent(server.url, long('C'));
    await partner.tool('enter_queue');
    const look = async (name, more = async () => {}) => {
      for (const [width, height] of [[1280, 900], [390, 844], [390, 480]]) {
        await ann.page.setViewportSize({ width, height });
        await sound(ann.page, `long-${name}-${width}x${height}`);
        await more(width);
      }
    };
    await ann.page.getByRole('region', { name: 'Rooms' }).getByText('in line').first().waitFor();
    await look('home');
    await ann.page.getByLabel('Your name').first().fill(long('D'));
    await ann.page.getByLabel('Room', { exact: true }).fill(room);
    await button(ann.page, 'Join').click();
    await ann.said('Here I am');
    await button(ann.page, 'Ask for the stick').click();
    await button(ann.page, 'Number 2 in line').waitFor();
    await look('room', async (width) => {
      const here = ann.page.getByRole('button', { name: /^Here/ });
      if (width < 800) await here.click();
      await sound(ann.page, `long-members-${width}`);
      await ann.page.getByRole('button', { name: /^Report A/ }).click();
      await sound(ann.page, `long-dialog-${width}`);
      await button(ann.page, 'Cancel').click();
      if (width < 800) await here.click();
      const log = await place(ann.page, '.log');
      assert.ok(log.height >= 80, `the log is ${log.height} high`);
    });
    await ann.page.goBack();
    await button(ann.page, 'Find a partner').click();
    await ann.page.getByRole('heading', { level: 1, name: long('C') }).waitFor();
    await look('pair');
    // The next tab offers to go on under that name.
    await ann.page.close({ runBeforeUnload: true });
    ann.page = await ann.page.context().newPage();
    await ann.page.goto(server.url);
    await ann.page.getByText('You were here as').waitFor();
    await look('left');
  });

  test('of a pair are in both lists of members', async () => {
    const [ann, ben] = [await person(server.url), await person(server.url)];
    for (const [{ page }, name] of [[ann, 'First of two'], [ben, 'Second of two']]) {
      await page.getByLabel('Your name').nth(1).fill(name);
      await button(page, 'Find a partner').click();
      await page.getByText(/Waiting for a partner|A conversation of two/).first().waitFor();
    }
    for (const [{ page }, mine, theirs] of [[ann, 'First of two', 'Second of two'], [ben, 'Second of two', 'First of two']]) {
      await page.getByRole('heading', { level: 1, name: theirs }).waitFor();
      const rows = page.getByRole('complementary').getByRole('listitem');
      await rows.filter({ hasText: mine }).getByText('you', { exact: true }).waitFor();
      await rows.filter({ hasText: theirs }).getByRole('button', { name: /Report/ }).waitFor();
      assert.equal(await rows.count(), 2);
    }
  });
});
