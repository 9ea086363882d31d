// Opens the sample reports in a real browser, in two sizes and two colour schemes, and checks what
// a person would see. Tests wait for conditions only, never for a fixed time.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SIZES, button, everywhere, fitsAcross, open, readable } from './browser.mjs';

const PROPERTIES = 23;

const details = (page) => page.locator('.details').first();
const scale = (page) => page.locator('.scroller svg.canvas').first().evaluate((svg) => [Number(svg.dataset.scale), svg.getBoundingClientRect().height]);

// The centre of the arrow or mark of the violation, in screen coordinates.
async function blamedAt(page) {
  await button(page, 'Go to the violation').click();
  const box = await page.locator('.event.blamed .hit').first().boundingBox();
  return [box.x + box.width / 2, box.y + box.height / 2];
}

describe('a pass', () => {
  everywhere('shows its verdict, its properties and its figures', 'passed.html', async (page) => {
    await fitsAcross(page);
    assert.match(await page.title(), /^PASS · burst$/);
    assert.equal(await page.locator('.badge').innerText(), '✓ PASS');
    assert.ok(await page.locator('h1').isVisible());
    assert.equal(await page.locator('.properties li').count(), PROPERTIES);
    assert.equal(await page.locator('.properties li.violated').count(), 0);
    await page.locator('.property-list > details > summary').click();
    assert.equal(await page.locator('.properties li.not-exercised .mark').first().innerText(), '–');
    const curves = await page.locator('.percentiles polyline').evaluateAll((all) => all.map((line) => line.points.numberOfItems));
    assert.equal(curves.length, 7);
    assert.ok(curves.every((points) => points > 5), String(curves));
    assert.ok(await page.locator('.waits .bar').count() > 200);
    assert.ok(await page.locator('.timeline .arrivals').count() > 5);
    assert.equal(await page.locator('.timeline .fault').count(), 3);
    assert.equal(await page.locator('.timeline .instant.heal').count(), 1);
    assert.equal(await page.locator('.diagram').count(), 0);
    await readable(page, ['h1', 'h2', 'p', 'th', 'td', 'dd', 'code', '.badge', '.muted', '.standing', '.tick', '.chips li', 'summary', 'figcaption']);
  });

  test('says under the pointer what a curve is there', async () => {
    const { page, close } = await open('passed.html', SIZES[1], 'light');
    const plot = page.locator('.percentiles svg');
    // The plot may be drawn anew meanwhile: hover then takes the new one.
    await plot.hover();
    await page.waitForFunction(() => /^p[\d.]+: message \S+ · later readers/.test(document.querySelector('.readout').textContent));
    await close();
  });
});

