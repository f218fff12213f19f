import { useCallback, useEffect, useState } from 'react';
import { address } from '../api/client';
import { openStream } from '../api/stream';
import type { ViewPart } from '../api/types';
import { addPart, emptyView, type RunView } from './model';

/** The view of a run as it changes; null until its first part has come. `reopen` after a retry, as the stream ends with the run. */
export function useRunView(run: string, exists: boolean): { view: RunView | null; reopen: () => void } {
  const [state, setState] = useState<{ run: string; view: RunView | null }>({ run, view: null });
  const [opened, setOpened] = useState(0);
  useEffect(() => {
    if (!exists) return;
    let view = emptyView();
    return openStream<ViewPart>({
      address: (cursor) => address(['runs', run, 'live'], { since: cursor }),
      onMessages: (parts) => {
        for (const part of parts) view = addPart(view, part);
        setState({ run, view });
      },
    });
  }, [run, exists, opened]);
  const reopen = useCallback(() => setOpened((count) => count + 1), []);
  return { view: state.run === run ? state.view : null, reopen };
}
