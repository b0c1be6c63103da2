//! VC: *Verifying Sequential Consistency Using Vector Clocks*. The paper has no numbers, so these are our own: which
//! violations its Table 1 finds as it is printed, what its vectors cost on the messages of a protocol, and whether
//! distributed observers say what a central monitor says.

use std::time::Duration;

use machine::protocol::Name;
use machine::{Client, Config, CoreKind, Cores, Mistake, Note, Operation, Seen, Setup};
use monitor::{Monitor, Observers, Performed, ScObserved, TableOne};

use crate::plot::{Axis, Group, Plot};
use crate::table::{self, Table, percent};
use crate::timing::{Contender, Outcome, take_turns};
use crate::{About, Experiment, Judgement, Measured, Point, Role, Rows, Scale, Series, Task};

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
const LIMIT: Duration = Duration::from_secs(10);

/// Streams of operations as they were performed.
struct Streams;

fn event(operation: &Operation) -> Performed {
    let Operation { thread, index, instruction, .. } = *operation;
    Performed { thread, index: Some(index.into()), kind: instruction.kind, location: instruction.location }
}

impl Streams {
    fn setup(task: &Task<'_>) -> Result<Setup, String> {
        let protocol = Name::ALL[task.sample as usize % Name::ALL.len()];
        let client = Client { threads: 4, operations: 400, locations: 8, seed: task.seed(), ..Client::default() };
        let kind = if CORES[task.point].is_some() { CoreKind::OutOfOrder } else { CoreKind::InOrder };
        let mistake = CORES[task.point].filter(|name| !name.is_empty());
        let mistake = mistake.map(|name| Mistake::from_name(protocol, kind, name)).transpose();
        let mistake = mistake.map_err(|error| error.to_string())?;
        let caches = Config { block: 1, ..Config::default() };
        Ok(Setup { protocol, mistake, client, cores: Cores { kind, ..Cores::default() }, caches })
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
        }
    }

    fn series(&self) -> Vec<Series> {
        vec![Series::paper("Table 1"), Series { name: "seriatim", role: Role::Ours }]
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
        let (mut messages, mut differences) = (0u64, 0u64);
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
            for (first, said) in first.iter_mut().zip(said) {
                if said && first.is_none() {
                    *first = Some(operations.len());
                }
            }
            operations.push(operation);
        }
        let mut contenders = [
            Contender::new("Table 1", |_| {
                let mut table = TableOne::new(threads);
                for it in &operations {
                    let Operation { thread, index, instruction, .. } = *it;
                    table.performed(thread, index.into(), instruction.kind, instruction.location);
                }
                Outcome::Passed
            }),
            Contender::new("seriatim", |_| {
                let mut monitor = ScObserved::new();
                for it in &operations {
                    let _ = monitor.push(event(it));
                }
                Outcome::Passed
            }),
        ];
        let (mut rows, _) = take_turns(task, LIMIT, &mut contenders)?;
        let one = |holds: bool| f64::from(u8::from(holds));
        let traffic = observers.traffic();
        let per_message = traffic.carried as f64 / messages.max(1) as f64;
        rows.extend([
            task.row("central", "violations", one(first[0].is_some())),
            task.row("distributed", "violations", one(first[1].is_some())),
            task.row("literal", "violations", one(first[2].is_some())),
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
        Judgement::of(&[
            (
                literal >= exact && late == 0.0,
                format!("Table 1 as printed finds {literal} of {exact} violating streams, {late} of them late"),
            ),
            (
                differences == 0.0,
                format!("distributed and central differ on {differences} operations, at {bytes:.0} bytes a message"),
            ),
        ])
    }

    fn setting(&self, _: &Scale) -> String {
        "4 cores, 400 operations, 8 variables, half writes, blocks of one word; MI, MESI Two Level, MOESI Hammer and \
         MOESI AMD in turn. Seriatim is the exact monitor of `sc-observed`; it has no certificates. A stream counts \
         for Table 1 if it signals an error anywhere in it. It is late if it does so after the operation that closes \
         the cycle."
            .to_owned()
    }

    fn tables(&self, rows: &Rows) -> Vec<Table> {
        let head = [
            "cores",
            "streams",
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
