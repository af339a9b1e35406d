//! What AMD's report of a cycle of s2idle says (amd_s2idle.py, amd-debug-tools 0.1 to 0.2),
//! and the table of package states that powertop prints.

use super::count::number;
use dormouse_doctor::night::Fact;
use dormouse_doctor::night::report::{Check, Report};

/// `0:00:43.521302`, `1 day, 2:03:04`, in ms.
fn clock(text: &str) -> Option<u64> {
    let (days, rest) = match text.split_once(" day") {
        Some((d, rest)) => {
            (d.trim().parse::<u64>().ok()?, rest.trim_start_matches(['s', ',', ' ']))
        }
        None => (0, text.trim_start()),
    };
    let word = rest.split(' ').next()?;
    let mut parts = word.split([':', '.']);
    let mut n = || parts.next()?.parse::<u64>().ok();
    let (h, m, s) = (n()?, n()?, n()?);
    let fraction =
        word.split('.').nth(1).map_or(Some(0), |f| format!("{f:0<3}").get(..3)?.parse().ok())?;
    let with = |sum: u64, each: u64, n: u64| sum.checked_mul(each)?.checked_add(n);
    [(24, h), (60, m), (60, s), (1_000, fraction)]
        .into_iter()
        .try_fold(days, |sum, (each, n)| with(sum, each, n))
}

/// `(86.85%)` in thousandths of a per cent.
fn share(text: &str) -> Option<i64> {
    let (_, rest) = text.split_once('(')?;
    let (n, _) = rest.split_once('%')?;
    crate::idle::column::thousandths(n)
}

/// `| Hardware sleep residency | 41.3 % |`, a row of a summary of a report: nothing of it tells
/// which share a sleep was to have, so only that it was reached.
fn summary(text: &str) -> Option<Fact> {
    let (name, value) = text.trim().strip_prefix('|')?.trim_end_matches('|').split_once('|')?;
    let name = name.replace('*', "").trim().to_ascii_lowercase();
    let share =
        crate::idle::column::thousandths(value.replace('*', "").trim().strip_suffix('%')?.trim())?;
    let known = name.contains("hardware sleep") || name.contains("hw sleep");
    (known && share > 0).then_some(Fact::Reached)
}

/// The columns of a table of cycles, with how long each was and which share of it the hardware
/// slept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Columns {
    /// Parted by blanks alone.
    Words,
    /// Cells between bars: places of the length, the share, and what the battery gave.
    Cells { length: usize, share: usize, power: Option<usize> },
}

/// The cells of a row between bars.
fn cells(text: &str) -> Option<Vec<&str>> {
    let bar = ['|', '\u{2502}'];
    let inside = text.trim().strip_prefix(bar)?;
    let inside = inside.strip_suffix(bar).unwrap_or(inside);
    Some(inside.split(bar).map(str::trim).collect())
}

/// The columns that a line, in small letters, is the head of.
pub(crate) fn head(lower: &str) -> Option<Columns> {
    let of_share = |c: &str| c.contains("hw sleep") || c.contains("hardware sleep");
    if !lower.contains("duration") || !of_share(lower) {
        return None;
    }
    let Some(cells) = cells(lower) else { return Some(Columns::Words) };
    let place = |is: &dyn Fn(&str) -> bool| cells.iter().position(|c| is(c));
    Some(Columns::Cells {
        length: place(&|c| c.contains("duration"))?,
        share: place(&of_share)?,
        power: place(&|c| c.contains("rate") || c.contains("power")),
    })
}

/// A row of such a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CycleRow {
    /// Its length in ms.
    pub ms: u64,
    /// The share of it that the hardware slept, in thousandths of a per cent.
    pub share: i64,
    /// What the battery gave, in uW, if the row says.
    pub power: Option<i64>,
}

/// The row of such a table that a line is.
pub(crate) fn cycle(text: &str, columns: Columns) -> Option<CycleRow> {
    let percent = |w: &str| crate::idle::column::thousandths(w.strip_suffix('%')?.trim_end());
    // Thousandths of a watt.
    let watts = |w: &str| crate::idle::column::thousandths(w.strip_suffix('W')?.trim_end());
    let (ms, share, power) = match columns {
        Columns::Cells { length, share, power } => {
            let cells = cells(text)?;
            let ms = cells.get(length).filter(|c| !c.starts_with('-')).and_then(|c| clock(c))?;
            let power = power.and_then(|at| watts(cells.get(at)?));
            (ms, cells.get(share).and_then(|c| percent(c))?, power)
        }
        // The time at which a cycle began stands before its length, and that before the share.
        Columns::Words => {
            let words: Vec<&str> = text.split_whitespace().collect();
            let at = words.iter().position(|w| percent(w).is_some())?;
            let ms = words[..at].iter().rev().find(|w| w.contains(':')).and_then(|w| clock(w))?;
            let days = words[..at].iter().any(|w| w.starts_with("day"));
            (
                Some(ms).filter(|_| !days)?,
                percent(words[at])?,
                words[at..].iter().find_map(|w| watts(w)),
            )
        }
    };
    let power = power.map(|mw| mw.saturating_mul(1_000));
    (ms > 0 && (0..=100_000).contains(&share)).then_some(CycleRow { ms, share, power })
}

