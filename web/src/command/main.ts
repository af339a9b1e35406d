// The page that reads: the command itself, in this page, on what is given to it.

import { button, byId, copy, h } from "../dom.ts";
import { theme } from "../theme.ts";
import { download, drawn, head } from "./answer.ts";
import { beside, chosen, dropped, pasted, type Gift } from "./inputs.ts";
import { Log } from "./log.ts";
import { Command } from "./run.ts";
import { split, typed } from "./words.ts";
import type { Answer } from "./worker.ts";

/** Commands, each with what it does and options that are often asked for. */
const VERBS: Record<string, { does: string; hints: string[] }> = {
  show: { does: "Where the time went, who waited, what is wrong.", hints: ["--cycle 1", "--top 20", "--only idle", "--redact"] },
  check: { does: "A verdict, with the lines that show it and what to do.", hints: ["--resume 1s", "--fail-on broken", "--as junit"] },
  predict: { does: "What another kernel, driver, governor or delay would do.", hints: ["--all-kernels", "--kernel 7.3", "--without NAME", "--async NAME"] },
  tune: { does: "The changes or settings that are best, or meet a budget.", hints: ["--resume 250ms", "--bold", "-o changes"] },
  compare: { does: "Is there a difference, how sure is it, from where. The first input with each of the others.", hints: ["--fail-if-slower 3%", "--only model"] },
  report: { does: "One page to explore and to attach to a bug.", hints: ["--redact=no"] },
};
/** What is asked: the address keeps it. */
interface Asked {
  verb: string;
  options: string;
  json: boolean;
  line: number;
}
const REPORT = "report.html";

const command = new Command();
const log = new Log((line) => ask({ line }));
let gift: Gift = { names: [], files: [] };
let asked = read();
/** What the page shows an answer to, so that a line alone asks nothing anew. */
let shown = "";

function read(): Asked {
  const given = new URLSearchParams(location.hash.slice(1));
  const verb = given.get("verb") ?? "show";
  return { verb: verb in VERBS ? verb : "show", options: given.get("options") ?? "", json: given.has("json"), line: Number(given.get("line") ?? 0) };
}

/** Changes the question; the address and the answer follow. */
function ask(change: Partial<Asked>): void {
  const { verb, options, json, line } = { ...asked, ...change };
  const words = new URLSearchParams({ verb });
  if (options) words.set("options", options);
  if (json) words.set("json", "yes");
  if (line) words.set("line", String(line));
  if (`#${words}` === location.hash) void answer();
  else location.hash = String(words);
}

function words(): string[] {
  const options = split(asked.options);
  if (asked.verb === "report" && !options.some((o) => o.startsWith("-o") || o.startsWith("--output"))) options.push("-o", REPORT);
  return [asked.verb, ...options, ...(asked.json && asked.verb !== "report" ? ["--json"] : []), ...gift.names];
}

/** Runs a command line and shows how far it is; null if it was cancelled. */
async function run(line: string[]): Promise<Answer | null> {
  const all = gift.files.reduce((sum, f) => sum + f.content.size, 0);
  const mb = (bytes: number): string => (bytes / 1e6).toFixed(1);
  const [box, doing] = [byId("progress"), byId("doing")];
  const begin = performance.now();
  let part = "starting";
  const say = (): void => void (doing.textContent = `${part}, ${((performance.now() - begin) / 1000).toFixed(1)} s`);
  const timer = setInterval(() => {
    box.hidden = false;
    say();
  }, 200);
  try {
    return await command.run(line, gift.files, (bytes) => (part = `${mb(Math.min(bytes, all))} of ${mb(all)} MB read`));
  } finally {
    clearInterval(timer);
    box.hidden = true;
  }
}

/** Says what stopped the command itself. The next question has an instance of its own. */
function stopped(error: unknown): void {
  byId("answer-section").hidden = false;
  byId("remarks").hidden = false;
  byId("remarks").textContent =
    `The command stopped while it read this (${String(error)}).\nThat is a fault of dormouse: please report it, with the input if you may. ` +
    "The page goes on: ask something else, or give another input.\n";
  for (const id of ["screen", "written", "page", "cost"]) byId(id).replaceChildren();
}

/** Answers what is asked of what is given. */
async function answer(): Promise<void> {
  asked = read();
  draw();
  if (gift.names.length === 0) return;
  const line = words();
  const key = JSON.stringify([line, gift.names]);
  if (key !== shown) {
    let done: Answer | null = null;
    try {
      done = await run(line);
      if (!done) return void (byId("cost").textContent = "Cancelled.");
      show(line, done);
      shown = key;
    } catch (error) {
      byId("command").textContent = `dormouse ${typed(line)}`;
      stopped(error);
    } finally {
      if (isPlain(line)) heads(done);
    }
  }
  if (asked.line) log.choose(asked.line);
  document.body.dataset["answered"] = typed(line);
}

