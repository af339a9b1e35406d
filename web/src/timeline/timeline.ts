// The timeline: canvas, mouse, touch, keyboard, search.

import { button, byId, h } from "../dom.ts";
import type { Capture, Model } from "../data/model.ts";
import { ink, paint, type Ink } from "../palette.ts";
import type { Store } from "../state.ts";
import { time } from "../text/time.ts";
import { visible } from "../text/visible.ts";
import { CanvasRenderer } from "./canvas.ts";
import { layout, type Pane } from "./layout.ts";
import type { Arrow, Band, Renderer, Scene, Viewport } from "./renderer.ts";
import { folds, pan, toAxis, zoom, type Halves } from "./scale.ts";
import type { RowData } from "../data/format.ts";

/** A pane with what places it on the axis. */
export interface TimelinePane extends Pane {
  halves: Halves;
  rows: RowData[];
}

export class Timeline {
  readonly #model: Model;
  readonly #store: Store;
  readonly #canvas: HTMLCanvasElement;
  readonly #renderer: Renderer;
  readonly #tip = h("div", { class: "tip", role: "status", hidden: true });
  #panes: TimelinePane[] = [];
  #scene: Scene | null = null;
  #viewport: Viewport = { view: { from: 0, to: 1 }, scroll: 0 };
  #ink: Ink = ink();
  #due = false;
  /** Scripting time of recent frames, for tests. */
  readonly #frames: number[] | null = location.search.includes("test") ? [] : null;

