//! What a command was given: its inputs, opened once, and each subject read once.

use crate::container::{Bytes, Door};
use crate::detect::{Format, detect};
use crate::doctor::Heard;
use crate::error::ReadError;
use crate::ftrace::without_callbacks;
use crate::idle::{IdleReading, Keep};
use crate::input::{Input, Options};
use crate::pass::{Reading, Wanted};
use crate::read::{read_source, read_through};
use crate::storage::StorageReading;
use crate::text::Text;
use dormouse_base::capture::Capture;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// A subject, when it was read.
type Read<T> = OnceCell<Result<Rc<T>, ReadError>>;

/// System sleep: a capture for each machine, and what logs and capture files say besides
/// times.
#[derive(Debug, Default)]
pub struct Sleep {
    /// As of [`Reading::captures`].
    pub captures: Vec<Arc<Capture>>,
    /// As of [`Reading::heard`].
    pub heard: Vec<Heard>,
}

impl Sleep {
    fn of(r: Reading) -> Sleep {
        Sleep { captures: r.captures.into_iter().map(Arc::new).collect(), heard: r.heard }
    }
}

/// Captures by the name of the input.
pub type Recordings = BTreeMap<String, Vec<Arc<Capture>>>;

/// The inputs of a command. Whatever is asked of them, each file is opened once, and a
/// subject is read once.
#[derive(Default)]
pub struct Given {
    paths: Vec<PathBuf>,
    options: Options,
    door: Rc<Door>,
    sleep: Read<Sleep>,
    heard: Read<Sleep>,
    said: Read<Vec<Text<Arc<dormouse_doctor::JudgedCase>>>>,
    alone: Read<Recordings>,
    idle: Read<IdleReading>,
    sleeps: Read<IdleReading>,
    storage: Read<StorageReading>,
    power: Read<Vec<Text<dormouse_power::Case>>>,
}

impl Given {
    /// Nothing was read yet.
    #[must_use]
    pub fn new(paths: &[PathBuf]) -> Given {
        let options = Options::default();
        let door = Rc::new(Door::new(options.limits));
        Given { paths: paths.to_vec(), options, door, ..Given::default() }
    }

    /// Some of the inputs, or others, through the same door.
    #[must_use]
    pub fn only(&self, paths: &[PathBuf]) -> Given {
        let (door, options) = (Rc::clone(&self.door), self.options.clone());
        Given { paths: paths.to_vec(), options, door, ..Given::default() }
    }

