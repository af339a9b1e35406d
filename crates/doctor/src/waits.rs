//! Which device a sleep without callbacks waited for, as far as the kernel's own lines tell.
//!
//! Without `pm_print_times` a log still says that a device was not ready for so long, that a
//! link is slow, that firmware was loaded or a port was reset. What the kernel counts itself is
//! certain. What a device says it waits for, and says to be over, is likely. A silence that a
//! device's line begins or ends is a guess: others say nothing and may be as slow.

use crate::Case;
use crate::finding::{Confidence, Device};
use crate::formats::all;
use crate::message::{Message, Trust, thousandths};
use crate::rules::abort::owner;
use crate::stage::Stages;
use crate::words::Words;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;

/// A silence or a wait below this names nobody: lines of one device come as far apart while
/// others work. Ours.
pub const LEAST: Ns = Ns(100_000_000);

/// What a device says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// It was not ready after it was to come back (drivers/pci/pci.c:pci_dev_wait).
    NotReady,
    /// Its link came up late (drivers/ata/libata-core.c:ata_wait_ready).
    Link,
    /// It was reset (drivers/usb/core/hub.c:hub_port_init, and drivers' own words).
    Reset,
    /// It did not answer in time.
    Timeout,
    /// Its firmware was loaded or started.
    Firmware,
    /// A disk wrote its cache, stopped or spun up (drivers/scsi/sd.c).
    Disk,
    /// It was the next to speak, or the last.
    Silence,
}

impl Cause {
    /// The word of JSON.
    pub fn name(self) -> &'static str {
        match self {
            Cause::NotReady => "not_ready",
            Cause::Link => "link",
            Cause::Reset => "reset",
            Cause::Timeout => "timeout",
            Cause::Firmware => "firmware",
            Cause::Disk => "disk",
            Cause::Silence => "silence",
        }
    }
}

/// A device that the lines of a sleep say was waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The device, as the log names it.
    pub device: Device,
    /// On which way; `None` where the lines do not tell.
    pub direction: Option<Direction>,
    /// What its longest wait was.
    pub cause: Cause,
    /// What the kernel counted, or what passed between lines, all its waits together.
    pub time: Ns,
    /// The kernel counted it; else it passed between lines, and others may have been waited
    /// for meanwhile.
    pub counted: bool,
    /// How sure it is that this device was waited for.
    pub confidence: Confidence,
    /// Line of the message that tells it best.
    pub line: u64,
    /// That message.
    pub text: String,
}

/// A piece of time for which a message names a device.
struct Piece<'a> {
    device: Device,
    direction: Option<Direction>,
    cause: Cause,
    span: Option<(Ns, Ns)>,
    counted: Option<Ns>,
    confidence: Confidence,
    message: &'a Message,
}

/// Devices that the messages of each range of lines say were waited for, longest first.
pub fn waits(case: &Case, ranges: &[(u64, u64)]) -> Vec<Vec<Wait>> {
    let stages = Stages::new(&case.messages);
    ranges.iter().map(|&(first, last)| of_range(case, &stages, first, last)).collect()
}

