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
//! u rw[ww]` acyclic. `pso` asks the same with its own `ppo`.
//!
//! `wtso` has two bases B: `po-loc u rf` and `ppo u rfe`. For a relation `st` between writes of one location, let
//! `hb_B` be `(B u st u rw[st])+`. Take the least `st` that has, for both bases, all pairs of `hb_B` between writes of
//! one location, and all pairs of `cf[hb_B]`. `wtso` holds iff both `hb_B` are then acyclic. `wpso` asks the same with
//! the `ppo` of `pso`.
//!
//! # `tso` implies `wtso`
//!
//! Let `ww` be a store order that `tso` asks for, and let `HB_B` be `(B u ww u rw[ww])+`, which is acyclic for both B.
//! Then `st` is part of `ww`. The proof is by induction on how `st` grows. As long as `st` is part of `ww`, `hb_B` is
//! part of `HB_B`. A pair (w1, w2) is added to `st` for one of two reasons:
//! - w1 `hb_B` w2. If w2 `ww` w1, then `HB_B` has a cycle.
//! - w1 `hb_B` r for a read r of w2. If w2 `ww` w1, then r `rw[ww]` w1, and `HB_B` has a cycle.
//!
//! `HB_B` has no cycle, and `ww` is total on a location. So w1 `ww` w2. Hence `hb_B` is part of `HB_B`, and is acyclic.
//!
//! Every store order that `tso` asks for orders the pairs of `st` as `st` does. So the search has to look only at the
//! pairs that `st` leaves open. The same argument holds for any bases. For the single base `po u rf` it is the argument
//! for `wsc`.
//!
//! # One base is enough
//!
//! Call a read r of w *own* if w is of the same thread. `cf[po-loc]` says of a thread by itself:
//! - (i) the source of an own read is the last write of the location before it in `po`;
//! - (ii) if r is not own, every write of its thread and location before it in `po` is before w in `ww`. (There is no
//!   such write if w is initial.)
//!
//! Conversely, coherence follows from (i), (ii) and the base `ppo u rfe`. Let `st` be the relation that this base
//! gives, together with (ii). (For `tso` itself, `st` is `ww`.) We show for a write w1 of the location, by induction on
//! the length of the path: if w1 `hb_B` e for B = `po-loc u rf`, then
//! - w1 `st` e, if e writes;
//! - w1 is the source of e, or w1 `st` the source of e, if e reads.
//!
//! The cases are those of the last edge of the path, which leads from f to e. If e writes:
//! - f is a write, and f `po-loc` e. This pair is in `ppo`, so f `st` e.
//! - f is a pure read, and f `po-loc` e. The source of f is before e: by `rfe` and `ppo`, or by `ppo` alone if f is
//!   own. So it is before e in `st`, and w1 is this source or before it.
//! - f `rf` e for an rmw e. This pair is in `rfe` or in `ppo`, so f `st` e.
//! - f `rw` e. Then the source of f is before e in `st`, and w1 is this source or before it.
//! - f `st` e.
//!
//! If e reads:
//! - f `rf` e. Then f is the source of e, and w1 is f or before it in `st`.
//! - f is a write, and f `po-loc` e. By (i) or (ii), f is the source of e or before it.
//! - f is a pure read, and f `po-loc` e. If f is own, its source is before e in `po-loc`, as in the case above. If not,
//!   its source is before e by `rfe` and `ppo`. By `cf`, it is the source of e or before it.
//! - e is an rmw, and f `rw` e or f `st` e. Then w1 `st` e, as shown above, and the rest follows by `cf`.
//!
//! So w1 `hb_B` w1 only if w1 `st` w1. Every cycle has a write on it, so coherence follows.
//!
//! (i) is checked beforehand. (ii) becomes an edge. If r is not own, let w' be the last write of its thread to the
//! location before r. By (ii), w' reaches memory before w, and w `rfe` r. So w' reaches memory before r executes, and
//! an edge from w' to r can be added. This edge gives (ii), by `cf`: rule (a) of [`crate::store::rules`].
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
//! Take an order of all events in which each event is after its predecessors, and no other write of the location is
//! after the source of a read and before the read. This order is a run of the machine. A write reaches memory at its
//! place in the order. A thread puts a write into its buffer as late as it can: before its next operation executes, and
//! before the write reaches memory.

mod buffers;
pub(crate) mod wccm;

use history::Execution;
use model::{Budget, Derivation, Evidence, Model, Verdict};

use crate::store::StoreOrders;
use crate::store::frame::{Frame, Relaxation};
use crate::{Attempt, Limits, causal, check_room, consistent};
use wccm::PartialStoreOrder;

pub use buffers::numbered_frame;
pub(crate) use wccm::from_ccv::buffered;

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
pub(crate) fn by_wtso(model: Model, execution: &Execution, witness: bool, limits: &Limits) -> Attempt {
    let Ok(frame) = frame(Model::Wtso, execution) else { return Ok(None) };
    let is_weak = model.row().polynomial;
    let decision = match StoreOrders::new(&frame, true, witness || !is_weak, limits).saturation() {
        Err(why) if why.ends_all() => return Err(why),
        Err(_) | Ok(None) => return Ok(None),
        Ok(Some(decision)) => decision,
    };
    let serves = decision.verdict == Verdict::Consistent
        && (is_weak || matches!(decision.evidence, Some(Evidence::MemoryOrder(_))));
    Ok(serves.then(|| consistent(Model::Wtso.name(), decision.evidence.filter(|_| witness))))
}

/// Decides `wccm`.
pub(crate) fn weak_causal(execution: &Execution, budget: &Budget) -> causal::Answer {
    // The order of `ppo` is on twice as many chains as there are threads, those of `po-loc` and of the stores on as
    // many.
    check_room(budget, execution, 4 * execution.len())?;
    PartialStoreOrder::new(execution, budget)?.check_acyclic(budget)?;
    Ok(None)
}
