//! The `dormouse` command.

fn main() -> std::process::ExitCode {
    dormouse::main()
}
