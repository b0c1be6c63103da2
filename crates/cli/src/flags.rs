//! Every flag, defined once. The help, the man pages and the shell completions are made from these definitions.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use certificate::Model;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Parser, Subcommand, ValueEnum, ValueHint};
use history::Object;
use history::format::Format;
use memory::Strategy;

/// The heading of the flags that are for research.
const RESEARCH: &str = "To compare algorithms";
/// The headings of the flags of `gen` that apply to one kind of history only.
const MEMORY: &str = "For a memory";
const AT_RANDOM: &str = "With --mode random";
const HARD: &str = "For the hard shapes";

/// Tells whether a recorded concurrent execution is allowed by a consistency model, shows why, and proves it.
#[derive(Parser)]
#[command(name = "seriatim", version, max_term_width = 100)]
pub(crate) struct Flags {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The exit status of `check` and `monitor`.
const CHECK_STATUS: &str = "Exit status: 0 all consistent; 1 some violation; 2 bad usage or bad input, or the output \
                            could not be written; 3 no violation, but some verdict is unknown.";

#[derive(Subcommand)]
pub(crate) enum Command {
    Check(Check),
    Classify(Classify),
    Verify(Verify),
    Shrink(Shrink),
    Convert(Convert),
    Monitor(Box<Monitor>),
    Explore(Explore),
    Models(Models),
    Kernel(Kernel),
    Gen(Gen),
    Completions(Completions),
    Man(Man),
}

/// Check histories against models
///
/// Prints one line for each history and model: `FILE[#k]: MODEL: consistent|violation|unknown`. If a file holds
/// several histories, `#k` is the number of the history, counted from 0. The explanation of a violation stands below
/// its line. A file that cannot be read is reported on standard error, with the place of the mistake; all other files
/// are still checked.
#[derive(Args)]
#[command(after_help = CHECK_STATUS)]
pub(crate) struct Check {
    /// Models to check, separated by commas; `all` for every model that fits. Without this flag: `linearizable` for a
    /// history with calls and returns, `sc` for any other
    #[arg(short, long = "model", value_name = "MODEL", value_delimiter = ',', value_parser = models())]
    pub(crate) models: Vec<Choice>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    #[command(flatten)]
    pub(crate) skipping: Skipping,

    #[command(flatten)]
    pub(crate) sources: Sources,

    /// Print one JSON object per line instead of text (docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// Give up on a model of a history after this many seconds: its verdict is then `unknown`
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub(crate) timeout: Duration,

    #[command(flatten)]
    pub(crate) memory: Memory,

    /// How many histories to check at the same time [default: as many as there are processor cores]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,

    /// Write the certificates of all verdicts to this file, one per line, for `seriatim verify`. With --json, the
    /// output contains the certificates, too
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) certificate: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) only: Only,

    /// Print no explanations, no progress, and no line for a verdict `consistent`. With --json, every verdict is
    /// printed, without explanations and progress
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) research: Research,

    /// Files to check. `-` is standard input. FILE#k is history number k of a file, counted from 0. A directory means
    /// every history below it; in a Jepsen store, that is the history.edn of each test
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
}

/// What to do with a read whose source is not known.
#[derive(Args)]
pub(crate) struct Sources {
    /// Refuse a history in which a value was written twice to a location and a read of it does not say which write it
    /// is from, as bad input of the memory models. Without this flag, sources are looked for that satisfy the model
    #[arg(long)]
    pub(crate) unique: bool,
}

/// Which violations to report: all, unless one of these says otherwise.
#[derive(Args)]
pub(crate) struct Only {
    /// Stop at the first violation, in the order of the input
    #[arg(long, conflicts_with = "smallest")]
    pub(crate) first: bool,

    /// Report only the history with the fewest operations that violates a model; of several, the first
    #[arg(long)]
    pub(crate) smallest: bool,
}

