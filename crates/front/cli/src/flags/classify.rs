//! The flags of `classify`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

use super::{Memory, Reading, Skipping, SourceFlags, seconds};

/// Find the place of histories in the lattice of memory models
///
/// Prints one line for each history: the strongest models that it satisfies, and the weakest models that it breaks.
/// Models that follow from these are not printed; `seriatim models` prints which model implies which. Below the line
/// stands why the weakest models are broken. Each model is checked at most once, and only if its answer does not
/// follow from the answers of other models.
#[derive(Args)]
#[command(
    after_help = "Exit status: 0 every history was classified, whichever models it breaks; 2 bad usage or bad input, \
                  or the output could not be written; 3 some model could not be decided."
)]
pub(crate) struct Classify {
    #[command(flatten)]
    pub(crate) reading: Reading,

    #[command(flatten)]
    pub(crate) skipping: Skipping,

    #[command(flatten)]
    pub(crate) sources: SourceFlags,

    /// Print one JSON object per line instead of text (docs/json.md). It also says which models were checked, and
    /// which answers followed from others
    #[arg(long)]
    pub(crate) json: bool,

    /// Draw the lattice of models in this file, for Graphviz. For one history, the drawing shows which models it
    /// satisfies; for several, how many of them satisfy each model
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) dot: Option<PathBuf>,

    /// Draw the same picture in this file, as SVG
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) svg: Option<PathBuf>,

    /// Give up on a model of a history after this many seconds: the model is then unknown, unless its answer follows
    /// from another model. To read a history may take as long; what is not read by then is bad input
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub(crate) timeout: Duration,

    #[command(flatten)]
    pub(crate) memory: Memory,

    /// How many histories to classify at the same time [default: as many as there are processor cores]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,

    /// Print no explanations
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Files to classify. `-` is standard input. FILE#k is history number k of a file, counted from 0. A directory
    /// means every history below it; in a Jepsen store, that is the history.edn of each test
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
}
