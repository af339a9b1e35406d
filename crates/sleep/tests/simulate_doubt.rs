//! Machines that explain a recording alike answer differently.

use dormouse_base::capture::{Capture, Machine};
use dormouse_base::cycle::PhaseSpan;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;
use dormouse_board::derive::Derived;
use dormouse_board::parse;
use dormouse_sleep::evidence::{Doubt, Fidelity, Missing, machine};
use dormouse_sleep::simulate::change::Change;
use dormouse_sleep::simulate::kernel::choose;
use dormouse_sleep::simulate::predict::{Prediction, Question, Scheduler, predict};
use dormouse_sleep::simulate::{Profile, Settings, simulate};

fn settings() -> Settings {
    Settings { profile: Profile::x86(), pm_async: None, wakeup_at: None }
}

fn scheduler(release: &str) -> Scheduler {
    let (policy, kernel) = choose(release).expect("a kernel");
    Scheduler { policy, kernel }
}

/// What a kernel log of the machine `devices` has: those with callbacks, and their
/// threads.
fn log(devices: &str, release: &str, listed: bool) -> Capture {
    let mut board = parse(&format!("board 1\ncpus 4\n{devices}")).expect("a board");
    let mut run = simulate(&board, scheduler(release).policy, &settings()).expect("a schedule");
    run.cycle.kernel = board.names.add(release);
    if !listed {
        board.graph.links.clear();
        board.graph.links_known = false;
        board.graph.devices.iter_mut().for_each(|d| d.async_flag = None);
        run.cycle.callbacks.retain(|c| c.phase.may_be_async());
    }
    let machine = Machine { cpus: Some(4), pm_async: Some(true), ..Machine::default() };
    Capture {
        machine,
        names: board.names,
        graph: board.graph,
        cycles: vec![run.cycle],
        ..Capture::default()
    }
}

fn doubt(capture: &Capture, then: &str, changes: &[Change]) -> Doubt {
    let found = machine(capture, None).expect("callbacks");
    found.doubt(capture, scheduler(then), changes, &settings())
}

/// Two long devices, the second asynchronous, after a short one.
const TWO: &str = "device root\n\
    device bus parent=root suspend=1ms resume=1ms\n\
    device disk parent=root suspend=30ms resume=30ms\n\
    device radio parent=root async suspend=20ms resume=25ms\n";

#[test]
fn a_recording_that_lists_links_leaves_costs_and_chance_open() {
    let whole = log(TWO, "6.12.1", true);
    let d = doubt(&whole, "6.12.1", &[Change::Without("bus".into())]);
    assert!(d.listed && (1..=4).contains(&d.machines), "{d:?}");
    assert!(Phase::DEVICE.into_iter().all(|p| d.agrees(p)), "{d:?}");
    assert_eq!(d.open(Direction::Suspend), None);
}

#[test]
fn a_device_that_may_go_with_a_removed_one_leaves_its_phases_open() {
    let d = doubt(&log(TWO, "6.12.1", false), "6.12.1", &[Change::Without("bus".into())]);
    assert!(d.machines > 10, "{d:?}");
    // The disk begins after the bus has ended and may need it.
    let (low, high) = d.range[6].expect("resume");
    assert!(!d.agrees(Phase::Resume) && low < Ns::from_ms(28), "{d:?}");
    assert!(high >= Ns::from_ms(29), "or it stays: {d:?}");
    let (low, high) = d.open(Direction::Resume).expect("the half is open too");
    assert!(low < high);
}

#[test]
fn what_the_recording_refutes_is_not_open() {
    // The radio began to resume before the disk had ended, so it needs no disk; and
    // the phase is the disk and the bus one after the other, whoever goes.
    let d = doubt(&log(TWO, "6.12.1", false), "6.12.1", &[Change::Without("radio".into())]);
    assert!(d.agrees(Phase::Resume), "{d:?}");
}

#[test]
fn one_after_the_other_is_the_same_in_every_machine() {
    let d = doubt(&log(TWO, "6.12.1", false), "6.12.1", &[Change::PmAsync(false)]);
    let (low, high) = d.range[6].expect("resume");
    assert!(d.agrees(Phase::Resume), "{d:?}");
    assert!(low > Ns::from_ms(55) && high < Ns::from_ms(57), "{d:?}");
}

