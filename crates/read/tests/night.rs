//! Texts about bad nights, made up: who woke the machine, what blocked its deep state, what
//! it cost, which round failed; and what such texts do not prove.

use dormouse_doctor::finding::{Confidence, Finding, Level};
use dormouse_doctor::judge;
use dormouse_read::doctor::read_bytes;

fn found(text: &str) -> Vec<Finding> {
    judge(&read_bytes("text", text.as_bytes()).case).findings
}

/// The sentence of a rule, whatever else is found.
fn says(text: &str, rule: &str) -> String {
    let all = found(text);
    let f = all.iter().find(|f| f.id == rule);
    f.map_or_else(|| panic!("no {rule} in {all:#?}"), |f| f.sentence.clone())
}

fn ids(text: &str) -> Vec<&'static str> {
    found(text).iter().map(|f| f.id).collect()
}

fn holds(words: &str, parts: &[&str]) {
    for p in parts {
        assert!(words.contains(p), "{p:?} is not in {words:?}");
    }
}

#[test]
fn an_interrupt_is_followed_to_the_pin_and_its_device() {
    let text = "[   12.000000] PM: suspend entry (s2idle)\n\
        [   20.000000] PM: Triggering wakeup from IRQ 7\n\
        [   20.100000] PM: suspend exit\n\n\
        $ cat /proc/interrupts\n\
        \x20          CPU0       CPU1\n\
        \x20  7:          0         13  IR-IO-APIC    7-fasteoi   pinctrl_amd\n\
        \x20131:          0         13  amd_gpio    8  SYNA9201:00\n\
        \x20140:          0          0  amd_gpio   61  GOOD1234:00\n";
    holds(
        &says(text, "mode-wake-source"),
        &["IRQ 7 of pinctrl_amd", "counted is 8, of SYNA9201:00"],
    );
    let recorded =
        "# cat /sys/power/pm_wakeup_irq\n51\n 51: 0 3 IR-PCI-MSI-0000:00:14.0 0-edge xhci_hcd\n";
    holds(&says(recorded, "mode-wake-source"), &["IRQ 51", "xhci_hcd"]);
}

#[test]
fn an_event_is_followed_down_by_the_tables_of_the_firmware() {
    let text = "> [  540.000000] PM: Triggering wakeup from IRQ 9\n\
        > [  540.000100] ACPI: PM: ACPI non-EC GPE wakeup\n\
        > [  540.500000] ACPI: GPE event 0x16\n\
        > [  540.500000] ACPI: GPE event 0x6d\n\
        > [    0.900000] ACPI: EC: GPE=0x16, IRQ=-1, EC_CMD/EC_SC=0x66\n\
        >\n\
        >     Device (RP05)\n\
        >     {\n\
        >         Name (_ADR, 0x001C0004)\n\
        >         Method (_PRW, 0, NotSerialized)\n\
        >         {\n\
        >             Return (GPRW (0x6D, 0x04))\n\
        >         }\n\
        >     }\n\
        >\n\
        > -[0000:00]-+-00.0  A host bridge\n\
        >            +-1c.4-[04]----00.0  Some Vendor Wireless 9000\n";
    let all = found(text);
    let f = all.iter().find(|f| f.id == "mode-wake-source").expect("a waker");
    holds(&f.sentence, &["GPE 0x6d is of RP05", "00:1c.4", "Some Vendor Wireless 9000"]);
    assert!(!f.sentence.contains("Which device raised it is not"), "{}", f.sentence);
    assert!(f.about.devices.iter().any(|d| d.name == "0000:04:00.0"), "{:?}", f.about.devices);
}

#[test]
fn what_a_writer_claims_is_quoted_and_not_repeated() {
    let text =
        "My tablet resumes at once. It is woken by IRQ 35, the lid switch behind INTC1055.\n";
    let all = found(text);
    assert_eq!((all[0].id, all[0].confidence), ("wake-claimed", Confidence::Guess));
    assert!(all[0].sentence.starts_with("Not proven"), "{}", all[0].sentence);
    assert!(found("Is it woken by IRQ 35?\n").is_empty());
}

