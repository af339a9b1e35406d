//! Waits of one device outside of a sleep's phases: lines that it prints again and again until it
//! answers, or is given up. First stamp, last stamp, how often, and how it ended.

use super::abort::owner;
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Device, Finding, Level};
use crate::message::Message;
use crate::said::shows_sleep;
use dormouse_base::phase::Direction;
use dormouse_base::say;
use dormouse_base::time::Ns;

/// How such a wait ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// The text does not show it.
    Open,
    Up,
    Down,
    GivenUp,
}

/// Lines of one kind of wait.
struct Family {
    /// A wait begins with one of these.
    begins: &'static [&'static str],
    /// These tell that it goes on; without any of them nothing was waited for.
    goes: &'static [&'static str],
    ends: &'static [(&'static str, End)],
    /// So much passes between two lines of one wait at most.
    most: Ns,
    /// What it did, behind its name and before how long; and what was counted.
    did: &'static str,
    counts: &'static str,
    area: Area,
}

const SECOND: i64 = 1_000_000_000;

/// A line that libata prints 5 s into a wait (drivers/ata/libata-core.c:ata_wait_ready, 2.6.30 to
/// 7.3).
const SLOW: &str = "link is slow to respond, please be patient";
const SLOW_AFTER: Ns = Ns(5 * SECOND);

const FAMILIES: [Family; 3] = [
    // drivers/ata/libata-core.c:ata_wait_ready, libata-eh.c:ata_eh_reset, libata-core.c:
    // sata_print_link_status, 6.12; kernels of vendors say how disks wake.
    Family {
        begins: &[SLOW, "wake up from deepsleep", "hard resetting link"],
        goes: &[SLOW, "wake up from deepsleep", "COMRESET failed", "softreset failed"],
        ends: &[
            ("SATA link up", End::Up),
            ("wake up successful", End::Up),
            ("SATA link down", End::Down),
            ("reset failed, giving up", End::GivenUp),
        ],
        most: Ns(90 * SECOND),
        did: "waited for its link",
        counts: "line",
        area: Area::Storage,
    },
    // drivers/usb/core/hub.c:hub_port_init, hub_port_connect, 6.12. A read of a descriptor is
    // given 5 s three times.
    Family {
        begins: &["-speed USB device number "],
        goes: &[
            "device descriptor read/",
            "device not accepting address ",
            "Device not responding to setup ",
        ],
        ends: &[
            ("unable to enumerate USB device", End::GivenUp),
            ("New USB device found", End::Up),
            ("USB disconnect", End::Down),
        ],
        most: Ns(60 * SECOND),
        did: "did not answer",
        counts: "error",
        area: Area::Phase,
    },
    // drivers/base/firmware_loader/main.c:_request_firmware, fallback.c:
    // firmware_fallback_sysfs, 4.x to 7.3: a program has 60 s to give the file
    // (fallback_table.c: loading_timeout).
    Family {
        begins: &["Falling back to user helper", "Falling back to sysfs fallback for"],
        goes: &["Direct firmware load for "],
        ends: &[],
        most: Ns(70 * SECOND),
        did: "waited for firmware that was not found",
        counts: "file",
        area: Area::Phase,
    },
];

/// What takes less is usual: a disk spins up. Ours.
const LEAST: Ns = Ns(5 * SECOND);

/// So many devices are named.
const NAMED: usize = 4;

/// So long behind a sleep a wait is said to be behind it.
const BEHIND: Ns = Ns(300 * SECOND);

/// One wait.
struct Wait<'a> {
    device: Device,
    at: usize,
    first: &'a Message,
    last: &'a Message,
    /// Lines that tell that it goes on, and the first of them.
    count: usize,
    told: Option<&'a Message>,
    before: Ns,
    end: End,
}

impl Wait<'_> {
    fn length(&self) -> Ns {
        let passed = self.first.time.zip(self.last.time).map_or(Ns(0), |(a, b)| b - a);
        Ns(passed.0.saturating_add(self.before.0))
    }

    fn is_open(&self, now: &Message, most: Ns) -> bool {
        let passed = self.last.time.zip(now.time).map(|(a, b)| b - a);
        self.end == End::Open && passed.is_some_and(|t| t.0 >= 0 && t <= most)
    }
}

/// The device of a message: a port and its drives are one, and so are a port of a hub and what
/// is plugged in there.
fn device(text: &str) -> Device {
    if text.starts_with("ata") {
        let name = text.split([' ', ':', '.']).next().unwrap_or("");
        return Device { name: name.into(), ..Device::default() };
    }
    let device = owner(text);
    match device.name.split_once("-port") {
        Some((hub, port)) if device.driver == "usb" || hub.starts_with("usb") => {
            let name = match hub.strip_prefix("usb") {
                Some(bus) => format!("{bus}-{port}"),
                None => format!("{hub}.{port}"),
            };
            Device { name, driver: "usb".into() }
        }
        _ => device,
    }
}

