// The table of devices: sortable, searchable, copied as Markdown.

import { button, byId, copy, h } from "../dom.ts";
import type { Capture, Model } from "../data/model.ts";
import type { Store } from "../state.ts";
import { matches } from "../timeline/timeline.ts";
import { percent, time } from "../text/time.ts";
import { markdownCell, visible } from "../text/visible.ts";

interface Entry {
  device: number;
  suspend: number;
  resume: number;
  path: number;
  gain: number;
  spread: number;
  p95: number;
  max: number;
  cycles: number;
}

type Key = "name" | "suspend" | "resume" | "path" | "gain" | "spread" | "max";

interface Column {
  key: Key;
  title: string;
  help: string;
  value: (e: Entry, c: Capture) => string;
}

const COLUMNS: Column[] = [
  { key: "name", title: "Device", help: "Name, driver, and what the name means", value: (e, c) => c.deviceName(e.device) },
  { key: "suspend", title: "Suspend", help: "Time of its suspend callbacks, median over cycles", value: (e) => time(e.suspend) },
  { key: "resume", title: "Resume", help: "Time of its resume callbacks, median over cycles", value: (e) => time(e.resume) },
  { key: "path", title: "On the critical path", help: "How much of that time the phases waited for it alone", value: (e) => `${time(e.path)} (${percent(e.path, e.suspend + e.resume)} of its own time)` },
  { key: "gain", title: "Saving without it", help: "How much shorter the cycle would be if the device took no time, all else equal", value: (e) => (e.gain < 0 ? "not known" : time(e.gain)) },
  { key: "spread", title: "95 % − least", help: "95th percentile of the total time minus the shortest, over cycles", value: (e) => (e.cycles > 1 ? time(e.spread) : "") },
  { key: "max", title: "Longest", help: "Longest total in one cycle", value: (e) => time(e.max) },
];

const PAGE = 40;

export class DeviceTable {
  readonly #model: Model;
  readonly #store: Store;
  #sort: Key = "gain";
  #down = true;
  #shown = PAGE;

  constructor(model: Model, store: Store) {
    this.#model = model;
    this.#store = store;
    const tools = byId("device-tools");
    const copied = button("Copy as Markdown", () => void copy(this.#markdown(), copied), { id: "copy-markdown" });
    const more = button("Show more", () => {
      this.#shown += 200;
      this.draw();
    }, { id: "more-devices" });
    tools.append(copied);
    byId("device-more").append(more);
    store.on((state, before) => {
      if (state.capture !== before.capture || state.search !== before.search || state.selection !== before.selection) this.draw();
    });
  }

  #entries(): { capture: Capture; entries: Entry[] } {
    const capture = this.#model.captures[this.#store.state.capture];
    if (!capture) throw new Error("there is no such capture");
    const st = capture.data.device_stats;
    const wanted = this.#store.state.search.trim().toLowerCase();
    const entries = st.device.map((device, i) => ({
      device,
      suspend: st.suspend_median[i] ?? 0,
      resume: st.resume_median[i] ?? 0,
      path: st.path_median[i] ?? 0,
      gain: st.gain_median[i] ?? -1,
      spread: (st.total_p95[i] ?? 0) - (st.total_min[i] ?? 0),
      p95: st.total_p95[i] ?? 0,
      max: st.total_max[i] ?? 0,
      cycles: st.cycles[i] ?? 0,
    }));
    const found = wanted ? entries.filter((e) => matches(capture, e.device, wanted)) : entries;
    const sign = this.#down ? -1 : 1;
    const key = this.#sort;
    found.sort((a, b) => {
      const order = key === "name"
        ? compare(capture.deviceName(a.device), capture.deviceName(b.device))
        : weight(a, key) - weight(b, key) || a.suspend + a.resume - (b.suspend + b.resume);
      return sign * order || a.device - b.device;
    });
    return { capture, entries: found };
  }

  draw(): void {
    const { capture, entries } = this.#entries();
    byId("device-head").replaceChildren(
      ...COLUMNS.map((column) => {
        const now = column.key === this.#sort;
        const sort = button(`${column.title}${now ? (this.#down ? " ▾" : " ▴") : ""}`, () => this.#sortBy(column.key), {
          class: "link",
          title: column.help,
          "data-sort": column.key,
        });
        return h("th", { scope: "col", "aria-sort": now ? (this.#down ? "descending" : "ascending") : "none" }, sort);
      }),
    );
    const all = Math.max(0, ...entries.map((e) => e.cycles));
    const selected = this.#store.state.selection?.device ?? -1;
    byId("device-rows").replaceChildren(
      ...entries.slice(0, this.#shown).map((e) => {
        const name = button(visible(capture.deviceName(e.device)), () => this.#select(e.device), { class: "link name" });
        const driver = capture.driver(e.device);
        const about = capture.about(e.device);
        return h(
          "tr",
          { "data-device": e.device, class: e.device === selected ? "chosen" : null },
          h(
            "th",
            { scope: "row" },
            h("bdi", {}, name),
            driver ? h("bdi", { class: "driver" }, ` ${visible(driver)}`) : null,
            about ? h("div", { class: "about" }, visible(about)) : null,
            e.cycles < all ? h("div", { class: "about" }, `ran in ${e.cycles} of ${all} cycles`) : null,
          ),
          ...COLUMNS.slice(1).map((column) => h("td", { "data-ns": column.key === "name" ? "" : e[column.key] }, column.value(e, capture))),
        );
      }),
    );
    byId("device-count").textContent = `${Math.min(this.#shown, entries.length)} of ${entries.length} devices with callbacks`;
    byId("more-devices").hidden = entries.length <= this.#shown;
  }

  #sortBy(key: Key): void {
    if (this.#sort === key) this.#down = !this.#down;
    else [this.#sort, this.#down] = [key, key !== "name"];
    this.draw();
    (byId("device-head").querySelector(`[data-sort="${key}"]`) as HTMLElement | null)?.focus();
  }

  #select(device: number): void {
    this.#store.set({ selection: { pane: 0, device, callback: -1 } });
    byId("detail").focus();
  }

  #markdown(): string {
    const { capture, entries } = this.#entries();
    const head = `| ${COLUMNS.map((c) => c.title).join(" | ")} | What it is |\n|${"---|".repeat(COLUMNS.length + 1)}`;
    const rows = entries.slice(0, this.#shown).map((e) => {
      const cells = COLUMNS.map((c) => markdownCell(c.value(e, capture)));
      return `| ${cells.join(" | ")} | ${markdownCell(capture.about(e.device))} |`;
    });
    return `${head}\n${rows.join("\n")}\n`;
  }
}

/** What a column is sorted by. A share of the critical path counts as often as
 * the device ran: one bad cycle of forty is not the device to mend first. */
function weight(e: Entry, key: Exclude<Key, "name">): number {
  return key === "path" || key === "gain" ? e[key] * e.cycles : e[key];
}

/** By code point, so that every browser sorts alike. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
