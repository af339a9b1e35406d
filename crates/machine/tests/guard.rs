//! Stops the recorder between any two of its steps, as `kill -9` would, and
//! checks that `restore` leaves the tree as it was.

use crate::fake::{ALARM, Fake, INSTANCE, Kernel};
use dormouse_machine::guard::{self, NoObserver, Step, restore};
use dormouse_machine::journal::{self, Entry};
use dormouse_machine::options::{Inside, Options, State, Wake};
use dormouse_machine::recorder::{self, NoWatch};
use std::fs;
use std::time::Duration;

fn everything() -> Options {
    Options {
        cycles: 2,
        state: State::Mem,
        mem_sleep: Some("deep".into()),
        wake: Wake::Rtc { seconds: 20 },
        interval: Duration::ZERO,
        pm_async: Some(false),
        set: vec![("/sys/devices/platform/soc/vda/power/async".into(), "disabled".into())],
        sync: Some(false),
        console_suspend: Some(false),
        ..Options::default()
    }
}

fn a_test_level() -> Options {
    Options { pm_test: Some("devices".into()), ..everything() }
}

/// Functions of a kernel that has probes, besides those with other names than ours.
const FUNCTIONS: [&str; 4] =
    ["msleep", "schedule_timeout", "wait_for_completion", "__mutex_unlock_slowpath.isra.0"];

fn inside() -> Options {
    Options { inside: Inside::All, ..a_test_level() }
}

#[test]
fn killed_at_any_step_every_knob_is_put_back() {
    for options in [everything(), a_test_level(), inside()] {
        let fake = Fake::new().with_functions(&FUNCTIONS);
        let mut kernel = Kernel::new(&fake);
        let outcome = recorder::record(&fake.root, &options, &mut kernel, &mut NoWatch).unwrap();
        assert!(outcome.error.is_none(), "{:?}", outcome.error);
        let total = kernel.steps.len();
        let changed = kernel.steps.iter().filter(|s| matches!(s, Step::Announce(_))).count();
        assert!(changed >= 9, "only {changed} knobs were changed");
        drop(kernel);
        for die_at in 0..total {
            killed_at(&options, die_at);
        }
    }
}

fn killed_at(options: &Options, die_at: usize) {
    let fake = Fake::new().with_functions(&FUNCTIONS);
    let before = fake.snapshot();
    let mut kernel = Kernel::new(&fake);
    kernel.die_at = Some(die_at);
    // From that step on the observer refuses every step, including those that
    // put things back: nothing more happens to the tree.
    let _ = recorder::record(&fake.root, options, &mut kernel, &mut NoWatch);
    assert_eq!(kernel.steps.len(), die_at);
    let mut after = Kernel::new(&fake);
    let restored = restore(&fake.root, journal::FOLDER, &mut after).unwrap();
    assert!(restored.failed.is_empty(), "step {die_at}: {:?}", restored.failed);
    assert_eq!(fake.snapshot(), before, "killed before step {die_at}");
    assert!(!fake.at("/run/dormouse/journal").exists());
    // A second restore has nothing to do.
    let again = restore(&fake.root, journal::FOLDER, &mut NoObserver).unwrap();
    assert_eq!(again, guard::Restored::default());
}

#[test]
fn killed_while_restoring_it_can_be_restored_again() {
    let options = everything();
    let fake = Fake::new();
    let mut kernel = Kernel::new(&fake);
    recorder::record(&fake.root, &options, &mut kernel, &mut NoWatch).unwrap();
    let total = kernel.steps.len();
    let fake = Fake::new();
    let before = fake.snapshot();
    let mut kernel = Kernel::new(&fake);
    // Just before the first step of putting back: the most is changed.
    kernel.die_at = Some(total - 12);
    let _ = recorder::record(&fake.root, &options, &mut kernel, &mut NoWatch);
    for die_at in 0..20 {
        let mut second = Kernel::new(&fake);
        second.die_at = Some(die_at);
        if restore(&fake.root, journal::FOLDER, &mut second).is_ok_and(|r| r.failed.is_empty()) {
            break;
        }
    }
    assert_eq!(fake.snapshot(), before);
}

#[test]
fn the_next_start_puts_back_what_was_left() {
    let fake = Fake::new();
    let before = fake.snapshot();
    let mut kernel = Kernel::new(&fake);
    kernel.die_at = Some(30);
    let _ = recorder::record(&fake.root, &everything(), &mut kernel, &mut NoWatch);
    assert_ne!(fake.snapshot(), before);
    let mut kernel = Kernel::new(&fake);
    let outcome = recorder::record(&fake.root, &a_test_level(), &mut kernel, &mut NoWatch).unwrap();
    assert!(outcome.error.is_none());
    assert_eq!(fake.snapshot(), before);
}

