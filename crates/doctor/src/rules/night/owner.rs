//! Who stands behind an interrupt or an event, as far as the tables of the text prove it, and
//! what a text only claims.

use super::required::{is_pin_controller, of_a_pc};
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Device, Evidence, Finding, Level};
use crate::message::{Message, Trust};
use crate::night::machine::{Hardware, Owner};
use crate::night::report::Report;
use crate::night::{Fact, Item};
use crate::way::{Kind, Step, shown};
use dormouse_base::say;

/// Something resolved: words, the device at its end, and the lines that prove it.
#[derive(Default)]
pub(crate) struct Resolved {
    pub(crate) words: String,
    pub(crate) device: Option<String>,
    pub(crate) evidence: Vec<Evidence>,
}

fn owners(case: &Case) -> impl Iterator<Item = (&Item, &Owner)> {
    case.night.of(|f| match f {
        Fact::Owner(o) => Some(o),
        _ => None,
    })
}

fn hardware(case: &Case) -> impl Iterator<Item = (&Item, &Hardware)> {
    case.night.of(|f| match f {
        Fact::Hardware(h) => Some(h),
        _ => None,
    })
}

/// The last name of a path of ACPI.
fn leaf(path: &str) -> &str {
    path.rsplit(['.', '\\']).next().unwrap_or(path)
}

/// Whether two paths name one node: one is the end of the other.
fn same(a: &str, b: &str) -> bool {
    let plain = |p: &str| p.trim_start_matches('\\').replace("_SB_", "_SB");
    let (a, b) = (plain(a), plain(b));
    a == b || a.ends_with(&format!(".{b}")) || b.ends_with(&format!(".{a}"))
}

/// The node of a GPE, its port and the device behind it.
pub(crate) fn gpe(case: &Case, number: u32) -> Option<Resolved> {
    if let Some((item, _)) = owners(case).find(|o| *o.1 == Owner::EcGpe(number)) {
        return Some(Resolved {
            words: "the embedded controller's".into(),
            device: None,
            evidence: vec![Evidence::from(item)],
        });
    }
    let (item, path) = owners(case).find_map(|(i, o)| match o {
        Owner::Gpe { path, gpe } if *gpe == number => Some((i, path.as_str())),
        _ => None,
    })?;
    let mut r = Resolved {
        words: format!("of {path} by its _PRW"),
        device: Some(path.into()),
        evidence: vec![Evidence::from(item)],
    };
    // Its place on the bus, by its address or by the table of wake devices.
    let by_address = owners(case).find_map(|(i, o)| match o {
        Owner::Address { path: p, address } if same(path, p) => {
            Some((i, format!("00:{:02x}.{:x}", address >> 16, address & 0xffff)))
        }
        _ => None,
    });
    let by_table = || {
        owners(case).find_map(|(i, o)| match o {
            Owner::AcpiWake { name, node, .. } if name == leaf(path) => {
                let address = node.strip_prefix("pci:")?;
                Some((i, address.strip_prefix("0000:").unwrap_or(address).to_owned()))
            }
            _ => None,
        })
    };
    let Some((place, port)) = by_address.or_else(by_table) else { return Some(r) };
    r.evidence.push(Evidence::from(place));
    r.words += &format!(", which is at {port}");
    if let Some((tree, bus, name)) = hardware(case).find_map(|(i, h)| match h {
        Hardware::Bridge { port: p, bus, name } if *p == port => Some((i, bus, name)),
        _ => None,
    }) {
        r.evidence.push(Evidence::from(tree));
        let listed = hardware(case).find_map(|(_, h)| match h {
            Hardware::Pci { address, name } if address.split(':').nth(1) == Some(bus) => Some(name),
            _ => None,
        });
        let what = if name.is_empty() { listed } else { Some(name) };
        let what = what.map_or(String::new(), |n| format!(", {n}"));
        r.words += &format!(": the port above {bus}:00.0{what}");
        r.device = Some(format!("0000:{bus}:00.0"));
    }
    Some(r)
}

