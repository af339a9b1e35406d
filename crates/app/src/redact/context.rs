//! What is private by what stands beside it: names of hosts, users and wireless networks,
//! numbers of a series.

use super::{Found, Kind, Seen, is_run, pattern, run};
use std::ops::Range;

/// Words of this field and of distributions, which people call their machines and themselves:
/// they are replaced only where they stand for a name.
const COMMON: [&str; 62] = [
    "acer",
    "apple",
    "armbian",
    "asus",
    "dell",
    "framework",
    "lenovo",
    "macbook",
    "samsung",
    "surface",
    "thinkpad",
    "xps",
    "alarm",
    "rtc",
    "acpi",
    "admin",
    "android",
    "arch",
    "archlinux",
    "board",
    "boot",
    "bus",
    "core",
    "cpu",
    "debian",
    "deep",
    "desktop",
    "device",
    "disk",
    "fedora",
    "freeze",
    "gentoo",
    "guest",
    "home",
    "host",
    "idle",
    "intel",
    "kernel",
    "laptop",
    "linux",
    "manjaro",
    "mem",
    "memory",
    "mint",
    "nixos",
    "notebook",
    "nvme",
    "opensuse",
    "pci",
    "platform",
    "power",
    "raspberrypi",
    "resume",
    "server",
    "sleep",
    "suspend",
    "system",
    "test",
    "ubuntu",
    "usb",
    "user",
    "wifi",
];

/// Names that are nobody's.
const NOBODY: [&str; 22] = [
    "version",
    "info",
    "debug",
    "buildd",
    "mockbuild",
    "builder",
    "root",
    "localhost",
    "none",
    "nobody",
    "hostname",
    "gdm",
    "gdm3",
    "sddm",
    "lightdm",
    "messagebus",
    "polkitd",
    "lost+found",
    "linuxbrew",
    "unknown",
    "null",
    "default",
];

/// Whether a name means the same wherever it stands.
pub(super) fn is_telling(name: &[u8]) -> bool {
    let text = String::from_utf8_lossy(name).to_lowercase();
    name.len() >= 3 && !COMMON.contains(&&*text) && text.chars().any(char::is_alphabetic)
}

/// Finds them in a line.
pub(super) fn find(line: &[u8], out: &mut Vec<Found>) {
    if let Some(at) = keeper(line).or_else(|| of_pm_graph(line)) {
        named(line, at, Kind::Host, out);
    }
    prompt(line, out);
    let mut i = 0;
    while i < line.len() {
        if !is_run(line[i]) {
            i += 1;
            continue;
        }
        let end = run(line, i);
        word(line, i..end, out);
        i = end;
    }
}

/// Adds a name, if it is one.
fn named(line: &[u8], at: Range<usize>, kind: Kind, out: &mut Vec<Found>) {
    let own = &line[at.clone()];
    let text = String::from_utf8_lossy(own).to_lowercase();
    let is_number = !text.contains(|c: char| c.is_alphabetic());
    if own.is_empty() || is_number || NOBODY.contains(&&*text) || is_ours(&text) {
        return;
    }
    let everywhere = is_telling(own);
    out.push(Found { at, keep: 0, kind, seen: Seen::Named, everywhere });
}

/// Whether it was replaced before.
fn is_ours(text: &str) -> bool {
    let Some((word, number)) = text.rsplit_once('-') else { return false };
    Kind::ALL.iter().any(|k| k.word() == word) && number.bytes().all(|b| b.is_ascii_digit())
}

