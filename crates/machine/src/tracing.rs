//! The recorder's own tracefs instance: events of suspend, the boot clock, and
//! a buffer that holds a whole cycle.
//!
//! Other users of tracing are not disturbed. Nothing in the instance needs to
//! be put back, because the instance is removed.

use crate::domains;
use crate::guard::{Error, Guard};
use crate::idle;
use crate::inside;
use crate::machine;
use crate::options::{Detail, Inside, Options};
use crate::root::Root;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// The event of phases, which every recording has.
const PHASES: &str = "power/suspend_resume";

/// The events of callbacks. In prepare and complete the kernel writes them for
/// every device, and nothing spares that: triggers could only mute them, which
/// still takes a tenth of their time.
const CALLBACKS: [&str; 2] = ["power/device_pm_callback_start", "power/device_pm_callback_end"];

/// How trace text must look, whatever the system's own options are.
const FORM: [&str; 8] = [
    "context-info",
    "irq-info",
    "noraw",
    "nohex",
    "nobin",
    "nostacktrace",
    "nolatency-format",
    "nosym-addr",
];

/// Clock of the time stamps: it goes on while the machine sleeps, which `mono`
/// does not.
pub const CLOCK: &str = "boot";

/// A tracefs instance that records.
#[derive(Debug)]
pub(crate) struct Instance {
    path: String,
    /// Events that this kernel does not have.
    pub missing: Vec<String>,
    /// Probes of idle governors.
    pub probes: idle::Probes,
    /// Probes of what callbacks wait for.
    pub inside: inside::Probes,
}

impl Instance {
    /// Makes and configures the instance. It does not record yet.
    pub(crate) fn make(
        guard: &mut Guard<'_>,
        root: &Root,
        options: &Options,
        devices: usize,
    ) -> Result<Instance, Error> {
        let tracefs = root.tracefs().ok_or(Error::Absent {
            path: "/sys/kernel/tracing/instances".into(),
            advice: "mount it with: mount -t tracefs nodev /sys/kernel/tracing",
        })?;
        // Names of 128 threads is the kernel's default; a suspend with many
        // workers has more, and an async device is known by its worker's name.
        let names = format!("{tracefs}/saved_cmdlines_size");
        if root.read_number::<u64>(&names).is_some_and(|n| n < 4_096) {
            guard.set(&names, "4096")?;
        }
        // Before the instance, so that it is gone when they are removed.
        let planned = match options.detail.contains(&Detail::Idle) {
            true => idle::plan(guard, root, tracefs)?,
            false => idle::Planned::default(),
        };
        let switched = match options.detail.contains(&Detail::Domains) {
            true => Some(domains::plan(guard, root, tracefs)?),
            false => None,
        };
        let within = match options.inside {
            Inside::Nothing => None,
            what => Some(inside::plan(guard, root, tracefs, what)?),
        };
        let path = format!("{tracefs}/instances/dormouse");
        guard.make_dir(&path)?;
        let mut instance = Instance {
            path,
            missing: Vec::new(),
            probes: idle::Probes::default(),
            inside: inside::Probes::default(),
        };
        let at = |file: &str| format!("{}/{file}", instance.path);
        guard.write(&at("tracing_on"), "0")?;
        guard.write(&at("trace_clock"), CLOCK)?;
        for form in FORM {
            // An option that a kernel does not have is no loss.
            let _ = guard.write(&at("trace_options"), form);
        }
        let kib = options.buffer_kib.unwrap_or_else(|| buffer_kib(root, options, devices));
        guard.write(&at("buffer_size_kb"), &kib.to_string())?;
        let callbacks = CALLBACKS.iter().filter(|_| !options.phases_only);
        for event in [PHASES].iter().chain(callbacks) {
            guard.write(&at(&format!("events/{event}/enable")), "1")?;
        }
        // Groups share events; each is switched on once.
        let wanted: BTreeSet<&str> =
            options.detail.iter().flat_map(|d| d.events()).copied().collect();
        for event in wanted {
            if guard.write(&at(&format!("events/{event}/enable")), "1").is_err() {
                instance.missing.push(event.into());
            }
        }
        // Last: for each of them the kernel names all of its functions
        // (`ftrace_match_record()`, kernel/trace/ftrace.c, 6.12).
        instance.probes = idle::probes(guard, &planned)?;
        instance.missing.extend_from_slice(&instance.probes.missing);
        for event in &instance.probes.events {
            guard.write(&at(&format!("events/{event}/enable")), "1")?;
        }
        if let Some(planned) = &switched {
            let (events, missing) = domains::probes(guard, root, planned)?;
            for event in events {
                guard.write(&at(&format!("events/{event}/enable")), "1")?;
            }
            instance.missing.extend(missing);
        }
        if let Some(planned) = &within {
            instance.inside = inside::probes(guard, planned)?;
            instance.missing.extend_from_slice(&instance.inside.missing);
            for (event, filter) in &instance.inside.events {
                if let Some(filter) = filter {
                    // Without it more is recorded than anybody asks for.
                    let _ = guard.write(&at(&format!("events/{event}/filter")), filter);
                }
                guard.write(&at(&format!("events/{event}/enable")), "1")?;
            }
        }
        Ok(instance)
    }

