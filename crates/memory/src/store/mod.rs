//! The search for a store order, which `sc`, `tso` and `pso` share.
//!
//! Each of these models asks for a store order `ww` with `base u ww u rw[ww]` acyclic, where the base is a [`frame`].
//! The two [`rules`] force some pairs of writes into an order. The weak form of the model asks only that these forced
//! pairs make no cycle. [`saturate`] decides the weak form, and [`search`] decides the pairs that it leaves open.
//! [`windows`] applies both to long executions of `sc`, piece by piece. [`sat`] is another way to decide the open
//! pairs.

pub mod choices;
pub mod explain;
pub mod frame;
pub mod interleaving;
pub mod nearness;
pub mod rules;
pub mod run;
#[cfg(feature = "sat")]
pub mod sat;
pub mod saturate;
pub mod search;
pub mod windows;

use certificate::{Decision, Derivation, Evidence, GaveUp, Interrupt, Tactic, Verdict};
use history::execution::EventId;
use history::{Execution, OperationId};
use order::Saturation;
use order::lanes::{Lane, lanes};
use order::saturation::NONE;

use crate::causal::Halt;
use crate::strategy::{Baseline, Line, Strategy};
use crate::{Attempt, Limits, check_room_for_clocks, consistent, violation};
use choices::Choices;
use explain::{DerivationBuilder, Explainer, Explanation, Hop};
use frame::{Frame, Relaxation};
use saturate::{Saturated, Unsaturated};
use search::{Outcome, Search};

/// For every so many events of an execution, a run before saturation may make one guess without progress.
const EVENTS_PER_GUESS: usize = 1 << 7;

/// The pairs of writes that a partial store order of the causal family leaves open.
pub type Partial<'a> = Result<Choices<'a>, Halt>;

/// The tactics that look for a store order in one frame. The execution must have no thin-air read.
pub(crate) struct StoreOrders<'f> {
    frame: &'f Frame<'f>,
    /// Whether the model is a weak one, which saturation decides.
    is_weak: bool,
    witness: bool,
    interrupt: Interrupt,
    /// The search, if the saturated order was computed and left pairs open. How many steps its next turn has.
    search: Option<AnySearch<'f>>,
    turn: u64,
}

/// A search, with clocks of short or long entries.
enum AnySearch<'f> {
    Narrow(Box<Search<'f, u8>>),
    Wide(Box<Search<'f>>),
}

impl<'f> From<Search<'f, u8>> for AnySearch<'f> {
    fn from(search: Search<'f, u8>) -> Self {
        Self::Narrow(Box::new(search))
    }
}

impl<'f> From<Search<'f>> for AnySearch<'f> {
    fn from(search: Search<'f>) -> Self {
        Self::Wide(Box::new(search))
    }
}

impl AnySearch<'_> {
    /// How often all threads have waited.
    fn deadlocks(&self) -> u64 {
        match self {
            Self::Narrow(search) => search.effort.deadlocks,
            Self::Wide(search) => search.effort.deadlocks,
        }
    }

    fn run_for(&mut self, deadlocks: u64, interrupt: Interrupt) -> Result<Option<Outcome>, GaveUp> {
        match self {
            Self::Narrow(search) => search.run_for(deadlocks, interrupt),
            Self::Wide(search) => search.run_for(deadlocks, interrupt),
        }
    }
}

/// How many steps the first turn of the search has. In a step, all threads wait. Each further turn has twice as many.
const FIRST_TURN: u64 = 1 << 12;

impl<'f> StoreOrders<'f> {
    pub(crate) fn new(frame: &'f Frame<'f>, is_weak: bool, witness: bool, interrupt: Interrupt) -> Self {
        Self { frame, is_weak, witness, interrupt, search: None, turn: FIRST_TURN }
    }

