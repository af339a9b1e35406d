//! A request to let an idle governor decide, episode by episode.

use dormouse_idle::governors::{Governor, Kind, Outcome, Question, SleepLength, Version};
use dormouse_idle::state::{State, StateSet, Table};
use serde::Deserialize;

/// What a governor without memory is asked.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ask {
    governor: String,
    kernel: String,
    /// Length of a tick, ns.
    tick: i64,
    /// Exit latency and target residency in ns, and whether the state polls.
    states: Vec<(i64, i64, bool)>,
    episodes: Vec<Episode>,
}

/// The governor and the version of its rules, by their names.
pub fn rules(governor: &str, kernel: &str, tick: i64) -> Result<(Kind, Version), String> {
    let kind = Kind::named(governor).ok_or_else(|| format!("no governor is called {governor}"))?;
    let version = Version::named(kernel)
        .ok_or_else(|| format!("the rules of kernel {kernel} are not known"))?;
    if tick < 1 {
        return Err("a tick takes at least 1 ns".into());
    }
    Ok((kind, version))
}

/// A table of these states.
pub fn table(states: impl Iterator<Item = State>) -> Result<Table, String> {
    Table::new(states.collect()).map_err(|e| format!("not a table of states: {e:?}"))
}

/// One sleep: what the governor is asked with, and how it went. Fields are
/// those of [`Question`] and [`Outcome`].
#[derive(Debug, Deserialize)]
struct Episode {
    disabled: u16,
    limit: i64,
    tick_stopped: bool,
    timer: i64,
    event: i64,
    now: i64,
    #[serde(default)]
    iowait: u32,
    /// State that the driver entered; none if it refused.
    entered: Option<usize>,
    residency: i64,
    poll_limit: bool,
    tick: bool,
    awake: i64,
}

impl Ask {
    /// For each episode the state, whether the tick may stop, and whether the
    /// governor looked at the timers.
    pub(crate) fn decide(&self) -> Result<Vec<(usize, bool, bool)>, String> {
        let (kind, version) = rules(&self.governor, &self.kernel, self.tick)?;
        let state = |&(latency, residency, polls): &(i64, i64, bool)| State {
            latency,
            residency,
            polls,
            ..State::default()
        };
        let table = table(self.states.iter().map(state))?;
        let mut governor = Governor::new(kind, version, &table);
        let one = |e: &Episode| {
            let d = governor.select(&Question {
                table: &table,
                disabled: StateSet(e.disabled),
                limit: e.limit,
                tick: self.tick,
                tick_stopped: e.tick_stopped,
                sleep: SleepLength { timer: e.timer, event: e.event },
                now: e.now,
                iowait: e.iowait,
            });
            match e.entered {
                None => governor.reject(e.poll_limit),
                Some(entered) => governor.reflect(&Outcome {
                    entered,
                    residency: e.residency,
                    poll_limit: e.poll_limit,
                    tick: e.tick,
                    now: e.awake,
                }),
            }
            (d.state, d.stop_tick, d.asked)
        };
        Ok(self.episodes.iter().map(one).collect())
    }
}
