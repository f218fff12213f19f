import { useSyncExternalStore } from 'react';

export type Connection = { state: 'connecting' } | { state: 'live' } | { state: 'lost'; retryAt: number };

let connection: Connection = { state: 'connecting' };
const listeners = new Set<() => void>();

export function setConnection(next: Connection) {
  if (next.state === connection.state && next.state !== 'lost') return;
  connection = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export const useConnection = (): Connection => useSyncExternalStore(subscribe, () => connection);
