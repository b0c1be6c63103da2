//! The flags of `check`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};
use model::Isolation;
use model::Model;

use crate::check::corpus::Shard;

use super::{CHECK_STATUS, Choice, Memory, Reading, Research, Skipping, SourceFlags, models, seconds};

/// The end of the short help, which fits one screen. All else is in the long help.
const SHORT: &str = "\
Common models: sc, tso, ra, c20, causal, linearizable, serializable, si.
`seriatim models` lists all; `seriatim check --help` says more, with more flags.
Exit status: 0 consistent; 1 violation; 2 bad usage or input; 3 unknown.";

/// Check histories against models
///
/// Prints one line for each history and model: `FILE[#k]: MODEL: consistent|violation|unknown`. If a file holds
/// several histories, `#k` is the number of the history, counted from 0. The explanation of a violation stands below
/// its line. A file that cannot be read is reported on standard error, with the place of the mistake; all other files
/// are still checked.
#[derive(Args)]
#[command(after_help = SHORT, after_long_help = CHECK_STATUS)]
pub(crate) struct Check {
    /// Models, with commas between; `all` that fit
    ///
    /// Models to check, separated by commas; `all` for every model that fits. Without this flag: for transactions
    /// `strict-serializable` if times are known, else `serializable`; `linearizable` for a history with calls and
    /// returns; `sc` for any other.
    #[arg(short, long = "model", value_name = "MODEL", value_delimiter = ',', value_parser = models())]
    pub(crate) models: Vec<Choice>,

    /// Whose names the levels of transactions have, in `--model` and in the answers. Elle's names without a prefix do
    /// not know sessions: its `serializable` is `sessionless-serializable` here, its `strong-session-serializable` is
    /// `serializable`
    #[arg(long, value_name = "WHOSE", value_enum, default_value_t = Names::Seriatim, hide_short_help = true)]
    pub(crate) names: Names,

    #[command(flatten)]
    pub(crate) reading: Reading,

    #[command(flatten)]
    pub(crate) skipping: Skipping,

    #[command(flatten)]
    pub(crate) sources: SourceFlags,

    /// Print one JSON object per line (docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// Give up on a model after this time
    ///
    /// Give up on a model of a history after this many seconds: its verdict is then `unknown`. To read a history may
    /// take as long, and at least a second; what is not read by then is bad input.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub(crate) timeout: Duration,

    #[command(flatten)]
    pub(crate) memory: Memory,

    /// How many histories at a time [default: cores]
    ///
    /// How many histories to check at the same time [default: as many as there are processor cores].
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,

    /// Write the certificates, for `seriatim verify`
    ///
    /// Write the certificates of all verdicts to this file, one per line, for `seriatim verify`. With --json, the
    /// output contains the certificates, too.
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) certificate: Option<PathBuf>,

    /// Write a page for every violation
    ///
    /// Write a page for every violation to this directory, and an index of the run, `index.html` (docs/report.md).
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "state")]
    pub(crate) report: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) ci: Ci,

    #[command(flatten)]
    pub(crate) state: StateFlags,

    #[command(flatten)]
    pub(crate) only: Only,

    /// Print no explanations and no progress
    ///
    /// Print no explanations, no progress, and no line for a verdict `consistent`. With --json, every verdict is
    /// printed, without explanations and progress.
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) research: Research,

    /// Files to check. `-` is standard input. FILE#k is history number k of a file, counted from 0. A directory means
    /// every history below it; in a Jepsen store, that is the history.edn of each test
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::AnyPath, hide_short_help = true)]
    pub(crate) files: Vec<PathBuf>,
}

