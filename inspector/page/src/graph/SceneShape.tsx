import { EdgeLabel, EdgeLine } from './EdgeShape';
import { NodeShape, innerOffset, type GraphActions } from './NodeShape';
import type { Scene } from './scene';

/** What is taken lies above what is not. */
const LEVELS = ['open', 'plan', 'taken', 'live'] as const;

export function SceneShape({ scene, ...actions }: { scene: Scene } & GraphActions) {
  const { placement, edges, nodes } = scene;
  const order = edges.map((_, at) => at).sort((a, b) => LEVELS.indexOf(edges[a]!.state) - LEVELS.indexOf(edges[b]!.state));
  return (
    <>
      {order.map((at) => (
        <EdgeLine key={at} link={placement.links[at]!} state={edges[at]!.state} />
      ))}
      {order.map((at) => (
        <EdgeLabel key={at} link={placement.links[at]!} edge={edges[at]!} />
      ))}
      {nodes.map((drawn, at) => {
        const box = placement.boxes[at]!;
        const inside = innerOffset(box);
        return (
          <g key={drawn.key}>
            <NodeShape drawn={drawn} box={box} {...actions} />
            {drawn.inner && (
              <g transform={`translate(${inside.x},${inside.y})`} className="inside">
                <SceneShape scene={drawn.inner} {...actions} />
              </g>
            )}
          </g>
        );
      })}
    </>
  );
}
