// What an agent's client does, and what happens when one side dies.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { call, connect, overHttp, overStdio } from './client.mjs';
import { until } from './server.mjs';

async function stdio(it, answers) {
  const transport = overStdio(it.program, it.env);
  const client = await connect(transport, answers);
  it.atEnd(() => client.close());
  return { client, pid: transport.pid };
}

async function http(it, server, answers) {
  const client = await connect(overHttp(server.url, server.token), answers);
  it.atEnd(() => client.close());
  return client;
}

const text = (result) => result.content.map((part) => part.text).join('\n');

export const cases = {
  async 'workflows are tools'(it) {
    const { client } = await stdio(it);
    assert.equal(client.getServerVersion().name, 'graphweft');
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map((tool) => tool.name), ['double', 'order', 'slow', 'answer']);
    const [double, order] = tools;
    assert.equal(order.description, 'Orders a thing. What costs more than 1000 cents is approved by a person.');
    assert.deepEqual(Object.keys(order.inputSchema.properties).sort(), ['cents', 'item', 'run_id']);
    assert.deepEqual(order.inputSchema.required, ['item', 'cents']);
    assert.equal(order.inputSchema.properties.item.description, 'The thing.');
    assert.equal(order.outputSchema.type, 'object');
    assert.deepEqual(Object.keys(double.inputSchema.properties).sort(), ['input', 'run_id']);
  },

  async 'a call is a run'(it) {
    const { client } = await stdio(it);
    const doubled = await call(client, 'double', { input: 4, run_id: 'four' });
    assert.deepEqual(doubled.structuredContent, { run: 'four', status: 'completed', output: 8 });
    assert.deepEqual(JSON.parse(text(doubled)), doubled.structuredContent);
    const ordered = await call(client, 'order', { item: 'lamp', cents: 900 });
    assert.deepEqual(ordered.structuredContent.output, { item: 'lamp', cents: 900, note: null });
    assert.deepEqual(await it.journal(), ['reserve lamp', 'book lamp']);
    const other = await call(client, 'double', { input: 5, run_id: 'four' });
    assert.ok(other.isError);
    assert.match(text(other), /another input; choose another id/);
  },

  async 'an error says where and what'(it) {
    const { client } = await stdio(it);
    const misfit = await call(client, 'order', { item: 'lamp', cents: 'many' });
    assert.ok(misfit.isError);
    assert.match(text(misfit), /invalid input of `order`: at `cents`: invalid type: string "many"/);
    const failed = await call(client, 'order', { item: 'unicorn', cents: 1 });
    assert.ok(failed.isError);
    assert.match(text(failed), /node `order\/book` failed after 1 attempt: the supplier has no unicorns/);
    assert.deepEqual(failed.structuredContent.error, {
      path: 'order/book',
      attempts: 1,
      causes: ['the supplier has no unicorns'],
    });
    await assert.rejects(call(client, 'fly', {}), /there is no tool `fly`/);
  },

  async 'progress is seen, and a person is asked'(it) {
    const asked = [];
    const answers = (params) => {
      asked.push(params);
      return { action: 'accept', content: { fine: true, note: 'by noon' } };
    };
    const client = await http(it, await it.serve(), answers);
    assert.ok(!(await client.listTools()).tools.some((tool) => tool.name === 'answer'));
    const seen = [];
    const result = await call(client, 'order', { item: 'desk', cents: 2000 }, { onprogress: (it) => seen.push(it) });
    assert.deepEqual(result.structuredContent.output, { item: 'desk', cents: 2000, note: 'by noon' });
    assert.equal(asked.length, 1);
    assert.match(asked[0].message, /Order desk\?[^]*2000/);
    assert.deepEqual(asked[0].requestedSchema.required, ['fine']);
    assert.deepEqual(asked[0].requestedSchema.properties.fine, { type: 'boolean', description: 'Whether to order it.' });
    assert.equal(asked[0].requestedSchema.properties.note.type, 'string');
    assert.ok(seen.some((it) => it.message.includes('order/approve/approve` asks: Order desk?')), JSON.stringify(seen));
    assert.ok(seen.every((it, at) => at === 0 || it.progress > seen[at - 1].progress));
  },

  async 'an open question is answered by a tool, or declined and asked again'(it) {
    const server = await it.serve();
    const client = await http(it, server);
    const waits = await call(client, 'order', { item: 'desk', cents: 2000, run_id: 'desk-1' });
    assert.ok(!waits.isError);
    assert.equal(waits.structuredContent.status, 'waiting');
    const [question] = waits.structuredContent.questions;
    assert.equal(question.prompt, 'Order desk?');

    const declining = await http(it, server, () => ({ action: 'decline' }));
    const declined = await call(declining, 'order', { item: 'desk', cents: 2000, run_id: 'desk-1' });
    assert.deepEqual(declined.structuredContent, waits.structuredContent);
    await assert.rejects(call(declining, 'answer', { run_id: 'desk-1', question: question.id, answer: {} }), /no tool/);

    const answer = (answer) => call(client, 'answer', { run_id: 'desk-1', question: question.id, answer });
    const wrong = await answer({ fine: 'maybe' });
    assert.ok(wrong.isError);
    assert.match(text(wrong), /invalid answer to `order\/approve\/approve`: at `fine`/);
    const right = await answer({ fine: true });
    assert.equal(right.structuredContent.status, 'completed');
    assert.deepEqual(await it.journal(), ['reserve desk', 'book desk']);
  },

  async 'a client is killed, and a second one gets the result'(it) {
    const server = await it.serve();
    const caller = fileURLToPath(new URL('caller.mjs', import.meta.url));
    const first = spawn(process.execPath, [caller, server.url, server.token, 'parcel-1'], { stdio: 'inherit' });
    await until('the node has begun', async () => (await it.journal()).length > 0);
    const gone = once(first, 'exit');
    first.kill('SIGKILL');
    await gone;
    const second = await http(it, server);
    const seen = [];
    const onprogress = (progress) => {
      seen.push(progress);
      it.openGate();
    };
    const result = await call(second, 'slow', { input: 'parcel', run_id: 'parcel-1' }, { onprogress });
    assert.equal(result.structuredContent.output, 'parcel passed');
    assert.ok(seen.length > 0);
    assert.deepEqual(await it.journal(), ['hold parcel']);
  },

  async 'a cancelled call does not cancel the run'(it) {
    const { client } = await stdio(it);
    const stop = new AbortController();
    const cut = call(client, 'slow', { input: 'letter', run_id: 'letter-1' }, { signal: stop.signal });
    await until('the node has begun', async () => (await it.journal()).length > 0);
    stop.abort('enough');
    await assert.rejects(cut, /enough/);
    await it.openGate();
    const result = await call(client, 'slow', { input: 'letter', run_id: 'letter-1' });
    assert.equal(result.structuredContent.output, 'letter passed');
    assert.deepEqual(await it.journal(), ['hold letter']);
  },

  async 'a cancelled call withdraws its form, and the question is asked again'(it) {
    const server = await it.serve();
    let runs = 0;
    for (const open of [async (answers) => (await stdio(it, answers)).client, (answers) => http(it, server, answers)]) {
      const args = { item: 'sofa', cents: 5000, run_id: `sofa-${runs++}` };
      let asked, withdrawn;
      const isAsked = new Promise((resolve) => (asked = resolve));
      const isWithdrawn = new Promise((resolve) => (withdrawn = resolve));
      let forms = 0;
      const client = await open((_, signal) => {
        forms++;
        // This client ignores that its first request, which has the id 0, is cancelled.
        if (forms === 1) return { action: 'decline' };
        if (forms === 3) return { action: 'accept', content: { fine: true } };
        signal.addEventListener('abort', () => withdrawn(signal.reason));
        asked();
        return new Promise(() => {});
      });
      assert.equal((await call(client, 'order', args)).structuredContent.status, 'waiting');
      const stop = new AbortController();
      const cut = assert.rejects(call(client, 'order', args, { signal: stop.signal }), /enough/);
      await isAsked;
      stop.abort('enough');
      await cut;
      assert.match(String(await isWithdrawn), /the call was cancelled; the question is still open/);
      const result = await call(client, 'order', args);
      assert.equal(result.structuredContent.status, 'completed');
      assert.equal(forms, 3);
    }
  },

  async 'an answer that comes second is an error that says what was answered'(it) {
    const { client } = await stdio(it);
    const waits = await call(client, 'order', { item: 'desk', cents: 2000, run_id: 'desk-1' });
    const question = waits.structuredContent.questions[0].id;
    const answer = (answer) => call(client, 'answer', { run_id: 'desk-1', question, answer });
    assert.ok(!(await answer({ fine: true })).isError);
    assert.ok(!(await answer({ fine: true })).isError);
    const second = await answer({ fine: false });
    assert.ok(second.isError);
    assert.match(text(second), /was answered before, with {"fine":true}, by the-test \(MCP\)/);
  },

  async 'the server is killed while a question is open, and the next one continues'(it) {
    let asked;
    const isAsked = new Promise((resolve) => (asked = resolve));
    const first = await stdio(it, () => new Promise(() => asked()));
    const cut = call(first.client, 'order', { item: 'sofa', cents: 5000, run_id: 'sofa-1' });
    const rejected = assert.rejects(cut, /closed/i);
    await isAsked;
    process.kill(first.pid, 'SIGKILL');
    await rejected;
    const second = await stdio(it, () => ({ action: 'accept', content: { fine: true } }));
    const result = await call(second.client, 'order', { item: 'sofa', cents: 5000, run_id: 'sofa-1' });
    assert.deepEqual(result.structuredContent, {
      run: 'sofa-1',
      status: 'completed',
      output: { item: 'sofa', cents: 5000, note: null },
    });
    assert.deepEqual(await it.journal(), ['reserve sofa', 'book sofa']);
  },

  async 'without the token nothing is served'(it) {
    const server = await it.serve();
    await assert.rejects(connect(overHttp(server.url, 'wrong')), /wrong_token|403/);
  },
};
