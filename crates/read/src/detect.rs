//! What an input is, by its content.

use memchr::memmem;

/// A format that a folder of this crate reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `trace`, `trace_pipe` or `trace-cmd report`, with or without the header
    /// and footer of pm-graph.
    Ftrace,
    /// A kernel log in any of its dresses.
    KernelLog,
    /// `trace-cmd` binary, version 6 or 7.
    TraceDat,
    /// Perfetto protobuf.
    Perfetto,
    /// A capture file of `dormouse record` or `dormouse lab`.
    CaptureFile,
    /// What blktrace writes, a file for each CPU.
    Blktrace,
    /// A device tree, as a blob.
    DeviceTree,
    /// Nothing known.
    Unknown,
}

impl Format {
    /// Whether it is a trace alone, and no text that may quote one.
    #[must_use]
    pub(crate) fn is_trace(self) -> bool {
        matches!(self, Format::Ftrace | Format::TraceDat | Format::Perfetto)
    }

    /// Whether it holds bytes that are no text.
    #[must_use]
    pub fn is_binary(self) -> bool {
        !matches!(self, Format::Ftrace | Format::KernelLog)
    }
}

/// How much of an input is looked at. Logs may carry pages of mail or boot
/// messages before the first line that tells, so text is searched further.
const HEAD: usize = 64 << 10;

/// Recognises `bytes`.
pub fn detect(bytes: &[u8]) -> Format {
    if bytes.starts_with(b"\x17\x08\x44tracing") {
        return Format::TraceDat;
    }
    if dormouse_capture::is_capture_tar(bytes) {
        return Format::CaptureFile;
    }
    if crate::storage::is_blktrace(bytes) {
        return Format::Blktrace;
    }
    if crate::dtb::fdt::recognise(bytes) {
        return Format::DeviceTree;
    }
    let head = &bytes[..bytes.len().min(HEAD)];
    if crate::perfetto::is_perfetto(head) {
        return Format::Perfetto;
    }
    if memmem::find(head, b"# tracer:").is_some() || has_trace_line(head) {
        return Format::Ftrace;
    }
    if has_trace_line(bytes) {
        return Format::Ftrace;
    }
    if is_mostly_text(head) { Format::KernelLog } else { Format::Unknown }
}

/// Whether it is a database of SQLite (its file format, 1.3.1): what `dormouse watch` keeps.
#[must_use]
pub fn is_database(bytes: &[u8]) -> bool {
    bytes.starts_with(b"SQLite format 3\0")
}

/// The host that a pm-graph header names.
pub fn host(bytes: &[u8]) -> Option<&[u8]> {
    let line = bytes.split(|&b| b == b'\n').take(8).find(|l| l.starts_with(b"# suspend-"))?;
    line.split(|&b| b == b' ').nth(2).filter(|h| !h.is_empty())
}

/// Whether a line has the shape of a trace event that matters here.
fn has_trace_line(bytes: &[u8]) -> bool {
    [&b": suspend_resume: "[..], b": device_pm_callback_start: ", b": device_pm_callback_end: "]
        .iter()
        .any(|needle| memmem::find(bytes, needle).is_some())
}

/// Text may hold some noise; binary data is mostly noise.
fn is_mostly_text(head: &[u8]) -> bool {
    let odd = head.iter().filter(|&&b| b < 9 || (b > 13 && b < 32) || b == 127).count();
    !head.is_empty() && odd * 10 <= head.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_apart_by_content() {
        assert_eq!(detect(b"\x17\x08\x44tracing6\0"), Format::TraceDat);
        assert_eq!(detect(b"# tracer: nop\n"), Format::Ftrace);
        assert_eq!(detect(b" sh-1 [0] 1.0: suspend_resume: x[1] begin\n"), Format::Ftrace);
        assert_eq!(detect(b"[    1.0] PM: suspend entry (deep)\n"), Format::KernelLog);
        assert_eq!(detect(b"\x0a\x02\x08\x01\x0a\x02\x08\x02"), Format::Perfetto);
        assert_eq!(detect(b"\n\nplain text"), Format::KernelLog);
        assert_eq!(detect(b"\0\x01\x02\x03\x04\x05"), Format::Unknown);
        assert_eq!(detect(b""), Format::Unknown);
    }

    #[test]
    fn the_host_is_in_the_header() {
        assert_eq!(host(b"# suspend-1-2 box mem 5.3\n"), Some(&b"box"[..]));
        assert_eq!(host(b"[ 1.0] # suspend\n"), None);
    }
}
