//! Pieces of the sentences that rules and screens are made of: times, numbers, lists of
//! names, devices, errors.

use crate::finding::{Device, Task};
use crate::time::Ns;

/// `113.72`: a cell of a table in ms, rounded half up.
pub fn ms(t: Ns) -> String {
    let c = t.hundredths_of_ms();
    let sign = if c < 0 { "-" } else { "" };
    let c = c.unsigned_abs();
    format!("{sign}{}.{:02}", c / 100, c % 100)
}

/// The last `n` lines of `text`.
pub fn tail(text: &str, n: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(n)..].join("\n")
}

/// `1 device`, `2 devices`, `1,814 messages`.
pub fn plural(n: usize, one: &str) -> String {
    match (n, one.strip_suffix('y')) {
        (1, _) => format!("1 {one}"),
        (_, Some(stem)) => format!("{} {stem}ies", grouped(n as u64)),
        _ => format!("{} {one}s", grouped(n as u64)),
    }
}

/// `1,814`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// `a`, `a and b`, `a, b and 3 others`.
pub fn names(all: &[String]) -> String {
    match all {
        [] => String::new(),
        [one] => one.clone(),
        [one, two] => format!("{one} and {two}"),
        [one, two, three] => format!("{one}, {two} and {three}"),
        [one, two, rest @ ..] => format!("{one}, {two} and {} others", rest.len()),
    }
}

/// A length that a person reads: `0 s`, `450 ms`, `12.3 s`, `3 min 20 s`, `14 h 5 min`,
/// `3 d 2 h`.
pub fn span(t: Ns) -> String {
    let s = t.0.saturating_add(500_000_000) / 1_000_000_000;
    match t.0 {
        0 => "0 s".into(),
        1..1_000_000 => "< 1 ms".into(),
        1_000_000..999_500_000 => format!("{} ms", t.0.saturating_add(500_000) / 1_000_000),
        999_500_000..59_950_000_000 => {
            let tenths = t.0.saturating_add(50_000_000) / 100_000_000;
            format!("{}.{} s", tenths / 10, tenths % 10)
        }
        _ if s < 3_600 => format!("{} min {} s", s / 60, s % 60),
        _ => {
            // To the nearest minute, and of days to the nearest hour.
            let (m, h) = (s.saturating_add(30) / 60, s.saturating_add(1_800) / 3_600);
            match m < 1_440 {
                true => format!("{} h {} min", m / 60, m % 60),
                false => format!("{} d {} h", h / 24, h % 24),
            }
        }
    }
}

/// A moment of the calendar, by ms since 1970: `2031-02-14 06:20`, in UTC.
pub fn date(ms: i64) -> String {
    let minutes = ms.div_euclid(60_000);
    let (days, minute) = (minutes.div_euclid(1_440), minutes.rem_euclid(1_440));
    let (y, m, d) = civil(days);
    format!("{y:04}-{m:02}-{d:02} {:02}:{:02}", minute / 60, minute % 60)
}

/// The same by microseconds since 1970, as logs write it: `2031-02-14T06:20:05.000123+00:00`.
pub fn stamp(us: i64) -> String {
    let (seconds, part) = (us.div_euclid(1_000_000), us.rem_euclid(1_000_000));
    let day = date(us.div_euclid(1_000)).replace(' ', "T");
    format!("{day}:{:02}.{part:06}+00:00", seconds.rem_euclid(60))
}

/// A moment of a log with `digits` behind its seconds: `45.678 s` of a kernel's clock,
/// `Nov 11 22:58:44.910` of the calendar. Logs that name no year are read as of 2000.
pub fn moment(t: Ns, digits: u32) -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (s, part) = (t.0 / 1_000_000_000, t.0 % 1_000_000_000 / 10_i64.pow(9 - digits));
    let width = digits as usize;
    if t <= Ns::CALENDAR {
        return format!("{s}.{part:0width$} s");
    }
    let (y, m, d) = civil(s / 86_400);
    let month = MONTHS[(m - 1).rem_euclid(12) as usize];
    let year = if y == 2000 { String::new() } else { format!(" {y}") };
    let clock = format!("{:02}:{:02}:{:02}", s / 3_600 % 24, s / 60 % 60, s % 60);
    format!("{month} {d}{year} {clock}.{part:0width$}")
}

