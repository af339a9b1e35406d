//! The Perfetto trace of a simulated cycle: slices nest, flows have two ends.

use dormouse_base::capture::Capture;
use dormouse_board::generate::{Options, generate};
use dormouse_sleep::analyse::{explain, start::starts};
use dormouse_sleep::simulate::{Settings, policy, simulate};
use dormouse_words::perfetto::proto::Trace;
use dormouse_words::perfetto::{Group, write};
use prost::Message;
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn slices_nest_and_flows_have_two_ends() {
    let board = generate(&Options { devices: 80, ..Options::default() });
    let run = simulate(&board, &policy::G1, &Settings::zero_cost()).expect("a schedule");
    let capture = Capture {
        names: board.names,
        graph: board.graph,
        cycles: vec![run.cycle],
        ..Capture::default()
    };
    let views = explain(&capture);
    let cycle = &capture.cycles[0];
    let starts = starts(&capture, cycle, &views[0]);
    let group =
        Group { name: "predicted", capture: &capture, cycle, view: &views[0], starts: &starts };
    let mut bytes = Vec::new();
    write(&[group, group], &mut bytes).expect("memory takes every byte");
    let trace = Trace::decode(&bytes[..]).expect("what was written");

    let mut tracks = BTreeMap::new();
    let (mut leaves, mut arrives) = (BTreeSet::new(), BTreeSet::new());
    let mut callbacks = 0;
    for p in &trace.packet {
        if let Some(d) = &p.track_descriptor {
            assert!(tracks.insert(d.uuid(), (0u32, 0u64)).is_none(), "a track is named once");
        }
        let Some(e) = &p.track_event else { continue };
        let track = tracks.get_mut(&e.track_uuid()).expect("the track was named before");
        assert!(p.timestamp() >= track.1, "time goes forwards on a track");
        track.1 = p.timestamp();
        match e.kind() {
            1 => track.0 += 1,
            _ => track.0 = track.0.checked_sub(1).expect("an end has a begin"),
        }
        leaves.extend(e.flow_ids.iter().copied());
        arrives.extend(e.terminating_flow_ids.iter().copied());
        callbacks += usize::from(e.categories.iter().any(|c| c == "callback"));
    }
    assert!(tracks.values().all(|t| t.0 == 0), "every slice ends");
    assert_eq!(leaves, arrives);
    assert!(!leaves.is_empty());
    assert_eq!(callbacks, 2 * cycle.callbacks.len());
}
