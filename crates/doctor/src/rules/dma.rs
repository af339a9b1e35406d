//! Devices whose access to memory an IOMMU refuses, beside the sleeps of a text: who loses its
//! tables over a sleep, or goes on while its memory is no longer its own.

use super::beside::{Beside, near_sleeps};
use crate::case::Case;
use crate::evidence::lines;
use crate::finding::{Area, Device, Finding};
use crate::message::Message;
use dormouse_base::say;

/// What an IOMMU prints of an access that it refuses: the words, and those in front of the device.
/// drivers/iommu/intel/dmar.c:dmar_fault_do_one (`DMAR: [DMA Read NO_PASID] Request device
/// [3a:00.0] …`; before 4.10 `DMAR:[DMA Read] …`), drivers/iommu/amd/iommu.c:
/// amd_iommu_report_page_fault and iommu_print_event (in front of the message its device from 5.2
/// on), 3.15 to 7.3. An SMMU of Arm prints streams, which name no device
/// (drivers/iommu/arm/arm-smmu/arm-smmu.c:arm_smmu_context_fault).
const SIGNS: [(&str, &str); 3] = [
    ("Request device [", "Request device ["),
    ("[IO_PAGE_FAULT ", "device="),
    ("Unhandled context fault: ", ""),
];

/// The device of such a message, as far as it names one.
fn device(m: &Message) -> Option<Device> {
    let (_, before) = SIGNS.iter().find(|(words, _)| m.has(words))?;
    // An interrupt that is refused is no access to memory, and comes at each resume of some healthy
    // machines: `[INTR-REMAP] Request device [f0:1f.0] fault index 0 [fault reason 37] …`.
    if m.has("Request device [") && (!m.has("fault reason ") || m.has("[INTR-REMAP]")) {
        return None;
    }
    let is = |c: char| c.is_ascii_hexdigit() || c == ':' || c == '.';
    let behind = m.text.split_once(before).filter(|_| !before.is_empty());
    let name = behind.map(|(_, rest)| rest.split(|c| !is(c)).next().unwrap_or_default());
    if let Some(name) = name.filter(|n| n.contains(':')) {
        return Some(Device { name: name.into(), ..Device::default() });
    }
    // `elmgpu 0000:0a:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=…`.
    let head = m.text.split_once(": AMD-Vi: ").map(|(head, _)| head);
    let words = head.and_then(|head| head.rsplit_once(' '));
    Some(words.map_or(Device::default(), |(driver, name)| Device {
        name: name.into(),
        driver: driver.rsplit(' ').next().unwrap_or_default().into(),
    }))
}

pub(super) fn judge(case: &Case, out: &mut Vec<Finding>) {
    let words = SIGNS.map(|s| s.0);
    let said = case.messages.having_any(&words).filter(|(_, m)| m.trust.is_of_a_kernel());
    let said = said.filter_map(|(at, m)| {
        let Device { name, driver } = device(m)?;
        Some((at, m, (name, driver)))
    });
    for ((name, driver), told) in near_sleeps(case, said.collect()) {
        out.push(found(Device { name, driver }, &told));
    }
}

/// The finding of one device.
fn found(device: Device, told: &Beside<'_>) -> Finding {
    let who = match device.name.is_empty() {
        true => "a device that the line does not name".into(),
        false => say::device(&device),
    };
    let often = told.all.len();
    let times = if often > 1 { format!(" {often} times") } else { String::new() };
    let (level, sure) = told.weight();
    let f = Finding::new(("dma-fault", Area::Phase, level), sure)
        .says(format!(
            "The IOMMU refused {who} an access to memory{times}{}: \"{}\".{}",
            told.place.words(),
            told.shown.text.trim(),
            told.earlier()
        ))
        .because("Either the device went on with what it did before its driver was ready, or its tables are not those of before the sleep: no line says which.")
        .look("Look whether the device works afterwards; who maintains its driver wants these lines. Its name: lspci -s BUS:DEVICE.FUNCTION.")
        .times(often)
        .of_devices((!device.name.is_empty()).then_some(device))
        .shown_by(lines([told.shown]));
    told.place.mark(f)
}

#[cfg(test)]
mod tests {
    use super::super::beside;
    use super::*;
    use crate::finding::Level;

    fn told(before: &[&str], behind: &[(i64, &str)]) -> Vec<(Level, String)> {
        beside::told(judge, before, behind)
    }

    #[test]
    fn an_access_that_is_refused_behind_a_sleep_is_a_risk_of_its_device() {
        for (line, who) in [
            (
                "DMAR: [DMA Read NO_PASID] Request device [0b:00.0] fault addr 0xfffe0000 [fault reason 0x06] PTE Read access is not set",
                "refused 0b:00.0 an access",
            ),
            (
                "DMAR:[DMA Write] Request device [0b:1c.7] fault addr ff000 [fault reason 05] PTE Write access is not set",
                "refused 0b:1c.7 an access",
            ),
            (
                "AMD-Vi: Event logged [IO_PAGE_FAULT device=0b:00.0 domain=0x0007 address=0x0 flags=0x0000]",
                "refused 0b:00.0 an access",
            ),
            (
                "elmgpu 0000:0b:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0007 address=0x0 flags=0x0000]",
                "refused 0000:0b:00.0 (elmgpu) an access",
            ),
            (
                "arm-smmu 15000000.iommu: Unhandled context fault: fsr=0x402, iova=0x5c, fsynr=0x7, cbfrsynra=0x1e0, cb=9",
                "refused a device that the line does not name",
            ),
        ] {
            let found = told(&[], &[(103_000, line), (103_100, line)]);
            let [(level, said)] = &found[..] else { panic!("{line}: {found:?}") };
            assert!(*level == Level::Risk && said.contains(who), "{said}");
            assert!(said.contains("2 times, 1.0 s after the resume"), "{said}");
            // One that did so before did not get it from the sleep, and long after it is of none.
            assert_eq!(told(&[line], &[(103_000, line)])[0].0, Level::Note, "{line}");
            assert!(told(&[line], &[]).is_empty() && told(&[], &[(900_000, line)]).is_empty());
        }
        let two = ["0b:00.0", "0b:00.1"].map(|d| {
            format!(
                "AMD-Vi: Event logged [IO_PAGE_FAULT device={d} domain=0x7 address=0x0 flags=0]"
            )
        });
        assert_eq!(told(&[], &[(103_000, &two[0]), (103_000, &two[1])]).len(), 2);
        let interrupt = "DMAR: [INTR-REMAP] Request device [f0:0b.0] fault index 7 [fault reason 37] Blocked a compatibility format interrupt request";
        for other in [interrupt, "usb 7-1: Request device [7] again"] {
            assert!(told(&[], &[(103_000, other)]).is_empty(), "{other}");
        }
    }
}
