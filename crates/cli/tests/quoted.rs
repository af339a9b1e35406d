//! Whose a log is that a text quotes, whether it is over, and what was measured against what.

use super::words::words;

fn checked(text: &str) -> String {
    words(&["check", "-"], text)
}

fn shown(text: &str) -> String {
    words(&["show", "-"], text)
}

const QUOTED: &str = "On Mon, 21 May 2018, Ada wrote:\n\
    > May 21 22:20:06 dell kernel: [  166.947628] oak 0000:01:00.0: failed to idle\n\
    > May 21 22:20:06 dell kernel: [  166.947670] PM: Device 0000:01:00.0 failed to suspend async: error -16\n\
    > May 21 22:20:06 dell kernel: [  167.123902] PM: Some devices failed to suspend, or early wake event detected\n\n";

#[test]
fn a_failure_that_is_quoted_and_denied_is_of_another() {
    for denial in [
        "I have the same one with 4.17-rc6 and cannot reproduce this. Twenty\ncycles, all fine.",
        "Works here on the same model with 4.17-rc6.",
        "Hm, no problem here.",
        "I don't see this on my machine.",
    ] {
        let text = format!("{QUOTED}{denial}\n");
        let check = checked(&text);
        assert!(check.starts_with("Risk: ") && check.contains("That is a suspicion"), "{check}");
        assert!(check.contains("of the writer that is quoted"), "{check}");
        assert!(!check.contains("earlier time"), "{check}");
        let show = shown(&text);
        assert!(show.starts_with("A suspicion: a sleep failed: aborted by"), "{show}");
        assert!(show.contains("perhaps of another machine"), "{show}");
    }
    // Who sees it too, or has a log of his own, says nothing against it.
    for other in ["I see the same here.", "With the patch it works here.", "Does it work for you?"]
    {
        let check = checked(&format!("{QUOTED}{other}\n"));
        assert!(check.starts_with("Broken: ") && !check.contains("is quoted"), "{check}");
    }
    let own = QUOTED.replace("> ", "");
    assert!(checked(&format!("{own}> Works here.\n")).starts_with("Broken: "));
}

#[test]
fn a_report_that_is_solved_says_so_first_and_what_helped() {
    let text = checked(
        "SOLVED, for whoever finds this, with Ubuntu 26.04 and a kernel of 7.0.0-22-generic and more.\n\n\
         Before (oak_iommu=off) every cycle logged\n\
         `amd_pmc AMDI000B:00: Last suspend didn't reach deepest state` and 0.00%.\n\n\
         After removing oak_iommu=off:\n\n    \
         $ cat /sys/power/suspend_stats/last_hw_sleep\n    24251333\n",
    );
    assert!(text.starts_with("The writer says that it is over: \"SOLVED"), "{text}");
    assert!(text.contains("What helped, in the writer's words: \"After removing"), "{text}");
    assert!(!text.contains("No rule finds") && !text.contains("Do: "), "{text}");
    assert!(!text.contains("Nothing wrong found"), "{text}");
}

#[test]
fn a_thread_that_is_marked_as_solved_is_over_and_half_a_solution_is_not() {
    let log = "[   10.000000] PM: suspend entry (deep)\n\
               [   10.500000] oak 1-0020: PM: failed to suspend: error -5\n\
               [   10.600000] PM: suspend exit\n";
    let title = "[SOLVED] Laptop does not suspend";
    let text = format!("{title}\n\n{log}\nBlacklisting oak fixed it.\n");
    let check = checked(&text);
    assert!(check.contains("in the writer's words: \"Blacklisting oak fixed it\""), "{check}");
    let show = shown(&text);
    assert!(show.starts_with("The writer says that it is over: \"[SOLVED]"), "{show}");
    let half = "Hi, the wifi problem is solved, but suspend still fails:";
    assert!(checked(&format!("{half}\n\n{log}")).starts_with("Broken: "));
}

const DISK: &str = "[ 1982.874590] ata5.00: exception Emask 0x0 SAct 0x0 SErr 0x40000 action 0x6 frozen\n\
    [ 1982.874595] ata5: SError: { CommWake }\n\
    [ 1982.874598] ata5.00: failed command: FLUSH CACHE EXT\n\
    [ 1992.890664] ata5: COMRESET failed (errno=-16)\n";

#[test]
fn what_a_writer_tried_with_a_disk_is_told_as_his() {
    let tried =
        "With SATA_LINKPWR_ON_BAT=max_performance it does not happen, with min_power always.";
    let text = checked(&format!("It is remounted read only. {tried}\n\n{DISK}"));
    assert!(text.contains("The writer says: \"With SATA_LINKPWR"), "{text}");
    assert!(text.contains("it changed (CommWake)") && !text.contains("the text does"), "{text}");
    assert!(!checked(DISK).contains("The writer says"));
    let cable = "New cable, gone since a week. LPM was never on here (max_performance).";
    let data = DISK.replace("CommWake", "UnrecovData BadCRC");
    let text = checked(&format!("{data}\n{cable}\n"));
    assert!(text.contains("damaged over it (UnrecovData, BadCRC)"), "{text}");
    assert!(text.contains("as of an earlier time."), "{text}");
    assert_eq!(text.matches("New cable").count(), 2, "once in words, once as a line: {text}");
}

