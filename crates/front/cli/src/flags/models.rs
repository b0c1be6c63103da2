//! The flags of `models`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// List the models, each with its definition in one line, and which model implies which
#[derive(Args)]
#[command(after_help = super::PRINTED_STATUS)]
pub(crate) struct Models {
    /// Print one JSON object per line instead of text (docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// Print more of each model: which histories it fits, what can prove its verdicts, and the tactics that decide it
    #[arg(long, conflicts_with = "json")]
    pub(crate) long: bool,

    /// Draw the isolation levels of transactions instead of the memory models
    #[arg(long)]
    pub(crate) levels: bool,

    /// Draw the lattice of the memory models in this file, for Graphviz
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) dot: Option<PathBuf>,

    /// Draw the same picture in this file, as SVG
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) svg: Option<PathBuf>,
}
