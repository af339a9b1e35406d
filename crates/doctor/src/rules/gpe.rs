//! Events of the firmware that nothing handles, or that come without end.

use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::{Message, Trust};
use dormouse_base::say;
use dormouse_base::time::Ns;

/// `ACPI Error: No handler or method for GPE 2E, disabling event`, with a bracket around the
/// number before 3.14 (drivers/acpi/acpica/evgpe.c:acpi_ev_gpe_dispatch, 2.6.16 to 7.3).
const WORDS: &str = "No handler or method for GPE";

/// An event this long after the machine was back is of the wake-up.
const NEAR: Ns = Ns::from_ms(2_000);

/// What stands behind the words: the number of the event.
fn number(m: &Message) -> Option<u32> {
    let rest = m.after(WORDS)?.trim_start_matches([' ', '[']);
    let end = rest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len());
    u32::from_str_radix(&rest[..end], 16).ok()
}

/// The embedded controller is shut off on the way down and opened on the way up
/// (drivers/acpi/ec.c:acpi_ec_disable_event, 4.19 to 7.3): the time between is the sleep, as far
/// as the clock of the log ran in it.
fn away<'a>(case: &'a Case, event: &Message) -> Option<(Ns, [&'a Message; 2])> {
    let at = event.time?;
    let of = |word: &'static str| case.messages.having(word).map(|(_, m)| m);
    let near = |m: &&Message| m.time.is_some_and(|t| t <= at && at - t <= NEAR);
    let up = of("EC: interrupt unblocked").rfind(near)?;
    let down = of("EC: interrupt blocked").rfind(|m| m.line < up.line)?;
    let took = up.time? - down.time?;
    (took > Ns::ZERO).then_some((took, [down, up]))
}

/// So often an event is raised in no time that a machine runs between two boots, unless nobody
/// answers it: one that each percent of a battery raises comes some thousand times a week.
const STORM: u64 = 1_000_000;

/// A worker of ACPI that takes more of a CPU is busy with nothing else, in tenths of a per cent.
const BUSY: u64 = 250;

/// A row of `/sys/firmware/acpi/interrupts`, with or without its path: the event and how often
/// it was raised (drivers/acpi/sysfs.c:counter_show, 2.6.25 to 7.3).
fn counted(text: &str) -> Option<(&str, u64)> {
    let (head, rest) = text.split_once(':')?;
    let name = head.rsplit('/').next()?.trim();
    let of_one = name
        .strip_prefix("gpe")
        .is_some_and(|n| n.len() == 2 && n.bytes().all(|b| b.is_ascii_hexdigit()));
    let fixed = name.strip_prefix("ff_").is_some();
    let mut words = rest.split_whitespace();
    let count = words.next()?.parse().ok()?;
    let state = |w: &str| matches!(w, "enabled" | "disabled" | "invalid" | "masked" | "unmasked");
    ((of_one || fixed) && words.any(state)).then_some((name, count))
}

/// A row of `top`: a worker of ACPI, and its share of a CPU in tenths of a per cent.
fn busy(text: &str) -> Option<u64> {
    let name = text.split_whitespace().last()?;
    let acpi = name.contains("kacpi") && (name.starts_with("kworker/") || name.starts_with('['));
    let share = text.split_whitespace().nth(8).filter(|_| acpi)?.replace(',', ".");
    Some(crate::message::thousandths(&share)? / 100)
}

/// An event that is raised again and again keeps a CPU busy, and may end each sleep.
fn storm(case: &Case, out: &mut Vec<Finding>) {
    let words = ["gpe", "ff_"];
    let rows = case.messages.having_any(&words).filter(|(_, m)| m.trust != Trust::Logged);
    let rows: Vec<(&str, u64, &Message)> =
        rows.filter_map(|(_, m)| counted(&m.text).map(|(name, n)| (name, n, m))).collect();
    let Some(&(name, count, row)) = rows.iter().max_by_key(|r| r.1) else { return };
    let worker = case.messages.having("kacpi").filter_map(|(_, m)| Some((busy(&m.text)?, m)));
    let worker = worker.filter(|w| w.0 >= BUSY).max_by_key(|w| w.0);
    // A worker that is busy while the text shows one event above all is busy with that.
    let above = || rows.iter().all(|r| r.0 == name || r.1.saturating_mul(10) < count);
    if count < STORM && !(worker.is_some() && count >= STORM / 100 && above()) {
        return;
    }
    let event = match name.strip_prefix("gpe") {
        Some(number) => format!("GPE {number}"),
        None => format!("the fixed event {}", &name[3..]),
    };
    let cpu = match worker {
        Some((share, _)) => {
            format!(" A worker of ACPI takes {}.{} % of a CPU for it.", share / 10, share % 10)
        }
        None => String::new(),
    };
    let f = Finding::new(("wake-gpe-storm", Area::Mode, Level::Risk), Confidence::Likely)
        .says(format!(
            "The firmware raised {event} {} times since the start: a storm, which keeps a CPU busy, and may end sleeps or keep the machine from one.{cpu} Which device is behind it, its number alone does not tell.",
            say::grouped(count)
        ))
        .look("Read the counter twice, some seconds apart, to see whether it still grows; /proc/acpi/wakeup and the _Lxx or _Exx of that number in the ACPI tables name its device.");
    let f = match name.strip_prefix("gpe") {
        Some(number) => f.change(
            format!("echo disable > /sys/firmware/acpi/interrupts/{name}, to try; acpi_mask_gpe=0x{number} on the command line for good"),
            format!("echo enable > /sys/firmware/acpi/interrupts/{name}"),
            "What that event tells of (a key, a dock, the embedded controller) is not heard any more.",
        ),
        None => f,
    };
    let f = f.times(usize::try_from(count).unwrap_or(usize::MAX));
    out.push(f.shown_by(lines([row]).into_iter().chain(lines(worker.map(|w| w.1)))));
}

pub(crate) fn judge(case: &Case, out: &mut Vec<Finding>) {
    unhandled(case, out);
    storm(case, out);
    grew(case, out);
}

/// A counter that stands twice in the text and grew between: the event came in that time, which
/// is a sleep where the text has one.
fn grew(case: &Case, out: &mut Vec<Finding>) {
    let rows = case.messages.having_any(&["gpe", "ff_"]).map(|(_, m)| m);
    let mut first: Vec<(&str, u64, &Message)> = Vec::new();
    let mut all: Vec<(&str, u64, [&Message; 2], u64)> = Vec::new();
    for m in rows.filter(|m| m.trust != Trust::Logged) {
        let Some((name, n)) = counted(&m.text) else { continue };
        match first.iter().find(|f| f.0 == name) {
            Some(&(_, before, row)) if n > before => all.push((name, n - before, [row, m], n)),
            Some(_) => {}
            None => first.push((name, n, m)),
        }
    }
    let Some(&(name, by, shown, to)) = all.iter().max_by_key(|g| g.1) else { return };
    let spoke = !case.attempts.is_empty() || case.night.slept_at_all();
    if out.iter().any(|f| f.id == "wake-gpe-storm") || by < 2 && !spoke {
        return;
    }
    let number = name.strip_prefix("gpe");
    let event = number.map_or_else(|| format!("the fixed event {name}"), |n| format!("GPE {n}"));
    let rest: Vec<String> =
        all.iter().filter(|g| g.0 != name).map(|g| format!("{} ({})", g.0, g.1)).collect();
    let rest = match rest[..] {
        [] => " No other counter of an event grew.".to_string(),
        _ => format!(" Others grew less: {}.", rest.join(", ")),
    };
    let owner = number.and_then(|n| owner(case, n));
    let who = match &owner {
        Some((device, m)) => format!(" \"{}\" names its device: {device}.", m.text.trim()),
        None => " Which device is behind it, its number alone does not tell.".into(),
    };
    let f = Finding::new(("wake-gpe-grew", Area::Mode, Level::Risk), Confidence::Likely)
        .says(format!(
            "The firmware raised {event} {} between the two readings of its counter (to {}).{rest}{who} Each of them may have ended a sleep.",
            say::once(usize::try_from(by).unwrap_or(usize::MAX)),
            say::grouped(to)
        ))
        .look("/proc/acpi/wakeup lists who may wake the machine: write the name of that device to it to switch it off, and read the counter around a sleep again.")
        .times(usize::try_from(by).unwrap_or(usize::MAX))
        .shown_by(lines(shown))
        .shown_by(lines(owner.map(|o| o.1)));
    out.push(f);
}

/// Whom the method of an event tells, where the text quotes it (`_L6D`, `_E6D`: ACPI 6.5,
/// 5.6.4.1.1, edge and level), with the address that `/proc/acpi/wakeup` has for that node.
fn owner<'a>(case: &'a Case, number: &str) -> Option<(String, &'a Message)> {
    let names = [format!("_L{number}"), format!("_E{number}")];
    let tells = |m: &&Message| m.text.contains("Notify") && names.iter().any(|n| m.has(n));
    let m = case.messages.having("Notify").map(|(_, m)| m).find(tells)?;
    let rest = m.after("Notify")?.trim_start_matches([' ', '(']);
    let end = rest.find([',', ')', ' ']).unwrap_or(rest.len());
    let node = rest[..end].rsplit(['.', '\\']).next().filter(|n| !n.is_empty())?;
    let row = |m: &Message| {
        let mut words = m.text.split_whitespace();
        let is = words.next() == Some(node);
        words.find(|w| is && w.starts_with("pci:")).map(ToString::to_string)
    };
    let address = case.messages.having("pci:").find_map(|(_, m)| row(m));
    let address = address.map(|a| format!(" ({})", &a[4..])).unwrap_or_default();
    Some((format!("{node}{address}"), m))
}

