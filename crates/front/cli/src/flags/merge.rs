//! The flags of `merge`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::CHECK_STATUS;

/// Put the shards of a corpus together
///
/// Each FILE is the state of a shard (`check --shard i/n --state FILE`). Prints what one run of `check` over the whole
/// corpus would have printed, with its exit status. Nothing is printed if a shard is missing, given twice or not
/// finished, or was made from another corpus, with other flags or by another version: lost work is never taken for
/// consistent. The corpus itself is not needed.
#[derive(Args)]
#[command(after_help = CHECK_STATUS)]
pub(crate) struct Merge {
    /// The states of all shards, in any order
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
}
