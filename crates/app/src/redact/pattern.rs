//! What is private by its shape: addresses of network devices, of the Internet and of mail,
//! identifiers of 128 bits.

use super::{CLASS, Found, Kind, Seen, is_run};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;

/// Finds them in a line.
pub(super) fn find(line: &[u8], out: &mut Vec<Found>) {
    let mut i = 0;
    while i < line.len() {
        if !is_part(line[i]) {
            i += 1;
            continue;
        }
        let start = i;
        let (mut colons, mut dots, mut dashes, mut unders, mut ats) = (0, 0, 0, 0, 0);
        while i < line.len() && is_part(line[i]) {
            match line[i] {
                b':' => colons += 1,
                b'.' => dots += 1,
                b'-' => dashes += 1,
                b'_' => unders += 1,
                b'@' => ats += 1,
                _ => {}
            }
            i += 1;
        }
        if i - start < 6 {
            continue;
        }
        let chunk = Chunk { line, at: start..i };
        if colons >= 5 || dashes >= 5 || unders >= 5 {
            chunk.macs(out);
        }
        if colons >= 2 {
            chunk.v6(out);
        }
        if dots >= 3 {
            chunk.v4(out);
        }
        if dashes >= 4 {
            chunk.uuids(out);
        }
        if ats > 0 {
            chunk.mails(out);
        }
    }
}

/// What addresses and names are made of.
fn is_part(b: u8) -> bool {
    CLASS[usize::from(b)] != 0
}

fn is_hex(b: &u8) -> bool {
    b.is_ascii_hexdigit()
}

/// Letters, digits and what joins them, of a line.
struct Chunk<'a> {
    line: &'a [u8],
    at: Range<usize>,
}

fn found(at: Range<usize>, keep: usize, kind: Kind, seen: Seen) -> Found {
    Found { at, keep, kind, seen, everywhere: true }
}

impl<'a> Chunk<'a> {
    fn get(&self, i: usize) -> Option<u8> {
        self.line.get(i).copied()
    }

    fn before(&self, i: usize) -> Option<u8> {
        i.checked_sub(1).map(|i| self.line[i])
    }

