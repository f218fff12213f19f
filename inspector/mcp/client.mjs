// Clients: the official one, over the standard streams of a server or over HTTP.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

/** A client. With `answers`, it can ask a person, who answers by this function; its signal says when the form is withdrawn. */
export async function connect(transport, answers) {
  const capabilities = answers ? { elicitation: {} } : {};
  const client = new Client({ name: 'the-test', version: '1' }, { capabilities });
  if (answers) client.setRequestHandler(ElicitRequestSchema, (request, extra) => answers(request.params, extra.signal));
  await client.connect(transport);
  // With the schemas by which it checks results.
  await client.listTools();
  return client;
}

export const overHttp = (url, token) =>
  new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { 'X-Graphweft-Token': token } } });

export const overStdio = (program, env) =>
  new StdioClientTransport({ command: program, args: ['mcp'], env: { ...process.env, ...env } });

/** Calls a tool as long as it takes. */
export const call = (client, name, args, options = {}) =>
  client.callTool({ name, arguments: args }, undefined, { timeout: 120_000, ...options });
