//! Events of sleep as tests make them, and the `trace` text of them.

use dormouse_base::phase::PmEvent;

/// What happened.
#[derive(Clone, Debug)]
pub(crate) enum What {
    SuspendResume {
        action: &'static str,
        val: i32,
        start: bool,
    },
    Start {
        driver: String,
        device: String,
        parent: String,
        ops: String,
        event: i32,
    },
    End {
        driver: String,
        device: String,
        error: i32,
    },
    Switch {
        prev: (String, i32, i32),
        state: u64,
        next: (String, i32, i32),
    },
    QueueWork {
        work: u64,
        workqueue: u64,
        cpu: u32,
    },
    Execute {
        work: u64,
    },
    Idle {
        state: u32,
        cpu: u32,
    },
    Rpm {
        name: String,
        usage: i32,
    },
    Issue {
        dev: u32,
        sector: u64,
        nr: u32,
        rwbs: &'static str,
        comm: String,
    },
    /// What somebody wrote to `trace_marker`.
    Written {
        text: String,
    },
}

/// One event.
#[derive(Clone, Debug)]
pub(crate) struct Ev {
    pub time: u64,
    pub cpu: u32,
    pub pid: i32,
    pub what: What,
}

/// Every action that a kernel traces.
pub(crate) const ACTIONS: [&str; 23] = [
    "suspend_enter",
    "sync_filesystems",
    "freeze_processes",
    "dpm_prepare",
    "dpm_suspend",
    "dpm_suspend_late",
    "dpm_suspend_noirq",
    "CPU_OFF",
    "syscore_suspend",
    "machine_suspend",
    "acpi_suspend",
    "timekeeping_freeze",
    "syscore_resume",
    "CPU_ON",
    "dpm_resume_noirq",
    "dpm_resume_early",
    "dpm_resume",
    "dpm_complete",
    "resume_console",
    "thaw_processes",
    "console_resume_all",
    "freeze_filesystems",
    "thaw_filesystems",
];
/// A device of a real machine whose name contains blanks.
pub(crate) const BLANK_NAME: &str = "Fixed MDIO bus.0";

const THREADS: [(i32, &str); 5] = [
    (1, "systemd"),
    (77, "bash"),
    (123, "kworker/u8:1"),
    (124, "kworker/u8:2"),
    (1234, "rs:main Q:Reg"),
];

/// The name `saved_cmdlines` has for `pid`.
pub(crate) fn comm(pid: i32) -> &'static str {
    match pid {
        0 => "<idle>",
        _ => THREADS.iter().find(|t| t.0 == pid).map_or("<...>", |t| t.1),
    }
}

/// The threads of [`cycle`].
pub(crate) fn own_threads() -> Vec<(i32, String)> {
    THREADS.iter().map(|t| (t.0, t.1.to_string())).collect()
}

/// What `trace` prints for an event: its name and its text.
pub(crate) fn text_of(e: &Ev) -> (&'static str, String) {
    let pm = |n: i32| PmEvent::from_number(n.into()).expect("a known number").name();
    match &e.what {
        What::SuspendResume { action, val, start } => (
            "suspend_resume",
            format!("{action}[{}] {}", *val as u32, if *start { "begin" } else { "end" }),
        ),
        What::Start { driver, device, parent, ops, event } => (
            "device_pm_callback_start",
            format!("{driver} {device}, parent: {parent}, {ops}[{}]", pm(*event)),
        ),
        What::End { driver, device, error } => {
            ("device_pm_callback_end", format!("{driver} {device}, err={error}"))
        }
        What::Switch { prev, state, next } => {
            let mut flags = match state & 3 {
                0 => "R".to_string(),
                1 => "S".into(),
                2 => "D".into(),
                _ => "S|D".into(),
            };
            if state & 4096 != 0 {
                flags.push('+');
            }
            (
                "sched_switch",
                format!(
                    "prev_comm={} prev_pid={} prev_prio={} prev_state={flags} ==> next_comm={} next_pid={} next_prio={}",
                    prev.0, prev.1, prev.2, next.0, next.1, next.2
                ),
            )
        }
        What::QueueWork { cpu, .. } => {
            ("workqueue_queue_work", format!("function=async_run_entry_fn req_cpu=64 cpu={cpu}"))
        }
        What::Execute { .. } => ("workqueue_execute_start", "function async_run_entry_fn".into()),
        What::Idle { state, cpu } => ("cpu_idle", format!("state={state} cpu_id={cpu}")),
        What::Rpm { name, usage } => {
            ("rpm_suspend", format!("{name} cnt-{usage:<2} dep-{usage:<2}|"))
        }
        What::Issue { dev, sector, nr, rwbs, comm } => (
            "block_rq_issue",
            format!("{},{} {rwbs} {sector} + {nr} [{comm}]", dev >> 20, dev & 0xfffff),
        ),
        What::Written { text } => ("tracing_mark_write", text.clone()),
    }
}

