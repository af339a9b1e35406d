// What the log could not say and what the page leaves out.

import { byId, h } from "../dom.ts";
import type { Model } from "../data/model.ts";
import type { State } from "../state.ts";
import { reveal } from "../text/visible.ts";

/** Lists losses and omissions. */
export function notes(model: Model, state: State): void {
  const capture = model.captures[state.capture];
  const order = { error: 0, warning: 1, info: 2 };
  const losses = [...(capture?.data.losses ?? [])].sort((a, b) => order[a.severity] - order[b.severity]);
  byId("left-out").replaceChildren(...model.summary.left_out.map((text) => h("li", {}, reveal(text))));
  byId("losses").replaceChildren(
    ...losses.map((l) =>
      h("li", { class: l.severity }, h("b", {}, `${l.severity}: `), `${l.kind.replaceAll("_", " ")}, ${l.count} ${l.count === 1 ? "time" : "times"}. ${reveal(l.advice)}`),
    ),
  );
  byId("notes").hidden = losses.length === 0 && model.summary.left_out.length === 0;
}
