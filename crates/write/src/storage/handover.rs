//! A delay as a file that sets it.

use dormouse_storage::request::Disk;

/// What is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knob {
    /// `clkgate_delay_ms` of the UFS host.
    Gate,
    /// `power/autosuspend_delay_ms` of the disk's device.
    Autosuspend(Disk),
}

/// Name of the file.
pub const NAME: &str = "90-dormouse-storage.rules";

/// A rule of udev that sets the delay (ns, `None`: never asleep) when the device
/// appears.
pub fn rules(knob: Knob, delay: Option<i64>) -> String {
    let ms = delay.map(|ns| (ns.max(0).unsigned_abs()).div_ceil(1_000_000));
    let mut out = String::from("# dormouse: when storage falls asleep, set when it appears.\n");
    out += &format!("# Install: copy to /etc/udev/rules.d/{NAME}, then:\n");
    out += "#   udevadm control --reload && udevadm trigger --action=change -s ";
    match knob {
        Knob::Gate => {
            out += "platform -s pci\n\
                    # Undo: remove the file and restart the machine.\n\
                    # UFS hosts alone have the attribute, and only once their driver is bound.\n";
            let set = match ms {
                Some(ms) => format!("ATTR{{clkgate_delay_ms}}=\"{ms}\""),
                None => "ATTR{clkgate_enable}=\"0\"".into(),
            };
            out += &format!(
                "ACTION!=\"remove\", SUBSYSTEM==\"platform|pci\", TEST==\"clkgate_delay_ms\", {set}\n"
            );
        }
        Knob::Autosuspend(disk) => {
            out += "block\n\
                    # Undo: remove the file and restart the machine.\n";
            if disk.major == 8 {
                out +=
                    "# Numbers of SCSI disks may change with the order in which they are found.\n";
            }
            let set = match ms {
                Some(ms) => format!(
                    "ATTR{{device/power/autosuspend_delay_ms}}=\"{ms}\", \
                     ATTR{{device/power/control}}=\"auto\""
                ),
                None => "ATTR{device/power/control}=\"on\"".into(),
            };
            out += &format!(
                "ACTION!=\"remove\", SUBSYSTEM==\"block\", ENV{{MAJOR}}==\"{}\", \
                 ENV{{MINOR}}==\"{}\", \\\n  {set}\n",
                disk.major, disk.minor
            );
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_knob_has_its_rule_and_its_never() {
        let disk = Knob::Autosuspend(Disk { major: 8, minor: 16 });
        let text = rules(disk, Some(1_500_000_001));
        assert!(
            text.contains(
                "ENV{MAJOR}==\"8\", ENV{MINOR}==\"16\", \\\n  \
                 ATTR{device/power/autosuspend_delay_ms}=\"1501\", \
                 ATTR{device/power/control}=\"auto\"\n"
            ),
            "{text}"
        );
        assert!(rules(disk, None).contains("ATTR{device/power/control}=\"on\""));
        let gate = rules(Knob::Gate, Some(20_000_000));
        assert!(gate.contains("TEST==\"clkgate_delay_ms\", ATTR{clkgate_delay_ms}=\"20\""));
        assert!(rules(Knob::Gate, None).contains("ATTR{clkgate_enable}=\"0\""));
        for text in [text, gate] {
            assert!(text.contains("# Undo: "));
        }
    }
}
