// Requests and answers of the simulator, as crates/wasm has them.

import type { CycleBlock } from "../data/format.ts";

/** The options of `dormouse predict`. */
export interface Change {
  kernel: string | null;
  pm_async: 0 | 1 | null;
  async: string[];
  sync: string[];
  without: string[];
  scale: string[];
  cpus: number | null;
}

export interface Loaded {
  devices: number;
  cpus: number;
  pm_async: boolean;
  kernels: { policy: string; title: string; evidence: string }[];
  asynchronous: number[];
}

export interface Outlook {
  policy: string;
  kernel: string | null;
  held_against_kernel: boolean;
  outcome: string;
  suspend_ns: number;
  resume_ns: number;
  phases: {
    phase: number;
    start_ns: number;
    duration_ns: number;
    path_bound_ns: number | null;
    order_bound_ns: number | null;
  }[];
  workers_created: number;
  blocked_waits: number;
}

export interface Predicted {
  before: Outlook;
  after: Outlook;
  notes: string[];
  assumptions: string[];
  moved: { device: number; phase: number; before_ns: [number, number]; after_ns: [number, number] }[];
  names: string[];
  cycle: CycleBlock;
}

/** What `dormouse predict` claims of the same change. */
export interface Claims {
  /** Of suspend and resume: a sentence, and the time if one is claimed. */
  halves: [[string, number | null], [string, number | null]];
  /** Of each phase of the changed cycle its time, if it is claimed. */
  phases: (number | null)[];
  /** What the recording leaves open. */
  open: string[];
}

export interface Halves {
  suspend_ns: [number, number];
  resume_ns: [number, number];
}

export interface Range {
  samples: number;
  before: Halves | null;
  after: Halves | null;
}

/** The command line that asks the same. */
export function commandLine(change: Change, input: string, quote: (word: string) => string): string {
  const words = ["dormouse", "predict", quote(input)];
  const add = (option: string, value: string | number): number => words.push(option, quote(String(value)));
  if (change.kernel !== null) add("--kernel", change.kernel);
  if (change.pm_async !== null) add("--pm-async", change.pm_async);
  for (const p of change.without) add("--without", p);
  for (const p of change.async) add("--async", p);
  for (const p of change.sync) add("--sync", p);
  for (const p of change.scale) add("--scale", p);
  if (change.cpus !== null) add("--cpus", change.cpus);
  return words.join(" ");
}
