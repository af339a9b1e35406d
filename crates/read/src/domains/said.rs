//! One message of the kernel on probing, links, domains: what it says.

use dormouse_base::time::Ns;
use dormouse_power::cycle::Cycle;
use dormouse_power::deferral::{Deferral, Source};
use dormouse_power::domain::{AttachFailed, Stuck, Unswitched};
use dormouse_power::latency::Exceeded;
use dormouse_power::link::Unlinked;
use dormouse_power::pending::Pending;
use dormouse_power::probe::{Outcome, Probe};
use dormouse_power::resource::Resource;
use dormouse_power::{Case, Evidence};

/// Words of which each such message has one; lines without are not looked at.
pub(crate) const STEMS: [&[u8]; 30] = [
    b"deferred probe",
    b"probe deferral",
    b"EPROBE_DEFER",
    b"-517",
    b"attach",
    b"ailed to bind ",
    b"dependency cycle",
    b"cyclic dependency",
    b"sync_state()",
    b"latency exceeded",
    b"to PM domain",
    b"failed to add to",
    b"Failed to create device link",
    b"will not be powered off",
    b"probe of ",
    b"probe with ",
    b"ot disabling unused",
    b"Kernel command line",
    b"/proc/cmdline:",
    b"Kernel panic",
    b"Oops",
    b"nable to handle kernel",
    b"stuck at '",
    b"ower-on failed",
    b"ower on ",
    b"ower up ",
    b"ower off ",
    b"command PGC",
    b" domain '",
    b"bind failed",
];

/// Buses that stand where a driver does as long as a device has none.
const BUSES: [&str; 34] = [
    "platform",
    "i2c",
    "spi",
    "amba",
    "mdio_bus",
    "pci",
    "usb",
    "mmc",
    "sdio",
    "soundwire",
    "slimbus",
    "ulpi",
    "acpi",
    "pnp",
    "virtio",
    "scsi",
    "hid",
    "auxiliary",
    "genpd",
    "genpd_provider",
    "cpu",
    "serial",
    "w1",
    "mipi-dsi",
    "rpmsg",
    "spmi",
    "apr",
    "gpr",
    "typec",
    "nvmem",
    "hdaudio",
    "i3c",
    "device",
    "bus",
];

/// Whether a word is a bus, not a driver.
pub(crate) fn is_bus(word: &str) -> bool {
    BUSES.contains(&word)
}

/// `DRIVER DEVICE: message`; the driver may have blanks, the device has none.
pub(super) fn head(text: &str) -> Option<(&str, &str, &str)> {
    let (head, message) = text.split_once(": ")?;
    let (driver, device) = head.rsplit_once(' ').unwrap_or(("", head));
    (!device.is_empty()).then_some((driver.trim(), device, message))
}

fn first_word(text: &str) -> &str {
    // A page of the web may have marks of its own behind a name. Names of nodes have
    // commas inside: `ac13000.qcom,cci0`.
    text.split([' ', ';', '<']).next().unwrap_or("").trim_end_matches(',')
}

fn number(text: &str) -> Option<i32> {
    first_word(text.trim_start()).parse().ok()
}

/// The reason with the driver that the kernel puts before it.
fn reason(text: &str) -> (&str, &str) {
    let text = text.trim();
    if text.starts_with("(reason unknown)") {
        return ("", "");
    }
    match text.split_once(": ") {
        Some((driver, reason)) if !driver.contains(' ') => (driver, reason),
        _ => ("", text),
    }
}

/// Whether a message is whole, so that no further line can belong to it.
pub(super) fn is_whole(text: &str) -> bool {
    let names = |words: &str| text.split_once(words).is_some_and(|(_, r)| !r.trim().is_empty());
    names("pending due to ")
        || names("cycle(s) with ")
        || text.ends_with("ignoring dependency")
        || text.ends_with("(reason unknown)")
        // Without a colon the kernel gives no reason (before 6.8).
        || text.ends_with("deferred probe pending")
        || text.ends_with(" not ready")
        || text.ends_with(" usecs")
        || ends_deferred(text)
}

