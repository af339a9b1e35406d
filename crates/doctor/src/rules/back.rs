//! Devices that come back late, or not: waits that the kernel counts itself, phases that it
//! says are long, errors that begin with a resume.

use super::abort::owner;
use super::{pause, reset};
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Device, Finding, Level};
use crate::message::{Message, thousandths};
use crate::said::{complains, kind};
use crate::stack;
use crate::stage::{is_over, passed, phase_took};
use crate::waits;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::say;
use dormouse_base::time::Ns;

/// From here on a phase of devices is long. Ours: a person waits for it. A hard disk that
/// spins up, the slowest thing that a healthy resume waits for, may need twice as long.
const LONG: Ns = Ns(3_000_000_000);

/// So many lines before the end of a long phase are asked who was late in it.
const ASKED: usize = 400;

/// The callback of a device in which a trace stands within the time `t` before message `at`: the
/// frame of a module that drivers/base/power/main.c:dpm_run_callback (3.3 to 7.3) reached first.
fn traced(case: &Case, at: usize, t: Ns) -> Option<(&Message, stack::Frame)> {
    const RUNS: &str = "dpm_run_callback+";
    let end = &case.messages[at];
    let begin = at.saturating_sub(ASKED);
    let within = |m: &Message| passed(m, end).is_some_and(|p| p.0 >= 0 && p <= t);
    let run = (begin..at).rev().find(|i| {
        let m = &case.messages[*i];
        m.text.trim_start().starts_with(RUNS) && within(m)
    })?;
    // Frames above it, the innermost last; those of a bus have no module.
    let above = case.messages[begin..run].iter().rev();
    let frames = above.take_while(|m| {
        let text = m.text.trim_start();
        text.starts_with("? ") || stack::whole_frame(text).is_some()
    });
    let of_module = |m: &Message| stack::whole_frame(&m.text).filter(|f| !f.module.is_empty());
    frames.filter_map(|m| Some((m, of_module(m)?))).next()
}

/// So many parts of it are named.
const NAMED: usize = 4;

/// Errors of one device that come again so often are no chance.
const OFTEN: usize = 3;
/// The first of them comes so soon after a sleep: a command of a disk or a GPU times out
/// after 10 to 60 s.
const SOON: Ns = Ns(90_000_000_000);

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    not_ready(case, out);
    long(case, out);
    since(case, out);
    reset::judge(case, out);
}

/// `sdhci-pci 0000:02:00.0: not ready 65535ms after resume; giving up`
/// (drivers/pci/pci.c:pci_dev_wait, 5.0 on): the kernel waits twice as long each time.
fn not_ready(case: &Case, out: &mut Vec<Finding>) {
    struct Wait<'a> {
        device: Device,
        longest: u64,
        gave_up: bool,
        last: &'a Message,
    }
    let mut all: Vec<Wait<'_>> = Vec::new();
    let said = case.messages.having("ms after ").map(|(_, m)| m);
    for m in said.filter(|m| m.trust.is_of_a_kernel()) {
        let Some((_, rest)) = m.text.split_once("ready ") else { continue };
        let Some((ms, why)) = rest.split_once("ms after ") else { continue };
        let Ok(ms) = ms.parse::<u64>() else { continue };
        // Resets at run time are no matter of a sleep.
        if !(why.starts_with("resume") || why.starts_with("PM D3")) {
            continue;
        }
        let device = owner(&m.text);
        if !all.iter().any(|w| w.device == device) {
            all.push(Wait { device: device.clone(), longest: 0, gave_up: false, last: m });
        }
        let Some(w) = all.iter_mut().find(|w| w.device == device) else { continue };
        w.gave_up |= why.contains("giving up");
        if ms >= w.longest {
            (w.longest, w.last) = (ms, m);
        }
    }
    for w in all {
        let took = Ns(i64::try_from(w.longest).unwrap_or(0).saturating_mul(1_000_000));
        let level = if w.gave_up { Level::Broken } else { Level::Slow };
        let end = if w.gave_up { ", and the kernel gave it up" } else { "" };
        let f = Finding::new(("device-not-ready", Area::Phase, level), Confidence::Certain)
            .says(format!(
                "{} was not ready {} after it was to come back ({} ms){end}.",
                say::device(&w.device),
                say::seconds(took),
                w.longest
            ))
            .look("Look at the port above it and at the device's firmware: its link did not come up, or it did not answer on it.")
            .of_devices([w.device])
            .when(Some(Direction::Resume), None)
            .at("resume")
            .costs(took)
            .shown_by(lines([w.last]));
        out.push(f);
    }
}

