//! What waiting devices wait for in the end
//! (drivers/base/core.c:device_links_check_suppliers).

use crate::case::Case;
use crate::deferral::{Deferral, Need, Source};
use crate::name::{key, keys_upward, kind, on_bus, stem};
use crate::probe::Outcome;
use dormouse_base::finding::Evidence;
use std::collections::{BTreeMap, BTreeSet};

/// What the text says of a supplier that does not wait itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its probe failed.
    Failed(i32),
    /// Its driver had begun before it was asked for: it probes and is not ready.
    Probing(String),
    /// A driver spoke for it later.
    Later(String),
    /// No line of it.
    Silent,
}

/// What holds devices up in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A device without a working driver.
    Device {
        /// Its name.
        name: String,
        /// What became of it.
        fate: Fate,
    },
    /// A node that never became a device.
    Node {
        /// Its path, or its name alone.
        path: String,
    },
    /// A supplier whose name the text lost.
    Lost,
    /// What a driver said.
    Own {
        /// The reason.
        reason: String,
    },
    /// A card that is made of other devices waits for them: a consequence.
    Parts {
        /// The reason.
        reason: String,
    },
    /// Nothing is said; the probe of a device of the same kind failed.
    Brother {
        /// That device.
        name: String,
        /// Its error.
        error: i32,
    },
    /// Nothing is said; perhaps a message of a failure stands nearby.
    Unsaid {
        /// That message.
        hint: Option<String>,
    },
    /// They wait for each other.
    Loop,
    /// They wait for each other, if what a driver says of a part of its own means that it
    /// waits: others need what is inside that part.
    Part {
        /// The device that cannot make its part.
        of: String,
        /// The part.
        part: String,
        /// The device that needs what is inside.
        by: String,
    },
}

/// A cause with all that it holds up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// What it is.
    pub cause: Cause,
    /// Devices that it stops itself.
    pub at: Vec<String>,
    /// Devices that wait for those.
    pub behind: Vec<String>,
    /// How many waits were counted, where devices are not known.
    pub times: u64,
    /// The text only shows attempts, not that they were still waiting at its end.
    pub attempts_only: bool,
    /// Lines that show it, at most five.
    pub evidence: Vec<Evidence>,
}

impl Root {
    /// How much it explains.
    pub fn weight(&self) -> u64 {
        ((self.at.len() + self.behind.len()) as u64).saturating_add(self.times)
    }
}

/// A sound card asks for its parts and says so in words of its own.
fn is_of_parts(reason: &str) -> bool {
    const WORDS: [&str; 7] = [
        "parse error",
        "instantiate card",
        "snd_soc_register_card",
        "register card",
        "register the card",
        "cpu dai info",
        "failed to register sound",
    ];
    WORDS.iter().any(|w| reason.contains(w))
}

/// One waiting device with all that is said of it.
struct Waiter<'a> {
    device: &'a str,
    /// The most telling reason.
    best: &'a Deferral,
    /// Line of the last word on its waiting.
    last: u64,
}

/// The waiting devices, in order of the text. What only attempts show counts where
/// no list says who still waited, and no driver spoke afterwards.
fn waiters(case: &Case) -> (Vec<Waiter<'_>>, bool) {
    let listed = case
        .deferrals
        .iter()
        .any(|d| matches!(d.source, Source::Pending | Source::Listed) && !d.device.is_empty());
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut out: Vec<Waiter> = Vec::new();
    let named = |d: &&Deferral| !d.device.is_empty();
    if case.none_deferred && !case.deferrals.iter().any(|d| d.source == Source::Listed) {
        return (out, !listed);
    }
    for d in case.deferrals.iter().filter(named) {
        if !(listed && d.source == Source::Attempt) {
            let at = *places.entry(&d.device).or_insert_with(|| {
                out.push(Waiter { device: &d.device, best: d, last: d.evidence.line });
                out.len() - 1
            });
            out[at].last = d.evidence.line;
        }
    }
    // Kernels before 6.7 print no reason in the end; the attempts had it.
    let telling = |d: &Deferral| (d.need().is_some(), !d.reason.is_empty());
    for d in case.deferrals.iter().filter(named) {
        if let Some(&at) = places.get(d.device.as_str())
            && telling(d) > telling(out[at].best)
        {
            out[at].best = d;
        }
    }
    let mut last: BTreeMap<&str, u64> = case.lives.iter().map(|l| (&*l.device, l.last)).collect();
    for p in case.probes.iter().filter(|p| p.outcome == Outcome::Bound) {
        let at = last.entry(&p.device).or_default();
        *at = p.evidence.line.max(*at);
    }
    out.retain(|w| last.get(w.device).is_none_or(|&l| l <= w.last));
    (out, !listed)
}