/// Which algorithms decide.
#[derive(Args)]
pub(crate) struct Research {
    /// How to decide whether a history is linearizable
    #[arg(
        long,
        value_name = "ALGORITHM",
        default_value = "auto",
        value_parser = AlgorithmParser,
        help_heading = RESEARCH
    )]
    pub(crate) algorithm: object::Algorithm,

    /// Forget values that were inserted and removed, and writes that were overwritten. For `--algorithm saturate`,
    /// and for `--algorithm symbolic` on containers. A step of `saturate` then takes time and memory that depend only
    /// on the values inside the object and on the operations that overlap
    #[arg(long, help_heading = RESEARCH)]
    pub(crate) remove_matches: bool,

    /// How to decide the memory models: `auto`, or one tactic alone. Every verdict of a tactic is exact. If the tactic
    /// reaches none, the verdict is `unknown`. A model that the tactic is not meant for is decided by `auto`. With
    /// --json, the field `strategy` names the tactic that decided
    #[arg(long, value_name = "STRATEGY", default_value = "auto", value_parser = strategies(), help_heading = RESEARCH)]
    pub(crate) strategy: Strategy,
}

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
    pub(crate) sources: Sources,

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
    /// from another model
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

/// Explore every execution of a litmus test that a memory model allows
///
/// Prints, for each file and model, what herd prints: the final states, whether the condition holds, and how many
/// executions satisfy its proposition. An execution is a reads-from class: which write each read reads. It is visited
/// exactly once. A class may end with several memories, one for each modification order.
#[derive(Args)]
#[command(
    after_help = "Exit status: 0 every condition holds; 1 some does not; 2 bad usage or bad input, or the output could \
                  not be written; 3 none of these, but executions that were not visited could change some verdict: the \
                  runs were random, a thread had more steps than --max-steps, or the time was not enough."
)]
pub(crate) struct Explore {
    /// Models to explore the tests under, separated by commas. Without this flag: `c20` for a test in C, `tso` for one
    /// in x86 assembly
    #[arg(short, long = "model", value_name = "MODEL", value_delimiter = ',', value_parser = explored())]
    pub(crate) models: Vec<explore::Model>,

    /// Print one JSON object per line instead of text (docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// Whether to visit every execution, or to run the test at random
    #[arg(long, value_name = "MODE", default_value = "exhaustive", value_enum)]
    pub(crate) mode: Mode,

    /// How many random runs to make
    #[arg(long, value_name = "N", default_value = "10000", help_heading = AT_RANDOM)]
    pub(crate) runs: u64,

    /// The seed of the first random run; the next runs have the seeds that follow. A seed decides its run: `--runs 1`
    /// with the same model and strategy repeats it
    #[arg(long, value_name = "SEED", default_value = "0", help_heading = AT_RANDOM)]
    pub(crate) seed: u64,

    /// How a random run chooses
    #[arg(long, value_name = "STRATEGY", default_value = "uniform", value_enum, help_heading = AT_RANDOM)]
    pub(crate) strategy: Sampling,

    /// For `pct` and `pctwm`: how many events make the bug, by their order
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(1..=1000))]
    #[arg(help_heading = AT_RANDOM)]
    pub(crate) depth: u32,

    /// For `pctwm`: how far a read that is not ordinary looks back
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u32).range(1..=1000))]
    #[arg(help_heading = AT_RANDOM)]
    pub(crate) history: u32,

    /// A thread stops after this many accesses and fences. If some thread does, the exploration is not complete
    #[arg(long, value_name = "N", default_value = "100", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) max_steps: u32,

    /// Give up on a model of a test after this many seconds: the exploration is then not complete
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub(crate) timeout: Duration,

    /// How many workers explore a test at the same time. The answers do not depend on it [default: as many as there are
    /// processor cores]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,

    /// Litmus tests, in herd's format for C or X86. `-` is standard input
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
}

/// Which executions of a test to visit.
#[derive(Copy, Clone, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Every execution, each once
    Exhaustive,
    /// Executions at random
    Random,
}

/// How a random run chooses.
#[derive(Copy, Clone, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sampling {
    /// Any thread that can go on, and any write that may be read
    Uniform,
    /// Threads by random priorities, which change at random steps
    Pct,
    /// As `pct`, and reads take the newest write that their thread knows of, but for a few
    Pctwm,
}

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
    /// The model. Without this flag: `linearizable` for a history with calls and returns, `sc` for any other
    #[arg(short, long, value_name = "MODEL", value_parser = one_model())]
    pub(crate) model: Option<Model>,

    /// Write only counterexamples that satisfy this model: they tell it apart from the model that they violate
    #[arg(long, value_name = "MODEL", value_parser = one_model())]
    pub(crate) keep: Option<Model>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Give up on a check after this many seconds
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

