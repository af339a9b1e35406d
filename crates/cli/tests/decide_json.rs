//! The JSON of `predict`, `evaluate`, `plan` and `tune` against the pages that describe it:
//! every field of real output is on its page with its type, and every field of
//! the page occurs.

use crate::ran::{self, root};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

type Types = BTreeMap<String, BTreeSet<String>>;

fn output(args: &[&str]) -> Value {
    let out = ran::output([args, &["--json"]].concat());
    let value: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    // A plan that is not met exits 4, and its JSON is whole all the same.
    let expected = if value["met"] == Value::Bool(false) { 4 } else { 0 };
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(expected), "{args:?}: {said}");
    value
}

/// A page: its tables of fields by heading, in lower case. The first table has
/// no heading.
struct Page {
    tables: BTreeMap<String, Types>,
    text: String,
}

impl Page {
    fn read(name: &str) -> Page {
        let text = std::fs::read_to_string(root().join("docs").join(name)).expect("the page");
        let mut tables: BTreeMap<String, Types> = BTreeMap::new();
        let mut heading = String::new();
        let mut in_table = false;
        for line in text.lines() {
            if let Some(h) = line.strip_prefix("## ") {
                heading = h.trim_start_matches("An ").to_lowercase();
            }
            in_table = line.starts_with("| path |") || (in_table && line.starts_with('|'));
            let Some(row) = line.strip_prefix("| `").filter(|_| in_table) else { continue };
            let cells: Vec<&str> = row.split(" | ").collect();
            let types = cells[1].split(" or ").map(str::to_string).collect();
            let path = cells[0].trim_end_matches('`').to_string();
            let table = tables.entry(heading.clone()).or_default();
            assert!(table.insert(path.clone(), types).is_none(), "{path} is there twice");
        }
        Page { tables, text }
    }

    /// The table `heading`, with what other tables say of the values that are
    /// named after them.
    fn whole(&self, heading: &str) -> Types {
        let mut out = Types::new();
        for (path, types) in &self.tables[heading] {
            let mut plain = types.clone();
            for (name, table) in &self.tables {
                if plain.remove(name) {
                    plain.insert("object".into());
                    let inner = table.iter().map(|(p, t)| (format!("{path}.{p}"), t.clone()));
                    out.extend(inner);
                }
            }
            out.insert(path.clone(), plain);
        }
        out
    }
}

/// Path and type of everything in `value` but lists and objects that the page
/// describes by what is in them.
fn paths(value: &Value, at: &str, out: &mut Types) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_i64() || n.is_u64() => "integer",
        Value::Number(_) => "float",
        Value::String(_) => "string",
        Value::Array(list) => {
            list.iter().for_each(|v| paths(v, &format!("{at}[]"), out));
            return;
        }
        Value::Object(map) => {
            for (k, v) in map {
                let at = if at.is_empty() { k.clone() } else { format!("{at}.{k}") };
                paths(v, &at, out);
            }
            "object"
        }
    };
    out.entry(at.to_string()).or_default().insert(kind.to_string());
}

/// `doc` and what is really put out agree.
fn agree(doc: &Types, values: &[Value]) {
    let mut real = Types::new();
    values.iter().for_each(|v| paths(v, "", &mut real));
    for (path, kinds) in &real {
        match doc.get(path) {
            Some(types) => assert!(kinds.is_subset(types), "{path}: {kinds:?}, said {types:?}"),
            None => {
                assert!(*kinds == BTreeSet::from(["object".into()]), "{path} is not on the page")
            }
        }
    }
    let never: Vec<&String> = doc.keys().filter(|p| !real.contains_key(*p)).collect();
    assert!(never.is_empty(), "on the page, but never put out: {never:?}");
}

const LAPTOP: &str = "captures/laptop-6.12.tar.gz";
const AM335X: &str = "boards/am335x.board";

/// Writes a log whose main thread stands still into `folder`.
fn unexplained(folder: &Path) -> String {
    let path = folder.join("unexplained.txt");
    std::fs::write(&path, super::screens::STANDS_STILL).expect("written");
    path.to_str().expect("a path").to_string()
}

