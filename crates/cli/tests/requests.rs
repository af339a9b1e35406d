//! Requests to sleep as services tell of them: who asked, what failed on the way to the kernel, and
//! what a text of theirs alone proves. The texts are made up.

use super::kinds::says;
use super::words::said;

#[test]
fn the_unit_that_asks_the_kernel_is_no_unit_that_the_sleep_needs() {
    let falls = |unit: &str, what: &str, target: &str| {
        format!(
            "May 02 20:10:41 elm systemd[1]: {unit}: Main process exited, code=exited, status=1/FAILURE\n\
             May 02 20:10:41 elm systemd[1]: {unit}: Failed with result 'exit-code'.\n\
             May 02 20:10:41 elm systemd[1]: Failed to start {what}.\n\
             May 02 20:10:41 elm systemd[1]: Dependency failed for {target}.\n"
        )
    };
    let never = "no kernel was asked";
    for (unit, what, target, kind) in [
        ("systemd-suspend.service", "System Suspend", "Suspend", "(suspend)"),
        ("systemd-hibernate.service", "Hibernate", "Hibernate", "(hibernate)"),
        (
            "systemd-hybrid-sleep.service",
            "Hybrid Suspend+Hibernate",
            "Hybrid Suspend+Hibernate",
            "(hybrid-sleep)",
        ),
    ] {
        let must = format!("systemd could not put the machine to sleep {kind}");
        says("check", &falls(unit, what, target), &[&must], &[never]);
    }
    let own = falls("systemd-suspend.service", "System Suspend", "Suspend");
    // Its program says why.
    let busy = "May 02 20:10:41 elm systemd-sleep[811]: Failed to put system to sleep. System resumed again: Device or resource busy\n";
    says("check", &format!("{busy}{own}"), &["error -16 (EBUSY"], &[never]);
    // The kernel was asked, and what it took is no sleep.
    let kernel = "May 02 20:10:11 elm kernel: PM: suspend entry (s2idle)\n\
        May 02 20:10:41 elm kernel: PM: suspend exit\n";
    let must = ["The kernel was asked (line 1) and was back 30.0 s later (line 2)"];
    says("check", &format!("{kernel}{own}"), &must, &[never, "The sleep of the text took"]);
    // Another unit of that target may fail behind the sleep.
    let other = falls("oak-up.service", "Oak resume actions", "Suspend");
    let must = ["oak-up.service failed", "The sleep itself had begun"];
    says("check", &format!("{kernel}{other}"), &must, &[never]);
    says("check", &other, &["oak-up.service failed", never], &[]);
}

#[test]
fn first_versions_of_systemd_tell_of_a_sleep_in_their_own_words() {
    for (down, up) in [
        ("Suspending system...", "System resumed."),
        ("Entering sleep state 'suspend'...", "System returned from sleep state."),
    ] {
        let text = format!(
            "Oct 11 22:40:02 elm systemd-logind[71]: Lid closed.\n\
             Oct 11 22:40:02 elm systemd-logind[71]: Suspending...\n\
             Oct 11 22:40:04 elm systemd-sleep[915]: {down}\n\
             Oct 12 02:10:04 elm systemd-sleep[915]: {up}\n\
             Oct 12 02:10:04 elm systemd-logind[71]: Operation 'sleep' finished.\n\
             Oct 12 06:30:09 elm systemd-logind[71]: Lid opened.\n"
        );
        let must = [
            "The sleep of the text took 3 h 30 min",
            "was opened only 4 h 20 min after the return (line 6): something else woke it",
            "by stamps of whole seconds",
            "somebody asked (line 1)",
        ];
        for verb in ["show", "check"] {
            says(verb, &text, &must, &["nothing to analyse"]);
        }
        let opened = text.replace("06:30:09", "02:10:05");
        says("check", &opened, &["took 3 h 30 min"], &["something else woke it"]);
        // Two boots share no clock.
        let boots =
            text.replace("Oct 12 02", "-- Boot 0123456789abcdef0123456789abcdef --\nOct 12 02");
        says("check", &boots, &[], &["something else woke it"]);
    }
}

