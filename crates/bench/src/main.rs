//! The command `bench`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use bench::{Options, Scale};
use clap::{Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Rerun the experiments of the papers that Seriatim follows
#[derive(Parser)]
#[command(name = "bench", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run experiments: the algorithms of the papers take turns with Seriatim on the same histories
    ///
    /// Prints tables, and one line for each experiment that says whether the claim of the paper holds here. Writes
    /// NAME.csv with all values, plots pictures/NAME.svg, and report.md. What was measured is kept in NAME.state as the
    /// run goes on, so a run may be stopped and resumed.
    Paper(Paper),

    /// Put the results of finished runs on the pages of results in a folder of documentation
    ///
    /// What follows the heading "Results" on experiments.md, experiments-mr.md and experiments-rf.md is replaced, and
    /// so are the plots in pictures/. Every experiment must have a finished run in one of the folders.
    Pages(Pages),
}

#[derive(clap::Args)]
struct Pages {
    /// The folders of the runs, as `--out` of `paper` named them
    #[arg(required = true)]
    runs: Vec<PathBuf>,

    /// The folder of the pages
    #[arg(long, value_name = "DIR", default_value = "docs")]
    docs: PathBuf,

    /// What is to be said of the runs, beside the machine
    #[arg(long, value_name = "TEXT", default_value = "")]
    note: String,
}

#[derive(clap::Args)]
struct Paper {
    /// An experiment, a paper (all its experiments), or `all`. `list` prints the names
    name: String,

    /// Run everything small: all experiments together in three minutes
    #[arg(long)]
    quick: bool,

    /// Write the results into this folder
    #[arg(long, value_name = "DIR", default_value = "experiments")]
    out: PathBuf,

    /// Where all random choices start
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Go on with a run that was stopped
    #[arg(long)]
    resume: bool,

    /// Measure this percentage of the papers' numbers of samples
    #[arg(long, value_name = "PERCENT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100))]
    share: u32,

    /// The time limit of one algorithm for one history, in seconds, instead of that of the experiment
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    limit: Option<Duration>,

    /// Where violations are made by changing reads: how far the new write may be from the old one, in writes of the
    /// location
    #[arg(long, value_name = "WRITES", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    distance: u32,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().map_err(|error| error.to_string())?;
    let is_good = seconds > 0.0;
    Duration::try_from_secs_f64(seconds).ok().filter(|_| is_good).ok_or_else(|| "not a time".to_owned())
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Paper(paper) => run(paper),
        Command::Pages(Pages { runs, docs, note }) => told(bench::pages(&runs, &docs, &note)),
    }
}

fn told(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(paper: Paper) -> ExitCode {
    if paper.name == "list" {
        for experiment in bench::papers::all() {
            let about = experiment.about();
            println!("{:<16} {} {}: {}", about.name, about.paper, about.figure, about.title);
        }
        return ExitCode::SUCCESS;
    }
    let Some(experiments) = bench::select(&paper.name) else {
        eprintln!("bench: there is no experiment and no paper {:?}; `bench paper list` names them", paper.name);
        return ExitCode::from(2);
    };
    let Paper { quick, share, limit, distance, seed, .. } = paper;
    let scale = Scale { is_quick: quick, share, limit, distance, seed };
    let options = Options { scale, folder: paper.out, resume: paper.resume, progress: true };
    told(bench::run(experiments, &options, &mut |text| print!("{text}")).map(|_| ()))
}
