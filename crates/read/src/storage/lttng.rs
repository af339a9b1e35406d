//! Fields of LTTng's block and runtime PM probes, in the words of the kernel's own
//! text.

use crate::babeltrace;
use crate::event::{EventSink, Kind, Stamp, TraceEvent, number, word};
use dormouse_base::loss::Losses;

/// Bits of `rwbs` in LTTng's block probes.
const WRITE: u64 = 1;
const DISCARD: u64 = 1 << 1;
const READ: u64 = 1 << 2;
const FLUSH: u64 = 1 << 8;

/// Hands the events of a trace to `sink`, as the kernel would print them.
pub(super) fn read(bytes: &[u8], sink: &mut dyn EventSink, losses: &mut Losses) {
    babeltrace::events(bytes, &mut Translate(sink), losses);
}

struct Translate<'a>(&'a mut dyn EventSink);

impl EventSink for Translate<'_> {
    fn wants(&self, name: &[u8]) -> bool {
        matches!(Kind::of(name), Kind::Block | Kind::Rpm) && self.0.wants(name)
    }

    fn unused(&mut self, kind: Kind, count: u64) {
        self.0.unused(kind, count);
    }

    fn event(&mut self, stamp: Stamp<'_>, event: TraceEvent<'_>) {
        let TraceEvent::Other { name, text } = event else { return };
        let translated = if Kind::of(name) == Kind::Block { block(text) } else { rpm(text) };
        let Some(translated) = translated else { return };
        // Threads are not in a line; a call returns on its CPU.
        let stamp = Stamp { pid: i32::try_from(stamp.cpu).unwrap_or(0), ..stamp };
        self.0.event(stamp, TraceEvent::Other { name, text: translated.as_bytes() });
    }
}

fn block(text: &[u8]) -> Option<String> {
    let (dev, sector) = (number(text, b"dev")?, number(text, b"sector")?);
    let (sectors, bits) = (number(text, b"nr_sector")?, number(text, b"rwbs")?);
    let letters = match bits {
        b if b & DISCARD != 0 => "D",
        b if b & WRITE != 0 => "W",
        b if b & FLUSH != 0 && sectors == 0 => "F",
        b if b & READ != 0 => "R",
        _ => "N",
    };
    let error = signed(text, b"errors").or_else(|| signed(text, b"error")).unwrap_or(0);
    Some(format!("{},{} {letters} {sector} + {sectors} [{error}]", dev >> 20, dev & 0xf_ffff))
}

fn rpm(text: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(word(text, b"name")?).ok()?;
    if let Some(ret) = signed(text, b"ret") {
        return Some(format!("0x{:x}:{name} ret={ret}", number(text, b"ip").unwrap_or(0)));
    }
    let flags = number(text, b"flags")?;
    Some(format!("{name} flags-{flags:x} cnt-{}", signed(text, b"usage_count").unwrap_or(0)))
}

fn signed(text: &[u8], key: &[u8]) -> Option<i64> {
    std::str::from_utf8(word(text, key)?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Seen(Vec<(i64, i32, String)>);

    impl EventSink for Seen {
        fn wants(&self, _: &[u8]) -> bool {
            true
        }

        fn event(&mut self, stamp: Stamp<'_>, event: TraceEvent<'_>) {
            let TraceEvent::Other { text, .. } = event else { return };
            self.0.push((stamp.time.0, stamp.pid, String::from_utf8_lossy(text).into_owned()));
        }
    }

    #[test]
    fn fields_become_the_kernels_words() {
        let text = br#"[23:59:59.528127564] (+?.?????????) VM1 block_rq_issue: { cpu_id = 0 }, { dev = 8388608, sector = 5293799, nr_sector = 8, bytes = 0, rwbs = 17, comm = "a" }
[00:00:00.442801939] (+0.000009000) lager rpm_resume: { cpu_id = 1 }, { name = "e6530000.i2c", flags = 12, usage_count = 1 }
[00:00:00.442822039] (+0.000001600) lager rpm_return_int: { cpu_id = 1 }, { name = "e6530000.i2c", ip = 255, ret = 0 }
"#;
        assert!(babeltrace::begins_as_babeltrace(text));
        let mut seen = Seen::default();
        read(text, &mut seen, &mut Losses::default());
        let want = [
            (86_399_528_127_564, 0, "8,0 W 5293799 + 8 [0]"),
            (86_400_442_801_939, 1, "e6530000.i2c flags-c cnt-1"),
            (86_400_442_822_039, 1, "0xff:e6530000.i2c ret=0"),
        ];
        assert_eq!(seen.0, want.map(|(t, p, s)| (t, p, s.to_string())));
    }
}
