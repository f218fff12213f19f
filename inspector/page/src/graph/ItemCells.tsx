import { WORDS, type Look } from '../ui/look';
import type { Item } from '../view/node';

const MOST_CELLS = 24;

/** One cell an item; above 24 a bar of proportions. */
export function ItemCells({ items, x, y, width }: { items: readonly Item[]; x: number; y: number; width: number }) {
  if (items.length > MOST_CELLS) return <Proportions items={items} x={x} y={y} width={width} />;
  const step = width / items.length;
  return (
    <>
      {items.map((item, at) => (
        <Cell key={item.index} item={item} x={x + at * step} y={y} width={step - 2} />
      ))}
    </>
  );
}

function Cell({ item, x, y, width }: { item: Item; x: number; y: number; width: number }) {
  const { look, attempt, index } = item;
  return (
    <g>
      <title>{`[${index}] ${WORDS[look]}${attempt > 1 ? `, attempt ${attempt}` : ''}`}</title>
      <CellShape look={look} x={x} y={y} width={width} />
      {attempt > 1 && look !== 'failed' && <path className="cell-again" d={`M${x} ${y + 11}h${width}`} />}
    </g>
  );
}

/** Full: done. Half: running. Tall: failed. Hollow: queued. */
function CellShape({ look, x, y, width }: { look: Look; x: number; y: number; width: number }) {
  switch (look) {
    case 'failed':
      return <rect className="cell-fail" x={x} y={y - 2} width={width} height={12} rx={1} />;
    case 'running':
    case 'collecting':
    case 'waits_to_retry':
    case 'sleeping':
    case 'waiting': {
      const colour = look === 'waiting' ? 'cell-wait' : 'cell-run';
      return (
        <>
          <rect className={`${colour} hollow`} x={x + 0.5} y={y + 0.5} width={Math.max(0, width - 1)} height={7} rx={1} />
          <rect className={colour} x={x} y={y + 4} width={width} height={4} />
        </>
      );
    }
    case 'completed':
      return <rect className="cell-done" x={x} y={y} width={width} height={8} rx={1} />;
    case 'cancelled':
      return <rect className="cell-cancel" x={x} y={y} width={width} height={8} rx={1} />;
    default:
      return <rect className="cell-open" x={x + 0.5} y={y + 0.5} width={Math.max(0, width - 1)} height={7} rx={1} />;
  }
}

const ORDER: readonly { looks: readonly Look[]; colour: string }[] = [
  { looks: ['completed'], colour: 'cell-done' },
  { looks: ['failed'], colour: 'cell-fail' },
  { looks: ['waiting'], colour: 'cell-wait' },
  { looks: ['running', 'waits_to_retry', 'collecting', 'sleeping'], colour: 'cell-run' },
  { looks: ['cancelled'], colour: 'cell-cancel' },
];

function Proportions({ items, x, y, width }: { items: readonly Item[]; x: number; y: number; width: number }) {
  const counts = new Map<Look, number>();
  for (const { look } of items) counts.set(look, (counts.get(look) ?? 0) + 1);
  let at = x;
  const parts = ORDER.map(({ looks, colour }) => {
    const count = looks.reduce((sum, look) => sum + (counts.get(look) ?? 0), 0);
    const w = count ? Math.max(2, (count / items.length) * width) : 0;
    const part = { colour, x: at, w: Math.min(w, x + width - at) };
    at += part.w;
    return part;
  });
  return (
    <g>
      <title>{[...counts].map(([look, count]) => `${count} ${WORDS[look].toLowerCase()}`).join(', ')}</title>
      <rect className="cell-open" x={x + 0.5} y={y + 0.5} width={width - 1} height={7} rx={1} />
      {parts.filter((part) => part.w > 0).map((part) => (
        <rect key={part.colour} className={part.colour} x={part.x} y={y} width={part.w} height={8} />
      ))}
    </g>
  );
}
