//! The trial of the heuristics of the memory engines.
//!
//! A *point* is a generated history: a machine, so many threads, locations and operations, valid or with one perturbed
//! read. At each point every *contender* decides the model of the machine: the default, the default without one
//! heuristic (its [knobs](memory::Knobs) switch it off), and plain saturation and search, without a run. Contenders
//! take turns, each time in a process of its own. The least time of the processor and the least peak of memory count,
//! both without the making of the history.
//!
//! A heuristic stays if it wins [`WINS`] times at some point, in time or memory, and loses nowhere more than [`LOSES`]
//! times. The default may nowhere lose more than that to plain saturation and search.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use history::{Execution, ExecutionBuilder};
use memory::{Checker, Knobs, Options, Strategy};
use model::{Model, Verdict};
use workload::memory::{Machine, MemoryConfig, generate};

/// How many times a heuristic must win somewhere.
const WINS: f64 = 1.5;
/// How many times it may lose at most.
const LOSES: f64 = 1.1;
/// What is shorter or smaller counts as this much, in milliseconds and in MB: less cannot be told from noise.
const NOISE: [f64; 2] = [2.0, 4.0];

/// A heuristic, and what switches it off.
struct Heuristic {
    name: &'static str,
    off: &'static [(&'static str, &'static str)],
    /// The models of the machines where it matters.
    models: &'static [Model],
}

const ALL: &[Model] = &[Model::Sc, Model::Tso, Model::Pso];

/// The heuristics on trial.
const HEURISTICS: &[Heuristic] = &[
    Heuristic { name: "run", off: &[("store.guesses", "0")], models: ALL },
    Heuristic { name: "reuse", off: &[("store.reuse", "false")], models: ALL },
    Heuristic { name: "around-stuck", off: &[("store.least_around_stuck", "4294967295")], models: &[Model::Sc] },
    Heuristic { name: "lags", off: &[("store.lags", "false")], models: ALL },
    Heuristic { name: "turned", off: &[("store.turned", "false")], models: ALL },
    Heuristic { name: "hints", off: &[("store.hints", "0")], models: ALL },
    Heuristic { name: "nearness", off: &[("store.nearness", "false")], models: ALL },
    Heuristic { name: "narrow", off: &[("store.narrow", "false")], models: ALL },
    Heuristic { name: "windows", off: &[("windows.shortest", "4294967295")], models: &[Model::Pso] },
    Heuristic { name: "components", off: &[("tactics.components", "false")], models: ALL },
    Heuristic { name: "other-models", off: &[("tactics.other_models", "false")], models: ALL },
];

/// The names of the heuristics.
pub fn names() -> impl Iterator<Item = &'static str> {
    HEURISTICS.iter().map(|heuristic| heuristic.name)
}

/// The points of a trial, and how each is measured.
#[derive(Clone, Debug)]
pub struct Grid {
    /// The machines, which are models.
    pub machines: Vec<Model>,
    /// How many threads.
    pub threads: Vec<u32>,
    /// How many locations.
    pub locations: Vec<u32>,
    /// How many operations.
    pub operations: Vec<u32>,
    /// How many reads are perturbed.
    pub perturbed: Vec<u32>,
    /// The heuristics; if there are none, only the default and the plain search are measured.
    pub heuristics: Vec<String>,
    /// How often each contender is measured.
    pub rounds: u32,
    /// How long a decision may take.
    pub limit: Duration,
    /// Where all random choices start.
    pub seed: u64,
}

/// A point of the grid.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Point {
    machine: Model,
    threads: u32,
    locations: u32,
    operations: u32,
    perturbed: u32,
    seed: u64,
}

impl Point {
    fn text(self) -> String {
        let Self { machine, threads, locations, operations, perturbed, seed } = self;
        format!("{machine},{threads},{locations},{operations},{perturbed},{seed}")
    }

    /// The point of such a text.
    pub fn parse(text: &str) -> Option<Self> {
        let fields: Vec<&str> = text.split(',').collect();
        let [machine, numbers @ ..] = fields.as_slice() else { return None };
        let numbers: Vec<u64> = numbers.iter().map(|field| field.parse().ok()).collect::<Option<_>>()?;
        let &[threads, locations, operations, perturbed, seed] = numbers.as_slice() else { return None };
        let machine = Model::from_name(machine).filter(|model| ALL.contains(model))?;
        let [threads, locations, operations, perturbed] =
            [threads, locations, operations, perturbed].map(|number| number as u32);
        Some(Self { machine, threads, locations, operations, perturbed, seed })
    }

    /// The execution: its threads stand one after the other, so that the order of the file does not help.
    fn execution(self) -> Execution {
        let machine = match self.machine {
            Model::Tso => Machine::Tso,
            Model::Pso => Machine::Pso,
            _ => Machine::Sc,
        };
        let Self { threads, locations, operations, perturbed: perturb, seed, .. } = self;
        let config = MemoryConfig { machine, threads, locations, operations, perturb, seed, ..MemoryConfig::default() };
        let mut steps: Vec<_> = generate(&config).collect();
        steps.sort_by_key(|step| step.thread);
        let mut builder = ExecutionBuilder::new();
        let mut writes = vec![None; steps.len() + 1];
        let mut events = Vec::new();
        for step in &steps {
            let event = builder.push_ordered(step.thread, step.kind, step.location, step.order);
            if step.kind.writes() {
                writes[step.written as usize] = Some(event);
            }
            events.push(event);
        }
        for (step, event) in steps.iter().zip(events) {
            if let Some(value) = step.value_read() {
                builder.read_from(event, writes[value as usize]);
            }
        }
        builder.build()
    }