pub(super) fn long(case: &Case, out: &mut Vec<Finding>) {
    for direction in [Direction::Suspend, Direction::Resume] {
        let of = |m: &Message| phase_took(m).filter(|p| p.0 == direction && p.2 >= LONG);
        let words = [" of devices complete after ", " devices took ", " devices, time: "];
        let said = case.messages.having_any(&words);
        let kernel = said.filter(|(_, m)| m.trust.is_of_a_kernel());
        let said: Vec<(usize, &Message, String, Ns)> =
            kernel.filter_map(|(at, m)| of(m).map(|(_, name, t)| (at, m, name, t))).collect();
        let Some((at, m, name, t)) = said.iter().max_by_key(|s| s.3) else { continue };
        // Who it waited for stands elsewhere already.
        let cause = out.iter().find(|f| {
            matches!(f.id, "device-not-ready" | "device-slow")
                && f.about.direction.is_none_or(|d| d == direction)
        });
        let who = cause.and_then(|f| f.about.devices.first()).map(say::device);
        let (parts, mut evidence) = parts(case, *at, *t, direction);
        let who = who.map_or(parts, |w| format!(" {w} alone explains much of it."));
        let ran = if who.is_empty() { pause::longest(case, *at, *t) } else { None };
        let who = ran.as_ref().map_or(who, |(_, device, function, took)| {
            let what = if *function == device.name { "A callback" } else { function };
            format!(" {what} of {} took {} of it.", say::device(device), say::span((*took).min(*t)))
        });
        let silence = if who.is_empty() { pause::silence(case, *at, *t) } else { None };
        let who = silence.as_ref().map_or(who, |(m, device, gap)| {
            format!(
                " {} of it pass without a word before \"{}\": perhaps {} was waited for, which no line proves.",
                say::span(*gap),
                m.text.trim(),
                say::device(device)
            )
        });
        let trace = if who.is_empty() { traced(case, *at, *t) } else { None };
        let who = trace.as_ref().map_or(who, |(_, frame)| {
            format!(
                " A trace of the kernel within that time stands in {}, which the core called for a device: a suspect (a guess), and no proof that it took all of it.",
                frame.words()
            )
        });
        evidence.extend(trace.as_ref().map(|t| t.0));
        evidence.extend(ran.as_ref().map(|r| r.0));
        evidence.extend(silence.as_ref().map(|s| s.0));
        let others = others(case, *at, name, *t);
        evidence.push(m);
        let took = if t.0 % 10_000_000 == 0 {
            format!("{}.{:02} s", t.0 / 1_000_000_000, t.0 / 10_000_000 % 100)
        } else {
            say::seconds(*t)
        };
        let f = Finding::new(("phase-long", Area::Phase, Level::Slow), Confidence::Certain)
            .says(format!("The {name} of devices took {took}, says the kernel.{others}{who}"))
            .look(match ran {
                Some(_) => pause::LOOK_INTO,
                None => "See which callback it was: boot with initcall_debug, or dormouse record; without it the lines before that one (resets, timeouts, firmware) tell who was waited for.",
            })
            .of_function(ran.as_ref().filter(|r| r.2 != r.1.name).map(|r| r.2))
            .of_devices(ran.map(|r| r.1))
            .when(Some(direction), Some(if direction == Direction::Resume { Phase::Resume } else { Phase::Suspend }))
            .at(direction.name())
            .costs(*t)
            .shown_by(lines(evidence));
        out.push(f);
    }
}

/// How long the same phase took the other times that the text tells of, where none of them
/// took half of `t`: a machine that does better, or another kernel.
fn others(case: &Case, at: usize, name: &str, t: Ns) -> String {
    let ends = case.messages.having_any(&[" of devices complete after "]);
    let same = ends.filter(|(i, m)| *i != at && m.trust.is_of_a_kernel());
    let mut took: Vec<Ns> =
        same.filter_map(|(_, m)| phase_took(m).filter(|p| p.1 == name)).map(|p| p.2).collect();
    took.sort_unstable();
    match took[..] {
        [.., most] if most > Ns(t.0 / 2) => String::new(),
        [] => String::new(),
        [one] => format!(" The other time that the text tells of it took {}.", say::span(one)),
        [least, .., most] => format!(
            " The other {} times that the text tells of it took {} to {}.",
            took.len(),
            say::span(least),
            say::span(most)
        ),
    }
}

