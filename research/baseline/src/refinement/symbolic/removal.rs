//! Removal of obsolete matches (section 5 of MR), for all eight objects.
//!
//! A set of operations that have returned may be forgotten if every linearization of the history, and of every
//! extension of it, is still a run of the object without them. Then a violation that is found later is a violation of
//! the whole history (Corollary 3). The converse does not hold. The sets are:
//!
//! - queue, stack, priority queue: an insertion and the removal of its value;
//! - exchanger: two exchanges that returned the values of each other, and one that returned `null`;
//! - register: a *chain*, which is a write, its reads, the compare-and-swaps (and rmws) that read it, their reads, and
//!   so on. In a linearization nothing that writes is between them. The chain is obsolete if it has an operation that
//!   returned before another write w' was called, and each operation that was called before w' returned has returned,
//!   too: later operations read w' or what follows it. (MR has no compare-and-swaps, so its chains are matches.)
//! - set (one element): MR matches an addition with all that finds its element. Elements come again and again, so
//!   matches cannot be told by values here. Cut the history where no operation is open. The stretches between the cuts
//!   come one after another in every linearization, and the results say by how much each changes the number of the
//!   element (0 or 1). Neighbouring stretches that together change nothing are forgotten;
//! - mutex, semaphore: without tags, MR's matching is not known, but this suffices: an acquisition p that returned
//!   before a release q was called, such that no other release, or no other acquisition, can come between the two. The
//!   number that is held is at least one between p and q in every linearization, so without p and q it is one less
//!   there, and still not negative.
//!
//! A test, a failed compare-and-swap, or a removal that returned `empty` changes nothing. To forget it, too, is sound.
//! It is done where the rest makes it empty of meaning: `empty` if all insertions that are remembered came later, and
//! failed compare-and-swaps if values that they may have found are forgotten.

use crate::refinement::Invocation;
use history::{Method, Object};
use object::ValueId;
use rustc_hash::FxHashMap;

/// An operation that is remembered, in the order of the calls.
#[derive(Copy, Clone, Debug)]
pub(super) struct Remembered {
    pub(super) number: u32,
    pub(super) invocation: Invocation,
    called: u32,
    /// The moment of the return, and the result.
    returned: Option<(u32, ValueId)>,
}

impl Remembered {
    /// The moment of the return; a moment after all others if it is open.
    fn end(&self) -> u32 {
        self.returned.map_or(u32::MAX, |(moment, _)| moment)
    }

    /// The result, if it has returned.
    fn result(&self) -> Option<ValueId> {
        self.returned.map(|(_, result)| result)
    }

    fn precedes(&self, other: &Self) -> bool {
        self.end() < other.called
    }
}

/// An event to tell an instance.
#[derive(Copy, Clone, Debug)]
pub(super) enum Event {
    Call(u32, Invocation),
    Return(u32, ValueId),
}

/// The operations that are remembered.
#[derive(Debug, Default)]
pub(super) struct Log {
    operations: Vec<Remembered>,
    moment: u32,
}

impl Log {
    pub(super) fn call(&mut self, number: u32, invocation: Invocation) {
        self.operations.push(Remembered { number, invocation, called: self.moment, returned: None });
        self.moment += 1;
    }

    pub(super) fn return_(&mut self, number: u32, result: ValueId) {
        if let Ok(at) = self.operations.binary_search_by_key(&number, |operation| operation.number) {
            self.operations[at].returned = Some((self.moment, result));
        }
        self.moment += 1;
    }

    /// The calls and returns of what is remembered, in the order of time.
    pub(super) fn events(&self) -> Vec<Event> {
        let mut events = Vec::with_capacity(2 * self.operations.len());
        for operation in &self.operations {
            events.push((operation.called, Event::Call(operation.number, operation.invocation)));
            events.extend(operation.returned.map(|(moment, result)| (moment, Event::Return(operation.number, result))));
        }
        events.sort_unstable_by_key(|&(moment, _)| moment);
        events.into_iter().map(|(_, event)| event).collect()
    }

    /// Forgets what is obsolete. The answer is whether anything was.
    pub(super) fn remove(&mut self, object: Object, initial: ValueId) -> bool {
        let operations = &self.operations;
        let mut obsolete = vec![false; operations.len()];
        match object {
            Object::Queue | Object::Stack | Object::PriorityQueue => containers(operations, &mut obsolete),
            Object::Memory | Object::Register => register(operations, initial, &mut obsolete),
            Object::Set => set(operations, &mut obsolete),
            Object::Mutex | Object::Semaphore => pairs(operations, &mut obsolete),
            Object::Exchanger => exchanges(operations, &mut obsolete),
            _ => {}
        }
        let before = self.operations.len();
        let mut obsolete = obsolete.into_iter();
        self.operations.retain(|_| !obsolete.next().unwrap_or(false));
        self.operations.len() < before
    }
}

