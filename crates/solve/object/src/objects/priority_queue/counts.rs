//! Which removals from a priority queue have no instant, by counts alone, where values are inserted more than once.
//!
//! A count never needs to know which removal took which copy. Between two instants, each insert that was called and
//! returned there put a copy in. Each removal that was open there may have taken one; a pending removal may have taken
//! any value. If more copies went in than can have been taken, one of them is still inside.
//!
//! From the largest value to the smallest: a removal needs an instant at which no larger value is certainly inside, and
//! so does a peek. An `empty` needs an instant at which nothing is. A removal counts from the first such instant on. An
//! operation without such an instant is a violation.

use history::{Method, OperationId};

use super::instants::{FreeInstants, by_value};
use crate::containers::last_counted;
use crate::view::{Call, Part, ValueId};

/// An operation of a priority queue at whose return no order is left, if the counts tell.
pub fn violation(part: &Part) -> Option<OperationId> {
    let of_value = by_value(part);
    let pending = part.calls.iter().filter(|call| call.method == Method::DeleteMax && call.is_pending()).count();
    let mut free = FreeInstants::new(part.moments);
    let mut stuck: Option<&Call> = None;
    let mut changes: Vec<(u32, i64)> = Vec::new();
    for value in (0..part.values.len()).rev() {
        changes.clear();
        for &at in of_value.of(value) {
            let call = &part.calls[at as usize];
            if call.method == Method::Insert {
                changes.extend((!call.is_pending()).then_some((call.ret, 1)));
                continue;
            }
            let first = free.from(call.call);
            if first >= call.ret && stuck.is_none_or(|stuck| call.ret < stuck.ret) {
                stuck = Some(call);
            }
            if call.method == Method::DeleteMax {
                changes.push((first, -1));
            }
        }
        changes.sort_unstable();
        let mut count = -(pending as i64);
        for at in 0..changes.len() {
            count += changes[at].1;
            if count > 0 {
                free.cover(changes[at].0, changes.get(at + 1).map_or(part.moments, |&(next, _)| next));
            }
        }
    }
    for call in part.calls.iter().filter(|call| call.result == ValueId::EMPTY) {
        if free.from(call.call) >= call.ret && stuck.is_none_or(|stuck| call.ret < stuck.ret) {
            stuck = Some(call);
        }
    }
    stuck.map(|stuck| last_counted(part, stuck))
}
