//! Turns captures into the blocks of a report.

pub mod compare;
pub mod stats;
pub mod summary;

use crate::block::Blocks;
use crate::choose::{self, Kept};
use crate::{Labelled, Options};
use dormouse_base::capture::Capture;
use dormouse_base::cycle::{Cycle, Outcome};
use dormouse_base::device::DeviceId;
use dormouse_base::phase::{Direction, Phase};
use dormouse_base::time::Ns;
use dormouse_sleep::analyse::CycleView;
use dormouse_sleep::analyse::answer::Half;
use dormouse_sleep::analyse::decode::decode;
use dormouse_sleep::analyse::path::Reason;
use dormouse_sleep::analyse::rows::What;
use dormouse_sleep::analyse::spread::{self, Group};
use dormouse_sleep::evidence;
use dormouse_sleep::simulate::{Profile, Settings};
use dormouse_wasm::columns;
use dormouse_wasm::evidence::{SelfCheck, Witness};
use dormouse_wasm::machine;
use dormouse_wasm::names::NameTable;
use dormouse_words::doctor::Worded;
use dormouse_words::fidelity;
use dormouse_words::wording::assumed;
use dormouse_words::wording::reason::stem as reason;
use dormouse_words::wording::waits::{Silent, Told};
use dormouse_words::wording::whole::Table;
use dormouse_words::wording::{self, bottleneck, common, losses as warnings, trust};
use summary::*;

/// All blocks of a report over `captures`.
pub(crate) fn blocks(captures: &[Labelled<'_>], options: &Options) -> Blocks {
    let mut blocks = Blocks::new(options.said);
    let mut names = NameTable::default();
    let mut left_out = Vec::new();
    let mut room = options.callbacks;
    let mut list = Vec::new();
    for c in captures.iter().filter(|c| !c.capture.cycles.is_empty()) {
        let mut maker = Maker {
            capture: c.capture,
            views: c.views,
            findings: c.findings,
            waits: c.waits,
            whole: c.whole,
            names: &mut names,
            blocks: &mut blocks,
            left_out: &mut left_out,
            options,
            prefix: shared_folder(c.capture),
        };
        list.push(maker.capture(c.label, &mut room));
    }
    let compared: Vec<Labelled<'_>> =
        captures.iter().filter(|c| !c.capture.cycles.is_empty()).copied().collect();
    let compare = (compared.len() > 1).then(|| compare::compare(&compared));
    let phases = Phase::ALL.iter().map(|p| PhaseName {
        name: p.name(),
        label: wording::phase(*p),
        direction: p.direction().name(),
        devices: p.has_devices(),
    });
    let reasons = Reason::ALL.map(|r| ReasonName { name: r.name(), text: reason(r) });
    let summary = Summary {
        schema: "dormouse-report/1",
        version: env!("CARGO_PKG_VERSION"),
        title: options.title.clone(),
        phases: phases.collect(),
        reasons: reasons.into(),
        captures: list,
        left_out,
        compare,
        names: names.into_list(),
    };
    blocks.set_summary(&summary);
    blocks
}

/// What the parts of one capture need.
struct Maker<'a> {
    capture: &'a Capture,
    views: &'a [CycleView],
    findings: &'a [Worded],
    waits: &'a [Silent],
    whole: Option<&'a Table>,
    names: &'a mut NameTable,
    blocks: &'a mut Blocks,
    left_out: &'a mut Vec<String>,
    options: &'a Options,
    /// Bytes of the folder that all sources of the capture share: where it lay
    /// on the disk of its owner is nobody's business.
    prefix: usize,
}

