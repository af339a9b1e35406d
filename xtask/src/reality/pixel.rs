//! A phone on 6.16-rc4 whose log has two runs: an asynchronous one that ends with
//! -16, and a synchronous one that sleeps. What the log proves of each. The log is
//! not part of the project; without it the test says so.

use super::{printing, settings};
use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Callback, Cycle, Outcome};
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_board::threads::main_threads;
use dormouse_read::{Input, Options};
use dormouse_sleep::evidence::{Verdict, machine};
use std::path::PathBuf;

fn capture() -> Option<Capture> {
    let data = std::env::var_os("DORMOUSE_DATA").map_or("../../shared/data".into(), PathBuf::from);
    let path = data.join("logs/real/pixel6-6.16-rc4-full-2025-07.txt.gz");
    if !path.exists() {
        println!("SKIPPED: {} is absent (set DORMOUSE_DATA)", path.display());
        return None;
    }
    let reading = dormouse_read::read(&[Input::from_arg(&path)], &Options::default());
    Some(reading.expect("a log").captures.swap_remove(0))
}

/// Callbacks of suspend, and whether each ran on the main thread.
fn suspend(cycle: &Cycle) -> Vec<(&Callback, bool)> {
    let mains = main_threads(cycle);
    let main = |c: &Callback| mains.get(usize::from(c.thread.0)) == Some(&true);
    let list = cycle.callbacks.iter().filter(|c| c.phase == Phase::Suspend);
    list.map(|c| (c, main(c))).collect()
}

#[test]
fn the_asynchronous_run_shows_leaves_first_and_parents_after_their_children() {
    let Some(capture) = capture() else { return };
    let name = |c: &Callback| capture.names.get(capture.graph.get(c.device).name);
    let parent = |c: &Callback| capture.names.get(capture.graph.get(c.device).parent_name);
    let list = suspend(&capture.cycles[0]);
    let first = list.iter().filter(|(_, main)| *main).map(|(c, _)| c.start).min().unwrap();
    // 443046d1ad66 (6.16): what has no subordinate is started before the walk.
    let early: Vec<&str> =
        list.iter().filter(|(c, m)| !m && c.start < first).map(|(c, _)| name(c)).collect();
    assert_eq!(early, ["0000:01:00.0", "1-0029"]);
    // aa7a9275ab81 (6.16): a parent is started when a child is done. Two are, and the
    // child that ended last did so on the main thread, at most two lines before.
    let mut parents = Vec::new();
    for (p, _) in list.iter().filter(|(_, main)| !main) {
        let children = list.iter().filter(|(c, _)| parent(c) == name(p));
        let Some((last, on_main)) = children.max_by_key(|(c, _)| c.end) else { continue };
        assert!(p.start >= last.end, "{} begins before its child is done", name(p));
        assert!(*on_main && p.start - last.end < Ns::from_us(1_500), "{}", name(p));
        parents.push((name(p), name(last)));
    }
    parents.sort_unstable();
    let pairs = [("i2c-c240l2x", "cs40l2x-codec.4.auto"), ("phy0", "rfkill1")];
    assert_eq!(parents, pairs);
}

#[test]
fn the_abort_is_of_the_main_thread_while_a_worker_ran() {
    let Some(capture) = capture() else { return };
    let cycle = &capture.cycles[0];
    let Outcome::AbortedByDevice { device: Some(device), errno: -16 } = cycle.outcome else {
        panic!("{:?}", cycle.outcome);
    };
    let name = |c: &Callback| capture.names.get(capture.graph.get(c.device).name);
    assert_eq!(capture.names.get(capture.graph.get(device).name), "eeprom@2");
    let list = suspend(cycle);
    let (failed, main) = list.iter().find(|(c, _)| c.device == device).unwrap();
    assert!(*main, "a synchronous device: no order among workers made it fail");
    // The walk ends there; only what had begun goes on, to its end.
    let after = list.iter().filter(|(c, _)| c.start > failed.start);
    assert_eq!(after.count(), 0);
    let open: Vec<&str> =
        list.iter().filter(|(c, _)| c.end > failed.end).map(|(c, _)| name(c)).collect();
    assert_eq!(open, ["0001:01:00.0"]);
    // In the synchronous run the same callback is called and does not fail; what the
    // asynchronous one had not yet done by then is what may still have used it.
    let slept = suspend(&capture.cycles[1]);
    let (again, _) = slept.iter().find(|(c, _)| c.device == device).unwrap();
    assert_eq!(again.error, 0);
    let done = |list: &[(&Callback, bool)], by: Ns| -> Vec<String> {
        list.iter().filter(|(c, _)| c.end <= by).map(|(c, _)| name(c).to_owned()).collect()
    };
    let (before, then) = (done(&slept, again.start), done(&list, failed.start));
    let missing: Vec<&String> = before.iter().filter(|d| !then.contains(d)).collect();
    println!("done before eeprom@2 in the synchronous run alone: {missing:?}");
    assert!(!missing.is_empty());
}

#[test]
fn the_synchronous_run_is_reproduced_with_the_lines_of_another_phase() {
    let Some(capture) = capture() else { return };
    let machine = machine(&capture, None).expect("callbacks");
    let found = machine.check(&capture, &settings());
    let check = found.phase(Phase::Suspend).expect("suspend");
    assert_eq!((check.missing, check.verdict), (None, Verdict::Reproduced));
    assert!(check.printing > Ns::from_ms(300), "{}", check.printing);
    let lines = |phase| {
        printing::with_lines_of(&machine.derived, 0, Phase::Suspend, phase, machine.scheduler)
    };
    let time = lines(Phase::Resume).expect("a schedule");
    assert_eq!(Verdict::on(check.recorded, time), Verdict::Reproduced, "{time}");
    // Without any lines it is another machine.
    let quiet = machine.derived.without_printing();
    let board = quiet.as_recorded(0);
    let bare = dormouse_sleep::simulate::predict::outlook(&board, machine.scheduler, &settings());
    let bare = bare.expect("a schedule").phase(Phase::Suspend);
    assert_eq!(Verdict::on(check.recorded, bare), Verdict::NotReproduced, "{bare}");
}
