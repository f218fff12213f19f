import { useCallback, type MouseEvent } from 'react';

/**
 * Marks everything that shows the same thing (`data-hover`) while the pointer is on one of them. It sets the class itself, so
 * that moving the pointer renders nothing.
 */
export function useHoverLink() {
  const mark = useCallback((event: MouseEvent) => {
    const host = event.currentTarget;
    const key = (event.target as Element).closest<HTMLElement>('[data-hover]')?.dataset.hover;
    for (const element of host.querySelectorAll<HTMLElement>('[data-hover]')) {
      element.classList.toggle('hover', event.type !== 'mouseleave' && key !== undefined && element.dataset.hover === key);
    }
  }, []);
  return { onMouseOver: mark, onMouseLeave: mark };
}
