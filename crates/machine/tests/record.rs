//! What a recording holds, on a made-up tree.

use crate::fake::{ALARM, EVENTS, Fake, INSTANCE, Kernel};
use dormouse_capture as capture_file;
use dormouse_machine::guard::{Observer, Step};
use dormouse_machine::options::{Detail, Inside, Options, State, Wake};
use dormouse_machine::recorder::{self, Error, NoWatch, Watch};
use dormouse_machine::watch::{self, Ask, Until};
use dormouse_machine::{file, wake};
use std::time::Duration;

fn pm_test() -> Options {
    Options {
        pm_test: Some("devices".into()),
        interval: Duration::ZERO,
        cycles: 3,
        ..Options::default()
    }
}

#[test]
fn a_capture_comes_back_as_it_was_and_its_bytes_are_stable() {
    let fake = Fake::new();
    let mut kernel = Kernel::new(&fake);
    let outcome = recorder::record(&fake.root, &pm_test(), &mut kernel, &mut NoWatch).unwrap();
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    let one = file::encode(&outcome.recording, Vec::new()).unwrap();
    let two = file::encode(&outcome.recording, Vec::new()).unwrap();
    assert_eq!(one, two);
    let path = fake.dir.path().join("out.tar.gz");
    outcome.recording.save(&path).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), one);

    let (read, losses) = capture_file::read(&one).unwrap();
    assert!(losses.list.is_empty(), "{losses:?}");
    let mut expected = outcome.recording.file.clone();
    expected.document.cycles = 3;
    expected.cycles = outcome.recording.cycles().map(Result::unwrap).collect();
    assert_eq!(read, expected);
    assert_eq!(read.cycles.len(), 3);
    assert_eq!(read.cycles[1].dmesg, b"[    5.000000] PM: suspend exit\n");
}

#[test]
fn devices_links_and_facts_are_listed() {
    let fake = Fake::new();
    let mut kernel = Kernel::new(&fake);
    let outcome = recorder::record(&fake.root, &pm_test(), &mut kernel, &mut NoWatch).unwrap();
    let f = &outcome.recording.file;
    let get = |p: &str| f.devices.iter().find(|d| d.devpath == p).unwrap();
    let rtc = get("/devices/platform/rtc_cmos/rtc/rtc0");
    assert_eq!(rtc.parent, "/devices/platform/rtc_cmos");
    assert_eq!(rtc.subsystem, "rtc");
    let disk = get("/devices/platform/soc/vda");
    assert_eq!((disk.driver.as_str(), disk.async_flag), ("virtio_blk", Some(true)));
    assert_eq!(disk.of_fullname, "/n/devices/platform/soc/vda");
    // The partition carries the root file system, and all above it.
    for path in ["/devices/platform/soc/vda/vda1", "/devices/platform/soc", "/devices/platform"] {
        assert_eq!(get(path).essential, "root", "{path}");
    }
    assert_eq!(get("/devices/platform/rtc_cmos").essential, "");
    let wakeup = get("/devices/platform/soc/wakeup/wakeup3");
    assert!(wakeup.no_pm);
    assert_eq!(wakeup.parent, "/devices/platform/soc");
    assert_eq!(f.links.len(), 1);
    assert_eq!(f.links[0].supplier, "/devices/platform/soc");
    assert_eq!(f.links[0].consumer, "/devices/platform/rtc_cmos");
    assert_eq!((f.links[0].status.as_str(), f.links[0].runtime_pm), ("active", Some(true)));
    let d = &f.document;
    assert_eq!(d.kernel.release, "6.12.0-test");
    assert_eq!(d.machine.topology.len(), 2);
    assert_eq!(d.knobs_found["/sys/power/pm_print_times"], "1");
    let changed: Vec<&str> = d.knobs_changed.iter().map(|k| k.path.as_str()).collect();
    assert!(changed.contains(&"/sys/power/pm_test"), "{changed:?}");
    let stats = outcome.recording.cycles().next().unwrap().unwrap().stats;
    assert_eq!((stats.dirty_bytes, stats.writeback_bytes), (Some(12_288), Some(4_096)));
    assert_eq!(stats.pm_test, "devices");
    assert_eq!(stats.counts.workers, Some(1));
    assert!(stats.clocks.boottime_after >= stats.clocks.boottime_before);
    assert_eq!(stats.clocks.monotonic_stood_still() / 1_000_000_000, 0);
}

