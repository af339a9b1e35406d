//! Messages made of formats: what a kernel would print.

use super::pattern::{Kind, Piece};
use super::{Format, How, Known};
use dormouse_base::stats::random::Random;

/// A message of a format, and what was put in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// As a kernel prints it, without a stamp.
    pub text: String,
    /// Driver and device, if it is said of one.
    pub device: Option<(String, String)>,
    /// What was put in, in order.
    pub parameters: Vec<String>,
}

const DRIVERS: [&str; 6] = ["zorble", "qux-pci", "fnord_hcd", "i2c_vex", "acme-mmc", "snd_wibble"];
const DEVICES: [&str; 6] =
    ["0000:3a:1f.5", "7-2.4", "fe9c0000.vexctl", "VEX0042:01", "qx3", "mmc9:aaaa"];
const TEXTS: [&str; 6] = ["quux", "vex0", "9a40000.zorble", "wibble_resume+0x0", "EPROTO", "zork7"];

/// A message of `format` with drawn values.
pub fn drawn(format: &Format, random: &mut Random) -> Drawn {
    let mut one = |list: &[&'static str]| list[random.below(list.len() as u64) as usize];
    let device = match format.how {
        How::Device => Some((one(&DRIVERS).to_string(), one(&DEVICES).to_string())),
        How::Interface => Some((format!("{} {}", one(&DRIVERS), one(&DEVICES)), "wlz3".into())),
        _ => None,
    };
    let mut text = device.as_ref().map_or(String::new(), |(a, b)| format!("{a} {b}: "));
    let mut parameters = Vec::new();
    for piece in &format.pieces {
        let value = match piece {
            Piece::Literal(l) => {
                text.push_str(&String::from_utf8_lossy(l));
                continue;
            }
            Piece::Parameter(Kind::Int) => (random.below(2_000) as i64 - 200).to_string(),
            Piece::Parameter(Kind::Unsigned) => random.below(100_000).to_string(),
            Piece::Parameter(Kind::Hex) => format!("{:x}", random.below(1 << 20)),
            Piece::Parameter(Kind::Error) => "-EPROTO".into(),
            Piece::Parameter(Kind::Char) => "Q".into(),
            Piece::Parameter(Kind::Any) => TEXTS[random.below(TEXTS.len() as u64) as usize].into(),
        };
        text.push_str(&value);
        parameters.push(value);
    }
    Drawn { text: text.trim_end().to_string(), device, parameters }
}

/// Whether `known` is what was drawn: a message of the core with its meaning and all that
/// was put in, one of the rest with subject and severity, both with their device.
pub fn is_understood(format: &Format, drawn: &Drawn, known: Option<&Known<'_>>) -> bool {
    let Some(known) = known else { return false };
    let device = drawn.device.as_ref().map(|(driver, device)| (&driver[..], &device[..]));
    let told = if format.core {
        known.format.reads_as(format)
            && known.format.meaning.is_some()
            && known.format.meaning == format.meaning
            && known.parameters == drawn.parameters
    } else {
        known.format.subject == format.subject && known.format.severity == format.severity
    };
    told && known.device == device
}