/// What a word says of itself or of what follows.
fn word(line: &[u8], at: Range<usize>, out: &mut Vec<Found>) {
    pattern::word(line, &at, out);
    let own = &line[at.clone()];
    // Of most words the length or the last letter tells that they say nothing.
    let last = own[own.len() - 1].to_ascii_lowercase();
    if own.len() > 40 || !LAST.contains(&last) {
        return;
    }
    let mut small = [0; 40];
    let small = &mut small[..own.len()];
    small.copy_from_slice(own);
    small.make_ascii_lowercase();
    let small = &*small;
    let is = |words: &[&str]| words.iter().any(|w| small == w.as_bytes());
    // `ID_SERIAL`, `_HOSTNAME`, `SUDO_USER`: the end of a name tells.
    let ends = |words: &[&str]| {
        let mut ends = words.iter().map(|w| w.as_bytes());
        ends.any(|w| small == w || (small.contains(&b'_') && small.ends_with(w)))
    };
    if !tells(small) {
        return;
    }
    if ends(&["serial", "serialnumber", "serial_number", "serialno", "serial_short"])
        || is(&["sn", "imei", "imsi", "iccid"])
        || (is(&["n"]) && ends_before(line, at.start, b"s/"))
        || (is(&["tag"])
            && (ends_before(line, at.start, b"service ") || ends_before(line, at.start, b"asset ")))
    {
        serial(line, at.end, out);
    } else if is(&["id"]) && ends_before(line, at.start, b"by-") && line.get(at.end) == Some(&b'/')
    {
        by_id(line, at.end + 1, out);
    } else if ends(&["uuid"]) && !ends(&["guid"]) {
        // Short ones, as of FAT; the long ones have a shape.
        let value = match line.get(at.end) {
            Some(b'/') if ends_before(line, at.start, b"by-") => at.end + 1,
            Some(b'=') => at.end + 1 + usize::from(line.get(at.end + 1) == Some(&b'"')),
            _ => return,
        };
        let value = token(line, value);
        let own = &line[value.clone()];
        if own.len() == 9
            && own[4] == b'-'
            && own.iter().all(|b| *b == b'-' || b.is_ascii_hexdigit())
        {
            out.push(Found {
                at: value,
                keep: 0,
                kind: Kind::Uuid,
                seen: Seen::Named,
                everywhere: true,
            });
        }
    } else if is(&["ssid", "essid"]) || ends(&["_ssid"]) {
        if let Some((from, quote)) = separated(line, at.end) {
            network(line, from, quote, out);
        }
    } else if is(&["connection", "network"]) {
        if let [b' ', quote @ (b'\'' | b'"'), ..] = line[at.end..] {
            network(line, at.end + 2, Some(quote), out);
        }
    } else if ends(&["hostname", "nodename"]) {
        let rest = &line[at.end..];
        let said = [" set to ", " to ", " is "].iter().find(|w| rest.starts_with(w.as_bytes()));
        let from = match said {
            Some(w) => Some(at.end + w.len() + usize::from(rest.get(w.len()) == Some(&b'<'))),
            None => separated(line, at.end).map(|(from, _)| from),
        };
        if let Some(from) = from {
            named(line, name_at(line, from), Kind::Host, out);
        }
    } else if is(&["host"]) {
        let quoted = line[at.end..].starts_with(b"\":") && ends_before(line, at.start, b"\"");
        if let Some((from, Some(_))) = separated(line, at.end).filter(|_| quoted) {
            named(line, name_at(line, from), Kind::Host, out);
        } else if line[at.end..].starts_with(b": ") {
            let name = name_at(line, at.end + 2);
            if line[name.end..].starts_with(b" Kernel: ") {
                named(line, name, Kind::Host, out);
            }
        }
    } else if is(&["hid"]) && line.get(at.end) == Some(&b'-') {
        battery(line, at.end + 1, out);
    } else if is(&["linux"]) && line.get(at.end) == Some(&b' ') {
        // `uname -a`
        let name = name_at(line, at.end + 1);
        if let [b' ', b'1'..=b'9', more @ ..] = &line[name.end..]
            && more.iter().take(2).any(|b| *b == b'.')
            && line[name.end..].windows(2).any(|w| w == b" #")
        {
            named(line, name, Kind::Host, out);
        }
    } else if is(&["user", "logname"]) || ends(&["_user"]) {
        let spoken = ["for ", "of "].iter().any(|w| ends_before(line, at.start, w.as_bytes()));
        let from = match line.get(at.end) {
            Some(b' ') if spoken => at.end + 1,
            Some(b'=') => at.end + 1 + usize::from(line.get(at.end + 1) == Some(&b'"')),
            _ => return,
        };
        named(line, name_at(line, from), Kind::User, out);
    } else if is(&["uid", "gid"]) && line.get(at.end) == Some(&b'=') {
        let digits = line[at.end + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
        if line.get(at.end + 1 + digits) == Some(&b'(') {
            named(line, name_at(line, at.end + 2 + digits), Kind::User, out);
        }
    } else if is(&["tty"]) && ends_before(line, at.start, b" : ") {
        // `sudo: NAME : TTY=pts/0 ; PWD=…`
        let end = at.start - 3;
        let n = line[..end].iter().rev().take_while(|b| is_name(**b)).count();
        named(line, end - n..end, Kind::User, out);
    } else if is(&["home", "users", "media"]) {
        home(line, at, out);
    }
}

/// The last letters of words that [`tells`] knows, and of the ends of names that `word` asks for.
const LAST: &[u8] = b"lrontgidesxyka";

/// Whether a word in small letters may say something; one look at it for most.
fn tells(small: &[u8]) -> bool {
    match small {
        b"n" | b"sn" | b"id" | b"hid" | b"tag" | b"uid" | b"gid" | b"tty" | b"imei" | b"imsi"
        | b"uuid" | b"ssid" | b"host" | b"user" | b"home" | b"linux" | b"essid" | b"iccid"
        | b"users" | b"media" | b"serial" | b"logname" | b"network" | b"hostname" | b"nodename"
        | b"serialno" | b"connection" | b"serialnumber" => true,
        _ => small.contains(&b'_'),
    }
}

/// Whose folder a path leads through.
fn home(line: &[u8], at: Range<usize>, out: &mut Vec<Found>) {
    let mark = at.start.checked_sub(1).map(|i| line[i]);
    let Some(mark @ (b'/' | b'\\')) = mark else { return };
    let before = at.start.checked_sub(2).map(|i| line[i]);
    let begins = !before.is_some_and(|b| is_run(b) || matches!(b, b'.' | b'-'));
    let marks = line[at.end..].iter().take_while(|b| **b == mark).count();
    if marks == 0 || marks > 2 {
        return;
    }
    let name = name_at(line, at.end + marks);
    // `/media/cdrom` is a place for disks; `/media/NAME/DISK` somebody's.
    let is_media = line[at.clone()].eq_ignore_ascii_case(b"media");
    let begins = begins || line[..at.start].ends_with(b"/run/");
    let leads_on = line.get(name.end) == Some(&mark);
    // Folders of users lie below any root; other things are called `media` elsewhere.
    if if is_media { leads_on && begins } else { leads_on || begins } {
        let n = out.len();
        named(line, name, Kind::User, out);
        // A file may lie beside the folders of users, and a disk where theirs are.
        out[n..].iter_mut().for_each(|f| f.everywhere &= leads_on && !is_media);
    }
}

/// `[user@host folder]$` and `user@host:folder$`, at the begin of a line; `(user@host)` of a
/// kernel.
fn prompt(line: &[u8], out: &mut Vec<Found>) {
    let head = &line[..line.len().min(160)];
    let Some(at) = head.iter().position(|b| *b == b'@') else { return };
    let user = at - head[..at].iter().rev().take_while(|b| is_name(**b)).count();
    let before = &head[..user];
    let is_margin = |b: &u8| b.is_ascii_whitespace() || matches!(b, b'[' | b'(' | b'>' | b'|');
    // Who built a kernel, and where.
    let built = before.ends_with(b"(") && before.windows(6).any(|w| w == b"Linux ");
    if !built && !before.iter().all(is_margin) {
        return;
    }
    let host = at + 1..name_at(line, at + 1).end;
    let first = line.get(host.start).copied().unwrap_or(b' ');
    let folder = match line.get(host.end) {
        Some(b':') => matches!(line.get(host.end + 1), Some(b'~' | b'/')),
        Some(b')') => built,
        Some(b' ') => line[host.end..].windows(2).any(|w| w == b"]$" || w == b"]#"),
        _ => false,
    };
    if folder && first.is_ascii_alphabetic() && user < at {
        named(line, user..at, Kind::User, out);
        named(line, host, Kind::Host, out);
    }
}

/// `suspend-092119-145032 HOST MODE KERNEL` of pm-graph.
fn of_pm_graph(line: &[u8]) -> Option<Range<usize>> {
    let rest = line.strip_prefix(b"# suspend-")?;
    let stamp = rest.iter().position(|b| *b == b' ')?;
    let from = line.len() - rest.len() + stamp + 1;
    Some(name_at(line, from))
}

/// The host in front of what a keeper of logs writes: `Nov 27 08:51:24 HOST kernel: `, the same
/// with a date of ISO 8601 or a stamp of the kernel, RFC 5424.
fn keeper(line: &[u8]) -> Option<Range<usize>> {
    let mut i =
        line.iter().take_while(|b| matches!(b, b'>' | b' ' | b'\t' | b'|' | b'"' | b'`')).count();
    let digits = |i: usize| {
        line.get(i..).unwrap_or_default().iter().take_while(|b| b.is_ascii_digit()).count()
    };
    if line.get(i) == Some(&b'<') && line.get(i + 1 + digits(i + 1)) == Some(&b'>') {
        i += 2 + digits(i + 1);
        i += if line[i..].starts_with(b"1 ") { 2 } else { 0 };
    }
    let word = |i: usize| {
        let from = i + line.get(i..)?.iter().take_while(|b| **b == b' ').count();
        let n = line[from..].iter().take_while(|b| **b != b' ').count();
        (n > 0).then_some(from..from + n)
    };
    let is_clock = |t: &[u8]| t.len() >= 8 && t[2] == b':' && t[5] == b':' && t[0].is_ascii_digit();
    let is_date = |t: &[u8]| t.len() >= 10 && t[4] == b'-' && t[7] == b'-' && t[0].is_ascii_digit();
    let months = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    let is_month = |t: &[u8]| t.len() == 3 && months.chunks(3).any(|m| m == t);
    let mut at = word(i)?;
    if line[at.start] == b'[' {
        let end = at.start + line[at.start..].iter().take(24).position(|b| *b == b']')?;
        at = end..end + 1;
    } else {
        if is_month(&line[at.clone()]) {
            at = word(word(at.end)?.end)?;
        } else if is_date(&line[at.clone()]) && at.len() == 10 {
            at = word(at.end)?;
        } else if is_date(&line[at.clone()]) {
            at = at.start + 11..at.end;
        }
        if !is_clock(&line[at.clone()]) {
            return None;
        }
    }
    let host = word(at.end)?;
    let teller = &line[word(host.end)?];
    let program = teller.strip_suffix(b"]:").and_then(|t| {
        let n = t.iter().rev().take_while(|b| b.is_ascii_digit()).count();
        t[..t.len() - n]
            .strip_suffix(b"[")
            .filter(|p| n > 0 && p.first().is_some_and(u8::is_ascii_alphabetic))
    });
    let is_host = line[host.clone()].iter().all(|b| is_name(*b));
    (is_host && (program.is_some() || matches!(teller, b"kernel:" | b"kernel"))).then_some(host)
}

fn serial(line: &[u8], mut end: usize, out: &mut Vec<Found>) {
    for more in [" number", " no.", " no", " num"] {
        if line[end..].len() >= more.len()
            && line[end..end + more.len()].eq_ignore_ascii_case(more.as_bytes())
        {
            end += more.len();
            break;
        }
    }
    let Some((from, _)) = separated(line, end) else { return };
    let at = token(line, from);
    let own = &line[at.clone()];
    let letters = own.iter().any(u8::is_ascii_alphabetic);
    // The serial number of a root hub is the name of its controller, which has a stop or a
    // colon (usb_add_hcd of drivers/usb/core/hcd.c, 6.12).
    let is_plain = own.iter().all(|b| is_run(*b) || matches!(b, b'-' | b'+'));
    let tells = own.iter().any(|b| matches!(b, b'1'..=b'9'));
    let text = String::from_utf8_lossy(own).to_lowercase();
    if own.len() < 4 || !is_plain || !tells || is_ours(&text) || text == "0123456789" {
        return;
    }
    let everywhere = own.len() >= if letters { 5 } else { 6 };
    out.push(Found { at, keep: 0, kind: Kind::Serial, seen: Seen::Named, everywhere });
}

/// `hid-SERIAL-battery`: a device that tells no serial number stands there by its own name, which
/// has colons (hidinput_setup_battery of drivers/hid/hid-input.c, 6.12).
fn battery(line: &[u8], from: usize, out: &mut Vec<Found>) {
    let at = token(line, from);
    let own = &line[at.clone()];
    let Some(n) = own.windows(8).position(|w| w == b"-battery") else { return };
    let text = String::from_utf8_lossy(&own[..n]).to_lowercase();
    if n < 4 || text.contains(':') || is_ours(&text) {
        return;
    }
    let at = at.start..at.start + n;
    out.push(Found { at, keep: 0, kind: Kind::Serial, seen: Seen::Named, everywhere: true });
}

/// `ata-MODEL_SERIAL-part1`, `usb-MODEL_SERIAL-0:0`, `nvme-eui.…`, `wwn-0x…`.
fn by_id(line: &[u8], from: usize, out: &mut Vec<Found>) {
    let at = token(line, from);
    let own = &line[at.clone()];
    let after =
        own.iter().rposition(|b| *b == b'_').or_else(|| own.iter().position(|b| *b == b'-'));
    let Some(keep) = after.map(|n| n + 1) else { return };
    let rest = &own[keep..];
    let cuts = ["-part", "-0:", "-if0", "-event", "-video", "-port"];
    let places = cuts.iter().filter_map(|c| rest.windows(c.len()).position(|w| w == c.as_bytes()));
    let end = at.start + keep + places.min().unwrap_or(rest.len());
    let text = String::from_utf8_lossy(&line[at.start + keep..end]).to_lowercase();
    let tells = text.bytes().any(|b| b.is_ascii_digit());
    if text.len() > 3 && tells && !is_ours(&text) {
        let at = at.start..end;
        out.push(Found { at, keep, kind: Kind::Serial, seen: Seen::Named, everywhere: true });
    }
}

/// The name of a wireless network, which may have blanks.
fn network(line: &[u8], from: usize, quote: Option<u8>, out: &mut Vec<Found>) {
    let ends = |b: &u8| match quote {
        Some(q) => *b == q || *b == b'\\',
        None => matches!(b, b',' | b'"' | b'\'' | b')' | b'\t' | b'\\'),
    };
    let Some(rest) = line.get(from..) else { return };
    let n = rest.iter().position(ends).unwrap_or(rest.len());
    let n = rest[..n].trim_ascii_end().len();
    let text = String::from_utf8_lossy(&rest[..n]).to_lowercase();
    // A card of sound has a subsystem's number by the same short name.
    let is_number = n == 8 && rest[..n].iter().all(u8::is_ascii_hexdigit) && quote.is_none();
    let is_none =
        is_number || ["", "off/any", "off", "any", "<hidden>", "hidden"].contains(&&*text);
    if is_none || is_ours(&text) || text.starts_with("wired connection") || n > 64 {
        return;
    }
    let everywhere = n >= 4 && is_telling(&rest[..n]);
    out.push(Found {
        at: from..from + n,
        keep: 0,
        kind: Kind::Ssid,
        seen: Seen::Named,
        everywhere,
    });
}

/// Where the value of `name: value`, `name=value`, `"name": "value"`, `[name]: [value]` begins,
/// and what ends it if it is quoted.
fn separated(line: &[u8], end: usize) -> Option<(usize, Option<u8>)> {
    let blanks = |i: usize| {
        i + line
            .get(i..)
            .unwrap_or_default()
            .iter()
            .take_while(|b| matches!(b, b' ' | b'\t'))
            .count()
    };
    let i = end + usize::from(matches!(line.get(end), Some(b'"' | b'\'' | b']')));
    let i = blanks(i);
    if !matches!(line.get(i), Some(b':' | b'=')) {
        return None;
    }
    let i = blanks(i + 1);
    let i = i + usize::from(line.get(i) == Some(&b'\\'));
    match line.get(i)? {
        q @ (b'"' | b'\'') => Some((i + 1, Some(*q))),
        b'[' => Some((i + 1, Some(b']'))),
        b'<' => Some((i + 1, Some(b'>'))),
        _ => Some((i, None)),
    }
}

fn is_name(b: u8) -> bool {
    is_run(b) || matches!(b, b'.' | b'-' | b'+') || b >= 0x80
}

/// The name that begins at `from`; a stop at its end is the sentence's.
fn name_at(line: &[u8], from: usize) -> Range<usize> {
    let rest = line.get(from..).unwrap_or_default();
    let n = rest.iter().take_while(|b| is_name(**b)).count();
    let from = from.min(line.len());
    from..from + rest[..n].strip_suffix(b".").map_or(n, <[u8]>::len)
}

/// What stands at `from` up to a blank or the end of a value.
fn token(line: &[u8], from: usize) -> Range<usize> {
    let rest = line.get(from..).unwrap_or_default();
    let is_end = |b: &u8| b.is_ascii_whitespace() || b"\"',;)]>}\\".contains(b);
    let from = from.min(line.len());
    from..from + rest.iter().position(is_end).unwrap_or(rest.len())
}

/// Whether `word` stands right before `at`, in capitals or not.
fn ends_before(line: &[u8], at: usize, word: &[u8]) -> bool {
    at.checked_sub(word.len()).is_some_and(|from| line[from..at].eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_that_tells_is_passed_over_by_its_last_letter() {
        let words = "n sn id tag uid gid tty imei imsi uuid ssid host user home linux essid iccid users \
                     media serial logname network hostname nodename serialno connection serialnumber \
                     id_serial serial_number serial_short wifi_ssid static_hostname sudo_user fs_uuid";
        for word in words.split_whitespace().map(str::as_bytes) {
            assert!(tells(word), "{word:?}");
            assert!(LAST.contains(&word[word.len() - 1]), "{word:?}");
        }
    }
}
