//! Expressions of print formats: the C that kernels use there, read once and
//! evaluated for every record.

use super::bytes::Endian;
use super::format::{EventFormat, Kind};
use super::word::Machine;
use std::borrow::Cow;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expr {
    /// A constant.
    Number(i64),
    /// A string.
    Text(Box<[u8]>),
    /// `REC->field` or `__get_str(field)`: index into the event's fields.
    Field(usize),
    /// `__get_bitmask(field)`: bits as hexadecimal digits.
    Bitmask(usize),
    /// `REC->field[i]`.
    Element(usize, Box<Expr>),
    /// `!`, `~`, `-`.
    Unary(u8, Box<Expr>),
    /// Conversion to a type of this many bits.
    Cast(u32, bool, Box<Expr>),
    /// Two operands.
    Binary(Op, Box<Expr>, Box<Expr>),
    /// `a ? b : c`.
    Choice(Box<[Expr; 3]>),
    /// `__print_symbolic(value, {n, "name"}, …)`.
    Symbolic(Box<Expr>, Table),
    /// `__print_flags(value, "|", {bit, "name"}, …)`.
    Flags(Box<Expr>, Box<[u8]>, Table),
}

/// Numbers and their names.
pub(super) type Table = Vec<(i64, Box<[u8]>)>;

/// Binary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub(crate) enum Op {
    Mul,
    Div,
    Rem,
    Add,
    Sub,
    Shl,
    Shr,
    Lt,
    Gt,
    Le,
    Ge,
    Eq,
    Ne,
    And,
    Xor,
    Or,
    Both,
    Either,
}

/// Operators with their rank; longer spellings first.
const OPERATORS: [(&[u8], Op, u8); 18] = [
    (b"<<", Op::Shl, 8),
    (b">>", Op::Shr, 8),
    (b"<=", Op::Le, 7),
    (b">=", Op::Ge, 7),
    (b"==", Op::Eq, 6),
    (b"!=", Op::Ne, 6),
    (b"&&", Op::Both, 2),
    (b"||", Op::Either, 1),
    (b"*", Op::Mul, 10),
    (b"/", Op::Div, 10),
    (b"%", Op::Rem, 10),
    (b"+", Op::Add, 9),
    (b"-", Op::Sub, 9),
    (b"<", Op::Lt, 7),
    (b">", Op::Gt, 7),
    (b"&", Op::And, 5),
    (b"^", Op::Xor, 4),
    (b"|", Op::Or, 3),
];

/// Nesting beyond any kernel's; keeps the stack small.
const MAX_DEPTH: u32 = 48;

/// Reads expressions from a print format.
pub(super) struct Parser<'a> {
    rest: &'a [u8],
    event: &'a EventFormat,
    depth: u32,
}

impl<'a> Parser<'a> {
    /// At the begin of `text`.
    pub(super) fn new(text: &'a [u8], event: &'a EventFormat) -> Self {
        Parser { rest: text, event, depth: 0 }
    }

    /// Whether nothing but blanks is left.
    pub(crate) fn at_end(&mut self) -> bool {
        self.blanks();
        self.rest.is_empty()
    }

    /// Takes a comma if it is next.
    pub(super) fn comma(&mut self) -> bool {
        self.eat(b",")
    }

    fn blanks(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    fn eat(&mut self, word: &[u8]) -> bool {
        self.blanks();
        match self.rest.strip_prefix(word) {
            Some(r) => {
                self.rest = r;
                true
            }
            None => false,
        }
    }

    fn peek(&mut self) -> Option<u8> {
        self.blanks();
        self.rest.first().copied()
    }

    fn word(&mut self) -> Option<&'a [u8]> {
        self.blanks();
        let n = self.rest.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
        let (w, r) = self.rest.split_at(n);
        if w.is_empty() || w[0].is_ascii_digit() {
            return None;
        }
        self.rest = r;
        Some(w)
    }

    /// A string; several in a row are one.
    pub(super) fn string(&mut self) -> Option<Box<[u8]>> {
        let mut out = Vec::new();
        let mut any = false;
        while self.eat(b"\"") {
            any = true;
            loop {
                let (&b, r) = self.rest.split_first()?;
                self.rest = r;
                match b {
                    b'"' => break,
                    b'\\' => out.push(self.escape()?),
                    _ => out.push(b),
                }
            }
        }
        any.then(|| out.into())
    }

