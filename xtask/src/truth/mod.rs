//! Is what dormouse infers of a kernel log so? Recordings of the laboratory,
//! whose machines are known in full, are reduced to what a kernel log has, and
//! what is inferred from that log is held against the machine.
//!
//! Reproducing a recording proves little, because enough inferred waits
//! reproduce anything. So each inferred flag and wait is judged, and so is what
//! the log alone foretells of a change that a kernel then made.

mod args;
mod foretell;
mod graph;
mod hold;
pub(crate) mod log;
mod remove;
mod tally;

use crate::accuracy::recorded;
use anyhow::{Context, Result};
use args::{Args, file_name, parse};
use dormouse_base::capture::Capture;
use dormouse_base::cycle::Cycle;
use dormouse_sleep::evidence::machine;
use foretell::reduced;
use hold::{Held, Score, hold};
use std::fmt::Write as _;
use std::process::ExitCode;

/// Writes the reduced log of a recording.
fn print_log(path: &str) -> Result<()> {
    let capture = recorded::capture(path)?;
    print!("{}", log::log(&capture, |_| true));
    Ok(())
}

/// `truth [-v] [--profile FILE] CAPTURE… BEFORE=AFTER…`, or
/// `truth remove KERNEL BOARD OUT`, or `truth log CAPTURE`, which prints the log itself.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    if let [word, rest @ ..] = args
        && word == "remove"
    {
        remove::run(rest)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let [word, file] = args
        && word == "log"
    {
        print_log(file)?;
        return Ok(ExitCode::SUCCESS);
    }
    let args = parse(args)?;
    println!("{ABOUT}\ncosts: {}", args.costs.name);
    let mut out = String::new();
    held_tables(&args, &mut out)?;
    print!("{out}");
    out.clear();
    let met = tally::foretold(&args, &mut out)?;
    print!("{out}");
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::from(crate::missed::MISSED) })
}

/// What is done here, before the tables.
const ABOUT: &str = "\
Machines that are known in full are recorded, and each recording is reduced to the
kernel log that a user would have sent: no links, no flags, no silent devices. What
is inferred of that log is held against the machine. Then the log of one cycle is
asked what another pm_async, another kernel and a device less would bring, and the
kernel's own answer stands beside.
";

/// The last cycle alone, and all cycles: what most people have, and more of it.
fn views(capture: &Capture) -> Vec<(String, Vec<usize>)> {
    let n = capture.cycles.len();
    let mut views = vec![("1 cycle".to_owned(), vec![n - 1])];
    if n > 1 {
        views.push((format!("{n} cycles"), (0..n).collect()));
    }
    views
}

fn held_tables(args: &Args, out: &mut String) -> Result<()> {
    if args.alone.is_empty() {
        return Ok(());
    }
    let (mut flags, mut waits, mut shown) = <(Score, Score, Score)>::default();
    let _ = writeln!(
        out,
        "\nInferred from the log alone, held against the board: right of inferred, \
         found of all.\nNo line names these waits; `shown` are those that delayed something in the recording.\n\n{:<30}{:<10}{:>8}{:>20}{:>20}{:>16}",
        "recording", "log of", "devices", "async flags", "waits, of all", "waits shown"
    );
    for path in &args.alone {
        let capture = recorded::capture(path)?;
        for (title, keep) in views(&capture) {
            let held = held(&capture, &keep).with_context(|| path.clone())?;
            let _ = writeln!(
                out,
                "{:<30}{title:<10}{:>8}{:>20}{:>20}{:>16}",
                file_name(path),
                held.devices,
                both(&held.flags),
                both(&held.waits),
                share(held.shown.found, held.shown.all),
            );
            if held.ambiguous > 0 {
                let _ = writeln!(out, "  {} devices of equal name left out", held.ambiguous);
            }
            for line in held.wrong.iter().take(if args.verbose { usize::MAX } else { 0 }) {
                let _ = writeln!(out, "  {line}");
            }
            flags.add(held.flags);
            waits.add(held.waits);
            shown.add(held.shown);
        }
    }
    let _ = writeln!(
        out,
        "{:<48}{:>20}{:>20}{:>16}",
        "all",
        both(&flags),
        both(&waits),
        share(shown.found, shown.all)
    );
    Ok(())
}

/// What is inferred of the log of the cycles `keep`, held against the machine.
fn held(capture: &Capture, keep: &[usize]) -> Result<Held> {
    let seen = reduced(capture, |i| keep.contains(&i))?;
    let derived = machine(&seen, None).map_err(anyhow::Error::msg)?.derived;
    let used: Vec<&Cycle> = keep.iter().filter_map(|&i| capture.cycles.get(i)).collect();
    Ok(hold(capture, &used, &derived.board))
}

