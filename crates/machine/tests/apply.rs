//! Trying flags and keeping them, on a made-up tree.

use crate::fake::{Fake, Kernel};
use dormouse_machine::apply::{Flags, Unfit, keep, measure, rehearse, sleeps};
use dormouse_machine::guard::{
    NoObserver, Observer, Restored, Step, count_kept, restore, restore_kept,
};
use dormouse_machine::journal::FOLDER;
use dormouse_machine::options::Options;
use dormouse_machine::recorder::{NoWatch, Progress, Watch};
use std::io;
use std::time::Duration;

const DISK: &str = "/sys/devices/platform/soc/vda";
const SOC: &str = "/sys/devices/platform/soc";

fn options() -> Options {
    Options {
        cycles: 3,
        pm_test: Some("devices".into()),
        interval: Duration::ZERO,
        ..Options::default()
    }
}

/// The disk is async and becomes synchronous, its parent the other way round.
fn flags() -> Flags {
    Flags { pm_async: Some(false), devices: vec![(DISK.into(), false), (SOC.into(), true)] }
}

fn state(fake: &Fake) -> String {
    let paths =
        ["/sys/power/pm_async", &format!("{DISK}/power/async"), &format!("{SOC}/power/async")];
    paths.map(|p| fake.root.read(p).unwrap()).join(" ")
}

const BEFORE: &str = "1 enabled disabled";
const AFTER: &str = "0 disabled enabled";

/// Notes the flags whenever the machine sleeps.
struct Noting<'a> {
    kernel: Kernel<'a>,
    slept_with: Vec<String>,
}

impl Observer for Noting<'_> {
    fn before(&mut self, step: &Step) -> io::Result<()> {
        if matches!(step, Step::Write { path, .. } if path == "/sys/power/state") {
            self.slept_with.push(state(self.kernel.fake));
        }
        self.kernel.before(step)
    }
    fn after(&mut self, step: &Step) {
        self.kernel.after(step);
    }
}

/// One pair in each order.
const ORDER: [bool; 2] = [true, false];

#[test]
fn pairs_are_measured_in_their_order_and_the_machine_is_as_it_was() {
    let fake = Fake::new();
    let before = fake.snapshot();
    assert_eq!(state(&fake), BEFORE);
    let mut noting = Noting { kernel: Kernel::new(&fake), slept_with: Vec::new() };
    let m = measure(&fake.root, &options(), &flags(), &ORDER, &mut noting, &mut NoWatch).unwrap();
    assert!(m.is_whole(), "{m:?}");
    let pairs: Vec<_> = m.tries.iter().map(|t| (t.pair, t.with_flags)).collect();
    let warm_up = [(None, false), (None, true)];
    let counted = [(Some(0), true), (Some(0), false), (Some(1), false), (Some(1), true)];
    assert_eq!(pairs, [&warm_up[..], &counted].concat());
    assert!(m.tries.iter().all(|t| t.recording.len() == 1));
    let want = [BEFORE, AFTER, AFTER, BEFORE, BEFORE, AFTER];
    assert_eq!(noting.slept_with, want);
    assert_eq!(noting.slept_with.len(), sleeps(ORDER.len()));
    for side in [false, true] {
        let side = m.side(side);
        let numbers: Vec<u32> = side.cycles().map(|c| c.unwrap().stats.number).collect();
        assert_eq!(numbers, [1, 2]);
    }
    assert_eq!(fake.snapshot(), before);
    assert_eq!(count_kept(&fake.root, FOLDER), 0);
}

