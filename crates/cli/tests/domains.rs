//! `dormouse domains show`: the screen, the JSON and the exit codes.

use super::paths;
use crate::ran::ended as dormouse;
use std::collections::BTreeSet;
use std::path::Path;

/// Tables and messages of one machine.
pub(crate) const TEXT: &str = "\
# cat /sys/kernel/debug/pm_genpd/pm_genpd_summary
domain                          status          children        performance
    /device                         runtime status                  managed by
------------------------------------------------------------------------------
gpu                             on                              0
                                                shader
    10.gpu                          suspended                   0           SW
shader                          off-0                           0

# cat /sys/kernel/debug/devices_deferred
1.phy\tplatform: supplier 2.ctrl not ready
2.ctrl\tmy-ctrl: failed to get entries

[    9.000000] /soc/a@1: Fixed dependency cycle(s) with /soc/b@2
[    9.100000] clk 3.clk: sync_state() pending due to 4.video
";

const SCREEN: &str = "\
Broken: 2.ctrl waits for what the driver says: failed to get entries. 1 more
  waits for those.
The lines below say so; they do not say that it is the cause of anything else. 3
  further findings below.
  rule probe-waits, certain
    line 12: 2.ctrl my-ctrl: failed to get entries
    line 11: 1.phy platform: supplier 2.ctrl not ready
  Do: Search the driver for that text: the line before it asks for what is
      missing.
";

fn file(dir: &Path, text: &str) -> String {
    let path = dir.join("mail.txt");
    std::fs::write(&path, text).expect("a file");
    path.display().to_string()
}

