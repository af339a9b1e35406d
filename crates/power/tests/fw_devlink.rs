//! Rules of kernels on small trees. Whole boards are held against kernels by the
//! laboratory (make prove SUBJECT=links).

use dormouse_power::fw_devlink::boot::{Driver, Drivers, Outcome};
use dormouse_power::fw_devlink::early::Early;
use dormouse_power::fw_devlink::machine::Machine;
use dormouse_power::fw_devlink::version::{Mode, Rules};
use dormouse_power::fw_devlink::{AllDrivers, Booted, BusesAlone, Wish, boot};
use dormouse_power::tree::{Node, Tree};
use std::time::{Duration, Instant};

/// Names and values.
type Properties = Vec<(String, Vec<u8>)>;

/// Nodes that own their values, by path.
#[derive(Default)]
struct Sketch {
    nodes: Vec<(String, Properties)>,
}

impl Sketch {
    /// A node; its number for references is its place, from 1.
    fn node(&mut self, path: &str, properties: &[(&str, &[u32])]) -> &mut Self {
        let mut all: Properties = vec![
            ("phandle".into(), (self.nodes.len() as u32 + 1).to_be_bytes().into()),
            ("compatible".into(), b"test,device\0".to_vec()),
        ];
        for (name, cells) in properties {
            let bytes = cells.iter().flat_map(|c| c.to_be_bytes()).collect();
            all.push(((*name).into(), bytes));
        }
        self.nodes.push((path.into(), all));
        self
    }

    /// Sets a text of the last node.
    fn text(&mut self, name: &str, value: &str) -> &mut Self {
        let last = self.nodes.last_mut().unwrap();
        last.1.retain(|(n, _)| n != name);
        last.1.push((name.into(), format!("{value}\0").into()));
        self
    }

    fn tree(&self) -> Tree<'_> {
        let mut nodes = vec![Node { name: b"", parent: None, depth: 0, properties: vec![] }];
        let mut at: Vec<&str> = vec![""];
        for (path, properties) in &self.nodes {
            let (above, name) = path.rsplit_once('/').unwrap();
            let parent = at.iter().position(|p| *p == above).expect("parents come first");
            let properties = properties.iter().map(|(n, v)| (n.as_bytes(), &v[..])).collect();
            let depth = nodes[parent].depth + 1;
            nodes.push(Node { name: name.as_bytes(), parent: Some(parent), depth, properties });
            at.push(path);
        }
        Tree::new(nodes)
    }
}

fn wish(rules: Rules, mode: Mode) -> Wish {
    Wish { rules, mode, strict: false, early: Early::usual(rules), timed_out: false }
}

/// Links as `consumer -> supplier` and what is special of them.
fn links(b: &Booted<'_, '_>) -> Vec<String> {
    let name = |d: usize| &b.machine.devices[d].name;
    let alive = b.machine.links.iter().filter(|l| l.alive);
    let mut all: Vec<String> = alive
        .map(|l| {
            let mut text = format!("{} -> {}", name(l.consumer), name(l.supplier));
            for (is, word) in [
                (l.sync_state_only, " sync_state_only"),
                (l.cycle, " cycle"),
                (l.proxy, " proxy"),
                (l.runtime_pm, " rpm"),
            ] {
                if is {
                    text += word;
                }
            }
            text
        })
        .collect();
    all.sort();
    all
}

#[test]
fn the_mode_decides_what_a_link_is() {
    let mut s = Sketch::default();
    s.node("/clk", &[("#clock-cells", &[0])]).node("/dev", &[("clocks", &[1])]);
    let tree = s.tree();
    let made = |rules, mode| links(&boot(&tree, &wish(rules, mode), &BusesAlone));
    for rules in Rules::ALL {
        assert_eq!(made(rules, Mode::Rpm), ["dev -> clk rpm"]);
        assert_eq!(made(rules, Mode::On), ["dev -> clk"]);
        assert_eq!(made(rules, Mode::Permissive), ["dev -> clk sync_state_only"]);
        assert!(made(rules, Mode::Off).is_empty());
    }
    assert_eq!(Rules::K6_1.usual_mode(), Mode::On);
}