/// What the lines inside a phase of devices that ends with message `at` and took `t` say of
/// who it was: by the core's measurements (`PM: resume of drv:sd dev:4:0:0:0 complete after
/// 9552.132 msecs`), else by those who say themselves that they are late.
fn parts(case: &Case, at: usize, t: Ns, direction: Direction) -> (String, Vec<&Message>) {
    let end = case.messages[at].time;
    let from = end.map(|e| e - t);
    let inside = |m: &&Message| m.time.zip(from).is_none_or(|(m, from)| m >= from);
    let before = case.messages[at.saturating_sub(ASKED)..at].iter();
    let before: Vec<&Message> =
        before.filter(|m| m.trust.is_of_a_kernel()).filter(inside).collect();
    let mut measured: Vec<(&Message, Device, Ns)> =
        before.iter().filter_map(|m| measured(m, direction).map(|(d, t)| (*m, d, t))).collect();
    // A disk has three devices of one name; that of a driver says most.
    measured.sort_by_key(|p| (p.1.driver.starts_with("scsi_"), std::cmp::Reverse(p.2)));
    let mut seen = std::collections::BTreeSet::new();
    measured.retain(|p| seen.insert(p.1.name.clone()));
    measured.sort_by_key(|p| std::cmp::Reverse(p.2));
    if let Some(longest) = measured.first() {
        let all: Ns = measured.iter().map(|p| p.2).sum();
        let one = |p: &(&Message, Device, Ns)| format!("{} {}", say::device(&p.1), say::span(p.2));
        let list: Vec<String> = measured.iter().take(NAMED).map(one).collect();
        let rest = if all < Ns(t.0 / 2) {
            format!(
                " All that the text names are {} of it: who took the rest is not there.",
                say::span(all)
            )
        } else {
            String::new()
        };
        let text = format!(" The longest that the text names: {}.{rest}", list.join(", "));
        return (text, Vec::from([longest.0]));
    }
    let late = before.iter().find_map(|m| Some((*m, waits::late(&m.text)?)));
    let Some((m, device)) = late else { return (String::new(), Vec::new()) };
    let name = device.name;
    let said = before.iter().rfind(|x| waits::speaker(&x.text).is_some_and(|d| d.name == name));
    let last = said.filter(|x| x.line != m.line).zip(end).and_then(|(x, end)| {
        let left = end.since(x.time?);
        Some(format!(", and \"{}\" comes {} before the end", x.text.trim(), say::span(left)))
    });
    let text = format!(
        " {name} was late in it: \"{}\"{}. Others may have been, too.",
        m.text.trim(),
        last.unwrap_or_default()
    );
    (text, Vec::from([m]))
}

/// Driver and device of such a measurement, and how long it was.
fn measured(m: &Message, direction: Direction) -> Option<(Device, Ns)> {
    let (way, rest) = m.text.strip_prefix("PM: ").unwrap_or(&m.text).split_once(" of drv:")?;
    let up = way.ends_with("resume") || way.ends_with("restore") || way.ends_with("thaw");
    if up != (direction == Direction::Resume) {
        return None;
    }
    let (who, took) = rest.split_once(" complete after ")?;
    let (driver, device) = who.split_once(" dev:")?;
    let ns = i64::try_from(thousandths(took)?).ok()?.checked_mul(1_000)?;
    Some((Device { name: device.into(), driver: driver.into() }, Ns(ns)))
}

/// A driver that reports the same error again and again from a sleep on, and never before.
/// One that reports it once after each sleep comes back late, and comes back.
fn since(case: &Case, out: &mut Vec<Finding>) {
    // A driver says who it is: `usb 1-1: …`, `amdgpu 0000:c4:00.0: …`.
    let of_a_driver = |m: &Message| {
        m.trust.is_of_a_kernel()
            && complains(&m.text)
            && !m.has("PM: ")
            && !m.has("]: ")
            && Some(owner(&m.text)).is_some_and(|of| !of.name.is_empty() && !of.driver.is_empty())
    };
    let begins = |m: &Message| {
        m.says("suspend entry") || m.says("hibernation entry") || m.says("Freezing user space")
    };
    let ends: Vec<usize> =
        (0..case.messages.len()).filter(|&i| is_over(&case.messages, i)).collect();
    let mut told: Vec<Device> = Vec::new();
    let mut before: Vec<String> = Vec::new();
    let mut from = 0;
    for (n, &end) in ends.iter().enumerate() {
        let old = case.messages[from..end].iter().filter(|m| of_a_driver(m)).map(|m| kind(&m.text));
        before.extend(old);
        from = end;
        // Lines of one end stand together.
        let next = ends.get(n + 1).copied().unwrap_or(case.messages.len());
        let after = &case.messages[end..next];
        let until = after.iter().position(begins).unwrap_or(after.len());
        let mut groups: Vec<(Device, String, Vec<&Message>)> = Vec::new();
        for m in after[..until].iter().filter(|m| of_a_driver(m)) {
            let (device, kind) = (owner(&m.text), kind(&m.text));
            match groups.iter_mut().find(|g| g.0 == device && g.1 == kind) {
                Some(g) => g.2.push(m),
                None => groups.push((device, kind, Vec::from([m]))),
            }
        }
        for (device, kind, list) in groups {
            let (first, last) = (list[0], list[list.len() - 1]);
            let soon = passed(&case.messages[end], first);
            let spread = passed(first, last);
            let known = out.iter().any(|f| {
                f.id == "phase-device-lost"
                    || f.about.devices.contains(&device) && f.level == Level::Broken
            });
            if list.len() < OFTEN
                || before.contains(&kind)
                || soon.is_some_and(|p| !(Ns::ZERO..=SOON).contains(&p))
                || spread.is_some_and(|p| p < LASTS)
                || known
                || told.contains(&device)
            {
                continue;
            }
            told.push(device.clone());
            out.push(errors(device, &list, soon));
        }
    }
}

