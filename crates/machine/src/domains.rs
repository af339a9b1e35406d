//! Switching of power domains, which no kernel traces: function probes on
//! `_genpd_power_on()` and `_genpd_power_off()` (drivers/pmdomain/core.c, 6.12 and 7.3;
//! drivers/base/power/domain.c, 6.1), only where a recording asks for it.

use crate::guard::{Error, Guard};
use crate::idle::GROUP;
use crate::root::Root;

/// Function, and the events of its begin and end.
const PROBES: [(&str, &str, &str); 2] = [
    ("_genpd_power_on", "genpd_on", "genpd_on_end"),
    ("_genpd_power_off", "genpd_off", "genpd_off_end"),
];

/// Domains that may be switched at once, each by a thread of its own: as many as a
/// workqueue runs work items (WQ_DFL_ACTIVE, include/linux/workqueue.h, 6.12: 1024).
const THREADS: &str = "1024";

/// Probes that are announced and not made.
#[derive(Debug, Default)]
pub struct Planned {
    list: String,
    /// This kernel has no function probes.
    unknown: bool,
}

/// Announces the probes; they are removed with the guard.
///
/// # Errors
/// If the journal cannot be written.
pub fn plan(guard: &mut Guard<'_>, root: &Root, tracefs: &str) -> Result<Planned, Error> {
    let mut plan = Planned { list: format!("{tracefs}/dynamic_events"), unknown: false };
    if !root.exists(&plan.list) {
        plan.unknown = true;
        return Ok(plan);
    }
    for (_, begin, end) in PROBES {
        for name in [begin, end] {
            guard.announce_probe(&plan.list, &format!("{GROUP}/{name}"))?;
        }
    }
    Ok(plan)
}

/// Makes the probes: paths of their events below `events`, and what this kernel did not
/// take. The end of a function that has no begin is of no use.
///
/// # Errors
/// If the journal cannot be written.
pub fn probes(
    guard: &mut Guard<'_>,
    root: &Root,
    plan: &Planned,
) -> Result<(Vec<String>, Vec<String>), Error> {
    let (mut events, mut missing) = (Vec::new(), Vec::new());
    if plan.unknown {
        missing.push("function probes".into());
        return Ok((events, missing));
    }
    let symbols = root.read("/proc/kallsyms").unwrap_or_default();
    for (function, begin, end) in PROBES {
        let function = symbol(&symbols, function);
        let made = [
            (begin, "", format!("{function} name=genpd->name:string")),
            (end, THREADS, format!("{function}%return ret=$retval:s32")),
        ];
        for (name, threads, what) in made {
            let name = format!("{GROUP}/{name}");
            let mut made = guard.probe_many(&plan.list, &name, &what, threads);
            // A kernel that takes no number follows what it can.
            if !threads.is_empty() && made.as_ref().is_err_and(|e| !is_journal(e)) {
                made = guard.probe(&plan.list, &name, &what);
            }
            match made {
                Ok(()) => events.push(name),
                Err(e) if is_journal(&e) => return Err(e),
                Err(_) => {
                    missing.push(format!("probe of {function}"));
                    break;
                }
            }
        }
    }
    Ok((events, missing))
}

fn is_journal(e: &Error) -> bool {
    matches!(e, Error::Journal { .. })
}

/// The kernel's name of `function`: compilers append `.isra.0` and the like.
fn symbol(symbols: &str, function: &str) -> String {
    let names = symbols.lines().filter_map(|l| l.split_whitespace().nth(2));
    let own = names.filter(|n| n.strip_prefix(function).is_some_and(|r| r.starts_with('.')));
    let plain = symbols.lines().any(|l| l.split_whitespace().nth(2) == Some(function));
    match own.min() {
        Some(name) if !plain => name.to_owned(),
        _ => function.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_found_by_its_beginning() {
        let text = "0000 t genpd_power_off.part.0\n0000 t _genpd_power_off.isra.0\n\
                    0000 t _genpd_power_on\n0000 t _genpd_power_on.cold\n";
        assert_eq!(symbol(text, "_genpd_power_off"), "_genpd_power_off.isra.0");
        assert_eq!(symbol(text, "_genpd_power_on"), "_genpd_power_on");
        assert_eq!(symbol("", "_genpd_power_on"), "_genpd_power_on");
    }
}
