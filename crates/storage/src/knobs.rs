//! Settings of storage as sysfs says them, and which of them contradict each other.

use dormouse_base::folder::device_of;
use std::collections::{BTreeMap, BTreeSet};

/// Runtime power management of a device, from its folder `power`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Power {
    /// Its path without `/power`.
    pub path: String,
    /// `control`: `on` forbids.
    pub allowed: Option<bool>,
    /// `runtime_status`.
    pub status: Option<Status>,
    /// How often in a row it was read with that status.
    pub status_seen: u32,
    /// `runtime_usage`.
    pub usage: Option<u64>,
    /// `runtime_active_kids`.
    pub children: Option<u64>,
    /// `autosuspend_delay_ms`; negative: never.
    pub autosuspend: Option<i64>,
    /// `pm_qos_resume_latency_us` is `n/a`, which forbids too.
    pub forbidden: bool,
    /// `runtime_active_time` and `runtime_suspended_time`, ms.
    pub times: [Option<u64>; 2],
    /// What a text showed of it first, if it shows one of these files twice: two measurements,
    /// of which this is the last.
    pub before: Option<Box<Power>>,
}

/// `runtime_status` (`runtime_status_show`, drivers/base/power/sysfs.c, 6.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// `active`.
    Active,
    /// `suspended`.
    Suspended,
    /// `suspending`.
    Suspending,
    /// `resuming`.
    Resuming,
    /// `error`: a callback failed, and the core calls none until it is cleared.
    Error,
    /// `unsupported`: runtime PM of the device is off.
    Unsupported,
}

impl Status {
    /// By the kernel's word.
    pub fn of(word: &str) -> Option<Status> {
        Some(match word {
            "active" => Status::Active,
            "suspended" => Status::Suspended,
            "suspending" => Status::Suspending,
            "resuming" => Status::Resuming,
            "error" => Status::Error,
            "unsupported" => Status::Unsupported,
            _ => return None,
        })
    }

    /// The kernel's word.
    pub fn name(self) -> &'static str {
        match self {
            Status::Active => "active",
            Status::Suspended => "suspended",
            Status::Suspending => "suspending",
            Status::Resuming => "resuming",
            Status::Error => "error",
            Status::Unsupported => "unsupported",
        }
    }
}

impl Power {
    /// Whether it is awake, as far as its status was read.
    pub fn is_active(&self) -> Option<bool> {
        self.status.map(|s| s == Status::Active)
    }

    /// How long it slept since it was set up, of how long, in ms, and the share in per cent.
    pub fn slept(&self) -> Option<(u64, u64, u64)> {
        let [Some(awake), Some(asleep)] = self.times else { return None };
        let all = awake.checked_add(asleep).filter(|n| *n > 0)?;
        Some((asleep, all, asleep.saturating_mul(100) / all))
    }

    /// The device's name.
    pub fn name(&self) -> &str {
        device_of(&self.path)
    }

    /// Whether a file that tells of a moment was read.
    fn has(&self, file: &str) -> bool {
        match file {
            "runtime_status" => self.status.is_some(),
            "runtime_active_time" => self.times[0].is_some(),
            "runtime_suspended_time" => self.times[1].is_some(),
            _ => false,
        }
    }
}

/// A devfreq device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Devfreq {
    /// Its name.
    pub name: String,
    /// Who decides.
    pub governor: Option<String>,
    /// `polling_interval`, ms.
    pub poll: Option<u64>,
    /// Limits, Hz.
    pub limits: [Option<u64>; 2],
    /// What it can be, Hz.
    pub levels: Vec<u64>,
}

/// What the block layer counted of a disk since it exists (`/sys/block/DISK/stat`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Reads, and what they took together, ms.
    pub reads: u64,
    /// As above.
    pub read_ms: u64,
    /// Writes, and what they took together, ms.
    pub writes: u64,
    /// As above.
    pub write_ms: u64,
}

