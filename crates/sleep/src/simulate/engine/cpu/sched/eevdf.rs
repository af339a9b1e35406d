//! EEVDF, the scheduler since 6.6 (kernel/sched/fair.c): who runs finishes its
//! slice, whoever is woken, and threads run in the order in which they came.

pub(in super::super) struct Eevdf;

impl Eevdf {
    pub(super) fn interrupts(&self) -> bool {
        false
    }

    pub(super) fn favours(&self) -> bool {
        false
    }

    pub(super) fn main_comes_last(&self) -> bool {
        false
    }
}
