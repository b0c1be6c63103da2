//! Small executions near the boundary of the memory models, for property tests against the oracle.
//!
//! A random program runs on one of several machines, from an atomic memory to replicas that hear of writes late, so
//! that the execution is allowed by some models and, often, only just refused by others. Then a few reads are
//! re-targeted to other writes of their location: earlier ones, later ones, their own thread's, the initial write, or
//! writes of the future, so that cycles of `po` and `rf` occur as well.
//!
//! Everything is a function of the seed, and stays so in every version.

use history::execution::{EventId, ExecutionBuilder, Kind};
use history::{Execution, History, HistoryBuilder, KeyId, MemoryOrder, Operation, Value};

use crate::machines::Machine;
use crate::memory::{MemoryStep, history_of};
use crate::random::SplitMix64;

/// What kind of small execution to make.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// How many threads there may be; at least one.
    pub threads: u32,
    /// How many events, all threads together.
    pub events: u32,
    /// How many locations there may be; at least one.
    pub locations: u32,
    /// Of a hundred events, how many are writes.
    pub writes: u8,
    /// Of a hundred events, how many are read-modify-writes.
    pub rmws: u8,
    /// Of a hundred events, how many are fences. The rest, up to a hundred, are reads.
    pub fences: u8,
    /// Whether events have memory orders.
    pub orders: bool,
    /// How many reads are re-targeted at most.
    pub perturb: u32,
}

/// How many cases a property test should run: `default`, times the factor in the environment variable
/// `SERIATIM_CASES` (such as 100, or 0.1) if it is set; at least one.
///
/// # Panics
/// If the variable is set and not a number.
pub fn cases(default: u64) -> u64 {
    let factor = std::env::var("SERIATIM_CASES").map_or(1.0, |factor| match factor.trim().parse::<f64>() {
        Ok(factor) if factor.is_finite() && factor >= 0.0 => factor,
        _ => panic!("SERIATIM_CASES is a factor, and {factor:?} is not a number"),
    });
    ((default as f64 * factor) as u64).max(1)
}

/// Varied shapes without end: 2 to 5 threads, 3 to 12 events, 1 to 4 locations, with and without read-modify-writes,
/// fences and orders.
pub fn shapes(seed: u64) -> impl Iterator<Item = Shape> {
    let mut random = SplitMix64::new(seed);
    std::iter::repeat_with(move || Shape {
        threads: random.pick(&[2, 2, 3, 3, 4, 5]),
        // Most models differ only on executions of eight or more events.
        events: (0..3).fold(3, |most, _| random.between(most, 12)),
        locations: random.pick(&[1, 2, 2, 2, 3, 3, 4]),
        writes: random.pick(&[25, 35, 45]),
        rmws: random.pick(&[0, 0, 10, 25]),
        fences: random.pick(&[0, 0, 10]),
        orders: random.percent(40),
        perturb: random.between(0, 3),
    })
}

/// Varied executions without end: one of each of the [`shapes`].
pub fn executions(seed: u64) -> impl Iterator<Item = Execution> {
    let mut random = SplitMix64::new(!seed);
    shapes(seed).map(move |shape| execution(&shape, random.next()))
}

/// A random execution of that shape.
pub fn execution(shape: &Shape, seed: u64) -> Execution {
    let mut random = SplitMix64::new(seed);
    let mut machine = Machine::random(shape.threads, shape.locations, &mut random);
    let haste = random.pick(&[30, 60, 90]);
    // Some models do not apply to the order `sc`, so most executions with orders do not have it.
    let sequential = random.percent(25);
    let mut builder = ExecutionBuilder::new();
    let mut reads = Vec::new();
    let mut writes = vec![Vec::new(); shape.locations as usize];
    for (thread, location) in program(shape, &mut random) {
        while random.percent(haste) {
            machine.propagate(&mut random);
        }
        let kind = kind(shape, &mut random);
        let order = if shape.orders { order(kind, sequential, &mut random) } else { MemoryOrder::Plain };
        let event = builder.push_ordered(thread, kind, location, order);
        if kind == Kind::Fence || kind == Kind::Rmw {
            machine.drain(thread);
        }
        if kind.reads() {
            builder.read_from(event, machine.read(thread, location, &mut random));
            reads.push((event, location as usize));
        }
        if kind.writes() {
            machine.write(thread, location, event);
            writes[location as usize].push(event);
        }
        if kind == Kind::Rmw {
            machine.drain(thread);
        }
    }
    for _ in 0..random.between(0, shape.perturb) {
        if reads.is_empty() {
            break;
        }
        let (read, location) = random.pick(&reads);
        let target = random.below(writes[location].len() as u64 + 1) as usize;
        builder.read_from(read, writes[location].get(target).copied());
    }
    builder.build()
}

