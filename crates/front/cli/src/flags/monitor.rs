//! The flags of `monitor`, and its long help.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueHint};
use model::Model;

use super::research::RESEARCH;
use super::{CHECK_STATUS, Reading, one_of, size};

/// The heading of the flags of a service.
const SERVICE: &str = "As a service (docs/monitor.md)";

/// Follow a stream of events, and report the first violation at the event that makes it certain
///
/// The stream is text or JSON Lines, one event per line, in the order in which the events happened. An event counts as
/// soon as its line is complete. The monitors work in bounded memory: they forget operations that cannot matter any
/// more. The command prints one line for each history, with its verdict: a violation at once, `consistent` at the end.
#[derive(Clone, Args)]
#[command(after_long_help = monitor_help())]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Monitor {
    /// The model. Without this flag: `linearizable` for a stream with calls and returns, `serializable` for
    /// transactions
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
    pub(crate) algorithm: monitor::linearizable::OnlineAlgorithm,

    /// How many threads there are (ra, rc20, wra). The monitor then forgets a write as soon as none of them may read it
    /// any more. Without this flag, threads must begin within the first million events; a thread that begins later
    /// makes the verdict `unknown`. So do threads so far apart that the monitor would need more than 4 GB
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub(crate) threads: Option<u32>,

    /// How many events are looked at together (wsc, tso) [default: 2048]; how many transactions are kept, besides the
    /// newest version of each key (isolation levels) [default: 10000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000_000))]
    pub(crate) window: Option<u32>,

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

    /// Save the state to this file from time to time. If the file is there at the start, continue from it. With
    /// --listen, a directory: the streams of clients with names are saved in it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) checkpoint: Option<PathBuf>,

    /// After how many events to save the state again. If saving takes long, the monitor saves less often, so that
    /// saving takes at most a tenth of the time
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub(crate) checkpoint_every: u64,

    /// After how many seconds to save the state again, if there are new events
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub(crate) checkpoint_seconds: u64,

    /// Wait for more events at the end of the file. If the file is replaced (as logrotate does) or truncated, the new
    /// file is read from its beginning, as `tail -F` does
    #[arg(long, requires = "file")]
    pub(crate) follow: bool,

    /// The longest line, such as `4M` [default: 16M; with --listen 1M]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) longest_line: Option<usize>,

    /// Show numbers on this address: /metrics for Prometheus, a live page at /, and whether all is well at /healthz and
    /// /readyz. `PORT` on the loopback address, or `HOST:PORT`
    #[arg(long, value_name = "ADDRESS", help_heading = SERVICE)]
    pub(crate) metrics: Option<String>,

    /// Write what standard error would say to this file, as one JSON object per line, and more; `-` is standard error.
    /// SIGHUP opens the file again
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = SERVICE)]
    pub(crate) log: Option<PathBuf>,

    /// Take the streams of clients of a socket: `unix:PATH`, `HOST:PORT`, or `PORT` on the loopback address. It can be
    /// given several times
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["file", "follow"], help_heading = SERVICE)]
    pub(crate) listen: Vec<String>,

    /// With --listen: the lines of all clients are one history, in the order in which they come. Without it, each
    /// client has its own
    #[arg(long, requires = "listen", help_heading = SERVICE)]
    pub(crate) shared: bool,

    /// With --listen and --metrics: addresses may be such that other machines reach them. Nobody is asked who he is
    #[arg(long, help_heading = SERVICE)]
    pub(crate) allow_remote: bool,

    /// With --listen: end after this many clients have come and gone
    #[arg(long, value_name = "N", requires = "listen", help_heading = SERVICE)]
    pub(crate) clients: Option<u64>,

    /// With --listen: serve this many clients at a time; others wait
    #[arg(
        long,
        value_name = "N",
        requires = "listen",
        default_value_t = 256,
        value_parser = clap::value_parser!(u32).range(1..=100_000),
        help_heading = SERVICE
    )]
    pub(crate) max_clients: u32,

    /// With --listen: end a stream whose state is larger than this, as a checkpoint would hold it. Its verdict is
    /// `unknown`
    #[arg(
        long,
        value_name = "SIZE",
        requires = "listen",
        default_value = "64M",
        value_parser = size,
        help_heading = SERVICE
    )]
    pub(crate) client_memory: usize,

    /// With --listen: close the connection of a client that has sent no whole line for this long; 0 means never
    #[arg(long, value_name = "SECONDS", requires = "listen", default_value_t = 300, help_heading = SERVICE)]
    pub(crate) idle: u64,

    /// Ask the service whose --metrics are at this address whether it is well, and do nothing else: exit status 0 or 2
    #[arg(long, value_name = "ADDRESS", exclusive = true, help_heading = SERVICE)]
    pub(crate) health: Option<String>,

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
                "ra, rc20, relaxed, wra",
                "`[0] w.rel x 1`, `[1] r.acq x 1`: the operations of each thread come in program order, and each write \
                 comes before the reads of its value. A read of a value that no earlier line wrote is a violation. \
                 Under `relaxed` no thread learns of the others, so nothing can be forgotten.",
            ],
            [
                "wsc, tso",
                "`[0] w x 1`, `[1] r x 1`: the operations of each thread come in program order. The last --window \
                 operations are looked at together, with the writes that they read. What is reported is a violation; \
                 one whose operations are farther apart is missed, so the verdict of a stream without a violation is \
                 `unknown`. A value must not be written twice to a location.",
            ],
            [
                "read-committed, read-atomic, causal, serializable",
                "`[a] begin`, `[a] r x 1`, `[a] w x 2`, `[a] commit`: transactions, in the order in which they commit. \
                 Each is looked at when it and those that it reads from have ended. A value that is read and was \
                 written by no transaction that had begun by then is a violation. The first three are exact. Of \
                 `serializable` every violation is one; without a violation the verdict is `consistent` if every read \
                 returned the newest version, or if the order of all versions is known (lists, and registers that are \
                 read before they are written), and `unknown` otherwise. The last --window transactions are kept, and \
                 the newest version of each key. The verdict is `unknown`, and says so, if an older one could matter. \
                 A value must not be written twice to a key. After a violation nothing more is decided.",
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
            [
                "a client dies",
                "Its stream ends there. With --checkpoint, the stream of a client with a name waits for it.",
            ],
            [
                "a client sends no whole line",
                "After --idle seconds its connection is closed, and standard error says so. For its stream, it has \
                 died.",
            ],
            [
                "a signal comes",
                "SIGINT or SIGTERM ends every stream; the verdicts are printed, and sockets are removed. With \
                 --checkpoint, streams that can go on are saved instead. With --log, SIGHUP opens the log again.",
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
            [
                "two clients come at once",
                "Each has a stream, histories and verdicts of its own, unless --shared is set. Of two with one name, \
                 the second is refused.",
            ],
            [
                "the writer is faster than the monitor",
                "Two megabytes are read ahead, of a client 64 kilobytes; then the writer waits. Nothing is dropped.",
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

fn monitored() -> impl TypedValueParser<Value = Model> {
    one_of(Model::every().filter(|model| model.row().monitored))
}

fn online_algorithms() -> impl TypedValueParser<Value = monitor::linearizable::OnlineAlgorithm> {
    use monitor::linearizable::OnlineAlgorithm;
    let values = [
        PossibleValue::new("auto").help("The exact monitor if the object has one, else `search`"),
        PossibleValue::new("fast")
            .help("The exact monitor: queue, register without compare-and-swap, set, mutex, semaphore"),
        PossibleValue::new("search")
            .help("All that can have happened: exact for every object, with values that repeat, until it is too much"),
        PossibleValue::new("saturate")
            .help("Unit propagation: every reported violation is one, but some violations may be missed"),
    ];
    PossibleValuesParser::new(values).map(|name| match name.as_str() {
        "fast" => OnlineAlgorithm::Fast,
        "search" => OnlineAlgorithm::Search,
        "saturate" => OnlineAlgorithm::Saturate,
        _ => OnlineAlgorithm::Auto,
    })
}