/// Convert histories from one format to another
#[derive(Args)]
#[command(after_help = "Exit status: 0 all converted; 2 bad usage, bad input, or a history that the format cannot \
                        express.")]
pub(crate) struct Convert {
    /// The format to write [default: by the extension of OUT]
    #[arg(long, value_name = "FORMAT", value_parser = formats(), required_unless_present = "output")]
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

/// Follow a stream of events, and report the first violation at the event that makes it certain
///
/// The stream is text or JSON Lines, one event per line, in the order in which the events happened. An event counts as
/// soon as its line is complete. The monitors work in bounded memory: they forget operations that cannot matter any
/// more. The command prints one line for each history, with its verdict: a violation at once, `consistent` at the end.
#[derive(Clone, Args)]
#[command(after_long_help = monitor_help())]
pub(crate) struct Monitor {
    /// The model. Without this flag: `linearizable` for a stream with calls and returns
    #[arg(short, long, value_name = "MODEL", value_parser = monitored())]
    pub(crate) model: Option<Model>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// How to decide whether a history is linearizable
    #[arg(
        long,
        value_name = "ALGORITHM",
        default_value = "auto",
        value_parser = online_algorithms(),
        help_heading = RESEARCH
    )]
    pub(crate) algorithm: monitor::linearizable::Algorithm,

    /// How many threads there are (ra, rc20). The monitor then forgets a write as soon as none of them may read it any
    /// more. Without this flag, threads must begin within the first million events; a thread that begins later makes
    /// the verdict `unknown`. So do threads so far apart that the monitor would need more than 4 GB
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub(crate) threads: Option<u32>,

    /// Go on after a violation: leave out the event that made it certain, and look for the next violation
    #[arg(long)]
    pub(crate) keep_going: bool,

    /// Print one JSON object per line instead of text (docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// Write the certificate of the first violation of each history to this file, for `seriatim verify`. The
    /// certificate is about the history up to the event that made the violation certain. With --json, the output
    /// contains the certificate, too
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) certificate: Option<PathBuf>,

    /// Write each history to this file, up to its first violation. The certificates are about this file
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath, conflicts_with = "listen")]
    pub(crate) record: Option<PathBuf>,

    /// Save the state to this file from time to time. If the file is there at the start, continue from it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "listen")]
    pub(crate) checkpoint: Option<PathBuf>,

    /// After how many events to save the state again. If saving takes long, the monitor saves less often, so that
    /// saving takes at most a tenth of the time
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub(crate) checkpoint_every: u64,

    /// Wait for more events at the end of the file. If the file is replaced (as logrotate does) or truncated, the new
    /// file is read from its beginning, as `tail -F` does
    #[arg(long, requires = "file")]
    pub(crate) follow: bool,

    /// Take the streams of clients of a socket: `unix:PATH`, `HOST:PORT`, or `PORT` on the loopback address. At most 64
    /// clients are served at a time; others wait
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["file", "follow"])]
    pub(crate) listen: Option<String>,

    /// With --listen: end after this many clients have come and gone
    #[arg(long, value_name = "N", requires = "listen")]
    pub(crate) clients: Option<u64>,

    /// With --listen: close the connection of a client that has sent nothing for this long; 0 means never
    #[arg(long, value_name = "SECONDS", requires = "listen", default_value_t = 300)]
    pub(crate) idle: u64,

    /// The file to read; standard input if it is `-` or left out
    #[arg(value_name = "FILE", default_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
}

