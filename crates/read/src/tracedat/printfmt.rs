//! The event's own text, made from its `print fmt` as the kernel would.
//!
//! A print format is a C format string and the expressions it prints, such as
//! `"%s[%u] %s", REC->action, REC->val, (REC->start)?"begin":"end"`. This reads
//! the part of C that kernels use there. What it cannot read is printed as
//! `name=value` of every field.

use super::expr::{self, Expr, Parser, Value};
use super::format::{EventFormat, Kind};
use super::word::Machine;

/// What printing needs to know beside the record.
pub(crate) trait Lookup {
    /// A text by its address in the kernel.
    fn text(&self, address: u64) -> Option<&[u8]>;
    /// Writes the function at an address, with the offset into it if asked.
    fn function(&self, address: u64, with_offset: bool, out: &mut Vec<u8>);
}

/// A compiled print format.
#[derive(Debug)]
pub(crate) struct Printer {
    /// `None`: print every field.
    parts: Option<Vec<Part>>,
}

/// Literal text or one conversion.
#[derive(Debug)]
enum Part {
    Text(Vec<u8>),
    Print(Conversion),
}

/// `%-5lx` and its argument.
#[derive(Debug)]
struct Conversion {
    left: bool,
    zero: bool,
    plus: bool,
    alternate: bool,
    width: Option<Expr>,
    precision: Option<Expr>,
    /// Bits of the argument.
    bits: u32,
    kind: u8,
    /// What follows `%p`.
    pointer: u8,
    arg: Expr,
}

/// Longer formats than any kernel's; the work for a record is bounded by it.
const MAX_PRINT: usize = 16 << 10;
/// Widest field printed.
const MAX_WIDTH: usize = 256;

impl Printer {
    /// Compiles the print format of `event`.
    pub(super) fn new(event: &EventFormat, machine: Machine) -> Printer {
        Printer { parts: compile(event, machine) }
    }

    /// Writes the text of `record` to `out`, which is cleared.
    pub(super) fn print(
        &self,
        event: &EventFormat,
        record: &[u8],
        machine: Machine,
        lookup: &impl Lookup,
        out: &mut Vec<u8>,
    ) {
        out.clear();
        if let Some(parts) = &self.parts {
            let whole = parts.iter().all(|p| match p {
                Part::Text(t) => {
                    out.extend_from_slice(t);
                    true
                }
                Part::Print(c) => c.print(event, record, machine, lookup, out).is_some(),
            });
            if whole {
                return;
            }
            // A field outside the record: say what is there.
            out.clear();
        }
        print_fields(event, record, machine, lookup, out);
    }
}

/// `name=value` of all fields but the common ones.
fn print_fields(
    event: &EventFormat,
    record: &[u8],
    machine: Machine,
    lookup: &impl Lookup,
    out: &mut Vec<u8>,
) {
    for f in event.fields.iter().filter(|f| !f.name.starts_with("common_")) {
        if !out.is_empty() {
            out.push(b' ');
        }
        out.extend_from_slice(f.name.as_bytes());
        out.push(b'=');
        match f.kind {
            Kind::Number => match f.number(machine.endian, record) {
                Some(n) if f.signed => out.extend_from_slice(n.to_string().as_bytes()),
                Some(n) => out.extend_from_slice((n as u64).to_string().as_bytes()),
                None => {}
            },
            Kind::TextAddress => {
                let address = f.number(machine.endian, record).unwrap_or(0) as u64;
                match lookup.text(address) {
                    Some(t) => out.extend_from_slice(t),
                    None => out.extend_from_slice(format!("0x{address:x}").as_bytes()),
                }
            }
            _ => out.extend_from_slice(f.text(machine.endian, record).unwrap_or_default()),
        }
    }
}

/// Format string and arguments.
fn parse(event: &EventFormat) -> Option<(Box<[u8]>, Vec<Expr>)> {
    if event.print.len() > MAX_PRINT {
        return None;
    }
    let mut parser = Parser::new(event.print.as_bytes(), event);
    let literal = parser.string()?;
    let mut args = Vec::new();
    while parser.comma() {
        args.push(parser.expression()?);
    }
    parser.at_end().then_some((literal, args))
}

/// The names that the print format gives to the numbers of `field`.
pub(super) fn symbols(event: &EventFormat, field: &str) -> expr::Table {
    let index = event.fields.iter().position(|f| &*f.name == field);
    let args = parse(event).map(|(_, args)| args).unwrap_or_default();
    args.into_iter()
        .find_map(|a| match a {
            Expr::Symbolic(e, table) => match *e {
                Expr::Field(i) if Some(i) == index => Some(table),
                _ => None,
            },
            _ => None,
        })
        .unwrap_or_default()
}

/// Splits the format string and gives every conversion its expression.
fn compile(event: &EventFormat, machine: Machine) -> Option<Vec<Part>> {
    let (literal, args) = parse(event)?;
    let mut args = args.into_iter();
    let mut parts = Vec::new();
    let mut text = Vec::new();
    let mut rest = literal.iter().copied().peekable();
    while let Some(b) = rest.next() {
        if b != b'%' {
            text.push(b);
            continue;
        }
        if rest.peek() == Some(&b'%') {
            rest.next();
            text.push(b'%');
            continue;
        }
        if !text.is_empty() {
            parts.push(Part::Text(std::mem::take(&mut text)));
        }
        parts.push(Part::Print(conversion(&mut rest, &mut args, machine)?));
    }
    if !text.is_empty() {
        parts.push(Part::Text(text));
    }
    Some(parts)
}

