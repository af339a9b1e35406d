//! What is made for others tells nobody whose machine it is of, and has the same figures.

use dormouse::{Kept, run};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A night with two sleeps, of which one failed, told by a journal and a shell.
const NIGHT: &str = "\
merlin@rockdove:~$ journalctl -b -o short-precise
May 04 23:10:00.100000 rockdove kernel: Command line: root=UUID=9c1d2e3f-4a5b-4c6d-8e7f-a0b1c2d3e4f5 ro
May 04 23:10:01.100000 rockdove kernel: usb 2-3: SerialNumber: KX77ZB0042
May 04 23:10:01.200000 rockdove kernel: r8152 2-3:1.0 enx00e04c6b7a8b: v1.12.13
May 04 23:10:02.000000 rockdove wpa_supplicant[801]: wlan0: Trying to associate with 70:4d:7b:0a:1b:2c (SSID='Dovecote 5G' freq=5500 MHz)
May 04 23:10:03.000000 rockdove dhclient[811]: bound to 192.168.44.17, 2001:db8:77:1::c4
May 04 23:30:00.000000 rockdove kernel: PM: suspend entry (s2idle)
May 04 23:30:00.100000 rockdove kernel: Filesystems sync: 0.093 seconds
May 04 23:30:00.200000 rockdove kernel: Freezing user space processes
May 04 23:30:20.300000 rockdove kernel: Freezing user space processes failed after 20.004 seconds (1 tasks refusing to freeze, wq_busy=0):
May 04 23:30:20.300001 rockdove kernel: task:merlin-backup   state:D stack:0     pid:5120  ppid:1
May 04 23:30:20.300002 rockdove kernel:  nfs_wb_folio+0x9a/0x150 [nfs]
May 04 23:30:20.400000 rockdove kernel: OOM killer enabled.
May 04 23:30:20.500000 rockdove kernel: PM: suspend exit
May 04 23:40:00.000000 rockdove kernel: PM: suspend entry (s2idle)
May 04 23:40:01.000000 rockdove kernel: r8152 2-3:1.0 enx00e04c6b7a8b: PM: calling usb_dev_suspend @ 77, parent: 2-3
May 04 23:40:01.900000 rockdove kernel: hid-70:4d:7b:0a:1b:2c-battery: PM: failed to suspend: error -110
May 04 23:40:02.000000 rockdove kernel: PM: Some devices failed to suspend, or early wake event detected
May 04 23:40:02.100000 rockdove kernel: PM: suspend exit
Write to merlin@dovecote.example.org; the rest is in /home/merlin/rockdove.txt.
";

const SECRETS: [&str; 11] = [
    "rockdove",
    "merlin",
    "KX77ZB0042",
    "00e04c6b7a8b",
    "70:4d:7b:0a:1b:2c",
    "70:4d:7b",
    "Dovecote 5G",
    "192.168.44.17",
    "2001:db8:77:1::c4",
    "9c1d2e3f",
    "dovecote.example.org",
];

/// A trace whose devices and tasks are called by what is nobody's business.
fn trace() -> String {
    let event =
        |at: f64, text: &str| format!("     rtcwake-77    [001] ..... {at:>12.6}: {text}\n");
    let device = "suspend_resume: ";
    let mut out = String::from("# tracer: nop\n");
    out += &event(10.0, &format!("{device}suspend_enter[3] begin"));
    out += &event(10.1, &format!("{device}dpm_suspend[2] begin"));
    for (i, name) in
        ["enx00e04c6b7a8b", "hid-70:4d:7b:0a:1b:2c-battery", "power-led"].iter().enumerate()
    {
        let at = 10.2 + i as f64 / 10.0;
        out += &event(
            at,
            &format!("device_pm_callback_start: r8152 {name}, parent: 2-3, bus [suspend]"),
        );
        out += &event(at + 0.05, &format!("device_pm_callback_end: r8152 {name}, err=0"));
    }
    out += &event(10.6, &format!("{device}dpm_suspend[2] end"));
    out += &event(10.7, &format!("{device}machine_suspend[3] begin"));
    out += &event(12.7, &format!("{device}machine_suspend[3] end"));
    out += &event(12.8, &format!("{device}dpm_resume[16] begin"));
    out += &event(12.9, &format!("{device}dpm_resume[16] end"));
    out + &event(13.0, &format!("{device}thaw_processes[0] end"))
}

fn said(words: &[&str]) -> Vec<u8> {
    let (out, err) = (Kept::default(), Kept::default());
    run(words, out.clone(), err);
    out.taken()
}

fn holds(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|w| w == word.as_bytes())
}

