//! `dormouse show` as a user runs it: a process, with a standard input and a pipe.

use crate::rows::{device, expanded};
use assert_cmd::Command;
use std::io::{Read as _, Write as _};
use std::process::{Command as Process, Stdio};

/// A suspend of two devices, as `trace` prints it.
const TRACE: &str = "\
# tracer: nop
#
#           TASK-PID     CPU#  ||||    TIMESTAMP  FUNCTION
              sh-12      [000] ....   100.000000: suspend_resume: suspend_enter[3] begin
              sh-12      [000] ....   100.000010: suspend_resume: sync_filesystems[0] begin
              sh-12      [000] ....   100.004010: suspend_resume: sync_filesystems[0] end
              sh-12      [000] ....   100.005000: suspend_resume: suspend_enter[3] end
              sh-12      [000] ....   100.005100: suspend_resume: dpm_prepare[2] begin
              sh-12      [000] ....   100.005110: device_pm_callback_start: usb usb1, parent: 0000:00:14.0, [suspend]
              sh-12      [000] ....   100.005111: device_pm_callback_end: usb usb1, err=0
              sh-12      [000] ....   100.005112: device_pm_callback_start: usb 1-1, parent: usb1, [suspend]
              sh-12      [000] ....   100.005113: device_pm_callback_end: usb 1-1, err=0
              sh-12      [000] ....   100.005200: suspend_resume: dpm_prepare[2] end
              sh-12      [000] ....   100.005210: suspend_resume: dpm_suspend[2] begin
    kworker/u8:1-31      [001] ....   100.005230: device_pm_callback_start: usb 1-1, parent: usb1, type [suspend]
    kworker/u8:1-31      [001] ....   100.105230: device_pm_callback_end: usb 1-1, err=0
    kworker/u8:2-32      [000] ....   100.105250: device_pm_callback_start: usb usb1, parent: 0000:00:14.0, type [suspend]
    kworker/u8:2-32      [000] ....   100.115250: device_pm_callback_end: usb usb1, err=0
              sh-12      [000] ....   100.115300: suspend_resume: dpm_suspend[2] end
              sh-12      [000] d...   100.116000: suspend_resume: machine_suspend[3] begin
              sh-12      [000] d...   100.117000: suspend_resume: machine_suspend[3] end
              sh-12      [000] ....   100.118000: suspend_resume: dpm_resume[16] begin
              sh-12      [000] ....   100.119000: suspend_resume: dpm_resume[16] end
              sh-12      [000] ....   100.119100: suspend_resume: thaw_processes[0] begin
              sh-12      [000] ....   100.119900: suspend_resume: thaw_processes[0] end
";

fn dormouse() -> Command {
    Command::new(env!("CARGO_BIN_EXE_dormouse"))
}

fn stdout(command: &mut Command) -> String {
    String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap()
}

#[test]
fn a_trace_from_standard_input() {
    let out = stdout(dormouse().args(["show", "-"]).write_stdin(TRACE));
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.starts_with("Suspend 116.0 ms: 1-1 (USB device) is the bottleneck"), "{out}");
    assert!(words.contains("suspend would take 16.0 ms (-100.0 ms)"), "{out}");
    assert!(words.contains("Kernel unknown, deep, time asleep not known."), "{out}");
    assert!(words.contains("total resume 2.90 100.0 %"), "{out}");
    assert!(out.contains("waited for its child 1-1"), "{out}");
    assert!(!out.contains('\x1b'), "no colour without a terminal");
}

/// The same with what `record --inside` sees in the first callback.
fn probed() -> String {
    let mut lines = String::new();
    for n in 0..4u32 {
        let (from, to) = (105_340 + n * 20_000 - 100_000, 105_340 + n * 20_000 - 80_000);
        lines += &format!(
            "    kworker/u8:1-31      [001] ....   100.{from:06}: msleep_cal: (msleep+0x4/0x40)\n    \
             kworker/u8:1-31      [001] ....   100.{to:06}: msleep_ret: (hub_port_debounce+0x5f/0x1a0 \
             [usbcore] <- msleep)\n"
        );
    }
    let end = "    kworker/u8:1-31      [001] ....   100.105230: device_pm_callback_end";
    TRACE.replace(end, &(lines + end))
}

