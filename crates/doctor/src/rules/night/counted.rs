//! Two readings of a counter: what grew between them, and what did not, with a sleep between
//! them or without.

use super::latency::is_named;
use super::required::{NOTHING, WHOLE, told_depth};
use crate::case::Case;
use crate::finding::{Area, Confidence, Evidence, Finding, Level};
use crate::night::{Count, Counts, Fact, Item};
use dormouse_base::say;
use dormouse_base::time::Ns;

/// Two readings of one counter, one after the other.
struct Pair<'a> {
    name: &'a str,
    of: Counts,
    /// By how much it grew.
    by: u64,
    slept: bool,
    /// Seconds that the text says between them.
    seconds: Option<u64>,
    lines: [&'a Item; 2],
}

fn pairs(case: &Case) -> Vec<Pair<'_>> {
    let all: Vec<(usize, &Item, &Count)> = case.night.counts().collect();
    let mut out = Vec::new();
    for (i, (at, item, c)) in all.iter().enumerate() {
        let Some((end, next, later)) =
            all[i + 1..].iter().find(|n| n.2.name == c.name && n.2.of == c.of)
        else {
            continue;
        };
        // A counter that fell was started anew.
        let Some(by) = later.value.checked_sub(c.value) else { continue };
        let between = case.night.between(*at, *end);
        let seconds = between.iter().find_map(|i| match i.fact {
            Fact::Slept(s) => s,
            Fact::Idled(s) => Some(s),
            _ => None,
        });
        let logged = case.attempts.iter().any(|a| {
            let line = case.messages[a.first].line;
            item.line < line && line < next.line
        });
        out.push(Pair {
            name: &c.name,
            of: c.of,
            by,
            slept: logged || between.iter().any(|i| matches!(i.fact, Fact::Slept(_))),
            seconds,
            lines: [item, next],
        });
    }
    out
}

fn time(us: u64) -> String {
    say::span(Ns(i64::try_from(us).unwrap_or(i64::MAX / 1_000).saturating_mul(1_000)))
}

/// The number of a package state.
fn depth(name: &str) -> u32 {
    name.strip_prefix("Package C").and_then(|n| n.parse().ok()).unwrap_or(0)
}

pub(crate) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let pairs = pairs(case);
    slept(case, &pairs, out);
    awake(&pairs, out);
    never(case, out);
    last(case, out);
    domains(&pairs, case, out);
}

