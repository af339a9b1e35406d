//! Requests and answers.

use crate::columns::{self, CycleBlock};
use crate::idle;
use crate::machine::{Machine, load, on_page};
use crate::names::NameTable;
use crate::replay;
use dormouse_app::changes::Changes;
use dormouse_app::kernels::Now;
use dormouse_app::predict as app;
use dormouse_app::words;
use dormouse_base::capture::Capture;
use dormouse_base::device::DeviceId;
use dormouse_base::phase::Direction;
use dormouse_base::time::Ns;
use dormouse_board::derive::Derived;
use dormouse_sleep::analyse::explain;
use dormouse_sleep::evidence::{Fidelity, Witness};
use dormouse_sleep::simulate::fingerprint::fingerprint;
use dormouse_sleep::simulate::policy::{self, Evidence};
use dormouse_sleep::simulate::predict::{Outlook, Prediction};
use dormouse_sleep::simulate::resample::Resampling;
use dormouse_sleep::simulate::{Profile, Settings};
use serde::{Deserialize, Serialize};

/// What a request asks. What it brings is read apart, once this is known: an enum with
/// data would make serde keep every request as a tree first, in code that is a tenth of
/// the module.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Do {
    /// From now on answer for this machine.
    Load,
    /// Predict a change.
    Predict,
    /// What may be said of the last `Predict`, by all machines that explain the
    /// recording: that takes longer.
    Claims,
    /// One number for the schedules of generated boards, to compare builds.
    Fingerprint,
    /// Let an idle governor decide.
    Idle,
    /// Replay the wake-ups of CPUs.
    IdleReplay,
    /// Resample the change of the last `Predict` a few more times.
    Resample,
}

/// The one part that all requests have.
#[derive(Debug, Deserialize)]
struct Request {
    #[serde(rename = "do")]
    what: Do,
}

/// The machine of [`Do::Load`].
#[derive(Debug, Deserialize)]
struct Load {
    machine: Box<Machine>,
}

/// What changes in [`Do::Predict`].
#[derive(Debug, Deserialize)]
struct Predict {
    change: Asked,
}

/// How many boards [`Do::Fingerprint`] makes.
#[derive(Debug, Deserialize)]
struct Fingerprint {
    boards: u64,
}

/// What [`Do::Idle`] and [`Do::IdleReplay`] ask.
#[derive(Debug, Deserialize)]
struct Question<T> {
    ask: T,
}

/// How often [`Do::Resample`] does so.
#[derive(Debug, Deserialize)]
struct Resample {
    steps: usize,
}

/// The options of `dormouse predict`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Asked {
    kernel: Option<String>,
    from_kernel: Option<String>,
    pm_async: Option<u8>,
    #[serde(rename = "async")]
    asynchronous: Vec<String>,
    sync: Vec<String>,
    without: Vec<String>,
    scale: Vec<String>,
    cpus: Option<u32>,
    profile: Option<String>,
}

impl Asked {
    fn changes(&self) -> Changes {
        Changes {
            kernel: self.kernel.clone(),
            pm_async: self.pm_async.map(|on| on == 1),
            asynchronous: self.asynchronous.clone(),
            sync: self.sync.clone(),
            without: self.without.clone(),
            scale: self.scale.clone(),
            // The page has no control for it.
            moves: Vec::new(),
            domains: Vec::new(),
            qos: Vec::new(),
            leave_suspended: Vec::new(),
            cpus: self.cpus,
        }
    }
}

/// What stays between requests.
#[derive(Debug, Default)]
pub struct State {
    machine: Option<Kept>,
    asked: Option<Job>,
}

/// The machine that is asked about.
#[derive(Debug)]
struct Kept {
    derived: Derived,
    fidelity: Fidelity,
    witness: Option<Witness>,
    /// Kernel release that was recorded.
    release: String,
    /// For every device of the board its number on the page.
    origin: Vec<u32>,
}

impl Kept {
    /// Predicts what is `asked`, and under which settings; what other machines say of it
    /// takes longer ([`State::claims`]).
    fn ask(&self, asked: &Asked) -> Result<(app::Predicted, Settings), String> {
        let name = asked.profile.as_deref().unwrap_or("x86");
        let profile = Profile::find(name).ok_or(format!("there is no profile {name}"))?;
        let changes = asked.changes();
        let settings = app::settings(profile, changes.cpus);
        let ask = app::Ask {
            derived: &self.derived,
            release: &self.release,
            from_kernel: asked.from_kernel.as_deref(),
            shown: None,
            fidelity: &self.fidelity,
            witness: None,
            changes: &changes,
            settings: &settings,
            samples: 0,
            seed: 1,
        };
        Ok((app::predict(&ask, None)?, settings))
    }

    fn on_page(&self, d: DeviceId) -> u32 {
        self.origin.get(d.index()).copied().unwrap_or(d.0)
    }
}

