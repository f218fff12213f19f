// Builds and runs the server of e2e/server: the real inspector, on loopback.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** The path of the program, as it is built for `debug` or `release`. */
export async function build(profile = 'debug') {
  const target = process.env.CARGO_TARGET_DIR ?? here('../../../target');
  const how = profile === 'release' ? ['--release'] : [];
  const cargo = spawn('cargo', ['build', '--locked', ...how, '--manifest-path', here('server/Cargo.toml')], { stdio: 'inherit' });
  const [code] = await once(cargo, 'exit');
  if (code !== 0) throw new Error(`cargo build ended with ${code}`);
  return `${target}/${profile}/page-server`;
}

/** Starts it over a store; on port 0 it takes a free one. */
export async function start(program, store, port = 0) {
  const child = spawn(program, [store, String(port)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const line = await new Promise((resolve, reject) => {
    let text = '';
    child.stdout.on('data', (data) => {
      text += data;
      if (text.includes('\n')) resolve(text.split('\n')[0]);
    });
    child.on('exit', (code) => reject(new Error(`the server ended with ${code}`)));
  });
  const [own, mounted] = line.trim().split(' ');
  const url = new URL(own);
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
  return { url: url.href, mounted, port: Number(url.port), kill };
}
