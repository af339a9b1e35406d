//! Events of the core's callbacks without the columns of a trace: printk wrote them into the log
//! (`tp_printk`), or somebody left the columns out (include/trace/events/power.h:
//! device_pm_callback_start, device_pm_callback_end, 6.12).

use super::{abort, ended};
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Device, Finding, Level};
use crate::message::Message;
use crate::stage;
use dormouse_base::phase::{Direction, PmEvent};
use dormouse_base::say;
use std::collections::{BTreeMap, BTreeSet};

/// How both begin.
const EVENTS: &str = "device_pm_callback_";
const START: &str = "device_pm_callback_start: ";
const END: &str = "device_pm_callback_end: ";
/// So many of the callbacks that failed are named.
const NAMED: usize = 3;

/// A callback of which the text has an event.
struct Callback<'a> {
    /// Which message its first event is.
    at: usize,
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

/// Where a kernel starts.
fn boots(case: &Case) -> Vec<usize> {
    let said = case.messages.having("Linux version ");
    said.filter(|(_, m)| m.text.starts_with("Linux version ")).map(|(at, _)| at).collect()
}

/// Callbacks in the order of the text, and whether ends are missing from it: a device starts
/// again, and what it did before has none.
fn callbacks<'a>(case: &'a Case, boots: &[usize]) -> (Vec<Callback<'a>>, bool) {
    let mut out: Vec<Callback<'_>> = Vec::new();
    let mut open: BTreeMap<Device, usize> = BTreeMap::new();
    let (mut missing, mut boot) = (false, 0);
    // A trace with its columns is read as one, and what it leaves open may be cut.
    let bare = |m: &Message| m.text.trim_start().starts_with(EVENTS);
    for (at, m) in case.messages.having(EVENTS).filter(|(_, m)| bare(m)) {
        // What was open when the machine started anew never ended.
        let now = boots.partition_point(|b| *b < at);
        if now != boot {
            boot = now;
            open.clear();
        }
        if let Some((device, what)) = read(case, at, START, start) {
            missing |= open.insert(device.clone(), out.len()).is_some();
            out.push(Callback { at, device, what, begin: Some(m), end: None });
        } else if let Some((device, error)) = read(case, at, END, end) {
            match open.remove(&device) {
                Some(of) => out[of].end = Some((m, error)),
                None => {
                    let (what, end) = (String::new(), Some((m, error)));
                    out.push(Callback { at, device, what, begin: None, end });
                }
            }
        }
    }
    missing |= out.iter().all(|c| c.end.is_none());
    (out, missing)
}

/// The callbacks without an end behind the last line that tells that the machine got past them:
/// the end of a sleep, or a callback or a phase of the other way.
fn stuck<'c, 'a>(
    case: &Case,
    all: &'c [Callback<'a>],
    boots: &[usize],
) -> Vec<(&'c Callback<'a>, &'a Message)> {
    let open = || all.iter().filter(|c| c.end.is_none()).filter_map(|c| Some((c, c.begin?)));
    let Some((last, _)) = open().next_back() else { return Vec::new() };
    let next = boots.partition_point(|b| *b <= last.at);
    let from = next.checked_sub(1).map_or(0, |b| boots[b]);
    let to = boots.get(next).copied().unwrap_or(case.messages.len());
    let way = last.direction();
    let other = |d: Option<Direction>| way.is_some() && d.is_some_and(|d| Some(d) != way);
    let closed = case.attempts.iter().filter(|a| a.closed && a.end > from && a.end <= to);
    let callback = all.iter().filter(|c| (from..to).contains(&c.at) && other(c.direction()));
    let said = (from..to).rev().find(|at| {
        let m = &case.messages[*at];
        let phase = || m.trust.is_of_a_kernel() && other(stage::begins(m).map(|s| s.direction));
        !m.has(EVENTS) && (stage::ends_sleep(m) || phase())
    });
    let past = closed.map(|a| a.end - 1).chain(callback.map(|c| c.at)).chain(said).max();
    let behind = |c: &Callback<'_>| c.at >= from && past.is_none_or(|p| c.at > p);
    open().filter(|(c, _)| behind(c)).collect()
}

/// A callback that failed, its last line and the error.
type Failed<'c, 'a> = (&'c Callback<'a>, &'a Message, i32);

/// One finding of all that failed on one way; `often` counts them with those that are told alike.
fn failed(way: Option<Direction>, all: &[Failed<'_, '_>], often: usize) -> Option<Finding> {
    let &(first, _, error) = all.first()?;
    let one_error = all.iter().all(|f| f.2 == error);
    let devices: Vec<Device> = all.iter().take(NAMED).map(|f| f.0.device.clone()).collect();
    let each = |f: &Failed<'_, '_>| format!("{}: {}", say::device(&f.0.device), say::told(f.2));
    let list: Vec<String> = all.iter().take(NAMED).map(each).collect();
    let more = match all.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!(", and {} more", say::grouped(n as u64)),
    };
    let list = format!("{}{more}", list.join("; "));
    let rule = |id| Finding::new((id, Area::Abort, Level::Broken), Confidence::Likely);
    let unknown = "Whether the machine went down or came up the text does not show.";
    let look = "Look at what their drivers say before those lines.";
    let f = match (way, all.len()) {
        (Some(Direction::Suspend), 1) => {
            ended::device_failed(first.device.clone(), error, often, false, None)
        }
        (Some(Direction::Resume), n) if n <= NAMED && one_error => {
            abort::not_resumed(devices, error)
        }
        (Some(way @ Direction::Suspend), _) => rule("device-failed")
            .says(format!("Callbacks failed on the way down, which ends a sleep: {list}."))
            .look(look)
            .of_devices(devices)
            .when(Some(way), None),
        (Some(way @ Direction::Resume), _) => rule("device-not-resumed")
            .says(format!("Callbacks failed on the way up: {list}."))
            .look(look)
            .of_devices(devices)
            .when(Some(way), None)
            .at("resume"),
        (None, 1) => rule("device-failed")
            .says(format!(
                "A callback of {} failed: {}. {unknown}",
                say::device(&first.device),
                say::told(error)
            ))
            .look("Look at what its driver says before that line.")
            .of_devices(devices),
        (None, _) => rule("device-failed")
            .says(format!("Callbacks failed: {list}. {unknown}"))
            .look(look)
            .of_devices(devices),
    };
    let f = if one_error { f.of_error(error) } else { f };
    let shown: Vec<&Message> = match all.len() {
        1 => first.begin.into_iter().chain([all[0].1]).collect(),
        _ => all.iter().map(|f| f.1).collect(),
    };
    Some(f.shown_by(lines(shown)))
}