impl Maker<'_> {
    fn capture(&mut self, label: &str, room: &mut usize) -> CaptureData {
        let (capture, views) = (self.capture, self.views);
        let groups = spread::groups(&[(capture, views)]);
        let counted = choose::counted(capture, &groups);
        let median = choose::median_cycle(views, &counted);
        let outliers = outliers(&groups, capture.cycles.len());
        let mut named: Vec<usize> =
            (0..outliers.len()).filter(|&i| !outliers[i].is_empty()).collect();
        named.extend((0..capture.cycles.len()).filter(|&i| capture.cycles[i].first_after_boot));
        let kept = choose::devices(capture, self.options);
        if kept.left_out > 0 {
            self.left_out.push(format!(
                "{label}: {} devices that took least time are left out; the totals of phases include them.",
                kept.left_out
            ));
        }
        let embedded = choose::embedded(capture, median, &named, room, self.options);
        let without = embedded.iter().filter(|e| !**e).count();
        if without > 0 {
            self.left_out.push(format!(
                "{label}: full detail is embedded for the median cycle and the outliers ({} of {} \
                 cycles); the other {without} are in the distributions only.",
                embedded.len() - without,
                embedded.len()
            ));
        }
        let cycles: Vec<CycleData> = (0..capture.cycles.len())
            .map(|i| self.cycle(label, i, embedded[i], &kept, &outliers[i]))
            .collect();
        let text = |s| capture.names.get(s).to_string();
        let board_block = self.board(label, &kept);
        // One cycle is its own distribution.
        let places_block = (capture.cycles.len() > 1)
            .then(|| self.blocks.add(&stats::places(capture, views, &counted, &kept)));
        CaptureData {
            label: label.into(),
            host: text(capture.machine.host),
            model: text(capture.machine.model),
            cpus: capture.machine.cpus,
            pm_async: capture.machine.pm_async,
            answer: head(capture, &groups, &cycles[median]),
            devices: self.devices(&kept),
            links: self.links(&kept),
            order_known: capture.graph.order_known,
            links_known: capture.graph.links_known,
            cycles,
            median_cycle: median,
            phase_stats: stats::phases(capture, views, &counted),
            device_stats: stats::devices(capture, views, &counted, &kept),
            places_block,
            findings: self.findings.iter().map(finding).collect(),
            whole: self.whole.cloned(),
            losses: losses(capture),
            board_block,
        }
    }

    /// The machine that what-if starts from; `None` if no board can be made.
    fn board(&mut self, label: &str, kept: &Kept) -> Option<u32> {
        let found = evidence::machine(self.capture, None).ok()?;
        let settings = Settings { profile: Profile::x86(), pm_async: None, wakeup_at: None };
        let checked = found.check(self.capture, &settings);
        let witness = found.witness(self.capture);
        let (derived, mut kernel) = (found.derived, found.release);
        if kernel.is_empty() {
            kernel = found.scheduler.policy.name.into();
        }
        let reasons = fidelity::reasons(&checked, &derived.board);
        if !reasons.is_empty() {
            self.left_out.push(format!(
                "{label}: what-if is left out, because {}. {}",
                fidelity::refusal(&checked),
                reasons.join(" ")
            ));
            return None;
        }
        if derived.board.devices.len() > self.options.devices {
            self.left_out.push(format!(
                "{label}: what-if is left out, because the machine has more than {} devices; \
                 `dormouse predict` has no such limit.",
                self.options.devices
            ));
            return None;
        }
        let number = |old: u32| kept.get(old as usize);
        let mut known = assumed::sentences(&derived.assumptions);
        known.push(assumed::self_check(checked.verdict()));
        let mut machine = machine::save(&derived, known, &kernel, self.options.callbacks, &number);
        machine.check = SelfCheck::save(&checked);
        machine.witness = Some(Witness::save(&witness, self.options.callbacks));
        if machine.cycles.len() < machine.cycles_of {
            self.left_out.push(format!(
                "{label}: the range of a prediction is resampled from {} of {} cycles.",
                machine.cycles.len(),
                machine.cycles_of
            ));
        }
        Some(self.blocks.add(&machine))
    }

    fn cycle(
        &mut self,
        label: &str,
        i: usize,
        embed: bool,
        kept: &Kept,
        outlier: &str,
    ) -> CycleData {
        let (cycle, view) = (&self.capture.cycles[i], &self.views[i]);
        let said = self.waits.get(i);
        let waits = said.map_or(&[][..], |s| &s.waits);
        let block = embed.then(|| {
            let most = self.options.cycle_callbacks;
            let list = choose::callbacks(cycle, &columns::on_path(cycle, view), kept, most);
            let missing = cycle.callbacks.len() - list.len();
            if missing > 0 {
                self.left_out.push(format!(
                    "{label}, cycle {}: the {missing} shortest of {} callbacks are left out of the timeline; \
                     every callback of the critical path and all totals are there.",
                    i + 1,
                    cycle.callbacks.len()
                ));
            }
            let number = |d: DeviceId| kept.get(d.index());
            let b = columns::block(self.capture, cycle, view, &list, &number, self.names);
            self.blocks.add(&b)
        });
        let text = |s| self.capture.names.get(s).to_string();
        let at = |t: Ns| (t - cycle.start).0;
        // A sum that leaves out the devices, or rests on a missing end, is none.
        let figure = |h: Option<Half>| h.filter(|h| h.known.is_figure()).map(|h| h.total.0);
        CycleData {
            source: text(cycle.source)[self.prefix..].to_string(),
            kernel: text(cycle.kernel),
            mode: cycle.mode.name(),
            outcome: cycle.outcome.name(),
            outcome_detail: outcome_detail(self.capture, cycle),
            suspend_ns: figure(view.answer.suspend),
            resume_ns: figure(view.answer.resume),
            asleep: hole(view, cycle).map(|(a, b)| (at(a), at(b))),
            length_ns: cycle.end.since(cycle.start).0,
            callbacks: cycle.callbacks.len(),
            answer: answer(self.capture, cycle, view, said.and_then(|s| s.answer.clone())),
            answers: [view.answer.suspend, view.answer.resume]
                .map(|h| h.map_or(String::new(), |h| sentences(self.capture, cycle, view, &h))),
            outlier: outlier.into(),
            first_after_boot: cycle.first_after_boot,
            rows: rows(cycle, view),
            waits: waits.iter().map(wait).collect(),
            block,
        }
    }

    fn devices(&mut self, kept: &Kept) -> DeviceColumns {
        let mut out = DeviceColumns::default();
        for &old in &kept.old {
            let d = &self.capture.graph.devices[old as usize];
            out.name.push(self.names.add(self.capture.names.get(d.name)));
            out.driver.push(self.names.add(self.capture.names.get(d.driver)));
            out.about.push(self.names.add(&about(self.capture, old)));
            out.parent.push(d.parent.and_then(|p| kept.get(p.index())).map_or(0, |p| p + 1));
            out.async_flag.push(d.async_flag.map_or(0, |a| 1 + u8::from(a)));
        }
        out
    }

    fn links(&mut self, kept: &Kept) -> LinkColumns {
        let mut out = LinkColumns::default();
        for l in &self.capture.graph.links {
            let ends = (kept.get(l.consumer.index()), kept.get(l.supplier.index()));
            if let (Some(c), Some(s)) = ends {
                out.consumer.push(c);
                out.supplier.push(s);
                out.kind.push(self.names.add(l.kind.name()));
            }
        }
        out
    }
}

