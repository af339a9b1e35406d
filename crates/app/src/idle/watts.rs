//! Power by state, as a person gives it.

use crate::failure::Usage;
use anyhow::{Context, Result};
use dormouse_idle::energy::Powers;
use dormouse_idle::state::{ONLY_S2IDLE, Table};
use std::path::Path;

/// Powers in microwatts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watts {
    /// By name of the state, for one CPU.
    by_name: Vec<(String, i64)>,
    /// Of a CPU at work.
    active: Option<i64>,
    /// Of all that is no CPU.
    base: i64,
    /// By cluster (first CPU) and number of the state.
    by_cluster: Vec<(u32, Vec<i64>)>,
    /// Where the figures are from.
    source: String,
}

/// Columns of the tables that Perfetto's Wattson ships, in mW.
const WATTSON: &str = "device,policy,freq_khz,static,active,idle0,idle1";

impl Watts {
    /// `POLL=3W,C1=800mW,C6=50mW,active=4W,base=2W`, or a file of Wattson's
    /// (`Tensor-cpu_1d.csv`), whose lowest frequency counts.
    ///
    /// # Errors
    /// [`Usage`] for what is neither, or if the file cannot be read.
    pub fn parse(text: &str) -> Result<Watts> {
        if !text.contains('=') {
            return Watts::file(Path::new(text));
        }
        let mut out = Watts { source: "--watts".into(), ..Watts::default() };
        for part in text.split(',') {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let uw = microwatts(value)
                .ok_or_else(|| Usage(format!("{part}: power is said as C1=800mW or C1=0.8W")))?;
            match name {
                "active" => out.active = Some(uw),
                "base" => out.base = uw,
                _ => out.by_name.push((name.into(), uw)),
            }
        }
        Ok(out)
    }

    fn file(path: &Path) -> Result<Watts> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let mut lines = text.lines();
        let odd = |line: &str| {
            Usage(format!("{}: not a table of Wattson's ({WATTSON}): {line}", path.display()))
        };
        if lines.next().map(str::trim) != Some(WATTSON) {
            return Err(odd("its first line names other columns").into());
        }
        let mut rows: Vec<(u32, u64, i64, [i64; 2])> = Vec::new();
        for line in lines.filter(|l| !l.trim().is_empty()) {
            let cells: Vec<&str> = line.trim().split(',').collect();
            let uw = |i: usize| cells.get(i).and_then(|c| decimal(c, 1_000));
            let (Some(policy), Some(khz), Some(active), Some(a), Some(b)) = (
                cells.get(1).and_then(|c| c.parse().ok()),
                cells.get(2).and_then(|c| c.parse().ok()),
                uw(4),
                uw(5),
                uw(6),
            ) else {
                return Err(odd(line).into());
            };
            rows.push((policy, khz, active, [a, b]));
        }
        rows.sort_by_key(|r| (r.0, r.1));
        rows.dedup_by_key(|r| r.0);
        let slowest = rows.iter().map(|r| format!("{} kHz", r.1)).collect::<Vec<_>>().join(", ");
        let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        let active = rows.iter().map(|r| r.2).max();
        let by_cluster = rows.into_iter().map(|r| (r.0, r.3.to_vec())).collect();
        let source = format!("{name} at {slowest}");
        Ok(Watts { by_cluster, active, source, ..Watts::default() })
    }

    /// Where the figures are from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Of a CPU at work, microwatts; none if not given.
    pub fn active(&self) -> Option<i64> {
        self.active
    }

    /// Of all that is no CPU, microwatts.
    pub fn base(&self) -> i64 {
        self.base
    }

    /// Powers of the states of one CPU.
    ///
    /// # Errors
    /// [`Usage`] if a state has no power, or a deeper one has more.
    pub fn of(&self, cpu: u32, table: &Table) -> Result<Powers> {
        let cluster = self.by_cluster.iter().rev().find(|c| c.0 <= cpu);
        let mut list = Vec::new();
        for (i, s) in table.states().iter().enumerate() {
            let named = self.by_name.iter().find(|n| n.0 == s.name).map(|n| n.1);
            let found = named.or_else(|| cluster.and_then(|c| c.1.get(i).copied()));
            // No CPU that is in use enters it.
            let never = (s.residency / 1_000).unsigned_abs() >= ONLY_S2IDLE;
            let found = found.or(list.last().copied().filter(|_| never));
            let Some(uw) = found else {
                return Err(
                    Usage(format!("--watts says nothing of {} of CPU {cpu}", s.name)).into()
                );
            };
            list.push(uw);
        }
        Powers::given(table, &list).ok_or_else(|| {
            Usage(format!("--watts: a deeper state of CPU {cpu} needs more than a shallower one"))
                .into()
        })
    }
}

/// `12W`, `0.8W`, `800mW`, `50uW`: in microwatts.
pub fn microwatts(text: &str) -> Option<i64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let unit = match &text[end..] {
        "W" => 1_000_000,
        "mW" => 1_000,
        "uW" => 1,
        _ => return None,
    };
    decimal(&text[..end], unit)
}

/// A decimal number times `unit`, without rounding errors of a float.
fn decimal(text: &str, unit: i64) -> Option<i64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if whole.is_empty() && part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let mut sum =
        if whole.is_empty() { 0 } else { whole.parse::<i64>().ok()?.checked_mul(unit)? };
    if sum < 0 {
        return None;
    }
    let mut worth = unit;
    for b in part.bytes() {
        worth /= 10;
        sum = sum.checked_add(i64::from(b - b'0') * worth)?;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_idle::state::State;

    #[test]
    fn a_state_of_suspend_to_idle_needs_no_power() {
        let state = |name: &str, residency: i64| State {
            name: name.into(),
            latency: 1_000,
            residency: residency * 1_000,
            ..State::default()
        };
        let of = |deep: State| {
            let table = Table::new(vec![state("WFI", 1), deep]).expect("a table");
            Watts::parse("WFI=800mW").expect("watts").of(0, &table)
        };
        assert!(of(state("off", 500)).is_err());
        let powers = of(state("s2idle", i64::from(u32::MAX))).expect("powers");
        assert_eq!(powers.power(1), 800_000);
    }

    #[test]
    fn powers_are_whole_microwatts() {
        assert_eq!(microwatts("12W"), Some(12_000_000));
        assert_eq!(microwatts("0.8W"), Some(800_000));
        assert_eq!(microwatts("6.76mW"), Some(6_760));
        assert_eq!(microwatts(".5mW"), Some(500));
        for bad in ["", "W", "12", "-1W", "1e3W", "1.2.3W", "99999999999999999999W"] {
            assert_eq!(microwatts(bad), None, "{bad}");
        }
    }
}
