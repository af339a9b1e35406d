//! Sleeps of a made-up machine, kept by the functions that hooks call.

use dormouse_capture::schema::Clocks;
use dormouse_history::folder::Folder;
use dormouse_history::store::{Error, Fault, Store};
use dormouse_history::{DATABASE, FOLDER, Kept, SPARE, after, before, judged, traces};
use dormouse_machine::root::Root;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

const S: i64 = 1_000_000_000;
/// 2031-02-14, 22:00.
const EVENING: i64 = 1_928_786_400 * S;

struct Machine {
    dir: tempfile::TempDir,
    /// Monotonic, boot and real time.
    now: [i64; 3],
}

impl Machine {
    fn new() -> Machine {
        let m = Machine { dir: tempfile::tempdir().unwrap(), now: [50 * S, 50 * S, EVENING] };
        for folder in ["var/lib", "run"] {
            fs::create_dir_all(m.dir.path().join(folder)).unwrap();
        }
        m.boot("11111111-aaaa");
        m.put("/sys/power/mem_sleep", "[s2idle] deep");
        m.put("/proc/sys/kernel/osrelease", "6.15.2");
        for (file, n) in [("success", 4), ("fail", 1), ("total_hw_sleep", 7_000_000)] {
            m.put(&format!("/sys/power/suspend_stats/{file}"), &n.to_string());
        }
        m.battery(40_000_000);
        m.source(3);
        m
    }

    fn put(&self, path: &str, text: &str) {
        let place = self.dir.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
    }

    fn boot(&self, id: &str) {
        self.put("/proc/sys/kernel/random/boot_id", id);
    }

    fn battery(&self, now: i64) {
        let at = "/sys/class/power_supply/BAT0";
        self.put(&format!("{at}/type"), "Battery");
        self.put(&format!("{at}/energy_now"), &now.to_string());
        self.put(&format!("{at}/energy_full"), "50000000");
        self.put("/sys/class/power_supply/AC/type", "Mains");
        self.put("/sys/class/power_supply/AC/online", "0");
    }

    fn source(&self, count: u64) {
        self.put("/sys/class/wakeup/wakeup5/name", "PNP0C0D:00");
        self.put("/sys/class/wakeup/wakeup5/active_count", &count.to_string());
    }

    fn root(&self) -> Root {
        Root::below(self.dir.path())
    }

    fn clocks(&self) -> Option<Clocks> {
        let [monotonic_before, boottime_before, realtime_before] = self.now;
        Some(Clocks { monotonic_before, boottime_before, realtime_before, ..Clocks::default() })
    }

    fn before(&self) {
        before(&self.root(), self.clocks().unwrap(), self.clocks()).unwrap();
    }

    fn after(&self) -> bool {
        after(&self.root(), self.clocks()).unwrap()
    }

    /// Awake for so many seconds.
    fn wait(&mut self, s: i64) {
        self.now.iter_mut().for_each(|t| *t += s * S);
    }

    /// Asleep for so many seconds, of which the hardware sleeps 95 of 100.
    fn sleep(&mut self, s: i64, success: u64) {
        self.now[1] += s * S;
        self.now[2] += s * S;
        let old: i64 = self.number("total_hw_sleep");
        self.put("/sys/power/suspend_stats/total_hw_sleep", &(old + s * 950_000).to_string());
        let old: u64 = self.number("success") as u64;
        self.put("/sys/power/suspend_stats/success", &(old + success).to_string());
    }

    fn number(&self, file: &str) -> i64 {
        self.root().read(&format!("/sys/power/suspend_stats/{file}")).unwrap().parse().unwrap()
    }

    fn kept(&self) -> Kept {
        Kept::open(&self.root(), false).unwrap()
    }

    fn database(&self) -> std::path::PathBuf {
        self.dir.path().join(FOLDER.trim_start_matches('/')).join(DATABASE)
    }

    /// A whole night of eight hours.
    fn night(&mut self) {
        self.before();
        self.wait(1);
        self.sleep(28_800, 1);
        self.wait(1);
        self.after();
        self.wait(57_600);
    }
}

