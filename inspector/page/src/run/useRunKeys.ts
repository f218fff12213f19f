import { useEffect, useRef } from 'react';
import type { Playhead } from './usePlayhead';

interface Keys {
  playhead: Playhead;
  onDeselect: () => void;
  onRows: () => void;
  enabled: boolean;
}

const TYPES_INTO = 'input, textarea, select, [contenteditable]';
/** Where arrows move something else. */
const OWN_ARROWS = '.row, .n';

/** ← → Home End: event; space: replay; ↑ ↓ j k: rows; Esc: select nothing. */
export function useRunKeys(keys: Keys) {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const { playhead, onDeselect, onRows, enabled } = latest.current;
      const target = event.target instanceof Element ? event.target : document.body;
      if (!enabled || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || target.closest(TYPES_INTO)) return;
      const { seq } = playhead.moment;
      const isControl = target.closest('button, a') !== null;
      if (event.key === 'Escape') onDeselect();
      else if (event.key === 'Home') playhead.go(0);
      else if (event.key === 'End') playhead.go('last');
      else if (event.key === 'ArrowLeft' && !target.closest(OWN_ARROWS)) playhead.go(seq - 1);
      else if (event.key === 'ArrowRight' && !target.closest(OWN_ARROWS)) playhead.go(seq + 1);
      else if (event.key === ' ' && !isControl && !target.closest(OWN_ARROWS)) playhead.play();
      else if (['ArrowDown', 'ArrowUp', 'j', 'k'].includes(event.key) && !target.closest('.detail')) onRows();
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, []);
}
