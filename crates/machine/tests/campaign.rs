//! A campaign loses no cycle, whatever ends it, and says which one was cut.

use crate::fake::{Fake, Kernel};
use dormouse_machine::campaign::{Campaign, Limits, record};
use dormouse_machine::cut::{Cut, Place};
use dormouse_machine::guard::{Observer, Step};
use dormouse_machine::options::Options;
use dormouse_machine::recorder::{NoWatch, Outcome};
use dormouse_machine::root::Root;
use dormouse_read::klog::last_words;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const TREE: &str = "DORMOUSE_TEST_TREE";
const FOLDER: &str = "DORMOUSE_TEST_CAMPAIGN";

fn options(cycles: u32) -> Options {
    let pm_test = Some("devices".into());
    Options { cycles, pm_test, interval: Duration::ZERO, ..Options::default() }
}

fn folder(root: &Root) -> PathBuf {
    root.resolve("/campaign")
}

fn opened(fake: &Fake) -> Campaign {
    Campaign::open(&fake.root, &folder(&fake.root), last_words).expect("a campaign")
}

fn recorded(fake: &Fake, cycles: u32, limits: Limits, result: Option<i32>) -> (Campaign, Outcome) {
    let campaign = RefCell::new(opened(fake));
    let mut kernel = Kernel { sleep_result: result, ..Kernel::new(fake) };
    let outcome = record(&campaign, &options(cycles), limits, &mut kernel, &mut NoWatch);
    (campaign.into_inner(), outcome.expect("a recording"))
}

/// A kernel that takes its time to sleep, so that a kill finds it there.
struct Slow<'a>(Kernel<'a>);

impl Observer for Slow<'_> {
    fn before(&mut self, step: &Step) -> io::Result<()> {
        self.0.before(step)?;
        if matches!(step, Step::Write { path, .. } if path == "/sys/power/state") {
            std::thread::sleep(Duration::from_millis(4));
        }
        Ok(())
    }

    fn after(&mut self, step: &Step) {
        self.0.after(step);
    }
}

/// What the next test kills: records without end in the tree that it is given.
#[test]
fn child() {
    let Some(tree) = std::env::var_os(TREE) else { return };
    let fake = Fake { root: Root::below(Path::new(&tree)), dir: tempfile::tempdir().unwrap() };
    let folder = std::env::var_os(FOLDER).expect("a folder");
    let campaign = Campaign::open(&fake.root, Path::new(&folder), last_words).expect("a campaign");
    let campaign = RefCell::new(campaign);
    let mut kernel = Slow(Kernel::new(&fake));
    let ended = record(&campaign, &options(90_000), Limits::default(), &mut kernel, &mut NoWatch);
    panic!("it was to be killed: {ended:?}");
}

/// Numbers of the cycles whose files are complete.
fn complete(folder: &Path) -> BTreeSet<u32> {
    let names = fs::read_dir(folder.join("cycles")).unwrap().flatten().map(|e| e.file_name());
    let number = |n: std::ffi::OsString| {
        n.to_str()?.strip_prefix("cycle-")?.strip_suffix(".tar.gz")?.parse().ok()
    };
    names.filter_map(number).collect()
}

/// Lines of the list.
fn lines(folder: &Path) -> u64 {
    let list = fs::read(folder.join("campaign.jsonl")).unwrap_or_default();
    list.iter().filter(|b| **b == b'\n').count() as u64
}

/// What the list says by its own words: the last cycle that began, and where it was.
fn last_begun(folder: &Path) -> Option<(u32, Place)> {
    let list = fs::read_to_string(folder.join("campaign.jsonl")).unwrap();
    let whole = &list[..list.rfind('\n').map_or(0, |n| n + 1)];
    let begin = whole.lines().rev().find(|l| l.contains("\"begin\""))?;
    let cycle = begin.split("\"cycle\":").nth(1)?.split(',').next()?.parse().ok()?;
    let after = &whole[whole.rfind(begin)?..];
    let place = match (after.contains("\"asleep\""), after.contains("\"awake\"")) {
        (_, true) => Place::After,
        (true, _) => Place::Asleep,
        _ => Place::Before,
    };
    (!after.contains("\"cut\"")).then_some((cycle, place))
}

