//! What `dormouse tune` prints.

use super::numbers::us;
use super::predict::{NAME_WHAT_WAS, change, delay, other};
use super::wrapped::wrap;
use crate::text::safe;
use crate::wording::next::next;
use crate::wording::number::grouped;
use dormouse_idle::predict::Account;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// What is printed.
#[derive(Clone, Copy, Debug)]
pub struct Advice<'a> {
    /// The budget in words: `p99 60 us`, `12.00 W`.
    pub budget: &'a str,
    /// Governor now and then.
    pub governors: [&'a str; 2],
    /// What is limited or disabled then.
    pub setting: &'a str,
    /// Nothing has to change.
    pub stays: bool,
    /// The budget is met; with every wake-up foreseen; with none.
    pub met: [bool; 3],
    /// The model of now, and of then.
    pub accounts: [&'a Account; 2],
    /// Mean power of both, microwatts, if the power of states is known.
    pub power: Option<[i64; 2]>,
    /// Where power is from; none if it is assumed.
    pub power_from: Option<&'a str>,
    /// The model of now misses the recording by so many thousandths of idle time
    /// in a state.
    pub error: u64,
    /// Such a model is good enough.
    pub trusted: bool,
    /// Replays of a CPU.
    pub tried: usize,
    /// Not every set of disabled states was tried.
    pub some_masks: bool,
    /// Files that were written.
    pub written: &'a [String],
    /// The command line again.
    pub again: &'a str,
    /// What needs a restart was tried too.
    pub boot: bool,
    /// The setting is tried on this machine next, so no command is named.
    pub tries: bool,
    /// The input as it was typed.
    pub input: &'a str,
    /// Options that say how it was recorded, each behind a blank.
    pub present: &'a str,
}

/// The page.
pub fn text(a: &Advice) -> String {
    let [now, then] = a.accounts;
    let mut out = String::new();
    let from_to = if a.governors[0] == a.governors[1] {
        String::new()
    } else {
        format!("governor {} instead of {}, ", a.governors[1], a.governors[0])
    };
    let cost = change(now.energy, then.energy);
    let p99 = format!("p99 {} -> {} us", delay(now, 990), delay(then, 990));
    let set = format!("{from_to}{}", a.setting);
    if !a.trusted {
        out += &wrap(&format!(
            "Cannot tune: the model of now misses the recording by {}.{} points of idle time.",
            a.error / 10,
            a.error % 10
        ));
    } else if !a.met[0] {
        out += &wrap(&format!(
            "Not possible: no setting meets {}. The nearest is {set}: {p99}, energy {cost}.",
            a.budget
        ));
    } else if a.stays {
        out += &wrap(&format!("Change nothing: {} is met at least energy as it is.", a.budget));
    } else {
        out += &wrap(&format!("Set {set}: {p99}, energy {cost}."));
    }
    out += &wrap(&format!(
        "Wake-ups replayed under {} settings of a CPU{}; the model of now misses the recording by \
         at most {}.{} points of idle time in a state.",
        grouped(a.tried as u64),
        if a.some_masks {
            ", not every set of disabled states among them"
        } else {
            ", all there are"
        },
        a.error / 10,
        a.error % 10
    ));
    if a.trusted && a.met[0] {
        out += &wrap(match (a.met[1], a.met[2]) {
            (true, true) => {
                "The budget is met whether the governor foresees every wake-up or none."
            }
            (false, true) => {
                "Caution: the budget is missed if the governor foresees every wake-up."
            }
            (true, false) => "Caution: the budget is missed if the governor foresees no wake-up.",
            (false, false) => {
                "Caution: the budget is missed at both bounds of what the governor may foresee."
            }
        });
    }
    let _ = writeln!(out, "\n{:<26}{:>12}{:>12}", "", "now", "then");
    let mut row = |title: &str, f: &dyn Fn(&Account) -> String| {
        let _ = writeln!(out, "{title:<26}{:>12}{:>12}", f(now), f(then));
    };
    for (title, per_mille) in [
        ("wake-up delay p50, us", 500),
        ("wake-up delay p99, us", 990),
        ("wake-up delay p99.9, us", 999),
        ("wake-up delay longest, us", 1_000),
    ] {
        row(title, &|a| a.delay(per_mille).map_or("-".into(), us));
    }
    row("too deep", &|a| grouped(a.too_deep));
    row("too shallow", &|a| grouped(a.too_shallow));
    row("ended by the tick", &|a| grouped(a.ticks));
    row("energy", &|a| change(now.energy, a.energy));
    if let Some([was, is]) = a.power {
        let _ = writeln!(out, "{:<26}{:>12}{:>12}", "mean power, W", watts(was), watts(is));
    }
    out += &wrap(&match a.power_from {
        Some(from) => format!("Power is as given ({}).", safe(from)),
        None => "Power is assumed: equal steps from the shallowest state to none in the deepest; \
                 give --watts for real figures."
            .into(),
    });
    for path in a.written {
        let _ = writeln!(out, "Wrote {}.", safe(path));
    }
    if !a.trusted {
        out += &wrap(NAME_WHAT_WAS);
    } else if !a.written.is_empty() {
        out += &wrap("Install one of the files, and compare dumps of before and after.");
    }
    if a.tries {
        return out;
    }
    out.push('\n');
    out + &next(&match (a.trusted, a.met[0], a.stays, a.written.is_empty()) {
        (false, ..) => format!("{} --from-governor {}", a.again, other(a.governors[0])),
        (_, false, ..) if !a.boot => format!("{} --boot", a.again),
        (_, false, ..) => format!("predict {}{} --sweep limit", a.input, a.present),
        (_, _, true, _) => format!("show --only idle {}", a.input),
        (_, _, _, true) => format!("{} -o changes/", a.again),
        _ => "show --only idle before.txt after.txt".into(),
    })
}

/// Microwatts as watts with two places.
pub fn watts(uw: i64) -> String {
    let hundredths = (uw.max(0) + 5_000) / 10_000;
    format!("{}.{:02}", grouped((hundredths / 100).unsigned_abs()), hundredths % 100)
}

/// The same for programs.
pub fn json(a: &Advice) -> Value {
    let given = a.power_from.is_some();
    let side = |i: usize| {
        let x = a.accounts[i];
        json!({
            "governor": a.governors[i],
            "delay_ns": super::json::delays(x),
            "too_deep": x.too_deep,
            "too_shallow": x.too_shallow,
            "ended_by_tick": x.ticks,
            "energy": super::json::energy(given, x.energy),
            "mean_power_uw": a.power.map(|p| p[i]),
        })
    };
    json!({
        "budget": a.budget,
        "trusted": a.trusted,
        "model_error_thousandths": a.error,
        "met": a.met[0],
        "met_if_all_foreseen": a.met[1],
        "met_if_none_foreseen": a.met[2],
        "changed": !a.stays,
        "setting": a.setting,
        "settings_tried": a.tried,
        "all_sets_of_states_tried": !a.some_masks,
        "energy_unit": if given { "nJ" } else { "ns of the shallowest state" },
        "power_from": a.power_from,
        "now": side(0),
        "then": side(1),
        "files": a.written,
    })
}
