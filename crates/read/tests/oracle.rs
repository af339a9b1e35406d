//! The readers against logs of real machines: counts and durations that were
//! found in another way. Needs the data folder.

use crate::invariants;

use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Cycle, Mode, Outcome};
use dormouse_base::image::ImageWork;
use dormouse_base::phase::{Direction, Phase, PmEvent};
use dormouse_base::time::Ns;
use dormouse_read::{Input, Options, Reading, read};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

fn logs() -> Option<PathBuf> {
    let root = std::env::var_os("DORMOUSE_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let logs = root.join("logs");
    if logs.is_dir() {
        return Some(logs);
    }
    eprintln!("SKIPPED: no logs of real machines at {} (set DORMOUSE_DATA)", logs.display());
    None
}

fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
    found.sort();
}

fn all_files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    files(dir, &mut found);
    found
}

fn text(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap();
    let mut plain = Vec::new();
    if path.extension().is_some_and(|e| e == "gz") {
        flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut plain).unwrap();
    } else {
        plain = bytes;
    }
    String::from_utf8_lossy(&plain).into_owned()
}

fn reading(path: &Path) -> Reading {
    read(&[Input::Path(path.to_owned())], &Options::default()).unwrap()
}

/// Start lines whose end line follows, in the dumbest way: same thread, same
/// text.
fn matched_pairs(trace: &str) -> usize {
    let mut open: Vec<(String, String)> = Vec::new();
    let mut pairs = 0;
    for line in trace.lines() {
        let task = line.split(" [").next().unwrap();
        let pid = task.trim().rsplit('-').next().unwrap().to_string();
        if let Some((_, rest)) = line.split_once("device_pm_callback_start: ") {
            let (owner, _) = rest.split_once(", parent: ").unwrap();
            open.push((pid, owner.trim().to_string()));
        } else if let Some((_, rest)) = line.split_once("device_pm_callback_end: ") {
            let (owner, _) = rest.split_once(", err=").unwrap();
            let wanted = (pid, owner.trim().to_string());
            if let Some(at) = open.iter().rposition(|o| *o == wanted) {
                open.remove(at);
                pairs += 1;
            }
        }
    }
    pairs
}

#[test]
fn every_trace_has_as_many_callbacks_as_matched_lines() {
    let Some(logs) = logs() else { return };
    let mut traces = 0;
    let mut total = 0;
    for path in all_files(&logs) {
        let content = text(&path);
        if !content.contains("device_pm_callback_start: ") {
            continue;
        }
        let reading = reading(&path);
        let callbacks: usize = reading
            .captures
            .iter()
            .flat_map(|c| &c.cycles)
            .map(|c| c.callbacks.iter().filter(|b| b.complete).count())
            .sum();
        assert_eq!(callbacks, matched_pairs(&content), "{}", path.display());
        assert!(callbacks > 0, "{}", path.display());
        traces += 1;
        total += callbacks;
    }
    println!("{traces} traces, {total} callbacks, all equal to the independent count");
    assert!(traces >= 49, "only {traces} traces found");
}

/// Words of a log without quote marks and line breaks, so that neither mail nor
/// wrapping matters.
fn words(content: &str) -> Vec<String> {
    let plain = content.replace('\u{a0}', " ");
    let bare = plain.lines().map(|l| l.trim_start_matches([' ', '>', '\t']).to_string());
    bare.flat_map(|l| l.split_whitespace().map(str::to_string).collect::<Vec<_>>()).collect()
}

/// How many times the log says `calling … @ PID, parent: P`, and how many times
/// a function or `call DEV+` `returned E after N usecs` (initcalls and probes
/// left out).
fn said(content: &str) -> (usize, usize) {
    let words = words(content);
    let word = |i: usize| words.get(i).map_or("", String::as_str);
    let number = |w: &str| !w.is_empty() && w.chars().all(|c| c.is_ascii_digit());
    let mut calls = 0;
    let mut returns = 0;
    for (i, w) in words.iter().enumerate() {
        let sign = (i..i + 8).find(|&k| word(k) == "@");
        if w.ends_with("calling")
            && let Some(sign) = sign
        {
            let pid = word(sign + 1).strip_suffix(',').unwrap_or("");
            calls += usize::from(number(pid) && word(sign + 2) == "parent:" && sign > i + 1);
        }
        if w == "returned" && word(i + 2) == "after" && word(i + 4).starts_with("usecs") {
            let before = |n: usize, w: &str| (i.saturating_sub(n)..i).any(|k| word(k) == w);
            // A device's name may have blanks: `probe of Fixed MDIO bus`.
            let other = before(4, "initcall") || before(5, "probe") && before(4, "of");
            returns += usize::from(!other);
        }
    }
    (calls, returns)
}

