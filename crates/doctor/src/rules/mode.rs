//! Whether the machine really slept, and what woke it.
//!
//! Counters, in order of trust: residencies of the platform (intel_pmc_core,
//! amd_pmc, `low_power_idle_*`), what those drivers print, and how long time
//! stood still (kernel/time/timekeeping_debug.c).

use super::night::{counted, latency, package, turns};
use super::{abort, platform};
use crate::attempt::Attempt;
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Evidence, Finding, Level};
use crate::message::{Message, Trust, thousandths, timekeeping};
use crate::refusal;
use crate::stage;
use crate::value::Value;
use dormouse_base::say;
use dormouse_base::time::Ns;
use std::ops::Range;

/// Files that count time asleep in hardware, of the whole system.
const SYSTEM: [&str; 3] =
    ["slp_s0_residency_usec", "low_power_idle_system_residency_us", "last_hw_sleep"];

fn number(v: &Value) -> Option<u64> {
    v.count()
}

fn is_s2idle(a: &&Attempt) -> bool {
    a.mode == "s2idle"
}

/// Whether the text has any counter of sleep in hardware.
pub(crate) fn has_counters(case: &Case) -> bool {
    case.values.iter().any(|v| SYSTEM.contains(&v.name()))
        || !said_so(case).is_empty()
        || case.messages.has("in deepest state for")
        || case.messages.has("S0ix residency after S2idle")
        || platform::has_tables(case)
}

pub(crate) fn judge(case: &Case, out: &mut Vec<Finding>) {
    printed(case, out);
    unprepared(case, out);
    unasked(case, out);
    deepest(case, out);
    counted(case, out);
    selftest(case, out);
    turns(case, out);
}

/// So many words stand before what a driver says, in any log.
const HEAD: usize = 8;

const NOT_DEEPEST: &str = "Last suspend didn't reach deepest state";
const NOT_ENTERED: &str = "CPU did not enter ";

/// What the power management unit said of the sleep before
/// (drivers/platform/x86/amd/pmc/pmc.c:amd_pmc_validate_deepest,
/// drivers/platform/x86/intel/pmc/core.c:pmc_core_resume_common, 6.12): the platform
/// stayed awake, or already the processor did.
pub(crate) fn refused(m: &Message) -> Option<bool> {
    // Behind the driver's name and its device, and not in the midst of a document.
    let behind = |word: &str| {
        let (head, rest) = m.text.split_once(word)?;
        (head.split_whitespace().count() <= HEAD).then_some(rest)
    };
    if behind(NOT_DEEPEST).is_some() {
        return Some(false);
    }
    // `SLP_S0`, or the deepest state of the package: `PC10`, `Package C10`.
    let what = behind(NOT_ENTERED)?.split("!!!").next()?;
    m.has("!!!").then_some(what != "SLP_S0")
}

/// The messages that say so.
pub(crate) fn said_so(case: &Case) -> Vec<&Message> {
    let said = case.messages.having_any(&[NOT_DEEPEST, NOT_ENTERED]);
    let said = said.filter(|(at, m)| refused(m).is_some() && !is_of_test(case, *at));
    said.map(|(_, m)| m).collect()
}

/// So many lines a sleep has between where a test turns round and what is said of its depth.
const LINES: usize = 400;

/// Whether message `at` is of a test, which turns round before anything sleeps
/// (kernel/power/suspend.c:suspend_test).
fn is_of_test(case: &Case, at: usize) -> bool {
    let before = case.messages[..at].iter().rev().take(LINES);
    let mut own = before.take_while(|m| !stage::ends_sleep(m) && !m.says("suspend entry"));
    own.any(stage::waits_for_a_test)
}

