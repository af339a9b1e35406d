//! Faults on demand, each of which the prediction calls by name: a driver that is not
//! there, one that comes when the time for drivers is over, no time-out, and two drivers
//! that need each other.

use super::boot::{Boot, boot, machine};
use super::drivers::Registered;
use super::tree::{self, Order, Set};
use anyhow::{Context, Result};
use dormouse_lab::kernels::Kernel;
use dormouse_power::fw_devlink::Wish;
use dormouse_power::fw_devlink::early::Early;
use dormouse_power::fw_devlink::verdict::{Root, Verdict, Wait, judge};
use dormouse_power::fw_devlink::version::{Mode, Rules};
use dormouse_read::dtb::fdt;
use std::collections::{BTreeMap, BTreeSet};

/// Longer than the kernel waits for drivers: 10 s after the last.
const OVER: u64 = 14;

/// One boot with a fault.
struct Fault<'a> {
    name: &'a str,
    mode: Mode,
    set: Set,
    words: &'a str,
    seconds: u64,
    /// Whether the time for drivers is over at the end.
    over: bool,
}

/// Prints the table of faults on one kernel.
pub(crate) fn run(
    kernel: &Kernel,
    name: &str,
    board: &[u8],
    wrong: &mut Vec<String>,
) -> Result<()> {
    let rules = Rules::of(&kernel.release).context("a kernel without a number")?;
    let plain = Set::new(Order::Tree);
    let machine = machine(kernel, "");
    let blob = tree::tree(&machine, board, rules, &plain)?;
    let (orphan, pair) = choose(&blob, rules)?;
    let missing = Set { without: vec![orphan.clone()], ..plain.clone() };
    let late = Set { late: vec![(orphan.clone(), OVER as u32)], ..plain.clone() };
    let ring = Set { loops: vec![pair], ..plain };
    let fault = |name, mode, set: &Set, words, seconds, over| Fault {
        name,
        mode,
        set: set.clone(),
        words,
        seconds,
        over,
    };
    println!(
        "\n{}: faults on {name}; the driver that is not there is that of {orphan}",
        kernel.release
    );
    println!(
        "{:<28}{:<12}{:>9}{:>9}{:>11}{:>11}  the prediction says why",
        "fault", "fw_devlink", "attempts", "unbound", "predicted", "not alike"
    );
    for f in [
        fault("no driver", Mode::Rpm, &missing, "", 1, false),
        fault("no driver, 14 s later", Mode::Rpm, &missing, "", OVER, true),
        fault(
            "no driver, no time-out",
            Mode::Rpm,
            &missing,
            "deferred_probe_timeout=0",
            OVER,
            false,
        ),
        fault("a driver after 14 s", Mode::Rpm, &late, "", 1, false),
        fault("two need each other", Mode::Off, &ring, "", 1, false),
    ] {
        one(kernel, rules, board, &f, wrong)?;
    }
    Ok(())
}

fn one(
    kernel: &Kernel,
    rules: Rules,
    board: &[u8],
    f: &Fault<'_>,
    wrong: &mut Vec<String>,
) -> Result<()> {
    let Boot { blob, grafted, compared, predicted } =
        boot(kernel, board, f.mode, &f.set, f.words, f.seconds, f.over)?;
    let own = unbound(grafted.attempts.iter().map(|(name, code)| (name.as_str(), *code)));
    let foretold = unbound(predicted[0].iter().map(|(name, code)| (name.as_str(), *code)));
    let unlike: Vec<&String> = own.symmetric_difference(&foretold).collect();
    let tree = fdt::tree(&blob).context("cannot read the grafted tree")?;
    let drivers = Registered::of(&tree);
    drivers.all_there(f.set.late.is_empty());
    let wish =
        Wish { rules, mode: f.mode, strict: false, early: Early::usual(rules), timed_out: true };
    let verdict = judge(&tree, &wish, &drivers);
    let (why, named) = why(&verdict, &f.set);
    println!(
        "{:<28}{:<12}{:>9}{:>9}{:>11}{:>11}  {why}",
        f.name,
        f.mode.name(),
        compared.attempts.kernel,
        own.len(),
        foretold.len(),
        unlike.len()
    );
    if !unlike.is_empty() || !named {
        wrong.push(format!("{} {}: {unlike:?}, named: {named}", kernel.release, f.name));
    }
    Ok(())
}

