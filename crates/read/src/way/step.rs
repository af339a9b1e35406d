//! Lines of logind, systemd, sleep hooks, networks and Android around a sleep, with their times.

use super::shown::shown;
use crate::grams::Asked;
use crate::klog::{self, civil_days};
use crate::months::ENGLISH;
use crate::text::{has_date, lossy};
use crate::time_of_day::TimeOfDay;
use dormouse_base::mark::Name;
use dormouse_base::pairs::Pairs;
use dormouse_doctor::way::{Kind, Step};

/// So many steps of one text are kept.
const MOST: usize = 5_000;

/// So long after the last line that speaks of a sleep other lines are of that sleep, in ms.
const NEAR: i64 = 300_000;

/// A day in ms.
const DAY: i64 = 86_400_000;
/// So many days may lie between two lines that are compared.
const LONGEST: i64 = 31;

/// A text without any of these has no line of a service around a sleep.
const SERVICES: [&[u8]; 12] = [
    // Boards without systemd have their own marks alone.
    b"dormouse: mark ",
    b"systemd-sleep",
    b"systemd-logind",
    b"Delay lock is active",
    b"systemd-suspend",
    b"systemd-hibernate",
    b"pam_systemd",
    b"PowerManagerService",
    b"logind: ",
    // elogind (src/login/logind.c, src/sleep/sleep.c), which has its own names.
    b"elogind-daemon",
    b"e-suspend[",
    b"Running hooks for",
];

/// The same of a letter of a person: whole logs have these in any case.
const OF_LETTERS: [&[u8]; 7] = [
    b"suspend exit",
    b"hibernation exit",
    b"returned from sleep",
    b"Operation '",
    b"systemd-networkd[",
    b"NetworkManager[",
    LOCK.as_bytes(),
];

/// What logind says of a lock, with who holds it.
const LOCK: &str = "Delay lock is active (";

/// Interfaces that a machine makes for itself.
const VIRTUAL: [&str; 20] = [
    "docker",
    "veth",
    "virbr",
    "br-",
    " lo:",
    "(lo)",
    "vmnet",
    "vboxnet",
    "tailscale",
    "wireguard",
    "lxc",
    "lxdbr",
    "podman",
    "cni",
    "vnet",
    "(tun",
    "(tap",
    "(wg",
    " tun",
    " wg",
];

