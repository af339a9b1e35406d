//! How times are written, rounded half up.

use alloc::format;
use alloc::string::String;
use dormouse_model::time::Ns;

/// `20.0 s`.
pub fn s(t: Ns) -> String {
    let tenths = t.0.saturating_add(50_000_000) / 100_000_000;
    format!("{}.{} s", tenths / 10, tenths % 10)
}

/// `0.06 ms`.
pub fn ms(t: Ns) -> String {
    let hundredths = t.0.saturating_add(5_000) / 10_000;
    format!("{}.{:02} ms", hundredths / 100, hundredths % 100)
}

/// `1.19 %` of thousandths of a per cent.
pub fn percent(thousandths: u64) -> String {
    let hundredths = thousandths.saturating_add(5) / 10;
    format!("{}.{:02} %", hundredths / 100, hundredths % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_rounded_up() {
        assert_eq!(s(Ns(10_950_000_000)), "11.0 s");
        assert_eq!(s(Ns(10_949_999_999)), "10.9 s");
        assert_eq!(ms(Ns(63_000)), "0.06 ms");
        assert_eq!(ms(Ns(65_000)), "0.07 ms");
        assert_eq!(percent(74_825), "74.83 %");
    }
}
