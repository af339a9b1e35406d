//! Tables of a comparison: the first column to the left, figures to the right.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};

/// A table without lines; the first column is left-aligned, the others right.
pub(super) fn plain_table(head: Vec<String>, body: Vec<Vec<String>>) -> String {
    table(NOTHING, head, body)
}

pub(super) fn table(preset: &str, head: Vec<String>, body: Vec<Vec<String>>) -> String {
    let mut t = Table::new();
    t.load_preset(preset).set_header(head).add_rows(body);
    for (i, column) in t.column_iter_mut().enumerate() {
        column.set_cell_alignment(if i == 0 { CellAlignment::Left } else { CellAlignment::Right });
        if preset == NOTHING {
            column.set_padding((0, 1));
        }
    }
    let mut out: String = t.lines().map(|l| l.trim_end().to_string() + "\n").collect();
    if out.is_empty() {
        out.push('\n');
    }
    out
}
