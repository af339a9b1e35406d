//! Lines that are written anew before they are read: colours of a terminal, blanks of mail
//! programs, logs of Android, dates in the language of who asked.

use super::prefix;
use crate::{months, text};
use dormouse_doctor::border;
use memchr::memchr3;

/// U+00A0: some mail programs put it for one of two blanks.
const NO_BREAK_SPACE: &[u8] = b"\xc2\xa0";

/// `line` without what hides its prefix; nothing if it is plain already.
pub(super) fn plain(line: &[u8]) -> Option<Vec<u8>> {
    let clean = memchr3(0xc2, 0x1b, b'<', line).and_then(|_| without_noise(line));
    let clean = without_level(clean.as_deref().unwrap_or(line)).or(clean);
    let clean = without_files(clean.as_deref().unwrap_or(line)).or(clean);
    let clean = without_fence(clean.as_deref().unwrap_or(line)).or(clean);
    let clean = without_emphasis(clean.as_deref().unwrap_or(line)).or(clean);
    // Code may stand in marks of emphasis.
    let clean = clean.as_deref().and_then(without_emphasis).or(clean);
    let clean = without_bullet(clean.as_deref().unwrap_or(line)).or(clean);
    let clean = without_heading(clean.as_deref().unwrap_or(line)).or(clean);
    let clean = in_english(clean.as_deref().unwrap_or(line)).or(clean);
    let told = logcat(prefix::quotes(clean.as_deref().unwrap_or(line)));
    told.or(clean)
}

/// Whether `line` is one of the kernel in a log of Android.
pub(super) fn is_of_android(line: &[u8]) -> bool {
    let line = prefix::quotes(line);
    brief(line).or_else(|| timed(line)).is_some()
}

/// Without `ERROR - NAME: `, which Python's `logging` of a test system puts before each line
/// that a program printed.
fn without_level(line: &[u8]) -> Option<Vec<u8>> {
    const LEVELS: [&[u8]; 5] =
        [b"ERROR - ", b"WARNING - ", b"INFO - ", b"DEBUG - ", b"CRITICAL - "];
    let rest = LEVELS.iter().find_map(|l| line.strip_prefix(*l))?;
    let name = text::find(&rest[..rest.len().min(40)], b": ")?;
    let word = |b: &u8| b.is_ascii_alphabetic() || b" _.".contains(b);
    (name > 0 && rest[..name].iter().all(word)).then(|| rest[name + 2..].to_vec())
}

/// Without `[name:wakeup&]`, by which MediaTek's kernels say which file prints: ahead of a
/// message, with or without a colon behind it, and where a line goes on.
fn without_files(line: &[u8]) -> Option<Vec<u8>> {
    const OPEN: &[u8] = b"[name:";
    // Few lines have such a sign.
    memchr::memchr(b'&', line)?;
    let mut at = text::find(line, OPEN)?;
    let (mut out, mut rest) = (Vec::new(), line);
    loop {
        let inside = &rest[at + OPEN.len()..];
        let end = memchr::memchr(b'&', &inside[..inside.len().min(64)])?;
        let behind = inside[end + 1..].strip_prefix(b"]")?;
        out.extend_from_slice(&rest[..at]);
        let ahead = out.ends_with(b"]");
        rest = behind.strip_prefix(b": ").filter(|_| ahead).unwrap_or(behind);
        match text::find(rest, OPEN) {
            Some(next) => at = next,
            None => break,
        }
    }
    out.extend_from_slice(rest);
    Some(out)
}

/// Without the fence that stands right before the first line of a log, where its writer left out
/// the end of a line.
fn without_fence(line: &[u8]) -> Option<Vec<u8>> {
    let body = prefix::quotes(line);
    let rest = body.strip_prefix(b"```").filter(|r| r.first() != Some(&b'`'))?;
    let digit = |at: usize| rest.get(at).is_some_and(|b| b.is_ascii_digit() || *b == b' ');
    let month = rest.len() > 16 && rest[..3].iter().all(u8::is_ascii_alphabetic);
    let stamp = match rest.first()? {
        b'[' => digit(1),
        b'0'..=b'9' => digit(1),
        _ => month && rest[3] == b' ' && digit(4) && digit(5) && rest.contains(&b':'),
    };
    stamp.then(|| [&line[..line.len() - body.len()], rest].concat())
}