fn printed(case: &Case, out: &mut Vec<Finding>) {
    let said = said_so(case);
    if said.is_empty() {
        return;
    }
    let kept = platform::kept(case);
    let named =
        kept.is_some() || latency::is_named(case) || case.messages.has("LPI: Constraint not met");
    let unknown = match &kept {
        Some(k) if k.of_parts => format!(" {}", k.words),
        _ if named => String::new(),
        _ => " No rule finds what kept it.".into(),
    };
    let (often, all) = share(case, &said);
    let (how, reached) = if often < all {
        let some = format!("In {often} of {all} sleeps the machine slept in name only");
        (some, "did not reach")
    } else {
        let each = format!("The machine slept in name only{}", say::and_times(often));
        (each, "never reached")
    };
    let processor = said.iter().all(|m| refused(m) == Some(true));
    let who = if processor {
        format!("the processor {reached} its deepest state, so the platform could not")
    } else {
        format!("its power management unit {reached} the deepest state")
    };
    let lengths = turns::lengths(case);
    let short = lengths.iter().map(|l| l.1).max().filter(|ms| *ms < SHORT);
    let short = short.map_or(String::new(), |ms| {
        format!(
            " The sleep was over after {}: that may be too short to enter it, so a longer one has to show whether it is.",
            say::span(Ns(ms.saturating_mul(1_000_000)))
        )
    });
    // What a counter proves is heard beside what somebody says.
    let proof = counted::proof(case);
    if let Some(proof) = proof.clone().filter(|_| !said.iter().any(|m| is_of_an_attempt(case, m))) {
        let f = Finding::new(("mode-name-only", Area::Mode, Level::Note), Confidence::Guess)
            .says(format!("Of another sleep the text says that the machine slept in name only: {who}. Of the sleep whose counter it shows the opposite is true."))
            .shown_by(lines(said))
            .shown_by(proof.evidence.iter().take(1).cloned());
        out.push(f);
        out.push(proof);
        return;
    }
    let (sure, but) = match &proof {
        Some(p) => (
            Confidence::Likely,
            format!(
                " A counter of the text says otherwise, of that sleep or of another: {}",
                p.sentence
            ),
        ),
        None => (Confidence::Certain, String::new()),
    };
    let f = name_only(sure)
        .says(format!("{how}: {who}.{unknown}{short}{but}"))
        .shown_by(proof.iter().flat_map(|p| p.evidence.iter().take(1).cloned()))
        .look(platform::CONSTRAINTS)
        .times(often)
        .shown_by(lines(said));
    let package = package::sentence(case).filter(|_| often >= all);
    out.push(match (kept, package) {
        (Some(k), _) if k.of_parts => f.shown_by(k.evidence),
        (Some(k), _) => f.because(k.words).shown_by(k.evidence),
        (None, Some((words, evidence))) => f.because(words).shown_by(evidence),
        (None, None) => f,
    });
}

/// Whether a message stands within an attempt; a text without one may be the end of one.
fn is_of_an_attempt(case: &Case, m: &Message) -> bool {
    let within = |a: &Attempt| case.of(a).iter().any(|o| o.line == m.line);
    case.attempts.is_empty() || case.attempts.iter().any(within)
}

/// A shorter sleep may be too short for the hardware's own state, in ms.
const SHORT: i64 = 10_000;

/// In how many sleeps a unit said so, and of how many. A person who counts lines writes
/// `42 x "…"`, and `uniq -c` its number alone.
fn share(case: &Case, said: &[&Message]) -> (usize, usize) {
    let count = |m: &Message| {
        let text = m.text.trim_start();
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
        let times = text[end..].trim_start();
        let counted = times.len() < text[end..].len() || times.starts_with(['x', '×']);
        text[..end].parse::<usize>().ok().filter(|n| counted && *n > 0)
    };
    let sum = |list: &mut dyn Iterator<Item = &Message>| -> usize {
        list.map(|m| count(m).unwrap_or(1)).fold(0, usize::saturating_add)
    };
    let often = sum(&mut said.iter().copied());
    let begun: Vec<&Message> = case.messages.all_having("suspend entry");
    let counted = begun.iter().any(|m| count(m).is_some());
    let most = begun.iter().filter_map(|m| count(m)).max();
    // Those of which such a unit can say it.
    let slept = |a: &&Attempt| {
        let s2idle = matches!(a.mode.as_str(), "s2idle" | "");
        s2idle && a.closed && !a.inside && !abort::ended_early(case, a)
    };
    let whole = case.attempts.iter().filter(slept).count();
    (often, if counted { most.unwrap_or(0) } else { whole })
}

