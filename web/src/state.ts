// What is shown and selected. Views subscribe; nothing else is shared.

export interface Selection {
  /** Index of the pane in the timeline: 0 observed, 1 compared or predicted. */
  pane: number;
  device: number;
  /** The callback, if one was chosen; -1 for the device as a whole. */
  callback: number;
}

export interface State {
  capture: number;
  cycle: number;
  selection: Selection | null;
  rows: "thread" | "tree";
  search: string;
}

type Listener = (state: State, before: State) => void;

export class Store {
  #state: State;
  readonly #listeners: Listener[] = [];

  constructor(state: State) {
    this.#state = state;
  }

  get state(): State {
    return this.#state;
  }

  /** Changes some fields and tells every listener. */
  set(change: Partial<State>): void {
    const before = this.#state;
    this.#state = { ...before, ...change };
    for (const listener of this.#listeners) listener(this.#state, before);
  }

  on(listener: Listener): void {
    this.#listeners.push(listener);
  }
}
