//! What woke a machine from s2idle or deep, as the kernel, Android's kernels and firmware
//! tables name it.

use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Confidence, Device, Finding, Level};
use crate::message::Message;

/// What a kernel says of how the wake-up came, of its debug messages
/// (drivers/acpi/sleep.c and drivers/acpi/x86/s2idle.c:acpi_s2idle_wake, 5.4 to 7.3;
/// drivers/pinctrl/pinctrl-amd.c:do_amd_gpio_irq_handler).
const HOW: [(&str, &str); 6] = [
    ("ACPI fixed event wakeup", "an ACPI fixed event (the power button, or the clock)"),
    ("ACPI custom handler wakeup", "a handler that a driver put behind the ACPI interrupt"),
    ("non-EC GPE wakeup", "an ACPI event that is not the embedded controller's"),
    ("Wakeup after ACPI Notify sync", "an ACPI notification (lid, button or battery)"),
    ("ACPI EC GPE wakeup", "the embedded controller"),
    ("Wakeup unrelated to ACPI SCI", ""),
];

/// An interrupt that woke, with its name if the text has one.
struct Irq<'a> {
    number: String,
    name: Option<String>,
    times: usize,
    first: &'a Message,
}

fn digits(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    &text[..end]
}

/// `PM: Triggering wakeup from IRQ 9` (drivers/base/power/wakeup.c:pm_system_irq_wakeup),
/// `IRQ wakeup: IRQ 9`; `Resume caused by IRQ 391, bt_host_wake`
/// (kernel/power/wakeup_reason.c of Android). A patch that is quoted has the format in place
/// of the number.
fn irq(m: &Message) -> Option<(&str, Option<&str>)> {
    if let Some(rest) =
        m.after("Resume caused by IRQ ").or_else(|| m.after("Resume caused by IRQs "))
    {
        let number = digits(rest);
        let name = rest[number.len()..].trim_start_matches([',', ' ']).trim();
        return (!number.is_empty()).then_some((number, Some(name).filter(|n| !n.is_empty())));
    }
    let rest = m.after("Triggering wakeup from IRQ ").or_else(|| m.after("IRQ wakeup: IRQ "))?;
    let number = digits(rest);
    let whole = rest[number.len()..].chars().next().is_none_or(char::is_whitespace);
    (!number.is_empty() && whole).then_some((number, None))
}