/// They name the device in which a machine hung, if anything does.
#[test]
fn lines_of_callbacks_stay_if_they_are_wanted() {
    for (callback_lines, during) in [(false, "0"), (true, "1")] {
        let fake = Fake::new();
        let mut kernel = Kernel::new(&fake);
        let options = Options { callback_lines, ..pm_test() };
        let outcome = recorder::record(&fake.root, &options, &mut kernel, &mut NoWatch).unwrap();
        let changed = &outcome.recording.file.document.knobs_changed;
        let path = "/sys/power/pm_print_times";
        let now = changed.iter().find(|k| k.path == path).map_or("1", |k| &k.new);
        assert_eq!(now, during);
        assert_eq!(fake.root.read(path).as_deref(), Some("1"), "it is put back");
    }
}

#[test]
fn domains_suppliers_and_the_device_tree_are_recorded() {
    let record = |fake: &Fake| {
        let mut kernel = Kernel::new(fake);
        recorder::record(&fake.root, &pm_test(), &mut kernel, &mut NoWatch).unwrap().recording
    };
    let fake = Fake::new();
    let plain = record(&fake).file;
    assert_eq!(plain.domains, b"/proc/cmdline:quiet root=/dev/vda1\n");
    assert!(plain.tree.is_empty() && plain.document.losses.is_empty());
    let debug = "/sys/kernel/debug";
    fake.put(&format!("{debug}/devices_deferred"), "1.mmc\tmmc: no clock\n");
    fake.put(&format!("{debug}/pm_genpd/pm_genpd_summary"), "domain\ngpu  on\n");
    fake.put(&format!("{debug}/pm_genpd/gpu/current_state"), "on\n");
    fake.put("/sys/devices/platform/soc/waiting_for_supplier", "1\n");
    fake.put("/sys/devices/platform/soc/state_synced", "0\n");
    let acpi = "/devices/LNXSYSTM:00/device:1a";
    fake.device(acpi, "acpi", "", "disabled");
    fake.put(&format!("/sys{acpi}/power_state"), "D0\n");
    fake.put(&format!("/sys{acpi}/real_power_state"), "D0\n");
    fake.put(&format!("/sys{acpi}/power_resources_D0/LNXPOWER:00/resource_in_use"), "1\n");
    fake.put("/sys/firmware/fdt", "tree");
    let recording = record(&fake);
    let text = String::from_utf8(recording.file.domains.clone()).unwrap();
    for line in [
        "==> /sys/kernel/debug/devices_deferred <==\n1.mmc\tmmc: no clock\n",
        "==> /sys/kernel/debug/pm_genpd/pm_genpd_summary <==\ndomain\ngpu  on\n",
        "/sys/kernel/debug/pm_genpd/gpu/current_state:on\n",
        "/sys/devices/platform/soc/waiting_for_supplier:1\n",
        "/sys/devices/platform/soc/state_synced:0\n",
        "/sys/devices/LNXSYSTM:00/device:1a/power_state:D0\n",
        "/device:1a/power_resources_D0/LNXPOWER:00/resource_in_use:1\n",
    ] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
    // Reading it would ask the firmware.
    assert!(!text.contains("real_power_state"));
    assert_eq!(recording.file.tree, b"tree");
    let bytes = file::encode(&recording, Vec::new()).unwrap();
    let (read, losses) = capture_file::read(&bytes).unwrap();
    assert!(losses.list.is_empty());
    assert_eq!((read.domains, read.tree), (recording.file.domains, recording.file.tree));
}

