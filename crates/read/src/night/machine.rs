//! Tables that name who stands behind an interrupt or an event: /proc/interrupts,
//! /proc/acpi/wakeup, disassembled ACPI tables, lspci.

use super::count::{alone, number};
use dormouse_doctor::night::Fact;
use dormouse_doctor::night::machine::{Hardware, Owner};

/// A row of `/proc/interrupts`: number, counts of CPUs, chip, line, names
/// (kernel/irq/proc.c:show_interrupts, 6.12).
fn interrupt(text: &str) -> Option<Owner> {
    let (n, rest) = number(text.trim_start_matches(['*', ' ']))?;
    let rest = rest.strip_prefix(':')?;
    // Who cuts counts out leaves dots.
    let cut = |w: &&str| !w.is_empty() && w.trim_matches(['.', '…', '[', ']', '<', '>']).is_empty();
    let words: Vec<&str> = rest
        .split_whitespace()
        .map(|w| w.trim_matches('*'))
        .filter(|w| !w.is_empty() && !cut(w))
        .collect();
    let counts = words.iter().take_while(|w| w.bytes().all(|b| b.is_ascii_digit())).count();
    // The kernel counts an interrupt of a CPU in 32 bits.
    let count = words[..counts].iter().filter_map(|w| w.parse::<u32>().ok()).map(u64::from).sum();
    let (chip, rest) = words[counts..].split_first()?;
    let is_chip = chip.len() > 2
        && !chip.ends_with(':')
        && chip.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_:.".contains(&b))
        && chip.starts_with(|c: char| c.is_ascii_alphabetic());
    if counts == 0 || !is_chip {
        return None;
    }
    let trigger = |w: &str| {
        let w = w.to_ascii_lowercase();
        ["edge", "level", "fasteoi", "handler"]
            .iter()
            .any(|k| w == *k || w.ends_with(&format!("-{k}")))
    };
    // The number of the line, then perhaps how it triggers, then the names.
    let mut names = rest.iter().skip_while(|w| w.bytes().all(|b| b.is_ascii_digit()) || trigger(w));
    let line = rest.first().map_or("", |w| *w);
    let is_line = line.starts_with(|c: char| c.is_ascii_digit()) || trigger(line);
    let first = names.next()?;
    let names: Vec<&str> = std::iter::once(*first).chain(names.copied()).collect();
    let number = u32::try_from(n).ok()?;
    is_line.then(|| Owner::Interrupt {
        number,
        chip: (*chip).into(),
        line: line.into(),
        names: names.join(" "),
        count,
    })
}

/// `GPP6   S4 *enabled   pci:0000:00:02.2` (drivers/acpi/proc.c).
fn acpi_wake(text: &str) -> Option<Owner> {
    let mut words = text.split_whitespace();
    let (name, state) = (words.next()?, words.next()?);
    let is = name.len() <= 5
        && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
        && state.len() == 2
        && state.starts_with('S')
        && state.as_bytes()[1].is_ascii_digit();
    let status = words.next().filter(|_| is)?.trim_start_matches('*');
    if !matches!(status, "enabled" | "disabled") {
        return None;
    }
    Some(Owner::AcpiWake {
        name: name.into(),
        enabled: status == "enabled",
        node: words.next().unwrap_or("").into(),
    })
}

/// Whether a text is the address of a PCI device: `53:00.0`, `0000:53:00.0`, `10000:e1:00.0`.
pub(crate) fn is_address(word: &str) -> bool {
    let Some((rest, function)) = word.rsplit_once('.') else { return false };
    let parts: Vec<&str> = rest.split(':').collect();
    let hex = |s: &&str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_hexdigit());
    let ok = match parts[..] {
        [bus, device] => bus.len() == 2 && device.len() == 2,
        [domain, bus, device] => domain.len() >= 4 && bus.len() == 2 && device.len() == 2,
        _ => false,
    };
    ok && parts.iter().all(hex)
        && function.len() == 1
        && function.bytes().all(|b| b.is_ascii_digit())
}

/// An address with its domain.
pub(crate) fn whole(address: &str) -> String {
    if address.matches(':').count() == 1 { format!("0000:{address}") } else { address.into() }
}

/// `53:00.0 SD Host controller: Vendor Device` of `lspci`.
fn pci(text: &str) -> Option<Hardware> {
    let text = text.trim_start_matches(['*', '-', ' ']);
    let (address, name) = text.split_once(' ')?;
    let class = name.split_once(':')?.0;
    let is_name = name.starts_with(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit())
        && class.split_whitespace().count() <= 6;
    (is_address(address) && is_name)
        .then(|| Hardware::Pci { address: whole(address), name: name.trim().into() })
}

