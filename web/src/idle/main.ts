// Starts the page of idle states.

import { readBlock } from "../data/blocks.ts";
import { button, byId, h, s } from "../dom.ts";
import { reveal, visible } from "../text/visible.ts";
import { theme } from "../theme.ts";
import { COLOURS, type Cpu, cpus, name, span, type Summary, verdict } from "./data.ts";
import { type Picked, Strips } from "./strips.ts";
import { whatIf } from "./whatif.ts";

async function start(): Promise<void> {
  const summary = await readBlock<Summary>(0);
  if (summary.schema !== "dormouse-report/1" || summary.subject !== "idle") {
    throw new Error(`this page cannot read ${String(summary.schema)} of ${String(summary.subject)}`);
  }
  document.title = visible(summary.title);
  byId("version").textContent = `dormouse ${summary.version}`;
  byId("answer").textContent = reveal(summary.answer[0]);
  byId("trust").textContent = reveal(summary.answer[1]);
  byId("figures").textContent = summary.text.split("\n").map(reveal).join("\n");
  byId("left-out").append(...summary.left_out.map((l) => h("li", {}, reveal(l))));
  const list = await cpus(summary);
  const strips = new Strips(list, [summary.begin_ns, summary.end_ns], (picked) => detail(summary, picked));
  byId("strips-tools").append(
    button("Previous wrong sleep", () => strips.step(false), { id: "previous" }),
    button("Next wrong sleep", () => strips.step(true), { id: "next" }),
    button("+", () => strips.zoom(1 / 1.6), { "aria-label": "Zoom in" }),
    button("−", () => strips.zoom(1.6), { "aria-label": "Zoom out" }),
  );
  legend(list);
  histogram(list);
  byId("detail").append(h("p", { class: "quiet" }, "Select a sleep to see whether its state was right, and what would change it."));
  theme(byId("theme"), () => strips.draw());
  strips.draw();
  await whatIf(summary, list);
  document.body.dataset["readyMs"] = performance.now().toFixed(0);
  document.body.dataset["ready"] = "true";
}

/** Names of states by number, where CPUs differ all of them. */
function names(list: Cpu[]): string[] {
  const most = Math.max(0, ...list.map((c) => Math.max(c.states.length, ...c.state.slice(0, 1_000).map((n) => n + 1))));
  return Array.from({ length: most }, (_, i) => {
    const all = new Set(list.filter((c) => c.states.length === 0 || c.states[i]).map((c) => visible(name(c, i))));
    return [...all].join(", ");
  });
}

function legend(list: Cpu[]): void {
  const key = (colour: string): SVGElement =>
    s("svg", { class: "key", viewBox: "0 0 24 12", "aria-hidden": "true" }, s("rect", { x: 2, y: 1, width: 20, height: 10, fill: colour }));
  byId("legend").append(
    ...names(list).map((n, i) => h("li", {}, key(COLOURS[i % COLOURS.length] ?? ""), n)),
    h("li", {}, "Empty: at work. Drag or arrow keys to move, Ctrl and wheel or + − to zoom, 0 to fit."),
  );
}

/** What a sleep was, and what would change it. */
function detail(summary: Summary, { cpu, sleep }: Picked): void {
  const state = cpu.state[sleep] ?? 0;
  const [, latency, residency] = cpu.states[state] ?? ["", 0, 0, false];
  const slept = (cpu.exit[sleep] ?? 0) - (cpu.enter[sleep] ?? 0);
  const v = verdict(cpu, sleep);
  const called = visible(name(cpu, state));
  const why: Record<typeof v, string> = {
    "too deep": `Too deep: ${called} pays from ${span(residency)} on, and this sleep was shorter.`,
    "too shallow": `Too shallow: the next deeper state would have paid.`,
    right: "The state was right.",
    unknown: "Whether that was right is not known: give a dump of the machine's idle states.",
  };
  const advice =
    v === "too deep"
      ? `dormouse predict ${summary.input} --latency-limit ${Math.max(0, Math.ceil(latency / 1000) - 1)}us@${cpu.number}`
      : v === "too shallow"
        ? `dormouse predict ${summary.input} --governor menu`
        : null;
  const woke = cpu.timer[sleep] === 1 ? "A timer ended it." : "No timer that was recorded ended it.";
  byId("detail").replaceChildren(
    h("h3", {}, `CPU ${cpu.number}: ${span(slept)} in ${called}`),
    h("p", { class: "why" }, why[v]),
    h("p", {}, `It began ${span((cpu.enter[sleep] ?? 0) - summary.begin_ns)} after the begin, sleep ${sleep + 1} of ${cpu.enter.length}. ${woke}`),
    cpu.states[state] ? h("p", {}, `To leave ${called} takes ${span(latency)}: whoever woke the CPU waited for that.`) : h("p", {}),
    advice ? h("p", {}, "To see what another choice would give:") : h("p", {}),
    advice ? h("code", { class: "command" }, reveal(advice)) : h("p", {}),
  );
}

