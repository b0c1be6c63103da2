//! The points of a trial: what is generated, and what is asked of it.

use std::fmt::Write as _;
use std::time::Duration;

use history::{Execution, ExecutionBuilder, Object};
use memory::ExecutionChecker;
use model::{Decided, Model, View};
use workload::memory::{MemoryConfig, MemoryMachine, generate};
use workload::object::{Fault, ObjectConfig, history};

use crate::allocated;
use crate::timing::Stopwatch;

/// The machines, each named after its model.
const MACHINES: &[Model] = &[Model::Sc, Model::Tso, Model::Pso];

/// How many of a hundred operations are read-modify-writes where `sra` is asked. Without them, clocks decide it.
const RMWS: u32 = 20;

/// A point of a trial.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Point {
    /// A run of a memory.
    Memory(MemoryPoint),
    /// A run of an object. It is asked whether it is linearizable.
    Object(ObjectConfig),
}

/// A run of a memory, and the model that is asked.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct MemoryPoint {
    pub(super) machine: Model,
    pub(super) model: Model,
    pub(super) threads: u32,
    pub(super) locations: u32,
    pub(super) operations: u32,
    pub(super) perturbed: u32,
    pub(super) seed: u64,
    /// How many such runs stand side by side, each with threads and locations of its own.
    pub(super) copies: u32,
}

/// What is measured beside the grid: many short threads, and many components.
pub(super) fn beside(seed: u64) -> [Point; 2] {
    let of = |threads, locations, operations, copies| {
        let (machine, model, perturbed) = (Model::Sc, Model::Sc, 0);
        Point::Memory(MemoryPoint { machine, model, threads, locations, operations, perturbed, seed, copies })
    };
    [of(1000, 64, 20_000, 1), of(4, 64, 10_000, 64)]
}

/// The runs of objects that are measured.
pub(super) fn objects(seed: u64) -> Vec<Point> {
    let of = |object, threads, operations, values| ObjectConfig {
        threads,
        operations,
        values,
        seed,
        ..ObjectConfig::new(object)
    };
    let stack = |threads, operations, values| of(Object::Stack, threads, operations, values);
    let queue = |threads, operations, values| of(Object::PriorityQueue, threads, operations, values);
    let lost = |config| ObjectConfig { fault: Some(Fault::Lost), shows: true, ..config };
    let all = [
        stack(16, 1_000_000, 0),
        ObjectConfig { pending: 5, ..stack(16, 25_000, 0) },
        ObjectConfig { pending: 30, ..stack(16, 100_000, 0) },
        stack(8, 50_000, 10),
        stack(32, 20_000, 10),
        stack(16, 20_000, 1000),
        stack(4, 20_000, 100),
        lost(stack(16, 5000, 10)),
        queue(32, 20_000, 10),
        queue(16, 20_000, 100),
        lost(queue(16, 5000, 10)),
        ObjectConfig { pending: 5, ..queue(16, 20_000, 0) },
        ObjectConfig { pending: 30, peeks: 20, ..queue(16, 20_000, 0) },
        ObjectConfig { pending: 20, ..queue(4, 2000, 3) },
        ObjectConfig { pending: 5, ..queue(8, 20_000, 10) },
        ObjectConfig { pending: 5, ..queue(16, 5000, 10) },
    ];
    all.map(Point::Object).to_vec()
}

impl Point {
    /// The point as one word.
    pub(super) fn text(self) -> String {
        match self {
            Self::Memory(MemoryPoint { machine, model, threads, locations, operations, perturbed, seed, copies }) => {
                let copies = if copies == 1 { String::new() } else { format!("/{copies}") };
                format!("{machine}/{model}/{threads}/{locations}/{operations}/{perturbed}/{seed}{copies}")
            }
            Self::Object(ObjectConfig { object, threads, operations, values, pending, peeks, fault, seed, .. }) => {
                let lost = u32::from(fault.is_some());
                format!("{}/{threads}/{operations}/{values}/{pending}/{peeks}/{lost}/{seed}", object.name())
            }
        }
    }

    /// The point of such a word.
    pub fn parse(text: &str) -> Option<Self> {
        let fields: Vec<&str> = text.split('/').collect();
        let numbers =
            |from: usize| -> Option<Vec<u32>> { fields.get(from..)?.iter().map(|it| it.parse().ok()).collect() };
        if let Some(machine) = Model::from_name(fields[0]).filter(|machine| MACHINES.contains(machine)) {
            let model = Model::from_name(fields.get(1)?).filter(|model| model.row().view == View::Execution)?;
            let numbers = numbers(2)?;
            let &[threads, locations, operations, perturbed, seed, ref copies @ ..] = numbers.as_slice() else {
                return None;
            };
            let copies = match *copies {
                [] => 1,
                [copies] if copies > 1 => copies,
                _ => return None,
            };
            let seed = u64::from(seed);
            let point = MemoryPoint { machine, model, threads, locations, operations, perturbed, seed, copies };
            return Some(Self::Memory(point));
        }
        let object = Object::from_name(fields[0])?;
        let &[threads, operations, values, pending, peeks, lost, seed] = numbers(1)?.as_slice() else { return None };
        let (fault, shows) = ((lost > 0).then_some(Fault::Lost), lost > 0);
        let seed = u64::from(seed);
        let config = ObjectConfig {
            threads,
            operations,
            values,
            pending,
            peeks,
            fault,
            shows,
            seed,
            ..ObjectConfig::new(object)
        };
        config.misfit().is_none().then_some(Self::Object(config))
    }

