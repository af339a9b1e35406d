// The callbacks of one cycle as typed arrays.

import type { CycleBlock } from "./format.ts";

export interface Thread {
  pid: number;
  name: string;
  main: boolean;
}

export interface PathStep {
  phase: number;
  /** -1 for a stretch without a callback. */
  callback: number;
  start: number;
  end: number;
  reason: number;
}

/** All callbacks of one cycle; times are nanoseconds from its start. */
export interface Detail {
  count: number;
  device: Int32Array;
  phase: Uint8Array;
  thread: Uint16Array;
  start: Float64Array;
  end: Float64Array;
  /** Name of the function of callback `i`. */
  functionOf: (i: number) => string;
  /** The callback that it waited for; -1 for none. */
  cause: Int32Array;
  reason: Uint8Array;
  errors: Map<number, number>;
  open: Set<number>;
  threads: Thread[];
  path: PathStep[];
  /** For every callback: 1 if it is on the critical path. */
  onPath: Uint8Array;
  /** Callbacks of a device, in order of start. */
  ofDevice: Map<number, number[]>;
}

/** Unpacks a block whose names are in `names`. */
export function detail(block: CycleBlock, names: string[]): Detail {
  const n = block.device.length;
  const start = new Float64Array(n);
  const end = new Float64Array(n);
  const device = new Int32Array(n);
  const ofDevice = new Map<number, number[]>();
  let ticks = 0;
  let d = 0;
  for (let i = 0; i < n; i++) {
    ticks += block.start[i] ?? 0;
    start[i] = ticks * block.unit;
    end[i] = (ticks + (block.length[i] ?? 0)) * block.unit;
    d += block.device[i] ?? 0;
    device[i] = d;
    const list = ofDevice.get(d);
    if (list) list.push(i);
    else ofDevice.set(d, [i]);
  }
  const onPath = new Uint8Array(n);
  let at = 0;
  let last = -1;
  const path = block.path.start.map((gap, i) => {
    const step = block.path.callback[i] ?? 0;
    if (step !== 0) last += step;
    const callback = step === 0 ? -1 : last;
    if (callback >= 0) onPath[callback] = 1;
    const from = at + gap;
    at = from + (block.path.length[i] ?? 0);
    return {
      phase: block.path.phase[i] ?? 0,
      callback,
      start: from * block.unit,
      end: at * block.unit,
      reason: block.path.reason[i] ?? 0,
    };
  });
  return {
    count: n,
    device,
    phase: Uint8Array.from(block.phase),
    thread: Uint16Array.from(block.thread),
    start,
    end,
    functionOf: (i) => names[block.function[i] ?? 0] ?? "",
    cause: Int32Array.from(block.cause, (back, i) => (back === 0 ? -1 : i - back)),
    reason: Uint8Array.from(block.reason),
    errors: new Map(block.errors),
    open: new Set(block.open),
    threads: block.threads.pid.map((pid, i) => ({
      pid,
      name: names[block.threads.name[i] ?? 0] ?? "",
      main: block.threads.main[i] === 2,
    })),
    path,
    onPath,
    ofDevice,
  };
}
