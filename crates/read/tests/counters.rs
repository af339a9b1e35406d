//! Values and tables that stand anywhere in a text: what the platform counted, who wakes,
//! what failed; and healthy twins.

use dormouse_doctor::finding::{Finding, Level};
use dormouse_doctor::judge;
use dormouse_read::doctor::read_bytes;

fn found(text: &str) -> Vec<Finding> {
    judge(&read_bytes("text", text.as_bytes()).case).findings
}

fn above_a_note(text: &str) -> Vec<&'static str> {
    found(text).iter().filter(|f| f.level != Level::Note).map(|f| f.id).collect()
}

const CPU: &str = "/sys/devices/system/cpu/cpuidle/low_power_idle_cpu_residency_us";
const SYSTEM: &str = "/sys/devices/system/cpu/cpuidle/low_power_idle_system_residency_us";

#[test]
fn a_counter_that_stands_still_over_a_sleep_is_proof_and_one_that_grows_is_too() {
    let text = |after: u64| {
        format!("{CPU}:100\n{SYSTEM}:70\nthen I slept\n{CPU}:900000100\n{SYSTEM}:{after}\n")
    };
    assert_eq!(above_a_note(&text(70)), ["mode-name-only"]);
    assert!(found(&text(70))[0].sentence.contains("15 min 0 s"), "{:?}", found(&text(70)));
    assert!(above_a_note(&text(800_000_070)).is_empty());
    // Nobody slept in between: it had no reason to grow.
    let awake = format!("{SYSTEM}:70\n{SYSTEM}:70\n");
    assert!(found(&awake).is_empty());
}

#[test]
fn conditions_that_were_not_met_count_only_where_the_sleep_failed() {
    let table = "[    9.000000] intel_pmc_core INT33A1:00: SLP_S0_DBG: PCIE_D3          \tState: No\n\
        [    9.000000] intel_pmc_core INT33A1:00: SLP_S0_DBG: SDIO_D3          \tState: Yes\n";
    let failed = format!(
        "[    8.000000] intel_pmc_core INT33A1:00: CPU did not enter SLP_S0!!! (S0ix cnt=3)\n{table}"
    );
    let all = found(&failed);
    assert_eq!(all[0].id, "mode-name-only");
    assert!(all[0].why.contains("PCIE_D3") && !all[0].why.contains("SDIO_D3"), "{}", all[0].why);
    assert!(!all[0].sentence.contains("does not say"), "{}", all[0].sentence);
    assert!(above_a_note(table).is_empty(), "the table alone proves no failure");
}

#[test]
fn a_latency_that_no_state_can_keep_is_a_blocker_and_a_longer_one_is_none() {
    let row = |name: &str, ns: u64| {
        format!(
            "3\tPMC0:{name}   \tLTR: RAW: 0x9    \tNon-Snoop(ns): 0    \tSnoop(ns): {ns}   \tLTR_IGNORE: 0\n"
        )
    };
    let said =
        "[    8.000000] intel_pmc_core INT33A1:00: CPU did not enter SLP_S0!!! (S0ix cnt=3)\n";
    let text = format!("{}{}{said}", row("ESPI", 262_144), row("CNVI", 2_048));
    let blamed = |text: &str| -> Vec<String> {
        let all = found(text).into_iter();
        all.filter(|f| f.id == "block-latency" && f.level != Level::Note)
            .map(|f| f.sentence)
            .collect()
    };
    let one = blamed(&text);
    assert!(one.len() == 1 && one[0].starts_with("CNVI asks for"), "{one:?}");
    let long = format!("{}{}{said}", row("ESPI", 262_144), row("CNVI", 90_112));
    assert!(blamed(&long).is_empty(), "a device in D3 asks for nothing");
}

