//! Capture files, version 1: put together here by hand with `tar`, so that the
//! reader is not only held against the project's own writer, and one kept file
//! that every later version must read.

use dormouse_base::cycle::{Mode, Outcome, PmTestLevel};
use dormouse_base::device::LinkKind;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_read::doctor::heard;
use dormouse_read::{Options, read_bytes};
use flate2::Compression;
use flate2::write::GzEncoder;

const DEVICES: &str = "\
devpath\tname\tparent\tsubsystem\tdriver\tasync\tno_pm\twakeup\tessential\tmodalias\n\
/devices/platform\tplatform\t\t\t\t0\t0\t\t\t\n\
/devices/hidden\thidden\t\tacpi\t\t\t1\t\t\t\n\
/devices/platform/soc\tsoc\t/devices/platform\tplatform\tsimple-pm-bus\t0\t0\t\troot\t\n\
/devices/platform/soc/a\ta\t/devices/platform/soc\tplatform\tadrv\t1\t0\t1\t\tof:a\n\
/devices/platform/soc/Fixed MDIO bus.0\tFixed MDIO bus.0\t/devices/platform/soc\tplatform\t\t0\t0\t\t\t\n\
/devices/hidden/late\tlate\t/devices/hidden\tplatform\tlatedrv\t0\t0\t\t\t\n\
/devices/platform/soc/a/wakeup/wakeup0\twakeup0\t/devices/platform/soc/a\twakeup\t\t\t1\t\t\t\n";

const LINKS: &str = "\
supplier\tconsumer\tstatus\tsync_state_only\truntime_pm\n\
/devices/platform/soc\t/devices/platform/soc/a\tactive\t0\t1\n\
/devices/platform\t/devices/platform/soc/a\tnot tracked\t0\t0\n\
/devices/platform/soc/a\t/devices/hidden/late\tdormant\t1\t0\n\
/devices/platform/soc\t/devices/hidden/late\tavailable\t1\t0\n\
/devices/gone\t/devices/hidden/late\tactive\t0\t0\n";

fn trace() -> String {
    let mut t = String::from("# tracer: nop\n#\n");
    let mut us = 100_000_000;
    let mut line = |task: &str, text: &str| {
        us += 100;
        t.push_str(&format!(
            "{task:>16} [000] ..... {}.{:06}: {text}\n",
            us / 1_000_000,
            us % 1_000_000
        ));
    };
    let list = [
        (" platform", "none"),
        ("simple-pm-bus soc", "platform"),
        ("adrv a", "soc"),
        ("platform Fixed MDIO bus.0", "soc"),
        ("latedrv late", "hidden"),
    ];
    let main = "dormouse-77";
    let step = |name: &str, v: i32, end: bool| {
        format!("suspend_resume: {name}[{v}] {}", if end { "end" } else { "begin" })
    };
    line(main, &step("suspend_enter", 3, false));
    line(main, &step("freeze_processes", 0, false));
    line(main, &step("freeze_processes", 0, true));
    line(main, &step("suspend_enter", 3, true));
    line(main, &step("dpm_prepare", 2, false));
    for (d, p) in list {
        line(main, &format!("device_pm_callback_start: {d}, parent: {p}, [suspend]"));
        line(main, &format!("device_pm_callback_end: {d}, err=0"));
    }
    line(main, &step("dpm_prepare", 2, true));
    line(main, &step("dpm_suspend", 2, false));
    line("kworker/u4:1-31", "device_pm_callback_start: adrv a, parent: soc, bus [suspend]");
    line("kworker/u4:1-31", "device_pm_callback_end: adrv a, err=0");
    line(main, &step("dpm_suspend", 2, true));
    line(main, &step("dpm_resume", 16, false));
    line("kworker/u4:1-31", "device_pm_callback_start: adrv a, parent: soc, bus [resume]");
    line("kworker/u4:1-31", "device_pm_callback_end: adrv a, err=0");
    line(main, &step("dpm_resume", 16, true));
    line(main, &step("dpm_complete", 16, false));
    for (d, p) in list.iter().rev() {
        line(main, &format!("device_pm_callback_start: {d}, parent: {p}, [resume]"));
        line(main, &format!("device_pm_callback_end: {d}, err=0"));
    }
    line(main, &step("dpm_complete", 16, true));
    line(main, &step("thaw_processes", 0, false));
    line(main, &step("thaw_processes", 0, true));
    t
}

