//! The recorder alone.

fn main() -> std::process::ExitCode {
    dormouse_record::main()
}
