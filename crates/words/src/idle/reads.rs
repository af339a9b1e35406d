//! What `dormouse predict` prints.

use super::wrapped::wrap;
use crate::text::safe;
use dormouse_idle::reads::{Cell, Line, Waited, lost};
use dormouse_idle::state::State;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Reads of one size.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// As measured with shallow states alone.
    pub cell: &'a Cell,
    /// The device's part of it, ns.
    pub wait: i64,
    /// What the CPU does meanwhile.
    pub waited: &'a Waited,
    /// What a read takes then, ns.
    pub read: i64,
    /// The same, measured.
    pub measured: Option<i64>,
}

/// What is printed.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// Sizes, the smallest first.
    pub rows: &'a [Row<'a>],
    /// The states of the CPU.
    pub states: &'a [State],
    /// The one that it waited in when it was measured.
    pub shallow: usize,
    /// Who chooses: `menu of 6.12`.
    pub governor: &'a str,
    /// Work by size, and the wait for the device.
    pub lines: [Option<Line>; 2],
    /// Size, thousandths that were lost elsewhere, and the exit that costs so much.
    pub seen: Option<(u64, i64, i64)>,
    /// The next command.
    pub next: &'a str,
}

impl Row<'_> {
    /// Thousandths of bandwidth lost if waking up took `percent` of what the table
    /// says.
    fn loses(&self, percent: i64) -> i64 {
        lost(self.cell.read, self.read - self.waited.paid + self.waited.paid * percent / 100)
    }

    /// The state of most sleeps.
    fn state(&self) -> usize {
        let most = self.waited.sleeps.iter().enumerate().rev().max_by_key(|s| s.1);
        most.map_or(0, |s| s.0)
    }

    /// Percent of the sleeps that are in it.
    fn share(&self) -> u64 {
        let all: u64 = self.waited.sleeps.iter().sum();
        100 * self.waited.sleeps.get(self.state()).copied().unwrap_or(0) / all.max(1)
    }
}

/// The page.
pub fn text(p: &Page) -> String {
    let mut out = answer(p);
    out += &wrap(&format!(
        "Measured in {} alone, one read at a time; foretold with every state that is allowed, as \
         {} chooses. In brackets: if waking up took 25 % less or more than the table says.",
        name(p, p.shallow),
        p.governor
    ));
    let measured = p.rows.iter().any(|r| r.measured.is_some());
    let _ = write!(
        out,
        "\n{:>6} {:>8} {:>7} {:>7}  {:<9} {:>7} {:>19}",
        "Size", "read us", "work us", "wait us", "waits in", "exit us", "less bandwidth"
    );
    out += if measured { " measured\n" } else { "\n" };
    for r in p.rows {
        let share = match r.share() {
            // Shortly before a tick another is taken.
            95.. => String::new(),
            n => format!(" {n}%"),
        };
        let _ = write!(
            out,
            "{:>6} {:>8} {:>7} {:>7}  {:<9} {:>7} {:>19}",
            size(r.cell.block),
            us(r.cell.read),
            us(r.cell.work),
            us(r.wait),
            format!("{}{share}", name(p, r.state())),
            us(r.waited.paid),
            format!(
                "{} ({}..{})",
                percent(r.loses(100)),
                tenths(r.loses(75)),
                tenths(r.loses(125))
            ),
        );
        if measured {
            let seen = r.measured.map_or_else(|| "-".into(), |m| percent(lost(r.cell.read, m)));
            let _ = write!(out, " {seen:>8}");
        }
        out.push('\n');
    }
    let miss = |r: &Row| r.measured.map(|m| (r.loses(100) - lost(r.cell.read, m)).abs());
    if let Some(worst) = p.rows.iter().filter_map(miss).max() {
        out += &wrap(&format!("What was measured is at most {} points from that.", tenths(worst)));
    }
    out += &why(p);
    for (what, line) in ["Work", "Wait for the device"].iter().zip(p.lines) {
        if let Some(l) = line {
            out += &wrap(&format!(
                "{what}: {} us and {} us for each 32 KiB; the size that fits worst is {} us off.",
                us(l.fixed),
                us(l.per_mib / 32),
                us(l.worst)
            ));
        }
    }
    if let Some(seen) = p.seen {
        out += &elsewhere(p, seen);
    }
    let _ = write!(out, "\n{}", crate::wording::next::next(p.next));
    out
}

fn answer(p: &Page) -> String {
    let worst = p.rows.iter().max_by_key(|r| r.loses(100)).filter(|r| r.loses(100) >= 10);
    wrap(&match worst {
        None => format!(
            "Idle states cost these reads nothing: the CPU wakes up as fast as from {}.",
            name(p, p.shallow)
        ),
        Some(r) => format!(
            "{} costs reads of {} most: {} less bandwidth, because the CPU takes {} us to wake up \
             where a read waits {} us for the device.",
            name(p, r.state()),
            size(r.cell.block),
            percent(r.loses(100)),
            us(r.waited.paid),
            us(r.wait)
        ),
    })
}

