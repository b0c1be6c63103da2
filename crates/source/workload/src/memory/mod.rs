//! Random histories of simulated memories.
//!
//! At every step a random thread does one operation: a read, a write or a read-modify-write of a random location, or a
//! fence. The machine decides what a read returns. It is an atomic memory, a memory behind store buffers ([`buffers`]),
//! a memory with views ([`views`]), or a replicated memory ([`replicas`]). Every write writes a value of its own (1, 2,
//! 3, ... in the order of the writes; every location holds 0 at first), so reads-from is never ambiguous. The model
//! that the machine is named after allows the history.
//!
//! Perturbation changes the results of some reads to values near by. It does not change what the machine does: the
//! history without perturbation differs in these results only.
//!
//! The memory of a generator does not grow with the number of operations. Two tasks would need the whole history at
//! once: to write it thread by thread, and to choose the reads to perturb evenly. The machines are deterministic, so
//! these tasks run the machine several times instead.

mod buffers;
mod replicas;
mod views;

use history::execution::{ExecutionBuilder, Kind};
use history::{Call, Execution, History, HistoryBuilder, KeyId, MemoryOrder, Method, Object, ProcessId, Value};

use crate::random::SplitMix64;
use buffers::Buffers;
use replicas::Replicas;
use views::Views;

/// The greatest [distance](MemoryConfig::distance) of a perturbed read.
pub const MAX_DISTANCE: u32 = 1024;

/// A memory system.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum MemoryMachine {
    /// An atomic memory.
    Sc,
    /// A store buffer for each thread.
    Tso,
    /// A store buffer for each thread and location.
    Pso,
    /// Views; every access releases and acquires.
    ReleaseAcquire,
    /// Views; accesses and fences release and acquire as their memory orders say.
    Rc20,
    /// Views; nothing releases or acquires.
    Relaxed,
    /// Replicas that hear of writes in causal order, and read any that is not overwritten causally: `cc`.
    Causal,
    /// Replicas that hear of writes in causal order, and of which the last writer wins: `ccv`.
    Convergent,
    /// Replicas that store writes as they arrive, in causal order: `cm`.
    CausalMemory,
}

/// What to generate.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct MemoryConfig {
    /// The machine.
    pub machine: MemoryMachine,
    /// How many threads; at least one.
    pub threads: u32,
    /// How many operations, all threads together.
    pub operations: u32,
    /// How many locations; at least one.
    pub locations: u32,
    /// How many of a hundred operations write.
    pub writes: u32,
    /// How many of a hundred operations are read-modify-writes.
    pub rmws: u32,
    /// How many of a hundred operations are fences. The rest, up to a hundred, are reads.
    pub fences: u32,
    /// How many of a hundred operations are sequentially consistent. Only an atomic memory, store buffers and
    /// [`MemoryMachine::Rc20`] know such operations. A store buffer is empty after such a write.
    pub sequential: u32,
    /// For a machine with store buffers or replicas: how many operations of each thread, on average, happen at most
    /// while a store waits, or a message is on its way. A store or message waits longer if another holds it up.
    pub delay: u32,
    /// For a machine with views: how many of a hundred reads take any message that they may read, and how many of a
    /// hundred writes take any place. The others take the newest.
    pub stale: u32,
    /// How many reads (pure reads and read-modify-writes alike) return another value. If fewer reads can, all of these
    /// do.
    pub perturb: u32,
    /// How far such a value may be, in writes of the location, from the one that the read would return. `None` is as
    /// far as the machine remembers: 4 values that were overwritten, or all messages of a machine with views.
    pub distance: Option<u32>,
    /// Where the random choices start.
    pub seed: u64,
}

impl Default for MemoryConfig {
    fn default() -> Self {
        Self {
            machine: MemoryMachine::Sc,
            threads: 4,
            operations: 1000,
            locations: 8,
            writes: 50,
            rmws: 0,
            fences: 0,
            sequential: 0,
            delay: 8,
            stale: 20,
            perturb: 0,
            distance: None,
            seed: 0,
        }
    }
}

