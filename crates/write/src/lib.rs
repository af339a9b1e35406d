//! Writers of every output format. They compute nothing.
