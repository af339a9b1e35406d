//! What `dormouse predict` prints.

use super::numbers::{percent, seconds, us};
use super::wrapped::wrap;
use crate::text::{fit, safe};
use crate::wording::next::next;
use crate::wording::number::grouped;
use dormouse_idle::governors::{Kind, Version};
use dormouse_idle::knob::UNLIMITED;
use dormouse_idle::predict::{Account, Spent};
use dormouse_idle::trust::{Measured, Trust, Verdict, energy_over};
use std::fmt::Write as _;

/// What is printed.
#[derive(Clone, Copy, Debug)]
pub struct Outlook<'a> {
    /// Names of states by number.
    pub states: &'a [String],
    /// As recorded.
    pub recorded: &'a [Spent],
    /// Governors, now and then.
    pub governors: [(Kind, Version); 2],
    /// The model of now, and of the change.
    pub accounts: &'a [Account; 2],
    /// With every wake-up foreseen, and with none.
    pub bounds: &'a [[Account; 2]; 2],
    /// Wake-ups, and those caused by a timer.
    pub wakes: (u64, u64),
    /// CPUs.
    pub cpus: usize,
    /// State and thousandths of idle time by which the model misses most.
    pub error: Option<(usize, u64)>,
    /// What the recording itself says, where it tells when events came.
    pub measured: Option<Measured>,
    /// Was anything changed?
    pub changed: bool,
    /// The one limit or set of disabled states with least energy, in words.
    pub best: (&'a str, &'a Account),
    /// Where power is from; none if it is assumed.
    pub power: Option<&'a str>,
    /// Every limit that makes a difference, ns, and what follows; empty unless
    /// asked for.
    pub sweep: &'a [(i64, Account)],
    /// The command line without `--from-governor`.
    pub again: &'a str,
    /// The input as it was typed.
    pub input: &'a str,
    /// Options that say how it was recorded, each behind a blank.
    pub present: &'a str,
}

impl Outlook<'_> {
    fn trust(&self) -> Trust<'_> {
        Trust { error: self.error, measured: self.measured, now: &self.accounts[0] }
    }

    /// What becomes of the prediction.
    pub fn verdict(&self) -> Verdict {
        self.trust()
            .verdict(Some(&self.accounts[1]).filter(|_| self.changed && self.sweep.is_empty()))
    }

    /// Energy of a time as long as the model of the present.
    pub(super) fn energy_of(&self, a: &Account, energy: i128) -> i128 {
        energy_over(energy, a, self.accounts[0].span)
    }

    /// The change, as far as it is more than what the model misses of the present.
    fn answer(&self) -> String {
        let [now, then] = self.accounts;
        let changed = self.energy_of(then, then.energy);
        let energy = if self.trust().tells_energy(then) {
            let assumed = if self.power.is_some() { "" } else { " (power assumed)" };
            format!("Energy {}{assumed}", change(now.energy, changed))
        } else {
            "Energy as now, as far as the model can tell".into()
        };
        let tail = if self.trust().tells_delay(then) {
            format!("p99 {} -> {} us", delay(now, 990), delay(then, 990))
        } else {
            format!("p99 {} us as now", delay(now, 990))
        };
        let [a, b] = [now, then].map(|a| delay(a, 1_000));
        format!("{energy}, wake-up delay {tail}, longest {a} -> {b} us.")
    }

    /// The recording under its own governor, beside what was measured.
    fn self_check(&self) -> Option<String> {
        let m = self.measured.as_ref()?;
        let now = &self.accounts[0];
        let energy = change(m.energy, energy_over(now.energy, now, m.span));
        let delays = m.p99.map_or(String::new(), |p99| {
            format!("a wake-up delay p99 of {} us, measured {}, and ", delay(now, 990), us(p99))
        });
        Some(format!(
            "Self-check: replayed as it was, the recording has {delays}energy {energy} of what was \
             measured; no smaller change is claimed."
        ))
    }

    /// The model reproduces the recording well enough to predict from.
    pub fn trusted(&self) -> bool {
        self.verdict() == Verdict::Trusted
    }
}

