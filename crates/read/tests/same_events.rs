//! Binary traces and the text of the same events give the same cycles.

use crate::support;

use crate::support::perfetto::{self, Layout, shared};
use crate::support::tracedat::{
    BLANK_NAME, Ev, Shape, What, cycle, cycle_without_blanks, from_text, trace_text,
    trace_text_named, write, write_named,
};
use dormouse_base::capture::Capture;
use dormouse_doctor::way::Kind;
use dormouse_doctor::whole::Mark;
use dormouse_read::{Given, Options, read_bytes};
use std::io::Read;

fn capture(name: &str, bytes: &[u8]) -> Capture {
    let mut reading = read_bytes(name, bytes, &Options::default()).unwrap();
    assert_eq!(reading.captures.len(), 1);
    reading.captures.remove(0)
}

/// Everything but the source's name and places in it, with names spelled out.
fn facts(c: &Capture) -> String {
    let n = |s| c.names.get(s);
    let mut t = String::new();
    for (i, d) in c.graph.devices.iter().enumerate() {
        t += &format!("device {i} {} {} {:?}\n", n(d.name), n(d.driver), d.parent);
    }
    for y in &c.cycles {
        t += &format!(
            "cycle {:?} {:?} {:?} {:?} {:?}\n",
            y.mode, y.outcome, y.start, y.end, y.asleep
        );
        t += &format!("{:?} {:?}\n", y.counts, y.first_after_boot);
        for p in &y.phases {
            t += &format!("{p:?}\n");
        }
        for k in &y.threads {
            t += &format!("thread {} {} {:?}\n", k.pid, n(k.name), k.is_main);
        }
        for b in &y.callbacks {
            t += &format!(
                "{:?} {:?} {:?} {:?} {} {:?} {:?} {} {}\n",
                b.device,
                b.phase,
                b.event,
                b.thread,
                n(b.function),
                b.start,
                b.end,
                b.error,
                b.complete
            );
        }
        for e in &y.events {
            t += &format!("{:?} {} {:?} {} {}\n", e.time, n(e.name), e.thread, e.cpu, n(e.text));
        }
    }
    for l in &c.losses.list {
        t += &format!("{} {} {:?}\n", l.kind, l.count, l.severity);
    }
    t
}

fn assert_same_facts(a: &str, b: &str, what: &str) {
    for (i, (a, b)) in a.lines().zip(b.lines()).enumerate() {
        assert_eq!(a, b, "{what}: line {i}");
    }
    assert_eq!(a.lines().count(), b.lines().count(), "{what}");
}

fn events() -> Vec<Ev> {
    cycle_without_blanks(60)
}