#[test]
fn a_request_of_which_logind_alone_tells_is_told_and_proves_no_sleep() {
    let asked = |month: &str| {
        format!(
            "{month} 09 07:15:20 elm systemd-logind[71]: Lid closed.\n\
             {month} 09 07:15:20 elm systemd-logind[71]: Suspending...\n\
             {month} 09 07:15:33 elm systemd-logind[71]: Lid opened.\n\
             {month} 09 07:15:37 elm systemd-logind[71]: Operation 'sleep' finished.\n"
        )
    };
    let must = [
        "at 07:15:20, because the lid was closed",
        "It says at 07:15:37 that the operation was over, 17.0 s later; the lid was opened 4.0 s before that",
        "The stamps are of whole seconds",
    ];
    for month in ["Jun", "juin", "6月"] {
        for verb in ["show", "check"] {
            says(verb, &asked(month), &must, &["nothing to analyse", "Nothing wrong"]);
        }
    }
    let key = "2031-04-02T05:01:09+0200 elm systemd-logind[71]: Suspend key pressed short.\n\
        2031-04-02T05:01:09+0200 elm systemd-logind[71]: The system will suspend now!\n";
    let must = ["because the suspend key was pressed", "No line tells whether the machine slept"];
    says("check", key, &must, &["Nothing wrong", "took"]);
    // A lid that nobody acts on asks for nothing.
    let lid = "Jun 09 07:15:20 elm systemd-logind[71]: Lid closed.\n";
    says("check", lid, &["nothing to analyse"], &[]);
}

#[test]
fn a_process_that_tells_networkmanager_alone_asks_for_no_sleep() {
    let line = |part: &str, said: &str| {
        format!("Aug 20 11:00:07 elm NetworkManager[44]: <info>  [1850000407.{part}] {said}\n")
    };
    let asked = line("1000", "manager: sleep: sleep requested (sleeping: no  enabled: yes)");
    let audit =
        line("1030", "audit: op=\"sleep-control\" arg=\"on\" pid=7120 uid=0 result=\"success\"");
    let must = ["Process 7120 told NetworkManager alone", "no request for a sleep of the system"];
    says("check", &format!("{asked}{audit}"), &must, &["somebody asked for one"]);
    says("check", &asked, &["somebody asked for one"], &["alone"]);
}

#[test]
fn older_words_of_refusal_are_heard_and_other_requests_are_none() {
    let verb = "$ systemctl hibernate\nFailed to execute operation: Sleep verb not supported\n\
        Failed to start hibernate.target: Access denied\n";
    let must = [
        "logind refused to hibernate the machine: \"Sleep verb not supported\"",
        "systemd refused to start hibernate.target: \"Access denied\"",
    ];
    says("check", verb, &must, &["nothing to analyse"]);
    let job = "# systemctl suspend\nA dependency job for suspend.target failed. See 'journalctl -xe' for details.\n";
    says("check", job, &["a unit that suspend.target needs failed"], &["was not asked"]);
    for other in [
        "$ systemctl enable oak\nFailed to execute operation: Access denied\n",
        "Failed to start oak.target: Access denied\n",
        "A dependency job for oak.service failed. See 'journalctl -xe' for details.\n",
    ] {
        assert!(!said(&["check", "-"], other).1.contains("Broken"), "{other}");
    }
}

#[test]
fn who_only_delays_a_sleep_is_named_with_the_limit() {
    let head = "WHO UID USER PID COMM WHAT WHY MODE\n";
    let delay = "oak-sync 1000 ann 4711 systemd-inhibit sleep Writing the oak back delay\n";
    let block = "elm-store 1000 ann 4722 elm-store sleep:shutdown Installing elms block\n";
    let named = "oak-sync (PID 4711) delays sleep, because: \"Writing the oak back\"";
    let limit = "InhibitDelayMaxSec";
    says("check", &format!("{head}{delay}"), &["No lock of this table blocks", named, limit], &[]);
    let both = format!("{head}{delay}{block}");
    says("check", &both, &["elm-store (PID 4722) blocks", named, limit], &[]);
}
