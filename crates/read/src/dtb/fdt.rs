//! The flattened device tree: a blob becomes a list of nodes (Devicetree
//! Specification 0.4, chapter 5; versions 16 and 17 of the format).

pub use dormouse_power::tree::{Node, Tree};
use thiserror::Error;

/// Why a blob cannot be read.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum DtbError {
    /// Not a device tree at all.
    #[error("not a device tree blob: it does not begin with d00dfeed")]
    Magic,
    /// Another version.
    #[error("version {0} of the device tree format; versions 16 and 17 are known")]
    Version(u32),
    /// The blob ends too early or contradicts itself.
    #[error("the device tree is damaged at byte {at}: {what}; copy it again")]
    Damaged {
        /// Byte offset.
        at: usize,
        /// What is wrong there.
        what: &'static str,
    },
}

const MAGIC: u32 = 0xd00d_feed;
const BEGIN_NODE: u32 = 1;
const END_NODE: u32 = 2;
const PROPERTY: u32 = 3;
const NOP: u32 = 4;
const END: u32 = 9;

/// Longer names are damage; it also bounds the search for their end.
const MAX_NAME: usize = 255;
/// Deeper trees are damage.
const MAX_DEPTH: usize = 64;
/// More nodes than any machine has.
const MAX_NODES: usize = 1_000_000;

/// Whether `bytes` begins like a blob.
pub fn recognise(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC.to_be_bytes())
}

/// Reads a blob as a tree.
///
/// # Errors
/// As [`parse`].
pub fn tree(bytes: &[u8]) -> Result<Tree<'_>, DtbError> {
    Ok(Tree::new(parse(bytes)?))
}

/// Reads every node of a blob, the root first.
pub fn parse(bytes: &[u8]) -> Result<Vec<Node<'_>>, DtbError> {
    if !recognise(bytes) {
        return Err(DtbError::Magic);
    }
    let total = word(bytes, 4)? as usize;
    let bytes = bytes.get(..total).ok_or(DtbError::Damaged {
        at: bytes.len(),
        what: "the file is shorter than its header says",
    })?;
    let (version, compatible) = (word(bytes, 20)?, word(bytes, 24)?);
    if version < 16 || compatible > 17 {
        return Err(DtbError::Version(version));
    }
    let strings = word(bytes, 12)? as usize;
    let mut at = word(bytes, 8)? as usize;
    let mut nodes: Vec<Node<'_>> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    loop {
        let damaged = |what| DtbError::Damaged { at, what };
        let token = word(bytes, at)?;
        let mut next = at + 4;
        match token {
            BEGIN_NODE => {
                let name = text(bytes, next)?;
                next += name.len() + 1;
                let too_many = nodes.len() >= MAX_NODES || open.len() >= MAX_DEPTH;
                if too_many || (open.is_empty() && !nodes.is_empty()) {
                    return Err(damaged("more nodes, or deeper, than a machine can have"));
                }
                let parent = open.last().copied();
                open.push(nodes.len());
                nodes.push(Node { name, parent, depth: open.len() - 1, properties: Vec::new() });
            }
            END_NODE => {
                open.pop().ok_or(damaged("a node ends that never began"))?;
            }
            PROPERTY => {
                let len = word(bytes, next)? as usize;
                let name = strings.saturating_add(word(bytes, next + 4)? as usize);
                let name = text(bytes, name)?;
                next += 8;
                let end = next.saturating_add(len);
                let value = bytes.get(next..end).ok_or(damaged("a property is too long"))?;
                next = end;
                let node = open.last().ok_or(damaged("a property outside a node"))?;
                nodes[*node].properties.push((name, value));
            }
            NOP => {}
            END if open.is_empty() && !nodes.is_empty() => return Ok(nodes),
            _ => return Err(damaged("an unknown word in the structure")),
        }
        at = next.next_multiple_of(4);
    }
}

/// The big-endian word at `at`.
fn word(bytes: &[u8], at: usize) -> Result<u32, DtbError> {
    let end = at.saturating_add(4);
    match bytes.get(at..end) {
        Some(&[a, b, c, d]) => Ok(u32::from_be_bytes([a, b, c, d])),
        _ => Err(DtbError::Damaged { at, what: "the file ends here" }),
    }
}

/// The text at `at`, up to its NUL.
fn text(bytes: &[u8], at: usize) -> Result<&[u8], DtbError> {
    let rest = bytes.get(at..).unwrap_or(b"");
    let window = &rest[..rest.len().min(MAX_NAME + 1)];
    match window.iter().position(|&b| b == 0) {
        Some(end) => Ok(&window[..end]),
        None => Err(DtbError::Damaged { at, what: "a name without an end" }),
    }
}