/// Chip and names of an interrupt, by `/proc/interrupts`, else by what every PC has there.
pub(crate) fn irq(case: &Case, number: &str, acpi: bool) -> Option<Resolved> {
    let n: u32 = number.parse().ok()?;
    let row = owners(case).find_map(|(i, o)| match o {
        Owner::Interrupt { number, chip, line, names, .. } if *number == n => {
            Some((i, chip, line, names))
        }
        _ => None,
    });
    if let Some((item, chip, line, names)) = row {
        let pins =
            if is_pin_controller(names) { ", a controller of pins: any of them" } else { "" };
        let line = if is_pin_controller(chip) {
            format!("pin {line} of {chip}")
        } else {
            format!("{chip} {line}")
        };
        let mut r = Resolved {
            words: format!("{names} ({line}{pins})"),
            device: Some(names.clone()),
            evidence: vec![Evidence::from(item)],
        };
        if !pins.is_empty() {
            counted_pins(case, &mut r);
        }
        return Some(r);
    }
    // AMD's report looks the name up in that table.
    let told = case.night.of(|f| match f {
        Fact::Report(Report::Woke { number, name } | Report::Triggered { number, name })
            if *number == n && !name.is_empty() =>
        {
            Some(name)
        }
        _ => None,
    });
    if let Some((item, name)) = { told }.next() {
        let pins = if is_pin_controller(name) { ", a controller of pins: any of them" } else { "" };
        return Some(Resolved {
            words: format!("{name} (as the report names it{pins})"),
            device: Some(name.clone()),
            evidence: vec![Evidence::from(item)],
        });
    }
    let known = of_a_pc(number).filter(|_| acpi)?;
    Some(Resolved { words: known.into(), ..Resolved::default() })
}

/// Pins of a controller that counted interrupts, by the rows of their own interrupts.
fn counted_pins(case: &Case, r: &mut Resolved) {
    let rows: Vec<(&Item, &str, &str)> = owners(case)
        .filter_map(|(i, o)| match o {
            Owner::Interrupt { chip, line, names, count, .. }
                if *count > 0 && is_pin_controller(chip) =>
            {
                Some((i, line.as_str(), names.as_str()))
            }
            _ => None,
        })
        .collect();
    match rows[..] {
        [] => {}
        [(item, pin, who)] => {
            r.words += &format!("; the one pin of the table that counted is {pin}, of {who}");
            r.device = Some(who.into());
            r.evidence.push(Evidence::from(item));
        }
        _ => {
            let all: Vec<String> =
                rows.iter().take(4).map(|p| format!("{} of {}", p.1, p.2)).collect();
            r.words += &format!("; pins of the table that counted are {}", all.join(", "));
            r.evidence.extend(rows.iter().take(2).map(|p| Evidence::from(p.0)));
        }
    }
}

/// What the writer says in words of interrupts that woke, quoted, and where.
pub(crate) fn said_of(case: &Case, numbers: &[&str]) -> Option<(String, Evidence)> {
    let names = |sentence: &str| {
        let mut all = sentence.match_indices("IRQ ").map(|m| &sentence[m.0 + 4..]);
        all.any(|rest| {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
            numbers.contains(&&rest[..end])
        })
    };
    // Lines of a kernel without stamps are words too.
    let of_kernel = |s: &str| {
        ["wakeup from IRQ", "IRQ wakeup: ", "Resume caused by"].iter().any(|w| s.contains(w))
    };
    case.night.items.iter().find_map(|i| {
        let Fact::Words(words) = &i.fact else { return None };
        let sentence = words.split_inclusive(". ").find(|s| names(s) && !of_kernel(s))?.trim();
        let end = sentence.floor_char_boundary(QUOTED);
        let cut = if end < sentence.len() { "…" } else { "" };
        let words = format!(
            " No kernel line or table names the device; the writer says: \"{}{cut}\"",
            &sentence[..end]
        );
        Some((words, Evidence { doubtful: true, ..Evidence::from(i) }))
    })
}

/// So near a lid that opens and the kernel's return stand, in ms.
const BESIDE: i64 = 3_000;

