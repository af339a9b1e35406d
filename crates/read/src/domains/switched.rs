//! What recorded sleeps paid for power domains.

use dormouse_base::capture::Capture;
use dormouse_base::stats::describe::middle;
use dormouse_base::time::Ns;
use dormouse_power::switched::Switched;
use std::collections::BTreeMap;

/// What the sleeps of a recording paid for domains: medians.
pub fn switched(capture: &Capture) -> Vec<Switched> {
    let mut by: BTreeMap<&str, [Vec<Ns>; 2]> = BTreeMap::new();
    for cycle in &capture.cycles {
        let mut sums: BTreeMap<(&str, bool), Ns> = BTreeMap::new();
        // At run time nobody waits for the sleep.
        for s in cycle.switches.iter().filter(|s| s.complete && s.phase.is_some()) {
            *sums.entry((capture.names.get(s.domain), s.on)).or_default() += s.duration();
        }
        for ((name, on), t) in sums {
            by.entry(name).or_default()[usize::from(on)].push(t);
        }
    }
    let one = |(name, mut times): (&str, [Vec<Ns>; 2])| {
        let sleeps = times[0].len().max(times[1].len());
        let [off, on] = times.each_mut().map(|t| middle(t, Ns::mean));
        Switched { domain: name.into(), on, off, sleeps }
    };
    by.into_iter().map(one).collect()
}
