//! What is wrong with the sleep of a machine, by what its kernel said.

use crate::confirm::confirm;
use crate::failure::Nothing;
use crate::nothing::{damage_of, is_binary, what_is_there};
use crate::subject::{elsewhere, of_table};
use anyhow::Result;
use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Cycle, Outcome};
use dormouse_base::loss::{Losses, Severity};
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_doctor::depth::{self, Depth, Measured};
use dormouse_doctor::finding::{Area, Finding, Level, Unchecked};
use dormouse_doctor::gate::{self, Told};
use dormouse_doctor::now::{Waiting, Writer};
use dormouse_doctor::phases;
use dormouse_doctor::timer::{Clock, Timer};
use dormouse_doctor::trouble;
use dormouse_doctor::value::Value;
use dormouse_doctor::whole::WholeWay;
use dormouse_doctor::{Case, JudgedCase, Report, recorded};
use dormouse_machine::look::look;
use dormouse_machine::root::Root;
use dormouse_read::Given;
use dormouse_read::doctor::{Heard, read_bytes};
use dormouse_read::text::Text;
use dormouse_words::text::safe;
use std::sync::Arc;
use std::time::Duration;

/// One text, judged.
#[derive(Clone, Debug)]
pub struct Judged {
    /// As the user named it.
    pub name: String,
    /// Findings, and what was not checked.
    pub report: Report,
    /// What could not be read.
    pub losses: Losses,
    /// The text, where there is one.
    pub case: Option<Arc<JudgedCase>>,
    /// What a recorder measured around its cycles.
    pub measured: Vec<Measured>,
}

impl Judged {
    /// How many findings say that something is broken, and are no guesses: those fail a
    /// check.
    pub fn broken(&self) -> usize {
        let broken = |f: &&Finding| gate::counts(f, Level::Broken);
        self.report.findings.iter().filter(broken).count()
    }

    /// What gates judge.
    pub fn told(&self) -> Told<'_> {
        Told {
            name: &self.name,
            report: &self.report,
            case: self.case.as_deref().map(|c| &**c),
            measured: &self.measured,
        }
    }
}

/// Judges every text that is given.
///
/// # Errors
/// If an input cannot be read, or [`Nothing`] if none of them speaks of sleep.
pub fn doctor(given: &Given) -> Result<Vec<Judged>> {
    let inputs = given.paths();
    let mut why = String::new();
    let mut out = Vec::new();
    let mut spoke = false;
    let mut logged = false;
    let mut silent: Vec<String> = Vec::new();
    let inputs_are_binary = matches!(inputs, [one] if is_binary(given, one));
    for t in given.said()?.iter() {
        let mut report = t.case.report().clone();
        logged |= report.logged > 0;
        let values = t.case.values.iter().any(|v| !is_table(&v.path) && v.is_of_sleep());
        let speaks = !report.sleeps.is_empty()
            || !report.findings.is_empty()
            || values
            || t.case.night.speaks();
        let alone = report.sleeps.is_empty();
        let recorded = if alone { recordings(given, &t.name)? } else { Vec::new() };
        spoke |= speaks || !recorded.is_empty();
        if speaks {
            report.join(broken_beside(&report, recorded));
        } else if !recorded.is_empty() {
            out.extend(recorded);
            continue;
        }
        // Of a single text that is none the first sentence says so.
        for l in t.losses.list.iter().filter(|_| !inputs_are_binary) {
            why += &format!("\n  {}", safe(&l.advice));
        }
        if !speaks && report.logged == 0 {
            silent.push(safe(&t.name).into_owned());
            continue;
        }
        let (name, losses, case) = (t.name.clone(), t.losses.clone(), Some(Arc::clone(&t.case)));
        out.push(Judged { name, report, losses, case, measured: Vec::new() });
    }
    if !spoke && let Some(damaged) = damage_of(inputs, given.said()?.iter().map(|t| &t.losses)) {
        return Err(damaged.into());
    }
    if !spoke {
        let missing = if logged { "no kernel message about sleep" } else { "no kernel message" };
        let mut what = what_is_there(given, missing);
        let reported = given.said()?.iter().find_map(|t| trouble::first(&t.case));
        if let Some((says, line)) = reported {
            what += &format!(
                "; {says} in line {line}, and whether a sleep was under way there it does not show"
            );
        }
        let form = elsewhere(given);
        let table = if logged || form.is_some() { None } else { of_table(given) };
        why += &form.unwrap_or_default();
        why += &table.unwrap_or_else(|| {
            "\n  give a kernel log (dmesg > FILE, journalctl -k) or the mail that quotes it".into()
        });
        return Err(Nothing(what + &why).into());
    }
    // Beside others that speak, they are said to be there and are not judged.
    let more = silent.len().saturating_sub(3);
    silent.truncate(3);
    let names = silent.join(", ") + &if more > 0 { format!(" and {more} more") } else { "".into() };
    if let (Some(first), false) = (out.first_mut(), silent.is_empty()) {
        let count = (silent.len() + more) as u64;
        let advice = format!("not judged, because no kernel message is in it: {names}");
        first.losses.add("no_kernel_message", count, Severity::Warning, advice, None);
    }
    Ok(out)
}

