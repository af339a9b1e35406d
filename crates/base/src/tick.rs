//! The length of a tick (CONFIG_HZ), which kernels print in passing while they boot.

use crate::time::Ns;

/// The clock source of jiffies is given up after so many ticks, in thousandths:
/// `clocks_calc_max_nsecs` (kernel/time/clocksource.c) takes half of what is left of
/// 2^32 - 1 ticks when the 11 % are gone by which the clock may be adjusted.
const MAX_IDLE: i128 = 1_911_260_446_275;

/// What `text`, a message of the kernel or a line of its configuration, says of it.
pub fn tick(text: &[u8]) -> Option<Ns> {
    let hz = if let Some(rest) = text.strip_prefix(b"clocksource: jiffies: ") {
        let at = find(rest, b"max_idle_ns: ")?;
        let idle = digits(&rest[at + b"max_idle_ns: ".len()..])?;
        MAX_IDLE * 1_000_000 / i128::from(idle.max(1))
    } else if text.starts_with(b"Calibrating delay loop") {
        // `calibrate_delay` (init/calibrate.c): loops a second over 500,000.
        let at = find(text, b" BogoMIPS (lpj=")?;
        let loops = digits(&text[at + b" BogoMIPS (lpj=".len()..])?;
        let word = text[..at].rsplit(|b| !b.is_ascii_digit() && *b != b'.').next()?;
        let (whole, part) = match word.iter().position(|&b| b == b'.') {
            Some(dot) => (&word[..dot], &word[dot + 1..]),
            None => (word, &b"00"[..]),
        };
        let hundredths = i128::from(digits(whole)?) * 100 + i128::from(digits(part)?);
        let (per, loops) = (hundredths * 5_000, i128::from(loops.max(1)));
        (per + loops / 2) / loops
    } else if let Some(rest) = text.strip_prefix(b"sched_clock: ") {
        // Where jiffies are the clock of the scheduler; others give kHz and MHz.
        let at = find(rest, b" bits at ")? + b" bits at ".len();
        let end = find(&rest[at..], b" Hz, ")?;
        i128::from(digits(&rest[at..at + end])?)
    } else {
        i128::from(digits(text.strip_prefix(b"CONFIG_HZ=")?)?)
    };
    // Kernels offer 24 (Alpha, ARM's small ones) to 1,200.
    let hz = i64::try_from(hz).ok().filter(|hz| (24..=1_200).contains(hz))?;
    Some(Ns(1_000_000_000 / hz))
}

/// Where `word` begins in a line, which is short.
fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|w| w == word)
}

fn digits(text: &[u8]) -> Option<u64> {
    let n = text.iter().take_while(|b| b.is_ascii_digit()).count();
    std::str::from_utf8(&text[..n]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tick_is_read_off_what_kernels_print() {
        let us = |n| Some(Ns::from_us(n));
        let jiffies = |idle: u64| {
            let mask = "mask: 0xffffffff max_cycles: 0xffffffff";
            tick(format!("clocksource: jiffies: {mask}, max_idle_ns: {idle} ns").as_bytes())
        };
        assert_eq!(jiffies(7_645_041_785_100_000), us(4_000));
        assert_eq!(jiffies(1_911_260_446_275_000), us(1_000));
        assert_eq!(jiffies(19_112_604_462_750_000), us(10_000));
        assert_eq!(jiffies(6_370_867_519_511_994), Some(Ns(3_333_333)));
        let loops = "value calculated using timer frequency.. 5387.39 BogoMIPS (lpj=2693697)";
        assert_eq!(
            tick(format!("Calibrating delay loop (skipped), {loops}").as_bytes()),
            us(1_000)
        );
        let loops =
            b"Calibrating delay loop (skipped) preset value.. 5606.40 BogoMIPS (lpj=11212800)";
        assert_eq!(tick(loops), us(4_000));
        let clock = |at: &str| tick(format!("sched_clock: {at}, resolution 1ns").as_bytes());
        assert_eq!(clock("32 bits at 100 Hz"), us(10_000));
        assert_eq!(clock("56 bits at 24MHz"), None);
        assert_eq!(tick(b"CONFIG_HZ=250"), us(4_000));
        for nothing in ["CONFIG_HZ=y", "CONFIG_HZ=0", "Calibrating delay loop... (lpj=", "Linux"] {
            assert_eq!(tick(nothing.as_bytes()), None, "{nothing}");
        }
    }
}
