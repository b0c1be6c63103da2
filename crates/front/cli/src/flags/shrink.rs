//! The flags of `shrink`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};
use model::Model;

use super::{CHECK_STATUS, Memory, Reading, one_model, seconds};

/// Shrink histories that violate a model to minimal counterexamples
///
/// Operations are removed while the violation stays. Every read that is left keeps the write that it read, every
/// removal from a container the insertion. What is left is minimal: without any one operation, and those that need it,
/// it is consistent. It is written in the text format, which `seriatim check` reads. A comment above each operation
/// says in which line it stood: `# line 7`. Comments above the history explain the violation. Nothing is written for a
/// history that does not violate the model.
#[derive(Args)]
#[command(after_help = CHECK_STATUS)]
pub(crate) struct Shrink {
    /// The model. Without this flag: as for `check`
    #[arg(short, long, value_name = "MODEL", value_parser = one_model())]
    pub(crate) model: Option<Model>,

    /// Write only counterexamples that satisfy this model: they tell it apart from the model that they violate
    #[arg(long, value_name = "MODEL", value_parser = one_model())]
    pub(crate) keep: Option<Model>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Give up on a check after this many seconds. To read a history may take as long; what is not read by then is bad
    /// input
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub(crate) timeout: Duration,

    #[command(flatten)]
    pub(crate) memory: Memory,

    /// The file to write; standard output if it is `-` or left out
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    /// Files of histories. `-` is standard input. FILE#k is history number k of a file, counted from 0. A directory
    /// means every history below it; in a Jepsen store, that is the history.edn of each test
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
}
