//! The search for a store order: what `sc`, `tso` and `pso` share.
//!
//! Each of them asks for a store order `ww` with `base u ww u rw[ww]` acyclic, where the base is a [`frame`]; its weak form asks
//! for what the two [`rules`] force of that order to be acyclic. The weak form is decided by [`saturate`]; what it leaves open by [`search`].
//! Long executions of `sc` go through both in [`windows`].
//! The strategies of the papers are here, too, for comparison.

pub mod choices;
pub mod direct;
pub mod enumerate;
pub mod explain;
pub mod frame;
pub mod frontier;
pub mod interleaving;
pub mod rules;
pub mod sat;
pub mod saturate;
pub mod search;
pub mod strategy;
pub mod windows;

use certificate::{Decision, Derivation, Evidence, Verdict};
use history::execution::EventId;
use history::{Execution, OperationId};
use order::lanes::lanes;
use order::saturation::NONE;

use crate::causal::Halt;
use crate::{Interrupt, check_room_for, unknown, violation};
use choices::{Choices, TooMany};
use explain::{DerivationBuilder, Explainer, Explanation, Hop};
use frame::{Frame, Relaxation};
use sat::{Found, PairSolver};
use saturate::{Saturated, Unsaturated};
use search::{Outcome, Search};
use strategy::{Method, Strategy};
use windows::{Answer, Limits};

pub(crate) const OUT_OF_TIME: &str = "the time limit was reached";

/// In executions of so many events any run is tried before the order is saturated: in larger ones it gets nowhere.
const SMALL: usize = 1 << 12;

/// Why there is no partial store order.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It would be cyclic: the model is violated.
    Violation,
    /// There was no time left.
    Interrupted,
}

impl From<Halt> for Stop {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::Violation(_) => Self::Violation,
            Halt::Interrupted => Self::Interrupted,
        }
    }
}

/// What a partial store order of the causal family leaves open.
pub type Partial<'a> = Result<Result<Choices<'a>, TooMany>, Stop>;

/// Decides the weak form of a model.
pub fn weak(frame: &Frame<'_>, witness: bool, interrupt: Interrupt) -> Decision {
    if let Err(decision) = room(frame) {
        return decision;
    }
    match Saturated::new(frame, interrupt) {
        Ok(Saturated { witness: line, .. }) => {
            let evidence = || line.map_or(Evidence::DecideAgain, |line| order_of(frame, &line));
            consistent("saturation", witness.then(evidence))
        }
        Err(unsaturated) => refused(frame, &unsaturated),
    }
}

/// Decides a model. There must be no thin-air read. `partial` tells what a partial store order leaves open, for the strategies that want one.
pub fn check<'a>(
    frame: &'a Frame<'a>,
    strategy: Strategy,
    partial: impl FnOnce() -> Partial<'a>,
    witness: bool,
    interrupt: Interrupt,
) -> Decision {
    let method = strategy.method();
    if strategy == Strategy::Auto
        && frame.is_sequential()
        && let Some(size) = windows::size(frame.execution())
        // Two windows at a time.
        && check_room_for(lanes(frame.execution().thread_count()), 2 * size).is_ok()
    {
        match windows::decide(frame.execution(), size, Limits { deadlocks: u64::MAX, interrupt }) {
            Answer::Found(line) => return consistent("windows", witness.then(|| order_of(frame, &line))),
            Answer::Refuted(cycle) => return violation("windows", Evidence::Cycle(cycle)),
            Answer::Interrupted => return unknown(OUT_OF_TIME.to_owned()),
            Answer::Nothing => {}
        }
    }
    if let Err(decision) = room(frame) {
        return decision;
    }
    if strategy == Strategy::Auto
        && frame.execution().len() <= SMALL
        && let Some(line) = saturate::first_run(frame)
    {
        return consistent("run", witness.then(|| order_of(frame, &line)));
    }
    if method == Method::SaturateAndSearch {
        return saturate_and_search(frame, witness, interrupt);
    }
    let solve = |choices: Result<Choices<'_>, TooMany>| {
        choices.map_or(Found::TooLarge, |choices| PairSolver::new(&choices, interrupt).solve(None))
    };
    let answer = match method {
        Method::Frontier => frontier::search(frame, interrupt),
        Method::PartialAndSolve | Method::PartialAndEnumerate => match partial() {
            Err(Stop::Violation) => Found::Nothing,
            Err(Stop::Interrupted) => Found::Interrupted,
            Ok(Ok(choices)) if method == Method::PartialAndEnumerate => enumerate::enumerate(&choices, interrupt),
            Ok(choices) => solve(choices),
        },
        Method::SaturateAndSolve => match Saturated::new(frame, interrupt) {
            Ok(saturated) => solve(Choices::after_saturation(frame, &saturated)),
            Err(Unsaturated::Interrupted) => Found::Interrupted,
            Err(_) => Found::Nothing,
        },
        _ => direct::solve(frame, interrupt),
    };
    match answer {
        Found::Order(_, line) => consistent(strategy.name(), witness.then(|| order_of(frame, &line))),
        Found::Interrupted => unknown(OUT_OF_TIME.to_owned()),
        Found::TooLarge => unknown(format!("the execution is too large for {}", strategy.name())),
        // The baselines do not say why. The search does, and a verdict without evidence is none.
        Found::Nothing => match saturate_and_search(frame, witness, interrupt) {
            Decision { verdict: Verdict::Violation, evidence, .. } => {
                Decision { verdict: Verdict::Violation, strategy: strategy.name(), reason: None, evidence }
            }
            _ => unknown(format!("{} finds no store order, but there was no time to prove it", strategy.name())),
        },
    }
}

