//! `ltr_show`: a device that asks for a latency that no deep state can keep.

use super::required::{DEEPER_NEEDS, is_deep};
use crate::case::Case;
use crate::finding::{Area, Confidence, Device, Evidence, Finding, Level};
use crate::night::machine::Hardware;
use crate::night::table::Latency;
use crate::night::{Conditions, Fact, Item};
use dormouse_base::say;

/// Rows of a text, with their places.
fn rows(case: &Case) -> Vec<(usize, &Item, &Latency)> {
    case.night
        .items
        .iter()
        .enumerate()
        .filter_map(|(at, i)| match &i.fact {
            Fact::Latency(l) => Some((at, i, l)),
            _ => None,
        })
        .collect()
}

/// The number that `ltr_ignore` takes: printed, or the place in a whole table.
pub(crate) fn number(case: &Case, row: &Latency) -> Option<usize> {
    if let Some(n) = row.index {
        return usize::try_from(n).ok();
    }
    let of: Vec<&Latency> =
        rows(case).into_iter().map(|r| r.2).filter(|l| l.table == row.table).collect();
    let whole = of.iter().any(|l| l.ip == "AGGREGATED_SYSTEM");
    of.iter().position(|l| l.ip == row.ip).filter(|_| whole)
}

/// The row of the number that a command ignores.
pub(crate) fn ignored<'a>(case: &'a Case, command: &str) -> Option<(&'a Item, &'a Latency)> {
    if !command.contains("ltr_ignore") {
        return None;
    }
    let n: usize = command.split_whitespace().find_map(|w| w.trim_matches('"').parse().ok())?;
    rows(case).into_iter().find(|r| number(case, r.2) == Some(n)).map(|r| (r.1, r.2))
}

/// Rows that bar the package from C3 and deeper.
pub(crate) fn bars(row: &Latency) -> bool {
    row.asked().is_some_and(|ns| ns < DEEPER_NEEDS)
}

/// Whether the text names what may have kept the machine: a latency that no state can keep,
/// or a condition of its sleep that was not met.
pub(crate) fn is_named(case: &Case) -> bool {
    case.night.items.iter().any(|i| match &i.fact {
        Fact::Latency(l) => bars(l),
        Fact::Condition { table, met, .. } => {
            !met && matches!(table, Conditions::SlpS0 | Conditions::Requirement)
        }
        _ => false,
    })
}

pub(crate) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let all = rows(case);
    if !all.is_empty() && !all.iter().any(|r| bars(r.2)) {
        harmless(&all, out);
    }
    let mut seen: Vec<&str> = Vec::new();
    for (at, item, row) in all.iter().filter(|r| bars(r.2)) {
        if seen.contains(&row.ip.as_str()) {
            continue;
        }
        seen.push(&row.ip);
        let asked = row.asked().unwrap_or(0);
        let later = all.iter().find(|r| r.2.ip == row.ip && r.2.table > row.table && !bars(r.2));
        // What a device asks for awake, it need not ask for asleep.
        let level = if is_deep(out) { Level::Note } else { Level::Risk };
        let rule = ("block-latency", Area::Mode, level);
        let mut f = Finding::new(rule, Confidence::Likely).shown_by([Evidence::from(*item)]);
        let mut words = format!(
            "{} asks for a latency of at most {} ns, and no state below C1 is left in less than {} us: while it asks so, the package stays in C2 or above.",
            row.ip,
            say::grouped(asked),
            DEEPER_NEEDS / 1_000
        );
        let mut device = None;
        if let Some((end, after, _)) = later {
            f = f.shown_by([Evidence::from(*after)]);
            match change(case, *at, *end) {
                Some((command, removed)) => {
                    let what = command_of(command);
                    words += &match &removed {
                        Some(d) => format!(
                            " It stopped when {} was removed (`{what}`): that device made it ask.",
                            described(case, d)
                        ),
                        None => format!(" It stopped after `{what}`."),
                    };
                    device = removed;
                    f = f.shown_by([Evidence::from(command)]);
                    f.confidence = Confidence::Certain;
                }
                None => words += " In the later table of the text it asks for nothing so short.",
            }
        }
        let named = device.is_some();
        if level == Level::Note {
            words += " The hardware slept all the same: it asked so awake.";
        } else if !named {
            words += " Which device is behind it, the text does not prove.";
        }
        f = f.says(words);
        if let Some(address) = &device {
            f = f.of_devices([Device { name: address.clone(), driver: String::new() }]);
        }
        let number = number(case, row).map_or("its number in ltr_show".into(), |n| n.to_string());
        f = match &device {
            Some(d) => f.change(
                format!("echo auto > /sys/bus/pci/devices/{d}/power/control. If that changes nothing, its driver has no runtime power management: update the kernel, or unload the driver."),
                "echo on > the same file.",
                "",
            ),
            None => f.look("Find the device behind that port (lspci -t), see its power/control and power/runtime_status, and remove it to see."),
        };
        out.push(f.change(
            format!("To try: echo {number} > /sys/kernel/debug/pmc_core/ltr_ignore."),
            "echo the same number > ltr_restore, where the kernel has it, or start the machine anew.",
            "The device may lose data or stop while its wish is ignored.",
        ));
    }
}

