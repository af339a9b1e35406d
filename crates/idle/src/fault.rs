//! What is wrong with idle states, as a table of them proves it: a state that is refused or
//! disabled, states that hardware does not follow into, none at all.

use crate::absent::Absent;
use crate::cpulist;
use crate::late::{Lost, Program, Test, mean_us, us};
use crate::limit::CpuLimit;
use crate::section::{self, Row, Section, of_snapshot};
use crate::snapshot::Snapshot;
use crate::turbostat::{KeptUp, Run, percent};
use dormouse_base::finding::{Area, Confidence, Evidence, Finding, Level};
use dormouse_base::say;

/// What tables prove, the worst first.
pub fn faults(
    snapshots: &[Snapshot],
    runs: &[Run],
    absent: &[Absent],
    limits: &[(u64, String)],
) -> Vec<Finding> {
    let mut out: Vec<Finding> = none(absent).into_iter().collect();
    // Of several machines in one table each row is a sum, of which nobody is the owner.
    for s in snapshots.iter().filter(|s| s.sum_of == 0) {
        for section in &of_snapshot(s) {
            out.extend(refused(section));
            out.extend(disabled(section));
            let none = snapshots.iter().all(|s| of_snapshot(s).iter().all(only_polls));
            out.extend(polls(section).filter(|_| s.whole && none));
        }
    }
    if let ([before, after], []) = (snapshots, runs) {
        out.extend(listed(before, after));
    }
    // Of two dumps what changed between them is the answer.
    if let ([one], []) = (snapshots, runs)
        && one.sum_of == 0
        && out.is_empty()
    {
        out.extend(missed(&of_snapshot(one)));
    }
    out.extend(runs.iter().filter_map(not_followed));
    out.extend(runs.iter().filter_map(contradicted));
    out.extend(runs.iter().filter_map(|r| up(r, limits)));
    out.extend(runs.iter().filter_map(shallow));
    out.sort_by_key(|f| f.level);
    // Two dumps of one machine say the same twice.
    let mut told: Vec<String> = Vec::new();
    out.retain(|f| {
        let new = !told.contains(&f.sentence);
        told.push(f.sentence.clone());
        new
    });
    out
}

/// CPUs that somebody's limit keeps out of states that their table has.
pub fn limited(limits: &[CpuLimit], snapshots: &[Snapshot]) -> Vec<Finding> {
    let known = snapshots
        .iter()
        .any(|s| s.cpus.values().flat_map(|states| states.values()).any(|s| s.latency.is_some()));
    let one = |l: &CpuLimit| {
        let forbidden = l.forbids(snapshots);
        // A limit that no state of the table exceeds forbids nothing.
        if known && forbidden.is_none() {
            return None;
        }
        let mut cpus: Vec<u32> = limits.iter().filter(|x| x.us == l.us).map(|x| x.cpu).collect();
        cpus.sort_unstable();
        cpus.dedup();
        let them = if cpus.len() == 1 { "it" } else { "them" };
        let what = match forbidden {
            Some((state, needs)) => format!(
                "{state}, which takes {needs} us, and what is deeper are forbidden to {them}, and \
                 states of the package that need them"
            ),
            None if l.us == 0 => format!("every idle state but polling is forbidden to {them}"),
            None => format!(
                "idle states with a longer exit latency are forbidden to {them}, and states of the \
                 package that need them; which those are, the text does not show"
            ),
        };
        let text = format!("cpu{}/power/pm_qos_resume_latency_us: {} us", l.cpu, l.us);
        Some(
            finding("idle-limited", Level::Risk)
                .says(format!(
                    "{} may take {} us to wake (pm_qos_resume_latency_us): {what}.",
                    cpulist::named(&cpus),
                    l.us
                ))
                .change(
                    format!(
                        "echo 0 > /sys/devices/system/cpu/cpu{}/power/pm_qos_resume_latency_us lifts it",
                        l.cpu
                    ),
                    format!("echo {} > the same file.", l.us),
                    format!(
                        "Whoever set it wanted {} to answer at once.",
                        if cpus.len() == 1 { "that CPU" } else { "those CPUs" }
                    ),
                )
                .shown_by([Evidence { line: l.line, text, ..Evidence::default() }]),
        )
    };
    limits.iter().find_map(one).into_iter().collect()
}

/// The rule of a wake-up that came far later than others.
pub const LATE: &str = "late-wakeup";