/// What the monitor promises: under each heading pairs of a topic and a paragraph about it.
const MONITOR_HELP: [(&str, &[[&str; 2]]); 2] = [
    (
        "Streams",
        &[
            [
                "linearizable",
                "`[1] call enqueue 5`, `[1] return`: record each call before the operation begins, and each return \
                 after the operation has ended.",
            ],
            [
                "ra, rc20",
                "`[0] w.rel x 1`, `[1] r.acq x 1`: the operations of each thread come in program order, and each write \
                 comes before the reads of its value. A read of a value that no earlier line wrote is a violation.",
            ],
            [
                "sc-observed",
                "`[0] w x 1 po=3`: operations come in the order in which they were globally performed. `po=` is the \
                 index of an operation in the program order of its thread; without `po=`, it is one more than the \
                 greatest index so far. At the end of the stream, the indices of a thread must have no gaps. Values \
                 are ignored.",
            ],
            [
                "all of them",
                "Directives (`# @object queue`, `# @init x 5`) come before the first event of their history. A line \
                 `---` begins the next history. Otherwise, a stream has the format of a file of histories. Times \
                 (`time=`) are ignored: events happen in the order of their lines, even at equal times.",
            ],
        ],
    ),
    (
        "What happens when",
        &[
            [
                "the stream ends in mid-line",
                "The incomplete line is ignored, and standard error says so. Without --follow, the end of a file also \
                 ends its last line, which then counts.",
            ],
            ["a process never returns", "Its operation stays pending: it may or may not have taken effect."],
            ["a client dies", "Its stream ends there."],
            [
                "a client sends nothing",
                "After --idle seconds its connection is closed, and standard error says so. Its stream ends there.",
            ],
            [
                "a signal comes",
                "With --listen, SIGINT or SIGTERM ends the stream of every client; the verdicts are printed, and the \
                 socket is removed.",
            ],
            [
                "a followed file is replaced",
                "The old file is read to its end, then the new file from its beginning. A file that was truncated is \
                 read from its beginning. Standard error says so in both cases.",
            ],
            [
                "a line is bad",
                "The line is shown on standard error, and its history has no verdict. The monitor goes on with the \
                 next history (`---`). With --listen, the stream of that client ends, and the other clients go on.",
            ],
            ["two clients come at once", "Each has a stream, histories and verdicts of its own."],
            [
                "the writer is faster than the monitor",
                "Two megabytes are read ahead; then the writer waits. Nothing is dropped.",
            ],
            [
                "the monitor is killed",
                "Run it again with the same --checkpoint and the same stream from its beginning: it then prints what \
                 it would have printed. Violations printed since the last checkpoint are printed again.",
            ],
            [
                "a violation is found",
                "The rest of its history is read and ignored. With --follow or --listen, the command ends. With \
                 --keep-going, the monitor goes on.",
            ],
        ],
    ),
];

/// The text of [`MONITOR_HELP`]. Each paragraph is one line here; `clap` wraps it to the width of the terminal and
/// keeps its indentation.
fn monitor_help() -> String {
    let mut help = String::new();
    for (heading, paragraphs) in MONITOR_HELP {
        let _ = writeln!(help, "{heading}:");
        for [about, text] in paragraphs {
            let _ = writeln!(help, "  {about}\n          {text}");
        }
        help.push('\n');
    }
    help + CHECK_STATUS
}

/// List the models, each with its definition in one line, and which model implies which
#[derive(Args)]
pub(crate) struct Models {
    /// Print one JSON object per line instead of text (docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// Print more of each model: which histories it fits, what can prove its verdicts, and the tactics that decide it
    #[arg(long, conflicts_with = "json")]
    pub(crate) long: bool,

    /// Draw the lattice of the memory models in this file, for Graphviz
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) dot: Option<PathBuf>,

    /// Draw the same picture in this file, as SVG
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) svg: Option<PathBuf>,
}

/// Compute the SC-kernel of histories: the pairs of writes to one location that every store order orders the same way
///
/// Prints one line for each history: how many pairs of writes to one location there are, how many of them the
/// saturation of wsc orders, how many the partial store order of ccm orders, and how many are in the kernel.
#[derive(Args)]
#[command(after_help = "Exit status: 0 all computed; 1 some history is not sequentially consistent, so it has no \
                        kernel; 2 bad usage or bad input; 3 some kernel was not computed within the time limit.")]
pub(crate) struct Kernel {
    #[command(flatten)]
    pub(crate) reading: Reading,

    #[command(flatten)]
    pub(crate) skipping: Skipping,

    /// Print one JSON object per line instead of text (docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// Give up on a history after this many seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub(crate) timeout: Duration,

    #[command(flatten)]
    pub(crate) memory: Memory,

    /// Files of histories. `-` is standard input. FILE#k is history number k of a file, counted from 0. A directory
    /// means every history below it; in a Jepsen store, that is the history.edn of each test
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
}

/// Generate random histories of a simulated memory or, with --object, of a concurrent object
///
/// Every write to a memory writes a value of its own, so it is always clear which write a read is from. The same flags
/// give the same histories. The operations of an object overlap; their history is linearizable unless --wrong is given.
#[derive(Args)]
pub(crate) struct Gen {
    /// The machine to simulate: the model of the same name allows its histories. Or one of the hard shapes, of which
    /// the history is then composed
    #[arg(long, value_enum, default_value_t = Machine::Sc)]
    pub(crate) model: Machine,

