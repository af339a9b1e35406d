//! What pm-graph's `sleepgraph` writes around a log or a trace that it saves:
//! a header of `# ` lines, and in a trace a footer of `# platform-…` lines.

use crate::track::Tracker;
use base64::Engine as _;
use dormouse_base::capture::MOST_CPUS;
use dormouse_base::cycle::Mode;
use dormouse_base::loss::Severity;
use dormouse_base::time::Ns;
use std::io::Read;

/// Most lines looked at for the header.
const HEADER_LINES: usize = 16;

/// Most bytes the device table may unpack to; real ones are 12 KB.
const TABLE_LIMIT: u64 = 4 << 20;

/// Reads the header, if there is one. Returns the kernel release it names.
pub fn header<'a>(bytes: &'a [u8], tracker: &mut Tracker) -> Option<&'a [u8]> {
    let mut kernel = None;
    for line in bytes.split(|&b| b == b'\n').take(HEADER_LINES) {
        let Some(line) = line.strip_prefix(b"# ") else { break };
        let line = line.trim_ascii_end();
        if line.starts_with(b"suspend-") {
            // `suspend-092119-145032 HOST MODE KERNEL`
            let mut words = line.split(|&b| b == b' ');
            let (stamp, host, mode, release) =
                (words.next()?, words.next()?, words.next()?, words.next()?);
            tracker.set_stamp(stamp);
            tracker.set_kernel(release);
            let host = tracker.names().add_bytes(host);
            tracker.machine().host = host;
            tracker.set_mode_hint(match mode {
                b"mem" => Mode::Deep,
                b"freeze" => Mode::S2idle,
                b"standby" => Mode::Standby,
                b"disk" => Mode::Disk,
                _ => Mode::Unknown,
            });
            kernel = Some(release);
        } else if let Some(rest) = line.strip_prefix(b"sysinfo |") {
            system(rest, tracker);
        } else if let Some((down, up)) = firmware(line) {
            tracker.set_firmware(down, up);
        } else if let Some(rest) = line.strip_prefix(b"kparams |") {
            let sym = tracker.names().add_bytes(rest.trim_ascii());
            tracker.machine().command_line = sym;
        }
    }
    kernel
}

/// `fwsuspend N fwresume N`: what the firmware took on both sides of the sleep, in ns, by
/// FPDT (sleepgraph.py, 5.0 to 5.13).
pub(crate) fn firmware(line: &[u8]) -> Option<(Ns, Ns)> {
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split(' ');
    let mut of = |name: &str| {
        (words.next()? == name).then(|| words.next()?.parse().ok().filter(|n| *n >= 0)).flatten()
    };
    Some((Ns(of("fwsuspend")?), Ns(of("fwresume")?)))
}

/// `man:Dell Inc. | plat:XPS 13 9360 | … | numcpu:4 | …`
fn system(line: &[u8], tracker: &mut Tracker) {
    let (mut maker, mut model) = (&b""[..], &b""[..]);
    for field in line.split(|&b| b == b'|') {
        let field = field.trim_ascii();
        if let Some(v) = field.strip_prefix(b"man:") {
            maker = v;
        } else if let Some(v) = field.strip_prefix(b"plat:") {
            model = v;
        } else if let Some(v) = field.strip_prefix(b"numcpu:") {
            let n = std::str::from_utf8(v).ok().and_then(|v| v.parse().ok());
            tracker.machine().cpus = n.filter(|n| (1..=MOST_CPUS).contains(n));
        }
    }
    let both = [maker, b" ", model].concat();
    let sym = tracker.names().add_bytes(both.trim_ascii());
    tracker.machine().model = sym;
}

/// Reads what follows `# platform-`; only the device table matters:
/// `devinfo: COMMAND | BASE64`, which is zlib of
/// `NAME,DESCRIPTION,ASYNC;…`.
pub fn footer(line: &[u8], at: u64, tracker: &mut Tracker) {
    let Some(rest) = line.strip_prefix(b"devinfo:") else { return };
    let packed = rest.rsplit(|&b| b == b'|').next().unwrap_or(rest).trim_ascii();
    let Some(table) = unpack(packed) else {
        tracker.losses().add(
            "device_table",
            1,
            Severity::Warning,
            "the device table at the end of the trace is damaged; copy the file again",
            Some(at),
        );
        return;
    };
    for entry in table.split(|&b| b == b';') {
        // The description may contain commas, a name does not.
        let Some(first) = memchr::memchr(b',', entry) else { continue };
        let Some(last) = memchr::memrchr(b',', entry).filter(|&l| l > first) else { continue };
        let name = &entry[..first];
        tracker.list_device_name(name);
        match &entry[last + 1..] {
            b"1" => tracker.list_async(name, true),
            b"0" => tracker.list_async(name, false),
            _ => {}
        }
    }
}

fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    let zlib = base64::engine::general_purpose::STANDARD.decode(packed).ok()?;
    let mut table = Vec::new();
    let read = flate2::read::ZlibDecoder::new(&zlib[..]).take(TABLE_LIMIT).read_to_end(&mut table);
    // What came out before damage is still true.
    (read.is_ok() || !table.is_empty()).then_some(table)
}
