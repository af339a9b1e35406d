//! Texts about other things, made up: none of them is a bad night, alone or mixed into one.

use dormouse_doctor::finding::{Finding, Level};
use dormouse_doctor::judge;
use dormouse_read::doctor::read_bytes;
use proptest::prelude::*;
use std::path::{Path, PathBuf};

/// Areas of rules about nights, by how their names begin.
const NIGHT: [&str; 5] = ["night-", "wake-", "block-", "round-", "mode-"];

fn of_nights(text: &str) -> Vec<Finding> {
    let all = judge(&read_bytes("text", text.as_bytes()).case).findings;
    all.into_iter().filter(|f| NIGHT.iter().any(|n| f.id.starts_with(n))).collect()
}

/// Texts that have nothing to do with a sleep; blocks of lines each.
const OTHERS: [&str; 36] = [
    "Run make check\nAttempt 1/4 failed\nRetrying, sleep 20 before the next\nAttempt 2/4 failed\nAttempt 3/4 succeeded",
    "Iteration 41/90: loss=0.377 acc=0.81\nIteration 42/90: loss=nan  training failed, gradient timeout",
    "Epoch 3 of 20: 12 passed, 4 failed\nround 7 of 9 failed: worker timed out",
    "Backup round 2 of 5 failed: connection timed out.",
    "S3 upload: attempt 2/3 failed\ns3 sync round 1 of 2 failed",
    "The 3rd round failed because of a timeout. We will try again in 4 hours.",
    "5 out of 30 members failed to vote.",
    "Tests: 310 passed, 12 failed in 4 iterations.",
    "The CI failed after 3 attempts to reach the mirror.",
    "test result: FAILED. 88 passed; 2 failed; 0 ignored",
    "FAILED [HIGH] KlogAcpiObjectDoesNotExist: Test 1, object missing",
    "cpu0 918 2 331 88123 41 0 12 0 0 0\ncpu1 901 4 320 88011 40 0 11 0 0 0",
    "   8       1 sdb1 4411 21 99181 3121 881 77 12311 991 0 4412 4112",
    "kmalloc-96 5512 5700 96 42 1 0 0 0 190 190 0\ninode_cache 81231 81231 608 26 4 0 0 0 3120 3120 0",
    "enp2s0 77889911 66112 0 3 0 0 0 9 11223344 33221 0 0 0 0 0 0",
    "root 0 1 2 3 4 5 6 7 8 9\ntotal 9 8 7 6 5 4 3 2 1 0",
    "VM build01            State: On\nReplica pg3           State: Not in sync\nTunnel wg0  State: Active",
    "TLS 1.3 | Required | Yes |\nSAML | Required | |",
    "display\nCount: 0\nmodem:\nCount: 3",
    "/* The task is woken by IRQ 7 of the uart. */\nenergy = 4; /* iteration 2/3 failed with -EBUSY */",
    "The main loop is woken by the timer every 90 ms. IRQ 14 wakes the worker thread.",
    "Support dropped from 58% to 39% after the debate.",
    "The disk went from 64% to 91% full. The CPU went from 12% to 97%.",
    "Chrome drains 30% of my battery in 3 hours while I watch videos.",
    "The van went from 90% to 35% on the trip; energy used 31 kWh.",
    "The build takes 50 minutes. Then the phone lost 9% in 2 hours on the train.",
    "Congratulations on the new notebook! It is black and 20 of 20 keys work.",
    "The suite has passed CI, 14 of 14 jobs.",
    "  1:     0     7   IO-APIC    1-edge      i8042\n 142:  8812345     0   PCI-MSI 524288-edge      nvme1q3\n  9:    3     0   IO-APIC    9-fasteoi   acpi",
    "LOC:   88123123   87812312   Local timer interrupts",
    "Device r/s rkB/s w/s\nnvme1n1 9.2 88.1 3.0 44.2 0.1 0.0 0.3 0.2 0.5 1.1",
    "--- a/drivers/foo.c\n+++ b/drivers/foo.c\n-\tif (round > 3 of 9)\n+\tpr_info(\"round %d failed\\n\", i);",
    "Package updates: 14\nState: running (2 degraded)\nBattery: 12V 90Ah AGM",
    "I lost 20% of my work in 15 minutes. Level 4 of 7 crashed.",
    "03:00.0 3D controller: NVIDIA Corporation Device 1f99 (rev a1)",
    "Level 2 support answered: the job died on node 12, please run 40 loops again?",
];

#[test]
fn texts_about_other_things_are_no_bad_nights() {
    for text in OTHERS {
        let found = of_nights(&format!("{text}\n"));
        assert!(found.is_empty(), "{text}\n{found:#?}");
    }
}