/** Residencies in quarters of an octave, by state, with what each state must last. */
function histogram(list: Cpu[]): void {
  const tables = new Map<string, Cpu[]>();
  for (const c of list) {
    const key = JSON.stringify(c.states);
    tables.set(key, [...(tables.get(key) ?? []), c]);
  }
  const classes = [...tables.values()];
  const draw = (members: Cpu[]): void => byId("histogram").replaceChildren(figure(members));
  if (classes.length > 1) {
    const label = (m: Cpu[]): string => `CPU${m.length > 1 ? "s" : ""} ${m.map((c) => c.number).join(", ")}`;
    const pick = h("select", { id: "histogram-pick" }, ...classes.map((m, i) => h("option", { value: i }, label(m))));
    pick.addEventListener("change", () => draw(classes[Number(pick.value)] ?? []));
    byId("histogram-tools").append(h("label", { for: "histogram-pick" }, "CPUs with one table"), pick);
  }
  draw(classes[0] ?? []);
}

function figure(members: Cpu[]): SVGElement {
  const [width, height, left, bottom] = [900, 220, 50, 24];
  const bins = 4 * 25;
  const bin = (ns: number): number => Math.min(bins - 1, Math.max(0, Math.floor(4 * Math.log2(Math.max(1, ns / 1_000)))));
  const counts: number[][] = [];
  for (const c of members) {
    c.state.forEach((state, i) => {
      const row = (counts[state] ??= new Array<number>(bins).fill(0));
      const at = bin((c.exit[i] ?? 0) - (c.enter[i] ?? 0));
      row[at] = (row[at] ?? 0) + 1;
    });
  }
  const sums = Array.from({ length: bins }, (_, b) => counts.reduce((sum, row) => sum + (row?.[b] ?? 0), 0));
  const last = Math.max(8, sums.reduce((found, n, i) => (n > 0 ? i : found), 0) + 2);
  const most = Math.max(1, ...sums);
  const x = (b: number): number => left + (b * (width - left)) / last;
  const high = (n: number): number => (n * (height - bottom - 10)) / most;
  const bars: SVGElement[] = [];
  for (let b = 0; b < last; b++) {
    let y = height - bottom;
    counts.forEach((row, state) => {
      const n = row?.[b] ?? 0;
      if (n === 0) return;
      y -= high(n);
      bars.push(s("rect", { x: x(b), y, width: Math.max(1, x(1) - x(0) - 1), height: high(n), fill: COLOURS[state % COLOURS.length] ?? "" }));
    });
  }
  const axis: SVGElement[] = [];
  for (let us = 1; bin(us * 1_000) < last; us *= 10) {
    axis.push(s("text", { x: x(bin(us * 1_000)), y: height - 6, class: "tick" }, span(us * 1_000)));
  }
  // The largest number stands for a state that suspend-to-idle alone may enter.
  const states = (members[0]?.states ?? []).filter(([, , residency]) => residency > 0 && residency < 4_294_967_295_000);
  const lines = states.flatMap(([n, , residency], i) => [
    s("line", { x1: x(bin(residency)), x2: x(bin(residency)), y1: 0, y2: height - bottom, class: "median" }),
    s("text", { x: x(bin(residency)) + 3, y: 12 + 14 * (i % 4), class: "tick" }, `${visible(n)} pays`),
  ]);
  const label = `Sleeps by length. ${states.map(([n, , r]) => `${visible(n)} pays from ${span(r)}`).join(", ")}.`;
  return s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, class: "dots-wide" }, ...bars, ...lines, ...axis);
}

start().catch((error: unknown) => {
  byId("answer").textContent = "This report cannot be shown.";
  byId("top").append(h("p", { role: "alert" }, error instanceof Error ? error.message : String(error)));
});
