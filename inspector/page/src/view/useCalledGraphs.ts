import { useEffect, useMemo, useState } from 'react';
import { get } from '../api/client';
import type { Graphs } from '../api/types';
import { calledGraphs, type RunView } from './model';

/** The graphs of the workflows that nodes of a run have called, by their hashes, as they come. */
export function useCalledGraphs(view: RunView): ReadonlyMap<string, Graphs> {
  const [known, setKnown] = useState<ReadonlyMap<string, Graphs>>(new Map());
  const wanted = useMemo(() => calledGraphs(view).join(' '), [view]);
  useEffect(() => {
    const controller = new AbortController();
    for (const hash of wanted.split(' ').filter((hash) => hash && !known.has(hash))) {
      get<Graphs>(['graphs', hash], {}, controller.signal).then(
        (graphs) => setKnown((old) => new Map(old).set(hash, graphs)),
        // Without it the workflow is shown as a child of its node.
        () => undefined,
      );
    }
    return () => controller.abort();
  }, [wanted]);
  return known;
}
