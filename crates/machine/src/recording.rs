//! A recording in memory: the capture file with its cycles kept compressed, so
//! that a hundred cycles of a large server fit.

use dormouse_capture::schema::{CaptureFile, CycleMembers, CycleStats};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use std::io::{self, Read, Write};

/// What was recorded. `file.cycles` is empty; the cycles are in
/// [`Recording::cycles`].
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Document and tables. May be edited before saving, for example to mark
    /// the devices of a guest.
    pub file: CaptureFile,
    packed: Vec<Packed>,
}

#[derive(Clone, Debug)]
struct Packed {
    trace: Vec<u8>,
    dmesg: Vec<u8>,
    stats: CycleStats,
    idle: [Vec<u8>; 2],
    sysfs: Vec<u8>,
}

fn pack(data: &[u8]) -> io::Result<Vec<u8>> {
    let mut out = DeflateEncoder::new(Vec::new(), Compression::fast());
    out.write_all(data)?;
    out.finish()
}

fn unpack(data: &[u8]) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    DeflateDecoder::new(data).read_to_end(&mut out)?;
    Ok(out)
}

impl Recording {
    /// Without cycles yet, or with those of `file`.
    pub fn new(mut file: CaptureFile) -> io::Result<Recording> {
        let cycles = std::mem::take(&mut file.cycles);
        let mut recording = Recording { file, packed: Vec::new() };
        for c in &cycles {
            recording.push(c)?;
        }
        Ok(recording)
    }

    /// Adds a cycle.
    pub fn push(&mut self, cycle: &CycleMembers) -> io::Result<()> {
        self.packed.push(Packed {
            trace: pack(&cycle.trace)?,
            dmesg: pack(&cycle.dmesg)?,
            stats: cycle.stats.clone(),
            idle: [pack(&cycle.idle[0])?, pack(&cycle.idle[1])?],
            sysfs: pack(&cycle.sysfs)?,
        });
        Ok(())
    }

    /// Adds the cycles of `other`, a recording of the same machine under other
    /// settings.
    pub fn append(&mut self, other: Recording) {
        for mut cycle in other.packed {
            cycle.stats.number = self.packed.len() as u32 + 1;
            self.packed.push(cycle);
        }
    }

    /// Number of cycles.
    pub fn len(&self) -> usize {
        self.packed.len()
    }

    /// Whether there is no cycle.
    pub fn is_empty(&self) -> bool {
        self.packed.is_empty()
    }

    /// The cycles in order, unpacked one at a time.
    pub fn cycles(&self) -> impl Iterator<Item = io::Result<CycleMembers>> {
        self.packed.iter().map(|p| {
            Ok(CycleMembers {
                trace: unpack(&p.trace)?,
                dmesg: unpack(&p.dmesg)?,
                stats: p.stats.clone(),
                idle: [unpack(&p.idle[0])?, unpack(&p.idle[1])?],
                sysfs: unpack(&p.sysfs)?,
            })
        })
    }
}
