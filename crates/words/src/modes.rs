//! What `dormouse show --only modes` prints.

use crate::text::page::{Ink, Page};
use crate::text::safe;
use crate::wording::modes::{need, trap};
use crate::wording::next;
use crate::wording::number::{grouped, ms, names, plural};
use dormouse_base::image::ImageWork;
use dormouse_base::say::{capital, span};
use dormouse_base::time::Ns;
use dormouse_doctor::depth::Depth;
use dormouse_doctor::finding::Finding;
use dormouse_doctor::offered::{Need, Offered};
use dormouse_doctor::tells_depth;
use dormouse_sleep::energy::Microwatts;
use dormouse_sleep::modes::{Cost, Cpus, Day, Even, Powers, Trips, Way, break_even};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A step of an image of hibernation.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    /// Which.
    pub work: ImageWork,
    /// How much.
    pub bytes: u64,
    /// How long.
    pub time: Ns,
}

/// All that is known of the modes of a machine.
#[derive(Clone, Debug, Default)]
pub struct Modes {
    /// It is the running machine.
    pub live: bool,
    /// What it offers, if its files are known.
    pub offered: Option<Offered>,
    /// What cycles took, by way to rest.
    pub trips: BTreeMap<Way, Trips>,
    /// How deep the s2idle sleeps were that something was measured of.
    pub depths: Vec<Depth>,
    /// Findings about modes and clocks, worst first.
    pub why: Vec<Finding>,
    /// What a trip costs, and what is drawn after it.
    pub costs: BTreeMap<Way, Cost>,
    /// Days by interval, of the mode with most sleeps.
    pub days: Option<(Way, Vec<Day>)>,
    /// What switching CPUs costs.
    pub cpus: Option<Cpus>,
    /// Cycles with `pm_test`, which never sleep.
    pub tests: usize,
    /// Steps of images.
    pub images: Vec<Image>,
    /// What hibernation needs.
    pub needs: Vec<Need>,
    /// Given powers, with the time of a boot that the log tells.
    pub powers: Powers,
}

impl Modes {
    fn offers(&self, way: Way) -> Option<bool> {
        let o = self.offered.as_ref()?;
        // One that is not in mem_sleep is `shallow` there.
        let has = |n: &str| o.modes.iter().any(|m| m == n);
        Some(match way {
            Way::Off => true,
            Way::Unnamed => return None,
            Way::Standby => has("standby") || has("shallow"),
            way => has(way.name()),
        })
    }

    /// All that is told of: a mode that no line names is, where some sleep has none.
    fn ways(&self) -> impl Iterator<Item = Way> {
        let unnamed = self.trips.contains_key(&Way::Unnamed).then_some(Way::Unnamed);
        Way::ALL.into_iter().chain(unnamed)
    }

    fn chosen(&self) -> Option<&str> {
        self.offered.as_ref()?.chosen.as_deref()
    }

