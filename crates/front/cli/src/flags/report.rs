//! The flags of `report`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};
use model::Model;

use super::{CHECK_STATUS, Memory, Reading, one_model, seconds};

/// Write a page that shows a verdict and why it holds
///
/// The page is one HTML file that needs no network. It says why the history violates the model, draws the operations
/// that clash, and shows the history as a timeline: the minimal counterexample first, the whole history one click away.
/// A consistent history is played in an order that explains it. If the files hold several histories, the page is about
/// the first that violates the model; if none does, about the first.
#[derive(Args)]
#[command(after_help = CHECK_STATUS)]
pub(crate) struct Report {
    /// The model. Without this flag: as for `check`
    #[arg(short, long, value_name = "MODEL", value_parser = one_model())]
    pub(crate) model: Option<Model>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Give up on a check after this many seconds. To read a history may take as long; what is not read by then is bad
    /// input
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub(crate) timeout: Duration,

    #[command(flatten)]
    pub(crate) memory: Memory,

    /// The file to write; standard output if it is `-`
    #[arg(short, long, value_name = "OUT", required = true, value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,

    /// Files of histories. `-` is standard input. FILE#k is history number k of a file, counted from 0. A directory
    /// means every history below it; in a Jepsen store, that is the history.edn of each test
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
}