/// What recorded cycles say that is broken, beside a text that speaks of something else, and not of
/// those devices.
fn broken_beside(report: &Report, recorded: Vec<Judged>) -> Vec<Finding> {
    let told = |f: &Finding| {
        let known = |d| report.findings.iter().any(|x| x.about.devices.contains(d));
        f.about.devices.iter().any(known)
    };
    let all = recorded.into_iter().flat_map(|j| j.report.findings);
    all.filter(|f| f.level == Level::Broken && !told(f)).collect()
}

/// A file that another subject reads as a table, and no value.
fn is_table(path: &str) -> bool {
    // Idle states are judged as the table that they are.
    path.contains("/cpuidle/")
        || ["pm_genpd_summary", "clk_summary", "regulator_summary", "devices_deferred"]
            .iter()
            .any(|name| path.ends_with(name))
}

/// What the cycles of a trace or a capture show: a file that speaks of sleep, and not in
/// words.
fn recordings(given: &Given, name: &str) -> Result<Vec<Judged>> {
    let alone = given.alone()?;
    let captures = alone.get(name).map(Vec::as_slice).unwrap_or_default();
    // A kernel that read an image did not sleep.
    let slept = captures.iter().filter(|c| c.cycles.iter().any(|x| !x.reads_image));
    let read = given.heard()?;
    // A log that says nothing of sleep in words was judged.
    let told = read.heard.iter().find(|h| h.name == name && !h.is_log);
    let judged = slept.map(|c| {
        let mut report = recording(c, told);
        confirm(c, &mut report.findings);
        Judged {
            name: name.to_string(),
            report,
            losses: c.losses.clone(),
            case: told.map(|h| Arc::clone(&h.case)),
            measured: told.map_or(Vec::new(), |h| measured_of(c, std::slice::from_ref(h))),
        }
    });
    Ok(judged.collect())
}

/// A recording, and what its file says besides its traces.
fn recording(c: &Capture, told: Option<&Heard>) -> Report {
    let mut report = recorded::judge(c);
    let Some(told) = told else { return report };
    report.join(phases::files_frozen(c, &told.case.values).into_iter().collect());
    let said = told.case.report();
    if said.logged > 0 {
        report.unchecked.retain(|u| *u != Unchecked::Messages);
    }
    let mut findings = said.findings.clone();
    // The log of all cycles was one text: its lines are in no file.
    for e in findings.iter_mut().flat_map(|f| &mut f.evidence) {
        e.line = 0;
    }
    report.join(findings);
    report.ways.clone_from(&said.ways);
    let slept = |x: &&Cycle| matches!(x.outcome, Outcome::Slept);
    report.slept = said.slept.max(c.cycles.iter().filter(slept).count());
    let measured = measured_of(c, std::slice::from_ref(told));
    let depths = depth::depths(&measured);
    if !depths.is_empty() && depths.iter().all(|d| d.1 != Depth::NotKnown) {
        report.unchecked.retain(|u| *u != Unchecked::Hardware);
    }
    report.join(depth::judge(&measured));
    report
}

/// What was measured around the cycles of `c`.
pub(crate) fn measured_of(c: &Capture, told: &[Heard]) -> Vec<Measured> {
    told.iter().flat_map(|h| &h.measured).map(|m| asleep(c, *m)).collect()
}

/// Whether a finding says how deep a machine slept, or why.
pub(crate) fn is_about_modes(f: &Finding) -> bool {
    f.area == Area::Mode || f.id == "clock-mono-runs"
}

/// The time asleep by the marks of the trace, where they are there.
fn asleep(c: &Capture, m: Measured) -> Measured {
    let number = format!("#{}", m.number);
    let cycle = c.cycles.iter().find(|x| c.names.get(x.source).ends_with(&number));
    let marks = cycle.map(|x| {
        let turns = x.phases.iter().filter(|p| p.phase == Phase::Asleep);
        turns.map(|p| p.duration()).sum::<Ns>()
    });
    let length = marks.filter(|t| *t > Ns::ZERO).unwrap_or(m.length);
    Measured { length, ..m }
}

