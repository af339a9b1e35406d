//! What probes of functions say of callbacks, as pm-graph and `record --inside` set them.

use crate::ftrace_text::{capture, trace};

use dormouse_base::capture::Capture;
use dormouse_base::device::DeviceId;
use dormouse_base::inside::Wait;
use dormouse_base::time::Ns;

/// Lines of one thread at chosen milliseconds.
fn thread(task: &str, lines: &[(u64, &str)]) -> Vec<(u64, String)> {
    let line =
        |(ms, text): &(u64, &str)| (*ms, format!("  {task}   [001] ....  20.{ms:03}000: {text}\n"));
    lines.iter().map(line).collect()
}

#[test]
fn probes_are_read_inside_their_callback() {
    let main = thread(
        "rtcwake-5",
        &[
            (0, "suspend_resume: suspend_enter[3] begin"),
            (1, "suspend_resume: dpm_suspend[2] begin"),
            (600, "suspend_resume: dpm_suspend[2] end"),
            (700, "suspend_resume: thaw_processes[0] begin"),
            (701, "suspend_resume: thaw_processes[0] end"),
        ],
    );
    let worker = thread(
        "kworker/u8:1-77",
        &[
            (2, "msleep_cal: (msleep+0x0/0x40) time=10"),
            (10, "device_pm_callback_start: ahci 0000:00:17.0, parent: pci0000:00, bus [suspend]"),
            (20, "msleep_cal: (msleep+0x0/0x40) time=40"),
            (21, "schedule_timeout_cal: (schedule_timeout+0x0/0x2f0) timeout=11"),
            (66, "schedule_timeout_ret: (msleep+0x2d/0x40 <- schedule_timeout) arg1=0x0"),
            (67, "msleep_ret: (ata_wait+0x7e/0xa0 <- msleep) arg1=0x0"),
            // Its return is missed: it was over when the thread went on.
            (70, "schedule_timeout_cal: (schedule_timeout+0x0/0x2f0) timeout=50"),
            (270, "usleep_range_cal: (usleep_range+0x0/0x90) max=20 min=10"),
            (271, "usleep_range_ret: (wait+0x19/0x20 <- usleep_range) arg1=0x0"),
            // It calls itself.
            (300, "acpi_ps_execute_method_cal: (acpi_ps_execute_method+0x0/0x1f0)"),
            (301, "acpi_ps_execute_method_cal: (acpi_ps_execute_method+0x0/0x1f0)"),
            (304, "acpi_ps_execute_method_ret: (x+0x1/0x2 <- acpi_ps_execute_method) arg1=0x0"),
            (306, "acpi_ps_execute_method_ret: (x+0x1/0x2 <- acpi_ps_execute_method) arg1=0x0"),
            (310, "device_pm_callback_end: ahci 0000:00:17.0, err=0"),
            (320, "msleep_ret: (elsewhere+0x7e/0xa0 <- msleep) arg1=0x0"),
        ],
    );
    let mut lines = main;
    lines.extend(worker);
    lines.sort_by_key(|l| l.0);
    let text: String = lines.into_iter().map(|l| l.1).collect();
    let c = capture(&text);
    let of = |function: &str| {
        let found = c.cycles[0].inside.iter().find(|i| c.names.get(i.function) == function);
        let i = found.unwrap_or_else(|| panic!("{function}: {:?}", c.cycles[0].inside));
        assert_eq!(c.names.get(c.graph.get(i.device).name), "0000:00:17.0");
        let ms = |t: Ns| t.0 / 1_000_000;
        (ms(i.own), ms(i.total), ms(i.long), i.calls, i.missed)
    };
    assert_eq!(of("schedule_timeout"), (45 + 200, 45 + 200, 245, 2, 1));
    assert_eq!(of("msleep"), (2, 47, 0, 1, 0));
    assert_eq!(of("usleep_range"), (1, 1, 0, 1, 0));
    assert_eq!(of("acpi_ps_execute_method"), (6, 6, 0, 2, 0));
    assert_eq!(c.cycles[0].inside.len(), 4);
    // The same by who called: what another probed function called is part of that.
    let waits = waits_of(&c);
    assert_eq!(
        waits,
        [
            "msleep by ata_wait: 1, 47 to 47, 47",
            "schedule_timeout by : 1, 200 to 200, 200",
            "usleep_range by wait: 1, 1 to 1, 1",
            "acpi_ps_execute_method by x: 1, 6 to 6, 6",
        ]
    );
}

