//! What `dormouse tune` found.

use super::{clip, device};
use crate::text::page::{Ink, Page};
use crate::text::safe;
use crate::wording::assumed::assumed;
use crate::wording::next::word;
use crate::wording::number::{ms, plural};
use dormouse_base::device::DeviceId;
use dormouse_base::phase::Direction;
use dormouse_base::time::Ns;
use dormouse_board::Board;
use dormouse_board::assumed::Assumed;
use dormouse_sleep::plan::candidate::{Candidate, Kind, goes_with};
use dormouse_sleep::plan::essential::Stays;
use dormouse_sleep::plan::obstacle::Obstacle;
use dormouse_sleep::plan::ready::stands_for;
use dormouse_sleep::plan::recorded::Judged;
use dormouse_sleep::plan::{Goal, Lesser, Plan, Reached};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// What limits a plan, for its reader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// What decides the time that is left, longest first, where the budget is
    /// not met.
    pub in_the_way: Vec<Obstacle>,
    /// The longest devices that were not offered for removal, why, and how
    /// long they take.
    pub withheld: Vec<(DeviceId, Stays, Ns)>,
    /// Nothing was left out of the search: no device, no candidate, no kind of
    /// change.
    pub all_searched: bool,
    /// Removals that take more along than the budget needs.
    pub lesser: Vec<Lesser>,
    /// Halves that machines which explain the recording disagree about, from the
    /// shortest to the longest answer. All meet the budget.
    pub open: Vec<(Direction, (Ns, Ns))>,
    /// The machine as it is, recorded and by the model; `None` for a board file.
    pub judged: Option<Judged>,
}

/// What was recorded beside the model, and how many cycles meet the budgets as they are.
fn judged(goal: &Goal, j: &Judged) -> String {
    let halves = [
        ("suspend", goal.suspend.is_some(), j.recorded.suspend, j.model.suspend),
        ("resume", goal.resume.is_some(), j.recorded.resume, j.model.resume),
    ];
    let asked = halves.into_iter().filter(|(_, asked, recorded, _)| *asked && *recorded > Ns::ZERO);
    let said: Vec<String> = asked
        .map(|(what, _, recorded, model)| {
            format!("{what} recorded {recorded}, by the model {model}")
        })
        .collect();
    let larger = match said.is_empty() {
        true => String::new(),
        false => format!("{}; the larger is judged. ", sentence(&said.join("; "))),
    };
    let of = match j.cycles {
        1 => format!(
            "The recorded cycle {} as it is.",
            if j.meet == 1 { "meets the budget" } else { "does not meet the budget" }
        ),
        n => format!("{} of {n} recorded cycles meet the budget as they are.", j.meet),
    };
    larger + &of
}

/// `text` with a capital at its begin.
fn sentence(text: &str) -> String {
    let begin = text.chars().next().map(|c| c.to_ascii_uppercase());
    begin.into_iter().chain(text.chars().skip(1)).collect()
}

fn reason(board: &Board, id: DeviceId, why: Stays) -> String {
    match why {
        Stays::Essential => {
            format!("essential: {}", safe(board.names.get(board.graph.get(id).facts.essential)))
        }
        Stays::WakeSource => "it can wake the machine".into(),
        Stays::Kept => "kept as asked (--keep, --ready)".into(),
        // An offer of it alone would free nothing.
        Stays::NeededBy(d) => {
            format!("needed by {0}: offer {0}", safe(board.names.get(board.graph.get(d).name)))
        }
    }
}

/// The power domain that a device is in; empty if it is in none.
pub fn domain_of(board: &Board, device: DeviceId) -> &str {
    let domain = board.devices[device.index()].domain;
    let domain = domain.and_then(|n| board.domains.get(n as usize));
    domain.map_or("", |d| board.names.get(d.name))
}

/// The change in words.
pub(super) fn change(board: &Board, c: Candidate) -> String {
    let name = device(board, c.device);
    match c.kind {
        Kind::Remove => format!("remove {name}"),
        Kind::Domain => format!("use nothing in power domain {}", safe(domain_of(board, c.device))),
        Kind::Async => format!("make {name} async"),
        Kind::Defer => format!("defer the resume of {name}"),
        Kind::SpeedUp => format!("halve the time of {name}"),
    }
}

