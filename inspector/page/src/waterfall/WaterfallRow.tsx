import { memo } from 'react';
import type { TimeScale } from '../time/scale';
import { Sign, StateIcon } from '../ui/Icon';
import type { Moment } from '../view/moment';
import type { Row } from '../view/rows';
import { barsOf, isScope, rowLook, type RowBars } from './bars';

interface Props {
  row: Row;
  at: number;
  label: string | null;
  moment: Moment;
  scale: TimeScale;
  width: number;
  isSelected: boolean;
  isActive: boolean;
  onSelect: (row: Row) => void;
  onToggle: (row: Row) => void;
}

export const ROW_HEIGHT = 24;
const INDENT = 16;
/** Deeper rows are not moved further, so that the name keeps its room. */
const DEEPEST = 6;

export const WaterfallRow = memo(function WaterfallRow({ row, at, label, moment, scale, width, isSelected, isActive, onSelect, onToggle }: Props) {
  const look = rowLook(row, moment);
  const name = label ? `${row.name} ${label}` : row.name;
  return (
    <div
      className={`row${row.depth ? ' deep' : ''}${isSelected ? ' sel' : ''}`}
      style={{ top: at * ROW_HEIGHT }}
      id={`row-${at}`}
      data-hover={row.key}
      role="treeitem"
      aria-level={row.depth + 1}
      aria-selected={isSelected}
      aria-expanded={row.hasInside ? row.isOpen : undefined}
      tabIndex={isActive ? 0 : -1}
      onClick={() => onSelect(row)}
      onDoubleClick={() => row.hasInside && onToggle(row)}
    >
      <div className="name" style={{ paddingLeft: 12 + INDENT * Math.min(row.depth, DEEPEST) }}>
        <span
          className={`fold${row.hasInside ? '' : ' none'}`}
          aria-hidden="true"
          onClick={(event) => {
            event.stopPropagation();
            onToggle(row);
          }}
          onDoubleClick={(event) => event.stopPropagation()}
        >
          <Sign name={row.isOpen ? 'down' : 'right'} />
        </span>
        <StateIcon look={look} word />
        <span className="lbl" title={name}>
          {name}
        </span>
        <span className="x">{row.note}</span>
      </div>
      <div className="lane" aria-hidden="true">
        <Lane bars={barsOf(row, moment, scale, width)} isThin={isScope(row)} />
      </div>
    </div>
  );
});

function Lane({ bars: { bars, failures, turns, text }, isThin }: { bars: RowBars; isThin: boolean }) {
  return (
    <>
      {bars.map((bar, at) => (
        <i
          key={at}
          className={`b ${bar.shape}${isThin && bar.shape !== 'waiting' ? ' scope' : ''}${bar.isVoid ? ' void' : ''}`}
          style={bar.shape === 'point' ? { left: bar.left } : { left: bar.left, width: bar.width }}
          title={bar.title}
        />
      ))}
      {!isThin &&
        failures.map((failure, at) => (
          <span key={at} className="x-mark" style={{ left: failure.left }} title={failure.title}>
            <StateIcon look="failed" />
          </span>
        ))}
      {turns.map(({ left, turn }) => (
        <span key={turn} className="tn" style={{ left }}>
          {turn}
        </span>
      ))}
      {text && (
        <span className={`dur ${text.place}${text.failed ? ' s-failed' : ''}`} style={{ left: text.left }}>
          {text.value}
        </span>
      )}
    </>
  );
}
