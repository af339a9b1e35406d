//! Disks, settings and loads that somebody described: text that begins with
//! `dormouse-disk 1` (docs/storage.md).

use dormouse_board::parse_duration;
use dormouse_storage::simulate::energy::{BreakEven, Powers, State};
use dormouse_storage::simulate::load::{Load, Loop, Next};
use dormouse_storage::simulate::ondemand::Thresholds;
use dormouse_storage::simulate::settings::{
    Devfreq, Drive, Governor, IdleStop, Law, Nap, Qos, Settings,
};
use std::collections::BTreeMap;

/// The first line of every such file.
pub const HEADER: &str = "dormouse-disk 1";

/// Most requests of a load, and most clocks of a disk.
const MOST: (u32, usize) = (10_000_000, 64);

/// Longest time that is taken, ns: a day.
const DAY: i64 = 86_400_000_000_000;

/// Every key that has one value or a list of clocks.
const KEYS: [&str; 25] = [
    "autosuspend",
    "base",
    "change",
    "change-waits",
    "clocks",
    "down",
    "gate-delay",
    "gate-enter",
    "gate-wake",
    "governor",
    "idle-stop",
    "max-freq",
    "min-freq",
    "per-kib",
    "poll",
    "qos",
    "resume",
    "slack",
    "software",
    "start",
    "suspend-enter",
    "tick",
    "timeout",
    "timer",
    "up",
];

/// Keys of what states and transitions cost.
const COSTS: [&str; 3] = ["power", "energy", "break-even"];

/// Units of power as uW, and of energy as nJ.
const POWER: [(&str, u64); 4] = [("uW", 1), ("mW", 1_000), ("kW", 1_000_000_000), ("W", 1_000_000)];
const ENERGY: [(&str, u64); 4] =
    [("nJ", 1), ("uJ", 1_000), ("mJ", 1_000_000), ("J", 1_000_000_000)];

/// What was described, from one file or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// What the disk is like.
    pub drive: Drive,
    /// What is set.
    pub settings: Settings,
    /// Who asks for requests; `None` if no file says.
    pub load: Option<Load>,
    /// What states and transitions cost.
    pub powers: Powers,
    /// Break-even times that somebody gave.
    pub even: BreakEven,
}

/// A description while its files are being read.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    values: BTreeMap<&'static str, String>,
    /// `power`, `energy` and `break-even`: of what, and how much.
    costs: BTreeMap<(&'static str, String), String>,
    lines: Option<Loop>,
    list: Vec<(i64, u64)>,
}

/// A time such as `30ms`, at most a day, ns.
///
/// # Errors
/// In words.
pub fn time(text: &str) -> Result<i64, String> {
    let t = parse_duration(text)?.0;
    if t > DAY { Err(format!("`{text}` is longer than a day")) } else { Ok(t) }
}

/// A time, or `never`.
///
/// # Errors
/// In words.
pub fn delay(text: &str) -> Result<Option<i64>, String> {
    if text == "never" { Ok(None) } else { time(text).map(Some) }
}

/// A clock such as `400MHz`, Hz.
///
/// # Errors
/// In words.
pub fn clock(text: &str) -> Result<u64, String> {
    let odd = || format!("`{text}` is not a clock; write a whole number and Hz, kHz, MHz or GHz");
    let at = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(odd)?;
    let scale = match &text[at..] {
        "Hz" => 1,
        "kHz" => 1_000,
        "MHz" => 1_000_000,
        "GHz" => 1_000_000_000,
        _ => return Err(odd()),
    };
    let n: u64 = text[..at].parse().map_err(|_| odd())?;
    n.checked_mul(scale).filter(|hz| *hz > 0 && *hz <= 1_000_000_000_000).ok_or_else(odd)
}

