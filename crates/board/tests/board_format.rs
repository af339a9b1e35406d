//! The board file: what is written is read back, and errors name the line.

use dormouse_base::device::{Device, DeviceId, Facts, Link, LinkKind};
use dormouse_base::names::Sym;
use dormouse_base::time::Ns;
use dormouse_board::domain::{Domain, Governor, State};
use dormouse_board::{Board, BoardDevice, Runtime, Work, parse, print};
use proptest::prelude::*;

/// Everything of a board with names as text, so that two boards with different
/// tables of names compare equal.
fn resolved(b: &Board) -> impl PartialEq + std::fmt::Debug + use<> {
    let n = |s: Sym| b.names.get(s).to_string();
    let devices: Vec<_> = b
        .graph
        .devices
        .iter()
        .zip(&b.devices)
        .map(|(d, w)| {
            let f = &d.facts;
            let texts = [
                d.name,
                d.driver,
                d.subsystem,
                d.parent_name,
                f.devpath,
                f.of_fullname,
                f.firmware_node,
                f.modalias,
                f.module,
                f.runtime_status,
                f.runtime_control,
                f.essential,
            ]
            .map(n);
            let flags = (f.wakeup, f.no_pm, f.syscore, f.guest, d.async_flag);
            let domain = w.domain.map(|n| n.to_string());
            (texts, flags, d.parent, domain, *w)
        })
        .collect();
    let domains: Vec<_> =
        b.domains.iter().map(|d| (n(d.name), Domain { name: Sym::EMPTY, ..d.clone() })).collect();
    let g = &b.graph;
    (devices, domains, g.links.clone(), g.order_known, g.links_known, b.cpus, b.pm_async)
}

fn any_name() -> impl Strategy<Value = String> {
    // Few names, so that namesakes are common, and every kind of odd character.
    prop_oneof![
        prop::sample::select(vec![
            "usb1",
            "usb 1",
            "usb1#2",
            "@usb1",
            "a=b",
            "\"",
            "\\",
            "",
            "{0..3}",
            "{}",
            "# no comment",
            "Fixed MDIO bus.0",
            "mmc0::",
            "board",
            "async",
            "é\u{2028}\u{85}",
            "a\nb\r\t\0",
            "0000:00:1f.2",
        ])
        .prop_map(String::from),
        any::<String>(),
    ]
}

fn any_work() -> impl Strategy<Value = Option<Work>> {
    let time = prop_oneof![Just(0), 0..2_000_000_000i64, any::<i64>().prop_map(|n| n & i64::MAX)];
    let work = (time.clone(), time, any::<i32>(), any::<u32>())
        .prop_map(|(s, c, ret, lock)| Work { sleep: Ns(s), compute: Ns(c), ret, lock });
    prop::option::of(work)
}

/// Runtime PM made of a number; none where it is off.
fn runtime(n: usize, on: bool) -> Runtime {
    let time = |ns| Work { sleep: Ns(ns as i64), compute: Ns(7), ..Work::default() };
    if !on {
        return Runtime::default();
    }
    let n = n % 1_000_000_000;
    Runtime {
        work: [n.is_multiple_of(3).then(|| time(n)), Some(time(n / 2))],
        first: n.is_multiple_of(2),
        usage: n as u32 % 3,
        autosuspend_ms: n.is_multiple_of(5).then_some(n as u32),
    }
}

/// Texts, flags, options, work and parent of a device.
type Parts = (Vec<String>, [bool; 8], u8, [Option<Work>; 8], usize);

fn any_device() -> impl Strategy<Value = Parts> {
    (
        prop::collection::vec(any_name(), 12),
        any::<[bool; 8]>(),
        0..9u8,
        prop::array::uniform8(any_work()),
        any::<usize>(),
    )
}

/// Name, parents, states and flags of a domain.
type DomainParts = (String, Vec<u32>, Vec<(i64, i64, i64)>, u8);

fn any_domain() -> impl Strategy<Value = DomainParts> {
    let time = || 0..1_000_000_000i64;
    let states = prop::collection::vec((time(), time(), time()), 1..4);
    (any_name(), prop::collection::vec(any::<u32>(), 0..3), states, any::<u8>())
}