#[test]
fn a_later_kernel_may_start_a_leaf_first_unless_something_unseen_hangs_on_it() {
    // Up to 6.15 the radio is queued when the walk comes to it; from 6.16 on before,
    // if it is a leaf. The log does not say whether it has a class device.
    let order = "device root\n\
        device radio parent=root async suspend=20ms resume=1ms\n\
        device disk parent=root suspend=30ms resume=1ms\n";
    let capture = log(order, "6.12.1", false);
    let d = doubt(&capture, "7.3.4", &[]);
    let (low, high) = d.range[1].expect("suspend");
    assert!(low < Ns::from_ms(33) && high > Ns::from_ms(48), "{d:?}");
    assert!(!d.agrees(Phase::Suspend));
    // The same twice: nothing is left to chance.
    assert_eq!(doubt(&capture, "7.3.4", &[]), d);
}

#[test]
fn what_nothing_explains_is_left_open() {
    // A phase of which a tenth is explained by no callback.
    let mut capture = log(TWO, "6.12.1", false);
    let spans = &mut capture.cycles[0].phases;
    let at = spans.iter().position(|s| s.phase == Phase::Resume).expect("resume");
    spans[at].end += Ns::from_ms(2);
    for s in &mut spans[at + 1..] {
        (s.start, s.end) = (s.start + Ns::from_ms(2), s.end + Ns::from_ms(2));
    }
    let d = doubt(&capture, "7.3.4", &[]);
    assert!(!d.agrees(Phase::Resume), "{d:?}");
}

#[test]
fn a_test_that_goes_no_further_than_suspend_lacks_no_phase() {
    // pm_test=devices: prepare, suspend, resume, complete, and nothing between.
    let mut capture = log(TWO, "6.12.1", true);
    let far =
        |p: Phase| !matches!(p, Phase::Prepare | Phase::Suspend | Phase::Resume | Phase::Complete);
    let cycle = &mut capture.cycles[0];
    cycle.phases.retain(|s| !far(s.phase));
    cycle.callbacks.retain(|c| !far(c.phase));
    let lost = |capture: &Capture| {
        let found = machine(capture, None).expect("callbacks");
        let checks = found.check(capture, &settings()).checks;
        let gone = checks.into_iter().filter(|c| c.missing == Some(Missing::Phase));
        gone.map(|c| c.phase).collect::<Vec<_>>()
    };
    assert_eq!(lost(&capture), []);
    // Who goes down so far must come up again.
    capture.cycles[0].phases.retain(|s| s.phase != Phase::Resume);
    assert_eq!(lost(&capture), [Phase::Resume]);
}

/// A machine whose last CPU came up so long before resume noirq.
fn came_up(before: Ns, listed: bool) -> Capture {
    let mut capture = log(
        "device root\ndevice radio parent=root async suspend=1ms resume_noirq=2ms\n\
         device disk parent=root async suspend=1ms resume_noirq=1ms\n",
        "6.12.1",
        listed,
    );
    capture.machine.tick = Some(Ns::from_ms(4));
    let phases = &mut capture.cycles[0].phases;
    let at = phases.iter().position(|s| s.phase == Phase::ResumeNoirq).expect("noirq");
    let end = phases[at].start - before;
    let cpu = PhaseSpan { phase: Phase::CpuOn, start: end, end, cpu: 1, ..phases[at] };
    phases.insert(at, cpu);
    capture
}

#[test]
fn a_cpu_that_has_just_come_up_may_keep_a_callback_until_its_first_tick() {
    let doubt = |c: &Capture| doubt(c, "7.3.4", &[]);
    // Also where all of the machine is listed: no recording foretells chance.
    for listed in [false, true] {
        let mut capture = came_up(Ns::from_us(100), listed);
        let open = doubt(&capture);
        let (_, high) = open.range[4].expect("noirq");
        // A tick is 4 ms, less what has gone by.
        assert!(!open.agrees(Phase::ResumeNoirq), "{open:?}");
        assert!(high > Ns::from_ms(3) && high < Ns::from_ms(4), "{open:?}");
        assert!(doubt(&came_up(Ns::from_ms(5), listed)).agrees(Phase::ResumeNoirq));
        // Where no line says how long a tick is it may be 10 ms.
        capture.machine.tick = None;
        let (_, high) = doubt(&capture).range[4].expect("noirq");
        assert!(high > Ns::from_ms(5) && high < Ns::from_ms(10), "{high}");
        capture.machine.tick = Some(Ns::from_ms(1));
        let (_, high) = doubt(&capture).range[4].expect("noirq");
        assert!(high < Ns::from_us(2_500), "{high}");
    }
    // The main thread is on the first CPU, which never went.
    let capture = came_up(Ns::from_us(100), false);
    let found = machine(&capture, None).expect("callbacks");
    let alone = [Change::PmAsync(false)];
    let d = found.doubt(&capture, scheduler("6.12.1"), &alone, &settings());
    let (low, high) = d.range[4].expect("noirq");
    assert!(high < Ns::from_us(3_500) && low < Ns::from_ms(1), "both may have slept: {d:?}");
}

