// How fast the page is, in Chromium, over a real server: `npm run bench`. It prints what was measured beside what is aimed at, and holds
// no one to it: other work on the machine counts as well.
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { launch, openPage } from './browser.mjs';
import { build, start } from './server.mjs';
import { startRun, status } from './steps.mjs';

const TIMES = 5;
const SECONDS = 8;

const events = (page) => page.evaluate(() => Number(document.querySelector('.track').getAttribute('aria-valuemax')));

/** From the navigation on, in ms, until the run is drawn: its status, its graph, its rows, and a slider over all of its events. */
async function opening({ browser, server }) {
  const { page, close } = await openPage(browser, server.url);
  await page.goto(`${server.url}#/runs/wide?sel=-`, { waitUntil: 'commit' });
  const drawn = await page.waitForFunction(() => {
    const all = Number(document.querySelector('.track')?.getAttribute('aria-valuemax'));
    const parts = ['.run-head .pill.s-completed', '.g .n', '.row'];
    return all > 20_000 && parts.every((part) => document.querySelector(part)) ? performance.now() : undefined;
  });
  const took = await drawn.jsonValue();
  await close();
  return took;
}

/** Frames and events a second, and the longest time without a frame in ms, while the page follows a run. */
async function following({ browser, server }) {
  await startRun(server.url, 'busy', 'busy', SECONDS + 4);
  const { page, close } = await openPage(browser, server.url);
  await page.goto(`${server.url}#/runs/busy?sel=-`);
  await status(page, 'running');
  const before = await events(page);
  const times = await page.evaluate(async (seconds) => {
    const times = [];
    await new Promise((done) => {
      const frame = (now) => (times.push(now), now - times[0] < 1000 * seconds ? requestAnimationFrame(frame) : done());
      requestAnimationFrame(frame);
    });
    return times;
  }, SECONDS);
  const more = (await events(page)) - before;
  await close();
  const gaps = times.slice(1).map((time, at) => time - times[at]);
  const took = (times.at(-1) - times[0]) / 1000;
  return { frames: gaps.length / took, events: more / took, longest: Math.max(...gaps) };
}

const folder = await mkdtemp(join(tmpdir(), 'graphweft-page-'));
const browser = await launch();
const program = process.env.PAGE_SERVER ?? (await build('release'));
const server = await start(program, join(folder, 'runs.db'));
try {
  await startRun(server.url, 'wide', 'wide', 4000);
  const { page, close } = await openPage(browser, server.url);
  await page.goto(`${server.url}#/runs/wide?sel=-`);
  await page.waitForSelector('.run-head .pill.s-completed', { timeout: 120_000 });
  const all = await events(page);
  await close();
  const opened = [];
  for (let at = 0; at < TIMES; at++) opened.push(await opening({ browser, server }));
  opened.sort((one, other) => one - other);
  const live = await following({ browser, server });
  const ms = (time) => `${time.toFixed(0)} ms`;
  console.log(`Chromium ${browser.version()}, ${cpus().length} cores that the server, the run and the browser share.\n`);
  console.log('| | measured | aim |\n| --- | --- | --- |');
  console.log(`| a run of ${all} events opens: the median and the longest of ${TIMES} | ${ms(opened[2])} and ${ms(opened.at(-1))} | 1 s |`);
  const rate = live.events.toFixed(0);
  console.log(`| frames a second while ${rate} events a second come | ${live.frames.toFixed(0)}, the longest pause ${ms(live.longest)} | 10, at 1,000 |`);
} finally {
  await browser.close();
  await server.kill();
  await rm(folder, { recursive: true, force: true });
}
