//! A comparison in sentences: for each half what changed and how sure that is,
//! then where it comes from.

use super::number::change;
use super::phase::{capitalised, gap, phase};
use dormouse_base::phase::Direction;
use dormouse_base::time::Ns;
use dormouse_sleep::analyse::path::Reason;
use dormouse_sleep::compare::Comparison;
use dormouse_sleep::compare::account::{Account, NEWS, Source, WORTH_SAYING};
use dormouse_sleep::compare::contrast::{Contrast, Verdict};
use dormouse_sleep::compare::figure::Figure;
use dormouse_sleep::compare::seen::DeviceName;
use dormouse_sleep::compare::why::{Cause, Part, Why};

/// A device that takes this share of a half (in percent) on both sides is said.
const BOUNDS: f64 = 25.0;

/// The answer of one further side (from 1) in sentences, most important first.
pub fn sentences(c: &Comparison<'_>, side: usize) -> Vec<String> {
    let mut out = Vec::new();
    let mut later = Vec::new();
    for direction in [Direction::Suspend, Direction::Resume] {
        let Some(row) = c.rows.iter().find(|r| r.figure == Figure::Total(direction)) else {
            continue;
        };
        let contrast = &row.contrasts[side - 1];
        let mut text = verdict(direction, contrast, row.needed[side - 1]);
        let why = &c.why[side - 1][usize::from(direction == Direction::Resume)];
        if contrast.verdict == Verdict::NoDifference {
            text.push_str(&parts(c, side, direction, contrast));
        } else {
            let worth = (WORTH_SAYING * why.before.max(why.after)).max(NEWS);
            later.extend(
                why.parts.iter().filter(|p| p.difference().abs() >= worth).take(3).map(part),
            );
        }
        out.push(text);
        later.extend(share_of_both(why));
    }
    out.extend(later);
    out
}

/// Phases that changed although their half did not, and what made up for them.
fn parts(c: &Comparison<'_>, side: usize, direction: Direction, total: &Contrast) -> String {
    let mut list: Vec<(f64, String)> = Vec::new();
    let worth = (WORTH_SAYING * total.median[0]).max(NEWS);
    for row in &c.rows {
        let k = &row.contrasts[side - 1];
        let d = k.difference;
        let tested = matches!(k.verdict, Verdict::Faster | Verdict::Slower);
        let text = match row.figure {
            Figure::Phase(p) if p.direction() == direction && tested => {
                let account = c.worth_reading(side).into_iter().find(|a| a.phase == p);
                let from = account.map_or(String::new(), |a| format!(" ({})", kinds(a)));
                format!("the phase {} is {} {}{from}", phase(p), time(d.abs()), k.verdict.name())
            }
            Figure::Gaps(g) if g == direction => {
                let word = if d > 0.0 { "longer" } else { "shorter" };
                let one = c.why[side - 1][usize::from(direction == Direction::Resume)].gap;
                let one = one.filter(|g| g.difference() * d > 0.0);
                let one = one.filter(|g| g.difference().abs() * 2.0 >= d.abs());
                let named = one.map_or(String::new(), |g| {
                    let every = if g.always { " in every cycle" } else { "" };
                    let (was, is) = (time(g.before), time(g.after));
                    let (after, before) = g.phases;
                    format!(", {} {was} -> {is}{every}", gap(g.mode, after, before))
                });
                // That they make up for a phase is arithmetic, that they differ is not.
                let sure = match (tested, k.welch) {
                    (false, Some(_)) if one.is_some_and(|g| g.always) => {
                        format!(" (so few prove nothing: {})", p_value(k.p_corrected))
                    }
                    (false, Some(_)) => {
                        format!(" (that may be chance: {})", p_value(k.p_corrected))
                    }
                    _ => String::new(),
                };
                format!("gaps between phases are {} {word}{named}{sure}", time(d.abs()))
            }
            _ => continue,
        };
        if d.abs() >= worth {
            list.push((d.abs(), text));
        }
    }
    list.sort_by(|a, b| b.0.total_cmp(&a.0));
    let list: Vec<String> = list.into_iter().take(3).map(|l| l.1).collect();
    if list.is_empty() { String::new() } else { format!(" But {}.", list.join("; ")) }
}

