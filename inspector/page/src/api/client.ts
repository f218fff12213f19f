import { parseResponse, toJson } from './json';
import type { Problem } from './types';

/** The server refused a request, or was not reached (`status` 0). */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  /** Where in the value that was sent: `lines[2].price`; `.` for the whole. */
  readonly field: string | null;

  constructor(problem: Pick<Problem, 'status' | 'code' | 'detail'> & { field?: string | null }) {
    super(problem.detail);
    this.name = 'ApiError';
    this.status = problem.status;
    this.code = problem.code;
    this.field = problem.field ?? null;
  }

  get isUnreachable(): boolean {
    return this.status === 0;
  }
}

export type Query = Record<string, string | number | readonly string[] | null | undefined>;

const meta = (page: Document, name: string) => page.querySelector<HTMLMetaElement>(`meta[name="graphweft-${name}"]`)?.content;
/** Where the page is mounted, with `/` at its end: it may be opened at `/runs`, at `/runs/` and at any path below. */
const mount = new URL(meta(document, 'mount') ?? './', location.href);

/** The address of a route, relative to the mount, so that the page works under any path. */
export function address(path: readonly string[], query: Query = {}): string {
  const url = new URL(`api/${path.map(encodeURIComponent).join('/')}`, mount);
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === '') continue;
    for (const one of Array.isArray(value) ? value : [value]) url.searchParams.append(name, String(one));
  }
  return url.href;
}

export async function get<T>(path: readonly string[], query: Query = {}, signal?: AbortSignal): Promise<T> {
  return read<T>(await send(address(path, query), { signal }));
}

export async function getText(path: readonly string[]): Promise<string> {
  const response = await send(address(path), {});
  if (!response.ok) throw await problem(response);
  return response.text();
}

export async function post<T>(path: readonly string[], body: unknown): Promise<T> {
  try {
    return await postOnce<T>(path, body, token);
  } catch (error) {
    if (!(error instanceof ApiError) || !STALE_TOKEN.includes(error.code)) throw error;
    // The server has started again since the page was loaded.
    token = await readToken();
    return postOnce<T>(path, body, token);
  }
}

const STALE_TOKEN = ['wrong_token', 'missing_token'];
const tokenIn = (page: Document) => meta(page, 'token') ?? null;
/** What the page was served with, to be sent back with what changes something. */
let token = tokenIn(document);

async function readToken(): Promise<string | null> {
  const html = await (await send(location.href, {})).text();
  return tokenIn(new DOMParser().parseFromString(html, 'text/html'));
}

async function postOnce<T>(path: readonly string[], body: unknown, withToken: string | null): Promise<T> {
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (withToken) headers['x-graphweft-token'] = withToken;
  return read<T>(await send(address(path), { method: 'POST', headers, body: toJson(body) }));
}

async function send(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { ...init, credentials: 'same-origin', cache: 'no-store' });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError({ status: 0, code: 'unreachable', detail: 'The server does not respond.' });
  }
}

async function read<T>(response: Response): Promise<T> {
  if (!response.ok) throw await problem(response);
  const text = await response.text();
  return (text ? parseResponse(text) : null) as T;
}

async function problem(response: Response): Promise<ApiError> {
  const { status, statusText } = response;
  const unknown = { status, code: 'unknown', detail: `The server responded with ${status} ${statusText}.` };
  const body: unknown = await response.json().catch(() => null);
  return new ApiError(isProblem(body) ? { ...body, status } : unknown);
}

const isProblem = (body: unknown): body is Problem => typeof body === 'object' && body !== null && 'detail' in body && 'code' in body;
