//! What becomes of the devices of a tree at boot, in words.

use crate::text::page::{Ink, Page};
use crate::text::safe;
use crate::wording::next::{next, typed};
use crate::wording::number::plural;
use dormouse_base::loss::Losses;
use dormouse_power::fw_devlink::Wish;
use dormouse_power::fw_devlink::verdict::{Contrast, Root, Verdict, Wait};
use dormouse_power::fw_devlink::version::Rules;
use serde_json::{Value, json};

/// A device without a driver that others need.
#[derive(Clone, Debug)]
pub struct Needed {
    /// The device.
    pub device: usize,
    /// How many need it.
    pub consumers: usize,
    /// Its first compatible.
    pub compatible: String,
    /// The module that has its driver, if one is known.
    pub module: Option<String>,
}

/// A judged boot.
#[derive(Clone, Copy)]
pub struct Boot<'b, 't, 'a> {
    /// What became of it.
    pub verdict: &'b Verdict<'t, 'a>,
    /// What was asked.
    pub wish: &'b Wish,
    /// Devices without a driver that others need, most needed first.
    pub needed: &'b [Needed],
    /// All devices for which the kernel that is described has none.
    pub missing: &'b [Needed],
    /// The drivers are those of a kernel; else every device is taken to have one.
    pub described: bool,
    /// Another kernel or mode, and what it changes.
    pub other: Option<&'b (Wish, Contrast)>,
    /// What could not be read or decided.
    pub losses: &'b Losses,
}

/// Lines of at most 80 columns; an indented text goes on further in.
fn wrapped(text: &str) -> String {
    let mut page = Page::new(false);
    let bare = text.trim_start_matches('\n');
    let indent = bare.len() - bare.trim_start().len();
    page.wrapped(Ink::Plain, indent, indent + 2, bare.trim_start());
    "\n".repeat(text.len() - bare.len()) + &page.finish()
}

/// `rules of 6.12, fw_devlink=rpm`.
fn setting(w: &Wish) -> String {
    let strict = if w.strict { " fw_devlink.strict=1" } else { "" };
    let timeout = if w.timed_out { "" } else { " deferred_probe_timeout=0" };
    format!("rules of {}, fw_devlink={}{strict}{timeout}", w.rules.name(), w.mode.name())
}

impl Boot<'_, '_, '_> {
    fn name(&self, device: usize) -> String {
        safe(&self.verdict.machine.devices[device].name).into_owned()
    }

    /// The first line.
    fn answer(&self) -> String {
        let v = self.verdict;
        match (v.never.len(), v.late.len()) {
            (0, 0) => "Every device that has a driver probes in time.".into(),
            (0, n) => format!(
                "{} only when the time for drivers is over (10 s after the last driver).",
                match n {
                    1 => "1 device probes".into(),
                    n => format!("{n} devices probe"),
                }
            ),
            (1, _) => format!("{} never probes.", self.name(v.never[0].device)),
            (n, _) => format!("{n} devices never probe."),
        }
    }

    /// Why a device waits.
    fn why(&self, w: &Wait) -> String {
        let through = match w.through.first() {
            Some(&d) => format!(", through {}", self.name(d)),
            None => String::new(),
        };
        match &w.root {
            Root::NoDriver(d) => format!("{} has no driver{through}", self.name(*d)),
            Root::NoDevice(n) => {
                format!(
                    "no device is made of {}{through}",
                    safe(&self.verdict.machine.tree.path(*n))
                )
            }
            Root::Ring(all) => {
                let names: Vec<String> = all.iter().map(|&d| self.name(d)).collect();
                format!("they wait for each other: {}", names.join(", "))
            }
        }
    }

    /// What to do about a root.
    fn advice(&self, w: &Wait) -> String {
        match &w.root {
            Root::NoDriver(d) => match self.needed.iter().find(|n| n.device == *d) {
                Some(Needed { module: Some(m), .. }) => {
                    format!("Put the module {} into the image, or load it early.", safe(m))
                }
                Some(n) => format!(
                    "Enable a driver for \"{}\", or set status = \"disabled\" in its node if \
                     nothing needs it.",
                    safe(&n.compatible)
                ),
                None => "Load its driver.".into(),
            },
            Root::NoDevice(n) => {
                let node = &self.verdict.machine.tree.nodes[*n];
                match node.get("compatible") {
                    None => "It has no compatible: add one, or take the reference away.".into(),
                    Some(_) => {
                        "Bind the driver of the node above it, which makes the device.".into()
                    }
                }
            }
            Root::Ring(_) => {
                "Break it: post-init-providers in the consumer that can start without \
                              (6.12 and later), or an optional need in its driver."
                    .into()
            }
        }
    }
}

