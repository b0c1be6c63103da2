//! Table 2: online testing.
//!
//! A program runs once at random under `ra`, and its accesses are recorded in the order in which they happened, each
//! read with the write that it read. Then each algorithm gets this sequence, event by event: at each read it checks
//! that the write may be read, and takes the event in. C11Tester asks about other writes, too, before it chooses one;
//! these questions are left out, for all algorithms alike.

use std::time::Duration;

use explore::{Access, Builder, Strategy};
use history::execution::Kind;
use memory::c11::{Incremental, WriteId};

use baseline::ra::{Algorithm5, MoGraph, Online};

use super::programs::{EXPLORED, Program, SAMPLED};
use crate::plot::{Axis, Group, Plot};
use crate::table::{Table, milliseconds, ratio};
use crate::timing::{Contender, Outcome, take_turns};
use crate::{About, Experiment, Judgement, Measured, Point, Role, Rows, Scale, Series, Task, geometric_mean};

pub(super) const ALGORITHM_5: &str = "Algorithm 5";
pub(super) const MO_GRAPH: &str = "mo-graph (C11Tester)";
pub(super) const OURS: &str = "seriatim";

/// The three algorithms on one sequence. None of them forgets anything.
pub(super) fn contenders(accesses: &[Access]) -> Vec<Contender<'_>> {
    vec![
        Contender::new(MO_GRAPH, |deadline| online(&mut MoGraph::new(), accesses, deadline)),
        Contender::new(ALGORITHM_5, |deadline| online(&mut Algorithm5::new(), accesses, deadline)),
        Contender::new(OURS, |_| engine(accesses)),
    ]
}

/// After how many events the clock is read.
const EVENTS_PER_CLOCK: usize = 256;

fn online(algorithm: &mut dyn Online, accesses: &[Access], deadline: std::time::Instant) -> Outcome {
    let mut names: Vec<Option<u32>> = Vec::with_capacity(accesses.len());
    for (at, access) in accesses.iter().enumerate() {
        if at.is_multiple_of(EVENTS_PER_CLOCK) && std::time::Instant::now() >= deadline {
            return Outcome::Undecided;
        }
        let source = access.source.and_then(|source| names[source as usize]);
        match algorithm.push(access.thread, access.kind, access.location, source) {
            Ok(name) => names.push(name),
            Err(_) => return Outcome::Decided(false),
        }
    }
    Outcome::Decided(true)
}

fn engine(accesses: &[Access]) -> Outcome {
    let mut engine = Incremental::ra();
    let mut names: Vec<Option<WriteId>> = Vec::with_capacity(accesses.len());
    for access in accesses {
        let source = access.source.and_then(|source| names[source as usize]);
        match engine.push(access.thread, access.kind, access.location, access.order, source) {
            Ok(name) => names.push(name),
            Err(_) => return Outcome::Decided(false),
        }
    }
    Outcome::Decided(true)
}

/// Table 2.
pub(super) struct Sampled;

fn programs() -> impl Iterator<Item = &'static Program> {
    EXPLORED.iter().chain(&SAMPLED)
}

/// The accesses of a run of about so many events.
fn run(program: Program, events: usize, seed: u64) -> Vec<Access> {
    let builder = Builder { model: explore::Model::Ra, max_steps: u32::MAX, ..Builder::new() };
    let mut rounds = 50;
    loop {
        let mut accesses = Vec::new();
        let tell = |graph: &explore::Graph, _| accesses = graph.accesses();
        builder.visit_sample(Strategy::Uniform, seed, move || program.run(rounds), tell);
        // A run that is blocked early does not grow.
        let wanted = rounds * events / accesses.len().max(1);
        if accesses.len() * 2 > events || rounds >= events {
            return accesses;
        }
        rounds = wanted.clamp(rounds * 2, events);
    }
}

impl Experiment for Sampled {
    fn about(&self) -> About {
        About {
            name: "rf-table2",
            paper: "RF",
            figure: "Table 2",
            title: "32 programs, each run at random: the time to check a run event by event.",
            claim: "Algorithm 5 is up to 104 times as fast as C11Tester's graph of modification order, 2 times on \
                    (geometric) average; slower on gcd and szymanski",
            points: "program",
        }
    }

    fn series(&self) -> Vec<Series> {
        vec![Series::paper(MO_GRAPH), Series::paper(ALGORITHM_5), Series { name: OURS, role: Role::Ours }]
    }

