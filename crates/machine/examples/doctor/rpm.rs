//! Boards whose devices are woken for nothing, and the same boards done right.

use crate::told::{Found, above_note, doctor, of, record, row};
use std::fs::{self, File};
use std::io::Write as _;
use std::time::Duration;

const BOARD: &str = "/sys/kernel/debug/dormouse/board";

fn build(devices: &str) -> Result<(), String> {
    let text = match devices {
        "clear" => devices.into(),
        _ => format!("dormouse-board 1\n{devices}end\n"),
    };
    let mut file = File::options().write(true).open(BOARD).map_err(|e| e.to_string())?;
    let said = |e| format!("{e}: {}", fs::read_to_string(BOARD).unwrap_or_default());
    file.write_all(text.as_bytes()).map_err(said)
}

/// A rule, the board that has the fault, the one that has not, and what the sentence must
/// say.
struct Case {
    id: &'static str,
    what: &'static str,
    wrong: &'static str,
    healthy: &'static str,
    says: &'static str,
}

const CASES: [Case; 4] = [
    Case {
        id: "rpm-woken",
        what: "suspended at run time, its bus resumes it to suspend it; twin: prepare returns 1",
        wrong: "device wk suspend=5000000 resume=4000000 rpm_first rpm_suspend=2000000 rpm_resume=8000000\n",
        healthy: "device wk prepare=0,0,1 suspend=5000000 resume=4000000 rpm_first rpm_suspend=2000000 rpm_resume=8000000\n",
        says: "wk was suspended at run time and was resumed",
    },
    Case {
        id: "rpm-parent-held",
        what: "a child is resumed, and its parent with it; twin: the child is left alone",
        wrong: "device up suspend=1000000 rpm_suspend=0 rpm_resume=6000000\n\
                device dn parent=0 suspend=1000000 rpm_first rpm_suspend=0 rpm_resume=3000000\n",
        healthy: "device up prepare=0,0,1 suspend=1000000 rpm_suspend=0 rpm_resume=6000000\n\
                  device dn parent=0 prepare=0,0,1 suspend=1000000 rpm_first rpm_suspend=0 rpm_resume=3000000\n",
        says: "up was resumed at run time only because dn",
    },
    Case {
        id: "rpm-direct-missed",
        what: "all suspended at run time, one child has no prepare; twin: it has",
        wrong: "device up prepare=0,0,1 suspend=4000000 rpm_suspend=0 rpm_resume=0\n\
                device dn parent=0 suspend=1000000 rpm_suspend=0 rpm_resume=0\n",
        healthy: "device up prepare=0,0,1 suspend=4000000 rpm_suspend=0 rpm_resume=0\n\
                  device dn parent=0 prepare=0,0,1 suspend=1000000 rpm_suspend=0 rpm_resume=0\n",
        says: "dn ran, which forbids that",
    },
    Case {
        id: "rpm-after",
        what: "active, unused, suspended right after the sleep; twin: suspended before and left so",
        wrong: "device af active suspend=1000000 resume=7000000 rpm_suspend=1000000 rpm_resume=1000000 autosuspend=100\n",
        healthy: "device af prepare=0,0,1 suspend=1000000 resume=7000000 rpm_suspend=1000000 rpm_resume=1000000 autosuspend=100\n",
        says: "af was resumed from the sleep and suspended again",
    },
];

pub(crate) fn all() -> usize {
    let loaded = File::open("/board.ko")
        .map_err(|e| e.to_string())
        .and_then(|m| rustix::system::finit_module(&m, c"", 0).map_err(|e| e.to_string()));
    if let Err(e) = loaded {
        println!("NOT: the board module can be loaded: {e}");
        return 1;
    }
    let mut bad = 0;
    let look = |board: &str| match build(board) {
        Ok(()) => Ok(doctor(&[&record(&["--pm-test", "platform", "--with", "rpm"])])),
        Err(e) => Err(e),
    };
    for c in &CASES {
        let (wrong, healthy) = match (look(c.wrong), look(c.healthy)) {
            (Ok(w), Ok(h)) => (w, h),
            (Err(e), _) | (_, Err(e)) => {
                println!("NOT: {}: {e}", c.id);
                bad += 1;
                continue;
            }
        };
        let said = of(&wrong, c.id);
        let plain = |f: &Found| f.sentence.replace(" (dormouse)", "");
        let right = said.iter().any(|f| plain(f).contains(c.says));
        let told = said.first().map_or("nothing".into(), |f| format!("{}: {}", f.id, f.sentence));
        // The twin says nothing of that rule about the board, and nothing above a note; the
        // guest's own devices are what they are.
        let mut twin = above_note(&healthy, &["rpm-"]);
        let ours = |f: &&&Found| f.sentence.contains(" (dormouse)");
        twin.extend(of(&healthy, c.id).iter().filter(ours).map(|f| f.id.clone()));
        bad += row("G-rpm", c.what, c.id, &told, right, &twin);
    }
    bad += stays_awake();
    let _ = build("clear");
    bad
}

/// Devices that do not suspend at run time, by the files of the running machine.
fn stays_awake() -> usize {
    let mut bad = 0;
    for (id, what, wrong, control) in [
        (
            "rpm-usage-held",
            "a usage count that nobody gives back; twin: none",
            "device us active suspend=0 rpm_suspend=0 rpm_resume=0 usage=1\n",
            "auto",
        ),
        (
            "rpm-forbidden",
            "active, control is on; twin: suspended, auto",
            "device us active suspend=0 rpm_suspend=0 rpm_resume=0\n",
            "on",
        ),
    ] {
        let mut look = |board: &str, control: &str| -> Vec<Found> {
            if let Err(e) = build(board) {
                println!("NOT: {id}: {e}");
                bad += 1;
                return Vec::new();
            }
            let knob = "/sys/bus/dormouse/devices/us/power/control";
            if control == "on" {
                let _ = fs::write(knob, control);
            }
            // A minute awake is no idle moment.
            std::thread::sleep(Duration::from_secs(65));
            doctor(&[])
        };
        let found = look(wrong, control);
        let healthy = look("device us suspend=0 rpm_suspend=0 rpm_resume=0\n", "auto");
        // Many devices are one matter, told by their number; the guest has others.
        let number = |list: &[Found]| -> u64 {
            let said = of(list, id);
            let count = |f: &&Found| f.sentence.split(' ').next().and_then(|w| w.parse().ok());
            said.iter().map(|f| count(f).unwrap_or(1)).sum()
        };
        let (here, there) = (number(&found), number(&healthy));
        let right = here == there + 1;
        let said = of(&found, id);
        let told = said.first().map_or("nothing".into(), |f| {
            format!("{id}: {} (of {here} devices; without it {there})", f.sentence)
        });
        let ours = |f: &&&Found| f.sentence.contains("Device us ");
        let twin: Vec<String> =
            of(&healthy, id).iter().filter(ours).map(|f| f.id.clone()).collect();
        bad += row("G-rpm", what, id, &told, right, &twin);
    }
    bad
}
