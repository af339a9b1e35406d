//! Tables of which a text has a part alone, tables that contradict themselves, and waits that no
//! phase of a sleep has: kinds of texts, as in `kinds.rs`. The texts are made up.

use super::kinds::{says, sleep};

#[test]
fn states_of_a_drive_that_are_cut_off_are_not_denied() {
    let drive = |states: &str| format!("mn        : Elm 900\nnpss      : 2\n{states}");
    let first = "ps    0 : mp:7.10W operational enlat:0 exlat:0 rrt:0 rrl:0\n";
    let cut = drive(first);
    let must = ["It shows 1 of 3 states", "shows no state that saves power without serving, and"];
    says("show", &cut, &must, &["No drive here"]);
    let rest = "ps    1 : mp:4.00W operational enlat:0 exlat:0 rrt:1 rrl:1\n\
        ps    2 : mp:3.00W operational enlat:0 exlat:0 rrt:2 rrl:2\n";
    says("show", &drive(&(first.to_owned() + rest)), &["No drive here"], &["is cut"]);
    let deep = "ps    1 : mp:0.0500W non-operational enlat:400 exlat:900 rrt:1 rrl:1\n";
    says("show", &drive(&(first.to_owned() + deep)), &["2 of 3 states", "not known: the"], &[]);
}

const HEAD: &str = "           Pkg(HW)  |            Core(HW) |            CPU(OS) 0\n";

#[test]
fn a_table_of_powertop_that_breaks_off_denies_no_state_and_a_second_one_hides_none() {
    let cut = format!("{HEAD}C2 (pc2)    0.0%    |                     | C2_ACP");
    let must = ["breaks off: it shows of the package C2 (0.00 %) alone", "is not known"];
    says("check", &cut, &must, &["entered no state"]);
    let whole = format!(
        "{HEAD}C2 (pc2)    6.2%    |                     |\n\
         C6 (pc6)   61.5%    | C6 (cc6)   90.0%    | C6   1.0%    0.1 ms\n\
         C8 (pc8)    0.0%    |                     | C8  80.0%    3.0 ms\n\
         \x20                   |                     | C10  9.0%    3.0 ms\n\n"
    );
    says("check", &whole, &["the package was in C6 for 61.50 %, never deeper"], &["breaks off"]);
    let both = format!("One machine:\n\n{whole}\nThe other:\n\n{cut}\n");
    let must = ["in C6 for 61.50 %, never deeper", "Another table of the text", "breaks off"];
    says("check", &both, &must, &["entered no state"]);
    let other = whole.replace("61.5%", "33.3%");
    let both = format!("One machine:\n\n{whole}\nThe other:\n\n{other}\nThat is all.\n");
    says("check", &both, &["C6 for 33.30 %", "C6 for 61.50 %"], &[]);
}

#[test]
fn a_row_of_turbostat_that_breaks_off_denies_no_state() {
    let head = "Busy%\tBzy_MHz\tC6%\tCPU%c1\tCPU%c6\tPkg%pc2\tPkg%pc6\tPkg%pc8\tPk%pc10\n";
    let cut = format!(
        "# turbostat rtcwake -m freeze -s 30\n{head}1.00\t900\t97.00\t2.00\t96.00\t0.00\t0.0"
    );
    says("check", &cut, &[], &["entered no state", "in name only", "reached no state"]);
    let plain = cut.replace("# turbostat rtcwake -m freeze -s 30\n", "");
    says(
        "show",
        &plain,
        &["breaks off before its last package states"],
        &["table has was reached"],
    );
}

#[test]
fn the_last_domain_of_a_text_may_have_devices_below() {
    let head = "domain                          status          children\n    /device                                             runtime status\n----------------------------------------------------------------------\nelm_pd                          on\n    /devices/platform/soc/9a0000.elm                    active\noak_pd                          on\n";
    says("check", &format!("{head}\nThat is all of it.\n"), &["oak_pd is on and has neither"], &[]);
    says("check", head, &[], &["has neither"]);
}

#[test]
fn a_device_that_does_not_answer_is_lost_without_a_sleep_too() {
    let line = "Mar 12 07:13:20 elm kernel: oak 0000:2c:00.0: Unable to change power state from D3hot to D0, device inaccessible\n";
    let must = [
        "Risk: 0000:2c:00.0 (oak) does not answer: it could not be put from D3hot",
        "shows no sleep",
    ];
    says("check", line, &must, &[]);
    let behind = sleep(&format!("[  101.500000] {}", &line[27..]));
    says("check", &behind, &["could not be brought back from D3hot: it did not"], &["no sleep"]);
}

#[test]
fn words_of_a_writer_put_no_line_behind_a_sleep() {
    let text = "The ports are dead after suspend and at each start.\n\n\
        [   31.000100] elm 3-7: vex 4 read failed, error -110\n\
        [   33.000100] elm 3-7: vex 5 read failed, error -110\n\
        [   35.000100] elm 3-7: vex 6 read failed, error -110\n";
    says(
        "check",
        text,
        &["reported 3 errors, the first", "no line of a sleep"],
        &["behind the sleep,"],
    );
}

