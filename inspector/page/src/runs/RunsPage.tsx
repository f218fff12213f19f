import { useEffect, useRef, useState } from 'react';
import type { Counts, Server, Workflows } from '../api/types';
import { useConnection } from '../api/connection';
import { useResource } from '../api/useResource';
import { link, navigate } from '../shell/router';
import { useThrottled } from '../shell/throttle';
import { Blank } from '../ui/Blank';
import { StateIcon } from '../ui/Icon';
import { WORDS } from '../ui/look';
import { useNow } from '../ui/useNow';
import { filterOf, isFiltered, linkTo, parameters, STATUSES, type RunsFilter } from './filter';
import { RunTable } from './RunTable';
import { useRunList } from './useRunList';

interface Props {
  query: URLSearchParams;
  server: Server | null;
  clockOffset: number;
}

const RECOUNT = 2000;

export function RunsPage({ query, server, clockOffset }: Props) {
  const filter = filterOf(query);
  const now = useNow(1000) + clockOffset;
  const workflows = useResource<Workflows>(['workflows']);
  const counts = useResource<Counts>(['counts'], parameters({ ...filter, status: null }));
  const recount = useThrottled(counts.reload, RECOUNT);
  const list = useRunList(parameters(filter), recount);
  const total = counts.data ? (filter.status ? counts.data[filter.status] : counts.data.all) : null;
  return (
    <>
      <Bar filter={filter} counts={counts.data} workflows={workflows.data?.workflows.map((workflow) => workflow.name) ?? []} canStart={server?.read_only === false} />
      {list.error && !list.runs.length ? (
        <Unreadable message={list.error.message} onRetry={list.reload} />
      ) : list.runs.length ? (
        <>
          <RunTable runs={list.runs} now={now} onEnd={list.loadMore} />
          <Foot total={total ?? list.runs.length} />
        </>
      ) : list.loading ? (
        <Bones />
      ) : isFiltered(filter) ? (
        <Blank look="not_reached" title="No run is like this" actions={<a className="button" href={link('runs')}>Clear the filter</a>}>
          <p>None of the runs matches the filter.</p>
        </Blank>
      ) : (
        <Blank look="not_reached" title="No runs yet">
          <p>A run that this engine starts is here at once.</p>
          <pre className="mono">{'let run = engine.start::<briefing>(request).id("brief-1").await?;'}</pre>
        </Blank>
      )}
    </>
  );
}

interface BarProps {
  filter: RunsFilter;
  counts: Counts | null;
  workflows: string[];
  canStart: boolean;
}

function Bar({ filter, counts, workflows, canStart }: BarProps) {
  const go = (change: Partial<RunsFilter>) => navigate(linkTo({ ...filter, ...change }));
  // A workflow that is not registered here may still be filtered by.
  const known = filter.workflow && !workflows.includes(filter.workflow) ? [...workflows, filter.workflow] : workflows;
  return (
    <div className="bar">
      <h1>Runs</h1>
      <div className="seg" role="group" aria-label="Status">
        <button type="button" aria-pressed={filter.status === null} onClick={() => go({ status: null })}>
          All {counts && <span className="n">{counts.all}</span>}
        </button>
        {STATUSES.map((status) => (
          <button type="button" key={status} aria-pressed={filter.status === status} onClick={() => go({ status })}>
            <span className="st">
              <StateIcon look={status} />
              <span className="word">{WORDS[status]}</span>
            </span>
            {counts && <span className="n">{counts[status]}</span>}
          </button>
        ))}
      </div>
      <select className="workflow-filter" aria-label="Workflow" value={filter.workflow ?? ''} onChange={(event) => go({ workflow: event.target.value || null })}>
        <option value="">All workflows</option>
        {known.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <Search text={filter.text} onSearch={(text) => go({ text })} />
      {canStart && workflows.length > 0 && (
        <a className="button" href={link('workflows', [filter.workflow ?? workflows[0]!], { start: '1' })}>
          Start a run
        </a>
      )}
    </div>
  );
}

const TYPING = 300;

function Search({ text, onSearch }: { text: string; onSearch: (text: string) => void }) {
  const input = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState(text);
  const latest = useRef(onSearch);
  latest.current = onSearch;
  useEffect(() => setTyped(text), [text]);
  useEffect(() => {
    if (typed.trim() === text.trim()) return;
    const timer = setTimeout(() => latest.current(typed), TYPING);
    return () => clearTimeout(timer);
  }, [typed, text]);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const target = event.target instanceof Element ? event.target : document.body;
      if (event.key !== '/' || target.closest('input, textarea, select')) return;
      input.current?.focus();
      event.preventDefault();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, []);
  return (
    <div className="search">
      <input ref={input} type="search" placeholder="Id or tag: env:prod" aria-label="Search by the beginning of an id, or by tags" value={typed} onChange={(event) => setTyped(event.target.value)} />
      <kbd>/</kbd>
    </div>
  );
}

function Foot({ total }: { total: number }) {
  return (
    <div className="foot">
      <span>
        {total.toLocaleString('en')} {total === 1 ? 'run' : 'runs'}, newest first
      </span>
      <span>
        <kbd>j</kbd> <kbd>k</kbd> move
      </span>
      <span>
        <kbd>Enter</kbd> open
      </span>
      <span>
        <kbd>/</kbd> search
      </span>
    </div>
  );
}

function Unreadable({ message, onRetry }: { message: string; onRetry: () => void }) {
  const connection = useConnection();
  return (
    <Blank
      look="failed"
      title="The runs cannot be read"
      actions={
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      }
    >
      <p className="mono">{message}</p>
      <p className="dim">Runs that are under way continue; only this page cannot see them.{connection.state === 'lost' && ' It connects again by itself.'}</p>
    </Blank>
  );
}

function Bones() {
  return (
    <div className="table-wrap" aria-busy="true" aria-label="Loading">
      {Array.from({ length: 16 }, (_, row) => (
        <div className="runs-row bones" key={row}>
          {[72, 120 + ((row * 37) % 60), 90, 180 + ((row * 53) % 120), 110, 48, 40].map((width, cell) => (
            <span key={cell} className={cell > 4 ? 'num' : ''}>
              <span className="bone" style={{ width }} />
            </span>
          ))}
        </div>
      ))}
    </div>
  );
}
