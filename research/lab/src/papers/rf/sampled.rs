//! Table 2: online testing.
//!
//! A program runs once at random under `ra`, and its accesses are recorded in the order in which they happened, each
//! read with the write that it read. Then each algorithm gets this sequence, event by event: at each read it checks
//! that the write may be read, and takes the event in. C11Tester asks about other writes, too, before it chooses one;
//! these questions are left out, for all algorithms alike. With a certificate, Seriatim keeps the modification orders
//! that its engine has at the end, which are the witness of `ra`. Every certificate is verified.

use std::time::Duration;

use explore::{Builder, DataAccess, RandomStrategy};
use history::execution::Kind;
use history::{History, OperationId};
use memory::c11::{Incremental, WriteId};
use model::{Certificate, Evidence, Model, Verdict};

use baseline::ra::{Algorithm5, MoGraph, Online};

use super::history;
use super::programs::{EXPLORED, Program, SAMPLED};
use crate::plot::{Axis, Group, Plot};
use crate::table::{self, Table, ratio};
use crate::timing::{Contender, Outcome, take_turns};
use crate::{About, Experiment, Judgement, Measured, Point, Role, Rows, Scale, Series, Task, geometric_mean};

pub(super) const ALGORITHM_5: &str = "Algorithm 5";
pub(super) const MO_GRAPH: &str = "mo-graph (C11Tester)";
pub(super) const OURS: [&str; 2] = [Series::OURS[0].name, Series::OURS[1].name];
/// What binds a certificate to its history: the SHA-256 of the contents.
pub(super) const DIGEST: &str = "digest alone";

/// The algorithms on one sequence. The graph is what RF compares its Algorithm 5 with.
pub(super) fn series() -> Vec<Series> {
    let [ours, certified] = Series::OURS;
    let digest = Series { name: DIGEST, role: Role::Other };
    let graph = Series { name: MO_GRAPH, role: Role::Other };
    vec![graph, Series::paper(ALGORITHM_5), ours, certified, digest]
}

/// The algorithms take turns on one sequence, which is allowed. None of them forgets anything.
pub(super) fn compare(task: &Task<'_>, limit: Duration, accesses: &[DataAccess]) -> Measured {
    let history = history(accesses);
    let mut contenders = vec![
        Contender::new(MO_GRAPH, |budget| online(&mut MoGraph::new(), accesses, budget)),
        Contender::new(ALGORITHM_5, |budget| online(&mut Algorithm5::new(), accesses, budget)),
        Contender::new(OURS[0], |_| Outcome::Decided(engine(accesses).is_some())),
        Contender::new(OURS[1], |_| Outcome::Decided(certify(accesses, &history).is_some())),
        Contender::new(DIGEST, |_| {
            std::hint::black_box(model::digest(&history));
            Outcome::Passed
        }),
    ];
    let (rows, allowed) = take_turns(task, limit, &mut contenders)?;
    if allowed == Some(false) {
        return Err("a sequence is not allowed".to_owned());
    }
    let certificate = certify(accesses, &history).ok_or("a sequence has no certificate")?;
    verify::verify(&certificate, &history).map_err(|refusal| refusal.to_string())?;
    Ok(rows)
}

/// How many times as long the graph takes as Algorithm 5 at a point: medians over what both decided.
pub(super) fn by_algorithm_5(rows: &Rows, point: usize) -> Option<f64> {
    rows.medians_of_both(point, MO_GRAPH, ALGORITHM_5).map(|(graph, own)| graph / own)
}

/// After how many events the clock is read.
const EVENTS_PER_CLOCK: usize = 256;