#[test]
fn without_an_armed_wake_source_nothing_sleeps() {
    let sleeps = |fake: &Fake, wake: Wake, broken_alarm| {
        let mut kernel = Kernel::new(fake);
        kernel.broken_alarm = broken_alarm;
        let options = Options { wake, ..Options::default() };
        let outcome = recorder::record(&fake.root, &options, &mut kernel, &mut NoWatch).unwrap();
        (kernel.asleep, outcome.error)
    };
    let fake = Fake::new();
    let before = fake.snapshot();
    let (asleep, error) = sleeps(&fake, Wake::Rtc { seconds: 9 }, true);
    assert!(matches!(error, Some(Error::Wake(wake::Error::NotArmed { .. }))), "{error:?}");
    assert_eq!(asleep, 0);
    assert_eq!(fake.snapshot(), before);
    let (asleep, error) = sleeps(&fake, Wake::External { enable: vec![] }, false);
    assert!(matches!(error, Some(Error::Wake(wake::Error::NothingEnabled))), "{error:?}");
    assert_eq!(asleep, 0);
    // An alarm one second ahead has rung before the machine sleeps.
    let (asleep, error) = sleeps(&fake, Wake::Rtc { seconds: 1 }, false);
    assert!(matches!(error, Some(Error::Wake(wake::Error::TooLate { .. }))), "{error:?}");
    assert_eq!(asleep, 0);
    std::fs::remove_file(fake.at("/sys/devices/platform/rtc_cmos/power/wakeup")).unwrap();
    let (asleep, error) = sleeps(&fake, Wake::Rtc { seconds: 9 }, false);
    assert!(matches!(error, Some(Error::Wake(wake::Error::NoClock))), "{error:?}");
    assert_eq!(asleep, 0);
    assert_eq!(fake.root.read(ALARM).unwrap(), "");
}

#[test]
fn a_test_level_that_does_not_take_is_not_mistaken_for_one() {
    let fake = Fake::new();
    let mut kernel = Kernel::new(&fake);
    kernel.broken_test = true;
    let outcome = recorder::record(&fake.root, &pm_test(), &mut kernel, &mut NoWatch).unwrap();
    assert!(matches!(outcome.error, Some(Error::TestNotSet { .. })), "{:?}", outcome.error);
    assert_eq!(kernel.asleep, 0);
}

#[test]
fn a_hibernation_needs_no_alarm_only_if_it_restores_itself() {
    let hibernates = |disk: &str, wake: Wake, broken_test: bool| {
        let fake = Fake::new();
        let before = fake.snapshot();
        let mut kernel = Kernel::new(&fake);
        kernel.broken_test = broken_test;
        let disk = Some(disk.to_owned());
        let options = Options { state: State::Disk, disk, wake, ..Options::default() };
        let outcome = recorder::record(&fake.root, &options, &mut kernel, &mut NoWatch).unwrap();
        // Put back.
        let now = fake.root.read("/sys/power/disk").unwrap();
        assert!(now == "platform" || now.starts_with("[platform]"), "{now}");
        assert!(kernel.asleep > 0 || fake.snapshot() == before);
        (kernel.asleep, outcome.error)
    };
    let nobody = || Wake::External { enable: vec![] };
    let (asleep, error) = hibernates("test_resume", nobody(), false);
    assert!(asleep == 1 && error.is_none(), "{error:?}");
    // Any other mode powers the machine off.
    let (asleep, error) = hibernates("platform", nobody(), false);
    assert!(matches!(error, Some(Error::Wake(wake::Error::NothingEnabled))), "{error:?}");
    assert_eq!(asleep, 0);
    let (asleep, error) = hibernates("test_resume", nobody(), true);
    assert!(matches!(error, Some(Error::DiskNotSet { .. })), "{error:?}");
    assert_eq!(asleep, 0);
}

#[test]
fn with_an_armed_wake_source_it_sleeps() {
    let fake = Fake::new();
    let mut kernel = Kernel::new(&fake);
    let outcome =
        recorder::record(&fake.root, &Options::default(), &mut kernel, &mut NoWatch).unwrap();
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert_eq!(kernel.asleep, 1);
    // The alarm is cleared, and the RTC may not wake the machine any more.
    assert_eq!(fake.root.read("/sys/devices/platform/rtc_cmos/power/wakeup").unwrap(), "disabled");
}

#[test]
fn a_failed_attempt_is_a_cycle_with_its_errno() {
    let fake = Fake::new();
    let mut kernel = Kernel::new(&fake);
    kernel.sleep_result = Some(16);
    let outcome = recorder::record(&fake.root, &pm_test(), &mut kernel, &mut NoWatch).unwrap();
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    let results: Vec<i32> = outcome.recording.cycles().map(|c| c.unwrap().stats.result).collect();
    assert_eq!(results, [-16, -16, -16]);
}

