//! How deep a table of package states says that a processor's package went.

use crate::case::Case;
use crate::finding::Evidence;
use crate::night::{Count, Counts, Item};
use std::collections::BTreeMap;

/// A state from which on the package is deep: the platform's own sleep needs the deepest
/// (drivers/platform/x86/intel/pmc/core.c:pmc_core_pkgc_show lists them, 6.12).
const DEEP: u32 = 6;

/// The sentence, and the lines of the deepest state that counted and the deepest of all; nothing
/// where the deepest counted too, or the table has one state alone.
pub(in crate::rules) fn sentence(case: &Case) -> Option<(String, Vec<Evidence>)> {
    let mut last: BTreeMap<u32, (&Item, &Count)> = BTreeMap::new();
    for (_, item, c) in case.night.counts().filter(|c| c.2.of == Counts::Package) {
        let number = c.name.strip_prefix("Package C").and_then(|n| n.parse().ok());
        last.extend(number.map(|n: u32| (n, (item, c))));
    }
    let (deepest, (item, c)) = last.last_key_value()?;
    if c.value > 0 || *deepest < DEEP {
        return None;
    }
    let name = |n: &u32| format!("C{n}");
    let reached = last.iter().rev().find(|(_, (_, c))| c.value > 0);
    let none: Vec<&u32> = last.iter().filter(|(_, (_, c))| c.value == 0).map(|(n, _)| n).collect();
    let deeper: Vec<&u32> = none.into_iter().filter(|n| reached.is_none_or(|r| *n > r.0)).collect();
    let list = match &deeper[..] {
        [one] => format!("{} is 0", name(one)),
        [first, .., last] => format!("{} to {} are 0", name(first), name(last)),
        [] => return None,
    };
    let shown = |i: &Item| Evidence { line: i.line, text: i.text.clone(), ..Evidence::default() };
    let mut evidence = vec![shown(item)];
    let words = match reached {
        Some((n, (item, _))) => {
            evidence.insert(0, shown(item));
            format!("the package went no deeper than {}: {list}", name(n))
        }
        None => format!("the package was in none of them: {list}"),
    };
    Some((
        format!("By the table of package states, which counts since the start, {words}."),
        evidence,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::night::Fact;

    fn told(rows: &[(u32, u64)]) -> Option<String> {
        let item = |(n, value): &(u32, u64)| Item {
            line: u64::from(*n),
            text: format!("Package C{n} : {value}"),
            fact: Fact::Count(Count {
                name: format!("Package C{n}"),
                of: Counts::Package,
                value: *value,
            }),
        };
        let mut case = Case::default();
        case.night.items = rows.iter().map(item).collect();
        sentence(&case).map(|s| s.0)
    }

    #[test]
    fn a_table_of_package_states_says_how_deep_it_went() {
        let told_of = told(&[(2, 400), (3, 70), (6, 0), (8, 0), (10, 0)]).expect("a sentence");
        assert!(told_of.ends_with("went no deeper than C3: C6 to C10 are 0."), "{told_of}");
        let none = told(&[(2, 0), (6, 0)]).expect("a sentence");
        assert!(none.ends_with("in none of them: C2 to C6 are 0."), "{none}");
        assert_eq!(told(&[(2, 400), (8, 0), (10, 3)]), None);
        assert_eq!(told(&[(2, 400), (3, 0)]), None);
        assert_eq!(told(&[]), None);
    }
}
