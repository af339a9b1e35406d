//! What a sleep pays for a power domain.

use super::number::{ms, plural, share};
use dormouse_base::time::Ns;
use dormouse_power::cost::Cost;

/// Millionths as a number with up to three decimals: `0.12`, `432`, `0.001`.
fn millionths(n: u64) -> String {
    let thousandths = n / 1_000;
    let text = format!("{}.{:03}", thousandths / 1_000, thousandths % 1_000);
    text.trim_end_matches('0').trim_end_matches('.').into()
}

/// One sentence: the time, and what it draws.
pub fn paid(c: &Cost) -> String {
    let mut text = match &c.recorded {
        Some(r) => {
            let part = |t: Option<Ns>, way: &str| t.map(|t| format!("{} ms {way}", ms(t)));
            let parts: Vec<String> =
                [part(r.on, "to switch on"), part(r.off, "off")].into_iter().flatten().collect();
            let of = plural(r.sleeps, "recorded sleep");
            format!("{}: {} ({of})", c.domain, parts.join(" and "))
        }
        None if c.time == Ns::ZERO => format!("{}: time not known", c.domain),
        None => format!(
            "{}: at most {} ms off and on together, as its idle states say; a device tree's figures \
             are not measured",
            c.domain,
            ms(c.time)
        ),
    };
    let Some(uw) = c.microwatts else { return text };
    text += &format!("; at {} W", millionths(uw));
    if let Some(nj) = c.switches_nj().filter(|_| c.time > Ns::ZERO) {
        text += &format!(" its switches draw at most {} mJ,", millionths(nj));
    }
    if let Some(uj) = c.hour_uj() {
        text += &format!(" staying on draws {} J an hour", millionths(uj));
    }
    if let (Some((on, all)), Some(uj)) = (c.on_ms, c.since_boot_uj()) {
        let part = share(Ns(to_ns(on)), Ns(to_ns(all)));
        text += &format!(
            ", and it was on {part} of the time since boot ({} J; the kernel counts wrongly once it \
             has slept)",
            millionths(uj)
        );
    }
    text
}

fn to_ns(ms: u64) -> i64 {
    i64::try_from(ms.saturating_mul(1_000_000)).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_power::switched::Switched;

    #[test]
    fn a_sleep_pays_time_and_energy() {
        let recorded = Switched {
            domain: "gpu".into(),
            on: Some(Ns(8_010_000)),
            off: Some(Ns(2_000_000)),
            sleeps: 3,
        };
        let mut c = Cost {
            domain: "gpu".into(),
            recorded: Some(recorded),
            time: Ns(10_010_000),
            microwatts: None,
            on_ms: None,
        };
        assert_eq!(paid(&c), "gpu: 8.01 ms to switch on and 2.00 ms off (3 recorded sleeps)");
        c.microwatts = Some(120_000);
        assert!(
            paid(&c).ends_with(
                "; at 0.12 W its switches draw at most 1.201 mJ, staying on draws 432 J an hour"
            ),
            "{}",
            paid(&c)
        );
        (c.recorded, c.on_ms) = (None, Some((5_600, 5_720)));
        let text = paid(&c);
        assert!(text.starts_with("gpu: at most 10.01 ms off and on together"), "{text}");
        assert!(text.contains("it was on 98 % of the time since boot (0.672 J;"), "{text}");
        (c.time, c.on_ms) = (Ns::ZERO, None);
        assert_eq!(paid(&c), "gpu: time not known; at 0.12 W staying on draws 432 J an hour");
    }
}