/// Reads what follows a `%`.
fn conversion(
    rest: &mut std::iter::Peekable<impl Iterator<Item = u8>>,
    args: &mut impl Iterator<Item = Expr>,
    machine: Machine,
) -> Option<Conversion> {
    let (mut left, mut zero, mut plus, mut alternate) = (false, false, false, false);
    while let Some(&b) = rest.peek() {
        match b {
            b'-' => left = true,
            b'0' => zero = true,
            b'+' => plus = true,
            b'#' => alternate = true,
            b' ' => {}
            _ => break,
        }
        rest.next();
    }
    let mut count = |rest: &mut std::iter::Peekable<_>| -> Option<Option<Expr>> {
        if rest.next_if_eq(&b'*').is_some() {
            return Some(Some(args.next()?));
        }
        let mut n = None;
        while let Some(d) = rest.next_if(|b: &u8| b.is_ascii_digit()) {
            n = Some(n.unwrap_or(0i64).saturating_mul(10).saturating_add(i64::from(d - b'0')));
        }
        Some(n.map(Expr::Number))
    };
    let width = count(rest)?;
    let precision = match rest.next_if_eq(&b'.') {
        Some(_) => Some(count(rest)?.unwrap_or(Expr::Number(0))),
        None => None,
    };
    let long = machine.long as u32 * 8;
    let mut bits = 32;
    while let Some(b) = rest.next_if(|b| b"lhzjtLq".contains(b)) {
        bits = match b {
            b'l' if bits == 32 => long.max(33),
            b'l' | b'j' | b'L' | b'q' => 64,
            b'h' if bits == 32 => 16,
            b'h' => 8,
            _ => long,
        };
    }
    // A 32-bit `long` was noted as 33 to tell `l` from `ll`.
    let bits = if bits == 33 { 32 } else { bits };
    let kind = rest.next()?;
    let mut pointer = 0;
    match kind {
        b'd' | b'i' | b'u' | b'x' | b'X' | b'o' | b'c' | b's' => {}
        b'p' => {
            if let Some(b) = rest.next_if(u8::is_ascii_alphabetic) {
                pointer = b;
                match b {
                    b'f' | b'F' | b's' | b'S' | b'x' | b'K' | b'B' => {}
                    _ => return None,
                }
            }
        }
        _ => return None,
    }
    let arg = args.next()?;
    Some(Conversion { left, zero, plus, alternate, width, precision, bits, kind, pointer, arg })
}

impl Conversion {
    fn print(
        &self,
        event: &EventFormat,
        record: &[u8],
        machine: Machine,
        lookup: &impl Lookup,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let scope = expr::Scope { event, record, machine };
        let number = |e: &Option<Expr>| -> Option<Option<i64>> {
            match e {
                Some(e) => Some(Some(scope.eval(e)?.number()?)),
                None => Some(None),
            }
        };
        let width = number(&self.width)?.unwrap_or(0);
        let left = self.left || width < 0;
        let width = (width.unsigned_abs() as usize).min(MAX_WIDTH);
        let precision = number(&self.precision)?.map(|p| p.clamp(0, MAX_WIDTH as i64) as usize);
        let value = scope.eval(&self.arg)?;
        let mut sign: &[u8] = b"";
        let mut body = Vec::new();
        match (self.kind, value) {
            (b's', Value::Text(t)) => {
                let t = super::bytes::until_nul(&t);
                body.extend_from_slice(&t[..t.len().min(precision.unwrap_or(usize::MAX))]);
            }
            (b's', Value::Number(address)) => match lookup.text(address as u64) {
                Some(t) => body.extend_from_slice(t),
                None => body.extend_from_slice(format!("0x{address:x}").as_bytes()),
            },
            (_, Value::Text(_)) => return None,
            (b'p', Value::Number(n)) => match self.pointer {
                b'f' | b'F' | b's' | b'S' | b'B' => {
                    lookup.function(
                        n as u64,
                        matches!(self.pointer, b'F' | b'S' | b'B'),
                        &mut body,
                    );
                }
                _ => {
                    let digits = machine.long * 2;
                    body.extend_from_slice(format!("{n:0digits$x}").as_bytes());
                }
            },
            (b'c', Value::Number(n)) => body.push(n as u8),
            (kind, Value::Number(n)) => {
                let shift = 64 - self.bits.min(64);
                let unsigned = (n as u64) << shift >> shift;
                let signed = n << shift >> shift;
                let digits = match kind {
                    b'd' | b'i' => {
                        sign = match (signed < 0, self.plus) {
                            (true, _) => b"-",
                            (false, true) => b"+",
                            _ => b"",
                        };
                        signed.unsigned_abs().to_string()
                    }
                    b'x' | b'X' if self.alternate => {
                        sign = b"0x";
                        format!("{unsigned:x}")
                    }
                    b'x' => format!("{unsigned:x}"),
                    b'X' => format!("{unsigned:X}"),
                    b'o' => format!("{unsigned:o}"),
                    _ => unsigned.to_string(),
                };
                let least = precision.unwrap_or(0);
                body.resize(least.saturating_sub(digits.len()), b'0');
                body.extend_from_slice(digits.as_bytes());
            }
        }
        let fill = width.saturating_sub(sign.len() + body.len());
        let zero = self.zero && !left && !matches!(self.kind, b's' | b'c');
        let blanks = |out: &mut Vec<u8>| out.resize(out.len() + fill, b' ');
        if !left && !zero {
            blanks(out);
        }
        out.extend_from_slice(sign);
        if zero {
            out.resize(out.len() + fill, b'0');
        }
        out.extend_from_slice(&body);
        if left {
            blanks(out);
        }
        Some(())
    }
}