/// The change that was predicted and is being resampled.
#[derive(Debug)]
struct Job {
    predicted: app::Predicted,
    settings: Settings,
    before: Resampling,
    after: Resampling,
}

/// The JSON answer to a JSON request: `{"ok": …}` or `{"error": "…"}`.
pub fn answer(state: &mut State, request: &[u8]) -> String {
    let result = obey(state, request);
    match result {
        Ok(json) => format!("{{\"ok\":{json}}}"),
        Err(e) => serde_json::json!({ "error": e }).to_string(),
    }
}

/// Does what is asked.
fn obey(state: &mut State, request: &[u8]) -> Result<String, String> {
    match read::<Request>(request)?.what {
        Do::Load => state.load(&read::<Load>(request)?.machine),
        Do::Predict => state.predict(&read::<Predict>(request)?.change),
        Do::Claims => state.claims(),
        Do::Idle => json(&read::<Question<idle::Ask>>(request)?.ask.decide()?),
        Do::IdleReplay => json(&read::<Question<replay::Ask>>(request)?.ask.replay()?),
        Do::Resample => state.resample(read::<Resample>(request)?.steps),
        Do::Fingerprint => {
            let boards = read::<Fingerprint>(request)?.boards.min(1_000);
            json(&format!("{:016x}", fingerprint(boards)))
        }
    }
}

fn read<'a, T: Deserialize<'a>>(request: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(request).map_err(|e| format!("a request that cannot be read: {e}"))
}

fn json(value: &impl Serialize) -> Result<String, String> {
    serde_json::to_string(value).map_err(|e| e.to_string())
}

#[derive(Serialize)]
struct Loaded {
    devices: usize,
    cpus: u32,
    pm_async: bool,
    kernels: Vec<KernelOut>,
    /// Known to be asynchronous, by number of the device on the page.
    asynchronous: Vec<u32>,
}

#[derive(Serialize)]
struct KernelOut {
    policy: &'static str,
    title: &'static str,
    evidence: String,
}

#[derive(Serialize)]
struct Predicted {
    before: OutlookOut,
    after: OutlookOut,
    notes: Vec<String>,
    assumptions: Vec<String>,
    moved: Vec<MovedOut>,
    /// Names that `cycle` refers to.
    names: Vec<String>,
    /// The predicted schedule, devices by their number on the page.
    cycle: CycleBlock,
}

/// What `dormouse predict` claims of a change.
#[derive(Serialize)]
struct Claims {
    /// Down and up: a sentence, and nanoseconds if a figure is claimed.
    halves: [(String, Option<i64>); 2],
    /// Of each phase of the outlook its time, if it is claimed.
    phases: Vec<Option<i64>>,
    /// What the recording leaves open.
    open: Vec<String>,
}

#[derive(Serialize)]
struct OutlookOut {
    policy: &'static str,
    kernel: Option<String>,
    held_against_kernel: bool,
    outcome: &'static str,
    suspend_ns: i64,
    resume_ns: i64,
    phases: Vec<PhaseOut>,
    workers_created: u64,
    blocked_waits: u64,
}

#[derive(Serialize)]
struct PhaseOut {
    phase: u8,
    start_ns: i64,
    duration_ns: i64,
    path_bound_ns: Option<i64>,
    order_bound_ns: Option<i64>,
}

#[derive(Serialize)]
struct MovedOut {
    device: u32,
    phase: u8,
    before_ns: (i64, i64),
    after_ns: (i64, i64),
}

#[derive(Serialize)]
struct RangeOut {
    samples: usize,
    before: Option<HalvesOut>,
    after: Option<HalvesOut>,
}

#[derive(Serialize)]
struct HalvesOut {
    suspend_ns: (i64, i64),
    resume_ns: (i64, i64),
}