/// What failed, with what no line of the core told of.
fn failures(all: &[Callback<'_>], out: &mut Vec<Finding>) {
    let of = |f: &Finding| {
        let error = f.about.error?;
        Some(f.about.devices.iter().map(move |d| (d.name.clone(), error)).collect::<Vec<_>>())
    };
    let known: BTreeSet<(String, i32)> = out.iter().filter_map(of).flatten().collect();
    for way in [Some(Direction::Suspend), Some(Direction::Resume), None] {
        let error = |c: &Callback<'_>| c.end.is_some_and(|e| e.1 < 0) && c.direction() == way;
        let mut seen = BTreeSet::new();
        let (mut each, mut often, mut begun) = (Vec::new(), 0, None);
        for c in all.iter().filter(|c| error(c)) {
            let Some((m, error)) = c.end else { continue };
            let key = (c.device.name.clone(), error);
            if known.contains(&key) {
                continue;
            }
            often += 1;
            begun = begun.or(Some(m.line));
            if seen.insert(key) {
                each.push((c, m, error));
            }
        }
        let Some(f) = failed(way, &each, often) else { continue };
        // That a device or a wakeup ended as many sleeps is answered by these.
        if way == Some(Direction::Suspend) {
            out.retain(|f| {
                let behind = f.evidence.iter().all(|e| begun.is_some_and(|b| e.line > b));
                let answered =
                    f.about.devices.is_empty() && f.about.times.unwrap_or(1) <= often && behind;
                f.id != "abort-unknown" || !answered
            });
        }
        out.push(f);
    }
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let boots = boots(case);
    let (all, missing) = callbacks(case, &boots);
    let Some(last) = all.last() else { return };
    failures(&all, out);
    // Where ends are left out, one that has none tells nothing.
    let open = if missing { Vec::new() } else { stuck(case, &all, &boots) };
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
    let fine = all.iter().all(|c| c.end.is_some_and(|e| e.1 >= 0));
    if fine && case.attempts.is_empty() && case.parts.is_empty() {
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
    fn a_callback_without_an_end_is_none_where_the_machine_came_back_or_ends_are_left_out() {
        let of = |device: &str, way: &str| {
            format!("device_pm_callback_start: elm {device}, parent: soc, driver [{way}]")
        };
        let end = "device_pm_callback_end: elm 7-1, err=0";
        let (down, up) = (of("7-1", "suspend"), of("7-2", "resume"));
        let open = of("7-3", "suspend");
        assert_eq!(found(&[&down, end, &open])[0].0, "callback-open");
        let boot = "Linux version 6.99";
        assert_eq!(found(&[&down, end, &open, boot, "PM: suspend exit"])[0].0, "callback-open");
        for none in [
            &[&down, end, &open, "PM: suspend exit"][..],
            &[&down, end, &open, &up, &end.replace("7-1", "7-2")],
            &[&down, end, &open, "PM: resume of devices complete after 7.7 msecs"],
            &[&down, end, &open, &open],
            &[&down, &open],
        ] {
            assert!(found(none).is_empty(), "{none:?}");
        }
    }

    #[test]
    fn many_that_failed_are_one_finding_which_leaves_no_abort_without_a_cause() {
        let mut log = Vec::new();
        for n in 1..=7 {
            log.push(format!("device_pm_callback_start: elm 7-{n}, parent: soc, driver [suspend]"));
            log.push(format!("device_pm_callback_end: elm 7-{n}, err=-5"));
        }
        log.push("PM: Some devices failed to suspend, or early wake event detected".into());
        let log: Vec<(i64, &str)> = log.iter().map(|t| (71, t.as_str())).collect();
        let mut out = Vec::new();
        let rule = ("abort-unknown", Area::Abort, Level::Broken);
        let core = &Case::of_log(&log);
        let f = Finding::new(rule, Confidence::Certain).times(1);
        out.push(f.shown_by(lines(core.messages.last())));
        judge(core, &mut out);
        assert_eq!((out.len(), out[0].id), (1, "device-failed"));
        assert!(out[0].sentence.contains("; 7-3 (elm): error -5"), "{}", out[0].sentence);
        assert!(out[0].sentence.ends_with(", and 4 more."), "{}", out[0].sentence);
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
