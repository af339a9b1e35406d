//! What the remedy of a finding would save, by simulation of the recording it is of: time
//! of callbacks is no time of a sleep where other devices take as long beside them.

use crate::predict::settings;
use dormouse_base::capture::Capture;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_doctor::fact::Fact;
use dormouse_doctor::finding::Finding;
use dormouse_sleep::evidence;
use dormouse_sleep::simulate::Profile;
use dormouse_sleep::simulate::change::{Change, Way, apply};
use dormouse_sleep::simulate::predict::outlook;

/// So many findings are asked about, and so many devices of one.
const MOST: usize = 8;

/// The change that a finding's advice names.
fn remedy(f: &Fact) -> Option<Vec<Change>> {
    // Such a name would be a pattern.
    let plain = |name: &str| !name.is_empty() && !name.contains(['*', '?', '[']);
    match f {
        Fact::WokenToSuspend { device, .. } => {
            plain(&device.name).then(|| vec![Change::LeaveSuspended(device.name.clone())])
        }
        Fact::DirectMissed { devices, by: None } => {
            let first = devices.first().filter(|d| plain(&d.name))?;
            Some(vec![Change::LeaveSuspended(first.name.clone())])
        }
        Fact::WaitsInNoirq { devices, .. } => {
            let way = Way { from: Phase::Noirq, to: Phase::Late };
            let of = |name: &String| Change::Move(name.clone(), way);
            let names = devices.iter().map(|d| &d.name).filter(|n| plain(n)).take(MOST);
            Some(names.map(of).collect()).filter(|l: &Vec<Change>| !l.is_empty())
        }
        _ => None,
    }
}

/// Asks the simulator what the remedies of `findings` save.
pub(crate) fn confirm(capture: &Capture, findings: &mut [Finding]) {
    let asked = findings.iter_mut().filter_map(|f| Some((remedy(&f.fact)?, f)));
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
    use dormouse_doctor::fact::Device;
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
        let device = Device { name: name.into(), driver: String::new() };
        let mut found = [Finding {
            id: "rpm-woken",
            area: Area::Rpm,
            level: Level::Slow,
            fact: Fact::WokenToSuspend { device, saving: Ns(15_000_000) },
            evidence: Vec::new(),
            costs: None,
            saves: None,
            confidence: Confidence::Likely,
        }];
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
