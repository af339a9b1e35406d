// What another governor or limit would make of the same wake-ups.

import { byId, h } from "../dom.ts";
import { Simulator } from "../sim/simulator.ts";
import { reveal, shellQuote, visible } from "../text/visible.ts";
import type { Cpu, Summary } from "./data.ts";

interface Answer {
  states: [number, number][];
  too_deep: number;
  too_shallow: number;
  ticks: number;
  delay: [number | null, number | null, number | null];
  energy: number | null;
}

interface Setting {
  governor: string;
  kernel: string;
  limit: number | null;
  disable: string[];
}

const GOVERNORS = ["menu", "teo", "ladder"];
const KERNELS = ["6.1", "6.12", "7.2"];

/** Makes the form; the present is replayed with the same model. */
export async function whatIf(summary: Summary, list: Cpu[]): Promise<void> {
  const body = byId("what-if-body");
  const known = list.filter((c) => c.states.length > 0);
  const simulator = await Simulator.start();
  if (!simulator || known.length === 0) {
    const why = simulator ? "No table of states is in the input: give a dump of the machine beside the trace." : "This page has no simulator.";
    body.append(h("p", { class: "quiet" }, why));
    return;
  }
  const recorded = known.map((c) => ({
    states: c.states,
    disabled: c.disabled,
    enter: [...c.enter],
    exit: [...c.exit],
    state: c.state,
    timer: c.timer,
    ran: c.ran,
  }));
  const replay = (setting: Setting): Answer =>
    simulator.ask<Answer>(JSON.stringify({ do: "idle_replay", ask: { ...setting, tick: 4_000_000, cpus: recorded } }));
  const select = (id: string, options: string[], chosen: string): HTMLSelectElement => {
    const made = h("select", { id }, ...options.map((o) => h("option", { value: o, selected: o === chosen }, o)));
    return made;
  };
  const was = GOVERNORS.includes(summary.governor ?? "") ? (summary.governor ?? "menu") : "menu";
  const now = select("what-if-was", GOVERNORS, was);
  const governor = select("what-if-governor", GOVERNORS, was);
  const kernel = select("what-if-kernel", KERNELS, "6.12");
  const limit = h("input", { id: "what-if-limit", type: "text", inputmode: "numeric", size: 8, placeholder: "none" });
  const names = [...new Set(known.flatMap((c) => c.states.slice(1).map(([n]) => n)))];
  const boxes = names.map((n) => ({ n, box: h("input", { type: "checkbox" }) }));
  const result = h("div", { id: "what-if-result", role: "status" });
  const draw = (): void => {
    const us = limit.value.trim() === "" ? null : Number(limit.value);
    if (us !== null && !(us >= 0 && us <= 2_147_483_647)) {
      result.replaceChildren(h("p", {}, "A limit is a number of microseconds."));
      return;
    }
    const disable = boxes.filter(({ box }) => box.checked).map(({ n }) => n);
    const present = { governor: now.value, kernel: "6.12", limit: null, disable: [] };
    const then = { governor: governor.value, kernel: kernel.value, limit: us === null ? null : Math.round(us * 1_000), disable };
    try {
      const model = replay(present);
      const [missed, where] = error(recordedShares(known), shares(model));
      // No figure of a change rests on a model that misses the present.
      if (missed > 10) {
        const state = names[where - 1] ?? `state ${where}`;
        result.replaceChildren(
          h("p", {}, `No prediction: the model of ${now.value} misses the recording by ${missed.toFixed(1)} points of idle time in ${visible(state)}. Name the governor that was in use.`),
        );
        return;
      }
      result.replaceChildren(
        ...table(known, model, replay(then)),
        h("p", { class: "quiet" }, `The model of the present misses the recording by at most ${missed.toFixed(1)} points of idle time in a state.`),
        command(summary, now.value, then, us),
      );
    } catch (error) {
      result.replaceChildren(h("p", { role: "alert" }, error instanceof Error ? error.message : String(error)));
    }
  };
  for (const field of [now, governor, kernel, limit, ...boxes.map(({ box }) => box)]) field.addEventListener("change", draw);
  const labelled = (text: string, field: HTMLElement): HTMLElement => h("label", {}, `${text} `, field);
  body.append(
    h("div", { class: "tools" }, labelled("Governor recorded", now), labelled("Governor then", governor), labelled("of kernel", kernel), labelled("Limit, us", limit)),
    h("div", { class: "tools" }, "Disable", ...boxes.map(({ n, box }) => h("label", {}, box, ` ${visible(n)}`))),
    result,
  );
  draw();
}