#[test]
fn a_night_is_a_row_with_all_that_was_read() {
    let mut m = Machine::new();
    m.before();
    m.wait(2);
    m.sleep(28_800, 1);
    m.wait(1);
    m.battery(36_000_000);
    m.source(4);
    m.put("/sys/power/pm_wakeup_irq", "9");
    m.put("/sys/kernel/irq/9/actions", "acpi");
    m.put(
        "/dev/kmsg",
        "6,1,50100000,-;PM: suspend entry (s2idle)\n6,2,50200000,-;Freezing user space processes\n\
         6,3,50700000,-;PM: suspend devices took 0.400 seconds\n6,4,51000000,-;PM: suspend-to-idle\n\
         6,5,51200000,-;PM: resume devices took 0.180 seconds\n6,6,51300000,-;PM: suspend exit\n",
    );
    assert!(m.after());
    let history = m.kept().history().unwrap();
    let [row] = &history.rows[..] else { panic!("{history:?}") };
    assert_eq!(row.began_ms, EVENING / 1_000_000);
    assert_eq!(row.ended_ms, Some(EVENING / 1_000_000 + 28_803_000));
    assert_eq!((row.slept_ms, row.span_ms), (Some(28_800_000), Some(28_803_000)));
    assert_eq!((row.succeeded, row.failed), (Some(1), Some(0)));
    assert_eq!((row.hardware_ms, row.hardware_works), (Some(27_360_000), Some(1)));
    assert_eq!((row.waker.as_str(), row.waker_irq), ("PNP0C0D:00", Some(9)));
    assert_eq!(row.mode, "s2idle");
    assert!(
        row.suspend_ms.is_some_and(|t| t > 0) && row.resume_ms.is_some_and(|t| t > 0),
        "{row:?}"
    );
    assert_eq!(row.batteries[0].before.zip(row.batteries[0].after), Some((40_000_000, 36_000_000)));
    assert_eq!((row.mains, row.clock_set_ms), (Some(0), None));
    assert_eq!(row.versions["kernel"], "6.15.2");
    let (nights, since) = judged(&history);
    assert_eq!((nights[0].kind.name(), nights[0].hardware, since.len()), ("slept", Some(950), 0));
    assert_eq!(nights[0].drain.unwrap().microwatts, Some(500_000));
    // Nobody else may look, and the state is gone.
    let folder = m.dir.path().join("var/lib/dormouse");
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(!folder.join("before").exists());
    assert!(!m.after(), "a second hook finds nothing");
    assert_eq!(m.kept().history().unwrap().rows.len(), 1);
}

#[test]
fn a_refused_sleep_says_who_refused() {
    let mut m = Machine::new();
    m.before();
    m.wait(3);
    for (file, text) in [
        ("fail", "4"),
        ("last_failed_dev", "0000:00:15.1"),
        ("last_failed_step", "suspend"),
        ("last_failed_errno", "-16"),
    ] {
        m.put(&format!("/sys/power/suspend_stats/{file}"), text);
    }
    m.after();
    let history = m.kept().history().unwrap();
    let r = &history.rows[0];
    assert_eq!((r.failed, r.failed_errno), (Some(3), Some(16)));
    assert_eq!((r.failed_device.as_str(), r.failed_step.as_str()), ("0000:00:15.1", "suspend"));
    assert_eq!(judged(&history).0[0].kind.name(), "awake");
}

#[test]
fn a_clock_that_was_set_back_changes_no_length() {
    let mut m = Machine::new();
    m.before();
    m.sleep(28_800, 1);
    m.now[2] -= 7_200 * S;
    m.after();
    let r = &m.kept().history().unwrap().rows[0];
    assert_eq!(r.clock_set_ms, Some(-7_200_000));
    assert_eq!(
        (r.length_ms(), r.ended_ms.map(|e| e - r.began_ms)),
        (Some(28_800_000), Some(28_800_000))
    );
}