fn containers(operations: &[Remembered], obsolete: &mut [bool]) {
    let inserts =
        |operation: &Remembered| matches!(operation.invocation.method, Method::Enqueue | Method::Push | Method::Insert);
    let mut insertions: FxHashMap<ValueId, usize> = FxHashMap::default();
    for (at, operation) in operations.iter().enumerate().filter(|(_, operation)| inserts(operation)) {
        insertions.insert(operation.invocation.argument, at);
    }
    for (at, removal) in operations.iter().enumerate().filter(|(_, operation)| !inserts(operation)) {
        let value = removal.result().filter(|result| result.is_index());
        if let Some(&insertion) = value.and_then(|value| insertions.get(&value))
            && operations[insertion].returned.is_some()
        {
            obsolete[at] = true;
            obsolete[insertion] = true;
        }
    }
    // An insertion that is called after an `empty` returned says nothing about it.
    let first = (0..operations.len()).find(|&at| inserts(&operations[at]) && !obsolete[at]);
    let first = first.map_or(u32::MAX, |at| operations[at].called);
    for (at, removal) in operations.iter().enumerate() {
        obsolete[at] |= removal.result() == Some(ValueId::EMPTY) && removal.end() < first;
    }
}

/// A chain of the register: see the module.
#[derive(Copy, Clone)]
struct Chain {
    is_complete: bool,
    first_return: u32,
    /// The latest call of a write of the chain that all that overlapped it has survived.
    last_settled: Option<u32>,
}

fn register(operations: &[Remembered], initial: ValueId, obsolete: &mut [bool]) {
    // The writes by value, and what each operation that certainly read has read.
    let writes = |operation: &Remembered| match operation.invocation.method {
        Method::Write | Method::Rmw => true,
        Method::Cas => operation.result() != Some(ValueId::FALSE),
        _ => false,
    };
    let mut by_value: FxHashMap<ValueId, usize> = FxHashMap::default();
    for (at, operation) in operations.iter().enumerate().filter(|(_, operation)| writes(operation)) {
        by_value.insert(operation.invocation.argument, at);
    }
    let read = |operation: &Remembered| match (operation.invocation.method, operation.result()?) {
        (Method::Read | Method::Rmw, result) => Some(result),
        (Method::Cas, ValueId::TRUE) => Some(operation.invocation.expected),
        _ => None,
    };
    if operations.iter().any(|o| o.invocation.method == Method::Rmw && o.result() == Some(ValueId::NONE)) {
        return;
    }
    // The chain of each operation: the number of the write at its top, or that of the initial value.
    let none = operations.len();
    let top = |mut at: usize| {
        // A circle of sources would be a violation, which was found before.
        for _ in 0..operations.len() {
            match read(&operations[at]) {
                None if writes(&operations[at]) => return Some(at),
                Some(value) if value == initial => return Some(none),
                Some(value) => at = *by_value.get(&value)?,
                None => return None,
            }
        }
        None
    };
    let tops: Vec<Option<usize>> = (0..operations.len()).map(top).collect();
    // Whatever returned before the first open call is settled: nothing that is open overlaps it.
    let open = operations.iter().find(|operation| operation.returned.is_none());
    let first_open = open.map_or(u32::MAX, |operation| operation.called);
    let fresh = Chain { is_complete: true, first_return: u32::MAX, last_settled: None };
    let mut chains = vec![fresh; operations.len() + 1];
    chains[none].first_return = 0;
    for (at, operation) in operations.iter().enumerate() {
        let Some(top) = tops[at] else { continue };
        let chain = &mut chains[top];
        chain.is_complete &= operation.returned.is_some();
        chain.first_return = chain.first_return.min(operation.end());
        if writes(operation) && operation.end() < first_open {
            chain.last_settled = chain.last_settled.max(Some(operation.called));
        }
    }
    let settled = |but: usize| {
        let others = chains.iter().enumerate().filter(|&(top, _)| top != but);
        others.filter_map(|(_, chain)| chain.last_settled).max()
    };
    // The chain with the latest such write, and the latest of all the others.
    let best = (0..chains.len()).max_by_key(|&top| chains[top].last_settled).unwrap_or(none);
    let (latest, second) = (chains[best].last_settled, settled(best));
    let mut any = false;
    for (at, top) in tops.iter().enumerate() {
        let Some(top) = *top else { continue };
        let by = if top == best { second } else { latest };
        let chain = chains[top];
        obsolete[at] = chain.is_complete && by.is_some_and(|called| chain.first_return < called);
        any |= obsolete[at];
    }
    for (at, operation) in operations.iter().enumerate().filter(|_| any) {
        let says_little = matches!(
            (operation.invocation.method, operation.result()),
            (Method::Cas, Some(ValueId::FALSE)) | (Method::Read, Some(ValueId::NONE))
        );
        obsolete[at] |= says_little;
    }
}

