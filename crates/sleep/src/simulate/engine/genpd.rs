//! Power domains in the noirq phases: `genpd_finish_suspend()`,
//! `genpd_finish_resume()`, `genpd_sync_power_off()` and `genpd_sync_power_on()`
//! (drivers/pmdomain/core.c, 6.12 and 7.3; drivers/base/power/domain.c, 6.1).
//!
//! A domain is switched in the thread of the device that happens to be the last on
//! the way down or the first on the way up, under the mutex of the domain and, where
//! a parent is switched with it, under both. So its siblings queue up behind it.

use super::*;
use dormouse_base::cycle::Switch;

/// Power domains of a machine on their way through a cycle.
pub(super) struct Genpd {
    domains: Vec<Status>,
    /// What each thread is about.
    tasks: Vec<Vec<Frame>>,
}

/// A domain now.
#[derive(Clone, Copy)]
struct Status {
    on: bool,
    /// `state_idx`: the state it is off in, or was last.
    index: u32,
    /// `suspended_count`.
    suspended: u32,
    /// `sd_count`: domains inside it that are on.
    on_inside: u32,
}

/// A domain whose mutex a thread holds or waits for; one below the other for a
/// domain and its parents.
#[derive(Clone, Copy)]
struct Frame {
    domain: u32,
    /// The parent that comes next.
    parent: u32,
    /// Since when it is being switched; negative if it is not.
    since: Ns,
    /// Index of the record.
    record: u32,
}

/// A frame that does not switch.
const IDLE: Ns = Ns(-1);

impl Genpd {
    pub(super) fn new(topology: &Topology) -> Genpd {
        let mut domains: Vec<Status> = topology
            .domains
            .iter()
            .map(|d| Status { on: d.starts_on, index: d.start_index, suspended: 0, on_inside: 0 })
            .collect();
        for d in topology.domains.iter().filter(|d| d.starts_on) {
            for &p in &d.parents {
                domains[p as usize].on_inside += 1;
            }
        }
        Genpd { domains, tasks: Vec::new() }
    }
}

