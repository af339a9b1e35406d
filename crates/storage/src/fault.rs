//! What is wrong with the settings of a drive, as a table of them proves it.

use crate::levels::{ByItself, Drive};
use dormouse_base::finding::{Area, Confidence, Evidence, Finding, Level};

/// What tables of drives prove.
pub fn faults(drives: &[Drive]) -> Vec<Finding> {
    drives.iter().filter_map(empty_table).collect()
}

/// Autonomous transitions that are on and lead nowhere
/// (drivers/nvme/host/core.c:nvme_configure_apst, 6.12).
fn empty_table(d: &Drive) -> Option<Finding> {
    if d.by_itself() != Some(ByItself::EmptyTable) {
        return None;
    }
    let row =
        format!("{}: APST on, {} entries of its table, all 0 ms into state 0", d.name, d.entries);
    Some(
        Finding::new(("apst-empty", Area::Storage, Level::Risk), Confidence::Certain)
            .says(format!(
                "{} never saves power by itself: its autonomous transitions are on, and every entry \
                 of their table is empty.",
                d.name
            ))
            .look(
                "The kernel fills that table with states that can be left within its limit: compare \
                 the exit latencies of nvme id-ctrl with \
                 /sys/module/nvme_core/parameters/default_ps_max_latency_us.",
            )
            .shown_by([Evidence { text: row, ..Evidence::default() }]),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_table_is_a_fault_and_one_that_is_off_is_a_choice() {
        let drive =
            |apst, entries| Drive { name: "nvme3".into(), apst, entries, ..Drive::default() };
        let found = faults(&[drive(Some(true), 4)]);
        assert_eq!((found[0].id, found[0].level), ("apst-empty", Level::Risk));
        assert!(found[0].sentence.starts_with("nvme3 never saves power"), "{found:?}");
        assert!(faults(&[drive(Some(false), 4), drive(Some(true), 0), drive(None, 4)]).is_empty());
    }
}
