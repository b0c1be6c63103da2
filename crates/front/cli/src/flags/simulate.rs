//! The flags of `simulate`, and those that it shares with `hunt`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum, ValueHint};
use format::Format;
use machine::CoreKind;
use machine::protocol::Name;
use model::Model;

use super::{formats, one_model, seconds};

pub(super) const SIMULATED_STATUS: &str = "Exit status: 0 no violation; 1 some violation; 2 bad usage, or the output \
                                           could not be written; 3 no violation, but some verdict is unknown; 4 no \
                                           violation, but the memory system got stuck in some execution.";

/// Simulate a multiprocessor memory with caches and a coherence protocol, and write or check its histories
///
/// Each thread runs on a core with a cache of its own; caches and directory exchange messages with random delays. Every
/// write writes a value of its own. The same flags give the same histories. With --bug the protocol, or the core, makes
/// a mistake. docs/machines.md describes protocols, cores and bugs.
#[derive(Args)]
#[command(after_help = SIMULATED_STATUS)]
pub(crate) struct Simulate {
    #[command(flatten)]
    pub(crate) simulated: Simulated,

    #[command(flatten)]
    pub(crate) shown: Shown,

    /// Check the histories instead of writing them; a line for each violation, and totals
    #[arg(long)]
    pub(crate) check: bool,

    /// With --check: the models, separated by commas [default: the model that the cores promise]
    #[arg(short, long = "model", value_name = "MODEL", value_delimiter = ',', value_parser = one_model())]
    #[arg(requires = "check")]
    pub(crate) models: Vec<Model>,

    /// How many histories. Each has a seed of its own
    #[arg(long, value_name = "H", default_value_t = 1)]
    pub(crate) histories: u64,

    /// The order of the operations in a history
    #[arg(long, value_enum, default_value_t = Listing::Retired)]
    pub(crate) order: Listing,

    /// With --check or --observe: print one JSON object for each violation, and one of totals (docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// With --check: give up on a model of a history after this many seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub(crate) timeout: Duration,

    /// The format to write [default: by the extension of OUT, else text]
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub(crate) format: Option<Format>,

    /// The file to write; standard output if it is `-` or left out
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}

/// What to print instead of histories.
#[derive(Args)]
pub(crate) struct Shown {
    /// Print the tables of the protocol, state by state, and end
    #[arg(long, conflicts_with_all = ["check", "json"])]
    pub(crate) table: bool,

    /// List the bugs that the protocol and the cores can have, and end
    #[arg(long, conflicts_with_all = ["check", "json", "table"])]
    pub(crate) bugs: bool,

    /// Let observers ride on the messages of the protocol and check `sc-observed`; print what they found, and how many
    /// bytes their vectors took
    #[arg(long, conflicts_with_all = ["check", "table", "bugs"])]
    pub(crate) observe: bool,

    /// How many ticks a notice from observer to observer takes, and a vector of the paper's Table 1 until others see it
    #[arg(long, value_name = "TICKS", requires = "observe", default_value_t = 0)]
    pub(crate) lag: u64,

    /// How many notices an observer has room for; no limit if left out
    #[arg(long, value_name = "N", requires = "observe")]
    pub(crate) notices: Option<usize>,
}

/// In which order the operations of a simulated history are written.
#[derive(Copy, Clone, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listing {
    /// As they retire, which is program order in each thread
    Retired,
    /// As they are globally performed, each with its index in program order: a stream for `sc-observed`
    Performed,
}

/// What is simulated.
#[derive(Args)]
pub(crate) struct Simulated {
    /// The protocol
    #[arg(short, long, value_name = "PROTOCOL", default_value = "mesi-two-level", value_parser = protocols())]
    pub(crate) protocol: Name,

    /// The mistake that the protocol or the core makes
    #[arg(short, long, value_name = "BUG")]
    pub(crate) bug: Option<String>,

