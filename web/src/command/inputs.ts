// What is given: files and folders that are dropped or chosen, and text that is pasted.

import type { Given } from "./worker.ts";

/** What one drop, choice or paste gave. */
export interface Gift {
  /** The words that name it on a command line: files, or the folders that they lie in. */
  names: string[];
  files: Given[];
}

/** Text that was pasted, as a file. */
export function pasted(text: string): Gift {
  return { names: ["pasted.txt"], files: [{ path: "pasted.txt", content: new Blob([text]) }] };
}

/** Files that were chosen; those of a folder know the way to them. */
export function chosen(list: FileList): Gift {
  return gift([...list].map((file) => ({ path: file.webkitRelativePath || file.name, content: file })));
}

/** What was dropped, with all that is in its folders. */
export async function dropped(data: DataTransfer): Promise<Gift> {
  const entries = [...data.items].map((item) => item.webkitGetAsEntry()).filter((e) => e !== null);
  if (entries.length > 0) return gift((await Promise.all(entries.map(below))).flat());
  const text = data.getData("text/plain");
  return text ? pasted(text) : gift([]);
}

async function below(entry: FileSystemEntry): Promise<Given[]> {
  const path = entry.fullPath.replace(/^\/+/, "");
  if (entry.isFile) {
    const content = await new Promise<Blob>((ok, no) => (entry as FileSystemFileEntry).file(ok, no));
    return [{ path, content }];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const all: Given[] = [];
  for (;;) {
    // A folder tells some of its entries at a time.
    const some = await new Promise<FileSystemEntry[]>((ok, no) => reader.readEntries(ok, no));
    if (some.length === 0) return all;
    all.push(...(await Promise.all(some.map(below))).flat());
  }
}

/** A word that begins like an option is an input only behind a folder. */
function gift(files: Given[]): Gift {
  const named = files.map((f) => (f.path.startsWith("-") ? { ...f, path: `files/${f.path}` } : f));
  const first = (path: string): string => (path.startsWith("files/-") ? path : (path.split("/")[0] ?? path));
  return { names: [...new Set(named.map((f) => first(f.path)))], files: named };
}

/** `more` beside what there is: of two files with one name, the second gets a folder. */
export function beside(before: Gift, more: Gift): Gift {
  const taken = new Set(before.names);
  if (!more.names.some((n) => taken.has(n))) return { names: [...before.names, ...more.names], files: [...before.files, ...more.files] };
  let number = 2;
  while (more.names.some((n) => taken.has(`${number}/${n}`))) number++;
  return {
    names: [...before.names, ...more.names.map((n) => `${number}/${n}`)],
    files: [...before.files, ...more.files.map((f) => ({ ...f, path: `${number}/${f.path}` }))],
  };
}
