// What forms say: errors at their fields, and what a key will do.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { agent, button, everywhere, person, serve, sound } from './stage.mjs';

const PHONE = { width: 390, height: 844, mobile: true };

// The field with this label is marked as wrong, has the focus, is described by an error that says
// this, and the error stands right below it. No message elsewhere repeats it.
async function faultAt(field, says) {
  await field.page().locator('.fault').filter({ hasText: says }).waitFor();
  assert.equal(await field.getAttribute('aria-invalid'), 'true');
  const { focused, text, gap } = await field.evaluate((one) => {
    const described = one.getAttribute('aria-describedby').split(' ').map((id) => document.getElementById(id));
    const fault = described.find((at) => at.matches('.fault[role=alert]'));
    return {
      focused: document.activeElement === one,
      text: fault.textContent,
      gap: fault.getBoundingClientRect().top - one.getBoundingClientRect().bottom,
    };
  });
  assert.ok(focused, 'the focus is elsewhere');
  assert.match(text, says);
  assert.ok(gap >= 0 && gap < 24, `the error is ${gap} below its field`);
  assert.equal(await field.page().locator('.note.error').count(), 0);
}

describe('errors stand at their field', () => {
  test('on the first view', async () => {
    const own = await serve({ limits: ['max_members=2'] });
    for (const name of ['Taken', 'Also there']) {
      // Who has not used its handle gives way to others of its address.
      const there = await agent(own.url, name, 'narrow');
      await there.tool('list_users');
    }
    const ann = await person(own.url, { ...PHONE, expected: /status of (4|503)/ });
    const [name, partnerName] = [ann.page.getByLabel('Your name').first(), ann.page.getByLabel('Your name').nth(1)];
    await name.fill('Taken');
    await button(ann.page, 'Join').click();
    await faultAt(name, /That name is taken/);
    await everywhere(ann.page, 'fault-name');
    // The error goes when the field changes.
    await name.fill('system');
    assert.equal(await ann.page.locator('.fault').count(), 0);
    await button(ann.page, 'Join').click();
    await faultAt(name, /That name is not allowed/);
    await name.fill('Ann');
    await ann.page.getByLabel('Room', { exact: true }).fill('narrow');
    await button(ann.page, 'Join').click();
    await faultAt(ann.page.getByLabel('Room', { exact: true }), /the room is full/);
    await partnerName.fill('Taken');
    await button(ann.page, 'Find a partner').click();
    await faultAt(partnerName, /That name is taken/);
    await partnerName.fill('Ann');
    await ann.page.getByLabel(/Interests/).fill('x'.repeat(100));
    await button(ann.page, 'Find a partner').click();
    await faultAt(ann.page.getByLabel(/Interests/), /Interests must be a list/i);
    await ann.join('Ann');
  });

  test('in a room and in a dialog', async () => {
    const own = await serve({ limits: ['max_message=20', 'stick=optional', 'max_reports_per_address=1'] });
    const ann = await person(own.url, { ...PHONE, expected: /status of 4/ });
    const bot = await agent(own.url, 'Nuisance');
    const other = await agent(own.url, 'Reporter');
    const { users } = await other.tool('list_users');
    await other.tool('report_user', { user_id: users.find((user) => user.display_name === 'Nuisance').user_id, reason: 'first' });
    await ann.join('Ann');
    const text = ann.page.getByLabel('Your message');
    await text.fill('More than twenty characters');
    await text.press('Enter');
    await faultAt(text, /at most 20 characters/);
    assert.equal(await text.inputValue(), 'More than twenty characters');
    assert.equal(await ann.page.locator('.composer [type=submit]').isDisabled(), true);
    await ann.page.getByText('and this one 27: shorten it by 7.').waitFor();
    await everywhere(ann.page, 'fault-text');
    await text.fill('Less than twenty');
    await text.press('Enter');
    await ann.said('Less than twenty');
    await bot.hears((event) => event.message === 'Less than twenty');

    await ann.page.getByRole('button', { name: /^Here/ }).click();
    await ann.page.getByRole('button', { name: 'Report Nuisance' }).click();
    const dialog = ann.page.getByRole('dialog');
    await dialog.getByLabel(/Reason/).fill('second');
    await dialog.getByRole('button', { name: 'Send report' }).click();
    // No field of the dialog is at fault, so the error is the form's.
    await dialog.getByRole('alert').getByText(/reports from your address/).waitFor();
    await sound(ann.page, 'fault-dialog-390');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
  });
});