/// What sysfs says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Knobs {
    /// By path.
    pub power: BTreeMap<String, Power>,
    /// By name.
    pub devfreq: BTreeMap<String, Devfreq>,
    /// `clkgate_delay_ms` of hosts, ms, by the path of the host.
    pub gates: BTreeMap<String, u64>,
    /// `dev_freq_timeout_ms` of disks, ms, by the name of the disk.
    pub timeouts: BTreeMap<String, u64>,
    /// By the name of the disk.
    pub counters: BTreeMap<String, Counters>,
    /// The scheduler in force, by the name of the disk.
    pub schedulers: BTreeMap<String, String>,
    /// `link_power_management_policy` of each SATA host.
    pub links: BTreeMap<String, String>,
    /// `clkscale_enable` of each UFS host: whether its clocks follow the load.
    pub scaled: BTreeMap<String, bool>,
    /// What `hdparm -C` says of each disk.
    pub spinning: BTreeMap<String, String>,
    /// What `hdparm -B` says of each disk: its level of advanced power management.
    pub apm: BTreeMap<String, String>,
    /// The standby timer that `hdparm -S` set of each disk, as it says it: `10 minutes`.
    pub standby: BTreeMap<String, String>,
    /// Disks that `hdparm -y` told to stand still, after which nothing was read of them.
    pub stopped: BTreeSet<String>,
    /// `power_state` of PCI devices, by the path of the device.
    pub pci: BTreeMap<String, String>,
    /// Exit latency of each CPU's idle states, ns.
    pub exits: BTreeMap<(u32, u32), i64>,
}

/// Files of a devfreq device that are settings, or say what they choose from.
const DEVFREQ: [&str; 5] =
    ["governor", "polling_interval", "min_freq", "max_freq", "available_frequencies"];

/// Levels of advanced power management that permit no spin-down (hdparm(8), -B).
pub const NO_SPIN_DOWN: std::ops::RangeInclusive<u8> = 128..=254;

/// States of PCI (drivers/pci/pci.c:pci_power_names, 6.12).
const STATES: [&str; 7] = ["error", "D0", "D1", "D2", "D3hot", "D3cold", "unknown"];

