//! Laws of the energy account.

use dormouse_base::time::Ns;
use dormouse_sleep::energy::{Microwatts, Nanojoules, Rhythm, Usage};
use proptest::prelude::*;

fn usage() -> impl Strategy<Value = Usage> {
    let power = || (0u64..=1_000_000_000).prop_map(Microwatts);
    let time = || (0i64..=3_600_000_000_000).prop_map(Ns);
    let rhythm = prop_oneof![
        time().prop_map(Rhythm::AsleepFor),
        (1u64..=1_000_000).prop_map(Rhythm::CyclesADay),
    ];
    let battery =
        proptest::option::of((1u64..=1_000_000_000).prop_map(|n| Nanojoules(n * 3_600_000)));
    ((power(), power(), power(), power()), time(), rhythm, time(), battery).prop_map(
        |((suspending, resuming, awake, asleep), awake_for, rhythm, other, battery)| Usage {
            suspending,
            resuming,
            awake,
            asleep,
            awake_for,
            rhythm,
            other,
            battery,
        },
    )
}

fn device_phases() -> impl Strategy<Value = Ns> {
    (0i64..=60_000_000_000).prop_map(Ns)
}

proptest! {
    /// The parts are the cycle, and no battery gives more than it holds.
    #[test]
    fn parts_add_up(u in usage(), down in device_phases(), up in device_phases()) {
        let a = u.account(down, up);
        let sum = [a.suspend, a.resume, a.other, a.awake, a.asleep].iter().map(|e| e.0).sum::<u64>();
        prop_assert_eq!(a.total().0, sum);
        if let (Some(n), Some(battery)) = (a.cycles_a_charge(), u.battery) {
            let one = u128::from(a.total().0);
            prop_assert!(u128::from(n) * one <= u128::from(battery.0));
            prop_assert!(u128::from(n + 1) * one > u128::from(battery.0));
        }
    }

    /// A shorter transition never costs energy or cycles. With a number of
    /// cycles a day the time saved is slept, so this holds where sleeping
    /// draws no more than suspending and resuming do.
    #[test]
    fn more_saved_is_never_worse(
        mut u in usage(),
        down in device_phases(),
        up in device_phases(),
        less in (0u64..=100, 0u64..=100),
    ) {
        u.asleep.0 = u.asleep.0.min(u.suspending.0).min(u.resuming.0);
        let part = |t: Ns, percent: u64| Ns(t.0 - t.0 / 100 * percent as i64);
        let (before, after) = (u.account(down, up), u.account(part(down, less.0), part(up, less.1)));
        // Each part is rounded by itself: saving may lose half a nanojoule a
        // part, and the sleep that replaces it gain another.
        let tolerance = match u.rhythm {
            Rhythm::AsleepFor(_) => 0,
            Rhythm::CyclesADay(_) => 3,
        };
        prop_assert!(after.total().0 <= before.total().0 + tolerance);
        if let (Some(was), Some(is)) = (before.cycles_a_charge(), after.cycles_a_charge())
            && tolerance == 0
        {
            prop_assert!(is >= was);
        }
        prop_assert!(after.transition() <= before.transition());
    }

    /// No text makes the reader panic, and every refusal says something.
    #[test]
    fn whatever_text_comes_it_is_read_or_refused(text in "[a-z_=,#0-9.mWhus\n ]{0,80}") {
        if let Err(e) = Usage::parse(&text) {
            prop_assert!(!e.is_empty());
        }
    }
}
