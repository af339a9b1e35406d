//! `show` on a terminal: what it says, and that nothing breaks its page.

use crate::example;

use dormouse_words::text::{WIDTH, show, width};
use dormouse_words::{Explained, Selection, csv, markdown};
use proptest::prelude::*;

fn page(all: &[Explained], selection: &Selection) -> String {
    show(all, selection, false)
}

#[test]
fn one_cycle() {
    let all = example::explained(example::board(0).finish());
    insta::assert_snapshot!(page(&all, &Selection::default()));
}

#[test]
fn many_cycles() {
    let all = example::explained(example::everything());
    insta::assert_snapshot!(page(&all, &Selection::default()));
}

#[test]
fn a_cycle_with_all_counts() {
    let all = example::explained(example::everything());
    let selection = Selection { cycle: Some(2), ..Selection::default() };
    let text = page(&all, &selection);
    let tail = text.split("Long waits").nth(1).unwrap();
    insta::assert_snapshot!(tail);
}

#[test]
fn a_domain_is_a_cause_of_its_own() {
    let all = example::explained(example::with_domain());
    let text = page(&all, &Selection { cycle: Some(2), ..Selection::default() });
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = "ms Power domains switched in callbacks 7.97 gpu on, noirq resume; first of it: \
                4a100000.ethernet; nobody used it before or after; 0:0:0:0 waited meanwhile";
    assert!(text.contains(said), "{text}");
}

#[test]
fn a_domain_is_a_finding_with_its_row_and_advice() {
    let all = example::explained(example::with_domain());
    let report = dormouse_doctor::recorded::judge(&all[0].capture);
    let found = report.findings.iter().find(|f| f.id == "phase-domain").unwrap();
    let w = dormouse_words::doctor::worded(found);
    let said = "Power domain gpu switched on: 7.97 ms, first of it 4a100000.ethernet; nobody used it \
                before or after; 0:0:0:0 waited meanwhile.";
    assert_eq!((w.row, w.level, &*w.sentence), ("noirq", "slow", said));
    assert!(
        w.evidence[0]
            .ends_with("cycle 2: 7970 us in noirq: domain gpu in a callback of 4a100000.ethernet"),
        "{:?}",
        w.evidence
    );
    assert!(w.advice[0][0].contains("unbind the drivers"), "{:?}", w.advice);
}

#[test]
fn an_abort_names_the_device() {
    let all = example::explained(example::everything());
    let selection = Selection { cycle: Some(7), ..Selection::default() };
    let text = page(&all, &selection);
    assert!(text.contains("aborted by 0:0:0:0 (error -16)"), "{text}");
}

#[test]
fn a_table_for_an_issue() {
    let all = example::explained(example::board(0).finish());
    insta::assert_snapshot!(markdown::show(&all, &Selection::default()));
}

#[test]
fn a_line_for_each_callback() {
    let all = example::explained(example::board(0).finish());
    let mut out = Vec::new();
    let selection =
        Selection { phases: Selection::phases_called("suspend"), ..Selection::default() };
    csv::show(&all, &selection, &mut out).unwrap();
    insta::assert_snapshot!(String::from_utf8(out).unwrap().replace("\r\n", "\n"));
}

#[test]
fn colour_changes_nothing_but_colour() {
    let all = example::explained(example::everything());
    let selection = Selection { cycle: Some(1), ..Selection::default() };
    let mut plain = show(&all, &selection, true);
    assert!(plain.contains("\x1b[1m"));
    for code in ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[1;31m"] {
        plain = plain.replace(code, "");
    }
    assert_eq!(plain, page(&all, &selection));
}

/// Names as a hostile log may have them.
fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[a-z]{0,200}",
        Just("\"><script>alert(1)</script>".to_string()),
        Just("a\nb\r\x1b[2Jc\u{202e}d\u{9b}".to_string()),
        "[日本語한국어]{1,60}",
        Just(String::new()),
    ]
}

fn all_named(names: &[String], slow: i64) -> Vec<Explained> {
    let mut b = example::board(slow);
    for (i, name) in names.iter().enumerate() {
        let name = b.capture.names.add(name);
        match i {
            0..4 => b.capture.graph.devices[i].name = name,
            4..8 => b.capture.graph.devices[i - 3].driver = name,
            8 => b.cycle.source = name,
            9 => b.cycle.kernel = name,
            10 => b.cycle.freeze_delays.push(name),
            _ => b.cycle.threads[0].name = name,
        }
    }
    example::explained(b.finish())
}

proptest! {

    #[test]
    fn no_name_breaks_the_page(
        names in proptest::collection::vec(hostile(), 12),
        slow in prop_oneof![Just(0i64), 0..10_000_000_000i64],
        top in 0usize..12,
    ) {
        let mut all = all_named(&names, slow);
        for several in [false, true] {
            if several {
                all.extend(all_named(&names, slow / 2));
            }
            let selection = Selection { top, ..Selection::default() };
            let text = page(&all, &selection);
            let next = text.rfind("\nNext: ").map_or(0, |at| text[..at].lines().count());
            for (i, line) in text.lines().enumerate() {
                // A word of the next command is not cut: it has a line of its own.
                let word = i > next && !line.starts_with(' ');
                prop_assert!(width(line) <= WIDTH || word, "{} columns: {line}", width(line));
                prop_assert!(!line.chars().any(char::is_control), "{line:?}");
                prop_assert!(!line.contains(['\u{202e}', '\u{200f}', '\u{2028}']), "{line:?}");
            }
        }
    }
}
