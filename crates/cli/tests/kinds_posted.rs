//! Kinds of texts by what keepers, mails and hands leave of them: as `kinds`, and made up.

use super::kinds::{DOWN, says, sleep};

#[test]
fn what_kernels_of_vendors_put_behind_the_time_is_no_message() {
    let text = sleep(
        "[  100.500000] elm 1-1: PM: failed to suspend: error -110\n\
         [  100.500100] PM: Some devices failed to suspend, or early wake event detected\n",
    );
    let dressed = |with: &str| text.replace("] ", &format!("]{with}"));
    let told = ["\"mode\":\"deep\"", "\"outcome_errno\":-110", "\"suspend_ns\":500100000"];
    for with in [
        " I[2:  elm_server: 1234] ",
        "I[2:  elm_server: 1234] ",
        " [2:  elm_server: 1234] ",
        " c2 ",
        " c2   1234 (elm_server) ",
        " [ 2] [T403] ",
        " [ 2][  T403] ",
    ] {
        says("show --json", &dressed(with), &told, &[]);
    }
    let unit = text.replace("] ", " s][pid:2211,cpu3,elm_server]").replace('[', "<6>[");
    says("show --json", &unit.replace("<6>[pid", "[pid"), &told, &[]);
}

#[test]
fn messages_of_an_image_are_whole_wherever_they_broke() {
    let text = |wrote: &str| {
        format!(
            "> [   91.000000] PM: hibernation: hibernation entry\n\
             > [   92.320000] PM: hibernation: Creating image:\n\
             > [  136.241000] PM: hibernation: Wrote {wrote} (20.54 MB/s)\n\
             > [  136.250000] PM: x\n"
        )
    };
    for wrote in [
        "847200 kbytes in\n> 41.23 seconds",
        "847200 kbytes\n> in 41.23 seconds",
        "847200\n> kbytes in 41.23 seconds",
    ] {
        says("show", &text(wrote), &["41.230 s (", "the image (write)"], &[]);
    }
    let frozen = "> [  100.000000] PM: suspend entry (deep)\n\
        > [  100.011000] Freezing user space processes\n\
        > [  104.000000] Freezing user space processes completed\n> (elapsed 3.003 seconds)\n\
        > [  104.100000] PM: suspend exit\n";
    says("show --json", frozen, &["\"name\":\"freeze_user\""], &[]);
}

#[test]
fn rows_of_regulators_and_reasons_of_drivers_are_joined() {
    let head = "> >  regulator                      use open bypass  opmode\n\
        > > voltage current     min     max\n";
    for broken in ["normal\n> > 900mV", "\n> > normal 900mV"] {
        let rows = format!(
            "{head}> >  elm-12v                          2    2      0 unknown\n\
             > > 12000mV     0mA 12000mV 12000mV\n\
             > >     oak1                          1    1      0  {broken}     0mA   800mV  1100mV\n\
             > >        4a100000.cpu-cpu           1\n> >        0mA     0mV     0mV\n"
        );
        let told = ["elm-12v held 2 times at 12000 mV", "oak1 held once at 900 mV"];
        says("show --only domains", &rows, &told, &["normal held", "by normal"]);
    }
    let list = "> # cat /sys/kernel/debug/devices_deferred\n\
        > 12b80000.phy    elm-snps-femto-v2-phy: failed to get regulator\n> supply vdda18\n";
    let told = "failed to get regulator supply vdda18";
    says("show --only domains --json", list, &[told], &[]);
    let prose =
        list.replace("supply vdda18", "supply vdda18 comes from a chip that nobody built in");
    says("show --only domains --json", &prose, &["failed to get regulator\""], &[told]);
}

