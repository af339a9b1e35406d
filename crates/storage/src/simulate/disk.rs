//! A disk that serves one request after another while the other mechanisms act on
//! it: events in order of time.

use super::devfreq::{Clock, NEVER};
use super::load::{Arrivals, Load};
use super::nap::{Sleeper, State};
use super::qos::Raise;
use super::settings::{Drive, Settings};
use crate::summary::Latency;
use std::collections::VecDeque;

/// Time in each state, ns: every moment is in one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Serving, at each clock.
    pub busy: Vec<i64>,
    /// Awake and not serving, at each clock.
    pub idle: Vec<i64>,
    /// Clock being gated, gated, being switched on.
    pub gate: [i64; 3],
    /// Being suspended, suspended, being resumed.
    pub suspend: [i64; 3],
}

impl Times {
    /// All of it.
    pub fn total(&self) -> i64 {
        let awake = self.busy.iter().chain(&self.idle);
        awake.chain(&self.gate).chain(&self.suspend).sum()
    }

    /// At each clock, serving or not.
    pub(crate) fn at_clock(&self, level: usize) -> i64 {
        self.busy.get(level).unwrap_or(&0) + self.idle.get(level).unwrap_or(&0)
    }
}

/// What came of a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Latency of each request in order of arrival, ns.
    pub latencies: Vec<i64>,
    /// Time in each state.
    pub times: Times,
    /// Changes of the clock.
    pub changes: u64,
    /// Times that the clock was ungated.
    pub ungates: u64,
    /// Resumes.
    pub resumes: u64,
    /// Times that quality of service was asked for.
    pub raises: u64,
    /// Bytes served.
    pub bytes: u64,
    /// Times without any request before one came, ns.
    pub gaps: Vec<i64>,
    /// From the begin, 0, to the last completion, ns.
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

/// What is due next. Of what is due at once, the first of these comes first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Due {
    Changed,
    Look,
    Drop,
    Suspend,
    Gate,
    Ask,
    Served,
    Came,
}

/// A request that came.
#[derive(Clone, Copy)]
struct Waiting {
    came: i64,
    bytes: u64,
    /// Its place in the order of arrival.
    place: usize,
}

struct Disk<'a> {
    drive: &'a Drive,
    most: u64,
    clock: Clock<'a>,
    qos: Raise,
    gate: Sleeper,
    rpm: Sleeper,
    /// Who waits.
    queue: VecDeque<Waiting>,
    /// What is being served, and when that ends.
    serving: Option<(Waiting, i64)>,
    /// When the last one that was served is known to be.
    heard: i64,
    /// Requests that came, and that were served.
    came: usize,
    served: usize,
    now: i64,
    /// Since when nothing is to do.
    rest: i64,
    out: Outcome,
}