/// What lines say: the first that fits counts.
const WORDS: [(&str, Kind); 91] = [
    ("dormouse: mark ", Kind::App),
    ("Delay lock is active", Kind::Lock),
    ("Failed to freeze unit", Kind::NotFrozen),
    // logind-dbus.c:delay_lock and systemctl, of a request that came to nothing.
    ("Error during inhibitor-delayed operation", Kind::Refused),
    ("Failed to suspend system via logind", Kind::Refused),
    ("Failed to hibernate system via logind", Kind::Refused),
    // The same code in elogind (elogind_reboot).
    ("Failed to suspend system via elogind", Kind::Refused),
    ("Failed to hibernate system via elogind", Kind::Refused),
    ("Performing sleep operation", Kind::Sleeps),
    // systemd-sleep of 245 to 254 (src/sleep/sleep.c:execute).
    ("Entering sleep state '", Kind::Sleeps),
    ("systemd-sleep: Suspending system", Kind::Sleeps),
    ("]: Suspending system...", Kind::Sleeps),
    ("]: Hibernating system...", Kind::Sleeps),
    ("suspend entry (", Kind::Entry),
    ("hibernation entry", Kind::Entry),
    ("Syncing filesystems", Kind::Entry),
    ("Filesystems sync: ", Kind::Entry),
    ("System returned from sleep", Kind::Back),
    ("System resumed again", Kind::Back),
    ("sleep: wake requested", Kind::Back),
    ("System resumed.", Kind::Back),
    ("suspend exit", Kind::Back),
    ("hibernation exit", Kind::Back),
    ("Successfully thawed unit", Kind::Thawed),
    ("The system will suspend now", Kind::Asked),
    ("The system will hibernate now", Kind::Asked),
    ("The system will suspend and", Kind::Asked),
    ("The system will hibernate and", Kind::Asked),
    ("Lid closed", Kind::Asked),
    ("Lid opened", Kind::Opened),
    ("Power key pressed", Kind::Asked),
    ("Suspend key pressed", Kind::Asked),
    ("Hibernate key pressed", Kind::Asked),
    ("Suspending...", Kind::Asked),
    // logind-action.c, to 249.
    ("Suspending, then hibernating", Kind::Asked),
    ("Hibernating and suspending...", Kind::Asked),
    ("]: Hibernating...", Kind::Asked),
    ("Finished systemd-suspend", Kind::Ended),
    ("Finished systemd-hibernate", Kind::Ended),
    ("Finished System Suspend", Kind::Ended),
    ("Finished System Hibernate", Kind::Ended),
    ("Finished Suspend", Kind::Ended),
    ("Started System Suspend", Kind::Ended),
    ("Started Suspend", Kind::Ended),
    ("Operation 'suspend' finished", Kind::Ended),
    ("Operation 'sleep' finished", Kind::Ended),
    ("Operation 'hibernate' finished", Kind::Ended),
    ("Operation 'suspend-then-hibernate' finished", Kind::Ended),
    ("Operation 'hybrid-sleep' finished", Kind::Ended),
    ("suspend.service: Deactivated", Kind::Ended),
    ("suspend.service: Succeeded", Kind::Ended),
    ("Connection timed out", Kind::TimedOut),
    ("timed out", Kind::TimedOut),
    ("Timed out", Kind::TimedOut),
    ("new lease", Kind::Address),
    ("-> bound", Kind::Address),
    (": leased ", Kind::Address),
    ("DHCPACK", Kind::Address),
    ("DHCPv4 address", Kind::Address),
    ("DHCP4 address", Kind::Address),
    ("Activation: successful", Kind::Address),
    ("-> activated (reason", Kind::Address),
    ("CONNECTED_GLOBAL", Kind::Address),
    // NetworkManager (src/core/nm-manager.c, nm-device.c), avahi (avahi-core/announce.c).
    ("state is now DISCONNECTED", Kind::NoAddress),
    ("activated -> unmanaged", Kind::NoAddress),
    ("Withdrawing address record", Kind::NoAddress),
    ("link becomes ready", Kind::Link),
    (": associated", Kind::Link),
    ("CTRL-EVENT-CONNECTED", Kind::Link),
    ("CTRL-EVENT-DISCONNECTED", Kind::NoLink),
    ("Gained carrier", Kind::Link),
    ("carrier acquired", Kind::Link),
    ("link connected", Kind::Link),
    ("Lost carrier", Kind::NoLink),
    ("carrier lost", Kind::NoLink),
    ("Link is Up", Kind::Link),
    (": link up", Kind::Link),
    ("new: connected", Kind::Link),
    ("Waking up from", Kind::Screen),
    ("Going to sleep", Kind::Asked),
    ("bound to ", Kind::Address),
    // systemd-timesyncd and systemd (src/timesync, src/core/manager.c), chronyd.
    ("Contacted time server", Kind::ClockSet),
    ("Initial clock synchronization", Kind::ClockSet),
    ("Synchronized to time server", Kind::ClockSet),
    ("Time has been changed", Kind::ClockSet),
    ("System clock was stepped", Kind::ClockSet),
    // pm-utils (pm/pm-functions.in, 1.4), behind the date.
    (": Running hooks for suspend", Kind::Asked),
    (": Running hooks for hibernate", Kind::Asked),
    (": performing ", Kind::Sleeps),
    (": Awake.", Kind::Back),
    (": Finished.", Kind::Ended),
];

/// Lines that say how long something took, in ms, behind these words.
const TOOK: [&str; 4] =
    ["finished in ", "Screen on took ", "Unblocked screen on after ", "while turning screen on: "];

/// When a line was written.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp<'a> {
    /// Day, or what clock it is of.
    day: &'a str,
    ms: i64,
    grain: i64,
    wall: bool,
    /// `CEST`, where it is of the stamp.
    zone: &'a str,
}