/// Each budget with what it is now and what it would be.
fn goals(board: &Board, goal: &Goal, p: &Plan) -> Vec<String> {
    let one = |what: String, was: Ns, is: Ns, budget: Ns| {
        let over = if is > budget { format!(", {} over", is - budget) } else { String::new() };
        if was == is {
            format!("{what} stays at {is} (budget {budget}{over})")
        } else {
            format!("{what} {was} -> {is} (budget {budget}{over})")
        }
    };
    let mut out = Vec::new();
    if let Some(t) = goal.suspend {
        out.push(one("suspend".into(), p.before.suspend, p.after.suspend, t));
    }
    if let Some(t) = goal.resume {
        out.push(one("resume".into(), p.before.resume, p.after.resume, t));
    }
    let ready = p.before.ready.iter().zip(&p.after.ready);
    for ((d, t), (was, is)) in goal.ready.iter().zip(ready) {
        let over = if is > t { format!(", {} over", *is - *t) } else { String::new() };
        let today = if was == is { "as today".into() } else { format!("today {was}") };
        let name = device(board, *d);
        // What it has no callback for is walked over at once, and is of no use yet.
        let with = match stands_for(board, *d) {
            Some(other) => format!(", which has no callback and needs {},", device(board, other)),
            None => String::new(),
        };
        out.push(format!("{name}{with} is ready after {is}, {today} (budget {t}{over})"));
    }
    out
}

/// Devices whose readiness a sentence tells.
const TOLD: usize = 3;

