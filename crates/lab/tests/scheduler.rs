//! The readiness scheduler in real kernels: what fails is unwound, real sleeps come
//! back, `pm_async` 0 is obeyed, and it unloads. Boots guests, so ignored by
//! default: `make prove` runs it.

use dormouse_base::phase::Phase;
use dormouse_board::{Board, parse, print};
use dormouse_lab::kernels::{self, Kernel};
use dormouse_lab::kmod;
use dormouse_lab::plan::{Record, Sleep, Turn};
use dormouse_lab::qemu::{Accel, Arch, Machine};
use dormouse_lab::run::{Boot, Job, run, run_in_turn};
use dormouse_lab::trace::{Intervals, cycles};
use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

/// Kernels that check themselves are slow.
const LIMIT: Duration = Duration::from_secs(3_600);

/// Words of a kernel's log that stand for a fault.
const FAULTS: [&str; 7] =
    ["WARNING:", "BUG:", "Oops", "Call Trace", "INFO: task", "INFO: possible", "suspicious"];

/// Devices 0 to 11: two trees, synchronous and asynchronous, a link between them.
/// `fails` is a number and its callback.
fn board(fails: Option<(usize, &str)>) -> Board {
    let mut text = String::from("board 1\ncpus 4\n");
    for i in 0..12 {
        text += &format!("device x{i}");
        if i > 1 {
            // Even numbers below 0, odd ones below 1, two levels deep.
            text += &format!(" parent=x{}", if i < 6 { i % 2 } else { i - 4 });
        }
        text += if i % 3 == 0 { " sync" } else { " async" };
        for callback in ["suspend", "late", "noirq", "resume_noirq", "early", "resume"] {
            let bad = fails == Some((i, callback));
            text += &format!(" {callback}=1ms{}", if bad { ",ret=-5" } else { "" });
        }
        text += "\n";
    }
    text += "link x11 x4 stateless\n";
    parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn job<'a>(name: &str, board: &'a Board, sleep: Sleep, pm_async: bool) -> Job<'a> {
    Job {
        name: name.into(),
        board: Some(board),
        waits: &[],
        sleep,
        pm_async,
        cycles: 2,
        detail: Vec::new(),
        record: if sleep.is_test() { Record::No } else { Record::Full },
        phases: false,
    }
}

