//! Lines that a mail program or a terminal wrapped, put together again: the one place
//! that does so for kernel messages.

use super::{calls, dress, prefix, told};
use crate::text;

/// A line is joined with at most this many that follow.
const MAX_JOINS: usize = 3;

/// A line that would have been shorter with the next word is not wrapped there: mail
/// programs wrap at 70 to 80 letters, and quote marks may have come or gone since.
const NARROWEST: usize = 66;

/// No word of a message is so long that a wrapped line is shorter, but a symbol with all
/// that compilers hang on it: `RIP:` may stand alone above one.
const SHORTEST: usize = 40;

/// No line is wrapped to more.
const WIDEST: usize = 80;

/// Whether `next` may be the rest of `line`, which was too long for one more word: both
/// are quoted as deep, and neither is set off from the other. Of any text, not of a log
/// alone.
pub fn may_go_on(line: &[u8], next: &[u8]) -> bool {
    let (marks, text) = unquoted(line);
    let (next_marks, rest) = unquoted(next);
    let word = rest.trim_ascii_start();
    let word = &word[..memchr::memchr(b' ', word).unwrap_or(word.len())];
    let set_off = |t: &[u8]| t.starts_with(b"  ") || t.starts_with(b"\t");
    let length = text.trim_ascii_end().len();
    let symbol = || memchr::memmem::find(word, b"+0x").is_some();
    let long = length >= SHORTEST || length + 1 + word.len() > WIDEST && symbol();
    let wants = wants_more(text);
    let wide = long
        && length + 1 + word.len() > NARROWEST
        // Who wraps wider than that breaks words; a line that long is one that nobody wrapped.
        && (length <= WIDEST || text.trim_ascii_end().ends_with(b":") || wants);
    marks == next_marks
        && !word.is_empty()
        && if word.starts_with(b"/") { wants } else { wide }
        && (set_off(text) || !set_off(rest))
}

/// Words behind which no message ends: a path may follow, and the rest may be short.
fn wants_more(text: &[u8]) -> bool {
    let text = text.trim_ascii_end();
    [&b" supplier"[..], b" with", b" due to", b" for", b" of"].iter().any(|w| text.ends_with(w))
}

/// Whether `line`, behind `before`, was wrapped, and `next` is its rest or begins it.
pub(crate) fn goes_on(before: &[u8], line: &[u8], next: &[u8], after: &[u8]) -> bool {
    (may_go_on(line, next) || is_full(before, line, next, after))
        && is_rest(line, next)
        && !had_room(before, line, after)
}

/// Whether `line` ends as it was printed, so that prose below it is no rest of it: a line
/// near it, of the same log and quoted as deep, is wider than anybody wraps, though it has
/// blanks where one would.
fn had_room(before: &[u8], line: &[u8], rest: &[u8]) -> bool {
    let (marks, text) = unquoted(line);
    // A blank at its end is what `format=flowed` (RFC 3676) leaves where it wraps.
    let flowed = text.strip_suffix(b"\r").unwrap_or(text).ends_with(b" ");
    let wider = |l: &&[u8]| {
        let (m, t) = unquoted(l);
        let t = t.trim_ascii_end();
        let last = memchr::memrchr(b' ', t).unwrap_or(0);
        m == marks && is_stamped(t.trim_ascii_start()) && t.len() > WIDEST && last > NARROWEST
    };
    let of_log = |l: &&[u8]| !l.trim_ascii().is_empty();
    let mut up = before.rsplit(|b| *b == b'\n').skip(1).take(NEAR).take_while(of_log);
    let mut down = rest.split(|b| *b == b'\n').take(NEAR).take_while(of_log);
    !flowed && (up.any(|l| wider(&l)) || down.any(|l| wider(&l)))
}

/// So many lines around one tell how wide its log was.
const NEAR: usize = 12;

/// A log that is narrower was not wrapped.
const NARROW: usize = 40;

