// The data inside a report, as crates/report writes it. Every block is JSON,
// compressed with zlib and written as letters (crates/report/src/letters.rs) into a
// <script type="text/plain">, which a browser never runs. Times are whole nanoseconds that count from the
// start of their cycle; in a cycle block they are divided by its `unit`.

/** Block 0: everything that the first screen needs. */
export interface Summary {
  schema: "dormouse-report/1";
  /** Version of the dormouse that wrote the report. */
  version: string;
  title: string;
  /** Every name once; other fields refer to it by index. Index 0 is "". */
  names: string[];
  /** The kernel's phases in order; other fields refer to them by index. */
  phases: PhaseName[];
  /** Why a callback could start when it did; referred to by index. */
  reasons: ReasonName[];
  captures: CaptureData[];
  /** Sentences that say what the page leaves out. */
  left_out: string[];
  /** Differences between the captures, if there are several. */
  compare: Comparison | null;
}

export interface PhaseName {
  name: string;
  /** With its direction where the name alone is not enough. */
  label: string;
  direction: "suspend" | "resume";
  devices: boolean;
}

export interface ReasonName {
  name: string;
  /** The reason in words. */
  text: string;
}

export interface FindingData {
  id: string;
  /** Row of a cycle that it concerns: `sync`, `freeze`, `noirq`, … */
  row: string;
  level: "broken" | "slow" | "risk" | "note";
  confidence: "certain" | "likely" | "guess";
  sentence: string;
  /** What its remedy saves, as a sentence; empty where nobody knows. */
  saved: string;
  evidence: string[];
  /** What to do, how to undo it, what it may cost. */
  advice: [string, string, string][];
}

/** A table in words: the first column of words, the others of figures. */
export interface TableData {
  title: string;
  head: string[];
  rows: { cells: string[]; notes: string[] }[];
  notes: string[];
}

export interface CaptureData {
  label: string;
  host: string;
  model: string;
  cpus: number | null;
  pm_async: boolean | null;
  /** The sentence that matters. */
  answer: string;
  devices: DeviceColumns;
  links: LinkColumns;
  order_known: boolean;
  links_known: boolean;
  cycles: CycleData[];
  /** The cycle shown first: the one nearest to the median. */
  median_cycle: number;
  phase_stats: PhaseStats[];
  device_stats: DeviceStats;
  /** Block with [`PlaceBlock`]. */
  places_block: number | null;
  /** What the doctor says, worst first. */
  findings: FindingData[];
  /** From the request to a machine that can be used; null where no line tells. */
  whole: TableData | null;
  losses: LossData[];
  /** Block with the board that what-if starts from; null if there is none. */
  board_block: number | null;
}

/** Columns, one entry a device. */
export interface DeviceColumns {
  name: number[];
  driver: number[];
  /** What the name means: bus, address, class. */
  about: number[];
  /** Index of the parent plus one; 0 for none. */
  parent: number[];
  /** 0 not known, 1 synchronous, 2 asynchronous. */
  async: number[];
}

export interface LinkColumns {
  consumer: number[];
  supplier: number[];
  kind: number[];
}

export interface CycleData {
  source: string;
  kernel: string;
  mode: string;
  outcome: string;
  /** Device or error of a cycle that was aborted; else empty. */
  outcome_detail: string;
  suspend_ns: number | null;
  resume_ns: number | null;
  /** Begin and end of the time asleep. */
  asleep: [number, number] | null;
  /** Total time from the first to the last line. */
  length_ns: number;
  callbacks: number;
  answer: string;
  /** The same for suspend and for resume; empty where there is nothing. */
  answers: [string, string];
  /** Why this cycle is an outlier; empty if it is none. */
  outlier: string;
  first_after_boot: boolean;
  rows: RowData[];
  /** Devices that the log's own lines say were waited for, longest first. */
  waits: WaitData[];
  /** Block with the callbacks; null if they are left out. */
  block: number | null;
}

/** A wait that the lines of a log without callbacks tell. */
export interface WaitData {
  duration_ns: number;
  /** Whom for, why, how sure, and the line that says so. */
  text: string;
  /** What the time is worth; empty if the kernel counted it. */
  bound: string;
}

/** A phase, or a gap between phases. */
export interface RowData {
  /** Index of the phase; -1 for a gap. */
  phase: number;
  label: string;
  direction: "suspend" | "resume";
  start_ns: number;
  duration_ns: number;
  callbacks: number;
  /** CPU of cpu_off and cpu_on; else -1. */
  cpu: number;
}

export interface PhaseStats {
  phase: number;
  label: string;
  cycles: number;
  min_ns: number;
  median_ns: number;
  p95_ns: number;
  max_ns: number;
}

/** Columns, one entry a device that ran at least one callback. Times of a
 * device add up its callbacks of one direction in one cycle. */
export interface DeviceStats {
  device: number[];
  cycles: number[];
  suspend_median: number[];
  resume_median: number[];
  total_min: number[];
  total_median: number[];
  total_p95: number[];
  total_max: number[];
  /** Median time on the critical path. */
  path_median: number[];
  /** What the cycle would gain if the device took no time; -1 if unknown. */
  gain_median: number[];
}

/** Time of devices in every cycle and every phase. */
export interface PlaceBlock {
  phase_stats: {
    device: number[];
    phase: number[];
    cycles: number[];
    min: number[];
    median: number[];
    p95: number[];
    max: number[];
  };
  /** Devices whose total is given for every cycle; -1 where it did not run. */
  series: { device: number[]; total: number[][] };
  unit: number;
}

export interface LossData {
  kind: string;
  count: number;
  severity: "info" | "warning" | "error";
  advice: string;
}

/** Callbacks of one cycle, in order of their start. */
export interface CycleBlock {
  /** Nanoseconds of one tick; all times below are ticks. */
  unit: number;
  threads: { pid: number[]; name: number[]; main: number[] };
  /** Index of the device, less that of the callback before. */
  device: number[];
  phase: number[];
  thread: number[];
  /** Ticks since the start of the previous callback. */
  start: number[];
  length: number[];
  function: number[];
  /** How many callbacks before it the one stands that it waited for; 0 for none. */
  cause: number[];
  reason: number[];
  /** [index, errno] of callbacks that failed. */
  errors: [number, number][];
  /** Callbacks whose end was not seen. */
  open: number[];
  path: {
    phase: number[];
    /** Index, less that of the callback before on the path (-1 at first); 0
     * for a stretch without a callback. */
    callback: number[];
    /** Ticks from the end of the segment before. */
    start: number[];
    length: number[];
    reason: number[];
  };
}

export interface Comparison {
  /** Sentences, most important first. */
  sentences: string[];
  rows: CompareRow[];
}

export interface CompareRow {
  label: string;
  /** Median of every capture; null where it has none. */
  median_ns: (number | null)[];
  /** Of the second capture against the first. */
  difference: string;
}
