//! Damage that knows no lines: what disks, editors and copies do to a file, and numbers
//! that nobody expects.

use dormouse_base::stats::random::Random;

/// Numbers at which a reader's arithmetic may end.
const NUMBERS: [&str; 10] = [
    "0",
    "-1",
    "1",
    "9999999999",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "0.000000",
    "-0.5",
];

/// What stands where nothing should.
const STRANGE: [&[u8]; 8] =
    [b"\0", b"\xff\xfe", b"\xc3", b"\r\n", b"\n\n", b"\t", b"\x1b[31m", "\u{202e}".as_bytes()];

/// Does one thing to `bytes`; `other` is another text, to be spliced with.
pub fn torn(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    match random.below(11) {
        0 => bytes.truncate(at(bytes, random)),
        1 => drop(bytes.drain(..at(bytes, random))),
        2 => {
            for _ in 0..1 + random.below(4) {
                let (place, bit) = (at(bytes, random), random.below(8));
                if let Some(b) = bytes.get_mut(place) {
                    *b ^= 1 << bit;
                }
            }
        }
        3 => drop(bytes.drain(range(bytes, random))),
        4 => {
            let again = bytes[range(bytes, random)].to_vec();
            let place = at(bytes, random);
            bytes.splice(place..place, again);
        }
        5 => swap_lines(bytes, random),
        6 => {
            let piece = other[range(other, random)].to_vec();
            let place = at(bytes, random);
            bytes.splice(place..place, piece);
        }
        7 => {
            bytes.truncate(at(bytes, random));
            bytes.extend_from_slice(&other[at(other, random)..]);
        }
        8 => {
            for _ in 0..1 + random.below(4) {
                digits(bytes, random);
            }
        }
        9 => {
            let strange = STRANGE[random.below(STRANGE.len() as u64) as usize];
            let place = at(bytes, random);
            bytes.splice(place..place, strange.iter().copied());
        }
        _ => {
            let place = at(bytes, random);
            let blank = bytes[place..].iter().position(|b| matches!(b, b'\n' | b' '));
            let _ = blank.map(|b| bytes.remove(place + b));
        }
    }
}

fn at(bytes: &[u8], random: &mut Random) -> usize {
    random.below(bytes.len() as u64 + 1) as usize
}

/// Mostly a short one.
fn range(bytes: &[u8], random: &mut Random) -> std::ops::Range<usize> {
    let from = at(bytes, random);
    let most = if random.below(4) == 0 { bytes.len() - from } else { 200 };
    from..(from + random.below(most as u64 + 1) as usize).min(bytes.len())
}

/// Two lines change places.
fn swap_lines(bytes: &mut Vec<u8>, random: &mut Random) {
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|&b| b == b'\n').collect();
    if lines.len() > 1 {
        let one = |random: &mut Random| random.below(lines.len() as u64) as usize;
        let (a, b) = (one(random), one(random));
        lines.swap(a, b);
        *bytes = lines.concat();
    }
}

/// A number becomes another.
fn digits(bytes: &mut Vec<u8>, random: &mut Random) {
    let place = at(bytes, random);
    let Some(from) = bytes[place..].iter().position(u8::is_ascii_digit) else { return };
    let from = place + from;
    let length = bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    if random.below(2) == 0 {
        bytes[from] = b'0' + random.below(10) as u8;
    } else {
        let number = NUMBERS[random.below(NUMBERS.len() as u64) as usize];
        bytes.splice(from..from + length, number.bytes());
    }
}
