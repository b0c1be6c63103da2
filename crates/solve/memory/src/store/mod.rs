//! The search for a store order, which `sc`, `tso` and `pso` share.
//!
//! Each of these models asks for a store order `ww` with `base u ww u rw[ww]` acyclic, where the base is a [`frame`].
//! The two [`rules`] force some pairs of writes into an order. The weak form of the model asks only that these forced
//! pairs make no cycle. [`saturate`] decides the weak form, and [`search`] decides the pairs that it leaves open.
//! Before that, a [`run`] looks for an order of all events without saturation; where it is stuck, only the [`rest`] is
//! saturated and searched. [`windows`] decides long executions of `pso`, piece by piece.

pub mod explain;
pub mod frame;
pub mod interleaving;
pub mod nearness;
pub mod rest;
pub mod rules;
pub mod run;
pub mod saturate;
pub mod search;
pub mod windows;

use ::search::{Ending, Steps};
use history::execution::EventId;
use history::{Execution, OperationId};
use model::{Budget, Derivation, Evidence, GaveUp};
use order::lanes::{Lane, lanes};
use order::saturation::NONE;
use order::{Explainer, Explanation, Saturation};

use self::search::{StoreOrder, StoreSearch, refutation};
use crate::{Attempt, Limits, Tactic, consistent, violation};
use explain::{DerivationBuilder, Hop};
use frame::{Frame, Relaxation};
use saturate::{Saturated, Unsaturated};

/// What is known after a part of an execution was looked at, piece by piece or where a run is stuck.
#[derive(Clone, Debug)]
pub enum Answer {
    /// An order of all events.
    Found(Vec<u32>),
    /// There is none, since saturation leads to this cycle.
    Refuted(Derivation),
    /// Nothing is known.
    Nothing,
}

/// The tactics that look for a store order in one frame. The execution must have no thin-air read.
pub(crate) struct StoreOrders<'f> {
    frame: &'f Frame<'f>,
    /// Whether the model is a weak one, which saturation decides.
    is_weak: bool,
    witness: bool,
    limits: Limits,
    /// The search, if the saturated order was computed and left pairs open, and how many steps it has taken.
    search: Option<AnySearch<'f>>,
    taken: u64,
}

/// A search, with clocks of short or long entries.
enum AnySearch<'f> {
    Narrow(Box<StoreSearch<'f, u8>>),
    Wide(Box<StoreSearch<'f>>),
}

impl<'f> From<StoreSearch<'f, u8>> for AnySearch<'f> {
    fn from(search: StoreSearch<'f, u8>) -> Self {
        Self::Narrow(Box::new(search))
    }
}

impl<'f> From<StoreSearch<'f>> for AnySearch<'f> {
    fn from(search: StoreSearch<'f>) -> Self {
        Self::Wide(Box::new(search))
    }
}

impl AnySearch<'_> {
    fn run(&mut self, steps: &mut Steps) -> Result<Ending<Vec<u32>>, GaveUp> {
        match self {
            Self::Narrow(search) => search.run(steps),
            Self::Wide(search) => search.run(steps),
        }
    }

    fn refutation(&self) -> Evidence {
        match self {
            Self::Narrow(search) => refutation(search),
            Self::Wide(search) => refutation(search),
        }
    }
}

impl<'f> StoreOrders<'f> {
    pub(crate) fn new(frame: &'f Frame<'f>, is_weak: bool, witness: bool, limits: &Limits) -> Self {
        Self { frame, is_weak, witness, limits: limits.clone(), search: None, taken: 0 }
    }

    /// Tries a tactic. A search ends with [`GaveUp::Steps`] once it has taken so many steps, and may be continued.
    pub(crate) fn attempt(&mut self, tactic: Tactic, steps: u64) -> Attempt {
        match tactic {
            Tactic::Run => self.run(),
            Tactic::Saturation => self.saturation(),
            Tactic::Search => self.search(steps),
            // `coherence` decides only if the frame cannot be built, and it was built.
            _ => Ok(None),
        }
    }

    /// Tries a run and, where it is stuck, its rest.
    fn run(&self) -> Attempt {
        let name = Tactic::Run.name();
        Ok(match rest::decide(self.frame, &self.limits)? {
            Answer::Found(line) => Some(consistent(name, self.witness_of(&line))),
            Answer::Refuted(cycle) => Some(violation(name, Evidence::Cycle(cycle))),
            Answer::Nothing => None,
        })
    }

