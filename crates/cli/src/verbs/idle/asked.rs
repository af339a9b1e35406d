//! Options of `dormouse idle` that several verbs have, and their values.

use crate::number::number;
pub(crate) use crate::number::{cpus, time};
use anyhow::Result;
use clap::Args;
use dormouse_app::idle::{Limit, Present, Watts};
use dormouse_idle::governors::{Kind, Version};
use dormouse_words::wording::next::typed;
use std::path::PathBuf;

/// How the input was recorded.
#[derive(Args)]
pub(crate) struct PresentArgs {
    /// Governor of the recording, if the dump does not name it.
    #[arg(long, value_name = "GOVERNOR", value_parser = kind)]
    from_governor: Option<Kind>,
    /// Kernel of the recording: 6.1, 6.12 or 7.2; what the recording says, else
    /// 6.12, if absent.
    #[arg(long, value_name = "V", value_parser = version)]
    from_kernel: Option<Version>,
    /// Ticks a second (CONFIG_HZ).
    #[arg(long, default_value_t = 250, value_parser = number::<u32>(24, 10_000))]
    hz: u32,
}

impl PresentArgs {
    /// The options as they were typed, each behind a blank; defaults are left out.
    pub(crate) fn typed(&self) -> String {
        let mut out = String::new();
        if let Some(governor) = self.from_governor {
            out += &format!(" --from-governor {}", governor.name());
        }
        if let Some(version) = self.from_kernel {
            out += &format!(" --from-kernel {}", version.name());
        }
        if self.hz != 250 {
            out += &format!(" --hz {}", self.hz);
        }
        out
    }

    /// As the use cases take it.
    pub(crate) fn present(&self) -> Present {
        Present { governor: self.from_governor, version: self.from_kernel, hz: self.hz }
    }
}

/// The power of states.
#[derive(Args)]
pub(crate) struct WattsArgs {
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
    pub(crate) fn read(&self) -> Result<Option<Watts>> {
        self.watts.as_deref().map(Watts::parse).transpose()
    }
}

/// Inputs as words of a next command.
pub(crate) fn typed_all(paths: &[PathBuf]) -> String {
    paths.iter().map(|p| typed(&p.display().to_string())).collect::<Vec<_>>().join(" ")
}

/// A governor by name.
pub(crate) fn kind(text: &str) -> Result<Kind, String> {
    Kind::named(text).ok_or_else(|| "write menu, teo, ladder or haltpoll".into())
}

/// A kernel whose governors are known.
pub(crate) fn version(text: &str) -> Result<Version, String> {
    Version::of(text).ok_or_else(|| {
        let names: Vec<&str> = Version::ALL.iter().map(|v| v.name()).collect();
        format!("the governors of these kernels are known: {}", names.join(", "))
    })
}

/// `50us`, `50us@2-3`: a limit and the CPUs that it holds for.
pub(crate) fn limit(text: &str) -> Result<Limit, String> {
    let (ns, list) = text.split_once('@').map_or((text, None), |(a, b)| (a, Some(b)));
    let cpus = list.map(cpus).transpose()?.unwrap_or_default();
    Ok(Limit { ns: time(ns)?, cpus })
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
