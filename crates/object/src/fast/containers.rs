//! What queue, stack and priority queue have in common: the stays of their values, and `empty`.
//!
//! One insert and at most one remove a value. A value that is never removed has a removal after all moments: these are
//! followed by one more return ([`Stays::end`], of the pending removals that have an effect), the call of the removals
//! that never came, and their return. Tightened:
//! an insert takes effect before its value's removal returns, a removal after its value's insert was called. Then the
//! value is certainly inside from the return of its insert to the call of its removal, if these come in this order.
//!
//! Pending removals. Without them the history may be linearizable: then it is. Else let every value that is never removed
//! be removable from the first call of a pending removal on: if that does not help, nothing does. Else try all ways to
//! give such values to pending removals, if they are few; if not, decline.

use certificate::object::{Core, Linearization, Stay};
use history::{Method, Object, OperationId};

use super::{Answer, gaps, priority_queue, queue, stack};
use crate::view::{Call, Part, ValueId};

/// No call.
pub const NONE: u32 = u32::MAX;
/// More ways to place pending removals than this are left to the search.
const WAYS: usize = 256;

/// The stay of one value: moments, tightened, and the places of its operations among the calls.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Times {
    /// The call of the insert.
    pub insert_call: u32,
    /// The return of the insert.
    pub insert_return: u32,
    /// The call of the removal.
    pub remove_call: u32,
    /// The return of the removal.
    pub remove_return: u32,
    /// The insert; [`NONE`] if the value is not inserted.
    pub insert: u32,
    /// The removal; [`NONE`] if there is none.
    pub remove: u32,
}

impl Times {
    const ABSENT: Self =
        Self { insert_call: 0, insert_return: 0, remove_call: 0, remove_return: 0, insert: NONE, remove: NONE };

    /// Whether the value is in the history.
    pub const fn is_present(&self) -> bool {
        self.insert != NONE
    }
}

/// The stays of all values, and the rest.
#[derive(Clone, Debug)]
pub struct Stays<'a> {
    /// The part that they are of.
    pub part: &'a Part<'a>,
    /// By value.
    pub times: Vec<Times>,
    /// The removals that returned `empty`, by their calls.
    pub empties: Vec<u32>,
    /// The pending removals, by their calls.
    pub pending: Vec<u32>,
    /// One more than the last moment.
    pub end: u32,
}

enum Refused {
    Core(Core),
    Declined(&'static str),
}

impl<'a> Stays<'a> {
    fn new(part: &'a Part<'a>) -> Result<Self, Refused> {
        let end = part.moments;
        let mut stays =
            Self { part, times: vec![Times::ABSENT; part.values.len()], empties: vec![], pending: vec![], end };
        let (mut duplicate, mut twice) = (false, None);
        for (at, call) in part.calls.iter().enumerate() {
            let at = at as u32;
            if matches!(call.method, Method::Enqueue | Method::Push | Method::Insert) {
                let times = &mut stays.times[call.argument.index()];
                duplicate |= times.insert != NONE;
                times.insert = at;
                times.insert_call = call.call;
                times.insert_return = call.ret;
            } else if call.is_pending() {
                stays.pending.push(at);
            } else if call.result == ValueId::EMPTY {
                stays.empties.push(at);
            } else {
                let times = &mut stays.times[call.result.index()];
                if times.remove != NONE && twice.is_none() {
                    twice = Some((call.result, [times.remove, at]));
                }
                times.remove = at;
                times.remove_call = call.call;
                times.remove_return = call.ret;
            }
        }
        if let Some(times) = stays.times.iter().find(|times| times.insert == NONE && times.remove != NONE) {
            return Err(Refused::Core(Core::NeverInserted(stays.operation(times.remove))));
        }
        if duplicate {
            return Err(Refused::Declined("a value is inserted more than once"));
        }
        if let Some((value, removes)) = twice {
            let insert = stays.operation(stays.times[value.index()].insert);
            let removes = removes.map(|at| stays.operation(at));
            return Err(Refused::Core(Core::RemovedTwice { insert, removes }));
        }
        for times in &mut stays.times {
            if times.remove == NONE {
                if times.insert != NONE && times.insert_return == Call::NEVER {
                    *times = Times::ABSENT;
                }
                times.remove_call = end + 1;
                times.remove_return = end + 2;
            }
            if times.remove_return < times.insert_call {
                let [insert, remove] = [times.insert, times.remove].map(|at| part.calls[at as usize].operation);
                return Err(Refused::Core(Core::TooEarly { insert, remove }));
            }
            times.insert_return = times.insert_return.min(times.remove_return);
            times.remove_call = times.remove_call.max(times.insert_call);
        }
        Ok(stays)
    }

    /// The operation at a place among the calls.
    pub fn operation(&self, at: u32) -> OperationId {
        self.part.calls[at as usize].operation
    }

    /// The stay of a value as evidence. A removal that is pending is not evidence.
    pub fn stay(&self, times: &Times) -> Stay {
        let remove = (times.remove != NONE).then(|| &self.part.calls[times.remove as usize]);
        Stay {
            insert: self.operation(times.insert),
            remove: remove.filter(|call| !call.is_pending()).map(|call| call.operation),
        }
    }

