//! What the machinery around the callbacks costs.

use super::Emulator;
use dormouse_base::time::Ns;

/// Times of the mechanism, for a CPU of speed 1000. Everything but
/// `create`, `wake` and `reap_after` is computing time of the thread that does
/// it and competes for CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// One step of a list walk.
    pub walk: Ns,
    /// And for each device that the main thread runs itself: references, the
    /// list mutex, and from 6.16 on a look at what could be started then. In
    /// estimates this is part of `walk`.
    pub visit: Ns,
    /// From 6.16 on: whether a device is a leaf, asked before the walk. In
    /// estimates this is part of `walk`.
    pub leaf: Ns,
    /// Queue one item: allocation, `async_lock`, `queue_work`, wake IPI.
    pub queue: Ns,
    /// From a wake-up to running, on a CPU that was idle (idle exit latency
    /// dominates).
    pub wake: Ns,
    /// Creation of one worker through kthreadd; the creating worker sleeps.
    pub create: Ns,
    /// From a thread that leaves a CPU to the next one that waited for it.
    pub switch: Ns,
    /// `complete_all`.
    pub complete: Ns,
    /// And for every thread it wakes.
    pub wake_one: Ns,
    /// An uncontended mutex.
    pub lock: Ns,
    /// From the release of a contended mutex to its next owner running. Short,
    /// because contenders spin while the owner runs.
    pub hand_over: Ns,
    /// Frame of one callback: device lock, tracepoints, runtime-PM barrier.
    pub callback: Ns,
    /// The same for a device without a callback in this phase.
    pub no_callback: Ns,
    /// Looking through the dependencies before a callback.
    pub wait: Ns,
    /// And for each dependency looked at. In estimates this is part of `wait`.
    pub look: Ns,
    /// One offer of a triggered device.
    pub trigger: Ns,
    /// Runtime PM of one device is disabled (late, and in suspend if it is left
    /// alone), enabled (early, and then in resume) or waited for (suspend). In
    /// estimates this is part of `walk`.
    pub runtime: Ns,
    /// End of an item: off the lists, wake the barrier.
    pub item: Ns,
    /// Start of a phase before the first device.
    pub begin: Ns,
    /// End of a phase: the final wake of the main thread.
    pub barrier: Ns,
    /// Serial cost of `prepare` of one device beside its callback.
    pub prepare: Ns,
    /// Serial cost of `complete` of one device beside its callback.
    pub finish: Ns,
    /// A sleeping callback returns this much later than it asked for.
    pub oversleep: Ns,
}

impl Costs {
    /// Names and meanings, in the order of [`Costs::values`]: what a profile
    /// file holds.
    pub const NAMES: [(&'static str, &'static str); 23] = [
        ("walk", "one step of a device list"),
        ("visit", "a device that the main thread runs"),
        ("leaf", "whether a device is a leaf"),
        ("queue", "queue one work item"),
        ("wake", "wake-up to running on an idle CPU"),
        ("create", "create one worker"),
        ("switch", "switch a busy CPU to the next thread"),
        ("complete", "complete_all"),
        ("wake_one", "wake one waiter of a completion"),
        ("lock", "take a free mutex"),
        ("hand_over", "contended mutex from owner to owner"),
        ("callback", "frame of a callback"),
        ("no_callback", "device without callback"),
        ("wait", "look through the dependencies"),
        ("look", "look at one dependency"),
        ("trigger", "offer one dependent"),
        ("runtime", "switch runtime PM of a device"),
        ("item", "end of a work item"),
        ("begin", "start of a phase"),
        ("barrier", "end of a phase"),
        ("prepare", "prepare of one device"),
        ("finish", "complete of one device"),
        ("oversleep", "a sleep ends late by"),
    ];

