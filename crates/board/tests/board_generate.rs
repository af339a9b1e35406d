//! Generated boards have the shape that was asked for.

use dormouse_base::time::Ns;
use dormouse_board::generate::{Durations, Options, generate};
use dormouse_board::summary::{depths, summarize};
use dormouse_board::{Board, parse, print};
use proptest::prelude::*;

fn any_options() -> impl Strategy<Value = Options> {
    let percent = || 0..=100u32;
    (
        (any::<u64>(), 0..400u32, 1..9u32, 1..9u32, 0..300u32),
        prop::array::uniform10(percent()),
        (1..1_000_000i64, 0..50_000_000i64),
    )
        .prop_map(|((seed, devices, depth, fan_out, links), p, (low, more))| Options {
            seed,
            devices,
            depth,
            fan_out,
            links,
            dormant: p[0] / 2,
            sync_state_only: p[1] / 2,
            async_share: p[2],
            class_children: p[3],
            computing: p[4],
            wakeup: p[5],
            late: p[6],
            noirq: p[7],
            direct_complete: p[8],
            locked: p[9],
            durations: Durations { low: Ns(low), high: Ns(low + more) },
            ..Options::default()
        })
}

/// Class children have names that begin with c.
fn is_class_child(b: &Board, i: usize) -> bool {
    b.names.get(b.graph.devices[i].name).starts_with('c')
}

proptest! {
    #[test]
    fn a_generated_board_keeps_its_promises(o in any_options()) {
        let b = generate(&o);
        let s = summarize(&b);
        prop_assert_eq!(s.devices, o.devices);
        prop_assert!(s.early_children.is_empty() && s.early_consumers.is_empty());
        let mut children = vec![0u32; b.graph.devices.len()];
        for (i, (d, depth)) in b.graph.devices.iter().zip(depths(&b)).enumerate() {
            if is_class_child(&b, i) {
                prop_assert!(b.devices[i].no_callbacks() && d.async_flag == Some(false));
            } else {
                prop_assert!(depth <= o.depth);
                if let Some(p) = d.parent {
                    children[p.index()] += 1;
                }
            }
            for w in b.devices[i].work.iter().flatten() {
                let t = (w.sleep + w.compute).0;
                // Rounding to three digits moves a duration by half a percent at most.
                let (low, high) = (o.durations.low.0, o.durations.high.0);
                prop_assert!(t == 0 && w.ret == 1 || t * 200 >= low * 199 && t * 199 <= high * 200, "{}", t);
            }
        }
        prop_assert!(children.iter().all(|&n| n <= o.fan_out));
        let mut pairs: Vec<_> = b.graph.links.iter().map(|l| (l.consumer, l.supplier)).collect();
        pairs.sort();
        let count = pairs.len();
        pairs.dedup();
        prop_assert_eq!(pairs.len(), count, "one link for a pair");
        // The same again, and through the file.
        prop_assert_eq!(&generate(&o).graph, &b.graph);
        let text = print(&b, "");
        let back = parse(&text).unwrap();
        prop_assert_eq!(print(&back, ""), text);
        prop_assert_eq!(back.devices, b.devices);
    }
}

#[test]
fn shares_are_met() {
    let o = Options {
        devices: 20_000,
        async_share: 70,
        class_children: 25,
        links: 150,
        dormant: 10,
        wakeup: 5,
        ..Options::default()
    };
    let b = generate(&o);
    let s = summarize(&b);
    let near = |n: u32, want: u32| assert!(n.abs_diff(want) < want / 20 + 60, "{n}, wanted {want}");
    near(s.no_callbacks, 5_000);
    near(s.asynchronous, 15_000 * 70 / 100);
    near(s.wakeup, 15_000 * 5 / 100);
    let links: u32 = s.links.iter().sum();
    near(links, 15_000 * 150 / 100);
    near(s.links[2], links / 10);
    assert_eq!(s.depth, o.depth + 1);
}

#[test]
fn a_seed_means_the_same_board_for_ever() {
    // The first lines of seed 7. If this changes, every documented recipe does.
    let b = generate(&Options { seed: 7, devices: 5, ..Options::default() });
    let text = print(&b, "");
    let devices: Vec<&str> = text.lines().skip(5).collect();
    assert_eq!(devices, SEED_7, "\n{text}");
}

const SEED_7: [&str; 6] = [
    "device d0 async suspend=8.75us resume=13.1us",
    "device c1 parent=d0 sync",
    "device d2 parent=d0 async suspend=24.2us noirq=2.02ms resume_noirq=2.34ms resume=66.6us",
    "device d3 parent=d2 sync suspend=23.6ms resume=250us",
    "device d4 parent=d2 sync suspend=4.74ms late=9.59ms early=6.17ms resume=2.73ms",
    "link d4 d3 stateless",
];

#[test]
fn a_machine_keeps_its_shape_and_draws_its_times() {
    use dormouse_board::machine::Kind;
    for kind in Kind::ALL {
        let (a, b) = (kind.make(1), kind.make(2));
        assert_eq!(a.graph.devices.len(), b.graph.devices.len());
        let parents = |m: &Board| m.graph.devices.iter().map(|d| d.parent).collect::<Vec<_>>();
        assert_eq!(parents(&a), parents(&b), "{kind:?}");
        assert_ne!(a.devices, b.devices, "{kind:?}");
        // No two children of a parent with the same name on the same bus, as in sysfs.
        let mut seen: Vec<_> =
            a.graph.devices.iter().map(|d| (d.parent, d.subsystem, d.name)).collect();
        seen.sort();
        let count = seen.len();
        seen.dedup();
        assert_eq!(seen.len(), count, "{kind:?} has a device twice");
        let s = summarize(&a);
        assert!(s.early_children.is_empty() && s.early_consumers.is_empty());
    }
}
