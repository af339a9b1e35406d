// As much of an operating system as the command needs: its words, files in memory, standard
// output and error, a clock and chance (the functions of wasi_snapshot_preview1). It asks for
// no network and no device, because there are no such functions here.

import { File, Folder } from "./files.ts";

const ERROR = { none: 0, badFile: 8, exists: 20, invalid: 28, unreadable: 29, isFolder: 31, missing: 44, unknown: 52, noFolder: 54, notEmpty: 55, pipe: 70 };
const KIND = { folder: 3, file: 4 };
const CREATE = 1, FOLDER_ONLY = 2, NEW_ONLY = 4, TRUNCATE = 8, APPEND = 1;
const MAY_WRITE = 64n;

/** The command ended with this code. */
export class Ended {
  constructor(readonly code: number) {}
}

interface Open {
  entry: File | Folder | ((bytes: Uint8Array) => void);
  at: number;
  append: boolean;
}

type Calls = Record<string, (...given: never[]) => number>;

export class System {
  readonly #open: (Open | null)[];
  readonly #arguments: Uint8Array[];
  #memory: WebAssembly.Memory | null = null;

  /** `root` is the working folder, and all that there is. */
  constructor(words: string[], root: Folder, out: (bytes: Uint8Array) => void, err: (bytes: Uint8Array) => void) {
    this.#arguments = words.map((word) => new TextEncoder().encode(`${word}\0`));
    const opened = (entry: Open["entry"]): Open => ({ entry, at: 0, append: false });
    this.#open = [opened(new File()), opened(out), opened(err), opened(root)];
  }

  /** Runs a module as a command and gives its exit code; throws what stopped it otherwise. */
  run(module: WebAssembly.Module): number {
    const calls = this.#calls() as unknown as Record<string, WebAssembly.ImportValue>;
    for (const { name } of WebAssembly.Module.imports(module)) calls[name] ??= () => ERROR.unknown;
    const instance = new WebAssembly.Instance(module, { wasi_snapshot_preview1: calls });
    this.#memory = instance.exports["memory"] as WebAssembly.Memory;
    try {
      (instance.exports["_start"] as () => void)();
      return 0;
    } catch (stopped) {
      if (stopped instanceof Ended) return stopped.code;
      throw stopped;
    }
  }

  /** Bytes of memory that the command came to need. */
  get used(): number {
    return this.#memory?.buffer.byteLength ?? 0;
  }

  /** Memory moves when it grows, so nobody keeps a view of it. */
  #view(): DataView {
    if (!this.#memory) throw new Error("nothing runs");
    return new DataView(this.#memory.buffer);
  }

  #bytes(at: number, length: number): Uint8Array {
    return new Uint8Array(this.#view().buffer, at, length);
  }

  #path(at: number, length: number): string {
    return new TextDecoder().decode(this.#bytes(at, length));
  }

  /** The places of memory that a list of buffers names. */
  #buffers(list: number, count: number): Uint8Array[] {
    const view = this.#view();
    return Array.from({ length: count }, (_, i) => this.#bytes(view.getUint32(list + 8 * i, true), view.getUint32(list + 8 * i + 4, true)));
  }

  #folder(number: number): Folder | null {
    const entry = this.#open[number]?.entry;
    return entry instanceof Folder ? entry : null;
  }

