//! The laws that hold for every cycle, on random ones, and the reasons on
//! cycles small enough to check by hand.

use super::answer::Other;
use super::fixture::{MAIN, callback, capture, phase};
use super::path::{Reason, Segment};
use super::rows::What;
use super::*;
use dormouse_base::capture::Capture;
use dormouse_base::cycle::*;
use dormouse_base::device::*;
use dormouse_base::image::{ImageStep, ImageWork};
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;
use proptest::prelude::*;

const MS: i64 = 1_000_000;

fn phase_view(c: &Capture, p: Phase) -> PhaseView {
    let i = c.cycles[0].phases.iter().position(|s| s.phase == p).unwrap();
    explain(c).remove(0).phases.remove(i)
}

fn told(c: &Capture, p: Phase) -> Vec<(String, i64, i64, Reason, String)> {
    let name = |d: Option<DeviceId>| {
        d.map_or("-".to_string(), |d| c.names.get(c.graph.get(d).name).to_string())
    };
    let row =
        |s: &Segment| (name(s.device), s.start.0 / MS, s.end.0 / MS, s.reason, name(s.waited_for));
    phase_view(c, p).path.iter().map(row).collect()
}

fn row(
    device: &str,
    start: i64,
    end: i64,
    reason: Reason,
    waited_for: &str,
) -> (String, i64, i64, Reason, String) {
    (device.into(), start, end, reason, waited_for.into())
}

/// Fan-out: the parent waits for the slower of its children.
#[test]
fn a_parent_waits_for_its_slowest_child() {
    let mut c = capture(&[("P", None), ("C1", Some(0)), ("C2", Some(0))], 3);
    phase(&mut c, Phase::Suspend, 0, 160 * MS);
    callback(&mut c, 2, Phase::Suspend, 1, 0, 80 * MS);
    callback(&mut c, 1, Phase::Suspend, 2, 0, 120 * MS);
    callback(&mut c, 0, Phase::Suspend, 3, 120 * MS, 160 * MS);
    assert_eq!(
        told(&c, Phase::Suspend),
        [row("C1", 0, 120, Reason::PhaseBegin, "-"), row("P", 120, 160, Reason::Child, "C1"),]
    );
    let ranking = explain(&c).remove(0).ranking;
    // Without C1 the parent starts when C2 ends.
    assert_eq!(ranking.devices[1].gain[0], Ns(40 * MS));
    assert_eq!(ranking.devices[0].gain[0], Ns(40 * MS));
    assert_eq!(ranking.devices[2].gain[0], Ns::ZERO);
    assert_eq!(ranking.devices[2].hidden.unwrap().behind, Some(DeviceId(1)));
}

/// A synchronous device without callback is passed only when the walk reaches
/// it, so the async device above it starts after the sync device before it.
#[test]
fn a_silent_child_relays_the_order_of_the_main_thread() {
    let devices = [("R", None), ("X", Some(0)), ("D", Some(1)), ("S", Some(0))];
    let mut c = capture(&devices, 1);
    // Prepare shows that D exists.
    phase(&mut c, Phase::Prepare, -MS, 0);
    callback(&mut c, 2, Phase::Prepare, MAIN, -MS, -MS);
    phase(&mut c, Phase::Suspend, 0, 360 * MS);
    callback(&mut c, 3, Phase::Suspend, MAIN, 0, 160 * MS);
    callback(&mut c, 1, Phase::Suspend, 1, 160 * MS, 360 * MS);
    c.cycles[0].kernel = c.names.add("7.2.12");
    assert_eq!(
        told(&c, Phase::Suspend)[1],
        row("X", 160, 360, Reason::Child, "D"),
        "from 6.16 on a leaf is queued first, so the silent child is the reason"
    );
    assert!(phase_view(&c, Phase::Suspend).path[1].through_silent);
}

/// Up to 6.15 an async leaf is queued when the walk reaches it.
#[test]
fn an_async_leaf_is_queued_after_the_sync_device_before_it() {
    let mut c = capture(&[("R", None), ("A", Some(0)), ("S", Some(0))], 1);
    phase(&mut c, Phase::Suspend, 0, 360 * MS);
    callback(&mut c, 2, Phase::Suspend, MAIN, 0, 160 * MS);
    callback(&mut c, 1, Phase::Suspend, 1, 160 * MS, 360 * MS);
    assert_eq!(told(&c, Phase::Suspend)[1], row("A", 160, 360, Reason::Queue, "S"));
    c.cycles[0].kernel = c.names.add("6.18.5");
    let path = phase_view(&c, Phase::Suspend).path;
    // From 6.16 on leaves are queued first, so a child that the log does not
    // show must be the cause.
    assert_eq!((path[1].reason, path[1].proven), (Reason::Queue, false));
}

