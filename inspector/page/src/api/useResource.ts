import { useCallback, useEffect, useRef, useState } from 'react';
import { ApiError, get, type Query } from './client';
import { useConnection } from './connection';

export interface Resource<T> {
  data: T | null;
  error: ApiError | null;
  loading: boolean;
  reload: () => void;
}

/** Reads a route, again when its address changes, on `reload`, and when a lost connection is back. `null` reads nothing. */
export function useResource<T>(path: readonly string[] | null, query: Query = {}): Resource<T> {
  const key = path && JSON.stringify([path, query]);
  const [state, setState] = useState<{ key: string | null; data: T | null; error: ApiError | null; loading: boolean }>({
    key: null,
    data: null,
    error: null,
    loading: true,
  });
  const abort = useRef<AbortController | null>(null);
  const read = useCallback(() => {
    abort.current?.abort();
    if (!key) return;
    const controller = new AbortController();
    abort.current = controller;
    const [p, q] = JSON.parse(key) as [string[], Query];
    setState((old) => (old.key === key ? { ...old, loading: true } : { key, data: null, error: null, loading: true }));
    get<T>(p, q, controller.signal).then(
      (data) => controller.signal.aborted || setState({ key, data, error: null, loading: false }),
      (error: unknown) => {
        if (controller.signal.aborted) return;
        const failure = error instanceof ApiError ? error : new ApiError({ status: 0, code: 'unreadable', detail: String(error) });
        setState((old) => ({ key, data: old.key === key ? old.data : null, error: failure, loading: false }));
      },
    );
  }, [key]);
  useEffect(() => {
    read();
    return () => abort.current?.abort();
  }, [read]);

  const { state: connection } = useConnection();
  const before = useRef(connection);
  useEffect(() => {
    if (before.current === 'lost' && connection === 'live') read();
    before.current = connection;
  }, [connection, read]);

  const current = state.key === key;
  return { data: current ? state.data : null, error: current ? state.error : null, loading: !key ? false : current ? state.loading : true, reload: read };
}
