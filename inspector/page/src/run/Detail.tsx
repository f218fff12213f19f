import { toJson } from '../api/json';
import type { GraphNode, Graphs, NodeValues, Run } from '../api/types';
import { StateIcon, Sign } from '../ui/Icon';
import { WORDS } from '../ui/look';
import { duration, timeOfDay } from '../ui/duration';
import { Json } from '../ui/Json';
import { toQuestion } from '../shell/router';
import { awaitedSignals } from '../view/awaited';
import type { RunView, Thing } from '../view/model';
import { leafOf, lookAt, spanOf, lastMove, timeOf, type Moment } from '../view/moment';
import { nodeOfThing, turnsOf, type CalledGraphs } from '../view/place';
import { talks } from '../view/talk';
import { Attempts } from './Attempts';
import { InsideList, ItemChips } from './Inside';
import { Messages, Notes } from './Messages';
import { ErrorChain, JsonSection, Section } from './Section';
import { Talk } from './Talk';
import { useValues } from './useValues';

interface Props {
  run: Run;
  graphs: Graphs | null;
  called: CalledGraphs;
  moment: Moment;
  thing: Thing;
  /** Whether signals may be sent. */
  canSignal: boolean;
  onSelect: (path: string | null) => void;
  onSignal: () => void;
}

/** The pane of the selected thing. What it does not have is left out. */
export function Detail({ run, graphs, called, moment, thing, canSignal, onSelect, onSignal }: Props) {
  const { data: values, error, loading } = useValues(run.id, thing, moment);
  const { view, seq } = moment;
  const look = lookAt(thing, seq);
  const node = graphs && nodeOfThing(graphs, called, view, thing);
  return (
    <>
      <Head thing={thing} node={node} moment={moment} onSelect={onSelect} />
      {look === 'not_reached' && (
        <Section title="State">
          <p className="dim">{thing.moves.length && thing.moves[0]!.seq > seq ? 'Has not begun at this event.' : 'The run has not come here.'}</p>
        </Section>
      )}
      {error && (
        <Section title="Values">
          <p className="dim">{error.message}</p>
        </Section>
      )}
      {values && look === 'failed' && <Failure values={values} />}
      {look === 'waiting' && <OpenQuestions run={run} moment={moment} thing={thing} />}
      {look === 'waiting' && <OpenWaits view={view} thing={thing} canSignal={canSignal} onSignal={onSignal} />}
      {look !== 'not_reached' && <Summary thing={thing} moment={moment} values={values} begin={timeOf(view, 0)} />}
      {values && <Attempts thing={thing} moment={moment} values={values} />}
      <ItemChips thing={thing} moment={moment} onSelect={onSelect} />
      {values?.question && look !== 'waiting' && (
        <Section title="Question">
          <p>{values.question.prompt}</p>
        </Section>
      )}
      {values?.question && values.question.payload !== null && <JsonSection title="Shown with it" value={values.question.payload} />}
      <Talk run={run} thing={thing} moment={moment} onSelect={onSelect} />
      <InsideList thing={thing} moment={moment} onSelect={onSelect} />
      {values && <Messages messages={values.messages ?? []} begin={timeOf(view, 0)} />}
      {thing.progress && look === 'running' && moment.live && <JsonSection title="Progress" value={thing.progress.data} />}
      {values?.input && <JsonSection title="Input" value={values.input.value} />}
      {values?.input_unknown && look !== 'not_reached' && (
        <Section title="Input">
          <p className="dim">{values.input_unknown}</p>
        </Section>
      )}
      {values?.output && <Output thing={thing} moment={moment} value={values.output.value} />}
      {values && <Notes notes={values.notes ?? []} begin={timeOf(view, 0)} />}
      {values?.state?.length ? <Writes writes={values.state} /> : null}
      {loading && !values && (
        <div className="sec" aria-busy="true">
          <span className="bone" style={{ width: '60%' }} />
        </div>
      )}
    </>
  );
}

/** The reply of a model is shown as what was said. */
function Output({ thing, moment, value }: { thing: Thing; moment: Moment; value: unknown }) {
  if (talks(moment.view, thing, moment.seq) !== 'model') return <JsonSection title={thing.kind === 'question' ? 'Answer' : 'Output'} value={value} />;
  return (
    <details className="sec">
      <summary>Reply as JSON</summary>
      <Json value={value} />
    </details>
  );
}

const KIND_WORDS: Record<Thing['kind'], string> = {
  run: 'run',
  node: 'node',
  workflow: 'workflow',
  each: 'for each item',
  item: 'item',
  child: 'dynamic child',
  step: 'dynamic step',
  question: 'question',
  timer: 'timer',
  wait: 'waits for a signal',
};

