//! What a drive counted over its life, as smartctl and nvme print it: heads that park all day
//! long, and power that went away without a word.
//!
//! Parking is the drive's own power saving: after some seconds without a request the heads leave
//! the platters (ACS-3, advanced power management, levels below 128; some vendors have a timer
//! of their own). Data sheets allow 300,000 to 600,000 of that in a drive's life.

use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::Message;
use dormouse_base::say::grouped;

/// Attributes of ATA (smartctl -A) by number and by how their names go on.
const LOADS: (&str, &str) = ("193", "Load_Cycle_Count");
const HOURS: (&str, &str) = ("9", "Power_On_Hours");

/// Columns of `smartctl -A`.
const ATA: usize = 10;

/// Parks in an hour from which on they are told, and from which on they wear the drive out
/// within five years of use.
const OFTEN: u64 = 20;
const WEARS: u64 = 60;

/// What data sheets allow at least.
const ALLOWED: u64 = 300_000;

/// So many losses of power are no accident.
const LOST: u64 = 10;

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    out.extend(parks(case));
    out.extend(cut_off(case));
}

/// The raw value of an attribute of ATA: `193 Load_Cycle_Count 0x0032 001 001 000 Old_age Always
/// - 812345`; hours may go on (`9123h+45m`). Programs that ask smartctl write the name and the
/// value alone: `Load_Cycle_Count=812345`, `| 193 | Load_Cycle_Count | 812345 |`.
fn attribute<'a>(case: &'a Case, (number, name): (&str, &str)) -> Option<(u64, &'a Message)> {
    let mut rows = case.messages.having(name).filter_map(|(i, m)| {
        let mut words: Vec<&str> = m.text.split_whitespace().filter(|w| *w != "|").collect();
        // A mail may have broken the row before its last columns.
        if words.len() < ATA
            && words.last().is_some_and(|w| matches!(*w, "Always" | "Offline" | "-"))
        {
            let next = case.messages.get(i + 1).filter(|n| n.line == m.line + 1);
            words.extend(next.map_or("", |n| n.text.as_str()).split_whitespace());
        }
        if let Some(raw) = words.iter().find_map(|w| w.trim_start_matches('|').strip_prefix(name)) {
            let equal = raw.strip_prefix('=').map(|r| r.trim_end_matches([',', ';', '|']));
            if let Some(n) = equal.and_then(|r| r.parse().ok()) {
                return Some((n, m));
            }
        }
        let at = words.iter().position(|w| w.starts_with(name))?;
        // The number may have been taken for a time.
        let numbered = at == 0 || words[at - 1] == number;
        if let ([raw], true) = (&words[at + 1..], numbered) {
            return Some((raw.replace(',', "").parse().ok()?, m));
        }
        let raw = words.get(at + 8)?;
        let digits = raw.find(|c: char| !c.is_ascii_digit()).unwrap_or(raw.len());
        let flag = words.get(at + 1).is_some_and(|w| w.starts_with("0x"));
        (numbered && flag).then(|| raw[..digits].parse().ok()).flatten().map(|n: u64| (n, m))
    });
    // Of two drives nobody knows which hours are whose.
    rows.next().filter(|first| rows.all(|r| r.0 == first.0))
}

fn parks(case: &Case) -> Option<Finding> {
    let (loads, shown) = attribute(case, LOADS)?;
    let Some((hours, of)) = attribute(case, HOURS).filter(|h| h.0 > 0) else {
        return alone(case, loads, shown);
    };
    let rate = loads / hours;
    if rate < OFTEN {
        return None;
    }
    let level = if rate >= WEARS || loads >= ALLOWED { Level::Risk } else { Level::Note };
    let every = hours.saturating_mul(3_600) / loads.max(1);
    Some(
        Finding::new(("disk-parks", Area::Storage, level), Confidence::Certain)
            .says(format!(
                "The disk parked its heads {} times in {} hours: once in {every} s.",
                grouped(loads),
                grouped(hours)
            ))
            .because(format!(
                "It is the drive's own power saving after seconds without a request; something \
                 wakes it again each time. Data sheets allow {} to 600,000 of that.",
                grouped(ALLOWED)
            ))
            .look(
                "hdparm -B shows the level of its power management: below 128 it may park and \
                 stop (hdparm -B 254 lets it do neither; it comes back at the next power-on). \
                 Some drives have a timer of their own in place of it.",
            )
            .shown_by(lines([shown].into_iter().chain((of.line != shown.line).then_some(of)))),
    )
}

/// Parks of a drive whose hours the text does not show: a number and no rate.
fn alone(case: &Case, loads: u64, shown: &Message) -> Option<Finding> {
    let hours = case.messages.has(HOURS.1);
    (loads >= ALLOWED && !hours).then(|| {
        Finding::new(("disk-parks", Area::Storage, Level::Note), Confidence::Certain)
            .says(format!(
                "The disk parked its heads {} times so far; data sheets allow {} to 600,000 in its life. How often that is in an hour the text does not show.",
                grouped(loads),
                grouped(ALLOWED)
            ))
            .look("Give attribute 9 (Power_On_Hours) beside it, or read both twice, an hour apart: smartctl -A.")
            .shown_by(lines([shown]))
    })
}

