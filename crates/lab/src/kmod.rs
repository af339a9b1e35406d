//! Builds the laboratory's modules for a kernel, once per kernel and source.

use crate::error::tail;
use crate::kernels::{Kernel, cache, chroot};
use crate::{Error, Result};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A module with its sources, so that an installed `dormouse` needs no
/// repository.
#[derive(Hash)]
struct Source {
    name: &'static str,
    /// What is left to do on a kernel that it cannot be built for.
    without: &'static str,
    files: &'static [(&'static str, &'static str)],
}

const BOARD: Source = Source {
    name: "dormouse_board",
    without: "it runs with the guest's own devices only (leave out --board)",
    files: &[
        ("Kbuild", include_str!("../../../kernel/Kbuild")),
        ("Makefile", include_str!("../../../kernel/Makefile")),
        ("board.h", include_str!("../../../kernel/board.h")),
        ("callbacks.c", include_str!("../../../kernel/callbacks.c")),
        ("devices.c", include_str!("../../../kernel/devices.c")),
        ("domains.c", include_str!("../../../kernel/domains.c")),
        ("main.c", include_str!("../../../kernel/main.c")),
        ("parse.c", include_str!("../../../kernel/parse.c")),
        ("shake.c", include_str!("../../../kernel/shake.c")),
        ("stock.h", include_str!("../../../kernel/stock.h")),
        ("wake.c", include_str!("../../../kernel/wake.c")),
        ("COPYING", include_str!("../../../kernel/COPYING")),
    ],
};

const IDLE: Source = Source {
    name: "dormouse_idle",
    without: "idle states need a module; name another series with --kernel",
    files: &[
        ("Kbuild", include_str!("../../../kernel/idle/Kbuild")),
        ("Makefile", include_str!("../../../kernel/Makefile")),
        ("main.c", include_str!("../../../kernel/idle/main.c")),
        ("inputs.c", include_str!("../../../kernel/idle/inputs.c")),
        ("inputs.h", include_str!("../../../kernel/idle/inputs.h")),
        ("inputs_trace.h", include_str!("../../../kernel/idle/inputs_trace.h")),
        ("COPYING", include_str!("../../../kernel/COPYING")),
    ],
};

const SCHEDULER: Source = Source {
    name: "dormouse_scheduler",
    without: "the scheduler needs a module; name another series with --kernel",
    files: &[
        ("Kbuild", include_str!("../../../kernel/scheduler/Kbuild")),
        ("Makefile", include_str!("../../../kernel/Makefile")),
        ("core.h", include_str!("../../../kernel/scheduler/core.h")),
        ("host.h", include_str!("../../../kernel/scheduler/host.h")),
        ("core.c", include_str!("../../../kernel/scheduler/core.c")),
        ("graph.h", include_str!("../../../kernel/scheduler/graph.h")),
        ("graph.c", include_str!("../../../kernel/scheduler/graph.c")),
        ("pool.h", include_str!("../../../kernel/scheduler/pool.h")),
        ("pool.c", include_str!("../../../kernel/scheduler/pool.c")),
        ("livepatch.c", include_str!("../../../kernel/scheduler/livepatch.c")),
        ("statistics.c", include_str!("../../../kernel/scheduler/statistics.c")),
        ("variants.h", include_str!("../../../kernel/scheduler/variants.h")),
        ("variants.c", include_str!("../../../kernel/scheduler/variants.c")),
        ("COPYING", include_str!("../../../kernel/COPYING")),
    ],
};

const PDISK: Source = Source {
    name: "dormouse_pdisk",
    without: "a disk of chosen power states needs a module; name another series with --kernel",
    files: &[
        ("Kbuild", include_str!("../../../kernel/pdisk/Kbuild")),
        ("Makefile", include_str!("../../../kernel/Makefile")),
        ("pdisk.h", include_str!("../../../kernel/pdisk/pdisk.h")),
        ("main.c", include_str!("../../../kernel/pdisk/main.c")),
        ("lun.c", include_str!("../../../kernel/pdisk/lun.c")),
        ("serve.c", include_str!("../../../kernel/pdisk/serve.c")),
        ("clock.c", include_str!("../../../kernel/pdisk/clock.c")),
        ("COPYING", include_str!("../../../kernel/COPYING")),
    ],
};

