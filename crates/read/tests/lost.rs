//! Texts, made up, whose words an all-clear would pass over: sleeps that were lost, figures of
//! two sleeps taken for one, clocks that stood or jumped.

use super::nights::{found, one};
use dormouse_base::capture::Capture;
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_doctor::finding::{Confidence, Level};
use dormouse_read::Given;
use dormouse_read::doctor::read_bytes;
use std::sync::Arc;

fn capture(text: &str) -> Arc<Capture> {
    let file = tempfile::Builder::new().suffix(".txt").tempfile().expect("a file");
    std::fs::write(file.path(), text).expect("written");
    let given = Given::new(&[file.path().into()]);
    given.sleep().expect("read").captures.first().expect("a log").clone()
}

const ENTRY: &str = "May 02 21:10:04 oak kernel: PM: hibernation: hibernation entry\n";
const NONE: &str = "May 03 07:30:11 oak kernel: PM: Image not found (code -22)\n";

#[test]
fn a_hibernation_whose_boot_finds_no_image_did_not_come_back() {
    let f = one(&[ENTRY, NONE].concat(), "hib-no-image");
    assert!(f.sentence.contains("did not come back from the hibernation of line 1"), "{f:?}");
    let off = "May 02 21:11:00 oak kernel: reboot: Power down\n";
    assert!(found(&[ENTRY, off, NONE].concat()).iter().all(|f| f.id != "hib-no-image"));
    // As people copy it: no name of a machine, and words behind it.
    let by_hand = "May 02 21:10:04  PM: hibernation: hibernation entry     <- nothing after it\n\
        May 03 07:30:11  PM: Image not found (code -22)\n";
    one(by_hand, "hib-no-image");
}

#[test]
fn a_boot_right_behind_a_wake_up_that_nobody_asked_for_is_told() {
    let log = |away: &str, between: &str| {
        format!(
            "Mar 11 09:00:10 oak kernel: [  399.900000] PM: Syncing filesystems ... done.\n\
             Mar 11 09:00:10 oak kernel: [  400.000000] PM: Preparing system for mem sleep\n\
             Mar 11 09:05:40 oak kernel: [  400.100000] PM: Entering mem sleep\n\
             Mar 11 09:05:40 oak kernel: [  400.600000] PM: suspend of devices complete after 480.100 msecs\n\
             Mar 11 09:05:40 oak kernel: [  400.900000] PM: noirq resume of devices complete after 9.000 msecs\n\
             Mar 11 09:05:40 oak kernel: [  401.900000] PM: resume of devices complete after 900.000 msecs\n\
             Mar 11 09:05:40 oak kernel: [  402.000000] PM: Finishing wakeup.\n{between}\
             Mar 11 {away} oak kernel: [    0.000000] PM: Registered nosave memory: [mem 0x00000000-0x00000fff]\n\
             Mar 11 {away} oak kernel: [    0.200000] PM: Registering ACPI NVS region\n"
        )
    };
    let f = one(&log("09:07:10", ""), "no-return");
    assert!(f.sentence.contains("1 min 30 s after its last line"), "{}", f.sentence);
    assert_eq!(f.confidence, Confidence::Guess);
    let asked = "Mar 11 09:06:00 oak kernel: [  425.000000] reboot: Restarting system\n";
    assert!(found(&log("09:07:10", asked)).iter().all(|f| f.id != "no-return"));
    assert!(found(&log("11:07:10", "")).iter().all(|f| f.id != "no-return"), "hours later");
    // The kernel's clock stood; that of the log did not.
    let c = capture(&log("09:07:10", ""));
    let slept = c.cycles[0].asleep_elsewhere.expect("a sleep");
    assert!((Ns::from_ms(327_000)..Ns::from_ms(329_000)).contains(&slept), "{slept:?}");
    assert!(c.losses.list.iter().all(|l| l.kind != "another_excerpt"), "{:?}", c.losses.list);
}

#[test]
fn two_sleeps_without_stamps_are_two() {
    let turn = |s: &str| {
        format!(
            "> > PM: suspend-to-idle\n> > ACPI: EC: ACPI EC GPE status set\n\
             > > Timekeeping suspended for {s} seconds\n> > PM: Triggering wakeup from IRQ 7\n\
             > > PM: resume from suspend-to-idle\n"
        )
    };
    let text =
        format!("```\n{}```\nand the other board:\n```\n{}```\n", turn("9.100"), turn("41.700"));
    let c = capture(&text);
    let slept: Vec<Option<Ns>> = c.cycles.iter().map(|x| x.asleep_elsewhere).collect();
    assert_eq!(slept, [Some(Ns::from_ms(9_100)), Some(Ns::from_ms(41_700))]);
}

