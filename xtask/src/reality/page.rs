//! What `make prove SUBJECT=reality` prints: docs/validation/reality.md.

use super::across::cross;
use super::{Judged, ms};
use dormouse_base::phase::{Direction, Phase};
use dormouse_sleep::evidence::{Check, Missing, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Recordings that belong together: as many files of one name in neighbouring
/// folders are one machine run again and again.
const SERIES: usize = 5;

/// The whole page.
pub(crate) fn page(judged: &[Judged], without: &[(String, String)], there: bool) -> String {
    let mut out = String::from(
        "# Reality\n\n\
         `make prove SUBJECT=reality` prints this page. Every log with callbacks is simulated as it was: from \
         its own callback times, on the rules of its own kernel, with what is inferred of it. A \
         phase is `reproduced` if the simulation is within 3 % or 1 ms of the recording, `partly` \
         within 10 % or 3 ms, and else `not reproduced`; then no gain is claimed in it. Phases \
         under 2 ms are not listed.\n",
    );
    if !there {
        out.push_str(
            "\nThe logs of real machines (DORMOUSE_DATA) are not here: only the recordings of \
             the project are judged below.\n",
        );
    }
    totals(&mut out, judged);
    logs(&mut out, judged);
    series(&mut out, judged);
    out.push_str(&super::printing::section(judged));
    causes(&mut out, judged);
    if !without.is_empty() {
        out.push_str("\n## Not simulated\n\n| file | why |\n|---|---|\n");
        let mut rows: BTreeMap<(String, &str), Vec<&str>> = BTreeMap::new();
        for (name, why) in without {
            let group = key(name).unwrap_or_else(|| name.clone());
            rows.entry((group, why)).or_default().push(name);
        }
        for ((group, why), names) in rows {
            if names.len() >= SERIES {
                let _ = writeln!(out, "| {} files {group} | {why} |", names.len());
            } else {
                names.iter().for_each(|name| _ = writeln!(out, "| {name} | {why} |"));
            }
        }
    }
    out
}

/// The series a file belongs to, and how many files it has.
fn key(name: &str) -> Option<String> {
    let mut parts: Vec<&str> = name.split('/').collect();
    let file = parts.pop()?;
    parts.pop()?;
    (!parts.is_empty()).then(|| format!("{}/*/{file}", parts.join("/")))
}

fn groups(judged: &[Judged]) -> BTreeMap<String, Vec<&Judged>> {
    let mut all: BTreeMap<String, Vec<&Judged>> = BTreeMap::new();
    for j in judged {
        if let Some(k) = key(&j.name) {
            all.entry(k).or_default().push(j);
        }
    }
    all.retain(|_, list| list.len() >= SERIES);
    all
}

/// Whether every device phase of a cycle is there: a complete log.
fn counted(c: &Check) -> bool {
    c.missing.is_none()
}

fn totals(out: &mut String, judged: &[Judged]) {
    let in_series: BTreeSet<String> = groups(judged).into_keys().collect();
    let is_series = |j: &&Judged| key(&j.name).is_some_and(|k| in_series.contains(&k));
    let own = |j: &&Judged| j.name.starts_with("captures/");
    out.push_str("\n## Totals\n\n| | phases over 2 ms | reproduced | partly | not reproduced | % reproduced | left out |\n|---|---|---|---|---|---|---|\n");
    let mut row = |title: &str, list: Vec<&Judged>| {
        let checks: Vec<&Check> = list.iter().flat_map(|j| &j.checks).collect();
        let whole: Vec<&&Check> = checks.iter().filter(|c| counted(c)).collect();
        let n = |v: Verdict| whole.iter().filter(|c| c.verdict == v).count();
        let good = n(Verdict::Reproduced);
        let _ = writeln!(
            out,
            "| {title} | {} | {good} | {} | {} | {:.1} | {} |",
            whole.len(),
            n(Verdict::Partly),
            n(Verdict::NotReproduced),
            good as f64 * 100.0 / (whole.len().max(1)) as f64,
            checks.len() - whole.len()
        );
    };
    row("logs, one machine each", judged.iter().filter(|j| !is_series(j) && !own(j)).collect());
    row("logs, runs of one machine", judged.iter().filter(|j| is_series(j)).collect());
    row("recordings of the project", judged.iter().filter(own).collect());
    let mut why: BTreeMap<&str, usize> = BTreeMap::new();
    for c in judged.iter().flat_map(|j| &j.checks) {
        if let Some(m) = c.missing {
            *why.entry(reason(m)).or_default() += 1;
        }
    }
    out.push_str("\nLeft out, and never trusted:\n\n| phases | why |\n|---|---|\n");
    for (reason, n) in why {
        let _ = writeln!(out, "| {n} | {reason} |");
    }
}

fn reason(m: Missing) -> &'static str {
    match m {
        Missing::Bracket => "the begin or the end of the phase is not in the log",
        Missing::Ends(_) => "callbacks began and their end is missing",
        Missing::Lost(_) => "lines are cut, dropped, left out or without a start",
        Missing::Phase => "the phase is not in the log",
        Missing::Callbacks => "no callback is listed in the phase",
        Missing::Event(_) => "a phase of a hibernation that is not simulated",
    }
}

