//! One trace serves several subjects: each gets what it wants, and what nobody
//! takes is counted.

use crate::support::perfetto::{self, Layout, shared};
use crate::support::real_data;
use crate::support::tracedat::{Ev, Shape, What, cycle, trace_text, write};
use crate::synthetic::{Generation, log, stamped};
use dormouse_base::capture::Capture;
use dormouse_base::loss::Losses;
use dormouse_read::event::{EventSink, Fan, Kind, Stamp, TraceEvent};
use dormouse_read::idle::Keep;
use dormouse_read::{Given, Input, Options, events, read, read_bytes, read_with};
use std::collections::BTreeMap;
use std::path::Path;

/// A subject that wants some kinds, at all times.
struct Subject {
    kinds: &'static [Kind],
    seen: BTreeMap<String, u64>,
    unused: u64,
    times: Vec<i64>,
}

impl Subject {
    fn of(kinds: &'static [Kind]) -> Subject {
        Subject { kinds, seen: BTreeMap::new(), unused: 0, times: Vec::new() }
    }

    fn total(&self) -> u64 {
        self.seen.values().sum()
    }
}

impl EventSink for Subject {
    fn wants(&self, name: &[u8]) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&Kind::of(name))
    }

    fn wants_all_times(&self) -> bool {
        true
    }

    fn event(&mut self, stamp: Stamp<'_>, event: TraceEvent<'_>) {
        assert!(self.wants(event.name()), "{:?} is not wanted", event);
        let name = String::from_utf8_lossy(event.name()).into_owned();
        *self.seen.entry(name).or_default() += 1;
        self.times.push(stamp.time.0);
    }

    fn unused(&mut self, _: Kind, count: u64) {
        self.unused += count;
    }
}

/// A cycle with sleeps of CPUs and I/O long before, in and long after it.
fn sleep_idle_and_io() -> Vec<Ev> {
    let inside = cycle(20);
    let (first, last) = (inside[0].time, inside[inside.len() - 1].time);
    let around = |from: u64| {
        (0..50u64).flat_map(move |i| {
            let time = from + i * 1_000_000;
            let state = if i % 2 == 0 { 1 } else { u32::MAX };
            let rq = What::Issue {
                dev: 0x80_0010,
                sector: 8 * i,
                nr: 8,
                rwbs: "WS",
                comm: "kworker/u8:1".into(),
            };
            [
                Ev { time, cpu: 1, pid: 0, what: What::Idle { state, cpu: 1 } },
                Ev { time: time + 500, cpu: 0, pid: 123, what: rq },
            ]
        })
    };
    let before = around(first - 100_000_000);
    before.chain(inside.iter().cloned()).chain(around(last + 1_000_000_000)).collect()
}

fn count(events: &[Ev], which: impl Fn(&What) -> bool) -> u64 {
    events.iter().filter(|e| which(&e.what)).count() as u64
}

/// What each of three subjects gets of a trace.
fn three(name: &str, bytes: &[u8]) -> (usize, u64, u64) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let (mut idle, mut io) = (Subject::of(&[Kind::Idle]), Subject::of(&[Kind::Block]));
    let mut sinks: [&mut dyn EventSink; 2] = [&mut idle, &mut io];
    let mut both = Fan::new(&mut sinks);
    let all = read_with(&[Input::from_arg(&path)], &Options::default(), &mut both).unwrap();
    let capture = &all.captures[0];
    assert!(idle.times.is_sorted() && io.times.is_sorted(), "{name}");
    // System sleep is what it is without the others, but for what they took.
    let alone = read(&[Input::from_arg(&path)], &Options::default()).unwrap();
    let cycles = |c: &Capture| format!("{:?} {:?}", c.cycles, c.losses);
    assert_eq!(cycles(capture), cycles(&alone.captures[0]), "{name}");
    // Each knows as much as if it had read the trace alone.
    for (beside, kinds) in [(&idle, &[Kind::Idle]), (&io, &[Kind::Block])] {
        let mut alone = Subject::of(kinds);
        events(bytes, &mut alone, &mut Losses::default());
        assert_eq!((beside.total(), beside.unused), (alone.total(), alone.unused), "{name}");
    }
    (capture.cycles[0].callbacks.len(), idle.total(), io.total())
}

