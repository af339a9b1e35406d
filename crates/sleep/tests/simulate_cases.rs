//! The worked cases of the scheduling rules: every policy, both directions,
//! exactly as in the table. The table agrees with kernels 6.1.192 (G1w),
//! 6.12.111 (G1), 7.2.12 (G4) and with pm_async=0 on each (G0).

use crate::common;

use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;
use dormouse_sleep::simulate::{Policy, Settings, simulate};
use serde_json::{Map, Value, json};

const POLICIES: [&str; 9] = ["G0", "G1w", "G1", "GS", "G2", "G3", "G4", "DC", "DCw"];

/// Case-phases in which `policy` differs from the table of `table`, and how
/// many were compared.
fn mismatches(policy: &str, table: &str) -> (Vec<String>, usize) {
    let cases = common::cases();
    let policy = Policy::find(policy).expect("policy");
    let mut compared = 0;
    let mut wrong = Vec::new();
    for case in cases["cases"].as_array().expect("cases") {
        let id = case["id"].as_str().expect("id");
        let Some(expected) = cases["expected"][id].get(table) else { continue };
        let board = common::board(case);
        let run = simulate(&board, policy, &Settings::zero_cost()).expect("no deadlock");
        for (direction, phase) in
            [(Direction::Suspend, Phase::Suspend), (Direction::Resume, Phase::Resume)]
        {
            let span = *run.cycle.phase(phase).expect("phase ran");
            let mut got = Map::new();
            for c in run.cycle.callbacks.iter().filter(|c| c.phase == phase) {
                let device = board.names.get(board.graph.get(c.device).name);
                let times = json!([ms(c.start - span.start), ms(c.end - span.start)]);
                assert!(got.insert(device.into(), times).is_none(), "{device} ran twice");
            }
            let expected_total = &expected["total"][direction.name()];
            let expected = &expected[direction.name()];
            compared += 1;
            if Value::Object(got.clone()) != *expected
                || json!(ms(span.duration())) != *expected_total
            {
                wrong.push(format!(
                    "{id} {} {}: expected {expected} got {}",
                    policy.name,
                    direction.name(),
                    Value::Object(got)
                ));
            }
        }
    }
    (wrong, compared)
}

fn ms(t: Ns) -> i64 {
    assert_eq!(t.0 % 1_000_000, 0, "whole milliseconds");
    t.0 / 1_000_000
}

#[test]
fn all_cases_under_all_policies_equal_the_table() {
    let mut total = 0;
    for name in POLICIES {
        let (wrong, compared) = mismatches(name, name);
        assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
        total += compared;
    }
    println!("{total} case-phases compared, 0 wrong");
    // c14 has no row for the two proposals.
    assert_eq!(total, 19 * 9 * 2 - 4);
}

/// The patches of kernel/upstream: as the kernel that has them did (docs/validation/upstream.md),
/// and nowhere slower than without.
#[test]
fn nothing_but_work_holds_up_the_walk_of_the_series() {
    let cases = common::cases();
    let by = |name| Policy::find(name).expect("policy");
    let mut seen = Map::new();
    for case in cases["cases"].as_array().expect("cases") {
        let id = case["id"].as_str().expect("id");
        let board = common::board(case);
        let half = |policy, phase| {
            let run = simulate(&board, policy, &Settings::zero_cost()).expect("no deadlock");
            ms(run.cycle.phase(phase).expect("phase ran").duration())
        };
        for phase in [Phase::Suspend, Phase::Resume] {
            let (with, without) = (half(by("series"), phase), half(by("G4"), phase));
            assert!(with <= without, "{id} {phase:?}: {without} -> {with}");
        }
        seen.insert(id.into(), json!(half(by("series"), Phase::Suspend)));
    }
    for (id, suspend) in
        [("c10", 200), ("c11", 200), ("c13", 200), ("c21", 200), ("c25", 200), ("c26", 120)]
    {
        let (_, got) = seen.iter().find(|(i, _)| i.to_lowercase() == id).expect(id);
        assert_eq!(*got, json!(suspend), "{id}");
    }
}

/// A device without callbacks holds up the walk if runtime PM is enabled for it, and what is
/// not known of that is said.
#[test]
fn what_is_not_known_of_devices_without_callbacks_is_said() {
    use dormouse_board::assumed::Assumed;
    use dormouse_sleep::simulate::predict::Scheduler;
    let series = Policy::find("series").expect("policy");
    let suspend = |status: &str| {
        let text = format!(
            "board 1\ncpus 2\ndevice p sync{status}\ndevice a parent=p async suspend=50ms\n\
             device q sync\ndevice b parent=q async suspend=50ms\n"
        );
        let board = dormouse_board::parse(&text).expect("a board");
        let run = simulate(&board, series, &Settings::zero_cost()).expect("no deadlock");
        let taken = Scheduler { policy: series, kernel: None }.cautions(&board);
        (ms(run.cycle.phase(Phase::Suspend).expect("it ran").duration()), taken)
    };
    assert_eq!(suspend(""), (50, vec![Assumed::Inert(2)]));
    assert_eq!(suspend(" runtime_status=active"), (50, vec![Assumed::Inert(1)]));
    let of_q = "board 1\ncpus 2\ndevice p sync runtime_status=unsupported\ndevice a parent=p \
                async suspend=50ms\ndevice q sync runtime_status=suspended\ndevice b parent=q \
                async suspend=50ms late=1ms\n";
    let board = dormouse_board::parse(of_q).expect("a board");
    let taken = Scheduler { policy: series, kernel: None }.cautions(&board);
    assert_eq!(taken, vec![]);
}

/// The comparison can fail: another generation's table does not fit.
#[test]
fn a_policy_does_not_fit_the_table_of_another() {
    for (policy, table) in
        [("G1", "G4"), ("G1w", "G1"), ("G4", "G1"), ("G2", "G3"), ("G3", "G4"), ("DC", "DCw")]
    {
        let (wrong, _) = mismatches(policy, table);
        assert!(!wrong.is_empty(), "{policy} fits the table of {table}");
    }
}
