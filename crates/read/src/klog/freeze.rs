//! Who would not freeze.

/// The task that a line of the dump after a failed freeze names.
///
/// `task:NAME            state:D stack:    0 pid: …` (5.x on), or
/// `NAME            D ffff8800…     0  1234      1 0x00000004` (older).
pub fn task(text: &[u8]) -> Option<&[u8]> {
    if let Some(rest) = text.strip_prefix(b"task:") {
        let end = memchr::memmem::find(rest, b" state:")?;
        return Some(rest[..end].trim_ascii());
    }
    let mut words = text.split(|&b| b == b' ').filter(|w| !w.is_empty());
    let (name, state, stack) = (words.next()?, words.next()?, words.next()?);
    let is_state = state.len() == 1 && b"RSDTtXZPI".contains(&state[0]);
    let is_stack = stack.len() >= 8 && stack.iter().all(u8::is_ascii_hexdigit) || stack == b"0";
    let numbers = words.take(3).filter(|w| w.iter().all(u8::is_ascii_digit)).count();
    (is_state && is_stack && numbers >= 2 && name.len() <= 16).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_generations_of_dumps() {
        assert_eq!(
            task(b"task:kworker/0:1 state:D stack:0 pid:12 ppid:2"),
            Some(&b"kworker/0:1"[..])
        );
        assert_eq!(
            task(b"mount.nfs       D ffff88007c1 0  1234      1 0x00000004"),
            Some(&b"mount.nfs"[..])
        );
        assert_eq!(task(b"Call Trace:"), None);
    }
}