#[test]
fn headings_of_kernels_part_logs_whose_clocks_go_on() {
    let log = |from: u32, ms: u32| {
        format!(
            "[  {from}.000000] PM: suspend entry (deep)\n\
             [  {from}.200000] PM: suspend of devices complete after 100.000 msecs\n\
             [  {from}.900000] PM: resume of devices complete after {ms}.000 msecs\n\
             [  {from}.950000] PM: suspend exit\n\n"
        )
    };
    let with = |a: &str, b: &str| format!("{a}\n{}{b}\n{}", log(100, 200), log(300, 400));
    let logs = |text: &str| capture(text).cycles.iter().map(|c| c.log).collect::<Vec<_>>();
    assert_eq!(logs(&with("v5.10.9:", "Linux 6.9-rc3:")), [0, 1]);
    assert_eq!(logs(&with("once", "and again:")), [0, 0]);
}

#[test]
fn the_clock_of_an_image_goes_on_from_where_it_was_copied() {
    let text = "[   50.000000] PM: hibernation entry\n\
        [   50.100000] PM: Preallocating image memory... done (allocated 900 pages)\n\
        [   50.200000] PM: freeze of devices complete after 20.000 msecs\n\
        [   50.300000] PM: Creating hibernation image:\n\
        [   50.300000] PM: Need to copy 900 pages\n\
        [   50.400000] PM: thaw of devices complete after 30.000 msecs\n\
        [   53.400000] PM: Wrote 3600 kbytes in 2.90 seconds (1.24 MB/s)\n\
        [   53.900000] reboot: Power down\n\
        [    2.500000] PM: Image signature found, resuming\n\
        [    2.600000] PM: Preparing processes for restore.\n\
        [    4.600000] PM: Read 3600 kbytes in 1.90 seconds (1.89 MB/s)\n\
        [    4.700000] PM: quiesce of devices complete after 10.000 msecs\n\
        [    4.710000] Disabling non-boot CPUs ...\n\
        [   50.300000] PM: Timekeeping suspended for 30.000 seconds\n\
        [   50.310000] Enabling non-boot CPUs ...\n\
        [   50.500000] PM: restore of devices complete after 100.000 msecs\n\
        [   50.600000] PM: hibernation exit\n";
    let c = capture(text);
    let (first, last) = (c.cycles[0].start, c.cycles[0].exit.expect("an end"));
    assert!(last - first < Ns::from_ms(8_000), "{:?}", last - first);
    assert!(c.cycles[0].phases.iter().all(|p| p.duration() < Ns::from_ms(3_000)));
    assert!(c.cycles[0].phase(Phase::Resume).is_some());
}

#[test]
fn entries_with_a_date_begin_and_end_an_attempt() {
    let text = "<6>[  512.100000]<2>.(1)[77:kworker/u8:1]PM: suspend entry 2016-03-04 05:06:07.100000001 UTC\n\
        <6>[  512.150000]<2>.(1)[77:kworker/u8:1]Freezing of tasks aborted after 0.002 seconds\n\
        <6>[  512.160000]<2>.(1)[77:kworker/u8:1]PM: suspend exit 2016-03-04 05:06:07.160000001 UTC\n";
    let c = capture(text);
    let lines = c.cycles[0].lines;
    assert!(lines.begun && lines.closed, "{lines:?}");
}

#[test]
fn a_line_with_a_stamp_of_its_own_is_no_rest_of_another() {
    let text = "> Apr 05 11:22:33.944100 oak kernel: PM: hibernation: hibernation exit failed maybe\n\
        > Apr 05 11:22:33.955200 oak systemd-sleep[71]: Failed to put system to\n\
        > sleep. System resumed again: No space left on device\n";
    let case = read_bytes("mail", text.as_bytes()).case;
    assert!(case.messages.iter().all(|m| !(m.has("exit failed") && m.has("systemd-sleep"))));
}

#[test]
fn what_does_not_fit_an_image_is_named() {
    let why = |word: &str| {
        let text = format!(
            "[    2.358016] PM: Image mismatch: {word}\nprintk(\"PM: Image mismatch: %s\\n\"\n"
        );
        let f = one(&text, "hib-other-kernel");
        assert_eq!(f.evidence.len(), 1, "a line of the source is no evidence: {f:?}");
        f.sentence
    };
    assert!(why("memory size").contains("another size of memory"));
    assert!(why("kernel release").contains("another release"));
    assert!(why("machine").contains("another architecture"));
}

