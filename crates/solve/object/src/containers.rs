//! What queue, stack and priority queue have in common: the stays of their values, and `empty`.
//!
//! Each value has one insert, at most one removal, and any number of peeks that saw it. A value that is never removed
//! gets a removal after all moments: its call is at [`Stays::end`], its return right after. The moments of a stay are
//! tightened: an insert takes effect before any other operation on its value returns, and a removal takes effect after
//! all others were called. Then the value is certainly inside from the first return of its operations to their last
//! call, if these come in this order. If not, all its operations overlap.
//!
//! An `empty` needs an instant at which no value is certainly inside ([`place_empties`]).
//!
//! Pending removals are decided in three steps. If the history is linearizable without them, it is linearizable. If
//! not, every value that no operation removed is taken as removable from the first call of a pending removal on; if the
//! history is not linearizable even then, it is a violation. Otherwise, the values that the pending removals took are
//! guessed ([`Container::decide_pending`]): of a priority queue and of a stack. If the guess fails, and for a queue,
//! the search decides.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use history::{Method, Object, OperationId};
use model::object::{Core, Linearization, Stay};
use order::Rows;
use rustc_hash::FxHashMap;

use crate::answer::Answer;
use crate::inserted::Inserted;
use crate::view::{Call, Part, ValueId};

/// No call, or no record.
pub const NONE: u32 = u32::MAX;

/// What differs between a queue, a stack and a priority queue.
pub trait Container {
    /// Decides, as if pending removals did not happen.
    fn decide(stays: &Stays, witness: bool) -> Answer;

    /// Guesses which values the pending removals took, and decides with the guess.
    fn decide_pending(_: &mut Stays, _witness: bool) -> Option<Answer> {
        None
    }

    /// Guesses which removals took which copies, if a value is inserted more than once, and decides with the guess.
    fn decide_copies(_: &Part, _witness: bool) -> Option<Answer> {
        None
    }
}

/// The stay of one value: its tightened moments, and the places of its operations among the calls.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Times {
    /// The call of the insert.
    pub insert_call: u32,
    /// The first return of an operation on the value.
    pub insert_return: u32,
    /// The last call of an operation on the value.
    pub remove_call: u32,
    /// The return of the removal.
    pub remove_return: u32,
    /// The insert; [`NONE`] if it is pending and nobody saw its value, so that it need not have happened.
    pub insert: u32,
    /// The removal; [`NONE`] if there is none.
    pub remove: u32,
}

impl Times {
    /// Whether the value was certainly inserted.
    pub const fn is_present(&self) -> bool {
        self.insert != NONE
    }

    /// Whether there is a time at which the value is certainly inside.
    pub const fn is_inside(&self) -> bool {
        self.insert_return < self.remove_call
    }
}

/// The peeks that returned a value: for each record, their places among the calls, sorted by their calls. There are no
/// rows if there are no peeks at all.
#[derive(Clone, Debug, Default)]
pub struct Peeks(Rows);

impl Peeks {
    /// Sorts the peeks by record. `returned` has the records of the values that removals and peeks returned, in the
    /// order of their calls.
    fn new(part: &Part, returned: &[u32], records: usize) -> Self {
        let has_value = |call: &Call| !(is_insert(call) || call.is_pending() || call.result == ValueId::EMPTY);
        let calls = (0..).zip(part.calls).filter(|(_, call)| has_value(call)).zip(returned);
        let seen = calls.filter(|((_, call), _)| call.method == Method::Peek);
        Self(Rows::new(records, seen.map(|((at, _), &record)| (record as usize, at))))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places().is_empty()
    }

    /// Where the peeks of a record are in [`Self::places`].
    pub fn range(&self, record: u32) -> std::ops::Range<usize> {
        match self.0.starts().get(record as usize..record as usize + 2) {
            Some(&[start, end]) => start as usize..end as usize,
            _ => 0..0,
        }
    }

    /// The places of all peeks. Those of a record stand together.
    pub fn places(&self) -> &[u32] {
        self.0.items()
    }
}

