//! How late wake-ups came, as a test measured them: cyclictest, `rtla timerlat`.

use crate::named::keeps_shallow;
use dormouse_base::say;
use serde::Serialize;

/// What measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Program {
    /// rt-tests: a thread sleeps until a time and looks how late it is.
    #[default]
    Cyclictest,
    /// rtla: the kernel's tracer of the same name does, one thread a CPU.
    Timerlat,
}

impl Program {
    /// As people type it.
    pub fn name(self) -> &'static str {
        match self {
            Program::Cyclictest => "cyclictest",
            Program::Timerlat => "rtla timerlat",
        }
    }
}

/// One thread of a test; times in ns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Thread {
    /// Its number; of `timerlat` that of its CPU.
    pub number: u32,
    /// Its process, if the row says it: two tests have two.
    #[serde(skip)]
    pub pid: Option<u64>,
    /// Its priority of real time, if the row says it; 0 is a normal task.
    pub priority: Option<u64>,
    /// Time between two wake-ups, in us, if the row says it.
    pub interval_us: Option<u64>,
    /// Wake-ups, if they are told.
    pub count: Option<u64>,
    /// Least.
    pub least: u64,
    /// Mean.
    pub mean: u64,
    /// Most.
    pub most: u64,
    /// Times that firmware interrupted it, if they were counted (`--smi`).
    pub smis: Option<u64>,
    /// How late its timer's interrupt was at most, of `timerlat`.
    pub interrupt: Option<u64>,
}

/// Where a late wake-up lost its time. The exit of an idle state lies before the handler of the
/// timer, and so within the latency of the interrupt (kernel/trace/trace_osnoise.c:timerlat_irq
/// and timerlat_main, 6.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Lost {
    /// Before the timer's interrupt, three quarters and more.
    Before,
    /// Behind it, three quarters and more: leaving an idle state is not the reason.
    Behind,
}

impl Thread {
    /// Where its latest wake-up lost its time, if the test tells the interrupt apart. That of the
    /// interrupt bounds what any wake-up lost before it.
    pub fn lost(&self) -> Option<Lost> {
        // Once it was so late, and no thread wakes before it.
        let before = self.interrupt?.saturating_mul(4);
        match self.most {
            most if before >= most.saturating_mul(3) => Some(Lost::Before),
            most if before <= most => Some(Lost::Behind),
            _ => None,
        }
    }
}

/// How many wake-ups were how late.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Histogram {
    /// Latency in ns and how many wake-ups had it, in order.
    pub bins: Vec<(u64, u64)>,
    /// Wake-ups that were later than the last.
    pub over: u64,
}

impl Histogram {
    /// All wake-ups in it.
    pub fn count(&self) -> u64 {
        self.bins.iter().fold(self.over, |n, b| n.saturating_add(b.1))
    }

    /// What so many of 100,000 wake-ups do not exceed; nothing if it is beyond the histogram,
    /// or if there are too few wake-ups for any to be later.
    pub fn quantile(&self, of_100_000: u64) -> Option<u64> {
        let all = u128::from(self.count());
        let wanted = (all * u128::from(of_100_000)).div_ceil(100_000);
        if all == 0 || wanted >= all {
            return None;
        }
        let mut sum = 0u128;
        self.bins.iter().find_map(|b| {
            sum += u128::from(b.1);
            (sum >= wanted).then_some(b.0)
        })
    }
}

/// A setting that words above a test name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Named {
    /// As it is written: `idle=poll`.
    pub setting: String,
    /// It held, or was left away.
    pub on: bool,
    /// It stands in the words that name the test.
    pub in_caption: bool,
}

/// One test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Test {
    /// What it was read of.
    pub label: String,
    /// Words above it.
    pub caption: Option<String>,
    /// What measured.
    pub program: Program,
    /// Thread n ran on CPU n alone (`-S`, `-a`).
    pub bound: bool,
    /// Its threads.
    pub threads: Vec<Thread>,
    /// How many wake-ups were how late, if it was asked for.
    pub histogram: Option<Histogram>,
    /// What `/dev/cpu_dma_latency` was set to while it ran, in us.
    pub dma_latency_us: Option<u64>,
    /// Settings that the lines before it name.
    pub named: Vec<Named>,
    /// The program warned that there are no timers of high resolution.
    pub coarse: bool,
}