/// What is reached with `option`, where that is closest to the budget and does not
/// meet it; and the budgets that it would meet, by option.
pub fn closest(
    board: &Board,
    option: &str,
    goal: &Goal,
    reached: &Reached,
) -> (String, Vec<(&'static str, String)>) {
    let mut said = Vec::new();
    let mut budgets = Vec::new();
    let met = |is: Ns| format!("{}ms", (is.0 + 999_999) / 1_000_000);
    for (name, option, budget, is) in [
        ("suspend", "--suspend", goal.suspend, reached.suspend),
        ("resume", "--resume", goal.resume, reached.resume),
    ] {
        let Some(budget) = budget.filter(|b| is > *b) else { continue };
        said.push(format!("{name} {is}, {} over", is - budget));
        budgets.push((option, met(is)));
    }
    let mut ready: Vec<(&str, Ns)> = Vec::new();
    let mut late = 0;
    for ((d, t), &is) in goal.ready.iter().zip(&reached.ready) {
        let name = board.names.get(board.graph.get(*d).name);
        match ready.iter_mut().find(|r| r.0 == name) {
            Some(known) => known.1 = known.1.max(is).max(*t),
            None => ready.push((name, is.max(*t))),
        }
        if is > *t {
            late += 1;
            if late <= TOLD {
                said.push(format!("{} ready after {is}, {} over", safe(name), is - *t));
            }
        }
    }
    if late > TOLD {
        said.push(format!("{} more not ready in time", plural(late - TOLD, "device")));
    }
    if late > 0 {
        budgets.extend(ready.iter().map(|(n, is)| ("--ready", word(&format!("{n}={}", met(*is))))));
    }
    let mut page = Page::new(false);
    let text = format!(
        "No option that was tried meets the budget, alone or with the others. Closest is \
         {option}: {}.",
        said.join("; ")
    );
    page.wrapped(Ink::Plain, 0, 2, &text);
    (page.finish().trim_end().to_string(), budgets)
}

/// The last columns of the steps: what is reached of all that has a budget, and of
/// the other half where that is one alone. Of devices the first is shown.
fn after(goal: &Goal, r: &Reached) -> Vec<(&'static str, Ns)> {
    let ready = r.ready.first().filter(|_| !goal.ready.is_empty());
    let alone = ready.is_none();
    let mut list = Vec::new();
    list.extend((goal.suspend.is_some() || alone).then_some(("suspend", r.suspend)));
    let up = goal.resume.is_some() || goal.suspend.is_none() || alone;
    list.extend(up.then_some(("resume", r.resume)));
    list.extend(ready.map(|t| ("ready", *t)));
    list
}

/// Every budget in a row of its own, where the first sentence holds several or a
/// device that must be ready.
fn budgets(board: &Board, goal: &Goal, p: &Plan) -> String {
    let mut rows: Vec<(String, Ns, Ns, Ns)> = Vec::new();
    if let Some(t) = goal.suspend {
        rows.push(("suspend".into(), p.before.suspend, p.after.suspend, t));
    }
    if let Some(t) = goal.resume {
        rows.push(("resume".into(), p.before.resume, p.after.resume, t));
    }
    for ((d, t), (was, is)) in goal.ready.iter().zip(p.before.ready.iter().zip(&p.after.ready)) {
        rows.push((format!("{} ready", device(board, *d)), *was, *is, *t));
    }
    if rows.len() < 2 && goal.ready.is_empty() {
        return String::new();
    }
    let head = ["today", "after", "budget", "over"].map(|h| format!("{h:>9}")).concat();
    let mut out = format!("\n{:<44}{head}\n", "Budget, ms");
    for (what, was, is, budget) in rows {
        let over = if is > budget { ms(is - budget) } else { "-".into() };
        let cells = [ms(was), ms(is), ms(budget), over].map(|c| format!("{c:>9}")).concat();
        let _ = writeln!(out, "  {:<42}{cells}", clip(&what, 41));
    }
    out
}

/// How many devices a line of [`losses`] names.
const NAMED: usize = 4;

/// What the machine no longer does without the devices that the plan removes. What a
/// name does not tell is not known here, so it is said to be the least.
fn losses(board: &Board, p: &Plan) -> Vec<String> {
    let mut gone: Vec<DeviceId> =
        p.steps.iter().flat_map(|s| goes_with(board, s.candidate)).collect();
    gone.sort_unstable();
    gone.dedup();
    let name = |d: DeviceId| board.names.get(board.graph.get(d).name);
    let driver = |d: DeviceId| board.names.get(board.graph.get(d).driver);
    let subsystem = |d: DeviceId| board.names.get(board.graph.get(d).subsystem);
    let essential = |d: DeviceId| board.names.get(board.graph.get(d).facts.essential);
    let list = |which: &dyn Fn(DeviceId) -> bool| -> Option<String> {
        let found: Vec<DeviceId> = gone.iter().copied().filter(|&d| which(d)).collect();
        let names: Vec<String> =
            found.iter().take(NAMED).map(|&d| safe(name(d)).to_string()).collect();
        let more = found.len() - names.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!found.is_empty()).then(|| format!("{}{more}", names.join(", ")))
    };
    let mut lost: Vec<String> = Vec::new();
    lost.extend(list(&|d| board.devices[d.index()].wakeup).map(|n| format!("wake-up by {n}")));
    let mut carried: Vec<&str> = gone.iter().map(|&d| essential(d)).collect();
    carried.retain(|what| !what.is_empty());
    carried.sort_unstable();
    carried.dedup();
    for what in carried {
        let names = list(&|d| essential(d) == what);
        lost.extend(names.map(|n| format!("{} ({n})", safe(what))));
    }
    let network = |d: DeviceId| subsystem(d) == "net" || is_network(name(d), driver(d));
    lost.extend(list(&network).map(|n| format!("the network at {n}")));
    let buses = list(&|d| counted(name(d), "usb"));
    lost.extend(match buses {
        Some(names) => Some(format!("USB at {names}")),
        // An interface, `1-3:1.0`, goes with its device.
        None => list(&|d| subsystem(d) == "usb" && !name(d).contains(':'))
            .map(|n| format!("what is plugged in at {n}")),
    });
    lost.extend(list(&|d| is_whole_disk(name(d))).map(|n| format!("the disk {n}")));
    lost.extend(
        list(&|d| is_display(name(d), subsystem(d))).map(|n| format!("the display at {n}")),
    );
    let sound = |d: DeviceId| subsystem(d) == "sound" && counted(name(d), "card");
    lost.extend(list(&sound).map(|n| format!("the sound of {n}")));
    let mut out = Vec::new();
    match (&gone[..], &lost[..]) {
        ([], _) => {}
        ([one], []) => out.push(format!("You lose what {} does.", safe(name(*one)))),
        (all, []) => {
            let mut asked: Vec<usize> =
                p.steps.iter().flat_map(|s| s.candidate.removes(board)).collect();
            asked.sort_unstable();
            asked.dedup();
            let names = list(&|d| asked.binary_search(&d.index()).is_ok()).unwrap_or_default();
            let more = if all.len() > asked.len() { " and what needs them" } else { "" };
            let all = plural(all.len(), "device");
            out.push(format!("You lose what {all} do: {names}{more}."));
        }
        (all, _) => {
            let go = if all.len() == 1 { "goes" } else { "go" };
            let all = plural(all.len(), "device");
            out.push(format!("You lose at least {}; {all} {go}.", lost.join("; ")));
        }
    }
    let root_known = board.graph.ids().any(|d| essential(d).contains("root"));
    // A wire may lead to it; nobody starts over the air.
    let air = |name: &str| name.starts_with("wl") || counted(name, "phy");
    let wireless = |d: DeviceId| driver(d) == "ieee80211" || air(name(d));
    let wired = |d: DeviceId| network(d) && !wireless(d);
    let may_hold_root = |d: DeviceId| is_disk(name(d), driver(d)) || wired(d);
    if let Some(names) = list(&may_hold_root).filter(|_| !root_known) {
        out.push(format!(
            "The input does not name the root disk: check that it is not on {names}."
        ));
    }
    out
}