/// What the shares of an account add up to, a kind each: `devices -0.10 ms, order -5.02 ms`.
pub fn kinds(account: &Account<'_>) -> String {
    let said = [("device", "devices"), ("wait", "waits"), ("order", "order")];
    let mut list: Vec<(&str, f64)> =
        said.iter().map(|(kind, word)| (*word, account.of_kind(kind))).collect();
    list.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    list.push(("unexplained", account.of_kind("unexplained")));
    let shown = list.iter().filter(|(_, d)| d.abs() >= HARDLY);
    shown.map(|(word, d)| format!("{word} {}", signed(*d))).collect::<Vec<_>>().join(", ")
}

/// What a share of a change comes from, in words.
pub fn source(source: &Source<'_>, change: f64) -> String {
    match source {
        Source::Device(d) if change > 0.0 => format!("device: {} itself runs longer", device(d)),
        Source::Device(d) => format!("device: {} itself runs shorter", device(d)),
        Source::Order(d) if change > 0.0 => format!("order: {} comes onto the path", device(d)),
        Source::Order(d) => format!("order: {} leaves the path", device(d)),
        Source::Wait(reason) => format!("wait: {}", wait(*reason)),
        Source::Unexplained => "unexplained".into(),
    }
}

/// Time of a critical path in which none of its callbacks ran.
fn wait(reason: Reason) -> &'static str {
    match reason {
        Reason::WorkerStart => "waiting for worker threads to start",
        Reason::Queue => "waiting to be queued by the main thread",
        Reason::MainThread => "the main thread between devices",
        Reason::PhaseBegin => "the time before the first device",
        Reason::PhaseEnd => "the time after the last device",
        Reason::Child | Reason::Parent | Reason::Consumer | Reason::Supplier => {
            "the time from one device's end to the start of the one that waited for it"
        }
        Reason::Unexplained => "time without a cause in the log",
    }
}

/// What limits the figures: drift, warm-up, cycles left out.
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
        if s.left_out_incomplete > 0 {
            out.push(format!(
                "{}: {} left out that did not sleep or are incomplete.",
                s.label,
                cycles(s.left_out_incomplete)
            ));
        }
        if s.left_out_warm_up > 0 {
            out.push(format!(
                "{}: {} left out at the beginning, as warm-up (cold worker pools, late work after \
                 boot).",
                s.label,
                cycles(s.left_out_warm_up)
            ));
        }
        for (drift, direction) in [(s.drift_suspend_tau, "suspend"), (s.drift_resume_tau, "resume")]
        {
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
    Ns(ns.round() as i64)
}

/// A difference with its sign.
fn signed(ns: f64) -> String {
    format!("{}{}", if ns < 0.0 { "-" } else { "+" }, time(ns.abs()))
}

/// `+241 %`, `-5.5 %`.
pub fn percent(p: f64) -> String {
    if p.abs() < 9.95 { format!("{p:+.1} %") } else { format!("{p:+.0} %") }
}

/// `p < 0.0001`, `p = 0.03`.
fn p_value(p: f64) -> String {
    if p < 0.0001 { "p < 0.0001".into() } else { format!("p = {}", p_number(p)) }
}

/// `0.0034`, `0.42`, `1`.
pub(crate) fn p_number(p: f64) -> String {
    match p {
        p if p < 0.0001 => "<0.0001".into(),
        p if p < 0.01 => format!("{p:.4}"),
        p if p < 0.995 => format!("{p:.2}"),
        _ => "1".into(),
    }
}

