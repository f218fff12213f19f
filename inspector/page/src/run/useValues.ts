import { useEffect, useRef } from 'react';
import type { NodeValues } from '../api/types';
import { useResource, type Resource } from '../api/useResource';
import { countUpTo, type Moment } from '../view/moment';
import type { Thing } from '../view/model';

/** The values of a thing as they were at a moment. They are read again when something has happened to it. */
export function useValues(run: string, thing: Thing | null, moment: Moment): Resource<NodeValues> {
  const { live, seq } = moment;
  // The last event that changed it, so that other events do not read it again.
  const last = thing
    ? Math.max(lastSeq(thing.moves, seq), lastSeq(thing.details, seq), thing.within < 0 ? lastSeq(moment.view.statuses, seq) : -1)
    : -1;
  const resource = useResource<NodeValues>(thing && ['runs', run, 'values'], { path: thing?.path, at: live ? undefined : last });
  const { reload } = resource;
  const known = useRef({ path: thing?.path, last });
  useEffect(() => {
    const before = known.current;
    known.current = { path: thing?.path, last };
    if (live && before.path === thing?.path && before.last !== last) reload();
  }, [live, last, reload, thing?.path]);
  return resource;
}

const lastSeq = (list: readonly { seq: number }[], seq: number) => list[countUpTo(list, seq) - 1]?.seq ?? -1;