/// `+-1c.0-[53]----00.0`, `-[0000:00]-+-01.0-[01-03]--+-00.0`, `\-02.2-[03]----00.0  Vendor
/// Device` of `lspci -t` and `-vt`.
fn bridge(text: &str) -> Option<Hardware> {
    let at = text.match_indices("-[").map(|m| m.0).find(|&at| {
        at >= 4
            && text.as_bytes()[at - 2] == b'.'
            && text[..at].ends_with(|c: char| c.is_ascii_digit())
    })?;
    let port = text.get(at - 4..at)?;
    let (bus, rest) = text[at + 2..].split_once(']')?;
    let bus = bus.split('-').next()?;
    let hex = |s: &str| s.bytes().all(|b| b.is_ascii_hexdigit());
    let is = hex(port.get(..2)?) && bus.len() == 2 && hex(bus);
    let name = rest.trim_start_matches(['-', '+', ' ', '\\']);
    let name = name.split_once("  ").map_or("", |n| n.1).trim();
    is.then(|| Hardware::Bridge { port: format!("00:{port}"), bus: bus.into(), name: name.into() })
}

/// What ACPI source says, over lines.
#[derive(Default)]
pub(crate) struct Asl {
    /// Names of scopes and devices that are open, with the depth of braces they began at.
    open: Vec<(String, usize)>,
    depth: usize,
    /// A `_PRW` began so many lines ago.
    wake: Option<usize>,
}

/// A method's first number stands within so many lines.
const NEAR: usize = 14;

impl Asl {
    fn path(&self) -> String {
        let mut path = String::new();
        for (name, _) in &self.open {
            let name = name.as_str();
            if name.starts_with('\\') || path.is_empty() || name.starts_with("_SB") {
                path = name.into();
            } else {
                path = format!("{path}.{name}");
            }
        }
        path
    }

    /// Reads a line.
    pub(crate) fn line(&mut self, text: &str) -> Option<Owner> {
        if self.open.is_empty() && !text.contains("Scope") && !text.contains("Device") {
            return None;
        }
        let text = text.split("//").next().unwrap_or(text);
        for word in ["Scope", "Device"] {
            let name = text.trim_start().strip_prefix(word).map(str::trim_start);
            if let Some(name) =
                name.and_then(|n| n.strip_prefix('(')).and_then(|n| n.split(')').next())
            {
                let name = name.split(',').next().unwrap_or(name).trim();
                let depth = self.depth;
                self.open.retain(|o| o.1 < depth);
                self.open.push((name.into(), self.depth));
                self.wake = None;
            }
        }
        let mut found = None;
        let path = self.path();
        if text.contains("_PRW") {
            self.wake = Some(0);
        }
        if let Some(since) = self.wake {
            let body = text.split_once("_PRW").map_or(text, |t| t.1);
            if let Some(gpe) = gpe_of(body) {
                self.wake = None;
                found = (!path.is_empty()).then_some(Owner::Gpe { path: path.clone(), gpe });
            } else {
                self.wake = (since < NEAR).then_some(since + 1);
            }
        } else if let Some((_, rest)) = text.split_once("_ADR,") {
            let address = number(rest.trim_start()).and_then(|n| u32::try_from(n.0).ok());
            found = address
                .filter(|_| !path.is_empty())
                .map(|address| Owner::Address { path, address });
        }
        for c in text.chars() {
            match c {
                '{' => self.depth += 1,
                '}' => {
                    self.depth = self.depth.saturating_sub(1);
                    let depth = self.depth;
                    self.open.retain(|o| o.1 < depth);
                }
                _ => {}
            }
        }
        found
    }
}

/// The number of the GPE in a `_PRW`: the first of its package, or the argument of the method
/// that firmware of many makers calls `GPRW`.
fn gpe_of(text: &str) -> Option<u32> {
    if let Some((_, rest)) = text.split_once("PRW (") {
        return u32::try_from(number(rest.trim_start())?.0).ok();
    }
    // `Package (0x02) {0x0E, 0x04}`: the size of the package is no event.
    let rest = match text.split_once("Package") {
        Some((_, r)) => r.split_once('{')?.1,
        None => text,
    };
    let rest = rest.trim_start_matches(['{', ' ', '\t']);
    let (n, rest) = rest.starts_with("0x").then(|| number(rest)).flatten()?;
    rest.trim_start().starts_with(',').then(|| u32::try_from(n).ok()).flatten()
}