fn of_range(case: &Case, stages: &Stages<'_>, first: u64, last: u64) -> Vec<Wait> {
    let begin = case.messages.partition_point(|m| m.line < first);
    let end = case.messages.partition_point(|m| m.line <= last);
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    let mut before: Option<usize> = None;
    // What a device announced and has not ended.
    let mut open: Vec<(Device, Cause, usize)> = Vec::new();
    for at in begin..end.max(begin) {
        let m = &case.messages[at];
        if m.trust != Trust::Logged {
            continue;
        }
        let speaker = speaker(&m.text);
        let piece = |device: &Device, direction, cause, confidence| Piece {
            device: device.clone(),
            direction,
            cause,
            span: None,
            counted: None,
            confidence,
            message: m,
        };
        // No wait is longer than the half that it is in has run.
        let lasted = |ns: &Ns| {
            let since = case.messages[begin].time.zip(m.time).map(|(a, b)| b.since(a));
            since.is_none_or(|s| *ns <= s + LEAST)
        };
        let counted = counted(&m.text).filter(lasted);
        if let Some((device, counted)) = speaker.as_ref().zip(counted) {
            let direction =
                direction_of(&m.text).or_else(|| stages.at(at, &[]).map(|s| s.direction));
            // What took so long it may not say.
            let cause = cause(&m.text).unwrap_or(Cause::NotReady);
            let told = piece(device, direction, cause, Confidence::Certain);
            pieces.push(Piece { counted: Some(counted), ..told });
        }
        if m.time.is_none() {
            continue;
        }
        let mut told = false;
        if let Some(device) = &speaker {
            let ended = open.iter().position(|o| o.0 == *device);
            if let Some((device, cause, from)) = ended.map(|i| open.swap_remove(i))
                && let Some((span, direction)) = within(case, stages, from, at)
            {
                let wait = piece(&device, Some(direction), cause, Confidence::Likely);
                pieces.push(Piece { span: Some(span), ..wait });
                told = true;
            }
            if let Some(cause) = announced(&m.text) {
                open.push((device.clone(), cause, at));
            }
        }
        // A silence before the message.
        if let Some(from) = before.filter(|_| !told)
            && let Some((span, direction)) = within(case, stages, from, at)
        {
            // What a disk says stands before what it does (drivers/scsi/sd.c:sd_suspend_common).
            let ends = speaker.as_ref().map(|d| (d, cause(&m.text)));
            let ends = ends.filter(|e| e.1 != Some(Cause::Disk));
            let last = &case.messages[from];
            let began = self::speaker(&last.text).zip(announced(&last.text));
            let (device, cause, confidence, message) = match (ends, began) {
                (Some((d, Some(cause))), _) => (d.clone(), cause, Confidence::Likely, m),
                (_, Some((d, cause))) => (d, cause, Confidence::Guess, last),
                (Some((d, None)), None) => (d.clone(), Cause::Silence, Confidence::Guess, m),
                (None, None) => {
                    before = Some(at);
                    continue;
                }
            };
            let wait = piece(&device, Some(direction), cause, confidence);
            pieces.push(Piece { span: Some(span), message, ..wait });
        }
        before = Some(at);
    }
    ranked(pieces)
}

/// The time between two messages, where it is long, of one half, and of devices.
fn within(
    case: &Case,
    stages: &Stages<'_>,
    from: usize,
    to: usize,
) -> Option<((Ns, Ns), Direction)> {
    let (a, b) = (case.messages[from].time?, case.messages[to].time?);
    if b.since(a) < LEAST {
        return None;
    }
    let stage = stages.between(from, to)?;
    let others = [
        Phase::Sync,
        Phase::Freeze,
        Phase::FreezeUser,
        Phase::FreezeKernel,
        Phase::Thaw,
        Phase::Console,
        Phase::CpuOff,
    ];
    // While an image is written or read nobody waits for the devices that come back beside it.
    let devices = stage.work.is_none() && stage.phase.is_none_or(|p| !others.contains(&p));
    devices.then_some(((a, b), stage.direction))
}

