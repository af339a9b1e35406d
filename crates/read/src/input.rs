//! What to read, and how much of it at most.

use std::path::PathBuf;

/// Something to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Standard input, written `-` on a command line.
    Stdin,
    /// A file, or a folder that is searched recursively.
    Path(PathBuf),
}

impl Input {
    /// `-` is standard input, everything else a path.
    pub fn from_arg(arg: impl Into<PathBuf>) -> Input {
        let path = arg.into();
        if path.as_os_str() == "-" { Input::Stdin } else { Input::Path(path) }
    }
}

/// Bounds that keep a hostile input from eating the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes that one compressed input may unpack to, and that standard
    /// input may deliver.
    pub unpacked: u64,
    /// Most times its packed size an input may unpack to, once it is beyond
    /// 64 MB. Logs compress 5 to 100 times; a bomb 1,000 times and more.
    pub ratio: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { unpacked: 2 << 30, ratio: 200 }
    }
}

/// How to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Bounds.
    pub limits: Limits,
    /// How many files are read at once; 0 is one for each CPU, at most
    /// [`MOST_THREADS`]. What comes out is the same for every number.
    pub threads: usize,
}

/// Most files that are unpacked and read at once, which bounds the memory.
pub const MOST_THREADS: usize = 8;
