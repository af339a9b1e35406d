//! Tasks behind the Makefile.
fn main() {}
