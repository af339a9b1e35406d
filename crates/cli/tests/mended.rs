//! Kinds of texts that people post, as in `kinds.rs`: what a sleep's own units, ports and tables
//! say. The texts are made up.

use super::kinds::{says, sleep};

#[test]
fn an_error_of_swap_in_use_is_of_no_hibernation() {
    let log = |before: &str| {
        format!(
            "[  700.000000] {before}\n[  700.100000] Read-error on swap-device (253:7:40960)\n\
             [  700.200000] Read-error on swap-device (253:7:40968)\n"
        )
    };
    let used = log("oak 0000:0b:00.0: Device not ready; aborting reset");
    says("check", &used, &[], &["image of the memory", "Broken"]);
    let behind = sleep("") + &log("oak 0000:0b:00.0: Device not ready");
    says("check", &behind, &[], &["image of the memory"]);
    let image = log("PM: hibernation: Loading and decompressing image data (7021 pages)...");
    says("check", &image, &["The disk 253:7 failed while the image of the memory was read"], &[]);
}

#[test]
fn a_journal_that_ends_with_the_entry_and_a_writer_who_saw_no_return() {
    let log = "Mar 03 10:00:01 elm kernel: usb 3-1: new high-speed USB device number 4\n\
        Mar 03 10:00:07 elm systemd-logind[611]: Lid closed.\n\
        Mar 03 10:00:08 elm kernel: PM: suspend entry (deep)\n";
    let hangs = |words: &str| format!("{words}\n\n```\n{log}```\n");
    let must = ["Risk: The log ends in the sleep of line", "at its beginning", "(a guess)"];
    let said = hangs("My elm does not wake up from sleep and I have to hold the power button.");
    says("check", &said, &must[..2], &["Nothing wrong"]);
    says("show", &said, &must[1..2], &[]);
    let anew = hangs("When I open the lid my elm reboots on resume.");
    says("check", &anew, &must[..2], &[]);
    says("check", &hangs("My elm is a fine machine and this is its log."), &[], &must[..2]);
}

#[test]
fn a_controller_that_dies_comes_before_what_hangs_behind_it() {
    let log = sleep(
        "[  103.000000] PM: noirq resume of devices complete after 3.100 msecs\n\
         [  103.500000] xhci_hcd 0000:0c:00.3: xHCI host controller not responding, assume dead\n\
         [  103.500100] xhci_hcd 0000:0c:00.3: HC died; cleaning up\n\
         [  103.600000] usb 6-2: PM: failed to resume async: error -19\n",
    );
    let dead =
        "Broken: The USB controller 0000:0c:00.3 (xhci_hcd) died while the machine came back";
    says("check", &log, &[dead, "6-2 (usb) failed to resume"], &[]);
    says("show", &log, &[dead], &[]);
    let first = |verb: &str| {
        let said = super::words::words(&[verb, "-"], &log);
        (said.find("died while").expect("the controller"), said.find("failed to resume"))
    };
    for verb in ["check", "show"] {
        let (died, lost) = first(verb);
        assert!(lost.is_none_or(|lost| died < lost), "{verb}");
    }
}

#[test]
fn a_driver_that_tells_of_its_own_block_is_heard() {
    let log = sleep(
        "[  103.000000] PM: noirq resume of devices complete after 3.100 msecs\n\
         [  103.500000] elm 0000:0d:00.0: elm: resume of block <oak> failed -110\n\
         [  103.500100] elm 0000:0d:00.0: elm: elm_ip_resume failed (-110).\n",
    );
    let said = "0000:0d:00.0 (elm) did not resume whole: error -110";
    says("check", &log, &[said, "resume of block <oak> failed"], &["no rule knows"]);
    says("show", &log, &[said], &[]);
    let core =
        log.replace("elm: elm_ip_resume failed (-110).", "PM: failed to resume async: error -110");
    says("check", &core, &["0000:0d:00.0 (elm) failed to resume"], &["did not resume whole"]);
    let fine = sleep("[  103.500000] elm 0000:0d:00.0: elm: resume of block <oak> took 110 us\n");
    says("check", &fine, &[], &["Broken", "did not resume whole"]);
}

#[test]
fn a_quoted_path_is_the_path() {
    for mark in ["", "\"", "'"] {
        let text =
            format!("$ cat {mark}/sys/bus/pci/devices/0000:41:00.0/power/control{mark}\non\n");
        says("check", &text, &["0000:41:00.0"], &["nothing to analyse"]);
    }
}

