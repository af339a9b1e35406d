//! What must hold of every log, however it is dressed: the same attempts with the same
//! times in the cycles and in the doctor's eyes.

use dormouse_base::cycle::{Cycle, Outcome};
use dormouse_base::phase::Phase;
use dormouse_doctor::judge;
use dormouse_read::doctor::read_bytes as heard;
use dormouse_read::{Options, read_bytes};

/// A sleep, one that a device refuses late, and one that a task does not freeze for.
/// Made up: microseconds and messages.
const LOG: [(u64, &str); 32] = [
    (5_000_000, "PM: suspend entry (deep)"),
    (5_021_000, "Filesystems sync: 0.021 seconds"),
    (5_022_000, "Freezing user space processes"),
    (5_025_000, "Freezing user space processes completed (elapsed 0.003 seconds)"),
    (5_025_100, "OOM killer disabled."),
    (5_025_200, "Freezing remaining freezable tasks"),
    (5_026_400, "Freezing remaining freezable tasks completed (elapsed 0.001 seconds)"),
    (5_026_500, "printk: Suspending console(s) (use no_console_suspend to debug)"),
    (5_226_500, "PM: suspend of devices complete after 199.870 msecs"),
    (5_231_500, "PM: late suspend of devices complete after 4.940 msecs"),
    (5_243_500, "PM: noirq suspend of devices complete after 11.960 msecs"),
    (5_244_000, "Disabling non-boot CPUs ..."),
    (5_260_000, "Enabling non-boot CPUs ..."),
    (5_262_000, "CPU1 is up"),
    (5_272_000, "PM: noirq resume of devices complete after 9.100 msecs"),
    (5_276_000, "PM: early resume of devices complete after 3.800 msecs"),
    (5_676_000, "PM: resume of devices complete after 399.700 msecs"),
    (5_680_000, "OOM killer enabled."),
    (5_680_100, "Restarting tasks ... done."),
    (5_681_000, "PM: suspend exit"),
    (95_000_000, "PM: suspend entry (s2idle)"),
    (95_004_000, "Filesystems sync: 0.004 seconds"),
    (95_005_000, "Freezing user space processes"),
    (95_007_000, "Freezing user space processes completed (elapsed 0.002 seconds)"),
    (95_307_000, "qcom_geni 98c000.i2c: PM: failed to suspend late: error -110"),
    (95_307_300, "PM: late suspend of devices failed"),
    (95_407_300, "OOM killer enabled."),
    (95_407_400, "Restarting tasks ... done."),
    (95_408_000, "PM: suspend exit"),
    (195_000_000, "PM: suspend entry (s2idle)"),
    (195_001_000, "Filesystems sync: 0.001 seconds"),
    (195_002_000, "Freezing user space processes"),
];

fn stamped(us: u64, text: &str) -> String {
    format!("[{:5}.{:06}] {text}", us / 1_000_000, us % 1_000_000)
}

/// The log, each line in `dress`.
fn dressed(dress: &dyn Fn(u64, &str) -> String) -> String {
    LOG.iter().map(|(us, text)| dress(*us, text) + "\n").collect()
}

fn cycles(log: &str) -> Vec<Cycle> {
    let reading = read_bytes("log", log.as_bytes(), &Options::default()).expect("a text");
    reading.captures.into_iter().flat_map(|c| c.cycles).collect()
}

