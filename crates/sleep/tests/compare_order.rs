//! Starts that change their order between two recordings.

use dormouse_base::capture::{Capture, Machine};
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_board::parse;
use dormouse_sleep::analyse::path::Reason;
use dormouse_sleep::analyse::{CycleView, explain};
use dormouse_sleep::compare::Subject;
use dormouse_sleep::compare::order::{Moved, moved};
use dormouse_sleep::simulate::kernel::choose;
use dormouse_sleep::simulate::{Profile, Settings, simulate};

pub(crate) fn recording(devices: &str) -> (Capture, Vec<CycleView>) {
    let mut board = parse(&format!("board 1\ncpus 4\n{devices}")).expect("a board");
    let (policy, _) = choose("6.12.1").expect("a kernel");
    let settings = Settings { profile: Profile::x86(), pm_async: None, wakeup_at: None };
    let mut run = simulate(&board, policy, &settings).expect("a schedule");
    run.cycle.kernel = board.names.add("6.12.1");
    let machine = Machine { cpus: Some(4), pm_async: Some(true), ..Machine::default() };
    let capture = Capture {
        machine,
        names: board.names,
        graph: board.graph,
        cycles: vec![run.cycle],
        ..Capture::default()
    };
    let views = explain(&capture);
    (capture, views)
}

fn between<T>(a: &str, b: &str, see: impl FnOnce(&[Moved<'_>]) -> T) -> T {
    let [a, b] = [recording(a), recording(b)];
    let subject = |r: &'static str, (capture, views): &'static (Capture, Vec<CycleView>)| Subject {
        label: r.into(),
        captures: vec![(capture, views.as_slice())],
    };
    let [a, b] = [Box::leak(Box::new(a)), Box::leak(Box::new(b))];
    see(&moved(&subject("before", a), &subject("after", b)))
}

/// Resumed in this order; the last one waits for nobody.
const SLOW: &str = "device root\n\
    device disk parent=root suspend=1ms resume=30ms\n\
    device card parent=root suspend=1ms resume=1ms\n\
    device radio parent=root suspend=1ms resume=5ms\n";

#[test]
fn a_device_that_becomes_asynchronous_passes_the_one_before_it() {
    let fast = SLOW.replace("device radio parent=root", "device radio parent=root async");
    between(SLOW, &fast, |list| {
        let resume: Vec<_> = list.iter().filter(|m| m.figure.phase == Phase::Resume).collect();
        assert_eq!(resume.len(), 1, "{list:?}");
        let radio = resume[0];
        assert_eq!(radio.figure.device.name, "radio");
        assert_eq!((radio.passes, radio.passed_by), (1, 0));
        assert!(radio.later() < Ns::from_ms(-30), "{radio:?}");
        let [was, is] = radio.begin;
        assert_eq!(was.reason, Some(Reason::MainThread));
        assert_eq!(was.after.map(|d| d.name), Some("card"));
        assert_ne!(is.reason, Some(Reason::MainThread), "{is:?}");
    });
}

#[test]
fn nothing_moves_between_a_recording_and_itself() {
    between(SLOW, SLOW, |list| assert!(list.is_empty(), "{list:?}"));
    // A callback that takes longer moves what follows, and passes nobody.
    between(SLOW, &SLOW.replace("30ms", "40ms"), |list| assert!(list.is_empty(), "{list:?}"));
}
