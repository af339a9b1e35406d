//! What people measure against each other: a phase with a change and without it, shares of
//! sleeps that passed; and of which kernel the log of a patch is.

use crate::border;
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Evidence, Finding, Level};
use crate::message::{Message, Trust, seconds};
use crate::stage::phase_took;
use crate::tested;
use dormouse_base::phase::Direction;
use dormouse_base::say;
use dormouse_base::time::Ns;

/// The rule that tells of two measurements of a phase.
pub const MEASURED: &str = "two-measurements";

/// The rule that tells of two shares.
pub(crate) const SHARES: &str = "two-shares";

/// What stands under one heading: its words, its line, and the ends of phases.
struct Under<'a> {
    heading: &'a str,
    line: &'a Message,
    phases: Vec<(Direction, String, Ns, &'a Message)>,
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    measured(case, out);
    shares(case, out);
}

/// Two headings, each with the ends of the same phases below it.
fn measured(case: &Case, out: &mut Vec<Finding>) {
    let mut all: Vec<Under<'_>> = Vec::new();
    for m in case.messages.iter() {
        if !m.trust.is_of_a_kernel()
            && let Some(heading) = border::heading(&m.text)
        {
            all.push(Under { heading, line: m, phases: Vec::new() });
        } else if let Some(under) = all.last_mut()
            && let Some((way, name, took)) = timed(m)
        {
            under.phases.push((way, name, took, m));
        }
    }
    all.retain(|u| !u.phases.is_empty());
    // A change is told from what was before, whatever stands first.
    if let [a, b] = &all[..]
        && border::is_later(a.heading)
        && !border::is_later(b.heading)
    {
        all.swap(0, 1);
    }
    let [a, b] = &all[..] else { return };
    let pair = |p: &(Direction, String, Ns, &Message)| {
        let mut same = b.phases.iter().filter(|q| q.1 == p.1);
        let of = a.phases.iter().filter(|q| q.1 == p.1).count();
        // Of several sleeps a median would be needed, which `compare` has.
        same.next().filter(|_| of == 1 && same.next().is_none()).map(|q| (q.2, q.3))
    };
    let pairs = a.phases.iter().filter_map(|p| Some((p, pair(p)?)));
    let pairs: Vec<_> = pairs.filter(|(p, _)| p.2 > Ns::ZERO).take(MOST).collect();
    if pairs.is_empty() || a.heading.eq_ignore_ascii_case(b.heading) {
        return;
    }
    let words = pairs.iter().map(|(p, (then, _))| {
        let by = ((then.0 - p.2.0) as f64 * 100.0 / p.2.0 as f64).round();
        let sign = if by > 0.0 { "+" } else { "" };
        format!("{} {} -> {} ms ({sign}{by} %)", p.1, say::ms(p.2), say::ms(*then))
    });
    let words: Vec<String> = words.collect();
    let shown = pairs.iter().flat_map(|(p, (_, m))| [p.3, *m]);
    let rule = (MEASURED, Area::Phase, Level::Note);
    out.push(
        Finding::new(rule, Confidence::Likely)
            .says(format!(
                "Two measurements, \"{}\" and \"{}\": {}. They are of two sleeps, not of one.",
                a.heading,
                b.heading,
                words.join("; ")
            ))
            .look("One sleep of each proves no difference: record several of both, then dormouse compare.")
            .shown_by(lines(shown))
            .shown_by([a.line, b.line].map(|m| Evidence { doubtful: true, ..Evidence::from(m) })),
    );
}

/// A phase, or a step of an image, of which a message says how long it took.
fn timed(m: &Message) -> Option<(Direction, String, Ns)> {
    if let Some((way, name, took)) = phase_took(m) {
        return Some((way, format!("{name} of devices"), took));
    }
    // kernel/power/snapshot.c and swap.c:swsusp_show_speed (6.12).
    let (words, rest) = m.text.split_once(" kbytes in ")?;
    let words = words.rsplit(": ").next().unwrap_or(words);
    let (verb, size) = words.split_once(' ')?;
    size.parse::<u64>().ok()?;
    let (way, name) = match verb {
        "Allocated" => (Direction::Suspend, "making room for the image"),
        "Copied" => (Direction::Suspend, "copying the image"),
        "Wrote" => (Direction::Suspend, "writing the image"),
        "Read" => (Direction::Resume, "reading the image"),
        _ => return None,
    };
    Some((way, name.to_owned(), seconds(rest)?))
}

