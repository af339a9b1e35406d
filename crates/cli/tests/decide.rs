//! The verbs that decide, as a user runs them.

use crate::ran::{output, root};
use std::collections::BTreeSet;
use std::process::{Command, Output};

fn dormouse(args: &[&str]) -> Output {
    output(args)
}

fn text(out: &Output) -> String {
    String::from_utf8(out.stdout.clone()).expect("text")
}

const LAPTOP_612: &str = "captures/laptop-6.12.tar.gz";
const LAPTOP_73: &str = "captures/laptop-7.3.tar.gz";

/// Every key of every object in `value`.
fn keys(value: &serde_json::Value, found: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(map) => {
            for (key, inner) in map {
                found.insert(key.clone());
                keys(inner, found);
            }
        }
        serde_json::Value::Array(list) => list.iter().for_each(|v| keys(v, found)),
        _ => {}
    }
}

#[test]
fn the_json_of_compare_is_documented() {
    let out = dormouse(&["compare", "--json", LAPTOP_612, LAPTOP_73]);
    assert!(out.status.success());
    let value: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!(value["schema"], "dormouse-compare/1");
    let mut found = BTreeSet::new();
    keys(&value, &mut found);
    assert!(found.len() > 30, "{found:?}");
    let doc = std::fs::read_to_string(root().join("docs/compare-json.md")).expect("the page");
    let unnamed: Vec<&String> = found
        .iter()
        .filter(|k| !doc.contains(&format!("`{k}`")) && !doc.contains(&format!(".{k}`")))
        .filter(|k| !doc.contains(&format!("`{k}[]`")))
        .collect();
    assert!(unnamed.is_empty(), "docs/compare-json.md does not name {unnamed:?}");
}

/// The times of a recording of a real machine say in which order the sides
/// were recorded; a guest's own clock says nothing.
#[test]
fn sides_that_were_recorded_in_blocks_are_said() {
    use dormouse_base::time::Ns;
    use dormouse_sleep::compare::{Subject, compare};
    use dormouse_words::wording::comparison as say;
    let path = root().join("crates/read/tests/fixtures/capture-v1.tar.gz");
    let bytes = std::fs::read(path).unwrap();
    let read = |seconds: [i64; 2]| {
        let mut all = dormouse_read::read_bytes("x", &bytes, &Default::default()).unwrap().captures;
        for (cycle, s) in all[0].cycles.iter_mut().zip(seconds) {
            assert!(cycle.began.is_some());
            cycle.began = Some(Ns(s * 1_000_000_000));
            cycle.first_after_boot = false;
        }
        all.remove(0)
    };
    let cautions = |a, b| {
        let captures = [read(a), read(b)];
        let views = captures.each_ref().map(dormouse_sleep::analyse::explain);
        let subject = |n: usize| Subject {
            label: ["old", "new"][n].into(),
            captures: vec![(&captures[n], views[n].as_slice())],
        };
        say::cautions(&compare(&[subject(0), subject(1)], false).unwrap()).join("\n")
    };
    let words = "old and new were recorded one after the other";
    assert!(cautions([1, 2], [3, 4]).contains(words));
    assert!(!cautions([1, 3], [2, 4]).contains(words));
    let guests = dormouse(&["compare", LAPTOP_612, LAPTOP_73]);
    assert!(!text(&guests).contains("one after the other"));
}

/// A clock that the RTC moved inside a resume is no time of it, for either verb.
#[test]
fn check_and_tune_hold_a_budget_against_the_same_times() {
    let verdict = text(&dormouse(&["check", LAPTOP_612, "--resume", "250ms"]));
    assert!(
        verdict.starts_with("Resume meets its budget of 250.0 ms in all 4 cycles"),
        "{verdict}"
    );
    let plan = dormouse(&["tune", LAPTOP_612, "--resume", "250ms", "--json"]);
    let plan: serde_json::Value = serde_json::from_slice(&plan.stdout).expect("JSON");
    let said = plan.to_string();
    assert!(said.contains("\"recorded_cycles_that_meet\":3"), "{said}");
}