/// The page.
pub fn predict(o: &Outlook) -> String {
    let [now, then] = o.accounts;
    let mut out = String::new();
    let (at, apart) = o.error.unwrap_or((0, 1_000));
    let state = |i: usize| o.states.get(i).map_or(format!("state {i}"), |n| safe(n).into_owned());
    let name = |g: (Kind, Version)| format!("{} of {}", g.0.name(), g.1.name());
    let trusted = o.trusted();
    // No figure of a change rests on a model that misses the present.
    let told = trusted && o.changed;
    let verdict = o.verdict();
    if verdict == Verdict::Within {
        out += &wrap(
            "No prediction: energy and delay would change by less than the model misses of the \
             recording itself.",
        );
    } else if !trusted {
        out += &wrap(&format!(
            "No prediction: the model of {} misses the recording by {} of idle time in {}.",
            name(o.governors[0]),
            points(apart),
            state(at)
        ));
    } else if !o.sweep.is_empty() {
        out += &wrap(&sweep_answer(o));
    } else if !o.changed {
        out +=
            &wrap("Nothing is changed: give --governor, --kernel, --latency-limit or --disable.");
    } else {
        out += &wrap(&o.answer());
    }
    out += &wrap(&format!(
        "{} wake-ups of {} CPU{} replayed; the model of now misses the recording by at most {} of \
         idle time in a state{}.",
        grouped(o.wakes.0),
        o.cpus,
        if o.cpus == 1 { "" } else { "s" },
        points(apart),
        missed(o).map_or(String::new(), |(i, is, was)| format!(
            "; it has {} sleeps in {}, recorded were {}",
            grouped(is),
            state(i),
            grouped(was)
        ))
    ));
    if let Some(text) = o.self_check().filter(|_| verdict != Verdict::Misses) {
        out += &wrap(&text);
    }
    if let Some(g) = o.governors.iter().find(|g| !g.1.is_verified(g.0)) {
        out += &wrap(&format!(
            "Caution: the rules of {} are read in its source and worked out by hand, not verified \
             on a kernel.",
            name(*g)
        ));
    }
    if o.governors.contains(&(Kind::Menu, Version::V6_1)) {
        out += &wrap(
            "Caution: menu of 6.1 looks at tasks that wait for I/O, which no trace tells; none is \
             taken to.",
        );
    }
    let mut columns = vec![("recorded", o.recorded), ("model now", &now.states[..])];
    if told {
        columns.push(("changed", &then.states[..]));
    }
    let _ = write!(out, "\n{:<14}", "");
    for (title, _) in &columns {
        let _ = write!(out, "{title:>21}");
    }
    let _ = write!(out, "\n{:<14}", "State");
    for _ in &columns {
        let _ = write!(out, "{:>13}{:>8}", "sleeps", "share");
    }
    out.push('\n');
    for i in 0..o.states.len() {
        let _ = write!(out, "{:<14}", fit(&state(i), 13));
        for (_, c) in &columns {
            let all: i64 = c.iter().map(|s| s.time).sum();
            let s = c.get(i).copied().unwrap_or_default();
            let share = percent(s.time.max(0).unsigned_abs(), all.max(0).unsigned_abs());
            let _ = write!(out, "{:>13}{share:>8}", grouped(s.sleeps));
        }
        out.push('\n');
    }
    let _ = write!(out, "{:<14}", "total");
    for (_, c) in &columns {
        let _ = write!(out, "{:>13}{:>8}", grouped(c.iter().map(|s| s.sleeps).sum()), "100 %");
    }
    out.push('\n');
    let mut row = |title: &str, f: &dyn Fn(&Account) -> String| {
        let _ = write!(out, "{title:<34}{:>22}", f(now));
        if told {
            let _ = write!(out, "{:>21}", f(then));
        }
        out.push('\n');
    };
    row("ended by an event", &|a| grouped(a.sleeps().saturating_sub(a.ticks + a.spun)));
    row("ended by the tick", &|a| grouped(a.ticks));
    row("ended by the limit of polling", &|a| grouped(a.spun));
    row("too deep", &|a| grouped(a.too_deep));
    row("too shallow", &|a| grouped(a.too_shallow));
    row("time asleep, s", &|a| seconds(a.time().max(0).unsigned_abs()));
    row("wake-up delay p50, us", &|a| delay(a, 500));
    row("wake-up delay p99, us", &|a| delay(a, 990));
    row("wake-up delay p99.9, us", &|a| delay(a, 999));
    row("wake-up delay longest, us", &|a| delay(a, 1_000));
    row(&format!("energy, {}", unit(o)), &|a| energy(o, o.energy_of(a, a.energy)));
    row("energy above the least possible", &|a| above(a));
    if trusted {
        out += &bounds_of(o, if o.changed { then } else { now });
    }
    if trusted && !o.sweep.is_empty() {
        out += &sweep(o);
    }
    if told {
        out += "\nWhat the governor knows of the next timer bounds the result (both columns):\n";
        for (title, n, t) in [
            ("as the trace says", now, then),
            ("every wake-up foreseen", &o.bounds[0][0], &o.bounds[1][0]),
            ("no wake-up foreseen", &o.bounds[0][1], &o.bounds[1][1]),
        ] {
            let _ = writeln!(
                out,
                "  {title:<24}energy {:>9}, delay p99 {:>8} -> {:>6} us",
                change(n.energy, energy_over(t.energy, t, n.span)),
                delay(n, 990),
                delay(t, 990)
            );
        }
    }
    out += &wrap(&format!(
        "Wake-up delay: from the event until the CPU is awake. Of {} wake-ups {} are by a timer, \
         as far as the trace says. Power is {}. Ticks of the recording are replayed as wake-ups.",
        grouped(o.wakes.0),
        grouped(o.wakes.1),
        o.power.map_or(
            "assumed: equal steps from the shallowest state (P0) to none in the deepest".into(),
            |p| format!("as given ({})", safe(p))
        )
    ));
    if verdict == Verdict::Misses {
        out += &wrap(NAME_WHAT_WAS);
    }
    out.push('\n');
    out + &next(&match (trusted, o.changed) {
        _ if verdict == Verdict::Within => {
            format!("predict {}{} --sweep limit", o.input, o.present)
        }
        (false, _) => {
            format!("{} --from-governor {}", o.again, other(o.governors[0].0.name()))
        }
        (true, false) => format!("predict {}{} --latency-limit 50us", o.input, o.present),
        // What it reaches, as a budget: is there a cheaper way?
        (true, true) => {
            let p99 = then.delay(990).unwrap_or(0).max(0).unsigned_abs().div_ceil(1_000);
            format!("tune {}{} --p99 {p99}us", o.input, o.present)
        }
    })
}

