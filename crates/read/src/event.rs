//! What every trace format turns its records into, and who takes them.
//!
//! Text traces, `trace.dat` and Perfetto all carry the same kernel events; a
//! format's parser only finds them and hands them to an [`EventSink`]. Each
//! subject has one: [`crate::track`] assembles cycles of system sleep,
//! [`crate::idle`] counts sleeps of CPUs. A [`Fan`] feeds several at once.
//! Nothing here owns text: the hot path allocates nothing.

use crate::track::probed::is_probe;
use crate::track::switch_names::is_switch;
use dormouse_base::phase::PmEvent;
use dormouse_base::time::Ns;

/// Who recorded an event, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp<'a> {
    /// Time by the trace's clock.
    pub time: Ns,
    /// Thread id.
    pub pid: i32,
    /// Thread name; empty or `<...>` if the source lost it.
    pub comm: &'a [u8],
    /// CPU; `u32::MAX` if the source does not say.
    pub cpu: u32,
    /// Line (text, from 1) or byte offset (binary) for messages.
    pub at: u64,
}

/// A kernel event that matters for sleep (include/trace/events/power.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceEvent<'a> {
    /// `power:suspend_resume`.
    SuspendResume {
        /// Such as `dpm_suspend`.
        action: &'a [u8],
        /// The number in brackets.
        value: i64,
        /// `begin` or `end`.
        begin: bool,
    },
    /// `power:device_pm_callback_start`.
    CallbackStart {
        /// Driver, else bus, else class, else empty.
        driver: &'a [u8],
        /// Device name; may contain blanks.
        device: &'a [u8],
        /// Parent's name, `none` without one.
        parent: &'a [u8],
        /// Such as `noirq driver `; empty in prepare and complete.
        ops: &'a [u8],
        /// The word in brackets.
        event: PmEvent,
    },
    /// `power:device_pm_callback_end`.
    CallbackEnd {
        /// As at the start.
        driver: &'a [u8],
        /// As at the start.
        device: &'a [u8],
        /// Return value.
        error: i32,
    },
    /// Any other event worth keeping (sched, workqueue, rpm, cpu_idle, block).
    Other {
        /// Event name.
        name: &'a [u8],
        /// Its text as `trace` prints it.
        text: &'a [u8],
    },
    /// The tracer lost events here; `None` if it does not say how many.
    Lost {
        /// How many.
        count: Option<u64>,
    },
}

impl<'a> TraceEvent<'a> {
    /// The part of the kernel that it is of; `None` for lost events.
    pub fn kind(&self) -> Option<Kind> {
        match self {
            TraceEvent::Other { name, .. } => Some(Kind::of(name)),
            TraceEvent::Lost { .. } => None,
            _ => Some(Kind::Power),
        }
    }

    /// The kernel's name of the event; empty for lost events.
    pub fn name(&self) -> &'a [u8] {
        match self {
            TraceEvent::SuspendResume { .. } => b"suspend_resume",
            TraceEvent::CallbackStart { .. } => b"device_pm_callback_start",
            TraceEvent::CallbackEnd { .. } => b"device_pm_callback_end",
            TraceEvent::Other { name, .. } => name,
            TraceEvent::Lost { .. } => b"",
        }
    }
}

/// The part of the kernel that an event is of. The names are those of the
/// folders in `include/trace/events` where there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `suspend_resume` and `device_pm_callback_*`: system sleep.
    Power,
    /// `cpu_idle` and `cpu_idle_miss`.
    Idle,
    /// `cpu_frequency` and its limits.
    Frequency,
    /// Interrupts of devices, between CPUs and of local timers.
    Irq,
    /// `hrtimer_*`, `timer_*` and `tick_stop`.
    Timer,
    /// `sched_*`.
    Sched,
    /// `workqueue_*`.
    Workqueue,
    /// Runtime power management, `rpm_*`.
    Rpm,
    /// `block_*`.
    Block,
    /// `scsi_*`.
    Scsi,
    /// `devfreq_*`.
    Devfreq,
    /// `ufshcd_*`.
    Ufs,
    /// `clk_*`, and `clock_*` of older kernels.
    Clk,
    /// Power domains: `power_domain_*`, `psci_domain_*` and `genpd_*`.
    Genpd,
    /// `regulator_*`.
    Regulator,
    /// Wakeup sources and quality of service.
    Wakeup,
    /// Links of PCI Express, `pcie_*`.
    Pci,
    /// None of these.
    Unknown,
}

impl Kind {
    /// All, in the order of their numbers.
    pub const ALL: [Kind; 18] = [
        Kind::Power,
        Kind::Idle,
        Kind::Frequency,
        Kind::Irq,
        Kind::Timer,
        Kind::Sched,
        Kind::Workqueue,
        Kind::Rpm,
        Kind::Block,
        Kind::Scsi,
        Kind::Devfreq,
        Kind::Ufs,
        Kind::Clk,
        Kind::Genpd,
        Kind::Regulator,
        Kind::Wakeup,
        Kind::Pci,
        Kind::Unknown,
    ];