fn json(version: u32) -> String {
    format!(
        r#"{{"format": "dormouse-capture", "version": {version}, "recorder": "test 1",
            "kernel": {{"release": "6.12.1-x", "command_line": "quiet"}},
            "machine": {{"host": "box", "vendor": "V", "model": "M",
                         "topology": [{{"cpu": 0}}, {{"cpu": 1}}]}},
            "of the future": [1]}}"#
    )
}

const STATS: &str = r#"{"number": 1, "state": "mem", "mem_sleep": "s2idle",
    "pm_test": "devices", "pm_async": true, "suspends_before": 0,
    "dirty_bytes": 4096, "lost_events": {"cpu1": 7}}"#;

/// By a clock that stands still while the machine sleeps: 40 s behind.
const LOG: &str = "[   60.000100] PM: suspend entry (s2idle)
[   60.002000] PM: suspend of devices complete after 1.234 msecs
[   60.003000] PM: suspend debug: Waiting for 0 second(s).
[   60.004000] PM: resume of devices complete after 0.777 msecs
[   60.005000] PM: suspend exit
";

fn archive(members: &[(&str, &str)]) -> Vec<u8> {
    archived(members.iter().map(|m| (m.0, m.1.as_bytes())))
}

fn archived<'a>(members: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Vec<u8> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (name, text) in members {
        let mut header = tar::Header::new_ustar();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, text).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

fn whole(extra: &[(&str, &str)]) -> Vec<u8> {
    let (json, trace) = (json(1), trace());
    let mut members = vec![
        ("capture.json", json.as_str()),
        ("devices.tsv", DEVICES),
        ("links.tsv", LINKS),
        ("cycle-0001/stats.json", STATS),
        ("cycle-0001/dmesg.txt", LOG),
        ("cycle-0001/trace.txt", &trace),
        ("later/unknown.bin", "?"),
    ];
    members.extend(extra);
    archive(&members)
}

/// What nodes name, and the line that woke the machine.
#[test]
fn what_nodes_name_and_the_line_that_woke_are_kept() {
    let column = |line: &str| match line.split('\t').nth(1) {
        Some("name") => format!("{line}\tof_fullname\n"),
        Some("a") => format!("{line}\t/soc/i2c@4000/touch@48\n"),
        Some("late") => format!("{line}\t/regulator-vdd\n"),
        _ => format!("{line}\t\n"),
    };
    let devices: String = DEVICES.lines().map(column).collect();
    let stats = STATS.replace(
        r#""number": 1,"#,
        r#""number": 1, "wake_line": {"/sys/power/pm_wakeup_irq": "45"},"#,
    );
    let members = [
        ("capture.json", json(1)),
        ("devices.tsv", devices),
        ("cycle-0001/stats.json", stats),
        ("cycle-0001/trace.txt", trace()),
    ];
    let members = members.iter().map(|m| (m.0, m.1.as_bytes()));
    let tree = include_bytes!("dtb/sample.dtb");
    let bytes = archived(members.chain([("device-tree.dtb", &tree[..])]));
    let reading = read_bytes("x.tar.gz", &bytes, &Options::default()).unwrap();
    let c = &reading.captures[0];
    let name = |d| c.names.get(c.graph.get(d).name);
    let needs: Vec<_> = c.graph.needs.iter().map(|n| (name(n.0), name(n.1))).collect();
    // The controller of its pins has no device here.
    assert_eq!(needs, [("a", "late")]);
    let (file, _) = dormouse_capture::read(&bytes).unwrap();
    let heard = heard("x.tar.gz", &file);
    let line = heard.case.values.iter().find(|v| v.path == "/sys/power/pm_wakeup_irq");
    assert_eq!(line.map(|v| v.value.as_str()), Some("45"));
}

