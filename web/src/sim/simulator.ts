// The core of dormouse as WebAssembly: JSON in, JSON out.

import { readBytes } from "../data/blocks.ts";

interface Exports {
  memory: WebAssembly.Memory;
  alloc(length: number): number;
  free(at: number, length: number): void;
  call(at: number, length: number): number;
}

export class Simulator {
  readonly #exports: Exports;

  private constructor(exports: Exports) {
    this.#exports = exports;
  }

  /** Inflates and starts the module of this page; null if it has none. */
  static async start(): Promise<Simulator | null> {
    const bytes = await readBytes("simulator");
    if (!bytes) return null;
    const { instance } = await WebAssembly.instantiate(bytes as BufferSource, {});
    return new Simulator(instance.exports as unknown as Exports);
  }

  /** Sends a request; throws the simulator's own sentence if it refuses. */
  ask<T>(request: string): T {
    const e = this.#exports;
    const bytes = new TextEncoder().encode(request);
    const at = e.alloc(bytes.length);
    new Uint8Array(e.memory.buffer, at, bytes.length).set(bytes);
    const answer = e.call(at, bytes.length);
    e.free(at, bytes.length);
    const length = new DataView(e.memory.buffer).getUint32(answer, true);
    const text = new TextDecoder().decode(new Uint8Array(e.memory.buffer, answer + 4, length));
    e.free(answer, length + 4);
    const result = JSON.parse(text) as { ok?: T; error?: string };
    if (result.ok === undefined) throw new Error(result.error ?? "the simulator gave no answer");
    return result.ok;
  }
}
