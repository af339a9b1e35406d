//! What a sleep pays for a domain: it goes off inside the noirq callback of its last
//! device and comes back on inside that of its first, used or not, into and out of its
//! deepest state (drivers/pmdomain/core.c:genpd_sync_power_off, genpd_sync_power_on,
//! 6.12).

use crate::case::Case;
use crate::domain::Status;
use crate::switched::Switched;
use dormouse_base::time::Ns;
use std::collections::BTreeMap;

/// What one sleep pays for one domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The domain.
    pub domain: String,
    /// What was recorded; else the time is what its idle states say, which is not less.
    pub recorded: Option<Switched>,
    /// Off and on together.
    pub time: Ns,
    /// What it draws while it is on, if somebody says so, in millionths of a watt.
    pub microwatts: Option<u64>,
    /// Time on and time in all since boot, ms, if the text has both.
    pub on_ms: Option<(u64, u64)>,
}

impl Cost {
    /// What its switches of one sleep draw at most, nJ.
    pub fn switches_nj(&self) -> Option<u64> {
        let fj = u128::from(self.microwatts?) * self.time.0.unsigned_abs() as u128;
        u64::try_from(fj / 1_000_000).ok()
    }

    /// What an hour of sleep draws if it stays on, in millionths of a joule.
    pub fn hour_uj(&self) -> Option<u64> {
        self.microwatts?.checked_mul(3_600)
    }

    /// What it has drawn since boot, in millionths of a joule.
    pub fn since_boot_uj(&self) -> Option<u64> {
        let (on, _) = self.on_ms?;
        u64::try_from(u128::from(self.microwatts?) * u128::from(on) / 1_000).ok()
    }
}

/// Of each domain that a sleep switches, or that somebody gave watts of; dearest first.
pub fn costs(case: &Case, microwatts: &[(String, u64)]) -> Vec<Cost> {
    let mut out: BTreeMap<&str, Cost> = BTreeMap::new();
    let cost = |domain: &str| Cost {
        domain: domain.to_string(),
        recorded: None,
        time: Ns::ZERO,
        microwatts: None,
        on_ms: None,
    };
    let shown = |name: &str| {
        case.dumps.iter().rev().find_map(|d| d.domains.iter().find(|d| d.name == name))
    };
    for t in &case.states {
        let domain = shown(&t.domain);
        // Nobody visits a domain that has nothing in it.
        if t.domain.is_empty()
            || domain.is_some_and(|d| d.devices.is_empty() && d.children.is_empty() && !d.cut)
        {
            continue;
        }
        let state = match domain.map(|d| d.status) {
            // It is off already: there is the way up alone.
            Some(Status::Off(Some(n))) => t.latencies.get(n as usize),
            _ => t.latencies.last(),
        };
        let on_ms = t.active_ms.zip(t.idle_ms).map(|(on, off)| (on, on.saturating_add(off)));
        let c = out.entry(&t.domain).or_insert_with(|| cost(&t.domain));
        c.time = state.copied().unwrap_or(c.time);
        c.on_ms = on_ms.or(c.on_ms);
    }
    for s in &case.switched {
        let c = out.entry(&s.domain).or_insert_with(|| cost(&s.domain));
        c.time = s.on.unwrap_or_default() + s.off.unwrap_or_default();
        c.recorded = Some(s.clone());
    }
    for (name, uw) in microwatts {
        out.entry(name).or_insert_with(|| cost(name)).microwatts = Some(*uw);
    }
    let mut out: Vec<Cost> =
        out.into_values().filter(|c| c.time > Ns::ZERO || c.microwatts.is_some()).collect();
    out.sort_by_key(|c| std::cmp::Reverse(c.time));
    out
}

/// Names of all domains that the text has.
pub fn names(case: &Case) -> impl Iterator<Item = &str> {
    let dumps = case.dumps.iter().flat_map(|d| &d.domains).map(|d| d.name.as_str());
    let states = case.states.iter().map(|t| t.domain.as_str());
    dumps.chain(states).chain(case.switched.iter().map(|s| s.domain.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Table;

    #[test]
    fn what_was_recorded_goes_before_what_idle_states_say() {
        let ms = |n: i64| Ns(n * 1_000_000);
        let states = |name: &str| Table {
            domain: name.into(),
            latencies: [ms(3), ms(13)].into(),
            active_ms: Some(5_600),
            idle_ms: Some(120),
            ..Table::default()
        };
        let mut case = Case { states: [states("gpu"), states("cam")].into(), ..Case::default() };
        let watts = [("gpu".to_string(), 120_000)];
        let all = costs(&case, &watts);
        assert_eq!(all.iter().map(|c| c.time).collect::<Vec<_>>(), [ms(13), ms(13)]);
        let gpu = all.iter().find(|c| c.domain == "gpu").unwrap();
        // 0.12 W for 13 ms, for an hour, for 5.6 s.
        assert_eq!(gpu.switches_nj(), Some(1_560_000));
        assert_eq!(gpu.hour_uj(), Some(432_000_000));
        assert_eq!((gpu.since_boot_uj(), gpu.on_ms), (Some(672_000), Some((5_600, 5_720))));
        assert_eq!(all.iter().find(|c| c.domain == "cam").unwrap().switches_nj(), None);
        let on = Switched { domain: "gpu".into(), on: Some(ms(8)), off: None, sleeps: 3 };
        case.switched = [on.clone()].into();
        let all = costs(&case, &watts);
        let gpu = all.iter().find(|c| c.domain == "gpu").unwrap();
        assert_eq!((gpu.time, gpu.recorded.clone()), (ms(8), Some(on)));
        let most = costs(&case, &[("gpu".to_string(), u64::MAX)]);
        assert_eq!(most.iter().find(|c| c.domain == "gpu").unwrap().hour_uj(), None, "too much");
    }
}
