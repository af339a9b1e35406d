//! Decisions worked out by hand from the rules, one reason each.

use dormouse_idle::governors::{
    Carried, Decision, Governor, Kind, Outcome, Question, SleepLength, Version,
};
use dormouse_idle::state::{State, StateSet, Table};

const TICK: i64 = 4_000_000;
const FREE: i64 = 2_000_000_000_000;
const BOTH: [Version; 2] = [Version::V6_12, Version::V7_2];

/// POLL, C1 (2/2 us), C6 (100/300 us).
fn table() -> Table {
    let state = |latency, residency, polls| State { latency, residency, polls, ..State::default() };
    Table::new(vec![state(0, 0, true), state(2_000, 2_000, false), state(100_000, 300_000, false)])
        .expect("three states")
}

fn ask(table: &Table, timer: i64, event: i64) -> Question<'_> {
    Question {
        table,
        disabled: StateSet::NONE,
        limit: FREE,
        tick: TICK,
        tick_stopped: false,
        sleep: SleepLength { timer, event },
        now: 0,
        iowait: 0,
    }
}

fn slept(entered: usize, residency: i64) -> Outcome {
    Outcome { entered, residency, poll_limit: false, tick: false, now: 0 }
}

#[test]
fn menu_without_memory_follows_the_next_timer() {
    let t = table();
    for version in BOTH {
        for (timer, event, state, stop_tick) in [
            // 10 ms to the next timer: the deepest state, without the tick.
            (10_000_000, 2_000_000, 2, true),
            // 100 us: C1 pays, C6 does not, and a tick costs nothing.
            (100_000, 100_000, 1, false),
            // 1 us: nothing pays, so it spins, and keeps the tick.
            (1_000, 1_000, 0, false),
            // The timer is late already.
            (-5, -5, 0, false),
            // 3 ms, below a tick: C6, and the tick at 200 us makes it C1.
            (3_000_000, 200_000, 1, false),
        ] {
            let mut g = Governor::new(Kind::Menu, version, &t);
            let want = Decision { state, stop_tick, asked: true };
            assert_eq!(g.select(&ask(&t, timer, event)), want, "{version:?}, timer {timer}");
        }
    }
}

#[test]
fn menu_learns_that_sleeps_end_early() {
    // Eight sleeps of 50 us make 50 us typical, whatever the timers say.
    let t = table();
    for version in BOTH {
        let mut g = Governor::new(Kind::Menu, version, &t);
        for _ in 0..8 {
            g.select(&ask(&t, 1_000_000_000, TICK));
            g.reflect(&slept(1, 52_000));
        }
        let want = Decision { state: 1, stop_tick: false, asked: true };
        assert_eq!(g.select(&ask(&t, 1_000_000_000, TICK)), want, "{version:?}");
    }
}

#[test]
fn menu_drops_a_short_sleep_only_in_7_2() {
    // Seven sleeps of 600 us and one of 10 us: mean 526, variance 38,000, and
    // 526 * 526 is less than 36 times that. 6.12 drops the longest, which are
    // all seven, and takes the one of 10 us for typical. 7.2 drops that one:
    // 600 us are typical, enough for C6.
    let t = table();
    let answer = |version| {
        let mut g = Governor::new(Kind::Menu, version, &t);
        for i in 0..8 {
            g.select(&ask(&t, 5_000_000_000, TICK));
            // C1's exit latency of 2 us is taken off.
            g.reflect(&slept(1, if i == 3 { 12_000 } else { 602_000 }));
        }
        g.select(&ask(&t, 5_000_000_000, TICK))
    };
    assert_eq!(answer(Version::V6_12), Decision { state: 1, stop_tick: false, asked: false });
    assert_eq!(answer(Version::V7_2), Decision { state: 2, stop_tick: false, asked: true });
}

#[test]
fn a_limit_of_zero_leaves_state_0_only() {
    let t = table();
    for kind in Kind::ALL {
        for version in BOTH {
            let mut g = Governor::new(kind, version, &t);
            let q = Question { limit: 0, ..ask(&t, 50_000_000, TICK) };
            assert_eq!(g.select(&q).state, 0, "{} {version:?}", kind.name());
        }
    }
}

#[test]
fn a_limit_excludes_what_takes_longer_to_leave() {
    let t = table();
    for kind in [Kind::Menu, Kind::Teo, Kind::Ladder] {
        for version in BOTH {
            let mut g = Governor::new(kind, version, &t);
            for _ in 0..20 {
                let q = Question { limit: 50_000, ..ask(&t, 50_000_000, TICK) };
                let state = g.select(&q).state;
                assert!(state <= 1, "{} {version:?}: state {state}", kind.name());
                g.reflect(&slept(state, 10_000_000));
            }
        }
    }
}