/// One entry a device and half: what was counted, else all its time between lines.
fn ranked(mut pieces: Vec<Piece<'_>>) -> Vec<Wait> {
    // Lines that count a wait of no known half belong to the half that the device has.
    let known: Vec<(Device, Option<Direction>)> =
        pieces.iter().map(|p| (p.device.clone(), p.direction)).filter(|p| p.1.is_some()).collect();
    for p in pieces.iter_mut().filter(|p| p.direction.is_none()) {
        p.direction = known.iter().find(|k| k.0 == p.device).and_then(|k| k.1);
    }
    pieces.sort_by(|x, y| {
        let key = |p: &Piece<'_>| (p.device.name.clone(), p.direction, p.span);
        key(x).cmp(&key(y))
    });
    let mut out: Vec<Wait> = Vec::new();
    for group in
        pieces.chunk_by(|x, y| x.device.name == y.device.name && x.direction == y.direction)
    {
        let counted = group.iter().filter_map(|p| Some((p.counted?, p))).max_by_key(|c| c.0);
        let mut between = Ns::ZERO;
        let mut until = Ns(i64::MIN);
        for (start, end) in group.iter().filter_map(|p| p.span) {
            between += end.since(start.max(until));
            until = until.max(end);
        }
        let longest = group.iter().filter(|p| p.span.is_some()).max_by_key(|p| {
            let (start, end) = p.span.unwrap_or_default();
            (std::cmp::Reverse(p.confidence), end.since(start))
        });
        let (time, piece) = match (counted, longest) {
            (Some((t, piece)), _) => (t, piece),
            (None, Some(piece)) => (between, piece),
            (None, None) => continue,
        };
        if time < LEAST {
            continue;
        }
        let driver = group.iter().find(|p| !p.device.driver.is_empty());
        out.push(Wait {
            device: driver.unwrap_or(piece).device.clone(),
            direction: piece.direction,
            cause: piece.cause,
            time,
            counted: counted.is_some(),
            confidence: piece.confidence,
            line: piece.message.line,
            text: piece.message.text.to_string(),
        });
    }
    out.sort_by_key(|w| (std::cmp::Reverse(w.time), w.line));
    out
}

/// The device that a message is said of: by its format, else `DRIVER DEVICE: …` or `ata3: …`.
pub(crate) fn speaker(text: &Words) -> Option<Device> {
    let known = all().recognise(text).and_then(|k| k.device);
    if let Some((driver, name)) = known.filter(|d| !d.1.is_empty()) {
        return Some(base(Device { name: name.into(), driver: driver.into() }));
    }
    text.split_once(": ").filter(|(head, _)| head.split(' ').count() <= 3)?;
    let device = owner(text);
    let word = |w: &str| {
        !w.is_empty() && w.bytes().all(|b| b.is_ascii_alphanumeric() || b":._-@/".contains(&b))
    };
    let number = device.name.bytes().any(|b| b.is_ascii_digit());
    // `CPU 3: …`, `PM: …` and programs are no devices.
    let lower = device.name.bytes().next().is_some_and(|b| b.is_ascii_lowercase());
    let is = match device.driver.as_str() {
        "" => number && lower && word(&device.name) && !device.name.contains(['/', '[']),
        // `irq 27: …`: a number alone is no name of the core's.
        driver => word(driver) && word(&device.name) && number && !is_number(&device.name),
    };
    is.then(|| base(device))
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|b| b.is_ascii_digit())
}

/// A port speaks for what hangs on it: `ata3.00` is `ata3`.
fn base(mut device: Device) -> Device {
    let port = device.name.strip_prefix("ata").and_then(|r| r.split_once('.'));
    if port.is_some_and(|(n, m)| [n, m].iter().all(|p| p.bytes().all(|b| b.is_ascii_digit()))) {
        let end = device.name.find('.').unwrap_or(device.name.len());
        device.name.truncate(end);
    }
    device
}

/// What the words of a message say that its device took time for.
fn cause(text: &str) -> Option<Cause> {
    let text = text.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|w| text.contains(w));
    Some(if has(&["ready "]) && text.contains("ms after ") {
        Cause::NotReady
    } else if has(&[
        "timed out",
        "timeout",
        "not responding",
        "no response",
        "did not respond",
        "failed to respond",
    ]) {
        Cause::Timeout
    } else if has(&["is slow to respond", "link up", "link is up", "link down", "link training"]) {
        Cause::Link
    } else if has(&[
        "firmware",
        "microcode",
        "fw version",
        "fw_version",
        "build time",
        "bootloader",
    ]) {
        Cause::Firmware
    } else if has(&["reset"]) && !refuses(&text) {
        Cause::Reset
    } else if has(&["starting disk", "stopping disk", "synchronizing scsi cache", "spinning up"]) {
        Cause::Disk
    } else {
        return None;
    })
}