/// A number with one of `units`, whole or with a fraction, at most 1 kW or 1 kJ.
fn amount(text: &str, units: &[(&str, u64)]) -> Result<u64, String> {
    let odd = || {
        let names: Vec<&str> = units.iter().map(|u| u.0).collect();
        format!("`{text}` is not a number with {}", names.join(", "))
    };
    let found = units.iter().find_map(|u| Some((text.strip_suffix(u.0)?, u.1)));
    let (number, scale) = found.ok_or_else(odd)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |s: &str| !s.is_empty() && s.len() < 13 && s.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return Err(odd());
    }
    let part = fraction.parse::<u128>().map_err(|_| odd())? * u128::from(scale)
        / 10_u128.pow(fraction.len() as u32);
    let all = whole.parse::<u128>().map_err(|_| odd())? * u128::from(scale) + part;
    u64::try_from(all).ok().filter(|n| *n <= 1_000_000_000_000).ok_or_else(odd)
}

fn number(text: &str, most: u64) -> Result<u64, String> {
    let n = text.parse().ok().filter(|n| *n <= most);
    n.ok_or_else(|| format!("`{text}` is no number up to {most}"))
}

fn one_of<T: Copy>(text: &str, list: &[(&str, T)]) -> Result<T, String> {
    let found = list.iter().find(|(name, _)| *name == text).map(|(_, t)| *t);
    found.ok_or_else(|| {
        let names: Vec<&str> = list.iter().map(|(name, _)| *name).collect();
        format!("`{text}` is none of {}", names.join(", "))
    })
}

/// What `governor` can be, with thresholds.
///
/// # Errors
/// In words.
pub fn governor(text: &str, t: Thresholds) -> Result<Governor, String> {
    one_of(
        text,
        &[
            ("simple_ondemand", Governor::SimpleOndemand(t)),
            ("performance", Governor::Performance),
            ("powersave", Governor::Powersave),
        ],
    )
}

/// What `qos` can be, with a time-out.
///
/// # Errors
/// In words.
pub fn qos(text: &str, timeout: i64) -> Result<Qos, String> {
    one_of(
        text,
        &[("off", Qos::Off), ("parent", Qos::Host { timeout }), ("lun", Qos::Disk { timeout })],
    )
}

impl Draft {
    /// Reads a file.
    ///
    /// # Errors
    /// The first line that cannot be understood, with its number.
    pub fn read(&mut self, text: &str) -> Result<(), String> {
        let mut lines = text.lines().enumerate().map(|(n, l)| {
            let l = l.split_once('#').map_or(l, |(before, _)| before);
            (n + 1, l.trim())
        });
        let first = lines.by_ref().find(|(_, l)| !l.is_empty());
        if first.is_none_or(|(_, l)| l != HEADER) {
            return Err(format!("the first line is not `{HEADER}`"));
        }
        for (n, line) in lines.filter(|(_, l)| !l.is_empty()) {
            self.line(line).map_err(|e| format!("line {n}: {e}"))?;
        }
        Ok(())
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        let (key, value) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let value = value.trim();
        match key {
            "load" => {
                if self.lines.is_some() || !self.list.is_empty() {
                    return Err("a second load".into());
                }
                self.lines = Some(load(value)?);
            }
            "at" => {
                if self.lines.is_some() {
                    return Err("a second load".into());
                }
                let words: Vec<&str> = value.split_whitespace().collect();
                let [at, rest @ ..] = words.as_slice() else {
                    return Err("write for example: at 20ms 65536".into());
                };
                let bytes = match rest {
                    [] => 65_536,
                    [b] => number(b, 1 << 30)?,
                    _ => return Err("write for example: at 20ms 65536".into()),
                };
                if self.list.len() >= MOST.0 as usize {
                    return Err(format!("more than {} requests", MOST.0));
                }
                self.list.push((time(at)?, bytes));
            }
            "power" | "energy" | "break-even" => {
                let key = COSTS.iter().find(|k| **k == key).expect("it is one of them");
                let Some((of, amount)) = value.rsplit_once(char::is_whitespace) else {
                    return Err("write for example: power busy 400MHz 900mW".into());
                };
                let of = of.split_whitespace().collect::<Vec<_>>().join(" ");
                if self.costs.len() >= 4 * MOST.1 {
                    return Err("too many powers".into());
                }
                if self.costs.insert((key, of.clone()), amount.into()).is_some() {
                    return Err(format!("a second {key} {of}"));
                }
            }
            _ => {
                let Some(key) = KEYS.iter().find(|k| **k == key) else {
                    return Err(format!("`{key}` is not known"));
                };
                if value.is_empty() {
                    return Err(format!("{key} has no value"));
                }
                if self.values.insert(key, value.into()).is_some() {
                    return Err(format!("a second {key}"));
                }
            }
        }
        Ok(())
    }

