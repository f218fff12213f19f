import { useCallback, useEffect, useRef, useState } from 'react';
import { ApiError, get } from '../api/client';
import { useConnection } from '../api/connection';
import type { AskedQuestion, Questions } from '../api/types';
import { useChanges } from '../shell/changes';
import { useThrottled } from '../shell/throttle';

const PAGE = 100;
const REFRESH = 1000;
/** What opens or closes a question. */
const TELLING = /^(question|answer|asked|answered|run_(completed|failed|cancelled|resumed)|node_(failed|cancelled))/;

export interface QuestionList {
  questions: AskedQuestion[];
  /** Whether there are more than these. */
  hasMore: boolean;
  error: ApiError | null;
  loading: boolean;
  loadMore: () => void;
  reload: () => void;
}

/** The open questions of all runs, the longest open first; read again when one may have come or gone. */
export function useQuestions(): QuestionList {
  const [state, setState] = useState<{ questions: AskedQuestion[]; next: string | null; error: ApiError | null; loading: boolean }>({
    questions: [],
    next: null,
    error: null,
    loading: true,
  });
  const size = useRef(PAGE);
  size.current = Math.max(PAGE, state.questions.length);
  const read = useCallback(async (cursor: string | null) => {
    try {
      const page = await get<Questions>(['questions'], { limit: cursor === null ? Math.min(500, size.current) : PAGE, cursor });
      setState((old) => ({
        questions: cursor === null ? page.questions : [...old.questions, ...page.questions],
        next: page.next ?? null,
        error: null,
        loading: false,
      }));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setState((old) => ({ ...old, error, loading: false }));
    }
  }, []);
  const reload = useThrottled(() => void read(null), REFRESH);
  useEffect(() => void read(null), [read]);
  useChanges((changes) => changes.some((change) => TELLING.test(change.type)) && reload());

  const { state: connection } = useConnection();
  const before = useRef(connection);
  useEffect(() => {
    if (before.current === 'lost' && connection === 'live') reload();
    before.current = connection;
  }, [connection, reload]);
  return { ...state, hasMore: state.next !== null, reload, loadMore: () => void (state.next && read(state.next)) };
}