#[test]
fn a_sleep_that_never_came_back_is_a_row_with_its_boot() {
    for told_by in ["the next sleep", "watch", "a hook after it"] {
        let mut m = Machine::new();
        m.night();
        m.before();
        let lost = m.now[2];
        m.boot("22222222-bbbb");
        m.now = [9 * S, 9 * S, m.now[2] + 36_000 * S];
        let rows = match told_by {
            "watch" => 2,
            "a hook after it" => {
                assert!(m.after());
                2
            }
            _ => {
                m.night();
                3
            }
        };
        let history = m.kept().history().unwrap();
        assert_eq!(history.rows.len(), rows, "{told_by}: {history:?}");
        let r = &history.rows[1];
        assert_eq!((r.began_ms, r.ended_ms), (lost / 1_000_000, None), "{told_by}");
        assert_eq!(r.boot, "11111111-aaaa", "{told_by}");
        assert_eq!(judged(&history).0[1].kind.name(), "never came back");
        assert_eq!(m.kept().history().unwrap().rows.len(), rows, "{told_by}: told once");
    }
}

#[test]
fn two_sleeps_at_once_lose_neither() {
    let mut m = Machine::new();
    // Its hook after it was killed.
    m.before();
    m.sleep(3_600, 1);
    m.wait(5);
    m.before();
    m.sleep(7_200, 1);
    m.after();
    m.after();
    let rows = m.kept().history().unwrap().rows;
    let lengths: Vec<_> = rows.iter().map(|r| r.length_ms()).collect();
    assert_eq!(lengths, [Some(3_600_000), Some(7_200_000)]);
    // What a battery has now says nothing of then.
    assert_eq!((rows[0].batteries[0].after, rows[0].span_ms), (None, None));
    // Two processes at the same time.
    let root = m.root();
    for _ in 0..4 {
        m.before();
        m.sleep(60, 1);
        m.wait(1_000);
        let at = m.clocks();
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| after(&root, at));
            }
        });
    }
    assert_eq!(m.kept().history().unwrap().rows.len(), 6);
}

#[test]
fn a_database_that_is_held_or_damaged_delays_nothing_and_loses_nothing() {
    for trouble in ["held", "cut", "scribbled", "foreign text"] {
        let mut m = Machine::new();
        for _ in 0..40 {
            m.night();
        }
        let place = m.database();
        let holder = Store::open(&place, Duration::ZERO).unwrap();
        let db = (trouble == "held").then(|| holding(&place));
        drop(holder);
        let bytes = fs::read(&place).unwrap();
        match trouble {
            "cut" => fs::write(&place, &bytes[..bytes.len() / 2]).unwrap(),
            "scribbled" => {
                let mut bytes = bytes;
                let middle = bytes.len() / 3;
                bytes[middle..middle + 6_000].fill(0xa5);
                fs::write(&place, bytes).unwrap();
            }
            "foreign text" => fs::write(&place, vec![b'x'; 9_000]).unwrap(),
            _ => {}
        }
        m.before();
        m.sleep(3_600, 1);
        let begun = Instant::now();
        assert!(m.after(), "{trouble}");
        assert!(begun.elapsed() < Duration::from_secs(2), "{trouble}: {:?}", begun.elapsed());
        drop(db);
        let kept = m.kept();
        let history = kept.history().unwrap();
        let last = history.rows.last().unwrap();
        // A cut that SQLite does not meet in its writing is found by whoever reads.
        assert_eq!(last.slept_ms, Some(3_600_000), "{trouble}");
        match trouble {
            "held" => {
                assert_eq!((history.rows.len(), kept.remarks.len()), (41, 0));
                assert!(history.faults[0].what.contains("locked"), "{:?}", history.faults);
            }
            _ => {
                let said = kept.remarks.join(" ");
                assert!(said.contains("damaged") && said.contains("saved"), "{trouble}: {said}");
                assert!(
                    traces(&m.root()).ours.iter().any(|t| t.contains("damaged-1")),
                    "{trouble}"
                );
                assert!(trouble == "foreign text" || history.rows.len() > 1, "{trouble}");
            }
        }
        assert_eq!(m.kept().remarks, Vec::<String>::new(), "{trouble}: said once");
    }
}

/// Another program that writes, and is not done.
fn holding(place: &Path) -> rusqlite::Connection {
    let db = rusqlite::Connection::open(place).unwrap();
    db.execute_batch("BEGIN EXCLUSIVE").unwrap();
    db
}