fn wait(w: &Told) -> WaitData {
    WaitData { duration_ns: w.time.0, text: w.entry.clone(), bound: w.bound }
}

fn finding(f: &Worded) -> FindingData {
    FindingData {
        id: f.id,
        row: f.row,
        level: f.level,
        confidence: f.confidence,
        sentence: f.sentence.clone(),
        saved: f.saved.clone(),
        evidence: f.evidence.clone(),
        advice: f.advice.clone(),
    }
}

/// Length of the folder that every source lies in, with its slash.
fn shared_folder(capture: &Capture) -> usize {
    let mut sources = capture.cycles.iter().map(|c| capture.names.get(c.source));
    let Some(first) = sources.next() else { return 0 };
    let mut shared = first.rfind('/').map_or(0, |i| i + 1);
    for s in sources {
        while shared > 0 && !s.starts_with(&first[..shared]) {
            shared = first[..shared - 1].rfind('/').map_or(0, |i| i + 1);
        }
    }
    shared
}

/// The stretch that is not latency.
fn hole(view: &CycleView, cycle: &Cycle) -> Option<(Ns, Ns)> {
    let row = view.rows.list.iter().find(|r| matches!(r.what, What::Asleep { .. } | What::Turn));
    row.map(|r| (r.start, r.end)).or_else(|| {
        // A cycle that turned back: nothing to fold, but the way up has a start.
        let up = cycle.phases.iter().filter(|p| p.phase.direction() == Direction::Resume);
        let start = up.map(|p| p.start).min()?;
        Some((start, start))
    })
}

