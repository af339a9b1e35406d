//! Storage: counts and latencies of recorded machines, held against counts that
//! another program made of the same files.

use crate::support::real_data;
use dormouse_read::Given;
use dormouse_read::storage::StorageReading;
use dormouse_storage::request::Request;
use dormouse_storage::runtime::Function;
use dormouse_storage::summary::{Cpus, Latency, summarise};
use dormouse_storage::wait::Cause;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// A file of the data beside the repository; `None`, said loudly, without it.
fn data_file(name: &str) -> Option<PathBuf> {
    let path = real_data()?.join(name);
    if !path.exists() {
        println!("SKIPPED: {} is not here; DORMOUSE_DATA names the folder", path.display());
        return None;
    }
    Some(path)
}

fn load(path: &Path) -> Rc<StorageReading> {
    Given::new(&[path.into()]).storage().expect("a readable file")
}

fn truth() -> Option<Value> {
    let text = std::fs::read_to_string(data_file("idle/real/truth.json")?).expect("text");
    Some(serde_json::from_str(&text).expect("JSON"))
}

/// Requests that were issued and completed.
fn paired(r: &[Request]) -> Vec<&Request> {
    r.iter().filter(|r| r.issues > 0 && r.completed.is_some()).collect()
}

#[test]
fn requests_of_real_machines_are_counted_and_timed_right() {
    let Some(truth) = truth() else { return };
    println!("\n| recording | issued | completed | requests | open | put back | p50 us | max us |");
    println!("|---|---|---|---|---|---|---|---|");
    // The other program takes all lines of a text together: two excerpts are summed here,
    // and where lines are quoted twice its requests that seem to be open twice go off.
    for name in [
        "idle/s-pixel-listjank.txt.gz",
        "storage/s-pixel-flutter.txt.gz",
        "storage/s-nand-aw.html.gz",
        "storage/m-flush-err-ftrace.txt",
        "storage/blktrace-sample.blkparse.txt.gz",
        "storage/blktrace-sample.blktrace.0",
        "storage/m-f2fs-ipu-ftrace.txt",
        "storage/m-ublk-blkparse.txt",
        "storage/m-zoned-blkparse.txt",
        "storage/m-discard-blkparse-2019.txt",
    ] {
        let path = name.replacen('/', "/real/", 1);
        let Some(path) = data_file(&path) else { return };
        let r = load(&path);
        let excerpts = if name.contains("f2fs") || name.contains("ublk") { 2 } else { 1 };
        assert_eq!(r.traces.len(), excerpts, "{name}");
        let requests: Vec<_> = r.traces.iter().flat_map(|t| t.requests.clone()).collect();
        let [issues, completions, unissued] = r
            .traces
            .iter()
            .fold([0; 3], |n, t| [n[0] + t.issues, n[1] + t.completions, n[2] + t.unissued]);
        let want = &truth[name]["block"];
        let twice =
            if name.contains("ublk") { want["same_key_outstanding"].as_u64() } else { None };
        let number = |key: &str| {
            let n = want[key].as_u64().unwrap_or_else(|| panic!("{name}: {key}"));
            n - twice.filter(|_| matches!(key, "issued" | "left_open")).unwrap_or(0)
        };
        let pairs = paired(&requests);
        let open: u64 =
            requests.iter().filter(|r| r.completed.is_none()).map(|r| u64::from(r.issues)).sum();
        let again: u64 = pairs.iter().map(|r| u64::from(r.issues) - 1).sum();
        let errors = requests.iter().filter(|r| r.error != 0).count() as u64;
        // blkparse prints errors as 16 bits without a sign, which the other
        // program takes for none.
        let errors = if name.contains("zoned") { errors - 1 } else { errors };
        let seen = [issues, completions, pairs.len() as u64, unissued, open, again, errors];
        let keys = [
            "issued",
            "completed",
            "paired",
            "complete_without_issue",
            "left_open",
            "reissued",
            "error_nonzero",
        ];
        assert_eq!(seen, keys.map(number), "{name}: {keys:?}");
        let mut latencies: Vec<i64> =
            pairs.iter().filter_map(|r| Some(r.completed? - r.issued?)).collect();
        let l = Latency::of(&mut latencies);
        let us = |ns: i64| ns as f64 / 1e3;
        println!(
            "| {} | {} | {} | {} | {open} | {again} | {:.1} | {:.1} |",
            name.rsplit('/').next().unwrap_or(name),
            issues,
            completions,
            pairs.len(),
            us(l.p50),
            us(l.max)
        );
        let Some(most) = want["lat_us_max"].as_f64() else { continue };
        // The other program joins by sector alone: it takes the end of the
        // request that asked for this flush for the end of the flush.
        if name.contains("m-flush-err") {
            continue;
        }
        assert!((us(l.max) - most).abs() < 0.002, "{name}: {} {most}", us(l.max));
        let p50 = want["lat_us_p50"].as_f64().expect("p50");
        assert!((us(l.p50) - p50).abs() < 0.002, "{name}: {} {p50}", us(l.p50));
    }
}

