// The report's data with what the views ask of it.

import { readBlock } from "./blocks.ts";
import { detail, type Detail } from "./detail.ts";
import type { CaptureData, CycleBlock, CycleData, PlaceBlock, Summary } from "./format.ts";

/** A device's neighbours in the graph, by index of device. */
export interface Neighbours {
  parent: number;
  children: number[];
  suppliers: number[];
  consumers: number[];
}

/** One capture. */
export class Capture {
  readonly data: CaptureData;
  readonly #summary: Summary;
  readonly #details = new Map<number, Promise<Detail>>();
  #places: Promise<PlaceBlock> | null = null;
  #neighbours: Neighbours[] | null = null;

  constructor(summary: Summary, data: CaptureData) {
    this.#summary = summary;
    this.data = data;
  }

  cycle(index: number): CycleData {
    const c = this.data.cycles[index];
    if (!c) throw new Error(`there is no cycle ${index}`);
    return c;
  }

  /** The name of device `d`, as the log has it. */
  deviceName(d: number): string {
    return this.#summary.names[this.data.devices.name[d] ?? 0] ?? "";
  }

  driver(d: number): string {
    return this.#summary.names[this.data.devices.driver[d] ?? 0] ?? "";
  }

  /** What the device's name means, in words; may be empty. */
  about(d: number): string {
    return this.#summary.names[this.data.devices.about[d] ?? 0] ?? "";
  }

  get deviceCount(): number {
    return this.data.devices.name.length;
  }

  /** The callbacks of cycle `index`; null if the page leaves them out. */
  async detail(index: number): Promise<Detail | null> {
    const block = this.cycle(index).block;
    if (block === null) return null;
    let d = this.#details.get(index);
    if (!d) {
      d = readBlock<CycleBlock>(block).then((b) => detail(b, this.#summary.names));
      this.#details.set(index, d);
    }
    return d;
  }

  /** Times of devices over all cycles. */
  async places(): Promise<PlaceBlock | null> {
    if (this.data.places_block === null) return null;
    this.#places ??= readBlock<PlaceBlock>(this.data.places_block);
    return this.#places;
  }

  /** Parents, children, suppliers and consumers of device `d`. */
  neighbours(d: number): Neighbours {
    if (!this.#neighbours) {
      const { devices, links } = this.data;
      const all: Neighbours[] = devices.parent.map((p) => ({
        parent: p - 1,
        children: [],
        suppliers: [],
        consumers: [],
      }));
      all.forEach((n, i) => all[n.parent]?.children.push(i));
      links.consumer.forEach((consumer, i) => {
        const supplier = links.supplier[i] ?? -1;
        all[consumer]?.suppliers.push(supplier);
        all[supplier]?.consumers.push(consumer);
      });
      this.#neighbours = all;
    }
    return this.#neighbours[d] ?? { parent: -1, children: [], suppliers: [], consumers: [] };
  }
}

/** The whole report. */
export class Model {
  readonly summary: Summary;
  readonly captures: Capture[];

  constructor(summary: Summary) {
    this.summary = summary;
    this.captures = summary.captures.map((c) => new Capture(summary, c));
  }

  name(index: number): string {
    return this.summary.names[index] ?? "";
  }

  /** `late suspend`, `noirq resume`, `prepare`: a phase that is unmistakable. */
  phaseLabel(phase: number): string {
    return this.summary.phases[phase]?.label ?? "gap";
  }

  reason(index: number): string {
    return this.summary.reasons[index]?.text ?? "";
  }
}
