//! Sleeps as they come.

use super::guest::Guests;
use super::told::Told;
use anyhow::Result;

const SCRIPT: &str = include_str!("natural.sh");
/// Each program of a hook may take so long, ms.
const MOST_MS: f64 = 50.0;
/// A night may take so many bytes.
const MOST_BYTES: f64 = 1024.0 * 1024.0;
/// The unit may be exposed so much, as systemd rates it.
const MOST_EXPOSED: f64 = 2.0;

pub(super) fn told(guests: &Guests) -> Result<Told> {
    let cases = guests.run(SCRIPT)?;
    let mut out = Told::default();
    let empty = String::new();
    let find = |name: &str| cases.iter().find(|c| c.name == name);
    let (Some(install), Some(kept), Some(uninstall)) =
        (find("install"), find("kept"), find("uninstall"))
    else {
        out.wrong.push(format!("the guest did not come to its end: {cases:?}"));
        return Ok(out);
    };
    let slept = kept.number("slept").unwrap_or(0.0) as usize;
    let rows = kept.rows("hook");
    out.check(slept == 7 && rows == slept, || format!("{slept} sleeps, {rows} rows"));
    let json = kept.json();
    let sleeps = json["sleeps"].as_array().cloned().unwrap_or_default();
    let by_clock = sleeps.iter().filter(|s| s["waker"] == "rtc0").count();
    out.check(by_clock == slept, || format!("the clock woke {by_clock} of {slept}"));
    let said = json["faults"].as_array().map_or(0, Vec::len)
        + json["remarks"].as_array().map_or(0, Vec::len);
    out.check(said == 0, || format!("something was said of sleeps that had no trouble: {json}"));
    let bytes = kept.number("bytes").unwrap_or(f64::INFINITY) / rows.max(1) as f64;
    out.check(bytes <= MOST_BYTES, || format!("{bytes:.0} bytes a row"));
    let rated = install.text("rated").split(": ").last().unwrap_or(&empty).to_owned();
    let exposed: f64 = rated.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(10.0);
    out.check(exposed <= MOST_EXPOSED, || format!("systemd rates the unit {rated}"));
    let took = |name: &str| {
        let all = install.all("took");
        let us = all.iter().filter_map(|t| t.strip_prefix(name)?.trim().parse::<f64>().ok());
        us.fold(0.0, f64::max) / 1e3
    };
    let (before, after) = (took("before "), took("after "));
    for (what, ms) in [("before", before), ("after", after)] {
        out.check(ms > 0.0 && ms <= MOST_MS, || format!("the program {what} took {ms:.0} ms"));
    }
    let hooks: Vec<(f64, f64)> = cases.iter().flat_map(|c| c.hooks()).collect();
    let range = |of: fn(&(f64, f64)) -> f64| {
        let all = || hooks.iter().map(of);
        format!("{:.0} to {:.0}", all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max))
    };
    let left = uninstall.all("left");
    out.check(uninstall.text("exit") == "0" && left.is_empty(), || format!("left: {left:?}"));
    out.text = format!(
        "## As they come\n\n\
         | | |\n| --- | ---: |\n\
         | sleeps by `systemctl suspend`, ended by the alarm of the clock | {slept} |\n\
         | of these one behind the other at once | 2 |\n\
         | rows | {rows} |\n\
         | rows that name the clock as what woke it | {by_clock} |\n\
         | bytes of the database, a row | {bytes:.0} |\n\
         | the program before a sleep, ms at most | {before:.0} |\n\
         | the program after a sleep, ms at most | {after:.0} |\n\
         | `/bin/true` for comparison, ms at most | {:.0} |\n\
         | the whole unit before a sleep, ms, as systemd writes it | {} |\n\
         | the whole unit after a sleep, ms | {} |\n\
         | `systemd-analyze security` | {rated} |\n\
         | places that `--uninstall` left | {} |\n\n\
         The unit takes longer than its program: systemd makes a room of its own for each of its two \
         programs, and no sleep begins before the first of them is done.\n",
        took("true "),
        range(|h| h.0),
        range(|h| h.1),
        left.len()
    );
    Ok(out)
}