/// Errors that come again for less than this are of one try that went on well.
const LASTS: Ns = Ns(5_000_000_000);

fn errors(device: Device, list: &[&Message], soon: Option<Ns>) -> Finding {
    // As the kernel names it: `usb 1-1`.
    let (who, words) = list[0].text.split_once(": ").unwrap_or((&device.name, ""));
    let after = soon.map_or(String::new(), |p| format!(", first {} after it", say::span(p)));
    Finding::new(("device-errors-since", Area::Phase, Level::Broken), Confidence::Likely)
        .says(format!(
            "{who} reports errors since the sleep and had none before: \"{}\" {}{after}.",
            words.trim(),
            say::once(list.len())
        ))
        .look("It did not come back whole: unload and load its driver to see whether that helps, and look at what it says during the resume.")
        .of_devices([device])
        .when(Some(Direction::Resume), None)
        .times(list.len())
        .at("resume")
        .shown_by(lines(list.iter().copied()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(lines: &[(i64, &str)]) -> Option<String> {
        let mut out = Vec::new();
        long(&Case::of_log(lines), &mut out);
        out.pop().map(|f| f.sentence)
    }

    #[test]
    fn a_long_phase_is_told_with_those_who_were_late_in_it() {
        let of = |ms: i64| {
            (9_000, format!("PM: resume devices took {}.{:03} seconds", ms / 1_000, ms % 1_000))
        };
        let (end, text) = of(7_250);
        let late = [
            (1_200, "ata9: link is slow to respond, please be patient (ready=0)"),
            (6_000, "ata7: link is slow to respond, please be patient (ready=0)"),
            (8_500, "ata7.00: configured for UDMA/133"),
            (end, text.as_str()),
        ];
        let found = said(&late).expect("a long phase");
        assert!(found.contains("7.25 s") && found.contains("ata7 was late in it"), "{found}");
        assert!(found.contains("500 ms before the end"), "{found}");
        // A name of PCI or USB is whole.
        let dead = "xhci_hcd 0000:03:00.0: xHCI host controller not responding, assume dead";
        let found = said(&[(6_000, dead), (end, text.as_str())]).expect("a long phase");
        assert!(found.contains(" 0000:03:00.0 was late in it"), "{found}");
        let stuck = "xhci_hcd 0000:00:14.0: Timeout while waiting for setup device command";
        let found = said(&[(6_000, stuck), (end, text.as_str())]).expect("a long phase");
        assert!(found.contains(" 0000:00:14.0 was late in it"), "{found}");
        let named = [
            (7_000, "PM: resume of drv:xhci_hcd dev:0000:00:14.0 complete after 810.000 msecs"),
            (8_000, "PM: resume of drv:scsi_disk dev:6:0:0:0 complete after 500.000 msecs"),
            (8_001, "PM: resume of drv:sd dev:6:0:0:0 complete after 499.000 msecs"),
            (end, text.as_str()),
        ];
        let found = said(&named).expect("a long phase");
        assert!(found.contains("0000:00:14.0 (xhci_hcd) 810 ms, 6:0:0:0 (sd) 499 ms"), "{found}");
        assert!(found.contains("1.3 s of it: who took the rest is not there"), "{found}");
        let good = |at, ms| (at, format!("PM: resume of devices complete after {ms}.103 msecs"));
        let (a, b, c) = (good(900, 283), good(2_000, 291), good(9_000, 5_431));
        let three = [(a.0, a.1.as_str()), (b.0, b.1.as_str()), (c.0, c.1.as_str())];
        let found = said(&three).expect("a long phase");
        assert!(
            found.contains("The other 2 times that the text tells of it took 283 ms to 291 ms"),
            "{found}"
        );
        assert!(!said(&[three[2], three[2]]).expect("a long phase").contains("other"));
        assert!(said(&[(end, "Component: resume devices, time: 7250")]).is_some());
        assert!(said(&[(end, of(2_400).1.as_str())]).is_none());
    }
}
