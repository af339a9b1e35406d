//! Several files at once, with the result of one after another.
//!
//! Each thread takes the next file, unpacks it and finds the lines that matter,
//! which is most of the work. Then it waits for its turn and hands them on, so that they come in order of the files whatever the threads do.

use crate::container::{Door, File};
use crate::detect::Format;
use crate::error::ReadError;
use crate::part::Part;
use crate::pass::Pass;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Files that are larger on disk are opened only in their turn, so that at most
/// one of them is in memory. A smaller one that is packed may unpack to as much
/// as [`crate::Limits`] allow, on every thread at once.
const LARGE: u64 = 64 << 20;

/// Reads `files` on so many threads.
///
/// # Errors
/// The first, in order of the files.
pub(crate) fn read(
    files: &[File],
    door: &Door,
    threads: usize,
    pass: &mut Pass,
) -> Result<(), ReadError> {
    let wants_lines = pass.wants_lines();
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let turns =
        Turns { state: Mutex::new(State { turn: 0, failed: None, pass }), moved: Condvar::new() };
    let work = || {
        while let Some((at, file)) = next_of(files, &next) {
            let turn = Turn { turns: &turns, at };
            // A file before this one failed, so nothing comes of the rest.
            if failed.load(Ordering::Relaxed) {
                continue;
            }
            // What has no size (a pipe, standard input) may be as large as it likes.
            let large = !(1..=LARGE).contains(&file.size());
            if large {
                drop(turn.wait());
            }
            let result = door.open(file, &mut |source| {
                let part = Part::of(source);
                let bytes = part.source.bytes;
                let trace = wants_lines && !large && part.format == Format::Ftrace;
                let lines = trace.then(|| crate::ftrace::scanned(bytes));
                let mut state = turn.wait();
                if state.failed.is_none() {
                    state.pass.add(part, lines);
                }
            });
            if let Err(e) = result {
                turn.wait().failed.get_or_insert(e);
                failed.store(true, Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(files.len()) {
            scope.spawn(work);
        }
        work();
    });
    let state = turns.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    state.failed.map_or(Ok(()), Err)
}

fn next_of<'a>(files: &'a [File], next: &AtomicUsize) -> Option<(usize, &'a File)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    files.get(at).map(|file| (at, file))
}

struct State<'a> {
    /// The file whose turn it is.
    turn: usize,
    failed: Option<ReadError>,
    pass: &'a mut Pass,
}

struct Turns<'a> {
    state: Mutex<State<'a>>,
    moved: Condvar,
}

/// The turn of one file. It ends when this is dropped, even by a panic: the
/// others must not wait for ever.
struct Turn<'a, 'b> {
    turns: &'a Turns<'b>,
    at: usize,
}

impl<'b> Turn<'_, 'b> {
    fn wait(&self) -> MutexGuard<'_, State<'b>> {
        let state = self.turns.state.lock().unwrap_or_else(PoisonError::into_inner);
        let early = |s: &mut State<'_>| s.turn < self.at;
        self.turns.moved.wait_while(state, early).unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_, '_> {
    fn drop(&mut self) {
        self.wait().turn += 1;
        self.turns.moved.notify_all();
    }
}
