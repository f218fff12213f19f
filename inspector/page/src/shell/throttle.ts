import { useEffect, useMemo, useRef } from 'react';

/** Calls `action` at once, and then at most once in `every` milliseconds. */
export function useThrottled(action: () => void, every: number): () => void {
  const latest = useRef(action);
  latest.current = action;
  const throttled = useMemo(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let again = false;
    const run = () => {
      latest.current();
      timer = setTimeout(() => {
        timer = undefined;
        if (again) {
          again = false;
          run();
        }
      }, every);
    };
    const call = () => {
      if (timer) again = true;
      else run();
    };
    return { call, stop: () => clearTimeout(timer) };
  }, [every]);
  useEffect(() => throttled.stop, [throttled]);
  return throttled.call;
}
