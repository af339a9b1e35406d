//! Kernel releases and the generation of scheduling they have.

use super::policy::{G0, G1, G1_BEFORE_5_6, G1W, G2, G3, G4, Policy, SERIES};
use std::fmt;

/// A kernel release, as far as scheduling needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kernel {
    /// 6 of 6.12.117.
    pub major: u32,
    /// 12 of 6.12.117.
    pub minor: u32,
    /// 117 of 6.12.117; `None` of a series such as 6.12, which stands for its
    /// newest release.
    pub patch: Option<u32>,
    /// 47 of Debian's `6.1.0-47-amd64`, whose patch level is always 0.
    pub abi: Option<u32>,
    /// It has the patches of kernel/upstream: `:series` behind the release.
    pub series: bool,
}

/// What stands behind a release that has them.
const WITH_SERIES: &str = ":series";

impl Kernel {
    /// Reads a release such as `6.1.76`, `6.12.117+deb12-amd64`,
    /// `6.1.0-47-amd64`, `7.3~rc7` or `Linux version 5.10.0 …`, or a series such
    /// as `6.12`; `None` if it does not begin with two numbers.
    ///
    /// Behind it may stand that it has the patches of kernel/upstream: `7.3:series`.
    pub fn parse(text: &str) -> Option<Kernel> {
        let text = text.trim();
        let patched = text.strip_suffix(WITH_SERIES);
        let (text, series) = (patched.unwrap_or(text), patched.is_some());
        let text = text.strip_prefix("Linux version ").unwrap_or(text);
        let text = text.strip_prefix(['v', 'V']).unwrap_or(text);
        let (major, rest) = number(text)?;
        let (minor, rest) = number(rest.strip_prefix('.')?)?;
        let (patch, rest) = match rest.strip_prefix('.').and_then(number) {
            Some((p, r)) => (Some(p), r),
            // A candidate such as 7.3~rc7 comes before the first release.
            None => (Some(0).filter(|_| !rest.is_empty()), rest),
        };
        let abi = match rest.strip_prefix('-').and_then(number) {
            // A Debian ABI number is followed by `-` or ends the release.
            Some((n, r)) if patch == Some(0) && (r.is_empty() || r.starts_with('-')) => Some(n),
            _ => None,
        };
        // Anything may follow, but not another digit run glued by a letter
        // such as `6.12abc`: the release must end or continue with a mark.
        match rest.chars().next() {
            None => {}
            Some(c) if !c.is_ascii_alphanumeric() => {}
            Some(_) => return None,
        }
        Some(Kernel { major, minor, patch, abi, series })
    }

    /// The generation of scheduling this kernel has, with `pm_async` on.
    pub fn policy(&self) -> &'static Policy {
        if self.series {
            return &SERIES;
        }
        match (self.major, self.minor, self.patch.unwrap_or(u32::MAX)) {
            // Asynchronous suspend came with 2.6.34 (2010).
            (0..=1, ..) | (2, 0..=5, _) | (2, 6, 0..=33) => &G0,
            (6, 1, 76..) | (6, 6, 15..) | (6, 8, _) => &G1W,
            // Debian 12's ABI 18 is 6.1.76.
            (6, 1, 0) if self.abi.is_some_and(|n| n >= 18) => &G1W,
            (0..=4, ..) | (5, 0..=5, _) => &G1_BEFORE_5_6,
            (5, ..) | (6, 0..=15, _) => &G1,
            (6, 16, _) => &G2,
            (6, 17, 0..=7) => &G3,
            _ => &G4,
        }
    }

    /// Whether the patches of kernel/upstream are written for it.
    pub fn takes_series(&self) -> bool {
        (self.major, self.minor) == (7, 3)
    }

    /// Newer than every kernel whose source the rules were read from.
    pub fn is_beyond_knowledge(&self) -> bool {
        (self.major, self.minor) > (7, 3)
    }

    /// A woken thread that slept for long takes the CPU of the one that woke it:
    /// CFS does so; EEVDF, since 6.6, lets that one finish its slice.
    pub(crate) fn wakeups_preempt(&self) -> bool {
        (self.major, self.minor) < (6, 6)
    }

    /// Right after CPUs came up the scheduler looks for idle ones beyond those a
    /// thread knows. From 6.0 on (`SIS_UTIL`) it searches a domain only after it
    /// has balanced there once, and CPUs that come up make it build its domains
    /// anew. Traces show that 6.12 does not search before the first tick, and
    /// that 7.3 does.
    pub(crate) fn searches_new_domains(&self) -> bool {
        self.major < 6 || self.major >= 7
    }

    /// Most async items that may be active at once, one NUMA node.
    ///
    /// Up to 6.8 they share `system_unbound_wq` (512, or four a CPU if that is
    /// more); 6.9 gave them a queue of their own with 256, and 6.13 raised
    /// `WQ_MAX_ACTIVE`, so that it has 1024.
    pub fn max_active(&self, cpus: u32) -> u32 {
        match (self.major, self.minor) {
            (0..=5, _) | (6, 0..=8) => cpus.saturating_mul(4).max(512),
            (6, 9..=12) => 256,
            _ => 1024,
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        if let Some(patch) = self.patch.filter(|&p| p > 0) {
            write!(f, ".{patch}")?;
        }
        if let Some(abi) = self.abi {
            write!(f, ".0-{abi}")?;
        }
        if self.series {
            f.write_str(WITH_SERIES)?;
        }
        Ok(())
    }
}

