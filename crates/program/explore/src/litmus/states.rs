//! The final states of the executions of a test, as they come.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use history::History;

use super::machine::Machine;
use super::{Limits, Test};
use crate::exploration::{ExplorationEnding, Run};
use crate::program::Value;

/// What was seen of a final state: how many executions may end with it, and the first of them.
#[derive(Clone)]
pub(super) struct Seen {
    pub(super) count: u64,
    pub(super) seed: Option<u64>,
    pub(super) witness: Option<History>,
}

/// The final states.
pub(super) struct States {
    pub(super) by_value: BTreeMap<Vec<Value>, Seen>,
    /// Whether a weak compare-exchange could have failed without a reason once more than it may.
    pub(super) could_fail_more: bool,
    /// Whether all threads go round where one had too many steps.
    pub(super) goes_round: bool,
    keeps_witnesses: bool,
    /// The names under which the observed threads are to be seen: for each variable, the thread whose register it is.
    names: Vec<Vec<u32>>,
}

impl States {
    pub(super) fn new(limits: Limits) -> Self {
        let keeps_witnesses = limits.witnesses;
        Self { by_value: BTreeMap::new(), could_fail_more: false, goes_round: true, keeps_witnesses, names: Vec::new() }
    }

    /// An execution stands for all that differ from it in the names of threads.
    pub(super) fn with_names(mut self, names: Vec<Vec<u32>>) -> Self {
        self.names = names;
        self
    }

    /// Adds the states with which an execution may end.
    pub(super) fn add(&mut self, test: &Test, run: &mut Run<'_, Machine<'_>>, seed: Option<u64>) {
        self.could_fail_more |= run.program().has_denied();
        if run.ending() == ExplorationEnding::Bounded && self.goes_round && self.by_value.is_empty() {
            let (machine, graph) = run.parts();
            self.goes_round = machine.goes_round(graph);
        }
        if run.ending() != ExplorationEnding::Complete {
            return;
        }
        let mut state: Vec<Value> = Vec::with_capacity(test.observed.len());
        let (machine, graph) = run.parts();
        let mut value = |variable: &super::Variable, thread: u32| {
            variable.number.map_or(0, |number| machine.registers(thread, graph)[number as usize + 1])
        };
        let of_threads = || test.observed.iter().filter_map(|variable| Some((variable, variable.thread?)));
        state.extend(of_threads().map(|(variable, thread)| value(variable, thread)));
        let registers = state.len();
        // Under all other names.
        let mut renamed: Vec<Vec<Value>> = Vec::new();
        for names in &self.names {
            renamed.push(of_threads().zip(names).map(|((variable, _), &thread)| value(variable, thread)).collect());
        }
        renamed.sort_unstable();
        renamed.dedup();
        let locations: Vec<u32> =
            test.observed.iter().filter(|it| it.thread.is_none()).filter_map(|it| it.number).collect();
        let mut new = Vec::new();
        let mut add = |state: &Vec<Value>| {
            if let Some(seen) = self.by_value.get_mut(state) {
                seen.count += 1;
            } else {
                self.by_value.insert(state.clone(), Seen { count: 1, seed, witness: None });
                new.push(state.clone());
            }
        };
        run.memories(&locations, |memory| {
            state.truncate(registers);
            state.extend_from_slice(memory);
            if renamed.is_empty() {
                add(&state);
            }
            for of_threads in &renamed {
                state[..registers].copy_from_slice(of_threads);
                add(&state);
            }
        });
        for state in new.into_iter().filter(|_| self.keeps_witnesses) {
            let finals: Vec<(u32, Value)> = locations.iter().copied().zip(state[registers..].iter().copied()).collect();
            let title = test.title(&state);
            // A history of these operations has no fault; if it had, the state would have no witness.
            let history = run.graph().history(Some(title), |location| test.location_name(location), &finals).ok();
            if let Some(seen) = self.by_value.get_mut(&state) {
                seen.witness = history;
            }
        }
    }
}

/// Looks at the time now and then.
pub(super) struct Clock {
    deadline: Option<Instant>,
    until_look: u32,
    /// How many executions this clock has seen, and has not told.
    untold: u64,
}

impl Clock {
    pub(super) fn new(limits: Limits) -> Self {
        Self { deadline: limits.deadline, until_look: 0, untold: 0 }
    }

    /// The same, after one more execution. Now and then it tells how many there were.
    pub(super) fn is_late_after(&mut self, visited: &AtomicU64) -> bool {
        self.untold += 1;
        let is_late = self.is_late();
        if self.until_look == 0 {
            visited.fetch_add(std::mem::take(&mut self.untold), Ordering::Relaxed);
        }
        is_late
    }

    pub(super) fn is_late(&mut self) -> bool {
        self.until_look = (self.until_look + 1) % 256;
        self.until_look == 0 && self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}
