import { useState } from 'react';
import { StateIcon } from '../ui/Icon';
import { WORDS, type Look } from '../ui/look';
import { leafOf, lookAt, type Moment } from '../view/moment';
import type { Thing } from '../view/model';
import { itemsOf } from '../view/node';
import { Section } from './Section';

const MOST_CHIPS = 120;
const MOST_ROWS = 20;

interface Props {
  thing: Thing;
  moment: Moment;
  onSelect: (path: string) => void;
}

/** The items of `[..]`; the most urgent first if there are many. */
export function ItemChips({ thing, moment, onSelect }: Props) {
  if (thing.kind !== 'each') return null;
  const items = itemsOf(moment.view, thing, moment.seq);
  if (!items.length) return null;
  const counts = new Map<Look, number>();
  for (const { look } of items) counts.set(look, (counts.get(look) ?? 0) + 1);
  const shown = items.length <= MOST_CHIPS ? items : mostTelling(items).slice(0, MOST_CHIPS);
  return (
    <Section title="Items" right={[...counts].map(([look, count]) => `${count} ${WORDS[look].toLowerCase()}`).join(', ')}>
      <div className="items">
        {shown.map(({ index, look, thing: item }) => (
          <button type="button" key={index} title={WORDS[look]} className={`s-${look}`} disabled={!item} onClick={() => item && onSelect(item.path)}>
            <StateIcon look={look} word />
            {index}
          </button>
        ))}
      </div>
      {shown.length < items.length && <p className="dim">and {items.length - shown.length} more</p>}
    </Section>
  );
}

const TELLING: readonly Look[] = ['failed', 'waiting', 'waits_to_retry', 'running'];

function mostTelling<T extends { look: Look; index: number }>(items: readonly T[]): T[] {
  const rank = (look: Look) => (TELLING.includes(look) ? TELLING.indexOf(look) : TELLING.length);
  return [...items].sort((a, b) => rank(a.look) - rank(b.look) || a.index - b.index);
}

/** The children, steps and questions of a thing. */
export function InsideList({ thing, moment, onSelect }: Props) {
  const [all, setAll] = useState(false);
  if (thing.kind === 'each' || thing.kind === 'workflow' || thing.kind === 'item') return null;
  const inside = thing.inside.map((id) => moment.view.things[id]!);
  if (!inside.length) return null;
  const shown = all ? inside : inside.slice(0, MOST_ROWS);
  return (
    <Section title="Below it">
      <div className="list">
        {shown.map((inner) => (
          <button type="button" key={inner.id} onClick={() => onSelect(inner.path)}>
            <StateIcon look={lookAt(inner, moment.seq)} word />
            <span className="cut">{leafOf(inner.path)}</span>
            <span className="r">{inner.kind}</span>
          </button>
        ))}
        {shown.length < inside.length && (
          <button type="button" className="dim" onClick={() => setAll(true)}>
            {inside.length - shown.length} more
          </button>
        )}
      </div>
    </Section>
  );
}
