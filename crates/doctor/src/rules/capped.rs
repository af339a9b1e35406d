//! Clocks of CPUs that a text shows, and whether somebody holds them: the files of cpufreq
//! (drivers/cpufreq/cpufreq.c, 6.12), and what `cpupower frequency-info` prints of them
//! (tools/power/cpupower/utils/cpufreq-info.c). They are no part of a sleep, and without a word of
//! them the answer would be that nothing is wrong.

use crate::case::Case;
use crate::finding::{Area, Confidence, Evidence, Finding, Level};
use crate::message::Message;
use dormouse_base::say;
use std::collections::BTreeMap;

/// Clocks of one CPU, in kHz: what hardware can do, and what it may do now.
#[derive(Default)]
struct Clocks {
    cpu: String,
    hardware: [Option<u64>; 2],
    allowed: [Option<u64>; 2],
    boost: Option<bool>,
    shown: Vec<Evidence>,
}

impl Clocks {
    fn of(cpu: &str) -> Clocks {
        Clocks { cpu: cpu.into(), ..Clocks::default() }
    }

    fn any(&self) -> bool {
        self.allowed[1].is_some()
    }
}

/// So many CPUs are looked through for one that was shown before.
const FEW: usize = 1_024;

/// `800 MHz`, `4.79 GHz`, in kHz.
fn khz(text: &str) -> Option<u64> {
    let mut words = text.split_whitespace();
    let (number, unit) = (words.next()?, words.next()?);
    let unit = match unit.trim_end_matches(['.', ',']) {
        "kHz" => 1.0,
        "MHz" => 1e3,
        "GHz" => 1e6,
        _ => return None,
    };
    number.parse::<f64>().ok().filter(|n| *n >= 0.0).map(|n| (n * unit).round() as u64)
}

fn mhz(khz: u64) -> String {
    format!("{} MHz", say::grouped(khz.saturating_add(500) / 1_000))
}

/// `hardware limits: A - B`, `… should be within A and B.`
fn range(text: &str, between: &str) -> [Option<u64>; 2] {
    let (a, b) = text.split_once(between).unwrap_or((text, ""));
    [khz(a), khz(b)]
}

/// Tables of `cpupower frequency-info`.
fn tables(case: &Case) -> Vec<Clocks> {
    let mut out: Vec<Clocks> = Vec::new();
    let words = ["analyzing CPU ", "hardware limits: ", "frequency should be within ", "Active: "];
    for (_, m) in case.messages.having_any(&words) {
        let after = |word: &str| m.after(word).map(str::trim);
        if let Some(cpu) = after("analyzing CPU ") {
            let cpu = format!("CPU {}", cpu.trim_end_matches(':'));
            // Of a CPU that is shown once more the last table counts.
            let known = out.iter().take(FEW).position(|c| c.cpu == cpu);
            if let Some(at) = known {
                out.remove(at);
            }
            out.push(Clocks::of(&cpu));
            continue;
        }
        let Some(of) = out.last_mut() else { continue };
        if let Some(limits) = after("hardware limits: ") {
            of.hardware = range(limits, " - ");
        } else if let Some(limits) = after("frequency should be within ") {
            of.allowed = range(limits, " and ");
        } else if let Some(boost @ ("yes" | "no")) = after("Active: ") {
            of.boost = Some(boost == "yes");
        } else {
            continue;
        }
        of.shown.push(shown(m));
    }
    out
}

/// A table is the program's, whoever posts it.
fn shown(m: &Message) -> Evidence {
    Evidence { doubtful: false, ..Evidence::from(m) }
}

/// Files of sysfs.
fn files(case: &Case) -> Vec<Clocks> {
    let mut out: Vec<Clocks> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for v in case.values.iter().filter(|v| v.path.contains("/cpufreq")) {
        let Some(khz) = v.count() else { continue };
        // `cpufreq/policy4/scaling_max_freq`, `cpu4/cpufreq/scaling_max_freq`.
        let mut folders = v.folder().rsplit('/').filter(|f| *f != "cpufreq");
        let Some(cpu) = folders.next() else { continue };
        let number = cpu.trim_start_matches("policy").trim_start_matches("cpu");
        let cpu = format!("CPU {number}");
        let at = *places.entry(cpu).or_insert_with_key(|cpu| {
            out.push(Clocks::of(cpu));
            out.len() - 1
        });
        let of = &mut out[at];
        let place = match v.name() {
            "cpuinfo_min_freq" => &mut of.hardware[0],
            "cpuinfo_max_freq" => &mut of.hardware[1],
            "scaling_min_freq" => &mut of.allowed[0],
            "scaling_max_freq" => &mut of.allowed[1],
            _ => continue,
        };
        *place = Some(khz);
        let text = format!("{}: {}", v.path, v.value);
        of.shown.push(Evidence { line: v.line, text, ..Evidence::default() });
    }
    out
}

/// What a clock may do is less than half of what hardware can, or it may not change at all below
/// that.
fn held(of: &Clocks) -> bool {
    let (Some(can), [least, Some(may)]) = (of.hardware[1], of.allowed) else { return false };
    // A hundredth less is how dividers round.
    let below = may < can - can / 100;
    may.saturating_mul(2) < can || below && least == Some(may)
}