function Head({ thing, node, moment, onSelect }: { thing: Thing; node: GraphNode | null; moment: Moment; onSelect: Props['onSelect'] }) {
  const { view, seq } = moment;
  const turns = turnsOf(view, thing).filter((turn) => lookAt(turn, seq) !== 'not_reached' || turn === thing);
  const kind = thing.item >= 0 ? 'item' : KIND_WORDS[thing.kind];
  return (
    <div className="d-head">
      <div className="t">
        <StateIcon look={lookAt(thing, seq)} />
        <h2 className="cut" title={leafOf(thing.path)}>
          {leafOf(thing.path)}
        </h2>
        <span className="tag">{kind}</span>
        {node?.pool && (
          <span className="tag" title="What executes its attempts">
            pool {node.pool}
          </span>
        )}
        <span className="grow" />
        <button type="button" className="ghost icon" aria-label="Select nothing" title="Select nothing (Esc)" onClick={() => onSelect(null)}>
          <Sign name="close" />
        </button>
      </div>
      <div className="p mono cut" title={thing.path}>
        {thing.path}
      </div>
      {node?.doc && <p className="doc">{node.doc}</p>}
      {turns.length > 1 && (
        <div className="turns" role="group" aria-label="Turn">
          {turns.map((turn, at) => (
            <button type="button" key={turn.id} aria-pressed={turn === thing} onClick={() => onSelect(turn.path)}>
              turn {turn.turn || at + 1}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

function Failure({ values }: { values: NodeValues }) {
  const last = values.attempts?.at(-1);
  if (!last?.error?.length) return null;
  return (
    <Section title="Error">
      <ErrorChain chain={last.error} />
      {last.error_value && <Json value={last.error_value.value} />}
    </Section>
  );
}

function OpenQuestions({ run, moment, thing }: { run: Run; moment: Moment; thing: Thing }) {
  const questions = questionsOf(moment.view, thing).filter((question) => lookAt(question, moment.seq) === 'waiting');
  return (
    <>
      {questions.map((question) => {
        const asked = question.details.find((detail) => detail.type === 'asked');
        const since = lastMove(question, moment.seq);
        return (
          <Section title="Question" key={question.id}>
            <p className="prompt">{asked?.type === 'asked' ? asked.prompt : leafOf(question.path)}</p>
            <p className="dim">Open for {since ? duration(moment.now - timeOf(moment.view, since.seq)) : ''}</p>
            <a className="button" href={toQuestion(run.id, question.path)}>
              Answer in the inbox
            </a>
          </Section>
        );
      })}
    </>
  );
}

function questionsOf(view: RunView, thing: Thing): Thing[] {
  if (thing.kind === 'question') return [thing];
  return thing.inside.flatMap((id) => questionsOf(view, view.things[id]!));
}

function OpenWaits({ view, thing, canSignal, onSignal }: { view: RunView; thing: Thing; canSignal: boolean; onSignal: () => void }) {
  const here = awaitedSignals(view, thing.path).filter(({ path }) => path === thing.path || path.startsWith(`${thing.path}/`));
  if (!here.length) return null;
  return (
    <Section title="Waits for a signal">
      <p className="mono">{here.map((awaited) => awaited.signal).join(', ')}</p>
      {canSignal && (
        <button type="button" onClick={onSignal}>
          Send a signal…
        </button>
      )}
    </Section>
  );
}

function Summary({ thing, moment, values, begin }: { thing: Thing; moment: Moment; values: NodeValues | null; begin: number }) {
  const look = lookAt(thing, moment.seq);
  const span = spanOf(thing, moment);
  return (
    <Section title="Summary">
      <dl className="facts">
        <dt>State</dt>
        <dd className={`s-${look}`}>{WORDS[look]}</dd>
        {values?.output?.label && (
          <>
            <dt>Took the arm</dt>
            <dd className="mono">{values.output.label}</dd>
          </>
        )}
        {values?.output?.by && (
          <>
            <dt>Answered by</dt>
            <dd>
              {values.output.by}
              {values.output.comment && <span className="dim"> {values.output.comment}</span>}
            </dd>
          </>
        )}
        {span && (
          <>
            <dt>Started</dt>
            <dd>
              +{duration(span.start - begin)} <span className="dim">{timeOfDay(span.start)}</span>
            </dd>
            <dt>Took</dt>
            <dd>{span.end === null ? `${duration(moment.now - span.start)} so far` : duration(span.end - span.start)}</dd>
          </>
        )}
      </dl>
    </Section>
  );
}

function Writes({ writes }: { writes: readonly unknown[] }) {
  return (
    <Section title="State writes">
      <table className="writes mono">
        <tbody>
          {writes.map((write, at) => {
            const { key, op, value } = (typeof write === 'object' && write !== null ? write : {}) as { key?: unknown; op?: unknown; value?: unknown };
            return (
              <tr key={at}>
                <td>{typeof key === 'string' ? key : ''}</td>
                <td>{typeof op === 'string' ? op : ''}</td>
                <td>{toJson(key === undefined ? write : value)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Section>
  );
}