const GOVERNOR: Source = Source {
    name: "dormouse_governor",
    without: "decisions of its governor need a module; name another series with --kernel",
    files: &[
        ("Kbuild", include_str!("../../../kernel/governor/Kbuild")),
        ("Makefile", include_str!("../../../kernel/Makefile")),
        ("main.c", include_str!("../../../kernel/governor/main.c")),
        ("stock.h", include_str!("../../../kernel/stock.h")),
        ("COPYING", include_str!("../../../kernel/COPYING")),
    ],
};

const FQOS: Source = Source {
    name: "dormouse_fqos",
    without: "raising a disk's clock needs a module; name another series with --kernel",
    files: &[
        ("Kbuild", include_str!("../../../kernel/fqos/Kbuild")),
        ("Makefile", include_str!("../../../kernel/Makefile")),
        ("fqos.h", include_str!("../../../kernel/fqos/fqos.h")),
        ("main.c", include_str!("../../../kernel/fqos/main.c")),
        ("disk.c", include_str!("../../../kernel/fqos/disk.c")),
        ("hook.c", include_str!("../../../kernel/fqos/hook.c")),
        ("gaps.c", include_str!("../../../kernel/fqos/gaps.c")),
        ("statistics.c", include_str!("../../../kernel/fqos/statistics.c")),
        ("COPYING", include_str!("../../../kernel/COPYING")),
    ],
};

const COUNT: Source = Source {
    name: "dormouse_count",
    without: "counting what a request costs needs a module; name another series with --kernel",
    files: &[
        ("Kbuild", include_str!("../../../kernel/count/Kbuild")),
        ("Makefile", include_str!("../../../kernel/Makefile")),
        ("main.c", include_str!("../../../kernel/count/main.c")),
        ("COPYING", include_str!("../../../kernel/COPYING")),
    ],
};

const SOC9000: Source = Source {
    name: "soc9000",
    without: "its drivers are a module; name another series with --kernel",
    files: &[
        ("Kbuild", include_str!("../../../kernel/soc9000/Kbuild")),
        ("Makefile", include_str!("../../../kernel/Makefile")),
        ("soc9000.h", include_str!("../../../kernel/soc9000/soc9000.h")),
        ("soc9000_trace.h", include_str!("../../../kernel/soc9000/soc9000_trace.h")),
        ("main.c", include_str!("../../../kernel/soc9000/main.c")),
        ("soc.c", include_str!("../../../kernel/soc9000/soc.c")),
        ("domain.c", include_str!("../../../kernel/soc9000/domain.c")),
        ("resources.c", include_str!("../../../kernel/soc9000/resources.c")),
        ("consumer.c", include_str!("../../../kernel/soc9000/consumer.c")),
        ("power.c", include_str!("../../../kernel/soc9000/power.c")),
        ("clock.c", include_str!("../../../kernel/soc9000/clock.c")),
        ("reset.c", include_str!("../../../kernel/soc9000/reset.c")),
        ("supply.c", include_str!("../../../kernel/soc9000/supply.c")),
        ("sleep.c", include_str!("../../../kernel/soc9000/sleep.c")),
        ("COPYING", include_str!("../../../kernel/COPYING")),
    ],
};

const PROBES: Source = Source {
    name: "dormouse_probes",
    without: "drivers in an order are a module; name another series with --kernel",
    files: &[
        ("Kbuild", include_str!("../../../kernel/probes/Kbuild")),
        ("Makefile", include_str!("../../../kernel/Makefile")),
        ("main.c", include_str!("../../../kernel/probes/main.c")),
        ("COPYING", include_str!("../../../kernel/COPYING")),
    ],
};

const DEEP: Source = Source {
    name: "dormouse_deep",
    without: "suspend to memory without firmware needs a module; name another series with --kernel",
    files: &[
        ("Kbuild", include_str!("../../../kernel/deep/Kbuild")),
        ("Makefile", include_str!("../../../kernel/Makefile")),
        ("main.c", include_str!("../../../kernel/deep/main.c")),
        ("COPYING", include_str!("../../../kernel/COPYING")),
    ],
};

/// The board module for `kernel`; built if it is not in the cache.
///
/// # Errors
/// As [`idle`].
pub fn module(kernel: &Kernel) -> Result<PathBuf> {
    build(&BOARD, kernel)
}

/// The module with idle states for `kernel`; built if it is not in the cache.
///
/// # Errors
/// When the kernel has no headers, or the build fails or warns: a warning of
/// the compiler here is an interface that changed.
pub fn idle(kernel: &Kernel) -> Result<PathBuf> {
    build(&IDLE, kernel)
}

