//! The service: `seriatim monitor --listen`, for many clients at once and for a long time; and what `--metrics` and
//! `--log` say of any run.
//!
//! | file | about |
//! | --- | --- |
//! | [`listener`] | sockets and connections |
//! | [`client`] | one client, from its first line to its last |
//! | [`answers`] | how a client says its name, and what it is told |
//! | [`board`] | the numbers, by client and in all |
//! | [`web`] | the address of `--metrics`: numbers, health, the live page |
//! | [`log`], [`signals`] | what is said besides verdicts; SIGTERM, SIGHUP |
//!
//! The events go the way of standard input: each stream has a [`Follower`], which checks, prints and saves. A client
//! has a thread, which reads its socket only when it has checked what it read before. So a client that is too fast
//! waits in its own writes, nothing is dropped, and a client costs a piece, a line and the state of its stream.
//!
//! Invariant: a line that was acknowledged to a named client is in a checkpoint, and what it showed was printed. So
//! after any kill each line counts once, if the client sends again what was not acknowledged.

pub(super) mod answers;
pub(super) mod board;
mod client;
pub(super) mod listener;
pub(super) mod log;
pub(super) mod signals;
pub(super) mod web;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::Trouble;
use super::follower::{Follower, Kept};
use super::outside::Outside;
use super::session::Session;
use super::source;
use crate::check::Tally;
use client::{Left, lock};
use listener::{Connection, Listener};
use log::Level;

/// How often a thread that waits looks whether the run is over, or something is to be saved.
pub(super) const TICK: Duration = Duration::from_millis(100);
/// How long to wait if no client can be accepted, for example since there are too many open files.
const ACCEPTING_AGAIN: Duration = Duration::from_millis(500);
/// How many named streams a directory of checkpoints may hold. Their clients are not known; they must not fill the disk
/// with files.
const MOST_STREAMS: u64 = 100_000;

/// The name of the shared stream in messages. No client can have it.
const SHARED: &str = "shared history";

/// What the threads of clients share.
struct Service {
    outside: Arc<Outside>,
    /// The stream of all clients.
    shared: Option<Arc<Mutex<Follower>>>,
    /// The names of the clients that are here.
    names: Mutex<BTreeSet<String>>,
    /// How many clients are here, and a signal that one has left.
    here: (Mutex<u32>, Condvar),
    /// The directory of the checkpoints, how many streams it holds, and its lock.
    directory: Option<PathBuf>,
    streams: AtomicU64,
    _lock: Option<fs::File>,
}

impl Service {
    fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Whether every client must say its name: how many lines of it a checkpoint holds is known by its name.
    fn needs_names(&self) -> bool {
        self.is_shared() && self.directory.is_some()
    }