  constructor(model: Model, store: Store) {
    this.#model = model;
    this.#store = store;
    this.#canvas = byId("timeline") as HTMLCanvasElement;
    this.#renderer = new CanvasRenderer(this.#canvas);
    byId("timeline-box").append(this.#tip);
    new ResizeObserver(() => this.#resize()).observe(byId("timeline-box"));
    this.#mouse();
    this.#canvas.addEventListener("keydown", (e) => this.#key(e));
    byId("timeline-tools").append(
      this.#toggle(),
      button("−", () => this.#zoomBy(1.6), { "aria-label": "Zoom out" }),
      button("+", () => this.#zoomBy(1 / 1.6), { "aria-label": "Zoom in" }),
      button("Fit", () => this.fit(), { "aria-label": "Fit the whole cycle" }),
      button("Previous on path", () => this.#step(-1)),
      button("Next on path", () => this.#step(1)),
    );
    const search = byId("search") as HTMLInputElement;
    search.addEventListener("input", () => store.set({ search: search.value }));
    search.addEventListener("keydown", (e) => {
      if (e.key === "Enter") this.#nextMatch(e.shiftKey ? -1 : 1);
    });
    store.on((state, before) => {
      if (state.rows !== before.rows) this.#build();
      if (state.search !== before.search || state.rows !== before.rows) this.#search();
      if (state.selection !== before.selection) this.#select();
    });
  }

  /** Shows `panes`, all of them in view. */
  show(panes: TimelinePane[], keepView = false): void {
    this.#panes = panes;
    this.#build();
    this.#search();
    this.#select();
    if (!keepView) this.fit();
  }

  /** Colours have changed. */
  recolour(): void {
    this.#ink = ink();
    this.#request();
  }

  fit(): void {
    const length = this.#scene?.length ?? 1;
    this.#viewport.view = { from: -length * 0.005, to: length * 1.005 };
    this.#request();
  }

  /** Shows a stretch of pane `index`, in its own time. */
  reveal(index: number, start: number, end: number): void {
    const scene = this.#scene;
    const fold = scene?.folds[index];
    if (!scene || !fold) return;
    const a = toAxis(fold, start);
    const b = Math.max(toAxis(fold, end), a + 50);
    const margin = (b - a) * 0.03;
    this.#viewport.view = { from: a - margin, to: b + margin };
    this.#request();
  }

  #toggle(): HTMLElement {
    const select = h(
      "select",
      { "aria-label": "Rows of the timeline" },
      h("option", { value: "thread" }, "Rows: threads"),
      h("option", { value: "tree" }, "Rows: device tree"),
    );
    select.addEventListener("change", () => this.#store.set({ rows: select.value === "tree" ? "tree" : "thread" }));
    return select;
  }

  #build(): void {
    const all = folds(this.#panes.map((p) => p.halves));
    const phases = this.#model.summary.phases;
    const paints = phases.map((p) => paint(p));
    const bands: Band[] = this.#panes.flatMap((pane, index) => {
      const fold = all.folds[index];
      if (!fold) return [];
      return pane.rows
        .filter((row) => phases[row.phase]?.name !== "asleep" && row.duration_ns > 0)
        .map((row) => {
          const { fill, text } = paint(phases[row.phase]);
          return {
            pane: index,
            from: toAxis(fold, row.start_ns),
            to: toAxis(fold, row.start_ns + row.duration_ns),
            label: row.label,
            fill,
            text,
          };
        });
    });
    this.#scene = {
      panes: this.#panes,
      layout: layout(this.#panes, this.#store.state.rows),
      folds: all.folds,
      length: all.length,
      strip: all.strip,
      bands,
      fills: paints.map((p) => p.fill),
      texts: paints.map((p) => p.text),
      arrows: [],
      selected: null,
      selectedDevice: null,
      matches: null,
      showPath: true,
    };
    this.#viewport.scroll = 0;
    this.#canvas.dataset["rows"] = String(this.#scene.layout.rows.length);
    this.#select();
    this.#request();
  }

  #search(): void {
    const scene = this.#scene;
    if (!scene) return;
    const wanted = this.#store.state.search.trim().toLowerCase();
    let found = 0;
    scene.matches = wanted
      ? this.#panes.map(({ capture }) => Uint8Array.from({ length: capture.deviceCount }, (_, d) => Number(matches(capture, d, wanted))))
      : null;
    if (scene.matches?.[0]) found = scene.matches[0].reduce((n, m) => n + m, 0);
    byId("search-found").textContent = wanted ? `${found} ${found === 1 ? "device" : "devices"}; Enter goes to the next` : "";
    this.#request();
  }

  #nextMatch(step: 1 | -1): void {
    const match = this.#scene?.matches?.[0];
    const detail = this.#panes[0]?.detail;
    if (!match || !detail) return;
    const n = detail.count;
    const now = this.#store.state.selection?.callback ?? -1;
    for (let k = 1; k <= n; k++) {
      const c = (((now < 0 && step < 0 ? 0 : now) + k * step) % n + n) % n;
      if (match[detail.device[c] ?? 0]) return this.#choose(0, c, true);
    }
  }

  /** The next step of the critical path, in order of time. Steps too short to
   * matter are passed over, unless there are no others. */
  #step(by: 1 | -1): void {
    const all = this.#panes[0]?.detail.path.filter((p) => p.callback >= 0) ?? [];
    const longest = all.reduce((n, p) => Math.max(n, p.end - p.start), 0);
    const path = all.filter((p) => p.end - p.start >= longest / 100);
    if (path.length === 0) return;
    const now = path.findIndex((p) => p.callback === this.#store.state.selection?.callback);
    const next = path[now < 0 ? (by > 0 ? 0 : path.length - 1) : (now + by + path.length) % path.length];
    if (next) this.#choose(0, next.callback, true);
  }

  #choose(pane: number, callback: number, reveal: boolean): void {
    const d = this.#panes[pane]?.detail;
    if (!d) return;
    this.#store.set({ selection: { pane, device: d.device[callback] ?? 0, callback } });
    if (reveal) this.#bringIntoView(pane, callback);
  }

  #bringIntoView(pane: number, callback: number): void {
    const scene = this.#scene;
    const d = this.#panes[pane]?.detail;
    const fold = scene?.folds[pane];
    if (!scene || !d || !fold) return;
    const a = toAxis(fold, d.start[callback] ?? 0);
    const b = toAxis(fold, d.end[callback] ?? 0);
    const { from, to } = this.#viewport.view;
    if (a < from || b > to || b - a < (to - from) / 200) {
      const span = Math.min(to - from, Math.max((b - a) * 8, scene.length / 200));
      this.#viewport.view = { from: (a + b - span) / 2, to: (a + b + span) / 2 };
    }
    const row = scene.layout.rowOf[pane]?.[callback] ?? 0;
    const y = row * this.#renderer.rowHeight;
    const room = this.#canvas.clientHeight - this.#renderer.top;
    if (y < this.#viewport.scroll || y > this.#viewport.scroll + room - 2 * this.#renderer.rowHeight) {
      this.#scrollTo(y - room / 2);
    }
    this.#request();
  }

