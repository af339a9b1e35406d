//! Domains and probing against cases with the verdict of experts, small texts of
//! every layout, and damage.

use dormouse_power::Finding;
use dormouse_power::domain::{Runtime, Status};
use dormouse_power::root::Cause;
use dormouse_power::{Confidence, Level, Report, judge};
use dormouse_read::Given;
use dormouse_read::domains::read_bytes;
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn report(text: &str) -> Report {
    judge(&read_bytes("text", text.as_bytes()).case)
}

fn ids(report: &Report) -> Vec<&'static str> {
    let mut ids: Vec<&str> = report.findings.iter().map(|f| f.id).collect();
    ids.dedup();
    ids
}

fn data() -> Option<PathBuf> {
    let root = std::env::var_os("DORMOUSE_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = root.join("domains");
    if !path.exists() {
        println!("SKIPPED: {} is not here; DORMOUSE_DATA names the folder", path.display());
        return None;
    }
    Some(path)
}

/// What the verdict of the thread means for the tool.
enum Verdict {
    /// The text proves it: these rules must find it, and be sure.
    Proven(&'static [&'static str]),
    /// The text may be read so: it may be suspected by these rules, and not be claimed.
    Suspected(&'static [&'static str]),
    /// True and beside the fault of the thread: it may be said, and nothing else.
    Beside(&'static [&'static str]),
    /// Healthy, or nothing in the text proves anything.
    Silent,
}
use Verdict::{Beside, Proven, Silent, Suspected};

const CASES: [(&str, Verdict); 42] = [
    ("clk-g12b-emmc", Silent),
    ("clk-rzg2l-commitmsg", Silent),
    ("cy-juno-v6.0", Proven(&["cycles"])),
    ("cy-mt8173-elm", Silent),
    ("cy-radxa-cm5", Beside(&["probe-waits-unsaid"])),
    ("cy-rb3-glink-panic", Silent),
    ("cy-rb3-working", Proven(&["cycles", "left-on"])),
    ("cy-renesas-overlap", Proven(&["cycles"])),
    ("cy-zcu106", Silent),
    ("df-am62-i2cmux", Proven(&["supplier-failed", "card-waits"])),
    ("df-dra76-6.0rc3", Proven(&["probe-waits-unsaid"])),
    ("df-imx8mp-audiomix", Proven(&["probe-waits", "probe-failure-near", "card-waits"])),
    ("df-imx8mp-noc-harvey", Proven(&["probe-waits", "probe-waits-unsaid"])),
    ("df-imx8mp-noc-harvey2", Proven(&["probe-waits", "probe-waits-unsaid"])),
    ("df-imx8mp-vpu-commitmsg", Proven(&["domain-stuck", "probe-failure-near"])),
    ("df-mvebu-kiselev-log", Proven(&["supplier-no-device"])),
    ("df-mvebu-kiselev-mail", Silent),
    ("df-renesas-koelsch", Proven(&["supplier-no-device", "probe-waits", "card-waits"])),
    ("df-renesas-suppliers-2021a", Proven(&["supplier-missing"])),
    (
        "df-rk3399-nopmdomains-commitmsg",
        Proven(&["provider-missing", "supplier-failed", "probe-waits-unsaid", "card-waits"]),
    ),
    ("df-rk3588-async-pcie", Proven(&["probe-waits"])),
    ("df-sl28-walle", Suspected(&["one-try", "supplier-missing"])),
    ("df-tegra186-2021a", Suspected(&["supplier-no-device"])),
    ("df-zii-vf610-switch", Proven(&["supplier-probing"])),
    ("dl-edison-waiting", Silent),
    ("dl-imx8mq-interconnect", Silent),
    ("dl-rubikpi-fwtree", Silent),
    ("pd-exynos5410-hdmi-latency", Proven(&["domain-latency", "device-error", "domain-unused"])),
    ("pd-rk3528", Silent),
    ("pd-rk3588-early", Silent),
    ("pd-rk3588-npu-stayon", Proven(&["domain-unused", "tables-differ"])),
    ("pd-rzg2m-gpu-addfail", Proven(&["domain-attach"])),
    ("pd-tegra20-tegra30-old", Silent),
    ("pd-th1520", Silent),
    ("reg-odroid-n2", Silent),
    ("sy-renesas-optional-dmac", Proven(&["sync-state"])),
    // What was blamed first is true, and was not the cause of the freeze.
    ("sy-rk3576-ufs", Beside(&["sync-state"])),
    ("sy-tegra186-uart-log", Proven(&["sync-state", "cycles"])),
    ("sy-ti-gpu-nodriver", Proven(&["sync-state"])),
    (
        "sy-whitehawk-hang-log",
        Proven(&["sync-state", "provider-missing", "supplier-failed", "probe-waits"]),
    ),
    ("sy-whitehawk-mail", Silent),
    ("sy-whitehawk-ok-log", Proven(&["cycles"])),
];

