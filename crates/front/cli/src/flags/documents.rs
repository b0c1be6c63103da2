//! The flags of the commands that print documents.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// Print the completions of a shell
#[derive(Args)]
#[command(after_help = super::PRINTED_STATUS)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// Print the man page, or write the pages of all subcommands to a directory
#[derive(Args)]
#[command(after_help = super::PRINTED_STATUS)]
pub(crate) struct Man {
    /// The directory to write to; without it, the page of `seriatim` is printed
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) directory: Option<PathBuf>,
}
