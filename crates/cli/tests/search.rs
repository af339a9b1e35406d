//! `dormouse search` on a made-up `/sys` and `/proc`: nothing here touches the machine that
//! runs the test.

use crate::record::{dormouse, tree};
use dormouse_base::stats::random::Random;
use dormouse_sleep::culprits::{Search, Step, Trial};
use std::fs;
use std::path::{Path, PathBuf};

/// The tree of `record`, with three more devices that may wake it.
fn machine() -> tempfile::TempDir {
    let dir = tree();
    let driver = dir.path().join("sys/bus/platform/drivers/a");
    fs::create_dir_all(&driver).unwrap();
    for name in ["a", "b", "c", "d"] {
        for (file, text) in
            [("uevent", "DRIVER=a\n"), ("power/async", "enabled\n"), ("power/wakeup", "enabled\n")]
        {
            let place = dir.path().join(format!("sys/devices/platform/{name}/{file}"));
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, text).unwrap();
        }
        let link = dir.path().join(format!("sys/devices/platform/{name}/driver"));
        std::os::unix::fs::symlink(&driver, link).unwrap();
    }
    dir
}

/// Writes a list of sleeps in which `troubled` says whether the trouble comes, until the search
/// is done or `most` are made.
fn list(at: &Path, most: usize, troubled: impl Fn(&[bool], &mut Random) -> bool) -> PathBuf {
    let device = |name: &str| {
        format!(
            "{{\"devpath\":\"/devices/platform/{name}\",\"name\":\"{name}\",\"subsystem\":\"\",\
             \"driver\":\"a\"}}"
        )
    };
    let all = ["a", "b", "c", "d"].map(device).join(",");
    let mut text = format!(
        "{{\"what\":\"asked\",\"kind\":\"wakeup\",\"rarest\":5,\"check\":[],\"settings\":[{all}]}}\n\
         {{\"what\":\"start\",\"boot_id\":\"b1\"}}\n"
    );
    let (mut search, mut random) = (Search::new(4, 5), Random::new(7));
    while let (Step::Sleep(on), true) = (search.next(), search.trials().len() < most) {
        let off: Vec<String> = (0..4).filter(|n| !on[*n]).map(|n| n.to_string()).collect();
        let troubled = troubled(&on, &mut random);
        let trouble = if troubled { ",\"trouble\":\"woke after 3.0 s of 15\"" } else { "" };
        text += &format!("{{\"what\":\"begin\",\"off\":[{}]}}\n", off.join(","));
        text += &format!("{{\"what\":\"end\"{trouble}}}\n");
        search.saw(Trial { on, troubled });
    }
    let place = at.join("kept");
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("trials.jsonl"), text).unwrap();
    place
}

/// What it says of a list, without a further sleep; lines joined.
fn said(dir: &tempfile::TempDir, more: &[&str], code: i32) -> String {
    let how = ["search", "wakeup", "--yes", "--one-in", "5", "--campaign", "kept"];
    let out = dormouse(dir, &[&how[..], more].concat()).assert().code(code);
    let text = String::from_utf8_lossy(&out.get_output().stdout).into_owned();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn has(text: &str, all: &[&str]) {
    for words in all {
        assert!(text.contains(words), "{words} in {text}");
    }
}

#[test]
fn what_was_found_is_said_with_its_proof_and_a_rule() {
    let dir = machine();
    list(dir.path(), 500, |on, random| on[2] && random.chance(1, 2));
    let text = said(&dir, &[], 0);
    has(
        &text,
        &[
            "This machine is woken by c (a). With it on, ",
            " ended before their alarm or failed; with it off and all others on, none of the last",
            " % sure.",
            "The last trouble: woke after 3.0 s of 15.",
            "DEVPATH==\"/devices/platform/c\", ATTR{power/wakeup}=\"disabled\"",
        ],
    );
    let text = said(&dir, &["-o", "rule"], 0);
    has(&text, &["Wrote rule.", "Next: dormouse check"]);
    assert!(fs::read_to_string(dir.path().join("rule")).unwrap().contains("ATTR{power/wakeup}"));
    let json: serde_json::Value = serde_json::from_str(&said(&dir, &["--json"], 0)).unwrap();
    assert_eq!(json["schema"], "dormouse-search/1");
    assert_eq!(json["verdict"]["what"], "found");
    assert_eq!(json["verdict"]["turn_off"], serde_json::json!(["c (a)"]));
}

#[test]
fn two_together_elsewhere_quiet_and_undecided_are_told_apart() {
    let dir = machine();
    list(dir.path(), 900, |on, _| on[0] && on[3]);
    has(
        &said(&dir, &[], 0),
        &[
            "This machine is woken by a (a) and d (a), but only both together: it is enough to turn one off.",
        ],
    );
    list(dir.path(), 900, |_, random| random.chance(1, 2));
    has(
        &said(&dir, &[], 4),
        &["None of 4 devices is to blame. With all of them off ", " ended before their alarm"],
    );
    list(dir.path(), 900, |_, _| false);
    has(&said(&dir, &[], 4), &["The trouble did not come in ", "If it comes once in 5 sleeps"]);
    list(dir.path(), 3, |on, _| on[1]);
    has(
        &said(&dir, &["--cycles", "3"], 4),
        &["Not found in 3 sleeps;", "Most suspected: ", "--cycles 6"],
    );
}

#[test]
fn it_asks_before_it_sleeps_and_refuses_what_is_not_its_own() {
    let dir = machine();
    let text = |code: i32, words: &[&str]| {
        let out = dormouse(&dir, words).assert().code(code);
        let out = out.get_output();
        let both = [&out.stdout[..], &out.stderr].concat();
        String::from_utf8(both).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let dry = text(2, &["search", "async", "--pm-test", "devices"]);
    has(&dry, &["add --yes to test suspending 1000 times at most"]);
    has(&dry, &["echo 'disabled' > '/sys/devices/platform/a/power/async' # was \"enabled\""]);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "only sys and proc");
    has(&text(2, &["search", "async", "--among", "x*"]), &["no device of that name"]);
    has(&text(2, &["search", "wakeup", "--wake", "external"]), &["--wake rtc:SECONDS"]);
    has(&text(1, &["search", "driver"]), &["no device of this machine has a driver that can"]);
    list(dir.path(), 3, |_, _| false);
    has(
        &text(2, &["search", "wakeup", "--yes", "--campaign", "kept"]),
        &["kept is of another search (wakeup, --one-in 5)"],
    );
    fs::write(dir.path().join("kept/trials.jsonl"), "nonsense\n").unwrap();
    has(
        &text(3, &["search", "wakeup", "--yes", "--one-in", "5", "--campaign", "kept"]),
        &["the search in kept cannot be used", "no list of a search"],
    );
}
