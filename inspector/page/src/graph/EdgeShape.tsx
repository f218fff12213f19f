import { memo } from 'react';
import type { PlacedLink } from '../layout/types';
import { roundedPath } from '../layout/route';
import { textWidth } from '../ui/measure';
import type { SceneEdge } from './scene';

export const EdgeLine = memo(function EdgeLine({ link, state }: { link: PlacedLink; state: SceneEdge['state'] }) {
  const end = link.points.at(-1);
  if (!end) return null;
  const arrow = link.fromAbove ? `M${end.x - 4},${end.y - 7}h8l-4,7z` : `M${end.x - 7},${end.y - 4}v8l7,-4z`;
  return (
    <>
      <path className={`e ${state}`} d={roundedPath(link.points)} />
      <path className={`arrow ${state}`} d={arrow} />
    </>
  );
});

export function EdgeLabel({ link, edge }: { link: PlacedLink; edge: SceneEdge }) {
  if (!link.label || !edge.label) return null;
  const { x, y } = link.label;
  const w = textWidth(edge.label, 11) + 8;
  return (
    <>
      <rect className="lab-bg" x={x - w / 2} y={y - 8} width={w} height={16} />
      <text className={`lab ${edge.state === 'open' ? '' : 'taken'}`} x={x} y={y + 4} textAnchor="middle">
        {edge.label}
      </text>
    </>
  );
}
