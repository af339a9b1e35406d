//! What tests of wake-ups print: rows and histograms of cyclictest (rt-tests,
//! src/cyclictest/cyclictest.c, print_stat and print_hist, 2.5), those of `rtla timerlat`.

use super::between::{is_command, plain};
use super::timerlat::{Hist, Taken};
use crate::grams::Asked;
use dormouse_base::loss::{Losses, Severity};
use dormouse_idle::late::{Histogram, Named, Program, Test, Thread};
use dormouse_idle::named::settings;
use std::borrow::Cow;

/// So many lines may follow a row that a mail program broke.
const BROKEN: usize = 2;

/// So many letters of a caption are kept.
const CAPTION: usize = 100;

/// Keys of a row, in its order.
const KEYS: [&str; 7] = ["P:", "I:", "C:", "Min:", "Act:", "Avg:", "Max:"];

/// Whether a text may have such rows.
pub(crate) fn is_late(asked: &Asked<'_>) -> bool {
    asked.has(b"Max:") && asked.has(b"Avg:") && asked.has(b"Min:") && asked.has(b"T:")
        || asked.has(b"# Max Latencies:")
        || asked.has(b"Timer Latency")
        || asked.has(b"Thr-0")
}

/// A line without marks of a mail and without what moves the cursor of a terminal.
fn bare(line: &str) -> Cow<'_, str> {
    let line = plain(line.trim_end());
    if !line.contains('\x1b') {
        return Cow::Borrowed(line);
    }
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('\x1b') {
        out += before;
        let after = after.strip_prefix('[').unwrap_or(after);
        let end = after.find(|c: char| c.is_ascii_alphabetic()).map_or(after.len(), |at| at + 1);
        rest = &after[end..];
    }
    Cow::Owned(out + rest)
}

/// The number behind a key that begins a word.
fn value(line: &str, key: &str) -> Option<u64> {
    let begins = |at: &usize| line[..*at].ends_with(|c: char| c.is_whitespace() || c == ')');
    let at = line.match_indices(key).map(|m| m.0).find(begins)?;
    let rest = line[at + key.len()..].trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// `T: 0 ( 4556) P:80 I:10000 C: 876622 Min: 3 Act: 6 Avg: 4 Max: 36`, in the test's unit.
fn row(line: &str) -> Option<Thread> {
    let rest = line.trim_start().strip_prefix("T:")?.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let pid = rest.split_once('(').and_then(|(_, r)| r.split_once(')')?.0.trim().parse().ok());
    let row = Thread {
        number: rest[..end].parse().ok()?,
        pid,
        priority: value(line, "P:"),
        interval_us: value(line, "I:"),
        count: Some(value(line, "C:")?),
        least: value(line, "Min:")?,
        mean: value(line, "Avg:")?,
        most: value(line, "Max:")?,
        smis: value(line, "SMI:"),
        interrupt: None,
    };
    // A mean lies between the least and the most; a row that was damaged does not.
    (row.least <= row.most && row.mean <= row.most).then_some(row)
}

/// Whether a line can be what a mail program broke off a row.
fn is_rest(begin: &str, line: &str) -> bool {
    let line = line.trim_start();
    let valued = begin.trim_end().ends_with(':') && line.starts_with(|c: char| c.is_ascii_digit());
    valued || KEYS.iter().any(|k| line.starts_with(k))
}

/// `0 #6001 | 2 1 1 10 | 9 2 7 31`: CPU and count, then current, least, mean and most of the
/// interrupt and of the thread, in us (tools/tracing/rtla/src/timerlat_top.c, 6.12).
fn timerlat(line: &str) -> Option<Thread> {
    let mut parts = line.split('|');
    let (cpu, count) = parts.next()?.trim().split_once('#')?;
    let interrupt = parts.next()?.split_whitespace().nth(3).and_then(|n| n.parse().ok());
    let figures = parts.next()?;
    let mut numbers = figures.split_whitespace().map(|n| n.parse::<u64>().ok());
    let _current = numbers.next()?;
    let (least, mean, most) = (numbers.next()??, numbers.next()??, numbers.next()??);
    Some(Thread {
        number: cpu.trim().parse().ok()?,
        count: Some(count.trim().parse().ok()?),
        least,
        mean,
        most,
        interrupt,
        ..Thread::default()
    })
}

/// What the command line of a test says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Options {
    /// Thread n runs on CPU n.
    bound: bool,
    /// Times are in ns.
    nanoseconds: bool,
}

