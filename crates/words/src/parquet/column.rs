//! Columns of a table in the making, and whose rows they hold.

use dormouse_base::capture::Capture;
use dormouse_sleep::analyse::CycleView;
use parquet::data_type::ByteArray;

/// A capture with its views and what to call it.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Name of the capture in the table.
    pub label: &'a str,
    /// The capture.
    pub capture: &'a Capture,
    /// One view a cycle.
    pub views: &'a [CycleView],
}

/// Type of a column. Every column may be null, which is "not known".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Whole,
    Flag,
}

pub(super) type Columns = &'static [(&'static str, Kind)];

/// Values of a column that are not null, and for each row whether there is one.
#[derive(Default)]
pub(super) struct Column<T> {
    pub(super) values: Vec<T>,
    pub(super) levels: Vec<i16>,
}

impl<T> Column<T> {
    pub(super) fn push(&mut self, value: Option<T>) {
        self.levels.push(i16::from(value.is_some()));
        self.values.extend(value);
    }
}

/// A column of any type.
pub(super) enum Values {
    Text(Column<ByteArray>),
    Whole(Column<i64>),
    Flag(Column<bool>),
}

/// A value of a row.
pub(super) enum Cell<'a> {
    Text(Option<&'a str>),
    Whole(Option<i64>),
    Flag(Option<bool>),
}

impl Cell<'_> {
    /// Text, where empty means not known.
    pub(super) fn text(t: &str) -> Cell<'_> {
        Cell::Text((!t.is_empty()).then_some(t))
    }
}

/// A table in the making.
pub(super) struct Rows(pub(super) Vec<Values>);

impl Rows {
    pub(super) fn new(columns: Columns) -> Rows {
        let empty = |(_, kind): &(&str, Kind)| match kind {
            Kind::Text => Values::Text(Column::default()),
            Kind::Whole => Values::Whole(Column::default()),
            Kind::Flag => Values::Flag(Column::default()),
        };
        Rows(columns.iter().map(empty).collect())
    }

    /// Adds a row, its cells in the order of the columns.
    pub(super) fn push<'a>(&mut self, cells: impl IntoIterator<Item = Cell<'a>>) {
        for (column, cell) in self.0.iter_mut().zip(cells) {
            match (column, cell) {
                (Values::Text(c), Cell::Text(v)) => c.push(v.map(ByteArray::from)),
                (Values::Whole(c), Cell::Whole(v)) => c.push(v),
                (Values::Flag(c), Cell::Flag(v)) => c.push(v),
                _ => unreachable!("a cell has the type of its column"),
            }
        }
    }
}
