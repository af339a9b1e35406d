// What-if: changes to the machine, and the prediction of the same core that
// the command line runs, as WebAssembly in this page.

import { button, byId, copy, h } from "../dom.ts";
import { readBytes } from "../data/blocks.ts";
import { detail } from "../data/detail.ts";
import type { RowData } from "../data/format.ts";
import type { Capture, Model } from "../data/model.ts";
import { commandLine, type Change, type Claims, type Loaded, type Predicted, type Range } from "../sim/protocol.ts";
import { Simulator } from "../sim/simulator.ts";
import type { Store } from "../state.ts";
import type { TimelinePane } from "../timeline/timeline.ts";
import { time } from "../text/time.ts";
import { reveal, shellQuote, visible } from "../text/visible.ts";

/** How often the cycles are resampled for a range, as on the command line. */
const SAMPLES = 200;

type Kind = "without" | "async" | "sync" | "scale";

const KINDS: Record<Kind, string> = {
  without: "taken off",
  async: "asynchronous",
  sync: "synchronous",
  scale: "its time ×",
};

function nothing(): Change {
  return { kernel: null, pm_async: null, async: [], sync: [], without: [], scale: [], cpus: null };
}

function isNothing(c: Change): boolean {
  return c.kernel === null && c.pm_async === null && c.cpus === null && c.async.length + c.sync.length + c.without.length + c.scale.length === 0;
}

export class WhatIf {
  readonly #model: Model;
  readonly #store: Store;
  readonly #changed: () => void;
  #simulator: Promise<Simulator | null> | null = null;
  #loaded: { capture: number; machine: Loaded } | null = null;
  #change = nothing();
  #predicted: Predicted | null = null;
  /** What is claimed of it; null while other machines are asked. */
  #claims: Claims | null = null;
  #pane: TimelinePane | null = null;
  /** Grows with every question, so that late ranges are not shown. */
  #question = 0;

  constructor(model: Model, store: Store, changed: () => void) {
    this.#model = model;
    this.#store = store;
    this.#changed = changed;
    this.#draw();
    store.on((state, before) => {
      if (state.capture === before.capture) return;
      this.#change = nothing();
      this.#predicted = this.#pane = null;
      this.#draw();
    });
  }

