//! `tune --ready net=2s` of a journal: what keeps a limit on the way back as a whole.

use crate::words::said;
use serde_json::Value;

/// How a journal is written.
#[derive(Clone, Copy)]
pub(crate) struct Journal {
    /// Sleeps, one an hour.
    pub nights: u64,
    /// The unit's end, in ms behind the return.
    pub hook: u64,
    /// From there to the link.
    pub link: u64,
    /// From there to the address.
    pub lease: u64,
    /// The network's service was told of the wake-up at the unit's end.
    pub told: bool,
    /// Stamps have microseconds.
    pub exact: bool,
    /// Each night the unit ends up to so many ms later.
    pub jitter: u64,
}

/// One that is quick.
pub(crate) const QUICK: Journal =
    Journal { nights: 3, hook: 400, link: 100, lease: 900, told: true, exact: true, jitter: 0 };

impl Journal {
    pub(crate) fn text(self) -> String {
        (0..self.nights).map(|night| self.one(night)).collect()
    }

    fn one(self, night: u64) -> String {
        let at = |ms: u64, said: &str| {
            let (s, part) = (ms / 1_000, ms % 1_000);
            let part = if self.exact { format!(".{part:03}000") } else { String::new() };
            let (day, hour) = (night / 20 + 1, night % 20);
            format!("Mar {day:02} {hour:02}:{:02}:{:02}{part} elm {said}\n", s / 60, s % 60)
        };
        let late = night * 13 % (self.jitter + 1);
        let (unit, back) = (31_500 + self.hook + late, 31_500);
        let link = unit + self.link;
        let wake = "NetworkManager[900]: <info> manager: sleep: wake requested (sleeping: yes  enabled: yes)";
        [
            at(1_000, "systemd-logind[800]: The system will suspend now!"),
            at(1_400, "systemd-sleep[4100]: Performing sleep operation 'suspend'..."),
            at(1_500, "kernel: PM: suspend entry (s2idle)"),
            at(back, "kernel: PM: suspend exit"),
            at(unit, "systemd[1]: Finished systemd-suspend.service - System Suspend."),
            if self.told { at(unit, wake) } else { String::new() },
            at(link, "kernel: e1000e 0000:00:1f.6 eth0: NIC Link is Up 1000 Mbps"),
            at(link, "NetworkManager[900]: <info> dhcp4 (eth0): activation: beginning transaction"),
            at(
                link + self.lease,
                "NetworkManager[900]: <info> dhcp4 (eth0): state changed new lease",
            ),
        ]
        .concat()
    }
}

fn tuned(limits: &[&str], text: &str) -> (Option<i32>, Value) {
    let limits = limits.iter().flat_map(|l| ["--ready", l]);
    let words: Vec<&str> = ["tune", "-", "--json"].into_iter().chain(limits).collect();
    let (code, out) = said(&words, text);
    let end = out.rfind("\n}").map_or(0, |at| at + 2);
    (code, serde_json::from_str(&out[..end]).unwrap_or(Value::Null))
}

#[test]
fn a_hook_of_ninety_seconds_is_what_keeps_the_network_away() {
    let slow = Journal { hook: 90_000, ..QUICK };
    let (code, plan) = tuned(&["net=2s"], &slow.text());
    assert_eq!((code, &plan["verdict"]), (Some(0), &Value::from("met")), "{plan}");
    assert_eq!(plan["set"], Value::from(vec!["hooks"]));
    assert_eq!(plan["limits"][0]["then_most_ns"], 1_000_000_000);
    let (code, plan) = tuned(&["net=500ms", "unit=1s"], &slow.text());
    assert_eq!((code, &plan["set"]), (Some(0), &Value::from(vec!["hooks", "lease"])), "{plan}");
    // Nothing is to change where it is kept, and what needs no change is not blamed.
    let (code, plan) = tuned(&["net=2s"], &QUICK.text());
    assert_eq!((code, &plan["set"]), (Some(0), &Value::from(Vec::<String>::new())));
    let (_, screen) = said(&["tune", "-", "--ready", "net=2s"], &slow.text());
    assert!(screen.contains("no simulation") && screen.contains("* hooks and units"), "{screen}");
}

#[test]
fn what_is_not_proven_is_no_success_and_what_no_change_does_is_said() {
    let silent = Journal { hook: 90_000, told: false, ..QUICK };
    let (code, plan) = tuned(&["net=2s"], &silent.text());
    assert_eq!((code, &plan["verdict"]), (Some(1), &Value::from("unknown")), "{plan}");
    assert!(!plan["or"].as_array().expect("a list").is_empty(), "{plan}");
    let coarse = Journal { exact: false, ..QUICK };
    assert_eq!(tuned(&["net=500ms"], &coarse.text()).0, Some(5));
    assert_eq!(tuned(&["net=9s"], &coarse.text()).0, Some(0));
    let text = QUICK.text().replace("state changed new lease", "of no lease");
    let (code, out) = said(&["tune", "-", "--ready", "net=2s"], &text);
    assert!(code == Some(1) && out.contains("no line with a time"), "{out}");
    // A screen that came late, and nothing that could be changed.
    let screen = "gnome-shell[9]: Enabling monitor 'eDP-1' (1920x1080)";
    let text: String = QUICK
        .text()
        .lines()
        .map(|l| match l.split_once("kernel: e1000e") {
            Some((stamp, _)) => format!("{stamp}{screen}\n"),
            None if l.contains("systemd[1]") || l.contains("NetworkManager") => String::new(),
            None => format!("{l}\n"),
        })
        .collect();
    let (code, plan) = tuned(&["screen=100ms"], &text);
    assert_eq!((code, &plan["verdict"]), (Some(4), &Value::from("missed")), "{plan}");
}