/// The state whose number of sleeps the model misses most for its size, if that is
/// more than a tenth of it and a hundredth of all: its number in the model, and as
/// recorded. A state that is short misses many sleeps in little time.
fn missed(o: &Outlook) -> Option<(usize, u64, u64)> {
    let model = &o.accounts[0].states;
    let all: u64 = o.recorded.iter().map(|s| s.sleeps).sum();
    let each = o.recorded.iter().enumerate().map(|(i, was)| {
        let is = model.get(i).map_or(0, |s| s.sleeps);
        (i, is, was.sleeps)
    });
    let off = |(_, is, was): &(usize, u64, u64)| is.abs_diff(*was);
    let much = each.filter(|m| off(m) * 100 >= all.max(1) && off(m) * 10 > m.2.max(m.1));
    much.max_by_key(|m| (off(m) * 1_000 / m.2.max(m.1), std::cmp::Reverse(m.0)))
}

/// Why a model may miss its recording.
pub(super) const NAME_WHAT_WAS: &str =
    "Name what was in use when it was recorded: --from-governor, --from-kernel, --hz.";

/// A governor that may have been in use, if this one was not.
pub(super) fn other(governor: &str) -> &'static str {
    if governor == Kind::Menu.name() { Kind::Teo.name() } else { Kind::Menu.name() }
}

/// Thousandths as points of a percentage.
fn points(thousandths: u64) -> String {
    format!("{}.{} points", thousandths / 10, thousandths % 10)
}

pub(super) fn delay(a: &Account, per_mille: u64) -> String {
    a.delay(per_mille).map_or("-".into(), us)
}

/// `-3.2 %`: a change, rounded half up.
pub(super) fn change(was: i128, is: i128) -> String {
    if was == 0 {
        return "unknown".into();
    }
    let (part, whole) = ((is - was).unsigned_abs() * 1_000, was.unsigned_abs());
    let sign = if (is < was) == (was > 0) { "-" } else { "+" };
    match (part + whole / 2) / whole {
        0 => "0.0 %".into(),
        n => format!("{sign}{}.{} %", n / 10, n % 10),
    }
}