#[test]
fn substates_and_self_tests_are_read() {
    let table = |two: u64, three: u64| {
        format!("pmc0   Substate       Residency\n  S0i2.0    {two}\n  S0i3.1    {three}\n")
    };
    assert_eq!(above_a_note(&table(5_000_000, 0)), ["mode-partial"]);
    assert!(above_a_note(&table(5_000_000, 70_000_000)).is_empty());
    assert!(above_a_note(&table(0, 0)).is_empty(), "it may not have slept yet");
    let test = "Turbostat output:\n16.1 sec\nCPU%c1\tPkg%pc8\tPk%pc10\tSYS%LPI\n0.40\t0.02\t91.00\t0.00\n\
        Your system supports S0ix substates, but did not achieve the shallowest s0i2.0\n";
    let quoted: String = test.lines().map(|l| format!("> {l}\n")).collect();
    for text in [test, quoted.as_str()] {
        assert_eq!(above_a_note(text), ["mode-name-only"], "{text}");
        assert!(found(text)[0].sentence.contains("91.00 %"), "{:?}", found(text));
    }
}

#[test]
fn the_table_of_amd_counts_after_a_sleep_alone() {
    let table = |us: u64| {
        format!(
            "=== SMU Statistics ===\nHint Count: 1\nLast S0i3 Status: Unknown/Fail\nTime (in us) in S0i3: {us}\n"
        )
    };
    let slept = "[    7.000000] PM: suspend entry (s2idle)\n[    9.000000] PM: suspend exit\n";
    assert_eq!(above_a_note(&(slept.to_string() + &table(0))), ["mode-name-only"]);
    assert!(above_a_note(&table(0)).is_empty(), "it never slept");
    assert!(above_a_note(&(slept.to_string() + &table(7_000_000))).is_empty());
}

#[test]
fn the_table_of_attempts_is_read_in_every_dress() {
    let text = "success: 9\nfail: 4\nfailed_freeze: 1\nfailed_prepare: 0\nfailed_suspend: 3\nfailures:\n  last_failed_dev:\tspi1.2\n\t\t\tusb3\n  last_failed_errno:\t-110\n\t\t\t-16\n  last_failed_step:\tsuspend\n\t\t\tsuspend\n";
    let bold: String = text
        .lines()
        .map(|l| match l.split_once(':') {
            Some((name, value)) if !l.starts_with(' ') => format!("**{name}**:{value}\n"),
            _ => format!("{l}\n"),
        })
        .collect();
    let quoted: String = text.lines().map(|l| format!("> {l}\n")).collect();
    let command = format!("root@pika:~# cat /sys/kernel/debug/suspend_stats\n{text}");
    for text in [text, &bold, &quoted, &command] {
        let all = found(text);
        let f = all
            .iter()
            .find(|f| f.id == "attempts-failed")
            .unwrap_or_else(|| panic!("{text}: {all:?}"));
        assert_eq!(
            (f.about.devices[0].name.as_str(), f.about.error),
            ("spi1.2", Some(-110)),
            "{text}"
        );
    }
    assert!(above_a_note(&text.replace("fail: 4", "fail: 0")).is_empty());
}

#[test]
fn wakeup_sources_are_read_in_every_layout() {
    let old = "name\tactive_count\tevent_count\twakeup_count\texpire_count\tactive_since\ttotal_time\tmax_time\tlast_change\n\
        rtc-pl031\t2\t2\t1\t0\t0\t12\t7\t4022\n\
        main battery\t3\t3\t0\t0\t12001\t12900\t12001\t5000\n\
        \t4\t4\t2\t0\t0\t3\t1\t700\n";
    let new = old.replace("last_change\n", "last_change\tprevent_suspend_time\n");
    let new: String = new
        .lines()
        .enumerate()
        .map(|(i, l)| if i == 0 { format!("{l}\n") } else { format!("{l}\t0\n") })
        .collect();
    for text in [old, &new] {
        let all = found(text);
        let of =
            |id: &str| all.iter().find(|f| f.id == id).unwrap_or_else(|| panic!("{text} {all:?}"));
        assert_eq!(of("abort-source-active").about.devices[0].name, "main battery");
        let woke = of("abort-source-woke");
        assert!(woke.sentence.contains("a source without a name 2 times"), "{}", woke.sentence);
        assert!(woke.sentence.contains("rtc-pl031 once"), "{}", woke.sentence);
    }
}