/// A lid that was opened, or a button that was pressed, as the machine woke: what probably woke
/// it, in words, and where.
pub(crate) fn opened(case: &Case) -> Option<(String, Evidence)> {
    let steps = &case.way.steps;
    let woke = |s: &Step| {
        let near =
            |b: &&Step| b.kind == Kind::Back && b.run == s.run && (b.ms - s.ms).abs() < BESIDE;
        let asked = |a: &&Step| a.kind == Kind::Sleeps && a.run == s.run && a.ms >= s.ms;
        steps.iter().any(|b| near(&b)) && !steps.iter().any(|a| asked(&a) && a.ms - s.ms < BESIDE)
    };
    let key = |s: &&Step| s.kind == Kind::Opened || s.text.contains("Power key pressed");
    let s = steps.iter().find(|s| key(s) && woke(s))?;
    let words = format!(
        " No kernel line or table names the device; \"{}\" stands beside the wake-up.",
        s.text
    );
    Some((words, shown(s.line, &s.text)))
}

/// Whether the owner of an interrupt is a controller of pins.
pub(crate) fn is_pins(name: &str) -> bool {
    is_pin_controller(name)
}

/// Pins that were armed for wake, in order of the text.
pub(crate) fn armed(case: &Case) -> Vec<u32> {
    let mut out: Vec<u32> = case
        .messages
        .iter()
        .filter_map(|m| {
            let rest = m.after("Setting wake for pin ").filter(|r| r.contains("to enable"))?;
            rest.split(' ').next()?.parse().ok()
        })
        .collect();
    out.sort_unstable();
    out.dedup();
    out
}

pub(crate) fn judge(case: &Case, out: &mut Vec<Finding>) {
    recorded(case, out);
    signalled(case, out);
    storm(case, out);
    claims(case, out);
    armed_nodes(case, out);
}

fn woken(out: &[Finding]) -> bool {
    out.iter().any(|f| f.id == "mode-wake-source")
}

/// `/sys/power/pm_wakeup_irq`: the interrupt of the last wake-up.
fn recorded(case: &Case, out: &mut Vec<Finding>) {
    if woken(out) {
        return;
    }
    let Some((item, n)) = owners(case)
        .filter_map(|(i, o)| match o {
            Owner::WakeupIrq(n) => Some((i, Some(n))),
            Owner::NoWakeupIrq => Some((i, None)),
            _ => None,
        })
        .last()
    else {
        return;
    };
    let Some(n) = n else {
        let f = Finding::new(("wake-unrecorded", Area::Mode, Level::Note), Confidence::Certain)
            .says("The kernel recorded no interrupt of a wake-up: pm_wakeup_irq has no data. Either it has not slept since the start, or it was woken by what raises no interrupt that is armed for wake: the firmware, in a deep sleep. Counts of /proc/interrupts prove no waker.")
            .look("Read it again right after a sleep; echo 1 > /sys/power/pm_debug_messages before it prints each interrupt that comes while the machine sleeps.")
            .shown_by([Evidence::from(item)]);
        out.push(f);
        return;
    };
    let who = irq(case, &n.to_string(), true);
    let words = match &who {
        Some(r) => format!("The last sleep was ended by IRQ {n}: {}.", r.words),
        None => format!(
            "The last sleep was ended by IRQ {n}. Whose that is, /proc/interrupts tells; no line that was read does."
        ),
    };
    let mut f = Finding::new(("mode-wake-source", Area::Mode, Level::Note), Confidence::Certain)
        .says(words)
        .look("If nobody touched the machine: switch the power/wakeup of that device off, to try.")
        .shown_by([Evidence::from(item)]);
    if let Some(r) = who {
        f = f
            .of_devices(r.device.map(|name| Device { name, driver: String::new() }))
            .shown_by(r.evidence);
    }
    out.push(f);
}

/// What a test saw signalled over its sleep.
fn signalled(case: &Case, out: &mut Vec<Finding>) {
    if woken(out) {
        return;
    }
    let all: Vec<(&Item, &str)> = owners(case)
        .filter_map(|(i, o)| match o {
            Owner::Signalled(name) => Some((i, name.as_str())),
            _ => None,
        })
        .collect();
    let mut names: Vec<String> = all.iter().map(|s| s.1.to_string()).collect();
    names.dedup();
    let Some((item, _)) = all.first() else { return };
    let f = Finding::new(("mode-wake-source", Area::Mode, Level::Note), Confidence::Certain)
        .says(format!("Over the sleep the test saw these wakeup sources signalled: {}. One of them may have woken it, or the alarm of the test's own clock.", say::names(&names)))
        .look("ls -l /sys/class/wakeup/*/device names the device of each; 00:0x is one of the mainboard (PNP), often the clock.")
        .of_devices(names.into_iter().map(|name| Device { name, driver: String::new() }))
        .shown_by([Evidence::from(*item)]);
    out.push(f);
}

