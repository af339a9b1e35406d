//! `ranked` of `show --json`: durations without a schedule.

use crate::Explained;
use crate::wording::device::name;
use dormouse_model::capture::Capture;
use dormouse_model::names::Sym;
use dormouse_model::ranked::Ranking;
use serde::Serialize;

#[derive(Serialize)]
pub struct RankingOut<'a> {
    source: Option<&'a str>,
    kernel: Option<&'a str>,
    line: u64,
    callbacks: Vec<CallbackOut<'a>>,
    devices: Vec<BoundOut<'a>>,
}

#[derive(Serialize)]
struct CallbackOut<'a> {
    device: &'a str,
    driver: Option<&'a str>,
    function: Option<&'a str>,
    direction: Option<&'static str>,
    phase: Option<&'static str>,
    duration_ns: i64,
    error: i32,
}

#[derive(Serialize)]
struct BoundOut<'a> {
    device: &'a str,
    driver: Option<&'a str>,
    saves_at_most_ns: i64,
}

/// Every list of every capture.
pub fn list(all: &[Explained]) -> Vec<RankingOut<'_>> {
    all.iter().flat_map(|e| e.capture.ranked.iter().map(|r| ranking(&e.capture, r))).collect()
}

fn ranking<'a>(capture: &'a Capture, list: &Ranking) -> RankingOut<'a> {
    let known = |sym: Sym| Some(capture.names.get(sym)).filter(|text| !text.is_empty());
    let driver = |id| known(capture.graph.get(id).driver);
    let callbacks = list.rows.iter().map(|r| CallbackOut {
        device: name(capture, r.device),
        driver: driver(r.device),
        function: known(r.function),
        direction: r.direction.map(|d| d.name()),
        phase: r.phase.map(|p| p.name()),
        duration_ns: r.took.0,
        error: r.error,
    });
    let devices = list.devices().into_iter().map(|(id, bound)| BoundOut {
        device: name(capture, id),
        driver: driver(id),
        saves_at_most_ns: bound.0,
    });
    RankingOut {
        source: known(list.source),
        kernel: known(list.kernel),
        line: list.at,
        callbacks: callbacks.collect(),
        devices: devices.collect(),
    }
}