#[test]
fn the_screen_answers_first_and_fits() {
    let dir = tempfile::tempdir().expect("a folder");
    let (code, out, _) = dormouse(&["domains", "show", &file(dir.path(), TEXT)]);
    assert_eq!(code, 0);
    assert!(out.starts_with(SCREEN), "{out}");
    assert!(out.contains("\n  gpu on: no user shown\n  - shader off-0\n"), "{out}");
    assert!(out.ends_with("\nNext: grep . /sys/class/devlink/*/status\n"), "{out}");
    // What comes next is what the text lacks.
    let part = |from: usize, to: usize| {
        let lines = TEXT.lines().skip(from).take(to - from);
        let path = file(dir.path(), &lines.map(|l| format!("{l}\n")).collect::<String>());
        dormouse(&["domains", "show", &path]).1
    };
    let out = part(0, 8);
    assert!(out.ends_with("\nNext: cat /sys/kernel/debug/devices_deferred\n"), "{out}");
    let out = part(10, 12);
    assert!(out.ends_with("\nNext: cat /sys/kernel/debug/pm_genpd/pm_genpd_summary\n"), "{out}");
    let (_, out, _) = dormouse(&["domains", "show", &file(dir.path(), TEXT)]);
    let wide: Vec<&str> = out.lines().filter(|l| l.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{wide:?}");
}

#[test]
fn a_check_fails_where_something_is_broken() {
    let dir = tempfile::tempdir().expect("a folder");
    let (code, out, error) = dormouse(&["check", &file(dir.path(), TEXT)]);
    assert!(out.starts_with("Broken: 2.ctrl waits"), "{out}");
    assert_eq!((code, error.trim()), (4, "dormouse: 1 finding says that something is broken"));
    let healthy = TEXT.split("# cat /sys/kernel/debug/devices").next().expect("a table");
    assert_eq!(dormouse(&["check", &file(dir.path(), healthy)]).0, 0);
}

#[test]
fn a_failed_probe_alone_is_no_good_news() {
    let dir = tempfile::tempdir().expect("a folder");
    let text = "max17042: probe of 5-0036 failed with error -22\n";
    let (code, out, _) = dormouse(&["check", &file(dir.path(), text)]);
    assert!(out.starts_with("The probe of 5-0036 by max17042 failed with error -22"), "{out}");
    assert!(code == 0 && !out.contains("Nothing wrong"), "{out}");
}

#[test]
fn nothing_has_its_code_and_other_verbs_point_here() {
    let dir = tempfile::tempdir().expect("a folder");
    let (code, _, error) = dormouse(&["domains", "show", &file(dir.path(), "hello\n")]);
    assert_eq!(code, 1);
    assert!(error.contains("no table of domains"), "{error}");
    assert_eq!(dormouse(&["domains", "show", "/nowhere/at/all"]).0, 3);
    let table: String = TEXT.lines().take(8).map(|l| format!("{l}\n")).collect();
    let file = file(dir.path(), &table);
    let (code, _, error) = dormouse(&["doctor", &file]);
    assert_eq!(code, 1);
    assert!(error.contains("dormouse show --only domains"), "{error}");
    // `show` says what there is, and how to ask for it alone.
    let (code, shown, _) = dormouse(&["show", &file]);
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let itself = format!("Only this (formerly domains show): dormouse show --only domains {file}");
    let only = dormouse(&["show", "--only", "domains", &file]).1;
    let without = words(&shown).join(" ").replace(&words(&itself).join(" "), "");
    assert_eq!(code, 0);
    assert_ne!(words(&without), words(&shown), "{shown}");
    assert_eq!(words(&without), words(&only));
}

/// Clocks, regulators and power resources beside the domains of `TEXT`.
const CHIP: &str = "
# cat /sys/kernel/debug/clk/clk_summary
                                 enable  prepare  protect                                duty  hardware                            connection
   clock                          count    count    count        rate   accuracy phase  cycle    enable   consumer                         id
---------------------------------------------------------------------------------------------------------------------------------------------
 osc                                 2       2        0        24000000    0          0     50000      Y   10.gpu                          core
    left                             0       0        0        48000000    0          0     50000      Y      deviceless                      no_connection_id

# cat /sys/kernel/debug/regulator/regulator_summary
 regulator                      use open bypass  opmode voltage current     min     max
---------------------------------------------------------------------------------------
 in_12v                           2    1      0 unknown 12000mV     0mA 12000mV 12000mV
    ldo3                          1    1      0  normal  3300mV     0mA  3300mV  3300mV
       10.gpu-vdd                 1                                 0mA     0mV     0mV

/sys/bus/acpi/devices/device:1a/power_resources_D0/LNXPOWER:00/resource_in_use:1
/sys/bus/acpi/devices/device:1b/power_resources_D0/LNXPOWER:00
/sys/bus/acpi/devices/device:1c/power_resources_D0/LNXPOWER:00
/sys/bus/acpi/devices/device:1c/power_resources_wakeup/LNXPOWER:00
/sys/bus/acpi/devices/device:1a/real_power_state:D0
/sys/bus/acpi/devices/device:1b/real_power_state:D3cold
";

#[test]
fn the_whole_chip_is_one_screen() {
    let dir = tempfile::tempdir().expect("a folder");
    let text = TEXT.to_string() + CHIP;
    let (_, out, _) = dormouse(&["domains", "show", &file(dir.path(), &text)]);
    let flat = out.split_whitespace().collect::<Vec<_>>().join(" ");
    let resource = "LNXPOWER:00: on; held by device:1a; needed in a state not shown by device:1c; \
                    not needed now by device:1b; to wake the system by device:1c";
    assert!(flat.contains(resource), "{out}");
    for part in [
        "\nThe whole chip\n  1 of 2 domains on, 1 without a user in the table\n  1 of 2 clocks are enabled and 2 may run; nobody asked for 1 of these\n  2 of 2 regulators enabled, 0 without a user in the table\n  1 of 1 power resource on\n",
        "\n  nobody enabled left, and the hardware may run it\n",
        "\nWhat devices hold\n  10.gpu: domain gpu (suspended), clock osc (on) and regulator ldo3 (once)\n",
    ] {
        assert!(out.contains(part), "{part}{out}");
    }
}

/// What the device tree of `crates/read/tests/dtb` would look like with rails.
fn rails() -> Vec<u8> {
    // Header, structure and strings of a blob (Devicetree Specification 0.4, chapter 5).
    let (mut body, mut strings) = (Vec::<u8>::new(), Vec::<u8>::new());
    let word = |out: &mut Vec<u8>, n: usize| out.extend_from_slice(&(n as u32).to_be_bytes());
    let begin = |body: &mut Vec<u8>, name: &str| {
        word(body, 1);
        body.extend_from_slice(name.as_bytes());
        body.push(0);
        body.resize(body.len().next_multiple_of(4), 0);
    };
    let mut property = |body: &mut Vec<u8>, name: &str, value: &[u8]| {
        word(body, 3);
        word(body, value.len());
        word(body, strings.len());
        strings.extend_from_slice(name.as_bytes());
        strings.push(0);
        body.extend_from_slice(value);
        body.resize(body.len().next_multiple_of(4), 0);
    };
    begin(&mut body, "");
    begin(&mut body, "vin");
    property(&mut body, "regulator-name", b"vin\0");
    property(&mut body, "phandle", &[0, 0, 0, 1]);
    begin(&mut body, "regulator-state-mem");
    property(&mut body, "regulator-off-in-suspend", b"");
    word(&mut body, 2);
    word(&mut body, 2);
    begin(&mut body, "ldo");
    property(&mut body, "regulator-name", b"vdd_ddr\0");
    property(&mut body, "vin-supply", &[0, 0, 0, 1]);
    property(&mut body, "phandle", &[0, 0, 0, 2]);
    begin(&mut body, "regulator-state-mem");
    property(&mut body, "regulator-on-in-suspend", b"");
    property(&mut body, "regulator-suspend-microvolt", &1_100_000u32.to_be_bytes());
    word(&mut body, 2);
    word(&mut body, 2);
    begin(&mut body, "key");
    property(&mut body, "vdd-supply", &[0, 0, 0, 1]);
    property(&mut body, "wakeup-source", b"");
    word(&mut body, 2);
    word(&mut body, 2);
    word(&mut body, 9);
    let mut out = Vec::new();
    let size = 56 + body.len() + strings.len();
    for n in [0xd00d_feed, size, 56, 56 + body.len(), 40, 17, 16, 0, strings.len(), body.len()] {
        word(&mut out, n);
    }
    out.resize(56, 0);
    out.extend(body);
    out.extend(strings);
    out
}

#[test]
fn a_device_tree_says_which_rails_stay_on() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("board.dtb");
    std::fs::write(&path, rails()).expect("a file");
    let (code, out, error) = dormouse(&["domains", "show", &path.display().to_string()]);
    assert_eq!(code, 0, "{error}");
    for part in [
        "asks vdd_ddr to stay on in mem, and vin, which feeds it,",
        "asks vin to go off in mem, and key, which it feeds,",
        "\n  vin: mem off; feeds key\n  vdd_ddr: mem on at 1.100 V\n",
        "s2idle asks nothing",
    ] {
        assert!(out.contains(part), "{part}{out}");
    }
    std::fs::write(&path, &rails()[..100]).expect("a file");
    let (code, _, error) = dormouse(&["domains", "show", &path.display().to_string()]);
    assert_eq!(code, 1);
    assert!(error.contains("the file is shorter than its header"), "{error}");
}

