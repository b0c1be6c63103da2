//! Every flag, once: the help, the man pages and the shell completions are made from this.

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

/// Flags that are for research.
const RESEARCH: &str = "To compare algorithms";
/// What `gen` takes of only one kind of history.
const MEMORY: &str = "Of a memory";
const HARD: &str = "Of the hard shapes";

/// Tells whether a recorded concurrent execution is allowed by a consistency model, shows why, and proves it.
#[derive(Parser)]
#[command(name = "seriatim", version, max_term_width = 100)]
pub(crate) struct Flags {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Check(Check),
    Classify(Classify),
    Verify(Verify),
    Convert(Convert),
    Monitor(Box<Monitor>),
    Models(Models),
    Kernel(Kernel),
    Gen(Gen),
    Completions(Completions),
    Man(Man),
}

/// Check histories against models
///
/// For each history and model one line: `FILE[#k]: MODEL: consistent|violation|unknown` (`#k` numbers the histories
/// of a file that holds several, from 0), and under a violation its explanation. Bad input is shown on standard error
/// with its place; the rest of the run goes on.
#[derive(Args)]
#[command(after_help = "Exit status: 0 all consistent; 1 some violation; 2 bad usage or bad input, or the output \
                        could not be written; 3 none violated but some unknown.")]
pub(crate) struct Check {
    /// Models to check, separated by commas; `all` for every model that fits. Without it: `linearizable` for a
    /// history with calls and returns, else sc
    #[arg(short, long = "model", value_name = "MODEL", value_delimiter = ',', value_parser = models())]
    pub(crate) models: Vec<Choice>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    #[command(flatten)]
    pub(crate) skipping: Skipping,

    /// Print one JSON object a line instead of text (docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// Give up on a history and model after so many seconds: the verdict is then `unknown`
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub(crate) timeout: Duration,

    /// How many histories to check at the same time [default: as many as there are processor cores]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,

    /// Write the certificates of all verdicts to this file, one a line, for `seriatim verify`. With --json they also
    /// stand in the output
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) certificate: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) only: Only,

    /// Print only the lines of verdicts other than `consistent`, no explanations and no progress. With --json, only the
    /// explanations and the progress are left out
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) research: Research,

    /// Files to check; `-` is standard input, FILE#k the history k of a file, counted from 0. A directory means every history
    /// below it; of a test in a Jepsen store, its history.edn
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
}

/// Which violations to report: all, unless one of these says otherwise.
#[derive(Args)]
pub(crate) struct Only {
    /// Stop at the first violation, in the order of the input
    #[arg(long, conflicts_with = "smallest")]
    pub(crate) first: bool,

    /// Report only the smallest history that violates a model: the one with the fewest operations, of several the first
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

    /// With `--algorithm saturate`, and `symbolic` for containers: forget values that were inserted and removed,
    /// writes that were overwritten. Time and memory of a step of `saturate` then depend on what the object holds and
    /// what overlaps
    #[arg(long, help_heading = RESEARCH)]
    pub(crate) remove_matches: bool,

    /// How to decide the memory models: `auto`, or one tactic alone. What a tactic decides is exact; where it says
    /// nothing, the verdict is `unknown`. A model that the tactic is not for is decided by `auto`. With --json,
    /// `strategy` names the tactic that decided
    #[arg(long, value_name = "STRATEGY", default_value = "auto", value_parser = strategies(), help_heading = RESEARCH)]
    pub(crate) strategy: Strategy,
}

/// Find the place of histories in the lattice of memory models
///
/// For each history one line: the strongest models that it satisfies and the weakest that it breaks; what they imply
/// goes without saying (`seriatim models` prints it). Below stands why the weakest are broken. A model is asked at
/// most once, and only if nothing known of the others decides it.
#[derive(Args)]
#[command(
    after_help = "Exit status: 0 all classified, whatever they satisfy; 2 bad usage or bad input, or the output could \
                        not be written; 3 some model could not be decided."
)]
pub(crate) struct Classify {
    #[command(flatten)]
    pub(crate) reading: Reading,

    #[command(flatten)]
    pub(crate) skipping: Skipping,

    /// Print one JSON object a line instead of text (docs/json.md): also which models were asked, and what follows
    /// from what
    #[arg(long)]
    pub(crate) json: bool,

