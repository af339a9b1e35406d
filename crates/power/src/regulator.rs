//! A regulator as `regulator_summary` of debugfs lists it
//! (drivers/regulator/core.c:regulator_summary_show_subtree).

use dormouse_base::beside::{self, Cell};

/// A regulator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Regulator {
    /// Line of the text, from 1.
    pub line: u64,
    /// Its name.
    pub name: String,
    /// Place of its supply in the table.
    pub parent: Option<usize>,
    /// How often it is enabled.
    pub used: u64,
    /// How many have it open.
    pub open: u64,
    /// Its voltage in mV, if the text has it.
    pub millivolts: Option<u64>,
    /// Devices that have it open, and how often each enabled it; not known before 4.20.
    pub consumers: Vec<(String, Option<u64>)>,
}

/// One table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Line of its head, from 1.
    pub line: u64,
    /// Regulators, supplies before those that they feed.
    pub regulators: Vec<Regulator>,
    /// Lines are left out in the text.
    pub cut: bool,
}

impl Table {
    /// Uses and voltages, as a table.
    pub fn table(&self) -> beside::Table {
        let mut cells = Vec::new();
        for r in &self.regulators {
            cells.push((format!("{}, uses", r.name), Cell::whole(r.used, "")));
            let volts = r.millivolts.map(|mv| Cell::whole(mv, "mV"));
            cells.extend(volts.map(|mv| (format!("{}, voltage", r.name), mv)));
            // A consumer may have a supply open more than once.
            let mut by: Vec<(&str, u64)> = Vec::new();
            for (name, uses) in &r.consumers {
                let Some(uses) = uses else { continue };
                match by.iter_mut().find(|b| b.0 == name) {
                    Some(b) => b.1 = b.1.saturating_add(*uses),
                    None => by.push((name, *uses)),
                }
            }
            let users = by.into_iter();
            cells.extend(users.map(|(c, n)| (format!("{} / {c}", r.name), Cell::whole(n, ""))));
        }
        beside::Table { kind: "regulator_summary", label: format!("line {}", self.line), cells }
    }

    /// How many are on.
    pub fn on(&self) -> usize {
        self.regulators.iter().filter(|r| r.used > 0).count()
    }

    fn fed(&self) -> Vec<Vec<usize>> {
        let mut out = std::vec![Vec::new(); self.regulators.len()];
        for (i, r) in self.regulators.iter().enumerate() {
            if let Some(p) = r.parent {
                out[p].push(i);
            }
        }
        out
    }

    /// Regulators that are on, with the places of those that they feed and that
    /// are on too.
    pub fn held(&self) -> Vec<(usize, Vec<usize>)> {
        let fed = self.fed();
        let on = |i: &usize| self.regulators[*i].used > 0;
        (0..self.regulators.len())
            .filter(on)
            .map(|i| (i, fed[i].iter().copied().filter(|c| on(c)).collect()))
            .collect()
    }

    /// Places of those that nobody has enabled.
    pub fn unused(&self) -> Vec<usize> {
        (0..self.regulators.len()).filter(|&i| self.regulators[i].used == 0).collect()
    }
}
