//! Where the change of a phase comes from, in sums that are exact.

use crate::compare_order::recording;
use dormouse_base::capture::Capture;
use dormouse_base::cycle::Outcome;
use dormouse_base::phase::Phase;
use dormouse_sleep::analyse::{CycleView, explain};
use dormouse_sleep::compare::account::{Account, Source};
use dormouse_sleep::compare::excerpt::excerpts;
use dormouse_sleep::compare::{Subject, compare};

fn subject<'a>(label: &str, of: &'a (Capture, Vec<CycleView>)) -> Subject<'a> {
    Subject { label: label.into(), captures: vec![(&of.0, of.1.as_slice())] }
}

/// Sees the accounts of two boards, in whole milliseconds a kind.
fn accounts(a: &str, b: &str, see: impl FnOnce(&[Account<'_>])) {
    let (a, b) = (recording(a), recording(b));
    let c = compare(&[subject("a", &a), subject("b", &b)], false).expect("comparable");
    for account in &c.accounts[0] {
        let sum: f64 = account.shares.iter().map(|s| s.change).sum();
        assert!((sum - account.change()).abs() < 0.5, "{account:?}");
        let kinds = ["device", "order", "wait", "unexplained"];
        let by_kind: f64 = kinds.iter().map(|k| account.of_kind(k)).sum();
        assert!((by_kind - account.change()).abs() < 0.5, "{account:?}");
    }
    see(&c.accounts[0]);
}

fn of_suspend<'c, 'a>(list: &'c [Account<'a>]) -> &'c Account<'a> {
    list.iter().find(|a| a.phase == Phase::Suspend).expect("suspend")
}

/// Nearly so many milliseconds.
fn near(ns: f64, ms: f64) -> bool {
    (ns / 1e6 - ms).abs() < 0.5
}

const PAIR: &str = "device bus\n\
    device tape parent=bus suspend=40ms resume=2ms async\n\
    device lamp parent=bus suspend=25ms resume=2ms async\n";

#[test]
fn a_device_that_is_slower_itself_is_a_device() {
    accounts(PAIR, &PAIR.replace("40ms", "52ms"), |list| {
        let suspend = of_suspend(list);
        assert!(near(suspend.change(), 12.0) && near(suspend.of_kind("device"), 12.0), "{list:?}");
        assert!(near(suspend.of_kind("order"), 0.0) && near(suspend.of_kind("unexplained"), 0.0));
        let Source::Device(most) = suspend.shares[0].source else { panic!("{suspend:?}") };
        assert_eq!(most.name, "tape");
    });
}

#[test]
fn a_device_that_no_longer_runs_beside_another_is_order() {
    let one_by_one = PAIR.replace(" async", "");
    accounts(PAIR, &one_by_one, |list| {
        let suspend = of_suspend(list);
        assert!(near(suspend.change(), 25.0) && near(suspend.of_kind("order"), 25.0), "{list:?}");
        assert!(near(suspend.of_kind("device"), 0.0), "{suspend:?}");
        let Source::Order(most) = suspend.shares[0].source else { panic!("{suspend:?}") };
        assert_eq!(most.name, "lamp");
    });
}

#[test]
fn a_device_that_was_hidden_and_grew_is_both() {
    // 25 ms hidden behind 40 become 65 of their own: 40 of growth, 25 of order, less the 40
    // that now hide behind them.
    accounts(PAIR, &PAIR.replace("25ms", "65ms"), |list| {
        let suspend = of_suspend(list);
        assert!(near(suspend.change(), 25.0), "{suspend:?}");
        assert!(near(suspend.of_kind("device"), 40.0), "{suspend:?}");
        assert!(near(suspend.of_kind("order"), -15.0), "{suspend:?}");
    });
}

#[test]
fn excerpts_are_compared_by_what_both_show() {
    let cut = |board: &str| {
        let mut of = recording(board);
        let cycle = &mut of.0.cycles[0];
        cycle.outcome = Outcome::Partial;
        cycle.phases.retain(|p| p.phase == Phase::Suspend);
        cycle.callbacks.retain(|c| c.phase == Phase::Suspend);
        of.1 = explain(&of.0);
        of
    };
    let (a, b) = (cut(PAIR), cut(&PAIR.replace("25ms", "31ms")));
    let (a, b) = (subject("a", &a), subject("b", &b));
    assert!(compare(&[a.clone(), b.clone()], false).is_err(), "no total to compare");
    let found = excerpts(&a, &b).expect("the same callbacks");
    assert_eq!(found.runs, [1, 1]);
    assert_eq!((found.both.len(), found.both[0].called.device), (2, "lamp"));
    assert!(near(found.both[0].change(), 6.0) && found.alone.iter().all(Vec::is_empty));
    assert!(near(of_suspend(&found.accounts).change(), 0.0), "it still hides behind the tape");
    let other = cut(&PAIR.replace("tape", "disc").replace("lamp", "fan"));
    let none = excerpts(&a, &subject("c", &other));
    assert!(none.is_none_or(|e| e.both.is_empty() && e.accounts.is_empty()));
}
