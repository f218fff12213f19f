import { useLayoutEffect, useRef, useState, type PointerEvent, type ReactNode } from 'react';
import { Sign } from '../ui/Icon';
import { MARGIN, type Fitted } from './fit';
import type { GraphActions } from './NodeShape';
import { SceneShape } from './SceneShape';

interface Props extends GraphActions {
  fitted: Fitted;
  height: number;
  children?: ReactNode;
}

const STEP = 1.25;
const MOST = 3;
const LEAST = 0.4;

/** A graph that can be scrolled, dragged and zoomed (Ctrl and the wheel). */
export function GraphPane({ fitted, height, children, ...actions }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const [zoom, setZoom] = useState(1);
  const scale = fitted.scale * zoom;
  const zoomBy = (factor: number) => setZoom((z) => Math.min(MOST, Math.max(LEAST, z * factor)));
  useWheelZoom(host, zoomBy);
  const drag = useDrag(host);
  return (
    <div className="graph-pane" style={{ height }}>
      {/* A pane that scrolls is reached by the keyboard through the nodes in it. */}
      <div className="graph" ref={host} {...drag}>
        <svg className="g" width={fitted.w * scale} height={fitted.h * scale} viewBox={`0 0 ${fitted.w} ${fitted.h}`} role="group" aria-label={`Graph of ${fitted.scene.graph.name}`}>
          <g transform={`translate(${MARGIN},${MARGIN})`}>
            <SceneShape scene={fitted.scene} {...actions} />
          </g>
        </svg>
      </div>
      <div className="zoom">
        <button type="button" className="ghost icon" aria-label="Smaller" onClick={() => zoomBy(1 / STEP)}>
          <Sign name="minus" />
        </button>
        <button type="button" className="ghost" title="Back to the size that fits" onClick={() => setZoom(1)}>
          {Math.round(scale * 100)} %
        </button>
        <button type="button" className="ghost icon" aria-label="Larger" onClick={() => zoomBy(STEP)}>
          <Sign name="plus" />
        </button>
      </div>
      {children}
    </div>
  );
}

/** React listens to the wheel passively, which cannot keep the browser from zooming the page. */
function useWheelZoom(host: React.RefObject<HTMLDivElement | null>, zoomBy: (factor: number) => void) {
  const latest = useRef(zoomBy);
  latest.current = zoomBy;
  useLayoutEffect(() => {
    const element = host.current;
    if (!element) return;
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const factor = Math.exp(-event.deltaY / 300);
      const box = element.getBoundingClientRect();
      const [dx, dy] = [event.clientX - box.left, event.clientY - box.top];
      // What is under the pointer stays there.
      const [x, y] = [(element.scrollLeft + dx) * factor - dx, (element.scrollTop + dy) * factor - dy];
      latest.current(factor);
      requestAnimationFrame(() => element.scrollTo(x, y));
    };
    element.addEventListener('wheel', onWheel, { passive: false });
    return () => element.removeEventListener('wheel', onWheel);
  }, [host]);
}

function useDrag(host: React.RefObject<HTMLDivElement | null>) {
  const start = useRef<{ x: number; y: number; left: number; top: number } | null>(null);
  const end = () => {
    start.current = null;
    host.current?.classList.remove('dragged');
  };
  return {
    onPointerDown: (event: PointerEvent) => {
      const element = host.current;
      if (!element || event.button !== 0 || (event.target as Element).closest('.n')) return;
      start.current = { x: event.clientX, y: event.clientY, left: element.scrollLeft, top: element.scrollTop };
      element.setPointerCapture(event.pointerId);
      element.classList.add('dragged');
    },
    onPointerMove: (event: PointerEvent) => {
      const from = start.current;
      if (from) host.current?.scrollTo(from.left - (event.clientX - from.x), from.top - (event.clientY - from.y));
    },
    onPointerUp: end,
    onPointerCancel: end,
  };
}