/// Who accesses what, one after another. Half of the programs are rings, as the litmus tests are: each thread accesses
/// its own location and then that of its neighbour. Some more accesses follow.
fn program(shape: &Shape, random: &mut SplitMix64) -> Vec<(u32, u32)> {
    let mut threads = Vec::new();
    let mut locations = vec![Vec::new(); shape.threads as usize];
    let ring = if random.percent(50) { shape.threads.min(shape.events / 2) } else { 0 };
    for thread in 0..ring {
        for location in [thread, thread + 1] {
            threads.push(thread);
            locations[thread as usize].push(location % ring.min(shape.locations));
        }
    }
    while threads.len() < shape.events as usize {
        let thread = random.between(0, shape.threads - 1);
        threads.push(thread);
        let list = &mut locations[thread as usize];
        list.insert(random.below(list.len() as u64 + 1) as usize, random.between(0, shape.locations - 1));
    }
    for at in (1..threads.len()).rev() {
        threads.swap(at, random.below(at as u64 + 1) as usize);
    }
    let mut locations: Vec<_> = locations.into_iter().map(Vec::into_iter).collect();
    threads.into_iter().filter_map(|thread| Some((thread, locations[thread as usize].next()?))).collect()
}

fn kind(shape: &Shape, random: &mut SplitMix64) -> Kind {
    let percent = random.below(100);
    let kinds = [(Kind::Write, shape.writes), (Kind::Rmw, shape.rmws), (Kind::Fence, shape.fences)];
    let mut limit = 0;
    for (kind, share) in kinds {
        limit += u64::from(share);
        if percent < limit {
            return kind;
        }
    }
    Kind::Read
}

fn order(kind: Kind, sequential: bool, random: &mut SplitMix64) -> MemoryOrder {
    use MemoryOrder::{Acquire, AcquireRelease, Plain, Relaxed, Release, SequentiallyConsistent};
    if sequential && random.percent(25) {
        return SequentiallyConsistent;
    }
    match kind {
        Kind::Read => random.pick(&[Plain, Relaxed, Acquire]),
        Kind::Write => random.pick(&[Plain, Relaxed, Release]),
        Kind::Rmw => random.pick(&[Plain, Relaxed, Acquire, Release, AcquireRelease]),
        Kind::Fence => random.pick(&[Plain, Acquire, Release, AcquireRelease]),
    }
}

/// The history of an execution, every write with a value of its own; `Execution::from_history` gives the execution
/// back, and the same operation numbers if those of the execution have no gaps.
pub fn to_history(execution: &Execution) -> History {
    history_with(execution, |write| write.0 + 1)
}

/// The history of an execution whose writes have only so many values, the initial value 0 among them. So the history
/// does not tell which write most reads are from.
pub fn with_few_values(execution: &Execution, values: u32, random: &mut SplitMix64) -> History {
    let chosen: Vec<u32> = execution.ids().map(|_| random.between(0, values - 1)).collect();
    history_with(execution, |write| chosen[write.index()])
}

/// The history of an execution of which so many of a hundred writes have one of two values, the initial value 0 among
/// them, and each other write has a value of its own. So some reads are open while others are not, and an rmw whose
/// source is known is the source of a read whose source is not.
pub fn with_repeated_values(execution: &Execution, percent: u8, random: &mut SplitMix64) -> History {
    let own = |write: EventId| write.0 + 2;
    let chosen: Vec<u32> =
        execution.ids().map(|write| if random.percent(percent) { random.between(0, 1) } else { own(write) }).collect();
    history_with(execution, |write| chosen[write.index()])
}

/// The history of an execution in which each write has this value.
fn history_with(execution: &Execution, value: impl Fn(EventId) -> u32) -> History {
    let mut ids: Vec<EventId> = execution.ids().collect();
    ids.sort_by_key(|&id| execution.operation(id));
    let value_of = |write: EventId| match write {
        EventId::INIT => 0,
        // A value that no event writes.
        EventId::NONE => execution.len() as u32 + 1,
        write => value(write),
    };
    let steps = ids.into_iter().map(|id| {
        let event = execution.event(id);
        MemoryStep {
            thread: execution.thread(id).0,
            location: event.location.0,
            kind: event.kind,
            order: event.order,
            read: value_of(event.source),
            written: value_of(id),
        }
    });
    history_of(execution.thread_count() as u32, execution.location_count() as u32, steps)
}