/// What a cycle is called, how it ended, and its phases, in microseconds.
type Facts = (&'static str, &'static str, Vec<(&'static str, i64)>);

/// Those of each cycle.
fn facts(log: &str) -> Vec<Facts> {
    let phases = |c: &Cycle| {
        c.phases.iter().map(|p| (p.phase.name(), p.duration().0 / 1_000)).collect::<Vec<_>>()
    };
    cycles(log).iter().map(|c| (c.mode.name(), c.outcome.name(), phases(c))).collect()
}

/// Breaks lines at the last blank before `width`, as mail programs do.
fn wrapped(log: &str, width: usize) -> String {
    let mut out = String::new();
    for line in log.lines() {
        let mut rest = line;
        while rest.len() > width {
            let Some(at) = rest[..width].rfind(' ').filter(|at| *at > 20) else { break };
            out.push_str(&rest[..at]);
            out.push('\n');
            rest = &rest[at + 1..];
        }
        out.push_str(rest);
        out.push('\n');
    }
    out
}

fn quoted(log: &str, mark: &str) -> String {
    log.lines().map(|l| format!("{mark}{l}\n")).collect()
}

#[test]
fn dress_changes_no_fact() {
    let plain = dressed(&stamped);
    let known = facts(&plain);
    assert_eq!(known.len(), 3);
    assert_eq!((known[0].1, known[1].1, known[2].1), ("slept", "aborted_by_device", "partial"));
    let down = known[1].2.iter().find(|p| p.0 == "suspend").expect("what was given up");
    // No line tells where suspend ended and late began.
    assert_eq!(down.1, 300_000);
    let clock = |us: u64| format!("{:02}:{:02}", us / 60_000_000, us / 1_000_000 % 60);
    let dresses = [
        quoted(&plain, "> "),
        quoted(&plain, "> > "),
        format!("Hello,\n\nhere it is:\n\n{}\nWhat is wrong?\n", quoted(&plain, "> ")),
        quoted(&wrapped(&plain, 72), "> "),
        wrapped(&quoted(&plain, "> "), 72),
        wrapped(&plain, 78),
        plain.replace('\n', "\r\n"),
        dressed(&|us, t| format!("kern  :info  : {}", stamped(us, t))),
        dressed(&|us, t| format!("<6>{}", stamped(us, t).replace("] ", "][ T4711] "))),
        dressed(&|us, t| format!("Jul  3 04:{} owl kernel: {}", clock(us), stamped(us, t))),
        dressed(&|us, t| format!("Jul 03 04:{}.{:06} owl kernel: {t}", clock(us), us % 1_000_000)),
        dressed(&|us, t| {
            format!("2024-07-03T04:{}.{:06}-07:00 owl kernel: {t}", clock(us), us % 1_000_000)
        }),
        dressed(&|us, t| format!("04:{}.{:06}  {t}", clock(us), us % 1_000_000)),
    ];
    for text in dresses {
        assert_eq!(facts(&text), known, "{text}");
    }
    // Each line twice.
    let twice: String = plain.lines().map(|l| format!("{l}\n{l}\n")).collect();
    assert_eq!(facts(&twice), known);
}

#[test]
fn times_since_the_line_before_are_times() {
    let mut last = None;
    let mut out = String::new();
    for (us, text) in LOG {
        let since = last.replace(us).map_or(0, |l| us - l);
        let stamp = match last {
            Some(l) if l == us && since == 0 => "[Jul 3 04:05]".to_string(),
            _ => format!("[{:>+4}.{:06}]", since / 1_000_000, since % 1_000_000),
        };
        out.push_str(&format!("{stamp} {text}\n"));
    }
    assert_eq!(facts(&out), facts(&dressed(&stamped)));
}

#[test]
fn an_unrelated_line_changes_nothing() {
    let plain = dressed(&stamped);
    let known = facts(&plain);
    for at in 0..=LOG.len() {
        let us = LOG.get(at).or(LOG.last()).expect("lines").0;
        let mut lines: Vec<String> = plain.lines().map(String::from).collect();
        lines.insert(at, stamped(us, "audit: type=1400 apparmor=\"DENIED\" name=\"/tmp/x\""));
        assert_eq!(facts(&lines.join("\n")), known, "before line {at}");
    }
}

/// A line that stands ten seconds too early between its neighbours is one of theirs.
#[test]
fn a_line_out_of_order_ends_no_attempt() {
    let plain = dressed(&stamped);
    for (at, (time, _)) in LOG.iter().enumerate().take(19).skip(1) {
        let mut lines: Vec<String> = plain.lines().map(String::from).collect();
        lines.insert(at, stamped(time - 3_000_000, "audit: a late word"));
        assert_eq!(facts(&lines.join("\n")), facts(&plain), "before line {at}");
    }
}

#[test]
fn a_line_that_moved_over_several_has_its_time() {
    let whole = dressed(&stamped);
    // "OOM killer enabled." two lines up, and "noirq suspend" three lines down.
    for (from, to) in [(17, 15), (10, 13)] {
        let mut lines: Vec<&str> = whole.lines().collect();
        let line = lines.remove(from);
        lines.insert(to, line);
        assert_eq!(facts(&(lines.join("\n") + "\n")), facts(&whole), "{line}");
    }
}

#[test]
fn a_cpu_that_does_not_come_up_costs_its_own_row() {
    let log = dressed(&|us, text| {
        let late = if us > 5_260_000 { us + 8_000_000 } else { us };
        stamped(late, if text == "CPU1 is up" { "Error taking CPU1 up: -5" } else { text })
    });
    let c = &cycles(&log)[0];
    let up = c.phases.iter().find(|p| p.phase == Phase::CpuOn).expect("a row");
    assert_eq!((up.end - up.start).0, 8_002_000_000);
}

#[test]
fn a_way_down_that_a_crash_ends_lasted_at_least_until_then() {
    let line = |us: u64, text: &str| stamped(us, text) + "\n";
    let mut log: String = LOG[..8].iter().map(|l| line(l.0, l.1)).collect();
    log += &line(5_926_500, "Unable to handle kernel paging request at virtual address 40");
    log += &line(5_926_501, "pc : heron_suspend+0x34/0xa0 [heron]");
    let down =
        |log: &str| cycles(log)[0].phases.iter().find(|p| p.phase == Phase::Suspend).copied();
    let span = down(&log).expect("a row");
    assert_eq!((span.end - span.start).0 / 1_000_000, 900);
    // The kernel went on: its own line tells.
    let on = log + &line(6_226_500, LOG[8].1);
    assert_eq!(down(&on).expect("a row").end.0, 6_226_500_000);
}

#[test]
fn cutting_only_takes_facts_away() {
    let plain = dressed(&stamped);
    let lines: Vec<&str> = plain.lines().collect();
    let known = cycles(&plain);
    for cut in 0..lines.len() {
        for part in [&lines[..cut], &lines[cut..]] {
            let some = cycles(&part.join("\n"));
            assert!(some.len() <= known.len(), "cut at {cut}");
            let printed = |list: &[Cycle]| -> Vec<i64> {
                let all = list.iter().flat_map(|c| &c.phases);
                all.filter_map(|p| p.printed.map(|_| p.duration().0 / 1_000)).collect()
            };
            let all = printed(&known);
            assert!(printed(&some).iter().all(|d| all.contains(d)), "cut at {cut}");
            let begun = some.iter().all(|c| c.lines.begun || c.outcome != Outcome::Slept);
            assert!(begun, "a whole sleep without its begin, cut at {cut}");
        }
    }
}

/// The doctor counts what the cycles are, in every cut.
#[test]
fn attempts_are_the_same_in_all_views() {
    let plain = dressed(&stamped);
    let lines: Vec<&str> = plain.lines().collect();
    for from in 0..lines.len() {
        for to in from..=lines.len() {
            let text = lines[from..to].join("\n");
            let sleeps = judge(&heard("log", text.as_bytes()).case).sleeps;
            let cycles = cycles(&text);
            let seen: Vec<(u64, bool, bool)> =
                sleeps.iter().map(|s| (s.line, s.begun, s.closed)).collect();
            let there: Vec<(u64, bool, bool)> =
                cycles.iter().map(|c| (c.lines.first, c.lines.begun, c.lines.closed)).collect();
            assert_eq!(seen, there, "lines {from} to {to}");
        }
    }
}

/// What the kernel measured is what is shown, whatever the stamps say.
#[test]
fn printed_durations_beat_stamps() {
    let phase = |log: &str, name: &str| {
        let list = cycles(log);
        let of = list[0].phases.iter().filter(|p| p.phase.name() == name);
        of.map(|p| p.duration().0 / 1_000_000).sum::<i64>()
    };
    // All lines arrived at once.
    let at_once: String = LOG[..20]
        .iter()
        .enumerate()
        .map(|(i, (_, t))| format!("2024-07-03T04:00:05.{i:06}+02:00 owl kernel: {t}\n"))
        .collect();
    let list = cycles(&at_once);
    let printed: Vec<_> = list[0].phases.iter().filter(|p| p.printed.is_some()).collect();
    assert_eq!(printed.len(), 6);
    for p in printed {
        let off = p.duration().0 - p.printed.map_or(0, |t| t.0);
        assert!(off.abs() <= 2_000_000, "{p:?}");
    }
    assert_eq!(phase(&at_once, "sync"), 21);
    // The keeper was frozen for a minute while tasks froze.
    let frozen = dressed(&|us, t| {
        let late = if (5_024_000..90_000_000).contains(&us) { 40 } else { 0 };
        let second = us / 1_000_000 % 60 + late;
        format!("2024-07-03T04:00:{second:02}.{:06}+02:00 owl kernel: {t}", us % 1_000_000)
    });
    assert_eq!(phase(&frozen, "freeze_user"), 3);
    let down = cycles(&frozen)[0].suspend_time().expect("a way down").0 / 1_000_000;
    assert!((200..300).contains(&down), "{down}");
}

/// Deep asks for the last time when one CPU is left; s2idle asks while it sleeps.
#[test]
fn a_wake_up_at_the_last_question_is_no_deep_sleep() {
    let log = |mode: &str| {
        [
            (41_000_000, format!("PM: suspend entry ({mode})")),
            (41_010_000, "Freezing user space processes".into()),
            (41_012_000, "Freezing user space processes completed (elapsed 0.002 seconds)".into()),
            (41_060_000, "PM: suspend of devices complete after 40.111 msecs".into()),
            (41_063_000, "PM: late suspend of devices complete after 2.222 msecs".into()),
            (41_066_000, "PM: noirq suspend of devices complete after 2.333 msecs".into()),
            (41_067_000, "Disabling non-boot CPUs ...".into()),
            (41_090_000, "PM: Wakeup pending, aborting suspend".into()),
            (41_091_000, "PM: active wakeup source: 0000:00:1d.4".into()),
            (41_092_000, "Enabling non-boot CPUs ...".into()),
            (41_120_000, "PM: noirq resume of devices complete after 3.333 msecs".into()),
            (41_123_000, "PM: early resume of devices complete after 2.444 msecs".into()),
            (41_170_000, "PM: resume of devices complete after 44.555 msecs".into()),
            (41_180_000, "Restarting tasks: Starting".into()),
            (41_190_000, "PM: suspend exit".into()),
        ]
        .map(|(us, text)| stamped(us, &text) + "\n")
        .concat()
    };
    let of = |mode: &str| {
        let cycles = cycles(&log(mode));
        (cycles.len(), cycles[0].outcome, cycles[0].asleep.is_some())
    };
    assert_eq!(of("deep"), (1, Outcome::AbortedByWakeup, false));
    assert_eq!(of("s2idle"), (1, Outcome::Slept, true));
}

#[test]
fn a_person_who_speaks_of_sleep_does_not_sleep() {
    for text in [
        "hibernation entry\nis what the menu says.\n",
        "In my log stands PM: suspend entry (deep), then nothing.\n",
        "PM: suspend entry (deep)\n\nThat is the last line, it says.\n",
        "Freezing user space processes takes long here\nresume from hibernation\n",
        "> suspend exit\n> suspend entry\n",
    ] {
        assert_eq!(cycles(text).len(), 0, "{text}");
        assert!(judge(&heard("mail", text.as_bytes()).case).sleeps.is_empty(), "{text}");
    }
}

/// Every log of the shared data: what `show` and the doctor count is one number.
#[test]
fn shared_logs_have_the_same_attempts_in_all_views() {
    let Some(data) = std::env::var_os("DORMOUSE_DATA") else {
        println!("SKIPPED: DORMOUSE_DATA names no folder of shared logs");
        return;
    };
    let mut files = Vec::new();
    let mut folders = vec![std::path::PathBuf::from(data)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    let mut seen = 0;
    for file in files {
        let small = file.metadata().is_ok_and(|m| m.len() < 1 << 20);
        let text = small.then(|| std::fs::read(&file).ok()).flatten();
        let Some(text) = text.filter(|t| std::str::from_utf8(t).is_ok()) else { continue };
        if dormouse_read::detect::detect(&text) != dormouse_read::detect::Format::KernelLog {
            continue;
        }
        let reading = read_bytes("log", &text, &Options::default()).expect("a text");
        let cycles = reading.captures.iter().flat_map(|c| &c.cycles).filter(|c| !c.reads_image);
        let sleeps = judge(&heard("log", &text).case).sleeps.len();
        assert_eq!(sleeps, cycles.count(), "{}", file.display());
        seen += 1;
    }
    assert!(seen > 0, "no log in DORMOUSE_DATA");
}