/// ns as us, with what is left of them.
pub fn us(ns: u64) -> String {
    let (whole, rest) = (say::grouped(ns / 1_000), ns % 1_000);
    match rest {
        0 => whole,
        n => format!("{whole}.{}", format!("{n:03}").trim_end_matches('0')),
    }
}

/// A mean over threads is no more exact than what they print.
pub fn mean_us(ns: u64) -> String {
    us(if ns >= 1_000 { ns.saturating_add(50) / 100 * 100 } else { ns })
}

/// A wake-up that was so late is late for any work of real time, ns. Ours.
const LEAST: u64 = 100_000;

/// A worst wake-up that was so late is told without a look at the others, ns. Ours.
const MUCH: u64 = 1_000_000;

impl Test {
    /// The thread that was latest.
    pub fn worst(&self) -> Option<&Thread> {
        self.threads.iter().min_by_key(|t| (std::cmp::Reverse(t.most), t.number))
    }

    /// The thread that was latest, if it stands out: its worst wake-up took a hundred times the mean
    /// of all, or ten times the worst of each other thread, and no less than a tenth of a ms; or a
    /// ms and more.
    pub fn outlier(&self) -> Option<&Thread> {
        let worst = self.worst()?;
        let others = self.threads.iter().filter(|t| !std::ptr::eq(*t, worst));
        let next = others.map(|t| t.most).max();
        let far = worst.most >= self.mean().saturating_mul(100)
            || next.is_some_and(|n| worst.most >= n.saturating_mul(10));
        let far = far || worst.most >= MUCH;
        (worst.most >= LEAST && far && self.priority() != Some(0)).then_some(worst)
    }

    /// The thread that was latest, where wake-ups were late as a rule: the mean is.
    pub fn slow(&self) -> Option<&Thread> {
        let late = self.mean() >= LEAST && self.priority() != Some(0);
        self.worst().filter(|_| late)
    }

    /// All wake-ups, if each thread tells its own.
    pub fn wakeups(&self) -> Option<u64> {
        self.threads.iter().try_fold(0u64, |n, t| Some(n.saturating_add(t.count?)))
    }

    /// The mean over all wake-ups, in ns; over threads where these are not told.
    pub fn mean(&self) -> u64 {
        let known = self.wakeups().is_some_and(|n| n > 0);
        let weight = |t: &Thread| u128::from(if known { t.count.unwrap_or(0) } else { 1 });
        let all: u128 = self.threads.iter().map(weight).sum();
        let times = |t: &Thread| weight(t).saturating_mul(u128::from(t.mean));
        let sum = self.threads.iter().map(times).fold(0, u128::saturating_add);
        u64::try_from(sum.saturating_add(all / 2) / all.max(1)).unwrap_or(u64::MAX)
    }

    /// How long it ran by wake-ups and the time between them, in s, if rows say both.
    pub fn seconds(&self) -> Option<u64> {
        let one = |t: &Thread| Some(t.count?.saturating_mul(t.interval_us?) / 1_000_000);
        self.threads.iter().filter_map(one).max().filter(|s| *s > 0)
    }

    /// Its name among others.
    pub fn name(&self) -> &str {
        self.caption.as_deref().unwrap_or(&self.label)
    }

    fn says(&self, setting: &str) -> Option<&Named> {
        self.named.iter().rev().find(|n| n.setting == setting)
    }
}

/// A thread that two tests have; times in ns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Both {
    /// Its number.
    pub number: u32,
    /// Most, of each.
    pub most: [u64; 2],
    /// Mean, of each.
    pub mean: [u64; 2],
}

/// How sure it is that two tests differ in a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sure {
    /// Words say that one has it and the other not, or what value each has.
    Said,
    /// It is named above one of them alone.
    Alone,
}

/// A setting in which two tests differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Differs {
    /// The setting.
    pub setting: String,
    /// Which of both has it.
    pub side: usize,
    /// How sure that is.
    pub sure: Sure,
    /// It keeps CPUs out of idle states.
    pub of_idle: bool,
}

