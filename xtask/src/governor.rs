//! Decisions of a kernel's governor of power domains, each made again by
//! `crates/power/src/governor.rs` from what the governor was told.
//!
//! `governor [SERIES…]`

use crate::missed::MISSED;
use anyhow::{Context, Result, bail, ensure};
use dormouse_lab::governor::decisions;
use dormouse_lab::kernels;
use dormouse_lab::qemu::{Accel, Arch, Machine};
use dormouse_power::governor::{Child, Device, Domain, PowerDown, State, Suspend};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

/// Sets of domains and devices that each kernel decides on, and what happens to each.
const SEEDS: u64 = 8;
const ROUNDS: u32 = 4_000;

/// Decisions of one kernel.
#[derive(Default)]
struct Tally {
    /// Of devices: all, refused, from the cache.
    devices: [usize; 3],
    /// Of domains: all, refused, from the cache.
    domains: [usize; 3],
    /// Of domains: by an expected wakeup; in a state that is not the deepest; from the
    /// cache in a state that is only what a bool keeps.
    wakeup: usize,
    shallow: usize,
    quirk: usize,
    wrong: Vec<String>,
    /// Time went on while the governor looked, and made a difference.
    open: usize,
}

/// Prints the table; [`MISSED`] if a decision is not equal.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    let mut series: Vec<&str> = args.iter().map(String::as_str).collect();
    if series.is_empty() {
        series = vec!["6.12", "7.3"];
    }
    let mut all_equal = true;
    println!("{SEEDS} sets of 6 power domains and 14 devices, {ROUNDS} events each");
    for series in series {
        let kernel = kernels::get(Arch::Amd64, series)?;
        let machine = Machine::new(Arch::Amd64, Accel::Icount, 2, &kernel.release);
        let parameters: Vec<String> =
            (1..=SEEDS).map(|seed| format!("seed={seed} rounds={ROUNDS}")).collect();
        let said = decisions(&kernel, &machine, &parameters, Duration::from_secs(3_000))?;
        let mut tally = Tally::default();
        for text in &said {
            ensure!(text.ends_with('\n'), "the list of decisions is cut");
            let mut deepest = BTreeMap::new();
            for line in text.lines() {
                judge(line, &mut tally, &mut deepest).with_context(|| line.to_owned())?;
            }
        }
        let [n, no, cached] = tally.devices;
        println!("\n{}", kernel.release);
        println!("  devices: {n} decisions, {no} refused, {cached} from the cache");
        let [n, no, cached] = tally.domains;
        println!("  domains: {n} decisions, {no} refused, {cached} from the cache");
        println!(
            "  of these {} limited by an expected wakeup, {} in a state above the deepest, {} from the cache as state 1 that was deeper",
            tally.wakeup, tally.shallow, tally.quirk
        );
        println!("  time went on during the decision and could decide it: {}", tally.open);
        println!("  not equal: {}", tally.wrong.len());
        for line in tally.wrong.iter().take(5) {
            println!("    {line}");
        }
        all_equal &= tally.wrong.is_empty() && n > 0;
    }
    Ok(if all_equal { ExitCode::SUCCESS } else { ExitCode::from(MISSED) })
}

/// The values of each key of a line, in order.
fn fields(line: &str) -> BTreeMap<&str, Vec<Vec<i64>>> {
    let mut out: BTreeMap<&str, Vec<Vec<i64>>> = BTreeMap::new();
    for (key, value) in line.split(' ').filter_map(|w| w.split_once('=')) {
        let numbers = value.split(',').filter_map(|n| n.parse().ok()).collect();
        out.entry(key).or_default().push(numbers);
    }
    out
}

