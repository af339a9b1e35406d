//! Real kernels against worked cases: every start and end of a callback must
//! be within 2 ms of the table of the kernel's generation (durations are 20 to
//! 320 ms). Boots guests, so the tests are ignored by default:
//! `make prove SUBJECT=cases`, or `cargo test -p dormouse-lab cases:: -- --ignored`.

use dormouse_base::cycle::{Mode, Outcome as Ended};
use dormouse_base::phase::Phase;
use dormouse_lab::capture::{Wish, captures};
use dormouse_lab::cases::{Cases, Pair, Verdict, board, fails, job};
use dormouse_lab::kernels::{self, Kernel};
use dormouse_lab::plan::Sleep;
use dormouse_lab::qemu::{Accel, Arch, Machine};
use dormouse_lab::run::{Outcome, run};
use dormouse_sleep::simulate::kernel::rules;
use std::time::Duration;

const TOLERANCE_MS: f64 = 2.0;
const CASES: &[u8] = include_bytes!("../../sleep/tests/fixtures/dpm-cases.json");

/// The newest series that is known to pass. A newer one is tried and reported,
/// but does not fail the build: the archive decides when it appears.
const LAST_KNOWN_GOOD: &str = "7.3";

/// Long, because a busy machine may run the guest ten times slower.
const LIMIT: Duration = Duration::from_secs(900);

/// What a kernel did: case by number, phases, pm_async, outcome.
type Done = Vec<(usize, Pair, bool, Outcome)>;

fn kernel(arch: Arch, series: &str) -> Kernel {
    kernels::get(arch, series).unwrap_or_else(|e| panic!("{e}"))
}

/// Runs every case with callbacks in suspend and resume under both values of
/// pm_async, and every case that does not fail also with them in late and
/// early, and in noirq, all in one boot.
fn run_cases(kernel: &Kernel, cases: &Cases) -> Done {
    // 6.1 comes up under instruction counting with one CPU only.
    let cpus = if kernel.series == "6.1" { 1 } else { 4 };
    let machine = Machine::new(kernel.arch, Accel::Icount, cpus, &kernel.release);
    let mut wanted = Vec::new();
    for (i, case) in cases.cases.iter().enumerate() {
        for (pair, pm_async) in [
            (Pair::Normal, true),
            (Pair::Normal, false),
            (Pair::LateEarly, true),
            (Pair::Noirq, true),
        ] {
            if pair == Pair::Normal || !fails(case) {
                wanted.push((i, pair, pm_async, board(case, pair)));
            }
        }
    }
    let jobs: Vec<_> = wanted
        .iter()
        .map(|(i, pair, pm_async, board)| job(&cases.cases[*i], board, *pair, *pm_async))
        .collect();
    let boot = run(kernel, &machine, &jobs, LIMIT).unwrap_or_else(|e| panic!("{e}"));
    println!("{}: {} boards in {:.1} s", kernel.release, jobs.len(), boot.took.as_secs_f64());
    wanted.into_iter().zip(boot.outcomes).map(|((i, p, a, _), o)| (i, p, a, o)).collect()
}

/// The name of the rules that the kernel `release` follows.
fn generation(release: &str, pm_async: bool) -> &'static str {
    let policy = rules(release).unwrap_or_else(|| panic!("{release} is no kernel"));
    if pm_async { policy.name } else { "G0" }
}

/// Compares with the tables of `generation` and prints a line for each pair of
/// phases. Returns how many callbacks were wrong.
fn wrong(cases: &Cases, done: &Done, generation: impl Fn(bool) -> &'static str) -> usize {
    let mut total = 0;
    for pair in [Pair::Normal, Pair::LateEarly, Pair::Noirq] {
        let (mut compared, mut worst, mut wrong) = (0, 0.0_f64, 0);
        for (i, _, pm_async, outcome) in done.iter().filter(|d| d.1 == pair) {
            let case = &cases.cases[*i];
            let v: Verdict = cases
                .compare(case, generation(*pm_async), pair, outcome, TOLERANCE_MS)
                .unwrap_or_else(|e| panic!("{e}"));
            compared += v.compared;
            worst = worst.max(v.worst);
            wrong += v.mismatches.len();
            for m in v.mismatches {
                println!("  {}: {m:?}", outcome.name);
            }
        }
        println!("{pair:?}: {compared} callbacks, {wrong} wrong, others at most {worst:.3} ms off");
        assert!(compared > 80, "{pair:?} compared only {compared} callbacks");
        total += wrong;
    }
    total
}

fn check(arch: Arch, series: &str) -> usize {
    let cases = Cases::parse(CASES).unwrap();
    let kernel = kernel(arch, series);
    let done = run_cases(&kernel, &cases);
    wrong(&cases, &done, |pm_async| generation(&kernel.release, pm_async))
}

#[test]
#[ignore = "boots a guest: `make prove` runs it"]
fn linux_6_1_does_what_the_table_says() {
    assert_eq!(check(Arch::Amd64, "6.1"), 0);
}