/// A synchronous device without callback holds the main thread until its async
/// child is done.
#[test]
fn the_main_thread_waits_at_a_silent_device() {
    let devices = [("R", None), ("S", Some(0)), ("P", Some(0)), ("C", Some(2))];
    let mut c = capture(&devices, 1);
    phase(&mut c, Phase::Suspend, 0, 300 * MS);
    callback(&mut c, 3, Phase::Suspend, 1, 0, 200 * MS);
    callback(&mut c, 1, Phase::Suspend, MAIN, 200 * MS, 300 * MS);
    assert_eq!(told(&c, Phase::Suspend)[1], row("S", 200, 300, Reason::MainThread, "C"));
}

#[test]
fn on_resume_a_child_waits_for_its_parent_and_a_consumer_for_its_supplier() {
    let devices = [("P", None), ("Q", None), ("C", Some(0)), ("D", None)];
    let mut c = capture(&devices, 4);
    let (consumer, supplier) = (DeviceId(3), DeviceId(1));
    c.graph.links.push(Link { consumer, supplier, kind: LinkKind::Stateless, pm_runtime: false });
    phase(&mut c, Phase::Resume, 0, 100 * MS);
    callback(&mut c, 0, Phase::Resume, 1, 0, 10 * MS);
    callback(&mut c, 1, Phase::Resume, 2, 0, 40 * MS);
    callback(&mut c, 2, Phase::Resume, 3, 10 * MS, 30 * MS);
    callback(&mut c, 3, Phase::Resume, 4, 40 * MS, 100 * MS);
    assert_eq!(told(&c, Phase::Resume)[1], row("D", 40, 100, Reason::Supplier, "Q"));
    c.cycles[0].callbacks.truncate(3);
    phase(&mut c, Phase::ResumeEarly, -10, 0);
    assert_eq!(told(&c, Phase::Resume).last().unwrap().3, Reason::Unexplained);
}

/// A long time that nothing in the log accounts for is not given a reason.
#[test]
fn what_the_log_does_not_explain_is_said_to_be_so() {
    let mut c = capture(&[("P", None), ("C", Some(0))], 2);
    phase(&mut c, Phase::Resume, 0, 900 * MS);
    callback(&mut c, 0, Phase::Resume, 1, 0, 10 * MS);
    callback(&mut c, 1, Phase::Resume, 2, 500 * MS, 900 * MS);
    let path = phase_view(&c, Phase::Resume).path;
    assert_eq!(path[1].reason, Reason::Unexplained);
    assert_eq!((path[2].reason, path[2].proven), (Reason::Parent, false));
    let (next, reason) = {
        let s = explain(&c).remove(0).stalls[0];
        (s.place, s.reason)
    };
    assert_eq!(reason, Some(Reason::Unexplained));
    let (phase, next_device) = (Phase::Resume, Some(DeviceId(1)));
    assert_eq!(next, stall::Place::OnPath { phase, next: next_device });
}

#[test]
fn a_child_that_ends_after_its_parent_began_is_a_contradiction() {
    let mut c = capture(&[("P", None), ("C", Some(0))], 2);
    phase(&mut c, Phase::Suspend, 0, 100 * MS);
    callback(&mut c, 1, Phase::Suspend, 1, 0, 60 * MS);
    callback(&mut c, 0, Phase::Suspend, 2, 50 * MS, 100 * MS);
    assert_eq!(phase_view(&c, Phase::Suspend).contradictions, 1);
}

/// Late suspend is aborted: `early` runs inside `late`. Every moment counts
/// once.
#[test]
fn nested_brackets_count_once() {
    let mut c = capture(&[("P", None)], 0);
    c.cycles[0].outcome = Outcome::AbortedByWakeup;
    phase(&mut c, Phase::Suspend, 5, 100);
    phase(&mut c, Phase::Late, 110, 200);
    phase(&mut c, Phase::ResumeEarly, 150, 190);
    phase(&mut c, Phase::Resume, 205, 300);
    let rows = rows::Rows::of(&c.cycles[0]);
    let counted: Vec<i64> = rows.list.iter().map(|r| r.counted.0).collect();
    assert_eq!(counted, [5, 95, 10, 50, 40, 5, 95]);
    assert!(rows.list[4].nested);
    assert_eq!(rows.total, Ns(300));
    assert_eq!(rows.not_counted, Ns::ZERO);
}

