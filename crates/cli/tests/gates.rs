//! `check` with limits: what holds, what does not, what is not known, and the same for the
//! programs that test systems read it with.

use crate::ran::{piped, root};
use crate::words::said;
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A night of seven hours on 600 mW, of which the hardware counted nine tenths and more.
const GOOD: &str = "\
$ cat /sys/class/power_supply/BAT1/energy_now
48200000
$ cat /sys/kernel/debug/pmc_core/slp_s0_residency_usec
1000000
$ sudo rtcwake -m freeze -s 25200
rtcwake: wakeup from \"freeze\" using /dev/rtc0 at Sun Feb  3 06:00:00 2030
[  300.000000] PM: suspend entry (s2idle)
[  300.100000] PM: suspend of devices complete after 60.000 msecs
[  300.200000] PM: resume of devices complete after 70.000 msecs
[  300.300000] PM: suspend exit
$ cat /sys/kernel/debug/pmc_core/slp_s0_residency_usec
25000000000
$ cat /sys/class/power_supply/BAT1/energy_now
44000000
";

/// A sleep that a device refuses, whose name is made to break what it is written into.
const HOSTILE: &str = "usb<1>\"&'::error,title=x::y%0A]]><LAVA_SIGNAL_TESTCASE";

fn refused(name: &[u8]) -> Vec<u8> {
    let mut out = b"[   10.000000] PM: suspend entry (s2idle)\n[   10.020000] ".to_vec();
    out.extend(name);
    out.extend(b": PM: failed to suspend: error -16\n");
    out.extend(
        b"[   10.030000] PM: Some devices failed to suspend, or early wake event detected\n",
    );
    out.extend(b"[   10.050000] PM: suspend exit\n");
    out
}

fn json(words: &[&str], input: &str) -> (Option<i32>, Value) {
    let (code, text) = said(&[&["check", "-", "--json"], words].concat(), input);
    let end = text.rfind('}').map_or(0, |at| at + 1);
    (code, serde_json::from_str(&text[..end]).unwrap_or(Value::Null))
}

fn verdict(words: &[&str], input: &str) -> (Option<i32>, String) {
    let (code, json) = json(words, input);
    (code, json["verdict"].as_str().unwrap_or("nothing").into())
}