/// Without the marks that a mail or a tracker puts around what matters: `**…**`, `*…*`,
/// `_…_`, `` `…` ``, `~~…~~`, around the line or around what follows its prefix.
fn without_emphasis(line: &[u8]) -> Option<Vec<u8>> {
    let body = line.trim_ascii_end();
    let mark = *body.last().filter(|b| matches!(b, b'*' | b'_' | b'`' | b'~'))?;
    let inner = body.len() - body.iter().rev().take_while(|b| **b == mark).count();
    let (inner, close) = body.split_at(inner);
    let open = text::find(inner, close).filter(|_| close.len() <= 3)?;
    let (before, text) = (&inner[..open], &inner[open + close.len()..]);
    let prefix = before.trim_ascii_end();
    let listed = bullet(before).unwrap_or(prefix);
    let quoted = listed.iter().all(|b| matches!(b, b'>' | b'|' | b' ' | b'\t'));
    let stamped = prefix.ends_with(b"]") || prefix.ends_with(b":");
    let begins = text.first().is_some_and(|b| *b != mark && *b != b' ');
    // What is marked twice or more is no whole.
    if mark != b'_' && text::find(text, close).is_some() {
        return None;
    }
    // A list has nothing to do with what it quotes.
    let before = if stamped { before } else { listed };
    ((quoted || stamped) && begins).then(|| [before, text].concat())
}

/// What stands before the mark of an item of a list, `- `, `* `, `12. `, with which `text`
/// ends.
fn bullet(text: &[u8]) -> Option<&[u8]> {
    let item = text.strip_suffix(b" ")?.trim_ascii_end();
    let (before, mark) = item.split_at(item.len().checked_sub(1)?);
    match mark {
        b"-" | b"*" => Some(before),
        b"." | b")" => {
            let digits = before.iter().rev().take_while(|b| b.is_ascii_digit()).count();
            (1..=3).contains(&digits).then(|| &before[..before.len() - digits])
        }
        _ => None,
    }
}

/// A message of a log that is an item of a list, without the mark: what follows it is a stamp
/// or the core's own mark, or stood in marks of code.
fn without_bullet(line: &[u8]) -> Option<Vec<u8>> {
    let rest = item(line)?;
    let is = |b: &u8| b.is_ascii_digit() || *b == b' ';
    let stamp = rest.strip_prefix(b"[").is_some_and(|r| r.first().is_some_and(is));
    let quotes = &line[..line.len() - prefix::quotes(line).len()];
    let known = stamp || rest.starts_with(b"PM: ") || text::find(rest, b": PM: ").is_some();
    let whole = known.then(|| rest.to_vec());
    whole.or_else(|| shown(rest)).map(|text| [quotes, &text].concat())
}

/// What an item of a list says, behind its mark.
fn item(line: &[u8]) -> Option<&[u8]> {
    let body = prefix::quotes(line);
    let word = memchr::memchr(b' ', body).filter(|at| (1..=4).contains(at))?;
    bullet(&body[..=word])?.is_empty().then(|| &body[word + 1..])
}

/// The message that an item of a list shows in marks of code or in bold: a diary tells a sleep
/// so, a step an item. Ahead of it stand at most labels: what is in bold, numbers, words of
/// another script.
fn shown(item: &[u8]) -> Option<Vec<u8>> {
    let (mut from, mut label) = (0, false);
    loop {
        let at = from + item[from..].iter().position(|b| matches!(b, b'`' | b'*'))?;
        if !label && item[from..at].iter().any(u8::is_ascii_alphabetic) {
            return None;
        }
        let mark: &[u8] = if item[at] == b'`' { b"`" } else { b"**" };
        let inside = item[at..].strip_prefix(mark)?;
        if label {
            // The label ends here.
            (from, label) = (at + mark.len(), false);
            continue;
        }
        if let Some(end) = text::find(inside, mark).filter(|end| is_message(&inside[..*end])) {
            // What stands behind code is the writer's; bold words go on in the sentence.
            let behind = if mark == b"`" { &b""[..] } else { &inside[end + mark.len()..] };
            return Some([&inside[..end], behind].concat());
        }
        if mark == b"`" {
            return None;
        }
        // Code may begin right behind the mark of what is bold.
        (from, label) = (at + mark.len(), !inside.starts_with(b"`"));
    }
}

/// Whether `line` is an item of a list that shows a message so.
pub(crate) fn is_shown(line: &[u8]) -> bool {
    item(line).and_then(shown).is_some()
}

