//! What turbostat measured, interval by interval, and what power of states can
//! be told from it.

use std::collections::BTreeMap;

/// Values of one line by column, thousandths.
pub type Row = BTreeMap<String, i64>;

/// One interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// The line for the whole machine.
    pub machine: Row,
    /// Lines of CPUs that could be read.
    pub cpus: Vec<Row>,
}

/// Everything of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// As the user named it.
    pub label: String,
    /// Names of columns, in their order.
    pub columns: Vec<String>,
    /// In order of time.
    pub intervals: Vec<Interval>,
}

impl Run {
    /// Columns with the share of time in a state that the kernel asked for.
    pub fn states(&self) -> Vec<&str> {
        let state = |c: &&String| {
            c.strip_suffix('%').is_some_and(|n| {
                // `PKG_%` and `RAM_%` are throttling, `Any%C0` and the like not shares.
                n == "POLL"
                    || (n.starts_with('C') && n[1..].starts_with(|d: char| d.is_ascii_digit()))
            })
        };
        self.columns.iter().filter(state).map(String::as_str).collect()
    }

    /// Columns with the share of time in a package state, measured by hardware.
    pub fn package_states(&self) -> Vec<&str> {
        let package = |c: &&String| c.starts_with("Pkg%pc") || c.starts_with("Pk%pc");
        self.columns.iter().filter(package).map(String::as_str).collect()
    }

    /// The CPU that worked most and its share of time, by its mean over intervals,
    /// thousandths of a per cent: the package can sleep only for the rest.
    pub fn busiest(&self) -> Option<(u32, i64)> {
        let mut sums: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
        for row in self.intervals.iter().flat_map(|i| &i.cpus) {
            if let (Some(&cpu), Some(&busy)) = (row.get("CPU"), row.get("Busy%")) {
                let s = sums.entry(cpu).or_default();
                *s = (s.0.saturating_add(busy), s.1 + 1);
            }
        }
        let mean =
            |(cpu, (sum, n)): (i64, (i64, i64))| Some((u32::try_from(cpu / 1_000).ok()?, sum / n));
        sums.into_iter().filter_map(mean).max_by_key(|&(cpu, busy)| (busy, std::cmp::Reverse(cpu)))
    }

    /// Share of time in any package state, by its mean, thousandths of a per cent;
    /// `None` without such columns.
    pub fn package_asleep(&self) -> Option<i64> {
        let states = self.package_states();
        let sum = states.iter().filter_map(|c| self.mean(c)).fold(0i64, i64::saturating_add);
        (!states.is_empty()).then_some(sum)
    }

    /// Mean of a column of the machine, thousandths.
    pub fn mean(&self, column: &str) -> Option<i64> {
        let all: Vec<i64> =
            self.intervals.iter().filter_map(|i| i.machine.get(column).copied()).collect();
        let n = i64::try_from(all.len()).ok().filter(|n| *n > 0)?;
        Some(all.iter().sum::<i64>() / n)
    }

    /// Sum of a column of the machine, whole.
    pub fn sum(&self, column: &str) -> Option<i64> {
        let mut all = self.intervals.iter().filter_map(|i| i.machine.get(column)).peekable();
        all.peek()?;
        Some(all.sum::<i64>() / 1_000)
    }
}

/// Why no power is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotTold {
    /// No column of power (`PkgWatt`), or none of states.
    NoColumns,
    /// Fewer intervals than twice the unknowns.
    TooFew,
    /// The shares stay within five points, or go together.
    NoVariation,
    /// On intervals that were not fitted on, the mean of the others is better.
    NoBetterThanMean,
    /// A state would need less than nothing, or a deeper one more than a
    /// shallower one.
    Nonsense,
}

/// Power of all CPUs in one state.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// By column: watts if every CPU were always in it.
    pub watts: Vec<(String, f64)>,
    /// Root of the mean squared error on intervals that were not fitted on, W.
    pub error: f64,
    /// The same of the mean of the other intervals, W.
    pub error_of_mean: f64,
    /// Intervals.
    pub intervals: usize,
}

/// A state whose share stays within so many points tells nothing of its power:
/// what it adds would be a guess, extrapolated to 100.
const STILL: f64 = 5.0;

/// Twice the fewest unknowns: one state, and what does not change.
const FEWEST: usize = 4;

