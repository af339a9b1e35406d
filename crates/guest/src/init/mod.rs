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
    Step, Task,
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
    let mut guest = Guest { dir, out, module: false, board: None };
    for task in &plan.tasks {
        guest.does(task)?;
    }
    if guest.module {
        system::build_board(b"clear")?;
        system::unload_module("dormouse_board")?;
    }
    Ok(())
}

/// What earlier tasks left behind.
struct Guest<'a> {
    dir: &'a Path,
    out: &'a mut Out,
    /// The board module is loaded,
    module: bool,
    /// and built this description.
    board: Option<String>,
}

impl Guest<'_> {
    fn does(&mut self, task: &Task) -> Result<()> {
        let dir = self.dir;
        let of = |name: &str| {
            let name = name.to_owned();
            move |e: String| format!("{name}: {e}")
        };
        match task {
            Task::Drivers(seconds) => {
                system::load_module(&dir.join(PROBES_MODULE))?;
                std::thread::sleep(Duration::from_secs(*seconds));
            }
            Task::Links => {
                self.out.send("links", links::links().as_bytes())?;
                self.out.send("devices", links::devices().as_bytes())?;
            }
            Task::Modprobe(loads) => kmod::run(loads, dir, self.out)?,
            Task::Module => {
                system::load_module(&dir.join(MODULE))?;
                self.module = true;
            }
            Task::Deep => {
                if !system::read_text("/sys/power/mem_sleep").contains("deep") {
                    system::load_module(&dir.join(DEEP_MODULE))?;
                }
            }
            Task::Swap => swap::on(dir)?,
            Task::Idle(wish) => {
                let recording = idle::record(wish, dir).map_err(of(&wish.name))?;
                self.out.send(&format!("idle {}", wish.name), recording.as_bytes())?;
            }
            Task::Loops(wish) => loops::run(wish, dir, self.out).map_err(of(&wish.name))?,
            Task::Storage(wish) => {
                let said = storage::run(wish, dir).map_err(of(&wish.name))?;
                self.out.send(&format!("storage {}", wish.name), said.as_bytes())?;
            }
            Task::Script(script) => script::run(script, dir, self.out)?,
            Task::Soak(wish) => {
                let said = soak::run(wish, dir)?;
                self.out.send("soak", said.as_bytes())?;
            }
            Task::Soc(parameters) => soc::run(parameters, dir, self.out)?,
            Task::Governor(list) => self.decisions(list)?,
            Task::Build(file) => {
                let text = system::read(&dir.join(file))?;
                let said = system::build_board(&text).err().unwrap_or_else(|| "built".into());
                let left = system::board_devices();
                let said = format!("{said}; {left} devices");
                self.out.send(&format!("probe {file}"), said.as_bytes())?;
                system::build_board(b"clear")?;
            }
            Task::Udev(trial) => udev::run(trial, dir, self.out).map_err(of(&trial.name))?,
            Task::Rest(seconds) => std::thread::sleep(Duration::from_secs(*seconds)),
            Task::Step(step) => self.steps(step).map_err(of(&step.name))?,
        }
        Ok(())
    }

    fn decisions(&mut self, list: &[String]) -> Result<()> {
        for (n, parameters) in list.iter().enumerate() {
            system::load_module_with(&self.dir.join(GOVERNOR_MODULE), parameters)?;
            let said = system::read(Path::new("/sys/kernel/debug/dormouse_governor/decisions"))?;
            self.out.send(&format!("governor {n}"), &said)?;
            system::unload_module("dormouse_governor")?;
        }
        Ok(())
    }

    fn steps(&mut self, step: &Step) -> Result<()> {
        // Where a panic or a time limit ends it, this says how far it came.
        println!("dormouse guest: {}", step.name);
        if self.board != step.description {
            let text = match &step.description {
                Some(file) => system::read(&self.dir.join(file))?,
                None => b"clear".to_vec(),
            };
            if self.module {
                system::build_board(&text)?;
            }
            self.board.clone_from(&step.description);
        }
        if step.record != Record::No {
            let bare = step.phases.then(|| bare::Bare::start(step)).transpose()?;
            let file = record::capture(step)?;
            if let Some(bare) = bare {
                self.out.send(&format!("trace {}", step.name), &bare.stop()?)?;
            }
            self.out.send(&format!("capture {}", step.name), &file)?;
        } else {
            let seen = bare::cycles(step)?;
            self.out.send(&format!("trace {}", step.name), &seen.trace)?;
            self.out.send(&format!("facts {}", step.name), &seen.facts)?;
        }
        Ok(())
    }
}
