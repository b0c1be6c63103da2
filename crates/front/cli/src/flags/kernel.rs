//! The flags of `kernel`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

use super::{Memory, Reading, Skipping, seconds};

/// Compute the SC-kernel of histories: the pairs of writes to one location that every store order orders the same way
///
/// Prints one line for each history: how many pairs of writes to one location there are, how many of them the
/// saturation of wsc orders, how many the partial store orders of ccm and ccv order, and how many are in the kernel. If
/// there are several histories, a summary over all of them follows.
#[derive(Args)]
#[command(after_help = "Exit status: 0 all computed; 1 some history is not sequentially consistent, so it has no \
                        kernel; 2 bad usage or bad input; 3 some kernel was not computed within the time limit.")]
pub(crate) struct Kernel {
    #[command(flatten)]
    pub(crate) reading: Reading,

    #[command(flatten)]
    pub(crate) skipping: Skipping,

    /// Print one JSON object per line instead of text (docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// Also print the pairs: the write that comes first, the other, and which orders order them. A pair that is not in
    /// the kernel is open: some store orders have it one way, some the other
    #[arg(long)]
    pub(crate) pairs: bool,

    /// Give up on a history after this many seconds. To read it may take as long; what is not read by then is bad input
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub(crate) timeout: Duration,

    #[command(flatten)]
    pub(crate) memory: Memory,

    /// Files of histories. `-` is standard input. FILE#k is history number k of a file, counted from 0. A directory
    /// means every history below it; in a Jepsen store, that is the history.edn of each test
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
}
