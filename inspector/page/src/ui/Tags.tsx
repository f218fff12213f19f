export function Tags({ tags }: { tags: Record<string, string> }) {
  return (
    <>
      {Object.entries(tags).map(([key, value]) => (
        <span className="tag" key={key} title={`${key}: ${value}`}>
          <b>{key}</b>
          {value}
        </span>
      ))}
    </>
  );
}
