//! A limit holds while a command runs, and is as before afterwards.

use crate::fake::{Fake, Kernel};
use dormouse_machine::guard::{NoObserver, restore};
use dormouse_machine::hold::{Hold, MACHINE, NotHeld, WAKEUP_LIMIT, hold, of_cpu};
use dormouse_machine::journal::FOLDER;
use std::fs;
use std::sync::atomic::AtomicBool;

fn with_cpus(cpus: &[u32]) -> Fake {
    let fake = Fake::new();
    for &cpu in cpus {
        let path = fake.root.resolve(&of_cpu(cpu));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "0\n").unwrap();
    }
    fake
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|w| w.to_string()).collect()
}

#[test]
fn a_limit_of_cpus_holds_while_the_command_runs() {
    let fake = with_cpus(&[1, 2]);
    let before = fake.snapshot();
    let seen = fake.root.resolve("/seen");
    let copy = format!("cat {} > {}", fake.root.resolve(&of_cpu(2)).display(), seen.display());
    let what = Hold::Cpus(vec![1, 2], "n/a".into());
    let command = words(&["sh", "-c", &format!("{copy}; exit 7")]);
    let stop = AtomicBool::new(false);
    let (status, restored) =
        hold(&fake.root, FOLDER, &what, &command, &stop, &mut NoObserver).unwrap();
    assert_eq!(status.code(), Some(7));
    assert!(restored.unwrap().failed.is_empty());
    assert_eq!(fs::read_to_string(&seen).unwrap().trim(), "n/a");
    fs::remove_file(seen).unwrap();
    assert_eq!(fake.snapshot(), before);
}

#[test]
fn killed_at_any_step_limits_are_put_back() {
    let what = Hold::Cpus(vec![1, 2], "20".into());
    let stop = AtomicBool::new(false);
    let total = {
        let fake = with_cpus(&[1, 2]);
        let mut kernel = Kernel::new(&fake);
        hold(&fake.root, FOLDER, &what, &words(&["true"]), &stop, &mut kernel).unwrap();
        kernel.steps.len()
    };
    assert!(total > 4, "{total}");
    for die_at in 0..total {
        let fake = with_cpus(&[1, 2]);
        let before = fake.snapshot();
        let mut kernel = Kernel::new(&fake);
        kernel.die_at = Some(die_at);
        let _ = hold(&fake.root, FOLDER, &what, &words(&["true"]), &stop, &mut kernel);
        drop(kernel);
        let restored = restore(&fake.root, FOLDER, &mut NoObserver).unwrap();
        assert!(restored.failed.is_empty(), "step {die_at}");
        assert_eq!(fake.snapshot(), before, "killed before step {die_at}");
    }
}

#[test]
fn the_machine_gets_four_bytes_in_one_write() {
    [MACHINE, WAKEUP_LIMIT].into_iter().for_each(bytes_of);
}

fn bytes_of(file: &'static str) {
    let fake = Fake::new();
    let path = fake.root.resolve(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "").unwrap();
    let stop = AtomicBool::new(false);
    let what = Hold::Machine(file, 20i32.to_ne_bytes());
    hold(&fake.root, FOLDER, &what, &words(&["true"]), &stop, &mut NoObserver).unwrap();
    assert_eq!(fs::read(&path).unwrap(), 20i32.to_ne_bytes());
    // Without the file nothing is run.
    fs::remove_file(&path).unwrap();
    let ran = fake.root.resolve("/ran");
    let command = words(&["touch", &ran.display().to_string()]);
    let failed = hold(&fake.root, FOLDER, &what, &command, &stop, &mut NoObserver);
    assert!(matches!(failed, Err(NotHeld::Machine(..))));
    assert!(!ran.exists());
}

#[test]
fn a_command_that_is_asked_to_stop_ends() {
    let fake = with_cpus(&[0]);
    let before = fake.snapshot();
    let stop = AtomicBool::new(true);
    let what = Hold::Cpus(vec![0], "5".into());
    let (status, _) =
        hold(&fake.root, FOLDER, &what, &words(&["sleep", "600"]), &stop, &mut NoObserver).unwrap();
    assert_eq!(status.code(), None, "ended by a signal");
    assert_eq!(fake.snapshot(), before);
}
