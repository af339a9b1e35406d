//! What many cycles have in common, and what makes one stand out.

use super::bottleneck::MOST;
use super::device::named;
use super::number::share;
use super::phase::{capitalised, phase};
use dormouse_base::phase::Direction;
use dormouse_base::time::Ns;
use dormouse_sleep::analyse::answer::{HELPS, HELPS_MUCH};
use dormouse_sleep::analyse::per_mille;
use dormouse_sleep::analyse::spread::{DeviceKey, DeviceSpread, Group, Outlier};

/// A device of several captures.
pub fn key(k: &DeviceKey<'_>) -> String {
    named(k.name, k.driver)
}

/// The halves of a group, the one in which a device would save more first.
pub fn order(g: &Group<'_>) -> [Direction; 2] {
    let saving = |h: usize| g.devices.iter().map(|d| d.gain[h].median).max();
    if saving(1) >= saving(0) {
        [Direction::Resume, Direction::Suspend]
    } else {
        [Direction::Suspend, Direction::Resume]
    }
}

/// The first sentences of a half of a group; `guessed` if its order and gaps are,
/// so that nobody knows what an absence saves.
pub fn half_of(g: &Group<'_>, direction: Direction, guessed: bool) -> String {
    let h = direction as usize;
    let time = [g.suspend, g.resume][h];
    let side = capitalised(direction);
    let n = g.cycles.len();
    // Where times are laid out from durations, gaps are missing.
    let least = if guessed { "at least " } else { "" };
    // Of one cycle there is no median.
    let head = match n {
        1 => format!("{side} {least}{}", time.median),
        _ => format!("{side}, median {least}{}", time.median),
    };
    if time.median == Ns::ZERO {
        return format!("{side}: not in this log.");
    }
    let helps = |d: &&DeviceSpread<'_>| per_mille(d.gain[h].median, time.median) >= HELPS;
    let often = |d: &&DeviceSpread<'_>| (d.saves_most[h], d.gain[h].median);
    let best = g.devices.iter().filter(helps).max_by_key(often);
    let Some(d) = best else {
        if !g.devices.is_empty() {
            return format!("{head}: no single device helps.");
        }
        let of_half = g.phases.iter().filter(|p| p.phase.direction() == direction);
        let longest = of_half.max_by_key(|p| p.time.median).map(|p| (p.phase, p.time.median));
        let (t, all) = (longest.map_or(Ns::ZERO, |l| l.1), time.median);
        let most =
            longest.filter(|_| t < all && per_mille(t, all) >= MOST).map_or(String::new(), |l| {
                format!("{t} ({}) in its {} phase; ", share(t, all), phase(l.0))
            });
        return format!("{head}: {most}no device callbacks in this log.");
    };
    if guessed {
        return format!("{head}: no bottleneck can be named.");
    }
    let gain = d.gain[h].median;
    let less = format!("without it, {gain} less ({})", share(gain, time.median));
    if per_mille(gain, time.median) < HELPS_MUCH {
        return format!(
            "{head}: no single device helps much. The best is {}: {less}.",
            key(&d.key)
        );
    }
    let second = g
        .devices
        .iter()
        .filter(|o| o.key != d.key && o.saves_most[h] > 0)
        .max_by_key(|o| o.saves_most[h]);
    let led = d.saves_most[h] as usize;
    let often = match second {
        _ if led == n => String::new(),
        Some(o) => format!(" in {led} of {n} cycles ({} in {})", o.key.name, o.saves_most[h]),
        None => format!(" in {led} of {n} cycles"),
    };
    let path = d.on_path[h].median;
    format!(
        "{head}: {} is the bottleneck{often}, {path} ({}). Without it, {gain} less.",
        key(&d.key),
        share(path, time.median)
    )
}

/// `Cycle 1: resume 1.154 s, 335.0 ms above the median: 280.1 ms in gaps between
/// phases; 82.9 ms by 0000:03:00.0 (thunderbolt).`
pub fn outlier(o: &Outlier<'_>, number: usize, g: &Group<'_>) -> String {
    let mut text =
        format!("Cycle {number}: {} {}, {} above the median", o.direction.name(), o.time, o.over);
    if o.devices_missing {
        return text + "; its device phases are not in the log.";
    }
    let mut why = Vec::new();
    if let Some((p, over)) = o.phase {
        let place = p.map_or("gaps between phases".to_string(), phase);
        why.push(format!("{over} in {place}"));
    }
    if let Some((d, over)) = &o.device {
        why.push(format!("{over} by {}", key(d)));
    }
    if !why.is_empty() {
        text.push_str(&format!(": {}", why.join("; ")));
    }
    if o.device.is_none() && !g.devices.is_empty() {
        text.push_str("; by no device");
    }
    text + "."
}
