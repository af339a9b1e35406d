//! What goes wrong with power while the machine runs, in the kernel's own words: regulators and
//! clocks that are switched off once too often, devices that do not wake from a sleep of their own.

use super::abort::owner;
use super::crash::reason;
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::Message;
use crate::refusal;
use crate::said::{has_errno, shows_sleep};
use crate::stage;
use crate::trouble::{Kind, Trouble, troubles};
use dormouse_base::say;

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    warned(case, out);
    failed(case, out);
}

/// What is counted, and was let go of more often than it was taken: the words before its name, those
/// behind it, and what that is (drivers/regulator/core.c:_regulator_disable,
/// drivers/clk/clk.c:clk_core_disable, clk_core_unprepare, 6.12).
const COUNTED: [(&str, &str, &str); 3] = [
    (
        "unbalanced disables for ",
        "",
        "The regulator NAME was disabled more often than it was enabled.",
    ),
    ("", " already disabled", "The clock NAME was disabled more often than it was enabled."),
    ("", " already unprepared", "The clock NAME was unprepared more often than it was prepared."),
];

/// What a warning says of a count, in words.
fn count(said: &str) -> Option<String> {
    let said = said.trim();
    COUNTED.iter().find_map(|(before, behind, words)| {
        let name = said.strip_prefix(before)?.strip_suffix(behind)?;
        let whole = !name.is_empty() && !name.contains(' ');
        whole.then(|| words.replace("NAME", name))
    })
}

/// The callback of runtime power management in which a warning stands: the outermost of those that
/// the core called (drivers/base/power/runtime.c:__rpm_callback, 3.2 to 7.3).
fn callback(t: &Trouble<'_>) -> Option<String> {
    let names = || t.frames.iter().map(|f| f.function.as_str());
    let core = names().position(|f| f.ends_with("rpm_callback"));
    let within = names().take(core.unwrap_or(usize::MAX));
    let mut all = within.filter(|f| stage::is_runtime(f) && !f.starts_with("pm_generic"));
    all.next().map(String::from)
}

/// A warning of such a count that no rule of sleeps told of.
fn warned(case: &Case, out: &mut Vec<Finding>) {
    let told = |t: &Trouble<'_>, out: &[Finding]| {
        let range = case.messages[t.at].line..=case.messages[t.end - 1].line;
        out.iter().flat_map(|f| &f.evidence).any(|e| range.contains(&e.line))
    };
    let of = |t: &Trouble<'_>| {
        let behind = || case.messages.get(t.at + 1);
        let said = reason(case, t).or_else(behind).and_then(|m| count(&m.text))?;
        Some((said, callback(t)))
    };
    let all = troubles(&case.messages);
    let warnings = all.iter().filter(|t| t.kind == Kind::Warning && !told(t, out));
    let mut known = warnings.filter_map(|t| Some((t, of(t)?)));
    let Some((t, (said, callback))) = known.next() else { return };
    let place = match (&callback, t.where_words()) {
        (Some(c), _) => format!(" in {c}, a callback of runtime power management"),
        (None, p) if p.is_empty() => p,
        (None, p) => format!(" {p}"),
    };
    let behind = case.messages.get(t.at + 1).filter(|m| count(&m.text).is_some());
    let own = reason(case, t).or(behind);
    let why = own.map_or(String::new(), |m| format!("It says: \"{}\"", m.text.trim()));
    out.push(
        Finding::new(("rpm-warning", Area::Rpm, Level::Risk), Confidence::Certain)
            .says(format!("The kernel warned{place}. {said}"))
            .because(why)
            .look("Somebody lets go of it once too often, or never took it: look for an error path, or a suspend without its resume, in the driver that the functions belong to.")
            .of_function(callback.as_deref().or(t.culprit().map(|f| f.function.as_str())))
            .times(1 + known.count())
            .shown_by(lines([&case.messages[t.at]].into_iter().chain(own))),
    );
}

/// Words of a device that goes to sleep or wakes.
const POWER: [&str; 5] = ["resume", "suspend", "awake", "wake up", "power up"];

/// What comes of it.
const FAILS: [&str; 4] = ["fail", "error", "timed out", "timeout"];

