//! `calling` and `returned` lines of four generations.
//!
//! | kernels | call | return |
//! |---|---|---|
//! | to 4.19 | `calling  DEV+ @ PID, parent: P` | `call DEV+ returned E after N usecs` |
//! | 4.20 on | `DRV DEV: calling FN+0x0/0x10 [mod] @ PID, parent: P` | `DRV DEV: FN+0x0/0x10 [mod] returned E after N usecs` |
//! | then | the same with `PM: ` before `calling` and before the function | |
//! | 6.10 on | the same without offsets | |
//!
//! Before 5.14 the number is nanoseconds shifted right by ten, units of 1.024 us
//! (`initcall_debug_report`, drivers/base/power/main.c; 75674eb06a28 changed it).
//! Real logs agree: printed numbers over time stamps are 0.976 on 3.15, 5.4 and
//! 5.9, and 1.000 on 5.15, 6.1 and 6.3.

use super::prefix::Record;
use crate::text;
use dormouse_base::pairs::Pairs;
use dormouse_base::time::Ns;

/// A line of either kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// A callback begins.
    Call {
        /// Driver; empty in the oldest form.
        driver: &'a [u8],
        /// Device.
        device: &'a [u8],
        /// Parent's name, `none` without one.
        parent: &'a [u8],
        /// Function without offset and module; empty in the oldest form.
        function: &'a [u8],
        /// Thread that runs it.
        pid: i32,
    },
    /// A callback ended.
    Return {
        /// `DRV DEV`, or the device alone in the oldest form.
        owner: &'a [u8],
        /// As in the call.
        function: &'a [u8],
        /// Return value.
        error: i32,
        /// The number before `usecs`.
        usecs: i64,
        /// In which form the line is.
        form: Form,
    },
    /// A row of a table that somebody made of such lines:
    /// `call DEV+ N usecs`, `DRV DEV: FN+0x0/0x10 N usecs`.
    Row {
        /// As in a return.
        owner: &'a [u8],
        /// As in a return.
        function: &'a [u8],
        /// The number before `usecs`.
        usecs: i64,
        /// In which form the line is.
        form: Form,
    },
    /// What some kernels of 2.6.32 to 2.6.35 (Ubuntu's) print of slow callbacks alone:
    /// `PM: resume of drv:DRV dev:DEV complete after N.NNN msecs`.
    Slow {
        /// `resume`, `early resume`.
        operation: &'a [u8],
        /// Driver.
        driver: &'a [u8],
        /// Device.
        device: &'a [u8],
        /// How long it took.
        took: Ns,
    },
    /// One of the first two, but cut off: the next line may hold the rest.
    Cut,
}

/// Which generation a line belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `calling  DEV+`.
    Device,
    /// `DRV DEV: FN`.
    Function,
    /// `DRV DEV: PM: FN`.
    FunctionPm,
}

/// How long `usecs` of a line means. `version` is the kernel's, if known.
pub(super) fn duration(usecs: i64, form: Form, version: Option<(u32, u32)>) -> Ns {
    let shifted = match version {
        Some(v) => v < (5, 14),
        None => form != Form::FunctionPm,
    };
    Ns(usecs.saturating_mul(if shifted { 1_024 } else { 1_000 }))
}

/// Recognises a message; `None` for any other line.
pub(super) fn of<'a>(r: &Record<'a>) -> Option<Line<'a>> {
    known(r.text, &r.pairs)
}

/// The same of a text.
pub(super) fn parse(text: &[u8]) -> Option<Line<'_>> {
    known(text, &Pairs::of(text))
}

