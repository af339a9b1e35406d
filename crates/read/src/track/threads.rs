//! Threads of a cycle and what each of them is doing.

use dormouse_base::cycle::{Thread, ThreadId};
use dormouse_base::names::{Names, Sym};
use std::collections::HashMap;

/// A thread nests at most this many callbacks that have not ended; a deeper
/// one is damage, and the oldest is given up.
pub(crate) const MAX_OPEN: usize = 16;

/// Threads of the cycle being assembled.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    pub list: Vec<Thread>,
    /// Per thread, callbacks that have not ended, and the driver that their end
    /// will name.
    pub open: Vec<Vec<(u32, Sym)>>,
    by_pid: HashMap<i32, u16>,
    last: Option<(i32, u16)>,
    /// Threads beyond what a [`ThreadId`] can number share the last id.
    pub overflow: u64,
}

impl Threads {
    /// The id of the thread `pid`, named `comm`.
    pub(crate) fn id(&mut self, pid: i32, comm: &[u8], names: &mut Names) -> ThreadId {
        if let Some((p, id)) = self.last
            && p == pid
        {
            return ThreadId(id);
        }
        let id = match self.by_pid.get(&pid) {
            Some(&id) => id,
            None if self.list.len() >= usize::from(u16::MAX) => {
                self.overflow += 1;
                self.list.len() as u16 - 1
            }
            None => {
                let name = if comm == b"<...>" { b"" } else { comm };
                let name = names.add_bytes(name);
                self.list.push(Thread { pid, name, is_main: None });
                self.open.push(Vec::new());
                let id = self.list.len() as u16 - 1;
                self.by_pid.insert(pid, id);
                id
            }
        };
        if self.list[usize::from(id)].name.is_empty() && !comm.is_empty() && comm != b"<...>" {
            self.list[usize::from(id)].name = names.add_bytes(comm);
        }
        self.last = Some((pid, id));
        ThreadId(id)
    }
}