/// Takes what a message says into `case`.
pub(super) fn take(text: &str, evidence: Evidence, case: &mut Case) {
    let file = text.strip_prefix("/proc/cmdline:");
    if let Some(rest) = file.or(text.split_once("Kernel command line: ").map(|(_, r)| r)) {
        for (word, what) in [
            ("pd_ignore_unused", Resource::Domains),
            ("clk_ignore_unused", Resource::Clocks),
            ("regulator_ignore_unused", Resource::Regulators),
        ] {
            if rest.split(' ').any(|w| w == word) {
                let mut evidence = evidence.clone();
                evidence.text = format!("Kernel command line: … {word} …");
                case.ignored.push((what, evidence));
            }
        }
        return;
    }
    for (words, what) in [
        ("ot disabling unused power domains", Resource::Domains),
        ("ot disabling unused clocks", Resource::Clocks),
        ("ot disabling unused regulators", Resource::Regulators),
    ] {
        if text.contains(words) {
            case.ignored.push((what, evidence));
            return;
        }
    }
    if text.starts_with("Kernel panic")
        || text.starts_with("Internal error: Oops")
        || text.starts_with("Oops: ")
        || text.starts_with("Unable to handle kernel")
        || text.starts_with("BUG: unable to handle kernel")
    {
        case.crash.get_or_insert(evidence);
        return;
    }
    if let Some((before, rest)) = text.split_once("robe of ")
        && probe(before, rest, &evidence, case)
    {
        return;
    }
    if let Some((name, rest)) = text.split_once(": Power-") {
        latency(name, rest, evidence, case);
        return;
    }
    if let Some(stuck) = stuck(text, &evidence) {
        case.stuck.push(stuck);
        return;
    }
    let Some((driver, device, message)) = head(text) else { return };
    let deferral = |driver: &str, reason: &str, source, evidence| Deferral {
        device: device.to_string(),
        driver: driver.to_string(),
        reason: reason.to_string(),
        source,
        times: 1,
        evidence,
    };
    if let Some(rest) = message.strip_prefix("deferred probe pending") {
        let (by, reason) = rest.trim_start().strip_prefix(':').map_or(("", ""), reason);
        let by = if by.is_empty() { driver } else { by };
        case.deferrals.push(deferral(by, reason, Source::Pending, evidence));
    } else if let Some(rest) = message.strip_prefix("deferred probe timeout, ignoring dependency") {
        // Before 5.18 the probe went on without; it says so in more words.
        if rest.is_empty() || rest.starts_with(' ') && !rest.contains("assuming") {
            let probe = Probe {
                device: device.to_string(),
                driver: driver.to_string(),
                outcome: Outcome::GaveUp,
                took_us: None,
                asked: None,
                part_of: None,
                evidence,
            };
            case.probes.push(probe);
        }
    } else if let Some(rest) = message.strip_prefix("probe deferral - ") {
        case.deferrals.push(deferral(driver, rest.trim(), Source::Attempt, evidence));
    } else if let Some(rest) = message.strip_prefix("error -EPROBE_DEFER") {
        let reason = rest.trim_start_matches([':', ',', ' ']);
        case.deferrals.push(deferral(driver, reason, Source::Attempt, evidence));
    } else if let Some(rest) = message.strip_prefix("Driver ") {
        if let Some((by, _)) = rest.split_once(" requests probe defer") {
            case.deferrals.push(deferral(by, "", Source::Attempt, evidence));
        }
    } else if let Some(rest) = message.strip_prefix("probe with driver ") {
        if let Some((by, error)) = rest.split_once(" failed with error ") {
            let Some(error) = number(error) else { return };
            case.probes.push(Probe {
                device: device.to_string(),
                driver: by.to_string(),
                outcome: Outcome::Failed(error),
                took_us: None,
                asked: None,
                part_of: None,
                evidence,
            });
        }
    } else if let Some(other) = message
        .strip_prefix("Fixed dependency cycle(s) with ")
        .or_else(|| message.strip_prefix("Fixing up cyclic dependency with "))
    {
        let other = first_word(other.trim_start());
        if !other.is_empty() {
            // A comparison of two logs marks lines with `-` and `+`.
            let gone = text.starts_with('-');
            let one = device.trim_start_matches(['-', '+']).to_string();
            case.cycles.push(Cycle { one, other: other.to_string(), gone, evidence });
        }
    } else if let Some(rest) = message.strip_prefix("sync_state() pending due to ") {
        let consumer = first_word(rest.trim()).trim_end_matches('.').to_string();
        if !consumer.is_empty() {
            let (supplier, driver) = (device.to_string(), driver.to_string());
            case.pending.push(Pending { supplier, driver, consumer, evidence });
        }
    } else if message.starts_with("Timed out. Forcing sync_state()") {
        let (supplier, driver) = (device.to_string(), driver.to_string());
        case.pending.push(Pending { supplier, driver, consumer: String::new(), evidence });
    } else if let Some(rest) = message.strip_prefix("Failed to create device link ") {
        // 6.12 on: the flags in brackets.
        let Some((_, supplier)) = rest.rsplit_once("with ") else { return };
        // 6.13 on: `with supplier DEV for NODE`.
        let supplier = supplier.strip_prefix("supplier ").unwrap_or(supplier);
        let (consumer, supplier) = (device.to_string(), first_word(supplier).to_string());
        if !supplier.is_empty() {
            case.unlinked.push(Unlinked { consumer, supplier, evidence });
        }
    } else if let Some(rest) = message.strip_prefix("PM domain ") {
        let Some((domain, _)) = rest.split_once(" will not be powered off") else { return };
        let (device, domain) = (device.to_string(), domain.trim().to_string());
        case.unswitched.push(Unswitched { device, domain, evidence });
    } else if let Some(rest) = after_failed_to(message, "bind ") {
        component(device, driver, rest, evidence, case);
    } else if let Some((_, error)) = message.split_once("bind failed: ") {
        let Some(error) = number(error).filter(|e| *e < 0) else { return };
        // Said of the whole when a part could not be bound, in the probe of that part
        // (drivers/base/component.c:try_to_bring_up_aggregate_device, 6.12).
        if case.probes.iter().any(|p| p.part_of.as_deref() == Some(device)) {
            return;
        }
        case.probes.push(Probe {
            device: device.to_string(),
            driver: driver.to_string(),
            outcome: if error == -517 { Outcome::Deferred } else { Outcome::Failed(error) },
            took_us: None,
            asked: None,
            part_of: None,
            evidence,
        });
    } else if let Some((error, domain)) = attachment(message) {
        if matches!(error, "-EPROBE_DEFER" | "-517") {
            case.deferrals.push(deferral(driver, message, Source::Attempt, evidence));
        } else {
            let (device, domain) = (device.to_string(), domain.to_string());
            case.attachments.push(AttachFailed { device, domain, error: error.into(), evidence });
        }
    } else if let Some((error, domain)) = message.split_once("failed to add to PM domain ") {
        let (domain, code) = domain.split_once(": ").unwrap_or((domain, ""));
        let said = error.trim().trim_start_matches("error ").trim_end_matches(':');
        let error = if said.is_empty() { code } else { said };
        case.attachments.push(AttachFailed {
            device: device.to_string(),
            domain: first_word(domain).to_string(),
            error: first_word(error).to_string(),
            evidence,
        });
    } else if !driver.is_empty() && deferred_in_own_words(message) {
        case.deferrals.push(deferral(driver, message, Source::Attempt, evidence));
    }
}

