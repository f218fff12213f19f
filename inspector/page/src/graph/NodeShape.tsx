import type { KeyboardEvent, MouseEvent } from 'react';
import type { PlacedBox } from '../layout/types';
import { SIGNS, STATE_SHAPES } from '../ui/shapes';
import { WORDS, type Look } from '../ui/look';
import { clipText, textWidth } from '../ui/measure';
import { ItemCells } from './ItemCells';
import { isJoin, isPort, itemGraph, workflowName } from './model';
import { fractionOf } from './progress';
import { FRAME, NODE_HEIGHT, PILL_GAP, PILL_HEIGHT, type Pill, type SceneNode } from './scene';

export interface GraphActions {
  selected: string | null;
  onSelect: ((path: string) => void) | null;
  onToggle: (key: string) => void;
}

interface Props extends GraphActions {
  drawn: SceneNode;
  box: PlacedBox;
}

export function NodeShape({ drawn, box, selected, onSelect, onToggle }: Props) {
  const { node, look, inner, sub } = drawn;
  if (isPort(node)) return <Port name={node.name} box={box} />;
  const isSelected = selected !== null && (selected === drawn.path || (drawn.at?.visits.some((visit) => visit.path === selected) ?? false));
  const toggle = () => drawn.openKey !== null && onToggle(drawn.openKey);
  const choose = () => (onSelect ? onSelect(drawn.path) : toggle());
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter' || event.key === ' ') choose();
    else if (event.key === (inner ? 'ArrowLeft' : 'ArrowRight') && drawn.openKey !== null) toggle();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const label = [node.name, look && WORDS[look], sub].filter(Boolean).join(', ');
  return (
    <>
      <g
        className={`n s-${look ?? 'plan'}${isSelected ? ' sel' : ''}`}
        data-hover={drawn.key}
        tabIndex={0}
        role="button"
        aria-pressed={isSelected}
        onClick={choose}
        onDoubleClick={toggle}
        onKeyDown={onKeyDown}
      >
        {/* Its name for assistive technology as well. */}
        <title>{node.doc ? `${label} — ${node.doc}` : label}</title>
        {inner ? <Frame drawn={drawn} box={box} /> : <Card drawn={drawn} box={box} />}
        {drawn.openKey !== null && <FoldMark drawn={drawn} box={box} onToggle={toggle} />}
      </g>
      <Pills drawn={drawn} box={box} selected={selected} onSelect={onSelect} onToggle={onToggle} />
    </>
  );
}

function Port({ name, box }: { name: string; box: PlacedBox }) {
  return (
    <>
      <rect className="port" x={box.x + 0.5} y={box.y + 0.5} width={box.w - 1} height={box.h - 1} rx={10} />
      <text className="port-t" x={box.x + box.w / 2} y={box.y + 13.5} textAnchor="middle">
        {name}
      </text>
    </>
  );
}

function StateMark({ look, x, y, size }: { look: Look; x: number; y: number; size: number }) {
  return (
    <g transform={`translate(${x},${y}) scale(${size / 16})`} className={`mark-${look}`}>
      {STATE_SHAPES[look]}
    </g>
  );
}

function Card({ drawn, box }: { drawn: SceneNode; box: PlacedBox }) {
  const { node, look, sub, at } = drawn;
  const { x, y, w } = box;
  const isEach = itemGraph(node) !== null;
  const items = at?.items?.length ? at.items : null;
  const textX = x + (look ? 29 : 12);
  const right = drawn.openKey !== null ? 34 : 8;
  const fraction = look === 'running' ? fractionOf(at?.last?.progress?.data) : null;
  return (
    <>
      {isEach && <rect className="stack" x={x + 4.5} y={y + 4.5} width={w - 1} height={NODE_HEIGHT - 1} rx={6} />}
      <rect className="n-box" x={x + 0.5} y={y + 0.5} width={w - 1} height={NODE_HEIGHT - 1} rx={6} />
      {workflowName(node) !== null && <path className="sides" d={`M${x + 4.5} ${y + 1}v${NODE_HEIGHT - 2}M${x + w - 4.5} ${y + 1}v${NODE_HEIGHT - 2}`} />}
      <rect className="halo" x={x - 2} y={y - 2} width={w + 4} height={NODE_HEIGHT + 4} rx={8} />
      {isJoin(node) && <rect className="join" x={x - 1} y={y + 12} width={3} height={20} rx={1} />}
      {look && <StateMark look={look} x={x + 8} y={y + (items ? 5 : 14)} size={16} />}
      <text className="name" x={textX} y={y + (items ? 18 : sub ? 19 : 27)}>
        {clipText(node.name, w - (textX - x) - (items ? textWidth(sub, 11) + 14 : right), 13, 500)}
      </text>
      {items ? (
        <>
          <text className="sub" x={x + w - (drawn.openKey !== null ? 34 : 10)} y={y + 18} textAnchor="end">
            {sub}
          </text>
          <ItemCells items={items} x={x + 10} y={y + 28} width={w - 20} />
        </>
      ) : (
        sub && (
          <text className="sub" x={textX} y={y + 34}>
            {clipText(sub, w - (textX - x) - right, 11)}
          </text>
        )
      )}
      {fraction !== null && <ProgressBar x={x + 6} y={y + NODE_HEIGHT - 5} width={w - 12} fraction={fraction} />}
    </>
  );
}

