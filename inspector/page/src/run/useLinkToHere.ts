import { useEffect, useRef } from 'react';
import { link, navigate } from '../shell/router';

/** What a link to a run says, and how many links were followed to it. */
export interface Visit {
  number: number;
  at: string | null;
  sel: string | null;
  open: string | null;
}

/** The address that the page itself has written last. */
let own = '';

/** The address always leads to what is shown. */
export function useLinkToHere(run: string, at: number | null, selected: string | null) {
  useEffect(() => {
    const timer = setTimeout(() => {
      own = link('runs', [run], { at: at === null ? null : String(at), sel: selected ?? '-' });
      navigate(own, true);
    }, 200);
    return () => clearTimeout(timer);
  }, [run, at, selected]);
}

/** The link that was followed. One to another moment of the same run counts as well, and not what the page writes itself. */
export function useVisit(query: URLSearchParams): Visit {
  const visit = useRef<Visit | null>(null);
  const hash = useRef('');
  if (visit.current === null || (hash.current !== location.hash && location.hash !== own)) {
    visit.current = { number: (visit.current?.number ?? 0) + 1, at: query.get('at'), sel: query.get('sel'), open: query.get('open') };
  }
  hash.current = location.hash;
  return visit.current;
}