/// A wake-up of a test that came far later than the others.
pub fn late(tests: &[Test]) -> Option<Finding> {
    let far = tests.iter().find_map(|t| Some((t, t.outlier()?)));
    let (test, worst) = far.or_else(|| tests.iter().find_map(|t| Some((t, t.slow()?))))?;
    let who = match (test.program, test.bound) {
        (Program::Timerlat, _) | (_, true) => format!("on CPU {}", worst.number),
        _ => format!("in thread {}", worst.number),
    };
    let others = test.threads.iter().filter(|t| t.number != worst.number).map(|t| t.most).max();
    let others = match others {
        Some(n) => format!("; the worst of the others came {} us late", us(n)),
        None => String::new(),
    };
    let of = match test.wakeups() {
        Some(n) => format!(" of {}", say::grouped(n)),
        None => String::new(),
    };
    let text = format!("{} {}: max {} us", test.program.name(), worst.number, us(worst.most));
    let mut f = finding(LATE, Level::Note);
    let mut shown = vec![row(text)];
    f = match far.is_some() {
        true => f.says(format!(
            "The worst wake-up{of} came {} us late, {who}{others}. The mean is {} us.",
            us(worst.most),
            mean_us(test.mean())
        )),
        false => f.says(format!(
            "Wake-ups come late as a rule: {} us on average, {} us at worst, {who}.",
            mean_us(test.mean()),
            us(worst.most)
        )),
    };
    if test.coarse {
        // A timer without them ends with a tick (kernel/time/hrtimer.c:hrtimer_run_queues, 6.12).
        f = f.because(
            "cyclictest warns that there are no high resolution timers: a timer ends with the \
             next tick, up to a whole tick late",
        );
        shown.push(row("WARN: High resolution timers not available".into()));
    }
    Some(
        f.look(match worst.lost() {
                _ if test.coarse => "Start without highres=off, with CONFIG_HIGH_RES_TIMERS, and with a clock that can be set for one moment: grep -e resolution -e event_handler /proc/timer_list.",
                // Leaving an idle state lies before the interrupt.
                Some(Lost::Behind) => "Its own interrupt came in time, so no idle state made it late: another interrupt, another task, or the kernel with preemption off did. dormouse check --realtime asks the machine.",
                Some(Lost::Before) => "Its own interrupt was late: the exit of an idle state, a part of the kernel with interrupts off, or firmware did that. dormouse check --realtime asks the machine.",
                None => "The test does not say what made it late: the exit of an idle state, an interrupt, another task or firmware can. dormouse check --realtime asks the machine.",
            })
            .shown_by(shown),
    )
}

fn finding(id: &'static str, level: Level) -> Finding {
    Finding::new((id, Area::Idle, level), Confidence::Certain)
}

/// A row of a table as evidence: tables are read whole, so it has no line.
fn row(text: String) -> Evidence {
    Evidence { text, ..Evidence::default() }
}

fn none(absent: &[Absent]) -> Option<Finding> {
    let first = absent.first()?;
    let (whose, it, waits) = match first.cpu {
        Some(cpu) => (format!("CPU {cpu} has"), "it", "it only waits"),
        None => ("CPUs have".into(), "them", "they only wait"),
    };
    let governor = match &first.governor {
        Some(g) => format!(" The governor {g} has nothing to choose from."),
        None => String::new(),
    };
    let lines = absent.iter().take(3);
    let lines =
        lines.map(|a| Evidence { line: a.line, text: a.text.clone(), ..row(String::new()) });
    Some(
        finding("idle-none", Level::Risk)
            .says(format!(
                "{whose} no idle states: no cpuidle driver is there for {it}.{governor} Idle, \
                 {waits} for an interrupt."
            ))
            .look(
                "See which driver should offer states (of ACPI, PSCI, the device tree, or the \
                 processor's own) and why it is not built or finds none: dmesg | grep -i idle. In a \
                 virtual machine that is usual, and its host has them.",
            )
            .shown_by(lines),
    )
}

fn only_polls(s: &Section) -> bool {
    s.only_polls().is_some()
}

/// A CPU whose only state is to poll.
fn polls(s: &Section) -> Option<Finding> {
    let row = s.only_polls()?;
    let (has, stays) = match s.cpus.len() {
        1 => ("has", "it stays"),
        _ => ("have", "they stay"),
    };
    Some(
        finding("idle-polls", Level::Risk)
            .says(format!(
                "{} {has} no idle state but {}, which polls: idle, {stays} awake in a loop.",
                cpulist::named(&s.cpus),
                name(row)
            ))
            .look(
                "See cat /proc/cmdline for a limit (intel_idle.max_cstate, processor.max_cstate, powersave=off), and what the driver said of states that firmware offers: dmesg | \
                 grep -i idle.",
            )
            .shown_by([counted(row)]),
    )
}