fn rows(cycle: &Cycle, view: &CycleView) -> Vec<RowData> {
    let row = |r: &dormouse_sleep::analyse::rows::Row| {
        let (phase, callbacks, cpu) = match r.what {
            What::Phase(i) => {
                let span = &cycle.phases[i as usize];
                let cpu = matches!(span.phase, Phase::CpuOff | Phase::CpuOn);
                let done = view.phases.get(i as usize).map_or(0, |p| p.completed);
                (span.phase as i32, done, if cpu { i64::from(span.cpu) } else { -1 })
            }
            What::Gap { .. } | What::Image(_) => (-1, 0, -1),
            What::Asleep { .. } | What::Turn | What::Rest | What::ClockJump => {
                (Phase::Asleep as i32, 0, -1)
            }
        };
        let label = wording::row(r.what, cycle.mode, &cycle.phases);
        RowData {
            phase,
            label,
            direction: r.direction.name(),
            start_ns: (r.start - cycle.start).0,
            duration_ns: r.counted.0,
            callbacks,
            cpu,
        }
    };
    view.rows.list.iter().map(row).collect()
}

fn outcome_detail(capture: &Capture, cycle: &Cycle) -> String {
    match cycle.outcome {
        Outcome::AbortedByDevice { device, errno } => {
            let name = device.and_then(|d| capture.graph.devices.get(d.index()));
            let name = name.map_or("a device", |d| capture.names.get(d.name));
            format!("{name} returned {errno}")
        }
        Outcome::FreezeFailed { errno } => format!("error {errno}"),
        _ => String::new(),
    }
}

/// Why each cycle stands out, by index.
fn outliers(groups: &[Group<'_>], n: usize) -> Vec<String> {
    let mut out = vec![String::new(); n];
    for g in groups {
        for o in &g.outliers {
            let Some(text) = out.get_mut(o.cycle.1 as usize) else { continue };
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(&common::outlier(o, o.cycle.1 as usize + 1, g));
        }
    }
    out
}

fn losses(capture: &Capture) -> Vec<LossData> {
    // A page is passed on: where a file lay on this disk is nobody's business.
    let first = capture.cycles.first().map_or("", |c| capture.names.get(c.source));
    let folder = &first[..shared_folder(capture).min(first.len())];
    let bare = |text: String| match folder.len() {
        0 | 1 => text,
        _ => text.replace(folder, ""),
    };
    let loss = |l: &dormouse_base::loss::Loss| LossData {
        kind: l.kind,
        count: l.count,
        severity: l.severity.name(),
        advice: bare(warnings::warning(l, &[capture], None)),
    };
    trust::warnings(&[capture]).iter().map(loss).collect()
}

/// The first sentences of the page: of all cycles that may be compared, else of
/// the one cycle shown.
fn head(capture: &Capture, groups: &[Group<'_>], shown: &CycleData) -> String {
    let Some(g) = groups.iter().max_by_key(|g| g.cycles.len()) else {
        return shown.answer.clone();
    };
    let guessed = warnings::guessed(&capture.losses);
    let halves = common::order(g).map(|d| common::half_of(g, d, guessed));
    let first = match g.first.len() {
        0 => "",
        1 => ", the first after boot left out",
        _ => ", those first after boot left out",
    };
    let of = match g.cycles.len() {
        1 => "One cycle".into(),
        n => format!("Median of {n} cycles"),
    };
    format!("{} {of}{first}.", halves.join(" "))
}

/// The sentences of a half.
fn sentences(capture: &Capture, cycle: &Cycle, view: &CycleView, h: &Half) -> String {
    let open = bottleneck::Open { cycle, known: h.known };
    bottleneck::half(capture, cycle.mode, view, h, open).join(" ").trim_end().to_string()
}

/// The sentences that matter: those of the half in which most can be saved.
fn answer(capture: &Capture, cycle: &Cycle, view: &CycleView, said: Option<String>) -> String {
    if cycle.callbacks.is_empty() {
        return said.unwrap_or_else(|| {
            "No device callbacks in this log, so no device's time is known.".into()
        });
    }
    match view.answer.halves().next() {
        Some(half) => sentences(capture, cycle, view, half),
        None => "No phase of this cycle took any time.".into(),
    }
}

/// What the name of a device means; empty if its form says nothing.
fn about(capture: &Capture, device: u32) -> String {
    let d = &capture.graph.devices[device as usize];
    let name = capture.names.get(d.name);
    decode(name, capture.names.get(d.driver)).map_or(String::new(), |m| m.text())
}