/// A device that says with an error number that it did not sleep or wake, in a text without any
/// line of a sleep: what it does at run time.
fn failed(case: &Case, out: &mut Vec<Finding>) {
    if shows_sleep(case) || !out.is_empty() {
        return;
    }
    let is = |m: &&Message| {
        let device = owner(&m.text);
        let said = m.text.split_once(": ").map_or("", |t| t.1).to_ascii_lowercase();
        let has = |list: &[&str]| list.iter().any(|w| said.contains(w));
        let named = !device.name.is_empty() && device.name.bytes().any(|b| b.is_ascii_digit());
        let core = refusal::of_device(&m.text).is_some() || m.has("PM: ");
        let clean = !m.text.starts_with("usb ") || !m.has("reset");
        m.trust.is_of_a_kernel()
            && named
            && clean
            && !core
            && has_errno(&m.text)
            && has(&POWER)
            && has(&FAILS)
    };
    let all: Vec<&Message> = case.messages.having_any(&POWER).map(|(_, m)| m).filter(is).collect();
    let Some(first) = all.first() else { return };
    let device = owner(&first.text);
    let of_it: Vec<&Message> = all.iter().filter(|m| owner(&m.text) == device).copied().collect();
    // What becomes of it (drivers/mmc/core/mmc.c:_mmc_resume, 6.12: a card that stays asleep).
    let anew = of_it.iter().find(|m| m.has("fallback to full init")).copied();
    let again = if anew.is_some() { " It is started anew." } else { "" };
    let first = anew.unwrap_or(first);
    out.push(
        Finding::new(("rpm-error", Area::Rpm, Level::Risk), Confidence::Likely)
            .says(format!(
                "{} says that it failed to change its power state{}: \"{}\".{again} The text has no line of a sleep: it may be of runtime power management.",
                say::device(&device),
                say::times(of_it.len()),
                first.text.trim()
            ))
            .look("Look whether it works afterwards. To try: echo on > power/control of the device, which keeps it from sleeping at run time.")
            .of_devices([device])
            .times(of_it.len())
            .shown_by(lines(of_it.into_iter().take(3))),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(lines: &[&str]) -> Option<(&'static str, String)> {
        let log: Vec<(i64, &str)> = (1..).map(|n| n * 10).zip(lines.iter().copied()).collect();
        let mut out = Vec::new();
        judge(&Case::of_log(&log), &mut out);
        out.pop().map(|f| (f.id, f.sentence))
    }

    #[test]
    fn a_warning_in_a_callback_of_runtime_power_management_is_told_with_what_was_counted() {
        let head = "WARNING: CPU: 1 PID: 77 at drivers/regulator/core.c:2900 _regulator_disable+0x14c/0x1f0";
        let frames = [" _regulator_disable+0x14c/0x1f0", " elm_runtime_suspend+0x20/0x40 [elm]"];
        let cut = "------------[ cut here ]------------";
        let said = "unbalanced disables for vdd_oak";
        // Behind the warning, or between the mark and it.
        for list in [[cut, head, said], [cut, said, head]] {
            let (id, words) = told(&[&list[..], &frames].concat()).expect("told");
            assert_eq!(id, "rpm-warning");
            assert!(words.contains("in elm_runtime_suspend, a callback of runtime"), "{words}");
            assert!(words.contains("The regulator vdd_oak was disabled more often"), "{words}");
        }
        let clock = "elm_bus_clk already disabled";
        let head = "WARNING: CPU: 1 PID: 77 at drivers/clk/clk.c:1100 clk_core_disable+0xa0/0xb0";
        let (_, words) =
            told(&[cut, clock, head, " clk_core_disable+0xa0/0xb0", " elm_stop+0x1/0x2 [elm]"])
                .expect("told");
        assert!(words.contains("The clock elm_bus_clk was disabled more often"), "{words}");
        let other = "WARNING: CPU: 1 PID: 77 at net/elm.c:9 elm_xmit+0xa0/0xb0";
        assert_eq!(told(&[cut, "elm: it is already disabled", other, " elm_xmit+0xa0/0xb0"]), None);
    }

    #[test]
    fn a_device_that_does_not_wake_at_run_time_is_told_and_other_errors_are_not() {
        let (id, words) = told(&[
            "mmc7: elm_test_awake: vex failed (-110)",
            "mmc7: _mmc_resume: awake failed (-110), fallback to full init",
        ])
        .expect("told");
        assert_eq!(id, "rpm-error");
        assert!(
            words.starts_with("mmc7 says that it failed") && words.contains("started anew"),
            "{words}"
        );
        assert!(told(&["mmc7: error -110 doing runtime resume"]).is_some());
        for other in [
            "mmc7: error -110 whilst initialising SD card",
            "mmc7: runtime resume is done",
            "elmd: resume of the session failed (-5)",
            "PM: suspend exit",
            "elm 7-1: can't suspend it now",
        ] {
            assert_eq!(told(&[other]), None, "{other}");
        }
    }
}
