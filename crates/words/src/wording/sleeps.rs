//! The attempts to sleep that a text or a recording shows, as the doctor tells them.

use dormouse_doctor::Sleep;

/// `1 attempt to sleep`.
pub fn attempts(n: usize) -> String {
    if n == 1 { "1 attempt to sleep".into() } else { format!("{n} attempts to sleep") }
}

/// So many lines are named.
const NAMED: usize = 6;

/// The sleeps of a text in which nothing is wrong, and where they begin:
/// `4 attempts to sleep (hibernation; lines 12, 70, 95 and 130) and all their ends`.
pub fn sleeps(all: &[Sleep]) -> String {
    let mut modes: Vec<&str> = all.iter().map(|s| s.mode.as_str()).collect();
    modes.retain(|m| !m.is_empty());
    modes.sort_unstable();
    modes.dedup();
    let mode = match modes.len() {
        0 => String::new(),
        _ => format!("{}; ", modes.join(", ")),
    };
    let lines: Vec<String> = all.iter().take(NAMED).map(|s| s.line.to_string()).collect();
    let lines = match (all.len(), lines.split_last()) {
        (1, Some((line, _))) => format!("line {line}"),
        (n, Some(_)) if n > NAMED => format!("lines {} and more", lines.join(", ")),
        (_, Some((last, rest))) => format!("lines {} and {last}", rest.join(", ")),
        (_, None) => String::new(),
    };
    let open = all.iter().filter(|s| !s.closed).count();
    let begun = all.iter().filter(|s| s.begun).count();
    let ends = match (all.len(), open) {
        (1, 0) if begun == 0 => "whose beginning is not in the text".into(),
        (1, _) if begun == 0 => "neither its beginning nor its end is in the text".into(),
        (1, 0) => "and its end".into(),
        (1, _) => "whose end is not in the text".into(),
        (_, 0) => "and the end of each".into(),
        (_, n) => format!("{n} of them without an end in the text"),
    };
    let ends = match all.len() - begun {
        n if n > 0 && all.len() > 1 => format!("{ends}, {n} of them without a beginning"),
        _ => ends,
    };
    format!("{} ({mode}{lines}), {ends}", attempts(all.len()))
}

/// Attempts without an end, and logs that begin inside the text, as further sentences;
/// each begins with a blank.
pub fn whole(sleeps: &[Sleep], logs: &[u64]) -> String {
    let mut out = String::new();
    for (begun, closed, what) in [
        (true, false, "no end"),
        (false, true, "no beginning"),
        (false, false, "neither beginning nor end"),
    ] {
        let of = sleeps.iter().filter(|s| (s.begun, s.closed) == (begun, closed));
        let of: Vec<String> = of.map(|s| s.line.to_string()).collect();
        out += &match of.len() {
            0 => String::new(),
            1 if sleeps.len() == 1 => format!(" It has {what} in the text."),
            1 => format!(" That of line {} has {what} in the text.", of[0]),
            n if n > NAMED => format!(" {n} of them have {what} in the text."),
            _ => format!(" Those of lines {} have {what} in the text.", all(&of)),
        };
    }
    match logs {
        [] => {}
        [line] => {
            out +=
                &format!(" The clock goes back at line {line}: another log, or an earlier part.");
        }
        [first, ..] => {
            out += &format!(
                " The clock goes back at {} places (first at line {first}): other logs, or earlier \
                 parts.",
                logs.len()
            );
        }
    }
    out
}

/// `61, 70 and 143`.
fn all(list: &[String]) -> String {
    match list.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => list.concat(),
    }
}