#[test]
fn what_a_callback_waits_for_is_said_and_may_be_scaled() {
    let out = stdout(dormouse().args(["show", "-"]).write_stdin(probed()));
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    let wait = "80.0 ms msleep in hub_port_debounce, 4 times 20.0 ms.";
    assert!(words.contains(&format!("Of these: {wait}")), "{out}");
    assert!(words.contains(&format!("Of 100.0 ms: {wait}")), "{out}");
    let scaled = |what: &str| {
        let args = ["predict", "-", "--scale", what, "--resamples", "0"];
        let out = dormouse().args(args).write_stdin(probed()).output().unwrap();
        let text = [out.stdout, out.stderr].concat();
        let text = String::from_utf8(text).unwrap();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let said =
        "What callbacks of 1-1 wait for in msleep: multiplied by 1/2, 80.0 ms become 40.0 ms.";
    let half = scaled("1-*@msleep=0.5");
    assert!(half.contains(said), "{half}");
    let other = scaled("1-1@udelay=0.5");
    assert!(other.contains("nothing is known to wait in `udelay`"), "{other}");
}

#[test]
fn json_has_what_a_script_needs() {
    let out = stdout(dormouse().args(["show", "--json", "-"]).write_stdin(TRACE));
    let json = expanded(serde_json::from_str(&out).unwrap());
    assert_eq!(json["schema"], "dormouse-show/2");
    let c = &json["cycles"][0];
    assert_eq!((&c["mode"], &c["outcome"]), (&"deep".into(), &"slept".into()));
    assert_eq!((&c["suspend_ns"], &c["resume_ns"]), (&116_000_000.into(), &2_900_000.into()));
    assert_eq!(c["callbacks"], 4);
    let suspend = c["phases"].as_array().unwrap().iter().find(|p| p["name"] == "suspend").unwrap();
    let last =
        suspend["critical_path"].as_array().unwrap().iter().rfind(|s| !s["device"].is_null());
    let reason = last.unwrap()["reason"].as_u64().unwrap() as usize;
    assert_eq!(json["reasons"][reason], "child");
    assert_eq!(last.unwrap()["proven"], true);
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    for form in ["--json", "--csv", "--markdown"] {
        let run = || stdout(dormouse().args(["show", form, "-"]).write_stdin(TRACE));
        assert_eq!(run(), run());
    }
}

#[test]
fn exit_codes() {
    let code = |args: &[&str], input: &str| {
        dormouse().args(args).write_stdin(input).assert().get_output().status.code().unwrap()
    };
    assert_eq!(code(&["show", "-"], TRACE), 0);
    assert_eq!(code(&["show", "-"], "nothing of interest\n"), 1);
    assert_eq!(code(&["show", "-"], ""), 1);
    assert_eq!(code(&["show"], ""), 2);
    assert_eq!(code(&["show", "--no-such-option", "-"], TRACE), 2);
    assert_eq!(code(&["show", "--json", "--csv", "-"], TRACE), 2);
    assert_eq!(code(&["show", "--phase", "lunch", "-"], TRACE), 2);
    assert_eq!(code(&["show", "--cycle", "2", "-"], TRACE), 2);
    assert_eq!(code(&["show", "/no/such/file"], ""), 3);
}

#[test]
fn errors_say_what_where_and_what_to_do() {
    let error = |args: &[&str], input: &str| {
        let out = dormouse().args(args).write_stdin(input).assert().failure();
        String::from_utf8(out.get_output().stderr.clone()).unwrap()
    };
    let e = error(&["show", "/no/such/file"], "");
    assert!(e.contains("/no/such/file") && e.contains("check"), "{e}");
    let e = error(&["show", "-"], "hello\n");
    assert!(e.starts_with("dormouse: nothing to analyse"), "{e}");
    let e = error(&["show", "--phase", "lunch", "-"], TRACE);
    assert!(e.contains("no such phase") && e.contains("freeze_user"), "{e}");
    let e = error(&["show", "/no/such\x1b[31m/file"], "");
    assert!(!e.contains('\x1b'), "{e:?}");
}

/// `dormouse show … | head -1` must end quietly.
#[test]
fn a_closed_pipe_is_no_error() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("trace.txt");
    // More output than a pipe holds.
    std::fs::File::create(&file).unwrap().write_all(TRACE.repeat(2000).as_bytes()).unwrap();
    let mut child = Process::new(env!("CARGO_BIN_EXE_dormouse"))
        .args(["show", "--json"])
        .arg(&file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0u8; 16];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let out = child.wait_with_output().unwrap();
    assert!(out.status.success(), "{:?}", out.status);
    assert!(out.stderr.is_empty(), "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn the_choice_of_phase_and_cycle() {
    let out = stdout(dormouse().args(["show", "--phase", "prepare", "-"]).write_stdin(TRACE));
    assert!(out.contains("Critical path of prepare") && !out.contains("Critical path of suspend"));
    let twice = TRACE.repeat(2);
    let out = stdout(dormouse().args(["show", "--cycle", "2", "-"]).write_stdin(twice));
    assert!(out.contains("Cycle 2 of 2, kernel unknown"), "{out}");
}

/// A dump of one CPU, and a trace in which it sleeps 20 times for 10 ms.
fn idle_inputs(dir: &std::path::Path) -> [std::path::PathBuf; 2] {
    let path = "/sys/devices/system/cpu/cpu0/cpuidle";
    let dump = format!(
        "/sys/devices/system/cpu/cpuidle/current_governor:menu\n\
         {path}/state0/name:WFI\n{path}/state0/latency:1\n{path}/state0/residency:1\n\
         {path}/state1/name:off\n{path}/state1/latency:50\n{path}/state1/residency:500\n"
    );
    let mut trace = String::new();
    for i in 0..20 {
        for (us, event) in [
            (0, "cpu_idle: state=1 cpu_id=0"),
            (10_050, "cpu_idle: state=4294967295 cpu_id=0"),
            (10_060, "irq_handler_entry: irq=9 name=arch_timer"),
        ] {
            let at = 1_000_000 + i * 10_100 + us;
            let (s, us) = (at / 1_000_000, at % 1_000_000);
            trace += &format!("  <idle>-0  [000] d..1.  {s}.{us:06}: {event}\n");
        }
    }
    let files = [dir.join("trace.txt"), dir.join("states.txt")];
    std::fs::write(&files[0], trace).unwrap();
    std::fs::write(&files[1], dump).unwrap();
    files
}

#[test]
fn idle_states_under_a_limit() {
    let dir = tempfile::tempdir().unwrap();
    let files = idle_inputs(dir.path());
    let predict = |more: &[&str]| {
        let mut command = dormouse();
        command.args(["idle", "predict"]).args(&files).args(more);
        command
    };
    let out = stdout(&mut predict(&["--latency-limit", "20us"]));
    assert!(out.contains("wake-up delay p99 50 -> 1 us"), "{out}");
    assert!(out.contains("20 wake-ups of 1 CPU replayed"), "{out}");
    let none = stdout(&mut predict(&[]));
    assert!(none.starts_with("Nothing is changed"), "{none}");
    predict(&["--disable", "C6"]).assert().code(2);
    predict(&["--governor", "haltpoll", "--latency-limit", "20"]).assert().code(2);
    // A limit may hold for some CPUs alone, and for none that is not there.
    let one = stdout(&mut predict(&["--latency-limit", "20us@0"]));
    assert!(one.contains("wake-up delay p99 50 -> 1 us"), "{one}");
    predict(&["--latency-limit", "20us@1"]).assert().code(2);
    // 0 hands over to another driver, whose table nobody gave.
    predict(&["--max-cstate", "0"]).assert().code(2);
    let fewer = stdout(&mut predict(&["--max-cstate", "1", "--tick", "periodic"]));
    assert!(fewer.contains("wake-up delay p99 50 -> 50 us"), "{fewer}");
    // Powers of 10 mW and 1 mW: 9 * 500 us into off, 1 mW for 10 ms, 20 times.
    let watts = stdout(&mut predict(&["--disable", "off", "--watts", "WFI=10mW,off=1mW"]));
    assert!(watts.replace("\n  ", " ").contains("Power is as given (--watts)"), "{watts}");
    let energy = watts.lines().find(|l| l.starts_with("energy, mJ ")).expect("energy");
    assert!(energy.contains(" 0.29 "), "{watts}");
    predict(&["--watts", "WFI=10mW"]).assert().code(2);
    predict(&["--watts", "WFI=1mW,off=10mW"]).assert().code(2);
    let sweep = stdout(&mut predict(&["--sweep", "limit"]));
    assert!(sweep.starts_with("1 limit makes a difference: p99 from 1 us"), "{sweep}");
    assert!(sweep.lines().all(|l| l.chars().count() <= 80), "{sweep}");
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&mut predict(&["--sweep", "limit", "--json"]))).unwrap();
    assert_eq!(json["schema"], "dormouse-predict/1");
    assert_eq!(json["trusted"], true);
    assert_eq!(json["sweep"][1]["model"]["delay_ns"]["p99"], 50_000);
    assert_eq!(json["recorded"][1]["sleeps"], 20);
    // Without the dump there is no table.
    dormouse().args(["idle", "predict", "--from-governor", "teo"]).arg(&files[0]).assert().code(1);
}