/// Events that nothing handles.
fn unhandled(case: &Case, out: &mut Vec<Finding>) {
    let said = case.messages.having(WORDS).filter(|(_, m)| m.trust != Trust::Prose);
    let events: Vec<(u32, &Message)> = said.filter_map(|(_, m)| Some((number(m)?, m))).collect();
    let Some(&(_, first)) = events.first() else { return };
    let mut numbers: Vec<u32> = events.iter().map(|e| e.0).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let names: Vec<String> = numbers.iter().map(|n| format!("{n:#04x}")).collect();
    let away = events.iter().find_map(|e| away(case, e.1));
    let when = match &away {
        Some((took, _)) => format!(
            " It came as the machine woke up: between the lines of the embedded controller it was away for {}.",
            say::span(*took)
        ),
        None => String::new(),
    };
    let asleep = away.is_some() || !case.attempts.is_empty();
    if !asleep {
        return;
    }
    let f = Finding::new(("wake-gpe-unhandled", Area::Mode, Level::Note), Confidence::Certain)
        .says(format!(
            "The firmware raised GPE {}, for which neither a driver nor a method of its tables is there: the kernel switched that event off.{when} The sleep itself did not fail by it; what stands behind the event no longer tells of itself, and does not wake the machine, until the next start.",
            names.join(" and ")
        ))
        .look("/proc/acpi/wakeup and the _PRW of the ACPI tables name the device of a GPE; /sys/firmware/acpi/interrupts/gpeNN counts it. A newer firmware may bring the method that is missing.")
        .times(events.len())
        .shown_by(lines([first]))
        .shown_by(away.into_iter().flat_map(|a| lines(a.1)));
    out.push(f);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_of_an_event_that_grew_over_a_sleep_is_told_with_its_device() {
        let rows = [
            "/sys/firmware/acpi/interrupts/gpe0B:       4  EN     enabled      unmasked",
            "< /sys/firmware/acpi/interrupts/gpe42:       9  EN     enabled      unmasked",
            "/sys/firmware/acpi/interrupts/gpe0B:       4  EN     enabled      unmasked",
            "/sys/firmware/acpi/interrupts/gpe42:      31  EN     enabled      unmasked",
            "ELM0      S3    *enabled   pci:0000:00:1c.4",
            "_L42 does Notify (\\_SB.PCI0.ELM0, 0x02).",
        ];
        let judged = |rows: &[&str]| {
            let lines: Vec<(i64, &str)> = rows.iter().map(|r| (0, *r)).collect();
            let mut case = Case::of_log(&lines);
            let mut messages = case.messages.to_vec();
            messages.iter_mut().for_each(|m| m.trust = Trust::Shown);
            case.messages = messages.into();
            let mut out = Vec::new();
            grew(&case, &mut out);
            out.pop().map(|f| f.sentence)
        };
        let said = judged(&rows).expect("a finding");
        assert!(said.contains("GPE 42 22 times") && said.contains("ELM0 (0000:00:1c.4)"), "{said}");
        assert!(said.contains("No other counter"), "{said}");
        assert_eq!(judged(&rows[..3]), None);
    }

    #[test]
    fn an_event_that_nothing_handles_is_told_around_a_sleep() {
        let judged = |log: &[(i64, &str)]| {
            let mut out = Vec::new();
            judge(&Case::of_log(log), &mut out);
            out.pop().map(|f| f.sentence)
        };
        let event =
            "ACPI Error: No handler or method for GPE 2E, disabling event (20250404/evgpe-839)";
        let said = judged(&[
            (1_000, "ACPI: EC: interrupt blocked"),
            (61_000, "ACPI: EC: interrupt unblocked"),
            (61_050, event),
        ])
        .expect("a finding");
        assert!(said.contains("GPE 0x2e") && said.contains("1 min 0 s"), "{said}");
        assert_eq!(judged(&[(1_000, event)]), None, "a boot is no sleep");
        let late = [(0, "ACPI: EC: interrupt blocked"), (9_000, "ACPI: EC: interrupt unblocked")];
        assert_eq!(judged(&[late[0], late[1], (60_000, event)]), None);
    }
}