/// Two dumps of which one lists states that the other does not: other settings, another kernel
/// or another machine.
pub fn listed(before: &Snapshot, after: &Snapshot) -> Option<Finding> {
    let words = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
        say::names(&names)
    };
    let [first, second] = before.only_in(after);
    let says = match (&first[..], &second[..]) {
        ([], []) => return None,
        ([], more) => format!("The second dump lists {}, the first does not.", words(more)),
        (more, []) => format!("The first dump lists {}, the second does not.", words(more)),
        (a, b) => {
            format!("The first dump lists {}, the second {} instead.", words(a), words(b))
        }
    };
    let all = |s: &Snapshot, of: &str| {
        let rows = of_snapshot(s).into_iter().flat_map(|s| s.states);
        let mut names: Vec<String> = rows.map(|r| name(&r)).collect();
        names.dedup();
        row(format!("{of}: {}", names.join(" ")))
    };
    Some(
        finding("idle-lists", Level::Note)
            .says(says)
            .look(
                "Where both are of one machine, the kernel, its command line or firmware's settings \
                 differ.",
            )
            .shown_by([all(before, "first"), all(after, "second")]),
    )
}

/// The name of a row, and the CPUs where a table has several kinds.
fn name(r: &Row) -> String {
    r.name.clone().unwrap_or_else(|| format!("state {}", r.state))
}

fn counted(r: &Row) -> Evidence {
    let count = |what: &str, n: Option<u64>| {
        n.map_or(String::new(), |n| format!(", {what} {}", say::grouped(n)))
    };
    let off = if r.disabled_on_cpus > 0 { ", disabled" } else { "" };
    row(format!(
        "state{} {}{off}{}{}",
        r.state,
        name(r),
        count("entered", r.sleeps),
        count("refused", r.rejected)
    ))
}

/// States that firmware or driver refuse more often than CPUs enter them.
fn refused(s: &Section) -> Vec<Finding> {
    let shut = |r: &&Row| r.rejected.unwrap_or(0) > r.sleeps.unwrap_or(0);
    let all: Vec<&Row> = s.states.iter().filter(shut).collect();
    let one = |r: &&Row| {
        finding("idle-refused", Level::Broken)
            .says(format!(
                "{} was refused {} times and entered {} times on {}: firmware or driver do not let \
                 CPUs into it.",
                name(r),
                r.rejected.unwrap_or(0),
                r.sleeps.unwrap_or(0),
                cpulist::named(&s.cpus)
            ))
            .shown_by([counted(r)])
    };
    all.iter().map(one).collect()
}

/// A state that was the wrong one for a third of its sleeps or more, by the kernel's own count
/// (drivers/cpuidle/cpuidle.c:cpuidle_enter_state, 6.12). That is the governor's guess gone wrong,
/// which costs energy or time, and no fault of the machine.
fn missed(sections: &[Section]) -> Option<Finding> {
    let ((i, j), count, of, words) = match section::finding(sections) {
        section::Finding::TooDeep { at, count, of, .. } => {
            (at, count, of, "too deep for {}: they ended before it paid")
        }
        section::Finding::TooShallow { at, count, of, .. } => {
            (at, count, of, "too shallow for {}: the next state would have paid")
        }
        _ => return None,
    };
    if of == 0 || count > of || u128::from(count) * 3 < u128::from(of) {
        return None;
    }
    let row = &sections[i].states[j];
    // Rounded, as `show` does.
    let share = (u128::from(count) * 200 + u128::from(of)) / (2 * u128::from(of));
    let how_many =
        format!("{} of its {} sleeps ({share} %)", say::grouped(count), say::grouped(of));
    let whose = match sections.len() {
        1 => String::new(),
        _ => format!(" of {}", cpulist::named(&sections[i].cpus)),
    };
    let way = match words.starts_with("too deep") {
        true => "too deep (above)",
        false => "too shallow (below)",
    };
    let mut shown = counted(row);
    shown.text += &format!(", {way} {}", say::grouped(count));
    Some(
        finding(MISSED, Level::Note)
            .says(format!("{}{whose} is {}.", name(row), words.replace("{}", &how_many)))
            .look(
                "The governor chooses so, since boot. Read the counters twice, some minutes apart, \
                 for what holds now: dormouse show --only idle.",
            )
            .shown_by([shown]),
    )
}

