//! Paths of JSON values, beside those that a page of the documentation lists.

use serde_json::Value;
use std::collections::BTreeSet;

/// Adds the paths of the leaves of one member of a document, lists as `[]`; if none is
/// named, of all but its schema.
pub(crate) fn add(json: &str, member: &str, out: &mut BTreeSet<String>) {
    let mut json: Value = serde_json::from_str(json).expect("JSON");
    match member {
        "" => _ = json.as_object_mut().expect("an object").remove("schema"),
        name => json = json[name].take(),
    }
    walk(&json, "", out);
}

fn walk(v: &Value, at: &str, out: &mut BTreeSet<String>) {
    match v {
        Value::Object(m) => {
            for (k, v) in m {
                let at = if at.is_empty() { k.clone() } else { format!("{at}.{k}") };
                walk(v, &at, out);
            }
        }
        Value::Array(list) => list.iter().for_each(|v| walk(v, &format!("{at}[]"), out)),
        _ => {
            out.insert(at.to_string());
        }
    }
}

/// The paths that a page lists, a row each.
pub(crate) fn of_page(page: &str) -> BTreeSet<String> {
    let rows = page.lines().filter_map(|l| l.strip_prefix("| `")?.split('`').next());
    rows.map(str::to_string).collect()
}
