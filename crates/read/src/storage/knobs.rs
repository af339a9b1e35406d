//! Settings of sysfs as text: `PATH:VALUE` as `grep -r . PATH` prints them, or a path in
//! a command or between arrows, and its value in the line below.

use crate::posted;
use dormouse_storage::knobs::Knobs;

/// Longest line that can be one.
const LONGEST: usize = 4_096;

/// What `hdparm -C` and `hdparm -B` say (hdparm.c:process_dev, 9.65).
const STATE: &str = "drive state is:";
const APM: &str = "APM_level";
/// What `hdparm -y` and `hdparm -S` say that they do.
const STOPS: &str = "issuing standby command";
const TIMER: &str = "setting standby to ";

/// What `smartctl -n` says of a disk that it leaves alone: `Device is in STANDBY mode, exit(2)`
/// (ataprint.cpp:ataPrintMain and scsiprint.cpp:scsiPrintMain, 7.4).
const LEFT: &str = "Device is in ";

/// Whether a text has words of `hdparm` or `smartctl`.
pub(super) fn spins(bytes: &[u8]) -> bool {
    [STATE, APM, LEFT].iter().any(|w| memchr::memmem::find(bytes, w.as_bytes()).is_some())
}

/// Takes what a line says of `disk`, which it may name itself: `/dev/sdx: APM_level = 128`.
fn hdparm(line: &str, disk: &mut String, out: &mut Knobs) -> bool {
    let said = match line.strip_prefix("/dev/").and_then(|l| l.split_once(':')) {
        // hdparm names the disk above what it says.
        Some((name, said)) if !name.contains(' ') => {
            *disk = name.into();
            said.trim()
        }
        _ => line,
    };
    if let Some(timer) = said.strip_prefix(TIMER).filter(|_| !disk.is_empty()) {
        // `120 (10 minutes)`; of 0 it says `off`.
        let timer = timer.split_once('(').map_or(timer, |t| t.1.trim_end_matches(')'));
        match timer {
            "off" => drop(out.standby.remove(disk.as_str())),
            _ => drop(out.standby.insert(disk.clone(), timer.into())),
        }
        return true;
    }
    if let Some((mode, _)) = said.strip_prefix(LEFT).and_then(|r| r.split_once(" mode, exit(")) {
        let state = match mode.split([' ', '_']).next() {
            Some("STANDBY") => "standby",
            Some("SLEEP") => "sleeping",
            Some("IDLE" | "ACTIVE") => "active/idle",
            _ => return false,
        };
        // A loop of a shell does not say which disk it asked.
        let of = match disk.as_str() {
            "" => format!("disk {}", out.spinning.len() + 1),
            named => named.to_owned(),
        };
        out.spinning.insert(of, state.into());
        return true;
    }
    if said == STOPS && !disk.is_empty() {
        // What was read of it before is of before.
        out.spinning.remove(disk.as_str());
        out.stopped.insert(disk.clone());
        return true;
    }
    let level = || said.strip_prefix(APM)?.trim_start().strip_prefix('=');
    let (list, value) = match (said.strip_prefix(STATE), level()) {
        (Some(state), _) => (&mut out.spinning, state),
        (None, Some(level)) => (&mut out.apm, level),
        (None, None) => return false,
    };
    if !disk.is_empty() {
        list.insert(disk.clone(), value.trim().into());
    }
    !disk.is_empty()
}

/// The disk that a command asks: `hdparm -C /dev/sdx`; empty if it is a variable of the shell.
fn asked_of(line: &str) -> Option<&str> {
    let commands = ["hdparm -", "smartctl -"];
    let (_, rest) = commands.iter().find_map(|c| line.split_once(c))?;
    let name = rest.split_once(" /dev/")?.1;
    let end = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
    match name[end..].starts_with(['$', '{', '*', '?', '[']) {
        true => Some(""),
        false => (end > 0).then(|| &name[..end]),
    }
}

