//! A device that waits to probe, as one line says it
//! (drivers/base/dd.c: deferred_devs_show, deferred_probe_timeout_work_func).

use dormouse_base::finding::Evidence;

/// Who says that it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// One attempt ended so; the next one may not.
    Attempt,
    /// The kernel, when it stopped waiting for more drivers.
    Pending,
    /// `devices_deferred` of debugfs.
    Listed,
    /// A person counted equal lines; the device is not known.
    Counted,
}

/// A device that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deferral {
    /// The device; empty if counted.
    pub device: String,
    /// Its driver, or its bus as long as none was asked; empty if the text does not say.
    pub driver: String,
    /// The reason; empty if the kernel gave none.
    pub reason: String,
    /// Who says so.
    pub source: Source,
    /// How often.
    pub times: u64,
    /// The line.
    pub evidence: Evidence,
}

/// What a reason names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need<'a> {
    /// A device that has no driver yet.
    Device(&'a str),
    /// A node that is no device yet.
    Node(&'a str),
    /// A supplier whose name the text lost.
    Lost,
}

impl Deferral {
    /// The supplier that the core names as the reason (drivers/base/core.c:
    /// device_links_check_suppliers), or that its words lost to a line that was cut.
    pub fn need(&self) -> Option<Need<'_>> {
        let word = |text: &'_ str| text.split(' ').next().unwrap_or("").len();
        if let Some((_, rest)) = self.reason.split_once("wait for supplier") {
            let rest = rest.trim_start();
            let name = &rest[..word(rest)];
            return Some(if name.is_empty() { Need::Lost } else { Need::Node(name) });
        }
        if matches!(self.reason.as_str(), "wait for" | "supplier" | "supplier not ready") {
            return Some(Need::Lost);
        }
        let (before, rest) = self.reason.split_once("supplier ")?;
        let name = &rest[..word(rest)];
        let rest = &rest[name.len()..];
        let cut = before.is_empty() && matches!(rest, "" | " not");
        ((cut || rest.starts_with(" not ready")) && !name.is_empty()).then_some(Need::Device(name))
    }
}