/// The lines the reader must make of `events`, in order of time.
pub(crate) fn expected(events: &[Ev]) -> Vec<String> {
    let mut sorted: Vec<&Ev> = events.iter().collect();
    sorted.sort_by_key(|e| (e.time, e.cpu));
    sorted
        .iter()
        .map(|e| {
            let (name, text) = text_of(e);
            let (s, ns) = (e.time / 1_000_000_000, e.time % 1_000_000_000);
            format!("{}-{} [{:03}] {s}.{ns:09}: {name}: {text}", comm(e.pid), e.pid, e.cpu)
        })
        .collect()
}

/// A deep sleep with `devices` devices: synchronous ones on the main thread,
/// every third one on a worker, with side events between.
pub(crate) fn cycle(devices: usize) -> Vec<Ev> {
    let mut all: Vec<Ev> = Vec::new();
    let mut now = 5_000_000_000u64;
    let main = 77;
    let mark = |now: &mut u64, all: &mut Vec<Ev>, action, val, start| {
        *now += 1_700;
        let what = What::SuspendResume { action, val, start };
        all.push(Ev { time: *now, cpu: 0, pid: main, what });
    };
    let name = |d: usize| match d {
        0 => ("", "platform".to_string(), "none".to_string()),
        1 => ("mdio_bus", BLANK_NAME.into(), "platform".into()),
        _ if d.is_multiple_of(3) => ("ahci", format!("0000:00:1f.{d}"), "platform".into()),
        _ => ("i2c", format!("{}-0055", d), format!("4a{:06x}.i2c", d)),
    };
    mark(&mut now, &mut all, "suspend_enter", 3, true);
    for a in ["sync_filesystems", "freeze_processes"] {
        mark(&mut now, &mut all, a, 0, true);
        now += 4_000_000;
        all.push(Ev { time: now, cpu: 1, pid: 0, what: What::Idle { state: u32::MAX, cpu: 1 } });
        let what = What::Issue {
            dev: 8 << 20 | 1,
            sector: 1 << 33,
            nr: 8,
            rwbs: "WS",
            comm: "bash".into(),
        };
        all.push(Ev { time: now + 10, cpu: 1, pid: 1234, what });
        mark(&mut now, &mut all, a, 0, false);
    }
    mark(&mut now, &mut all, "suspend_enter", 3, false);
    let down = [
        ("dpm_prepare", ""),
        ("dpm_suspend", "bus "),
        ("dpm_suspend_late", "late bus "),
        ("dpm_suspend_noirq", "noirq bus "),
    ];
    let up = [
        ("dpm_resume_noirq", "noirq bus "),
        ("dpm_resume_early", "early bus "),
        ("dpm_resume", "bus "),
        ("dpm_complete", ""),
    ];
    let run = |now: &mut u64, all: &mut Vec<Ev>, action, ops: &str, event: i32| {
        mark(now, all, action, event, true);
        let serial = ops.is_empty();
        for i in 0..devices {
            let d = if event == 2 && action != "dpm_prepare" { devices - 1 - i } else { i };
            let (driver, device, parent) = name(d);
            let worker = !serial && d.is_multiple_of(3) && d != 0;
            let (cpu, pid) =
                if worker { (1 + (d as u32 / 3) % 3, 123 + (d as i32 / 3) % 2) } else { (0, main) };
            *now += 11_000;
            if worker {
                let what = What::QueueWork {
                    work: 0xffff_0000 + d as u64,
                    workqueue: 0xffee_0000,
                    cpu: 256,
                };
                all.push(Ev { time: *now - 900, cpu: 0, pid: main, what });
                all.push(Ev {
                    time: *now - 400,
                    cpu,
                    pid,
                    what: What::Execute { work: 0xffff_0000 + d as u64 },
                });
                let what = What::Switch {
                    prev: (format!("swapper/{cpu}"), 0, 120),
                    state: 0,
                    next: (comm(pid).into(), pid, 120),
                };
                all.push(Ev { time: *now - 300, cpu, pid: 0, what });
                all.push(Ev {
                    time: *now - 200,
                    cpu,
                    pid,
                    what: What::Rpm { name: device.clone(), usage: 2 },
                });
            }
            let length = 20_000 + 7_001 * (d as u64 % 17);
            let start = What::Start {
                driver: driver.into(),
                device: device.clone(),
                parent,
                ops: ops.into(),
                event,
            };
            all.push(Ev { time: *now, cpu, pid, what: start });
            let end = What::End { driver: driver.into(), device, error: 0 };
            all.push(Ev { time: *now + length, cpu, pid, what: end });
            *now += length;
        }
        now.add_assign(3_000);
        mark(now, all, action, event, false);
    };
    use std::ops::AddAssign;
    for (action, ops) in down {
        run(&mut now, &mut all, action, ops, 2);
    }
    for cpu in [3, 2, 1] {
        mark(&mut now, &mut all, "CPU_OFF", cpu, true);
        now += 5_000_000;
        mark(&mut now, &mut all, "CPU_OFF", cpu, false);
    }
    for a in ["syscore_suspend", "machine_suspend"] {
        mark(&mut now, &mut all, a, if a == "machine_suspend" { 3 } else { 0 }, true);
        if a == "machine_suspend" {
            // Longer than 27 bits of nanoseconds, and than 32.
            now += 7_654_321_987;
        }
        mark(&mut now, &mut all, a, if a == "machine_suspend" { 3 } else { 0 }, false);
    }
    mark(&mut now, &mut all, "syscore_resume", 0, true);
    mark(&mut now, &mut all, "syscore_resume", 0, false);
    for cpu in [1, 2, 3] {
        mark(&mut now, &mut all, "CPU_ON", cpu, true);
        now += 3_000_000;
        mark(&mut now, &mut all, "CPU_ON", cpu, false);
    }
    for (action, ops) in up {
        run(&mut now, &mut all, action, ops, 16);
    }
    mark(&mut now, &mut all, "resume_console", 3, true);
    mark(&mut now, &mut all, "resume_console", 3, false);
    mark(&mut now, &mut all, "thaw_processes", 0, true);
    mark(&mut now, &mut all, "thaw_processes", 0, false);
    all.sort_by_key(|e| e.time);
    all
}

