//! Reads the worked cases of the scheduling rules: a JSON file of small device
//! graphs, of which each becomes a board.
//!
//! A case is `id`, `title`, `devices` in `dpm_list` order as `[name, parent,
//! flags, suspend ms, resume ms]` and `links` as `[consumer, supplier, kind]`.
//! Flags: `a` async, `n` no callbacks, `e` suspend fails, `b` driver bound (so a
//! link to it is not dormant), `w` has a wakeup source. Kinds: `s` stateless,
//! `d` dormant, `y` sync_state_only.

use dormouse_base::device::{Device, DeviceId, Link, LinkKind};
use dormouse_base::names::Sym;
use dormouse_base::time::Ns;
use dormouse_board::{Board, BoardDevice, Work};
use serde::Deserialize;
use std::collections::BTreeMap;
use thiserror::Error;

/// What is wrong with a file of cases.
#[derive(Debug, Error)]
pub enum CasesError {
    /// Not the expected JSON.
    #[error("not a file of worked cases: {0}")]
    Json(#[from] serde_json::Error),
    /// A case that makes no board.
    #[error("case {id}: {what}")]
    Case {
        /// Which.
        id: String,
        /// What is wrong with it.
        what: String,
    },
}

/// A worked case.
#[derive(Clone, Debug)]
pub struct Case {
    /// Such as `c01`.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// The graph, one CPU, `pm_async` on.
    pub board: Board,
}

#[derive(Deserialize)]
struct File {
    cases: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    id: String,
    title: String,
    devices: Vec<(String, String, String, u32, u32)>,
    links: Vec<(String, String, String)>,
}

/// The error a failing suspend callback returns (`-EIO`).
const FAILURE: i32 = -5;

/// Reads every case of `json`, in order.
pub fn read(json: &[u8]) -> Result<Vec<Case>, CasesError> {
    let file: File = serde_json::from_slice(json)?;
    file.cases
        .into_iter()
        .map(|row| match board(&row) {
            Ok(board) => Ok(Case { id: row.id, title: row.title, board }),
            Err(what) => Err(CasesError::Case { id: row.id, what }),
        })
        .collect()
}

fn board(row: &Row) -> Result<Board, String> {
    let mut board = Board { cpus: 1, pm_async: true, ..Board::default() };
    board.graph.order_known = true;
    board.graph.links_known = true;
    let mut ids: BTreeMap<&str, DeviceId> = BTreeMap::new();
    let find = |ids: &BTreeMap<&str, DeviceId>, name: &str| {
        ids.get(name).copied().ok_or_else(|| format!("no device `{name}` before its use"))
    };
    for (name, parent, flags, suspend, resume) in &row.devices {
        if let Some(f) = flags.chars().find(|&f| !".anebw".contains(f)) {
            return Err(format!("device {name} has the unknown flag `{f}`"));
        }
        let has = |flag| flags.contains(flag);
        let parent = if parent.is_empty() { None } else { Some(find(&ids, parent)?) };
        let parent_name = parent.map_or(Sym::EMPTY, |p| board.graph.get(p).name);
        let mut device = BoardDevice { wakeup: has('w'), ..BoardDevice::default() };
        if !has('n') {
            let sleep = |ms: u32| Work { sleep: Ns::from_ms(i64::from(ms)), ..Work::default() };
            let ret = if has('e') { FAILURE } else { 0 };
            device.work[1] = Some(Work { ret, ..sleep(*suspend) });
            device.work[6] = Some(sleep(*resume));
        }
        let id = board.graph.push(Device {
            name: board.names.add(name),
            parent,
            parent_name,
            async_flag: Some(has('a')),
            ..Device::default()
        });
        board.devices.push(device);
        if ids.insert(name, id).is_some() {
            return Err(format!("two devices are called `{name}`"));
        }
    }
    for (consumer, supplier, kind) in &row.links {
        let kind = match kind.as_str() {
            "s" => LinkKind::Stateless,
            "d" => LinkKind::Dormant,
            "y" => LinkKind::SyncStateOnly,
            other => return Err(format!("a link has the unknown kind `{other}`")),
        };
        let (consumer, supplier) = (find(&ids, consumer)?, find(&ids, supplier)?);
        board.graph.links.push(Link { consumer, supplier, kind, pm_runtime: false });
    }
    Ok(board)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_cases_are_named() {
        let case = |devices: &str, links: &str| {
            let json = format!(
                r#"{{"cases":[{{"id":"c1","title":"t","devices":{devices},"links":{links}}}]}}"#
            );
            read(json.as_bytes()).map(|_| ()).map_err(|e| e.to_string())
        };
        assert_eq!(case(r#"[["A","","a",1,2]]"#, "[]"), Ok(()));
        let error = case(r#"[["A","B","a",1,2]]"#, "[]").unwrap_err();
        assert!(error.contains("case c1: no device `B`"), "{error}");
        assert!(case(r#"[["A","","x",1,2]]"#, "[]").is_err());
        assert!(case(r#"[["A","","a",1,2]]"#, r#"[["A","A","q"]]"#).is_err());
        assert!(read(b"{}").is_err());
    }
}
