//! How idle states were used, where the input does not say whether that was right.

use super::numbers::percent;
use crate::text::safe;
use crate::wording::number::grouped;
use dormouse_base::say;
use dormouse_idle::section::{Row, Section, totals};

/// So many states are named.
const NAMED: usize = 4;

/// `C6`, `state 2`.
pub(super) fn name(r: &Row) -> String {
    match &r.name {
        Some(n) => safe(n).into_owned(),
        None => format!("state {}", r.state),
    }
}

/// The first line of a table that tells no fault. `listed`: its states are those that the kernel
/// lists, and not those alone that a trace met.
pub(super) fn text(sections: &[Section], listed: bool) -> String {
    let all = totals(sections);
    let most = sections.iter().flat_map(|s| &s.states).max_by_key(|r| r.time_ns);
    let lacks = sections.iter().find(|s| !s.has_all_times());
    let lacks = lacks.and_then(|s| s.states.iter().find(|r| r.time_ns.is_none()));
    let one = matches!(sections, [s] if s.cpus.len() == 1);
    let (cpus, its) = if one { ("the CPU", "its") } else { ("CPUs", "their") };
    // The text may be cut, so that this is no word on what the CPU can.
    let polls = sections.iter().all(|s| s.only_polls().is_some()) && listed;
    if let Some(row) = sections.first().filter(|_| polls).and_then(Section::only_polls) {
        return format!(
            "The text lists no idle state but {}, which polls: in it a CPU stays awake in a loop.",
            name(row)
        );
    }
    match most.filter(|r| r.time_ns > Some(0)) {
        Some(_) if let Some(r) = lacks.filter(|r| r.sleeps.is_none()) => format!(
            "How often {} was entered, and for how long, this input does not say: no share of time is told.",
            name(r)
        ),
        Some(_) if let Some(r) = lacks => format!(
            "{} was entered {} times, and for how long this input does not say: no share of time is told.",
            name(r),
            grouped(r.sleeps.unwrap_or(0))
        ),
        Some(r) if listed && sections.iter().any(Section::lacks_lower) => format!(
            "Of the states that the text shows, {cpus} used {} for the longest time{}. States of a lower number are not there: no share of idle time is told.",
            name(r),
            seldom(sections)
        ),
        Some(r) => format!(
            "{} spent {} of {its} idle time in {}; whether that was right this input does not say.",
            say::capital(cpus),
            percent(r.time_ns.unwrap_or(0), all.time),
            name(r)
        ),
        None => entered(sections).or_else(|| some(sections)).unwrap_or_else(|| {
            "This input says which idle states there are, and not how they were used.".into()
        }),
    }
}

/// Deeper states of a table that were never entered, and how often the deepest was.
fn seldom(sections: &[Section]) -> String {
    let [s] = sections else { return String::new() };
    let never = never(s);
    match s.states.last().and_then(|r| Some((r, r.sleeps?))) {
        Some((r, n)) if n > 0 && s.states.len() > 1 => {
            let times = if n == 1 { "once".into() } else { format!("{} times", grouped(n)) };
            let who = if s.cpus.len() == 1 { "it" } else { "they" };
            format!("; {who} entered {} {times}{}", name(r), never_words(&never))
        }
        _ => never_words(&never),
    }
}

fn never_words(never: &[String]) -> String {
    match never {
        [] => String::new(),
        [..] => format!("; never entered: {}", say::names(never)),
    }
}

/// States of a table that no CPU entered.
fn never(s: &Section) -> Vec<String> {
    s.states.iter().filter(|r| r.sleeps == Some(0)).take(NAMED).map(name).collect()
}

