const UI = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", sans-serif';
const cache = new Map<string, number>();
const CACHE = 5000;
let context: CanvasRenderingContext2D | null | undefined;

/** The width of a text in the font of the page. */
export function textWidth(text: string, size: number, weight = 400): number {
  const key = `${weight} ${size}px ${text}`;
  const known = cache.get(key);
  if (known !== undefined) return known;
  context ??= document.createElement('canvas').getContext('2d');
  if (!context) return text.length * size * 0.55;
  context.font = `${weight} ${size}px ${UI}`;
  const width = context.measureText(text).width;
  if (cache.size >= CACHE) cache.clear();
  cache.set(key, width);
  return width;
}

/** The text, cut with an ellipsis to fit into `width`. */
export function clipText(text: string, width: number, size: number, weight = 400): string {
  if (textWidth(text, size, weight) <= width) return text;
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (textWidth(`${text.slice(0, middle)}…`, size, weight) <= width) low = middle;
    else high = middle - 1;
  }
  return `${text.slice(0, low)}…`;
}
