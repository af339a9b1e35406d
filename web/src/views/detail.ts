// What is known of the selected device: why it started when it did, what it
// waits for and what waits for it, and its place in every cycle.

import { button, byId, h, s } from "../dom.ts";
import type { Detail } from "../data/detail.ts";
import type { PlaceBlock } from "../data/format.ts";
import type { Capture, Model } from "../data/model.ts";
import { paint } from "../palette.ts";
import type { Selection, Store } from "../state.ts";
import { time } from "../text/time.ts";
import { visible } from "../text/visible.ts";

/** A cycle as the panel needs it; the pane of the selection. */
export interface Shown {
  capture: Capture;
  detail: Detail | null;
  title: string;
}

/** Fills the panel for `selection`. `tools` are further buttons, for what-if. */
export async function showDetail(
  model: Model,
  store: Store,
  selection: Selection | null,
  shown: Shown | null,
  tools: (device: number) => HTMLElement[],
): Promise<void> {
  const panel = byId("detail");
  if (!selection || !shown) {
    panel.replaceChildren(
      h("p", { class: "quiet" }, "Choose a callback in the timeline or a device in the table to see why it started when it did."),
    );
    return;
  }
  const { capture, detail } = shown;
  const device = selection.device;
  const flag = ["not known", "synchronous", "asynchronous"][capture.data.devices.async[device] ?? 0] ?? "";
  const about = capture.about(device);
  panel.replaceChildren(
    h("h3", {}, h("bdi", {}, visible(capture.deviceName(device)))),
    about ? h("p", { class: "about" }, visible(about)) : "",
    facts([
      ["Driver", visible(capture.driver(device)) || "not in the log"],
      ["power/async", flag],
    ]),
    h("div", { class: "tools" }, ...tools(device)),
    detail ? callbacks(model, store, selection, capture, detail) : h("p", {}, "The callbacks of this cycle are left out of the page."),
    relations(store, selection, capture),
    h("div", { id: "places" }),
  );
  const places = await capture.places();
  const target = document.getElementById("places");
  if (places && target && store.state.selection === selection) target.replaceChildren(...placesOf(model, store, capture, places, device));
}

function facts(rows: [string, string][]): HTMLElement {
  return h("dl", {}, ...rows.flatMap(([k, v]) => [h("dt", {}, k), h("dd", {}, v)]));
}

/** Every callback of the device in this cycle, with the reason of its start. */
function callbacks(model: Model, store: Store, selection: Selection, capture: Capture, d: Detail): HTMLElement {
  const list = d.ofDevice.get(selection.device) ?? [];
  if (list.length === 0) return h("p", {}, "It ran no callback in this cycle.");
  const items = list.slice(0, 40).map((c) => {
    const phase = d.phase[c] ?? 0;
    const swatch = s("svg", { class: "swatch", viewBox: "0 0 10 10", "aria-hidden": "true" });
    swatch.append(s("rect", { width: 10, height: 10, fill: paint(model.summary.phases[phase]).fill }));
    const pick = button(model.phaseLabel(phase), () => store.set({ selection: { ...selection, callback: c } }), {
      class: "link",
      "aria-pressed": String(c === selection.callback),
    });
    const thread = d.threads[d.thread[c] ?? 0];
    const error = d.errors.get(c);
    // A trace names the type of a callback where a log names the function.
    const name = visible(d.functionOf(c));
    const fn = /^(type|class|bus|driver|power domain|noirq|early|late)$/.test(name) ? `${name === "type" ? "device-type" : name} callback` : name;
    const notes = [
      fn,
      thread ? `on ${thread.main ? "the main thread" : visible(thread.name) || "thread"}${thread.pid ? ` [${thread.pid}]` : ""}` : "",
      error === undefined ? "" : `failed with ${error}`,
      d.open.has(c) ? "its end is not in the log" : "",
      d.onPath[c] ? "on the critical path" : "",
    ].filter((t) => t !== "");
    return h(
      "li",
      { class: c === selection.callback ? "chosen" : null },
      h("div", {}, swatch, pick, ` ${time((d.end[c] ?? 0) - (d.start[c] ?? 0))}`),
      h("div", { class: "quiet" }, notes.join(", ")),
      h("div", { class: "why" }, why(model, capture, d, c)),
    );
  });
  const more = list.length > 40 ? h("p", { class: "quiet" }, `${list.length - 40} more callbacks are in the timeline.`) : null;
  return h("div", {}, h("h4", {}, "Callbacks"), h("ul", { class: "callbacks" }, ...items), more);
}

