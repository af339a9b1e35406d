//! Outside a guest the guest's program does nothing.

use std::process::Command;

#[test]
fn the_guest_program_refuses_to_run_elsewhere() {
    let out = Command::new(env!("CARGO_BIN_EXE_dormouse-guest")).output().unwrap();
    assert!(!out.status.success());
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(said.contains("does nothing elsewhere"), "{said}");
}
