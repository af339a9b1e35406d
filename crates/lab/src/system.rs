//! What only an operating system has. The page that reads is built without one
//! (`wasm32-wasip1`), and there no guest is started.

#[cfg(not(unix))]
pub(crate) use none::*;
#[cfg(unix)]
pub(crate) use unix::*;

#[cfg(unix)]
mod unix {
    use std::fs::Metadata;
    use std::io;
    use std::os::unix::fs::PermissionsExt;
    pub(crate) use std::os::unix::fs::symlink;
    pub(crate) use std::os::unix::net::UnixStream as Socket;
    use std::path::Path;
    use std::time::Duration;

    /// The socket at `path`, of which a read waits no longer than `limit`.
    pub(crate) fn connect(path: &Path, limit: Duration) -> io::Result<Socket> {
        let socket = Socket::connect(path)?;
        socket.set_read_timeout(Some(limit))?;
        Ok(socket)
    }

    /// Who may do what with a file.
    pub(crate) fn permissions(of: &Metadata) -> u32 {
        of.permissions().mode() & 0o7777
    }
}

#[cfg(not(unix))]
mod none {
    pub(crate) use std::fs::File as Socket;
    use std::fs::Metadata;
    use std::io;
    use std::path::Path;
    use std::time::Duration;

    pub(crate) fn connect(_: &Path, _: Duration) -> io::Result<Socket> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn permissions(_: &Metadata) -> u32 {
        0o755
    }

    pub(crate) fn symlink(_: impl AsRef<Path>, _: impl AsRef<Path>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