#[test]
fn a_request_to_stop_keeps_what_was_recorded() {
    struct StopAfterOne(u32);
    impl Watch for StopAfterOne {
        fn progress(&mut self, p: recorder::Progress) {
            if matches!(p, recorder::Progress::End { .. }) {
                self.0 += 1;
            }
        }
        fn stop(&self) -> bool {
            self.0 >= 1
        }
    }
    let fake = Fake::new();
    let before = fake.snapshot();
    let mut kernel = Kernel::new(&fake);
    let outcome =
        recorder::record(&fake.root, &pm_test(), &mut kernel, &mut StopAfterOne(0)).unwrap();
    assert_eq!(outcome.recording.len(), 1);
    assert_eq!(fake.snapshot(), before);
}

#[test]
fn a_rehearsal_shows_every_write_and_makes_none() {
    struct List(Vec<Step>);
    impl Observer for List {
        fn before(&mut self, step: &Step) -> std::io::Result<()> {
            self.0.push(step.clone());
            Ok(())
        }
    }
    let fake = Fake::new();
    let before = fake.snapshot();
    let mut list = List(Vec::new());
    recorder::rehearse(&fake.root, &Options::default(), &mut list).unwrap();
    assert_eq!(fake.snapshot(), before);
    assert!(!fake.at("/run").exists());

    let mut kernel = Kernel::new(&fake);
    recorder::record(&fake.root, &Options::default(), &mut kernel, &mut NoWatch).unwrap();
    let writes = |steps: &[Step]| -> Vec<Step> {
        steps.iter().filter(|s| matches!(s, Step::Write { .. })).cloned().collect()
    };
    let (shown, made) = (writes(&list.0), writes(&kernel.steps));
    // Putting back follows at the end of the real one.
    assert_eq!(shown, made[..shown.len()]);
    assert!(shown.len() > 20);
}

#[test]
fn a_sleep_state_that_is_not_offered_is_refused_before_anything_is_done() {
    let fake = Fake::new();
    let mut kernel = Kernel::new(&fake);
    let options = Options { mem_sleep: Some("shallow".into()), ..Options::default() };
    let error = recorder::record(&fake.root, &options, &mut kernel, &mut NoWatch).unwrap_err();
    assert!(error.to_string().contains("shallow"), "{error}");
    assert!(kernel.steps.is_empty());
}

/// A trace of the made-up devices in which one works in each direction.
fn made_up_trace() -> String {
    let devices = [
        (" platform", "none"),
        ("rtc_cmos rtc_cmos", "platform"),
        ("rtc rtc0", "rtc_cmos"),
        ("platform soc", "platform"),
        ("virtio_blk vda", "soc"),
        ("block vda1", "vda"),
    ];
    let mut text = String::from("# tracer: nop\n");
    let mut us = 5_000_000;
    let mut line = |event: String| {
        us += 250;
        text.push_str(&format!(
            "     dormouse-99      [001] .....     {}.{:06}: {event}\n",
            us / 1_000_000,
            us % 1_000_000
        ));
    };
    let bracket = |name: &str, end: bool| {
        format!("suspend_resume: {name} {}", ["begin", "end"][end as usize])
    };
    let both = |(d, p): (&str, &str), ops: &str| {
        [
            format!("device_pm_callback_start: {d}, parent: {p}, {ops}"),
            format!("device_pm_callback_end: {d}, err=0"),
        ]
    };
    line(bracket("suspend_enter[3]", false));
    line(bracket("suspend_enter[3]", true));
    line(bracket("dpm_prepare[2]", false));
    devices.iter().flat_map(|d| both(*d, "[suspend]")).for_each(&mut line);
    line(bracket("dpm_prepare[2]", true));
    line(bracket("dpm_suspend[2]", false));
    both(devices[4], "bus [suspend]").into_iter().for_each(&mut line);
    line(bracket("dpm_suspend[2]", true));
    line(bracket("dpm_resume[16]", false));
    both(devices[4], "bus [resume]").into_iter().for_each(&mut line);
    line(bracket("dpm_resume[16]", true));
    line(bracket("dpm_complete[16]", false));
    devices.iter().rev().flat_map(|d| both(*d, "[resume]")).for_each(&mut line);
    line(bracket("dpm_complete[16]", true));
    line(bracket("thaw_processes[0]", false));
    line(bracket("thaw_processes[0]", true));
    text
}

