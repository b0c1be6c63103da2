//! `--listen`: clients on a Unix or TCP socket, each with a stream and a session of its own.
//!
//! Clients do not share a history: in which order their events happened, nobody could say. What one of them sends,
//! garbage included, is without effect on the others. [`CLIENTS`] are served at a time; others wait until one of them
//! leaves. A client that sends nothing for the time of `--idle` is closed, so that idle clients do not keep others out
//! for ever.
//!
//! SIGINT and SIGTERM end the stream of every client where it is: what there is to say of it is said, and the run ends.

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
use super::session::{Context, Session, Told};
use super::source::{self, Given, Lines, Piece, Source};
use crate::BAD;
use crate::check::Tally;
use crate::flags::Monitor;
use crate::output::Palette;

/// How many clients are served at a time. The help of `--listen` says it, too.
const CLIENTS: usize = 64;
/// How often a client that sends nothing is asked whether the run is over.
const GLANCE: Duration = Duration::from_millis(100);

/// What the threads of clients report.
enum Report {
    Told(Told),
    /// A client has left.
    Left {
        /// What was said of its histories.
        session: Tally,
        /// Whether that ends the run.
        is_over: bool,
    },
    /// No more clients can come.
    Failed(io::Error),
    /// A signal asks for the end.
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

/// Where clients come from.
enum Door {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(UnixListener, PathBuf),
}

/// Who came in.
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

/// What a client sends, until it has sent all, is idle for too long, or the run is to end.
struct Sent {
    client: Client,
    /// How long it may send nothing; zero for ever.
    idle: Duration,
    last: Instant,
    is_closed: bool,
    shared: Arc<Shared>,
}

impl Source for Sent {
    fn give(&mut self, buffer: &mut [u8]) -> io::Result<Given> {
        while !self.is_closed && !self.shared.is_stopped.load(Ordering::Relaxed) {
            match self.client.read(buffer) {
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
                read => {
                    self.last = Instant::now();
                    return read.map(Given::Bytes);
                }
            }
            if !self.idle.is_zero() && self.last.elapsed() >= self.idle {
                self.is_closed = true;
                return Ok(Given::Notice(format!(
                    "nothing came for {} seconds (--idle): the client is closed",
                    self.idle.as_secs()
                )));
            }
        }
        Ok(Given::Bytes(0))
    }
}

impl Door {
    /// `unix:PATH`, `HOST:PORT`, or a port of the loopback address.
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
            // A monitor that was killed leaves its socket behind. Any other file is somebody's.
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

/// Serves clients until as many as wanted have come and gone, a violation ends the run, or a signal does.
pub(super) fn run(
    flags: &Monitor,
    address: &str,
    tell: &mut dyn FnMut(Told) -> io::Result<()>,
) -> Result<Tally, Trouble> {
    let bad = |error: &dyn std::fmt::Display| Trouble::Bad(format!("{address}: {error}"));
    Session::new(&source::options(flags)).map_err(|error| bad(&error))?;
    let (reports, received) = channel();
    let shared = Arc::new(Shared::default());
    let socket = address.strip_prefix("unix:").map(PathBuf::from);
    let door = Door::open(address).map_err(|error| bad(&error))?;
    let handled = heed_signals(Arc::clone(&shared), reports.clone(), socket.clone());
    let _ = writeln!(io::stderr(), "seriatim monitor: listening on {}", visible(&door.name()));
    let mut tally = Tally::default();
    let ended = handled.map_err(|error| bad(&error)).and_then(|()| {
        let (flags_, shared_) = (Arc::new(flags.clone()), Arc::clone(&shared));
        // It may wait for a client that never comes, so nobody waits for it.
        thread::spawn(move || accept(&door, &flags_, &shared_, &reports));
        serve(&received, flags, &shared, tell, &mut tally)
    });
    if let Some(path) = socket {
        let _ = std::fs::remove_file(path);
    }
    ended.map(|()| tally)
}

/// The first signal asks for the end of the run, the second ends it.
fn heed_signals(shared: Arc<Shared>, reports: Sender<Report>, socket: Option<PathBuf>) -> Result<(), ctrlc::Error> {
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

/// Tells what the clients' sessions report.
fn serve(
    received: &Receiver<Report>,
    flags: &Monitor,
    shared: &Shared,
    tell: &mut dyn FnMut(Told) -> io::Result<()>,
    tally: &mut Tally,
) -> Result<(), Trouble> {
    let mut left = 0;
    let mut awaited = flags.clients;
    while awaited.is_none_or(|clients| left < clients) {
        match received.recv() {
            Ok(Report::Told(told)) => tell(told).map_err(Trouble::Output)?,
            Ok(Report::Left { session, is_over }) => {
                tally.add(session);
                left += 1;
                if is_over {
                    break;
                }
            }
            Ok(Report::Failed(error)) => return Err(Trouble::Bad(format!("no more clients can come: {error}"))),
            // Those who have come are told that it is over, and leave.
            Ok(Report::Stop) => awaited = Some(shared.clients.load(Ordering::SeqCst)),
            Err(_) => break,
        }
    }
    Ok(())
}

/// Lets clients in, each to a thread of its own.
fn accept(door: &Door, flags: &Arc<Monitor>, shared: &Arc<Shared>, reports: &Sender<Report>) {
    let served = Arc::new((Mutex::new(0), Condvar::new()));
    for number in 1.. {
        if flags.clients.is_some_and(|clients| number > clients) {
            return;
        }
        let (count, left) = &*served;
        let guard = count.lock().unwrap_or_else(PoisonError::into_inner);
        let mut guard = left.wait_while(guard, |count| *count >= CLIENTS).unwrap_or_else(PoisonError::into_inner);
        *guard += 1;
        drop(guard);
        let client = match door.accept().and_then(|client| client.set_read_timeout(GLANCE).map(|()| client)) {
            Ok(client) => client,
            Err(error) => {
                let _ = reports.send(Report::Failed(error));
                return;
            }
        };
        shared.clients.store(number, Ordering::SeqCst);
        let idle = Duration::from_secs(flags.idle);
        let sent = Sent { client, idle, last: Instant::now(), is_closed: false, shared: Arc::clone(shared) };
        let (flags, reports, served) = (Arc::clone(flags), reports.clone(), Arc::clone(&served));
        thread::spawn(move || {
            let (session, is_over) = attend(&flags, number, sent, &reports);
            let _ = reports.send(Report::Left { session, is_over });
            let (count, left) = &*served;
            *count.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
            left.notify_one();
        });
    }
}

/// Takes in what one client sends, to its end. Tells its tally, and whether the whole run is over.
fn attend(flags: &Monitor, number: u64, sent: Sent, reports: &Sender<Report>) -> (Tally, bool) {
    let label = format!("client {number}");
    let refuse = |message: String| {
        let told = Told { err: format!("{label}: {}\n", visible(&message)), ..Told::default() };
        let _ = reports.send(Report::Told(told));
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
    let mut lines = Lines::of_client(sent);
    loop {
        let mut told = Told::default();
        let is_over = match lines.next() {
            Piece::Lines(lines) => session.take(&mut context, &lines, &mut told).is_break(),
            Piece::Nothing => false,
            Piece::Anew { notice, .. } | Piece::Notice(notice) => {
                told.err = format!("{label}: {notice}\n");
                false
            }
            Piece::End { cut } => {
                session.finish(&mut context, &cut, &mut told);
                true
            }
            Piece::Failed(message) => {
                let _ = reports.send(Report::Told(told));
                return refuse(message);
            }
        };
        let _ = reports.send(Report::Told(told));
        if is_over {
            let tally = session.tally();
            // Garbage ends the stream of its client, a violation the run.
            return (tally, tally.violations > 0 && !flags.keep_going);
        }
    }
}
