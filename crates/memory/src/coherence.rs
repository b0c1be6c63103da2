//! `coherence`: SC per location.
//!
//! It holds iff a store order `ww` exists with `po-loc u rf u ww u rw[ww]` acyclic, `po-loc` being `po` on one
//! location. That is `relaxed` without the demand that `po u rf` be acyclic: load buffering is coherent.
//!
//! Let every thread be split into one thread for each location that it accesses. Then `po` is what `po-loc` was, and
//! coherence is the same. It implies that `po-loc u rf`, which is now `po u rf`, is acyclic; so it is `relaxed`, which
//! RF Algorithm 4 decides in O(n): see [`crate::c11`]. Its witness, the modification orders, is one here as well, and
//! so is its evidence for a violation: the split has the same operations.

use certificate::Model;
use history::Execution;
use history::execution::Kind;

use crate::{Attempt, Options, c11};

/// Decides `coherence`, by a tactic of that name. There must be no thin-air read.
pub(crate) fn check(strategy: &'static str, execution: &Execution, options: &Options) -> Attempt {
    let (chains, count) = chains(execution);
    let (split, _) = execution.split(&chains, count);
    c11::Checker::new().check(Model::Relaxed, strategy, &split, options)
}

/// The chain of each event, one for each thread and location that it accesses, and their number. All fences, of which
/// coherence knows nothing, are in one chain.
fn chains(execution: &Execution) -> (Vec<u32>, usize) {
    const FENCES: u32 = 0;
    let mut count = FENCES + 1;
    // By location: the thread that accessed it last, and the chain.
    let mut last = vec![(u32::MAX, 0); execution.location_count()];
    let chain = |(event, thread): (&history::execution::Event, &history::execution::ThreadId)| {
        if event.kind == Kind::Fence {
            return FENCES;
        }
        let last = &mut last[event.location.index()];
        if last.0 != thread.0 {
            *last = (thread.0, count);
            count += 1;
        }
        last.1
    };
    let chains = execution.events().iter().zip(execution.threads()).map(chain).collect();
    (chains, count as usize)
}
