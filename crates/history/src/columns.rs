//! The columns of a sleep, in one list for the database, the spool and tables.

use dormouse_doctor::history::{Battery, Row};
use dormouse_doctor::night::charge::Gauge;
use serde_json::{Map, Value, json};

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Nobody says.
    None,
    /// A number.
    Number(i64),
    /// A text.
    Text(String),
}

/// A column.
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// The value that a row has.
    pub get: fn(&Row) -> Cell,
    /// Gives a row a value; of another kind it is none.
    pub set: fn(&mut Row, Cell),
    /// Its type in SQL.
    pub kind: &'static str,
}

/// Beyond this there is no time in ms and no charge: a file says what it likes.
const MOST: u64 = 1_000_000_000_000_000;

/// A number that can be meant.
pub(crate) fn meant(n: i64) -> Option<i64> {
    (n.unsigned_abs() <= MOST).then_some(n)
}

trait Field {
    const KIND: &'static str;
    fn cell(&self) -> Cell;
    fn put(&mut self, cell: Cell);
}

impl Field for i64 {
    const KIND: &'static str = "INTEGER NOT NULL";
    fn cell(&self) -> Cell {
        Cell::Number(*self)
    }
    fn put(&mut self, cell: Cell) {
        if let Cell::Number(n) = cell {
            *self = meant(n).unwrap_or(0);
        }
    }
}

impl Field for Option<i64> {
    const KIND: &'static str = "INTEGER";
    fn cell(&self) -> Cell {
        self.map_or(Cell::None, Cell::Number)
    }
    fn put(&mut self, cell: Cell) {
        *self = if let Cell::Number(n) = cell { meant(n) } else { None };
    }
}

impl Field for String {
    const KIND: &'static str = "TEXT NOT NULL";
    fn cell(&self) -> Cell {
        Cell::Text(self.clone())
    }
    fn put(&mut self, cell: Cell) {
        if let Cell::Text(t) = cell {
            *self = t;
        }
    }
}

fn kind<T: Field>(_: fn(&Row) -> &T) -> &'static str {
    T::KIND
}

macro_rules! columns {
    ($($name:ident),* $(,)?) => {
        /// All of them, in the order of the table.
        pub fn columns() -> Vec<Column> {
            vec![$(Column {
                name: stringify!($name),
                get: |r| r.$name.cell(),
                set: |r, c| r.$name.put(c),
                kind: kind(|r| &r.$name),
            }),*]
        }
    };
}

columns!(
    boot,
    began_ms,
    ended_ms,
    source,
    mode,
    slept_ms,
    span_ms,
    suspend_ms,
    resume_ms,
    hardware_ms,
    hardware_works,
    cpus_ms,
    waker,
    waker_irq,
    sources,
    succeeded,
    failed,
    failed_device,
    failed_step,
    failed_errno,
    mains,
    clock_set_ms,
);

/// Gauges, as the database names them.
const GAUGES: [(Gauge, &str); 3] =
    [(Gauge::Energy, "uWh"), (Gauge::Charge, "uAh"), (Gauge::Percent, "thousandths of a per cent")];

/// The name of a gauge.
pub(crate) fn gauge_name(gauge: Gauge) -> &'static str {
    GAUGES.iter().find(|g| g.0 == gauge).map_or("", |g| g.1)
}

/// The gauge of this name.
pub(crate) fn gauge_of(name: &str) -> Option<Gauge> {
    GAUGES.iter().find(|g| g.1 == name).map(|g| g.0)
}

/// A row as an object.
pub fn object(row: &Row) -> Value {
    let mut out = Map::new();
    for c in columns() {
        let value = match (c.get)(row) {
            Cell::None => Value::Null,
            Cell::Number(n) => n.into(),
            Cell::Text(t) => t.into(),
        };
        out.insert(c.name.into(), value);
    }
    let batteries = row.batteries.iter().map(|b| {
        json!({ "name": b.name, "gauge": gauge_name(b.gauge), "before": b.before,
                "after": b.after, "full": b.full })
    });
    out.insert("batteries".into(), batteries.collect());
    out.insert("versions".into(), json!(row.versions));
    Value::Object(out)
}

/// The row of an object; `None` if it is none.
pub(crate) fn row(object: &Value) -> Option<Row> {
    let mut row = Row::default();
    object.get("began_ms")?.as_i64()?;
    for c in columns() {
        let cell = match object.get(c.name) {
            Some(Value::String(t)) => Cell::Text(t.clone()),
            Some(v) => v.as_i64().map_or(Cell::None, Cell::Number),
            None => Cell::None,
        };
        (c.set)(&mut row, cell);
    }
    let battery = |b: &Value| {
        Some(Battery {
            name: b["name"].as_str()?.into(),
            gauge: gauge_of(b["gauge"].as_str()?)?,
            before: b["before"].as_i64().and_then(meant),
            after: b["after"].as_i64().and_then(meant),
            full: b["full"].as_i64().and_then(meant),
        })
    };
    row.batteries = object["batteries"].as_array()?.iter().filter_map(battery).collect();
    let versions = object["versions"].as_object()?.iter();
    row.versions = versions.filter_map(|(k, v)| Some((k.clone(), v.as_str()?.into()))).collect();
    Some(row)
}