/// Drivers of what carries block devices, or the names of these.
fn is_disk(name: &str, driver: &str) -> bool {
    let drivers = ["mmcblk", "nvme", "ahci", "sd", "uas", "usb-storage", "ufshcd", "virtio_blk"];
    let named = ["mmcblk", "nvme"].iter().any(|n| name.starts_with(n));
    named || drivers.contains(&driver) || driver.starts_with("ufshcd")
}

/// A disk by the name of its block device, without its partitions.
fn is_whole_disk(name: &str) -> bool {
    let nvme = |rest: &str| {
        let number = |n: &str| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit());
        rest.split_once('n').is_some_and(|(drive, space)| number(drive) && number(space))
    };
    let lettered = |prefix: &str| {
        let rest = name.strip_prefix(prefix).unwrap_or_default();
        !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_lowercase())
    };
    counted(name, "mmcblk")
        || name.strip_prefix("nvme").is_some_and(nvme)
        || lettered("sd")
        || lettered("vd")
}

/// Ethernet and wireless, by the names that the kernel and device trees give.
fn is_network(name: &str, driver: &str) -> bool {
    let ethernet = name.ends_with(".ethernet") || counted(name, "eth");
    // A radio is phy0, its interface wlan0.
    driver == "ieee80211" || ethernet || counted(name, "phy") || counted(name, "wlan")
}

/// `prefix` and a number.
fn counted(name: &str, prefix: &str) -> bool {
    let number = name.strip_prefix(prefix).unwrap_or_default();
    !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
}

/// `card0` of drivers/gpu/drm/drm_sysfs.c (sound has such names too), `fb0` of
/// drivers/video/fbdev/core/fbsysfs.c.
fn is_display(name: &str, subsystem: &str) -> bool {
    counted(name, "fb") || subsystem == "drm" && counted(name, "card")
}

/// The table of the steps, with what goes with each removal.
fn steps(board: &Board, goal: &Goal, p: &Plan, limits: &Limits) -> String {
    let head = after(goal, &p.after);
    let wide = 62 - 9 * head.len();
    let cells = |r: &Reached| -> String {
        after(goal, r).iter().map(|(_, t)| format!("{:>9}", ms(*t))).collect()
    };
    let titles: String = head.iter().map(|(title, _)| format!("{title:>9}")).collect();
    let mut out = format!(
        "\n{:<wide$}{:>18}{:>after$}\n{:<wide$}{:>9}{:>9}{titles}\n",
        "",
        "saves, ms",
        "after it, ms",
        "Change",
        "alone",
        "added",
        after = 9 * head.len()
    );
    let say = |text: &str, out: &mut String| {
        let mut page = Page::new(false);
        page.wrapped(Ink::Plain, 4, 6, text);
        out.push_str(&page.finish());
    };
    for s in &p.steps {
        let _ = writeln!(
            out,
            "{:<wide$}{:>9}{:>9}{}",
            clip(&change(board, s.candidate), wide - 1),
            ms(s.alone),
            ms(s.now),
            cells(&s.reached)
        );
        let mut along = goes_with(board, s.candidate);
        let with = if s.candidate.kind == Kind::Domain { "" } else { " with it" };
        if s.candidate.kind == Kind::Remove {
            along.retain(|&d| d != s.candidate.device);
        }
        if !along.is_empty() {
            let names: Vec<String> = along.iter().take(4).map(|&d| device(board, d)).collect();
            let more = along.len() - names.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            say(&format!("removes{with} {}{more}", names.join(", ")), &mut out);
        }
        let removed = |l: &&Lesser| s.candidate == Candidate::removal(l.removed);
        if let Some(l) = limits.lesser.iter().find(removed) {
            let reached: Vec<String> =
                after(goal, &l.reached).iter().map(|(what, t)| format!("{what} {t}")).collect();
            // What it needs is kept with it.
            let above = board.graph.get(l.instead).parent.unwrap_or(l.removed);
            let text = format!(
                "to remove only {} would meet the budget too ({}), but no file removes it: add \
                 --keep {} to this command to plan so",
                device(board, l.instead),
                reached.join(", "),
                word(board.names.get(board.graph.get(above).name))
            );
            say(&text, &mut out);
        }
    }
    out.push_str("alone: this change by itself; added: on top of those above it.\n");
    let up = match (goal.resume, goal.ready.len()) {
        (Some(_), _) => "resume",
        (None, 0 | 1) => "the time until it is ready",
        _ => "the times until each is ready",
    };
    if goal.suspend.is_some() && (goal.resume.is_some() || !goal.ready.is_empty()) {
        let _ = writeln!(out, "saves: of suspend and {up}, added up.");
    } else if goal.resume.is_none() && goal.ready.len() > 1 {
        let _ = writeln!(out, "saves: of {up}, added up.");
    }
    out
}

