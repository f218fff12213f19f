import { buildScene, type Scene, type SceneInput } from './scene';

export const MARGIN = 16;
/** Text is never scaled below this. */
export const LEAST_SCALE = 0.86;
const SHRINK = [1, 0.95, 0.9];
const GOOD = 0.95;
/** The controls of the pane, at its lower right. */
const CORNER = { w: 128, h: 28 };

export interface Fitted {
  scene: Scene;
  scale: number;
  w: number;
  h: number;
}

/**
 * Folds a graph so that it fits into a pane: at its own size, else a little smaller, else with the children of each node as
 * one. What fits no better is scrolled.
 */
export function fit(input: Omit<SceneInput, 'compact' | 'width'>, width: number, height: number): Fitted {
  const sized = (scene: Scene) => ({ w: Math.ceil(scene.placement.w + 2 * MARGIN), h: Math.ceil(scene.placement.h + 2 * MARGIN + 4) });
  const whole = (scene: Scene) => {
    const { w, h } = sized(scene);
    return Math.min(1, width / w, height / h);
  };
  const best = (compact: boolean) =>
    SHRINK.map((q) => buildScene({ ...input, compact, width: width / q })).reduce((a, b) => (whole(b) > whole(a) + 0.02 ? b : a));
  let scene = best(false);
  if (whole(scene) < GOOD) scene = best(true);
  const scale = Math.max(LEAST_SCALE, whole(scene));
  const { w, h } = sized(scene);
  return { scene, w, h: h + (isCornerTaken(scene, w, h, width / scale) ? CORNER.h : 0), scale };
}

function isCornerTaken({ placement }: Scene, w: number, h: number, width: number): boolean {
  const right = Math.max(w, width) - CORNER.w - MARGIN;
  const below = h - CORNER.h - MARGIN;
  return placement.boxes.some((box) => box.x + box.w > right && box.y + box.h > below);
}