/// Year, month and day, so many days after 1970 began.
fn civil(days: i64) -> (i64, i64, i64) {
    // Days of years that begin in March, in eras of 400 (Hinnant, "chrono-Compatible
    // Low-Level Date Algorithms").
    let z = days + 719_468;
    let (era, day) = (z.div_euclid(146_097), z.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let d = of_year - (153 * from_march + 2) / 5 + 1;
    let m = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year + era * 400 + i64::from(m <= 2), m, d)
}

/// The name of an error, and what it means here.
fn error(n: i32) -> (&'static str, &'static str) {
    match n {
        -16 => ("EBUSY", "it was busy"),
        -22 => ("EINVAL", "it cannot do what was asked"),
        -110 => ("ETIMEDOUT", "it did not answer in time"),
        -108 => ("ESHUTDOWN", "it, or what it is behind, was shut down already"),
        -121 => ("EREMOTEIO", "it did not answer on its bus"),
        -6 => ("ENXIO", "it could not be reached"),
        -5 => ("EIO", "an I/O error"),
        -11 => ("EAGAIN", "try again"),
        -14 => ("EFAULT", "a bad address; some drivers say so where it did not answer"),
        -13 => ("EACCES", "it may not be used now"),
        -71 => ("EPROTO", "it answered wrongly on its bus"),
        -19 => ("ENODEV", "it is gone"),
        -12 => ("ENOMEM", "memory did not suffice"),
        -28 => ("ENOSPC", "there was no room: of a hibernation, in swap"),
        -95 => ("EOPNOTSUPP", "it cannot do that"),
        -1 => ("EPERM", "not permitted; some drivers say so of any failure"),
        -2 => ("ENOENT", "what it needs is not there"),
        -4 => ("EINTR", "a signal came while it waited"),
        -61 => ("ENODATA", "it had nothing to say"),
        -62 => ("ETIME", "it did not answer in time"),
        -107 => ("ENOTCONN", "nothing is connected there"),
        -115 => ("EINPROGRESS", "another change of its state was under way"),
        -512 => {
            ("ERESTARTSYS", "a signal came while it waited: whoever asked for the sleep was ended")
        }
        -517 => ("EPROBE_DEFER", "what it needs is not ready yet"),
        _ => ("", ""),
    }
}

/// What refused a sleep, which a wakeup that is pending does as well:
/// `error -16 (EBUSY: it was busy, or a wakeup was pending)`.
pub fn refused(n: i32) -> String {
    match n {
        -16 => "error -16 (EBUSY: it was busy, or a wakeup was pending)".into(),
        _ => told(n),
    }
}

/// `error -110 (ETIMEDOUT: it did not answer in time)`.
pub fn told(n: i32) -> String {
    match error(n) {
        ("", _) => format!("error {n}"),
        (name, what) => format!("error {n} ({name}: {what})"),
    }
}

/// `20.0 s`, rounded half up.
pub fn seconds(t: Ns) -> String {
    let tenths = t.0.saturating_add(50_000_000) / 100_000_000;
    format!("{}.{} s", tenths / 10, tenths % 10)
}

/// ` 3 times`; empty for once.
pub fn times(n: usize) -> String {
    if n == 1 { String::new() } else { format!(" {n} times") }
}

/// `, 3 times`; empty for once.
pub fn and_times(n: usize) -> String {
    if n == 1 { String::new() } else { format!(", {n} times") }
}

/// `once`, `3 times`.
pub fn once(n: usize) -> String {
    if n == 1 { "once".into() } else { format!("{n} times") }
}