/// Prints a row for each case, and fails where the tool and the verdict part:
/// something proven is not found, or something is claimed that is not there.
#[test]
fn cases_with_the_verdict_of_experts() {
    let Some(folder) = data() else { return };
    let mut wrong = Vec::new();
    println!("| case | found | verdict | agree |");
    println!("|---|---|---|---|");
    let (mut proven, mut missed) = (0, 0);
    for (name, verdict) in &CASES {
        let path = folder.join(format!("{name}.txt"));
        let texts = Given::new(std::slice::from_ref(&path)).power().expect("a readable file");
        let report = judge(&texts[0].case);
        let claims = |f: &&Finding| f.level != Level::Note && f.confidence != Confidence::Guess;
        let only =
            |rules: &[&str]| !report.findings.iter().filter(claims).any(|f| !rules.contains(&f.id));
        let (agree, words) = match verdict {
            Proven(rules) => {
                let sure = |r: &&str| {
                    report.findings.iter().any(|f| f.id == *r && f.confidence != Confidence::Guess)
                };
                let found = rules.iter().all(sure);
                proven += 1;
                missed += usize::from(!found);
                (found && only(rules), "proven")
            }
            Suspected(rules) => {
                let found = rules.iter().all(|r| report.findings.iter().any(|f| f.id == *r));
                (found && only(&[]), "suspected")
            }
            Beside(rules) => {
                let broken = report.findings.iter().any(|f| f.id == "cycle-real");
                (only(rules) && !broken, "true, not the fault")
            }
            Silent => (only(&[]), "silent"),
        };
        let found = ids(&report);
        let found = if found.is_empty() { "-".into() } else { found.join(", ") };
        println!("| {name} | {found} | {words} | {} |", if agree { "yes" } else { "NO" });
        if !agree {
            wrong.push(*name);
        }
    }
    println!("\n{} of {proven} proven cases found, {} cases.", proven - missed, CASES.len());
    assert!(wrong.is_empty(), "the tool parts from the experts on {wrong:?}");
}

#[test]
fn every_layout_of_domains_is_one_table() {
    let old = "domain                          status          slaves\n\
        \x20   /device                                             runtime status\n\
        ----------------------------------------------------------------------\n\
        top                             on              io, cam\n\
        \x20   /devices/platform/10.bus                            active\n\
        io                              off-0\n\
        cam                             off-1\n";
    let middle = "domain                          status          children                           performance\n\
        \x20   /device                                             runtime status\n\
        ----------------------------------------------------------------------------------------------\n\
        top                             on                                                 7\n\
        \x20                                               io, cam\n\
        \x20   /devices/platform/10.bus                            active                     7\n\
        io                              off-0                                              0\n\
        cam                             off-1                                              0\n";
    let wrapped = "> domain                          status          children\n\
        >             performance\n\
        >     /device                                             runtime status\n\
        > ----------------------------------------------------------------------------------------------\n\
        > top                             on\n\
        >             7\n\
        >                                                 io,\n\
        > cam\n\
        >     /devices/platform/10.bus                            active\n\
        >             7\n\
        > io                              off-0\n\
        >             0\n\
        > cam                             off-1\n\
        >             0\n";
    let new = "  domain                          status          children        performance\n\
        \x20     /device                         runtime status                  managed by\n\
        \x20 ------------------------------------------------------------------------------\n\
        \x20 top                             on                              7\n\
        \x20                                                 io, cam\n\
        \x20     10.bus                          active                      7           HW\n\
        \x20 io                              off-0                           0\n\
        \x20 cam                             off-1                           0\n";
    for (text, performance) in [(old, None), (middle, Some(7)), (wrapped, Some(7)), (new, Some(7))]
    {
        let case = read_bytes("text", text.as_bytes()).case;
        assert_eq!(case.dumps.len(), 1, "{text}");
        let d = &case.dumps[0].domains;
        let names: Vec<&str> = d.iter().map(|d| d.name.as_str()).collect();
        assert_eq!(names, ["top", "io", "cam"], "{text}");
        assert_eq!((d[0].status, d[2].status), (Status::On, Status::Off(Some(1))));
        assert_eq!(d[0].children, ["io", "cam"], "{text}");
        assert_eq!((d[0].devices[0].name(), d[0].devices[0].runtime), ("10.bus", Runtime::Active));
        assert_eq!(d[0].performance, performance, "{text}");
        assert_eq!(d[0].devices[0].hardware, (text == new).then_some(true));
        assert!(judge(&case).findings.is_empty());
    }
}

#[test]
fn who_keeps_a_domain_on() {
    let head = "domain                          status          children        performance\n";
    let table = |rows: &str| report(&format!("{head}{rows}"));
    let device = |name: &str, status: &str| format!("    {name}  {status}  0  SW\n");
    let unused = table(&format!("gpu  on  0\n{}", device("1.gpu", "suspended")));
    assert_eq!(ids(&unused), ["domain-unused"]);
    let child =
        table("top  on  0\n                                                a\na  off-0  0\n");
    assert_eq!(ids(&child), ["domain-unused"]);
    // A child that the text leaves out may be on.
    let cut =
        table("top  on  0\n                                                a, b\na  off-0  0\n");
    assert!(cut.findings.is_empty());
    assert!(table(&format!("gpu  on  0\n{}", device("1.gpu", "active"))).findings.is_empty());
    assert_eq!(
        ids(&table(&format!("a  on  0\n{}", device("x", "unsupported")))),
        ["domain-never-suspends"]
    );
    assert_eq!(ids(&table(&format!("a  off-0  0\n{}", device("x", "error")))), ["device-error"]);
    assert_eq!(ids(&table("a  on  0\nb  off-0  0\n")), ["domain-empty"]);
    assert!(table("a  on  0\n").findings.is_empty(), "the text may end before its devices");
    // A circle of parents is no reason and no end.
    let circle = table(
        "a  on  0\n                                                b\nb  on  0\n                                                a\n",
    );
    assert!(circle.findings.is_empty());
    // A name longer than its column.
    let long = "a-very-long-name-of-a-domain-that-is-wider-than-its-column  on  0\nb  off-0  0\n";
    assert_eq!(ids(&table(long)), ["domain-empty"]);
}