/// Two tests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Beside {
    /// What they are called.
    pub labels: [String; 2],
    /// The thread that was latest, and by how much, of each.
    pub worst: [(u32, u64); 2],
    /// Mean of each.
    pub mean: [u64; 2],
    /// Wake-ups of each, if told.
    pub wakeups: [Option<u64>; 2],
    /// Threads that both have.
    pub threads: Vec<Both>,
    /// Thread n runs on CPU n, in both.
    pub bound: bool,
    /// What differs between them, by the text.
    pub differs: Vec<Differs>,
    /// What each set `/dev/cpu_dma_latency` to, in us.
    pub dma_latency_us: [Option<u64>; 2],
    /// The priority of real time that all threads of each had, if its rows say so.
    pub priority: [Option<u64>; 2],
}

/// What two tests say of idle states, where a setting that keeps CPUs out of them is in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OfIdle {
    /// The run without them was not better by [`CHANCE`], neither in its worst wake-up nor in
    /// the mean.
    NotBetter,
    /// Only its mean was.
    MeanAlone,
    /// It was better, and one of both had more than twice as many wake-ups: the worst of more
    /// is worse.
    OtherLength,
    /// It was better, but the other did not enter them either.
    NotEntered,
    /// It was better.
    Better,
}

/// The latest of many wake-ups is one of them: by fewer per cent it differs from run to run.
/// Chosen, not measured.
pub const CHANCE: u64 = 10;

impl Beside {
    /// The side that ran as a normal task, and the priority of real time that the other had;
    /// nothing if both ran alike.
    pub fn normal_task(&self) -> Option<(usize, u64)> {
        match self.priority {
            [Some(0), Some(p @ 1..)] => Some((0, p)),
            [Some(p @ 1..), Some(0)] => Some((1, p)),
            _ => None,
        }
    }

    /// What they say of idle states: `side` is the run that stayed out of them.
    pub fn of_idle(&self, side: usize) -> OfIdle {
        let (with, without) = (self.worst[side].1, self.worst[1 - side].1);
        let worst = with.saturating_mul(100) <= without.saturating_mul(100 - CHANCE);
        let [with, without] = [self.mean[side], self.mean[1 - side]];
        let mean = with.saturating_mul(100) <= without.saturating_mul(100 - CHANCE);
        let wakeups = self.wakeups[0].zip(self.wakeups[1]);
        let other_length = wakeups.is_some_and(|(a, b)| a.max(b) / 2 > a.min(b));
        match (worst && with <= without, self.dma_latency_us[1 - side]) {
            (false, _) if mean => OfIdle::MeanAlone,
            (false, _) => OfIdle::NotBetter,
            (true, Some(0)) => OfIdle::NotEntered,
            (true, _) if other_length => OfIdle::OtherLength,
            (true, _) => OfIdle::Better,
        }
    }
}

impl Test {
    /// The priority that all of its threads had; 0 where one of them was a normal task.
    pub fn priority(&self) -> Option<u64> {
        let all: Option<Vec<u64>> = self.threads.iter().map(|t| t.priority).collect();
        all?.into_iter().min()
    }
}

/// Two tests of one program beside each other.
pub fn beside(a: &Test, b: &Test) -> Option<Beside> {
    let worst = |t: &Test| t.worst().map(|w| (w.number, w.most));
    if a.program != b.program {
        return None;
    }
    let both = |t: &Thread| {
        let other = b.threads.iter().find(|o| o.number == t.number)?;
        let (most, mean) = ([t.most, other.most], [t.mean, other.mean]);
        Some(Both { number: t.number, most, mean })
    };
    Some(Beside {
        labels: [a, b].map(|t| t.name().to_owned()),
        worst: [worst(a)?, worst(b)?],
        mean: [a.mean(), b.mean()],
        wakeups: [a.wakeups(), b.wakeups()],
        threads: a.threads.iter().filter_map(both).collect(),
        bound: a.bound && b.bound,
        differs: differs(a, b),
        dma_latency_us: [a.dma_latency_us, b.dma_latency_us],
        priority: [a.priority(), b.priority()],
    })
}

