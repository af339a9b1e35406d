//! The `dormouse` command.

/// The allocator of musl gives each large buffer back to the kernel and asks for it anew:
/// `tune` of a large board took as long in the kernel as in the search.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> std::process::ExitCode {
    dormouse::main()
}
