//! The guest's file system: a cpio archive in the format `newc`, which the
//! kernel unpacks (Documentation/driver-api/early-userspace/buffer-format).
//! Not compressed: unpacking costs instructions of the guest.

/// Builds an archive in memory. Same content, same bytes: no time stamps.
#[derive(Default)]
pub struct Initramfs {
    bytes: Vec<u8>,
    inode: u32,
}

impl Initramfs {
    /// A directory.
    pub fn directory(&mut self, path: &str) {
        self.directory_as(path, 0o755);
    }

    /// A directory with these permissions.
    pub(crate) fn directory_as(&mut self, path: &str, permissions: u32) {
        self.entry(path, 0o040_000 | permissions, (0, 0), &[]);
    }

    /// A symbolic link.
    pub(crate) fn link(&mut self, path: &str, to: &str) {
        self.entry(path, 0o120_777, (0, 0), to.as_bytes());
    }

    /// A file with these permissions.
    pub fn file(&mut self, path: &str, permissions: u32, content: &[u8]) {
        self.entry(path, 0o100_000 | permissions, (0, 0), content);
    }

    /// A character device.
    pub fn device(&mut self, path: &str, major: u32, minor: u32) {
        self.entry(path, 0o020_600, (major, minor), &[]);
    }

    /// The finished archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.inode = u32::MAX;
        self.entry("TRAILER!!!", 0, (0, 0), &[]);
        // The kernel reads in blocks; other unpackers expect 512 bytes.
        self.bytes.resize(self.bytes.len().next_multiple_of(512), 0);
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, device: (u32, u32), content: &[u8]) {
        self.inode = self.inode.wrapping_add(1);
        let name = path.trim_start_matches('/');
        let fields = [
            self.inode,
            mode,
            0, // owner
            0, // group
            1, // links
            0, // time of change
            content.len() as u32,
            0, // device the file is on
            0,
            device.0,
            device.1,
            name.len() as u32 + 1,
            0, // check sum, not used by this format
        ];
        self.bytes.extend_from_slice(b"070701");
        for f in fields {
            self.bytes.extend_from_slice(format!("{f:08X}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    /// cpio did not learn the format from this file.
    #[test]
    fn cpio_lists_and_unpacks_the_archive() {
        let mut i = Initramfs::default();
        i.directory("/lab");
        i.file("/lab/odd", 0o644, b"12345");
        i.file("/init", 0o755, &[7; 4096]);
        i.link("/lab/again", "odd");
        let bytes = i.finish();
        let dir = tempfile::tempdir().unwrap();
        let Ok(mut child) = Command::new("cpio")
            .args(["-id", "--quiet"])
            .current_dir(dir.path())
            .stdin(Stdio::piped())
            .spawn()
        else {
            println!("SKIPPED: cpio is not installed");
            return;
        };
        child.stdin.take().unwrap().write_all(&bytes).unwrap();
        assert!(child.wait().unwrap().success());
        assert_eq!(std::fs::read(dir.path().join("lab/odd")).unwrap(), b"12345");
        assert_eq!(std::fs::read(dir.path().join("init")).unwrap(), [7; 4096]);
        assert_eq!(std::fs::read(dir.path().join("lab/again")).unwrap(), b"12345");
    }
}
