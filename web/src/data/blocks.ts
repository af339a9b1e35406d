// Reads the blocks of data that are embedded in the page.

/** The bytes of the block `id`, inflated; null if the page has no such block. */
export async function readBytes(id: string): Promise<Uint8Array | null> {
  const text = document.getElementById(id)?.textContent?.trim();
  if (!text) return null;
  const stream = new Blob([base85(text) as BlobPart]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Letters (crates/report/src/letters.rs): 85 from "#" on, without "<" and the backslash. */
export function base85(text: string): Uint8Array {
  const bytes = new Uint8Array(Math.floor((text.length * 4) / 5));
  const word = new DataView(new ArrayBuffer(4));
  for (let at = 0; at < bytes.length; at += 4) {
    let sum = 0;
    for (let i = 0; i < 5; i++) {
      // What the last group lacks counts as the highest letter, so that cutting it rounds down.
      const code = text.charCodeAt((at / 4) * 5 + i) || 121;
      sum = sum * 85 + code - 35 - Number(code > 60) - Number(code > 92);
    }
    word.setUint32(0, sum);
    for (let i = 0; i < 4 && at + i < bytes.length; i++) bytes[at + i] = word.getUint8(i);
  }
  return bytes;
}

/** The JSON of block `index`. */
export async function readBlock<T>(index: number): Promise<T> {
  const bytes = await readBytes(`block-${index}`);
  if (!bytes) throw new Error(`the page has no block ${index}: was the file cut short?`);
  return JSON.parse(new TextDecoder().decode(bytes)) as T;
}
