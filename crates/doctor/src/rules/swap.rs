//! Swap areas that a text lists, and which of them the kernel resumes from.

use crate::case::Case;
use crate::message::Message;
use dormouse_base::say;

/// An area.
pub(super) struct Area<'a> {
    /// `/dev/sda3`, `/swapfile`.
    file: &'a str,
    /// It lies in a file of a file system.
    is_file: bool,
    /// What is free of it, KiB.
    free: u64,
    message: &'a Message,
}

/// KiB of `512M`, as `swapon --show` prints it (util-linux, sys-utils/swapon.c).
fn kib(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let unit: u64 = match text[end..].trim_end_matches("iB") {
        "B" => 0,
        "K" => 1,
        "M" => 1 << 10,
        "G" => 1 << 20,
        "T" => 1 << 30,
        _ => return None,
    };
    let (whole, part) = text[..end].split_once('.').unwrap_or((&text[..end], ""));
    let tenth = part.chars().next().and_then(|c| c.to_digit(10)).unwrap_or(0);
    let whole = whole.parse::<u64>().ok()?.checked_mul(unit)?;
    whole.checked_add(unit * u64::from(tenth) / 10)
}

/// A row of `/proc/swaps`, of which sizes are in KiB (mm/swapfile.c:swap_show): file, type, size,
/// used, priority. `swapon --show` has the same columns with units.
fn row(m: &Message) -> Option<Area<'_>> {
    let mut words = m.text.split_whitespace();
    let (file, kind) = (words.next()?, words.next()?);
    let (size, used) = (words.next()?, words.next()?);
    // The priority is missing where a line was cut.
    let rest = words.next().is_none_or(|p| p.parse::<i32>().is_ok()) && words.next().is_none();
    if !(file.starts_with('/') && matches!(kind, "file" | "partition") && rest) {
        return None;
    }
    let number = |t: &str| t.parse::<u64>().ok();
    let (size, used) = match number(size) {
        Some(size) => (size, number(used)?),
        None => (kib(size)?, kib(used)?),
    };
    Some(Area { file, is_file: kind == "file", free: size.checked_sub(used)?, message: m })
}

impl Area<'_> {
    /// zram keeps its pages in memory (drivers/block/zram/zram_drv.c:zram_write_page), which a
    /// hibernation switches off: an image has no room there.
    fn is_memory(&self) -> bool {
        self.file.starts_with("/dev/zram")
    }
}

/// Every area of the text; one that is listed again is listed once.
pub(super) fn rows(case: &Case) -> Vec<Area<'_>> {
    let mut out: Vec<Area<'_>> = Vec::new();
    for area in case.messages.iter().filter_map(row) {
        if !out.iter().any(|a| a.file == area.file) && out.len() < MOST {
            out.push(area);
        }
    }
    out
}

/// So many areas are kept.
const MOST: usize = 32;

/// The name of a disk's partition by its numbers, where these say it: SCSI disks have 16 each
/// (Documentation/admin-guide/devices.txt, major 8).
fn partition(numbers: &str) -> Option<String> {
    let (major, minor) = numbers.split_once(':')?;
    let minor: u8 = minor.parse().ok().filter(|_| major == "8")?;
    let disk = char::from(b'a' + minor / 16);
    Some(match minor % 16 {
        0 => format!("/dev/sd{disk}"),
        n => format!("/dev/sd{disk}{n}"),
    })
}

/// What is free, and what the kernel resumes from, in a sentence with the lines that say so;
/// nothing if no room is free.
pub(super) fn free<'a>(case: &Case, areas: &[Area<'a>]) -> (String, Vec<&'a Message>) {
    let (memory, areas): (Vec<&Area<'a>>, Vec<_>) = areas.iter().partition(|a| a.is_memory());
    let all = areas.iter().fold(0u64, |n, a| n.saturating_add(a.free));
    if all == 0 {
        let Some(one) = memory.first().filter(|_| areas.is_empty()) else {
            return Default::default();
        };
        let text = format!(
            " By the list of swaps there is {} alone: it lies in memory, so it holds no image.",
            one.file
        );
        return (text, vec![one.message]);
    }
    let mib = |kib: u64| say::grouped(kib / 1_024);
    let count = match areas.len() {
        1 => String::new(),
        n => format!(" in {n} areas"),
    };
    let mut text = format!(
        " By the list of swaps {} MiB of swap are free all the same{count}: systemd counts none that the kernel does not resume from (resume= and resume_offset=, or /sys/power/resume).",
        mib(all)
    );
    let set = case.values.iter().rev().find(|v| v.path == "/sys/power/resume");
    let set = set.map(|v| v.value.as_str());
    let of = |name: &str| areas.iter().find(|a| a.file == name);
    // Of a swap file the kernel is told the device of its file system, and where in it the file
    // begins (Documentation/power/swsusp-and-swap-files.rst): mm/swapfile.c:swap_show lists the
    // file, and never that device.
    let files = areas.iter().any(|a| a.is_file);
    let elsewhere = |what: &str| match files {
        true => format!(
            "{what} must be the device on which the swap file lies, which that list does not name; compare resume_offset= with filefrag -v of the file (btrfs: btrfs inspect-internal map-swapfile -r)."
        ),
        false => format!("{what} is not in that list."),
    };
    if let Some(numbers) = set {
        text += &match (numbers, partition(numbers)) {
            ("0:0", _) => " /sys/power/resume is 0:0: no device is set.".into(),
            (_, Some(name)) => match of(&name) {
                Some(a) => format!(
                    " /sys/power/resume is {numbers}, which is {name} by its number: it is in that list, with {} MiB free.",
                    mib(a.free)
                ),
                None => format!(
                    " /sys/power/resume is {numbers}, which is {name} by its number: {}",
                    elsewhere("it")
                ),
            },
            (_, None) => format!(" /sys/power/resume is {numbers}."),
        };
    } else if let Some(name) = asked(case) {
        text += &match of(name) {
            Some(a) => format!(" resume={name} is in that list, with {} MiB free.", mib(a.free)),
            None => format!(" {}", elsewhere(&format!("resume={name}"))),
        };
    }
    let matched = "matching resume config";
    if let Some((_, m)) = case.messages.having(matched).next() {
        text += &format!(" systemd says itself that it found none: \"{}\".", last_words(m));
    }
    (text, areas.iter().map(|a| a.message).take(SHOWN).collect())
}

/// So many rows are shown.
const SHOWN: usize = 4;

/// The device of `resume=/dev/…`, as the command line names it.
fn asked(case: &Case) -> Option<&str> {
    let word = |m: &'_ Message| -> Option<(usize, usize)> {
        let at = m.text.find("resume=/dev/")? + "resume=".len();
        let rest = &m.text[at..];
        Some((at, at + rest.find([' ', '"', '\'', '`', ',']).unwrap_or(rest.len())))
    };
    case.messages.having("resume=/dev/").find_map(|(_, m)| word(m).map(|(a, b)| &m.text[a..b]))
}

/// A message of systemd without who said it.
fn last_words(m: &Message) -> &str {
    let text = m.text.trim().trim_end_matches('.');
    text.rsplit_once(": ").map_or(text, |(_, words)| words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_numbers_of_disks() {
        assert_eq!(
            (kib("512M"), kib("8.5G"), kib("0B")),
            (Some(524_288), Some(8_912_896), Some(0))
        );
        assert_eq!(partition("8:3").as_deref(), Some("/dev/sda3"));
        assert_eq!(partition("8:17").as_deref(), Some("/dev/sdb1"));
        assert_eq!(partition("259:2"), None);
    }
}
