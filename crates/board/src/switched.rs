//! Power domains of a recorded machine: what switching each of them takes, and how much
//! of a callback's time was that (drivers/pmdomain/core.c:genpd_finish_suspend,
//! genpd_finish_resume).

use super::Board;
use super::domain::{Domain, State};
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use dormouse_model::capture::Capture;
use dormouse_model::cycle::{Callback, Cycle, Switch};
use dormouse_model::names::Sym;
use dormouse_model::phase::Phase;
use dormouse_model::time::Ns;
use dormouse_stats::describe::middle;

/// Domains inside each other, at most: more than any chip has.
const DEEPEST: usize = 64;

/// A callback that waited for a domain to go off ends so soon after it.
const AT_ONCE: Ns = Ns(100_000);

/// Domains of a recording, parents first.
pub(super) struct Switched {
    domains: Vec<Domain>,
    /// Domain of each device of the capture, and whether it has no runtime PM.
    users: BTreeMap<u32, (u32, bool)>,
}

/// Switches of one cycle, by domain, in order of time.
pub(super) type Times<'a> = BTreeMap<Sym, Vec<&'a Switch>>;

/// Whether a switch counts: one of a sleep's noirq phases, begin and end seen.
fn counts(s: &&Switch) -> bool {
    let expected = if s.on { Phase::ResumeNoirq } else { Phase::Noirq };
    s.complete && s.phase == Some(expected)
}

impl Switched {
    /// The domains that `cycles` of `capture` switch, and those that stay on. None if
    /// the recording does not list domains, or does not say when they are switched.
    pub(super) fn of(capture: &Capture, cycles: &[&Cycle]) -> Option<Switched> {
        let mut seen: BTreeMap<Sym, [Vec<Ns>; 2]> = BTreeMap::new();
        for s in cycles.iter().flat_map(|c| &c.switches).filter(counts) {
            seen.entry(s.domain).or_default()[usize::from(s.on)].push(s.duration());
        }
        if seen.is_empty() || capture.domains.is_empty() {
            return None;
        }
        let listed = &capture.domains;
        // One that is off and is not switched has no user: nothing depends on it.
        let kept: Vec<usize> = (0..listed.len())
            .filter(|&n| listed[n].on || seen.contains_key(&listed[n].name))
            .collect();
        let number: BTreeMap<Sym, usize> =
            kept.iter().enumerate().map(|(n, &at)| (listed[at].name, n)).collect();
        let mut parents = vec![Vec::new(); kept.len()];
        for (n, &at) in kept.iter().enumerate() {
            for inside in listed[at].inside.iter().filter_map(|name| number.get(name)) {
                parents[*inside].push(n);
            }
        }
        let order = parents_first(&parents);
        let mut new = vec![0u32; kept.len()];
        for (to, &from) in order.iter().enumerate() {
            new[from] = to as u32;
        }
        let domains = order.iter().map(|&n| {
            let name = listed[kept[n]].name;
            let mut times = seen.remove(&name);
            let mut time = |on: usize| -> Ns {
                times.as_mut().and_then(|t| middle(&mut t[on], Ns::mean)).unwrap_or_default()
            };
            let (off, on) = (time(0), time(1));
            let went_off = times.as_ref().map_or(0, |t| t[0].len());
            let mut above: Vec<u32> =
                parents[n].iter().map(|&p| new[p]).filter(|&p| p < new[n]).collect();
            above.sort_unstable();
            above.dedup();
            Domain {
                name,
                parents: above,
                states: vec![State { off, on, residency: Ns::ZERO }],
                always_on: times.is_none(),
                // It is on when a sleep begins if most sleeps switch it off.
                start: times.is_some().then_some((went_off * 2 < cycles.len()).then_some(0)),
                ..Domain::default()
            }
        });
        let domains: Vec<Domain> = domains.collect();
        let users = kept.iter().enumerate().flat_map(|(n, &at)| {
            let to = new[n];
            listed[at].users.iter().map(move |u| (u.device.0, (to, u.unsupported)))
        });
        Some(Switched { domains, users: users.collect() })
    }

    /// The switches of a cycle.
    pub(super) fn times<'a>(&self, cycle: &'a Cycle) -> Times<'a> {
        let mut times = Times::new();
        for s in cycle.switches.iter().filter(counts) {
            times.entry(s.domain).or_default().push(s);
        }
        times
    }

    /// How much of the time of a callback domains were switched in it, or it waited for
    /// another device that switched one.
    pub(super) fn part(&self, c: &Callback, times: &Times<'_>) -> Ns {
        if !matches!(c.phase, Phase::Noirq | Phase::ResumeNoirq) {
            return Ns::ZERO;
        }
        let Some(&(domain, _)) = self.users.get(&c.device.0) else { return Ns::ZERO };
        let mut sum = Ns::ZERO;
        for n in self.upward(domain) {
            let list = times.get(&self.domains[n as usize].name).map_or(&[][..], |l| l);
            // A domain is switched once at a time: ends are in order too.
            let from = list.partition_point(|s| s.end <= c.start);
            for s in list[from..].iter().take_while(|s| s.start < c.end) {
                let over = s.end.min(c.end).since(s.start.max(c.start));
                // On the way up the domain comes before the driver. On the way down it
                // comes behind: who only runs beside it does not wait.
                let waits = c.phase == Phase::ResumeNoirq
                    || s.thread == c.thread
                    || (s.end <= c.end && c.end.since(s.end) < AT_ONCE);
                if waits {
                    sum += over;
                }
            }
        }
        sum.min(c.duration())
    }

    /// A domain and those that it is in.
    fn upward(&self, domain: u32) -> Vec<u32> {
        let mut all = vec![domain];
        let mut at = 0;
        while at < all.len() && all.len() < DEEPEST {
            for &p in &self.domains[all[at] as usize].parents {
                if !all.contains(&p) {
                    all.push(p);
                }
            }
            at += 1;
        }
        all
    }

    /// Gives the board its domains; `place` says where each device of the capture is.
    pub(super) fn put(self, board: &mut Board, place: &[u32]) {
        board.domains = self.domains;
        for (device, (domain, unsupported)) in self.users {
            let Some(&at) = place.get(device as usize) else { continue };
            let Some(b) = board.devices.get_mut(at as usize) else { continue };
            b.domain = Some(domain);
            b.rpm_disabled = unsupported;
        }
    }
}

/// An order in which parents come first; a circle is cut where it closes.
fn parents_first(parents: &[Vec<usize>]) -> Vec<usize> {
    let mut order = Vec::with_capacity(parents.len());
    // 0 not seen, 1 on the way, 2 done.
    let mut state = vec![0u8; parents.len()];
    let mut stack = Vec::new();
    for root in 0..parents.len() {
        stack.push((root, 0));
        while let Some((at, next)) = stack.pop() {
            if next == 0 {
                if state[at] != 0 {
                    continue;
                }
                state[at] = 1;
            }
            match parents[at].get(next) {
                Some(&p) => {
                    stack.push((at, next + 1));
                    if state[p] == 0 {
                        stack.push((p, 0));
                    }
                }
                None => {
                    state[at] = 2;
                    order.push(at);
                }
            }
        }
    }
    order
}
