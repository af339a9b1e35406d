//! What a text shows of drives and of settings that a table has of one device alone: kinds of
//! texts, as in `kinds.rs`. The texts are made up.

use super::kinds::says;

/// A sleep of two seconds that ends at 391 s, and what the kernel says behind it.
fn slept(more: &str) -> String {
    format!("[  389.000000] PM: suspend entry (deep)\n[  391.000000] PM: suspend exit\n{more}\n")
}

#[test]
fn what_a_drive_says_behind_a_sleep_is_not_passed_over() {
    for (line, must) in [
        ("[  393.000000] ata9: COMRESET failed (errno=-16)", "ata9 did not answer a reset"),
        ("[  393.000000] ata9.00: failed command: WRITE DMA", "failed a command, 2.0 s after"),
        ("[  393.000000] mmcblk7: error -110 sending status command", "mmcblk7 did not answer"),
        ("[  393.000000] nvme nvme7: I/O 12 QID 2 timeout, reset controller", "nvme7 (nvme) did"),
        ("[  393.000000] I/O error, dev sdq, sector 88", "sdq did not survive the sleep"),
        ("[  600.000000] critical medium error, dev sdq, sector 88", "sdq says that its medium"),
        ("[  393.000000] usb 3-4: device descriptor read/64, error -110", "an error of 3-4"),
    ] {
        says("check", &slept(line), &[must], &["Nothing wrong found"]);
    }
    let up = "[  392.000000] ata9: SATA link up 6.0 Gbps (SStatus 133 SControl 300)";
    says("check", &slept(up), &["Nothing wrong found"], &["ata9 "]);
}

#[test]
fn a_drive_says_itself_what_failed_a_command() {
    let of = |flags: &str| {
        format!(
            "[    7.000000] ata9.00: failed command: READ DMA\n[    7.000001] ata9.00: error: {{ {flags} }}\n"
        )
    };
    says("check", &of("UNC"), &["its medium, and no power state"], &["a bad cable"]);
    says("check", &of("ICRC ABRT"), &["damaged over its link (ICRC)"], &["Whether a power state"]);
    says("check", &of("ABRT"), &["Whether a power state"], &[]);
    let medium = "[    7.000000] sd 7:0:0:0: [sdq] tag#3 Sense Key : Medium Error [current]\n";
    says("check", medium, &["sdq says that its medium failed", "no power state"], &[]);
}

#[test]
fn a_state_is_disabled_on_the_cpus_that_the_table_shows() {
    let cpu = |n: u32, disable: u32| {
        let path = format!("/sys/devices/system/cpu/cpu{n}/cpuidle");
        format!(
            "{path}/state0/name:POLL\n{path}/state0/disable:0\n{path}/state0/latency:0\n\
             {path}/state1/name:C7\n{path}/state1/disable:{disable}\n{path}/state1/latency:200\n"
        )
    };
    let must = ["C7, the deepest state, is disabled on CPU 5, so it does not enter it"];
    says("show", &cpu(5, 1), &must, &["no CPU enters"]);
    let both = cpu(5, 1) + &cpu(6, 0);
    says("check", &both, &["C7, the deepest idle state, is disabled on 1 of 2 CPUs"], &[]);
    says("check", &(cpu(5, 0) + &cpu(6, 0)), &[], &["is disabled on"]);
}

#[test]
fn a_clock_that_was_changed_is_not_called_unchanged() {
    let table = |to: u32, total: u32| {
        format!(
            "# cat /sys/class/devfreq/9fd000.oak/trans_stat\n     From  :   To\n\
             \x20          : 100000000 400000000   time(ms)\n\
             \x20 100000000:         0         {to}         0\n\
             * 400000000:         {to}         0    700123\nTotal transition : {total}\n"
        )
    };
    let must = ["was at 400 MHz for 100 % of the time, with 2 changes"];
    says("show", &table(1, 2), &must, &["never changed"]);
    says("show", &table(0, 0), &["The clock was never changed by devfreq"], &[]);
}