#[test]
fn kernels_read_other_properties() {
    let mut s = Sketch::default();
    s.node("/sup", &[])
        .node("/a", &[("clocks", &[1])])
        .node("/b", &[("power-supplies", &[1])])
        .node("/c", &[("mmc-pwrseq", &[1])])
        .node("/d", &[("pinctrl-9", &[1])])
        .node("/e", &[("interrupt-parent", &[1])])
        .node("/f", &[("x-gpios", &[1])])
        .node("/g", &[("nvmem-cells", &[1])])
        .node("/h", &[("iommus", &[1])])
        .node("/i", &[("x,nr-gpios", &[1])]);
    let tree = s.tree();
    let made = |rules| -> Vec<String> {
        let all = links(&boot(&tree, &wish(rules, Mode::On), &BusesAlone));
        all.into_iter().map(|l| l[..1].to_owned()).collect()
    };
    // Without #clock-cells 6.1 sees no reference at all.
    assert_eq!(made(Rules::K6_1), ["e", "g"]);
    assert_eq!(made(Rules::K6_12), ["a", "b", "g"]);
    assert_eq!(made(Rules::K7_3), ["a", "b", "c", "d", "g"]);
    let strict = Wish { strict: true, ..wish(Rules::K6_12, Mode::On) };
    assert_eq!(links(&boot(&tree, &strict, &BusesAlone)).last().unwrap(), "h -> sup");
}

#[test]
fn a_cycle_is_relaxed_and_can_be_broken_by_hand() {
    let mut s = Sketch::default();
    s.node("/a", &[("x-supply", &[2])]).node("/b", &[("x-supply", &[1])]);
    let tree = s.tree();
    let b = boot(&tree, &wish(Rules::K6_12, Mode::On), &BusesAlone);
    assert_eq!(links(&b), ["a -> b sync_state_only cycle", "b -> a sync_state_only cycle"]);
    assert!(!b.machine.cycles.is_empty());
    // Bound, neither has a link any more: nothing orders them.
    let early = Early::default();
    let b = boot(&tree, &wish(Rules::K6_12, Mode::On), &AllDrivers(&early));
    assert!(links(&b).is_empty() && b.waiting.is_empty());

    let mut s = Sketch::default();
    s.node("/a", &[("post-init-providers", &[2]), ("x-supply", &[2])])
        .node("/b", &[("x-supply", &[1])]);
    let tree = s.tree();
    let made = |rules| links(&boot(&tree, &wish(rules, Mode::On), &BusesAlone));
    assert_eq!(made(Rules::K7_3), ["b -> a"]);
    assert_eq!(made(Rules::K6_1).len(), 2, "6.1 does not know the property");
}

#[test]
fn a_bus_stands_for_what_is_below_it() {
    let mut s = Sketch::default();
    s.node("/clk", &[("#clock-cells", &[0])])
        .node("/i2c", &[])
        .node("/i2c/chip", &[("clocks", &[1])]);
    let tree = s.tree();
    let b = boot(&tree, &wish(Rules::K6_12, Mode::On), &BusesAlone);
    assert_eq!(links(&b), ["i2c -> clk sync_state_only proxy"]);
    let early = Early::default();
    let b = boot(&tree, &wish(Rules::K6_12, Mode::On), &AllDrivers(&early));
    assert_eq!(links(&b), ["0-0000 -> clk"]);
}

