//! Words of a person between two logs of one text.

use super::prefix::Record;
use super::state::Log;

impl Log<'_> {
    /// The end of a phase that was read already, outside of an attempt: a copy that somebody put
    /// into the text once more begins none.
    pub(super) fn is_pasted_again(&mut self, r: &Record<'_>) -> bool {
        let Some(time) = r.time.filter(|_| r.has(b" of devices complete after ")) else {
            return false;
        };
        let new = self.ends.insert((time, r.text.into()));
        let open = self.t.open_serial() != 0 && self.t.current().is_some_and(|c| !c.over);
        !new && !open
    }

    /// Notes what may introduce another log: `… after the fix. Here is the log:`.
    pub(super) fn introduction(&mut self, r: &Record<'_>, at: u64) {
        let text = r.text.trim_ascii();
        if r.time.is_none() && !r.fresh && is_version(text) && !self.logs.is_empty() {
            // What comes next is of that kernel.
            self.when = None;
        }
        if r.time.is_none() && !r.fresh {
            self.part(text);
        }
        let introduces = r.time.is_none() && self.c.serial > 0 && text.ends_with(b":");
        if introduces && text.split(|b| *b == b' ').count() >= 5 {
            self.prose = Some((self.c.serial, at));
        }
    }
}

impl Log<'_> {
    /// Ends the open attempt at the second of two headings that part measurements, such as
    /// `Before:` and `After:`: what follows is no part of it.
    pub(super) fn part(&mut self, text: &[u8]) {
        // Few lines end so: the others cost nothing.
        if !text.trim_ascii_end().ends_with(b":") && !text.ends_with(b"*") {
            return;
        }
        let text = crate::text::lossy(text);
        let Some(heading) = dormouse_doctor::border::heading(&text) else { return };
        let other = self.border.as_deref().is_some_and(|b| !b.eq_ignore_ascii_case(heading));
        if other && self.t.open_serial() != 0 {
            self.close();
            self.settle_loose();
        }
        self.border = Some(heading.into());
    }
}

/// `v6.6.36:`, `Linux 5.15:`, alone in a line: a heading above the log of a kernel.
fn is_version(text: &[u8]) -> bool {
    let Some(text) = text.strip_suffix(b":") else { return false };
    let mut words = text.split(|b| *b == b' ');
    let number = |w: &[u8]| {
        let w = w.strip_prefix(b"v").unwrap_or(w);
        w.first().is_some_and(u8::is_ascii_digit)
            && w.contains(&b'.')
            && w.iter().all(|b| b.is_ascii_alphanumeric() || b".-_+".contains(b))
    };
    words.clone().count() <= 3 && words.any(number)
}
