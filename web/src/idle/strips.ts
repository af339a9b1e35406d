// A strip of idle states for each CPU, on one time axis.

import { byId } from "../dom.ts";
import { ink } from "../palette.ts";
import { COLOURS, type Cpu, sleepAt, span, verdict } from "./data.ts";

const ROW = 22;
const GAP = 4;
const LEFT = 64;
const AXIS = 22;

export interface Picked {
  cpu: Cpu;
  sleep: number;
}

export class Strips {
  readonly #canvas = byId("timeline") as HTMLCanvasElement;
  readonly #cpus: Cpu[];
  readonly #picked: (picked: Picked) => void;
  readonly #whole: [number, number];
  #from: number;
  #to: number;
  #now: Picked | null = null;

  constructor(cpus: Cpu[], whole: [number, number], picked: (picked: Picked) => void) {
    this.#cpus = cpus;
    this.#picked = picked;
    this.#whole = whole;
    [this.#from, this.#to] = whole;
    const box = byId("timeline-box");
    box.style.height = `${Math.min(620, AXIS + cpus.length * (ROW + GAP) + 12)}px`;
    new ResizeObserver(() => this.draw()).observe(box);
    this.#canvas.addEventListener("keydown", (e) => this.#key(e));
    this.#canvas.addEventListener("wheel", (e) => {
      if (!e.ctrlKey) return;
      e.preventDefault();
      this.zoom(e.deltaY > 0 ? 1.3 : 1 / 1.3, this.#time(e.offsetX));
    });
    this.#drag();
  }

  /** Nanoseconds per column of the canvas. */
  get #scale(): number {
    return (this.#to - this.#from) / Math.max(1, this.#canvas.clientWidth - LEFT);
  }