fn build(
    parts: Vec<Parts>,
    links: Vec<(usize, usize, u8, bool)>,
    cpus: u32,
    domains: Vec<DomainParts>,
) -> Board {
    let mut b = Board { cpus, pm_async: cpus.is_multiple_of(2), ..Board::default() };
    b.graph.order_known = cpus.is_multiple_of(3);
    b.graph.links_known = cpus.is_multiple_of(5);
    let option = |n: u8| [None, Some(true), Some(false)][n as usize % 3];
    let count = parts.len();
    for (i, (name, parents, states, bits)) in domains.iter().enumerate() {
        // Names of domains are unique; an empty one is none.
        let name = b.names.add(&format!("{i}{name}"));
        let mut above: Vec<u32> = parents.iter().filter(|_| i > 0).map(|p| *p % i as u32).collect();
        above.sort_unstable();
        above.dedup();
        let governors = [Governor::None, Governor::SimpleQos, Governor::Cpu, Governor::AlwaysOn];
        let states = states.iter().map(|s| State { off: Ns(s.0), on: Ns(s.1), residency: Ns(s.2) });
        let states: Vec<State> = states.collect();
        let deep = states.len() as u32 - 1;
        let always_on = bits & 1 != 0;
        let off = (!always_on && bits & 8 == 0).then_some(deep);
        b.domains.push(Domain {
            name,
            parents: above,
            states,
            governor: governors[usize::from(bits >> 1 & 3)],
            always_on,
            rpm_always_on: bits & 8 != 0,
            active_wakeup: bits & 16 != 0,
            start: [None, Some(None), Some(off)][usize::from(bits >> 5 & 3) % 3],
        });
    }
    for (i, (texts, flags, options, work, p)) in parts.into_iter().enumerate() {
        let s: Vec<Sym> = texts.iter().map(|t| b.names.add(t)).collect();
        let parent = (i > 0 && p % 4 != 0).then(|| DeviceId((p % i) as u32));
        let natural = parent.map_or(Sym::EMPTY, |p| b.graph.get(p).name);
        b.graph.push(Device {
            name: s[0],
            driver: s[1],
            subsystem: s[2],
            parent,
            parent_name: if p % 3 == 0 { s[3] } else { natural },
            async_flag: option(options),
            facts: Facts {
                devpath: s[4],
                of_fullname: s[5],
                firmware_node: s[6],
                modalias: s[7],
                module: s[8],
                wakeup: option(options / 3),
                runtime_status: s[9],
                runtime_control: s[10],
                essential: s[11],
                no_pm: flags[0],
                syscore: flags[1],
                guest: flags[2],
                class: flags[7],
            },
        });
        b.devices.push(BoardDevice {
            work,
            wakeup: flags[3],
            runtime_suspended: flags[4],
            no_direct_complete: flags[5],
            domain: (!domains.is_empty() && p % 3 > 0).then(|| (p % domains.len()) as u32),
            rpm_disabled: flags[6],
            qos: (p % 5 > 2).then_some(Ns((p % 7 * 1_001) as i64)),
            runtime: runtime(p, flags[6]),
        });
    }
    for (c, s, kind, pm_runtime) in links {
        let (c, s) = (c % count, s % count);
        if c != s {
            b.graph.links.push(Link {
                consumer: DeviceId(c as u32),
                supplier: DeviceId(s as u32),
                kind: LinkKind::ALL[kind as usize % 6],
                pm_runtime,
            });
        }
    }
    b
}

proptest! {
    #[test]
    fn a_printed_board_is_read_back_whole(
        parts in prop::collection::vec(any_device(), 1..12),
        links in prop::collection::vec((any::<usize>(), any::<usize>(), any::<u8>(), any::<bool>()), 0..8),
        cpus in 1..400u32,
        comment in any::<String>(),
        domains in prop::collection::vec(any_domain(), 0..4),
    ) {
        let board = build(parts, links, cpus, domains);
        let text = print(&board, &comment.replace('\r', ""));
        let back = parse(&text).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        prop_assert_eq!(resolved(&back), resolved(&board));
        prop_assert_eq!(print(&back, ""), print(&board, ""));
    }

    #[test]
    fn no_text_makes_the_parser_panic(
        words in prop::collection::vec(prop::sample::select(vec![
            "board", "1", "\n", "device", "link", "a", "b#2", "@x", "parent=", "=", "\"", "\\u{", "{1..3}",
            "{}", "domain", "domain=", "state=", "1ms/2ms", "off-1", "start=", "suspend=1ms", "+2us.cpu", ",ret=", "cpus", "-5", " ", " ", " ", "#", "active", "\u{2028}",
        ]), 0..60),
    ) {
        let _ = parse(&words.concat());
        let _ = parse(&format!("board 1\n{}", words.concat()));
    }
}

