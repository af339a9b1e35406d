//! What `dormouse check --realtime` prints, and the script that mends it.

use super::wrapped::wrap;
use crate::text::safe;
use crate::wording::next::{next, run, word};
use crate::wording::realtime::{command, command_line, fault, mend, named, worst};
use dormouse_idle::realtime::{Fault, Report};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The page. `files` is how many values were read, `written` the script, `again`
/// the command with a place for it.
pub fn text(r: &Report, budget: i64, files: usize, written: Option<&str>, again: &str) -> String {
    let us = |ns: i64| ns.saturating_add(500) / 1_000;
    let mut out = String::new();
    let deepest = r.faults.iter().find(|f| f.worst().is_some());
    out += &wrap(&match (r.faults.len(), deepest) {
        (0, _) if !r.missing.is_empty() => format!(
            "No setting that the input holds may delay {}; {} that may are not in it, so this is no \
             all-clear.",
            named(&r.cpus),
            match r.missing.len() {
                1 => "1 other".into(),
                n => format!("{n} others"),
            }
        ),
        (0, _) => format!("No setting was found that may delay {}.", named(&r.cpus)),
        (n, Some(f)) => format!(
            "{n} setting{} may delay {}; the worst that is known is {}: {}",
            if n == 1 { "" } else { "s" },
            named(&r.cpus),
            worst(f),
            fault(f)
        ),
        (n, None) => format!(
            "{n} setting{} may delay {}; by how long at worst is not known. {}",
            if n == 1 { "" } else { "s" },
            named(&r.cpus),
            r.faults.first().map_or(String::new(), fault)
        ),
    });
    out += &wrap(&format!(
        "{files} files were read; states that take more than {} us to leave count as too deep. \
         Firmware (SMI) and drivers are not judged.",
        us(budget)
    ));
    if !r.faults.is_empty() {
        out += "\nat worst    what\n";
        for f in &r.faults {
            out += &item(&worst(f), &fault(f));
        }
    }
    if r.faults.iter().any(|f| matches!(f, Fault::DeepState { .. })) {
        out += &wrap(
            "What a flushed cache adds after a deep state is not known here: measure it (cyclictest \
             before and after), and touch code and data before the critical phase.",
        );
    }
    for (what, list) in [("Not understood", &r.unread), ("Not in the input", &r.missing)] {
        for path in list.iter().take(4) {
            out += &wrap(&format!("{what}: {}", safe(path)));
        }
        if list.len() > 4 {
            out += &wrap(&format!("{what}: {} more.", list.len() - 4));
        }
    }
    let words = command_line(r);
    if !words.is_empty() {
        out += &wrap(&format!("For the kernel command line: {words}"));
    }
    if let Some(path) = written {
        let _ = writeln!(out, "Wrote {}.", safe(path));
    }
    out.push('\n');
    out + &match (r.faults.is_empty(), written) {
        (true, _) => run("cyclictest -m -p 80 -D 10m"),
        (false, None) => next(again),
        // Whoever runs a script as root reads it first.
        (false, Some(path)) => run(&format!("less {0}; sudo sh {0}", word(path))),
    }
}

/// A line of the list, its text in a column of its own.
fn item(head: &str, text: &str) -> String {
    const INDENT: usize = 12;
    let mut out = format!("{head:>9}   ");
    let mut room = crate::text::WIDTH - INDENT;
    for (i, word) in text.split_whitespace().enumerate() {
        let length = word.chars().count() + usize::from(i > 0);
        if i > 0 && length > room {
            out += &format!("\n{:INDENT$}{word}", "");
            room = crate::text::WIDTH.saturating_sub(INDENT + word.chars().count());
            continue;
        }
        if i > 0 {
            out.push(' ');
        }
        out += word;
        room = room.saturating_sub(length);
    }
    out + "\n"
}

