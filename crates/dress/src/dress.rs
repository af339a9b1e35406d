//! As whoever keeps a log writes it down.

use crate::{Line, Row};
use dormouse_base::time::Ns;

/// How a log is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dress {
    /// `dmesg`.
    Raw,
    /// The same with CONFIG_PRINTK_CALLER.
    Caller,
    /// `dmesg -T`: whole seconds of the calendar.
    Calendar,
    /// `dmesg -d`: each line with what passed since the last.
    Delta,
    /// `dmesg -H`: the minute once, then what passed.
    Human,
    /// `dmesg -x`.
    Decoded,
    /// `journalctl -k`.
    Short,
    /// `journalctl -k -o short-precise`.
    Precise,
    /// `journalctl -k -o short-iso`.
    Iso,
    /// `journalctl -k -o short-monotonic`.
    Monotonic,
    /// `journalctl -k -o export`.
    Export,
    /// `short-precise` of a journal that was frozen itself: it has all lines of the sleep
    /// when it wakes.
    FrozenJournal,
    /// /var/log/syslog, with the kernel's own stamp behind its own.
    Syslog,
    /// The same without the kernel's stamp.
    SyslogBare,
    /// `logcat -b kernel`.
    Logcat,
    /// Kernels of MediaTek: CPU, thread and its name behind the stamp.
    Mediatek,
    /// A console of Qualcomm: CPU and thread before the message.
    Qualcomm,
    /// `dmesg --notime`.
    Bare,
    /// Stamps of a kernel without high-resolution printk times.
    WholeSeconds,
}

/// 10 March 2025, 09:00:00 UTC, when every made-up machine started.
const START: i64 = 1_741_597_200;

impl Dress {
    /// Each.
    pub const ALL: [Dress; 19] = [
        Dress::Raw,
        Dress::Caller,
        Dress::Calendar,
        Dress::Delta,
        Dress::Human,
        Dress::Decoded,
        Dress::Short,
        Dress::Precise,
        Dress::Iso,
        Dress::Monotonic,
        Dress::Export,
        Dress::FrozenJournal,
        Dress::Syslog,
        Dress::SyslogBare,
        Dress::Logcat,
        Dress::Mediatek,
        Dress::Qualcomm,
        Dress::Bare,
        Dress::WholeSeconds,
    ];

    /// What a time between two of its stamps is exact to; nothing where stamps say nothing
    /// of when a line was printed.
    pub fn exact(self) -> Option<Ns> {
        match self {
            Dress::Bare | Dress::FrozenJournal => None,
            Dress::Calendar
            | Dress::Short
            | Dress::Iso
            | Dress::SyslogBare
            | Dress::WholeSeconds => Some(Ns(1_000_000_000)),
            Dress::Logcat => Some(Ns(1_000_000)),
            _ => Some(Ns(1_000)),
        }
    }

    pub(crate) fn rows(self, log: &[Line]) -> Vec<Row> {
        let mut last: Option<i64> = None;
        let mut rows = Vec::with_capacity(log.len());
        for (i, line) in log.iter().enumerate() {
            let us = line.time.0 / 1_000;
            let thawed = log[i..].iter().find(|l| !l.frozen).map_or(us, |l| l.time.0 / 1_000);
            let text = self.row(line, us, thawed, last);
            last = Some(us);
            // An entry of `export` has several lines, one of which is the message.
            let is_message = |t: &str| !text.contains('\n') || t.starts_with("MESSAGE=");
            rows.extend(
                text.split('\n')
                    .map(|t| Row { of: is_message(t).then_some(i), text: t.to_string() }),
            );
        }
        rows
    }

    fn row(self, line: &Line, us: i64, thawed: i64, last: Option<i64>) -> String {
        let (thread, text) = (line.thread, &line.text);
        let stamp = format!("[{:5}.{:06}]", us / 1_000_000, us % 1_000_000);
        let clock = clock(us);
        let since = us - last.unwrap_or(us);
        match self {
            Dress::Raw => format!("{stamp} {text}"),
            Dress::Caller => format!("{stamp}[{:>6}] {text}", format!("T{thread}")),
            Dress::Calendar => format!("[Mon Mar 10 {clock} 2025] {text}"),
            Dress::Delta => {
                let since = format!("<{:5}.{:06}>", since / 1_000_000, since % 1_000_000);
                format!("[{:5}.{:06} {since}] {text}", us / 1_000_000, us % 1_000_000)
            }
            Dress::Human if last.is_none() => format!("[Mar10 {}] {text}", &clock[..5]),
            Dress::Human => {
                let since = format!("+{}.{:06}", since / 1_000_000, since % 1_000_000);
                format!("[{since:>11}] {text}")
            }
            Dress::Decoded => {
                format!("kern  :{:<6}: {stamp} {text}", LEVELS[usize::from(line.level.min(7))])
            }
            Dress::Short => format!("Mar 10 {clock} elm kernel: {text}"),
            Dress::Precise => format!("Mar 10 {clock}.{:06} elm kernel: {text}", us % 1_000_000),
            Dress::Iso => format!("2025-03-10T{clock}+00:00 elm kernel: {text}"),
            Dress::Monotonic => format!("{stamp} elm kernel: {text}"),
            Dress::Export => format!(
                "__CURSOR=s=5e1f;i={us:x}\n__REALTIME_TIMESTAMP={}\n__MONOTONIC_TIMESTAMP={us}\n_TRANSPORT=kernel\nPRIORITY={}\n_SOURCE_MONOTONIC_TIMESTAMP={us}\nMESSAGE={text}\n",
                START * 1_000_000 + us,
                line.level
            ),
            Dress::FrozenJournal => {
                let us = if line.frozen { thawed } else { us };
                format!("Mar 10 {}.{:06} elm kernel: {text}", self::clock(us), us % 1_000_000)
            }
            Dress::Syslog => format!("Mar 10 {clock} elm kernel: {stamp} {text}"),
            Dress::SyslogBare => format!("Mar 10 {clock} elm kernel: {text}"),
            Dress::Logcat => {
                let (tag, rest) = text.split_once(": ").unwrap_or(("", text));
                format!("03-10 {clock}.{:03}     0     0 I {tag:8}: {rest}", us / 1_000 % 1_000)
            }
            Dress::Mediatek => format!("{stamp}  ({})[{thread}:suspend]{text}", thread % 8),
            Dress::Qualcomm => format!("{stamp} [    T{thread}] {text}"),
            Dress::Bare => text.clone(),
            Dress::WholeSeconds => format!("[{:5}.000000] {text}", us / 1_000_000),
        }
    }
}

/// Time of day.
fn clock(us: i64) -> String {
    let s = START.rem_euclid(86_400) + us / 1_000_000;
    format!("{:02}:{:02}:{:02}", s / 3_600 % 24, s / 60 % 60, s % 60)
}

const LEVELS: [&str; 8] = ["emerg", "alert", "crit", "err", "warn", "notice", "info", "debug"];
