//! What helped, in the words of a writer who closes a report.

use crate::case::Case;
use crate::message::{Message, Trust};

/// How people begin to tell of a change: `After removing foo=1 …`.
const CHANGES: [&str; 24] = [
    "removing ",
    "adding ",
    "setting ",
    "updating ",
    "upgrading ",
    "downgrading ",
    "disabling ",
    "enabling ",
    "switching ",
    "replacing ",
    "installing ",
    "uninstalling ",
    "changing ",
    "unplugging ",
    "turning ",
    "deleting ",
    "reverting ",
    "flashing ",
    "blacklisting ",
    "masking ",
    "unbinding ",
    "moving ",
    "booting ",
    "swapping ",
];

/// How people name what it was.
const HELPED: [&str; 16] = [
    "fixed by ",
    "solved by ",
    "resolved by ",
    "cured by ",
    "fixed it by ",
    "solved it by ",
    "fixed with ",
    "solved with ",
    "the fix was ",
    "the fix is ",
    "the solution was ",
    "the solution is ",
    "what fixed it",
    "what solved it",
    "what helped",
    "solution: ",
];

/// What makes of a change one that helped: `Removing foo=1 fixed it`.
const DID: [&str; 8] = [
    " fixed it",
    " fixed this",
    " solved it",
    " solved this",
    " fixes it",
    " fixes this",
    " solves it",
    " helped",
];

/// Who is not sure says so.
const UNSURE: [&str; 8] = [" not ", "n't ", "never ", "maybe", "perhaps", "might", "if ", "?"];

/// So many bytes of a sentence are quoted.
const QUOTED: usize = 120;

/// The words that name what helped, and their line.
pub(crate) fn told(case: &Case) -> Option<(String, &Message)> {
    let prose = case.messages.iter().filter(|m| m.trust == Trust::Prose);
    prose.filter_map(|m| Some((named(&m.text)?, m))).next()
}

/// The sentence of a line that names it.
fn named(text: &str) -> Option<String> {
    text.split(". ").find_map(|s| {
        let lower = s.to_ascii_lowercase();
        let plain = lower.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
        let after = plain.strip_prefix("after ").or_else(|| plain.strip_prefix("since "));
        let changes = |s: &str| CHANGES.iter().any(|w| s.starts_with(w));
        let helped = after.is_some_and(changes)
            || HELPED.iter().any(|w| lower.contains(w))
            || changes(plain) && DID.iter().any(|w| lower.contains(w));
        let sure = !UNSURE.iter().any(|w| lower.contains(w));
        (helped && sure).then(|| cut(s.trim().trim_end_matches(['.', ':', ',']), QUOTED))
    })
}

/// The beginning of a sentence, whole words of it, with a mark where it goes on.
pub(crate) fn cut(words: &str, most: usize) -> String {
    if words.len() <= most {
        return words.to_string();
    }
    let end = words.floor_char_boundary(most);
    let end = words[..end].rfind(' ').filter(|e| *e > most / 2).unwrap_or(end);
    format!("{} …", words[..end].trim_end_matches([',', ';', ':']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_helped_is_told_where_it_is_said_for_sure() {
        let of = |s: &str| named(s).unwrap_or_default();
        assert_eq!(of("After removing foo=1:"), "After removing foo=1");
        assert_eq!(of("Hm. Replacing the cable fixed it. Thanks."), "Replacing the cable fixed it");
        assert_eq!(of("EDIT: solved by new firmware"), "EDIT: solved by new firmware");
        for none in [
            "After removing the lid sensor it does not sleep.",
            "Removing foo=1 changes nothing",
            "After resume it hangs",
            "Would removing foo=1 have fixed it?",
        ] {
            assert_eq!(of(none), "", "{none}");
        }
    }

    #[test]
    fn a_long_sentence_is_cut_between_words() {
        assert_eq!(cut("one two three four", 12), "one two …");
        assert_eq!(cut("one two", 12), "one two");
    }
}