/// Why each size has its state: neighbours with one reason share a line.
fn why(p: &Page) -> String {
    let mut out = String::from("\n");
    for group in p.rows.chunk_by(|a, b| a.state() == b.state()) {
        let (first, last) = (&group[0], &group[group.len() - 1]);
        let sizes = match group.len() {
            1 => size(first.cell.block),
            _ => format!("{} to {}", size(first.cell.block), size(last.cell.block)),
        };
        let (state, at) = (name(p, first.state()), first.state());
        let deeper = p.states.get(at + 1);
        let pays = p.states.get(at).map_or(0, |s| s.residency);
        let extra = p.states.get(at).map_or(0, |s| s.latency)
            - p.states.get(p.shallow).map_or(0, |s| s.latency);
        let mut text = format!("{sizes}: {state}, ");
        text += &if at == p.shallow {
            "as measured".into()
        } else {
            format!("which the table says pays from {} us on", us(pays))
        };
        text += &match deeper {
            Some(d) if d.residency > last.wait => {
                format!(
                    "; {} pays from {} us on, which no wait reaches",
                    safe(&d.name),
                    us(d.residency)
                )
            }
            Some(d) => format!("; {} is not chosen or not allowed", safe(&d.name)),
            None => String::new(),
        };
        if at != p.shallow {
            text += &format!(
                ". Each read pays {} us more, which weighs less the longer it is",
                us(extra)
            );
        }
        out += &wrap(&(text + "."));
    }
    out
}

/// What a loss that was seen on another machine would mean on this one.
fn elsewhere(p: &Page, (block, thousandths, exit): (u64, i64, i64)) -> String {
    let mut out = String::from("\n");
    let deepest = p.states.last();
    let shallow = p.states.get(p.shallow).map_or(0, |s| s.latency);
    let table = deepest.map_or(0, |s| s.latency - shallow);
    out += &wrap(&format!(
        "Seen elsewhere: {} less at {}. With this device that is a wake-up {} us longer than from \
         {}; the table has {} us for {}. The same for other sizes, if the state were taken for all:",
        percent(thousandths),
        size(block),
        us(exit),
        name(p, p.shallow),
        us(table),
        deepest.map_or_else(String::new, |s| safe(&s.name).into_owned())
    ));
    let all = |e: i64| {
        let of = |r: &Row| {
            format!("{} {}", size(r.cell.block), percent(lost(r.cell.read, r.cell.read + e)))
        };
        p.rows.iter().map(of).collect::<Vec<_>>().join(", ")
    };
    out + &wrap(&format!("  {}.", all(exit)))
}

fn name(p: &Page, i: usize) -> String {
    p.states.get(i).map_or_else(|| format!("state {i}"), |s| safe(&s.name).into_owned())
}

/// `4k`, `1M`, `512`.
fn size(bytes: u64) -> String {
    match bytes {
        b if b >= 1 << 20 && b.is_multiple_of(1 << 20) => format!("{}M", b >> 20),
        b if b >= 1 << 10 && b.is_multiple_of(1 << 10) => format!("{}k", b >> 10),
        b => format!("{b}"),
    }
}

/// Microseconds with one place.
fn us(ns: i64) -> String {
    tenths((ns + if ns < 0 { -50 } else { 50 }) / 100)
}

fn tenths(thousandths: i64) -> String {
    let sign = if thousandths < 0 { "-" } else { "" };
    format!("{sign}{}.{}", thousandths.abs() / 10, thousandths.abs() % 10)
}

fn percent(thousandths: i64) -> String {
    format!("{} %", tenths(thousandths))
}

/// The same for programs.
pub fn json(p: &Page) -> Value {
    let rows: Vec<Value> = p
        .rows
        .iter()
        .map(|r| {
            json!({
                "bytes": r.cell.block,
                "shallow_ns": r.cell.read,
                "work_ns": r.cell.work,
                "wait_ns": r.wait,
                "sleeps": r.waited.sleeps,
                "wake_ns": r.waited.paid,
                "read_ns": r.read,
                "less_bandwidth": r.loses(100) as f64 / 1_000.0,
                "less_bandwidth_75": r.loses(75) as f64 / 1_000.0,
                "less_bandwidth_125": r.loses(125) as f64 / 1_000.0,
                "measured_ns": r.measured,
            })
        })
        .collect();
    let line = |l: Option<Line>| {
        l.map(|l| json!({ "fixed_ns": l.fixed, "per_mib_ns": l.per_mib, "worst_ns": l.worst }))
    };
    json!({
        "measured_in": name(p, p.shallow),
        "states": (0..p.states.len()).map(|i| name(p, i)).collect::<Vec<_>>(),
        "governor": p.governor,
        "reads": rows,
        "work": line(p.lines[0]),
        "wait": line(p.lines[1]),
        "seen": p.seen.map(|(bytes, lost, exit)| json!({
            "bytes": bytes, "less_bandwidth": lost as f64 / 1_000.0, "wake_longer_ns": exit,
        })),
    })
}
