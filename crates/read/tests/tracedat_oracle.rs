//! `trace-cmd report` is the oracle of the trace.dat reader.

mod support;

use dormouse_core::loss::Losses;
use dormouse_read::tracedat;
use std::path::Path;
use std::process::Command;
use support::Lines;

/// Lines of `trace-cmd report` for the events we read, in our own layout;
/// `None` without trace-cmd.
fn report(file: &Path) -> Option<Vec<String>> {
    // -N: the kernel's print formats, not trace-cmd's plugins; -t: nanoseconds.
    let out = Command::new("trace-cmd").args(["report", "-N", "-t", "-i"]).arg(file).output();
    let Ok(out) = out else {
        println!("SKIPPED: trace-cmd is not installed");
        return None;
    };
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    Some(text.lines().filter_map(normal).collect())
}

/// `    comm-pid   [cpu] time: event:     text`
fn normal(line: &str) -> Option<String> {
    let (head, rest) = line.split_once(": ")?;
    let (task, cpu_time) = head.rsplit_once(" [")?;
    let (cpu, time) = cpu_time.split_once(']')?;
    let (event, text) = rest.split_once(':')?;
    if !tracedat::is_kept(event.as_bytes()) {
        return None;
    }
    Some(format!("{} [{cpu}] {}: {event}: {}", task.trim(), time.trim(), text.trim()))
}

fn ours(file: &Path) -> (Vec<String>, Losses) {
    let data = std::fs::read(file).unwrap();
    let (mut lines, mut losses) = (Lines::default(), Losses::default());
    tracedat::read(&data, &mut lines, &mut losses).unwrap();
    (lines.0, losses)
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