#[test]
fn a_loop_is_told_by_the_clock_on_the_wall_and_refused_tries_are_none() {
    let cycle = |from: &str, to: &str| {
        // The kernel's clock stands in a sleep.
        let at = 50 + from.bytes().map(u64::from).sum::<u64>() % 40;
        format!(
            "May 11 {from} tv kernel: [   {at}.000000] PM: suspend entry (deep)\n\
             May 11 {to} tv kernel: [   {at}.300000] Resume caused by IRQ 188, modem\n\
             May 11 {to} tv kernel: [   {at}.400000] PM: suspend exit\n"
        )
    };
    let text = [
        cycle("03:20:10", "03:20:22"),
        cycle("03:20:23", "03:20:36"),
        cycle("03:20:37", "03:20:52"),
    ]
    .concat();
    holds(
        &says(&text, "wake-loop"),
        &["3 sleeps in a row", "12.0 s to 15.0 s", "IRQ 188 of modem woke it each time"],
    );
    let tried = [
        cycle("03:20:10", "03:20:10"),
        cycle("03:20:11", "03:20:11"),
        cycle("03:20:12", "03:20:12"),
    ];
    assert!(!ids(&tried.concat()).contains(&"wake-loop"));
    let nights = [
        cycle("01:00:00", "02:00:00"),
        cycle("02:00:05", "03:00:00"),
        cycle("03:00:05", "04:00:00"),
    ];
    assert!(!ids(&nights.concat()).contains(&"wake-loop"));
}

#[test]
fn a_report_of_amds_tool_names_waker_and_depth() {
    let text = "○ GPIOs active: ['9']\n🥱 Wakeup triggered from IRQ 1: PS/2 Controller\n\
        🥱 Woke up from IRQ 9: ACPI SCI\ngpe0b increased from 4 to 9\n\
        ❌ Userspace suspended for 0:10:14.031448 (< minimum expected 0:54:00)\n\
        ✅ In a hardware sleep state for 0:05:00.000000 (48.86%)\n";
    holds(
        &says(text, "mode-wake-source"),
        &["Woken by IRQ 9 (ACPI SCI)", "Meanwhile IRQ 1", "GPE 0x0b came 5 times"],
    );
    holds(&says(text, "mode-partial"), &["5 min 0 s of 10 min 14 s", "48.86 %"]);
    assert!(ids("❌ Did not reach hardware sleep state\n").contains(&"mode-name-only"));
}

#[test]
fn a_counter_that_stood_over_a_sleep_and_its_conditions_are_a_blocker_and_alone_they_are_none() {
    let table = "                       Element |    S0i2.0 |    S0i3.0 |    Status |  Live Status |\n\
        pmc0:           USB2PLL_OFF_STS |  Required |  Required |           |              |\n\
        pmc0:              SATAPLL_OFF_STS |  Required |  Required |       Yes |          Yes |\n";
    let readings = |after: u64| {
        format!(
            "# cat /sys/kernel/debug/pmc_core/slp_s0_residency_usec\n91823\n# rtcwake -m freeze -s 60\n\
             rtcwake: wakeup from \"freeze\" using /dev/rtc0 at Tue Mar  3 10:00:00 2026\n\
             # cat /sys/kernel/debug/pmc_core/slp_s0_residency_usec\n{after}\n{table}"
        )
    };
    let failed = found(&readings(91_823));
    let rules: Vec<(&str, Level)> = failed.iter().map(|f| (f.id, f.level)).collect();
    assert!(
        rules.contains(&("mode-name-only", Level::Risk))
            && rules.contains(&("block-condition", Level::Risk)),
        "{rules:?}"
    );
    holds(&says(&readings(91_823), "block-condition"), &["USB2PLL_OFF_STS"]);
    for healthy in [readings(58_091_823), table.to_string()] {
        assert!(found(&healthy).iter().all(|f| f.level == Level::Note), "{healthy}");
    }
}

#[test]
fn two_measurements_and_the_change_between_them() {
    let run = |pc8: &str, pc10: &str| {
        format!(
            "$ sudo turbostat --quiet --show Pkg%pc8,Pk%pc10,SYS%LPI rtcwake -m freeze -s 30\n30.912 sec\n\
             CPU%c7\tPkg%pc3\tPkg%pc8 \nPk%pc10SYS%LPI\n96.00\t0.50\t{pc8}\t{pc10}\t0.00\n95.00\t0.50\t{pc8}\t{pc10}\t0.00\n"
        )
    };
    let ltr =
        "3\tPMC0:SOUTHPORT_D \tLTR: RAW: 0x89e889e8 \nNon-Snoop(ns): 499712\tSnoop(ns): 499712\n";
    let text = format!(
        "{}{ltr}$ echo 3 | sudo tee /sys/kernel/debug/pmc_core/ltr_ignore\n3\n{}",
        run("91.20", "0.00"),
        run("2.00", "88.10")
    );
    holds(
        &says(&text, "block-change"),
        &[
            "from 0.00 % to 88.10 %",
            "SOUTHPORT_D",
            "499,712 ns",
            "something else still keeps the platform awake",
        ],
    );
    let unbound = "SOUTHPORT_B  LTR: RAW: 0x88018801  Non-Snoop(ns): 1024  Snoop(ns): 1024\n\
        $ echo 0000:3a:00.0 | sudo tee /sys/bus/pci/drivers/rtsx_pci/unbind\n\
        SOUTHPORT_B  LTR: RAW: 0x0  Non-Snoop(ns): 0  Snoop(ns): 0\n";
    holds(&says(unbound, "block-latency"), &["1,024 ns", "0000:3a:00.0"]);
}