/// The stays of all values, and the rest.
#[derive(Clone, Debug)]
pub struct Stays<'a> {
    /// The part of the history.
    pub part: &'a Part<'a>,
    /// The records: one for each value that is inserted, in the order of the calls of the inserts.
    pub times: Vec<Times>,
    /// The records of the values that removals and peeks returned, in the order of their calls.
    pub returned: Vec<u32>,
    /// The peeks that returned a value.
    pub peeks: Peeks,
    /// The removals and peeks that returned `empty`, by their calls.
    pub empties: Vec<u32>,
    /// The pending removals, by their calls.
    pub pending: Vec<u32>,
    /// One more than the last moment.
    pub end: u32,
    /// The moment from which on values without a removal can be removed.
    removable_from: u32,
}

const fn is_insert(call: &Call) -> bool {
    matches!(call.method, Method::Enqueue | Method::Push | Method::Insert)
}

enum Refused {
    Core(Core),
    Declined(&'static str),
}

impl<'a> Stays<'a> {
    fn new(part: &'a Part<'a>) -> Result<Self, Refused> {
        let operation = |at: u32| part.calls[at as usize].operation;
        let end = part.moments;
        let half = part.calls.len() / 16 * 9 + 16;
        let mut times: Vec<Times> = Vec::with_capacity(half);
        let mut returned: Vec<u32> = Vec::with_capacity(half);
        let (mut empties, mut pending) = (Vec::new(), Vec::new());
        let mut inserted = Inserted::new(part.values.len());
        // The calls whose values are not found at once, each after its place among the calls that returned a value.
        let mut missing: Vec<[u32; 2]> = Vec::new();
        let (mut duplicate, mut has_peeks) = (false, false);
        let mut twice = None;
        let mut remove = |times: &mut Times, at: u32| {
            if times.remove != NONE && twice.is_none() {
                twice = Some((times.insert, [times.remove.min(at), times.remove.max(at)]));
            }
            let call = &part.calls[at as usize];
            (times.remove, times.remove_call, times.remove_return) = (at, call.call, call.ret);
        };
        for (at, call) in (0..).zip(part.calls) {
            if is_insert(call) {
                let record = times.len() as u32;
                let insertion = inserted.insert(call.argument, record);
                duplicate |= !insertion.is_new;
                times.push(Times {
                    insert_call: call.call,
                    insert_return: call.ret,
                    remove_call: end + 1,
                    remove_return: end + 2,
                    insert: at,
                    remove: NONE,
                });
                if let Some(removal) = insertion.removal {
                    let [place, at] = missing[removal as usize];
                    returned[place as usize] = record;
                    remove(&mut times[record as usize], at);
                }
            } else if call.is_pending() {
                pending.push(at);
            } else if call.result == ValueId::EMPTY {
                empties.push(at);
            } else {
                let is_peek = call.method == Method::Peek;
                has_peeks |= is_peek;
                let record =
                    if is_peek { inserted.find(call.result) } else { inserted.take(call.result, missing.len() as u32) };
                match record {
                    Some(record) if !is_peek => remove(&mut times[record as usize], at),
                    Some(_) => {}
                    None => missing.push([returned.len() as u32, at]),
                }
                returned.push(record.unwrap_or(NONE));
            }
        }
        // Such a value was inserted by a later call; or an earlier call removed it, and it was forgotten.
        missing.retain(|&[place, _]| returned[place as usize] == NONE);
        let mut forgotten: FxHashMap<ValueId, u32> = FxHashMap::default();
        for &[place, at] in &missing {
            let call = &part.calls[at as usize];
            if !inserted.has(call.result) {
                return Err(Refused::Core(Core::NeverInserted(call.operation)));
            }
            match inserted.find(call.result) {
                Some(record) => returned[place as usize] = record,
                None => _ = forgotten.insert(call.result, NONE),
            }
        }
        drop(inserted);
        if !forgotten.is_empty() {
            for (record, times) in (0..).zip(&times) {
                if let Some(found) = forgotten.get_mut(&part.calls[times.insert as usize].argument) {
                    *found = record;
                }
            }
        }
        for &[place, at] in &missing {
            let call = &part.calls[at as usize];
            let record = &mut returned[place as usize];
            if *record == NONE {
                *record = forgotten[&call.result];
            }
            if call.method != Method::Peek {
                remove(&mut times[*record as usize], at);
            }
        }
        if duplicate {
            return Err(Refused::Declined("a value is inserted more than once"));
        }
        if let Some((insert, removes)) = twice {
            return Err(Refused::Core(Core::RemovedTwice {
                insert: operation(insert),
                removes: removes.map(operation),
            }));
        }
        let peeks = if has_peeks { Peeks::new(part, &returned, times.len()) } else { Peeks::default() };
        let mut stays = Self { part, times, returned, peeks, empties, pending, end, removable_from: end + 1 };
        stays.tighten().map_err(Refused::Core)?;
        Ok(stays)
    }

