//! Checks of the source tree live in `tests/tidy.rs`; this binary only says so.

fn main() {
    println!("run: cargo test -p xtask");
}