#[test]
fn a_side_against_itself_differs_in_nothing() {
    let same = dormouse(&["compare", "--json", LAPTOP_612, LAPTOP_612]);
    assert_eq!(same.status.code(), Some(2), "the same file twice is a slip");
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("copy.tar.gz");
    std::fs::copy(root().join(LAPTOP_612), &copy).expect("copied");
    let out = dormouse(&["compare", "--json", LAPTOP_612, copy.to_str().expect("a path")]);
    let value: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    for row in value["rows"].as_array().expect("rows") {
        let contrast = &row["against_first"][0];
        assert_eq!(contrast["difference"], 0.0, "{row}");
        assert_eq!(contrast["verdict"], "no_difference", "{row}");
    }
    assert_eq!(value["devices"].as_array().map(Vec::len), Some(0));
}

#[test]
fn different_sleep_states_are_refused_unless_insisted_on() {
    let board = "captures/am335x-6.12.tar.gz";
    let out = dormouse(&["compare", LAPTOP_612, board]);
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("--across-modes"));
    let slower = ["compare", "--across-modes", "--fail-if-slower", "3%", board, LAPTOP_612];
    assert_eq!(dormouse(&slower).status.code(), Some(4), "the laptop is slower than the board");
    let faster = ["compare", "--across-modes", "--fail-if-slower", "3%", LAPTOP_612, board];
    assert_eq!(dormouse(&faster).status.code(), Some(0));
}

#[test]
fn a_plan_hands_over_what_it_removes_and_names_what_is_in_the_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("a path");
    let out = dormouse(&[
        "plan",
        "boards/am335x.board",
        "--kernel",
        "6.12",
        "--resume",
        "76510us",
        "--offer",
        "usb1",
        "-o",
        path,
    ]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let said = text(&out);
    assert!(said.lines().all(|l| l.chars().count() <= 80), "{said}");
    assert!(said.contains("usb1"), "the longest device goes:\n{said}");
    let overlay = std::fs::read_to_string(folder.path().join("dormouse.dtso")).expect("an overlay");
    assert!(overlay.contains("target-path = \"/ocp/usb@47400000/usb@47401000\""), "{overlay}");

    let out = dormouse(&["plan", "boards/am335x.board", "--kernel", "6.12", "--resume", "80ms"]);
    let said = text(&out);
    assert_eq!(out.status.code(), Some(4), "a budget that is not met is no success");
    assert!(
        said.starts_with("Not met with the 9 changes searched: resume stays at 111.6 ms"),
        "{said}"
    );
    let (_, after) = said.split_once("What remains the bottleneck").expect("what is in the way");
    let (way, withheld) = after.split_once("Left out").expect("what is withheld");
    assert!(way.contains("usb1 (usb)") && way.contains("109.00  resume"), "{said}");
    assert!(withheld.contains("it can wake the machine"), "{said}");
    assert!(said.trim_end().ends_with("--resume 80ms --offer usb1"), "{said}");

    // What must be ready is not removed.
    let out = dormouse(&[
        "plan",
        "boards/am335x.board",
        "--kernel",
        "6.12",
        "--ready",
        "4a100000.ethernet=50ms",
    ]);
    assert!(!text(&out).contains("remove 4a100000.ethernet"), "{}", text(&out));
    let said = text(&out);
    assert!(said.starts_with("Not met with the 8 changes searched: 4a100000.ethernet"), "{said}");
    // Its own time is in the way, not that of the device that resume waits for,
    // and no offer frees what must be ready.
    let (_, after) = said.split_once("What remains the bottleneck").expect("what is in the way");
    let (way, withheld) = after.split_once("Left out").expect("what is withheld");
    assert!(way.contains("4a100000.ethernet") && !way.contains("usb1"), "{said}");
    assert!(!withheld.contains("kept as asked"), "{said}");
    let better = follow(&said);
    assert!(better.starts_with("1 change would meet the budget"), "{better}");
    assert_eq!(dormouse(&["plan", "boards/am335x.board"]).status.code(), Some(2), "no budget");
}

/// What the last line of a screen leads to.
fn follow(said: &str) -> String {
    let (_, command) = said.rsplit_once("Next: dormouse ").expect("a next command");
    let command = command.replace(" \\\n", " ").replace('\'', "");
    let words: Vec<&str> = command.split_whitespace().collect();
    text(&dormouse(&words))
}

