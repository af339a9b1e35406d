// What the doctor says of the capture, with what shows it and what to do.

import { byId, h } from "../dom.ts";
import type { FindingData } from "../data/format.ts";
import type { Model } from "../data/model.ts";
import type { State } from "../state.ts";
import { reveal } from "../text/visible.ts";

const LEVEL = { broken: "error", slow: "warning", risk: "warning", note: "info" };

/** Lists the findings of the capture shown; the section hides if there are none. */
export function findings(model: Model, state: State): void {
  const list = model.captures[state.capture]?.data.findings ?? [];
  byId("findings").hidden = list.length === 0;
  byId("finding-list").replaceChildren(...list.map(item));
}

/** The findings that concern the row called `label`. */
export function concerning(list: FindingData[], label: string, direction: string): FindingData[] {
  // Freezing is one row or two, and CPUs are counted in the label.
  const begins = (row: string): boolean => (row === "freeze" || row === "CPUs off") && label.startsWith(row);
  return list.filter(({ row }) => row === label || `${row} ${direction}` === label || begins(row));
}

function item(f: FindingData): HTMLElement {
  const advice = f.advice.map(([text, undo, risk]) =>
    h("li", {}, reveal(text), undo ? h("div", { class: "quiet" }, `Undo: ${undo}`) : null, risk ? h("div", { class: "quiet" }, `Risk: ${risk}`) : null),
  );
  return h(
    "li",
    { class: LEVEL[f.level], "data-rule": f.id },
    h("b", {}, `${f.level[0]?.toUpperCase()}${f.level.slice(1)}, ${f.row}: `),
    reveal(f.saved ? `${f.sentence} ${f.saved}` : f.sentence),
    h(
      "details",
      {},
      h("summary", {}, `${f.id}, ${f.confidence}: evidence and advice`),
      h("ul", {}, ...f.evidence.map((e) => h("li", {}, h("code", {}, reveal(e))))),
      h("ul", { class: "advice" }, ...advice),
    ),
  );
}