/// `Userspace wasn't asleep at least 0:01:30`: the cycle above ended before its alarm.
pub(crate) fn is_early(text: &str) -> bool {
    text.contains("Userspace wasn't asleep at least ")
}

/// A line of AMD's report.
pub(crate) fn report(text: &str) -> Option<Fact> {
    if let Some(fact) = summary(text) {
        return Some(fact);
    }
    let after = |word: &str| text.split_once(word).map(|t| t.1);
    let irq = |rest: &str| {
        let (n, rest) = number(rest)?;
        let rest = rest.trim();
        // Older reports have the row of /proc/interrupts: chip, number with trigger, name.
        let row = rest.strip_prefix('(').and_then(|r| r.strip_suffix(')'));
        let name = match row {
            Some(row) => row.rsplit(' ').next().unwrap_or(""),
            None => rest.strip_prefix(':').unwrap_or("").trim(),
        };
        Some((u32::try_from(n).ok()?, name.to_owned()))
    };
    let one = || {
        if let Some((number, name)) = after("Woke up from IRQ ").and_then(irq) {
            return Some(Report::Woke { number, name });
        }
        if let Some((number, name)) = after("Wakeup triggered from IRQ ").and_then(irq) {
            return Some(Report::Triggered { number, name });
        }
        if let Some(rest) = after("GPIOs active: [") {
            let pins = rest.split(']').next().unwrap_or("").replace('\'', "");
            return (!pins.is_empty()).then_some(Report::Pins(pins));
        }
        if let Some((name, rest)) = text.split_once(" increased from ") {
            let name = name.rsplit(' ').next()?;
            let gpe = u32::from_str_radix(name.strip_prefix("gpe")?, 16).ok()?;
            let (a, rest) = number(rest)?;
            let (b, _) = number(rest.trim_start().strip_prefix("to ")?)?;
            return Some(Report::Gpe { number: gpe, by: b.checked_sub(a)? });
        }
        if let Some(rest) = after("Hardware sleep cycle count: ") {
            return Some(Report::Entries(number(rest)?.0));
        }
        if let Some(rest) = after("Userspace suspended for ") {
            let early = rest.contains("minimum expected");
            return Some(Report::Slept { ms: clock(rest)?, early });
        }
        if let Some(rest) = after("In a hardware sleep state for ") {
            return Some(Report::Hardware { ms: clock(rest)?, share: share(rest) });
        }
        if let Some(rest) = after("Suspend timer programmed for ") {
            return Some(Report::Timer { ms: clock(rest)? });
        }
        text.contains("Did not reach hardware sleep state").then_some(Report::NoHardware)
    };
    one().map(Fact::Report)
}

/// `❌ NVMe … not using D3cold`: what the report marks as wrong of how the machine is set up.
pub(crate) fn marked(text: &str) -> Option<Fact> {
    let words = text.trim().strip_prefix('\u{274c}')?.trim_start_matches(BEHIND_MARK);
    (words.contains(' ')).then(|| Fact::Report(Report::Marked(words.trim().into())))
}

/// Whether AMD's report begins with a line, or shows itself: its head, `# s2idle report created on …
/// using amd-s2idle …` (amd-debug-tools 0.2, templates/md); who quotes a part of it leaves that out,
/// and the processor and the kernel that it names first, the begin of a cycle, or a check of what
/// firmware has for s2idle is of it too (prerequisites.py, validator.py).
pub(crate) fn begins(text: &str, lower: &str) -> bool {
    if lower.contains("s2idle report created on ") && lower.contains(" using amd-s2idle") {
        return true;
    }
    let text = text.trim();
    let marked = |mark: char| text.strip_prefix(mark).map(|w| w.trim_start_matches(BEHIND_MARK));
    let cpu = marked('\u{1f4bb}').is_some_and(|w| w.contains(" (family ") && w.contains(" model "));
    let kernel = marked('\u{1f427}').is_some_and(|w| w.starts_with("Kernel "));
    let cycle = marked('\u{1f5e3}')
        .is_some_and(|w| w.contains("s2idle cycle") || w.contains("Suspend cycle "));
    let of_firmware = ["LPS0", "FADT", "configured for s2idle"].iter().any(|w| text.contains(w));
    cpu || kernel || cycle || of_firmware && check(text).is_some()
}