#[test]
fn a_program_that_asked_the_kernel_in_vain_is_no_test_that_did_not_run() {
    let asked = "rtcwake: assuming RTC uses UTC ...\n\
        rtcwake: wakeup from \"mem\" using /dev/rtc0 at Tue Mar  3 10:00:00 2026\nrtcwake: write error\n";
    let all = ids(asked);
    assert!(all.contains(&"write-refused") && !all.contains(&"night-not-run"), "{all:?}");
    holds(
        &says(&asked.replace("error\n", "error: Device or resource busy\n"), "write-refused"),
        &["error -16"],
    );
    let held = "rtcwake: cannot open /dev/rtc0: Device or resource busy\n";
    assert_eq!(ids(held), ["night-not-run"]);
}

#[test]
fn power_domains_that_never_slept_are_named() {
    let file = |name: &str, n: u32| {
        format!(
            "root@dev:~# cat /sys/kernel/debug/qcom_stats/{name}\nCount: {n}\nLast Entered At: 0\nLast Exited At: 0\nAccumulated Duration: 0\n"
        )
    };
    let text = [file("cxsd", 0), file("aosd", 0), file("ddr", 812)].concat();
    holds(&says(&text, "block-domain"), &["cxsd, aosd", "No rule finds what votes against them"]);
    let over = format!("{}root@dev:~# rtcwake -m mem -s 20\n{}", file("cxsd", 4), file("cxsd", 9));
    assert!(found(&over).iter().all(|f| f.level == Level::Note));
}

#[test]
fn what_a_night_cost_is_told_as_far_as_the_gauge_and_the_log_go() {
    let files = "$ cat /sys/class/power_supply/BAT0/energy_now\n50120000\n$ sudo rtcwake -m mem -s 3600\n\
        $ cat /sys/class/power_supply/BAT0/energy_now\n49870000\n";
    holds(&says(files, "night-cost"), &["0.250 Wh in 1 h 0 min: 0.25 W"]);
    let words = "Battery drained from 100% to 60% in about 8 hours of sleep.\n";
    holds(&says(words, "night-cost"), &["Asleep but hot", "5.0 % an hour"]);
    let log = "2026-01-10T23:00:01+0100 nb kernel: PM: suspend entry (deep)\n\
        2026-01-10T23:00:31+0100 nb kernel: PM: suspend exit\n";
    let short = format!("The battery lost 15% in 6 hours.\n{log}");
    holds(&says(&short, "night-cost"), &["does not cover the drain", "30.0 s"]);
    let sides = "Before suspend (22:45): battery 96%\nAfter resume (06:45): battery 92%\n";
    holds(&says(sides, "night-cost"), &["4.0 % in 8 h 0 min: 0.5 % an hour", "steps of 1.0 %"]);
}

#[test]
fn the_round_that_failed_is_named_and_none_of_so_many_is_a_bound() {
    let stress = "Suspend    1 of 40: sleep for 6 seconds... wake for 9 seconds...\n\
        Suspend    2 of 40: sleep for 8 seconds...Suspend failed.\nFinished 2 iterations.\nSuspend_failures: 1\n";
    holds(
        &says(stress, "round-failed"),
        &["Round 2 of 40 failed", "1 round before it", "Suspend_failures: 1"],
    );
    let fwts = "s2idle cycle 17 of 60\nFAILED [HIGH] S2idleNotDeepest: Test 1, Expected /sys/kernel/debug/pmc_core\n\
        /slp_s0_residency_usec to increase from 5551, got 5551.\n";
    holds(&says(fwts, "round-shallow"), &["Round 17 of 60", "no hang"]);
    let hung = "s3: cycle 499 of 1000\ns3: cycle 500 of 1000\nSuspend test failed, machine hung\n";
    holds(&says(hung, "round-failed"), &["Round 500 of 1,000 failed"]);
    let clean = "Finished 900 iterations.\nSuspend_failures: 0\ns0ix errors: 0\n";
    holds(&says(clean, "round-counts"), &["900 done, 0 failed", "1 round in 300"]);
    assert!(found("Running 10 iterations with:\n  errors_fatal: true\n").is_empty());
}