/// Lines of a text, which may be a `letter` of a person.
pub(super) fn read(asked: &Asked<'_>, letter: bool) -> Vec<Step> {
    let bytes = asked.bytes();
    if !asked.has_any(&SERVICES) && (!letter || !asked.has_any(&OF_LETTERS)) {
        return Vec::new();
    }
    let mut r = Reading::default();
    // A journal whose entries are fields has no lines of its own.
    let fields: [&[u8]; 2] = [b"__REALTIME_TIMESTAMP", b" [s="];
    if asked.has_any(&fields) {
        let whole = klog::as_lines(bytes, &mut |line, text| {
            if r.out.len() < MOST {
                r.line(line, text);
            }
        });
        if whole {
            return r.out;
        }
        r = Reading::default();
    }
    let (mut begin, mut wrapped) = (0, false);
    for (line, raw) in (1..).zip(bytes.split(|b| *b == b'\n')) {
        if r.out.len() >= MOST {
            break;
        }
        let (before, end) = (&bytes[..begin], begin + raw.len());
        begin = end + 1;
        // It was read with the line above.
        if std::mem::take(&mut wrapped) {
            continue;
        }
        let mut text = lossy(&raw[..raw.len().min(2_000)]);
        let rest = bytes.get(begin..).filter(|_| letter).unwrap_or_default();
        let next = rest.split(|b| *b == b'\n').next().unwrap_or_default();
        let after = rest.get(next.len() + 1..).unwrap_or_default();
        let dated = !next.is_empty() && has_date(unquoted(raw));
        if dated && klog::goes_on(before, raw, next, after) {
            text = format!("{text} {}", lossy(unquoted(next)).trim()).into();
            wrapped = true;
        }
        r.line(line, &text);
    }
    r.out
}

/// A line without the marks of a mail.
fn unquoted(line: &[u8]) -> &[u8] {
    let end = line.iter().position(|b| !matches!(b, b'>' | b' ' | b'\t'));
    &line[end.unwrap_or(line.len())..]
}

#[derive(Default)]
struct Reading {
    out: Vec<Step>,
    run: u32,
    day: String,
    last: i64,
    add: i64,
    /// Time of the last line that speaks of a sleep.
    spoke: Option<i64>,
    /// Lines of no kind before any that speaks of a sleep.
    before: Option<Step>,
    /// The machine that wrote the last line that names one.
    host: String,
    /// The zone of the last line that has one.
    zone: String,
    /// Where the kernel's first words of a sleep stand.
    entered: Option<Entered>,
}

/// What was known before the kernel's first word of a sleep.
struct Entered {
    day: String,
    last: i64,
    add: i64,
    run: u32,
    steps: usize,
}

impl Reading {
    fn line(&mut self, line: u64, text: &str) {
        // What two boots say is not compared.
        if text.starts_with("-- Boot ") || text.starts_with("-- Reboot --") {
            return self.apart();
        }
        let mut rest = text.trim_start_matches(['>', ' ', '\t', '|', '-', '`', '*', '#']);
        if is_brief(rest) {
            // In the order of the text, which is all that is known of its times.
            let stamp = Stamp { day: "", ms: 0, grain: 1_000, wall: false, zone: "" };
            return self.entry(line, stamp, rest, false);
        }
        if text.contains(LOCK) && stamp(rest).is_none() {
            // Quoted without its time.
            let (text, ms, run) = (shown(rest), self.last.max(0), self.run);
            let (grain, wall, kind) = (1_000, false, Kind::Lock);
            self.out.push(Step { line, text, ms, grain, run, wall, kind });
        }
        while let Some((stamp, len)) = stamp(rest) {
            let words = &rest[len..];
            // Two entries of a journal that became one line.
            let next = words.match_indices(' ').find_map(|(i, _)| {
                let tail = &words[i + 1..];
                (tail.starts_with(|c: char| c.is_ascii_uppercase()) && dated(tail).is_some())
                    .then_some(i + 1)
            });
            let (own, after) = words.split_at(next.unwrap_or(words.len()));
            self.entry(line, stamp, own, text.starts_with('|'));
            rest = after;
        }
    }

