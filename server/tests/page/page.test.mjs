// People use the page in a real browser, beside agents on plain HTTP. A test waits only for a
// visible result, never for a length of time.

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { GUEST, OPERATOR, agent, button, everywhere, person, serve, sound, wire } from './stage.mjs';

let server;
before(async () => {
  server = await serve({ shared: true });
});

const write = (page, text) => page.getByLabel('Your message').fill(text);
// The browser's own error about an unreachable address.
const UNREACHABLE = /Failed to load resource: net::ERR_/;
const UNAUTHORIZED = /status of 401/;

describe('a room with a stick', () => {
  test('two people and an agent claim, draft and speak', async () => {
    const ann = await person(server.url);
    const ben = await person(server.url, { width: 360, height: 740, colorScheme: 'dark' });
    await ann.join('Ann');
    await ben.join('Ben');
    const bot = await agent(server.url, 'Bot');
    for (const { page } of [ann, ben]) {
      // A phone shows the members on request.
      const here = page.getByRole('button', { name: 'Here 3' });
      if (page === ben.page) await here.click();
      const members = page.getByRole('complementary').getByRole('listitem');
      for (const name of ['Ann', 'Ben', 'Bot']) await members.filter({ hasText: name }).waitFor();
      if (page === ben.page) await here.click();
    }

    await button(ann.page, 'Take the stick').click();
    await ann.page.getByText('You have the stick').waitFor();
    await ben.page.getByText('Ann has the stick').waitFor();
    await button(ben.page, 'Ask for the stick').click();
    await ann.page.getByText('Next: Ben').waitFor();
    await bot.tool('talking_stick');
    await ann.page.getByText('Next: Ben and Bot').waitFor();
    await button(ben.page, 'Number 1 in line').waitFor();

    await write(ann.page, 'First half,');
    await ben.page.getByText('Ann is typing…').waitFor();
    await button(ann.page, 'Add to draft').click();
    await ann.page.locator('.draft').getByText('First half,').waitFor();
    await write(ann.page, 'oops');
    await button(ann.page, 'Add to draft').click();
    await button(ann.page, 'Take the last piece back').click();
    await ann.page.locator('.draft').getByText('First half,', { exact: true }).waitFor();
    await write(ann.page, 'second half.');
    await ann.page.getByLabel('Your message').press('Enter');
    for (const one of [ann, ben]) await one.said('First half, second half.');
    await bot.hears((event) => event.message === 'First half, second half.');

    // The stick passed to the next in the queue, and on again.
    await ben.page.getByText('You have the stick').waitFor();
    const long = `@bot, ${'word '.repeat(90).trim()}`;
    await write(ben.page, long);
    await button(ben.page, 'Say it').click();
    await ann.said(long);
    await ann.page.locator('.by', { hasText: 'Ben to Bot' }).waitFor();
    await bot.hears((event) => event.message === long && event.to[0].you);
    await ann.page.getByText('Bot has the stick').waitFor();
    await bot.say('I am an agent.');
    for (const one of [ann, ben]) await one.said('I am an agent.');
    await ann.page.getByText('The stick is free').waitFor();
    assert.equal(await ann.page.locator('.entry').count(), 3);

    await everywhere(ann.page, 'room');
    await button(ben.page, 'Leave room').click();
    await ann.page.getByRole('log').getByText('Ben left.').waitFor();
    await ben.page.getByRole('heading', { name: 'Join a room' }).waitFor();
  });

  test('a place far behind in line is told, kept, and can be given up', async () => {
    const room = 'a long line';
    const holder = await agent(server.url, 'Line holder', room);
    await holder.tool('talking_stick');
    const line = [];
    for (let n = 1; n <= 8; n += 1) line.push(await agent(server.url, `Line ${n}`, room));
    for (const one of line) await one.tool('talking_stick');
    const ann = await person(server.url, { width: 390, height: 844 });
    await ann.join('Far behind', room);
    await button(ann.page, 'Ask for the stick').click();
    await ann.page.getByText('you are number 9 in line').waitFor();
    for (let n = 9; n <= 13; n += 1) await (await agent(server.url, `Line ${n}`, room)).tool('talking_stick');
    await ann.page.getByText('Next: Line 1, Line 2, Line 3, Line 4, Line 5, Line 6, Line 7, Line 8 and 6 more').waitFor();
    // The server's view of the room names only the first eight.
    await ann.page.waitForResponse((answer) => answer.url().endsWith('/overview'));
    await ann.page.waitForResponse((answer) => answer.url().endsWith('/overview'));
    await button(ann.page, 'Number 9 in line').waitFor();
    await everywhere(ann.page, 'line-9');
    await holder.tool('reset');
    await button(ann.page, 'Number 8 in line').waitFor();
    await button(ann.page, 'Stop waiting').click();
    await button(ann.page, 'Ask for the stick').waitFor();
    await ann.page.getByText(/Line 8, Line 9 and 4 more/).waitFor();
  });

  test('whoever withdraws a claim is seen to be out of the line', async () => {
    const ann = await person(server.url);
    await ann.join('Withdrawn watcher', 'withdrawals');
    const [first, second] = [await agent(server.url, 'First', 'withdrawals'), await agent(server.url, 'Second', 'withdrawals')];
    await first.tool('talking_stick');
    await second.tool('talking_stick');
    await ann.page.getByText('Next: Second').waitFor();
    await second.tool('reset');
    await ann.page.getByText('Next: Second').waitFor({ state: 'detached' });
    await button(ann.page, 'Ask for the stick').click();
    await button(ann.page, 'Stop waiting').click();
    await button(ann.page, 'Ask for the stick').waitFor();
  });

  test('what was said is found again, on a phone', async () => {
    const kept = await serve({ data: 'search', limits: ['stick=optional', 'rate_limit=none'] });
    const ann = await person(kept.url, { width: 390, height: 844 });
    const early = await agent(kept.url, 'Early', 'finds');
    await early.say('A needle from before');
    await ann.join('Ann', 'finds');
    const bot = await agent(kept.url, '<b>Bot</b>', 'finds');
    const hostile = 'needle <img src=x onerror=alert(1)> \u202Eback';
    for (let n = 0; n < 24; n += 1) await bot.tool('send_message', { room_id: bot.id, message: n === 3 ? hostile : `Needle ${n} in hay` });
    await bot.tool('send_message', { room_id: bot.id, message: 'only hay' });
    await ann.said('only hay');

    await button(ann.page, 'Search').click();
    await ann.page.getByLabel('Words to find').fill('NEEDLE');
    await ann.page.getByLabel('Words to find').press('Enter');
    await ann.page.getByText('The newest 20 messages with NEEDLE').waitFor();
    const texts = () => ann.page.locator('.finder .text').allTextContents();
    assert.equal((await texts())[0], 'Needle 23 in hay');
    await sound(ann.page, 'search-390');
    // The field stands at the top, however little was found.
    const [box, field] = [await ann.page.locator('.finder').boundingBox(), await ann.page.getByLabel('Words to find').boundingBox()];
    assert.ok(field.y - box.y < 40, `${field.y - box.y} below the top`);
    await button(ann.page, 'Older ones').click();
    await ann.page.getByText('24 messages with NEEDLE').waitFor();
    assert.ok((await texts()).includes(hostile));
    assert.equal(await ann.page.locator('.finder img').count(), 0);
    await everywhere(ann.page, 'search');

    await ann.page.getByLabel('Words to find').fill('straw');
    await button(ann.page, 'Find').click();
    await ann.page.getByText('Nothing with straw was said while you were here.').waitFor();
    await button(ann.page, 'Back').click();
    await ann.said('only hay');

    // A result leads to its place, where what was said around it is, too.
    for (let n = 0; n < 150; n += 1) await bot.tool('send_message', { room_id: bot.id, message: `More hay ${n}` });
    await ann.page.reload();
    await ann.said('More hay 149');
    await button(ann.page, 'Search').click();
    await ann.page.getByLabel('Words to find').fill('needle 23');
    await ann.page.getByLabel('Words to find').press('Enter');
    await sound(ann.page, 'search-one');
    await button(ann.page, 'Show it there').click();
    const found = ann.page.getByRole('log').getByText('Needle 23 in hay');
    await found.waitFor();
    const [log, it] = [await ann.page.getByRole('log').boundingBox(), await found.boundingBox()];
    assert.ok(it.y > log.y && it.y + it.height < log.y + log.height, `at ${it.y} of ${log.y} to ${log.y + log.height}`);
    await everywhere(ann.page, 'search-there');
  });

  test('hostile words are words', async () => {
    const ann = await person(server.url);
    await ann.join('Hostess', 'hostile');
    const bot = await agent(server.url, '<img src=x onerror=alert(1)>', 'hostile');
    const texts = [
      '<img src=x onerror="alert(2)"><script>alert(3)</script><b>bold</b>',
      '\u202Egnp.exe \u2066isolated\u2069 \u202D',
      'x'.repeat(3_000),
      '&amp; &lt;br&gt; {{7*7}} ${7*7} javascript:alert(4)',
      '\u0000\u0007line\nbreak\r\nand\ttab',
      'שלום 🏴‍☠️ ﷽ Z̷͎͝a̵l̷g̶o̷',
    ];
    for (const text of texts) await bot.say(text);
    await ann.page.locator('.entry').nth(texts.length - 1).waitFor();
    const shown = await ann.page.locator('.entry .text').evaluateAll((all) => all.map((one) => one.textContent));
    assert.deepEqual(shown, texts);
    const children = await ann.page.locator('.entry .text').evaluateAll((all) => all.map((one) => one.childElementCount));
    assert.ok(children.every((n) => n === 0), String(children));
    assert.equal(await ann.page.locator('main img, main script, main b').count(), 0);
    assert.equal(await ann.page.evaluate(() => document.querySelectorAll('[onerror]').length), 0);
    // Control characters for text direction change only the text they are in.
    const direction = await ann.page.locator('.entry .text').nth(1).evaluate((one) => getComputedStyle(one).unicodeBidi);
    assert.match(direction, /isolate|plaintext/);
    await everywhere(ann.page, 'hostile');
  });
});