#[test]
fn siblings_in_other_words_are_found_too() {
    // Text, rule, parts of its sentence.
    let all: [(&str, &str, &[&str]); 17] = [
        (
            "Slept 9 h.\nBattery before: 83%, after: 31%\n",
            "night-cost",
            &["52.0 % in 9 h 0 min", "5.8 % an hour"],
        ),
        (
            "Energy before suspend: 47.5 Wh, energy after: 44.0 Wh, slept 7h 0m\n",
            "night-cost",
            &["3.500 Wh in 7 h 0 min: 0.50 W"],
        ),
        (
            "Battery at sleep, 10:40 pm: 91%\nBattery at wake, 6:40 am: 51%\n",
            "night-cost",
            &["40.0 % in 8 h 0 min: 5.0 % an hour"],
        ),
        (
            "/sys/class/power_supply/BAT1/energy_now   =  41200 [mWh]\nafter 4 h suspend\n/sys/class/power_supply/BAT1/energy_now   =  39200 [mWh]\n",
            "night-cost",
            &["2.000 Wh in 4 h 0 min: 0.50 W"],
        ),
        (
            "I put the laptop to sleep at 11:30 pm at 90 % and in the morning at 7:30 am it was at 50 %.\n",
            "night-cost",
            &["40.0 % in 8 h 0 min"],
        ),
        (
            "> Dec 31 23:00:00 box kernel: PM: suspend entry (s2idle)\n> Jan  1 07:00:00 box kernel: PM: suspend exit\n>\n> The battery dropped from 86% to 46%.\n",
            "night-cost",
            &["40.0 % in 8 h 0 min: 5.0 % an hour"],
        ),
        (
            "On Windows it loses 1% per hour in standby, on Linux s2idle drains 6% per hour of the battery.\n",
            "night-cost",
            &["6.0 % an hour"],
        ),
        (
            "Battery BAT1 lost 2000000 µWh (4.10%) [Average rate 0.50W]\n",
            "night-cost",
            &["4.1 %", "4 h 0 min"],
        ),
        ("slp_s0_residency_usec went from 7000 to 9007000\n", "mode-hardware", &["9.0 s"]),
        (
            "low_power_idle_system_residency_us: 310\n$ sudo systemctl suspend\nlow_power_idle_system_residency_us: 313\n",
            "mode-name-only",
            &["entering and leaving"],
        ),
        (
            "$ cat /sys/kernel/debug/pmc_core/slp_s0_residency_usec\n100\n$ rtcwake -m freeze -s 600\n\
             $ cat /sys/kernel/debug/pmc_core/slp_s0_residency_usec\n300000100\n",
            "mode-partial",
            &["only a part of the time", "5 min 0 s of 10 min 0 s"],
        ),
        (
            "We suspended it by rtcwake over the weekend. It made 911 cycles, then on cycle 912 the\nboard did not come back.\n",
            "round-failed",
            &["Round 912 failed"],
        ),
        (
            "> Test of suspend for 400 times, the DUT died\n> on iteration 150.\n",
            "round-failed",
            &["Round 150 of 400"],
        ),
        (
            "About every tenth suspend hangs (roughly 13 of 130 tries).\n",
            "round-failed",
            &["13 of 130"],
        ),
        (
            "S3 cycle 6 of 20\npm-action returned 0 after 33 seconds.\nS3 cycle 7 of 20\n\
             FAILED [MEDIUM] ShortSuspend: Test 1, Unexpected: S3 slept for 1 seconds, less than the expected 30 seconds.\n",
            "round-failed",
            &["Round 7 of 20", "1 round before it"],
        ),
        (
            "Round(3/9)\nrtcwake: wakeup from \"mem\" using /dev/rtc0 at x\nRound(4/9)\nrtcwake: wakeup from \"mem\" using /dev/rtc0 at x\n",
            "round-open",
            &["Round 4 of 9 has no end", "1 round before it"],
        ),
        (
            "## pll_status\nUFSX2 PLL   State: Active\nGPIOCOM0     State: Idle\n",
            "block-condition",
            &["1 of the 2 conditions of pll_status"],
        ),
    ];
    for (text, rule, parts) in all {
        holds(&says(text, rule), parts);
    }
}

