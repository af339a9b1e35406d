//! Sentences of the pages of idle states, in lines.

use crate::text::page::{Ink, Page};

/// Words in lines of at most 80 columns, further ones set in by two; a number stays
/// with its unit.
pub(super) fn wrap(text: &str) -> String {
    let mut page = Page::new(false);
    page.wrapped(Ink::Plain, 0, 2, text);
    page.finish()
}
