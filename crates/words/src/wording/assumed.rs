//! What is assumed of a machine, what is done to it and what that changes, as
//! sentences.

use super::number::plural;
use crate::text::page::{Ink, Page};
use crate::text::safe;
use dormouse_base::phase::Phase;
use dormouse_board::assumed::Assumed;
use dormouse_sleep::evidence::Verdict;

/// So many devices of a list are named.
const NAMED: usize = 4;

/// Devices of a lock are named up to here.
const NAMED_OF_LOCK: usize = 5;

/// `1 device`, `2 devices`.
fn devices(n: u32) -> String {
    plural(n as usize, "device")
}

/// `it is`, `they are`.
fn they_are(n: usize) -> &'static str {
    if n == 1 { "it is" } else { "they are" }
}

/// `a, b, c, d, 3 more`.
fn named(list: &[String], most: usize) -> Vec<String> {
    let mut names: Vec<String> = list.iter().take(most).cloned().collect();
    if list.len() > most {
        names.push(format!("{} more", list.len() - most));
    }
    names
}

/// A device, or the start of its phase.
fn or_start(name: &Option<String>) -> &str {
    name.as_deref().unwrap_or("the start of the phase")
}

/// All of them as sentences.
pub fn sentences(list: &[Assumed]) -> Vec<String> {
    list.iter().map(assumed).collect()
}

/// All of them as a section of a screen; empty for none.
pub fn section(list: &[Assumed]) -> String {
    if list.is_empty() {
        return String::new();
    }
    let mut page = Page::new(false);
    page.blank();
    page.line(&[(Ink::Plain, "Assumed")]);
    for line in sentences(list) {
        page.entry("- ", &safe(&line));
    }
    page.finish()
}

/// Whether nothing names the kernel: it is taken from times, or for the newest.
pub fn is_kernel_guessed(list: &[Assumed]) -> bool {
    list.iter().any(|a| matches!(a, Assumed::Rules { .. } | Assumed::NewestKernel(_)))
}

/// How the recording came out when it was simulated as it was.
pub fn self_check(verdict: Verdict) -> String {
    format!("Self-check: simulated as it was, the recording is {}.", verdict.name())
}