#[test]
fn not_possible_is_said_only_where_nothing_was_left_out() {
    let board = ["plan", "boards/am335x.board", "--kernel", "6.12", "--resume", "40ms"];
    let few = [&board[..], &["--offer", "*", "--candidates", "1"]].concat();
    let said = text(&dormouse(&few));
    assert!(said.starts_with("Not met with the 1 change searched: resume 111.6 ms ->"), "{said}");
    assert!(!said.contains("best case"), "{said}");
    assert!(said.trim_end().ends_with("--candidates 7"), "{said}");
    let next = said.split("Next: ").nth(1).unwrap_or_default();
    assert_eq!(next.matches("--candidates").count(), 1, "given once: {said}");
    let over = |text: &str| -> f64 {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let before = words.split(" ms over").next().unwrap_or_default().to_string();
        before.rsplit(' ').next().and_then(|n| n.parse().ok()).expect("how far over")
    };
    let better = follow(&said);
    // The budget of the next command is one that can be met.
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let closest = words.split("Closest is --candidates 7: ").nth(1).expect("what comes closest");
    assert!(over(closest) < over(&said), "{said}");
    assert!(
        better.split_once(" would meet the budget").is_some_and(|b| b.0.len() < 12),
        "{better}"
    );

    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("one.board");
    std::fs::write(&path, "board 1\ncpus 2\ndevice screen resume=300ms\n").expect("written");
    let ask = ["plan", path.to_str().expect("a path"), "--kernel", "6.12"];
    let kinds = ["--ready", "screen=100ms", "--change", "remove,async,defer,speedup"];
    let said = text(&dormouse(&[&ask[..], &kinds[..2]].concat()));
    assert!(said.starts_with("Not met") && !said.contains("best case"), "{said}");
    let said = text(&dormouse(&[&ask[..], &kinds[..]].concat()));
    assert!(said.starts_with("Not possible: screen is ready after"), "{said}");
    assert!(said.contains("Even in the"), "{said}");
}

#[test]
fn more_candidates_meet_the_budget_of_a_real_laptop() {
    let data = std::env::var("DORMOUSE_DATA").unwrap_or_else(|_| "../shared/data".into());
    let log = root().join(data).join("logs/real/xps13-9360-sleepgraph-2020-06-29.txt.gz");
    if !log.exists() {
        println!("SKIPPED: {} is absent (set DORMOUSE_DATA)", log.display());
        return;
    }
    // Machines that explain this log answer differently: plan asks for --force.
    let log = log.to_str().expect("a path");
    let said = text(&dormouse(&["plan", log, "--resume", "515ms", "--force"]));
    assert!(said.starts_with("Not met with the 12 changes searched: resume"), "{said}");
    let better = follow(&said);
    assert!(better.starts_with("3 changes would meet the budget"), "{better}");
    assert!(better.contains("You lose at least the network at phy0;"), "{better}");
}

#[test]
fn a_plan_says_what_the_machine_loses() {
    let board = ["plan", "boards/am335x.board", "--kernel", "6.12", "--resume", "40ms"];
    let said = text(&dormouse(&[&board[..], &["--offer", "*"]].concat()));
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("You lose at least wake-up by usb1;"), "{said}");
    assert!(said.contains("; root file system (48060000.mmc,"), "{said}");
    assert!(said.contains("; the network at 4a100000.ethernet, eth0;"), "{said}");
    assert!(!said.contains("does not name the root disk"), "{said}");
    let capture = ["plan", "captures/am335x-6.12.tar.gz", "--resume", "30ms", "--offer", "usb1"];
    let words = text(&dormouse(&capture)).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("does not name the root disk: check that it is not on"), "{words}");
    assert!(words.contains("mmcblk0"), "{words}");
}

#[test]
fn predict_leads_to_a_plan_that_may_do_what_was_predicted() {
    let ask = ["predict", "captures/am335x-6.12.tar.gz", "--without", "usb1", "--resamples", "0"];
    let said = text(&dormouse(&ask));
    assert!(said.trim_end().ends_with("--offer usb1"), "{said}");
    let plan = follow(&said);
    assert!(plan.starts_with("1 change would meet the budget"), "{plan}");
    assert!(plan.contains("You lose at least wake-up by usb1; USB at usb1;"), "{plan}");
}