/// Also the negative control: were the comparison blind, 6.12 would agree with
/// the table of 6.18 and later as well.
#[test]
#[ignore = "boots a guest: `make test` runs it"]
fn linux_6_12_does_what_the_table_says_and_not_what_that_of_7_x_says() {
    let cases = Cases::parse(CASES).unwrap();
    let kernel = kernel(Arch::Amd64, "6.12");
    let done = run_cases(&kernel, &cases);
    assert_eq!(wrong(&cases, &done, |a| generation(&kernel.release, a)), 0);
    println!("6.12 beside the table of 7.x, which must not agree:");
    let other = wrong(&cases, &done, |a| if a { "G4" } else { "G0" });
    assert!(other >= 10, "only {other} callbacks differ from the table of another generation");
}

#[test]
#[ignore = "boots a guest: `make prove` runs it"]
fn the_last_known_good_series_does_what_the_table_says() {
    assert_eq!(check(Arch::Amd64, LAST_KNOWN_GOOD), 0);
}

/// The walk is the same code on every architecture. `make prove SUBJECT=arm64`.
#[test]
#[ignore = "boots an arm64 guest, which takes a cross compiler: `make prove SUBJECT=arm64` runs it"]
fn arm64_linux_6_12_does_what_the_table_says() {
    assert_eq!(check(Arch::Arm64, "6.12"), 0);
}

/// Suspend to memory, which the firmware of this machine (`virt`) lacks and a module of
/// ours has (kernel/deep): all phases, CPUs too, and a power domain on the way.
#[test]
#[ignore = "boots arm64 guests, which takes a cross compiler: `make prove SUBJECT=arm64` runs it"]
fn arm64_sleeps_deep() {
    let text = "board 1\ncpus 2\ndomain gpu on=8ms off=3ms\ndevice soc\n\
        device a parent=soc domain=gpu async suspend=20ms noirq=1ms resume_noirq=1ms resume=30ms\n";
    let board = dormouse_board::parse(text).unwrap();
    for series in ["6.12", LAST_KNOWN_GOOD] {
        let kernel = kernel(Arch::Arm64, series);
        let machine = Machine::new(Arch::Arm64, Accel::Icount, 2, &kernel.release);
        let wish = Wish {
            board: Some(&board),
            waits: &[],
            sleep: Sleep::Deep,
            pm_async: true,
            cycles: 2,
            detail: Vec::new(),
            samples: 1,
            limit: LIMIT,
        };
        let made = captures(&kernel, &machine, &[wish], 1).unwrap_or_else(|e| panic!("{e}"));
        let bytes = dormouse_machine::file::encode(&made.recordings[0], Vec::new()).unwrap();
        let read = dormouse_read::read_bytes("deep", &bytes, &Default::default()).unwrap();
        let cycles = &read.captures[0].cycles;
        assert_eq!(cycles.len(), 2, "{series}");
        for c in cycles {
            assert_eq!((c.mode, c.outcome), (Mode::Deep, Ended::Slept), "{series}");
            assert!(c.phase(Phase::CpuOff).is_some() && c.phase(Phase::CpuOn).is_some());
            let ms = |p| c.phase(p).unwrap().duration().0 / 1_000_000;
            let got = [Phase::Suspend, Phase::Noirq, Phase::ResumeNoirq, Phase::Resume].map(ms);
            println!("{series}: suspend, noirq, resume noirq, resume: {got:?} ms");
            for (got, least) in got.into_iter().zip([20, 4, 9, 30]) {
                assert!((least..least + 3).contains(&got), "{series}: {got}, not {least} ms");
            }
        }
    }
}

/// Reported, never an error: the archive may bring a kernel with new rules.
#[test]
#[ignore = "boots a guest: `make prove` runs it"]
fn a_newer_series_is_reported() {
    let offers = match kernels::fetch::offers(Arch::Amd64) {
        Ok(offers) => offers,
        Err(e) => {
            println!("SKIPPED: the archive does not say which series there are: {e}");
            return;
        }
    };
    let number = |s: &str| {
        let (a, b) = s.split_once('.')?;
        Some((a.parse::<u32>().ok()?, b.parse::<u32>().ok()?))
    };
    let newer = offers.iter().rfind(|o| o.headers && number(&o.series) > number(LAST_KNOWN_GOOD));
    let Some(newer) = newer else {
        println!("SKIPPED: the archive has no series newer than {LAST_KNOWN_GOOD} with headers");
        return;
    };
    let series = newer.series.clone();
    match std::panic::catch_unwind(|| check(Arch::Amd64, &series)) {
        Ok(0) => println!("{series} agrees: LAST_KNOWN_GOOD can be raised"),
        Ok(n) => println!("REPORT: {series} differs in {n} callbacks"),
        Err(_) => println!("REPORT: {series} could not be run"),
    }
}
