// Time on the screen. The time asleep may be hours, so it is folded into a
// narrow strip; and the two halves of every pane start at the same place, so
// that panes can be compared by eye.

/** Maps the time of one pane to the shared axis and back. */
export interface Fold {
  /** Where the way down ends and the way up begins, in time of the pane. */
  down: number;
  up: number;
  /** Where the way up begins on the axis. */
  resumeAt: number;
  /** Length of the pane on the axis. */
  length: number;
}

export interface Halves {
  asleep: [number, number] | null;
  length: number;
}

/** Folds for panes that share an axis. */
export function folds(panes: Halves[]): { folds: Fold[]; length: number; strip: [number, number] | null } {
  const suspend = Math.max(0, ...panes.map((p) => (p.asleep ? p.asleep[0] : 0)));
  const resume = Math.max(0, ...panes.map((p) => (p.asleep ? p.length - p.asleep[1] : 0)));
  const strip = panes.some((p) => p.asleep) ? (suspend + resume) * 0.025 : 0;
  const list = panes.map((p) => {
    if (!p.asleep) return { down: Infinity, up: Infinity, resumeAt: Infinity, length: p.length };
    const resumeAt = suspend + strip;
    return { down: p.asleep[0], up: p.asleep[1], resumeAt, length: resumeAt + p.length - p.asleep[1] };
  });
  return {
    folds: list,
    length: Math.max(1, ...list.map((f) => f.length)),
    strip: strip > 0 ? [suspend, suspend + strip] : null,
  };
}

/** Axis position of the time `t` of a pane. */
export function toAxis(f: Fold, t: number): number {
  if (t <= f.down) return t;
  if (t >= f.up) return f.resumeAt + t - f.up;
  const asleep = f.up - f.down;
  return f.down + ((f.resumeAt - f.down) * (t - f.down)) / asleep;
}

/** The part of the axis that is in view. */
export interface View {
  from: number;
  to: number;
}

/** Zooms `view` by `factor` around `at`, kept inside the axis. */
export function zoom(view: View, at: number, factor: number, length: number): View {
  const span = Math.min(length * 1.02, Math.max(50, (view.to - view.from) * factor));
  const share = (at - view.from) / Math.max(1, view.to - view.from);
  return clamp({ from: at - share * span, to: at + (1 - share) * span }, length);
}

/** Moves `view` by `delta`. */
export function pan(view: View, delta: number, length: number): View {
  return clamp({ from: view.from + delta, to: view.to + delta }, length);
}

function clamp(view: View, length: number): View {
  const span = view.to - view.from;
  const margin = length * 0.01;
  let from = Math.max(-margin, view.from);
  if (from + span > length + margin) from = Math.max(-margin, length + margin - span);
  return { from, to: from + span };
}
