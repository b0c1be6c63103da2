//! `seriatim gen`: random histories of a simulated memory or database, or ([`runs`]) of a simulated object.
//!
//! Text and JSON Lines have a line for each operation. They are written while the operations happen, and the memory
//! does not grow with their number. In the other formats, each history is first built in memory, and then written.

use std::io::{self, Write};

use clap::ValueEnum;
use format::{Format, WriteError, Writer};
use history::execution::Kind;
use history::{History, Object};
use machine::{Client, CoreKind, Cores, MachineSetup, Network};
use workload::hard::{self, HardShape};
use workload::memory::{self, MemoryConfig, MemoryStep};
use workload::random::SplitMix64;
use workload::transactions::{self, Store};
use workload::triangles;

use crate::flags::{Gen, Machine, Order};
use crate::output::{self, Output};
use crate::{BAD, runs};

pub(crate) fn run(flags: &Gen, given: &[&str]) -> u8 {
    if let Some(stray) = given.iter().find(|name| !is_known(flags, name)) {
        let of = match flags.object {
            Some(object) => format!("--object {}", object.name()),
            None => format!("--model {}", flags.model.to_possible_value().expect("none is hidden").get_name()),
        };
        let _ = writeln!(io::stderr(), "seriatim gen: --{} has no meaning with {of}", stray.replace('_', "-"));
        return BAD;
    }
    if let Some(object) = flags.object.filter(|&object| object != Object::Memory) {
        let config = runs::config(flags, object);
        if let Some(reason) = config.hides() {
            let _ = writeln!(io::stderr(), "seriatim gen: the fault may not show: {reason}");
        }
        let configs = seeds(flags).map(move |seed| workload::object::ObjectConfig { seed, ..config });
        return write(flags, config.misfit(), |out, format| runs::write(out, format, configs));
    }
    let machine = match flags.model {
        Machine::Hard3 => return run_hard(flags, HardShape::OneGuess),
        Machine::Hard4 => return run_hard(flags, HardShape::LongConflict),
        Machine::Hard5 => return run_hard(flags, HardShape::TwoGuesses),
        Machine::HardRmw => return run_hard(flags, HardShape::TwoGuessesOfRmws),
        Machine::Triangles => return run_triangles(flags),
        Machine::ScObserved => return run_observed(flags),
        Machine::Sc => memory::MemoryMachine::Sc,
        Machine::Tso => memory::MemoryMachine::Tso,
        Machine::Pso => memory::MemoryMachine::Pso,
        Machine::Ra => memory::MemoryMachine::ReleaseAcquire,
        Machine::Rc20 => memory::MemoryMachine::Rc20,
        Machine::Relaxed => memory::MemoryMachine::Relaxed,
        Machine::Cc => memory::MemoryMachine::Causal,
        Machine::Ccv => memory::MemoryMachine::Convergent,
        Machine::Cm => memory::MemoryMachine::CausalMemory,
        Machine::Serializable => return run_database(flags, Store::Serializable),
        Machine::SnapshotIsolation => return run_database(flags, Store::SnapshotIsolation),
        Machine::Causal => return run_database(flags, Store::Causal),
        Machine::ReadAtomic => return run_database(flags, Store::ReadAtomic),
        Machine::ReadCommitted => return run_database(flags, Store::ReadCommitted),
    };
    let config = MemoryConfig {
        machine,
        threads: flags.threads,
        operations: flags.operations,
        locations: flags.locations,
        writes: flags.writes,
        rmws: flags.rmws,
        fences: flags.fences,
        sequential: flags.sequential,
        delay: flags.delay,
        stale: flags.stale,
        perturb: flags.perturb,
        distance: flags.distance,
        seed: flags.seed,
    };
    let configs = seeds(flags).map(move |seed| MemoryConfig { seed, ..config });
    let steps = |config: &MemoryConfig| -> Box<dyn Iterator<Item = MemoryStep>> {
        match flags.order {
            Order::Interleaved => Box::new(memory::generate(config)),
            Order::Threads => Box::new(memory::thread_by_thread(config)),
        }
    };
    write(flags, config.fault(), |out, format| match format {
        Format::Text => write_lines(out, format, configs.map(|config| steps(&config)), text_line),
        Format::JsonLines => write_lines(out, format, configs.map(|config| steps(&config)), json_line),
        _ => write_histories(out, format, configs.map(|config| memory::history(&config, steps(&config)))),
    })
}