/// Whether `next` begins with a word for which `line` had no room, in a log that was wrapped
/// narrower than mail programs do: no line near it is wider, and others of it go on below
/// themselves.
fn is_full(before: &[u8], line: &[u8], next: &[u8], after: &[u8]) -> bool {
    let (marks, text) = unquoted(line);
    let of_log = |l: &&[u8]| unquoted(l).0 == marks && !unquoted(l).1.trim_ascii().is_empty();
    let up = before.rsplit(|b| *b == b'\n').skip(1).take(NEAR).take_while(of_log);
    let down = after.split(|b| *b == b'\n').take(NEAR).take_while(of_log);
    let mut near: Vec<&[u8]> = up.map(|l| unquoted(l).1.trim_ascii_end()).collect();
    near.reverse();
    near.extend([text.trim_ascii_end(), unquoted(next).1.trim_ascii_end()]);
    near.extend(down.map(|l| unquoted(l).1.trim_ascii_end()));
    let widest = near.iter().map(|l| l.len()).max().unwrap_or(0);
    let rest = unquoted(next).1.trim_ascii_start();
    let word = rest.split(|b| *b == b' ').next().unwrap_or(rest);
    let stamped = |l: &[u8]| is_stamped(l.trim_ascii_start());
    let goes_on = near.windows(2).filter(|w| stamped(w[0]) && !stamped(w[1])).count();
    let begins_again = near.windows(2).any(|w| !stamped(w[0]) && stamped(w[1]));
    unquoted(next).0 == marks
        && (NARROW..=WIDEST).contains(&widest)
        && text.trim_ascii_end().len() + 1 + word.len() > widest
        && goes_on > usize::from(stamped(text))
        && begins_again
}

/// Whether a message ends in a number after which the core says no more
/// (drivers/base/power/main.c:pm_dev_err, __initcall_report), or with the time of a phase
/// (dpm_show_time).
fn is_complete(text: &[u8]) -> bool {
    if text.ends_with(b" msecs") && text::find(text, b" of devices complete after ").is_some() {
        return true;
    }
    let mut words = text.rsplit(|b| *b == b' ');
    let number = words.next().and_then(|w| w.strip_prefix(b"-"));
    let number = number.is_some_and(|n| !n.is_empty() && n.iter().all(u8::is_ascii_digit));
    number && matches!(words.next(), Some(b"error" | b"returns"))
}

/// Marks of mail, and what stands behind them.
pub(super) fn unquoted(mut line: &[u8]) -> (usize, &[u8]) {
    let mut marks = 0;
    loop {
        let rest = line.strip_prefix(b" ").unwrap_or(line);
        match rest.strip_prefix(b">") {
            Some(rest) => (marks, line) = (marks + 1, rest),
            None if marks == 0 => return (0, line),
            None => return (marks, rest),
        }
    }
}

/// Joins lines of one text.
#[derive(Default)]
pub(crate) struct Joiner {
    whole: Vec<u8>,
}

