// The operator's view: figures over time, reports with their context, and acts that can be undone.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GUEST, OPERATOR, agent, button, everywhere, person, serve } from './stage.mjs';

// An operator who has signed in.
async function operator(url, { guests = false } = {}) {
  const olga = await person(`${url}/operator`, { width: 1280, height: 900, expected: /status of 4/ });
  await olga.page.getByLabel(guests ? 'Token' : 'Operator’s token').fill(OPERATOR);
  await button(olga.page, guests ? 'Go in' : 'Sign in').click();
  await button(olga.page, 'Figures').waitFor();
  return olga;
}

// The code of the refusal of this call.
async function refusal(call) {
  const refused = await call.then(() => null, (error) => error.message);
  return refused?.match(/"code":"(\w+)"/)?.[1];
}

describe('figures', () => {
  for (const guests of [false, true]) {
    test(`are rates, errors by code and times, ${guests ? 'also behind tokens' : 'as they change'}`, async () => {
      const own = await serve({ guests, limits: ['rate_limit=none'] });
      const call = async (path, body = {}, handle = null) => {
        const headers = { 'content-type': 'application/json', ...(guests && { authorization: `Bearer ${GUEST}` }), ...(handle && { 'chat-handle': handle }) };
        const response = await fetch(own.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
        return response.json();
      };
      const { handle } = await call('/register', { username: 'Caller' });
      const olga = await operator(own.url, { guests });
      const tile = (label) => olga.page.locator('.tile').filter({ hasText: label }).locator('dd');
      // Calls go on until two updates have shown some.
      let calling = true;
      const calls = (async () => {
        while (calling) {
          await call('/tools/list_users', {}, handle);
          await call('/tools/push', {}, handle);
        }
      })();
      await olga.page.getByText('How long calls take', { exact: true }).waitFor();
      const rate = Number((await tile('Calls a second').textContent()).replaceAll(',', ''));
      assert.ok(rate > 1, `${rate} calls a second`);
      assert.ok(Number((await tile('Refusals a second').textContent()).replaceAll(',', '')) > 1);
      assert.match(await tile('Half of the calls within').textContent(), /^[\d.,]+ (ms|s)$/);
      assert.match(await tile('99 of 100 calls within').textContent(), /^[\d.,]+ (ms|s)$/);
      const row = olga.page.getByRole('row').filter({ hasText: 'stick required' });
      const [, since, all] = await row.locator('th, td').allTextContents();
      assert.ok(Number(all.replaceAll(',', '')) >= Number(since.replaceAll(',', '')) && Number(since.replaceAll(',', '')) > 0, `${since} of ${all}`);
      await everywhere(olga.page, `operator-rates-${guests ? 'guests' : 'open'}`);
      calling = false;
      await calls;
    });
  }
});

describe('the lists', () => {
  test('call rooms by their names, and do not list what never happened', async () => {
    const own = await serve();
    await agent(own.url, 'Bot', 'market');
    const olga = await operator(own.url);
    await olga.page.getByText('Timers that fired: nothing so far.').waitFor();
    assert.equal(await olga.page.locator('.columns .figures tbody tr').filter({ has: olga.page.getByRole('cell', { name: '0', exact: true }) }).count(), 0);
    await olga.page.getByText(/more, all 0/).first().click();
    await everywhere(olga.page, 'operator-quiet');
    await button(olga.page, 'Participants').click();
    await olga.page.getByRole('row').filter({ hasText: 'Bot' }).getByText(/market.*\(room_1\)/).waitFor();
  });
});

describe('a report', () => {
  test('shows what was said, and is acted upon by one press, which can be undone', async () => {
    const own = await serve({ limits: ['stick=optional'] });
    const rude = await agent(own.url, 'Rude', 'market');
    const bot = await agent(own.url, 'Reporter', 'market');
    const hostile = '<img src=x onerror=alert(1)> you \u202Efool';
    await rude.tool('send_message', { room_id: rude.id, message: hostile });
    await bot.tool('send_message', { room_id: bot.id, message: 'Please stop' });
    const { users } = await bot.tool('list_users');
    const { user_id } = users.find((user) => user.display_name === 'Rude');
    await bot.tool('report_user', { user_id, reason: 'insults' });
    const olga = await operator(own.url);
    await button(olga.page, 'Reports').click();
    const row = olga.page.getByRole('row').filter({ hasText: 'insults' });
    await row.getByRole('button', { name: 'What was said Rude' }).click();
    const dialog = olga.page.getByRole('dialog');
    await dialog.getByText('Please stop').waitFor();
    assert.deepEqual(await dialog.locator('.text').allTextContents(), [hostile, 'Please stop']);
    assert.equal(await dialog.locator('img').count(), 0);
    await everywhere(olga.page, 'operator-context');
    await dialog.getByRole('button', { name: 'Close' }).click();

    // The reason is that of the report.
    const says = (text) => rude.tool('send_message', { room_id: rude.id, message: text });
    await row.getByRole('button', { name: 'Mute Rude' }).click();
    await olga.page.getByText('may read, but not speak').waitFor();
    await bot.hears((event) => event.type === 'moderation.muted' && event.reason === 'insults');
    assert.equal(await refusal(says('again')), 'muted');
    await everywhere(olga.page, 'operator-undo');
    await button(olga.page, 'Undo').click();
    await olga.page.getByText('may speak again').waitFor();
    await says('sorry');

    // A reason of one's own goes before it, and a ban is lifted likewise.
    await olga.page.getByLabel(/Reason/).fill('a last warning');
    await row.getByRole('button', { name: 'Ban Rude' }).click();
    await olga.page.getByText('is banned, and out of every room').waitFor();
    await button(olga.page, 'Bans').click();
    await olga.page.getByRole('row').filter({ hasText: 'a last warning' }).waitFor();
    await button(olga.page, 'Undo').click();
    await olga.page.getByText('Nobody is banned.').waitFor();
    await agent(own.url, 'Rude', 'market');
  });

  test('tells one who is banned by whom, and why', async () => {
    const own = await serve();
    const banned = async (whom) => {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${OPERATOR}` };
      const body = JSON.stringify({ ...whom, reason: 'selling things' });
      assert.ok((await fetch(`${own.url}/admin/ban`, { method: 'POST', headers, body })).ok);
    };
    for (const [name, whom, told] of [
      ['Ann', { name: 'Ann' }, 'An operator has banned you from this server: selling things'],
      ['Ben', { address: '127.0.0.1' }, 'An operator has banned your address from this server: selling things'],
    ]) {
      const one = await person(own.url, { expected: /status of 40/ });
      await one.join(name, 'market');
      await one.connected();
      await banned(whom);
      await one.page.locator('.ended').getByText(told).waitFor();
      assert.equal(await one.page.getByRole('button', { name: /^Join again/ }).count(), 0);
      await one.close();
    }
  });

  test('stands beside names and reasons of one long word, which take no other column’s place', async () => {
    const own = await serve();
    const long = 'Donaudampfschifffahrtsgesellschaftskapitaensmuetzenfabrikanten';
    const bot = await agent(own.url, long, long.toLowerCase());
    const ann = await agent(own.url, 'Ann', 'lobby');
    await ann.tool('report_user', { user_id: 'user_1', reason: 'r'.repeat(200) });
    await bot.tool('talking_stick');
    const olga = await operator(own.url);
    for (const [tab, shown] of [['Participants', 'user_1'], ['Rooms', 'room_1'], ['Reports', 'rrr']]) {
      await button(olga.page, tab).click();
      await olga.page.locator('.listing').getByText(shown).first().waitFor();
      await everywhere(olga.page, `operator-long-${tab}`);
    }
  });

  test('is not acted upon without a reason', async () => {
    const own = await serve();
    const bot = await agent(own.url, 'Quiet');
    const olga = await operator(own.url);
    await button(olga.page, 'Participants').click();
    await olga.page.getByRole('button', { name: 'Mute Quiet' }).click();
    const reason = olga.page.getByLabel(/Reason/);
    await olga.page.locator('.fault').getByText('Say why').waitFor();
    assert.equal(await reason.getAttribute('aria-invalid'), 'true');
    assert.equal(await olga.page.getByText('muted', { exact: true }).count(), 0);
    await bot.tool('talking_stick');
  });
});
