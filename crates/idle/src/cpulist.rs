//! Lists of CPUs as the kernel reads and prints them (`bitmap_parselist`,
//! lib/bitmap-str.c, 6.12).

use std::collections::BTreeSet;

/// More CPUs than any kernel is built for (`CONFIG_NR_CPUS`).
const MOST: u32 = 8_192;

/// `0-3,8`, `0-15:1/4` (one of each four), `all`, `N` for the last CPU, which is
/// `last`. `None` if it is no such list.
pub fn parse(text: &str, last: u32) -> Option<BTreeSet<u32>> {
    let mut out = BTreeSet::new();
    let number = |word: &str| match word {
        "N" => Some(last),
        word => word.parse().ok().filter(|n| *n < MOST),
    };
    for part in text.trim().split(',').filter(|p| !p.is_empty()) {
        if part.eq_ignore_ascii_case("all") {
            out.extend(0..=last.min(MOST));
            continue;
        }
        let (range, stride) = part.split_once(':').map_or((part, None), |(r, s)| (r, Some(s)));
        let (a, b) = range.split_once('-').unwrap_or((range, range));
        let (a, b) = (number(a)?, number(b)?);
        if a > b {
            return None;
        }
        let (used, group) = match stride {
            None => (1, 1),
            Some(s) => {
                let (used, group) = s.split_once('/')?;
                (number(used)?, number(group)?)
            }
        };
        if group == 0 || used > group {
            return None;
        }
        out.extend((a..=b).filter(|n| (n - a) % group < used));
    }
    Some(out)
}

/// `0-3,8`: numbers that ascend, as the kernel prints them.
pub fn text<'a>(numbers: impl IntoIterator<Item = &'a u32>) -> String {
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

/// `CPU 7`, `CPUs 0-3`.
pub fn named(list: &[u32]) -> String {
    format!("CPU{} {}", if list.len() == 1 { "" } else { "s" }, text(list))
}

/// A mask of hexadecimal words, `ff,00000003`, as `/proc/irq/default_smp_affinity`
/// has it.
pub(crate) fn parse_mask(text: &str) -> Option<BTreeSet<u32>> {
    let mut out = BTreeSet::new();
    for (i, word) in text.trim().split(',').rev().enumerate() {
        let bits = u32::from_str_radix(word, 16).ok()?;
        let base = u32::try_from(i).ok()?.checked_mul(32).filter(|b| *b < MOST)?;
        out.extend((0..32).filter(|b| bits & 1 << b != 0).map(|b| base + b));
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    fn list(text: &str) -> Option<Vec<u32>> {
        parse(text, 7).map(|s| s.into_iter().collect())
    }

    #[test]
    fn lists_are_read_as_the_kernel_reads_them() {
        assert_eq!(list("0-2,5\n"), Some([0, 1, 2, 5].to_vec()));
        assert_eq!(list("0-7:1/4"), Some([0, 4].to_vec()));
        assert_eq!(list("5-N"), Some([5, 6, 7].to_vec()));
        assert_eq!(list("all").map(|l| l.len()), Some(8));
        assert_eq!(list(""), Some(Vec::new()));
        for bad in ["3-1", "x", "1-", "0-99999999", "0-3:2/0", "0-3:5/4"] {
            assert_eq!(list(bad), None, "{bad}");
        }
        assert_eq!(text(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        let mask = parse_mask("1,00000003").map(|s| s.into_iter().collect::<Vec<_>>());
        assert_eq!(mask, Some([0, 1, 32].to_vec()));
        assert_eq!(parse_mask("xyz"), None);
    }
}
