//! Sequential consistency: `sc` and `wsc` (wSC sections 2 and 3).
//!
//! `sc` holds iff a store order `ww` exists with `po u rf u ww u rw[ww]` acyclic: iff there is one interleaving of all threads in
//! which each read returns the last write before it. `wsc` holds iff the least `st`, `hb` with `st = (hb_WW u cf[hb])+`,
//! `hb = (po u rf u st u rw[st])+` has `hb` acyclic. `sc` implies `wsc`, and `st` is part of every store order.
//!
//! Both are decided as [`crate::store`] says, on the frame whose chains are the threads and whose base is `po u rf`.

pub mod kernel;

use certificate::Decision;
use history::Execution;
use history::execution::EventId;

use crate::Interrupt;
use crate::causal::Causality;
use crate::causal::ccm::PartialStoreOrder;
use crate::store::choices::Choices;
use crate::store::frame::Frame;
use crate::store::strategy::Strategy;
use crate::store::{self, Partial};

/// Decides `wsc`.
pub fn weak(execution: &Execution, witness: bool, interrupt: Interrupt) -> Decision {
    store::weak(&Frame::sequential(execution), witness, interrupt)
}

/// Decides `sc`, whatever the recorded order says. There must be no thin-air read.
pub fn check(execution: &Execution, strategy: Strategy, witness: bool, interrupt: Interrupt) -> Decision {
    let frame = Frame::sequential(execution);
    store::check(&frame, strategy, || partial(&frame, interrupt), witness, interrupt)
}

/// What `pww` leaves open.
fn partial<'a>(frame: &'a Frame<'a>, interrupt: Interrupt) -> Partial<'a> {
    let causality = Causality::new(frame.execution(), interrupt)?;
    let order = PartialStoreOrder::new(&causality, interrupt)?;
    Ok(Choices::after(frame, |a, b| a != b && order.before(EventId(a), EventId(b))))
}