/// What AMD's power management unit answers in a sleep when its driver asks for one
/// (drivers/platform/x86/amd/pmc/pmc.c:amd_pmc_send_cmd, 5.11 to 7.3): it was not told.
fn unasked(case: &Case, out: &mut Vec<Finding>) {
    const WORDS: [&str; 5] = [
        "SMU cmd unknown. err: 0x",
        "SMU cmd failed. err: 0x",
        "SMU not ready. err: 0x",
        "SMU response timed out",
        // amd_pmc_s2idle_prepare goes on all the same.
        ": suspend failed: -",
    ];
    if out.iter().any(|f| f.id == "mode-name-only") {
        return;
    }
    let kernel = |words| case.messages.having_any(words).filter(|(_, m)| m.trust.is_of_a_kernel());
    let own = |m: &Message| !m.has(WORDS[4]) || m.text.starts_with("amd_pmc ");
    let mut said: Vec<(usize, &Message)> = kernel(&WORDS[..]).filter(|(_, m)| own(m)).collect();
    if said.is_empty() {
        return;
    }
    // An attempt that a device ended was no sleep, not even in name.
    let refuses = |m: &Message| refusal::of_device(&m.text).is_some_and(|r| !r.is_up());
    let refused = kernel(&refusal::WORDS).filter(|(_, m)| refuses(m));
    let refused: Vec<usize> = refused.map(|(at, _)| at).collect();
    let slept = |s: &Range<usize>| {
        let next = refused.partition_point(|at| *at < s.start);
        refused.get(next).is_none_or(|at| *at >= s.end)
    };
    // A part whose beginning is not there reaches to the end: the first of those that slept has
    // what all of them have.
    let parts = case.parts.iter().map(|p| p.0..case.messages.len()).find(slept);
    let attempts = case.attempts.iter().map(|a| a.first..a.end).filter(slept);
    let spans: Vec<Range<usize>> = attempts.chain(parts).collect();
    said.retain(|(at, _)| spans.iter().any(|s| s.contains(at)));
    let said: Vec<&Message> = said.into_iter().map(|(_, m)| m).collect();
    let Some(first) = said.first() else { return };
    // What the driver says of the sleep tells once more of the command before it.
    let commands = said.iter().filter(|m| !m.has(WORDS[4])).count().max(1);
    // amd_pmc_send_cmd waits for an answer before and behind a command, and has two codes of
    // refusals.
    let silent = |m: &&Message| [WORDS[2], WORDS[3], "-110"].iter().any(|w| m.has(w));
    let did = match said.iter().all(silent) {
        true => "did not answer its driver",
        false => "refused what its driver asked of it",
    };
    out.push(
        name_only(Confidence::Likely)
            .says(format!(
                "The power management unit {did}{} in a sleep (\"{}\"): such a sleep may be one in name only.",
                say::and_times(commands),
                first.text.trim()
            ))
            .look("Update the firmware and the kernel: the driver and the unit must speak the same version. cat /sys/kernel/debug/amd_pmc/smu_fw_info after a sleep shows whether it was one.")
            .times(commands)
            .shown_by(lines(said)),
    );
}

/// A sleep in name only.
fn name_only(confidence: Confidence) -> Finding {
    Finding::new(("mode-name-only", Area::Mode, Level::Risk), confidence)
}

/// `in name only`, `only a part of the time`.
fn how_deep(partly: bool) -> &'static str {
    if partly { "only a part of the time" } else { "in name only" }
}

