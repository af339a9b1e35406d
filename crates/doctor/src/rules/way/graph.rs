//! What a callback spends where, by a graph of its calls.

use crate::case::Case;
use crate::finding::{Area, Confidence, Finding, Level};
use crate::way::{Call, shown};
use dormouse_base::say;
use dormouse_base::time::Ns;

/// Names that a graph of a sleep has.
const OF_SLEEP: [&str; 5] = ["suspend", "resume", "dpm_", "freeze", "thaw"];
/// A call is followed while it has at least this share of its caller, in halves.
const SHARE: i64 = 2;
/// So deep a way is told, and so many calls by their own time.
const DEEP: usize = 6;
const OWN: usize = 3;
/// A shorter own time is not told, in ns.
const LEAST: i64 = 10_000;

fn ms(ns: i64) -> String {
    format!("{} ms", say::ms(Ns(ns)))
}

pub(crate) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let calls = &case.way.calls;
    let of_sleep = |c: &&Call| OF_SLEEP.iter().any(|w| c.name.contains(w));
    let Some(root) = calls.iter().filter(of_sleep).max_by_key(|c| c.ns) else { return };
    let at = calls.iter().position(|c| std::ptr::eq(c, root)).unwrap_or(0);
    // A call ends behind all that it called.
    let inside: Vec<&Call> = calls[..at].iter().filter(|c| c.line > root.line).collect();
    let mut way = vec![root];
    while way.len() < DEEP {
        let last = way[way.len() - 1];
        let below = inside.iter().filter(|c| c.depth == last.depth + 1 && c.line > last.line);
        let next = below.filter(|c| c.ns <= last.ns).max_by_key(|c| c.ns);
        let Some(next) = next.filter(|c| c.ns.saturating_mul(SHARE) >= last.ns) else { break };
        way.push(next);
    }
    let path: Vec<String> = way.iter().map(|c| format!("{} {}", c.name, ms(c.ns))).collect();
    let mut own: Vec<(i64, &Call)> = inside
        .iter()
        .copied()
        .chain([root])
        .filter_map(|c| Some((c.own.filter(|own| *own >= LEAST)?, c)))
        .collect();
    own.sort_by_key(|o| std::cmp::Reverse(o.0));
    let own: Vec<String> =
        own.iter().take(OWN).map(|o| format!("{} {}", o.1.name, ms(o.0))).collect();
    let own = match own[..] {
        [] => String::new(),
        _ => format!(" Most time of their own, in no traced call, have {}.", say::names(&own)),
    };
    // drivers/base/power/main.c: the core waits for parent and suppliers before a callback, and
    // for children and consumers on the way down.
    let waits = ["dpm_wait_for_superior", "dpm_wait_for_subordinate"];
    let wait = inside.iter().filter(|c| waits.contains(&c.name.as_str())).max_by_key(|c| c.ns);
    let run = inside.iter().filter(|c| c.name == "dpm_run_callback").max_by_key(|c| c.ns);
    let wait = wait.filter(|w| w.ns.saturating_mul(SHARE) >= root.ns).map_or(String::new(), |w| {
        let who = match w.name.as_str() {
            "dpm_wait_for_superior" => "its parent or a supplier",
            _ => "its children or consumers",
        };
        let run = run.map_or(String::new(), |r| format!("; its own callback took {}", ms(r.ns)));
        format!(
            " {} of that the core waited for {who}, before the device's own work{run}.",
            ms(w.ns)
        )
    });
    let cut = inside.iter().filter(|c| c.own.is_none()).max_by_key(|c| c.depth);
    let cut = cut.map_or(String::new(), |c| {
        format!(" Of {} ({}) lines are cut out, so its own time is not known.", c.name, ms(c.ns))
    });
    out.push(
        Finding::new(("way-calls", Area::Phase, Level::Note), Confidence::Certain)
            .says(format!("Inside {}: {}.{own}{wait}{cut}", root.name, path.join(", in it ")))
            .because("The tracer's own cost is in these times, most of it in short calls.")
            .of_function(Some(&root.name))
            .shown_by(way.iter().map(|c| shown(c.end, &c.text))),
    );
}