    /// Runs of bytes that `is` holds for.
    fn runs<F: Fn(u8) -> bool>(&self, is: F) -> impl Iterator<Item = Range<usize>> + use<'a, F> {
        let (line, end) = (self.line, self.at.end);
        let mut i = self.at.start;
        std::iter::from_fn(move || {
            while i < end && !is(line[i]) {
                i += 1;
            }
            let start = i;
            while i < end && is(line[i]) {
                i += 1;
            }
            (start < i).then_some(start..i)
        })
    }

    /// Six bytes of a network device, eight of an EUI-64, twenty of an InfiniBand port.
    fn macs(&self, out: &mut Vec<Found>) {
        let mut i = self.at.start;
        while i < self.at.end {
            let begins = match self.before(i) {
                None => true,
                Some(b'_') => self.line[..i].ends_with(b"dev_"),
                Some(b) => !b.is_ascii_alphanumeric(),
            };
            let Some((n, end)) = begins.then(|| self.pairs(i)).flatten() else {
                i += 1;
                continue;
            };
            let start = std::mem::replace(&mut i, end);
            let separator = self.line[start + 2];
            // A firewall writes two addresses and a type as one.
            if n < 6 || (separator == b'-' && n != 6 && n != 8) || (separator == b'_' && n != 6) {
                continue;
            }
            let own = &self.line[start..end];
            let digits = || own.iter().filter(|b| is_hex(b));
            let is_date = separator == b'-' && digits().all(u8::is_ascii_digit);
            let is_constant =
                digits().all(|b| *b == b'0') || digits().all(|b| matches!(b, b'f' | b'F'));
            if is_date || is_constant {
                continue;
            }
            let keep = if separator == b'_' { 4 } else { 0 };
            out.push(found(start - keep..end, keep, Kind::Mac, Seen::Named));
        }
    }

    /// How many pairs of digits stand at `i`, joined by the same mark, and where they end.
    fn pairs(&self, i: usize) -> Option<(usize, usize)> {
        let pair = |i: usize| {
            self.line.get(i..i + 2).is_some_and(|p| p.iter().all(is_hex))
                && !self.get(i + 2).is_some_and(|b| b.is_ascii_alphanumeric())
        };
        let mark = self.get(i + 2).filter(|b| matches!(b, b':' | b'-' | b'_'))?;
        let (mut n, mut end) = (0, i);
        while pair(end) {
            n += 1;
            if self.get(end + 2) != Some(mark) {
                return Some((n, end + 2));
            }
            end += 3;
        }
        (n > 0).then(|| (n, end - 1))
    }

    fn v6(&self, out: &mut Vec<Found>) {
        for mut at in self.runs(|b| b.is_ascii_hexdigit() || b == b':') {
            let own = &self.line[at.clone()];
            at.end -= usize::from(own.ends_with(b":") && !own.ends_with(b"::"));
            at.start += usize::from(at.len() > 1 && own[0] == b':' && own[1] != b':');
            let joins = |b: Option<u8>| b.is_some_and(|b| is_run(b) || b == b'.' || b == b'-');
            if at.len() < 4 || joins(self.before(at.start)) || joins(self.get(at.end)) {
                continue;
            }
            let text = std::str::from_utf8(&self.line[at.clone()]).unwrap_or_default();
            // Stamps and lists of small numbers have short groups.
            let is_long = text.split(':').any(|group| group.len() >= 3);
            let Ok(address) = text.parse::<Ipv6Addr>() else { continue };
            if is_long && !address.is_multicast() && !address.is_loopback() {
                out.push(found(at, 0, Kind::Ip, Seen::Named));
            }
        }
    }

    fn v4(&self, out: &mut Vec<Found>) {
        for mut at in self.runs(|b| b.is_ascii_digit() || b == b'.') {
            while self.line[at.clone()].ends_with(b".") {
                at.end -= 1;
            }
            let joined = self.before(at.start).is_some_and(|b| is_run(b) || b == b'-' || b == b'+');
            let goes_on =
                self.get(at.end).is_some_and(|b| is_run(b) || matches!(b, b'+' | b'~' | b'-'));
            let text = std::str::from_utf8(&self.line[at.clone()]).unwrap_or_default();
            let Ok(address) = text.parse::<Ipv4Addr>() else { continue };
            let [first, ..] = address.octets();
            let is_constant = matches!(first, 0 | 127 | 255);
            if joined || goes_on || is_constant || address.is_multicast() {
                continue;
            }
            // 10.x.y.z is a version as often as an address.
            let is_home = (address.is_private() && first != 10) || address.is_link_local();
            if is_home || !says_version(&self.line[..at.start]) {
                out.push(found(at, 0, Kind::Ip, Seen::Named));
            }
        }
    }

    fn uuids(&self, out: &mut Vec<Found>) {
        for run in self.runs(|b| b.is_ascii_hexdigit() || b == b'-') {
            // `luks-` and such may share letters with the first digits.
            let whole = run.end.saturating_sub(36)..run.end;
            let at = [run.start..run.start + 36, whole]
                .into_iter()
                .find(|at| at.end <= run.end && at.start >= run.start && self.is_uuid(at));
            let Some(at) = at else { continue };
            let (own, head) = (&self.line[at.clone()], &self.line[..at.start]);
            let named =
                ["uuid=", "uuid/", "uuid-", "uuid: ", "luks-", "crypt-", "uuid=\"", "uuid=\\\""]
                    .iter()
                    .any(|w| ends_with(head, w.as_bytes()));
            // Devices of WMI are called by their GUID in capitals and a number
            // (wmi_create_device of drivers/platform/x86/wmi.c, 6.12).
            let is_wmi = self.get(at.end) == Some(b'-') && !own.iter().any(u8::is_ascii_lowercase);
            let seen = match named {
                true => Seen::Named,
                false if is_wmi || is_constant(own) || says_guid(head) => Seen::Public,
                false => Seen::Bare,
            };
            out.push(found(at, 0, Kind::Uuid, seen));
        }
    }

    fn is_uuid(&self, at: &Range<usize>) -> bool {
        let own = &self.line[at.clone()];
        let shape = own.iter().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => is_hex(b),
        });
        let joins = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_alphanumeric());
        own.len() == 36 && shape && !joins(self.before(at.start)) && !joins(self.get(at.end))
    }

    fn mails(&self, out: &mut Vec<Found>) {
        for i in self.at.clone().filter(|i| self.line[*i] == b'@') {
            let is_local = |b: &&u8| is_run(**b) || matches!(b, b'.' | b'+' | b'-' | b'%');
            let local = self.line[self.at.start..i].iter().rev().take_while(is_local).count();
            let is_domain = |b: &&u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-');
            let mut n = self.line[i + 1..self.at.end].iter().take_while(is_domain).count();
            while n > 0 && matches!(self.line[i + n], b'.' | b'-') {
                n -= 1;
            }
            let domain = std::str::from_utf8(&self.line[i + 1..i + 1 + n]).unwrap_or_default();
            if local > 0 && is_domain_of_mail(domain) {
                out.push(found(i - local..i + 1 + n, 0, Kind::Mail, Seen::Named));
            }
        }
    }
}

