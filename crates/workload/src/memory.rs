//! Random histories of an atomic memory.
//!
//! The machine: at every step one thread, chosen at random, reads, writes or read-modify-writes one location, chosen at
//! random; a read returns what was written last. So what it yields, in the order in which it yields it, is a
//! sequentially consistent interleaving. Every write writes a value of its own (1, 2, 3, ... in the order of the
//! writes; every location holds 0 at first), so reads-from is never ambiguous.
//!
//! Perturbation re-targets some reads to one of the last [`NEARBY`] values that were overwritten in their location. What
//! the machine itself does is not changed by it: the history without perturbation differs in these results only.
//!
//! Memory does not grow with the number of operations: the machine is deterministic, so what would need the whole
//! history at once (the order thread by thread, an even choice of the reads to perturb) runs it again instead.

use history::execution::{ExecutionBuilder, Kind};
use history::{Execution, History, KeyId, MemoryOrder, Method, Operation, Outcome, ProcessId, Value};

use crate::random::SplitMix64;

/// How far back, in writes of the same location, a perturbed read may look.
pub const NEARBY: usize = 4;

/// What to generate.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How many threads; at least one.
    pub threads: u32,
    /// How many operations, all threads together.
    pub operations: u32,
    /// How many locations; at least one.
    pub locations: u32,
    /// How many of a hundred operations write.
    pub writes: u32,
    /// How many of a hundred operations are read-modify-writes. The rest, up to a hundred, reads.
    pub rmws: u32,
    /// How many reads (of pure reads and read-modify-writes alike) return a value of before; all that can, if there
    /// are fewer.
    pub perturb: u32,
    /// Where the random choices start.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { threads: 4, operations: 1000, locations: 8, writes: 50, rmws: 0, perturb: 0, seed: 0 }
    }
}

impl Config {
    /// What is wrong with it, if anything.
    pub fn fault(&self) -> Option<&'static str> {
        if self.threads == 0 {
            Some("a history needs at least one thread")
        } else if self.locations == 0 {
            Some("a history needs at least one location")
        } else if self.writes.saturating_add(self.rmws) > 100 {
            Some("writes and rmws together are more than 100 percent")
        } else {
            None
        }
    }
}

/// What an operation of the memory does.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// A read of this value.
    Read(u32),
    /// A write of this value.
    Write(u32),
    /// An atomic read and write.
    Rmw {
        /// The value read.
        read: u32,
        /// The value written.
        written: u32,
    },
}

impl Access {
    /// The value read, if it reads.
    pub const fn read(self) -> Option<u32> {
        match self {
            Self::Read(value) | Self::Rmw { read: value, .. } => Some(value),
            Self::Write(_) => None,
        }
    }

    /// The value written, if it writes.
    pub const fn written(self) -> Option<u32> {
        match self {
            Self::Write(value) | Self::Rmw { written: value, .. } => Some(value),
            Self::Read(_) => None,
        }
    }
}

/// One operation of the memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The thread, from zero.
    pub thread: u32,
    /// The location, from zero.
    pub location: u32,
    /// What it does.
    pub access: Access,
}

/// A location: what it holds, and the values that it held before, the latest in front.
#[derive(Copy, Clone, Default)]
struct Cell {
    value: u32,
    before: [u32; NEARBY],
    held: u8,
}

impl Cell {
    fn store(&mut self, value: u32) {
        self.before.rotate_right(1);
        self.before[0] = self.value;
        self.held = (self.held + 1).min(NEARBY as u8);
        self.value = value;
    }
}

/// Chooses `wanted` of `left` candidates, each set of them with the same probability, as they come by.
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

/// The operations of the machine as they happen; see [`generate`].
pub struct Interleaving {
    config: Config,
    random: SplitMix64,
    cells: Vec<Cell>,
    left: u32,
    written: u32,
    choice: Choice,
}

/// The operations of an atomic memory, in the order in which they happen.
///
/// # Panics
/// If the configuration has a [fault](Config::fault).
pub fn generate(config: &Config) -> Interleaving {
    assert_eq!(config.fault(), None);
    let mut interleaving = Interleaving {
        config: *config,
        random: SplitMix64::new(config.seed),
        cells: vec![Cell::default(); config.locations as usize],
        left: config.operations,
        written: 0,
        // Any other stream than that of the machine.
        choice: Choice { random: SplitMix64::new(!config.seed), wanted: 0, left: 0 },
    };
    if config.perturb > 0 {
        let unperturbed = Config { perturb: 0, ..*config };
        let mut machine = generate(&unperturbed);
        let mut candidates = 0;
        while let Some((_, stale)) = machine.advance() {
            candidates += u64::from(stale);
        }
        interleaving.choice.left = candidates;
        interleaving.choice.wanted = u64::from(config.perturb).min(candidates);
    }
    interleaving
}

/// The same operations, first all of thread 0, then all of thread 1, and so on.
pub fn thread_by_thread(config: &Config) -> impl Iterator<Item = Step> + use<> {
    let config = *config;
    (0..config.threads).flat_map(move |thread| generate(&config).filter(move |step| step.thread == thread))
}

impl Interleaving {
    /// The next operation, and whether it is a read that a perturbation could have changed.
    fn advance(&mut self) -> Option<(Step, bool)> {
        self.left = self.left.checked_sub(1)?;
        let thread = self.random.below(u64::from(self.config.threads)) as u32;
        let location = self.random.below(u64::from(self.config.locations)) as u32;
        let percent = self.random.below(100) as u32;
        let cell = &mut self.cells[location as usize];
        let reads = percent >= self.config.writes;
        let writes = percent < self.config.writes + self.config.rmws;

        let can_be_stale = reads && cell.held > 0;
        let read = if can_be_stale && self.choice.takes_next() {
            cell.before[self.choice.random.below(u64::from(cell.held)) as usize]
        } else {
            cell.value
        };
        if writes {
            self.written += 1;
            cell.store(self.written);
        }
        let access = match (reads, writes) {
            (true, true) => Access::Rmw { read, written: self.written },
            (true, false) => Access::Read(read),
            (false, _) => Access::Write(self.written),
        };
        Some((Step { thread, location, access }, can_be_stale))
    }
}