fn boot(series: &str, cpus: u32, jobs: &[Job<'_>]) -> Boot {
    boot_with(series, cpus, "", jobs)
}

fn boot_with(series: &str, cpus: u32, parameters: &str, jobs: &[Job<'_>]) -> Boot {
    let kernel = kernels::get(Arch::Amd64, series).unwrap_or_else(|e| panic!("{e}"));
    let mut machine = Machine::new(Arch::Amd64, Accel::Icount, cpus, &kernel.release);
    machine.scheduler = Some(parameters.into());
    silent(&kernel, jobs, run(&kernel, &machine, jobs, LIMIT).unwrap_or_else(|e| panic!("{e}")))
}

/// The boot, whose kernel complained of nothing.
fn silent(kernel: &Kernel, jobs: &[Job<'_>], boot: Boot) -> Boot {
    let bad: Vec<&str> =
        boot.log.lines().filter(|l| FAULTS.iter().any(|w| l.contains(w))).collect();
    assert!(bad.is_empty(), "{bad:#?}");
    println!("{}: {} boards in {:.1} s", kernel.release, jobs.len(), boot.took.as_secs_f64());
    boot
}

/// What the scheduler said of one job.
fn said(boot: &Boot, job: usize, key: &str) -> u64 {
    let line = boot.scheduler[job].lines().find_map(|l| l.strip_prefix(key));
    let line = line.unwrap_or_else(|| panic!("no {key} in {:?}", boot.scheduler[job]));
    line.trim().parse().unwrap_or_else(|e| panic!("{key}: {line}: {e}"))
}

/// Names of the board's devices that ran in `phase`.
fn ran(cycle: &Intervals, phase: Phase) -> BTreeSet<&str> {
    let of = cycle.of.keys().filter(|(p, n)| *p == phase && n.starts_with("d0"));
    of.map(|(_, n)| n.as_str()).collect()
}

/// No failure, and one in each phase: a device's number and its callback.
const FAILS: [Option<(usize, &str)>; 9] = [
    None,
    Some((8, "suspend")),
    Some((9, "suspend")),
    Some((4, "late")),
    Some((6, "late")),
    Some((5, "noirq")),
    Some((0, "noirq")),
    Some((7, "resume")),
    Some((3, "early")),
];

/// With each of `rules`, which are parameters of the module, what went down comes up
/// again.
fn unwinds(series: &str, rules: &[&str]) -> Boot {
    let boards = FAILS.map(board);
    let name = |f: &Option<(usize, &str)>| f.map_or("none".into(), |(i, c)| format!("{c}{i}"));
    let mut jobs = Vec::new();
    let mut turns = Vec::new();
    for rule in rules {
        for (fails, board) in FAILS.iter().zip(&boards) {
            jobs.push(job(&format!("{rule}-{}", name(fails)), board, Sleep::Platform, true));
            turns.push(Turn { scheduler: Some((*rule).into()), rest: 0 });
        }
    }
    let kernel = kernels::get(Arch::Amd64, series).unwrap_or_else(|e| panic!("{e}"));
    let machine = Machine::new(Arch::Amd64, Accel::Icount, 4, &kernel.release);
    let boot = run_in_turn(&kernel, &machine, &jobs, &turns, LIMIT);
    let boot = silent(&kernel, &jobs, boot.unwrap_or_else(|e| panic!("{e}")));
    for (n, outcome) in boot.outcomes.iter().enumerate() {
        let all = cycles(&outcome.trace);
        assert_eq!(all.len(), 2, "{}", jobs[n].name);
        for cycle in &all {
            unwound(cycle, FAILS[n % FAILS.len()], &jobs[n].name);
        }
    }
    boot
}

/// What went down in `cycle` came up again in the phase that answers it, and nothing else.
fn unwound(cycle: &Intervals, fails: Option<(usize, &str)>, title: &str) {
    let pairs = [
        (Phase::Suspend, Phase::Resume, "suspend"),
        (Phase::Late, Phase::ResumeEarly, "late"),
        (Phase::Noirq, Phase::ResumeNoirq, "noirq"),
    ];
    let mut stopped = false;
    for (down, up, word) in pairs {
        let mut expected = ran(cycle, down);
        // Nothing goes on down after a phase that failed.
        assert!(!stopped || expected.is_empty(), "{title}: {down:?} after a failure");
        assert!(stopped || fails.is_some() || expected.len() == 12, "{title}: {expected:?}");
        if let Some((i, c)) = fails
            && c == word
        {
            let failed = format!("d{i:05}");
            assert!(expected.remove(failed.as_str()), "{title}: {failed} did not run");
            stopped = true;
        }
        assert_eq!(ran(cycle, up), expected, "{title}: {up:?}");
    }
}

/// The scheduler unwinds, and makes its graph once a cycle.
fn unwinds_when_ready(series: &str) {
    let boot = unwinds(series, &[""]);
    assert!(said(&boot, 0, "reuses") > 0, "the graph is made once a cycle");
}

/// With `pm_async` 0 the list is walked in its order, one device at a time.
fn obeys_pm_async(series: &str) {
    let board = board(None);
    let jobs = [
        job("off", &board, Sleep::Platform, false),
        job("on", &board, Sleep::Platform, true),
        job("off-again", &board, Sleep::Platform, false),
    ];
    let boot = boot(series, 4, &jobs);
    for (n, serial) in [(0, 1), (1, 0), (2, 1)] {
        assert_eq!(said(&boot, n, "resume/serial"), serial, "job {n}");
    }
    for n in [0, 2] {
        for cycle in cycles(&boot.outcomes[n].trace) {
            let list: Vec<&String> = cycle.list.iter().filter(|n| n.starts_with("d0")).collect();
            let start = |name: &String| cycle.of[&(Phase::Resume, name.clone())];
            for pair in list.windows(2) {
                assert!(start(pair[0]).end <= start(pair[1]).start, "{pair:?}");
            }
        }
    }
}

/// Real sleeps: to idle, to memory, a hibernation that is undone, and one that restores
/// its own image.
fn really_sleeps(series: &str) {
    let board = board(None);
    let jobs = [
        job("s2idle", &board, Sleep::S2idle, true),
        job("deep", &board, Sleep::Deep, true),
        job("rollback", &board, Sleep::Rollback, true),
        // It is its own image that comes back, with the threads and counters of then.
        job("hibernate", &board, Sleep::Hibernate, true),
        job("again", &board, Sleep::Platform, true),
    ];
    // Deep sleep under instruction counting comes back with one CPU.
    let boot = boot(series, 1, &jobs);
    for (n, outcome) in boot.outcomes.iter().enumerate() {
        assert!(!outcome.capture.is_empty() || outcome.name == "again", "{}", outcome.name);
        for phase in ["suspend", "suspend_noirq", "resume_noirq", "resume"] {
            let key = format!("{phase}/devices");
            assert!(said(&boot, n, &key) >= 12, "{}: {key}", outcome.name);
        }
    }
}

/// Orders that no graph shows, and links against the order of the list.
fn knows_odd_orders(series: &str) {
    let plain = board(None);
    let ids: Vec<_> = plain.graph.ids().collect();
    let hidden = [(ids[7], ids[6]), (ids[10], ids[3]), (ids[9], ids[8]), (ids[11], ids[1])];
    // Such a link moves nobody: its consumer stays before its supplier in the list.
    let text = print(&plain, "");
    let text = text + "link x2 x9 sync_state_only\nlink x3 x10 sync_state_only\n";
    let against = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let jobs = [
        Job { waits: &hidden, ..job("hidden", &plain, Sleep::Platform, true) },
        job("against", &against, Sleep::Platform, true),
        Job { waits: &hidden, ..job("off", &against, Sleep::Platform, false) },
    ];
    let boot = boot(series, 4, &jobs);
    for outcome in &boot.outcomes {
        for cycle in cycles(&outcome.trace) {
            for phase in [Phase::Suspend, Phase::Noirq, Phase::ResumeNoirq, Phase::Resume] {
                assert_eq!(ran(&cycle, phase).len(), 12, "{}: {phase:?}", outcome.name);
            }
        }
    }
    for cycle in cycles(&boot.outcomes[0].trace) {
        for (waiter, awaited) in hidden {
            let of = |id: dormouse_base::device::DeviceId| {
                cycle.of[&(Phase::Resume, format!("d{:05}", id.index()))]
            };
            // That function is called within the callback.
            assert!(of(awaited).end <= of(waiter).end, "{waiter:?} does not wait");
        }
    }
}

/// Where no thread or only one can be had, the caller runs what waits.
fn goes_without_threads(series: &str) {
    let board = board(None);
    for most in [0, 1] {
        let jobs = [job("few", &board, Sleep::Platform, true)];
        let boot = boot_with(series, 4, &format!("most_workers={most}"), &jobs);
        assert!(said(&boot, 0, "workers") <= most, "{most}");
        assert_eq!(said(&boot, 0, "resume/serial"), 0);
        for cycle in cycles(&boot.outcomes[0].trace) {
            for phase in [Phase::Suspend, Phase::Noirq, Phase::ResumeNoirq, Phase::Resume] {
                assert_eq!(ran(&cycle, phase).len(), 12, "{phase:?}");
            }
        }
    }
}

/// Where hardware tracks indirect branches, a call through a pointer may only land
/// on functions whose address the kernel takes: those that run one device. All other
/// such calls stay inside the module.
fn calls_through_pointers(series: &str) {
    let kernel = kernels::get(Arch::Amd64, series).unwrap_or_else(|e| panic!("{e}"));
    let module = kmod::scheduler(&kernel).unwrap_or_else(|e| panic!("{e}"));
    let out = Command::new("objdump").args(["-dr", "--no-show-raw-insn"]).arg(&module).output();
    let out = out.expect("objdump of binutils, which comes with the compiler");
    let text = String::from_utf8_lossy(&out.stdout);
    let mut at = "";
    let mut callers = BTreeSet::new();
    for line in text.lines() {
        if let Some(name) = line.strip_suffix(">:") {
            at = name.rsplit('<').next().unwrap_or_default();
        }
        let indirect = ["__x86_indirect_thunk", "call   *", "call *", "jmp    *", "jmp *"];
        if indirect.iter().any(|w| line.contains(w)) {
            callers.insert(at.to_owned());
        }
    }
    // async_suspend() and its like, twice; and the pool's two functions of core.c.
    let core =
        ["run_device", "ready_run_phase", "worker_main", "manager_main", "ready_pool_submit"];
    // The same of the variants, and the function of livepatch.c that finds symbols.
    let variants = ["run_item", "walk", "variants_choose", "variants_run_phase"];
    let known = [&core[..], &variants].concat();
    assert!(callers.contains("run_device"), "{callers:?}");
    let others: Vec<&String> = callers.iter().filter(|c| !known.contains(&c.as_str())).collect();
    assert!(others.is_empty(), "{others:?}");
    println!("{}: calls through pointers in {callers:?}", kernel.release);
}

#[test]
#[ignore = "builds for a kernel: `make prove` runs it"]
fn no_call_lands_on_a_sealed_function_on_6_12() {
    calls_through_pointers("6.12");
}

#[test]
#[ignore = "builds for a kernel: `make prove` runs it"]
fn no_call_lands_on_a_sealed_function_on_7_3() {
    calls_through_pointers("7.3");
}

#[test]
#[ignore = "boots a guest: `make prove` runs it"]
fn it_goes_without_threads_on_7_3() {
    goes_without_threads("7.3");
}

#[test]
#[ignore = "boots a guest: `make prove` runs it"]
fn what_fails_is_unwound_on_6_12() {
    unwinds_when_ready("6.12");
}

#[test]
#[ignore = "boots a guest: `make prove` runs it"]
fn what_fails_is_unwound_on_7_3() {
    unwinds_when_ready("7.3");
}

#[test]
#[ignore = "boots a guest: `make prove` runs it"]
fn what_fails_is_unwound_by_other_rules_on_6_12() {
    let rules = ["G1", "G1w", "G2", "G3", "G4", "GS"].map(|r| format!("policy={r}"));
    unwinds("6.12", &rules.each_ref().map(String::as_str));
}

#[test]
#[ignore = "boots a guest: `make prove` runs it"]
fn what_fails_is_unwound_by_other_rules_on_7_3() {
    let rules =
        ["G4", "leaves-only", "roots-and-children", "no-leaf-wait", "root-test", "no-repeat"];
    let rules = rules.map(|r| format!("policy={r}"));
    unwinds("7.3", &rules.each_ref().map(String::as_str));
}

#[test]
#[ignore = "boots a guest: `make prove` runs it"]
fn pm_async_is_obeyed_on_6_12() {
    obeys_pm_async("6.12");
}

#[test]
#[ignore = "boots a guest: `make prove` runs it"]
fn pm_async_is_obeyed_on_7_3() {
    obeys_pm_async("7.3");
}

#[test]
#[ignore = "boots a guest: `make prove` runs it"]
fn real_sleeps_come_back_on_6_12() {
    really_sleeps("6.12");
}

#[test]
#[ignore = "boots a guest: `make prove` runs it"]
fn real_sleeps_come_back_on_7_3() {
    really_sleeps("7.3");
}

#[test]
#[ignore = "boots a guest: `make prove` runs it"]
fn odd_orders_are_kept_on_6_12() {
    knows_odd_orders("6.12");
}

#[test]
#[ignore = "boots a guest: `make prove` runs it"]
fn odd_orders_are_kept_on_7_3() {
    knows_odd_orders("7.3");
}

#[test]
#[ignore = "boots kernels of one's own: `make prove SUBJECT=soak` runs it"]
fn kernels_that_check_themselves_go_through_all_of_it() {
    let kernels = std::env::var("DORMOUSE_KERNELS").unwrap_or_default();
    if kernels.is_empty() {
        println!("SKIPPED: DORMOUSE_KERNELS names no kernel with checks of itself");
    }
    for series in kernels.split_whitespace() {
        unwinds_when_ready(series);
        obeys_pm_async(series);
        knows_odd_orders(series);
        goes_without_threads(series);
        really_sleeps(series);
    }
}
