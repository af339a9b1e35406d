// A sleep from the request to a machine that can be used, as the screen tells it.

import { byId, h } from "../dom.ts";
import type { Model } from "../data/model.ts";
import type { State } from "../state.ts";
import { reveal, visible } from "../text/visible.ts";

/** Draws the table of the capture shown; the section hides if there is none. */
export function whole(model: Model, state: State): void {
  const table = model.captures[state.capture]?.data.whole ?? null;
  byId("whole").hidden = table === null;
  if (!table) return;
  byId("whole-title").textContent = visible(table.title);
  byId("whole-head").replaceChildren(...table.head.map((name) => h("th", { scope: "col" }, name)));
  const cell = (text: string, i: number, notes: string[]): HTMLElement =>
    i > 0 ? h("td", {}, reveal(text)) : h("th", { scope: "row" }, reveal(text), ...notes.map((n) => h("div", { class: "quiet" }, reveal(n))));
  byId("whole-rows").replaceChildren(...table.rows.map((row) => h("tr", {}, ...row.cells.map((text, i) => cell(text, i, row.notes)))));
  byId("whole-notes").replaceChildren(...table.notes.map((n) => h("p", { class: "quiet" }, reveal(n))));
}