#[test]
fn what_a_night_proves_meets_its_limits_and_breaks_others() {
    let of = |words: &[&str]| verdict(words, GOOD);
    assert_eq!(of(&["--hardware-sleep", "90%"]), (Some(0), "met".into()));
    assert_eq!(of(&["--max-power", "1W"]), (Some(0), "met".into()));
    assert_eq!(of(&["--max-power", "500mW"]), (Some(4), "missed".into()));
    assert_eq!(of(&["--fail-on", "risk"]), (Some(0), "met".into()));
    let all = ["--resume", "1s", "--hardware-sleep", "90%", "--max-power", "500mW"];
    let (code, answer) = json(&all, GOOD);
    assert_eq!(code, Some(4), "{answer}");
    let gates = answer["gates"].as_array().expect("gates");
    let names: Vec<_> = gates.iter().map(|g| g["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["resume", "hardware-sleep", "max-power"]);
    assert_eq!(gates[2]["found"]["unit"], "watts");
    assert!((gates[2]["found"]["value"].as_f64().unwrap() - 0.6).abs() < 1e-9, "{answer}");
    let (_, text) = said(&[&["check", "-"], &all[..]].concat(), GOOD);
    assert!(text.starts_with("The sleep draws more than 500 mW: 600 mW"), "{text}");
}

/// A journal of three wake-ups, the last of which waits `late` ms for its address.
fn wakes(late: u64) -> String {
    let one = |hour: u32, late: u64| {
        let at = |ms: u64, said: &str| {
            let (s, part) = (ms / 1_000, ms % 1_000);
            format!("Mar 04 {hour:02}:00:{s:02}.{part:03}000 elm {said}\n")
        };
        [
            at(1_000, "systemd-logind[800]: The system will suspend now!"),
            at(1_400, "systemd-sleep[4100]: Performing sleep operation 'suspend'..."),
            at(1_500, "kernel: PM: suspend entry (s2idle)"),
            at(31_500, "kernel: PM: suspend exit"),
            at(31_900, "systemd[1]: Finished systemd-suspend.service - System Suspend."),
            at(32_000, "kernel: e1000e 0000:00:1f.6 eth0: NIC Link is Up 1000 Mbps"),
            at(31_500 + late, "NetworkManager[900]: <info> dhcp4 (eth0): state changed new lease"),
        ]
        .concat()
    };
    [one(7, 900), one(8, 1_000), one(9, late)].concat()
}

#[test]
fn the_way_back_as_a_whole_has_limits_of_its_own() {
    let of = |limit: &str, log: &str| verdict(&["--ready", limit], log);
    assert_eq!(of("net=2s", &wakes(1_900)), (Some(0), "met".into()));
    assert_eq!(of("net=2s", &wakes(2_100)), (Some(4), "missed".into()));
    assert_eq!(of("unit=300ms", &wakes(1_900)), (Some(4), "missed".into()));
    assert_eq!(of("screen=1s", &wakes(1_900)), (Some(1), "unknown".into()));
    let (_, answer) = json(&["--ready", "net=2s", "--ready", "link=1s"], &wakes(2_100));
    assert_eq!(answer["gates"][0]["name"], "ready-net");
    assert_eq!(answer["gates"][0]["found"]["value"], 2.1);
    assert_eq!(answer["gates"][1]["verdict"], "met");
    let (code, text) = said(&["check", "-", "--ready", "lunch=2s"], &wakes(1_900));
    assert!(code == Some(2) && text.contains("session, unit, screen, link, net"), "{text}");
    let (_, text) = said(&["check", "-"], &wakes(1_900));
    assert!(text.contains("The whole way of 3 sleeps"), "{text}");
    // A program's own mark; words that quote one are none.
    let marked =
        |by: &str| wakes(1_900).replace("kernel: e1000e", &format!("{by} X\nkernel: e1000e"));
    let with = |by: &str| -> String {
        let log = marked(by);
        let mut stamp = "";
        let each = log.lines().map(|l| match l.split_once(" elm ") {
            Some((s, _)) => {
                stamp = s;
                l.trim_end_matches(" X").to_string() + "\n"
            }
            None => format!("{stamp} elm {l}\n"),
        });
        each.collect()
    };
    let app = |by: &str, limit: &str| verdict(&["--ready", limit], &with(by));
    for by in ["root[77]: dormouse: mark scanner", "kernel: dormouse: mark scanner"] {
        assert_eq!(app(by, "app:scanner=600ms"), (Some(0), "met".into()), "{}", with(by));
        assert_eq!(app(by, "app:scanner=400ms"), (Some(4), "missed".into()));
        assert_eq!(app(by, "app:frame=400ms"), (Some(1), "unknown".into()));
    }
    let quoted = "sudo[7]: root : COMMAND=/usr/bin/logger dormouse: mark scanner";
    assert_eq!(app(quoted, "app:scanner=600ms"), (Some(1), "unknown".into()));
    let kernel: String = (1..4)
        .map(|i| format!("[  {i}00.500000] PM: suspend entry (s2idle)\n[  {i}00.700000] PM: suspend exit\n[  {i}00.900000] dormouse: mark scanner\n"))
        .collect();
    let (code, answer) = json(&["--ready", "app:scanner=250ms"], &kernel);
    assert_eq!((code, &answer["gates"][0]["name"]), (Some(0), &Value::from("ready-app-scanner")));
}

/// A program's mark in a trace is judged by the clock of the trace.
#[test]
fn a_mark_in_a_trace_keeps_its_limit_or_not() {
    let event = |at: &str, what: &str| format!("  scand-812  [001] .....  {at}: {what}\n");
    let trace: String = [
        event("10.000000", "suspend_resume: suspend_enter[3] begin"),
        event("10.200000", "suspend_resume: dpm_suspend[2] begin"),
        event("10.300000", "suspend_resume: dpm_suspend[2] end"),
        event("10.500000", "suspend_resume: machine_suspend[3] begin"),
        event("12.500000", "suspend_resume: machine_suspend[3] end"),
        event("12.510000", "suspend_resume: dpm_resume[16] begin"),
        event("12.590000", "suspend_resume: dpm_resume[16] end"),
        event("12.600000", "suspend_resume: thaw_processes[0] begin"),
        event("12.604000", "suspend_resume: thaw_processes[0] end"),
        event("12.852000", "tracing_mark_write: dormouse: mark scanner"),
    ]
    .concat();
    let of = |limit: &str, trace: &str| verdict(&["--ready", limit], trace);
    assert_eq!(of("app:scanner=250ms", &trace), (Some(0), "met".into()));
    assert_eq!(of("app:scanner=240ms", &trace), (Some(4), "missed".into()));
    assert_eq!(of("app:frame=240ms", &trace), (Some(1), "unknown".into()));
    // A second sleep without the mark may have been late.
    let twice = trace.clone() + &trace.replace(" 1", " 9").replace("mark scanner", "mark frame");
    assert_eq!(of("app:scanner=250ms", &twice), (Some(1), "unknown".into()));
    let (_, shown) = said(&["show", "-"], &trace);
    assert!(shown.contains("scanner was ready (line 10)"), "{shown}");
}

/// The end of a sleep that was ordered may have come early, a coarse gauge may hide a watt,
/// a person may err: none of that is a success or a failure.
#[test]
fn what_an_input_does_not_hold_is_neither_met_nor_missed() {
    let unknown = (Some(1), "unknown".to_string());
    let short = GOOD.replace("25000000000", "15000000000");
    assert_eq!(verdict(&["--hardware-sleep", "90%"], &short), unknown);
    let coarse = GOOD
        .replace("energy_now\n48200000", "capacity\n80")
        .replace("energy_now\n44000000", "capacity\n74");
    assert_eq!(verdict(&["--max-power", "1W"], &coarse), unknown);
    let told = "Slept from 23:00 to 06:00 on s2idle, and the battery went from 80% to 50%.\n";
    assert_eq!(said(&["check", "-", "--max-power", "1W"], told).0, Some(1));
    let awake =
        "[    1.000000] PM: Registering ACPI NVS region\n[    2.000000] usb 1-1: new device\n";
    assert_eq!(verdict(&["--fail-on", "broken"], awake), unknown);
    // One that is missed outweighs one that is not known.
    let (code, _) =
        verdict(&["--max-power", "500mW", "--suspend", "1us", "--hardware-sleep", "100%"], &short);
    assert_eq!(code, Some(4));
}

#[test]
fn a_test_system_is_told_in_its_own_words_what_is_not_known() {
    let log = String::from_utf8(refused(b"video7")).expect("text");
    let limits = ["--fail-on", "broken", "--max-power", "1W"];
    for (form, missed, unknown) in [
        ("junit", "<failure type=\"missed\"", "<skipped message="),
        ("ktap", "not ok 2 findings\n", "ok 1 max-power # SKIP "),
        ("lava", "TEST_CASE_ID=findings RESULT=fail MEASUREMENT=1 UNITS=findings>", "RESULT=skip>"),
        ("kcidb", "\"status\": \"FAIL\"", "\"status\": \"SKIP\""),
        ("github", "::error title=dormouse findings::", "::warning title=dormouse max-power::"),
    ] {
        let (code, text) = said(&[&["check", "-", "--as", form], &limits[..]].concat(), &log);
        assert_eq!(code, Some(4), "{text}");
        assert!(text.contains(missed) && text.contains(unknown), "{form}: {text}");
        assert!(text.contains("video7 ended the sleep"), "{form}: {text}");
        // Nothing to be read is nothing known, in the same words.
        let (code, text) = said(&["check", "-", "--as", form, "--max-power", "1W"], "no log\n");
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains(unknown.rsplit(' ').next().unwrap()), "{form}: {text}");
    }
    // Without a limit what is broken fails, as it does on the screen.
    for words in [&["check", "-"][..], &["check", "-", "--as", "ktap"]] {
        assert_eq!(said(words, &log).0, Some(4), "{words:?}");
    }
}

/// Where the kernel's own parser of KTAP is, if a kernel was built here.
fn kunit() -> Option<PathBuf> {
    let home = PathBuf::from(std::env::var_os("HOME")?).join(".cache");
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or(home, PathBuf::from);
    let inside = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut trees: Vec<PathBuf> = inside(cache.join("dormouse/kernels"))
        .flat_map(|arch| inside(arch.path()))
        .map(|built| built.path().join("tree/tools/testing/kunit"))
        .filter(|tree| tree.join("kunit_parser.py").is_file())
        .collect();
    trees.sort();
    trees.pop()
}

/// What the reader of a test system makes of `output`; nothing, and a loud word, if it is
/// not here.
fn read(form: &str, output: &[u8]) -> Option<Vec<Value>> {
    let python = std::env::var("DORMOUSE_PYTHON").unwrap_or_else(|_| "python3".into());
    let mut command = Command::new(&python);
    command.arg(root().join("crates/cli/tests/oracle/gates.py")).arg(form);
    if form == "ktap" {
        let Some(folder) = kunit() else {
            println!("SKIPPED: no kernel was built here, whose kunit_parser.py reads KTAP");
            return None;
        };
        command.env("PYTHONDONTWRITEBYTECODE", "1").arg(folder);
    }
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut child) = child else {
        println!("SKIPPED: no {python} (set DORMOUSE_PYTHON)");
        return None;
    };
    child.stdin.take().expect("a pipe").write_all(output).expect("it reads");
    let out = child.wait_with_output().expect("it ends");
    if out.status.code() == Some(77) {
        println!("SKIPPED: {python} has no reader of {form} (tools/setup python)");
        return None;
    }
    assert!(out.status.success(), "{form}: {}", String::from_utf8_lossy(output));
    Some(serde_json::from_slice(&out.stdout).expect("JSON"))
}

