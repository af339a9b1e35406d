//! What is said of sleeps that counters, services, batteries and networks tell of.

use super::kinds::says;
use super::words::words;

/// What `check` says of a text.
fn checked(text: &str) -> String {
    words(&["check", "-"], text)
}

#[test]
fn a_counter_of_the_platform_that_stands_at_0_is_no_comfort() {
    let file = "/sys/kernel/debug/pmc_core/slp_s0_residency_usec";
    let text = checked(&format!("It reaches C10.\n\n$ sudo cat {file}\n0\n"));
    let zero =
        text.contains("(slp_s0_residency_usec): of its hardware's sleep nothing was counted");
    assert!(zero && !text.contains("No rule found") && !text.contains("Nothing wrong"), "{text}");
    let text = checked(&format!("$ sudo cat {file}\n7100200\n"));
    assert!(!text.contains("stands at 0"), "{text}");
    // A share that somebody writes down.
    let text = checked("The second tool agrees: `SYS%LPI 0.00` in the whole run of it.\n");
    assert!(text.contains("SYS%LPI is 0: the platform did not sleep"), "{text}");
    let text = checked("turbostat says\nSYS%LPI = 88114479815.25\n");
    assert!(text.contains("88114479815.25 % is no share of a time"), "{text}");
    let row = "Pkg%pc2  Pkg%pc10  SYS%LPI\n1.10  0.00  771144798159.10\n";
    let text = checked(row);
    assert!(text.contains("is no share") && !text.contains("reached its own"), "{text}");
}

#[test]
fn counts_of_power_domains_are_read_out_of_a_table_with_remarks() {
    let table = "`qcom_stats` after a night:\n\n| What | Count |\n|---|---|\n\
                 | `cxsd` (rail of CX) | 0 |\n| `aosd` (always-on part) | 0 |\n\
                 | `ddr` | 12 |\n| `apss` (the CPUs) | 7, all in one sleep |\n";
    let text = checked(table);
    assert!(text.contains("since the start: cxsd, aosd; ddr did (12 times)"), "{text}");
    let text = checked("After the suspend aosd: 0, cxsd: 0, ddr: 3.\n");
    assert!(text.contains("since the start: aosd, cxsd; ddr did (3 times)"), "{text}");
    // Which cell is which reading, nobody says.
    let text = checked("| cxsd | 0 | 41 |\n");
    assert!(!text.contains("never entered"), "{text}");
}

#[test]
fn two_numbers_below_one_command_are_two_readings() {
    let file = "/sys/devices/system/cpu/cpuidle/low_power_idle_system_residency_us";
    let night = "Mar 09 23:10:00 box kernel: PM: suspend entry (s2idle)\n\
                 Mar 10 01:20:00 box kernel: PM: suspend exit\n";
    let text = checked(&format!("{night}$ cat {file}   # evening / morning\n4100\n7600004100\n"));
    let grew = text.contains("grew by 2 h 7 min") && text.contains("took 2 h 10 min");
    assert!(grew, "{text}");
}

#[test]
fn wakes_that_services_alone_tell_are_counted() {
    let nm = |t: &str| {
        format!(
            "Feb 03 {t} box NetworkManager[7]: <info>  [1.2] manager: sleep: wake requested (sleeping: yes  enabled: yes)\n"
        )
    };
    let bt = |t: &str, e: &str| {
        format!("Feb 03 {t} box bluetoothd[9]: Controller resume with wake event {e}\n")
    };
    let night = [
        bt("01:10:00", "0x0"),
        nm("01:10:01"),
        bt("01:30:00", "0x0"),
        nm("01:30:02"),
        nm("01:50:20"),
    ];
    let text = checked(&night.concat());
    let told =
        ["came back from a sleep 3 times", "20 min 10 s on the average", "was not Bluetooth"];
    assert!(told.iter().all(|t| text.contains(t)), "{text}");
    let text = checked(&bt("01:10:00", "0x2"));
    assert!(
        text.contains("by the word of bluetoothd") && text.contains("A Bluetooth device woke it"),
        "{text}"
    );
    // A network that was switched on is no wake-up.
    let none = nm("01:10:01").replace("sleeping: yes", "sleeping: no ");
    assert!(!checked(&none).contains("came back"), "{none}");
    let exit = |t: &str| format!("Feb 03 {t} box kernel: PM: suspend exit\n");
    let text = checked(&[exit("04:00:00"), exit("04:40:00")].concat());
    assert!(
        text.contains("came back from a sleep twice") || text.contains("sleep 2 times"),
        "{text}"
    );
    let text = checked("[  801.100000] PM: suspend exit\n[  922.100000] PM: suspend exit\n");
    assert!(text.contains("ends of 2 sleeps"), "{text}");
}

