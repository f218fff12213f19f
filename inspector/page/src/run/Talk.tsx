import { useEffect, useRef, useState } from 'react';
import type { Conversation, Run, Said } from '../api/types';
import { useResource } from '../api/useResource';
import { Json } from '../ui/Json';
import { duration } from '../ui/duration';
import type { Thing } from '../view/model';
import { leafOf, timeOf, type Moment } from '../view/moment';
import { lastSaid, speaker, talks } from '../view/talk';
import { Section } from './Section';

interface Props {
  run: Run;
  thing: Thing;
  moment: Moment;
  onSelect: (path: string) => void;
}

/** How much is shown at first. */
const MOST_SAID = 60;
const MOST_CHARS = 600;

/** What was said below an agent, or in a model call. */
export function Talk(props: Props) {
  const { thing, moment } = props;
  return talks(moment.view, thing, moment.seq) && <TalkOf key={thing.path} {...props} />;
}

function TalkOf({ run, thing, moment, onSelect }: Props) {
  const { view, seq, live } = moment;
  const last = lastSaid(view, thing, seq);
  const { data, error, reload } = useResource<Conversation>(['runs', run.id, 'conversation'], { path: thing.path, at: live ? undefined : last });
  const known = useRef(last);
  useEffect(() => {
    if (live && known.current !== last) reload();
    known.current = last;
  }, [live, last, reload]);
  const [all, setAll] = useState(false);
  const said = data?.said ?? [];
  const shown = all ? said : said.slice(-MOST_SAID);
  return (
    <Section title="Conversation" right={tokensOf(said)}>
      {error && <p className="dim">{error.message}</p>}
      {shown.length < said.length && (
        <button type="button" className="link" onClick={() => setAll(true)}>
          {said.length - shown.length} earlier
        </button>
      )}
      <ol className="talk">
        {shown.map((one, at) => (
          <Saying key={said.length - shown.length + at} said={one} here={thing.path} begin={timeOf(view, 0)} onSelect={onSelect} />
        ))}
      </ol>
    </Section>
  );
}

function tokensOf(said: readonly Said[]): string | undefined {
  const replies = said.flatMap((one) => (one.type === 'replied' ? [one.input_tokens + one.output_tokens] : []));
  return replies.length ? `${replies.reduce((sum, more) => sum + more, 0).toLocaleString('en')} tokens` : undefined;
}

function Saying({ said, here, begin, onSelect }: { said: Said; here: string; begin: number; onSelect: (path: string) => void }) {
  const { side, who } = speaker(said);
  return (
    <li className={`by-${side}`}>
      <div className="who">
        <b className="cut" title={who}>
          {who}
        </b>
        {said.type === 'replied' && (
          <span className="dim">
            {said.input_tokens.toLocaleString('en')} + {said.output_tokens.toLocaleString('en')} tokens
          </span>
        )}
        <span className="grow" />
        <span className="tm">+{duration(said.time - begin)}</span>
        {said.path !== here && (
          <button type="button" className="link" title={`${said.path}: its values as JSON`} onClick={() => onSelect(said.path)}>
            {leafOf(said.path)}
          </button>
        )}
      </div>
      <Words said={said} />
      {'cut' in said && said.cut && <p className="dim">This is its beginning; the JSON has the whole.</p>}
    </li>
  );
}

function Words({ said }: { said: Said }) {
  switch (said.type) {
    case 'asked':
      return <Text text={said.text} />;
    case 'replied':
      return (
        <>
          {said.text && <Text text={said.text} />}
          {(said.calls ?? []).map((call, at) => (
            <div className="call" key={at}>
              <span className="dim">calls</span> <span className="mono">{call.tool}</span>
              <Value value={call.arguments} />
              {call.cut && <p className="dim">This is its beginning; the JSON has the whole.</p>}
            </div>
          ))}
          {said.cut_off && <p className="cut-off">Cut off at the limit of tokens.</p>}
        </>
      );
    case 'returned':
      return <Value value={said.output} />;
    case 'refused':
      return <Text text={said.why} />;
    case 'not_called':
      return (
        <>
          <p className="dim">{said.begun ? 'Was stopped, and has no result.' : 'Was not called.'}</p>
          {said.why && <Text text={said.why} />}
        </>
      );
    case 'failed':
      return (
        <>
          <p className="dim">
            Attempt {said.attempt} failed{said.again ? ', another follows' : ''}
          </p>
          <Text text={said.message} />
        </>
      );
    case 'person_asked':
      return <Text text={said.prompt} />;
    case 'person_answered':
      return <Value value={said.answer} />;
  }
}

function Value({ value }: { value: unknown }) {
  return typeof value === 'string' ? <Text text={value} /> : <Json value={value} />;
}

function Text({ text }: { text: string }) {
  const [all, setAll] = useState(false);
  const isCut = !all && text.length > MOST_CHARS;
  return (
    <div className="words">
      {isCut ? text.slice(0, MOST_CHARS) : text}
      {isCut && (
        <button type="button" className="more" onClick={() => setAll(true)}>
          … {text.length - MOST_CHARS} more characters
        </button>
      )}
    </div>
  );
}
