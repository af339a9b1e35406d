//! Profiles as text: what `--profile FILE` reads and `calibrate` writes.
//!
//! ```text
//! profile 1
//! name "qemu icount, 6.12.117, 4 CPUs"
//! cpus 350 350 1000 1000      # speeds in thousandths; or: unlimited, board
//! computing shared            # all CPUs share one computing thread; or: parallel
//! first_tick 800us 1.3ms      # timers of the last CPU wait so long in resume noirq
//! slice 3ms
//! idle_workers 2
//! max_active kernel           # or a number
//! queue 2us 0.1us             # a time and its standard deviation
//! ```

use super::Emulator;
use super::cost::{Costs, Cpus, Profile};
use dormouse_base::time::Ns;
use dormouse_board::{parse_duration, print_duration};
use std::fmt;

/// What is wrong with a profile, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileError {
    /// Line, from 1.
    pub line: usize,
    /// A sentence for a person.
    pub message: String,
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for ProfileError {}

/// Reads a profile. Times that are not named keep the x86 default.
///
/// # Errors
/// The first line that is not understood.
pub fn parse(text: &str) -> Result<Profile, ProfileError> {
    let mut profile = Profile::x86();
    profile.name = "unnamed profile".into();
    let mut seen = false;
    let mut first_tick = (Ns::ZERO, Ns::ZERO);
    for (i, line) in text.lines().enumerate() {
        let line = strip_comment(line).trim();
        if line.is_empty() {
            continue;
        }
        statement(&mut profile, &mut first_tick, line, &mut seen)
            .map_err(|message| ProfileError { line: i + 1, message })?;
    }
    match &mut profile.emulator {
        Some(emulator) => emulator.first_tick = first_tick,
        None if first_tick.1 > Ns::ZERO => {
            let at = text.lines().position(|l| l.trim_start().starts_with("first_tick"));
            let message = "only a profile with `computing shared` has a first tick".into();
            return Err(ProfileError { line: at.unwrap_or(0) + 1, message });
        }
        None => {}
    }
    if seen {
        return Ok(profile);
    }
    Err(ProfileError { line: 1, message: "the file is empty; begin it with `profile 1`".into() })
}

fn strip_comment(line: &str) -> &str {
    let mut quoted = false;
    for (i, c) in line.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '#' if !quoted => return &line[..i],
            _ => {}
        }
    }
    line
}