#[test]
fn who_woke_is_named_where_the_text_names_it() {
    let log = |lines: &str| {
        format!(
            "[    1.000000] PM: suspend entry (s2idle)\n{lines}[   90.000000] PM: suspend exit\n"
        )
    };
    let said = |text: &str| {
        found(text)
            .iter()
            .find(|f| f.id == "mode-wake-source")
            .unwrap_or_else(|| panic!("{text}"))
            .sentence
            .clone()
    };
    let irq = log("[   80.000000] PM: Triggering wakeup from IRQ 37\n");
    assert!(said(&irq).contains("names the device that raised it"));
    let row = format!(" 37:     12      0   GICv3 101 Level     sbu-uart\n{irq}");
    assert!(said(&row).contains("IRQ 37 of sbu-uart"), "{}", said(&row));
    let gpio = log(
        "[   80.000000] PM: GPIO 5 is active: 0x30057800\n[   80.000000] PM: Triggering wakeup from IRQ 7\n",
    );
    assert!(said(&gpio).contains("GPIO 5"));
    let notify = log(
        "[   80.000000] PM: Triggering wakeup from IRQ 9\n[   80.000000] ACPI: PM: Wakeup after ACPI Notify sync\n",
    );
    assert!(said(&notify).contains("notification"));
    let phone = log("[   80.000000] Resume caused by IRQ 12, tcpc-irq\n");
    assert!(said(&phone).contains("IRQ 12 of tcpc-irq"));
}

#[test]
fn a_sleep_that_was_only_a_test_is_told() {
    let text = "[    1.000000] PM: hibernation entry\n[    2.000000] PM: hibernation debug: Waiting for 5 seconds.\n[    8.000000] PM: hibernation exit\n";
    assert_eq!(above_a_note(text), ["knob-pm-test"]);
    let value = "# cat /sys/power/pm_test\n[none] core processors platform devices freezer\n";
    assert!(found(value).is_empty());
    assert_eq!(above_a_note(&value.replace("[none] core", "none [core]")), ["knob-pm-test"]);
}

/// Rules that `text` calls for, notes too.
fn rules(text: &str) -> Vec<&'static str> {
    found(text).iter().map(|f| f.id).collect()
}

#[test]
fn settings_of_newer_kernels_are_read_from_their_files() {
    let threads = "/sys/power/hibernate_compression_threads:";
    assert_eq!(rules(&format!("{threads}6\n")), ["knob-hib-threads"]);
    assert!(rules(&format!("{threads}3\n")).is_empty());
    let lps0 = "# cat /sys/module/acpi_x86/parameters/sleep_no_lps0\nY\n";
    assert_eq!(above_a_note(lps0), ["knob-no-lps0"]);
    assert!(rules(&lps0.replace("\nY", "\nN")).is_empty());
    let dog = "$ sysctl -a | grep dpm_\nkernel.dpm_watchdog_timeout_secs = 90\n\
        kernel.dpm_watchdog_warning_timeout_secs = 30\n";
    let said = |text: &str| found(text).iter().map(|f| f.sentence.clone()).collect::<String>();
    assert!(
        said(dog).ends_with("warns of a callback after 30 s, and stops the kernel after 90 s.")
    );
    assert!(said(&dog.replace("30", "90")).contains("without a warning before"));
    let off = format!("{dog}/sys/module/pm/parameters/dpm_watchdog_enabled:N\n");
    assert!(said(&off).contains("is off"));
    assert!(above_a_note(&off).is_empty());
    // A limit that stands alone, and other sysctls, are none of these.
    assert!(rules("kernel.dpm_watchdog_warning_timeout_secs = 30\nkernel.panic = 10\n").is_empty());
}

#[test]
fn settings_of_the_command_line_count_where_no_file_says_otherwise() {
    let boot = |words: &str| {
        format!(
            "[    0.000000] Command line: BOOT_IMAGE=/vmlinuz-7.3.2 root=/dev/nvme0n1p3 {words} quiet\n"
        )
    };
    assert_eq!(above_a_note(&boot("pm_async=off")), ["knob-pm-async"]);
    assert!(rules(&boot("pm_async=on")).is_empty(), "only off is a word of it");
    let file = format!("{}/sys/power/pm_async:1\n", boot("pm_async=off"));
    assert!(rules(&file).is_empty(), "somebody switched it on since");
    assert_eq!(rules(&boot("hibernate_compression_threads=1")), ["knob-hib-threads"]);
    assert_eq!(above_a_note(&boot("acpi_x86.sleep-no-lps0=1")), ["knob-no-lps0"]);
    assert!(rules(&boot("acpi.sleep_no_lps0=1 acpi.sleep_no_lps0=0")).is_empty(), "the last holds");
    assert!(rules("I boot with pm_async=off and hibernate_compression_threads=1\n").is_empty());
}