#[test]
fn what_is_kept_survives_restore_and_recordings_until_asked_back() {
    let fake = Fake::new();
    let before = fake.snapshot();
    assert_eq!(keep(&fake.root, FOLDER, &flags(), &mut NoObserver).unwrap(), 3);
    assert_eq!(state(&fake), AFTER);
    assert!(!fake.at("/run/dormouse/journal").exists());
    let plain = restore(&fake.root, FOLDER, &mut NoObserver).unwrap();
    assert_eq!(plain, Restored::default());
    let mut kernel = Kernel::new(&fake);
    let none = Flags::default();
    let m = measure(&fake.root, &options(), &none, &ORDER, &mut kernel, &mut NoWatch).unwrap();
    assert!(m.is_whole(), "{m:?}");
    assert_eq!(state(&fake), AFTER);
    assert_eq!(count_kept(&fake.root, FOLDER), 3);
    // Kept again: nothing is pending, so nothing more is remembered.
    assert_eq!(keep(&fake.root, FOLDER, &flags(), &mut NoObserver).unwrap(), 0);
    let restored = restore_kept(&fake.root, FOLDER, &mut NoObserver).unwrap();
    assert_eq!(restored.done.len(), 3);
    assert_eq!(fake.snapshot(), before);
    assert_eq!(count_kept(&fake.root, FOLDER), 0);
}

#[test]
fn several_that_were_kept_go_back_to_the_first() {
    let fake = Fake::new();
    let before = fake.snapshot();
    let one = |on| Flags { pm_async: None, devices: vec![(DISK.into(), on)] };
    for on in [false, true, false] {
        assert_eq!(keep(&fake.root, FOLDER, &one(on), &mut NoObserver).unwrap(), 1);
    }
    keep(&fake.root, FOLDER, &flags(), &mut NoObserver).unwrap();
    assert_eq!(count_kept(&fake.root, FOLDER), 5);
    restore_kept(&fake.root, FOLDER, &mut NoObserver).unwrap();
    assert_eq!(fake.snapshot(), before);
}

/// All of it, as the command does it.
fn everything(fake: &Fake, kernel: &mut Kernel<'_>) -> bool {
    match measure(&fake.root, &options(), &flags(), &ORDER, kernel, &mut NoWatch) {
        Ok(m) if m.is_whole() => keep(&fake.root, FOLDER, &flags(), kernel).is_ok(),
        _ => false,
    }
}

#[test]
fn killed_at_any_step_it_is_all_or_nothing() {
    let fake = Fake::new();
    let mut kernel = Kernel::new(&fake);
    assert!(everything(&fake, &mut kernel));
    let total = kernel.steps.len();
    let kept_at = kernel.steps.iter().position(|s| *s == Step::KeepJournal).unwrap();
    assert!(total > 150 && kept_at + 1 == total, "{kept_at} of {total}");
    drop(kernel);
    let mut changed = 0;
    // The last of these is killed before the journal is put aside.
    for die_at in 0..total {
        let fake = Fake::new();
        let before = fake.snapshot();
        let mut kernel = Kernel::new(&fake);
        kernel.die_at = Some(die_at);
        assert!(!everything(&fake, &mut kernel));
        changed += usize::from(state(&fake) != BEFORE);
        let restored = restore(&fake.root, FOLDER, &mut Kernel::new(&fake)).unwrap();
        assert!(restored.failed.is_empty(), "step {die_at}: {:?}", restored.failed);
        assert_eq!(fake.snapshot(), before, "killed before step {die_at}");
        assert_eq!(count_kept(&fake.root, FOLDER), 0);
    }
    assert!(changed > 20, "only {changed} times a flag was changed when it was killed");
}

#[test]
fn killed_while_asking_back_it_can_be_asked_back_again() {
    let all = 20;
    for die_at in 0..all {
        let fake = Fake::new();
        let before = fake.snapshot();
        let one = Flags { pm_async: None, devices: vec![(SOC.into(), true)] };
        keep(&fake.root, FOLDER, &one, &mut NoObserver).unwrap();
        keep(&fake.root, FOLDER, &flags(), &mut NoObserver).unwrap();
        let mut dying = Kernel::new(&fake);
        dying.die_at = Some(die_at);
        let first = restore_kept(&fake.root, FOLDER, &mut dying);
        let whole = first.is_ok_and(|r| r.failed.is_empty());
        restore_kept(&fake.root, FOLDER, &mut NoObserver).unwrap();
        assert_eq!(fake.snapshot(), before, "killed before step {die_at}");
        if whole {
            assert!(die_at > 3, "there was nothing to kill");
            return;
        }
    }
    panic!("it never came to its end");
}