/// `right of inferred, found of all`.
fn both(s: &Score) -> String {
    format!("{}, {}", share(s.right, s.inferred), share(s.found, s.all))
}

fn share(part: u64, of: u64) -> String {
    format!("{part}/{of}")
}

#[cfg(test)]
mod tests {
    use super::foretell::{Question, Row};
    use super::*;
    use dormouse_base::device::DeviceId;
    use dormouse_base::phase::Phase;
    use dormouse_board::Board;
    use dormouse_board::derive::derive;
    use dormouse_sleep::simulate::Profile;
    use std::collections::BTreeSet;

    fn captures() -> Vec<Capture> {
        let of = |name: &str| {
            let file = format!("{}/../captures/{name}.tar.gz", env!("CARGO_MANIFEST_DIR"));
            recorded::capture(&file).expect("a capture of the repository")
        };
        ["am335x-6.12", "laptop-6.12", "laptop-7.3"].map(of).into()
    }

    /// All that is known of the machine, as if it had been inferred.
    fn whole(capture: &Capture) -> Board {
        derive(capture).expect("callbacks").board
    }

    fn compared(capture: &Capture, board: &Board) -> Held {
        hold(capture, &capture.cycles.iter().collect::<Vec<_>>(), board)
    }

    #[test]
    fn a_reduced_log_has_every_callback_and_nothing_that_a_kernel_does_not_print() {
        for capture in captures() {
            let seen = reduced(&capture, |_| true).unwrap();
            assert!(seen.graph.links.is_empty() && !seen.graph.links_known);
            assert_eq!(seen.cycles.len(), capture.cycles.len());
            for (was, is) in capture.cycles.iter().zip(&seen.cycles) {
                for phase in Phase::DEVICE.into_iter().filter(|p| p.may_be_async()) {
                    let all = |c: &Cycle| -> (i64, i64) {
                        let them = c.callbacks.iter().filter(|c| c.phase == phase && c.complete);
                        them.fold((0, 0), |(n, sum), c| (n + 1, sum + c.duration().0))
                    };
                    let ((count, sum), (read, took)) = (all(was), all(is));
                    // Of devices of one name that run beside one another a log does not say
                    // which returns. Times are cut to microseconds.
                    assert!((count - read).abs() <= 1 + count / 50, "{phase}: {read} of {count}");
                    let apart = (sum - took).abs();
                    assert!(apart <= sum / 50 + count * 1_000, "{phase}: {took} of {sum} ns");
                }
            }
            let used: Vec<&Cycle> = capture.cycles.iter().collect();
            let truth = graph::Truth::new(&capture, &used);
            let named: BTreeSet<&str> = truth.place.keys().map(|k| &*k.1).collect();
            let devices = seen.graph.devices.iter();
            let read: BTreeSet<&str> = devices.map(|d| seen.names.get(d.name).trim()).collect();
            // A log does not say where the driver ends and a name with blanks begins.
            let known = |name: &str| named.iter().any(|n| n.ends_with(name));
            assert!(read.iter().all(|n| known(n)), "no silent device");
            assert!(read.len() + 3 > named.len(), "all but those");
        }
    }

    #[test]
    fn the_whole_truth_is_right_and_complete() {
        for capture in captures() {
            let held = compared(&capture, &whole(&capture));
            let full = |s: Score| s.right == s.inferred && s.found == s.all;
            assert!(full(held.flags) && full(held.waits), "{held:?}");
            assert!(held.flags.all > 0 && held.waits.all > 0, "something is to be found");
        }
    }

    #[test]
    fn each_falsehood_is_counted() {
        let capture = &captures()[1];
        let mut board = whole(capture);
        let before = compared(capture, &board);
        let used: Vec<&Cycle> = capture.cycles.iter().collect();
        let truth = graph::Truth::new(capture, &used);
        // A flag turned off, a flag turned on.
        let unique = |id: &DeviceId| {
            let key = graph::key(&board.names, board.graph.get(*id));
            truth.place.get(&key).is_some_and(Option::is_some)
        };
        let on = |want| {
            let flag = |id: &DeviceId| board.graph.get(*id).async_flag == Some(want);
            board.graph.ids().find(|id| unique(id) && flag(id)).expect("one of either kind")
        };
        let (was_on, was_off) = (on(true), on(false));
        board.graph.devices[was_on.index()].async_flag = Some(false);
        board.graph.devices[was_off.index()].async_flag = Some(true);
        // No wait is found without its link; one the wrong way round is false.
        let links = board.graph.links.len();
        for l in &mut board.graph.links {
            std::mem::swap(&mut l.consumer, &mut l.supplier);
        }
        let after = compared(capture, &board);
        assert!(links > 0 && before.waits.inferred > 0);
        assert_eq!(after.flags.right, before.flags.right - 1);
        assert_eq!(after.flags.found, before.flags.found - 1);
        assert_eq!(after.flags.inferred, before.flags.inferred);
        assert_eq!(after.waits.right, 0);
        assert!(after.waits.found < before.waits.found);
    }