/// The plan for a terminal, 80 columns.
pub fn text(board: &Board, goal: &Goal, p: &Plan, limits: &Limits) -> String {
    let mut page = Page::new(false);
    let goals = goals(board, goal, p).join("; ");
    let verdict = match (p.met, p.steps.len()) {
        (true, 0) => format!("No change is needed: {goals}."),
        (true, 1) => format!("1 change would meet the budget: {goals}."),
        (true, n) => format!("{n} changes would meet the budget: {goals}."),
        (false, _) if p.gap.0 > 0 && limits.all_searched => {
            format!("Not possible: {goals}. Even in the best case {} over.", p.gap)
        }
        (false, _) => {
            let searched = match p.candidates.len() {
                0 => ", and no change was left to search".into(),
                n => format!(" with the {} searched", plural(n, "change")),
            };
            format!("Not met{searched}: {goals}.")
        }
    };
    page.wrapped(Ink::Strong, 0, 2, &verdict);
    if let Some(times) = Assumed::times(board.times) {
        page.wrapped(Ink::Plain, 0, 2, &assumed(&times));
    }
    if let Some(j) = &limits.judged {
        page.wrapped(Ink::Plain, 0, 2, &judged(goal, j));
    }
    for (half, (low, high)) in &limits.open {
        let text = format!(
            "The recording leaves open how far: {} {low} to {high}, and every machine that \
             explains it meets the budget.",
            half.name()
        );
        page.wrapped(Ink::Plain, 0, 2, &text);
    }
    for line in losses(board, p) {
        page.wrapped(Ink::Plain, 0, 2, &line);
    }
    let slower = goal.slower.suspend + goal.slower.resume + goal.slower.ready.iter().copied().sum();
    let whose = match slower > Ns::ZERO {
        true => {
            "Figures are all of the half as recorded, less what the model says of the changes: \
             firmware comes on top."
        }
        false => "Figures of the model, device phases only: firmware, CPUs and tasks come on top.",
    };
    page.wrapped(Ink::Plain, 0, 2, whose);
    let mut out = page.finish();
    out.push_str(&budgets(board, goal, p));
    if !p.steps.is_empty() {
        out.push_str(&steps(board, goal, p, limits));
    }
    let tried = format!(
        "{}, {}",
        plural(p.candidates.len(), "candidate"),
        plural(p.evaluated as usize, "simulation")
    );
    let how = if p.met && p.steps.is_empty() {
        String::new()
    } else if !p.met && p.exact {
        format!("\n{tried}.\n")
    } else if !p.met {
        format!(
            "\n{tried}: no set of fewer than {} meets the budget;\nof larger sets only the likely \
             ones were tried.\n",
            plural(p.least, "change")
        )
    } else if p.exact && p.steps.len() == 1 {
        format!("\nTried: {tried}.\n")
    } else if p.exact {
        format!(
            "\nNo set of fewer changes does it ({tried}):\nevery set was judged by simulation or \
             excluded by a bound.\n"
        )
    } else {
        format!(
            "\nThe likely sets were tried ({tried}): at least {}\nneeded, here {}.\n",
            if p.least == 1 { "1 change is".into() } else { format!("{} changes are", p.least) },
            if p.steps.len() == 1 { "1 is".into() } else { format!("{} are", p.steps.len()) }
        )
    };
    out.push_str(&how);
    if !limits.in_the_way.is_empty() {
        let _ = writeln!(out, "\n{:<46}{:>9}", "What remains the bottleneck", "ms");
        for o in &limits.in_the_way {
            let _ = writeln!(
                out,
                "  {:<44}{:>9}  {}",
                clip(&device(board, o.device), 43),
                ms(o.time),
                crate::wording::phase(o.phase)
            );
        }
    }
    if !limits.withheld.is_empty() {
        let _ = writeln!(out, "\n{:<36}{:>9}", "Left out (--offer NAME allows it)", "ms");
        for &(d, why, t) in &limits.withheld {
            let why = reason(board, d, why);
            // A name that somebody is to type is not cut.
            let between = if why.chars().count() > 33 { "\n      " } else { "  " };
            let name = clip(&device(board, d), 33);
            let _ = writeln!(out, "  {name:<34}{:>9}{between}{}", ms(t), clip(&why, 74));
        }
    }
    out
}