    /// The word used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Power => "power",
            Kind::Idle => "idle",
            Kind::Frequency => "frequency",
            Kind::Irq => "irq",
            Kind::Timer => "timer",
            Kind::Sched => "sched",
            Kind::Workqueue => "workqueue",
            Kind::Rpm => "rpm",
            Kind::Block => "block",
            Kind::Scsi => "scsi",
            Kind::Devfreq => "devfreq",
            Kind::Ufs => "ufs",
            Kind::Clk => "clk",
            Kind::Genpd => "genpd",
            Kind::Regulator => "regulator",
            Kind::Wakeup => "wakeup",
            Kind::Pci => "pci",
            Kind::Unknown => "other",
        }
    }

    /// The kind of the event that the kernel calls `name`.
    pub fn of(name: &[u8]) -> Kind {
        // By the first letter, and with beginnings that the compiler knows: this is
        // asked of every event that nobody wants.
        let begins = |text: &[u8]| name.starts_with(text);
        match name.first() {
            Some(b's') if begins(b"sched_") => Kind::Sched,
            Some(b's') if begins(b"softirq_") => Kind::Irq,
            Some(b's') if begins(b"scsi_") => Kind::Scsi,
            Some(b's') if begins(b"suspend_resume") => Kind::Power,
            Some(b'c') if begins(b"cpu_idle") => Kind::Idle,
            Some(b'c') if begins(b"cpu_frequency") => Kind::Frequency,
            Some(b'c')
                if begins(b"clk_")
                    || begins(b"clock_enable")
                    || begins(b"clock_disable")
                    || begins(b"clock_set_rate") =>
            {
                Kind::Clk
            }
            Some(b'c') if begins(b"call_function_") => Kind::Irq,
            Some(b'd') if begins(b"device_pm_callback_") => Kind::Power,
            Some(b'd') if begins(b"devfreq_") => Kind::Devfreq,
            Some(b'd') if begins(b"dev_pm_qos_") => Kind::Wakeup,
            Some(b'i') if begins(b"irq_handler_") || begins(b"ipi_") => Kind::Irq,
            Some(b'r') if begins(b"rpm_") => Kind::Rpm,
            Some(b'r') if begins(b"regulator_") => Kind::Regulator,
            Some(b'r') if begins(b"reschedule_") => Kind::Irq,
            Some(b't') if begins(b"timer_") || begins(b"tick_stop") => Kind::Timer,
            Some(b'w') if begins(b"workqueue_") => Kind::Workqueue,
            Some(b'w') if begins(b"wakeup_source_") => Kind::Wakeup,
            Some(b'p') if begins(b"power_domain_") || begins(b"psci_domain_") => Kind::Genpd,
            Some(b'p') if begins(b"pm_qos_") => Kind::Wakeup,
            Some(b'p') if begins(b"pcie_") => Kind::Pci,
            Some(b'h') if begins(b"hrtimer_") => Kind::Timer,
            Some(b'b') if begins(b"block_") => Kind::Block,
            Some(b'l') if begins(b"local_timer_") => Kind::Irq,
            Some(b'u') if begins(b"ufshcd_") => Kind::Ufs,
            Some(b'g') if begins(b"genpd_") => Kind::Genpd,
            _ => Kind::Unknown,
        }
    }
}

/// How many events nobody wanted, by the part of the kernel that they are of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unused([u64; Kind::ALL.len()]);

impl Unused {
    /// So many more of that kind.
    pub(crate) fn add(&mut self, kind: Kind, count: u64) {
        let slot = &mut self.0[kind as usize];
        *slot = slot.saturating_add(count);
    }

    /// Those kinds of which there are some.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = (Kind, u64)> {
        Kind::ALL.into_iter().zip(self.0).filter(|(_, count)| *count > 0)
    }

    /// Tells a sink of all.
    pub(crate) fn tell(&self, sink: &mut dyn EventSink) {
        self.kinds().for_each(|(kind, count)| sink.unused(kind, count));
    }
}

/// Takes events in the order of their time stamps: one for each subject.
pub trait EventSink {
    /// Whether events of this name are of use here. What nobody wants is passed
    /// as quickly as a format allows, and counted as [`EventSink::unused`].
    fn wants(&self, name: &[u8]) -> bool {
        of_system_sleep(name)
    }

    /// Whether events outside system sleep are of use. Where not, those far from
    /// every cycle may be passed.
    fn wants_all_times(&self) -> bool {
        false
    }

    /// One event that is wanted, or a loss.
    fn event(&mut self, stamp: Stamp<'_>, event: TraceEvent<'_>);

