// Makes the picture of the README: a real audit of this repository, on its page. `node e2e/picture.mjs`
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { launch } from './browser.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const picture = join(root, 'docs/pictures/run.png');
const LARGEST = 150_000;
/** What is selected in it. */
const SELECTED = process.argv[2] ?? 'audit/[inspect]';

const target = process.env.CARGO_TARGET_DIR ?? join(root, 'target');
const cargo = spawn('cargo', ['build', '--locked', '--bin', 'license_audit'], { cwd: root, stdio: 'inherit' });
const [code] = await once(cargo, 'exit');
if (code !== 0) throw new Error(`cargo build ended with ${code}`);

const folder = await mkdtemp(join(tmpdir(), 'graphweft-picture-'));
const audit = spawn(join(target, 'debug/license_audit'), ['--ui', '--leave-undecided'], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
const ended = once(audit, 'exit');
const browser = await launch();
try {
  let url;
  for await (const line of createInterface({ input: audit.stderr })) {
    url ??= /^the runs are at (\S+)$/.exec(line)?.[1];
    if (line.includes('until Ctrl-C')) break;
  }
  const page = await browser.newPage({ viewport: { width: 1200, height: 760 }, colorScheme: 'light' });
  await page.goto(`${url}#/runs/1?sel=${encodeURIComponent(SELECTED)}`);
  await page.waitForSelector('.run-head .pill.s-completed');
  await page.waitForSelector('.detail h2');
  await page.waitForTimeout(500);
  await mkdir(dirname(picture), { recursive: true });
  await page.screenshot({ path: picture });
  const { size } = await stat(picture);
  console.log(`${picture}: ${size} bytes`);
  if (size > LARGEST) throw new Error(`it has more than ${LARGEST} bytes`);
} finally {
  await browser.close();
  audit.kill('SIGINT');
  await ended;
  await rm(folder, { recursive: true, force: true });
}