    /// Saturation. For a strong model it decides if there is a cycle, or if the first pass found an order of all
    /// events.
    pub(crate) fn saturation(&mut self) -> Attempt {
        room(&self.limits.budget, self.frame)?;
        if self.limits.knobs.store.narrow && is_narrow(self.frame.execution()) {
            self.saturate::<u8>()
        } else {
            self.saturate::<u32>()
        }
    }

    fn saturate<L: Lane>(&mut self) -> Attempt
    where
        AnySearch<'f>: From<StoreSearch<'f, L>>,
    {
        let name = Tactic::Saturation.name();
        let Limits { budget, knobs } = &self.limits;
        match Saturated::<L>::reusing(Saturation::default(), self.frame, budget) {
            Ok(Saturated { witness: Some(line), .. }) => Ok(Some(consistent(name, self.witness_of(&line)))),
            Ok(_) if self.is_weak => Ok(Some(consistent(name, self.witness.then_some(Evidence::DecideAgain)))),
            Ok(saturated) => {
                self.search = Some(StoreOrder::search(self.frame, saturated, knobs.store, budget).into());
                Ok(None)
            }
            Err(unsaturated) => Ok(Some(violation(name, Evidence::Cycle(cycle_of(self.frame, &unsaturated)?)))),
        }
    }

    /// Saturation, if it was not done before, and the search over the open pairs, until it has taken so many steps.
    fn search(&mut self, steps: u64) -> Attempt {
        let name = Tactic::Search.name();
        if self.search.is_none()
            && let Some(decision) = self.saturation()?
        {
            return Ok(Some(decision));
        }
        let Some(search) = &mut self.search else { return Ok(None) };
        let mut left = Steps::new(steps.saturating_sub(self.taken));
        let outcome = search.run(&mut left);
        self.taken += left.taken();
        match outcome? {
            Ending::Found(line) => Ok(Some(consistent(name, self.witness_of(&line)))),
            Ending::Refuted => Ok(Some(violation(name, search.refutation()))),
            Ending::Paused => Err(GaveUp::Steps),
        }
    }

    fn witness_of(&self, line: &[u32]) -> Option<Evidence> {
        self.witness.then(|| order_of(self.frame, line))
    }
}

/// Checks that there is memory for the clocks of all events, and for two rows for each location.
fn room(budget: &Budget, frame: &Frame<'_>) -> Result<(), GaveUp> {
    let execution = frame.execution();
    let (entries, clocks) = (lanes(execution.thread_count()), execution.len() + 2 * execution.location_count());
    let bytes = if is_narrow(execution) { size_of::<u8>() } else { size_of::<u32>() };
    budget.check_room_for_clocks(clocks, entries, entries.saturating_mul(clocks).saturating_mul(bytes))
}

/// Whether the entries of clocks need only 8 bits, because all threads are short.
fn is_narrow(execution: &Execution) -> bool {
    execution.starts().windows(2).all(|thread| (thread[1] - thread[0]) as usize <= <u8 as Lane>::MOST_EVENTS)
}

/// The events in the order of the file, if that is an interleaving in which each read returns the last write before it.
pub fn recorded_interleaving(execution: &Execution) -> Option<Vec<u32>> {
    let operations = execution.operations();
    if operations.is_sorted() {
        // The check goes thread by thread. If the order is no interleaving, a few events mostly show it.
        let mut replay = Replay::new(execution);
        let all = 0..execution.len() as u32;
        return all.clone().all(|event| replay.perform(event)).then(|| all.collect());
    }
    // Operations are sorted block by block. Here, too, a few events may show that the order is no interleaving, and
    // memory that was never touched is expensive.
    let starts = execution.starts();
    let mut next = starts[..execution.thread_count()].to_vec();
    let mut replay = Replay::new(execution);
    let mut line = Vec::new();
    // A block of a small history is small: to clear more of it would take longer than the replay.
    let last = operations.iter().map(|it| it.index()).max().unwrap_or_default();
    let mut block = vec![NONE; OPERATIONS_PER_BLOCK.min(last + 1)];
    loop {
        let heads = next.iter().zip(&starts[1..]).filter(|(at, end)| at < end);
        let Some(begin) = heads.map(|(&at, _)| operations[at as usize].index()).min() else { break };
        for (at, &end) in next.iter_mut().zip(&starts[1..]) {
            while *at < end && operations[*at as usize].index() < begin + OPERATIONS_PER_BLOCK {
                // This fails if the events of the thread are not in the order of the file.
                let place = operations[*at as usize].index().checked_sub(begin)?;
                block[place] = *at;
                *at += 1;
            }
        }
        for event in &mut block {
            let event = std::mem::replace(event, NONE);
            if event != NONE {
                if !replay.perform(event) {
                    return None;
                }
                line.push(event);
            }
        }
    }
    (line.len() == execution.len()).then_some(line)
}