#[test]
fn waits_are_followed_to_their_root() {
    let text = "# cat /sys/kernel/debug/devices_deferred\n\
        1.phy\tplatform: supplier 2.ctrl not ready\n\
        3.usb\tplatform: wait for supplier /soc/phy@1/port\n\
        2.ctrl\tmy-ctrl: no entries\n\
        sound\tsimple-card: parse error\n\
        cpufreq-dt\n";
    let roots = report(text).roots;
    assert_eq!(roots[0].cause, Cause::Own { reason: "no entries".into() });
    assert_eq!(roots[0].at, ["2.ctrl"]);
    assert_eq!(roots[0].behind, ["1.phy", "3.usb"]);
    assert_eq!(roots.last().map(|r| r.at.clone()), Some(vec!["sound".to_string()]));
    // A reason that a mail program put into the next line.
    let torn = "> # cat /sys/kernel/debug/devices_deferred\n> sound    a-long-name-of-a-driver:\n\
        > register_card fail\n";
    let roots = report(torn).roots;
    assert_eq!(
        (roots[0].at.clone(), roots[0].cause.clone()),
        (vec!["sound".to_string()], Cause::Own { reason: "register_card fail".into() })
    );
    // The whole file without a command, and a circle.
    let circle = "1.a\tplatform: supplier 2.b not ready\n2.b\tplatform: supplier 1.a not ready\n\
        3.c\tplatform: supplier 2.b not ready\n";
    let roots = report(circle).roots;
    assert_eq!((roots.len(), &roots[0].cause), (1, &Cause::Loop));
    assert_eq!((roots[0].at.len(), roots[0].behind.len()), (2, 1));
}

#[test]
fn messages_of_every_form() {
    let found = |text: &str| ids(&report(text));
    let t = "[    1.000000] ";
    for (text, rule) in [
        ("platform 1.mmc: deferred probe pending", "probe-waits-unsaid"),
        ("platform 1.mmc: deferred probe pending: (reason unknown)", "probe-waits-unsaid"),
        ("platform 1.mmc: deferred probe pending: mmc: no clock", "probe-waits"),
        (
            "platform 1.mmc: deferred probe pending: platform: wait for supplier /soc/a@2",
            "supplier-no-device",
        ),
        (
            "platform 1.mmc: deferred probe pending: platform: supplier 2.a not ready",
            "supplier-missing",
        ),
        ("platform 1.mmc: probe deferral - supplier 2.a not ready", "supplier-missing"),
        ("platform 1.mmc: error -EPROBE_DEFER: wait for supplier a@2", "supplier-no-device"),
        ("mmc 1.mmc: deferred probe timeout, ignoring dependency", "provider-missing"),
        ("clk 1.clk: sync_state() pending due to 2.gpu", "sync-state"),
        ("clk 1.clk: Timed out. Forcing sync_state()", "sync-state"),
        ("/soc/a@1: Fixed dependency cycle(s) with /soc/b@2", "cycles"),
        ("amba 1.etm: Fixed dependency cycle(s) with /b@2/port/endpoint", "cycles"),
        ("PM: gpu: Power-on latency exceeded, new value 12345 ns", "domain-latency"),
        ("gpu 1.gpu: error -ENOENT: failed to add to PM domain 3d", "domain-attach"),
        ("ps8640 1-0008: Failed to create device link (0x180) with backlight", "link-not-made"),
        ("platform 1.a: Failed to create device link with 2.b", "link-not-made"),
        ("gpu 1.gpu: PM domain gpu-pd will not be powered off", "domain-irq-safe"),
        ("probe of 1.mmc returned 517 after 3659 usecs", "attempts-costly"),
        ("probe of 1.mmc with driver mmc returned 517 after 3659 usecs", "attempts-costly"),
        ("PM: genpd: Not disabling unused power domains", "left-on"),
    ] {
        assert_eq!(found(&format!("{t}{text}\n")), [rule], "{text}");
    }
    // Torn by a mail program.
    let torn =
        "ti_domains 1.system-controller-of-this-chip:power:\nsync_state() pending due to 2.gpu\n";
    assert_eq!(found(torn), ["sync-state"]);
    let torn =
        "[    1.000000] platform 30cb0000.aud2htx: deferred probe pending:\n(reason unknown)\n";
    assert_eq!(found(torn), ["probe-waits-unsaid"]);
    // A line that is whole takes no other.
    let whole =
        "clk 1.system-controller-of-this-chip: sync_state() pending due to 2.gpu\nath 3: other\n";
    let r = report(whole);
    assert_eq!(r.findings[0].evidence[0].text, whole.lines().next().unwrap());
    // Quoted without a time stamp it may be anybody's.
    let quoted = report("> clk 1.clk: sync_state() pending due to 2.gpu\n");
    assert_eq!(quoted.findings[0].confidence, Confidence::Guess);
    // Names of nodes have commas.
    let comma = "[    1.000000] camcc 3.clk: sync_state() pending due to 4.qcom,cci0:qcom,cam1\n";
    let case = read_bytes("text", comma.as_bytes()).case;
    assert_eq!(case.pending[0].consumer, "4.qcom,cci0:qcom,cam1");
    // A driver that spoke later has the device.
    let later = "[    1.000000] platform 1.usb: probe deferral - supplier 2.phy not ready\n\
        [    2.000000] xhci 1.usb: new bus\n";
    assert!(found(later).is_empty());
    // One pair, said twice, from both ends.
    let twice = "[    1.000000] /a@1: Fixed dependency cycle(s) with /b@2\n\
        [    1.000000] platform 2.b: Fixed dependency cycle(s) with /a@1/port/endpoint\n";
    let r = report(twice);
    assert_eq!((r.pairs.lines, r.pairs.list.len()), (2, 1));
}