    fn entry(&mut self, line: u64, stamp: Stamp<'_>, words: &str, is_row: bool) {
        if words.contains("kernel: Linux version ") {
            self.apart();
        }
        let kind_of_words = kind(words.trim_start_matches([' ', '|', ':', ']']));
        if kind_of_words == Kind::Sleeps {
            self.was_late(&stamp);
        }
        if kind_of_words == Kind::Entry && self.entered.is_none() {
            let (day, steps) = (self.day.clone(), self.out.len());
            let (last, add, run) = (self.last, self.add, self.run);
            self.entered = Some(Entered { day, last, add, run, steps });
        } else if !matches!(kind_of_words, Kind::Entry | Kind::Kernel | Kind::Other) {
            self.entered = None;
        }
        // Over summer time a clock does not count on.
        if let Some(zone) = zone(words, &stamp) {
            if !self.zone.is_empty() && self.zone != zone {
                self.apart();
            }
            zone.clone_into(&mut self.zone);
        }
        if stamp.wall {
            // Stamps of whole seconds stand in the second of the last line.
            let back = stamp.ms + self.add + stamp.grain.max(1) <= self.last;
            let days = days(&self.day, stamp.day).filter(|n| (1..=LONGEST).contains(n));
            // Over midnight the clock begins again.
            if let Some(days) = days {
                self.add += days * DAY;
            } else if self.day != stamp.day || back {
                let midnight = stamp.ms + self.add + DAY / 2 < self.last;
                self.add = if midnight { self.add + DAY } else { self.add };
                let same_clock = !self.day.is_empty() || stamp.day.is_empty();
                if !(midnight && same_clock) && self.day != stamp.day {
                    self.apart();
                }
            }
        } else if stamp.day != self.day {
            self.apart();
        }
        if self.day != stamp.day {
            self.day = stamp.day.into();
        }
        let mut ms = stamp.ms + self.add;
        let mut grain = stamp.grain;
        if let Some(part) = own_part(words, stamp).filter(|_| stamp.wall) {
            (ms, grain) = (ms + part, 1);
        } else if (0..grain).contains(&(self.last.saturating_sub(ms))) {
            // Somewhere in the second of the line above, and behind that.
            ms = self.last;
        }
        // What two machines write is not compared.
        let whose = host(behind_zone(behind_offset(words.trim_start())));
        if let Some(whose) = whose.filter(|_| stamp.wall) {
            if !self.host.is_empty() && self.host != whose {
                self.apart();
                (ms, self.last) = (stamp.ms, i64::MIN);
            }
            if self.host != whose {
                self.host = whose.to_owned();
            }
        }
        let kind = match kind_of_words {
            Kind::Other if is_row => Kind::Row,
            kind => kind,
        };
        // What stands on both sides of a clock that was set is not compared.
        if kind == Kind::ClockSet && self.last != i64::MIN && ms - self.last > NEAR {
            let near = self.spoke.is_some_and(|t| self.last - t < NEAR);
            self.apart();
            ms = stamp.ms;
            self.spoke = near.then_some(ms);
        }
        // A line that stands behind later ones was kept back.
        if ms < self.last {
            if self.last - ms > NEAR {
                self.apart();
            } else {
                return;
            }
        }
        self.last = ms;
        let words = words.trim_start_matches([' ', '|', ':', ']']).trim_end_matches([' ', '|']);
        let beside = [
            Kind::Other,
            Kind::Kernel,
            Kind::Address,
            Kind::NoAddress,
            Kind::Link,
            Kind::ClockSet,
            Kind::App,
        ];
        let speaks = !beside.contains(&kind) && !matches!(kind, Kind::Took(_));
        let words = behind_host(behind_zone(behind_offset(words)));
        let (text, run, wall) = (shown(words), self.run, stamp.wall);
        let step = Step { line, text, ms, grain, run, wall, kind };
        if speaks {
            self.spoke = Some(ms);
            self.out.extend(self.before.take().filter(|b| b.run == self.run && ms - b.ms < NEAR));
        }
        if speaks || self.spoke.is_some_and(|t| ms - t < NEAR) {
            self.out.push(step);
        } else {
            self.before = Some(step);
        }
    }

    /// A journal prints when a program wrote a line, and when it took one of the kernel in. Where
    /// the word of systemd-sleep stands behind the kernel's and has an earlier time, it took those
    /// in behind the sleep: their times say nothing of its begin.
    fn was_late(&mut self, stamp: &Stamp<'_>) {
        let Some(entered) = self.entered.take() else { return };
        let ms = stamp.ms + entered.add;
        let same_clock = stamp.wall && entered.run == self.run && stamp.day == entered.day;
        if !same_clock || ms < entered.last || self.last <= ms {
            return;
        }
        (self.day, self.last, self.add) = (entered.day, entered.last, entered.add);
        self.out.truncate(entered.steps);
    }

    fn apart(&mut self) {
        self.run += 1;
        self.last = i64::MIN;
        self.add = 0;
        self.spoke = None;
    }
}