#[test]
fn what_a_person_writes_fails_no_check() {
    let texts = [
        "It hangs after 37 suspends.\n",
        "3 out of 90 suspends failed.\n",
        "Suspend drained 40% of the battery in 5 hours.\n",
        "suspend/resume iteration 4/9\nthe machine hung\n",
    ];
    for text in texts {
        let all = found(text);
        assert!(
            !all.is_empty() && all.iter().all(|f| f.confidence == Confidence::Guess),
            "{all:#?}"
        );
    }
}

#[test]
fn a_failure_behind_thousands_of_rounds_is_found() {
    let line = |n: u32| match n {
        5_300 => format!("Suspend {n} of 5400: sleep for 7 seconds...Suspend failed.\n"),
        _ => format!("Suspend {n} of 5400: sleep for 7 seconds... wake for 6 seconds...\n"),
    };
    let text: String = (1..=5_400).map(line).collect();
    holds(&says(&text, "round-failed"), &["Round 5,300 of 5,400", "5,299 rounds before it"]);
}

#[test]
fn tables_of_wakeup_sources_name_the_waker_and_who_holds() {
    let head = "name\tactive_count\tevent_count\twakeup_count\texpire_count\tactive_since\ttotal_time\tmax_time\tlast_change\tprevent_suspend_time\n";
    let row = |name: &str, woke: u32| format!("{name}\t4\t9\t{woke}\t0\t0\t70\t20\t9000\t0\n");
    let two = format!(
        "{head}{}{}# echo mem > /sys/power/state\n{head}{}{}",
        row("0000:00:14.0", 2),
        row("PNP0C0D:00", 1),
        row("0000:00:14.0", 3),
        row("PNP0C0D:00", 1)
    );
    holds(&says(&two, "mode-wake-source"), &["Woken by 0000:00:14.0:", "no other count"]);
    let dump = "| NAME       | PID  | TYPE   | STATUS   | ACTIVE COUNT | WAKEUP COUNT | LAST CHANGE |\n\
        | ufs_gate   | ---  | Kernel | Active   | 12           | 0            | 81230ms     |\n\
        | rmnet_ipa0 | 1820 | Kernel | Inactive | 44           | 7            | 81200ms     |\n";
    holds(&says(dump, "abort-source-active"), &["ufs_gate is active now"]);
    holds(&says(dump, "abort-source-woke"), &["rmnet_ipa0 7 times"]);
    let old = "name\tcount\texpire_count\twake_count\tactive_since\ttotal_time\tsleep_time\tmax_time\tlast_change\n\
        \"sdio_rx\"\t12\t0\t5\t0\t9000\t10\t100\t77\n\"main\"\t1\t0\t0\t88123\t9000\t0\t9000\t5\n";
    holds(&says(old, "abort-source-active"), &["main is active now"]);
    holds(&says(old, "abort-source-woke"), &["sdio_rx 5 times"]);
}

#[test]
fn a_sleep_of_known_length_says_it_with_its_waker() {
    let log = "Mar  4 23:10:00 nb kernel: PM: suspend entry (s2idle)\n\
        Mar  5 06:40:00 nb kernel: PM: Triggering wakeup from IRQ 9\nMar  5 06:40:00 nb kernel: PM: suspend exit\n";
    holds(&says(log, "mode-wake-source"), &["Slept 7 h 30 min; woken by IRQ 9"]);
}

