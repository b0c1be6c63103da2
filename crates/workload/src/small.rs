//! Small executions near the boundary of the memory models, for property tests against the oracle.
//!
//! A random program runs on one of several machines, from an atomic memory to replicas that hear of writes late, so
//! that what comes out is allowed by some models and, often, only just refused by others. Then a few reads are
//! re-targeted to other writes of their location: earlier ones, later ones, their own thread's, the initial write, or
//! writes of the future, so that cycles of `po` and `rf` occur as well.
//!
//! Everything is a function of the seed, for ever.

use history::execution::{EventId, ExecutionBuilder, Kind};
use history::{Execution, History, KeyId, MemoryOrder, Method, Operation, Outcome, ProcessId, Value};

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
    /// Of a hundred events, how many are fences. The rest, up to a hundred, reads.
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
        threads: random.between(2, 5),
        events: random.between(3, 12),
        locations: random.between(1, 4),
        writes: random.pick(&[25, 40, 50, 60]),
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

/// The machines that a program runs on, the strongest first.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Machine {
    /// A write is visible to all at once.
    Atomic,
    /// A write waits in its thread's buffer, where only that thread sees it.
    StoreBuffer,
    /// Each thread has a replica; writes reach it late, but in causal order. What reaches it last is what it holds.
    Replicas,
    /// As `Replicas`, but a replica holds the write with the largest Lamport timestamp of those that reached it.
    ConvergentReplicas,
}

