//! Delays that are planted in a guest, with who makes each: what a reader of its journal should
//! find. The files of a delay are those that a person would write.

use super::root::UNITS;
use crate::initramfs::Initramfs;
use dormouse_base::stats::random::Random;
use std::fmt;
use std::time::Duration;

/// Where a delay is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A program holds a delay lock longer than logind waits for it.
    Lock,
    /// A unit that is ordered before the sleep.
    UnitBefore,
    /// A hook of systemd-sleep before the kernel is asked.
    HookBefore,
    /// A hook behind the kernel's return.
    HookAfter,
    /// A unit that is ordered behind the unit of the sleep.
    UnitAfter,
    /// A program that says when it is ready, by `dormouse: mark NAME`.
    App,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 6] = [
        Kind::Lock,
        Kind::UnitBefore,
        Kind::HookBefore,
        Kind::HookAfter,
        Kind::UnitAfter,
        Kind::App,
    ];

    /// As a list of delays names it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Lock => "lock",
            Kind::UnitBefore => "unit-before",
            Kind::HookBefore => "hook-before",
            Kind::HookAfter => "hook-after",
            Kind::UnitAfter => "unit-after",
            Kind::App => "app",
        }
    }

    /// The kind called `name`.
    pub fn find(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|k| k.name() == name)
    }
}

/// One delay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delay {
    /// Where it is.
    pub kind: Kind,
    /// Who makes it: letters, digits, `-`.
    pub owner: String,
    /// How long.
    pub took: Duration,
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}={}ms", self.kind.name(), self.owner, self.took.as_millis())
    }
}

/// What owners are called.
const VERBS: [&str; 8] = ["park", "save", "flush", "stop", "check", "seal", "sync", "hold"];
const NOUNS: [&str; 8] = ["arm", "notes", "cache", "pump", "lens", "vault", "mixer", "index"];

/// Delays by `seed`: of each kind at most one, 150 ms to 4 s.
pub fn drawn(seed: u64) -> Vec<Delay> {
    let mut random = Random::new(seed);
    let mut pick = |n: usize| random.below(n as u64) as usize;
    let mut all = Vec::new();
    for kind in Kind::ALL {
        if pick(2) == 0 {
            continue;
        }
        let owner = format!("{}-{}{}", VERBS[pick(8)], NOUNS[pick(8)], all.len() + 1);
        // logind knows whole seconds (InhibitDelayMaxSec is a time span; its default is 5 s).
        let ms = if kind == Kind::Lock { 1_000 * (1 + pick(4)) } else { 150 + pick(3_850) };
        all.push(Delay { kind, owner, took: Duration::from_millis(ms as u64) });
    }
    all
}

/// A delay as [`Delay`] prints it.
///
/// # Errors
/// What is wrong with it, and how it is written.
pub fn parse(text: &str) -> Result<Delay, String> {
    let kinds: Vec<&str> = Kind::ALL.iter().map(|k| k.name()).collect();
    let advice = || format!("write KIND:OWNER=MSms, with a kind of {}", kinds.join(", "));
    let (kind, rest) = text.split_once(':').ok_or_else(advice)?;
    let (owner, took) = rest.split_once('=').ok_or_else(advice)?;
    let kind = Kind::find(kind).ok_or_else(advice)?;
    let good = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
    if owner.is_empty() || owner.len() > 32 || !owner.bytes().all(good) {
        return Err(format!("{owner:?} is no owner: write letters, digits and -"));
    }
    let ms = took.strip_suffix("ms").and_then(|n| n.parse::<u64>().ok()).filter(|n| *n <= 60_000);
    let took = Duration::from_millis(ms.ok_or_else(advice)?);
    Ok(Delay { kind, owner: owner.into(), took })
}

/// Puts the files of a delay into the archive.
pub(super) fn plant(archive: &mut Initramfs, delay: &Delay) {
    let Delay { kind, owner, took } = delay;
    let seconds = took.as_secs_f64();
    let mut unit = |wanted: &str, text: String| {
        archive.file(&format!("{UNITS}/{owner}.service"), 0o644, text.as_bytes());
        archive.link(
            &format!("{UNITS}/{wanted}.wants/{owner}.service"),
            &format!("../{owner}.service"),
        );
    };
    match kind {
        Kind::UnitBefore => unit(
            "sleep.target",
            format!(
                "[Unit]\nDescription=Work of {owner}\nBefore=sleep.target\n\
                 [Service]\nType=oneshot\nExecStart=/usr/bin/sleep {seconds}\n"
            ),
        ),
        Kind::UnitAfter => unit(
            "suspend.target",
            format!(
                "[Unit]\nDescription=Work of {owner}\nAfter=suspend.target\n\
                 [Service]\nType=oneshot\nExecStart=/usr/bin/sleep {seconds}\n"
            ),
        ),
        Kind::App => unit(
            "suspend.target",
            format!(
                "[Unit]\nDescription=Work of {owner}\nAfter=suspend.target\n\
                 [Service]\nExecStart=/bin/sh -c 'sleep {seconds}; logger \"dormouse: mark {owner}\"'\n"
            ),
        ),
        Kind::HookBefore | Kind::HookAfter => {
            let when = if *kind == Kind::HookBefore { "pre" } else { "post" };
            let text = format!("#!/bin/sh\n[ \"$1\" != {when} ] || sleep {seconds}\n");
            archive.file(&format!("{HOOKS}/{owner}"), 0o755, text.as_bytes());
        }
        Kind::Lock => {
            // It never lets go by itself; logind stops waiting.
            let text = format!(
                "[Unit]\nDescription=Work of {owner}\n[Service]\nExecStart=/usr/bin/systemd-inhibit \
                 --what=sleep --mode=delay --who={owner} --why=work /usr/bin/sleep infinity\n"
            );
            unit("multi-user.target", text);
            let limit = format!("[Login]\nInhibitDelayMaxSec={seconds}\n");
            archive.file("/etc/systemd/logind.conf.d/lab.conf", 0o644, limit.as_bytes());
        }
    }
}

/// Where systemd-sleep looks for hooks (systemd-suspend.service(8)).
pub(super) const HOOKS: &str = "/usr/lib/systemd/system-sleep";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_read_as_it_is_written() {
        for seed in 0..50 {
            for d in drawn(seed) {
                assert_eq!(parse(&d.to_string()), Ok(d));
            }
        }
        let said = |text: &str| parse(text).expect_err(text);
        assert!(said("hook:x=1ms").contains("hook-before"));
        assert!(said("app:a b=1ms").contains("no owner"));
        assert!(said("app:a=1").contains("MSms"));
    }

    #[test]
    fn seeds_draw_every_kind_and_each_at_most_once() {
        let mut seen: Vec<Kind> = Vec::new();
        for seed in 0..50 {
            let mut kinds: Vec<Kind> = drawn(seed).iter().map(|d| d.kind).collect();
            seen.extend(&kinds);
            let all = kinds.len();
            kinds.dedup();
            assert_eq!(kinds.len(), all);
        }
        assert!(Kind::ALL.iter().all(|k| seen.contains(k)));
    }
}