/// One as a sentence or two.
pub fn assumed(a: &Assumed) -> String {
    match a {
        Assumed::Times { invented: true } => "Every time of this board is assumed, not measured: \
                                              the machine is invented."
            .into(),
        Assumed::Times { invented: false } => {
            "Every time of this board is assumed, not measured: drawn by class. \
                           Record the machine for real ones (dormouse record)."
                .into()
        }
        Assumed::Cpus(n) => {
            format!("The number of CPUs is not recorded; {n} are assumed (--cpus N).")
        }
        Assumed::PmAsync(on) => format!(
            "pm_async is not recorded; it is taken as {}, because {} in a worker thread.",
            i32::from(*on),
            if *on { "callbacks ran" } else { "no callback began" }
        ),
        Assumed::FlagsOfThreads(n) => {
            format!("The async flag of {} is taken from the thread of its callbacks.", devices(*n))
        }
        Assumed::FlagsUnknown(n) => format!(
            "The async flag of {} is not known (no callback in a known thread); {} taken as \
             synchronous.",
            devices(*n),
            they_are(*n as usize)
        ),
        Assumed::Vanished(n) => format!(
            "{} {} during the cycle (prepared, never completed); no device waits for {} on the \
             way up.",
            devices(*n),
            if *n == 1 { "vanishes" } else { "vanish" },
            if *n == 1 { "it" } else { "them" }
        ),
        Assumed::Order => "The kernel's device order is not recorded; it is taken from what the \
                           main thread ran one after the other, with parents before their \
                           children."
            .into(),
        Assumed::Links => "The capture does not list device links; only parents are waited for \
                           (dormouse record lists them)."
            .into(),
        Assumed::DomainsUnknown(n) => format!(
            "{} {} devices; what switching {} takes was not recorded, and is part of the \
             devices' times (dormouse record --with domains records it).",
            plural(*n, "power domain"),
            if *n == 1 { "has" } else { "have" },
            if *n == 1 { "it" } else { "them" }
        ),
        Assumed::Orphans(n) => format!(
            "{} {} a parent without callbacks that the log does not list; {} taken as {}.",
            plural(*n, "device"),
            if *n == 1 { "names" } else { "name" },
            they_are(*n),
            if *n == 1 { "a root" } else { "roots" }
        ),
        Assumed::CallbacksSleep => {
            "Callbacks are taken to sleep: the log does not say how much of \
                                    their time is computing."
                .into()
        }
        Assumed::LeftOut { failed, of } => format!(
            "{failed} of {of} cycles {} left out: the suspend failed or was aborted.",
            if *failed == 1 { "is" } else { "are" }
        ),
        Assumed::OneCycle => "One cycle is typical of all; record more for a range.".into(),
        Assumed::Rules { fit, taken, .. } if fit.len() > 1 => format!(
            "The recording names no kernel, and its times fit the rules of {} alike; {taken} is \
             taken. A log from before the suspend, or uname -r, would tell.",
            fit.join(", ")
        ),
        Assumed::Rules { taken, title, .. } => format!(
            "The recording names no kernel; its times fit the rules of {taken} ({title}) best."
        ),
        Assumed::WentOn { devices, next, last } => format!(
            "{} asynchronous, because the main thread did not wait at {}: {}. It went on to {} \
             before {} had ended.",
            silent(devices),
            if devices.len() == 1 { "it" } else { "them" },
            named(devices, NAMED).join(", "),
            or_start(next),
            or_start(last)
        ),
        Assumed::Stood { devices, last } => format!(
            "{} synchronous, because the main thread stood still at {}: {}. It waited until {} had \
             ended.",
            silent(devices),
            if devices.len() == 1 { "it" } else { "them" },
            named(devices, NAMED).join(", "),
            or_start(last)
        ),
        Assumed::Subsystems(list) => {
            let list: Vec<String> = list.iter().map(|(bus, n)| format!("{n} {bus}")).collect();
            format!(
                "Of these silent devices nothing is seen; they are asynchronous because their \
                 subsystem makes them so: {}.",
                list.join(", ")
            )
        }
        Assumed::Waits { waiter, awaited, phase, late, gap, times } => format!(
            "{} waits for {}, by the times alone ({}: {late} later than anything else explains, \
             {gap} after that ended{}): taken as a device link that the recording does not list.",
            or_start(waiter),
            or_start(awaited),
            phase.title(),
            match times {
                0 | 1 => "; seen once, so it is weak".to_string(),
                n => format!("; so in {n} phases"),
            }
        ),
        Assumed::WaitsAlways { waiter, awaited, phase, seen: (n, of) } => format!(
            "{waiter} waits for {awaited} in {n} of {of} {} phases, by the times alone: taken as a \
             device link that the recording does not list.",
            phase.title()
        ),
        Assumed::WorksAfter { waiter, awaited, phase } => format!(
            "{waiter} takes longer beside {awaited} than alone, although it begins first, and \
             works only when that one has ended ({}): taken as a device link that the recording \
             does not list.",
            phase.title()
        ),
        Assumed::Lock { devices, phases } => {
            let mut names = named(devices, NAMED_OF_LOCK);
            let last = names.pop().unwrap_or_default();
            let phases: Vec<&str> = phases.iter().map(|p: &Phase| p.title()).collect();
            format!(
                "{} and {last} take longer beside one another than alone, and each works only when \
                 another has ended ({}): taken as a lock that the recording does not name. Running \
                 them at the same time saves nothing.",
                names.join(", "),
                phases.join(", ")
            )
        }
        Assumed::Printing(cost) => format!(
            "Every callback printed two lines of the log, which cost up to {cost} each time \
             (initcall_debug, pm_print_times, a slow console); dormouse record prints nothing."
        ),
        Assumed::NewestKernel(hint) => format!(
            "The input names no kernel; it is taken as 6.18 or later{}.",
            hint.map_or(String::new(), |h| format!(" ({h})"))
        ),
        Assumed::BeyondKnowledge => "Kernels after 7.3 are taken to schedule as 7.3 does.".into(),
        Assumed::Inert(0) => "No device without callbacks is listed: what the patches of \
             kernel/upstream gain with those is not in these figures. dormouse record lists them."
            .into(),
        Assumed::Inert(n) => format!(
            "Nothing tells whether {} without callbacks {} runtime power management: {} taken to \
             have none, so that the walk of kernel/upstream passes {}.",
            plural(*n, "device"),
            if *n == 1 { "has" } else { "have" },
            they_are(*n),
            if *n == 1 { "it" } else { "them" }
        ),
        Assumed::Unverified(name, kernels) => {
            format!("The rules of {name} ({kernels}) are not verified on a kernel.")
        }
        Assumed::Overhead(profile) => format!(
            "Kernel overhead: {}; dormouse calibrate measures it.",
            profile.trim_start_matches("default: ")
        ),
        Assumed::Said(text) => text.clone(),
    }
}

/// `1 silent device is`, `3 silent devices are`.
fn silent(list: &[String]) -> String {
    let verb = if list.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", plural(list.len(), "silent device"))
}
