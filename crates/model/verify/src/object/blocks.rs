//! Decides again whether the reads of a set that only grows can have returned what they did, up to one return.
//!
//! If each element is added at most once, the sets that the reads saw must be a chain, each contained in the next. The
//! additions that a read saw come before it, all others come after it. So the operations form blocks, one after the
//! other. There is a linearization unless an operation of an earlier block was called after an operation of a later
//! block had returned: any longer circle of these orders contains such a pair.

use std::collections::{BTreeSet, HashMap};

use history::{Method, OperationId, Value};

use super::Claim;

/// Whether the operations of a group that were called up to `limit` have no order. None if the set does not only grow,
/// or an element is added twice.
pub(super) fn have_no_order(claim: Claim, members: &[OperationId], limit: u64) -> Option<bool> {
    let has_returned = |id: OperationId| claim.ret(id) <= limit;
    let mut adds: HashMap<u64, OperationId> = HashMap::new();
    let mut reads: Vec<(BTreeSet<u64>, OperationId)> = Vec::new();
    for &id in members.iter().filter(|&&id| claim.call(id) <= limit) {
        let operation = claim.history.operation(id);
        match operation.method {
            Method::ReadAll if has_returned(id) => {
                let seen = claim.history.elements(operation.result);
                reads.push((seen.iter().map(|element| element.bits()).collect(), id));
            }
            Method::Add if operation.result == Value::FALSE || adds.insert(operation.argument.bits(), id).is_some() => {
                return None;
            }
            Method::ReadAll | Method::Add => {}
            _ => return None,
        }
    }
    reads.sort_by_key(|(seen, _)| seen.len());
    if reads.windows(2).any(|pair| !pair[0].0.is_subset(&pair[1].0)) {
        return Some(true);
    }
    // The last call of the blocks so far.
    let mut called = 0;
    let mut seen_so_far: &BTreeSet<u64> = &BTreeSet::new();
    let mut last = Vec::new();
    for of_set in reads.chunk_by(|one, other| one.0 == other.0) {
        let seen = &of_set[0].0;
        let mut new = Vec::new();
        for element in seen.difference(seen_so_far) {
            let Some(&add) = adds.get(element) else { return Some(true) };
            new.push(add);
        }
        last.push(new);
        last.push(of_set.iter().map(|&(_, id)| id).collect());
        seen_so_far = seen;
    }
    let unseen = adds.iter().filter(|(element, id)| !seen_so_far.contains(element) && has_returned(**id));
    last.push(unseen.map(|(_, &id)| id).collect());
    for block in last {
        if block.iter().any(|&id| claim.ret(id) < called) {
            return Some(true);
        }
        called = block.iter().map(|&id| claim.call(id)).fold(called, u64::max);
    }
    Some(false)
}