/// A board that uses every feature, as a person would write it.
const BY_HAND: &str = r##"
# A small machine.
board 1
cpus 2
pm_async 1

device platform
device soc parent=platform sync          # a bus without callbacks
device usb{1..2} parent=soc async wakeup suspend=12ms resume=80ms+5ms.cpu @left{}
device "Fixed MDIO bus.0" parent=soc syscore
device mmc0 parent=soc direct_complete runtime_suspended late=0.5ms,lock=2 early=1us
device mmc0 parent=mmc0#1 no_pm suspend=1ms,ret=-5,lock=2
link mmc0#1 "Fixed MDIO bus.0" active pm_runtime
link usb{1..2} mmc0#2 dormant
link @left1 @left2 sync_state_only
link usb1 platform
"##;

#[test]
fn every_feature_can_be_written_by_hand() {
    let b = parse(BY_HAND).unwrap();
    let name = |i: usize| b.names.get(b.graph.devices[i].name);
    assert_eq!((b.cpus, b.pm_async, b.graph.devices.len()), (2, true, 7));
    assert_eq!([name(2), name(3), name(4)], ["usb1", "usb2", "Fixed MDIO bus.0"]);
    assert_eq!(b.graph.devices[1].async_flag, Some(false));
    assert_eq!(b.graph.devices[3].async_flag, Some(true));
    assert_eq!(
        b.devices[3].work[6],
        Some(Work { sleep: Ns::from_ms(80), compute: Ns::from_ms(5), ret: 0, lock: 0 })
    );
    assert!(
        b.devices[3].wakeup && b.graph.devices[4].facts.syscore && b.graph.devices[6].facts.no_pm
    );
    assert_eq!(b.devices[5].work[0].map(|w| w.ret), Some(1));
    assert_eq!(
        b.devices[6].work[1],
        Some(Work { sleep: Ns::from_ms(1), compute: Ns::ZERO, ret: -5, lock: 2 })
    );
    assert_eq!(b.graph.devices[6].parent, Some(DeviceId(5)));
    let links: Vec<_> =
        b.graph.links.iter().map(|l| (l.consumer.0, l.supplier.0, l.kind, l.pm_runtime)).collect();
    use LinkKind::{Active, Dormant, Stateless, SyncStateOnly};
    assert_eq!(
        links,
        [
            (5, 4, Active, true),
            (2, 6, Dormant, false),
            (3, 6, Dormant, false),
            (2, 3, SyncStateOnly, false),
            (2, 0, Stateless, false),
        ]
    );
}

#[test]
fn domains_have_parents_states_and_devices() {
    let b = parse(
        "board 1\ndomain top on=4ms off=2ms always_on\ndomain io parent=top on=0.51ms\n\
         domain gpu parent=top parent=io state=1ms/2ms state=5ms/8ms/30ms governor=simple_qos \
         start=off-1 active_wakeup\ndevice a domain=gpu rpm_disabled\ndevice b\nlink b a cycle\n\
         link a b proxy\n",
    )
    .unwrap();
    let ms = Ns::from_ms;
    let [top, io, gpu] = &b.domains[..] else { panic!("{:?}", b.domains) };
    assert_eq!(top.states, [State { off: ms(2), on: ms(4), residency: Ns::ZERO }]);
    assert!(top.always_on && !io.always_on && gpu.active_wakeup);
    assert_eq!(io.states, [State { off: Ns::ZERO, on: Ns(510_000), residency: Ns::ZERO }]);
    assert_eq!((&gpu.parents[..], gpu.start), (&[0, 1][..], Some(Some(1))));
    assert_eq!(gpu.deepest(), State { off: ms(5), on: ms(8), residency: ms(30) });
    assert_eq!((b.devices[0].domain, b.devices[0].rpm_disabled), (Some(2), true));
    assert_eq!((b.devices[1].domain, b.devices[1].rpm_disabled), (None, false));
    assert!(b.graph.links.iter().all(|l| l.kind.is_sync_state_only()));
    // A file of before has none of it, and says nothing of it when printed.
    assert!(!print(&parse(BY_HAND).unwrap(), "").contains("domain"));
}