#[test]
fn without_a_folder_rows_wait_in_memory_and_come_in_later() {
    let mut m = Machine::new();
    // A folder that cannot be made, as on a disk that is read-only.
    let var = m.dir.path().join("var/lib");
    fs::remove_dir(&var).unwrap();
    fs::write(&var, "").unwrap();
    m.night();
    m.night();
    assert!(m.dir.path().join(SPARE.trim_start_matches('/')).join("spool").exists());
    assert!(matches!(Kept::open(&m.root(), false), Err(Error::Sqlite(_))));
    fs::remove_file(&var).unwrap();
    fs::create_dir(&var).unwrap();
    m.night();
    let history = m.kept().history().unwrap();
    assert_eq!((history.rows.len(), history.faults.len()), (3, 2), "{history:?}");
}

#[test]
fn a_full_disk_keeps_what_was_there() {
    // Nothing can be written to /dev/full, and a link to it is followed by nobody.
    let mut m = Machine::new();
    m.night();
    let spool = m.dir.path().join("var/lib/dormouse/spool");
    symlink("/dev/full", &spool).unwrap();
    let held = holding(&m.database());
    m.before();
    m.sleep(60, 1);
    assert!(m.after(), "the spare folder takes it");
    drop(held);
    fs::remove_file(&spool).unwrap();
    assert_eq!(m.kept().history().unwrap().rows.len(), 2);
}

#[test]
fn nothing_is_opened_through_a_link_that_others_planted() {
    let mut m = Machine::new();
    let victim = m.dir.path().join("victim");
    fs::write(&victim, "mine").unwrap();
    let folder = m.dir.path().join("var/lib/dormouse");
    fs::create_dir(&folder).unwrap();
    for name in ["before", "before.new", "spool", DATABASE] {
        symlink(&victim, folder.join(name)).unwrap();
    }
    m.night();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
    // A folder that is a link is none.
    let mut m = Machine::new();
    let other = m.dir.path().join("other");
    fs::create_dir(&other).unwrap();
    symlink(&other, m.dir.path().join("var/lib/dormouse")).unwrap();
    m.night();
    assert_eq!(fs::read_dir(&other).unwrap().count(), 0);
}

#[test]
fn spooled_lines_that_power_cut_are_counted() {
    let mut m = Machine::new();
    m.night();
    let held = holding(&m.database());
    m.night();
    drop(held);
    let spool = m.dir.path().join("var/lib/dormouse/spool");
    let whole = fs::read(&spool).unwrap();
    fs::write(&spool, &whole[..whole.len() - 40]).unwrap();
    let held = holding(&m.database());
    m.night();
    drop(held);
    let kept = m.kept();
    assert_eq!(kept.history().unwrap().rows.len(), 2, "{:?}", fs::read_to_string(&spool));
    assert!(kept.remarks[0].starts_with("1 kept line"), "{:?}", kept.remarks);
}

#[test]
fn a_night_costs_little_room() {
    let mut m = Machine::new();
    let mut sizes = Vec::new();
    for _ in 0..60 {
        m.night();
        sizes.push(fs::metadata(m.database()).unwrap().len());
    }
    let a_night = (sizes[59] - sizes[9]) / 50;
    assert!(a_night < 4_096, "{a_night} bytes a night");
    assert!(sizes[59] < 1 << 20);
}

#[test]
fn a_history_of_others_or_of_a_newer_program_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("other.db");
    let db = rusqlite::Connection::open(&place).unwrap();
    db.execute_batch("CREATE TABLE song (name TEXT)").unwrap();
    assert!(matches!(Store::open(&place, Duration::ZERO), Err(Error::Foreign)));
    assert!(matches!(Store::of_bytes(&fs::read(&place).unwrap()), Err(Error::Foreign)));
    let place = dir.path().join("newer.db");
    drop(Store::open(&place, Duration::ZERO).unwrap());
    let db = rusqlite::Connection::open(&place).unwrap();
    db.execute_batch("PRAGMA user_version = 99").unwrap();
    assert!(matches!(Store::open(&place, Duration::ZERO), Err(Error::Newer(99))));
}

