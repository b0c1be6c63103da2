//! VC: *Verifying Sequential Consistency Using Vector Clocks*. The paper has no numbers, so these are our own: which
//! violations its Table 1 finds as it is printed, what its vectors cost on the messages of a protocol, and whether
//! distributed observers say what a central monitor says.

use std::time::Duration;

use baseline::TableOne;
use machine::protocol::Name;
use machine::{CacheConfig, Client, ClientOperation, CoreKind, Cores, MachineSetup, Mistake, Note, Seen};
use model::{Certificate, Model};
use monitor::{Monitor, Observers, PerformedNow, ScObserved};

use crate::plot::{Axis, Group, Plot};
use crate::table::{self, Table, percent};
use crate::timing::{Contender, Outcome, take_turns};
use crate::{About, Experiment, Judgement, Measured, Point, Rows, Scale, Series, Task, mean};

/// The experiment.
pub(super) fn all() -> Vec<Box<dyn Experiment>> {
    vec![Box::new(Streams)]
}

/// The cores of each point: in program order, out of order without a mistake, and with each mistake.
const CORES: [Option<&str>; 6] = [
    None,
    Some(""),
    Some("load-not-squashed"),
    Some("squash-off-by-one"),
    Some("load-passes-store"),
    Some("store-ahead"),
];
/// The operations of a stream.
const OPERATIONS: f64 = 400.0;
const LIMIT: Duration = Duration::from_secs(10);

const REMARKS: &str = "\
    Why: Table 1 assumes that operations are performed in program order, and overwrites the vector of a location's \
    readers \
    ([models/stores.md](../../docs/models/stores.md#sc-observed-sequential-consistency-of-an-observed-order)). It \
    reports nothing false.

    Where operations are performed out of order, the exact monitor is slower than Table 1: what a late operation \
    depends on must reach all that depends on a later one, and Table 1 leaves out this work. The more operations are \
    late, the more time it takes; where none is, it is faster. With a certificate, the recorded stream is decided \
    once more, and hashed. Table 1 has nothing of the kind to compare with.";

/// Streams of operations as they were performed.
struct Streams;

fn event(operation: &ClientOperation) -> PerformedNow {
    let ClientOperation { thread, index, instruction, .. } = *operation;
    PerformedNow { thread, index: Some(index.into()), kind: instruction.kind, location: instruction.location }
}

impl Streams {
    fn setup(task: &Task<'_>) -> Result<MachineSetup, String> {
        let protocol = Name::ALL[task.sample as usize % Name::ALL.len()];
        let client =
            Client { threads: 4, operations: OPERATIONS as u32, locations: 8, seed: task.seed(), ..Client::default() };
        let kind = if CORES[task.point].is_some() { CoreKind::OutOfOrder } else { CoreKind::InOrder };
        let mistake = CORES[task.point].filter(|name| !name.is_empty());
        let mistake = mistake.map(|name| Mistake::from_name(protocol, kind, name)).transpose();
        let mistake = mistake.map_err(|error| error.to_string())?;
        let caches = CacheConfig { block: 1, ..CacheConfig::default() };
        Ok(MachineSetup { protocol, mistake, client, cores: Cores { kind, ..Cores::default() }, caches })
    }
}

impl Experiment for Streams {
    fn about(&self) -> About {
        About {
            name: "vc-observers",
            paper: "VC",
            figure: "Table 1",
            title: "Streams of 400 operations of 4 cores, as performed: violations found, and what it costs.",
            claim: "Observers verify SC while the system runs, and can be distributed. (The paper has no numbers.)",
            points: "cores",
            remarks: REMARKS,
        }
    }

    fn series(&self) -> Vec<Series> {
        [Series::paper("Table 1")].into_iter().chain(Series::OURS).collect()
    }

    fn points(&self, scale: &Scale) -> Vec<Point> {
        let label = |cores: Option<&str>| match cores {
            None => "in order".to_owned(),
            Some("") => "out of order".to_owned(),
            Some(bug) => bug.to_owned(),
        };
        let point = |(at, cores): (usize, Option<&str>)| Point {
            label: label(cores),
            x: at as f64,
            samples: scale.samples(400, 12),
            weight: 1,
        };
        CORES.into_iter().enumerate().map(point).collect()
    }

