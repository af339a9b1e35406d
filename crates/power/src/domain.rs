//! A power domain as `pm_genpd_summary` of debugfs lists it
//! (drivers/pmdomain/core.c:genpd_summary_one, 6.12; drivers/base/power/domain.c
//! before 6.5), and why it is on.

use dormouse_base::beside::{Cell, Table};
use dormouse_base::finding::Evidence;
use std::collections::BTreeMap;

/// Whether a domain is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It is.
    On,
    /// It is off, in this idle state, if the text says.
    Off(Option<u32>),
}

impl Status {
    /// `on`, `off-0`.
    pub fn told(self) -> String {
        match self {
            Status::On => "on".into(),
            Status::Off(None) => "off".into(),
            Status::Off(Some(state)) => format!("off-{state}"),
        }
    }

    /// Of the second column: `on`, `off-0`, `off`.
    pub fn of(word: &str) -> Option<Status> {
        match word {
            "on" => Some(Status::On),
            "off" => Some(Status::Off(None)),
            _ => Some(Status::Off(Some(word.strip_prefix("off-")?.parse().ok()?))),
        }
    }
}

/// Status of a device's runtime power management.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// In use.
    Active,
    /// On its way up.
    Resuming,
    /// Suspended.
    Suspended,
    /// On its way down.
    Suspending,
    /// Runtime power management is disabled, so it never suspends.
    Unsupported,
    /// Its last suspend or resume failed.
    Error,
}

impl Runtime {
    /// Every status with the word of the table.
    pub const ALL: [(Runtime, &'static str); 6] = [
        (Runtime::Active, "active"),
        (Runtime::Resuming, "resuming"),
        (Runtime::Suspended, "suspended"),
        (Runtime::Suspending, "suspending"),
        (Runtime::Unsupported, "unsupported"),
        (Runtime::Error, "error"),
    ];

    /// Of a word.
    pub fn of(word: &str) -> Option<Runtime> {
        Runtime::ALL.iter().find(|(_, w)| *w == word).map(|(r, _)| *r)
    }

    /// The word.
    pub fn name(self) -> &'static str {
        Runtime::ALL.iter().find(|(r, _)| *r == self).map_or("", |(_, w)| w)
    }
}

/// A device in a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Line of the text, from 1.
    pub line: u64,
    /// Its name, or its whole path in `/sys` before 6.10.
    pub path: String,
    /// Its runtime status.
    pub runtime: Runtime,
    /// Performance state that it asks for.
    pub performance: Option<u64>,
    /// Its power is switched by hardware; known from 6.10 on.
    pub hardware: Option<bool>,
}

impl Device {
    /// Its name without folders.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// A domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    /// Line of the text, from 1.
    pub line: u64,
    /// The line.
    pub text: String,
    /// Its name.
    pub name: String,
    /// On or off.
    pub status: Status,
    /// Its performance state.
    pub performance: Option<u64>,
    /// Names of the domains inside it.
    pub children: Vec<String>,
    /// Devices in it that have a driver.
    pub devices: Vec<Device>,
    /// Lines of it are left out in the text.
    pub cut: bool,
}

impl Domain {
    /// The line as evidence.
    pub fn evidence(&self) -> Evidence {
        Evidence { line: self.line, time: None, text: self.text.clone(), doubtful: false }
    }
}

/// One table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dump {
    /// Line of its head, from 1.
    pub line: u64,
    /// Domains in its order: the newest first.
    pub domains: Vec<Domain>,
    /// Domains are left out in the text.
    pub cut: bool,
}

impl Dump {
    /// Status of its domains and of the devices in them, as a table.
    pub fn table(&self) -> Table {
        let mut cells = Vec::new();
        for d in &self.domains {
            let status = match d.status {
                Status::On => "on".to_owned(),
                Status::Off(None) => "off".to_owned(),
                Status::Off(Some(n)) => format!("off-{n}"),
            };
            cells.push((d.name.clone(), Cell::Word(status)));
            let performance = d.performance.map(|n| Cell::whole(n, ""));
            cells.extend(performance.map(|n| (format!("{}, performance state", d.name), n)));
            for x in &d.devices {
                let name = format!("{} / {}", d.name, x.name());
                cells.push((name, Cell::Word(x.runtime.name().into())));
            }
        }
        Table { kind: "pm_genpd_summary", label: format!("line {}", self.line), cells }
    }
}

/// Why a domain is on, by what the dump shows. Numbers are places in its lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Devices in use, or on their way.
    pub active: Vec<usize>,
    /// Devices without runtime power management: they never let it go.
    pub unsupported: Vec<usize>,
    /// Devices whose runtime power management failed.
    pub failed: Vec<usize>,
    /// Children that are on, as places in the dump.
    pub children_on: Vec<usize>,
    /// Children that are off.
    pub children_off: Vec<usize>,
    /// Children, devices or lines that the text does not show.
    pub unseen: bool,
}

