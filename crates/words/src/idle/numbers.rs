//! Numbers as these pages print them.

use crate::wording::number::grouped;

/// `57 %`, rounded; `0.4 %` below one and `99.6 %` near all: a little less is not all.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".into();
    }
    // Rounded once: 16.46 is 16, though 16.5 would be 17.
    let of =
        |steps: u128| (u128::from(part) * 2 * steps + u128::from(whole)) / (2 * u128::from(whole));
    match of(1_000) {
        0 if part > 0 => "<0.1 %".into(),
        tenths @ 1..10 => format!("0.{tenths} %"),
        1_000 if part < whole => ">99.9 %".into(),
        tenths @ 995..1_000 => format!("{}.{} %", tenths / 10, tenths % 10),
        _ => format!("{} %", of(100)),
    }
}

/// Nanoseconds as seconds with two places, rounded; none from 10,000 s on.
pub(crate) fn seconds(ns: u64) -> String {
    if ns >= 10_000_000_000_000 {
        return grouped(ns.saturating_add(500_000_000) / 1_000_000_000);
    }
    let hundredths = ns.saturating_add(5_000_000) / 10_000_000;
    format!("{}.{:02}", grouped(hundredths / 100), hundredths % 100)
}

/// Nanoseconds as whole microseconds, rounded.
pub(crate) fn us(ns: i64) -> String {
    grouped(ns.max(0).unsigned_abs().saturating_add(500) / 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_and_grouped() {
        assert_eq!(
            (percent(1, 3), percent(1, 500), percent(0, 9)),
            ("33 %".into(), "0.2 %".into(), "0 %".into())
        );
        assert_eq!((percent(199, 200), percent(1, 9_999)), ("99.5 %".into(), "<0.1 %".into()));
        assert_eq!((percent(9_998, 9_999), percent(7, 7)), (">99.9 %".into(), "100 %".into()));
        assert_eq!(
            (percent(1_646, 10_000), percent(9_949, 10_000)),
            ("16 %".into(), "99.5 %".into())
        );
        assert_eq!(seconds(1_995_000_000), "2.00");
        assert_eq!(seconds(3_380_649_413_108_000), "3,380,649");
        assert_eq!(us(1_499), "1");
    }
}