fn above(a: &Account) -> String {
    match a.oracles.select.energy {
        0 => "-".into(),
        least => change(least, a.energy),
    }
}

/// What [`energy`] counts.
fn unit(o: &Outlook) -> &'static str {
    if o.power.is_some() { "mJ" } else { "ms of P0" }
}

/// Energy in mJ if power is given, else in ms of the shallowest state.
fn energy(o: &Outlook, e: i128) -> String {
    // Microwatts times ns are femtojoules.
    let hundredths = match o.power {
        Some(_) => (e + 5_000_000_000) / 10_000_000_000,
        None => (e + 5_000_000) / 10_000_000,
    };
    let n = u64::try_from(hundredths.max(0)).unwrap_or(u64::MAX);
    format!("{}.{:02}", grouped(n / 100), n % 100)
}

/// How good any choice could have been on the same sleeps.
fn bounds_of(o: &Outlook, a: &Account) -> String {
    let served: u64 = a.delays.values().sum();
    let mean = |waited: i128| {
        let ns = waited / i128::from(served.max(1));
        us(i64::try_from(ns).unwrap_or(i64::MAX))
    };
    let x = &a.oracles;
    let of = if o.changed { "changed" } else { "model now" };
    let head = format!("energy, {}", unit(o));
    let mut out =
        format!("\n{:<44}{head:>18}{:>16}\n", "Bounds on the same sleeps", "mean delay, us");
    let best = o.best.1;
    let rows = [
        (of.to_string(), a, a.energy, a.waited()),
        ("knows the future, obeys the limit".into(), a, x.select.energy, x.select.waited),
        ("the same, wakes before the event".into(), a, x.prewake.energy, x.prewake.waited),
        ("always the shallowest state".into(), a, x.shallowest.energy, x.shallowest.waited),
        (format!("best static: {}", safe(o.best.0)), best, best.energy, best.waited()),
    ];
    // One length of time in all tables.
    for (title, of, e, waited) in rows {
        let cell = energy(o, o.energy_of(of, e));
        let _ = writeln!(out, "{:<44}{cell:>18}{:>16}", fit(&title, 43), mean(waited));
    }
    // Points that hardly differ from the one before say nothing.
    let mut shown = a.oracles.select.waited;
    for p in x.pareto() {
        if p.waited > shown - shown / 8 || p.waited == x.shallowest.waited {
            continue;
        }
        shown = p.waited;
        let title = "knows the future, trades energy for delay";
        let cell = energy(o, o.energy_of(a, p.energy));
        let _ = writeln!(out, "{title:<44}{cell:>18}{:>16}", mean(p.waited));
    }
    out
}

fn sweep_answer(o: &Outlook) -> String {
    let (Some(tight), Some(free)) = (o.sweep.first(), o.sweep.last()) else {
        return String::new();
    };
    let limits = o.sweep.iter().filter(|s| s.0 < UNLIMITED).count();
    format!(
        "{} a difference: p99 from {} us ({} energy) to {} us without a limit.",
        if limits == 1 { "1 limit makes".into() } else { format!("{limits} limits make") },
        delay(&tight.1, 990),
        change(free.1.energy, tight.1.energy),
        delay(&free.1, 990)
    )
}