    fn points(&self, scale: &Scale) -> Vec<Point> {
        let point = |(at, program): (u32, &Program)| Point {
            label: program.name.to_owned(),
            x: at.into(),
            samples: scale.samples(3, 1),
            weight: 1,
        };
        (0..).zip(programs()).map(point).collect()
    }

    fn measure(&self, task: &Task<'_>) -> Measured {
        let program = *programs().nth(task.point).ok_or("no such program")?;
        let accesses = run(program, task.scale.either(20_000, 4000), task.seed());
        let limit = task.scale.limit(Duration::from_secs(5), Duration::from_millis(500));
        let (mut rows, allowed) = take_turns(task, limit, &mut contenders(&accesses))?;
        if allowed == Some(false) {
            return Err("a run of the tester is not allowed".to_owned());
        }
        let threads = accesses.iter().map(|access| access.thread + 1).max().unwrap_or(0);
        let locations = accesses.iter().map(|access| access.location + 1).max().unwrap_or(0);
        let writes = accesses.iter().filter(|access| access.kind != Kind::Read).count();
        rows.extend([
            task.row("", "events", accesses.len() as f64),
            task.row("", "threads", threads.into()),
            task.row("", "locations", locations.into()),
            task.row("", "writes", writes as f64),
        ]);
        Ok(rows)
    }

    fn judge(&self, rows: &Rows) -> Judgement {
        let of = |point, name| rows.mean(point, name, "seconds").unwrap_or(f64::NAN);
        let points = || 0..rows.points().len();
        let ratios: Vec<f64> = points().map(|point| of(point, MO_GRAPH) / of(point, ALGORITHM_5)).collect();
        let slower: Vec<&str> =
            points().filter(|&at| ratios[at] < 1.0).map(|at| &rows.points()[at].label[..]).collect();
        let most = ratios.iter().copied().fold(0.0, f64::max);
        let mean = geometric_mean(ratios.iter().copied()).unwrap_or(f64::NAN);
        Judgement::of(&[
            (most > 2.0, format!("Algorithm 5 is up to {} times as fast as the mo-graph", ratio(most))),
            (mean > 1.0, format!("{} times on average", ratio(mean))),
            (
                slower.len() * 2 < ratios.len(),
                format!("slower on {} of {}: {}", slower.len(), ratios.len(), slower.join(", ")),
            ),
        ])
    }

    fn setting(&self, scale: &Scale) -> String {
        format!(
            "one sequence a sample, of about {} events (in the paper 36,000 to 16 million); the applications of the \
             paper (gdax, iris, mabain, silo) are stood for by programs with accesses of their shape.",
            scale.either(20_000, 4000)
        )
    }

    fn tables(&self, rows: &Rows) -> Vec<Table> {
        let head = [
            "program",
            "events",
            "threads",
            "locations",
            MO_GRAPH,
            ALGORITHM_5,
            OURS,
            "mo-graph / Algorithm 5",
            "best of the paper / seriatim",
        ];
        let mut table = Table::new("Milliseconds a run, average; + if some were not decided within the limit.", &head);
        for (at, point) in rows.points().iter().enumerate() {
            let of = |name: &str, measure: &str| rows.mean(at, name, measure).unwrap_or(f64::NAN);
            let mut line = vec![point.label.clone()];
            line.extend(["events", "threads", "locations"].map(|measure| format!("{:.0}", of("", measure))));
            line.extend([MO_GRAPH, ALGORITHM_5, OURS].map(|name| {
                let mark = if rows.sum(at, name, "undecided") > 0.0 { "+" } else { "" };
                format!("{}{mark}", milliseconds(of(name, "seconds")))
            }));
            let best = of(MO_GRAPH, "seconds").min(of(ALGORITHM_5, "seconds"));
            line.push(ratio(of(MO_GRAPH, "seconds") / of(ALGORITHM_5, "seconds")));
            line.push(ratio(best / of(OURS, "seconds")));
            table.line(line);
        }
        vec![table]
    }

    fn plots(&self, rows: &Rows) -> Vec<Plot> {
        let group = |series: Series| Group {
            name: series.name.to_owned(),
            values: (0..rows.points().len())
                .map(|at| Some(rows.mean(at, series.name, "seconds")? / rows.mean(at, "", "events")? * 1e9))
                .collect(),
        };
        let names = rows.points().iter().map(|point| point.label.clone()).collect();
        let bars = self.series().into_iter().map(group).collect();
        vec![Plot::bars("RF Table 2: an event", Axis::logarithmic("nanoseconds an event"), names, bars)]
    }
}
