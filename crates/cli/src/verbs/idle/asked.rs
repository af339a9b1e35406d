//! Options of `dormouse idle` that several verbs have, and their values.

use anyhow::Result;
use clap::Args;
use dormouse_app::idle::{Limit, Present, Watts};
use dormouse_idle::governors::{Kind, Version};

/// How the input was recorded.
#[derive(Args)]
pub struct PresentArgs {
    /// Governor of the recording, if the dump does not name it.
    #[arg(long, value_name = "GOVERNOR", value_parser = kind)]
    from_governor: Option<Kind>,
    /// Kernel of the recording: 6.12 or 7.2.
    #[arg(long, value_name = "V", value_parser = version, default_value = "6.12")]
    from_kernel: Version,
    /// Ticks a second (CONFIG_HZ).
    #[arg(long, default_value_t = 250, value_parser = clap::value_parser!(u32).range(24..=10_000))]
    hz: u32,
}

impl PresentArgs {
    /// As the use cases take it.
    pub fn present(&self) -> Present {
        Present { governor: self.from_governor, version: self.from_kernel, hz: self.hz }
    }
}

/// The power of states.
#[derive(Args)]
pub struct WattsArgs {
    /// Power of each state of a CPU (POLL=3W,C1=800mW; active= at work, base= of
    /// the rest), or one of Wattson's tables. Without it only ratios are known.
    #[arg(long, value_name = "LIST|FILE")]
    watts: Option<String>,
}

impl WattsArgs {
    /// The powers, if given.
    ///
    /// # Errors
    /// If they cannot be understood or read.
    pub fn read(&self) -> Result<Option<Watts>> {
        self.watts.as_deref().map(Watts::parse).transpose()
    }
}

/// A governor by name.
pub fn kind(text: &str) -> Result<Kind, String> {
    Kind::named(text).ok_or_else(|| "the governors are menu, teo, ladder, haltpoll".into())
}

/// A kernel whose governors are known.
pub fn version(text: &str) -> Result<Version, String> {
    let known = if text.starts_with("7.3") { Some(Version::V7_2) } else { Version::named(text) };
    known.ok_or_else(|| {
        let names: Vec<&str> = Version::ALL.iter().map(|v| v.name()).collect();
        format!("the governors of these kernels are known: {}", names.join(", "))
    })
}

/// `50us`, `1ms`, `300ns`, `0`: in ns.
pub fn time(text: &str) -> Result<i64, String> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit: i64 = match (&text[end..], &text[..end]) {
        ("ns", _) | ("", "0") => 1,
        ("us", _) => 1_000,
        ("ms", _) => 1_000_000,
        _ => return Err("a time with its unit, such as 50us".into()),
    };
    let n: i64 = text[..end].parse().map_err(|_| "a time with its unit, such as 50us")?;
    n.checked_mul(unit).ok_or_else(|| "that is too long".into())
}

/// `50us`, `50us@2-3`: a limit and the CPUs that it holds for.
pub fn limit(text: &str) -> Result<Limit, String> {
    let (ns, list) = text.split_once('@').map_or((text, None), |(a, b)| (a, Some(b)));
    let cpus = list.map(cpus).transpose()?.unwrap_or_default();
    Ok(Limit { ns: time(ns)?, cpus })
}

/// `0-3,8`.
pub fn cpus(text: &str) -> Result<Vec<u32>, String> {
    /// As many as a kernel is built for (`CONFIG_NR_CPUS_RANGE_END`, x86).
    const MOST: u32 = 8_192;
    let odd = || format!("CPUs are listed as 0-3,8: {text}");
    let mut out = Vec::new();
    for part in text.split(',') {
        let (a, b) = part.split_once('-').unwrap_or((part, part));
        let (a, b): (u32, u32) = (a.parse().map_err(|_| odd())?, b.parse().map_err(|_| odd())?);
        if a > b || b >= MOST {
            return Err(odd());
        }
        out.extend(a..=b);
    }
    out.sort_unstable();
    out.dedup();
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_may_name_cpus() {
        assert_eq!(limit("50us"), Ok(Limit { ns: 50_000, cpus: vec![] }));
        assert_eq!(limit("0@2-3,7"), Ok(Limit { ns: 0, cpus: vec![2, 3, 7] }));
        for bad in ["50", "50us@", "50us@3-2", "50us@x", "us", "50us@0-9999999", "-1us"] {
            assert!(limit(bad).is_err(), "{bad}");
        }
    }
}
