//! Lines of a log or of files that somebody quotes with a bar, as others do with `> `.

/// So many bytes of a text tell that it is one.
const HEAD: usize = 4_096;

/// A quarter of the lines may have a bar of their own; tables have one in each.
const OWN: usize = 4;

/// What stands in front of a quoted line, and the line behind its bar; nothing of a table and of
/// the branches of a tree.
fn quoted(line: &[u8]) -> Option<(usize, &[u8])> {
    let blanks = line.len() - line.trim_ascii_start().len();
    let rest = line[blanks..].strip_prefix(b"|")?.trim_ascii_end();
    let text = rest.trim_ascii_start();
    let apart = rest.is_empty() || rest.starts_with(b" ") || rest.starts_with(b"\t");
    let branch = text.first().is_some_and(|b| b"|`+-\\\xe2".contains(b));
    (apart && !branch && !text.ends_with(b"|")).then_some((blanks, text))
}

/// Whether a quoted line is one of a kernel or of one of its files.
fn is_known(text: &[u8]) -> bool {
    let stamp = matches!(text, [b'[', b' ' | b'0'..=b'9', ..]);
    let has = |word: &[u8]| memchr::memmem::find(text, word).is_some();
    stamp
        || text.starts_with(b"/sys/")
        || text.starts_with(b"/proc/")
        || has(b"PM: ")
        || has(b" kernel: ")
}

/// `bytes` with blanks in place of such bars: what stands behind is set off from the words around
/// it. A line stays a line. Nothing if there are none.
pub(super) fn without(bytes: &[u8]) -> Option<Vec<u8>> {
    let begins = |at: &usize| {
        let line = memchr::memrchr(b'\n', &bytes[..*at]).map_or(0, |n| n + 1);
        bytes[line..*at].iter().all(|b| matches!(b, b' ' | b'\t'))
    };
    if bytes[..bytes.len().min(HEAD)].contains(&0)
        || !memchr::memmem::find_iter(bytes, b"| ").any(|at| begins(&at))
    {
        return None;
    }
    let lines: Vec<&[u8]> = bytes.split_inclusive(|b| *b == b'\n').collect();
    let (mut out, mut changed) = (Vec::with_capacity(bytes.len()), false);
    let mut at = 0;
    while at < lines.len() {
        let run: Vec<_> = lines[at..].iter().map_while(|l| quoted(l)).collect();
        let full = run.iter().filter(|q| !q.1.is_empty());
        let own = full.clone().filter(|q| q.1.contains(&b'|')).count();
        let is = run.iter().any(|q| is_known(q.1)) && own * OWN <= full.count();
        for line in &lines[at..at + run.len().max(1)] {
            match quoted(line).filter(|_| is) {
                Some((blanks, _)) => {
                    out.extend_from_slice(&line[..blanks]);
                    out.push(b' ');
                    out.extend_from_slice(&line[blanks + 1..]);
                    changed = true;
                }
                None => out.extend_from_slice(line),
            }
        }
        at += run.len().max(1);
    }
    changed.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_that_quote_are_told_from_tables_and_trees() {
        let quoted =
            "See:\n\n  | [    1.0] PM: suspend entry (deep)\n  |\n  | [    2.0] PM: x\nfine\n";
        let plain =
            "See:\n\n    [    1.0] PM: suspend entry (deep)\n   \n    [    2.0] PM: x\nfine\n";
        assert_eq!(without(quoted.as_bytes()).as_deref(), Some(plain.as_bytes()));
        for same in [
            "| Path | Value |\n|---|---|\n| /sys/power/state | mem |\n",
            "| /sys/a | 1\n| /sys/b | 2\n",
            "     | 1.00th=[   58], 5.00th=[   60],\n     | 10.00th=[   62]\n",
            " | `-- PM: x\n | +-- /sys/a\n",
            "a | /sys/b\n",
        ] {
            assert_eq!(without(same.as_bytes()), None, "{same}");
        }
    }
}