/// Domains by the tables of 6.9, which print whole paths, and of 6.10, which print names.
#[test]
fn power_domains_know_their_devices() {
    for (a, late) in [("/devices/platform/soc/a", "/devices/hidden/late"), ("a", "late")] {
        let text = format!(
            "/proc/cmdline:quiet\n==> /sys/kernel/debug/pm_genpd/pm_genpd_summary <==\n\
             domain                          status          children        performance\n    \
             /device                         runtime status\n\
             ----------------------------------------------------------------------------\n\
             gpu                             off-0                           0\n    \
             {a:<50}  suspended                  0\n    \
             {late:<50}  unsupported                0\n    \
             {:<50}  active                     0\n\
             top                             on                              0\n                                                \
             gpu\n",
            "stranger"
        );
        let bytes = whole(&[("domains.txt", &text)]);
        let reading = read_bytes("x.tar.gz", &bytes, &Options::default()).unwrap();
        let c = &reading.captures[0];
        let n = |s| c.names.get(s);
        let domains: Vec<_> = c
            .domains
            .iter()
            .map(|d| {
                let users = d.users.iter().map(|u| (n(c.graph.get(u.device).name), u.unsupported));
                let inside: Vec<_> = d.inside.iter().map(|&i| n(i)).collect();
                (n(d.name), d.on, inside, users.collect::<Vec<_>>())
            })
            .collect();
        let gpu = ("gpu", false, vec![], vec![("a", false), ("late", true)]);
        assert_eq!(domains, [gpu, ("top", true, vec!["gpu"], vec![])]);
        assert_eq!(c.losses.count("domain_user_unknown"), 1);
    }
}

#[test]
fn tables_and_trace_become_one_capture() {
    let reading = read_bytes("x.tar.gz", &whole(&[]), &Options::default()).unwrap();
    assert_eq!(reading.captures.len(), 1);
    let c = &reading.captures[0];
    let n = |s| c.names.get(s);
    let order: Vec<&str> = c.graph.devices.iter().map(|d| n(d.name)).collect();
    // As prepared; `hidden`, which the PM core does not visit, in front of its
    // child; what nobody saw at the tail.
    assert_eq!(order, ["platform", "soc", "a", "Fixed MDIO bus.0", "hidden", "late", "wakeup0"]);
    assert!(c.graph.order_known && c.graph.links_known);
    let find = |name: &str| c.graph.ids().find(|&i| n(c.graph.get(i).name) == name).unwrap();
    let (soc, a, late) = (find("soc"), find("a"), find("late"));
    let d = c.graph.get(a);
    assert_eq!((d.async_flag, d.parent, d.facts.wakeup), (Some(true), Some(soc), Some(true)));
    assert_eq!((n(d.facts.modalias), n(d.subsystem), n(d.driver)), ("of:a", "platform", "adrv"));
    assert_eq!(n(c.graph.get(soc).facts.essential), "root");
    assert_eq!(c.graph.get(late).parent, Some(find("hidden")));
    assert!(c.graph.get(find("hidden")).facts.no_pm && !c.graph.get(late).facts.no_pm);
    let kinds: Vec<LinkKind> = c.graph.links.iter().map(|l| l.kind).collect();
    assert_eq!(
        kinds,
        [LinkKind::Active, LinkKind::Stateless, LinkKind::Dormant, LinkKind::SyncStateOnly]
    );
    assert_eq!((c.graph.links[0].supplier, c.graph.links[0].consumer), (soc, a));
    assert!(c.graph.links[0].pm_runtime);

    assert_eq!(c.cycles.len(), 1);
    let cycle = &c.cycles[0];
    assert_eq!(n(cycle.kernel), "6.12.1-x");
    assert_eq!(n(cycle.source), "x.tar.gz#1");
    assert_eq!(cycle.mode, Mode::PmTest(PmTestLevel::Devices));
    assert_eq!(cycle.outcome, Outcome::Slept);
    assert!(cycle.first_after_boot);
    assert_eq!(cycle.counts.dirty_bytes, Some(4_096));
    let of_a: Vec<Phase> =
        cycle.callbacks.iter().filter(|b| b.device == a).map(|b| b.phase).collect();
    assert_eq!(of_a, [Phase::Prepare, Phase::Suspend, Phase::Resume, Phase::Complete]);
    let printed = |phase| cycle.phase(phase).unwrap().printed;
    assert_eq!(printed(Phase::Suspend), Some(Ns::from_us(1_234)));
    assert_eq!(printed(Phase::Resume), Some(Ns::from_us(777)));
    assert_eq!((c.machine.cpus, c.machine.pm_async), (Some(2), Some(true)));
    assert_eq!((n(c.machine.host), n(c.machine.model)), ("box", "V M"));
    assert_eq!(c.losses.count("recorder_lost_events"), 7);
    assert_eq!(c.losses.count("capture_link_unknown_device"), 1);
    assert_eq!(c.losses.count("capture_member_unknown"), 1);
}