/// What the driver of an AMD GPU says of an s2idle sleep in which it may not go to its own
/// idle state (drivers/gpu/drm/amd/amdgpu/amdgpu_acpi.c:amdgpu_acpi_is_s0ix_active, 6.12).
fn unprepared(case: &Case, out: &mut Vec<Finding>) {
    let words = "Power consumption will be higher as ";
    let said: Vec<&Message> = case.messages.all_having(words);
    let Some(m) = said.iter().find(|m| m.trust.is_of_a_kernel()).or(said.first()) else { return };
    let f = name_only(Confidence::Likely);
    let f = if m.has("higher as BIOS") {
        f.says("The firmware is not set up for s2idle, says the GPU's driver: such a sleep is one in name only.")
            .look("Change the mode of sleep in the firmware's setup (Windows/S0ix or Linux/S3), or use deep.")
    } else {
        f.says("The kernel has no driver for the power management unit (CONFIG_AMD_PMC), says the GPU's driver: s2idle is a sleep in name only.")
            .look("Build amd_pmc, or load it: /sys/bus/platform/drivers/amd_pmc has a device then.")
    };
    out.push(f.shown_by(lines([*m])));
}

/// `Last suspend in deepest state for 758373565us`, against how long it slept.
fn deepest(case: &Case, out: &mut Vec<Finding>) {
    if !case.messages.has("in deepest state for") {
        return;
    }
    let lengths = turns::lengths(case);
    for a in &case.attempts {
        let line = case.messages[a.first].line;
        let ms = lengths.iter().find(|l| l.0 == line).map_or(0, |l| l.1);
        partial(case.of(a), Ns(ms.saturating_mul(1_000_000)), out);
    }
    // Excerpts begin inside a sleep.
    if case.attempts.is_empty() {
        partial(&case.messages, Ns::ZERO, out);
    }
}

/// So many lines of a sum are shown.
const SUMMANDS: usize = 8;

/// What of a sleep the hardware slept; where timekeeping does not say how long it was, of so
/// much `by_stamps`.
fn partial(messages: &[Message], by_stamps: Ns, out: &mut Vec<Finding>) {
    let Some((m, us)) = messages.iter().find_map(|m| {
        let rest = m.after("in deepest state for")?.trim_start();
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        Some((m, rest[..end].parse::<i64>().ok()?))
    }) else {
        return;
    };
    let stood: Ns = messages.iter().filter_map(timekeeping).sum();
    let sure = if stood > Ns::ZERO { Confidence::Certain } else { Confidence::Likely };
    let Ns(stood) = if stood > Ns::ZERO { stood } else { by_stamps };
    let deep = us.saturating_mul(1_000);
    if stood < 10_000_000_000 {
        return;
    }
    let share = i128::from(deep) * 100 / i128::from(stood);
    let mut evidence = lines([m]);
    // All that the sum is of.
    let all = messages.iter().filter(|m| timekeeping(m).is_some());
    evidence.extend(all.take(SUMMANDS).map(Evidence::from));
    let whole = |ns: i64| ns.saturating_add(500_000_000) / 1_000_000_000;
    let (deep_s, of_s) = (whole(deep), whole(stood));
    let (id, level) = match share {
        90.. => ("mode-hardware", Level::Note),
        5.. => ("mode-partial", Level::Risk),
        _ => ("mode-name-only", Level::Risk),
    };
    let f = Finding::new((id, Area::Mode, level), sure).shown_by(evidence);
    out.push(if share >= 90 {
        f.says(format!("The hardware slept: {deep_s} s of {of_s} s ({share} %)."))
    } else {
        f.says(format!(
            "The hardware slept {}: {deep_s} s of {of_s} s ({share} %).",
            how_deep(share >= 5)
        ))
        .look("Each further `Timekeeping suspended` line is a wake-up inside the sleep: find what interrupts it (the lines between name IRQs and GPEs).")
    });
}

