// The top of the page: the sentence that matters, the two totals, the phases.

import { byId, h, s } from "../dom.ts";
import type { CycleData, RowData } from "../data/format.ts";
import type { Capture, Model } from "../data/model.ts";
import { paint } from "../palette.ts";
import { concerning } from "./findings.ts";
import type { State } from "../state.ts";
import { percent, time } from "../text/time.ts";
import { reveal, visible } from "../text/visible.ts";

/** Draws the first screen for the chosen capture and cycle. */
export function answer(model: Model, state: State, pick: (row: RowData) => void): void {
  const capture = model.captures[state.capture];
  if (!capture) return;
  const cycle = capture.cycle(state.cycle);
  const many = capture.data.cycles.length > 1;
  // The cycle shown first stands for all of them; any other speaks for itself.
  const all = many && state.cycle === capture.data.median_cycle;
  const own = all ? capture.data.answer : cycle.answer || capture.data.answer;
  byId("answer").textContent = reveal(compared(model) ?? own).slice(0, 4000);
  caution(capture);
  byId("machine").textContent = [
    capture.data.model || capture.data.host,
    cycle.kernel ? `kernel ${cycle.kernel}` : "",
    cycle.mode === "unknown" ? "" : cycle.mode,
    cycle.outcome === "slept" ? "" : `${cycle.outcome.replaceAll("_", " ")} ${cycle.outcome_detail}`.trim(),
    capture.data.cpus ? `${capture.data.cpus} CPUs` : "",
  ]
    .filter((t) => t !== "")
    .map((t) => visible(t))
    .join(" · ");
  const which = model.captures.length > 1 ? `Drawn: ${visible(capture.data.label)}. ` : "";
  byId("cycle-shown").textContent = many
    ? `${which}Cycle ${state.cycle + 1} of ${capture.data.cycles.length}${state.cycle === capture.data.median_cycle ? ", the one nearest to the median" : ""}: ${visible(cycle.source)}`
    : which + visible(cycle.source);
  byId("phases").replaceChildren(half(model, capture, cycle, "suspend", pick), half(model, capture, cycle, "resume", pick));
}

/** The two halves of a comparison in a sentence each: it is what was asked. */
function compared(model: Model): string | null {
  const said = model.summary.compare?.sentences.filter((t) => /^(Suspend|Resume):/.test(t)).slice(0, 2) ?? [];
  // The first sentence of each; the rest stands below.
  const halves = said.map((t) => `${(t.split(". ")[0] ?? "").replace(/\.$/, "")}.`);
  if (halves.length === 0) return null;
  return `${model.captures.map((c) => c.data.label).join(" → ")}: ${halves.join(" ")}`;
}

/** What makes the answer uncertain stands under it, not at the end of the page. */
function caution(capture: Capture): void {
  const worst = capture.data.losses.filter((l) => l.severity !== "info");
  byId("caution").hidden = worst.length === 0;
  byId("caution").replaceChildren(...worst.slice(0, 3).map((l) => h("p", {}, `Caution: ${reveal(l.advice)}`)));
}

function half(model: Model, capture: Capture, cycle: CycleData, direction: "suspend" | "resume", pick: (row: RowData) => void): HTMLElement {
  const total = direction === "suspend" ? cycle.suspend_ns : cycle.resume_ns;
  const rows = joined(cycle.rows.filter((r) => r.direction === direction && model.summary.phases[r.phase]?.name !== "asleep"));
  const sentence = cycle.answers[direction === "suspend" ? 0 : 1];
  const sum = rows.reduce((n, r) => n + r.duration_ns, 0);
  return h(
    "section",
    { class: "half", "aria-label": direction },
    h(
      "h2",
      {},
      `${direction === "suspend" ? "Suspend" : "Resume"} `,
      h("span", { class: "total", id: `total-${direction}`, "data-ns": total ?? "" }, total === null ? "not in this log" : time(total)),
    ),
    sentence && sentence !== cycle.answer ? h("p", { class: "sentence" }, reveal(sentence).slice(0, 4000)) : null,
    rows.length > 0 ? bar(model, rows, sum) : h("p", { class: "quiet" }, "No phase of this half was recorded."),
    rows.length > 0 ? table(model, capture, rows, sum, pick) : null,
  );
}