fn online(algorithm: &mut dyn Online, accesses: &[DataAccess], budget: &memory::Budget) -> Outcome {
    let mut names: Vec<Option<u32>> = Vec::with_capacity(accesses.len());
    for (at, access) in accesses.iter().enumerate() {
        if at.is_multiple_of(EVENTS_PER_CLOCK) && budget.is_due() {
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

/// The engine after these accesses, if it refuses none.
fn engine(accesses: &[DataAccess]) -> Option<Incremental> {
    let mut engine = Incremental::ra();
    let mut names: Vec<Option<WriteId>> = Vec::with_capacity(accesses.len());
    for access in accesses {
        let source = access.source.and_then(|source| names[source as usize]);
        names.push(engine.push(access.thread, access.kind, access.location, access.order, source).ok()?);
    }
    Some(engine)
}

/// The certificate that these accesses are allowed, if they are.
fn certify(accesses: &[DataAccess], history: &History) -> Option<Certificate> {
    let engine = engine(accesses)?;
    let order = |location: usize| {
        let numbers = engine.modification_order(location as u32).into_iter();
        numbers.map(|number| OperationId(number as u32)).collect()
    };
    let orders = (0..history.keys().len()).map(order).collect();
    Some(Certificate::of(0, history, Model::Ra, Verdict::Consistent, Evidence::ModificationOrders(orders)))
}

const REMARKS: &str = "\
    Algorithm 5 is faster than the graph on most programs, by far on some (control-flow, as in the paper). Where the \
    two are close, which is faster changes from run to run.

    Seriatim is hardly faster than Algorithm 5 on `indexer`, where most of 18,000 locations are accessed twice, and \
    not with a certificate. Its engine keeps rows and clocks for each location, and this memory is touched for the \
    first time again and again: 41,861 random accesses of 9 threads take 1.2 ms on 16 locations, and 10 to 15 ms on \
    18,321.

    With a certificate, Seriatim keeps the modification orders of all locations at the end, and hashes the run \
    (*digest alone*), which is most of what a certificate costs. The algorithms of the paper make none.";

/// Table 2.
pub(super) struct Sampled;

fn programs() -> impl Iterator<Item = &'static Program> {
    EXPLORED.iter().chain(&SAMPLED)
}

/// The accesses of a run of about so many events.
fn run(program: Program, events: usize, seed: u64) -> Vec<DataAccess> {
    let builder = Builder { model: explore::Model::Ra, max_steps: u32::MAX, ..Builder::new() };
    let mut rounds = 50;
    loop {
        let mut accesses = Vec::new();
        let tell = |graph: &explore::Graph, _| accesses = graph.accesses();
        builder.visit_sample(RandomStrategy::Uniform, seed, move || program.run(rounds), tell);
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
                    (geometric) average; slower on gcd and szymanski.",
            points: "program",
            remarks: REMARKS,
        }
    }

    fn series(&self) -> Vec<Series> {
        series()
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
        let mut rows = compare(task, limit, &accesses)?;
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
        let ratios: Vec<(usize, f64)> =
            (0..rows.points().len()).filter_map(|at| Some((at, by_algorithm_5(rows, at)?))).collect();
        let slower: Vec<&str> =
            ratios.iter().filter(|it| it.1 < 1.0).map(|it| &rows.points()[it.0].label[..]).collect();
        let most = ratios.iter().map(|it| it.1).fold(0.0, f64::max);
        let mean = geometric_mean(ratios.iter().map(|it| it.1)).unwrap_or(f64::NAN);
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
            OURS[0],
            OURS[1],
            DIGEST,
            "mo-graph / Algorithm 5",
            "best of the paper / seriatim",
            "with certificate",
        ];
        let title = "Milliseconds a run, median of those decided; how many, if not all.";
        let mut table = Table::new(title, &head);
        let series = self.series();
        for (at, point) in rows.points().iter().enumerate() {
            let of = |name: &str, measure: &str| rows.mean(at, name, measure).unwrap_or(f64::NAN);
            let mut line = vec![point.label.clone()];
            line.extend(["events", "threads", "locations"].map(|measure| format!("{:.0}", of("", measure))));
            line.extend(series.iter().map(|it| table::time(rows, at, it.name)));
            let shown = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), ratio);
            line.push(shown(by_algorithm_5(rows, at)));
            let roles = [Role::Ours, Role::OursCertified];
            line.extend(roles.map(|role| shown(table::advantage(&series, rows, at, role))));
            table.line(line);
        }
        vec![table]
    }

    fn plots(&self, rows: &Rows) -> Vec<Plot> {
        let group = |series: Series| Group {
            name: series.name.to_owned(),
            values: (0..rows.points().len())
                .map(|at| Some(rows.median(at, series.name)? / rows.mean(at, "", "events")? * 1e9))
                .collect(),
        };
        let names = rows.points().iter().map(|point| point.label.clone()).collect();
        let bars = self.series().into_iter().filter(|it| it.name != DIGEST).map(group).collect();
        vec![Plot::bars("RF Table 2: an event", Axis::logarithmic("nanoseconds an event"), names, bars)]
    }
}
