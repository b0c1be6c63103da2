//! The flags of `gen`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum, ValueHint};
use format::Format;
use history::Object;
use workload::transactions::InjectedAnomaly;

use super::{objects, written_formats};

/// The headings of the flags that apply to one kind of history only.
const MEMORY: &str = "For a memory";
const HARD: &str = "For the hard shapes";

/// Generate random histories of a simulated memory or database or, with --object, of a concurrent object
///
/// Every write to a memory writes a value of its own, so it is always clear which write a read is from. The same flags
/// give the same histories. The operations of an object overlap; their history is linearizable unless --wrong is given.
#[derive(Args)]
#[command(after_help = super::PRINTED_STATUS)]
pub(crate) struct Gen {
    /// The machine to simulate: the model of the same name allows its histories. Or one of the hard shapes, of which
    /// the history is then composed
    #[arg(long, value_enum, default_value_t = Machine::Sc)]
    pub(crate) model: Machine,

    /// The object to simulate, instead of a memory: its operations have calls and returns
    #[arg(long, value_name = "OBJECT", value_parser = objects())]
    pub(crate) object: Option<Object>,

    /// How many threads, or sessions of a database
    #[arg(long, value_name = "K", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub(crate) threads: u32,

    /// How many operations a history has, in all its threads together
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) operations: u32,

    /// How many locations, or keys of a database
    #[arg(
        long,
        value_name = "L",
        default_value_t = 8,
        value_parser = clap::value_parser!(u32).range(1..=16_777_216),
        help_heading = MEMORY
    )]
    pub(crate) locations: u32,

    /// The seed of the random choices
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,

    /// How many of a hundred operations write; on a container, insert or add
    #[arg(long, value_name = "P", default_value_t = 50, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) writes: u32,

    /// How many of a hundred operations are read-modify-writes; on a register, compare-and-swaps; on a mutex, tries to
    /// lock it; of a database, how many of a hundred writes come right after a read of their key. All other operations
    /// read; on a container, they remove or test
    #[arg(long, value_name = "P", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) rmws: u32,

    /// How many of a hundred operations are fences
    #[arg(
        long,
        value_name = "P",
        default_value_t = 0,
        value_parser = clap::value_parser!(u32).range(0..=100),
        help_heading = MEMORY
    )]
    pub(crate) fences: u32,

    /// How many of a hundred operations are sequentially consistent (sc, tso, pso, rc20): c20 allows the history, too
    #[arg(
        long,
        value_name = "P",
        default_value_t = 0,
        value_parser = clap::value_parser!(u32).range(0..=100),
        help_heading = MEMORY
    )]
    pub(crate) sequential: u32,

    /// How long a store waits in its buffer, or a message travels, at most, in operations of each thread on average
    /// (tso, pso, cc, ccv, cm). It waits longer only behind others
    #[arg(
        long,
        value_name = "D",
        default_value_t = 8,
        value_parser = clap::value_parser!(u32).range(0..=1000),
        help_heading = MEMORY
    )]
    pub(crate) delay: u32,

    /// How many of a hundred accesses choose at random among all writes that they may read, or all places where they
    /// may write, instead of the newest (ra, rc20, relaxed)
    #[arg(
        long,
        value_name = "P",
        default_value_t = 20,
        value_parser = clap::value_parser!(u32).range(0..=100),
        help_heading = MEMORY
    )]
    pub(crate) stale: u32,

    /// How many reads to change, so that each returns a value that was overwritten shortly before; also of a database
    #[arg(long, value_name = "M", default_value_t = 0, help_heading = MEMORY)]
    pub(crate) perturb: u32,

    /// How far, in writes of its location, the value of a changed read may be from the one that it would have returned
    /// [default: 4; with ra, rc20 and relaxed as far as the machine remembers]
    #[arg(
        long,
        value_name = "D",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(workload::memory::MAX_DISTANCE)),
        help_heading = MEMORY
    )]
    pub(crate) distance: Option<u32>,

    /// The order of the operations in the file
    #[arg(long, value_enum, default_value_t = Order::Interleaved, help_heading = MEMORY)]
    pub(crate) order: Order,

    /// How many copies of the shape
    #[arg(
        long,
        value_name = "C",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000),
        help_heading = HARD
    )]
    pub(crate) copies: u32,

    /// Put each copy into new threads, instead of all copies one after another into the same threads
    #[arg(long, help_heading = HARD)]
    pub(crate) side_by_side: bool,

    /// Let the last copy violate sc (for hard-rmw, also sra); for triangles, let there be one
    #[arg(long, help_heading = HARD)]
    pub(crate) violating: bool,

    /// How many nodes the graph has (triangles)
    #[arg(
        long,
        value_name = "N",
        default_value_t = 30,
        value_parser = clap::value_parser!(u32).range(3..=1_000_000),
        help_heading = HARD
    )]
    pub(crate) nodes: u32,

    /// How many edges the graph has at most (triangles)
    #[arg(
        long,
        value_name = "E",
        default_value_t = 100,
        value_parser = clap::value_parser!(u32).range(0..=10_000_000),
        help_heading = HARD
    )]
    pub(crate) edges: u32,

    /// The format to write [default: by the extension of OUT, else text]
    #[arg(long, value_name = "FORMAT", value_parser = written_formats())]
    pub(crate) format: Option<Format>,

    /// How many histories
    #[arg(long, value_name = "H", default_value_t = 1)]
    pub(crate) histories: u64,

    /// The file to write; standard output if it is `-` or left out
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    // These come last, because a heading holds for all flags that follow.
    #[command(flatten)]
    pub(crate) database: Database,

    #[command(flatten)]
    pub(crate) run: ObjectRunFlags,
}