#[test]
fn every_log_has_as_many_callbacks_as_an_independent_count_says() {
    let Some(logs) = logs() else { return };
    let mut files = all_files(&logs);
    for other in ["doctor", "domains"] {
        files.extend(all_files(&logs.join("..").join(other)));
    }
    let (mut read, mut total) = (0, 0);
    for path in files {
        let content = text(&path);
        if content.contains("device_pm_callback_") || content.contains("suspend_resume:") {
            continue;
        }
        let reading = reading(&path);
        let all = || reading.captures.iter().flat_map(|c| &c.cycles).flat_map(|c| &c.callbacks);
        let (calls, returns) = said(&content);
        let ranked: usize =
            reading.captures.iter().flat_map(|c| &c.ranked).map(|r| r.rows.len()).sum();
        let lost: u64 = reading.captures.iter().map(|c| c.losses.count("end_without_start")).sum();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(all().count(), calls, "{name}: calls");
        let ends = all().filter(|c| c.complete).count() + ranked + lost as usize;
        assert_eq!(ends, returns, "{name}: returns");
        if calls + returns > 0 {
            println!(
                "{name}: {calls} calls, {returns} returns, {ranked} of them ranked, {lost} lost"
            );
            read += 1;
            total += calls;
        }
    }
    println!("{read} logs, {total} callbacks, all equal to the independent count");
    assert!(read >= 25 && total > 3_000, "only {read} logs with {total} callbacks found");
}

/// `suspend` → milliseconds, of the `complete after` lines of a kernel log.
fn printed(log: &str) -> BTreeMap<&str, f64> {
    log.lines()
        .filter_map(|line| {
            let (words, rest) = line.split_once(" of devices complete after ")?;
            let name = words.rsplit("PM: ").next()?;
            Some((name, rest.split(' ').next()?.parse().ok()?))
        })
        .collect()
}

#[test]
fn phases_last_as_long_as_the_kernel_says() {
    let Some(logs) = logs() else { return };
    let names = [
        ("suspend", Phase::Suspend),
        ("late suspend", Phase::Late),
        ("noirq suspend", Phase::Noirq),
        ("noirq resume", Phase::ResumeNoirq),
        ("early resume", Phase::ResumeEarly),
        ("resume", Phase::Resume),
    ];
    let mut worst: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    let mut compared = 0;
    for log in all_files(&logs.join("pm-graph")) {
        let shown = log.to_string_lossy().into_owned();
        if !shown.contains("dmesg") {
            continue;
        }
        let trace = PathBuf::from(shown.replace("dmesg", "ftrace"));
        let content = text(&log);
        let said = printed(&content);
        let reading = reading(&trace);
        let cycle = &reading.captures[0].cycles[0];
        let recent = shown.contains("-5.3/");
        for (name, phase) in names {
            let Some(ms) = said.get(name) else { continue };
            let Some(span) = cycle.phase(phase) else {
                panic!("{shown}: no phase {name}");
            };
            let off = (span.duration().0 as f64 / 1e3 - ms * 1e3).abs();
            let limit = match (recent, phase) {
                (true, Phase::Resume) => 200.0,
                (true, _) => 25.0,
                (false, _) => 2_000.0,
            };
            assert!(off <= limit, "{shown}: {name} differs by {off:.0} us");
            let slot = worst.entry((if recent { "5.3" } else { "older" }, name)).or_default();
            *slot = slot.max(off);
            compared += 1;
        }
    }
    println!("{compared} phases compared; largest differences:");
    for ((kernel, name), off) in worst {
        println!("  {kernel:6} {name:14} {off:6.0} us");
    }
    assert!(compared >= 240, "only {compared} phases compared");
}

