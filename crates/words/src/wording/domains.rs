//! What was found of power domains and probing, as sentences, and what to do.

use super::number::{ms, names, plural};
use dormouse_power::domain::{Domain, Dump, Held, Status};
use dormouse_power::fact::{Fact, Unchecked};
use dormouse_power::resource::Resource;
use dormouse_power::root::{Cause, Fate, Root};
use dormouse_power::supplier;

/// `waits`, `wait`.
fn verb(n: usize, one: &'static str, many: &'static str) -> &'static str {
    if n == 1 { one } else { many }
}

/// ` (EREMOTEIO)` behind a number.
fn error(n: i32) -> String {
    let name = match n {
        -2 => "ENOENT",
        -5 => "EIO",
        -6 => "ENXIO",
        -16 => "EBUSY",
        -19 => "ENODEV",
        -22 => "EINVAL",
        -110 => "ETIMEDOUT",
        -121 => "EREMOTEIO: it did not answer on its bus",
        _ => return n.to_string(),
    };
    format!("{n} ({name})")
}

/// A probe that failed.
pub fn failure(device: &str, n: i32) -> String {
    format!("{device}: error {}", error(n))
}

/// `a domain`, as users say it.
fn resource(r: Resource) -> &'static str {
    match r {
        Resource::Domains => "power domains",
        Resource::Clocks => "clocks",
        Resource::Regulators => "regulators",
    }
}

/// `LNXPOWER:02 (\\_SB.PR02)`.
pub fn named(name: &str, path: &str) -> String {
    if path.is_empty() { name.into() } else { format!("{name} ({path})") }
}

/// What holds devices up.
pub fn cause(c: &Cause) -> String {
    match c {
        Cause::Device { name, fate: Fate::Failed(e) } => {
            format!("{name}, whose own probe failed with error {}", error(*e))
        }
        Cause::Device { name, fate: Fate::Probing(driver) } => {
            format!("{name}, whose driver {driver} had begun and was not ready")
        }
        Cause::Device { name, fate: Fate::Later(driver) } => {
            format!("{name}, of which {driver} speaks later")
        }
        Cause::Device { name, fate: Fate::Silent } => format!("{name}, which has no driver yet"),
        Cause::Node { path } => format!("the node {path}, which is no device yet"),
        Cause::Lost => "a supplier whose name the text lost".into(),
        Cause::Own { reason } => format!("what the driver says: {reason}"),
        Cause::Parts { reason } => format!("the parts of a sound card ({reason})"),
        Cause::Brother { name, error: e } => format!(
            "something that the kernel does not say; {name}, of the same kind, failed with error {}",
            error(*e)
        ),
        Cause::Unsaid { hint: Some(hint) } => {
            format!("something that the kernel does not say; nearby stands: {hint}")
        }
        Cause::Unsaid { hint: None } => "something that the kernel does not say".into(),
        Cause::Loop => "each other".into(),
        Cause::Part { of, part, by } => format!(
            "each other, most likely: {of} cannot make its part {part}, and {by} waits for what is \
             inside"
        ),
    }
}

fn waits(root: &Root, of: u64) -> String {
    if root.times > 0 && root.at.is_empty() {
        return format!("{} of {of} counted waits are for {}.", root.times, cause(&root.cause));
    }
    let n = root.at.len();
    let verb = match root.attempts_only {
        true => verb(n, "was turned away and waited", "were turned away and waited"),
        false => verb(n, "waits", "wait"),
    };
    let behind = match root.behind.len() {
        0 => String::new(),
        n => format!(" {} more {} for those.", n, self::verb(n, "waits", "wait")),
    };
    format!("{} {verb} for {}.{behind}", names(&root.at), cause(&root.cause))
}