  #time(x: number): number {
    return this.#from + (x - LEFT) * this.#scale;
  }

  #drag(): void {
    let begin: { x: number; from: number; to: number; moved: boolean } | null = null;
    this.#canvas.addEventListener("pointerdown", (e) => {
      begin = { x: e.offsetX, from: this.#from, to: this.#to, moved: false };
      this.#canvas.setPointerCapture(e.pointerId);
    });
    this.#canvas.addEventListener("pointermove", (e) => {
      if (!begin || Math.abs(e.offsetX - begin.x) < 4) return;
      begin.moved = true;
      const by = (begin.x - e.offsetX) * this.#scale;
      this.#show(begin.from + by, begin.to + by);
    });
    this.#canvas.addEventListener("pointerup", (e) => {
      if (begin && !begin.moved) this.#pickAt(e.offsetX, e.offsetY);
      begin = null;
    });
  }

  #pickAt(x: number, y: number): void {
    const cpu = this.#cpus[Math.floor((y - AXIS) / (ROW + GAP))];
    if (!cpu) return;
    const sleep = sleepAt(cpu, this.#time(x));
    if (sleep >= 0) this.pick({ cpu, sleep });
  }

  /** Selects a sleep and brings it into view. */
  pick(picked: Picked): void {
    this.#now = picked;
    const enter = picked.cpu.enter[picked.sleep] ?? 0;
    const exit = picked.cpu.exit[picked.sleep] ?? 0;
    if (enter < this.#from || exit > this.#to) {
      const half = Math.max((this.#to - this.#from) / 2, exit - enter);
      this.#show((enter + exit) / 2 - half, (enter + exit) / 2 + half);
    }
    this.#picked(picked);
    this.draw();
  }

  /** The next or previous sleep in a wrong state, over all CPUs in time. */
  step(forwards: boolean): void {
    const at = this.#now ? (this.#now.cpu.enter[this.#now.sleep] ?? 0) : forwards ? -Infinity : Infinity;
    let best: Picked | null = null;
    let nearest = Infinity;
    for (const cpu of this.#cpus) {
      for (let i = 0; i < cpu.enter.length; i++) {
        const distance = forwards ? (cpu.enter[i] ?? 0) - at : at - (cpu.enter[i] ?? 0);
        if (distance <= 0 || distance >= nearest) continue;
        const v = verdict(cpu, i);
        if (v === "right" || v === "unknown") continue;
        nearest = distance;
        best = { cpu, sleep: i };
      }
      // From both ends of time the distance is infinite: take the first in order.
      if (!Number.isFinite(at)) {
        const order = forwards ? [...cpu.enter.keys()] : [...cpu.enter.keys()].reverse();
        const i = order.find((k) => ["too deep", "too shallow"].includes(verdict(cpu, k)));
        const time = i === undefined ? NaN : (cpu.enter[i] ?? 0) * (forwards ? 1 : -1);
        if (i !== undefined && (best === null || time < nearest)) {
          nearest = time;
          best = { cpu, sleep: i };
        }
      }
    }
    if (best) this.pick(best);
  }

  zoom(by: number, around = (this.#from + this.#to) / 2): void {
    this.#show(around - (around - this.#from) * by, around + (this.#to - around) * by);
  }

  #show(from: number, to: number): void {
    const [first, last] = this.#whole;
    const length = Math.min(Math.max(to - from, 1_000), last - first);
    this.#from = Math.min(Math.max(from, first), last - length);
    this.#to = this.#from + length;
    this.draw();
  }

  #key(e: KeyboardEvent): void {
    const step = (this.#to - this.#from) / 5;
    const act: Record<string, () => void> = {
      "+": () => this.zoom(1 / 1.6),
      "=": () => this.zoom(1 / 1.6),
      "-": () => this.zoom(1.6),
      "0": () => this.#show(...this.#whole),
      ArrowLeft: () => this.#show(this.#from - step, this.#to - step),
      ArrowRight: () => this.#show(this.#from + step, this.#to + step),
      n: () => this.step(true),
      p: () => this.step(false),
    };
    const found = act[e.key.length === 1 ? e.key.toLowerCase() : e.key];
    if (!found || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    found();
  }

  draw(): void {
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    const ratio = devicePixelRatio || 1;
    this.#canvas.width = Math.round(width * ratio);
    this.#canvas.height = Math.round(height * ratio);
    const g = this.#canvas.getContext("2d");
    if (!g || width < LEFT + 10) return;
    const { page, row, rule, text, faint, select } = ink();
    g.scale(ratio, ratio);
    g.fillStyle = page;
    g.fillRect(0, 0, width, height);
    g.font = "12px system-ui, sans-serif";
    g.textBaseline = "middle";
    const scale = this.#scale;
    const least = scale * 90;
    const power = 10 ** Math.floor(Math.log10(least));
    const step = ([1, 2, 5, 10].find((n) => n * power >= least) ?? 10) * power;
    for (let t = Math.ceil((this.#from - this.#whole[0]) / step) * step; t < this.#to - this.#whole[0]; t += step) {
      const x = LEFT + (t + this.#whole[0] - this.#from) / scale;
      g.fillStyle = rule;
      g.fillRect(x, AXIS - 4, 1, height);
      g.fillStyle = faint;
      g.fillText(span(t), x + 3, 9);
    }
    this.#cpus.forEach((cpu, i) => {
      const y = AXIS + i * (ROW + GAP);
      g.fillStyle = text;
      g.fillText(`CPU ${cpu.number}`, 6, y + ROW / 2);
      g.fillStyle = row;
      g.fillRect(LEFT, y, width - LEFT, ROW);
      this.#strip(g, cpu, y, scale, width);
    });
    if (this.#now) {
      const { cpu, sleep } = this.#now;
      const x = LEFT + ((cpu.enter[sleep] ?? 0) - this.#from) / scale;
      const w = Math.max(3, ((cpu.exit[sleep] ?? 0) - (cpu.enter[sleep] ?? 0)) / scale);
      g.strokeStyle = select;
      g.lineWidth = 2;
      g.strokeRect(x, AXIS + this.#cpus.indexOf(cpu) * (ROW + GAP) - 1, w, ROW + 2);
    }
  }

  /** One CPU; of sleeps that share a column of the screen the longest shows. */
  #strip(g: CanvasRenderingContext2D, cpu: Cpu, y: number, scale: number, width: number): void {
    let low = 0;
    let high = cpu.exit.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((cpu.exit[middle] ?? 0) < this.#from) low = middle + 1;
      else high = middle;
    }
    let column = -1;
    let longest = 0;
    for (let i = low; i < cpu.enter.length && (cpu.enter[i] ?? 0) < this.#to; i++) {
      const x = Math.max(LEFT, LEFT + ((cpu.enter[i] ?? 0) - this.#from) / scale);
      const end = Math.min(width, LEFT + ((cpu.exit[i] ?? 0) - this.#from) / scale);
      const length = end - x;
      if (Math.floor(x) === column && length < longest) continue;
      column = Math.floor(x);
      longest = length;
      g.fillStyle = COLOURS[(cpu.state[i] ?? 0) % COLOURS.length] ?? "#999999";
      g.fillRect(x, y, Math.max(1, length), ROW);
    }
  }
}