fn known<'a>(text: &'a [u8], pairs: &Pairs) -> Option<Line<'a>> {
    let find = |word: &[u8]| text::find_known(text, pairs, word);
    let rfind = |word: &[u8]| pairs.may_have(word).then(|| text::rfind(text, word)).flatten();
    if let Some(at) = rfind(b"calling ") {
        let whole = at == 0 || text[..at].ends_with(b": ");
        return if whole { call(text, at) } else { None };
    }
    if let Some(at) = rfind(b" returned ") {
        return returned(text, at);
    }
    if let Some(row) = row(text).or_else(|| slow(text)) {
        return Some(row);
    }
    // Cut between the function and `returned`, or inside `calling`.
    let ends = |tail: &[u8]| text.ends_with(tail);
    let cut = ends(b" returned")
        || ends(b": calling")
        || (ends(b":") && text.len() < 100 && text.contains(&b' '))
        || text == b"calling"
        || (text.len() < 100
            && !ends(b" usecs")
            && find(b"+0x").is_some()
            && owned(text).is_some())
        || (text.len() < 100 && find(b": PM: ").is_some())
        || (text.starts_with(b"call ") && text.len() < 80);
    cut.then_some(Line::Cut)
}

fn call(text: &[u8], at: usize) -> Option<Line<'_>> {
    let rest = &text[at + b"calling ".len()..];
    // `calling  FN+0x0/0x10 @ 1` of do_one_initcall (init/main.c) and of
    // pci_do_fixups (drivers/pci/quirks.c) are no callbacks of a device.
    let other = rest.first() == Some(&b' ') && (at > 0 || text::find(rest, b"+0x").is_some());
    if other {
        return None;
    }
    let (rest, _) = remarked(rest.trim_ascii_start());
    let Some(sign) = text::rfind(rest, b" @ ") else { return Some(Line::Cut) };
    let (what, rest) = (&rest[..sign], &rest[sign + 3..]);
    let Some(comma) = text::find(rest, b", parent: ") else { return Some(Line::Cut) };
    let pid = i32::try_from(number(&rest[..comma])?).ok()?;
    let parent = rest[comma + b", parent: ".len()..].trim_ascii();
    if parent.is_empty() {
        return Some(Line::Cut);
    }
    if at == 0 {
        let device = what.strip_suffix(b"+")?;
        return Some(Line::Call { driver: b"", device, parent, function: b"", pid });
    }
    let owner = text[..at].strip_suffix(b": ")?;
    let owner = owner.strip_suffix(b": PM").unwrap_or(owner);
    // Which callback of several it begins, nobody can tell.
    if nameless(owner) {
        return None;
    }
    let (driver, device) = split(owner);
    Some(Line::Call { driver, device, parent, function: bare(what), pid })
}

fn returned(text: &[u8], at: usize) -> Option<Line<'_>> {
    let (tail, remark) = remarked(&text[at + b" returned ".len()..]);
    let Some(after) = text::find(tail, b" after ") else {
        // `returned 0` at the end of a wrapped line.
        let digits = tail.strip_suffix(b" after").unwrap_or(tail);
        // A driver that says what a function of its own returned has nothing behind it.
        let spoken = text[..at].contains(&b'*') || text.starts_with(b"[");
        return number(digits.trim_ascii()).filter(|_| !spoken).map(|_| Line::Cut);
    };
    let error = i32::try_from(number(&tail[..after])?).ok()?;
    let tail = tail[after + b" after ".len()..].trim_ascii();
    let Some(digits) = tail.strip_suffix(b" usecs") else {
        return (tail.is_empty() || number(tail).is_some() || tail.starts_with(b"usec"))
            .then_some(Line::Cut);
    };
    let usecs = number(digits.trim_ascii_start())?;
    let head = unranked(text[..at].trim_ascii_end(), digits);
    if let Some(device) = head.strip_prefix(b"call ") {
        let owner = device.strip_suffix(b"+")?;
        return Some(Line::Return { owner, function: b"", error, usecs, form: Form::Device });
    }
    let (owner, function, form) = owned(head)?;
    if owner == UNNAMED {
        // Without its begin it is like a row of a table.
        let owner = remark.filter(|r| !r.is_empty()).unwrap_or(owner);
        return Some(Line::Row { owner, function, usecs, form });
    }
    Some(Line::Return { owner, function, error, usecs, form })
}