/// The folder of somebody, whose name is in each path.
fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path().join("home/merlin");
    fs::create_dir_all(&home).expect("made");
    fs::write(home.join("rockdove.txt"), NIGHT).expect("written");
    fs::write(home.join("trace.txt"), trace()).expect("written");
    (folder, home)
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[test]
fn no_secret_of_an_input_is_printed_for_others() {
    let (_folder, home) = folder();
    let (night, trace) = (text(&home.join("rockdove.txt")), text(&home.join("trace.txt")));
    let asked: [&[&str]; 14] = [
        &["show"],
        &["show", "--json"],
        &["show", "--only", "sleep", "--csv"],
        &["show", "--only", "sleep", "--set", "markdown"],
        &["show", "--only", "findings"],
        &["doctor"],
        &["check"],
        &["check", "--json"],
        &["check", "--as", "junit"],
        &["check", "--as", "github"],
        &["export", "--to", "json"],
        &["export", "--to", "csv"],
        &["export", "--to", "perfetto"],
        &["export", "--to", "markdown"],
    ];
    let mut leaks = 0;
    for input in [&night, &trace] {
        for words in asked {
            let open = said(&[words, &[input]].concat());
            leaks += SECRETS.iter().filter(|s| holds(&open, s)).count();
            let words = [words, &["--redact", input]].concat();
            let shut = said(&words);
            assert_eq!(open.is_empty(), shut.is_empty(), "{words:?}");
            for secret in SECRETS {
                let shown = String::from_utf8_lossy(&shut);
                assert!(!holds(&shut, secret), "{words:?} says {secret}:\n{shown}");
            }
            assert_eq!(said(&words), shut, "the same bytes: {words:?}");
        }
    }
    assert!(leaks > 60, "the inputs hold secrets that are printed: {leaks}");
}

/// With a key, a machine has the same word in outputs that know nothing of each other; with
/// another key, another.
#[test]
fn a_key_gives_a_host_one_word() {
    let (folder, home) = folder();
    let (night, other) = (text(&home.join("rockdove.txt")), text(&home.join("other.txt")));
    let loud = NIGHT.replace("rockdove", "RockDove.example.org").replace("KX77ZB0042", "x");
    fs::write(&other, loud).expect("written");
    let key = |name: &str, digits: &str| {
        let file = text(&folder.path().join(name));
        fs::write(&file, digits).expect("written");
        format!("--redact={file}")
    };
    let (a, b) = (key("a", &"0f".repeat(32)), key("b", &format!("{}\n", "f0".repeat(32))));
    let host = |redact: &str, input: &str| {
        let said = said(&["show", "--json", redact, input]);
        let value: Value = serde_json::from_slice(&said).expect("JSON");
        value["cycles"][0]["host"].as_str().expect("a host").to_string()
    };
    let word = host(&a, &night);
    assert!(word.len() == 37 && word.starts_with("host-"), "{word}");
    assert_eq!(host(&a, &other), word);
    assert_ne!(host(&b, &night), word);
    assert_eq!(host("--redact", &night), "host-1");
    let (out, err) = (Kept::default(), Kept::default());
    let short = key("short", "0f0f");
    assert_eq!(run(["show", &short, &night], out.clone(), err.clone()), 2);
    assert!(out.taken().is_empty() && holds(&err.taken(), "it is no key"));
}

/// Equal but for texts.
fn same_figures(a: &Value, b: &Value, at: &str) {
    match (a, b) {
        (Value::String(_), Value::String(_)) => {}
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{at}");
            a.iter()
                .zip(b)
                .enumerate()
                .for_each(|(i, (a, b))| same_figures(a, b, &format!("{at}[{i}]")));
        }
        (Value::Object(a), Value::Object(b)) => {
            assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>(), "{at}");
            a.iter().for_each(|(k, v)| same_figures(v, &b[k], &format!("{at}.{k}")));
        }
        _ => assert_eq!(a, b, "{at}"),
    }
}

#[test]
fn figures_are_the_same_for_others() {
    let (_folder, home) = folder();
    for input in ["rockdove.txt", "trace.txt"].map(|n| text(&home.join(n))) {
        for verb in ["show", "check"] {
            let read = |words: &[&str]| -> Value {
                serde_json::from_slice(&said(words)).expect("a document")
            };
            let open = read(&[verb, "--json", &input]);
            let shut = read(&[verb, "--json", "--redact", &input]);
            assert_ne!(open, shut);
            same_figures(&open, &shut, verb);
            assert_eq!(open, read(&[verb, "--json", "--set", "redact=no", &input]));
        }
    }
}
