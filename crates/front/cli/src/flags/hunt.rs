//! The flags of `hunt`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};
use model::Model;

use super::simulate::SIMULATED_STATUS;
use super::{Simulated, one_model, seconds};

/// Hunt for a violation: simulate clients of varying shape until one breaks the model
///
/// Threads, operations, variables, blocks, caches and delays vary from execution to execution; the flags say the most
/// of each. The first execution that breaks the model is printed: its number, how many operations it took to find it,
/// the command that simulates it again, and the history, shrunk and explained. The answer does not depend on --jobs.
/// Without --bug nothing should be found.
#[derive(Args)]
#[command(after_help = SIMULATED_STATUS)]
pub(crate) struct Hunt {
    #[command(flatten)]
    pub(crate) simulated: Simulated,

    /// The model [default: the model that the cores promise]
    #[arg(short, long, value_name = "MODEL", value_parser = one_model())]
    pub(crate) model: Option<Model>,

    /// End after this many minutes
    #[arg(long, value_name = "M")]
    pub(crate) minutes: Option<f64>,

    /// End after this many executions [default: 100000, or no limit if --minutes is given]
    #[arg(long, value_name = "N")]
    pub(crate) executions: Option<u64>,

    /// The number of the first execution: to go on where a hunt has ended
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) from: u64,

    /// Go on from the execution that this file names, if there is such a file, and note there which one is next
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "from")]
    pub(crate) resume: Option<PathBuf>,

    /// How many executions to simulate at the same time [default: as many as there are processor cores]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,

    /// Give up on a check after this many seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub(crate) timeout: Duration,

    /// Print one JSON object for the violation, and one of totals (docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// Write the shrunk history to this file, too
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    /// Write a page about the shrunk history, as `seriatim report` does [default file: hunt.html]
    #[arg(long, value_name = "PAGE", value_hint = ValueHint::FilePath, num_args = 0..=1)]
    #[arg(default_missing_value = "hunt.html")]
    pub(crate) report: Option<PathBuf>,
}
