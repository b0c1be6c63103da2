//! The flags of `convert`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use history::Object;
use history::format::Format;

use super::{formats, objects, written_formats};

/// Convert histories from one format to another
#[derive(Args)]
#[command(after_help = "Exit status: 0 all converted; 2 bad usage, bad input, or a history that the format cannot \
                        express. What a format cannot say of a history of transactions is said on standard error.")]
pub(crate) struct Convert {
    /// The format to write [default: by the extension of OUT]
    #[arg(long, value_name = "FORMAT", value_parser = written_formats(), required_unless_present = "output")]
    pub(crate) to: Option<Format>,

    /// The format to read [default: by extension, else by content]
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub(crate) from: Option<Format>,

    /// The kind of object, whatever the input says
    #[arg(long, value_name = "OBJECT", value_parser = objects())]
    pub(crate) object: Option<Object>,

    /// The initial value of every location or key whose initial value the file does not state. Without this flag: 0;
    /// in Jepsen's formats, nil; for kv, the empty string
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) initial: Option<String>,

    /// The file to read, or FILE#k for its history number k, counted from 0; standard input if it is `-` or left out
    #[arg(value_name = "IN", default_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) input: PathBuf,

    /// The file to write; standard output if it is `-` or left out
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}