impl Iterator for Interleaving {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        self.advance().map(|(step, _)| step)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Interleaving {}

/// The name of a location in a history.
pub fn location_name(location: u32) -> String {
    format!("x{location}")
}

/// The history of such operations; processes are named 0, 1, 2, ..., locations by [`location_name`], and lines are those
/// of a text file in which a line of header comes first.
pub fn history(config: &Config, steps: impl Iterator<Item = Step>) -> History {
    let processes = (0..config.threads).filter_map(|thread| Value::integer(i64::from(thread))).collect();
    let mut history = History { processes, ..History::default() };
    for location in 0..config.locations {
        let name = history.words.word(&location_name(location));
        history.keys.push(name);
    }
    let value = |value: Option<u32>| value.and_then(|n| Value::integer(i64::from(n))).unwrap_or(Value::NONE);
    history.operations = (2..)
        .zip(steps)
        .map(|(line, step)| Operation {
            process: ProcessId(step.thread),
            key: KeyId(step.location),
            line,
            method: match step.access {
                Access::Read(_) => Method::Read,
                Access::Write(_) => Method::Write,
                Access::Rmw { .. } => Method::Rmw,
            },
            order: MemoryOrder::Plain,
            outcome: Outcome::Instant,
            argument: value(step.access.written()),
            result: value(step.access.read()),
        })
        .collect();
    history
}

/// The execution of such operations in the order in which they happen, without the way through a history.
pub fn execution(config: &Config) -> Execution {
    let mut builder = ExecutionBuilder::new();
    // Values count the writes, so the write of a value is at its index.
    let mut writes = Vec::new();
    for step in generate(config) {
        let kind = match step.access {
            Access::Read(_) => Kind::Read,
            Access::Write(_) => Kind::Write,
            Access::Rmw { .. } => Kind::Rmw,
        };
        let event = builder.push(step.thread, kind, step.location);
        if let Some(value) = step.access.read() {
            builder.read_from(event, value.checked_sub(1).map(|value| writes[value as usize]));
        }
        if step.access.written().is_some() {
            writes.push(event);
        }
    }
    builder.build()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configs() -> impl Iterator<Item = Config> {
        (0..40).map(|seed| Config {
            threads: 1 + seed as u32 % 5,
            operations: 50 * seed as u32,
            locations: 1 + seed as u32 % 7,
            writes: 10 * (seed as u32 % 6),
            rmws: 5 * (seed as u32 % 9),
            perturb: 0,
            seed,
        })
    }

    /// The reads that do not return what was written last.
    fn stale_reads(config: &Config, steps: impl Iterator<Item = Step>) -> usize {
        let mut memory = vec![0; config.locations as usize];
        let mut stale = 0;
        for step in steps {
            let cell = &mut memory[step.location as usize];
            stale += usize::from(step.access.read().is_some_and(|value| value != *cell));
            *cell = step.access.written().unwrap_or(*cell);
        }
        stale
    }

    #[test]
    fn unperturbed_histories_replay_on_an_atomic_memory() {
        for config in configs() {
            assert_eq!(stale_reads(&config, generate(&config)), 0, "{config:?}");
            assert_eq!(generate(&config).count(), config.operations as usize);
        }
    }

    #[test]
    fn exactly_the_wanted_number_of_reads_is_perturbed() {
        for config in configs().filter(|config| config.operations >= 500 && (10..50).contains(&config.writes)) {
            for perturb in [1, 2, 20] {
                let perturbed = Config { perturb, ..config };
                assert_eq!(stale_reads(&config, generate(&perturbed)), perturb as usize, "{config:?}");
                let writes = |config| generate(config).filter_map(|step| step.access.written()).collect::<Vec<_>>();
                assert_eq!(writes(&config), writes(&perturbed));
            }
            let all = Config { perturb: u32::MAX, ..config };
            let stale = stale_reads(&config, generate(&all));
            assert!(stale > 20 && stale < config.operations as usize);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_history_and_another_seed_another() {
        for config in configs().filter(|config| config.operations >= 100) {
            assert!(generate(&config).eq(generate(&config)));
            assert!(!generate(&config).eq(generate(&Config { seed: config.seed + 1000, ..config })));
        }
    }

    #[test]
    fn values_are_unique() {
        for config in configs() {
            let mut values: Vec<u32> = generate(&config).filter_map(|step| step.access.written()).collect();
            let written = values.len();
            values.sort_unstable();
            values.dedup();
            assert_eq!(values.len(), written);
            assert!(!values.contains(&0), "0 is the initial value");
        }
    }

    #[test]
    fn both_orders_hold_the_same_history() {
        for config in configs().map(|config| Config { perturb: 3, ..config }) {
            let mut sorted: Vec<Step> = generate(&config).collect();
            sorted.sort_by_key(|step| step.thread);
            assert_eq!(thread_by_thread(&config).collect::<Vec<_>>(), sorted);
        }
    }

    #[test]
    fn the_execution_is_that_of_the_history() {
        for config in configs().map(|config| Config { perturb: 2, ..config }) {
            let direct = execution(&config);
            let viewed = Execution::from_history(&history(&config, generate(&config))).unwrap();
            assert_eq!(direct.events(), viewed.events(), "{config:?}");
            assert_eq!(direct.operations(), viewed.operations());
            assert!(viewed.thin_air().is_empty());
        }
    }
}
