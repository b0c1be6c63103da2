//! An execution that an exploration has come to, and what was counted.

use std::ops::AddAssign;

use crate::graph::Graph;
use crate::program::{Program, Value};

/// How a run of the program ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum ExplorationEnding {
    /// Every thread has finished.
    Complete,
    /// Some thread cannot go on, but a value that it waits for could be read, in this execution or in another one that
    /// is explored.
    Blocked,
    /// Threads wait, and no value that any of them waits for can ever be read; or need ever be read, if the program
    /// [asks for liveness](Program::asks_for_liveness).
    Deadlock,
    /// An assertion failed. The execution is a finding, though other threads have not finished.
    Failed,
    /// Some thread has had too many steps.
    Bounded,
}

/// What an exploration has found.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The complete executions: reads-from classes.
    pub executions: u64,
    /// The executions in which some thread cannot go on, deadlocks among them.
    pub blocked: u64,
    /// The deadlocks.
    pub deadlocks: u64,
    /// The executions in which an assertion failed.
    pub failed: u64,
    /// The executions in which a thread had too many steps.
    pub bounded: u64,
    /// The complete executions that have a data race.
    pub races: u64,
}

impl Counts {
    pub(crate) fn count(&mut self, ending: ExplorationEnding, graph: &Graph) {
        match ending {
            ExplorationEnding::Complete => {
                self.executions += 1;
                self.races += u64::from(graph.race().is_some());
            }
            ExplorationEnding::Blocked => self.blocked += 1,
            ExplorationEnding::Deadlock => (self.blocked, self.deadlocks) = (self.blocked + 1, self.deadlocks + 1),
            ExplorationEnding::Failed => self.failed += 1,
            ExplorationEnding::Bounded => self.bounded += 1,
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        let Self { executions, blocked, deadlocks, failed, bounded, races } = other;
        self.executions += executions;
        self.blocked += blocked;
        self.deadlocks += deadlocks;
        self.failed += failed;
        self.bounded += bounded;
        self.races += races;
    }
}

/// An execution of the program that the exploration has come to.
#[derive(Debug)]
pub struct Run<'a, P> {
    graph: &'a mut Graph,
    program: &'a mut P,
    ending: ExplorationEnding,
}

impl<'a, P: Program> Run<'a, P> {
    pub(crate) fn new(graph: &'a mut Graph, program: &'a mut P, ending: ExplorationEnding) -> Self {
        Self { graph, program, ending }
    }

    /// The events of the execution.
    pub fn graph(&self) -> &Graph {
        self.graph
    }

    /// The program.
    pub fn program(&mut self) -> &mut P {
        self.program
    }

    /// The program, and the events that it stands after.
    pub fn parts(&mut self) -> (&mut P, &Graph) {
        (self.program, self.graph)
    }

    /// How the execution ended.
    pub fn ending(&self) -> ExplorationEnding {
        self.ending
    }

    /// The memories with which the execution may end: the values of these locations, each memory once.
    pub fn memories(&mut self, locations: &[u32], mut tell: impl FnMut(&[Value])) {
        let count = locations.iter().max().map_or(0, |&last| last + 1);
        while self.graph.location_count() < count {
            self.graph.admit_location(self.program.initial(self.graph.location_count()));
        }
        self.graph.memories(locations, &mut tell);
    }
}