/// That there is memory for the clocks of all events, and two rows for each location.
fn room(frame: &Frame<'_>) -> Result<(), Decision> {
    let execution = frame.execution();
    check_room_for(lanes(execution.thread_count()), execution.len() + 2 * execution.location_count())
}

/// The events in the order of the file, if that is an interleaving in which each read returns the last write before it.
pub fn recorded_interleaving(execution: &Execution) -> Option<Vec<u32>> {
    let operations = execution.operations();
    if operations.is_sorted() {
        // Thread by thread: most often it is clear after a few events that it is none.
        let mut replay = Replay::new(execution);
        let all = 0..execution.len() as u32;
        return all.clone().all(|event| replay.perform(event)).then(|| all.collect());
    }
    // A block of operations after the other: it may be clear soon, here too, and memory that was never touched is expensive.
    let starts = execution.starts();
    let mut next = starts[..execution.thread_count()].to_vec();
    let mut replay = Replay::new(execution);
    let mut line = Vec::new();
    let mut block = [NONE; BLOCK];
    loop {
        let heads = next.iter().zip(&starts[1..]).filter(|(at, end)| at < end);
        let Some(begin) = heads.map(|(&at, _)| operations[at as usize].index()).min() else { break };
        for (at, &end) in next.iter_mut().zip(&starts[1..]) {
            while *at < end && operations[*at as usize].index() < begin + BLOCK {
                // Not so if the thread's events are not in the order of the file.
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

/// How many operations are put in the order of the file at a time.
const BLOCK: usize = 4096;

/// Events performed one after the other: in program order, and every read of the last write before it.
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

    /// Whether this event can be the next.
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

fn saturate_and_search(frame: &Frame<'_>, witness: bool, interrupt: Interrupt) -> Decision {
    let saturated = match Saturated::new(frame, interrupt) {
        Ok(saturated) => saturated,
        Err(unsaturated) => return refused(frame, &unsaturated),
    };
    let found = |strategy, line: &[u32]| consistent(strategy, witness.then(|| order_of(frame, line)));
    if let Some(line) = &saturated.witness {
        return found("saturation", line);
    }
    let strategy = match frame.relaxation() {
        Relaxation::Nothing => Strategy::WscSearch,
        Relaxation::WriteRead => Strategy::WtsoSearch,
        Relaxation::WriteAny => Strategy::WpsoSearch,
    };
    match Search::new(frame, saturated).run(interrupt) {
        Outcome::Found(line) => found(strategy.name(), &line),
        Outcome::Refuted(evidence) => violation(strategy.name(), evidence),
        Outcome::Interrupted => unknown(OUT_OF_TIME.to_owned()),
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

pub(crate) fn consistent(strategy: &'static str, evidence: Option<Evidence>) -> Decision {
    Decision { verdict: Verdict::Consistent, strategy, reason: None, evidence }
}

fn refused(frame: &Frame<'_>, unsaturated: &Unsaturated) -> Decision {
    match cycle_of(frame, unsaturated) {
        Some(cycle) => violation("saturation", Evidence::Cycle(cycle)),
        None => unknown(OUT_OF_TIME.to_owned()),
    }
}

/// The cycle that shows why there is no saturated order, unless there was no time.
pub(crate) fn cycle_of(frame: &Frame<'_>, unsaturated: &Unsaturated) -> Option<Derivation> {
    match unsaturated {
        Unsaturated::Stuck(next) => Some(base_cycle(frame, next)),
        Unsaturated::Conflict(order, conflict) => {
            let explanation = Explainer { frame, order, known: 0, by_lemma: &[] }.conflict(*conflict);
            let mut builder = DerivationBuilder::new(frame);
            for explained in &explanation.edges {
                builder.add(explained, None);
            }
            Some(builder.close(&explanation))
        }
        Unsaturated::Interrupted => None,
    }
}

/// The cycle of the base in which chains wait, given the event that is next in each.
fn base_cycle(frame: &Frame<'_>, next: &[u32]) -> Derivation {
    let execution = frame.execution();
    let chain = |event: u32| execution.threads()[event as usize].index();
    let ends = &execution.starts()[1..];
    let mut at = next.iter().zip(ends).find(|(next, end)| next < end).map_or(0, |(&next, _)| next);
    let mut seen = vec![NONE; next.len()];
    let mut cycle = Vec::new();
    // Backwards: each event waits for a predecessor, which waits for the next event of its chain.
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