/// What a sleep counted.
fn slept(case: &Case, pairs: &[Pair<'_>], out: &mut Vec<Finding>) {
    let asleep = || pairs.iter().filter(|p| p.slept);
    let system: Vec<&Pair<'_>> =
        asleep().filter(|p| matches!(p.of, Counts::System | Counts::Substate)).collect();
    let package: Vec<&Pair<'_>> =
        asleep().filter(|p| p.of == Counts::Package && depth(p.name) > 0).collect();
    let deepest = package.iter().filter(|p| p.by > 0).max_by_key(|p| depth(p.name));
    let evidence = |list: &[&Pair<'_>]| -> Vec<Evidence> {
        list.iter().take(3).flat_map(|p| p.lines.map(Evidence::from)).collect()
    };
    if told_depth(out) {
        return;
    }
    let unknown = if is_named(case) { "" } else { " The text does not name what kept it." };
    if let Some(most) = system.iter().max_by_key(|p| p.by) {
        let length = most.seconds.map(|s| s.saturating_mul(1_000_000));
        let thousandths = length.filter(|&l| l > 0).map(|l| most.by.saturating_mul(1_000) / l);
        let of = length.map_or(String::new(), |l| format!(" of {}", time(l)));
        let rule = match (most.by, thousandths) {
            (0, _) => ("mode-name-only", Area::Mode, Level::Risk),
            (_, Some(t)) if t < NOTHING => ("mode-name-only", Area::Mode, Level::Risk),
            (_, Some(t)) if t < WHOLE => ("mode-partial", Area::Mode, Level::Risk),
            _ => ("mode-hardware", Area::Mode, Level::Note),
        };
        let words = match most.by {
            0 => {
                let side = match deepest {
                    Some(d) if depth(d.name) >= 10 => format!(
                        ", while the package was in C10 for {}: what keeps the platform awake is outside the processor",
                        time(d.by)
                    ),
                    Some(d) => format!(
                        ", and the package went no deeper than C{}: what keeps it is on the processor's side",
                        depth(d.name)
                    ),
                    None => String::new(),
                };
                format!(
                    "The machine slept in name only: {} did not grow over a sleep{side}.{unknown}",
                    most.name
                )
            }
            by => format!(
                "Over the sleep {} grew by {}{of}: the platform reached its low-power state.",
                most.name,
                time(by)
            ),
        };
        let shown = evidence(&[most]);
        out.push(Finding::new(rule, Confidence::Certain).says(words).shown_by(shown));
        return;
    }
    let Some(d) = deepest else { return };
    let f = if depth(d.name) >= 8 {
        Finding::new(("mode-hardware", Area::Mode, Level::Note), Confidence::Certain)
            .says(format!("Asleep the package reached C{}: its counter grew by {} over the sleep. Of the platform itself the text shows no counter.", depth(d.name), time(d.by)))
    } else {
        Finding::new(("mode-name-only", Area::Mode, Level::Risk), Confidence::Likely)
            .says(format!("Asleep the package went no deeper than C{} ({}): no platform sleeps so. What kept it is not in the text.", depth(d.name), time(d.by)))
            .look(crate::rules::platform::CONSTRAINTS)
    };
    out.push(f.shown_by(evidence(&[d])));
}

/// What the package did awake.
fn awake(pairs: &[Pair<'_>], out: &mut Vec<Finding>) {
    let all: Vec<&Pair<'_>> =
        pairs.iter().filter(|p| !p.slept && p.of == Counts::Package && depth(p.name) > 0).collect();
    let Some(d) = all.iter().filter(|p| p.by > 0).max_by_key(|p| depth(p.name)) else { return };
    let known = all.iter().map(|p| depth(p.name)).max().unwrap_or(0);
    if depth(d.name) >= known {
        return;
    }
    let idle = d.seconds.map_or(String::new(), |s| format!(" (idle for {s} s)"));
    let f = Finding::new(("block-package", Area::Mode, Level::Note), Confidence::Certain)
        .says(format!("Awake{idle} the package goes no deeper than C{}, where its counter grew by {}; the states below it up to C{known} did not count. What keeps it, the text does not prove.", depth(d.name), time(d.by)))
        .look("ltr_show of pmc_core lists what devices ask for; a display that is on keeps many machines above C8.")
        .shown_by(d.lines.map(Evidence::from));
    out.push(f);
}

/// Counters of all package states that never counted.
fn never(case: &Case, out: &mut Vec<Finding>) {
    let all: Vec<(usize, &Item, &Count)> =
        case.night.counts().filter(|c| c.2.of == Counts::Package && depth(&c.2.name) > 0).collect();
    let states: Vec<u32> = all.iter().map(|c| depth(&c.2.name)).collect();
    if states.len() < 3 || all.iter().any(|c| c.2.value > 0) {
        return;
    }
    let system = case.night.counts().find(|c| c.2.of == Counts::System && c.2.value == 0);
    let also = system.map_or(String::new(), |s| format!(" So {} cannot count either.", s.2.name));
    let shallow = states.iter().min().copied().unwrap_or(0);
    let f = Finding::new(("mode-name-only", Area::Mode, Level::Risk), Confidence::Likely)
        .says(format!("The processor's package never idled: none of its states counted, not even C{shallow}.{also} What keeps it is on the processor's side (a busy CPU, graphics, a device that asks for a short latency), not a part of the platform that stays on; the text does not name it."))
        .look("Look at turbostat for a CPU that never idles, at ltr_show, and whether these counters work on this machine at all.")
        .shown_by(all.iter().map(|c| Evidence::from(c.1)).take(2))
        .shown_by(system.map(|s| Evidence::from(s.1)));
    out.retain(|f| f.id != "mode-not-counted");
    if !told_depth(out) {
        out.push(f);
    }
}

/// What one sleep counted: `last_hw_sleep`, AMD's tables.
fn last(case: &Case, out: &mut Vec<Finding>) {
    if told_depth(out) {
        return;
    }
    // Before the first sleep of a boot all of it is as empty.
    let slept = case.night.items.iter().any(|i| matches!(i.fact, Fact::Slept(_)))
        || case.attempts.iter().any(|a| a.mode != "deep" && a.mode != "hibernation");
    let counts = || case.night.counts().filter(|c| c.2.of == Counts::Last);
    let verdict = case.night.items.iter().rfind(|i| matches!(i.fact, Fact::Verdict { .. }));
    let deep = verdict.map(|v| matches!(v.fact, Fact::Verdict { deep: true }));
    let Some((_, item, c)) = counts().max_by_key(|c| c.2.value) else {
        if let (Some(v), Some(deep)) = (verdict, deep)
            && (deep || slept)
        {
            let f = if deep {
                Finding::new(("mode-hardware", Area::Mode, Level::Note), Confidence::Likely)
                    .says("The text says that the platform's deep sleep was reached.")
            } else {
                Finding::new(("mode-name-only", Area::Mode, Level::Risk), Confidence::Likely)
                    .says("The machine slept in name only, by the status that its power management unit gives.")
                    .look(crate::rules::platform::CONSTRAINTS)
            };
            out.push(f.shown_by([Evidence::from(v)]));
        }
        return;
    };
    let failed = verdict.filter(|_| deep == Some(false));
    let f = match (c.value, failed) {
        (0, _) if !slept => return,
        (0, Some(v)) => Finding::new(("mode-name-only", Area::Mode, Level::Risk), Confidence::Certain)
            .says("The machine slept in name only: its power management unit says that the last entry failed, and counted no time in it.")
            .look(crate::rules::platform::CONSTRAINTS)
            .shown_by([Evidence::from(v), Evidence::from(item)]),
        (0, None) => Finding::new(("mode-name-only", Area::Mode, Level::Risk), Confidence::Likely)
            .says(format!("The machine slept in name only, or this counter does not work here: {} is 0 after a sleep. What kept it is not in the text.", c.name))
            .look(crate::rules::platform::CONSTRAINTS)
            .shown_by([Evidence::from(item)]),
        (us, _) => Finding::new(("mode-hardware", Area::Mode, Level::Note), Confidence::Certain)
            .says(format!("The hardware slept: {} counted {}.", c.name, time(us)))
            .shown_by([Evidence::from(item)]),
    };
    out.push(f);
}

/// Power domains of Qualcomm's chips over a sleep.
fn domains(pairs: &[Pair<'_>], case: &Case, out: &mut Vec<Finding>) {
    let of = |p: &&Pair<'_>| p.of == Counts::Entries;
    let still: Vec<&Pair<'_>> = pairs.iter().filter(of).filter(|p| p.by == 0).collect();
    let moved: Vec<&Pair<'_>> = pairs.iter().filter(of).filter(|p| p.by > 0).collect();
    let list = |l: &[&Pair<'_>]| l.iter().map(|p| p.name).collect::<Vec<_>>().join(", ");
    if still.is_empty() && moved.is_empty() {
        let zero: Vec<(usize, &Item, &Count)> =
            case.night.counts().filter(|c| c.2.of == Counts::Entries).collect();
        type Read<'a> = (usize, &'a Item, &'a Count);
        let (none, some): (Vec<Read<'_>>, Vec<Read<'_>>) =
            zero.into_iter().partition(|c| c.2.value == 0);
        if none.is_empty() || told_depth(out) {
            if let Some(c) = some.first() {
                out.push(
                    Finding::new(("block-domain", Area::Mode, Level::Note), Confidence::Certain)
                        .says(format!(
                            "These power domains entered their sleep since the start: {}.",
                            some.iter()
                                .map(|c| format!(
                                    "{} ({} times)",
                                    c.2.name,
                                    say::grouped(c.2.value)
                                ))
                                .collect::<Vec<_>>()
                                .join(", ")
                        ))
                        .shown_by([Evidence::from(c.1)]),
                );
            }
            return;
        }
        let names: Vec<&str> = none.iter().map(|c| c.2.name.as_str()).collect();
        out.push(Finding::new(("block-domain", Area::Mode, Level::Risk), Confidence::Likely)
            .says(format!("These power domains never entered their sleep since the start: {}. What votes against them is not in the text.", names.join(", ")))
            .look("Compare the counts before and after a sleep; regulators, interconnects and clocks that stay on vote against cxsd and aosd.")
            .shown_by(none.iter().take(3).map(|c| Evidence::from(c.1))));
        return;
    }
    let rule = if still.is_empty() {
        ("block-domain", Area::Mode, Level::Note)
    } else {
        ("block-domain", Area::Mode, Level::Risk)
    };
    let words = match (still.is_empty(), moved.is_empty()) {
        (true, _) => format!(
            "Between the two readings these power domains entered their sleep: {}.",
            list(&moved)
        ),
        (false, true) => format!(
            "Between the two readings no power domain entered its sleep ({}).",
            list(&still)
        ),
        (false, false) => format!(
            "Between the two readings {} entered sleep and {} did not.",
            list(&moved),
            list(&still)
        ),
    };
    let shown = still.iter().chain(&moved).take(3).flat_map(|p| p.lines.map(Evidence::from));
    out.push(Finding::new(rule, Confidence::Certain).says(words).shown_by(shown));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::night::Night;

    fn count(name: &str, of: Counts, value: u64) -> Fact {
        Fact::Count(Count { name: name.into(), of, value })
    }

    fn judged(facts: Vec<Fact>) -> Vec<Finding> {
        let items = (1..)
            .zip(facts)
            .map(|(line, fact)| Item { line, text: format!("line {line}"), fact })
            .collect();
        let mut out = Vec::new();
        judge(&Case { night: Night { items }, ..Case::default() }, &mut out);
        out
    }

    #[test]
    fn a_counter_over_a_sleep_tells_its_depth() {
        let s0 = |v| count("slp_s0_residency_usec", Counts::System, v);
        let ids = |f: Vec<Fact>| judged(f).iter().map(|f| f.id).collect::<Vec<_>>();
        assert_eq!(ids(vec![s0(5), Fact::Slept(Some(60)), s0(58_000_005)]), ["mode-hardware"]);
        assert_eq!(ids(vec![s0(5), Fact::Slept(Some(60)), s0(20_000_005)]), ["mode-partial"]);
        assert_eq!(ids(vec![s0(5), Fact::Slept(None), s0(5)]), ["mode-name-only"]);
        assert!(ids(vec![s0(5), s0(5)]).is_empty(), "nobody says that it slept");
        assert!(ids(vec![s0(5), Fact::Slept(None), s0(0)]).is_empty(), "started anew");
    }

    #[test]
    fn the_package_awake_and_asleep_are_told_apart() {
        let p = |n: u32, v| count(&format!("Package C{n}"), Counts::Package, v);
        let found = judged(vec![
            p(3, 1),
            p(10, 0),
            Fact::Idled(40),
            p(3, 900),
            p(10, 0),
            Fact::Slept(None),
            p(3, 950),
            p(10, 80_000_000),
        ]);
        let ids: Vec<&str> = found.iter().map(|f| f.id).collect();
        assert_eq!(ids, ["mode-hardware", "block-package"]);
        assert!(found[1].sentence.contains("no deeper than C3"), "{}", found[1].sentence);
        let never = judged(vec![p(2, 0), p(3, 0), p(10, 0)]);
        assert!(never[0].sentence.contains("not even C2"));
    }
}