/// What was found, in one or two sentences.
pub fn sentence(f: &Fact) -> String {
    match f {
        Fact::OnUnused { domain, devices, children, later_off } => {
            let mut why = Vec::new();
            if *devices > 0 {
                why.push(format!(
                    "its {} suspended",
                    match devices {
                        1 => "device is".to_string(),
                        n => format!("{n} devices are"),
                    }
                ));
            }
            if !children.is_empty() {
                let n = children.len();
                let is = verb(n, "domain inside it is", "domains inside it are");
                why.push(format!("the {is} off ({})", names(children)));
            }
            let later = if *later_off {
                " In the last table, of a later moment or of another kernel, it is off."
            } else {
                ""
            };
            format!(
                "{domain} is on though nothing in the table uses it: {}.{later}",
                why.join(", ")
            )
        }
        Fact::OnEmpty { domains } => format!(
            "{} {} on and {} neither devices nor domains inside.",
            names(domains),
            verb(domains.len(), "is", "are"),
            verb(domains.len(), "has", "have"),
        ),
        Fact::NeverSuspends { domains } => {
            let held =
                domains.iter().take(3).map(|(d, devices)| format!("{d} ({})", names(devices)));
            let held: Vec<String> = held.collect();
            let more = match domains.len().saturating_sub(3) {
                0 => String::new(),
                n => format!(" and {}", plural(n, "more domain")),
            };
            format!(
                "Devices without runtime power management alone keep on: {}{more}. That is often meant so.",
                held.join(", ")
            )
        }
        Fact::DeviceError { domain, device } => {
            format!("Runtime power management of {device} in domain {domain} is in an error state.")
        }
        Fact::Differs { changes } => {
            let all = changes.iter().take(4).map(|(d, a, b)| format!("{d} {a} and {b}"));
            let all: Vec<String> = all.collect();
            let n = changes.len();
            format!(
                "{} in the first table and in the last: {}. They may be of two moments, or of two \
                 kernels.",
                match n {
                    1 => "One domain differs".to_string(),
                    n => format!("{n} domains differ"),
                },
                all.join("; ")
            )
        }
        Fact::AttachFailed { device, domain, error } => {
            format!("{device} could not be put into domain {domain}: error {error}.")
        }
        Fact::Unswitched { device, domain } => format!(
            "Domain {domain} stays on while {device} is in it: the device is switched with interrupts off, which the domain cannot be."
        ),
        Fact::Unlinked { pairs, own } => {
            let others: Vec<String> =
                pairs.iter().filter(|(c, s)| c != s).map(|(c, s)| format!("{c} to {s}")).collect();
            let itself = match own {
                0 => String::new(),
                1 => " One device was to be linked to itself.".to_string(),
                n => format!(" {n} devices were to be linked to themselves."),
            };
            let what = match others.len() {
                0 => "No device link is missing.".to_string(),
                1 => format!(
                    "No device link was made from {}: nothing orders the two when they probe or sleep.",
                    names(&others)
                ),
                n => format!(
                    "{n} device links were not made, from {}: nothing orders the two ends when they probe or sleep.",
                    names(&others)
                ),
            };
            format!("{what}{itself}")
        }
        Fact::Waits { root, of, .. } => waits(root, *of),
        Fact::BehindProbing { supplier, driver, devices, waiting } => {
            let rest = match waiting {
                0 => " All of them were seen with a driver later.".to_string(),
                n => format!(" No driver was seen for {n} of them later."),
            };
            format!(
                "{} asked for {supplier} while its driver {driver} was still probing: perhaps they are its own children.{rest}",
                names(devices)
            )
        }
        Fact::OneTry { devices, supplier } => format!(
            "{} {} turned away once for {supplier}, which came later, and {} not seen again: a driver that only tries once would do that.",
            names(devices),
            verb(devices.len(), "was", "were"),
            verb(devices.len(), "was", "were"),
        ),
        Fact::GaveUp { devices, failed, on } => {
            let failed = match (*failed, devices.len()) {
                (0, _) => String::new(),
                (1, 1) => format!("; its probe failed with {}", error(-110)),
                (n, _) => format!("; {n} of these probes failed with {}", error(-110)),
            };
            let on = match on {
                Some((provider, by)) => {
                    format!("{} that never came ({by} in the stack asked for it)", provider.name())
                }
                None => {
                    "a provider that never came; which, the text does not say (a power domain, \
                         an IOMMU, a pin controller)"
                        .into()
                }
            };
            format!("{} gave up on {on}{failed}.", names(devices))
        }
        Fact::ProbeFailed { device, driver, error: e, part_of, waiting } => {
            let what = match part_of {
                Some(whole) => format!("{device} could not be bound as a part of {whole}"),
                None if driver.is_empty() => format!("The probe of {device} failed"),
                None => format!("The probe of {device} by {driver} failed"),
            };
            let waiting = match waiting {
                0 => String::new(),
                n => format!(
                    " {} {} too, and the kernel does not say for what.",
                    plural(*n, "device"),
                    verb(*n, "waits", "wait")
                ),
            };
            format!("{what} with error {}.{waiting}", error(*e))
        }
        Fact::BothWait { one, other } => {
            format!("{one} and {other} stand in one dependency cycle, and both still wait.")
        }
        Fact::Cycles { pairs, gone, .. } => {
            let gone = match gone {
                0 => String::new(),
                n => format!(" ({n} of them only in lines that the text marks as gone)"),
            };
            format!(
                "The kernel broke dependency cycles between {}{gone}. By itself that is harmless.",
                plural(*pairs, "pair")
            )
        }
        Fact::SyncPending { supplier: s } if s.forced && s.consumers.is_empty() => {
            format!("The kernel stopped waiting for consumers of {}.", s.name)
        }
        Fact::SyncPending { supplier: s } => {
            let names: Vec<String> = s.consumers.iter().map(|c| c.name.clone()).collect();
            if s.forced {
                return format!(
                    "The kernel stopped waiting for {}: what {} had kept on since boot, and nobody \
                     had asked for, may be off.",
                    self::names(&names),
                    s.name
                );
            }
            let came = s.consumers.iter().filter(|c| c.fate == supplier::Fate::Came).count();
            if came == names.len() {
                return format!(
                    "{} waited for {}, which came later: nothing is held up.",
                    s.name,
                    self::names(&names)
                );
            }
            let late = match came {
                0 => String::new(),
                n => format!(" {n} of them came later."),
            };
            format!(
                "{} may keep on what was on at boot until {} {} probed.{late}",
                s.name,
                self::names(&names),
                verb(names.len(), "has", "have"),
            )
        }
        Fact::Unsynced { suppliers } => {
            let one = |(name, missing): &(String, Vec<String>)| match missing.as_slice() {
                [] => name.clone(),
                all => format!("{name} (not yet: {})", names(all)),
            };
            let all: Vec<String> = suppliers.iter().map(one).collect();
            format!(
                "{} {} not been told that all consumers have probed, and {} on what was on at boot.",
                names(&all),
                verb(all.len(), "has", "have"),
                verb(all.len(), "keeps", "keep"),
            )
        }
        Fact::ResourceUnused { resource, path, devices } => format!(
            "{} is on though every device that the text shows to need it is in another state: {}.",
            named(resource, path),
            names(devices)
        ),
        Fact::StateDiffers { devices } => {
            let one = |[name, path, set, real]: &[String; 4]| {
                format!("{} into {set} (the firmware says {real})", named(name, path))
            };
            let all: Vec<String> = devices.iter().map(one).collect();
            format!("The kernel put {}.", names(&all))
        }
        Fact::RailFedOff { mode, rail, supply } => format!(
            "The device tree asks {rail} to stay on in {mode}, and {supply}, which feeds it, to go off."
        ),
        Fact::RailWakesOff { mode, rail, devices } => format!(
            "The device tree asks {rail} to go off in {mode}, and {}, which it feeds, to wake the system.",
            names(devices)
        ),
        Fact::LatencyExceeded { switches } => {
            let all = switches.iter().take(4).map(|(d, off, t)| {
                format!("{d} {} {} ms", if *off { "off" } else { "on" }, ms(*t))
            });
            let all: Vec<String> = all.collect();
            format!("Switching took longer than the kernel knew: {}.", all.join(", "))
        }
        Fact::LeftOn { what } => {
            format!("The kernel was told to leave unused {} on.", resource(*what))
        }
        Fact::ShallowOnly { domain, states } => {
            let domain = if domain.is_empty() { "A domain" } else { domain };
            format!("{domain} has {states} idle states and only went into the first.")
        }
        Fact::CostlyAttempts { device, attempts, us } => format!(
            "{device} was sent back by its driver in {}, which took {us} us.",
            plural(*attempts, "attempt")
        ),
    }
}

