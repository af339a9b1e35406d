// How the simulator lies in the page: packed as small as deflate can, then
// written with 85 letters, four bytes in five of them (base64 needs 7 % more).
// src/data/blocks.ts reads it, and crates/report/src/letters.rs writes the data so.

import zopfli from "@gfx/zopfli";

// From "#" on, without "<", which HTML may misread, and the backslash.
const LETTERS = Array.from({ length: 87 }, (_, i) => String.fromCharCode(35 + i))
  .filter((letter) => letter !== "<" && letter !== "\\")
  .join("");

/** The bytes as a stream of zlib. */
export async function packed(bytes) {
  return zopfli.zlibAsync(bytes, { numiterations: 15 });
}

/** Five letters for four bytes, the first the highest; of the last group one letter more than it has bytes. */
export function letters(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 4) {
    let word = 0;
    for (let i = 0; i < 4; i++) word = word * 256 + (bytes[at + i] ?? 0);
    let group = "";
    for (let i = 0; i < 5; i++) {
      group = LETTERS[word % 85] + group;
      word = Math.floor(word / 85);
    }
    text += group.slice(0, Math.min(4, bytes.length - at) + 1);
  }
  return text;
}