/// `ACPI: EC: GPE=0x17`, `EC GPE = 0x17` in words.
fn ec(text: &str) -> Option<Owner> {
    let rest = ["EC: GPE=", "EC GPE=", "EC GPE: "].iter().find_map(|w| text.split_once(w))?.1;
    u32::try_from(number(rest.trim_start())?.0).ok().map(Owner::EcGpe)
}

/// `pm_wakeup_irq: 9`, `/sys/power/pm_wakeup_irq:9`.
fn wakeup_irq(text: &str) -> Option<Owner> {
    let (_, rest) = text.split_once("pm_wakeup_irq")?;
    // Of `cat`, in English.
    if rest.trim_start_matches(['\'', ':']).trim() == "No data available" {
        return Some(Owner::NoWakeupIrq);
    }
    let rest = rest.trim_start_matches([':', '=', ' ', '\t']);
    let said = ["is ", "reads ", "shows ", "says "].iter().find_map(|w| rest.strip_prefix(w));
    let (n, rest) = number(said.unwrap_or(rest))?;
    // A sentence may go on behind it, a row of a table does not.
    let goes_on = said.is_some() && rest.starts_with([' ', ',', '.', ';', ')']);
    (goes_on || rest.trim_end_matches('.').trim().is_empty())
        .then(|| u32::try_from(n).ok())
        .flatten()
        .map(Owner::WakeupIrq)
}

/// `wakeup source name: "00:04" wakeup event was signaled.` of fwts.
fn signalled(text: &str) -> Option<Owner> {
    let (_, rest) = text.split_once("wakeup source name: \"")?;
    let (name, rest) = rest.split_once('"')?;
    rest.contains("signal").then(|| Owner::Signalled(name.into()))
}

/// Who owns something, by one line.
pub(crate) fn owner(text: &str) -> Option<Owner> {
    interrupt(text)
        .or_else(|| acpi_wake(text))
        .or_else(|| ec(text))
        .or_else(|| wakeup_irq(text))
        .or_else(|| signalled(text))
}

/// A device of a hardware list, by one line.
pub(crate) fn hardware(text: &str) -> Option<Hardware> {
    let aspm = |text: &str| {
        let (_, rest) = text.split_once("LnkCtl:")?;
        let state = rest.trim_start().strip_prefix("ASPM ")?;
        let enabled = !state.starts_with("Disabled");
        Some(Hardware::Aspm { address: String::new(), enabled })
    };
    bridge(text).or_else(|| pci(text)).or_else(|| aspm(text))
}