/// A table that counts how often states were entered, and not for how long.
fn entered(sections: &[Section]) -> Option<String> {
    let [s] = sections else { return None };
    let counts: Option<Vec<u64>> = s.states.iter().map(|r| r.sleeps).collect();
    let counts = counts.filter(|c| c.len() > 1)?;
    let sum = counts.iter().fold(0u64, |sum, n| sum.saturating_add(*n));
    let (deepest, times) = (s.states.last()?, *counts.last()?);
    let (most, often) = s.states.iter().zip(&counts).max_by_key(|x| *x.1)?;
    if sum == 0 {
        return None;
    }
    let shown = if s.lacks_lower() { " of those shown" } else { "" };
    let deepest = format!("{}, the deepest state{shown}, was", name(deepest));
    let how_long = "For how long this input does not say.";
    Some(match times {
        0 => format!(
            "{deepest} never entered; {} was {} of {} times. {how_long}",
            name(most),
            grouped(*often),
            grouped(sum)
        ),
        n => format!(
            "{deepest} entered {} of {} times{}. {how_long}",
            grouped(n),
            grouped(sum),
            never_words(&never(s))
        ),
    })
}

/// A table that counts how often some of its states were entered.
fn some(sections: &[Section]) -> Option<String> {
    let [s] = sections else { return None };
    let counted = s.states.iter().filter_map(|r| Some((r, r.sleeps?)));
    let one = |(r, n): (&Row, u64)| match n {
        0 => format!("{} was never entered", name(r)),
        n => format!("{} was entered {} times", name(r), grouped(n)),
    };
    let all: Vec<String> = counted.take(NAMED).map(one).collect();
    let others = match s.states.iter().any(|r| r.sleeps.is_none()) {
        true => "; how often the other states were, and for how long, this input does not say.",
        false => "; for how long this input does not say.",
    };
    (!all.is_empty()).then(|| say::names(&all) + others)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(first: u32, states: &[(&str, u64, Option<u64>)]) -> Section {
        let row = |(i, (name, sleeps, time)): (u32, &(&str, u64, Option<u64>))| Row {
            state: i,
            name: Some((*name).into()),
            sleeps: Some(*sleeps),
            time_ns: *time,
            ..Row::default()
        };
        let states = (first..).zip(states).map(row).collect();
        Section { cpus: vec![3], states, doubts: Vec::new() }
    }

    #[test]
    fn a_count_of_one_state_is_told() {
        let mut s = section(0, &[("nap", 0, None), ("deep", 4_100, None)]);
        s.states[0].sleeps = None;
        assert_eq!(
            text(&[s], true),
            "deep was entered 4,100 times; how often the other states were, and for how long, this input does not say."
        );
    }

    #[test]
    fn a_state_that_polls_is_no_sleep() {
        let one = section(0, &[("snooze", 60, Some(900))]);
        assert_eq!(
            text(&[one], true),
            "The text lists no idle state but snooze, which polls: in it a CPU stays awake in a loop."
        );
    }

    #[test]
    fn shares_need_all_states_and_counts_are_no_times() {
        let whole =
            section(0, &[("POLL", 4, Some(0)), ("C1", 60, Some(900)), ("C9", 7, Some(100))]);
        assert_eq!(
            text(&[whole], true),
            "The CPU spent 90 % of its idle time in C1; whether that was right this input does not say."
        );
        let part = section(2, &[("C6", 60, Some(900)), ("C7", 0, Some(0)), ("C9", 7, Some(10))]);
        assert_eq!(
            text(&[part], true),
            "Of the states that the text shows, the CPU used C6 for the longest time; it entered C9 7 times; never entered: C7. States of a lower number are not there: no share of idle time is told."
        );
        let counted =
            section(0, &[("WFI", 900, None), ("core-off", 0, None), ("all-off", 4, None)]);
        assert_eq!(
            text(&[counted], true),
            "all-off, the deepest state, was entered 4 of 904 times; never entered: core-off. For how long this input does not say."
        );
        let never = section(0, &[("WFI", 900, None), ("core-off", 3, None), ("all-off", 0, None)]);
        assert!(
            text(&[never], true)
                .starts_with("all-off, the deepest state, was never entered; WFI was 900 of 903")
        );
    }
}