  get #capture(): Capture | undefined {
    return this.#model.captures[this.#store.state.capture];
  }

  /** The predicted cycle, if there is one. */
  pane(): TimelinePane | null {
    return this.#pane;
  }

  cycleChanged(): void {}

  /** Buttons for the panel of a device. */
  tools(device: number): HTMLElement[] {
    const capture = this.#capture;
    if (!capture || capture.data.board_block === null) return [];
    const name = capture.deviceName(device);
    const off = this.#change.without.includes(name);
    return [
      button(off ? "Put back" : "What if removed", () => void this.#set(off ? null : "without", name), { "data-whatif": "without" }),
      button("What if async", () => void this.#set("async", name), { "data-whatif": "async" }),
      button("What if sync", () => void this.#set("sync", name), { "data-whatif": "sync" }),
      button("What if half the time", () => void this.#set("scale", name, "0.5"), { "data-whatif": "scale" }),
    ];
  }

  /** Replaces what was said of device `name`. */
  async #set(kind: Kind | null, name: string, factor = "1"): Promise<void> {
    const c = this.#change;
    const other = (list: string[]): string[] => list.filter((p) => p !== name);
    const next: Change = {
      ...c,
      without: other(c.without),
      async: other(c.async),
      sync: other(c.sync),
      scale: c.scale.filter((s) => s.slice(0, s.lastIndexOf("=")) !== name),
    };
    if (kind === "scale") next.scale.push(`${name}=${factor}`);
    else if (kind) next[kind].push(name);
    await this.#ask(next);
  }

  /** Loads the machine of the chosen capture. */
  async #load(): Promise<{ simulator: Simulator; machine: Loaded }> {
    this.#simulator ??= Simulator.start();
    const simulator = await this.#simulator;
    if (!simulator) throw new Error("this page was built without the simulator");
    const index = this.#store.state.capture;
    if (this.#loaded?.capture !== index) {
      const block = this.#capture?.data.board_block;
      const bytes = block === null || block === undefined ? null : await readBytes(`block-${block}`);
      if (!bytes) throw new Error("the page holds no machine to change");
      const text = new TextDecoder().decode(bytes);
      this.#loaded = { capture: index, machine: simulator.ask<Loaded>(`{"do":"load","machine":${text}}`) };
    }
    return { simulator, machine: this.#loaded.machine };
  }

  async #ask(change: Change): Promise<void> {
    const question = ++this.#question;
    const status = byId("what-if-status");
    try {
      const { simulator } = await this.#load();
      if (question !== this.#question) return;
      const begin = performance.now();
      const predicted = simulator.ask<Predicted>(JSON.stringify({ do: "predict", change }));
      this.#change = change;
      this.#predicted = isNothing(change) ? null : predicted;
      this.#claims = null;
      this.#pane = this.#predicted ? this.#makePane(predicted) : null;
      this.#result();
      this.#changed();
      byId("what-if").dataset["ms"] = (performance.now() - begin).toFixed(1);
      status.textContent = "";
      if (this.#predicted) setTimeout(() => this.#claim(simulator, question), 0);
    } catch (error) {
      status.textContent = reveal(error instanceof Error ? error.message : String(error));
    }
  }

  /** Asks the other machines that explain the recording, which takes longer. */
  #claim(simulator: Simulator, question: number): void {
    if (question !== this.#question) return;
    this.#claims = simulator.ask<Claims>('{"do":"claims"}');
    this.#result();
    this.#resample(simulator, question);
  }

  /** Resamples a little at a time, so that the page stays quick to answer. */
  #resample(simulator: Simulator, question: number): void {
    const step = (): void => {
      if (question !== this.#question) return;
      const begin = performance.now();
      let range: Range;
      do range = simulator.ask<Range>('{"do":"resample","steps":1}');
      while (range.samples > 0 && range.samples < SAMPLES && performance.now() - begin < 12);
      if (range.samples === 0) return;
      if (range.samples < SAMPLES) {
        setTimeout(step, 0);
        return;
      }
      this.#range(range);
    };
    setTimeout(step, 0);
  }

  #makePane(p: Predicted): TimelinePane | null {
    const capture = this.#capture;
    if (!capture) return null;
    const phases = p.after.phases;
    const phaseOf = (i: number): { name: string; direction: string } | undefined => this.#model.summary.phases[i];
    const up = phases.find((s) => phaseOf(s.phase)?.direction === "resume");
    const down = phases.filter((s) => phaseOf(s.phase)?.direction === "suspend");
    const last = down[down.length - 1];
    const end = Math.max(0, ...phases.map((s) => s.start_ns + s.duration_ns));
    const asleep: [number, number] | null = up && last ? [last.start_ns + last.duration_ns, up.start_ns] : null;
    const rows: RowData[] = phases.map((s) => ({
      phase: s.phase,
      label: phaseOf(s.phase)?.name ?? "",
      direction: phaseOf(s.phase)?.direction === "resume" ? "resume" : "suspend",
      start_ns: s.start_ns,
      duration_ns: s.duration_ns,
      callbacks: 0,
      cpu: -1,
    }));
    return { title: "Predicted", capture, detail: detail(p.cycle, p.names), halves: { asleep, length: end }, rows };
  }

  #draw(): void {
    const section = byId("what-if");
    const has = this.#capture?.data.board_block !== null && document.getElementById("simulator") !== null;
    section.hidden = !has;
    if (!has) return;
    const kernel = h("input", { id: "what-if-kernel", list: "what-if-kernels", placeholder: "as it is", size: 10, autocomplete: "off", spellcheck: "false" });
    const pmAsync = h(
      "select",
      { id: "what-if-pm-async" },
      h("option", { value: "" }, "as it is"),
      h("option", { value: "1" }, "1"),
      h("option", { value: "0" }, "0"),
    );
    const cpus = h("input", { id: "what-if-cpus", type: "number", min: 1, max: 4096, placeholder: "as it is", size: 6 });
    const pattern = h("input", { id: "what-if-device", list: "what-if-devices", placeholder: "device or pattern such as usb*", size: 30, autocomplete: "off", spellcheck: "false" });
    const kind = h("select", { id: "what-if-kind", "aria-label": "Change of the device" });
    for (const [value, label] of Object.entries(KINDS)) kind.append(h("option", { value }, label));
    const factor = h("input", { id: "what-if-factor", value: "0.5", size: 5, "aria-label": "Factor" });
    factor.hidden = true;
    kind.addEventListener("change", () => (factor.hidden = kind.value !== "scale"));
    const apply = (): void => {
      const k = kernel.value.trim();
      const n = Number(cpus.value);
      void this.#ask({
        ...this.#change,
        kernel: k === "" ? null : k,
        pm_async: pmAsync.value === "" ? null : pmAsync.value === "1" ? 1 : 0,
        cpus: cpus.value !== "" && n >= 1 ? Math.floor(n) : null,
      });
    };
    for (const control of [kernel, pmAsync, cpus]) control.addEventListener("change", apply);
    const add = (): void => {
      const name = pattern.value.trim();
      if (name !== "") void this.#set(kind.value as Kind, name, factor.value.trim());
    };
    pattern.addEventListener("keydown", (e) => {
      if (e.key === "Enter") add();
    });
    const devices = h("datalist", { id: "what-if-devices" });
    const capture = this.#capture;
    const top = capture?.data.device_stats.device.slice(0, 400) ?? [];
    if (capture) for (const d of top) devices.append(h("option", { value: capture.deviceName(d).slice(0, 200) }));
    const kernels = h("datalist", { id: "what-if-kernels" });
    for (const k of ["5.10", "6.1", "6.6", "6.12", "6.16", "6.17", "6.18", "7.3"]) kernels.append(h("option", { value: k }));
    section.replaceChildren(
      h("h2", { id: "what-if-title" }, "What if"),
      h("p", { class: "quiet" }, "Change the machine and see the prediction of the kernel's scheduling, computed in this page. It covers the device phases, from prepare to complete."),
      h(
        "div",
        { class: "tools" },
        h("label", {}, "Kernel ", kernel),
        h("label", {}, "pm_async ", pmAsync),
        h("label", {}, "CPUs ", cpus),
        kernels,
      ),
      h("div", { class: "tools" }, h("label", {}, "Device ", pattern), kind, factor, button("Add", add, { id: "what-if-add" }), devices),
      h("div", { class: "tools", id: "what-if-list", role: "group", "aria-label": "Changes made" }),
      h("p", { id: "what-if-status", role: "status" }),
      h("div", { id: "what-if-result", "aria-live": "polite" }),
    );
  }

  #list(): void {
    const chips: HTMLElement[] = [];
    const chip = (name: string, text: string): number => chips.push(button(`${visible(name)} ${text} ✕`, () => void this.#set(null, name), { "aria-label": `Undo: ${visible(name)} ${text}` }));
    for (const kind of ["without", "async", "sync"] as const) for (const name of this.#change[kind]) chip(name, KINDS[kind]);
    for (const s of this.#change.scale) {
      const at = s.lastIndexOf("=");
      chip(s.slice(0, at), `${KINDS.scale} ${s.slice(at + 1)}`);
    }
    if (!isNothing(this.#change)) chips.push(button("Undo all", () => this.#reset(), { id: "what-if-reset" }));
    byId("what-if-list").replaceChildren(...chips);
  }

  #reset(): void {
    for (const id of ["what-if-kernel", "what-if-cpus"]) (byId(id) as HTMLInputElement).value = "";
    (byId("what-if-pm-async") as HTMLSelectElement).value = "";
    void this.#ask(nothing());
  }

  #result(): void {
    this.#list();
    const [p, claims] = [this.#predicted, this.#claims];
    const result = byId("what-if-result");
    if (!p) {
      result.replaceChildren();
      return;
    }
    if (!claims) {
      result.replaceChildren(h("p", { class: "quiet" }, "Machines that explain the recording are asked …"));
      return;
    }
    const label = this.#capture?.data.label ?? "CAPTURE";
    const line = commandLine(this.#change, label, shellQuote);
    const copied = button("Copy the command", () => void copy(line, copied), { id: "what-if-copy" });
    const head = ["", "Recorded", "Model", "Changed", "Difference", "Floor"].map((t) => h("th", { scope: "col" }, t));
    result.replaceChildren(
      h("div", { class: "halves" }, this.#half("Suspend", "suspend_ns", p, claims.halves[0]), this.#half("Resume", "resume_ns", p, claims.halves[1])),
      ...(p.after.held_against_kernel ? [] : [h("p", { class: "quiet" }, `The rules of ${p.after.policy} were not verified on a running kernel.`)]),
      ...claims.open.map((text) => h("p", { class: "quiet", "data-open": "" }, reveal(text).slice(0, 2000))),
      h("ul", { id: "what-if-notes" }, ...p.notes.map((n) => h("li", {}, reveal(n).slice(0, 2000)))),
      h(
        "details",
        {},
        h("summary", {}, "Phase by phase"),
        h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Prediction by phase" }, h("table", { class: "rows" }, h("thead", {}, h("tr", {}, ...head)), h("tbody", { id: "what-if-phases" }, ...this.#phases(p, claims)))),
      ),
      h("details", {}, h("summary", {}, "What is assumed"), h("ul", {}, ...p.assumptions.map((a) => h("li", {}, reveal(a).slice(0, 2000))))),
      h("code", { class: "command", id: "what-if-command" }, reveal(line).slice(0, 20_000)),
      h("div", { class: "tools" }, copied),
    );
  }

  #half(title: string, key: "suspend_ns" | "resume_ns", p: Predicted, [said, is]: [string, number | null]): HTMLElement {
    const was = p.before[key];
    const capture = this.#capture;
    const whole = capture?.cycle(capture.data.median_cycle)[key] ?? null;
    return h(
      "div",
      { class: "half" },
      h("h3", {}, title),
      h("p", {}, h("span", { class: is === null ? "" : "total", "data-ns": is ?? "", id: `what-if-${key}` }, reveal(said))),
      whole === null || is === null || is === was ? null : h("p", { class: "quiet" }, `The whole ${title.toLowerCase()} took ${time(whole)}; it would take about ${time(whole + is - was)}.`),
      h("p", { class: "quiet", id: `what-if-range-${key}` }, ""),
    );
  }

  #phases(p: Predicted, claims: Claims): HTMLElement[] {
    const was = new Map(p.before.phases.map((s) => [s.phase, s.duration_ns]));
    const stats = new Map(this.#capture?.data.phase_stats.map((s) => [s.phase, s.median_ns]));
    return p.after.phases.map((s, i) => {
      const claimed = claims.phases[i] ?? null;
      const before = was.get(s.phase) ?? 0;
      const seen = stats.get(s.phase);
      return h(
        "tr",
        { "data-phase": s.phase },
        h("th", { scope: "row" }, this.#model.phaseLabel(s.phase)),
        h("td", {}, seen === undefined ? "" : time(seen)),
        h("td", {}, time(before)),
        h("td", { "data-ns": s.duration_ns }, claimed === null ? "–" : time(claimed)),
        h("td", {}, claimed === null ? "–" : signed(claimed - before)),
        h("td", {}, s.path_bound_ns === null ? "" : time(s.path_bound_ns)),
      );
    });
  }

  #range(range: Range): void {
    for (const key of ["suspend_ns", "resume_ns"] as const) {
      const place = document.getElementById(`what-if-range-${key}`);
      const [low, high] = range.after?.[key] ?? [0, 0];
      if (place && range.after) {
        const claimed = this.#claims?.halves[key === "suspend_ns" ? 0 : 1][1] ?? null;
        place.hidden = claimed === null;
        place.textContent = `Nine of ten resampled cycles: ${time(low)} to ${time(high)}.`;
        place.dataset["range"] = `${low} ${high}`;
      }
    }
  }
}

/** A difference with its sign, if two digits of a millisecond show it. */
function signed(ns: number): string {
  return Math.abs(ns) < 5_000 ? "no change" : `${ns > 0 ? "+" : "−"}${time(Math.abs(ns))}`;
}
