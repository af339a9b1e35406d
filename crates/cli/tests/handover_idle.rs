//! The files that `idle tune` hands over, given to Debian's programs in a guest:
//! the kernel must show what they say.

use dormouse_lab::qemu::{Accel, Arch, Machine};
use dormouse_lab::script::{self, Wish};
use dormouse_words::idle::handover::Change;
use std::collections::BTreeMap;
use std::time::Duration;

const CPUS: &str = "/sys/devices/system/cpu";

/// A governor, a limit of 50 us, one of nothing, and a state that is off.
fn change() -> Change {
    Change {
        governor: Some("ladder".into()),
        governor_before: Some("menu".into()),
        limits: vec![(0, 50_000), (1, 0)],
        disable: vec![(1, 2)],
        max_cstate: Some(2),
        periodic: true,
        ..Change::default()
    }
}

/// What the kernel is asked: a line each.
fn shown() -> [String; 4] {
    [
        format!("{CPUS}/cpuidle/current_governor"),
        format!("{CPUS}/cpu0/power/pm_qos_resume_latency_us"),
        format!("{CPUS}/cpu1/power/pm_qos_resume_latency_us"),
        format!("{CPUS}/cpu1/cpuidle/state2/disable"),
    ]
}

const SET: [&str; 4] = ["ladder", "50", "n/a", "1"];
const FREE: [&str; 4] = ["menu", "0", "0", "0"];
/// udev has no device for the governor: the file says so.
const BY_UDEV: [&str; 4] = ["menu", "50", "n/a", "1"];

fn file(c: &Change, name: &str) -> String {
    c.files().into_iter().find(|f| f.0 == name).unwrap_or_else(|| panic!("no {name}")).1
}

/// The commands of a unit's lines that begin with `key`.
fn commands(unit: &str, key: &str) -> String {
    unit.lines().filter_map(|l| l.strip_prefix(key)).map(|l| format!("{l}\n")).collect()
}

/// A script that does as each file's head says, and shows what the kernel has then.
fn all_of_them(c: &Change) -> String {
    let show = shown().join(" ");
    let free: String =
        shown().iter().zip(FREE).map(|(path, value)| format!("echo {value} >{path}\n")).collect();
    let put = |path: &str, text: &str| format!("cat >{path} <<'END'\n{text}END\n");
    let unit = file(c, "dormouse-idle.service");
    let machine = Change {
        limits: vec![(0, 20_000), (1, 20_000)],
        for_all: Some(20_000),
        ..Change::default()
    };
    // `# By hand: exec 3> /dev/cpu_dma_latency; printf 0x00000014 >&3; it holds`
    let tuned = file(&machine, "tuned.conf");
    let by_hand = tuned.lines().find_map(|l| l.strip_prefix("# By hand: ")).expect("by hand");
    let by_hand = by_hand.strip_suffix("; it holds").expect("it holds");
    let conf = "/etc/tmpfiles.d/dormouse-idle.conf";
    let parts = [
        (
            "tmpfiles",
            put(conf, &file(c, "dormouse-idle.conf")) + "systemd-tmpfiles --create " + conf,
        ),
        (
            "udev",
            put("/etc/udev/rules.d/90-dormouse-idle.rules", &file(c, "90-dormouse-idle.rules"))
                + "/usr/lib/systemd/systemd-udevd --daemon 2>/dev/null\n\
                   udevadm trigger -s cpu\nudevadm settle\nudevadm control --exit",
        ),
        ("service", commands(&unit, "ExecStart=")),
        ("stopped", commands(&unit, "ExecStart=") + &commands(&unit, "ExecStop=")),
    ];
    let mut out = String::from("export PATH=/bin:/sbin:/usr/bin\n");
    for (name, text) in parts {
        out += &format!("{free}{text}\necho '== {name}'\ncat {show}\n");
    }
    out + "echo '== limit'\nod -An -N4 -td4 /dev/cpu_dma_latency\n"
        + by_hand
        + "\nod -An -N4 -td4 /dev/cpu_dma_latency\n\
           echo '== boot'\ncat /sys/module/intel_idle/parameters/max_cstate\n\
           sleep 1\ngrep -h idle_sleeps /proc/timer_list\n"
}

#[test]
#[ignore = "boots guests: `make prove SUBJECT=verify` runs it"]
fn idle_settings_are_those_of_the_files_in_a_guest() {
    let c = change();
    for series in ["6.12", "7"] {
        let kernel = dormouse_lab::kernels::get(Arch::Amd64, series).expect("a kernel");
        let mut machine = Machine::new(Arch::Amd64, Accel::Icount, 2, &kernel.release);
        let words = file(&c, "cmdline");
        machine.words = words.lines().last().expect("words").into();
        let wish = Wish {
            text: all_of_them(&c).into_bytes(),
            idle: Some("states=2:4,100:400,800:3000 jitter=0 seed=1".into()),
            ..Wish::default()
        };
        let limit = Duration::from_secs(900);
        let said = script::run(&kernel, &machine, &wish, limit).expect("the script ends well");
        let said = said.text;
        let mut parts: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut part = "";
        for line in said.lines() {
            match line.strip_prefix("== ") {
                Some(name) => part = name,
                None => parts.entry(part).or_default().push(line.trim()),
            }
        }
        for (name, want) in
            [("tmpfiles", SET), ("udev", BY_UDEV), ("service", SET), ("stopped", FREE)]
        {
            println!("{}: {name}: {:?}", kernel.release, parts.get(name));
            assert_eq!(parts.get(name).map(Vec::as_slice), Some(&want[..]), "{name}: {said}");
        }
        // Nobody holds a limit; then 20 us, not the 32 of hexadecimal text.
        println!("{}: limit: {:?}", kernel.release, parts["limit"]);
        assert_eq!(parts["limit"], ["2000000000", "20"], "{said}");
        println!("{}: {}: {:?}", kernel.release, machine.words, parts["boot"]);
        assert_eq!(parts["boot"][0], "2", "{said}");
        // With `nohz=off` the tick was never stopped.
        let stops = &parts["boot"][1..];
        assert!(stops.len() == 2 && stops.iter().all(|l| l.ends_with(": 0")), "{said}");
    }
}