/// Values of counters that stand in the text.
fn counted(case: &Case, out: &mut Vec<Finding>) {
    let mut zero: Vec<&Value> = Vec::new();
    let mut counts = false;
    for v in case.values.iter().filter(|v| SYSTEM.contains(&v.name())) {
        match number(v) {
            Some(0) => zero.push(v),
            Some(_) => counts = true,
            None => {}
        }
    }
    // After a deep sleep `last_hw_sleep` is 0 by rule: it counts s2idle alone.
    let deep_only = !case.attempts.is_empty() && !case.attempts.iter().any(|a| is_s2idle(&a));
    if zero.is_empty() || counts || deep_only {
        return;
    }
    // The processor's side counted, so somebody counts: the platform did not sleep.
    let processor = case.values.iter().find(|v| {
        v.name() == "low_power_idle_cpu_residency_us" && number(v).is_some_and(|n| n > 0)
    });
    let counts = |m: &Message| {
        m.after("Package C10 : ").is_some_and(|n| n.trim().parse::<u64>().is_ok_and(|n| n > 0))
    };
    let package = case.messages.having("Package C10 : ").map(|(_, m)| m).find(|m| counts(m));
    let shown = |v: &&Value| Evidence {
        line: v.line,
        time: None,
        text: format!("{}: {}", v.path, v.value),
        doubtful: false,
    };
    let mut evidence: Vec<Evidence> = zero.iter().map(shown).take(3).collect();
    if processor.is_some() || package.is_some() {
        evidence.extend(processor.iter().map(shown));
        evidence.extend(lines(package));
        let f = name_only(Confidence::Likely)
            .says("The machine sleeps in name only, or its counter does not work: the processor reaches its deepest package state, and the platform never counted any sleep.")
            .look("Read substate_residencies of pmc_core: parts that have it may leave slp_s0_residency_usec at 0. If that is 0 too, the fault is outside the processor: firmware, or a device that keeps its part on (ltr_show, slp_s0_debug_status).")
            .shown_by(evidence);
        out.push(f);
        return;
    }
    let logged = case.attempts.iter().any(|a| is_s2idle(&a));
    let told = if logged { None } else { tells_of_s2idle(case) };
    if logged || told.is_some() {
        evidence.extend(told.map(|m| Evidence { doubtful: true, ..Evidence::from(m) }));
        let rule = ("mode-not-counted", Area::Mode, Level::Risk);
        let f = Finding::new(rule, Confidence::Likely)
            .says("The platform counted no sleep in hardware. Either it slept in name only, or this counter does not work here: the text has no sleep that it counted.")
            .shown_by(evidence);
        // What the text answers itself nobody has to look up. Another finding may have told it.
        let told = out.iter().any(|f| f.id == "mode-name-only");
        out.push(match package::sentence(case) {
            Some(_) if told => f.look("See whether the counter ever moves (other sleeps, other kernels)."),
            Some((words, evidence)) => f
                .because(words)
                .look("See whether the counter ever moves (other sleeps, other kernels).")
                .shown_by(evidence),
            None => f.look("See whether the counter ever moves (other sleeps, other kernels), and whether package state C10 is reached."),
        });
    }
}

/// A sentence of a writer who sent a machine to s2idle, and had it back.
fn tells_of_s2idle(case: &Case) -> Option<&Message> {
    const MODES: [&str; 4] = ["s2idle", "suspend-to-idle", "s0ix", "modern standby"];
    const DONE: [&str; 11] = [
        "cycle complete",
        "completes",
        "never enters",
        "never reaches",
        "after resum",
        "after suspend",
        "after a suspend",
        "after waking",
        "wakes up",
        "woke up",
        "resumes",
    ];
    const UNLESS: [&str; 6] = [" if ", "should", "before", "until", "would", "?"];
    case.messages.iter().filter(|m| !m.trust.is_of_a_kernel()).find(|m| {
        let lower = m.text.to_ascii_lowercase();
        let has = |list: &[&str]| list.iter().any(|w| lower.contains(w));
        has(&MODES) && has(&DONE) && !has(&UNLESS)
    })
}

/// A test that was in S0ix for less of its time did not reach it, in thousandths of a per cent.
const REACHED: u64 = 50_000;

