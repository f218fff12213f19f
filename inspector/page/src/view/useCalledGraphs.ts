import { useEffect, useState } from 'react';
import { get } from '../api/client';
import type { Graphs } from '../api/types';
import type { RunView } from './model';

/** The graphs of the workflows that nodes of a run have called, by their hashes, as they come. */
export function useCalledGraphs({ calledGraphs }: RunView): ReadonlyMap<string, Graphs> {
  const [known, setKnown] = useState<ReadonlyMap<string, Graphs>>(new Map());
  const wanted = [...calledGraphs].sort().join(' ');
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