/// What is wrong in each of `captures`, which were read together with what was `told` in
/// words.
pub(crate) fn findings(captures: &[Arc<Capture>], told: &[Heard]) -> Vec<Vec<Finding>> {
    // A log and a trace of one cycle became one, with the name of the trace.
    let alone = captures.iter().filter(|c| !c.cycles.is_empty()).count() == 1;
    let of = |c: &Capture| {
        if c.cycles.is_empty() {
            return Vec::new();
        }
        let mine = || told.iter().filter(|h| alone || names(c, h));
        if let Some(h) = mine().find(|h| !h.measured.is_empty()) {
            return recording(c, Some(h)).findings;
        }
        // What a log says in words is judged by its words.
        let logs = !told.is_empty()
            && c.cycles
                .iter()
                .all(|x| told.iter().any(|h| h.is_log && c.names.get(x.source) == h.name));
        let mut report = if logs { Report::default() } else { recorded::judge(c) };
        for h in mine() {
            report.join(h.case.report().findings.clone());
        }
        report.findings
    };
    let confirmed = |c: &Arc<Capture>| {
        let mut found = of(c);
        confirm(c, &mut found);
        found
    };
    captures.iter().map(confirmed).collect()
}

/// Whether a capture has a cycle of this input.
fn names(c: &Capture, h: &Heard) -> bool {
    c.cycles.iter().any(|x| {
        let source = c.names.get(x.source);
        source.strip_prefix(&h.name).is_some_and(|r| r.is_empty() || r.starts_with('#'))
    })
}

/// The sleeps as a whole that texts tell of, for each capture: of those that have one cycle's
/// source as their name.
pub(crate) fn ways(captures: &[Arc<Capture>], told: &[Heard]) -> Vec<Vec<WholeWay>> {
    let alone = captures.iter().filter(|c| !c.cycles.is_empty()).count() == 1;
    let of = |c: &Arc<Capture>| {
        let mine = told.iter().filter(|h| !c.cycles.is_empty() && (alone || names(c, h)));
        mine.flat_map(|h| h.case.report().ways.clone()).collect()
    };
    captures.iter().map(of).collect()
}

/// Looks at the tasks of a running machine, and how far apart: two seconds in all.
const LOOKS: (u32, Duration) = (20, Duration::from_millis(100));

/// What a machine says now.
pub(crate) struct Looked {
    /// Its files and the log of its kernel.
    pub text: Text<Case>,
    /// That log, if it may be read.
    pub log: Option<Vec<u8>>,
    /// Processes whose timers are hidden from this user.
    pub hidden: usize,
}

/// Looks at the machine below `root`.
pub(crate) fn looked(root: &Root) -> Looked {
    let seen = look(root, LOOKS.0, LOOKS.1);
    let log = seen.log.as_deref().unwrap_or_default();
    let mut text = read_bytes("this machine", log);
    let case = &mut text.case;
    let files = seen.files.into_iter();
    case.values.extend(files.map(|(path, value)| Value { line: 0, path, value }));
    let timers = seen.timers.into_iter().filter_map(|t| {
        let clock = Clock::find(t.clock)?;
        Some(Timer { pid: t.pid, name: t.name, clock, due: Ns(t.due_ns) })
    });
    case.timers.extend(timers);
    let writers = seen.writers.into_iter();
    case.disks.extend(writers.map(|w| Writer {
        name: w.name,
        number: w.number,
        left: w.left,
        rate: w.rate,
        removable: w.removable,
    }));
    let spinners = seen.spinners.into_iter();
    case.spinning.extend(spinners.map(|w| Waiting {
        pid: w.pid,
        name: w.name,
        looks: (w.looks, seen.looks),
        function: None,
    }));
    let waiters = seen.waiters.into_iter();
    case.waiting.extend(waiters.map(|w| Waiting {
        pid: w.pid,
        name: w.name,
        looks: (w.looks, seen.looks),
        function: w.function,
    }));
    Looked { text, log: seen.log, hidden: seen.hidden }
}

/// Judges the machine below `root`, by its files and its kernel's log. Writes
/// nothing, and needs no rights; what root would add is listed as not checked.
pub fn live(root: &Root) -> Judged {
    let Looked { text, log, .. } = looked(root);
    let case = JudgedCase::new(text.case);
    let mut report = case.report().clone();
    // What the kernel still has of its log begins anywhere: lines are not counted.
    for e in report.findings.iter_mut().flat_map(|f| &mut f.evidence) {
        e.line = 0;
    }
    // A machine that runs shows its own counters and devices; only its log tells of
    // callbacks.
    report.unchecked.retain(|u| *u == Unchecked::Callbacks);
    if log.is_none() {
        let is_there = root.exists("/dev/kmsg");
        report.unchecked.push(if is_there { Unchecked::Log } else { Unchecked::NoLog });
    }
    // Of a machine without any state a finding tells.
    let none = |v: &Value| v.path == "/sys/power/state" && v.value.is_empty();
    if !case.values.iter().any(|v| v.path == "/sys/power/mem_sleep" || none(v)) {
        report.unchecked.push(Unchecked::NoSleep);
    }
    if !root.exists("/sys/kernel/debug/wakeup_sources") {
        let open = root.may_list("/sys/kernel/debug");
        report.unchecked.push(if open { Unchecked::NoDebugfs } else { Unchecked::Debugfs });
    }
    let (case, measured) = (Some(Arc::new(case)), Vec::new());
    Judged { name: text.name, report, losses: text.losses, case, measured }
}