/// Takes every setting of a text, quoted or not; how many there were.
pub(super) fn read(bytes: &[u8], out: &mut Knobs) -> u64 {
    let mut seen = 0;
    // The path whose value stands in the next line.
    let mut named: Option<String> = None;
    // A path that a mail program broke at one of its slashes.
    let mut broken = String::new();
    let rows = posted::has_rows(bytes);
    let mut disk = String::new();
    for line in bytes.split(|b| *b == b'\n') {
        let asked = named.take();
        if line.len() > LONGEST {
            continue;
        }
        let line = super::loose::unquoted(line);
        let Ok(line) = std::str::from_utf8(line) else { continue };
        let joined = std::mem::take(&mut broken);
        let whole = joined.is_empty() || line.starts_with("/sys/") || line.contains(' ');
        let joined = if whole { String::new() } else { joined + line };
        let line = if joined.is_empty() { line } else { &joined };
        if line.starts_with("/sys/") && line.ends_with('/') {
            broken.push_str(line);
            continue;
        }
        // A page may show one line as code.
        let code = line.trim_matches('`').trim();
        if hdparm(code, &mut disk, out) {
            seen += 1;
            continue;
        }
        if let Some(name) = asked_of(code) {
            disk = name.into();
        }
        if let Some((name, files)) = rows.then(|| posted::row(line)).flatten() {
            // Another program may have named the same device before, with its port.
            let known = |p: &str| p.strip_suffix(name.as_str()).is_some_and(|r| r.ends_with(' '));
            if !(files.len() == 1 && out.power.keys().any(|p| known(p))) {
                files.iter().for_each(|(file, v)| out.take(&format!("{name}/power/{file}"), v));
            }
            seen += 1;
            continue;
        }
        if !line.starts_with("/sys/") {
            named = command(line).map(String::from);
            if let (Some(path), None, false) = (asked, &named, line.is_empty()) {
                out.take(&path, line);
                seen += 1;
            }
            continue;
        }
        // Paths have colons (`0:0:0:0`): the value begins after the first one behind
        // the last slash, and values of these files have none.
        let Some(slash) = line.rfind('/') else { continue };
        // `n/a` is a value with a slash.
        let slash = if line.ends_with("n/a") { line[..slash].rfind('/') } else { Some(slash) };
        let Some(slash) = slash else { continue };
        let Some(colon) = line[slash..].find(':') else { continue };
        out.take(&line[..slash + colon], &line[slash + colon + 1..]);
        seen += 1;
    }
    seen
}