/// What to do about it; one line each.
pub fn advice(f: &Fact) -> Vec<String> {
    let one = |text: &str| vec![text.to_string()];
    match f {
        Fact::OnUnused { .. } => one(
            "Read state_synced of its provider: from 6.17 on a domain that was on at boot stays on until sync_state. Else it has an always-on flag, or a domain inside it is not in its deepest state (idle_states in its folder of debugfs).",
        ),
        Fact::DeviceError { .. } => {
            one("Look for the first error of its driver in the kernel log.")
        }
        Fact::AttachFailed { .. } => one(
            "The error is of the provider's attach callback: see which clock or resource of the device it asks for.",
        ),
        Fact::Unswitched { .. } => one(
            "Where the provider can switch with interrupts off, give its domain GENPD_FLAG_IRQ_SAFE; else take pm_runtime_irq_safe() out of the driver.",
        ),
        Fact::Unlinked { pairs, own } if pairs.len() > *own => one(
            "The supplier depends on its consumer, or is not registered yet: see whether the property that asks for the link is right.",
        ),
        Fact::Unlinked { .. } => Vec::new(),
        Fact::Waits { root, .. } => match &root.cause {
            Cause::Device { fate: Fate::Failed(_), .. } => {
                one("Mend the supplier: its error stands in the log.")
            }
            Cause::Device { name, .. } => vec![format!(
                "See that the driver of {name} is built and in the image: cat /sys/devices/…/{name}/modalias."
            )],
            Cause::Node { .. } => one(
                "See which driver should make a device of that node, and whether one should: a part of another device (a partition, a group of pins) never becomes one.",
            ),
            Cause::Lost => one(
                "Give /sys/kernel/debug/devices_deferred as it is: the line ends before the name.",
            ),
            Cause::Own { .. } => {
                one("Search the driver for that text: the line before it asks for what is missing.")
            }
            Cause::Parts { .. } => one("Look at the parts first: this is a consequence."),
            Cause::Brother { name, .. } => vec![format!(
                "See why {name} failed: its error stands in the log, and its brothers ask for the same."
            )],
            Cause::Unsaid { .. } => one("cat /sys/kernel/debug/devices_deferred says more."),
            Cause::Loop | Cause::Part { .. } => {
                one("No kernel parameter helps: make one need optional, or split a provider.")
            }
        },
        Fact::BehindProbing { .. } => one(
            "A child that needs what its parent offers (an interrupt, a clock) can only probe when the parent's probe is over: the parent has to add its children last.",
        ),
        Fact::OneTry { .. } => one(
            "See whether its driver is registered with builtin_platform_driver_probe or __init probe: such a driver cannot wait.",
        ),
        Fact::GaveUp { on, .. } => {
            let property =
                on.as_ref().map_or("power-domains, iommus or pinctrl-0", |(p, _)| p.property());
            vec![format!(
                "See what {property} of these devices {}, and build that provider's driver in.",
                if on.is_some() { "names" } else { "name" }
            )]
        }
        Fact::ProbeFailed { device, .. } => vec![format!(
            "Look for the first message about {device} in the kernel log: what stands before the failure is its reason."
        )],
        Fact::BothWait { .. } => one(
            "No kernel parameter helps: make one need optional, split a provider, or name it in post-init-providers.",
        ),
        Fact::ResourceUnused { .. } => one(
            "Read power/runtime_status and power_state of the devices that share it; one that the text does not show may hold it (grep . /sys/bus/acpi/devices/*/power_resources_D*/*/resource_in_use).",
        ),
        Fact::RailFedOff { .. } => one(
            "See which of the two is meant: without its supply a rail is off, whatever its own node asks.",
        ),
        Fact::RailWakesOff { .. } => {
            one("Let the rail stay on in that mode, or see whether another rail feeds what wakes.")
        }
        Fact::SyncPending { supplier } => sync_advice(supplier),
        _ => Vec::new(),
    }
}