/// Suspend-to-idle goes round several times; nothing between the first and the
/// last turn is latency.
#[test]
fn turns_of_suspend_to_idle_are_one_row() {
    let mut c = capture(&[("P", None)], 0);
    phase(&mut c, Phase::Noirq, 0, 100);
    phase(&mut c, Phase::Asleep, 120, 1000);
    phase(&mut c, Phase::Asleep, 1100, 9000);
    phase(&mut c, Phase::ResumeNoirq, 9010, 9050);
    c.cycles[0].asleep = Some((Ns(120), Ns(9000)));
    let rows = rows::Rows::of(&c.cycles[0]);
    let asleep = rows.list.iter().find(|r| matches!(r.what, What::Asleep { .. })).unwrap();
    assert_eq!(asleep.what, What::Asleep { turns: 2 });
    assert_eq!(
        (rows.counted(Direction::Suspend), rows.counted(Direction::Resume)),
        (Ns(120), Ns(50))
    );
    assert_eq!(rows.not_counted, Ns(8880));
}

#[test]
fn a_test_level_waits_between_the_halves() {
    let mut c = capture(&[("P", None)], 0);
    c.cycles[0].mode = Mode::PmTest(PmTestLevel::Devices);
    phase(&mut c, Phase::Suspend, 0, 100);
    phase(&mut c, Phase::Resume, 5100, 5200);
    let rows = rows::Rows::of(&c.cycles[0]);
    assert_eq!((rows.total, rows.not_counted), (Ns(200), Ns(5000)));
    assert!(rows.list.iter().any(|r| r.what == What::Turn));
}

/// Callbacks at random, not as a kernel would run them: the laws must hold
/// even so.
fn any_capture() -> impl Strategy<Value = Capture> {
    let device = (any::<u8>(), 0..3u8, proptest::option::of(any::<bool>()));
    let callback = (any::<u8>(), 0..8usize, 0..4u16, 0..1200i64, 0..400i64);
    let spans = proptest::collection::vec((0..19usize, -10..1200i64, 0..500i64), 0..12);
    (
        proptest::collection::vec(device, 1..14),
        proptest::collection::vec(callback, 0..60),
        proptest::collection::vec((any::<u8>(), any::<u8>()), 0..8),
        spans,
        any::<bool>(),
        proptest::option::of((0..600i64, 600..1200i64)),
        0..4usize,
    )
        .prop_map(|(devices, callbacks, links, spans, order, asleep, kernel)| {
            let mut c = capture(&[], 3);
            let n = devices.len();
            for (i, (parent, has, is_async)) in devices.into_iter().enumerate() {
                let name = c.names.add(&std::format!("d{}", i / 2));
                // Parents may even lie later in the list, or be the device.
                let parent = (has > 0).then_some(DeviceId(u32::from(parent) % n as u32));
                c.graph.push(Device { name, parent, async_flag: is_async, ..Device::default() });
            }
            let id = |i: u8| DeviceId(u32::from(i) % n as u32);
            for (a, b) in links {
                let (consumer, supplier) = (id(a), id(b));
                let kind = LinkKind::Active;
                c.graph.links.push(Link { consumer, supplier, kind, pm_runtime: false });
            }
            c.graph.order_known = order;
            for (p, start, len) in spans {
                phase(&mut c, Phase::ALL[p], start, start + len);
            }
            for (d, p, thread, start, len) in callbacks {
                callback_at(&mut c, id(d), Phase::DEVICE[p], thread, start, start + len);
            }
            c.cycles[0].asleep = asleep.map(|(a, b)| (Ns(a), Ns(b)));
            let release = ["", "5.3.0", "6.8.1", "7.2.12"][kernel];
            c.cycles[0].kernel = c.names.add(release);
            c
        })
}

fn callback_at(c: &mut Capture, d: DeviceId, p: Phase, thread: u16, start: i64, end: i64) {
    callback(c, d.index(), p, thread, start, end);
}