#[test]
fn what_is_recorded_can_be_read() {
    let fake = Fake::new();
    let mut kernel = Kernel::new(&fake);
    kernel.trace = made_up_trace();
    let options = Options { cycles: 2, ..pm_test() };
    let outcome = recorder::record(&fake.root, &options, &mut kernel, &mut NoWatch).unwrap();
    let bytes = file::encode(&outcome.recording, Vec::new()).unwrap();
    // To be run once for each new version of the format; the file is kept.
    if let Some(path) = std::env::var_os("DORMOUSE_KEEP_CAPTURE") {
        std::fs::write(path, &bytes).unwrap();
    }
    let reading = dormouse_read::read_bytes("x", &bytes, &Default::default()).unwrap();
    let c = &reading.captures[0];
    assert!(c.losses.list.is_empty(), "{:?}", c.losses);
    assert_eq!(c.cycles.len(), 2);
    assert_eq!(c.cycles[1].callbacks.len(), 2 * 6 + 2);
    let worked = c.cycles[0].callbacks.iter().find(|b| c.names.get(b.function) == "bus").unwrap();
    let device = c.graph.get(worked.device);
    assert_eq!(c.names.get(device.facts.devpath), "/devices/platform/soc/vda");
}

#[test]
fn what_callbacks_wait_for_is_probed_where_the_kernel_has_it() {
    let functions = ["msleep", "schedule_timeout", "wait_for_completion", "spi_sync"];
    let fake = Fake::new().with_functions(&functions);
    let before = fake.snapshot();
    let mut kernel = Kernel::new(&fake);
    kernel.trace = made_up_trace().replace(
        "     dormouse-99      [001] .....     5.005750: device_pm_callback_end",
        "     dormouse-99      [001] .....     5.005600: msleep_cal: (msleep+0x4/0x40)\n     \
         dormouse-99      [001] .....     5.005700: msleep_ret: (vda_wait+0x10/0x40 <- msleep)\n     \
         dormouse-99      [001] .....     5.005750: device_pm_callback_end",
    );
    let options = Options { inside: Inside::All, cycles: 1, ..pm_test() };
    let outcome = recorder::record(&fake.root, &options, &mut kernel, &mut NoWatch).unwrap();
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert_eq!(fake.snapshot(), before);
    let made: Vec<&str> = kernel
        .steps
        .iter()
        .filter_map(|s| match s {
            Step::Write { path, value } if path == EVENTS && !value.starts_with('-') => {
                Some(value.as_str())
            }
            _ => None,
        })
        .collect();
    for function in ["msleep", "schedule_timeout", "spi_sync"] {
        let ret = made.iter().position(|m| m.ends_with(&format!("_ret {function}")));
        let call = made.iter().position(|m| *m == format!("p:dormouse/{function}_cal {function}"));
        assert!(ret.expect(function) < call.expect(function), "{made:?}");
    }
    let who = made.iter().find(|m| m.contains("wait_for_completion_who")).unwrap();
    assert!(who.contains(" done=+0($arg1):u32"), "{who}");
    // Nobody calls what is not there, and that is no loss.
    assert!(!made.iter().any(|m| m.contains("mutex") || m.contains("i2c")), "{made:?}");
    let document = &outcome.recording.file.document;
    assert!(document.losses.is_empty(), "{:?}", document.losses);
    assert_eq!(document.settings.detail, ["inside=all"]);
    let filter = format!("{INSTANCE}/events/dormouse/wait_for_completion_who/filter");
    let filtered = Step::Write { path: filter, value: "done == 0".into() };
    assert!(kernel.steps.contains(&filtered));
    let stats = outcome.recording.cycles().next().unwrap().unwrap().stats;
    assert_eq!(stats.probes.map(|p| (p.hits, p.missed)), Some((2, 0)));

    let bytes = file::encode(&outcome.recording, Vec::new()).unwrap();
    let reading = dormouse_read::read_bytes("x", &bytes, &Default::default()).unwrap();
    let c = &reading.captures[0];
    let [wait] = &c.cycles[0].waits[..] else { panic!("{:?}", c.cycles[0].waits) };
    assert_eq!((c.names.get(wait.function), c.names.get(wait.caller)), ("msleep", "vda_wait"));
    assert_eq!((wait.calls, wait.total.0), (1, 100_000));
    assert_eq!(c.names.get(c.graph.get(wait.device).name), "vda");
}

