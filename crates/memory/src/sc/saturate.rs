//! `wsc`: the saturated order of an execution, or why it cannot be saturated.

use history::Execution;
use history::execution::EventId;
use order::Saturation;
use order::saturation::{Conflict, NONE};

use super::interleaving::Interleaving;
use super::rules::StoreRules;
use crate::Interrupt;

/// How many events go between two looks at the clock on the wall.
const PATIENCE: usize = 256;

/// An execution whose `hb` of wSC is acyclic, and that `hb`.
#[derive(Clone, Debug)]
pub struct Saturated<'a> {
    /// `hb`.
    pub order: Saturation,
    /// Its rules.
    pub rules: StoreRules<'a>,
    /// The interleaving that the first pass found, if no write had to be forced.
    pub witness: Option<Vec<u32>>,
}

/// Why there is no saturated order.
#[derive(Clone, Debug)]
pub enum Unsaturated {
    /// `po u rf` is cyclic: the next event of each thread, which waits for its source, or the end of the thread.
    Stuck(Vec<u32>),
    /// The rules lead to a conflict; the order as it was then.
    Conflict(Box<Saturation>, Conflict),
    /// There was no time left.
    Interrupted,
}

/// The source of an event if it is an event.
pub fn source(execution: &Execution, event: u32) -> u32 {
    let source = execution.events()[event as usize].source;
    if source.is_event() { source.0 } else { NONE }
}

impl<'a> Saturated<'a> {
    /// Saturates. There must be no thin-air read.
    ///
    /// Events enter in an order that is close to an interleaving: see [`Interleaving`]. Where all threads wait for
    /// readers, the write that waited longest is forced: what follows from the rules then corrects it.
    pub fn new(execution: &'a Execution, interrupt: Interrupt) -> Result<Self, Unsaturated> {
        debug_assert!(execution.events().iter().all(|event| !event.kind.reads() || event.source != EventId::NONE));
        let mut order = Saturation::new(execution.starts(), |event| source(execution, event));
        let mut rules = StoreRules::new(execution, &order);
        let mut interleaving = Interleaving::new(execution);
        let mut forced = false;
        let turn = std::cell::Cell::new(0u64);
        loop {
            if interleaving.line().len().is_multiple_of(PATIENCE) && interrupt.is_due() {
                return Err(Unsaturated::Interrupted);
            }
            let event = interleaving.advance(
                |event, gone| Some(source(execution, event)).filter(|&source| source != NONE && !gone.contains(source)),
                |_| {
                    turn.set(turn.get() + 1);
                    turn.get()
                },
            );
            let event = match event {
                Some(event) => event,
                None => match interleaving.force() {
                    Some(event) => {
                        forced = true;
                        event
                    }
                    None => break,
                },
            };
            if let Err(conflict) = order.enter(event, source(execution, event), &mut rules) {
                return Err(Unsaturated::Conflict(Box::new(order), conflict));
            }
            interleaving.go(event);
        }
        if !interleaving.is_complete() {
            return Err(Unsaturated::Stuck(interleaving.next().to_vec()));
        }
        let witness = (!forced).then(|| interleaving.line().collect());
        Ok(Self { order, rules, witness })
    }
}
