//! What supports that a device may run beside others.
//!
//! A synchronous device runs after everything before it in the list, needed or
//! not. Made async it waits for its parent, children and links only. So the
//! question is always the same: is every order that it needs declared?

use dormouse_base::device::{Device, DeviceId};
use dormouse_base::names::Sym;
use dormouse_board::Board;
use serde::Serialize;
use std::collections::BTreeSet;

/// Why the flag of a device may be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// It is async already; making it synchronous only adds order.
    AlreadyAsync,
    /// It has no callback: nothing of it runs, it only passes waits on.
    #[serde(rename = "no_callbacks")]
    NothingRuns,
    /// Its source lists device links, and it has some: what it needs beside
    /// its parent is declared.
    DeclaredLinks,
    /// Another device of the same driver (or, without driver, of the same
    /// subsystem) is async on this machine.
    #[serde(rename = "same_kind_is_async")]
    LikeOthers,
    /// The source lists all links and this device has none; its parent is its
    /// only declared superior. An undeclared need is possible.
    GraphSaysFree,
    /// Nothing is known: the source lists no links.
    #[serde(rename = "none")]
    Hope,
}

impl Evidence {
    /// Whether the careful mode proposes it.
    pub fn is_careful(self) -> bool {
        self < Evidence::GraphSaysFree
    }
}

/// The evidence for every device, parallel to the board's; `None` if the flag
/// has no effect (not in the kernel's list, or a syscore device), or the device
/// belongs to the guest that the machine was recorded in.
pub fn evidence(board: &Board) -> Vec<Option<Evidence>> {
    let linked: BTreeSet<DeviceId> =
        board.graph.links.iter().flat_map(|l| [l.consumer, l.supplier]).collect();
    let is_async = |d: &&Device| d.async_flag == Some(true);
    let kinds: BTreeSet<(bool, Sym)> =
        board.graph.devices.iter().filter(is_async).filter_map(kind).collect();
    board
        .graph
        .devices
        .iter()
        .zip(board.graph.ids())
        .map(|(d, id)| {
            if d.facts.no_pm || d.facts.syscore || d.facts.guest {
                None
            } else if d.async_flag == Some(true) {
                Some(Evidence::AlreadyAsync)
            } else if board.devices[id.index()].no_callbacks() {
                Some(Evidence::NothingRuns)
            } else if board.graph.links_known && linked.contains(&id) {
                Some(Evidence::DeclaredLinks)
            } else if kind(d).is_some_and(|k| kinds.contains(&k)) {
                Some(Evidence::LikeOthers)
            } else if board.graph.links_known {
                Some(Evidence::GraphSaysFree)
            } else {
                Some(Evidence::Hope)
            }
        })
        .collect()
}

/// What makes two devices the same kind: the driver, or without one the
/// subsystem.
fn kind(d: &Device) -> Option<(bool, Sym)> {
    [(true, d.driver), (false, d.subsystem)].into_iter().find(|(_, s)| !s.is_empty())
}