/** CPUs that go off or come on one by one are one row, as in a terminal. */
function joined(rows: RowData[]): RowData[] {
  const out: RowData[] = [];
  for (const row of rows) {
    const first = row.cpu < 0 ? undefined : out.find((r) => r.cpu >= 0 && r.phase === row.phase);
    if (!first) {
      out.push({ ...row });
      continue;
    }
    first.duration_ns += row.duration_ns;
    const n = rows.filter((r) => r.cpu >= 0 && r.phase === row.phase).length;
    first.label = `CPUs ${row.direction === "suspend" ? "off" : "on"} (${n})`;
  }
  return out;
}

function bar(model: Model, rows: RowData[], sum: number): SVGElement {
  const svg = s("svg", {
    class: "bar",
    viewBox: "0 0 1000 26",
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": rows.map((r) => `${r.label} ${time(r.duration_ns)}`).slice(0, 40).join(", "),
  });
  let x = 0;
  for (const row of rows) {
    const width = sum > 0 ? (1000 * row.duration_ns) / sum : 0;
    const colour = paint(model.summary.phases[row.phase]);
    const rect = s("rect", { x, y: 0, width: Math.max(width - 1, 0.4), height: 26, fill: colour.fill });
    rect.append(s("title", {}, `${row.label}: ${time(row.duration_ns)}, ${percent(row.duration_ns, sum)}`));
    svg.append(rect);
    x += width;
  }
  return svg;
}

/** Rows shorter than this share of their half are folded into one. */
const SMALL = 0.004;

function table(model: Model, capture: Capture, rows: RowData[], sum: number, pick: (row: RowData) => void): HTMLElement {
  const body = h("tbody");
  const small: RowData[] = [];
  const add = (row: RowData, extra = ""): void => {
    const swatch = s("svg", { class: "swatch", viewBox: "0 0 10 10", "aria-hidden": "true" });
    swatch.append(s("rect", { width: 10, height: 10, fill: paint(model.summary.phases[row.phase]).fill }));
    const name = h("button", { type: "button", class: "link", title: "Show it in the timeline" }, row.label);
    name.addEventListener("click", () => pick(row));
    const found = concerning(capture.data.findings, row.label, row.direction);
    const mark = found.length > 0 ? h("a", { href: "#findings", class: "mark", title: found.map((f) => f.sentence).join(" ") }, ` ${found[0]?.level ?? ""}`) : null;
    body.append(
      h(
        "tr",
        { "data-phase": row.label, "data-ns": row.duration_ns, class: extra },
        h("th", { scope: "row" }, swatch, name, mark),
        h("td", {}, time(row.duration_ns)),
        h("td", {}, percent(row.duration_ns, sum)),
        h("td", {}, row.callbacks > 0 ? String(row.callbacks) : ""),
      ),
    );
  };
  for (const row of rows) {
    if (row.duration_ns < sum * SMALL && rows.length > 6) small.push(row);
    else add(row);
  }
  if (small.length > 0) {
    const total = small.reduce((n, r) => n + r.duration_ns, 0);
    const more = h("button", { type: "button", class: "link" }, `${small.length} shorter rows`);
    const tr = h(
      "tr",
      {},
      h("th", { scope: "row" }, more),
      h("td", {}, time(total)),
      h("td", {}, percent(total, sum)),
      h("td", {}, String(small.reduce((n, r) => n + r.callbacks, 0) || "")),
    );
    body.append(tr);
    more.addEventListener("click", () => {
      tr.remove();
      small.forEach((r) => add(r, "small"));
      (body.querySelector("tr.small button") as HTMLElement | null)?.focus();
    });
  }
  return h(
    "table",
    { class: "rows" },
    h(
      "thead",
      {},
      h("tr", {}, h("th", { scope: "col" }, "Phase"), h("th", { scope: "col" }, "Time"), h("th", { scope: "col" }, "Share"), h("th", { scope: "col" }, "Callbacks")),
    ),
    body,
  );
}
