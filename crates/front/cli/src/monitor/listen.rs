//! `--listen`: clients on a Unix or TCP socket. Each has a stream and a session of its own.
//!
//! Clients do not share a history, since nobody knows in which order their events happened. So bad input from one
//! client has no effect on the others. At most [`MAX_CLIENTS`] clients are served at a time. Others wait until one of
//! them leaves. A client that sends nothing for the time of `--idle` is closed, so that idle clients do not keep others
//! out for ever.
//!
//! SIGINT and SIGTERM end the stream of every client at its current position. The verdicts up to there are printed, and
//! the run ends.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
#[cfg(unix)]
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use history::visible;

use super::Trouble;
use super::record::Record;
use super::session::{Context, Messages, Session};
use super::source::{self, Chunk, Lines, Piece, Source};
use crate::BAD;
use crate::check::Tally;
use crate::flags::Monitor;
use crate::output::Palette;

/// How many clients are served at a time. The help of `--listen` also says this number.
const MAX_CLIENTS: usize = 64;
/// How often the thread of a silent client checks whether the run is over.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// A report from the thread of a client.
enum Report {
    Messages(Messages),
    /// A client has left.
    Left {
        /// The verdicts on its histories.
        session: Tally,
        /// Whether the run ends with this client.
        is_over: bool,
    },
    /// No more clients can come, because of this error.
    Failed(io::Error),
    /// A signal asks for the end of the run.
    Stop,
}

/// What the threads of a run share.
#[derive(Default)]
struct Shared {
    /// How many clients have come.
    clients: AtomicU64,
    /// Whether a signal has asked for the end.
    is_stopped: AtomicBool,
}

/// The socket on which clients connect.
enum Listener {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(UnixListener, PathBuf),
}

