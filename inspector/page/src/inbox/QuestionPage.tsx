import { useState, type FormEvent } from 'react';
import { ApiError, post } from '../api/client';
import type { Answered, AskedQuestion, Graphs } from '../api/types';
import { useResource } from '../api/useResource';
import { titleOf } from '../forms/schema';
import { firstValue } from '../forms/value';
import { ValueField } from '../forms/ValueField';
import { nodeOfPath } from '../graph/model';
import { link, toRun } from '../shell/router';
import { age, duration } from '../ui/duration';
import { Tags } from '../ui/Tags';
import { Payload } from './Payload';

interface Props {
  asked: AskedQuestion;
  now: number;
  readOnly: boolean;
  onAnswered: (accepted: boolean) => void;
}

export function QuestionPage({ asked, now, readOnly, onAnswered }: Props) {
  const { run, question, tags } = asked;
  const graphs = useResource<Graphs>(['runs', run, 'graph']).data;
  const doc = graphs && nodeOfPath(graphs, question.path)?.doc;
  return (
    <div className="in">
      <h1>{question.prompt}</h1>
      <div className="sub">
        <a className="mono" href={link('runs', [run], { sel: question.path })}>
          {run}
        </a>
        <span className="mono dim">{question.path}</span>
        <span>asked {age(now - asked.asked)} ago</span>
        {question.until && <span>waits for another {duration(question.until - now)}</span>}
        <span>
          <Tags tags={tags} />
        </span>
      </div>
      {doc && <p className="doc-text">{doc}</p>}
      {question.payload !== null && question.payload !== undefined && (
        <div className="card">
          <h2>What there is to see</h2>
          <div className="bd">
            <Payload value={question.payload} />
          </div>
        </div>
      )}
      {readOnly ? <p className="notice">This server is read-only: questions are answered elsewhere.</p> : <AnswerForm asked={asked} onAnswered={onAnswered} />}
    </div>
  );
}

function AnswerForm({ asked: { run, question }, onAnswered }: { asked: AskedQuestion; onAnswered: (accepted: boolean) => void }) {
  const { schema } = question;
  const [state, setState] = useState(() => firstValue(schema));
  const [refused, setRefused] = useState<ApiError | null>(null);
  const [by, setBy] = useState('');
  const [sending, setSending] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setSending(true);
    setRefused(null);
    try {
      const answer = state.value === undefined ? null : state.value;
      const { accepted } = await post<Answered>(['runs', run, 'answers', question.id], { answer, ...(by.trim() ? { by: by.trim() } : {}) });
      onAnswered(accepted);
    } catch (error) {
      setRefused(error instanceof ApiError ? error : new ApiError({ status: 0, code: 'unknown', detail: String(error) }));
      setSending(false);
    }
  };
  return (
    <form className="card" onSubmit={submit}>
      <ValueField
        schema={schema}
        value={state.value}
        refused={refused}
        onChange={setState}
        className="bd fields"
        heading={(change) => (
          <h2>
            Your answer
            <span className="r">
              <span>{titleOf(schema)}</span>
              {change}
            </span>
          </h2>
        )}
      >
        <div className="field apart">
          <label htmlFor="answer-by">
            Your name <span className="opt">optional</span>
          </label>
          <div>
            <input id="answer-by" type="text" value={by} autoComplete="name" onChange={(event) => setBy(event.target.value)} />
          </div>
          <div className="help">It is recorded with the answer.</div>
        </div>
      </ValueField>
      {refused && (
        <p className="refused" role="alert">
          {refused.message}
        </p>
      )}
      <div className="form-foot">
        <button className="primary" disabled={sending || state.invalid !== null}>
          Answer
        </button>
        <a className="button" href={toRun(run)}>
          Look at the run
        </a>
        <span className="dim">The run continues at once; an answer that does not fit is refused</span>
      </div>
    </form>
  );
}