describe('what is said', () => {
  test('has code in a type of its own, and links that lead where they say', async () => {
    const own = await serve({ limits: ['stick=optional'] });
    const ann = await person(own.url, { width: 390, height: 844 });
    await ann.join('Ann', 'code');
    const bot = await agent(own.url, 'Coder', 'code');
    const fence = `fn main() {\n    println!("${'wide '.repeat(30)}");\n}`;
    for (const message of [
      `Look:\n\`\`\`rust\n${fence}\n\`\`\`\nand \`cargo run\`, see https://example.org/a?b=c#d.`,
      'javascript:alert(1) https://user@example.org https://exam\u200bple.org data:text/html,x `',
      '``` not closed <b>http://[</b>',
    ]) await bot.tool('send_message', { room_id: bot.id, message });
    await ann.page.locator('.entry').nth(2).waitFor();
    const text = ann.page.locator('.entry .text');
    assert.deepEqual(await text.nth(0).locator('code').allTextContents(), [fence, 'cargo run']);
    assert.match(await text.nth(0).locator('.fence').evaluate((one) => getComputedStyle(one).fontFamily), /mono/);
    const link = text.nth(0).getByRole('link');
    assert.deepEqual(await link.evaluate((one) => [one.getAttribute('href'), one.textContent, one.rel, one.target]),
      ['https://example.org/a?b=c#d', 'https://example.org/a?b=c#d', 'noopener noreferrer nofollow', '_blank']);
    for (const n of [1, 2]) assert.equal(await text.nth(n).evaluate((one) => one.childElementCount), 0);
    await everywhere(ann.page, 'code');
  });

  test('is read once its readers have acknowledged it', async () => {
    const ann = await person(server.url);
    const ben = await person(server.url);
    await ann.join('Fay', 'post');
    await ben.join('Gus', 'post');
    const bot = await agent(server.url, 'Post bot', 'post');
    await write(ann.page, 'Who has read this?');
    await button(ann.page, 'Say it').click();
    const log = ann.page.getByRole('log');
    await log.getByText('Gus has read it.').waitFor();
    // An answer that nobody confirms may have been lost.
    const { cursor } = await bot.tool('check');
    assert.equal(await log.getByText('All have read it.').count(), 0);
    await bot.tool('check', { after: cursor, wait_seconds: 0 });
    await log.getByText('All have read it.').waitFor();
    await sound(ann.page, 'has-read');
    await bot.say('I have.');
    await log.getByText('read it.').waitFor({ state: 'detached' });
  });

  test('can be reported, also when its sender has left', async () => {
    const own = await serve({ limits: ['stick=optional'] });
    const ann = await person(own.url, { width: 390, height: 844 });
    await ann.join('Ann', 'insults');
    const rude = await agent(own.url, 'Rude', 'insults');
    await rude.tool('send_message', { room_id: rude.id, message: 'Hello' });
    const { message_id: id } = await rude.tool('send_message', { room_id: rude.id, message: 'You fool' });
    await rude.tool('leave_chat', { room_id: rude.id });
    await ann.page.getByRole('log').getByText('Rude left.').waitFor();
    await ann.page.getByRole('button', { name: /^Here/ }).click();
    await ann.page.getByRole('listitem').filter({ hasText: 'Rude' }).getByText('left', { exact: true }).waitFor();
    await sound(ann.page, 'members-left');
    await ann.page.getByRole('button', { name: 'Report Rude' }).click();
    const dialog = ann.page.getByRole('dialog');
    await dialog.getByLabel('Message').selectOption({ label: '\u2068You fool\u2069' });
    await dialog.getByLabel(/Reason/).fill('insult');
    await everywhere(ann.page, 'report');
    await dialog.getByRole('button', { name: 'Send report' }).click();
    await ann.page.getByText('Your report was sent.').waitFor();
    const { reports } = await (await fetch(`${own.url}/admin/reports`, { headers: { authorization: `Bearer ${OPERATOR}` } })).json();
    assert.equal(reports[0].reason, `insult (${id})`);
    // The button says what it does.
    await ann.page.getByRole('button', { name: 'Report Rude' }).click();
    await dialog.getByLabel('What to do').selectOption('Block');
    await dialog.getByRole('button', { name: 'Block', exact: true }).click();
    await ann.page.getByText('The block is set.').waitFor();
  });

  test('and is not sent, or is read by nobody else, is not left without a question', async () => {
    const own = await serve();
    const ann = await person(own.url);
    const bot = await agent(own.url, 'Bot', 'leaving');
    await ann.join('Ann', 'leaving');
    await bot.say('Anybody?');
    await ann.said('Anybody?');
    await write(ann.page, 'not yet');
    await button(ann.page, 'Leave room').click();
    const dialog = ann.page.getByRole('dialog');
    await dialog.getByText('What you wrote and have not sent is lost.').waitFor();
    await everywhere(ann.page, 'leaving');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await write(ann.page, '');
    await bot.tool('leave_chat', { room_id: bot.id });
    await ann.page.getByRole('log').getByText('Bot left.').waitFor();
    await button(ann.page, 'Leave room').click();
    await dialog.getByText('You are the last one here.').waitFor();
    await dialog.getByRole('button', { name: 'Leave', exact: true }).click();
    await ann.page.getByRole('heading', { name: 'Join a room' }).waitFor();
  });
});

