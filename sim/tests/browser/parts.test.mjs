// The parts of a report that a reader works with: contents, folded rows, commands to copy, charts over
// time, users and their lanes, and both facts of a violation.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SIZES, button, everywhere, fitsAcross, open, readable } from './browser.mjs';

const CHARTS = ['message_latency', 'queue_wait', 'messages', 'calls', 'users', 'queue', 'refusals'];
const runOf = (page) => page.evaluate(() => JSON.parse(document.getElementById('data').textContent).runs[0]);
const order = (page) => page.locator('main.run > section').evaluateAll((all) => all.map((one) => one.classList[0]));
const sum = (counts) => counts.reduce((all, n) => all + n, 0);

describe('the order', () => {
  test('is what failed, then the facts, then the rest, with what passed folded', async () => {
    const { page, close } = await open('violated.html', SIZES[1], 'light');
    const found = await order(page);
    assert.deepEqual(found.slice(0, 3), ['space-time', 'violations', 'property-list']);
    assert.ok(await page.locator('.properties li.violated').isVisible());
    assert.equal(await page.locator('.properties li.held').first().isVisible(), false);
    await page.locator('.property-list > details > summary').click();
    assert.ok(await page.locator('.properties li.held').first().isVisible());
    await close();
  });

  test('of a pass puts the charts before the folded properties, and prints them all', async () => {
    const { page, close } = await open('passed.html', SIZES[1], 'light');
    const found = await order(page);
    assert.ok(found.indexOf('when') < found.indexOf('property-list'), String(found));
    assert.equal(await page.locator('.properties li').first().isVisible(), false);
    await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
    assert.ok(await page.locator('.properties li').first().isVisible());
    await page.evaluate(() => window.dispatchEvent(new Event('afterprint')));
    assert.equal(await page.locator('.properties li').first().isVisible(), false);
    await close();
  });
});

describe('the contents', () => {
  test('lead to every section, and so does an address', async () => {
    const { page, close } = await open('passed.html', SIZES[0], 'light');
    const links = page.getByRole('navigation', { name: 'Contents' }).getByRole('link');
    const targets = await links.evaluateAll((all) => all.map((one) => one.hash.slice(1)));
    assert.deepEqual(targets, await page.locator('main.run > section').evaluateAll((all) => all.map((one) => one.id)));
    assert.equal(new Set(targets).size, targets.length);
    await links.getByText('Latency').click();
    await page.waitForFunction(() => Math.abs(document.getElementById('latency').getBoundingClientRect().top) < 40);
    await close();
    const second = await open('several.html#run-2-latency', SIZES[1], 'light');
    assert.ok(await second.page.locator('#run-2-latency').isVisible());
    await second.page.waitForFunction(() => Math.abs(document.getElementById('run-2-latency').getBoundingClientRect().top) < 40);
    await second.close();
  });
});

describe('commands', () => {
  test('are copied by a button', async () => {
    const { page, close } = await open('violated.html', SIZES[1], 'light', { permissions: ['clipboard-read', 'clipboard-write'] });
    const commands = await page.locator('.verdict .command code').allInnerTexts();
    assert.ok(commands.length > 0 && commands[0].includes('stale_push.yaml --seed 1'), String(commands));
    await page.locator('.verdict .copy').first().click();
    await page.locator('.verdict .copied').first().getByText('✓ copied').waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), commands[0]);
    await close();
  });
});

describe('rows', () => {
  test('past the tenth are folded', async () => {
    const { page, close } = await open('passed.html', SIZES[0], 'dark');
    const table = page.locator('section.users .foldable');
    const visible = () => table.locator('tbody tr').evaluateAll((all) => all.filter((row) => row.checkVisibility()).length);
    assert.equal(await visible(), 10);
    const more = table.locator('.unfold');
    assert.match(await more.innerText(), /^Show \d+ more$/);
    await more.focus();
    await page.keyboard.press('Enter');
    assert.equal(await visible(), 200);
    assert.equal(await more.getAttribute('aria-expanded'), 'true');
    await fitsAcross(page);
    await close();
  });
});