/// A random execution of that shape.
pub fn execution(shape: &Shape, seed: u64) -> Execution {
    let mut random = SplitMix64::new(seed);
    let machine = random.pick(&[
        Machine::Atomic,
        Machine::Atomic,
        Machine::StoreBuffer,
        Machine::Replicas,
        Machine::ConvergentReplicas,
    ]);
    // The `sc` order is outside of some models: most executions with orders are without it.
    let sequential = random.percent(25);
    let mut builder = ExecutionBuilder::new();
    let mut memory = Memory::new(machine, shape);
    let mut reads = Vec::new();
    let mut writes = vec![Vec::new(); shape.locations as usize];
    for _ in 0..shape.events {
        while random.percent(30) {
            memory.propagate(&mut random);
        }
        let thread = random.between(0, shape.threads - 1);
        let location = random.between(0, shape.locations - 1);
        let kind = kind(shape, &mut random);
        let order = if shape.orders { order(kind, sequential, &mut random) } else { MemoryOrder::Plain };
        let event = builder.push_ordered(thread, kind, location, order);
        if kind == Kind::Fence || kind == Kind::Rmw {
            memory.drain(thread as usize);
        }
        if kind.reads() {
            builder.read_from(event, memory.read(thread as usize, location as usize));
            reads.push((event, location as usize));
        }
        if kind.writes() {
            memory.write(thread as usize, location as usize, event);
            writes[location as usize].push(event);
        }
        if kind == Kind::Rmw {
            memory.drain(thread as usize);
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

/// A write with Lamport's timestamp, ties broken by the thread.
#[derive(Copy, Clone)]
struct Stamped {
    write: usize,
    stamp: (usize, usize),
}

/// A write as it travels to the replicas.
struct Message {
    stamped: Stamped,
    location: usize,
    /// How many writes of each thread its writer had heard of.
    after: Vec<usize>,
}

/// What all machines are: each thread has a replica and hears of the writes of each thread in their order. On an
/// atomic memory it hears at once; a store buffer is heard by all others at the same moment.
struct Memory {
    machine: Machine,
    messages: Vec<Vec<Message>>,
    /// How many writes of each thread (second index) each thread (first index) has heard of.
    heard: Vec<Vec<usize>>,
    /// The write that each thread sees at each location.
    seen: Vec<Vec<Option<Stamped>>>,
    clock: Vec<usize>,
}

impl Memory {
    fn new(machine: Machine, shape: &Shape) -> Self {
        let (threads, locations) = (shape.threads as usize, shape.locations as usize);
        Self {
            machine,
            messages: (0..threads).map(|_| Vec::new()).collect(),
            heard: vec![vec![0; threads]; threads],
            seen: vec![vec![None; locations]; threads],
            clock: vec![0; threads],
        }
    }

    fn read(&self, thread: usize, location: usize) -> Option<usize> {
        self.seen[thread][location].map(|seen| seen.write)
    }

    fn write(&mut self, thread: usize, location: usize, write: usize) {
        self.clock[thread] += 1;
        let stamped = Stamped { write, stamp: (self.clock[thread], thread) };
        let after = self.heard[thread].clone();
        self.messages[thread].push(Message { stamped, location, after });
        self.deliver(thread, thread);
        if self.machine == Machine::Atomic {
            self.drain(thread);
        }
    }

    /// Lets somebody hear of some write, if anybody can.
    fn propagate(&mut self, random: &mut SplitMix64) {
        let threads = self.messages.len() as u64;
        let (from, to) = (random.below(threads) as usize, random.below(threads) as usize);
        match self.machine {
            Machine::Atomic => {}
            Machine::StoreBuffer => self.broadcast(from),
            Machine::Replicas | Machine::ConvergentReplicas => {
                let next = self.messages[from].get(self.heard[to][from]);
                if next.is_some_and(|message| (0..).zip(&message.after).all(|(u, &n)| self.heard[to][u] >= n)) {
                    self.deliver(from, to);
                }
            }
        }
    }

    /// Makes all writes of a thread known to all, where the machine has atomic writes.
    fn drain(&mut self, thread: usize) {
        if matches!(self.machine, Machine::Atomic | Machine::StoreBuffer) {
            while (0..self.heard.len()).any(|to| self.heard[to][thread] < self.messages[thread].len()) {
                self.broadcast(thread);
            }
        }
    }

    /// Moves the oldest write of a thread's store buffer to memory: all others hear of it.
    fn broadcast(&mut self, from: usize) {
        for to in 0..self.heard.len() {
            if to != from && self.heard[to][from] < self.messages[from].len() {
                self.deliver(from, to);
            }
        }
    }

    fn deliver(&mut self, from: usize, to: usize) {
        let message = &self.messages[from][self.heard[to][from]];
        self.heard[to][from] += 1;
        self.clock[to] = self.clock[to].max(message.stamped.stamp.0);
        let seen = &mut self.seen[to][message.location];
        let outdated = seen.is_some_and(|seen| match self.machine {
            Machine::Atomic | Machine::Replicas => false,
            Machine::ConvergentReplicas => seen.stamp > message.stamped.stamp,
            // A thread sees its own buffer first: what it still holds back shadows what reaches memory.
            Machine::StoreBuffer => {
                let own = self.messages[to].iter().position(|message| message.stamped.write == seen.write);
                to != from && own.is_some_and(|own| self.heard[from][to] <= own)
            }
        });
        if !outdated {
            *seen = Some(message.stamped);
        }
    }
}

/// The history of an execution, every write with a value of its own; `Execution::from_history` gives the execution
/// back, and the same operation numbers if those of the execution have no gaps.
pub fn to_history(execution: &Execution) -> History {
    let mut history = History::default();
    let number = |n: usize| Value::integer(n as i64).expect("an execution has less than 2^32 events");
    history.processes = (0..execution.thread_count()).map(number).collect();
    for location in 0..execution.location_count() {
        let name = history.words.word(&format!("x{location}"));
        history.keys.push(name);
    }
    let mut ids: Vec<EventId> = execution.ids().collect();
    ids.sort_by_key(|&id| execution.operation(id));
    let value_of = |write: EventId| match write {
        EventId::INIT => Value::ZERO,
        // Any value that nobody writes.
        EventId::NONE => number(execution.len() + 1),
        write => number(write.index() + 1),
    };
    for (line, id) in (1..).zip(ids) {
        let event = execution.event(id);
        history.operations.push(Operation {
            process: ProcessId(execution.thread(id).0),
            key: if event.kind == Kind::Fence { KeyId::NONE } else { KeyId(event.location.0) },
            line,
            method: match event.kind {
                Kind::Read => Method::Read,
                Kind::Write => Method::Write,
                Kind::Rmw => Method::Rmw,
                Kind::Fence => Method::Fence,
            },
            order: event.order,
            outcome: Outcome::Instant,
            argument: if event.kind.writes() { value_of(id) } else { Value::NONE },
            result: if event.kind.reads() { value_of(event.source) } else { Value::NONE },
        });
    }
    history
}

#[cfg(test)]
mod tests {
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
        let mut history = to_history(&executions(5).find(|e| e.events().iter().any(|e| e.kind == Kind::Read)).unwrap());
        let read = history.operations.iter_mut().find(|operation| operation.method == Method::Read).unwrap();
        read.result = Value::integer(1 << 40).unwrap();
        let execution = Execution::from_history(&history).unwrap();
        assert_eq!(execution.thin_air().len(), 1);
        let again = Execution::from_history(&to_history(&execution)).unwrap();
        assert_eq!(execution.thin_air(), again.thin_air());
        assert_eq!(execution.events(), again.events());
    }
}
