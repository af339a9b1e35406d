//! Tables that other libraries take without copying: the PyCapsule interface of Arrow.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, BooleanArray, Int64Array, RecordBatch, RecordBatchIterator, RecordBatchReader,
    StringArray,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_json::ReaderBuilder;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use bytes::Bytes;
use dormouse::rows::{Column, Rows, Texts, Values};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::fmt::Display;
use std::sync::Arc;

/// Rows of an answer, in columns.
#[pyclass(frozen, module = "dormouse")]
pub(crate) struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

fn wrong(e: impl Display) -> PyErr {
    PyValueError::new_err(e.to_string())
}

fn kind(word: &str) -> PyResult<DataType> {
    Ok(match word {
        "text" => DataType::Utf8,
        "integer" => DataType::Int64,
        "number" => DataType::Float64,
        "boolean" => DataType::Boolean,
        _ => return Err(PyValueError::new_err(format!("{word} is no type of a column"))),
    })
}

impl Table {
    /// The rows of an input, of each of its machines.
    pub(crate) fn of(rows: Rows) -> PyResult<Table> {
        let batch = |columns: Vec<(&'static str, Values)>| -> PyResult<RecordBatch> {
            let named = |(name, values)| Ok((name, array(values)?, true));
            let named: PyResult<Vec<_>> = columns.into_iter().map(named).collect();
            RecordBatch::try_from_iter_with_nullable(named?).map_err(wrong)
        };
        let batches = rows.into_iter().map(batch).collect::<PyResult<Vec<_>>>()?;
        let schema = batches.first().map_or(Arc::new(Schema::empty()), RecordBatch::schema);
        Ok(Table { schema, batches })
    }
}

fn array(values: Values) -> PyResult<ArrayRef> {
    Ok(match values {
        Values::Text(c) => Arc::new(texts(c)?),
        Values::Whole(c) => Arc::new(Int64Array::from_iter(each(&c.levels, &c.values))),
        Values::Flag(c) => Arc::new(BooleanArray::from_iter(each(&c.levels, &c.values))),
    })
}

/// Of each row the value, if it has one.
fn each<'a, T: Copy>(levels: &'a [i16], values: &'a [T]) -> impl Iterator<Item = Option<T>> + 'a {
    let mut values = values.iter().copied();
    levels.iter().map(move |level| if *level == 0 { None } else { values.next() })
}

fn texts(column: Column<Texts>) -> PyResult<StringArray> {
    let mut offsets = vec![0_i32];
    let mut at = 0;
    for end in each(&column.levels, &column.values.ends) {
        at = end.map_or(Ok(at), i32::try_from).map_err(wrong)?;
        offsets.push(at);
    }
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    let nulls = NullBuffer::from_iter(column.levels.iter().map(|level| *level != 0));
    let bytes = Buffer::from_vec(column.values.bytes);
    StringArray::try_new(offsets, bytes, Some(nulls)).map_err(wrong)
}

#[pymethods]
impl Table {
    /// The table that `dormouse export --to parquet` wrote.
    #[staticmethod]
    fn of_parquet(py: Python<'_>, file: Vec<u8>) -> PyResult<Table> {
        py.detach(|| {
            let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(file));
            let reader = reader.and_then(|r| r.build()).map_err(wrong)?;
            let schema = reader.schema();
            let batches = reader.collect::<Result<_, _>>().map_err(wrong)?;
            Ok(Table { schema, batches })
        })
    }

    /// Rows as JSON, one a line, with the names and types of their columns: `text`,
    /// `integer`, `number` or `boolean`, each of which may be null.
    #[staticmethod]
    fn of_rows(rows: &[u8], columns: Vec<(String, String)>) -> PyResult<Table> {
        let fields: PyResult<Vec<Field>> = columns
            .into_iter()
            .map(|(name, word)| Ok(Field::new(name, kind(&word)?, true)))
            .collect();
        let schema = Arc::new(Schema::new(fields?));
        let reader = ReaderBuilder::new(schema.clone()).build(rows).map_err(wrong)?;
        let batches = reader.collect::<Result<_, _>>().map_err(wrong)?;
        Ok(Table { schema, batches })
    }

    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|f| f.name().clone()).collect()
    }

    /// Where the first column of the first batch lies in memory, to show that nobody
    /// copied it.
    #[getter]
    fn address(&self) -> Option<usize> {
        let data = self.batches.first()?.columns().first()?.to_data();
        data.buffers().last().map(|b| b.as_ptr() as usize)
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn __repr__(&self) -> String {
        let names: Vec<_> = self.column_names();
        format!("<dormouse.Table of {} rows: {}>", self.__len__(), names.join(", "))
    }

    /// For polars, pyarrow, pandas and duckdb.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets the producer give its own types in place of the wanted ones.
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        let stream =
            FFI_ArrowArrayStream::new(Box::new(reader) as Box<dyn RecordBatchReader + Send>);
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}
