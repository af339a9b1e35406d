//! Perfetto's official protobufs are the oracle of the Perfetto reader. They
//! come with `pip install perfetto`; DORMOUSE_PYTHON names the interpreter
//! that has them.

use crate::support;

use crate::support::Lines;
use crate::support::perfetto::{Layout, shared, threads, write};
use crate::support::tracedat::{Ev, What, cycle, expected};
use dormouse_base::loss::Losses;
use dormouse_read::perfetto::PerfettoTrace;
use serde_json::json;
use std::io::Write;
use std::process::{Command, Stdio};

/// Runs an oracle script; `None` (with a loud word) if it cannot run here.
fn script(name: &str, input: &[u8]) -> Option<Vec<u8>> {
    let python = std::env::var("DORMOUSE_PYTHON").unwrap_or_else(|_| "python3".into());
    let path = format!("{}/tests/oracle/{name}", env!("CARGO_MANIFEST_DIR"));
    let child = Command::new(&python)
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn();
    let Ok(mut child) = child else {
        println!("SKIPPED: no {python} (set DORMOUSE_PYTHON)");
        return None;
    };
    let mut pipe = child.stdin.take().unwrap();
    let bytes = input.to_vec();
    let feed = std::thread::spawn(move || {
        // The script may leave without reading; its exit status tells.
        let _ = pipe.write_all(&bytes);
    });
    let out = child.wait_with_output().unwrap();
    feed.join().unwrap();
    if out.status.code() == Some(77) {
        println!("SKIPPED: {python} has no Perfetto protobufs (pip install perfetto)");
        return None;
    }
    assert!(out.status.success(), "{name} failed");
    Some(out.stdout)
}

fn read(data: &[u8]) -> (Vec<String>, Losses, Vec<u8>) {
    let (mut lines, mut losses) = (Lines::default(), Losses::default());
    let trace = PerfettoTrace::open(data, &mut losses);
    let release = trace.release().to_vec();
    trace.events(&mut lines, &mut losses);
    (lines.0, losses, release)
}

fn fields(e: &Ev) -> Option<(&'static str, serde_json::Value)> {
    Some(match &e.what {
        What::SuspendResume { action, val, start } => {
            ("suspend_resume", json!({"action": action, "val": val, "start": u32::from(*start)}))
        }
        What::Start { driver, device, parent, ops, event } => (
            "device_pm_callback_start",
            json!({"device": device, "driver": driver, "parent": parent, "pm_ops": ops, "event": event}),
        ),
        What::End { driver, device, error } => {
            ("device_pm_callback_end", json!({"device": device, "driver": driver, "error": error}))
        }
        What::Switch { prev, state, next } => (
            "sched_switch",
            json!({"prev_comm": prev.0, "prev_pid": prev.1, "prev_prio": prev.2, "prev_state": state,
                   "next_comm": next.0, "next_pid": next.1, "next_prio": next.2}),
        ),
        What::Idle { state, cpu } => ("cpu_idle", json!({"state": state, "cpu_id": cpu})),
        _ => return None,
    })
}

#[test]
fn files_built_by_the_official_protobufs_are_read() {
    let events = shared(&cycle(30));
    let names: serde_json::Map<_, _> =
        threads(&events).iter().map(|t| (t.0.to_string(), t.1.into())).collect();
    for (compress, generic) in [(false, false), (true, false), (false, true)] {
        // Only events of power management are read from the generic form.
        let power = |e: &&Ev| !matches!(e.what, What::Switch { .. } | What::Idle { .. });
        let events: Vec<Ev> = match generic {
            true => events.iter().filter(power).cloned().collect(),
            false => events.clone(),
        };
        let list: Vec<_> = (events.iter())
            .map(|e| {
                let (name, fields) = fields(e).unwrap();
                json!({"time": e.time, "cpu": e.cpu, "pid": e.pid, "name": name, "fields": fields})
            })
            .collect();
        let spec = json!({"events": list, "threads": names, "release": "6.1.99", "bundle": 50,
                          "compress": compress, "generic": generic, "filler": 2000});
        let Some(data) = script("perfetto_build.py", spec.to_string().as_bytes()) else { return };
        let (lines, losses, release) = read(&data);
        assert_eq!(losses.list, []);
        assert_eq!(release, b"6.1.99");
        let expected = expected(&events);
        for (i, (a, b)) in lines.iter().zip(&expected).enumerate() {
            assert_eq!(a, b, "compress {compress} generic {generic}: event {i}");
        }
        assert_eq!(lines.len(), expected.len());
        println!("{} events of {} bytes read (compress {compress})", lines.len(), data.len());
    }
}

