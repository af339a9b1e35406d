// Draws the timeline on a 2D canvas. Work per frame is bounded by what is on
// the screen, not by the size of the capture: callbacks narrower than a pixel
// are drawn once per pixel, and the next one is found by binary search.

import type { Ink } from "../palette.ts";
import { tick, tickStep } from "../text/time.ts";
import { visible } from "../text/visible.ts";
import type { Row } from "./layout.ts";
import type { Hit, Renderer, Scene, Viewport } from "./renderer.ts";
import { toAxis, type Fold } from "./scale.ts";

const FONT = "12px system-ui, sans-serif";
const SMALL = "11px system-ui, sans-serif";

export class CanvasRenderer implements Renderer {
  readonly rowHeight = 20;
  readonly top = 40;
  gutter = 190;
  readonly #g: CanvasRenderingContext2D;
  readonly #canvas: HTMLCanvasElement;
  #width = 0;
  #height = 0;

  constructor(canvas: HTMLCanvasElement) {
    const g = canvas.getContext("2d", { alpha: false });
    if (!g) throw new Error("this browser has no 2D canvas");
    this.#g = g;
    this.#canvas = canvas;
  }

  resize(width: number, height: number, ratio: number): void {
    this.#width = width;
    this.#height = height;
    this.gutter = width < 560 ? 96 : 190;
    this.#canvas.width = Math.round(width * ratio);
    this.#canvas.height = Math.round(height * ratio);
    this.#g.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  axisAt(viewport: Viewport, x: number): number {
    const { from, to } = viewport.view;
    return from + ((x - this.gutter) / (this.#width - this.gutter)) * (to - from);
  }

  #x(viewport: Viewport, axis: number): number {
    const { from, to } = viewport.view;
    return this.gutter + ((axis - from) / (to - from)) * (this.#width - this.gutter);
  }

  draw(scene: Scene, viewport: Viewport, ink: Ink): void {
    const g = this.#g;
    g.fillStyle = ink.page;
    g.fillRect(0, 0, this.#width, this.#height);
    const first = Math.max(0, Math.floor(viewport.scroll / this.rowHeight));
    const last = Math.min(
      scene.layout.rows.length,
      Math.ceil((viewport.scroll + this.#height - this.top) / this.rowHeight),
    );
    g.save();
    g.beginPath();
    g.rect(0, this.top, this.#width, this.#height - this.top);
    g.clip();
    this.#background(scene, viewport, ink, first, last);
    g.save();
    g.beginPath();
    g.rect(this.gutter, this.top, this.#width - this.gutter, this.#height - this.top);
    g.clip();
    this.#bars(scene, viewport, ink, first, last);
    if (scene.showPath) this.#path(scene, viewport, ink);
    this.#selection(scene, viewport, ink);
    this.#arrows(scene, viewport, ink);
    g.restore();
    this.#labels(scene, viewport, ink, first, last);
    g.restore();
    this.#axis(scene, viewport, ink);
  }

  #y(viewport: Viewport, row: number): number {
    return this.top + row * this.rowHeight - viewport.scroll;
  }

  #background(scene: Scene, viewport: Viewport, ink: Ink, first: number, last: number): void {
    const g = this.#g;
    g.fillStyle = ink.row;
    for (let r = first; r < last; r++) {
      if (r % 2) g.fillRect(0, this.#y(viewport, r), this.#width, this.rowHeight);
    }
    if (scene.strip) {
      const a = this.#x(viewport, scene.strip[0]);
      const b = this.#x(viewport, scene.strip[1]);
      if (b > this.gutter && a < this.#width) {
        g.fillStyle = ink.rule;
        g.fillRect(a, this.top, b - a, this.#height);
        if (b - a > 16) {
          g.save();
          g.translate((a + b) / 2 + 4, this.top + 46);
          g.rotate(-Math.PI / 2);
          g.fillStyle = ink.faint;
          g.font = SMALL;
          g.fillText("asleep", 0, 0);
          g.restore();
        }
      }
    }
    // Where phases begin: a thin line through all rows of their pane.
    g.fillStyle = ink.rule;
    let until = -Infinity;
    for (const band of scene.bands) {
      const x = Math.round(this.#x(viewport, band.from));
      if (x < this.gutter || x > this.#width || x === until) continue;
      until = x;
      g.fillRect(x, this.top, 1, this.#height);
    }
  }

  #bars(scene: Scene, viewport: Viewport, ink: Ink, first: number, last: number): void {
    const g = this.#g;
    // Rectangles by colour, so that the canvas changes its style a few times
    // a frame and not once a callback.
    const byFill = new Map<string, number[]>();
    const names: [number, number, number, number, number][] = [];
    for (let r = first; r < last; r++) {
      const row = scene.layout.rows[r];
      if (!row || row.heading) continue;
      this.#row(scene, viewport, row, r, byFill, names);
    }
    for (const [fill, list] of byFill) {
      g.fillStyle = fill;
      for (let i = 0; i < list.length; i += 4) {
        g.fillRect(list[i] ?? 0, list[i + 1] ?? 0, list[i + 2] ?? 0, list[i + 3] ?? 0);
      }
    }
    g.font = SMALL;
    g.textBaseline = "middle";
    for (const [pane, c, x, y, w] of names) {
      const p = scene.panes[pane];
      if (!p) continue;
      const name = fit(label(p.capture.deviceName(p.detail.device[c] ?? 0)), w - 6);
      if (!name) continue;
      const dim = scene.matches && !scene.matches[pane]?.[p.detail.device[c] ?? 0];
      g.fillStyle = dim ? ink.faint : (scene.texts[p.detail.phase[c] ?? 0] ?? ink.text);
      g.fillText(name, x + 3, y);
    }
  }

  #row(
    scene: Scene,
    viewport: Viewport,
    row: Row,
    r: number,
    byFill: Map<string, number[]>,
    names: [number, number, number, number, number][],
  ): void {
    const pane = scene.panes[row.pane];
    const fold = scene.folds[row.pane];
    if (!pane || !fold) return;
    const d = pane.detail;
    const list = row.callbacks;
    const matches = scene.matches?.[row.pane];
    const right = this.#width;
    const y = this.#y(viewport, r) + 3;
    const height = this.rowHeight - 6;
    // One pixel of the axis, to jump over what lies within it.
    const pixel = (viewport.view.to - viewport.view.from) / (this.#width - this.gutter);
    let i = firstEndingAfter(list, d.end, fold, viewport.view.from, 0);
    // A run of bars too narrow to tell apart is drawn as one.
    let runFill = "";
    let runFrom = 0;
    let runTo = 0;
    const flush = (): void => {
      if (runFill === "") return;
      let rectangles = byFill.get(runFill);
      if (!rectangles) byFill.set(runFill, (rectangles = []));
      rectangles.push(runFrom, y, runTo - runFrom, height);
      runFill = "";
    };
    while (i < list.length) {
      const c = list[i] ?? 0;
      const a = toAxis(fold, d.start[c] ?? 0);
      const x = this.#x(viewport, a);
      if (x > right) break;
      const b = toAxis(fold, d.end[c] ?? 0);
      const w = Math.max(1, this.#x(viewport, b) - x);
      const fill = matches && !matches[d.device[c] ?? 0] ? "#8883" : (scene.fills[d.phase[c] ?? 0] ?? "#888");
      const from = Math.max(this.gutter - 2, x);
      const to = Math.min(x + w, right + 2);
      if (w < 3 && fill === runFill && from <= runTo + 0.5) {
        runTo = Math.max(runTo, to);
      } else {
        flush();
        [runFill, runFrom, runTo] = [fill, from, to];
        // A wide bar keeps its edges.
        if (w >= 3) flush();
      }
      if (w > 34) names.push([row.pane, c, from, y + height / 2 + 0.5, to - from]);
      const next = list[i + 1];
      i =
        next !== undefined && w <= 1 && toAxis(fold, d.end[next] ?? 0) < a + pixel
          ? firstEndingAfter(list, d.end, fold, a + pixel, i + 1)
          : i + 1;
    }
    flush();
  }

  #path(scene: Scene, viewport: Viewport, ink: Ink): void {
    const g = this.#g;
    g.strokeStyle = ink.path;
    g.lineWidth = 2;
    g.beginPath();
    scene.panes.forEach((pane, p) => {
      const fold = scene.folds[p];
      const rowOf = scene.layout.rowOf[p];
      if (!fold || !rowOf) return;
      const path = pane.detail.path;
      const half = this.rowHeight / 2;
      // Steps are in order of time: begin one before the first in view.
      let low = 0;
      let high = path.length;
      while (low < high) {
        const mid = (low + high) >> 1;
        if (toAxis(fold, path[mid]?.end ?? 0) < viewport.view.from) low = mid + 1;
        else high = mid;
      }
      let lastX = NaN;
      let lastY = 0;
      let lastPhase = -1;
      let lineX = -Infinity;
      // Boxes of one row that touch within two pixels are drawn as one.
      let boxFrom = NaN;
      let boxTo = 0;
      let boxY = 0;
      const flush = (): void => {
        if (boxFrom === boxFrom && boxY > this.top - this.rowHeight && boxY < this.#height + this.rowHeight) {
          g.rect(boxFrom, boxY - half + 2, Math.max(1, boxTo - boxFrom), this.rowHeight - 4);
        }
        boxFrom = NaN;
      };
      for (let i = Math.max(0, low - 1); i < path.length; i++) {
        const step = path[i];
        const row = step && step.callback >= 0 ? (rowOf[step.callback] ?? -1) : -1;
        if (!step || row < 0) continue;
        const x0 = Math.max(this.gutter - 4, this.#x(viewport, toAxis(fold, step.start)));
        if (x0 > this.#width && lastX > this.#width) break;
        const x1 = Math.min(this.#width + 4, this.#x(viewport, toAxis(fold, step.end)));
        const y = this.#y(viewport, row) + half;
        const tiny = x1 - x0 < 2;
        if (tiny && y === boxY && x0 <= boxTo + 2) boxTo = Math.max(boxTo, x1);
        else {
          flush();
          if (x1 >= this.gutter) [boxFrom, boxTo, boxY] = [x0, x1, y];
        }
        // Where steps follow each other closer than the eye can part them,
        // one line stands for all.
        if (lastPhase === step.phase && y !== lastY && lastX === lastX && x0 >= lineX + 4) {
          lineX = x0;
          const middle = (lastY + y) / 2;
          g.moveTo(lastX, lastY);
          g.lineTo(lastX, middle);
          g.lineTo(x0, middle);
          g.lineTo(x0, y);
        }
        [lastX, lastY, lastPhase] = [x1, y, step.phase];
      }
      flush();
    });
    g.stroke();
  }

  #selection(scene: Scene, viewport: Viewport, ink: Ink): void {
    const g = this.#g;
    g.strokeStyle = ink.select;
    g.lineWidth = 3;
    const list: [number, number][] = [];
    if (scene.selected) list.push(scene.selected);
    else if (scene.selectedDevice) {
      const [pane, device] = scene.selectedDevice;
      for (const c of scene.panes[pane]?.detail.ofDevice.get(device) ?? []) list.push([pane, c]);
    }
    for (const [pane, c] of list) {
      const box = this.#box(scene, viewport, pane, c);
      if (box) g.strokeRect(box.x - 1, box.y, box.w + 2, box.h);
    }
  }

  #box(scene: Scene, viewport: Viewport, pane: number, c: number): { x: number; y: number; w: number; h: number } | null {
    const fold = scene.folds[pane];
    const d = scene.panes[pane]?.detail;
    const row = scene.layout.rowOf[pane]?.[c] ?? -1;
    if (!fold || !d || row < 0) return null;
    const x = this.#x(viewport, toAxis(fold, d.start[c] ?? 0));
    const x1 = this.#x(viewport, toAxis(fold, d.end[c] ?? 0));
    return { x, y: this.#y(viewport, row) + 1, w: Math.max(2, x1 - x), h: this.rowHeight - 2 };
  }

  #arrows(scene: Scene, viewport: Viewport, ink: Ink): void {
    const g = this.#g;
    for (const arrow of scene.arrows) {
      const from = this.#box(scene, viewport, arrow.pane, arrow.from);
      const to = this.#box(scene, viewport, arrow.pane, arrow.to);
      if (!from || !to) continue;
      const x0 = from.x + from.w;
      const y0 = from.y + from.h / 2;
      const x1 = to.x;
      const y1 = to.y + to.h / 2;
      g.strokeStyle = g.fillStyle = arrow.kind === "superior" ? ink.superior : ink.subordinate;
      g.lineWidth = arrow.cause ? 3 : 1.5;
      g.setLineDash(arrow.kind === "superior" ? [] : [5, 3]);
      g.beginPath();
      g.moveTo(x0, y0);
      const bend = Math.max(12, Math.abs(x1 - x0) / 3);
      g.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
      g.stroke();
      g.setLineDash([]);
      g.beginPath();
      g.moveTo(x1, y1);
      g.lineTo(x1 - 7, y1 - 4);
      g.lineTo(x1 - 7, y1 + 4);
      g.fill();
    }
  }

  #labels(scene: Scene, viewport: Viewport, ink: Ink, first: number, last: number): void {
    const g = this.#g;
    g.textBaseline = "middle";
    for (let r = first; r < last; r++) {
      const row = scene.layout.rows[r];
      if (!row) continue;
      const y = this.#y(viewport, r);
      g.fillStyle = row.heading ? ink.rule : r % 2 ? ink.row : ink.page;
      g.fillRect(0, y, row.heading ? this.#width : this.gutter, this.rowHeight);
      g.font = row.heading ? `bold ${FONT}` : FONT;
      const dim = scene.matches && row.device >= 0 && !scene.matches[row.pane]?.[row.device];
      g.fillStyle = dim ? ink.faint : ink.text;
      const indent = 8 + Math.min(row.depth, 8) * 8;
      const room = row.heading ? this.#width - 16 : this.gutter - indent - 6;
      g.fillText(fit(row.label, room), indent, y + this.rowHeight / 2 + 0.5);
    }
    g.fillStyle = ink.rule;
    g.fillRect(this.gutter - 1, this.top, 1, this.#height);
  }

  #axis(scene: Scene, viewport: Viewport, ink: Ink): void {
    const g = this.#g;
    const { from, to } = viewport.view;
    g.fillStyle = ink.page;
    g.fillRect(0, 0, this.#width, this.top);
    g.save();
    g.beginPath();
    g.rect(this.gutter, 0, this.#width - this.gutter, this.top);
    g.clip();
    g.font = SMALL;
    g.textBaseline = "middle";
    const step = tickStep(to - from, (this.#width - this.gutter) / 90);
    const zero = scene.strip ? scene.strip[1] : 0;
    // Times count from the start of each half.
    const halves: [number, number, number][] = scene.strip
      ? [[0, scene.strip[0], 0], [zero, scene.length, zero]]
      : [[0, scene.length, 0]];
    for (const [begin, end, origin] of halves) {
      const k0 = Math.max(0, Math.ceil((Math.max(from, begin) - origin) / step));
      for (let k = k0; origin + k * step <= Math.min(to, end); k++) {
        const x = Math.round(this.#x(viewport, origin + k * step));
        g.fillStyle = ink.rule;
        g.fillRect(x, 14, 1, 6);
        g.fillStyle = ink.faint;
        g.fillText(tick(k * step, step), x + 4, 10);
      }
    }
    for (const band of scene.bands) {
      if (band.pane !== 0) continue;
      const x0 = Math.max(this.gutter, this.#x(viewport, band.from));
      const x1 = Math.min(this.#width, this.#x(viewport, band.to));
      if (x1 <= x0) continue;
      g.fillStyle = band.fill;
      g.fillRect(x0, 21, Math.max(1, x1 - x0), 17);
      if (x1 - x0 > 22) {
        g.fillStyle = band.text;
        g.fillText(fit(band.label, x1 - x0 - 6), x0 + 4, 30);
      }
    }
    g.restore();
    g.fillStyle = ink.faint;
    g.font = SMALL;
    g.textBaseline = "middle";
    g.fillText("phase", 8, 30);
    g.fillStyle = ink.rule;
    g.fillRect(0, this.top - 1, this.#width, 1);
  }

  hit(scene: Scene, viewport: Viewport, x: number, y: number): Hit | null {
    if (y < this.top) return null;
    const row = Math.floor((y - this.top + viewport.scroll) / this.rowHeight);
    const at = scene.layout.rows[row];
    if (!at) return null;
    const d = scene.panes[at.pane]?.detail;
    const fold = scene.folds[at.pane];
    if (!d || !fold) return null;
    if (x < this.gutter) return { pane: at.pane, row, callback: -1 };
    // Within three pixels, so that short callbacks can be met.
    const slack = this.axisAt(viewport, x + 3) - this.axisAt(viewport, x);
    const axis = this.axisAt(viewport, x);
    let best = -1;
    let bestDistance = Infinity;
    const i = firstEndingAfter(at.callbacks, d.end, fold, axis - slack, 0);
    for (let k = i; k < at.callbacks.length; k++) {
      const c = at.callbacks[k] ?? 0;
      const a = toAxis(fold, d.start[c] ?? 0);
      if (a > axis + slack) break;
      const b = toAxis(fold, d.end[c] ?? 0);
      const distance = axis < a ? a - axis : axis > b ? axis - b : 0;
      if (distance < bestDistance) [best, bestDistance] = [c, distance];
      if (distance === 0) break;
    }
    return { pane: at.pane, row, callback: best };
  }
}

/** First position of `list`, from `low` on, whose callback ends after `axis`. */
function firstEndingAfter(list: Int32Array, end: Float64Array, fold: Fold, axis: number, low: number): number {
  let high = list.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (toAxis(fold, end[list[mid] ?? 0] ?? 0) < axis) low = mid + 1;
    else high = mid;
  }
  return low;
}

const shown = new Map<string, string>();

/** The name as the canvas may draw it; remembered, as it is asked every frame. */
function label(name: string): string {
  let text = shown.get(name);
  if (text === undefined) {
    text = visible(name);
    if (shown.size > 20_000) shown.clear();
    shown.set(name, text);
  }
  return text;
}

/** `text` cut to about `room` pixels; empty if nothing sensible fits. An
 * average width of a letter is good enough and much faster than measuring. */
function fit(text: string, room: number): string {
  const letters = Math.floor(room / 6.1);
  if (text.length <= letters) return text;
  return letters < 3 ? "" : `${text.slice(0, letters - 1)}…`;
}
