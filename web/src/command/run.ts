// The command as a function: each call has a thread and an instance of its own, so that what
// stops one call leaves nothing behind for the next.

import { readBytes } from "../data/blocks.ts";
import type { Answer, Given, Message } from "./worker.ts";

export class Command {
  readonly #module: Promise<WebAssembly.Module>;
  readonly #script: string;
  #stop: (() => void) | null = null;

  /** Inflates the command of this page. */
  constructor() {
    this.#module = readBytes("command-bytes").then((bytes) => {
      if (!bytes) throw new Error("the page has no command: was the file cut short?");
      return WebAssembly.compile(bytes as BufferSource);
    });
    const text = document.getElementById("worker")?.textContent ?? "";
    this.#script = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  }

  /** Runs a command line; `read` hears how many bytes of the inputs are read. Null if it was cancelled. */
  async run(words: string[], files: Given[], read: (bytes: number) => void): Promise<Answer | null> {
    this.cancel();
    const module = await this.#module;
    return new Promise((resolve, reject) => {
      const worker = new Worker(this.#script);
      const end = (): void => {
        worker.terminate();
        if (this.#stop === cancelled) this.#stop = null;
      };
      const cancelled = (): void => {
        end();
        resolve(null);
      };
      this.cancel();
      this.#stop = cancelled;
      worker.onmessage = ({ data }: MessageEvent<Message>) => {
        if ("read" in data) return read(data.read);
        end();
        if ("answer" in data) resolve(data.answer);
        else reject(new Error(data.stopped));
      };
      worker.onerror = (event) => {
        end();
        reject(new Error(event.message));
      };
      worker.postMessage({ module, words, files });
    });
  }

  /** Ends what runs. */
  cancel(): void {
    this.#stop?.();
    this.#stop = null;
  }
}
