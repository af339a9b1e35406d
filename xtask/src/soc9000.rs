//! The example of a SoC PM driver (kernel/soc9000), before and after, on real kernels.
//!
//! `soc9000 [--short] [SERIES…]`: who switches what devices need (their drivers, a domain
//! for each device, or start and stop), and which drivers are registered first. In short
//! one order on one kernel, without faults.

mod seen;

use crate::missed::MISSED;
use anyhow::{Result, ensure};
use dormouse_lab::kernels::{self, Kernel};
use dormouse_lab::qemu::{Accel, Arch, Machine};
use dormouse_lab::soc9000;
use seen::{CONSUMERS, Seen, Sleep};
use std::process::ExitCode;
use std::time::Duration;

const MODES: [&str; 3] = ["drivers", "domains", "startstop"];
const ORDERS: [&str; 2] = ["suppliers", "consumers"];
/// In use; the other consumers are idle when a sleep begins.
const BUSY: [&str; 2] = ["mmc", "uart"];
/// Below the node of the SoC.
const DEVICES: usize = 13;
/// Cycles of a boot: two with each `pm_async`.
const CYCLES: usize = 4;

/// Prints the tables; [`MISSED`] if a kernel does not do what must be true.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    let short = args.iter().any(|a| a == "--short");
    let mut series: Vec<&str> =
        args.iter().filter(|a| !a.starts_with("--")).map(String::as_str).collect();
    if series.is_empty() {
        series = if short { vec!["6.12"] } else { vec!["6.12", "7.3"] };
    }
    let (mut wrong, mut kernels_seen) = (Vec::new(), 0);
    for series in series {
        // No module is tried for a kernel that cannot be had: that is said.
        match kernels::get(Arch::Arm64, series) {
            Ok(kernel) => {
                one(&kernel, short, &mut wrong)?;
                kernels_seen += 1;
            }
            Err(e) => println!("SKIPPED {series}: {e}"),
        }
    }
    ensure!(kernels_seen > 0, "no kernel could be had");
    println!("\nwhat must be true and is not: {}", wrong.len());
    wrong.iter().for_each(|w| println!("  {w}"));
    Ok(if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(MISSED) })
}

fn boot(kernel: &Kernel, parameters: &str, words: &str) -> Result<Seen> {
    let mut machine = Machine::new(Arch::Arm64, Accel::Icount, 2, &kernel.release);
    machine.words = words.into();
    let said = soc9000::run(kernel, &machine, parameters, Duration::from_secs(900))?;
    seen::read(&said)
}

fn one(kernel: &Kernel, short: bool, wrong: &mut Vec<String>) -> Result<()> {
    let mut runs = Vec::new();
    for order in &ORDERS[..if short { 1 } else { 2 }] {
        for mode in MODES {
            let parameters = format!("pm={mode} order={order}");
            runs.push((mode, *order, "rpm", boot(kernel, &parameters, "fw_devlink=rpm")?));
        }
    }
    if !short {
        for mode in MODES {
            let parameters = format!("pm={mode} order=consumers");
            runs.push((mode, "consumers", "off", boot(kernel, &parameters, "fw_devlink=off")?));
        }
    }
    println!("\n{}: probing, ms from the first driver to the last device", kernel.release);
    println!(
        "{:<11}{:<11}{:<12}{:>9}{:>9}{:>9}{:>10}{:>10}{:>8}{:>8}",
        "who",
        "first",
        "fw_devlink",
        "attempts",
        "blocked",
        "put off",
        "lost, us",
        "switches",
        "parts",
        "ms"
    );
    for (mode, order, links, seen) in &runs {
        let b = &seen.boot;
        println!(
            "{mode:<11}{order:<11}{links:<12}{:>9}{:>9}{:>9}{:>10}{:>10}{:>8}{:>8.2}",
            b.attempts, b.blocked, b.put_off, b.lost_us, b.switches, b.parts, b.ms
        );
        judge(&format!("{} {mode} {order} {links}", kernel.release), mode, seen, wrong);
    }
    println!(
        "  blocked: before the driver is asked, by the kernel or activate; put off: by a driver or an attach"
    );
    println!(
        "  switches: of the power switch, on and off; parts: clocks, supplies and resets, on and off"
    );

    println!("\n{}: deep sleep, ms; the second cycle of each", kernel.release);
    println!(
        "{:<11}{:>6}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>11}{:>12}",
        "who",
        "async",
        "suspend",
        "s.noirq",
        "r.noirq",
        "resume",
        "total",
        "switches",
        "of devices",
        "for nothing"
    );
    for (mode, _, _, seen) in &runs[..MODES.len()] {
        for (n, pm_async) in [(1, 0), (3, 1)] {
            let s = &seen.sleeps[n];
            println!(
                "{mode:<11}{pm_async:>6}{:>10.2}{:>10.2}{:>10.2}{:>10.2}{:>10.2}{:>10}{:>11}{:>12}",
                s.suspend,
                s.suspend_noirq,
                s.resume_noirq,
                s.resume,
                s.total(),
                s.switches,
                s.device_switches.len(),
                for_nothing(s)
            );
        }
    }
    println!("  switches: of the power switch, on; of devices: domains or starts in resume_noirq;");
    println!("  for nothing: of them of devices that were idle before and after");
    if !short {
        faults(kernel, wrong)?;
    }
    Ok(())
}

