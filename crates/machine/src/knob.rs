//! How the kernel prints a knob's value and how it wants it written.

/// The value in force of a file's text: the bracketed word of a selector such
/// as `[none] core processors`, otherwise the text itself.
pub fn in_force(text: &str) -> &str {
    text.split_whitespace()
        .find_map(|w| w.strip_prefix('[')?.strip_suffix(']'))
        .unwrap_or_else(|| text.trim())
}

/// Whether a selector file offers `value`.
pub fn offers(text: &str, value: &str) -> bool {
    text.split_whitespace().any(|w| w.trim_matches(['[', ']']) == value)
}

/// Whether `path` is an RTC's alarm, which has rules of its own: an empty text
/// means no alarm, `0` clears it, and a set one must be cleared before it is
/// set again (the kernel answers "busy" otherwise).
pub(crate) fn is_alarm(path: &str) -> bool {
    path.ends_with("/wakealarm")
}

/// The writes that bring `path` from `now` to `old`; empty if nothing is to do.
pub(crate) fn writes_back(path: &str, now: &str, old: &str) -> Vec<String> {
    if now == old {
        return Vec::new();
    }
    if is_alarm(path) {
        return match old {
            "" => vec!["0".into()],
            old => vec!["0".into(), old.into()],
        };
    }
    vec![old.into()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bracketed_word_is_in_force() {
        assert_eq!(in_force("[none] core processors platform devices freezer\n"), "none");
        assert_eq!(in_force("s2idle [deep]\n"), "deep");
        assert_eq!(in_force("4\t4\t1\t7\n"), "4\t4\t1\t7");
        assert_eq!(in_force(""), "");
        assert!(offers("s2idle [deep]", "s2idle") && offers("s2idle [deep]", "deep"));
        assert!(!offers("s2idle [deep]", "shallow"));
    }

    #[test]
    fn an_alarm_is_cleared_before_it_is_set_again() {
        let alarm = "/sys/class/rtc/rtc0/wakealarm";
        assert_eq!(writes_back(alarm, "120", ""), ["0"]);
        assert_eq!(writes_back(alarm, "120", "300"), ["0", "300"]);
        assert!(writes_back(alarm, "", "").is_empty());
        assert_eq!(writes_back("/sys/power/pm_async", "0", "1"), ["1"]);
    }
}