/// Whether what stands in marks reads as a message of a kernel: of its core, or with the name
/// of who says it.
fn is_message(text: &[u8]) -> bool {
    const CORE: [&[u8]; 4] = [b"PM: ", b"ACPI: PM: ", b"Timekeeping suspended for ", b"Freezing "];
    let who = text::find(text, b": ").unwrap_or(0);
    let told = text.split(|b| *b == b' ').filter(|w| !w.is_empty()).count() > 3;
    let named = text.first().is_some_and(u8::is_ascii_lowercase) && text[..who].contains(&b' ');
    CORE.iter().any(|c| text.starts_with(c)) || who > 0 && told && named
}

/// The heading of a measurement, with its colon, and the message that follows it in marks of
/// code: ``Before: `PM: … took 3 seconds` - as it was``.
pub(super) fn measured(line: &[u8]) -> Option<(&[u8], &[u8])> {
    memchr::memchr(b'`', line)?;
    let body = prefix::quotes(line);
    let at = memchr::memchr(b'`', body)?;
    let (heading, rest) = (body[..at].trim_ascii_end(), &body[at + 1..]);
    let message = &rest[..memchr::memchr(b'`', rest)?];
    let known = std::str::from_utf8(heading).is_ok_and(|h| border::heading(h).is_some());
    (known && is_message(message)).then_some((heading, message))
}

/// Without words of a person that stand right ahead of a message of the core, as a page leaves
/// them where it lost the end of a line: `The log:PM: suspend entry (deep)`.
fn without_heading(line: &[u8]) -> Option<Vec<u8>> {
    const LONGEST: usize = 60;
    let body = prefix::quotes(line);
    if !body.first().is_some_and(u8::is_ascii_alphabetic) {
        return None;
    }
    let words = |b: &u8| b.is_ascii_alphabetic() || *b == b' ';
    let colon = body.iter().take(LONGEST).position(|b| !words(b)).filter(|at| body[*at] == b':')?;
    let rest = &body[colon + 1..];
    let core = rest.starts_with(b"PM: ") || rest.starts_with(b"ACPI: PM: ");
    core.then(|| [&line[..line.len() - body.len()], rest].concat())
}

/// Without the escape sequences of `dmesg --color=always` and the tags of a web page, and
/// with blanks for blanks; nothing if there are none.
fn without_noise(line: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    let mut rest = line;
    let mut changed = false;
    while let Some(at) = memchr3(0xc2, 0x1b, b'<', rest) {
        plain.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let skip = if rest.starts_with(NO_BREAK_SPACE) {
            plain.push(b' ');
            NO_BREAK_SPACE.len()
        } else if let Some(length) = text::escape(rest) {
            length
        } else if let Some(length) = tag(rest) {
            length
        } else {
            plain.push(rest[0]);
            rest = &rest[1..];
            continue;
        };
        changed = true;
        rest = &rest[skip..];
    }
    plain.extend_from_slice(rest);
    changed.then_some(plain)
}

/// The length of a tag of HTML that only says how text looks: `<font color="#C01C28">`,
/// `</b>`. The kernel's own marks (`<TASK>`, `<IRQ>`) are in capitals or numbers.
fn tag(text: &[u8]) -> Option<usize> {
    const NAMES: [&[u8]; 10] =
        [b"b", b"strong", b"em", b"mark", b"font", b"span", b"code", b"pre", b"tt", b"br"];
    let end = memchr::memchr(b'>', &text[..text.len().min(80)])?;
    let inside = text[1..end].strip_prefix(b"/").unwrap_or(&text[1..end]);
    let inside = inside.strip_suffix(b"/").unwrap_or(inside).trim_ascii_end();
    let name = inside.split(|&b| b == b' ').next()?;
    let plain = name.len() == inside.len() || memchr::memchr(b'=', inside).is_some();
    (plain && NAMES.contains(&name)).then_some(end + 1)
}

/// A journal in another language, with its months as English has them.
fn in_english(line: &[u8]) -> Option<Vec<u8>> {
    let body = prefix::quotes(line);
    Some([&line[..line.len() - body.len()], &months::english(body)?].concat())
}