/// What may stand between a mark and its words.
const BEHIND_MARK: [char; 2] = ['\u{fe0f}', ' '];

/// A check of the machine in such a report (prerequisites.py: capture_* → record_prereq).
pub(crate) fn check(text: &str) -> Option<Check> {
    let words = |mark: char| {
        let words = text.trim().strip_prefix(mark)?.trim_start_matches(BEHIND_MARK);
        // A report that went through a page has its quotes as names.
        let words = words.replace("&#39;", "'").replace("&quot;", "\"").replace("&amp;", "&");
        Some(words.trim().to_owned()).filter(|w| w.contains(' '))
    };
    let failed = || words('\u{274c}').map(Check::Failed);
    let warned = || words('\u{1f6a6}').map(Check::Warned);
    words('\u{2705}').map(|_| Check::Held).or_else(failed).or_else(warned)
}

/// What ends rtcwake before it writes to /sys/power/state (util-linux, sys-utils/rtcwake.c: the
/// clock cannot be opened, read or armed). Behind a `write error` a kernel was asked, and
/// may have slept. Intel's self-test says so in a sentence.
fn is_not_run(text: &str) -> bool {
    const WORDS: [&str; 5] =
        ["cannot open", "unable to find device", "No such", "not permitted", "failed"];
    let rtcwake = text.strip_prefix("rtcwake: ").filter(|r| !r.starts_with("write error"));
    rtcwake.is_some_and(|r| WORDS.iter().any(|w| r.contains(w)))
        || text.starts_with("The system failed to place S2idle entry")
}

/// `Unexpected: S3 slept for 51 seconds, less than the expected 60 seconds` of fwts (src/acpi/s3/s3.c), which
/// breaks its lines; a test that could not sleep: rtcwake and Intel's self-test say so.
pub(crate) fn test(text: &str, next: impl Fn() -> String) -> Option<Fact> {
    let trimmed = text.trim();
    if is_not_run(trimmed) {
        return Some(Fact::NotRun);
    }
    let (head, rest) = text.split_once(" slept for ")?;
    head.trim_start().starts_with("FAILED [").then_some(())?;
    let (seconds, rest) = number(rest)?;
    let whole = format!("{rest} {}", next().trim());
    let (_, of) = whole.split_once("less than the expected ")?;
    let of = number(of).map(|n| n.0);
    rest.trim_start().starts_with("second").then_some(Fact::Report(Report::Early { seconds, of }))
}

/// `C10 (pc10)  12.3%` of powertop: a package state and its share in thousandths.
pub(crate) fn powertop(text: &str) -> Option<(String, i64)> {
    let (_, rest) = text.split_once("(pc")?;
    let (n, rest) = number(rest)?;
    let rest = rest.strip_prefix(')')?.trim_start_matches([' ', '|', '\t']);
    let (value, _) = rest.split_once('%')?;
    let share = crate::idle::column::thousandths(value.trim())?;
    let name = if n >= 10 { format!("Pk%pc{n}") } else { format!("Pkg%pc{n}") };
    Some((name, share))
}