/// `tune`, `plan` and `replay` answer nothing for `log`, and say how to insist.
fn refused(log: &str) {
    for args in [
        &["tune", log][..],
        &["plan", log, "--suspend", "1ms"],
        &["replay", log, "--kernel", "6.12", "-o", "never"],
    ] {
        let out = ran::output(args.iter());
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(5), "{args:?}: {said}");
        assert!(said.contains("--force"), "{said}");
    }
}

/// A log of `n` devices one after the other, whose lines cost half a millisecond.
fn printed(n: usize) -> String {
    let mut out = String::from("[    1.000000] PM: suspend entry (deep)\n");
    let mut us = 1_100_000;
    let mut line = |us: usize, text: String| {
        out += &format!("[{:5}.{:06}] {text}\n", us / 1_000_000, us % 1_000_000);
    };
    for i in 0..n {
        let who = format!("drv d{i}: PM:");
        line(us, format!("{who} calling f_suspend+0x0/0x10 @ 7, parent: none"));
        line(us + 100, format!("{who} f_suspend+0x0/0x10 returned 0 after 100 usecs"));
        us += 600;
    }
    let took = format!("{}.{:03}", n * 600 / 1000, n * 600 % 1000);
    line(us, format!("PM: suspend of devices complete after {took} msecs"));
    line(2_000_000, "PM: suspend exit".into());
    out
}

#[test]
fn a_log_with_lines_missing_is_not_decided() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("log.txt");
    let log = file.to_str().expect("a path");
    let whole = printed(20);
    std::fs::write(&file, &whole).expect("written");
    let verdict = || output(&["predict", log])["fidelity"]["verdict"].clone();
    assert_eq!(verdict(), "reproduced");
    let lines: Vec<&str> = whole.lines().collect();
    let without = |gone: &dyn Fn(&str) -> bool| -> String {
        lines.iter().filter(|l| !gone(l)).map(|l| format!("{l}\n")).collect()
    };
    for bad in [
        // The kernel's buffer ran over; a callback has no start; one has no end;
        // the phase has no end.
        whole.replacen("drv d3: PM: calling", "** 9 printk messages dropped **", 1),
        without(&|l| l.contains("d4: PM: calling")),
        without(&|l| l.contains("d4: PM: f_suspend")),
        without(&|l| l.contains("of devices complete")),
    ] {
        std::fs::write(&file, &bad).expect("written");
        assert_eq!(verdict(), "not_reproduced", "{bad}");
        refused(log);
    }
}

#[test]
fn what_is_not_reproduced_is_not_decided() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = unexplained(folder.path());
    let out = ran::output(["tune", &log]);
    assert_eq!(out.status.code(), Some(5));
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(said.contains("suspend: 180.00 ms were recorded"), "{said}");
    assert!(said.contains("--force"), "{said}");
    refused(&log);
    let predicted = output(&["predict", &log, "--without", "b"]);
    assert_eq!(predicted["fidelity"]["verdict"], "not_reproduced");
    // The model has a change, and none is claimed.
    let ns = |at: &str| predicted[at]["suspend_ns"].as_i64().expect("a time");
    assert!(predicted["claimed"]["suspend_ns"].is_null(), "{}", predicted["claimed"]);
    assert!(ns("before") - ns("after") > 40_000);
}