/// A shell script that mends what can be mended without a restart, and says what
/// needs one.
pub fn script(r: &Report, budget: i64) -> String {
    let mut out = String::from(
        "#!/bin/sh\n# dormouse: settings for real-time CPUs. Run as root; they last until the next\n\
         # start, which is also how to undo them. What the kernel refuses is named, and\n\
         # the rest is set: it refuses interrupts that it spreads over CPUs itself\n\
         # (isolcpus=managed_irq keeps those away).\n\
         refused=0\n\
         put() {\n    { echo \"$1\" >\"$2\"; } 2>/dev/null && return\n    \
         echo \"refused: $1 in $2\" >&2\n    refused=1\n}\n",
    );
    let mut seen = std::collections::BTreeSet::new();
    for (path, value) in r.faults.iter().flat_map(|f| mend(f, r, budget)) {
        // Two faults may have one cure.
        if seen.insert(path.clone()) {
            let _ = writeln!(out, "put {value} {path}");
        }
    }
    let words = command_line(r);
    if !words.is_empty() {
        let _ = writeln!(out, "# For the kernel command line, then restart:\n# {words}");
    }
    out + "exit $refused\n"
}

/// The same for programs.
pub fn json(r: &Report, budget: i64) -> Value {
    let mends = |f: &Fault| -> Option<String> {
        let list: Vec<String> = mend(f, r, budget).iter().map(command).collect();
        (!list.is_empty()).then(|| list.join("; "))
    };
    let one = |f: &Fault| json!({ "what": fault(f), "worst_ns": f.worst(), "mend": mends(f) });
    json!({
        "cpus": r.cpus,
        "others": r.others,
        "faults": r.faults.iter().map(one).collect::<Vec<_>>(),
        "command_line": command_line(r),
        "missing": r.missing,
        "unread": r.unread,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn report(faults: Vec<Fault>) -> Report {
        let (cpus, others) = (BTreeSet::from([2, 3]), BTreeSet::from([0, 1]));
        Report { cpus, others, faults, ..Report::default() }
    }

    #[test]
    fn the_worst_is_told_first_and_everything_is_mended() {
        let two = BTreeSet::from([2]);
        let r = report(vec![
            Fault::DeepState {
                cpu: 2,
                state: "C6".into(),
                latency: 133_000,
                limit: Some(dormouse_idle::knob::UNLIMITED),
            },
            Fault::Tick(two.clone()),
            Fault::Interrupt { irq: 24, cpus: two },
        ]);
        let text = text(&r, 10_000, 40, None, "check --realtime -o mend.sh");
        let flowing = text.replace("\n  ", " ");
        assert!(
            flowing.starts_with(
                "3 settings may delay CPUs 2-3; the worst that is known is 133 us: CPU 2 may sleep in C6"
            ),
            "{text}"
        );
        assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
        assert!(text.ends_with("Next: dormouse check --realtime -o mend.sh\n"), "{text}");
        let script = script(&r, 10_000);
        for line in [
            "put 10 /sys/devices/system/cpu/cpu2/power/pm_qos_resume_latency_us\n",
            "put 0-1 /proc/irq/24/smp_affinity_list\n",
            "# nohz_full=2-3\n",
        ] {
            assert!(script.contains(line), "{line}: {script}");
        }
        let none = super::text(&report(vec![]), 10_000, 40, None, "");
        assert!(none.starts_with("No setting was found that may delay CPUs 2-3."), "{none}");
    }

    /// A shell runs the script on files that stand for the kernel's.
    #[test]
    fn the_script_goes_on_after_what_is_refused_and_names_it() {
        let dir = std::env::temp_dir().join(format!("dormouse-mend-{}", std::process::id()));
        std::fs::create_dir_all(dir.join("proc/irq/25")).expect("a folder");
        let irq = |irq| Fault::Interrupt { irq, cpus: BTreeSet::from([2]) };
        let script = script(&report(vec![irq(24), irq(25)]), 10_000);
        let script = script.replace("/proc/", &format!("{}/proc/", dir.display()));
        let run = std::process::Command::new("sh").arg("-c").arg(&script).output().expect("sh");
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        let file = dir.join("proc/irq/25/smp_affinity_list");
        assert_eq!(std::fs::read_to_string(file).expect("set"), "0-1\n");
        assert_eq!(run.status.code(), Some(1), "{said}");
        let refused = format!("refused: 0-1 in {}/proc/irq/24/smp_affinity_list\n", dir.display());
        assert_eq!(said, refused);
        std::fs::remove_dir_all(&dir).expect("removed");
    }
}