/// What stands behind `failed to` and `what`, in the words of a driver.
fn after_failed_to<'t>(message: &'t str, what: &str) -> Option<&'t str> {
    let (_, rest) = message.split_once("ailed to ")?;
    rest.strip_prefix(what)
}

/// `error -ENODEV: failed to attach power domain "bus"`, `Failed to attach PM domain core:
/// -2`: the error, and the domain if it is named.
fn attachment(message: &str) -> Option<(&str, &str)> {
    let rest = after_failed_to(message, "attach ")?;
    let rest = ["the ", "to ", "to the "].iter().find_map(|w| rest.strip_prefix(w)).unwrap_or(rest);
    let kind = ["power domain", "power-domain", "PM domain", "pm domain", "pm_domain", "genpd"];
    let domain = kind.iter().find_map(|k| rest.strip_prefix(k))?;
    let (domain, code) = domain.rsplit_once([':', '(', ',']).unwrap_or((domain, ""));
    let before = message.strip_prefix("error ").and_then(|r| r.split_once(':')).map(|(e, _)| e);
    let error = before.unwrap_or_else(|| errno(code));
    let domain = domain.trim_start_matches('s').trim();
    Some((error, domain.trim_matches(['"', '\'', '`', '<', '>', '.', ' '])))
}

/// The error in what a driver prints of it, by its number or its name: `error -22`, `ret = -2`,
/// `-ENODEV)`; nothing where there is none.
fn errno(code: &str) -> &str {
    let word =
        |w: &&str| w.starts_with('-') && w[1..].starts_with(|c: char| c.is_ascii_alphanumeric());
    code.split([' ', '=', ')', '(', ',', '.']).find(word).unwrap_or("")
}

