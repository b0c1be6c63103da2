//! Every flag, defined once: the flags of a command in its own file, what several commands share here. The help, the
//! man pages and the shell completions are made from these definitions.

mod check;
mod classify;
mod convert;
mod documents;
mod explain;
mod explore;
mod generate;
mod hunt;
mod kernel;
mod merge;
mod models;
mod monitor;
mod probe;
#[cfg(test)]
mod reference;
mod report;
mod research;
mod run;
mod shrink;
mod simulate;
mod verify;

use std::ffi::OsStr;
use std::sync::OnceLock;
use std::time::Duration;

use budget::{Budget, ram};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, CommandFactory, Parser, Subcommand};
use format::Format;
use history::Object;
use model::Isolation;
use model::Model;

pub(crate) use self::check::Check;
pub(crate) use self::classify::Classify;
pub(crate) use self::convert::{Convert, Target};
pub(crate) use self::documents::{Completions, Man};
pub(crate) use self::explain::{Explain, Kind as ExplainKind};
pub(crate) use self::explore::{Explore, Mode, Sampling, Symmetry};
pub(crate) use self::generate::{Gen, Machine, Order, Wrong};
pub(crate) use self::hunt::Hunt;
pub(crate) use self::kernel::Kernel;
pub(crate) use self::merge::Merge;
pub(crate) use self::models::Models;
pub(crate) use self::monitor::Monitor;
pub(crate) use self::probe::Probe;
pub(crate) use self::report::Report;
pub(crate) use self::research::Research;
pub(crate) use self::run::{Orders, Run};
pub(crate) use self::shrink::Shrink;
pub(crate) use self::simulate::{Listing, Ordering, Shown, Simulate, Simulated, Victims};
pub(crate) use self::verify::Verify;

/// Tells whether a recorded concurrent execution is allowed by a consistency model, shows why, and proves it.
#[derive(Parser)]
#[command(name = "seriatim", version, max_term_width = 100)]
pub(crate) struct Flags {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The description of all flags. A short help (`-h`) leaves out long lists of values, which the long help has.
pub(crate) fn command(is_short: bool) -> clap::Command {
    let command = Flags::command();
    if !is_short {
        return command;
    }
    let hide = |flag: Arg| {
        let values = flag.get_possible_values().len();
        flag.hide_possible_values(values > MOST_VALUES)
    };
    let names: Vec<String> = command.get_subcommands().map(|it| it.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, |it| it.mut_args(hide)))
}

/// How many values of a flag a short help lists.
const MOST_VALUES: usize = 5;

/// What one can do, for somebody who has said nothing.
pub(crate) const WELCOME: &str = "\
Seriatim tells whether a recorded concurrent execution is allowed by a model.

  seriatim check FILE     judge a history: Jepsen's, a trace, transactions
  seriatim explain FILE   draw the operations that clash; `report` makes a page
  seriatim classify FILE  the strongest models that hold, the weakest that fail
  seriatim monitor FILE   judge a stream of events while the program runs
  seriatim explore TEST   every execution of a litmus test, or of a C program
  seriatim probe URL      run transactions on a real database, and judge them
  seriatim models         all models: sc, tso, linearizable, serializable, ...
  seriatim help           all commands; `seriatim help check` says more of one
";

/// The exit status of `check` and `monitor`.
const CHECK_STATUS: &str = "Exit status: 0 all consistent; 1 some violation; 2 bad usage or bad input, or the output \
                            could not be written; 3 no violation, but some verdict is unknown.";

/// The exit status of what reads no histories.
const PRINTED_STATUS: &str = "Exit status: 0 done; 2 bad usage, or the output could not be written.";

#[derive(Subcommand)]
pub(crate) enum Command {
    Check(Check),
    Merge(Merge),
    Classify(Classify),
    Verify(Verify),
    Shrink(Shrink),
    Report(Report),
    Explain(Explain),
    Convert(Convert),
    Monitor(Box<Monitor>),
    Explore(Explore),
    Run(Box<Run>),
    Simulate(Box<Simulate>),
    Hunt(Box<Hunt>),
    Models(Models),
    Kernel(Kernel),
    Probe(Box<Probe>),
    Gen(Gen),
    Completions(Completions),
    Man(Man),
}