/// The connection of a client.
enum Client {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

impl Client {
    fn set_read_timeout(&self, timeout: Duration) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_read_timeout(Some(timeout)),
            #[cfg(unix)]
            Self::Unix(stream) => stream.set_read_timeout(Some(timeout)),
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            #[cfg(unix)]
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

/// The bytes of a client, until it has sent all, is idle for too long, or the run ends.
struct ClientStream {
    client: Client,
    /// How long the client may send nothing. Zero means for ever.
    idle: Duration,
    last: Instant,
    is_closed: bool,
    shared: Arc<Shared>,
}

impl Source for ClientStream {
    fn read_chunk(&mut self, buffer: &mut [u8]) -> io::Result<Chunk> {
        while !self.is_closed && !self.shared.is_stopped.load(Ordering::Relaxed) {
            match self.client.read(buffer) {
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
                read => {
                    self.last = Instant::now();
                    return read.map(Chunk::Bytes);
                }
            }
            if !self.idle.is_zero() && self.last.elapsed() >= self.idle {
                self.is_closed = true;
                return Ok(Chunk::Notice(format!(
                    "nothing came for {} seconds (--idle): the client is closed",
                    self.idle.as_secs()
                )));
            }
        }
        Ok(Chunk::Bytes(0))
    }
}

impl Listener {
    /// Opens `unix:PATH`, `HOST:PORT`, or a port of the loopback address.
    fn open(address: &str) -> io::Result<Self> {
        if let Some(path) = address.strip_prefix("unix:") {
            return Self::unix(Path::new(path));
        }
        let address = match address.strip_prefix(':').unwrap_or(address) {
            port if port.parse::<u16>().is_ok() => format!("127.0.0.1:{port}"),
            _ => address.to_owned(),
        };
        TcpListener::bind(address).map(Self::Tcp)
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

    fn name(&self) -> String {
        match self {
            Self::Tcp(listener) => listener.local_addr().map_or_else(|_| "?".to_owned(), |address| address.to_string()),
            #[cfg(unix)]
            Self::Unix(_, path) => format!("unix:{}", path.display()),
        }
    }

    fn accept(&self) -> io::Result<Client> {
        match self {
            Self::Tcp(listener) => listener.accept().map(|(client, _)| Client::Tcp(client)),
            #[cfg(unix)]
            Self::Unix(listener, _) => listener.accept().map(|(client, _)| Client::Unix(client)),
        }
    }
}

/// Serves clients until the wanted number of clients has left, or until a violation or a signal ends the run.
pub(super) fn run(
    flags: &Monitor,
    address: &str,
    print: &mut dyn FnMut(Messages) -> io::Result<()>,
) -> Result<Tally, Trouble> {
    let bad = |error: &dyn std::fmt::Display| Trouble::Bad(format!("{address}: {error}"));
    Session::new(&source::options(flags)).map_err(|error| bad(&error))?;
    let (reports, received) = channel();
    let shared = Arc::new(Shared::default());
    let socket = address.strip_prefix("unix:").map(PathBuf::from);
    let listener = Listener::open(address).map_err(|error| bad(&error))?;
    let handled = handle_signals(Arc::clone(&shared), reports.clone(), socket.clone());
    let _ = writeln!(io::stderr(), "seriatim monitor: listening on {}", visible(&listener.name()));
    let mut tally = Tally::default();
    let ended = handled.map_err(|error| bad(&error)).and_then(|()| {
        let (flags_, shared_) = (Arc::new(flags.clone()), Arc::clone(&shared));
        // This thread may wait for a client that never comes, so the run does not wait for the thread.
        thread::spawn(move || accept(&listener, &flags_, &shared_, &reports));
        serve(&received, flags, &shared, print, &mut tally)
    });
    if let Some(path) = socket {
        let _ = std::fs::remove_file(path);
    }
    ended.map(|()| tally)
}

/// Handles signals. The first signal asks for the end of the run. The second ends the process.
fn handle_signals(shared: Arc<Shared>, reports: Sender<Report>, socket: Option<PathBuf>) -> Result<(), ctrlc::Error> {
    ctrlc::set_handler(move || {
        if shared.is_stopped.swap(true, Ordering::Relaxed) {
            if let Some(path) = &socket {
                let _ = std::fs::remove_file(path);
            }
            std::process::exit(BAD.into());
        }
        let _ = reports.send(Report::Stop);
    })
}

/// Prints what the sessions of the clients report.
fn serve(
    received: &Receiver<Report>,
    flags: &Monitor,
    shared: &Shared,
    print: &mut dyn FnMut(Messages) -> io::Result<()>,
    tally: &mut Tally,
) -> Result<(), Trouble> {
    let mut left = 0;
    let mut awaited = flags.clients;
    while awaited.is_none_or(|clients| left < clients) {
        match received.recv() {
            Ok(Report::Messages(messages)) => print(messages).map_err(Trouble::Output)?,
            Ok(Report::Left { session, is_over }) => {
                tally.add(session);
                left += 1;
                if is_over {
                    break;
                }
            }
            Ok(Report::Failed(error)) => return Err(Trouble::Bad(format!("no more clients can come: {error}"))),
            // The clients that have come see that the run is over, and leave.
            Ok(Report::Stop) => awaited = Some(shared.clients.load(Ordering::SeqCst)),
            Err(_) => break,
        }
    }
    Ok(())
}

/// Accepts clients, and starts a thread for each.
fn accept(listener: &Listener, flags: &Arc<Monitor>, shared: &Arc<Shared>, reports: &Sender<Report>) {
    let served = Arc::new((Mutex::new(0), Condvar::new()));
    for number in 1.. {
        if flags.clients.is_some_and(|clients| number > clients) {
            return;
        }
        let (count, left) = &*served;
        let guard = count.lock().unwrap_or_else(PoisonError::into_inner);
        let mut guard = left.wait_while(guard, |count| *count >= MAX_CLIENTS).unwrap_or_else(PoisonError::into_inner);
        *guard += 1;
        drop(guard);
        let client =
            match listener.accept().and_then(|client| client.set_read_timeout(STOP_CHECK_INTERVAL).map(|()| client)) {
                Ok(client) => client,
                Err(error) => {
                    let _ = reports.send(Report::Failed(error));
                    return;
                }
            };
        shared.clients.store(number, Ordering::SeqCst);
        let idle = Duration::from_secs(flags.idle);
        let stream = ClientStream { client, idle, last: Instant::now(), is_closed: false, shared: Arc::clone(shared) };
        let (flags, reports, served) = (Arc::clone(flags), reports.clone(), Arc::clone(&served));
        thread::spawn(move || {
            let (session, is_over) = serve_client(&flags, number, stream, &reports);
            let _ = reports.send(Report::Left { session, is_over });
            let (count, left) = &*served;
            *count.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
            left.notify_one();
        });
    }
}

/// Serves one client to its end. Returns its tally, and whether the whole run is over.
fn serve_client(flags: &Monitor, number: u64, stream: ClientStream, reports: &Sender<Report>) -> (Tally, bool) {
    let label = format!("client {number}");
    let refuse = |message: String| {
        let messages = Messages { err: format!("{label}: {}\n", visible(&message)), ..Messages::default() };
        let _ = reports.send(Report::Messages(messages));
        (Tally { bad: 1, ..Tally::default() }, false)
    };
    let mut session = match Session::new(&source::options(flags)) {
        Ok(session) => session,
        Err(error) => return refuse(error.to_string()),
    };
    let mut record = match Record::open(flags, 0) {
        Ok(record) => record,
        Err(error) => return refuse(error.to_string()),
    };
    let (out, err) = (Palette::stdout(), Palette::stderr());
    let mut context = Context { flags, label: label.clone(), out, err, record: &mut record, is_endless: true };
    let mut lines = Lines::of_client(stream);
    loop {
        let mut messages = Messages::default();
        let is_over = match lines.next() {
            Piece::Lines(lines) => session.take(&mut context, &lines, &mut messages).is_break(),
            Piece::Nothing => false,
            Piece::FromStart { notice, .. } | Piece::Notice(notice) => {
                messages.err = format!("{label}: {notice}\n");
                false
            }
            Piece::End { cut } => {
                session.finish(&mut context, &cut, &mut messages);
                true
            }
            Piece::Failed(message) => {
                let _ = reports.send(Report::Messages(messages));
                return refuse(message);
            }
        };
        let _ = reports.send(Report::Messages(messages));
        if is_over {
            let tally = session.tally();
            // A bad line ends the stream of its client. A violation ends the run.
            return (tally, tally.violations > 0 && !flags.keep_going);
        }
    }
}
