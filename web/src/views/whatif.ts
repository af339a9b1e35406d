// What-if: changes to the machine, and the prediction of the same core that
// the command line runs, as WebAssembly in this page.

import { byId } from "../dom.ts";
import type { Model } from "../data/model.ts";
import type { Store } from "../state.ts";
import type { TimelinePane } from "../timeline/timeline.ts";

export class WhatIf {
  constructor(_model: Model, _store: Store, _changed: () => void) {
    byId("what-if").hidden = true;
  }

  /** The predicted cycle, if there is one. */
  pane(): TimelinePane | null {
    return null;
  }

  /** Buttons for the panel of a device. */
  tools(_device: number): HTMLElement[] {
    return [];
  }

  cycleChanged(): void {}
}