/// A row of a table of wake nodes: which table, and whether the node is armed.
type Row<'a> = (usize, &'a Item, bool);

/// The nodes that the last table of `/proc/acpi/wakeup` has as armed, each once, and those that
/// were armed in an earlier one alone. A text may show the file again, whole or in part,
/// after a write to it, which turns a device round (drivers/acpi/proc.c:acpi_system_write_wakeup_device).
fn nodes(case: &Case) -> [Vec<(&Item, String)>; 2] {
    let mut list: Vec<(String, Vec<Row<'_>>)> = Vec::new();
    // Rows one below the other are of one table, and there devices without a node may share a name.
    let (mut table, mut last) = (0, 0);
    for (item, owner) in owners(case) {
        let Owner::AcpiWake { name, enabled, node } = owner else { continue };
        table += usize::from(item.line > last + 1);
        last = item.line;
        let named = node.contains(|c: char| c.is_ascii_alphanumeric());
        let who = if named { format!("{name} ({node})") } else { name.clone() };
        match list.iter_mut().find(|l| l.0 == who) {
            Some(l) => l.1.push((table, item, *enabled)),
            None => list.push((who, vec![(table, item, *enabled)])),
        }
    }
    let (mut rows, mut off) = (Vec::new(), Vec::new());
    for (who, said) in list {
        let newest = said.last().map_or(0, |s| s.0);
        let armed = said.iter().find(|s| s.2);
        match said.iter().find(|s| s.0 == newest && s.2) {
            Some(s) => rows.push((s.1, who)),
            None => off.extend(armed.map(|s| (s.1, who))),
        }
    }
    [rows, off]
}

/// Nodes of the firmware that may wake, where nothing else tells of a waker.
fn armed_nodes(case: &Case, out: &mut Vec<Finding>) {
    if out.iter().any(|f| f.id.starts_with("wake-") || f.id == "mode-wake-source") {
        return;
    }
    let [rows, off] = nodes(case);
    let was: Vec<&str> = off.iter().map(|o| o.1.as_str()).collect();
    let was = was.join(", ");
    if rows.is_empty() {
        let shown: Vec<&Item> = off.iter().take(3).map(|o| o.0).collect();
        if let Some(cured) = cured(case, &off) {
            out.push(cured);
        } else if !shown.is_empty() {
            let rule = ("wake-armed", Area::Mode, Level::Note);
            out.push(
                Finding::new(rule, Confidence::Certain)
                    .says(format!("By the last table of /proc/acpi/wakeup these wake the machine no more: {was}. An earlier one has them as armed."))
                    .look("A write to that file lasts until the next start: repeat it there, or switch power/wakeup of the device off by a rule of udev.")
                    .shown_by(shown.into_iter().map(Evidence::from)),
            );
        }
        return;
    }
    let shown: Vec<&str> = rows.iter().take(8).map(|r| r.1.as_str()).collect();
    let more = rows.len() - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let off = match off.len() {
        0 => String::new(),
        _ => format!(" An earlier table has {was} as armed too, the last one not."),
    };
    let list = format!(
        "These may wake the machine, by /proc/acpi/wakeup: {}{more}.{off}",
        shown.join(", ")
    );
    let undo = "The same command again: it toggles.";
    let risk = "That device wakes the machine no more.";
    let tried = rows.iter().find_map(|r| {
        let name = r.1.split(' ').next().unwrap_or_default();
        tried(case, name).map(|(m, said)| (r.0, name, m, said))
    });
    out.push(match tried {
        Some((item, name, m, said)) => {
            Finding::new(("wake-armed", Area::Mode, Level::Risk), Confidence::Guess)
                .says(format!("{name} wakes the machine, by what the writer tried: \"{said}\". {list}"))
                .change(
                    format!("Keep {name} off: echo {name} > /proc/acpi/wakeup at each start, or power/wakeup of its device by a rule of udev. dormouse search wakeup finds which device below it is the one."),
                    undo,
                    risk,
                )
                .shown_by([Evidence::from(item)].into_iter().chain(lines([m])))
        }
        None => Finding::new(("wake-armed", Area::Mode, Level::Note), Confidence::Certain)
            .says(format!("{list} Whether one of them did, the text does not prove."))
            .change(
                "Switch one off at a time: echo NAME > /proc/acpi/wakeup; or let dormouse search wakeup find it.",
                undo,
                risk,
            )
            .shown_by(rows.iter().take(3).map(|r| Evidence::from(r.0))),
    });
}

/// A node that was switched off below a sentence of the writer that this mends it: that node woke
/// the machine, by his word.
fn cured(case: &Case, off: &[(&Item, String)]) -> Option<Finding> {
    const MENDS: [&str; 8] =
        ["fix", "fixes", "fixed", "solve", "solves", "solved", "cures", "helps"];
    const WHAT: [&str; 6] = ["this", "these", "it", "following", "steps", "command"];
    const UNSURE: [&str; 9] =
        ["not", "if", "would", "should", "maybe", "might", "hope", "until", "never"];
    const BELOW: u64 = 20;
    let mends = |m: &&Message| {
        let lower = m.text.to_ascii_lowercase();
        let words = || lower.split(|c: char| !c.is_ascii_alphanumeric());
        let has = |list: &[&str]| words().any(|w| list.contains(&w));
        let sure = !has(&UNSURE) && !lower.contains(['?', '\u{2019}']) && !lower.contains("n't");
        let told = has(&MENDS) && has(&WHAT) && sure;
        m.trust == Trust::Prose && told
    };
    let written = |name: &str| {
        case.night.items.iter().find(|i| {
            let writes = |c: &str| {
                let words = || c.split([' ', '"', '\'']);
                c.contains("/proc/acpi/wakeup")
                    && words().any(|w| w == "echo")
                    && words().any(|w| w == name)
            };
            matches!(&i.fact, Fact::Command(c) if writes(c))
        })
    };
    let [(item, who)] = off else { return None };
    let name = who.split(' ').next().unwrap_or_default();
    let write = written(name)?;
    let above = |m: &&Message| m.line < write.line && m.line + BELOW >= write.line;
    let said = case.messages.iter().rfind(|m| mends(m) && above(m))?;
    let words: String =
        said.text.trim().trim_end_matches(['.', ':']).chars().take(QUOTED).collect();
    Some(
        Finding::new(("wake-armed", Area::Mode, Level::Risk), Confidence::Guess)
            .says(format!("{who} woke the machine, by what the writer tried: \"{words}\", and below that he switches it off in /proc/acpi/wakeup."))
            .look("A write to that file lasts until the next start: repeat it there, or switch power/wakeup of the device off by a rule of udev.")
            .shown_by([Evidence::from(*item)])
            .shown_by(lines([said]))
            .shown_by([Evidence::from(write)]),
    )
}

/// The sentence in which a writer says that with a source switched off the machine stays asleep.
fn tried<'a>(case: &'a Case, name: &str) -> Option<(&'a Message, &'a str)> {
    const HELPS: [&str; 8] = [
        "stays asleep",
        "no longer wakes",
        "sleeps fine",
        "does not wake",
        "doesn't wake",
        "stopped waking",
        "stays suspended",
        "sleeps through",
    ];
    let named = |s: &str| s.split(|c: char| !c.is_ascii_alphanumeric()).any(|w| w == name);
    case.messages.iter().filter(|m| m.trust == Trust::Prose && named(&m.text)).find_map(|m| {
        let of = |s: &&str| {
            let lower = s.to_ascii_lowercase();
            named(s) && HELPS.iter().any(|w| lower.contains(w)) && !s.contains('?')
        };
        m.text.split(". ").find(of).map(|s| (m, s.trim().trim_end_matches('.')))
    })
}

