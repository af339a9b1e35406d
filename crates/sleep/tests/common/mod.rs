//! The worked cases of the scheduling rules as boards.

use dormouse_base::device::{Device, DeviceId, Link, LinkKind};
use dormouse_base::phase::Phase;
use dormouse_base::time::Ns;
use dormouse_board::{Board, BoardDevice, Work};
use serde_json::Value;

/// `tests/fixtures/dpm-cases.json`.
pub(crate) fn cases() -> Value {
    serde_json::from_str(include_str!("../fixtures/dpm-cases.json")).expect("fixture is JSON")
}

/// One case as a board with sleeping callbacks.
pub(crate) fn board(case: &Value) -> Board {
    let mut board = Board { cpus: 4, pm_async: true, ..Board::default() };
    let mut names: Vec<String> = Vec::new();
    for row in case["devices"].as_array().expect("devices") {
        let text = |i: usize| row[i].as_str().expect("text").to_string();
        let ms = |i: usize| Ns::from_ms(row[i].as_i64().expect("ms"));
        let (name, parent, flags) = (text(0), text(1), text(2));
        let sym = board.names.add(&name);
        board.graph.push(Device {
            name: sym,
            parent: names.iter().position(|n| *n == parent).map(|i| DeviceId(i as u32)),
            async_flag: Some(flags.contains('a')),
            ..Device::default()
        });
        let mut device = BoardDevice { wakeup: flags.contains('w'), ..BoardDevice::default() };
        if !flags.contains('n') {
            let ret = if flags.contains('e') { -5 } else { 0 };
            let suspend = Phase::Suspend.device_index().expect("device phase");
            let resume = Phase::Resume.device_index().expect("device phase");
            device.work[suspend] = Some(Work { sleep: ms(3), ret, ..Work::default() });
            device.work[resume] = Some(Work { sleep: ms(4), ..Work::default() });
        }
        board.devices.push(device);
        names.push(name);
    }
    for row in case["links"].as_array().expect("links") {
        let at = |i: usize| {
            let name = row[i].as_str().expect("text");
            DeviceId(names.iter().position(|n| n == name).expect("known device") as u32)
        };
        let kind = match row[2].as_str().expect("kind") {
            "s" => LinkKind::Stateless,
            "d" => LinkKind::Dormant,
            "y" => LinkKind::SyncStateOnly,
            other => panic!("unknown link kind {other}"),
        };
        board.graph.links.push(Link { consumer: at(0), supplier: at(1), kind, pm_runtime: false });
    }
    board
}