#[test]
fn faults_and_rows_come_back_as_they_went() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("h.db");
    let mut store = Store::open(&place, Duration::ZERO).unwrap();
    let mut m = Machine::new();
    m.night();
    let rows = m.kept().history().unwrap().rows;
    let fault = Fault { at_ms: 5, what: "disk full".into() };
    assert_eq!(store.add(&rows, std::slice::from_ref(&fault)).unwrap(), 1);
    assert_eq!(store.add(&rows, &[]).unwrap(), 0, "once each");
    let back = Store::of_bytes(&fs::read(&place).unwrap()).unwrap().history().unwrap();
    assert_eq!((back.rows, back.faults, back.damage), (rows, vec![fault], None));
}

#[test]
fn what_was_read_while_the_machine_slept_counts_nothing() {
    let mut m = Machine::new();
    let begun = m.clocks().unwrap();
    m.wait(1);
    m.sleep(28_800, 1);
    m.wait(1);
    m.source(9);
    // Frozen on its way, it reads when the machine is back.
    before(&m.root(), begun, m.clocks()).unwrap();
    m.source(12);
    m.put("/sys/power/suspend_stats/success", "9");
    assert!(m.after());
    let history = m.kept().history().unwrap();
    let r = &history.rows[0];
    assert_eq!((r.slept_ms, r.span_ms), (Some(28_800_000), Some(28_802_000)));
    assert_eq!((r.succeeded, r.failed, r.hardware_ms, r.cpus_ms), (None, None, None, None));
    assert_eq!((r.sources.as_str(), r.mains, r.batteries[0].before), ("", None, None));
    assert_eq!(judged(&history).0[0].kind.name(), "slept");
}

#[test]
fn a_counter_that_was_not_there_before_counts_from_nowhere() {
    let mut m = Machine::new();
    fs::remove_file(m.dir.path().join("sys/power/suspend_stats/fail")).unwrap();
    m.before();
    m.sleep(3_600, 1);
    m.put("/sys/power/suspend_stats/fail", "40");
    m.after();
    let r = &m.kept().history().unwrap().rows[0];
    assert_eq!((r.succeeded, r.failed), (Some(1), None));
}

#[test]
fn a_hook_that_was_frozen_with_its_sleep_makes_no_lost_one() {
    for met_by in ["watch", "the next sleep", "another boot"] {
        let mut m = Machine::new();
        let (begun, began) = (m.clocks().unwrap(), m.now[2]);
        m.wait(1);
        m.sleep(28_800, 1);
        m.wait(1);
        assert!(!m.after(), "nothing was read before it yet");
        m.wait(1);
        before(&m.root(), begun, m.clocks()).unwrap();
        m.wait(3_600);
        match met_by {
            "the next sleep" => m.night(),
            "another boot" => m.boot("22222222-bbbb"),
            _ => {}
        }
        let rows = m.kept().history().unwrap().rows;
        let r = &rows[0];
        assert_eq!(r.began_ms, began / 1_000_000, "{met_by}");
        assert_eq!(r.ended_ms, Some(r.began_ms + 28_802_000), "{met_by}");
        assert_eq!(r.slept_ms, Some(28_800_000), "{met_by}");
        assert_eq!(rows.len(), if met_by == "the next sleep" { 2 } else { 1 }, "{met_by}");
        assert_eq!(m.kept().history().unwrap().rows.len(), rows.len(), "{met_by}: told once");
    }
    // Its hook after it never ran: that the machine came back is known for all that.
    let mut m = Machine::new();
    let begun = m.clocks().unwrap();
    m.sleep(28_800, 1);
    before(&m.root(), begun, m.clocks()).unwrap();
    m.boot("22222222-bbbb");
    let r = &m.kept().history().unwrap().rows[0];
    assert_eq!((r.ended_ms.is_some(), r.slept_ms), (true, Some(28_800_000)));
}