fn name(phase: Phase) -> &'static str {
    match (phase, phase.direction()) {
        (Phase::Noirq, Direction::Suspend) => "suspend noirq",
        (Phase::ResumeNoirq, _) => "resume noirq",
        _ => phase.name(),
    }
}

fn logs(out: &mut String, judged: &[Judged]) {
    let in_series: BTreeSet<String> = groups(judged).into_keys().collect();
    out.push_str("\n## Phase by phase\n\nTimes in milliseconds. Printing is what the lines of the log cost the callbacks of the phase together.\n\n| log | rules | phase | callbacks | recorded | simulated | printing | verdict |\n|---|---|---|---|---|---|---|---|\n");
    for j in judged {
        if key(&j.name).is_some_and(|k| in_series.contains(&k)) {
            continue;
        }
        for c in &j.checks {
            let verdict = match c.missing {
                Some(m) => format!("left out: {}", reason(m)),
                None => c.verdict.name().to_owned(),
            };
            let printing =
                if c.printing.0 >= 1_000_000 { ms(c.printing) } else { "under 1".into() };
            let _ = writeln!(
                out,
                "| {} | {}{} | {} | {} | {} | {} | {} | {} |",
                j.name,
                j.machine.scheduler.policy.name,
                if j.machine.derived.board.pm_async { "" } else { ", pm_async 0" },
                name(c.phase),
                c.callbacks,
                ms(c.recorded),
                ms(c.simulated),
                printing,
                verdict
            );
        }
    }
}

fn series(out: &mut String, judged: &[Judged]) {
    for (title, list) in groups(judged) {
        let _ = writeln!(out, "\n## {} runs of {title}\n", list.len());
        out.push_str("Each run simulated from its own times, and each on what was inferred from the run before it.\n\n| phase | runs | reproduced alone | within 3 % across | worst alone, % | worst across, % |\n|---|---|---|---|---|---|\n");
        let mut across: BTreeMap<Phase, Vec<(i64, Verdict)>> = BTreeMap::new();
        for (i, times) in list.iter().enumerate() {
            let structure = list[(i + list.len() - 1) % list.len()];
            for c in cross(structure, times) {
                across.entry(c.phase).or_default().push((c.off, c.verdict));
            }
        }
        let mut sum = (0, 0);
        for phase in Phase::DEVICE {
            let alone: Vec<&Check> =
                list.iter().flat_map(|j| &j.checks).filter(|c| c.phase == phase).collect();
            if alone.is_empty() {
                continue;
            }
            let good = alone.iter().filter(|c| c.verdict == Verdict::Reproduced).count();
            let off = |c: &&Check| c.difference().0.abs() * 1000 / c.recorded.0.max(1);
            let worst = alone.iter().map(off).max().unwrap_or(0);
            let other = across.remove(&phase).unwrap_or_default();
            let near = other.iter().filter(|(off, _)| off.abs() <= 30).count();
            let far = other.iter().map(|(off, _)| off.abs()).max().unwrap_or(0);
            sum.0 += near;
            sum.1 += other.len();
            let _ = writeln!(
                out,
                "| {} | {} | {good} | {near} of {} | {:.1} | {:.1} |",
                name(phase),
                alone.len(),
                other.len(),
                worst as f64 / 10.0,
                far as f64 / 10.0
            );
        }
        let _ = writeln!(
            out,
            "\nAcross runs {} of {} phases are within 3 % ({:.1} %).",
            sum.0,
            sum.1,
            sum.0 as f64 * 100.0 / f64::from(u32::try_from(sum.1.max(1)).unwrap_or(1))
        );
    }
}

/// Why a log with this message is not reproduced.
const PM_TRACE: &str = "pm_trace was on: the kernel set the real-time clock at every device, also at silent \
     ones (generate_pm_trace, drivers/base/power/trace.c), and how many of these stand between two \
     callbacks no line says; the largest waits: ";

fn causes(out: &mut String, judged: &[Judged]) {
    out.push_str("\n## What is not reproduced, and why\n\n| log | phase | recorded | simulated | cause, or the largest waits that nothing explains |\n|---|---|---|---|---|\n");
    for j in judged {
        let board = &j.machine.derived.board;
        let text = |d: u32| {
            let device = board.graph.devices.get(d as usize);
            device.map_or("the begin", |d| board.names.get(d.name))
        };
        for c in j.checks.iter().filter(|c| counted(c) && c.verdict != Verdict::Reproduced) {
            let waits: Vec<String> = c
                .waits
                .iter()
                .map(|w| format!("{} {} ms after {}", text(w.device), ms(w.by), text(w.after)))
                .collect();
            let traced = j.capture.losses.list.iter().any(|l| l.kind == "pm_trace");
            let cause = if traced { PM_TRACE } else { "" };
            let waits = if waits.is_empty() { "none of 0.3 ms".into() } else { waits.join("; ") };
            let _ = writeln!(
                out,
                "| {} | {} ({}) | {} | {} | {cause}{waits} |",
                j.name,
                name(c.phase),
                c.verdict.name(),
                ms(c.recorded),
                ms(c.simulated)
            );
        }
    }
}