/// A table in which nobody asks for what no state can keep.
fn harmless(all: &[(usize, &Item, &Latency)], out: &mut Vec<Finding>) {
    let asked = all.iter().filter_map(|r| Some((r.2.asked()?, r)));
    let Some((ns, r)) = asked.min_by_key(|a| a.0) else { return };
    let f = Finding::new(("block-latency", Area::Mode, Level::Note), Confidence::Certain)
        .says(format!("No latency of ltr_show alone is a proven blocker: the least that a device asks for is {} ns ({}), and a device in D3 asks for nothing, whatever it asked awake.", say::grouped(ns), r.2.ip))
        .look("To try one: echo its number > /sys/kernel/debug/pmc_core/ltr_ignore, sleep, and compare package_cstate_show before and after.")
        .shown_by([Evidence::from(r.1)]);
    out.push(f);
}

/// The command between two tables that changed something, and the PCI device that it removed.
fn change(case: &Case, first: usize, last: usize) -> Option<(&Item, Option<String>)> {
    let changes = |i: &&Item| matches!(&i.fact, Fact::Command(c) if is_change(c));
    let item = case.night.between(first, last).iter().rev().find(changes)?;
    let command = command_of(item);
    let removed = command.ends_with("/remove") || command.ends_with("/unbind");
    let path = command.replace('\\', "");
    let address = path.split(['/', ' ']).find(|p| p.matches(':').count() == 2 && p.contains('.'));
    Some((item, address.filter(|_| removed).map(ToString::to_string)))
}

/// Whether a command changes how a machine sleeps.
pub(in crate::rules) fn is_change(command: &str) -> bool {
    let writes = command.contains("/sys/") && (command.contains('>') || command.contains("tee "));
    writes && !command.contains("/sys/power/state")
        || ["modprobe -r", "rmmod ", "setpci ", "powertop --auto-tune"]
            .iter()
            .any(|c| command.contains(c))
}

pub(in crate::rules) fn command_of(item: &Item) -> &str {
    match &item.fact {
        Fact::Command(c) => c,
        _ => &item.text,
    }
}

/// `0000:53:00.0 (SD Host controller: …, behind root port 00:1c.0)`.
fn described(case: &Case, address: &str) -> String {
    let hardware = || {
        case.night.items.iter().filter_map(|i| match &i.fact {
            Fact::Hardware(h) => Some(h),
            _ => None,
        })
    };
    let name = hardware().find_map(|h| match h {
        Hardware::Pci { address: a, name } if a == address => Some(name.as_str()),
        _ => None,
    });
    let bus = address.split(':').nth(1).unwrap_or("");
    let port = hardware().find_map(|h| match h {
        Hardware::Bridge { port, bus: b, .. } if b == bus => {
            Some(format!("behind root port {port}"))
        }
        _ => None,
    });
    let more: Vec<&str> = name.into_iter().chain(port.as_deref()).collect();
    if more.is_empty() { address.into() } else { format!("{address} ({})", more.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::night::Night;

    fn item(line: u64, fact: Fact) -> Item {
        Item { line, text: format!("line {line}"), fact }
    }

    fn row(ip: &str, ns: u64, table: usize) -> Fact {
        Fact::Latency(Latency { ip: ip.into(), non_snoop: ns, table, ..Latency::default() })
    }

    fn judged(items: Vec<Item>) -> Vec<Finding> {
        let case = Case { night: Night { items, ..Night::default() }, ..Case::default() };
        let mut out = Vec::new();
        judge(&case, &mut out);
        out
    }

    #[test]
    fn only_a_wish_that_no_deep_state_keeps_is_a_blocker() {
        let none = judged(vec![
            item(1, row("XHCI", 163_840, 0)),
            item(2, row("CURRENT_PLATFORM", 1_024, 0)),
        ]);
        assert!(none.iter().all(|f| f.level == Level::Note) && none.len() == 1);
        let mut ignored = Latency { ip: "SOUTHPORT_B".into(), snoop: 2_048, ..Latency::default() };
        ignored.ignored = true;
        assert!(judged(vec![item(1, Fact::Latency(ignored))]).is_empty());
        let one = judged(vec![item(1, row("SOUTHPORT_B", 2_048, 0))]);
        assert_eq!(one[0].confidence, Confidence::Likely);
        assert!(one[0].sentence.contains("2,048 ns") && one[0].sentence.contains("does not prove"));
    }

    #[test]
    fn a_device_that_was_removed_between_two_tables_is_named() {
        let remove = "echo 1 > /sys/bus/pci/devices/0000\\:6e\\:00.0/remove";
        let bridge =
            Hardware::Bridge { port: "00:1d.4".into(), bus: "6e".into(), name: String::new() };
        let items = vec![
            item(1, row("SOUTHPORT_E", 3_072, 0)),
            item(2, Fact::Hardware(bridge)),
            item(3, Fact::Command(remove.into())),
            item(4, row("SOUTHPORT_E", 0, 1)),
        ];
        let found = judged(items);
        assert_eq!(found[0].about.devices[0].name, "0000:6e:00.0");
        assert!(found[0].sentence.contains("behind root port 00:1d.4"), "{}", found[0].sentence);
    }
}
