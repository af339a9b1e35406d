//! Warnings: what is wrong, what it spoils, and the command that cures it.

use super::device::name;
use super::number::{grouped, have, plural};
use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Began, Cycle};
use dormouse_base::loss::{Loss, Losses, Severity};
use dormouse_base::say::capital;

/// Whether the figures of the first lines rest on what was lost.
pub(crate) fn touches_the_answer(l: &Loss) -> bool {
    l.severity == Severity::Error
        || matches!(
            l.kind,
            "no_timestamps"
                | "times_missing"
                | "lines_left_out"
                | "log_hole"
                | "dropped_messages"
                | "lost_events"
                | "recorder_lost_events"
                | "recorder_lost_log_records"
                | "damaged_input"
                | "capture_truncated"
                | "tracedat_truncated"
                | "perfetto_cut"
                | "perfetto_overrun"
                | "tracedat_overrun"
                | "clock_without_unit"
                | "sleep_inferred"
                | "sleep_unmarked"
                | "pm_trace"
                | "text_between"
        )
}

/// Whether order and gaps are guessed, so that nobody knows what an absence saves.
pub fn guessed(losses: &Losses) -> bool {
    losses.list.iter().any(|l| l.count > 0 && is_of_time(l.kind))
}

/// Whether a loss is one of time stamps.
pub(crate) fn is_of_time(kind: &str) -> bool {
    matches!(kind, "no_timestamps" | "times_missing")
}