#[test]
fn where_one_answer_is_right_for_all_machines_it_is_given() {
    let mut d = Doubt { machines: 25, ..Doubt::default() };
    let ms = |n| Ns::from_ms(n);
    let mut says = |claim, low, high| {
        (d.claim[1], d.range[1]) = (Some(claim), Some((low, high)));
        (d.agrees(Phase::Suspend), d.shift(Phase::Suspend))
    };
    assert_eq!(says(ms(100), ms(98), ms(103)), (true, Ns::ZERO));
    // The claimed machine is too far from the shortest answer; the middle is not.
    assert_eq!(says(ms(106), ms(100), ms(106)), (true, -ms(3)));
    assert_eq!(says(ms(120), ms(100), ms(120)), (false, Ns::ZERO));
}

/// Disk and radio without workers: suspend gets longer, late suspend stays short,
/// and noirq suspend is as open as `doubt` says.
fn one_by_one(doubt: &Doubt) -> Prediction {
    let text = "board 1\ncpus 4\npm_async 1\ndevice root\n\
        device disk parent=root async suspend=30ms noirq=40ms late=10us resume=30ms\n\
        device radio parent=root async suspend=20ms noirq=40ms resume=25ms\n";
    let derived = Derived { board: parse(text).expect("a board"), ..Derived::default() };
    let changes = [Change::PmAsync(false)];
    let question = Question {
        derived: &derived,
        now: scheduler("6.12.1"),
        then: scheduler("6.12.1"),
        changes: &changes,
        settings: &settings(),
        fidelity: &Fidelity::default(),
        doubt,
        seed: 1,
        samples: 0,
    };
    predict(&question).expect("a schedule")
}

#[test]
fn a_half_with_an_open_phase_has_no_total() {
    let sure = one_by_one(&Doubt::default());
    for d in [Direction::Suspend, Direction::Resume] {
        let claimed = sure.claimed(d).expect("nothing is open");
        assert_eq!(claimed, sure.after.half(d));
        assert!(claimed >= sure.after.bounds.order(d), "{claimed} is below the floor");
    }
    let open = |phase: Phase| {
        let (i, is) = (phase.device_index().expect("a device phase"), sure.after.phase(phase));
        let mut d = Doubt { machines: 25, ..Doubt::default() };
        d.claim[i] = Some(is);
        d.range[i] = Some((is, is + is + Ns::from_ms(1)));
        one_by_one(&d)
    };
    // As it was, noirq suspend would make the total shorter than the floor.
    let noirq = open(Phase::Noirq);
    assert_eq!(noirq.open(Direction::Suspend), [Phase::Noirq]);
    assert_eq!(noirq.claimed(Direction::Suspend), None);
    assert_eq!(noirq.claimed(Direction::Resume), sure.claimed(Direction::Resume));
    // Less than a hundredth of the half does not matter.
    let late = open(Phase::Late);
    assert!(!late.claims(Phase::Late));
    assert!(late.claimed(Direction::Suspend).is_some());
}

#[test]
fn a_change_is_claimed_only_beyond_what_machines_differ_by() {
    let text = "board 1\ncpus 4\npm_async 1\ndevice root\n\
        device slow parent=root suspend=50ms\ndevice quick parent=root suspend=1ms\n";
    let derived = Derived { board: parse(text).expect("a board"), ..Derived::default() };
    let changes = [Change::Without("quick".into())];
    let claims = |low_us: i64, high_us: i64| {
        let mut doubt = Doubt { machines: 25, ..Doubt::default() };
        doubt.claim[1] = Some(Ns::from_ms(50));
        doubt.range[1] = Some((Ns::from_us(low_us), Ns::from_us(high_us)));
        let question = Question {
            derived: &derived,
            now: scheduler("6.12.1"),
            then: scheduler("6.12.1"),
            changes: &changes,
            settings: &settings(),
            fidelity: &Fidelity::default(),
            doubt: &doubt,
            seed: 1,
            samples: 0,
        };
        let p = predict(&question).expect("a schedule");
        assert!(p.doubt.agrees(Phase::Suspend));
        p.claims(Phase::Suspend)
    };
    assert!(claims(49_900, 50_200));
    // One of the machines says that nothing changes.
    assert!(!claims(49_900, 51_500));
    // In the middle of all answers, and shorter than the longest device.
    assert!(!claims(47_500, 49_000));
}
