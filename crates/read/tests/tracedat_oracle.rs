//! `trace-cmd report` is the oracle of the trace.dat reader.

use crate::support;

use crate::support::Lines;
use crate::support::tracedat::{Shape, cycle};
use dormouse_base::loss::Losses;
use dormouse_read::tracedat::TraceDat;
use std::path::Path;
use std::process::Command;

/// Lines of `trace-cmd report` for the events we read, in our own layout;
/// `None` without trace-cmd.
fn report(file: &Path) -> Option<Vec<String>> {
    Some(raw_report(file)?.lines().filter_map(normal).collect())
}

fn raw_report(file: &Path) -> Option<String> {
    // -N: the kernel's print formats, not trace-cmd's plugins; -t: nanoseconds.
    let out = Command::new("trace-cmd").args(["report", "-N", "-t", "-i"]).arg(file).output();
    let Ok(out) = out else {
        println!("SKIPPED: trace-cmd is not installed");
        return None;
    };
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    Some(text.into_owned())
}

/// `    comm-pid   [cpu] time: event:     text`
///
/// Addresses: the kernel prints all digits and no `0x`, trace-cmd the contrary.
fn normal(line: &str) -> Option<String> {
    // With several instances every line names its own.
    let line = line.trim_start();
    let line = line.strip_prefix("pm2:").unwrap_or(line);
    let (head, rest) = line.split_once(": ")?;
    let (task, cpu_time) = head.rsplit_once(" [")?;
    let (cpu, time) = cpu_time.split_once(']')?;
    let (event, text) = rest.split_once(':')?;
    if !dormouse_read::event::of_system_sleep(event.as_bytes()) {
        return None;
    }
    // Of clocks that it does not know, such as boot, it prints nanoseconds.
    let time = match time.trim().parse::<u64>() {
        Ok(ns) => format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000),
        Err(_) => time.trim().to_string(),
    };
    let text = text.trim().replace("=0x", "=").replace(" 0x", " ");
    Some(format!("{} [{cpu}] {time}: {event}: {text}", task.trim()))
}

/// trace-cmd fills up after the event's name, so the blank of an empty driver
/// name cannot be told from filling: it is left out of the comparison.
fn ours(file: &Path) -> (Vec<String>, Losses) {
    let data = std::fs::read(file).unwrap();
    let (mut lines, mut losses) = (Lines::default(), Losses::default());
    TraceDat::open(&data, &mut losses).unwrap().events(&mut lines, &mut losses);
    let trimmed = lines.0.iter().filter_map(|l| normal(l)).collect();
    (trimmed, losses)
}

fn assert_same(ours: &[String], theirs: &[String], what: &str) {
    for (i, (a, b)) in ours.iter().zip(theirs).enumerate() {
        assert_eq!(a, b, "{what}: event {i}");
    }
    assert_eq!(ours.len(), theirs.len(), "{what}: number of events");
}

#[test]
fn real_recordings_read_as_trace_cmd_reports_them() {
    let Some(dir) = support::real_data() else { return };
    let mut events = 0;
    for name in ["lisa-sched_load.dat", "trappy-trace_idle.dat"] {
        let file = dir.join("idle/traces").join(name);
        let Some(theirs) = report(&file) else { return };
        let (ours, losses) = ours(&file);
        println!("{name}: {} events, losses {:?}", ours.len(), losses.list);
        assert_same(&ours, &theirs, name);
        events += ours.len();
    }
    assert!(events > 3000, "only {events} events compared");
}

#[test]
fn files_that_trace_cmd_converted_are_read() {
    let Some(data) = support::real_data() else { return };
    let dir = tempfile::tempdir().unwrap();
    for name in ["lisa-sched_load.dat", "trappy-trace_idle.dat"] {
        let original = data.join("idle/traces").join(name);
        let Some(theirs) = report(&original) else { return };
        for compression in ["none", "zstd"] {
            let file = dir.path().join("converted.dat");
            let out = Command::new("trace-cmd")
                .args(["convert", "--file-version", "7", "--compression", compression, "-i"])
                .arg(&original)
                .arg("-o")
                .arg(&file)
                .output()
                .unwrap();
            if !out.status.success() {
                println!("SKIPPED: this trace-cmd does not write {compression}");
                continue;
            }
            let (ours, losses) = ours(&file);
            assert_eq!(losses.list, [], "{name} {compression}");
            assert_same(&ours, &theirs, &format!("{name} {compression}"));
        }
    }
}

/// Further recordings can be checked by naming them:
/// `DORMOUSE_TRACE_DAT=a.dat:b.dat cargo test -p dormouse-read further`.
#[test]
fn further_recordings_read_as_trace_cmd_reports_them() {
    let Some(files) = std::env::var_os("DORMOUSE_TRACE_DAT") else {
        println!("SKIPPED: DORMOUSE_TRACE_DAT names no recordings");
        return;
    };
    for file in std::env::split_paths(&files) {
        let Some(theirs) = report(&file) else { return };
        let (ours, losses) = ours(&file);
        println!("{}: {} events, losses {:?}", file.display(), ours.len(), losses.list);
        assert_same(&ours, &theirs, &file.display().to_string());
    }
}

/// A line without the name of the suspend step.
fn without_action(line: &str) -> String {
    match line.split_once("suspend_resume: ").and_then(|(a, b)| Some((a, b.split_once('[')?.1))) {
        Some((head, tail)) => format!("{head}suspend_resume: [{tail}"),
        None => line.to_string(),
    }
}