function show(line: string[], done: Answer): void {
  const text = new TextDecoder().decode(done.out);
  byId("answer-section").hidden = false;
  byId("command").textContent = `dormouse ${typed(line)}`;
  const remarks = new TextDecoder().decode(done.err);
  byId("remarks").textContent = remarks;
  byId("remarks").hidden = remarks === "";
  const wishes = { line: (number: number) => ask({ line: number }), ask: follow };
  byId("screen").replaceChildren(...(asked.json ? [text] : drawn(text, wishes)));
  byId("screen").hidden = text === "";
  byId("written").replaceChildren(...done.files.map((f) => h("li", {}, "Take away ", download(f.path, f.bytes))));
  const page = done.files.find((f) => f.path === REPORT);
  byId("page").replaceChildren();
  if (page) {
    const url = URL.createObjectURL(new Blob([page.bytes as BlobPart], { type: "text/html" }));
    byId("page").append(h("iframe", { src: url, sandbox: "allow-scripts", title: "The report" }));
  }
  byId("cost").textContent = `Exit code ${done.code}, ${(done.took / 1000).toFixed(2)} s, ${(done.memory / 1e6).toFixed(0)} MB of memory.`;
}

/** Asks what a screen proposes: its inputs are those that are there. */
function follow(line: string[]): void {
  const [verb = "", ...rest] = line;
  const options = rest.filter((w) => !gift.names.includes(w));
  if (verb in VERBS) ask({ verb, options: typed(options), json: false, line: 0 });
  else byId("cost").textContent = `dormouse ${verb} runs on the machine itself: dormouse ${typed(line)}`;
}

/** The question as it stands. */
function draw(): void {
  for (const each of byId("verbs").querySelectorAll("button")) each.setAttribute("aria-pressed", String(each.textContent === asked.verb));
  byId("does").textContent = VERBS[asked.verb]?.does ?? "";
  (byId("options") as HTMLInputElement).value = asked.options;
  (byId("json") as HTMLInputElement).checked = asked.json;
  (byId("json") as HTMLInputElement).disabled = asked.verb === "report";
  const hints = [...(VERBS[asked.verb]?.hints ?? []), "--help"];
  const add = (hint: string): void => {
    const field = byId("options") as HTMLInputElement;
    field.value = `${field.value} ${hint}`.trim();
    field.focus();
    const name = field.value.lastIndexOf("NAME");
    // What is to be filled in waits; all else is asked at once.
    if (hint.includes("NAME")) field.setSelectionRange(name, name + 4);
    else ask({ options: field.value, line: 0 });
  };
  byId("hints").replaceChildren(...hints.map((hint) => button(hint, () => add(hint))));
}

/** Takes what was given. Its first sentence heads the page, whatever is asked. */
async function take(more: Gift): Promise<void> {
  if (more.files.length === 0) return;
  const keep = byId("keep") as HTMLInputElement;
  gift = keep.checked ? beside(gift, more) : more;
  shown = "";
  byId("inputs").replaceChildren(...gift.names.map(chip));
  byId("first").textContent = `Reading ${gift.names.join(", ")} …`;
  void log.open(gift.files[0]?.content ?? null).then(() => log.choose(asked.line));
  if (!isPlain(words())) {
    const now = gift;
    const done = await run(["show", ...gift.names]).catch(() => null);
    if (now !== gift) return;
    heads(done);
  }
  await answer();
}

/** Whether a command line is that of the sentence at the top. */
function isPlain(line: string[]): boolean {
  return JSON.stringify(line) === JSON.stringify(["show", ...gift.names]);
}

/** The first sentence of `show` heads the page; the names of the inputs, if there is none. */
function heads(done: Answer | null): void {
  const text = done && new TextDecoder().decode(done.out.length > 0 ? done.out : done.err);
  byId("first").textContent = (text && head(text)) || gift.names.join(", ");
}

function chip(name: string): HTMLElement {
  const off = button("Remove", () => {
    const mine = (path: string): boolean => path === name || path.startsWith(`${name}/`);
    gift = { names: gift.names.filter((n) => n !== name), files: gift.files.filter((f) => !mine(f.path)) };
    byId("inputs").replaceChildren(...gift.names.map(chip));
    shown = "";
    void answer();
  }, { "aria-label": `Remove ${name}` });
  return h("li", {}, h("bdi", {}, name), " ", off);
}

function start(): void {
  theme(byId("theme"), () => undefined);
  byId("verbs").append(...Object.keys(VERBS).map((verb) => button(verb, () => ask({ verb, options: "", line: 0 }))));
  const copier = button("Copy", () => void copy(`$ ${byId("command").textContent}\n${byId("screen").textContent}`, copier));
  byId("answer-tools").append(copier);
  byId("form").addEventListener("submit", (event) => {
    event.preventDefault();
    ask({ options: (byId("options") as HTMLInputElement).value, line: 0 });
  });
  byId("json").addEventListener("change", () => ask({ json: (byId("json") as HTMLInputElement).checked }));
  byId("cancel").addEventListener("click", () => command.cancel());
  for (const id of ["choose", "choose-folder"]) {
    const field = byId(id) as HTMLInputElement;
    field.addEventListener("change", () => {
      if (field.files) void take(chosen(field.files));
      // So that the same file can be chosen again: it may have grown.
      field.value = "";
    });
  }
  byId("read").addEventListener("click", () => void take(pasted((byId("pasted") as HTMLTextAreaElement).value)));
  const isField = (at: EventTarget | null): boolean => at instanceof HTMLInputElement || at instanceof HTMLTextAreaElement;
  document.addEventListener("paste", (event) => {
    if (isField(event.target) || !event.clipboardData) return;
    void dropped(event.clipboardData).then(take);
  });
  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.add("over");
  });
  document.addEventListener("dragleave", () => document.body.classList.remove("over"));
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("over");
    if (event.dataTransfer) void dropped(event.dataTransfer).then(take);
  });
  addEventListener("hashchange", () => void answer());
  draw();
  document.body.dataset["ready"] = "true";
}

start();