/// A decimal number at the begin of `text`, and what follows.
fn number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// What `--kernel` names: a policy, or a release.
///
/// # Errors
/// The text, if it is neither.
pub fn choose(text: &str) -> Result<(&'static Policy, Option<Kernel>), UnknownKernel<'_>> {
    if let Some(p) = Policy::find(text) {
        return Ok((p, None));
    }
    // Another word behind a colon is a slip of the pen.
    let slip = |k: &Kernel| !k.series && text.contains(':') && !text.contains(' ');
    match Kernel::parse(text) {
        Some(k) if !slip(&k) => Ok((k.policy(), Some(k))),
        _ => Err(UnknownKernel(text)),
    }
}

/// The rules of the kernel `release`, if that is one.
pub fn rules(release: &str) -> Option<&'static Policy> {
    Kernel::parse(release).map(|k| k.policy())
}

/// Neither a policy nor a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownKernel<'a>(pub &'a str);

impl fmt::Display for UnknownKernel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "\"{}\" is no kernel release and no policy; give a release such as 6.12 or 6.17.8, or one of",
            self.0
        )?;
        for p in super::policy::ALL {
            write!(f, " {}", p.name)?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownKernel<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_map_to_generations() {
        for (release, policy) in [
            ("2.6.32", "G0"),
            ("3.15.0-rc5", "G1"),
            ("5.3.0", "G1"),
            ("5.10.0-28-amd64", "G1"),
            ("6.1", "G1w"),
            ("6.1.0", "G1"),
            ("6.1-rc3", "G1"),
            ("6.1.75", "G1"),
            ("6.1.76", "G1w"),
            ("6.1.192", "G1w"),
            ("6.1.0-17-amd64", "G1"),
            ("6.1.0-47-amd64", "G1w"),
            ("6.6.14", "G1"),
            ("6.6.15", "G1w"),
            ("6.6", "G1w"),
            ("2.6", "G1"),
            ("6.7", "G1"),
            ("6.7.9", "G1"),
            ("6.8", "G1w"),
            ("6.8.0-31-generic", "G1w"),
            ("6.9", "G1"),
            ("6.12", "G1"),
            ("6.12.117+deb12-amd64", "G1"),
            ("6.15.11", "G1"),
            ("6.16.12+deb14-amd64", "G2"),
            ("6.17", "G4"),
            ("6.17-rc1", "G3"),
            ("6.17.0-5-generic", "G3"),
            ("6.17.7", "G3"),
            ("6.17.8", "G4"),
            ("6.17.13+deb14+1-amd64", "G4"),
            ("6.18", "G4"),
            ("7.3~rc7", "G4"),
            ("7.2.12+deb14-amd64", "G4"),
            ("7.3.4", "G4"),
            ("Linux version 6.12.1 (gcc)", "G1"),
        ] {
            let kernel = Kernel::parse(release).expect(release);
            assert_eq!(kernel.policy().name, policy, "{release}");
        }
        let patched = Kernel::parse("7.3.4:series").expect("a release");
        assert_eq!(
            (patched.policy().name, patched.to_string().as_str()),
            ("series", "7.3.4:series")
        );
        assert!(choose("7.3:seris").is_err() && choose("7.3:series").is_ok());
        for bad in ["", "6", "six.one", "6.", "6.12x", "99999999999.1"] {
            assert_eq!(Kernel::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn rules_say_what_queues_in_the_walk() {
        use dormouse_base::phase::Direction::{Resume, Suspend};
        for (release, suspend, resume) in [
            ("5.3.0+", true, false),
            ("6.1.44", true, false),
            ("6.1.0-47-amd64", true, true),
            ("6.8.0-45-generic", true, true),
            ("6.12.111", true, false),
            ("6.16-rc4", false, false),
            ("7.2.12", false, false),
        ] {
            let p = rules(release).expect(release);
            let both = (p.queues_in_walk(Suspend), p.queues_in_walk(Resume));
            assert_eq!(both, (suspend, resume), "{release}");
        }
        assert_eq!((rules(""), rules("linux")), (None, None));
    }

    #[test]
    fn limits_follow_the_workqueue() {
        let limit = |r: &str, cpus| Kernel::parse(r).expect(r).max_active(cpus);
        assert_eq!(limit("6.1", 4), 512);
        assert_eq!(limit("6.1", 256), 1024);
        assert_eq!(limit("6.12.5", 4), 256);
        assert_eq!(limit("6.16.12", 4), 1024);
        assert_eq!(limit("7.2", 4), 1024);
    }
}
