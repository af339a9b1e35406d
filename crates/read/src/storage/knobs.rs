//! Settings of sysfs as text: `PATH:VALUE` as `grep -r . PATH` prints them, or a path in
//! a command or between arrows, and its value in the line below.

use crate::posted;
use dormouse_storage::knobs::Knobs;

/// Longest line that can be one.
const LONGEST: usize = 4_096;

/// Whether a text has words of `hdparm -C`.
pub(super) fn spins(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, b"drive state is:").is_some()
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
        // hdparm names the disk above what it says (hdparm.c:process_dev).
        if let Some(name) = line.strip_prefix("/dev/").and_then(|l| l.strip_suffix(':')) {
            disk = name.into();
            continue;
        }
        if let Some(state) = line.strip_prefix("drive state is:").filter(|_| !disk.is_empty()) {
            out.spinning.insert(std::mem::take(&mut disk), state.trim().into());
            seen += 1;
            continue;
        }
        if let Some((name, files)) = rows.then(|| posted::row(line)).flatten() {
            // Another program may have named the same device before, with its port.
            let known = |p: &str| p.strip_suffix(name).is_some_and(|r| r.ends_with(' '));
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
