//! Sentences of a writer, which may go on in the next line.

use crate::case::Case;
use crate::message::{Message, Trust};
use crate::remedy::cut;

/// The first sentence in lines of a writer that are `own` of which `is` holds, and its line.
/// `is` is told the sentence and all that stands in its line and the next.
pub(crate) fn first<'a>(
    case: &'a Case,
    most: usize,
    own: &dyn Fn(&Message) -> bool,
    is: &dyn Fn(&str, &str) -> bool,
) -> Option<(String, &'a Message)> {
    let told = |m: &Message| m.trust == Trust::Prose && own(m);
    case.messages.iter().enumerate().filter(|(_, m)| told(m)).find_map(|(i, m)| {
        let next = case.messages.get(i + 1).filter(|n| n.line == m.line + 1 && told(n));
        let first = m.text.trim();
        let text = [first, next.map_or("", |n| n.text.trim())].join(" ");
        let mut at = 0;
        text.split(". ").find_map(|s| {
            // One that begins in the next line is of that.
            let begins = at < first.len();
            at += s.len() + 2;
            let words = s.trim().trim_end_matches(['.', ':']);
            (begins && is(s, &text)).then(|| (cut(words, most), m))
        })
    })
}