/// The options of `cyclictest -mSp90 -i200`, if a line runs it.
fn options(line: &str) -> Option<Options> {
    let at = line.find("cyclictest")?;
    let rest = &line[at + "cyclictest".len()..];
    if !(rest.is_empty() || rest.starts_with(char::is_whitespace)) {
        return None;
    }
    let words: Vec<&str> =
        rest.split_whitespace().map(|w| w.trim_matches(['`', '"', '*'])).collect();
    if !words.iter().any(|w| w.starts_with('-')) {
        return None;
    }
    let mut out = Options::default();
    for (i, w) in words.iter().enumerate() {
        let letters: &str = match w.strip_prefix('-') {
            Some(l) if !l.starts_with('-') => {
                &l[..l.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(l.len())]
            }
            _ => "",
        };
        // `-a` with a list says other CPUs.
        let each = letters.ends_with('a')
            && w.ends_with('a')
            && !words.get(i + 1).is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()));
        out.bound |= *w == "--smp" || letters.contains('S') || each;
        out.nanoseconds |= *w == "--nsecs" || letters.contains('N');
    }
    Some(out)
}

/// A histogram as it is read: its bins with the sum of their columns, the last of them, and how
/// many there are.
#[derive(Default)]
struct Bins {
    rows: Vec<(u64, u64, u64, usize)>,
    open: bool,
    total: Vec<u64>,
    least: Vec<u64>,
    mean: Vec<u64>,
}

/// So many bins are kept.
const MOST_BINS: usize = 1 << 16;

/// One text as it is read.
#[derive(Default)]
struct Reading {
    tests: Vec<Test>,
    /// The last test may go on.
    open: bool,
    options: Options,
    /// Words, settings and a latency above the next test.
    caption: Option<String>,
    /// That is a heading.
    headed: bool,
    named: Vec<Named>,
    dma: Option<u64>,
    /// It warned of timers.
    coarse: bool,
    bins: Bins,
    timerlat: Hist,
}

impl Reading {
    /// The test that a row goes into: the last one, or a new one.
    fn test(&mut self, program: Program, t: &Thread) -> &mut Test {
        let headed = self.headed;
        let goes_on = |test: &Test| {
            test.program == program
                && test.threads.iter().find(|o| o.number == t.number).is_none_or(|o| {
                    // A terminal prints the rows again and again: they only count up.
                    !headed && o.pid == t.pid && o.count <= t.count && o.most <= t.most
                })
        };
        if !(self.open && self.tests.last().is_some_and(goes_on)) {
            self.begin(program);
        }
        self.open = true;
        // What stands between rows of one test is of none after it.
        (self.caption, self.named, self.headed) = (None, Vec::new(), false);
        let at = self.tests.len() - 1;
        &mut self.tests[at]
    }

    fn begin(&mut self, program: Program) {
        self.tests.push(Test {
            caption: self.caption.take(),
            program,
            bound: self.options.bound || program == Program::Timerlat,
            dma_latency_us: self.dma.take(),
            coarse: std::mem::take(&mut self.coarse),
            named: std::mem::take(&mut self.named),
            ..Test::default()
        });
    }

    fn put(&mut self, program: Program, mut t: Thread) {
        // Without a wake-up its least time is what it began with.
        if t.count == Some(0) {
            return;
        }
        let unit = if self.options.nanoseconds { 1 } else { 1_000 };
        for n in [&mut t.least, &mut t.mean, &mut t.most].into_iter().chain(&mut t.interrupt) {
            *n = n.saturating_mul(unit);
        }
        let test = self.test(program, &t);
        match test.threads.iter().position(|o| o.number == t.number) {
            Some(at) => test.threads[at] = t,
            None if test.threads.len() < MOST_THREADS => test.threads.push(t),
            None => {}
        }
    }

    /// A line of the histogram of `rtla timerlat`; whether it is one.
    fn timerlat(&mut self, line: &str) -> bool {
        match self.timerlat.line(line) {
            Taken::Not => false,
            Taken::Yes => true,
            Taken::Whole(threads, histogram) => {
                // It always says us.
                self.options.nanoseconds = false;
                self.open = false;
                let before = self.tests.len();
                for t in threads {
                    self.put(Program::Timerlat, t);
                }
                if let Some(t) = self.tests[before..].last_mut() {
                    t.histogram = Some(histogram);
                }
                self.open = false;
                true
            }
        }
    }

