//! The flags of `convert`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueHint};
use format::Format;
use history::Object;

use super::{formats, objects, seconds};

/// Convert histories from one format to another
#[derive(Args)]
#[command(after_help = "Exit status: 0 all converted; 2 bad usage, bad input, or a history that the format cannot \
                        express. What the other format cannot say of a history, and what was left out of the one \
                        that was read, is said on standard error.")]
pub(crate) struct Convert {
    /// The format to write [default: by the extension of OUT]
    #[arg(long, value_name = "FORMAT", value_parser = targets(), required_unless_present = "output")]
    pub(crate) to: Option<Target>,

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

    /// Read a history for at most so many seconds; what is not read by then is bad input [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,

    /// The file to read, or FILE#k for its history number k, counted from 0; standard input if it is `-` or left out
    #[arg(value_name = "IN", default_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) input: PathBuf,

    /// The file to write; standard output if it is `-` or left out
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}

/// What a history is converted to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A format that is read again.
    Format(Format),
    /// A trace for Perfetto, which shows timelines.
    Perfetto,
}

impl Target {
    /// What the extension of a file stands for.
    pub(crate) fn from_path(path: &Path) -> Option<Self> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("pftrace" | "perfetto-trace") => Some(Self::Perfetto),
            _ => Format::from_path(path).map(Self::Format),
        }
    }
}

fn targets() -> impl TypedValueParser<Value = Target> {
    let formats = Format::WRITTEN.map(|format| PossibleValue::new(format.name()));
    let perfetto = PossibleValue::new("perfetto").help("a timeline for ui.perfetto.dev; it cannot be read back");
    PossibleValuesParser::new(formats.into_iter().chain([perfetto]))
        .map(|name| Format::from_name(&name).map_or(Target::Perfetto, Target::Format))
}
