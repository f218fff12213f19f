import type { ReactElement } from 'react';
import type { Look } from './look';

const line = { fill: 'none', stroke: 'currentColor', strokeLinecap: 'round', strokeLinejoin: 'round' } as const;
const ground = { fill: 'none', stroke: 'var(--surface)', strokeLinecap: 'round', strokeLinejoin: 'round' } as const;

/** Each state has a shape of its own, so that colour is never the only difference. */
export const STATE_SHAPES: Record<Look, ReactElement> = {
  completed: (
    <>
      <circle cx="8" cy="8" r="7" fill="currentColor" />
      <path d="m4.8 8.3 2.2 2.2 4.2-4.6" {...ground} strokeWidth="1.6" />
    </>
  ),
  running: (
    <>
      <circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" strokeOpacity=".25" strokeWidth="2" />
      <path className="spin" d="M8 2a6 6 0 0 1 6 6" {...line} strokeWidth="2" />
    </>
  ),
  waits_to_retry: (
    <>
      <circle cx="8" cy="8" r="6.2" {...line} strokeWidth="1.6" />
      <path d="M8 4.6V8l2.4 1.6" {...line} strokeWidth="1.6" />
    </>
  ),
  failed: (
    <>
      <rect x="1.5" y="1.5" width="13" height="13" rx="2.5" fill="currentColor" />
      <path d="m5.2 5.2 5.6 5.6m0-5.6-5.6 5.6" {...ground} strokeWidth="1.7" />
    </>
  ),
  waiting: (
    <>
      <path d="m8 .8 7.2 7.2L8 15.2.8 8z" fill="currentColor" />
      <path d="M6.3 6.4c.1-1 .8-1.6 1.7-1.6s1.7.6 1.7 1.5c0 1.2-1.7 1.3-1.7 2.6" {...ground} strokeWidth="1.4" />
      <circle cx="8" cy="11.1" r=".95" fill="var(--surface)" />
    </>
  ),
  sleeping: (
    <path d="M13.2 9.8A5.9 5.9 0 0 1 6.2 2.8a5.9 5.9 0 1 0 7 7z" {...line} strokeWidth="1.6" />
  ),
  collecting: (
    <>
      <path d="M13.7 6.2a6 6 0 1 1-11.4 0" {...line} strokeWidth="1.6" />
      <path d="M8 1.8v6.4M5.6 6 8 8.4 10.4 6" {...line} strokeWidth="1.6" />
    </>
  ),
  cancelled: (
    <>
      <circle cx="8" cy="8" r="6.2" {...line} strokeWidth="1.6" />
      <path d="m3.9 12.1 8.2-8.2" {...line} strokeWidth="1.6" />
    </>
  ),
  skipped: (
    <>
      <circle cx="8" cy="8" r="6.2" fill="none" stroke="currentColor" strokeWidth="1.4" strokeDasharray="2 2.2" />
      <path d="M5 8h6" {...line} strokeWidth="1.6" />
    </>
  ),
  started_over: (
    <>
      <path d="M13.7 6.2a6 6 0 1 0 .2 3" {...line} strokeWidth="1.6" />
      <path d="M14.4 2.6 13.7 6.3 10.1 5.6" {...line} strokeWidth="1.6" />
    </>
  ),
  not_reached: <circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" strokeWidth="1.4" />,
  queued: <circle cx="8" cy="8" r="6" {...line} strokeWidth="1.4" strokeDasharray="1 2.8" />,
};

const solid = { fill: 'currentColor', stroke: 'currentColor', strokeLinejoin: 'round' } as const;

export const SIGNS = {
  sun: (
    <>
      <circle cx="8" cy="8" r="3" {...line} strokeWidth="1.5" />
      <path d="M8 1.5V3m0 10v1.5M1.5 8H3m10 0h1.5M3.4 3.4l1.1 1.1m7 7 1.1 1.1m0-9.2-1.1 1.1m-7 7-1.1 1.1" {...line} strokeWidth="1.5" />
    </>
  ),
  first: <path d="M4 3v10M13 3 6.5 8l6.5 5z" {...solid} strokeWidth="1.3" />,
  previous: <path d="M11.5 3 5 8l6.5 5z" {...solid} />,
  play: <path d="M4.5 3 12.5 8l-8 5z" {...solid} />,
  pause: <path d="M5 3v10M11 3v10" stroke="currentColor" strokeWidth="2.6" />,
  next: <path d="M4.5 3 11 8l-6.5 5z" {...solid} />,
  last: <path d="M12 3v10M3 3l6.5 5L3 13z" {...solid} strokeWidth="1.3" />,
  down: <path d="m4 6 4 4 4-4" {...line} strokeWidth="2" />,
  right: <path d="m6 4 4 4-4 4" {...line} strokeWidth="2" />,
  clock: (
    <>
      <circle cx="8" cy="8" r="6.2" {...line} strokeWidth="1.6" />
      <path d="M8 4.6V8l2.4 1.6" {...line} strokeWidth="1.6" />
    </>
  ),
  close: <path d="m4 4 8 8m0-8-8 8" {...line} strokeWidth="1.5" />,
  plus: <path d="M8 3.5v9M3.5 8h9" {...line} strokeWidth="1.5" />,
  minus: <path d="M3.5 8h9" {...line} strokeWidth="1.5" />,
} satisfies Record<string, ReactElement>;