impl<C: CpuModel> Engine<'_, C> {
    /// The domain that the callback of `d` in this phase enters and leaves.
    #[inline]
    fn domain_of(&self, d: u32) -> Option<u32> {
        if !matches!(self.phase, Phase::Noirq | Phase::ResumeNoirq) {
            return None;
        }
        let domain = *self.topology.domain.get(d as usize)?;
        if domain == NONE {
            return None;
        }
        // device_awake_path(): not counted, so the domain stays as it is.
        let awake = self.fact(d, fact::WAKEUP) || self.has(d, state::WAKEUP_PATH);
        let stays = awake && self.topology.domains[domain as usize].active_wakeup;
        (!stays).then_some(domain)
    }

    /// On the way up the domain comes before the driver. True if there is one; the
    /// thread then goes on with [`Step::Callback`].
    #[inline]
    pub(super) fn genpd_before(&mut self, t: u32, d: u32) -> Option<Flow> {
        if self.phase != Phase::ResumeNoirq {
            return None;
        }
        let domain = self.domain_of(d)?;
        Some(self.genpd_lock(t, domain))
    }

    /// On the way down it comes after the driver.
    #[inline]
    pub(super) fn genpd_after(&mut self, t: u32, d: u32) -> Option<Flow> {
        if self.phase != Phase::Noirq {
            return None;
        }
        let domain = self.domain_of(d)?;
        Some(self.genpd_lock(t, domain))
    }

    /// Whether `t` is about a domain, not its driver.
    #[inline]
    pub(super) fn in_genpd(&self, t: u32) -> bool {
        self.genpd.tasks.get(t as usize).is_some_and(|s| !s.is_empty())
    }

    fn genpd_lock(&mut self, t: u32, domain: u32) -> Flow {
        let tasks = &mut self.genpd.tasks;
        if tasks.len() <= t as usize {
            tasks.resize_with(t as usize + 1, Vec::new);
        }
        tasks[t as usize].push(Frame { domain, parent: 0, since: IDLE, record: NONE });
        if !self.mutex_lock(t, self.topology.domain_mutex(domain), Step::GenpdLocked) {
            return Flow::Stop;
        }
        self.go(t, Step::GenpdLocked, self.costs.lock)
    }

    /// `t` has the mutex of its innermost frame.
    pub(super) fn genpd_locked(&mut self, t: u32) -> Flow {
        let Some((frame, depth)) = self.frame(t) else { return GO };
        let status = &mut self.genpd.domains[frame.domain as usize];
        let domain = &self.topology.domains[frame.domain as usize];
        if self.phase == Phase::Noirq {
            if depth == 1 {
                status.suspended += 1;
            }
            let idle = status.on
                && !domain.always_on
                && status.suspended == domain.devices
                && status.on_inside == 0;
            let deepest = |&c: &u32| {
                let deep = self.topology.domains[c as usize].states.len() as u32 - 1;
                self.genpd.domains[c as usize].index >= deep
            };
            if !idle || !domain.children.iter().all(deepest) {
                return self.genpd_unlock(t);
            }
            let deep = domain.states.len() - 1;
            self.genpd.domains[frame.domain as usize].index = deep as u32;
            return self.genpd_switch(t, domain.states[deep].0);
        }
        if status.on {
            return self.genpd_unlock(t);
        }
        self.genpd_parents(t)
    }

    /// The next parent of the innermost domain of `t`; without one it is its own
    /// turn on the way up, and the end on the way down.
    fn genpd_parents(&mut self, t: u32) -> Flow {
        let Some((frame, _)) = self.frame(t) else { return GO };
        let domain = &self.topology.domains[frame.domain as usize];
        let Some(&parent) = domain.parents.get(frame.parent as usize) else {
            if self.phase == Phase::Noirq {
                return self.genpd_unlock(t);
            }
            let index = self.genpd.domains[frame.domain as usize].index as usize;
            let on = domain.states.get(index).map_or(Ns::ZERO, |s| s.1);
            return self.genpd_switch(t, on);
        };
        if let Some(frame) = self.genpd.tasks[t as usize].last_mut() {
            frame.parent += 1;
        }
        let above = &mut self.genpd.domains[parent as usize];
        match self.phase {
            // genpd_sd_counter_dec(), genpd_sd_counter_inc(): before the mutex.
            Phase::Noirq => above.on_inside = above.on_inside.saturating_sub(1),
            _ => above.on_inside += 1,
        }
        self.genpd_lock(t, parent)
    }

    /// `t` switches its innermost domain, which takes `time`.
    fn genpd_switch(&mut self, t: u32, time: Ns) -> Flow {
        let record = self.record_switch(t);
        if let Some(frame) = self.genpd.tasks[t as usize].last_mut() {
            (frame.since, frame.record) = (self.now, record);
        }
        if time <= Ns::ZERO {
            return self.genpd_switched(t);
        }
        self.threads[t as usize].step = Step::CallbackSlept;
        C::sleep(self, t, time)
    }

    /// The innermost domain of `t` is switched.
    pub(super) fn genpd_switched(&mut self, t: u32) -> Flow {
        let Some((frame, _)) = self.frame(t) else { return GO };
        let on = self.phase == Phase::ResumeNoirq;
        self.genpd.domains[frame.domain as usize].on = on;
        if let Some(record) = self.switches.get_mut(frame.record as usize) {
            record.end = self.now;
        }
        if on { self.genpd_unlock(t) } else { self.genpd_parents(t) }
    }

    /// `t` is done with its innermost domain.
    fn genpd_unlock(&mut self, t: u32) -> Flow {
        let Some(frame) = self.genpd.tasks[t as usize].pop() else { return GO };
        let last = self.genpd.tasks[t as usize].is_empty();
        if last && self.phase == Phase::ResumeNoirq {
            let status = &mut self.genpd.domains[frame.domain as usize];
            status.suspended = status.suspended.saturating_sub(1);
        }
        C::mutex_unlock(self, self.topology.domain_mutex(frame.domain));
        if !last {
            return self.genpd_parents(t);
        }
        let next = match self.phase {
            Phase::Noirq => Step::CallbackEnd,
            _ => Step::Driver,
        };
        self.go(t, next, Ns::ZERO)
    }

    /// The innermost domain of `t`, and how many it holds.
    fn frame(&self, t: u32) -> Option<(Frame, usize)> {
        let stack = self.genpd.tasks.get(t as usize)?;
        Some((*stack.last()?, stack.len()))
    }

    fn record_switch(&mut self, t: u32) -> u32 {
        let Some((frame, _)) = self.frame(t).filter(|_| self.records) else { return NONE };
        self.switches.push(Switch {
            domain: self.topology.domains[frame.domain as usize].name,
            on: self.phase == Phase::ResumeNoirq,
            phase: Some(self.phase),
            device: Some(DeviceId(self.threads[t as usize].device)),
            thread: ThreadId(t.min(u32::from(u16::MAX)) as u16),
            start: self.now,
            end: self.now,
            complete: true,
        });
        self.switches.len() as u32 - 1
    }
}
