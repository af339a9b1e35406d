//! Rows of tables: latencies that devices ask for, and shares of time that turbostat prints.

/// A row of `ltr_show` (drivers/platform/x86/intel/pmc/core.c:pmc_core_ltr_show, 4.20 to 7.3).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// Its number, which `ltr_ignore` takes; old kernels print none.
    pub index: Option<u32>,
    /// `SOUTHPORT_A`.
    pub ip: String,
    /// What it asks for, in ns, of reads that need no look into caches; 0 for nothing.
    pub non_snoop: u64,
    /// The same of all others.
    pub snoop: u64,
    /// The kernel ignores it (`LTR_IGNORE: 1`).
    pub ignored: bool,
    /// In which table of the text, from 0.
    pub table: usize,
}

/// Rows that sum up what the platform and all devices ask for: no device.
const SUMS: [&str; 3] = ["CURRENT_PLATFORM", "AGGREGATED_SYSTEM", "Reserved"];

impl Latency {
    /// The least latency that the device asks for; nothing if it asks for none, is ignored or
    /// is no device.
    pub fn asked(&self) -> Option<u64> {
        let sum = SUMS.iter().any(|s| self.ip.eq_ignore_ascii_case(s));
        let least = [self.non_snoop, self.snoop].into_iter().filter(|&n| n > 0).min();
        least.filter(|_| !sum && !self.ignored)
    }
}

/// A row of turbostat for the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// Columns and what stands below them, in thousandths.
    pub columns: Vec<(String, i64)>,
    /// In which table of the text, from 0.
    pub table: usize,
    /// How long was measured, in ms, if turbostat says (`10.931644 sec`).
    pub ms: Option<u64>,
    /// It breaks off before all states of the package are told.
    pub cut: bool,
}

impl Shares {
    /// What stands in a column.
    pub fn get(&self, name: &str) -> Option<i64> {
        self.columns.iter().find(|c| c.0 == name).map(|c| c.1)
    }

    /// Package states, the shallowest first: `8` and its share.
    pub fn package(&self) -> Vec<(u32, i64)> {
        let state = |c: &(String, i64)| {
            let n = c.0.strip_prefix("Pkg%pc").or_else(|| c.0.strip_prefix("Pk%pc"))?;
            Some((n.parse().ok()?, c.1))
        };
        let mut all: Vec<(u32, i64)> = self.columns.iter().filter_map(state).collect();
        all.sort_unstable();
        all
    }

    /// The deepest package state that took a share worth the name, and its share.
    pub fn deepest(&self) -> Option<(u32, i64)> {
        self.package().into_iter().rfind(|s| s.1 >= WORTH)
    }

    /// What the platform's own counter says, in thousandths of a per cent.
    pub fn system(&self) -> Option<i64> {
        self.get(PLATFORM).filter(|s| !is_impossible(*s))
    }
}

/// The column of turbostat that has the platform's own counter.
pub const PLATFORM: &str = "SYS%LPI";

/// No share of a time is larger, but for what two clocks differ. A counter that fell between two
/// readings gives any figure (tools/power/x86/turbostat/turbostat.c:delta_package, to 6.8).
pub(crate) fn is_impossible(thousandths: i64) -> bool {
    !(0..=110_000).contains(&thousandths)
}

/// Less than half a per cent of an interval is entering and leaving.
pub const WORTH: i64 = 500;
