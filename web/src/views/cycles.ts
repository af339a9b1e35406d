// The distribution over cycles: one dot a cycle; outliers are named and every
// dot can be chosen.

import { button, byId, h, s } from "../dom.ts";
import type { CycleData } from "../data/format.ts";
import type { Capture, Model } from "../data/model.ts";
import type { State } from "../state.ts";
import { tick, tickStep, time } from "../text/time.ts";
import { reveal, visible } from "../text/visible.ts";

/** Draws the distribution, or nothing for a single cycle. */
export function cycles(model: Model, state: State, choose: (cycle: number) => void): void {
  const capture = model.captures[state.capture];
  const section = byId("cycles");
  section.hidden = !capture || capture.data.cycles.length < 2;
  if (!capture || section.hidden) return;
  byId("cycle-dots").replaceChildren(
    strip(capture, state, "Suspend", (c) => c.suspend_ns, choose),
    strip(capture, state, "Resume", (c) => c.resume_ns, choose),
    legend(),
  );
  const pick = byId("cycle-pick") as HTMLSelectElement;
  if (pick.options.length !== capture.data.cycles.length || pick.dataset["capture"] !== String(state.capture)) {
    pick.dataset["capture"] = String(state.capture);
    pick.replaceChildren(...capture.data.cycles.map((c, i) => h("option", { value: i }, `${i + 1}: ${visible(c.source)}`)));
    pick.onchange = () => choose(Number(pick.value));
  }
  pick.value = String(state.cycle);
  const outliers = capture.data.cycles
    .map((c, i) => ({ c, i }))
    .filter(({ c }) => c.outlier !== "" || c.first_after_boot);
  byId("outliers").replaceChildren(
    ...outliers.slice(0, 30).map(({ c, i }) =>
      h(
        "li",
        {},
        button(`Cycle ${i + 1}`, () => choose(i), { "aria-pressed": String(i === state.cycle), "data-cycle": i }),
        ` ${c.first_after_boot ? "First cycle after boot, shown apart. " : ""}${reveal(c.outlier)}`,
      ),
    ),
    h(
      "li",
      {},
      button("Median cycle", () => choose(capture.data.median_cycle), {
        "aria-pressed": String(state.cycle === capture.data.median_cycle),
        "data-cycle": capture.data.median_cycle,
      }),
      outliers.length === 0 ? " No cycle differs enough to be called an outlier." : " The cycle nearest to the median of all.",
    ),
  );
  byId("phase-stats").replaceChildren(
    ...capture.data.phase_stats.map((p) =>
      h(
        "tr",
        { "data-phase": p.label },
        h("th", { scope: "row" }, p.label),
        ...[p.min_ns, p.median_ns, p.p95_ns, p.max_ns].map((t) => h("td", { "data-ns": t }, time(t))),
        h("td", {}, String(p.cycles)),
      ),
    ),
  );
}

/** As the command line computes it: the mean of the two in the middle. */
function median(sorted: number[]): number {
  const at = Math.floor(sorted.length / 2);
  const high = sorted[at] ?? 0;
  return sorted.length % 2 === 1 ? high : Math.floor(((sorted[at - 1] ?? high) + high) / 2);
}

/** What the colours of the dots mean. */
function legend(): HTMLElement {
  const entry = (kind: string, text: string): HTMLElement => {
    const svg = s("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" });
    svg.append(s("circle", { class: kind, cx: 5, cy: 5, r: 4.5 }));
    return h("span", {}, svg, text);
  };
  return h("p", { class: "quiet legend" }, entry("key chosen", "shown"), entry("key first", "first after boot"), entry("key out", "outlier"), entry("key", "other cycles"));
}

const WIDTH = 1000;
const HEIGHT = 64;
/** Width of a dot; dots stand in columns of this width. */
const DOT = 9;

function strip(
  capture: Capture,
  state: State,
  title: string,
  value: (c: CycleData) => number | null,
  choose: (cycle: number) => void,
): HTMLElement {
  const all = capture.data.cycles.map((c, i) => ({ c, i, v: value(c) })).filter((p): p is { c: CycleData; i: number; v: number } => p.v !== null);
  if (all.length === 0) return h("p", { class: "quiet" }, `${title}: no cycle has this half.`);
  const sorted = all.map((p) => p.v).sort((a, b) => a - b);
  const low = sorted[0] ?? 0;
  const high = sorted[sorted.length - 1] ?? 1;
  const margin = Math.max((high - low) * 0.06, high * 0.005, 1);
  const x = (v: number): number => ((v - low + margin) / (high - low + 2 * margin)) * WIDTH;
  const svg = s("svg", { class: "dots", viewBox: `0 0 ${WIDTH} ${HEIGHT + 22}`, role: "group", "aria-label": `${title} time of each cycle` });
  const step = tickStep(high - low + 2 * margin, 8);
  for (let t = Math.ceil((low - margin) / step) * step; t <= high + margin; t += step) {
    svg.append(s("line", { class: "rule", x1: x(t), x2: x(t), y1: 0, y2: HEIGHT }));
    // A label at an edge stays inside.
    const anchor = x(t) < 40 ? "start" : x(t) > WIDTH - 40 ? "end" : "middle";
    svg.append(s("text", { class: "tick", x: x(t), y: HEIGHT + 17, "text-anchor": anchor }, tick(t, step, high)));
  }
  // As everywhere: the first cycle after boot is no part of the median.
  const usual = all.filter((p) => !p.c.first_after_boot);
  const counted = usual.length > 0 ? usual : all;
  const middle = median(counted.map((p) => p.v).sort((a, b) => a - b));
  const left = all.length - counted.length;
  svg.append(s("line", { class: "median", x1: x(middle), x2: x(middle), y1: 0, y2: HEIGHT }));
  // Dots that would cover each other are stacked.
  const columns = new Map<number, number>();
  all.sort((a, b) => a.v - b.v);
  for (const { c, i, v } of all) {
    const column = Math.round(x(v) / DOT);
    const place = columns.get(column) ?? 0;
    columns.set(column, place + 1);
    const kind = i === state.cycle ? "dot chosen" : c.first_after_boot ? "dot first" : c.outlier ? "dot out" : "dot";
    const cy = HEIGHT - 7 - ((place * DOT) % (HEIGHT - DOT));
    const dot = s("circle", { class: kind, cx: column * DOT, cy, r: 4.5 });
    dot.append(s("title", {}, `Cycle ${i + 1}, ${title.toLowerCase()} ${time(v)}${c.outlier ? `: ${visible(c.outlier)}` : ""}`));
    dot.addEventListener("click", () => choose(i));
    svg.append(dot);
  }
  return h("figure", {}, h("figcaption", {}, `${title}: median ${time(middle)} of ${counted.length} cycles${left > 0 ? ` (${left} left out: first after boot)` : ""}; all ${time(low)} to ${time(high)}`), svg);
}
