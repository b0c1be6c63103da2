//! The command `lab`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use baseline::Strategy;
use clap::{Parser, Subcommand};
use history::Execution;
use lab::allocated::Counted;
use lab::trial::{Grid, Point, Setting};
use lab::{Options, Scale};
use memory::Knobs;
use model::{Model, Verdict};

#[global_allocator]
static ALLOCATOR: Counted<mimalloc::MiMalloc> = Counted(mimalloc::MiMalloc);

/// Rerun the experiments of the papers that Seriatim follows
#[derive(Parser)]
#[command(name = "lab", version)]
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

    /// Keep the raw data of finished runs, with the commit, the machine and the date
    ///
    /// Writes one text file for each experiment, research/data/NAME.tsv.
    Keep(Keep),

    /// Make the pages of results anew from the raw data
    ///
    /// What follows the heading "Results" on experiments.md, experiments-mr.md and experiments-rf.md is replaced, and
    /// so are the plots in pictures/. A section whose raw data were not kept stays, and says so.
    Pages(Pages),

    /// Check histories by one strategy alone, the papers' slow ones among them, or with other knobs
    ///
    /// Prints one line for each history and model: the verdict, and the tactic that decided. The status is 1 if a model
    /// is violated.
    Check(Check),

    /// List the knobs of the engines, with their values and units
    Knobs,

    /// Measure the heuristics of the memory engines on a grid of generated histories, each against the same without it
    ///
    /// Prints for each heuristic where it wins most and where it loses most, in time of the processor or in memory, and
    /// whether it stays by the rule. All values are kept in a file as the trial goes on, so it may be stopped and
    /// resumed, and be done in parts. The table is that of the whole file.
    Trial(Trial),

    /// Decide one point of a trial once, and print what that cost
    #[command(hide = true)]
    Sample(Sample),
}

#[derive(clap::Args)]
struct Check {
    /// Files to check
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// The models, separated by commas
    #[arg(short, long, value_name = "MODEL", value_delimiter = ',', default_value = "sc", value_parser = model)]
    model: Vec<Model>,

    /// The strategy: `auto`, the name of one tactic, or of a paper's way, such as `wsc+dbcop`
    #[arg(long, value_name = "STRATEGY", default_value = "auto", value_parser = strategy)]
    strategy: Strategy,

    /// Give up on a model after this many seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    timeout: Duration,

    /// Set a knob: NAME=VALUE. `lab knobs` lists them
    #[arg(long = "knob", value_name = "NAME=VALUE")]
    knobs: Vec<String>,
}

#[derive(clap::Args)]
struct Trial {
    /// Runs of objects, too
    #[arg(long)]
    objects: bool,

    /// What is beside the grid, too: many short threads, and many components
    #[arg(long)]
    beside: bool,

    /// The machines; `none` measures no memories
    #[arg(long, value_delimiter = ',', default_value = "sc,tso,pso")]
    machines: Vec<String>,

    /// How many threads
    #[arg(long, value_delimiter = ',', default_value = "2,4,16,64,256")]
    threads: Vec<u32>,

    /// How many locations
    #[arg(long, value_delimiter = ',', default_value = "8,64,1000,10000")]
    locations: Vec<u32>,

    /// How many operations
    #[arg(long, value_delimiter = ',', default_value = "10000,100000,500000")]
    operations: Vec<u32>,

    /// How many reads are perturbed
    #[arg(long, value_delimiter = ',', default_value = "0,1")]
    perturbed: Vec<u32>,

    /// The heuristics; `none` measures only the default and the plain search
    #[arg(long, value_delimiter = ',', default_values_t = lab::trial::names().map(str::to_owned))]
    heuristics: Vec<String>,

    /// Compare with this setting of a knob, too: NAME=VALUE. `lab knobs` lists them
    #[arg(long = "knob", value_name = "NAME=VALUE")]
    knobs: Vec<String>,

    /// How often each contender is measured
    #[arg(long, default_value_t = 3)]
    rounds: u32,

    /// The time limit of one decision, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    limit: Duration,

    /// Where all random choices start
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Where all values are written. What is there already is not measured again
    #[arg(long, value_name = "FILE", default_value = "trial.csv")]
    out: PathBuf,

    /// Put the table between its marks on this page
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,

    /// What the file says of the values beside the machine: the commit, the date
    #[arg(long, value_name = "TEXT")]
    note: String,
}

#[derive(clap::Args)]
struct Sample {
    #[arg(value_parser = |text: &str| Point::parse(text).ok_or("not a point"))]
    point: Point,
    #[arg(long)]
    strategy: Option<String>,
    #[arg(long = "knob")]
    knobs: Vec<String>,
    #[arg(long, value_parser = seconds)]
    limit: Duration,
}

fn model(name: &str) -> Result<Model, String> {
    Model::from_name(name).ok_or_else(|| format!("there is no model {name:?}"))
}

fn strategy(name: &str) -> Result<Strategy, String> {
    Strategy::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Strategy::all().map(Strategy::name).collect();
        format!("the strategies are {}", names.join(", "))
    })
}

/// The knobs of the flags `--knob`.
fn knobs(flags: &[String]) -> Result<Knobs, String> {
    let mut knobs = Knobs::default();
    lab::trial::each(flags, |name, value| knobs.set(name, value).map_err(|error| error.to_string()))?;
    Ok(knobs)
}