#[test]
fn links_that_were_not_made() {
    let line = |c: &str, s: &str| {
        format!("[    1.000000] platform {c}: Failed to create device link with {s}\n")
    };
    let text = line("1.a", "1.a") + &line("1.a", "1.a") + &line("2.b", "3.c");
    let r = report(&text);
    let said = "No device link was made from 2.b to 3.c: nothing orders the two when they probe or \
                sleep. One device was to be linked to itself.";
    assert_eq!(r.findings[0].sentence, said);
    // What is cut is no message.
    assert!(report("[    1.0] platform 1.a: Failed to create device link\n").findings.is_empty());
}

#[test]
fn clocks_and_regulators() {
    let clocks = "                                 enable  prepare  protect                                duty  hardware                            connection\n\
        \x20  clock                          count    count    count        rate   accuracy phase  cycle    enable   consumer                         id\n\
        ---------------------------------------------------------------------------------------------------------------------------------------------\n\
        \x20osc                                 2       2        0        24000000    0          0     50000      Y   deviceless                      no_connection_id\n\
        \x20   pll                              1       1        0        48000000    0          0     50000      Y      1.mmc                           core\n\
        \x20                                                                                                             2.usb                           no_connection_id\n\
        \x20   left                             0       0        0        48000000    0          0     50000      Y      deviceless                      no_connection_id\n";
    let case = read_bytes("text", clocks.as_bytes()).case;
    let t = &case.clocks[0];
    assert_eq!((t.clocks.len(), t.enabled(), t.unasked()), (3, 2, vec![2]));
    assert_eq!(t.clocks[1].rate, Some(48_000_000));
    assert_eq!(t.clocks[1].parent, Some(0));
    assert_eq!(
        t.clocks[1].consumers,
        [("1.mmc".into(), "core".into()), ("2.usb".into(), String::new())]
    );
    let old = "   clock                         enable_cnt  prepare_cnt        rate   accuracy   phase\n\
        ----------------------------------------------------------------------------------------\n\
        \x20osc                               1            1    24000000          0 0\n";
    assert_eq!(read_bytes("text", old.as_bytes()).case.clocks[0].clocks[0].rate, Some(24_000_000));
    // A name may end with a number, and `grep` leaves out rows.
    let numbered = format!(
        "{clocks}\x20clk 48                              1       1        0        48000000    0          0     50000      Y   deviceless                      no_connection_id\n"
    );
    let c = &read_bytes("text", numbered.as_bytes()).case.clocks[0].clocks;
    assert_eq!((c[3].name.as_str(), c[3].enabled, c[3].rate), ("clk 48", 1, Some(48_000_000)));
    let rails = " regulator                      use open bypass voltage current     min     max\n\
        \x20dummy                            0    2      0     0mV     0mA     0mV     0mV\n\
        \x20   6.hdmi                                                          0mV     0mV\n\
        \x20sys                              1    3      0  3800mV     0mA  3800mV  3800mV\n\
        \x20   logic                         1    1      0   950mV     0mA   950mV  1350mV\n\
        \x20      dmc                                                        950mV  1350mV\n\
        --\n\
        \x20arm                              1    3      0  3800mV     0mA  3800mV  3800mV\n";
    let t = &read_bytes("text", rails.as_bytes()).case.regulators[0];
    assert_eq!((t.regulators.len(), t.on(), t.cut), (4, 3, true));
    assert_eq!(t.regulators[2].consumers, [("dmc".to_string(), None)]);
    assert_eq!(t.regulators[3].parent, None);
    let flat = "regulator use open bypass voltage current min max\n-------------------------------\n\
        dummy 0 8 0 0mV 0mA 0mV 0mV\ndmic 0mV 0mV\nuart 0mV 0mV\nvbus 1 2 0 5000mV 0mA 5000mV 5000mV\nohci 0mV 0mV\n";
    let t = &read_bytes("text", flat.as_bytes()).case.regulators[0];
    let counts: Vec<usize> = t.regulators.iter().map(|r| r.consumers.len()).collect();
    assert_eq!((counts, t.on()), (vec![2, 1], 1));
    let rails = " regulator                      use open bypass  opmode voltage current     min     max\n\
        ---------------------------------------------------------------------------------------\n\
        \x20in_12v                           2    1      0 unknown 12000mV     0mA 12000mV 12000mV\n\
        \x20   LDO 3                         1    1      0  normal  3300mV     0mA  3300mV  3300mV\n\
        \x20      1.mmc                      1                                 0mA     0mV     0mV\n\
        \x20   spare                         0    0      0  normal  1800mV     0mA  1800mV  1800mV\n";
    let t = &read_bytes("text", rails.as_bytes()).case.regulators[0];
    assert_eq!((t.on(), t.unused()), (2, vec![2]));
    assert_eq!((t.regulators[1].name.as_str(), t.regulators[1].parent), ("LDO 3", Some(0)));
    assert_eq!(t.regulators[1].consumers, [("1.mmc".to_string(), Some(1))]);
    assert_eq!(t.regulators[1].millivolts, Some(3300));
}

