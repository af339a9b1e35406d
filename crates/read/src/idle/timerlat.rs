//! The histogram of `rtla timerlat hist`: a column for the interrupt and one for the thread of
//! each CPU, then a summary (tools/tracing/rtla/src/timerlat_hist.c, 6.12).

use dormouse_idle::late::{Histogram, Thread};

/// So many bins are kept.
const MOST_BINS: usize = 1 << 16;

/// So many CPUs.
const MOST_CPUS: usize = 4_096;

/// A histogram as it is read.
#[derive(Default)]
pub(super) struct Hist {
    /// Of each column, whose it is, and of which CPU.
    columns: Vec<(Of, u32)>,
    bins: Vec<(u64, u64)>,
    over: u64,
    count: Vec<Option<u64>>,
    least: Vec<Option<u64>>,
    mean: Vec<Option<u64>>,
    /// A summary over all CPUs follows.
    ended: bool,
}

/// Whose times a column has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Interrupt,
    Thread,
    User,
}

/// What a line was to it.
pub(super) enum Taken {
    /// Of something else.
    Not,
    /// One of its lines.
    Yes,
    /// Its last: the threads in us, and how many wake-ups were how late.
    Whole(Vec<Thread>, Histogram),
}

/// The CPUs of `Index   IRQ-000   Thr-000   IRQ-001   Thr-001`.
fn columns(line: &str) -> Option<Vec<(Of, u32)>> {
    let mut words = line.split_whitespace();
    if words.next()? != "Index" {
        return None;
    }
    let one = |w: &str| {
        let (of, cpu) = w.split_once('-')?;
        let of = match of {
            "IRQ" => Of::Interrupt,
            "Thr" => Of::Thread,
            "Usr" => Of::User,
            _ => return None,
        };
        Some((of, cpu.parse().ok()?))
    };
    let all: Option<Vec<(Of, u32)>> = words.map(one).collect();
    all.filter(|c| c.iter().any(|c| c.0 == Of::Thread) && c.len() <= 3 * MOST_CPUS)
}

impl Hist {
    /// Takes a line of a text.
    pub(super) fn line(&mut self, line: &str) -> Taken {
        if let Some(found) = columns(line) {
            *self = Hist { columns: found, ..Hist::default() };
            return Taken::Yes;
        }
        if self.ended
            && ["ALL:", "count:", "min:", "avg:", "max:"].iter().any(|w| line.starts_with(w))
        {
            return Taken::Yes;
        }
        if self.columns.is_empty() {
            return Taken::Not;
        }
        let (key, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        // A CPU without a wake-up has `-`.
        let numbers: Vec<Option<u64>> = rest.split_whitespace().map(|n| n.parse().ok()).collect();
        if numbers.len() != self.columns.len() {
            return Taken::Not;
        }
        let of_threads = self.columns.iter().zip(&numbers).filter(|c| c.0.0 == Of::Thread);
        let mine: Vec<Option<u64>> = of_threads.map(|c| *c.1).collect();
        let sum = || mine.iter().flatten().fold(0u64, |a, n| a.saturating_add(*n));
        match key {
            "over:" => self.over = sum(),
            "count:" => self.count = mine,
            "min:" => self.least = mine,
            "avg:" => self.mean = mine,
            "max:" => return self.whole(&numbers),
            _ => match key.parse() {
                Ok(bin) if self.bins.len() < MOST_BINS => self.bins.push((bin, sum())),
                Ok(_) => {}
                Err(_) => return Taken::Not,
            },
        }
        Taken::Yes
    }

    /// Its end: the most of each column.
    fn whole(&mut self, most: &[Option<u64>]) -> Taken {
        let hist = std::mem::take(self);
        self.ended = true;
        let of = |list: &[Option<u64>], i: usize| list.get(i).copied().flatten();
        let most_of = |of: Of, cpu: u32| {
            hist.columns.iter().zip(most).find(|c| *c.0 == (of, cpu)).and_then(|c| *c.1)
        };
        let cpus = hist.columns.iter().filter(|c| c.0 == Of::Thread).map(|c| c.1);
        let threads = cpus.enumerate().filter_map(|(i, cpu)| {
            Some(Thread {
                number: cpu,
                count: of(&hist.count, i),
                least: of(&hist.least, i)?,
                mean: of(&hist.mean, i)?,
                most: most_of(Of::Thread, cpu)?,
                interrupt: most_of(Of::Interrupt, cpu),
                ..Thread::default()
            })
        });
        let bins = hist.bins.iter().filter(|b| b.1 > 0).map(|b| (b.0.saturating_mul(1_000), b.1));
        Taken::Whole(threads.collect(), Histogram { bins: bins.collect(), over: hist.over })
    }
}
