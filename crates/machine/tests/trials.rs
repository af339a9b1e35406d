//! Sleeps with some settings off: what is tried, what went wrong, and that nothing is lost.

use crate::fake::{Fake, Kernel};
use dormouse_machine::guard::{Observer, Step, restore};
use dormouse_machine::journal::FOLDER;
use dormouse_machine::options::{Options, Wake};
use dormouse_machine::recorder::NoWatch;
use dormouse_machine::trials::{Asked, Kind, Trial, Trials, settings};
use std::fs;
use std::io;
use std::time::Duration;

const DISK: &str = "/sys/devices/platform/soc/vda";

/// A machine with three devices that may wake it, besides its clock.
fn machine() -> Fake {
    let fake = Fake::new();
    for (name, wakes) in [("a", "enabled"), ("b", "enabled"), ("c", "enabled"), ("d", "disabled")] {
        fake.device(&format!("/devices/platform/{name}"), "platform", "gadget", "enabled");
        fake.put(&format!("/sys/devices/platform/{name}/power/wakeup"), &format!("{wakes}\n"));
        fake.put(&format!("/sys/bus/platform/drivers/gadget/{name}"), "");
        fake.put(&format!("/sys/bus/platform/devices/{name}"), "");
    }
    for folder in ["platform/drivers/gadget", "block/drivers/virtio_blk"] {
        fake.put(&format!("/sys/bus/{folder}/bind"), "");
        fake.put(&format!("/sys/bus/{folder}/unbind"), "");
    }
    fake.put("/sys/devices/platform/rtc_cmos/power/wakeup", "enabled\n");
    fake
}

fn asked(fake: &Fake, kind: Kind) -> Asked {
    Asked { kind, rarest: 20, check: Vec::new(), settings: settings(&fake.root, kind) }
}

fn options() -> Options {
    let pm_test = Some("devices".into());
    Options { pm_test, interval: Duration::ZERO, ..Options::default() }
}

/// A kernel that refuses to sleep while a file reads so.
struct Refusing<'a> {
    kernel: Kernel<'a>,
    while_file: (&'a str, &'a str),
    /// What each sleep saw.
    saw: Vec<Option<String>>,
}

impl<'a> Refusing<'a> {
    fn new(fake: &'a Fake, while_file: (&'a str, &'a str)) -> Refusing<'a> {
        Refusing { kernel: Kernel::new(fake), while_file, saw: Vec::new() }
    }
}

impl Observer for Refusing<'_> {
    fn before(&mut self, step: &Step) -> io::Result<()> {
        if matches!(step, Step::Write { path, .. } if path == "/sys/power/state") {
            let found = self.kernel.fake.root.read(self.while_file.0);
            self.saw.push(found.clone());
            if found.as_deref() == Some(self.while_file.1) {
                return Err(io::Error::from_raw_os_error(16));
            }
        }
        self.kernel.before(step)
    }

    fn after(&mut self, step: &Step) {
        let (path, fake) = match step {
            Step::Write { path, .. } => (path.as_str(), self.kernel.fake),
            _ => ("", self.kernel.fake),
        };
        if let (Some((driver, "unbind" | "bind")), Step::Write { value, .. }) =
            (path.rsplit_once('/'), step)
        {
            let place = fake.at(&format!("{driver}/{value}"));
            match path.ends_with("/bind") {
                true => fs::write(place, "").unwrap(),
                false => fs::remove_file(place).unwrap(),
            }
            fake.put(path, "");
        }
        self.kernel.after(step);
    }
}

fn opened(fake: &Fake, asked: &Asked) -> Trials {
    Trials::open(&fake.root, &fake.at("/search"), asked).expect("a list")
}

fn names(asked: &Asked) -> Vec<&str> {
    let mut names: Vec<&str> = asked.settings.iter().map(|s| s.name.as_str()).collect();
    names.sort_unstable();
    names
}

#[test]
fn what_must_stay_is_not_turned_off() {
    let fake = machine();
    assert_eq!(names(&asked(&fake, Kind::Wakeup)), ["a", "b", "c"], "the clock wakes the machine");
    assert_eq!(names(&asked(&fake, Kind::Driver)), ["a", "b", "c", "d"], "vda holds the root");
    assert_eq!(names(&asked(&fake, Kind::Async)), ["a", "b", "c", "d", "rtc_cmos", "vda"]);
}

#[test]
fn a_sleep_is_made_with_some_off_and_everything_is_as_it_was() {
    for (kind, file) in [
        (Kind::Async, "/sys/devices/platform/b/power/async"),
        (Kind::Wakeup, "/sys/devices/platform/b/power/wakeup"),
        (Kind::Driver, "/sys/bus/platform/drivers/gadget/b"),
    ] {
        let fake = machine();
        let asked = asked(&fake, kind);
        let before = fake.snapshot();
        let mut trials = opened(&fake, &asked);
        let mut kernel = Refusing::new(&fake, (file, "enabled"));
        for off in ["", "b"] {
            let on: Vec<bool> = asked.settings.iter().map(|s| s.name != off).collect();
            let slept = trials.sleep(&fake.root, &options(), on, &mut kernel, &mut NoWatch);
            assert!(slept.unwrap().error.is_none());
        }
        let troubles: Vec<bool> = trials.done.iter().map(|t| t.trouble.is_some()).collect();
        match kind {
            Kind::Driver => assert_eq!(kernel.saw, [Some(String::new()), None]),
            _ => assert_eq!(troubles, [true, false], "{:?}", trials.done),
        }
        let mut after = fake.snapshot();
        after.retain(|path, _| !path.starts_with("search"));
        assert_eq!(after, before, "{kind:?}");
    }
}