/// `03-10 09:01:38.803     0     0 I PM      : suspend entry (deep)`: a line of the kernel
/// in a log of Android, as a keeper of logs would write it. The daemon takes the first
/// word of the message for its own tag and fills it up to eight letters; the kernel has
/// neither process nor thread. `I/PM      (    0): …` is the brief form.
fn logcat(line: &[u8]) -> Option<Vec<u8>> {
    let (head, rest) = brief(line).or_else(|| timed(line))?;
    let (tag, text) = match text::find(rest, b": ") {
        Some(at) => (rest[..at].trim_ascii(), &rest[at + 2..]),
        None => (&rest[..0], rest),
    };
    let mut out = head.to_vec();
    out.extend_from_slice(b" kernel: ");
    if !tag.is_empty() {
        out.extend_from_slice(tag);
        out.extend_from_slice(b": ");
    }
    out.extend_from_slice(text);
    // All of a message that has no colon of its own was taken for the tag.
    if text.is_empty() {
        out.truncate(out.len() - if tag.is_empty() { 0 } else { 2 });
    }
    Some(out)
}

fn is_level(word: &[u8]) -> bool {
    matches!(word, [b'V' | b'D' | b'I' | b'W' | b'E' | b'F'])
}

/// What stands before the tag, and the rest: of a line without time.
fn brief(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = line.get(2..).filter(|_| is_level(&line[..1]) && line[1] == b'/')?;
    let head = &rest[..rest.len().min(80)];
    let (open, close) = (text::find(head, b"(")?, text::find(head, b"): ")?);
    // The tag is given up: between it and the text stands the process.
    (head.get(open + 1..close)?.trim_ascii() == b"0").then(|| (&line[..0], &rest[close + 1..]))
}