/// `failed to bind DEV (ops OPS): ERROR`, of a device made of parts
/// (drivers/base/component.c:component_bind).
fn component(whole: &str, driver: &str, rest: &str, evidence: Evidence, case: &mut Case) {
    let Some((part, rest)) = rest.split_once(" (ops ") else { return };
    let Some((ops, error)) = rest.rsplit_once("): ") else { return };
    let Some(error) = number(error) else { return };
    let outcome = if error == -517 { Outcome::Deferred } else { Outcome::Failed(error) };
    case.probes.push(Probe {
        device: part.to_string(),
        driver: ops.split(' ').next().filter(|o| !o.starts_with("0x")).unwrap_or(driver).into(),
        outcome,
        took_us: None,
        asked: None,
        part_of: Some(whole.to_string()),
        evidence,
    });
}

/// A driver that prints the error by which the core is asked to try again.
fn deferred_in_own_words(message: &str) -> bool {
    message.contains("EPROBE_DEFER") || ends_deferred(message)
}

/// That error at the end of a message.
fn ends_deferred(message: &str) -> bool {
    let end = message.trim_end_matches([')', '.', ']']);
    end.strip_suffix("-517").is_some_and(|b| b.ends_with([' ', '=', '(', ':', '[']))
}

/// `PROBE of DEV returned R after N usecs` (initcall_debug), `DRIVER: probe of DEV
/// failed with error E`. Whether it was one.
fn probe(before: &str, rest: &str, evidence: &Evidence, case: &mut Case) -> bool {
    let Some((device, rest)) = rest.split_once(' ') else { return false };
    let (driver, rest) = match rest.strip_prefix("with driver ") {
        Some(r) => r.split_once(' ').unwrap_or((r, "")),
        None => (before.trim_end_matches(['p', ' ']).trim_end_matches(':'), rest),
    };
    let (outcome, took_us) = if let Some(error) = rest.strip_prefix("failed with error ") {
        let Some(error) = number(error) else { return false };
        (Outcome::Failed(error), None)
    } else if let Some(result) = rest.strip_prefix("returned ") {
        let Some(code) = number(result) else { return false };
        let us = result.split_once(" after ").and_then(|(_, t)| first_word(t).parse().ok());
        let outcome = match code {
            0 => Outcome::Bound,
            -517 => Outcome::Blocked,
            517 => Outcome::Deferred,
            // Positive numbers are errors of the driver.
            n => Outcome::Failed(-n.saturating_abs()),
        };
        (outcome, us)
    } else {
        return false;
    };
    let (device, driver) = (device.to_string(), driver.to_string());
    let evidence = evidence.clone();
    let (asked, part_of) = (None, None);
    case.probes.push(Probe { device, driver, outcome, took_us, asked, part_of, evidence });
    true
}