    fn names(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The stream of a client: its own, or that of all.
    fn open(&self, label: &str, name: Option<&str>) -> Result<Arc<Mutex<Follower>>, Trouble> {
        if let Some(shared) = &self.shared {
            return Ok(Arc::clone(shared));
        }
        let kept = match (&self.directory, name) {
            (Some(directory), Some(name)) => self.kept(directory, name)?,
            _ => Kept::default(),
        };
        Ok(Arc::new(Mutex::new(Follower::open(&self.outside, label, &kept)?)))
    }

    /// Where the stream of that name keeps its state.
    fn kept(&self, directory: &Path, name: &str) -> Result<Kept, Trouble> {
        let checkpoint = directory.join(format!("{name}.checkpoint"));
        // A client that left before anything was saved was counted, too. So at the limit the files are counted again.
        if !checkpoint.exists()
            && self.streams.fetch_add(1, Ordering::Relaxed) >= MOST_STREAMS
            && self.count(directory)? >= MOST_STREAMS
        {
            return Err(Trouble::of(directory, format!("there are {MOST_STREAMS} streams: remove old ones")));
        }
        let record = self.outside.flags.certificate.as_ref().map(|_| directory.join(format!("{name}.hist")));
        Ok(Kept { checkpoint: Some(checkpoint), record })
    }

    /// Counts the streams in the directory anew.
    fn count(&self, directory: &Path) -> Result<u64, Trouble> {
        let streams = streams(directory).map_err(|error| Trouble::of(directory, error))?;
        self.streams.store(streams, Ordering::Relaxed);
        Ok(streams)
    }

    /// Waits until there is a place, and takes it if `is_taken`.
    fn wait_for_place(&self, is_taken: bool) {
        let (count, left) = &self.here;
        let most = self.outside.flags.max_clients;
        let guard = count.lock().unwrap_or_else(PoisonError::into_inner);
        let mut guard = left.wait_while(guard, |count| *count >= most).unwrap_or_else(PoisonError::into_inner);
        *guard += u32::from(is_taken);
    }

    fn leave(&self) {
        *self.here.0.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.here.1.notify_all();
    }

    fn is_empty(&self) -> bool {
        *self.here.0.lock().unwrap_or_else(PoisonError::into_inner) == 0
    }
}

/// Serves clients until the wanted number of clients has left, or until a violation or a signal ends the run.
pub(super) fn run(outside: &Arc<Outside>) -> Result<Tally, Trouble> {
    let flags = &outside.flags;
    Session::new(&source::options(flags)).map_err(|error| Trouble::Bad(error.to_string()))?;
    let (lock_file, streams) = match &flags.checkpoint {
        None => (None, 0),
        Some(directory) => {
            let (file, streams) = own(directory).map_err(|error| Trouble::of(directory, error))?;
            (Some(file), streams)
        }
    };
    let mut service = Service {
        outside: Arc::clone(outside),
        shared: None,
        names: Mutex::default(),
        here: (Mutex::new(0), Condvar::new()),
        directory: flags.checkpoint.clone(),
        streams: AtomicU64::new(streams),
        _lock: lock_file,
    };
    if flags.shared {
        let kept = service.directory.as_deref().map(|directory| service.kept(directory, "shared")).transpose()?;
        let follower = Follower::open(outside, SHARED, &kept.unwrap_or_default())?;
        if follower.is_over() {
            return Err(Trouble::Bad(format!("{SHARED}: it is over; use another directory for its --checkpoint")));
        }
        service.shared = Some(Arc::new(Mutex::new(follower)));
    }
    let mut listeners = Vec::new();
    let opened = flags.listen.iter().try_for_each(|address| {
        let listener = Listener::open(address, flags.allow_remote);
        listeners.push(listener.map_err(|error| Trouble::Bad(format!("{address}: {error}")))?);
        Ok(())
    });
    let sockets: Vec<PathBuf> = listeners.iter().filter_map(Listener::path).collect();
    let ended = opened.and_then(|()| {
        signals::handle(outside, sockets.clone()).map_err(|error| Trouble::Bad(error.to_string()))?;
        for listener in &listeners {
            outside.log.say(Level::Info, "listening", None, &format!("listening on {}", listener.name()));
        }
        serve(&Arc::new(service), listeners)
    });
    signals::remove(&sockets);
    ended
}

/// Makes a directory for checkpoints, and locks it. Returns the lock, and how many streams it holds.
fn own(directory: &Path) -> io::Result<(fs::File, u64)> {
    fs::create_dir_all(directory)?;
    let lock = fs::File::create(directory.join(".lock"))?;
    crate::check::state::lock_file(&lock)?;
    Ok((lock, streams(directory)?))
}

/// How many streams a directory holds.
fn streams(directory: &Path) -> io::Result<u64> {
    let mut streams = 0;
    for entry in fs::read_dir(directory)? {
        streams += u64::from(entry?.path().extension().is_some_and(|it| it == "checkpoint"));
    }
    Ok(streams)
}

fn serve(service: &Arc<Service>, listeners: Vec<Listener>) -> Result<Tally, Trouble> {
    let (reports, received) = channel();
    for listener in listeners {
        let (service, reports) = (Arc::clone(service), reports.clone());
        // This thread may wait for a client that never comes, so the run does not wait for the thread.
        thread::spawn(move || accept(&listener, &service, &reports));
    }
    let mut tally = until_the_end(service, &received)?;
    if let Some(shared) = &service.shared {
        let (_, row) = service.outside.board.enter(SHARED);
        let mut follower = lock(shared);
        // A stream that is saved can go on. Otherwise it ends here.
        if !follower.is_kept() && !follower.is_over() {
            follower.finish(b"", &row)?;
        }
        if follower.wait().is_some() && !follower.save() {
            tally.bad += 1;
        }
        tally.add(follower.tally());
    }
    Ok(tally)
}

/// Waits until the run is over, and all clients have left.
fn until_the_end(service: &Service, received: &Receiver<Left>) -> Result<Tally, Trouble> {
    let outside = &service.outside;
    let mut tally = Tally::default();
    let mut left = 0;
    loop {
        let is_last = outside.is_stopped() && service.is_empty();
        match received.recv_timeout(if is_last { Duration::ZERO } else { TICK }) {
            Ok(Left { trouble: Some(trouble), .. }) => return Err(trouble),
            Ok(client) => {
                tally.add(client.tally);
                left += 1;
                // A violation ends the run, and the streams of the others with it.
                if client.is_over {
                    outside.stop();
                }
                if outside.flags.clients.is_some_and(|clients| left >= clients) {
                    return Ok(tally);
                }
            }
            Err(RecvTimeoutError::Timeout) if !is_last => {
                if let Some(shared) = &service.shared {
                    lock(shared).save_if_due();
                }
            }
            Err(_) => return Ok(tally),
        }
    }
}

/// Accepts clients, and starts a thread for each.
fn accept(listener: &Listener, service: &Arc<Service>, reports: &Sender<Left>) {
    loop {
        // While all places are taken, who comes waits in the queue of the system. Of several listeners each may have
        // let in one client for the last place; it waits here.
        service.wait_for_place(false);
        match listener.accept() {
            Ok(_) if service.outside.is_stopped() => return,
            Ok(client) => {
                service.wait_for_place(true);
                begin(service, client, reports);
            }
            Err(error) => {
                let message = format!("{}: no client can come: {error}", listener.name());
                service.outside.log.say(Level::Error, "accept-failed", None, &message);
                thread::sleep(ACCEPTING_AGAIN);
            }
        }
    }
}

fn begin(service: &Arc<Service>, client: Connection, reports: &Sender<Left>) {
    let (of_thread, reports) = (Arc::clone(service), reports.clone());
    // Clients are numbered in the order in which they come.
    let (number, row) = service.outside.board.enter("");
    let begun = thread::Builder::new().spawn(move || {
        let left = client::serve(&of_thread, client, number, row);
        let _ = reports.send(left);
        of_thread.leave();
    });
    if let Err(error) = begun {
        service.outside.board.leave(number);
        service.leave();
        service.outside.log.say(Level::Error, "accept-failed", None, &format!("no client can come: {error}"));
    }
}