/// Devices whose last attempt did not bind them.
fn unbound<'a>(attempts: impl Iterator<Item = (&'a str, i32)>) -> BTreeSet<String> {
    let last: BTreeMap<&str, i32> = attempts.collect();
    // A driver that does not want a device (-ENODEV) is no fault.
    last.into_iter().filter(|(_, code)| code.abs() == 517).map(|(n, _)| n.to_owned()).collect()
}

/// What the prediction says of a fault, and whether it gives its name.
fn why(v: &Verdict<'_, '_>, set: &Set) -> (String, bool) {
    let name = |d: usize| v.machine.devices[d].name.clone();
    let is = |d: usize, compatible: &str| {
        v.machine.devices[d].node.is_some_and(|n| v.machine.tree.nodes[n].is(compatible))
    };
    let waits: Vec<&Wait> = v.never.iter().chain(&v.late).collect();
    if let Some((a, b)) = set.loops.first() {
        let rings = waits.iter().filter_map(|w| match &w.root {
            Root::Ring(ring) => Some(ring.iter().map(|&d| name(d)).collect::<BTreeSet<_>>()),
            _ => None,
        });
        let node = |path: &str| {
            v.machine
                .devices
                .iter()
                .find(|d| d.node.is_some_and(|n| v.machine.tree.path(n).ends_with(path)))
        };
        let both: BTreeSet<String> =
            [a, b].into_iter().filter_map(|p| Some(node(p)?.name.clone())).collect();
        let found = rings.into_iter().any(|r| r == both);
        let both: Vec<String> = both.into_iter().collect();
        let text = format!("{} need each other", both.join(" and "));
        return (if found { text } else { "nothing of it".into() }, found);
    }
    let wanted = set.without.first().or(set.late.first().map(|(c, _)| c));
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for w in &waits {
        if let Root::NoDriver(d) = w.root
            && wanted.is_some_and(|c| is(d, c))
        {
            *counts.entry(d).or_default() += 1;
        }
    }
    let found = !counts.is_empty();
    let parts: Vec<String> = counts
        .iter()
        .map(|(&d, n)| format!("{n} wait for {}, which has no driver", name(d)))
        .collect();
    (if found { parts.join("; ") } else { "nothing of it".into() }, found)
}

/// The compatible whose driver most devices wait for, if it is missing, and a pair of
/// nodes of which one needs the other.
fn choose(blob: &[u8], rules: Rules) -> Result<(String, (String, String))> {
    let tree = fdt::tree(blob).context("cannot read the grafted tree")?;
    let drivers = Registered::of(&tree);
    drivers.all_there(true);
    let wish = Wish {
        rules,
        mode: Mode::Rpm,
        strict: false,
        early: Early::usual(rules),
        timed_out: false,
    };
    let verdict = judge(&tree, &wish, &drivers);
    let m = &verdict.machine;
    let mut consumers: BTreeMap<usize, usize> = BTreeMap::new();
    let mut pair = None;
    for l in m.links.iter().filter(|l| l.alive && !l.sync_state_only) {
        *consumers.entry(l.supplier).or_default() += 1;
        let (Some(c), Some(s)) = (m.devices[l.consumer].node, m.devices[l.supplier].node) else {
            continue;
        };
        let known = |n: usize| tree.nodes[n].cell("phandle").is_some() && drivers.drives(n);
        if pair.is_none() && known(c) && known(s) && drivers.needs_of(c).contains(&s) {
            pair = Some((c, s));
        }
    }
    let driven = consumers
        .into_iter()
        .filter(|&(d, _)| m.devices[d].node.is_some_and(|n| drivers.drives(n)));
    let (supplier, _) =
        driven.max_by_key(|&(d, n)| (n, std::cmp::Reverse(d))).context("no links")?;
    let node = m.devices[supplier].node.context("a supplier without a node")?;
    let compatible = tree.nodes[node].strings("compatible").next().context("no compatible")?;
    let (c, s) = pair.context("no pair of devices that need each other")?;
    let path = |n: usize| {
        let path = tree.path(n);
        path.strip_prefix(&format!("/{}", dormouse_read::dtb::blob::GRAFT))
            .unwrap_or(&path)
            .to_owned()
    };
    Ok((String::from_utf8_lossy(compatible).into_owned(), (path(c), path(s))))
}
