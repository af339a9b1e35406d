// Runs one command in a thread of its own, which is ended with it.

import { File, Folder, type Source } from "./files.ts";
import { System } from "./wasi.ts";

/** A file for the command: where it lies, and what is in it. */
export interface Given {
  path: string;
  content: Blob;
}

export interface Order {
  module: WebAssembly.Module;
  words: string[];
  files: Given[];
}

/** What came of a command. */
export interface Answer {
  code: number;
  out: Uint8Array;
  err: Uint8Array;
  files: { path: string; bytes: Uint8Array }[];
  /** Bytes of memory that it came to need, and its time in ms. */
  memory: number;
  took: number;
}

export type Message = { read: number } | { answer: Answer } | { stopped: string };

/** Threads alone have it, and the page's types know of no thread. */
declare class FileReaderSync {
  readAsArrayBuffer(blob: Blob): ArrayBuffer;
}

/** Bytes that are fetched of a file at once. */
const PIECE = 1 << 20;

/** A file as it lies on disk, read piece by piece: at no time is all of it here twice. */
function source(blob: Blob, read: (bytes: number) => void): Source {
  const reader = new FileReaderSync();
  let [from, piece] = [0, new Uint8Array()];
  return {
    size: blob.size,
    read(at, length) {
      if (at < from || at >= from + piece.length) {
        piece = new Uint8Array(reader.readAsArrayBuffer(blob.slice(at, at + PIECE)));
        from = at;
        read(piece.length);
      }
      return piece.subarray(at - from, at - from + length);
    },
  };
}

/** All pieces as one. */
function joined(pieces: Uint8Array[]): Uint8Array {
  const all = new Uint8Array(pieces.reduce((sum, p) => sum + p.length, 0));
  pieces.reduce((at, p) => (all.set(p, at), at + p.length), 0);
  return all;
}

function answer({ module, words, files }: Order, err: Uint8Array[], read: (bytes: number) => void): Answer {
  const begin = performance.now();
  const root = new Folder();
  for (const { path, content } of files) root.add(path, new File(source(content, read)));
  const out: Uint8Array[] = [];
  const system = new System(["dormouse", ...words], root, (b) => out.push(b), (b) => err.push(b));
  const code = system.run(module);
  const written = [...root.files()].filter(([, file]) => file.written);
  return {
    code,
    out: joined(out),
    err: joined(err),
    files: written.map(([path, file]) => ({ path, bytes: file.bytes().slice() })),
    memory: system.used,
    took: performance.now() - begin,
  };
}

declare const self: { onmessage: ((event: MessageEvent<Order>) => void) | null; postMessage(message: Message): void };

self.onmessage = ({ data }) => {
  let all = 0;
  const err: Uint8Array[] = [];
  try {
    const done = answer(data, err, (bytes) => self.postMessage({ read: (all += bytes) }));
    self.postMessage({ answer: done });
  } catch (error) {
    self.postMessage({ stopped: `${new TextDecoder().decode(joined(err))}${String(error)}` });
  }
};