/// The flags that the first line counts save what it says when they are set,
/// and the rows of the table add up to it.
#[test]
fn tune_counts_the_flags_that_give_its_saving() {
    for (file, kernel) in [("boards/am335x.board", "7.3"), ("captures/am335x-6.12.tar.gz", "6.12")]
    {
        let ask = ["tune", file, "--kernel", kernel];
        let said = text(&dormouse(&ask));
        let json = dormouse(&[&ask[..], &["--json"]].concat());
        let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
        let flips = json["flips"].as_array().expect("flips");
        assert!(said.starts_with(&format!("{} flags together (", flips.len())), "{said}");
        let (_, table) = said.split_once("\nDevice ").expect("a table");
        let (rows, rest) = table.split_once("\nalone: ").expect("its end");
        let last = |l: &str| l.split_whitespace().last().and_then(|n| n.parse::<f64>().ok());
        let mut sum: f64 = rows.lines().skip(1).filter_map(last).sum();
        let more = rest.lines().nth(1).filter(|l| l.contains(" more together"));
        let before_ms = |l: &str| l.split(" ms").next().and_then(last);
        sum += more.and_then(before_ms).unwrap_or(0.0);
        let half = |at: &str, what: &str| json[at][what].as_f64().expect("a time") / 1e6;
        let both = |at: &str| half(at, "suspend_ns") + half(at, "resume_ns");
        let gain = both("before") - both("after");
        assert!((sum - gain).abs() < 0.05, "{file}: {sum} of {gain}: {said}");
        assert!(said.split_whitespace().any(|w| w == format!("{gain:.2}")), "{gain}: {said}");

        let mut predict: Vec<&str> = vec!["predict", file, "--from-kernel", kernel, "--json"];
        predict.extend(["--resamples", "0"]);
        for f in flips {
            let to = f["async"] == serde_json::Value::Bool(true);
            let name = f["device"].as_str().expect("a name");
            predict.extend([if to { "--async" } else { "--sync" }, name]);
        }
        let out = dormouse(&predict);
        let json: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
        let half = |at: &str, what: &str| json[at][what].as_f64().expect("a time") / 1e6;
        let both = |at: &str| half(at, "suspend_ns") + half(at, "resume_ns");
        let saved = both("before") - both("after");
        // A name may be that of several devices.
        assert!((saved - gain).abs() < 0.1 * gain, "{file}: {saved} of {gain}");
    }
}

#[test]
fn tune_finds_the_flag_and_writes_the_rule() {
    let folder = tempfile::tempdir().expect("a folder");
    let rules = folder.path().join("90-dormouse-async.rules");
    let case = "boards/cases/c25.board";
    let arguments = ["tune", case, "--kernel", "7.3", "--profile", "zero", "--udev"];
    let mut arguments = arguments.to_vec();
    arguments.push(rules.to_str().expect("a path"));
    let out = dormouse(&arguments);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let words = text(&out).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.starts_with("1 flag is worth changing (D async): 160.0 ms less"), "{words}");
    assert!(words.contains("suspend 360.0 ms -> 200.0 ms"), "{words}");
    assert!(words.contains("Wrote "), "{words}");
    assert!(text(&out).lines().all(|l| l.chars().count() <= 80), "{}", text(&out));
    let rules = std::fs::read_to_string(rules).expect("the rules");
    assert!(rules.contains("KERNEL==\"D\", ATTR{power/async}=\"enabled\""), "{rules}");
}

#[test]
fn energy_is_refused_with_what_to_write() {
    let base = ["plan", "boards/am335x.board", "--kernel", "6.12", "--resume", "200ms", "--energy"];
    let whole = "suspending=1W,awake=1W,asleep=1mW,awake_for=1s,cycles_a_day=10";
    assert_eq!(dormouse(&[&base[..], &[whole]].concat()).status.code(), Some(0));
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(
        file.path(),
        "suspending=1W\nawake=2 furlongs\nasleep=1mW\nawake_for=1s\n\
        cycles_a_day=10\n",
    )
    .expect("written");
    let path = file.path().to_str().expect("a path");
    for (given, words) in [
        (&*whole.replace("=10", "=100000"), "lower it"),
        ("asleep=3", "`suspending` is missing"),
        ("suspending=3,asleep=1mW", "W, mW or uW"),
        (path, "`awake=2 furlongs`"),
    ] {
        let out = dormouse(&[&base[..], &[given]].concat());
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{given}: {said}");
        assert!(said.contains(words), "{given}: {said}");
    }
    let out = dormouse(&[&base[..], &["/no/such/file"]].concat());
    assert_eq!(out.status.code(), Some(3));
}