#[test]
fn predict_is_as_its_page_says() {
    let page = Page::read("predict-json.md");
    let folder = tempfile::tempdir().expect("a folder");
    let mut values = vec![
        output(&["predict", &unexplained(folder.path())]),
        output(&["predict", LAPTOP, "--kernel", "7.3", "--async", "*"]),
        output(&["predict", AM335X]),
    ];
    // Twenty callbacks of 0.1 ms, of which the lines cost 0.5 ms each.
    let log = folder.path().join("printed.txt");
    std::fs::write(&log, printed(20)).expect("written");
    let printed = output(&["predict", log.to_str().expect("a path")]);
    let quiet = printed["without_printing"]["suspend"]["before_ns"].as_i64().expect("a time");
    let loud = printed["before"]["suspend_ns"].as_i64().expect("a time");
    assert!(quiet > 2_000_000 && (loud - quiet - 10_000_000).abs() < 600_000, "{loud}, {quiet}");
    values.push(printed);
    // One for each trip of a hibernation.
    let trips = output(&["predict", "crates/cli/tests/fixtures/hibernate.dmesg"]);
    values.extend(trips["trips"].as_array().expect("a list").iter().cloned());
    agree(&page.whole(""), &values);
}

#[test]
fn evaluate_is_as_its_page_says() {
    let page = Page::read("evaluate-json.md");
    let mut values = Vec::new();
    for file in [LAPTOP, "crates/cli/tests/fixtures/hibernate.dmesg"] {
        let all = output(&["evaluate", file]);
        values.extend(all["evaluations"].as_array().expect("a list").iter().cloned());
    }
    assert_eq!(values.len(), 3, "a laptop, and two trips of a hibernation");
    agree(&page.whole(""), &values);
}

#[test]
fn evaluate_says_by_its_code_whether_what_was_asked_is_met() {
    let run = |ask: &str| {
        let args = ["evaluate", "crates/cli/tests/fixtures/hibernate.dmesg", "--ask", ask];
        ran::output(args)
    };
    // Its schedule is a chain, which every kernel runs alike.
    assert_eq!(run("100").status.code(), Some(0));
    let out = ran::output(["evaluate", LAPTOP, "--ask", "100"]);
    assert_eq!(out.status.code(), Some(4), "the guest's prepare takes longer than predicted");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(said.contains("were asked for"), "{said}");
}

#[test]
fn all_kernels_is_as_its_page_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let board = folder.path().join("hangs.board");
    // On the way up `a` waits for `b`, whose parent comes after `a` in the
    // main thread's list: kernels that know no better never finish.
    let text = "board 1\ndevice a resume=1ms\ndevice c resume=1ms\n\
        device b parent=c async resume=1ms\nlink a b stateless\n";
    std::fs::write(&board, text).expect("written");
    let hangs = output(&["predict", board.to_str().expect("a path"), "--all-kernels"]);
    assert!(hangs["kernels"].to_string().contains("would hang"));
    let page = Page::read("predict-json.md");
    let mut doc = page.whole("with `--all-kernels`");
    let ranges: Vec<String> = doc.keys().filter(|p| p.contains(".range.")).cloned().collect();
    // Cycles are not resampled for a table of kernels.
    ranges.iter().for_each(|p| drop(doc.remove(p)));
    let log = output(&["predict", &unexplained(folder.path()), "--all-kernels"]);
    agree(&doc, &[hangs, log, output(&["predict", LAPTOP, "--all-kernels"])]);
}

const SENSOR: &str = "suspending=900mW,awake=600mW,asleep=4mW,awake_for=100ms,asleep_for=10s,\
    other=200ms,battery=7.4Wh";

#[test]
fn plan_is_as_its_page_says() {
    let page = Page::read("plan-json.md");
    let base = ["plan", AM335X, "--kernel", "6.12"];
    let run = |more: &[&str]| output(&[&base[..], more].concat());
    let folder = tempfile::tempdir().expect("a folder");
    let log = unexplained(folder.path());
    let values = [
        run(&["--suspend", "15ms", "--ready", "eth0=100ms"]),
        run(&["--resume", "105ms"]),
        run(&["--resume", "90ms", "--change", "defer,speedup", "--energy", SENSOR]),
        run(&["--resume", "105ms", "--energy", &SENSOR.replace(",battery=7.4Wh", "")]),
        output(&["plan", &log, "--suspend", "1ms", "--force"]),
    ];
    assert_eq!(values[1]["met"], false);
    assert_eq!(values[2]["met"], true);
    agree(&page.whole(""), &values);
    let account = &values[2]["energy"]["after"];
    let of = |key: &str| account[key].as_u64().expect(key);
    let parts = ["suspend_nj", "resume_nj", "other_nj", "awake_nj", "asleep_nj"].map(of);
    assert_eq!(parts.iter().sum::<u64>(), of("cycle_nj"));
    assert_eq!(of("cycles_per_charge"), 26_640_000_000_000 / of("cycle_nj"));
    // 900 mW for as many nanoseconds.
    let resume = values[2]["after"]["resume_ns"].as_u64().expect("a time");
    assert_eq!(of("resume_nj"), (resume * 9 + 5) / 10);
}