    fn measure(&self, task: &Task<'_>) -> Measured {
        let setup = Self::setup(task)?;
        let threads = setup.client.threads as usize;
        let seen = setup.observe().map_err(|fault| fault.to_string())?;
        let mut observers = Observers::new(threads, setup.caches.block);
        let mut central = ScObserved::new();
        let mut literal = TableOne::new(threads);
        let mut operations = Vec::new();
        let (mut messages, mut differences, mut late) = (0u64, 0u64, 0u64);
        // By thread: the latest of its operations so far. What comes before it and is performed now is late.
        let mut ends = vec![0; threads];
        let mut first: [Option<usize>; 3] = [None; 3];
        for it in seen {
            let operation = match it {
                Seen::Message(Note::Sent { message, kind, from, block, .. }) => {
                    messages += 1;
                    if kind.carries() {
                        observers.sent(message, from, block * setup.caches.block);
                    }
                    continue;
                }
                Seen::Message(Note::Taken { message, to }) => {
                    observers.taken(message, to);
                    continue;
                }
                Seen::Message(Note::Performed { .. }) => continue,
                Seen::Performed(operation) => operation,
            };
            let (kind, written) = (operation.instruction.kind, operation.instruction.value);
            let read = if kind.reads() { operation.read } else { written };
            let said = [
                central.push(event(&operation)).is_err(),
                observers.performed_rmw(event(&operation), read.into(), written.into()).is_err(),
                literal.performed(operation.thread, operation.index.into(), kind, operation.instruction.location),
            ];
            differences += u64::from(said[0] != said[1]);
            let end = &mut ends[operation.thread as usize];
            late += u64::from(operation.index < *end);
            *end = operation.index.max(*end);
            for (first, said) in first.iter_mut().zip(said) {
                if said && first.is_none() {
                    *first = Some(operations.len());
                }
            }
            operations.push(operation);
        }
        let monitored = || {
            let mut monitor = ScObserved::new();
            for it in &operations {
                let _ = monitor.push(event(it));
            }
        };
        let history = machine::history(threads as u32, setup.client.locations, &operations, true);
        let performed = history::performed::Performed::from_history(&history).map_err(|error| error.to_string())?;
        let certify = || {
            let decision = memory::observed::check(&performed, true);
            Certificate::new(0, &history, Model::ScObserved, &decision)
        };
        let mut contenders = [
            Contender::new("Table 1", |_| {
                let mut table = TableOne::new(threads);
                for it in &operations {
                    let ClientOperation { thread, index, instruction, .. } = *it;
                    table.performed(thread, index.into(), instruction.kind, instruction.location);
                }
                Outcome::Passed
            }),
            Contender::new(Series::OURS[0].name, |_| {
                monitored();
                Outcome::Passed
            }),
            Contender::new(Series::OURS[1].name, |_| {
                monitored();
                if certify().is_some() { Outcome::Passed } else { Outcome::Undecided }
            }),
        ];
        let (mut rows, _) = take_turns(task, LIMIT, &mut contenders)?;
        let certificate = certify().ok_or("a stream has no certificate")?;
        verify::verify(&certificate, &history).map_err(|refusal| refusal.to_string())?;
        if (certificate.verdict == model::Verdict::Violation) != first[0].is_some() {
            return Err("checker and monitor differ".to_owned());
        }
        let one = |holds: bool| f64::from(u8::from(holds));
        let traffic = observers.traffic();
        let per_message = traffic.carried as f64 / messages.max(1) as f64;
        rows.extend([
            task.row("central", "violations", one(first[0].is_some())),
            task.row("distributed", "violations", one(first[1].is_some())),
            task.row("literal", "violations", one(first[2].is_some())),
            task.row("", "late operations", late as f64),
            task.row("literal", "late", one(first[0].is_some() && first[2] > first[0])),
            task.row("literal", "false", one(first[2].is_some() && first[0].is_none())),
            task.row("distributed", "differences", differences as f64),
            task.row("distributed", "bytes a message", per_message),
            task.row("distributed", "bytes a carrier", traffic.carried as f64 / traffic.carriers.max(1) as f64),
            task.row("distributed", "own messages", traffic.late as f64),
        ]);
        Ok(rows)
    }

