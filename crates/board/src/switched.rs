//! Power domains of a recorded machine: what switching each of them takes, and how much
//! of a callback's time was that (drivers/pmdomain/core.c:genpd_finish_suspend,
//! genpd_finish_resume).

use super::Board;
use super::domain::{Domain, State};
use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Callback, Cycle, Switch};
use dormouse_base::names::Sym;
use dormouse_base::phase::Phase;
use dormouse_base::power_domain::{PowerDomain, User};
use dormouse_base::stats::describe::middle;
use dormouse_base::time::Ns;

/// Domains inside each other, at most: more than any chip has.
const DEEPEST: usize = 64;

/// A callback that waited for a domain to go off ends so soon after it.
const AT_ONCE: Ns = Ns(100_000);

/// No place.
const NONE: u32 = u32::MAX;

/// Domains of a recording, parents first.
pub(super) struct Switched {
    domains: Vec<Domain>,
    /// Place of a domain by its name, or [`NONE`].
    place: Vec<u32>,
    /// Domain of each device of the capture, or [`NONE`].
    domain: Vec<u32>,
    /// Whether a device has no runtime PM.
    unsupported: Vec<bool>,
}

/// Switches of one cycle, by place of the domain, in order of time.
pub(super) type Times<'a> = Vec<Vec<&'a Switch>>;

/// Whether a switch counts: one of a sleep's noirq phases, begin and end seen.
fn counts(s: &&Switch) -> bool {
    let expected = if s.on { Phase::ResumeNoirq } else { Phase::Noirq };
    s.complete && s.phase == Some(expected)
}

impl Switched {
    /// The domains that `cycles` of `capture` switch, and those that stay on. None if
    /// the recording does not list domains, or does not say when they are switched.
    pub(super) fn of(capture: &Capture, cycles: &[&Cycle]) -> Option<Switched> {
        let listed = &capture.domains;
        let mut number = vec![NONE; capture.names.len()];
        for (d, n) in listed.iter().zip(0..) {
            *number.get_mut(d.name.0 as usize)? = n;
        }
        let find = |name: Sym| number.get(name.0 as usize).copied().filter(|&n| n != NONE);
        let mut seen = vec![[const { Vec::new() }; 2]; listed.len()];
        for s in cycles.iter().flat_map(|c| &c.switches).filter(counts) {
            if let Some(n) = find(s.domain) {
                seen[n as usize][usize::from(s.on)].push(s.duration());
            }
        }
        let switched: Vec<bool> =
            seen.iter().map(|t| t.iter().any(|times| !times.is_empty())).collect();
        if !switched.contains(&true) {
            return None;
        }
        let mut parents = vec![Vec::new(); listed.len()];
        for (n, d) in listed.iter().enumerate() {
            for inside in d.inside.iter().filter_map(|&name| find(name)) {
                parents[inside as usize].push(n);
            }
        }
        order_parents(&mut parents, cycles, find);
        // One that is off and is not switched has no user: nothing depends on it.
        let mut order = parents_first(&parents);
        order.retain(|&n| listed[n].on || switched[n]);
        let mut new = vec![NONE; listed.len()];
        for (&from, to) in order.iter().zip(0..) {
            new[from] = to;
        }
        let mut domains = Vec::with_capacity(order.len());
        for &n in &order {
            let known = switched[n];
            let times = &mut seen[n];
            let went_off = times[0].len();
            let [off, on] = [0, 1].map(|i| middle(&mut times[i], Ns::mean).unwrap_or_default());
            let mut above: Vec<u32> = Vec::new();
            for p in parents[n].iter().map(|&p| new[p]).filter(|&p| p < new[n]) {
                if !above.contains(&p) {
                    above.push(p);
                }
            }
            let starts_on = went_off * 2 >= cycles.len();
            domains.push(Domain {
                name: listed[n].name,
                parents: above,
                states: vec![State { off, on, residency: Ns::ZERO }],
                always_on: !known,
                rpm_always_on: known && starts_on && is_kept_on(capture, &listed[n]),
                // It is on when a sleep begins if most sleeps switch it off.
                start: known.then_some((!starts_on).then_some(0)),
                ..Domain::default()
            });
        }
        let devices = capture.graph.devices.len();
        let (mut domain, mut unsupported) = (vec![NONE; devices], vec![false; devices]);
        for (d, &to) in listed.iter().zip(&new) {
            for u in d.users.iter().filter(|u| u.device.index() < devices) {
                domain[u.device.index()] = to;
                unsupported[u.device.index()] = u.unsupported;
            }
        }
        let mut place = number;
        place.iter_mut().filter(|p| **p != NONE).for_each(|p| *p = new[*p as usize]);
        Some(Switched { domains, place, domain, unsupported })
    }