/// `S0ix residency after S2idle is: 92.12`, per cent of a measured interval
/// that holds entering and leaving too (S0ixSelftestTool).
fn selftest(case: &Case, out: &mut Vec<Finding>) {
    let read = |word: &'static str| {
        let lines = case.messages.having(word);
        lines.filter_map(move |(_, m)| Some((m, thousandths(m.after(word)?)?)))
    };
    let mut tests: Vec<(&Message, u64)> = read("S0ix residency after S2idle is: ").collect();
    // A line that is told again is no second test.
    tests.dedup_by_key(|t| t.1);
    let Some(&(m, s0ix)) = tests.iter().max_by_key(|t| t.1) else { return };
    // What its tests say of substates says more than a share of time in any of them.
    if s0ix >= REACHED && platform::reached_shallower(case) {
        return;
    }
    if s0ix >= REACHED && tests.iter().any(|t| t.1 < REACHED) {
        let list: Vec<String> = tests.iter().map(|t| platform::percent(t.1)).collect();
        let f = Finding::new(("mode-partial", Area::Mode, Level::Risk), Confidence::Certain)
            .says(format!("The self-tests of the text came out differently: in their order S0ix for {} of the test.", list.join(", then ")))
            .look("See what was changed between them: that makes the difference.")
            .shown_by(tests.iter().take(4).map(|t| Evidence { doubtful: t.0.trust == Trust::Quoted, ..Evidence::from(t.0) }));
        out.push(f);
        return;
    }
    let slept = s0ix >= REACHED;
    // The test prints what the package did just before.
    let package =
        read("Package C-state 10 residency after S2idle is: ").rfind(|p| p.0.line <= m.line);
    let mut evidence = lines([m]);
    evidence.extend(lines(package.map(|p| p.0)));
    // The test prints these lines on a terminal, without the prefix of a log.
    for (e, said) in evidence.iter_mut().zip([Some(m), package.map(|p| p.0)].into_iter().flatten())
    {
        e.doubtful = said.trust == Trust::Quoted;
    }
    let (id, level) = match s0ix {
        _ if slept => ("mode-hardware", Level::Note),
        0..5_000 => ("mode-name-only", Level::Risk),
        _ => ("mode-partial", Level::Risk),
    };
    let words = match package.map(|p| p.1) {
        Some(0) if !slept => " The processor's package never reached C10, so the cause is on the processor's side or a device that asks for low latency.".to_string(),
        Some(n) => format!(" The processor's package was in C10 for {}.", platform::percent(n)),
        None => String::new(),
    };
    let share = platform::percent(s0ix);
    let f = Finding::new((id, Area::Mode, level), Confidence::Certain).shown_by(evidence);
    out.push(if slept {
        f.says(format!("The machine reached S0ix, for {share} of the test.{words}"))
    } else {
        let how = how_deep(s0ix >= 5_000);
        f.says(format!("The machine slept {how}: S0ix for {share} of the test.{words}"))
            .look(platform::CONSTRAINTS)
    });
}

/// Many short turns of the s2idle loop in one sleep.
fn turns(case: &Case, out: &mut Vec<Finding>) {
    let spans: Vec<&[Message]> = if case.attempts.is_empty() && case.parts.len() < 2 {
        Vec::from([&case.messages[..]])
    } else {
        case.attempts.iter().map(|a| case.of(a)).chain(case.of_parts()).collect()
    };
    let turns = |s: &&[Message]| s.iter().filter(|m| timekeeping(m).is_some()).count();
    let Some(most) = spans.iter().max_by_key(|s| turns(s)).filter(|s| turns(s) >= 3) else {
        return;
    };
    let evidence = lines(most.iter().filter(|m| timekeeping(m).is_some()));
    out.push(interrupted(turns(most) - 1).shown_by(evidence));
}

/// One sleep was interrupted so often.
pub(crate) fn interrupted(times: usize) -> Finding {
    Finding::new(("mode-turns", Area::Mode, Level::Note), Confidence::Certain)
        .says(format!("Something interrupted one sleep {times} times without waking the machine."))
        .look("Each turn costs energy: compare /proc/interrupts before and after.")
        .times(times)
}
