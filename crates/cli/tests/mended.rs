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