fn set(operations: &[Remembered], obsolete: &mut [bool]) {
    /// A stretch between two cuts, and by how much it changes the number of the element.
    struct Stretch {
        from: usize,
        to: usize,
        change: i64,
    }
    let change = |operation: &Remembered| match (operation.invocation.method, operation.result()?) {
        (Method::Contains, _) | (_, ValueId::FALSE) => Some(0),
        (Method::Add, ValueId::TRUE) => Some(1),
        (Method::Remove, ValueId::TRUE) => Some(-1),
        _ => None,
    };
    let mut stretches: Vec<Stretch> = Vec::new();
    let mut from = 0;
    let mut end = 0;
    for to in 1..=operations.len() {
        end = operations[to - 1].end().max(end);
        if operations.get(to).is_some_and(|next| next.called < end) {
            continue;
        }
        let changes: Option<Vec<i64>> = operations[from..to].iter().map(change).collect();
        if let Some(changes) = changes {
            let mut stretch = Stretch { from, to, change: changes.into_iter().sum() };
            // A stretch takes in those right before it that it undoes, or that change nothing themselves.
            while let Some(last) = stretches.last()
                && last.to == stretch.from
                && (last.change == 0 || last.change + stretch.change == 0)
            {
                stretch = Stretch { from: last.from, change: last.change + stretch.change, ..stretch };
                stretches.pop();
            }
            stretches.push(stretch);
        }
        from = to;
    }
    for stretch in stretches.iter().filter(|stretch| stretch.change == 0) {
        obsolete[stretch.from..stretch.to].fill(true);
    }
}

fn pairs(operations: &[Remembered], obsolete: &mut [bool]) {
    let goes_up = |operation: &Remembered| matches!(operation.invocation.method, Method::Lock | Method::Acquire);
    for q in 0..operations.len() {
        let release = &operations[q];
        if goes_up(release) || release.returned.is_none() {
            continue;
        }
        // What was called before the release returned, and is not forgotten already, and may come before it.
        let others = |up: bool| {
            let remembered = (0..operations.len()).filter(|&at| at != q && !obsolete[at]);
            remembered.map(|at| (at, &operations[at])).filter(move |(_, operation)| goes_up(operation) == up)
        };
        let may_precede = |operation: &Remembered| operation.called < release.end();
        let released = others(false).filter(|(_, other)| may_precede(other)).map(|(_, other)| other.end()).max();
        let acquisitions: Vec<usize> = others(true).filter(|(_, p)| p.precedes(release)).map(|(at, _)| at).collect();
        let has_no_release = |p: &usize| released.is_none_or(|end| end < operations[*p].called);
        let has_no_acquisition = |p: &usize| {
            let mut rivals = others(true).filter(|(at, other)| at != p && may_precede(other));
            rivals.all(|(_, other)| other.precedes(&operations[*p]))
        };
        // Of the acquisitions only the last can have no other between itself and the release.
        let last = acquisitions.last().copied().filter(has_no_acquisition);
        if let Some(p) = acquisitions.iter().copied().find(has_no_release).or(last) {
            obsolete[p] = true;
            obsolete[q] = true;
        }
    }
}

fn exchanges(operations: &[Remembered], obsolete: &mut [bool]) {
    let mut offers: FxHashMap<ValueId, usize> = FxHashMap::default();
    for (at, operation) in operations.iter().enumerate() {
        offers.insert(operation.invocation.argument, at);
    }
    for (at, operation) in operations.iter().enumerate() {
        let partner = operation.result().and_then(|result| offers.get(&result)).map(|&at| &operations[at]);
        obsolete[at] = operation.result() == Some(ValueId::NULL)
            || partner.is_some_and(|partner| partner.result() == Some(operation.invocation.argument));
    }
}