/// How a simulated database runs.
#[derive(Args)]
#[command(next_help_heading = "For transactions")]
pub(crate) struct Database {
    /// How many operations a transaction has on average
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) length: u32,

    /// Let the keys be lists, to which transactions append. A list of 32 elements makes room for a new one
    #[arg(long)]
    pub(crate) lists: bool,

    /// Choose keys by Zipf's law, the first most often
    #[arg(long)]
    pub(crate) zipf: bool,

    /// How many of a hundred transactions abort
    #[arg(long, value_name = "P", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) aborts: u32,

    /// How many of a hundred transactions have an end of which nobody knows; half of them take effect
    #[arg(long, value_name = "P", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) unknown: u32,

    /// Say nothing about the order in time of transactions of different sessions
    #[arg(long)]
    pub(crate) untimed: bool,

    /// Add a few transactions that violate a level: by this anomaly
    #[arg(long, value_name = "NAME", value_parser = anomalies())]
    pub(crate) anomaly: Option<InjectedAnomaly>,
}

fn anomalies() -> impl TypedValueParser<Value = InjectedAnomaly> {
    let help = |anomaly: InjectedAnomaly| format!("Violates {} and all stronger levels", anomaly.violates());
    PossibleValuesParser::new(
        InjectedAnomaly::ALL.map(|anomaly| PossibleValue::new(anomaly.name()).help(help(anomaly))),
    )
    .try_map(|name| InjectedAnomaly::from_name(&name).ok_or("no such anomaly"))
}

/// How a simulated object runs.
#[derive(Args)]
#[command(next_help_heading = "With --object")]
pub(crate) struct ObjectRunFlags {
    /// How many of a hundred steps continue an open call instead of beginning a new one. The fewer, the more calls
    /// overlap
    #[arg(long, value_name = "P", default_value_t = 66, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) progress: u32,

    /// How many different values there are (elements of a set); 0 gives each insertion a value of its own
    #[arg(long, value_name = "V", default_value_t = 0)]
    pub(crate) values: u32,

    /// How many of a hundred operations of a queue, a stack or a priority queue peek
    #[arg(long, value_name = "P", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) peeks: u32,

    /// How many objects there are, each with a key of its own; 0 means one object without a key
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=16_777_216))]
    pub(crate) keys: u32,

    /// The capacity of a semaphore
    #[arg(long, value_name = "C", default_value_t = 2)]
    pub(crate) capacity: u32,

    /// How many of a thousand calls never return
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(crate) pending: u32,

    /// What goes wrong. If there are enough operations, each history has one such fault that is certainly a violation;
    /// until that fault, all calls return
    #[arg(long, value_enum)]
    pub(crate) wrong: Option<Wrong>,

    /// How many faults there are (--wrong)
    #[arg(long, value_name = "M", default_value_t = 1)]
    pub(crate) faults: u32,

    /// Among how many values `--wrong k-fifo` chooses
    #[arg(long, value_name = "K", default_value_t = 4)]
    pub(crate) k: u32,
}

/// What goes wrong in a simulated object.
#[derive(Copy, Clone, ValueEnum)]
pub(crate) enum Wrong {
    /// A removal takes one of the first k values, not the first; a read of a register returns an old value
    KFifo,
    /// A value is lost; a write has no effect
    Lost,
    /// A removed value stays inside; a lock is taken while it is held
    Duplicated,
    /// A removal returns `empty` although there is a value inside; a test gives the wrong answer
    LateEmpty,
}

/// A simulated memory system.
#[derive(Copy, Clone, ValueEnum)]
pub(crate) enum Machine {
    /// An atomic memory
    Sc,
    /// A store buffer for each thread; a read-modify-write is a full fence
    Tso,
    /// A store buffer for each thread and location; a read-modify-write waits until the buffer of its location is empty
    Pso,
    /// Cores that load ahead of program order and keep sc by watching their caches. Operations come in the order in
    /// which they are performed, each with its index in program order (po=)
    ScObserved,
    /// A machine with a view of the memory for each thread; all accesses release and acquire
    Ra,
    /// A machine with a view of the memory for each thread, with fences and mixed memory orders
    Rc20,
    /// A machine with a view of the memory for each thread, without synchronisation
    Relaxed,
    /// A replica of the memory for each thread, which hears of writes in causal order. A read returns any write that no
    /// other has causally overwritten
    Cc,
    /// The same, and the last writer wins
    Ccv,
    /// The same, and a replica stores writes as they arrive
    Cm,
    /// A database whose transactions take effect at one moment each
    Serializable,
    /// A database whose transactions read a snapshot, and of which the first to commit wins
    SnapshotIsolation,
    /// A replicated database that respects causality; the last write wins
    Causal,
    /// A replicated database that only keeps transactions whole; the last write wins
    ReadAtomic,
    /// A database whose reads return what is committed at that moment
    ReadCommitted,
    /// Saturation derives nothing, and one guess decides
    #[value(name = "hard-3")]
    Hard3,
    /// The same, but the guess leads to a long conflict
    #[value(name = "hard-4")]
    Hard4,
    /// Two guesses are needed
    #[value(name = "hard-5")]
    Hard5,
    /// With read-modify-writes: two guesses are needed under sra, too
    #[value(name = "hard-rmw")]
    HardRmw,
    /// The execution that wra, ra and sra allow if and only if a graph has no triangle (Theorem 1.7 of the paper on
    /// reads-from consistency, docs/models.md): no algorithm for these models is linear
    Triangles,
}

/// In which order the operations of a generated history are written.
#[derive(Copy, Clone, ValueEnum)]
pub(crate) enum Order {
    /// As they happened
    Interleaved,
    /// First all of thread 0, then all of thread 1, and so on
    Threads,
}