/// What is known of names that are asked for.
struct Known<'a> {
    failed: BTreeMap<&'a str, i32>,
    lives: BTreeMap<&'a str, usize>,
    hints: BTreeMap<&'a str, &'a str>,
    /// Devices whose probe failed, by their kind: the first of each.
    kinds: BTreeMap<&'a str, (&'a str, i32)>,
}

impl<'a> Known<'a> {
    fn of(case: &'a Case) -> Known<'a> {
        let mut failed = BTreeMap::new();
        for p in &case.probes {
            match p.outcome {
                Outcome::Failed(e) => failed.insert(p.device.as_str(), e),
                Outcome::GaveUp => failed.insert(p.device.as_str(), -110),
                Outcome::Bound => failed.remove(p.device.as_str()),
                Outcome::Blocked | Outcome::Deferred => None,
            };
        }
        let lives = case.lives.iter().enumerate().map(|(i, l)| (l.device.as_str(), i)).collect();
        let mut hints = BTreeMap::new();
        for l in &case.lives {
            if let Some(e) = &l.failure {
                hints.entry(l.device.as_str()).or_insert(e.text.as_str());
                hints.entry(stem(&l.device)).or_insert(e.text.as_str());
            }
        }
        let mut kinds = BTreeMap::new();
        for p in &case.probes {
            if let (Outcome::Failed(e), Some(_)) = (p.outcome, failed.get(p.device.as_str())) {
                kinds.entry(kind(&p.device)).or_insert((p.device.as_str(), e));
            }
        }
        kinds.remove("");
        Known { failed, lives, hints, kinds }
    }

    fn fate(&self, case: &Case, name: &str, asked: u64) -> Fate {
        if let Some(&error) = self.failed.get(name) {
            return Fate::Failed(error);
        }
        match self.lives.get(name).map(|&i| &case.lives[i]) {
            Some(l) if l.first < asked => Fate::Probing(l.driver.clone()),
            Some(l) => Fate::Later(l.driver.clone()),
            None => Fate::Silent,
        }
    }

    /// Another device that the driver of a waiting one names in its reason, or in what it
    /// failed with, and that waits too or whose probe failed.
    fn named<'n>(
        &self,
        case: &'n Case,
        w: &Waiter<'n>,
        waiters: &BTreeMap<&'n str, usize>,
    ) -> Option<&'n str> {
        let life = self.lives.get(w.device).and_then(|&i| case.lives[i].failure.as_ref());
        let said = life.map_or("", |e| e.text.split_once(": ").map_or("", |(_, said)| said));
        let word = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')' | '\'' | '"');
        let words = w.best.reason.split(word).chain(said.split(word));
        // A bare word may mean anything.
        let names = words
            .map(|x| x.trim_end_matches(['.', ':']))
            .filter(|x| x.len() > 4 && *x != w.device && x.bytes().any(|b| b.is_ascii_digit()));
        names.into_iter().find(|x| self.failed.contains_key(x) || waiters.contains_key(x))
    }

    /// What the device or a brother of its name failed with.
    fn hint(&self, device: &str) -> Option<String> {
        let text = self.hints.get(device).or_else(|| {
            let stem = stem(device);
            // A bare word is shared by chance.
            self.hints.get(stem).filter(|_| stem.len() > 3 && stem.len() < device.len())
        })?;
        // The message without its device: brothers fail alike.
        let text = text.split_once(": ").map_or(*text, |(_, t)| t);
        Some(text.to_string())
    }
}

/// Whom a waiter waits for.
enum Next {
    /// Another waiter.
    Waiter(usize),
    /// Nobody who waits.
    End(Cause),
}

/// Waiters on buses whose devices are called by bus and address, by their place: `3-0018` and the
/// node `/soc/i2c@…/codec@18` are one device (drivers/i2c/i2c-core-base.c:i2c_dev_set_name), where
/// the text names no other device and no other node of that address.
fn clients<'a>(case: &'a Case, waiters: &[Waiter<'a>]) -> BTreeMap<(&'static str, u64), usize> {
    let mut devices: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
    let mut nodes: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
    let probed = case.probes.iter().map(|p| p.device.as_str());
    let lived = case.lives.iter().map(|l| l.device.as_str());
    for name in waiters.iter().map(|w| w.device).chain(probed).chain(lived) {
        if let Some(place) = on_bus(name) {
            devices.entry(place).or_default().insert(name);
        }
    }
    for w in waiters {
        if let Some(Need::Node(path)) = w.best.need()
            && let Some(place) = on_bus(path)
        {
            nodes.entry(place).or_default().insert(path);
        }
    }
    let alone = |place: &(&'static str, u64)| {
        devices.get(place).is_some_and(|d| d.len() == 1)
            && nodes.get(place).is_some_and(|n| n.len() == 1)
    };
    let places = waiters.iter().enumerate().filter_map(|(i, w)| Some((on_bus(w.device)?, i)));
    places.filter(|(place, _)| alone(place)).collect()
}

