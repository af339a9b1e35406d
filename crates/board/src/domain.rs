//! Power domains of a board: parts of a chip that are switched as a whole.

use super::words::{Word, parse_duration};
use dormouse_base::names::{Names, Sym};
use dormouse_base::time::Ns;

/// One way to be off (`struct genpd_power_state`). Switching takes the latencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    /// Time to switch off.
    pub off: Ns,
    /// Time to switch on.
    pub on: Ns,
    /// Time off from which it is worth it.
    pub residency: Ns,
}

/// Who decides at run time whether a domain goes off, and how deep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Governor {
    /// Nobody: off as soon as nobody needs it, in the shallowest state.
    #[default]
    None,
    /// `simple_qos_governor`.
    SimpleQos,
    /// `pm_domain_cpu_gov`.
    Cpu,
    /// `pm_domain_always_on_gov`.
    AlwaysOn,
}

impl Governor {
    const ALL: [(Governor, &'static str); 4] = [
        (Governor::None, "none"),
        (Governor::SimpleQos, "simple_qos"),
        (Governor::Cpu, "cpu"),
        (Governor::AlwaysOn, "always_on"),
    ];

    /// Its word in board files.
    pub fn name(self) -> &'static str {
        Governor::ALL.iter().find(|(g, _)| *g == self).map_or("", |(_, n)| n)
    }

    /// The governor called `name`.
    pub fn find(name: &str) -> Option<Governor> {
        Governor::ALL.iter().find(|(_, n)| *n == name).map(|(g, _)| *g)
    }
}

/// A power domain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Domain {
    /// Its name; no other domain of the board has it.
    pub name: Sym,
    /// The domains that must be on while it is, as places in [`Board::domains`];
    /// all stand before it.
    pub parents: Vec<u32>,
    /// Its states, shallow first; at least one.
    pub states: Vec<State>,
    /// Who decides at run time.
    pub governor: Governor,
    /// `GENPD_FLAG_ALWAYS_ON`: never off, also not in system sleep.
    pub always_on: bool,
    /// `GENPD_FLAG_RPM_ALWAYS_ON`: off in system sleep only.
    pub rpm_always_on: bool,
    /// `GENPD_FLAG_ACTIVE_WAKEUP`: stays on for a device that may wake the system.
    pub active_wakeup: bool,
    /// When the cycle begins: `None` follows from its devices, else whether it is on.
    /// `Some(Some(n))` is off in state `n`.
    pub start: Option<Option<u32>>,
}

impl Domain {
    /// The state of system sleep, which is the deepest.
    pub fn deepest(&self) -> State {
        self.states.last().copied().unwrap_or_default()
    }
}

/// More states than any domain has.
const MAX_STATES: usize = 64;

/// What stands alone on a line.
pub(super) const FLAGS: [&str; 3] = ["always_on", "rpm_always_on", "active_wakeup"];