fn statement(
    profile: &mut Profile,
    first_tick: &mut (Ns, Ns),
    line: &str,
    seen: &mut bool,
) -> Result<(), String> {
    let (key, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    if !*seen {
        if key != "profile" {
            return Err("a profile begins with `profile 1`".into());
        }
        if rest != "1" {
            return Err(format!("version {rest} is not known; this program reads version 1"));
        }
        *seen = true;
        return Ok(());
    }
    match key {
        "name" => profile.name = rest.trim_matches('"').to_string(),
        "cpus" => profile.cpus = cpus(rest)?,
        "computing" => {
            profile.emulator = match rest {
                "shared" => Some(Emulator::default()),
                "parallel" => None,
                _ => return Err("computing is `shared` or `parallel`".into()),
            }
        }
        "first_tick" => {
            let (first, last) = rest.split_once(char::is_whitespace).unwrap_or((rest, rest));
            let (first, last) = (parse_duration(first)?, parse_duration(last.trim())?);
            if first > last {
                return Err("a first tick is given as the earliest time and the latest".into());
            }
            if last > LONGEST {
                return Err("a first tick after ten seconds is none; check the unit".into());
            }
            *first_tick = (first, last);
        }
        "slice" => profile.slice = parse_duration(rest)?,
        "idle_workers" => profile.idle_workers = count(rest)?.min(100_000),
        "max_active" if rest == "kernel" => profile.max_active = None,
        "max_active" => profile.max_active = Some(count(rest)?.max(1)),
        _ => {
            let Some(at) = Costs::NAMES.iter().position(|&(name, _)| name == key) else {
                return Err(format!("`{key}` is no time of a profile"));
            };
            let mut words = rest.split_whitespace();
            let time = parse_duration(words.next().ok_or("a time is missing")?)?;
            let spread = words.next().map(parse_duration).transpose()?;
            if let Some(extra) = words.next() {
                return Err(format!("`{extra}` is one word too many"));
            }
            if time > LONGEST {
                return Err("a cost of more than ten seconds is no cost; check the unit".into());
            }
            if let Some(field) = profile.costs.field(key) {
                *field = time;
            }
            profile.uncertainty[at] = spread;
        }
    }
    Ok(())
}

/// Longer costs than this are mistakes of the unit.
const LONGEST: Ns = Ns(10_000_000_000);

fn count(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number"))
}

fn cpus(text: &str) -> Result<Option<Cpus>, String> {
    match text {
        "board" => return Ok(None),
        "unlimited" => return Ok(Some(Cpus::Unlimited)),
        _ => {}
    }
    let speeds: Vec<u32> = text
        .split_whitespace()
        .map(|w| match count(w)? {
            0 => Err("a CPU of speed 0 does nothing".into()),
            s if s > 1_000_000 => Err("a speed is at most 1000000 thousandths".to_string()),
            s => Ok(s),
        })
        .collect::<Result<_, String>>()?;
    if speeds.is_empty() || speeds.len() > 65_536 {
        return Err("write `board`, `unlimited` or one speed for each CPU: 1000 1000".into());
    }
    Ok(Some(Cpus::List(speeds)))
}

/// Writes a profile so that [`parse`] reads the same.
pub fn print(profile: &Profile) -> String {
    let mut out = String::from("profile 1\n");
    out.push_str(&format!("name \"{}\"\n", profile.name.replace(['"', '\n'], " ")));
    match &profile.cpus {
        None => out.push_str("cpus board\n"),
        Some(Cpus::Unlimited) => out.push_str("cpus unlimited\n"),
        Some(Cpus::List(list)) => {
            out.push_str("cpus");
            for speed in list {
                out.push_str(&format!(" {speed}"));
            }
            out.push('\n');
        }
    }
    if let Some(emulator) = &profile.emulator {
        out.push_str("computing shared\n");
        if emulator.first_tick.1 > Ns::ZERO {
            out.push_str("first_tick ");
            print_duration(emulator.first_tick.0, &mut out);
            out.push(' ');
            print_duration(emulator.first_tick.1, &mut out);
            out.push('\n');
        }
    }
    out.push_str("slice ");
    print_duration(profile.slice, &mut out);
    out.push_str(&format!("\nidle_workers {}\n", profile.idle_workers));
    match profile.max_active {
        None => out.push_str("max_active kernel\n"),
        Some(n) => out.push_str(&format!("max_active {n}\n")),
    }
    let values = profile.costs.values();
    for (i, (name, meaning)) in Costs::NAMES.iter().enumerate() {
        let mut line = format!("{name} ");
        print_duration(values[i], &mut line);
        if let Some(spread) = profile.uncertainty[i] {
            line.push(' ');
            print_duration(spread, &mut line);
        }
        out.push_str(&format!("{line:<28}# {meaning}\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_survive_print_and_parse() {
        for name in ["zero", "x86", "phone"] {
            let mut p = Profile::find(name).expect(name);
            p.uncertainty[1] = Some(Ns(150));
            if name == "phone" {
                let first_tick = (Ns(800_000), Ns(1_250_000));
                p.emulator = Some(Emulator { first_tick, ..Emulator::default() });
            }
            assert_eq!(parse(&print(&p)), Ok(p));
        }
    }

    #[test]
    fn a_first_tick_may_be_one_time() {
        let one = parse("profile 1\ncomputing shared\nfirst_tick 1ms").expect("a profile");
        let emulator = one.emulator.expect("an emulator");
        assert_eq!(emulator.first_tick, (Ns::from_ms(1), Ns::from_ms(1)));
    }

    #[test]
    fn every_cost_has_its_name() {
        let mut costs = Costs::default();
        for (i, (name, _)) in Costs::NAMES.iter().enumerate() {
            *costs.field(name).expect("a field") = Ns(i as i64 + 1);
        }
        let expected: [Ns; 23] = std::array::from_fn(|i| Ns(i as i64 + 1));
        assert_eq!(costs.values(), expected);
    }

    #[test]
    fn mistakes_name_their_line() {
        for (text, line) in [
            ("", 1),
            ("queue 2us", 1),
            ("profile 2", 1),
            ("profile 1\n\nqueue 2", 3),
            ("profile 1\nquue 2us", 2),
            ("profile 1\nqueue 2us 1us 3us", 2),
            ("profile 1\ncpus 0", 2),
            ("profile 1\nwake 3000s", 2),
            ("profile 1\nfirst_tick 2ms 1ms", 2),
            ("profile 1\nfirst_tick 1ms 9000000000s", 2),
            ("profile 1\nfirst_tick 1ms", 2),
        ] {
            assert_eq!(parse(text).expect_err(text).line, line, "{text}");
        }
    }
}