describe('a violation', () => {
  everywhere('comes first, and is drawn', 'violated.html', async (page, size) => {
    await fitsAcross(page);
    assert.equal(await page.locator('.badge').innerText(), '✗ FAIL');
    const heading = page.locator('h1');
    assert.match(await heading.innerText(), /push was accepted although its grant was over <img/);
    const box = await heading.boundingBox();
    assert.ok(box.y + box.height < size.height, 'the violated sentence is not on the first screen');
    assert.equal(await page.locator('img, main script, main b').count(), 0, 'a word of a user became an element');
    assert.equal(await page.locator('.properties li').count(), PROPERTIES);
    assert.match(await page.locator('.properties li.violated').innerText(), /stick_exclusion/);
    assert.equal(await page.locator('.lane-head').count(), 4);
    assert.equal(await page.locator('.lane-head.server').count(), 1);
    for (const kind of ['request', 'reply', 'push', 'opening']) {
      assert.ok(await page.locator(`.scroller .event.${kind} .shaft`).count() > 0, `no ${kind}`);
    }
    for (const kind of ['crash', 'partition', 'slow-readers', 'suspend', 'slow-disk', 'disconnect']) {
      assert.equal(await page.locator(`.scroller .band.${kind} rect`).count(), 1, kind);
    }
    assert.ok(await page.locator('.scroller .event.lost .x-mark').count() > 0, 'nothing lost');
    assert.equal(await page.locator('.scroller .event.blamed .ring').count(), 1);
    assert.equal(await page.locator('.scroller .rule.violation').count(), 1);
    await readable(page, ['h1', 'h2', 'p', 'th', 'td', 'dd', 'dt', 'code', '.badge', '.property', '.muted', '.standing', '.lane-head strong', '.canvas text', '.axis-column text', '.tools button', '.details strong', '.key li', '.violated .name .muted']);
    await blamedAt(page);
  });

  everywhere('among many users shows those concerned', 'contention.html', async (page) => {
    await fitsAcross(page);
    const lanes = await page.locator('.lane-head').count();
    assert.ok(lanes >= 3 && lanes <= 8, `${lanes} lanes`);
    assert.ok(await page.locator('.left-out li').count() > 0);
    await button(page, 'Go to the violation').click();
  });

  test('zooms by buttons, wheel and keys, around what one looks at', async () => {
    const { page, close } = await open('violated.html', SIZES[1], 'light');
    const [one, height] = await scale(page);
    await button(page, 'Zoom in').click();
    const [two, taller] = await scale(page);
    assert.ok(two > one && taller > height, `${one} ${two} ${height} ${taller}`);
    const [x, y] = await blamedAt(page);
    await page.mouse.move(x, y);
    await page.keyboard.down('Control');
    await page.mouse.wheel(0, -240);
    await page.keyboard.up('Control');
    await page.waitForFunction((before) => Number(document.querySelector('.scroller svg.canvas').dataset.scale) > before, two);
    const after = await page.locator('.event.blamed .hit').first().boundingBox();
    assert.ok(Math.abs(after.y + after.height / 2 - y) < 140, 'the violation jumped away');
    const [three] = await scale(page);
    await page.locator('.scroller').focus();
    await page.keyboard.press('-');
    const [four] = await scale(page);
    assert.ok(four < three);
    await page.keyboard.press('0');
    const [, fitted] = await scale(page);
    assert.ok(fitted <= (await page.locator('.scroller').boundingBox()).height + 20, `${fitted}`);
    await close();
  });

  test('zooms by two fingers', async () => {
    const { page, close } = await open('violated.html', SIZES[0], 'light', { hasTouch: true, isMobile: true });
    await page.locator('.scroller').scrollIntoViewIfNeeded();
    const box = await page.locator('.scroller').boundingBox();
    const [one] = await scale(page);
    const touch = await page.context().newCDPSession(page);
    const at = (gap) => [{ x: box.x + 150, y: box.y + 250 - gap, id: 1 }, { x: box.x + 150, y: box.y + 250 + gap, id: 2 }];
    await touch.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: at(30) });
    for (const gap of [40, 60, 80]) await touch.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: at(gap) });
    await touch.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
    await page.waitForFunction((before) => Number(document.querySelector('.scroller svg.canvas').dataset.scale) > before * 1.5, one);
    await close();
  });

  test('moves under a dragging mouse', async () => {
    const { page, close } = await open('violated.html', SIZES[1], 'light');
    for (let i = 0; i < 3; i++) await button(page, 'Zoom in').click();
    const [x, y] = await blamedAt(page);
    const top = () => page.locator('.scroller').evaluate((box) => box.scrollTop);
    const before = await top();
    await page.mouse.move(x + 40, y + 60);
    await page.mouse.down();
    await page.mouse.move(x + 40, y - 40, { steps: 4 });
    await page.mouse.up();
    assert.equal(Math.round(await top() - before), 100);
    await close();
  });

  test('tells under the pointer, and under the keys, what was asked and answered', async () => {
    const { page, close } = await open('violated.html', SIZES[1], 'light');
    const [x, y] = await blamedAt(page);
    await page.mouse.move(5, 5);
    await page.mouse.move(x, y);
    await details(page).getByText('here it showed').waitFor();
    assert.match(await details(page).innerText(), /server → user_\d+ · answer\s+accepted, room_seq \d+/);
    assert.match(await details(page).innerText(), /arrived\s+\d+\.\d{3,6}s \(after/);
    await page.mouse.move(5, 5);
    await page.locator('.scroller').focus();
    await page.keyboard.press('Enter');
    const focused = () => page.evaluate(() => [document.activeElement.getAttribute('class'), document.activeElement.getAttribute('aria-label')]);
    const first = await focused();
    assert.match(first[0], /^event /);
    await page.keyboard.press('ArrowDown');
    const second = await focused();
    assert.notEqual(second[1], first[1]);
    const words = await details(page).locator('.what strong').innerText();
    assert.ok(second[1].includes(words), `${second[1]} lacks ${words}`);
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowRight');
    assert.match((await focused())[0], /^event /);
    await page.keyboard.press('v');
    assert.match((await focused())[0], /blamed/);
    const width = await page.evaluate(() => getComputedStyle(document.activeElement.querySelector('.shaft')).strokeWidth);
    assert.ok(parseFloat(width) > 4, `what has the focus is drawn ${width} wide`);
    await page.keyboard.press('Escape');
    assert.match((await focused())[0], /scroller/);
    await close();
  });

  test('is a table too, and has another scale of time', async () => {
    const { page, close } = await open('violated.html', SIZES[0], 'dark');
    await page.getByText(/^The same as a table/).click();
    const table = page.getByRole('table', { name: 'Events of the diagram' });
    await table.waitFor();
    assert.ok(await table.getByRole('row').count() > 30);
    assert.ok(await table.getByText(/^✗ accepted/).count() === 1);
    await fitsAcross(page);
    const [, packed] = await scale(page);
    await page.getByLabel('even time').check();
    const [, even] = await scale(page);
    assert.notEqual(packed, even);
    await page.getByLabel(/empty polls/).check();
    assert.ok(await page.locator('.scroller .event').count() > 30);
    await close();
  });
});

describe('several scenarios', () => {
  everywhere('are a page each, and all of them on paper', 'several.html', async (page) => {
    await fitsAcross(page);
    const links = page.getByRole('navigation', { name: 'Runs' }).getByRole('link');
    assert.equal(await links.count(), 3);
    await links.nth(2).click();
    // The page follows its address after the address has changed.
    await page.locator('main.run:visible .badge-line').filter({ hasText: 'partition' }).waitFor();
    assert.equal(new URL(page.url()).hash, '#run-3');
    assert.equal(await links.nth(2).getAttribute('aria-current'), 'page');
    await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
    assert.equal(await page.locator('main.run:visible').count(), 3);
    await page.evaluate(() => window.dispatchEvent(new Event('afterprint')));
    assert.equal(await page.locator('main.run:visible').count(), 1);
  });
});

describe('several seeds', () => {
  everywhere('are measured together', 'seeds.html', async (page) => {
    await fitsAcross(page);
    assert.match(await page.locator('.badge-line').innerText(), /seeds 42–44/);
    assert.ok((await page.locator('.waits thead').first().innerText()).includes('Seed'));
  });
});
