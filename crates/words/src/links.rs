//! What a kernel makes of a device tree, in words.

use crate::text::safe;
use crate::wording::next::{next, typed};
use crate::wording::number::plural;
use dormouse_power::fw_devlink::compare::{Comparison, Count};
use std::fmt::Write as _;

/// A tree that was booted in the laboratory.
#[derive(Clone, Debug)]
pub struct Grafted<'a> {
    /// The tree's file.
    pub tree: &'a str,
    /// Release of the kernel.
    pub release: &'a str,
    /// `fw_devlink=`.
    pub mode: &'a str,
    /// Which rules were used.
    pub rules: &'a str,
    /// The comparison.
    pub compared: &'a Comparison,
}

/// The comparison as a screen.
pub fn grafted(g: &Grafted<'_>) -> String {
    let c = g.compared;
    let mut out = match c.exact() {
        true => "The kernel made what was predicted.\n".to_owned(),
        false => format!(
            "The kernel and the prediction differ in {}.\n",
            plural(c.differences.len(), "place")
        ),
    };
    let _ = writeln!(
        out,
        "{}:\nkernel {}, fw_devlink={}; rules of {}.\n",
        safe(g.tree.rsplit('/').next().unwrap_or(g.tree)),
        safe(g.release),
        g.mode,
        g.rules
    );
    let _ =
        writeln!(out, "{:<26}{:>8}{:>8}{:>8}{:>10}", "", "kernel", "right", "wrong", "too many");
    for (name, n) in [("links", c.links), ("pairs with a cycle", c.cycles), ("devices", c.devices)]
    {
        let Count { kernel, right, wrong, too_many } = n;
        let _ = writeln!(out, "{name:<26}{kernel:>8}{right:>8}{wrong:>8}{too_many:>10}");
    }
    let _ = writeln!(
        out,
        "\nOf the links {} are for sync_state alone; {};\n{} on cycles ({} predicted).",
        c.sync_state_only,
        match c.waiting {
            1 => "1 device waits for a node".to_owned(),
            n => format!("{n} devices wait for a node"),
        },
        plural(c.lines.0, "line"),
        c.lines.1
    );
    let a = c.attempts;
    out += &match (a.within == a.boots, a.same == a.boots) {
        (_, true) => format!("{} to probe, in the order predicted.\n", plural(a.kernel, "attempt")),
        (inside, _) => format!(
            "{} to probe, {} {} to {} predicted.\n",
            plural(a.kernel, "attempt"),
            if inside { "within" } else { "outside the" },
            a.least,
            a.most
        ),
    };
    for (what, kernel, predicted) in c.differences.iter().take(20) {
        let _ = writeln!(
            out,
            "{}\n  kernel {}\n  predicted {}",
            safe(what),
            safe(kernel),
            safe(predicted)
        );
    }
    if let Some(more) = c.differences.len().checked_sub(20).filter(|&n| n > 0) {
        let _ = writeln!(out, "… and {more} more.");
    }
    let command = format!("board from {} --kernel {}", typed(g.tree), g.rules);
    out + "\n" + &next(&command)
}

/// The head of a table.
pub fn heading(g: &Grafted<'_>) -> String {
    format!(
        "kernel {}, fw_devlink={}; rules of {}\n{:<26}{:>10}{:>5}{:>10}{:>10}{:>6}{:>13}\n",
        safe(g.release),
        g.mode,
        g.rules,
        "right/kernel",
        "links",
        "sso",
        "cycles",
        "devices",
        "wait",
        "attempts"
    )
}

/// A line of it: what is right, of what the kernel has, and what is too many.
pub fn row(g: &Grafted<'_>) -> String {
    let c = g.compared;
    let of = |n: Count| match n.too_many {
        0 => format!("{}/{}", n.right, n.kernel),
        more => format!("{}/{}+{more}", n.right, n.kernel),
    };
    let name = safe(g.tree.rsplit('/').next().unwrap_or(g.tree)).replace(".dtb", "");
    let short: String = name.chars().take(25).collect();
    let a = c.attempts;
    let width = match a.least == a.most {
        true => format!("{}", a.least),
        false => format!("{}..{}", a.least, a.most),
    };
    let mut out = format!(
        "{short:<26}{:>10}{:>5}{:>10}{:>10}{:>6}{:>13}\n",
        of(c.links),
        c.sync_state_only,
        of(c.cycles),
        of(c.devices),
        c.waiting,
        format!("{}/{width}", a.kernel)
    );
    if a.within < a.boots || (a.same < a.boots && a.boots > 1) {
        let _ = writeln!(
            out,
            "  attempts: {} of {} boots within, {} in an order predicted",
            a.within, a.boots, a.same
        );
    }
    if c.lines.0 != c.lines.1 {
        let _ = writeln!(out, "  {} on cycles, {} predicted", plural(c.lines.0, "line"), c.lines.1);
    }
    for (what, kernel, predicted) in c.differences.iter().take(3) {
        let _ = writeln!(out, "  {}: {}, predicted {}", safe(what), safe(kernel), safe(predicted));
    }
    out
}
