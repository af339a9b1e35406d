//! Sleeps that a timer of the kernel ended, because they did not get on.

use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Device, Finding, Level, Task};
use crate::message::{Message, Trust, seconds};
use crate::stack;
use crate::stage::{Stages, passed};
use dormouse_base::phase::Direction;
use dormouse_base::say;
use dormouse_base::time::Ns;

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    stuck(case, out);
    timed_out(case, out);
}

/// A callback that did not return in time (drivers/base/power/main.c:dpm_watchdog_handler).
/// From 7.0 on the kernel warns first, `**** DPM device timeout after 12 seconds; 108 seconds
/// until panic ****`, and panics if it still has not returned then.
fn stuck(case: &Case, out: &mut Vec<Finding>) {
    const WORDS: &str = "**** DPM device timeout";
    let device = |m: &Message| {
        let owner = m.text.split(WORDS).next().unwrap_or("").trim_end();
        let owner = owner.trim_end_matches("PM:").trim_end().trim_end_matches(':');
        let mut words = owner.rsplit(' ');
        let name = words.next().unwrap_or("").to_string();
        let driver = words.next().unwrap_or("").trim_end_matches(':').to_string();
        Device { name, driver }
    };
    let mut told: Vec<(Device, bool)> = Vec::new();
    let mut stages = None;
    // The title of a report says it ahead of the log.
    let mut said: Vec<(usize, &Message)> = case.messages.having(WORDS).collect();
    said.sort_by_key(|(_, m)| m.trust != Trust::Logged);
    for (at, m) in said {
        let warns = m.after(WORDS).and_then(|r| r.trim_start().strip_prefix("after "));
        let (device, fatal) = (device(m), warns.is_none());
        // The kernel names both; its strings and sources have neither.
        if device.name.is_empty() || told.contains(&(device.clone(), fatal)) {
            continue;
        }
        told.push((device.clone(), fatal));
        let mut frames = stack::dump(&case.messages, at + 1, 40);
        // The panic that follows is of the watchdog's timer, which may have run in any task.
        let own = frames.iter().position(|f| f.function == "panic");
        frames.truncate(own.unwrap_or(frames.len()));
        let place = stack::waits_in(&frames);
        let stood = place.map_or(String::new(), |f| format!(": it stood in {}", f.words()));
        let half = stages.get_or_insert_with(|| Stages::new(&case.messages)).at(at, &frames);
        let direction = half.map(|s| s.direction);
        let row = if direction == Some(Direction::Resume) { "resume" } else { "suspend" };
        let who = say::device(&device);
        // Its last words are of the same device.
        let last = |m: &&Message| m.says("Kernel panic") && m.has(": unrecoverable failure");
        let panic = case.messages[at..].iter().take(LONGEST_DUMP).find(last).filter(|_| fatal);
        let f = match warns {
            None => Finding::new(("device-hang", Area::Abort, Level::Broken), Confidence::Certain)
                .says(format!(
                    "A callback of {who} never returned, so the watchdog of device sleep stopped the kernel{stood}."
                ))
                .look("The functions after that line show where the callback waits."),
            Some(rest) => {
                let after = seconds(rest).map_or("its time".into(), say::seconds);
                let rest = &case.messages[at..];
                let came = rest.iter().any(|m| {
                    m.has(" of devices complete") || m.has("devices took") || m.has("Restarting tasks")
                });
                let end = match came {
                    true => " It came back later, and the kernel went on.",
                    false => "",
                };
                let left = m.after("; ").and_then(seconds);
                let left = left.map_or(String::new(), |s| format!(" {} more, and the kernel would have stopped (kernel.dpm_watchdog_timeout_secs).", say::seconds(s)));
                Finding::new(("device-slow", Area::Abort, Level::Slow), Confidence::Certain)
                    .says(format!(
                        "A callback of {who} took longer than {after}, when the watchdog of device sleep warned{stood}.{end}{left}"
                    ))
                    .look("The functions after that line show where the callback waits.")
            }
        };
        let f = f
            .of_devices([device])
            .of_function(place.map(|f| f.function.as_str()))
            .when(direction, half.and_then(|s| s.phase))
            .at(row)
            .shown_by(lines([m].into_iter().chain(panic)));
        out.push(f);
    }
}

/// A task's dump is no longer than this.
const LONGEST_DUMP: usize = 120;

/// `**** Suspend timeout` of Android's kernels before 3.10, and the stack that follows.
fn timed_out(case: &Case, out: &mut Vec<Finding>) {
    let is = |m: &Message| m.trust.is_of_a_kernel() && m.text.starts_with("***");
    let said = |m: &Message| is(m) && m.text.trim_end().ends_with(" Suspend timeout");
    let mut marked = case.messages.having(" Suspend timeout");
    let Some((at, _)) = marked.find(|(_, m)| said(m)) else { return };
    let waits = ["__schedule", "schedule", "__mutex", "mutex_", "wait_", "__wait", "down"];
    let frames = stack::frames(&case.messages, at, 20);
    let place = frames.iter().find(|f| !waits.iter().any(|w| f.starts_with(w))).map(String::as_str);
    // The thread that hangs is dumped first; a stamp before the line tells since when.
    let task = stack::tasks(&case.messages[..case.messages.len().min(at + 20)], at, 1).pop();
    let whose = task.as_ref().map_or("its thread".into(), |t| match t.pid {
        0 => t.name.clone(),
        pid => format!("{} (pid {pid})", t.name),
    });
    let stood = match (place, &task) {
        (Some(f), _) => format!(": {whose} stood in {f}"),
        (None, Some(_)) => format!(": {whose} did not go on"),
        (None, None) => String::new(),
    };
    let before = at.checked_sub(1).map(|b| &case.messages[b]);
    let silent = before.and_then(|b| Some((b, passed(b, &case.messages[at])?)));
    let silent = silent.filter(|s| s.1 >= SILENT);
    let since = silent.map_or(String::new(), |(b, t)| {
        format!(
            "{} passed between the line before it (\"{}\") and the timer's.",
            say::span(t),
            b.text.trim()
        )
    });
    let rule = ("suspend-timeout", Area::Abort, Level::Broken);
    let f = Finding::new(rule, Confidence::Certain)
        .says(format!("A sleep was stuck until the kernel's timer ended it{stood}."))
        .look("Look at what that function waits for; of a lock, who holds it: echo w > /proc/sysrq-trigger shows all that wait.")
        .because(since)
        .of_function(place)
        .of_tasks(task.map(|t| Task { name: t.name, pid: t.pid }))
        .when(Some(Direction::Suspend), None)
        .shown_by(lines([&case.messages[at]].into_iter().chain(silent.map(|s| s.0))));
    out.push(f);
}

/// A silence is worth a word from here on.
const SILENT: Ns = Ns(1_000_000_000);
