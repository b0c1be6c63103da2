//! Decides again whether the operations on a max-register have an order, up to one return.
//!
//! The number only grows. So a read comes before all reads and writes of larger numbers, and after the first write of
//! its own number. Of several writes of that number, the one that was called first may be the first. Give each
//! operation a rank: its number, and then whether it is a read. Then reads, and first writes of numbers that were read,
//! come before everything of larger rank. There is no order exactly if one of these was called after an operation of
//! larger rank had returned, or a number was read that nobody wrote.

use std::collections::HashMap;

use history::{Method, OperationId};

use super::Claim;
use super::run::priority;

/// The number of an operation, and whether it is a read.
type Rank = (i128, bool);

/// Whether the operations of a group that were called up to `limit` have no order. None if a value is no number.
pub(super) fn have_no_order(claim: Claim, members: &[OperationId], limit: u64) -> Option<bool> {
    let mut reads: Vec<(i128, OperationId)> = Vec::new();
    let mut writes: Vec<(i128, OperationId)> = Vec::new();
    for &id in members.iter().filter(|&&id| claim.call(id) <= limit) {
        let operation = claim.history.operation(id);
        if operation.method == Method::WriteMax {
            writes.push((priority(claim.history, operation.argument)?, id));
        } else if claim.ret(id) <= limit && operation.result.is_some() {
            reads.push((priority(claim.history, operation.result)?, id));
        }
    }
    let mut first_writes: HashMap<i128, u64> = HashMap::new();
    for &(number, id) in &writes {
        let first = first_writes.entry(number).or_insert(u64::MAX);
        *first = claim.call(id).min(*first);
    }
    // The ranks of what comes before larger ranks, with the calls. The ranks of what has returned, with the returns.
    let mut before: Vec<(Rank, u64)> = Vec::new();
    let mut returned: Vec<(Rank, u64)> = Vec::new();
    for &(number, id) in &reads {
        before.push(((number, true), claim.call(id)));
        returned.push(((number, true), claim.ret(id)));
        match first_writes.get(&number) {
            _ if number < 0 => return Some(true),
            _ if number == 0 => {}
            None => return Some(true),
            Some(&call) => before.push(((number, false), call)),
        }
    }
    let has_returned = |id: OperationId| claim.ret(id) <= limit;
    returned.extend(
        writes.iter().filter(|(_, id)| has_returned(*id)).map(|&(number, id)| ((number, false), claim.ret(id))),
    );
    before.sort_unstable();
    returned.sort_unstable();
    let mut before = before.into_iter().peekable();
    let mut last_call = None;
    Some(returned.into_iter().any(|(rank, ret)| {
        while let Some((_, call)) = before.next_if(|(smaller, _)| *smaller < rank) {
            last_call = last_call.max(Some(call));
        }
        last_call.is_some_and(|call| ret < call)
    }))
}