/// A row of a table. Only what cannot be anything else is taken.
fn row(text: &[u8]) -> Option<Line<'_>> {
    let rest = text.strip_suffix(b" usecs")?;
    let blank = memchr::memrchr(b' ', rest)?;
    let digits = &rest[blank + 1..];
    let usecs = number(digits)?;
    let head = unranked(rest[..blank].trim_ascii_end(), digits);
    if let Some(owner) = head.strip_prefix(b"call ").and_then(|d| d.strip_suffix(b"+")) {
        return Some(Line::Row { owner, function: b"", usecs, form: Form::Device });
    }
    // `FN+0x0/0x10 took N usecs` is a fixup of a PCI device (do_one_fixup_debug,
    // drivers/pci/quirks.c).
    let offset = text::find(head, b"+0x")?;
    let behind =
        memchr::memchr(b' ', &head[offset..]).map_or(&b""[..], |b| &head[offset + b + 1..]);
    let module = behind.starts_with(b"[") && behind.ends_with(b"]");
    if !module && !behind.is_empty() {
        return None;
    }
    let (owner, function, form) = owned(head)?;
    Some(Line::Row { owner, function, usecs, form })
}

fn slow(text: &[u8]) -> Option<Line<'_>> {
    let rest = text.strip_prefix(b"PM: ")?.strip_suffix(b" msecs")?;
    let drv = text::find(rest, b" of drv:")?;
    let (operation, rest) = (&rest[..drv], &rest[drv + b" of drv:".len()..]);
    let dev = text::find(rest, b" dev:")?;
    let (driver, rest) = (&rest[..dev], &rest[dev + b" dev:".len()..]);
    let after = text::rfind(rest, b" complete after ")?;
    let (device, took) = (&rest[..after], &rest[after + b" complete after ".len()..]);
    let point = memchr::memchr(b'.', took)?;
    let (ms, us) = (number(&took[..point])?, number(&took[point + 1..])?);
    let us = ms.checked_mul(1_000)?.checked_add(us).filter(|_| took.len() == point + 4)?;
    Some(Line::Slow { operation, driver, device, took: Ns(us.checked_mul(1_000)?) })
}

/// Sorting by duration puts the number in front once more.
fn unranked<'a>(head: &'a [u8], digits: &[u8]) -> &'a [u8] {
    let rest = head.strip_prefix(digits).and_then(|r| r.strip_prefix(b" "));
    rest.map_or(head, |r| r.trim_ascii_start())
}

/// A device whose name somebody left out.
const UNNAMED: &[u8] = b"(unnamed)";

/// `... PM`, `PM`: what is left of `DRV DEV: PM` where its writer left the device out.
fn nameless(owner: &[u8]) -> bool {
    owner.strip_suffix(b"PM").is_some_and(|rest| {
        let rest = rest.trim_ascii_end();
        rest.strip_suffix("…".as_bytes()).unwrap_or(rest).iter().all(|b| matches!(b, b'.' | b'-'))
    })
}

/// A line without the remark that its writer put behind an arrow: `usecs   <- i915`.
fn remarked(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    let arrows = ["←".as_bytes(), b"<--", b"<-"];
    let arrow = memchr::memchr2_iter(b'<', arrows[0][0], text)
        .find_map(|at| Some((at, arrows.iter().find_map(|a| text[at..].strip_prefix(*a))?)));
    arrow.map_or((text, None), |(at, behind)| {
        (text[..at].trim_ascii_end(), Some(behind.trim_ascii()))
    })
}

/// `DRV DEV: PM: FN` or `DRV DEV: FN` taken apart.
fn owned(head: &[u8]) -> Option<(&[u8], &[u8], Form)> {
    // Whoever shows a few of them may have set their columns one below the other.
    if let Some(at) = text::rfind(head, b" PM: ")
        && let Some(owner) = head[..at].trim_ascii_end().strip_suffix(b":")
    {
        return Some((owner, bare(&head[at + b" PM: ".len()..]), Form::FunctionPm));
    }
    let at = text::rfind(head, b": ")?;
    let function = &head[at + 2..];
    // A function is one word, perhaps with a module.
    let word = bare(function);
    if nameless(&head[..at]) && !word.contains(&b' ') {
        return Some((UNNAMED, word, Form::FunctionPm));
    }
    (!word.contains(&b' ')).then_some((&head[..at], word, Form::Function))
}