    /// The stays if each removal takes the copy of an insert. `taken` has the places of these inserts. There are no
    /// peeks that returned a value.
    pub fn with_copies(part: &'a Part<'a>, taken: &[u32]) -> Result<Self, Core> {
        let end = part.moments;
        let mut records = vec![NONE; part.calls.len()];
        let (mut times, mut empties, mut pending): (Vec<Times>, Vec<u32>, Vec<u32>) = Default::default();
        for (at, call) in (0..).zip(part.calls).filter(|(_, call)| is_insert(call)) {
            records[at as usize] = times.len() as u32;
            let (insert_call, insert_return) = (call.call, call.ret);
            let (remove_call, remove_return) = (end + 1, end + 2);
            times.push(Times { insert_call, insert_return, remove_call, remove_return, insert: at, remove: NONE });
        }
        let mut returned = Vec::with_capacity(part.calls.len() - times.len());
        for (at, call) in (0..).zip(part.calls).filter(|(_, call)| !is_insert(call)) {
            if call.is_pending() {
                pending.push(at);
            } else if call.result == ValueId::EMPTY {
                empties.push(at);
            } else {
                let record = records[taken[at as usize] as usize];
                let times = &mut times[record as usize];
                (times.remove, times.remove_call, times.remove_return) = (at, call.call, call.ret);
                returned.push(record);
            }
        }
        let peeks = Peeks::default();
        let mut stays = Self { part, times, returned, peeks, empties, pending, end, removable_from: end + 1 };
        stays.tighten()?;
        Ok(stays)
    }

    fn tighten(&mut self) -> Result<(), Core> {
        let calls = self.part.calls;
        let operation = |at: u32| calls[at as usize].operation;
        for (record, times) in (0..).zip(&mut self.times) {
            let Times { insert, remove, insert_call, remove_return, .. } = *times;
            if remove_return < insert_call {
                return Err(Core::TooEarly { insert: operation(insert), remove: operation(remove) });
            }
            times.insert_return = times.insert_return.min(remove_return);
            times.remove_call = times.remove_call.max(insert_call);
            let peeks = &self.peeks.places()[self.peeks.range(record)];
            for &peek in peeks {
                let call = &calls[peek as usize];
                if call.ret < insert_call {
                    return Err(Core::TooEarly { insert: operation(insert), remove: call.operation });
                }
                if remove_return < call.call {
                    let (insert, remove) = (operation(insert), operation(remove));
                    return Err(Core::TooLate { insert, remove, peek: call.operation });
                }
                times.insert_return = times.insert_return.min(call.ret);
                times.remove_call = times.remove_call.max(call.call);
            }
            if remove == NONE && peeks.is_empty() && calls[insert as usize].is_pending() {
                times.insert = NONE;
            }
        }
        Ok(())
    }

    /// The operation at a place among the calls.
    pub fn operation(&self, at: u32) -> OperationId {
        self.part.calls[at as usize].operation
    }

    /// The value of a record.
    pub fn value(&self, times: &Times) -> ValueId {
        self.part.calls[times.insert as usize].argument
    }

    /// The calls of the peeks that returned the value of a record, in their order.
    pub fn peeks_of(&self, record: u32) -> impl Iterator<Item = (u32, &'a Call)> {
        let calls = self.part.calls;
        self.peeks.places()[self.peeks.range(record)].iter().map(|&at| (at, &calls[at as usize]))
    }

    /// The records that are present, in the order in which an operation on their value first returns.
    pub fn by_first_return(&self) -> ByFirstReturn<'_> {
        ByFirstReturn { times: &self.times, next: 0, open: BinaryHeap::new() }
    }

