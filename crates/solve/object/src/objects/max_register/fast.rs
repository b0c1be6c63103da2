//! Decides a max-register. Values may be written several times.
//!
//! The number that is held never becomes smaller. Call a number *seen* if some read returned it. A read of v comes
//! before all reads and all writes of larger numbers, and after a write of v, unless v is the initial 0. Of the writes
//! of v, let the *first* be the one that is called first. If there is a linearization, there is one in which this write
//! is the first of them: put it right before the one that was. Everything that returned before its call is there
//! already, and so are all reads of smaller numbers. The other writes of v, and the writes of numbers that nobody saw,
//! need only come after all reads of smaller numbers.
//!
//! So each operation has a rank: the first write of a seen number v has (v, 0), a read of v has (v, 1), and another
//! write of v has (v, 0), too. A read or a first write comes before everything of a larger rank. The history is
//! linearizable exactly if each seen number but 0 is written, no number below 0 is seen, and no operation returned
//! before a read or a first write of smaller rank was called. For suppose that these orders and real time make a
//! circle: from a1, which is a read or a first write, to b1 of larger rank, to a2, which was called after b1 returned,
//! and so on. Take the a of the smallest rank, and the b that returned before it was called. This b has a rank larger
//! than its own a, and so than this a, too. So there is a circle of these two.
//!
//! A pending write that is not the first of a seen number is left out.

use history::Method;
use model::object::{Core, Linearization};

use crate::answer::Answer;
use crate::search::first_failure;
use crate::view::{Call, Part};

/// Decides a max-register.
pub fn check(part: &Part, witness: bool) -> Answer {
    let numbers = part.numbers();
    let Some(order) = linearize(part, &numbers) else {
        let blamed = first_failure(part, |prefix| Ok(linearize(prefix, &numbers).is_some()));
        return Answer::Violation(Core::Stuck(blamed));
    };
    Answer::Linearizable(witness.then(|| {
        let order = order.iter().map(|&at| part.calls[at as usize].operation).collect();
        Linearization { order, results: Vec::new() }
    }))
}

/// What an operation is: the order of operations on one number.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    FirstWrite,
    OtherWrite,
    Read,
}

/// A linearization; none if there is none.
fn linearize(part: &Part, numbers: &[i128]) -> Option<Vec<u32>> {
    let calls = part.calls;
    let mut is_seen = vec![false; numbers.len()];
    for call in calls.iter().filter(|call| call.result.is_index()) {
        is_seen[call.result.index()] = true;
    }
    let mut is_written = vec![false; numbers.len()];
    // The number, the role and the place of each operation. Reads whose result is not known may come anywhere.
    let mut operations: Vec<(i128, Role, u32)> = Vec::with_capacity(calls.len());
    let mut loose = Vec::new();
    for (at, call) in (0..).zip(calls) {
        if call.method == Method::Get {
            match call.result.is_index().then(|| numbers[call.result.index()]) {
                Some(number) => operations.push((number, Role::Read, at)),
                None => loose.push(at),
            }
            continue;
        }
        let value = call.argument.index();
        let is_first = is_seen[value] && !std::mem::replace(&mut is_written[value], true);
        if is_first || !call.is_pending() {
            operations.push((numbers[value], if is_first { Role::FirstWrite } else { Role::OtherWrite }, at));
        }
    }
    let is_right = |value: usize| numbers[value] == 0 || (numbers[value] > 0 && is_written[value]);
    if !(0..numbers.len()).all(|value| !is_seen[value] || is_right(value)) {
        return None;
    }
    operations.sort_unstable();
    // The last call of the reads and first writes of smaller numbers, and of those of smaller rank.
    let mut called = 0;
    for of_number in operations.chunk_by(|one, other| one.0 == other.0) {
        let (mut wrote, mut last) = (called, called);
        for &(number, role, at) in of_number {
            let Call { call, ret, .. } = calls[at as usize];
            // The initial number is there before all writes of it.
            let before = if role == Role::Read && number != 0 { wrote } else { called };
            if ret.saturating_add(1) < before {
                return None;
            }
            match role {
                Role::FirstWrite if number > 0 => wrote = wrote.max(call + 1),
                Role::Read => last = last.max(call + 1),
                _ => {}
            }
        }
        called = wrote.max(last);
    }
    Some(order(calls, &operations, loose))
}

/// The order of a linearization. Everything takes effect as early as real time and the ranks allow.
fn order(calls: &[Call], operations: &[(i128, Role, u32)], loose: Vec<u32>) -> Vec<u32> {
    // Each operation comes at a moment: not before its call, and not before those that it must follow.
    let mut moments: Vec<(u32, u32, u32)> = Vec::with_capacity(calls.len());
    let mut called = 0;
    let mut rank = 0;
    for of_number in operations.chunk_by(|one, other| one.0 == other.0) {
        let (mut wrote, mut last) = (called, called);
        for &(number, role, at) in of_number {
            let call = calls[at as usize].call;
            let before = if role == Role::Read && number != 0 { wrote } else { called };
            moments.push((call.max(before), rank + u32::from(role == Role::Read), at));
            match role {
                Role::FirstWrite if number > 0 => wrote = wrote.max(call),
                Role::Read => last = last.max(call),
                _ => {}
            }
        }
        called = wrote.max(last);
        rank += 2;
    }
    moments.extend(loose.into_iter().map(|at| (calls[at as usize].call, rank, at)));
    moments.sort_unstable();
    moments.into_iter().map(|(_, _, at)| at).collect()
}