#[test]
fn broken_events_of_storage_are_whole_and_unread_ones_forbid_shares() {
    let at = |us: u32| format!("> kworker/u16:4-310 [004] ..... 10.{us:06}:");
    let gate = |from: &str| {
        format!(
            "{} block_rq_issue: 8,0 WS 8192 ()\n> 5000 + 16 none,0,0 [elm]\n\
             {} ufshcd_clk_gating: {from}REQ_CLKS_ON\n{} ufshcd_clk_gating: {from}CLKS_ON\n\
             {} block_rq_complete: 8,0 WS () 5000 + 16\n> none,0,0 [0]\n",
            at(0),
            at(8),
            at(808),
            at(1200)
        )
    };
    for from in
        ["elm.ufshc:\n> gating state changed to ", "\n> elm.ufshc: gating state changed to "]
    {
        says(
            "show --only storage",
            &gate(from),
            &["waited for the UFS clock", "0.80 ms"],
            &["100 %"],
        );
    }
    let unread = gate("elm.ufshc: gating stat").replace("REQ_CLKS_ON\n", "\n");
    says("show --only storage", &unread, &["is not known"], &["100 % of that is the drive"]);
}

#[test]
fn few_lines_bound_the_halves_of_an_attempt() {
    let controller = "[  801.000000] PM: suspend entry (s2idle)\n\
        [  801.900000] ACPI: EC: interrupt blocked\n[ 2601.000000] ACPI: EC: interrupt unblocked\n\
        [ 2602.000000] PM: suspend exit\n";
    let told =
        ["\"suspend_ns\":900000000", "\"resume_ns\":1000000000", "\"asleep_ns\":1799100000000"];
    says("show --json", controller, &told, &[]);
    says("show", controller, &["Suspend at least 900.0 ms"], &["No phase of this cycle"]);
    let frozen = "[ 1201.000000] PM: suspend entry (deep)\n\
        [ 1221.010000] Freezing user space processes failed after 20.004 seconds (1 tasks refusing to freeze, wq_busy=0):\n\
        [ 1221.020000] PM: suspend exit\n";
    says("show --json", frozen, &["\"suspend_ns\":20010000000", "freeze_failed"], &[]);
    // A keeper who was frozen writes of both as he thaws.
    let late = "Nov 22 08:00:00.100000 elm kernel: PM: suspend entry (s2idle)\n\
        Nov 22 08:31:10.100000 elm kernel: ACPI: EC: interrupt blocked\n\
        Nov 22 08:31:10.100100 elm kernel: ACPI: EC: interrupt unblocked\n\
        Nov 22 08:31:10.200000 elm kernel: PM: suspend exit\n";
    says("show --json", late, &["\"suspend_ns\":null"], &[]);
}

#[test]
fn a_hibernation_without_an_image_did_not_sleep() {
    let text = |line: &str| {
        format!(
            "Nov 18 21:30:00.100000 elm kernel: PM: hibernation: hibernation entry\n\
             Nov 18 21:30:00.200000 elm kernel: Filesystems sync: 0.020 seconds\n\
             Nov 18 21:30:01.000000 elm {line}\n\
             Nov 18 21:30:01.100000 elm kernel: PM: hibernation: hibernation exit\n"
        )
    };
    let asker = "Nov 18 21:30:01.200000 elm systemd-sleep[7701]: Failed to put system to sleep. \
        System resumed again: Cannot allocate memory\n";
    let sync = "kernel: OOM killer enabled.";
    for failed in [
        text("kernel: PM: hibernation: Image allocation is 81022 pages short"),
        text("kernel: PM: hibernation: Error -12 creating image"),
        text(sync) + asker,
    ] {
        says("show --json", &failed, &["\"outcome\":\"image_failed\""], &["\"outcome\":\"slept\""]);
        says("show --only modes --json", &failed, &["\"failed\": 1"], &["\"slept\": 1"]);
    }
    says("show --json", &text(sync), &["\"outcome\":\"slept\""], &[]);
}