#[test]
fn what_the_walk_over_devices_calls_is_probed_only_if_asked_for() {
    let functions = ["msleep", "schedule_timeout", "wait_for_completion", "finish_wait"];
    let fake = Fake::new().with_functions(&functions);
    let mut kernel = Kernel::new(&fake);
    let options = Options { inside: Inside::Waits, ..pm_test() };
    let outcome = recorder::record(&fake.root, &options, &mut kernel, &mut NoWatch).unwrap();
    assert!(outcome.recording.file.document.losses.is_empty());
    let made: Vec<&Step> = kernel
        .steps
        .iter()
        .filter(|s| matches!(s, Step::Write { path, value } if path == EVENTS && !value.starts_with('-')))
        .collect();
    // The two of msleep, and those of a system call that time it.
    let of = |name: &str| made.iter().filter(|s| format!("{s:?}").contains(name)).count();
    assert_eq!((made.len(), of("msleep"), of("getppid")), (4, 2, 2), "{made:?}");
}

#[test]
fn a_kernel_without_function_probes_says_so() {
    let fake = Fake::new();
    let mut kernel = Kernel::new(&fake);
    let options = Options { inside: Inside::Waits, ..pm_test() };
    let outcome = recorder::record(&fake.root, &options, &mut kernel, &mut NoWatch).unwrap();
    let losses = &outcome.recording.file.document.losses;
    assert!(losses.len() == 1 && losses[0].advice.contains("function probes"), "{losses:?}");
}

#[test]
fn without_callbacks_only_phases_are_traced_and_the_capture_says_so() {
    let fake = Fake::new();
    let mut kernel = Kernel::new(&fake);
    kernel.trace = made_up_trace().lines().filter(|l| !l.contains("callback")).fold(
        String::new(),
        |mut text, line| {
            text.push_str(line);
            text.push('\n');
            text
        },
    );
    let options = Options { phases_only: true, ..pm_test() };
    let outcome = recorder::record(&fake.root, &options, &mut kernel, &mut NoWatch).unwrap();
    let enabled =
        |step: &&Step| matches!(step, Step::Write { path, .. } if path.contains("/events/"));
    let events: Vec<&Step> = kernel.steps.iter().filter(enabled).collect();
    let path = format!("{INSTANCE}/events/power/suspend_resume/enable");
    assert_eq!(events, [&Step::Write { path, value: "1".into() }]);
    let bytes = file::encode(&outcome.recording, Vec::new()).unwrap();
    let (read, _) = capture_file::read(&bytes).unwrap();
    assert!(read.document.settings.phases_only);
    let reading = dormouse_read::read_bytes("x", &bytes, &Default::default()).unwrap();
    let c = &reading.captures[0];
    assert!(c.losses.list.is_empty(), "{:?}", c.losses);
    assert_eq!((c.cycles.len(), c.cycles[1].callbacks.len()), (3, 0));
    assert!(c.cycles[1].phases.len() >= 4, "{:?}", c.cycles[1].phases);
}