#[test]
fn a_service_tells_the_end_of_a_sleep_where_no_kernel_does() {
    let end = "Feb 03 09:20:30 box systemd[1]: systemd-suspend.service: Succeeded.\n\
               Feb 03 09:20:30 box systemd[1]: Finished Suspend.\n";
    let text = checked(end);
    assert!(text.contains("by the word of systemd") && !text.contains("Nothing wrong"), "{text}");
    let down = "Feb 03 01:00:10 box kernel: PM: suspend entry (deep)\n\
                Feb 03 01:00:10 box kernel: printk: Suspending console(s) (use no_console_suspend to debug)\n";
    let text = checked(&[down, end].concat());
    let came = text.contains("8 h 20 min") && !text.contains("no end there");
    assert!(came && !text.contains("ends on the way down"), "{text}");
    assert!(checked(down).contains("ends on the way down"));
}

#[test]
fn a_suspend_and_the_hibernation_behind_it_are_no_sum() {
    let log = "Feb 03 12:00:05 box kernel: Timekeeping suspended for 7100.250 seconds\n\
               Feb 03 12:00:05 box systemd-sleep[9]: Performing sleep operation 'hibernate'...\n\
               Feb 03 12:40:17 box kernel: Timekeeping suspended for 2300.125 seconds\n\
               Feb 03 12:40:17 box kernel: PM: hibernation: hibernation exit\n";
    let each = |text: &str| !text.contains("9400") && !text.contains("2 h 36 min");
    let text = words(&["show", "-"], log);
    assert!(
        each(&text) && text.contains("7100.250 s (sleep state unknown), then 2300.125 s (disk)"),
        "{text}"
    );
    let text = checked(log);
    assert!(each(&text) && text.contains("1 h 58 min, 38 min 20 s"), "{text}");
    let whole = format!("Feb 03 10:00:05 box kernel: PM: suspend entry (s2idle)\n{log}");
    let text = words(&["show", "-"], &whole);
    assert!(each(&text) && text.contains("2 cycles"), "{text}");
    let text = checked(&whole);
    assert!(each(&text), "{text}");
    // A machine that woke inside of one sleep slept once.
    let once = log.lines().filter(|l| !l.contains("systemd-sleep")).map(|l| format!("{l}\n"));
    assert!(words(&["show", "-"], &once.collect::<String>()).contains("Asleep 9400.375 s."));
}

/// Lines of NetworkManager behind a wake-up, with its own times.
fn network(lines: &[(&str, &str)]) -> String {
    let line = |(part, said): &(&str, &str)| {
        format!("Jun 04 07:00:03 box NetworkManager[5]: <info>  [1749020403.{part}] {said}\n")
    };
    let woke = ("1000", "manager: sleep: wake requested (sleeping: yes  enabled: yes)");
    [woke].iter().chain(lines).map(line).collect()
}

#[test]
fn a_network_that_a_later_line_takes_back_is_not_there() {
    let up = ("3005", "manager: NetworkManager state is now CONNECTED_GLOBAL");
    let down = ("4209", "manager: NetworkManager state is now DISCONNECTED");
    let text = checked(&network(&[up]));
    assert!(text.contains("called the network connected 200 ms after"), "own times: {text}");
    let text = checked(&network(&[up, down]));
    assert!(text.contains("No line shows the network up again"), "{text}");
    assert!(text.contains("was taken back") && !text.contains("Nothing wrong"), "{text}");
    let again = ("9007", "manager: NetworkManager state is now CONNECTED_GLOBAL");
    let text = checked(&network(&[up, down, again]));
    assert!(text.contains("called the network connected 800 ms after"), "{text}");
}

