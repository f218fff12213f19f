import { useEffect } from 'react';
import type { Server, Workflows } from '../api/types';
import { useResource } from '../api/useResource';
import { link, navigate, toWorkflow } from '../shell/router';
import { Blank } from '../ui/Blank';
import { WorkflowPage } from './WorkflowPage';

interface Props {
  name: string | undefined;
  query: URLSearchParams;
  server: Server | null;
  clockOffset: number;
}

export function WorkflowsPage({ name, query, server, clockOffset }: Props) {
  const list = useResource<Workflows>(['workflows']);
  const names = list.data?.workflows.map((workflow) => workflow.name) ?? [];
  const first = names[0];
  useEffect(() => {
    if (name === undefined && first !== undefined) navigate(toWorkflow(first), true);
  }, [name, first]);

  if (list.error && !list.data) {
    return (
      <Blank
        isPage
        look="failed"
        title="The workflows cannot be read"
        actions={
          <button type="button" onClick={list.reload}>
            Try again
          </button>
        }
      >
        <p className="mono">{list.error.message}</p>
      </Blank>
    );
  }
  if (!list.data) return <div className="two narrow" aria-busy="true" />;
  if (!names.length) {
    return (
      <Blank isPage look="not_reached" title="No workflow is registered here" actions={<a className="button" href={link('runs')}>All runs</a>}>
        <p>This server has a store and no code. Runs show the graph that is recorded with them.</p>
      </Blank>
    );
  }
  return (
    <div className="two narrow">
      <nav className="side wlist" aria-label="Workflows">
        <div className="cap">
          {names.length} {names.length === 1 ? 'workflow' : 'workflows'}
        </div>
        {names.map((each) => (
          <a key={each} href={toWorkflow(each)} aria-current={each === name ? 'true' : undefined}>
            <span className="cut" title={each}>
              {each}
            </span>
          </a>
        ))}
      </nav>
      {name !== undefined && <WorkflowPage key={name} name={name} start={query.has('start')} server={server} clockOffset={clockOffset} />}
    </div>
  );
}