/// A count by its name, as smartctl (`Unsafe Shutdowns: 1,234`) or nvme (`unsafe_shutdowns : 12`)
/// prints it.
fn count<'a>(case: &'a Case, names: [&str; 2]) -> Option<(u64, &'a Message)> {
    let mut rows = case.messages.having_any(&names).filter_map(|(_, m)| {
        let (name, value) = m.text.split_once(":")?;
        let named = names.iter().any(|n| name.trim() == *n);
        let digits: String = value.trim().chars().filter(|c| !matches!(c, ',' | '.')).collect();
        named.then(|| digits.parse().ok()).flatten().map(|n: u64| (n, m))
    });
    rows.next().filter(|_| rows.next().is_none())
}

fn cut_off(case: &Case) -> Option<Finding> {
    let (lost, shown) = count(case, ["Unsafe Shutdowns", "unsafe_shutdowns"])?;
    let (cycles, of) = count(case, ["Power Cycles", "power_cycles"])?;
    if lost < LOST || lost.saturating_mul(2) < cycles {
        return None;
    }
    Some(
        Finding::new(("disk-cut-off", Area::Storage, Level::Note), Confidence::Guess)
            .says(format!(
                "The drive lost its power without a word {} times in {} power cycles.",
                grouped(lost),
                grouped(cycles)
            ))
            .because(
                "A sleep in which the firmware takes its power away counts so, and so does each \
                 power-off by the button. Which of them it was, the counters do not tell.",
            )
            .look(
                "Read the counter before and after one sleep: if it grew, the platform cuts the \
                 power of a drive that was only set to a low state (nvme.noacpi=1 decides \
                 between the two on firmware that asks for it).",
            )
            .shown_by(lines([shown, of])),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(&'static str, Level, String)> {
        let mut out = Vec::new();
        judge(&Case::of_prose(text), &mut out);
        out.into_iter().map(|f| (f.id, f.level, f.sentence)).collect()
    }

    fn ata(hours: &str, loads: &str) -> String {
        format!(
            "ID# ATTRIBUTE_NAME FLAG VALUE WORST THRESH TYPE UPDATED WHEN_FAILED RAW_VALUE\n  \
             9 Power_On_Hours 0x0032 090 090 000 Old_age Always - {hours}\n\
             193 Load_Cycle_Count 0x0032 001 001 000 Old_age Always - {loads}\n"
        )
    }

    #[test]
    fn heads_that_park_all_day_are_told_with_their_rate() {
        let all = found(&ata("9000h+12m+03.100s", "810000"));
        assert_eq!((all.len(), all[0].0, all[0].1), (1, "disk-parks", Level::Risk));
        assert!(all[0].2.contains("810,000 times in 9,000 hours: once in 40 s"), "{}", all[0].2);
        assert_eq!(found(&ata("9000", "270000"))[0].1, Level::Note);
        assert_eq!(found(&ata("9000", "9000")), []);
        assert_eq!(found(&ata(&u64::MAX.to_string(), "7")), []);
        let most = u64::MAX.to_string();
        assert_eq!(found(&ata("9000000000000000000", &most)), []);
        assert_eq!(found(&ata("100000000000000000", &most)).len(), 1);
        // Of two drives nothing is known, and without hours no rate.
        assert_eq!(found(&(ata("9000", "810000") + &ata("10", "20"))), []);
        let one = "193 Load_Cycle_Count 0x0032 001 001 000 Old_age Always - 810000\n";
        assert_eq!(
            (found(one)[0].1, found(&one.replace("810000", "8100")).len()),
            (Level::Note, 0)
        );
        // A mail broke the rows.
        let broken = ata("3000", "390000").replace("Always - ", "Always\n-  ");
        assert!(found(&broken)[0].2.contains("390,000 times in 3,000 hours"));
    }

    #[test]
    fn names_and_values_alone_are_read_too() {
        for text in [
            "WARN: drive elm: |Start_Stop_Count=9 Power_On_Hours=3000 Load_Cycle_Count=390000\n",
            "  9 Power_On_Hours 3000\n193 Load_Cycle_Count 390000\n",
            "| ID | Attribute | Raw |\n|---|---|---|\n| 9 | Power_On_Hours | 3000 |\n| 193 | Load_Cycle_Count | 390,000 |\n",
        ] {
            let all = found(text);
            assert!(
                all.first().is_some_and(|f| f.2.contains("390,000 times in 3,000 hours")),
                "{text} {all:?}"
            );
        }
        let two =
            "Power_On_Hours=3000 Load_Cycle_Count=390000\nPower_On_Hours=9 Load_Cycle_Count=3\n";
        assert_eq!(found(two), []);
    }

    #[test]
    fn power_that_goes_away_again_and_again_is_a_guess() {
        let smart = "Power Cycles:                       1,204\nUnsafe Shutdowns: 1,150\n";
        assert_eq!(found(smart)[0].0, "disk-cut-off");
        let nvme = "power_cycles\t: 95\nunsafe_shutdowns\t: 80\n";
        assert!(found(nvme)[0].2.contains("80 times in 95 power cycles"));
        assert_eq!(found("power_cycles : 9500\nunsafe_shutdowns : 80\n"), []);
    }
}
