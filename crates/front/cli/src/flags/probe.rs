//! The flags of `probe`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueHint};
use probe::{DatabaseIsolation, Url, Workload};

/// Run a workload against a real database, record what its clients see, and check it
///
/// The database is PostgreSQL, Redis or etcd. The clients use keys of their own, in a table or under a prefix with a
/// new name, and delete them in the end. What nobody knows is recorded as unknown: a connection that breaks, or an
/// answer that does not come in time, after a change was sent. The history is written to a file, and checked as `check`
/// does.
#[derive(Args)]
#[command(after_help = "Exit status: 0 consistent; 1 violation; 2 bad usage, or the database cannot be reached; 3 no \
                        violation, but some verdict is unknown.")]
pub(crate) struct Probe {
    /// The database: `postgres://user:password@host:port/database`, `redis://host:port`, `etcd://host:port`
    #[arg(value_name = "URL")]
    pub(crate) url: Url,

    /// What the clients do
    #[arg(long, value_name = "WORKLOAD", default_value = "register", value_parser = workloads())]
    pub(crate) workload: Workload,

    /// The isolation level that transactions ask for (PostgreSQL)
    #[arg(long, value_name = "LEVEL", default_value = "serializable", value_parser = isolations())]
    pub(crate) isolation: DatabaseIsolation,

    /// The models to check [default: what the database promises: for PostgreSQL read-committed, snapshot-isolation or
    /// serializable, as --isolation says; linearizable for registers of Redis and etcd, else strict-serializable]
    #[arg(long = "model", value_name = "MODEL[,MODEL…]")]
    pub(crate) models: Option<String>,

    /// How many clients
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) clients: u32,

    /// How long they run
    #[arg(long, value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) seconds: u64,

    /// How many keys they use at a time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    pub(crate) keys: u32,

    /// How many operations a transaction has on average
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) length: u32,

    /// How many of a hundred operations write
    #[arg(long, value_name = "P", default_value_t = 50, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) writes: u32,

    /// How long a client waits for an answer
    #[arg(long, value_name = "S", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) timeout: u64,

    /// The seed of the random choices. What happens also depends on time
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,

    /// The file to write the history to
    #[arg(short, long, value_name = "OUT", default_value = "probe.hist", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,

    /// Only record, and do not check
    #[arg(long, conflicts_with = "models")]
    pub(crate) record_only: bool,
}

fn workloads() -> impl TypedValueParser<Value = Workload> {
    let help = |workload: Workload| match workload {
        Workload::Register => {
            "PostgreSQL: transactions on registers. Redis, etcd: single reads, writes, compare-and-swaps"
        }
        Workload::List => "transactions that append to lists (PostgreSQL, Redis)",
        Workload::Bank => "transfers between accounts, and reads of all accounts (PostgreSQL)",
        Workload::Transaction => "transactions on registers, on every database",
    };
    PossibleValuesParser::new(Workload::ALL.map(|workload| PossibleValue::new(workload.name()).help(help(workload))))
        .try_map(|name| Workload::from_name(&name).ok_or("no such workload"))
}

fn isolations() -> impl TypedValueParser<Value = DatabaseIsolation> {
    PossibleValuesParser::new(DatabaseIsolation::ALL.map(|level| PossibleValue::new(level.name())))
        .try_map(|name| DatabaseIsolation::from_name(&name).ok_or("no such level"))
}