/// What is said of CPUs that are alike: who, and their clocks.
fn words(of: &Clocks, others: usize) -> String {
    let who = match others {
        0 => of.cpu.clone(),
        n => format!("{} and {}", of.cpu, say::plural(n, "other")),
    };
    let boost = match of.boost {
        Some(false) => " Boost is off.",
        _ => "",
    };
    let (least, most) = (of.allowed[0], of.allowed[1].unwrap_or(0));
    let can = of.hardware[1];
    match can.filter(|_| held(of)) {
        Some(can) if least == Some(most) => format!(
            "The clock of {who} is held at {} of {}: the least and the most that is allowed are the \
             same.{boost}",
            mhz(most),
            mhz(can)
        ),
        Some(can) => {
            format!("The clock of {who} may go up to {} of {} alone.{boost}", mhz(most), mhz(can))
        }
        None if least == Some(most) => {
            let why = match of.hardware {
                [a, Some(b)] if a == Some(b) => ", which is all that its driver offers",
                _ => "",
            };
            format!("The clock of {who} is held at {}{why}.{boost}", mhz(most))
        }
        None => {
            let from = least.map_or("up".into(), |least| format!("at {}", mhz(least)));
            format!(
                "The text shows clocks of CPUs, which are no sleep: {who} may run {from} to {}. \
                 Nothing in these values caps it.{boost}",
                mhz(most)
            )
        }
    }
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let mut all = tables(case);
    all.extend(files(case));
    all.retain(Clocks::any);
    let Some(first) = all.iter().find(|c| held(c)).or(all.first()) else { return };
    let caps = held(first);
    // Beside a sleep, or what is wrong by another rule, clocks that are as they should be are no
    // news.
    let alone = case.attempts.is_empty() && out.is_empty();
    if !caps && !alone {
        return;
    }
    let alike = |c: &&Clocks| c.allowed == first.allowed && c.hardware == first.hardware;
    let others = all.iter().filter(alike).count() - 1;
    let level = if caps { Level::Risk } else { Level::Note };
    let f = Finding::new(("clock-capped", Area::Clock, level), Confidence::Certain)
        .says(words(first, others))
        .shown_by(first.shown.iter().take(4).cloned());
    out.push(match caps {
        true => f.look("Who holds it, the values do not say: a power profile (powerprofilesctl), a thermal or power limit, firmware, or somebody's scaling_max_freq. turbostat shows what clocks do under load."),
        false => f.look("Whether hardware follows, turbostat shows under load (Bzy_MHz): limits of heat, power and firmware (PROCHOT) stand in none of these files."),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;

    fn table(limits: &str, policy: &str) -> Option<(Level, String)> {
        let text = format!(
            "analyzing CPU 5:\n  hardware limits: {limits}\n  current policy: frequency should be within {policy}.\n  boost state support:\n    Supported: yes\n    Active: no\n"
        );
        let mut out = Vec::new();
        judge(&Case::of_prose(&text), &mut out);
        out.pop().map(|f| (f.level, f.sentence))
    }

    #[test]
    fn a_cap_is_told_and_clocks_without_one_are_no_all_clear() {
        let (level, said) = table("600 MHz - 4.20 GHz", "600 MHz and 1.30 GHz").expect("a cap");
        assert_eq!(level, Level::Risk);
        assert_eq!(
            said,
            "The clock of CPU 5 may go up to 1,300 MHz of 4,200 MHz alone. Boost is off."
        );
        let (level, said) = table("600 MHz - 4.20 GHz", "2.60 GHz and 2.60 GHz").expect("a cap");
        assert_eq!(level, Level::Risk);
        assert!(said.contains("held at 2,600 MHz of 4,200 MHz: the least and the most"), "{said}");
        let (level, said) = table("600 MHz - 4.20 GHz", "600 MHz and 4.20 GHz").expect("a note");
        assert_eq!(level, Level::Note);
        assert!(said.contains("no sleep: CPU 5 may run at 600 MHz to 4,200 MHz"), "{said}");
        let (_, said) = table("900 MHz - 900 MHz", "900 MHz and 900 MHz").expect("a note");
        assert!(said.contains("held at 900 MHz, which is all that its driver offers"), "{said}");
    }

    #[test]
    fn a_cap_that_is_lifted_is_none_and_boost_is_what_its_table_says() {
        let table = |policy: &str, behind: &str| {
            format!(
                "analyzing CPU 5:\n  hardware limits: 600 MHz - 4.20 GHz\n  current policy: \
                 frequency should be within {policy}.\n{behind}"
            )
        };
        let said = |text: &str| {
            let mut out = Vec::new();
            judge(&Case::of_prose(text), &mut out);
            out.pop().map_or(String::new(), |f| f.sentence)
        };
        let (low, high) = ("600 MHz and 1.30 GHz", "600 MHz and 4.20 GHz");
        let lifted = said(&(table(low, "") + &table(high, "")));
        assert!(lifted.contains("Nothing in these values caps it"), "{lifted}");
        let unit = said(&table(high, "$ systemctl status elm.target\nActive: inactive (dead)\n"));
        assert!(unit.ends_with("caps it."), "{unit}");
    }

    #[test]
    fn files_of_sysfs_say_the_same() {
        let file = |name: &str, value: &str| Value {
            line: 3,
            path: format!("/sys/devices/system/cpu/cpufreq/policy2/{name}"),
            value: value.into(),
        };
        let values = vec![
            file("cpuinfo_max_freq", "3300000"),
            file("scaling_min_freq", "600000"),
            file("scaling_max_freq", "600000"),
        ];
        let mut out = Vec::new();
        judge(&Case { values, ..Case::default() }, &mut out);
        assert!(out[0].sentence.starts_with("The clock of CPU 2 is held at 600 MHz of 3,300 MHz"));
    }
}