/// The owner of an interrupt, where the text shows its row of `/proc/interrupts`: counts of
/// the CPUs, chip, number and kind there, names (kernel/irq/proc.c:show_interrupts).
fn owner(case: &Case, number: &str) -> Option<(String, u64)> {
    case.messages.iter().find_map(|m| {
        let rest = m.text.trim_start().strip_prefix(number)?.strip_prefix(':')?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let counts = words.iter().take_while(|w| w.bytes().all(|b| b.is_ascii_digit())).count();
        let kind = words.iter().position(|w| {
            let w = w.to_ascii_lowercase();
            ["edge", "level", "fasteoi", "msi", "handler"].iter().any(|k| w.ends_with(k))
        })?;
        let name = words[kind + 1..].join(" ");
        (counts > 0 && !name.is_empty()).then_some((name, m.line))
    })
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let mut irqs: Vec<Irq<'_>> = Vec::new();
    let mut how: Vec<(&str, &Message)> = Vec::new();
    let mut gpes: Vec<(String, &Message)> = Vec::new();
    let mut pins: Vec<(String, &Message)> = Vec::new();
    let mut others: Vec<(String, &Message)> = Vec::new();
    for m in &case.messages {
        if let Some((number, name)) = irq(m) {
            match irqs.iter_mut().find(|e| e.number == number) {
                Some(e) => {
                    e.times += 1;
                    e.name = e.name.take().or(name.map(ToString::to_string));
                }
                None => irqs.push(Irq {
                    number: number.to_string(),
                    name: name.map(ToString::to_string),
                    times: 1,
                    first: m,
                }),
            }
        } else if let Some(gpe) = m.after("ACPI: GPE event 0x").or_else(|| m.after("GPE event 0x"))
        {
            let n = gpe.split_whitespace().next().unwrap_or("");
            if !irqs.is_empty() && !gpes.iter().any(|g| g.0[2..] == *n) {
                gpes.push((format!("0x{n}"), m));
            }
        } else if let Some(pin) = m.after("GPIO ").filter(|r| r.contains(" is active")) {
            let pin = digits(pin);
            if !pin.is_empty() && !pins.iter().any(|p| p.0 == pin) {
                pins.push((pin.to_string(), m));
            }
        } else if let Some(rest) = m.after("Resume caused by ").filter(|_| m.trust.is_of_a_kernel())
        {
            others.push((rest.trim().to_string(), m));
        }
        if let Some(h) = HOW.iter().find(|h| m.has(h.0))
            && m.trust.is_of_a_kernel()
            && !how.iter().any(|x| x.0 == h.1)
        {
            how.push((h.1, m));
        }
    }
    reasons(case, &irqs, out);
    how.retain(|h| !h.0.is_empty());
    if irqs.is_empty() && pins.is_empty() && others.is_empty() && how.is_empty() {
        return;
    }
    let mut evidence = lines(irqs.iter().map(|e| e.first));
    evidence.extend(lines(how.iter().map(|h| h.1)));
    evidence.extend(lines(gpes.iter().map(|g| g.1)));
    evidence.extend(lines(pins.iter().map(|p| p.1)));
    evidence.extend(lines(others.iter().map(|p| p.1)));
    let often = |n: usize| if n == 1 { String::new() } else { format!(" ({n} times)") };
    let mut devices = Vec::new();
    let mut named = !pins.is_empty() || !others.is_empty();
    let mut by: Vec<String> = Vec::new();
    for e in &irqs {
        let shown = owner(case, &e.number).filter(|_| e.name.is_none());
        let name = e.name.clone().or(shown.map(|o| o.0));
        named |= name.is_some();
        devices.extend(name.iter().map(|n| Device { name: n.clone(), driver: String::new() }));
        let name = name.map_or(String::new(), |n| format!(" of {n}"));
        by.push(format!("IRQ {}{name}{}", e.number, often(e.times)));
    }
    by.extend(others.iter().map(|o| o.0.clone()));
    let list = |words: &str, all: Vec<String>| match all.len() {
        0 => String::new(),
        _ => format!(" ({words} {})", all.join(", ")),
    };
    let gpe_words = list("GPE", gpes.iter().map(|g| g.0.clone()).collect());
    let pin_words = list("GPIO", pins.iter().map(|p| p.0.clone()).collect());
    // A fixed event is the power button or the clock, a notification a lid or battery.
    let told = how.iter().any(|h| !h.0.contains("not the embedded"));
    let how: Vec<String> = how.iter().map(|h| h.0.to_string()).collect();
    let how = match (how.is_empty(), by.is_empty()) {
        (true, _) => String::new(),
        (false, true) => how.join("; "),
        (false, false) => format!("; {}", how.join("; ")),
    };
    let which = if named || told { "" } else { " Which device raised it is not in the text." };
    let f = Finding::new(("mode-wake-source", Area::Mode, Level::Note), Confidence::Certain)
        .says(format!("Woken by {}{how}{gpe_words}{pin_words}.{which}", by.join(", ")))
        .look("If nobody touched the machine: /proc/acpi/wakeup and the _PRW of the ACPI tables name the device of a GPE; switch its wakeup off to try.")
        .of_devices(devices)
        .shown_by(evidence);
    out.push(f);
}

/// `/sys/kernel/wakeup_reasons/last_resume_reason` of Android: a number and a name a line, or
/// why a sleep was given up.
fn reasons(case: &Case, irqs: &[Irq<'_>], out: &mut Vec<Finding>) {
    for v in case.values.iter().filter(|v| v.name() == "last_resume_reason") {
        let number = digits(&v.value);
        let name = v.value[number.len()..].trim().to_string();
        let known = !number.is_empty() && irqs.iter().any(|e| e.number == number);
        if v.value.is_empty() || known || name.is_empty() {
            continue;
        }
        let text = match number {
            "" => format!("The kernel's last reason to come back was: {name}."),
            n => format!("Woken by IRQ {n} of {name}."),
        };
        let f = Finding::new(("mode-wake-source", Area::Mode, Level::Note), Confidence::Certain)
            .says(text)
            .look("If nobody touched the machine: look at that device's driver, or switch its power/wakeup off to try.")
            .of_devices([Device { name, driver: String::new() }])
            .shown_by([crate::evidence::value(v)]);
        out.push(f);
    }
}
