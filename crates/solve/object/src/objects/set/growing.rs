//! Decides a set that only grows and is read as a whole: `add`, each element at most once, and `read`.
//!
//! The sets that the reads saw must form a chain S₁ ⊂ S₂ ⊂ …. This forces an order of blocks: first come the additions
//! of the elements of S₁, then the reads of S₁, then the additions of the elements of S₂ that are not in S₁, and so on.
//! At the end come the additions that nobody saw. Within a block, any order will do. So the history is linearizable
//! exactly if the reads form a chain, each element that was seen is added, and no operation returned before an
//! operation of an earlier block was called. A pending addition that nobody saw can be ignored.

use history::Method;
use model::object::{Core, Linearization};
use rustc_hash::FxHashMap;

use crate::answer::Answer;
use crate::search::first_failure;
use crate::view::{Call, Part, ValueId};

/// Decides a part.
pub fn check(part: &Part, witness: bool) -> Answer {
    let mut is_added = vec![false; part.values.len()];
    for call in part.calls {
        match call.method {
            Method::ReadAll => {}
            Method::Add if call.result == ValueId::FALSE => return Answer::Declined("an element was there already"),
            Method::Add => {
                if std::mem::replace(&mut is_added[call.argument.index()], true) {
                    return Answer::Declined("an element is added twice");
                }
            }
            _ => return Answer::Declined("the set is read as a whole, and does not only grow"),
        }
    }
    match blocks(part) {
        None => {
            let blamed = first_failure(part, |prefix| Ok(blocks(prefix).is_some()));
            Answer::Violation(Core::Stuck(blamed))
        }
        Some(order) => Answer::Linearizable(witness.then(|| {
            let order = order.iter().map(|&at| part.calls[at as usize].operation).collect();
            Linearization { order, results: Vec::new() }
        })),
    }
}

/// The calls, block by block, if this is a linearization. If it is not, the part has no linearization.
fn blocks(part: &Part) -> Option<Vec<u32>> {
    let mut adds = FxHashMap::default();
    let mut reads: Vec<(ValueId, u32)> = Vec::new();
    for (at, call) in (0..).zip(part.calls) {
        if call.method == Method::Add {
            adds.insert(part.value(call.argument).bits(), at);
        } else {
            reads.push((call.result, at));
        }
    }
    // The reads of each set, and the additions of its elements.
    reads.sort_unstable();
    let mut sets = Vec::new();
    for of_set in reads.chunk_by(|one, other| one.0 == other.0) {
        let elements = part.history.elements(part.value(of_set[0].0));
        let seen: Option<Vec<u32>> = elements.iter().map(|element| adds.get(&element.bits()).copied()).collect();
        let mut seen = seen?;
        seen.sort_unstable();
        sets.push((seen, of_set));
    }
    sets.sort_by_key(|(seen, _)| seen.len());
    let mut line = Line { calls: part.calls, order: Vec::new(), called: 0, next_called: 0 };
    let mut before: &[u32] = &[];
    for (seen, of_set) in &sets {
        let mut old = before.iter().copied().peekable();
        let new: Vec<u32> = seen.iter().copied().filter(|at| old.next_if_eq(at).is_none()).collect();
        if old.next().is_some() {
            return None;
        }
        line.append(new)?;
        line.append(of_set.iter().map(|&(_, at)| at).collect())?;
        before = seen;
    }
    let is_unseen = |at: &u32| before.binary_search(at).is_err();
    let must = |&at: &u32| !part.calls[at as usize].is_pending();
    line.append(adds.into_values().filter(is_unseen).filter(must).collect())?;
    Some(line.order)
}

/// The blocks so far.
struct Line<'a> {
    calls: &'a [Call],
    order: Vec<u32>,
    /// The last call in the blocks so far, without the one that is being appended.
    called: u32,
    /// The same, with the one that is being appended.
    next_called: u32,
}

impl Line<'_> {
    fn append(&mut self, mut block: Vec<u32>) -> Option<()> {
        // Calls stand in the order of their moments.
        block.sort_unstable();
        for &at in &block {
            let call = &self.calls[at as usize];
            if call.ret < self.called {
                return None;
            }
            self.next_called = self.next_called.max(call.call);
        }
        self.called = self.next_called;
        self.order.extend(block);
        Some(())
    }
}
