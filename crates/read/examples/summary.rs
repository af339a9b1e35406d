//! Prints what the readers make of inputs: one line a cycle, then the losses.
//! A tool for working on the readers; `dormouse show` is for users.

use dormouse_read::{Input, Options, read};

fn main() {
    let inputs: Vec<Input> = std::env::args().skip(1).map(Input::from_arg).collect();
    let reading = match read(&inputs, &Options::default()) {
        Ok(reading) => reading,
        Err(e) => {
            eprintln!("{e}");
            std::process::exit(1);
        }
    };
    let verbose = std::env::var_os("PHASES").is_some();
    for c in &reading.captures {
        println!(
            "machine {:?}: {} devices, {} cycles",
            c.names.get(c.machine.host),
            c.graph.devices.len(),
            c.cycles.len()
        );
        for cycle in &c.cycles {
            println!(
                "  {} kernel={:?} {} {:?} suspend={:?} resume={:?} asleep={:?}/{:?} callbacks={}/{} phases={} threads={} events={} boot={}",
                c.names.get(cycle.source),
                c.names.get(cycle.kernel),
                cycle.mode.name(),
                cycle.outcome,
                cycle.suspend_time().map(|t| t.to_string()),
                cycle.resume_time().map(|t| t.to_string()),
                cycle.asleep.map(|(a, b)| (b - a).to_string()),
                cycle.asleep_elsewhere.map(|t| t.to_string()),
                cycle.callbacks.iter().filter(|b| b.complete).count(),
                cycle.callbacks.len(),
                cycle.phases.len(),
                cycle.threads.len(),
                cycle.events.len(),
                cycle.first_after_boot,
            );
            if verbose {
                for p in &cycle.phases {
                    println!(
                        "    {:>8} {:13} +{:<12} {:>10} cpu{} {:?} whole={} printed={:?} callbacks={}",
                        p.phase.direction().name(),
                        p.phase.name(),
                        (p.start - cycle.start).to_string(),
                        p.duration().to_string(),
                        p.cpu,
                        p.event,
                        p.complete,
                        p.printed.map(|t| t.to_string()),
                        cycle.callbacks.iter().filter(|b| b.phase == p.phase).count(),
                    );
                }
                for d in &cycle.freeze_delays {
                    println!("    delays freezing: {}", c.names.get(*d));
                }
            }
        }
        for l in &c.losses.list {
            println!(
                "  loss {} x{} ({}) {:?}: {}",
                l.kind,
                l.count,
                l.severity.name(),
                l.first_at,
                l.advice
            );
        }
    }
}
