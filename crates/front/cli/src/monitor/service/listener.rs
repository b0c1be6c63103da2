//! Sockets: where clients connect, and their connections. TCP and Unix sockets look the same behind this module.
//!
//! Nobody is asked who he is. So an address that other machines can reach is refused, unless `--allow-remote` says so.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, ToSocketAddrs};
#[cfg(unix)]
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use crate::monitor::source::{Item, Pieces, Received};

/// The size of a piece that is read from a client, in bytes.
const PIECE_SIZE: usize = 64 << 10;
/// How long a write to a client may wait. A client that does not read must not keep its own lines waiting.
const WRITING: Duration = Duration::from_millis(1);

/// A socket on which clients connect.
pub(crate) enum Listener {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(UnixListener, PathBuf),
}

/// The connection of a client.
pub(crate) enum Connection {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

impl Listener {
    /// Opens `unix:PATH`, `HOST:PORT`, or a port of the loopback address.
    pub(crate) fn open(address: &str, is_remote_allowed: bool) -> io::Result<Self> {
        match address.strip_prefix("unix:") {
            Some(path) => Self::unix(Path::new(path)),
            None => tcp(address, is_remote_allowed).map(Self::Tcp),
        }
    }

    #[cfg(unix)]
    fn unix(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::FileTypeExt;
        let is_socket = || std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
        match UnixListener::bind(path) {
            // A monitor that was killed leaves its socket behind. Any other file belongs to somebody else.
            Err(error)
                if error.kind() == io::ErrorKind::AddrInUse && is_socket() && UnixStream::connect(path).is_err() =>
            {
                std::fs::remove_file(path)?;
                UnixListener::bind(path)
            }
            other => other,
        }
        .map(|listener| Self::Unix(listener, path.to_owned()))
    }

    #[cfg(not(unix))]
    fn unix(_: &Path) -> io::Result<Self> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this system has no Unix sockets"))
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Self::Tcp(listener) => name(listener),
            #[cfg(unix)]
            Self::Unix(_, path) => format!("unix:{}", path.display()),
        }
    }

    /// The file of the socket.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        match self {
            Self::Tcp(_) => None,
            #[cfg(unix)]
            Self::Unix(_, path) => Some(path.clone()),
        }
    }

    pub(crate) fn accept(&self) -> io::Result<Connection> {
        match self {
            Self::Tcp(listener) => listener.accept().map(|(client, _)| Connection::Tcp(client)),
            #[cfg(unix)]
            Self::Unix(listener, _) => listener.accept().map(|(client, _)| Connection::Unix(client)),
        }
    }
}

/// Listens on `HOST:PORT`, or on a port of the loopback address.
pub(crate) fn tcp(address: &str, is_remote_allowed: bool) -> io::Result<TcpListener> {
    let address = match address.strip_prefix(':').unwrap_or(address) {
        port if port.parse::<u16>().is_ok() => format!("127.0.0.1:{port}"),
        _ => address.to_owned(),
    };
    let resolved: Vec<_> = address.to_socket_addrs()?.collect();
    if !is_remote_allowed && resolved.iter().any(|it| !it.ip().to_canonical().is_loopback()) {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "other machines could reach this address, and nobody is asked who he is: use a port alone, or \
             --allow-remote",
        ));
    }
    TcpListener::bind(&*resolved)
}

/// The address of a socket.
pub(crate) fn name(listener: &TcpListener) -> String {
    listener.local_addr().map_or_else(|_| "?".to_owned(), |address| address.to_string())
}

impl Connection {
    /// Another handle of the connection, whose writes wait for [`WRITING`] at most.
    pub(crate) fn writer(&self) -> io::Result<Self> {
        let clone = match self {
            Self::Tcp(stream) => {
                stream.set_nodelay(true)?;
                Self::Tcp(stream.try_clone()?)
            }
            #[cfg(unix)]
            Self::Unix(stream) => Self::Unix(stream.try_clone()?),
        };
        clone.set_write_timeout(WRITING)?;
        Ok(clone)
    }

    pub(crate) fn set_write_timeout(&self, timeout: Duration) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_write_timeout(Some(timeout)),
            #[cfg(unix)]
            Self::Unix(stream) => stream.set_write_timeout(Some(timeout)),
        }
    }

    pub(crate) fn set_read_timeout(&self, timeout: Duration) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_read_timeout(Some(timeout)),
            #[cfg(unix)]
            Self::Unix(stream) => stream.set_read_timeout(Some(timeout)),
        }
    }

    /// Says that nothing more will be written.
    pub(crate) fn end(&self) {
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Write),
            #[cfg(unix)]
            Self::Unix(stream) => stream.shutdown(Shutdown::Write),
        };
    }

    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            #[cfg(unix)]
            Self::Unix(stream) => stream.read(buffer),
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            #[cfg(unix)]
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    #[cfg(unix)]
    fn unread(&self) -> u64 {
        match self {
            Self::Tcp(stream) => rustix::io::ioctl_fionread(stream),
            Self::Unix(stream) => rustix::io::ioctl_fionread(stream),
        }
        .unwrap_or(0)
    }

    #[cfg(not(unix))]
    fn unread(&self) -> u64 {
        0
    }
}

/// What a client sends, in pieces. It has one buffer for all of them, so that a client costs little memory.
pub(crate) struct Incoming {
    connection: Connection,
    buffer: Vec<u8>,
}

impl Incoming {
    pub(crate) fn new(connection: Connection) -> Self {
        Self { connection, buffer: vec![0; PIECE_SIZE] }
    }
}

impl Pieces for Incoming {
    fn next_within(&mut self, wait: Duration) -> Result<Received, RecvTimeoutError> {
        // A timeout of zero would mean to wait for ever.
        if let Err(error) = self.connection.set_read_timeout(wait.max(WRITING)) {
            return Ok(Err(error));
        }
        match self.connection.read(&mut self.buffer) {
            Ok(0) => Err(RecvTimeoutError::Disconnected),
            Ok(count) => Ok(Ok(Item::Bytes(self.buffer[..count].to_vec()))),
            // A client may end without closing its connection. What it has sent counts.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Err(RecvTimeoutError::Disconnected),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted => {
                    Err(RecvTimeoutError::Timeout)
                }
                _ => Ok(Err(error)),
            },
        }
    }

    fn waiting(&self) -> u64 {
        self.connection.unread()
    }
}
