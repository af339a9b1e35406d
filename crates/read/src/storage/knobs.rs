//! Settings of sysfs as text: a line a file, `PATH:VALUE`, as `grep -r . PATH`
//! prints them.

use dormouse_storage::knobs::Knobs;

/// Longest line that can be one.
const LONGEST: usize = 4_096;

/// Takes every such line; how many there were.
pub fn read(bytes: &[u8], out: &mut Knobs) -> u64 {
    let mut seen = 0;
    for line in bytes.split(|b| *b == b'\n') {
        if line.len() > LONGEST || !line.starts_with(b"/sys/") {
            continue;
        }
        let Ok(line) = std::str::from_utf8(line) else { continue };
        // Paths have colons (`0:0:0:0`): the value begins after the first one behind
        // the last slash, and values of these files have none.
        let Some(slash) = line.rfind('/') else { continue };
        // `n/a` is a value with a slash.
        let slash = if line.ends_with(":n/a") { line[..slash].rfind('/') } else { Some(slash) };
        let Some(slash) = slash else { continue };
        let Some(colon) = line[slash..].find(':') else { continue };
        out.take(&line[..slash + colon], &line[slash + colon + 1..]);
        seen += 1;
    }
    seen
}