#[test]
fn the_mode_is_what_the_log_or_the_counters_tell_and_else_nothing() {
    let mode = |success: u64, slept: i64, log: &str| {
        let mut m = Machine::new();
        m.before();
        m.wait(2);
        m.sleep(slept, success);
        m.wait(2);
        m.put("/dev/kmsg", log);
        m.after();
        let r = m.kept().history().unwrap().rows.remove(0);
        (r.mode, r.suspend_ms)
    };
    let of = |s: i64| {
        format!(
            "6,1,{s}100000,-;PM: suspend entry (deep)\n6,2,{s}200000,-;Freezing user space processes\n\
             6,3,{s}700000,-;PM: suspend devices took 0.400 seconds\n6,4,{s}800000,-;PM: suspend exit\n"
        )
    };
    assert_eq!(mode(1, 60, &of(51)).0, "deep");
    // Messages of a sleep long before this one.
    assert_eq!(mode(1, 60, &of(11)), ("s2idle".into(), None));
    // Those of the next one, for which the hook after this one was too slow, come later.
    assert_eq!(mode(1, 60, &(of(51) + &of(99))).0, "deep");
    assert_eq!(mode(0, 60, "").0, "hibernation", "it is counted nowhere");
    assert_eq!(mode(0, 0, "").0, "", "nothing slept, and nothing says what was tried");
}

#[test]
fn a_sleep_that_never_came_back_has_the_last_words_of_the_kernel() {
    let mut m = Machine::new();
    m.before();
    m.boot("22222222-bbbb");
    m.wait(36_000);
    m.put(
        "/sys/fs/pstore/dmesg-efi-1",
        "<6>[  5.100000] PM: suspend entry (s2idle)\n\
         <6>[  5.300000] xhci_hcd 0000:00:14.0: PM: calling pci_pm_suspend_noirq @ 9, parent: pci0000:00\n",
    );
    let place = m.dir.path().join("sys/fs/pstore/dmesg-efi-1");
    let at = |ns: i64| std::time::UNIX_EPOCH + Duration::from_nanos(ns as u64);
    let set = |ns| fs::File::open(&place).unwrap().set_modified(at(ns)).unwrap();
    set(EVENING + 60 * S);
    let r = &m.kept().history().unwrap().rows[0];
    assert_eq!((r.ended_ms, r.mode.as_str()), (None, ""), "who knows what was asked for");
    assert_eq!(r.failed_device, "0000:00:14.0");
    assert!(!r.failed_step.is_empty());
    // A crash after the next boot's sleep is none of this one.
    let mut m2 = Machine::new();
    m2.before();
    m2.boot("22222222-bbbb");
    m2.wait(36_000);
    m2.night();
    m2.put("/sys/fs/pstore/dmesg-efi-1", &fs::read_to_string(&place).unwrap());
    let place = m2.dir.path().join("sys/fs/pstore/dmesg-efi-1");
    fs::File::open(&place).unwrap().set_modified(at(EVENING + 360_000 * S)).unwrap();
    let rows = m2.kept().history().unwrap().rows;
    assert_eq!((rows.len(), rows[0].failed_device.as_str()), (2, ""));
}

#[test]
fn an_old_reading_that_cannot_be_removed_is_not_taken_for_the_new_one() {
    let mut m = Machine::new();
    m.before();
    let folder = m.dir.path().join("var/lib/dormouse");
    let old = fs::read(folder.join("before")).unwrap();
    m.sleep(3_600, 1);
    m.after();
    m.wait(3_600);
    m.before();
    let spare = m.dir.path().join(SPARE.trim_start_matches('/'));
    fs::rename(folder.join("before"), spare.join("before")).unwrap();
    fs::write(folder.join("before"), old).unwrap();
    m.sleep(7_200, 1);
    m.after();
    let rows = m.kept().history().unwrap().rows;
    let lengths: Vec<_> = rows.iter().map(|r| r.length_ms()).collect();
    assert_eq!(lengths, [Some(3_600_000), Some(7_200_000)]);
}

#[test]
fn what_waits_in_memory_does_not_make_a_history_there() {
    let mut m = Machine::new();
    let var = m.dir.path().join("var/lib");
    fs::remove_dir(&var).unwrap();
    fs::write(&var, "").unwrap();
    m.night();
    fs::remove_file(&var).unwrap();
    fs::create_dir(&var).unwrap();
    assert_eq!(m.kept().history().unwrap().rows.len(), 1);
    assert!(m.database().exists());
    assert!(!m.dir.path().join(SPARE.trim_start_matches('/')).join(DATABASE).exists());
}