    fn shown(self) -> String {
        let Self { machine, threads, locations, operations, perturbed, .. } = self;
        let perturbed = if perturbed == 0 { "" } else { ", a read perturbed" };
        format!("{machine} {threads} x {locations} x {operations}{perturbed}")
    }
}

/// What one decision cost, and what it was.
#[derive(Clone, Debug)]
struct Sample {
    milliseconds: f64,
    megabytes: f64,
    verdict: String,
    tactic: String,
}

/// Decides one point once, and says what that cost, as a line of text. Runs in a process of its own.
pub fn sample(point: Point, strategy: Option<&str>, knobs: Knobs, limit: Duration) -> Result<String, String> {
    let strategy = match strategy {
        None => Strategy::Auto,
        Some(name) => Strategy::from_name(name).ok_or_else(|| format!("there is no strategy {name:?}"))?,
    };
    let execution = point.execution();
    let options = Options { budget: memory::Budget::default().timeout(limit), knobs, ..Options::default() };
    let before = memory_in_use("VmRSS:")?;
    // From now on, the largest memory is counted anew.
    fs::write("/proc/self/clear_refs", "5").map_err(|error| error.to_string())?;
    let begin = processor_time();
    let mut checker = Checker::new(&execution, &options);
    checker.set_strategy(strategy);
    let decision = checker.check(point.machine);
    let milliseconds = processor_time().saturating_sub(begin).as_secs_f64() * 1e3;
    let megabytes = memory_in_use("VmHWM:")? - before;
    Ok(format!("{milliseconds} {megabytes} {} {}", decision.verdict.name(), decision.strategy))
}

/// The time that this process has used of a processor.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// A figure of this process's memory, in MB.
fn memory_in_use(key: &str) -> Result<f64, String> {
    let text = fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    number.map(|kilobytes| kilobytes / 1024.0).ok_or_else(|| format!("/proc/self/status has no {key}"))
}

/// A contender: its name, the flags that its process gets, and whether it is the heuristic of that number switched off.
struct Contender {
    name: String,
    flags: Vec<String>,
}

fn contenders(grid: &Grid, model: Model) -> Vec<Contender> {
    let mut all = vec![
        Contender { name: "default".to_owned(), flags: Vec::new() },
        Contender {
            name: "plain".to_owned(),
            flags: ["--strategy", "search", "--knob", "store.guesses=0"].map(str::to_owned).to_vec(),
        },
    ];
    let wanted = HEURISTICS.iter().filter(|it| grid.heuristics.iter().any(|name| name == it.name));
    for heuristic in wanted.filter(|it| it.models.contains(&model)) {
        let flags = heuristic.off.iter().flat_map(|(knob, value)| ["--knob".to_owned(), format!("{knob}={value}")]);
        all.push(Contender { name: format!("without {}", heuristic.name), flags: flags.collect() });
    }
    all
}

/// How a contender compares with the default at one point: more than one means that the default wins.
struct Ratio {
    point: Point,
    name: String,
    time: f64,
    memory: f64,
}

/// Runs the trial. `tell` gets each line of the raw data as soon as it is known. The answer is the table.
pub fn run(grid: &Grid, command: &Path, tell: &mut dyn FnMut(&str)) -> Result<String, String> {
    tell("machine,threads,locations,operations,perturbed,seed,contender,milliseconds,megabytes,verdict,tactic");
    let mut ratios = Vec::new();
    for point in points(grid) {
        let contenders = contenders(grid, point.machine);
        let mut least: Vec<Option<Sample>> = contenders.iter().map(|_| None).collect();
        for _ in 0..grid.rounds {
            for (contender, least) in contenders.iter().zip(&mut least) {
                let now = measure(grid, command, point, contender)?;
                *least = Some(match least.take() {
                    None => now,
                    Some(before) => Sample {
                        milliseconds: before.milliseconds.min(now.milliseconds),
                        megabytes: before.megabytes.min(now.megabytes),
                        ..now
                    },
                });
            }
        }
        let samples: Vec<Sample> = least.into_iter().flatten().collect();
        for (contender, sample) in contenders.iter().zip(&samples) {
            let Sample { milliseconds, megabytes, verdict, tactic } = sample;
            let name = &contender.name;
            tell(&format!("{},{name},{milliseconds:.1},{megabytes:.0},{verdict},{tactic}", point.text()));
        }
        let Some(default) = samples.first() else { continue };
        for (contender, sample) in contenders.iter().zip(&samples).skip(1) {
            let is_unknown = |sample: &Sample| sample.verdict == Verdict::Unknown.name();
            if !is_unknown(default) && !is_unknown(sample) && default.verdict != sample.verdict {
                return Err(format!("{}: the default and {} disagree", point.shown(), contender.name));
            }
            let ratio = |of: fn(&Sample) -> f64, noise: f64| of(sample).max(noise) / of(default).max(noise);
            ratios.push(Ratio {
                point,
                name: contender.name.clone(),
                time: ratio(|it| it.milliseconds, NOISE[0]),
                memory: ratio(|it| it.megabytes, NOISE[1]),
            });
        }
    }
    Ok(table(&ratios))
}