    fn get<T>(
        &self,
        key: &'static str,
        none: Option<T>,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, String> {
        match self.values.get(key) {
            Some(text) => read(text).map_err(|e| format!("{key}: {e}")),
            None => none.ok_or_else(|| format!("{key} is missing")),
        }
    }

    /// All of it.
    ///
    /// # Errors
    /// What is missing, or does not fit together.
    pub fn finish(mut self) -> Result<Described, String> {
        let levels = self.get("clocks", None, |text| {
            let list: Result<Vec<u64>, String> = text.split_whitespace().map(clock).collect();
            let mut list = list?;
            list.sort_unstable();
            list.dedup();
            match list.len() {
                n if n > MOST.1 => Err(format!("more than {} clocks", MOST.1)),
                _ => Ok(list),
            }
        })?;
        let start = self.get("start", Some(0), |text| {
            let hz = clock(text)?;
            levels.iter().position(|l| *l == hz).ok_or_else(|| format!("no clock is {text}"))
        })?;
        let law = Law {
            base: self.get("base", None, time)?,
            transfer: self.get("per-kib", None, time)?.saturating_mul(64),
            software: self.get("software", Some(0), time)?,
        };
        let yes = |text: &str| one_of(text, &[("yes", true), ("no", false)]);
        let drive = Drive {
            law,
            start,
            change: self.get("change", Some(0), time)?,
            waits: self.get("change-waits", Some(false), yes)?,
            gate: Nap {
                enter: self.get("gate-enter", Some(0), time)?,
                wake: self.get("gate-wake", Some(0), time)?,
            },
            suspend: Nap {
                enter: self.get("suspend-enter", Some(0), time)?,
                wake: self.get("resume", Some(0), time)?,
            },
            levels,
        };
        let own = Thresholds::default();
        let percent = |text: &str| number(text, 100);
        let thresholds = Thresholds {
            up: self.get("up", Some(own.up), percent)?,
            down: self.get("down", Some(own.down), percent)?,
        };
        let governor =
            self.get("governor", Some(Governor::SimpleOndemand(thresholds)), |text| {
                governor(text, thresholds)
            })?;
        // A clock that nobody changes needs no look.
        let idle = drive.levels.len() == 1 || !matches!(governor, Governor::SimpleOndemand(_));
        let timer = [("delayed", false), ("deferrable", true)];
        let stops = [
            ("never", IdleStop::Never),
            ("unless-raised", IdleStop::UnlessRaised),
            ("always", IdleStop::Always),
        ];
        let devfreq = Devfreq {
            governor,
            poll: self.get("poll", idle.then_some(0), time)?,
            tick: self.get("tick", Some(0), time)?,
            deferrable: self.get("timer", Some(false), |text| one_of(text, &timer))?,
            idle_stop: self.get("idle-stop", Some(IdleStop::Never), |text| one_of(text, &stops))?,
            least: self.get("min-freq", Some(0), clock)?,
            most: self.get("max-freq", Some(u64::MAX), clock)?,
        };
        let asks = self.values.get("qos").is_some_and(|q| q != "off");
        let timeout = self.get("timeout", (!asks).then_some(0), time)?;
        let settings = Settings {
            devfreq,
            qos: self.get("qos", Some(Qos::Off), |text| qos(text, timeout))?,
            gate: self.get("gate-delay", Some(None), delay)?,
            autosuspend: self.get("autosuspend", Some(None), delay)?,
            slack: self.get("slack", Some(0), |text| number(text, 100))? as u8,
        };
        let (powers, even) = self.costs(&drive.levels)?;
        self.list.sort_by_key(|r| r.0);
        let load = match self.lines {
            Some(l) => Some(Load::Loop(l)),
            None if self.list.is_empty() => None,
            None => Some(Load::Open(self.list)),
        };
        Ok(Described { drive, settings, load, powers, even })
    }

    /// Powers, energies and break-even times alone, of a disk with these clocks.
    ///
    /// # Errors
    /// What cannot be understood, in words.
    pub fn costs(&self, levels: &[u64]) -> Result<(Powers, BreakEven), String> {
        let mut p = Powers::unknown(levels.len());
        let mut even = BreakEven::default();
        for ((key, of), value) in &self.costs {
            let wrong = |e: String| format!("{key} {of}: {e}");
            let unknown = || wrong("not known".into());
            match *key {
                "power" => {
                    let uw = amount(value, &POWER).map_err(wrong)?;
                    match state(of, levels).ok_or_else(unknown)? {
                        State::Busy(n) => p.busy[n] = Some(uw),
                        State::Idle(n) => p.idle[n] = Some(uw),
                        State::Gate(n) => p.gate[n] = Some(uw),
                        State::Suspend(n) => p.suspend[n] = Some(uw),
                    }
                }
                "energy" => {
                    let slot = match of.as_str() {
                        "change" => &mut p.change,
                        "ungate" => &mut p.ungate,
                        "resume" => &mut p.resume,
                        _ => return Err(unknown()),
                    };
                    *slot = Some(amount(value, &ENERGY).map_err(wrong)?);
                }
                _ => {
                    let slot = match of.as_str() {
                        "clock" => &mut even.clock,
                        "gate" => &mut even.gate,
                        "suspend" => &mut even.suspend,
                        _ => return Err(unknown()),
                    };
                    *slot = Some(time(value).map_err(wrong)?);
                }
            }
        }
        Ok((p, even))
    }
}

/// `busy 400MHz`, `gated`, ….
fn state(text: &str, levels: &[u64]) -> Option<State> {
    if let Some((name, hz)) = text.split_once(' ') {
        let hz = clock(hz).ok()?;
        let n = levels.iter().position(|l| *l == hz)?;
        return match name {
            "busy" => Some(State::Busy(n)),
            "idle" => Some(State::Idle(n)),
            _ => None,
        };
    }
    let of = |names: [&str; 3]| names.iter().position(|n| *n == text);
    of(["gating", "gated", "ungating"])
        .map(State::Gate)
        .or_else(|| of(["suspending", "suspended", "resuming"]).map(State::Suspend))
}

/// `burst 8 every 200ms count 120 bytes 65536 depth 1 think 0`, in any order.
fn load(text: &str) -> Result<Loop, String> {
    let mut words = text.split_whitespace();
    let mut l =
        Loop { count: 0, bytes: 65_536, depth: 1, think: 0, burst: 0, next: Next::After(0) };
    let mut next = None;
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} has no value"))?;
        let whole = |value| number(value, u64::from(MOST.0)).map(|n| n as u32);
        match word {
            "count" => l.count = whole(value)?,
            "bytes" => l.bytes = number(value, 1 << 30)?,
            "depth" => l.depth = whole(value)?.max(1),
            "think" => l.think = time(value)?,
            "burst" => l.burst = whole(value)?,
            "every" | "after" if next.is_some() => return Err("two of every and after".into()),
            "every" => next = Some(Next::Every(time(value)?)),
            "after" => next = Some(Next::After(time(value)?)),
            _ => return Err(format!("`{word}` of a load is not known")),
        }
    }
    if l.count == 0 {
        return Err("a load has a count, such as: load burst 8 every 200ms count 120".into());
    }
    match next {
        // Without bursts every request is one.
        Some(n) => {
            l.next = n;
            l.burst = l.burst.max(1);
        }
        None if l.burst > 0 => return Err("burst needs `every TIME` or `after TIME`".into()),
        None => l.burst = l.count,
    }
    Ok(l)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_storage::simulate::settings::laboratory;

    const DISK: &str = "dormouse-disk 1