/// Whether words, in lower case, say that a reset failed or was not done: a device that could not
/// be reset was not.
fn refuses(text: &str) -> bool {
    let Some(at) = text.find("reset") else { return false };
    let (before, behind) = (&text[..at], &text[at..]);
    let words = |t: &str, list: &[&str]| {
        t.split(|c: char| !(c.is_alphanumeric() || c == '\'')).any(|w| list.contains(&w))
    };
    words(
        before,
        &["failed", "fail", "unable", "cannot", "can't", "couldn't", "not", "no", "without"],
    ) || words(behind, &["failed", "fail", "fails", "failure", "error"])
}

/// What a message says that its device will take time for.
fn announced(text: &str) -> Option<Cause> {
    let low = text.to_ascii_lowercase();
    let begins = ["; waiting", "is slow", "please be patient", "starting disk", "stopping disk"];
    let also = ["synchronizing scsi cache", "resetting", "loading firmware", "reset "];
    let is = begins.iter().chain(&also).any(|w| low.contains(w));
    is.then(|| cause(text)).flatten()
}

/// The device that a message speaks of, and the time that it counts.
pub(crate) fn counts(text: &Words) -> Option<(Device, Ns)> {
    counted(text).and_then(|time| Some((speaker(text)?, time)))
}

/// The device that a message says begins with what takes time: a disk that stops.
pub(crate) fn begun(text: &Words) -> Option<Device> {
    announced(text).and_then(|_| speaker(text))
}

/// The device that a message says is late: it does not answer, or its link is slow.
pub(crate) fn late(text: &Words) -> Option<Device> {
    let is = match cause(text)? {
        Cause::NotReady | Cause::Timeout => true,
        Cause::Link => announced(text).is_some(),
        _ => false,
    };
    is.then(|| speaker(text)).flatten()
}

/// A way that the message itself names.
fn direction_of(text: &str) -> Option<Direction> {
    text.contains(" after resume").then_some(Direction::Resume)
}