#[test]
fn constraints_that_nobody_compares_are_no_proof() {
    let log = "[   50.000000] PM: suspend entry (s2idle)\n[   50.100000] Freezing user space processes\n\
        [   50.500000] PM: suspend devices took 0.300 seconds\n[   95.000000] PM: resume devices took 0.200 seconds\n\
        [   95.100000] PM: suspend exit\n# cat /sys/power/suspend_stats/last_hw_sleep\n0\n";
    let with = |value: &str| {
        rules(&format!("{log}/sys/module/acpi_x86/parameters/check_lps0_constraints:{value}\n"))
    };
    assert!(rules(log).contains(&"mode-not-counted"));
    assert!(with("N").contains(&"knob-constraints"));
    assert!(!with("Y").contains(&"knob-constraints"));
    let deep = log.replace("last_hw_sleep\n0", "last_hw_sleep\n44000000");
    let value = "/sys/module/acpi_x86/parameters/check_lps0_constraints:N\n";
    assert!(!rules(&format!("{deep}{value}")).contains(&"knob-constraints"));
}

#[test]
fn a_source_that_was_relaxed_once_less_than_activated_is_active() {
    let at = "/sys/class/wakeup/wakeup14/";
    let counts = |begun, relaxed| {
        rules(&format!("{at}name:tps-typec\n{at}active_count:{begun}\n{at}relax_count:{relaxed}\n"))
    };
    assert_eq!(counts(18, 17), ["abort-source-active"]);
    assert!(counts(18, 18).is_empty());
}

#[test]
fn both_stages_of_the_watchdog_are_told_apart() {
    let log = |line: &str| {
        format!(
            "[  300.000000] PM: suspend entry (deep)\n[  300.200000] printk: Suspending console(s) (use no_console_suspend to debug)\n{line}[  352.000000] PM: suspend devices took 51.500 seconds\n[  360.000000] PM: suspend exit\n"
        )
    };
    let warned = log(
        "[  345.300000] qcom-geni 88c000.i2c: PM: **** DPM device timeout after 45 seconds; 15 seconds until panic ****\n",
    );
    let warned = found(&warned).into_iter().find(|f| f.id == "device-slow").unwrap();
    assert!(
        warned.sentence.contains("15.0 s more, and the kernel would have stopped"),
        "{}",
        warned.sentence
    );
    let fatal = log("[  360.300000] qcom-geni 88c000.i2c: PM: **** DPM device timeout ****\n");
    assert!(above_a_note(&fatal).contains(&"device-hang"));
    // A warning of a kernel that was told its condition, with and without the file.
    for line in [
        "[  340.100000] WARNING: [link->width > 4] drivers/foo/bar.c:91 at bar_suspend+0x1c/0x60 [bar], CPU#2: systemd-sleep/4410\n",
        "[  340.100000] WARNING: at bar_suspend+0x1c/0x60 [bar], CPU#2: systemd-sleep/4410\n",
    ] {
        let text = log(line);
        let f = found(&text).into_iter().find(|f| f.id == "phase-warning");
        assert!(f.is_some_and(|f| f.sentence.contains("bar_suspend")), "{line}");
    }
}

#[test]
fn the_command_line_says_that_devices_go_one_by_one() {
    let of = |word: &str| {
        let log = format!(
            "[    0.000000] Kernel command line: root=/dev/vda2 {word} ro\n[   50.000000] PM: suspend entry (deep)\n[   51.000000] PM: suspend exit\n"
        );
        let read = dormouse_read::read_bytes("log", log.as_bytes(), &Default::default());
        read.expect("a log").captures[0].machine.pm_async
    };
    assert_eq!(of("pm_async=off"), Some(false));
    assert_ne!(of("pm_async=0"), Some(false));
}
