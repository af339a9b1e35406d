//! Kinds of texts by what keepers, mails and hands leave of them: as `kinds`, and made up.

use super::kinds::{says, sleep};

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