describe('charts over time', () => {
  everywhere('have the totals of the result', 'passed.html', async (page) => {
    await fitsAcross(page);
    const run = await runOf(page);
    const series = run.series;
    const count = (name) => Number(run.counts.find((one) => one[0] === name)[1].replaceAll(',', ''));
    assert.equal(sum(series.messages_offered), count('attempted'));
    assert.equal(sum(series.messages_accepted), count('accepted'));
    assert.equal(sum(series.arrived), Number(run.users));
    assert.equal(sum(series.measured.message_latency.map((bucket) => bucket?.count ?? 0)), Number(run.metrics.find((one) => one.name === 'message_latency').count.replaceAll(',', '')));
    assert.equal(sum(series.refused), sum(run.refusals.map((one) => Number(one[1].replaceAll(',', '')))));
    assert.deepEqual(await page.locator('.over-time').evaluateAll((all) => all.map((one) => one.dataset.chart)), CHARTS);
    assert.deepEqual(await page.locator('[data-chart=message_latency] path').evaluateAll((all) => all.map((one) => one.dataset.line)), ['p99', 'p95', 'p50']);
    assert.equal(await page.locator('[data-chart=message_latency] .sample').count(), series.sample.length);
    assert.match(await page.locator('.series h3').nth(CHARTS.indexOf('messages')).innerText(), /1,085 offered, 942 accepted/);
    await readable(page, ['.series h3 .muted', '.over-time .tick', '.series .legend li', '.user-link', '.contents a', '.copy']);
  });

  test('have one axis of time, with the faults as bands at their times', async () => {
    const { page, close } = await open('passed.html', SIZES[1], 'light');
    const places = await page.locator('.over-time').evaluateAll((all) => all.map((one) => [...one.querySelectorAll('.fault-band')].map((band) => [band.getAttribute('x'), band.getAttribute('width')].join())));
    assert.equal(new Set(places.map(String)).size, 1);
    assert.equal(places[0].length, 3);
    // The bar of a fault above, and its band below, begin at the same place.
    const above = await page.locator('.timeline .fault rect').first().getAttribute('x');
    assert.equal(places[0][0].split(',')[0], above);
    await close();
  });

  test('zoom by a drag and by buttons, and read out the figures', async () => {
    const { page, close } = await open('passed.html', SIZES[1], 'light');
    const plot = page.locator('[data-chart=messages]');
    await plot.scrollIntoViewIfNeeded();
    const box = await plot.boundingBox();
    const line = () => page.locator('[data-chart=users] path').first().getAttribute('d');
    const whole = await line();
    await page.mouse.move(box.x + 200, box.y + 40);
    await page.locator('.series-charts .reading').getByText(/messages offered \S+\/s, accepted/).waitFor();
    await page.mouse.down();
    await page.mouse.move(box.x + 400, box.y + 40, { steps: 4 });
    await page.mouse.up();
    const part = await line();
    assert.notEqual(part, whole);
    await button(page, 'Earlier').click();
    assert.notEqual(await line(), part);
    await button(page, 'Show the whole run').focus();
    await page.keyboard.press('Enter');
    assert.equal(await line(), whole);
    assert.ok(await button(page, 'Show the whole run').isDisabled());
    await close();
  });

  test('are a table too', async () => {
    const { page, close } = await open('passed.html', SIZES[0], 'light');
    await page.locator('.series-charts > details > summary').click();
    const table = page.getByRole('table', { name: 'Figures over time' });
    // The page makes the table after the click.
    await table.waitFor();
    assert.equal(await table.getByRole('row').count(), 11);
    await fitsAcross(page);
    await close();
  });
});

