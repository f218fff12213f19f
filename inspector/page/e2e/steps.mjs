// What tests and measurements do with a server and a page.
import assert from 'node:assert/strict';

/** Sends a request as the page does. */
export async function send(url, path, body) {
  const html = await (await fetch(url)).text();
  const token = /graphweft-token" content="([^"]*)"/.exec(html)?.[1] ?? '';
  const headers = { 'content-type': 'application/json', 'x-graphweft-token': token };
  const response = await fetch(`${url}api/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  assert.ok(response.ok, `${path}: ${response.status} ${await response.clone().text()}`);
  return response.json();
}

export const startRun = (url, workflow, id, input) => send(url, `workflows/${workflow}/runs`, { id, input });
export const status = (page, look) => page.waitForSelector(`.run-head .pill.s-${look}`);
