//! Golden decisions, made by the unmodified governor sources of 6.12 and 7.2
//! (README beside the vectors): every decision is equal.

use crate::data;
use dormouse_idle::governors::{Governor, Kind, Outcome, Question, SleepLength, Version};
use dormouse_idle::state::{State, StateSet, Table};
use serde_json::Value;

fn integer(v: &Value, key: &str) -> i64 {
    v[key].as_i64().unwrap_or_else(|| panic!("{key} in {v}"))
}

fn table(header: &Value) -> Table {
    let state = |s: &Value| State {
        latency: integer(s, "lat_ns"),
        residency: integer(s, "res_ns"),
        polls: integer(s, "poll") == 1,
        ..State::default()
    };
    let states = header["states"].as_array().expect("states").iter().map(state).collect();
    Table::new(states).expect("a table of the kernel's size")
}

fn replay(name: &str, text: &str) -> usize {
    let mut lines = text.lines().map(|l| serde_json::from_str::<Value>(l).expect("JSON"));
    let header = lines.next().expect("a header");
    let word = |key: &str| header[key].as_str().unwrap_or_default().to_owned();
    let kind = Kind::named(&word("governor")).unwrap_or_else(|| panic!("governor of {name}"));
    let version = Version::named(&word("kernel")).unwrap_or_else(|| panic!("kernel of {name}"));
    let table = table(&header);
    let tick = integer(&header, "tick_ns");
    let mut governor = Governor::new(kind, version, &table);
    let mut now = 1_000_000;
    let mut count = 0;
    for (i, v) in lines.enumerate() {
        let question = Question {
            table: &table,
            disabled: StateSet(integer(&v, "dis") as u16),
            limit: integer(&v, "lr"),
            tick,
            tick_stopped: integer(&v, "ts") == 1,
            sleep: SleepLength { timer: integer(&v, "sl"), event: integer(&v, "dt") },
            now,
            iowait: 0,
        };
        if let Governor::Haltpoll(h) = &governor {
            assert_eq!(h.poll_limit(), integer(&v, "plim"), "{name}, decision {i}: {v}");
        }
        let d = governor.select(&question);
        let got = (d.state as i64, i64::from(d.stop_tick), i64::from(d.asked));
        let want = (integer(&v, "idx"), integer(&v, "st"), integer(&v, "called"));
        assert_eq!(got, want, "{name}, decision {i}: {v}");
        now = integer(&v, "clk");
        match usize::try_from(integer(&v, "ent")) {
            Err(_) => governor.reject(integer(&v, "ptl") == 1),
            Ok(entered) => governor.reflect(&Outcome {
                entered,
                residency: integer(&v, "res"),
                poll_limit: integer(&v, "ptl") == 1,
                tick: integer(&v, "gt") == 1,
                now,
            }),
        }
        count += 1;
    }
    count
}

#[test]
fn every_golden_decision_is_equal() {
    let Some(folder) = data::idle("governor-vectors") else { return };
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path()).collect();
    files.sort();
    let (mut decisions, mut read) = (0, 0);
    for path in files {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if !name.ends_with(".jsonl.gz") || name.starts_with("simple_ondemand") {
            continue;
        }
        decisions += replay(&name, &data::text(&path));
        read += 1;
    }
    println!("{decisions} decisions of {read} files are equal");
    assert!(read >= 44 && decisions >= 88_000, "{read} files, {decisions} decisions");
}