    /// Draw the lattice in this file, for Graphviz: where the history stands or, of several, how many satisfy each
    /// model
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) dot: Option<PathBuf>,

    /// The same as an SVG picture
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) svg: Option<PathBuf>,

    /// Give up on a history and model after so many seconds: the model is then unknown, unless another decides it
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub(crate) timeout: Duration,

    /// How many histories to classify at the same time [default: as many as there are processor cores]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,

    /// Print no explanations
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Files to classify; `-` is standard input, FILE#k the history k of a file, counted from 0. A directory means every history
    /// below it; of a test in a Jepsen store, its history.edn
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
}

/// Verify certificates, with code that shares nothing with the checkers but the parser
///
/// For each certificate one line: whether it is verified, or refused and why. How many histories have no certificate
/// is said on standard error.
#[derive(Args)]
#[command(
    after_help = "Exit status: 0 all verified; 1 some refused, or with --all some history has no certificate; 2 bad \
                        usage or bad input; 3 none of these, but a bug in seriatim left some unknown."
)]
pub(crate) struct Verify {
    /// The file that `seriatim check --certificate` wrote
    #[arg(value_name = "CERT", value_hint = ValueHint::FilePath)]
    pub(crate) certificate: PathBuf,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Refuse if some history has no certificate
    #[arg(long)]
    pub(crate) all: bool,

    /// Print one JSON object a line instead of text (docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// The history that the certificates are about: the same files in the same order as in the check
    #[arg(value_name = "HISTORY", required = true, value_hint = ValueHint::AnyPath)]
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

    /// The initial value of every location or key of which the file says nothing by its name. Without it: 0, nil in
    /// Jepsen's formats, the empty string for kv
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) initial: Option<String>,

    /// The file to read, or FILE#k for its history k, counted from 0; standard input if it is `-` or left out
    #[arg(value_name = "IN", default_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) input: PathBuf,

    /// The file to write; standard output if it is `-` or left out
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}

/// Follow a stream of events, and report the first violation at the event that makes it certain
///
/// The stream is text or JSON Lines, one event a line, in the order in which the events happened; an event counts as
/// soon as its line is complete. The monitors work in bounded memory: they forget what cannot matter any more. For
/// each history one line with its verdict: a violation at once, `consistent` at the end.
#[derive(Clone, Args)]
#[command(after_long_help = monitor_help())]
pub(crate) struct Monitor {
    /// The model. Without it: `linearizable` for a stream with calls and returns
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

    /// How many threads there are (ra, rc20): what none of them may read any more is forgotten at once. Without it,
    /// threads must begin within the first million events; one that begins later makes the verdict `unknown`, and so
    /// do threads so far apart that more than 4 GB would have to be remembered
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub(crate) threads: Option<u32>,

    /// Go on after a violation: the event is left out, and the next one is looked for
    #[arg(long)]
    pub(crate) keep_going: bool,

    /// Print one JSON object a line instead of text (docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// Write the certificate of the first violation of each history to this file, for `seriatim verify`: it is about
    /// the history up to that event. With --json it also stands in the output
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) certificate: Option<PathBuf>,

    /// Write what is read to this file, each history up to its first violation: what the certificates are about
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath, conflicts_with = "listen")]
    pub(crate) record: Option<PathBuf>,

    /// Save the state to this file from time to time, and continue from it if it is there
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "listen")]
    pub(crate) checkpoint: Option<PathBuf>,

    /// After how many events to save the state again. If saving takes long, it is put off, so that it takes at most a
    /// tenth of the time
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub(crate) checkpoint_every: u64,

    /// Wait for more at the end of the file, as it grows. If it is replaced (as logrotate does) or truncated, the new
    /// one is read from its beginning, as `tail -F` does
    #[arg(long, requires = "file")]
    pub(crate) follow: bool,

    /// Take the streams of clients of a socket: `unix:PATH`, `HOST:PORT`, or `PORT` on the loopback address. At most 64
    /// clients are served at a time; others wait
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["file", "follow"])]
    pub(crate) listen: Option<String>,

    /// With --listen: end when so many clients have come and gone
    #[arg(long, value_name = "N", requires = "listen")]
    pub(crate) clients: Option<u64>,

    /// With --listen: close a client that has sent nothing for so long; 0 means never
    #[arg(long, value_name = "SECONDS", requires = "listen", default_value_t = 300)]
    pub(crate) idle: u64,

    /// The file to read; standard input if it is `-` or left out
    #[arg(value_name = "FILE", default_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
}

