// What a renderer of the timeline is given and must do. The canvas is one; a
// test or another drawing library can be another.

import type { Layout, Pane } from "./layout.ts";
import type { Fold, View } from "./scale.ts";
import type { Ink } from "../palette.ts";

/** A stretch of the axis that belongs to one phase. */
export interface Band {
  pane: number;
  from: number;
  to: number;
  label: string;
  fill: string;
  text: string;
}

/** An arrow between two callbacks of one pane. */
export interface Arrow {
  pane: number;
  from: number;
  to: number;
  kind: "superior" | "subordinate";
  /** This dependency decided when the callback could start. */
  cause: boolean;
}

export interface Scene {
  panes: Pane[];
  layout: Layout;
  folds: Fold[];
  length: number;
  strip: [number, number] | null;
  bands: Band[];
  /** Fill and text colour by phase. */
  fills: string[];
  texts: string[];
  arrows: Arrow[];
  /** [pane, callback] of the selection. */
  selected: [number, number] | null;
  selectedDevice: [number, number] | null;
  /** Per pane and device: 1 if the search finds it; null without a search. */
  matches: Uint8Array[] | null;
  showPath: boolean;
}

export interface Viewport {
  view: View;
  /** Pixels scrolled down. */
  scroll: number;
}

export interface Hit {
  pane: number;
  row: number;
  callback: number;
}

export interface Renderer {
  readonly rowHeight: number;
  /** Width of the labels at the left. */
  readonly gutter: number;
  /** Height of the axis at the top. */
  readonly top: number;
  resize(width: number, height: number, ratio: number): void;
  draw(scene: Scene, viewport: Viewport, ink: Ink): void;
  /** What lies under a point, in CSS pixels. */
  hit(scene: Scene, viewport: Viewport, x: number, y: number): Hit | null;
  /** Axis position of an x, in CSS pixels. */
  axisAt(viewport: Viewport, x: number): number;
}