#[test]
fn verifying_needs_a_kernel_and_an_emulator_and_says_so_at_once() {
    let board = "boards/am335x.board";
    let policy = dormouse(&["tune", board, "--kernel", "G1", "--verify", "lab"]);
    assert_eq!(policy.status.code(), Some(2));
    let none = dormouse(&["tune", board, "--verify", "lab"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&none.stderr).contains("--kernel 6.12"));
    let bare = Command::new(env!("CARGO_BIN_EXE_dormouse"))
        .args(["tune", board, "--kernel", "6.12", "--verify", "lab"])
        .current_dir(root())
        .env("PATH", "/nonexistent")
        .output()
        .expect("dormouse runs");
    assert_eq!(bare.status.code(), Some(3));
    let said = String::from_utf8_lossy(&bare.stderr);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("not possible here: qemu-system-x86_64 is not installed"), "{said}");
    assert_eq!(said.matches("dormouse: ").count(), 1, "{said}");
    assert!(bare.stdout.is_empty());
}

/// One boot a side: direction and size must be right. Boots guests, so it is
/// ignored by default: `make prove SUBJECT=verify`.
#[test]
#[ignore = "boots guests: `make prove SUBJECT=verify` runs it"]
fn tuning_is_verified_on_a_kernel() {
    let case = "boards/cases/c25.board";
    let folder = tempfile::tempdir().expect("a folder");
    let out = dormouse(&[
        "tune",
        case,
        "--kernel",
        "7.3",
        "--verify",
        "lab",
        "--samples",
        "1",
        "--lab-cycles",
        "3",
        "--keep-recordings",
        folder.path().to_str().expect("a path"),
        "--json",
    ]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let value: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let verified = &value["verified"];
    assert_eq!(verified["outcome"], "held", "{verified:#}");
    let mut found = BTreeSet::new();
    keys(verified, &mut found);
    let doc = std::fs::read_to_string(root().join("docs/lab.md")).expect("the page");
    let unnamed: Vec<&String> = found
        .iter()
        .filter(|k| !doc.contains(&format!("`{k}`")) && !doc.contains(&format!("`{k}[]`")))
        .collect();
    assert!(unnamed.is_empty(), "docs/lab.md does not name {unnamed:?}");
    let rows = verified["rows"].as_array().expect("rows");
    let suspend = rows.iter().find(|r| r["part"] == "suspend").expect("the way down");
    let gain = suspend["measured_before_ns"].as_f64().unwrap_or(0.0)
        - suspend["measured_after_ns"].as_f64().unwrap_or(0.0);
    assert!((155e6..165e6).contains(&gain), "160 ms of 360 ms: {gain}");
    // The recordings are captures like any other.
    let side = |name: &str| folder.path().join(name).display().to_string();
    let compared = dormouse(&["compare", &side("before.tar.gz"), &side("after.tar.gz")]);
    assert!(text(&compared).contains("faster"), "{}", text(&compared));
}

/// A host that writes its registers in noirq, and one that could do it in late: what
/// `--move` foretells from the recording is what the kernel then takes.
#[test]
#[ignore = "boots guests: `make prove SUBJECT=verify` runs it"]
fn callbacks_that_move_take_what_predict_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let board = |host: &str| {
        let others = "device c1 parent=host suspend=4ms async\n\
                      device c2 parent=host late=12ms early=9ms async\n\
                      device x parent=root late=15ms noirq=3ms resume_noirq=3ms async\n";
        format!("board 1\ncpus 4\ndevice root\n{host}\n{others}")
    };
    let host = |down: &str, up: &str| board(&format!("device host parent=root {down} {up} async"));
    let before = host("late=2ms noirq=20ms", "resume_noirq=15ms resume=5ms");
    let after = host("late=22ms", "early=15ms resume=5ms");
    let recorded = |name: &str, text: &str| {
        std::fs::write(path(name), text).expect("written");
        let board = path(name);
        let capture = board.replace(".board", ".tar.gz");
        let ran = dormouse(&[
            "lab", "run", "--kernel", "6.12", "--sleep", "core", "--board", &board, "-o", &capture,
        ]);
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        capture
    };
    let recordings = (recorded("before.board", &before), recorded("after.board", &after));
    let json = |args: &[&str]| -> serde_json::Value {
        let out = dormouse(args);
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        serde_json::from_slice(&out.stdout).expect("JSON")
    };
    let said = json(&["predict", &recordings.0, "--move", "host=noirq:late", "--json"]);
    let done = json(&["predict", &recordings.1, "--json"]);
    let list = |v: &serde_json::Value| v.as_array().expect("a list").clone();
    let took = list(&done["observed_ns"]);
    // Late, both noirq and early: what the change is about. That of a first cycle after
    // boot takes 0.1 ms more in the others, moved or not.
    for (row, took) in list(&said["after"]["phases"]).iter().zip(took).skip(2).take(4) {
        let (foretold, took) = (row["duration_ns"].as_i64(), took.as_i64());
        let (foretold, took) = (foretold.expect("a time"), took.expect("a time"));
        let off = (foretold - took).abs();
        assert!(off <= (took / 50).max(100_000), "{row}: foretold {foretold}, took {took}");
    }
    let before = list(&said["before"]["phases"]);
    let moved = |i: usize| list(&said["after"]["phases"])[i] != before[i];
    assert!(moved(2) && moved(3) && moved(4) && moved(5), "both halves move");
    // The doctor suspects the host where it waits in noirq, and nobody where it does not.
    let found = |capture: &str| -> Vec<String> {
        let findings = list(&json(&["doctor", "--json", capture])["texts"][0]["findings"]);
        findings.iter().map(|f| format!("{}: {}", f["id"], f["sentence"])).collect()
    };
    let suspects = found(&recordings.0);
    assert!(suspects.len() == 1 && suspects[0].contains("\"phase-noirq-sleeps\": \"host"));
    assert_eq!(found(&recordings.1), [""; 0]);
}