/// What the monitor promises: paragraphs, each below what it is about.
const MONITOR_HELP: [(&str, &[[&str; 2]]); 2] = [
    (
        "Streams",
        &[
            [
                "linearizable",
                "`[1] call enqueue 5`, `[1] return`: each call before it begins, each return after it ended.",
            ],
            [
                "ra, rc20",
                "`[0] w.rel x 1`, `[1] r.acq x 1`: each thread in program order, each write before its reads. A read \
                 of a value that was not written before it is a violation.",
            ],
            [
                "sc-observed",
                "`[0] w x 1 po=3`: operations in the order in which they were globally performed, with their index in \
                 the program order of their thread (without `po=`, one more than the greatest so far). Indices are \
                 without gaps in the end. Values are not looked at.",
            ],
            [
                "all of them",
                "Directives (`# @object queue`, `# @init x 5`) come before the first event of their history; `---` \
                 begins the next. `---` apart, what holds for files of histories holds for streams. Times (`time=`) \
                 are not looked at: events happen in the order of their lines, equal times or not.",
            ],
        ],
    ),
    (
        "What happens when",
        &[
            [
                "the stream ends in mid-line",
                "The incomplete line is not looked at, which is said on standard error; at the end of a file that is \
                 not followed, it is a line.",
            ],
            ["a process never returns", "Its operation stays pending: it may or may not have taken effect."],
            ["a client dies", "Its stream ends there."],
            [
                "a client sends nothing",
                "After --idle seconds it is closed, which is said on standard error: its stream ends there.",
            ],
            [
                "a signal comes",
                "With --listen, SIGINT or SIGTERM ends the stream of every client; the verdicts are printed, and the \
                 socket is removed.",
            ],
            [
                "a followed file is replaced",
                "The old file is read to its end, then the new one from its beginning; a file that was truncated is \
                 read from its beginning. Both are said on standard error.",
            ],
            [
                "a line is bad",
                "It is shown on standard error, and its history has no verdict; the next history (`---`) is looked at. \
                 With --listen, that client's stream ends, and no other is touched.",
            ],
            ["two clients come at once", "Each has a stream, histories and verdicts of its own."],
            ["the writer is faster", "Two megabytes are read ahead; then the writer waits. Nothing is dropped."],
            [
                "the monitor is killed",
                "Run again with the same --checkpoint and the same stream from its beginning, it says what it would \
                 have said. Violations told since the last checkpoint are told again.",
            ],
            [
                "a violation is found",
                "The rest of its history is read and not looked at; with --follow and --listen, the command ends. With \
                 --keep-going, it goes on.",
            ],
        ],
    ),
];

/// A paragraph is one line, which is wrapped to the width of the terminal and keeps its indentation.
fn monitor_help() -> String {
    let mut help = String::new();
    for (heading, paragraphs) in MONITOR_HELP {
        let _ = writeln!(help, "{heading}:");
        for [about, text] in paragraphs {
            let _ = writeln!(help, "  {about}\n          {text}");
        }
        help.push('\n');
    }
    help + "Exit status: 0 all consistent; 1 some violation; 2 bad usage or bad input, or the output could not be \
            written; 3 none violated but some unknown."
}

/// List the models, each with a line that says what it asks for, and the implications among them
#[derive(Args)]
pub(crate) struct Models {
    /// Print one JSON object a line instead of text (docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// Print all that is known of each model: also what it speaks of, what proves it, and the tactics that decide it
    #[arg(long, conflicts_with = "json")]
    pub(crate) long: bool,

    /// Draw the lattice of the memory models in this file, for Graphviz
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) dot: Option<PathBuf>,

    /// The same as an SVG picture
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) svg: Option<PathBuf>,
}

