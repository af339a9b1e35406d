//! What nobody undercuts: one who knows every arrival serves all of them at the
//! fastest clock, has it raised and the storage woken in time, and takes in each
//! rest what is cheapest for its length. Beside it the rule that knows nothing and
//! costs at most twice as much for its rests: a state is entered after its own
//! break-even time.

use super::disk::{Outcome, simulate};
use super::energy::{BreakEven, Rest};
use super::load::Load;
use super::settings::{Drive, Governor, Qos, Settings};

/// With the settings of `s` but those that the oracle chooses.
pub fn oracle(
    drive: &Drive,
    s: &Settings,
    load: &Load,
    rests: Option<&[Option<Rest>; 4]>,
    even: &BreakEven,
) -> Outcome {
    let top = drive.levels.len() - 1;
    let fast = Drive { start: top, ..drive.clone() };
    let mut awake = *s;
    awake.devfreq.governor = Governor::Performance;
    (awake.devfreq.least, awake.devfreq.most) = (0, u64::MAX);
    (awake.qos, awake.gate, awake.autosuspend) = (Qos::Off, None, None);
    let mut o = simulate(&fast, &awake, load);
    let gaps = std::mem::take(&mut o.gaps);
    for &gap in &gaps {
        let choice = match rests {
            Some(r) => cheapest(r, gap),
            None => deepest(even, gap),
        };
        let (enter, wake) = match choice {
            0 => continue,
            1 => (drive.change, drive.change),
            2 => (drive.gate.enter, drive.gate.wake),
            _ => (drive.suspend.enter, drive.suspend.wake),
        };
        let inside = gap - enter - wake;
        o.times.idle[top] -= gap;
        match choice {
            1 => {
                // A clock is the one before until its change has ended.
                o.times.idle[top] += enter;
                o.times.idle[0] += inside + wake;
                o.changes += 2;
            }
            2 => {
                add(&mut o.times.gate, [enter, inside, wake]);
                o.ungates += 1;
            }
            _ => {
                add(&mut o.times.suspend, [enter, inside, wake]);
                o.resumes += 1;
            }
        }
    }
    o.gaps = gaps;
    o
}

fn add(to: &mut [i64; 3], what: [i64; 3]) {
    for (t, w) in to.iter_mut().zip(what) {
        *t += w;
    }
}

/// The rest of `rests` that is cheapest for a gap.
fn cheapest(rests: &[Option<Rest>; 4], gap: i64) -> usize {
    let cost = |r: &Rest| r.once + i128::from(r.power) * i128::from(gap);
    let fits = rests.iter().enumerate().filter_map(|(n, r)| Some((n, r.as_ref()?)));
    let fits = fits.filter(|(_, r)| r.ways <= gap);
    fits.min_by_key(|(n, r)| (cost(r), *n)).map_or(0, |(n, _)| n)
}

/// The deepest state that pays for a gap.
fn deepest(even: &BreakEven, gap: i64) -> usize {
    let list = [even.clock, even.gate, even.suspend];
    list.iter().rposition(|t| t.is_some_and(|t| t <= gap)).map_or(0, |n| n + 1)
}

/// The settings of the rule that knows nothing: the slowest clock, raised by
/// requests and dropped after its break-even time, and so for the other states.
pub fn rule(drive: &Drive, s: &Settings, even: &BreakEven) -> Settings {
    let mut s = *s;
    (s.devfreq.least, s.devfreq.most) = (0, u64::MAX);
    s.devfreq.poll = 0;
    (s.devfreq.governor, s.qos) = match even.clock {
        Some(timeout) if drive.levels.len() > 1 => (Governor::Powersave, Qos::Host { timeout }),
        _ => (Governor::Performance, Qos::Off),
    };
    (s.gate, s.autosuspend, s.slack) = (even.gate, even.suspend, 0);
    s
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::energy::{Powers, rests};
    use crate::simulate::settings::{Nap, laboratory};
    use proptest::prelude::*;

    fn disk() -> (Drive, Settings, Powers) {
        let (mut d, s) = laboratory();
        d.gate = Nap { enter: 100_000, wake: 1_000_000 };
        let p = Powers {
            busy: vec![Some(300_000), Some(900_000)],
            idle: vec![Some(60_000), Some(100_000)],
            gate: [None, Some(20_000), None],
            suspend: [None, Some(2_000), None],
            change: Some(10_000),
            ungate: Some(200_000),
            resume: Some(6_000_000),
        };
        (d, s, p)
    }

    #[test]
    fn the_oracle_takes_in_each_gap_what_is_cheapest() {
        let (d, s, p) = disk();
        let r = rests(&d, &p).unwrap();
        let even = BreakEven::of(&r);
        // Gaps of about 1 ms, 2 ms, 80 ms and 2 s.
        let at = [0, 1_150_000, 3_400_000, 85_000_000, 2_100_000_000];
        let load = Load::Open(at.map(|t| (t, 65_536)).into());
        let o = oracle(&d, &s, &load, Some(&r), &even);
        assert_eq!(o.gaps.len(), 4);
        assert_eq!((o.changes, o.ungates, o.resumes), (2, 1, 1));
        assert_eq!(o.latencies, [230_000; 5], "everything is fast");
        assert_eq!(o.times.total(), o.span);
        let without = oracle(&d, &s, &load, None, &BreakEven::of_times(&d));
        assert_eq!((without.changes, without.ungates, without.resumes), (0, 1, 2));
    }

    proptest! {
        #[test]
        fn nobody_undercuts_the_oracle_and_the_rule_pays_at_most_twice(
            gaps in proptest::collection::vec(1_i64..200_000_000, 1..60),
            gate in proptest::option::of(0_i64..100_000_000),
            autosuspend in proptest::option::of(0_i64..200_000_000),
        ) {
            let (d, mut s, p) = disk();
            let mut t = 0;
            let load: Vec<_> = gaps.iter().map(|g| { t += g + 20_000_000; (t, 65_536) }).collect();
            let load = Load::Open(load);
            let r = rests(&d, &p).unwrap();
            let even = BreakEven::of(&r);
            let best = p.energy(&oracle(&d, &s, &load, Some(&r), &even)).unwrap();
            // The fastest clock throughout, as the oracle serves, and any delay.
            s.devfreq.governor = Governor::Performance;
            (s.gate, s.autosuspend) = (gate, autosuspend);
            let fast = Drive { start: 1, ..d.clone() };
            let own = simulate(&fast, &s, &load);
            let cost = p.energy(&own).unwrap();
            prop_assert!(best <= cost + 1, "{best} against {cost}");
            let held = simulate(&d, &rule(&d, &s, &even), &load);
            prop_assert_eq!(held.times.total(), held.span);
        }
    }
}