/// A device that is suspended at run time and resumed for the sleep: what the simulator
/// makes of its board, and what `predict` says of leaving it alone, beside a kernel. The
/// cycle that is judged is the second: the first after a boot pays for workers and caches
/// that nobody foretells.
#[test]
#[ignore = "boots guests: `make prove SUBJECT=verify` runs it"]
fn a_device_that_is_left_suspended_gains_what_predict_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let board = |how: &str| {
        format!(
            "board 1\ncpus 4\ndevice root\n\
             device wk parent=root runtime_suspended rpm_suspend=2ms rpm_resume=20ms suspend=15ms \
             resume=12ms async {how}\n\
             device c1 parent=root suspend=25ms resume=4ms async\n\
             device x parent=root late=5ms noirq=3ms async\n"
        )
    };
    let json = |args: &[&str]| -> serde_json::Value {
        let out = dormouse(args);
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        serde_json::from_slice(&out.stdout).expect("JSON")
    };
    // The guest's clock chip resumes in 0.1 ms, or in 400 ms if it is just then counting a
    // second on. That is no matter of the board: another cycle is taken then.
    let recorded = |name: &str, text: &str| {
        std::fs::write(path(name), text).expect("written");
        let board = path(name);
        for warm_up in ["1", "2", "3", "4"] {
            let capture = board.replace(".board", &format!("-{warm_up}.tar.gz"));
            let how =
                ["--kernel", "6.12", "--sleep", "core", "--with", "rpm", "--warm-up", warm_up];
            let files = ["--board", &board, "-o", &capture];
            let ran = dormouse(&[&["lab", "run"], &how[..], &files[..]].concat());
            assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
            let seen = json(&["predict", &capture, "--json"])["observed_ns"][6].as_i64();
            if seen.expect("a time") < 100_000_000 {
                return capture;
            }
        }
        panic!("the clock chip counts a second on in every cycle");
    };
    let before = recorded("before.board", &board("rpm_first"));
    let after = recorded("after.board", &board("direct_complete"));
    let times = |v: &serde_json::Value| -> Vec<i64> {
        let list = v.as_array().expect("a list").iter();
        list.map(|t| t.as_i64().or(t["duration_ns"].as_i64()).expect("a time")).collect()
    };
    let was = times(&json(&["predict", &before, "--json"])["observed_ns"]);
    let is = times(&json(&["predict", &after, "--json"])["observed_ns"]);
    let ask = ["predict", &before, "--leave-suspended", "wk", "--json"];
    let foretold = times(&json(&ask)["after"]["phases"]);
    // Suspend, 35 ms with the resume at run time, and resume. What the guest's kernel adds
    // is taken from the other recording.
    let (costs, other) = (path("costs.json"), path("after.board"));
    let fitted = dormouse(&["calibrate", &after, "--board", &other, "-o", &costs]);
    assert!(fitted.status.success(), "{}", String::from_utf8_lossy(&fitted.stderr));
    let board = path("before.board");
    let ask = ["predict", &board, "--kernel", "6.12", "--profile", &costs, "--json"];
    let simulated = times(&json(&ask)["before"]["phases"]);
    // The guest has devices of its own, some of them before the board's in the list, which
    // no board file holds: of what took so long only the board's devices count.
    let shown = json(&["show", "--json", &before]);
    let name = |device: &serde_json::Value| {
        device.as_u64().and_then(|i| shown["devices"][i as usize][0].as_str()).unwrap_or("")
    };
    let on_path = |phase: &str| -> i64 {
        let all = shown["cycles"][0]["phases"].as_array().expect("phases");
        let phase = all.iter().find(|p| p["name"] == phase && p["direction"] == phase);
        let path = phase.expect("the phase")["critical_path"].as_array().expect("a path");
        let own = path.iter().filter(|step| ["wk", "c1", "x"].contains(&name(&step[0])));
        own.map(|step| step[2].as_i64().expect("a time")).sum()
    };
    let mut own = was.clone();
    (own[1], own[6]) = (on_path("suspend"), on_path("resume"));
    for (what, said, took) in [("left alone", &foretold, &is), ("its board", &simulated, &own)] {
        for phase in [1, 6] {
            let off = (said[phase] - took[phase]).abs();
            let within = (took[phase] / 50).max(100_000);
            println!("{what}, phase {phase}: foretold {} ns, took {} ns", said[phase], took[phase]);
            assert!(off <= within, "{what}: {said:?} {took:?}");
        }
    }
    assert!(was[1] > 34_000_000 && is[1] < 26_500_000, "{was:?} {is:?}");
    let found = |capture: &str| -> Vec<String> {
        let all = json(&["doctor", "--json", capture]);
        let list = all["texts"][0]["findings"].as_array().expect("a list").clone();
        list.iter().map(|f| f["id"].as_str().expect("a word").to_string()).collect()
    };
    assert!(found(&before).contains(&"rpm-woken".to_string()), "{:?}", found(&before));
    assert!(!found(&after).contains(&"rpm-woken".to_string()), "{:?}", found(&after));
    // What leaving it alone saves, by simulation, is said by the doctor, and beside the cycle.
    let woken = |list: &serde_json::Value| {
        let list = list.as_array().expect("a list");
        list.iter().find(|f| f["id"] == "rpm-woken").expect("found")["saves_ns"].as_i64()
    };
    let saves = woken(&json(&["doctor", "--json", &before])["texts"][0]["findings"]);
    let gain = (was[1] - is[1]) + (was[6] - is[6]);
    let off = (saves.expect("the simulator knows") - gain).abs();
    assert!(off <= (gain / 50).max(200_000), "{saves:?} foretold, {gain} ns gained");
    assert_eq!(woken(&shown["findings"]), saves);
    assert!(text(&dormouse(&["show", &before])).contains("its remedy saves"));
}

