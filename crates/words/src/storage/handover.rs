//! Settings as files that set them.

use dormouse_storage::request::Disk;
use dormouse_storage::simulate::ondemand::Thresholds;
use dormouse_storage::simulate::settings::{Governor, Qos, Settings};

/// What is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// `clkgate_delay_ms` of the UFS host, ns; `None`: never gated.
    Gate(Option<i64>),
    /// `power/autosuspend_delay_ms` of the disk's device, ns; `None`: never suspended.
    Autosuspend(Option<i64>),
    /// `polling_interval` of the devfreq device, ns.
    Poll(i64),
    /// Its `min_freq`, Hz; 0: none.
    Least(u64),
    /// Its `max_freq`, Hz; the highest number: none.
    Most(u64),
    /// Thresholds of its governor, which no file sets.
    Thresholds(Thresholds),
    /// Whether requests raise the clock (kernel/fqos).
    Raise(Qos),
}

/// Name of the rule of udev, of the module's options, and of what loads it.
pub const NAME: &str = "90-dormouse-storage.rules";
/// As above.
pub const OPTIONS: &str = "dormouse-fqos.conf";
/// As above.
pub const LOAD: &str = "dormouse-fqos.load.conf";

/// Whose settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whose<'a> {
    /// The disk, if its numbers are known.
    pub disk: Option<Disk>,
    /// The device that devfreq scales, by its name; the host of the disk.
    pub host: Option<&'a str>,
}

/// A delay in whole milliseconds, as the kernel takes it.
fn ms(ns: i64) -> u64 {
    ns.max(0).unsigned_abs().div_ceil(1_000_000)
}

impl Set {
    /// What has to be set to come from one choice to another.
    pub fn between(now: &Settings, then: &Settings) -> Vec<Set> {
        let (a, b) = (&now.devfreq, &then.devfreq);
        let mut out = Vec::new();
        if now.autosuspend != then.autosuspend {
            out.push(Set::Autosuspend(then.autosuspend));
        }
        if now.gate != then.gate {
            out.push(Set::Gate(then.gate));
        }
        if a.poll != b.poll {
            out.push(Set::Poll(b.poll));
        }
        // The upper one first: a lower limit above it would be refused.
        if a.most != b.most {
            out.push(Set::Most(b.most));
        }
        if a.least != b.least {
            out.push(Set::Least(b.least));
        }
        if let (Governor::SimpleOndemand(x), Governor::SimpleOndemand(y)) = (a.governor, b.governor)
            && x != y
        {
            out.push(Set::Thresholds(y));
        }
        if now.qos != then.qos {
            out.push(Set::Raise(then.qos));
        }
        out
    }

    /// `autosuspend_delay_ms to 200`.
    pub fn words(&self) -> String {
        let delay = |d: &Option<i64>| d.map_or("never".into(), |ns| ms(ns).to_string());
        let mhz = |hz: u64| match hz {
            0 | u64::MAX => "none".to_string(),
            hz => format!("{} MHz", hz / 1_000_000),
        };
        match self {
            Set::Gate(d) => format!("clkgate_delay_ms to {}", delay(d)),
            Set::Autosuspend(d) => format!("autosuspend_delay_ms to {}", delay(d)),
            Set::Poll(ns) => format!("polling_interval to {}", ms(*ns)),
            Set::Least(hz) => format!("min_freq to {}", mhz(*hz)),
            Set::Most(hz) => format!("max_freq to {}", mhz(*hz)),
            Set::Thresholds(t) => format!("the governor's thresholds to {} and {}", t.up, t.down),
            Set::Raise(Qos::Off) => "the module that raises the clock aside".into(),
            Set::Raise(Qos::Host { timeout }) => {
                format!("dormouse_fqos to raise the clock for {} ms", ms(*timeout))
            }
            Set::Raise(Qos::Disk { timeout }) => {
                format!("dormouse_fqos to ask at the disk for {} ms", ms(*timeout))
            }
        }
    }

