//! A clock that the kernel stops to trust (kernel/time/clocksource.c:clocksource_watchdog,
//! arch/x86/kernel/tsc.c:mark_tsc_unstable, 3.15 to 7.3).

use super::silent::first_near;
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::Message;
use crate::stage::Stages;

const MARKED: [&str; 2] = ["Marking clocksource '", "Marking TSC unstable due to "];
const SWITCHED: &str = "Switched to clocksource ";

/// What such a line says why: nothing where the numbers behind it do.
fn why(m: &Message) -> Option<&str> {
    let (_, rest) = MARKED.iter().find_map(|w| m.text.split_once(w))?;
    let rest = rest.split_once("as unstable because ").map_or(rest, |(_, why)| why);
    Some(rest.trim().trim_end_matches([':', '!']))
}

/// The clock of such a line.
fn clock(m: &Message) -> &str {
    let named = m.text.split_once(MARKED[0]).and_then(|(_, rest)| rest.split('\'').next());
    named.unwrap_or("tsc")
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    // A guest that runs on another's clock has not lost its own (arch/x86/kernel/cpu/mshyperv.c).
    let own = |m: &Message| why(m).is_some_and(|w| !w.starts_with("running on "));
    let said = case.messages.having_any(&MARKED);
    let said: Vec<(usize, &Message)> =
        said.filter(|(_, m)| m.trust.is_of_a_kernel() && own(m)).collect();
    let Some(&(_, first)) = said.first() else { return };
    let stages = Stages::new(&case.messages);
    let Some((shown, place, before)) = first_near(case, &stages, &said) else { return };
    let near = place.is_near() && !before;
    let shown = if near { shown } else { first };
    // Idle states in which it stands still are how some processors are built.
    let built = why(shown).is_some_and(|w| w.contains("halts in idle"));
    let level = if near && !built { Level::Risk } else { Level::Note };
    let at = if near { place.words() } else { String::new() };
    let mut behind = case.messages.having(SWITCHED).map(|(_, m)| m);
    let now = behind.find(|m| m.line > shown.line && m.trust.is_of_a_kernel());
    let next = now.and_then(|m| m.after(SWITCHED)).map_or("", str::trim);
    let then = match next {
        "" => String::new(),
        name => format!(" Since line {} it reads {name}.", now.map_or(0, |m| m.line)),
    };
    let f = Finding::new(("clock-distrusted", Area::Clock, level), Confidence::Certain)
        .says(format!(
            "The kernel no longer trusts the clock {}{at}: \"{}\".{then}",
            clock(shown),
            why(shown).unwrap_or_default()
        ))
        .because("Each reading of another clock takes longer, and times from before and after that line may not fit each other.")
        .look("cat /sys/devices/system/clocksource/clocksource0/current_clocksource tells which one is read; firmware that changes the TSC over a sleep is its maker's to mend.")
        .shown_by(lines([shown].into_iter().chain(now)));
    out.push(if near { place.mark(f) } else { f });
}

#[cfg(test)]
mod tests {
    use super::super::beside;
    use super::*;

    fn told(before: &[&str], behind: &[&str]) -> Vec<(Level, String)> {
        let behind: Vec<(i64, &str)> = behind.iter().map(|l| (103_000, *l)).collect();
        beside::told(judge, before, &behind)
    }

    #[test]
    fn a_clock_is_distrusted_by_a_sleep_or_for_itself() {
        let skew = "clocksource: timekeeping watchdog on CPU2: Marking clocksource 'tsc' as unstable because the skew is too large:";
        let tsc = "tsc: Marking TSC unstable due to clocksource watchdog";
        let hpet = "clocksource: Switched to clocksource hpet";
        let found = told(&[], &[skew, tsc, hpet]);
        let [(level, said)] = &found[..] else { panic!("{found:?}") };
        assert_eq!(*level, Level::Risk);
        let words = "clock tsc, 1.0 s after the resume: \"the skew is too large\". Since line 5 it reads hpet.";
        assert!(said.contains(words), "{said}");
        for boot in [skew, tsc] {
            assert_eq!(told(&[boot], &[])[0].0, Level::Note, "{boot}");
        }
        assert_eq!(
            told(&[], &["tsc: Marking TSC unstable due to TSC halts in idle"])[0].0,
            Level::Note
        );
        assert!(told(&[], &[hpet]).is_empty());
        assert!(told(&["tsc: Marking TSC unstable due to running on Hyper-V"], &[]).is_empty());
    }
}
