// Devices that the log's own lines say were waited for, where there are no callbacks.

import { byId, h } from "../dom.ts";
import type { Model } from "../data/model.ts";
import type { State } from "../state.ts";
import { time } from "../text/time.ts";
import { reveal } from "../text/visible.ts";

/** Lists the waits of the cycle shown, longest first; the section hides if there are none. */
export function waits(model: Model, state: State): void {
  const list = model.captures[state.capture]?.cycle(state.cycle).waits ?? [];
  byId("waits").hidden = list.length === 0;
  byId("wait-list").replaceChildren(...list.map((w) => h("li", { "data-ns": w.duration_ns }, h("b", {}, `${time(w.duration_ns)}: `), reveal(w.text))));
  byId("wait-bound").textContent = list.find((w) => w.bound)?.bound ?? "";
}