/// The same as JSON; nanoseconds.
pub fn json(board: &Board, goal: &Goal, p: &Plan, limits: &Limits) -> Value {
    let name = |d: DeviceId| board.names.get(board.graph.get(d).name);
    let halves = |r: Option<&Reached>| json!({ "suspend_ns": r.map(|r| r.suspend.0), "resume_ns": r.map(|r| r.resume.0) });
    let candidate = |c: Candidate| {
        json!({
            "change": c.kind.name(),
            "device": name(c.device),
            "index": c.device.0,
            "domain": (c.kind == Kind::Domain).then(|| domain_of(board, c.device)),
            "takes_along": goes_with(board, c)
                .into_iter()
                .filter(|&d| d != c.device)
                .map(name)
                .collect::<Vec<_>>(),
        })
    };
    let open = |half| limits.open.iter().find(|o| o.0 == half).map(|o| o.1);
    json!({
        "goal": {
            "suspend_ns": goal.suspend.map(|t| t.0),
            "resume_ns": goal.resume.map(|t| t.0),
            "ready": goal.ready.iter().map(|(d, t)| json!({
                "device": name(*d), "ns": t.0
            })).collect::<Vec<_>>(),
        },
        "met": p.met,
        "exact": p.exact,
        "least_changes": p.least,
        "gap_ns": p.gap.0,
        "before": p.before,
        "model": halves(limits.judged.as_ref().map(|j| &j.model)),
        "recorded": halves(limits.judged.as_ref().map(|j| &j.recorded)),
        "recorded_cycles": limits.judged.as_ref().map(|j| j.cycles),
        "recorded_cycles_that_meet": limits.judged.as_ref().map(|j| j.meet),
        "after": p.after,
        "steps": p.steps.iter().map(|s| json!({
            "candidate": candidate(s.candidate),
            "alone_ns": s.alone.0,
            "now_ns": s.now.0,
            "reached": s.reached,
        })).collect::<Vec<_>>(),
        "open": {
            "suspend_least_ns": open(Direction::Suspend).map(|r| r.0.0),
            "suspend_most_ns": open(Direction::Suspend).map(|r| r.1.0),
            "resume_least_ns": open(Direction::Resume).map(|r| r.0.0),
            "resume_most_ns": open(Direction::Resume).map(|r| r.1.0),
        },
        "candidates": p.candidates.iter().map(|&c| candidate(c)).collect::<Vec<_>>(),
        "simulations": p.evaluated,
        "in_the_way": limits.in_the_way.iter().map(|o| json!({
            "device": name(o.device), "index": o.device.0,
            "phase": o.phase.name(), "ns": o.time.0,
        })).collect::<Vec<_>>(),
        "withheld": limits.withheld.iter().map(|&(d, why, t)| json!({
            "device": name(d), "index": d.0, "why": reason(board, d, why), "ns": t.0,
        })).collect::<Vec<_>>(),
    })
}
