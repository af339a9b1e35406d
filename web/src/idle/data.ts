// The data of the page of idle states, as crates/report/src/idle.rs writes it.
// Times are whole nanoseconds.

import { readBlock } from "../data/blocks.ts";

/** Name, exit latency, target residency, and whether it polls. */
export type State = [string, number, number, boolean];

export interface Summary {
  schema: "dormouse-report/1";
  subject: "idle";
  version: string;
  title: string;
  /** The input as it was typed. */
  input: string;
  governor: string | null;
  answer: [string, string];
  text: string;
  begin_ns: number;
  end_ns: number;
  cpus: { cpu: number; states: State[]; disabled: number; sleeps: number; block: number }[];
  left_out: string[];
}

interface Block {
  gap: number[];
  length: number[];
  state: number[];
  timer: number[];
  ran: number[];
}

/** The sleeps of one CPU, in columns. */
export interface Cpu {
  number: number;
  states: State[];
  disabled: number;
  enter: Float64Array;
  exit: Float64Array;
  state: number[];
  timer: number[];
  ran: number[];
}

export type Verdict = "too deep" | "too shallow" | "right" | "unknown";

/** Reads the sleeps of every CPU. */
export async function cpus(summary: Summary): Promise<Cpu[]> {
  return Promise.all(
    summary.cpus.map(async (c) => {
      const b = await readBlock<Block>(c.block);
      const enter = new Float64Array(b.gap.length);
      const exit = new Float64Array(b.gap.length);
      let at = summary.begin_ns;
      b.gap.forEach((gap, i) => {
        enter[i] = at += gap;
        exit[i] = at += b.length[i] ?? 0;
      });
      return { number: c.cpu, states: c.states, disabled: c.disabled, enter, exit, state: b.state, timer: b.timer, ran: b.ran };
    }),
  );
}

export function name(cpu: Cpu, state: number): string {
  return cpu.states[state]?.[0] || `state ${state}`;
}

/** The kernel's rule (cpuidle_enter_state): was the state of sleep `i` right? */
export function verdict(cpu: Cpu, i: number): Verdict {
  const state = cpu.state[i] ?? 0;
  const entered = cpu.states[state];
  if (!entered) return "unknown";
  const slept = (cpu.exit[i] ?? 0) - (cpu.enter[i] ?? 0);
  const enabled = (k: number): boolean => (cpu.disabled & (1 << k)) === 0;
  if (slept < entered[2]) {
    for (let k = 0; k < state; k++) if (enabled(k)) return "too deep";
    return "right";
  }
  for (let k = state + 1; k < cpu.states.length; k++) {
    if (!enabled(k)) continue;
    return slept - entered[1] >= (cpu.states[k]?.[2] ?? Infinity) ? "too shallow" : "right";
  }
  return "right";
}

/** The sleep that is open at `time`, or -1. */
export function sleepAt(cpu: Cpu, time: number): number {
  let low = 0;
  let high = cpu.enter.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((cpu.exit[middle] ?? 0) < time) low = middle + 1;
    else high = middle;
  }
  return low < cpu.enter.length && (cpu.enter[low] ?? 0) <= time ? low : -1;
}

/** `1.23 ms`: three digits, in the unit that fits. */
export function span(ns: number): string {
  const units: [number, string][] = [[1e9, "s"], [1e6, "ms"], [1e3, "us"]];
  const [size, unit] = units.find(([size]) => ns >= size) ?? [1e3, "us"];
  const n = ns / size;
  return `${n >= 100 ? n.toFixed(0) : n >= 10 ? n.toFixed(1) : n.toFixed(2)} ${unit}`;
}

/** Colours by depth: after Okabe and Ito. */
export const COLOURS = ["#f0e442", "#e69f00", "#56b4e9", "#0072b2", "#009e73", "#cc79a7", "#d55e00", "#999999", "#7a5195", "#4d4d4d"];