/// The same events as `trace` prints them, with nanoseconds.
pub(crate) fn trace_text(events: &[Ev]) -> String {
    trace_text_named(events, &own_threads())
}

/// The same, with these thread names.
pub(crate) fn trace_text_named(events: &[Ev], threads: &[(i32, String)]) -> String {
    let mut t = String::from("# tracer: nop\n#\n");
    let mut sorted: Vec<&Ev> = events.iter().collect();
    sorted.sort_by_key(|e| (e.time, e.cpu));
    for e in sorted {
        let (name, text) = text_of(e);
        let (s, ns) = (e.time / 1_000_000_000, e.time % 1_000_000_000);
        let thread = threads.iter().find(|t| t.0 == e.pid).map_or(comm(e.pid), |t| &t.1);
        let task = format!("{thread}-{}", e.pid);
        t += &format!("{task:>22} [{:03}] .... {s:>5}.{ns:09}: {name}: {text}\n", e.cpu);
    }
    t
}

/// [`cycle`] without blanks in names, where text cannot tell driver and device
/// apart.
pub(crate) fn cycle_without_blanks(devices: usize) -> Vec<Ev> {
    let mut events = cycle(devices);
    for e in &mut events {
        if let What::Start { device, .. } | What::End { device, .. } = &mut e.what
            && device == BLANK_NAME
        {
            *device = "fixed-0".into();
        }
    }
    events
}

