//! What is wrong with the sleep of a machine, by what its kernel said.

use crate::failure::{Nothing, is_binary, what_is_there};
use anyhow::Result;
use dormouse_doctor::finding::Unchecked;
use dormouse_doctor::now::Waiting;
use dormouse_doctor::value::Value;
use dormouse_doctor::{Report, judge, recorded};
use dormouse_model::loss::Losses;
use dormouse_read::container::Source;
use dormouse_read::doctor::{for_each, read_bytes};
use dormouse_read::{Input, Options, read_source};
use dormouse_record::look::look;
use dormouse_record::root::Root;
use dormouse_write::text::safe;
use std::path::PathBuf;
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
}

/// Judges every text behind `inputs`.
///
/// # Errors
/// If an input cannot be read, or [`Nothing`] if none of them speaks of sleep.
pub fn doctor(inputs: &[PathBuf]) -> Result<Vec<Judged>> {
    let list: Vec<Input> = inputs.iter().map(Input::from_arg).collect();
    let mut why = String::new();
    let mut out = Vec::new();
    let mut spoke = false;
    let mut logged = false;
    let inputs_are_binary = matches!(inputs, [one] if is_binary(one));
    for_each(&list, &Options::default(), &mut |t, source| {
        let report = judge(&t.case);
        logged |= report.logged > 0;
        let speaks =
            !report.sleeps.is_empty() || !report.findings.is_empty() || !t.case.values.is_empty();
        let recorded = if speaks { Vec::new() } else { recordings(source) };
        spoke |= speaks || !recorded.is_empty();
        if !recorded.is_empty() {
            out.extend(recorded);
            return;
        }
        // Of a single text that is none the first sentence says so.
        for l in t.losses.list.iter().filter(|_| !inputs_are_binary) {
            why += &format!("\n  {}", safe(&l.advice));
        }
        out.push(Judged { name: t.name, report, losses: t.losses });
    })?;
    if !spoke {
        let missing = if logged { "no kernel message about sleep" } else { "no kernel message" };
        let what = what_is_there(inputs, missing);
        if crate::domains::speaks(inputs) {
            why += "\n  it speaks of power domains or probing: dormouse domains show";
        }
        why += "\n  give a kernel log (dmesg > FILE, journalctl -k) or the mail that quotes it";
        return Err(Nothing(what + &why).into());
    }
    Ok(out)
}

/// What the cycles of a trace or a capture show: a file that speaks of sleep, and not in
/// words.
fn recordings(source: Source<'_>) -> Vec<Judged> {
    let name = source.name.to_string();
    let slept = read_source(source).captures.into_iter().filter(|c| !c.cycles.is_empty());
    let judged = slept.map(|mut c| Judged {
        name: name.clone(),
        report: recorded::judge(&c),
        losses: core::mem::take(&mut c.losses),
    });
    judged.collect()
}

/// Looks at the tasks of a running machine, and how far apart: two seconds in all.
const LOOKS: (u32, Duration) = (20, Duration::from_millis(100));

/// Judges the machine below `root`, by its files and its kernel's log. Writes
/// nothing, and needs no rights; what root would add is listed as not checked.
pub fn live(root: &Root) -> Judged {
    let seen = look(root, LOOKS.0, LOOKS.1);
    let log = seen.log.as_deref().unwrap_or_default();
    let text = read_bytes("this machine", log);
    let mut case = text.case;
    let files = seen.files.into_iter();
    case.values.extend(files.map(|(path, value)| Value { line: 0, path, value }));
    let waiters = seen.waiters.into_iter();
    case.waiting.extend(waiters.map(|w| Waiting {
        pid: w.pid,
        name: w.name,
        looks: (w.looks, seen.looks),
        function: w.function,
    }));
    let mut report = judge(&case);
    // What the kernel still has of its log begins anywhere: lines are not counted.
    for e in report.findings.iter_mut().flat_map(|f| &mut f.evidence) {
        e.line = 0;
    }
    // A machine that runs shows its own counters and devices; only its log tells of
    // callbacks.
    report.unchecked.retain(|u| *u == Unchecked::Callbacks);
    if seen.log.is_none() {
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
    Judged { name: text.name, report, losses: text.losses }
}