fn sync_advice(supplier: &supplier::Supplier) -> Vec<String> {
    let consumers = &supplier.consumers;
    let mut out = Vec::new();
    let has = |f: fn(supplier::Fate) -> bool| consumers.iter().any(|c| f(c.fate));
    if has(|f| matches!(f, supplier::Fate::Failed(_))) {
        out.push("Mend the probes that failed first; their errors stand in the log.".into());
    }
    if has(|f| f == supplier::Fate::Silent) {
        out.push("A consumer that nobody uses: status = \"disabled\" in the device tree. One without its driver: put its module into the image. A parent of the real user: bind the parent's driver.".into());
    }
    if supplier.forced {
        return out;
    }
    out.push("Last resort: fw_devlink.sync_state=timeout, or write 1 to the supplier's state_synced; what a missing consumer needs may then switch off.".into());
    out
}

/// What the text does not allow to say, and why.
pub fn unchecked(u: Unchecked) -> (&'static str, String) {
    match u {
        Unchecked::Flags => {
            ("flags of domains", "always-on flags and stay_on stand in no table".into())
        }
        Unchecked::Probing => (
            "what keeps devices from probing",
            "give the kernel log and /sys/kernel/debug/devices_deferred".into(),
        ),
        Unchecked::Domains => {
            ("what keeps domains on", "give /sys/kernel/debug/pm_genpd/pm_genpd_summary".into())
        }
        Unchecked::Rails => (
            "whether regulators do as the tree asks",
            "a driver without set_suspend_enable and set_suspend_disable leaves them as they are, and s2idle asks nothing of them".into(),
        ),
        Unchecked::Crash { line } => (
            "the crash",
            format!("the kernel crashed in line {line}; nothing here is shown to be its reason"),
        ),
    }
}

