import { useEffect, useState } from 'react';
import { get } from '../api/client';
import type { NodeValues } from '../api/types';
import { itemKey } from '../view/keys';
import type { Row } from '../view/rows';

const MOST_ITEMS = 500;

/** The first text of the input of each item, by the key of its row, for the `[..]` that are open. */
export function useItemLabels(run: string, rows: readonly Row[]): ReadonlyMap<string, string> {
  const [labels, setLabels] = useState<{ run: string; byKey: ReadonlyMap<string, string> }>({ run, byKey: new Map() });
  const open = rows.filter((row) => row.kind === 'each' && row.isOpen && row.things.length > 0);
  const wanted = JSON.stringify(open.map((row) => [row.key, row.things.at(-1)!.path]));
  useEffect(() => {
    const controller = new AbortController();
    for (const [key, path] of JSON.parse(wanted) as [string, string][]) {
      get<NodeValues>(['runs', run, 'values'], { path }, controller.signal).then(
        (values) => {
          const items = values.input?.value;
          if (!Array.isArray(items) || items.length > MOST_ITEMS) return;
          setLabels((old) => {
            const byKey = new Map(old.run === run ? old.byKey : []);
            items.forEach((item, index) => byKey.set(itemKey(key, index), labelOfItem(item)));
            return { run, byKey };
          });
        },
        // Without its input an item has its index only.
        () => undefined,
      );
    }
    return () => controller.abort();
  }, [run, wanted]);
  return labels.byKey;
}

function labelOfItem(value: unknown): string {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return '';
  return Object.values(value).find((entry): entry is string => typeof entry === 'string') ?? '';
}
