// What web/packed.mjs writes, src/data/blocks.ts reads.

import assert from "node:assert/strict";
import { test } from "node:test";
import { inflateSync } from "node:zlib";
import { letters, packed } from "../packed.mjs";
import { base85 } from "../src/data/blocks.ts";

test("bytes of every length come back, and no letter is one that HTML may misread", () => {
  for (let length = 0; length < 70; length++) {
    const bytes = Uint8Array.from({ length }, (_, i) => (i * 89 + length * 151) % 256);
    bytes.fill(255, 8, 16);
    bytes.fill(0, 16, 24);
    const text = letters(bytes);
    assert.match(text, /^[#-;=-[\]-y]*$/);
    assert.deepEqual(base85(text), bytes, `${length} bytes`);
  }
});

test("what is packed inflates to the same bytes", async () => {
  const bytes = Uint8Array.from({ length: 3_001 }, (_, i) => (i * i) % 251);
  assert.deepEqual(new Uint8Array(inflateSync(await packed(bytes))), bytes);
});
