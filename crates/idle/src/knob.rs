//! How settings of CPU idle are written, with the traps of each file.

/// What the kernel hands a governor when nobody asks for less
/// (`PM_QOS_CPU_LATENCY_DEFAULT_VALUE`, 2,000 s), ns.
pub const UNLIMITED: i64 = 2_000_000_000_000;

/// Largest limit that the files take, us: they hold a signed 32-bit number.
pub(crate) const LARGEST_US: i64 = i32::MAX as i64;

/// A limit of a CPU as `power/pm_qos_resume_latency_us` says it: `0` there means
/// no limit at all and `n/a` a limit of nothing
/// (`pm_qos_resume_latency_us_store`, drivers/base/power/sysfs.c, 6.12).
///
/// A limit below a microsecond allows no state that takes time to leave.
pub fn resume_latency(limit: i64) -> String {
    match limit / 1_000 {
        _ if limit >= UNLIMITED => "0".into(),
        ..=0 => "n/a".into(),
        us => format!("{}", us.min(LARGEST_US)),
    }
}

/// What `pm_qos_resume_latency_us` says, as a limit in ns; `None` if it is
/// neither a number of microseconds nor `n/a`.
pub(crate) fn read_resume_latency(text: &str) -> Option<i64> {
    match text.trim() {
        "n/a" => Some(0),
        "0" => Some(UNLIMITED),
        us => {
            us.parse::<i64>().ok().filter(|us| (0..=LARGEST_US).contains(us)).map(|us| us * 1_000)
        }
    }
}

/// A limit of the machine as `/dev/cpu_dma_latency` takes it: exactly four bytes
/// are a number of microseconds, in the order of this machine
/// (`cpu_latency_qos_write`, kernel/power/qos.c, 6.12). The limit holds as long
/// as the file stays open.
pub fn dma_latency(limit: i64) -> [u8; 4] {
    ((limit / 1_000).clamp(0, LARGEST_US) as i32).to_ne_bytes()
}

/// The same as text. Any other length than four bytes is read as hexadecimal,
/// even `10`; so the text is long, and says that it is hexadecimal.
pub fn dma_latency_text(limit: i64) -> String {
    format!("0x{:08x}", (limit / 1_000).clamp(0, LARGEST_US))
}

/// What `intel_idle.max_cstate=N` leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxCstate {
    /// intel_idle does not start; acpi_idle takes over with its own table,
    /// bounded by `processor.max_cstate`.
    HandsOver,
    /// States 0 to this one remain.
    Deepest(usize),
}

/// `intel_idle.max_cstate=N` counts states of the table, not numbers in their
/// names: 1 leaves POLL and C1, 2 leaves C1E too where there is one
/// (`intel_idle_init`, drivers/idle/intel_idle.c, 6.12).
pub fn max_cstate(n: usize) -> MaxCstate {
    if n == 0 { MaxCstate::HandsOver } else { MaxCstate::Deepest(n) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel takes `written` for, us; `None` if it refuses it.
    fn read_dma_latency(written: &[u8]) -> Option<i64> {
        if let Ok(bytes) = <[u8; 4]>::try_from(written) {
            return Some(i64::from(i32::from_ne_bytes(bytes)));
        }
        let text = std::str::from_utf8(written).ok()?;
        // One line break at the end is left out (`kstrtoint_from_user`).
        let text = text.strip_suffix('\n').unwrap_or(text);
        let (sign, text) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
        if digits.is_empty() || digits.starts_with(['+', '-']) {
            return None;
        }
        let n = i64::from_str_radix(digits, 16).ok()? * sign;
        i32::try_from(n).ok().map(i64::from)
    }

    #[test]
    fn nothing_and_no_limit_are_not_confused() {
        assert_eq!((resume_latency(0), resume_latency(UNLIMITED)), ("n/a".into(), "0".into()));
        assert_eq!((resume_latency(999), resume_latency(50_000)), ("n/a".into(), "50".into()));
        assert_eq!(read_resume_latency("n/a\n"), Some(0));
        assert_eq!(read_resume_latency("0\n"), Some(UNLIMITED));
        assert_eq!(read_resume_latency("50"), Some(50_000));
        assert_eq!((read_resume_latency("-1"), read_resume_latency("x")), (None, None));
        for limit in [0, 1_000, 50_000, UNLIMITED] {
            assert_eq!(read_resume_latency(&resume_latency(limit)), Some(limit));
        }
    }

    #[test]
    fn the_dma_file_wants_four_bytes_or_hexadecimal_text() {
        for us in [0, 10, 20, 1_000, LARGEST_US] {
            assert_eq!(read_dma_latency(&dma_latency(us * 1_000)), Some(us));
            let text = dma_latency_text(us * 1_000);
            assert_eq!(read_dma_latency(text.as_bytes()), Some(us), "{text}");
        }
        // What people write, and what they get.
        assert_eq!(read_dma_latency(b"10"), Some(16));
        assert_eq!(read_dma_latency(b"20\n"), Some(32));
        // Four characters are a binary number.
        assert_eq!(read_dma_latency(b"100\n"), Some(i64::from(i32::from_ne_bytes(*b"100\n"))));
        for refused in [&b"fffffffff"[..], b"", b"us", b"0x", b"--1"] {
            assert_eq!(read_dma_latency(refused), None, "{refused:?}");
        }
    }

    #[test]
    fn max_cstate_counts_states() {
        assert_eq!(max_cstate(0), MaxCstate::HandsOver);
        assert_eq!(max_cstate(2), MaxCstate::Deepest(2));
    }
}