impl Check {
    /// The flags on which verdicts and output depend, with their values. A flag that is not given is left out.
    pub(crate) fn significant(&self) -> Vec<(String, String)> {
        let models: Vec<&str> = self.models.iter().copied().map(Choice::name).collect();
        let given = |is_given: bool| is_given.then(String::new);
        let Research { algorithm, strategy } = &self.research;
        let flags = [
            ("--model", (!models.is_empty()).then(|| models.join(","))),
            ("--names elle", given(self.names == Names::Elle)),
            ("--object", self.reading.object.map(|object| object.name().to_owned())),
            ("--format", self.reading.format.map(|format| format.name().to_owned())),
            ("--initial", self.reading.initial.clone()),
            ("--skip-unreadable", given(self.skipping.skip_unreadable)),
            ("--unique", given(self.sources.unique)),
            ("--json", given(self.json)),
            ("--timeout", Some(format!("{:?}", self.timeout))),
            ("--memory", self.memory.given().map(|bytes| bytes.to_string())),
            ("--certificate", given(self.certificate.is_some())),
            ("--junit", given(self.ci.junit.is_some())),
            ("--github", given(self.ci.github)),
            ("--first", given(self.only.first)),
            ("--smallest", given(self.only.smallest)),
            ("--quiet", given(self.quiet)),
            ("--algorithm", Some(format!("{algorithm:?}"))),
            ("--strategy", Some(strategy.name().to_owned())),
        ];
        flags.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

/// A run that can be stopped and resumed, or split.
#[derive(Args)]
pub(crate) struct StateFlags {
    /// Keep what is decided in this file. If the run is stopped, even by SIGKILL or by a crash, the same command goes
    /// on where it was, and prints the whole corpus. A state of another corpus, of other flags or of another version is
    /// refused. The input must be files (docs/scale.md)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub(crate) state: Option<PathBuf>,

    /// Check only part I of N of the corpus, counted from 1. `seriatim merge` puts the states of all parts together
    #[arg(long, value_name = "I/N", requires = "state", conflicts_with = "certificate", hide_short_help = true)]
    shard: Option<Shard>,
}

impl StateFlags {
    /// The part of the corpus that is to be checked.
    pub(crate) fn shard(&self) -> Shard {
        self.shard.unwrap_or(Shard::ALL)
    }
}

/// Whose names the levels of transactions have.
#[derive(Copy, Clone, PartialEq, Eq, ValueEnum)]
pub(crate) enum Names {
    /// Those of `seriatim models`
    Seriatim,
    /// Those of Elle and Jepsen
    Elle,
}

impl Names {
    /// What a name of ours means.
    pub(crate) fn meaning(self, model: Model) -> Model {
        match self {
            Self::Seriatim => model,
            Self::Elle => Isolation::from_elle(model.name()).map_or(model, Isolation::model),
        }
    }

    /// The name of a model in an answer. A level that Elle has no name for keeps ours.
    pub(crate) fn of(self, model: Model) -> &'static str {
        match self {
            Self::Seriatim => model.name(),
            Self::Elle => model.isolation().and_then(Isolation::elle_name).unwrap_or(model.name()),
        }
    }
}

/// Which violations to report: all, unless one of these says otherwise.
#[derive(Args)]
pub(crate) struct Only {
    /// Stop at the first violation
    ///
    /// Stop at the first violation in the order of the input. It is the same whatever the number of jobs: every history
    /// before it is decided, and none after it is printed.
    #[arg(long, visible_alias = "fail-fast", conflicts_with = "smallest")]
    pub(crate) first: bool,

    /// Report only the history with the fewest operations that violates a model; of several, the first
    #[arg(long, hide_short_help = true)]
    pub(crate) smallest: bool,
}

/// What CI servers read.
#[derive(Args)]
pub(crate) struct Ci {
    /// Write the verdicts as JUnit XML
    ///
    /// Write the verdicts to this file as JUnit XML: a violation is a failure, an unknown verdict and a bad input are
    /// errors.
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) junit: Option<PathBuf>,

    /// Print a GitHub annotation for each violation, unknown verdict and bad input, besides the text: the workflow
    /// shows it at the line of the history
    #[arg(long, conflicts_with = "json", hide_short_help = true)]
    pub(crate) github: bool,
}