    /// A line of a histogram or of what follows it; whether it is one.
    fn histogram(&mut self, line: &str) -> bool {
        let list = |rest: &str| -> Vec<u64> {
            rest.split_whitespace().map_while(|n| n.parse().ok()).collect()
        };
        if line.starts_with("# Histogram") && !line.contains("Overflow") {
            self.bins = Bins { open: true, ..Bins::default() };
            return true;
        }
        if let Some(rest) = line.strip_prefix("# Total:") {
            self.bins.total = list(rest);
        } else if let Some(rest) = line.strip_prefix("# Min Latencies:") {
            self.bins.least = list(rest);
        } else if let Some(rest) = line.strip_prefix("# Avg Latencies:") {
            self.bins.mean = list(rest);
        } else if let Some(rest) = line.strip_prefix("# Max Latencies:") {
            self.trailer(&list(rest));
        } else if let Some(rest) = line.strip_prefix("# Histogram Overflows:") {
            let n = self.tests.last().map_or(0, |t| t.threads.len());
            let over = list(rest).iter().take(n).fold(0, |a: u64, b| a.saturating_add(*b));
            if let Some(h) = self.tests.last_mut().and_then(|t| t.histogram.as_mut()) {
                h.over = over;
            }
        } else if self.bins.open && line.starts_with(|c: char| c.is_ascii_digit()) {
            let mut numbers = line.split_whitespace().map(|n| n.parse::<u64>().ok());
            let Some(Some(bin)) = numbers.next() else { return false };
            let counts: Option<Vec<u64>> = numbers.collect();
            let Some((counts, last)) = counts.and_then(|c| c.last().copied().map(|l| (c, l)))
            else {
                return false;
            };
            let sum = counts.iter().fold(0, |a: u64, b| a.saturating_add(*b));
            if sum > 0 && self.bins.rows.len() < MOST_BINS {
                self.bins.rows.push((bin, sum, last, counts.len()));
            }
        } else {
            return false;
        }
        true
    }

    /// What stands below a histogram is of threads that may have no rows of their own (`-q`).
    fn trailer(&mut self, most: &[u64]) {
        let bins = std::mem::take(&mut self.bins);
        // With `-H` a sum of all threads stands behind them.
        let n = if bins.least.is_empty() { most.len() } else { bins.least.len().min(most.len()) };
        if n == 0 {
            return;
        }
        let unit = if self.options.nanoseconds { 1 } else { 1_000 };
        let same = |t: &Test| {
            t.threads.len() == n
                && t.threads.iter().zip(most).all(|(t, m)| t.most == m.saturating_mul(unit))
        };
        if !(self.open && self.tests.last().is_some_and(same)) {
            self.begin(Program::Cyclictest);
            let of = |list: &[u64], i: usize| list.get(i).copied();
            let thread = |i: usize| Thread {
                number: u32::try_from(i).unwrap_or(u32::MAX),
                count: of(&bins.total, i),
                least: of(&bins.least, i).unwrap_or(0).saturating_mul(unit),
                mean: of(&bins.mean, i).unwrap_or(0).saturating_mul(unit),
                most: most[i].saturating_mul(unit),
                ..Thread::default()
            };
            let threads = (0..n.min(MOST_THREADS)).map(thread).filter(|t| t.count != Some(0));
            let threads: Vec<Thread> = threads.collect();
            if let Some(t) = self.tests.last_mut() {
                t.threads = threads;
            }
        }
        let bin = |(bin, sum, last, columns): (u64, u64, u64, usize)| {
            let count = match columns.checked_sub(n)? {
                0 => sum,
                1 => last,
                _ => return None,
            };
            Some((bin.saturating_mul(unit), count))
        };
        let bins: Vec<(u64, u64)> = bins.rows.into_iter().filter_map(bin).collect();
        if let Some(t) = self.tests.last_mut().filter(|_| !bins.is_empty()) {
            t.histogram = Some(Histogram { bins, over: 0 });
        }
        // Overflows follow; rows are of another test.
        self.open = false;
    }