    fn escape(&mut self) -> Option<u8> {
        let (&b, r) = self.rest.split_first()?;
        self.rest = r;
        Some(match b {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'0' => 0,
            _ => b,
        })
    }

    fn number(&mut self) -> Option<i64> {
        self.blanks();
        let n = self.rest.iter().take_while(|b| b.is_ascii_alphanumeric()).count();
        let (w, r) = self.rest.split_at(n);
        let w = std::str::from_utf8(w).ok()?;
        let digits = w.trim_end_matches(['u', 'U', 'l', 'L']);
        let lower = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
        let n = match lower {
            Some(hex) => u64::from_str_radix(hex, 16),
            None if digits.len() > 1 && digits.starts_with('0') => u64::from_str_radix(digits, 8),
            None => digits.parse(),
        };
        self.rest = r;
        Some(n.ok()? as i64)
    }

    /// A whole expression.
    pub(super) fn expression(&mut self) -> Option<Expr> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let condition = self.binary(0)?;
        let e = if self.eat(b"?") {
            let yes = self.expression()?;
            if !self.eat(b":") {
                return None;
            }
            let no = self.expression()?;
            Expr::Choice(Box::new([condition, yes, no]))
        } else {
            condition
        };
        self.depth -= 1;
        Some(e)
    }

    fn operator(&mut self, least: u8) -> Option<(Op, u8)> {
        self.blanks();
        let (text, op, rank) = OPERATORS.iter().find(|(t, ..)| self.rest.starts_with(t))?;
        if *rank < least {
            return None;
        }
        self.rest = &self.rest[text.len()..];
        Some((*op, *rank))
    }

    fn binary(&mut self, least: u8) -> Option<Expr> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let mut left = self.unary()?;
        let mut chain = 0;
        while let Some((op, rank)) = self.operator(least) {
            // A chain nests to the left, and evaluation follows it.
            chain += 1;
            if chain > MAX_DEPTH {
                return None;
            }
            let right = self.binary(rank + 1)?;
            left = Expr::Binary(op, left.into(), right.into());
        }
        self.depth -= 1;
        Some(left)
    }

    fn unary(&mut self) -> Option<Expr> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let e = match self.peek()? {
            b @ (b'!' | b'~' | b'-') => {
                self.rest = &self.rest[1..];
                Expr::Unary(b, self.unary()?.into())
            }
            b'(' => {
                self.rest = &self.rest[1..];
                match self.cast() {
                    Some((bits, signed)) => Expr::Cast(bits, signed, self.unary()?.into()),
                    None => {
                        let e = self.expression()?;
                        if !self.eat(b")") {
                            return None;
                        }
                        e
                    }
                }
            }
            b'"' => Expr::Text(self.string()?),
            b'0'..=b'9' => Expr::Number(self.number()?),
            _ => self.named()?,
        };
        self.depth -= 1;
        Some(e)
    }

    /// `type)`: bits and sign; moves only if it is one.
    fn cast(&mut self) -> Option<(u32, bool)> {
        let before = self.rest;
        let (mut bits, mut unsigned, mut is_type) = (0, false, false);
        loop {
            match self.word() {
                Some(b"unsigned") => (unsigned, is_type) = (true, true),
                Some(b"char") => (bits, is_type) = (8, true),
                Some(b"short") => (bits, is_type) = (16, true),
                Some(b"int" | b"signed") => is_type = true,
                Some(b"long" | b"void" | b"size_t" | b"ssize_t") => (bits, is_type) = (64, true),
                Some(b"bool") => (bits, unsigned, is_type) = (8, true, true),
                Some(b"const" | b"struct" | b"enum") => is_type = true,
                Some(w) => {
                    let w = w.strip_prefix(b"__").unwrap_or(w);
                    let sized = w.split_first().and_then(|(s, n)| {
                        let n = std::str::from_utf8(n).ok()?.parse::<u32>().ok()?;
                        (matches!(s, b'u' | b's') && matches!(n, 8 | 16 | 32 | 64))
                            .then_some((n, *s == b'u'))
                    });
                    match sized {
                        Some((n, u)) => (bits, unsigned, is_type) = (n, u, true),
                        None if w.ends_with(b"_t") => (bits, is_type) = (64, true),
                        // The name behind `struct`.
                        None if is_type => {}
                        None => break,
                    }
                }
                None if self.eat(b"*") && is_type => (bits, unsigned) = (64, true),
                None if is_type && self.eat(b")") => {
                    return Some((if bits == 0 { 32 } else { bits }, !unsigned));
                }
                None => break,
            }
        }
        self.rest = before;
        None
    }

    /// `REC->field` or a function.
    fn named(&mut self) -> Option<Expr> {
        let word = self.word()?;
        if word == b"REC" {
            if !self.eat(b"->") {
                return None;
            }
            let i = self.field()?;
            if self.eat(b"[") {
                let at = self.expression()?;
                return self.eat(b"]").then(|| Expr::Element(i, at.into()));
            }
            return Some(Expr::Field(i));
        }
        if !self.eat(b"(") {
            return None;
        }
        let e = match word {
            b"__get_str" | b"__get_rel_str" => Expr::Field(self.field()?),
            b"__get_bitmask" | b"__get_rel_bitmask" => Expr::Bitmask(self.field()?),
            b"__print_symbolic" => {
                let value = self.expression()?;
                Expr::Symbolic(value.into(), self.table()?)
            }
            b"__print_flags" => {
                let value = self.expression()?;
                if !self.comma() {
                    return None;
                }
                let between = self.string()?;
                Expr::Flags(value.into(), between, self.table()?)
            }
            _ => return None,
        };
        self.eat(b")").then_some(e)
    }

    fn field(&mut self) -> Option<usize> {
        let name = self.word()?;
        self.event.fields.iter().position(|f| f.name.as_bytes() == name)
    }

    /// `, {n, "name"}, …`
    fn table(&mut self) -> Option<Table> {
        let mut table = Vec::new();
        while self.comma() {
            if !self.eat(b"{") {
                return None;
            }
            let value = self.expression()?;
            if !self.comma() {
                return None;
            }
            let name = self.string()?;
            if !self.eat(b"}") {
                return None;
            }
            table.push((constant(&value)?, name));
        }
        Some(table)
    }
}