    /// Depths with how often each was seen.
    fn depths(&self) -> Vec<(&'static str, usize)> {
        let mut out: Vec<(&'static str, usize)> = Vec::new();
        for d in &self.depths {
            match out.iter_mut().find(|o| o.0 == d.name()) {
                Some(o) => o.1 += 1,
                None => out.push((d.name(), 1)),
            }
        }
        out
    }
}

fn answer(m: &Modes) -> String {
    let slept: usize = m.trips.values().map(|t| t.slept).sum();
    let offers = m.offered.as_ref().map(|o| match (o.modes.is_empty(), &o.chosen) {
        (true, _) => "This machine offers no mode of sleep".to_string(),
        (_, Some(c)) => {
            let others: Vec<String> = o.modes.iter().filter(|x| *x != c).cloned().collect();
            match others.len() {
                0 => format!("A sleep is {c}; there is no other mode"),
                _ => format!("A sleep is {c}; this machine offers {} too", names(&others)),
            }
        }
        (_, None) => format!("This machine offers {}", names(&o.modes)),
    });
    let seen = match slept {
        0 if m.live => "the log since boot has no sleep that can be timed".to_string(),
        0 if m.tests > 0 => {
            format!("{} seen that never slept (pm_test)", plural(m.tests, "test"))
        }
        0 => "no sleep in the input can be timed".to_string(),
        n => format!("{} seen", plural(n, "sleep")),
    };
    match offers {
        Some(text) => format!("{text}; {seen}."),
        None => format!("{}.", capital(&seen)),
    }
}

/// Whether a finding says how deep the sleeps were.
fn told_below(m: &Modes) -> bool {
    m.why.iter().any(tells_depth)
}

fn really(m: &Modes) -> String {
    match m.depths() {
        list if list.is_empty() => {
            let s2idle = m.trips.get(&Way::S2idle).is_some_and(|t| t.slept > 0);
            if told_below(m) {
                "What the s2idle sleeps really were is told below.".into()
            } else if s2idle {
                "How deep the s2idle sleeps were, no counter of a recording tells.".into()
            } else if m.trips.get(&Way::Unnamed).is_some_and(|t| t.slept > 0) {
                "No line names the mode of these sleeps, so how deep they were is not known.".into()
            } else {
                "No s2idle sleep was seen, so how deep it would be is not known.".into()
            }
        }
        list => {
            let all: Vec<String> = list
                .iter()
                .map(
                    |(name, n)| {
                        if *n == 1 { (*name).into() } else { format!("{name} ({n} times)") }
                    },
                )
                .collect();
            format!("The s2idle sleeps really were: {}.", all.join(", "))
        }
    }
}

fn watts(p: Microwatts) -> String {
    match p.0 {
        0 => "0 W".into(),
        n if n < 1_000_000 => format!("{} mW", n.saturating_add(500) / 1_000),
        n => format!("{}.{:02} W", n / 1_000_000, n % 1_000_000 / 10_000),
    }
}

fn table(page: &mut Page, m: &Modes) {
    page.heading("Mode         here     slept  failed  down, ms    up, ms     asleep  really");
    let depth = m.depths();
    for way in m.ways() {
        let t = m.trips.get(&way);
        let here = match m.offers(way) {
            Some(false) if t.is_none() => continue,
            None if t.is_none() && way != Way::Off => continue,
            _ if way == Way::Off => "yes",
            _ if m.chosen() == Some(way.name()) => "chosen",
            Some(true) => "yes",
            Some(false) => "no",
            None => "seen",
        };
        let count = |n: Option<usize>| n.map_or("-".to_string(), |n| n.to_string());
        let time = |t: Option<Ns>| t.map_or("-".to_string(), ms);
        let up = if way == Way::Off { m.powers.boot } else { t.and_then(|t| t.up) };
        let power = match m.powers.asleep(way) {
            Some(p) if !matches!(way, Way::Disk | Way::Off) || m.powers.suspending.is_some() => {
                watts(p)
            }
            _ => "-".into(),
        };
        let really = match (way, depth.as_slice()) {
            (Way::S2idle, [(one, _)]) => *one,
            (Way::S2idle, [_, ..]) => "see above",
            (Way::S2idle, []) if told_below(m) => "see below",
            (Way::S2idle, []) => "not known",
            _ => "",
        };
        let line = format!(
            "{:<12} {here:<8} {:>5} {:>7} {:>9} {:>9} {power:>10}  {really}",
            if way == Way::Off { "off and boot" } else { way.name() },
            count(t.map(|t| t.slept)),
            count(t.map(|t| t.failed)),
            time(t.and_then(|t| t.down)),
            time(up),
        );
        page.line(&[(Ink::Plain, line.trim_end())]);
    }
    page.paragraph(
        2,
        "Medians of the sleeps seen. Firmware's part of deep and hibernation is in no trace.",
    );
}

/// Pairs of ways, the deeper second.
fn pairs(m: &Modes) -> Vec<(Way, Way, Even)> {
    let list: Vec<(&Way, &Cost)> = m.costs.iter().collect();
    let mut out = Vec::new();
    for (i, (a, ca)) in list.iter().enumerate() {
        for (b, cb) in &list[i + 1..] {
            out.push((**a, **b, break_even(**ca, **cb)));
        }
    }
    out
}

fn choose(page: &mut Page, m: &Modes) {
    page.heading("Which to choose");
    for (a, b, even) in pairs(m) {
        let (a, b) = (a.name(), b.name());
        let text = match even {
            Even::After(t) => format!("{b} costs less than {a} from {} of sleep on.", span(t)),
            Even::Always => format!("{b} costs less than {a} however short the sleep is."),
            Even::Never => format!("{b} never costs less than {a}."),
        };
        page.entry("  - ", &text);
    }
    if m.costs.len() < 2 {
        let text = "Break-even times need powers and timed sleeps of two modes: --power \
                    awake=6W,suspending=5W,s2idle=900mW,deep=300mW,boot=15s.";
        page.entry("  - ", text);
    }
    for way in Way::ALL {
        let shown = m.trips.contains_key(&way) || m.offers(way) == Some(true);
        if let Some(text) = trap(way).filter(|_| shown) {
            page.entry("  - ", text);
        }
    }
}

fn interval(page: &mut Page, m: &Modes) {
    let Some((way, list)) = m.days.as_ref().filter(|d| !d.1.is_empty()) else { return };
    let what = format!("If it woke every so often, a day of {}:", way.name());
    page.heading(&what);
    page.line(&[(
        Ink::Plain,
        "minutes   trips  failed      in sync  in failed attempts      energy",
    )]);
    for d in list {
        let energy = d.energy.map_or("-".to_string(), |e| e.to_string());
        let line = format!(
            "{:>7} {:>7} {:>7} {:>12} {:>19} {energy:>11}",
            d.minutes,
            grouped(d.trips),
            grouped(d.failed),
            span(d.sync),
            span(d.wasted),
        );
        page.line(&[(Ink::Plain, &line)]);
    }
    let t = m.trips.get(way).copied().unwrap_or_default();
    let text = format!(
        "As many attempts fail as of those seen ({} of {}). Energy is that of trips, failed attempts \
         and sleep, not of the use between them.",
        t.failed,
        t.failed + t.slept
    );
    page.paragraph(2, &text);
}

fn processors(page: &mut Page, m: &Modes) {
    let Some(c) = m.cpus else { return };
    page.heading("CPUs    deep, ms  proposal, at most, ms");
    for n in [2, 4, 8, 16, 32] {
        let line = format!("{n:>4} {:>11} {:>22}", ms(c.deep(n)), ms(c.fake_at_most(n)));
        page.line(&[(Ink::Plain, &line)]);
    }
    page.paragraph(
        2,
        &format!(
            "By the marks of {} switched off here: {} ms off and {} ms on each, one after another. \
             s2idle switches none off. The proposal, an idle state of s2idle that switches CPUs off \
             by the same firmware calls, is a model: no kernel has it, and how much of a step is \
             firmware cannot be told apart, so all of it counts.",
            plural(c.off_in_cycle, "CPU"),
            ms(c.off),
            ms(c.on)
        ),
    );
}

fn hibernation(page: &mut Page, m: &Modes) {
    if m.needs.is_empty() && m.images.is_empty() {
        return;
    }
    page.heading("Hibernation");
    for n in &m.needs {
        let front = if n.is_met() { "  ok      " } else { "  lacking " };
        page.entry(front, &safe(&need(n)));
    }
    for i in &m.images {
        let rate = u128::from(i.bytes) * 1_000 / (i.time.0.max(1).unsigned_abs() as u128);
        let text = format!(
            "{} of {} MB took {}, {rate} MB/s.",
            crate::wording::modes::image(i.work),
            grouped(i.bytes.saturating_add(500_000) / 1_000_000),
            span(i.time)
        );
        page.entry("  image   ", &text);
    }
    page.paragraph(2, "It also ignores sync_on_suspend: data is always synced before.");
}

/// The screen.
pub fn text(m: &Modes, typed: Option<&str>, colour: bool) -> String {
    let mut page = Page::new(colour);
    page.wrapped(Ink::Strong, 0, 2, &safe(&answer(m)));
    page.wrapped(Ink::Plain, 0, 2, &really(m));
    for f in m.why.iter().take(4) {
        page.entry("  - ", &safe(&format!("{} ({})", f.sentence, f.id)));
    }
    table(&mut page, m);
    choose(&mut page, m);
    interval(&mut page, m);
    processors(&mut page, m);
    hibernation(&mut page, m);
    page.heading("Not checked");
    for (what, why) in unchecked(m) {
        page.entry("  - ", &format!("{what}: {why}"));
    }
    page.blank();
    let command = match typed {
        Some(t) => format!("check {}", next::typed(t)),
        None => "check".into(),
    };
    page.verbatim(Ink::Strong, &next::next(&command));
    page.finish()
}

fn unchecked(m: &Modes) -> Vec<(&'static str, &'static str)> {
    let mut out = vec![(
        "tables of amd_pmc and pmc_core",
        "their forms are known from logs of others and from the kernel's source; nobody here has seen the hardware",
    )];
    if m.powers.s2idle.is_none() && m.powers.deep.is_none() {
        out.push(("power of a sleep", "no file tells it: measure it, and give --power"));
    }
    if m.powers.boot.is_none() {
        out.push((
            "a cold boot",
            "the log does not tell its time (systemd: Startup finished): give --power boot=15s",
        ));
    }
    if m.live && m.trips.is_empty() {
        out.push((
            "times of sleeps",
            "give recordings: dormouse record --yes, then doctor --modes FILE",
        ));
    }
    out
}

/// The same as JSON (docs/doctor-json.md).
pub fn json(m: &Modes) -> Value {
    let ns = |t: Option<Ns>| t.map(|t| t.0);
    let mode = |way: Way| {
        let t = m.trips.get(&way);
        json!({
            "mode": way.name(),
            "offered": m.offers(way),
            "chosen": m.chosen() == Some(way.name()),
            "slept": t.map_or(0, |t| t.slept),
            "failed": t.map_or(0, |t| t.failed),
            "down_ns": ns(t.and_then(|t| t.down)),
            "up_ns": ns(if way == Way::Off { m.powers.boot } else { t.and_then(|t| t.up) }),
            "sync_ns": ns(t.and_then(|t| t.sync)),
            "failed_ns": ns(t.and_then(|t| t.wasted)),
            "trip_nj": m.costs.get(&way).map(|c| c.0.0),
            "asleep_uw": m.powers.asleep(way).map(|p| p.0),
        })
    };
    let even = |(a, b, e): &(Way, Way, Even)| {
        json!({
            "from": a.name(),
            "to": b.name(),
            "pays": match e { Even::After(_) => "after", Even::Always => "always", Even::Never => "never" },
            "after_ns": match e { Even::After(t) => Some(t.0), _ => None },
        })
    };
    let days = m.days.iter().flat_map(|(way, list)| list.iter().map(move |d| (way, d)));
    json!({
        "modes": m.ways().map(mode).collect::<Vec<_>>(),
        "depths": m.depths().iter().map(|(n, k)| json!({ "depth": n, "sleeps": k })).collect::<Vec<_>>(),
        "why": m.why.iter().map(|f| json!({ "id": f.id, "sentence": f.sentence })).collect::<Vec<_>>(),
        "break_even": pairs(m).iter().map(even).collect::<Vec<_>>(),
        "days": days.map(|(way, d)| json!({
            "mode": way.name(),
            "minutes": d.minutes,
            "trips": d.trips,
            "failed": d.failed,
            "sync_ns": d.sync.0,
            "failed_ns": d.wasted.0,
            "energy_nj": d.energy.map(|e| e.0),
        })).collect::<Vec<_>>(),
        "cpu_off_ns": m.cpus.map(|c| c.off.0),
        "cpu_on_ns": m.cpus.map(|c| c.on.0),
        "needs": m.needs.iter().map(|n| json!({ "met": n.is_met(), "what": need(n) })).collect::<Vec<_>>(),
        "not_checked": unchecked(m).iter().map(|(a, b)| json!({ "what": a, "why": b })).collect::<Vec<_>>(),
    })
}