#[test]
fn idleness_by_the_kernel_and_work_by_hardware_are_no_busy_cpu() {
    let table = |c0: &str| {
        format!(
            "# cpupower monitor\n    | Nehalem     || Mperf              || Idle_Stats\n CPU| C6   | PC6  || C0   | Cx   | Freq  || POLL | C1   | C2\n   0|  0.00|  0.00|| {c0}|  1.20|  3100||  0.00|  6.10| 91.20\n"
        )
    };
    let odd = table("98.80");
    let must = ["in idle states for 97.3", "for 98.8", "both cannot be"];
    says("show", &odd, &must, &["busy", "was awake most"]);
    says("check", &odd, &["Risk: The kernel has CPUs in idle states", "both cannot be"], &[]);
    says("show", &table(" 2.60"), &[], &["both cannot be"]);
}

#[test]
fn a_package_that_stays_shallow_is_a_risk_in_check_as_in_show() {
    let table = "$ sudo turbostat -n 1\nCore\tCPU\tBusy%\tBzy_MHz\tC1%\tC10%\tCPU%c1\tCPU%c7\tPkg%pc2\tPkg%pc3\tPkg%pc6\tPkg%pc8\tPk%pc10\n-\t-\t3.10\t900\t9.00\t71.00\t18.00\t78.00\t21.00\t38.00\t0.00\t0.00\t0.00\n0\t0\t3.10\t900\t9.00\t71.00\t18.00\t78.00\t21.00\t38.00\t0.00\t0.00\t0.00\n";
    says("check", table, &["the package goes no deeper than Pkg%pc3 (38.0 %)"], &["no fault"]);
}

#[test]
fn waits_of_one_device_behind_a_sleep_are_no_all_clear() {
    let after = "[  120.000000] ata8: wake up from deepsleep, reset link now\n\
        [  131.500000] ata8: SATA link up 3.0 Gbps (SStatus 123 SControl 300)\n";
    let text = sleep("") + after;
    let must = ["Slow: ata8 waited for its link for 11.5 s", "then it answered"];
    says("check", &text, &must, &["Nothing wrong"]);
    let empty = "[    4.000000] ata6: link is slow to respond, please be patient (ready=0)\n\
        [    9.000000] ata6: COMRESET failed (errno=-16)\n\
        [    9.500000] ata6: SATA link down (SStatus 0 SControl 300)\n";
    says("check", empty, &["waited for its link for 10.5 s", "no disk was seen there"], &[]);
}

#[test]
fn latencies_of_many_cpus_are_one_limit() {
    let path = "/sys/devices/system/cpu/cpu*/power/pm_qos_resume_latency_us";
    let cat = format!("I set it:\n```\n$ cat {path}\n{}```\n", "70\n".repeat(12));
    let must = ["CPUs 0-11 may take 70 us to wake", "the text does not show"];
    says("check", &cat, &must, &[]);
    says("show", &cat, &["CPUs 0-11 may take 70 us to wake"], &[]);
    let grep: String =
        (4..8).map(|n| format!("{}:30\n", path.replace('*', &n.to_string()))).collect();
    says("check", &grep, &["CPUs 4-7 may take 30 us to wake"], &[]);
    let none = cat.replace("70\n", "0\n");
    says("check", &none, &[], &["may take"]);
}

#[test]
fn hdparm_is_read_in_code_and_in_one_line() {
    let text = "`$ sudo hdparm -C /dev/sdq\ndrive state is:  standby`\n\nand\n\n`/dev/sdr: APM_level\t= 127`\n";
    let must = ["sdq: standby, by its own answer.", "sdr: APM level 127, which lets it spin down"];
    says("show", text, &must, &[]);
}

#[test]
fn a_trace_within_a_long_phase_names_a_suspect() {
    let frame = |at: &str, text: &str| format!("[ {at}] {text}\n");
    let trace = [
        " elm_link_resume+0x52/0x80 [elmdrv]",
        " elm_resume+0x63/0x130 [elmdrv]",
        " ? pci_pm_suspend+0x10/0x90",
        " pci_pm_resume+0x7e/0xf0",
        " dpm_run_callback+0x49/0x140",
        " device_resume+0xa7/0x200",
    ];
    let body: String = trace.iter().map(|t| frame("104.000100", t)).collect();
    let end = frame("109.000000", "PM: resume devices took 9.100 seconds");
    let text = sleep(&(body.clone() + &end));
    let must = ["stands in elm_resume (elmdrv)", "a suspect (a guess)", "no proof"];
    says("check", &text, &must, &[]);
    let other = sleep(&(body.replace("104.0", "100.9").replace("[ 100.9", "[  100.9") + &end));
    says("check", &other.replace("9.100 s", "3.100 s"), &["took 3.1"], &["suspect"]);
}

#[test]
fn a_boot_is_called_one() {
    let calls = "[    0.400000] calling  elm_init+0x0/0x50 @ 1\n\
        [    0.400900] initcall elm_init+0x0/0x50 returned 0 after 812 usecs\n";
    says("check", calls, &["this is a boot, no sleep"], &[]);
    let analysed = "Startup finished in 3.105s (kernel) + 8.200s (userspace) = 11.305s\n";
    says("show", analysed, &["this is a boot, no sleep"], &[]);
}
