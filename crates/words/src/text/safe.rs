//! Names from a log are not to be trusted: they may hold terminal escapes, line
//! breaks, or marks that reverse the text after them.

use std::borrow::Cow;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// `text` with everything that a terminal would act on written as an escape.
pub fn safe(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_active) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_active(c) => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Control characters, marks of direction, and what has no width of its own.
fn is_active(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{061c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        )
        || c.width().is_none_or(|w| w == 0)
}

/// How many columns `text` takes, which must be safe.
pub fn width(text: &str) -> usize {
    text.width()
}

/// `text`, made safe and cut to `columns` with `…` where it was cut.
pub fn fit(text: &str, columns: usize) -> String {
    let text = safe(text);
    if width(&text) <= columns {
        return text.into_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let w = c.width().unwrap_or(0);
        if used + w + 1 > columns {
            break;
        }
        used += w;
        out.push(c);
    }
    out.push('…');
    out
}

/// A path keeps its end, which tells one run from another.
pub fn fit_end(text: &str, columns: usize) -> String {
    let text = safe(text);
    if width(&text) <= columns {
        return text.into_owned();
    }
    let mut tail: Vec<char> = Vec::new();
    let mut used = 1;
    for c in text.chars().rev() {
        let w = c.width().unwrap_or(0);
        if used + w > columns {
            break;
        }
        used += w;
        tail.push(c);
    }
    std::iter::once('…').chain(tail.into_iter().rev()).collect()
}

/// [`fit`], filled with blanks to `columns`.
pub(crate) fn left(text: &str, columns: usize) -> String {
    let mut out = fit(text, columns);
    out.extend(std::iter::repeat_n(' ', columns - width(&out).min(columns)));
    out
}

/// [`fit`], with blanks in front.
pub(crate) fn right(text: &str, columns: usize) -> String {
    let text = fit(text, columns);
    let mut out = " ".repeat(columns - width(&text).min(columns));
    out.push_str(&text);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_acts_on_survives() {
        assert_eq!(safe("a\x1b[31mb\nc"), "a\\u{1b}[31mb\\nc");
        assert_eq!(safe("\u{202e}evil\u{9b}"), "\\u{202e}evil\\u{9b}");
        assert_eq!(safe("e\u{301}"), "e\\u{301}");
        assert_eq!(safe("\"><script>"), "\"><script>");
    }

    #[test]
    fn cutting_counts_columns_not_characters() {
        assert_eq!(fit("日本語", 6), "日本語");
        assert_eq!(fit("日本語", 5), "日本…");
        assert_eq!(width(&fit("日本語", 4)), 3);
        assert_eq!(fit_end("/a/long/path.txt", 9), "…path.txt");
        assert_eq!(left("ab", 4), "ab  ");
        assert_eq!(right("ab", 4), "  ab");
        assert_eq!(fit("", 0), "");
    }
}