    /// Tries a tactic. A search ends with [`GaveUp::Steps`] once it has taken so many steps, and may be continued.
    /// `partial` computes the pairs that a partial store order leaves open, for the tactics that need them.
    pub(crate) fn attempt(
        &mut self,
        tactic: Tactic,
        strategy: Strategy,
        steps: u64,
        partial: impl FnOnce(&'f Frame<'f>) -> Partial<'f>,
    ) -> Attempt {
        let (frame, interrupt) = (self.frame, self.interrupt);
        #[cfg(feature = "sat")]
        let solve = |choices: Choices<'_>| {
            let order = sat::PairSolver::new(&choices, interrupt).solve(None)?;
            Ok(order.map(|order| order.line))
        };
        match (tactic, strategy) {
            (Tactic::Run, _) => Ok(self.run()),
            (Tactic::Saturation, _) => self.saturation(),
            (Tactic::WscSearch | Tactic::WtsoSearch | Tactic::WpsoSearch, _) => self.search(tactic.name(), steps),
            #[cfg(feature = "sat")]
            (Tactic::WscSat | Tactic::WtsoSat | Tactic::WpsoSat, _) => {
                room(frame)?;
                let found = match Saturated::new(frame, interrupt) {
                    Ok(saturated) => solve(Choices::after_saturation(frame, &saturated)?),
                    Err(Unsaturated::GaveUp(why)) => Err(why),
                    Err(_) => Ok(None),
                };
                self.conclude(tactic, found)
            }
            #[cfg(feature = "sat")]
            (Tactic::CcmSat | Tactic::WccmSat, _) => self.after_partial(tactic, partial(frame), solve),
            (_, Strategy::Baseline(asked, Baseline::OfFrame(method))) if asked == tactic => {
                room(frame)?;
                self.conclude(tactic, method(frame, interrupt))
            }
            (_, Strategy::Baseline(asked, Baseline::OfChoices(method))) if asked == tactic => {
                self.after_partial(tactic, partial(frame), |choices| method(&choices, interrupt))
            }
            // `coherence` decides only if the frame cannot be built, and it was built. Or the tactic is a baseline, and
            // the crate of the baselines is not in use.
            _ => Ok(None),
        }
    }

    /// Tries a run. Saturation of a small execution is cheap, so few guesses are worth while there.
    fn run(&self) -> Option<Decision> {
        let few = (self.frame.execution().len() / EVENTS_PER_GUESS) as u32;
        let line = run::run(self.frame, None, Limits::default().guesses.min(few), self.interrupt)?;
        Some(consistent(Tactic::Run.name(), self.witness_of(&line)))
    }

    /// Saturation. For a strong model it decides if there is a cycle, or if the first pass found an order of all
    /// events.
    pub(crate) fn saturation(&mut self) -> Attempt {
        room(self.frame)?;
        if is_narrow(self.frame.execution()) { self.saturate::<u8>() } else { self.saturate::<u32>() }
    }

    fn saturate<L: Lane>(&mut self) -> Attempt
    where
        AnySearch<'f>: From<Search<'f, L>>,
    {
        let name = Tactic::Saturation.name();
        match Saturated::<L>::reusing(Saturation::default(), self.frame, self.interrupt) {
            Ok(Saturated { witness: Some(line), .. }) => Ok(Some(consistent(name, self.witness_of(&line)))),
            Ok(_) if self.is_weak => Ok(Some(consistent(name, self.witness.then_some(Evidence::DecideAgain)))),
            Ok(saturated) => {
                self.search = Some(Search::new(self.frame, saturated).into());
                Ok(None)
            }
            Err(unsaturated) => Ok(Some(violation(name, Evidence::Cycle(cycle_of(self.frame, &unsaturated)?)))),
        }
    }

    /// Saturation, if it was not done before, and the search over the open pairs, in turns. After each turn, the search
    /// may be interrupted. So what it finds does not depend on where it was interrupted.
    fn search(&mut self, name: &'static str, steps: u64) -> Attempt {
        if self.search.is_none()
            && let Some(decision) = self.saturation()?
        {
            return Ok(Some(decision));
        }
        let Some(search) = &mut self.search else { return Ok(None) };
        while search.deadlocks() < steps {
            let outcome = search.run_for(self.turn, self.interrupt)?;
            self.turn = self.turn.saturating_mul(2);
            match outcome {
                Some(Outcome::Found(line)) => return Ok(Some(consistent(name, self.witness_of(&line)))),
                Some(Outcome::Refuted(evidence)) => return Ok(Some(violation(name, evidence))),
                None => {}
            }
        }
        Err(GaveUp::Steps)
    }

    /// Solves the pairs that a partial store order leaves open.
    fn after_partial(
        &mut self,
        tactic: Tactic,
        partial: Partial<'f>,
        solve: impl FnOnce(Choices<'f>) -> Line,
    ) -> Attempt {
        room(self.frame)?;
        let found = match partial {
            Ok(choices) => solve(choices),
            Err(Halt::GaveUp(why)) => Err(why),
            Err(Halt::Violation(_)) => Ok(None),
        };
        self.conclude(tactic, found)
    }

    /// The decision for what a solver found. If there is no store order, the solver does not say why. Then the search
    /// runs, because a violation needs evidence.
    fn conclude(&mut self, tactic: Tactic, found: Line) -> Attempt {
        if let Some(line) = found? {
            return Ok(Some(consistent(tactic.name(), self.witness_of(&line))));
        }
        let refuted = self.search(tactic.name(), u64::MAX)?.filter(|decision| decision.verdict == Verdict::Violation);
        Ok(refuted.map(|decision| Decision { strategy: tactic.name(), ..decision }))
    }

    fn witness_of(&self, line: &[u32]) -> Option<Evidence> {
        self.witness.then(|| order_of(self.frame, line))
    }
}

/// Checks that there is memory for the clocks of all events, and for two rows for each location.
fn room(frame: &Frame<'_>) -> Result<(), GaveUp> {
    let execution = frame.execution();
    let (entries, clocks) = (lanes(execution.thread_count()), execution.len() + 2 * execution.location_count());
    let bytes = if is_narrow(execution) { size_of::<u8>() } else { size_of::<u32>() };
    check_room_for_clocks(clocks, entries, entries.saturating_mul(clocks).saturating_mul(bytes))
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
            let explanation = Explainer { frame, order, known: 0, by_lemma: &[] }.conflict(*conflict);
            let mut builder = DerivationBuilder::new(frame);
            for explained in &explanation.edges {
                builder.add(explained, None);
            }
            Ok(builder.close(&explanation))
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
    DerivationBuilder::new(frame).close(&Explanation { edges: Vec::new(), cycle, bottom: None })
}
