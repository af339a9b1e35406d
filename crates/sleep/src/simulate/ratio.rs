//! Factors that are the same everywhere.

/// A factor as a ratio of integers, so that the same text gives the same bits
/// everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    /// Numerator.
    pub part: u64,
    /// Denominator, never 0.
    pub whole: u64,
}

impl Ratio {
    /// Reads `2`, `0.5`, `1/3` or `50%`.
    ///
    /// # Errors
    /// A sentence saying what is accepted.
    pub fn parse(text: &str) -> Result<Ratio, String> {
        let bad = || format!("`{text}` is not a factor; write for example 0.5, 1/3 or 50%");
        let decimal = |s: &str| -> Option<(u64, u64)> {
            let (whole, fraction) = s.split_once('.').unwrap_or((s, ""));
            let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
            if s.is_empty() || fraction.len() > 9 || !digits(whole) || !digits(fraction) {
                return None;
            }
            let scale = 10u64.pow(fraction.len() as u32);
            let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
            let fraction: u64 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
            Some((whole.checked_mul(scale)?.checked_add(fraction)?, scale))
        };
        let (part, whole) = if let Some((a, b)) = text.split_once('/') {
            let ((a, as_), (b, bs)) = (decimal(a).ok_or_else(bad)?, decimal(b).ok_or_else(bad)?);
            (a.checked_mul(bs).ok_or_else(bad)?, b.checked_mul(as_).ok_or_else(bad)?)
        } else if let Some(p) = text.strip_suffix('%') {
            let (p, s) = decimal(p).ok_or_else(bad)?;
            (p, s.checked_mul(100).ok_or_else(bad)?)
        } else {
            decimal(text).ok_or_else(bad)?
        };
        if whole == 0 || u128::from(part) > u128::from(whole) * 1_000_000 {
            return Err(bad());
        }
        Ok(Ratio { part, whole })
    }

    /// In its lowest terms: `2`, `1/3`.
    pub fn text(self) -> String {
        let (mut a, mut b) = (self.part, self.whole);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let (part, whole) = (self.part / a.max(1), self.whole / a.max(1));
        if whole == 1 { part.to_string() } else { format!("{part}/{whole}") }
    }

    /// `value` times this, rounded down.
    pub fn of(self, value: i64) -> i64 {
        let product = i128::from(value) * i128::from(self.part) / i128::from(self.whole);
        i64::try_from(product).unwrap_or(i64::MAX)
    }
}
