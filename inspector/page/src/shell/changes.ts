import { useEffect, useRef } from 'react';
import { address } from '../api/client';
import { openStream } from '../api/stream';
import type { FeedChange } from '../api/types';

type Listener = (changes: FeedChange[]) => void;
const listeners = new Set<Listener>();
let close: (() => void) | null = null;

function listen(listener: Listener): () => void {
  listeners.add(listener);
  close ??= openStream<FeedChange>({
    address: (cursor) => address(['changes'], { after: cursor }),
    onMessages: (changes) => {
      for (const each of listeners) each(changes);
    },
  });
  return () => {
    listeners.delete(listener);
    if (listeners.size) return;
    close?.();
    close = null;
  };
}

/** What is recorded for all runs, as it comes. The page has one stream of it, however many listen. */
export function useChanges(onChanges: Listener) {
  const latest = useRef(onChanges);
  latest.current = onChanges;
  useEffect(() => listen((changes) => latest.current(changes)), []);
}