#[test]
fn the_last_table_of_wake_nodes_counts() {
    let table = |oak: &str, elm: &str| {
        format!(
            "$ cat /proc/acpi/wakeup\nDevice  S-state   Status   Sysfs node\n\
             OAK1      S4    *{oak}   pci:0000:00:1c.4\nELM0      S3    *{elm}   pci:0000:00:14.2\n"
        )
    };
    let on = table("enabled", "enabled");
    let off = on.clone() + "\n# echo ELM0 > /proc/acpi/wakeup\n\n" + &table("enabled", "disabled");
    let must = [
        "by /proc/acpi/wakeup: OAK1 (pci:0000:00:1c.4).",
        "An earlier table has ELM0 (pci:0000:00:14.2) as armed too, the last one not.",
    ];
    says("check", &off, &must, &[]);
    let none = on.replace("*enabled", "*disabled");
    let no_more = "these wake the machine no more: OAK1 (pci:0000:00:1c.4), ELM0";
    says("check", &(on.clone() + "\n\n" + &none), &[no_more], &["These may wake"]);
    let twice = on.clone() + "\n\n" + &on;
    let both = "OAK1 (pci:0000:00:1c.4), ELM0 (pci:0000:00:14.2).";
    says("check", &twice, &[both], &["An earlier table"]);
    // Ports without a node may share a name inside of one table.
    let ports = "$ cat /proc/acpi/wakeup\nPORT      S4    *enabled\nPORT      S4    *disabled\n";
    says("check", ports, &["by /proc/acpi/wakeup: PORT."], &[]);
}

#[test]
fn a_swap_file_has_another_name_than_its_device_and_zram_holds_no_image() {
    let text = |swaps: &str| {
        format!(
            "Failed to hibernate system via logind: Not enough suitable swap space for hibernation\n\
             BOOT_IMAGE=/vmlinuz root=/dev/mapper/oak resume=/dev/mapper/oak resume_offset=99328\n\
             $ cat /proc/swaps\nFilename Type Size Used Priority\n{swaps}"
        )
    };
    let zram = "/dev/zram0 partition 8388604 0 100\n";
    let file = text(&format!("/swap/elm.img file 20971516 0 -2\n{zram}"));
    says(
        "check",
        &file,
        &["20,479 MiB of swap are free all the same:", "compare resume_offset= with filefrag -v"],
        &["not in that list", "2 areas"],
    );
    says("check", &text(zram), &["there is /dev/zram0 alone", "holds no image"], &["MiB of swap"]);
    let part = text("/dev/sdc3 partition 20971516 0 -2\n");
    says("check", &part, &["resume=/dev/mapper/oak is not in that list"], &["filefrag"]);
}

#[test]
fn the_unit_of_a_sleep_is_the_sleep() {
    let log = "Mar 03 10:00:07 elm systemd[1]: Starting systemd-hibernate.service - System Hibernate...\n\
        Mar 03 10:00:07 elm systemd-sleep[811]: Performing sleep operation 'hibernate'...\n\
        Mar 03 10:00:11 elm systemd-sleep[811]: Failed to put system to sleep. System resumed again: Cannot allocate memory\n\
        Mar 03 10:00:12 elm systemd[1]: systemd-hibernate.service: Failed with result 'exit-code'.\n";
    says("check", log, &["could not hibernate the machine"], &["Whether the sleep is the reason"]);
}

#[test]
fn elogind_refuses_in_words_of_its_own() {
    let refused = "$ loginctl suspend\nFailed to suspend system via elogind: Access denied\n";
    says("check", refused, &["elogind refused to put the machine to sleep"], &[]);
    let silent = refused.replace("Access denied", "Connection timed out");
    says("check", &silent, &["elogind gave no answer"], &["The kernel was not asked"]);
    let log = "Mar 03 10:00:08 elm kernel: PM: suspend entry (deep)\n\
        Mar 03 10:00:09 elm kernel: Filesystems sync: 1.021 seconds\n\
        Mar 03 10:00:33 elm loginctl[944]: Failed to suspend system via elogind: Connection timed out\n";
    let after = "failed 25.0 s by stamps of whole seconds after a kernel was asked";
    says("check", log, &[after, "no line between tells that it came back"], &["before any kernel"]);
}

#[test]
fn a_reason_that_is_known_stands_beside_the_error() {
    let log = sleep(
        "[  101.000000] elm 0000:0d:00.0: the parameter keep_memory needs a service\n\
         [  101.000100] elm 0000:0d:00.0: PM: failed to suspend async: error -5\n",
    );
    says("show", &log, &["ended the sleep: error -5", "keep_memory needs a service"], &[]);
}