/// What a file of one number says.
pub(crate) fn of_file(file: &str, text: &str) -> Option<Fact> {
    let n = alone(text)?;
    let irq = file.ends_with("pm_wakeup_irq");
    irq.then(|| u32::try_from(n).ok()).flatten().map(|n| Fact::Owner(Owner::WakeupIrq(n)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_interrupts_have_chip_and_names_in_every_form() {
        for (row, want) in [
            (
                "  14:   100   23   IO-APIC   14-fasteoi   INT3450:00",
                (14, "IO-APIC", "14-fasteoi", "INT3450:00", 123),
            ),
            (
                " **7:  5  IR-IO-APIC    7-fasteoi   pinctrl_amd**",
                (7, "IR-IO-APIC", "7-fasteoi", "pinctrl_amd", 5),
            ),
            (" 130:  0  3  amd_gpio   9  SYNA2BA6:00", (130, "amd_gpio", "9", "SYNA2BA6:00", 3)),
            ("  9: 4 0 ... 12 elm_gpio 17 OAK0001:00", (9, "elm_gpio", "17", "OAK0001:00", 16)),
            ("  85:  12  GICv3  74 Level     qcom-wcn", (85, "GICv3", "74", "qcom-wcn", 12)),
            (
                " 126: 9 0 PCI-MSI 327680-edge xhci_hcd",
                (126, "PCI-MSI", "327680-edge", "xhci_hcd", 9),
            ),
            (
                " 16: 1 IO-APIC 16-fasteoi idma64.0, i801_smbus",
                (16, "IO-APIC", "16-fasteoi", "idma64.0, i801_smbus", 1),
            ),
        ] {
            let Some(Owner::Interrupt { number, chip, line, names, count }) = interrupt(row) else {
                panic!("{row}")
            };
            assert_eq!((number, chip.as_str(), line.as_str(), names.as_str(), count), want);
        }
        for none in
            ["12: see above", "NMI: 5 7 Non-maskable interrupts", "3: 4 5", "10:23:45 5 words"]
        {
            assert_eq!(interrupt(none), None, "{none}");
        }
    }

    #[test]
    fn wake_tables_are_read() {
        assert_eq!(
            acpi_wake("XHC1\t  S3\t*enabled   pci:0000:00:14.0"),
            Some(Owner::AcpiWake {
                name: "XHC1".into(),
                enabled: true,
                node: "pci:0000:00:14.0".into()
            })
        );
        assert_eq!(acpi_wake("It S3 enabled"), None);
        assert_eq!(wakeup_irq("/sys/power/pm_wakeup_irq:51"), Some(Owner::WakeupIrq(51)));
        let said = "pm_wakeup_irq reads 51, which is the pins";
        assert_eq!(wakeup_irq(said), Some(Owner::WakeupIrq(51)));
        assert_eq!(wakeup_irq("pm_wakeup_irq: 51 of 60"), None);
        let none = "cat: /sys/power/pm_wakeup_irq: No data available";
        assert_eq!(wakeup_irq(none), Some(Owner::NoWakeupIrq));
        assert_eq!(wakeup_irq("cat pm_wakeup_irq"), None);
        assert_eq!(
            owner("wakeup source name: \"00:07\" wakeup event was signaled."),
            Some(Owner::Signalled("00:07".into()))
        );
    }

    #[test]
    fn trees_name_the_bus_below_a_port() {
        let of = |t: &str| match hardware(t) {
            Some(Hardware::Bridge { port, bus, name }) => Some((port, bus, name)),
            _ => None,
        };
        let is = |p: &str, b: &str, n: &str| Some((p.to_string(), b.to_string(), n.to_string()));
        assert_eq!(of("           +-1d.4-[6e]----00.0"), is("00:1d.4", "6e", ""));
        assert_eq!(of("-[0000:00]-+-01.0-[01-03]--+-00.0"), is("00:01.0", "01", ""));
        assert_eq!(
            of("  +-02.1-[02]----00.0  Some Vendor A Thing"),
            is("00:02.1", "02", "Some Vendor A Thing")
        );
        assert_eq!(of("-[0000:00]-+-00.0  A bridge"), None);
        assert_eq!(
            hardware("6e:00.0 Network controller: V X1 (rev 2)"),
            Some(Hardware::Pci {
                address: "0000:6e:00.0".into(),
                name: "Network controller: V X1 (rev 2)".into()
            })
        );
    }

    #[test]
    fn a_wake_method_ties_its_node_to_an_event() {
        let read = |text: &str| {
            let mut asl = Asl::default();
            text.lines().filter_map(|l| asl.line(l)).collect::<Vec<_>>()
        };
        let long = "Scope (\\_SB.PCI0.RP09)\n{\n ...\n Method (_PRW, 0, NotSerialized) // wakes\n {\n  Return (Package (0x02)\n  {\n   0x6D,\n   0x04\n  })\n }\n}\nDevice (RP09)\n{\n Name (_ADR, 0x001D0000) // x\n}";
        assert_eq!(
            read(long),
            [
                Owner::Gpe { path: "\\_SB.PCI0.RP09".into(), gpe: 0x6d },
                Owner::Address { path: "RP09".into(), address: 0x1d_0000 }
            ]
        );
        let short = "Device (XHC)\n{\n Name (_PRW, Package (0x02) { 0x19, 0x03 })\n}";
        assert_eq!(read(short), [Owner::Gpe { path: "XHC".into(), gpe: 0x19 }]);
        let called = "Device (LID0)\n{\n Method (_PRW, 0, NotSerialized)\n {\n Return (GPRW (0x1F, 0x03))\n }\n}";
        assert_eq!(read(called), [Owner::Gpe { path: "LID0".into(), gpe: 0x1f }]);
        let nested = "Scope (_SB.PCI0)\n{\n Device (GP9)\n {\n  Method (_PRW)\n  {\n   Return (GPRW (0x8, 0x4))\n  }\n }\n}";
        assert_eq!(read(nested), [Owner::Gpe { path: "_SB.PCI0.GP9".into(), gpe: 8 }]);
    }
}
