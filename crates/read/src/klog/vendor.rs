//! What kernels of vendors print between the time and the message, and how they print the time.
//!
//! Only behind the kernel's own time, so that no message is cut.

use super::number;
use crate::text;

/// Who printed a line, as far as a part of its prefix says, and what stands behind that part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Who<'a> {
    pub cpu: Option<u32>,
    pub pid: Option<i32>,
    pub comm: &'a [u8],
    pub rest: &'a [u8],
}

/// What stands behind the time at the begin of `line`, if that is of a vendor; `told` says that
/// the CPU is known.
pub(super) fn behind_time(line: &[u8], told: bool) -> Option<Who<'_>> {
    let line = line.trim_ascii_start();
    let marked = || in_interrupt(line).map(|rest| Who { rest, ..Who::default() });
    let found = marked().or_else(|| before_thread(line)).or_else(|| mediatek(line));
    found.or_else(|| if told { None } else { spreadtrum(line) })
}

/// Whether a message may begin with what a vendor prints without a bracket: `c2 `.
pub(super) fn may_begin(text: &[u8]) -> bool {
    matches!(text.trim_ascii_start(), [b'c', b'0'..=b'9', ..])
}

/// `100.000000 s` and `100.000000s` of Huawei's kernels, without the unit. A time of fewer
/// digits is one where `[pid:` stands behind it.
pub(super) fn without_unit<'a>(stamp: &'a [u8], rest: &[u8]) -> &'a [u8] {
    let Some(plain) = stamp.strip_suffix(b"s").map(<[u8]>::trim_ascii_end) else { return stamp };
    let exact = plain.len() > 7 && plain[plain.len() - 7] == b'.';
    if exact || rest.trim_ascii_start().starts_with(b"[pid:") { plain } else { stamp }
}

/// `I[2:  system_server: 1234]` of Samsung's kernels (print_process of their printk), which
/// put an `I` there while an interrupt runs: the letter off.
fn in_interrupt(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"I").filter(|r| r.starts_with(b"["))?;
    let end = memchr::memchr(b']', &rest[..rest.len().min(64)])?;
    thread(&rest[1..end]).map(|_| rest)
}

/// `[ 2]` set off from the time by a blank, which is the CPU where the thread follows it:
/// `[ 2] [T403]`.
fn before_thread(line: &[u8]) -> Option<Who<'_>> {
    let inside = line.strip_prefix(b"[")?;
    let end = memchr::memchr(b']', &inside[..inside.len().min(8)])?;
    let (cpu, rest) = (whole(&inside[..end])?, &inside[end + 1..]);
    let next = rest.trim_ascii_start().strip_prefix(b"[")?;
    let next = &next[..memchr::memchr(b']', &next[..next.len().min(16)])?];
    let next = next.trim_ascii();
    next.strip_prefix(b"T").or_else(|| next.strip_prefix(b"C")).and_then(whole::<i32>)?;
    Some(Who { cpu: Some(cpu), rest, ..Who::default() })
}

/// `c2 ` and `c2   4312 (kworker/2:1) ` of Spreadtrum's kernels: the CPU, and perhaps the
/// thread with its name.
fn spreadtrum(line: &[u8]) -> Option<Who<'_>> {
    let (cpu, text) = split(line.strip_prefix(b"c")?, b' ')?;
    let cpu = whole(cpu).filter(|_| cpu.len() <= 3);
    let named = || {
        let (pid, rest) = split(text, b' ')?;
        let inside = rest.strip_prefix(b"(")?;
        let end = text::find(&inside[..inside.len().min(40)], b") ")?;
        let (comm, rest) = (&inside[..end], inside[end + 2..].trim_ascii_start());
        Some(Who { cpu, pid: Some(whole(pid)?), comm, rest })
    };
    cpu?;
    Some(named().unwrap_or(Who { cpu, rest: text, ..Who::default() }))
}

/// ` <1>.(1)[2047:kworker/u4:3]` of MediaTek's kernels, behind the time: CPU,
/// thread and its name.
fn mediatek(line: &[u8]) -> Option<Who<'_>> {
    let head = &line[..line.len().min(12)];
    let open = memchr::memchr(b'(', head)?;
    let close = memchr::memchr(b')', head)?;
    let odd = |b: &u8| !matches!(b, b'<' | b'>' | b'.' | b'-' | b'*' | b'0'..=b'9');
    let cpu = line.get(open + 1..close).and_then(whole)?;
    let inside = line[close + 1..].strip_prefix(b"[")?;
    let end = memchr::memchr(b']', &inside[..inside.len().min(40)])?;
    if line[..open].iter().any(odd) {
        return None;
    }
    let text = &inside[end + 1..];
    let rest = text.strip_prefix(b": ").unwrap_or(text);
    let who = Who { cpu: Some(cpu), rest, ..Who::default() };
    // Whoever removed names left the brackets.
    if end == 0 {
        return Some(who);
    }
    let colon = memchr::memchr(b':', &inside[..end])?;
    Some(Who { pid: Some(whole(&inside[..colon])?), comm: &inside[colon + 1..end], ..who })
}