#[test]
fn every_file_gives_cycles_or_nothing_to_analyse() {
    let Some(logs) = logs() else { return };
    for path in all_files(&logs) {
        let reading = reading(&path);
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let cycles: usize = reading.captures.iter().map(|c| c.cycles.len()).sum();
        let expected = match name.as_str() {
            "lenovo-2024-02-12.part0.txt" => 0,
            "rogally-2024-s2idle.part0.txt" => 39,
            // Only ends of callbacks: ranked, no cycle.
            "e1000e-2020-11-26.txt.gz" | "ice-2024-05.txt.gz" => {
                assert!(!reading.captures[0].ranked.is_empty(), "{name}");
                0
            }
            "sdhci-am57-2021-06.part0.txt"
            | "imx-i2c-2024-11.txt.gz"
            | "lkp-usb-kmsg-2020-08.txt.gz"
            | "pixel6-6.16-rc4-full-2025-07.txt.gz"
            | "omap-2020-07.part0.txt" => 2,
            "mt7921e-2024-08.part0.txt" => 3,
            _ => 1,
        };
        assert_eq!(cycles, expected, "{}", path.display());
        let ranked = reading.captures.iter().any(|c| !c.ranked.is_empty());
        assert_eq!(reading.is_empty(), expected == 0 && !ranked, "{}", path.display());
        for c in &reading.captures {
            invariants::check(c, &path.display().to_string());
        }
    }
}

#[test]
fn a_folder_of_runs_is_one_machine_and_its_logs_join_its_traces() {
    let Some(logs) = logs() else { return };
    let reading = reading(&logs.join("pm-graph/multitest-5.3"));
    assert_eq!(reading.captures.len(), 1);
    let capture = &reading.captures[0];
    invariants::check(capture, "multitest");
    assert_eq!(capture.cycles.len(), 40);
    let sources: Vec<&str> = capture.cycles.iter().map(|c| capture.names.get(c.source)).collect();
    assert!(sources.is_sorted(), "stable order by path");
    for c in &capture.cycles {
        assert!(c.phase(Phase::Suspend).unwrap().printed.is_some(), "the log was joined");
        assert!(c.asleep_elsewhere.is_some());
    }
    assert!(capture.graph.order_known);
    let name = |s| capture.names.get(s);
    let mdio = capture.graph.devices.iter().find(|d| name(d.name) == "Fixed MDIO bus.0").unwrap();
    assert_eq!(name(mdio.driver), "platform");
    let fixed = capture.graph.devices.iter().find(|d| name(d.name) == "fixed-0").unwrap();
    assert_eq!(capture.graph.get(fixed.parent.unwrap()), mdio);
    let kbd = capture.graph.devices.iter().find(|d| name(d.name) == "00:03").unwrap();
    assert_eq!(name(kbd.driver), "i8042 kbd");
    // Twins of one run are told apart: 906 devices under 863 names.
    let one = self::reading(&logs.join("pm-graph/multitest-5.3/suspend-190921-145747"));
    let graph = &one.captures[0].graph;
    let mut names: Vec<_> = graph.devices.iter().map(|d| d.name).collect();
    names.sort();
    names.dedup();
    assert_eq!((graph.devices.len(), names.len()), (906, 863));
}

/// The only capture of a file below `logs/real` whose name begins so.
fn real(logs: &Path, begin: &str) -> Capture {
    let path = all_files(&logs.join("real"))
        .into_iter()
        .find(|p| p.file_name().unwrap().to_string_lossy().starts_with(begin))
        .unwrap_or_else(|| panic!("no log {begin}"));
    let mut captures = reading(&path).captures;
    assert_eq!(captures.len(), 1, "{begin}");
    captures.remove(0)
}

/// What of each device phase is known: complete or not.
fn whole(cycle: &Cycle) -> Vec<(Phase, bool)> {
    let all = cycle.phases.iter().enumerate().filter(|(_, p)| p.phase.has_devices());
    all.map(|(i, p)| (p.phase, cycle.completeness(i).is_complete())).collect()
}