#[test]
fn ladder_climbs_after_four_long_sleeps_and_falls_after_a_short_one() {
    let t = table();
    let mut g = Governor::new(Kind::Ladder, Version::V6_12, &t);
    let q = ask(&t, 50_000_000, TICK);
    let mut states = Vec::new();
    for residency in [9_000, 9_000, 9_000, 9_000, 9_000, 50_000, 150_000, 150_000] {
        let state = g.select(&q).state;
        states.push(state);
        g.reflect(&slept(state, residency));
    }
    // A sleep that never was counts as very long, so three of 9 us follow it.
    // 50 us in C6 are less than its exit latency: unsigned, that is very long,
    // so it stays; 150 us are 50 us beyond it, which is too short.
    assert_eq!(states, [1, 1, 1, 2, 2, 2, 2, 1]);
}

#[test]
fn haltpoll_polls_after_a_short_halt_and_gives_up_at_its_limit() {
    let t = Table::new(table().states()[..2].to_vec()).expect("two states");
    let mut g = Governor::new(Kind::Haltpoll, Version::V6_12, &t);
    let q = ask(&t, 50_000_000, TICK);
    assert_eq!(g.select(&q).state, 1, "no polling at first");
    g.reflect(&slept(1, 30_000));
    assert_eq!(g.select(&q).state, 0, "a halt of 30 us would have been seen by polling");
    g.reflect(&Outcome { poll_limit: true, ..slept(0, 50_000) });
    assert_eq!(g.select(&q).state, 1, "polling was in vain");
    g.reflect(&slept(1, 300_000));
    assert_eq!(g.select(&q).state, 1, "a long halt shrinks the limit to nothing");
}

#[test]
fn teo_looks_at_the_timer_until_wakeups_come_early() {
    let t = table();
    for version in BOTH {
        let mut g = Governor::new(Kind::Teo, version, &t);
        let first = g.select(&ask(&t, 50_000_000, TICK));
        // Both first learn from a sleep of no time that never was. 6.12 counts
        // it as a hit of POLL, 7.2 as an intercept and as short, so it polls.
        let want = match version {
            Version::V6_12 => Decision { state: 2, stop_tick: true, asked: true },
            _ => Decision { state: 0, stop_tick: false, asked: false },
        };
        assert_eq!(first, want, "{version:?}");
        // Wake-ups after 20 us: C6 never pays, C1 does.
        let mut state = first.state;
        for _ in 0..20 {
            g.reflect(&Outcome { now: 20_000, ..slept(state, 20_000) });
            state = g.select(&Question { now: 0, ..ask(&t, 50_000_000, TICK) }).state;
        }
        assert_eq!(state, 1, "{version:?}");
    }
}

/// 6.1 of menu. Without memory all eight samples are 0, so 0 is typical.
#[test]
fn teo_learns_first_from_the_sleep_under_another_governor() {
    let t = table();
    let q = ask(&t, i64::MAX / 2, i64::MAX / 2);
    // As after boot: a sleep of no length, which is short, and most are.
    let first = Governor::new(Kind::Teo, Version::V7_2, &t).select(&q);
    assert_eq!(first, Decision { state: 0, stop_tick: false, asked: false });
    // A long one is an intercept of nothing.
    let mut teo = Governor::new(Kind::Teo, Version::V7_2, &t);
    teo.carry(&Carried { entered: 2, residency: 4_000_000, poll_limit: false });
    assert_eq!(teo.select(&q), Decision { state: 2, stop_tick: true, asked: true });
    // A decision that no sleep followed leaves the state.
    let after = Carried { entered: 2, residency: 4_000_000, poll_limit: false }.and(-1, 0, false);
    assert_eq!(after, Carried { entered: 2, residency: 0, poll_limit: false });
}

#[test]
fn menu_of_6_1_trusts_sleeps_of_no_length_and_bounds_the_latency() {
    let t = table();
    let mut g = Governor::new(Kind::Menu, Version::V6_1, &t);
    // Typical 0 us: nothing pays; state 0 polls, C1 (2 us) is better than polling
    // only if it takes no longer to leave than the prediction, which is 0.
    let first = Decision { state: 0, stop_tick: false, asked: true };
    assert_eq!(g.select(&ask(&t, 10_000_000, 2_000_000)), first);
    // Six sleeps of 1 ms: the six that remain of eight agree, so 1 ms is typical,
    // and a tick costs nothing. C6 takes 100 us to leave, less than 1 ms.
    let mut menu = |iowait: u32, limit: i64, times: usize| {
        let mut last = first;
        for _ in 0..times {
            let mut o = slept(last.state, 0);
            o.residency = 1_000_000 + if last.state == 2 { 100_000 } else { 0 };
            g.reflect(&o);
            last = g.select(&Question { iowait, limit, ..ask(&t, 10_000_000, 2_000_000) });
        }
        last
    };
    assert_eq!(menu(0, FREE, 8), Decision { state: 2, stop_tick: false, asked: true });
    // One task waits for I/O: a state may take 1/11 of 1 ms to leave, 90 us.
    assert_eq!(menu(1, FREE, 1), Decision { state: 1, stop_tick: false, asked: true });
    // The limit counts as ever.
    assert_eq!(menu(0, 99_999, 1).state, 1);
}

