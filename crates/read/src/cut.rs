//! A text that ends inside of a number: where no end of a line stands behind the number of an
//! error, more digits may have stood there.

/// Numbers of errors that kernels use (include/uapi/asm-generic/errno.h, include/linux/errno.h).
const ERRORS: [std::ops::RangeInclusive<u32>; 2] = [1..=133, 512..=531];

/// Words ahead of the number of an error.
const AHEAD: [&str; 8] = ["error", "err", "returns", "returned", "return", "code", "ret", "rc"];

/// What stands for the digits that may be missing.
const MORE: &str = "…";

/// The text with a mark behind its last number, if that is the begin of an error's, and may be
/// the begin of another.
pub(crate) fn marked(bytes: &[u8]) -> Option<Vec<u8>> {
    if !bytes.last()?.is_ascii_digit() {
        return None;
    }
    let begin = memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1);
    let line = std::str::from_utf8(&bytes[begin..]).ok()?;
    let (ahead, digits) = line.rsplit_once('-')?;
    let number: u32 = digits.parse().ok()?;
    let word = ahead.trim_end_matches([' ', '=', ':', '(']);
    let word = word.rsplit([' ', '(', ',']).next().unwrap_or(word);
    let is_error = word.len() < ahead.len() && AHEAD.contains(&word.to_ascii_lowercase().as_str());
    let begins =
        |longer: u32| (10..=1_000).contains(&longer) && longer.to_string().starts_with(digits);
    let goes_on = ERRORS.into_iter().flatten().any(|e| e > number && begins(e));
    (is_error && goes_on).then(|| [bytes, MORE.as_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_may_go_on_is_marked_at_the_end_of_a_text_alone() {
        let of = |text: &str| marked(text.as_bytes()).map(|b| String::from_utf8(b).expect("text"));
        for cut in [
            "a\nelm 1-1: PM: failed to suspend: error -1",
            "elm 1-1: PM: failed to suspend: error -11",
            "elm returns -5",
            "elm: probe failed (err=-2",
            "code: -51",
        ] {
            assert_eq!(of(cut), Some(format!("{cut}…")));
        }
        for whole in [
            "",
            "elm 1-1: PM: failed to suspend: error -1\n",
            "elm 1-1: PM: failed to suspend: error -110",
            "elm 1-1: PM: failed to suspend: error -16",
            "elm 1-1: PM: failed to suspend: error -517",
            "error 1",
            "usb 1-1",
            "the error of elm-1",
        ] {
            assert_eq!(of(whole), None, "{whole}");
        }
    }
}
