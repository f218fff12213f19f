// Builds and starts the program of `server/`.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** The path of the program. */
export async function build() {
  const target = process.env.CARGO_TARGET_DIR ?? here('../../target');
  const cargo = spawn('cargo', ['build', '--locked', '--manifest-path', here('server/Cargo.toml')], { stdio: 'inherit' });
  const [code] = await once(cargo, 'exit');
  if (code !== 0) throw new Error(`cargo build ended with ${code}`);
  return `${target}/debug/mcp-server`;
}

/** The files of a case: the runs, what the nodes have done, and what `slow` waits for. */
export function world(folder) {
  const env = { RUNS: join(folder, 'runs.db'), JOURNAL: join(folder, 'journal'), GATE: join(folder, 'gate') };
  return {
    env,
    openGate: () => writeFile(env.GATE, ''),
    journal: async () => {
      const text = await readFile(env.JOURNAL, 'utf8').catch(() => '');
      return text.split('\n').filter(Boolean);
    },
  };
}

/** Starts it with an HTTP server. */
export async function serve(program, env) {
  const child = spawn(program, ['http'], { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, ...env } });
  const line = await new Promise((resolve, reject) => {
    let text = '';
    child.stdout.on('data', (data) => {
      text += data;
      if (text.includes('\n')) resolve(text.split('\n')[0]);
    });
    child.on('exit', (code) => reject(new Error(`the server ended with ${code}`)));
  });
  const [url, token] = line.split(' ');
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
  return { url, token, kill };
}

/** Waits until something is so. */
export async function until(what, is) {
  const end = Date.now() + 60_000;
  while (!(await is())) {
    if (Date.now() > end) throw new Error(`it did not come to this: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
