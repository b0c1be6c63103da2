//! Decides an exchanger. Every exchange that returned a value has a partner: an exchange that overlaps it, offered that
//! value, is pending or returned the value that the first one offered, and is the partner of no other exchange.
//!
//! When an exchange returns without a partner, it takes one of the open exchanges that fit. There is no choice to try,
//! even if values are offered more than once. The fitting exchanges with a result all offer and return the same values.
//! If a later exchange could be the partner of one of them, it could also be the partner of one that returns later. So
//! the one that returns first is taken. A pending exchange is taken only if there is no other. It overlaps everything
//! that returns from now on, so it is worth keeping.

use history::OperationId;
use model::object::Core;
use rustc_hash::FxHashMap;

use crate::answer::Answer;
use crate::view::{Call, Endpoint, Part, ValueId};

const NONE: u32 = u32::MAX;

/// Whether two exchanges can be partners: they overlap, and each offers the value that the other returned, if it
/// returned.
fn are_partners(one: &Call, other: &Call) -> bool {
    let agrees = |one: &Call, other: &Call| one.is_pending() || one.result == other.argument;
    one.operation != other.operation
        && agrees(one, other)
        && agrees(other, one)
        && !one.precedes(other)
        && !other.precedes(one)
}

/// The open exchanges without a partner, by the values that they offer and return. Pending ones return none.
#[derive(Default)]
struct Waiting {
    alike: FxHashMap<[ValueId; 2], Vec<u32>>,
}

impl Waiting {
    fn insert(&mut self, at: u32, call: &Call) {
        self.alike.entry([call.argument, call.result]).or_default().push(at);
    }

    /// Removes the exchange of a kind that returns first.
    fn take_first(&mut self, kind: [ValueId; 2], calls: &[Call]) -> Option<u32> {
        let alike = self.alike.get_mut(&kind)?;
        let first = if kind[1] == ValueId::NONE {
            // Pending exchanges are all alike, and there may be many.
            alike.len() - 1
        } else {
            (0..alike.len()).min_by_key(|&place| calls[alike[place] as usize].ret)?
        };
        let at = alike.swap_remove(first);
        if alike.is_empty() {
            self.alike.remove(&kind);
        }
        Some(at)
    }
}

/// Decides an exchanger.
pub fn check(part: &Part) -> Answer {
    let calls = part.calls;
    let mut partner = vec![NONE; calls.len()];
    let mut waiting = Waiting::default();
    for event in part.events() {
        match event {
            Endpoint::Call(at) if calls[at as usize].result != ValueId::NULL => {
                waiting.insert(at, &calls[at as usize]);
            }
            Endpoint::Return(at) if calls[at as usize].result != ValueId::NULL && partner[at as usize] == NONE => {
                let one = &calls[at as usize];
                // No exchange of its kind returns earlier, so this removes the exchange itself.
                waiting.take_first([one.argument, one.result], calls);
                let other = waiting
                    .take_first([one.result, one.argument], calls)
                    .or_else(|| waiting.take_first([one.result, ValueId::NONE], calls));
                let Some(other) = other else {
                    let is_hopeless = !calls.iter().any(|other| are_partners(one, other));
                    let core = if is_hopeless { Core::Unpaired } else { Core::Stuck };
                    return Answer::Violation(core(one.operation));
                };
                partner[at as usize] = other;
                partner[other as usize] = at;
            }
            _ => {}
        }
    }
    let pairs = (0..calls.len()).filter(|&one| partner[one] != NONE && one < partner[one] as usize);
    let operation = |at: usize| calls[at].operation;
    let pairs: Vec<[OperationId; 2]> = pairs.map(|one| [operation(one), operation(partner[one] as usize)]).collect();
    Answer::Paired(pairs)
}
