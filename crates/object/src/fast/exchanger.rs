//! Exchanger: every exchange that returned a value has a partner, which offered that value, returned what this one
//! offered or is pending, and overlaps it; and is the partner of no other.
//!
//! When an exchange returns without a partner, it takes one that is open. If every value is offered only once, there is
//! no choice. Else all choices are tried, and a set of partners that led nowhere is not tried again.

use certificate::object::Core;
use history::OperationId;
use rustc_hash::FxHashSet;

use super::Answer;
use crate::search::Interrupt;
use crate::view::{Call, Event, Part, ValueId};

const NONE: u32 = u32::MAX;

/// Decides an exchanger whose values are offered only once.
pub fn check(part: &Part, _witness: bool) -> Answer {
    let mut is_offered = vec![false; part.values.len()];
    for call in part.calls {
        if std::mem::replace(&mut is_offered[call.argument.index()], true) {
            return Answer::Declined("a value is offered more than once");
        }
    }
    // There is no choice, so there is nothing to interrupt.
    pair(part, Interrupt::default()).unwrap_or(Answer::Declined("interrupted"))
}

/// Whether one can be the partner of the other: both offer what the other returned, if it returned, and they overlap.
fn are_partners(one: &Call, other: &Call) -> bool {
    let agrees = |one: &Call, other: &Call| one.is_pending() || one.result == other.argument;
    one.operation != other.operation
        && agrees(one, other)
        && agrees(other, one)
        && !one.precedes(other)
        && !other.precedes(one)
}

/// Decides any exchanger; none if it was interrupted.
pub fn pair(part: &Part, interrupt: Interrupt) -> Option<Answer> {
    let calls = part.calls;
    let mut offers: Vec<Vec<u32>> = vec![Vec::new(); part.values.len()];
    for (at, call) in calls.iter().enumerate() {
        offers[call.argument.index()].push(at as u32);
    }
    let events = part.events();
    let returns: Vec<u32> = events
        .into_iter()
        .filter_map(|event| match event {
            Event::Return(at) if calls[at as usize].result != ValueId::NULL => Some(at),
            _ => None,
        })
        .collect();

    let mut partner = vec![NONE; calls.len()];
    // For each choice: the return, and which of the offers was tried last.
    let mut choices: Vec<(usize, usize)> = Vec::new();
    let mut failed: FxHashSet<(usize, Vec<u32>)> = FxHashSet::default();
    let (mut at, mut from, mut furthest) = (0, 0, 0);
    let mut steps = 0_u32;
    while let Some(&one) = returns.get(at) {
        steps = steps.wrapping_add(1);
        if steps.is_multiple_of(1024) && interrupt.is_due() {
            return None;
        }
        if partner[one as usize] != NONE {
            at += 1;
            continue;
        }
        furthest = furthest.max(at);
        let call = &calls[one as usize];
        let candidates = &offers[call.result.index()];
        let is_partner = |&other: &u32| partner[other as usize] == NONE && are_partners(call, &calls[other as usize]);
        let found = (from..candidates.len()).find(|&place| is_partner(&candidates[place]));
        if let Some(place) = found {
            let other = candidates[place];
            partner[one as usize] = other;
            partner[other as usize] = one;
            if candidates.len() > 1 {
                // The same exchanges with partners at the same return: what follows is the same.
                let open = |&other: &u32| {
                    calls[other as usize].ret > calls[one as usize].ret && partner[other as usize] != NONE
                };
                let taken: Vec<u32> = (0..calls.len() as u32).filter(open).collect();
                if !failed.insert((at, taken)) {
                    partner[one as usize] = NONE;
                    partner[other as usize] = NONE;
                    from = place + 1;
                    continue;
                }
            }
            choices.push((at, place));
            from = 0;
            at += 1;
            continue;
        }
        // Back to the last choice.
        let Some((before, place)) = choices.pop() else {
            let blamed = &calls[returns[furthest] as usize];
            let is_hopeless = !calls.iter().any(|other| are_partners(blamed, other));
            let core = if is_hopeless { Core::Unpaired(blamed.operation) } else { Core::Stuck(blamed.operation) };
            return Some(Answer::Violation(core));
        };
        let one = returns[before] as usize;
        let other = partner[one] as usize;
        partner[one] = NONE;
        partner[other] = NONE;
        at = before;
        from = place + 1;
    }
    let pairs = (0..calls.len()).filter(|&one| partner[one] != NONE && one < partner[one] as usize);
    let operation = |at: usize| calls[at].operation;
    let pairs: Vec<[OperationId; 2]> = pairs.map(|one| [operation(one), operation(partner[one] as usize)]).collect();
    Some(Answer::Paired(pairs))
}
