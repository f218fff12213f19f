import { useEffect, useRef } from 'react';
import { useConnection } from '../api/connection';
import type { Server } from '../api/types';
import { useResource } from '../api/useResource';
import { InboxPage } from '../inbox/InboxPage';
import { useQuestions } from '../inbox/useQuestions';
import { RunPage } from '../run/RunPage';
import { RunsPage } from '../runs/RunsPage';
import { Sign } from '../ui/Icon';
import { useNow } from '../ui/useNow';
import { visible } from '../ui/visible';
import { WorkflowsPage } from '../workflows/WorkflowsPage';
import { link, parsePlace, useHash } from './router';
import { useTheme } from './theme';

const TITLES: Record<string, string> = { runs: 'Runs', inbox: 'Inbox', workflows: 'Workflows' };

export function App() {
  const { page, parts, query } = parsePlace(useHash());
  const toggleTheme = useTheme();
  const server = useResource<Server>(['server']).data;
  const clockOffset = useClockOffset(server);
  const questions = useQuestions();
  useThemeKey(toggleTheme);
  const title = TITLES[page] ?? 'Runs';
  const id = parts[0];
  useEffect(() => {
    document.title = visible([id, title, 'graphweft'].filter(Boolean).join(' · '));
  }, [id, title]);
  const shared = { query, server, clockOffset };
  return (
    <>
      <a
        className="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById('main')?.focus();
        }}
      >
        Skip to content
      </a>
      <header className="top">
        <a className="mark" href={link('runs')} aria-label="graphweft, all runs">
          <svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true">
            <path d="M2 5h4c4 0 2 8 6 8h4M2 13h4c1.4 0 2-.9 2.5-2M10 7c.5-1.1 1.1-2 2.5-2H16" fill="none" stroke="currentColor" strokeWidth="1.75" strokeLinecap="round" />
          </svg>
          <span>graphweft</span>
        </a>
        <nav aria-label="Pages">
          {Object.entries(TITLES).map(([name, text]) => (
            <a key={name} href={link(name)} aria-current={name === page ? 'page' : undefined}>
              {text}
              {name === 'inbox' && questions.questions.length > 0 && (
                <span className="count">
                  {questions.questions.length}
                  {questions.hasMore && '+'}
                </span>
              )}
            </a>
          ))}
        </nav>
        <div className="top-right">
          {server?.read_only && <span className="tag">read-only</span>}
          <ConnectionSign />
          <button type="button" className="ghost icon" aria-label="Switch between light and dark" title="Light or dark (t)" onClick={toggleTheme}>
            <Sign name="sun" />
          </button>
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        {page === 'inbox' ? (
          <InboxPage parts={parts} list={questions} server={server} clockOffset={clockOffset} />
        ) : page === 'workflows' ? (
          <WorkflowsPage name={id} {...shared} />
        ) : id !== undefined ? (
          <RunPage key={id} id={id} {...shared} />
        ) : (
          <RunsPage {...shared} />
        )}
      </main>
    </>
  );
}

/** Whether events arrive, and when the page tries again. */
function ConnectionSign() {
  const connection = useConnection();
  const now = useNow(connection.state === 'lost' ? 500 : 0);
  const text = connection.state === 'live' ? 'live' : connection.state === 'connecting' ? 'connecting' : 'not connected';
  const wait = connection.state === 'lost' ? Math.ceil((connection.retryAt - now) / 1000) : 0;
  return (
    <span className={`conn ${connection.state === 'lost' ? 'off' : ''}`} role="status" title="Events arrive as they are recorded">
      <svg width="8" height="8" aria-hidden="true">
        <circle cx="4" cy="4" r="3" />
      </svg>
      {text}
      {wait > 0 && <span className="dim" aria-hidden="true">again in {wait} s</span>}
    </span>
  );
}

/** By how much the clock of the server is ahead. */
function useClockOffset(server: Server | null): number {
  const known = useRef<{ server: Server | null; offset: number }>({ server: null, offset: 0 });
  if (server && known.current.server !== server) known.current = { server, offset: server.now - Date.now() };
  // Differences of less than a second come from the way, and not from the clocks.
  return Math.abs(known.current.offset) < 1000 ? 0 : known.current.offset;
}

function useThemeKey(toggle: () => void) {
  const latest = useRef(toggle);
  latest.current = toggle;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const target = event.target instanceof Element ? event.target : document.body;
      if (event.key === 't' && !event.ctrlKey && !event.metaKey && !event.altKey && !target.closest('input, textarea, select, dialog')) latest.current();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, []);
}