impl Held {
    /// Whether something that the dump shows keeps it on.
    pub fn explained(&self) -> bool {
        !(self.active.is_empty()
            && self.unsupported.is_empty()
            && self.failed.is_empty()
            && self.children_on.is_empty())
    }

    /// Whether only devices that can never suspend keep it on.
    pub(crate) fn only_unsupported(&self) -> bool {
        !self.unsupported.is_empty()
            && self.active.is_empty()
            && self.failed.is_empty()
            && self.children_on.is_empty()
    }
}

impl Dump {
    /// Where each name stands; the first of equal ones.
    fn places(&self) -> BTreeMap<&str, usize> {
        let mut out = BTreeMap::new();
        for (i, d) in self.domains.iter().enumerate() {
            out.entry(d.name.as_str()).or_insert(i);
        }
        out
    }

    /// Why each domain is on, in the order of the dump. A domain that names itself
    /// or an ancestor as its child is no reason for itself.
    pub fn held(&self) -> Vec<Held> {
        let places = self.places();
        let held = |(at, d): (usize, &Domain)| {
            let mut out = Held { unseen: d.cut, ..Held::default() };
            if d.status != Status::On {
                return out;
            }
            for (i, device) in d.devices.iter().enumerate() {
                match device.runtime {
                    Runtime::Active | Runtime::Resuming | Runtime::Suspending => out.active.push(i),
                    Runtime::Unsupported => out.unsupported.push(i),
                    Runtime::Error => out.failed.push(i),
                    Runtime::Suspended => {}
                }
            }
            for child in &d.children {
                match places.get(child.as_str()) {
                    Some(&c) if c == at => {}
                    Some(&c) if self.domains[c].status == Status::On => out.children_on.push(c),
                    Some(&c) => out.children_off.push(c),
                    // Children are printed by their name, and domains of firmware with
                    // names of their own stand under another one.
                    None => out.unseen = true,
                }
            }
            out
        };
        self.domains.iter().enumerate().map(held).collect()
    }

    /// Places of the domains that no other one names as its child.
    pub(crate) fn tops(&self) -> Vec<usize> {
        let places = self.places();
        let mut below = std::vec![false; self.domains.len()];
        for (at, d) in self.domains.iter().enumerate() {
            for c in d.children.iter().filter_map(|c| places.get(c.as_str())) {
                below[*c] |= *c != at;
            }
        }
        (0..self.domains.len()).filter(|&i| !below[i]).collect()
    }

    /// The tree as lines: place and depth, parents first, each domain once. Domains
    /// that only stand in a circle of parents come at the end.
    pub fn tree(&self) -> Vec<(usize, usize)> {
        let places = self.places();
        let mut seen = std::vec![false; self.domains.len()];
        let mut out = Vec::new();
        let mut open: Vec<(usize, usize)> = Vec::new();
        for start in self.tops().into_iter().chain(0..self.domains.len()) {
            open.push((start, 0));
            while let Some((at, depth)) = open.pop() {
                if std::mem::replace(&mut seen[at], true) {
                    continue;
                }
                out.push((at, depth));
                let children = self.domains[at].children.iter().rev();
                open.extend(children.filter_map(|c| Some((*places.get(c.as_str())?, depth + 1))));
            }
        }
        out
    }
}

/// `failed to add to PM domain X` (genpd: __genpd_dev_pm_attach).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachFailed {
    /// The device.
    pub device: String,
    /// The domain.
    pub domain: String,
    /// The error as the text has it: `-ENOENT`, `-2`.
    pub error: String,
    /// The line.
    pub evidence: Evidence,
}

/// `PM domain X will not be powered off` (drivers/pmdomain/core.c:
/// irq_safe_dev_in_sleep_domain, said once for each device).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unswitched {
    /// The device.
    pub device: String,
    /// The domain.
    pub domain: String,
    /// The line.
    pub evidence: Evidence,
}

/// A domain or a clock that was told to switch and did not, in the words of whoever switches
/// it: drivers/clk/qcom/gdsc.c:gdsc_toggle_logic, drivers/clk/qcom/clk-branch.c,
/// drivers/pmdomain/imx/gpcv2.c:imx_pgc_power_up, drivers/pmdomain/rockchip/pm-domains.c.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Its name; empty if the text does not say.
    pub name: String,
    /// The device whose driver says so; empty if none is named.
    pub device: String,
    /// It is a clock.
    pub clock: bool,
    /// Whether it was to go on; nothing if the text does not say.
    pub on: Option<bool>,
    /// The error, if the text has one.
    pub error: Option<i32>,
    /// A sentence of a person tells it, of a line that it quotes or of an earlier time.
    pub told: bool,
    /// The line.
    pub evidence: Evidence,
}
