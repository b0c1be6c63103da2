//! Where the histories of the memory experiments come from.
//!
//! The papers ran random clients on four coherence protocols of a simulator, and did not say how many variables there
//! were, nor how many operations wrote. Here there are [`LOCATIONS`] variables, and [`WRITES`] of a hundred operations
//! write, unless an experiment varies them. A fifth source is an atomic memory.
//!
//! A history is given thread by thread, so the order in which things happened is no help to anybody.

use history::{Execution, History};
use machine::protocol::Name;
use machine::{Client, Ending, Setup};
use workload::memory::{Config, thread_by_thread};

/// How many variables.
pub(super) const LOCATIONS: u32 = 8;
/// How many of a hundred operations write.
pub(super) const WRITES: u32 = 50;

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
    pub(super) fn new(history: History) -> Self {
        let execution = Execution::from_history(&history).expect("generated histories are executions");
        Self { history, execution }
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

    /// A sequentially consistent history of this source.
    pub(super) fn valid(self, shape: &Shape, seed: u64) -> Result<Sample, String> {
        let &Shape { threads, operations, locations, writes } = shape;
        match self {
            Self::Atomic => {
                let config = Config { threads, operations, locations, writes, seed, ..Config::default() };
                Ok(Sample::new(workload::memory::history(&config, thread_by_thread(&config))))
            }
            Self::Protocol(protocol) => {
                let client = Client { threads, operations, locations, writes, seed, ..Client::default() };
                run(&Setup { protocol, client, ..Setup::default() })
            }
        }
    }
}

/// Runs an experiment on a simulated memory. The history is given thread by thread.
pub(super) fn run(setup: &Setup) -> Result<Sample, String> {
    let mut run = setup.run().map_err(|fault| fault.to_string())?;
    if let Ending::Stuck(reason) = run.ending {
        return Err(format!("{} is stuck: {reason}", setup.protocol));
    }
    run.operations.sort_by_key(|operation| (operation.thread, operation.index));
    Ok(Sample::new(run.history()))
}