/// The rule of states that were often the wrong one.
pub const MISSED: &str = "idle-missed";

/// The deepest state, if CPUs may not enter it: each has a file of its own
/// (drivers/cpuidle/sysfs.c, states_usage[].disable, 6.12).
fn disabled(s: &Section) -> Option<Finding> {
    let deepest = &s.states[s.deepest()?];
    let whose = match deepest.disabled_on_cpus as usize {
        0 => return None,
        n if n >= s.cpus.len() => cpulist::named(&s.cpus),
        n => format!("{n} of {} CPUs", s.cpus.len()),
    };
    // Others that are disabled just so go with it.
    let off: Vec<&Row> = s
        .states
        .iter()
        .filter(|r| r.state > 0 && r.disabled_on_cpus == deepest.disabled_on_cpus)
        .collect();
    let left = s.states.iter().rfind(|r| r.disabled_on_cpus == 0 && r.state < deepest.state);
    let left = left
        .filter(|_| off.len() > 1)
        .map_or(String::new(), |r| format!(" What is left is {} at most.", name(r)));
    let (is, one) = match off.len() {
        0 | 1 => (", the deepest idle state, is", deepest.state.to_string()),
        _ => {
            let all: Vec<String> = off.iter().map(|r| r.state.to_string()).collect();
            (", the deepest idle states, are", format!("{{{}}}", all.join(",")))
        }
    };
    let names: Vec<String> = off.iter().map(|r| name(r)).collect();
    Some(
        finding("idle-disabled", Level::Risk)
            .says(format!(
                "{}{is} disabled on {whose}; by whom, the table does not say.{left}",
                say::names(&names)
            ))
            .change(
                format!(
                    "echo 0 | sudo tee /sys/devices/system/cpu/cpu*/cpuidle/state{one}/disable"
                ),
                "Write 1 there.",
                "Whoever disabled it may need short wake-ups: each takes up to the state's exit \
                 latency.",
            )
            .shown_by(off.into_iter().map(counted)),
    )
}

/// Thousandths of a per cent with the digits of turbostat.
fn hundredths(thousandths: i64) -> String {
    let n = thousandths.max(0).saturating_add(5) / 10;
    format!("{}.{:02} %", n / 100, n % 100)
}

/// Hardware that stays shallower than the kernel asks.
fn not_followed(r: &Run) -> Option<Finding> {
    let n = r.not_followed()?;
    let asked = format!("{}, asked for, {}", n.asked.0, hundredths(n.asked.1));
    let counted = n.counted.iter().map(|(c, s)| format!("{c} {}", hundredths(*s)));
    Some(
        finding("idle-not-followed", Level::Risk)
            .says(format!(
                "The kernel asks for {} for {} of the time, and hardware is that deep for {}.",
                n.asked.0,
                hundredths(n.asked.1),
                hundredths(n.deep())
            ))
            .look(
                "The governor does its part. A thread of the same core that is awake, demotion by \
                 the processor, or a limit of the firmware keep a core from where it was sent.",
            )
            .shown_by([row(asked)].into_iter().chain(counted.map(row))),
    )
}

/// Idle states by the kernel's count in which hardware counts CPUs at work.
pub fn contradicted(r: &Run) -> Option<Finding> {
    let [asked, busy] = r.contradicted().filter(|_| r.not_followed().is_none())?;
    Some(
        Finding::new(("idle-not-followed", Area::Idle, Level::Risk), Confidence::Likely)
            .says(format!(
                "The kernel has CPUs in idle states for {} of the time, and hardware counts them at \
                 work (C0) for {}: both cannot be. The states were not entered, or the counter runs \
                 on in them.",
                hundredths(asked),
                hundredths(busy)
            ))
            .look(
                "Look at a counter that is none of these: the power of the package, or residencies \
                 of its states. In a virtual machine the host decides which states its CPUs enter.",
            )
            .shown_by([row(format!("idle by the kernel {}, C0 {}", hundredths(asked), hundredths(busy)))]),
    )
}

