//! Starts that changed their order: what a change of a kernel's scheduling does, seen
//! callback by callback.

use super::figure::DeviceFigure;
use super::seen::{DeviceName, Seen, device_names};
use super::{Subject, gather};
use crate::analyse::path::Reason;
use crate::analyse::start::starts;
use dormouse_base::stats::describe::middle;
use dormouse_base::time::Ns;
use std::collections::BTreeMap;

/// Starts that moved by less are not worth a line.
pub const AT_LEAST: Ns = Ns(100_000);

/// When a callback starts on one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begin<'a> {
    /// After the begin of its phase; the median over cycles.
    pub at: Ns,
    /// Why, in the first cycle; `None` where nothing is said.
    pub reason: Option<Reason>,
    /// The device after which it started there.
    pub after: Option<DeviceName<'a>>,
}

/// A callback that starts among others than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved<'a> {
    /// Which.
    pub figure: DeviceFigure<'a>,
    /// On the first side and on the other.
    pub begin: [Begin<'a>; 2],
    /// Callbacks of its phase that started before it on the first side and start
    /// after it on the other.
    pub passes: u32,
    /// The other way round.
    pub passed_by: u32,
}

impl Moved<'_> {
    /// How much later it starts; negative: earlier.
    pub fn later(&self) -> Ns {
        self.begin[1].at - self.begin[0].at
    }
}

/// Callbacks that both sides have, whose place among the others and whose start (by
/// [`AT_LEAST`]) differ; those that pass most others first, then by time. `n log n` in callbacks.
pub fn moved<'a>(a: &Subject<'a>, b: &Subject<'a>) -> Vec<Moved<'a>> {
    let [a, b] = [begins(&gather(a).1), begins(&gather(b).1)];
    let mut out = Vec::new();
    let mut phases: BTreeMap<_, Vec<(DeviceFigure<'a>, [Begin<'a>; 2])>> = BTreeMap::new();
    for (figure, before) in &a {
        if let Some(after) = b.get(figure) {
            phases.entry(figure.phase).or_default().push((*figure, [*before, *after]));
        }
    }
    for mut list in phases.into_values() {
        list.sort_by_key(|(figure, begin)| (begin[0].at, begin[1].at, *figure));
        let mut then: Vec<u32> = (0..list.len() as u32).collect();
        then.sort_by_key(|&i| (list[i as usize].1[1].at, i));
        let mut place = vec![0u32; list.len()];
        for (at, &i) in then.iter().enumerate() {
            place[i as usize] = at as u32;
        }
        let (passes, passed_by) = passed(&place);
        for (i, (figure, begin)) in list.into_iter().enumerate() {
            let moved = Moved { figure, begin, passes: passes[i], passed_by: passed_by[i] };
            if moved.passes + moved.passed_by > 0 && Ns(moved.later().0.abs()) >= AT_LEAST {
                out.push(moved);
            }
        }
    }
    out.sort_by_key(|m| (std::cmp::Reverse(m.passes + m.passed_by), -m.later().0.abs(), m.figure));
    out
}

/// For each element how many before it have a greater place, and how many after it a
/// smaller one.
fn passed(place: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut seen = Counter(vec![0; place.len() + 1]);
    let mut before = Vec::with_capacity(place.len());
    let mut after = Vec::with_capacity(place.len());
    for (i, &p) in place.iter().enumerate() {
        let smaller = seen.below(p);
        before.push(i as u32 - smaller);
        // All smaller places are p; those not yet seen come after.
        after.push(p - smaller);
        seen.add(p);
    }
    (before, after)
}

/// How many of the places added so far are below one (a Fenwick tree).
struct Counter(Vec<u32>);

impl Counter {
    fn add(&mut self, place: u32) {
        let mut at = place as usize + 1;
        while let Some(cell) = self.0.get_mut(at) {
            *cell += 1;
            at += at & at.wrapping_neg();
        }
    }

    fn below(&self, place: u32) -> u32 {
        let (mut at, mut sum) = (place as usize, 0);
        while at > 0 {
            sum += self.0[at];
            at -= at & at.wrapping_neg();
        }
        sum
    }
}

/// When each callback starts, after the begin of its phase.
fn begins<'a>(side: &[Seen<'a>]) -> BTreeMap<DeviceFigure<'a>, Begin<'a>> {
    let mut times: BTreeMap<DeviceFigure<'a>, Vec<Ns>> = BTreeMap::new();
    let mut why: BTreeMap<DeviceFigure<'a>, (Option<Reason>, Option<DeviceName<'a>>)> =
        BTreeMap::new();
    for (nth, seen) in side.iter().enumerate() {
        let names = device_names(seen.capture);
        // Why is asked of the first cycle alone: reasons have no median.
        let reasons = match nth {
            0 => starts(seen.capture, seen.cycle, seen.view),
            _ => Vec::new(),
        };
        for (span, view) in seen.cycle.phases.iter().zip(&seen.view.phases) {
            for &c in &view.callbacks {
                let callback = &seen.cycle.callbacks[c as usize];
                let Some(&device) = names.get(callback.device.index()) else { continue };
                let figure = DeviceFigure { phase: span.phase, device };
                times.entry(figure).or_default().push(callback.start - span.start);
                if let Some(start) = reasons.get(c as usize) {
                    let after = start.after.map(|a| seen.cycle.callbacks[a as usize].device);
                    let after = after.and_then(|d| names.get(d.index()).copied());
                    why.entry(figure).or_insert((start.reason, after));
                }
            }
        }
    }
    let begin = |(figure, mut list): (_, Vec<Ns>)| {
        let (reason, after) = why.get(&figure).copied().unwrap_or_default();
        let at = middle(&mut list, |a, b| a + Ns((b - a).0 / 2))?;
        Some((figure, Begin { at, reason, after }))
    };
    times.into_iter().filter_map(begin).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_passes_whom_is_counted_as_by_hand() {
        // Places on the other side, in the order of the first: the last comes first.
        assert_eq!(passed(&[1, 2, 3, 0]), (vec![0, 0, 0, 3], vec![1, 1, 1, 0]));
        assert_eq!(passed(&[0, 1, 2]), (vec![0; 3], vec![0; 3]));
        let mut random = dormouse_base::stats::random::Random::new(7);
        for n in 1..60usize {
            let mut place: Vec<u32> = (0..n as u32).collect();
            for i in (1..n).rev() {
                place.swap(i, random.below(i as u64 + 1) as usize);
            }
            let (before, after) = passed(&place);
            for i in 0..n {
                let greater = place[..i].iter().filter(|&&p| p > place[i]).count();
                let smaller = place[i + 1..].iter().filter(|&&p| p < place[i]).count();
                assert_eq!((before[i] as usize, after[i] as usize), (greater, smaller));
            }
        }
    }
}