/// What NetworkManager's own time of a line, `<info>  [1547525605.3919]`, has behind the second
/// that its keeper wrote (src/core/nm-logging.c), in ms; nothing if that is another second.
fn own_part(words: &str, stamp: Stamp<'_>) -> Option<i64> {
    let (_, rest) = words.split_once("> [").or_else(|| words.split_once(">  ["))?;
    let (seconds, rest) = rest.split_once('.')?;
    let part = rest.get(..3)?.parse().ok()?;
    let same = seconds.parse::<i64>().ok()?.rem_euclid(60) == stamp.ms / 1_000 % 60;
    (stamp.grain >= 1_000 && same).then_some(part)
}

/// `I/PowerManagerService(  544): …` of `logcat -v brief`, which has no times.
fn is_brief(line: &str) -> bool {
    let b = line.as_bytes();
    let level = b.len() > 4 && b"VDIWEF".contains(&b[0]) && b[1] == b'/';
    let tag = || line.split_once("): ")?.0.split_once('(');
    level && tag().is_some_and(|(_, pid)| pid.bytes().all(|c| c == b' ' || c.is_ascii_digit()))
}

/// The zone of a stamp: `CEST` at its end, or `+0200` behind it.
fn zone<'a>(words: &'a str, stamp: &Stamp<'a>) -> Option<&'a str> {
    if !stamp.zone.is_empty() {
        return Some(stamp.zone);
    }
    let rest = behind_offset(words);
    let at = words.len() - rest.len();
    (at > 0 && stamp.wall).then(|| words[..at].trim())
}

/// What stands behind `+0100 `, the zone of a time.
fn behind_offset(words: &str) -> &str {
    let zone = words.strip_prefix(['+', '-']).and_then(|w| w.split_once(' '));
    let digits = |z: &str| z.bytes().all(|b| b.is_ascii_digit() || b == b':');
    let is = |z: &str| (z.len() == 4 || z.len() == 5 && z.as_bytes()[2] == b':') && digits(z);
    zone.filter(|z| is(z.0)).map_or(words, |z| z.1)
}

/// What stands behind `CET 2014: ` of `date`, where a line has it.
fn behind_zone(words: &str) -> &str {
    let parts = words.split_once(": ").and_then(|(date, rest)| Some((date.split_once(' ')?, rest)));
    let of_date = |(zone, year): (&str, &str)| {
        let upper = !zone.is_empty() && zone.bytes().all(|b| b.is_ascii_uppercase());
        upper && year.len() == 4 && year.bytes().all(|b| b.is_ascii_digit())
    };
    parts.filter(|(date, _)| of_date(*date)).map_or(words, |(_, rest)| rest)
}

/// What stands behind `box ` of `box systemd[1]: …` or `box kernel: …`: the machine that a
/// journal names helps nobody.
fn behind_host(words: &str) -> &str {
    let Some((host, rest)) = words.split_once(' ') else { return words };
    let program = rest.split(' ').next().unwrap_or("");
    let named = program.len() > 1 && program.ends_with(':');
    if named && !host.ends_with([':', ')', ']', '.']) { rest } else { words }
}

/// The machine that a line of a journal names before the program that wrote it.
fn host(words: &str) -> Option<&str> {
    let (host, rest) = words.split_once(' ')?;
    let program = rest.split(' ').next().unwrap_or("");
    let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let named = program.len() > 1 && program.ends_with(':') && !host.is_empty();
    (named && host.chars().all(letter) && !host.ends_with('.')).then_some(host)
}

/// `/usr/lib/systemd/system-sleep/NAME failed with exit status 1.` (systemd,
/// src/shared/exec-util.c:do_execute, 237 to 258).
fn is_hook(words: &str) -> bool {
    // One of elogind may cancel the sleep (src/shared/exec-elogind.c).
    let ends = [" failed", " terminated", ": Operation canceled"];
    words.contains("system-sleep/") && ends.iter().any(|e| words.contains(e))
}