#[test]
fn idle_settings_for_a_budget_are_handed_over() {
    let dir = tempfile::tempdir().unwrap();
    let files = idle_inputs(dir.path());
    let tune = |more: &[&str]| {
        let mut command = dormouse();
        command.args(["idle", "tune"]).args(&files).args(more);
        command
    };
    let to = dir.path().join("changes");
    let to = to.to_str().unwrap();
    let out = stdout(&mut tune(&["--p99", "20us", "-o", to]));
    assert!(out.starts_with("Set limit 1 us: p99 50 -> 1 us"), "{out}");
    // A command is never broken.
    let fits = |l: &str| l.chars().count() <= 80 || l.starts_with("Next: ");
    assert!(out.lines().all(fits), "{out}");
    let conf = std::fs::read_to_string(format!("{to}/dormouse-idle.conf")).unwrap();
    assert!(conf.contains("cpu0/power/pm_qos_resume_latency_us - - - - 1\n"), "{conf}");
    let tuned = std::fs::read_to_string(format!("{to}/tuned.conf")).unwrap();
    assert!(tuned.contains("force_latency=1\n"), "{tuned}");
    // Met as it is, not to be met, and not to be judged.
    let stays = stdout(&mut tune(&["--p99", "50us"]));
    assert!(stays.starts_with("Change nothing: p99 50 us is met"), "{stays}");
    tune(&["--p99", "0"]).assert().code(4);
    tune(&["--power", "1W"]).assert().code(2);
    tune(&[]).assert().code(2);
    // 10 mW in WFI and 1 in off: 1.4 mW are met with off, 1 mW is not.
    let watts = ["--watts", "WFI=10mW,off=1mW,active=0W"];
    let power = stdout(tune(&["--power", "1500uW"]).args(watts));
    assert!(power.starts_with("Change nothing: 0.00 W is met"), "{power}");
    tune(&["--power", "1mW"]).args(watts).assert().code(4);
    // Work would count as nothing.
    tune(&["--power", "1W", "--watts", "WFI=10mW,off=1mW"]).assert().code(2);
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&mut tune(&["--p99", "20us", "--json"]))).unwrap();
    assert_eq!((&json["met"], &json["changed"]), (&true.into(), &true.into()));
    assert_eq!(json["then"]["delay_ns"]["p99"], 1_000);
}

