//! Callbacks, phases or cycles as a Parquet table, for fleets of captures. The schema
//! is documented in `docs/parquet-schema.md`; a test holds the two together.
//!
//! Column by column through `parquet`'s own writer: the columnar types of
//! Arrow would cost minutes of build time and give nothing here.

mod callbacks;
mod column;
mod cycles;
mod phases;

pub use column::{Column, Source, Texts, Values};

use column::{Kind, OF_CYCLE};
use parquet::basic::Compression;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::io::Write;
use std::sync::Arc;

/// Name and version of the schema, kept in the file's metadata. A new column
/// does not change it; a column that goes or changes its meaning does.
pub const SCHEMA: &str = "dormouse-fleet/1";

/// Which table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// A row a callback.
    Callbacks,
    /// A row a phase of a cycle.
    Phases,
    /// A row a cycle.
    Cycles,
}

impl Table {
    fn columns(self) -> impl Iterator<Item = (&'static str, Kind)> {
        let own = match self {
            Table::Callbacks => callbacks::COLUMNS,
            Table::Phases => phases::COLUMNS,
            Table::Cycles => cycles::COLUMNS,
        };
        OF_CYCLE.iter().chain(own).copied()
    }

    /// Rows of the cycles of `source`, in columns with their names; `before` are the cycles of
    /// sources before it.
    pub fn rows(self, source: &Source<'_>, before: usize) -> Vec<(&'static str, Values)> {
        let rows = match self {
            Table::Callbacks => callbacks::rows(source, before),
            Table::Phases => phases::rows(source, before),
            Table::Cycles => cycles::rows(source, before),
        };
        self.columns().map(|(name, _)| name).zip(rows).collect()
    }
}

/// Writes `table` over all cycles of `sources`.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(sources: &[Source<'_>], table: Table, out: impl Write + Send) -> Result<()> {
    let schema = Arc::new(parse_message_type(&message(table.columns()))?);
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(format!("dormouse {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(vec![KeyValue::new("schema".into(), SCHEMA.to_string())]));
    let mut file = SerializedFileWriter::new(out, schema, Arc::new(properties.build()))?;
    // A row group a capture, so memory holds one capture's columns.
    let mut before = 0;
    for source in sources {
        let rows = table.rows(source, before);
        before += source.capture.cycles.len();
        let mut group = file.next_row_group()?;
        for (_, column) in rows {
            let Some(mut writer) = group.next_column()? else { break };
            match (writer.untyped(), column) {
                (ColumnWriter::ByteArrayColumnWriter(w), Values::Text(c)) => {
                    let (all, mut from) = (ByteArray::from(c.values.bytes), 0);
                    let each = c.values.ends.into_iter().map(|end| {
                        let start = std::mem::replace(&mut from, end);
                        all.slice(start, end - start)
                    });
                    let values: Vec<ByteArray> = each.collect();
                    w.write_batch(&values, Some(&c.levels), None)?;
                }
                (ColumnWriter::Int64ColumnWriter(w), Values::Whole(c)) => {
                    w.write_batch(&c.values, Some(&c.levels), None)?;
                }
                (ColumnWriter::BoolColumnWriter(w), Values::Flag(c)) => {
                    w.write_batch(&c.values, Some(&c.levels), None)?;
                }
                _ => unreachable!("a column has the type that COLUMNS gives it"),
            }
            writer.close()?;
        }
        group.close()?;
    }
    file.close()?;
    Ok(())
}

fn message(columns: impl Iterator<Item = (&'static str, Kind)>) -> String {
    let mut text = String::from("message dormouse {\n");
    for (name, kind) in columns {
        let kind = match kind {
            Kind::Text => "optional binary NAME (UTF8);\n",
            Kind::Whole => "optional int64 NAME;\n",
            Kind::Flag => "optional boolean NAME;\n",
        };
        text.push_str(&kind.replace("NAME", name));
    }
    text.push('}');
    text
}
