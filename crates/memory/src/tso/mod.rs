//! Total and partial store order: `tso`, `wtso`, `wccm`, `pso`, `wpso`. (Section 4 of GCC, *Gradual Consistency
//! Checking*. `wtso` and `wpso` are our own. [`wccm`] has a module of its own.)
//!
//! A thread's writes wait in a store buffer before they reach memory; its reads look into the buffer first. `ppo` is
//! `po` without the pairs of a pure write and a pure read; a full fence or an rmw between them keeps them in order,
//! other fences order nothing. `pso` has a buffer for each location, and its `ppo` is also without the pairs of a pure
//! write and a write or rmw of another location. So in `pso` an rmw is not a full fence: all later events of the thread
//! come after it, but an earlier write to another location may still wait in a buffer. `po-loc` is `po` on one
//! location.
//!
//! `tso` holds iff a store order `ww` exists with `po-loc u rf u ww u rw[ww]` acyclic (coherence) and `ppo u rfe u ww
//! u rw[ww]` acyclic. `wtso` holds iff the least `st` such that, for both bases B in {`po-loc u rf`, `ppo u rfe`} and
//! `hb_B = (B u st u rw[st])+`, `hb_B_WW` and `cf[hb_B]` are in `st`, has both `hb_B` acyclic.
//!
//! # `wtso` is sound
//!
//! Let `ww` be a store order that `tso` asks for, and `HB_B = (B u ww u rw[ww])+`, which is acyclic for both B. Then
//! `st` is part of `ww`: by induction on how `st` grows, as long as it is part of `ww`, `hb_B` is part of `HB_B`. So if
//! w1 `hb_B` w2 for two writes of one location, not w2 `ww` w1, for that closes a cycle of `HB_B`; and if w1 `hb_B` r
//! for a read r of w2, not w2 `ww` w1, for then r `rw[ww]` w1. As `ww` is total on a location, w1 `ww` w2 in both
//! cases. So `hb_B` is acyclic, and every store order orders the pairs of `st` as `st` does. Hence `tso` implies
//! `wtso`, and the search has to look at the open pairs only. The same argument holds for any two bases. For the single
//! base `po u rf` it is the argument for `wsc`.
//!
//! # One base is enough
//!
//! Call a read r of w *own* if w is of the same thread. Coherence asks of a thread by itself:
//! - (i) the source of an own read is the last write of the location before it in `po`;
//! - (ii) if r is not own, every write of its thread and location before it in `po` is before w in `ww` (there is
//!   none if w is initial).
//!
//! These are `cf[po-loc]`. Conversely, with (i), (ii) and `ppo u rfe u ww u rw[ww]` acyclic, coherence follows, and
//! the same for the weak forms: if w1 `hb_po-loc` e, then w1 `st` e if e writes, and w1 is or `st` the source of e if
//! e reads, with the `st` of `ppo u rfe` and (ii). By induction on the path, by its last edge: into a write it is
//! `po-loc` from a write, which is `ppo`; or from a read, whose source is before it by `rfe`, or by `po`; or it is
//! `rw`, which is by `st` from the source. Into a read r it is `rf`; or `po-loc` from a write, which is (i) or (ii);
//! or from a read, whose source is before r by `rfe` and `ppo` and so (`cf`) before that of r, or is in the same
//! thread, which is the case before. So w1 `hb_po-loc` w1 only if w1 `st` w1.
//!
//! (i) is checked beforehand. (ii) says that, if r is not own, the last write of its thread to the location is in
//! memory before r executes: `ww` puts it before w, and w `rfe` r. So (ii) is an edge from that write to r, and rule
//! (a) gives the rest.
//!
//! # The frame
//!
//! So `tso` is a search over one order, as `sc` is ([`crate::store`]), with these chains and base predecessors:
//! - the reads, rmws and fences of a thread are a chain (a fence that is not full is like a read of nothing);
//! - its pure writes are a chain, in `pso` one for each location: they stand for the moment when they reach memory;
//! - a write comes after the last event of the first chain that is before it in `po`;
//! - a full fence, and in `tso` an rmw, comes after the last write of each chain that is before it in `po`; in `pso`
//!   an rmw comes after that of the chain of its location;
//! - a read or rmw that is not own comes after its source, and after the write of (ii).
//!
//! An order of all events in which each read is after its predecessors, and no other write of the location is between
//! it and its source, is a run of the machine: a write executes when the next operation of its thread must, and
//! reaches memory at its place in the order.

mod buffers;
mod wccm;

use certificate::{Derivation, Evidence, GaveUp, Interrupt, Model, Tactic, Verdict};
use history::Execution;

use crate::store::choices::Choices;
use crate::store::frame::{Frame, Relaxation};
use crate::store::{Partial, StoreOrders};
use crate::{Attempt, causal, check_room, consistent};
use wccm::PartialStoreOrder;

pub(crate) use buffers::numbered_frame;

/// Which pairs of operations a model relaxes.
pub(crate) fn relaxation(model: Model) -> Relaxation {
    match model {
        Model::Pso | Model::Wpso => Relaxation::WriteAny,
        Model::Tso | Model::Wtso => Relaxation::WriteRead,
        _ => Relaxation::Nothing,
    }
}

/// The frame of a model, or why a thread by itself breaks coherence.
pub(crate) fn frame(model: Model, execution: &Execution) -> Result<Frame<'static>, Derivation> {
    buffers::frame(execution, relaxation(model))
}

/// Decides `wpso` and `pso` through `wtso`, if that is possible. `wtso` implies `wpso`, and a memory order of `tso` is
/// one of `pso`. `wtso` has far fewer chains, so it is tried first.
pub(crate) fn by_wtso(model: Model, execution: &Execution, witness: bool, interrupt: Interrupt) -> Attempt {
    let Ok(frame) = frame(Model::Wtso, execution) else { return Ok(None) };
    let is_weak = model.row().polynomial;
    let decision = match StoreOrders::new(&frame, true, witness || !is_weak, interrupt).saturation() {
        Err(GaveUp::Time) => return Err(GaveUp::Time),
        Err(_) | Ok(None) => return Ok(None),
        Ok(Some(decision)) => decision,
    };
    let serves = decision.verdict == Verdict::Consistent
        && (is_weak || matches!(decision.evidence, Some(Evidence::MemoryOrder(_))));
    Ok(serves.then(|| consistent(Tactic::Wtso.name(), decision.evidence.filter(|_| witness))))
}

/// Decides `wccm`.
pub(crate) fn weak_causal(execution: &Execution, interrupt: Interrupt) -> causal::Answer {
    // The order of `ppo` is on twice as many chains as there are threads, those of `po-loc` and of the stores on as
    // many.
    check_room(execution, 4 * execution.len())?;
    PartialStoreOrder::new(execution, interrupt)?.check_acyclic(interrupt)?;
    Ok(None)
}

/// The pairs that `wpww` leaves open in a frame.
pub(crate) fn partial<'a>(execution: &Execution, frame: &'a Frame<'a>, interrupt: Interrupt) -> Partial<'a> {
    let order = PartialStoreOrder::new(execution, interrupt)?;
    Ok(Choices::after(frame, |first, second| order.before(first, second))?)
}