#[test]
fn the_json_is_what_the_page_says() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut seen = BTreeSet::new();
    let path = dir.path().join("board.dtb");
    std::fs::write(&path, rails()).expect("a file");
    paths::add(
        &dormouse(&["domains", "show", "--json", &path.display().to_string()]).1,
        "domains",
        &mut seen,
    );
    let chip = TEXT.to_string() + CHIP;
    for text in [TEXT, &chip, "\0binary"] {
        let path = file(dir.path(), text);
        let other = dir.path().join("other.txt");
        std::fs::write(&other, TEXT).expect("a file");
        let args = ["domains", "show", "--json", &path, &other.display().to_string()];
        let (code, out, _) = dormouse(&args);
        assert_eq!(code, 0);
        assert_eq!(dormouse(&args).1, out);
        paths::add(&out, "domains", &mut seen);
    }
    let path = file(dir.path(), STATES);
    let args = ["domains", "show", "--json", "--draws", "gpu=0.12", &path];
    paths::add(&dormouse(&args).1, "domains", &mut seen);
    assert_eq!(seen, paths::of_page(include_str!("../../../docs/domains-json.md")));
}

#[test]
fn a_log_that_ends_in_a_crash_says_so_first() {
    let log = "[    0.000000] Kernel command line: quiet pd_ignore_unused\n\
               [    7.892929] Unable to handle kernel NULL pointer dereference at virtual address 0000000000000010\n";
    let text = super::words::words(&["domains", "show", "-"], log);
    let first = "The kernel crashed in line 2; nothing of power domains and probing is shown to be its reason.";
    assert!(text.starts_with(first), "{text}");
}

/// A domain with two states, and a probe that failed.
const STATES: &str = "==> /sys/kernel/debug/pm_genpd/gpu/idle_states_desc <==
State          Latency(us)  Residency(us)  Name
S0             3000         0              retention
S1             13000        20000          off

[    1.000000] adc 4.adc: probe with driver adc failed with error -5
";

