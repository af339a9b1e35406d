//! What runs inside the guest, as process 1: builds boards, lets the machine
//! sleep, sends what it saw, powers off.
//!
//! Only here does the laboratory write `/sys/power/state`, and only after
//! [`in_guest`] has said yes.

mod bare;
mod idle;
mod kmod;
mod links;
mod loops;
mod out;
mod record;
mod scheduler;
mod script;
mod soak;
mod soc;
mod states;
mod storage;
mod swap;
mod system;
mod udev;

use crate::plan::{
    DEEP_MODULE, DIRECTORY, GOVERNOR_MODULE, MARKER, MODULE, PLAN, PROBES_MODULE, Plan, Record,
};
use out::Out;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use system::Result;

/// Whether this process may put the machine to sleep: it is process 1 and the
/// kernel was started by the laboratory. `/proc` must be mounted.
fn in_guest() -> bool {
    std::process::id() == 1
        && fs::read_to_string("/proc/cmdline")
            .is_ok_and(|line| line.split_whitespace().any(|w| w == MARKER))
}

/// Whether this process looks like a guest's process 1. Called first thing by
/// `dormouse`, which then calls [`main`] instead of reading a command line.
pub fn is_init() -> bool {
    std::process::id() == 1 && Path::new(DIRECTORY).join(PLAN).exists()
}

/// Does the plan and powers off. Returns only where it refuses to work.
pub fn main() -> ExitCode {
    if std::process::id() != 1 {
        eprintln!("dormouse-guest is process 1 of a laboratory guest and does nothing elsewhere");
        return ExitCode::FAILURE;
    }
    if let Err(e) = system::mount_all() {
        println!("dormouse guest: {e}");
    } else if !in_guest() {
        eprintln!("the kernel was not started by dormouse lab ({MARKER} is missing)");
        return ExitCode::FAILURE;
    } else if let Err(e) = run() {
        println!("dormouse guest: {e}");
    }
    system::power_off()
}

fn run() -> Result<()> {
    let dir = Path::new(DIRECTORY);
    let plan: Plan = serde_json::from_slice(&system::read(&dir.join(PLAN))?)
        .map_err(|e| format!("plan: {e}"))?;
    let mut out = Out::open(&plan.results)?;
    let result = do_plan(&plan, dir, &mut out);
    if let Err(e) = &result {
        out.send("error", e.as_bytes())?;
    }
    out.send("log", &system::kernel_log())?;
    out.send("end", &[])?;
    result
}

fn do_plan(plan: &Plan, dir: &Path, out: &mut Out) -> Result<()> {
    if let Some(seconds) = plan.drivers {
        system::load_module(&dir.join(PROBES_MODULE))?;
        std::thread::sleep(Duration::from_secs(seconds));
    }
    if plan.links {
        out.send("links", links::links().as_bytes())?;
        out.send("devices", links::devices().as_bytes())?;
    }
    kmod::run(&plan.loads, dir, out)?;
    if plan.module {
        system::load_module(&dir.join(MODULE))?;
    }
    // It is there where the machine's firmware cannot do it.
    let deep = dir.join(DEEP_MODULE);
    if deep.exists() && !system::read_text("/sys/power/mem_sleep").contains("deep") {
        system::load_module(&deep)?;
    }
    if let Some(parameters) = &plan.scheduler {
        scheduler::on(dir, parameters)?;
    }
    if plan.swap {
        swap::on(dir)?;
    }
    for idle in &plan.idle {
        let recording = idle::record(idle, dir).map_err(|e| format!("{}: {e}", idle.name))?;
        out.send(&format!("idle {}", idle.name), recording.as_bytes())?;
    }
    for wish in &plan.loops {
        loops::run(wish, dir, out).map_err(|e| format!("{}: {e}", wish.name))?;
    }
    for wish in &plan.storage {
        let said = storage::run(wish, dir).map_err(|e| format!("{}: {e}", wish.name))?;
        out.send(&format!("storage {}", wish.name), said.as_bytes())?;
    }
    if let Some(script) = &plan.script {
        script::run(script, dir, out)?;
    }
    if let Some(wish) = &plan.soak {
        let said = soak::run(wish, dir, plan.scheduler.is_some())?;
        out.send("soak", said.as_bytes())?;
    }
    if let Some(parameters) = &plan.soc {
        soc::run(parameters, dir, out)?;
    }
    for (n, parameters) in plan.governor.iter().enumerate() {
        system::load_module_with(&dir.join(GOVERNOR_MODULE), parameters)?;
        let said = system::read(Path::new("/sys/kernel/debug/dormouse_governor/decisions"))?;
        out.send(&format!("governor {n}"), &said)?;
        system::unload_module("dormouse_governor")?;
    }
    for file in &plan.probes {
        let text = system::read(&dir.join(file))?;
        let said = system::build_board(&text).err().unwrap_or_else(|| "built".into());
        let left = system::board_devices();
        out.send(&format!("probe {file}"), format!("{said}; {left} devices").as_bytes())?;
        system::build_board(b"clear")?;
    }
    for trial in &plan.trials {
        udev::run(trial, dir, out).map_err(|e| format!("{}: {e}", trial.name))?;
    }
    std::thread::sleep(Duration::from_secs(plan.settle));
    let mut board = None;
    let mut scheduler = plan.scheduler.clone();
    for step in &plan.steps {
        // Where a panic or a time limit ends it, this says how far it came.
        println!("dormouse guest: {}", step.name);
        if let Some(turn) = &step.turn {
            if scheduler != turn.scheduler {
                if scheduler.is_some() {
                    scheduler::off()?;
                }
                if let Some(parameters) = &turn.scheduler {
                    scheduler::on(dir, parameters)?;
                }
                scheduler.clone_from(&turn.scheduler);
            }
            std::thread::sleep(Duration::from_secs(turn.rest));
        }
        if board != step.description {
            let text = match &step.description {
                Some(file) => system::read(&dir.join(file))?,
                None => b"clear".to_vec(),
            };
            if plan.module {
                system::build_board(&text).map_err(|e| format!("{}: {e}", step.name))?;
            }
            board.clone_from(&step.description);
        }
        if step.record != Record::No {
            let bare = step.phases.then(|| bare::Bare::start(step)).transpose()?;
            let file = record::capture(step).map_err(|e| format!("{}: {e}", step.name))?;
            if let Some(bare) = bare {
                out.send(&format!("trace {}", step.name), &bare.stop()?)?;
            }
            out.send(&format!("capture {}", step.name), &file)?;
        } else {
            let seen = bare::cycles(step)?;
            out.send(&format!("trace {}", step.name), &seen.trace)?;
            out.send(&format!("facts {}", step.name), &seen.facts)?;
        }
        if scheduler.is_some() {
            out.send(&format!("scheduler {}", step.name), scheduler::figures().as_bytes())?;
        }
    }
    if scheduler.is_some() {
        scheduler::off()?;
    }
    if plan.module {
        // Unloading is part of what every run proves.
        system::build_board(b"clear")?;
        system::unload_module("dormouse_board")?;
    }
    Ok(())
}