/// Compute the SC-kernel of histories: the pairs of same-location writes that every store order orders the same way
///
/// For each history one line: how many pairs of same-location writes there are, how many of them the saturation of
/// wsc and the partial store order of ccm order, and how many are in the kernel.
#[derive(Args)]
#[command(after_help = "Exit status: 0 all computed; 1 some history is not sequentially consistent, so it has no \
                        kernel; 2 bad usage or bad input; 3 some not computed within the time limit.")]
pub(crate) struct Kernel {
    #[command(flatten)]
    pub(crate) reading: Reading,

    #[command(flatten)]
    pub(crate) skipping: Skipping,

    /// Print one JSON object a line instead of text (docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// Give up on a history after so many seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub(crate) timeout: Duration,

    /// Files; `-` is standard input, FILE#k the history k of a file, counted from 0. A directory means every history
    /// below it; of a test in a Jepsen store, its history.edn
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
}

/// Generate random histories of a simulated memory, or with --object of a concurrent object
///
/// Every write writes a value of its own, so reads-from is never ambiguous. The same flags give the same histories.
/// Runs of an object have calls and returns that overlap, and are linearizable unless --wrong says what goes wrong.
#[derive(Args)]
pub(crate) struct Gen {
    /// The machine to simulate, whose histories are allowed by the model of its name; or a shape to compose
    #[arg(long, value_enum, default_value_t = Machine::Sc)]
    pub(crate) model: Machine,

    /// The object to simulate, instead of a memory: its operations have calls and returns
    #[arg(long, value_name = "OBJECT", value_parser = objects())]
    pub(crate) object: Option<Object>,

    /// How many threads
    #[arg(long, value_name = "K", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub(crate) threads: u32,

    /// How many operations, all threads of a history together
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

    /// Where the random choices start
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,

    /// How many of a hundred operations write (insert, add)
    #[arg(long, value_name = "P", default_value_t = 50, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) writes: u32,

    /// How many of a hundred operations are read-modify-writes (compare-and-swaps of a register, tries to lock a
    /// mutex); the others read (remove, test)
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

    /// How many operations of each thread, on average, a store waits in its buffer at most, if no other holds it up
    /// (tso, pso)
    #[arg(
        long,
        value_name = "D",
        default_value_t = 8,
        value_parser = clap::value_parser!(u32).range(0..=1000),
        help_heading = MEMORY
    )]
    pub(crate) delay: u32,

    /// How many of a hundred accesses take any message or place they may, not the newest (ra, rc20, relaxed)
    #[arg(
        long,
        value_name = "P",
        default_value_t = 20,
        value_parser = clap::value_parser!(u32).range(0..=100),
        help_heading = MEMORY
    )]
    pub(crate) stale: u32,

    /// Re-target so many reads to an overwritten value near by
    #[arg(long, value_name = "M", default_value_t = 0, help_heading = MEMORY)]
    pub(crate) perturb: u32,

    /// The order of the operations in the file
    #[arg(long, value_enum, default_value_t = Order::Interleaved, help_heading = MEMORY)]
    pub(crate) order: Order,

    /// How many copies
    #[arg(
        long,
        value_name = "C",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000),
        help_heading = HARD
    )]
    pub(crate) copies: u32,

    /// Each copy in new threads instead of one after another in the same
    #[arg(long, help_heading = HARD)]
    pub(crate) side_by_side: bool,

    /// With a last copy that is not sequentially consistent (hard-rmw: nor sra)
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

    // Its heading would hold for all that follows.
    #[command(flatten)]
    pub(crate) run: Run,
}

/// How the operations of a simulated object go.
#[derive(Args)]
#[command(next_help_heading = "With --object")]
pub(crate) struct Run {
    /// How many of a hundred steps go on with an open call rather than begin one: the fewer, the more calls overlap
    #[arg(long, value_name = "P", default_value_t = 66, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) progress: u32,

    /// How many different values (elements of a set); 0 for a value of its own for each insertion
    #[arg(long, value_name = "V", default_value_t = 0)]
    pub(crate) values: u32,

    /// How many of a hundred operations of a queue, a stack or a priority queue peek
    #[arg(long, value_name = "P", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) peeks: u32,