/// Power by state, by least squares over intervals: what `PkgWatt` adds for each
/// per cent of a state over the deepest. Each interval is foretold from all
/// others, and that must beat their mean.
pub fn watts(run: &Run) -> Result<Told, NotTold> {
    let mut columns: Vec<&str> = Vec::from(["Busy%"]);
    columns.extend(run.states());
    if run.states().is_empty() || !run.columns.iter().any(|c| c == "PkgWatt") {
        return Err(NotTold::NoColumns);
    }
    let of = |row: &Row, c: &str| row.get(c).map(|v| *v as f64 / 1_000.0);
    let mut rows: Vec<(Vec<f64>, f64)> = Vec::new();
    for i in &run.intervals {
        let shares: Option<Vec<f64>> = columns.iter().map(|c| of(&i.machine, c)).collect();
        if let (Some(shares), Some(w)) = (shares, of(&i.machine, "PkgWatt")) {
            rows.push((shares, w));
        }
    }
    // The last state is the rest: shares add up to 100.
    let last = columns.len() - 1;
    let varies = |k: &usize| {
        let all = || rows.iter().map(|r| r.0[*k]);
        all().fold(0.0, f64::max) - all().fold(100.0, f64::min) >= STILL
    };
    let used: Vec<usize> = (0..last).filter(varies).collect();
    // Whether shares vary is only told by some intervals.
    if rows.len() < FEWEST {
        return Err(NotTold::TooFew);
    }
    if used.is_empty() {
        return Err(NotTold::NoVariation);
    }
    let design = |r: &(Vec<f64>, f64)| -> Vec<f64> {
        std::iter::once(1.0).chain(used.iter().map(|&k| r.0[k])).collect()
    };
    let table: Vec<(Vec<f64>, f64)> = rows.iter().map(|r| (design(r), r.1)).collect();
    let all: Vec<&(Vec<f64>, f64)> = table.iter().collect();
    // Shares that go together stay so, however many intervals follow.
    if table.len() > used.len() && solve(&all).is_none() {
        return Err(NotTold::NoVariation);
    }
    if rows.len() < 2 * (used.len() + 1) {
        return Err(NotTold::TooFew);
    }
    let (mut model, mut plain) = (0.0, 0.0);
    for out in 0..table.len() {
        let rest: Vec<&(Vec<f64>, f64)> =
            table.iter().enumerate().filter(|(i, _)| *i != out).map(|(_, r)| r).collect();
        let fit = solve(&rest).ok_or(NotTold::NoVariation)?;
        let (x, y) = &table[out];
        let told: f64 = x.iter().zip(&fit).map(|(a, b)| a * b).sum();
        let mean = rest.iter().map(|r| r.1).sum::<f64>() / rest.len() as f64;
        model += (y - told) * (y - told);
        plain += (y - mean) * (y - mean);
    }
    let n = table.len() as f64;
    if model >= plain {
        return Err(NotTold::NoBetterThanMean);
    }
    let fit = solve(&all).ok_or(NotTold::NoVariation)?;
    let mut told = Vec::new();
    for (&k, d) in used.iter().zip(&fit[1..]) {
        told.push((String::from(columns[k]), fit[0] + 100.0 * d));
    }
    told.push((String::from(columns[last]), fit[0]));
    if told.iter().any(|t| t.1 < 0.0) || told.windows(2).any(|w| w[1].1 > w[0].1) {
        return Err(NotTold::Nonsense);
    }
    let (error, error_of_mean) = (root(model / n), root(plain / n));
    Ok(Told { watts: told, error, error_of_mean, intervals: table.len() })
}

/// Square root by Newton's rule: the same on every machine.
fn root(x: f64) -> f64 {
    let mut r = if x > 1.0 { x } else { 1.0 };
    for _ in 0..64 {
        r = (r + x / r) / 2.0;
    }
    r
}

/// Least squares by the normal equations, with elimination; `None` if columns
/// depend on each other.
fn solve(rows: &[&(Vec<f64>, f64)]) -> Option<Vec<f64>> {
    let n = rows.first()?.0.len();
    let mut a = std::vec![std::vec![0.0f64; n + 1]; n];
    for (x, y) in rows.iter().map(|r| (&r.0, r.1)) {
        for i in 0..n {
            for j in 0..n {
                a[i][j] += x[i] * x[j];
            }
            a[i][n] += x[i] * y;
        }
    }
    for k in 0..n {
        let size = |i: usize| if a[i][k] < 0.0 { -a[i][k] } else { a[i][k] };
        let best = (k..n).fold(k, |m, i| if size(i) > size(m) { i } else { m });
        if size(best) < 1e-9 {
            return None;
        }
        a.swap(k, best);
        for i in (0..n).filter(|&i| i != k) {
            let f = a[i][k] / a[k][k];
            let pivot = a[k].clone();
            for (v, p) in a[i].iter_mut().zip(&pivot).skip(k) {
                *v -= f * p;
            }
        }
    }
    Some((0..n).map(|i| a[i][n] / a[i][i]).collect())
}