impl MemoryConfig {
    /// What is wrong with the configuration, if anything.
    pub fn fault(&self) -> Option<&'static str> {
        let has_replicas =
            matches!(self.machine, MemoryMachine::Causal | MemoryMachine::Convergent | MemoryMachine::CausalMemory);
        let has_views =
            matches!(self.machine, MemoryMachine::ReleaseAcquire | MemoryMachine::Rc20 | MemoryMachine::Relaxed);
        let has_orders =
            matches!(self.machine, MemoryMachine::Sc | MemoryMachine::Tso | MemoryMachine::Pso | MemoryMachine::Rc20);
        if self.threads == 0 {
            Some("a history needs at least one thread")
        } else if self.locations == 0 {
            Some("a history needs at least one location")
        } else if self.writes.saturating_add(self.rmws).saturating_add(self.fences) > 100 {
            Some("writes, rmws and fences together are more than 100 percent")
        } else if self.distance.is_some_and(|distance| !(1..=MAX_DISTANCE).contains(&distance)) {
            Some("the distance of a perturbed read is from 1 to 1024 writes")
        } else if self.sequential > 100 {
            Some("more than 100 percent of the operations are sequentially consistent")
        } else if self.sequential > 0 && !has_orders {
            Some("this machine has no sequentially consistent operations")
        } else if self.stale > 100 {
            Some("more than 100 percent of the reads are stale")
        } else if has_views && self.operations > views::MAX_OPERATIONS {
            Some("a machine with views has timestamps for at most 268 million operations")
        } else if has_views && views::bytes(self) > views::MAX_BYTES {
            Some(
                "a machine with views keeps a view of all locations for each thread and each message: \
                 the views would take more than 4 GB",
            )
        } else if has_replicas && replicas::bytes(self) > views::MAX_BYTES {
            Some("a replicated memory has a copy of all locations for each thread: they would take more than 4 GB")
        } else {
            None
        }
    }

    /// The kind of operation that a number below a hundred stands for.
    const fn kind(&self, percent: u32) -> Kind {
        if percent < self.writes {
            Kind::Write
        } else if percent < self.writes + self.rmws {
            Kind::Rmw
        } else if percent < self.writes + self.rmws + self.fences {
            Kind::Fence
        } else {
            Kind::Read
        }
    }
}

/// One operation of the memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct MemoryStep {
    /// The thread, from zero.
    pub thread: u32,
    /// The location, from zero. It means nothing for a fence.
    pub location: u32,
    /// The kind of operation.
    pub kind: Kind,
    /// Its memory order.
    pub order: MemoryOrder,
    /// The value read, if it reads.
    pub read: u32,
    /// The value written, if it writes.
    pub written: u32,
}

impl MemoryStep {
    /// The value read, if it reads.
    pub fn value_read(&self) -> Option<u32> {
        self.kind.reads().then_some(self.read)
    }

    /// The value written, if it writes.
    pub fn value_written(&self) -> Option<u32> {
        self.kind.writes().then_some(self.written)
    }
}

/// Chooses `wanted` of `left` candidates, one after the other. Each set of candidates has the same probability.
struct Choice {
    random: SplitMix64,
    wanted: u64,
    left: u64,
}

impl Choice {
    fn takes_next(&mut self) -> bool {
        let takes = self.wanted > 0 && self.random.below(self.left) < self.wanted;
        self.left = self.left.saturating_sub(1);
        self.wanted -= u64::from(takes);
        takes
    }
}

/// The random sources of a machine: its own random numbers, and the choice of the reads to perturb.
struct Chance {
    random: SplitMix64,
    perturbed: Choice,
}

/// The state of a machine.
enum State {
    Buffers(Buffers),
    Views(Views),
    Replicas(Replicas),
}

/// The operations of a machine as they happen; see [`generate`].
pub struct MemoryRun {
    config: MemoryConfig,
    state: State,
    chance: Chance,
    left: u32,
    written: u32,
}

/// The operations of a machine, in the order in which they happen.
///
/// # Panics
/// If the configuration has a [fault](MemoryConfig::fault).
pub fn generate(config: &MemoryConfig) -> MemoryRun {
    assert_eq!(config.fault(), None);
    let state = match config.machine {
        MemoryMachine::Sc | MemoryMachine::Tso | MemoryMachine::Pso => State::Buffers(Buffers::new(config)),
        MemoryMachine::ReleaseAcquire | MemoryMachine::Rc20 | MemoryMachine::Relaxed => {
            State::Views(Views::new(config))
        }
        MemoryMachine::Causal | MemoryMachine::Convergent | MemoryMachine::CausalMemory => {
            State::Replicas(Replicas::new(config))
        }
    };
    // This stream of random numbers differs from that of the machine.
    let mut perturbed = Choice { random: SplitMix64::new(!config.seed), wanted: 0, left: 0 };
    if config.perturb > 0 {
        let mut unperturbed = generate(&MemoryConfig { perturb: 0, ..*config });
        while let Some((_, candidate)) = unperturbed.advance() {
            perturbed.left += u64::from(candidate);
        }
        perturbed.wanted = u64::from(config.perturb).min(perturbed.left);
    }
    let chance = Chance { random: SplitMix64::new(config.seed), perturbed };
    MemoryRun { config: *config, state, chance, left: config.operations, written: 0 }
}

