// Drives the official client against a program with workflows: `npm run e2e`, or `npm run e2e killed` for cases with this in their name.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cases } from './cases.mjs';
import { build, serve, world } from './server.mjs';

const program = process.env.MCP_SERVER ?? (await build());
const only = process.argv[2];
let failed = 0;
for (const [name, run] of Object.entries(cases)) {
  if (only && !name.includes(only)) continue;
  const folder = await mkdtemp(join(tmpdir(), 'graphweft-mcp-'));
  const ends = [];
  const it = {
    program,
    ...world(folder),
    /** Closes a client, or kills a server, at the end of the case. */
    atEnd: (end) => ends.unshift(end),
    async serve() {
      const server = await serve(program, it.env);
      it.atEnd(server.kill);
      return server;
    },
  };
  try {
    await run(it);
    console.log(`ok   ${name}`);
  } catch (error) {
    failed++;
    console.error(`FAIL ${name}\n${error.stack}`);
  } finally {
    for (const end of ends) await Promise.resolve(end()).catch(() => {});
    await rm(folder, { recursive: true, force: true });
  }
}
process.exit(failed ? 1 : 0);
