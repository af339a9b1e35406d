//! CPU idle beside a recording: what sysfs says before and after, and function
//! probes of what governors are told and decide, on a stock kernel.

use crate::guard::{Error, Guard};
use crate::machine;
use crate::root::Root;
use crate::system;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::time::Instant;

const CPUS: &str = "/sys/devices/system/cpu";
const GOVERNOR: &str = "/sys/devices/system/cpu/cpuidle/current_governor";

/// Group of the events that are made.
pub(crate) const GROUP: &str = "dormouse";

/// What every governor is told (kernel/time/tick-sched.c,
/// drivers/cpuidle/governor.c and cpuidle.c, 6.12): name, and what is traced.
const COMMON: [(&str, &str); 5] = [
    ("idle_sl", "tick_nohz_get_sleep_length%return ret=$retval:s64 dt=+0($arg1):s64"),
    ("idle_lr", "cpuidle_governor_latency_req%return ret=$retval:s64"),
    ("idle_ts", "tick_nohz_tick_stopped%return ret=$retval:u8"),
    ("idle_got", "tick_nohz_idle_got_tick%return ret=$retval:u8"),
    (
        "idle_refl",
        "cpuidle_reflect index=index:s32 res=dev->last_residency_ns:u64 ptl=dev->poll_time_limit:u8",
    ),
];

/// A governor: its name, the functions that decide and that reset, and whether
/// it says what becomes of the tick.
const GOVERNORS: [(&str, &str, &str, bool); 3] = [
    ("menu", "menu_select", "menu_enable_device", true),
    ("teo", "teo_select", "teo_enable_device", true),
    ("ladder", "ladder_select_state", "ladder_enable_device", false),
];

/// A system call that does next to nothing, to time a probe with.
const CHEAP: [&str; 2] = ["__x64_sys_getppid", "__arm64_sys_getppid"];

/// The event that times a probe.
const COST: &str = "idle_cost";

/// Events that were made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probes {
    /// Paths below `events`.
    pub events: Vec<String>,
    /// What this kernel did not take.
    pub missing: Vec<String>,
    /// The event that times a probe.
    cost: Option<String>,
}

