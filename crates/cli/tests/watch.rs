//! `dormouse watch` on a made-up machine: hooks, rows, the screen, and who else reads them.

use super::ran::ended;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const S: i64 = 1_000_000_000;

struct Machine {
    dir: tempfile::TempDir,
    now: [i64; 3],
}

impl Machine {
    fn new() -> Machine {
        // 2032-05-01, 21:00.
        let m = Machine {
            dir: tempfile::tempdir().expect("a folder"),
            now: [80 * S, 80 * S, 1_967_058_000 * S],
        };
        for folder in ["var/lib", "run/systemd/system", "etc/systemd/system"] {
            fs::create_dir_all(m.dir.path().join(folder)).expect("made");
        }
        m.put("/proc/sys/kernel/random/boot_id", "5e1f");
        m.put("/sys/power/mem_sleep", "[s2idle]");
        m.put("/sys/class/power_supply/BAT0/type", "Battery");
        m.put("/sys/class/power_supply/BAT0/energy_full", "60000000");
        m
    }

    fn at(&self) -> &Path {
        self.dir.path()
    }

    fn put(&self, path: &str, text: &str) {
        let place = self.at().join(path.trim_start_matches('/'));
        fs::create_dir_all(place.parent().expect("a folder")).expect("made");
        fs::write(place, text).expect("written");
    }

    /// What the command says, with its root.
    fn said(&self, args: &[&str]) -> (i32, String, String) {
        let root = self.at().display().to_string();
        ended(&[&["watch", "--root", &root], args].concat())
    }

    /// One night: so many success before, hardware sleep in all before, mWh used, per cent deep.
    fn night(&mut self, number: i64, kernel: &str, used: i64, deep: i64) {
        let energy = "/sys/class/power_supply/BAT0/energy_now";
        let stats = |m: &Machine, n: i64, hardware: i64| {
            for (file, n) in [("success", n), ("fail", 0), ("total_hw_sleep", hardware)] {
                m.put(&format!("/sys/power/suspend_stats/{file}"), &n.to_string());
            }
        };
        self.put("/proc/sys/kernel/osrelease", kernel);
        stats(self, number, 1_000_000);
        self.put(energy, "50000000");
        let begun = self.clocks();
        self.hook(&["--before", "--here", &begun]);
        self.now.iter_mut().for_each(|t| *t += S);
        self.now[1..].iter_mut().for_each(|t| *t += 28_800 * S);
        stats(self, number + 1, 1_000_000 + 288_000_000 * deep);
        self.put(energy, &(50_000_000 - used * 1_000).to_string());
        self.hook(&["--after"]);
        self.now.iter_mut().for_each(|t| *t += 57_599 * S);
    }

    fn clocks(&self) -> String {
        self.now.map(|n| n.to_string()).join(",")
    }

    fn hook(&self, args: &[&str]) {
        let at = self.clocks();
        let (code, out, err) = self.said(&[args, &["--at", &at]].concat());
        assert_eq!((code, out.as_str(), err.as_str()), (0, "", ""), "{args:?}");
    }

    fn database(&self) -> PathBuf {
        self.at().join("var/lib/dormouse/history.db")
    }
}

/// A machine that became worse with a kernel, after 16 of 28 nights.
fn worse() -> Machine {
    let mut m = Machine::new();
    for i in 0..28 {
        let (kernel, used, deep) =
            if i < 16 { ("6.14.9", 4_000, 96) } else { ("6.15.0", 11_000, 96) };
        m.night(i, kernel, used + i * 37 % 11 * 40, deep - i * 13 % 4);
    }
    m
}

