import { useId, useState } from 'react';
import type { ApiError } from '../api/client';
import { parseTyped, toJson } from '../api/json';
import type { ValueState } from './value';

interface Props {
  value: unknown;
  refused: ApiError | null;
  onChange: (state: ValueState) => void;
}

export function JsonEditor({ value, refused, onChange }: Props) {
  const id = useId();
  const [text, setText] = useState(() => toJson(value, 2) ?? '');
  const [invalid, setInvalid] = useState<string | null>(null);
  const write = (next: string) => {
    setText(next);
    const parsed = parse(next);
    setInvalid(parsed.invalid);
    onChange(parsed);
  };
  const problem = invalid ?? (refused ? `${refused.field && refused.field !== '.' ? `${refused.field}: ` : ''}${refused.message}` : null);
  return (
    <div className="json-editor">
      <textarea
        id={id}
        className="mono"
        rows={Math.min(20, Math.max(6, text.split('\n').length + 1))}
        spellCheck={false}
        aria-label="JSON"
        aria-invalid={problem !== null}
        value={text}
        onChange={(event) => write(event.target.value)}
      />
      {problem && (
        <div className="bad" role="alert">
          {problem}
        </div>
      )}
    </div>
  );
}

function parse(text: string): ValueState {
  if (!text.trim()) return { value: undefined, invalid: null };
  try {
    return { value: parseTyped(text), invalid: null };
  } catch (error) {
    return { value: undefined, invalid: `not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}
