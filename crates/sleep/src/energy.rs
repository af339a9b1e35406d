//! What sleeping costs in energy, and what faster transitions are worth in it.
//!
//! A use of a device is one cycle: it wakes up, is awake for a while, goes to
//! sleep, and sleeps until the next use. Each part draws its own power. All
//! figures are integers; each part is rounded to a nanojoule by itself, so that
//! the parts of a cycle add up to it.

use super::plan::{Plan, Reached};
use crate::simulate::change::Ratio;
use dormouse_base::time::Ns;
use dormouse_board::parse_duration;

/// Power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Microwatts(pub u64);

/// Energy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanojoules(pub u64);

impl Nanojoules {
    /// One microwatt hour.
    pub(crate) const MICROWATT_HOUR: Nanojoules = Nanojoules(3_600_000);

    /// Power times time, to the nearest nanojoule; saturates.
    pub fn of(power: Microwatts, time: Ns) -> Nanojoules {
        // A microwatt for a nanosecond is a femtojoule.
        let femto = u128::from(power.0) * u128::from(time.0.max(0).unsigned_abs());
        Nanojoules(u64::try_from((femto + 500_000) / 1_000_000).unwrap_or(u64::MAX))
    }

    fn plus(self, other: Nanojoules) -> Nanojoules {
        Nanojoules(self.0.saturating_add(other.0))
    }
}

/// How the device is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rhythm {
    /// It sleeps this long between uses.
    AsleepFor(Ns),
    /// So many uses a day at equal distances: what a cycle does not need is
    /// slept.
    CyclesADay(u64),
}

/// Power figures and pattern of use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Drawn on the way down.
    pub suspending: Microwatts,
    /// Drawn on the way up.
    pub resuming: Microwatts,
    /// Drawn while in use.
    pub awake: Microwatts,
    /// Drawn while asleep.
    pub asleep: Microwatts,
    /// Time in use, each time.
    pub awake_for: Ns,
    /// What is between uses.
    pub rhythm: Rhythm,
    /// Parts of a transition that are not device phases (freezing, firmware):
    /// the same whatever is changed, at the power of the way down.
    pub other: Ns,
    /// What a full battery holds, if there is one.
    pub battery: Option<Nanojoules>,
}

const DAY: Ns = Ns(86_400_000_000_000);
const LONGEST: Ns = Ns(30 * DAY.0);
const KEYS: [&str; 9] = [
    "suspending",
    "resuming",
    "awake",
    "asleep",
    "awake_for",
    "asleep_for",
    "cycles_a_day",
    "other",
    "battery",
];

impl Usage {
    /// Reads `key=value` pairs, separated by commas or on lines of their own;
    /// `#` begins a comment. Powers are in W, mW or uW, times as in a board
    /// file, the battery in Wh or mWh.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong where, and what to write.
    pub fn parse(text: &str) -> Result<Usage, String> {
        let mut values: [Option<&str>; KEYS.len()] = [None; KEYS.len()];
        let several = text.lines().count() > 1;
        for (n, line) in text.lines().enumerate() {
            let content = line.split('#').next().unwrap_or("");
            for entry in content.split(',').map(str::trim).filter(|e| !e.is_empty()) {
                place(entry, &mut values).map_err(|e| match several {
                    true => format!("line {}: {e}", n + 1),
                    false => e,
                })?;
            }
        }
        Usage::of(&values)
    }

    fn of(values: &[Option<&str>; KEYS.len()]) -> Result<Usage, String> {
        let get = |key: &str| KEYS.iter().position(|k| *k == key).and_then(|i| values[i]);
        let need = |key: &str, example: &str| {
            get(key).ok_or_else(|| format!("`{key}` is missing: add for example {key}={example}"))
        };
        let suspending = power("suspending", need("suspending", "900mW")?)?;
        let rhythm = match (get("asleep_for"), get("cycles_a_day")) {
            (Some(t), None) => Rhythm::AsleepFor(time("asleep_for", t)?),
            (None, Some(n)) => Rhythm::CyclesADay(cycles(n)?),
            (Some(_), Some(_)) => {
                return Err("`asleep_for` and `cycles_a_day` say the same thing twice: \
                            keep one"
                    .into());
            }
            (None, None) => {
                return Err("how often it is used is missing: add asleep_for=20s \
                            (between uses) or cycles_a_day=500"
                    .into());
            }
        };
        Ok(Usage {
            suspending,
            resuming: get("resuming").map_or(Ok(suspending), |v| power("resuming", v))?,
            awake: power("awake", need("awake", "600mW")?)?,
            asleep: power("asleep", need("asleep", "4mW")?)?,
            awake_for: time("awake_for", need("awake_for", "3s")?)?,
            rhythm,
            other: get("other").map_or(Ok(Ns::ZERO), |v| time("other", v))?,
            battery: get("battery").map(battery).transpose()?,
        })
    }