/// What writes decisions of the governor of power domains down, for `kernel`; built if
/// it is not in the cache.
///
/// # Errors
/// As [`idle`].
pub fn governor(kernel: &Kernel) -> Result<PathBuf> {
    build(&GOVERNOR, kernel)
}

/// The readiness scheduler for `kernel`; built if it is not in the cache.
///
/// # Errors
/// As [`idle`].
pub fn scheduler(kernel: &Kernel) -> Result<PathBuf> {
    build(&SCHEDULER, kernel)
}

/// The disk whose power states cost what they are told to, for `kernel`; built if it
/// is not in the cache.
///
/// # Errors
/// As [`idle`].
pub fn pdisk(kernel: &Kernel) -> Result<PathBuf> {
    build(&PDISK, kernel)
}

/// What raises a disk's clock while somebody waits, for `kernel`; built if it is not in
/// the cache.
///
/// # Errors
/// As [`idle`].
pub fn fqos(kernel: &Kernel) -> Result<PathBuf> {
    build(&FQOS, kernel)
}

/// What counts the cycles of a request on its way to a queue, for `kernel`; built if it
/// is not in the cache.
///
/// # Errors
/// As [`idle`].
pub fn count(kernel: &Kernel) -> Result<PathBuf> {
    build(&COUNT, kernel)
}

/// The drivers of SoC-9000 for `kernel`; built if they are not in the cache.
///
/// # Errors
/// As [`idle`].
pub fn soc9000(kernel: &Kernel) -> Result<PathBuf> {
    build(&SOC9000, kernel)
}

/// Drivers in an order that the device tree tells, for `kernel`; built if they are not in
/// the cache.
///
/// # Errors
/// As [`idle`].
pub fn probes(kernel: &Kernel) -> Result<PathBuf> {
    build(&PROBES, kernel)
}

/// Suspend to memory for `kernel` where no firmware has it; built if it is not in the
/// cache.
///
/// # Errors
/// As [`idle`].
pub fn deep(kernel: &Kernel) -> Result<PathBuf> {
    build(&DEEP, kernel)
}

fn build(source: &Source, kernel: &Kernel) -> Result<PathBuf> {
    let Some(headers) = &kernel.headers else {
        return Err(Error::other(format!(
            "no headers are left in the archive for {}: {}",
            kernel.release, source.without
        )));
    };
    let mut hash = DefaultHasher::new();
    source.hash(&mut hash);
    let dir = cache()?.join("modules").join(format!(
        "{}-{}-{:016x}",
        kernel.arch.name(),
        kernel.release,
        hash.finish()
    ));
    let module = dir.join(format!("{}.ko", source.name));
    if !module.exists() {
        // A directory of its own until it is complete: two may build at once.
        let work = cache()?.join("modules").join(format!("building-{}", std::process::id()));
        let _ = fs::remove_dir_all(&work);
        fs::create_dir_all(&work).map_err(Error::file(&work))?;
        for (name, text) in source.files {
            fs::write(work.join(name), text).map_err(Error::file(work.join(name)))?;
        }
        make(kernel, headers, &work)?;
        let _ = fs::remove_dir_all(&dir);
        match fs::rename(&work, &dir) {
            Ok(()) => {}
            Err(_) if module.exists() => {}
            Err(e) => return Err(Error::file(&dir)(e)),
        }
    }
    Ok(module)
}

fn make(kernel: &Kernel, headers: &Path, work: &Path) -> Result<()> {
    let tools = chroot::toolchain(kernel, headers)?;
    let mut command = match tools.chroot {
        None => {
            let mut c = Command::new("make");
            c.arg("-C").arg(work).arg(format!("KDIR={}", headers.display()));
            c.args(tools.compiler.map(|cc| format!("CC={cc}")));
            c
        }
        Some(root) => root.make(headers, work, tools.compiler.as_deref())?,
    };
    let out = command.output().map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => {
            Error::Missing { program: "make", advice: "install it (tools/setup lab does)".into() }
        }
        _ => Error::file("make")(e),
    })?;
    let said =
        format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    let warned = said.lines().any(|l| l.contains(": warning: "));
    if out.status.success() && !warned {
        Ok(())
    } else {
        Err(Error::Program {
            what: format!("building a module for {}", kernel.release),
            output: tail(&said, 40),
        })
    }
}