    /// The point for a reader.
    pub(super) fn shown(self) -> String {
        match self {
            Self::Memory(MemoryPoint { machine, model, threads, locations, operations, perturbed, copies, .. }) => {
                let copies = if copies == 1 { String::new() } else { format!(", {copies} times side by side") };
                let of = if machine == model { String::new() } else { format!(" of {machine}") };
                let perturbed = if perturbed == 0 { "" } else { ", a read perturbed" };
                format!("{model}{of} {threads} x {locations} x {operations}{perturbed}{copies}")
            }
            Self::Object(ObjectConfig { object, threads, operations, values, pending, peeks, fault, .. }) => {
                let mut shown = format!("{} {threads} x {operations} x {values} values", object.name());
                for (number, what) in [(pending, "pending"), (peeks, "peeks"), (fault.iter().count() as u32, "lost")] {
                    if number > 0 {
                        write!(shown, ", {number} {what}").expect("a text takes all");
                    }
                }
                shown
            }
        }
    }
}

impl MemoryPoint {
    /// The execution: its threads stand one after the other, so that the order of the file does not help.
    pub(super) fn execution(self) -> Execution {
        let machine = match self.machine {
            Model::Tso => MemoryMachine::Tso,
            Model::Pso => MemoryMachine::Pso,
            _ => MemoryMachine::Sc,
        };
        let Self { threads, locations, operations, perturbed: perturb, seed, .. } = self;
        let rmws = if self.model == Model::Sra { RMWS } else { 0 };
        let config =
            MemoryConfig { machine, threads, locations, operations, rmws, perturb, seed, ..MemoryConfig::default() };
        let mut steps: Vec<_> = generate(&config).collect();
        steps.sort_by_key(|step| step.thread);
        let mut builder = ExecutionBuilder::new();
        for copy in 0..self.copies {
            let (thread, location) = (copy * threads, copy * locations);
            let mut writes = vec![None; steps.len() + 1];
            let mut events = Vec::new();
            for step in &steps {
                let event = builder.push_ordered(thread + step.thread, step.kind, location + step.location, step.order);
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
        }
        builder.build()
    }
}

/// What is set for one decision: the strategy of a memory, and knobs as `NAME=VALUE`.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// A tactic of a memory model, or the default.
    pub strategy: Option<String>,
    /// The knobs that are not the default.
    pub knobs: Vec<String>,
}

/// Decides one point once, and says what that cost, as a line of text. Runs in a process of its own.
pub fn sample(point: Point, setting: &Setting, limit: Duration) -> Result<String, String> {
    match point {
        Point::Memory(point) => {
            let strategy = match &setting.strategy {
                None => memory::Strategy::Auto,
                Some(name) => {
                    memory::Strategy::from_name(name).ok_or_else(|| format!("there is no strategy {name:?}"))?
                }
            };
            let mut knobs = memory::Knobs::default();
            each(&setting.knobs, |name, value| knobs.set(name, value).map_err(|error| error.to_string()))?;
            let execution = point.execution();
            let options = memory::MemoryOptions {
                budget: memory::Budget::default().timeout(limit),
                knobs,
                ..memory::MemoryOptions::default()
            };
            Ok(measured(|| {
                let mut checker = ExecutionChecker::new(&execution, &options);
                checker.set_strategy(strategy);
                checker.check(point.model)
            }))
        }
        Point::Object(config) => {
            let mut knobs = object::Knobs::DEFAULT;
            each(&setting.knobs, |name, value| knobs.set(name, value).map_err(|error| error.to_string()))?;
            let history = history(&config);
            let view = object::ObjectHistory::new(&history).map_err(|error| error.to_string())?;
            let options = object::ObjectOptions {
                budget: object::Budget::default().timeout(limit),
                knobs,
                ..object::ObjectOptions::default()
            };
            Ok(measured(|| object::check(&view, &options)))
        }
    }
}

/// Sets each knob of the form `NAME=VALUE`.
pub fn each(knobs: &[String], mut set: impl FnMut(&str, &str) -> Result<(), String>) -> Result<(), String> {
    knobs.iter().try_for_each(|knob| {
        let (name, value) = knob.split_once('=').ok_or_else(|| format!("{knob:?} is not NAME=VALUE"))?;
        set(name, value)
    })
}

/// What a decision costs, and what it is.
fn measured(decide: impl FnOnce() -> Decided) -> String {
    let before = allocated::now();
    allocated::forget();
    let begin = Stopwatch::start();
    let decision = decide();
    let milliseconds = begin.elapsed().as_secs_f64() * 1e3;
    let megabytes = (allocated::most() - before) as f64 / f64::from(1 << 20);
    format!("{milliseconds} {megabytes} {} {}", decision.verdict.name(), decision.strategy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_read_as_they_are_written() {
        let (machine, model) = (Model::Sc, Model::Pso);
        let of = |copies| MemoryPoint {
            machine,
            model,
            threads: 3,
            locations: 2,
            operations: 50,
            perturbed: 1,
            seed: 7,
            copies,
        };
        assert_eq!([1, 4].map(|copies| of(copies).execution().len()), [50, 200]);
        assert_eq!([1, 4].map(|copies| of(copies).execution().thread_count()), [3, 12]);
        let others = beside(1).into_iter().chain([1, 4].map(|copies| Point::Memory(of(copies))));
        for point in objects(1).into_iter().chain(others) {
            assert_eq!(Point::parse(&point.text()), Some(point));
        }
        for wrong in [
            "sc/pso/3/2/50/1",
            "sc/pso/3/2/50/1/7/1",
            "sc/pso/3/2/50/1/7/2/2",
            "cc/cc/3/2/50/1/7",
            "sc/serializable/3/2/50/1/7",
            "stack/0/1/1/0/0/0/1",
            "",
        ] {
            assert_eq!(Point::parse(wrong), None, "{wrong}");
        }
    }
}