    /// The object to simulate, instead of a memory: its operations have calls and returns
    #[arg(long, value_name = "OBJECT", value_parser = objects())]
    pub(crate) object: Option<Object>,

    /// How many threads
    #[arg(long, value_name = "K", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub(crate) threads: u32,

    /// How many operations a history has, in all its threads together
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) operations: u32,

    /// How many locations
    #[arg(
        long,
        value_name = "L",
        default_value_t = 8,
        value_parser = clap::value_parser!(u32).range(1..=16_777_216),
        help_heading = MEMORY
    )]
    pub(crate) locations: u32,

    /// The seed of the random choices
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,

    /// How many of a hundred operations write; on a container, insert or add
    #[arg(long, value_name = "P", default_value_t = 50, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) writes: u32,

    /// How many of a hundred operations are read-modify-writes; on a register, compare-and-swaps; on a mutex, tries to
    /// lock it. All other operations read; on a container, they remove or test
    #[arg(long, value_name = "P", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) rmws: u32,

    /// How many of a hundred operations are fences
    #[arg(
        long,
        value_name = "P",
        default_value_t = 0,
        value_parser = clap::value_parser!(u32).range(0..=100),
        help_heading = MEMORY
    )]
    pub(crate) fences: u32,

    /// How long a store waits in its buffer at most, in operations of each thread on average (tso, pso). A store waits
    /// longer only behind other stores
    #[arg(
        long,
        value_name = "D",
        default_value_t = 8,
        value_parser = clap::value_parser!(u32).range(0..=1000),
        help_heading = MEMORY
    )]
    pub(crate) delay: u32,

    /// How many of a hundred accesses choose at random among all writes that they may read, or all places where they
    /// may write, instead of the newest (ra, rc20, relaxed)
    #[arg(
        long,
        value_name = "P",
        default_value_t = 20,
        value_parser = clap::value_parser!(u32).range(0..=100),
        help_heading = MEMORY
    )]
    pub(crate) stale: u32,

    /// How many reads to change, so that each returns a value that was overwritten shortly before
    #[arg(long, value_name = "M", default_value_t = 0, help_heading = MEMORY)]
    pub(crate) perturb: u32,

    /// The order of the operations in the file
    #[arg(long, value_enum, default_value_t = Order::Interleaved, help_heading = MEMORY)]
    pub(crate) order: Order,

    /// How many copies of the shape
    #[arg(
        long,
        value_name = "C",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000),
        help_heading = HARD
    )]
    pub(crate) copies: u32,

    /// Put each copy into new threads, instead of all copies one after another into the same threads
    #[arg(long, help_heading = HARD)]
    pub(crate) side_by_side: bool,

    /// Let the last copy violate sc (for hard-rmw, also sra)
    #[arg(long, help_heading = HARD)]
    pub(crate) violating: bool,

    /// The format to write [default: by the extension of OUT, else text]
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub(crate) format: Option<Format>,

    /// How many histories
    #[arg(long, value_name = "H", default_value_t = 1)]
    pub(crate) histories: u64,

    /// The file to write; standard output if it is `-` or left out
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    // This comes last, because its heading holds for all flags that follow.
    #[command(flatten)]
    pub(crate) run: Run,
}

/// How a simulated object runs.
#[derive(Args)]
#[command(next_help_heading = "With --object")]
pub(crate) struct Run {
    /// How many of a hundred steps continue an open call instead of beginning a new one. The fewer, the more calls
    /// overlap
    #[arg(long, value_name = "P", default_value_t = 66, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) progress: u32,

    /// How many different values there are (elements of a set); 0 gives each insertion a value of its own
    #[arg(long, value_name = "V", default_value_t = 0)]
    pub(crate) values: u32,

    /// How many of a hundred operations of a queue, a stack or a priority queue peek
    #[arg(long, value_name = "P", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) peeks: u32,

