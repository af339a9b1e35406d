// Durations in the words that the command line uses, so that a number on the
// page and one in a terminal can be compared by eye.

/** `0.53 ms`, `4.57 ms`, `113.7 ms`, `1.289 s`: rounded half up, like the core. */
export function time(ns: number): string {
  const sign = ns < 0 ? "-" : "";
  const n = Math.abs(Math.trunc(ns));
  const to = (unit: number): number => Math.floor(n / unit) + (n % unit >= unit / 2 ? 1 : 0);
  const part = (value: number, step: number, digits: number): string =>
    `${Math.floor(value / step)}.${String(value % step).padStart(digits, "0")}`;
  if (n === 0) return "0 ms";
  if (to(1e4) === 0) return "< 0.01 ms";
  if (to(1e4) < 1000) return `${sign}${part(to(1e4), 100, 2)} ms`;
  if (to(1e5) < 10000) return `${sign}${part(to(1e5), 10, 1)} ms`;
  return `${sign}${part(to(1e6), 1000, 3)} s`;
}

/** A share as `62 %`, with one digit more below ten. */
export function percent(part: number, whole: number): string {
  if (!(whole > 0)) return "–";
  const p = (100 * part) / whole;
  return `${p >= 9.95 || p === 0 ? p.toFixed(0) : p.toFixed(1)} %`;
}

/** A tick of an axis: short, with the unit that suits `step`, and seconds
 * where the axis ends at `top` or more of them, as the text beside it does. */
export function tick(ns: number, step: number, top = 0): string {
  if (ns === 0) return "0";
  if (top >= 1e9) return `${+(ns / 1e9).toFixed(4)} s`;
  if (step >= 1e9) return `${Math.round(ns / 1e9)} s`;
  if (step >= 1e6) return `${Math.round(ns / 1e6)} ms`;
  if (step >= 1e3) return ns >= 1e6 ? `${+(ns / 1e6).toFixed(3)} ms` : `${Math.round(ns / 1e3)} us`;
  return `${+(ns / 1e3).toFixed(3)} us`;
}

/** A round step such that an axis of `span` has at most `count` ticks. */
export function tickStep(span: number, count: number): number {
  const raw = Math.max(1, span / Math.max(1, count));
  const power = 10 ** Math.floor(Math.log10(raw));
  for (const m of [1, 2, 5, 10]) if (power * m >= raw) return power * m;
  return power * 10;
}
