//! A disk that serves one request after another while devfreq, quality of
//! service and runtime suspend act on it.
//!
//! Between requests nothing happens but looks of the governor and time-outs, so
//! these are caught up with when a request arrives or ends: the cost is linear in
//! requests and looks.

use super::ondemand::{MOST, Status, wanted};
use super::settings::{Load, Qos, Settings};
use crate::summary::Latency;
use alloc::vec;
use alloc::vec::Vec;

/// What came of a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Latency of each request in order of arrival, ns.
    pub latencies: Vec<i64>,
    /// Time at each clock, ns, in the order of the levels; time asleep is not in
    /// it.
    pub at_clock: Vec<i64>,
    /// Time asleep, ns.
    pub asleep: i64,
    /// Changes of the clock.
    pub changes: u64,
    /// Resumes.
    pub resumes: u64,
    /// Bytes served.
    pub bytes: u64,
    /// From the first arrival to the last completion, ns.
    pub span: i64,
}

impl Outcome {
    /// Latency in figures.
    pub fn latency(&self) -> Latency {
        Latency::of(&mut self.latencies.clone())
    }

    /// Bytes a second.
    pub fn bandwidth(&self) -> u64 {
        if self.span <= 0 {
            return 0;
        }
        let b = u128::from(self.bytes) * 1_000_000_000 / self.span.unsigned_abs() as u128;
        u64::try_from(b).unwrap_or(u64::MAX)
    }
}

struct Disk<'a> {
    s: &'a Settings,
    out: Outcome,
    /// Up to here everything is accounted for.
    now: i64,
    level: usize,
    /// The clock will be at this level then.
    changing: Option<(i64, usize)>,
    next_look: i64,
    /// Begin of the governor's window, and busy time in it.
    window: i64,
    busy: i64,
    /// Until when the drive is busy with the last request.
    free: i64,
    /// Quality of service is asked for until then.
    held: Option<i64>,
    /// A look has seen it.
    held_counts: bool,
    /// A worker will look then, because quality of service was asked for.
    asked: Option<i64>,
    suspended: bool,
    last_busy: i64,
}

impl Disk<'_> {
    fn most(&self) -> u64 {
        *self.s.clock.levels.last().expect("a clock has a level")
    }

    /// Goes on to `to` with nothing but looks, changes and time-outs between.
    fn advance(&mut self, to: i64) {
        loop {
            let mut next = to;
            let mut what = 0;
            let sleeps_at = match (&self.s.sleep, self.suspended) {
                (Some(sleep), false) if self.free <= self.last_busy => {
                    Some(self.last_busy.saturating_add(sleep.delay))
                }
                _ => None,
            };
            let candidates = [
                (self.changing.map(|c| c.0), 1),
                // devfreq does not look at a suspended device.
                ((!self.suspended).then_some(self.next_look), 2),
                (self.held, 3),
                (sleeps_at, 4),
                (self.asked, 5),
            ];
            for (at, kind) in candidates {
                if let Some(at) = at
                    && at <= next
                    && (at < next || what == 0)
                {
                    next = at;
                    what = kind;
                }
            }
            self.pass(next);
            match what {
                0 => return,
                1 => {
                    let (_, level) = self.changing.take().expect("a change is under way");
                    self.level = level;
                }
                2 => {
                    self.next_look = next + self.s.clock.poll;
                    self.held_counts = self.held.is_some();
                    self.look(next);
                }
                3 => {
                    self.held = None;
                    // On the host its removal is looked at at once.
                    if matches!(self.s.qos, Qos::Host { .. }) {
                        self.held_counts = false;
                        self.look(next);
                    }
                }
                4 => self.suspended = true,
                _ => {
                    self.asked = None;
                    self.held_counts = self.held.is_some();
                    self.look(next);
                }
            }
        }
    }

    /// Time goes by.
    fn pass(&mut self, to: i64) {
        let from = self.now;
        if to <= from {
            return;
        }
        if self.suspended {
            self.out.asleep += to - from;
        } else {
            self.out.at_clock[self.level] += to - from;
        }
        self.busy += (to.min(self.free) - from).max(0);
        self.now = to;
    }

    /// `update_devfreq`: the governor's wish within the limits.
    fn look(&mut self, at: i64) {
        let c = &self.s.clock;
        let status = Status {
            total: (at - self.window).max(0) as u64,
            busy: self.busy.max(0) as u64,
            current: c.levels[self.level],
        };
        self.window = at;
        self.busy = 0;
        let mut clock = wanted(c.thresholds, status).unwrap_or(status.current);
        clock = clock.max(c.least);
        if self.held.is_some() && self.held_counts {
            clock = MOST;
        }
        // The lowest level that is not below it, as `devfreq_recommended_opp`.
        let level = c.levels.iter().position(|l| *l >= clock).unwrap_or(c.levels.len() - 1);
        let target = self.changing.map_or(self.level, |c| c.1);
        if level != target {
            self.out.changes += 1;
            let begin = if c.blocks { at.max(self.free) } else { at };
            self.changing = Some((begin + c.change, level));
            if c.blocks {
                // Nobody is served meanwhile.
                self.free = begin + c.change;
            }
        }
    }

    /// One request: when it is complete.
    fn serve(&mut self, arrival: i64, bytes: u64) -> i64 {
        self.advance(arrival);
        let mut begin = arrival;
        if let (true, Some(sleep)) = (self.suspended, self.s.sleep) {
            begin += sleep.resume;
            self.out.resumes += 1;
            self.pass(begin);
            self.suspended = false;
            // Looks begin anew after a resume, one interval later.
            self.next_look = begin + self.s.clock.poll;
            self.window = begin;
            self.busy = 0;
        }
        let timeout = match self.s.qos {
            Qos::Off => None,
            Qos::Host { timeout } | Qos::Disk { timeout } => Some(timeout),
        };
        if let Some(timeout) = timeout {
            let new = self.held.is_none();
            self.held = Some(arrival + timeout);
            // A worker makes the request: it begins after what the kernel needs
            // for anything.
            if new && matches!(self.s.qos, Qos::Host { .. }) {
                self.asked = Some(begin + self.s.law.software);
            }
        }
        self.last_busy = self.last_busy.max(begin);
        self.advance(begin.max(self.free));
        // A change that blocks may have begun meanwhile.
        let start = begin.max(self.free);
        self.advance(start);
        let clock = self.s.clock.levels[self.level];
        let service = self.s.law.service(bytes, clock, self.most());
        let end = start + self.s.law.software + service;
        self.free = end;
        self.last_busy = end;
        self.out.bytes += bytes;
        end
    }
}