/// How many operations are sorted into the order of the file at a time.
const OPERATIONS_PER_BLOCK: usize = 4096;

/// Performs events one after the other. They must be in program order, and every read must return the last write before
/// it.
struct Replay<'a> {
    execution: &'a Execution,
    next: Vec<u32>,
    memory: Vec<EventId>,
}

impl<'a> Replay<'a> {
    fn new(execution: &'a Execution) -> Self {
        Self {
            execution,
            next: execution.starts()[..execution.thread_count()].to_vec(),
            memory: vec![EventId::INIT; execution.location_count()],
        }
    }

    /// Performs an event. The answer is whether it can be the next.
    fn perform(&mut self, id: u32) -> bool {
        let next = &mut self.next[self.execution.threads()[id as usize].index()];
        let event = self.execution.events()[id as usize];
        if *next != id {
            return false;
        }
        *next += 1;
        if let Some(cell) = self.memory.get_mut(event.location.index()) {
            if event.kind.reads() && *cell != event.source {
                return false;
            }
            if event.kind.writes() {
                *cell = EventId(id);
            }
        }
        true
    }
}

/// The operations of events.
pub(crate) fn operations(execution: &Execution, events: &[u32]) -> Vec<OperationId> {
    events.iter().map(|&event| execution.operation(EventId(event))).collect()
}

/// An order of all events as the witness of its model.
pub(crate) fn order_of(frame: &Frame<'_>, line: &[u32]) -> Evidence {
    let line = operations(frame.execution(), line);
    if frame.relaxation() == Relaxation::Nothing { Evidence::Interleaving(line) } else { Evidence::MemoryOrder(line) }
}

/// The cycle that shows why there is no saturated order, unless saturation gave up.
pub(crate) fn cycle_of<L: Lane>(frame: &Frame<'_>, unsaturated: &Unsaturated<L>) -> Result<Derivation, GaveUp> {
    match unsaturated {
        Unsaturated::Stuck(next) => Ok(base_cycle(frame, next)),
        Unsaturated::Conflict(order, conflict) => {
            let explanation = Explainer::new(&**order, frame).conflict(*conflict);
            Ok(DerivationBuilder::build(frame, &explanation, &[]))
        }
        Unsaturated::GaveUp(why) => Err(*why),
    }
}

/// The cycle of the base in which chains wait for each other, given the next event of each chain.
fn base_cycle(frame: &Frame<'_>, next: &[u32]) -> Derivation {
    let execution = frame.execution();
    let chain = |event: u32| execution.threads()[event as usize].index();
    let ends = &execution.starts()[1..];
    let mut at = next.iter().zip(ends).find(|(next, end)| next < end).map_or(0, |(&next, _)| next);
    let mut seen = vec![NONE; next.len()];
    let mut cycle = Vec::new();
    // The walk goes backwards: each event waits for a predecessor, which waits for the next event of its own chain.
    while seen[chain(at)] == NONE {
        seen[chain(at)] = cycle.len() as u32;
        let predecessor = frame
            .predecessors(at)
            .find(|&predecessor| predecessor >= next[chain(predecessor)])
            .expect("an event that cannot go waits for another");
        cycle.push(frame.hop(predecessor, at));
        at = next[chain(predecessor)];
        if at != predecessor {
            cycle.push(Hop::Po(at, predecessor));
        }
    }
    cycle.drain(..seen[chain(at)] as usize);
    cycle.reverse();
    let cycle = frame.cycle(cycle);
    DerivationBuilder::build(frame, &Explanation { edges: Vec::new(), cycle, bottom: None }, &[])
}

#[cfg(test)]
mod tests;
