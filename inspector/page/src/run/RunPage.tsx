import { useEffect } from 'react';
import type { Graphs, Run, Server } from '../api/types';
import { useResource } from '../api/useResource';
import { Blank } from '../ui/Blank';
import { link } from '../shell/router';
import { useChanges } from '../shell/changes';
import { graphChanges } from '../view/model';
import { useRunView } from '../view/useRunView';
import { RunBody } from './RunBody';
import { useVisit } from './useLinkToHere';

interface Props {
  id: string;
  query: URLSearchParams;
  server: Server | null;
  clockOffset: number;
}

export function RunPage({ id, query, server, clockOffset }: Props) {
  const run = useResource<Run>(['runs', id]);
  const { view, reopen } = useRunView(id, run.error?.status !== 404);
  const graphs = useResource<Graphs>(['runs', id, 'graph']);
  const visit = useVisit(query);

  const { reload } = run;
  const status = view?.status;
  useEffect(() => {
    if (status && run.data && status !== run.data.status) reload();
  }, [status, run.data, reload]);
  const { reload: reloadGraphs } = graphs;
  const changes = view ? graphChanges(view) : 0;
  // After an upgrade the nodes of the view are numbered by another graph.
  useEffect(() => {
    if (changes > 0) reloadGraphs();
  }, [changes, reloadGraphs]);
  // A run that has ended may be retried, here or by another process.
  useChanges((changes) => {
    if (view && changes.some((change) => change.run === id && change.seq > view.seq)) {
      reload();
      reopen();
    }
  });

  if (run.error && !run.data) {
    const unknown = run.error.status === 404;
    return (
      <Blank
        isPage
        look="failed"
        title={unknown ? 'There is no run of this id' : 'The run cannot be read'}
        actions={
          <>
            <button type="button" onClick={reload}>
              Try again
            </button>
            <a className="button" href={link('runs')}>
              All runs
            </a>
          </>
        }
      >
        <p className="mono">{run.error.message}</p>
      </Blank>
    );
  }
  if (!run.data || !view || (graphs.loading && !graphs.data)) return <Loading id={id} />;
  return (
    <RunBody
      key={visit.number}
      run={run.data}
      graphs={graphs.data}
      view={view}
      server={server}
      clockOffset={clockOffset}
      start={visit}
      onChanged={() => {
        reload();
        reopen();
      }}
    />
  );
}

function Loading({ id }: { id: string }) {
  return (
    <div className="run-head" aria-busy="true">
      <div className="r1">
        <h1>
          <a className="crumb" href={link('runs')}>
            Runs
          </a>
          <span className="dim">/</span>
          <span className="cut">{id}</span>
        </h1>
        <span className="bone" style={{ width: 96 }} />
      </div>
      <div className="r2">
        <span className="bone" style={{ width: 240 }} />
      </div>
    </div>
  );
}