#[test]
fn the_interrupt_of_timerlat_tells_whether_an_idle_state_can_be_the_reason() {
    let row = |interrupt: u32, thread: u32| {
        format!(
            "                                     Timer Latency\n\
             \x20 0 00:00:20   |          IRQ Timer Latency (us)        |         Thread Timer Latency (us)\n\
             CPU COUNT      |      cur       min       avg       max |      cur       min       avg       max\n\
             \x20 0 #20001     |        2         1         2  {interrupt:8} |       11         4         8  {thread:8}\n"
        )
    };
    let must = ["came 8 us late at most", "that is not what made it late"];
    says("show", &row(8, 1_900), &must, &["the exit of an idle state"]);
    says("show", &row(250, 260), &["alone came up to 250 us late: the exit of an idle"], &[]);
    says("show", &row(8, 17), &["What made it late the test does not say"], &[]);
}

#[test]
fn states_of_a_drive_that_cannot_enter_them_by_itself_have_no_delay() {
    let drive = |head: &str| {
        format!(
            "{head}\nps    0 : mp:7.00W operational enlat:0 exlat:0 rrt:0 rrl:0\n\
             ps    1 : mp:0.0500W non-operational enlat:4000 exlat:20000 rrt:1 rrl:1\n"
        )
    };
    says("show", &drive("apsta     : 0"), &["no autonomous transitions"], &["after 2,000 ms"]);
    says("show", &drive("apsta     : 0x1"), &["after 2,000 ms"], &["no autonomous"]);
    let boot = "# cat /proc/cmdline\nquiet nvme_core.default_ps_max_latency_us=0";
    says("show", &drive(boot), &["sends it nowhere"], &["after 2,000 ms"]);
    let words = "I boot with nvme_core.default_ps_max_latency_us=0 since Monday.";
    let must = ["by default limits", "no line shows that it was set"];
    says("show", &drive(words), &must, &["by the kernel's APST"]);
}

#[test]
fn whether_a_disk_spins_stands_above_its_settings() {
    let of = |more: &str| format!("# hdparm -C /dev/sdq\n\n/dev/sdq:\n{more}\n");
    let none = ["contradicts another"];
    says("show", &of(" drive state is:  active/idle"), &["sdq spins."], &none);
    says("show", &of(" drive state is:  standby"), &["sdq stands still."], &none);
    says("show", &of(" drive state is:  unknown"), &["Whether sdq spins is not known"], &none);
    let told = of(" issuing standby command\n drive state is:  active/idle");
    says("show", &told, &["though it was told to stand still"], &none);
    let timer = of(" setting standby to 120 (10 minutes)\n APM_level\t= 254");
    let must = ["1 setting of storage does not do what it says", "permits no spin-down"];
    says("show", &timer, &must, &none);
    says("show", &timer.replace("254", "100"), &["No setting of storage here contradicts"], &[]);
}

#[test]
fn a_device_that_sleeps_for_the_core_alone_is_not_called_asleep() {
    let device = "/sys/bus/pci/devices/0000:0a:00.0";
    let of = |status: &str, state: &str| {
        format!(
            "$ cat {device}/power/runtime_status\n{status}\n$ cat {device}/power_state\n{state}\n"
        )
    };
    let none = ["No device is held awake"];
    let must = ["0000:0a:00.0 is suspended by its runtime_status, and its power_state is D0"];
    says("show", &of("suspended", "D0"), &must, &none);
    says("show", &of("suspended", "D3cold"), &["is suspended, in D3cold"], &none);
    says("show", &of("unsupported", "D0"), &["is off (runtime_status unsupported)"], &none);
    let f = ["Risk: 0000:0a:00.0 is suspended by runtime_status"];
    says("check", &of("suspended", "D0"), &f, &[]);
    says("check", &of("error", "D0"), &["Broken: "], &["No rule found a fault"]);
}
