//! The flags of `explore`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum, ValueHint};

use super::seconds;

/// The heading of the flags of random runs.
const AT_RANDOM: &str = "With --mode random";

/// The heading of the flags of programs.
const OF_PROGRAM: &str = "Programs in C and C++";

/// Explore every execution of a litmus test, or of a C or C++ program, that a memory model allows
///
/// Prints, for each file and model, what herd prints: the final states, whether the condition holds, and how many
/// executions satisfy its proposition. An execution is a reads-from class: which write each read reads. It is visited
/// exactly once. A class may end with several memories, one for each modification order.
///
/// Files called *.c, *.cc, *.cpp or *.cxx are one program. It is compiled by $CC and $CXX, as it is, and explored in a
/// process of its own. What is wrong with it is told with its lines: a failed assertion, a data race, a use of freed
/// memory, a deadlock and more (docs/programs-c.md).
#[derive(Args)]
#[command(after_help = "Exit status: 0 every condition holds; 1 some does not, or a program has a finding, or, with \
                  --liveness, some execution of a test never ends; 2 bad usage or bad input, or the output could \
                  not be written; 3 none of these, but executions that were not visited could change some verdict: the \
                  runs were random, a thread had more steps than --max-steps, or the time was not enough. With \
                  --compare the verdicts are those of the comparison: 0 all that was seen is allowed, 1 some is not.")]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
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
    /// [default: 100 in a litmus test, 1000 in a program]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) max_steps: Option<u32>,

    /// A test with an execution that never ends does not hold: exit status 1. Each of its threads has ended, or goes
    /// round for ever in a loop that waits. Without this flag, a test of which no execution ends is told, and judged by
    /// its condition
    #[arg(long)]
    pub(crate) liveness: bool,

    /// How often a weak compare-exchange may fail, and in a program a wait for a condition variable may end, without a
    /// reason: at each place in the code of a thread, in an execution. The answer says if it could have been more often
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(crate) spurious: u32,

    /// Give up on a model of a test after this many seconds: the exploration is then not complete
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub(crate) timeout: Duration,

    /// How many workers explore a test at the same time. The answers do not depend on it [default: as many as there are
    /// processor cores]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,

    /// Which threads with the same code change their names: of executions that differ in these alone, not all are
    /// visited. `auto` does so in litmus tests, where the code says it all; `always` does so with threads of a program,
    /// too, which another thread starts right after each other, with one function and one argument: nothing else may
    /// tell them apart
    #[arg(long, value_name = "WHEN", default_value = "auto", value_enum)]
    pub(crate) symmetry: Symmetry,

    /// Say about how many executions there are, and how long it would take to visit them
    #[arg(long, conflicts_with_all = ["compare", "witness", "replay"])]
    pub(crate) estimate: bool,

    /// Write an execution for each outcome into this folder: a history that `seriatim check` judges again, and a
    /// drawing of it as SVG and for Graphviz. They are called TEST.MODEL.N, where N is the number of the outcome, from
    /// 1
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) witness: Option<PathBuf>,

    /// Compare with an outcome log of litmus7, of herd or of this command: say of each test and model whether every
    /// outcome that was seen is allowed. The log may hold many tests, which are found by their names. `-` is standard
    /// input
    #[arg(long, value_name = "LOG", value_hint = ValueHint::FilePath, conflicts_with = "witness")]
    pub(crate) compare: Option<PathBuf>,

    /// How many threads a program may have
    #[arg(long, value_name = "N", default_value = "64", value_parser = clap::value_parser!(u32).range(1..=1000))]
    #[arg(help_heading = OF_PROGRAM)]
    pub(crate) max_threads: u32,

    /// How many executions of a program to visit at most
    #[arg(long, value_name = "N", help_heading = OF_PROGRAM)]
    pub(crate) max_executions: Option<u64>,

    /// How large the stack of a thread is
    #[arg(long, value_name = "KIB", default_value = "1024", value_parser = clap::value_parser!(u32).range(64..=65536))]
    #[arg(help_heading = OF_PROGRAM)]
    pub(crate) stack: u32,

    /// How much a thread may allocate
    #[arg(long, value_name = "MIB", default_value = "64", value_parser = clap::value_parser!(u32).range(1..=4096))]
    #[arg(help_heading = OF_PROGRAM)]
    pub(crate) heap: u32,

    /// How often the time of a wait may run out (`pthread_cond_timedwait` and the like): at each place in the code of a
    /// thread, in an execution. With 0 it never does
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(0..=1000))]
    #[arg(help_heading = OF_PROGRAM)]
    pub(crate) timeouts: u32,

    /// Memory that is left when all threads of a program have finished is a finding
    #[arg(long, help_heading = OF_PROGRAM)]
    pub(crate) leaks: bool,

    /// The arguments of a program, separated by spaces
    #[arg(long, value_name = "WORDS", default_value = "", help_heading = OF_PROGRAM, hide_default_value = true)]
    pub(crate) args: String,

    /// Repeat one execution of a program: the token that a finding was told with
    #[arg(long, value_name = "TOKEN", help_heading = OF_PROGRAM)]
    pub(crate) replay: Option<String>,

    /// Print the flags with which a build system compiles a program for this command
    #[arg(long, help_heading = OF_PROGRAM, conflicts_with = "libs")]
    pub(crate) cflags: bool,

    /// Print the flags with which a build system links it
    #[arg(long, help_heading = OF_PROGRAM)]
    pub(crate) libs: bool,

    /// Litmus tests, in herd's format for C, X86 or X86_64, or directories of files called `*.litmus`. `-` is standard
    /// input. Or the files of a program in C or C++, or one that was compiled with the flags of `--cflags` and `--libs`
    #[arg(value_name = "FILE", required_unless_present_any = ["cflags", "libs"], value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,

    /// Flags for the compiler of a program
    #[arg(value_name = "CFLAGS", last = true)]
    pub(crate) compiler: Vec<OsString>,
}

/// Which executions of a test to visit.
#[derive(Copy, Clone, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Every execution, each once
    Exhaustive,
    /// Executions at random
    Random,
}

/// Which threads change their names.
#[derive(Copy, Clone, PartialEq, Eq, ValueEnum)]
pub(crate) enum Symmetry {
    /// Those of litmus tests
    Auto,
    /// Those of programs, too
    Always,
    /// None: every execution is visited
    Never,
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

fn explored() -> impl TypedValueParser<Value = explore::Model> {
    use explore::Model;
    let values = Model::ALL.map(|model| PossibleValue::new(model.name()).help(model.summary()));
    PossibleValuesParser::new(values).try_map(|name| Model::from_name(&name).ok_or("no such model"))
}
