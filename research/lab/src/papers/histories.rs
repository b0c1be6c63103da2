//! Where the histories of the memory experiments come from.
//!
//! The papers ran random clients on four coherence protocols of a simulator, and did not say how many variables there
//! were, nor how many operations wrote. Here there are [`LOCATIONS`] variables, and [`WRITES`] of a hundred operations
//! write, unless an experiment varies them. A fifth source is an atomic memory.
//!
//! A violation is made as wSC says: some reads return the value of another write, within a bounded distance. Most
//! histories with one changed read on many threads are still allowed. So each is checked, and changed again until it is
//! a violation.
//!
//! A history is given thread by thread, so the order in which things happened is no help to anybody.

use history::execution::Kind;
use history::{Execution, History, MemoryOrder};
use machine::protocol::Name;
use machine::{Client, CoreKind, MachineEnding, MachineSetup, Mistake};
use model::{Model, Verdict};
use workload::memory::{MemoryConfig, MemoryStep, generate};
use workload::random::SplitMix64;

/// How many variables.
pub(super) const LOCATIONS: u32 = 8;
/// How many of a hundred operations write.
pub(super) const WRITES: u32 = 50;
/// How many reads are changed at most to make a violation.
const MOST_CHANGED: u32 = 4;
/// How often it is tried to make a violation.
const TRIES: u64 = 10_000;

/// The shape of a history.
#[derive(Copy, Clone, Debug)]
pub(super) struct Shape {
    pub(super) threads: u32,
    pub(super) operations: u32,
    pub(super) locations: u32,
    pub(super) writes: u32,
}

impl Shape {
    pub(super) fn new(threads: u32, operations: u32) -> Self {
        Self { threads, operations, locations: LOCATIONS, writes: WRITES }
    }
}

/// A history, and the execution that it is.
pub(super) struct Sample {
    pub(super) history: History,
    pub(super) execution: Execution,
}

impl Sample {
    /// The history of these steps, thread by thread.
    fn new(shape: &Shape, mut steps: Vec<MemoryStep>) -> Self {
        steps.sort_by_key(|step| step.thread);
        let config = MemoryConfig { threads: shape.threads, locations: shape.locations, ..MemoryConfig::default() };
        let history = workload::memory::history(&config, steps.into_iter());
        let execution = Execution::from_history(&history).expect("generated histories are executions");
        Self { history, execution }
    }

    fn is_allowed(&self) -> Result<bool, String> {
        let decision = memory::check(Model::Sc, &self.execution, &memory::MemoryOptions::default());
        match decision.verdict {
            Verdict::Consistent => Ok(true),
            Verdict::Violation => Ok(false),
            Verdict::Unknown => Err(decision.reason.unwrap_or_default()),
        }
    }
}

/// A memory system.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Atomic,
    Protocol(Name),
}

impl Source {
    pub(super) const ALL: [Self; 5] = [
        Self::Atomic,
        Self::Protocol(Name::Mi),
        Self::Protocol(Name::MoesiHammer),
        Self::Protocol(Name::MesiTwoLevel),
        Self::Protocol(Name::MoesiAmd),
    ];

    /// The source of sample number `sample`: they take turns.
    pub(super) fn of_sample(sample: u32) -> Self {
        Self::ALL[sample as usize % Self::ALL.len()]
    }

    /// The operations of a sequentially consistent run, in the order in which they happened.
    fn steps(self, shape: &Shape, seed: u64) -> Result<Vec<MemoryStep>, String> {
        let &Shape { threads, operations, locations, writes } = shape;
        match self {
            Self::Atomic => {
                let config = MemoryConfig { threads, operations, locations, writes, seed, ..MemoryConfig::default() };
                Ok(generate(&config).collect())
            }
            Self::Protocol(protocol) => {
                let client = Client { threads, operations, locations, writes, seed, ..Client::default() };
                run(&MachineSetup { protocol, client, ..MachineSetup::default() })
            }
        }
    }