/// So many more interrupts than of any other line make a storm, and so many at all.
const STORM: u64 = 100;
const MANY: u64 = 100_000;

/// Whether an interrupt stays raised until somebody handles what is behind it, and so can
/// come without end: that of pins or of ACPI. A message of a busy disk or card is its work.
fn can_storm(line: &str, names: &str) -> bool {
    let line = line.to_ascii_lowercase();
    (line.ends_with("fasteoi") || line.ends_with("level"))
        && (is_pin_controller(names) || names.split(", ").any(|n| n == "acpi"))
}

/// Whether an interrupt is of a device that ACPI alone names, such as `ABCD0123:00` (drivers/acpi/
/// scan.c:acpi_device_set_name, 6.12), on a line that stays raised until somebody handles it. Buses
/// and cards that are busy have names that their drivers gave them.
fn may_storm(chip: &str, line: &str, names: &str) -> bool {
    let level = line.ends_with("fasteoi") || line.ends_with("level");
    let of_acpi = names.split_once(':').is_some_and(|(id, number)| {
        let (vendor, product) = id.split_at_checked(id.len().saturating_sub(4)).unwrap_or_default();
        number.len() == 2
            && number.bytes().all(|b| b.is_ascii_hexdigit())
            && (3..=4).contains(&vendor.len())
            && vendor.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
            && product.bytes().all(|b| b.is_ascii_hexdigit())
    });
    chip.contains("IO-APIC") && level && of_acpi
}