/// So many phases are told.
const MOST: usize = 4;

/// `100 of 100 suspends pass with the patch, 0 of 20 without`.
fn shares(case: &Case, out: &mut Vec<Finding>) {
    let prose: Vec<&Message> = case.messages.iter().filter(|m| m.trust == Trust::Prose).collect();
    let told = prose.iter().enumerate().find_map(|(i, m)| {
        let next = prose.get(i + 1).filter(|n| n.line == m.line + 1);
        let text = [m.text.trim(), next.map_or("", |n| n.text.trim())].join(" ");
        let found = text.split(". ").find_map(|s| Some((s, with_and_without(s)?)))?;
        Some((*m, found.0.trim().trim_end_matches('.').to_string(), found.1))
    });
    let Some((m, sentence, [with, without])) = told else { return };
    let rule = (SHARES, Area::Abort, Level::Note);
    out.push(
        Finding::new(rule, Confidence::Guess)
            .says(format!(
                "With the change {} of {} passed, without it {} of {}, says the writer: \"{}\".",
                with.0,
                with.1,
                without.0,
                without.1,
                crate::remedy::cut(&sentence, QUOTED)
            ))
            .shown_by([Evidence { doubtful: true, ..Evidence::from(m) }]),
    );
}

/// So many bytes of such a sentence are quoted.
const QUOTED: usize = 160;

/// A share: so many of so many.
type Share = (u32, u32);

/// The two shares of a sentence about sleeps, of which each stands before its word.
fn with_and_without(sentence: &str) -> Option<[Share; 2]> {
    let lower = sentence.to_ascii_lowercase();
    let of_sleep = ["suspend", "resume", "sleep", "hibernat", "s2idle", "cycle", "wake"];
    if !of_sleep.iter().any(|w| lower.contains(w)) {
        return None;
    }
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).collect();
    let number = |w: &&str| w.parse::<u32>().ok();
    let share = |at: usize| {
        let [n, by, of] = words.get(at..at + 3)? else { return None };
        let of = number(of).filter(|_| matches!(*by, "of" | "in"))?;
        number(n).filter(|n| *n <= of && of > 0).map(|n| (n, of))
    };
    let [mut with, mut without] = [None; 2];
    let mut last = None;
    for (at, word) in words.iter().enumerate() {
        last = share(at).or(last);
        let open = match *word {
            "with" | "patched" | "after" => &mut with,
            "without" | "unpatched" | "before" => &mut without,
            _ => continue,
        };
        if open.is_none() {
            *open = last.take();
        }
    }
    Some([with?, without?])
}

/// Says of findings of a patch's description that its log is of the kernel without it: what
/// stands above `Signed-off-by:` of a mail with a patch describes what it mends
/// (Documentation/process/submitting-patches.rst), but for what a heading tells apart.
pub(crate) fn without(case: &Case, findings: &mut [Finding]) {
    let prose = |m: &&Message| !m.trust.is_of_a_kernel();
    let begins = |word: &str| {
        let found = case.messages.iter().filter(prose).find(|m| m.text.trim().starts_with(word));
        found.map(|m| m.line)
    };
    let fixes = fixes(case);
    let shown = is_commit(case);
    let signed = fixes.into_iter().chain(begins("Signed-off-by: ")).min();
    let described = signed.or(shown.then_some(u64::MAX));
    let Some(signed) = described.or_else(|| begins("diff --git ")) else { return };
    let subject = || {
        let mut head = case.messages.iter().filter(prose).filter(|m| m.line < signed);
        head.any(|m| m.text.starts_with("Subject: ") && m.text.contains("[PATCH"))
    };
    if !subject() && !shown && fixes.is_none() && begins("diff --git ").is_none() {
        return;
    }
    // What is left with it is no log of the kernel without it.
    let left = |m: &&Message| {
        let lower = m.text.to_ascii_lowercase();
        ["still fail", "still hang", "another patch", "remains", "not fix"]
            .iter()
            .any(|w| lower.contains(w))
    };
    if case.messages.iter().filter(prose).any(|m| left(&m)) {
        return;
    }
    let tried = tested::with_the_patch(case);
    let parted = case.messages.iter().filter(prose).any(|m| border::heading(&m.text).is_some());
    let above = |e: &Evidence| e.line > 0 && e.line < signed;
    let stamped =
        |e: &Evidence| case.messages.iter().any(|m| m.line == e.line && m.trust == Trust::Logged);
    for f in findings.iter_mut().filter(|f| f.level != Level::Note && !parted) {
        let one = described.is_none() && f.area == Area::Abort && f.evidence.len() == 1;
        if one && f.evidence.iter().all(|e| above(e) && !stamped(e)) {
            // Nobody signed for it as what he saw.
            f.level = Level::Note;
            f.sentence += " The text is a patch, and gives one line as an example.";
        } else if f.evidence.iter().all(above) {
            f.sentence += " The text is a patch: its log is taken as one of the kernel without it.";
            if let Some((words, m)) = &tried {
                f.sentence += &format!(" Of the kernel with it the patch says: \"{words}\".");
                f.evidence.push(Evidence { doubtful: true, ..Evidence::from(*m) });
            }
        }
    }
}

