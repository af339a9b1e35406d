//! A format of printk as a pattern: literal pieces, and parameters of a kind.

/// What a conversion may have printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `%d`, with blanks before it if it has a width.
    Int,
    /// `%u`.
    Unsigned,
    /// `%x`, `%#x`.
    Hex,
    /// `%c`.
    Char,
    /// `%pe`: the name of an error, or its number.
    Error,
    /// `%s`, `%pS`, `%pV`: anything, or nothing.
    Any,
}

/// One piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// These bytes.
    Literal(Vec<u8>),
    /// What was put in.
    Parameter(Kind),
}

/// Takes `format` apart. Two parameters side by side are one: nobody can tell where the
/// first ends.
pub(super) fn pieces(format: &str) -> Vec<Piece> {
    let mut out: Vec<Piece> = Vec::new();
    let bytes = format.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let (piece, next) = match bytes[at] {
            b'%' if bytes.get(at + 1) == Some(&b'%') => (None, at + 2),
            b'%' => match conversion(bytes, at + 1) {
                Some((kind, next)) => (Some(kind), next),
                None => (None, at + 1),
            },
            _ => (None, at + 1),
        };
        match (piece, out.last_mut()) {
            (Some(kind), Some(Piece::Parameter(last))) => {
                if kind != *last {
                    *last = Kind::Any;
                }
            }
            (Some(kind), _) => out.push(Piece::Parameter(kind)),
            (None, Some(Piece::Literal(text))) => text.push(bytes[at]),
            (None, _) => out.push(Piece::Literal(vec![bytes[at]])),
        }
        at = next;
    }
    out
}

/// The conversion behind a `%`, and where it ends (lib/vsprintf.c:format_decode and
/// `pointer`, 6.12).
fn conversion(bytes: &[u8], mut at: usize) -> Option<(Kind, usize)> {
    while matches!(bytes.get(at), Some(b'0'..=b'9' | b'.' | b'*' | b'-' | b'+' | b' ' | b'#')) {
        at += 1;
    }
    while matches!(bytes.get(at), Some(b'h' | b'l' | b'L' | b'z' | b'j' | b't')) {
        at += 1;
    }
    let kind = match bytes.get(at)? {
        b'd' | b'i' => Kind::Int,
        b'u' => Kind::Unsigned,
        b'x' | b'X' | b'o' => Kind::Hex,
        b'c' => Kind::Char,
        b's' => Kind::Any,
        b'p' => {
            let letters = bytes[at + 1..].iter().take_while(|b| b.is_ascii_alphanumeric()).count();
            let kind = if bytes.get(at + 1) == Some(&b'e') { Kind::Error } else { Kind::Any };
            return Some((kind, at + 1 + letters));
        }
        _ => return None,
    };
    Some((kind, at + 1))
}

/// Where the parameters of `pieces` stand in `text`, from `start` to its end.
pub(super) fn parameters(
    pieces: &[Piece],
    text: &[u8],
    start: usize,
) -> Option<Vec<(usize, usize)>> {
    let mut search = Search { text, found: Vec::new(), tried: Vec::new() };
    search.fits(pieces, start).then_some(search.found)
}

struct Search<'a> {
    text: &'a [u8],
    found: Vec<(usize, usize)>,
    /// Whether it is known that so many pieces do not fit from there. Each is tried once, so
    /// that the work is bounded by pieces times bytes.
    tried: Vec<bool>,
}

impl Search<'_> {
    fn fits(&mut self, pieces: &[Piece], at: usize) -> bool {
        let Some((piece, rest)) = pieces.split_first() else { return at == self.text.len() };
        let tail = &self.text[at..];
        match piece {
            Piece::Literal(l) => tail.starts_with(l) && self.fits(rest, at + l.len()),
            Piece::Parameter(Kind::Any) => self.any(rest, at),
            Piece::Parameter(kind) => {
                let Some((skip, length)) = number(*kind, tail) else { return false };
                self.found.push((at + skip, at + skip + length));
                if self.fits(rest, at + skip + length) {
                    return true;
                }
                self.found.pop();
                false
            }
        }
    }

    /// The shortest text after which the rest fits.
    fn any(&mut self, rest: &[Piece], at: usize) -> bool {
        let Some(Piece::Literal(next)) = rest.first() else {
            return self.ends(rest, at, self.text.len());
        };
        let mut from = at;
        while let Some(end) = find(&self.text[from..], next) {
            if self.ends(rest, at, from + end) {
                return true;
            }
            from += end + 1;
        }
        false
    }

    fn ends(&mut self, rest: &[Piece], at: usize, end: usize) -> bool {
        let key = rest.len() * (self.text.len() + 1) + end;
        if self.tried.get(key) == Some(&true) {
            return false;
        }
        let kept = self.found.len();
        self.found.push((at, end));
        if self.fits(rest, end) {
            return true;
        }
        self.found.truncate(kept);
        if self.tried.len() <= key {
            self.tried.resize(key + 1, false);
        }
        self.tried[key] = true;
        false
    }
}

/// Blanks before a value of `kind` at the head of `text`, and its length.
fn number(kind: Kind, text: &[u8]) -> Option<(usize, usize)> {
    let blank = |b: &&u8| kind != Kind::Char && **b == b' ';
    let blanks = text.iter().take_while(blank).count();
    let text = &text[blanks..];
    let digits = |from: usize, is: fn(&u8) -> bool| {
        let n = text.get(from..)?.iter().take_while(|b| is(b)).count();
        (n > 0).then_some(from + n)
    };
    let length = match kind {
        Kind::Int => {
            digits(usize::from(text.first().is_some_and(|b| b"+-".contains(b))), u8::is_ascii_digit)
        }
        Kind::Unsigned => digits(0, u8::is_ascii_digit),
        Kind::Hex => digits(if text.starts_with(b"0x") { 2 } else { 0 }, u8::is_ascii_hexdigit),
        // CONFIG_SYMBOLIC_ERRNAME; an error that has no name is a hashed pointer.
        Kind::Error => digits(usize::from(text.starts_with(b"-")), u8::is_ascii_alphanumeric),
        Kind::Char => (!text.is_empty()).then_some(1),
        Kind::Any => None,
    }?;
    Some((blanks, length))
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    let (first, last) = (*what.first()?, text.len().checked_sub(what.len())?);
    (0..=last).find(|&at| text[at] == first && text[at..].starts_with(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<'a>(format: &str, text: &'a str) -> Option<Vec<&'a str>> {
        let found = parameters(&pieces(format), text.as_bytes(), 0)?;
        Some(found.into_iter().map(|(a, b)| &text[a..b]).collect())
    }

    #[test]
    fn parameters_are_found() {
        assert_eq!(of("CPU%d is up", "CPU12 is up"), Some(vec!["12"]));
        assert_eq!(of("CPU%d is up", "CPU is up"), None);
        assert_eq!(of("%3d%% of 0x%08x", "  7% of 0x0000beef"), Some(vec!["7", "0000beef"]));
        assert_eq!(of("%s%s: error %d", "a b: c: error -16"), Some(vec!["a b: c", "-16"]));
        assert_eq!(of("failed (%pe)", "failed (-EINVAL)"), Some(vec!["-EINVAL"]));
        assert_eq!(of("%s-%u left", "a-b-7 left"), Some(vec!["a-b", "7"]));
        assert_eq!(of("x%s", "x"), Some(vec![""]));
    }

    #[test]
    fn work_is_bounded() {
        let text = "a: ".repeat(2_000);
        assert_eq!(of("%s: %s: %s: %s: %s: b", &text), None);
    }
}