#[test]
fn amds_table_names_the_part_that_was_active() {
    let table = |status: &str, display: u64, cpu: u64| {
        format!(
            "=== SMU Statistics ===\nTable Version: 3\nHint Count: 2\nLast S0i3 Status: {status}\n\
             Time (in us) in S0i3: 0\n\n=== Active time (in us) ===\nDISPLAY  : {display}\n\
             CPU      : {cpu}\nVCN      : 0\nUSB4_0   : 0\n"
        )
    };
    let words = says(&table("Unknown/Fail", 12_400_300, 20_000), "mode-name-only");
    holds(&words, &["DISPLAY (12.4 s)", "none for more than 20 ms", "not proven"]);
    let log = "[  500.000000] PM: suspend entry (s2idle)\n\
        [  540.000000] amd_pmc AMDI0009:00: Last suspend didn't reach deepest state\n\
        [  540.100000] PM: suspend exit\n";
    let words = says(&format!("{log}{}", table("Unknown/Fail", 0, 9_000_000)), "mode-name-only");
    holds(&words, &["CPU (9.0 s); all others that it lists are idle"]);
    // Little of it is the way down, and a sleep that was one names nobody.
    let words = says(&format!("{log}{}", table("Unknown/Fail", 30_000, 9_000)), "mode-name-only");
    assert!(!words.contains("DISPLAY"), "{words}");
    let slept = table("Success", 12_400_300, 0).replace("in S0i3: 0", "in S0i3: 700100300");
    assert!(!ids(&slept).contains(&"mode-name-only"));
}

#[test]
fn some_of_many_sleeps_are_not_all_of_them() {
    let text = "On this laptop suspend does not last:\n\n```\n\
        52 x \"PM: suspend entry\" in one boot\n\
        17 x \"amd_pmc AMDI0009:00: Last suspend didn't reach deepest state\"\n```\n";
    holds(&says(text, "mode-name-only"), &["In 17 of 52 sleeps", "did not reach"]);
    // Sleeps of another kind, and those that were given up, are none that it could speak of.
    let name_only = "[  10.000000] PM: suspend entry (s2idle)\n\
        [  40.000000] amd_pmc AMDI0009:00: Last suspend didn't reach deepest state\n\
        [  40.100000] PM: suspend exit\n";
    let others = "[  60.000000] PM: hibernation: hibernation entry\n\
        [  90.000000] PM: hibernation: hibernation exit\n\
        [ 100.000000] PM: suspend entry (s2idle)\n\
        [ 101.000000] PM: Some devices failed to suspend, or early wake event detected\n\
        [ 101.100000] PM: suspend exit\n";
    let words = says(&format!("{name_only}{others}"), "mode-name-only");
    assert!(words.starts_with("The machine slept in name only: its power"), "{words}");
    let turns = "21:00:10 suspend entry (s2idle) -> 21:00:40 suspend exit\n\
        21:45:40 suspend entry -> 21:47:01 suspend exit\n\
        22:32:01 suspend entry -> 22:32:30 suspend exit\n";
    holds(&says(turns, "wake-loop"), &["3 short sleeps", "45 min", "as a timer orders"]);
    let uneven = turns.replace("22:32:01", "22:12:01").replace("22:32:30", "22:12:30");
    assert!(!ids(&uneven).contains(&"wake-loop"));
}

#[test]
fn counts_of_androids_reasons_are_a_list_and_no_abort() {
    let text = "  All wakeup reasons:\n\
        \x20 Wakeup reason 40 pmic:7 nfc: 5m 2s 1ms (310 times) realtime\n\
        \x20 Wakeup reason 41 pmic:9 wlan1: 9m 4s 100ms (1200 times) realtime\n\
        \x20 Wakeup reason Abort: Last active Wakeup Source: eventpoll: 7s 1ms (12 times) realtime\n";
    holds(
        &says(text, "night-wake-reasons"),
        &["41 pmic:9 wlan1 (1,200 times)", "eventpoll (12 times)"],
    );
    assert!(!ids(text).contains(&"abort-wakeup"));
}

#[test]
fn rows_of_what_a_night_used_are_its_cost_and_a_charge_is_none() {
    let text = "Deep suspend of the handheld, overnight:\n\n\
        \x20 2.00h   150,000 uAh = 75.0 mA  (capacity 90% -> 86%)\n\
        \x20 4.00h   900,000 uAh = 225.0 mA  (capacity 86% -> 60%)\n";
    holds(&says(text, "night-cost"), &["75.0 mA, 2.00 % an hour", "differ by more than twice"]);
    let charge = "(sleep) dT = 300 (s), dQ = 40 (mAh) = 610 (mWh), P = 7320 (mW)\n";
    assert!(!ids(charge).contains(&"night-cost"));
    assert!(ids("The test ran 2h on a 4000 mAh battery and used 300 mAh.\n").is_empty());
}

