//! Events of the core's callbacks without the columns of a trace: printk wrote them into the log
//! (`tp_printk`), or somebody left the columns out (include/trace/events/power.h:
//! device_pm_callback_start, device_pm_callback_end, 6.12).

use super::{abort, ended};
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Device, Finding, Level};
use crate::message::Message;
use dormouse_base::phase::{Direction, PmEvent};
use dormouse_base::say;

/// How both begin.
const EVENTS: &str = "device_pm_callback_";
const START: &str = "device_pm_callback_start: ";
const END: &str = "device_pm_callback_end: ";

/// A callback of which the text has an event.
struct Callback<'a> {
    device: Device,
    /// `noirq driver [suspend]`: whose callback it is, and of what; empty of an end alone.
    what: String,
    begin: Option<&'a Message>,
    end: Option<(&'a Message, i32)>,
}

impl Callback<'_> {
    /// `noirq suspend`, `resume`.
    fn step(&self) -> String {
        let Some((of, event)) = self.what.trim_end_matches(']').split_once('[') else {
            return "callback".into();
        };
        let phase = ["noirq ", "late ", "early "].into_iter().find(|w| of.starts_with(w));
        format!("{}{event}", phase.unwrap_or(""))
    }

    fn direction(&self) -> Option<Direction> {
        let (_, event) = self.what.trim_end_matches(']').split_once('[')?;
        PmEvent::from_name(event.as_bytes()).map(|e| e.direction())
    }
}

fn device(text: &str) -> Device {
    let (driver, name) = text.trim().rsplit_once(' ').unwrap_or(("", text.trim()));
    Device { name: name.into(), driver: driver.trim().into() }
}

/// `DRIVER DEVICE, parent: PARENT, OPS [EVENT]`.
fn start(text: &str) -> Option<(Device, String)> {
    let (who, rest) = text.rsplit_once(", parent: ")?;
    let (_, what) = rest.split_once(", ")?;
    what.trim_end().ends_with(']').then(|| (device(who), what.trim_end().to_string()))
}

/// `DRIVER DEVICE, err=N`.
fn end(text: &str) -> Option<(Device, i32)> {
    let (who, error) = text.rsplit_once(", err=")?;
    Some((device(who), error.trim().parse().ok()?))
}

/// A word of an event and what follows, perhaps in the next line, where a mail broke it.
fn read<T>(case: &Case, at: usize, word: &str, of: impl Fn(&str) -> Option<T>) -> Option<T> {
    let here = case.messages[at].text.split_once(word)?.1;
    let next = || case.messages.get(at + 1).filter(|m| !m.has(EVENTS));
    of(here).or_else(|| of(&format!("{} {}", here.trim_end(), next()?.text.trim())))
}

