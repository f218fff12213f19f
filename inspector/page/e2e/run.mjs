// Drives the page of a real server in Chromium: `npm run e2e`. With `SHOTS=folder` it keeps pictures.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launch } from './browser.mjs';
import { cases } from './cases.mjs';
import { build, start } from './server.mjs';

const program = process.env.PAGE_SERVER ?? (await build());
const folder = await mkdtemp(join(tmpdir(), 'graphweft-page-'));
const store = join(folder, 'runs.db');
const browser = await launch();
const only = process.argv[2];
const world = {
  browser,
  server: await start(program, store),
  /** Kills the server and starts it again at the same address. */
  async restart(between = async () => {}) {
    await world.server.kill();
    await between();
    world.server = await start(program, store, world.server.port);
  },
};
let failed = 0;
try {
  for (const [name, run] of Object.entries(cases)) {
    if (only && !name.includes(only)) continue;
    try {
      await run(world);
      console.log(`ok   ${name}`);
    } catch (error) {
      failed++;
      console.error(`FAIL ${name}\n${error.stack}`);
    }
  }
} finally {
  await browser.close();
  await world.server.kill();
  await rm(folder, { recursive: true, force: true });
}
process.exitCode = failed ? 1 : 0;