/// Whether a flag has a meaning for the machine, shape or object that is simulated.
fn is_known(flags: &Gen, name: &str) -> bool {
    let is_object = flags.object.is_some_and(|object| object != Object::Memory);
    let is_graph = !is_object && matches!(flags.model, Machine::Triangles);
    let is_hard =
        !is_object && matches!(flags.model, Machine::Hard3 | Machine::Hard4 | Machine::Hard5 | Machine::HardRmw);
    let is_database = !is_object
        && matches!(
            flags.model,
            Machine::Serializable
                | Machine::SnapshotIsolation
                | Machine::Causal
                | Machine::ReadAtomic
                | Machine::ReadCommitted
        );
    match name {
        "length" | "lists" | "zipf" | "aborts" | "unknown" | "untimed" | "anomaly" => is_database,
        "fences" | "order" | "distance" if is_database => false,
        "object" | "seed" | "format" | "histories" | "output" => true,
        "model" => !is_object,
        "nodes" | "edges" => is_graph,
        "violating" => is_hard || is_graph,
        _ if is_graph => false,
        "threads" | "operations" | "writes" | "rmws" => !is_hard,
        "copies" | "side_by_side" => is_hard,
        "delay" => {
            let has_delay =
                matches!(flags.model, Machine::Tso | Machine::Pso | Machine::Cc | Machine::Ccv | Machine::Cm);
            !is_object && has_delay
        }
        "stale" => !is_object && matches!(flags.model, Machine::Ra | Machine::Rc20 | Machine::Relaxed),
        "sequential" => !is_object && matches!(flags.model, Machine::Sc | Machine::Tso | Machine::Pso | Machine::Rc20),
        "locations" | "fences" => !is_object && !is_hard,
        "perturb" | "distance" | "order" => !is_object && !is_hard && !matches!(flags.model, Machine::ScObserved),
        _ => is_object,
    }
}

/// Opens the output, calls `write` on it, and reports an error. Returns the exit status.
fn write(flags: &Gen, fault: Option<&str>, write: impl FnOnce(&mut Output, Format) -> Result<(), WriteError>) -> u8 {
    if let Some(fault) = fault {
        let _ = writeln!(io::stderr(), "seriatim gen: {fault}");
        return BAD;
    }
    let format = flags.format.or_else(|| Format::from_path(flags.output.as_deref()?)).unwrap_or(Format::Text);
    let mut out = match Output::open(flags.output.as_deref()) {
        Ok(out) => out,
        Err(error) => {
            output::complain(flags.output.as_deref().unwrap_or("-".as_ref()), error);
            return BAD;
        }
    };
    match write(&mut out, format).and_then(|()| Ok(out.commit()?)) {
        Ok(()) => 0,
        Err(WriteError::Io(error)) => output::write_error(&error),
        Err(error) => {
            let _ = writeln!(io::stderr(), "seriatim gen: {error}");
            BAD
        }
    }
}

/// Writes streams of out-of-order cores, in the order in which operations are performed.
fn run_observed(flags: &Gen) -> u8 {
    let Gen { threads, operations, locations, writes, rmws, fences, seed, .. } = *flags;
    let client = Client { threads, operations, locations, writes, rmws, fences, hot: 0, seed };
    let cores = Cores { kind: CoreKind::OutOfOrder, ..Cores::default() };
    let caches = machine::CacheConfig {
        frames: 16,
        network: Network { delay: 16, ..Network::default() },
        ..machine::CacheConfig::default()
    };
    let setup = MachineSetup { client, cores, caches, ..MachineSetup::default() };
    if let Some(fault) = setup.fault() {
        let _ = writeln!(io::stderr(), "seriatim gen: {fault}");
        return BAD;
    }
    let runs = seeds(flags).map(|seed| MachineSetup { client: Client { seed, ..client }, ..setup }.run());
    write(flags, None, |out, format| {
        let mut writer = Writer::new(out, format);
        for run in runs {
            writer.write(&run.expect("the setup has no fault").performed_history())?;
        }
        writer.finish().map(drop)
    })
}

/// Writes copies of one of the hard shapes, which are the same for every seed.
fn run_hard(flags: &Gen, shape: HardShape) -> u8 {
    let Gen { copies, side_by_side, violating, histories, .. } = *flags;
    let config = hard::HardConfig { shape, copies, side_by_side, violating };
    write(flags, None, |out, format| {
        let mut writer = Writer::new(out, format);
        for _ in 0..histories {
            writer.write(&hard::history(&config))?;
        }
        writer.finish().map(drop)
    })
}

/// Writes the executions that tell whether a graph has a triangle.
fn run_triangles(flags: &Gen) -> u8 {
    let Gen { nodes, edges, violating, seed, .. } = *flags;
    let config = triangles::TriangleConfig { nodes, edges, violating, seed };
    let histories = seeds(flags).map(|seed| triangles::history(&triangles::TriangleConfig { seed, ..config }));
    write(flags, config.fault(), |out, format| write_histories(out, format, histories))
}