impl State {
    fn load(&mut self, machine: &Machine) -> Result<String, String> {
        let derived = load(machine)?;
        let by = Now::of(None, &machine.kernel)?.by;
        let devices = derived.board.devices.len();
        let kept = Kept {
            derived,
            fidelity: machine.check.load(),
            witness: machine.witness.as_ref().map(|w| w.load(devices, by)),
            release: machine.kernel.clone(),
            origin: on_page(machine),
        };
        let derived = &kept.derived;
        let kernel = |p: &&'static policy::Policy| KernelOut {
            policy: p.name,
            title: p.title,
            evidence: match p.evidence {
                Evidence::Kernel(k) => format!("ran on {k}"),
                _ if p.is_verified() => String::new(),
                _ => "not verified on a kernel".into(),
            },
        };
        let flags = derived.board.graph.ids().zip(&derived.board.graph.devices);
        let loaded = Loaded {
            devices: derived.board.devices.len(),
            cpus: derived.board.cpus,
            pm_async: derived.board.pm_async,
            kernels: policy::ALL.iter().map(kernel).collect(),
            asynchronous: flags
                .filter(|(_, d)| d.async_flag == Some(true))
                .map(|(d, _)| kept.on_page(d))
                .collect(),
        };
        let out = json(&loaded)?;
        self.machine = Some(kept);
        self.asked = None;
        Ok(out)
    }

    fn predict(&mut self, asked: &Asked) -> Result<String, String> {
        self.asked = None;
        let kept = self.machine.as_ref().ok_or("no machine is loaded")?;
        let (predicted, settings) = kept.ask(asked)?;
        let out = json(&answered(kept, &predicted.prediction))?;
        let fresh = Resampling::new(1);
        let (before, after) = (fresh.clone(), fresh);
        self.asked = Some(Job { predicted, settings, before, after });
        Ok(out)
    }

    fn claims(&mut self) -> Result<String, String> {
        let kept = self.machine.as_ref().ok_or("no machine is loaded")?;
        let Job { predicted: p, settings, .. } =
            self.asked.as_mut().ok_or("nothing was predicted")?;
        let witness = kept.witness.as_ref();
        p.prediction.doubt =
            app::doubt_of(&kept.derived, witness, [p.now, p.then], &p.changes, settings);
        json(&claims(&p.prediction))
    }

    fn resample(&mut self, steps: usize) -> Result<String, String> {
        let derived = &self.machine.as_ref().ok_or("no machine is loaded")?.derived;
        let job = self.asked.as_mut().ok_or("nothing was predicted")?;
        if derived.cycles.len() < 2 {
            return json(&RangeOut { samples: 0, before: None, after: None });
        }
        for _ in 0..steps {
            let p = &job.predicted;
            job.before.step(derived, p.now, &[], &job.settings)?;
            job.after.step(derived, p.then, &p.changes, &job.settings)?;
        }
        json(&RangeOut {
            samples: job.after.samples(),
            before: halves(job.before.clone().range()),
            after: halves(job.after.clone().range()),
        })
    }
}

fn halves(range: Option<[(Ns, Ns); 2]>) -> Option<HalvesOut> {
    let pair = |(a, b): (Ns, Ns)| (a.0, b.0);
    range.map(|[down, up]| HalvesOut { suspend_ns: pair(down), resume_ns: pair(up) })
}

fn outlook(o: &Outlook) -> OutlookOut {
    let phases = o.run.cycle.phases.iter().map(|s| {
        let b = o.bounds.phase(s.phase);
        PhaseOut {
            phase: s.phase as u8,
            start_ns: s.start.0,
            duration_ns: s.duration().0,
            path_bound_ns: b.map(|b| b.path.0),
            order_bound_ns: b.map(|b| b.order.0),
        }
    });
    OutlookOut {
        policy: o.scheduler.policy.name,
        kernel: o.scheduler.kernel.map(|k| k.to_string()),
        held_against_kernel: o.scheduler.policy.is_verified(),
        outcome: o.run.cycle.outcome.name(),
        suspend_ns: o.half(Direction::Suspend).0,
        resume_ns: o.half(Direction::Resume).0,
        phases: phases.collect(),
        workers_created: o.run.tally.workers_created,
        blocked_waits: o.run.tally.blocked_waits,
    }
}

fn claims(p: &Prediction) -> Claims {
    let half = |d| (words::half(p, d), p.claimed(d).map(|t| t.0));
    let phases = p.after.run.cycle.phases.iter().map(|s| s.phase);
    Claims {
        halves: [Direction::Suspend, Direction::Resume].map(half),
        phases: phases.map(|x| p.claims(x).then(|| p.changed_to(x).0)).collect(),
        open: words::open(&p.doubt, &p.fidelity),
    }
}

fn answered(kept: &Kept, p: &Prediction) -> Predicted {
    let moved = p.moved.iter().take(20).map(|m| MovedOut {
        device: kept.on_page(m.device),
        phase: m.phase as u8,
        before_ns: (m.before.0.0, m.before.1.0),
        after_ns: (m.after.0.0, m.after.1.0),
    });
    let moved: Vec<MovedOut> = moved.collect();
    let (before, after) = (outlook(&p.before), outlook(&p.after));
    let changed = &p.changed;
    let capture = Capture {
        names: changed.board.names.clone(),
        graph: changed.board.graph.clone(),
        cycles: vec![p.after.run.cycle.clone()],
        ..Capture::default()
    };
    let views = explain(&capture);
    let cycle = &capture.cycles[0];
    let list: Vec<u32> = (0..cycle.callbacks.len() as u32).collect();
    let mut names = NameTable::default();
    // From the changed board to the board, and on to the page.
    let number = |d: DeviceId| changed.origin.get(d.index()).map(|&d| kept.on_page(d));
    let block = columns::block(&capture, cycle, &views[0], &list, &number, &mut names);
    Predicted {
        before,
        after,
        notes: words::notes(&p.notes),
        assumptions: words::assumed(&p.assumptions),
        moved,
        names: names.into_list(),
        cycle: block,
    }
}
