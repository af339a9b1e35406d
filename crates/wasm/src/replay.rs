//! A request to replay the wake-ups of CPUs under another governor or limit.

use crate::idle::{rules, table};
use dormouse_idle::energy::Powers;
use dormouse_idle::governors::Kind;
use dormouse_idle::knob::UNLIMITED;
use dormouse_idle::predict::{Account, Setup, Timers, replay};
use dormouse_idle::state::{State, StateSet, Table};
use dormouse_idle::wake::{Episode, wakes};
use serde::{Deserialize, Serialize};

/// What decides, and what happened.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ask {
    governor: String,
    kernel: String,
    /// Length of a tick, ns.
    tick: i64,
    /// Largest exit latency, ns; no limit if absent.
    limit: Option<i64>,
    /// Names of states that are disabled beside those that are so already.
    disable: Vec<String>,
    cpus: Vec<Cpu>,
}

/// One CPU with its sleeps, in columns.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cpu {
    /// Name, exit latency and target residency in ns, and whether it polls.
    states: Vec<(String, i64, i64, bool)>,
    /// Those that are disabled, by bit.
    disabled: u16,
    /// When each sleep began, ns.
    enter: Vec<i64>,
    /// When it ended, ns.
    exit: Vec<i64>,
    /// Its state.
    state: Vec<u32>,
    /// Whether a timer ended it.
    timer: Vec<u8>,
    /// Whether a task ran after it: 0 no, 1 yes, 2 not known.
    ran: Vec<u8>,
}

/// What follows.
#[derive(Debug, Serialize)]
pub(crate) struct Answer {
    /// Sleeps and their time, ns, by state.
    states: Vec<(u64, i64)>,
    too_deep: u64,
    too_shallow: u64,
    ticks: u64,
    /// Median, 99th percentile and largest delay of a wake-up, ns.
    delay: [Option<i64>; 3],
    /// Energy as `predict --json` has it without powers.
    energy: Option<i64>,
}

impl Ask {
    /// All CPUs together.
    pub(crate) fn replay(&self) -> Result<Answer, String> {
        let (kind, version) = rules(&self.governor, &self.kernel, self.tick)?;
        let mut sum = Account::default();
        for cpu in &self.cpus {
            let table = cpu.table()?;
            if kind == Kind::Haltpoll && table.states().len() != 2 {
                return Err("haltpoll knows two states, to poll and to halt".into());
            }
            let mut disabled = StateSet(cpu.disabled);
            for (i, s) in table.states().iter().enumerate() {
                if self.disable.contains(&s.name) {
                    disabled = disabled.with(i);
                }
            }
            let setup = Setup {
                table: &table,
                disabled,
                limit: self.limit.unwrap_or(UNLIMITED),
                tick: self.tick,
                kind,
                version,
                periodic: false,
                oracles: false,
                draw: 0,
            };
            let wakes = wakes(&cpu.episodes(), &table);
            let powers = Powers::assumed(&table, StateSet(cpu.disabled));
            sum.add(&replay(&wakes, &setup, Timers::Recorded, &powers));
        }
        Ok(Answer {
            states: sum.states.iter().map(|s| (s.sleeps, s.time)).collect(),
            too_deep: sum.too_deep,
            too_shallow: sum.too_shallow,
            ticks: sum.ticks,
            delay: [500, 990, 1_000].map(|per_mille| sum.delay(per_mille)),
            energy: i64::try_from(sum.energy / 1_000).ok(),
        })
    }
}

impl Cpu {
    fn table(&self) -> Result<Table, String> {
        let state = |(name, latency, residency, polls): &(String, i64, i64, bool)| State {
            name: name.clone(),
            latency: *latency,
            residency: *residency,
            polls: *polls,
            ..State::default()
        };
        table(self.states.iter().map(state))
    }

    /// Sleeps whose every column is there.
    fn episodes(&self) -> Vec<Episode> {
        let times = self.enter.iter().zip(&self.exit).zip(&self.state);
        let rest = self.timer.iter().zip(&self.ran);
        let one = |(((&enter, &exit), &state), (&timer, &ran))| Episode {
            enter,
            exit,
            state,
            timer: timer == 1,
            ran: [Some(false), Some(true)].get(usize::from(ran)).copied().flatten(),
        };
        times.zip(rest).map(one).collect()
    }
}