fn points(grid: &Grid) -> impl Iterator<Item = Point> + '_ {
    let Grid { machines, threads, locations, operations, perturbed, seed, .. } = grid;
    machines.iter().flat_map(move |&machine| {
        operations.iter().flat_map(move |&operations| {
            threads.iter().flat_map(move |&threads| {
                locations.iter().flat_map(move |&locations| {
                    perturbed.iter().map(move |&perturbed| Point {
                        machine,
                        threads,
                        locations,
                        operations,
                        perturbed,
                        seed: *seed,
                    })
                })
            })
        })
    })
}

/// One sample of a contender, in a process of its own.
fn measure(grid: &Grid, command: &Path, point: Point, contender: &Contender) -> Result<Sample, String> {
    let out = Command::new(command)
        .args(["sample", &point.text(), "--limit", &grid.limit.as_secs_f64().to_string()])
        .args(&contender.flags)
        .output()
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&out.stdout);
    let fields: Vec<&str> = text.split_whitespace().collect();
    let &[milliseconds, megabytes, verdict, tactic] = fields.as_slice() else {
        return Err(format!("{}: {}", point.shown(), String::from_utf8_lossy(&out.stderr)));
    };
    let number = |text: &str| text.parse::<f64>().map_err(|error| error.to_string());
    Ok(Sample {
        milliseconds: number(milliseconds)?,
        megabytes: number(megabytes)?,
        verdict: verdict.to_owned(),
        tactic: tactic.to_owned(),
    })
}

/// For each contender, where the default wins most and where it loses most, and what the rule says.
fn table(ratios: &[Ratio]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for ratio in ratios {
        if !names.contains(&ratio.name.as_str()) {
            names.push(&ratio.name);
        }
    }
    let mut text = "| the default against | points | wins most | loses most | by the rule |\n".to_owned();
    text.push_str("| --- | --- | --- | --- | --- |\n");
    for name in names {
        let own = || ratios.iter().filter(|ratio| ratio.name == name);
        let both = || own().flat_map(|it| [("time", it.time, it.point), ("memory", it.memory, it.point)]);
        let best = both().max_by(|a, b| a.1.total_cmp(&b.1));
        let worst = both().min_by(|a, b| a.1.total_cmp(&b.1));
        let (Some(best), Some(worst)) = (best, worst) else { continue };
        let loses = 1.0 / worst.1 > LOSES;
        let rule = match (name, best.1 >= WINS, loses) {
            ("plain", _, false) => "holds",
            ("plain", _, true) => "does not hold",
            (_, true, false) => "stays",
            (_, _, true) => "goes, or its guard is made right",
            (_, false, false) => "goes: it wins nowhere",
        };
        let (what, won, at) = best;
        let (which, lost, there) = worst;
        let _ = writeln!(
            text,
            "| {name} | {} | {won:.1} times the {what}: {} | {:.2} times the {which}: {} | {rule} |",
            own().count(),
            at.shown(),
            1.0 / lost,
            there.shown(),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_read_as_they_are_written() {
        let point = Point { machine: Model::Pso, threads: 3, locations: 2, operations: 50, perturbed: 1, seed: 7 };
        assert_eq!(Point::parse(&point.text()), Some(point));
        assert_eq!(Point::parse("pso,3,2,50,1"), None);
        assert_eq!(Point::parse("cc,3,2,50,1,7"), None);
        assert_eq!(point.execution().len(), 50);
    }

    #[test]
    fn the_knobs_of_the_heuristics_exist() {
        for (knob, value) in HEURISTICS.iter().flat_map(|heuristic| heuristic.off) {
            let mut knobs = Knobs::default();
            knobs.set(knob, value).expect("a knob");
            assert_ne!(knobs, Knobs::default(), "{knob}={value} switches nothing off");
        }
    }

    #[test]
    fn the_rule() {
        let point = Point::parse("sc,2,8,100,0,1").expect("a point");
        let ratio = |name: &str, time, memory| Ratio { point, name: name.to_owned(), time, memory };
        let shown = table(&[
            ratio("plain", 3.0, 1.0),
            ratio("without a", 1.6, 0.95),
            ratio("without b", 1.2, 1.0),
            ratio("without c", 9.0, 0.8),
        ]);
        let rules: Vec<&str> = shown.lines().skip(2).filter_map(|line| line.rsplit(" | ").next()).collect();
        let expected = ["holds |", "stays |", "goes: it wins nowhere |", "goes, or its guard is made right |"];
        assert_eq!(rules, expected);
    }
}
