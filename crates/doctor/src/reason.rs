//! What the writer of a text gives as the reason, where no rule knows one.

use crate::case::Case;
use crate::finding::{Evidence, Finding};
use crate::message::Message;

/// How a finding says that it has no reason.
pub(crate) const NONE: &str = "No rule finds what ";

/// How people name one.
const WORDS: [&str; 15] = [
    "cause turned out to be",
    "turned out to be caused by",
    "culprit turned out to be",
    "reason turned out to be",
    "problem turned out to be",
    "issue turned out to be",
    "the culprit is",
    "the culprit was",
    "root cause is",
    "root cause was",
    "the cause is",
    "the cause was",
    "the reason was",
    "is caused by",
    ", cause was",
];

/// Who is not sure says so.
const UNSURE: [&str; 10] = [
    " not ", "n't ", "unknown", "unclear", "no idea", "whether", "maybe", "perhaps", "might", "if ",
];

/// So many lines of the text lie between a finding and such words at most, and so many bytes
/// of them are quoted.
const NEAR: u64 = 25;
const QUOTED: usize = 160;

/// Each reason that somebody wrote, with the line that it begins in.
fn written(case: &Case) -> Vec<(String, &Message)> {
    let mut out = Vec::new();
    for (i, m) in case.messages.iter().enumerate() {
        // A text that somebody set in is not a log for that.
        let prose = !m.trust.is_of_a_kernel() || m.time.is_none() && m.text.contains(" ");
        if !prose {
            continue;
        }
        let next = case.messages.get(i + 1).filter(|n| n.line == m.line + 1);
        let text = [m.text.trim(), next.map_or("", |n| n.text.trim())].join(" ");
        let lower = text.to_ascii_lowercase();
        let find = |w: &&str| Some((lower.find(*w)?, w.len()));
        let Some((at, len)) = WORDS.iter().find_map(find) else { continue };
        // Offsets are those of the text: only letters of ASCII were changed.
        let start = text[..at].rfind(". ").map_or(0, |p| p + 2);
        let rest = &text[at + len..];
        let end = rest.find(';').or_else(|| rest.find(". ")).unwrap_or(rest.len());
        let sentence = text[start..at + len + end].trim().trim_end_matches(['.', ':']);
        let unsure = UNSURE.iter().any(|u| sentence.to_ascii_lowercase().contains(u));
        let begins = at < m.text.trim().len();
        if begins && !unsure && !rest[..end].trim().is_empty() {
            out.push((sentence[..sentence.floor_char_boundary(QUOTED)].to_string(), m));
        }
    }
    out
}

/// Lets findings without a reason give that of the writer, as his: the nearest to a line.
pub(crate) fn quote(case: &Case, findings: &mut [Finding]) {
    if !findings.iter().any(|f| f.sentence.contains(NONE)) {
        return;
    }
    let all = written(case);
    for f in findings.iter_mut() {
        let Some(at) = f.sentence.find(NONE) else { continue };
        let nearest = |line: u64| {
            let near = all.iter().filter(|w| w.1.line.abs_diff(line) <= NEAR);
            near.min_by_key(|w| w.1.line.abs_diff(line))
        };
        let mut lines = f.evidence.iter().map(|e| e.line).filter(|l| *l > 0);
        let Some((words, m)) = lines.find_map(nearest) else { continue };
        let end = f.sentence[at..].find('.').map_or(f.sentence.len(), |e| at + e + 1);
        f.sentence.replace_range(at..end, &format!("Its writer gives the reason: \"{words}\"."));
        if f.evidence.iter().all(|e| e.line != m.line) {
            f.evidence.push(Evidence { doubtful: true, ..Evidence::from(*m) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Area, Confidence, Level};

    #[test]
    fn the_writers_reason_stands_where_no_rule_has_one() {
        let told = |text: &str| {
            let lines: Vec<(i64, &str)> = text.lines().map(|l| (0, l)).collect();
            let mut case = Case::of_log(&lines);
            let prose = case.messages.iter().cloned();
            let prose = prose.map(|m| Message { trust: crate::message::Trust::Prose, ..m });
            case.messages = prose.collect::<Vec<_>>().into();
            let rule = ("mode-name-only", Area::Mode, Level::Risk);
            let evidence = Evidence { line: 1, ..Evidence::default() };
            let mut all = [Finding::new(rule, Confidence::Likely)
                .says(format!("It slept in name only. {NONE}kept it."))
                .shown_by([evidence])];
            quote(&case, &mut all);
            all[0].sentence.clone()
        };
        let wrapped = told("It sleeps in name only. The root\ncause was an old dock. Gone now.");
        assert!(wrapped.ends_with("\"The root cause was an old dock\"."), "{wrapped}");
        let one = told(
            "It sleeps in name only.\nThe culprit turned out to be `foo=1`; without it all is well.",
        );
        assert!(one.ends_with("\"The culprit turned out to be `foo=1`\"."), "{one}");
        for none in ["I wonder whether the cause is foo.", "The root cause is unknown.", "Hm."] {
            assert!(told(none).ends_with("No rule finds what kept it."), "{none}");
        }
    }
}