#[test]
fn reads_that_waited_for_gated_clocks_are_named_one_by_one() {
    let Some(truth) = truth() else { return };
    let Some(path) = data_file("idle/real/s-pixel-listjank.txt.gz") else { return };
    let r = load(&path);
    let t = &r.traces[0];
    let want = &truth["idle/s-pixel-listjank.txt.gz"]["ufs_ungate"];
    let mut ungates: Vec<i64> = t.ungates.iter().map(|n| n / 1_000).collect();
    ungates.sort_unstable();
    let theirs: Vec<i64> = want["ungate_us"]
        .as_array()
        .expect("list")
        .iter()
        .map(|n| n.as_f64().unwrap() as i64)
        .collect();
    assert_eq!(ungates, theirs);
    let disks = summarise(&t.requests, &t.spans, t.watched, Cpus::default(), t.begin);
    let [disk] = &disks[..] else { panic!("{disks:?}") };
    for q in want["requests"].as_array().expect("list") {
        let key = q["req"].as_str().expect("key");
        let begin = q["first_issue_us"].as_f64().expect("time") as i64;
        let found = disk.requests.iter().find(|x| {
            let r = &x.request;
            r.issued.is_some_and(|t| t / 1_000 == begin)
                && key.starts_with(&format!("{} {} ", r.disk, r.sector.unwrap_or(u64::MAX)))
        });
        let x = found.unwrap_or_else(|| panic!("{key} at {begin}"));
        assert_eq!(u64::from(x.request.issues), q["issues"].as_u64().unwrap(), "{key}");
        assert_eq!(x.slices.total() / 1_000, q["total_us"].as_f64().unwrap() as i64, "{key}");
        // Only what the driver put back waited for the clock.
        let waited = x.slices.get(Cause::Ungate).unwrap_or(0) > 0;
        assert_eq!(waited, x.request.issues > 1, "{key}");
        if waited {
            let last = q["from_last_issue_us"].as_f64().unwrap() as i64;
            assert_eq!(x.slices.get(Cause::Served).unwrap() / 1_000, last, "{key}");
        }
    }
}

#[test]
fn without_events_of_the_gate_clocks_say_which_writes_waited_for_it() {
    let Some(path) = data_file("storage/real/s-pixel-flutter.txt.gz") else { return };
    let t = &load(&path).traces[0];
    let disks = summarise(&t.requests, &t.spans, t.watched, Cpus::default(), t.begin);
    let [disk] = &disks[..] else { panic!("{disks:?}") };
    let mut waits = 0;
    for x in &disk.requests {
        // What was put back was put back for a clock, all of it; nothing else was.
        let wait = x.slices.get(Cause::Ungate).unwrap();
        let between = x.request.taken.unwrap() - x.request.issued.unwrap();
        assert_eq!((wait, wait > 0), (between, x.request.issues > 1));
        assert_eq!(x.slices.get(Cause::UngateWorker), None, "no event tells of the worker");
        waits += wait;
    }
    assert_eq!(waits / 1_000, 6_607);
}

#[test]
fn a_card_reader_that_takes_22_ms_to_resume() {
    let Some(path) = data_file("storage/real/m-sdhi-rpm-ftrace.txt") else { return };
    let r = load(&path);
    let t = &r.traces[0];
    let calls = ["rpm_resume", "rpm_idle", "rpm_suspend", "rpm_return_int"].map(|e| t.events[e]);
    assert_eq!(calls, [5, 5, 8, 18]);
    let card = t.runtime.devices.iter().find(|d| d.name == "mmc0:0001").expect("the card");
    let [resume] = &card.resumes[..] else { panic!("{:?}", card.resumes) };
    assert_eq!(resume.end - resume.begin, 22_629_000);
    let host = t.runtime.devices.iter().find(|d| d.name == "ee140000.mmc").expect("the host");
    assert_eq!(host.resumes[0].end - host.resumes[0].begin, 22_395_000);
    let soc = t.runtime.devices.iter().find(|d| d.name == "soc").expect("the bus");
    assert_eq!(soc.errors[&(Function::Idle, -13)], 2, "its runtime PM is switched off");
}