    /// A linearization from the places of its calls.
    pub fn linearization(&self, order: impl Iterator<Item = u32>) -> Linearization {
        Linearization { order: order.map(|at| self.operation(at)).collect(), results: Vec::new() }
    }

    /// Sets the removal of a value that no operation removed that returned.
    fn set_removal(&mut self, value: usize, remove: u32, [call, ret]: [u32; 2]) {
        let times = &mut self.times[value];
        times.remove = remove;
        times.remove_call = call.max(times.insert_call);
        times.remove_return = ret;
    }

    fn decide(&self, witness: bool) -> Answer {
        match self.part.object {
            Object::Queue => queue::check(self, witness),
            Object::Stack => stack::check(self, witness),
            _ => priority_queue::check(self, witness),
        }
    }
}

/// Decides a queue, a stack or a priority queue.
pub fn check(part: &Part, witness: bool) -> Answer {
    let mut stays = match Stays::new(part) {
        Ok(stays) => stays,
        Err(Refused::Core(core)) => return Answer::Violation(core),
        Err(Refused::Declined(why)) => return Answer::Declined(why),
    };
    let answer = stays.decide(witness);
    let (Answer::Violation(_), Some(&first)) = (&answer, stays.pending.first()) else {
        return answer;
    };

    let unremoved = |times: &Times| times.is_present() && times.remove == NONE;
    let left: Vec<usize> = (0..stays.times.len()).filter(|&value| unremoved(&stays.times[value])).collect();
    let first = part.calls[first as usize].call;
    for &value in &left {
        stays.set_removal(value, NONE, [first, stays.end + 2]);
    }
    if let Answer::Violation(core) = stays.decide(false) {
        return Answer::Violation(core);
    }
    place_removals(stays, &left, witness)
}

/// Tries every way to give the values that are left to the pending removals.
fn place_removals(mut stays: Stays, left: &[usize], witness: bool) -> Answer {
    let pending = std::mem::take(&mut stays.pending);
    let ways = pending.iter().try_fold(1_usize, |ways, _| ways.checked_mul(left.len() + 1).filter(|&w| w <= WAYS));
    let Some(ways) = ways else {
        return Answer::Declined("pending removals may have removed any of many values");
    };
    for way in 1..ways {
        for &value in left {
            stays.set_removal(value, NONE, [stays.end + 1, stays.end + 2]);
        }
        let mut digits = way;
        let mut is_distinct = true;
        let mut results = Vec::new();
        for &at in &pending {
            let digit = digits % (left.len() + 1);
            digits /= left.len() + 1;
            if digit > 0 {
                let value = left[digit - 1];
                is_distinct &= stays.times[value].remove == NONE;
                stays.set_removal(value, at, [stays.part.calls[at as usize].call, stays.end]);
                results.push((stays.operation(at), stays.part.values[value]));
            }
        }
        if !is_distinct {
            continue;
        }
        match stays.decide(witness) {
            Answer::Linearizable(Some(mut linearization)) => {
                results.sort_unstable_by_key(|&(id, _)| id);
                linearization.results = results;
                return Answer::Linearizable(Some(linearization));
            }
            Answer::Violation(_) => {}
            answer => return answer,
        }
    }
    Answer::Declined("no single pending removal is to blame")
}

/// The first gap that no stay covers, for each `empty`; or the core of one that is always covered.
pub fn place_empties(stays: &Stays, gaps: &gaps::Gaps) -> Result<Vec<u32>, Core> {
    if stays.empties.is_empty() {
        return Ok(Vec::new());
    }
    let mut depth = gaps.depths(stays.times.iter().filter(|times| times.is_present()));
    depth.push(0);
    let mut free = 0;
    let mut places = Vec::with_capacity(stays.empties.len());
    for &at in &stays.empties {
        let call = &stays.part.calls[at as usize];
        free = free.max(gaps.from(call.call));
        while depth[free as usize] > 0 {
            free += 1;
        }
        if free >= gaps.to(call.ret) {
            return Err(covered(stays, at, call.call, stays.times.iter()));
        }
        places.push(free);
    }
    Ok(places)
}

/// The core of a removal whose time, from a moment on, these stays cover together: as few of them as it takes.
pub fn covered<'t>(stays: &Stays, removal: u32, from: u32, by: impl Iterator<Item = &'t Times>) -> Core {
    let call = &stays.part.calls[removal as usize];
    let mut by: Vec<&Times> =
        by.filter(|times| times.is_present() && times.insert_return < times.remove_call).collect();
    by.sort_unstable_by_key(|times| times.insert_return);
    let mut chain: Vec<Stay> = Vec::new();
    let mut reached = from;
    let mut next = by.into_iter().peekable();
    while reached < call.ret {
        let mut best: Option<&Times> = None;
        while let Some(times) = next.next_if(|times| times.insert_return < reached) {
            if best.is_none_or(|best| best.remove_call < times.remove_call) {
                best = Some(times);
            }
        }
        match best.filter(|best| best.remove_call > reached) {
            Some(best) => {
                chain.push(stays.stay(best));
                reached = best.remove_call;
            }
            None => break,
        }
    }
    Core::Covered { removal: stays.operation(removal), by: chain }
}