/// What callbacks waited for, in milliseconds.
fn waits_of(c: &Capture) -> Vec<String> {
    let name = |s| c.names.get(s);
    let ms = |t: Ns| t.0 / 1_000_000;
    let say = |w: &Wait| {
        let device = w.holds_for.map(|d| format!(" for {}", name(c.graph.get(d).name)));
        let held = match name(w.holder) {
            "" => String::new(),
            holder => format!(", held by {holder}{}", device.unwrap_or_default()),
        };
        let what = match name(w.what) {
            "" => String::new(),
            what => format!(" of {what}"),
        };
        let (least, most, all) = (ms(w.least), ms(w.most), ms(w.total));
        let (function, caller) = (name(w.function), name(w.caller));
        format!("{function}{what} by {caller}: {}, {least} to {most}, {all}{held}", w.calls)
    };
    c.cycles[0].waits.iter().map(say).collect()
}

#[test]
fn what_a_callback_waits_for_has_a_caller_a_name_and_a_holder() {
    let main = thread(
        "dormouse-5",
        &[
            (0, "suspend_resume: suspend_enter[3] begin"),
            (1, "suspend_resume: dpm_suspend[2] begin"),
            (900, "suspend_resume: dpm_suspend[2] end"),
            (901, "suspend_resume: thaw_processes[0] begin"),
            (902, "suspend_resume: thaw_processes[0] end"),
        ],
    );
    let hub = thread(
        "kworker/u8:1-77",
        &[
            (10, "device_pm_callback_start: usb 1-2, parent: 1-0, usb [suspend]"),
            (20, "msleep_cal: (msleep+0x4/0x40)"),
            (21, "schedule_timeout_cal: (schedule_timeout+0x4/0x2f0)"),
            (119, "schedule_timeout_ret: (msleep+0x2d/0x40 <- schedule_timeout)"),
            (120, "msleep_ret: (hub_port_debounce+0x5f/0x1a0 [usbcore] <- msleep)"),
            (130, "msleep_cal: (msleep+0x4/0x40)"),
            (234, "msleep_ret: (hub_port_debounce+0x5f/0x1a0 [usbcore] <- msleep)"),
            (240, "request_firmware_cal: (_request_firmware+0x4/0x650) name=\"a b.bin\""),
            (250, "request_firmware_ret: (fetch+0x1/0x2 <- _request_firmware)"),
            // Who waits for a completion is said before; the wait may need two sleeps.
            (
                260,
                "wait_for_completion_who: (wait_for_completion+0x4/0x170) done=0 caller=flush+0x3/0x4",
            ),
            (261, "schedule_timeout_cal: (schedule_timeout+0x4/0x2f0)"),
            (271, "schedule_timeout_ret: (wait_for_completion+0x8a/0x170 <- schedule_timeout)"),
            (272, "schedule_timeout_cal: (schedule_timeout+0x4/0x2f0)"),
            (274, "schedule_timeout_ret: (__wait_for_common+0x8a/0x170 <- schedule_timeout)"),
            // Nobody waits for a completion here.
            (280, "schedule_timeout_cal: (schedule_timeout+0x4/0x2f0)"),
            (285, "schedule_timeout_ret: (poll+0x8a/0x170 <- schedule_timeout)"),
            (300, "mutex_lock_cal: (__mutex_lock_slowpath+0x4/0x20) lock=0xffff8880aa"),
            (400, "mutex_lock_ret: (attach+0x8/0x10 <- __mutex_lock_slowpath)"),
            (410, "mutex_lock_cal: (__mutex_lock_slowpath+0x4/0x20) lock=0xffff8880aa"),
            (420, "mutex_lock_ret: (attach+0x8/0x10 <- __mutex_lock_slowpath)"),
            // It ends where others end that never slept, and begins each time it sleeps.
            (430, "wait_event_ret: (finish_wait+0x4/0x90) caller=elsewhere+0x19/0x20"),
            // Had, and a lock that nobody was seen to wait for.
            (
                421,
                "mutex_lock_cal: (__mutex_lock_slowpath+0x4/0x20) lock=0xffff8880cc caller=probe+0x3/0x9",
            ),
            (422, "contention_begin: 00000000d1 (flags=SPIN|MUTEX)"),
            (423, "contention_begin: 00000000d2 (flags=SPIN)"),
            (424, "contention_end: 00000000d2 (ret=0)"),
            (429, "contention_end: 00000000d1 (ret=0)"),
            (430, "contention_end: 00000000d3 (ret=0)"),
            (431, "wait_event_cal: (prepare_to_wait_event+0x4/0x90) caller=drain+0x19/0x20"),
            (432, "wait_event_cal: (prepare_to_wait_event+0x4/0x90) caller=drain+0x19/0x20"),
            (438, "wait_event_ret: (finish_wait+0x4/0x90) caller=drain+0x29/0x30"),
            (500, "device_pm_callback_end: usb 1-2, err=0"),
            // Outside a callback nobody asks.
            (510, "msleep_cal: (msleep+0x4/0x40)"),
            (520, "msleep_ret: (elsewhere+0x5f/0x1a0 <- msleep)"),
        ],
    );
    let other = thread(
        "kworker/u8:2-78",
        &[
            (290, "device_pm_callback_start: ahci 0000:00:17.0, parent: pci0000:00, bus [suspend]"),
            (320, "mutex_unlock_who: (__mutex_unlock_slowpath+0x4/0x20) lock=0xffff8880bb"),
            (330, "mutex_unlock_who: (__mutex_unlock_slowpath+0x4/0x20) lock=0xffff8880aa"),
            (340, "device_pm_callback_end: ahci 0000:00:17.0, err=0"),
        ],
    );
    let third = thread(
        "systemd-9",
        &[(399, "mutex_unlock_who: (__mutex_unlock_slowpath+0x4/0x20) lock=0xffff8880aa")],
    );
    let mut lines = [main, hub, other, third].concat();
    lines.sort_by_key(|l| l.0);
    let text: String = lines.into_iter().map(|l| l.1).collect();
    let c = capture(&text);
    assert_eq!(
        waits_of(&c),
        [
            "msleep by hub_port_debounce: 2, 100 to 104, 204",
            "request_firmware of a b.bin by fetch: 1, 10 to 10, 10",
            "wait_for_completion by flush: 2, 2 to 10, 12",
            "schedule_timeout by poll: 1, 5 to 5, 5",
            // It was held longest, of these 100 ms, by the one that gave it away second.
            "mutex_lock by attach: 1, 100 to 100, 100, held by systemd",
            "mutex_lock by attach: 1, 10 to 10, 10",
            "mutex_lock by probe: 1, 8 to 8, 8",
            "wait_event by drain: 1, 7 to 7, 7",
        ]
    );
    assert!(c.losses.list.is_empty(), "{:?}", c.losses);
    // The same where the first held it longer.
    let c = capture(&text.replace("20.399000", "20.350000"));
    assert!(
        waits_of(&c).contains(
            &"mutex_lock by attach: 1, 100 to 100, 100, held by kworker/u8:2 for 0000:00:17.0"
                .into()
        ),
        "{:?}",
        waits_of(&c)
    );
}

