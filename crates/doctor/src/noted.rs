//! What comments of a configuration tell: somebody wrote them above the settings that mend it.

use crate::case::Case;
use crate::finding::{Confidence, Finding, Level};
use dormouse_base::say;

/// So many settings are named.
const NAMED: usize = 4;

/// Findings that such comments alone show are of an earlier time; what the same text sets
/// against them is no news.
pub(crate) fn temper(case: &Case, findings: &mut [Finding]) {
    if case.noted.is_empty() {
        return;
    }
    let noted = |line: u64| case.noted.binary_search(&line).is_ok();
    for f in findings.iter_mut().filter(|f| f.evidence.iter().all(|e| noted(e.line))) {
        f.confidence = Confidence::Guess;
        f.evidence.iter_mut().for_each(|e| e.doubtful = true);
        let set = set(case, f);
        if set.is_empty() {
            let why = "A comment of a configuration says so: it may tell of an earlier time.";
            f.why = [why, &f.why].join(" ").trim_end().into();
            continue;
        }
        f.level = Level::Note;
        f.advice.retain(|a| !set.iter().any(|w| a.text.contains(w)));
        f.sentence = format!(
            "A comment of this configuration tells of it: {} The same text sets {} against it, so it is no state of the machine as it is set up now.",
            f.sentence,
            say::names(&set)
        );
    }
}

/// Settings that a finding advises or its lines name, and that the text makes outside of
/// comments.
fn set(case: &Case, f: &Finding) -> Vec<String> {
    let advised = f.advice.iter().map(|a| a.text.as_str());
    let texts = advised.chain(f.evidence.iter().map(|e| e.text.as_str()));
    let mark = |c: char| !c.is_ascii_alphanumeric();
    let mut out: Vec<String> = Vec::new();
    for word in texts.flat_map(str::split_whitespace) {
        let word = word.trim_matches(mark);
        let Some((name, value)) = word.split_once('=') else { continue };
        let known = !name.is_empty() && !value.is_empty() && !out.iter().any(|w| w == word);
        if known && out.len() < NAMED && is_set(case, name, value) {
            out.push(word.to_owned());
        }
    }
    out
}

/// Whether a line that is no comment sets it, on a command line or as an option of a module.
fn is_set(case: &Case, name: &str, value: &str) -> bool {
    let whole = format!("{name}={value}");
    let part = name.split_once('.').map(|(module, p)| (module, format!("{p}={value}")));
    let sets = |text: &str, what: &str| {
        text.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | ';'))
            .any(|w| w == what)
            || text.split(['"', '\'']).any(|w| w == what)
    };
    let others = case.messages.iter().filter(|m| case.noted.binary_search(&m.line).is_err());
    let of_module = |text: &str| {
        part.as_ref().is_some_and(|(module, option)| {
            text.split_whitespace().take(2).eq(["options", module]) && sets(text, option)
        })
    };
    others.into_iter().any(|m| sets(&m.text, &whole) || of_module(&m.text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Area, Evidence};

    #[test]
    fn what_a_comment_tells_and_the_text_sets_is_a_note() {
        let judged = |setting: &str| {
            let case =
                Case { noted: vec![1], ..Case::of_log(&[(0, "elm 1-1: gone"), (0, setting)]) };
            let rule = ("drive-gone", Area::Phase, Level::Broken);
            let mut all = [Finding::new(rule, Confidence::Likely)
                .says("elm is gone.")
                .look("Boot with elm_core.policy=0; then with oak=off.")
                .shown_by([Evidence { line: 1, ..Evidence::default() }])];
            temper(&case, &mut all);
            let [f] = all;
            f
        };
        for set in [
            "\"elm_core.policy=0\"",
            "options elm_core policy=0",
            "GRUB_X=\"quiet elm_core.policy=0\"",
        ] {
            let f = judged(set);
            assert_eq!((f.level, f.advice.len()), (Level::Note, 0), "{set}: {}", f.sentence);
        }
        let f = judged("elm_core.policy=2");
        assert_eq!((f.level, f.confidence, f.advice.len()), (Level::Broken, Confidence::Guess, 1));
    }
}