/// Every version, byte order, word size, page size and way to pack.
fn shapes() -> Vec<Shape> {
    let mut all = Vec::new();
    for (version, codec) in [(6, "none"), (7, "none"), (7, "zlib"), (7, "zstd")] {
        for big in [false, true] {
            for long in [4, 8] {
                for (page, n) in [(4096, 0), (65536, 1)] {
                    all.push(Shape {
                        version,
                        codec,
                        big,
                        long,
                        page,
                        absolute: big ^ (long == 4),
                        relative: n == 1,
                        instance: long == 8,
                        discard: 7,
                        ..Shape::default()
                    });
                }
            }
        }
    }
    all
}

#[test]
fn every_shape_gives_the_events_that_were_written() {
    let events = cycle(40);
    let expected = support::tracedat::expected(&events);
    assert!(expected.len() > 600);
    for shape in shapes() {
        let data = support::tracedat::write(&events, &shape);
        let (mut lines, mut losses) = (Lines::default(), Losses::default());
        let file = TraceDat::open(&data, &mut losses).unwrap();
        assert_eq!(file.info().clock, "local", "{shape:?}");
        file.events(&mut lines, &mut losses);
        assert_same(&lines.0, &expected, &format!("{shape:?}"));
        assert_eq!(losses.list, [], "{shape:?}");
    }
}

#[test]
fn trace_cmd_reads_the_written_files_alike() {
    let events = cycle(40);
    let dir = tempfile::tempdir().unwrap();
    let mut compared = 0;
    for shape in shapes() {
        // Debian's trace-cmd is built without zlib.
        if shape.codec == "zlib" {
            continue;
        }
        let file = dir.path().join("trace.dat");
        std::fs::write(&file, support::tracedat::write(&events, &shape)).unwrap();
        let Some(mut theirs) = report(&file) else { return };
        let (mut ours, _) = ours(&file);
        if shape.big {
            // libtraceevent reads `const char *` in the byte order of the
            // machine it runs on and prints the swapped address as a name.
            ours.iter_mut().chain(&mut theirs).for_each(|l| *l = without_action(l));
        }
        assert_same(&ours, &theirs, &format!("{shape:?}"));
        compared += 1;
    }
    println!("{compared} shapes compared with trace-cmd report");
}

/// Lost events by CPU, and the other lines.
fn without_lost(lines: Vec<String>) -> (Vec<String>, Vec<String>) {
    lines.into_iter().partition(|l| l.contains("LOST:"))
}

#[test]
fn lost_events_are_told_where_they_happened() {
    let events = cycle(80);
    for (stored, version) in [(Some(7), 6), (None, 6), (Some(9), 7)] {
        let shape = Shape { lost: Some(stored), version, ..Shape::default() };
        let data = support::tracedat::write(&events, &shape);
        let (mut lines, mut losses) = (Lines::default(), Losses::default());
        TraceDat::open(&data, &mut losses).unwrap().events(&mut lines, &mut losses);
        let (lost, rest) = without_lost(lines.0);
        assert_same(&rest, &support::tracedat::expected(&events), "lost");
        // Every CPU that has a second page lost events before it.
        assert!(lost.len() >= 2 && lost.len() <= 4, "{lost:?}");
        for l in &lost {
            assert!(l.ends_with(&format!("LOST: {stored:?}")) || l.ends_with("LOST: None"), "{l}");
        }

        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("trace.dat");
        std::fs::write(&file, &data).unwrap();
        let Some(theirs) = raw_report(&file) else { return };
        let theirs: Vec<&str> = theirs
            .lines()
            .filter(|l| l.contains("EVENTS DROPPED") || l.contains("[LOST "))
            .collect();
        assert_eq!(lost.len(), theirs.len(), "{lost:?}\n{theirs:?}");
        for (a, b) in lost.iter().zip(theirs) {
            let cpu: u32 = a.split_once('[').unwrap().1[..3].parse().unwrap();
            assert!(b.starts_with(&format!("CPU:{cpu} ")), "{a} {b}");
            // `[7 EVENTS DROPPED]` or `[EVENTS DROPPED]`
            let count = b.split_once('[').unwrap().1.split_once(" EVENTS").map(|w| w.0.to_string());
            let ours = a.rsplit_once("Some(").map(|w| w.1.trim_end_matches(')').to_string());
            assert_eq!(ours, count, "{a} {b}");
        }
    }
}

#[test]
fn time_stamps_are_converted_as_trace_cmd_does() {
    let events = cycle(3);
    let dir = tempfile::tempdir().unwrap();
    for version in [6, 7] {
        for (tsc, offset, clock) in [
            (None, Some("-1000000007"), "local"),
            (None, Some("0x1234"), "boot"),
            (Some((1_677_721_600, 32, 0)), None, "tsc2nsec"),
            (Some((1_677_721_600, 32, 12_345_678)), Some("17"), "tsc2nsec"),
        ] {
            let shape = Shape { tsc, offset, clock, version, ..Shape::default() };
            let file = dir.path().join("trace.dat");
            std::fs::write(&file, support::tracedat::write(&events, &shape)).unwrap();
            let Some(theirs) = report(&file) else { return };
            let (ours, losses) = ours(&file);
            assert_eq!(losses.list, []);
            assert_same(&ours, &theirs, &format!("{shape:?}"));
        }
    }
}

#[test]
fn a_counter_is_no_clock_and_that_is_said() {
    let shape = Shape { clock: "counter", ..Shape::default() };
    let mut losses = Losses::default();
    let data = support::tracedat::write(&cycle(1), &shape);
    TraceDat::open(&data, &mut losses).unwrap().events(&mut Lines::default(), &mut losses);
    assert_eq!(losses.count("clock_without_unit"), 1);
}
