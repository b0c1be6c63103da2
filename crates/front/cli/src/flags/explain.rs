//! The flags of `explain`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueHint};
use model::Model;
use report::Depth;

use super::{CHECK_STATUS, Memory, Reading, one_model, seconds};

/// Explain why histories violate a model: draw the operations that clash, and tell why
///
/// The history is shrunk to a minimal counterexample, and drawn: a column for each thread, time down. Below it stands
/// why these operations clash, in sentences: each edge of the circle, and below a derived edge what it follows from.
/// For an object, it says what the object would have to contain. For a consistent history, the witness is shown in
/// short. docs/explain.md explains the drawing.
#[derive(Args)]
#[command(after_help = CHECK_STATUS)]
pub(crate) struct Explain {
    /// The model. Without this flag: as for `check`
    #[arg(short, long, value_name = "MODEL", value_parser = one_model())]
    pub(crate) model: Option<Model>,

    /// How deep derived edges are unfolded: 0 for the circle alone, `all` down to what the history itself says
    /// [default: what fits on a screen]
    #[arg(long, value_name = "N", value_parser = depth, default_value = "fitting", hide_default_value = true)]
    pub(crate) depth: Depth,

    /// What to write
    #[arg(long, value_name = "KIND", value_parser = kinds(), default_value = "text")]
    pub(crate) to: Kind,

    /// The same as `--to json`
    #[arg(long, conflicts_with = "to")]
    pub(crate) json: bool,

    /// Explain the whole history, and do not shrink it first
    #[arg(long)]
    pub(crate) whole: bool,

    /// How many columns a line may take [default: those of the terminal; 100 if there is none]
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(40..=1000))]
    pub(crate) width: Option<u16>,

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

/// What `explain` writes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Json,
    Dot,
    Svg,
    Mermaid,
}

fn kinds() -> impl TypedValueParser<Value = Kind> {
    let values = [
        PossibleValue::new("text").help("lanes and sentences, for the terminal"),
        PossibleValue::new("json").help("the story as data, one object per line (docs/json.md)"),
        PossibleValue::new("dot").help("the graph in the language of Graphviz"),
        PossibleValue::new("svg").help("the graph as a picture; a single violation"),
        PossibleValue::new("mermaid").help("the graph for Markdown that knows Mermaid"),
    ];
    PossibleValuesParser::new(values).map(|name| match name.as_str() {
        "json" => Kind::Json,
        "dot" => Kind::Dot,
        "svg" => Kind::Svg,
        "mermaid" => Kind::Mermaid,
        _ => Kind::Text,
    })
}

fn depth(text: &str) -> Result<Depth, String> {
    match text {
        "fitting" => Ok(Depth::Fitting),
        "all" => Ok(Depth::All),
        number => number.parse().map(Depth::Levels).map_err(|_| "not a number, and not `all`".to_owned()),
    }
}