#[test]
fn what_is_inside_a_callback_stays_with_its_device_when_devices_are_put_in_order() {
    let start = |name: &str, ops: &str| {
        format!("device_pm_callback_start: x {name}, parent: none, {ops}[suspend]")
    };
    let end = |name: &str| format!("device_pm_callback_end: x {name}, err=0");
    let cycle = |texts: &[String]| {
        let mut all = vec!["suspend_resume: suspend_enter[3] begin".to_string()];
        all.extend_from_slice(texts);
        for edge in ["begin", "end"] {
            all.push(format!("suspend_resume: thaw_processes[0] {edge}"));
        }
        all
    };
    // The first cycle meets the second device alone; the order is told by the other.
    let first = cycle(&[
        "suspend_resume: dpm_suspend[2] begin".into(),
        start("second", "bus "),
        "genpd_on: (_genpd_power_on+0x4/0x2c0) name=\"gpu\"".into(),
        "genpd_on_end: (x+0x4/0x2c0 <- _genpd_power_on) ret=0".into(),
        "msleep_cal: (msleep+0x4/0x40)".into(),
        "msleep_ret: (wibble+0x5f/0x1a0 <- msleep)".into(),
        end("second"),
        "suspend_resume: dpm_suspend[2] end".into(),
    ]);
    let other = cycle(&[
        "suspend_resume: dpm_prepare[2] begin".into(),
        start("first", ""),
        end("first"),
        start("second", ""),
        end("second"),
        "suspend_resume: dpm_prepare[2] end".into(),
    ]);
    let texts = [first, other].concat();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let c = capture(&trace(&texts));
    let name = |d| c.names.get(c.graph.get(d).name);
    assert_eq!(name(DeviceId(0)), "first");
    let of = &c.cycles[0];
    assert_eq!(name(of.callbacks[0].device), "second");
    assert_eq!(name(of.inside[0].device), "second");
    assert_eq!(name(of.waits[0].device), "second");
    assert_eq!(of.switches[0].device.map(name), Some("second"));
}