    /// Which names its rule needs: of the host, or of the host or the disk.
    fn needs_host(&self) -> bool {
        matches!(self, Set::Poll(_) | Set::Least(_) | Set::Most(_))
    }
}

/// A rule of udev that sets all of it when the devices appear; `None` if nothing of it
/// is set by a rule.
///
/// # Errors
/// If a device is needed whose name is not known.
pub fn rules(whose: Whose<'_>, sets: &[Set]) -> Result<Option<String>, String> {
    let mut lines = String::new();
    let mut kinds: Vec<&str> = Vec::new();
    if let (true, None) = (sets.iter().any(Set::needs_host), whose.host) {
        return Err("a rule needs the name that devfreq gives the host: --device NAME, of /sys/class/devfreq".into());
    }
    let host = whose.host.unwrap_or("");
    for set in sets {
        match set {
            Set::Gate(delay) => {
                kinds.extend(["platform", "pci"]);
                let own = if host.is_empty() {
                    lines += "# UFS hosts alone have the attribute, and only once their driver is bound.\n";
                    String::new()
                } else {
                    format!("KERNEL==\"{host}\", ")
                };
                let value = match delay {
                    Some(ns) => format!("ATTR{{clkgate_delay_ms}}=\"{}\"", ms(*ns)),
                    None => "ATTR{clkgate_enable}=\"0\"".into(),
                };
                lines += &format!(
                    "ACTION!=\"remove\", SUBSYSTEM==\"platform|pci\", {own}TEST==\"clkgate_delay_ms\", \
                     {value}\n"
                );
            }
            Set::Autosuspend(delay) => {
                kinds.push("block");
                // A disk of which a trace says the address alone has no number.
                let known = whose.disk.filter(|d| d.address() == (false, false));
                let own = match known {
                    Some(d) => {
                        if d.major == 8 {
                            lines += "# Numbers of SCSI disks may change with the order in which they are found.\n";
                        }
                        format!("ENV{{MAJOR}}==\"{}\", ENV{{MINOR}}==\"{}\"", d.major, d.minor)
                    }
                    None if host.is_empty() => {
                        return Err("a rule needs the name of the disk's host: --device".into());
                    }
                    None => format!("ENV{{DEVTYPE}}==\"disk\", KERNELS==\"{host}\""),
                };
                let value = match delay {
                    Some(ns) => format!(
                        "ATTR{{device/power/autosuspend_delay_ms}}=\"{}\", \
                         ATTR{{device/power/control}}=\"auto\"",
                        ms(*ns)
                    ),
                    None => "ATTR{device/power/control}=\"on\"".into(),
                };
                lines +=
                    &format!("ACTION!=\"remove\", SUBSYSTEM==\"block\", {own}, \\\n  {value}\n");
            }
            Set::Poll(_) | Set::Least(_) | Set::Most(_) => {
                kinds.push("devfreq");
                let (file, value) = match set {
                    Set::Poll(ns) => ("polling_interval", ms(*ns)),
                    Set::Least(hz) => ("min_freq", *hz),
                    // 0 takes the limit away (`max_freq_store`, drivers/devfreq/
                    // devfreq.c, 6.12).
                    Set::Most(u64::MAX) => ("max_freq", 0),
                    Set::Most(hz) => ("max_freq", *hz),
                    _ => unreachable!(),
                };
                lines += &format!(
                    "ACTION!=\"remove\", SUBSYSTEM==\"devfreq\", KERNEL==\"{host}\", \
                     ATTR{{{file}}}=\"{value}\"\n"
                );
            }
            Set::Thresholds(_) | Set::Raise(_) => {}
        }
    }
    if lines.is_empty() {
        return Ok(None);
    }
    kinds.dedup();
    let kinds: Vec<String> = kinds.iter().map(|k| format!("-s {k}")).collect();
    Ok(Some(format!(
        "# dormouse: how storage sleeps and clocks, set when it appears.\n\
         # Install: copy to /etc/udev/rules.d/{NAME}, then:\n\
         #   udevadm control --reload && udevadm trigger --action=change {}\n\
         # Undo: remove the file and restart the machine.\n{lines}",
        kinds.join(" ")
    )))
}