/// What to do with a read whose source is not known.
#[derive(Args)]
pub(crate) struct SourceFlags {
    /// Refuse a history in which a value was written twice to a location and a read of it does not say which write it
    /// is from, as bad input of the memory models. Without this flag, sources are looked for that satisfy the model
    #[arg(long, hide_short_help = true)]
    pub(crate) unique: bool,
}

/// How to read histories.
#[derive(Clone, Args)]
pub(crate) struct Reading {
    /// The kind of object, such as queue or register
    ///
    /// The kind of object, whatever the file says.
    #[arg(long, value_name = "OBJECT", value_parser = objects())]
    pub(crate) object: Option<Object>,

    /// The format [default: by extension, else content]
    ///
    /// The format of the files [default: by extension, else by content] (docs/formats.md).
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub(crate) format: Option<Format>,

    /// The initial value of every location or key whose initial value the file does not state. Without this flag: 0;
    /// in Jepsen's formats, nil; for kv, the empty string
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true, hide_short_help = true)]
    pub(crate) initial: Option<String>,
}

/// What to do with inputs that cannot be read.
#[derive(Clone, Args)]
pub(crate) struct Skipping {
    /// Skip files and histories that cannot be read. Standard error names and counts them; the exit status depends only
    /// on the other files and histories
    #[arg(long, hide_short_help = true)]
    pub(crate) skip_unreadable: bool,
}

/// What `--model` names.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    All,
    One(Model),
    /// By a name that only Elle has.
    OfElle(Model),
}

impl Choice {
    /// The name, so that two choices of the same meaning have the same.
    const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::One(model) | Self::OfElle(model) => model.name(),
        }
    }
}

fn models() -> impl TypedValueParser<Value = Choice> {
    ModelParser
}

/// The model of this name, and whether only Elle has the name: then it means the same whoever is asked. A name may be a
/// keyword of Clojure, `:strict-serializable`. The error is a level of Elle that is not checked.
fn model_of(given: &OsStr, command: &clap::Command) -> Result<Option<(Model, bool)>, clap::Error> {
    let name = plain(given);
    if let Some(model) = Model::from_name(name) {
        return Ok(Some((model, false)));
    }
    if let Some(isolation) = Isolation::from_elle(name) {
        return Ok(Some((isolation.model(), true)));
    }
    let Some([weaker, stronger]) = Isolation::nearest_of_elle(name) else { return Ok(None) };
    let of = |name: Option<&str>, how: &str| name.map(|name| format!("`{name}` ({how})"));
    let nearest: Vec<String> = [of(weaker, "weaker"), of(stronger, "stronger")].into_iter().flatten().collect();
    let message = format!(
        "Elle's level `{name}` is not checked here; with `check --names elle`, the nearest are {}\n",
        nearest.join(" and ")
    );
    Err(clap::Error::raw(clap::error::ErrorKind::InvalidValue, message).with_cmd(command))
}

/// A name without the colon of a keyword.
fn plain(given: &OsStr) -> &str {
    given.to_str().map_or("", |name| name.strip_prefix(':').unwrap_or(name))
}

/// Reads what `--model` of `check` names: a model, or `all`.
#[derive(Copy, Clone)]
struct ModelParser;

impl TypedValueParser for ModelParser {
    type Value = Choice;

    fn parse_ref(&self, command: &clap::Command, flag: Option<&Arg>, given: &OsStr) -> Result<Choice, clap::Error> {
        match model_of(given, command)? {
            Some((model, false)) => Ok(Choice::One(model)),
            Some((model, true)) => Ok(Choice::OfElle(model)),
            None => {
                let listed = PossibleValuesParser::new(self.possible_values().into_iter().flatten());
                listed.map(|_| Choice::All).parse_ref(command, flag, OsStr::new(plain(given)))
            }
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let all = PossibleValue::new("all").help("every model that fits");
        Some(Box::new(Model::every().map(possible).chain([all])))
    }
}

fn possible(model: Model) -> PossibleValue {
    PossibleValue::new(model.name()).aliases(model.aliases()).help(model.summary())
}

fn one_model() -> impl TypedValueParser<Value = Model> {
    one_of(Model::every())
}

fn one_of(models: impl Iterator<Item = Model>) -> impl TypedValueParser<Value = Model> {
    OneOf(models.collect())
}

/// Reads the name of one of these models.
#[derive(Clone)]
struct OneOf(Vec<Model>);

impl TypedValueParser for OneOf {
    type Value = Model;