/// `0000:00:14.0 (xhci_hcd)`.
pub fn device(d: &Device) -> String {
    if d.driver.is_empty() || d.driver == d.name || d.driver.contains(' ') {
        d.name.clone()
    } else {
        format!("{} ({})", d.name, d.driver)
    }
}

/// Devices, by [`device`] and [`names`].
pub fn devices(all: &[Device]) -> String {
    names(&all.iter().map(device).collect::<Vec<_>>())
}

/// `fstrim (pid 812)`.
pub fn task(t: &Task) -> String {
    match (t.pid, t.name.as_str()) {
        (0, "") => "another task".into(),
        (0, name) => name.into(),
        (pid, name) => format!("{name} (pid {pid})"),
    }
}

/// Tasks, by [`task`] and [`names`].
pub fn tasks(all: &[Task]) -> String {
    names(&all.iter().map(task).collect::<Vec<_>>())
}

/// `CPU 3`, `CPUs 0, 1 and 2`, `all 8 CPUs`.
pub fn cpus(list: &[u32], of: usize) -> String {
    let all: Vec<String> = list.iter().map(u32::to_string).collect();
    match list.len() {
        1 => format!("CPU {}", all[0]),
        n if n == of => format!("all {of} CPUs"),
        _ => format!("CPUs {}", names(&all)),
    }
}

/// `262 MB`.
pub fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes.saturating_add(500_000) / 1_000_000)
}

/// With a large letter at its begin.
pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |c| c.to_uppercase().collect::<String>()) + chars.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_begins_with_a_large_letter_whatever_its_length() {
        assert_eq!(capital("kernel 6.1"), "Kernel 6.1");
        assert_eq!(capital("\u{fffd}x \u{e9}"), "\u{fffd}x \u{e9}");
        assert_eq!(
            (capital("\u{e9}t\u{e9}"), capital("")),
            ("\u{c9}t\u{e9}".into(), String::new())
        );
    }

    #[test]
    fn halves_are_rounded_up() {
        assert_eq!(ms(Ns(113_722_000)), "113.72");
        assert_eq!(ms(Ns(112_495_000)), "112.50");
        assert_eq!(ms(Ns(-4_000)), "0.00");
        assert_eq!(seconds(Ns(10_950_000_000)), "11.0 s");
        assert_eq!(seconds(Ns(10_949_999_999)), "10.9 s");
    }

    #[test]
    fn numbers_and_lists_read_as_people_write_them() {
        assert_eq!(plural(1, "dependency"), "1 dependency");
        assert_eq!(plural(2, "dependency"), "2 dependencies");
        assert_eq!(plural(1814, "message"), "1,814 messages");
        assert_eq!((grouped(0), grouped(1_234_567)), ("0".into(), "1,234,567".into()));
        assert_eq!((cpus(&[3], 4), cpus(&[0, 1], 2)), ("CPU 3".into(), "all 2 CPUs".into()));
        let eth = Device { name: "0000:01:00.0".into(), driver: "r8169".into() };
        assert_eq!(device(&eth), "0000:01:00.0 (r8169)");
    }

    #[test]
    fn spans_are_rounded_half_up() {
        let of = |ms: i64| span(Ns(ms * 1_000_000));
        assert_eq!([of(0), of(450), of(12_250)], ["0 s", "450 ms", "12.3 s"]);
        assert_eq!([of(200_000), of(50_700_000)], ["3 min 20 s", "14 h 5 min"]);
        assert_eq!([of(7_199_201), of(86_399_000)], ["2 h 0 min", "1 d 0 h"]);
        assert_eq!([of(59_960), of(266_400_000)], ["1 min 0 s", "3 d 2 h"]);
    }

    #[test]
    fn moments_are_of_the_clock_that_the_log_has() {
        assert_eq!(moment(Ns(45_678_901_234), 6), "45.678901 s");
        assert_eq!(moment(Ns(973_983_524_910_233_000), 3), "Nov 11 22:58:44.910");
        assert_eq!(moment(Ns(1_707_193_561_376_714_000), 6), "Feb 6 2024 04:26:01.376714");
    }
}
