//! When a sleep began and ended by the clock on the wall, as whoever kept a log wrote it.

use crate::months::{ENGLISH, english};
use crate::time_of_day::{TimeOfDay, zone};
use dormouse_doctor::night::Fact;
use memchr::memmem::{Finder, find};
use std::sync::LazyLock;

/// What begins a sleep in a log, and what ends it: the kernel's lines, and those of
/// systemd-sleep (src/sleep/sleep.c: `Suspending system...` of its first versions, `Entering sleep
/// state` of 245 to 254), which hibernates with the same words. Tasks are started again last.
const MARKS: [(&[u8], bool); 12] = [
    // logind (src/login/logind-action.c), where somebody left the kernel's word out.
    (b"The system will suspend now", true),
    (b"suspend entry", true),
    (b"Performing sleep operation 'suspend", true),
    (b"Entering sleep state 'suspend", true),
    (b"]: Suspending system...", true),
    (b"suspend exit", false),
    (b"hibernation entry", true),
    (b"hibernation exit", false),
    (b"System returned from sleep operation 'suspend", false),
    (b"System returned from sleep state", false),
    (b"]: System resumed.", false),
    (b"Restarting tasks", false),
];

/// What each of these lines has: most lines of a long log have none.
static COMMON: LazyLock<[Finder<'static>; 8]> = LazyLock::new(|| {
    [
        &b"suspend e"[..],
        b"hibernation e",
        b"sleep operation",
        b"sleep state",
        b"Suspending system...",
        b"System resumed.",
        b"Restarting tasks",
        b"will suspend now",
    ]
    .map(Finder::new)
});

/// What services say when a machine is back: NetworkManager (src/core/nm-manager.c:
/// do_sleep_wake), bluetoothd (src/adapter.c:controller_resume_callback), and systemd of the unit
/// that slept (src/core/unit.c, job.c: `Succeeded` to 248, `Deactivated successfully` since).
const BACK: [&[u8]; 6] = [
    b"sleep: wake requested (sleeping: yes",
    b"Controller resume with wake event",
    b"systemd-suspend.service: Succeeded",
    b"systemd-suspend.service: Deactivated successfully",
    b"Finished Suspend.",
    b"Finished System Suspend.",
];

