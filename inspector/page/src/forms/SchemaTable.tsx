import { fieldsOf, isNothing, typeName } from './schema';

/** The fields of a schema. */
export function SchemaTable({ schema }: { schema: unknown }) {
  if (schema === null || schema === undefined || isNothing(schema)) return <p className="dim">nothing</p>;
  const fields = fieldsOf(schema);
  if (!fields?.length) return <p className="mono">{typeName(schema)}</p>;
  return (
    <table className="schema">
      <tbody>
        {fields.map(({ name, required, type, text }) => (
          <tr key={name}>
            <td className="mono">
              {name}
              {!required && (
                <span className="dim" title="optional">
                  ?
                </span>
              )}
            </td>
            <td className="mono dim">{type}</td>
            <td>{text}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