    /// The stay of a value as evidence, with the peeks that make it longer. A pending removal is no evidence.
    pub fn stay(&self, record: u32) -> Stay {
        let times = &self.times[record as usize];
        let call = |at: u32| &self.part.calls[at as usize];
        let remove = (times.remove != NONE).then(|| call(times.remove)).filter(|call| !call.is_pending());
        let first = self.peeks_of(record).map(|(_, peek)| peek).min_by_key(|peek| peek.ret);
        let last = self.peeks_of(record).map(|(_, peek)| peek).max_by_key(|peek| peek.call);
        // In a queue every peek counts: it shows that the value was in front, not only inside.
        let is_first = |peek: &&Call| self.part.object == Object::Queue || peek.ret < call(times.insert).ret;
        let is_last = |peek: &&Call| remove.map_or(self.removable_from, |remove| remove.call) < peek.call;
        let mut peeks = Vec::new();
        peeks.extend(first.filter(is_first).map(|peek| peek.operation));
        peeks.extend(last.filter(is_last).map(|peek| peek.operation).filter(|id| !peeks.contains(id)));
        Stay { insert: self.operation(times.insert), remove: remove.map(|call| call.operation), peeks: peeks.into() }
    }

    /// The times of a record if only some of its peeks count.
    pub fn times_with(&self, record: u32, peeks: &[u32]) -> Times {
        let call = |at: u32| &self.part.calls[at as usize];
        let times = self.times[record as usize];
        let removed = if times.remove == NONE { self.removable_from } else { call(times.remove).call };
        let peeks = || peeks.iter().map(|&at| call(at));
        Times {
            insert_return: peeks().map(|peek| peek.ret).fold(call(times.insert).ret.min(times.remove_return), u32::min),
            remove_call: peeks().map(|peek| peek.call).fold(removed.max(times.insert_call), u32::max),
            ..times
        }
    }

    /// A linearization from the places of its calls.
    pub fn linearization(&self, order: impl Iterator<Item = u32>) -> Linearization {
        Linearization { order: order.map(|at| self.operation(at)).collect(), results: Vec::new() }
    }

    /// Makes a value removable that is [left](Self::is_left).
    fn make_removable(&mut self, record: u32) {
        let last = self.peeks_of(record).last().map_or(0, |(_, peek)| peek.call);
        let times = &mut self.times[record as usize];
        if times.is_present() && times.remove == NONE {
            times.remove_call = self.removable_from.max(times.insert_call).max(last);
        }
    }

    /// Whether a value is left: it was inserted, and no operation that returned removed it.
    pub fn is_left(&self, times: &Times) -> bool {
        times.is_present() && times.remove_return > self.end
    }

    /// Decides under the assumption that these pending removals took these records, which are left, and that all other
    /// pending removals did not happen.
    pub fn decide_with<C: Container>(&mut self, taken: &[(u32, u32)], witness: bool) -> Answer {
        self.removable_from = self.end + 1;
        for record in 0..self.times.len() as u32 {
            let times = &mut self.times[record as usize];
            if times.remove_return == self.end {
                // A removal that was assumed before.
                (times.remove, times.remove_return) = (NONE, self.end + 2);
            }
            self.make_removable(record);
        }
        for &(record, at) in taken {
            self.removable_from = self.part.calls[at as usize].call;
            self.make_removable(record);
            let times = &mut self.times[record as usize];
            times.remove = at;
            times.remove_return = self.end;
        }
        let mut answer = C::decide(self, witness);
        if let Answer::Linearizable(Some(linearization)) = &mut answer {
            let result = |&(record, at): &(u32, u32)| {
                let value = self.part.value(self.value(&self.times[record as usize]));
                (self.operation(at), value)
            };
            linearization.results = taken.iter().map(result).collect();
        }
        answer
    }
}

/// See [`Stays::by_first_return`].
#[derive(Clone, Debug)]
pub struct ByFirstReturn<'a> {
    times: &'a [Times],
    next: u32,
    /// The records whose insert has been called. They are few at a time.
    open: BinaryHeap<Reverse<(u32, u32)>>,
}

