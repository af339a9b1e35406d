//! What was inferred, as sentences under an answer.

use super::{Flag, FlagProof, Supported, Wait};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use dormouse_board::derive::Derived;
use dormouse_model::time::Ns;

/// So many devices are named for each kind of proof.
const NAMED: usize = 4;

/// Adds to the assumptions of `derived` what was inferred and from what.
pub(super) fn say(
    derived: &mut Derived,
    supported: Option<&Supported>,
    flags: &[Flag],
    waits: &[Wait],
) {
    let mut lines = Vec::new();
    if let Some(s) = supported {
        let names: Vec<&str> = s.all.iter().map(|p| p.name).collect();
        lines.push(if names.len() > 1 {
            format!(
                "The recording names no kernel, and its times fit the rules of {} alike; {} is \
                 taken. A log from before the suspend, or uname -r, would tell.",
                names.join(", "),
                s.policy.name
            )
        } else {
            format!(
                "The recording names no kernel; its times fit the rules of {} ({}) best.",
                s.policy.name, s.policy.title
            )
        });
    }
    let board = &derived.board;
    let name = |d: u32| -> &str {
        let device = board.graph.devices.get(d as usize);
        device.map_or("the begin of the phase", |d| board.names.get(d.name))
    };
    let kind = |pick: fn(&FlagProof) -> bool| -> Vec<&Flag> {
        flags.iter().filter(|f| pick(&f.proof)).collect()
    };
    let went = kind(|p| matches!(p, FlagProof::WentOn { .. }));
    if let Some(FlagProof::WentOn { next, last }) = went.first().map(|f| f.proof) {
        lines.push(format!(
            "{} silent devices are asynchronous, because the main thread did not wait at them: \
             {}. It went on to {} before {} had ended.",
            went.len(),
            list(&went, &name),
            name(next),
            name(last)
        ));
    }
    let stood = kind(|p| matches!(p, FlagProof::Stood { .. }));
    if let Some(FlagProof::Stood { last }) = stood.first().map(|f| f.proof) {
        lines.push(format!(
            "{} silent devices are synchronous, because the main thread stood still at them: {}. \
             It waited until {} had ended.",
            stood.len(),
            list(&stood, &name),
            name(last)
        ));
    }
    let mut by_source: BTreeMap<&str, usize> = BTreeMap::new();
    for f in flags {
        if let FlagProof::Default(row) = f.proof {
            *by_source.entry(row.bus).or_default() += 1;
        }
    }
    if !by_source.is_empty() {
        let list: Vec<String> = by_source.iter().map(|(bus, n)| format!("{n} {bus}")).collect();
        lines.push(format!(
            "Of these silent devices nothing is seen; they are asynchronous because their \
             subsystem makes them so: {}.",
            list.join(", ")
        ));
    }
    for w in waits {
        lines.push(format!(
            "{} waits for {}, by the times alone ({}: {} later than anything else explains, {} \
             after that ended{}): taken as a device link that the recording does not list.",
            name(w.waiter),
            name(w.awaited),
            w.phase.name(),
            w.late,
            w.gap,
            match w.times {
                0 | 1 => String::from("; seen once, so it is weak"),
                n => format!("; so in {n} phases"),
            }
        ));
    }
    let lines_cost: Ns = derived.printing.iter().flatten().copied().max().unwrap_or_default();
    if lines_cost >= Ns(100_000) {
        lines.push(format!(
            "Every callback printed two lines of the log, which cost up to {lines_cost} each time \
             (initcall_debug, pm_print_times, a slow console); dormouse record prints nothing."
        ));
    }
    derived.assumptions.extend(lines);
}

fn list<'a>(flags: &[&Flag], name: &dyn Fn(u32) -> &'a str) -> String {
    let mut names: Vec<String> =
        flags.iter().take(NAMED).map(|f| String::from(name(f.device))).collect();
    if flags.len() > NAMED {
        names.push(format!("{} more", flags.len() - NAMED));
    }
    names.join(", ")
}
