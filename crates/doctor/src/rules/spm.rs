//! What the power manager of MediaTek's chips prints after each sleep: who woke it, how long it
//! was, and how deep (mtk_lpm and base/power/spm of the kernels that phones of it have): `[SPM] suspend wake up by R12_EINT_EVENT_B, timer_out = 1722381, … 26M_off_pct = 97`.

use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::message::Message;
use dormouse_base::say;
use dormouse_base::time::Ns;

/// A sleep, as the manager tells it.
pub(super) struct Spm<'a> {
    /// The sources that woke, such as `R12_EINT_EVENT_B`.
    pub(super) sources: &'a str,
    slept: Ns,
    /// Hundredths of the sleep in which the main clock of 26 MHz was off.
    off: Option<u64>,
}

/// Cycles a second of the clock that counts a sleep.
const HZ: i128 = 32_768;

/// The states of CPUs have such lines too (`system_bus wake up by`, `SODI3 wake up by`).
const WORDS: [&str; 3] = ["suspend wake up by ", "s2idle wake up by ", "[SPM] wake up by "];

/// What a message tells of a sleep.
pub(super) fn spm(m: &Message) -> Option<Spm<'_>> {
    let rest = WORDS.iter().find_map(|w| m.after(w)).filter(|_| m.trust.is_of_a_kernel())?;
    let (sources, rest) = rest.split_once(", timer_out = ")?;
    let number = |text: &str| -> Option<u64> {
        text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    let ticks = i128::from(number(rest)?);
    let slept = Ns(i64::try_from(ticks * 1_000_000_000 / HZ).ok()?);
    let off = m.after("26M_off_pct = ").and_then(number).filter(|n| *n <= 100);
    let sources = sources.trim();
    (!sources.is_empty()).then_some(Spm { sources, slept, off })
}

/// A shorter sleep proves nothing of its depth. Ours: as long as for other counters.
const SHORT: Ns = Ns(10_000_000_000);

/// Sleeps that are long enough, with their length and the share that is told of each.
fn long(case: &Case) -> Vec<(&Message, Ns, u64)> {
    let told = case.messages.having_any(&WORDS).filter_map(|(_, m)| Some((m, spm(m)?)));
    told.filter(|t| t.1.slept >= SHORT).filter_map(|(m, s)| Some((m, s.slept, s.off?))).collect()
}

/// How deep the sleeps were whose share is told.
pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let long = long(case);
    let Some(least) = long.iter().map(|t| t.2).min() else { return };
    let most = long.iter().map(|t| t.2).max().unwrap_or(least);
    let sum: Ns = long.iter().map(|t| t.1).sum();
    let share = match most == least {
        true => format!("{least} %"),
        false => format!("{least} to {most} %"),
    };
    let of = match long.len() {
        1 => format!("a sleep of {}", say::span(sum)),
        n => format!("{n} sleeps, {} in all", say::span(sum)),
    };
    let clock = format!("its main clock (26 MHz) was off for {share} of {of}");
    let (id, level, words) = match least {
        90.. => ("mode-hardware", Level::Note, format!("The platform slept: {clock}.")),
        _ if most == 0 => (
            "mode-name-only",
            Level::Risk,
            format!("The platform never reached its deepest state: {clock}."),
        ),
        _ => (
            "mode-partial",
            Level::Risk,
            format!("The platform was in its deepest state for a part of the time: {clock}."),
        ),
    };
    let shown = lines(long.iter().map(|t| t.0));
    let f = Finding::new((id, Area::Mode, level), Confidence::Certain).says(words).shown_by(shown);
    out.push(match level {
        Level::Note => f,
        _ => f.look("req_sta of the same lines, and what the manager prints of subsystems that asked for a clock, name who kept it on."),
    });
}

/// Whether the text tells of a depth.
pub(super) fn has_depth(case: &Case) -> bool {
    !long(case).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(said: &[&str]) -> Vec<(String, String)> {
        let lines: Vec<(i64, &str)> = said.iter().map(|s| (0, *s)).collect();
        let mut out = Vec::new();
        judge(&Case::of_log(&lines), &mut out);
        out.into_iter().map(|f| (f.id.to_string(), f.sentence)).collect()
    }

    #[test]
    fn a_sleep_of_mediatek_has_a_waker_a_length_and_a_depth() {
        let deep = "[name:spm&][SPM] suspend wake up by  R12_CONN_WAKE, timer_out = 3276800, r13 = 0x1, wlk_cntcv_h = 0x5, 26M_off_pct = 98";
        let lines = Case::of_log(&[(0, deep)]);
        let told = spm(&lines.messages[0]).expect("a sleep");
        assert_eq!(
            (told.sources, told.slept, told.off),
            ("R12_CONN_WAKE", Ns::from_ms(100_000), Some(98))
        );
        assert_eq!(judged(&[deep])[0].0, "mode-hardware");
        let shallow = deep.replace("= 98", "= 0");
        let both = judged(&[deep, &shallow]);
        assert_eq!(both[0].0, "mode-partial");
        assert!(both[0].1.contains("0 to 98 % of 2 sleeps, 3 min 20 s in all"), "{}", both[0].1);
        assert_eq!(judged(&[&shallow])[0].0, "mode-name-only");
        let short = shallow.replace("3276800", "32768");
        let idle = deep.replace("suspend wake", "system_bus wake");
        assert!(judged(&[&short, &idle, &deep.replace(", 26M_off_pct = 98", "")]).is_empty());
    }
}
