//! A mark of a program: one line in the trace buffer and in the kernel's log. Nothing else is
//! touched, and no file is made.

use crate::root::Root;
use dormouse_base::mark::{Marked, Name, Refused};
use std::io;

/// Where lines go that processes write into the kernel's log.
const LOG: &str = "/dev/kmsg";
/// What becomes of those (Documentation/admin-guide/sysctl/kernel.rst).
const RULE: &str = "/proc/sys/kernel/printk_devkmsg";
/// What a file that is not open answers (include/uapi/asm-generic/errno-base.h).
const EBADF: i32 = 9;

/// Marks `name` below `root`.
pub fn mark(root: &Root, name: Name) -> Marked {
    let mut marked = Marked { name, written: Vec::new(), refused: Vec::new() };
    let traces = root.tracefs().map(|t| format!("{t}/trace_marker"));
    let line = name.line();
    match traces {
        Some(path) => put(&mut marked, path.clone(), root.append(&path, &line)),
        None => marked.refused.push(Refused {
            path: "/sys/kernel/tracing/trace_marker".into(),
            reason: "tracefs is not mounted, or not open to this user".into(),
        }),
    }
    if root.read(RULE).as_deref() == Some("off") {
        let reason = format!("the kernel ignores what is written there: {RULE} is off");
        marked.refused.push(Refused { path: LOG.into(), reason });
    } else {
        // Informational, so that no console that is slow waits for it.
        put(&mut marked, LOG.into(), root.append(LOG, &format!("<6>{line}")));
    }
    marked
}

fn put(marked: &mut Marked, path: String, done: io::Result<()>) {
    match done {
        Ok(()) => marked.written.push(path),
        Err(e) => {
            // A buffer that is off answers as if the file were closed.
            let off = e.raw_os_error() == Some(EBADF);
            let reason =
                if off { "tracing is off (tracing_on is 0)".into() } else { e.to_string() };
            marked.refused.push(Refused { path, reason });
        }
    }
}