#[test]
fn a_replay_shows_the_recorded_names_and_marks_the_guest() {
    let names = "guest\tname\tdriver\tsubsystem\tdevpath\n\
                 soc\t0000:00:1f.0\tlpc\tpci\t/devices/pci0000:00/0000:00:1f.0\n\
                 a\tPNP0C09:00\tec\tacpi\t\n";
    let reading = read_bytes("x", &whole(&[("names.tsv", names)]), &Options::default()).unwrap();
    let c = &reading.captures[0];
    let n = |s| c.names.get(s);
    let shown: Vec<(&str, &str, bool)> = c
        .graph
        .devices
        .iter()
        .map(|d| (n(d.name), n(d.parent_name), d.facts.guest))
        .take(4)
        .collect();
    assert_eq!(
        shown,
        [
            ("platform", "", true),
            ("0000:00:1f.0", "platform", false),
            ("PNP0C09:00", "0000:00:1f.0", false),
            ("Fixed MDIO bus.0", "0000:00:1f.0", true),
        ]
    );
    assert_eq!(n(c.graph.devices[1].driver), "lpc");
}

#[test]
fn other_versions_and_other_files_say_so() {
    let newer = archive(&[("capture.json", &json(2))]);
    let c = &read_bytes("x", &newer, &Options::default()).unwrap().captures[0];
    assert_eq!(c.losses.count("capture_unreadable"), 1);
    assert!(c.losses.list[0].advice.contains("format version 2"), "{:?}", c.losses.list);
    assert!(c.losses.list[0].advice.contains("test 1"));
    let other = archive(&[("capture.json", r#"{"format": "something"}"#)]);
    let c = &read_bytes("x", &other, &Options::default()).unwrap().captures[0];
    assert_eq!(c.losses.count("capture_unreadable"), 1);
}

#[test]
fn damage_anywhere_is_counted_and_never_fatal() {
    let bytes = whole(&[]);
    for cut in (0..bytes.len()).step_by(7) {
        let Ok(reading) = read_bytes("x", &bytes[..cut], &Options::default()) else { continue };
        if cut > 600 {
            let lost: usize = reading.captures.iter().map(|c| c.losses.list.len()).sum();
            assert!(lost > 0, "cut at {cut} of {} went unnoticed", bytes.len());
        }
    }
    // The tar itself, without compression, with any byte flipped.
    let mut plain = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut plain).unwrap();
    for at in (0..plain.len()).step_by(61) {
        let mut damaged = plain.clone();
        damaged[at] ^= 0x5a;
        let _ = read_bytes("x", &damaged, &Options::default());
    }
}

#[test]
fn the_kept_file_of_version_1_is_read() {
    let bytes = include_bytes!("fixtures/capture-v1.tar.gz");
    let c = &read_bytes("kept", bytes, &Options::default()).unwrap().captures[0];
    let n = |s| c.names.get(s);
    assert_eq!(c.cycles.len(), 2, "{:?}", c.losses);
    assert!(c.losses.list.is_empty(), "{:?}", c.losses);
    assert_eq!(c.cycles[0].mode, Mode::PmTest(PmTestLevel::Devices));
    assert_eq!(n(c.cycles[0].kernel), "6.12.0-test");
    assert_eq!(c.cycles[0].callbacks.len(), 14);
    let disk = c.graph.devices.iter().find(|d| n(d.name) == "vda").unwrap();
    assert_eq!(n(disk.facts.essential), "root");
    assert_eq!(c.graph.links.len(), 1);
    assert!(c.graph.order_known);
}

/// The same sleep from the two files that anybody can save: the log rounds to
/// milliseconds.
#[test]
fn a_trace_by_the_boot_clock_and_its_log_tell_the_sleep_apart() {
    let bytes = include_bytes!("fixtures/capture-v1-deep-6.12.tar.gz");
    let (file, _) = dormouse_capture::read(bytes).unwrap();
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("trace.txt"), &file.cycles[0].trace).unwrap();
    // The log's clock lacks the sleeps before this one, 27.5057 s in all.
    let mut log = String::new();
    for line in String::from_utf8(file.cycles[0].dmesg.clone()).unwrap().lines() {
        let (stamp, text) = line[1..].split_once(']').unwrap();
        let seconds: f64 = stamp.trim().parse().unwrap();
        log.push_str(&format!("[{:12.6}]{text}\n", seconds + 27.5057));
    }
    std::fs::write(dir.path().join("dmesg.txt"), log).unwrap();
    let inputs =
        ["trace.txt", "dmesg.txt"].map(|f| dormouse_read::Input::from_arg(dir.path().join(f)));
    let reading = dormouse_read::read(&inputs, &Options::default()).unwrap();
    let cycle = &reading.captures[0].cycles[0];
    let (down, up) = cycle.asleep.unwrap();
    assert_eq!(up.since(down).0 / 1_000_000, 3_754);
    assert!(cycle.resume_time().unwrap() < Ns::from_ms(40));
}

/// Recorded in a guest of QEMU (`tools/check-restore`): a real suspend-to-RAM,
/// woken by the RTC after 3.75 s.
#[test]
fn a_real_sleep_is_not_counted_as_latency() {
    let bytes = include_bytes!("fixtures/capture-v1-deep-6.12.tar.gz");
    let c = &read_bytes("deep", bytes, &Options::default()).unwrap().captures[0];
    assert!(c.losses.list.is_empty(), "{:?}", c.losses);
    let n = |s| c.names.get(s);
    let cycle = &c.cycles[0];
    assert_eq!((cycle.mode, cycle.outcome), (Mode::Deep, Outcome::Slept));
    assert_eq!(cycle.began, Some(Ns(1_767_225_931_161_904_279)));
    let (down, up) = cycle.asleep.unwrap();
    // "Timekeeping suspended for 3.754 seconds"
    assert_eq!(up.since(down).0 / 1_000_000, 3_754);
    assert!(cycle.resume_time().unwrap() < Ns::from_ms(40), "{:?}", cycle.resume_time());
    assert!(cycle.suspend_time().unwrap() < Ns::from_ms(40));
    let core = cycle.phase(Phase::SyscoreResume).unwrap().duration();
    assert!(core < Ns::from_ms(2), "{core}");
    let suspend = cycle.phase(Phase::Suspend).unwrap();
    assert_eq!(suspend.printed, Some(Ns::from_us(731)));
    // Every device that the PM core visits was prepared, in the order of its
    // list; the others were listed.
    let prepared = cycle.callbacks.iter().filter(|b| b.phase == Phase::Prepare);
    let ids: Vec<u32> = prepared.map(|b| b.device.0).collect();
    let visited = c.graph.devices.iter().filter(|d| !d.facts.no_pm).count();
    assert!(ids.is_sorted() && ids.len() == visited && visited == 230, "{} {visited}", ids.len());
    for (i, d) in c.graph.devices.iter().enumerate() {
        assert!(d.parent.is_none_or(|p| p.index() < i), "{} stands before its parent", n(d.name));
        assert!(!d.facts.devpath.is_empty(), "{} is in no table", n(d.name));
    }
    let serial = c.graph.devices.iter().find(|d| n(d.name) == "ttyS0").unwrap();
    assert_eq!(n(serial.facts.essential), "console");
}
