import { useSyncExternalStore } from 'react';

/** A place in the page: `#/runs/brief-2041?sel=briefing%2Fdraft`. */
export interface Place {
  page: string;
  /** The rest of the path, decoded. */
  parts: string[];
  query: URLSearchParams;
}

export function parsePlace(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#/, '').split('?', 2);
  const [page = 'runs', ...parts] = path.split('/').filter(Boolean).map(decode);
  return { page, parts, query: new URLSearchParams(query) };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** A link to a place. */
export function link(page: string, parts: readonly string[] = [], query: Record<string, string | null | undefined> = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const search = new URLSearchParams(given).toString();
  return `#/${[page, ...parts].map(encodeURIComponent).join('/')}${search ? `?${search}` : ''}`;
}

export const toRun = (run: string): string => link('runs', [run]);
export const toWorkflow = (name: string): string => link('workflows', [name]);
export const toQuestion = (run: string, question: string): string => link('inbox', [run, question]);

export function navigate(to: string, replace = false) {
  if (to === location.hash) return;
  history[replace ? 'replaceState' : 'pushState'](null, '', to);
  window.dispatchEvent(new HashChangeEvent('hashchange'));
}

function subscribe(changed: () => void) {
  addEventListener('hashchange', changed);
  addEventListener('popstate', changed);
  return () => {
    removeEventListener('hashchange', changed);
    removeEventListener('popstate', changed);
  };
}

export const useHash = (): string => useSyncExternalStore(subscribe, () => location.hash);
