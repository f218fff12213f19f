import type { NodeValues } from '../api/types';
import { duration } from '../ui/duration';
import { StateIcon } from '../ui/Icon';
import { lookAt, type Moment } from '../view/moment';
import type { Thing } from '../view/model';
import { Section } from './Section';

/** The attempts of a thing, if there was more than one or one has failed. */
export function Attempts({ thing, moment, values }: { thing: Thing; moment: Moment; values: NodeValues }) {
  const attempts = values.attempts ?? [];
  if (attempts.length < 2 && !attempts.some((attempt) => attempt.error?.length)) return null;
  const look = lookAt(thing, moment.seq);
  return (
    <Section title="Attempts">
      {attempts.map(({ attempt, began, ended, error, retry_at: retryAt }, at) => {
        const failed = Boolean(error?.length);
        const over = ended !== null && ended !== undefined;
        const begin = began ?? ended;
        return (
          // A retry of the run counts its attempts from 1 again.
          <div className="att" key={at}>
            <StateIcon look={failed ? 'failed' : over ? look : 'running'} word />
            <span>{attempt}</span>
            <span className="m">{failed ? error!.join(': ') : over ? 'completed' : 'under way'}</span>
            <span className="dim">{begin === null || begin === undefined ? '' : duration((ended ?? moment.now) - begin)}</span>
            {over && retryAt !== null && retryAt !== undefined && <span className="back">waited {duration(retryAt - ended)}</span>}
          </div>
        );
      })}
    </Section>
  );
}