#[test]
fn a_trace_with_system_sleep_idle_and_io_keeps_all_three() {
    let events = sleep_idle_and_io();
    let idle = count(&events, |w| matches!(w, What::Idle { .. }));
    let io = count(&events, |w| matches!(w, What::Issue { .. }));
    assert!(idle > 100 && io > 100, "the trace has {idle} and {io}");
    assert_eq!(three("text", trace_text(&events).as_bytes()), (160, idle, io));
    assert_eq!(three("trace.dat", &write(&events, &Shape::default())), (160, idle, io));
    let shared = shared(&events);
    let layout = Layout { bundle: 50, compress: false, filler: 0, lost_after: usize::MAX };
    assert_eq!(three("perfetto", &perfetto::write(&shared, &layout)), (160, idle, 0));
}

#[test]
fn what_nobody_takes_is_counted_and_is_no_loss() {
    let line = |name: &str, i: u32| {
        format!("          <idle>-0     [000] d..1.   90.{i:06}: {name}: a=1 b=2\n")
    };
    let mut text = String::new();
    for i in 0..7 {
        text += &line("drm_vblank_event", i);
        text += &line("clk_enable", i);
    }
    let cycle = trace_text(&cycle(5));
    let whole = text.clone() + &cycle;
    let alone = read_bytes("trace", whole.as_bytes(), &Options::default()).unwrap();
    let without = read_bytes("trace", cycle.as_bytes(), &Options::default()).unwrap();
    let (alone, without) = (&alone.captures[0], &without.captures[0]);
    let more = |of: &Capture, kind| {
        let count = |c: &Capture| c.unused_events.get(kind).copied().unwrap_or(0);
        count(of) - count(without)
    };
    assert_eq!((more(alone, "clk"), more(alone, "other")), (7, 7));
    assert_eq!(format!("{:?}", alone.losses.list), format!("{:?}", without.losses.list));
    // Outside every cycle the side events of system sleep are of no use either.
    let outside = line("cpu_idle", 1).repeat(3) + &cycle;
    let outside = read_bytes("trace", outside.as_bytes(), &Options::default()).unwrap();
    assert_eq!(more(&outside.captures[0], "idle"), 3);
    let mut clk = Subject::of(&[Kind::Clk]);
    let mut losses = Losses::default();
    events(text.as_bytes(), &mut clk, &mut losses);
    assert_eq!((clk.total(), clk.unused), (7, 7));
    assert!(losses.list.is_empty(), "{losses:?}");
}

fn unpack(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    let limits = dormouse_read::Limits::default();
    let unpacked = dormouse_read::container::unpack(path, &bytes, &limits).unwrap();
    unpacked.bytes.unwrap_or(bytes)
}

/// truth.json was made by other programs: how many events of each name.
#[test]
fn events_of_real_traces_are_as_many_as_others_count() {
    let Some(data) = real_data() else { return };
    let text = std::fs::read_to_string(data.join("idle/real/truth.json")).unwrap();
    let truth: serde_json::Value = serde_json::from_str(&text).unwrap();
    let (mut files, mut counted) = (0, 0);
    for (name, t) in truth.as_object().unwrap() {
        if t["kind"] != "ftrace text" || t["events"].as_u64() == Some(0) {
            continue;
        }
        let (subject, file) = name.split_once('/').unwrap();
        let bytes = unpack(&data.join(subject).join("real").join(file));
        let mut all = Subject::of(&[]);
        events(&bytes, &mut all, &mut Losses::default());
        let mut none = Subject::of(&[Kind::Genpd]);
        events(&bytes, &mut none, &mut Losses::default());
        // The mail broke two lines behind the name of their event; the other
        // program takes such for no events.
        let broken = match &**name {
            "storage/m-sdasync-ftrace.txt" => all.seen["block_rq_complete"],
            _ => 0,
        };
        assert_eq!(Some(all.total() - broken), t["events"].as_u64(), "{name}");
        assert_eq!(none.total() + none.unused, all.total(), "{name}: taken or counted");
        for (event, n) in t["top"].as_object().unwrap() {
            assert_eq!(all.seen.get(event).copied(), n.as_u64(), "{name}: {event}");
            counted += n.as_u64().unwrap();
        }
        files += 1;
    }
    println!("{files} traces, {counted} events of known names");
    assert!(files >= 9, "only {files} traces");
}

/// The binary trace and the text that trace-cmd made of it.
#[test]
fn a_binary_trace_has_the_events_of_its_text() {
    let Some(data) = real_data() else { return };
    let count = |file: &str| {
        let bytes = unpack(&data.join("idle/real").join(file));
        let mut all = Subject::of(&[]);
        events(&bytes, &mut all, &mut Losses::default());
        all.seen
    };
    let binary = count("mt8196-612sleep.dat");
    assert_eq!(binary, count("mt8196-612sleep.report.txt.gz"));
    assert!(binary["irq_handler_entry"] > 20_000, "{binary:?}");
}