    /// The kind of cores
    #[arg(long, value_name = "CORE", default_value = "in-order", value_parser = cores())]
    pub(crate) core: CoreKind,

    /// How many threads and cores
    #[arg(long, value_name = "K", default_value_t = 4)]
    pub(crate) threads: u32,

    /// How many operations a history has, in all its threads together
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(crate) operations: u32,

    /// How many variables
    #[arg(long, value_name = "L", default_value_t = 8)]
    pub(crate) locations: u32,

    /// How many of a hundred operations write
    #[arg(long, value_name = "P", default_value_t = 50)]
    pub(crate) writes: u32,

    /// How many of a hundred operations are read-modify-writes
    #[arg(long, value_name = "P", default_value_t = 0)]
    pub(crate) rmws: u32,

    /// How many of a hundred operations are fences
    #[arg(long, value_name = "P", default_value_t = 0)]
    pub(crate) fences: u32,

    /// How many of a hundred accesses go to the first eighth of the variables
    #[arg(long, value_name = "P", default_value_t = 0)]
    pub(crate) hot: u32,

    /// How many variables a block has: 1, 2, 4 or 8
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) block: u32,

    /// How many blocks a cache holds
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) cache: u32,

    /// How many blocks the second level of caches holds, if the protocol has one
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) second_level: u32,

    /// How many cores share a cache. Two are the pairs of Gem5's AMD protocol
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) sharing: u32,

    /// Let the directory of `moesi-hammer` or `moesi-amd` ask only the caches that may have a copy
    #[arg(long)]
    pub(crate) probe_filter: bool,

    /// Which block makes room
    #[arg(long, value_enum, default_value_t = Victims::Random)]
    pub(crate) victims: Victims,

    /// How many of a thousand ticks evict a block that is not in the way
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) evictions: u32,

    /// Whether messages between two controllers keep their order
    #[arg(long, value_enum, default_value_t = Ordering::Unordered)]
    pub(crate) network: Ordering,

    /// How many ticks a message travels at most. Most messages take an eighth of it at most
    #[arg(long, value_name = "D", default_value_t = 100)]
    pub(crate) delay: u32,

    /// How many messages travel from one controller to another at a time; others wait
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub(crate) capacity: u32,

    /// How many messages of a virtual network a link has room for, until they are taken; 0 for no limit. A controller
    /// that would send more waits
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) buffers: u32,

    /// How many stores a store buffer holds, or how many operations the window of an out-of-order core
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) depth: u32,

    /// How many of a hundred ticks a core rests
    #[arg(long, value_name = "P", default_value_t = 20)]
    pub(crate) idle: u32,

    /// The seed of the random choices
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
}

/// Which block makes room.
#[derive(Copy, Clone, PartialEq, Eq, ValueEnum)]
pub(crate) enum Victims {
    /// Any
    Random,
    /// The one that was used least recently
    Lru,
}

/// Whether a network keeps messages in order.
#[derive(Copy, Clone, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ordering {
    /// They arrive as they were sent
    Ordered,
    /// They may overtake each other
    Unordered,
}

fn protocols() -> impl TypedValueParser<Value = Name> {
    let values = Name::ALL.map(|it| {
        let value = PossibleValue::new(it.name()).help(it.summary());
        match it {
            Name::MesiTwoLevel => value.alias("mesi"),
            Name::MoesiHammer => value.alias("hammer"),
            Name::MoesiAmd => value.alias("amd"),
            _ => value,
        }
    });
    PossibleValuesParser::new(values).try_map(|name| Name::from_name(&name).ok_or("no such protocol"))
}

fn cores() -> impl TypedValueParser<Value = CoreKind> {
    let values = CoreKind::ALL.map(|it| PossibleValue::new(it.name()).help(it.summary()));
    PossibleValuesParser::new(values)
        .try_map(|name| CoreKind::ALL.into_iter().find(|it| it.name() == name).ok_or("no such core"))
}
