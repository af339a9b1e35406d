// Durations in the words that the command line uses, so that a number on the
// page and one in a terminal can be compared by eye.

/** `740 ns`, `12.3 us`, `4.56 ms`, `1.234 s`: cut, not rounded, like the core. */
export function time(ns: number): string {
  const sign = ns < 0 ? "-" : "";
  const n = Math.abs(Math.trunc(ns));
  const part = (whole: number, step: number, digits: number): string =>
    String(Math.floor((n % whole) / step)).padStart(digits, "0");
  if (n < 1e3) return `${sign}${n} ns`;
  if (n < 1e6) return `${sign}${Math.floor(n / 1e3)}.${part(1e3, 100, 1)} us`;
  if (n < 1e9) return `${sign}${Math.floor(n / 1e6)}.${part(1e6, 1e4, 2)} ms`;
  return `${sign}${Math.floor(n / 1e9)}.${part(1e9, 1e6, 3)} s`;
}

/** A share as `62 %`, with one digit more below ten. */
export function percent(part: number, whole: number): string {
  if (!(whole > 0)) return "–";
  const p = (100 * part) / whole;
  return `${p >= 9.95 || p === 0 ? p.toFixed(0) : p.toFixed(1)} %`;
}

/** A tick of an axis: short, with the unit that suits `step`. */
export function tick(ns: number, step: number): string {
  if (ns === 0) return "0";
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
