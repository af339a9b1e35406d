//! A kernel that crashes while devices go down or come back.

use super::{found, lines};
use crate::Case;
use crate::attempt;
use crate::fact::Fact;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::Message;
use crate::stack;
use alloc::string::ToString;
use alloc::vec::Vec;

/// How kernels begin to tell of a crash: lib/bug.c, kernel/panic.c, the page faults of
/// arch/x86, arch/arm and arch/arm64, and asynchronous errors of arm64
/// (arch/arm64/kernel/traps.c:do_serror, `Bad mode` before 5.12).
const WORDS: [&str; 9] = [
    "BUG: unable to handle",
    "BUG: kernel NULL pointer",
    "Unable to handle kernel",
    "Kernel panic - not syncing",
    "Internal error: ",
    "general protection fault",
    "kernel BUG at ",
    "Bad mode in Error handler",
    "SError Interrupt on CPU",
];

fn is_crash(m: &Message) -> bool {
    m.trust.is_of_a_kernel() && WORDS.iter().any(|w| m.text.starts_with(w))
}

/// Functions that only tell of the crash, or lead to it: the first other one crashed.
fn is_of_the_report(f: &str) -> bool {
    let front = [
        "dump_",
        "show_",
        "__show",
        "panic",
        "__warn",
        "warn_",
        "die",
        "__die",
        "do_",
        "__do_",
        "el0",
        "el1",
        "bad_",
        "exc_",
        "asm_exc",
        "invalid_op",
        "page_fault",
        "oops_",
        "no_context",
        "__bad_area",
        "bad_area",
        "nmi_",
        "arm64_",
        "fault_",
        "report_bug",
        "ret_from",
        "kthread",
        "worker_thread",
        "process_one_work",
        "process_scheduled",
        "unwind",
        "handle_",
        "fixup_",
        "mem_abort",
    ];
    front.iter().any(|w| f.starts_with(w))
}

/// Where the sleep stands whose part `messages` are: nothing if none is under way there;
/// else whether devices come back.
fn way_back(messages: &[Message]) -> Option<bool> {
    let mut phases = false;
    for m in messages.iter().rev() {
        if m.says("suspend exit")
            || m.says("hibernation exit")
            || m.says("Restarting tasks")
            || m.says("OOM killer enabled")
            || m.text.starts_with("Linux version ")
        {
            break;
        }
        let back = m.has("resume of devices complete")
            || m.has("restore of devices complete")
            || m.has("Waking up from system sleep state")
            || m.says("Timekeeping suspended for ")
            || m.says("resume from suspend-to-idle")
            || m.says("Enabling non-boot CPUs");
        if back {
            return Some(true);
        }
        phases |= m.has("Suspending console(s)") || m.has("suspend of devices complete");
    }
    phases.then_some(false)
}

pub fn judge(case: &Case, out: &mut Vec<Finding>) {
    // What an area of its own says better.
    if out.iter().any(|f| matches!(f.id, "hib-crash" | "rpm-crash")) {
        return;
    }
    let known = |at: usize| case.attempts.iter().any(|a| (a.first..a.end).contains(&at));
    let mut from = 0;
    for (at, m) in case.messages.iter().enumerate().filter(|(_, m)| is_crash(m)) {
        // A panic ends what an earlier line of the same crash began.
        if at < from {
            continue;
        }
        from = at + 100;
        let before = attempt::parts(case).map(|p| p.0).filter(|first| *first < at).last();
        let first = case.attempts.iter().find(|a| (a.first..a.end).contains(&at)).map(|a| a.first);
        let Some(first) = first.or(before.filter(|_| !known(at))) else { continue };
        let Some(back) = way_back(&case.messages[first..at]) else { continue };
        let frames = stack::frames(&case.messages, at, 80);
        let function = frames.iter().find(|f| !is_of_the_report(f)).map(|f| f.to_string());
        out.push(found(
            ("phase-crash", Area::Phase, Level::Broken),
            Confidence::Certain,
            Fact::SleepCrash { function, back },
            lines([m]),
        ));
        return;
    }
}
