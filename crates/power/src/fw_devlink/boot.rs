//! Attempts to probe, and the lists of those that are put off (drivers/base/dd.c:
//! driver_deferred_probe_add, driver_deferred_probe_trigger,
//! deferred_probe_work_func, deferred_probe_timeout_work_func).

use super::bind::Gate;
use super::machine::{Machine, Status};
use std::collections::VecDeque;

/// Whether a device has a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// No driver matches it.
    None,
    /// One matches and does not want it.
    Declines,
    /// One matches, and is bound when what it needs is there.
    Binds {
        /// It makes devices of the nodes below.
        children: bool,
    },
}

/// What became of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The core put it off: -517.
    Held(Gate),
    /// The driver put it off: 517. The device that it misses.
    Asked(usize),
    /// The driver did not want it.
    Declined,
    /// Bound.
    Bound,
}

impl Outcome {
    /// What `initcall_debug` prints of it.
    pub fn code(self) -> i32 {
        match self {
            Outcome::Held(_) => -517,
            Outcome::Asked(_) => 517,
            // drivers/bus/simple-pm-bus.c gives -ENODEV; the driver's own errors are
            // printed as positive numbers (drivers/base/dd.c:call_driver_probe).
            Outcome::Declined => 19,
            Outcome::Bound => 0,
        }
    }
}

/// One attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The device.
    pub device: usize,
    /// How it ended.
    pub outcome: Outcome,
}

/// What the drivers of a machine are like.
pub trait Drivers {
    /// Whether a device has a driver.
    fn of(&self, machine: &Machine<'_, '_>, device: usize) -> Driver;

    /// A device that the driver of this one needs, and that is not bound.
    fn missing(&self, _machine: &Machine<'_, '_>, _device: usize) -> Option<usize> {
        None
    }
}

/// Attempts at most: for each device more than any boot has.
const ATTEMPTS: usize = 64;

/// A boot.
pub struct Boot<'m, 't, 'a> {
    /// Nodes, devices, links.
    pub machine: &'m mut Machine<'t, 'a>,
    drivers: &'m dyn Drivers,
    /// The worker runs whenever it has something to do; else when it is let.
    eager: bool,
    enabled: bool,
    pending: Vec<usize>,
    active: VecDeque<usize>,
    /// Which of the lists a device is in.
    listed: Vec<bool>,
    triggers: u64,
    /// Attempts in order.
    pub attempts: Vec<Attempt>,
}

impl<'m, 't, 'a> Boot<'m, 't, 'a> {
    /// Devices are there, no driver is.
    pub fn new(machine: &'m mut Machine<'t, 'a>, drivers: &'m dyn Drivers, eager: bool) -> Self {
        Boot {
            machine,
            drivers,
            eager,
            enabled: false,
            pending: Vec::new(),
            active: VecDeque::new(),
            listed: Vec::new(),
            triggers: 0,
            attempts: Vec::new(),
        }
    }

    /// From now on the worker runs whenever it has something to do, or not.
    pub fn works_at_once(&mut self, eager: bool) {
        self.eager = eager;
    }

    /// A driver comes: the devices that it matches are tried in order.
    pub fn register(&mut self, devices: &[usize]) {
        for &d in devices {
            if self.machine.devices[d].status == Status::NoDriver {
                self.attempt(d);
                if self.eager {
                    self.work();
                }
            }
        }
    }

    /// The end of the kernel's own initialisation: what was put off is tried, twice
    /// (deferred_probe_initcall).
    pub fn late(&mut self) {
        self.enabled = true;
        for _ in 0..2 {
            self.trigger();
            self.work();
        }
    }

    /// The time for drivers is over.
    pub fn time_out(&mut self) {
        self.machine.drivers_done();
        self.trigger();
        self.work();
    }

    /// The worker runs until nothing is left to do.
    pub fn work(&mut self) {
        while let Some(d) = self.active.pop_front() {
            self.listed[d] = false;
            self.machine.move_to_tail(d);
            if self.machine.devices[d].status == Status::NoDriver {
                self.attempt(d);
            }
        }
    }

    /// Devices that wait.
    pub fn waiting(&self) -> &[usize] {
        &self.pending
    }

    fn trigger(&mut self) {
        if self.enabled {
            self.triggers += 1;
            self.active.extend(self.pending.drain(..));
        }
    }

    fn put_off(&mut self, device: usize) {
        if self.listed.len() <= device {
            self.listed.resize(self.machine.devices.len(), false);
        }
        if !std::mem::replace(&mut self.listed[device], true) {
            self.pending.push(device);
        }
    }

    fn attempt(&mut self, device: usize) {
        let driver = self.drivers.of(self.machine, device);
        if driver == Driver::None {
            return;
        }
        if self.attempts.len() >= self.machine.devices.len().max(64) * ATTEMPTS {
            let node = self.machine.devices[device].node.unwrap_or(0);
            self.machine.work.given_up.insert(node);
            return;
        }
        self.machine.devices[device].matched = true;
        let before = self.triggers;
        let gate = self.machine.gate(device);
        let outcome = match (gate, driver, self.drivers.missing(self.machine, device)) {
            (Gate::Node(_) | Gate::Device(_), ..) => Outcome::Held(gate),
            (_, Driver::Declines, _) => Outcome::Declined,
            (_, _, Some(missing)) => Outcome::Asked(missing),
            _ => Outcome::Bound,
        };
        let at = self.attempts.len();
        self.attempts.push(Attempt { device, outcome });
        match outcome {
            Outcome::Held(_) | Outcome::Asked(_) => {
                self.put_off(device);
                if self.triggers != before {
                    self.trigger();
                }
            }
            Outcome::Declined => {}
            Outcome::Bound => {
                self.machine.devices[device].status = Status::Probing;
                if driver == (Driver::Binds { children: true }) {
                    self.children(device);
                }
                // The line of an attempt stands behind those of its children.
                let line = self.attempts.remove(at);
                self.attempts.push(line);
                let again = self.machine.bound(device);
                for c in again {
                    self.put_off(c);
                }
                if self.listed.get(device) == Some(&true) {
                    self.listed[device] = false;
                    self.pending.retain(|&d| d != device);
                    self.active.retain(|&d| d != device);
                }
                self.trigger();
            }
        }
    }

    /// The driver makes devices of the nodes below; each is tried when it is there.
    fn children(&mut self, device: usize) {
        let first = self.machine.devices.len();
        self.machine.add_children(device);
        for d in first..self.machine.devices.len() {
            if self.machine.devices[d].node.is_some() {
                self.attempt(d);
            }
        }
    }
}