static SAID: LazyLock<[Finder<'static>; BACK.len()]> = LazyLock::new(|| BACK.map(Finder::new));

/// Which of these words a text has, so that no line is asked for others.
pub(super) struct Services(Vec<&'static Finder<'static>>);

impl Services {
    pub(super) fn of(bytes: &[u8]) -> Services {
        Services(SAID.iter().filter(|f| f.find(bytes).is_some()).collect())
    }

    /// A line in which a service says that the machine is back, with its time.
    pub(super) fn back(&self, raw: &[u8], kept: Option<i64>) -> Option<Fact> {
        let at = self.0.iter().find_map(|f| f.find(raw))?;
        written(raw, at, kept).map(Fact::Woke)
    }
}

/// When an entry of a journal was kept, in ms since 1970: of `journalctl -o export` in a line
/// before its message, of `-o json` in the same line (systemd's Journal Export Formats).
pub(super) fn kept(raw: &[u8]) -> Option<i64> {
    const NAME: &[u8] = b"__REALTIME_TIMESTAMP";
    if !raw.starts_with(NAME) && raw.first() != Some(&b'{') {
        return None;
    }
    let value = &raw[find(raw, NAME)? + NAME.len()..];
    let from = value.iter().take(8).position(u8::is_ascii_digit)?;
    let digits = value[from..].iter().take(16).take_while(|b| b.is_ascii_digit());
    Some(digits.fold(0, |n, b| n * 10 + i64::from(b - b'0')) / 1_000)
}

/// A line that begins or ends a sleep, with the time that its keeper or an Android kernel
/// wrote: a journal beside the message, where it was `kept`.
fn mark(raw: &[u8], kept: Option<i64>) -> Option<Fact> {
    let (at, mark, begins) = MARKS.iter().find_map(|m| Some((find(raw, m.0)?, m.0, m.1)))?;
    // `suspend exit 2020-06-07 16:27:41.143921418 UTC` (kernel/power/suspend.c of Android's
    // common kernels, 4.9 to 6.6).
    let behind = std::str::from_utf8(raw.get(at + mark.len()..)?).ok()?.trim_start();
    if let Some(ms) = iso(behind).filter(|_| behind.contains(" UTC")) {
        return Some(Fact::Clock { begins, ms, precise: true });
    }
    let ms = written(raw, at, kept)?;
    Some(Fact::Clock { begins, ms, precise: false })
}

/// When a line was written, whose words begin `at` there: by its entry of a journal, else by the
/// time in front.
fn written(raw: &[u8], at: usize, kept: Option<i64>) -> Option<i64> {
    if let Some(ms) = kept.filter(|_| raw.starts_with(b"MESSAGE=") || raw.first() == Some(&b'{')) {
        return Some(ms);
    }
    let head = String::from_utf8_lossy(&raw[..at.min(64)]);
    let head = head.trim_start_matches(['>', ' ', '\t', '[', '|']);
    let english = english(head.as_bytes()).map(|h| String::from_utf8_lossy(&h).into_owned());
    iso(head).or_else(|| syslog(english.as_deref().unwrap_or(head))).or_else(|| by_hand(head))
}

/// Seconds since some day of a line that is a date: what `date` prints (`Mon Feb  3 23:05:10 CET
/// 2031`, `Mon 03 Feb 2031 11:05:10 PM CET`), and upower's `updated:`.
pub(super) fn date(text: &str) -> Option<i64> {
    let text = text.trim();
    let text = text.strip_prefix("updated:").unwrap_or(text).trim_start();
    let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    if !days.iter().any(|d| text.starts_with(d)) {
        return None;
    }
    let words: Vec<&str> = text.split([' ', ',']).filter(|w| !w.is_empty()).take(9).collect();
    let place = words.iter().position(|w| ENGLISH.contains(w))?;
    let m = i64::try_from(ENGLISH.iter().position(|x| *x == words[place])?).ok()? + 1;
    let day = |i: usize| words.get(i)?.parse::<i64>().ok().filter(|d| (1..=31).contains(d));
    let d = place.checked_sub(1).and_then(day).or_else(|| day(place + 1))?;
    let y = words.iter().find_map(|w| w.parse().ok().filter(|y| (1970..3000).contains(y)))?;
    let at = words.iter().position(|w| w.contains(':'))?;
    let noon = words.get(at + 1).map_or("", |w| *w);
    let s = since(y, m, d, words[at])? / 1_000;
    let hour = s.rem_euclid(86_400) / 3_600;
    Some(match noon {
        "PM" | "pm" if hour < 12 => s + 12 * 3_600,
        "AM" | "am" if hour == 12 => s - 12 * 3_600,
        _ => s,
    })
}

/// Milliseconds since some day of a time in the calendar.
fn since(y: i64, m: i64, d: i64, clock: &str) -> Option<i64> {
    let time = TimeOfDay::read(clock.as_bytes())?;
    let known = (1..=12).contains(&m) && (1..=31).contains(&d) && (1970..3000).contains(&y);
    known.then(|| crate::klog::civil_days(y, m, d) * 86_400_000 + time.ms())
}

/// `2020-06-07 16:27:41.143921418`, `2025-05-14T00:01:21+02:00`.
fn iso(text: &str) -> Option<i64> {
    let day = text.get(..10)?;
    let clock = text.get(11..)?;
    let word = clock.split(' ').next()?;
    let clock = word.split(['+', '-', 'Z']).next()?;
    let mut d = day.split('-').map(|n| n.parse::<i64>().ok());
    Some(
        since(d.next()??, d.next()??, d.next()??, clock)?
            - zone(&word.as_bytes()[clock.len()..]) * 1_000,
    )
}

/// `19:56:10`, the time of day alone, as people write it: of some day.
fn by_hand(text: &str) -> Option<i64> {
    let time = TimeOfDay::read(text.as_bytes())?;
    text[8..].starts_with([' ', '.', ',']).then(|| time.ms())
}

/// Marks of a line, of which people join two: `19:56:10 suspend entry -> 19:58:41 suspend exit`.
pub(crate) fn marks(raw: &[u8], kept: Option<i64>) -> impl Iterator<Item = Fact> {
    let raw = if COMMON.iter().any(|f| f.find(raw).is_some()) { raw } else { b"" };
    let arrow = [&b"->"[..], "→".as_bytes()].iter().find_map(|a| Some((find(raw, a)?, a.len())));
    let (first, second) = match arrow {
        Some((at, len)) => (&raw[..at], raw[at + len..].trim_ascii_start()),
        None => (raw, &b""[..]),
    };
    [first, second].into_iter().filter_map(move |piece| mark(piece, kept))
}

/// `Jun  8 19:56:10`, `Sat Jun  8 19:56:10 2024]`; a year that is left out is any.
fn syslog(text: &str) -> Option<i64> {
    let mut words = text.split_whitespace().skip_while(|w| !ENGLISH.contains(w)).take(4);
    let month = words.next()?;
    let m = i64::try_from(ENGLISH.iter().position(|x| *x == month)?).ok()? + 1;
    let day = words.next()?.parse().ok()?;
    let clock = words.next()?;
    let year = words.next().and_then(|y| y.strip_suffix(']')?.parse().ok());
    since(year.unwrap_or(2001), m, day, clock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_a_date_tell_when() {
        let of = |t: &str| date(t).expect(t);
        let plain = of("Tue Feb  4 23:05:10 CET 2031");
        assert_eq!(of("Tue 04 Feb 2031 11:05:10 PM CET"), plain);
        assert_eq!(of("  updated:   Tue 04 Feb 2031 11:05:11 PM CET (12 seconds ago)"), plain + 1);
        assert_eq!(of("Wed Feb  5 12:05:10 AM UTC 2031"), plain + 3_600);
        for none in ["Monday was fine", "Feb  4 23:05:10 box kernel: x", "Sun 3:10"] {
            assert_eq!(date(none), None, "{none}");
        }
    }

    #[test]
    fn the_clock_on_the_wall_is_read_whoever_kept_the_log() {
        let of = |t: &str| match mark(t.as_bytes(), kept(t.as_bytes())) {
            Some(Fact::Clock { begins, ms, precise }) => Some((begins, ms, precise)),
            _ => None,
        };
        let passed = |a: &str, b: &str| of(b).expect(b).1 - of(a).expect(a).1;
        assert_eq!(
            passed(
                "[  1.0] PM: PM: suspend entry 2031-02-28 23:59:59.250000000 UTC",
                "[  1.1] PM: PM: suspend exit 2031-03-01 00:00:01.500000000 UTC"
            ),
            2_250
        );
        assert_eq!(
            passed(
                "Nov 30 23:00:00 box kernel: PM: suspend entry (s2idle)",
                "Dec  1 07:30:10 box kernel: PM: suspend exit"
            ),
            30_610_000
        );
        assert_eq!(
            passed(
                "2031-05-14T00:01:21 box kernel: [ 88.62] PM: suspend entry (s2idle)",
                "2031-05-14T09:20:43 box kernel: [ 99.19] Restarting tasks ... done."
            ),
            33_562_000
        );
        assert_eq!(
            passed(
                "[Sat Jun  8 19:56:10 2030] PM: suspend entry (deep)",
                "[Sat Jun  8 19:56:12 2030] PM: suspend exit"
            ),
            2_000
        );
        // In zones that differ by an hour.
        assert_eq!(
            passed(
                "2031-03-30T01:59:00+0100 box kernel: PM: suspend entry (s2idle)",
                "2031-03-30T03:01:00+0200 box kernel: PM: suspend exit"
            ),
            120_000
        );
        let json = r#"{"MESSAGE":"PM: suspend exit","__REALTIME_TIMESTAMP":"1928786400123456"}"#;
        assert_eq!(of(json), Some((false, 1_928_786_400_123, false)));
        let told = kept(b"__REALTIME_TIMESTAMP=1928786400123456");
        assert_eq!(told, Some(1_928_786_400_123));
        let exit = Fact::Clock { begins: false, ms: 1_928_786_400_123, precise: false };
        assert_eq!(mark(b"MESSAGE=PM: suspend exit", told), Some(exit));
        assert_eq!(of("[  347.639686] PM: suspend exit"), None);
        assert_eq!(of("see suspend entry below"), None);
        let joined = "21:10:05 suspend entry (s2idle)  ->  21:10:45 suspend exit  slept 40s";
        let both: Vec<i64> = marks(joined.as_bytes(), None)
            .map(|f| if let Fact::Clock { ms, .. } = f { ms } else { 0 })
            .collect();
        assert_eq!((both.len(), both[1] - both[0]), (2, 40_000));
    }
}
