//! Two tables of one kind beside each other, whatever they count: what changed most first.

use serde::Serialize;

/// What stands in a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// A number.
    Number {
        /// In thousandths of its unit.
        thousandths: i64,
        /// Such as `W`, `us`, `%`; empty of a count.
        unit: &'static str,
    },
    /// A word.
    Word(String),
}

impl Cell {
    /// A whole number.
    pub fn whole(n: u64, unit: &'static str) -> Cell {
        Cell::thousandths(i64::try_from(n).unwrap_or(i64::MAX).saturating_mul(1_000), unit)
    }

    /// The same in mW, if it is in W: each table has the unit that suits it.
    fn in_mw(&self) -> Cell {
        match self {
            Cell::Number { thousandths, unit: "W" } => {
                Cell::thousandths(thousandths.saturating_mul(1_000), "mW")
            }
            other => other.clone(),
        }
    }

    fn unit(&self) -> &'static str {
        match self {
            Cell::Number { unit, .. } => unit,
            Cell::Word(_) => "",
        }
    }

    /// A number in thousandths.
    pub fn thousandths(thousandths: i64, unit: &'static str) -> Cell {
        Cell::Number { thousandths, unit }
    }
}

/// One table: names of its cells with what stands there, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// What kind of table it is, in words: `fio`, `trans_stat of devfreq`.
    pub kind: &'static str,
    /// What the text calls it.
    pub label: String,
    /// Its cells.
    pub cells: Vec<(String, Cell)>,
}

/// A cell that both tables have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// Its name.
    pub name: String,
    /// In the first and in the second.
    pub cells: [Cell; 2],
}

impl Moved {
    /// The change as a share of the larger of both numbers, in thousandths; of two shares of
    /// one whole their distance, a thousandth of the whole; all of it for words that differ.
    pub fn weight(&self) -> u64 {
        match &self.cells {
            [
                Cell::Number { thousandths: a, unit: "%" },
                Cell::Number { thousandths: b, unit: "%" },
            ] => a.abs_diff(*b) / 100,
            [Cell::Number { thousandths: a, .. }, Cell::Number { thousandths: b, .. }] => {
                let most = u128::from(a.unsigned_abs().max(b.unsigned_abs()).max(1));
                u64::try_from(u128::from(a.abs_diff(*b)) * 1_000 / most).unwrap_or(u64::MAX)
            }
            [a, b] if a == b => 0,
            _ => 1_000,
        }
    }
}

/// Two tables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Beside {
    /// What kind of table they are.
    pub kind: &'static str,
    /// What they are called.
    pub labels: [String; 2],
    /// Cells that both have, what changed most first, by the share of itself.
    pub moved: Vec<Moved>,
    /// Cells that one of them alone has.
    pub alone: [Vec<String>; 2],
}

/// Counters that were read again and again: what each step between two readings added.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Steps {
    /// What is counted: a file.
    pub name: String,
    /// What each reading is called.
    pub labels: Vec<String>,
    /// Counters with what each step added, in the order of the table.
    pub rows: Vec<(String, Vec<u64>)>,
}

/// What readings of one table counted, if all of it are whole numbers that never fall and some
/// grow; a step that falls is another boot.
pub fn steps(name: &str, readings: &[Table]) -> Option<Steps> {
    let [first, rest @ ..] = readings else { return None };
    let of = |t: &Table, name: &str| match t.cells.iter().find(|c| c.0 == name)?.1 {
        Cell::Number { thousandths, unit: "" } => {
            u64::try_from(thousandths).ok().map(|n| n / 1_000)
        }
        _ => None,
    };
    let mut rows = Vec::new();
    for (cell, _) in &first.cells {
        let mut was = of(first, cell)?;
        let mut grown = Vec::new();
        for t in rest {
            let is = of(t, cell)?;
            grown.push(is.checked_sub(was)?);
            was = is;
        }
        rows.push((cell.clone(), grown));
    }
    let grew = rows.iter().any(|(_, g)| g.iter().any(|n| *n > 0));
    let labels = readings.iter().map(|t| t.label.clone()).collect();
    (grew && !rest.is_empty()).then(|| Steps { name: name.into(), labels, rows })
}

