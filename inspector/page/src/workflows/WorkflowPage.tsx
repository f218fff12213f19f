import { useRef, useState } from 'react';
import { getText } from '../api/client';
import type { Graphs, Runs, Server } from '../api/types';
import { useResource } from '../api/useResource';
import { titleOf } from '../forms/schema';
import { SchemaTable } from '../forms/SchemaTable';
import { fit } from '../graph/fit';
import { GraphPane } from '../graph/GraphPane';
import { isPort } from '../graph/model';
import { useChanges } from '../shell/changes';
import { link, toRun } from '../shell/router';
import { useThrottled } from '../shell/throttle';
import { Blank } from '../ui/Blank';
import { CopyButton } from '../ui/CopyButton';
import { age } from '../ui/duration';
import { StateIcon } from '../ui/Icon';
import { useNow } from '../ui/useNow';
import { useSize } from '../ui/useSize';
import { StartForm } from './StartForm';

interface Props {
  name: string;
  /** Whether the link asks to start a run. */
  start: boolean;
  server: Server | null;
  clockOffset: number;
}

export function WorkflowPage({ name, start, server, clockOffset }: Props) {
  const { data, error } = useResource<Graphs>(['workflows', name]);
  if (error && !data) {
    return (
      <Blank isPage look="failed" title={error.status === 404 ? 'There is no such workflow' : 'The workflow cannot be read'} actions={<a className="button" href={link('workflows')}>All workflows</a>}>
        <p>{error.message}</p>
      </Blank>
    );
  }
  if (!data) return <div className="page" aria-busy="true" />;
  const { graph } = data;
  return (
    <div className="page wide" tabIndex={-1}>
      <div className="in">
        <h1 className="cut" title={name}>
          {name}
        </h1>
        <Doc text={graph.doc} />
        <GraphCard graphs={data} />
        <div className="cols">
          <div>
            <SchemaCard title="Takes" schema={graph.input} />
            <SchemaCard title="Gives" schema={graph.output} />
            <LatestRuns name={name} clockOffset={clockOffset} />
          </div>
          {server?.read_only === false && <StartForm name={name} schema={graph.input} isAsked={start} />}
        </div>
        <NodeDocs graphs={data} />
      </div>
    </div>
  );
}

/** Paragraphs of a doc comment, as text. */
function Doc({ text }: { text: string }) {
  const paragraphs = text.trim().split(/\n\s*\n/).filter(Boolean);
  return (
    <div className="doc-text">
      {paragraphs.map((paragraph) => (
        <p key={paragraph}>{paragraph.replace(/\n/g, ' ')}</p>
      ))}
    </div>
  );
}

function GraphCard({ graphs }: { graphs: Graphs }) {
  const host = useRef<HTMLDivElement>(null);
  const { width } = useSize(host);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const { graph } = graphs;
  const nodes = graph.nodes.filter((node) => !isPort(node)).length;
  const loops = graph.loops.length;
  const fitted = width > 0 ? fit({ graphs, moment: null, whole: null, open, selected: null }, width, Infinity) : null;
  const toggle = (key: string) =>
    setOpen((old) => {
      const next = new Set(old);
      if (!next.delete(key)) next.add(key);
      return next;
    });
  return (
    <div className="card">
      <h2>
        Graph
        <span className="r">
          <span>
            {nodes} {nodes === 1 ? 'node' : 'nodes'}
            {loops > 0 && `, ${loops} ${loops === 1 ? 'loop' : 'loops'}`}
          </span>
          <CopyButton text={() => getText(['workflows', graph.name, 'pictures', 'mermaid'])}>Copy Mermaid</CopyButton>
        </span>
      </h2>
      <div ref={host}>{fitted && <GraphPane fitted={fitted} height={Math.ceil(fitted.h * fitted.scale)} selected={null} onSelect={null} onToggle={toggle} />}</div>
    </div>
  );
}

function SchemaCard({ title, schema }: { title: string; schema: unknown }) {
  return (
    <div className="card">
      <h2>
        {title}
        <span className="r mono">{titleOf(schema)}</span>
      </h2>
      <div className="bd fields">
        <SchemaTable schema={schema} />
      </div>
    </div>
  );
}

function LatestRuns({ name, clockOffset }: { name: string; clockOffset: number }) {
  const { data, reload } = useResource<Runs>(['runs'], { workflow: name, limit: 5 });
  const now = useNow(1000) + clockOffset;
  const again = useThrottled(reload, 2000);
  useChanges((changes) => changes.some((change) => change.workflow === name) && again());
  return (
    <div className="card">
      <h2>
        Latest runs
        <span className="r">
          <a className="link" href={link('runs', [], { workflow: name })}>
            all
          </a>
        </span>
      </h2>
      <div className="bd list fields">
        {data?.runs.map((run) => (
          <a key={run.id} href={toRun(run.id)}>
            <StateIcon look={run.status} word />
            <span className="mono cut">{run.id}</span>
            <span className="r">{age(now - run.created)} ago</span>
          </a>
        ))}
        {data && !data.runs.length && <p className="dim">None yet</p>}
      </div>
    </div>
  );
}

/** What the doc comments of the nodes say. */
function NodeDocs({ graphs }: { graphs: Graphs }) {
  const documented = [graphs.graph, ...graphs.nested].flatMap((graph) =>
    graph.nodes.filter((node) => node.doc).map((node) => ({ key: `${graph.name}/${node.name}`, name: graph === graphs.graph ? node.name : `${graph.name}/${node.name}`, doc: node.doc })),
  );
  if (!documented.length) return null;
  return (
    <div className="card">
      <h2>Nodes</h2>
      <div className="bd">
        <dl className="kv">
          {documented.map(({ key, name, doc }) => (
            <div key={key}>
              <dt className="mono">{name}</dt>
              <dd>{doc}</dd>
            </div>
          ))}
        </dl>
      </div>
    </div>
  );
}