    /// The switches of a cycle.
    pub(super) fn times<'a>(&self, cycle: &'a Cycle) -> Times<'a> {
        let mut times = vec![Vec::new(); self.domains.len()];
        for s in cycle.switches.iter().filter(counts) {
            let place = self.place.get(s.domain.0 as usize).copied().unwrap_or(NONE);
            if let Some(list) = times.get_mut(place as usize) {
                list.push(s);
            }
        }
        times
    }

    /// How much of the time of a callback domains were switched in it, or it waited for
    /// another device that switched one.
    pub(super) fn part(&self, c: &Callback, times: &[Vec<&Switch>]) -> Ns {
        if !matches!(c.phase, Phase::Noirq | Phase::ResumeNoirq) {
            return Ns::ZERO;
        }
        let domain = self.domain.get(c.device.index()).copied().unwrap_or(NONE);
        if domain == NONE {
            return Ns::ZERO;
        }
        let mut sum = Ns::ZERO;
        for n in self.upward(domain) {
            let list = &times[n as usize];
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
        let users = self.domain.iter().zip(&self.unsupported).zip(place);
        for ((&domain, &unsupported), &at) in users {
            if domain == NONE {
                continue;
            }
            let Some(b) = board.devices.get_mut(at as usize) else { continue };
            b.domain = Some(domain);
            b.rpm_disabled = unsupported;
        }
    }
}

/// Whether something that no file tells keeps a domain on at run time: all that is in it
/// is suspended. That is mostly GENPD_FLAG_RPM_ALWAYS_ON, or from 6.17 on a wait for
/// sync_state; a governor that has to obey a QoS would do the same.
fn is_kept_on(capture: &Capture, domain: &PowerDomain) -> bool {
    let asleep = |u: &User| {
        let device = capture.graph.devices.get(u.device.index());
        let status = device.map_or("", |d| capture.names.get(d.facts.runtime_status));
        !u.unsupported && status == "suspended"
    };
    domain.on
        && domain.inside.is_empty()
        && !domain.users.is_empty()
        && domain.users.iter().all(asleep)
}

/// Puts the parents of each domain in the order in which a kernel switches them on, which
/// no file tells: genpd_power_on() takes them one after the other, so a thread shows it
/// that has waited for one parent before it switched another, or has not waited
/// (drivers/pmdomain/core.c, 6.12 and 7.3). What nothing shows stays as it was.
fn order_parents(parents: &mut [Vec<usize>], cycles: &[&Cycle], find: impl Fn(Sym) -> Option<u32>) {
    let several: Vec<usize> = (0..parents.len()).filter(|&n| parents[n].len() > 1).collect();
    if several.is_empty() {
        return;
    }
    // For each of them and each of its parents: how many others came before.
    let mut after: Vec<Vec<usize>> = several.iter().map(|&n| vec![0; parents[n].len()]).collect();
    for cycle in cycles {
        let mut on: Vec<Option<&Switch>> = vec![None; parents.len()];
        for s in cycle.switches.iter().filter(counts).filter(|s| s.on) {
            if let Some(n) = find(s.domain) {
                on[n as usize] = Some(s);
            }
        }
        for (&n, after) in several.iter().zip(&mut after) {
            let Some(own) = on[n] else { continue };
            for (at, &b) in parents[n].iter().enumerate() {
                let switched = on[b].filter(|s| s.thread == own.thread && s.end <= own.start);
                let Some(b) = switched else { continue };
                for (other, &a) in parents[n].iter().enumerate().filter(|(i, _)| *i != at) {
                    let Some(a) = on[a] else { continue };
                    if a.end > b.start {
                        // Had it come before, the thread had waited until it was on.
                        after[other] += 1;
                    } else if a.thread == b.thread || b.start.since(a.end) < AT_ONCE {
                        after[at] += 1;
                    }
                }
            }
        }
    }
    for (n, after) in several.into_iter().zip(after) {
        let mut order: Vec<(usize, usize)> = after.into_iter().zip(parents[n].clone()).collect();
        order.sort_by_key(|&(after, _)| after);
        parents[n] = order.into_iter().map(|(_, p)| p).collect();
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
