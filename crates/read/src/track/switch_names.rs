//! What events of power domains are called (crates/machine/src/domains.rs).

/// Their names: a domain begins to be switched on or off,
/// and the end of that.
pub(super) const EVENTS: [(&[u8], bool, bool); 4] = [
    (b"genpd_on", true, true),
    (b"genpd_on_end", true, false),
    (b"genpd_off", false, true),
    (b"genpd_off_end", false, false),
];

/// Whether `name` is one of these events.
pub(crate) fn is_switch(name: &[u8]) -> bool {
    name.starts_with(b"genpd_o") && EVENTS.iter().any(|e| e.0 == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_these_events_are_switches() {
        assert!(is_switch(b"genpd_on") && is_switch(b"genpd_off_end"));
        assert!(!is_switch(b"genpd_other") && !is_switch(b"genpd_o"));
    }
}