    /// How many objects there are, each with a key of its own; 0 means one object without a key
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=16_777_216))]
    pub(crate) keys: u32,

    /// The capacity of a semaphore
    #[arg(long, value_name = "C", default_value_t = 2)]
    pub(crate) capacity: u32,

    /// How many of a thousand calls never return
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(crate) pending: u32,

    /// What goes wrong. If there are enough operations, each history has one such fault that is certainly a violation;
    /// until that fault, all calls return
    #[arg(long, value_enum)]
    pub(crate) wrong: Option<Wrong>,

    /// How many faults there are (--wrong)
    #[arg(long, value_name = "M", default_value_t = 1)]
    pub(crate) faults: u32,

    /// Among how many values `--wrong k-fifo` chooses
    #[arg(long, value_name = "K", default_value_t = 4)]
    pub(crate) k: u32,
}

/// What goes wrong in a simulated object.
#[derive(Copy, Clone, ValueEnum)]
pub(crate) enum Wrong {
    /// A removal takes one of the first k values, not the first; a read of a register returns an old value
    KFifo,
    /// A value is lost; a write has no effect
    Lost,
    /// A removed value stays inside; a lock is taken while it is held
    Duplicated,
    /// A removal returns `empty` although there is a value inside; a test gives the wrong answer
    LateEmpty,
}

/// A simulated memory system.
#[derive(Copy, Clone, ValueEnum)]
pub(crate) enum Machine {
    /// An atomic memory
    Sc,
    /// A store buffer for each thread; a read-modify-write is a full fence
    Tso,
    /// A store buffer for each thread and location; a read-modify-write waits until the buffer of its location is empty
    Pso,
    /// A machine with a view of the memory for each thread; all accesses release and acquire
    Ra,
    /// A machine with a view of the memory for each thread, with fences and mixed memory orders
    Rc20,
    /// A machine with a view of the memory for each thread, without synchronisation
    Relaxed,
    /// The shape of Figure 3 of the paper on weak sequential consistency (docs/models.md): saturation derives nothing,
    /// and one guess decides
    #[value(name = "hard-3")]
    Hard3,
    /// The shape of Figure 4: the guess leads to a long conflict
    #[value(name = "hard-4")]
    Hard4,
    /// The shape of Figure 5: two guesses are needed
    #[value(name = "hard-5")]
    Hard5,
    /// The shape of Figure 5 with read-modify-writes: two guesses are needed under sra, too
    #[value(name = "hard-rmw")]
    HardRmw,
}

/// In which order the operations of a generated history are written.
#[derive(Copy, Clone, ValueEnum)]
pub(crate) enum Order {
    /// As they happened
    Interleaved,
    /// First all of thread 0, then all of thread 1, and so on
    Threads,
}

/// Print the completions of a shell
#[derive(Args)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// Print the man page, or write the pages of all subcommands to a directory
#[derive(Args)]
pub(crate) struct Man {
    /// The directory to write to; without it, the page of `seriatim` is printed
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) directory: Option<PathBuf>,
}

/// How to read histories.
#[derive(Clone, Args)]
pub(crate) struct Reading {
    /// The kind of object, whatever the file says
    #[arg(long, value_name = "OBJECT", value_parser = objects())]
    pub(crate) object: Option<Object>,

    /// The format of the files [default: by extension, else by content]
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub(crate) format: Option<Format>,

    /// The initial value of every location or key whose initial value the file does not state. Without this flag: 0;
    /// in Jepsen's formats, nil; for kv, the empty string
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) initial: Option<String>,
}

/// What to do with inputs that cannot be read.
#[derive(Clone, Args)]
pub(crate) struct Skipping {
    /// Skip files and histories that cannot be read. Standard error names and counts them; the exit status depends only
    /// on the other files and histories
    #[arg(long)]
    pub(crate) skip_unreadable: bool,
}

/// Accepts the name of an algorithm, with any number k in `counting(k)`.
#[derive(Clone)]
struct AlgorithmParser;

impl TypedValueParser for AlgorithmParser {
    type Value = object::Algorithm;

