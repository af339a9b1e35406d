//! All CPUs' records in order of time.

use super::ring::CpuReader;
use super::unpack::Budget;
use dormouse_base::loss::Losses;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Hands every record to `take`, earliest first; of equal times the CPU that
/// the file lists first. Only the record at hand of every CPU is looked at, so
/// memory does not grow with the trace.
pub(super) fn merge<'a>(
    readers: &mut [CpuReader<'a>],
    budget: &mut Budget,
    losses: &mut Losses,
    mut take: impl FnMut(&CpuReader<'a>, &mut Losses),
) {
    let mut heap = BinaryHeap::with_capacity(readers.len());
    for (i, r) in readers.iter_mut().enumerate() {
        if r.advance(budget, losses) {
            heap.push(Reverse((r.current().time, i)));
        }
    }
    while let Some(Reverse((_, i))) = heap.pop() {
        // Mostly the same CPU is next again: stay with it without the heap.
        let limit = heap.peek().copied();
        loop {
            take(&readers[i], losses);
            if !readers[i].advance(budget, losses) {
                break;
            }
            let key = Reverse((readers[i].current().time, i));
            if limit.is_some_and(|l| key < l) {
                heap.push(key);
                break;
            }
        }
    }
}