fn verdict(direction: Direction, c: &Contrast, needed: Option<u64>) -> String {
    let side = capitalised(direction);
    let (before, after) = (time(c.median[0]), time(c.median[1]));
    let by = change(before, after);
    let share = c.percent.map_or(String::new(), |p| format!(", {}", percent(p)));
    match c.verdict {
        Verdict::Slower | Verdict::Faster => match (c.interval, c.welch) {
            // The means differ beyond the level, and the medians may not.
            (Some((low, high)), Some(_)) if low < 0.0 && high > 0.0 => format!(
                "{side}: not clear. The medians do not differ ({} to {}), the means do ({}): it \
                 comes from some cycles, not from all. Record more.",
                signed(low),
                signed(high),
                p_value(c.p_corrected)
            ),
            (_, Some(w)) => {
                let (low, high) = w.interval;
                format!(
                    "{side}: {} by {} ({before} -> {after}{share}); means differ by {} to {}, {}.",
                    c.verdict.name(),
                    time(c.difference.abs()),
                    signed(low),
                    signed(high),
                    p_value(c.p_corrected)
                )
            }
            (_, None) => format!(
                "{side}: {} by {} ({before} -> {after}{share}); no cycle differs from its median.",
                c.verdict.name(),
                time(c.difference.abs())
            ),
        },
        Verdict::NoDifference => {
            let n = c.cycles[0].min(c.cycles[1]);
            let limits = match (c.detectable, needed.filter(|&m| m > n as u64)) {
                (Some(d), Some(m)) if d > 0.0 => format!(
                    " With {n} cycles per side, only changes above {} are detectable; {m} per \
                     side detect 2 %.",
                    time(d)
                ),
                (Some(d), None) if d > 0.0 => {
                    format!(" With {n} cycles per side, changes above {} are detectable.", time(d))
                }
                _ => String::new(),
            };
            format!("{side}: no significant change ({by}; {before} -> {after}).{limits}")
        }
        Verdict::Untested => format!(
            "{side}: {before} -> {after} ({by}{share}). With a single cycle on a side, no \
             difference can be told from chance: record more cycles."
        ),
    }
}

/// A device, with its number where it has namesakes.
pub fn device(d: &DeviceName<'_>) -> String {
    match d.nth {
        1 => d.name.to_string(),
        2 => format!("{} (the 2nd of that name under {})", d.name, d.parent),
        3 => format!("{} (the 3rd of that name under {})", d.name, d.parent),
        n => format!("{} (the {n}th of that name under {})", d.name, d.parent),
    }
}

/// What a table does not show, nanoseconds.
const HARDLY: f64 = 10_000.0;

/// `changed by -0.30 ms only`; below what a table shows it is none.
fn hardly(own: f64) -> String {
    if own.abs() < HARDLY {
        "is the same within 0.01 ms".into()
    } else {
        format!("changed by {} only", signed(own))
    }
}

#[cfg(test)]
#[test]
fn a_change_that_is_none_has_no_sign() {
    assert_eq!(hardly(-4_000.0), "is the same within 0.01 ms");
    assert_eq!(hardly(0.0), "is the same within 0.01 ms");
    assert_eq!(hardly(-300_000.0), "changed by -0.30 ms only");
}

fn part(p: &Part<'_>) -> String {
    let d = p.difference();
    match p.cause {
        Cause::Device(at, name) => {
            let own = p.own.unwrap_or(0.0);
            let (name, at) = (device(&name), phase(at));
            if own.abs() >= d.abs() / 2.0 && (own > 0.0) == (d > 0.0) {
                let word = if own > 0.0 { "longer" } else { "shorter" };
                format!("{name} itself runs {} {word} in {at}.", time(own.abs()))
            } else if d > 0.0 {
                format!(
                    "{name} is on the critical path of {at} for {} more; its own time {}.",
                    time(d),
                    hardly(own)
                )
            } else {
                format!(
                    "{name} is on the critical path of {at} for {} less; its own time {}: it \
                     overlaps with others.",
                    time(-d),
                    hardly(own)
                )
            }
        }
        Cause::Wait(at, reason) => {
            let what = wait(reason);
            format!("In {}, {what} changed by {}.", phase(at), signed(d))
        }
        Cause::Step(at) => format!("The step {} changed by {}.", phase(at), signed(d)),
        Cause::Between => format!("The time between phases changed by {}.", signed(d)),
    }
}

fn share_of_both(why: &Why<'_>) -> Option<String> {
    let (name, before, after) = why.bound?;
    if before < BOUNDS || after < BOUNDS {
        return None;
    }
    let half = why.direction.name();
    let (a, b) = (format!("{before:.0}"), format!("{after:.0}"));
    Some(if a == b {
        format!("{} takes {a} % of {half} on both sides.", device(&name))
    } else {
        format!("{} takes {a} % of {half} before and {b} % after.", device(&name))
    })
}