#[test]
fn small_files() {
    let text = "# cat /sys/kernel/debug/pm_genpd/gpu/idle_states\n\
        State          Time Spent(ms) Usage      Rejected\n\
        S0             1200           7          1\n\
        S1             0              0          0\n\
        /sys/kernel/debug/pm_genpd/gpu/active_time:77 ms\n\
        /sys/class/devlink/platform:1.a--i2c:0-0050/status:dormant\n\
        /sys/devices/platform/2.b/waiting_for_supplier:1\n";
    let case = read_bytes("text", text.as_bytes()).case;
    assert_eq!(case.states[0].domain, "gpu");
    assert_eq!((case.states[0].states[0].ms, case.states[0].active_ms), (1200, Some(77)));
    assert_eq!(ids(&judge(&case)), ["domain-shallow"]);
    assert_eq!(
        (case.links[0].consumer.as_str(), case.links[0].status.as_str()),
        ("i2c:0-0050", "dormant")
    );
    assert_eq!((case.waits[0].device.as_str(), case.waits[0].waits), ("2.b", true));
    // Whose link is not active holds the call up.
    let text = "/sys/class/devlink/platform:1.a--i2c:0-0050/status:dormant\n\
        /sys/class/devlink/platform:1.a--platform:3.c/status:active\n\
        /sys/devices/platform/1.a/state_synced:0\n/sys/devices/platform/3.c/state_synced:1\n";
    let said = report(text).findings[0].sentence.clone();
    assert!(said.starts_with("1.a (not yet: 0-0050) has not been told"), "{said}");
}

/// What pages of the web, consoles and `grep` make of a table.
#[test]
fn tables_that_lost_their_columns_or_their_end() {
    let squeezed = "$ cat /sys/kernel/debug/pm_genpd/pm_genpd_summary\n\
        domain status slaves\n/device runtime status\n---------------------------\n\
        a3 on\n/devices/\ne66.pwm suspended\n/devices/e6c.serial active\n\
        a4 on a3, a2\na2 off\na1 off a2\nTo enable it, choose CONFIG_PM_ADVANCED_DEBUG.\n";
    let case = read_bytes("text", squeezed.as_bytes()).case;
    let d = &case.dumps[0].domains;
    assert_eq!((d.len(), d[0].devices.len()), (4, 2));
    assert_eq!((d[1].children.len(), d[3].children.clone()), (2, vec!["a2".to_string()]));
    assert!(judge(&case).findings.is_empty());
    let rows = [
        "domain                          status          children        performance",
        "    /device                         runtime status                  managed by",
        "gpu                             on                              0",
        "    1.gpu                           suspended                   0           SW",
        "npu                             off-0                           0",
    ];
    let with = |mark: &str| rows.map(|r| format!("{mark}{r}\n")).concat();
    for mark in ["[2024-05-02 10:11:12.123] ", "10:11:12 ", "> > ", "  "] {
        assert_eq!(ids(&report(&with(mark))), ["domain-unused"], "{mark}");
    }
    // A mail program wraps the rule under the head, too.
    let rule = "---------------------------------------------------------\n-------------------\n";
    let wrapped =
        format!("{}\n{rule}{}\n            0\n{}\n            0\n", rows[0], rows[2], rows[3]);
    assert_eq!(ids(&report(&wrapped)), ["domain-unused"]);
    // `grep -A` may leave out what uses the last domain, and says where it left out.
    let grep = "$ grep -A1 gpu /sys/kernel/debug/pm_genpd/pm_genpd_summary\n";
    let cut = format!("{grep}{}\n{}\n--\n{}\n", rows[2], rows[3], rows[4]);
    assert!(report(&cut).findings.is_empty());
    assert!(report(&format!("{grep}{}\n{}\n", rows[2], rows[3])).findings.is_empty());
}

/// A person's words are no messages, and a message in them may be anybody's.
#[test]
fn prose_is_not_claimed() {
    for text in [
        "Three consumers: it prints \"sync_state() pending due to X\" and waits.\n",
        "n=$(dmesg | grep -c \"sync_state() pending due to 1.gpu\")\n",
        "+\t\tdev_info(sup, \"sync_state() pending due to %s\\n\",\n",
        "# cat /sys/kernel/debug/devices_deferred\n```\n",
        "cat /sys/kernel/debug/devices_deferred\nfi\ncat /sys/kernel/debug/devices_deferred\necho a: b\n",
    ] {
        assert!(report(text).findings.is_empty(), "{text}");
    }
    let quoted = report(
        "The burst is B17: `platform 1.wifi: deferred probe pending: seq: no clock` at 22 s.\n",
    );
    assert_eq!(
        (ids(&quoted), quoted.findings[0].confidence),
        (vec!["probe-waits"], Confidence::Guess)
    );
    // What follows such a line on a console is not its reason.
    let text = "[   13.029947] platform fe2b0000.mmc-of-a-long-name: deferred probe pending\n\
        Begin: Waiting for root file system ...\n";
    assert!(!report(text).findings[0].evidence[0].text.contains("Begin"));
}