/// The value of an expression without fields, such as `(1 << 3)`.
fn constant(e: &Expr) -> Option<i64> {
    Some(match e {
        Expr::Number(n) => *n,
        Expr::Unary(op, e) => unary(*op, constant(e)?),
        Expr::Cast(bits, signed, e) => cast(*bits, *signed, constant(e)?),
        Expr::Binary(op, a, b) => binary(*op, constant(a)?, constant(b)?)?,
        _ => return None,
    })
}

fn unary(op: u8, n: i64) -> i64 {
    match op {
        b'!' => i64::from(n == 0),
        b'~' => !n,
        _ => n.wrapping_neg(),
    }
}

fn cast(bits: u32, signed: bool, n: i64) -> i64 {
    let shift = 64 - bits.clamp(1, 64);
    if signed { n << shift >> shift } else { ((n as u64) << shift >> shift) as i64 }
}

/// `None`: division by zero.
fn binary(op: Op, a: i64, b: i64) -> Option<i64> {
    Some(match op {
        Op::Mul => a.wrapping_mul(b),
        Op::Div => a.checked_div(b)?,
        Op::Rem => a.checked_rem(b)?,
        Op::Add => a.wrapping_add(b),
        Op::Sub => a.wrapping_sub(b),
        Op::Shl => a.wrapping_shl(b as u32),
        Op::Shr => ((a as u64).wrapping_shr(b as u32)) as i64,
        Op::Lt => i64::from(a < b),
        Op::Gt => i64::from(a > b),
        Op::Le => i64::from(a <= b),
        Op::Ge => i64::from(a >= b),
        Op::Eq => i64::from(a == b),
        Op::Ne => i64::from(a != b),
        Op::And => a & b,
        Op::Xor => a ^ b,
        Op::Or => a | b,
        Op::Both => i64::from(a != 0 && b != 0),
        Op::Either => i64::from(a != 0 || b != 0),
    })
}

/// What an expression came to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value<'r> {
    /// A number or address.
    Number(i64),
    /// Bytes.
    Text(Cow<'r, [u8]>),
}

impl Value<'_> {
    /// The number, if it is one.
    pub(super) fn number(&self) -> Option<i64> {
        match self {
            Value::Number(n) => Some(*n),
            Value::Text(_) => None,
        }
    }
}

/// A record and how to read it.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'r> {
    /// Its format.
    pub event: &'r EventFormat,
    /// Its bytes.
    pub record: &'r [u8],
    /// Byte order and word size.
    pub machine: Machine,
}

