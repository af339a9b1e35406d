// The command of the page beside the command of the machine: every input, byte for byte, and
// damaged inputs, which must not stop it.
//   node test.mjs command WASM [DAMAGED [SEED]]
// DORMOUSE_BIN is the machine's command; inputs are those of the tree and of DORMOUSE_DATA.

import { spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { File, Folder, sourceOf, type Source } from "../src/command/files.ts";
import { System } from "../src/command/wasi.ts";
import { BINARY, DATA, ROOT } from "./inputs.ts";

interface Ran {
  code: number;
  out: Buffer;
  err: Buffer;
}

const [wasm = "", damaged = "0", seed = "1"] = process.argv.slice(2);
const module = new WebAssembly.Module(readFileSync(wasm));

function here(words: string[], root: Folder): Ran {
  const [out, err]: Buffer[][] = [[], []];
  const system = new System(["dormouse", ...words], root, (b) => out.push(Buffer.from(b)), (b) => err.push(Buffer.from(b)));
  const code = system.run(module);
  return { code, out: Buffer.concat(out), err: Buffer.concat(err) };
}

function onMachine(words: string[], folder: string): Ran {
  const run = spawnSync(BINARY, words, { cwd: folder, maxBuffer: 1 << 30, env: {} });
  if (run.error) throw run.error;
  return { code: run.status ?? -1, out: run.stdout, err: run.stderr };
}

/** A file of the disk, read where it is asked for. */
function disk(path: string): Source {
  return {
    size: statSync(path).size,
    read(at, length) {
      const bytes = Buffer.alloc(length);
      const file = openSync(path, "r");
      const read = readSync(file, bytes, 0, length, at);
      closeSync(file);
      return bytes.subarray(0, read);
    },
  };
}

function below(folder: string, above = ""): string[] {
  return readdirSync(join(folder, above), { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((e) => (e.isDirectory() ? below(folder, join(above, e.name)) : e.isFile() ? [join(above, e.name)] : []));
}

const QUESTIONS = [["show"], ["show", "--json"], ["check"], ["check", "--json"], ["predict"], ["show", "--redact"]];
/** Those that compute for long are asked of some inputs. */
const SELDOM = [["tune"], ["tune", "--json"], ["predict", "--all-kernels"], ["report", "-o", "-"], ["export", "--to", "csv", "-o", "-"]];

let [equal, asked] = [0, 0];
function ask(words: string[], folder: string, root: Folder): void {
  asked++;
  const there = onMachine(words, folder);
  let mine: Ran | string;
  try {
    mine = here(words, root);
  } catch (stopped) {
    mine = String(stopped);
  }
  const same = typeof mine !== "string" && mine.code === there.code && mine.out.equals(there.out) && mine.err.equals(there.err);
  if (same) return void equal++;
  const how = typeof mine === "string" ? mine : `exit code ${mine.code} and ${there.code}, ${mine.out.length} and ${there.out.length} bytes`;
  console.log(`DIFFERENT: dormouse ${words.join(" ")}: ${how}`);
  if (typeof mine === "string") return;
  const [a, b] = [`${mine.out}${mine.err}`.split("\n"), `${there.out}${there.err}`.split("\n")];
  const at = a.findIndex((line, i) => line !== b[i]);
  console.log(`  ${a[at]?.slice(0, 160)}\n  ${b[at]?.slice(0, 160)}`);
}

const begin = performance.now();
const folders = [join(ROOT, "captures"), join(ROOT, "boards"), DATA].filter((f) => existsSync(f) || console.log(`SKIPPED: no inputs at ${f}`));
const all: [string, string][] = folders.flatMap((folder) => below(folder).map((path): [string, string] => [folder, path]));
for (const [i, [folder, path]] of all.entries()) {
  const root = new Folder();
  root.add(path, new File(disk(join(folder, path))));
  for (const words of [...QUESTIONS, ...(i % 10 === 0 ? SELDOM : [])]) ask([...words, path], folder, root);
}
// Two inputs side by side, and folders.
for (const [i, [folder, path]] of all.entries()) {
  const [other, next] = all[i + 1] ?? [];
  if (i % 5 !== 0 || other !== folder || next === undefined) continue;
  const root = new Folder();
  for (const one of [path, next]) root.add(one, new File(disk(join(folder, one))));
  ask(["compare", path, next], folder, root);
}
for (const name of ["logs/pm-graph/multitest-5.3", "idle/real", "doctor"]) {
  if (!existsSync(join(DATA, name))) continue;
  const root = new Folder();
  for (const path of below(join(DATA, name))) root.add(join(name, path), new File(disk(join(DATA, name, path))));
  ask(["show", name], DATA, root);
}
console.log(`${equal} of ${asked} answers to ${all.length} inputs are the machine's, to the byte (${((performance.now() - begin) / 1000).toFixed(0)} s)`);

/** Random numbers by a seed (xorshift), below `n`. */
function random(state: number): (n: number) => number {
  return (n) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % n;
  };
}

/** Bytes with some changed, some gone and some twice. */
function hurt(bytes: Buffer, draw: (n: number) => number): Buffer {
  let out = Buffer.from(bytes.subarray(0, 200_000));
  for (let i = draw(8); i >= 0 && out.length > 0; i--) {
    const [at, length] = [draw(out.length), draw(400)];
    const [before, part, after] = [out.subarray(0, at), out.subarray(at, at + length), out.subarray(at + length)];
    if (draw(3) === 0) out = Buffer.concat([before, after]);
    else if (draw(2) === 0) out = Buffer.concat([before, part, part, after]);
    else out[at] = draw(256);
  }
  return out;
}

let [stopped, slowest] = [0, 0];
for (let i = 0; i < Number(damaged); i++) {
  const draw = random(Number(seed) * 1_000_003 + i + 1);
  const [folder, path] = all[draw(all.length)] ?? ["", ""];
  const root = new Folder();
  root.add("input", new File(sourceOf(hurt(readFileSync(join(folder, path)), draw))));
  const words = [...(QUESTIONS[draw(QUESTIONS.length)] ?? []), "input"];
  const from = performance.now();
  try {
    here(words, root);
  } catch (error) {
    stopped++;
    console.log(`STOPPED: dormouse ${words.join(" ")} by ${path}, damaged by ${seed}.${i}: ${String(error)}`);
  }
  slowest = Math.max(slowest, performance.now() - from);
}
if (Number(damaged) > 0) console.log(`${damaged} damaged inputs: ${stopped} stopped the command, the slowest took ${(slowest / 1000).toFixed(1)} s`);
process.exitCode = equal === asked && stopped === 0 ? 0 : 1;
