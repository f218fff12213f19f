import type { Box, Link } from '../src/layout/types';
import recorded from './fixtures/graphs.json';

export interface Case {
  name: string;
  boxes: Box[];
  links: Link[];
}

const charWidth = 7;

/** The graphs of real workflows. */
export const real: Case[] = recorded.map((graph) => ({
  name: graph.name,
  boxes: graph.nodes.map((node, at) =>
    at < 2 ? { w: 48, h: 20, port: 10 } : { w: Math.max(100, node.name.length * charWidth + 38), h: 44 + 28 * (at % 4), port: 22 },
  ),
  links: graph.edges.map((edge) => ({
    from: edge.from,
    to: edge.to,
    back: edge.back !== null,
    label: edge.arms.length ? edge.arms.map((arm) => graph.nodes[edge.from]!.labels[arm]).join(' | ').length * 6 + 8 : 0,
  })),
}));

/** A linear congruential generator: the same graphs on every machine. */
export function random(seed: number): () => number {
  let state = seed * 2654435761 + 1;
  return () => {
    state = (state * 1664525 + 1013904223) % 4294967296;
    return state / 4294967296;
  };
}

/** A graph in which every box lies on a way from the first to the last, with loops that may nest, overlap and span bands. */
export function randomCase(seed: number): Case {
  const next = random(seed);
  const below = (n: number) => Math.floor(next() * n);
  const size = 3 + below(22);
  const boxes = Array.from({ length: size }, () => ({ w: 60 + below(30) * 8, h: 44 + below(4) * 24, port: 22 }));
  const links: Link[] = [];
  const label = () => (next() < 0.4 ? 24 + below(80) : 0);
  for (let to = 1; to < size; to++) links.push({ from: Math.max(0, to - 1 - below(4)), to, back: false, label: label() });
  for (let from = 0; from < size - 1; from++)
    if (!links.some((l) => l.from === from)) links.push({ from, to: size - 1, back: false, label: label() });
  for (let extra = below(size); extra > 0; extra--) {
    const from = below(size - 1);
    links.push({ from, to: from + 1 + below(size - from - 1), back: false, label: label() });
  }
  for (let loops = below(4); loops > 0; loops--) {
    const to = 1 + below(size - 1);
    links.push({ from: to + below(size - to), to, back: true, label: label() });
  }
  return { name: `random ${seed}`, boxes, links };
}