    /// Its folder.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Empties the buffer and starts recording.
    pub(crate) fn start(&self, guard: &mut Guard<'_>) -> Result<(), Error> {
        guard.write(&format!("{}/trace", self.path), "")?;
        guard.write(&format!("{}/tracing_on", self.path), "1")
    }

    /// Stops recording.
    pub(crate) fn stop(&self, guard: &mut Guard<'_>) -> Result<(), Error> {
        guard.write(&format!("{}/tracing_on", self.path), "0")
    }

    /// The text of what was recorded.
    pub(crate) fn text(&self, root: &Root) -> io::Result<Vec<u8>> {
        std::fs::read(root.resolve(&format!("{}/trace", self.path)))
    }

    /// Events that each CPU's buffer has lost since it was made.
    pub(crate) fn lost(&self, root: &Root) -> BTreeMap<String, u64> {
        let folder = format!("{}/per_cpu", self.path);
        root.list(&folder)
            .into_iter()
            .map(|cpu| {
                let text = root.read(&format!("{folder}/{cpu}/stats")).unwrap_or_default();
                (cpu, lost_in(&text))
            })
            .collect()
    }
}

/// Sum of the three ways in which a ring buffer loses events.
fn lost_in(stats: &str) -> u64 {
    stats
        .lines()
        .filter_map(|l| l.split_once(':'))
        .filter(|(name, _)| matches!(*name, "overrun" | "commit overrun" | "dropped events"))
        .filter_map(|(_, n)| n.trim().parse::<u64>().ok())
        .sum()
}

/// KiB for each CPU, so that one CPU can hold every event of a cycle: the main
/// thread runs prepare, complete and all synchronous devices.
fn buffer_kib(root: &Root, options: &Options, devices: usize) -> u64 {
    // A pair of callback events takes about 200 bytes (four names, twice the
    // header); a device has at most eight pairs.
    let pairs = if options.phases_only { 0 } else { 8 };
    let suspend = (devices as u64).saturating_mul(pairs * 200) / 1_024;
    let detail: u64 = options
        .detail
        .iter()
        .map(|d| match d {
            // A busy CPU switches some 10,000 times a second, 100 bytes each,
            // for the seconds of a cycle.
            Detail::Sched | Detail::Freeze => 16_384,
            // Some 25 records a sleep with what the governor was told.
            Detail::Idle => 32_768,
            Detail::Workqueue | Detail::Storage => 4_096,
            Detail::Rpm | Detail::Sync => 2_048,
            // Four records a domain and half.
            Detail::Domains => 512,
        })
        .sum();
    // Two records of 100 bytes for a wait, of which a polled register makes thousands.
    let inside = if options.inside == Inside::Nothing { 0 } else { 4_096 };
    let wanted = 1_024 + suspend + detail + inside;
    // All CPUs together take at most an eighth of what is free.
    let cpus =
        machine::cpu_numbers(&root.read("/sys/devices/system/cpu/possible").unwrap_or_default())
            .len()
            .max(1) as u64;
    match machine::meminfo(root, "MemAvailable") {
        Some(free) => wanted.min((free / 8 / cpus / 1_024).max(256)),
        None => wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_three_kinds_of_loss_are_counted() {
        let stats = "entries: 12\noverrun: 3\ncommit overrun: 1\nbytes: 900\n\
                     oldest event ts: 1.5\nnow ts: 2.5\ndropped events: 2\nread events: 7\n";
        assert_eq!(lost_in(stats), 6);
        assert_eq!(lost_in(""), 0);
    }
}
