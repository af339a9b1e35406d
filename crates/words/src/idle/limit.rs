//! What is said of latencies that CPUs are allowed at most.

use super::wrapped::wrap;
use crate::text::safe;
use dormouse_idle::fault::limited;
use dormouse_idle::limit::CpuLimit;
use dormouse_idle::snapshot::Snapshot;

/// So many limits are told one by one.
const MOST: usize = 4;

/// Each limit that forbids a state; nothing if none does.
pub(super) fn text(limits: &[CpuLimit], snapshots: &[Snapshot]) -> Option<String> {
    let one = |l: &CpuLimit| {
        let (state, needs) = l.forbids(snapshots)?;
        Some(wrap(&format!(
            "CPU {} may take {} us to wake (pm_qos_resume_latency_us, line {}): {}, which takes {} \
             us, and what is deeper are forbidden to it.",
            l.cpu,
            l.us,
            l.line,
            safe(state),
            needs
        )))
    };
    let all: Vec<String> = limits.iter().filter_map(one).collect();
    let rest = all.len().saturating_sub(MOST);
    let more =
        (rest > 0).then(|| wrap(&format!("CPUs with such a limit that are not listed: {rest}.")));
    // Without a table of states the finding says what is known.
    if snapshots.is_empty() {
        return limited(limits, snapshots).first().map(|f| wrap(&f.sentence));
    }
    (!all.is_empty()).then(|| all[..all.len() - rest].concat() + &more.unwrap_or_default())
}
