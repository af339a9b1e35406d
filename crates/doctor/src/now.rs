//! What the files of a machine say of its next sleep, without words.

/// A task that waited where it cannot be frozen, in several looks at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Looks at which it was in state D, and looks in all.
    pub looks: (u32, u32),
    /// The function that it waited in, if the kernel tells.
    pub function: Option<String>,
}

/// A disk that has data to write, as it was seen while the machine was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writer {
    /// Its name, such as `sdb`.
    pub name: String,
    /// Its number, such as `8:16`.
    pub number: String,
    /// Bytes that a sync would wait for.
    pub left: u64,
    /// Bytes a second; `None` if it did not write all the time.
    pub rate: Option<u64>,
    /// It can be taken out, or is on USB.
    pub removable: bool,
}

/// Why a CPU has no idle state that s2idle can use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shallow {
    /// The driver has no such state; its name.
    Driver(String),
    /// This state is one, and somebody switched it off.
    Disabled(String),
}