#[test]
fn hooks_come_and_go_and_nothing_is_left() {
    let m = Machine::new();
    let listed = |m: &Machine| {
        let all = Command::new("find").arg(m.at()).output().expect("find").stdout;
        String::from_utf8(all).expect("text")
    };
    let before = listed(&m);
    let (code, dry, _) = m.said(&["--install"]);
    assert_eq!(code, 0);
    assert!(dry.starts_with("This would be done; nothing was changed:"), "{dry}");
    assert!(dry.contains("StopWhenUnneeded=yes") && dry.ends_with("--install --yes\n"), "{dry}");
    assert_eq!(listed(&m), before);
    assert_eq!(m.said(&["--install", "--yes"]).0, 0);
    assert_eq!(m.said(&["--install", "--yes"]).0, 0, "twice is once");
    // The unit may write there alone, so it cannot make it.
    assert!(m.database().parent().expect("a folder").is_dir());
    let unit = m.at().join("etc/systemd/system/dormouse-history.service");
    let wanted = m.at().join("etc/systemd/system/sleep.target.wants/dormouse-history.service");
    let same = |a: &Path, b: &Path| fs::canonicalize(a).ok() == fs::canonicalize(b).ok();
    assert!(same(&unit, &wanted));
    rated(&unit);
    let mut m = m;
    m.night(0, "6.14.9", 4_000, 90);
    assert!(m.database().exists());
    m.said(&["--uninstall"]);
    assert!(unit.exists() && m.database().exists(), "said and not done");
    let (code, gone, _) = m.said(&["--uninstall", "--yes"]);
    assert_eq!(code, 0, "{gone}");
    let ours = |list: &str| list.lines().filter(|l| l.contains("dormouse")).count();
    assert_eq!(ours(&listed(&m)), 0, "{}", listed(&m));
    assert!(!wanted.parent().expect("a folder").exists());
    assert_eq!(m.said(&["--uninstall", "--yes"]).1.lines().next(), Some("There is nothing to do."));
    // A unit of the same name that somebody else wrote.
    fs::write(&unit, "[Unit]\n").expect("written");
    let (code, _, err) = m.said(&["--install", "--yes"]);
    assert!(code == 2 && err.contains("left alone"), "{err}");
    m.said(&["--uninstall", "--yes"]);
    assert_eq!(fs::read_to_string(&unit).expect("there"), "[Unit]\n");
}

/// systemd finds nothing wrong with the unit, and rates what it may do.
fn rated(unit: &Path) {
    let run = |args: &[&str]| Command::new("systemd-analyze").args(args).arg(unit).output();
    let Ok(verified) = run(&["verify"]) else {
        println!("SKIPPED: systemd-analyze is not installed: the unit was not rated");
        return;
    };
    let said = String::from_utf8_lossy(&verified.stderr).into_owned();
    assert!(verified.status.success(), "{said}");
    let Ok(rated) = run(&["security", "--offline=true", "--no-pager"]) else { return };
    let said = String::from_utf8_lossy(&rated.stdout).into_owned();
    let Some(line) = said.lines().find(|l| l.contains("Overall exposure level")) else {
        println!("SKIPPED: this systemd-analyze rates no file: the unit was not rated");
        return;
    };
    let level: f64 =
        line.split(": ").nth(1).and_then(|r| r.split(' ').next()?.parse().ok()).expect(line);
    assert!(level <= 2.0, "{line}");
}

#[test]
fn hooks_of_other_inits_are_programs() {
    for (folder, path, pre, post) in [
        ("etc/elogind", "etc/elogind/system-sleep/dormouse-history", "pre", "post"),
        ("etc/pm/sleep.d", "etc/pm/sleep.d/01dormouse-history", "suspend", "resume"),
    ] {
        let m = Machine::new();
        fs::remove_dir_all(m.at().join("run/systemd")).expect("removed");
        fs::create_dir_all(m.at().join(folder)).expect("made");
        assert_eq!(m.said(&["--install", "--yes"]).0, 0, "{folder}");
        let text = fs::read_to_string(m.at().join(path)).expect(path);
        assert!(text.contains(pre) && text.contains(post), "{text}");
        let checked = Command::new("sh").arg("-n").arg(m.at().join(path)).status().expect("sh");
        assert!(checked.success(), "{text}");
    }
    let m = Machine::new();
    fs::remove_dir_all(m.at().join("run/systemd")).expect("removed");
    let (code, _, err) = m.said(&["--install"]);
    assert!(code == 2 && err.contains("neither systemd, elogind nor pm-utils"), "{err}");
}