    /// A line of text that is no event: prose, a prompt, the head of a trace, or a rest
    /// that a mail program put below. Whether it was of use after all.
    fn text(&mut self, _line: &[u8], _at: u64) -> bool {
        false
    }

    /// A line that is an event, and is read as a line of the kernel's log as well.
    fn logged(&mut self, _line: &[u8], _at: u64) {}

    /// So many events were passed because this sink does not want them: no loss.
    fn unused(&mut self, _kind: Kind, _count: u64) {}
}

/// Hands every event to each of several subjects that wants it, and tells the others of
/// it: each subject knows of all events, as if it had read the trace alone.
pub struct Fan<'a, 'b> {
    sinks: &'a mut [&'b mut dyn EventSink],
    known: Known,
}

impl<'a, 'b> Fan<'a, 'b> {
    /// Feeds `sinks`, at most 32.
    pub fn new(sinks: &'a mut [&'b mut dyn EventSink]) -> Fan<'a, 'b> {
        Fan { sinks, known: Known::default() }
    }
}

impl EventSink for Fan<'_, '_> {
    fn wants(&self, name: &[u8]) -> bool {
        self.sinks.iter().any(|s| s.wants(name))
    }

    fn wants_all_times(&self) -> bool {
        self.sinks.iter().any(|s| s.wants_all_times())
    }

    fn event(&mut self, stamp: Stamp<'_>, event: TraceEvent<'_>) {
        let name = event.name();
        if name.is_empty() {
            // Every subject must know of a loss.
            return self.sinks.iter_mut().for_each(|s| s.event(stamp, event));
        }
        let sinks = &*self.sinks;
        let mask = || sinks.iter().rev().fold(0, |mask, s| mask << 1 | u32::from(s.wants(name)));
        let (mask, kind) = self.known.of(name, mask);
        for (i, sink) in self.sinks.iter_mut().enumerate() {
            if mask >> i & 1 == 1 { sink.event(stamp, event) } else { sink.unused(kind, 1) }
        }
    }

    fn text(&mut self, line: &[u8], at: u64) -> bool {
        let mut used = false;
        for sink in &mut *self.sinks {
            used |= sink.text(line, at);
        }
        used
    }

    fn logged(&mut self, line: &[u8], at: u64) {
        self.sinks.iter_mut().for_each(|s| s.logged(line, at));
    }

    fn unused(&mut self, kind: Kind, count: u64) {
        for sink in &mut *self.sinks {
            sink.unused(kind, count);
        }
    }
}

/// Who wants the events of a name, a bit each: a trace has few names and millions of
/// events.
#[derive(Debug, Default)]
pub(crate) struct Known {
    list: Vec<(Vec<u8>, u32, Kind)>,
    /// The place in the list of the last name of each length.
    guess: [u8; 32],
}

impl Known {
    /// The bits of `name`, which `ask` tells when it comes first; and its kind.
    pub(crate) fn of(&mut self, name: &[u8], ask: impl FnOnce() -> u32) -> (u32, Kind) {
        let slot = name.len() & 31;
        if let Some((known, mask, kind)) = self.list.get(usize::from(self.guess[slot]))
            && known == name
        {
            return (*mask, *kind);
        }
        let at = self.list.iter().position(|n| n.0 == name).unwrap_or_else(|| {
            self.list.push((name.to_vec(), ask(), Kind::of(name)));
            self.list.len() - 1
        });
        self.guess[slot] = u8::try_from(at).unwrap_or(0);
        (self.list[at].1, self.list[at].2)
    }
}

/// The word after `key=` in the text of an event.
pub fn word<'a>(text: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let mut words = text.split(|b| b.is_ascii_whitespace());
    words.find_map(|w| w.strip_prefix(key)?.strip_prefix(b"="))
}

/// The number after `key=` in the text of an event.
pub fn number(text: &[u8], key: &[u8]) -> Option<u64> {
    std::str::from_utf8(word(text, key)?).ok()?.parse().ok()
}

/// Whether events of this name are of use for system sleep.
pub fn of_system_sleep(name: &[u8]) -> bool {
    is_kept(name) || Kind::of(name) == Kind::Power
}

/// Whether the tracker has a use for events of this name beside the callbacks.
pub(crate) fn is_kept(name: &[u8]) -> bool {
    is_side_event(name) || is_switch(name) || is_probe(name)
}

/// Whether the tracker keeps events of this name beside the callbacks, because
/// they explain waits, worker counts or idle time; the same for every format.
pub(crate) fn is_side_event(name: &[u8]) -> bool {
    const PREFIXES: [&[u8]; 7] =
        [b"sched_", b"workqueue_", b"rpm_", b"cpu_idle", b"block_", b"wakeup_source_", b"pcie_"];
    // Most names are told apart by their first letter.
    matches!(name.first(), Some(b's' | b'w' | b'r' | b'c' | b'b' | b'p'))
        && PREFIXES.iter().any(|p| name.starts_with(p))
}
