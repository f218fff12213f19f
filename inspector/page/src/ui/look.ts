import type { StateName } from '../api/types';

/** What a thing looks like: its state. A run has no other states. */
export type Look = StateName;

export const WORDS: Record<Look, string> = {
  not_reached: 'Not reached',
  queued: 'Queued',
  running: 'Running',
  waiting: 'Waiting',
  sleeping: 'Sleeping',
  collecting: 'Collecting',
  waits_to_retry: 'Waits to retry',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Cancelled',
  skipped: 'Skipped',
  started_over: 'Started over',
};

/** The most urgent first. */
const URGENCY: readonly Look[] = [
  'failed',
  'waiting',
  'waits_to_retry',
  'running',
  'collecting',
  'sleeping',
  'queued',
  'cancelled',
  'started_over',
  'completed',
  'skipped',
  'not_reached',
];

/** What a group of things looks like. */
export const mostUrgent = (looks: readonly Look[]): Look => URGENCY.find((look) => looks.includes(look)) ?? 'not_reached';
