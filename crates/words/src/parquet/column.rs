//! Columns of a table in the making, and whose rows they hold.

use dormouse_base::capture::Capture;
use dormouse_sleep::analyse::CycleView;

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

/// What each table says first of each row: whose cycle it is of.
pub(super) const OF_CYCLE: [(&str, Kind); 9] = [
    ("capture", Kind::Text),
    ("host", Kind::Text),
    ("model", Kind::Text),
    ("kernel", Kind::Text),
    ("mode", Kind::Text),
    ("outcome", Kind::Text),
    ("cycle", Kind::Whole),
    ("source", Kind::Text),
    ("first_after_boot", Kind::Flag),
];

impl Source<'_> {
    /// The values of [`OF_CYCLE`] of its cycle `n`, from 0.
    pub(super) fn of_cycle(&self, n: usize) -> [Cell<'_>; 9] {
        let c = self.capture;
        let cycle = &c.cycles[n];
        let name = |s| Cell::text(c.names.get(s));
        [
            Cell::text(self.label),
            name(c.host_of(cycle)),
            name(c.machine.model),
            name(cycle.kernel),
            Cell::text(cycle.mode.name()),
            Cell::text(cycle.outcome.name()),
            Cell::Whole(Some(n as i64 + 1)),
            name(cycle.source),
            Cell::Flag(Some(cycle.first_after_boot)),
        ]
    }
}

/// Values of a column that are not null, and for each row whether there is one: 1, or 0.
#[derive(Clone, Debug, Default)]
pub struct Column<T> {
    /// Those values.
    pub values: T,
    /// As many as rows.
    pub levels: Vec<i16>,
}

/// Texts one behind another: a text of its own for each would cost more than all else.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    /// All of them.
    pub bytes: Vec<u8>,
    /// Where each ends.
    pub ends: Vec<usize>,
}

/// A column of any type.
#[derive(Clone, Debug)]
pub enum Values {
    /// Of texts.
    Text(Column<Texts>),
    /// Of whole numbers.
    Whole(Column<Vec<i64>>),
    /// Of what is so or not.
    Flag(Column<Vec<bool>>),
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
    /// With no rows: `columns` behind those of the cycle.
    pub(super) fn new(columns: Columns) -> Rows {
        let empty = |(_, kind): &(&str, Kind)| match kind {
            Kind::Text => Values::Text(Column::default()),
            Kind::Whole => Values::Whole(Column::default()),
            Kind::Flag => Values::Flag(Column::default()),
        };
        Rows(OF_CYCLE.iter().chain(columns).map(empty).collect())
    }

    /// Adds a row: the cells of its cycle, and its own in the order of the columns.
    pub(super) fn push<'a, const N: usize>(&mut self, cycle: [Cell<'a>; 9], own: [Cell<'a>; N]) {
        for (column, cell) in self.0.iter_mut().zip(cycle.into_iter().chain(own)) {
            match (column, cell) {
                (Values::Text(c), Cell::Text(v)) => {
                    c.levels.push(v.is_some().into());
                    if let Some(text) = v {
                        c.values.bytes.extend_from_slice(text.as_bytes());
                        c.values.ends.push(c.values.bytes.len());
                    }
                }
                (Values::Whole(c), Cell::Whole(v)) => {
                    c.levels.push(v.is_some().into());
                    c.values.extend(v);
                }
                (Values::Flag(c), Cell::Flag(v)) => {
                    c.levels.push(v.is_some().into());
                    c.values.extend(v);
                }
                _ => unreachable!("a cell has the type of its column"),
            }
        }
    }
}
