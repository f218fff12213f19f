// A server of MCP that hangs, dies and changes its schemas: `node server.mjs <ledger>`. What it does is appended to the ledger, a line
// each. `SCHEMA=2` has other tools.
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const ledger = (line) => appendFileSync(process.argv[2], `${line}\n`);
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const text = (text) => ({ content: [{ type: 'text', text }] });
const tool = (name, properties = {}, annotations = undefined) => ({
  name,
  description: `The tool ${name}.`,
  inputSchema: { type: 'object', properties, required: Object.keys(properties) },
  annotations,
});
const word = { word: { type: 'string' } };
const isChanged = process.env.SCHEMA === '2';

let isStuck = false;
const tools = {
  echo: [tool('echo', isChanged ? { word: { type: 'string' }, times: { type: 'integer' } } : word), ({ word }) => text(word)],
  process: [tool('process', {}, { readOnlyHint: true }), () => text(String(process.pid))],
  fails: [tool('fails'), () => ({ ...text('the disk is full'), isError: true })],
  hangs: [tool('hangs'), () => undefined],
  // Neither this call nor any other message is answered from here on.
  sticks: [tool('sticks'), () => void (isStuck = true)],
  dies: [tool('dies', word), () => process.exit(1)],
  [isChanged ? 'fresh' : 'stale']: [tool(isChanged ? 'fresh' : 'stale'), () => text('here')],
};

const answer = ({ method, params }) => {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'unreliable', version: '1' },
      };
    case 'ping':
      return {};
    case 'tools/list':
      return { tools: Object.values(tools).map(([tool]) => tool) };
    case 'tools/call':
      ledger(`call ${params.name} ${JSON.stringify(params.arguments ?? {})}`);
      return tools[params.name][1](params.arguments ?? {});
  }
  throw new Error(`there is no ${method}`);
};

ledger(`start ${process.pid}`);
for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.method === 'notifications/cancelled') ledger('cancelled');
  if (isStuck || message.id === undefined) continue;
  try {
    const result = answer(message);
    if (result !== undefined) send({ id: message.id, result });
  } catch (error) {
    send({ id: message.id, error: { code: -32601, message: error.message } });
  }
}
// A server that sticks does not end with its input.
if (isStuck) setInterval(() => {}, 1000);