/// Adds the final values of most locations: any value that is written there or, seldom, the initial one.
pub fn add_finals(history: History, random: &mut SplitMix64) -> History {
    let mut finals = Vec::new();
    for key in (0..history.keys().len() as u32).map(KeyId) {
        let written = |operation: &&Operation| operation.key == key && operation.argument != Value::NONE;
        let values: Vec<Value> = history.operations().iter().filter(written).map(|write| write.argument).collect();
        if values.is_empty() || random.percent(3) {
            finals.push((key, Value::ZERO));
        } else if random.percent(70) {
            finals.push((key, random.pick(&values)));
        }
    }
    let mut builder = HistoryBuilder::from(history);
    for (key, value) in finals {
        builder.set_final(key, value).expect("the history has no final values yet");
    }
    builder.finish().expect("a final value is no label")
}

/// Executions of the general shapes, and more that matter to the C11 family: with few locations, and many rmws, fences
/// and orders. At most `perturb` reads are re-targeted.
pub fn c11_executions(seed: u64, perturb: u32) -> impl Iterator<Item = Execution> {
    let mut random = SplitMix64::new(seed);
    let special = std::iter::repeat_with(move || {
        let shape = Shape {
            threads: random.between(2, 4),
            events: random.between(4, 11),
            locations: random.between(1, 2),
            writes: random.pick(&[20, 30, 40]),
            rmws: random.pick(&[10, 25, 40]),
            fences: random.pick(&[0, 15]),
            orders: random.percent(70),
            perturb: random.between(0, perturb),
        };
        execution(&shape, random.next())
    });
    executions(seed).zip(special).flat_map(|(a, b)| [a, b])
}

#[cfg(test)]
mod tests {
    use history::{Method, OperationId};

    use super::*;

    #[test]
    fn shapes_are_kept() {
        for (shape, seed) in shapes(1).zip(0..cases(2000)) {
            let execution = execution(&shape, seed);
            assert_eq!(execution.len(), shape.events as usize);
            assert!(execution.thread_count() <= shape.threads as usize);
            assert!(execution.location_count() <= shape.locations as usize);
            for event in execution.events() {
                assert!(event.kind != Kind::Rmw || shape.rmws > 0);
                assert!(event.kind != Kind::Fence || shape.fences > 0);
                assert!(event.order == MemoryOrder::Plain || shape.orders);
            }
        }
    }

    #[test]
    fn a_seed_means_the_same_executions() {
        let events = |seed| executions(seed).take(50).flat_map(|e| e.events().to_vec()).collect::<Vec<_>>();
        assert_eq!(events(3), events(3));
        assert_ne!(events(3), events(4));
    }

    #[test]
    fn the_history_of_an_execution_gives_it_back() {
        for execution in executions(2).take(cases(2000) as usize) {
            let again = Execution::from_history(&to_history(&execution)).unwrap();
            assert_eq!(execution.events(), again.events());
            assert_eq!(execution.starts(), again.starts());
            assert_eq!(execution.threads(), again.threads());
            assert_eq!(execution.operations(), again.operations());
            // A view of a history has at least one location, even if there are only fences.
            assert_eq!(execution.location_count().max(1), again.location_count());
        }
    }

    #[test]
    fn thin_air_survives_the_way_through_a_history() {
        let history = to_history(&executions(5).find(|e| e.events().iter().any(|e| e.kind == Kind::Read)).unwrap());
        let read = history.operations().iter().position(|operation| operation.method == Method::Read).unwrap();
        let mut builder = HistoryBuilder::from(history);
        builder.set_result(OperationId(read as u32), Value::integer(1 << 40).unwrap()).unwrap();
        let history = builder.finish().unwrap();
        let execution = Execution::from_history(&history).unwrap();
        assert_eq!(execution.thin_air().len(), 1);
        let again = Execution::from_history(&to_history(&execution)).unwrap();
        assert_eq!(execution.thin_air(), again.thin_air());
        assert_eq!(execution.events(), again.events());
    }
}