#[test]
fn nine_hundred_devices_take_at_most_200_kilobytes_a_cycle() {
    // Names as long and as different as those of a laptop, all eight phases.
    let mut trace = String::from("# tracer: nop\n");
    let mut us = 77_000_000u64;
    for phase in 0..8 {
        for i in 0..900u64 {
            let (driver, name) =
                (["pcieport", "usb", "i2c_designware"][i as usize % 3], i * 7919 % 65_536);
            let (parent, ops) =
                (i * 31 % 900, ["", "bus ", "late bus ", "noirq driver "][phase % 4]);
            us += 3 + (i * i + phase as u64) % 97;
            let head = |us: u64| {
                format!(
                    "     dormouse-99      [{:03}] .....     {}.{:06}: ",
                    i % 8,
                    us / 1_000_000,
                    us % 1_000_000
                )
            };
            trace.push_str(&format!("{}device_pm_callback_start: {driver} 0000:{name:04x}:1f.{}, parent: 0000:{parent:04x}:00.0, {ops}[suspend]\n", head(us), i % 8));
            us += (i * 17) % 911;
            trace.push_str(&format!(
                "{}device_pm_callback_end: {driver} 0000:{name:04x}:1f.{}, err=0\n",
                head(us),
                i % 8
            ));
        }
    }
    let size = |cycles: u32| {
        let fake = Fake::new();
        let mut kernel = Kernel::new(&fake);
        kernel.trace = trace.clone();
        let options = Options { cycles, ..pm_test() };
        let outcome = recorder::record(&fake.root, &options, &mut kernel, &mut NoWatch).unwrap();
        file::encode(&outcome.recording, Vec::new()).unwrap().len()
    };
    let each = size(2) - size(1);
    println!("{each} bytes a cycle of 900 devices with all eight callbacks");
    assert!(each <= 200 * 1_024, "{each} bytes a cycle");
}

fn awake(until: Until) -> Ask {
    Ask {
        with: vec![Detail::Idle, Detail::Storage],
        until,
        buffer_kib: None,
        journal: dormouse_machine::journal::FOLDER.into(),
        set: Vec::new(),
    }
}

/// Notes every path that is written.
#[derive(Default)]
struct Paths(Vec<String>);

impl Observer for Paths {
    fn before(&mut self, step: &Step) -> std::io::Result<()> {
        if let Step::Write { path, .. } = step {
            self.0.push(path.clone());
        }
        Ok(())
    }
}

#[test]
fn a_watch_never_writes_to_power() {
    let fake = Fake::new();
    let mut paths = Paths::default();
    let ask = awake(Until::After(Duration::from_millis(1)));
    let outcome = watch::rehearse(&fake.root, &ask, &mut paths).unwrap();
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert!(paths.0.len() > 10, "{:?}", paths.0);
    for path in &paths.0 {
        assert!(path.starts_with("/sys/kernel/tracing/"), "{path}");
    }
}

#[test]
fn a_watch_keeps_the_trace_and_the_commands_exit_code() {
    let fake = Fake::new();
    let mut kernel = Kernel::new(&fake);
    let command = ["sh", "-c", "exit 3"].map(String::from).to_vec();
    let ask = awake(Until::Ends(command.clone()));
    let outcome = watch::record(&fake.root, &ask, &mut kernel, &mut NoWatch).unwrap();
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert!(!fake.at(INSTANCE).exists(), "the instance is gone");
    let stats = outcome.recording.cycles().next().unwrap().unwrap().stats;
    let watched = stats.watched.expect("it was a watch");
    assert_eq!((watched.command, watched.exit), (command, Some(3)));
    assert!(watched.ns > 0);
    assert_eq!(outcome.recording.file.document.settings.state, "");
}

#[test]
fn a_watch_ends_a_command_that_takes_too_long_and_says_which_cannot_be_run() {
    let fake = Fake::new();
    let long = ["sleep", "60"].map(String::from).to_vec();
    let ask = awake(Until::EndsWithin(long, Duration::from_millis(50)));
    let begin = std::time::Instant::now();
    let mut kernel = Kernel::new(&fake);
    let outcome = watch::record(&fake.root, &ask, &mut kernel, &mut NoWatch).unwrap();
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    // A minute would be the command's own end.
    assert!(begin.elapsed() < Duration::from_secs(30));
    let ask = awake(Until::Ends(vec!["no-such-program".into()]));
    let mut kernel = Kernel::new(&fake);
    let outcome = watch::record(&fake.root, &ask, &mut kernel, &mut NoWatch).unwrap();
    assert!(matches!(outcome.error, Some(Error::Command { .. })), "{:?}", outcome.error);
    assert!(!fake.at(INSTANCE).exists(), "the instance is gone");
}