    /// What a cycle costs whose device phases take so long.
    pub fn account(&self, suspend: Ns, resume: Ns) -> Account {
        let busy = suspend + resume + self.other + self.awake_for;
        let asleep_for = match self.rhythm {
            Rhythm::AsleepFor(t) => t,
            Rhythm::CyclesADay(n) => Ns(DAY.0 / i64::try_from(n.max(1)).unwrap_or(1)).since(busy),
        };
        Account {
            suspend: Nanojoules::of(self.suspending, suspend),
            resume: Nanojoules::of(self.resuming, resume),
            other: Nanojoules::of(self.suspending, self.other),
            awake: Nanojoules::of(self.awake, self.awake_for),
            asleep: Nanojoules::of(self.asleep, asleep_for),
            period: busy + asleep_for,
            battery: self.battery,
        }
    }

    /// Whether cycles with such device phases fit into a day.
    ///
    /// # Errors
    ///
    /// A sentence, if they do not.
    pub fn fits(&self, suspend: Ns, resume: Ns) -> Result<(), String> {
        let Rhythm::CyclesADay(n) = self.rhythm else { return Ok(()) };
        let busy = suspend + resume + self.other + self.awake_for;
        if i128::from(busy.0) * i128::from(n) <= i128::from(DAY.0) {
            return Ok(());
        }
        Err(format!(
            "`cycles_a_day={n}`: a cycle is awake or on its way for {busy}, so {n} of them take \
             longer than a day; lower it or `awake_for`"
        ))
    }
}

fn place<'t>(entry: &'t str, values: &mut [Option<&'t str>; KEYS.len()]) -> Result<(), String> {
    let (key, value) = entry
        .split_once('=')
        .ok_or_else(|| format!("`{entry}`: write KEY=VALUE, such as awake=600mW"))?;
    let (key, value) = (key.trim(), value.trim());
    let Some(i) = KEYS.iter().position(|k| *k == key) else {
        return Err(format!("`{key}` is not known; the keys are {}", KEYS.join(", ")));
    };
    match values[i].replace(value) {
        Some(first) => Err(format!("`{key}` is there twice (first `{first}`): keep one")),
        None => Ok(()),
    }
}

/// `text` with the first matching unit, as a whole number of the smallest.
fn measure(text: &str, units: &[(&str, i64)], most: u64) -> Option<u64> {
    let (number, scale) = units.iter().find_map(|(u, s)| Some((text.strip_suffix(u)?, *s)))?;
    let number = number.trim_end();
    let plain = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let value = Ratio::parse(number).ok().filter(|_| plain)?.of(scale);
    u64::try_from(value).ok().filter(|v| *v <= most)
}

/// A power, for another list of keys.
pub fn power_of(key: &str, text: &str) -> Result<Microwatts, String> {
    power(key, text)
}

/// A time, for another list of keys.
pub(crate) fn time_of(key: &str, text: &str) -> Result<Ns, String> {
    time(key, text)
}

fn power(key: &str, text: &str) -> Result<Microwatts, String> {
    let units = [("uW", 1), ("mW", 1_000), ("W", 1_000_000)];
    measure(text, &units, 1_000_000_000).map(Microwatts).ok_or_else(|| {
        format!("`{key}={text}` is no power up to 1000 W: write a number and W, mW or uW, such as {key}=600mW")
    })
}

fn time(key: &str, text: &str) -> Result<Ns, String> {
    let t = parse_duration(text).map_err(|e| format!("`{key}`: {e}"))?;
    if t > LONGEST {
        return Err(format!("`{key}={text}` is longer than 30 days: check the unit"));
    }
    Ok(t)
}