#[test]
fn no_lock_is_seen_in_forty_cycles_of_a_real_laptop() {
    // Timers make many of its callbacks end at the same moment, which is not
    // what a lock does.
    let data = std::env::var("DORMOUSE_DATA").unwrap_or_else(|_| "../shared/data".into());
    let folder = root().join(data).join("logs/pm-graph/multitest-5.3");
    if !folder.exists() {
        println!("SKIPPED: {} is absent (set DORMOUSE_DATA)", folder.display());
        return;
    }
    let said = text(&dormouse(&["predict", folder.to_str().expect("a path")]));
    assert!(said.contains("Assumed"), "{said}");
    assert!(!said.contains("a lock"), "{said}");
}

#[test]
fn a_machine_whose_suspend_fails_is_refused() {
    let board = "boards/cases/c14.board";
    for verb in [&["tune", board][..], &["plan", board, "--resume", "1ms"]] {
        let out = dormouse(&[verb, &["--kernel", "6.12"]].concat());
        assert_eq!(out.status.code(), Some(1), "{verb:?}: {}", text(&out));
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(said.contains("the suspend fails: a callback of F returns -5"), "{said}");
    }
}

#[test]
fn tune_without_a_free_flag_comforts_nobody() {
    let out = dormouse(&["tune", "boards/cases/c25.board", "--kernel", "7.3", "--deny", "*"]);
    let said = text(&out);
    assert!(said.starts_with("Cannot tune: no async flag is free to change here."), "{said}");
    assert!(!said.contains("as good as"), "{said}");
}