/// The answer as a screen; at most `top` of each list.
pub fn text(b: &Boot<'_, '_, '_>, tree: &str, top: usize) -> String {
    let (v, m) = (b.verdict, &b.verdict.machine);
    let mut out = wrapped(&b.answer());
    let bound = m.devices.iter().filter(|d| d.node.is_some()).count();
    let links = m.links.iter().filter(|l| l.alive).count();
    out += &wrapped(&format!(
        "{}: {} of the tree, {} at the end, {} with a cycle; {}. {}",
        safe(tree.rsplit('/').next().unwrap_or(tree)),
        plural(bound, "device"),
        plural(links, "link"),
        plural(v.cycles.len(), "pair"),
        setting(b.wish),
        match b.described {
            true => "Drivers: those of the kernel's folder.",
            false => "Every device is taken to have a driver, but timers.",
        }
    ));
    let mut list = |title: &str, waits: &[Wait]| {
        if waits.is_empty() {
            return;
        }
        out += &format!("\n{title}\n");
        for w in waits.iter().take(top) {
            out += &wrapped(&format!("  {}: {}. {}", b.name(w.device), b.why(w), b.advice(w)));
        }
        if waits.len() > top {
            out += &format!("  … and {} more.\n", waits.len() - top);
        }
    };
    list("Never", &v.never);
    list("Late", &v.late);
    if !b.wish.timed_out && !v.never.is_empty() {
        out += &wrapped(
            "\nWith deferred_probe_timeout=0 no link is ever relaxed: set it to 10 or leave it out.",
        );
    }
    if !v.held.is_empty() {
        out += "\nsync_state is held up\n";
        for h in v.held.iter().take(top) {
            let of = |&(d, proxy): &(usize, bool)| match proxy {
                true => format!("{} (for a node below it)", b.name(d)),
                false => b.name(d),
            };
            let names: Vec<String> = h.consumers.iter().take(3).map(of).collect();
            let more = match h.consumers.len() {
                n if n > 3 => format!(" and {} more", n - 3),
                _ => String::new(),
            };
            out += &wrapped(&format!(
                "  {} waits for {}{more}.",
                b.name(h.supplier),
                names.join(", ")
            ));
        }
        if v.held.len() > top {
            out += &format!("  … and {} more.\n", v.held.len() - top);
        }
        out += &wrapped(
            "  A consumer that nobody needs: status = \"disabled\". As a last resort \
             fw_devlink.sync_state=timeout (6.12 and later).",
        );
    }
    if !b.missing.is_empty() {
        out += &format!(
            "\nWithout a driver in this kernel: {} (what others read, such as a syscon, needs none)\n",
            plural(b.missing.len(), "device")
        );
        for n in b.missing.iter().take(top) {
            out += &wrapped(&format!("  {}: \"{}\"", b.name(n.device), safe(&n.compatible)));
        }
        if b.missing.len() > top {
            out += &format!("  … and {} more.\n", b.missing.len() - top);
        }
    }
    out += "\nAttempts\n";
    let [first, last] = v.attempts;
    let range = |a: usize, b: usize| match a == b {
        true => format!("{a}"),
        false => format!("{} to {}", a.min(b), a.max(b)),
    };
    out += &wrapped(&format!(
        "  {} in all, {} of them put off; drivers come in the order of devices.",
        range(first, last),
        range(v.put_off[0], v.put_off[1])
    ));
    let mut most: Vec<_> = v.each.iter().filter(|(_, n)| n[0].max(n[1]) > 1).collect();
    most.sort_by_key(|(d, n)| (std::cmp::Reverse(n[0].max(n[1])), **d));
    for (d, n) in most.into_iter().take(top.min(3)) {
        out += &wrapped(&format!("  {}: {}", b.name(*d), range(n[0], n[1])));
    }
    if let Some((wish, c)) = b.other {
        out += &changes(wish, c, top);
    }
    for l in &b.losses.list {
        out += &wrapped(&format!("\n{}: {}", l.severity.name(), safe(&l.advice)));
    }
    let rules = if b.wish.rules == Rules::K6_12 { "7.3" } else { "6.12" };
    let command = match b.other {
        None => format!("check {} --against {rules}", typed(tree)),
        Some(_) => format!("lab run --only graft {} --kernel {}", typed(tree), b.wish.rules.name()),
    };
    out + "\n" + &next(&command)
}