/// The one file that `cat` prints below, or that `head` names: `==> PATH <==`.
fn command(line: &str) -> Option<&str> {
    let path = match line.strip_prefix("==> ") {
        Some(rest) => rest.strip_suffix(" <==")?,
        None => line[line.find("cat /sys/")? + 4..].trim_end(),
    };
    let one = path.starts_with("/sys/") && !path.contains([' ', '*', '{', '|', ';']);
    one.then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_storage::knobs::Conflict;

    #[test]
    fn settings_below_prose_quoted_and_by_cat() {
        let text = "The reader:\n\n> > /sys/devices/a/1:2/power/control:on\n\
            /sys/devices/a/1:2/power/pm_qos_resume_latency_us:n/a\n\
            > /sys/devices/a/1:2/power/\n> runtime_usage:0\n\
            # cat /sys/devices/b/power/runtime_usage\n3\n\
            ==> /sys/devices/b/power/runtime_status <==\nactive\n\
            echo auto > /sys/devices/c/power/control\nauto\n\
            see /sys/devices/d/power/control: it is on\n";
        let mut k = Knobs::default();
        assert_eq!(read(text.as_bytes(), &mut k), 5);
        assert_eq!(k.power.len(), 2);
        let a = &k.power["/sys/devices/a/1:2"];
        assert_eq!((a.allowed, a.forbidden, a.usage), (Some(false), true, Some(0)));
        let b = &k.power["/sys/devices/b"];
        assert_eq!((b.usage, b.is_active()), (Some(3), Some(true)));
    }

    #[test]
    fn what_smartctl_leaves_alone_stands_still() {
        let text = "# smartctl -A -n standby /dev/sdq\nsmartctl 7.1\n\nDevice is in SLEEP mode, exit(2)\n\
            # for d in r s; do smartctl -n standby /dev/sd$d; done\nDevice is in STANDBY mode, exit(2)\n\
            Device is in IDLE_A mode, exit(2)\nDevice is in use\n";
        let mut k = Knobs::default();
        assert_eq!((spins(text.as_bytes()), read(text.as_bytes(), &mut k)), (true, 3));
        let all: Vec<_> = k.spinning.iter().map(|(d, s)| (d.as_str(), s.as_str())).collect();
        assert_eq!(all, [("disk 2", "standby"), ("disk 3", "active/idle"), ("sdq", "sleeping")]);
    }

    #[test]
    fn what_hdparm_says_is_read_in_code_and_in_one_line() {
        let text = "It sleeps:\n`$ sudo hdparm -C /dev/sdq\ndrive state is:  standby`\n\n\
            `/dev/sdr: APM_level\t= not supported`\n/dev/sdt:\n drive state is:  active/idle\n\
            \x20APM_level\t= 128\nThe drive state is: unknown to me\n";
        let mut k = Knobs::default();
        assert!(spins(text.as_bytes()));
        assert_eq!(read(text.as_bytes(), &mut k), 4);
        let of = |list: &std::collections::BTreeMap<String, String>| -> Vec<String> {
            list.iter().map(|(d, v)| format!("{d} {v}")).collect()
        };
        assert_eq!(of(&k.spinning), ["sdq standby", "sdt active/idle"]);
        assert_eq!(of(&k.apm), ["sdr not supported", "sdt 128"]);
    }

    #[test]
    fn a_timer_and_a_disk_that_was_told_to_stand_are_read() {
        let text = "# hdparm -S 120 -B 254 /dev/sdq\n\n/dev/sdq:\n\
            \x20setting Advanced Power Management level to 0xfe (254)\n\
            \x20setting standby to 120 (10 minutes)\n APM_level\t= 254\n\
            /dev/sdr:\n setting standby to 0 (off)\n drive state is:  active/idle\n\
            \x20issuing standby command\n";
        let mut k = Knobs::default();
        read(text.as_bytes(), &mut k);
        assert_eq!(k.standby.get("sdq").map(String::as_str), Some("10 minutes"));
        assert!(!k.standby.contains_key("sdr") && k.stopped.contains("sdr"));
        assert!(k.spinning.is_empty(), "it was read before");
        assert!(k.comparable());
        let timer = "10 minutes".into();
        let conflict = Conflict::NoSpinDown { disk: "sdq".into(), timer, level: 254 };
        assert_eq!(k.conflicts(), [conflict]);
    }

    #[test]
    fn the_state_of_pci_is_of_the_device() {
        let text = "$ cat /sys/bus/pci/devices/0000:05:00.0/power_state\nD0\n\
            $ cat /sys/bus/pci/devices/0000:05:00.0/power/runtime_status\nsuspended\n\
            /sys/bus/pci/devices/0000:06:00.0/power_state:D3cold\n\
            /sys/bus/pci/devices/0000:06:00.0/power/runtime_status:suspended\n\
            /sys/bus/acpi/devices/LNXPOWER:00/power_state:D0\n";
        let mut k = Knobs::default();
        read(text.as_bytes(), &mut k);
        assert_eq!((k.power.len(), k.pci.len()), (2, 2));
        let names: Vec<&str> = k.in_name_only().map(|p| p.name()).collect();
        assert_eq!(names, ["0000:05:00.0"]);
    }

    #[test]
    fn a_device_that_is_read_twice_was_measured_twice() {
        let one = |status: &str, active: u32| {
            format!(
                "/sys/devices/a/power/control:auto\n/sys/devices/a/power/runtime_active_time:{active}\n\
                 /sys/devices/a/power/runtime_status:{status}\n\
                 /sys/devices/a/power/runtime_suspended_time:7\n"
            )
        };
        let mut k = Knobs::default();
        read([one("active", 400), one("suspended", 410)].concat().as_bytes(), &mut k);
        let changed: Vec<_> = k.changed().map(|(a, b)| (a.times, b.times)).collect();
        assert_eq!(changed, [([Some(400), Some(7)], [Some(410), Some(7)])]);
        let mut k = Knobs::default();
        read([one("active", 400), one("active", 410)].concat().as_bytes(), &mut k);
        assert_eq!(k.changed().count(), 0);
    }
}