  #words(list: Uint8Array[], at: number, bytes: number): number {
    for (const [i, word] of list.entries()) {
      this.#view().setUint32(at + 4 * i, bytes, true);
      this.#bytes(bytes, word.length).set(word);
      bytes += word.length;
    }
    return ERROR.none;
  }

  #sizes(list: Uint8Array[], count: number, bytes: number): number {
    this.#view().setUint32(count, list.length, true);
    this.#view().setUint32(bytes, list.reduce((sum, word) => sum + word.length, 0), true);
    return ERROR.none;
  }

  #describe(entry: Open["entry"], at: number): number {
    const view = this.#view();
    this.#bytes(at, 64).fill(0);
    view.setUint8(at + 16, entry instanceof Folder ? KIND.folder : KIND.file);
    view.setBigUint64(at + 24, 1n, true);
    view.setBigUint64(at + 32, BigInt(entry instanceof File ? entry.size : 0), true);
    return ERROR.none;
  }

  #read(number: number, list: number, count: number, done: number): number {
    const open = this.#open[number];
    if (!open || !(open.entry instanceof File)) return open?.entry instanceof Folder ? ERROR.isFolder : ERROR.badFile;
    let all = 0;
    for (const buffer of this.#buffers(list, count)) {
      let bytes;
      try {
        bytes = open.entry.read(open.at, buffer.length);
      } catch {
        // A file that is gone, or that has changed since it was given.
        return ERROR.unreadable;
      }
      buffer.set(bytes);
      open.at += bytes.length;
      all += bytes.length;
      if (bytes.length < buffer.length) break;
    }
    this.#view().setUint32(done, all, true);
    return ERROR.none;
  }

  #write(number: number, list: number, count: number, done: number): number {
    const open = this.#open[number];
    if (!open || open.entry instanceof Folder) return ERROR.badFile;
    let all = 0;
    for (const buffer of this.#buffers(list, count)) {
      if (open.entry instanceof File) {
        if (open.append) open.at = open.entry.size;
        open.entry.write(open.at, buffer);
        open.at += buffer.length;
      } else open.entry(buffer.slice());
      all += buffer.length;
    }
    this.#view().setUint32(done, all, true);
    return ERROR.none;
  }

  #seek(number: number, by: bigint, from: number, place: number): number {
    const open = this.#open[number];
    if (!open) return ERROR.badFile;
    if (!(open.entry instanceof File)) return ERROR.pipe;
    const at = Number(by) + (from === 0 ? 0 : from === 1 ? open.at : open.entry.size);
    if (at < 0) return ERROR.invalid;
    open.at = at;
    this.#view().setBigUint64(place, BigInt(at), true);
    return ERROR.none;
  }

  #list(number: number, at: number, length: number, from: bigint, used: number): number {
    const folder = this.#folder(number);
    if (!folder) return ERROR.noFolder;
    const out = this.#bytes(at, length);
    let filled = 0;
    for (const [i, [name, entry]] of [...folder.entries].slice(Number(from)).entries()) {
      const text = new TextEncoder().encode(name);
      const row = new Uint8Array(24 + text.length);
      const view = new DataView(row.buffer);
      view.setBigUint64(0, from + BigInt(i + 1), true);
      view.setUint32(16, text.length, true);
      view.setUint8(20, entry instanceof Folder ? KIND.folder : KIND.file);
      row.set(text, 24);
      out.set(row.subarray(0, length - filled), filled);
      filled = Math.min(length, filled + row.length);
      // A row that is cut short says that there are more.
      if (filled === length) break;
    }
    this.#view().setUint32(used, filled, true);
    return ERROR.none;
  }

  #openAt(number: number, path: string, how: number, rights: bigint, flags: number, place: number): number {
    const at = this.#folder(number)?.find(path);
    if (!at) return this.#folder(number) ? ERROR.missing : ERROR.noFolder;
    let entry = at.found;
    if (entry && how & CREATE && how & NEW_ONLY) return ERROR.exists;
    if (!entry) {
      if (!(how & CREATE)) return ERROR.missing;
      at.folder.entries.set(at.name, (entry = new File()));
      entry.empty();
    }
    if (how & FOLDER_ONLY && !(entry instanceof Folder)) return ERROR.noFolder;
    if (entry instanceof Folder && rights & MAY_WRITE && !(how & FOLDER_ONLY)) return ERROR.isFolder;
    if (entry instanceof File && how & TRUNCATE) entry.empty();
    const free = this.#open.indexOf(null);
    const next = free < 0 ? this.#open.length : free;
    this.#open[next] = { entry, at: 0, append: (flags & APPEND) !== 0 };
    this.#view().setUint32(place, next, true);
    return ERROR.none;
  }

  #remove(number: number, path: string, isFolder: boolean): number {
    const at = this.#folder(number)?.find(path);
    if (!at?.found) return ERROR.missing;
    if (at.found instanceof Folder !== isFolder) return isFolder ? ERROR.noFolder : ERROR.isFolder;
    if (at.found instanceof Folder && at.found.entries.size > 0) return ERROR.notEmpty;
    at.folder.entries.delete(at.name);
    return ERROR.none;
  }

  #rename(from: number, old: string, to: number, name: string): number {
    const [was, will] = [this.#folder(from)?.find(old), this.#folder(to)?.find(name)];
    if (!was?.found || !will) return ERROR.missing;
    was.folder.entries.delete(was.name);
    will.folder.entries.set(will.name, was.found);
    return ERROR.none;
  }

  #calls(): Calls {
    const none: Uint8Array[] = [];
    return {
      args_get: (at: number, bytes: number) => this.#words(this.#arguments, at, bytes),
      args_sizes_get: (count: number, bytes: number) => this.#sizes(this.#arguments, count, bytes),
      environ_get: (at: number, bytes: number) => this.#words(none, at, bytes),
      environ_sizes_get: (count: number, bytes: number) => this.#sizes(none, count, bytes),
      clock_time_get: (clock: number, _: bigint, at: number) => {
        const ms = clock === 0 ? Date.now() : performance.now();
        this.#view().setBigUint64(at, BigInt(Math.round(ms * 1e6)), true);
        return ERROR.none;
      },
      random_get: (at: number, length: number) => {
        for (let done = 0; done < length; done += 65_536) {
          crypto.getRandomValues(this.#bytes(at + done, Math.min(65_536, length - done)) as Uint8Array<ArrayBuffer>);
        }
        return ERROR.none;
      },
      sched_yield: () => ERROR.none,
      fd_sync: () => ERROR.none,
      proc_exit: (code: number) => {
        throw new Ended(code);
      },
      fd_close: (number: number) => {
        if (!this.#open[number]) return ERROR.badFile;
        this.#open[number] = null;
        return ERROR.none;
      },
      fd_fdstat_get: (number: number, at: number) => {
        const open = this.#open[number];
        if (!open) return ERROR.badFile;
        this.#bytes(at, 24).fill(0);
        this.#view().setUint8(at, open.entry instanceof Folder ? KIND.folder : KIND.file);
        this.#bytes(at + 8, 16).fill(255);
        return ERROR.none;
      },
      fd_filestat_get: (number: number, at: number) => {
        const open = this.#open[number];
        return open ? this.#describe(open.entry, at) : ERROR.badFile;
      },
      fd_prestat_get: (number: number, at: number) => {
        if (number !== 3) return ERROR.badFile;
        this.#view().setUint32(at, 0, true);
        this.#view().setUint32(at + 4, 1, true);
        return ERROR.none;
      },
      fd_prestat_dir_name: (_: number, at: number, length: number) => {
        this.#bytes(at, length).fill("/".charCodeAt(0), 0, 1);
        return ERROR.none;
      },
      fd_read: (number: number, list: number, count: number, done: number) => this.#read(number, list, count, done),
      fd_write: (number: number, list: number, count: number, done: number) => this.#write(number, list, count, done),
      fd_seek: (number: number, by: bigint, from: number, place: number) => this.#seek(number, by, from, place),
      fd_readdir: (number: number, at: number, length: number, from: bigint, used: number) => this.#list(number, at, length, from, used),
      path_filestat_get: (number: number, _: number, path: number, length: number, at: number) => {
        const found = this.#folder(number)?.find(this.#path(path, length))?.found;
        return found ? this.#describe(found, at) : ERROR.missing;
      },
      path_open: (number: number, _: number, path: number, length: number, how: number, rights: bigint, __: bigint, flags: number, place: number) =>
        this.#openAt(number, this.#path(path, length), how, rights, flags, place),
      path_readlink: () => ERROR.invalid,
      path_create_directory: (number: number, path: number, length: number) => {
        const at = this.#folder(number)?.find(this.#path(path, length));
        if (!at || at.found) return at ? ERROR.exists : ERROR.missing;
        at.folder.entries.set(at.name, new Folder());
        return ERROR.none;
      },
      path_unlink_file: (number: number, path: number, length: number) => this.#remove(number, this.#path(path, length), false),
      path_remove_directory: (number: number, path: number, length: number) => this.#remove(number, this.#path(path, length), true),
      path_rename: (from: number, old: number, oldLength: number, to: number, name: number, nameLength: number) =>
        this.#rename(from, this.#path(old, oldLength), to, this.#path(name, nameLength)),
    };
  }
}
