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

/// What a change is called.
const CHANGES: [&str; 13] = [
    "patch", "patches", "series", "change", "changes", "fix", "commit", "revert", "update",
    "upgrade", "quirk", "option", "kernel",
];

/// The release that a line alone names as a heading: `v6.6.36:`, `Linux 5.15:`,
/// `kernel 6.12.1-rc3:`.
pub fn release(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(['>', ' ', '\t', '#', '*', '-', '=']);
    let text = text.trim_end_matches([' ', '\t', '*', '=', '#']).strip_suffix(':')?;
    let number = |w: &str| {
        let w = w.strip_prefix('v').unwrap_or(w);
        w.starts_with(|c: char| c.is_ascii_digit())
            && w.contains('.')
            && w.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_+".contains(&b))
    };
    let named = |w: &str| {
        number(w) || ["linux", "kernel", "on", "with"].iter().any(|k| w.eq_ignore_ascii_case(k))
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    (words.len() <= 3 && words.iter().any(|w| number(w)) && words.iter().all(|w| named(w)))
        .then_some(text)
}

/// Whether a heading is of what was changed, and not of what was before it.
pub fn is_later(heading: &str) -> bool {
    let first = heading.split(' ').next().unwrap_or_default().to_ascii_lowercase();
    ["after", "with", "new", "patched", "fixed"].contains(&first.as_str())
}

/// The heading of a measurement, in its own words without the colon; nothing of other lines.
pub fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(['>', ' ', '\t', '#', '*', '-', '=']);
    let text = text.trim_end_matches([' ', '\t', '*', '=', '#']);
    let text = text.strip_suffix(':')?.trim_end();
    // What stands in brackets or behind a comma says more of the change that the words name.
    let whole = text;
    let text = text.split(['(', '"', ',']).next().unwrap_or_default().trim_end();
    let mut words = text.split_whitespace();
    let first = words.next()?;
    let known = BEGINS.iter().any(|w| first.eq_ignore_ascii_case(w));
    let more = words.clone().count();
    let change = |w: &str| CHANGES.iter().any(|c| w.eq_ignore_ascii_case(c));
    let cut = text.len() < whole.len() && more > 0 && !words.any(change);
    if !known || more >= WORDS || cut {
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
            ("Before the patch (\"oak: do not sleep twice\"), elm=1:", Some("Before the patch")),
            ("After, with the fix:", Some("After")),
            ("With the oak, I saw this:", None),
            ("Before (in suspend) I saw that it took long:", Some("Before")),
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
        assert_eq!(release("> Linux 6.6.36:"), Some("Linux 6.6.36"));
        assert_eq!(release("v6.12-rc3:"), Some("v6.12-rc3"));
        assert_eq!(release("oak 1.2:"), None);
        assert_eq!(release("at 12:30:"), None);
    }
}