impl Joiner {
    /// The line that `line`, behind `before`, is with its rest at the begin of `rest`, and
    /// how many lines that took; nothing if it stands alone.
    pub(super) fn whole(
        &mut self,
        before: &[u8],
        line: &[u8],
        rest: &[u8],
    ) -> Option<(&[u8], u64)> {
        let first = rest.iter().find(|b| **b != b' ')?;
        // Most lines of a log are followed by one with a stamp.
        if matches!(first, b'\n' | b'\r' | b'{') || is_stamped(rest) || line.len() > MAX_LINE {
            return None;
        }
        let record = prefix::strip(line);
        // It breaks before the count of tasks, or inside of what is said of them.
        let freezer = record.text.starts_with(b"Freezing ")
            && (record.text.ends_with(b" seconds")
                || text::find(record.text, b" seconds (").is_some()
                    && text::find(record.text, b"wq_busy=").is_none()
                    && !record.text.ends_with(b":"));
        // drivers/base/power/main.c:pm_dev_err ends with the number.
        let said = record.text.strip_suffix(b" error").unwrap_or(record.text);
        let unnumbered = said.ends_with(b":") && text::find(said, b": failed to ").is_some();
        let wanted = told::wants(record.text);
        let cut = freezer
            || unnumbered
            || wanted.is_some()
            || calls::of(&record) == Some(calls::Line::Cut);
        let dated = || text::has_date(unquoted(line).1.trim_ascii_start());
        let fresh = record.fresh || dress::is_of_android(line) || dated();
        if !fresh && !cut {
            return None;
        }
        self.whole.clear();
        self.whole.extend_from_slice(line.trim_ascii_end());
        let (mut rest, mut last, mut count) = (rest, line, 0);
        let mut told = None;
        while count < MAX_JOINS && !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest);
            let next = &rest[..end.unwrap_or(rest.len())];
            let after = end.map_or(&[][..], |e| &rest[e + 1..]);
            let full = may_go_on(last, next) || fresh && is_full(before, last, next, after);
            let wide = full && !is_complete(self.whole.trim_ascii_end());
            if !(wide || cut) || !is_rest(last, next) {
                break;
            }
            if wide && !cut && count == 0 && had_room(before, last, after) {
                break;
            }
            count += 1;
            self.whole.push(b' ');
            self.whole.extend_from_slice(unquoted(next).1.trim_ascii());
            if fresh && wide && (count == 1 || told.is_some()) {
                told = Some((count, self.whole.len()));
            }
            if unnumbered {
                let number = unquoted(next).1.trim_ascii();
                let number = number.strip_prefix(b"error ").unwrap_or(number);
                let goes_on = number.strip_prefix(b"-").unwrap_or(number);
                let goes_on = !goes_on.is_empty() && goes_on.iter().all(u8::is_ascii_digit);
                told = goes_on.then_some((count, self.whole.len())).or(told);
                break;
            }
            // kernel/power/process.c:try_to_freeze_tasks goes on with who refuses.
            if freezer {
                let said = prefix::strip(&self.whole).text;
                let has = |t: &[u8], word: &[u8]| text::find(t, word).is_some();
                let refusing = !has(line, b" refusing to") && has(said, b" refusing to");
                let goes_on = has(said, b" seconds (") && (refusing || has(said, b"wq_busy="));
                told = goes_on.then_some((count, self.whole.len())).or(told);
                break;
            }
            let text = prefix::strip(&self.whole).text;
            if let Some(end) = wanted {
                if end.is_in(text) {
                    told = Some((count, self.whole.len()));
                }
                break;
            }
            if cut
                && matches!(
                    calls::parse(text),
                    Some(calls::Line::Call { .. } | calls::Line::Return { .. })
                )
            {
                told = Some((count, self.whole.len()));
                break;
            }
            last = next;
            rest = end.map_or(&[][..], |e| &rest[e + 1..]);
        }
        let (count, length) = told?;
        Some((&self.whole[..length], count as u64))
    }
}

/// Whether the text begins with the stamp of a kernel or the date of a log.
fn is_stamped(text: &[u8]) -> bool {
    matches!(text, [b'[', b' ' | b'0'..=b'9', ..]) || text::has_date(text)
}

/// Whether a line may be the rest of another: it has no prefix of its own, is neither
/// code fence nor mark of something left out, and no callback of its own.
pub(crate) fn is_rest(last: &[u8], next: &[u8]) -> bool {
    let text = unquoted(next).1.trim_ascii();
    let mark = text.is_empty()
        || text.iter().all(|b| b"`~".contains(b))
        || elided(text)
        || [&b"--"[..], b"**", b"=="].iter().any(|m| text.starts_with(m))
        || text.starts_with(b"#");
    // `Begin: Waiting for root file system`: what another program says on a console.
    let word = text.split(|&b| b == b' ').next().unwrap_or(text);
    let speaks = word.first().is_some_and(u8::is_ascii_uppercase) && word.ends_with(b":");
    // A machine starts anew, and its console goes on.
    let loaders: [&[u8]; 4] = [b"U-Boot ", b"Trying to boot from ", b"coreboot-", b"barebox "];
    let speaks = speaks || loaders.iter().any(|l| text.starts_with(l));
    // `drv dev:`, and what the core of power management says of it.
    let speaks = speaks && !(word == b"PM:" && last.trim_ascii_end().ends_with(b":"));
    let known = dress::plain(next);
    let own = |t: &[u8]| {
        let word = t.split(|&b| b == b' ').next().unwrap_or(t);
        let owner = word.ends_with(b":") || text::find(t, b": ").is_some();
        match calls::parse(t) {
            Some(calls::Line::Call { .. } | calls::Line::Return { .. }) => owner,
            // `drv dev: PM: calling f`, wrapped before its `@`.
            Some(calls::Line::Cut) => text::find(t, b": PM: ").is_some_and(|at| at > 0),
            _ => false,
        }
    };
    !mark
        && !speaks
        && !is_sentence(text)
        && next.len() < 120
        && !text::has_date(text)
        && !prefix::strip(known.as_deref().unwrap_or(next)).fresh
        && !own(text)
}

