//! The part of the Python package `mpitrace` that is Rust. What comes in are the paths of traces. What goes out are
//! JSON and streams of Arrow record batches.
//!
//! Each function is one of the companion's library (`tools/export/src/in_memory/`), so both print the same numbers. The
//! Python part (`mpitrace/`) makes dictionaries and tables of what comes from here.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use mpitrace_export::in_memory::{self, Opened};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

pyo3::create_exception!(
    mpitrace,
    TraceError,
    PyValueError,
    "A file that is no trace, an argument that does not exist, or what a trace cannot answer; the text says what to do."
);

/// An open trace.
#[pyclass(frozen, module = "mpitrace._mpitrace")]
struct Trace(Opened);

/// Record batches, for whoever takes Arrow streams, once.
#[pyclass(frozen, module = "mpitrace._mpitrace")]
struct Stream(Mutex<Option<Box<dyn RecordBatchReader + Send>>>);

#[pymethods]
impl Trace {
    #[new]
    fn new(py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<Trace> {
        py.detach(|| Opened::open(&paths)).map(Trace).map_err(raised)
    }

    fn info(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| self.0.info()).map_err(raised)
    }

    fn problems(&self) -> Vec<String> {
        self.0.problems()
    }

    fn operations(&self, py: Python<'_>) -> PyResult<Stream> {
        one(py.detach(|| self.0.operations()))
    }

    fn repetitions(&self, py: Python<'_>, operation: usize, method: &str) -> PyResult<Stream> {
        one(py.detach(|| self.0.repetitions(operation, method)))
    }

    fn categories(&self, py: Python<'_>, operation: usize, method: &str, time: &str) -> PyResult<Stream> {
        one(py.detach(|| self.0.categories(operation, method, time)))
    }

    fn account(&self, py: Python<'_>) -> PyResult<Stream> {
        one(py.detach(|| self.0.account()))
    }

    #[pyo3(signature = (operation, method))]
    fn calls(&self, py: Python<'_>, operation: Option<usize>, method: &str) -> PyResult<Stream> {
        let calls = py.detach(|| self.0.calls(operation, method)).map_err(raised)?;
        Ok(Stream(Mutex::new(Some(calls))))
    }
}

#[pymethods]
impl Stream {
    /// The Arrow PyCapsule interface. Another schema than its own is not made: the interface allows that.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let reader = taken.ok_or_else(|| PyValueError::new_err("this stream was read already"))?;
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), c"arrow_array_stream")
    }
}

/// The categories of any numbers, as JSON.
#[pyfunction]
fn categorize(py: Python<'_>, numbers: Vec<f64>, first_repetition: u64, method: &str) -> PyResult<String> {
    py.detach(|| in_memory::categorize(&numbers, first_repetition, method)).map_err(raised)
}

/// A stream of one batch.
fn one(batch: anyhow::Result<RecordBatch>) -> PyResult<Stream> {
    let batch = batch.map_err(raised)?;
    let schema = batch.schema();
    Ok(Stream(Mutex::new(Some(Box::new(RecordBatchIterator::new([Ok(batch)], schema))))))
}

/// A refusal by the system becomes an OSError of its kind, any other error a TraceError.
fn raised(error: anyhow::Error) -> PyErr {
    let text = format!("{error:#}");
    match in_memory::refused(&error) {
        Some(kind) => io::Error::new(kind, text).into(),
        None => TraceError::new_err(text),
    }
}

#[pymodule]
fn _mpitrace(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Trace>()?;
    module.add_class::<Stream>()?;
    module.add_function(wrap_pyfunction!(categorize, module)?)?;
    module.add("TraceError", module.py().get_type::<TraceError>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