impl Disk<'_> {
    fn due(&self, came: i64) -> (i64, Due) {
        let busy = self.serving.is_some();
        // An idle CPU is not woken for a deferrable look.
        let look = if self.clock.deferrable() && !busy && self.queue.is_empty() {
            if self.clock.look <= came { came } else { self.clock.look }
        } else {
            self.clock.look
        };
        let list = [
            (self.clock.change, Due::Changed),
            (look, Due::Look),
            (self.qos.drop, Due::Drop),
            (self.rpm.at, Due::Suspend),
            (self.gate.at, Due::Gate),
            (self.qos.ask, Due::Ask),
            (self.serving.map_or(NEVER, |s| s.1), Due::Served),
            (came, Due::Came),
        ];
        let mut best = list[0];
        for entry in &list[1..] {
            if entry.0 < best.0 {
                best = *entry;
            }
        }
        best
    }

    /// Time goes by.
    fn pass(&mut self, to: i64) {
        let length = to - self.now;
        if length <= 0 {
            return;
        }
        self.now = to;
        let busy = self.serving.is_some();
        // A host is busy while it has requests, also while they wait for its clock
        // (`ufshcd_clk_scaling_start_busy`, drivers/ufs/core/ufshcd.c, 6.12).
        if busy || (self.rpm.awake() && !self.queue.is_empty()) {
            self.clock.busy += length;
        }
        let t = &mut self.out.times;
        let cell = match (self.rpm.state, self.gate.state) {
            (State::Entering, _) => &mut t.suspend[0],
            (State::Asleep, _) => &mut t.suspend[1],
            (State::Waking, _) => &mut t.suspend[2],
            (State::Awake, State::Entering) => &mut t.gate[0],
            (State::Awake, State::Asleep) => &mut t.gate[1],
            (State::Awake, State::Waking) => &mut t.gate[2],
            (State::Awake, State::Awake) if busy => &mut t.busy[self.clock.level],
            (State::Awake, State::Awake) => &mut t.idle[self.clock.level],
        };
        *cell += length;
    }

    /// What was due of runtime suspend.
    fn suspend(&mut self, now: i64) {
        let before = self.rpm.state;
        self.rpm.step(now, self.serving.is_some() || !self.queue.is_empty());
        match (before, self.rpm.state) {
            (State::Awake, State::Awake) => {}
            (_, State::Awake) => {
                // Looks begin anew after a resume, one interval later.
                self.clock.restart(now);
                // Who waits at the queue's entry adds itself before those who wait
                // already, and is woken before them (`blk_queue_enter`,
                // block/blk-core.c; `__add_wait_queue`, include/linux/wait.h, 6.12).
                self.queue.make_contiguous().reverse();
            }
            // devfreq does not look at a suspended device, and its clock is off anyway.
            _ => {
                self.clock.stop();
                self.gate.reset();
            }
        }
    }

    fn act(&mut self, due: Due, arrivals: &mut Arrivals<'_>) {
        let now = self.now;
        let serving = self.serving.is_some();
        let busy = serving || !self.queue.is_empty();
        match due {
            Due::Changed => self.clock.changed(),
            Due::Look => {
                self.clock.raised = self.qos.held;
                self.clock.looked(now, serving, busy);
            }
            Due::Drop => {
                self.qos.dropped();
                // On the host its removal is looked at at once.
                if self.qos.on_host() {
                    self.clock.raised = false;
                    self.clock.target(now, serving, busy);
                }
            }
            Due::Ask => {
                self.qos.ask = NEVER;
                self.clock.raised = self.qos.held;
                self.clock.target(now, serving, busy);
            }
            Due::Suspend => self.suspend(now),
            Due::Gate => self.gate.step(now, false),
            Due::Served => {
                let (r, _) = self.serving.take().expect("a request is being served");
                // The drive is free; who asked hears of it later.
                self.heard = now.saturating_add(self.drive.law.software);
                self.out.latencies[r.place] = self.heard - r.came;
                self.served += 1;
                arrivals.ended(self.heard);
                if self.clock.wanted {
                    self.clock.begin(now);
                }
                if self.queue.is_empty() {
                    self.rest = now;
                    self.gate.idle(now);
                    self.rpm.idle(now);
                }
            }
            Due::Came => {
                let bytes = arrivals.come();
                if !serving && self.queue.is_empty() && now > self.rest {
                    self.out.gaps.push(now - self.rest);
                }
                self.queue.push_back(Waiting { came: now, bytes, place: self.came });
                self.came += 1;
                // Quality of service is asked for before the wait for a resume.
                self.qos.came(now);
                if self.rpm.need(now) {
                    self.gate.need(now);
                    self.clock.restart(now);
                }
            }
        }
        // All timers that are no longer early go off with the first interrupt.
        if !matches!(due, Due::Came | Due::Suspend) && self.rpm.goes_off(now) {
            self.suspend(now);
        }
        self.start();
    }

    /// The next request is served if nothing is in its way.
    fn start(&mut self) {
        if self.serving.is_some() || !self.rpm.awake() || !self.gate.awake() || self.clock.blocks()
        {
            return;
        }
        let Some(r) = self.queue.pop_front() else { return };
        let law = self.drive.law;
        let service = law.service(r.bytes, self.clock.hz(), self.most);
        self.serving = Some((r, self.now.saturating_add(service)));
        self.out.bytes = self.out.bytes.saturating_add(r.bytes);
    }
}

