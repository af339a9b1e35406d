//! The comparison in sentences.

use super::contrast::{Contrast, Verdict};
use super::figure::{DeviceName, Figure};
use super::why::{Cause, Part, Why};
use super::{Comparison, Side};
use crate::analyse::path::Reason;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use dormouse_model::phase::{Direction, Phase};
use dormouse_model::time::Ns;
use libm::fabs;

/// Parts of a difference below this share of the total are not worth a
/// sentence.
const WORTH_SAYING: f64 = 0.005;

/// A device that holds this share of a direction (in percent) bounds it.
const BOUNDS: f64 = 25.0;

/// The answer of one further side (from 1) in sentences, most important first.
pub fn sentences(c: &Comparison<'_>, side: usize) -> Vec<String> {
    let mut out = Vec::new();
    let (a, b) = (&c.sides[0], &c.sides[side]);
    for direction in [Direction::Suspend, Direction::Resume] {
        let Some(row) = c.rows.iter().find(|r| r.figure == Figure::Total(direction)) else {
            continue;
        };
        let contrast = &row.contrasts[side - 1];
        out.push(verdict(direction, contrast, row.needed[side - 1], a, b));
        let why = &c.why[side - 1][usize::from(direction == Direction::Resume)];
        if contrast.verdict != Verdict::NoDifference {
            let worth = WORTH_SAYING * why.before.max(why.after);
            out.extend(
                why.parts.iter().filter(|p| fabs(p.difference()) >= worth).take(3).map(part),
            );
        }
        out.extend(bound(why, contrast));
    }
    out
}

/// What to know before believing the figures: drift, warm-up, cycles left out.
pub fn cautions(c: &Comparison<'_>) -> Vec<String> {
    let mut out = Vec::new();
    if c.different_machines {
        let list: Vec<String> =
            c.sides.iter().map(|s| format!("{}: {}", s.label, s.machines.join(", "))).collect();
        out.push(format!(
            "These are different machines ({}): a difference need not come from the kernel.",
            list.join("; ")
        ));
    }
    for &side in &c.in_blocks {
        out.push(format!(
            "{} and {} were recorded one after the other: what changed meanwhile (heat, load, \
             updates) looks like a difference, and no p-value knows of it. Record them in turns, \
             a few cycles each, several times.",
            c.sides[0].label, c.sides[side].label
        ));
    }
    for s in &c.sides {
        if s.incomplete > 0 {
            out.push(format!(
                "{}: {} left out that did not sleep or are incomplete.",
                s.label,
                cycles(s.incomplete)
            ));
        }
        if s.warm_up > 0 {
            out.push(format!(
                "{}: {} left out at the beginning, as warm-up (cold worker pools, late work after \
                 boot).",
                s.label,
                cycles(s.warm_up)
            ));
        }
        for (drift, direction) in [(s.drift_suspend, "suspend"), (s.drift_resume, "resume")] {
            if let Some(tau) = drift {
                out.push(format!(
                    "{}: {direction} gets {} over the recording (Mann-Kendall tau {tau:.2}): the \
                     cycles are not repeats of one thing, so p-values are too small.",
                    s.label,
                    if tau > 0.0 { "slower" } else { "faster" },
                ));
            }
        }
    }
    out
}

fn cycles(n: usize) -> String {
    if n == 1 { "1 cycle is".into() } else { format!("{n} cycles are") }
}

fn time(ns: f64) -> Ns {
    Ns(libm::round(ns) as i64)
}

/// A difference with its sign.
fn signed(ns: f64) -> String {
    format!("{}{}", if ns < 0.0 { "-" } else { "+" }, time(fabs(ns)))
}