describe('users', () => {
  test('are found by name, and a chosen one has its lane', async () => {
    const { page, close } = await open('passed.html', SIZES[1], 'light');
    const run = await runOf(page);
    const search = page.getByRole('searchbox', { name: 'Search users by name or id' });
    await search.fill('speaker#');
    const names = await page.locator('section.users .user-link').allInnerTexts();
    assert.equal(names.length, 21);
    assert.ok(names.every((name) => /^user_\d+ \(speaker#\d+\)$/.test(name)), String(names));
    const [[user, name]] = run.series.users[run.lanes.users[0].user];
    await search.fill(user);
    await page.locator('section.users').getByRole('button', { name: `${user} (${name})`, exact: true }).click();
    const lanes = page.locator('.chosen .lane-head strong');
    assert.deepEqual(await lanes.allInnerTexts(), [user, 'server']);
    const drawn = run.lanes.users[0].events;
    assert.equal(await page.locator('.chosen .scroller .event').count(), drawn.length);
    assert.ok(drawn.some((event) => event[0] === 'reply'));
    assert.match(await page.locator('.chosen .command code').innerText(), new RegExp(`--report report.html --follow ${user}$`));
    assert.ok(await page.locator('.chosen').evaluate((one) => one === document.activeElement));
    await search.fill('nobody at all');
    await page.getByText('No user has this in its name.').waitFor();
    await close();
  });

  everywhere('of whom one is followed are drawn among those of its rooms', 'followed.html', async (page) => {
    await fitsAcross(page);
    assert.equal(await page.locator('.badge').innerText(), '✓ PASS');
    assert.match(await page.locator('#space-time h2').innerText(), /^What user_7 \(.+#\d+\) did and received$/);
    assert.ok((await page.locator('#space-time .lane-head strong').allInnerTexts()).some((name) => name.endsWith('user_7')));
    assert.ok(await page.locator('#space-time .event').count() > 3);
    assert.equal(await page.locator('#space-time .rule.violation').count(), 0);
    assert.equal(await page.locator('#space-time').getByRole('button', { name: 'Go to the violation' }).count(), 0);
  });
});

describe('a violation', () => {
  everywhere('has both of its facts marked', 'violated.html', async (page) => {
    for (const [fact, words] of [['predicted', 'Predicted: refused with stick_required'], ['seen', 'Seen: accepted as the last push']]) {
      const mark = page.locator(`.scroller .fact.${fact}`);
      assert.equal(await mark.count(), 1);
      assert.equal(await mark.getAttribute('aria-label'), words);
    }
    const shapes = await page.locator('.scroller .fact-shape').evaluateAll((all) => all.map((one) => one.tagName));
    assert.deepEqual(shapes, ['path', 'circle'], 'the facts differ in colour alone');
    assert.match(await page.locator('.details').first().innerText(), /Predicted\s+refused with stick_required at \d/);
    await readable(page, ['.canvas .fact text']);
  });
});

describe('a crossed threshold', () => {
  everywhere('is drawn over time, and leads to what took longest', 'crossed.html', async (page) => {
    await fitsAcross(page);
    const found = await order(page);
    assert.deepEqual(found.slice(0, 4), ['space-time', 'thresholds', 'when', 'slowest']);
    const chart = page.locator('[data-chart=message_latency]');
    assert.equal(await chart.locator('.limit.crossed').count(), 1);
    assert.ok(await chart.locator('.over').count() > 0);
    assert.equal(await page.locator('.properties li.violated:visible').count(), 0, 'it is told twice');
    await page.locator('.thresholds .user-link').first().click();
    const rows = page.locator('[data-slowest=message_latency] tbody tr');
    assert.ok(await rows.first().isVisible());
    await rows.first().locator('.user-link').first().click();
    assert.ok(await page.locator('section.users .diagram').isVisible());
    await readable(page, ['.limit-name', '.slowest td', '.slowest summary']);
  });
});

describe('a live run', () => {
  everywhere('says what was not judged, and draws its stages', 'live.html', async (page) => {
    await fitsAcross(page);
    const found = await order(page);
    assert.deepEqual(found.slice(0, 2), ['stages', 'when']);
    assert.match(await page.locator('.property-list .lead').innerText(), /^Judged by the clients' histories alone: .* was not judged/);
    const unjudged = page.locator('.properties li.not-judged');
    assert.match(await unjudged.innerText(), /outcomes[^]*not judged \(702 times\)/);
    const [rates, latencies] = await page.locator('.stage-plot').evaluateAll((all) => all.map((one) => [...one.querySelectorAll('circle')].map((mark) => [mark.classList[0], mark.querySelector('title').textContent])));
    assert.deepEqual(rates.filter((one) => one[1].startsWith('achieved')), [['end', 'achieved: 116/s with 60 users, passed'], ['end', 'achieved: 230/s with 120 users, passed'], ['open-mark', 'achieved: 310/s with 240 users, failed']]);
    assert.equal(rates.length, 6);
    assert.equal(latencies.length, 9);
    assert.match(await page.locator('section.latency .lead').innerText(), /^Real time/);
    await readable(page, ['.stages td', '.stage-plot .tick', '.not-judged .standing']);
  });
});