/// A SoC whose `gpu` takes most of the noirq resume, and what a device in it tolerates.
const GOVERNED: &str = "board 1\ncpus 4\n\
    domain top on=20ms off=12ms governor=simple_qos\n\
    domain gpu parent=top state=1ms/2ms state=15ms/18ms governor=simple_qos\ndevice soc\n\
    device dev2 parent=soc domain=gpu runtime_suspended module=gpu noirq=0.2ms\n\
    device dev3 parent=soc domain=gpu runtime_suspended module=gpu noirq=0.2ms\n";

#[test]
fn plan_uses_nothing_in_a_domain_and_writes_how() {
    let folder = tempfile::tempdir().expect("a folder");
    let board = folder.path().join("soc.board");
    std::fs::write(&board, GOVERNED).expect("written");
    let (board, plan) = (board.display().to_string(), folder.path().join("plan"));
    let out = plan.display().to_string();
    let said = text(&dormouse(&["plan", &board, "--resume", "5ms", "-o", &out]));
    assert!(said.contains("1 change would meet the budget"), "{said}");
    assert!(said.contains("use nothing in power domain gpu"), "{said}");
    assert!(said.contains("You lose what 2 devices do: dev2, dev3."), "{said}");
    let files: String = std::fs::read_dir(&plan)
        .expect("files")
        .map(|f| std::fs::read_to_string(f.expect("a file").path()).expect("text"))
        .collect();
    assert!(files.contains("blacklist gpu"), "{files}");
    let kept = text(&dormouse(&["plan", &board, "--resume", "5ms", "--keep", "dev3"]));
    assert!(!kept.contains("use nothing"), "{kept}");
}

#[test]
fn predict_says_what_governors_make_of_a_tolerance() {
    let folder = tempfile::tempdir().expect("a folder");
    let board = folder.path().join("soc.board");
    std::fs::write(&board, GOVERNED).expect("written");
    let board = board.display().to_string();
    let said = |qos: &str| {
        let out = text(&dormouse(&["predict", &board, "--resume-latency", qos]));
        out.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let shallow = said("dev2=20ms");
    for sentence in [
        "dev2 may take 20.0 ms to wake.",
        "Power domain top is on when the sleep begins, not off in state 0.",
        "Power domain gpu is off in state 0 when the sleep begins, not off in state 1.",
        "(-36.0 ms)",
    ] {
        assert!(shallow.contains(sentence), "{sentence}: {shallow}");
    }
    assert!(said("dev2=0").contains("So dev2 stays awake at run time."));
    assert!(said("soc=1ms").contains("No domain of theirs has a governor"));
    let bad = dormouse(&["predict", &board, "--resume-latency", "dev2"]);
    let error = String::from_utf8_lossy(&bad.stderr);
    assert_eq!(bad.status.code(), Some(2), "{error}");
    assert!(error.contains("write PATTERN=TIME, such as 'gpu*=20ms', or PATTERN=none"), "{error}");
}
