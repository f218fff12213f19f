const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `423 ms`, `1.4 s`, `7 min 12 s`, `2 h 14 min`, `3 d 4 h`. */
export function duration(ms: number): string {
  const t = Math.max(0, ms);
  if (t < SECOND) return `${Math.floor(t)} ms`;
  // 59.95 s would be rounded to 60.0 s.
  if (t < MINUTE) return `${Math.min(59.9, t / SECOND).toFixed(1)} s`;
  if (t < HOUR) return `${Math.floor(t / MINUTE)} min ${Math.floor((t % MINUTE) / SECOND)} s`;
  if (t < DAY) return `${Math.floor(t / HOUR)} h ${Math.floor((t % HOUR) / MINUTE)} min`;
  return `${Math.floor(t / DAY)} d ${Math.floor((t % DAY) / HOUR)} h`;
}

/** One unit: `5 s`, `47 min`, `3 h`, `12 d`. */
export function age(ms: number): string {
  const t = Math.max(0, ms);
  if (t < MINUTE) return `${Math.floor(t / SECOND)} s`;
  if (t < HOUR) return `${Math.floor(t / MINUTE)} min`;
  if (t < DAY) return `${Math.floor(t / HOUR)} h`;
  return `${Math.floor(t / DAY)} d`;
}

/** `2026-11-25 11:12:31 UTC`. */
export function instant(time: number): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? '' : `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** `11:12:31 UTC`. */
export const timeOfDay = (time: number): string => instant(time).slice(11);
