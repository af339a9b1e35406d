//! One table of names for all captures of a report.

use std::collections::HashMap;

/// Names in order of first use; index 0 is empty.
#[derive(Debug)]
pub struct NameTable {
    list: Vec<String>,
    index: HashMap<String, u32>,
}

impl Default for NameTable {
    fn default() -> NameTable {
        let mut t = NameTable { list: Vec::new(), index: HashMap::new() };
        t.add("");
        t
    }
}

impl NameTable {
    /// The index of `text`.
    pub fn add(&mut self, text: &str) -> u32 {
        if let Some(&i) = self.index.get(text) {
            return i;
        }
        let i = self.list.len() as u32;
        self.list.push(text.into());
        self.index.insert(text.into(), i);
        i
    }

    /// All names.
    pub fn into_list(self) -> Vec<String> {
        self.list
    }
}