/// Checks histories, and prints the verdicts. The answer is whether a model is violated.
fn check(flags: &Check) -> Result<bool, String> {
    let knobs = knobs(&flags.knobs)?;
    let mut is_violated = false;
    for file in &flags.files {
        let name = file.display();
        for (at, history) in format::load_all(file).map_err(|error| format!("{name}: {error}"))?.enumerate() {
            let history = history.map_err(|error| format!("{name}#{at}: {error}"))?;
            let execution = Execution::from_history(&history).map_err(|error| format!("{name}#{at}: {error}"))?;
            for &model in &flags.model {
                let budget = memory::Budget::default().timeout(flags.timeout);
                let options = memory::MemoryOptions { budget, knobs, ..Default::default() };
                let decision = flags.strategy.check(model, &execution, &options);
                is_violated |= decision.verdict == Verdict::Violation;
                println!("{name}#{at}: {model}: {} ({})", decision.verdict.name(), decision.strategy);
            }
        }
    }
    Ok(is_violated)
}

/// Runs a trial: the table is printed, and put on a page if there is one.
fn try_heuristics(flags: Trial) -> Result<(), String> {
    let Trial { objects, beside, machines, threads, locations, operations, perturbed, heuristics, knobs, .. } = flags;
    let Trial { rounds, limit, seed, out, page, note, .. } = flags;
    let is_unknown = |name: &&String| *name != "none" && !lab::trial::names().any(|known| known == name.as_str());
    if let Some(name) = heuristics.iter().find(is_unknown) {
        return Err(format!("there is no heuristic {name:?}"));
    }
    let about = format!("{}, {note}, at most {} s", lab::machine(), limit.as_secs_f64());
    let machines = machines.iter().filter(|name| *name != "none").map(|name| model(name)).collect::<Result<_, _>>()?;
    let grid = Grid {
        objects,
        beside,
        machines,
        threads,
        locations,
        operations,
        perturbed,
        heuristics,
        knobs,
        rounds,
        limit,
        seed,
    };
    let command = std::env::current_exe().map_err(|error| error.to_string())?;
    let table = lab::trial::run(&grid, &command, &out, &about, &mut |point| eprintln!("{point}"))?;
    print!("{table}");
    page.map_or(Ok(()), |page| lab::trial::put(&page, &table))
}

#[derive(clap::Args)]
struct Keep {
    /// The folders of the runs, as `--out` of `paper` named them
    #[arg(required = true)]
    runs: Vec<PathBuf>,

    /// The folder of the raw data
    #[arg(long, value_name = "DIR", default_value = "research/data")]
    data: PathBuf,

    /// What is to be said of the runs, beside the machine
    #[arg(long, value_name = "TEXT", default_value = "")]
    note: String,
}

#[derive(clap::Args)]
struct Pages {
    /// The folder of the raw data
    #[arg(long, value_name = "DIR", default_value = "research/data")]
    data: PathBuf,

    /// The folder of the pages
    #[arg(long, value_name = "DIR", default_value = "research/docs")]
    docs: PathBuf,
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

    /// The limit of one algorithm for one history, in steps, for the experiments that count them, instead of their own
    #[arg(long, value_name = "STEPS", value_parser = clap::value_parser!(u64).range(1..))]
    steps: Option<u64>,

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
        Command::Keep(Keep { runs, data, note }) => {
            told(lab::keep(&runs, &data, &note).map(|kept| println!("kept: {}", kept.join(", "))))
        }
        Command::Pages(Pages { data, docs }) => told(lab::pages(&data, &docs)),
        Command::Check(flags) => match check(&flags) {
            Ok(is_violated) => ExitCode::from(u8::from(is_violated)),
            Err(error) => told(Err(error)),
        },
        Command::Knobs => {
            let [memory, object, transaction] =
                [Knobs::ALL, object::Knobs::ALL, transaction::Knobs::ALL].map(|all| all.iter());
            let value = |name| {
                let (object, transaction) = (object::Knobs::DEFAULT, transaction::Knobs::DEFAULT);
                Knobs::DEFAULT.get(name).or_else(|| object.get(name)).or_else(|| transaction.get(name))
            };
            for knob in memory.chain(object).chain(transaction) {
                println!("{:<32} {:>12} {}", knob.name, value(knob.name).unwrap_or_default(), knob.unit);
            }
            ExitCode::SUCCESS
        }
        Command::Trial(flags) => told(try_heuristics(flags)),
        Command::Sample(Sample { point, strategy, knobs, limit }) => {
            let line = lab::trial::sample(point, &Setting { strategy, knobs }, limit);
            told(line.map(|line| println!("{line}")))
        }
    }
}

fn told(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lab: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(paper: Paper) -> ExitCode {
    if paper.name == "list" {
        for experiment in lab::papers::all() {
            let about = experiment.about();
            println!("{:<16} {} {}: {}", about.name, about.paper, about.figure, about.title);
        }
        return ExitCode::SUCCESS;
    }
    let Some(experiments) = lab::select(&paper.name) else {
        eprintln!("lab: there is no experiment and no paper {:?}; `lab paper list` names them", paper.name);
        return ExitCode::from(2);
    };
    let Paper { quick, share, limit, steps, distance, seed, .. } = paper;
    let scale = Scale { is_quick: quick, share, limit, steps, distance, seed };
    let options = Options { scale, folder: paper.out, resume: paper.resume, progress: true };
    told(lab::run(experiments, &options, &mut |text| print!("{text}")).map(|_| ()))
}