  #select(): void {
    const scene = this.#scene;
    if (!scene) return;
    const selection = this.#store.state.selection;
    scene.selected = selection && selection.callback >= 0 ? [selection.pane, selection.callback] : null;
    scene.selectedDevice = selection ? [selection.pane, selection.device] : null;
    scene.arrows = scene.selected ? this.#arrows(...scene.selected) : [];
    this.#request();
  }

  /** Arrows between the callback and those of the same phase that it depends
   * on. On the way down subordinates go first, on the way up superiors. */
  #arrows(pane: number, callback: number): Arrow[] {
    const p = this.#panes[pane];
    if (!p) return [];
    const { detail: d, capture } = p;
    const phase = d.phase[callback] ?? 0;
    const up = this.#model.summary.phases[phase]?.direction === "resume";
    const cause = d.cause[callback] ?? -1;
    const arrows: Arrow[] = [];
    const add = (device: number, kind: Arrow["kind"]): void => {
      const other = d.ofDevice.get(device)?.find((c) => d.phase[c] === phase);
      if (other === undefined) return;
      const first = (kind === "superior") === up;
      const decided = other === cause || (d.cause[other] ?? -1) === callback;
      arrows.push({ pane, from: first ? other : callback, to: first ? callback : other, kind, cause: decided });
    };
    const near = capture.neighbours(d.device[callback] ?? 0);
    if (near.parent >= 0) add(near.parent, "superior");
    near.suppliers.forEach((s) => add(s, "superior"));
    near.children.slice(0, 200).forEach((c) => add(c, "subordinate"));
    near.consumers.slice(0, 200).forEach((c) => add(c, "subordinate"));
    return arrows;
  }

  #resize(): void {
    const box = byId("timeline-box");
    this.#renderer.resize(box.clientWidth, box.clientHeight, devicePixelRatio);
    this.#paint();
  }

  #request(): void {
    if (this.#due) return;
    this.#due = true;
    requestAnimationFrame(() => {
      this.#due = false;
      this.#paint();
    });
  }

  #paint(): void {
    if (!this.#scene) return;
    const begin = performance.now();
    this.#renderer.draw(this.#scene, this.#viewport, this.#ink);
    if (this.#frames) {
      this.#frames.push(performance.now() - begin);
      this.#canvas.dataset["frames"] = this.#frames.slice(-300).map((f) => f.toFixed(3)).join(" ");
    }
    const { from, to } = this.#viewport.view;
    this.#canvas.dataset["view"] = `${Math.round(from)} ${Math.round(to)}`;
  }

  #scrollTo(y: number): void {
    const rows = this.#scene?.layout.rows.length ?? 0;
    const room = this.#canvas.clientHeight - this.#renderer.top;
    const most = Math.max(0, rows * this.#renderer.rowHeight - room);
    this.#viewport.scroll = Math.min(most, Math.max(0, y));
    this.#request();
  }

  #pan(axis: number): void {
    if (!this.#scene) return;
    this.#viewport.view = pan(this.#viewport.view, axis, this.#scene.length);
    this.#request();
  }

  #zoomBy(factor: number, at?: number): void {
    if (!this.#scene) return;
    const { from, to } = this.#viewport.view;
    this.#viewport.view = zoom(this.#viewport.view, at ?? (from + to) / 2, factor, this.#scene.length);
    this.#request();
  }

  #mouse(): void {
    const canvas = this.#canvas;
    const touches = new Map<number, { x: number; y: number }>();
    let moved = 0;
    const perPixel = (): number => this.#renderer.axisAt(this.#viewport, 1) - this.#renderer.axisAt(this.#viewport, 0);
    canvas.addEventListener("pointerdown", (e) => {
      canvas.setPointerCapture(e.pointerId);
      touches.set(e.pointerId, { x: e.offsetX, y: e.offsetY });
      moved = 0;
    });
    canvas.addEventListener("pointermove", (e) => {
      const before = touches.get(e.pointerId);
      if (!before) return this.#hover(e.offsetX, e.offsetY);
      const [dx, dy] = [e.offsetX - before.x, e.offsetY - before.y];
      moved += Math.abs(dx) + Math.abs(dy);
      if (touches.size === 2) {
        const other = [...touches].find(([id]) => id !== e.pointerId)?.[1];
        if (other) {
          const was = Math.abs(before.x - other.x);
          const now = Math.abs(e.offsetX - other.x);
          if (was > 8 && now > 8) this.#zoomBy(was / now, this.#renderer.axisAt(this.#viewport, (e.offsetX + other.x) / 2));
        }
      } else if (moved > 4) {
        this.#tip.hidden = true;
        this.#pan(-dx * perPixel());
        this.#scrollTo(this.#viewport.scroll - dy);
      }
      touches.set(e.pointerId, { x: e.offsetX, y: e.offsetY });
    });
    canvas.addEventListener("pointerup", (e) => {
      touches.delete(e.pointerId);
      if (moved <= 4) this.#click(e.offsetX, e.offsetY);
    });
    canvas.addEventListener("pointercancel", (e) => touches.delete(e.pointerId));
    canvas.addEventListener("pointerleave", () => (this.#tip.hidden = true));
    canvas.addEventListener("dblclick", (e) => this.#zoomBy(1 / 3, this.#renderer.axisAt(this.#viewport, e.offsetX)));
    canvas.addEventListener(
      "wheel",
      (e) => {
        if (e.ctrlKey || e.metaKey) {
          e.preventDefault();
          this.#zoomBy(Math.exp(e.deltaY / 300), this.#renderer.axisAt(this.#viewport, e.offsetX));
        } else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
          e.preventDefault();
          this.#pan((e.deltaX || e.deltaY) * perPixel());
        } else {
          const before = this.#viewport.scroll;
          this.#scrollTo(before + e.deltaY);
          // At the end of the rows the wheel belongs to the page again.
          if (this.#viewport.scroll !== before) e.preventDefault();
        }
      },
      { passive: false },
    );
  }

  #click(x: number, y: number): void {
    const scene = this.#scene;
    const hit = scene && this.#renderer.hit(scene, this.#viewport, x, y);
    if (!scene || !hit) return this.#store.set({ selection: null });
    if (hit.callback >= 0) return this.#choose(hit.pane, hit.callback, false);
    const device = scene.layout.rows[hit.row]?.device ?? -1;
    this.#store.set({ selection: device >= 0 ? { pane: hit.pane, device, callback: -1 } : null });
  }

  #hover(x: number, y: number): void {
    const hit = this.#scene && this.#renderer.hit(this.#scene, this.#viewport, x, y);
    const pane = hit && this.#panes[hit.pane];
    if (!hit || !pane || hit.callback < 0) {
      this.#tip.hidden = true;
      return;
    }
    const { detail: d, capture } = pane;
    const c = hit.callback;
    const device = d.device[c] ?? 0;
    const about = capture.about(device);
    this.#tip.replaceChildren(
      h("b", {}, visible(capture.deviceName(device))),
      ` ${this.#model.phaseLabel(d.phase[c] ?? 0)}, ${time((d.end[c] ?? 0) - (d.start[c] ?? 0))}`,
      about ? h("div", {}, visible(about)) : "",
    );
    this.#tip.hidden = false;
    const room = this.#canvas.clientWidth;
    this.#tip.style.left = `${Math.max(0, Math.min(x + 12, room - this.#tip.offsetWidth - 4))}px`;
    this.#tip.style.top = `${y + 16}px`;
  }

  #key(e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const { from, to } = this.#viewport.view;
    const step = (to - from) / 8;
    const row = this.#renderer.rowHeight;
    const actions: Record<string, () => void> = {
      ArrowLeft: () => this.#pan(-step),
      ArrowRight: () => this.#pan(step),
      ArrowUp: () => this.#scrollTo(this.#viewport.scroll - 2 * row),
      ArrowDown: () => this.#scrollTo(this.#viewport.scroll + 2 * row),
      PageUp: () => this.#scrollTo(this.#viewport.scroll - 15 * row),
      PageDown: () => this.#scrollTo(this.#viewport.scroll + 15 * row),
      a: () => this.#pan(-step),
      d: () => this.#pan(step),
      w: () => this.#zoomBy(1 / 1.4),
      s: () => this.#zoomBy(1.4),
      "+": () => this.#zoomBy(1 / 1.4),
      "=": () => this.#zoomBy(1 / 1.4),
      "-": () => this.#zoomBy(1.4),
      "0": () => this.fit(),
      n: () => this.#step(1),
      p: () => this.#step(-1),
      "/": () => byId("search").focus(),
      Escape: () => this.#store.set({ selection: null }),
    };
    const action = actions[e.key];
    if (!action) return;
    e.preventDefault();
    action();
  }
}

/** Whether the search finds device `d`: by name, driver or meaning. */
export function matches(capture: Capture, d: number, wanted: string): boolean {
  return (
    capture.deviceName(d).toLowerCase().includes(wanted) ||
    capture.driver(d).toLowerCase().includes(wanted) ||
    capture.about(d).toLowerCase().includes(wanted)
  );
}