#[test]
fn killed_150_times_it_loses_no_finished_cycle_and_names_the_cut_one() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().to_path_buf();
    let (mut known, mut kinds, mut cut) = (BTreeSet::new(), BTreeSet::new(), 0);
    for round in 0..150u64 {
        // A new tree: files of a kernel are never half written, those of a kill are.
        let fake = Fake::new();
        fake.put("/proc/sys/kernel/random/boot_id", &format!("boot-{round}\n"));
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["campaign::child", "--exact", "--nocapture"])
            .env(TREE, fake.dir.path())
            .env(FOLDER, &folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Anywhere in its first cycles, however fast this machine is: behind a line of the list.
        let want = lines(&folder) + 1 + round * 7 % 12;
        while lines(&folder) < want && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_micros(100));
        }
        std::thread::sleep(Duration::from_micros(round * 911 % 4_000));
        child.kill().unwrap();
        child.wait().unwrap();
        let restarted = round % 3 == 0;
        if restarted {
            fake.put("/proc/sys/kernel/random/boot_id", &format!("boot-{round}-later\n"));
        }
        let (files, begun) = (complete(&folder), last_begun(&folder));
        let campaign = Campaign::open(&fake.root, &folder, last_words).expect("a campaign");
        let ended: BTreeSet<u32> = campaign.ended.keys().copied().collect();
        assert!(known.is_subset(&ended), "round {round}: a finished cycle is lost");
        assert_eq!(files, ended, "round {round}: what is on disk is what ended");
        let cuts: BTreeSet<u32> = campaign.cuts.iter().map(|c| c.cycle).collect();
        let all: Vec<u32> = ended.union(&cuts).copied().collect();
        assert_eq!(all, (1..campaign.next()).collect::<Vec<_>>(), "round {round}");
        let want = begun.filter(|(n, _)| !files.contains(n)).map(|(cycle, place)| Cut {
            cycle,
            place,
            restarted,
            ..Cut::default()
        });
        assert_eq!(campaign.found, want, "round {round}");
        if let Some(found) = want {
            kinds.insert(format!("{:?}", found.place));
            cut += 1;
        }
        assert_eq!(campaign.unreadable, 0);
        let restarts = campaign.cuts.iter().filter(|c| c.restarted).count() as u32;
        assert_eq!(campaign.failed(), restarts);
        assert_eq!(campaign.judged(), ended.len() as u32 + restarts);
        known = ended;
    }
    println!("{} cycles ended, {cut} were cut: {kinds:?}", known.len());
    assert!(known.len() > 60 && cut > 60, "{} ended, {cut} cut", known.len());
    assert_eq!(kinds.len(), 3, "{kinds:?}");
}

/// A list that ends in a sleep, and a machine that was started again.
fn cut_asleep(log: Option<&str>, pm_trace: bool, boot: &str) -> Cut {
    let fake = Fake::new();
    fs::create_dir_all(folder(&fake.root)).unwrap();
    let list = format!(
        "{{\"what\":\"start\",\"boot_id\":\"{boot}\",\"pm_trace\":{pm_trace}}}\n\
         {{\"what\":\"begin\",\"cycle\":7,\"at\":1000}}\n{{\"what\":\"asleep\",\"cycle\":7}}\n\
         {{\"what\":\"awa"
    );
    fs::write(folder(&fake.root).join("campaign.jsonl"), list).unwrap();
    if let Some(log) = log {
        fake.put("/sys/fs/pstore/console-ramoops-0", log);
    }
    fake.put("/sys/power/pm_trace_dev_match", "xhci_hcd\n");
    let campaign = opened(&fake);
    assert_eq!(campaign.next(), 8);
    assert_eq!(campaign.failed(), u32::from(boot != "boot-1"));
    campaign.found.expect("a cut")
}

#[test]
fn what_kernels_keep_over_a_restart_tells_phase_and_device() {
    let hang = "\
<6>[  300.100000] PM: suspend entry (deep)
<6>[  300.200000] Freezing user space processes ... (elapsed 0.001 seconds) done.
<6>[  300.300000] snd_hda_intel 0000:00:1f.3: PM: calling pci_pm_suspend @ 77, parent: pci0000:00
<6>[  300.310000] snd_hda_intel 0000:00:1f.3: PM: pci_pm_suspend returned 0 after 9000 usecs
<6>[  300.320000] tg3 0000:03:00.0: PM: calling pci_pm_suspend @ 77, parent: 0000:00:1c.0
";
    let cut = cut_asleep(Some(hang), false, "boot-0");
    assert_eq!((cut.cycle, cut.place, cut.restarted), (7, Place::Asleep, true));
    assert_eq!(cut.device.as_deref(), Some("0000:03:00.0"));
    assert_eq!(cut.phase.as_deref(), Some("suspend"));
    assert_eq!(cut.told_by.as_deref(), Some("/sys/fs/pstore/console-ramoops-0"));

    let overdue = hang.to_string()
        + "<0>[  420.320000] tg3 0000:04:00.0: **** DPM device timeout ****\n<0>[  420.400000] Kernel panic\n";
    let cut = cut_asleep(Some(&overdue), false, "boot-0");
    assert_eq!(cut.device.as_deref(), Some("0000:04:00.0"));

    // Kernels before 4.17, on the way up; the words of the phase tell.
    let up = "PM: suspend entry (deep)\n[    9.100000] PM: noirq resume of devices complete after 0.5 msecs\n\
              [    9.200000] calling  1-4+ @ 12, parent: usb1\n[    9.300000] call 1-4+ returned 0 after 9 usecs\n\
              [    9.400000] calling  1-5+ @ 12, parent: usb1\n";
    let cut = cut_asleep(Some(up), false, "boot-0");
    assert_eq!((cut.device.as_deref(), cut.phase.as_deref()), (Some("1-5"), Some("early resume")));

    // A log whose last sleep came back says nothing of the one that was cut.
    let came_back = hang.to_string() + "<6>[  301.000000] PM: suspend exit\n";
    assert_eq!(cut_asleep(Some(&came_back), false, "boot-0").told_by, None);

    // The hash in the clock counts only if it was written there.
    assert_eq!(cut_asleep(None, false, "boot-0").device, None);
    let cut = cut_asleep(None, true, "boot-0");
    assert_eq!(
        (cut.device.as_deref(), cut.told_by.as_deref()),
        (Some("xhci_hcd"), Some("pm_trace"))
    );

    // The same boot: the recorder was ended, and nothing is known of the sleep.
    let cut = cut_asleep(Some(hang), true, "boot-1");
    assert_eq!((cut.restarted, cut.device, cut.told_by), (false, None, None));
}