#[test]
fn lines_that_are_added_while_others_are_taken_are_not_lost() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    let folder = Folder::open(&path, true).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    let mut take = || {
        while let Some(text) = folder.take("spool").unwrap() {
            seen.extend(String::from_utf8(text).unwrap().lines().map(String::from));
            folder.taken("spool").unwrap();
        }
    };
    std::thread::scope(|s| {
        let add = s.spawn(|| {
            let own = Folder::open(&path, true).unwrap();
            (0..100).for_each(|i| own.append("spool", &format!("line {i}")).unwrap());
        });
        while !add.is_finished() {
            take();
        }
    });
    take();
    assert_eq!(seen.len(), 100);
    assert!(folder.hold() && !Folder::open(&path, false).unwrap().hold(), "one takes at a time");
}

#[test]
fn a_database_that_is_held_is_not_damaged() {
    let mut m = Machine::new();
    m.night();
    let store = Store::open(&m.database(), Duration::ZERO).unwrap();
    let held = holding(&m.database());
    assert!(matches!(store.history(), Err(Error::Sqlite(_))), "{:?}", store.history());
    drop(held);
    assert_eq!(store.history().unwrap().rows.len(), 1);
}

#[test]
fn a_file_whose_tables_are_none_is_no_history() {
    let dir = tempfile::tempdir().unwrap();
    let endless = "DROP TABLE sleep; CREATE VIEW sleep AS WITH RECURSIVE n(i) AS \
                   (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT i AS id FROM n";
    let computed =
        "DROP TABLE fault; CREATE TABLE fault (at_ms INTEGER, what AS (hex(zeroblob(at_ms))))";
    for (i, change) in [endless, computed, "DROP TABLE version"].iter().enumerate() {
        let place = dir.path().join(format!("{i}.db"));
        drop(Store::open(&place, Duration::ZERO).unwrap());
        rusqlite::Connection::open(&place).unwrap().execute_batch(change).unwrap();
        let read = Store::of_bytes(&fs::read(&place).unwrap());
        assert!(matches!(read, Err(Error::Foreign)), "{change}");
    }
    // Lines of another kind are counted.
    let place = dir.path().join("kinds.db");
    drop(Store::open(&place, Duration::ZERO).unwrap());
    let db = rusqlite::Connection::open(&place).unwrap();
    db.execute_batch(
        "PRAGMA foreign_keys = OFF; INSERT INTO fault VALUES ('never', 'x'); INSERT INTO version VALUES (9, 'a', 'b')",
    )
    .unwrap();
    let history = Store::of_bytes(&fs::read(&place).unwrap()).unwrap().history().unwrap();
    assert_eq!((history.unread, history.faults.len(), history.damage), (2, 0, None));
}

#[test]
fn a_database_that_became_empty_is_said_to_have_lost_what_it_held() {
    for met_by in ["hook", "watch"] {
        let mut m = Machine::new();
        m.night();
        fs::write(m.database(), "").unwrap();
        if met_by == "hook" {
            m.night();
        }
        let history = m.kept().history().unwrap();
        assert_eq!(history.rows.len(), usize::from(met_by == "hook"));
        let [fault] = &history.faults[..] else { panic!("{met_by}: {history:?}") };
        assert!(fault.what.contains("empty"), "{fault:?}");
        m.night();
        assert_eq!(m.kept().history().unwrap().faults.len(), 1, "{met_by}: said once");
    }
}

