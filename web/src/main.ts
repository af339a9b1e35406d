// Starts the page: reads the data, makes the views, connects them.

import { readBlock } from "./data/blocks.ts";
import type { RowData, Summary } from "./data/format.ts";
import { Model } from "./data/model.ts";
import { byId, h } from "./dom.ts";
import { Store } from "./state.ts";
import { theme } from "./theme.ts";
import { Timeline, type TimelinePane } from "./timeline/timeline.ts";
import { answer } from "./views/answer.ts";
import { Compare } from "./views/compare.ts";
import { cycles } from "./views/cycles.ts";
import { showDetail, type Shown } from "./views/detail.ts";
import { DeviceTable } from "./views/devices.ts";
import { findings } from "./views/findings.ts";
import { waits } from "./views/waits.ts";
import { whole } from "./views/whole.ts";
import { notes } from "./views/notes.ts";
import { WhatIf } from "./views/whatif.ts";
import { visible } from "./text/visible.ts";

async function start(): Promise<void> {
  const summary = await readBlock<Summary>(0);
  if (summary.schema !== "dormouse-report/1") throw new Error(`this page cannot read ${String(summary.schema)}`);
  const model = new Model(summary);
  document.title = visible(summary.title);
  byId("version").textContent = `dormouse ${summary.version}`;
  const first = summary.captures[0];
  const store = new Store({ capture: 0, cycle: first?.median_cycle ?? 0, selection: null, rows: "thread", search: "" });
  const timeline = new Timeline(model, store);
  const table = new DeviceTable(model, store);
  const compare = new Compare(model, store);
  let panes: TimelinePane[] = [];

  const whatIf = new WhatIf(model, store, () => void redraw(true));

  const redraw = async (keepView: boolean): Promise<void> => {
    const { capture: c, cycle } = store.state;
    const next: TimelinePane[] = [];
    const add = async (index: number, at: number, title: string): Promise<void> => {
      const capture = model.captures[index];
      const data = capture?.cycle(at);
      const detail = await capture?.detail(at);
      if (!capture || !data || !detail) return;
      next.push({ title, capture, detail, halves: { asleep: data.asleep, length: data.length_ns }, rows: data.rows });
    };
    const predicted = whatIf.pane();
    const others = predicted ? [] : compare.others();
    await add(c, cycle, predicted ? "Observed" : visible(model.captures[c]?.data.label ?? ""));
    if (store.state.capture !== c || store.state.cycle !== cycle) return;
    for (const other of others) await add(other, model.captures[other]?.data.median_cycle ?? 0, visible(model.captures[other]?.data.label ?? ""));
    if (predicted) next.push(predicted);
    panes = next;
    // A cycle without callbacks has an empty timeline: say how to get some instead.
    const silent = model.captures[c]?.cycle(cycle).callbacks === 0;
    byId("timeline-silent").hidden = !silent;
    byId("timeline-missing").hidden = silent || panes.length > 0;
    byId("timeline-box").hidden = silent || panes.length === 0;
    timeline.show(panes, keepView);
    document.body.dataset["readyMs"] ??= performance.now().toFixed(0);
    document.body.dataset["ready"] = "true";
  };

  const reveal = (row: RowData): void => {
    timeline.reveal(0, row.start_ns, row.start_ns + row.duration_ns);
    byId("timeline-box").scrollIntoView({ block: "nearest" });
  };

  const drawTop = (): void => {
    answer(model, store.state, reveal);
    cycles(model, store.state, (cycle) => store.set({ cycle, selection: null }));
    findings(model, store.state);
    waits(model, store.state);
    whole(model, store.state);
    notes(model, store.state);
  };

  const drawDetail = (): void => {
    const { selection } = store.state;
    const pane = selection ? panes[selection.pane] : undefined;
    const capture = model.captures[store.state.capture];
    const shown: Shown | null = pane ?? (capture ? { capture, detail: null, title: "" } : null);
    void showDetail(model, store, selection, shown, (device) => whatIf.tools(device));
  };

  store.on((state, before) => {
    if (state.capture !== before.capture || state.cycle !== before.cycle) {
      drawTop();
      whatIf.cycleChanged();
      void redraw(false).then(drawDetail);
    }
    if (state.selection !== before.selection) drawDetail();
  });

  theme(byId("theme"), () => timeline.recolour());
  drawTop();
  table.draw();
  drawDetail();
  await redraw(false);
  drawDetail();
}

start().catch((error: unknown) => {
  byId("answer").textContent = "This report cannot be shown.";
  byId("top").append(h("p", { role: "alert" }, error instanceof Error ? error.message : String(error)));
});