#[test]
fn devices_that_are_gone_are_named_with_the_cycle() {
    let fake = Fake::new();
    fake.device("/devices/platform/soc/dock", "usb", "hub", "enabled");
    fake.device("/devices/platform/soc/dock/nic", "usb", "r8152", "enabled");
    let dock = fake.at("/sys/devices/platform/soc/dock");
    let mut pauses = 0;
    let pause = move || {
        pauses += 1;
        if pauses == 2 {
            fs::remove_dir_all(&dock).unwrap();
        }
        Duration::ZERO
    };
    let limits = Limits { pause: Some(Box::new(pause)), ..Limits::default() };
    let (campaign, outcome) = recorded(&fake, 4, limits, None);
    assert!(outcome.error.is_none() && outcome.recording.is_empty(), "{outcome:?}");
    assert_eq!(campaign.ended.len(), 4);
    let lost: Vec<_> = campaign.lost.into_iter().collect();
    assert_eq!(lost, [(2, vec!["dock (hub)".to_string()])]);
}

#[test]
fn it_ends_after_so_many_failures_and_goes_on_where_it_was() {
    let fake = Fake::new();
    let limits = || Limits { stop_after: Some(2), ..Limits::default() };
    let (campaign, _) = recorded(&fake, 9, limits(), Some(16));
    assert_eq!((campaign.failed(), campaign.judged(), campaign.next()), (2, 2, 3));
    drop(campaign);
    let (campaign, _) = recorded(&fake, 3, Limits::default(), None);
    assert_eq!((campaign.failed(), campaign.judged(), campaign.next()), (2, 5, 6));
    let again =
        Campaign::open(&fake.root, &folder(&fake.root), last_words).expect_err("it is held");
    assert!(again.to_string().contains("another recorder"), "{again}");
    drop(campaign);
    let limits = Limits { within: Some(Duration::ZERO), ..Limits::default() };
    assert_eq!(recorded(&fake, 3, limits, None).0.next(), 6);
}

/// What cannot be written before a sleep keeps the machine awake.
#[test]
fn without_a_mark_on_disk_it_does_not_sleep() {
    let fake = Fake::new();
    let campaign = RefCell::new(opened(&fake));
    let list = folder(&fake.root).join("campaign.jsonl");
    fs::remove_file(&list).unwrap();
    fs::create_dir(folder(&fake.root).join("cycles/cycle-000001.tar.gz")).unwrap();
    let mut kernel = Kernel::new(&fake);
    let outcome = record(&campaign, &options(5), Limits::default(), &mut kernel, &mut NoWatch);
    let outcome = outcome.expect("an outcome");
    assert!(outcome.error.expect("an error").to_string().contains("cannot be kept"));
    assert_eq!(kernel.asleep, 1, "the next cycle does not begin");
    assert!(outcome.restored.failed.is_empty());
}

/// A damaged line costs what it said, and no more.
#[test]
fn a_result_that_cannot_be_read_is_no_success() {
    let fake = Fake::new();
    let (campaign, _) = recorded(&fake, 3, Limits::default(), None);
    assert_eq!((campaign.judged(), campaign.next()), (3, 4));
    drop(campaign);
    let path = folder(&fake.root).join("campaign.jsonl");
    let list = fs::read_to_string(&path).unwrap();
    fs::write(&path, list.replace("\"saved\",\"cycle\":2", "\"saved\",\"cycl\":2")).unwrap();
    let campaign = opened(&fake);
    assert_eq!((campaign.unreadable, campaign.judged(), campaign.failed()), (1, 2, 0));
    assert_eq!((campaign.cuts.len(), campaign.next(), campaign.found), (1, 4, None));
}