fn kind(words: &str) -> Kind {
    if is_hook(words) {
        return Kind::Hook;
    }
    if words.contains("Killing process ") && words.contains("-suspend.service") {
        return Kind::Killed;
    }
    for took in TOOK {
        if let Some((_, rest)) = words.split_once(took) {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            if let Some(ms) = rest[..digits]
                .parse()
                .ok()
                .filter(|_| rest[digits..].trim_start().starts_with("ms"))
            {
                return Kind::Took(ms);
            }
        }
    }
    let pairs = Pairs::of(words.as_bytes());
    let has = |w: &str| pairs.may_have(w.as_bytes()) && words.contains(w);
    let found = WORDS.iter().find(|w| has(w.0)).map(|w| w.1);
    let kernel = words.contains("kernel:");
    match found {
        // Words that only quote a mark are none.
        Some(Kind::App) if Name::of_line(words).is_none() => Kind::Other,
        // A driver's timeout is the kernel's matter.
        Some(Kind::TimedOut | Kind::Address) if kernel => Kind::Kernel,
        Some(Kind::Link | Kind::NoLink | Kind::Address | Kind::NoAddress)
            if VIRTUAL.iter().any(|v| words.contains(v)) =>
        {
            Kind::Other
        }
        Some(kind) => kind,
        None if kernel => Kind::Kernel,
        None => Kind::Other,
    }
}

/// The time that a line begins with, and where it ends.
fn stamp(text: &str) -> Option<(Stamp<'_>, usize)> {
    dated(text).or_else(|| clock(text, "", 0)).or_else(|| monotonic(text))
}

/// `Jun 10 22:55:37`, `mar 06 18:50:51.123`, `2031-05-14T00:01:21.5+02:00`, `07-13 22:48:34.061`.
fn dated(text: &str) -> Option<(Stamp<'_>, usize)> {
    let named = text.starts_with(char::is_alphabetic);
    let first = text.split(|c| c == ' ' || c == 'T' && !named).next()?;
    let b = first.as_bytes();
    let numeric =
        b.len() >= 5 && b.iter().all(|c| c.is_ascii_digit() || *c == b'-') && b.contains(&b'-');
    if numeric {
        return clock(text, first, first.len() + 1);
    }
    let month = first.trim_end_matches('.');
    // Of other scripts any short word, with its marks: `11月`, `നവം`.
    let letters = month.chars().count();
    let foreign = !month.is_ascii() && (1..=8).contains(&letters);
    let ascii = (3..=5).contains(&letters) && month.chars().all(char::is_alphabetic);
    if !(foreign || ascii) {
        return None;
    }
    let rest = text[first.len()..].trim_start();
    // The day of the week stands before the month, or before a date of numbers.
    let numbers =
        rest.as_bytes().get(4) == Some(&b'-') && rest.starts_with(|c: char| c.is_ascii_digit());
    if letters == 3 && numbers {
        let at = text.len() - rest.len();
        return spaced(rest).map(|(stamp, len)| (stamp, at + len));
    }
    if rest.starts_with(char::is_alphabetic) {
        let at = text.len() - rest.len();
        return dated(rest).filter(|_| letters == 3).map(|(stamp, len)| (stamp, at + len));
    }
    let day = rest
        .split(' ')
        .next()
        .filter(|d| (1..=2).contains(&d.len()) && d.bytes().all(|c| c.is_ascii_digit()))?;
    let end = text.len() - rest.len() + day.len();
    clock(text, &text[..end], end + 1)
}

/// How many days lie between two dates that both name theirs.
fn days(from: &str, to: &str) -> Option<i64> {
    let number = |date: &str| {
        let mut parts = date.split('-').map(|n| n.parse::<i64>());
        if let (Some(Ok(y)), Some(Ok(m)), Some(Ok(d)), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        {
            return ((1970..3000).contains(&y) && (1..=12).contains(&m) && (1..=31).contains(&d))
                .then(|| civil_days(y, m, d));
        }
        // Nothing names a year: a leap year has all days.
        let (month, day) = date.split_once(' ')?;
        let month = ENGLISH.iter().position(|m| *m == month)? as i64 + 1;
        Some(civil_days(2000, month, day.trim().parse().ok()?))
    };
    Some(number(to)? - number(from)?)
}

/// `2031-05-14 00:01:21 CEST` of `journalctl -o short-full`, with its zone.
fn spaced(text: &str) -> Option<(Stamp<'_>, usize)> {
    let (stamp, end) = dated(text)?;
    let rest = text.get(end..)?.strip_prefix(' ')?;
    let zone = rest.split(' ').next().unwrap_or("");
    let named = (2..=5).contains(&zone.len()) && zone.bytes().all(|b| b.is_ascii_uppercase());
    let offset = zone.len() >= 3 && zone.starts_with(['+', '-']);
    let zone = if named || offset { zone } else { "" };
    let len = if zone.is_empty() { 0 } else { 1 + zone.len() };
    Some((Stamp { zone, ..stamp }, end + len))
}

/// `23:04:26.858` at `at`.
fn clock<'a>(text: &'a str, day: &'a str, at: usize) -> Option<(Stamp<'a>, usize)> {
    let time = TimeOfDay::read(text.get(at..)?.as_bytes())?;
    let stamp = Stamp { day, ms: time.ms(), grain: grain(time.digits), wall: true, zone: "" };
    Some((stamp, at + time.len))
}