/// What holds each waiting device up, those that explain most first.
pub fn roots(case: &Case) -> Vec<Root> {
    let (waiters, attempts_only) = waiters(case);
    let known = Known::of(case);
    let keys: BTreeMap<String, usize> =
        waiters.iter().enumerate().map(|(i, w)| (key(w.device), i)).collect();
    let names: BTreeMap<&str, usize> =
        waiters.iter().enumerate().map(|(i, w)| (w.device, i)).collect();
    // Devices of the text, by key: a node is looked for among them.
    let mut devices: BTreeMap<String, &str> = BTreeMap::new();
    for p in &case.probes {
        devices.insert(key(&p.device), &p.device);
    }
    for l in &case.lives {
        devices.entry(key(&l.device)).or_insert(&l.device);
    }
    // Devices of buses are called by bus and address, which a node does not show: two of
    // one address are none.
    let mut on_buses: BTreeMap<(&str, u64), Option<&str>> = BTreeMap::new();
    for name in known.failed.keys() {
        if let Some(place) = on_bus(name) {
            on_buses.entry(place).and_modify(|n| *n = None).or_insert(Some(name));
        }
    }
    let clients = clients(case, &waiters);
    let mut next: Vec<Next> = waiters
        .iter()
        .enumerate()
        .map(|(i, w)| match w.best.need() {
            Some(Need::Device(name)) => match names.get(name) {
                Some(&j) if j != i => Next::Waiter(j),
                _ => Next::End(Cause::Device {
                    name: name.to_string(),
                    fate: known.fate(case, name, w.best.evidence.line),
                }),
            },
            Some(Need::Node(path)) => {
                // A node below a device is filled in by that device's driver.
                let waiter = keys_upward(path).find_map(|k| keys.get(&k).filter(|&&j| j != i));
                let client = || clients.get(&on_bus(path)?).filter(|&&j| j != i);
                let device = || {
                    let upward = || {
                        path.match_indices('/').rev().filter_map(|(at, _)| {
                            let end = path[at + 1..].find('/').map_or(path.len(), |n| at + 1 + n);
                            on_bus(&path[..end])
                        })
                    };
                    let known = keys_upward(path).find_map(|k| devices.get(&k).copied());
                    known.or_else(|| upward().find_map(|place| *on_buses.get(&place)?))
                };
                match waiter.or_else(client) {
                    Some(&j) => Next::Waiter(j),
                    None => match device().filter(|d| known.failed.contains_key(d)) {
                        Some(name) => Next::End(Cause::Device {
                            name: name.to_string(),
                            fate: known.fate(case, name, w.best.evidence.line),
                        }),
                        None => Next::End(Cause::Node { path: path.to_string() }),
                    },
                }
            }
            Some(Need::Lost) => Next::End(Cause::Lost),
            None if w.best.reason.is_empty() => {
                let brother = known.kinds.get(kind(w.device)).filter(|(d, _)| *d != w.device);
                Next::End(match brother {
                    Some((name, error)) => {
                        Cause::Brother { name: (*name).to_string(), error: *error }
                    }
                    None => Cause::Unsaid { hint: known.hint(w.device) },
                })
            }
            None if is_of_parts(&w.best.reason) => {
                Next::End(Cause::Parts { reason: w.best.reason.clone() })
            }
            None => match known.named(case, w, &names) {
                Some(name) => match names.get(name) {
                    Some(&j) => Next::Waiter(j),
                    None => Next::End(Cause::Device {
                        name: name.to_string(),
                        fate: known.fate(case, name, w.best.evidence.line),
                    }),
                },
                None => Next::End(Cause::Own { reason: w.best.reason.clone() }),
            },
        })
        .collect();
    parts(&waiters, &mut next);
    let mut out = grouped(&waiters, &next);
    for r in &mut out {
        r.attempts_only = attempts_only;
        if let Cause::Device { name, fate: Fate::Failed(_) } | Cause::Brother { name, .. } =
            &r.cause
        {
            let failed = |p: &&crate::probe::Probe| {
                p.device == *name && matches!(p.outcome, Outcome::Failed(_) | Outcome::GaveUp)
            };
            r.evidence.extend(case.probes.iter().rev().find(failed).map(|p| p.evidence.clone()));
        }
    }
    counted(case, &mut out);
    // A card waits because its parts do: it never comes first.
    out.sort_by_key(|r| (matches!(r.cause, Cause::Parts { .. }), std::cmp::Reverse(r.weight())));
    out
}