#[test]
fn tables_of_drives_clocks_and_loads() {
    let Some(path) = data_file("storage/real/nvme-ps-tables.txt") else { return };
    let r = load(&path);
    let states: Vec<usize> = r.drives.iter().map(|d| d.states.len()).collect();
    assert_eq!(states, [5, 5, 6, 5, 5, 5, 5, 5], "{:?}", r.drives);
    let odd: Vec<&str> = r
        .drives
        .iter()
        .filter(|d| !d.doubts().is_empty())
        .map(|d| d.name.split([' ', ',']).next().unwrap_or(""))
        .collect();
    assert_eq!(odd, ["T-FORCE", "drive"]);
    for (name, tables) in [
        ("m-devfreq-exynos5422.txt", 16),
        ("m-devfreq-lima.txt", 2),
        ("m-devfreq-odroidxu3.txt", 6),
    ] {
        let Some(path) = data_file(&format!("storage/real/{name}")) else { return };
        let r = load(&path);
        assert_eq!(r.transitions.len(), tables, "{name}");
        for t in r.transitions.iter().filter(|t| t.total.is_some()) {
            // The table of the kernel counts what it saw; its total may count
            // changes to a clock that it has no column for.
            assert!(t.counted() <= t.total.unwrap(), "{name}: {t:?}");
        }
    }
    let Some(path) = data_file("storage/real/fio-lkp-sdb.json.gz") else { return };
    let r = load(&path);
    let [job] = &r.jobs[..] else { panic!("{:?}", r.jobs) };
    assert_eq!(
        (job.direction.as_str(), job.requests, job.bandwidth),
        ("write", 1_907_151, 26_013_908)
    );
}

#[test]
fn traces_that_mail_broke_and_another_tracer_wrote() {
    let Some(truth) = truth() else { return };
    let Some(path) = data_file("storage/real/m-ata-scsi-block-ftrace.txt") else { return };
    let r = load(&path);
    let latencies: Vec<i64> =
        paired(&r.traces[0].requests).iter().filter_map(|r| r.latency()).collect();
    let hand = &truth["storage/m-ata-scsi-block-ftrace.txt"]["by_hand"];
    let direct = hand["direct_io"]["lat_us"].as_f64().unwrap() as i64;
    assert_eq!(latencies[0], direct * 1_000, "{latencies:?}");
    let Some(path) = data_file("storage/real/m-sdasync-ftrace.txt") else { return };
    let r = load(&path);
    assert_eq!((r.traces[0].issues, r.traces[0].completions, r.traces[0].unissued), (2, 2, 0));
    let Some(path) = data_file("storage/real/lttng-scp_src.bt.txt.gz") else { return };
    let r = load(&path);
    let t = &r.traces[0];
    assert_eq!((t.issues, t.completions, t.unissued), (9, 9, 0));
    let most = t.requests.iter().filter_map(|r| Some(r.completed? - r.issued?)).max();
    assert_eq!(most, Some(1_156_841));
    let Some(path) = data_file("storage/real/lttng-bug446190-rpm.bt.txt.gz") else { return };
    let r = load(&path);
    let calls =
        ["rpm_resume", "rpm_idle", "rpm_suspend", "rpm_return_int"].map(|e| r.traces[0].events[e]);
    assert_eq!(calls, [2, 4, 1, 7]);
}

/// One request of 4 KiB on disk 8,0, with lines of its own between its events.
fn one_request(more: &str) -> StorageReading {
    let text = format!(
        "# tracer: nop\n\
         app-100 [000] ..... 10.000000: block_bio_queue: 8,0 R 800 + 8 [app]\n\
         {more}\
         <idle>-0 [001] d.h1. 10.009000: block_rq_complete: 8,0 R () 800 + 8 none,0,0 [0]\n"
    );
    dormouse_read::storage::read_bytes("trace.txt", text.as_bytes())
}

const ISSUE: &str =
    "app-100 [000] ..... 10.008000: block_rq_issue: 8,0 R 4096 () 800 + 8 none,0,0 [app]\n";

fn causes(r: &StorageReading, exits: &[((u32, u32), i64)]) -> Vec<(Cause, i64)> {
    let t = &r.traces[0];
    let exits = exits.iter().copied().collect();
    let cpus = Cpus { woken: &t.woken, exits: Some(&exits) };
    let disks = summarise(&t.requests, &t.spans, t.watched, cpus, t.begin);
    let slices = disks[0].requests[0].slices;
    let all = dormouse_storage::wait::CAUSES;
    all.iter().filter_map(|c| Some((*c, slices.get(*c)? / 1_000))).filter(|c| c.1 > 0).collect()
}

