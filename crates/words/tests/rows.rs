//! `show --json` with its rows as objects, so that a test can name what it
//! looks at.

use serde_json::{Map, Value};

/// The document with every row as an object, by the columns of its head, which
/// goes.
pub(crate) fn expanded(mut document: Value) -> Value {
    let columns = document.as_object_mut().and_then(|d| d.remove("columns")).expect("columns");
    walk(&mut document, "", &columns);
    document
}

fn walk(value: &mut Value, path: &str, columns: &Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                walk(field, &path, columns);
            }
        }
        Value::Array(list) => {
            for item in list {
                if item.is_array() {
                    *item = object(item.take(), &columns[path], columns);
                }
                walk(item, path, columns);
            }
        }
        _ => {}
    }
}

/// A row as an object; a cell that is a list is a spread.
fn object(row: Value, names: &Value, columns: &Value) -> Value {
    let names = names.as_array().expect("columns of the row");
    let Value::Array(cells) = row else { panic!("a row") };
    assert_eq!(cells.len(), names.len(), "{names:?}");
    let field = |(name, mut cell): (&Value, Value)| {
        if cell.is_array() {
            cell = object(cell, &columns["spread"], columns);
        }
        (name.as_str().expect("a name").to_string(), cell)
    };
    names.iter().zip(cells).map(field).collect::<Map<_, _>>().into()
}

/// The name of the device at a place of `devices`.
pub(crate) fn device<'a>(document: &'a Value, place: &Value) -> &'a str {
    let place = place.as_u64().expect("the place of a device") as usize;
    document["devices"][place]["name"].as_str().expect("a name")
}
