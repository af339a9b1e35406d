//! The command as a Python module: one function runs a command line in this process, two
//! make Arrow tables of what it wrote, one gives all that tables of many inputs hold of one.
//! Everything else is Python (`dormouse/`).

mod table;

use dormouse::Kept;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use table::Table;

/// Runs one command line and returns its exit code, standard output and standard error.
/// Other threads of Python go on meanwhile.
#[pyfunction]
fn run(py: Python<'_>, arguments: Vec<String>) -> PyResult<(u8, Vec<u8>, Vec<u8>)> {
    let (out, err) = (Kept::default(), Kept::default());
    let code = py.detach(|| {
        catch_unwind(AssertUnwindSafe(|| dormouse::run(arguments, out.clone(), err.clone())))
    });
    let code = code.map_err(|_| PyRuntimeError::new_err("dormouse stopped; please report it"))?;
    Ok((code, out.taken(), err.taken()))
}

/// Hosts of the cycles of an input, tables of its cycles, phases and callbacks, and the member
/// `texts` of `show --json`, from one reading, for others. `key` names hosts.
#[pyfunction]
fn held(py: Python<'_>, path: PathBuf, key: [u8; 32]) -> PyResult<Held> {
    let held = py.detach(|| catch_unwind(AssertUnwindSafe(|| dormouse::rows::held(&path, key))));
    let held = held.map_err(|_| PyRuntimeError::new_err("dormouse stopped; please report it"))?;
    let held = held.map_err(PyValueError::new_err)?;
    let [cycles, phases, callbacks] =
        [held.cycles, held.phases, held.callbacks].map(|rows| py.detach(|| Table::of(rows)));
    Ok((held.hosts, cycles?, phases?, callbacks?, held.texts))
}

type Held = (Vec<String>, Table, Table, Table, Vec<u8>);

#[pymodule]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_class::<Table>()?;
    m.add_function(wrap_pyfunction!(held, m)?)?;
    m.add_function(wrap_pyfunction!(run, m)?)
}