    /// All times in the order of [`Costs::NAMES`].
    pub fn values(&self) -> [Ns; 23] {
        [
            self.walk,
            self.visit,
            self.leaf,
            self.queue,
            self.wake,
            self.create,
            self.switch,
            self.complete,
            self.wake_one,
            self.lock,
            self.hand_over,
            self.callback,
            self.no_callback,
            self.wait,
            self.look,
            self.trigger,
            self.runtime,
            self.item,
            self.begin,
            self.barrier,
            self.prepare,
            self.finish,
            self.oversleep,
        ]
    }

    /// The time called `name`, to be changed.
    pub fn field(&mut self, name: &str) -> Option<&mut Ns> {
        Some(match name {
            "walk" => &mut self.walk,
            "visit" => &mut self.visit,
            "leaf" => &mut self.leaf,
            "queue" => &mut self.queue,
            "wake" => &mut self.wake,
            "create" => &mut self.create,
            "switch" => &mut self.switch,
            "complete" => &mut self.complete,
            "wake_one" => &mut self.wake_one,
            "lock" => &mut self.lock,
            "hand_over" => &mut self.hand_over,
            "callback" => &mut self.callback,
            "no_callback" => &mut self.no_callback,
            "wait" => &mut self.wait,
            "look" => &mut self.look,
            "trigger" => &mut self.trigger,
            "runtime" => &mut self.runtime,
            "item" => &mut self.item,
            "begin" => &mut self.begin,
            "barrier" => &mut self.barrier,
            "prepare" => &mut self.prepare,
            "finish" => &mut self.finish,
            "oversleep" => &mut self.oversleep,
            _ => return None,
        })
    }

    /// A current x86 laptop or desktop. Estimates; what an XPS 13 9360 with
    /// kernel 5.3 shows (a synchronous device without work every 0.9 us, a queued
    /// one every 0.5 us, prepare 0.6 us and complete 1.2 us a device) lies
    /// within a factor of two.
    pub const X86: Costs = Costs {
        walk: Ns(200),
        visit: Ns(0),
        leaf: Ns(0),
        queue: Ns(1_000),
        wake: Ns(10_000),
        create: Ns(60_000),
        switch: Ns(2_000),
        complete: Ns(100),
        wake_one: Ns(1_000),
        lock: Ns(30),
        hand_over: Ns(1_000),
        callback: Ns(500),
        no_callback: Ns(200),
        wait: Ns(100),
        look: Ns(0),
        trigger: Ns(100),
        runtime: Ns(0),
        item: Ns(500),
        begin: Ns(5_000),
        barrier: Ns(10_000),
        prepare: Ns(1_000),
        finish: Ns(1_500),
        oversleep: Ns(0),
    };

    /// A virtual machine in which an instruction takes a nanosecond, without
    /// caches and idle states: where fits to the laboratory's recordings begin.
    pub const COUNTED: Costs = Costs {
        walk: Ns(20),
        visit: Ns(100),
        leaf: Ns(150),
        queue: Ns(900),
        wake: Ns(4_500),
        create: Ns(3_000),
        switch: Ns(5_000),
        wake_one: Ns(1_300),
        callback: Ns(1_000),
        no_callback: Ns(50),
        wait: Ns(100),
        look: Ns(100),
        trigger: Ns(150),
        runtime: Ns(80),
        item: Ns(1_200),
        begin: Ns(500),
        barrier: Ns(6_500),
        prepare: Ns(2_000),
        finish: Ns(2_000),
        oversleep: Ns(6_000),
        ..Costs::X86
    };

    /// Little in-order cores at low clock: computing costs three times as much,
    /// and idle states are deeper.
    pub(crate) const PHONE: Costs = Costs {
        walk: Ns(600),
        visit: Ns(0),
        leaf: Ns(0),
        queue: Ns(6_000),
        wake: Ns(40_000),
        create: Ns(150_000),
        switch: Ns(6_000),
        complete: Ns(300),
        wake_one: Ns(3_000),
        lock: Ns(100),
        hand_over: Ns(3_000),
        callback: Ns(4_000),
        no_callback: Ns(1_000),
        wait: Ns(300),
        look: Ns(0),
        trigger: Ns(300),
        runtime: Ns(0),
        item: Ns(1_500),
        begin: Ns(15_000),
        barrier: Ns(40_000),
        prepare: Ns(4_000),
        finish: Ns(4_000),
        oversleep: Ns(0),
    };
}