fn cycles(text: &str) -> Result<u64, String> {
    text.parse().ok().filter(|n| (1..=1_000_000).contains(n)).ok_or_else(|| {
        format!("`cycles_a_day={text}` is not a number from 1 to 1000000, such as 500")
    })
}

fn battery(text: &str) -> Result<Nanojoules, String> {
    let units = [("mWh", 1_000), ("Wh", 1_000_000)];
    // A megawatt hour still fits 64 bits of nanojoules.
    match measure(text, &units, 1_000_000_000_000) {
        Some(n) if n > 0 => Ok(Nanojoules(n * Nanojoules::MICROWATT_HOUR.0)),
        _ => Err(format!(
            "`battery={text}` is no capacity: write a number and Wh or mWh, such as \
             battery=7.4Wh (a capacity in mAh times the voltage gives mWh)"
        )),
    }
}

/// The energy of one cycle, part by part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// Device phases on the way down.
    pub suspend: Nanojoules,
    /// Device phases on the way up.
    pub resume: Nanojoules,
    /// What else a transition has.
    pub other: Nanojoules,
    /// In use.
    pub awake: Nanojoules,
    /// Asleep.
    pub asleep: Nanojoules,
    /// From one use to the next.
    pub period: Ns,
    battery: Option<Nanojoules>,
}

impl Account {
    /// The whole cycle.
    pub fn total(&self) -> Nanojoules {
        self.transition().plus(self.awake).plus(self.asleep)
    }

    /// The ways down and up.
    pub fn transition(&self) -> Nanojoules {
        self.suspend.plus(self.resume).plus(self.other)
    }

    /// Whole cycles that a full battery gives; `None` without a battery or if
    /// a cycle costs nothing.
    pub fn cycles_a_charge(&self) -> Option<u64> {
        self.battery?.0.checked_div(self.total().0)
    }

    /// How long a full battery lasts in this pattern, in whole seconds.
    pub fn seconds_a_charge(&self) -> Option<u64> {
        let battery = u128::from(self.battery?.0);
        let ns = battery * u128::from(self.period.0.max(0).unsigned_abs());
        let seconds = ns.checked_div(u128::from(self.total().0))? / 1_000_000_000;
        u64::try_from(seconds).ok()
    }
}

/// What a plan is worth in energy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worth {
    /// Without any change.
    pub before: Account,
    /// After each step of the plan, with those before it.
    pub steps: Vec<Account>,
}

impl Worth {
    /// Accounts for the steps of `plan`.
    ///
    /// # Errors
    ///
    /// As [`Usage::fits`], for the board as it is.
    pub fn of(usage: &Usage, plan: &Plan) -> Result<Worth, String> {
        let account = |r: &Reached| usage.account(r.suspend, r.resume);
        usage.fits(plan.before.suspend, plan.before.resume)?;
        Ok(Worth {
            before: account(&plan.before),
            steps: plan.steps.iter().map(|s| account(&s.reached)).collect(),
        })
    }

    /// With the whole plan.
    pub fn after(&self) -> Account {
        self.steps.last().copied().unwrap_or(self.before)
    }
}