#[test]
fn the_screen_says_since_when_it_is_worse() {
    let m = worse();
    let (code, here, err) = m.said(&[]);
    assert_eq!((code, err.as_str()), (0, ""));
    insta::assert_snapshot!("watch", here);
    let database = m.database().display().to_string();
    let (code, there, _) = ended(&["show", &database]);
    let body = |t: &str| t.rsplit_once("\nNext: ").expect("a next command").0.to_string();
    assert_eq!((code, body(&there)), (0, body(&here)), "a copy says the same");
    let document = |args: &[&str]| -> serde_json::Value {
        serde_json::from_str(&ended(args).1).expect("a document")
    };
    let root = m.at().display().to_string();
    let watch = document(&["watch", "--json", "--root", &root]);
    assert_eq!(watch["schema"], "dormouse-watch/1");
    let change = &watch["changes"][0];
    assert_eq!((&change["measure"], &change["night"]), (&"drain".into(), &16.into()));
    assert_eq!(change["coincides_with"][0]["to"], "6.15.0");
    let show = document(&["show", "--json", &database]);
    assert_eq!(show["history"]["nights"], watch["nights"]);
    assert!(here.starts_with(&watch["answer"].as_str().expect("a text")[..40]));
    let csv = ended(&["show", &database, "--set", "csv"]).1;
    assert_eq!(csv.lines().count(), 29, "{csv}");
    let check = ended(&["check", &database]);
    assert!(check.0 == 1 && check.2.contains("dormouse show"), "{}", check.2);
}

#[test]
fn programs_of_others_read_the_database() {
    let m = worse();
    let place = m.database();
    let query = "SELECT count(*), sum(slept_ms) FROM sleep WHERE depth = 'hardware'";
    let python = format!(
        "import sqlite3, sys\nc = sqlite3.connect('file:' + sys.argv[1] + '?mode=ro', uri=True)\n\
         print('%d|%d' % c.execute(\"{query}\").fetchone())\n\
         print(c.execute('PRAGMA integrity_check').fetchone()[0])\n\
         print(c.execute('PRAGMA foreign_key_check').fetchone())\n\
         print(c.execute(\"SELECT before - after FROM battery ORDER BY sleep\").fetchone()[0])"
    );
    let run = Command::new("python3").args(["-c", &python]).arg(&place).output();
    match run.ok().filter(|o| o.status.success()) {
        Some(o) => assert_eq!(
            String::from_utf8_lossy(&o.stdout).lines().collect::<Vec<_>>(),
            ["28|806400000", "ok", "None", "4000000"]
        ),
        None => println!("SKIPPED: python3 with sqlite3 is missing: nobody else read the database"),
    }
}

#[test]
fn rows_hold_no_name_of_the_machine() {
    let mut m = Machine::new();
    m.put("/proc/sys/kernel/hostname", "secretbox");
    m.put("/sys/class/power_supply/BAT0/serial_number", "SN-4711");
    m.put("/sys/class/dmi/id/product_serial", "SN-4712");
    m.put("/sys/class/dmi/id/bios_version", "N2X 1.33");
    m.night(0, "6.14.9", 4_000, 96);
    let bytes = fs::read(m.database()).expect("there");
    let has = |word: &str| bytes.windows(word.len()).any(|w| w == word.as_bytes());
    assert!(has("N2X 1.33") && !has("secretbox") && !has("SN-47"));
}

