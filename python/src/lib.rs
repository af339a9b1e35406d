//! The command as a Python module: one function runs a command line in this process, two
//! make Arrow tables of what it wrote. Everything else is Python (`dormouse/`).

mod table;

use dormouse::Kept;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
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

#[pymodule]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_class::<Table>()?;
    m.add_function(wrap_pyfunction!(run, m)?)
}