#[test]
fn battery_figures_of_both_sides_of_a_night_on_one_line_are_its_cost() {
    let text = "before 21:40:00: energy 50.0 Wh, 90 %; after 05:40:00: energy 34.0 Wh, 61 %.\n\n\
        Feb 03 21:40:04 oak kernel: PM: suspend entry (s2idle)\n\
        Feb 04 05:39:55 oak kernel: PM: suspend exit\n";
    let f = one(text, "night-cost");
    assert!(f.sentence.contains("16.0 Wh") || f.sentence.contains("2.0"), "{}", f.sentence);
    assert_eq!(f.level, Level::Risk);
}

#[test]
fn services_alone_tell_what_they_were_told() {
    let asked = "Jan 07 22:00:01 oak NetworkManager[88]: <info>  [1610000001.2500] manager: sleep: sleep requested (sleeping: no  enabled: yes)\n";
    let woke = "Jan 07 22:00:31 oak NetworkManager[88]: <info>  [1610000031.7500] manager: sleep: wake requested (sleeping: yes  enabled: yes)\n";
    let f = one(&[asked, woke].concat(), "way-told");
    assert!(f.sentence.contains("30.5 s later of the wake-up"), "{}", f.sentence);
    assert!(one(asked, "way-told").sentence.contains("nor that"));
    let refused = "Jan 07 21:59:50 oak loginctl[9]: Operation inhibited by \"ann\" (PID 70 \"elm-session\", user ann), reason is \"a call\".\n";
    let f = one(refused, "way-inhibited");
    assert!(
        f.sentence.contains("elm-session holds a lock") && f.sentence.contains("a call"),
        "{f:?}"
    );
}

#[test]
fn a_freezing_that_a_wakeup_ended_late_names_who_had_not_frozen() {
    let text = "[   61.500000] (2)[]Freezing of tasks aborted after 4.250 seconds\n\
        [   61.500100] (2)[700:kworker/u8:1]oak::acorn D\n\
        [   61.500150]    0   88     61 0x00400009\n\
        [   61.500200] (2)[700:kworker/u8:1]Call trace:\n\
        [   61.500300] (2)[700:kworker/u8:1][<ffffff82a7685a44>] __switch_to+0xd8/0xf4\n\
        [   61.500400] (2)[700:kworker/u8:1][<ffffff82a79feeec>] fuse_simple_request+0x170/0x1c4\n\
        [   61.600000] (0)[5:init]Restarting tasks ...\n";
    let f = one(text, "freeze-aborted");
    assert!(f.sentence.contains("given up after 4.3 s") || f.sentence.contains("4.2"), "{f:?}");
    assert_eq!(f.about.tasks[0].name, "oak::acorn");
    assert_eq!(f.about.tasks[0].pid, 88);
    assert!(f.sentence.contains("FUSE"), "{f:?}");
    assert_eq!(f.level, Level::Broken);
}

#[test]
fn a_line_that_was_pasted_again_is_no_attempt() {
    let line = "[   10.500000] PM: suspend of devices complete after 100.000 msecs\n";
    let log = format!(
        "[   10.000000] PM: suspend entry (deep)\n{line}[   11.000000] PM: resume of devices complete after 90.000 msecs\n\
         [   11.100000] PM: suspend exit\n[   14.000000] usb 1-1: reset\n"
    );
    assert_eq!(capture(&format!("{log}{line}")).cycles.len(), 1);
    let other = line.replace("100.000", "101.000");
    assert_eq!(capture(&format!("{log}{other}")).cycles.len(), 2);
}

#[test]
fn counters_that_stand_at_nothing_behind_a_sleep_are_no_all_clear() {
    let text = |c10: u32, before: &str| {
        format!(
            "{before}/sys/devices/system/cpu/cpuidle/low_power_idle_system_residency_us:0\n\
             /sys/kernel/debug/pmc_core/package_cstate_show:Package C2 : 90123\n\
             /sys/kernel/debug/pmc_core/package_cstate_show:Package C3 : 41\n\
             /sys/kernel/debug/pmc_core/package_cstate_show:Package C8 : 0\n\
             /sys/kernel/debug/pmc_core/package_cstate_show:Package C10 : {c10}\n\
             /sys/kernel/debug/pmc_core/slp_s0_residency_usec:0\n"
        )
    };
    let f = one(&text(0, "$ sudo systemctl suspend\n"), "mode-name-only");
    assert!(f.sentence.contains("no deeper than C3 (C10 stands at 0)"), "{f:?}");
    let none = |text: &str| found(text).iter().all(|f| !f.sentence.contains("since the start was"));
    assert!(none(&text(77, "$ sudo systemctl suspend\n")));
    assert!(none(&text(0, "")), "nobody slept");
}
