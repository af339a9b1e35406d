//! Lines of several machines that one keeper writes into one file, as syslog of a network does.

use super::prefix;
use super::wrap::MAX_LINE;
use crate::text;
use std::collections::HashSet;

/// A line, and its number.
type Line<'a> = (&'a [u8], u64);

/// So many lines tell whether machines take turns in them.
const LINES: usize = 20_000;

/// The name of the machine that a line is of, and what it says.
fn host(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let record = prefix::strip(&line[..line.len().min(MAX_LINE)]);
    let known = !record.host.is_empty() && prefix::is_host(record.host);
    known.then_some((record.host, record.text))
}

/// Whether another machine speaks inside an attempt to sleep that goes on behind that. A machine
/// that gets its name as it boots is one.
fn take_turns(bytes: &[u8]) -> bool {
    let (mut first, mut several): (&[u8], bool) = (b"", false);
    let mut open: HashSet<&[u8]> = HashSet::new();
    let mut broken: HashSet<&[u8]> = HashSet::new();
    for line in bytes.split(|b| *b == b'\n').take(LINES) {
        let Some((host, said)) = host(line) else { continue };
        first = if first.is_empty() { host } else { first };
        several |= host != first;
        if text::find(said, b"Linux version ").is_some() {
            return false;
        }
        if broken.contains(host) {
            return true;
        }
        if several {
            broken.extend(open.iter().filter(|o| **o != host));
        }
        // Before 4.16 no line names the entry, and none the exit (kernel/power/suspend.c).
        let is = |words: &[&[u8]]| words.iter().any(|w| text::find(said, w).is_some());
        if is(&[b"suspend entry", b"hibernation entry", b"Syncing filesystems", b"Freezing user"]) {
            open.insert(host);
        } else if is(&[b"suspend exit", b"hibernation exit", b"Restarting tasks"]) {
            open.remove(host);
        }
    }
    false
}

/// The lines of one machine behind those of the other, in blocks, each with the number of its
/// first line; nothing where they stand so already. A line without a name goes with the one before.
pub(super) fn apart(bytes: &[u8]) -> Option<Vec<Line<'_>>> {
    if !take_turns(bytes) {
        return None;
    }
    let mut hosts: Vec<(&[u8], Vec<Line<'_>>)> = Vec::new();
    let (mut begin, mut last) = (0, 0);
    for (line, at) in bytes.split(|b| *b == b'\n').zip(1..) {
        let place = host(line).map(|(name, _)| hosts.iter().position(|h| h.0 == name).ok_or(name));
        last = match place {
            Some(Ok(at)) => at,
            Some(Err(name)) => {
                hosts.push((name, Vec::new()));
                hosts.len() - 1
            }
            None if hosts.is_empty() => {
                hosts.push((b"", Vec::new()));
                0
            }
            None => last,
        };
        hosts[last].1.push((&bytes[begin..(begin + line.len() + 1).min(bytes.len())], at));
        begin += line.len() + 1;
    }
    Some(hosts.into_iter().flat_map(|h| h.1).collect())
}

/// The same as one text, and which line of `bytes` each is.
pub(crate) fn one_by_one(bytes: &[u8]) -> Option<(Vec<u8>, Vec<u64>)> {
    let blocks = apart(bytes)?;
    let mut out = Vec::with_capacity(bytes.len() + 1);
    for (line, _) in &blocks {
        out.extend_from_slice(line.strip_suffix(b"\n").unwrap_or(line));
        out.push(b'\n');
    }
    Some((out, blocks.iter().map(|b| b.1).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_that_take_turns_in_a_sleep_are_told_apart() {
        let line = |host: &str, said: &str| format!("Jan 21 19:14:05 {host} kernel: {said}\n");
        let entry = "PM: suspend entry (deep)";
        let all = [("elm", entry), ("oak", entry), ("elm", "PM: suspend exit"), ("oak", "PM: x")];
        let text: String = all.iter().map(|l| line(l.0, l.1)).collect();
        let (sorted, numbers) = one_by_one(text.as_bytes()).expect("they do");
        let want: String = [0, 2, 1, 3].iter().map(|i| line(all[*i].0, all[*i].1)).collect();
        assert_eq!(String::from_utf8_lossy(&sorted).trim_end(), want.trim_end());
        assert_eq!(numbers[..4], [1, 3, 2, 4]);
        let old = text.replace(entry, "PM: Syncing filesystems ... done.");
        assert!(one_by_one(old.as_bytes()).is_some(), "a kernel without a line of its entry");
        // One behind the other, and a machine that boots before it knows its name.
        for same in [
            want,
            [("elm", entry), ("localhost", "Linux version 6.1"), ("elm", "PM: x")]
                .iter()
                .map(|l| line(l.0, l.1))
                .collect(),
        ] {
            assert!(one_by_one(same.as_bytes()).is_none(), "{same}");
        }
    }
}
