// Writes the types of the API from its document; with `--check` fails if they are not current.
import { readFile, writeFile } from 'node:fs/promises';
import openapi, { astToString } from 'openapi-typescript';

const document = new URL('../../openapi.json', import.meta.url);
const output = new URL('../src/api/schema.gen.ts', import.meta.url);

const nodes = await openapi(document, { enumValues: true });
const text = `// Generated from openapi.json by \`npm run types\`.\n\n${astToString(nodes)}`;

if (process.argv.includes('--check')) {
  const current = await readFile(output, 'utf8').catch(() => '');
  if (current !== text) {
    console.error('src/api/schema.gen.ts is not current: run `npm run types`');
    process.exit(1);
  }
} else {
  await writeFile(output, text);
}