#[test]
fn power_resources_of_acpi() {
    let text = "/sys/bus/acpi/devices/LNXPOWER:00/resource_in_use:1\n\
        /sys/bus/acpi/devices/LNXPOWER:00/path:\\_SB_.PCI0.XHC_.PXP_\n\
        /sys/bus/acpi/devices/LNXPOWER:01/resource_in_use:0\n\
        /sys/bus/acpi/devices/device:1a/power_resources_D0/LNXPOWER:00/resource_in_use:1\n\
        /sys/bus/acpi/devices/device:1a/real_power_state:D3cold\n\
        /sys/bus/acpi/devices/device:1a/power_state:D3cold\n\
        /sys/bus/pci/devices/0000:00:14.0/power_state:D0\n\
        /sys/bus/pci/devices/0000:00:14.0/firmware_node/real_power_state:D3hot\n\
        $ ls -l /sys/bus/pci/devices/0000:00:14.0/firmware_node/power_resources_D0\n\
        total 0\n\
        lrwxrwxrwx 1 root root 0 Nov  1 10:00 LNXPOWER:01 -> ../../LNXPOWER:01\n\
        $ cat /sys/bus/acpi/devices/device:2b/real_power_state\n\
        D0\n";
    let case = read_bytes("text", text.as_bytes()).case;
    let t = &case.acpi;
    assert_eq!(t.resources["LNXPOWER:00"].path, "\\_SB_.PCI0.XHC_.PXP_");
    assert_eq!(t.resources["LNXPOWER:01"].in_use, Some(false));
    let xhc = &t.devices["0000:00:14.0"];
    assert_eq!((xhc.state.as_str(), xhc.is_in()), ("", "D3hot"));
    assert_eq!(xhc.needs, [("D0".to_string(), "LNXPOWER:01".to_string())]);
    assert_eq!(t.devices["device:2b"].is_in(), "D0");
    assert_eq!(ids(&judge(&case)), ["resource-unused"]);
    // What may wake the system holds a resource for that alone; what a device needs in
    // its state does, too; and a state that is not shown proves nothing.
    let wakes = "\n/sys/bus/acpi/devices/device:1a/power_resources_wakeup/LNXPOWER:00\n";
    assert!(report(&format!("{text}{wakes}")).findings.is_empty());
    assert!(report(&text.replace("state:D3cold", "state:D0")).findings.is_empty());
    assert!(report(&text.replace("state:D3cold", "state:(unknown)")).findings.is_empty());
    // Lists of all devices name resources, and say nothing.
    let udev = "P: /devices/LNXSYSTM:00/LNXSYBUS:00/LNXPOWER:00\nE: DEVPATH=/devices/LNXPOWER:01\n\
        [    1.000000] acpi LNXPOWER:02: Turning OFF\n";
    assert!(!read_bytes("text", udev.as_bytes()).case.speaks());
    let differs = report(&text.replace("/power_state:D3cold", "/power_state:D0"));
    assert_eq!(ids(&differs), ["resource-unused", "state-differs"]);
}

#[test]
fn a_capture_file_has_domains_links_and_the_tree() {
    let tree = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dtb/sample.dtb"));
    let members = [
        ("capture.json", &b"{\"format\":\"dormouse-capture\",\"version\":1,\"losses\":[{\"kind\":\"debugfs_unreadable\",\"count\":1,\"advice\":\"root may\"}]}"[..]),
        ("links.tsv", b"supplier\tconsumer\tstatus\n/devices/1.clk\t/devices/2.mmc\tdormant\n"),
        (
            "domains.txt",
            b"/proc/cmdline:quiet pd_ignore_unused\n/sys/devices/2.mmc/waiting_for_supplier:1\n\
            ==> /sys/kernel/debug/devices_deferred <==\n2.mmc\tmmc: no clock\n\n\
            /sys/kernel/debug/pm_genpd/gpu/current_state:on\n",
        ),
        ("device-tree.dtb", &tree.expect("the sample")),
    ];
    let mut tar = tar::Builder::new(Vec::new());
    for (name, data) in members {
        let mut header = tar::Header::new_ustar();
        header.set_size(data.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, data).expect("a member");
    }
    let text = read_bytes("c.tar", &tar.into_inner().expect("an archive"));
    let case = &text.case;
    assert_eq!(
        (case.links[0].supplier.as_str(), case.links[0].status.as_str()),
        ("1.clk", "dormant")
    );
    assert_eq!((case.waits.len(), case.deferrals.len(), case.ignored.len()), (1, 1, 1));
    assert!(!case.rails.is_empty());
    assert_eq!(text.losses.count("recorder_loss"), 1);
    // Damage to the tree is counted.
    let damaged = read_bytes("x.dtb", &[0xd0, 0x0d, 0xfe, 0xed, 0, 0, 0, 40]);
    assert_eq!((damaged.case.speaks(), damaged.losses.count("damaged_input")), (false, 1));
}