/// Writes histories of a simulated database.
fn run_database(flags: &Gen, store: Store) -> u8 {
    let config = transactions::TransactionConfig {
        store,
        sessions: flags.threads,
        operations: flags.operations,
        keys: flags.locations,
        zipf: flags.database.zipf,
        length: flags.database.length,
        writes: flags.writes,
        rmws: flags.rmws,
        lists: flags.database.lists,
        aborts: flags.database.aborts,
        unknown: flags.database.unknown,
        untimed: flags.database.untimed,
        perturb: flags.perturb,
        anomaly: flags.database.anomaly,
        seed: flags.seed,
    };
    let histories = seeds(flags).map(|seed| transactions::history(&transactions::TransactionConfig { seed, ..config }));
    write(flags, config.fault(), |out, format| write_histories(out, format, histories))
}

/// The seeds of the histories of a run.
fn seeds(flags: &Gen) -> impl Iterator<Item = u64> + use<> {
    let first = flags.seed;
    (0..flags.histories).map(move |number| seed(first, number))
}

/// The seed of history `number` of the run. The first history has the seed of the run itself.
pub(crate) fn seed(seed: u64, number: u64) -> u64 {
    if number == 0 { seed } else { seed ^ SplitMix64::new(number).next() }
}

fn write_lines(
    out: &mut Output,
    format: Format,
    histories: impl Iterator<Item = Box<dyn Iterator<Item = MemoryStep>>>,
    write_line: impl Fn(&mut dyn Write, MemoryStep) -> io::Result<()>,
) -> Result<(), WriteError> {
    let headers = [headers(format, 1)?, headers(format, 2)?.split_off(headers(format, 1)?.len())];
    for (number, steps) in histories.enumerate() {
        out.write_all(&headers[number.min(1)])?;
        for step in steps {
            write_line(out, step)?;
        }
    }
    Ok(())
}

/// The text of `count` histories without operations: all that stands before and between the operations of histories.
pub(crate) fn headers(format: Format, count: usize) -> Result<Vec<u8>, WriteError> {
    let mut writer = Writer::new(Vec::new(), format);
    for _ in 0..count {
        writer.write(&History::default())?;
    }
    writer.finish()
}

fn write_histories(
    out: &mut Output,
    format: Format,
    histories: impl Iterator<Item = History>,
) -> Result<(), WriteError> {
    let mut writer = Writer::new(out, format);
    for history in histories {
        writer.write(&history)?;
    }
    writer.finish().map(drop)
}

/// The method of a step with its memory order, as in the text format.
fn method(step: &MemoryStep) -> (&'static str, &'static str, &'static str) {
    let name = match step.kind {
        Kind::Read => "r",
        Kind::Write => "w",
        Kind::Rmw => "u",
        Kind::Fence => "f",
    };
    let order = step.order.name();
    (name, if order.is_empty() { "" } else { "." }, order)
}

pub(crate) fn text_line(out: &mut dyn Write, step: MemoryStep) -> io::Result<()> {
    let (name, dot, order) = method(&step);
    let (thread, location) = (step.thread, memory::location_name(step.location));
    match step.kind {
        Kind::Fence => writeln!(out, "[{thread}] {name}{dot}{order}"),
        Kind::Read => writeln!(out, "[{thread}] {name}{dot}{order} {location} {}", step.read),
        Kind::Write => writeln!(out, "[{thread}] {name}{dot}{order} {location} {}", step.written),
        Kind::Rmw => writeln!(out, "[{thread}] {name}{dot}{order} {location} {} {}", step.read, step.written),
    }
}

pub(crate) fn json_line(out: &mut dyn Write, step: MemoryStep) -> io::Result<()> {
    let (name, _, order) = method(&step);
    write!(out, r#"{{"process":{},"f":"{name}""#, step.thread)?;
    if step.kind != Kind::Fence {
        write!(out, r#","key":"{}""#, memory::location_name(step.location))?;
    }
    match step.kind {
        Kind::Read => write!(out, r#","value":{}"#, step.read)?,
        Kind::Write => write!(out, r#","value":{}"#, step.written)?,
        Kind::Rmw => write!(out, r#","value":[{},{}]"#, step.read, step.written)?,
        Kind::Fence => write!(out, r#","value":null"#)?,
    }
    if !order.is_empty() {
        write!(out, r#","order":"{order}""#)?;
    }
    writeln!(out, "}}")
}
