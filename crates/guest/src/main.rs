//! Process 1 of a laboratory guest.

fn main() -> std::process::ExitCode {
    dormouse_guest::init::main()
}