/// Whether a writer goes on below a log: words from a large letter to a stop. The rest of a message
/// begins in the middle of it.
fn is_sentence(text: &[u8]) -> bool {
    const WORDS: usize = 4;
    let first = text.split(|b| *b == b' ').next().unwrap_or(text);
    let large = first.first().is_some_and(u8::is_ascii_uppercase);
    let word = |w: &[u8]| w.iter().all(|b| b.is_ascii_lowercase() || *b == b'\'');
    let words = text.split(|b| *b == b' ').skip(1).filter(|w| !w.is_empty() && word(w)).count();
    large
        && word(first.get(1..).unwrap_or_default())
        && words + 1 >= WORDS
        && matches!(text.last(), Some(b'.' | b'!' | b'?'))
}

/// Longest line that is looked at in full.
pub(super) const MAX_LINE: usize = 8 << 10;

/// What people write where they left lines out.
pub(super) fn elided(text: &[u8]) -> bool {
    matches!(text, b"..." | b"[...]" | b"...." | b"<snip>" | b"[snip]")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The first line of two with what is joined to it, and how many lines that are.
    pub(in super::super) fn joined(text: &str) -> (String, u64) {
        let (line, rest) = text.split_once('\n').expect("two lines");
        let mut joiner = Joiner::default();
        let found = joiner.whole(b"", line.as_bytes(), rest.as_bytes());
        found.map_or((line.into(), 0), |(l, n)| (String::from_utf8_lossy(l).into_owned(), n))
    }

    #[test]
    fn only_what_did_not_fit_is_a_rest() {
        let long = "[ 2310.530213] snd_soc_x 0000:00:1f.3: PM: dpm_run_callback():";
        let (whole, count) =
            joined(&format!("{long}\npci_pm_suspend_noirq returns -110\n[ 1.0] x"));
        assert_eq!((whole, count), (format!("{long} pci_pm_suspend_noirq returns -110"), 1));
        assert_eq!(
            joined("[ 2310.530213] PM: suspend exit\nand then it hung\n").1,
            0,
            "it had room"
        );
        assert_eq!(
            joined(&format!("> {long}\npci_pm_suspend_noirq returns -110\n")).1,
            0,
            "a reply"
        );
        let quoted = joined(&format!("> > {long}\n> > pci_pm_suspend_noirq returns -110\n"));
        assert_eq!(quoted, (format!("> > {long} pci_pm_suspend_noirq returns -110"), 1));
        let (short, symbol) = (
            "[  106.480069] RIP:",
            "0010:qed_wait_for_doorbell_recovery.constprop.0.isra.0+0x5/0x10 [qed]",
        );
        assert_eq!(joined(&format!("{short}\n{symbol}\n")).0, format!("{short} {symbol}"));
        assert_eq!(joined(&format!("{short}\n0010:qed_wait+0x5/0x10 [qed]\n")).1, 0, "it had room");
        let owner = "Mar 11 09:10:15 oak kernel: [  615.562215] elan_touch i2c-ELAN0712:00:";
        let rest = "PM: failed to suspend: error -84";
        assert_eq!(joined(&format!("{owner}\n{rest}\n")).0, format!("{owner} {rest}"));
        assert_eq!(joined(&format!("{owner} is gone\n{rest}\n")).1, 0, "of another device");
        assert_eq!(joined(&format!("{long}\n...\n")).1, 0);
        assert_eq!(joined(&format!("{long} x\nU-Boot SPL 2024.01 (Jan 08 2024)\n")).1, 0);
        let failed = "> [  95.307000] drv 1.i2c: PM: failed to suspend late: error";
        assert_eq!(joined(&format!("{failed}\n-110\n")), (format!("{failed} -110"), 1));
        let earlier = failed.strip_suffix(" error").expect("so it ends");
        assert_eq!(joined(&format!("{earlier}\nerror -110\n")), (format!("{failed} -110"), 1));
        assert_eq!(joined(&format!("{failed}\n110 times\n")).1, 0);
        let freezer = "[  71.004000] Freezing of tasks failed after 20.004 seconds";
        let refuse = "(2 tasks refusing to freeze, wq_busy=0):";
        let whole = format!("{freezer} {refuse}");
        assert_eq!(joined(&format!("{freezer}\n        {refuse}\n")), (whole, 1));
        assert_eq!(joined(&format!("{freezer}\n        so I gave up\n")).1, 0);
        let bare = "Freezing user space processes failed after 20.001 seconds (1 tasks";
        assert_eq!(joined(&format!("{bare}\nrefusing to freeze, wq_busy=0):\n")).1, 1, "no stamp");
        assert_eq!(joined(&format!("{bare}\nthat I know of\n")).1, 0);
        assert_eq!(joined(&format!("{bare} refusing to\nfreeze, wq_busy=0):\n")).1, 1);
        assert_eq!(joined(&format!("{long}\n   indented by hand\n")).1, 0);
    }

    #[test]
    fn prose_below_a_line_that_had_room_or_is_complete_is_none_of_it() {
        let whole = |before: &str, line: &str, rest: &str| {
            let mut joiner = Joiner::default();
            let found = joiner.whole(before.as_bytes(), line.as_bytes(), rest.as_bytes());
            found.map_or(0, |(_, n)| n)
        };
        let line = "[  310.250113] xhci_hcd 0000:05:00.3: xHC error in resume, USBSTS 0x401,";
        let wider = format!("{line} Reinit and then some more of the same driver\n");
        assert_eq!(whole("", line, "Reinit\n[  310.3] x"), 1, "nothing says that it had room");
        assert_eq!(whole(&wider, line, "I wonder why.\n"), 0, "the line above is wider");
        assert_eq!(whole("", line, &format!("I wonder why.\n{wider}")), 0, "the one below");
        let apart = format!("{wider}\n");
        assert_eq!(whole(&apart, line, "Reinit\n"), 1, "another block");
        let complete =
            "[   20.078978] snd_soc_x 0000:00:1f.6: PM: failed to suspend async: error -2";
        assert_eq!(whole("", complete, "According to what we know\n"), 0);
        let waits = "[   25.474071][   T55] platform fe0a0000.hdmi: deferred probe pending: wait for supplier";
        assert_eq!(whole("", waits, "/i2c@fdd40000/pmic@20/regulators/LDO_REG9\n"), 1);
        assert_eq!(whole("", complete, "/sys/power/state was written\n"), 0);
    }

    #[test]
    fn a_log_that_was_wrapped_narrow_tells_its_width() {
        let lines = [
            "> [   15.120044] platform 21.elm: deferred",
            "> probe pending: platform: supplier 20.oak",
            "> not ready",
            "> [   15.120100] platform 20.oak: deferred",
            "> probe pending: oak: no parent",
            "> [   15.200000] x",
        ];
        let whole = |from: usize, lines: &[&str]| {
            let text = lines.join("\n");
            let at = lines[..from].iter().map(|l| l.len() + 1).sum::<usize>();
            let (before, rest) = text.as_bytes().split_at(at);
            let end = memchr::memchr(b'\n', rest).expect("a line");
            let mut joiner = Joiner::default();
            joiner.whole(before, &rest[..end], &rest[end + 1..]).map_or(0, |(_, n)| n)
        };
        assert_eq!((whole(0, &lines), whole(3, &lines)), (2, 1));
        let wide = "> [   15.110000] the same log has a line that is wider than any of these";
        assert_eq!(whole(1, &[&[wide], &lines[..]].concat()), 0);
        let prose = ["[   15.120044] platform 21.elm: deferred", "and then it hung", "", "x"];
        assert_eq!(whole(0, &prose), 0);
    }

    #[test]
    fn a_callback_that_breaks_off_takes_what_makes_it_whole() {
        let (whole, count) = joined("drv 1-1: calling f_s+0x0/0x248 @\n96, parent:\nusb1\nnext");
        assert_eq!(
            (whole.as_str(), count),
            ("drv 1-1: calling f_s+0x0/0x248 @ 96, parent: usb1", 2)
        );
        assert_eq!(joined("drv 1-1: calling f_s+0x0/0x248 @\nno idea\n").1, 0);
        let failed = "mmc mmc3: PM: failed to suspend late: error -84";
        let next =
            "snd snd.2: PM: calling snd_resume_early_from_the_codec [snd_soc_x]\n@ 126, parent: x";
        assert_eq!(joined(&format!("{failed}\n{next}\n")).1, 0, "the next has its own owner");
    }
}
