// Several captures in one report: which one is shown, and how they differ.

import { byId, h } from "../dom.ts";
import type { Model } from "../data/model.ts";
import type { Store } from "../state.ts";
import { time } from "../text/time.ts";
import { reveal, visible } from "../text/visible.ts";

export class Compare {
  readonly #model: Model;
  readonly #store: Store;

  constructor(model: Model, store: Store) {
    this.#model = model;
    this.#store = store;
    const section = byId("compare");
    section.hidden = model.captures.length < 2;
    if (section.hidden) return;
    this.#draw();
    store.on((state, before) => {
      if (state.capture !== before.capture) this.#draw();
    });
  }

  /** Captures that the timeline shows below the chosen one. */
  others(): number[] {
    return this.#model.captures.map((_, i) => i).filter((i) => i !== this.#store.state.capture).slice(0, 3);
  }

  #draw(): void {
    const { captures, summary } = this.#model;
    const now = this.#store.state.capture;
    byId("captures").replaceChildren(
      ...captures.map((c, i) => {
        const pick = h("button", { type: "button", "aria-pressed": String(i === now), "data-capture": i }, visible(c.data.label));
        pick.addEventListener("click", () => this.#store.set({ capture: i, cycle: c.data.median_cycle, selection: null }));
        return pick;
      }),
    );
    const comparison = summary.compare;
    byId("differences").replaceChildren(...(comparison?.sentences ?? []).map((t) => h("li", {}, reveal(t))));
    byId("compare-head").replaceChildren(
      h("th", { scope: "col" }, "Median"),
      ...captures.map((c) => h("th", { scope: "col" }, visible(c.data.label))),
      h("th", { scope: "col" }, "Difference"),
    );
    byId("compare-rows").replaceChildren(
      ...(comparison?.rows ?? []).map((r) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, reveal(r.label)),
          ...r.median_ns.map((t) => h("td", { "data-ns": t ?? "" }, t === null ? "" : time(t))),
          h("td", {}, reveal(r.difference)),
        ),
      ),
    );
  }
}