#[test]
fn commands_of_one_line_have_their_outputs_in_order() {
    let wake = "$ cat /proc/acpi/wakeup\nDevice\tS-state\t  Status   Sysfs node\n\
        LANA\t  S4\t*enabled   pci:0000:00:19.0\n";
    let text = format!(
        "{wake}$ uptime; cat /sys/power/pm_wakeup_irq; grep rtc /proc/interrupts\n\
        07:01:02 up 3 days\n8\n   8:   0   2   IO-APIC   8-edge   rtc0\n"
    );
    holds(&says(&text, "mode-wake-source"), &["IRQ 8", "rtc0"]);
    assert!(!ids(&text).contains(&"wake-armed"));
    assert!(ids(wake).contains(&"wake-armed"), "nothing else is read there");
    let slept = |before: u64, after: u64| {
        format!(
            "$ cat /sys/kernel/debug/pmc_core/slp_s0_residency_usec; sudo rtcwake -m freeze -s 90; cat /sys/kernel/debug/pmc_core/slp_s0_residency_usec\n\
            {before}\n{after}\n"
        )
    };
    assert!(ids(&slept(700, 700)).contains(&"mode-name-only"));
    assert!(!ids(&slept(700, 84_000_700)).contains(&"mode-name-only"));
}

#[test]
fn sleeps_with_a_waker_each_are_told_one_by_one() {
    let sleep = |hour: u32, irqs: &[u32]| {
        let woke: String = irqs
            .iter()
            .map(|n| {
                format!("Mar 04 0{hour}:20:00 elm kernel: PM: Triggering wakeup from IRQ {n}\n")
            })
            .collect();
        format!(
            "Mar 04 0{hour}:00:00 elm kernel: PM: suspend entry (s2idle)\n{woke}\
            Mar 04 0{hour}:20:00 elm kernel: PM: suspend exit\n"
        )
    };
    let table = "  77:   3   gpio-brcm   4   HALL0001:00\n   8:   1   IO-APIC   8-edge   rtc0\n";
    let each = format!("{}{}{table}", sleep(1, &[77]), sleep(3, &[8]));
    let words = says(&each, "mode-wake-source");
    holds(&words, &["line 1 IRQ 77 after 20 min 0 s; line 4 IRQ 8 after 20 min 0 s"]);
    assert!(!words.contains("Each of them"), "{words}");
    let both = format!("{}{table}", sleep(1, &[77, 8]));
    holds(&says(&both, "mode-wake-source"), &["Each of them can have woken it"]);
}

#[test]
fn who_raised_an_interrupt_is_looked_for_in_words_and_beside_the_wake_up() {
    let woke = "PM: suspend-to-idle\nPM: Triggering wakeup from IRQ 12\nPM: Triggering wakeup from IRQ 61\n";
    let text = format!(
        "The board wakes up if the dial is turned: its line has IRQ 61 below the\n\
        controller of IRQ 12.\n\n{woke}"
    );
    let words = says(&text, "mode-wake-source");
    holds(&words, &["the writer says: \"The board wakes up if the dial is turned"]);
    assert!(!words.contains("Each of them"), "{words}");
    holds(&says(woke, "mode-wake-source"), &["Each of them", "that was read names the device"]);
    let f = found(woke).into_iter().find(|f| f.id == "mode-wake-source").expect("a waker");
    let look = format!("{f:?}");
    assert!(!look.contains("_PRW"), "no word of ACPI in it: {look}");
    let night = |last: &str| {
        format!(
            "Mar 04 22:00:01 elm systemd-sleep[9]: Performing sleep operation 'suspend'...\n\
            Mar 04 22:00:01 elm kernel: PM: suspend entry (s2idle)\n\
            Mar 05 06:00:00 elm kernel: PM: Triggering wakeup from IRQ 9\n\
            Mar 05 06:00:00 elm kernel: PM: suspend exit\n\
            Mar 05 06:00:00 elm systemd-logind[7]: {last}\n"
        )
    };
    holds(&says(&night("Lid opened."), "mode-wake-source"), &["Lid opened.", "beside the wake-up"]);
    assert!(!says(&night("Watching system buttons"), "mode-wake-source").contains("beside"));
}

#[test]
fn no_data_of_the_kernel_is_told_as_such() {
    let none = "$ cat /sys/power/pm_wakeup_irq\ncat: /sys/power/pm_wakeup_irq: No data available\n\
        $ cat /proc/interrupts\n   CPU0\n   8:   1   IO-APIC   8-edge   rtc0\n";
    holds(&says(none, "wake-unrecorded"), &["recorded no interrupt"]);
    let some = none.replace("cat: /sys/power/pm_wakeup_irq: No data available", "8");
    assert!(!ids(&some).contains(&"wake-unrecorded"));
}