#[test]
fn errors_of_domains_name_what_to_do() {
    for (text, says) in [
        ("domain", "needs a name"),
        ("domain a\ndomain a", "choose another name"),
        ("domain a parent=b", "put its line first"),
        ("domain a parent=a", "put its line first"),
        ("domain b\ndomain a parent=b parent=b", "stands twice"),
        ("domain a on=1ms on=2ms", "stands twice"),
        ("domain a on=1", "s, ms, us or ns"),
        ("domain a state=1ms", "OFF/ON"),
        ("domain a state=1ms/1ms/1ms/1ms", "OFF/ON"),
        ("domain a state=1ms/1ms on=1ms", "leave `on=`"),
        ("domain a start=off-1", "has 1 states"),
        ("domain a start=off", "off-N"),
        ("domain a always_on start=off-0", "does not start off"),
        ("domain a rpm_always_on start=off-0", "does not start off"),
        ("domain a governor=simple", "known are none"),
        ("domain a allways_on", "did you mean `always_on`"),
        ("domain a colour=red", "known are parent"),
        ("device d domain=a", "add a line `domain a`"),
        ("device d domain=a\ndomain a", "add a line `domain a`"),
    ] {
        let e = parse(&format!("board 1\n{text}")).expect_err(text);
        assert!(e.message.contains(says), "{text}: {e}");
    }
}

#[test]
fn errors_name_the_line_and_what_to_do() {
    let cases: [(&str, u32, &str); 25] = [
        ("", 1, "begin it with `board 1`"),
        ("\n\ndevice a", 3, "begins with the line `board 1`"),
        ("board 2", 1, "version 2"),
        ("board 1\nboard 1", 2, "only once"),
        ("board 1\ndevise a", 2, "did you mean `device`"),
        ("board 1\ndevice a asynk", 2, "did you mean `async`"),
        ("board 1\ndevice a suspnd=1ms", 2, "did you mean `suspend`"),
        ("board 1\ndevice a colour=red", 2, "known are prepare, suspend"),
        ("board 1\ndevice a suspend=1", 2, "s, ms, us or ns"),
        ("board 1\ndevice a suspend=1.0000001ms", 2, "finer than one nanosecond"),
        ("board 1\ndevice a suspend=1ms,ret=x", 2, "`ret=NUMBER`"),
        ("board 1\ndevice a suspend=1ms suspend=2ms", 2, "stands twice"),
        ("board 1\ndevice a async sync", 2, "not both"),
        ("board 1\ndevice a parent=b", 2, "add a line `device b`"),
        ("board 1\ndevice a parent=a", 2, "its own parent"),
        ("board 1\ndevice a parent=b\ndevice b parent=a", 2, "its own ancestor"),
        ("board 1\ndevice a\ndevice a\nlink a#1 a", 4, "write a#1 to a#2"),
        ("board 1\ndevice a\ndevice a\nlink a#3 a#1", 4, "there are 2"),
        ("board 1\ndevice a\nlink a a", 3, "its own supplier"),
        ("board 1\ndevice a\nlink a @x", 3, "label `@x`"),
        ("board 1\ndevice a @x\ndevice b @x", 3, "is taken"),
        ("board 1\ndevice \"a", 2, "never closed"),
        ("board 1\ndevice a{3..1}", 2, "not a range"),
        ("board 1\ndevice a{0..4000000000}", 2, "more than"),
        ("board 1\ndevice a#2", 2, "needs quotes"),
    ];
    for (text, line, says) in cases {
        let e = parse(text).expect_err(text);
        assert_eq!(e.line, line, "{text}: {e}");
        assert!(e.message.contains(says), "{text}: {e}");
    }
}

#[test]
fn a_large_file_is_read_in_linear_time() {
    // A quadratic parser would need minutes for these 100,000 devices.
    let text = "board 1\ndevice d0\n".to_string()
        + "device d{1..100000} parent=d0 suspend=1us\n"
        + "link d{1..100000} d0\n";
    let b = parse(&text).unwrap();
    assert_eq!(b.graph.links.len(), 100_000);
    let printed = print(&b, "");
    assert_eq!(parse(&printed).unwrap().graph, b.graph);
}
