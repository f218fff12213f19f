import { useState, type ReactNode } from 'react';
import { toJson } from '../api/json';

const MOST_ENTRIES = 3;
const SHOWN_ENTRIES = 2;
const MOST_CHARS = 160;
/** Deeper values are cut, so that none can exhaust the stack. */
const MOST_DEPTH = 40;

/** A JSON value: long lists and texts are cut until they are opened. */
export function Json({ value }: { value: unknown }) {
  return (
    <pre className="json" tabIndex={0} aria-label="JSON">
      <Value value={value} depth={0} name={null} />
    </pre>
  );
}

interface Props {
  value: unknown;
  depth: number;
  name: string | null;
}

function Value({ value, depth, name }: Props) {
  const pad = '  '.repeat(depth);
  const key = name === null ? null : <span className="k">{name}: </span>;
  if (depth >= MOST_DEPTH) return <>{pad}{key}…</>;
  if (Array.isArray(value)) {
    if (!value.length) return <>{pad}{key}[]</>;
    return (
      <>
        {pad}{key}{'[\n'}
        <Entries entries={value.map((entry) => [null, entry])} depth={depth + 1} cut />
        {pad}]
      </>
    );
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value);
    if (!entries.length) return <>{pad}{key}{'{}'}</>;
    return (
      <>
        {pad}{key}{'{\n'}
        <Entries entries={entries} depth={depth + 1} cut={entries.length > 50} />
        {pad}{'}'}
      </>
    );
  }
  return <>{pad}{key}<Text text={toJson(value) ?? 'null'} /></>;
}

function Entries({ entries, depth, cut }: { entries: [string | null, unknown][]; depth: number; cut: boolean }) {
  const [all, setAll] = useState(false);
  const shown = cut && !all && entries.length > MOST_ENTRIES ? entries.slice(0, depth > 1 || entries.length < 50 ? SHOWN_ENTRIES : 20) : entries;
  const rest = entries.length - shown.length;
  const lines: ReactNode[] = shown.map(([name, value], at) => (
    <span key={name ?? at}>
      <Value value={value} depth={depth} name={name} />
      {'\n'}
    </span>
  ));
  return (
    <>
      {lines}
      {rest > 0 && (
        <>
          {'  '.repeat(depth)}
          <button type="button" className="more" onClick={() => setAll(true)}>
            … {rest} more
          </button>
          {'\n'}
        </>
      )}
    </>
  );
}

function Text({ text }: { text: string }) {
  const [all, setAll] = useState(false);
  if (all || text.length <= MOST_CHARS) return <>{text}</>;
  return (
    <>
      {text.slice(0, MOST_CHARS - 4)}
      <button type="button" className="more" onClick={() => setAll(true)}>
        … {text.length - MOST_CHARS + 4} more characters
      </button>
    </>
  );
}
