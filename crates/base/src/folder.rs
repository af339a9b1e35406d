//! Folders of sysfs.

/// The device that a folder of sysfs is of, as people call it: the last part of its path,
/// without `power` below it. `device` is no name but a link of a disk, an interface or a class
/// to the device behind it (drivers/base/core.c:device_add_class_symlinks, 6.12).
pub fn device_of(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    let path = path.strip_suffix("/power").unwrap_or(path);
    let path = path.strip_suffix("/device").filter(|p| !p.is_empty()).unwrap_or(path);
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::device_of;

    #[test]
    fn a_link_to_a_device_is_no_name() {
        for (path, name) in [
            ("/sys/block/sda/device/power", "sda"),
            ("/sys/class/net/eth0/device", "eth0"),
            ("/sys/bus/usb/devices/1-3/power", "1-3"),
            ("/sys/devices/platform/soc", "soc"),
            ("device", "device"),
            ("", ""),
        ] {
            assert_eq!(device_of(path), name, "{path}");
        }
    }
}
