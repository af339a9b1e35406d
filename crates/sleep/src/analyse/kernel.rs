//! What the kernel release says about how devices are queued.
//!
//! Only the question that explains an observed start is asked here: was an
//! async device queued by the main thread's walk, and therefore not before the
//! synchronous devices that precede it in the walk had returned?

use crate::simulate::Kernel;

/// How a kernel queues its async devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// Suspend queues while walking; resume queues everything first. Up to
    /// 6.7, and 6.9 to 6.15 (without async devices before 2.6.34).
    TwoPass,
    /// Suspend and resume both queue while walking: 6.8, and stable series that
    /// took the change back.
    OnePass,
    /// Leaves and roots are queued first, others when the first device they
    /// depend on has finished: 6.16 and later.
    Triggered,
    /// The source does not name the kernel.
    Unknown,
}

impl Generation {
    /// From a release string such as `6.1.0-47-amd64`.
    pub fn of(release: &str) -> Generation {
        let Some(kernel) = Kernel::parse(release) else { return Generation::Unknown };
        match kernel.policy().name {
            "G0" | "G1" => Generation::TwoPass,
            "G1w" => Generation::OnePass,
            _ => Generation::Triggered,
        }
    }

    /// Whether a suspend phase queues an async device only when the walk
    /// reaches it. `None`: the kernel is not known.
    pub fn suspend_queues_in_walk(self) -> Option<bool> {
        match self {
            Generation::TwoPass | Generation::OnePass => Some(true),
            Generation::Triggered => Some(false),
            Generation::Unknown => None,
        }
    }

    /// The same for a resume phase.
    pub fn resume_queues_in_walk(self) -> Option<bool> {
        match self {
            Generation::OnePass => Some(true),
            Generation::TwoPass | Generation::Triggered => Some(false),
            Generation::Unknown => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_of_real_kernels() {
        assert_eq!(Generation::of("5.3.0+"), Generation::TwoPass);
        assert_eq!(Generation::of("6.1.0-47-amd64"), Generation::OnePass);
        assert_eq!(Generation::of("6.1.44"), Generation::TwoPass);
        assert_eq!(Generation::of("6.8.0-45-generic"), Generation::OnePass);
        assert_eq!(Generation::of("6.12.111"), Generation::TwoPass);
        assert_eq!(Generation::of("6.16-rc4"), Generation::Triggered);
        assert_eq!(Generation::of("7.2.12"), Generation::Triggered);
        assert_eq!(Generation::of(""), Generation::Unknown);
        assert_eq!(Generation::of("linux"), Generation::Unknown);
    }
}