describe('a long text', () => {
  test('is sent in one call, and what is too long is counted and not cut', async () => {
    const own = await serve();
    const ann = await person(own.url, PHONE);
    const bot = await agent(own.url, 'Reader');
    await ann.join('Ann');
    const calls = [];
    ann.page.on('request', (request) => calls.push(new URL(request.url()).pathname));
    const text = ann.page.getByLabel('Your message');
    const long = 'word '.repeat(900).trim();
    await ann.page.evaluate((pasted) => {
      document.getElementById('text').focus();
      document.execCommand('insertText', false, pasted);
    }, long);
    assert.equal(await text.inputValue(), long);
    await faultAt(text, /at most 4,000 characters, and this one 4,499: shorten it by 499/);
    await text.press('Enter');
    assert.equal(await text.inputValue(), long);
    await everywhere(ann.page, 'too-long');
    const fits = long.slice(0, 3_499);
    await text.fill(fits);
    await text.press('Enter');
    await bot.hears((event) => event.message === fits);
    await ann.page.getByText('The stick is free').waitFor();
    const tools = calls.filter((path) => path.startsWith('/tools/') && path !== '/tools/typing');
    assert.deepEqual(tools, ['/tools/talking_stick', '/tools/send_message', '/tools/reset']);
    // Names are not cut either.
    await button(ann.page, 'Sign out').click();
    await ann.page.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click();
    await ann.page.getByLabel('Your name').first().fill('x'.repeat(65));
    assert.equal((await ann.page.getByLabel('Your name').first().inputValue()).length, 65);
  });
});

describe('Enter', () => {
  test('says what it will do before it does it', async () => {
    const own = await serve();
    const ann = await person(own.url, PHONE);
    await ann.join('Ann', 'enters');
    const bot = await agent(own.url, 'Holder of the stick', 'enters');
    const text = ann.page.getByLabel('Your message');
    // The sentence is on the screen, describes the field, and is true of the next key.
    const says = async (expected, name) => {
      await ann.page.locator('#keys').getByText(expected).waitFor();
      assert.match(await text.evaluate((one) => one.getAttribute('aria-describedby')), /\bkeys\b/);
      for (const [width, height] of [[390, 844], [390, 480], [1280, 900]]) {
        await ann.page.setViewportSize({ width, height });
        const place = await ann.page.locator('#keys').boundingBox();
        assert.ok(place.y >= 0 && place.y + place.height <= height, `${name}: at ${place.y} of ${height}`);
        await sound(ann.page, `enter-${name}-${width}x${height}`);
      }
    };
    await bot.tool('talking_stick');
    await text.fill('Patience');
    await says('Enter sends nothing yet: it puts you in line for the stick. With the stick, it sends.', 'held');
    await text.press('Enter');
    await says('Enter does nothing while you wait for the stick.', 'line');
    await text.press('Enter');
    await button(ann.page, 'Number 1 in line').waitFor();
    assert.equal(await text.inputValue(), 'Patience');
    await button(ann.page, 'Stop waiting').click();
    await bot.tool('reset');
    await says('The stick is free: Enter takes it, sends, and passes it on.', 'free');
    assert.equal(await ann.page.locator('.entry').count(), 0);
    await text.press('Enter');
    await ann.said('Patience');
    await bot.hears((event) => event.message === 'Patience');
    await says('Enter takes the stick. With the stick, it sends.', 'empty');
    await text.press('Enter');
    await ann.page.getByText('You have the stick').waitFor();
    await ann.page.setViewportSize({ width: 1280, height: 900 });
    await ann.page.locator('#keys').getByText('Enter sends and passes the stick on. Shift+Enter begins a new line.').waitFor();
  });
});

describe('stress', () => {
  test('explains itself to a thumb and to a key', async () => {
    const own = await serve({ limits: ['boss_alertness=100'] });
    const ann = await person(own.url, PHONE);
    const bot = await agent(own.url, 'Tired bot');
    await bot.tool('coffee_mission');
    const mood = ann.page.getByRole('button', { name: 'stress 0 of 100, boss alert 1 of 5' });
    const dialog = ann.page.getByRole('dialog', { name: 'How Tired bot is' });
    await mood.tap();
    await dialog.getByText('Stress is 0 of 100. It rises by one a minute.').waitFor();
    await dialog.getByText('The boss alert is 1 of 5.').waitFor();
    await dialog.getByText('At 5 the answer to a break would come 20 seconds late.').waitFor();
    await everywhere(ann.page, 'stress');
    await dialog.getByRole('button', { name: 'Close' }).tap();
    await mood.press('Enter');
    await dialog.waitFor();
    await ann.page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });
});
