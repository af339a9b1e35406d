//! Numbers, times and CPUs as values of options: what is wrong with one is said in words.

use dormouse_idle::cpulist;
use std::fmt::Display;
use std::str::FromStr;

/// Reads a number from `low` to `high`.
pub fn number<T>(low: T, high: T) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync
where
    T: FromStr + PartialOrd + Display + Limit + Copy + Send + Sync + 'static,
{
    move |text: &str| {
        let bad = || {
            if high == T::MOST {
                format!("write a number from {low}")
            } else {
                format!("write a number from {low} to {high}")
            }
        };
        text.parse().ok().filter(|n| (low..=high).contains(n)).ok_or_else(bad)
    }
}

/// Any number.
///
/// # Errors
/// How a number is written.
pub fn any(text: &str) -> Result<u64, String> {
    number(0, u64::MAX)(text)
}

/// `50us`, `1ms`, `300ns`, `0`: in ns.
///
/// # Errors
/// How a time is written.
pub fn time(text: &str) -> Result<i64, String> {
    dormouse_board::parse_duration(text).map(|time| time.0)
}

/// `0-3,8`, `0-15:1/4`. `all` and `N` ask for a machine, which is not known here.
///
/// # Errors
/// How such a list is written.
pub fn cpus(text: &str) -> Result<Vec<u32>, String> {
    let odd = || format!("CPUs are listed as 0-3,8: {text}");
    let named = text.chars().any(char::is_alphabetic) || text.split(',').any(str::is_empty);
    let list = if named { None } else { cpulist::parse(text, 0) };
    Ok(list.ok_or_else(odd)?.into_iter().collect())
}

/// A type with a largest number, which is no limit that anybody has set.
pub trait Limit: Sized + PartialOrd {
    /// The largest.
    const MOST: Self;
}

impl Limit for u8 {
    const MOST: u8 = u8::MAX;
}

impl Limit for u16 {
    const MOST: u16 = u16::MAX;
}

impl Limit for u32 {
    const MOST: u32 = u32::MAX;
}

impl Limit for usize {
    const MOST: usize = usize::MAX;
}

impl Limit for u64 {
    const MOST: u64 = u64::MAX;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_said_in_words() {
        assert_eq!(number(1u32, 64)("64"), Ok(64));
        assert_eq!(number(1u32, 64)("65"), Err("write a number from 1 to 64".into()));
        assert_eq!(number(1u32, u32::MAX)("0"), Err("write a number from 1".into()));
        assert_eq!(any("x"), Err("write a number from 0".into()));
    }
}