    fn parse_ref(
        &self,
        command: &clap::Command,
        flag: Option<&Arg>,
        name: &OsStr,
    ) -> Result<object::Algorithm, clap::Error> {
        if let Some(algorithm) = name.to_str().and_then(baseline::algorithm) {
            return Ok(algorithm);
        }
        let listed = PossibleValuesParser::new(self.possible_values().into_iter().flatten());
        listed.try_map(|_| Err("k is a number, as in counting(4)")).parse_ref(command, flag, name)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values = [
            ("auto", "The fast algorithm of the object where it applies, else the search"),
            (
                "fast",
                "The fast algorithm only: `unknown` where it does not apply (a value inserted twice, strings, \
                 compare-and-swap)",
            ),
            ("search", "The search only: exact for every object, exponential time at worst"),
            ("lockstep", "The search of queues"),
            ("levels", "The search of stacks"),
            (
                "fast+search",
                "The fast algorithm where it applies, else the search; so are `fast+lockstep` and `fast+levels`",
            ),
            ("enumerate", "Tries all linearizations, one after the other: exact, exponential time"),
            ("symbolic", "A SAT solver on the first-order theory of the object: exact, exponential time at worst"),
            ("saturate", "Unit propagation in the theory of the object: finds only violations, else `unknown`"),
            ("counting(k)", "Compares the order of the last k intervals: finds only violations, else `unknown`"),
        ];
        Some(Box::new(values.into_iter().map(|(name, help)| PossibleValue::new(name).help(help))))
    }
}

/// What `--model` names.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    All,
    One(Model),
}

fn models() -> impl TypedValueParser<Value = Choice> {
    let values = Model::every().map(|model| PossibleValue::new(model.name()).help(model.summary()));
    let values = values.chain([PossibleValue::new("all").help("every model that fits")]);
    PossibleValuesParser::new(values).map(|name| Model::from_name(&name).map_or(Choice::All, Choice::One))
}

fn one_model() -> impl TypedValueParser<Value = Model> {
    one_of(Model::every())
}

fn explored() -> impl TypedValueParser<Value = explore::Model> {
    use explore::Model;
    let values = Model::ALL.map(|model| PossibleValue::new(model.name()).help(model.summary()));
    PossibleValuesParser::new(values).try_map(|name| Model::from_name(&name).ok_or("no such model"))
}

fn monitored() -> impl TypedValueParser<Value = Model> {
    one_of(Model::every().filter(|model| model.row().monitored))
}

fn one_of(models: impl Iterator<Item = Model>) -> impl TypedValueParser<Value = Model> {
    let values = models.map(|model| PossibleValue::new(model.name()).help(model.summary()));
    PossibleValuesParser::new(values).try_map(|name| Model::from_name(&name).ok_or("no such model"))
}

fn online_algorithms() -> impl TypedValueParser<Value = monitor::linearizable::Algorithm> {
    use monitor::linearizable::Algorithm;
    let values = [
        PossibleValue::new("auto").help("The exact monitor if the object has one, else `saturate`"),
        PossibleValue::new("fast")
            .help("The exact monitor: queue, register without compare-and-swap, set, mutex, semaphore"),
        PossibleValue::new("saturate")
            .help("Unit propagation: every reported violation is one, but some violations may be missed"),
    ];
    PossibleValuesParser::new(values).map(|name| match name.as_str() {
        "fast" => Algorithm::Fast,
        "saturate" => Algorithm::Saturate,
        _ => Algorithm::Auto,
    })
}

fn formats() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(|format| PossibleValue::new(format.name())))
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

fn strategies() -> impl TypedValueParser<Value = Strategy> {
    let value = |strategy: Strategy| {
        let help = match strategy.tactic() {
            None => "tries the tactics that `seriatim models --long` lists for the model, until one decides".to_owned(),
            Some(tactic) => {
                let models: Vec<&str> = tactic.models().map(Model::name).collect();
                let models = if models.len() > 8 { "most models".to_owned() } else { models.join(", ") };
                format!("{models}: {}", tactic.help())
            }
        };
        PossibleValue::new(strategy.name()).help(help)
    };
    PossibleValuesParser::new(baseline::strategies().map(value))
        .try_map(|name| baseline::strategy(&name).ok_or("no such strategy"))
}

/// How much memory a command may take.
#[derive(Debug, Args)]
pub(crate) struct Memory {
    /// Take at most this much memory, such as `500M` or `2G`. What would need more is `unknown`; a history that does
    /// not fit is an input error [default: half of what the machine has free]
    #[arg(long = "memory", value_name = "SIZE", value_parser = size)]
    limit: Option<usize>,
}

impl Memory {
    /// Sets the limit of this process.
    pub(crate) fn set_limit(&self) {
        match self.limit {
            Some(bytes) => history::ram::set_limit(bytes),
            None => history::ram::set_limit_to_half(),
        }
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