    /// A sequentially consistent history of this source.
    pub(super) fn valid(self, shape: &Shape, seed: u64) -> Result<Sample, String> {
        Ok(Sample::new(shape, self.steps(shape, seed)?))
    }

    /// A history of this source with some reads changed, which is not sequentially consistent. The number tells how
    /// many changed histories were allowed before.
    pub(super) fn violating(self, shape: &Shape, distance: u32, seed: u64) -> Result<(Sample, u64), String> {
        let steps = self.steps(shape, seed)?;
        let mut random = SplitMix64::new(!seed);
        for tries in 0..TRIES {
            let mut changed = steps.clone();
            let count = random.between(1, MOST_CHANGED);
            change_reads(&mut changed, count, distance, &mut random);
            let sample = Sample::new(shape, changed);
            if !sample.is_allowed()? {
                return Ok((sample, tries));
            }
        }
        Err(format!("{TRIES} changed histories were all allowed"))
    }
}

/// Changes some reads: each returns the value of another write, which is at most so many writes of the location away.
fn change_reads(steps: &mut [MemoryStep], count: u32, distance: u32, random: &mut SplitMix64) {
    let locations = steps.iter().map(|step| step.location + 1).max().unwrap_or(0) as usize;
    let mut values = vec![vec![0]; locations];
    for step in steps.iter() {
        values[step.location as usize].extend(step.value_written());
    }
    let reads: Vec<usize> = (0..steps.len()).filter(|&at| steps[at].kind == Kind::Read).collect();
    for _ in 0..count.min(reads.len() as u32) {
        let step = &mut steps[random.pick(&reads)];
        let values = &values[step.location as usize];
        let at = values.iter().position(|&value| value == step.read).unwrap_or(0);
        let near = at.saturating_sub(distance as usize)..values.len().min(at + distance as usize + 1);
        let others = near.len() as u64 - 1;
        if others > 0 {
            let other = (at - near.start + 1 + random.below(others) as usize) % near.len();
            step.read = values[near.start + other];
        }
    }
}

/// Runs an experiment on a simulated memory: its operations in the order in which they were performed.
fn run(setup: &MachineSetup) -> Result<Vec<MemoryStep>, String> {
    let run = setup.run().map_err(|fault| fault.to_string())?;
    if let MachineEnding::Stuck(reason) = &run.ending {
        return Err(format!("{} is stuck: {reason}", setup.protocol));
    }
    let step = |it: machine::ClientOperation| MemoryStep {
        thread: it.thread,
        location: it.instruction.location,
        kind: it.instruction.kind,
        order: MemoryOrder::Plain,
        read: it.read,
        written: it.instruction.value,
    };
    Ok(run.performed().into_iter().map(step).collect())
}

/// The mistake of ours in MI that stands for the one of GCC.
pub(super) const SWAPPED: &str = "store-hit-profile-swapped";

/// A violation of the MI protocol with this mistake. The number tells how many runs were sequentially consistent
/// before.
pub(super) fn with_mistake(mistake: &str, shape: &Shape, seed: u64) -> Result<(Sample, u64), String> {
    let mistake = Mistake::from_name(Name::Mi, CoreKind::InOrder, mistake);
    let mistake = mistake.map_err(|error| error.to_string())?;
    let &Shape { threads, operations, locations, writes } = shape;
    let mut seeds = SplitMix64::new(seed);
    for tries in 0..TRIES {
        let client = Client { threads, operations, locations, writes, seed: seeds.next(), ..Client::default() };
        let setup = MachineSetup { protocol: Name::Mi, mistake: Some(mistake), client, ..MachineSetup::default() };
        // A mistake may also leave the memory stuck; such a run has no history.
        let Ok(steps) = run(&setup) else { continue };
        let sample = Sample::new(shape, steps);
        if !sample.is_allowed()? {
            return Ok((sample, tries));
        }
    }
    Err(format!("{TRIES} runs were all allowed"))
}
