// The screen of a command as elements. Nothing in it is changed: lines that it names and
// commands that it proposes can be clicked, that is all.

import { button, h } from "../dom.ts";
import { split } from "./words.ts";

/** Whoever hears what is clicked. */
export interface Wishes {
  line(line: number): void;
  ask(words: string[]): void;
}

/** The first sentence of a screen: its first line, with those that go on with it. */
export function head(screen: string): string {
  const [first = "", ...more] = screen.split("\n");
  const end = more.findIndex((line) => !line.startsWith("  "));
  return [first, ...more.slice(0, end < 0 ? more.length : end)].map((line) => line.trim()).join(" ");
}

const LINE = /^( {4})(line (\d+))((?: at [\d.]+ s)?: .*)$/;
const NEXT = /^Next: dormouse ((?:.*\\\n)*.*)$/m;

/** The screen, line by line. */
export function drawn(screen: string, wishes: Wishes): (Node | string)[] {
  const next = NEXT.exec(screen);
  const upTo = next ? screen.slice(0, next.index) : screen;
  const out: (Node | string)[] = [];
  for (const text of upTo.split(/(?<=\n)/)) {
    const [, before = "", link, number, after] = LINE.exec(text.trimEnd()) ?? [];
    if (link === undefined) out.push(text);
    else out.push(before, button(link, () => wishes.line(Number(number)), { class: "link" }), `${after}\n`);
  }
  if (next) {
    const words = split((next[1] ?? "").replaceAll("\\\n", " "));
    const command = button(`dormouse ${next[1]}`, () => wishes.ask(words), { class: "link" });
    out.push("Next: ", command, screen.slice(next.index + next[0].length));
  }
  // A screen reader reads text in one piece, so pieces of text are joined.
  const joined: (Node | string)[] = [];
  for (const piece of out) {
    const last = joined.length - 1;
    if (typeof piece === "string" && typeof joined[last] === "string") joined[last] += piece;
    else joined.push(piece);
  }
  return joined;
}

/** A file to take away. */
export function download(path: string, bytes: Uint8Array): HTMLAnchorElement {
  const type = path.endsWith(".html") ? "text/html" : "application/octet-stream";
  const url = URL.createObjectURL(new Blob([bytes as BlobPart], { type }));
  return h("a", { href: url, download: path.split("/").pop() ?? path }, path);
}