/// Devices that were switched on in resume_noirq though nobody used them.
fn for_nothing(s: &Sleep) -> usize {
    s.device_switches.iter().filter(|d| !BUSY.contains(&d.as_str())).count()
}

/// What must be true of every boot.
fn judge(name: &str, mode: &str, seen: &Seen, wrong: &mut Vec<String>) {
    let mut must = |yes: bool, what: String| {
        if !yes {
            wrong.push(format!("{name}: {what}"));
        }
    };
    let missing: Vec<&&str> =
        CONSUMERS.iter().filter(|c| !seen.boot.bound.iter().any(|b| b == *c)).collect();
    must(missing.is_empty(), format!("{missing:?} are not bound"));
    must(seen.waits.is_empty(), format!("devices wait: {}", seen.waits));
    must(seen.sleeps.len() == CYCLES, format!("{} sleeps", seen.sleeps.len()));
    must(seen.unlike.is_empty(), format!("not as before the sleep: {}", seen.unlike.join(" ")));
    must(seen.late.is_empty(), format!("probed without its parts: {}", seen.late.join(" ")));
    for s in &seen.sleeps {
        must(s.entered, "the chip did not sleep".into());
        let on = s.device_switches.len();
        let (want, why) = match mode {
            // Drivers resume later, in their own phase.
            "drivers" => (0, "drivers switch in resume_noirq"),
            "domains" => (CONSUMERS.len(), "domains switched on in resume_noirq"),
            _ => (BUSY.len(), "devices started in resume_noirq"),
        };
        must(on == want, format!("{why}: {on}, not {want}"));
    }
}

/// Faults on demand, each in one boot with domains.
fn faults(kernel: &Kernel, wrong: &mut Vec<String>) -> Result<()> {
    println!("\n{}: faults on demand, with domains", kernel.release);
    println!(
        "{:<34}{:>7}{:>9}{:>10}{:>8}  waiting after 2 s",
        "fault", "bound", "put off", "switches", "sleeps"
    );
    for (parameter, waiting) in [
        ("never=pll", true),
        // A driver is asked again when another device binds: here none does until the
        // time for drivers is over.
        ("defer=gpu fail_off=io", true),
        ("left_on=top,io,gpu-switch", false),
    ] {
        let seen = boot(kernel, &format!("pm=domains {parameter}"), "")?;
        let asleep = seen.sleeps.iter().filter(|s| s.entered).count();
        println!(
            "{parameter:<34}{:>7}{:>9}{:>10}{asleep:>8}  {}",
            seen.boot.bound.len(),
            seen.boot.put_off,
            seen.boot.switches,
            if seen.waits.is_empty() { "none" } else { &seen.waits }
        );
        // All sleep; what only comes late is bound in the end.
        let all = seen.boot.bound.len() == DEVICES;
        if all == parameter.starts_with("never") {
            wrong.push(format!("{} {parameter}: bound: {:?}", kernel.release, seen.boot.bound));
        }
        if seen.waits.is_empty() == waiting {
            wrong.push(format!("{} {parameter}: waiting: {}", kernel.release, seen.waits));
        }
        if asleep != CYCLES {
            wrong.push(format!("{} {parameter}: {asleep} of {CYCLES} sleeps", kernel.release));
        }
    }
    Ok(())
}
