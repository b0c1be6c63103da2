//! The flags of `verify`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

use super::{Reading, seconds};

/// Verify certificates, with code that shares only the parser with the checkers
///
/// Prints one line for each certificate: `verified`, or `refused` and why. Standard error says how many histories have
/// no certificate.
#[derive(Args)]
#[command(
    after_help = "Exit status: 0 all verified; 1 some refused, or with --all some history has no certificate; 2 bad \
                  usage or bad input; 3 none of these, but a bug in seriatim left some certificate unverified."
)]
pub(crate) struct Verify {
    /// The file that `seriatim check --certificate` wrote
    #[arg(value_name = "CERT", value_hint = ValueHint::FilePath)]
    pub(crate) certificate: PathBuf,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Read a history for at most so many seconds; what is not read by then is bad input [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,

    /// Exit with status 1 if some history has no certificate
    #[arg(long)]
    pub(crate) all: bool,

    /// Print one JSON object per line instead of text (docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// The files of histories that the certificates are about, in the same order as in the check
    #[arg(value_name = "HISTORY", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
}