/// Words of whoever switches a domain, and which way it was to go.
const UNSWITCHED: [(&str, Option<bool>); 10] = [
    ("power-on failed", Some(true)),
    ("power on failed", Some(true)),
    ("failed to power on", Some(true)),
    ("failed to power up", Some(true)),
    ("failed to turn on", Some(true)),
    ("power-off failed", Some(false)),
    ("failed to power off", Some(false)),
    ("failed to power down", Some(false)),
    ("failed to command pgc", None),
    ("failed to get ack on domain", None),
];

/// A domain or a clock that did not switch: `X status stuck at 'off'`, `genpd: X: power-on
/// failed (-110)`, `DRIVER DEVICE: failed to power on domain X`, `failed to set domain 'X' on`.
fn stuck(text: &str, evidence: &Evidence) -> Option<Stuck> {
    let of = |name: &str, on, error| Stuck {
        name: name.to_string(),
        device: head(text).filter(|h| !h.0.is_empty()).map_or(String::new(), |h| h.1.to_string()),
        clock: name.contains("clk"),
        on,
        error,
        told: false,
        evidence: evidence.clone(),
    };
    if let Some((name, state)) = text.split_once(" status stuck at '") {
        let name = name.rsplit(' ').next().unwrap_or(name);
        let name = name.trim_start_matches(['"', '\'', '(', '“', '‘', '*']);
        return Some(of(name, Some(state.starts_with("off")), None));
    }
    // All words below have it, and few other lines.
    if !text.contains("ailed") {
        return None;
    }
    let words = text.to_ascii_lowercase();
    let is_of = |w: &str| words.contains(w);
    if !["domain", "genpd", "gdsc", "pgc"].into_iter().any(is_of) {
        return None;
    }
    let set = || {
        let (_, way) = words.split_once("failed to set domain '")?.1.split_once("' ")?;
        Some(Some(first_word(way) == "on"))
    };
    let on = UNSWITCHED.iter().find(|(w, _)| words.contains(w)).map(|(_, on)| *on).or_else(set)?;
    let quoted = || text.split_once("domain '")?.1.split_once('\'').map(|(name, _)| name);
    let behind = || Some(first_word(text.split_once("genpd: ")?.1).trim_end_matches(':'));
    let last = || {
        let name = first_word(text.split_once(" domain ")?.1).trim_end_matches([':', '.']);
        (!name.is_empty() && name.bytes().any(|b| matches!(b, b'_' | b'-' | b'0'..=b'9')))
            .then_some(name)
    };
    let name = quoted().or_else(behind).or_else(last).unwrap_or("");
    let code =
        text.rsplit([' ', '(', ':', '=']).next().and_then(|w| number(w.trim_end_matches(')')));
    let said = || match first_word(text.split_once("error -")?.1).trim_end_matches(':') {
        "ETIMEDOUT" => Some(-110),
        "EIO" => Some(-5),
        "EINVAL" => Some(-22),
        other => other.parse::<i32>().ok().map(|n| -n),
    };
    Some(of(name, on, code.filter(|n| *n < 0).or_else(said)))
}

/// `PM: X: Power-on latency exceeded, new value N ns`.
fn latency(name: &str, rest: &str, evidence: Evidence, case: &mut Case) {
    let Some((way, value)) = rest.split_once(" latency exceeded, new value ") else { return };
    let Ok(ns) = first_word(value).parse() else { return };
    let domain = name.strip_prefix("PM: ").unwrap_or(name);
    let domain = domain.strip_prefix("genpd: ").unwrap_or(domain).to_string();
    case.latencies.push(Exceeded { domain, off: way == "off", took: Ns(ns), evidence });
}