/// In what two tests differ by the words above them. A setting that stands above the first may
/// hold for both, unless it is in the words that name it.
fn differs(a: &Test, b: &Test) -> Vec<Differs> {
    let mut out: Vec<Differs> = Vec::new();
    for n in a.named.iter().chain(&b.named) {
        let side = match (a.says(&n.setting), b.says(&n.setting)) {
            (Some(x), Some(y)) if x.on != y.on => Some((usize::from(y.on), Sure::Said)),
            (Some(x), None) if x.on && x.in_caption => Some((0, Sure::Alone)),
            // That one does not have it says nothing of the other.
            (None, Some(y)) if y.on => Some((1, Sure::Alone)),
            _ => None,
        };
        let Some((side, sure)) = side else { continue };
        if !out.iter().any(|d| d.setting == n.setting) {
            let of_idle = keeps_shallow(&n.setting);
            out.push(Differs { setting: n.setting.clone(), side, sure, of_idle });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(most: [u64; 2], named: &[(&str, bool)]) -> Test {
        let thread = |(number, most): (u32, u64)| Thread {
            number,
            most: most * 1_000,
            mean: 4_000,
            count: Some(1_000),
            interval_us: Some(10_000),
            ..Thread::default()
        };
        let named =
            named.iter().map(|(s, on)| Named { setting: (*s).into(), on: *on, in_caption: true });
        Test {
            threads: (0..).zip(most).map(thread).collect(),
            named: named.collect(),
            ..Test::default()
        }
    }

    #[test]
    fn the_latest_thread_and_what_differs() {
        let without = test([20, 46], &[("idle=poll", false)]);
        let with = test([12, 9], &[("idle=poll", true), ("isolcpus=1", true)]);
        assert_eq!(
            (without.wakeups(), without.seconds(), without.mean()),
            (Some(2_000), Some(10), 4_000)
        );
        let found = beside(&without, &with).expect("two tests");
        assert_eq!(found.worst, [(1, 46_000), (0, 12_000)]);
        let told: Vec<_> =
            found.differs.iter().map(|d| (d.setting.as_str(), d.side, d.sure, d.of_idle)).collect();
        assert_eq!(
            told,
            [("idle=poll", 1, Sure::Said, true), ("isolcpus=1", 1, Sure::Alone, false)]
        );
        assert!(beside(&with, &with).expect("two").differs.is_empty());
        assert_eq!(found.of_idle(1), OfIdle::Better);
        let chance =
            beside(&test([20, 46], &[]), &test([20, 43], &[("idle=poll", true)])).expect("two");
        assert_eq!(chance.of_idle(1), OfIdle::NotBetter, "one wake-up of many");
        let short = Test { threads: with.threads[..1].to_vec(), ..with.clone() };
        let short = Test {
            threads: short
                .threads
                .iter()
                .map(|t| Thread { count: Some(10), ..t.clone() })
                .collect(),
            ..short
        };
        assert_eq!(beside(&without, &short).expect("two").of_idle(1), OfIdle::OtherLength);
    }

    #[test]
    fn a_wake_up_that_stands_out_is_told_from_one_that_is_late_as_all_are() {
        let latest = |most| test(most, &[]).outlier().map(|t| t.number);
        assert_eq!(latest([4_000, 12]), Some(0));
        assert_eq!((latest([90, 2]), latest([120, 60])), (None, None));
        let mut normal = test([4_000, 12], &[]);
        normal.threads[0].priority = Some(0);
        normal.threads[1].priority = Some(0);
        assert_eq!(normal.outlier(), None, "others keep a normal task waiting");
    }

    #[test]
    fn the_interrupt_of_a_timer_tells_where_time_was_lost() {
        let of = |interrupt, most| Thread { interrupt, most, ..Thread::default() }.lost();
        assert_eq!(of(Some(9_000), 2_000_000), Some(Lost::Behind));
        assert_eq!(of(Some(260_000), 266_000), Some(Lost::Before));
        assert_eq!(of(Some(5_000), 10_000), None);
        assert_eq!(of(None, 10_000), None);
    }

    #[test]
    fn a_quantile_beyond_the_histogram_is_not_known() {
        let h = Histogram { bins: vec![(1_000, 900), (2_000, 99)], over: 1 };
        assert_eq!((h.quantile(50_000), h.quantile(99_000)), (Some(1_000), Some(2_000)));
        assert_eq!(h.quantile(99_999), None, "of a thousand none is the hundred-thousandth");
    }
}