/// Texts near to a night that prove nothing bad.
const HEALTHY: [&str; 13] = [
    "[ 3.100000] ACPI: \\_SB.PCI0.PXQ2: Power resource still in use\n[ 3.200000] pcieport 0000:00:1c.4: PME: Signaling with IRQ 124\n",
    "With the patch it no longer hangs after 60 suspend cycles; before it failed at the 7th suspend.\n",
    "Does suspend hang after 25 cycles for you too? Please run 80 suspends and see if one fails.\n",
    "Suspend works, but the playback test failed after 14 iterations with an xrun.\n",
    "Battery went from 88% to 52% while I was awake, from 9:00 to 12:00. It sleeps fine otherwise.\n",
    "$ cat /sys/class/power_supply/BAT1/capacity\n91\n$ sleep 5400\n$ cat /sys/class/power_supply/BAT1/capacity\n58\n",
    "Battery on laptop A before suspend: 84%\nBattery on laptop B after resume: 22%\nBoth slept 7 hours.\n",
    "$ acpi -b\nBattery 0: Discharging, 96%, 06:02:11 remaining\n$ sudo rtcwake -m mem -s 25200\n$ acpi -b\nBattery 0: Discharging, 95%, 05:41:02 remaining\n",
    "2031-03-07 10:00:00 box systemd-sleep[1]: Performing sleep operation 'hibernate'...\n2031-03-07 10:04:00 box systemd-sleep[1]: System returned from sleep operation 'hibernate'.\n\
     2031-03-07 10:05:00 box systemd-sleep[2]: Performing sleep operation 'hibernate'...\n2031-03-07 10:09:00 box systemd-sleep[2]: System returned from sleep operation 'hibernate'.\n\
     2031-03-07 10:10:00 box systemd-sleep[2]: Performing sleep operation 'hibernate'...\n2031-03-07 10:14:00 box systemd-sleep[2]: System returned from sleep operation 'hibernate'.\n",
    "$ for i in 1 2 3; do rtcwake -m mem -s 20; sleep 15; done\n2031-06-07T10:00:01 box kernel: PM: suspend entry (deep)\n2031-06-07T10:00:21 box kernel: PM: suspend exit\n\
     2031-06-07T10:00:36 box kernel: PM: suspend entry (deep)\n2031-06-07T10:00:56 box kernel: PM: suspend exit\n\
     2031-06-07T10:01:11 box kernel: PM: suspend entry (deep)\n2031-06-07T10:01:31 box kernel: PM: suspend exit\n",
    "$ cat /sys/kernel/debug/pmc_core/slp_s0_residency_usec\n0\n$ cat /sys/kernel/debug/pmc_core/ltr_show\n\
     2 PMC0:SOUTHPORT_E LTR: RAW: 0x8c018c01 Non-Snoop(ns): 2048 Snoop(ns): 2048 LTR_IGNORE: 0\n\
     $ sudo rtcwake -m freeze -s 90\n$ cat /sys/kernel/debug/pmc_core/slp_s0_residency_usec\n88000000\n",
    "low_power_idle_system_residency_us: 71\nThe batch job sleeps 60 seconds.\nlow_power_idle_system_residency_us: 71\n",
    "$ cat /sys/power/suspend_stats/last_hw_sleep\n0\n$ cat /sys/power/suspend_stats/success\n0\n",
];

#[test]
fn healthy_texts_are_at_most_noted() {
    for text in HEALTHY {
        let found = of_nights(text);
        assert!(found.iter().all(|f| f.level == Level::Note), "{text}\n{found:#?}");
    }
}