fn sweep(o: &Outlook) -> String {
    let Some((_, free)) = o.sweep.last() else { return String::new() };
    let mut out = String::from("\nLimit, at least      energy  p50 us  p99 us p99.9 us  max us\n");
    let most = o.sweep.iter().map(|(_, a)| a.energy).max().unwrap_or(1).max(1);
    for (limit, a) in o.sweep {
        let name = if *limit >= UNLIMITED { "none".into() } else { format!("{} us", us(*limit)) };
        let bar = usize::try_from((a.energy * 14 / most).max(0)).unwrap_or(0);
        let line = format!(
            "{name:<18}{:>9}{:>8}{:>8}{:>9}{:>8}  {}",
            change(free.energy, energy_over(a.energy, a, free.span)),
            delay(a, 500),
            delay(a, 990),
            delay(a, 999),
            delay(a, 1_000),
            "#".repeat(bar)
        );
        out += line.trim_end();
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_idle::oracle::{Bound, Oracles};
    use std::collections::BTreeMap;

    fn account(sleeps: u64, delay: i64, energy: i128) -> Account {
        Account {
            states: vec![Spent { sleeps, time: 1_000_000 }, Spent { sleeps: 1, time: 9_000_000 }],
            delays: BTreeMap::from([(delay, sleeps)]),
            energy,
            oracles: Oracles { select: Bound { energy: 100, waited: 0 }, ..Oracles::default() },
            ..Account::default()
        }
    }

    fn page(error: u64, changed: bool) -> String {
        page_of(error, changed, None)
    }

    fn page_of(error: u64, changed: bool, measured: Option<Measured>) -> String {
        let states = ["WFI".to_string(), "off".to_string()];
        let accounts = [account(10, 50_000, 200), account(20, 1_000, 150)];
        let recorded = accounts[0].states.clone();
        let bounds = [accounts.clone(), accounts.clone()];
        predict(&Outlook {
            states: &states,
            recorded: &recorded,
            governors: [(Kind::Teo, Version::V6_12), (Kind::Menu, Version::V6_12)],
            accounts: &accounts,
            bounds: &bounds,
            wakes: (10, 4),
            cpus: 1,
            error: Some((1, error)),
            measured,
            changed,
            best: ("limit 100 us", &accounts[1]),
            power: None,
            sweep: &[],
            again: "predict t.txt s.txt --hz 1000 --disable C6",
            input: "t.txt s.txt",
            present: " --from-governor teo",
        })
    }

    #[test]
    fn a_change_is_told_first() {
        let text = page(12, true);
        let first =
            "Energy -25.0 % (power assumed), wake-up delay p99 50 -> 1 us, longest 50 -> 1 us.";
        let flowing = text.replace("\n  ", " ");
        assert!(flowing.starts_with(first), "{text}");
        assert!(flowing.contains("at most 1.2 points"), "{text}");
        assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
        assert!(
            text.ends_with("\n\nNext: dormouse tune t.txt s.txt --from-governor teo --p99 1us\n"),
            "{text}"
        );
    }

    #[test]
    fn no_change_is_claimed_below_what_the_model_misses() {
        let flowing = |m| page_of(12, true, Some(m)).replace("\n  ", " ");
        // 200 modelled, 210 measured; 50 us, 51 measured.
        let near = flowing(Measured { p99: Some(51_000), energy: 210, span: 0 });
        assert!(near.starts_with("Energy -25.0 % (power assumed), wake-up delay p99 50 -> 1 us"));
        assert!(
            near.contains("p99 of 50 us, measured 51, and energy -4.8 % of what was measured"),
            "{near}"
        );
        let far = flowing(Measured { p99: Some(100_000), energy: 300, span: 0 });
        assert!(
            far.starts_with(
                "No prediction: energy and delay would change by less than the model misses"
            ),
            "{far}"
        );
        assert!(!far.contains("changed"), "{far}");
        // One of them is clear.
        let one = flowing(Measured { p99: Some(50_000), energy: 300, span: 0 });
        assert!(
            one.starts_with(
                "Energy as now, as far as the model can tell, wake-up delay p99 50 -> 1 us"
            ),
            "{one}"
        );
    }

    #[test]
    fn a_model_that_misses_the_present_predicts_nothing() {
        let text = page(101, true);
        assert!(text.starts_with("No prediction: the model of teo of 6.12 misses"), "{text}");
        for word in ["Energy", "changed", "->"] {
            assert!(!text.contains(word), "{word}: {text}");
        }
        // The next command asks the same of another governor.
        let next =
            "Next: dormouse predict t.txt s.txt --hz 1000 --disable C6 --from-governor menu\n";
        assert!(text.ends_with(next), "{text}");
    }

    #[test]
    fn changes_are_rounded_and_nothing_has_no_sign() {
        assert_eq!(change(97_391_920, 97_327_380), "-0.1 %");
        assert_eq!(change(1_000, 1_000), "0.0 %");
        assert_eq!(change(10_000, 9_996), "0.0 %");
        assert_eq!(change(1_000, 1_019), "+1.9 %");
        assert_eq!(change(2_000, 2_001), "+0.1 %");
    }
}