#[test]
fn tune_is_as_its_page_says() {
    let page = Page::read("tune-json.md");
    let careful = output(&["tune", AM335X, "--kernel", "7.3"]);
    let folder = tempfile::tempdir().expect("a folder");
    let log = output(&["tune", &unexplained(folder.path()), "--force"]);
    let chip = folder.path().join("chip.board");
    let text = "board 1\ndomain gpu on=8ms off=3ms\n\
        device dev2 domain=gpu runtime_suspended noirq=0.2ms resume_noirq=0.2ms\n";
    std::fs::write(&chip, text).expect("written");
    let chip = output(&["tune", chip.to_str().expect("a path"), "--kernel", "6.12"]);
    assert_eq!(chip["domains"][0]["change"], "unbind", "{chip}");
    agree(
        &page.whole(""),
        &[careful.clone(), log, chip, output(&["tune", LAPTOP, "--bold", "--simulations", "40"])],
    );
    use dormouse_sleep::tune::evidence::Evidence::*;
    for e in [AlreadyAsync, NothingRuns, DeclaredLinks, LikeOthers, GraphSaysFree, Hope] {
        let name = serde_json::to_value(e).expect("a word");
        let row = format!("| `{}` |", name.as_str().expect("a word"));
        assert!(page.text.contains(&row), "{name}");
        assert_eq!(page.text.contains(&(row + " only with `--bold`")), !e.is_careful(), "{name}");
    }
}

#[test]
fn nothing_is_said_of_a_half_that_is_not_in_the_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("log.txt");
    let log = file.to_str().expect("a path");
    // One callback ran in a worker.
    let call = "d5: PM: calling f_suspend+0x0/0x10 @ ";
    let text = printed(20).replace(&format!("{call}7"), &format!("{call}9"));
    std::fs::write(&file, text).expect("written");
    let plan = |half: &str| {
        let out = ran::output(["plan", log, half, "1s"]);
        (out.status.code(), String::from_utf8_lossy(&out.stderr).into_owned())
    };
    let (code, said) = plan("--suspend");
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = plan("--resume");
    assert_eq!(code, Some(5), "{said}");
    assert!(said.contains("nothing of resume is in the recording"), "{said}");
    let predicted = output(&["predict", log, "--scale", "d3=0.5"]);
    assert!(!predicted["claimed"]["suspend_ns"].is_null(), "{}", predicted["claimed"]);
    assert!(predicted["claimed"]["resume_ns"].is_null(), "{}", predicted["claimed"]);
}

#[test]
fn the_way_back_is_as_its_page_says() {
    let page = Page::read("plan-json.md");
    let slow = crate::back::Journal { hook: 90_000, ..crate::back::QUICK };
    let silent = crate::back::Journal { told: false, ..slow };
    let of = |text: String, limit: &str| -> Value {
        let out = ran::piped(&["tune", "-", "--ready", limit, "--json"], &text);
        serde_json::from_slice(&out.stdout).expect("JSON")
    };
    let firmware = "/sys/firmware/acpi/fpdt/resume/resume_prev_ns:812000000\n";
    let deep = slow.text().replace("s2idle", "deep") + firmware;
    let values = [of(deep, "net=2s"), of(silent.text(), "net=2s")];
    assert_eq!(values[1]["verdict"], "unknown");
    agree(&page.whole("the way back as a whole"), &values);
}
