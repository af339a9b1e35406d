//! File systems: which of them a child may sync, and which nobody but a server can.

/// A line of `/proc/self/mountinfo` (fs/proc_namespace.c:show_mountinfo, 6.12).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Number of the mount.
    pub id: u64,
    /// Number of the mount that it lies on.
    pub parent: u64,
    /// Major and minor number of its superblock's device.
    pub device: String,
    /// Where it is.
    pub at: String,
    /// Its type, such as `ext4`.
    pub kind: String,
    /// The file system can be written to, whatever the mount says.
    pub writable: bool,
}

/// A file system that is left to the kernel's own sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Where it is.
    pub at: String,
    /// Its type.
    pub kind: String,
    /// Why.
    pub why: Why,
}

/// Why a file system is left to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// A server writes, and it may be frozen or away.
    Server,
    /// The way to it leads through a file system of a server.
    Below,
    /// It could not be opened in time, or another lies on top of it.
    NotOpened,
}

/// Types whose sync waits for a program or another machine.
const SERVERS: [&str; 21] = [
    "9p",
    "afs",
    "autofs",
    "beegfs",
    "ceph",
    "cifs",
    "coda",
    "fuse",
    "fuseblk",
    "gfs2",
    "glusterfs",
    "lustre",
    "nfs",
    "nfs4",
    "ocfs2",
    "orangefs",
    "smb3",
    "smbfs",
    "vboxsf",
    "virtiofs",
    "vmhgfs",
];

/// Types without a block device that write to disks all the same.
const DISKLESS: [&str; 4] = ["bcachefs", "btrfs", "ubifs", "zfs"];

impl Mount {
    fn parse(line: &str) -> Option<Mount> {
        let (front, back) = line.split_once(" - ")?;
        let mut front = front.split(' ');
        let id = front.next()?.parse().ok()?;
        let parent = front.next()?.parse().ok()?;
        let device = front.next()?.to_string();
        let at = unescape(front.nth(1)?);
        let mut back = back.split(' ');
        let kind = back.next()?.to_string();
        let options = back.nth(1).unwrap_or_default();
        let writable = options.split(',').next() != Some("ro");
        Some(Mount { id, parent, device, at, kind, writable })
    }

    /// A server does its writing.
    pub(crate) fn is_served(&self) -> bool {
        SERVERS.contains(&self.kind.as_str()) || self.kind.starts_with("fuse.")
    }

    /// It writes to disks by itself.
    fn is_local(&self) -> bool {
        !self.is_served()
            && (!self.device.starts_with("0:") || DISKLESS.contains(&self.kind.as_str()))
    }
}

/// Every mount of the text; lines that are none are left out.
pub fn parse(text: &str) -> Vec<Mount> {
    text.lines().filter_map(Mount::parse).collect()
}