/// Runs a load on a disk that begins awake at its slowest clock.
///
/// # Panics
/// If the settings have no clock level.
pub fn simulate(s: &Settings, load: &Load) -> Outcome {
    assert!(!s.clock.levels.is_empty(), "a clock has a level");
    let mut d = Disk {
        s,
        out: Outcome { at_clock: vec![0; s.clock.levels.len()], ..Outcome::default() },
        now: 0,
        level: 0,
        changing: None,
        next_look: s.clock.poll,
        window: 0,
        busy: 0,
        free: 0,
        held: None,
        held_counts: false,
        asked: None,
        suspended: false,
        last_busy: 0,
    };
    let mut end = 0;
    match load {
        Load::Open(list) => {
            for &(at, bytes) in list {
                let at = at.max(d.now);
                end = d.serve(at, bytes);
                d.out.latencies.push(end - at);
            }
        }
        Load::Closed { count, bytes, burst, pause } => {
            for i in 0..*count {
                let at = if i > 0 && i % (*burst).max(1) == 0 { end + pause } else { end };
                end = d.serve(at, *bytes);
                d.out.latencies.push(end - at);
            }
        }
        Load::Paced { count, bytes, burst, period } => {
            for i in 0..*count {
                let group = i64::from(i / (*burst).max(1));
                let at = end.max(group.saturating_mul(*period));
                end = d.serve(at, *bytes);
                d.out.latencies.push(end - at);
            }
        }
    }
    d.advance(end);
    d.out.span = end;
    d.out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::settings::Sleep;
    use proptest::prelude::*;

    fn disk() -> Settings {
        Settings::laboratory()
    }

    #[test]
    fn rare_requests_stay_slow_and_a_request_on_the_host_raises_the_clock() {
        let load = Load::Paced { count: 400, bytes: 65_536, burst: 1, period: 6_000_000 };
        let slow = simulate(&disk(), &load);
        assert_eq!((slow.latency().p50, slow.changes), (518_000, 0));
        let s = Settings { qos: Qos::Host { timeout: 30_000_000 }, ..disk() };
        let fast = simulate(&s, &load);
        assert_eq!((fast.latency().p50, fast.latency().max, fast.changes), (230_000, 518_000, 1));
    }

    #[test]
    fn on_the_disk_the_request_counts_at_the_next_look() {
        let s = Settings { qos: Qos::Disk { timeout: 30_000_000 }, ..disk() };
        let bursts = Load::Paced { count: 120, bytes: 65_536, burst: 8, period: 200_000_000 };
        assert_eq!(simulate(&s, &bursts).latency().p50, 518_000, "a burst ends before the look");
        let s = Settings { qos: Qos::Host { timeout: 30_000_000 }, ..disk() };
        let l = simulate(&s, &bursts).latency();
        assert_eq!((l.p50, l.mean), (230_000, 302_000));
    }

    #[test]
    fn a_disk_that_sleeps_makes_the_first_request_wait() {
        let sleep = Sleep { delay: 100_000_000, resume: 3_000_000 };
        let s = Settings { sleep: Some(sleep), ..disk() };
        let load = Load::Paced { count: 20, bytes: 65_536, burst: 1, period: 300_000_000 };
        let o = simulate(&s, &load);
        assert_eq!((o.resumes, o.latency().p50), (19, 3_518_000));
        assert_eq!(
            o.asleep,
            19 * (300_000_000 - 100_000_000 + 3_000_000) - 518_000 - 18 * 3_518_000
        );
    }

    proptest! {
        #[test]
        fn no_setting_is_faster_than_the_fastest_clock(
            seed in any::<u64>(),
            count in 1_u32..200,
            burst in 1_u32..10,
            period in 1_i64..50_000_000,
            qos in 0..3,
            poll in 1_000_000_i64..80_000_000,
        ) {
            let mut s = disk();
            s.clock.poll = poll;
            s.clock.blocks = seed % 2 == 0;
            s.qos = match qos {
                0 => Qos::Off,
                1 => Qos::Host { timeout: 20_000_000 },
                _ => Qos::Disk { timeout: 20_000_000 },
            };
            s.sleep = (seed % 3 == 0).then_some(Sleep { delay: 10_000_000, resume: 2_000_000 });
            let o = simulate(&s, &Load::Paced { count, bytes: 65_536, burst, period });
            prop_assert_eq!(o.latencies.len(), count as usize);
            prop_assert!(o.latencies.iter().all(|l| *l >= 230_000));
            // Every moment is at one clock or asleep.
            prop_assert_eq!(o.at_clock.iter().sum::<i64>() + o.asleep, o.span);
        }
    }
}