/// `on`, `off-0`.
pub fn status(s: Status) -> String {
    match s {
        Status::On => "on".into(),
        Status::Off(None) => "off".into(),
        Status::Off(Some(n)) => format!("off-{n}"),
    }
}

/// Why a domain is on: `ffbe0000.ethernet is active, 3 devices without runtime PM`.
pub fn held(dump: &Dump, d: &Domain, h: &Held) -> String {
    if d.status != Status::On {
        return String::new();
    }
    let of = |places: &[usize]| -> Vec<String> {
        places.iter().map(|&i| d.devices[i].name().to_string()).collect()
    };
    let mut out = Vec::new();
    if !h.active.is_empty() {
        out.push(format!("in use: {}", names(&of(&h.active))));
    }
    if !h.children_on.is_empty() {
        let children: Vec<String> =
            h.children_on.iter().map(|&i| dump.domains[i].name.clone()).collect();
        out.push(format!("on inside it: {}", names(&children)));
    }
    if !h.unsupported.is_empty() {
        out.push(format!("no runtime PM: {}", names(&of(&h.unsupported))));
    }
    if !h.failed.is_empty() {
        out.push(format!("in error: {}", names(&of(&h.failed))));
    }
    if out.is_empty() {
        out.push(if h.unseen { "users not shown".into() } else { "no user shown".into() });
    }
    out.join("; ")
}