/// Blanks and backslashes are octal numbers (fs/seq_file.c:mangle_path).
fn unescape(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|d| d.iter().all(|b| (b'0'..=b'7').contains(b)));
        match digits.filter(|_| first == b'\\') {
            Some(d) => {
                out.push(d.iter().fold(0u8, |n, b| n.wrapping_mul(8).wrapping_add(b - b'0')));
                rest = &after[3..];
            }
            None => {
                out.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// One mount for each superblock that a child may sync, and what is left out. Those
/// that write nothing, read-only ones among them, are in neither list.
pub fn choose(mounts: &[Mount]) -> (Vec<Mount>, Vec<Skipped>) {
    let (mut chosen, mut skipped): (Vec<Mount>, Vec<Skipped>) = Default::default();
    let mut below: Vec<&Mount> = Vec::new();
    let mut served: Vec<&str> = Vec::new();
    for m in mounts.iter().filter(|m| m.writable) {
        if m.is_served() && m.kind != "autofs" && !served.contains(&m.device.as_str()) {
            served.push(&m.device);
            skipped.push(Skipped { at: m.at.clone(), kind: m.kind.clone(), why: Why::Server });
        }
        if !m.is_local() || chosen.iter().any(|c: &Mount| c.device == m.device) {
            continue;
        }
        if lies_below_a_server(m, mounts) {
            below.push(m);
        } else {
            chosen.push(m.clone());
        }
    }
    for m in below {
        let again = skipped.iter().any(|s| s.why == Why::Below && s.at == m.at);
        if !again && !chosen.iter().any(|c| c.device == m.device) {
            skipped.push(Skipped { at: m.at.clone(), kind: m.kind.clone(), why: Why::Below });
        }
    }
    (chosen, skipped)
}

/// Whether the way to `m` leads through a file system whose server may be away. An
/// automatic mount that is there already asks nobody.
fn lies_below_a_server(m: &Mount, mounts: &[Mount]) -> bool {
    let mut at = m;
    // A list that goes round in circles is no list of the kernel's.
    for _ in 0..mounts.len() {
        let Some(above) = mounts.iter().find(|p| p.id == at.parent && p.id != at.id) else {
            return false;
        };
        if above.is_served() && above.kind != "autofs" {
            return true;
        }
        at = above;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &str = "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro\n\
23 22 0:21 / /proc rw - proc proc rw\n\
24 22 0:22 / /tmp rw - tmpfs tmpfs rw\n\
25 22 8:1 /home /home rw - ext4 /dev/sda1 rw\n\
26 22 8:2 / /old ro - ext4 /dev/sda2 ro\n\
27 22 8:3 / /shown ro - xfs /dev/sda3 rw\n\
28 22 0:40 / /pool rw - btrfs /dev/sdb rw,space_cache\n\
29 22 0:41 / /net rw - nfs4 host:/x rw,vers=4.2\n\
30 29 8:17 / /net/a\\040stick rw - vfat /dev/sdb1 rw\n\
31 22 8:33 / /win rw - fuseblk /dev/sdc1 rw,user_id=0\n\
32 22 0:42 / /sftp rw - fuse.sshfs me@host: rw\n\
33 22 0:43 / /boot rw - autofs systemd-1 rw\n\
34 33 8:4 / /boot rw - vfat /dev/sda4 rw\n\
35 22 7:0 / /snap ro - squashfs /dev/loop0 ro\n\
36 22 0:50 / /over rw - overlay overlay rw,lowerdir=/a\n\
not a mount\n";

    #[test]
    fn one_mount_of_each_superblock_that_writes_to_a_disk() {
        let (chosen, skipped) = choose(&parse(INFO));
        let at: Vec<&str> = chosen.iter().map(|m| m.at.as_str()).collect();
        assert_eq!(at, ["/", "/shown", "/pool", "/boot"]);
        let skipped: Vec<(&str, Why)> = skipped.iter().map(|s| (&s.at[..], s.why)).collect();
        let server = |at| (at, Why::Server);
        let want = [server("/net"), server("/win"), server("/sftp"), ("/net/a stick", Why::Below)];
        assert_eq!(skipped, want);
    }

    #[test]
    fn a_superblock_below_a_server_is_taken_where_it_is_mounted_elsewhere_too() {
        let more = format!("{INFO}40 22 8:17 / /stick rw - vfat /dev/sdb1 rw\n");
        let (chosen, skipped) = choose(&parse(&more));
        assert!(chosen.iter().any(|m| m.at == "/stick"));
        assert!(skipped.iter().all(|s| s.why != Why::Below), "{skipped:?}");
    }

    #[test]
    fn what_is_no_list_of_mounts_gives_none() {
        for text in ["", " - ", "1 2 3 - ", "a b 8:1 / / rw - ext4 x rw", "1 1 8:1 / /x rw - "] {
            let (chosen, _) = choose(&parse(text));
            assert!(chosen.len() <= 1, "{text}: {chosen:?}");
        }
        // Mounts in a circle.
        let (chosen, _) =
            choose(&parse("1 2 8:1 / /a rw - ext4 x rw\n2 1 8:2 / /b rw - ext4 y rw"));
        assert_eq!(chosen.len(), 2);
        assert_eq!(unescape("a\\04"), "a\\04");
        assert_eq!(unescape("\\134\\777"), "\\\u{fffd}");
    }
}
