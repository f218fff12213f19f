import type { Query } from '../api/client';
import type { Status } from '../api/types';
import { link } from '../shell/router';

export interface RunsFilter {
  status: Status | null;
  workflow: string | null;
  /** What is searched for: the beginning of an id, and tags as `env:prod`. */
  text: string;
}

const STATUSES: readonly Status[] = ['running', 'waiting', 'sleeping', 'failed', 'completed', 'cancelled', 'started_over'];
export { STATUSES };

export function filterOf(query: URLSearchParams): RunsFilter {
  const status = query.get('status');
  return { status: STATUSES.find((known) => known === status) ?? null, workflow: query.get('workflow'), text: query.get('q') ?? '' };
}

export const linkTo = ({ status, workflow, text }: RunsFilter): string => link('runs', [], { status, workflow, q: text.trim() });

/** The parameters of a request. Words with `:` or `=` are tags, the last other one is the beginning of an id. */
export function parameters({ status, workflow, text }: RunsFilter): Query {
  const words = text.trim().split(/\s+/).filter(Boolean);
  const tags = words.filter((word) => /^[^:=]+[:=]/.test(word)).map((word) => word.replace(/[:=]/, '='));
  const id = words.filter((word) => !/^[^:=]+[:=]/.test(word)).at(-1);
  return { status, workflow, tag: tags, id_prefix: id };
}

export const isFiltered = ({ status, workflow, text }: RunsFilter): boolean => status !== null || workflow !== null || text.trim() !== '';
