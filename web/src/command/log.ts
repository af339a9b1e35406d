// The log itself, beside what is said of it: some hundred lines at a time, and a search.

import { button, byId, h } from "../dom.ts";

/** Lines in the page at once, and bytes of a file that are looked at. */
const SHOWN = 400;
const MOST = 64 << 20;

/** The text of a file; null if it is none, or too large to look at. */
async function text(file: Blob): Promise<string | null> {
  if (file.size > MOST) return null;
  const start = new Uint8Array(await file.slice(0, 4096).arrayBuffer());
  if (start[0] === 0x1f && start[1] === 0x8b) {
    try {
      const open = file.stream().pipeThrough(new DecompressionStream("gzip"));
      const inner = await new Response(open).blob();
      const from = new Uint8Array(await inner.slice(0, 4096).arrayBuffer());
      return from.includes(0) || inner.size > MOST ? null : inner.text();
    } catch {
      return null;
    }
  }
  return start.includes(0) ? null : file.text();
}

export class Log {
  #lines: string[] = [];
  #from = 0;
  #chosen = -1;
  #of: Blob | null = null;
  readonly #box = byId("log");
  readonly #list = byId("log-lines");
  readonly #found = byId("log-found");
  readonly #search = byId("log-search") as HTMLInputElement;

  constructor(chosen: (line: number) => void) {
    byId("log-tools").append(
      button("Earlier", () => this.#show(this.#from - SHOWN / 2)),
      button("Later", () => this.#show(this.#from + SHOWN / 2)),
    );
    this.#search.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      const at = this.#next(event.shiftKey ? -1 : 1);
      if (at >= 0) chosen(at + 1);
    });
  }

  /** Shows the lines of `file`, if it is text. */
  async open(file: Blob | null): Promise<void> {
    if (file === this.#of) return;
    this.#of = file;
    const all = file && (await text(file));
    if (file !== this.#of) return;
    this.#lines = all ? all.split("\n") : [];
    this.#chosen = -1;
    this.#found.textContent = "";
    this.#box.hidden = !all;
    this.#show(0);
  }

  /** Goes to a line, counted from 1. */
  choose(line: number): void {
    if (line < 1 || line > this.#lines.length) return;
    this.#chosen = line - 1;
    this.#show(this.#chosen - SHOWN / 2);
    const row = this.#list.querySelector(".chosen");
    // Within its box alone; the page stays where it is.
    if (row instanceof HTMLElement) this.#list.scrollTop = row.offsetTop - this.#list.clientHeight / 2;
  }

  #show(from: number): void {
    this.#from = Math.max(0, Math.min(from, this.#lines.length - SHOWN));
    const rows = this.#lines.slice(this.#from, this.#from + SHOWN).map((line, i) => {
      const at = this.#from + i;
      return h("div", { class: at === this.#chosen ? "chosen" : null }, h("span", { class: "number" }, `${at + 1}`), line);
    });
    this.#list.replaceChildren(...rows);
    byId("log-tools").hidden = this.#lines.length <= SHOWN;
  }

  /** The next line that has the words searched for; -1 if none has. */
  #next(step: number): number {
    const wanted = this.#search.value.toLowerCase();
    const all = this.#lines.flatMap((line, i) => (wanted && line.toLowerCase().includes(wanted) ? [i] : []));
    const after = step > 0 ? all.find((i) => i > this.#chosen) : all.filter((i) => i < this.#chosen).pop();
    const at = after ?? (step > 0 ? all[0] : all[all.length - 1]) ?? -1;
    this.#found.textContent = wanted ? (at < 0 ? "no line has it" : `${all.indexOf(at) + 1} of ${all.length} lines`) : "";
    return at;
  }
}