#[test]
fn a_folder_of_small_files_is_one_text() {
    let dir = tempfile::tempdir().expect("a folder");
    let put = |path: &str, text: &str| {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    put("debug/pm_genpd/gpu/idle_states", "State  Time(ms) Usage Rejected\nS0 5 3 0\nS1 0 0 0\n");
    put("devices/platform/2.b/waiting_for_supplier", "1\n");
    put("devices/platform/3.c/state_synced", "0\n");
    put("debug/devices_deferred", "4.d\tdrv: no clock\n");
    put("notes.txt", "[    1.000000] clk 1.clk: sync_state() pending due to 2.gpu\n");
    let texts = Given::new(&[dir.path().into()]).power().expect("readable");
    assert_eq!(texts.len(), 2);
    let case = &texts[1].case;
    assert_eq!(case.states[0].domain, "gpu");
    assert_eq!((case.waits[0].device.as_str(), case.waits[0].waits), ("2.b", true));
    assert_eq!(ids(&judge(case)), ["probe-waits", "domain-shallow", "sync-state-waits"]);
}

/// Judges a text in at most 2 s of processor, without optimisation in 4.
fn judged_at_once(text: &str) -> Report {
    let limit = Duration::from_secs(if cfg!(debug_assertions) { 4 } else { 2 });
    let begin = super::processor();
    let r = report(text);
    let took = super::processor() - begin;
    assert!(took < limit, "{took:?}");
    r
}

#[test]
fn many_power_resources_are_linear() {
    use std::fmt::Write;
    let mut text = String::new();
    for i in 0..5_000 {
        let _ = writeln!(
            text,
            "/sys/bus/acpi/devices/device:{i:x}/power_resources_D0/LNXPOWER:{:x}/resource_in_use:1\n\
             /sys/bus/acpi/devices/device:{i:x}/real_power_state:D3hot",
            i % 100
        );
    }
    assert_eq!(judged_at_once(&text).findings.len(), 100);
}

/// 10,000 nodes of each kind are read and judged at once.
#[test]
fn large_tables_are_linear() {
    use std::fmt::Write;
    let n = 10_000;
    let mut text = String::from("domain   status  children  performance\n");
    for i in 0..n {
        let (a, b) = ((i + 1) % n, (i * 7) % n);
        let _ = write!(
            text,
            "d{i}  on  0\n{}d{a}, d{b}\n    {i:x}.dev  suspended  0  SW\n",
            " ".repeat(48)
        );
    }
    // All of them are on, each inside another.
    assert_eq!(judged_at_once(&text).held[0].len(), n);
    text = String::from("# cat /sys/kernel/debug/devices_deferred\n");
    for i in 0..n {
        let _ = writeln!(text, "{i:x}.dev\tplatform: supplier {:x}.dev not ready", (i + 1) % n);
    }
    text.push('\n');
    for i in 0..n {
        let _ = writeln!(
            text,
            "[    1.000000] /a@{i:x}: Fixed dependency cycle(s) with /a@{:x}",
            (i + 1) % n
        );
        let _ = writeln!(text, "[    1.000000] clk 1.clk: sync_state() pending due to {i:x}.dev");
    }
    let r = judged_at_once(&text);
    assert_eq!((r.roots.len(), r.roots[0].at.len()), (1, n));
    assert_eq!((r.pairs.list.len(), r.suppliers[0].consumers.len()), (n, n));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the bytes are, there is an answer.
    #[test]
    fn damage_is_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = judge(&read_bytes("noise", &bytes).case);
    }

    /// Lines of tables and messages in any order, indented, quoted, cut anywhere.
    #[test]
    fn shuffled_lines_are_no_panic(
        lines in proptest::collection::vec((0usize..24, 0usize..3, 0usize..50), 0..50),
        cut in 0usize..6000,
    ) {
        const LINES: [&str; 24] = [
            "domain                          status          children        performance",
            "    /device                         runtime status                  managed by",
            "--------------------------------------------------------",
            "gpu  on  99999999999999999999999",
            "gpu  off-4294967296  0",
            "1.gpu  unsupported  0  SW",
            "gpu, , gpu,",
            "   clock                          count    count    count        rate   accuracy",
            "osc 18446744073709551615 99999999999999999999 3",
            " regulator                      use open bypass  opmode voltage current     min     max",
            "rail 1 2 0 normal 99999999999999999999mV 0mA",
            "# cat /sys/kernel/debug/devices_deferred",
            "1.gpu\tplatform: supplier 1.gpu not ready",
            "[    1.000000] platform 1.gpu: deferred probe pending: platform: wait for supplier ",
            "[    1.000000] PM: \u{2028}: Power-off latency exceeded, new value 99999999999999999999 ns",
            "18446744073709551615 supplier 1.gpu not ready",
            "[    1.000000] probe of  returned -2147483648 after 99999999999999999999 usecs",
            "/: Fixed dependency cycle(s) with /",
            "State Time Usage Rejected Above",
            "/sys/class/devlink/a:--b:--:/status:",
            "/power_resources_D0/LNXPOWER:0/resource_in_use:",
            "ls /firmware_node/power_resources_",
            "LNXPOWER: -> LNXPOWER:",
            "/real_power_state",
        ];
        let mut text = String::new();
        for (line, quotes, blanks) in lines {
            text += &"> ".repeat(quotes);
            text += &" ".repeat(blanks);
            text += LINES[line];
            text.push('\n');
        }
        let text = &text.as_bytes()[..cut.min(text.len())];
        let _ = judge(&read_bytes("shuffled", text).case);
    }
}

