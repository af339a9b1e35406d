//! From inputs to a reading: one walk, and of each input one look by every subject that
//! is wanted.

use crate::ahead;
use crate::container::{self, Door, Source};
use crate::error::ReadError;
use crate::event::EventSink;
use crate::input::{Input, MOST_THREADS, Options};
use crate::part::Part;
use crate::pass::{Machines, Pass, Reading, Wanted};

/// Reads system sleep from `inputs` and assembles what belongs together.
///
/// # Errors
/// If an input named by the caller cannot be read or unpacked. Files found
/// inside a folder that cannot be read are counted as losses instead.
pub fn read(inputs: &[Input], options: &Options) -> Result<Reading, ReadError> {
    read_through(&Door::new(options.limits), inputs, options, Wanted::SLEEP)
}

/// Reads what is `wanted` of `inputs`, which are opened at `door`.
///
/// # Errors
/// As [`read`].
pub fn read_through(
    door: &Door,
    inputs: &[Input],
    options: &Options,
    wanted: Wanted,
) -> Result<Reading, ReadError> {
    let mut files = Vec::new();
    for input in inputs {
        files.extend(door.files(input)?);
    }
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, |n| n.get()),
        n => n,
    };
    let mut pass = Pass::of(wanted, files.len() == 1);
    if threads.min(files.len()) < 2 {
        for file in &files {
            door.open(file, &mut |source| pass.add(Part::of(source), None))?;
        }
    } else {
        ahead::read(&files, door, threads.min(MOST_THREADS), &mut pass)?;
    }
    pass.out.idle.in_trees();
    if !pass.idle_later.is_empty() {
        // Tables of states may stand behind the traces that they are of.
        let mut at = 0;
        for file in &files {
            door.open(file, &mut |source| {
                if pass.idle_later.contains(&at) {
                    pass.out.idle.traces_of(&Part::of(source));
                }
                at += 1;
            })?;
        }
    }
    Ok(pass.finish())
}

/// Reads `inputs`, one after another, and hands the events of every trace to
/// `others` too: one pass serves several subjects.
///
/// # Errors
/// As [`read`].
pub fn read_with(
    inputs: &[Input],
    options: &Options,
    others: &mut dyn EventSink,
) -> Result<Reading, ReadError> {
    let door = Door::new(options.limits);
    let mut machines = Machines::default();
    for input in inputs {
        door.for_each(input, &mut |source| {
            machines.add(&Part::of(source), None, None, Some(&mut *others));
        })?;
    }
    Ok(Reading { captures: machines.finish(), ..Reading::default() })
}

/// Reads bytes that are already in memory, shown as `name`. They may be
/// compressed.
///
/// # Errors
/// As [`read`].
pub fn read_bytes(name: &str, bytes: &[u8], options: &Options) -> Result<Reading, ReadError> {
    let unpacked = container::unpack(std::path::Path::new(name), bytes, &options.limits)?;
    Ok(read_source(Source {
        name,
        group: "",
        bytes: unpacked.bytes.as_deref().unwrap_or(bytes),
        damage: unpacked.damage,
    }))
}

/// Reads what a container handed on, by itself.
pub fn read_source(source: Source<'_>) -> Reading {
    let mut machines = Machines::default();
    machines.add(&Part::of(source), None, None, None);
    Reading { captures: machines.finish(), ..Reading::default() }
}