impl std::fmt::Display for Nanojoules {
    /// Four figures, rounded half up: `53.21 J`, `152.3 mJ`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let units =
            [(1_000_000_000_000, "kJ"), (1_000_000_000, "J"), (1_000_000, "mJ"), (1_000, "uJ")];
        let Some((scale, unit)) = units.into_iter().find(|(s, _)| self.0 >= *s) else {
            return f.pad(&format!("{} nJ", self.0));
        };
        let digits = 4usize.saturating_sub((self.0 / scale).to_string().len());
        let parts = 10u64.pow(digits as u32);
        let step = (scale / parts).max(1);
        let n = self.0 / step + u64::from(self.0 % step >= step.div_ceil(2));
        match digits {
            0 => f.pad(&format!("{n} {unit}")),
            _ => f.pad(&format!("{}.{:0digits$} {unit}", n / parts, n % parts)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCANNER: &str = "suspending=900mW,resuming=1.2W,awake=2500mW,asleep=4mW,\
        awake_for=20s,asleep_for=100s,battery=7.4Wh";

    #[test]
    fn a_cycle_by_hand() {
        let u = Usage::parse(SCANNER).expect("it is well-formed");
        let a = u.account(Ns::from_ms(100), Ns::from_ms(250));
        // 0.9 W x 0.1 s, 1.2 W x 0.25 s, 2.5 W x 20 s, 0.004 W x 100 s.
        assert_eq!(a.suspend, Nanojoules(90_000_000));
        assert_eq!(a.resume, Nanojoules(300_000_000));
        assert_eq!(a.awake, Nanojoules(50_000_000_000));
        assert_eq!(a.asleep, Nanojoules(400_000_000));
        assert_eq!(a.total(), Nanojoules(50_790_000_000));
        // 7.4 Wh are 26,640 J: 26,640 / 50.79 = 524.51.
        assert_eq!(a.cycles_a_charge(), Some(524));
        // 26,640 J / 50.79 J x 120.35 s = 63,125.6 s.
        assert_eq!(a.seconds_a_charge(), Some(63_125));
        assert_eq!(
            (a.total().to_string(), a.suspend.to_string()),
            ("50.79 J".into(), "90.00 mJ".into())
        );
    }

    #[test]
    fn uses_a_day_leave_the_rest_of_the_day_asleep() {
        let text = SCANNER.replace("asleep_for=100s", "cycles_a_day=864");
        let u = Usage::parse(&text).expect("it is well-formed");
        let a = u.account(Ns::from_ms(400), Ns::from_ms(600));
        assert_eq!(a.period, Ns::from_ms(100_000));
        assert_eq!(a.asleep, Nanojoules(4 * 79 * 1_000_000));
        assert!(u.fits(Ns::from_ms(400), Ns::from_ms(600)).is_ok());
        let e = u.fits(Ns::from_ms(80_000), Ns::from_ms(600)).expect_err("too much for a day");
        assert!(e.contains("cycles_a_day=864") && e.contains("lower"), "{e}");
    }

    #[test]
    fn a_file_is_the_same_on_lines() {
        let file = format!("# a scanner\n{}  # end\n", SCANNER.replace(',', "\n"));
        assert_eq!(Usage::parse(&file), Usage::parse(SCANNER));
        let alone = SCANNER.replace("resuming=1.2W,", "");
        assert_eq!(Usage::parse(&alone).map(|u| u.resuming), Ok(Microwatts(900_000)));
    }

    #[test]
    fn what_is_wrong_is_named_with_what_to_write() {
        for (from, to, what) in [
            ("awake=2500mW", "awake=2500", "awake=600mW"),
            ("awake=2500mW", "awake=-1mW", "awake=600mW"),
            ("awake=2500mW", "awake=50%mW", "awake=600mW"),
            ("awake=2500mW", "awake=2000W", "1000 W"),
            ("awake=2500mW", "", "`awake` is missing"),
            ("awake=2500mW", "wake=3mW", "`wake` is not known"),
            ("awake=2500mW", "asleep=1mW", "`asleep` is there twice"),
            ("awake=2500mW", "awake", "write KEY=VALUE"),
            ("awake_for=20s", "awake_for=20", "awake_for"),
            ("awake_for=20s", "awake_for=9000000s", "30 days"),
            ("asleep_for=100s", "asleep_for=1s,cycles_a_day=5", "keep one"),
            ("asleep_for=100s", "", "cycles_a_day=500"),
            ("asleep_for=100s", "cycles_a_day=0", "from 1 to 1000000"),
            ("battery=7.4Wh", "battery=2000mAh", "mAh times the voltage"),
            ("battery=7.4Wh", "battery=0Wh", "battery=7.4Wh"),
        ] {
            let e = Usage::parse(&SCANNER.replace(from, to)).expect_err(to);
            assert!(e.contains(what), "{to}: {e}");
        }
        let e = Usage::parse("suspending=1W\nawake=x\nawake=1W\n").expect_err("twice");
        assert!(e.starts_with("line 3: `awake`"), "{e}");
    }

    #[test]
    fn extremes_saturate() {
        let power = Microwatts(1_000_000_000);
        assert_eq!(Nanojoules::of(power, Ns::MAX), Nanojoules(u64::MAX));
        assert_eq!(Nanojoules::of(power, Ns(-5)), Nanojoules(0));
        assert_eq!(Nanojoules(999).to_string(), "999 nJ");
        assert_eq!(Nanojoules(1_234_567).to_string(), "1.235 mJ");
        assert_eq!(Nanojoules(123_456_000_000_000).to_string(), "123.5 kJ");
    }
}