/// Options of the module that raises the clock, if it is to.
pub fn options(sets: &[Set]) -> Option<String> {
    let qos = sets.iter().find_map(|s| match s {
        Set::Raise(q) => Some(*q),
        _ => None,
    })?;
    let (timeout, more) = match qos {
        Qos::Off => return None,
        Qos::Host { timeout } => (timeout, ""),
        Qos::Disk { timeout } => (timeout, " as_published=1"),
    };
    Some(format!(
        "# dormouse: requests raise the clock for so long after the last of them (kernel/fqos).\n\
         # Install: copy to /etc/modprobe.d/{OPTIONS}, and {LOAD} to /etc/modules-load.d/.\n\
         # Without timeout_us the module finds its time-out itself.\n\
         # Undo: remove both files, then: rmmod dormouse_fqos\n\
         options dormouse_fqos timeout_us={}{more}\n",
        timeout.max(0) / 1_000
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_storage::simulate::settings::laboratory;

    const NOBODY: Whose<'static> = Whose { disk: None, host: None };

    #[test]
    fn each_setting_has_its_rule_and_its_never() {
        let whose = Whose { disk: Some(Disk { major: 8, minor: 16 }), host: None };
        let of = |whose, set| rules(whose, &[set]).unwrap().unwrap();
        let text = of(whose, Set::Autosuspend(Some(1_500_000_001)));
        assert!(
            text.contains(
                "ENV{MAJOR}==\"8\", ENV{MINOR}==\"16\", \\\n  \
                 ATTR{device/power/autosuspend_delay_ms}=\"1501\", \
                 ATTR{device/power/control}=\"auto\"\n"
            ),
            "{text}"
        );
        let never = of(whose, Set::Autosuspend(None));
        assert!(never.contains("ATTR{device/power/control}=\"on\""));
        let gate = of(NOBODY, Set::Gate(Some(20_000_000)));
        assert!(gate.contains("TEST==\"clkgate_delay_ms\", ATTR{clkgate_delay_ms}=\"20\""));
        assert!(of(NOBODY, Set::Gate(None)).contains("ATTR{clkgate_enable}=\"0\""));
        for text in [text, gate] {
            assert!(text.contains("# Undo: "));
        }
        let host = Whose { host: Some("1d84000.ufshc"), ..NOBODY };
        let text = of(host, Set::Most(u64::MAX));
        assert!(text.contains("KERNEL==\"1d84000.ufshc\", ATTR{max_freq}=\"0\"\n"), "{text}");
        assert!(of(host, Set::Autosuspend(Some(0))).contains("KERNELS==\"1d84000.ufshc\", \\\n"));
        assert!(rules(NOBODY, &[Set::Poll(5)]).is_err());
        assert_eq!(rules(NOBODY, &[Set::Raise(Qos::Off)]), Ok(None));
    }

    #[test]
    fn what_changes_is_set_and_nothing_else() {
        let (_, now) = laboratory();
        assert_eq!(Set::between(&now, &now), []);
        let mut then = now;
        then.qos = Qos::Host { timeout: 30_000_000 };
        then.devfreq.least = 400_000_000;
        then.autosuspend = Some(100_000_000);
        let sets = Set::between(&now, &then);
        let words: Vec<String> = sets.iter().map(Set::words).collect();
        assert_eq!(
            words,
            [
                "autosuspend_delay_ms to 100",
                "min_freq to 400 MHz",
                "dormouse_fqos to raise the clock for 30 ms"
            ]
        );
        let text = options(&sets).unwrap();
        assert!(text.ends_with("\noptions dormouse_fqos timeout_us=30000\n"), "{text}");
        assert_eq!(options(&sets[..2]), None);
    }
}