#[test]
fn a_phone_that_would_not_sleep_and_then_did() {
    let Some(logs) = logs() else { return };
    let c = real(&logs, "pixel6-6.16-rc4");
    let [aborted, slept] = &c.cycles[..] else { panic!("{} cycles", c.cycles.len()) };
    let Outcome::AbortedByDevice { device: Some(d), errno } = aborted.outcome else {
        panic!("{:?}", aborted.outcome)
    };
    assert_eq!((c.names.get(c.graph.get(d).name), errno), ("eeprom@2", -16));
    // It hung there: what else would have run is not known.
    assert_eq!(whole(aborted), [(Phase::Suspend, false)]);
    assert_eq!((slept.mode, slept.outcome), (Mode::Deep, Outcome::Slept));
    let printed = |p: Phase| slept.phase(p).unwrap().printed;
    assert_eq!(printed(Phase::Suspend), Some(Ns::from_us(471_873)));
    assert_eq!(printed(Phase::Late), Some(Ns::from_us(50_932)));
    assert_eq!(printed(Phase::Resume), Some(Ns::from_us(430_625)));
    // The console slept before the machine did: the end of noirq is torn off,
    // noirq and early resume are missing, and the begin of resume.
    assert_eq!(
        whole(slept),
        [
            (Phase::Prepare, true),
            (Phase::Suspend, true),
            (Phase::Late, true),
            (Phase::Noirq, false),
            (Phase::Resume, false)
        ]
    );
    // PRINTK_CALLER tells the main threads: one run has workers, the other none.
    let workers = |k: &Cycle| k.threads.iter().filter(|t| t.is_main == Some(false)).count();
    let main = |k: &Cycle| k.threads.iter().find(|t| t.is_main == Some(true)).map(|t| t.pid);
    assert_eq!((main(aborted), main(slept)), (Some(10_732), Some(29_333)));
    assert!(workers(aborted) >= 5, "{}", workers(aborted));
    assert_eq!(workers(slept), 0);
}

#[test]
fn a_hibernation_keeps_its_events_and_its_image() {
    let Some(logs) = logs() else { return };
    let files: Vec<Input> = all_files(&logs.join("real"))
        .into_iter()
        .filter(|p| p.to_string_lossy().contains("hibernate"))
        .map(Input::Path)
        .collect();
    assert_eq!(files.len(), 2);
    let reading = read(&files, &Options::default()).unwrap();
    let cycles: Vec<&Cycle> = reading.captures.iter().flat_map(|c| &c.cycles).collect();
    let [k] = cycles[..] else { panic!("{} cycles", cycles.len()) };
    assert_eq!(k.mode, Mode::Disk);
    assert!(k.image.iter().any(|s| s.work == ImageWork::Allocate && s.bytes == 1_086_672 << 10));
    for b in &k.callbacks {
        let down = b.phase.direction() == Direction::Suspend;
        assert_eq!(b.event, if down { PmEvent::Freeze } else { PmEvent::Restore });
    }
    assert!(k.phase(Phase::Resume).unwrap().duration() > Ns::from_ms(1_380));
}

#[test]
fn durations_agree_with_time_stamps_in_the_unit_of_the_kernel() {
    let Some(logs) = logs() else { return };
    // Medians of long callbacks; the printed number alone is 2.4 % off before 5.14.
    let mut files: Vec<(&str, Capture)> = Vec::new();
    for (kernel, name) in [("5.4", "xps13"), ("5.9", "lkp"), ("6.1", "dell"), ("6.3", "lenovo")] {
        files.push((kernel, real(&logs, name)));
    }
    for path in all_files(&logs.join("pm-graph/devtest-3.15")) {
        if path.to_string_lossy().contains("dmesg") {
            files.push(("3.15", reading(&path).captures.remove(0)));
        }
    }
    for (kernel, c) in files {
        let text = text(Path::new(c.names.get(c.cycles[0].source)));
        let mut ratio = Vec::new();
        for b in c.cycles.iter().flat_map(|k| &k.callbacks) {
            let took = b.duration();
            if took < Ns::from_ms(10) || !b.complete {
                continue;
            }
            // The line before it: `calling` of the same device and function.
            let name = c.names.get(c.graph.get(b.device).name);
            let function = c.names.get(b.function);
            let calls = text
                .lines()
                .filter(|l| l.contains("calling ") && l.contains(function) && l.contains(name));
            let at = calls.filter_map(stamp_of).filter(|&t| t <= b.end.0 / 1_000).max();
            let Some(at) = at else { continue };
            ratio.push(took.0 / ((b.end.0 / 1_000 - at).max(1)));
        }
        ratio.sort_unstable();
        let middle = ratio[ratio.len() / 2];
        println!("{kernel}: {} callbacks, median {middle} thousandths", ratio.len());
        assert!((990..=1_010).contains(&middle), "{kernel}: {middle}");
    }
}

/// Microseconds of the first `[ seconds.micros]`.
fn stamp_of(line: &str) -> Option<i64> {
    let inside = line.split_once('[')?.1.split_once(']')?.0.trim();
    let (s, us) = inside.split_once('.')?;
    Some(s.parse::<i64>().ok()? * 1_000_000 + us.parse::<i64>().ok()?)
}
