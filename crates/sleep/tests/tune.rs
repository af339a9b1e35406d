//! Tuning against looking at every setting, and against simpler choices.

use dormouse_base::time::Ns;
use dormouse_board::generate::{Options as BoardOptions, generate};
use dormouse_board::{Board, parse};
use dormouse_sleep::simulate::policy::{G1, G4};
use dormouse_sleep::simulate::{Policy, Profile, Settings, simulate};
use dormouse_sleep::tune::{Options, tune};
use std::fs;

fn cases() -> Vec<(String, Board)> {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../boards/cases");
    let mut list: Vec<(String, Board)> = fs::read_dir(dir)
        .expect("the worked cases are there")
        .map(|f| f.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "board"))
        .map(|p| {
            let text = fs::read_to_string(&p).unwrap();
            (p.file_stem().unwrap().to_string_lossy().into_owned(), parse(&text).unwrap())
        })
        .collect();
    list.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(list.len() >= 19);
    list
}

fn total(board: &Board, policy: &Policy, settings: &Settings) -> Ns {
    let run = simulate(board, policy, settings).unwrap();
    run.cycle.phases.iter().filter(|p| p.phase.has_devices()).map(|p| p.duration()).sum()
}

#[test]
fn few_flags_are_tuned_to_the_optimum() {
    let settings = Settings::zero_cost();
    for (name, board) in cases() {
        let failing = board.devices.iter().flat_map(|d| d.work).flatten().any(|w| w.ret < 0);
        if failing || board.devices.len() > 8 {
            continue;
        }
        for policy in [&G1, &G4] {
            let options = Options { bold: true, worthwhile: Ns(1), ..Options::new(&board) };
            let tuned = tune(&board, policy, &settings, &options).unwrap();
            assert!(tuned.exact);
            let n = board.devices.len();
            let best = (0..1u32 << n)
                .map(|mask| {
                    let mut b = board.clone();
                    for i in 0..n {
                        b.graph.devices[i].async_flag = Some(mask >> i & 1 == 1);
                    }
                    total(&b, policy, &settings)
                })
                .min()
                .unwrap();
            assert_eq!(tuned.after.total(), best, "{name}");
        }
    }
}

#[test]
fn a_callback_less_child_is_made_async_without_being_bold() {
    // c25: the class device D keeps its parent X from starting early.
    let (_, board) = cases().into_iter().find(|(n, _)| n.starts_with("c25")).unwrap();
    let tuned = tune(&board, &G4, &Settings::zero_cost(), &Options::new(&board)).unwrap();
    assert_eq!(tuned.before.suspend, Ns::from_ms(360));
    assert_eq!(tuned.after.suspend, Ns::from_ms(200));
    let names: Vec<&str> =
        tuned.flips.iter().map(|f| board.names.get(board.graph.get(f.device).name)).collect();
    assert_eq!(names, ["D"]);
}

/// No simpler choice beats what was tuned.
fn beats_simple_choices(name: &str, board: &Board, limit: u64, profile: Profile) {
    for policy in [&G1, &G4] {
        let mut settings = Settings { profile: profile.clone(), pm_async: None, wakeup_at: None };
        settings.complete(board.cpus, None);
        for bold in [false, true] {
            let options = Options { bold, limit, ..Options::new(board) };
            let t = tune(board, policy, &settings, &options).unwrap();
            for (what, other) in [
                ("as it came", t.before),
                ("all sync", t.all_sync),
                ("all async", t.all_async),
                ("random", t.random),
            ] {
                assert!(
                    t.after.total() <= other.total(),
                    "{name}, {}, bold {bold}: {} is worse than {what}, {}",
                    policy.name,
                    t.after.total(),
                    other.total()
                );
            }
        }
    }
}

fn zoo(name: &str) -> Board {
    let path = format!("{}/../../boards/{name}.board", env!("CARGO_MANIFEST_DIR"));
    parse(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn better_than_simple_choices_on_generated_boards() {
    for seed in 1..=2 {
        let board = generate(&BoardOptions { seed, devices: 80, ..BoardOptions::default() });
        beats_simple_choices(&format!("seed {seed}"), &board, 300, Profile::x86());
    }
    let board = generate(&BoardOptions { seed: 3, devices: 40, ..BoardOptions::default() });
    let settings = Settings { profile: Profile::x86(), pm_async: None, wakeup_at: None };
    let options = Options { bold: true, limit: 100, ..Options::new(&board) };
    let t = tune(&board, &G4, &settings, &options).unwrap();
    assert_eq!(t, tune(&board, &G4, &settings, &options).unwrap(), "deterministic");
}

#[test]
fn better_than_simple_choices_on_the_small_boards_of_the_zoo() {
    for (name, board) in cases() {
        for profile in [Profile::zero(), Profile::x86()] {
            beats_simple_choices(&name, &board, 300, profile);
        }
    }
    beats_simple_choices("am335x", &zoo("am335x"), 200, Profile::x86());
}

#[test]
#[cfg_attr(debug_assertions, ignore = "a minute without optimisation: cargo test --release")]
fn better_than_simple_choices_on_the_large_boards_of_the_zoo() {
    for name in ["laptop", "phone", "server"] {
        beats_simple_choices(name, &zoo(name), 500, Profile::x86());
    }
}

#[test]
fn kept_devices_stay_as_they_are() {
    let board = generate(&BoardOptions { seed: 9, devices: 60, ..BoardOptions::default() });
    let settings = Settings::zero_cost();
    let mut options = Options { bold: true, ..Options::new(&board) };
    options.keep = vec![true; board.devices.len()];
    let tuned = tune(&board, &G4, &settings, &options).unwrap();
    assert!(tuned.flips.is_empty());
    assert_eq!(tuned.free_flags, 0);
}