    /// How many objects, each with a key; 0 for one without
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=16_777_216))]
    pub(crate) keys: u32,

    /// The capacity of a semaphore
    #[arg(long, value_name = "C", default_value_t = 2)]
    pub(crate) capacity: u32,

    /// How many of a thousand calls never return
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(crate) pending: u32,

    /// What goes wrong. Once in each run it shows for certain, if there are operations enough; until then all calls return
    #[arg(long, value_enum)]
    pub(crate) wrong: Option<Wrong>,

    /// How many times it goes wrong
    #[arg(long, value_name = "M", default_value_t = 1)]
    pub(crate) faults: u32,

    /// Among how many values k-fifo chooses
    #[arg(long, value_name = "K", default_value_t = 4)]
    pub(crate) k: u32,
}

/// What goes wrong in a simulated object.
#[derive(Copy, Clone, ValueEnum)]
pub(crate) enum Wrong {
    /// One of the first k values is removed, not the first; a register returns an old value
    KFifo,
    /// A value is lost; a write has no effect
    Lost,
    /// A value is removed and stays inside; a lock is taken while it is held
    Duplicated,
    /// A removal returns `empty` though there is something; a test gives the wrong answer
    LateEmpty,
}

/// A simulated memory system.
#[derive(Copy, Clone, ValueEnum)]
pub(crate) enum Machine {
    /// An atomic memory
    Sc,
    /// A store buffer for each thread; a read-modify-write is a full fence
    Tso,
    /// A store buffer for each thread and location; a read-modify-write waits for that of its location
    Pso,
    /// A view machine whose accesses all release and acquire
    Ra,
    /// A view machine with fences and mixed memory orders
    Rc20,
    /// A view machine without synchronisation
    Relaxed,
    /// The shape of Figure 3 of the wSC paper: saturation derives nothing, and one guess decides
    #[value(name = "hard-3")]
    Hard3,
    /// Figure 4: the conflict that the guess leads to is long
    #[value(name = "hard-4")]
    Hard4,
    /// Figure 5: two guesses are needed
    #[value(name = "hard-5")]
    Hard5,
    /// The same as Figure 5 with read-modify-writes: two guesses are needed under sra, too
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
    /// The directory
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

    /// The initial value of every location or key of which the file says nothing by its name. Without it: 0, nil in
    /// Jepsen's formats, the empty string for kv
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) initial: Option<String>,
}

/// What to do with inputs that cannot be read.
#[derive(Clone, Args)]
pub(crate) struct Skipping {
    /// Pass over files and histories that cannot be read: they are named on standard error, and counted there in the end, but
    /// the exit status is that of the others
    #[arg(long)]
    pub(crate) skip_unreadable: bool,
}

/// Takes `counting(k)` for any number k.
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
                "The fast algorithm only: `unknown` where it does not apply (a value is inserted twice, strings, \
                 compare-and-swap)",
            ),
            ("search", "The search only: exact for every object, in exponential time at worst"),
            ("lockstep", "The search of queues"),
            ("levels", "The search of stacks"),
            (
                "fast+search",
                "The fast algorithm where it applies, else the search; so are `fast+lockstep` and `fast+levels`",
            ),
            ("enumerate", "Linearizations one after the other, nothing remembered: exact, exponential"),
            ("symbolic", "By satisfiability of the theory of the object: exact, exponential at worst"),
            ("saturate", "By unit propagation in that theory: finds violations only, else `unknown`"),
            ("counting(k)", "By the order of the last k intervals: finds violations only, else `unknown`"),
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

fn monitored() -> impl TypedValueParser<Value = Model> {
    let models = Model::every().filter(|model| model.row().monitored);
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
            .help("By unit propagation: what it reports is a violation, but it may miss some"),
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

/// Takes the names that the formats take (`lock`, `atomic-queue`), and lists those that we print.
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
            None => "the tactics that `seriatim models --long` lists for the model, until one decides".to_owned(),
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

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    if seconds.is_nan() || seconds < 0.0 {
        return Err("a time limit is not negative".to_owned());
    }
    // Longer than any run, and yet such that it can be added to any moment.
    Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

/// The flags of the subcommand that were given, by their names in the program.
pub(crate) fn given(matches: &ArgMatches) -> Vec<&str> {
    let Some((_, matches)) = matches.subcommand() else { return Vec::new() };
    // Groups of flags have the names of types.
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