    /// A line that is of no table.
    fn words(&mut self, line: &str) {
        if let Some(rest) = line.split_once("/dev/cpu_dma_latency set to ").map(|s| s.1) {
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            self.dma = rest[..end].parse().ok();
            return;
        }
        // rt-tests, src/cyclictest/cyclictest.c, main, 2.5.
        if line.contains("High resolution timers not available") {
            self.coarse = true;
            return;
        }
        let typed = is_command(line);
        if let Some(found) = options(line) {
            // Two commands are two tests.
            (self.options, self.open) = (found, false);
            if typed || line.trim_start().starts_with(['c', '#', '$']) {
                return;
            }
        }
        let mark = |c: char| c.is_whitespace() || "#*=_-`:>".contains(c);
        let text: String = line.chars().filter(|c| !matches!(c, '*' | '`')).collect();
        let text = text.trim_matches(mark);
        let own = OWN.iter().any(|o| line.contains(o));
        if own || !text.chars().any(char::is_alphabetic) {
            return;
        }
        let heading = line.trim_start().starts_with(['#', '*', '=']) || line.ends_with(':');
        let caption = !typed && text.split_whitespace().count() <= MOST_WORDS;
        let found = settings(line);
        // A heading stays over the words below it.
        if caption && (heading || self.caption.is_none() || !found.is_empty()) {
            let cut: String = text.chars().take(CAPTION).collect();
            self.caption = Some(cut);
            self.headed |= heading;
            self.named.iter_mut().for_each(|n| n.in_caption = false);
        }
        let of = |(setting, on)| Named { setting, on, in_caption: caption };
        self.named.extend(found.into_iter().map(of));
        self.named.truncate(MOST_NAMED);
    }
}

/// Words of lines that the programs print themselves.
const OWN: [&str; 9] = [
    "policy: ",
    "WARN:",
    "INFO:",
    "# Thread",
    "Timer Latency",
    "CPU COUNT",
    "# RTLA",
    "# Time unit",
    "# Duration:",
];

/// So many threads a test has at most.
const MOST_THREADS: usize = 4_096;

/// So many settings are kept of the words above a test.
const MOST_NAMED: usize = 32;

/// A caption has so many words at most.
const MOST_WORDS: usize = 24;