/// How many threads can compute at once, and how fast.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cpus {
    /// As many as there are threads.
    #[default]
    Unlimited,
    /// One entry a CPU: its speed in thousandths, in the order in which idle
    /// CPUs are chosen.
    List(Vec<u32>),
}

/// More CPUs than any kernel runs (`NR_CPUS` with MAXSMP, arch/x86/Kconfig, 7.3): a damaged
/// recording that tells of billions must not cost memory.
const MOST_CPUS: u32 = 8_192;

impl Cpus {
    /// `n` equal CPUs; 0 means unlimited.
    pub fn equal(n: u32) -> Cpus {
        let n = n.min(MOST_CPUS);
        if n == 0 { Cpus::Unlimited } else { Cpus::List(std::vec![1000; n as usize]) }
    }
}

/// A machine model: costs, CPUs and the worker pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// What it was fitted on, or `default: …`. Profiles name their machine.
    pub name: std::string::String,
    /// Times.
    pub costs: Costs,
    /// CPUs; `None` takes the board's number.
    pub cpus: Option<Cpus>,
    /// The machine is a guest whose CPUs take turns. Hardware has no such thing.
    pub emulator: Option<Emulator>,
    /// A computing callback gives its CPU to a waiting thread after this time;
    /// zero never does.
    pub slice: Ns,
    /// Idle workers at the begin of the cycle. The kernel keeps two; a second
    /// suspend within 300 s finds what the first one left.
    pub idle_workers: u32,
    /// Most items that may be active at once; `None` is the kernel's limit.
    pub max_active: Option<u32>,
    /// One standard deviation of each time where it was fitted, in the order
    /// of [`Costs::NAMES`].
    pub uncertainty: [Option<Ns>; 23],
}

impl Profile {
    /// Everything but the callbacks is free, and nothing competes.
    pub fn zero() -> Profile {
        Profile {
            name: "zero".into(),
            costs: Costs::default(),
            cpus: Some(Cpus::Unlimited),
            emulator: None,
            slice: Ns::ZERO,
            idle_workers: 2,
            max_active: Some(u32::MAX),
            uncertainty: [None; 23],
        }
    }

    /// The default for x86 machines.
    pub fn x86() -> Profile {
        Profile {
            name: "default: estimated on x86, not fitted; this machine's is not known".into(),
            costs: Costs::X86,
            cpus: None,
            emulator: None,
            slice: Ns::from_ms(3),
            idle_workers: 2,
            max_active: None,
            uncertainty: [None; 23],
        }
    }

    /// The default for phones: four little, two middle, two big cores; the
    /// energy-aware scheduler fills the little ones first.
    pub fn phone() -> Profile {
        Profile {
            name: "default: a phone's, little CPUs first (estimated, not fitted); this machine's is not known".into(),
            costs: Costs::PHONE,
            cpus: Some(Cpus::List(std::vec![350, 350, 350, 350, 750, 750, 1000, 1000])),
            ..Profile::x86()
        }
    }

    /// For a level of sleep at which no CPU goes down: none has to come up.
    pub fn keep_cpus(&mut self) {
        if let Some(emulator) = &mut self.emulator {
            emulator.first_tick = (Ns::ZERO, Ns::ZERO);
        }
    }

    /// The built-in profile called `name`.
    pub fn find(name: &str) -> Option<Profile> {
        match name {
            "zero" => Some(Profile::zero()),
            "x86" => Some(Profile::x86()),
            "phone" => Some(Profile::phone()),
            _ => None,
        }
    }
}
