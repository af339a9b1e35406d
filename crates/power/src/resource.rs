//! What a kernel can be told to leave on: `pd_ignore_unused` and its like.

/// What a kernel can be told to leave on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// Power domains.
    Domains,
    /// Clocks.
    Clocks,
    /// Regulators.
    Regulators,
}

impl Resource {
    /// `clocks`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Resource::Domains => "power domains",
            Resource::Clocks => "clocks",
            Resource::Regulators => "regulators",
        }
    }
}