describe('a conversation of two', () => {
  test('people are paired, with each other and with an agent, and talk both ways', async () => {
    const ann = await person(server.url);
    const ben = await person(server.url);
    await ann.page.getByLabel('Your name').nth(1).fill('Pia');
    await button(ann.page, 'Find a partner').click();
    await ann.page.getByRole('heading', { name: 'Waiting for a partner' }).waitFor();
    await everywhere(ann.page, 'waiting');
    await ann.page.getByText('Nobody but you waits for a partner.').waitFor();
    await ben.page.getByText('1 participant waits').waitFor();
    await ben.page.getByLabel('Your name').nth(1).fill('Quentin');
    await button(ben.page, 'Find a partner').click();
    await ann.page.getByRole('heading', { level: 1, name: 'Quentin' }).waitFor();
    await ben.page.getByRole('heading', { level: 1, name: 'Pia' }).waitFor();

    // In this room nobody needs the stick: messages are sent at once.
    assert.equal(await ann.page.getByRole('region', { name: 'The talking stick' }).count(), 0);
    await ann.page.getByLabel('Your message').pressSequentially('Hello');
    await ben.page.getByText('Pia is typing…').waitFor();
    await ann.page.keyboard.press('Enter');
    await ben.said('Hello');
    await write(ben.page, 'Hello yourself');
    await button(ben.page, 'Say it').click();
    await ann.said('Hello yourself');
    // Nothing was said before they met.
    assert.equal(await button(ann.page, 'Older messages').count(), 0);
    await everywhere(ann.page, 'pair');

    await button(ben.page, 'End it').click();
    await ben.page.getByRole('dialog').getByRole('button', { name: 'End it' }).click();
    await ann.page.getByText('Your partner left.').first().waitFor();
    await everywhere(ann.page, 'pair-over');
    await button(ann.page, 'Close it').click();

    // Now the agent waits in the queue, and is matched.
    const bot = await agent(server.url, 'Pair bot');
    await bot.tool('enter_queue');
    await button(ann.page, 'Find a partner').click();
    await ann.page.getByRole('heading', { level: 1, name: 'Pair bot' }).waitFor();
    const found = await bot.hears((event) => event.type === 'chatroom.found');
    await bot.tool('send_message', { room_id: found.room_id, message: 'From an agent' });
    await ann.said('From an agent');
    await write(ann.page, 'To an agent');
    await ann.page.keyboard.press('Enter');
    await bot.hears((event) => event.message === 'To an agent');
  });

  test('waiting can be given up', async () => {
    const ann = await person(server.url);
    await button(ann.page, 'Find a partner').click();
    await button(ann.page, 'Stop waiting').click();
    await button(ann.page, 'Find a partner').waitFor();
    const overview = await (await fetch(`${server.url}/tools/leave_queue`, { method: 'POST' })).json();
    assert.equal(overview.error.code, 'handle_required');
  });
});

