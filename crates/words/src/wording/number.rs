//! Numbers. Times in sentences print by themselves ([`Ns`]'s `Display`); tables
//! have one unit, ms, in their head and two decimals in every cell.

pub use dormouse_base::say::{grouped, ms, names, plural};
use dormouse_base::time::Ns;
use dormouse_sleep::analyse::per_mille;

/// `113.7`: a cell with one decimal, as the tables on kernel lists have.
pub(crate) fn tenths(t: Ns) -> String {
    let n = (t.0.unsigned_abs() + 50_000) / 100_000;
    let sign = if t < Ns::ZERO && n > 0 { "-" } else { "" };
    format!("{sign}{}.{}", n / 10, n % 10)
}

/// `+0.07`, `-34.55`, `+0.00`: a change in a table in ms, of computed ns.
pub(crate) fn signed_ms(ns: f64) -> String {
    let text = ms(Ns(ns.round() as i64));
    if text.starts_with('-') { text } else { format!("+{text}") }
}

/// `-34.55`, `+0.07`, `=`: a change in a table in ms.
pub(crate) fn ms_change(was: Ns, is: Ns) -> String {
    // Cells that read alike are alike.
    if (is - was).hundredths_of_ms() == 0 || ms(is) == ms(was) {
        return "=".into();
    }
    let sign = if is > was { "+" } else { "" };
    format!("{sign}{}", ms(is - was))
}

/// `-34.6 ms`, `+0.1 ms`, `no change`: a change in a sentence.
pub fn change(was: Ns, is: Ns) -> String {
    if was == is {
        return "no change".into();
    }
    if (is - was).hundredths_of_ms() == 0 {
        return "less than 0.01 ms".into();
    }
    let sign = if is > was { "+" } else { "-" };
    format!("{sign}{}", Ns((is - was).0.abs()))
}

/// `12.3 %`: a cell of a table.
pub fn percent(part: Ns, whole: Ns) -> String {
    let p = per_mille(part, whole);
    format!("{}.{} %", p / 10, p % 10)
}

/// `96 %`, `7.2 %`, `99.6 %`: in a sentence.
pub fn share(part: Ns, whole: Ns) -> String {
    match per_mille(part, whole) {
        p @ (0..=99 | 995..=999) => format!("{}.{} %", p / 10, p % 10),
        p => format!("{} %", (p + 5) / 10),
    }
}

/// `1 callback has`, `16 callbacks have`.
pub fn have(n: usize, one: &str) -> String {
    format!("{} {}", plural(n, one), if n == 1 { "has" } else { "have" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_and_words() {
        assert_eq!(tenths(Ns(158_750_000)), "158.8");
        assert_eq!(
            (share(Ns(996), Ns(1_000)), share(Ns(5), Ns(5))),
            ("99.6 %".into(), "100 %".into())
        );
        assert_eq!(tenths(Ns(-49_999)), "0.0");
        assert_eq!(signed_ms(-34_545_000.4), "-34.55");
        assert_eq!(signed_ms(71_000.0), "+0.07");
        assert_eq!(ms_change(Ns(100), Ns(200)), "=");
        assert_eq!(ms_change(Ns(0), Ns(71_000)), "+0.07");
        assert_eq!(change(Ns::from_ms(100), Ns::from_ms(90)), "-10.0 ms");
        assert_eq!(share(Ns(959), Ns(1000)), "96 %");
        assert_eq!(share(Ns(72), Ns(1000)), "7.2 %");
    }
}
