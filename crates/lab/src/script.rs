//! Scripts of the shell in a guest, with Debian's programs.

use crate::kernels::{Kernel, modules};
use crate::programs::pack_for_scripts;
use crate::qemu::Machine;
use crate::run::{base, play};
use crate::{Result, disks};
use dormouse_guest::plan::{DIRECTORY, Script, Task};
use dormouse_machine::options::Detail;
use std::time::Duration;

/// What is run, and what it is given.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// A script of the shell.
    pub text: Vec<u8>,
    /// Parameters of the module with idle states, if it is to be loaded.
    pub idle: Option<String>,
    /// A second script, which runs after it and is recorded with these details.
    pub recorded: Option<(Vec<u8>, Vec<Detail>)>,
    /// Modules of the kernel, by name: they and what they depend on lie beside the script
    /// as `NAME.ko`; the file `drivers` lists them in the order in which they load.
    pub drivers: Vec<String>,
    /// Whether our modules for storage lie there too.
    pub disks: bool,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// What the first script printed.
    pub text: String,
    /// The recording of the second one, as a capture file.
    pub capture: Option<Vec<u8>>,
    /// Files that they left in the folder `kept`, by name.
    pub kept: Vec<(String, Vec<u8>)>,
}

/// Boots `kernel` once, with Debian's programs for scripts ([`crate::programs`]), and
/// runs what is wished.
///
/// # Errors
/// When the guest fails, or a script ends with another code than 0.
pub fn run(kernel: &Kernel, machine: &Machine, wish: &Wish, limit: Duration) -> Result<Said> {
    let mut archive = base(machine.arch)?;
    pack_for_scripts(&mut archive)?;
    let mut put = |name: &str, bytes: &[u8]| {
        archive.file(&format!("{DIRECTORY}/{name}"), 0o644, bytes);
    };
    put("script", &wish.text);
    let recorded = wish.recorded.as_ref().map(|(text, with)| {
        put("recorded", text);
        ("recorded".to_owned(), with.clone())
    });
    let names: Vec<&str> = wish.drivers.iter().map(String::as_str).collect();
    let mut order = String::new();
    for (name, bytes) in modules::all(kernel, &names)? {
        put(&format!("{name}.ko"), &bytes);
        order += &format!("{name}.ko\n");
    }
    put("drivers", order.as_bytes());
    if wish.disks {
        disks::pack(kernel, &mut archive)?;
    }
    let script = Script { file: "script".into(), idle: wish.idle.clone(), recorded };
    let (answer, _) = play(kernel, machine, archive, vec![Task::Script(script)], limit)?;
    let kept = answer.blocks.iter();
    let kept = kept.filter_map(|(n, b)| Some((n.strip_prefix("kept ")?.to_owned(), b.clone())));
    Ok(Said {
        text: answer.text("script"),
        capture: answer.get("capture script").map(<[u8]>::to_vec),
        kept: kept.collect(),
    })
}