#[test]
fn what_cannot_be_put_back_is_named_and_stays_in_the_journal() {
    let fake = Fake::new();
    let mut kernel = Kernel::new(&fake);
    kernel.die_at = Some(30);
    let _ = recorder::record(&fake.root, &everything(), &mut kernel, &mut NoWatch);
    // Without the fake kernel's help a full folder cannot be removed, like an
    // instance that someone holds open.
    let again = guard::Guard::begin(&fake.root, journal::FOLDER, &mut NoObserver).err();
    let text = again.expect("must refuse").to_string();
    assert!(text.contains(INSTANCE) && text.contains("dormouse restore"), "{text}");
    let restored = restore(&fake.root, journal::FOLDER, &mut Kernel::new(&fake)).unwrap();
    assert!(restored.failed.is_empty(), "{restored:?}");
}

#[test]
fn after_a_reboot_there_is_nothing_to_put_back() {
    let fake = Fake::new();
    let mut kernel = Kernel::new(&fake);
    kernel.die_at = Some(30);
    let _ = recorder::record(&fake.root, &everything(), &mut kernel, &mut NoWatch);
    fake.put("/proc/sys/kernel/random/boot_id", "boot-2\n");
    fake.put("/sys/power/pm_async", "0\n");
    let restored = restore(&fake.root, journal::FOLDER, &mut NoObserver).unwrap();
    assert!(restored.earlier_boot && restored.done.is_empty());
    assert_eq!(fake.root.read("/sys/power/pm_async").unwrap(), "0");
    assert!(!fake.at("/run/dormouse/journal").exists());
}

#[test]
fn a_line_cut_off_by_a_crash_announces_nothing() {
    let fake = Fake::new();
    let mut kernel = Kernel::new(&fake);
    kernel.die_at = Some(40);
    let _ = recorder::record(&fake.root, &everything(), &mut kernel, &mut NoWatch);
    let path = fake.at("/run/dormouse/journal");
    let whole = fs::read(&path).unwrap();
    for cut in 0..whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        match journal::find(&fake.root, journal::FOLDER).unwrap() {
            journal::Found::Left(entries) => {
                let lines = whole[..cut].iter().filter(|&&b| b == b'\n').count();
                // A line that lacks only its newline counts or does not.
                assert!(entries.len() + 1 == lines || entries.len() == lines, "cut at {cut}");
            }
            other => assert!(cut == 0, "{other:?} at {cut}"),
        }
    }
}

#[test]
fn a_running_recorder_is_not_disturbed() {
    let fake = Fake::new();
    let mut observer = NoObserver;
    let guard = guard::Guard::begin(&fake.root, journal::FOLDER, &mut observer).unwrap();
    let other = restore(&fake.root, journal::FOLDER, &mut NoObserver);
    assert!(matches!(other, Err(guard::Error::Held { pid }) if pid == std::process::id()));
    drop(guard);
    assert!(restore(&fake.root, journal::FOLDER, &mut NoObserver).is_ok());
}

#[test]
fn the_journal_is_ahead_of_every_change() {
    let fake = Fake::new();
    let mut kernel = Kernel::new(&fake);
    recorder::record(&fake.root, &everything(), &mut kernel, &mut NoWatch).unwrap();
    let mut announced = vec!["/sys/power/state".to_string()];
    for step in &kernel.steps {
        match step {
            Step::Announce(
                Entry::Write { path, .. }
                | Entry::MakeDir { path }
                | Entry::Probe { list: path, .. },
            ) => {
                announced.push(path.clone());
            }
            Step::Write { path, .. } | Step::MakeDir(path) => assert!(
                announced.contains(path) || path.starts_with(INSTANCE),
                "{path} was changed without being announced"
            ),
            _ => {}
        }
    }
}

#[test]
fn an_alarm_of_someone_else_is_set_again() {
    let fake = Fake::new();
    fake.put(ALARM, "5000\n");
    let mut kernel = Kernel::new(&fake);
    let outcome = recorder::record(&fake.root, &everything(), &mut kernel, &mut NoWatch).unwrap();
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert_eq!(fake.root.read(ALARM).unwrap(), "5000");
}
