// Reports and figures for the tests, made by the dormouse command.

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** The repository; the tests run compiled, from web/dist/test. */
export const ROOT = resolve(process.env["DORMOUSE_ROOT"] ?? join(process.cwd(), ".."));
export const OUT = join(ROOT, "target/web-test");
mkdirSync(OUT, { recursive: true });

export const BINARY = resolve(ROOT, process.env["DORMOUSE_BIN"] ?? "target/debug/dormouse");
export const DATA = resolve(ROOT, process.env["DORMOUSE_DATA"] ?? "../shared/data");

/** Forty runs of a laptop, if the data is there. */
export const RUNS = join(DATA, "logs/pm-graph/multitest-5.3");

export function haveData(): boolean {
  const have = existsSync(RUNS);
  if (!have) console.error(`SKIPPED: no real logs at ${RUNS}; set DORMOUSE_DATA`);
  return have;
}

/** Runs dormouse and returns what it prints. */
export function dormouse(...args: string[]): string {
  const run = spawnSync(BINARY, args, { encoding: "utf8", maxBuffer: 1 << 30 });
  if (run.error) throw run.error;
  if (run.status !== 0) throw new Error(`dormouse ${args.join(" ")} ended with ${run.status}: ${run.stderr}`);
  return run.stdout;
}

type Row = unknown[];

/** What every output of `show --json` has at its head. */
export interface Head {
  columns: Record<string, string[]>;
  devices: Row[];
}

/** Rows of the list at `path` as objects, by the columns at the head. */
export function objects<T>(head: Head, path: string, rows: Row[]): T[] {
  const names = head.columns[path] ?? [];
  return rows.map((row) => Object.fromEntries(names.map((n, i) => [n, row[i]])) as T);
}

const made = new Map<string, string>();

/** A report of `inputs`, made once. */
export function report(name: string, ...inputs: string[]): string {
  const file = join(OUT, `${name}.html`);
  if (!made.has(file)) {
    // Figures are compared with those of the command, which names devices as they are.
    dormouse("report", "--redact=no", ...inputs, "-o", file);
    made.set(file, file);
  }
  return file;
}

/** A kernel log of a sleep before which 2.5 s of data were written. */
export function slowSync(): string {
  const lines: [number, string][] = [
    [100.0, "PM: suspend entry (deep)"],
    [102.5, "Filesystems sync: 2.500 seconds"],
    [102.6, "Freezing user space processes"],
    [102.601, "Freezing user space processes completed (elapsed 0.001 seconds)"],
    [102.602, "Freezing remaining freezable tasks"],
    [102.603, "Freezing remaining freezable tasks completed (elapsed 0.001 seconds)"],
    [102.604, "printk: Suspending console(s) (use no_console_suspend to debug)"],
    [102.7, "PM: suspend of devices complete after 90.000 msecs"],
    [102.71, "PM: late suspend of devices complete after 5.000 msecs"],
    [102.72, "PM: noirq suspend of devices complete after 5.000 msecs"],
    [103.0, "PM: noirq resume of devices complete after 5.000 msecs"],
    [103.01, "PM: early resume of devices complete after 5.000 msecs"],
    [103.1, "PM: resume of devices complete after 80.000 msecs"],
    [103.2, "Restarting tasks: Starting"],
    [103.3, "PM: suspend exit"],
  ];
  const file = join(OUT, "sync.log");
  writeFileSync(file, lines.map(([t, text]) => `[${t.toFixed(6)}] ${text}\n`).join(""));
  return file;
}

/** A kernel log without callbacks whose own lines tell two waits. */
export function slowLink(): string {
  const lines: [number, string][] = [
    [40.0, "PM: suspend entry (deep)"],
    [40.2, "printk: Suspending console(s) (use no_console_suspend to debug)"],
    [40.7, "ACPI: PM: Preparing to enter system sleep state S3"],
    [41.0, "ACPI: PM: Waking up from system sleep state S3"],
    [41.5, "ata3: link is slow to respond, please be patient (ready=0)"],
    [42.1, "nvme 0000:02:00.0: ready 510ms after resume"],
    [44.4, "ata3: SATA link up 3.0 Gbps (SStatus 123 SControl 300)"],
    [44.5, "Restarting tasks ... done."],
    [44.6, "PM: suspend exit"],
  ];
  const file = join(OUT, "link.log");
  writeFileSync(file, lines.map(([t, text]) => `[${t.toFixed(6).padStart(12)}] ${text}\n`).join(""));
  return file;
}

/** A journal of a sleep whose unit ends two seconds after the kernel is back. */
export function slowHook(): string {
  const lines: [string, string][] = [
    ["08:00:00.000000", "systemd-logind[501]: The system will suspend now!"],
    ["08:00:00.300000", "systemd-sleep[812]: Performing sleep operation 'suspend'..."],
    ["08:00:00.400000", "kernel: PM: suspend entry (s2idle)"],
    ["08:00:00.410000", "kernel: Filesystems sync: 0.008 seconds"],
    ["08:00:05.000000", "kernel: Restarting tasks ... done."],
    ["08:00:05.100000", "kernel: PM: suspend exit"],
    ["08:00:05.110000", "systemd-sleep[812]: System returned from sleep operation 'suspend'."],
    ["08:00:07.200000", "systemd[1]: Finished System Suspend."],
    ["08:00:09.000000", "NetworkManager[600]: <info>  [1.0] device (wlp1s0): state change: ip-check -> secondaries (reason 'none')"],
  ];
  const file = join(OUT, "hook.log");
  writeFileSync(file, lines.map(([t, text]) => `Nov 03 ${t} elm ${text}\n`).join(""));
  return file;
}

/** Names that a log might hold to hurt its reader. */
export const HOSTILE = [
  `"><script>window.hurt=1</script>`,
  `<img-src=x-onerror=window.hurt=1>`,
  `&lt;b&gt;&amp;&#x27;`,
  "abc\u202egnp.exe\u2066",
  `javascript:window.hurt=1`,
  `</script><!--`,
  "x".repeat(10_240),
  "{{data}}<!--dormouse:data-->",
];

/** An ftrace text of one cycle whose devices have hostile names. */
export function hostileTrace(): string {
  const line = (t: number, text: string): string => `     sh-100   [000] .... ${t.toFixed(6)}: ${text}\n`;
  let t = 100;
  let out = "# tracer: nop\n#\n";
  const phase = (name: string, event: string, word: string, devices: string[]): void => {
    out += line((t += 0.001), `suspend_resume: ${name}[${event}] begin`);
    devices.forEach((d, i) => {
      out += line((t += 0.001), `device_pm_callback_start: hostile ${d}, parent: none, bus [${word}]`);
      out += line((t += 0.002 + i * 0.001), `device_pm_callback_end: hostile ${d}, err=0`);
    });
    out += line((t += 0.001), `suspend_resume: ${name}[${event}] end`);
  };
  out += line(t, "suspend_resume: suspend_enter[3] begin");
  phase("dpm_prepare", "2", "suspend", []);
  phase("dpm_suspend", "2", "suspend", [...HOSTILE].reverse());
  out += line((t += 0.01), "suspend_resume: machine_suspend[3] begin");
  out += line((t += 2), "suspend_resume: machine_suspend[3] end");
  phase("dpm_resume", "16", "resume", HOSTILE);
  phase("dpm_complete", "16", "resume", []);
  out += line((t += 0.001), "suspend_resume: thaw_processes[0] begin");
  out += line((t += 0.001), "suspend_resume: thaw_processes[0] end");
  const file = join(OUT, "hostile.trace");
  writeFileSync(file, out);
  return file;
}