/// Makes one decision again. `chosen` holds the state that each domain chose last
/// when it really decided.
fn judge<'a>(
    line: &'a str,
    tally: &mut Tally,
    chosen: &mut BTreeMap<&'a str, usize>,
) -> Result<()> {
    let f = fields(line);
    let all = |key: &str| f.get(key).cloned().unwrap_or_default();
    let one = |key: &str| -> Result<i64> {
        f.get(key).and_then(|v| v.first()?.first().copied()).with_context(|| format!("no {key}"))
    };
    let name = line.split(' ').nth(1).context("no name")?;
    if line.starts_with("suspend ") {
        let mut d = Device {
            suspend_latency: one("suspend")?,
            resume_latency: one("resume")?,
            changed: one("changed")? != 0,
            cached: one("cached")? != 0,
            // Kept where nothing changed.
            effective: one("effective")?,
            ..Device::default()
        };
        let children: Vec<i64> = all("child").into_iter().flatten().collect();
        let decided = d.suspend_ok(one("qos")?, children);
        let ok = one("ok")? != 0;
        tally.devices[0] += 1;
        tally.devices[1] += usize::from(!ok);
        tally.devices[2] += usize::from(matches!(decided, Suspend::Cached(_)));
        if (decided.ok(), d.effective) != (ok, one("effective")?) {
            tally.wrong.push(line.into());
        }
        return Ok(());
    }
    if !line.starts_with("domain ") {
        bail!("not a decision");
    }
    let three = |v: Vec<i64>| match v[..] {
        [off, on, residency] => Ok(State { off, on, residency }),
        _ => bail!("a state has three times"),
    };
    let two = |v: &Vec<i64>| match v[..] {
        [a, b] => Ok((a, b)),
        _ => bail!("two numbers are wanted"),
    };
    let states: Vec<State> = all("state").into_iter().map(three).collect::<Result<_>>()?;
    let cached = two(all("cached").first().context("no cached")?)?;
    let mut domain = Domain::new(states);
    domain.min_residency = one("residency")? != 0;
    domain.changed = one("changed")? != 0;
    domain.cached = (cached.0 != 0, cached.1 as usize);
    domain.max_off = one("max_off")?;
    let children: Vec<Child> = all("child")
        .iter()
        .map(|v| two(v).map(|(max_off, next_wakeup)| Child { max_off, next_wakeup }))
        .collect::<Result<_>>()?;
    let devices: Vec<Device> = all("device")
        .iter()
        .map(|v| two(v).map(|(e, w)| Device { effective: e, next_wakeup: w, ..Device::default() }))
        .collect::<Result<_>>()?;
    let (begin, end) = two(all("now").first().context("no now")?)?;
    let decide = |now| {
        let mut d = domain.clone();
        let decided = d.power_down_ok(&children, &devices, now);
        let kept = [i64::from(d.changed), i64::from(d.cached.0), d.cached.1 as i64, d.max_off];
        (decided, d.index as i64, kept)
    };
    let ok = one("ok")? != 0;
    let after = all("after").into_iter().next().context("no after")?;
    let seen = |d: &(PowerDown, i64, [i64; 4])| {
        d.0.ok == ok && one("index").is_ok_and(|i| i == d.1) && after[..] == d.2
    };
    let (first, last) = (decide(begin), decide(end));
    tally.domains[0] += 1;
    tally.domains[1] += usize::from(!ok);
    tally.domains[2] += usize::from(first.0.cached);
    tally.wakeup += usize::from(first.0.wakeup.is_some());
    tally.shallow += usize::from(ok && (first.1 as usize) < domain.states.len() - 1);
    if first.0.cached {
        tally.quirk += usize::from(ok && chosen.get(name).is_some_and(|&s| s > 1));
    } else {
        chosen.insert(name, first.0.state);
    }
    if first != last && (seen(&first) || seen(&last)) {
        tally.open += 1;
    } else if !seen(&first) {
        tally.wrong.push(line.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_power::governor::NO_CONSTRAINT;

    #[test]
    fn a_wrong_answer_is_seen() {
        let line = |ok: u8, effective: i64| {
            format!(
                "suspend d qos={} changed=1 cached=0 suspend=100 resume=50 child=1000 ok={ok} effective={effective}",
                NO_CONSTRAINT
            )
        };
        let domain = |index: u8, max_off: i64| {
            format!(
                "domain p0 residency=0 changed=1 cached=0,0 max_off=-1 state=10,10,0 state=400,500,0 \
                 child=-1,9223372036854775807 device=850,9223372036854775807 now=1,2 ok=1 \
                 index={index} after=0,1,{index},{max_off}"
            )
        };
        for (text, wrong) in [
            (line(1, 850), 0),
            (line(1, 851), 1),
            (line(0, 850), 1),
            (domain(0, 840), 0),
            (domain(1, 350), 1),
            (domain(0, 841), 1),
        ] {
            let mut tally = Tally::default();
            judge(&text, &mut tally, &mut BTreeMap::new()).unwrap();
            assert_eq!(tally.wrong.len(), wrong, "{text}");
        }
    }
}
