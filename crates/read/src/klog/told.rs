//! Messages of the core whose words say that more follows, so that a line which ends before
//! that was wrapped, however short it is.

use super::marks;
use crate::text;

/// What the rest of a message must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End(&'static [&'static [u8]]);

impl End {
    /// Whether `text` has it.
    pub(super) fn is_in(self, text: &[u8]) -> bool {
        self.0.iter().any(|e| text::find(text, e).is_some())
    }
}

/// How a message begins, and what each that begins so has further on.
const FORMS: [(&[u8], End); 7] = [
    // kernel/power/hibernate.c:swsusp_show_speed, and kernel/power/snapshot.c:
    // hibernate_preallocate_memory of kernels before 5.x, which count pages.
    (b"Wrote ", End(&[b" seconds"])),
    (b"Read ", End(&[b" seconds"])),
    (b"Allocated ", End(&[b" seconds", b" for snapshot"])),
    // kernel/power/main.c:ksys_sync_helper.
    (b"Filesystems sync:", End(&[b" seconds"])),
    // kernel/power/process.c:freeze_processes, 6.2 and later.
    (b"Freezing user space processes completed", End(&[b" seconds)"])),
    (b"Freezing remaining freezable tasks completed", End(&[b" seconds)"])),
    // kernel/time/timekeeping_debug.c:tk_debug_account_sleep_time.
    (b"Timekeeping suspended for", End(&[b" seconds"])),
];

/// What a message lacks that begins as one of these and breaks off.
pub(super) fn wants(message: &[u8]) -> Option<End> {
    let message = marks::message(message);
    let (begin, end) = FORMS.iter().find(|(begin, _)| message.starts_with(begin))?;
    let mut words = message[begin.len()..].split(|b| *b == b' ').filter(|w| !w.is_empty());
    let is_number = |w: &[u8]| w.iter().all(|b| b.is_ascii_digit() || *b == b'.');
    // Words of another message may begin alike: behind these stands a count.
    if begin.ends_with(b" ") && !words.next().is_some_and(is_number) {
        return None;
    }
    let known = |w: &[u8]| matches!(w, b"kbytes" | b"pages" | b"in" | b"for" | b"(elapsed");
    (words.all(|w| known(w) || is_number(w)) && !end.is_in(message)).then_some(*end)
}

#[cfg(test)]
mod tests {
    use super::super::wrap::tests::joined;

    #[test]
    fn a_message_that_must_go_on_is_joined_wherever_it_breaks() {
        for (at, whole) in [
            ("847200", "PM: hibernation: Wrote 847200 kbytes in 41.23 seconds (20.54 MB/s)"),
            ("847200", "PM: hibernation: Read 847200 kbytes in 4.23 seconds (200.28 MB/s)"),
            ("880400", "PM: Allocated 880400 kbytes in 1.10 seconds (800.36 MB/s)"),
            ("220100", "PM: hibernation: Allocated 220100 pages for snapshot"),
            ("sync:", "Filesystems sync: 0.204 seconds"),
            ("completed", "Freezing user space processes completed (elapsed 0.003 seconds)"),
            ("for", "Timekeeping suspended for 1.204 seconds"),
        ] {
            let begin = whole.find(at).expect("a place");
            let end = whole.find(" seconds").unwrap_or(whole.len());
            let places: Vec<usize> = whole.match_indices(' ').map(|(at, _)| at).collect();
            for at in places.into_iter().filter(|at| (begin..=end).contains(at)) {
                let (head, rest) = (&whole[..at], &whole[at + 1..]);
                let text = format!("> [  136.241000] {head}\n> {rest}\n> [  136.25] x\n");
                assert_eq!(joined(&text), (format!("> [  136.241000] {whole}"), 1), "{text}");
            }
        }
    }

    #[test]
    fn what_is_no_rest_of_it_stands_alone() {
        for (line, rest) in [
            ("PM: hibernation: Wrote 847200 kbytes in", "and that was slow"),
            ("PM: hibernation: Wrote 847200 kbytes in", "[  136.3] x: 41.23 seconds"),
            ("Read 7 of the errors", "in 41.23 seconds"),
            ("Filesystems sync: 0.204 seconds", "in 3 seconds"),
            ("Freezing user space processes", "completed (elapsed 0.003 seconds)"),
        ] {
            assert_eq!(joined(&format!("[  136.241000] {line}\n{rest}\n")).1, 0, "{line}");
        }
    }
}
