// Reads the blocks of data that are embedded in the page.

/** The bytes of the block `id`, inflated; null if the page has no such block. */
export async function readBytes(id: string): Promise<Uint8Array | null> {
  const text = document.getElementById(id)?.textContent?.trim();
  if (!text) return null;
  const binary = atob(text);
  const packed = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) packed[i] = binary.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The JSON of block `index`. */
export async function readBlock<T>(index: number): Promise<T> {
  const bytes = await readBytes(`block-${index}`);
  if (!bytes) throw new Error(`the page has no block ${index}: was the file cut short?`);
  return JSON.parse(new TextDecoder().decode(bytes)) as T;
}