#[test]
fn settings_of_real_time_cpus_are_checked() {
    let dir = tempfile::tempdir().unwrap();
    let text = dir.path().join("snapshot.txt");
    let cpu = "/sys/devices/system/cpu";
    std::fs::write(
        &text,
        format!(
            "/proc/cmdline:isolcpus=1 nohz_full=1\n{cpu}/online:0-1\n\
             /proc/irq/9/smp_affinity_list:0-1\n\
             {cpu}/cpu1/power/pm_qos_resume_latency_us:0\n\
             {cpu}/cpu1/cpuidle/state0/latency:0\n{cpu}/cpu1/cpuidle/state1/latency:133\n\
             {cpu}/cpu1/cpuidle/state1/name:C6\n{cpu}/cpu1/cpuidle/state1/disable:0\n"
        ),
    )
    .unwrap();
    let script = dir.path().join("mend.sh");
    let mut command = dormouse();
    command.args(["idle", "check", "--realtime"]).arg(&text).arg("-o").arg(&script);
    let out = command.assert().code(4).get_output().stdout.clone();
    let out = String::from_utf8(out).unwrap();
    let first = "2 settings may delay CPU 1; the worst that is known is 133 us: CPU 1 may sleep";
    assert_eq!(out.lines().next().map(|l| first.starts_with(l)), Some(true), "{out}");
    assert!(out.lines().all(|l| l.chars().count() <= 80), "{out}");
    let script = std::fs::read_to_string(script).unwrap();
    assert!(script.contains("put 0 /proc/irq/9/smp_affinity_list\n"), "{script}");
    assert!(script.contains("put 10 /sys/devices/system/cpu/cpu1/power/"), "{script}");
    // Nothing of the kind, and nothing at all.
    std::fs::write(&text, "hello\n").unwrap();
    dormouse().args(["idle", "check", "--realtime"]).arg(&text).assert().code(1);
    std::fs::remove_file(&text).unwrap();
    dormouse().args(["idle", "check", "--realtime"]).arg(&text).assert().code(3);
}

