// A browser without a window, and what the tests ask of its pages.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const QUIET = ['--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-quic'];

export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', ...QUIET],
  });
}

/** A page that fails the test on an error of a script, a refused script or style, or a request to somewhere else. */
export async function openPage(browser, origin, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  const problems = [];
  page.on('pageerror', (error) => problems.push(`script: ${error.message}`));
  page.on('console', (message) => /Content Security Policy|Refused to/.test(message.text()) && problems.push(message.text()));
  page.on('request', (request) => request.url().startsWith(origin) || problems.push(`request to ${request.url()}`));
  return { page, problems, close: () => context.close() };
}

export async function checkAccessible(browser, origin, hash) {
  for (const colorScheme of ['light', 'dark']) {
    // The checker is a script that the page itself would not allow.
    const { page, close } = await openPage(browser, origin, { colorScheme, bypassCSP: true });
    await page.goto(origin + hash);
    await page.waitForSelector('main h1, main h2');
    await page.waitForTimeout(500);
    await assertAccessible(page, `${hash} in ${colorScheme}`);
    await close();
  }
}

/** Checks a page as it is now. It has been opened with `bypassCSP`. */
export async function assertAccessible(page, what) {
  await page.addScriptTag({ content: axe });
  const violations = await page.evaluate(async () => (await window.axe.run(document, { resultTypes: ['violations'] })).violations);
  const found = violations.flatMap((v) => v.nodes.map((node) => `${v.id}: ${node.html.slice(0, 160)}`));
  assert.deepEqual(found, [], what);
}
