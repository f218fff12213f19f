import type { Run } from '../api/types';
import { StateIcon } from '../ui/Icon';
import { statusAt, timeOf, type Moment } from '../view/moment';
import { ErrorChain, JsonSection, Section } from './Section';
import { Messages } from './Messages';
import { useValues } from './useValues';

interface Props {
  run: Run;
  moment: Moment;
  onSelect: (path: string) => void;
}

/** The pane if nothing is selected. */
export function RunDetail({ run, moment, onSelect }: Props) {
  const { view, seq } = moment;
  const { data: values } = useValues(run.id, view.things[0] ?? null, moment);
  const failure = view.details.findLast((detail) => detail.type === 'run_failed' && detail.seq <= seq);
  const status = statusAt(moment);
  const said = view.details.flatMap((detail) =>
    detail.type === 'message' && detail.seq <= seq ? [{ seq: detail.seq, time: timeOf(view, detail.seq), text: detail.text }] : [],
  );
  return (
    <>
      <div className="d-head">
        <div className="t">
          <StateIcon look={status} />
          <h2>This run</h2>
        </div>
        <p className="doc">Select a node in the graph or a row below it.</p>
      </div>
      {status === 'failed' && failure?.type === 'run_failed' && (
        <Section title="Failure">
          <ErrorChain chain={[failure.message]} />
          <p>
            <button type="button" className="link mono" onClick={() => onSelect(failure.path)}>
              {failure.path}
            </button>
          </p>
        </Section>
      )}
      {values?.input && <JsonSection title="Input" value={values.input.value} />}
      {values?.output && <JsonSection title="Output" value={values.output.value} />}
      {run.awaited_signals.length > 0 && (
        <Section title="Waits for signals">
          <p className="mono">{run.awaited_signals.join(', ')}</p>
        </Section>
      )}
      <Messages messages={said.slice(-200)} begin={timeOf(view, 0)} />
    </>
  );
}