/// A time that the kernel counted in a message of a device: `not ready 2047ms after resume`,
/// `… took 1200 ms`, `… after 350000 usecs`.
fn counted(text: &str) -> Option<Ns> {
    let ready = || {
        let rest = text.split_once("ready ")?.1;
        let (ms, why) = rest.split_once("ms after ")?;
        let asleep = why.starts_with("resume") || why.starts_with("PM D3");
        asleep.then(|| ms.parse::<i64>().ok())??.checked_mul(1_000_000)
    };
    // `after 2 s` is also when something will be done: it counts a wait where the words before
    // it tell of a cause.
    let later = ["will ", "retry", "retried", " in ", "autosuspend"];
    let waited = |before: &str| {
        (cause(before).is_some() || ["ready ", "up "].iter().any(|w| before.ends_with(w)))
            && !later.iter().any(|w| before.contains(w))
    };
    let worded = || {
        ["took ", "waited ", "after "].iter().find_map(|word| {
            let (before, rest) = text.split_once(word)?;
            if *word == "after " && !waited(before) {
                return None;
            }
            let rest = rest.trim_start();
            let value = thousandths(rest)?;
            let unit = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
            let unit = unit.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next()?;
            let thousandth: i64 = match unit {
                "us" | "usec" | "usecs" | "microseconds" => 1,
                "ms" | "msec" | "msecs" | "milliseconds" => 1_000,
                "s" | "sec" | "secs" | "second" | "seconds" => 1_000_000,
                _ => return None,
            };
            i64::try_from(value).ok()?.checked_mul(thousandth)
        })
    };
    // drivers/thermal/intel/intel_pch_thermal.c:pch_wpt_suspend, 5.13 to 7.3.
    let delayed = || {
        let (before, _) = text.split_once(" ms delay")?;
        let (_, ms) = before.rsplit_once(" after ")?;
        ms.parse::<i64>().ok()?.checked_mul(1_000_000)
    };
    ready().or_else(worded).or_else(delayed).map(Ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(lines: &[(i64, &str)]) -> Vec<String> {
        let say = |w: Wait| {
            let way = w.direction.map_or("?", Direction::name);
            let (cause, sure) = (w.cause.name(), w.confidence.name());
            format!("{} {way} {cause} {} {sure}", w.device.name, w.time.0 / 1_000_000)
        };
        waits(&Case::of_log(lines), &[(1, lines.len() as u64)])
            .remove(0)
            .into_iter()
            .map(say)
            .collect()
    }

    #[test]
    fn a_reset_that_failed_is_no_reset() {
        for text in ["elm 1: reset done", "elm 1: root hub lost power or was reset"] {
            assert_eq!(cause(text), Some(Cause::Reset), "{text}");
        }
        for text in ["elm 1: Failed to reset the oak", "elm 1: reset failed", "elm 1: can't reset"]
        {
            assert_eq!(cause(text), None, "{text}");
        }
    }

    #[test]
    fn what_the_kernel_counts_is_certain_and_what_a_device_ends_is_likely() {
        let list = told(&[
            (0, "PM: suspend entry (deep)"),
            (10, "Freezing remaining freezable tasks completed (elapsed 0.001 seconds)"),
            (20, "sd 4:0:0:0: [sdc] Synchronizing SCSI cache"),
            (820, "sd 4:0:0:0: [sdc] Stopping disk"),
            (2_000, "ACPI: EC: interrupt blocked"),
            (2_001, "Disabling non-boot CPUs ..."),
            (9_000, "Enabling non-boot CPUs ..."),
            (9_010, "ACPI: EC: interrupt unblocked"),
            (9_500, "pcieport 0000:00:1d.2: not ready 511ms after resume; waiting"),
            (10_200, "ata5: link is slow to respond, please be patient (ready=0)"),
            (11_400, "usb 3-2: reset SuperSpeed USB device number 4 using xhci_hcd"),
            (13_600, "ata5: SATA link up 3.0 Gbps (SStatus 123 SControl 300)"),
            (13_700, "OOM killer enabled."),
            (18_700, "igb 0000:09:00.0 enp9s0: igb: enp9s0 NIC Link is Up"),
        ]);
        assert_eq!(
            list,
            [
                "ata5 resume link 4100 likely",
                "4:0:0:0 suspend disk 1980 likely",
                "3-2 resume reset 1200 likely",
                "0000:00:1d.2 resume not_ready 511 certain",
            ]
        );
    }

    #[test]
    fn silence_across_the_sleep_names_nobody() {
        // The machine sleeps between the two, and no line says where.
        let list = told(&[
            (0, "PM: suspend entry (s2idle)"),
            (10, "Freezing remaining freezable tasks completed (elapsed 0.001 seconds)"),
            (20, "nvme 0000:71:00.0: platform quirk: setting simple suspend"),
            (7_000_000, "nvme nvme2: 12/0/0 default/read/poll queues"),
            (7_000_010, "OOM killer enabled."),
        ]);
        assert_eq!(list, Vec::<String>::new());
    }

    #[test]
    fn a_delay_that_a_driver_counts_is_certain() {
        let list = told(&[
            (0, "PM: suspend entry (s2idle)"),
            (5, "printk: Suspending console(s) (use no_console_suspend to debug)"),
            (9_905, "elm_thermal 0000:00:0b.0: board is cool [41C] after 9800 ms delay"),
            (9_950, "ACPI: EC: interrupt blocked"),
        ]);
        assert_eq!(list, ["0000:00:0b.0 suspend not_ready 9800 certain"]);
    }

    #[test]
    fn who_speaks_next_is_a_guess() {
        let list = told(&[
            (0, "PM: suspend entry (deep)"),
            (5, "Enabling non-boot CPUs ..."),
            (10, "ACPI: EC: interrupt unblocked"),
            (1_510, "mmc3: new HS400 MMC card at address 0001"),
            (1_520, "OOM killer enabled."),
        ]);
        assert_eq!(list, ["mmc3 resume silence 1500 guess"]);
        for other in ["irq 61: nobody cared (try booting with the \"irqpoll\" option)", "CPU 3: x"]
        {
            let list = told(&[
                (0, "PM: suspend entry (deep)"),
                (5, "Enabling non-boot CPUs ..."),
                (10, "ACPI: EC: interrupt unblocked"),
                (1_510, other),
                (1_520, "OOM killer enabled."),
            ]);
            assert_eq!(list, Vec::<String>::new());
        }
    }
}
