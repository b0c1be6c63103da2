//! The weak models: the saturated order of a frame, or why it cannot be saturated.

use history::execution::EventId;
use order::Saturation;
use order::saturation::Conflict;

use super::frame::Frame;
use super::interleaving::Interleaving;
use super::rules::StoreRules;
use crate::Interrupt;

/// How many events go between two looks at the clock on the wall.
const PATIENCE: usize = 256;

/// The `hb` of a frame (that of wSC if it is the frame of `sc`), which is acyclic.
#[derive(Clone, Debug)]
pub struct Saturated<'a> {
    /// `hb`.
    pub order: Saturation,
    /// Its rules.
    pub rules: StoreRules<'a>,
    /// The line of events that the first pass found, if no write had to be forced: it explains all reads.
    pub witness: Option<Vec<u32>>,
}

/// Why there is no saturated order.
#[derive(Clone, Debug)]
pub enum Unsaturated {
    /// The base is cyclic: the next event of each chain, which waits for a base predecessor, or the end of the chain.
    Stuck(Vec<u32>),
    /// The rules lead to a conflict; the order as it was then.
    Conflict(Box<Saturation>, Conflict),
    /// There was no time left.
    Interrupted,
}

impl<'a> Saturated<'a> {
    /// Saturates. There must be no thin-air read.
    ///
    /// Events enter in an order that is close to an interleaving: see [`Interleaving`]. Where all chains wait for
    /// readers, the write that waited longest is forced: what follows from the rules then corrects it.
    pub fn new(frame: &'a Frame<'_>, interrupt: Interrupt) -> Result<Self, Unsaturated> {
        let execution = frame.execution();
        debug_assert!(execution.events().iter().all(|event| !event.kind.reads() || event.source != EventId::NONE));
        let mut order = Saturation::new(execution.starts(), |event| frame.predecessors(event));
        let mut rules = StoreRules::new(frame, &order);
        let mut interleaving = Interleaving::new(execution);
        let mut forced = false;
        let turn = std::cell::Cell::new(0u64);
        loop {
            if interleaving.line().len().is_multiple_of(PATIENCE) && interrupt.is_due() {
                return Err(Unsaturated::Interrupted);
            }
            let event = interleaving.advance(
                |event, gone| frame.predecessors(event).find(|&predecessor| !gone.contains(predecessor)),
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
            if let Err(conflict) = order.enter(event, frame.predecessors(event), &mut rules) {
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
