//! `coherence`: SC per location.
//!
//! `coherence` holds iff a store order `ww` exists with `po-loc u rf u ww u rw[ww]` acyclic, `po-loc` being `po` on one
//! location. So `coherence` is `relaxed` without the demand that `po u rf` is acyclic. For example, load buffering is
//! coherent.
//!
//! Split every thread into one thread for each location that it accesses. The `po` of the split execution is the
//! `po-loc` of the given one, so the split does not change coherence. Coherence implies that `po-loc u rf` is acyclic,
//! and this is `po u rf` of the split execution. So coherence is `relaxed` of the split execution, which Algorithm 4 of
//! RF (see [`crate::c11`]) decides in O(n). The split execution has the same operations, so the witness of `relaxed`
//! (the modification orders) and its evidence for a violation hold for the given execution, too.

use history::Execution;
use history::execution::Kind;
use model::Model;

use crate::{Attempt, MemoryOptions, c11};

/// Decides `coherence`. `strategy` is the name of the tactic. There must be no thin-air read.
pub(crate) fn check(strategy: &'static str, execution: &Execution, options: &MemoryOptions) -> Attempt {
    let (chains, count) = chains(execution);
    let (split, _) = execution.split(&chains, count);
    c11::C11Checker::new().check(Model::Relaxed, strategy, &split, options, u64::MAX)
}

/// The chain of each event, and the number of chains. There is one chain for each thread and location that it accesses.
/// Coherence says nothing of fences, so all fences are in one chain.
fn chains(execution: &Execution) -> (Vec<u32>, usize) {
    const FENCES: u32 = 0;
    let mut count = FENCES + 1;
    // By location: the thread that accessed it last, and the chain of that access.
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