describe('a registration', () => {
  test('is kept by a reload, with what was said and what was written', async () => {
    const ann = await person(server.url);
    await ann.join('Rita', 'reloads');
    const bot = await agent(server.url, 'Reload bot', 'reloads');
    await bot.say('before');
    await ann.said('before');
    await button(ann.page, 'Take the stick').click();
    await write(ann.page, 'in the draft');
    await button(ann.page, 'Add to draft').click();
    await ann.page.locator('.draft').waitFor();
    await write(ann.page, 'not yet sent');
    await ann.page.reload();
    await ann.page.getByRole('heading', { level: 1, name: 'reloads' }).waitFor();
    await ann.said('before');
    assert.equal(await ann.page.getByLabel('Your message').inputValue(), 'not yet sent');
    await ann.page.getByText('You have the stick').waitFor();
    await button(ann.page, 'Say it').click();
    await ann.said('in the draft not yet sent');
    const { users } = await bot.tool('list_users');
    assert.deepEqual(users.map((user) => user.display_name), ['Rita', 'Reload bot']);
    const kept = await ann.page.evaluate(() => [location.href, Object.keys(localStorage).length, document.cookie]);
    assert.doesNotMatch(kept[0], /h_|r_/);
    assert.deepEqual(kept.slice(1), [0, '']);
  });

  test('outlasts a broken line, and nothing is lost or doubled', async () => {
    const line = await wire(server.port);
    const ann = await person(line.url, { expected: UNREACHABLE });
    await ann.join('Olaf', 'broken line');
    const bot = await agent(server.url, 'Line bot', 'broken line');
    await bot.say('message 0');
    await ann.said('message 0');
    line.cut();
    await ann.page.getByText('Connection lost. Trying again…').waitFor();
    for (let n = 1; n <= 12; n += 1) await bot.say(`message ${n}`);
    // An action during the outage is done after the connection is back: the request is repeated
    // with the same key.
    await button(ann.page, 'Take the stick').click();
    line.mend();
    await ann.said('message 12');
    await ann.page.getByText('You have the stick').waitFor();
    await ann.page.getByText('Connection lost. Trying again…').waitFor({ state: 'detached' });
    const said = await ann.page.locator('.entry .text').allTextContents();
    assert.deepEqual(said, Array.from({ length: 13 }, (_, n) => `message ${n}`));
    await write(ann.page, 'Here I am');
    await button(ann.page, 'Say it').click();
    await bot.hears((event) => event.message === 'Here I am');
  });

  test('that a new server does not know is told, and joined again', async () => {
    const own = await serve();
    const ann = await person(own.url, { expected: /net::ERR_|status of 401/ });
    await ann.join('Phoenix', 'ashes');
    await own.stop();
    await ann.page.getByText('The server is stopping.').waitFor();
    const next = await serve({ port: own.port });
    await ann.page.getByText('The server no longer knows you').waitFor();
    await everywhere(ann.page, 'lost');
    await ann.page.getByRole('button', { name: 'Join again as Phoenix' }).click();
    await ann.page.getByText('You joined again here.').waitFor();
    await agent(next.url, 'Ash bot', 'ashes');
    await ann.page.getByRole('log').getByText('Ash bot joined.').waitFor();
  });

  test('is given up by signing out', async () => {
    const ann = await person(server.url);
    await ann.join('Short guest', 'short');
    await button(ann.page, 'Sign out').click();
    await ann.page.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click();
    await ann.page.getByLabel('Your name').first().waitFor();
    assert.equal(await ann.page.evaluate(() => sessionStorage.length), 0);
    const { users } = await (await fetch(`${server.url}/users`)).json();
    assert.ok(!users.includes('Short guest'));
  });
});