#[test]
fn a_folder_that_a_command_goes_to_names_the_cpu() {
    let folder = "/sys/devices/system/cpu/cpu7/cpuidle";
    let names = "state0/name:WFI\nstate1/name:elm-deep\n";
    let rest = "state0/latency:1\nstate1/latency:900\nstate0/residency:1\nstate1/residency:5000\n";
    let trace = "<idle>-0 [007] d..2. 3100.000000: cpu_idle: state=1 cpu_id=7\n\
        <idle>-0 [007] d..2. 3100.002000: cpu_idle: state=4294967295 cpu_id=7\n";
    for command in [
        format!("The states (cd {folder}; grep . state*/name state*/latency state*/residency):\n"),
        format!("$ cd {folder}; grep . state*/name state*/latency state*/residency\n"),
        format!("# cd {folder} && grep . state*/{{name,latency,residency}}\n\n"),
        format!(
            "elm@oak:~$ cd {folder}\nelm@oak:~$ grep . state*/name state*/latency state*/residency\n"
        ),
    ] {
        let text = format!("{command}{names}{rest}\n{trace}");
        says("show --only idle", &text, &["elm-deep is too deep"], &["CPU 0", "shown as CPU 0"]);
    }
}

#[test]
fn an_error_at_the_cut_end_of_a_text_is_not_known() {
    let cut = format!("{DOWN}[  100.500000] elm 1-1: PM: failed to suspend: error -1");
    let told = ["1-1 (elm) ended the sleep; with which error is not known", "likely"];
    says("check", &cut, &told, &["EPERM", "error -1 ", "certain"]);
    says("show --json", &cut, &["\"outcome_errno\":null"], &[]);
    says("check", &format!("{cut}\n"), &["EPERM"], &["is cut"]);
    says("check", &format!("{cut}10"), &["ETIMEDOUT"], &["is cut"]);
    // A callback returned it just before.
    let told = cut.replace(
        "[  100.500000]",
        "[  100.499000] elm 1-1: PM: dpm_run_callback(): elm_suspend returns -110\n[  100.500000]",
    );
    says("check", &told, &["ETIMEDOUT"], &["is cut"]);
    says("show --json", &told, &["\"outcome_errno\":-110"], &[]);
}

#[test]
fn a_failed_probe_that_others_wait_for_is_a_fault() {
    let waits = "[   16.201000] elm-gcc 100000.clock: sync_state() pending due to af00000.clock\n";
    let fails =
        "[   18.990100] elm-disp af00000.clock: probe with driver elm-disp failed with error -2\n";
    let told = "af00000.clock by elm-disp failed with error -2 (ENOENT). 100000.clock waits for it";
    says("check", &format!("{waits}{fails}"), &["Broken: The probe of", told], &[]);
    says("check", fails, &[], &["Broken", "waits for it"]);
    let bound = "[   19.000000] elm-disp af00000.clock: bound 1.dpu (ops elm_ops)\n";
    says("check", &format!("{waits}{bound}"), &[], &["Broken"]);
}

#[test]
fn a_clock_that_nobody_enabled_is_not_called_off_where_it_may_run() {
    let text = "                 enable  prepare  protect                                duty  hardware  connection\n   \
        clock          count    count    count        rate   accuracy phase  cycle    enable   consumer  id\n\
        -----------------------------------------------------------------------------------------------\n \
        elm              0       0        0        24000000    0          0     50000      Y   fe04.vop  aclk\n \
        oak              0       0        0        24000000    0          0     50000      N   fe04.vop  hclk\n\n \
        regulator                      use open bypass  opmode voltage current     min     max\n\
        ---------------------------------------------------------------------------------------\n \
        vcc                              1    1      0 unknown  5000mV     0mA  5000mV  5000mV\n    \
        fe04.vop-avdd                 1                                 0mA     0mV     0mV\n";
    let told = ["nobody enabled elm, and the hardware may run it", "oak (off)"];
    says("show --only domains", text, &told, &["elm (off)", "nobody asked for elm"]);
}

#[test]
fn each_table_of_turbostat_shows_its_caption() {
    let table = |n: u32| {
        format!("Busy%\tBzy_MHz\tCPU%c6\tPkg%pc10\tPkgWatt\n2.00\t1100\t95.00\t{n}.00\t1.90\n")
    };
    let text = format!(
        "### elm, default\n{}### elm, oak=force\n{}### elm, oak=force, lid closed\n### (display off)\n{}",
        table(40),
        table(71),
        table(90)
    );
    let told = ["\"elm, default\"", "\"elm, oak=force\"", "oak=force, lid", "(display off)\""];
    says("show --only idle", &text, &told, &[]);
}