/// An interface that systemd calls by its address, or an identifier of 128 bits without dashes,
/// as of a machine or a boot.
pub(super) fn word(line: &[u8], at: &Range<usize>, out: &mut Vec<Found>) {
    let own = &line[at.clone()];
    match own.len() {
        15 => {
            let is_name = |p: &&[u8]| own.starts_with(p) && own[3..].iter().all(is_hex);
            if [&b"enx"[..], b"wlx", b"wwx", b"ibx"].iter().any(is_name) {
                out.push(found(at.clone(), 3, Kind::Mac, Seen::Named));
            }
        }
        32 if own.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
            && own.iter().any(|b| *b != own[0]) =>
        {
            out.push(found(at.clone(), 0, Kind::Uuid, Seen::Named));
        }
        _ => {}
    }
}

/// Whether the end of `head` is `word`, in capitals or not.
fn ends_with(head: &[u8], word: &[u8]) -> bool {
    let from = head.len().checked_sub(word.len());
    from.is_some_and(|from| head[from..].eq_ignore_ascii_case(word))
}

/// Whether one of `words` stands in the last `reach` bytes of `head`.
fn says(head: &[u8], reach: usize, words: &[&str]) -> bool {
    let near = String::from_utf8_lossy(&head[head.len().saturating_sub(reach)..]).to_lowercase();
    words.iter().any(|w| near.contains(w))
}

fn says_version(head: &[u8]) -> bool {
    let words = [
        "version",
        " ver",
        "firmware",
        "fw",
        "driver",
        "release",
        "revision",
        " rev",
        "bios",
        "build",
        "microcode",
        "nvm",
        "dmc",
        "package",
        " v:",
        "linux",
        "api",
    ];
    says(head, 32, &words)
}

/// Firmware, devices of WMI, of the management engine and of trusted applications, and types
/// of partitions are called by identifiers that all machines share.
fn says_guid(head: &[u8]) -> bool {
    let words =
        ["guid", "wmi", "_dsm", "_osc", "acpi", "lps0", "efi", "pnp0c14", "type=", "type: "];
    // `0000:00:16.0-309dcde8-…` (mei_cl_bus_set_name of drivers/misc/mei/bus.c, 6.12).
    let is_mei = head.len() > 7 && head.ends_with(b"-") && head[head.len() - 3] == b'.';
    is_mei || says(head, 64, &words) || says(head, 9, &["mei::", "mei:", "optee-ta-", "tee:"])
}

/// Of standards: the low-power idle methods of Intel, AMD and Microsoft (drivers/acpi/x86/s2idle.c,
/// 6.12), platform-wide _OSC, EFI's variables and partitions, GPT's types of Linux and Windows.
const CONSTANTS: [&str; 9] = [
    "c4eb40a0-6cd2-11e2-bcfd-0800200c9a66",
    "e3f32452-febc-43ce-9039-932122d37721",
    "11e00d56-ce64-47ce-837b-1f898f9aa461",
    "0811b06e-4a27-44f9-8d60-3cbbc22e7b48",
    "8be4df61-93ca-11d2-aa0d-00e098032b8c",
    "c12a7328-f81f-11d2-ba4b-00a0c93ec93b",
    "0fc63daf-8483-4772-8e79-3d69d8477de4",
    "0657fd6d-a4ab-43c4-84e5-0933c84b4f4f",
    "ebd0a0a2-b9e5-4433-87c0-68b6b72699c7",
];

/// Those, and services of Bluetooth, which share an end.
fn is_constant(own: &[u8]) -> bool {
    let text = String::from_utf8_lossy(own).to_lowercase();
    CONSTANTS.contains(&&*text) || text.ends_with("-0000-1000-8000-00805f9b34fb")
}

/// Units of systemd and nodes of device trees have an `@` too.
fn is_domain_of_mail(domain: &str) -> bool {
    let Some((labels, top)) = domain.rsplit_once('.') else { return false };
    let units = [
        "service",
        "socket",
        "target",
        "mount",
        "automount",
        "slice",
        "timer",
        "device",
        "scope",
        "path",
        "swap",
    ];
    let is_address = |label: &str| label.bytes().all(|b| b.is_ascii_hexdigit());
    let common = ["com", "net", "org", "de", "cn", "edu", "io"];
    (2..=24).contains(&top.len())
        && top.bytes().all(|b| b.is_ascii_alphabetic())
        && !units.contains(&top)
        && labels.split('.').all(|l| !l.is_empty())
        && (!labels.split('.').all(is_address) || common.contains(&top))
}