proptest! {

    #[test]
    fn segments_partition_every_phase(c in any_capture()) {
        let view = explain(&c).remove(0);
        for (span, v) in c.cycles[0].phases.iter().zip(&view.phases) {
            if span.phase == Phase::Asleep {
                continue;
            }
            let mut at = span.start;
            for s in &v.path {
                prop_assert_eq!(s.start, at);
                prop_assert!(s.end >= s.start);
                at = s.end;
            }
            prop_assert_eq!(at, span.end);
        }
    }

    #[test]
    fn rows_add_up_to_the_total(c in any_capture()) {
        let cycle = &c.cycles[0];
        let rows = rows::Rows::of(cycle);
        let sum: Ns = rows.list.iter().map(|r| r.counted).sum();
        prop_assert_eq!(sum, rows.total);
        prop_assert_eq!(rows.total + rows.not_counted, cycle.end.since(cycle.start));
        for r in &rows.list {
            prop_assert!(r.counted <= r.end.since(r.start));
        }
    }

    /// The gain against its definition: take the time away and recompute.
    #[test]
    fn gains_agree_with_their_definition(c in any_capture()) {
        let cycle = &c.cycles[0];
        let mut scratch = local::Scratch::default();
        let local = local::Local::of(&c.graph, cycle, &mut scratch);
        let mains = structure::main_threads(cycle);
        let rules = rules(c.names.get(cycle.kernel));
        let seen = structure::Seen { capture: &c, cycle, local: &local, mains: &mains, rules };
        let (mut room, mut around) = (structure::Room::default(), gain::Room::default());
        for (span, view) in cycle.phases.iter().zip(explain(&c).remove(0).phases) {
            let s = structure::Structure::of(&seen, span, &view.callbacks, &mut room);
            let critical = s.critical_nodes();
            let gains = gain::gains(&s, &critical, span.end, &mut around);
            for (&i, &gain) in critical.iter().zip(&gains.each) {
                prop_assert_eq!(span.end - gain, retimed(&s, span, i));
            }
            // The next phase is looked at in the same memory.
            around.reuse(gains);
            room.reuse(s);
        }
    }
}

/// End of the phase if node `without` took no time.
fn retimed(s: &structure::Structure, span: &PhaseSpan, without: u32) -> Ns {
    let last = s.nodes.iter().map(|n| n.end).max().unwrap();
    let mut end = std::vec![Ns::ZERO; s.nodes.len()];
    for (i, n) in s.nodes.iter().enumerate() {
        let before = s.edges.iter().filter(|e| e.to as usize == i).map(|e| end[e.from as usize]);
        let ready = before.max().unwrap_or(span.start);
        let run = if i == without as usize { Ns::ZERO } else { n.end.since(n.start) };
        end[i] = ready + n.lag + run;
    }
    end.into_iter().max().unwrap() + span.end.since(last)
}

#[test]
fn the_gap_in_freeze_is_named_by_the_kind_of_sleep() {
    let of = |mode| rows::gap_content(mode, Some(Phase::FreezeUser), Some(Phase::FreezeKernel));
    assert_eq!(of(Mode::Disk), "image memory allocated");
    assert_eq!(of(Mode::Deep), "OOM killer off");
    assert_eq!(of(Mode::Unknown), "between phases");
}

/// The steps of a hibernation's image are rows of their own, in the half in which
/// somebody waits for them; what came before the first line is none.
#[test]
fn images_are_rows_and_rows_still_add_up() {
    let mut c = capture(&[("P", None)], 0);
    phase(&mut c, Phase::Resume, 100, 200);
    phase(&mut c, Phase::Suspend, 900, 1000);
    c.cycles[0].start = Ns(100);
    let step = |work, start, end| ImageStep { work, start: Ns(start), end: Ns(end), bytes: 1 };
    c.cycles[0].image = vec![step(ImageWork::Allocate, 10, 90), step(ImageWork::Write, 250, 850)];
    let rows = rows::Rows::of(&c.cycles[0]);
    let images: Vec<&rows::Row> =
        rows.list.iter().filter(|r| matches!(r.what, What::Image(_))).collect();
    assert_eq!(images.len(), 1);
    assert_eq!((images[0].counted, images[0].direction), (Ns(600), Direction::Suspend));
    assert_eq!(rows.list.iter().map(|r| r.counted).sum::<Ns>(), rows.total);
    let down = explain(&c).remove(0).answer.suspend.and_then(|h| h.elsewhere());
    assert_eq!(down, Some((Other::Image(ImageWork::Write), Ns(600))));
}