/// Whether a text begins as `git show` and `git log` do.
fn is_commit(case: &Case) -> bool {
    let hash = |m: &Message| {
        let hash = m.text.strip_prefix("commit ").unwrap_or_default().trim();
        hash.len() >= 12 && hash.bytes().all(|b| b.is_ascii_hexdigit())
    };
    let author = |m: &Message| m.text.starts_with("Author: ");
    case.messages.windows(2).take(3).any(|w| hash(&w[0]) && author(&w[1]))
}

/// What is slow in one of two measurements is told by both.
pub(crate) fn one_of_two(findings: &mut [Finding]) {
    let shown = |f: &Finding| f.evidence.iter().map(|e| e.line).collect::<Vec<u64>>();
    let Some(both) = findings.iter().find(|f| f.id == MEASURED).map(shown) else { return };
    let told = |f: &Finding| f.evidence.iter().all(|e| both.contains(&e.line));
    let slow = |f: &&mut Finding| f.level == Level::Slow && f.id != MEASURED && told(f);
    findings.iter_mut().filter(slow).for_each(|f| f.level = Level::Note);
    // What stands under the first heading alone is of that measurement.
    let heads = findings.iter().find(|f| f.id == MEASURED).map(|f| {
        let mut heads: Vec<Evidence> = f.evidence.iter().filter(|e| e.doubtful).cloned().collect();
        heads.sort_by_key(|e| e.line);
        heads
    });
    let Some([a, b]) = heads.as_deref() else { return };
    let of = |f: &Finding| f.evidence.iter().all(|e| e.line > a.line && e.line < b.line);
    let slow = |f: &&mut Finding| f.level == Level::Slow && f.id != MEASURED && of(f);
    let heading = border::heading(&a.text).unwrap_or(a.text.trim());
    for f in findings.iter_mut().filter(slow) {
        f.sentence += &format!(" That is of \"{heading}\", one of two measurements.");
    }
}

/// Where the text of a patch names the change that it mends: `Fixes: 0123456789ab ("…")`.
fn fixes(case: &Case) -> Option<u64> {
    let named = |m: &&Message| {
        let rest = m.text.trim().strip_prefix("Fixes: ").and_then(|r| r.split_once(" (\""));
        let hash = |h: &str| h.len() >= 8 && h.bytes().all(|b| b.is_ascii_hexdigit());
        !m.trust.is_of_a_kernel() && rest.is_some_and(|(h, _)| hash(h))
    };
    case.messages.iter().find(named).map(|m| m.line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_with_a_change_and_without_are_read() {
        let of = with_and_without;
        let passed = "100 of 100 suspends pass with the patch, 0 of 20 without";
        assert_eq!(of(passed), Some([(100, 100), (0, 20)]));
        let other = "Before, hm: 3 of 10 resumes worked before the change, 10 of 10 after it";
        assert_eq!(of(other), Some([(10, 10), (3, 10)]));
        for none in [
            "2 of 4 CPUs were on with the patch, 1 of 4 without",
            "5 of 4 suspends with it, 1 of 2 without",
            "All suspends pass with the patch, none without",
        ] {
            assert_eq!(of(none), None, "{none}");
        }
    }
}