#[test]
fn a_resume_is_taken_apart_into_the_suspend_before_it_rcu_parents_and_the_driver() {
    let r = one_request(&format!(
        "kworker/0:1-9 [000] ..... 10.000100: rpm_suspend: 0:0:0:0 flags-a cnt-0  dep-0  auto-1 p-0 irq-0 child-0\n\
         <idle>-0 [001] ..s1. 10.000200: rcu_grace_period: rcu_preempt 41 start\n\
         app-100 [000] ..... 10.001000: rpm_resume: 0:0:0:0 flags-1 cnt-1  dep-0  auto-1 p-0 irq-0 child-0\n\
         app-100 [000] ..... 10.001001: rpm_return_int: rpm_resume+0x1/0x2:0:0:0:0 ret=0\n\
         <idle>-0 [001] ..s1. 10.003000: rcu_grace_period: rcu_preempt 41 end\n\
         kworker/0:1-9 [000] ..... 10.004000: rpm_resume: 0:0:0:0 flags-0 cnt-1  dep-0  auto-1 p-0 irq-0 child-0\n\
         kworker/0:1-9 [000] ..... 10.004000: rpm_resume: host0 flags-0 cnt-1  dep-0  auto-1 p-0 irq-0 child-0\n\
         kworker/0:1-9 [000] ..... 10.006000: rpm_return_int: rpm_resume+0x1/0x2:host0 ret=0\n\
         kworker/0:1-9 [000] ..... 10.007000: rpm_return_int: rpm_resume+0x1/0x2:0:0:0:0 ret=0\n\
         kworker/0:1-9 [000] ..... 10.007001: rpm_return_int: rpm_suspend+0x1/0x2:0:0:0:0 ret=-11\n\
         app-100 [000] ..... 10.007500: block_getrq: 8,0 R 800 + 8 [app]\n{ISSUE}"
    ));
    assert_eq!(
        causes(&r, &[]),
        [
            (Cause::ResumeGrace, 2_000),
            (Cause::ResumeSuspend, 1_000),
            (Cause::ResumeParents, 2_000),
            (Cause::Resume, 1_000),
            (Cause::Entry, 1_500),
            (Cause::Queue, 500),
            (Cause::Served, 1_000),
        ]
    );
}

#[test]
fn service_at_a_low_clock_until_devfreq_looked_and_a_cpu_that_slept_are_apart() {
    let issue = ISSUE.replace("10.008000", "10.000500");
    let r = one_request(&format!(
        "kworker/0:1-9 [000] ..... 10.000100: devfreq_monitor: dev_name=1d84000.ufshc freq=100000000 polling_ms=60 load=3\n\
         {issue}\
         kworker/0:1-9 [000] ..... 10.006000: devfreq_frequency: dev_name=1d84000.ufshc freq=400000000 prev_freq=100000000 load=90\n\
         <idle>-0 [001] ..... 10.007000: cpu_idle: state=2 cpu_id=1\n\
         <idle>-0 [001] ..... 10.008995: cpu_idle: state=4294967295 cpu_id=1\n"
    ));
    let slow = (Cause::Slow, 5_500);
    assert_eq!(
        causes(&r, &[((1, 2), 200_000)]),
        [(Cause::Queue, 500), (Cause::Cpu, 200), slow, (Cause::Served, 2_800)]
    );
    // Without the exit latency the wait is not known, and not zero.
    assert_eq!(causes(&r, &[]), [(Cause::Queue, 500), slow, (Cause::Served, 3_000)]);
    let t = &r.traces[0];
    let cpus = Cpus { woken: &t.woken, exits: None };
    let disks = summarise(&t.requests, &[], t.watched, cpus, t.begin);
    assert_eq!(disks[0].requests[0].slices.get(Cause::Cpu), None);
}

#[test]
fn settings_of_sysfs_are_read_with_colons_in_their_paths() {
    let text = include_bytes!("../../../fuzz/corpus/storage/seed-sysfs");
    let r = dormouse_read::storage::read_bytes("sysfs.txt", text);
    let disk = r.knobs.power.values().next().expect("a device");
    assert_eq!((disk.name(), disk.autosuspend, disk.forbidden), ("0:0:0:0", Some(50), true));
    assert_eq!(r.knobs.devfreq["1d84000.ufshc"].levels, [100_000_000, 400_000_000]);
    assert_eq!(r.knobs.conflicts().len(), 3, "{:?}", r.knobs.conflicts());
    assert_eq!(r.knobs.exits[&(0, 2)], 127_000);
}

