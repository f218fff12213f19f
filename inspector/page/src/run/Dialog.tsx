import { useEffect, useId, useRef, useState, type FormEvent, type ReactNode } from 'react';
import { ApiError } from '../api/client';
import type { Run } from '../api/types';
import type { Moment } from '../view/moment';

/** What a dialog that changes a run is given. */
export interface DialogOfRun {
  run: Run;
  moment: Moment;
  selected: string | null;
  onClose: () => void;
  /** The run may have changed. */
  onDone: () => void;
}

interface DialogProps {
  title: string;
  action: string;
  look: 'primary' | 'danger';
  onClose: () => void;
  send: () => Promise<void>;
  /** Whether the problem is shown at its field; else it is shown below. */
  isAtField?: (problem: ApiError) => boolean;
  /** Whether what is entered cannot be sent. */
  isInvalid?: boolean;
  children: ReactNode;
}

/** Asks before something changes. It closes when that is done. */
export function Dialog({ title, action, look, onClose, send, isAtField, isInvalid, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const [refused, setRefused] = useState<string | null>(null);
  const [sending, setSending] = useState(false);
  useEffect(() => dialog.current?.showModal(), []);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setSending(true);
    setRefused(null);
    try {
      await send();
      onClose();
    } catch (error) {
      const isShown = error instanceof ApiError && isAtField?.(error);
      if (!isShown) setRefused(error instanceof Error ? error.message : String(error));
      setSending(false);
    }
  };
  return (
    <dialog ref={dialog} aria-labelledby={heading} onClose={onClose}>
      <form onSubmit={submit}>
        <h2 id={heading}>{title}</h2>
        <div className="bd">
          {children}
          {refused && (
            <p className="refused" role="alert">
              {refused}
            </p>
          )}
        </div>
        <footer>
          <button type="button" onClick={onClose}>
            Back
          </button>
          <button className={look} disabled={sending || isInvalid}>
            {action}
          </button>
        </footer>
      </form>
    </dialog>
  );
}
