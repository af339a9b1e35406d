//! Intervals of callbacks from the text of a trace, for the laboratory's own
//! checks. Everything a user sees goes through the readers of `dormouse show`;
//! this one knows nothing but the three events and is independent of them.

use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use std::collections::BTreeMap;

/// Callback of one device, relative to the begin of its phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Begin.
    pub start: Ns,
    /// End.
    pub end: Ns,
}

/// The callbacks of one cycle by phase and device name.
#[derive(Clone, Debug, Default)]
pub struct Intervals {
    /// Intervals; of a name that is called twice in a phase, the last.
    pub of: BTreeMap<(Phase, String), Interval>,
    /// Order of devices in the prepare phase, which is that of `dpm_list`.
    pub list: Vec<String>,
    /// How long each phase of the PM core took.
    pub phases: BTreeMap<Phase, Ns>,
}

/// Phase of an action such as `dpm_suspend_late`.
fn phase(action: &str) -> Option<Phase> {
    Some(match action {
        "dpm_prepare" => Phase::Prepare,
        "dpm_suspend" => Phase::Suspend,
        "dpm_suspend_late" => Phase::Late,
        "dpm_suspend_noirq" => Phase::Noirq,
        "dpm_resume_noirq" => Phase::ResumeNoirq,
        "dpm_resume_early" => Phase::ResumeEarly,
        "dpm_resume" => Phase::Resume,
        "dpm_complete" => Phase::Complete,
        _ => return None,
    })
}

/// The cycles of a trace in order.
pub fn cycles(text: &str) -> Vec<Intervals> {
    let mut out: Vec<Intervals> = Vec::new();
    let mut now: Option<(Phase, Ns)> = None;
    let mut open: BTreeMap<String, Ns> = BTreeMap::new();
    for line in text.lines() {
        let Some((time, event)) = split(line) else { continue };
        if let Some(rest) = event.strip_prefix("suspend_resume: ") {
            let action = rest.split('[').next().unwrap_or_default();
            let Some(p) = phase(action) else { continue };
            if rest.ends_with("begin") {
                if p == Phase::Prepare {
                    out.push(Intervals::default());
                }
                now = Some((p, time));
                open.clear();
            } else if let (Some((q, begin)), Some(cycle)) = (now.take(), out.last_mut())
                && p == q
            {
                cycle.phases.insert(p, time - begin);
            }
            continue;
        }
        let (Some((p, begin)), Some(cycle)) = (now, out.last_mut()) else { continue };
        if let Some(rest) = event.strip_prefix("device_pm_callback_start: ") {
            let Some(name) = rest.split(", parent:").next().and_then(|s| s.rsplit(' ').next())
            else {
                continue;
            };
            if p == Phase::Prepare {
                cycle.list.push(name.to_owned());
            }
            open.insert(name.to_owned(), time);
        } else if let Some(rest) = event.strip_prefix("device_pm_callback_end: ") {
            let Some(name) = rest.split(", err=").next().and_then(|s| s.rsplit(' ').next()) else {
                continue;
            };
            if let Some(start) = open.remove(name) {
                cycle.of.insert(
                    (p, name.to_owned()),
                    Interval { start: start - begin, end: time - begin },
                );
            }
        }
    }
    out
}

/// Time stamp and event of a line; None for comments.
fn split(line: &str) -> Option<(Ns, &str)> {
    if line.starts_with('#') {
        return None;
    }
    // `task-pid [cpu] flags seconds: event: …`; a task may hold blanks and
    // brackets, the event's name cannot.
    let at = [": suspend_resume: ", ": device_pm_callback_start: ", ": device_pm_callback_end: "]
        .iter()
        .filter_map(|e| line.find(e))
        .min()?;
    let time = line[..at].rsplit(' ').next()?;
    let (s, us) = time.split_once('.')?;
    let ns = s.parse::<i64>().ok()? * 1_000_000_000
        + us.parse::<i64>().ok()? * 10_i64.pow(9_u32.checked_sub(us.len() as u32)?);
    Some((Ns(ns), &line[at + 2..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_counts_from_the_begin_of_its_phase() {
        let text = "\
# tracer: nop
            init-1       [000] .....     4.000100: suspend_resume: dpm_prepare[2] begin
            init-1       [000] .....     4.000110: device_pm_callback_start: dormouse d00001, parent: none, [suspend]
            init-1       [000] .....     4.000120: device_pm_callback_end: dormouse d00001, err=0
            init-1       [000] .....     4.000200: suspend_resume: dpm_prepare[2] end
            init-1       [000] .....     4.000300: suspend_resume: dpm_suspend[2] begin
   kworker/u2:1-30       [000] .....     4.000310: device_pm_callback_start: dormouse d00001, parent: none, type [suspend]
   kworker/u2:1-30       [000] .....     4.040312: device_pm_callback_end: dormouse d00001, err=-5
";
        let c = cycles(text);
        assert_eq!(c.len(), 1);
        assert_eq!(c[0].list, ["d00001"]);
        let i = c[0].of[&(Phase::Suspend, "d00001".to_owned())];
        assert_eq!(i, Interval { start: Ns(10_000), end: Ns(40_012_000) });
        assert_eq!(c[0].phases[&Phase::Prepare], Ns(100_000));
    }
}