/// A row of btt's first table: least, mean, most in ns, and how many.
fn btt_row(text: &str, name: &str) -> [i64; 4] {
    let line =
        text.lines().find(|l| l.starts_with(name)).unwrap_or_else(|| panic!("{name}: {text}"));
    let words: Vec<&str> = line.split_whitespace().skip(1).collect();
    let ns = |w: &str| (w.parse::<f64>().expect("seconds") * 1e9).round() as i64;
    [ns(words[0]), ns(words[1]), ns(words[2]), words[3].parse().expect("a count")]
}

/// The slices of binary blktrace are those that btt makes of the same file.
#[test]
fn slices_agree_with_btt() {
    let Some(path) = data_file("storage/real/blktrace-sample.blktrace.0") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    // Its records are of CPU 1, and blkparse believes the name.
    let file = |n: u32| folder.path().join(format!("t.blktrace.{n}"));
    std::fs::write(file(0), "").expect("a file");
    std::fs::copy(&path, file(1)).expect("a copy");
    let run = |program: &str, args: &[&str]| {
        let out =
            std::process::Command::new(program).args(args).current_dir(folder.path()).output();
        out.ok().filter(|o| o.status.success())
    };
    let made = run("blkparse", &["-i", "t", "-d", "t.bin", "-O"])
        .and_then(|_| run("btt", &["-i", "t.bin"]));
    let Some(out) = made else {
        println!("SKIPPED: btt and blkparse are not here (Debian: apt install blktrace)");
        return;
    };
    let text = String::from_utf8_lossy(&out.stdout);
    let r = load(&path);
    let t = &r.traces[0];
    let disks = summarise(&t.requests, &t.spans, t.watched, Cpus::default(), t.begin);
    let slice = |of: &[Cause]| -> Vec<i64> {
        let one = |x: &dormouse_storage::summary::Taken| {
            of.iter().map(|c| x.slices.get(*c).unwrap_or(0)).sum()
        };
        disks[0].requests.iter().map(one).collect()
    };
    let all = dormouse_storage::wait::CAUSES;
    for (name, causes) in [("Q2G", &[Cause::Entry][..]), ("D2C", &[Cause::Served]), ("Q2C", &all)] {
        let mut ours = slice(causes);
        ours.sort_unstable();
        let n = ours.len() as i64;
        let sum: i64 = ours.iter().sum();
        let row = [ours[0], (sum as f64 / n as f64).round() as i64, ours[ours.len() - 1], n];
        let theirs = btt_row(&text, name);
        println!("{name}: least, mean, most, requests: {row:?}; btt: {theirs:?}");
        // btt's mean is rounded down.
        assert!(
            row.iter().zip(&theirs).all(|(a, b)| (a - b).abs() <= 1),
            "{name}: {row:?} {theirs:?}"
        );
    }
}

#[test]
fn settings_in_the_dress_of_loops_and_tools_are_those_of_files() {
    let text = "3-1 Keyboard: control=on status=active active=7000 suspended=0\n\
        3-2 Camera: control=auto status=suspended active=9 suspended=6991\n\
        Bad;Autosuspend for USB device Keyboard [ACME];\n\
        Good;Runtime PM for PCI Device ACME X9;\n\
        /dev/sdc:\n drive state is:  standby\n\
        /sys/class/scsi_host/host4/link_power_management_policy:max_performance\n\
        /sys/devices/platform/soc/4000.ufs/clkscale_enable:0\n\
        /sys/devices/system/cpu/cpu6/power/pm_qos_resume_latency_us:20\n";
    let r = dormouse_read::storage::read_bytes("mail.txt", text.as_bytes());
    let awake = dormouse_storage::held::by_settings(&r.knobs);
    let awake: Vec<&str> = awake.iter().map(|h| h.name.as_str()).collect();
    assert_eq!(awake, ["3-1 Keyboard"], "{:?}", r.knobs.power);
    assert_eq!(r.knobs.power.len(), 3, "a CPU is no device of storage: {:?}", r.knobs.power);
    assert_eq!(r.knobs.spinning["sdc"], "standby");
    assert_eq!(r.knobs.links["host4"], "max_performance");
    assert!(!r.knobs.scaled["4000.ufs"]);
}
