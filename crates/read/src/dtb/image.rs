//! Compatibles that a kernel initialises early, from its image: arrays of `struct
//! of_device_id` (include/linux/mod_devicetable.h: 200 bytes on 64 bits; name, type,
//! compatible, data) that end in an empty one (include/asm-generic/vmlinux.lds.h:
//! OF_TABLE).

use dormouse_power::fw_devlink::early::Early;

const ENTRY: usize = 200;
const COMPATIBLE: usize = 64;
const DATA: usize = 192;

/// The tables of an image that is not compressed; none if it has no such tables.
pub fn early(image: &[u8]) -> Option<Early> {
    // Each is known by one that every arm64 kernel has in it.
    let of = |known: &str| longest(image, known);
    Some(Early {
        interrupts: of("arm,gic-v3")?,
        clocks: of("fixed-clock")?,
        timers: of("arm,armv8-timer")?,
    })
}

/// All compatibles of tables of an image, each as often as there are entries for it.
pub fn compatibles(image: &[u8]) -> Vec<&str> {
    let (mut out, mut at) = (Vec::new(), 0);
    while let Some(zeros) = image[at..].iter().position(|&b| b != 0) {
        at += zeros;
        // Name and type of an entry of a driver are empty.
        if zeros >= COMPATIBLE
            && let Some(name) = entry(image, at - COMPATIBLE)
        {
            out.extend(std::str::from_utf8(name));
        }
        at += memchr::memchr(0, &image[at..]).unwrap_or(image.len() - at);
    }
    out
}

/// The compatible of the entry at `at`, if there is one.
fn entry(image: &[u8], at: usize) -> Option<&[u8]> {
    let e = image.get(at..at.checked_add(DATA)?)?;
    let (head, text) = e.split_at(COMPATIBLE);
    let end = text.iter().position(|&b| b == 0)?;
    let (name, rest) = text.split_at(end);
    let good = !name.is_empty()
        && name.iter().all(u8::is_ascii_graphic)
        && head.iter().chain(rest).all(|&b| b == 0);
    good.then_some(name)
}

/// The longest table with `known` in it: drivers have short ones of their own.
fn longest(image: &[u8], known: &str) -> Option<Vec<String>> {
    let key: Vec<u8> = known.bytes().chain([0]).collect();
    let finder = memchr::memmem::Finder::new(&key);
    let mut best: Option<Vec<String>> = None;
    for at in finder.find_iter(image) {
        let Some(at) = at.checked_sub(COMPATIBLE).filter(|&at| entry(image, at).is_some()) else {
            continue;
        };
        let mut first = at;
        while first >= ENTRY && entry(image, first - ENTRY).is_some() {
            first -= ENTRY;
        }
        let names: Vec<String> = (0..)
            .map_while(|n| entry(image, first + n * ENTRY))
            .map(|c| String::from_utf8_lossy(c).into_owned())
            .collect();
        if best.as_ref().is_none_or(|b| names.len() > b.len()) {
            best = Some(names);
        }
    }
    best
}