/// Each form says to its reader what JSON says, of every name that a log can hold.
#[test]
fn readers_of_test_systems_understand_every_form() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = |name: &[u8], text: &[u8]| {
        let path = dir.path().join(OsStr::from_bytes(name));
        std::fs::write(&path, text).expect("written");
        path.into_os_string()
    };
    let hostile = [HOSTILE.as_bytes(), b"\x1b[31m\xff\xfe#SKIP"].concat();
    let inputs = [
        file(b"good.txt", GOOD.as_bytes()),
        file(b"a \"<b>&'\n::%0A,#\x1b\xff.log", &refused(&hostile)),
        file(b"panic.log", &refused(b"reboot: System halted")),
    ];
    let limits = "--resume 1s --hardware-sleep 90% --max-power 500mW --fail-on broken";
    for input in &inputs {
        let words = |form: &[&str]| {
            let mut all: Vec<OsString> = vec!["check".into(), input.clone()];
            all.extend(limits.split(' ').chain(form.iter().copied()).map(OsString::from));
            crate::ran::output(all)
        };
        let whole: Value = serde_json::from_slice(&words(&["--json"]).stdout).expect("JSON");
        let gates = whole["gates"].as_array().expect("gates");
        assert_eq!(gates.len(), 4);
        for form in ["junit", "ktap", "lava", "kcidb", "github"] {
            let out = words(&["--as", form]);
            assert_eq!(out.status.code(), words(&["--json"]).status.code(), "{form}");
            let Some(mut tests) = read(form, &out.stdout) else { continue };
            // Each finding that counts is an annotation of its own.
            if form == "github" {
                tests.retain(|t| gates.iter().any(|g| g["name"] == t["name"]));
            }
            assert_eq!(tests.len(), gates.len(), "{form}: {tests:?}");
            for (t, g) in tests.iter().zip(gates) {
                let want = match g["verdict"].as_str().expect("a verdict") {
                    "met" => "pass",
                    "missed" => "fail",
                    _ => "skip",
                };
                assert_eq!((&t["name"], t["result"].as_str()), (&g["name"], Some(want)), "{form}");
                let sentence = g["sentence"].as_str().expect("a sentence");
                let told = t["said"].as_str().expect("text");
                let skipped = form == "ktap" && want == "skip";
                assert!(told.contains(sentence) || form == "lava" || skipped, "{form}: {told:?}");
                if let Some(value) = t["value"].as_f64() {
                    let exact = g["found"]["value"].as_f64().expect("a figure");
                    assert!((value - exact).abs() < 1e-9, "{form}: {value} {exact}");
                }
            }
        }
    }
}