/// Nights, each with the rule that must say so.
const NIGHTS: [(&str, &str, Level); 8] = [
    (
        "$ cat /sys/kernel/debug/pmc_core/slp_s0_residency_usec\n5512\n$ sudo rtcwake -m freeze -s 120\n\
         $ cat /sys/kernel/debug/pmc_core/slp_s0_residency_usec\n5512\n",
        "mode-name-only",
        Level::Risk,
    ),
    (
        "$ cat /sys/kernel/debug/pmc_core/package_cstate_show\nPackage C2 : 70\nPackage C10 : 0\n\
         $ sudo rtcwake -m freeze -s 1800\n$ cat /sys/kernel/debug/pmc_core/package_cstate_show\n\
         Package C2 : 1790000000\nPackage C10 : 44\n",
        "mode-name-only",
        Level::Risk,
    ),
    (
        "Suspend    1 of 30: sleep for 6 seconds... wake for 9 seconds...\n\
         Suspend    2 of 30: sleep for 8 seconds...Suspend failed.\nFinished 2 iterations.\nSuspend_failures: 1\n",
        "round-failed",
        Level::Broken,
    ),
    (
        "2031-05-02T01:00:00 nb kernel: PM: suspend entry (s2idle)\n2031-05-02T01:00:11 nb kernel: PM: suspend exit\n\
         2031-05-02T01:00:13 nb kernel: PM: suspend entry (s2idle)\n2031-05-02T01:00:27 nb kernel: PM: suspend exit\n\
         2031-05-02T01:00:29 nb kernel: PM: suspend entry (s2idle)\n2031-05-02T01:00:41 nb kernel: PM: suspend exit\n",
        "wake-loop",
        Level::Risk,
    ),
    (
        "$ cat /sys/class/power_supply/BAT0/energy_now\n50120000\n$ sudo rtcwake -m mem -s 7200\n\
         $ cat /sys/class/power_supply/BAT0/energy_now\n44120000\n$ cat /sys/class/power_supply/BAT0/energy_full\n52000000\n",
        "night-cost",
        Level::Risk,
    ),
    (
        " 14:  4400123     0   IO-APIC   14-fasteoi   INT34C6:00\n 16:      40     2   IO-APIC   16-fasteoi   i801_smbus\n",
        "wake-storm",
        Level::Risk,
    ),
    (
        "❌ Userspace suspended for 0:02:14.031448\n❌ Did not reach hardware sleep state\n",
        "mode-name-only",
        Level::Risk,
    ),
    (
        "[   12.000000] PM: suspend entry (s2idle)\n[   20.000000] PM: Triggering wakeup from IRQ 51\n\
         [   20.100000] PM: suspend exit\n",
        "mode-wake-source",
        Level::Note,
    ),
];

/// Everything but where it stands.
fn verdict(text: &str) -> Vec<(&'static str, Level, String)> {
    of_nights(text).into_iter().map(|f| (f.id, f.level, f.sentence)).collect()
}

#[test]
fn each_night_is_found() {
    for (text, rule, level) in NIGHTS {
        assert!(
            verdict(text).iter().any(|v| v.0 == rule && v.1 == level),
            "{text}{:#?}",
            verdict(text)
        );
    }
}

proptest! {
    #[test]
    fn lines_about_other_things_change_no_verdict(
        night in 0..NIGHTS.len(),
        drawn in proptest::collection::vec((0..OTHERS.len(), 0..3usize), 1..6),
    ) {
        let text = NIGHTS[night].0;
        let mut mixed = String::new();
        for (other, place) in &drawn {
            if *place == 0 {
                mixed += &format!("{}\n\n", OTHERS[*other]);
            }
        }
        mixed += text;
        for (other, place) in &drawn {
            if *place > 0 {
                mixed += &format!("\n{}\n", OTHERS[*other]);
            }
        }
        // A table of interrupts goes on with the rows of another.
        let storm = NIGHTS[night].1 == "wake-storm";
        prop_assume!(!storm || drawn.iter().all(|d| !OTHERS[d.0].contains("IO-APIC")));
        prop_assert_eq!(verdict(&mixed), verdict(text), "{}", mixed);
    }
}

/// Files of the repository that people write.
fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).expect("a folder");
    for path in entries.map(|e| e.expect("an entry").path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            let other = ["target", "tests", "fixtures", "node_modules", "cases"];
            if !name.starts_with('.') && !other.contains(&name.as_str()) {
                files(&path, out);
            }
        } else if ["md", "rs", "toml"].iter().any(|e| path.extension().is_some_and(|x| x == *e)) {
            out.push(path);
        }
    }
}

#[test]
fn documents_and_sources_are_no_bad_nights() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut all = Vec::new();
    // The rules quote most of what is a bad night.
    for folder in ["docs", "crates/doctor", "crates/words"] {
        files(&root.join(folder), &mut all);
    }
    all.extend(["README.md", "CHANGELOG.md", "ARCHITECTURE.md"].map(|f| root.join(f)));
    assert!(all.len() > 200, "{}", all.len());
    for path in all {
        let text = std::fs::read_to_string(&path).expect("a text");
        // Tests quote nights.
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        let code = path.extension().is_some_and(|e| e == "rs");
        // A string of a source quotes a message.
        let quotes = |f: &Finding| code && f.evidence.iter().any(|e| e.text.contains(['"', '`']));
        let mut bad = of_nights(text);
        bad.retain(|f| f.level != Level::Note && !quotes(f));
        assert!(bad.is_empty(), "{}\n{bad:#?}", path.display());
    }
}