#[test]
fn a_sleep_that_ends_before_its_alarm_is_one_with_trouble_and_so_is_a_check_that_fails() {
    let fake = machine();
    let wakeup = asked(&fake, Kind::Wakeup);
    // This kernel comes back at once.
    let options = Options { wake: Wake::Rtc { seconds: 20 }, pm_test: None, ..options() };
    let mut trials = opened(&fake, &wakeup);
    trials
        .sleep(&fake.root, &options, vec![true; 3], &mut Kernel::new(&fake), &mut NoWatch)
        .unwrap();
    assert_eq!(trials.done[0].trouble.as_deref(), Some("woke after 0.0 s of 20"));
    drop(trials);
    fs::remove_dir_all(fake.at("/search")).unwrap();
    for (words, trouble) in [
        (&["true"][..], None),
        (&["sh", "-c", "exit 3"], Some("sh ended with 3")),
        (&["/nowhere/x"], Some("/nowhere/x cannot be run: No such file or directory (os error 2)")),
    ] {
        let check = words.iter().map(|w| w.to_string()).collect();
        let asked = Asked { check, ..asked(&fake, Kind::Async) };
        let mut trials = opened(&fake, &asked);
        let on = vec![true; asked.settings.len()];
        trials
            .sleep(&fake.root, &self::options(), on, &mut Kernel::new(&fake), &mut NoWatch)
            .unwrap();
        assert_eq!(trials.done[0].trouble.as_deref(), trouble);
        drop(trials);
        fs::remove_dir_all(fake.at("/search")).unwrap();
    }
}

/// The list after a kill before each step of a second sleep, in the same boot and in the next.
#[test]
fn killed_at_any_step_it_loses_no_sleep_and_knows_one_without_a_return() {
    let on = |n: usize| vec![n.is_multiple_of(2), true, true, false, true, true];
    let total = {
        let fake = machine();
        let mut kernel = Kernel::new(&fake);
        let mut trials = opened(&fake, &asked(&fake, Kind::Async));
        trials.sleep(&fake.root, &options(), on(0), &mut kernel, &mut NoWatch).unwrap();
        kernel.steps.len()
    };
    assert!(total > 10, "{total}");
    for die_at in 0..=total {
        for restarted in [false, true] {
            let fake = machine();
            let asked = asked(&fake, Kind::Async);
            let before = fake.snapshot();
            let mut trials = opened(&fake, &asked);
            let mut kernel = Kernel::new(&fake);
            trials.sleep(&fake.root, &options(), on(0), &mut kernel, &mut NoWatch).unwrap();
            let mut kernel = Kernel { die_at: Some(die_at), ..Kernel::new(&fake) };
            let slept = trials.sleep(&fake.root, &options(), on(1), &mut kernel, &mut NoWatch);
            let whole = slept.is_ok_and(|s| s.error.is_none());
            let first = Trial { on: on(0), trouble: None };
            assert_eq!(trials.done[0], first);
            drop(trials);
            if restarted {
                fake.put("/proc/sys/kernel/random/boot_id", "boot-2\n");
            }
            let mut end = Kernel::new(&fake);
            restore(&fake.root, FOLDER, &mut end).unwrap();
            let again = opened(&fake, &asked);
            assert_eq!(again.done[0], first);
            assert_eq!(again.done.len(), 1 + usize::from(whole || restarted), "step {die_at}");
            assert_eq!(again.hung, restarted && !whole, "step {die_at}");
            if again.hung {
                let why = Some("the machine did not come back".to_string());
                assert_eq!(again.done[1], Trial { on: on(1), trouble: why });
            }
            if !restarted {
                let mut after = fake.snapshot();
                after.retain(|path, _| !path.starts_with("search"));
                assert_eq!(after, before, "killed before step {die_at}");
            }
            // A further start finds the same: what was settled stays so.
            let done = again.done.clone();
            drop(again);
            let third = opened(&fake, &asked);
            assert_eq!((third.done.clone(), third.hung), (done, false));
        }
    }
}

#[test]
fn a_damaged_list_costs_its_damaged_lines_and_a_list_of_something_else_is_refused() {
    let fake = machine();
    let asked = asked(&fake, Kind::Async);
    let mut trials = opened(&fake, &asked);
    let on = vec![true; asked.settings.len()];
    for _ in 0..2 {
        trials
            .sleep(&fake.root, &options(), on.clone(), &mut Kernel::new(&fake), &mut NoWatch)
            .unwrap();
    }
    drop(trials);
    let list = fake.at("/search/trials.jsonl");
    let text = fs::read_to_string(&list).unwrap();
    // The line that ends the first sleep is damaged, and a last one was being written.
    let damaged =
        text.replacen("{\"what\":\"end\"}", "{\"what\":\"e\u{1}\"}", 1) + "{\"what\":\"beg";
    assert_ne!(damaged, text);
    fs::write(&list, damaged).unwrap();
    let again = opened(&fake, &asked);
    assert_eq!((again.done.len(), again.unreadable), (1, 1));
    drop(again);
    fs::write(&list, "{\"what\":\"start\",\"boot_id\":\"boot-1\"}\n").unwrap();
    let why = Trials::open(&fake.root, &fake.at("/search"), &asked).unwrap_err().to_string();
    assert!(why.contains("no list of a search"), "{why}");
    assert!(fake.root.read(&format!("{DISK}/power/async")).is_some_and(|v| v == "enabled"));
}