#[test]
fn a_sleep_pays_for_domains_in_time_and_energy() {
    let text = super::words::words(&["domains", "show", "-", "--draws", "gpu=0.12"], STATES);
    for part in [
        "What each sleep pays for domains gpu: at most 13.00 ms off and on together",
        "at 0.12 W its switches draw at most 1.56 mJ, staying on draws 432 J an hour",
        "Probes that failed 4.adc: error -5 (EIO)",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let dir = tempfile::tempdir().expect("a folder");
    let path = file(dir.path(), STATES);
    for (watts, said) in [("gpv=1", "called gpv"), ("gpu", "NAME=WATTS"), ("gpu=much", "factor")] {
        let (code, _, error) = dormouse(&["domains", "show", &path, "--draws", watts]);
        assert_eq!(code, 2, "{error}");
        assert!(error.split_whitespace().collect::<Vec<_>>().join(" ").contains(said), "{error}");
    }
}

/// A trace of one sleep, with the probes of `record --with domains`.
const SWITCHED: &str = "sh-1 [000] ..... 1.000000: suspend_resume: suspend_enter[3] begin
sh-1 [000] ..... 1.010000: suspend_resume: dpm_suspend_noirq[2] begin
sh-1 [000] ..... 1.011000: device_pm_callback_start: gpu 2.gpu, parent: soc, noirq power domain [suspend]
sh-1 [000] ..... 1.011200: device_pm_callback_end: gpu 2.gpu, err=0
sh-1 [000] ..... 1.012000: suspend_resume: dpm_suspend_noirq[2] end
sh-1 [000] ..... 1.013000: suspend_resume: machine_suspend[3] begin
sh-1 [000] ..... 1.113000: suspend_resume: machine_suspend[3] end
sh-1 [000] ..... 1.120000: suspend_resume: dpm_resume_noirq[16] begin
sh-1 [000] ..... 1.120100: device_pm_callback_start: gpu 2.gpu, parent: soc, noirq power domain [resume]
sh-1 [000] ..... 1.120200: genpd_on: (_genpd_power_on+0x4/0x2c0) name=\"gpu\"
sh-1 [000] ..... 1.128210: genpd_on_end: (genpd_power_on+0x4/0x2c0 <- _genpd_power_on) ret=0
sh-1 [000] ..... 1.128300: device_pm_callback_end: gpu 2.gpu, err=0
sh-1 [000] ..... 1.129000: suspend_resume: dpm_resume_noirq[16] end
sh-1 [000] ..... 1.140000: suspend_resume: thaw_processes[0] begin
sh-1 [000] ..... 1.141000: suspend_resume: thaw_processes[0] end
";

#[test]
fn a_switched_domain_is_in_show_and_its_json_and_has_a_price() {
    let text = super::words::words(&["show", "-"], SWITCHED);
    for part in [
        "8.01 gpu on, noirq resume; first of it: 2.gpu; nobody used it before",
        "Slow: Power domain gpu switched on: 8.01 ms, first of it 2.gpu",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let dir = tempfile::tempdir().expect("a folder");
    let path = file(dir.path(), SWITCHED);
    let (code, out, error) = dormouse(&["show", "--json", &path]);
    assert_eq!(code, 0, "{error}");
    let value: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let cause = &value["cycles"][0]["domains"][0];
    assert_eq!(cause["domain"], "gpu");
    assert_eq!((&cause["unused"], &cause["inferred"]), (&true.into(), &false.into()));
    assert_eq!(cause["time_ns"], 8_010_000);
    let findings = value["findings"].as_array().expect("a list");
    assert!(
        findings.iter().any(|f| f["id"] == "phase-domain" && f["row"] == "noirq"),
        "{findings:?}"
    );
    // The same file says what the sleep paid.
    let (code, out, error) = dormouse(&["domains", "show", &path]);
    assert_eq!(code, 0, "{error}");
    assert!(out.contains("gpu: 8.01 ms to switch on (1 recorded sleep)"), "{out}");
}

/// The laboratory calls devices d00012; what is said of a recording names those of the board.
#[test]
fn a_recording_of_a_board_is_told_in_the_board_s_names() {
    for words in [&["show", "--only", "domains"][..], &["show", "--json"]] {
        let args = words.iter().copied().chain(["captures/am335x-6.12.tar.gz"]);
        let out = crate::ran::output(args);
        let text = String::from_utf8(out.stdout).expect("text");
        let numbered = |w: &&str| {
            w.len() == 6 && w.starts_with('d') && w[1..].bytes().all(|b| b.is_ascii_digit())
        };
        let of_guest = text.split(|c: char| !c.is_ascii_alphanumeric()).find(numbered);
        assert_eq!(of_guest, None, "{words:?}");
        assert!(text.contains("47401400.usb") || words.contains(&"--json"), "{text}");
    }
}
