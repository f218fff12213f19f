import { useEffect, useState } from 'react';
import type { AskedQuestion, Server } from '../api/types';
import { link, navigate, toQuestion } from '../shell/router';
import { Blank } from '../ui/Blank';
import { duration } from '../ui/duration';
import { StateIcon } from '../ui/Icon';
import { useNow } from '../ui/useNow';
import { QuestionPage } from './QuestionPage';
import type { QuestionList } from './useQuestions';

interface Props {
  parts: string[];
  list: QuestionList;
  server: Server | null;
  clockOffset: number;
}

const keyOf = ({ run, question }: AskedQuestion) => `${run}\n${question.id}`;

export function InboxPage({ parts: [run, question], list, server, clockOffset }: Props) {
  const now = useNow(1000) + clockOffset;
  const [answered, setAnswered] = useState<string | null>(null);
  const current = list.questions.find((asked) => asked.run === run && (question === undefined || asked.question.id === question)) ?? (run === undefined ? list.questions[0] : undefined);
  useEffect(() => {
    if (!answered) return;
    const timer = setTimeout(() => setAnswered(null), 4000);
    return () => clearTimeout(timer);
  }, [answered]);

  if (list.error && !list.questions.length) {
    return (
      <Blank
        isPage
        look="failed"
        title="The questions cannot be read"
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
  if (list.loading) return <div className="two" aria-busy="true" />;
  if (!list.questions.length) {
    return (
      <Blank isPage look="completed" title="No open questions" actions={<a className="button" href={link('runs')}>All runs</a>}>
        {answered && <p role="status">{answered}</p>}
        <p>A question that a node asks with ctx.ask(..) appears here, with a form made from the type of its answer.</p>
      </Blank>
    );
  }
  return (
    <div className="two">
      <nav className="side" aria-label="Questions">
        <div className="cap">
          {list.hasMore ? `More than ${list.questions.length}` : list.questions.length} open {list.questions.length === 1 ? 'question' : 'questions'}, longest first
        </div>
        {list.questions.map((asked) => (
          <QuestionLink key={keyOf(asked)} asked={asked} isCurrent={asked === current} now={now} />
        ))}
        {list.hasMore && (
          <button type="button" className="more-questions" onClick={list.loadMore}>
            Show more
          </button>
        )}
      </nav>
      <div className="page" tabIndex={-1}>
        {answered && (
          <p className="notice" role="status">
            {answered}
          </p>
        )}
        {current ? (
          <QuestionPage
            key={keyOf(current)}
            asked={current}
            now={now}
            readOnly={server?.read_only ?? true}
            onAnswered={(accepted) => {
              setAnswered(accepted ? 'The answer is recorded.' : 'The answer is recorded. The run may still reject it when it is resumed.');
              navigate(link('inbox'), true);
              list.reload();
            }}
          />
        ) : (
          <div className="in">
            <h1>This question is not open</h1>
            <p className="dim">It was answered, or its node does not wait for it any more.</p>
            {run !== undefined && (
              <p>
                <a className="link" href={link('runs', [run])}>
                  Look at the run
                </a>
              </p>
            )}
          </div>
        )}
      </div>
    </div>
  );
}

function QuestionLink({ asked, isCurrent, now }: { asked: AskedQuestion; isCurrent: boolean; now: number }) {
  const { run, workflow, question, asked: since } = asked;
  return (
    <a className="q" href={toQuestion(run, question.id)} aria-current={isCurrent ? 'true' : undefined}>
      <div className="a">
        <StateIcon look="waiting" />
        <b className="cut" title={question.prompt}>
          {question.prompt}
        </b>
        <span className="dim">{duration(now - since)}</span>
      </div>
      <div className="b2">
        <span className="cut">{workflow}</span>
        <span className="mono cut">{run}</span>
      </div>
    </a>
  );
}