/// How coarse a stamp is whose fraction has so many digits, in ms.
fn grain(digits: usize) -> i64 {
    match digits {
        0 => 1_000,
        1 => 100,
        2 => 10,
        _ => 1,
    }
}

/// `[ 18360.351234]`, `18360.35 | …`: seconds since the start, with a fraction.
fn monotonic(text: &str) -> Option<(Stamp<'_>, usize)> {
    let inner = text.strip_prefix('[').unwrap_or(text).trim_start();
    let whole = inner.bytes().take_while(u8::is_ascii_digit).count();
    let rest = inner.get(whole..)?.strip_prefix('.')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if whole == 0 || digits == 0 || !rest[digits..].starts_with([' ', ']', '|']) {
        return None;
    }
    let n: i64 = inner[..whole].parse().ok().filter(|n| *n < 10_000_000_000)?;
    let b = rest.as_bytes();
    let ms = (0..3).fold(0, |n, i| n * 10 + if i < digits { i64::from(b[i] - b'0') } else { 0 });
    let len = text.len() - rest.len() + digits;
    let (day, grain) = ("since the start", grain(digits));
    Some((Stamp { day, ms: n * 1_000 + ms, grain, wall: false, zone: "" }, len))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Step> {
        super::read(&Asked::of(text.as_bytes()), true)
    }

    #[test]
    fn a_log_of_pm_utils_has_its_steps() {
        let text = "Mon Jun  2 21:40:10 CEST 2014: Running hooks for suspend.\n\
            Running hook /usr/lib/pm-utils/sleep.d/75modules suspend suspend:\n\
            Mon Jun  2 21:40:12 CEST 2014: performing suspend\n\
            Tue Jun  3 06:10:00 CEST 2014: Awake.\n\
            Tue Jun  3 06:10:00 CEST 2014: Running hooks for resume\n\
            Tue Jun  3 06:10:31 CEST 2014: Finished.\n";
        let all: Vec<_> = read(text).iter().map(|s| (s.line, s.kind)).collect();
        let kinds = [Kind::Asked, Kind::Sleeps, Kind::Back, Kind::Other, Kind::Ended];
        assert_eq!(read(text)[2].text, "Awake.");
        assert_eq!(all, [1, 3, 4, 5, 6].into_iter().zip(kinds).collect::<Vec<_>>());
    }

    #[test]
    fn lines_of_services_have_their_times_and_kinds() {
        let text = "Okt 03 23:59:58 box systemd-logind[7]: Lid closed.\n\
            Okt 04 00:00:03 box systemd-sleep[9]: Performing sleep operation 'suspend'... Okt 04 07:00:00 box systemd-sleep[9]: System returned from sleep operation 'suspend'.\n\
            Okt 04 07:00:02 box systemd[1]: Reloading finished in 1900 ms.\n";
        let all: Vec<_> = read(text).iter().map(|s| (s.line, s.ms % DAY, s.kind, s.run)).collect();
        assert_eq!(all.len(), 4);
        assert_eq!(all[0].2, Kind::Asked);
        assert_eq!((all[1].2, all[2].2), (Kind::Sleeps, Kind::Back));
        assert_eq!(all[3], (3, 25_202_000, Kind::Took(1_900), all[0].3));
        assert!(read("12:00:00 cron: nothing about it").is_empty());
    }

    #[test]
    fn a_journal_has_the_same_steps_in_each_of_its_forms() {
        let entries = [
            ("systemd-logind", 1_000_000, "The system will suspend now!"),
            ("systemd-sleep", 1_250_000, "Performing sleep operation 'suspend'..."),
            ("kernel", 1_400_000, "PM: suspend entry (deep)"),
            ("kernel", 31_400_000, "PM: suspend exit"),
            ("systemd", 31_900_000, "Finished systemd-suspend.service - System Suspend."),
        ];
        let of = |form: &dyn Fn(&str, i64, &str) -> String| {
            let text: String = entries.iter().map(|(who, us, say)| form(who, *us, say)).collect();
            let steps = read(&text);
            steps.iter().map(|s| (s.kind, s.ms - steps[0].ms)).collect::<Vec<_>>()
        };
        // 2031-05-14 00:00:00 in UTC.
        let day = 1_936_828_800_000_000;
        let clock = |us: i64| format!("00:00:{:02}.{:06}", us / 1_000_000, us % 1_000_000);
        let pid = |who: &str| if who == "kernel" { who.into() } else { format!("{who}[7]") };
        let precise = of(&|who, us, say| format!("May 14 {} box {}: {say}\n", clock(us), pid(who)));
        assert_eq!(precise.len(), entries.len());
        assert_eq!(precise[4], (Kind::Ended, 30_900));
        let transport = |who: &str| if who == "kernel" { "kernel" } else { "journal" };
        let export = of(&|who, us, say| {
            format!(
                "__CURSOR=x\n__REALTIME_TIMESTAMP={}\n_TRANSPORT={}\nSYSLOG_IDENTIFIER={who}\n\
                 _PID=7\n_HOSTNAME=box\nMESSAGE={say}\n\n",
                day + us,
                transport(who)
            )
        });
        assert_eq!(export, precise);
        let json = of(&|who, us, say| {
            format!(
                "{{\"MESSAGE\":\"{say}\",\"_TRANSPORT\":\"{}\",\"SYSLOG_IDENTIFIER\":\"{who}\",\
                 \"__REALTIME_TIMESTAMP\":\"{}\",\"_PID\":\"7\"}}\n",
                transport(who),
                day + us
            )
        });
        assert_eq!(json, precise);
        let verbose = of(&|who, us, say| {
            format!(
                "Wed 2031-05-14 {} UTC [s=ab;i=1;b=cd;m={:x};t={:x};x=ef]\n    _TRANSPORT={}\n    \
                 SYSLOG_IDENTIFIER={who}\n    MESSAGE={say}\n",
                clock(us),
                us,
                day + us,
                transport(who)
            )
        });
        assert_eq!(verbose, precise);
        let coarse = |steps: &[(Kind, i64)]| {
            steps.iter().map(|(kind, ms)| (*kind, (ms + 1_000) / 1_000)).collect::<Vec<_>>()
        };
        let full = of(&|who, us, say| {
            format!("Wed 2031-05-14 {} CEST box {}: {say}\n", &clock(us)[..8], pid(who))
        });
        assert_eq!(coarse(&full), coarse(&precise));
        let unit = of(&|who, us, say| {
            format!("Wed 2031-05-14 {} CEST box {who}.service[7]: {say}\n", &clock(us)[..8])
        });
        assert_eq!(coarse(&unit), coarse(&precise));
    }

    #[test]
    fn over_summer_time_and_boots_nothing_is_compared() {
        let runs = |between: &str, zones: [&str; 2]| {
            let text = format!(
                "Sun 2031-03-30 01:50:00 {} box systemd-sleep[7]: Performing sleep operation 'suspend'...\n{between}\
                 Sun 2031-03-30 03:10:00 {} box systemd-sleep[7]: System returned from sleep operation 'suspend'.\n",
                zones[0], zones[1]
            );
            let steps = read(&text);
            assert_eq!(steps.len(), 2, "{text}");
            steps[0].run == steps[1].run
        };
        assert!(runs("", ["CET", "CET"]));
        assert!(!runs("", ["CET", "CEST"]));
        assert!(runs("", ["+0100", "+0100"]));
        assert!(!runs("", ["+0100", "+0200"]));
        assert!(!runs("-- Boot 0123456789abcdef --\n", ["CET", "CET"]));
    }

    #[test]
    fn clocks_of_every_form_are_read() {
        let of = |t: &str| stamp(t).map(|(s, len)| (s.ms, s.grain, len));
        assert_eq!(of("00:00:01.25 x"), Some((1_250, 10, 11)));
        assert_eq!(of("07-13 00:00:02.061   476 I x"), Some((2_061, 1, 18)));
        assert_eq!(of("18360.35 | PM: suspend exit"), Some((18_360_350, 10, 8)));
        assert_eq!(of("2031-05-14T00:00:03+02:00 x"), Some((3_000, 1_000, 19)));
        assert_eq!(of("no time"), None);
    }
}
