// Files and folders in memory: those that were given, and those that the command writes.

/** The bytes of a file that was given; they stay where they are until they are asked for. */
export interface Source {
  readonly size: number;
  read(at: number, length: number): Uint8Array;
}

/** Bytes in memory as a source. */
export function sourceOf(bytes: Uint8Array): Source {
  return { size: bytes.length, read: (at, length) => bytes.subarray(at, at + length) };
}

/** A file. What is written to one that was given stays in memory. */
export class File {
  #given: Source | null;
  #bytes = new Uint8Array();
  #size = 0;
  /** Whether the command wrote it. */
  written = false;

  constructor(given: Source | null = null) {
    this.#given = given;
  }

  get size(): number {
    return this.#given ? this.#given.size : this.#size;
  }

  read(at: number, length: number): Uint8Array {
    if (at >= this.size) return new Uint8Array();
    if (this.#given) return this.#given.read(at, Math.min(length, this.size - at));
    return this.#bytes.subarray(at, Math.min(at + length, this.#size));
  }

  write(at: number, bytes: Uint8Array): void {
    this.#own();
    const end = at + bytes.length;
    if (end > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(end, this.#bytes.length * 2, 1 << 16));
      larger.set(this.#bytes.subarray(0, this.#size));
      this.#bytes = larger;
    }
    this.#bytes.set(bytes, at);
    this.#size = Math.max(this.#size, end);
  }

  empty(): void {
    this.#given = null;
    this.#size = 0;
    this.written = true;
  }

  /** All of it, for whoever keeps it. */
  bytes(): Uint8Array {
    return this.read(0, this.size);
  }

  #own(): void {
    this.written = true;
    if (!this.#given) return;
    this.#bytes = this.#given.read(0, this.#given.size).slice();
    this.#size = this.#bytes.length;
    this.#given = null;
  }
}

export class Folder {
  readonly entries = new Map<string, File | Folder>();

  /** What lies at `path`, in which folder and under which name; null if a folder above is missing. */
  find(path: string): { folder: Folder; name: string; found: File | Folder | undefined } | null {
    const names = path.split("/").filter((n) => n !== "" && n !== ".");
    const name = names.pop();
    if (name === undefined) return { folder: this, name: "", found: this };
    let folder: Folder = this;
    for (const above of names) {
      const below = folder.entries.get(above);
      if (!(below instanceof Folder)) return null;
      folder = below;
    }
    return { folder, name, found: folder.entries.get(name) };
  }

  /** Puts a file at `path`, with the folders above it. */
  add(path: string, file: File): void {
    const names = path.split("/").filter((n) => n !== "");
    const last = names.pop();
    let at: Folder = this;
    for (const name of names) {
      let below = at.entries.get(name);
      if (!(below instanceof Folder)) at.entries.set(name, (below = new Folder()));
      at = below;
    }
    if (last !== undefined) at.entries.set(last, file);
  }

  /** Every file below, with its path. */
  *files(above = ""): Generator<[string, File]> {
    for (const [name, entry] of this.entries) {
      if (entry instanceof Folder) yield* entry.files(`${above}${name}/`);
      else yield [above + name, entry];
    }
  }
}