impl<'r> Scope<'r> {
    /// The value of `e`; `None` if a field lies outside the record, or if
    /// numbers and texts are mixed up.
    pub(crate) fn eval(&self, e: &'r Expr) -> Option<Value<'r>> {
        Some(match e {
            Expr::Number(n) => Value::Number(*n),
            Expr::Text(t) => Value::Text(Cow::Borrowed(t)),
            Expr::Field(i) => {
                let f = self.event.fields.get(*i)?;
                match f.kind {
                    Kind::Number | Kind::TextAddress => {
                        Value::Number(f.number(self.machine.endian, self.record)?)
                    }
                    _ => Value::Text(Cow::Borrowed(f.text(self.machine.endian, self.record)?)),
                }
            }
            Expr::Bitmask(i) => {
                let f = self.event.fields.get(*i)?;
                let bytes = f.bytes(self.machine.endian, self.record)?;
                Value::Text(Cow::Owned(bitmask(bytes, self.machine.endian)?))
            }
            Expr::Element(i, at) => {
                let f = self.event.fields.get(*i)?;
                let each = match f.kind {
                    Kind::Array(n) => n as usize,
                    Kind::Chars => 1,
                    _ => return None,
                };
                let at = usize::try_from(self.eval(at)?.number()?).ok()?.checked_mul(each)?;
                let bytes = f.bytes(self.machine.endian, self.record)?;
                let n = self.machine.endian.number(bytes.get(at..at.checked_add(each)?)?)?;
                let signed = f.signed;
                Value::Number(cast(each as u32 * 8, signed, n as i64))
            }
            Expr::Unary(op, e) => Value::Number(unary(*op, self.eval(e)?.number()?)),
            Expr::Cast(bits, signed, e) => {
                Value::Number(cast(*bits, *signed, self.eval(e)?.number()?))
            }
            Expr::Binary(op, a, b) => {
                let a = self.eval(a)?.number()?;
                Value::Number(binary(*op, a, self.eval(b)?.number()?)?)
            }
            Expr::Choice(c) => {
                let [condition, yes, no] = &**c;
                let yes = if self.eval(condition)?.number()? != 0 { yes } else { no };
                self.eval(yes)?
            }
            Expr::Symbolic(e, table) => {
                let n = self.eval(e)?.number()?;
                match table.iter().find(|(v, _)| *v == n) {
                    Some((_, name)) => Value::Text(Cow::Borrowed(name)),
                    None => Value::Text(Cow::Owned(format!("0x{n:x}").into_bytes())),
                }
            }
            Expr::Flags(e, between, table) => {
                Value::Text(Cow::Owned(flags(self.eval(e)?.number()?, between, table)))
            }
        })
    }
}

/// A mask as the kernel prints it (`bitmap_string`, lib/vsprintf.c): 32 bits a word.
fn bitmask(bytes: &[u8], endian: Endian) -> Option<Vec<u8>> {
    let mut words: Vec<String> = Vec::with_capacity(bytes.len() / 4);
    // Words of the kernel's `long` would have to be turned.
    if endian != Endian::Little || !bytes.len().is_multiple_of(4) {
        return None;
    }
    for word in bytes.chunks_exact(4).rev() {
        words.push(format!("{:08x}", endian.number(word)?));
    }
    Some(words.join(",").into_bytes())
}

/// Names of the bits that are set; what has no name is added as a number.
fn flags(n: i64, between: &[u8], table: &Table) -> Vec<u8> {
    let mut out = Vec::new();
    let mut left = n;
    let mut add = |name: &[u8]| {
        if !out.is_empty() {
            out.extend_from_slice(between);
        }
        out.extend_from_slice(name);
    };
    for (bits, name) in table {
        if left & bits == *bits && (*bits != 0 || n == 0) {
            add(name);
            left &= !bits;
        }
    }
    if left != 0 {
        add(format!("0x{left:x}").as_bytes());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_has_the_word_of_the_last_bits_first() {
        let mask = |bytes: &[u8]| bitmask(bytes, Endian::Little);
        assert_eq!(mask(&[2, 0, 0, 0, 8, 0, 0, 0]).as_deref(), Some(&b"00000008,00000002"[..]));
        assert_eq!(mask(&[1, 2, 3]), None);
        assert_eq!(bitmask(&[0, 0, 0, 1], Endian::Big), None);
    }
}