/// CPU, name and thread as vendors print them behind the time: `4:    kworker/4:0:   52`
/// (Samsung), `C5 t2624`.
pub(super) fn thread(inside: &[u8]) -> Option<Who<'_>> {
    let who = |cpu: &[u8], comm, pid: &[u8]| {
        Some(Who { cpu: Some(whole(cpu)?), pid: Some(whole(pid)?), comm, rest: b"" })
    };
    if let Some((cpu, thread)) = inside.strip_prefix(b"C").and_then(|r| split(r, b' ')) {
        let thread = thread.strip_prefix(b"t").or_else(|| thread.strip_prefix(b"T"))?;
        return who(cpu, b"", thread);
    }
    let (cpu, rest) = split(inside, b':')?;
    let colon = memchr::memrchr(b':', rest)?;
    let (comm, pid) = (rest[..colon].trim_ascii(), rest[colon + 1..].trim_ascii());
    let named = comm.iter().any(u8::is_ascii_alphabetic);
    if named { who(cpu, comm, pid) } else { None }
}

/// A number with nothing but blanks around it.
fn whole<N: TryFrom<i64>>(text: &[u8]) -> Option<N> {
    let digits = text.trim_ascii();
    let all = digits.iter().all(u8::is_ascii_digit);
    number::number(digits).filter(|_| all).and_then(|n| N::try_from(n).ok())
}

/// What stands before and behind the first `mark`.
fn split(text: &[u8], mark: u8) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(mark, text)?;
    Some((&text[..at], text[at + 1..].trim_ascii()))
}

#[cfg(test)]
mod tests {
    use super::super::prefix::{next_stamp, of_dmesg, strip};
    use dormouse_base::time::Ns;

    #[test]
    fn vendors_name_cpu_and_thread_behind_the_time() {
        let of = |line: &'static str| {
            assert_eq!(of_dmesg(line.as_bytes()), None, "{line}");
            let r = strip(line.as_bytes());
            let name = |b: &'static [u8]| std::str::from_utf8(b).expect("text");
            (r.cpu, name(r.comm), r.pid, name(r.text))
        };
        for samsung in [
            "[   63.010841] [4:    kworker/4:0:   52] x 1d84.x: PM: y",
            "[   63.010841] I[4:    kworker/4:0:   52] x 1d84.x: PM: y",
            "[   63.010841]I[4:    kworker/4:0:   52] x 1d84.x: PM: y",
        ] {
            assert_eq!(of(samsung), (Some(4), "kworker/4:0", Some(52), "x 1d84.x: PM: y"));
        }
        for numbered in [
            "[  130.284870][C5 t2624] PM: x",
            "[  130.284870] [ 5] [T2624] PM: x",
            "[  130.284870] [ 5][ T2624] PM: x",
            "[  130.284870][ 5][ T2624] PM: x",
        ] {
            assert_eq!(of(numbered), (Some(5), "", Some(2624), "PM: x"), "{numbered}");
        }
        assert_eq!(of("[  130.284870] c2 PM: x"), (Some(2), "", None, "PM: x"));
        assert_eq!(
            of("[  130.284870] c2   4312 (kworker/2:1) PM: x"),
            (Some(2), "kworker/2:1", Some(4312), "PM: x")
        );
        let huawei = (Some(3), "system_server", Some(2211), "PM: x");
        for stamp in ["100.000000 s", "100.000000s", "100.0 s", "100.0s"] {
            let line = format!("<6>[  {stamp}][pid:2211,cpu3,system_server]PM: x");
            let line: &'static str = line.leak();
            assert_eq!(strip(line.as_bytes()).time, Some(Ns(100_000_000_000)), "{line}");
            assert_eq!(of(line), huawei, "{line}");
        }
        assert_eq!(next_stamp(b"x [  1.000000 s] y", 0), Some((2, Ns(1_000_000_000))));
    }

    #[test]
    fn a_message_that_begins_alike_is_not_cut() {
        for text in [
            "[12:34:56] x",
            "[ 5] of 7",
            "[ 5] [reset] x",
            "I[2] x",
            "I: [2: x: y] z",
            "c2: x",
            "c2d0 x",
            "c x",
        ] {
            let line = format!("[  130.284870] {text}");
            assert_eq!(strip(line.as_bytes()).text, text.as_bytes());
        }
        // Without the kernel's time nothing is a vendor's.
        for text in ["c2 PM: x", "I[2:  sh: 1234] PM: x", "[ 2] [T403] x", "[ 0.5 s] x"] {
            assert_eq!(strip(text.as_bytes()).text, text.as_bytes());
        }
    }
}