#[test]
fn wake_locks_of_a_kernel_are_told_without_the_time_of_the_screen() {
    let text = |lock: &str| {
        format!(
            "All kernel wake locks:\nKernel Wake lock {lock} realtime\n\
            Kernel Wake lock PowerManagerService.WakeLocks: 40s 1ms (7 times) realtime\n\
            All partial wake locks:\nWake lock u0a9 sync: 12s 7ms (3 times) realtime\n"
        )
    };
    let held = text("modem_rx_wl: 3h 2m 1s 5ms (0 times)");
    holds(
        &says(&held, "night-wakelocks"),
        &["modem_rx_wl, 3 h 2 min", "before the count began", "u0a9 sync"],
    );
    assert!(!ids(&text("modem_rx_wl: 5m 2s 5ms (80 times)")).contains(&"night-wakelocks"));
}

#[test]
fn a_loop_tells_its_rounds_by_its_own_counts() {
    let text = |failed: u32| {
        format!(
            "sleep test: rtcwake -m mem -s 15, 60 rounds\n\
            round 01/60: slept 15 s, success=1 fail=0\nround 02/60: slept 16 s, success=2 fail=0\n\
            rounds: 60  passed: {}  failed: {failed}\n",
            60 - failed
        )
    };
    holds(&says(&text(0), "round-counts"), &["60 done, 0 failed"]);
    assert!(!ids(&text(0)).contains(&"round-failed"));
    holds(&says(&text(2), "round-failed"), &["2 of 60 failed"]);
}

#[test]
fn batteries_beside_a_sleep_are_read_in_logs_too() {
    let night = |a: &str, b: &str| {
        format!(
            "Mar 04 22:00:00 elm powerhook[3]: pre {a} BAT1/status=Discharging\n\
            Mar 04 22:00:01 elm kernel: PM: suspend entry (s2idle)\n\
            Mar 05 06:00:01 elm kernel: PM: suspend exit\n\
            Mar 05 06:00:02 elm powerhook[4]: post {b} BAT1/status=Discharging\n"
        )
    };
    let words = says(&night("BAT1/energy_now=40000000", "BAT1/energy_now=38400000"), "night-cost");
    holds(&words, &["took 1.600 Wh", "0.20 W"]);
    let block = |hour: &str, state: &str, wh: &str, percent: u32| {
        format!(
            "2031-03-0{hour}:00:00+0100 elm log[3]: native-path: BAT1 state: {state} energy: {wh} Wh energy-full: 60.0 Wh percentage: {percent}%\n"
        )
    };
    let slept = "2031-03-04T22:00:01+0100 elm kernel: PM: suspend entry (s2idle)\n\
        2031-03-05T06:00:00+0100 elm kernel: PM: suspend exit\n";
    let charged = [
        block("4T22", "discharging", "30.0", 50),
        slept.into(),
        block("5T07", "charging", "54.0", 90),
    ];
    holds(&says(&charged.concat(), "night-cost"), &["had more after the sleep", "charged"]);
    let systemd = "Performing sleep operation 'suspend'...\n\
        System returned from sleep operation 'suspend'.\n\
        BAT1: 2% was discharged in 30min. Estimating discharge rate...\n";
    holds(
        &says(systemd, "night-cost"),
        &["2 % of the battery in 30 min", "4.0 % an hour", "whole per cents"],
    );
    let hook = "(suspend) dT = 600 (s), dQ = -10 (mAh) = 40 (mWh), P = -900 (mW)\n\
        (trial run) dT = 300 (s), dQ = -90 (mAh) = 900 (mWh), P = -9000 (mW)\n";
    let words = says(hook, "night-cost");
    assert!(words.contains("0.90 W") && !words.contains("9.00 W"), "{words}");
}

#[test]
fn constraints_beside_a_sleep_that_was_reached_are_no_risk() {
    let unmet =
        "ACPI: \\_SB_.PCI0.RP07: LPI: Constraint not met; min power state:D3hot, current: D0\n";
    let level =
        |text: &str| found(text).iter().find(|f| f.id == "block-constraint").map(|f| f.level);
    let table = "| Metric | Value |\n|---|---|\n| Hardware sleep residency | 58.10% |\n\n";
    assert_eq!(level(&format!("{table}{unmet}")), Some(Level::Note));
    assert_eq!(level(unmet), Some(Level::Risk));
    assert_eq!(level(&format!("{}{unmet}", table.replace("58.10", "0.00"))), Some(Level::Risk));
}
