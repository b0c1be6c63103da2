//! Runs a workload against a real database, and records what its clients saw.
//!
//! Each client is a thread with a connection of its own, and a session of the history. It does one transaction, or one
//! operation, after the other. The record never says more than is known:
//! - A transaction begins before its first byte is sent, and ends after the last byte of the answer was read. Events
//!   are in the order in which they took one lock, so what is before in the history was before in time.
//! - What the database refused did not happen: `abort`, `fail`.
//! - If the connection breaks, or the answer does not come in time, after a commit was sent, nobody knows whether it
//!   happened: `info`. Before that, nothing has happened.
//!
//! The keys are new ones for every run, with a name of its own, and are deleted in the end. Every write has a value of
//! its own, so it is always clear which write a read is from.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! let url = "postgres://me@localhost/test".parse()?;
//! let config = probe::ProbeConfig { duration: Duration::from_secs(10), ..probe::ProbeConfig::new(url) };
//! let report = probe::run(&config)?;
//! println!("{} transactions were committed", report.counts.committed);
//! # Ok::<(), probe::ProbeError>(())
//! ```

mod base64;
mod etcd;
mod plan;
mod postgres;
mod record;
mod redis;
mod scram;
mod url;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use history::History;
use thiserror::Error;
use workload::random::SplitMix64;

pub use plan::Workload;
pub use record::Endings;
pub use url::{Scheme, Url};

use plan::{Planner, Task};
use record::Recorder;

/// The isolation level that transactions ask for. Only PostgreSQL has a choice.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum DatabaseIsolation {
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

impl DatabaseIsolation {
    /// Every level.
    pub const ALL: [Self; 3] = [Self::ReadCommitted, Self::RepeatableRead, Self::Serializable];

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadCommitted => "read-committed",
            Self::RepeatableRead => "repeatable-read",
            Self::Serializable => "serializable",
        }
    }

    /// The level of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }
}

/// What to run.
#[derive(Clone, Debug)]
pub struct ProbeConfig {
    /// The database.
    pub url: Url,
    /// What the clients do.
    pub workload: Workload,
    /// The isolation level of their transactions.
    pub isolation: DatabaseIsolation,
    /// How many clients there are.
    pub clients: u32,
    /// How long they run.
    pub duration: Duration,
    /// How many keys they use at a time.
    pub keys: u32,
    /// How many operations a transaction has on average.
    pub length: u32,
    /// How many of a hundred operations write.
    pub writes: u32,
    /// How long a client waits for an answer before it gives up on it.
    pub timeout: Duration,
    /// Where the random choices start. What happens also depends on time, so the same seed gives different histories.
    pub seed: u64,
}

impl ProbeConfig {
    /// Eight clients on eight keys of this database, for ten seconds.
    pub const fn new(url: Url) -> Self {
        Self {
            url,
            workload: Workload::Register,
            isolation: DatabaseIsolation::Serializable,
            clients: 8,
            duration: Duration::from_secs(10),
            keys: 8,
            length: 4,
            writes: 50,
            timeout: Duration::from_secs(5),
            seed: 0,
        }
    }
}

/// What a run gave.
#[derive(Debug)]
pub struct ProbeReport {
    /// The history, with the recorded times in nanoseconds after the beginning.
    pub history: History,
    /// How the transactions or operations ended.
    pub counts: Endings,
    /// How long the clients ran.
    pub elapsed: Duration,
    /// How many transactions read all accounts of the bank and found another sum than was there in the beginning.
    pub wrong_sums: u64,
}

/// Why nothing was recorded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// The address of the database is wrong.
    #[error("{0}")]
    Url(String),
    /// The database does not have this workload.
    #[error("{scheme} does not have the workload {}", .workload.name(), scheme = .scheme.name())]
    Workload {
        /// The kind of database.
        scheme: Scheme,
        /// The workload.
        workload: Workload,
    },
    /// The database cannot be reached, or refuses the first commands.
    #[error("{0}")]
    Database(String),
}

/// Why an attempt gave no result.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The database says that it did not happen. The connection is fine.
    Refused(String),
    /// The connection is lost. If the attempt was to change something, nobody knows whether it did.
    Lost(String),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Lost(error.to_string())
    }
}

/// How a transaction ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Committed,
    Aborted,
    Unknown,
}

/// A connection to a database.
pub(crate) trait Session {
    /// Does a task. What was done goes to the task. `false` if the connection is lost.
    fn perform(&mut self, task: &mut Task) -> (End, bool);
}

/// A database.
pub(crate) trait Database: Sync {
    /// Makes the keys.
    fn set_up(&self) -> Result<(), Trouble>;
    /// A new connection.
    fn connect(&self) -> Result<Box<dyn Session>, Trouble>;
    /// Deletes the keys.
    fn clean_up(&self) -> Result<(), Trouble>;
}

/// Runs a workload, and records it.
pub fn run(config: &ProbeConfig) -> Result<ProbeReport, ProbeError> {
    let scheme = config.url.scheme;
    if !scheme.has(config.workload) {
        return Err(ProbeError::Workload { scheme, workload: config.workload });
    }
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let name = format!("seriatim_probe_{}_{}", std::process::id(), now.as_micros());
    let database: Box<dyn Database> = match scheme {
        Scheme::Postgres => Box::new(postgres::Postgres::new(config, name)),
        Scheme::Redis => Box::new(redis::Redis::new(config, name)),
        Scheme::Etcd => Box::new(etcd::Etcd::new(config, name)),
    };
    let told = |trouble| match trouble {
        Trouble::Refused(message) | Trouble::Lost(message) => ProbeError::Database(message),
    };
    database.set_up().map_err(told)?;
    let planner = Planner::new(config);
    let recorder = Recorder::new();
    let is_over = AtomicBool::new(false);
    let begin = Instant::now();
    thread::scope(|scope| {
        for client in 0..config.clients {
            let (database, planner, recorder, is_over) = (&*database, &planner, &recorder, &is_over);
            scope.spawn(move || be_client(client, config, database, planner, recorder, is_over));
        }
        thread::sleep(config.duration);
        is_over.store(true, Relaxed);
    });
    let elapsed = begin.elapsed();
    // The database may be down by now. Then its keys stay.
    let _ = database.clean_up();
    let (history, counts, wrong_sums) = recorder.finish(config);
    Ok(ProbeReport { history, counts, elapsed, wrong_sums })
}

/// Does one task after the other until the time is over. Connects again when the connection is lost.
fn be_client(
    client: u32,
    config: &ProbeConfig,
    database: &dyn Database,
    planner: &Planner,
    recorder: &Recorder,
    is_over: &AtomicBool,
) {
    let mut random = SplitMix64::new(config.seed ^ SplitMix64::new(u64::from(client)).next());
    let mut session: Option<Box<dyn Session>> = None;
    let mut memory = plan::ClientMemory::default();
    let begin = Instant::now();
    // A client that can never connect ends with the others.
    while !is_over.load(Relaxed) && begin.elapsed() < config.duration + config.timeout {
        let Some(open) = &mut session else {
            match database.connect() {
                Ok(connected) => session = Some(connected),
                Err(_) => thread::sleep(Duration::from_millis(20)),
            }
            continue;
        };
        let mut task = planner.task(&mut random, &mut memory);
        recorder.begin(client, &task);
        let (end, is_connected) = open.perform(&mut task);
        memory.learn(&task, end);
        recorder.end(client, task, end);
        if !is_connected {
            session = None;
        }
    }
}