/// The waits of one family, in the order of the text.
fn waits<'a>(case: &'a Case, f: &Family) -> Vec<Wait<'a>> {
    let all: Vec<&str> =
        f.begins.iter().chain(f.goes).copied().chain(f.ends.iter().map(|e| e.0)).collect();
    let inside = |at: usize| case.attempts.iter().any(|a| (a.first..a.end).contains(&at));
    let mut out: Vec<Wait<'a>> = Vec::new();
    for (at, m) in case.messages.having_any(&all) {
        if !m.trust.is_of_a_kernel() || m.time.is_none() || inside(at) {
            continue;
        }
        let device = device(&m.text);
        if device.name.is_empty() {
            continue;
        }
        let has = |words: &[&str]| words.iter().any(|w| m.has(w));
        let end = f.ends.iter().find(|e| m.has(e.0)).map(|e| e.1);
        let open = out.iter_mut().rfind(|w| w.device.name == device.name);
        let open = open.filter(|w| w.is_open(m, f.most));
        let goes = usize::from(has(f.goes));
        match (open, end) {
            (Some(w), end) => {
                w.last = m;
                w.count += goes;
                w.told = w.told.or(Some(m).filter(|_| goes > 0));
                w.end = end.unwrap_or(End::Open);
            }
            (None, None) if has(f.begins) => {
                let before = if m.has(SLOW) { SLOW_AFTER } else { Ns(0) };
                let (first, last, count, told) = (m, m, goes, None);
                out.push(Wait { device, at, first, last, count, told, before, end: End::Open });
            }
            (None, _) => {}
        }
    }
    out.retain(|w| w.count > 0 && w.last.line > w.first.line && w.length() >= LEAST);
    out
}

/// How a wait ended, behind a comma.
fn ended(end: End, area: Area) -> &'static str {
    match (end, area) {
        (End::Open, _) => "how it ended, the text does not show",
        (End::Up, _) => "then it answered",
        // sata_print_link_status prints this of a port without a disk, too.
        (End::Down, Area::Storage) => "then the link was down: no disk was seen there",
        (End::Down, _) => "then it was gone",
        (End::GivenUp, _) => "then the kernel gave it up",
    }
}