#[test]
fn kinds_are_those_of_the_kernel() {
    for (name, kind) in [
        ("device_pm_callback_end", Kind::Power),
        ("cpu_idle_miss", Kind::Idle),
        ("irq_handler_entry", Kind::Irq),
        ("hrtimer_expire_entry", Kind::Timer),
        ("rpm_return_int", Kind::Rpm),
        ("block_rq_issue", Kind::Block),
        ("scsi_dispatch_cmd_start", Kind::Scsi),
        ("devfreq_monitor", Kind::Devfreq),
        ("ufshcd_clk_gating", Kind::Ufs),
        ("clk_set_rate", Kind::Clk),
        ("clock_enable", Kind::Clk),
        ("power_domain_target", Kind::Genpd),
        ("regulator_set_voltage_complete", Kind::Regulator),
        ("wakeup_source_activate", Kind::Wakeup),
        ("drm_vblank_event", Kind::Unknown),
    ] {
        assert_eq!(Kind::of(name.as_bytes()), kind, "{name}");
    }
}

/// Long traces of sleeps of CPUs, as ftrace, trace-cmd and LTTng print them.
fn long_traces() -> [(&'static str, String); 3] {
    let lines = |head: &str, one: &dyn Fn(usize) -> String| {
        let events: String = (0..80_000).map(one).collect();
        format!("{head}{events}")
    };
    let columns = |i: usize| {
        let (s, us) = (100 + i / 1_000, i % 1_000);
        format!("  <idle>-0     [001] d..1. {s}.{us:06}: cpu_idle: state={} cpu_id=1\n", i % 2)
    };
    let lttng = |i: usize| {
        let (s, us) = (i / 1_000 % 60, i % 1_000);
        format!(
            "[10:00:{s:02}.{us:06}000] (+0.000001000) box power_cpu_idle: {{ cpu_id = 1 }}, {{ state = 1, cpu_id = 1 }}\n"
        )
    };
    [
        ("ftrace", lines("# tracer: nop\n#\n", &columns)),
        ("trace-cmd", lines("cpus=2\n", &columns)),
        ("lttng", lines("", &lttng)),
    ]
}

#[test]
fn what_stands_beside_a_trace_is_read_whatever_its_length() {
    let said = "the machine hung after this:\n\
        [  160.250000] PM: suspend entry (deep)\n\
        [  160.300000] PM: Device 6-002c failed to suspend: error -16\n\
        [  161.000000] PM: suspend exit\n";
    let folder = tempfile::tempdir().unwrap();
    for (name, trace) in long_traces() {
        assert!(trace.len() > 4 << 20, "{name}");
        let path = folder.path().join(name);
        std::fs::write(&path, format!("{trace}{said}{trace}")).unwrap();
        let given = Given::new(&[path]);
        for all in [false, true] {
            if all {
                given.read_all();
            }
            let texts = given.said().unwrap();
            let [text] = &texts[..] else { panic!("{name}") };
            let begin = trace.lines().count() as u64;
            let messages: Vec<(u64, &str)> =
                text.case.messages.iter().map(|m| (m.line - begin, m.text.as_str())).collect();
            let told = [
                (1, "the machine hung after this:"),
                (2, "PM: suspend entry (deep)"),
                (3, "PM: Device 6-002c failed to suspend: error -16"),
                (4, "PM: suspend exit"),
            ];
            let head = messages.len() - messages.iter().filter(|m| m.0 <= 4).count();
            assert_eq!((&messages[head..], head), (&told[..], 0), "{name}");
            // The same trace stands there twice.
            assert!(!given.idle(Keep::Counts).unwrap().traces.is_empty(), "{name}");
        }
    }
}

#[test]
fn a_log_says_the_same_beside_its_cycles() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a.log", "b.log"].map(|name| {
        let path = folder.path().join(name);
        let reset = format!("[  100.900000] usb {}: reset\n", name.len());
        let text = log(Generation::Function, stamped) + &reset;
        std::fs::write(&path, text).unwrap();
        path
    });
    let [alone, all] = [Given::new(&paths), Given::new(&paths)];
    all.read_all();
    let [alone, all] = [alone.said().unwrap(), all.said().unwrap()];
    assert_eq!(alone.len(), 2);
    for (a, b) in alone.iter().zip(all.iter()) {
        assert!(a.case.messages.len() > 20);
        assert_eq!((&a.name, &a.case.messages), (&b.name, &b.case.messages));
        assert_eq!(a.case.attempts.len(), b.case.attempts.len());
        assert_eq!(a.losses.list.len(), b.losses.list.len());
    }
}