/// Reads the words after `domain`; `find` gives the place of a domain above.
pub(super) fn parse(
    words: &[Word<'_>],
    names: &mut Names,
    find: impl Fn(&str) -> Option<u32>,
    unknown: impl Fn(&str, &str, &[&str]) -> String,
) -> Result<Domain, String> {
    let Some((name, rest)) = words.split_first().filter(|(n, _)| n.key.is_none()) else {
        return Err("`domain` needs a name: `domain gpu on=8ms off=2ms`".into());
    };
    let text = &*name.value.text;
    if name.value.nth.is_some()
        || text.is_empty()
        || (!name.value.quoted && (text.starts_with('@') || text.contains(['#', '{', '}'])))
    {
        return Err(format!("a domain cannot be called `{text}`; put the name in quotes"));
    }
    if find(text).is_some() {
        return Err(format!("there is a domain `{text}` above; choose another name"));
    }
    let mut d = Domain { name: names.add(text), ..Domain::default() };
    let (mut on, mut off) = (None, None);
    for w in rest {
        let text = &*w.value.text;
        let twice = |set: bool| match set {
            true => Err(format!("`{}` stands twice on this line; keep one", w.key.unwrap_or(text))),
            false => Ok(()),
        };
        match (w.key, text) {
            (Some("parent"), _) => {
                let Some(p) = find(text) else {
                    return Err(format!("no domain above is called `{text}`; put its line first"));
                };
                twice(d.parents.contains(&p))?;
                d.parents.push(p);
            }
            (Some("on"), _) => {
                twice(on.is_some())?;
                on = Some(parse_duration(text)?);
            }
            (Some("off"), _) => {
                twice(off.is_some())?;
                off = Some(parse_duration(text)?);
            }
            (Some("state"), _) => {
                if d.states.len() >= MAX_STATES {
                    return Err(format!("more than {MAX_STATES} states"));
                }
                d.states.push(state(text)?);
            }
            (Some("governor"), _) => {
                twice(d.governor != Governor::None)?;
                d.governor = Governor::find(text).ok_or_else(|| {
                    unknown(text, "governor", &Governor::ALL.map(|(_, name)| name))
                })?;
            }
            (Some("start"), _) => {
                twice(d.start.is_some())?;
                d.start = Some(start(text)?);
            }
            (Some(key), _) => {
                let known = ["parent", "on", "off", "state", "governor", "start"];
                return Err(unknown(key, "key", &known));
            }
            (None, "always_on") if !w.value.quoted => {
                twice(std::mem::replace(&mut d.always_on, true))?;
            }
            (None, "rpm_always_on") if !w.value.quoted => {
                twice(std::mem::replace(&mut d.rpm_always_on, true))?;
            }
            (None, "active_wakeup") if !w.value.quoted => {
                twice(std::mem::replace(&mut d.active_wakeup, true))?;
            }
            (None, _) => return Err(unknown(text, "word", &FLAGS)),
        }
    }
    if d.states.is_empty() {
        let (on, off) = (on.unwrap_or_default(), off.unwrap_or_default());
        d.states.push(State { off, on, residency: Ns::ZERO });
    } else if on.is_some() || off.is_some() {
        return Err("`state=` says how long switching takes; leave `on=` and `off=` out".into());
    }
    match d.start {
        Some(Some(n)) if n as usize >= d.states.len() => {
            return Err(format!("`start=off-{n}`: the domain has {} states", d.states.len()));
        }
        // pm_genpd_init(), drivers/pmdomain/core.c, 6.12, refuses both.
        Some(Some(_)) if d.always_on || d.rpm_always_on => {
            return Err("an `always_on` or `rpm_always_on` domain does not start off".into());
        }
        _ => {}
    }
    Ok(d)
}

/// `OFF/ON` or `OFF/ON/RESIDENCY`.
fn state(text: &str) -> Result<State, String> {
    let bad = || format!("`{text}`: write OFF/ON or OFF/ON/RESIDENCY, such as 1ms/2ms/10ms");
    let mut parts = text.split('/');
    let off = parse_duration(parts.next().ok_or_else(bad)?)?;
    let on = parse_duration(parts.next().ok_or_else(bad)?)?;
    let residency = parts.next().map_or(Ok(Ns::ZERO), parse_duration)?;
    if parts.next().is_some() {
        return Err(bad());
    }
    Ok(State { off, on, residency })
}

/// `on` or `off-N`, as debugfs has it.
fn start(text: &str) -> Result<Option<u32>, String> {
    let off = |n: &str| n.parse().ok();
    match text.strip_prefix("off-").and_then(off) {
        Some(n) => Ok(Some(n)),
        None if text == "on" => Ok(None),
        None => Err(format!("`start={text}`: write `on` or `off-N`, N being a state from 0")),
    }
}

impl Domain {
    /// Changes it as `words` of its line say; `state=` replaces all states, and a flag
    /// with `no_` in front takes it away.
    ///
    /// # Errors
    /// A sentence that says what is known.
    pub fn set(&mut self, words: &str) -> Result<(), String> {
        let mut states = Vec::new();
        for word in words.split_whitespace() {
            match word.split_once('=') {
                Some(("on", t)) => {
                    let on = parse_duration(t)?;
                    self.states.iter_mut().for_each(|s| s.on = on);
                }
                Some(("off", t)) => {
                    let off = parse_duration(t)?;
                    self.states.iter_mut().for_each(|s| s.off = off);
                }
                Some(("state", t)) => states.push(state(t)?),
                Some(("governor", t)) => {
                    self.governor = Governor::find(t).ok_or_else(|| known(t))?;
                }
                Some(("start", t)) => self.start = Some(start(t)?),
                Some(_) => return Err(known(word)),
                None => {
                    let flag = word.strip_prefix("no_").unwrap_or(word);
                    let set = flag == word;
                    match flag {
                        "always_on" => self.always_on = set,
                        "rpm_always_on" => self.rpm_always_on = set,
                        "active_wakeup" => self.active_wakeup = set,
                        _ => return Err(known(word)),
                    }
                }
            }
        }
        if !states.is_empty() {
            self.states = states;
        }
        let out_of_states = |n: u32| n as usize >= self.states.len();
        let stays_on = self.always_on || self.rpm_always_on;
        if self.start.flatten().is_some_and(out_of_states) || stays_on {
            self.start = None;
        }
        Ok(())
    }
}

fn known(word: &str) -> String {
    format!(
        "`{word}` is nothing of a power domain; write words of its line, such as on=2ms, \
         state=1ms/2ms, governor=simple_qos, always_on or no_always_on"
    )
}