/// Reads the tests of a text.
pub(super) fn read(name: &str, text: &str, out: &mut Vec<Test>, losses: &mut Losses) {
    let mut r = Reading::default();
    let mut lost = 0;
    let mut lines = text.split(['\n', '\r']).map(bare).peekable();
    while let Some(line) = lines.next() {
        let own = line.trim_start();
        if own.starts_with("T:") && own[2..].trim_start().starts_with(|c: char| c.is_ascii_digit())
        {
            let mut whole = line.into_owned();
            let mut found = row(&whole);
            for _ in 0..BROKEN {
                if found.is_some() {
                    break;
                }
                let Some(rest) = lines.next_if(|l| is_rest(&whole, l)) else { break };
                whole.push(' ');
                whole += rest.trim();
                found = row(&whole);
            }
            match found {
                Some(t) => r.put(Program::Cyclictest, t),
                None => lost += u64::from(whole.contains("Min:")),
            }
        } else if let Some(t) = timerlat(own).filter(|_| own.contains('#')) {
            r.put(Program::Timerlat, t);
        } else if !own.is_empty() && !r.timerlat(own) && !r.histogram(own) {
            r.words(&line);
        }
    }
    let advice = "rows of cyclictest without all of their figures: they are left out";
    if lost > 0 {
        losses.add("unread_line", lost, Severity::Warning, advice, None);
    }
    let named = |t: Test| Test { label: name.to_owned(), ..t };
    out.extend(r.tests.into_iter().filter(|t| !t.threads.is_empty()).map(named));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tests(text: &str) -> Vec<Test> {
        let (mut out, mut losses) = (Vec::new(), Losses::default());
        read("x.txt", text, &mut out, &mut losses);
        out
    }

    const ROW: &str = "T: 0 ( 901) P:90 I:200 C: 50000 Min:  2 Act:  4 Avg:  5 Max:  41\n";
    const NEXT: &str = "T: 1 ( 902) P:90 I:700 C: 14285 Min:  2 Act:  4 Avg:  6 Max:  77\n";

    #[test]
    fn rows_that_a_terminal_repeats_are_one_test_and_broken_ones_are_whole() {
        let early = ROW.replace("50000", "400").replace("41", "9");
        let text = format!(
            "$ sudo cyclictest -mS -p90 -i200\n# /dev/cpu_dma_latency set to 0us\n{early}\u{1b}[1A{ROW}> {NEXT}"
        );
        let all = tests(&text);
        assert_eq!(all.len(), 1);
        let worst = all[0].worst().expect("two threads");
        assert_eq!((worst.number, worst.most, all[0].wakeups()), (1, 77_000, Some(64_285)));
        assert!(all[0].bound && all[0].dma_latency_us == Some(0));
        let broken = format!("> {}\n> Max:  41\n", ROW.trim_end().split(" Max").next().unwrap());
        assert_eq!(tests(&broken)[0].threads[0].most, 41_000);
        assert!(tests("T: 0 is the first\nTest: Min: 3 Max: 4\n").is_empty());
    }

    #[test]
    fn two_runs_are_two_tests_with_the_words_above_them() {
        let other = ROW.replace("901", "1203").replace("41", "12");
        let text = format!(
            "### before\n```\n{ROW}{NEXT}```\n### after, with `idle=poll`\n```\n{other}```\n"
        );
        let all = tests(&text);
        let names: Vec<&str> = all.iter().map(Test::name).collect();
        assert_eq!(names, ["before", "after, with idle=poll"]);
        assert_eq!((all[0].threads.len(), all[1].threads.len()), (2, 1));
        assert_eq!(all[1].named[0].setting, "idle=poll");
        let same = text.replace("1203", "901").replace("12\n", "41\n");
        assert_eq!(tests(&same).len(), 2, "one process may be two runs by their headings");
        assert!(all[1].named[0].on && all[1].named[0].in_caption);
    }

    #[test]
    fn a_warning_of_timers_is_of_the_test_below() {
        let row = "T: 0 ( 71) P:70 I:1000 C: 9000 Min: 90 Act: 600 Avg: 640 Max: 2900\n";
        let warned =
            format!("# cyclictest -p 70\nWARN: High resolution timers not available\n{row}");
        let all = tests(&format!("{warned}# cyclictest -p 70 -t\n{row}"));
        assert_eq!(all.iter().map(|t| t.coarse).collect::<Vec<_>>(), [true, false]);
        assert_eq!(all[0].caption, None);
    }

    #[test]
    fn a_histogram_has_its_threads_and_percentiles() {
        let text = "# cyclictest -q -l1000 -h 100\n# Histogram\n000000 000000\t000000\n000003 000900\t000100\n\
            000008 000099\t000899\n# Total: 000000999 000000999\n# Min Latencies: 00003 00003\n\
            # Avg Latencies: 00003 00007\n# Max Latencies: 00008 00120\n# Histogram Overflows: 00000 00001\n";
        let all = tests(text);
        let h = all[0].histogram.as_ref().expect("a histogram");
        assert_eq!((h.quantile(50_000), h.quantile(99_000), h.over), (Some(3_000), Some(8_000), 1));
        assert_eq!(all[0].worst().map(|t| (t.number, t.most)), Some((1, 120_000)));
    }

    #[test]
    fn a_histogram_of_timerlat_is_of_cpus() {
        let text = "# RTLA timerlat histogram\n# Time unit is microseconds (us)\n# Duration:   0 00:00:11\n\
            Index   IRQ-000   Thr-000   IRQ-001   Thr-001\n0  9000 0 8000 0\n1 1001 9000 2001 9998\n\
            9 0 1000 0 2\nover: 0 1 0 1\ncount: 10001 10001 10001 10001\nmin: 0 1 0 1\navg: 0 2 0 2\n\
            max: 1 39 1 77\nALL: IRQ Thr\ncount: 20002 20002\nmin: 0 1\navg: 0 2\nmax: 1 77\n";
        let all = tests(text);
        assert_eq!(
            (all.len(), all[0].program, all[0].wakeups()),
            (1, Program::Timerlat, Some(20_002))
        );
        assert_eq!(all[0].worst().map(|t| (t.number, t.most)), Some((1, 77_000)));
        let h = all[0].histogram.as_ref().expect("a histogram");
        assert_eq!((h.over, h.count(), h.quantile(90_000)), (2, 20_002, Some(1_000)));
        let idle = text.replace("max: 1 39 1 77", "max: 1 39 - -");
        assert_eq!(tests(&idle)[0].threads.len(), 1, "a CPU without a wake-up is none");
        assert!(tests("Index   Thr-000\n0 1\n").is_empty());
    }

    #[test]
    fn rows_of_timerlat_are_of_cpus() {
        let text = "Timer Latency\nCPU COUNT | cur min avg max | cur min avg max\n\
            \x20 0 #6001 |  2  1  1  10 |  9  2  7  31\n  1 #6000 |  2  1  1  12 |  9  2  7  55\n";
        let all = tests(text);
        assert_eq!(all[0].program, Program::Timerlat);
        assert_eq!(all[0].worst().map(|t| (t.number, t.most)), Some((1, 55_000)));
    }
}