describe('the first view', () => {
  test('shows who is here, who waits and which rooms, and is used by keys alone', async () => {
    const own = await serve();
    const ann = await person(own.url);
    await ann.page.getByText('Nobody is here yet.').waitFor();
    await everywhere(ann.page, 'home-empty');
    const bot = await agent(own.url, 'Home bot', 'attic');
    await bot.tool('talking_stick');
    await (await agent(own.url, 'Waiting bot')).tool('enter_queue');
    const rooms = ann.page.getByRole('region', { name: 'Rooms' });
    await rooms.getByText('Home bot has the stick').waitFor();
    await ann.page.getByRole('region', { name: /People/ }).getByText(/^waits \d+ s$/).waitFor();
    await everywhere(ann.page, 'home-busy');

    await ann.page.keyboard.press('Tab');
    await ann.page.getByRole('link', { name: 'To the main part' }).press('Enter');
    await ann.page.keyboard.press('Tab');
    await ann.page.keyboard.type('Keys');
    await ann.page.keyboard.press('Tab');
    await ann.page.keyboard.press('Control+A');
    await ann.page.keyboard.type('attic');
    await ann.page.keyboard.press('Enter');
    await ann.page.getByRole('heading', { level: 1, name: 'attic' }).waitFor();
    // After entering a room a person can type at once.
    await ann.page.keyboard.type('typed at once');
    assert.equal(await ann.page.getByLabel('Your message').inputValue(), 'typed at once');
    await ann.page.keyboard.press('Enter');
    await button(ann.page, 'Number 1 in line').waitFor();
    await bot.tool('reset');
    await ann.page.getByText('You have the stick').waitFor();
    await ann.page.keyboard.press('Enter');
    await ann.said('typed at once');
    await ann.page.goBack();
    await ann.page.getByRole('heading', { name: 'Join a room' }).waitFor();
    await ann.page.goForward();
    await ann.said('typed at once');
  });

  test('tells what is refused, and goes on', async () => {
    await (await agent(server.url, 'Taken name')).tool('list_users');
    const ann = await person(server.url, { expected: /status of 409/ });
    await ann.page.getByLabel('Your name').first().fill('Taken name');
    await button(ann.page, 'Join').click();
    await ann.page.getByRole('alert').getByText(/name/).waitFor();
    await ann.join('Free name');
  });
});