/// Probes that are announced and not made.
#[derive(Debug, Default)]
pub struct Planned {
    list: String,
    /// Name and what is traced.
    probes: Vec<(&'static str, String)>,
    /// This kernel has no function probes.
    unknown: bool,
}

/// Announces the probes of the governor in use; they are removed with the guard.
///
/// # Errors
/// If the journal cannot be written.
pub fn plan(guard: &mut Guard<'_>, root: &Root, tracefs: &str) -> Result<Planned, Error> {
    let mut plan = Planned { list: format!("{tracefs}/dynamic_events"), ..Planned::default() };
    let governor = governor(root);
    let Some((_, select, enable, says_stop)) =
        GOVERNORS.into_iter().find(|g| Some(g.0) == governor.as_deref())
    else {
        return Ok(plan);
    };
    if !root.exists(&plan.list) {
        plan.unknown = true;
        return Ok(plan);
    }
    let stop = if says_stop { " stop=+0($arg3):u8" } else { "" };
    let own = [
        ("idle_ent", select.to_owned()),
        ("idle_sel", format!("{select}%return idx=$retval:s32{stop}")),
        ("idle_en", enable.to_owned()),
    ];
    plan.probes =
        COMMON.map(|(name, what)| (name, what.to_owned())).into_iter().chain(own).collect();
    for name in plan.probes.iter().map(|p| p.0).chain([COST]) {
        guard.announce_probe(&plan.list, &format!("{GROUP}/{name}"))?;
    }
    Ok(plan)
}

/// Makes the probes. Kernels before 6.6 take no arguments of functions by name,
/// and record the rest.
///
/// # Errors
/// If the journal cannot be written.
pub fn probes(guard: &mut Guard<'_>, plan: &Planned) -> Result<Probes, Error> {
    let mut out = Probes::default();
    if plan.unknown {
        out.missing.push("function probes".into());
    }
    for (name, what) in &plan.probes {
        match guard.probe(&plan.list, &format!("{GROUP}/{name}"), what) {
            Ok(()) => out.events.push(format!("{GROUP}/{name}")),
            Err(e @ Error::Journal { .. }) => return Err(e),
            Err(_) => {
                out.missing.push(format!("probe of {}", what.split(' ').next().unwrap_or("")))
            }
        }
    }
    if !plan.probes.is_empty() {
        let name = format!("{GROUP}/{COST}");
        let mut takes = |call: &str| {
            guard.probe(&plan.list, &name, &format!("{call}%return ret=$retval:s32")).is_ok()
        };
        out.cost = CHEAP.into_iter().any(&mut takes).then(|| name.clone());
    }
    Ok(out)
}

fn governor(root: &Root) -> Option<String> {
    root.read(GOVERNOR).or_else(|| root.read(&format!("{GOVERNOR}_ro")))
}

/// Switches to another governor and back, so that the one in use begins with an
/// empty history: then each of its decisions follows from the recording alone.
/// False if there is no other.
///
/// # Errors
/// If it cannot be switched back.
pub fn forget(guard: &mut Guard<'_>, root: &Root) -> Result<bool, Error> {
    let Some(own) = root.read(GOVERNOR) else { return Ok(false) };
    let known = root.read(&format!("{CPUS}/cpuidle/available_governors")).unwrap_or_default();
    let Some(other) = known.split_whitespace().find(|g| *g != own) else { return Ok(false) };
    guard.set(GOVERNOR, other)?;
    guard.write(GOVERNOR, &own)?;
    Ok(true)
}

/// Everything that sysfs says of idle states, limits, topology and energy now, a
/// line `PATH:VALUE` for each file.
pub fn dump(root: &Root) -> Vec<u8> {
    let mut out = String::new();
    let mut add = |path: String| {
        if let Some(value) = root.read(&path) {
            for line in value.lines() {
                let _ = writeln!(out, "{path}:{line}");
            }
        }
    };
    for file in ["current_driver", "current_governor", "current_governor_ro", "available_governors"]
    {
        add(format!("{CPUS}/cpuidle/{file}"));
    }
    for n in machine::cpu_numbers(&root.read(&format!("{CPUS}/online")).unwrap_or_default()) {
        let cpu = format!("{CPUS}/cpu{n}");
        add(format!("{cpu}/power/pm_qos_resume_latency_us"));
        for file in ["physical_package_id", "core_id", "core_cpus_list", "die_id"] {
            add(format!("{cpu}/topology/{file}"));
        }
        for state in root.list(&format!("{cpu}/cpuidle")) {
            let at = format!("{cpu}/cpuidle/{state}");
            for file in root.list(&at) {
                add(format!("{at}/{file}"));
            }
            for file in root.list(&format!("{at}/s2idle")) {
                add(format!("{at}/s2idle/{file}"));
            }
        }
    }
    energy(root, &mut add);
    out.into_bytes()
}

/// Counters of energy and charge: RAPL, sensors, batteries.
fn energy(root: &Root, add: &mut dyn FnMut(String)) {
    for zone in root.list("/sys/class/powercap") {
        for file in ["name", "energy_uj", "max_energy_range_uj"] {
            add(format!("/sys/class/powercap/{zone}/{file}"));
        }
    }
    for sensor in root.list("/sys/class/hwmon") {
        let at = format!("/sys/class/hwmon/{sensor}");
        let files = root.list(&at);
        let counts = |f: &&String| f.starts_with("energy") || f.starts_with("power");
        if files.iter().any(|f| counts(&f)) {
            add(format!("{at}/name"));
        }
        for file in files.iter().filter(counts) {
            add(format!("{at}/{file}"));
        }
    }
    for supply in root.list("/sys/class/power_supply") {
        for file in [
            "type",
            "status",
            "energy_now",
            "charge_now",
            "power_now",
            "current_now",
            "voltage_now",
        ] {
            add(format!("/sys/class/power_supply/{supply}/{file}"));
        }
    }
}

/// How long one event takes, ns, as measured on this machine: a tracepoint, and
/// a probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// A tracepoint.
    pub event: Option<u64>,
    /// A function probe.
    pub probe: Option<u64>,
}

/// Events that one cost is taken from.
const ROUNDS: u32 = 2_000;

/// Times events of the instance at `path`, which is made and does not record.
///
/// # Errors
/// If the instance cannot be switched.
pub fn cost(
    guard: &mut Guard<'_>,
    root: &Root,
    path: &str,
    probes: &Probes,
) -> Result<Cost, Error> {
    let on = format!("{path}/tracing_on");
    let marker = OpenOptions::new().write(true).open(root.resolve(&format!("{path}/trace_marker")));
    let mut cost = Cost::default();
    if let Ok(mut file) = marker {
        // Refused while nothing is recorded, which is what is to be timed.
        let mut write = || {
            let _ = file.write_all(b"dormouse");
            true
        };
        let off = time(&mut write);
        guard.write(&on, "1")?;
        let with = time(&mut write);
        guard.write(&on, "0")?;
        cost.event = off.zip(with).map(|(off, with)| with.saturating_sub(off));
    }
    if let Some(event) = &probes.cost {
        let enable = format!("{path}/events/{event}/enable");
        let mut call = || {
            system::call();
            true
        };
        let off = time(&mut call);
        guard.write(&on, "1")?;
        let with = guard.write(&enable, "1").ok().and_then(|()| time(&mut call));
        guard.write(&on, "0")?;
        let _ = guard.write(&enable, "0");
        cost.probe = off.zip(with).map(|(off, with)| with.saturating_sub(off));
    }
    Ok(cost)
}

/// The shortest of some rounds: others were interrupted. `None` if it fails.
pub(crate) fn time(each: &mut dyn FnMut() -> bool) -> Option<u64> {
    let mut best = u64::MAX;
    for _ in 0..5 {
        let begin = Instant::now();
        for _ in 0..ROUNDS / 5 {
            if !each() {
                return None;
            }
        }
        best = best.min(begin.elapsed().as_nanos() as u64);
    }
    Some(best / u64::from(ROUNDS / 5))
}