/// The same of a line with time, perhaps a user, process, thread and level.
fn timed(line: &[u8]) -> Option<(&[u8], &[u8])> {
    if !line.first()?.is_ascii_digit() {
        return None;
    }
    let mut at = 0;
    let mut zeros = 0;
    for _ in 0..6 {
        let rest = line.get(at..line.len().min(64))?;
        let begin = at + rest.iter().position(|&b| b != b' ')?;
        let rest = &line[begin..];
        let end = begin + memchr::memchr(b' ', &rest[..rest.len().min(32)])?;
        let word = &line[begin..end];
        if zeros == 2 && is_level(word) {
            return Some((line[..begin].trim_ascii_end(), &line[end + 1..]));
        }
        zeros = if word == b"0" { zeros + 1 } else { 0 };
        at = end;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<String> {
        plain(line.as_bytes()).map(|l| String::from_utf8_lossy(&l).into_owned())
    }

    #[test]
    fn colours_and_blanks_go() {
        assert_eq!(
            of("\u{1b}[32m[    1.000000] \u{1b}[0m\u{1b}[33mPM\u{1b}[0m: x").as_deref(),
            Some("[    1.000000] PM: x")
        );
        let blank = of("[\u{a0}   1.000000] PM: \u{c4}");
        assert_eq!(blank.as_deref(), Some("[    1.000000] PM: \u{c4}"));
        assert_eq!(of("[    1.000000] PM: x"), None);
        assert_eq!(
            of("Nov 02 10:11:12 box kernel: <font color=\"#CC0000\"><b>PM</b></font>: x")
                .as_deref(),
            Some("Nov 02 10:11:12 box kernel: PM: x")
        );
        for kept in
            ["<6>[    1.000000] PM: x", "[    1.0] <TASK>", "[    1.0] a < b > c", "<span", "<b "]
        {
            assert_eq!(of(kept), None, "{kept}");
        }
    }

    #[test]
    fn journals_of_other_languages_have_a_date() {
        for (told, english) in [
            ("oct. 22 22:22:14 box kernel: x", "Oct 22 22:22:14 box kernel: x"),
            ("> ott 5 09:07:34 box kernel: x", "> Oct  5 09:07:34 box kernel: x"),
            ("M\u{e4}r 08 09:07:34 box kernel: x", "Mar 08 09:07:34 box kernel: x"),
            ("juil. 14 09:07:34 box kernel: x", "Jul 14 09:07:34 box kernel: x"),
            ("juin 14 09:07:34 box kernel: x", "Jun 14 09:07:34 box kernel: x"),
            ("jun 09 17:10:10 box kernel: x", "Jun 09 17:10:10 box kernel: x"),
            ("дек 31 09:07:34 box kernel: x", "Dec 31 09:07:34 box kernel: x"),
        ] {
            assert_eq!(of(told).as_deref(), Some(english));
        }
        for plain in ["Jun 09 17:10:10 box kernel: x", "took 22 12:34:56 x", "oct 22 many", "mar 1"]
        {
            assert_eq!(of(plain), None, "{plain}");
        }
    }

    #[test]
    fn an_item_of_a_list_shows_a_message_in_marks() {
        for (item, message) in [
            ("1. `PM: suspend entry (deep)` \u{2014} it goes down", "PM: suspend entry (deep)"),
            (
                "> - **I2C dead**: `i2c_x 1f7.i2c: controller timed out` (often)",
                "> i2c_x 1f7.i2c: controller timed out",
            ),
            (
                "4. **18:20:59** \u{66f8} **`PM: Cannot get swap writer` \u{2192} ENOSPC**",
                "PM: Cannot get swap writer",
            ),
            (
                "- **Timekeeping suspended for 59.4 seconds**. It woke",
                "Timekeeping suspended for 59.4 seconds. It woke",
            ),
        ] {
            assert_eq!(of(item).as_deref(), Some(message), "{item}");
            assert!(is_shown(item.as_bytes()), "{item}");
        }
        for told in [
            "- If you see `PM: suspend entry (deep)` it went down",
            "- `power/control: auto` of all",
            "- **bold** and more",
            "- `cpu_pm_suspend` called",
            "`PM: suspend exit` came",
        ] {
            assert!(!is_shown(told.as_bytes()), "{told}");
        }
    }

    #[test]
    fn a_message_behind_a_heading_of_a_measurement_is_told_apart() {
        let of = |line: &'static str| measured(line.as_bytes());
        let parts = |a: &'static str, b: &'static str| Some((a.as_bytes(), b.as_bytes()));
        assert_eq!(
            of("> Before: `PM: hibernation: Wrote 9 kbytes in 2 seconds` - as it was"),
            parts("Before:", "PM: hibernation: Wrote 9 kbytes in 2 seconds")
        );
        for none in ["Before: `a b`", "Then: `PM: suspend exit`", "Before: PM: suspend exit", "`x`"]
        {
            assert_eq!(of(none), None, "{none}");
        }
    }

    #[test]
    fn emphasis_goes_around_a_line_and_around_its_text() {
        for marked in [
            "**[    1.000000] PM: x**",
            "> `[    1.000000] PM: x`",
            "_[    1.000000] PM: x_ ",
            "* __`[    1.000000] PM: x`__",
        ] {
            assert!(of(marked).unwrap().ends_with("[    1.000000] PM: x"), "{marked}");
        }
        assert_eq!(of("[    1.000000] *PM: x*").as_deref(), Some("[    1.000000] PM: x"));
        for plain in
            ["[    1.000000] PM: 2 * 3 *", "a *", "**", "*", "`", "x = y*z*", "[ 1.0] a_b_"]
        {
            assert_eq!(of(plain), None, "{plain}");
        }
    }

    #[test]
    fn a_fence_right_before_a_stamp_is_none_of_the_line() {
        for line in [
            "[    7.000000] PM: suspend exit",
            "Oct 07 07:07:07 elm kernel: PM: suspend exit",
            "2027-10-07T07:07:07+0200 elm kernel: PM: suspend exit",
        ] {
            assert_eq!(of(&format!("```{line}")).as_deref(), Some(line));
            assert_eq!(of(&format!("> ```{line}")), Some(format!("> {line}")));
        }
        for other in ["```", "```text", "```c 1 2", "````[ 1.0] x", "```Oct and so: on, it went"] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn android_keeps_the_kernels_lines() {
        let told = |line: &str| of(line).unwrap_or_default();
        assert_eq!(
            told("03-10 09:01:38.803     0     0 I PM      : suspend entry (deep)"),
            "03-10 09:01:38.803     0     0 kernel: PM: suspend entry (deep)"
        );
        assert_eq!(
            told("03-10 09:01:38.803 root     0     0 W         : x: y"),
            "03-10 09:01:38.803 root     0     0 kernel: x: y"
        );
        assert_eq!(told("I/        (    0): PM: x"), " kernel: PM: x");
        assert_eq!(
            told("> >   03-10 09:01:38.803     0     0 I PM      : x"),
            "03-10 09:01:38.803     0     0 kernel: PM: x"
        );
        assert_eq!(of("03-10 09:01:38.803  1234  1250 I Power   : Going to sleep"), None);
        assert_eq!(of("0 0 0"), None);
        assert_eq!(of("I/"), None);
    }
}