#[test]
fn old_logs_fill_the_past_once() {
    let m = Machine::new();
    let (mut us, mut mono, mut log) = (1_967_058_000_000_000i64, 9_000_000i64, String::new());
    let mut say = |us: i64, mono: i64, text: &str| {
        log += &format!(
            "__REALTIME_TIMESTAMP={us}\n__MONOTONIC_TIMESTAMP={mono}\n_TRANSPORT=kernel\nMESSAGE={text}\n\n"
        );
    };
    say(us, mono, "Linux version 6.9.3 (a@b) #1 SMP");
    for i in 0..3 {
        say(us, mono, "PM: suspend entry (deep)");
        us += 20_000_000_000 + i;
        mono += 2_000_000;
        say(us, mono, "PM: Triggering wakeup from IRQ 31");
        say(us, mono, "PM: suspend exit");
        us += 50_000_000_000;
        mono += 50_000_000_000;
    }
    m.put("/old", &log);
    let old = m.at().join("old").display().to_string();
    let (code, first, err) = m.said(&["--past", &old]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(first.contains("3 sleeps; 3 of them were not kept yet"), "{first}");
    let again = m.said(&["--past", &old, &old]).1;
    assert!(again.contains("; 0 of them were not"), "{again}");
    let doc: serde_json::Value = serde_json::from_str(&m.said(&["--json"]).1).expect("JSON");
    let sleep = &doc["sleeps"][1];
    assert_eq!((&sleep["mode"], &sleep["waker"]), (&"deep".into(), &"IRQ 31".into()));
    assert_eq!(sleep["versions"]["kernel"], "6.9.3");
    assert_eq!(doc["nights"][1]["slept_ms"], 20_000_000);
    // Years are needed.
    m.put("/dateless", "[ 9.1] PM: suspend entry (deep)\n[ 9.9] PM: suspend exit\n");
    let dateless = m.at().join("dateless").display().to_string();
    let (code, _, err) = m.said(&["--past", &dateless]);
    assert!(code == 1 && err.contains("-o export"), "{err}");
}

#[test]
fn nothing_kept_says_how_to_begin() {
    let m = Machine::new();
    let (code, _, err) = m.said(&[]);
    assert!(code == 1 && err.contains("--install begins"), "{err}");
    assert!(!m.at().join("var/lib/dormouse").exists(), "to look makes nothing");
    m.said(&["--install", "--yes"]);
    let err = m.said(&[]).2;
    assert!(err.contains("the hooks wait"), "{err}");
    let (code, _, err) = m.said(&["--install", "--before"]);
    assert_eq!(code, 2, "{err}");
}

#[test]
fn a_gauge_that_does_not_answer_delays_no_sleep() {
    let m = Machine::new();
    let hung = m.at().join("sys/class/power_supply/BAT0/energy_now");
    let made = Command::new("mkfifo").arg(&hung).status();
    if !made.is_ok_and(|s| s.success()) {
        println!("SKIPPED: mkfifo is missing: no gauge hung");
        return;
    }
    let begun = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_dormouse"))
        .args(["watch", "--before", "--root"])
        .arg(m.at())
        .stdin(Stdio::null())
        .spawn()
        .expect("it runs");
    let status = child.wait().expect("it ends");
    let took = begun.elapsed();
    // What waits goes on when the gauge answers.
    fs::write(&hung, "1000\n").expect("read");
    let kept = m.at().join("var/lib/dormouse/before");
    let until = Instant::now() + Duration::from_secs(10);
    while !kept.exists() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(kept.exists() && status.success() && took < Duration::from_secs(1), "{took:?}");
}

#[test]
fn a_history_of_any_numbers_is_shown() {
    use dormouse_base::stats::random::Random;
    use dormouse_history::columns::{Cell, columns};
    use dormouse_history::store::{Fault, Store};
    const NUMBERS: [i64; 9] =
        [i64::MIN, i64::MAX, 0, -1, 1, 1_000_000_000_000_000, -900_000, 28_800_000, 7];
    const TEXTS: [&str; 5] = ["", "s2idle", "\u{1b}[2J", "deep\n\u{0}", "PNP0C0D:00"];
    let dir = tempfile::tempdir().expect("a folder");
    for seed in 0..40 {
        let r = &mut Random::new(seed);
        let place = dir.path().join(format!("{seed}.db"));
        let mut store = Store::open(&place, Duration::ZERO).expect("made");
        for i in 0..r.below(40) {
            let mut row = dormouse_history::Row::default();
            for c in columns() {
                let cell = match c.kind.starts_with("TEXT") {
                    true => Cell::Text(TEXTS[r.below(5) as usize].into()),
                    false => Cell::Number(NUMBERS[r.below(9) as usize]),
                };
                (c.set)(&mut row, cell);
            }
            // What is written goes around what a row takes.
            row.began_ms = NUMBERS[r.below(9) as usize].saturating_add(i as i64);
            row.ended_ms = Some(NUMBERS[r.below(9) as usize]).filter(|_| r.chance(3, 4));
            row.versions.insert("kernel".into(), TEXTS[r.below(5) as usize].into());
            let fault = Fault { at_ms: NUMBERS[r.below(9) as usize], what: TEXTS[2].into() };
            store.add(&[row], &[fault]).expect("written");
        }
        drop(store);
        let shown = place.display().to_string();
        for args in [&["show", &shown][..], &["show", "--json", &shown]] {
            let (code, out, err) = ended(args);
            assert!(code == 0 && !out.contains('\u{1b}'), "{seed} {args:?}: {out}{err}");
        }
    }
}

#[test]
fn links_and_files_of_others_are_left_alone() {
    use std::os::unix::fs::symlink;
    // A masked unit: nothing is written through the link.
    let m = Machine::new();
    let unit = m.at().join("etc/systemd/system/dormouse-history.service");
    symlink("/dev/null", &unit).expect("a link");
    let (code, _, err) = m.said(&["--install", "--yes"]);
    assert!(code == 2 && err.contains("is masked"), "{err}");
    assert_eq!(fs::read_link(&unit).expect("there"), Path::new("/dev/null"));
    // A link to a file of somebody, and an empty one.
    let victim = m.at().join("victim");
    fs::write(&victim, "mine").expect("written");
    for make in [true, false] {
        fs::remove_file(&unit).expect("removed");
        if make {
            symlink(&victim, &unit).expect("a link")
        } else {
            fs::write(&unit, "").expect("x")
        }
        let (code, _, err) = m.said(&["--install", "--yes"]);
        assert!(code == 2 && err.contains("left alone"), "{err}");
        m.said(&["--uninstall", "--yes"]);
        assert!(fs::symlink_metadata(&unit).is_ok());
        assert_eq!(fs::read_to_string(&victim).expect("there"), "mine");
    }
    // Something else at the place of the link.
    fs::remove_file(&unit).expect("removed");
    let wants = m.at().join("etc/systemd/system/sleep.target.wants");
    fs::create_dir(&wants).expect("made");
    let link = wants.join("dormouse-history.service");
    fs::write(&link, "others").expect("written");
    let (code, _, err) = m.said(&["--install", "--yes"]);
    assert!(code == 2 && err.contains("sleep.target.wants"), "{err}");
    m.said(&["--uninstall", "--yes"]);
    assert_eq!(fs::read_to_string(&link).expect("there"), "others");
}

#[test]
fn files_of_others_in_the_folder_stay() {
    let mut m = Machine::new();
    m.said(&["--install", "--yes"]);
    m.night(0, "6.14.9", 4_000, 90);
    m.put("/var/lib/dormouse/notes.txt", "mine");
    fs::create_dir(m.at().join("var/lib/dormouse/spool")).expect("made");
    let (code, said, err) = m.said(&["--uninstall", "--yes"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(said.contains("Leave, for the files of others in it, /var/lib/dormouse"), "{said}");
    let left: Vec<_> =
        fs::read_dir(m.at().join("var/lib/dormouse")).expect("there").flatten().collect();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(!m.at().join("run/dormouse-history").exists());
}

#[test]
fn several_histories_are_one_document() {
    let (a, b) = (worse(), worse());
    let paths = [a.database(), b.database()].map(|p| p.display().to_string());
    let (code, out, err) = ended(&["show", "--json", &paths[0], &paths[1]]);
    assert_eq!((code, err.as_str()), (0, ""));
    let doc: serde_json::Value = serde_json::from_str(&out).expect("one document");
    assert_eq!(doc["history"].as_array().map(Vec::len), Some(2), "{out}");
    let csv = ended(&["show", &paths[0], &paths[1], "--set", "csv"]).1;
    assert_eq!(csv.lines().count(), 1 + 2 * 28, "one head");
}

#[test]
fn a_sleep_that_never_came_back_says_where_its_words_are() {
    let m = Machine::new();
    m.put("/proc/sys/kernel/random/boot_id", "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee");
    let begun = m.clocks();
    m.hook(&["--before", "--here", &begun]);
    m.put("/proc/sys/kernel/random/boot_id", "f00d");
    let said = m.said(&[]).1;
    assert!(said.contains("journalctl -k -b aaaaaaaabbbb4ccc8dddeeeeeeeeeeee"), "{said}");
    assert!(said.contains("cut: a sleep never came back") && said.contains("2032-05-01"), "{said}");
}
