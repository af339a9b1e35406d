//! What screens say of tests of wake-ups, of tables of idle machines, and of sessions of a
//! shell.

use super::words::words;

fn shown(text: &str) -> String {
    words(&["show", "-"], text)
}

fn checked(text: &str) -> String {
    words(&["check", "-"], text)
}

/// Rows of two threads that were so late at most.
fn rows(pid: u32, mean: u32, most: [u32; 2]) -> String {
    let row = |n: u32, m: u32| {
        format!(
            "T: {n} ({:5}) P:95 I:{} C: {:6} Min:      1 Act:    2 Avg: {mean:4} Max: {m:7}\n",
            pid + n,
            1000 + 500 * n,
            60_000 - 20_000 * n
        )
    };
    row(0, most[0]) + &row(1, most[1])
}

#[test]
fn a_test_of_wake_ups_says_its_worst_and_no_reason() {
    let text = format!(
        "> # /dev/cpu_dma_latency set to 0us\n> {}",
        rows(70, 5, [31, 212]).replace("\nT:", "\n> T:")
    );
    let said = shown(&text);
    assert!(
        said.starts_with(
            "The worst of 100,000 wake-ups came 212 us late, in thread 1; the mean of all is 5 us."
        ),
        "{said}"
    );
    for words in [
        "2 threads of cyclictest",
        "ran for about 1 min (",
        "a longer test may find a later one",
        "What made it late the test does not say",
        "at 0 us, which leaves CPUs only their first idle state",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let said = checked(&text);
    assert!(said.contains("No rule found a fault") && !said.contains("does not read"), "{said}");
    let json = words(&["show", "--only", "idle", "--json", "-"], &text);
    assert!(json.contains("\"wakeup_tests\"") && json.contains("212000"), "{json}");
}

#[test]
fn two_tests_are_two_and_what_differs_is_what_words_say() {
    let named = |a: &str, b: &str| {
        format!("{a}\n```\n{}```\n{b}\n```\n{}```\n", rows(70, 6, [88, 40]), rows(90, 2, [7, 11]))
    };
    let text = named("### Without `idle=poll`", "### With `idle=poll`:");
    let said = shown(&text);
    assert!(said.starts_with("The worst wake-up fell from 88 us (thread 0) to 11 us (thread 1), the mean from 6 to 2 us."), "{said}");
    assert!(
        said.contains("Words of the text tell them apart: \"With idle=poll\" ran with idle=poll."),
        "{said}"
    );
    assert!(said.contains("leaving those is the likely part"), "{said}");
    assert!(
        words(&["compare", "-"], &text).starts_with("The worst wake-up fell from 88 us"),
        "{said}"
    );
    let said = shown(&named("before:", "after:"));
    assert!(said.contains("\"before\" beside \"after\": two tests"), "{said}");
    assert!(
        said.contains("the text does not say, and so not that idle states made the difference"),
        "{said}"
    );
    let held = text.replacen("```\nT:", "```\n# /dev/cpu_dma_latency set to 0us\nT:", 1);
    assert!(shown(&held).contains("is not proven: cyclictest held"), "{}", shown(&held));
}

#[test]
fn of_more_tests_than_two_the_worst_is_named_first() {
    let text = format!(
        "no load:\n{}\nload:\n{}\nload and isolcpus=1:\n{}",
        rows(70, 3, [9, 8]),
        rows(80, 6, [88, 130]),
        rows(90, 4, [30, 12])
    );
    let said = shown(&text);
    assert!(
        said.starts_with(
            "Of 3 tests the worst wake-up came latest in \"load\", by 130 us, and least late in \"no load\", by 9 us."
        ),
        "{said}"
    );
}

const HEAD: &str = "Core\tCPU\tAvg_MHz\tBusy%\tBzy_MHz\tPOLL%\tC1%\tC1E%\tC6%\tCPU%c1\tCPU%c6\tPkg%pc2\tPkg%pc6\tPkgWatt\n";

/// A table of a machine that works for so long, and rests in C1 and C1E.
fn table(busy: &str, [c1, c1e, core]: [&str; 3]) -> String {
    let shares =
        format!("20\t{busy}\t1100\t0.00\t{c1}\t{c1e}\t0.00\t{core}\t0.00\t0.00\t0.00\t8.10");
    format!("$ sudo turbostat -n 1\n{HEAD}-\t-\t{shares}\n0\t0\t{shares}\n")
}

const RESTS: [&str; 3] = ["40.00", "57.00", "97.00"];

#[test]
fn an_idle_package_that_reached_no_state_is_found_with_what_may_keep_it() {
    let said = checked(&table("2.00", RESTS));
    assert!(
        said.contains("idle for 98.0 % of the time, and its package reached no state"),
        "{said}"
    );
    assert!(said.contains("deeper than C1E") && !said.contains("guess"), "{said}");
    let named = table("2.00", RESTS) + "\nBOOT_IMAGE=/vmlinuz quiet processor.max_cstate=1\n";
    let said = checked(&named);
    assert!(
        said.contains("processor.max_cstate=1, which line 6 names, is the likely reason (a guess)"),
        "{said}"
    );
    assert!(
        shown(&named).contains("The likely reason (a guess) is processor.max_cstate=1"),
        "{}",
        shown(&named)
    );
    for other in ["Should I try processor.max_cstate=1?", "It is without processor.max_cstate=1."] {
        let said = checked(&format!("{}\n{other}\n", table("2.00", RESTS)));
        assert!(!said.contains("likely reason"), "{said}");
    }
    let busy = table("99.50", ["0.20", "0.10", "0.40"]);
    let said = shown(&busy);
    assert!(
        said.contains("CPUs were busy for 99.5 % of the time, and a package sleeps only while"),
        "{said}"
    );
    assert!(!checked(&busy).contains("reached no state"), "{}", checked(&busy));
}

#[test]
fn prompts_of_two_machines_name_their_tables() {
    let monitor = |host: &str, c6: &str| {
        format!(
            "me@{host}:~$ cpupower monitor\n              | Mperf              || Idle_Stats\n PKG|CORE| CPU| C0   | Cx   | Freq || POLL | C1   | C6\n   0|   0|   0|  3.00| 97.00|  1200||  0.00|  4.00| {c6}\n"
        )
    };
    let text = monitor("oak", "92.00") + "\n" + &monitor("elm", "10.00");
    let said = shown(&text);
    assert!(
        said.contains("oak and elm differ most in C6: 92.00 % and 10.00 % of the time."),
        "{said}"
    );
    assert!(said.contains("two machines by their prompts"), "{said}");
    assert!(!said.contains("first") && !said.contains("changed"), "{said}");
    let same =
        shown(&(monitor("oak", "92.00") + "\nWith the new kernel:\n" + &monitor("oak", "10.00")));
    assert!(same.contains("What changed most is C6"), "{same}");
}

#[test]
fn the_deepest_state_of_a_table_has_none_below_it() {
    let screen = |deep: &str, deepest: &str| {
        format!(
            "           Pkg(OS)  |            Core(HW) |            CPU(OS) 0\nC0 active   1.2%    | C0 active     1.2%  | C0 active   1.2%\nC2 (pc2)    4.1%    |                     |\nC8 (pc8)   {deep}%    |                     |\nC10 (pc10) {deepest}%    | C7 (cc7)     97.0%  | C10        97.9%   11.8 ms\n"
        )
    };
    let said = checked(&screen("0.0", "93.6"));
    assert!(said.contains("C10 for 93.60 %, the deepest state that the table has"), "{said}");
    assert!(!said.contains("kept it") && !said.contains("never deeper"), "{said}");
    let said = checked(&screen("93.6", "0.0"));
    assert!(said.contains("never deeper"), "{said}");
}

#[test]
fn an_idle_package_that_stays_in_c3_is_said_first() {
    let file = "/sys/kernel/debug/pmc_core/package_cstate_show";
    let read = |c3: u64, c10: u64| {
        format!(
            "$ cat {file}\nPackage C2 : 1\nPackage C3 : {c3}\nPackage C8 : 0\nPackage C10 : {c10}\n"
        )
    };
    let text = read(100, 0)
        + "$ sleep 30\n"
        + &read(25_000_100, 0)
        + "$ rtcwake -m freeze -s 60\n"
        + &read(26_000_100, 58_000_000);
    let said = checked(&text);
    assert!(
        said.starts_with("Risk: Awake (idle for 30 s) the package goes no deeper than C3"),
        "{said}"
    );
}

#[test]
fn relative_paths_of_a_session_are_of_its_folder() {
    let text = "$ cd /sys/bus/pci/devices/0000:03:00.0\n$ grep . power/*\npower/control:on\npower/runtime_active_time:920441\npower/runtime_status:active\npower/runtime_suspended_time:0\n";
    let said = checked(text);
    assert!(
        said.contains("Device 0000:03:00.0 may not suspend at run time: its control is on"),
        "{said}"
    );
    assert!(!said.contains("Nothing wrong found"), "{said}");
    let short = checked("$ cd /sys/bus/pci/devices/0000:03:00.0\n$ cat power/control\non\n");
    assert!(short.starts_with("Awake by their settings: 0000:03:00.0"), "{short}");
    let gpu = "$ cat /proc/driver/nvidia/gpus/0000:03:00.0/power\nRuntime D3 status:          Disabled by default\nVideo Memory:               Active\n";
    let said = checked(&format!("{text}{gpu}"));
    assert!(
        said.contains("The driver of device 0000:03:00.0 does not switch it off at run time"),
        "{said}"
    );
    let fine =
        checked(&format!("{text}{}", gpu.replace("Disabled by default", "Enabled (fine-grained)")));
    assert!(!fine.contains("does not switch it off"), "{fine}");
}

#[test]
fn all_areas_of_swap_count_and_the_one_to_resume_from_is_named() {
    let text = |resume: &str| {
        format!(
            "Failed to hibernate system via logind: Not enough swap space for hibernation\n$ cat /proc/swaps\nFilename Type Size Used Priority\n/dev/sdb1 partition 1048572 0 -2\n/dev/sdb5 partition 4194300 0 -3\n$ cat /sys/power/resume\n{resume}\n"
        )
    };
    let said = checked(&text("8:21"));
    assert!(said.contains("5,119 MiB of swap are free all the same in 2 areas"), "{said}");
    assert!(
        said.contains(
            "8:21, which is /dev/sdb5 by its number: it is in that list, with 4,095 MiB free"
        ),
        "{said}"
    );
    assert!(checked(&text("8:3")).contains("/dev/sda3 by its number: it is not in that list"));
    let shown =
        text("0:0").replace("1048572 0 -2", "1024M 0B -2").replace("4194300 0 -3", "4G 1G -3");
    assert!(
        checked(&shown).contains("4,096 MiB of swap are free all the same in 2 areas"),
        "{}",
        checked(&shown)
    );
}

#[test]
fn bandwidth_is_what_fio_prints() {
    let text = "AC:\nread: IOPS=11.9k, BW=46.3MiB/s (48.6MB/s)(2780MiB/60001msec)\n    clat (usec): min=52, max=3121, avg=82.91, stdev=21.40\n";
    let said = shown(text);
    assert!(said.contains(" 48.6 "), "{said}");
}