/// One interrupt that came far more often than all others.
fn storm(case: &Case, out: &mut Vec<Finding>) {
    let mut rows: Vec<(u64, &Item, u32, &str, [bool; 2])> = owners(case)
        .filter_map(|(i, o)| match o {
            Owner::Interrupt { number, names, count, line, chip } => {
                let can = [can_storm(line, names), may_storm(chip, line, names)];
                Some((*count, i, *number, names.as_str(), can))
            }
            _ => None,
        })
        .collect();
    rows.sort_by_key(|r| std::cmp::Reverse(r.0));
    let [(most, item, number, names, can), next, ..] = rows[..] else { return };
    if most < MANY || most / next.0.max(1) < STORM || can == [false; 2] {
        return;
    }
    if !can[0] {
        let f = Finding::new(("wake-storm", Area::Mode, Level::Note), Confidence::Guess)
            .says(format!("IRQ {number} of {names} came {} times, more than {STORM} times as often as any other line of the table. If nobody uses what is behind it, it storms, and an interrupt that is pending ends a sleep at once.", say::grouped(most)))
            .look("Watch whether the count grows while the machine is idle: watch -d cat /proc/interrupts. Unbind its driver to try.")
            .of_devices([Device { name: names.into(), driver: String::new() }])
            .shown_by([Evidence::from(item), Evidence::from(next.1)]);
        out.push(f);
        return;
    }
    let pins = if is_pin_controller(names) {
        " It is a controller of pins; /sys/kernel/debug/gpio and the devices behind it tell which pin."
    } else {
        ""
    };
    let f = Finding::new(("wake-storm", Area::Mode, Level::Risk), Confidence::Likely)
        .says(format!("IRQ {number} of {names} came {} times, more than {STORM} times as often as any other line of the table: an interrupt storm.{pins} An interrupt that is pending ends a sleep at once; that it ended this one, {}.", say::grouped(most), if claimed(case, number) { "the text says in words alone" } else { "no line that was read says" }))
        .look("Mask the wakeup of the devices at that line one at a time (power/wakeup), or unbind their driver, and watch whether the count stands.")
        .of_devices([Device { name: names.into(), driver: String::new() }])
        .shown_by([Evidence::from(item), Evidence::from(next.1)]);
    out.push(f);
}

/// Whether the writer names this interrupt as what wakes.
fn claimed(case: &Case, number: u32) -> bool {
    let names = [format!("irq {number}"), format!("interrupt {number}"), format!("irq{number}")];
    owners(case).any(|(i, o)| {
        let text = i.text.to_lowercase();
        *o == Owner::Claim && names.iter().any(|n| text.contains(n.as_str()))
    })
}