#[test]
fn files_written_here_are_read_alike_by_the_official_protobufs() {
    let events = shared(&cycle(30));
    let data = write(&events, &Layout::default());
    let Some(out) = script("perfetto_dump.py", &data) else { return };
    let mut theirs: Vec<(u64, String)> = String::from_utf8(out)
        .unwrap()
        .lines()
        .filter(|l| l.contains("device_pm_callback_end"))
        .map(|l| {
            let mut w = l.splitn(5, ' ');
            let time: u64 = w.next().unwrap().parse().unwrap();
            (time, format!("{time} {}", w.next().unwrap()))
        })
        .collect();
    theirs.sort();
    let ours: Vec<String> = (read(&data).0.iter())
        .filter(|l| l.contains("device_pm_callback_end"))
        .map(|l| {
            let (head, _) = l.split_once(": ").unwrap();
            let (cpu, time) = head.rsplit_once(" [").unwrap().1.split_once("] ").unwrap();
            let cpu: u32 = cpu.parse().unwrap();
            format!("{} {cpu}", time.replace('.', ""))
        })
        .collect();
    let theirs: Vec<String> = theirs.into_iter().map(|t| t.1).collect();
    assert_eq!(ours.len(), 30 * 8);
    assert_eq!(ours, theirs);
}

#[test]
fn the_minimal_event_brackets_the_sleep_and_compact_switches_are_rebuilt() {
    let (lines, losses, _) = read(&support::perfetto::compact());
    assert_eq!(losses.list, []);
    assert_eq!(
        lines,
        [
            "bash-77 [000] 0.000000900: suspend_resume: machine_suspend[0] begin",
            "bash-77 [000] 0.000001500: sched_switch: prev_comm=bash prev_pid=77 prev_prio=120 \
             prev_state=D ==> next_comm=swapper/0 next_pid=0 next_prio=120",
            "<idle>-0 [000] 0.000002000: sched_switch: prev_comm=swapper/0 prev_pid=0 \
             prev_prio=120 prev_state=R ==> next_comm=kworker/u8:1 next_pid=123 next_prio=100",
            "kworker/u8:1-123 [000] 2.000000000: workqueue_execute_start: \
             work struct 000000000000ffee: function async_run_entry_fn",
            "bash-77 [000] 5.000000000: suspend_resume: machine_suspend[0] end",
        ]
    );
}

#[test]
fn lost_events_of_a_bundle_come_before_its_events() {
    let events = shared(&cycle(3));
    let (whole, _, _) = read(&write(&events, &Layout { bundle: 20, ..Layout::default() }));
    let layout = Layout { bundle: 20, lost_after: 2, ..Layout::default() };
    let (lines, _, _) = read(&write(&events, &layout));
    let (lost, rest): (Vec<&String>, Vec<&String>) =
        lines.iter().partition(|l| l.contains("LOST: None"));
    assert!(lost.len() > 2);
    assert_eq!(rest, whole.iter().collect::<Vec<_>>());
    for l in lost {
        let at = lines.iter().position(|x| x == l).unwrap();
        let cpu = &l[l.find('[').unwrap()..l.find(']').unwrap()];
        let next = lines[at + 1..].iter().find(|x| x.contains(cpu)).unwrap();
        let time = |l: &str| l.split("] ").nth(1).unwrap().split(": ").next().unwrap().to_string();
        assert_eq!(time(l), time(next));
    }
}