impl Iterator for ByFirstReturn<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        loop {
            let Some(times) = self.times.get(self.next as usize) else {
                return self.open.pop().map(|Reverse((_, record))| record);
            };
            if self.open.peek().is_some_and(|Reverse((ret, _))| *ret < times.insert_call) {
                return self.open.pop().map(|Reverse((_, record))| record);
            }
            if times.is_present() {
                self.open.push(Reverse((times.insert_return, self.next)));
            }
            self.next += 1;
        }
    }
}

/// Decides a container.
pub fn check<C: Container>(part: &Part, witness: bool) -> Answer {
    let mut stays = match Stays::new(part) {
        Ok(stays) => stays,
        Err(Refused::Core(core)) => return Answer::Violation(core),
        Err(Refused::Declined(why)) => return C::decide_copies(part, witness).unwrap_or(Answer::Declined(why)),
    };
    let answer = C::decide(&stays, witness);
    let (Answer::Violation(_), Some(&first)) = (&answer, stays.pending.first()) else {
        return answer;
    };

    let first = part.calls[first as usize].call;
    stays.removable_from = first;
    for record in 0..stays.times.len() as u32 {
        stays.make_removable(record);
    }
    let answer = C::decide(&stays, false);
    if !matches!(answer, Answer::Linearizable(_)) {
        return answer;
    }
    match C::decide_pending(&mut stays, witness) {
        Some(answer @ Answer::Linearizable(_)) => answer,
        _ => Answer::Declined("pending removals may have removed any of several values"),
    }
}

/// For each `empty`, the first moment right after which no value is certainly inside; or the core of an `empty` that
/// has no such moment.
pub fn place_empties(stays: &Stays) -> Result<Vec<u32>, Core> {
    let mut places = Vec::with_capacity(stays.empties.len());
    if stays.empties.is_empty() {
        return Ok(places);
    }
    let mut entering = stays.by_first_return().map(|record| &stays.times[record as usize]).peekable();
    // Up to this moment, one of the values that have entered is certainly inside.
    let mut covered_to = 0;
    for &at in &stays.empties {
        let call = &stays.part.calls[at as usize];
        while let Some(times) = entering.next_if(|times| times.insert_return < covered_to.max(call.call)) {
            covered_to = covered_to.max(if times.is_inside() { times.remove_call } else { 0 });
        }
        let place = covered_to.max(call.call);
        if place > call.ret {
            return Err(covered(stays, at, [call.call, call.ret], |_| true));
        }
        places.push(place);
    }
    Ok(places)
}

/// The core of a removal or a peek whose time is covered by the stays of some values. It has as few stays as suffice.
pub fn covered(stays: &Stays, removal: u32, [from, to]: [u32; 2], by: impl Fn(&Times) -> bool) -> Core {
    let mut by = stays.by_first_return().filter(|&record| {
        let times = &stays.times[record as usize];
        times.is_inside() && by(times)
    });
    let mut next = by.next();
    let mut chain: Vec<Stay> = Vec::new();
    let mut reached = from;
    while reached < to {
        let mut best: Option<u32> = None;
        while let Some(record) = next.filter(|&record| stays.times[record as usize].insert_return < reached) {
            let leaves = |record: u32| stays.times[record as usize].remove_call;
            if best.is_none_or(|best| leaves(best) < leaves(record)) {
                best = Some(record);
            }
            next = by.next();
        }
        match best.filter(|&best| stays.times[best as usize].remove_call > reached) {
            Some(best) => {
                chain.push(stays.stay(best));
                reached = stays.times[best as usize].remove_call;
            }
            None => break,
        }
    }
    Core::Covered { removal: stays.operation(removal), by: chain }
}

/// The last to return of the removals that were called before an operation returned. If there is none that returned
/// later, it is the operation itself.
pub fn last_counted(part: &Part, stuck: &Call) -> OperationId {
    let open = part.calls.iter().take_while(|call| call.call < stuck.ret);
    let removes = |call: &&Call| matches!(call.method, Method::Pop | Method::DeleteMax);
    let open = open.filter(removes).filter(|call| !call.is_pending() && call.ret > stuck.ret);
    open.max_by_key(|call| call.ret).unwrap_or(stuck).operation
}