    fn judge(&self, rows: &Rows) -> Judgement {
        let sum = |series, measure| rows.everywhere(series, measure).sum::<f64>();
        let (exact, literal) = (sum("central", "violations"), sum("literal", "violations"));
        let (late, differences) = (sum("literal", "late"), sum("distributed", "differences"));
        let bytes = rows.mean_everywhere("distributed", "bytes a message").unwrap_or(0.0);
        let seconds = |at| rows.mean(at, Series::OURS[0].name, "seconds").unwrap_or(0.0);
        let each = seconds(0) / OPERATIONS * 1e9;
        let more = mean(
            (1..rows.points().len())
                .filter_map(|at| Some((seconds(at) - seconds(0)) / rows.mean(at, "", "late operations")? * 1e9)),
        );
        let more = more.unwrap_or(0.0);
        Judgement::of(&[
            (
                literal >= exact && late == 0.0,
                format!("Table 1 as printed finds {literal} of {exact} violating streams, {late} of them late"),
            ),
            (
                differences == 0.0,
                format!("distributed and central differ on {differences} operations, at {bytes:.0} bytes a message"),
            ),
            (
                true,
                format!(
                    "in program order the exact monitor takes {each:.0} ns an operation, and {more:.0} ns more for a \
                     late one"
                ),
            ),
        ])
    }

    fn setting(&self, _: &Scale) -> String {
        "4 cores, 400 operations, 8 variables, half writes, blocks of one word; MI, MESI Two Level, MOESI Hammer and \
         MOESI AMD in turn. Seriatim is the exact monitor of `sc-observed`. With a certificate, the checker then makes \
         that of the recorded stream: a witness, or a cycle of constraints. A stream counts for Table 1 if it signals \
         an error anywhere in it. It is late if it does so after the operation that closes the cycle. An operation is \
         late if a later one of its core was performed before it."
            .to_owned()
    }

    fn tables(&self, rows: &Rows) -> Vec<Table> {
        let head = [
            "cores",
            "streams",
            "late operations a stream",
            "violating, exact",
            "distributed",
            "Table 1",
            "Table 1 late",
            "Table 1 false",
            "differences",
            "bytes a message",
            "bytes a carrier",
            "own messages a stream",
        ];
        let mut found = Table::new("Violations found, and the vectors on the messages of the protocol.", &head);
        for (at, point) in rows.points().iter().enumerate() {
            let share = |series, measure| percent(rows.mean(at, series, measure).unwrap_or(0.0));
            let mean = |measure| format!("{:.1}", rows.mean(at, "distributed", measure).unwrap_or(0.0));
            found.line(vec![
                point.label.clone(),
                point.samples.to_string(),
                format!("{:.1}", rows.mean(at, "", "late operations").unwrap_or(0.0)),
                share("central", "violations"),
                share("distributed", "violations"),
                share("literal", "violations"),
                share("literal", "late"),
                share("literal", "false"),
                format!("{}", rows.sum(at, "distributed", "differences")),
                mean("bytes a message"),
                mean("bytes a carrier"),
                mean("own messages"),
            ]);
        }
        vec![found, table::seconds(&self.about(), &self.series(), rows)]
    }

    fn plots(&self, rows: &Rows) -> Vec<Plot> {
        let groups = rows.points().iter().map(|point| point.label.clone()).collect();
        let bars = |(name, series): (&str, &str)| Group {
            name: name.to_owned(),
            values: (0..rows.points().len())
                .map(|at| rows.mean(at, series, "violations").map(|it| it * 100.0))
                .collect(),
        };
        let shown = [("exact", "central"), ("distributed", "distributed"), ("Table 1", "literal")].map(bars);
        let axis = Axis::linear("percent of streams with a violation found");
        vec![Plot::bars("VC: violations found", axis, groups, shown.to_vec())]
    }
}