/// What another kernel or mode changes.
fn changes(wish: &Wish, c: &Contrast, top: usize) -> String {
    let mut out = format!("\nWith {}\n", setting(wish));
    let [gone, new, other] = &c.links;
    if c.is_empty() {
        return out + "  nothing changes.\n";
    }
    for (list, what) in
        [(gone, "is no link any more"), (new, "is a new link"), (other, "is another kind of link")]
    {
        for (consumer, supplier) in list.iter().take(top) {
            out += &wrapped(&format!("  {} -> {} {what}.", safe(consumer), safe(supplier)));
        }
        if list.len() > top {
            out += &format!("  … and {} more.\n", list.len() - top);
        }
    }
    let [gone, new] = &c.cycles;
    for (list, what) in [(gone, "need each other no more"), (new, "need each other")] {
        for (one, other) in list.iter().take(top) {
            out += &wrapped(&format!("  {} and {} {what}.", safe(one), safe(other)));
        }
        if list.len() > top {
            out += &format!("  … and {} more.\n", list.len() - top);
        }
    }
    let [worse, better] = &c.in_time;
    for (list, what) in [(worse, "no longer probes in time"), (better, "probes in time")] {
        for device in list.iter().take(top) {
            out += &wrapped(&format!("  {} {what}.", safe(device)));
        }
        if list.len() > top {
            out += &format!("  … and {} more.\n", list.len() - top);
        }
    }
    out
}

/// The same for programs.
pub fn json(b: &Boot<'_, '_, '_>) -> Value {
    let (v, m) = (b.verdict, &b.verdict.machine);
    let waits = |list: &[Wait]| -> Vec<Value> {
        let one = |w: &Wait| {
            let through: Vec<String> = w.through.iter().map(|&d| b.name(d)).collect();
            let root = match &w.root {
                Root::NoDriver(d) => json!({ "kind": "no_driver", "device": b.name(*d) }),
                Root::NoDevice(n) => json!({ "kind": "no_device", "node": m.tree.path(*n) }),
                Root::Ring(all) => {
                    let names: Vec<String> = all.iter().map(|&d| b.name(d)).collect();
                    json!({ "kind": "ring", "devices": names })
                }
            };
            json!({
                "device": b.name(w.device),
                "through": through,
                "root": root,
                "why": b.why(w),
                "advice": b.advice(w),
            })
        };
        list.iter().map(one).collect()
    };
    let links = m.links.iter().filter(|l| l.alive).map(|l| {
        json!({
            "consumer": b.name(l.consumer),
            "supplier": b.name(l.supplier),
            "sync_state_only": l.sync_state_only,
            "cycle": l.cycle,
            "proxy": l.proxy,
            "runtime_pm": l.runtime_pm,
        })
    });
    let held = v.held.iter().map(|h| {
        let consumers = h.consumers.iter();
        let consumers: Vec<Value> =
            consumers.map(|&(d, proxy)| json!({ "device": b.name(d), "proxy": proxy })).collect();
        json!({ "supplier": b.name(h.supplier), "consumers": consumers })
    });
    let driverless = b.needed.iter().map(|n| {
        json!({
            "device": b.name(n.device),
            "compatible": n.compatible,
            "consumers": n.consumers,
            "module": n.module,
        })
    });
    let each = v.each.iter().map(
        |(&d, n)| json!({ "device": b.name(d), "least": n[0].min(n[1]), "most": n[0].max(n[1]) }),
    );
    let other = b.other.map(|(w, c)| {
        json!({
            "kernel": w.rules.name(),
            "fw_devlink": w.mode.name(),
            "links_gone": c.links[0],
            "links_new": c.links[1],
            "links_changed": c.links[2],
            "cycles_gone": c.cycles[0],
            "cycles_new": c.cycles[1],
            "no_longer_in_time": c.in_time[0],
            "now_in_time": c.in_time[1],
        })
    });
    json!({
        "answer": b.answer(),
        "kernel": b.wish.rules.name(),
        "fw_devlink": b.wish.mode.name(),
        "drivers": if b.described { "kernel" } else { "all" },
        "never": waits(&v.never),
        "late": waits(&v.late),
        "driverless": driverless.collect::<Vec<_>>(),
        "without_driver": b.missing.iter().map(|n| json!({
            "device": b.name(n.device),
            "compatible": n.compatible,
        })).collect::<Vec<_>>(),
        "sync_state": held.collect::<Vec<_>>(),
        "links": links.collect::<Vec<_>>(),
        "cycles": v.cycles.iter().map(|&(a, c)| [m.tree.path(a), m.tree.path(c)]).collect::<Vec<_>>(),
        "attempts": {
            "least": v.attempts[0].min(v.attempts[1]),
            "most": v.attempts[0].max(v.attempts[1]),
            "devices": each.collect::<Vec<_>>(),
        },
        "against": other,
        "losses": b.losses,
    })
}
