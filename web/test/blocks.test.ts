// Reads what crates/report/src/letters.rs writes; its test holds the same lines.

import assert from "node:assert/strict";
import { test } from "node:test";
import { base85 } from "../src/data/blocks.ts";

const WRITTEN: [number[], string][] = [
  [[], ""],
  [[0], "##"],
  [[255], "vv"],
  [[100, 111, 114, 109, 111, 117, 115, 101], "D:gO,Gjt.6"],
  [[0, 255, 89, 7, 151], "#?83.TQ"],
  [[255, 255, 255, 255, 255, 255, 255], "w:Z/#w:Z,"],
  [[0, 0, 0, 0, 151, 200], "#####TgN"],
];

test("letters are the bytes that they were written of", () => {
  for (const [bytes, letters] of WRITTEN) assert.deepEqual([...base85(letters)], bytes, letters);
});
