import { useCallback, useEffect, useRef, useState } from 'react';
import { ApiError, get, type Query } from '../api/client';
import { useConnection } from '../api/connection';
import type { FeedChange, Run, Runs } from '../api/types';
import { useChanges } from '../shell/changes';
import { useThrottled } from '../shell/throttle';

const PAGE = 100;
const REFRESH = 1000;
/** More runs than these that have changed are read as a page. */
const MOST_SINGLE = 20;

export interface RunList {
  runs: Run[];
  /** Whether there are more. */
  hasMore: boolean;
  error: ApiError | null;
  loading: boolean;
  loadMore: () => void;
  reload: () => void;
}

interface State {
  key: string;
  runs: Run[];
  next: string | null;
  error: ApiError | null;
  loading: boolean;
}

/** The runs of a filter, newest first, a page at a time; what changes is read again. */
export function useRunList(query: Query, onChange: () => void): RunList {
  const key = JSON.stringify(query);
  const [state, setState] = useState<State>({ key, runs: [], next: null, error: null, loading: true });
  const latest = useRef(state);
  latest.current = state;
  const changed = useRef(new Set<string>());
  const begins = useRef(false);

  const read = useCallback(
    async (cursor: string | null) => {
      setState((old) => (old.key === key ? { ...old, loading: true } : { key, runs: [], next: null, error: null, loading: true }));
      try {
        const page = await get<Runs>(['runs'], { ...(JSON.parse(key) as Query), limit: PAGE, cursor });
        setState((old) => {
          if (old.key !== key) return old;
          if (cursor !== null) return { ...old, runs: unique([...old.runs, ...page.runs]), next: page.next ?? null, error: null, loading: false };
          return { ...old, ...merged(old, page), error: null, loading: false };
        });
      } catch (error) {
        if (error instanceof ApiError) setState((old) => (old.key === key ? { ...old, error, loading: false } : old));
        else throw error;
      }
    },
    [key],
  );
  useEffect(() => {
    changed.current.clear();
    void read(null);
  }, [read]);

  const { state: connection } = useConnection();
  const before = useRef(connection);
  useEffect(() => {
    if (before.current === 'lost' && connection === 'live') void read(null);
    before.current = connection;
  }, [connection, read]);

  const refresh = useThrottled(async () => {
    const shown = latest.current.runs.filter((run) => changed.current.has(run.id));
    const asPage = begins.current || shown.length > MOST_SINGLE;
    changed.current.clear();
    begins.current = false;
    onChange();
    if (asPage) return read(null);
    const again = await Promise.all(shown.map((run) => get<Run>(['runs', run.id]).catch(() => null)));
    const byId = new Map(again.flatMap((run) => (run ? [[run.id, run] as const] : [])));
    setState((old) => ({ ...old, runs: old.runs.map((run) => byId.get(run.id) ?? run) }));
  }, REFRESH);
  useChanges((changes: FeedChange[]) => {
    for (const { run, type } of changes) {
      changed.current.add(run);
      if (type === 'run_started') begins.current = true;
    }
    refresh();
  });

  const current = state.key === key ? state : { key, runs: [], next: null, error: null, loading: true };
  const loadMore = useCallback(() => {
    const { next, loading, key: of } = latest.current;
    if (next !== null && !loading && of === key) void read(next);
  }, [read, key]);
  return { runs: current.runs, hasMore: current.next !== null, error: current.error, loading: current.loading, loadMore, reload: () => void read(null) };
}

/** The first page again: what was behind it stays where it is. */
function merged(old: State, page: Runs): { runs: Run[]; next: string | null } {
  const last = page.runs.at(-1);
  const at = last ? old.runs.findIndex((run) => run.id === last.id) : -1;
  if (at < 0 || page.runs.length < PAGE) return { runs: page.runs, next: page.next ?? null };
  return { runs: unique([...page.runs, ...old.runs.slice(at + 1)]), next: old.next };
}

function unique(runs: readonly Run[]): Run[] {
  return [...new Map(runs.map((run) => [run.id, run])).values()];
}