#[test]
fn a_report_of_amd_and_the_log_beside_it_are_joined() {
    let text = checked(
        "    Suspend timer programmed for 0:03:20\n    \
         Woke up from IRQ 7 (IR-IO-APIC 7-fasteoi pinctrl_oak)\n    \
         PM: suspend entry (s2idle)\n    \
         PM: suspend-to-idle\n    \
         PM: Triggering wakeup from IRQ 7\n    \
         amd_pmc AMDI0005:00: Last suspend in deepest state for 1871234567us\n    \
         PM: resume from suspend-to-idle\n    \
         PM: resume of devices complete after 610.201 msecs\n",
    );
    assert!(text.contains("IRQ 7 of pinctrl_oak"), "{text}");
    assert!(text.contains("The timer did not wake the machine"), "{text}");
    assert!(text.contains("for 31 min 11 s"), "{text}");
    let text = checked(
        "❌ NVMe Oak 1 not using D3cold\nSuspend timer programmed for 8:00:00\n\
         ❌ Did not reach hardware sleep state\n",
    );
    assert!(text.contains("marks as wrong: \"NVMe Oak 1 not using D3cold\""), "{text}");
}

#[test]
fn headings_between_two_lines_make_two_measurements() {
    for (a, b, second) in [
        ("With synchronous way", "With asynchronous way", "110.616735"),
        ("Before", "After", "1412.616735"),
        ("Without patch", "With patch", "1460.616735"),
    ] {
        let text = format!(
            "Subject: [PATCH] PM: faster\n\n{a}:\n\
             [ 1411.272218] PM: noirq resume of devices complete after 92.223 msecs\n{b}:\n\
             [ {second}] PM: noirq resume of devices complete after 10.544 msecs\n\
             Signed-off-by: Ada <a@b.c>\n"
        );
        let check = checked(&text);
        assert!(check.starts_with("Two measurements, "), "{check}");
        assert!(check.contains("92.22 -> 10.54 ms (-89 %)"), "{check}");
        let show = shown(&text);
        assert!(show.contains("2 cycles.") && !show.contains("runs backwards"), "{show}");
        assert!(show.starts_with("Two measurements, "), "{show}");
    }
    // A place in one sleep parts nothing.
    let one = shown(
        "Before suspend:\n[   10.272218] PM: suspend of devices complete after 92.223 msecs\n\
         After resume:\n[   11.616735] PM: resume of devices complete after 10.544 msecs\n",
    );
    assert!(!one.contains("2 cycles."), "{one}");
}

#[test]
fn the_log_of_a_patch_is_of_the_kernel_without_it() {
    let text = checked(
        "Subject: [PATCH 1/2] oak: read the stage again\n\n\
         The system resumes after every attempt:\n\
         \x20 oak_pcie 0000:00:14.7: PM: failed to suspend async: error -16\n\
         \x20 PM: Some devices failed to suspend, or early wake event detected\n\n\
         Tested: 100 of 100 suspends pass with the patch, 0 of\n20 without.\n\n\
         Signed-off-by: Ada <a@b.c>\n",
    );
    assert!(text.contains("its log is taken as one of the kernel without it"), "{text}");
    assert!(text.contains("With the change 100 of 100 passed, without it 0 of 20"), "{text}");
}

#[test]
fn what_a_service_says_of_an_image_is_quoted() {
    let unit = "systemd-hibernate-resume@dev-oak.service";
    let text = checked(&format!(
        "Sep 27 02:49:03 box systemd-hibernate-resume[284]: Failed to write '254:1' to /sys/power/resume: Invalid argument\n\
         Sep 27 02:49:03 box systemd[1]: {unit}: Main process exited, code=exited, status=1/FAILURE\n\
         Sep 27 02:49:03 box systemd[1]: {unit}: Failed with result 'exit-code'.\n"
    ));
    assert!(text.contains("Its own words: \"Failed to write '254:1'"), "{text}");
}

#[test]
fn a_sleep_that_failed_has_no_line_that_looks_like_an_all_clear() {
    let text = shown(
        "[   10.000000] PM: suspend entry (deep)\n\
         [   10.500000] oak 1-0020: PM: failed to suspend: error -5\n\
         [   10.600000] PM: suspend exit\n",
    );
    assert!(text.contains("1-0020") && !text.contains("No warnings"), "{text}");
    let text = shown(
        "[   10.000000] PM: suspend entry (deep)\n\
         [   30.000000] Freezing user space processes failed after 20.005 seconds (1 tasks refusing to freeze, wq_busy=0):\n\
         [   30.100000] PM: suspend exit\n",
    );
    assert!(text.starts_with("This sleep failed: tasks would not freeze."), "{text}");
}

#[test]
fn two_measurements_of_one_text_are_compared() {
    let text = "Without patch:\n[   50.100000] PM: resume of devices complete after 812.4 msecs\n\
                With patch:\n[   60.100000] PM: resume of devices complete after 301.2 msecs\n";
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("mail.txt");
    std::fs::write(&file, text).expect("written");
    let text = words(&["compare", file.to_str().expect("a path")], "");
    assert!(text.contains("812.40") && text.contains("301.20"), "{text}");
    assert!(text.contains("no difference from chance"), "{text}");
}