    #[test]
    fn the_question_is_read_off_the_recordings() {
        let all = captures();
        let (first, second) = (&all[1], &all[2]);
        let release = second.names.get(second.cycles[0].kernel).to_owned();
        assert_eq!(foretell::question(first, second).unwrap(), Question::Kernel(release));
        assert!(foretell::question(first, first).is_err());
        let mut other = first.clone();
        other.machine.pm_async = first.machine.pm_async.map(|on| !on);
        let flipped = first.machine.pm_async != Some(true);
        assert_eq!(foretell::question(first, &other).unwrap(), Question::PmAsync(flipped));
        let mut other = first.clone();
        // A device that the log names, so that it can be asked about.
        let middle = first.cycles[0].callbacks.iter().find(|c| c.phase.may_be_async());
        let gone = middle.expect("callbacks").device.index();
        let name = first.names.get(first.graph.devices[gone].name).to_owned();
        other.graph.devices[gone].name = other.names.add("another");
        assert_eq!(foretell::question(first, &other).unwrap(), Question::Without(vec![name]));
    }

    /// Questions about a recording that the recording itself, with its links,
    /// flags and silent devices, answers.
    fn questions(capture: &Capture) -> Vec<Question> {
        let release = capture.names.get(capture.cycles[0].kernel);
        let other = if release.starts_with("6.") { "7.3" } else { "6.12" };
        let mut list = vec![Question::Kernel(other.into()), Question::PmAsync(false)];
        let mut long: Vec<_> = capture.cycles[capture.cycles.len() - 1]
            .callbacks
            .iter()
            .filter(|c| c.phase.may_be_async() && c.complete)
            .map(|c| (std::cmp::Reverse(c.duration()), c.device))
            .collect();
        long.sort();
        let name = |d: DeviceId| capture.names.get(capture.graph.get(d).name).to_owned();
        let mut names: Vec<String> = Vec::new();
        for (_, d) in long {
            if !names.contains(&name(d)) && names.len() < 8 {
                names.push(name(d));
            }
        }
        list.extend(names.into_iter().map(|n| Question::Without(vec![n])));
        list
    }

    #[test]
    fn what_the_whole_recording_contradicts_is_not_claimed_of_its_log() {
        let (mut claimed, mut all) = (0, 0);
        for capture in captures() {
            let whole = dormouse_sleep::evidence::machine(&capture, None).unwrap();
            let settings = dormouse_sleep::simulate::Settings {
                profile: Profile::x86(),
                pm_async: None,
                wakeup_at: None,
            };
            let run = |board: &Board, by| {
                dormouse_sleep::simulate::predict::outlook(board, by, &settings).unwrap()
            };
            let now = run(&whole.derived.board, whole.scheduler);
            let last = capture.cycles.len() - 1;
            for question in questions(&capture) {
                let (then, changes) = foretell::asked(&question, whole.scheduler).unwrap();
                let board = dormouse_sleep::simulate::change::apply(&whole.derived.board, &changes);
                let after = run(&board.unwrap().board, then);
                let told = foretell::tell(&capture, &question, |i| i == last, &Profile::x86());
                for t in told.unwrap() {
                    all += 1;
                    if t.refused.is_some() {
                        continue;
                    }
                    claimed += 1;
                    let gain = after.phase(t.phase) - now.phase(t.phase);
                    let row = Row { then: t.now + gain, spread: Default::default(), told: t };
                    let words = question.words();
                    assert!(row.right(), "{words}: {row:?}");
                }
            }
        }
        assert!(claimed * 4 > all, "a tool that claims nothing is no help: {claimed} of {all}");
    }

    #[test]
    fn nothing_false_is_inferred_of_the_repositorys_recordings() {
        for capture in captures() {
            for (title, keep) in views(&capture) {
                let held = held(&capture, &keep).unwrap();
                assert!(held.devices > 50, "{title}: the log names devices");
                let name = capture.names.get(capture.cycles[0].kernel);
                assert_eq!(held.flags.right, held.flags.inferred, "{name}, {title}: {held:?}");
                assert_eq!(held.waits.right, held.waits.inferred, "{name}, {title}: {held:?}");
            }
        }
    }
}