    /// The inputs as they were named.
    #[must_use]
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// The bytes of a file as they lie there; `-` is standard input.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn raw(&self, path: &Path) -> Result<Arc<Bytes>, ReadError> {
        self.door.raw(path)
    }

    /// Shows `each` the content of every file behind the inputs. What cannot be read is left
    /// out: whoever asks for it is told why.
    pub fn each_content(&self, each: &mut dyn FnMut(&[u8])) {
        for input in self.inputs() {
            let _ = self.door.for_each(&input, &mut |source| each(source.bytes));
        }
    }

    /// The same without the events of callbacks, of which captures have all names.
    pub fn each_untold(&self, each: &mut dyn FnMut(&[u8])) {
        self.each_content(&mut |bytes| each(&without_callbacks(bytes)));
    }

    fn inputs(&self) -> Vec<Input> {
        self.paths.iter().map(Input::from_arg).collect()
    }

    fn read(&self, wanted: Wanted) -> Result<Reading, ReadError> {
        read_through(&self.door, &self.inputs(), &self.options, wanted)
    }

    /// Reads every subject in one pass, for a command that will ask for all.
    pub fn read_all(&self) {
        // Whoever asks meets the same error.
        let Ok(mut r) = self.read(Wanted::ALL) else { return };
        let idle = std::mem::take(&mut r.idle);
        let (storage, power) = (std::mem::take(&mut r.storage), std::mem::take(&mut r.power));
        let _ = self.idle.set(Ok(Rc::new(idle)));
        let _ = self.storage.set(Ok(Rc::new(storage)));
        let _ = self.power.set(Ok(Rc::new(power)));
        let _ = self.heard.set(Ok(Rc::new(Sleep::of(r))));
    }

    /// Reads system sleep and what each text says in one pass, for whoever will ask for both.
    pub fn read_told(&self) {
        let wanted = Wanted { heard: true, said: true, ..Wanted::SLEEP };
        let Ok(mut r) = self.read(wanted) else { return };
        let _ = self.said.set(Ok(Rc::new(std::mem::take(&mut r.said))));
        let _ = self.heard.set(Ok(Rc::new(Sleep::of(r))));
    }

    /// System sleep; what is said besides times may be missing.
    ///
    /// # Errors
    /// If an input cannot be read.
    pub fn sleep(&self) -> Result<Rc<Sleep>, ReadError> {
        match self.heard.get() {
            Some(heard) => heard.clone(),
            None => read(&self.sleep, || self.read(Wanted::SLEEP).map(Sleep::of)),
        }
    }

    /// System sleep, with what is said besides times.
    ///
    /// # Errors
    /// As [`Given::sleep`].
    pub fn heard(&self) -> Result<Rc<Sleep>, ReadError> {
        let wanted = Wanted { heard: true, ..Wanted::SLEEP };
        read(&self.heard, || self.read(wanted).map(Sleep::of))
    }

    /// What each text says by itself, as a kernel log.
    ///
    /// # Errors
    /// As [`Given::sleep`].
    pub fn said(&self) -> Result<Rc<Vec<Text<Arc<dormouse_doctor::JudgedCase>>>>, ReadError> {
        let wanted = Wanted { said: true, ..Wanted::default() };
        read(&self.said, || self.read(wanted).map(|r| r.said))
    }

    /// The cycles of each recording by itself, by the name of the input: of traces and
    /// capture files, whose text says nothing of sleep.
    ///
    /// # Errors
    /// As [`Given::sleep`].
    pub fn alone(&self) -> Result<Rc<Recordings>, ReadError> {
        read(&self.alone, || {
            let said = self.said()?;
            if let [one] = &said[..] {
                let captures = self.heard()?.captures.clone();
                return Ok(BTreeMap::from([(one.name.clone(), captures)]));
            }
            let mut out = BTreeMap::new();
            for input in self.inputs() {
                self.door.for_each(&input, &mut |source| {
                    if detect(source.bytes) != Format::KernelLog {
                        let name = source.name.to_string();
                        let captures = read_source(source).captures;
                        out.insert(name, captures.into_iter().map(Arc::new).collect());
                    }
                })?;
            }
            Ok(out)
        })
    }

    /// CPU idle states, with what is to be kept of traces.
    ///
    /// # Errors
    /// As [`Given::sleep`].
    pub fn idle(&self, keep: Keep) -> Result<Rc<IdleReading>, ReadError> {
        let wanted = Wanted { idle: Some(keep), ..Wanted::default() };
        let cell = match keep {
            Keep::Counts => &self.idle,
            Keep::Episodes => &self.sleeps,
        };
        read(cell, || self.read(wanted).map(|r| r.idle))
    }

    /// Storage and runtime power management.
    ///
    /// # Errors
    /// As [`Given::sleep`].
    pub fn storage(&self) -> Result<Rc<StorageReading>, ReadError> {
        let wanted = Wanted { storage: true, ..Wanted::default() };
        read(&self.storage, || self.read(wanted).map(|r| r.storage))
    }

    /// Power domains and probing, a text each.
    ///
    /// # Errors
    /// As [`Given::sleep`].
    pub fn power(&self) -> Result<Rc<Vec<Text<dormouse_power::Case>>>, ReadError> {
        let wanted = Wanted { power: true, ..Wanted::SLEEP };
        read(&self.power, || self.read(wanted).map(|r| r.power))
    }
}

/// What `cell` holds, read now if it was not yet.
fn read<T>(cell: &Read<T>, now: impl FnOnce() -> Result<T, ReadError>) -> Result<Rc<T>, ReadError> {
    cell.get_or_init(|| now().map(Rc::new)).clone()
}
