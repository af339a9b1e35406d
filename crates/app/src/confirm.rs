//! What the remedy of a finding would save, by simulation of the recording it is of: time
//! of callbacks is no time of a sleep where other devices take as long beside them.

use crate::predict::settings;
use dormouse_base::capture::Capture;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_doctor::finding::{Finding, Remedy};
use dormouse_sleep::evidence;
use dormouse_sleep::simulate::Profile;
use dormouse_sleep::simulate::change::{Change, Way, apply};
use dormouse_sleep::simulate::predict::outlook;

/// So many findings are asked about, and so many devices of one.
const MOST: usize = 8;

/// The changes that a finding's remedy is, or nothing if the simulator knows none.
fn changes(f: &Finding) -> Option<Vec<Change>> {
    // Such a name would be a pattern.
    let plain = |name: &str| !name.is_empty() && !name.contains(['*', '?', '[']);
    let one = |r: &Remedy| match r {
        Remedy::LeaveSuspended(name) => plain(name).then(|| Change::LeaveSuspended(name.clone())),
        Remedy::Move(name, from, to) => {
            plain(name).then(|| Change::Move(name.clone(), Way { from: *from, to: *to }))
        }
    };
    let all: Vec<Change> = f.remedies.iter().filter_map(one).take(MOST).collect();
    (!all.is_empty()).then_some(all)
}

/// Asks the simulator what the remedies of `findings` save.
pub(crate) fn confirm(capture: &Capture, findings: &mut [Finding]) {
    let asked = findings.iter_mut().filter_map(|f| Some((changes(f)?, f)));
    let mut asked = asked.take(MOST).peekable();
    if asked.peek().is_none() {
        return;
    }
    let Ok(machine) = evidence::machine(capture, None) else { return };
    let settings = settings(Profile::x86(), None);
    let board = &machine.derived.board;
    let Ok(before) = outlook(board, machine.scheduler, &settings) else { return };
    let fidelity = machine.check(capture, &settings);
    for (changes, f) in asked {
        let Ok(changed) = apply(board, &changes) else { continue };
        let Ok(after) = outlook(&changed.board, machine.scheduler, &settings) else { continue };
        let mut saved = Ns::ZERO;
        let mut known = true;
        for phase in Phase::DEVICE {
            let by = before.phase(phase) - after.phase(phase);
            if fidelity.allows(phase, by) {
                saved += by;
            } else {
                known &= !fidelity.misses(phase);
            }
        }
        f.saves = known.then(|| saved.max(Ns::ZERO));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_doctor::finding::{Area, Confidence, Level};
    use dormouse_sleep::simulate::policy;
    use dormouse_sleep::simulate::predict::Scheduler;

    /// What leaving `name` suspended saves on the machine of `text`, as a recording shows it.
    fn saves(text: &str, name: &str) -> Option<Ns> {
        let board = dormouse_board::parse(text).expect("a board");
        let newest = policy::KERNELS[policy::KERNELS.len() - 1];
        let by = Scheduler { policy: newest, kernel: None };
        let run = outlook(&board, by, &settings(Profile::x86(), None)).expect("a schedule").run;
        let capture = Capture {
            names: board.names,
            graph: board.graph,
            cycles: vec![run.cycle],
            ..Capture::default()
        };
        let mut found = [Finding::new(("rpm-woken", Area::Rpm, Level::Slow), Confidence::Likely)
            .remedy([Remedy::LeaveSuspended(name.into())])];
        confirm(&capture, &mut found);
        found[0].saves
    }

    const BOARD: &str = "board 1\ncpus 4\ndevice root\n\
        device cam parent=root suspend=15ms resume=12ms\n\
        device disk parent=root suspend=25ms resume=4ms\n";

    #[test]
    fn what_is_on_the_path_is_saved_and_what_is_beside_it_is_not() {
        let alone = saves(BOARD, "cam").expect("the simulator knows");
        assert!((alone.0 - 27_000_000).abs() < 1_000_000, "{alone:?}");
        let beside = BOARD.replace("ms\n", "ms async\n").replace("resume=12ms", "resume=3ms");
        let beside = saves(&beside, "cam").expect("the simulator knows");
        assert!(beside < Ns(1_000_000), "{beside:?}");
        assert_eq!(saves(BOARD, "other"), None, "no such device");
        assert_eq!(saves(BOARD, "c*"), None, "a name is no pattern");
    }
}