describe('a realm', () => {
  test('has a page of its own below its path', async () => {
    const several = await serve({ realms: 'arena' });
    const arena = `${several.url}/r/arena`;
    const ann = await person(arena, { expected: UNAUTHORIZED });
    await ann.join('Ann');
    const bot = await agent(arena, 'Bot');
    await bot.tool('talking_stick');
    await bot.say('In the arena.');
    await ann.said('In the arena.');
    assert.match(ann.page.url(), /\/r\/arena\/#room_/);
    assert.equal(await ann.page.title(), 'lobby · Talking Stick · arena');
    // The other realm has the name free, in the same browser, too.
    const page = await ann.page.context().newPage();
    await page.goto(several.url);
    await page.getByRole('heading', { name: 'Join a room' }).waitFor();
    await page.getByLabel('Your name').first().fill('Ann');
    await page.getByLabel('Room', { exact: true }).fill('lobby');
    await button(page, 'Join').click();
    await page.getByRole('heading', { level: 1, name: 'lobby' }).waitFor();
    assert.equal(await page.getByText('In the arena.').count(), 0);
    await page.close();
    await ann.page.reload();
    await ann.said('In the arena.');
    await everywhere(ann.page, 'realm');
    await ann.page.goto(`${arena}/operator`);
    await ann.page.getByLabel('Operator’s token').fill(OPERATOR);
    await button(ann.page, 'Sign in').click();
    await ann.page.locator('.tile').filter({ hasText: 'Participants' }).getByText('2', { exact: true }).waitFor();
  });
});

describe('tokens', () => {
  test('a token is asked for once', async () => {
    const own = await serve({ guests: true });
    const ann = await person(own.url, { expected: UNAUTHORIZED });
    await ann.page.getByRole('heading', { name: 'A token, please' }).waitFor();
    await everywhere(ann.page, 'gate');
    await ann.page.getByLabel('Token').fill('wrong');
    await button(ann.page, 'Go in').click();
    await ann.page.getByRole('alert').getByText('does not know that bearer token').first().waitFor();
    await ann.page.getByLabel('Token').fill(GUEST);
    await button(ann.page, 'Go in').click();
    await ann.join('Guest');
    await ann.page.reload();
    await button(ann.page, 'Take the stick').click();
    await write(ann.page, 'let in');
    await button(ann.page, 'Say it').click();
    await ann.said('let in');
    const [cookie] = await ann.page.context().cookies();
    assert.deepEqual([cookie.httpOnly, cookie.sameSite], [true, 'Strict']);
    assert.equal(await ann.page.evaluate(() => JSON.stringify([sessionStorage, localStorage])).then((text) => text.includes(GUEST)), false);
    await everywhere(ann.page, 'with-token');
    // It can be forgotten, also by who is no operator.
    await button(ann.page, 'Forget token').click();
    await ann.page.getByRole('dialog').getByRole('button', { name: 'Forget it' }).click();
    await ann.page.getByRole('heading', { name: 'A token, please' }).waitFor();
    assert.deepEqual(await ann.page.context().cookies(), []);
    assert.equal(await button(ann.page, 'Forget token').count(), 0);
  });

  test('an operator\u2019s is beside the one for the chat, and neither replaces the other', async () => {
    const own = await serve({ guests: true });
    const ann = await person(own.url, { expected: /status of 40/ });
    await ann.page.getByLabel('Token').fill(GUEST);
    await button(ann.page, 'Go in').click();
    await ann.join('Guest');
    await ann.page.getByRole('link', { name: 'Operator' }).click();
    await ann.page.getByLabel('Operator\u2019s token').fill(OPERATOR);
    await button(ann.page, 'Sign in').click();
    await button(ann.page, 'Figures').waitFor();
    const speaks = async (text) => {
      await ann.page.getByRole('navigation', { name: 'Your rooms' }).getByRole('link', { name: 'lobby' }).click();
      await write(ann.page, text);
      await button(ann.page, 'Say it').click();
      await ann.said(text);
      await ann.page.getByText('The stick is free').waitFor();
    };
    await speaks('as an operator, too');
    await ann.page.reload();
    await speaks('after a reload');
    await ann.page.getByRole('link', { name: 'Operator' }).click();
    await ann.page.getByRole('main').getByRole('button', { name: 'Sign out' }).click();
    await ann.page.getByLabel('Operator\u2019s token').waitFor();
    await speaks('as a guest again');
    await ann.page.reload();
    await speaks('and after one more reload');
  });

  test('the policy lets the page do nothing else', async () => {
    const response = await fetch(server.url);
    const policy = response.headers.get('content-security-policy');
    assert.match(policy, /default-src 'self'/);
    assert.match(policy, /require-trusted-types-for 'script'/);
    assert.doesNotMatch(policy, /unsafe/);
    const ann = await person(server.url, { expected: /Content Security Policy|TrustedHTML|trusted/i });
    const tried = await ann.page.evaluate(() => {
      const script = document.createElement('div');
      try {
        script.innerHTML = '<b>x</b>';
        return 'done';
      } catch (error) {
        return error.name;
      }
    });
    assert.equal(tried, 'TypeError');
  });
});

describe('breaks', () => {
  test('everybody sees who took one, and whose boss has noticed', async () => {
    const own = await serve({ limits: ['boss_alertness=100'] });
    const ann = await person(own.url);
    const bot = await agent(own.url, 'Tired bot');
    for (const expected of [1, 2]) {
      const { boss_alert_level: boss } = await bot.tool('coffee_mission', { excuse: 'out of beans' });
      assert.equal(boss, expected);
    }
    const row = ann.page.getByRole('listitem').filter({ hasText: 'Tired bot' });
    await row.getByRole('button', { name: 'stress 0 of 100, boss alert 2 of 5' }).waitFor();
    await everywhere(ann.page, 'breaks');
  });
});

describe('an operator', () => {
  test('signs in, sees figures and lists, mutes, unmutes, kicks, closes and bans', async () => {
    const own = await serve();
    const olga = await person(`${own.url}/operator`, { expected: UNAUTHORIZED });
    const ann = await person(own.url, { expected: /status of (403|409)/ });
    await ann.join('Muted Ann', 'theatre');
    const bot = await agent(own.url, 'Reporter', 'theatre');
    await agent(own.url, 'Nuisance', 'theatre');
    const { users } = await bot.tool('list_users');
    await bot.tool('report_user', { user_id: users[0].user_id, reason: '<b>rude</b>' });

    await olga.page.getByLabel('Operator’s token').fill('wrong');
    await button(olga.page, 'Sign in').click();
    await olga.page.getByRole('alert').filter({ hasText: 'does not know that token' }).waitFor();
    await everywhere(olga.page, 'operator-door');
    await olga.page.getByLabel('Operator’s token').fill(OPERATOR);
    await button(olga.page, 'Sign in').click();
    await olga.page.locator('.tile').filter({ hasText: 'Participants' }).getByText('3', { exact: true }).waitFor();
    await everywhere(olga.page, 'operator-figures');

    const list = (name) => button(olga.page, name).click();
    const row = (name) => olga.page.getByRole('row').filter({ hasText: name });
    const deed = async (where, name, does, reason) => {
      // What can be taken back takes one press; the rest asks first.
      const dialog = olga.page.getByRole('dialog');
      if (reason && !does) await olga.page.getByLabel(/Reason/).fill(reason);
      await row(where).getByRole('button', { name }).click();
      if (!does) return;
      await dialog.getByLabel(/Reason/).fill(reason);
      await dialog.getByRole('button', { name: does, exact: true }).click();
      await dialog.waitFor({ state: 'detached' });
    };
    await list('Participants');
    await row('Muted Ann').waitFor();
    await everywhere(olga.page, 'operator-participants');
    await deed('Muted Ann', /^Mute/, null, 'for the test');
    await row('Muted Ann').getByText('muted', { exact: true }).waitFor();
    await ann.page.getByText('You may not speak: for the test').waitFor();
    await ann.page.getByRole('log').getByText('You were muted by an operator: for the test').waitFor();
    await everywhere(ann.page, 'muted');
    await deed('Muted Ann', /^Unmute/);
    await row('Muted Ann').getByRole('button', { name: /^Mute/ }).waitFor();
    await button(ann.page, 'Take the stick').click();
    await ann.page.getByText('You have the stick').waitFor();
    await ann.page.getByText('You may not speak').waitFor({ state: 'detached' });

    await deed('Nuisance', /^Kick/, null, 'out of here');
    await ann.page.getByRole('log').getByText('Nuisance was removed by an operator: out of here').waitFor();
    await deed('Nuisance', /^Ban/, null, 'for good');
    await olga.page.getByText('is banned, and out of every room').waitFor();
    await list('Bans');
    await row('Nuisance').waitFor();
    await everywhere(olga.page, 'operator-bans');
    await deed('Nuisance', /^Lift/);
    await olga.page.getByText('Nobody is banned.').waitFor();
    await list('Reports');
    await row('<b>rude</b>').waitFor();
    await everywhere(olga.page, 'operator-reports');
    await list('Rooms');
    await row('theatre').getByText(/^Muted Ann/).waitFor();
    await everywhere(olga.page, 'operator-rooms');
    await deed('theatre', /^Close/, 'Close', 'the play is over');
    await ann.page.getByText('An operator closed this room: the play is over').first().waitFor();
    await button(ann.page, 'Close it').click();

    await button(olga.page, 'Sign out').click();
    await olga.page.getByLabel('Operator’s token').waitFor();
  });
});