#[test]
fn idle_states_of_a_trace_and_a_dump() {
    let dir = tempfile::tempdir().unwrap();
    let dump = dir.path().join("states.txt");
    let path = "/sys/devices/system/cpu/cpu0/cpuidle";
    std::fs::write(
        &dump,
        format!(
            "{path}/state0/name:WFI\n{path}/state0/latency:1\n{path}/state0/residency:1\n\
             {path}/state1/name:off\n{path}/state1/latency:50\n{path}/state1/residency:500\n"
        ),
    )
    .unwrap();
    let mut trace = String::new();
    for i in 0..4 {
        trace += &format!(
            "  <idle>-0  [000] d..1.  1.{i}00000: cpu_idle: state=1 cpu_id=0\n  \
               <idle>-0  [000] d..1.  1.{i}00200: cpu_idle: state=4294967295 cpu_id=0\n  \
               <idle>-0  [000] d.h1.  1.{i}00210: irq_handler_entry: irq=9 name=eth0\n"
        );
    }
    let mut command = dormouse();
    let out = stdout(command.args(["idle", "show"]).arg(&dump).arg("-").write_stdin(trace));
    let first = "off is too deep for 4 of its 4 sleeps (100 %): they ended before it paid.";
    assert_eq!(out.lines().next(), Some(first), "{out}");
    assert!(out.contains("irq eth0"), "{out}");
    assert!(out.rsplit("\n\n").next().is_some_and(|l| l.starts_with("Next: ")), "{out}");
    let trace = dir.path().join("again.txt");
    std::fs::write(&trace, "  <idle>-0  [000] d..1.  1.0: cpu_idle: state=1 cpu_id=0\n").unwrap();
    let json = stdout(dormouse().args(["idle", "show", "--json"]).args([&dump, &trace]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["schema"], "dormouse-show/2");
    let json = &json["idle"];
    assert_eq!(json["snapshots"][0]["sections"][0]["states"][1]["target_residency_us"], 500);
    assert_eq!(json["traces"][0]["cpus"][0]["open_at_end"], 1);
    // Nothing about idle states: an exit code and advice, not an empty page.
    dormouse().args(["idle", "show", "-"]).write_stdin(TRACE).assert().code(1);
}

/// What a mail quotes of a log: ends of callbacks alone.
const ENDS: &str = "\
> [  104.241129] ice 0000:86:00.0: PM: x_pm_resume returned 0 after 9415 usecs
> [  104.251206] usb usb1: PM: y_resume_early returned 0 after 12443 usecs
";

#[test]
fn ends_alone_are_ranked_and_nothing_is_predicted_from_them() {
    let text = stdout(dormouse().args(["show", "-"]).write_stdin(ENDS));
    assert!(text.contains("there is no schedule"), "{text}");
    assert!(text.contains("removing saves at most, ms"), "{text}");
    assert!(text.find("usb1").unwrap() < text.find("0000:86:00.0").unwrap(), "{text}");
    assert!(!text.contains("Critical path"), "{text}");
    let json = stdout(dormouse().args(["show", "--json", "-"]).write_stdin(ENDS));
    let json = expanded(serde_json::from_str(&json).unwrap());
    assert_eq!(json["cycles"].as_array().unwrap().len(), 0);
    let list = &json["ranked"][0];
    assert_eq!(device(&json, &list["callbacks"][0]["device"]), "usb1");
    assert_eq!(list["callbacks"][0]["phase"], "early");
    assert_eq!(list["callbacks"][1]["phase"], serde_json::Value::Null);
    assert_eq!(list["devices"][0]["saves_at_most_ns"], 12_443_000);
    let markdown = stdout(dormouse().args(["show", "--markdown", "-"]).write_stdin(ENDS));
    assert!(markdown.contains("| removing it saves at most, ms |"), "{markdown}");
    for verb in [&["show", "--csv", "-"][..], &["predict", "-", "--kernel", "6.12"]] {
        let out = dormouse().args(verb).write_stdin(ENDS).output().unwrap();
        assert_eq!(out.status.code(), Some(1), "{verb:?}");
        let error = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(error.contains("`dormouse show` ranks them"), "{verb:?}: {error}");
    }
}

/// A row is a callback, and silence is none.
#[test]
fn a_table_of_callbacks_without_any_says_so() {
    let log = "[    1.000000] PM: suspend entry (deep)\n[    1.100000] Filesystems sync: 0.090 seconds\n\
        [    1.200000] PM: suspend of devices complete after 60.000 msecs\n[    2.000000] PM: suspend exit\n";
    for verb in [&["show", "--csv", "-"][..], &["export", "--to", "csv", "-"]] {
        let out = dormouse().args(verb).write_stdin(log).output().unwrap();
        assert_eq!(out.status.code(), Some(1), "{verb:?}");
        let error = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(error.contains("no line tells of a callback"), "{verb:?}: {error}");
    }
}