/// Finds drivers that cannot make a part of their own while another device waits for what
/// is inside it: most likely the part needs, over others, that device.
fn parts(waiters: &[Waiter<'_>], next: &mut [Next]) {
    for (j, by) in waiters.iter().enumerate() {
        let (Some(Need::Node(path)), &Next::Waiter(i)) = (by.best.need(), &next[j]) else {
            continue;
        };
        let (of, Next::End(Cause::Own { reason })) = (waiters[i].device, &next[i]) else {
            continue;
        };
        let mut inside = path.split('/').skip_while(|p| key(p) != key(of)).skip(1);
        let bare = |p: &&str| p.split('@').next().unwrap_or(p).len() > 3;
        let part = inside.find(|p| bare(p) && reason.contains(p.split('@').next().unwrap_or(p)));
        if let Some(part) = part {
            let [of, part, by] = [of, part, by.device].map(str::to_string);
            next[i] = Next::End(Cause::Part { of, part, by });
        }
    }
}

/// Where each chain of waiters ends: the last waiter, or one of a circle. And who
/// stands on a circle.
fn ends(next: &[Next]) -> (Vec<usize>, Vec<bool>) {
    const NEW: usize = usize::MAX;
    let mut end = std::vec![NEW; next.len()];
    let mut walked = std::vec![NEW; next.len()];
    let mut circle = std::vec![false; next.len()];
    for start in 0..next.len() {
        let (mut at, mut path) = (start, Vec::new());
        let last = loop {
            if end[at] != NEW {
                break end[at];
            }
            if walked[at] == start {
                // All of a circle have one end, the first that was met.
                path.iter().skip_while(|&&p| p != at).for_each(|&p| circle[p] = true);
                break at;
            }
            walked[at] = start;
            path.push(at);
            match next[at] {
                Next::Waiter(j) => at = j,
                Next::End(_) => break at,
            }
        };
        for p in path {
            end[p] = last;
        }
    }
    (end, circle)
}

fn root(cause: Cause) -> Root {
    Root {
        cause,
        at: Vec::new(),
        behind: Vec::new(),
        times: 0,
        attempts_only: false,
        evidence: Vec::new(),
    }
}

fn grouped(waiters: &[Waiter<'_>], next: &[Next]) -> Vec<Root> {
    let (ends, circle) = ends(next);
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut out: Vec<Root> = Vec::new();
    // Whoever is stopped by the cause itself comes before those behind it.
    for direct in [true, false] {
        for (i, w) in waiters.iter().enumerate() {
            let end = ends[i];
            if (circle[i] || end == i) != direct {
                continue;
            }
            let (name, cause) = match &next[end] {
                Next::End(cause) => (format!("{cause:?}"), cause.clone()),
                Next::Waiter(_) => (format!("loop {end}"), Cause::Loop),
            };
            let at = *places.entry(name).or_insert_with(|| {
                out.push(root(cause));
                out.len() - 1
            });
            let r = &mut out[at];
            if direct { &mut r.at } else { &mut r.behind }.push(w.device.to_string());
            if r.evidence.len() < if direct { 3 } else { 4 } {
                r.evidence.push(w.best.evidence.clone());
            }
        }
    }
    out
}

/// Adds what a person counted.
fn counted(case: &Case, out: &mut Vec<Root>) {
    let places = out.iter().enumerate().map(|(i, r)| (format!("{:?}", r.cause), i));
    let mut places: BTreeMap<String, usize> = places.collect();
    for d in case.deferrals.iter().filter(|d| d.device.is_empty()) {
        let Some(need) = d.need() else { continue };
        let cause = match need {
            Need::Device(name) => Cause::Device { name: name.to_string(), fate: Fate::Silent },
            Need::Node(path) => Cause::Node { path: path.to_string() },
            Need::Lost => Cause::Lost,
        };
        let at = *places.entry(format!("{cause:?}")).or_insert_with(|| {
            out.push(Root { attempts_only: true, ..root(cause) });
            out.len() - 1
        });
        let r = &mut out[at];
        r.times = r.times.saturating_add(d.times);
        if r.evidence.len() < 4 {
            r.evidence.push(d.evidence.clone());
        }
    }
}