/// Callbacks in the order of the text.
fn callbacks(case: &Case) -> Vec<Callback<'_>> {
    let mut out: Vec<Callback<'_>> = Vec::new();
    // A trace with its columns is read as one, and what it leaves open may be cut.
    let bare = |m: &Message| m.text.trim_start().starts_with(EVENTS);
    for (at, m) in case.messages.having(EVENTS).filter(|(_, m)| bare(m)) {
        if let Some((device, what)) = read(case, at, START, start) {
            out.push(Callback { device, what, begin: Some(m), end: None });
        } else if let Some((device, error)) = read(case, at, END, end) {
            let open = |c: &&mut Callback<'_>| c.end.is_none() && c.device == device;
            match out.iter_mut().rev().find(open) {
                Some(c) => c.end = Some((m, error)),
                None => {
                    let (what, end) = (String::new(), Some((m, error)));
                    out.push(Callback { device, what, begin: None, end });
                }
            }
        }
    }
    out
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let all = callbacks(case);
    let Some(last) = all.last() else { return };
    let first = out.len();
    for c in &all {
        let Some((m, error)) = c.end.filter(|e| e.1 < 0) else { continue };
        let evidence = lines(c.begin.into_iter().chain([m]));
        let f = match c.direction() {
            Some(Direction::Resume) => abort::not_resumed([c.device.clone()].into(), error),
            Some(Direction::Suspend) => ended::device_failed(c.device.clone(), error, 1, false, None),
            None => Finding::new(("device-failed", Area::Abort, Level::Broken), Confidence::Likely)
                .says(format!(
                    "A callback of {} failed: {}. Whether the machine went down or came up the text does not show.",
                    say::device(&c.device),
                    say::told(error)
                ))
                .look("Look at what its driver says before that line.")
                .of_devices([c.device.clone()])
                .of_error(error),
        };
        // A line of the core may have told of it.
        let known = |f: &Finding| {
            f.about.error == Some(error) && f.about.devices.iter().any(|d| d.name == c.device.name)
        };
        if !out.iter().any(known) {
            out.push(f.shown_by(evidence));
        }
    }
    let open = all.iter().filter(|c| c.end.is_none()).filter_map(|c| Some((c, c.begin?)));
    let open: Vec<_> = open.collect();
    if let Some((c, m)) = open.last() {
        let others = match open.len() {
            1 => String::new(),
            n => format!(" {} without an end began before it.", say::plural(n - 1, "other")),
        };
        let f = Finding::new(("callback-open", Area::Abort, Level::Risk), Confidence::Guess)
            .says(format!(
                "The {} of {} began and has no end in the text.{others} If the machine hung there, that callback is where it stood.",
                c.step(),
                say::device(&c.device)
            ))
            .look("If more lines follow in the log, give them. Else look at what that driver's callback waits for.")
            .of_devices([c.device.clone()])
            .when(c.direction(), None);
        out.push(f.shown_by(lines([*m])));
    }
    // Where other lines tell of the sleep, a list of callbacks without a fault says nothing new.
    if out.len() == first && case.attempts.is_empty() && case.parts.is_empty() {
        let shown = last.begin.into_iter().chain(last.end.map(|e| e.0));
        let f = Finding::new(("callback-events", Area::Abort, Level::Note), Confidence::Certain)
            .says(format!(
                "{} without an error, the last of {}; none that began is open. What came behind it the text does not show.",
                ended_words(all.len()),
                say::device(&last.device)
            ))
            .look("If the machine hung behind these lines, the next device of that phase is where to look.");
        out.push(f.shown_by(lines(shown)));
    }
}

/// `The 4 callbacks that the text shows ended`.
fn ended_words(n: usize) -> String {
    match n {
        1 => "The one callback that the text shows ended".into(),
        n => format!("The {} that the text shows ended", say::plural(n, "callback")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &[&str]) -> Vec<(&'static str, String)> {
        let log: Vec<(i64, &str)> = text.iter().map(|t| (71, *t)).collect();
        let mut out = Vec::new();
        judge(&Case::of_log(&log), &mut out);
        out.into_iter().map(|f| (f.id, f.sentence)).collect()
    }

    #[test]
    fn events_without_columns_tell_of_errors_and_of_callbacks_without_an_end() {
        let start = "device_pm_callback_start: elm 50a0000.mac, parent: 5000000.bus, noirq driver [suspend]";
        let end = "device_pm_callback_end: elm 50a0000.mac, err=";
        let open = found(&[&format!("{end}0"), start]);
        assert_eq!(open.len(), 1);
        assert_eq!(
            (open[0].0, open[0].1.as_str()),
            (
                "callback-open",
                "The noirq suspend of 50a0000.mac (elm) began and has no end in the text. If the machine hung there, that callback is where it stood."
            )
        );
        let failed = found(&[start, &format!("{end}-110")]);
        assert_eq!((failed.len(), failed[0].0), (1, "device-failed"));
        assert!(failed[0].1.starts_with("50a0000.mac (elm) ended the sleep"), "{}", failed[0].1);
        let up = start.replace("[suspend]", "[resume]");
        assert_eq!(found(&[&up, &format!("{end}-5")])[0].0, "device-not-resumed");
        let column = format!("kworker/2-91 [001] ..... 512.1: {start}");
        assert!(found(&[&column]).is_empty(), "a trace is read as one");
    }

    #[test]
    fn events_that_a_mail_broke_are_whole_again() {
        let fine = found(&["device_pm_callback_start: oak-cpg", "e6150000.clock, parent: soc,"]);
        assert!(fine.is_empty(), "cut short: {fine:?}");
        let fine = found(&[
            "device_pm_callback_start: oak-gpio e6055800.gpio, parent: soc,",
            "noirq power domain [suspend]",
            "device_pm_callback_end: oak-gpio e6055800.gpio, err=0",
        ]);
        assert_eq!(fine[0].0, "callback-events");
        assert!(fine[0].1.starts_with("The one callback that the text shows ended without an error, the last of e6055800.gpio (oak-gpio)"));
    }
}