#[test]
fn menu_of_6_1_is_not_held_back_by_typical_sleeps_without_a_tick() {
    let t = table();
    let mut g = Governor::new(Kind::Menu, Version::V6_1, &t);
    // Nothing learned: typical is 0, but the tick is stopped and would not end a
    // sleep that was predicted too short, so the timer counts: 10 ms.
    let q = Question { tick_stopped: true, ..ask(&t, 10_000_000, 10_000_000) };
    assert_eq!(g.select(&q), Decision { state: 2, stop_tick: true, asked: true });
    // A timer before C1 pays: state 0 whatever else.
    let near = g.select(&ask(&t, 1_000, 1_000));
    assert_eq!(near, Decision { state: 0, stop_tick: false, asked: true });
}

/// 6.1 of teo: the state that the timer asks for, until five of nine wake-ups
/// come before it pays.
#[test]
fn teo_of_6_1_steps_back_after_five_early_wakeups_of_nine() {
    let t = table();
    let mut g = Governor::new(Kind::Teo, Version::V6_1, &t);
    let clock = std::cell::Cell::new(0);
    let sleep = |g: &mut Governor, residency: i64| {
        let d = g.select(&Question { now: clock.get(), ..ask(&t, 10_000_000, 2_000_000) });
        clock.set(clock.get() + residency);
        g.reflect(&Outcome { now: clock.get(), ..slept(d.state, residency) });
        d
    };
    let deep = Decision { state: 2, stop_tick: true, asked: true };
    assert_eq!(sleep(&mut g, 10_100_000), deep);
    // Forty hits of C6 come close to 8 * 1024 points. 150 us in C6, 50 of them half
    // its latency, are an intercept of C1. After five of them the hits have faded to
    // 51 %, about 4,160, and the intercepts are 1024 * (1 + 7/8 + ... + (7/8)^4),
    // about 3,990: twice that is less than both together, so the first rule is
    // silent. Five of nine is the second.
    for _ in 0..40 {
        assert_eq!(sleep(&mut g, 10_100_000), deep);
    }
    for n in 0..5 {
        assert_eq!(sleep(&mut g, 150_000), deep, "after {n} early wake-ups");
    }
    // C1 pays for all of them, and the sleep is expected to end in the middle of
    // 2 and 300 us, so the tick stays.
    assert_eq!(sleep(&mut g, 150_000), Decision { state: 1, stop_tick: false, asked: true });
    // Without a tick 151 us are too short to be caught: C6.
    let q = Question { now: clock.get(), tick_stopped: true, ..ask(&t, 10_000_000, 10_000_000) };
    assert_eq!(g.select(&q), deep);
    // After nine hits alone four intercepts, 3,390 points, outweigh 3,360: the
    // first rule.
    let mut g = Governor::new(Kind::Teo, Version::V6_1, &t);
    let states: Vec<usize> = [[10_100_000; 9].as_slice(), &[150_000; 5]]
        .concat()
        .into_iter()
        .map(|residency| sleep(&mut g, residency).state)
        .collect();
    assert_eq!(states, [[2; 13].as_slice(), &[1]].concat());
}

#[test]
fn teo_of_6_1_looks_at_the_timer_first() {
    let t = table();
    let of = |timer, event, disabled| {
        let mut g = Governor::new(Kind::Teo, Version::V6_1, &t);
        g.select(&Question { disabled, ..ask(&t, timer, event) })
    };
    let got = |state, stop_tick| Decision { state, stop_tick, asked: true };
    // C1 does not pay in 1 us; C6 does not in 100 us.
    assert_eq!(of(1_000, 1_000, StateSet::NONE), got(0, false));
    assert_eq!(of(100_000, 100_000, StateSet::NONE), got(1, false));
    assert_eq!(of(-5, -5, StateSet::NONE), got(0, false));
    // The first enabled state is taken even if it does not pay.
    assert_eq!(of(1_000, 1_000, StateSet::NONE.with(0).with(1)), got(2, false));
    // 3 ms, below a tick, which is due in 200 us: C6 would outlast that.
    assert_eq!(of(3_000_000, 200_000, StateSet::NONE), got(1, false));
}

/// 6.1 of haltpoll halves what is left for ever, later versions give up.
#[test]
fn haltpoll_of_6_1_goes_on_polling_a_little() {
    let t = Table::new(table().states()[..2].to_vec()).expect("two states");
    for (version, after) in [(Version::V6_1, 25_000), (Version::V6_12, 0)] {
        let mut g = Governor::new(Kind::Haltpoll, version, &t);
        assert_eq!(g.select(&ask(&t, 0, 0)).state, 1);
        g.reflect(&slept(1, 100_000));
        g.reflect(&slept(1, 300_000));
        let Governor::Haltpoll(h) = &g else { unreachable!() };
        assert_eq!(h.poll_limit(), after, "{version:?}");
    }
}