/// A device of a recording is asked for as before, also beside options of recordings.
#[test]
fn devices_of_recordings_are_asked_for_as_before() {
    let of = |words: &[&str]| said(&[&["tune", "captures/laptop-6.12.tar.gz"], words].concat(), "");
    let (code, text) = of(&["--ready", "usb1=100ms"]);
    assert!(code == Some(0) && text.contains("usb1 (usb) is ready after"), "{text}");
    let (code, text) = of(&["--ready", "net=2s"]);
    assert!(code == Some(2), "no device is named so: {text}");
    let (code, text) = said(&["tune", "-", "--ready", "net=2s", "--keep", "x"], &QUICK.text());
    assert!(code == Some(2) && text.contains("--keep is for recordings"), "{text}");
}

fn compared(a: &str, b: &str, words: &[&str]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let put = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("written");
        path.to_str().expect("a path").to_string()
    };
    let (a, b) = (put("old.txt", a), put("new.txt", b));
    said(&[&["compare", &a, &b], words].concat(), "")
}

#[test]
fn two_journals_are_beside_each_other_and_few_sleeps_claim_nothing() {
    let old = Journal { nights: 6, jitter: 40, ..QUICK };
    let new = Journal { hook: 900, ..old };
    let of = |a: Journal, b: Journal| -> Value {
        let (code, out) = compared(&a.text(), &b.text(), &["--json"]);
        assert_eq!(code, Some(0), "{out}");
        serde_json::from_str(&out).expect("JSON")
    };
    let slower = of(old, new);
    assert_eq!(slower["subject"], "ways");
    let row = |v: &Value, from: &str, until: &str| -> Value {
        let rows = v["rows"].as_array().expect("rows");
        let is = |r: &&Value| r["from"] == from && r["until"] == until;
        rows.iter().find(is).expect("the row").clone()
    };
    let unit = row(&slower, "back", "unit");
    assert_eq!(
        (&unit["contrast"]["verdict"], &unit["contrast"]["difference"]),
        (&"slower".into(), &5e8.into())
    );
    assert_eq!(row(&slower, "unit", "link")["contrast"]["verdict"], "no_difference");
    assert!(
        slower["answer"].as_str().expect("words").contains("the unit of the sleep ended later")
    );
    assert!(of(old, old)["answer"].as_str().expect("words").starts_with("No difference"));
    let few = of(Journal { nights: 4, ..old }, new);
    assert_eq!(row(&few, "back", "unit")["contrast"]["verdict"], "untested");
    assert!(few["answer"].as_str().expect("words").contains("no difference is claimed"), "{few}");
    // The same as the two halves of one text.
    let both = format!("Before:\n{}\nAfter:\n{}", old.text(), new.text());
    let (code, text) = said(&["compare", "-"], &both);
    assert!(code == Some(0) && text.contains("First: Before, 6 sleeps."), "{text}");
    // Every key is on the page.
    let page = include_str!("../../../docs/compare-json.md");
    for key in
        slower.as_object().expect("an object").keys().chain(unit.as_object().expect("one").keys())
    {
        assert!(page.contains(&format!("`{key}`")) || page.contains(&format!(".{key}`")), "{key}");
    }
}

/// Two logs of one text, one below each heading, are two recordings.
#[test]
fn two_logs_below_headings_are_put_beside_each_other() {
    let log = |resume: u32, at: u32| {
        let end = f64::from(at) + 0.3 + f64::from(resume) / 1e3;
        format!(
            "[ {at}.000000] PM: suspend entry (deep)\n\
             [ {at}.200000] PM: suspend of devices complete after 131.000 msecs\n\
             [ {at}.210000] Disabling non-boot CPUs ...\n\
             [ {at}.290000] Enabling non-boot CPUs ...\n\
             [ {end:.6}] PM: resume of devices complete after {resume}.000 msecs\n\
             [ {end:.6}] Restarting tasks ... done.\n\
             [ {end:.6}] PM: suspend exit\n"
        )
    };
    for (before, after) in [
        ("Before the patch (\"oak: do not wait twice\"), elm=1:", "After:"),
        ("Linux 6.11.2:", "Linux 6.12-rc3:"),
    ] {
        let both = format!("{before}\n\n{}\n{after}\n\n{}", log(2_250, 310), log(140, 288));
        let (code, text) = said(&["compare", "-"], &both);
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains("Resume: 2.2") && text.contains(" -> 1"), "{text}");
        assert!(text.contains("With a single cycle on a side"), "{text}");
    }
}