/// Whether a folder is named like a device of PCI: `0000:05:00.0`.
fn is_pci(folder: &str) -> bool {
    let mut parts = folder.split([':', '.']);
    let mut hex = |n: usize| {
        parts.next().is_some_and(|p| p.len() >= n && p.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    folder.matches(':').count() == 2 && hex(4) && hex(2) && hex(2) && hex(1)
}

/// Settings that contradict each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// It is suspended before devfreq looks at it.
    AutosuspendBelowPoll {
        /// The device, its delay (ms), the devfreq device and its interval (ms).
        device: String,
        /// ms.
        delay: i64,
        /// The devfreq device.
        devfreq: String,
        /// ms.
        poll: u64,
    },
    /// A delay is set, and `control` forbids.
    ControlOn {
        /// The device.
        device: String,
        /// ms.
        delay: i64,
    },
    /// `control` allows, and a delay below zero or a latency of `n/a` forbids.
    NeverSleeps {
        /// The device.
        device: String,
        /// It is the latency.
        latency: bool,
    },
    /// The governor may choose, and the limits leave one clock.
    OneClock {
        /// The devfreq device.
        devfreq: String,
        /// Hz.
        clock: u64,
    },
    /// A limit that no clock of the device reaches.
    LimitUnreached {
        /// The devfreq device.
        devfreq: String,
        /// It is `max_freq`.
        upper: bool,
        /// Hz.
        limit: u64,
    },
    /// The disk asks for quality of service, and devfreq listens to another device.
    QosUnheard {
        /// The disk.
        disk: String,
        /// ms.
        timeout: u64,
    },
    /// A standby timer is set, and the level of advanced power management permits no spin-down
    /// (hdparm(8), -B).
    NoSpinDown {
        /// The disk.
        disk: String,
        /// As hdparm says it.
        timer: String,
        /// 128 and more.
        level: u8,
    },
    /// The clock is gated later than its disk is suspended.
    GateAfterSuspend {
        /// The host.
        host: String,
        /// ms.
        gate: u64,
        /// ms.
        delay: i64,
    },
}

impl Knobs {
    /// Whether anything was found.
    pub fn any(&self) -> bool {
        !self.power.is_empty()
            || !self.devfreq.is_empty()
            || !self.gates.is_empty()
            || !self.counters.is_empty()
            || !self.links.is_empty()
            || !self.scaled.is_empty()
            || !self.spinning.is_empty()
            || !self.apm.is_empty()
    }

    /// Whether more was found than devices with runtime power management, which need be no disks.
    pub fn of_storage(&self) -> bool {
        let more = Knobs { power: BTreeMap::new(), ..self.clone() };
        more.any() || !self.conflicts().is_empty()
    }

    /// Devices that were awake in one measurement and asleep in another: the first and the last.
    pub fn changed(&self) -> impl Iterator<Item = (&Power, &Power)> {
        let pairs = self.power.values().filter_map(|p| Some((p.before.as_deref()?, p)));
        pairs
            .filter(|(a, b)| matches!((a.is_active(), b.is_active()), (Some(x), Some(y)) if x != y))
    }

    /// Takes one file of sysfs.
    pub fn take(&mut self, path: &str, value: &str) {
        let value = value.trim();
        let mut parts = path.rsplitn(3, '/');
        let (Some(file), Some(folder)) = (parts.next(), parts.next()) else { return };
        let above = parts.next().unwrap_or("");
        let number = || value.parse::<u64>().ok();
        if folder == "power" {
            // CPUs have such a folder too, of which idle states know.
            if above.is_empty() || above.starts_with("/sys/devices/system/cpu/") {
                return;
            }
            let p = self.power.entry(above.into()).or_default();
            if p.before.is_none() && p.has(file) {
                p.before = Some(Box::new(p.clone()));
            }
            match file {
                "control" if value == "on" || value == "auto" => p.allowed = Some(value == "auto"),
                "runtime_status" if Status::of(value).is_some() => {
                    let status = Status::of(value);
                    p.status_seen = if p.status == status { p.status_seen + 1 } else { 1 };
                    p.status = status;
                }
                "runtime_usage" if number().is_some() => p.usage = number(),
                "runtime_active_kids" if number().is_some() => p.children = number(),
                "autosuspend_delay_ms" if value.parse::<i64>().is_ok() => {
                    p.autosuspend = value.parse().ok();
                }
                "pm_qos_resume_latency_us" => p.forbidden = value == "n/a",
                "runtime_active_time" if number().is_some() => p.times[0] = number(),
                "runtime_suspended_time" if number().is_some() => p.times[1] = number(),
                _ => {
                    if *p == Power::default() {
                        self.power.remove(above);
                    }
                    return;
                }
            }
            p.path = above.into();
        } else if above.ends_with("/devfreq") && DEVFREQ.contains(&file) {
            let d = self.devfreq.entry(folder.into()).or_default();
            match file {
                "governor" => d.governor = Some(value.into()),
                "polling_interval" => d.poll = number(),
                "min_freq" => d.limits[0] = number(),
                "max_freq" => d.limits[1] = number(),
                "available_frequencies" => {
                    d.levels = value.split_whitespace().filter_map(|w| w.parse().ok()).collect();
                    d.levels.sort_unstable();
                }
                _ => {}
            }
            d.name = folder.into();
        } else if file == "power_state" && is_pci(folder) && STATES.contains(&value) {
            self.pci.insert([above, "/", folder].concat(), value.into());
        } else if file == "clkgate_delay_ms" {
            if let Some(ms) = number() {
                let path = path.strip_suffix("/clkgate_delay_ms").unwrap_or(path);
                self.gates.insert(path.into(), ms);
            }
        } else if file == "stat" && above.ends_with("/block") {
            let words: Vec<u64> = value.split_whitespace().map_while(|w| w.parse().ok()).collect();
            if let [reads, _, _, read_ms, writes, _, _, write_ms, ..] = words[..] {
                let counters = Counters { reads, read_ms, writes, write_ms };
                self.counters.insert(folder.into(), counters);
            }
        } else if file == "scheduler" && folder == "queue" {
            let disk = above.rsplit('/').next().unwrap_or(above);
            let chosen = value.split_once('[').and_then(|(_, r)| Some(r.split_once(']')?.0));
            self.schedulers.insert(disk.into(), chosen.unwrap_or(value).into());
        } else if file == "link_power_management_policy" {
            self.links.insert(folder.into(), value.into());
        } else if file == "clkscale_enable" && matches!(value, "0" | "1") {
            self.scaled.insert(folder.into(), value == "1");
        } else if file == "dev_freq_timeout_ms" {
            if let Some(ms) = number() {
                self.timeouts.insert(folder.into(), ms);
            }
        } else if file == "latency" && folder.starts_with("state") {
            let cpu = above.strip_suffix("/cpuidle").and_then(|p| p.rsplit('/').next());
            let cpu = cpu.and_then(|c| c.strip_prefix("cpu")?.parse().ok());
            let state = folder.strip_prefix("state").and_then(|s| s.parse().ok());
            if let (Some(cpu), Some(state), Some(us)) = (cpu, state, number()) {
                let ns = i64::try_from(us.saturating_mul(1_000)).unwrap_or(i64::MAX);
                self.exits.insert((cpu, state), ns);
            }
        }
    }

    /// Devices of storage with runtime power management: disks and their hosts, of
    /// which a part of the path is named.
    fn storage(&self) -> impl Iterator<Item = &Power> {
        self.power.values().filter(|p| {
            p.path.contains("/block/")
                || p.path.split('/').any(|n| crate::wait::Family::of_device(n).is_some())
        })
    }

    /// Whether two settings are there that could contradict each other.
    pub fn comparable(&self) -> bool {
        let devfreq = |d: &Devfreq| {
            let set = [d.poll.is_some(), d.limits[0].is_some(), d.limits[1].is_some()];
            !d.levels.is_empty() && set.contains(&true)
        };
        self.storage().any(|p| p.allowed.is_some() && (p.forbidden || p.autosuspend.is_some()))
            || self.devfreq.values().any(devfreq)
            || !self.gates.is_empty() && self.storage().any(|p| p.autosuspend.is_some())
            || self.standby.keys().any(|d| self.apm.contains_key(d))
    }

    /// Devices that the core has suspended, and that PCI has in its state of full power all the
    /// same (drivers/pci/pci-sysfs.c:power_state_show, 6.12: what the kernel set last).
    pub fn in_name_only(&self) -> impl Iterator<Item = &Power> {
        let full = |p: &&Power| self.pci.get(&p.path).is_some_and(|s| s == "D0");
        self.power.values().filter(|p| p.status == Some(Status::Suspended)).filter(full)
    }

    /// Disks whose level of advanced power management permits no spin-down, with it.
    pub fn spins_on(&self) -> impl Iterator<Item = (&str, u8)> {
        let level = |l: &str| l.parse::<u8>().ok().filter(|l| NO_SPIN_DOWN.contains(l));
        self.apm.iter().filter_map(move |(disk, l)| Some((disk.as_str(), level(l)?)))
    }

    /// What contradicts what, in the order of the devices.
    pub fn conflicts(&self) -> Vec<Conflict> {
        let mut out = Vec::new();
        for p in self.storage() {
            let device = || p.name().to_string();
            let forbidden = p.allowed == Some(false);
            if let (true, Some(delay)) = (forbidden, p.autosuspend.filter(|d| *d > 0)) {
                out.push(Conflict::ControlOn { device: device(), delay });
            }
            if p.allowed == Some(true) && (p.forbidden || p.autosuspend.is_some_and(|d| d < 0)) {
                out.push(Conflict::NeverSleeps { device: device(), latency: p.forbidden });
            }
            let Some(delay) = p.autosuspend.filter(|d| *d >= 0 && !forbidden) else { continue };
            for d in self.devfreq.values() {
                // The clock of this device, or of one above it.
                if let Some(poll) = d.poll.filter(|ms| *ms > 0)
                    && p.path.split('/').any(|n| n == d.name)
                    && delay.unsigned_abs() < poll
                {
                    let devfreq = d.name.clone();
                    out.push(Conflict::AutosuspendBelowPoll {
                        device: device(),
                        delay,
                        devfreq,
                        poll,
                    });
                }
            }
            for (host, gate) in &self.gates {
                if p.path.starts_with(host.as_str()) && delay.unsigned_abs() <= *gate {
                    let host = host.rsplit('/').next().unwrap_or(host).to_string();
                    out.push(Conflict::GateAfterSuspend { host, gate: *gate, delay });
                }
            }
        }
        for d in self.devfreq.values() {
            let devfreq = || d.name.clone();
            let [least, most] = d.limits;
            let (Some(&low), Some(&high)) = (d.levels.first(), d.levels.last()) else { continue };
            for (limit, upper) in [(least, false), (most, true)] {
                let Some(limit) = limit.filter(|l| *l > 0) else { continue };
                if if upper { limit < low } else { limit > high } {
                    out.push(Conflict::LimitUnreached { devfreq: devfreq(), upper, limit });
                }
            }
            let (least, most) = (least.unwrap_or(0).max(low), most.unwrap_or(high).min(high));
            let open = d.levels.iter().filter(|l| **l >= least && **l <= most).count();
            let chooses = d.governor.as_deref().is_some_and(|g| g == "simple_ondemand");
            if chooses && open == 1 && d.levels.len() > 1 {
                out.push(Conflict::OneClock { devfreq: devfreq(), clock: most });
            }
        }
        for (disk, level) in self.spins_on() {
            if let Some(timer) = self.standby.get(disk) {
                out.push(Conflict::NoSpinDown { disk: disk.into(), timer: timer.clone(), level });
            }
        }
        for (disk, timeout) in self.timeouts.iter().filter(|t| *t.1 > 0) {
            out.push(Conflict::QosUnheard { disk: disk.clone(), timeout: *timeout });
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knobs(lines: &[(&str, &str)]) -> Knobs {
        let mut k = Knobs::default();
        for (path, value) in lines {
            k.take(path, value);
        }
        k
    }

    const DISK: &str = "/sys/devices/platform/soc/1d84000.ufshc/host0/target0:0:0/0:0:0:0/power";

    #[test]
    fn settings_that_contradict_each_other() {
        let delay = std::format!("{DISK}/autosuspend_delay_ms");
        let control = std::format!("{DISK}/control");
        let k = knobs(&[
            (&control, "auto"),
            (&delay, "50"),
            ("/sys/class/devfreq/1d84000.ufshc/polling_interval", "60"),
            ("/sys/class/devfreq/1d84000.ufshc/governor", "simple_ondemand"),
            ("/sys/class/devfreq/1d84000.ufshc/available_frequencies", "400000000 100000000"),
            ("/sys/class/devfreq/1d84000.ufshc/min_freq", "300000000"),
            ("/sys/class/devfreq/1d84000.ufshc/max_freq", "400000000"),
            ("/sys/devices/platform/soc/1d84000.ufshc/clkgate_delay_ms", "150"),
            ("/sys/block/sda/dev_freq_timeout_ms", "30"),
        ]);
        let devfreq = || "1d84000.ufshc".to_string();
        let device = || "0:0:0:0".to_string();
        assert_eq!(
            k.conflicts(),
            vec![
                Conflict::AutosuspendBelowPoll {
                    device: device(),
                    delay: 50,
                    devfreq: devfreq(),
                    poll: 60
                },
                Conflict::GateAfterSuspend { host: devfreq(), gate: 150, delay: 50 },
                Conflict::OneClock { devfreq: devfreq(), clock: 400_000_000 },
                Conflict::QosUnheard { disk: "sda".into(), timeout: 30 },
            ]
        );
        let k = knobs(&[(&control, "on"), (&delay, "2000")]);
        assert_eq!(k.conflicts(), [Conflict::ControlOn { device: device(), delay: 2_000 }]);
        let k = knobs(&[(&control, "auto"), (&delay, "-1")]);
        assert_eq!(k.conflicts(), [Conflict::NeverSleeps { device: device(), latency: false }]);
    }

    #[test]
    fn counters_and_the_scheduler_of_a_disk() {
        let k = knobs(&[
            ("/sys/block/sda/stat", " 120  3 960 60 10 0 80 45 0 70 105 0 0 0 0"),
            ("/sys/block/sda/queue/scheduler", "none [mq-deadline] bfq"),
            ("/sys/block/sda/sda1/stat", "1 1 1 1 1 1 1 1 1 1 1"),
        ]);
        assert_eq!(k.counters.len(), 1);
        let want = Counters { reads: 120, read_ms: 60, writes: 10, write_ms: 45 };
        assert_eq!((k.counters["sda"], k.schedulers["sda"].as_str()), (want, "mq-deadline"));
        assert!(k.any());
    }

    #[test]
    fn what_agrees_is_not_named_and_other_devices_are_not_storage() {
        let k = knobs(&[
            ("/sys/devices/pci0000:00/0000:00:14.0/usb1/power/control", "on"),
            ("/sys/devices/pci0000:00/0000:00:14.0/usb1/power/autosuspend_delay_ms", "2000"),
            ("/sys/devices/system/cpu/cpu3/cpuidle/state2/latency", "127"),
            ("/sys/class/devfreq/gpu/min_freq", "0"),
        ]);
        assert_eq!(k.conflicts(), []);
        assert_eq!(k.exits[&(3, 2)], 127_000);
        assert!(k.any());
    }
}