/** Shares of idle time by state, in per cent. */
function shares(a: Answer): number[] {
  const whole = a.states.reduce((sum, s) => sum + s[1], 0) || 1;
  return a.states.map((s) => (100 * s[1]) / whole);
}

function recordedShares(list: Cpu[]): number[] {
  const times: number[] = [];
  for (const c of list) c.state.forEach((state, i) => (times[state] = (times[state] ?? 0) + (c.exit[i] ?? 0) - (c.enter[i] ?? 0)));
  const whole = times.reduce((sum, t) => sum + (t ?? 0), 0) || 1;
  return Array.from(times, (t) => (100 * (t ?? 0)) / whole);
}

/** The largest difference of two lists of shares, and where it is. */
function error(a: number[], b: number[]): [number, number] {
  let found: [number, number] = [0, 0];
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const apart = Math.abs((a[i] ?? 0) - (b[i] ?? 0));
    if (apart > found[0]) found = [apart, i];
  }
  return found;
}

function table(list: Cpu[], now: Answer, then: Answer): HTMLElement[] {
  const grouped = (n: number): string => n.toLocaleString("en-US");
  const us = (ns: number | null): string => (ns === null ? "-" : grouped(Math.round(ns / 1_000)));
  const whole = (a: Answer): number => a.states.reduce((sum, s) => sum + s[1], 0) || 1;
  const rows: [string, string, string][] = now.states.map((state, i) => {
    const names = new Set(list.map((c) => c.states[i]?.[0]).filter((n) => n !== undefined).map(visible));
    const cell = (a: Answer): string => `${((100 * (a.states[i]?.[1] ?? 0)) / whole(a)).toFixed(1)} %, ${grouped(a.states[i]?.[0] ?? 0)} sleeps`;
    return [[...names].join(", ") || `state ${i}`, state ? cell(now) : "", cell(then)];
  });
  rows.push(["too deep", grouped(now.too_deep), grouped(then.too_deep)]);
  rows.push(["too shallow", grouped(now.too_shallow), grouped(then.too_shallow)]);
  rows.push(["ended by the tick", grouped(now.ticks), grouped(then.ticks)]);
  ["wake-up delay p50, us", "wake-up delay p99, us", "wake-up delay longest, us"].forEach((title, i) =>
    rows.push([title, us(now.delay[i] ?? null), us(then.delay[i] ?? null)]),
  );
  const change = now.energy && then.energy !== null ? (100 * (then.energy - now.energy)) / now.energy : null;
  rows.push(["energy (power assumed)", "", change === null ? "-" : `${change >= 0 ? "+" : ""}${change.toFixed(1)} %`]);
  const cells = rows.map(([title, a, b]) => h("tr", {}, h("th", { scope: "row" }, title), h("td", {}, a), h("td", {}, b)));
  const head = h("tr", {}, h("th", { scope: "col" }, ""), h("th", { scope: "col" }, "model now"), h("th", { scope: "col" }, "then"));
  return [
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "What follows" }, h("table", { class: "rows" }, h("thead", {}, head), h("tbody", {}, ...cells))),
    h("p", { class: "quiet" }, "Wake-ups are replayed with a tick of 4 ms; timers as recorded."),
  ];
}

/** The same on the command line. */
function command(summary: Summary, was: string, then: Setting, us: number | null): HTMLElement {
  const words = [`dormouse predict ${summary.input} --from-governor ${was} --governor ${then.governor} --kernel ${then.kernel}`];
  if (us !== null) words.push(`--latency-limit ${us === 0 ? "0" : `${us}us`}`);
  for (const n of then.disable) words.push(`--disable ${shellQuote(n)}`);
  return h("code", { class: "command" }, reveal(words.join(" ")));
}