/// Runs a load on a disk that begins awake. Time begins at 0.
///
/// # Panics
/// If the drive has no clock level.
pub fn simulate(drive: &Drive, settings: &Settings, load: &Load) -> Outcome {
    let most = *drive.levels.last().expect("a clock has a level");
    let mut d = Disk {
        drive,
        most,
        clock: Clock::new(drive, settings.devfreq),
        qos: Raise::new(settings.qos, drive.law.software),
        gate: Sleeper::gate(drive.gate, settings.gate),
        rpm: Sleeper::autosuspend(drive.suspend, settings.autosuspend, settings.slack),
        queue: VecDeque::new(),
        serving: None,
        heard: 0,
        came: 0,
        served: 0,
        now: 0,
        rest: 0,
        out: Outcome::default(),
    };
    let count = load.count();
    d.out.times.busy = vec![0; drive.levels.len()];
    d.out.times.idle = vec![0; drive.levels.len()];
    d.out.latencies = vec![0; count];
    let mut arrivals = Arrivals::new(load);
    while d.served < count {
        let (at, due) = d.due(arrivals.at());
        if at == NEVER {
            break;
        }
        d.pass(at);
        d.act(due, &mut arrivals);
    }
    d.pass(d.heard);
    d.out.changes = d.clock.changes;
    d.out.ungates = d.gate.wakes;
    d.out.resumes = d.rpm.wakes;
    d.out.raises = d.qos.raises;
    d.out.span = d.now;
    d.out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::load::{Loop, Next};
    use crate::simulate::ondemand::Thresholds;
    use crate::simulate::settings::{Devfreq, Governor, IdleStop, Nap, Qos, laboratory};
    use proptest::prelude::*;

    fn run(change: impl Fn(&mut Drive, &mut Settings), load: &Load) -> Outcome {
        let (mut d, mut s) = laboratory();
        change(&mut d, &mut s);
        simulate(&d, &s, load)
    }

    const MS: i64 = 1_000_000;

    #[test]
    fn rare_requests_stay_slow_and_a_request_on_the_host_raises_the_clock() {
        let load = Load::paced(400, 1, 6 * MS);
        let slow = run(|_, _| {}, &load);
        assert_eq!((slow.latency().p50, slow.changes), (518_000, 0));
        let fast = run(|_, s| s.qos = Qos::Host { timeout: 30 * MS }, &load);
        assert_eq!((fast.latency().p50, fast.latency().max, fast.changes), (230_000, 518_000, 1));
        assert_eq!(fast.raises, 1, "one request of quality of service a busy period");
    }

    #[test]
    fn on_the_disk_the_request_counts_at_the_next_look() {
        let bursts = Load::paced(120, 8, 200 * MS);
        let disk = run(|_, s| s.qos = Qos::Disk { timeout: 30 * MS }, &bursts);
        assert_eq!(disk.latency().p50, 518_000, "a burst ends before the look");
        let host = run(|_, s| s.qos = Qos::Host { timeout: 30 * MS }, &bursts).latency();
        assert_eq!((host.p50, host.mean), (230_000, 302_000));
    }

    #[test]
    fn a_disk_that_sleeps_makes_the_first_request_wait() {
        let load = Load::paced(20, 1, 300 * MS);
        let o = run(|_, s| s.autosuspend = Some(100 * MS), &load);
        assert_eq!((o.resumes, o.latency().p50), (19, 3_518_000));
        assert_eq!(o.times.suspend[2], 19 * 3 * MS);
        assert_eq!(o.times.suspend[1], 19 * 200 * MS - 444_000 - 18 * 3_444_000);
        // The timer may be late by a quarter of the delay. It was armed at the end of the
        // resume, 444 us before the request ended.
        let quarter = |s: &mut Settings| {
            s.autosuspend = Some(100 * MS);
            s.slack = 25;
            s.devfreq.poll = 0;
        };
        let late = run(|_, s| quarter(s), &load);
        let later = 19 * 25 * MS - 18 * 444_000;
        assert_eq!(o.times.suspend[1] - late.times.suspend[1], later);
        // A look meanwhile sets it off.
        let looked = run(
            |_, s| {
                quarter(s);
                s.devfreq.poll = 60 * MS;
            },
            &load,
        );
        assert!(o.times.suspend[1] - looked.times.suspend[1] < later);
    }

    #[test]
    fn a_delay_of_nothing_serves_before_it_sleeps() {
        let load = Load::paced(10, 2, 300 * MS);
        let o = run(
            |d, s| {
                (s.autosuspend, s.gate) = (Some(0), Some(0));
                d.gate = Nap { enter: 0, wake: MS };
            },
            &load,
        );
        assert!(o.latencies.iter().all(|l| *l >= 518_000), "{:?}", o.latencies);
        assert_eq!(o.bytes, 10 * 65_536);
        assert_eq!(o.times.total(), o.span);
    }

    #[test]
    fn a_request_during_a_suspend_waits_for_its_end_and_then_for_the_resume() {
        let load = Load::Open([0, 101 * MS].map(|t| (t, 65_536)).into());
        let o = run(
            |d, s| {
                s.autosuspend = Some(100 * MS);
                d.suspend = Nap { enter: 2 * MS, wake: 3 * MS };
            },
            &load,
        );
        // Suspend begins at 100.444 ms and ends 2 ms later; then 3 ms of resume.
        assert_eq!(o.latencies, [518_000, (100_444_000 + 5 * MS + 518_000) - 101 * MS]);
    }

    #[test]
    fn a_gated_clock_makes_the_first_request_wait_and_no_look_stops() {
        let load = Load::paced(10, 1, 100 * MS);
        let o = run(
            |d, s| {
                s.gate = Some(10 * MS);
                d.gate = Nap { enter: 0, wake: MS };
            },
            &load,
        );
        assert_eq!((o.ungates, o.latencies[0], o.latencies[9]), (9, 518_000, 1_518_000));
        assert_eq!(o.times.gate[2], 9 * MS);
    }

    #[test]
    fn requests_queue_behind_each_other_and_their_latency_has_the_queue_in_it() {
        let o = run(|_, _| {}, &Load::Open([0, 1, 2].map(|t| (t, 65_536)).into()));
        assert_eq!(o.latencies, [518_000, 2 * 444_000 + 74_000 - 1, 3 * 444_000 + 74_000 - 2]);
        let l = Loop {
            count: 100,
            bytes: 65_536,
            depth: 4,
            think: 0,
            burst: 100,
            next: Next::After(0),
        };
        let o = run(|_, s| s.devfreq.governor = Governor::Performance, &Load::Loop(l));
        // The kernel's part of one overlaps with the service of another.
        assert_eq!((o.latencies[0], o.latencies[50]), (230_000, 4 * 156_000));
        assert_eq!(o.span, 100 * 156_000 + 74_000);
    }

    #[test]
    fn limits_and_governors_hold() {
        let load = Load::paced(50, 1, 6 * MS);
        let p50 = |o: Outcome| o.latency().p50;
        let performance = |s: &mut Settings| s.devfreq.governor = Governor::Performance;
        assert_eq!(p50(run(|_, s| performance(s), &load)), 230_000);
        let capped = |_: &mut Drive, s: &mut Settings| {
            performance(s);
            s.devfreq.most = 100_000_000;
            s.qos = Qos::Host { timeout: 30 * MS };
        };
        assert_eq!(p50(run(capped, &load)), 518_000, "the upper limit holds for all");
        assert_eq!(p50(run(|_, s| s.devfreq.least = 400_000_000, &load)), 230_000);
        let o = run(|_, s| s.devfreq.governor = Governor::Powersave, &Load::paced(3_000, 3_000, 0));
        assert_eq!((o.latency().max, o.changes), (518_000, 0), "busy, and slow for all that");
    }

    #[test]
    fn looks_that_stopped_begin_one_interval_after_the_next_request() {
        // Back to back for 2 s, after 1 s without anything.
        let load = Load::Open((0..2_000).map(|i| (1_000 * MS + i * 600_000, 65_536)).collect());
        let never = run(|_, _| {}, &load);
        let stopped = run(|_, s| s.devfreq.idle_stop = IdleStop::Always, &load);
        // A running look at 1.02 s sees 20 ms of work in 60 and leaves the clock; the
        // one at 1.08 s raises it. The stopped one looks 60 ms after the first request,
        // which only opens a window and so asks for the fastest.
        let first_fast = |o: &Outcome| o.latencies.iter().position(|l| *l < 518_000);
        assert_eq!((first_fast(&never), first_fast(&stopped)), (Some(135), Some(101)));
    }

    proptest! {
        #[test]
        fn no_setting_is_faster_than_the_fastest_clock(
            seed in any::<u64>(),
            count in 1_u32..200,
            burst in 1_u32..10,
            depth in 1_u32..5,
            period in 1_i64..50_000_000,
            think in 0_i64..2_000_000,
            qos in 0..3,
            poll in 0_i64..80_000_000,
        ) {
            let bit = |n: u32| seed >> n & 1 == 1;
            let (mut d, mut s) = laboratory();
            d.waits = bit(0);
            d.gate = Nap { enter: if bit(1) { 100_000 } else { 0 }, wake: 1_000_000 };
            d.suspend = Nap { enter: if bit(2) { 300_000 } else { 0 }, wake: 2_000_000 };
            s.devfreq = Devfreq {
                governor: match seed >> 3 & 3 {
                    0 => Governor::Performance,
                    1 => Governor::Powersave,
                    _ => Governor::SimpleOndemand(Thresholds { up: 70, down: 5 }),
                },
                poll,
                tick: if bit(11) { 4_000_000 } else { 0 },
                deferrable: bit(5),
                idle_stop: if bit(6) { IdleStop::Always } else { IdleStop::UnlessRaised },
                least: 0,
                most: u64::MAX,
            };
            s.qos = match qos {
                0 => Qos::Off,
                1 => Qos::Host { timeout: 20_000_000 },
                _ => Qos::Disk { timeout: 20_000_000 },
            };
            s.gate = bit(7).then_some(3_000_000);
            s.autosuspend = bit(8).then_some(10_000_000);
            s.slack = if bit(9) { 25 } else { 0 };
            let next = if bit(10) { Next::Every(period) } else { Next::After(period) };
            let o = simulate(
                &d,
                &s,
                &Load::Loop(Loop { count, bytes: 65_536, depth, think, burst, next }),
            );
            prop_assert_eq!(o.latencies.len(), count as usize);
            prop_assert!(o.latencies.iter().all(|l| *l >= 230_000));
            // Every moment is in one state.
            prop_assert_eq!(o.times.total(), o.span);
            prop_assert!(o.times.busy.iter().sum::<i64>() >= i64::from(count) * 156_000);
        }
    }
}