    fn parse_ref(&self, command: &clap::Command, flag: Option<&Arg>, given: &OsStr) -> Result<Model, clap::Error> {
        if let Some((model, _)) = model_of(given, command)?
            && self.0.contains(&model)
        {
            return Ok(model);
        }
        let listed = PossibleValuesParser::new(self.possible_values().into_iter().flatten());
        let listed = listed.try_map(|name| Model::from_name(&name).ok_or("no such model"));
        listed.parse_ref(command, flag, OsStr::new(plain(given)))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().copied().map(possible)))
    }
}

fn formats() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(|format| PossibleValue::new(format.name())))
        .try_map(|name| Format::from_name(&name).ok_or("no such format"))
}

/// The formats that are written.
fn written_formats() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::WRITTEN.map(|format| PossibleValue::new(format.name())))
        .try_map(|name| Format::from_name(&name).ok_or("no such format"))
}

fn objects() -> impl TypedValueParser<Value = Object> {
    ObjectParser
}

/// Accepts every name that the formats accept (`lock`, `atomic-queue`), and lists only the names that we print.
#[derive(Clone)]
struct ObjectParser;

impl TypedValueParser for ObjectParser {
    type Value = Object;

    fn parse_ref(&self, command: &clap::Command, flag: Option<&Arg>, name: &OsStr) -> Result<Object, clap::Error> {
        if let Some(object) = name.to_str().and_then(Object::from_name) {
            return Ok(object);
        }
        let listed = PossibleValuesParser::new(Object::ALL.map(Object::name));
        listed.try_map(|name| Object::from_name(&name).ok_or("no such object")).parse_ref(command, flag, name)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(Object::ALL.into_iter().map(|object| PossibleValue::new(object.name()))))
    }
}

/// How much memory a command may take.
#[derive(Debug, Args)]
pub(crate) struct Memory {
    /// Take at most this much, such as `2G`
    ///
    /// Take at most this much memory, such as `500M` or `2G`. What would need more is `unknown`; a history that does
    /// not fit is an input error [default: half of what the machine has free].
    #[arg(long = "memory", value_name = "SIZE", value_parser = size)]
    limit: Option<usize>,
    #[arg(skip)]
    budget: OnceLock<Budget>,
}

impl Memory {
    /// The limit in bytes, if one was given.
    fn given(&self) -> Option<usize> {
        self.limit
    }

    /// What reading and checking may use. The default is found out when it is first asked for.
    pub(crate) fn budget(&self) -> &Budget {
        self.budget.get_or_init(|| match self.limit.or_else(ram::half) {
            Some(bytes) => Budget::default().memory(bytes),
            None => Budget::default(),
        })
    }
}

/// A number of bytes, or of KiB, MiB, GiB or TiB.
fn size(text: &str) -> Result<usize, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        _ => return Err("not a size: a number, and K, M, G or T behind it".to_owned()),
    };
    let number: f64 = digits.parse().map_err(|_| "not a size: a number, and K, M, G or T behind it".to_owned())?;
    let bytes = number * (1u64 << shift) as f64;
    if bytes.is_finite() && bytes >= f64::from(1 << 20) {
        Ok(bytes as usize)
    } else {
        Err("at least 1M is needed".to_owned())
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    if seconds.is_nan() || seconds < 0.0 {
        return Err("a time limit cannot be negative".to_owned());
    }
    // A limit too long for the type is as good as none.
    Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

/// The flags of the subcommand that the user gave, by their names in the program.
pub(crate) fn given(matches: &ArgMatches) -> Vec<&str> {
    let Some((_, matches)) = matches.subcommand() else { return Vec::new() };
    // A flattened group of flags has an id, too: the name of its type, which begins with a capital letter.
    let flags = matches.ids().map(clap::Id::as_str).filter(|name| name.starts_with(char::is_lowercase));
    flags.filter(|name| matches.value_source(name) == Some(ValueSource::CommandLine)).collect()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_flags_do_not_contradict_each_other() {
        super::Flags::command().debug_assert();
    }
}
