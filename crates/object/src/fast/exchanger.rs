//! Exchanger: every exchange that returned a value has a partner, which offered that value, returned what this one
//! offered or is pending, and overlaps it; and is the partner of no other.
//!
//! When an exchange returns without a partner, it takes one of those that are open. It need not be a choice, even if
//! values are offered more than once: those with a result all offer and return the same, so whoever could be the partner
//! of one of them later could be that of any that returns later still, and the first to return is taken. A pending one is
//! taken only if there is none of these: what could have been its partner instead of this exchange can be that of a
//! pending one, which overlaps all that return from now on.

use certificate::object::Core;
use history::OperationId;
use rustc_hash::FxHashMap;

use super::Answer;
use crate::view::{Call, Event, Part, ValueId};

const NONE: u32 = u32::MAX;

/// Whether one can be the partner of the other: both offer what the other returned, if it returned, and they overlap.
fn are_partners(one: &Call, other: &Call) -> bool {
    let agrees = |one: &Call, other: &Call| one.is_pending() || one.result == other.argument;
    one.operation != other.operation
        && agrees(one, other)
        && agrees(other, one)
        && !one.precedes(other)
        && !other.precedes(one)
}

/// The open exchanges without a partner, by what they offer and return; nothing, if they are pending.
#[derive(Default)]
struct Waiting {
    alike: FxHashMap<[ValueId; 2], Vec<u32>>,
}

impl Waiting {
    fn insert(&mut self, at: u32, call: &Call) {
        self.alike.entry([call.argument, call.result]).or_default().push(at);
    }

    /// Takes out the one of a kind that returns first.
    fn take_first(&mut self, kind: [ValueId; 2], calls: &[Call]) -> Option<u32> {
        let alike = self.alike.get_mut(&kind)?;
        let first = if kind[1] == ValueId::NONE {
            // Pending ones are all the same, and may be many.
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
            Event::Call(at) if calls[at as usize].result != ValueId::NULL => {
                waiting.insert(at, &calls[at as usize]);
            }
            Event::Return(at) if calls[at as usize].result != ValueId::NULL && partner[at as usize] == NONE => {
                let one = &calls[at as usize];
                // No one of its kind returns earlier.
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