/// An idle machine whose package slept in no state of its table.
fn up(r: &Run, limits: &[(u64, String)]) -> Option<Finding> {
    if !r.idle_and_up() || r.not_followed().is_some() {
        return None;
    }
    let idle = 100_000 - r.work().unwrap_or(0);
    let why = match r.kept_up() {
        KeptUp::Shallow(name) => format!(": no CPU was in a state deeper than {name}"),
        KeptUp::Odd(o) => {
            format!(": CPU {} alone was in no state deeper than {}", o.cpu, o.own.0)
        }
        KeptUp::Busy(cpu, share) => {
            format!(": CPU {cpu} was busy for {} of the time", percent(share))
        }
        KeptUp::Core(_) | KeptUp::Unknown => "; what kept it up the table does not say".into(),
    };
    let shares = r.package_states().into_iter().map(|c| format!("{c} 0.00"));
    let table = shares.collect::<Vec<_>>().join(", ");
    let mut f = finding("idle-package-up", Level::Risk)
        .says(format!(
            "The machine was idle for {} of the time, and its package reached no state that the \
             table has{why}.",
            percent(idle)
        ))
        .shown_by([row(table)]);
    f = match r.likely_limit(limits) {
        Some(((line, text), setting)) => f
            .because(format!("{setting}, which line {line} names, is the likely reason (a guess): it keeps CPUs in C1 or above"))
            .look(format!("Start once without {setting}, and measure again. Whoever set it wanted short wake-ups, or a machine that hangs in deep states."))
            .shown_by([Evidence { line: *line, text: text.clone(), ..Evidence::default() }]),
        None => f.look(
            "See cat /proc/cmdline for intel_idle.max_cstate, processor.max_cstate or idle=, the \
             firmware's settings of C states and of its package limit, and cpuidle/state*/disable.",
        ),
    };
    Some(f)
}