#[test]
fn every_page_may_be_damaged_and_the_rest_is_saved() {
    let mut m = Machine::new();
    for _ in 0..60 {
        m.night();
    }
    let whole = fs::read(m.database()).unwrap();
    let saved = |from: usize, to: usize| {
        let mut bytes = whole.clone();
        let noise = |i: usize| (i.wrapping_mul(2_654_435_761) >> 7) as u8;
        bytes[from..to].iter_mut().enumerate().for_each(|(i, b)| *b = noise(i + 1));
        fs::write(m.database(), bytes).unwrap();
        let kept = m.kept();
        let said = kept.remarks.join(" ");
        (kept.history().unwrap().rows.len(), said)
    };
    let (rows, said) = saved(0, 100);
    assert!(rows == 60 && said.contains("60 sleeps could be saved"), "the head: {rows}, {said}");
    let mut lost = 0;
    for page in 0..whole.len() / 4_096 {
        let (rows, said) = saved(page * 4_096, (page + 1) * 4_096);
        assert!(said.contains("damaged"), "page {page}: {said}");
        // The second page lists those that hold rows: each of these loses its own alone.
        lost += if page == 1 { 0 } else { 60 - rows };
    }
    assert_eq!(lost, 60);
}

#[test]
fn a_database_that_cannot_be_written_now_is_shown() {
    let mut m = Machine::new();
    m.night();
    let held = holding(&m.database());
    m.night();
    drop(held);
    let reader = rusqlite::Connection::open(m.database()).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM sleep").unwrap();
    let kept = m.kept();
    assert_eq!(kept.history().unwrap().rows.len(), 1);
    assert!(kept.remarks[0].contains("it waits on"), "{:?}", kept.remarks);
    drop(reader);
    assert_eq!(m.kept().history().unwrap().rows.len(), 2);
}

#[test]
fn a_clock_that_was_set_back_between_sleeps_is_said() {
    let mut m = Machine::new();
    m.night();
    m.night();
    assert_eq!(m.kept().history().unwrap().faults, []);
    m.now[2] -= 200_000 * S;
    m.night();
    let history = m.kept().history().unwrap();
    assert_eq!(history.rows.len(), 3);
    let [fault] = &history.faults[..] else { panic!("{history:?}") };
    assert!(fault.what.contains("set back by"), "{fault:?}");
}

#[test]
fn two_hooks_before_one_sleep_make_one_row() {
    let mut m = Machine::new();
    m.before();
    m.before();
    m.sleep(28_800, 1);
    m.after();
    m.after();
    let history = m.kept().history().unwrap();
    assert_eq!((history.rows.len(), history.faults.len()), (1, 0), "{history:?}");
    m.wait(3_600);
    m.night();
    let history = m.kept().history().unwrap();
    assert_eq!((history.rows.len(), history.faults.len()), (2, 0), "{history:?}");
    // A sleep that the kernel refused is one, though its hook after it was killed.
    m.before();
    m.put("/sys/power/suspend_stats/fail", "2");
    m.wait(1);
    m.before();
    assert_eq!(m.kept().history().unwrap().rows.len(), 3);
}

#[test]
fn a_sleep_before_which_nothing_was_read_is_said() {
    for met_by in ["watch", "the next sleep"] {
        let mut m = Machine::new();
        m.night();
        m.sleep(28_800, 1);
        assert!(!m.after());
        if met_by == "the next sleep" {
            m.wait(3_600);
            m.night();
        } else {
            m.boot("22222222-bbbb");
        }
        let history = m.kept().history().unwrap();
        assert_eq!(history.rows.len(), if met_by == "watch" { 1 } else { 2 }, "{met_by}");
        let [fault] = &history.faults[..] else { panic!("{met_by}: {history:?}") };
        assert!(fault.what.contains("no row"), "{fault:?}");
    }
}

#[test]
fn links_are_said_to_be_links() {
    let mut m = Machine::new();
    m.night();
    let kept = m.dir.path().join("kept");
    fs::rename(m.database(), &kept).unwrap();
    symlink(&kept, m.database()).unwrap();
    m.night();
    let said = Kept::open(&m.root(), false).unwrap_err().to_string();
    assert!(said.contains("history.db is a link"), "{said}");
    fs::rename(&kept, m.database()).unwrap();
    assert_eq!(m.kept().history().unwrap().rows.len(), 2);
    let folder = m.dir.path().join("var/lib/dormouse");
    fs::rename(&folder, &kept).unwrap();
    symlink(&kept, &folder).unwrap();
    m.night();
    let said = Kept::open(&m.root(), false).unwrap_err().to_string();
    assert!(said.contains("dormouse is a link"), "{said}");
}