/// What the writer says woke the machine, where no line of a kernel does.
fn claims(case: &Case, out: &mut Vec<Finding>) {
    let known = ["mode-wake-source", "wake-storm"];
    if out.iter().any(|f| known.contains(&f.id)) {
        return;
    }
    let said: Vec<&Item> = owners(case).filter(|o| *o.1 == Owner::Claim).map(|o| o.0).collect();
    let Some(first) = said.first() else { return };
    let mut evidence: Vec<Evidence> = said.iter().take(2).map(|i| Evidence::from(*i)).collect();
    evidence.iter_mut().for_each(|e| e.doubtful = true);
    let quoted: String = first.text.chars().take(QUOTED).collect();
    let more = if quoted.len() < first.text.len() { "…" } else { "" };
    let f = Finding::new(("wake-claimed", Area::Mode, Level::Note), Confidence::Guess)
        .says(format!("Not proven: the writer says \"{quoted}{more}\" No line of a kernel in the text shows what woke the machine."))
        .look("Let the kernel say it: echo 1 > /sys/power/pm_debug_messages before the sleep; after it the log and /sys/power/pm_wakeup_irq name the interrupt.")
        .shown_by(evidence);
    out.push(f);
}

/// So many letters of a claim are quoted.
const QUOTED: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::night::Night;

    fn case(facts: Vec<Fact>) -> Case {
        let items = (1..)
            .zip(facts)
            .map(|(line, fact)| Item { line, text: format!("line {line}"), fact })
            .collect();
        Case { night: Night { items, ..Night::default() }, ..Case::default() }
    }

    fn row(number: u32, names: &str, count: u64) -> Fact {
        Fact::Owner(Owner::Interrupt {
            number,
            chip: "IO-APIC".into(),
            line: format!("{number}-fasteoi"),
            names: names.into(),
            count,
        })
    }

    #[test]
    fn a_gpe_is_followed_down_to_the_device_behind_its_port() {
        let c = case(vec![
            Fact::Owner(Owner::Gpe { path: "\\_SB.PCI0.RP07".into(), gpe: 0x6a }),
            Fact::Owner(Owner::Address { path: "RP07".into(), address: 0x001c_0006 }),
            Fact::Hardware(Hardware::Bridge {
                port: "00:1c.6".into(),
                bus: "3b".into(),
                name: "Vendor Card".into(),
            }),
        ]);
        let r = gpe(&c, 0x6a).expect("resolved");
        assert_eq!(r.device.as_deref(), Some("0000:3b:00.0"));
        assert!(r.words.contains("RP07") && r.words.contains("Vendor Card"), "{}", r.words);
        assert!(gpe(&c, 0x07).is_none());
        let by_table = case(vec![
            Fact::Owner(Owner::Gpe { path: "XHC9".into(), gpe: 0x0d }),
            Fact::Owner(Owner::AcpiWake {
                name: "XHC9".into(),
                enabled: true,
                node: "pci:0000:00:0d.0".into(),
            }),
        ]);
        assert!(gpe(&by_table, 0x0d).expect("resolved").words.contains("at 00:0d.0"));
    }

    #[test]
    fn interrupts_have_the_names_of_their_table_and_storms_are_told() {
        let c = case(vec![row(7, "INT34C6:00", 3_000_000), row(16, "idma64.0", 12)]);
        assert!(irq(&c, "7", false).expect("resolved").words.contains("controller of pins"));
        assert!(irq(&c, "1", false).is_none() && irq(&c, "1", true).is_some());
        let mut out = Vec::new();
        judge(&c, &mut out);
        assert_eq!(out[0].id, "wake-storm");
        out.clear();
        judge(&case(vec![row(7, "INT34C6:00", 3_000_000), row(16, "idma64.0", 90_000)]), &mut out);
        assert!(out.is_empty());
        judge(&case(vec![row(7, "ELMX0007:00", 3_000_000), row(16, "idma64.0", 12)]), &mut out);
        assert_eq!((out[0].id, out[0].confidence), ("wake-storm", Confidence::Guess));
        out.clear();
        for busy in ["oak_hcd:usb1", "elm0", "elm:00", "ELMX0007:00, oak"] {
            judge(&case(vec![row(7, busy, 3_000_000), row(16, "idma64.0", 12)]), &mut out);
            assert!(out.is_empty(), "{busy}: {out:?}");
        }
    }

    #[test]
    fn a_claim_stays_one() {
        let mut out = Vec::new();
        judge(&case(vec![Fact::Owner(Owner::Claim)]), &mut out);
        assert_eq!((out[0].id, out[0].confidence), ("wake-claimed", Confidence::Guess));
        assert!(out[0].sentence.starts_with("Not proven"));
    }
}