/// Two tables beside each other; `None` if they are not of one kind or have no cell in common.
/// Of a name that stands twice the last counts.
pub fn beside(a: &Table, b: &Table) -> Option<Beside> {
    let last = |t: &Table| -> std::collections::BTreeMap<String, Cell> {
        t.cells.iter().cloned().collect()
    };
    let (of_a, of_b) = (last(a), last(b));
    let mut moved: Vec<Moved> = Vec::new();
    for (name, _) in &a.cells {
        let known = moved.iter().any(|m| m.name == *name);
        if let (Some(x), Some(y), false) = (of_a.get(name), of_b.get(name), known) {
            let cells = match x.unit() == y.unit() {
                true => [x.clone(), y.clone()],
                false => [x.in_mw(), y.in_mw()],
            };
            moved.push(Moved { name: name.clone(), cells });
        }
    }
    if a.kind != b.kind || moved.is_empty() {
        return None;
    }
    // Shares of one whole first: they say what became of it. Between equals the order of the
    // table stays.
    let part = |m: &Moved| matches!(m.cells[0], Cell::Number { unit: "%", .. }) && m.weight() > 0;
    moved.sort_by_key(|m| std::cmp::Reverse((part(m), m.weight())));
    let lacks = |t: &Table, other: &std::collections::BTreeMap<String, Cell>| {
        let names = t.cells.iter().map(|c| c.0.clone());
        names.filter(|n| !other.contains_key(n)).collect::<Vec<_>>()
    };
    Some(Beside {
        kind: a.kind,
        labels: [a.label.clone(), b.label.clone()],
        moved,
        alone: [lacks(a, &of_b), lacks(b, &of_a)],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_what_each_step_added() {
        let table = |a: u64, b: u64| Table {
            kind: "test",
            label: "x".into(),
            cells: vec![("a".into(), Cell::whole(a, "")), ("b".into(), Cell::whole(b, ""))],
        };
        let found = steps("f", &[table(5, 1), table(9, 1), table(9, 70)]).expect("counters");
        assert_eq!(found.rows, [("a".into(), vec![4, 0]), ("b".to_owned(), vec![0, 69])]);
        assert_eq!(steps("f", &[table(5, 1), table(4, 1)]), None, "a level, or another boot");
        assert_eq!(steps("f", &[table(5, 1), table(5, 1)]), None, "nothing grew");
        assert_eq!(steps("f", &[table(5, 1)]), None);
    }

    #[test]
    fn what_changed_most_by_its_own_measure_comes_first() {
        let table = |label: &str, cells: &[(&str, Cell)]| Table {
            kind: "test",
            label: label.into(),
            cells: cells.iter().map(|(n, c)| ((*n).into(), c.clone())).collect(),
        };
        let word = |w: &str| Cell::Word(w.into());
        let (us, count) = (|n| Cell::whole(n, "us"), |n| Cell::whole(n, ""));
        let a = table("a", &[("x", us(100)), ("y", count(9)), ("z", word("on")), ("only", us(1))]);
        let b = table("b", &[("x", us(90)), ("y", count(3)), ("z", word("off"))]);
        let found = beside(&a, &b).expect("cells in common");
        let order: Vec<&str> = found.moved.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(order, ["z", "y", "x"]);
        assert_eq!(found.moved[1].weight(), 666);
        // 3.6 W are 3600 mW.
        let power = |n, unit| table("p", &[("most", Cell::thousandths(n, unit))]);
        let same = beside(&power(3_600, "W"), &power(3_600_000, "mW")).expect("a cell in common");
        assert_eq!((same.moved[0].weight(), &same.moved[0].cells[0]), (0, &same.moved[0].cells[1]));
        // A small share that grew tenfold weighs less than a large one that lost a fifth.
        let part = |n| Cell::thousandths(n, "%");
        let a_parts = table("a", &[("low", part(1_200)), ("high", part(92_000))]);
        let b_parts = table("b", &[("low", part(12_000)), ("high", part(71_000))]);
        let parts = beside(&a_parts, &b_parts).expect("cells in common");
        assert_eq!((parts.moved[0].name.as_str(), parts.moved[0].weight()), ("high", 210));
        assert_eq!(found.alone, [std::vec!["only".to_string()], std::vec![]]);
        assert_eq!(beside(&a, &table("c", &[("q", us(1))])), None);
        assert_eq!(beside(&a, &Table { kind: "other", ..b }), None);
    }
}