/// What programs wrote into the buffer is behind the kernel's return, in each format, and the
/// whole way has it.
#[test]
fn a_mark_of_a_program_is_read_in_every_format() {
    let mut events = cycle(3);
    let last = events.iter().max_by_key(|e| e.time).unwrap().clone();
    let written = |ms: u64, text: &str| Ev {
        time: last.time + ms * 1_000_000,
        what: What::Written { text: text.into() },
        ..last.clone()
    };
    events.push(written(100, "B|77|dormouse"));
    events.push(written(245, "dormouse: mark scanner"));
    let packed = Layout { compress: true, ..Layout::default() };
    let inputs = [
        ("trace.txt", trace_text(&events).into_bytes()),
        ("trace.dat", write(&events, &Shape::default())),
        ("v7.dat", write(&events, &Shape { version: 7, codec: "zstd", ..Shape::default() })),
        ("trace.pb", perfetto::write(&shared(&events), &Layout::default())),
        ("packed.pb", perfetto::write(&shared(&events), &packed)),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in inputs {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let read = Given::new(&[path]).heard().unwrap();
        let [text] = &read.heard[..] else { panic!("{name}") };
        let kinds: Vec<Kind> = text.case.way.steps.iter().map(|s| s.kind).collect();
        assert_eq!(kinds, [Kind::Entry, Kind::Back, Kind::App], "{name}");
        let ways = dormouse_doctor::judge(&text.case).ways;
        let mark = Mark::find("app:scanner").unwrap();
        let ready = ways.first().and_then(|w| w.ready(mark)).map(|t| t.0 / 1_000_000);
        assert!(ready.is_some_and(|ms| (244..=246).contains(&ms)), "{name}: {ready:?}");
    }
}

#[test]
fn trace_dat_gives_the_cycle_of_the_text() {
    let events = events();
    let text = capture("trace", trace_text(&events).as_bytes());
    assert_eq!(text.cycles.len(), 1);
    assert_eq!(text.cycles[0].callbacks.len(), 60 * 8);
    assert_eq!(text.cycles[0].outcome.name(), "slept");
    let expected = facts(&text);
    for version in [6, 7] {
        for big in [false, true] {
            for long in [4, 8] {
                let codec = if version == 7 && big { "zstd" } else { "none" };
                let shape = Shape { version, big, long, codec, ..Shape::default() };
                let binary = capture("trace.dat", &write(&events, &shape));
                assert_same_facts(&facts(&binary), &expected, &format!("{shape:?}"));
            }
        }
    }
}

#[test]
fn a_name_with_blanks_is_exact_in_binary() {
    let binary = capture("trace.dat", &write(&cycle(9), &Shape::default()));
    let device = &binary.graph.devices[1];
    assert_eq!(binary.names.get(device.name), BLANK_NAME);
    assert_eq!(binary.names.get(device.driver), "mdio_bus");
}

#[test]
fn perfetto_gives_the_cycle_of_the_text() {
    let events = shared(&events());
    let text = capture("trace", trace_text(&events).as_bytes());
    assert_eq!(text.cycles[0].callbacks.len(), 60 * 8);
    let expected = facts(&text);
    for compress in [false, true] {
        for bundle in [1, 37, 100_000] {
            let layout = Layout { compress, bundle, ..Layout::default() };
            let binary = capture("pftrace", &perfetto::write(&events, &layout));
            assert_same_facts(&facts(&binary), &expected, &format!("{layout:?}"));
        }
    }
}

#[test]
fn a_text_inside_trace_dat_is_read_as_text() {
    // Latency tracers: trace-cmd stores the text of `trace` in place of pages.
    let text = trace_text(&cycle_without_blanks(5));
    let mut file = write(&cycle(1), &Shape::default());
    let at = file.windows(10).position(|w| w == b"options  \0").unwrap();
    file.truncate(at);
    file.extend_from_slice(b"latency  \0");
    file.extend_from_slice(text.as_bytes());
    let inside = capture("trace.dat", &file);
    assert_eq!(inside.cycles[0].callbacks.len(), 5 * 8);
    assert_same_facts(&facts(&inside), &facts(&capture("t", text.as_bytes())), "latency");
}

/// Every real trace of power management, written as trace.dat in turns of
/// version, byte order and word size, and as Perfetto.
#[test]
fn real_traces_written_as_binary_give_the_cycles_of_their_text() {
    let Some(dir) = support::real_data() else { return };
    let mut files = support::files_under(&dir.join("logs"));
    files.retain(|f| f.to_string_lossy().contains("ftrace"));
    assert!(!files.is_empty());
    let (mut traces, mut callbacks) = (0, 0);
    for (i, file) in files.iter().enumerate() {
        let bytes = std::fs::read(file).unwrap();
        let mut text = String::new();
        let read = match bytes.starts_with(&[0x1f, 0x8b]) {
            true => flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text),
            false => (&bytes[..]).read_to_string(&mut text),
        };
        if read.is_err() {
            continue;
        }
        let (events, threads) = from_text(&text);
        if events.len() < 100 {
            continue;
        }
        let expected = capture("trace", trace_text_named(&events, &threads).as_bytes());
        let starts = events.iter().filter(|e| matches!(e.what, What::Start { .. })).count();
        let found: usize = expected.cycles.iter().map(|c| c.callbacks.len()).sum();
        // A trace can begin within a callback; none may be lost.
        assert!(found >= starts, "{}: {found} of {starts}", file.display());
        let shape = Shape {
            version: [6, 7][i % 2],
            big: i % 4 >= 2,
            long: [8, 4][i / 4 % 2],
            codec: ["none", "zstd"][i % 2],
            ..Shape::default()
        };
        let dat = capture("dat", &write_named(&events, &shape, &threads));
        let expected = facts(&expected);
        assert_same_facts(&exact(&facts(&dat)), &exact(&expected), &format!("{}", file.display()));
        let layout = Layout { compress: i % 2 == 0, bundle: 500, ..Layout::default() };
        let pf = capture("pf", &perfetto::write_named(&events, &layout, &threads));
        assert_same_facts(&exact(&facts(&pf)), &exact(&expected), &format!("{}", file.display()));
        traces += 1;
        callbacks += found;
    }
    println!("{traces} real traces with {callbacks} callbacks are the same as text and binary");
    assert!(traces >= 40, "{traces}");
}

/// Facts without losses that only text can have.
fn exact(facts: &str) -> String {
    facts.lines().filter(|l| !l.starts_with("unread_line")).map(|l| format!("{l}\n")).collect()
}