/// How long it took, how often it said so, and the end.
fn told(w: &Wait<'_>, f: &Family) -> String {
    format!(
        "{} for {} ({}; {})",
        f.did,
        say::span(w.length()),
        say::plural(w.count, f.counts),
        ended(w.end, f.area)
    )
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    for f in &FAMILIES {
        let mut list: Vec<Wait<'_>> = Vec::new();
        // Of each device the longest.
        let mut all = waits(case, f);
        all.sort_by_key(|w| std::cmp::Reverse(w.length()));
        for w in all {
            if !list.iter().any(|l| l.device.name == w.device.name) {
                list.push(w);
            }
        }
        // Who is told of already needs no finding more; what its disk did took this long.
        list.retain(|w| {
            let of = |x: &&mut Finding| x.about.devices.iter().any(|d| d.name == w.device.name);
            let Some(known) = out.iter_mut().find(of) else { return true };
            if matches!(known.id, "disk-silent" | "device-errors-since") {
                known.sentence += &format!(" It {}.", told(w, f));
            }
            false
        });
        let Some(first) = list.first() else { continue };
        let sleep = case.attempts.iter().rfind(|a| a.end <= first.at);
        let behind = sleep.filter(|a| {
            let end = a.exit.or_else(|| case.messages[..a.end].last()?.time);
            let passed = end.zip(first.first.time).map(|(e, t)| t - e);
            passed.is_some_and(|t| t.0 >= 0 && t <= BEHIND)
        });
        let place = match (behind, !shows_sleep(case)) {
            (Some(a), _) => format!(" behind the sleep of line {}", case.messages[a.first].line),
            (None, true) => String::from(". The text has no line of a sleep"),
            (None, false) => String::new(),
        };
        let more: Vec<String> = list
            .iter()
            .skip(1)
            .take(NAMED - 1)
            .map(|w| format!(" {} {}.", say::device(&w.device), told(w, f)))
            .collect();
        let left = match list.len().saturating_sub(NAMED) {
            0 => String::new(),
            n => format!(" Others that waited: {n}."),
        };
        let given_up = list.iter().any(|w| w.end == End::GivenUp);
        let level = if given_up { Level::Broken } else { Level::Slow };
        let found = Finding::new(("device-waited", f.area, level), Confidence::Likely)
            .says(format!(
                "{} {}{place}.{}{left}",
                say::device(&first.device),
                told(first, f),
                more.concat()
            ))
            .look(match f.area {
                Area::Storage => "A disk that spins up needs 5 to 10 s; one that needs more, or none, may have a weak supply, a bad cable or an empty port.",
                _ if f.ends.is_empty() => "Give the driver its file (the package of firmware), or a kernel without the fallback (CONFIG_FW_LOADER_USER_HELPER_FALLBACK): the wait is for a program that does not answer.",
                _ => "Try the device in another port and without its hub; if it is built in, look whether it is needed and whether its firmware has an update.",
            })
            .of_devices(list.iter().take(NAMED).map(|w| w.device.clone()))
            .times(first.count)
            .costs(first.length())
            .shown_by(lines(
                [Some(first.first), first.told.filter(|m| m.line != first.last.line), Some(first.last)]
                    .into_iter()
                    .flatten(),
            ));
        out.push(match behind {
            Some(_) => found.when(Some(Direction::Resume), None).at("resume"),
            None => found.at(""),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(log: &[(i64, &str)]) -> Vec<String> {
        let mut out = Vec::new();
        judge(&Case::of_log(log), &mut out);
        out.into_iter().map(|f| f.sentence).collect()
    }

    #[test]
    fn a_link_that_is_slow_is_timed_to_its_end() {
        let log = [
            (7_000, "ata9: link is slow to respond, please be patient (ready=0)"),
            (12_000, "ata9: COMRESET failed (errno=-16)"),
            (12_500, "ata9: SATA link down (SStatus 0 SControl 300)"),
        ];
        let found = said(&log);
        assert_eq!(
            found,
            ["ata9 waited for its link for 10.5 s (2 lines; then the link was down: no disk was \
              seen there). The text has no line of a sleep."]
        );
        let quick = [(7_000, "ata9: hard resetting link"), (7_300, "ata9: SATA link up 3.0 Gbps")];
        assert!(said(&quick).is_empty());
        let long = [(7_000, "ata9: hard resetting link"), (47_300, "ata9: SATA link up 3.0 Gbps")];
        assert!(said(&long).is_empty(), "no line says that it was waited for");
    }

    #[test]
    fn two_disks_that_wake_are_told_the_slowest_first() {
        let log = [
            (100_000, "ata7 (slot 3): wake up from deepsleep, reset link now"),
            (101_000, "ata5: wake up from deepsleep, reset link now"),
            (108_000, "ata7: SATA link up 6.0 Gbps (SStatus 133 SControl 300)"),
            (108_010, "ata7: wake up successful, the reset fail can be ignored"),
            (115_000, "ata5: wake up successful, the reset fail can be ignored"),
        ];
        let found = said(&log);
        let [one] = &found[..] else { panic!("{found:?}") };
        assert!(one.starts_with("ata5 waited for its link for 14.0 s (1 line; then it"), "{one}");
        assert!(one.contains("ata7 waited for its link for 8.0 s"), "{one}");
    }

    #[test]
    fn a_port_and_its_device_are_one() {
        let log = [
            (20_000, "usb 3-4: new low-speed USB device number 9 using oak_hcd"),
            (36_000, "usb 3-4: device descriptor read/64, error -110"),
            (52_000, "usb 3-4: device descriptor read/64, error -110"),
            (54_000, "usb usb3-port4: unable to enumerate USB device"),
        ];
        let found = said(&log);
        let all = "3-4 (usb) did not answer for 34.0 s (2 errors; then the kernel gave it up)";
        assert!(found[0].starts_with(all), "{found:?}");
        assert_eq!(device("usb 3-4-port2: unable to enumerate USB device").name, "3-4.2");
        let well = [(20_000, log[0].1), (99_000, "usb 3-4: reset low-speed USB device number 9")];
        assert!(said(&well).is_empty());
    }

    #[test]
    fn firmware_that_nobody_gives_is_waited_for() {
        let log = [
            (9_000, "elm 0000:09:00.0: Direct firmware load for elm-4.fw failed with error -2"),
            (9_001, "elm 0000:09:00.0: Falling back to sysfs fallback for: elm-4.fw"),
            (69_500, "elm 0000:09:00.0: Direct firmware load for elm-3.fw failed with error -2"),
        ];
        let found = said(&log);
        assert!(
            found[0].starts_with(
                "0000:09:00.0 (elm) waited for firmware that was not found for 1 min 0 s (1 file;"
            ),
            "{found:?}"
        );
        assert!(said(&log[..2]).is_empty());
    }
}