fn verdict(direction: Direction, c: &Contrast, needed: Option<u64>, a: &Side, b: &Side) -> String {
    let name = direction.name();
    let (before, after) = (time(c.median_a), time(c.median_b));
    let percent = c.percent().map_or(String::new(), |p| format!(" ({:.1} %)", fabs(p)));
    match c.verdict {
        Verdict::Slower | Verdict::Faster => {
            // The interval is the tested one, of the means; the medians' own
            // may disagree when only some cycles differ, and that is said.
            let interval = c.welch.map_or(String::new(), |w| {
                let (low, high) = w.interval;
                format!("; means differ by {} to {}", signed(low), signed(high))
            });
            let some_only = match c.interval {
                Some((low, high)) if low < 0.0 && high > 0.0 => format!(
                    " The medians alone do not show it ({} to {}): it comes from some cycles, \
                     not from all.",
                    signed(low),
                    signed(high)
                ),
                _ => String::new(),
            };
            let p = match c.welch {
                Some(_) if c.p_corrected < 0.0001 => ", p < 0.0001".to_string(),
                Some(_) => format!(", p = {:.4}", c.p_corrected),
                None => ", no cycle differs from the median".to_string(),
            };
            format!(
                "{} {}s {}{percent} {} than {}: {after} instead of {before}{interval}{p}.{some_only}",
                b.label,
                name,
                time(fabs(c.difference())),
                c.verdict.name(),
                a.label,
            )
        }
        Verdict::NoDifference => {
            let more = needed
                .and_then(|n| n.checked_sub(c.count_a.min(c.count_b) as u64))
                .filter(|&n| n > 0)
                .map_or(String::new(), |n| format!("; {n} more a side would show 2 %"));
            let detectable =
                c.detectable.map_or(String::new(), |d| format!(" (they would show {})", time(d)));
            format!(
                "No difference in {name} that {} and {} cycles could show{detectable}: {before} \
                 and {after}{more}.",
                c.count_a, c.count_b
            )
        }
        Verdict::Untested => format!(
            "{} {name}: {before}, {} {after}: with a single cycle on a side no difference can be \
             told from chance; record more cycles.",
            a.label, b.label
        ),
    }
}

fn device(d: &DeviceName<'_>) -> String {
    match d.nth {
        1 => d.name.to_string(),
        n => format!("{} (number {n} below {})", d.name, d.parent),
    }
}

fn phase(p: Phase) -> String {
    match p {
        Phase::Noirq | Phase::ResumeNoirq => format!("{} {}", p.direction().name(), p.name()),
        _ => p.name().to_string(),
    }
}

fn part(p: &Part<'_>) -> String {
    let d = p.difference();
    match p.cause {
        Cause::Device(at, name) => {
            let own = p.own.unwrap_or(0.0);
            let (name, at) = (device(&name), phase(at));
            if fabs(own) >= fabs(d) / 2.0 && (own > 0.0) == (d > 0.0) {
                let word = if own > 0.0 { "longer" } else { "shorter" };
                format!("{name} itself runs {} {word} in {at}.", time(fabs(own)))
            } else if d > 0.0 {
                format!(
                    "{name} now decides {} more of {at}, though its own time changed by {} only.",
                    time(d),
                    signed(own)
                )
            } else {
                format!(
                    "{name} decides {} less of {at}, though its own time changed by {} only: it \
                     overlaps with others.",
                    time(-d),
                    signed(own)
                )
            }
        }
        Cause::Wait(at, reason) => {
            let what = match reason {
                Reason::WorkerStart => "waiting for worker threads to start",
                Reason::Queue => "waiting to be queued by the main thread",
                Reason::MainThread => "the main thread between devices",
                Reason::PhaseBegin => "the time before the first device",
                Reason::PhaseEnd => "the time after the last device",
                Reason::Child | Reason::Parent | Reason::Consumer | Reason::Supplier => {
                    "the time from one device's end to the start of the one that waited for it"
                }
                Reason::Unexplained => "time that the log does not explain",
            };
            format!("In {}, {what} changed by {}.", phase(at), signed(d))
        }
        Cause::Step(at) => format!("The step {} changed by {}.", phase(at), signed(d)),
        Cause::Between => format!("The time between phases changed by {}.", signed(d)),
    }
}

fn bound(why: &Why<'_>, c: &Contrast) -> Option<String> {
    let (name, before, after) = why.bound?;
    if before < BOUNDS || after < BOUNDS {
        return None;
    }
    let end = match c.verdict {
        Verdict::NoDifference => ", so a change elsewhere cannot show",
        _ => "",
    };
    Some(format!(
        "{} bounds {}: its callbacks are {before:.0} % of the way before and {after:.0} % after{end}.",
        device(&name),
        why.direction.name()
    ))
}