function ProgressBar({ x, y, width, fraction }: { x: number; y: number; width: number; fraction: number }) {
  return (
    <g>
      <title>{`${Math.round(fraction * 100)} %`}</title>
      <rect className="progress-rail" x={x} y={y} width={width} height={2} rx={1} />
      <rect className="progress-done" x={x} y={y} width={width * fraction} height={2} rx={1} />
    </g>
  );
}

function Frame({ drawn, box }: { drawn: SceneNode; box: PlacedBox }) {
  const { node, look, sub } = drawn;
  const { x, y, w, h } = box;
  const textX = x + (look ? 32 : 12);
  return (
    <>
      <rect className="frame n-box" x={x + 0.5} y={y + 0.5} width={w - 1} height={h - 1} rx={8} />
      <rect className="halo" x={x - 2} y={y - 2} width={w + 4} height={h + 4} rx={10} />
      {look && <StateMark look={look} x={x + 10} y={y + 8} size={16} />}
      <text className="name" x={textX} y={y + 21}>
        {node.name}
      </text>
      <text className="sub" x={textX + textWidth(node.name, 13, 500) + 8} y={y + 21}>
        {sub}
      </text>
    </>
  );
}

function FoldMark({ drawn, box, onToggle }: { drawn: SceneNode; box: PlacedBox; onToggle: () => void }) {
  const isOpen = drawn.inner !== null;
  const y = box.y + (isOpen ? 6 : drawn.at?.items?.length ? 3 : 12);
  const toggle = (event: MouseEvent) => {
    event.stopPropagation();
    onToggle();
  };
  // Not a control of its own for the keyboard: → and ← on the node open and close it.
  return (
    <g className="fold-mark" aria-hidden="true" onClick={toggle} onDoubleClick={(event) => event.stopPropagation()}>
      <title>{isOpen ? 'Close (←)' : 'Open (→)'}</title>
      <rect x={box.x + box.w - 30} y={y} width={20} height={20} rx={4} />
      <g transform={`translate(${box.x + box.w - 26},${y + 4}) scale(.75)`}>{SIGNS[isOpen ? 'down' : 'right']}</g>
    </g>
  );
}

/** Children, steps and questions below their node. */
function Pills({ drawn, box, selected, onSelect, onToggle }: Props) {
  const { pills, more } = drawn;
  if (!pills.length) return null;
  const left = box.x + 14;
  const top = (at: number) => box.y + NODE_HEIGHT + 8 + at * (PILL_HEIGHT + PILL_GAP);
  const middles = pills.map((_, at) => top(at) + PILL_HEIGHT / 2);
  return (
    <>
      <path className="dyn-line" d={`M${box.x + 6} ${box.y + NODE_HEIGHT}V${middles.at(-1)}${middles.map((y) => `M${box.x + 6} ${y}H${left}`).join('')}`} />
      {pills.map((pill, at) => (
        <PillShape
          key={pill.key}
          pill={pill}
          x={left + 10 * pill.depth}
          y={top(at)}
          w={box.w - 14 - 10 * pill.depth}
          isSelected={pill.path !== null && pill.path === selected}
          onChoose={() => (pill.path === null ? onToggle(pill.key) : onSelect?.(pill.path))}
        />
      ))}
      {more > 0 && (
        <text className="more" x={left + 8} y={top(pills.length) + 14}>
          {`+ ${more} more`}
        </text>
      )}
    </>
  );
}

interface PillProps {
  pill: Pill;
  x: number;
  y: number;
  w: number;
  isSelected: boolean;
  onChoose: () => void;
}

function PillShape({ pill, x, y, w, isSelected, onChoose }: PillProps) {
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' && event.key !== ' ') return;
    onChoose();
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <g
      className={`n dyn s-${pill.look}${isSelected ? ' sel' : ''}`}
      data-hover={pill.key}
      tabIndex={0}
      role="button"
      aria-pressed={isSelected}
      onClick={onChoose}
      onKeyDown={onKeyDown}
    >
      <title>{`${pill.title}, ${WORDS[pill.look]}`}</title>
      <rect className="n-box" x={x + 0.5} y={y + 0.5} width={w - 1} height={PILL_HEIGHT - 1} rx={4} />
      <rect className="halo" x={x - 2} y={y - 2} width={w + 4} height={PILL_HEIGHT + 4} rx={6} />
      <StateMark look={pill.look} x={x + 6} y={y + 4} size={12} />
      <text className="name" x={x + 23} y={y + 14}>
        {clipText(pill.text, w - 30, 11)}
      </text>
    </g>
  );
}

/** Where the graph inside of an open node begins. */
export const innerOffset = (box: PlacedBox) => ({ x: box.x + FRAME.side, y: box.y + FRAME.top });
