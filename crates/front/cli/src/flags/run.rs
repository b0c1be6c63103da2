//! The flags of `run`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};
use model::Model;

use super::{CHECK_STATUS, one_model, seconds};

/// Run random clients, or a litmus test, on this machine's own memory, and check what they see
///
/// Short programs of real loads and stores run on threads that are pinned to processor cores, over and over, while
/// nothing is shared but the locations. Every distinct outcome is checked. The first violation of each model is shrunk
/// and explained. With --program, a litmus test runs instead, and its outcomes are counted as herd prints them; the
/// status is then that of `explore`. On x86 violations of sc are found, and none of tso; ARM would show more.
#[derive(Args)]
#[command(after_help = CHECK_STATUS)]
pub(crate) struct Run {
    /// How many threads
    #[arg(long, value_name = "K", default_value_t = 2)]
    pub(crate) threads: u32,

    /// For how many seconds to run
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = seconds)]
    pub(crate) seconds: Duration,

    /// The models, separated by commas
    #[arg(short, long = "model", value_name = "MODEL", value_delimiter = ',', default_values = ["sc", "tso"])]
    #[arg(value_parser = one_model())]
    pub(crate) models: Vec<Model>,

    /// How many operations each thread does
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) operations: u32,

    /// How many locations
    #[arg(long, value_name = "L", default_value_t = 3)]
    pub(crate) locations: u32,

    /// How many of a hundred operations write
    #[arg(long, value_name = "P", default_value_t = 50)]
    pub(crate) writes: u32,

    /// How many of a hundred operations are read-modify-writes
    #[arg(long, value_name = "P", default_value_t = 0)]
    pub(crate) rmws: u32,

    /// How many of a hundred operations are full fences
    #[arg(long, value_name = "P", default_value_t = 0)]
    pub(crate) fences: u32,

    /// The memory orders of the accesses
    #[arg(long, value_enum, default_value_t = Orders::Plain)]
    pub(crate) order: Orders,

    /// How many bytes there are from one location to the next: 8 puts several into a line of the cache
    #[arg(long, value_name = "BYTES", default_value_t = 64)]
    pub(crate) stride: u32,

    /// How far the threads may be apart when they begin, in turns of a waiting loop
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub(crate) stagger: u32,

    /// How many times a program runs before the next one
    #[arg(long, value_name = "N", default_value_t = 2048)]
    pub(crate) instances: u32,

    /// The seed of the programs. What the machine does with them is up to the machine
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,

    /// Run this litmus test (C or X86) instead of random clients
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(conflicts_with_all = ["threads", "models", "operations", "locations", "writes", "rmws", "fences", "order"])]
    pub(crate) program: Option<PathBuf>,

    /// Print one JSON object for each violation, and one of totals (docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,
}

/// The memory orders of a client's accesses, in Rust's words.
#[derive(Copy, Clone, PartialEq, Eq, ValueEnum)]
pub(crate) enum Orders {
    /// Relaxed accesses and SeqCst fences; the history says nothing about orders
    Plain,
    /// Relaxed accesses and AcqRel fences
    Relaxed,
    /// Acquire loads, Release stores
    ReleaseAcquire,
    /// SeqCst accesses
    SeqCst,
    /// Any of them at random, but for SeqCst
    Mixed,
}