/// The same operations, first all of thread 0, then all of thread 1, and so on.
pub fn thread_by_thread(config: &MemoryConfig) -> impl Iterator<Item = MemoryStep> + use<> {
    let config = *config;
    (0..config.threads).flat_map(move |thread| generate(&config).filter(move |step| step.thread == thread))
}

impl MemoryRun {
    /// The next operation, and whether it is a read that a perturbation could have changed.
    fn advance(&mut self) -> Option<(MemoryStep, bool)> {
        self.left = self.left.checked_sub(1)?;
        let random = &mut self.chance.random;
        let thread = random.below(u64::from(self.config.threads)) as u32;
        let location = random.below(u64::from(self.config.locations)) as u32;
        let kind = self.config.kind(random.below(100) as u32);
        // A machine without such operations takes no random number for them.
        let is_sequential = self.config.sequential > 0 && random.below(100) < u64::from(self.config.sequential);
        let order = if is_sequential { MemoryOrder::SequentiallyConsistent } else { MemoryOrder::Plain };
        let mut step = MemoryStep { thread, location, kind, order, read: 0, written: self.written.wrapping_add(1) };
        let candidate = match &mut self.state {
            State::Buffers(buffers) => buffers.perform(&mut step, &mut self.chance),
            State::Views(views) => views.perform(&mut step, &mut self.chance),
            State::Replicas(replicas) => replicas.perform(&mut step, &mut self.chance),
        };
        if step.kind.writes() {
            self.written = step.written;
        } else {
            step.written = 0;
        }
        Some((step, candidate))
    }
}

impl Iterator for MemoryRun {
    type Item = MemoryStep;

    fn next(&mut self) -> Option<MemoryStep> {
        self.advance().map(|(step, _)| step)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for MemoryRun {}

/// The name of a location in a history.
pub fn location_name(location: u32) -> String {
    format!("x{location}")
}

/// The history of such operations. Processes are named 0, 1, 2, ..., and locations by [`location_name`]. Line numbers
/// are those of a text file that begins with one line of header.
///
/// ```
/// use workload::memory::{MemoryConfig, MemoryMachine, generate, history, thread_by_thread};
///
/// let config = MemoryConfig { machine: MemoryMachine::Pso, operations: 100, ..MemoryConfig::default() };
/// assert_eq!(history(&config, generate(&config)).operations().len(), 100);
/// // The same, if the order in which the operations happened is not to be told.
/// assert_eq!(history(&config, thread_by_thread(&config)).operations().len(), 100);
/// ```
pub fn history(config: &MemoryConfig, steps: impl Iterator<Item = MemoryStep>) -> History {
    history_of(config.threads, config.locations, steps)
}

/// The history of so many threads and locations that these operations make.
pub(crate) fn history_of(threads: u32, locations: u32, steps: impl Iterator<Item = MemoryStep>) -> History {
    let mut builder = HistoryBuilder::new(Object::Memory);
    let processes: Vec<ProcessId> = (0..threads).map(|thread| builder.process(&thread.to_string())).collect();
    let keys: Vec<KeyId> = (0..locations).map(|location| builder.key(&location_name(location))).collect();
    builder.reserve(steps.size_hint().0);
    for (line, step) in (2..).zip(steps) {
        let (method, key) = match step.kind {
            Kind::Read => (Method::Read, keys[step.location as usize]),
            Kind::Write => (Method::Write, keys[step.location as usize]),
            Kind::Rmw => (Method::Rmw, keys[step.location as usize]),
            Kind::Fence => (Method::Fence, KeyId::NONE),
        };
        let call = Call::new(processes[step.thread as usize], method)
            .key(key)
            .line(line)
            .order(step.order)
            .argument(step.value_written().map_or(Value::NONE, Value::small))
            .result(step.value_read().map_or(Value::NONE, Value::small));
        builder.instant(&call).expect("a step is an operation of one of these threads on one of these locations");
    }
    builder.finish().expect("steps name no labels")
}

/// The execution of such operations, in the order in which they happen. No history is built.
pub fn execution(config: &MemoryConfig) -> Execution {
    let mut builder = ExecutionBuilder::new();
    // Values count the writes, so the write of a value is at its index.
    let mut writes = Vec::new();
    for step in generate(config) {
        let event = builder.push_ordered(step.thread, step.kind, step.location, step.order);
        if let Some(value) = step.value_read() {
            builder.read_from(event, value.checked_sub(1).map(|value| writes[value as usize]));
        }
        if step.kind.writes() {
            writes.push(event);
        }
    }
    builder.build()
}

#[cfg(test)]
mod tests;
