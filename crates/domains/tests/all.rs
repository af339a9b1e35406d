//! One test binary.
mod fw_devlink;
