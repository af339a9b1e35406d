// Which callback is drawn in which row.

import type { Detail } from "../data/detail.ts";
import type { Capture } from "../data/model.ts";
import { visible } from "../text/visible.ts";

/** A row of the timeline. */
export interface Row {
  label: string;
  /** Depth in the device tree. */
  depth: number;
  /** Device of the row; -1 if the row is a thread. */
  device: number;
  /** A heading carries no callbacks. */
  heading: boolean;
  pane: number;
  /** Callbacks in order of start; they do not overlap. */
  callbacks: Int32Array;
}

/** One cycle in the timeline. */
export interface Pane {
  title: string;
  capture: Capture;
  detail: Detail;
}

export interface Layout {
  rows: Row[];
  /** Row of every callback, for each pane. */
  rowOf: Int32Array[];
}

/** Lays out all panes, one below the other. */
export function layout(panes: Pane[], by: "thread" | "tree"): Layout {
  const rows: Row[] = [];
  const rowOf: Int32Array[] = [];
  panes.forEach((pane, index) => {
    if (panes.length > 1) {
      rows.push({ label: pane.title, depth: 0, device: -1, heading: true, pane: index, callbacks: new Int32Array(0) });
    }
    const of = new Int32Array(pane.detail.count).fill(-1);
    const more = by === "thread" ? threads(pane, index) : tree(pane, index);
    for (const row of more) {
      for (const c of row.callbacks) of[c] = rows.length;
      rows.push(row);
    }
    rowOf.push(of);
  });
  return { rows, rowOf };
}

/** A row for each thread, the main thread first. Callbacks that overlap (a log
 * that does not name threads) get further rows. */
function threads(pane: Pane, index: number): Row[] {
  const d = pane.detail;
  const lanes: { ends: number[]; callbacks: number[][] }[] = d.threads.map(() => ({ ends: [], callbacks: [] }));
  for (let i = 0; i < d.count; i++) {
    const lane = lanes[d.thread[i] ?? 0];
    if (!lane) continue;
    let k = lane.ends.findIndex((e) => e <= (d.start[i] ?? 0));
    if (k < 0) {
      // So many at once cannot be told apart by eye any more: share the last.
      k = lane.ends.length < 64 ? lane.ends.push(0) - 1 : 63;
      lane.callbacks[k] ??= [];
    }
    lane.ends[k] = Math.max(lane.ends[k] ?? 0, d.end[i] ?? 0);
    lane.callbacks[k]?.push(i);
  }
  const order = d.threads.map((_, i) => i);
  const work = (i: number): number => lanes[i]?.callbacks.reduce((n, l) => n + l.length, 0) ?? 0;
  order.sort((a, b) => Number(d.threads[b]?.main) - Number(d.threads[a]?.main) || work(b) - work(a) || a - b);
  return order.flatMap((i) => {
    const thread = d.threads[i];
    const name = thread ? visible(thread.name) : "";
    const pid = thread?.pid ? ` [${thread.pid}]` : "";
    const label = (thread?.main ? "main thread " : "") + (name || (thread?.main ? "" : "thread")) + pid;
    return (lanes[i]?.callbacks ?? []).map((list, k) => ({
      label: k === 0 ? label : "",
      depth: 0,
      device: -1,
      heading: false,
      pane: index,
      callbacks: Int32Array.from(list),
    }));
  });
}

/** A row for each device that ran a callback or has a descendant that did,
 * parents before children. */
function tree(pane: Pane, index: number): Row[] {
  const { capture, detail: d } = pane;
  const shown = new Uint8Array(capture.deviceCount);
  for (const device of d.ofDevice.keys()) {
    for (let at = device; at >= 0 && !shown[at]; at = capture.neighbours(at).parent) shown[at] = 1;
  }
  const rows: Row[] = [];
  const seen = new Uint8Array(capture.deviceCount);
  // A stack rather than recursion: a hostile log can nest without end.
  const stack: [number, number][] = [];
  const visit = (root: number): void => {
    stack.push([root, 0]);
    for (let top = stack.pop(); top; top = stack.pop()) {
      const [device, depth] = top;
      if (seen[device]) continue;
      seen[device] = 1;
      rows.push({
        label: visible(capture.deviceName(device)),
        depth,
        device,
        heading: false,
        pane: index,
        callbacks: Int32Array.from(d.ofDevice.get(device) ?? []),
      });
      const children = capture.neighbours(device).children;
      for (let i = children.length - 1; i >= 0; i--) {
        const child = children[i] ?? -1;
        if (shown[child]) stack.push([child, depth + 1]);
      }
    }
  };
  for (let i = 0; i < shown.length; i++) if (shown[i] && capture.neighbours(i).parent < 0) visit(i);
  // What is left hangs in a loop of parents: show it all the same.
  for (let i = 0; i < shown.length; i++) if (shown[i] && !seen[i]) visit(i);
  return rows;
}
