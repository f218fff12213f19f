import { Json } from '../ui/Json';

/** What is shown with a question: the fields of an object as a list, a text as it is. */
export function Payload({ value }: { value: unknown }) {
  if (typeof value === 'string') return <p className="payload-text">{value}</p>;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return <Json value={value} />;
  return (
    <dl className="kv">
      {Object.entries(value).map(([key, entry]) => (
        <div key={key}>
          <dt>{key}</dt>
          <dd>
            <Entry value={entry} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Entry({ value }: { value: unknown }) {
  if (value === null || (Array.isArray(value) && !value.length)) return <span className="dim">none</span>;
  if (typeof value === 'object') return <Json value={value} />;
  return <>{String(value)}</>;
}
