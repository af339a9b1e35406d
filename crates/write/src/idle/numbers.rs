//! Numbers as these pages print them.

use crate::wording::number::grouped;

/// `57 %`, rounded; `0.4 %` below one.
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".into();
    }
    let tenths = (u128::from(part) * 2_000 + u128::from(whole)) / (2 * u128::from(whole));
    if tenths == 0 && part > 0 {
        return "<0.1 %".into();
    }
    if tenths < 10 && part > 0 {
        return format!("0.{tenths} %");
    }
    format!("{} %", (tenths + 5) / 10)
}

/// Nanoseconds as seconds with two places, rounded.
pub fn seconds(ns: u64) -> String {
    let hundredths = ns.saturating_add(5_000_000) / 10_000_000;
    format!("{}.{:02}", grouped(hundredths / 100), hundredths % 100)
}

/// Nanoseconds as whole microseconds, rounded.
pub fn us(ns: i64) -> String {
    grouped(ns.max(0).unsigned_abs().saturating_add(500) / 1_000)
}

/// `0-3,8`: numbers that ascend.
pub fn ranges(numbers: &[u32]) -> String {
    let mut out: Vec<(u32, u32)> = Vec::new();
    for &n in numbers {
        match out.last_mut() {
            Some(r) if r.1.checked_add(1) == Some(n) => r.1 = n,
            _ => out.push((n, n)),
        }
    }
    let one = |&(a, b): &(u32, u32)| if a == b { a.to_string() } else { format!("{a}-{b}") };
    out.iter().map(one).collect::<Vec<_>>().join(",")
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
        assert_eq!((percent(199, 200), percent(1, 9_999)), ("100 %".into(), "<0.1 %".into()));
        assert_eq!(seconds(1_995_000_000), "2.00");
        assert_eq!(us(1_499), "1");
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
    }
}
