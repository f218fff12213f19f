import { setConnection } from './connection';
import { parseResponse } from './json';

export interface StreamOptions<T> {
  /** The address, with the cursor of the last message. */
  address: (cursor: string | null) => string;
  /** Messages that have come since the last call, at most ten times a second. */
  onMessages: (messages: T[]) => void;
  /** The server has nothing more to send. */
  onEnd?: () => void;
}

const FRAME = 100;
const FIRST_RETRY = 500;
const LAST_RETRY = 8000;

/**
 * A stream of server-sent events that opens again after a loss, from the last message on. It is closed while the page is
 * hidden, as a browser opens few connections to one server.
 */
export function openStream<T>({ address, onMessages, onEnd }: StreamOptions<T>): () => void {
  let source: EventSource | null = null;
  let cursor: string | null = null;
  let waiting: T[] = [];
  let isFirst = true;
  let hasEnded = false;
  let retryAfter = FIRST_RETRY;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let frame: ReturnType<typeof setTimeout> | undefined;

  const deliver = () => {
    frame = undefined;
    const messages = waiting;
    waiting = [];
    if (messages.length) onMessages(messages);
  };
  const close = () => {
    clearTimeout(retry);
    source?.close();
    source = null;
  };
  const open = () => {
    close();
    if (document.hidden || hasEnded) return;
    const current = new EventSource(address(cursor));
    source = current;
    current.onopen = () => {
      retryAfter = FIRST_RETRY;
      setConnection({ state: 'live' });
    };
    current.onmessage = (message: MessageEvent<string>) => {
      if (message.lastEventId) cursor = message.lastEventId;
      waiting.push(parseResponse(message.data) as T);
      // The first ones are shown at once.
      frame ??= setTimeout(deliver, isFirst ? 0 : FRAME);
      isFirst = false;
    };
    current.addEventListener('end', () => {
      hasEnded = true;
      close();
      onEnd?.();
    });
    current.onerror = () => {
      // The server is there, and refuses: the cursor is too old, or there is no such run. Begin anew.
      const isRefused = current.readyState === EventSource.CLOSED;
      close();
      if (isRefused) cursor = null;
      else setConnection({ state: 'lost', retryAt: Date.now() + retryAfter });
      retry = setTimeout(open, retryAfter);
      retryAfter = Math.min(LAST_RETRY, retryAfter * 2);
    };
  };
  const onVisibility = () => {
    if (document.hidden) close();
    else if (!source) {
      retryAfter = FIRST_RETRY;
      open();
    }
  };
  document.addEventListener('visibilitychange', onVisibility);
  open();
  return () => {
    document.removeEventListener('visibilitychange', onVisibility);
    clearTimeout(frame);
    close();
  };
}