/** Why callback `c` started when it did. */
export function why(model: Model, capture: Capture, d: Detail, c: number): string {
  const text = model.reason(d.reason[c] ?? 0);
  const cause = d.cause[c] ?? -1;
  if (cause < 0) return text ? `Start: ${text}.` : "";
  const gap = (d.start[c] ?? 0) - (d.end[cause] ?? 0);
  const name = visible(capture.deviceName(d.device[cause] ?? 0));
  return `Start: ${text} ${name}, which ended ${time(Math.abs(gap))} ${gap < 0 ? "after" : "before"}.`;
}

function relations(store: Store, selection: Selection, capture: Capture): HTMLElement {
  const near = capture.neighbours(selection.device);
  const group = (title: string, devices: number[]): HTMLElement[] =>
    devices.length === 0
      ? []
      : [
          h("dt", {}, title),
          h(
            "dd",
            {},
            ...devices.slice(0, 24).flatMap((d, i) => [
              i > 0 ? ", " : "",
              button(visible(capture.deviceName(d)), () => store.set({ selection: { pane: selection.pane, device: d, callback: -1 } }), { class: "link" }),
            ]),
            devices.length > 24 ? ` and ${devices.length - 24} more` : null,
          ),
        ];
  const rows = [
    ...group("Parent", near.parent >= 0 ? [near.parent] : []),
    ...group("Suppliers", near.suppliers),
    ...group("Children", near.children),
    ...group("Consumers", near.consumers),
  ];
  const note = capture.data.links_known ? "" : "This source does not list device links; suppliers and consumers may exist.";
  return h("div", {}, h("h4", {}, "Superiors and subordinates"), h("dl", {}, ...rows), note ? h("p", { class: "quiet" }, note) : null);
}

/** The device's time in every cycle, as bars, and its distribution by phase. */
function placesOf(model: Model, store: Store, capture: Capture, block: PlaceBlock, device: number): (Node | string)[] {
  const nodes: (Node | string)[] = [];
  const at = block.series.device.indexOf(device);
  const total = block.series.total[at];
  if (total && total.length > 1) {
    const values = total.map((t) => (t < 0 ? -1 : t * block.unit));
    const most = Math.max(1, ...values);
    const width = 300 / values.length;
    const svg = s("svg", { class: "places", viewBox: "0 0 300 50", preserveAspectRatio: "none", role: "img", "aria-label": `Time in each of ${values.length} cycles, at most ${time(most)}` });
    values.forEach((v, i) => {
      const height = v <= 0 ? 0.5 : (48 * v) / most;
      const rect = s("rect", { class: i === store.state.cycle ? "chosen" : "bar", x: i * width, y: 50 - height, width: Math.max(width - 0.6, 0.6), height });
      rect.append(s("title", {}, `Cycle ${i + 1}: ${v < 0 ? "did not run" : time(v)}`));
      svg.append(rect);
    });
    nodes.push(h("h4", {}, "In every cycle"), svg, h("p", { class: "quiet" }, `Total time of the device in each cycle, from 0 to ${time(most)}.`));
  }
  const st = block.phase_stats;
  const rows: HTMLElement[] = [];
  st.device.forEach((d, i) => {
    if (d !== device) return;
    const cell = (column: number[]): HTMLElement => h("td", {}, time((column[i] ?? 0) * block.unit));
    rows.push(
      h("tr", {}, h("th", { scope: "row" }, model.phaseLabel(st.phase[i] ?? 0)), cell(st.min), cell(st.median), cell(st.p95), cell(st.max), h("td", {}, String(st.cycles[i] ?? 0))),
    );
  });
  if (rows.length > 0 && capture.data.cycles.length > 1) {
    const head = ["Phase", "Least", "Median", "95 %", "Most", "Cycles"].map((t) => h("th", { scope: "col" }, t));
    nodes.push(h("h4", {}, "Over all cycles"), h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Times over all cycles" }, h("table", { class: "rows" }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows))));
  }
  return nodes;
}