/// The events of power management in a real `trace` text, and the first name
/// of every thread. Times have microseconds; the order within one is kept by
/// adding nanoseconds.
pub(crate) fn from_text(text: &str) -> (Vec<Ev>, Vec<(i32, String)>) {
    let (mut events, mut threads): (Vec<Ev>, Vec<(i32, String)>) = Default::default();
    let mut last = 0;
    for line in text.lines() {
        let Some((head, rest)) = line.split_once("] ") else { continue };
        let Some((task, cpu)) = head.rsplit_once('[') else { continue };
        let Some((comm, pid)) = task.trim().rsplit_once('-') else { continue };
        let Some((time, rest)) = rest.split_once(": ") else { continue };
        let Some((name, body)) = rest.split_once(": ") else { continue };
        let Some(what) = what(name, body) else { continue };
        let (Ok(cpu), Ok(pid)) = (cpu.parse(), pid.parse()) else { continue };
        let time = time.rsplit(' ').next().unwrap();
        let Some((s, us)) = time.split_once('.') else { continue };
        let us: u64 = us.parse().unwrap();
        let time = s.parse::<u64>().unwrap() * 1_000_000_000 + us * 1_000;
        last = if time > last { time } else { last + 1 };
        if pid != 0 && threads.iter().all(|t| t.0 != pid) {
            threads.push((pid, comm.to_string()));
        }
        events.push(Ev { time: last, cpu, pid, what });
    }
    (events, threads)
}

fn what(name: &str, body: &str) -> Option<What> {
    // The one device of the real traces whose name has blanks.
    let split = |s: &str| match s.strip_suffix(BLANK_NAME) {
        Some(driver) => Some((driver.trim_end().to_string(), BLANK_NAME.to_string())),
        None => s.rsplit_once(' ').map(|(a, b)| (a.to_string(), b.to_string())),
    };
    Some(match name {
        "suspend_resume" => {
            let (action, rest) = body.split_once('[')?;
            let (val, word) = rest.split_once("] ")?;
            let action = ACTIONS.iter().find(|a| **a == action)?;
            What::SuspendResume { action, val: val.parse().ok()?, start: word.trim() == "begin" }
        }
        "device_pm_callback_start" => {
            let (names, rest) = body.split_once(", parent: ")?;
            let (driver, device) = split(names)?;
            let (parent, rest) = rest.split_once(", ")?;
            let (ops, word) = rest.rsplit_once('[')?;
            let word = word.trim_end().trim_end_matches(']');
            let event = (0..8)
                .map(|b| 1 << b)
                .find(|n| PmEvent::from_number(*n).is_some_and(|e| e.name() == word))?
                as i32;
            What::Start { driver, device, parent: parent.into(), ops: ops.into(), event }
        }
        "device_pm_callback_end" => {
            let (names, error) = body.split_once(", err=")?;
            let (driver, device) = split(names)?;
            What::End { driver, device, error: error.trim().parse().ok()? }
        }
        _ => return None,
    })
}