/// One warning as sentences. `captures` are those that it may speak of, `cycle` the
/// one cycle that it speaks of.
pub fn warning(l: &Loss, captures: &[&Capture], cycle: Option<&Cycle>) -> String {
    let n = l.count as usize;
    // Its own recorder made the recording: advice on how to record is no help.
    let recorded = captures.iter().all(|c| is_recording(c));
    let cycles: usize = captures.iter().map(|c| c.cycles.len()).sum();
    let at = l.first_at.map_or(String::new(), |at| format!(" (first at line {at})"));
    let cure = |text: &str| if recorded { String::new() } else { format!(" {text}") };
    match l.kind {
        "callback_without_end" => {
            let first = captures.iter().find_map(|c| first_open(c, cycle));
            let first = first.map_or(String::new(), |f| format!(" (first: {f})"));
            let (they, take) = if n == 1 { ("it", "it takes") } else { ("they", "they take") };
            format!(
                "{} no end{first}. How long {they} took is not known, and {take} no part in the \
                 bottleneck.",
                have(n, "callback")
            )
        }
        "end_without_start" => format!(
            "{} no start{at}.{}",
            have(n, "callback"),
            cure("Save the log from before the suspend.")
        ),
        "time_backwards" => format!(
            "{} out of order; starts near them may be wrong, totals are not.{}",
            if n == 1 { "1 event is".into() } else { format!("{} events are", grouped(n as u64)) },
            cure("Record with the boot clock: echo boot > /sys/kernel/tracing/trace_clock"),
        ),
        "no_timestamps" if dated(captures) => format!(
            "The lines have the time of whoever kept the log, in whole seconds: gaps are left \
             out. {}",
            stamps(captures)
        ),
        "no_timestamps" => {
            format!("No time stamps: order is guessed, gaps are left out. {}", stamps(captures))
        }
        "times_missing" if dated(captures) => format!(
            "{} the time of whoever kept the log{at}, not the kernel's: order is guessed there, \
             gaps are left out. {}",
            if n == 1 { "1 line has".into() } else { format!("{} lines have", grouped(n as u64)) },
            stamps(captures)
        ),
        "times_missing" => format!(
            "{} no time stamp{at}: order is guessed there, gaps are left out. {}",
            have(n, "line"),
            stamps(captures)
        ),
        "dropped_messages" => format!(
            "{} dropped{at}: devices may be missing. Boot with log_buf_len=16M.",
            if n == 1 {
                "1 log message was".into()
            } else {
                format!("{} log messages were", grouped(n as u64))
            }
        ),
        "log_hole" => format!(
            "The log has a hole{}: a line breaks off and goes on in the middle of a later one. \
             Totals there are at least so much. Record again.",
            l.first_at.map_or(String::new(), |at| format!(" at line {at}")),
        ),
        "several_logs" => format!(
            "{} logs stand in one file{}{}; each has a median of its own. Give one log a file.",
            grouped(l.count + 1),
            l.first_at.map_or(String::new(), |at| format!(
                " (the first sleep of the second one in it is at line {at})"
            )),
            if dated(captures) { ", numbered by date" } else { "" },
        ),
        "text_between" => format!(
            "A sentence stands between two cycles{}: they may be of two kernels or machines. Give \
             each log a file of its own.",
            l.first_at.map_or(String::new(), |at| format!(" at line {at}")),
        ),
        "cut_line" => format!(
            "{} broken{at}, perhaps by a mail client. Use the unwrapped log: dmesg > FILE",
            if n == 1 { "1 line is".into() } else { format!("{} lines are", grouped(n as u64)) }
        ),
        "lost_events" | "recorder_lost_events" => format!(
            "{} lost: devices may be missing.{}",
            if n == 1 {
                "1 trace event was".into()
            } else {
                format!("{} trace events were", grouped(n as u64))
            },
            if recorded {
                " Record again with a larger --buffer."
            } else {
                " Enlarge the buffer: echo 65536 > /sys/kernel/tracing/buffer_size_kb"
            }
        ),
        "damaged_input" | "capture_truncated" | "tracedat_truncated" => {
            format!("The file is cut or damaged; {} read. Copy it again.", cycles_were(cycles))
        }
        "abort_cause_unproven" => format!(
            "{} aborted, but no callback failed: probably a wakeup event; the kernel log tells.",
            cycles_were(n)
        ),
        "attempt_in_part" => capital(&l.advice) + ".",
        "sleep_inferred" => {
            "When sleep began and ended is guessed. Run: echo 1 > /sys/power/pm_debug_messages"
                .into()
        }
        "sleep_unmarked" => {
            "When sleep began and ended is not in the log; the time between the last device down \
             and the first up is taken for it. Run: echo 1 > /sys/power/pm_debug_messages"
                .into()
        }
        "pm_trace" => {
            "pm_trace was on: the kernel set the clock at every device, which takes most of \
                       the time between callbacks. Run: echo 0 > /sys/power/pm_trace"
                .into()
        }
        "lines_left_out" => format!(
            "Lines were left out at {}{at}, as grep does. Use the whole log: dmesg > FILE",
            plural(n, "place")
        ),
        "doubled_line" => format!(
            "{} twice{at} and counted once.",
            if n == 1 {
                "1 line stands there".into()
            } else {
                format!("{} lines stand there", grouped(n as u64))
            }
        ),
        "another_excerpt" => format!(
            "Time runs backwards inside {}{at}; what follows is read as another cycle. Give one \
             log a file.",
            plural(n, "cycle")
        ),
        kind => {
            let kind = kind.replace('_', " ");
            let mut first = kind.chars();
            let kind = first.next().map_or(String::new(), |c| c.to_uppercase().collect::<String>());
            let kind = kind + first.as_str();
            let times = if n == 1 { String::new() } else { format!(", {}", plural(n, "time")) };
            let text = l.advice.trim_end_matches('.');
            format!("{kind}{times}{at}: {text}.")
        }
    }
}

/// How to have the kernel's own times: where somebody dated the lines, the kernel's log
/// has them all the same.
fn stamps(captures: &[&Capture]) -> &'static str {
    match dated(captures) {
        true => "Use the kernel's own times: journalctl -k -o short-monotonic > FILE",
        false => "Boot with printk.time=1.",
    }
}

fn dated(captures: &[&Capture]) -> bool {
    let words = |c: &Cycle| matches!(c.when, Began::Words(_));
    captures.iter().any(|c| c.cycles.iter().any(words))
}

fn cycles_were(n: usize) -> String {
    if n == 1 { "1 cycle was".into() } else { format!("{} cycles were", grouped(n as u64)) }
}

/// The first callback without an end, of all cycles or of one.
fn first_open<'a>(c: &'a Capture, cycle: Option<&Cycle>) -> Option<&'a str> {
    let open = |c: &Cycle| c.callbacks.iter().find(|b| !b.complete).copied();
    let open = match cycle {
        Some(cycle) => open(cycle),
        None => c.cycles.iter().find_map(open),
    }?;
    Some(name(c, open.device))
}

/// Made by `dormouse record` or in the laboratory: only these list the devices
/// with their links.
pub(crate) fn is_recording(c: &Capture) -> bool {
    c.graph.order_known && c.graph.links_known
}
