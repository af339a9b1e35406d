//! Drains that are drawn, and planted in a battery while the guest sleeps.

use super::guest::{Case, Guests};
use super::told::Told;
use anyhow::{Result, anyhow};
use dormouse_base::stats::random::Random;
use serde_json::Value;
use std::thread;

const SCRIPT: &str = include_str!("drain.sh");

/// A battery.
struct Battery {
    gauge: &'static str,
    /// The step of its gauge, in its unit.
    step: i64,
    full: i64,
    /// Units of a row for one of the gauge's.
    scale: i64,
}

const BATTERIES: [Battery; 4] = [
    Battery { gauge: "energy", step: 10_000, full: 52_000_000, scale: 1 },
    Battery { gauge: "energy", step: 570_000, full: 57_000_000, scale: 1 },
    Battery { gauge: "charge", step: 1_000, full: 4_100_000, scale: 1 },
    Battery { gauge: "capacity", step: 1, full: 100, scale: 1_000 },
];

/// What is planted.
struct Planted {
    before: i64,
    after: i64,
    seconds: i64,
    charger: bool,
}

impl Battery {
    /// Drawn: a quarter of an hour to four hours, and 0 to 4 % of the battery an hour.
    fn drawn(&self, r: &mut Random) -> Planted {
        let seconds = r.between(900, 14_400) as i64;
        let most = (self.full as i128 * 4 * i128::from(seconds) / 360_000) as i64;
        let used = r.between(0, most.max(1) as u64) as i64;
        let before = r.between((self.full / 2) as u64, self.full as u64) as i64;
        Planted { before, after: before - used, seconds, charger: r.chance(10, 100) }
    }

    fn name(&self) -> String {
        format!("{}-{}", self.gauge, self.step)
    }
}

/// Counts of one battery.
#[derive(Default)]
struct Count {
    right: usize,
    figures: usize,
    coarse: usize,
    none: usize,
    worst: f64,
}

pub(super) fn told(guests: &Guests, seed: u64, drains: usize) -> Result<Told> {
    let mut r = Random::new(seed);
    let each = (drains / BATTERIES.len()).max(1);
    let mut scripts = Vec::new();
    let mut all = Vec::new();
    for b in &BATTERIES {
        let mut script = format!("{SCRIPT}{} {} {} {each}\n", b.gauge, b.step, b.full);
        let planted: Vec<Planted> = (0..each).map(|_| b.drawn(&mut r)).collect();
        for p in &planted {
            let Planted { before, after, seconds, charger } = p;
            script += &format!("{before} {after} {seconds} {}\n", u8::from(*charger));
        }
        all.push(planted);
        scripts.push(script + "END\n");
    }
    let booted: Vec<Result<Vec<Case>>> = thread::scope(|s| {
        let begun: Vec<_> = scripts.iter().map(|text| s.spawn(|| guests.run(text))).collect();
        let panicked = || Err(anyhow!("a guest's thread panicked"));
        begun.into_iter().map(|g| g.join().unwrap_or_else(|_| panicked())).collect()
    });
    let cases: Vec<Case> =
        booted.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    let mut out = Told {
        text: format!(
            "## Drains\n\n{} drains, planted while the guest slept. A row is right if it is off by less \
             than a step of the gauge on either side, and a figure if by no more than that makes in its \
             time.\n\n\
             | gauge, step | sleeps | rows right | figures, all right | coarse | none, by a charger | worst figure, steps |\n\
             | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
            each * BATTERIES.len()
        ),
        ..Told::default()
    };
    for (b, planted) in BATTERIES.iter().zip(&all) {
        let Some(case) = cases.iter().find(|c| c.name == b.name()) else {
            out.wrong.push(format!("{}: the guest did not come to it", b.name()));
            continue;
        };
        let json = case.json();
        let list = |name: &str| json[name].as_array().cloned().unwrap_or_default();
        let (rows, nights) = (list("sleeps"), list("nights"));
        out.check(rows.len() == each && nights.len() == each, || {
            format!("{}: {} rows, {} nights of {each}", b.name(), rows.len(), nights.len())
        });
        let mut count = Count::default();
        for ((row, night), p) in rows.iter().zip(&nights).zip(planted) {
            b.judge(row, night, p, &mut count, &mut out);
        }
        let said = case.text("screen").contains("coarse:");
        let shown = nights.iter().rev().take(21).any(|n| n["drain_is_rough"] == true);
        out.check(said == shown, || format!("{}: {}", b.name(), case.text("screen")));
        out.text += &format!(
            "| {} {} | {each} | {} | {} | {} | {} | {:.2} |\n",
            b.gauge, b.step, count.right, count.figures, count.coarse, count.none, count.worst
        );
    }
    Ok(out)
}

impl Battery {
    fn judge(&self, row: &Value, night: &Value, p: &Planted, count: &mut Count, out: &mut Told) {
        let step = self.step * self.scale;
        let read = |side: &str| row["batteries"][0][side].as_i64().unwrap_or(i64::MIN / 2);
        let near = |side: &str, planted: i64| (read(side) - planted * self.scale).abs() < step;
        let right = near("before", p.before) && near("after", p.after);
        let mains = row["mains"].as_i64() == Some(p.charger.into());
        out.check(right && mains, || format!("{}: {row}", self.name()));
        count.right += usize::from(right && mains);
        let used = (p.before - p.after) * self.scale;
        let moved = read("before") - read("after");
        let watts = night["drain_microwatts"].as_i64();
        let share = night["drain_thousandths_of_percent_an_hour"].as_i64();
        let rough = night["drain_is_rough"].as_bool();
        let wrong = |what: &str| format!("{}: {what}: {night}, used {used}", self.name());
        match rough {
            None => {
                count.none += 1;
                out.check(p.charger, || wrong("no drain is told"));
            }
            Some(true) => {
                count.coarse += 1;
                out.check(watts.is_none() && share.is_none(), || wrong("a figure of few steps"));
                // The program takes no gauge to be finer than 10 mWh or 10 mAh.
                let least = if self.gauge == "capacity" { step } else { step.max(10_000) };
                out.check(moved < 3 * least, || wrong("no figure of many steps"));
            }
            Some(false) => {
                count.figures += 1;
                out.check(moved >= 3 * step, || wrong("a figure of few steps"));
                let hours = p.seconds as f64 / 3_600.0;
                let is = match self.gauge {
                    "energy" => watts.map(|w| w as f64),
                    _ => share.map(|s| s as f64 * self.full as f64 * self.scale as f64 / 1e5),
                };
                out.check((self.gauge == "energy") == watts.is_some(), || wrong("watts"));
                let off = is.map_or(f64::INFINITY, |i| (i * hours - used as f64).abs());
                // The way down and up, and half of the last digit, come on top.
                let digit = match self.gauge {
                    "energy" => 1.0,
                    _ => self.full as f64 * self.scale as f64 / 1e5,
                } * hours;
                let most = step as f64 + digit + used as f64 * 0.002;
                out.check(off <= most, || wrong("off"));
                count.worst = count.worst.max(off / step as f64);
            }
        }
    }
}