#[test]
fn a_quoted_log_is_a_log() {
    let text = "> eth 1.eth: Link is up\n\
        > blk 2.blk-ctrl: sync_state() pending due to\n> 3.vpu\n\
        > pgc pd.5: sync_state() pending due to 4.gpu\n> ath 5.wifi: irq 201\n";
    let found = report(text);
    assert_eq!(ids(&found), ["sync-state"]);
    assert!(found.findings.iter().all(|f| f.confidence == Confidence::Certain), "{found:#?}");
    // A whole line in marks of a chat, with what a person says around it.
    let chat = "No luck so far:\n`[   20.449796] platform 7940000.ipa: deferred probe pending`\n\n\
        Or you get -EPROBE_DEFER\n";
    let found = report(chat);
    assert_eq!(found.roots[0].at, ["7940000.ipa"], "{found:#?}");
}

#[test]
fn rows_of_a_test_farm_are_rows() {
    let text = "[INFO] 1970-01-01 00:05:44 - Starting\n\
        [WARN] 1970-01-01 00:05:45 - DEFERRED: 10.swr\tqcom-swr: unable to get iface clock\n\
        [WARN] 1970-01-01 00:05:45 - DEFERRED: 20.codec\tplatform: wait for supplier /soc/pins@30/wsa\n\
        [FAIL] 1970-01-01 00:05:45 - Probe_Failure_Check : errors found\n";
    let roots = report(text).roots;
    assert_eq!((roots.len(), &*roots[0].at[0]), (2, "10.swr"));
    assert_eq!(roots[1].cause, Cause::Node { path: "/soc/pins@30/wsa".into() });
}

/// A driver may name what it lacks in words of its own.
#[test]
fn a_device_that_a_driver_names_is_followed() {
    let t = "[    1.000000] ";
    let text = format!(
        "{t}qcom-ice 1d88000.crypto: probe with driver qcom-ice failed with error -16\n\
         {t}ufshcd-qcom 1d84000.ufs: Cannot get ice instance from 1d88000.crypto\n\
         {t}platform 1d84000.ufs: deferred probe pending: ufshcd-qcom: pltfrm_init() failed\n\
         {t}imx-drm display: deferred probe pending: imx-drm: waiting for bridge 3-002d\n\
         {t}i2c 3-002d: deferred probe pending: sn65: vcc get failed\n\
         {t}adc 4.adc: deferred probe pending: adc: failed to get channel 12345\n"
    );
    let found = report(&text);
    let of = |device: &str| {
        let root = found.roots.iter().find(|r| r.at.iter().chain(&r.behind).any(|d| d == device));
        root.map(|r| r.cause.clone()).expect("a root")
    };
    let ice = Cause::Device {
        name: "1d88000.crypto".into(),
        fate: dormouse_power::root::Fate::Failed(-16),
    };
    assert_eq!(of("1d84000.ufs"), ice);
    assert_eq!(of("display"), Cause::Own { reason: "vcc get failed".into() });
    assert_eq!(of("4.adc"), Cause::Own { reason: "failed to get channel 12345".into() });
    let shown = found.findings.iter().find(|f| f.id == "supplier-failed").expect("it is proven");
    assert!(shown.evidence.iter().any(|e| e.text.contains("error -16")), "{shown:#?}");
}

#[test]
fn a_link_names_its_supplier_in_late_kernels_too() {
    let text = "[    1.000000] pd 1.power: Failed to create device link (0x180) with supplier 1-0042 for /pd@1/npu\n";
    let said = report(text).findings[0].sentence.clone();
    assert!(said.starts_with("No device link was made from 1.power to 1-0042:"), "{said}");
}

/// What the kernel says of its latencies, in files of any order.
#[test]
fn idle_states_have_latencies() {
    let file = |name: &str, text: &str| {
        format!("==> /sys/kernel/debug/pm_genpd/gpu/{name} <==\n{text}\n\n")
    };
    let desc = file(
        "idle_states_desc",
        "State          Latency(us)  Residency(us)  Name\n\
         S0             3000         0              retention\n\
         S1             13000        20000          off",
    );
    let states = file(
        "idle_states",
        "State          Time(ms)       Usage      Rejected   Above      Below      S2idle\n\
         S0             120            40         0          0          0          0\n\
         S1             7              1          2          0          0          0",
    );
    let active = "/sys/kernel/debug/pm_genpd/gpu/active_time:5600 ms\n".to_string();
    for text in [desc.clone() + &states + &active, active + &states + &desc] {
        let case = read_bytes("text", text.as_bytes()).case;
        let [t] = &case.states[..] else { panic!("{:?}", case.states) };
        let ms: Vec<i64> = t.latencies.iter().map(|l| l.0 / 1_000_000).collect();
        assert_eq!((ms, t.states.len(), t.active_ms), (vec![3, 13], 2, Some(5_600)), "{text}");
    }
}
