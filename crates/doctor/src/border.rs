//! Words between two pieces of a log that part two measurements: `Before:` and `After:`,
//! `With patch:` and `Without patch:`.

/// So many words a heading has at most; a sentence has more.
const WORDS: usize = 6;

/// How such a heading begins.
const BEGINS: [&str; 14] = [
    "before",
    "after",
    "with",
    "without",
    "old",
    "new",
    "patched",
    "unpatched",
    "baseline",
    "vanilla",
    "stock",
    "original",
    "fixed",
    "base",
];

/// What is named between two lines of one sleep: `After resume:` is a place in it.
const PLACES: [&str; 12] = [
    "resum", "suspen", "wake", "waking", "sleep", "boot", "hibern", "lid", "unplug", "plug",
    "press", "login",
];

/// Whether a heading is of what was changed, and not of what was before it.
pub(crate) fn is_later(heading: &str) -> bool {
    let first = heading.split(' ').next().unwrap_or_default().to_ascii_lowercase();
    ["after", "with", "new", "patched", "fixed"].contains(&first.as_str())
}

/// The heading of a measurement, in its own words without the colon; nothing of other lines.
pub fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(['>', ' ', '\t', '#', '*', '-', '=']);
    let text = text.trim_end_matches([' ', '\t', '*', '=', '#']);
    let text = text.strip_suffix(':')?.trim_end();
    let mut words = text.split_whitespace();
    let first = words.next()?;
    let known = BEGINS.iter().any(|w| first.eq_ignore_ascii_case(w));
    if !known || words.count() >= WORDS {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    let points = matches!(lower.as_str(), "after this" | "after that" | "with this" | "with that");
    let points = points || ["regard", "respect", "further ado"].iter().any(|w| lower.contains(w));
    (!points && !PLACES.iter().any(|p| lower.contains(p))).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_of_measurements_are_told_from_places_of_a_sleep() {
        for (line, told) in [
            ("Before:", Some("Before")),
            ("> With asynchronous way:", Some("With asynchronous way")),
            ("**Without patch**:", Some("Without patch**")),
            ("## After the patch:", Some("After the patch")),
            ("With this patch:", Some("With this patch")),
            ("After this:", None),
            ("With regards to the log:", None),
            ("Without further ado:", None),
            ("After resume:", None),
            ("With the lid closed:", None),
            ("After that I did all of this and then:", None),
            ("Before", None),
            ("PM: suspend entry:", None),
        ] {
            assert_eq!(heading(line), told, "{line}");
        }
    }
}
