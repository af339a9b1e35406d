// The parts of the page that reads which need no browser and no command.

import assert from "node:assert/strict";
import { test } from "node:test";
import { head } from "../src/command/answer.ts";
import { File, Folder, sourceOf } from "../src/command/files.ts";
import { beside, pasted } from "../src/command/inputs.ts";
import { System } from "../src/command/wasi.ts";
import { split, typed } from "../src/command/words.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (of: Uint8Array): string => new TextDecoder().decode(of);

/** A part of a module: its number, its length, its bytes. */
const part = (number: number, ...content: number[]): number[] => [number, content.length, ...content];
const name = (of: string): number[] => [of.length, ...bytes(of)];

/** A module that writes `said` to standard output and then does `more`. */
function speaker(said: string, more: number[]): WebAssembly.Module {
  return new WebAssembly.Module(
    new Uint8Array([
      ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
      // (i32, i32, i32, i32) -> i32 and () -> ()
      ...part(1, 2, 0x60, 4, 0x7f, 0x7f, 0x7f, 0x7f, 1, 0x7f, 0x60, 0, 0),
      ...part(2, 1, ...name("wasi_snapshot_preview1"), ...name("fd_write"), 0, 0),
      ...part(3, 1, 1),
      ...part(5, 1, 0, 1),
      ...part(7, 2, ...name("memory"), 2, 0, ...name("_start"), 0, 1),
      // fd_write(1, 0, 1, 4): the buffer that is described at 0.
      ...part(10, 1, 13 + more.length, 0, 0x41, 1, 0x41, 0, 0x41, 1, 0x41, 4, 0x10, 0, 0x1a, ...more, 0x0b),
      ...part(11, 1, 0, 0x41, 0, 0x0b, 8 + said.length, 8, 0, 0, 0, said.length, 0, 0, 0, ...bytes(said)),
    ]),
  );
}

test("a command writes to standard output and ends", () => {
  let out = "";
  const system = new System(["dormouse"], new Folder(), (b) => (out += text(b)), () => assert.fail());
  assert.equal(system.run(speaker("asleep", [])), 0);
  assert.equal(out, "asleep");
  assert.equal(system.used, 65_536);
});

test("a command that is stopped says so and leaves the next one alone", () => {
  const run = (more: number[]): number => new System([], new Folder(), () => undefined, () => undefined).run(speaker("", more));
  assert.throws(() => run([0x00]), WebAssembly.RuntimeError);
  assert.equal(run([]), 0);
});

test("files are read where they lie, and what is written stays in memory", () => {
  const root = new Folder();
  root.add("logs/a.txt", new File(sourceOf(bytes("one two"))));
  const at = root.find("/logs/./a.txt");
  assert.ok(at?.found instanceof File);
  assert.equal(text(at.found.read(4, 100)), "two");
  assert.equal(text(at.found.read(7, 1)), "");
  at.found.write(4, bytes("three"));
  assert.equal(text(at.found.bytes()), "one three");
  assert.deepEqual([...root.files()].map(([path, f]) => [path, f.written]), [["logs/a.txt", true]]);
  at.found.empty();
  assert.equal(at.found.size, 0);
  assert.equal(root.find("logs/a.txt/b"), null);
  assert.equal(root.find("other/b"), null);
  assert.deepEqual(root.find("logs/b"), { folder: at.folder, name: "b", found: undefined });
});

test("words are those of a shell", () => {
  const line = ["predict", "--without", "usb 1", "it's", "--kernel=7.3", "", "a\"b"];
  assert.deepEqual(split(typed(line)), line);
  assert.deepEqual(split(`  --async 'usb*' "a \\"b\\"" c\\ d `), ["--async", "usb*", 'a "b"', "c d"]);
});

test("the first sentence of a screen goes on where lines are set in", () => {
  assert.equal(head("Resume 224.1 ms: phy0\n  (70 %).\nSuspend 1 ms\n"), "Resume 224.1 ms: phy0 (70 %).");
  assert.equal(head("Nothing.\n"), "Nothing.");
});

test("two inputs of one name stay two", () => {
  const both = beside(pasted("a"), pasted("b"));
  assert.deepEqual(both.names, ["pasted.txt", "2/pasted.txt"]);
  assert.deepEqual(beside(both, pasted("c")).files.map((f) => f.path), ["pasted.txt", "2/pasted.txt", "3/pasted.txt"]);
});