# the laboratory's
clocks 400MHz 100MHz   # in any order
base 60us
per-kib 1.5us
software 74us
change 500us
resume 3ms
up 70
poll 60ms
";

    fn described(texts: &[&str]) -> Result<Described, String> {
        let mut d = Draft::default();
        for t in texts {
            d.read(t)?;
        }
        d.finish()
    }

    #[test]
    fn the_disk_of_the_laboratory() {
        let d = described(&[DISK]).unwrap();
        assert_eq!((d.drive, d.settings), laboratory());
        assert_eq!(d.load, None);
    }

    #[test]
    fn loads_in_a_file_of_their_own() {
        let of =
            |text: &str| described(&[DISK, &format!("{HEADER}\n{text}")]).map(|d| d.load.unwrap());
        assert_eq!(
            of("load burst 8 every 200ms count 120").unwrap(),
            Load::paced(120, 8, 200_000_000)
        );
        assert_eq!(of("load every 6ms count 4").unwrap(), Load::paced(4, 1, 6_000_000));
        let Load::Loop(l) = of("load depth 4 think 1ms count 9 bytes 4096").unwrap() else {
            panic!()
        };
        assert_eq!((l.depth, l.think, l.burst, l.bytes), (4, 1_000_000, 9, 4_096));
        assert_eq!(
            of("at 2ms\nat 1ms 512").unwrap(),
            Load::Open(vec![(1_000_000, 512), (2_000_000, 65_536)])
        );
        for bad in [
            "load burst 8 count 5",
            "load every 5ms",
            "load every 5ms after 5ms count 3",
            "load count 3\nat 5ms",
            "at",
            "load count 99999999",
            "load count",
            "load often 3",
        ] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn powers_have_units_and_states() {
        let of = |text: &str| described(&[DISK, &format!("{HEADER}\n{text}")]);
        let d = of("power busy  400MHz 0.9W\npower idle 100MHz 60mW\npower suspended 5uW\nenergy resume 6.5mJ\nbreak-even gate 20ms").unwrap();
        assert_eq!((d.powers.busy[1], d.powers.busy[0]), (Some(900_000), None));
        assert_eq!((d.powers.idle[0], d.powers.suspend[1]), (Some(60_000), Some(5)));
        assert_eq!((d.powers.resume, d.even.gate), (Some(6_500_000), Some(20_000_000)));
        for bad in [
            "power busy 300MHz 1W",
            "power busy 1W",
            "power gated 1",
            "power gated -1W",
            "power gated 1.W",
            "power gated 9999999kW",
            "power",
            "energy sleep 1J",
            "energy resume 1W",
            "break-even clock soon",
        ] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_missing_or_wrong_is_said_with_its_line() {
        let error = |text: &str| described(&[text]).unwrap_err();
        assert_eq!(error("clocks 1MHz"), "the first line is not `dormouse-disk 1`");
        assert_eq!(error("dormouse-disk 1\nclocks 1MHz\nbase 1us"), "per-kib is missing");
        let poll = format!("{HEADER}\nclocks 1MHz 2MHz\nbase 1us\nper-kib 1us");
        assert_eq!(error(&poll), "poll is missing");
        assert_eq!(error(&format!("{poll}\n\nbase 2us")), "line 6: a second base");
        assert_eq!(error(&format!("{poll}\nspeed 3")), "line 5: `speed` is not known");
        let qos = error(&format!("{poll}\npoll 1ms\nqos lun"));
        assert_eq!(qos, "timeout is missing");
        assert!(error(&format!("{poll}\npoll 9999h")).contains("not a duration"));
        assert!(error(&format!("{poll}\npoll 1ms\nstart 3MHz")).contains("no clock is 3MHz"));
    }
}