#[test]
fn after_a_restart_nothing_is_kept_any_more() {
    let fake = Fake::new();
    keep(&fake.root, FOLDER, &flags(), &mut NoObserver).unwrap();
    fake.put("/proc/sys/kernel/random/boot_id", "boot-2\n");
    assert_eq!(count_kept(&fake.root, FOLDER), 0);
    let restored = restore_kept(&fake.root, FOLDER, &mut NoObserver).unwrap();
    assert!(restored.earlier_boot && restored.done.is_empty());
    assert_eq!(state(&fake), AFTER);
    assert!(!fake.at("/run/dormouse/kept-1").exists());
}

#[test]
fn flags_of_another_machine_are_refused_before_anything_is_done() {
    let fake = Fake::new();
    let with = |path: &str| Flags { pm_async: None, devices: vec![(path.into(), true)] };
    let absent = with("/sys/devices/platform/absent");
    let e = absent.pending(&fake.root).unwrap_err();
    assert!(matches!(&e, Unfit::NotHere { path } if path.ends_with("absent/power/async")), "{e}");
    assert!(e.to_string().contains("record this machine"));
    let out = with("/sys/devices/../power").pending(&fake.root);
    assert!(matches!(out, Err(Unfit::NotADevice { .. })), "{out:?}");
    let before = fake.snapshot();
    assert!(keep(&fake.root, FOLDER, &absent, &mut NoObserver).is_err());
    assert_eq!(fake.snapshot(), before);
    assert!(!fake.at("/run/dormouse/journal").exists());
    let same = Flags { pm_async: Some(true), devices: vec![(DISK.into(), true)] };
    assert_eq!(same.pending(&fake.root).unwrap(), []);
    assert_eq!(flags().pending(&fake.root).unwrap().len(), 3);
}

/// Stops after some cycles, as Ctrl-C does.
struct Impatient(u32);
impl Watch for Impatient {
    fn progress(&mut self, progress: Progress) {
        if matches!(progress, Progress::End { .. }) {
            self.0 = self.0.saturating_sub(1);
        }
    }
    fn stop(&self) -> bool {
        self.0 == 0
    }
}

#[test]
fn stopped_or_failed_it_says_so_and_the_machine_is_as_it_was() {
    let fake = Fake::new();
    let before = fake.snapshot();
    for cycles in 1..6 {
        let mut kernel = Kernel::new(&fake);
        let mut watch = Impatient(cycles);
        let m = measure(&fake.root, &options(), &flags(), &ORDER, &mut kernel, &mut watch).unwrap();
        assert!(!m.is_whole() && m.error.is_none(), "{m:?}");
        assert_eq!(fake.snapshot(), before);
    }
    let mut kernel = Kernel::new(&fake);
    kernel.broken_test = true;
    let m = measure(&fake.root, &options(), &flags(), &ORDER, &mut kernel, &mut NoWatch).unwrap();
    assert!(m.error.is_some() && !m.stopped);
}

/// Only collects, as a dry run does.
struct Steps(Vec<Step>);
impl Observer for Steps {
    fn before(&mut self, step: &Step) -> io::Result<()> {
        self.0.push(step.clone());
        Ok(())
    }
}

#[test]
fn a_rehearsal_shows_every_write_and_makes_none() {
    let fake = Fake::new();
    let before = fake.snapshot();
    let mut steps = Steps(Vec::new());
    rehearse(&fake.root, &options(), &flags(), &mut steps).unwrap();
    let written = |path: &str| {
        let is = |s: &&Step| matches!(s, Step::Write { path: p, .. } if p == path);
        steps.0.iter().filter(is).count()
    };
    assert_eq!(written("/sys/power/state"), 2);
    // For the recording, and to stay.
    assert_eq!(written(&format!("{DISK}/power/async")), 2);
    assert_eq!(steps.0.last(), Some(&Step::KeepJournal));
    assert_eq!(fake.snapshot(), before);
}