#[test]
fn early_nodes_are_no_suppliers() {
    let mut s = Sketch::default();
    s.node("/osc", &[("#clock-cells", &[0])])
        .text("compatible", "fixed-clock")
        .node("/gic", &[("#interrupt-cells", &[1]), ("interrupt-controller", &[])])
        .text("compatible", "arm,gic-v3")
        .node("/dev", &[("clocks", &[1]), ("interrupts", &[7]), ("interrupt-parent", &[2])]);
    let tree = s.tree();
    let b = boot(&tree, &wish(Rules::K6_12, Mode::On), &BusesAlone);
    assert!(links(&b).is_empty());
    // Not even devices; the root of platform devices is the other one.
    assert_eq!(b.machine.devices.len(), 2);
    let known_to_nobody = Wish { early: Early::default(), ..wish(Rules::K6_12, Mode::On) };
    assert_eq!(links(&boot(&tree, &known_to_nobody, &BusesAlone)).len(), 2);
}

/// Some nodes have no driver.
struct Without(&'static [&'static str]);

impl Drivers for Without {
    fn of(&self, machine: &Machine<'_, '_>, device: usize) -> Driver {
        let d = &machine.devices[device];
        match d.node.is_none() || self.0.contains(&d.name.as_str()) {
            true => Driver::None,
            false => Driver::Binds { children: true },
        }
    }
}

#[test]
fn who_waits_for_nobody_is_let_go_in_the_end() {
    let mut s = Sketch::default();
    s.node("/dev", &[("x-supply", &[2])]).node("/orphan", &[]);
    let tree = s.tree();
    let rpm = wish(Rules::K7_3, Mode::Rpm);
    let b = boot(&tree, &rpm, &Without(&["orphan"]));
    assert_eq!(b.waiting.len(), 1);
    let b = boot(&tree, &Wish { timed_out: true, ..rpm }, &Without(&["orphan"]));
    assert!(b.waiting.is_empty());
    let last = b.attempts.last().unwrap();
    assert_eq!(
        (b.machine.devices[last.device].name.as_str(), last.outcome),
        ("dev", Outcome::Bound)
    );
}

/// A ring of `n` nodes, each of which needs the next `fan`.
fn ring(n: u32, fan: u32) -> Sketch {
    let mut s = Sketch::default();
    for i in 0..n {
        let cells: Vec<u32> = (1..=fan).map(|k| (i + k) % n + 1).collect();
        s.node(&format!("/n{i}"), &[("pinctrl-0", &cells)]);
    }
    s
}

#[test]
fn hostile_trees_end_with_a_word() {
    // Tests are not optimised, and their machine may be busy; make prove SUBJECT=links
    // runs this optimised.
    let limit = if cfg!(debug_assertions) { 120 } else { 2 };
    for (n, fan, rules) in [(10_000, 3, Rules::K7_3), (64, 63, Rules::K6_1)] {
        let s = ring(n, fan);
        let tree = s.tree();
        let start = Instant::now();
        let early = Early::default();
        let b = boot(&tree, &wish(rules, Mode::Rpm), &AllDrivers(&early));
        let took = start.elapsed();
        assert!(took < Duration::from_secs(limit), "{n} nodes, {fan} each: {took:?}");
        println!("{n} nodes, {fan} each: {took:?}, {} given up", b.machine.work.given_up.len());
        assert!(!b.machine.work.given_up.is_empty(), "this cannot be decided");
    }
    // Of a chain so deep no kernel's stack takes the search; a shorter one is simple.
    for n in [10_000u32, 350] {
        let mut s = Sketch::default();
        for i in 0..n {
            s.node(&format!("/n{i}"), &[("x-supply", &[i])]);
        }
        let tree = s.tree();
        let early = Early::default();
        let start = Instant::now();
        let b = boot(&tree, &wish(Rules::K6_12, Mode::Rpm), &AllDrivers(&early));
        let took = start.elapsed();
        println!("chain of {n}: {took:?}, {} given up", b.machine.work.given_up.len());
        assert_eq!(links(&b).len(), n as usize - 1);
        assert!(b.waiting.is_empty() && took < Duration::from_secs(limit), "{took:?}");
        assert_eq!(b.machine.work.given_up.is_empty(), n == 350);
    }
}