#[test]
fn hostile_names_do_not_leave_their_place() {
    let log = String::from_utf8_lossy(&refused(HOSTILE.as_bytes())).into_owned();
    let of = |form: &str| {
        let out = piped(&["check", "-", "--fail-on", "broken", "--as", form], &log);
        String::from_utf8(out.stdout).expect("text")
    };
    let junit = of("junit");
    assert!(junit.contains("usb&lt;1&gt;&quot;&amp;&apos;::error"), "{junit}");
    assert!(!junit.contains("]]>"), "{junit}");
    let lava = of("lava");
    assert_eq!(lava.matches('<').count(), 1, "{lava}");
    let github = of("github");
    assert!(github.contains("y%250A"), "{github}");
    assert!(github.lines().all(|l| l.starts_with("::error ")), "{github}");
    let ktap = of("ktap");
    assert_eq!(ktap.lines().filter(|l| !l.starts_with('#')).count(), 3, "{ktap}");
}

/// What GitHub and LAVA are given is of their form; `src/typed.rs` tries the commands in it.
#[test]
fn files_for_test_systems_are_of_their_form() {
    for (form, file) in [("action", "action.yml"), ("definition", "ci/lava.yaml")] {
        let text = std::fs::read(root().join(file)).expect(file);
        read(form, &text);
    }
}
