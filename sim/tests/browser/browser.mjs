// Opens pages in a real browser, for the tests beside this file.

import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const reports = process.env.REPORTS;
const screenshots = join(reports, 'screenshots');
export const SIZES = [{ width: 390, height: 844 }, { width: 1440, height: 900 }];
const SCHEMES = ['light', 'dark'];

let browser;
before(async () => {
  mkdirSync(screenshots, { recursive: true });
  browser = await chromium.launch({
    executablePath: process.env.BROWSER_PROGRAM,
    headless: true,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
});
after(async () => browser?.close());

// Opens a report. Console errors and network requests are recorded.
export async function open(name, viewport, colorScheme, more = {}) {
  const context = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce', ...more });
  const page = await context.newPage();
  const complaints = [];
  const asked = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on('request', (request) => asked.push(request.url()));
  const [file, anchor] = name.split('#');
  const url = pathToFileURL(join(reports, file)).href;
  await page.goto(anchor ? `${url}#${anchor}` : url);
  await page.locator('main.run h1').first().waitFor();
  const close = async () => {
    assert.deepEqual(complaints, []);
    assert.deepEqual(asked.filter((one) => !one.startsWith('data:')).map((one) => one.split('#')[0]), [url]);
    await context.close();
  };
  return { page, close };
}

// Runs a test for each size and colour scheme.
export function everywhere(title, name, look) {
  for (const size of SIZES) {
    for (const scheme of SCHEMES) {
      test(`${title} (${size.width} × ${size.height}, ${scheme})`, async () => {
        const { page, close } = await open(name, size, scheme);
        await look(page, size, scheme);
        await page.screenshot({ path: join(screenshots, `${name}-${size.width}-${scheme}.png`), fullPage: true });
        await close();
      });
    }
  }
}

export async function fitsAcross(page) {
  const widths = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
  assert.ok(widths[0] <= widths[1], `the page is ${widths[0]} wide in a window of ${widths[1]}`);
}

// The lowest contrast of these texts with their background (WCAG 2.2, 1.4.3).
export async function readable(page, selectors) {
  const found = await page.evaluate((all) => {
    const parse = (text) => (text.match(/[\d.]+/g) || []).map(Number);
    const light = (rgb) => {
      const [r, g, b] = rgb.map((n) => {
        const c = n / 255;
        return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (element) => {
      for (let at = element; at; at = at.parentElement) {
        const [r, g, b, alpha = 1] = parse(getComputedStyle(at).backgroundColor);
        if (alpha > 0.99) return [r, g, b];
      }
      return [255, 255, 255];
    };
    return all.map((selector) => {
      const elements = [...document.querySelectorAll(selector)].filter((element) => element.textContent.trim() !== '');
      const ratios = elements.map((element) => {
        const style = getComputedStyle(element);
        const ink = parse(element instanceof SVGElement ? style.fill : style.color).slice(0, 3);
        const [a, b] = [light(ink), light(behind(element))].sort((x, y) => y - x);
        return (a + 0.05) / (b + 0.05);
      });
      return { selector, count: ratios.length, least: Math.min(...ratios) };
    });
  }, selectors);
  for (const { selector, count, least } of found) {
    assert.ok(count > 0, `nothing is ${selector}`);
    assert.ok(least >= 4.5, `${selector} has a contrast of ${least.toFixed(2)} only`);
  }
}

export const button = (page, name) => page.getByRole('button', { name, exact: true }).first();