/// A function without `+0x0/0x10` and ` [module]`.
fn bare(function: &[u8]) -> &[u8] {
    let end = memchr::memchr(b'+', function).or_else(|| text::find(function, b" ["));
    function[..end.unwrap_or(function.len())].trim_ascii()
}

/// Driver and device at the last blank; see the tracker for names with blanks.
pub(super) fn split(owner: &[u8]) -> (&[u8], &[u8]) {
    let owner = owner.trim_ascii();
    match memchr::memrchr(b' ', owner) {
        Some(blank) => (&owner[..blank], &owner[blank + 1..]),
        None => (b"", owner),
    }
}

fn number(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    if digits.is_empty() || digits.len() > 15 {
        return None;
    }
    let n = digits
        .iter()
        .try_fold(0i64, |n, b| b.is_ascii_digit().then(|| n * 10 + i64::from(b - b'0')))?;
    Some(if negative { -n } else { n })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call_of(text: &str) -> (String, String, String, String, i32) {
        match parse(text.as_bytes()) {
            Some(Line::Call { driver, device, parent, function, pid }) => {
                let s = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
                (s(driver), s(device), s(parent), s(function), pid)
            }
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn four_generations_of_calls() {
        let is =
            |a: &str, b: &str, c: &str, d: &str, e| (a.into(), b.into(), c.into(), d.into(), e);
        assert_eq!(
            call_of("calling  usb1+ @ 7, parent: 0000:00:14.0"),
            is("", "usb1", "0000:00:14.0", "", 7)
        );
        assert_eq!(
            call_of("drv 1-1: calling f_s+0x0/0x1b0 [mod] @ 12, parent: usb1"),
            is("drv", "1-1", "usb1", "f_s", 12)
        );
        assert_eq!(
            call_of("drv 1-1: PM: calling f_s+0x0/0x1b0 @ 12, parent: usb1"),
            is("drv", "1-1", "usb1", "f_s", 12)
        );
        assert_eq!(
            call_of("drv 1-1: PM: calling f_s [mod] @ 12, parent: none"),
            is("drv", "1-1", "none", "f_s", 12)
        );
        assert_eq!(
            call_of("leds mmc1::: calling led_s+0x0/0x4c @ 7, parent: p"),
            is("leds", "mmc1::", "p", "led_s", 7)
        );
    }

    #[test]
    fn four_generations_of_returns() {
        let is = |text: &str| match parse(text.as_bytes()) {
            Some(Line::Return { owner, function, error, usecs, form }) => (
                String::from_utf8_lossy(owner).into_owned(),
                String::from_utf8_lossy(function).into_owned(),
                error,
                usecs,
                form,
            ),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(
            is("call usb1+ returned 0 after 4567 usecs"),
            ("usb1".into(), String::new(), 0, 4567, Form::Device)
        );
        assert_eq!(
            is("drv 1-1: f_s+0x0/0x10 [m] returned -16 after 3 usecs"),
            ("drv 1-1".into(), "f_s".into(), -16, 3, Form::Function)
        );
        assert_eq!(
            is("drv 1-1: PM: f_s returned 0 after 3 usecs"),
            ("drv 1-1".into(), "f_s".into(), 0, 3, Form::FunctionPm)
        );
    }

    #[test]
    fn rows_of_tables_are_no_returns() {
        let row = |text: &str| match parse(text.as_bytes()) {
            Some(Line::Row { owner, function, usecs, .. }) => {
                let s = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
                (s(owner), s(function), usecs)
            }
            other => panic!("{text}: {other:?}"),
        };
        let is = |a: &str, b: &str, n| (a.into(), b.into(), n);
        assert_eq!(row("call usb1+ 4567 usecs"), is("usb1", "", 4567));
        assert_eq!(row("drv 1-1: PM: f_s+0x0/0x10 4567 usecs"), is("drv 1-1", "f_s", 4567));
        assert_eq!(row("4567 drv 1-1: f_s+0x0/0x10 4567 usecs"), is("drv 1-1", "f_s", 4567));
        let text = b"4567 drv 1-1: f_s+0x0/0x10 returned 0 after 4567 usecs";
        assert!(matches!(parse(text), Some(Line::Return { owner: b"drv 1-1", .. })));
        let columns = "drv 1-1:        PM: f_s     returned 0 after     4567 usecs";
        assert!(matches!(
            parse(columns.as_bytes()),
            Some(Line::Return {
                owner: b"drv 1-1",
                function: b"f_s",
                usecs: 4567,
                form: Form::FunctionPm,
                ..
            })
        ));
        assert_eq!(parse(b"tsc: it took 12 usecs"), None);
        assert_eq!(parse(b"rtc: took 12 usecs"), None);
        assert_eq!(parse(b"pci 0000:00:02.0: fixup_x+0x0/0x20 took 12 usecs"), None);
        assert_eq!(row("drv 1-1: f_s+0x0/0x10 [m] 4567 usecs"), is("drv 1-1", "f_s", 4567));
    }

    #[test]
    fn slow_callbacks_of_old_kernels() {
        let text = b"PM: early resume of drv:sd dev:3:0:0:0 complete after 7928.413 msecs";
        assert_eq!(
            parse(text),
            Some(Line::Slow {
                operation: b"early resume",
                driver: b"sd",
                device: b"3:0:0:0",
                took: Ns(7_928_413_000),
            })
        );
        assert_eq!(parse(b"PM: resume of devices complete after 7929.126 msecs"), None);
        assert_eq!(parse(b"PM: resume of drv:sd dev:x complete after 7.1 msecs"), None);
    }

    #[test]
    fn initcalls_and_fixups_are_no_callbacks() {
        assert_eq!(parse(b"calling  x_init+0x0/0x1000 [x] @ 318"), None);
        assert_eq!(parse(b"pci 0000:00:1c.0: calling  fixup_x+0x0/0x20 @ 1"), None);
        assert_eq!(parse(b"initcall x_init+0x0/0x1000 [x] returned 0 after 6 usecs"), None);
        assert_eq!(parse(b"probe of gadget.0 returned 0 after 6 usecs"), None);
        assert_eq!(parse(b"[drm:elm_wait:525] *ERROR* wait for commit done returned -110"), None);
        assert_eq!(parse(b"probe of 0000:00:1f.2 returned 1 after 6 usecs"), None);
    }

    #[test]
    fn cut_lines_ask_for_the_next() {
        for text in [
            "mt7921e 0000:01:00.0: PM: calling",
            "drv 1-1: calling f_s+0x0/0x248 @ 96, parent:",
            "drv 1-1: calling f_s+0x0/0x248 @",
            "drv 1-1: f_s+0x0/0x248 returned 0 after",
            "drv 1-1: f_s+0x0/0x248 returned",
            "drv 1-1: PM: f_s+0x0/0x248",
            "drv 1-1: PM:",
            "drv 1-1:",
            "drv 1-1: f_s+0x0/0x248 returned 0 after 12",
        ] {
            assert_eq!(parse(text.as_bytes()), Some(Line::Cut), "{text}");
        }
        assert_eq!(parse(b"usb 1-1: new high-speed USB device"), None);
        assert_eq!(parse(b"PM: Calling mce_syscore_suspend+0x0/0x10"), None);
    }

    #[test]
    fn old_microseconds_are_a_little_longer() {
        assert_eq!(duration(1000, Form::Device, None), Ns(1_024_000));
        assert_eq!(duration(1000, Form::FunctionPm, None), Ns(1_000_000));
        assert_eq!(duration(1000, Form::FunctionPm, Some((5, 13))), Ns(1_024_000));
        assert_eq!(duration(1000, Form::Function, Some((5, 14))), Ns(1_000_000));
    }
}