/// Whether a row of that table breaks off: its last cell names a state and has no share.
pub(crate) fn is_cut(text: &str) -> bool {
    text.rsplit_once('|').is_some_and(|(_, c)| !c.trim().is_empty() && !c.contains('%'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_cycles_are_read() {
        let of = |row: &str, columns| cycle(row, columns).map(|c| (c.ms, c.share, c.power));
        let words = head("name    duration   hw sleep").expect("a head");
        assert_eq!(of("foo=1   0:00:50   61.5%   GPIO", words), Some((50_000, 61_500, None)));
        assert_eq!(of("0:00:50 and no more", words), None);
        let bars =
            head("| start | duration | battery | hardware sleep | ave rate |").expect("a head");
        let row = |length: &str, share: &str| {
            of(
                &format!(
                    "\u{2502} 2031-03-04 23:41:34 \u{2502} {length} \u{2502} 62.1% \u{2502} {share} \u{2502} 5.14W \u{2502}"
                ),
                bars,
            )
        };
        assert_eq!(row("0:00:14", "93.5%"), Some((14_000, 93_500, Some(5_140_000))));
        assert_eq!(row("1 day, 2:00:00", "0.0 %"), Some((93_600_000, 0, Some(5_140_000))));
        for (length, share) in
            [("0:00:14", ""), ("0:00:14", "nan%"), ("-1 day, 23:59:00", "1%"), ("8 hours", "1%")]
        {
            assert_eq!(row(length, share), None, "{length} {share}");
        }
    }

    #[test]
    fn reports_of_a_cycle_are_read() {
        let of = |t: &str| match report(t) {
            Some(Fact::Report(r)) => Some(r),
            _ => None,
        };
        assert_eq!(
            of("🥱 Woke up from IRQ 7: GPIO Controller"),
            Some(Report::Woke { number: 7, name: "GPIO Controller".into() })
        );
        assert_eq!(
            of("Woke up from IRQ 11 (IR-PCI-MSI 11-edge ELAN2841)"),
            Some(Report::Woke { number: 11, name: "ELAN2841".into() })
        );
        assert_eq!(of("💤 Hardware sleep cycle count: 6"), Some(Report::Entries(6)));
        assert_eq!(
            of("○ gpe0b increased from 10 to 25"),
            Some(Report::Gpe { number: 0xb, by: 15 })
        );
        assert_eq!(of("○ GPIOs active: ['4', '18']"), Some(Report::Pins("4, 18".into())));
        assert_eq!(
            of("❌ Userspace suspended for 0:00:43.521302 (< minimum expected 0:01:21)"),
            Some(Report::Slept { ms: 43_521, early: true })
        );
        assert_eq!(
            of("✅ In a hardware sleep state for 7:30:01.5 (98.75%)"),
            Some(Report::Hardware { ms: 27_001_500, share: Some(98_750) })
        );
        let ages = format!("In a hardware sleep state for {} days, 1:00:00", u64::MAX / 10);
        assert_eq!(of(&ages), None);
        assert_eq!(of("❌ Did not reach hardware sleep state"), Some(Report::NoHardware));
        assert_eq!(of("Suspend timer programmed for 0:03:20"), Some(Report::Timer { ms: 200_000 }));
        let mark = Report::Marked("NVMe Oak 1 not using D3cold".into());
        assert_eq!(marked("❌ NVMe Oak 1 not using D3cold"), Some(Fact::Report(mark)));
        assert_eq!(marked("✅ NVMe Oak 1 uses D3cold"), None);
        let begins = |text: &str| begins(text, &text.to_ascii_lowercase());
        assert!(begins("# s2idle report created on 2031-01-02 using amd-s2idle 0.2.20"));
        assert!(begins("💻 Oak Elm 5 (family 25 model 116)"));
        assert!(begins("  ❌ System isn't configured for s2idle in firmware setup"));
        for other in ["💻 my laptop", "🐧 Linux works", "✅ sound works", "LPS0 is set"] {
            assert!(!begins(other), "{other}");
        }
        assert_eq!(check("    ✅ SMT enabled"), Some(Check::Held));
        let warned = Check::Warned("Kernel is 'tainted'".into());
        assert_eq!(check("🚦 Kernel is &#39;tainted&#39;"), Some(warned));
        assert_eq!(check("❌ oak not bound"), Some(Check::Failed("oak not bound".into())));
        assert_eq!(check("💻 Oak Elm 5"), None);
        assert_eq!(of("the count increased from 4 to 9"), None);
        assert_eq!(report("| **Hardware sleep residency** | 41.3 % |"), Some(Fact::Reached));
        assert_eq!(report("| Hardware sleep residency | 0.00% |"), None);
        let early = |a, b: &str| match test(a, || b.into()) {
            Some(Fact::Report(r)) => Some(r),
            _ => None,
        };
        let want = Some(Report::Early { seconds: 51, of: Some(60) });
        assert_eq!(
            early(
                "FAILED [LOW] ShortSuspend: Test 4, Unexpected: S3 slept for 51 seconds, less than the",
                " expected 60 seconds."
            ),
            want
        );
        assert_eq!(
            early(
                "FAILED [LOW] ShortSuspend: Test 4, Unexpected: S3 slept for 51 seconds, less",
                "than the expected 60 seconds."
            ),
            want
        );
        for text in [
            "/dev/rtc1: unable to find device: No such file",
            "cannot open /dev/rtc0: Device or resource busy",
        ] {
            assert_eq!(test(&format!("rtcwake: {text}"), String::new), Some(Fact::NotRun));
        }
        for text in ["write error", "write error: Device or resource busy"] {
            assert_eq!(test(&format!("rtcwake: {text}"), String::new), None);
        }
        assert_eq!(early("rtcwake: wakeup from \"mem\" using /dev/rtc0 at Mon", ""), None);
        assert_eq!(powertop("C8 (pc8)    3.5%  |"), Some(("Pkg%pc8".into(), 3_500)));
        assert_eq!(powertop("C10 (cc10)  9.0%"), None);
    }
}