/// An idle machine whose package stands in a shallow state while its cores sleep deep.
fn shallow(r: &Run) -> Option<Finding> {
    let (name, share, deeper) = r.stuck_at()?;
    Some(
        finding("idle-package-shallow", Level::Risk)
            .says(format!(
                "The cores sleep deep, and the package goes no deeper than {name} ({}): it was in \
                 none of the {deeper} deeper states that the table has. What keeps it there the \
                 table does not say.",
                percent(share)
            ))
            .look(
                "A device that may not let its link sleep (lspci -vv: ASPM Disabled), a disk without \
                 link power management, a display that is on, or the firmware's limit of package \
                 states keep it there; ltr_show of pmc_core lists what devices ask for.",
            )
            .shown_by([row(format!("{name} {}", percent(share)))]),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::late::Thread;
    use crate::snapshot::{Counters, StateSeen};
    use std::collections::BTreeMap;

    /// A CPU with three states: how often each was entered, the deepest also refused, and
    /// whether it is disabled.
    fn cpu(entered: [u64; 3], rejected: u64, disabled: bool) -> Snapshot {
        let state = |(i, n): (u32, u64)| {
            let counters = Counters { usage: Some(n), time: Some(n), ..Counters::default() };
            (i, StateSeen { name: Some(format!("S{i}")), counters, ..StateSeen::default() })
        };
        let mut states: BTreeMap<u32, StateSeen> = (0..).zip(entered).map(state).collect();
        let deepest = states.get_mut(&2).expect("there");
        (deepest.counters.rejected, deepest.disabled) = (Some(rejected), Some(disabled));
        Snapshot { cpus: BTreeMap::from([(4, states)]), ..Snapshot::default() }
    }

    #[test]
    fn refused_and_disabled_states_are_findings() {
        let ids = |s| -> Vec<&str> { faults(&[s], &[], &[], &[]).iter().map(|f| f.id).collect() };
        assert!(ids(cpu([5, 5, 50], 3, false)).is_empty());
        assert_eq!(ids(cpu([5, 5, 50], 51, false)), ["idle-refused"]);
        assert_eq!(ids(cpu([5, 50, 0], 0, true)), ["idle-disabled"]);
        let found = &faults(&[cpu([5, 50, 0], 0, true)], &[], &[], &[])[0];
        assert!(found.sentence.starts_with("S2, the deepest idle state, is disabled on CPU 4"));
        assert!(found.advice[0].text.contains("state2/disable"), "{found:?}");
        // Every state that is off is named.
        let mut all = cpu([50, 0, 0], 0, true);
        for cpu in all.cpus.values_mut() {
            cpu.get_mut(&1).expect("there").disabled = Some(true);
        }
        let found = &faults(&[all], &[], &[], &[])[0];
        assert!(found.sentence.starts_with("S1 and S2, the deepest idle states, are disabled"));
        assert!(found.sentence.ends_with("What is left is S0 at most."), "{}", found.sentence);
        assert!(found.advice[0].text.contains("state{1,2}/disable"), "{found:?}");
        // Two dumps say it once.
        let twice = [cpu([5, 50, 0], 0, true), cpu([6, 60, 0], 0, true)];
        assert_eq!(faults(&twice, &[], &[], &[]).len(), 1);
    }

    #[test]
    fn a_state_that_was_mostly_wrong_is_a_note() {
        let of = |above: u64, twice: bool| {
            let mut s = cpu([5, 5, 300], 0, false);
            let deepest = s.cpus.get_mut(&4).and_then(|c| c.get_mut(&2)).expect("there");
            (deepest.counters.above, deepest.residency) = (Some(above), Some(700));
            deepest.counters.time = Some(3_000_000);
            let all = vec![s; if twice { 2 } else { 1 }];
            faults(&all, &[], &[], &[])
        };
        let found = of(150, false);
        assert_eq!((found[0].id, found[0].level), (MISSED, Level::Note));
        assert!(
            found[0].sentence.contains("S2 is too deep for 150 of its 300 sleeps (50 %)"),
            "{found:?}"
        );
        // Rounded as `show` rounds: 200 of 300 are 67 %.
        assert!(of(200, false)[0].sentence.contains("(67 %)"));
        assert!(of(90, false).is_empty());
        assert!(of(150, true).is_empty());
    }

    #[test]
    fn an_interrupt_that_came_in_time_acquits_idle_states() {
        let advice = |interrupt: Option<u64>| {
            let thread = |number: u32, most: u64, interrupt| Thread {
                number,
                count: Some(50_000),
                mean: 6_000,
                most,
                interrupt,
                ..Thread::default()
            };
            let threads = vec![thread(0, 1_200_000, interrupt), thread(1, 14_000, Some(5_000))];
            let test = Test { program: Program::Timerlat, threads, ..Test::default() };
            late(&[test]).expect("far later").advice[0].text.clone()
        };
        assert!(advice(Some(20_000)).contains("no idle state made it late"));
        assert!(advice(Some(1_100_000)).starts_with("Its own interrupt was late"));
        assert!(advice(None).starts_with("The test does not say"));
    }

    #[test]
    fn a_mean_that_is_late_does_not_hide_what_is_late() {
        let thread = |mean: u64, most: u64| Thread {
            priority: Some(70),
            count: Some(9_000),
            least: 90_000,
            mean,
            most,
            ..Thread::default()
        };
        let of = |mean, most, coarse| {
            late(&[Test { threads: vec![thread(mean, most)], coarse, ..Test::default() }])
        };
        let found = of(640_000, 2_900_000, true).expect("late");
        assert!(found.sentence.contains("640 us") && found.sentence.contains("2,900 us"));
        assert!(found.why.contains("high resolution timers"));
        let all = of(520_000, 910_000, false).expect("late");
        assert_eq!(
            all.sentence,
            "Wake-ups come late as a rule: 520 us on average, 910 us at worst, in thread 0."
        );
        assert!(of(40_000, 90_000, false).is_none());
        // As `show` writes it.
        let found = of(4_800, 1_650_000, false).expect("late");
        assert!(found.sentence.ends_with("The mean is 4.8 us."), "{}", found.sentence);
    }

    #[test]
    fn a_cpu_that_can_only_poll_is_a_risk_and_two_lists_are_told() {
        let dump = |names: &[&str]| {
            let counters = Counters { usage: Some(7), time: Some(900), ..Counters::default() };
            let state =
                |n: &&str| StateSeen { name: Some((*n).into()), counters, ..StateSeen::default() };
            let states = (0..).zip(names.iter().map(state)).collect();
            Snapshot { cpus: BTreeMap::from([(9, states)]), whole: true, ..Snapshot::default() }
        };
        let found = &faults(&[dump(&["snooze"])], &[], &[], &[])[0];
        assert_eq!((found.id, found.level), ("idle-polls", Level::Risk));
        let cut = Snapshot { whole: false, ..dump(&["POLL"]) };
        assert!(faults(&[cut], &[], &[], &[]).is_empty(), "there may be more");
        let two = faults(&[dump(&["snooze"]), dump(&["snooze", "nap", "deep"])], &[], &[], &[]);
        assert_eq!((two.len(), two[0].id), (1, "idle-lists"));
        assert_eq!(two[0].sentence, "The second dump lists nap and deep, the first does not.");
    }

    #[test]
    fn no_states_at_all_is_a_finding() {
        let absent = Absent { line: 3, text: "No idle states".into(), ..Absent::default() };
        let found = faults(&[], &[], &[absent], &[]);
        assert_eq!((found[0].id, found[0].evidence[0].line), ("idle-none", 3));
    }
}