#[test]
fn a_link_that_the_machine_gave_up_itself_was_not_lost_in_the_sleep() {
    let log = "06:10:01  PM: suspend exit\n\
               06:10:02  NetworkManager: sleep: wake requested\n\
               06:10:02  wlan3: deauthenticating from 00:00:5e:00:53:01 by local choice (Reason: 3=DEAUTH_LEAVING)\n\
               06:10:13  wlan3: associated\n";
    let text = checked(log);
    assert!(text.contains("Slow: The network had its link 12.0 s"), "{text}");
    assert!(text.contains("the machine gave it up itself, 1.0 s"), "{text}");
    let lost = log.replace("by local choice", "by the access point");
    let text = checked(&lost);
    assert!(text.contains("link 12.0 s") && !text.contains("gave it up itself"), "{text}");
}

#[test]
fn who_woke_each_sleep_is_told_with_its_length_where_a_daemon_tells_of_the_begin() {
    let sleep = |from: &str, to: &str, irq: u32| {
        format!(
            "Feb 03 {from}.100000 box systemd-sleep[9]: Performing sleep operation 'suspend'...\n\
                 Feb 03 {from}.104000 box kernel: PM: suspend entry (s2idle)\n\
                 Feb 03 {to}.200000 box kernel: PM: Triggering wakeup from IRQ {irq}\n\
                 Feb 03 {to}.300000 box kernel: PM: suspend exit\n"
        )
    };
    let text =
        checked(&[sleep("01:00:10", "01:40:10", 7), sleep("01:45:10", "04:55:10", 8)].concat());
    assert!(
        text.contains("IRQ 7 after 40 min 0 s") && text.contains("IRQ 8 after 3 h 10 min"),
        "{text}"
    );
}

#[test]
fn two_blocks_of_a_battery_beside_each_other_are_both_sides_of_a_night() {
    let night = "Feb 03 01:00:10 box kernel: PM: suspend entry (s2idle)\n\
                 Feb 03 05:00:10 box kernel: PM: suspend exit\n";
    let upower = "$ upower -d, 00:58 and 05:08\n\n\
                  \x20   energy:         40.00 Wh      energy:         30.00 Wh\n\
                  \x20   energy-full:    50.00 Wh      energy-full:    50.00 Wh\n\
                  \x20   percentage:     80%           percentage:     60%\n";
    let text = checked(&format!("{night}\n{upower}"));
    assert!(text.contains("10.00 Wh in 4 h 10 min: 2.40 W"), "{text}");
}

#[test]
fn what_is_said_of_a_night_is_not_of_a_sleep_by_day() {
    let sleep = |from: &str, to: &str| {
        format!("[{from} 2031] PM: suspend entry (s2idle)\n[{to} 2031] PM: suspend exit\n")
    };
    let log = sleep("Mon Feb  3 23:00:00", "Tue Feb  4 07:00:00")
        + &sleep("Tue Feb  4 12:00:00", "Tue Feb  4 14:00:00");
    let text = checked(&format!("{log}\nBattery 80 % -> 70 % over the night.\n"));
    assert!(text.contains("10.0 % in 8 h 0 min"), "{text}");
}

#[test]
fn a_sleep_without_an_end_and_a_source_that_counted_prove_no_more_than_they_say() {
    let begins = "May 04 08:10:11 heron kernel: PM: suspend entry (s2idle)\n\
        May 04 08:10:11 heron kernel: Filesystems sync: 0.011 seconds\n\
        May 04 09:20:40 heron kernel: Freezing user space processes\n";
    says("check", begins, &["took 1 h 10 min", "rule night-slept, likely"], &[]);
    let whole = "May 04 08:10:11 heron kernel: PM: suspend entry (s2idle)\n\
        May 04 09:20:40 heron kernel: PM: suspend exit\n";
    says("check", whole, &["took 1 h 10 min", "rule night-slept, certain"], &[]);
    let test = "s2idle cycle 1 of 1\n\
        wakeup source name: \"OAKX\" wakeup event was signaled.\n\
        pm-action returned 0 after 31 seconds.\n";
    says("check", test, &["OAKX. One of them may have woken it"], &["One of them woke it"]);
}
