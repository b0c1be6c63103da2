//! Runs a linearization on the sequential object.
//!
//! This file has all that the verifier knows of the objects, besides the claims of cores: the [`State`] of an object,
//! what it holds in that state, what each method does to it, which operations change nothing, and whether the elements
//! of the object are independent. The checkers have definitions of their own.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use history::{History, KeyId, Method, Object, OperationId, Value};

use super::super::{Place, Refusal, fault};
use super::Claim;
use crate::replay::Piece;
use model::object::Linearization;

/// A sequential object, in the plainest form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum State {
    /// A register: the bits of its value.
    Register(u64),
    Queue(VecDeque<u64>),
    Stack(Vec<u64>),
    /// A priority queue: how many values of each priority it holds.
    PriorityQueue(BTreeMap<i128, u32>),
    Element(bool),
    /// A set that is read as a whole: the bits of its elements.
    Whole(BTreeSet<u64>),
    Held(u64),
    Text(String),
    /// A multiset: how many copies of one element it holds.
    Copies(i64),
    /// A tagged mutex or semaphore: how often each tag is held.
    Tags(BTreeMap<u64, u64>),
    /// A counter: its sum. A max-register: the largest number.
    Number(i128),
}

/// Whether a value has these bits.
fn value_of(bits: u64, known: Value) -> bool {
    known.bits() == bits
}

impl State {
    /// The object before any operation.
    pub(super) fn new(claim: Claim, key: KeyId) -> Self {
        let history = claim.history;
        match history.object() {
            Object::Memory | Object::Register => Self::Register(history.initial_value(key).bits()),
            Object::Queue => Self::Queue(VecDeque::new()),
            Object::Stack => Self::Stack(Vec::new()),
            Object::PriorityQueue => Self::PriorityQueue(BTreeMap::new()),
            Object::Set if claim.is_split => Self::Element(false),
            Object::Set => Self::Whole(BTreeSet::new()),
            // An exchanger has pairs instead of a linearization. Open objects and transactions are not verified here.
            Object::Mutex | Object::Semaphore | Object::Exchanger | Object::Open | Object::Transactions => {
                Self::Held(0)
            }
            Object::Multiset => Self::Copies(0),
            Object::TaggedMutex | Object::TaggedSemaphore => Self::Tags(BTreeMap::new()),
            Object::Counter | Object::MaxRegister => Self::Number(0),
            Object::KeyValue => Self::Text(text(history, history.initial_value(key))),
        }
    }

    /// What the object holds in this state. `element` is the element that the state of a set or multiset is about.
    pub(super) fn contents(&self, element: Value) -> Vec<Piece> {
        let values = |bits: &mut dyn Iterator<Item = u64>| bits.map(|it| Piece::Value(Value::from_bits(it))).collect();
        match self {
            Self::Register(bits) => vec![Piece::Value(Value::from_bits(*bits))],
            Self::Queue(items) => values(&mut items.iter().copied()),
            Self::Stack(items) => values(&mut items.iter().copied()),
            Self::PriorityQueue(items) => {
                let repeated = items.iter().flat_map(|(&item, &count)| vec![Piece::Number(item); count as usize]);
                repeated.collect()
            }
            Self::Element(is_in) => vec![Piece::Value(element); usize::from(*is_in)],
            Self::Whole(set) => values(&mut set.iter().copied()),
            Self::Copies(copies) => vec![Piece::Value(element); usize::try_from(*copies).unwrap_or(0)],
            Self::Tags(tags) => {
                values(&mut tags.iter().flat_map(|(&tag, &count)| vec![tag; usize::try_from(count).unwrap_or(0)]))
            }
            Self::Held(count) => vec![Piece::Number(i128::from(*count))],
            Self::Number(number) => vec![Piece::Number(*number)],
            Self::Text(text) => vec![Piece::Text(text.clone())],
        }
    }

    /// Runs an operation. Returns whether it can return `result`; if `result` is none, any result will do.
    pub(super) fn run(&mut self, history: &History, id: OperationId, result: Value) -> bool {
        let operation = history.operation(id);
        let argument = operation.argument;
        let returns = |value: Value| result.is_none() || result == value;
        let removes = |bits: Option<u64>| match bits {
            None => returns(Value::EMPTY),
            Some(bits) => result.is_none() || value_of(bits, result),
        };
        match (self, operation.method) {
            (Self::Register(cell), Method::Write) => {
                *cell = argument.bits();
                true
            }
            (Self::Register(cell), Method::Read) => result.is_none() || value_of(*cell, result),
            (Self::Register(cell), Method::Rmw) => {
                let before = std::mem::replace(cell, argument.bits());
                result.is_none() || value_of(before, result)
            }
            (Self::Register(cell), Method::Cas) => {
                let succeeds = history.expected(id).is_some_and(|expected| value_of(*cell, expected));
                if succeeds {
                    *cell = argument.bits();
                }
                returns(Value::boolean(succeeds))
            }
            (Self::Queue(items), Method::Enqueue) => {
                items.push_back(argument.bits());
                true
            }
            (Self::Queue(items), Method::Dequeue) => removes(items.pop_front()),
            (Self::Queue(items), Method::Peek) => removes(items.front().copied()),
            (Self::Stack(items), Method::Peek) => removes(items.last().copied()),
            (Self::Stack(items), Method::Push) => {
                items.push(argument.bits());
                true
            }
            (Self::Stack(items), Method::Pop) => removes(items.pop()),
            (Self::PriorityQueue(items), Method::Insert) => {
                let Some(priority) = priority(history, argument) else { return false };
                *items.entry(priority).or_insert(0) += 1;
                true
            }
            (Self::PriorityQueue(items), Method::DeleteMax) => {
                let Some(mut largest) = items.last_entry() else { return returns(Value::EMPTY) };
                let value = *largest.key();
                *largest.get_mut() -= 1;
                if *largest.get() == 0 {
                    largest.remove();
                }
                result.is_none() || priority(history, result) == Some(value)
            }
            (Self::PriorityQueue(items), Method::Peek) => match items.last_key_value() {
                None => returns(Value::EMPTY),
                Some((&largest, _)) => result.is_none() || priority(history, result) == Some(largest),
            },
            (Self::Element(is_in), Method::Add) => {
                let before = std::mem::replace(is_in, true);
                returns(Value::boolean(!before))
            }
            (Self::Element(is_in), Method::Remove) => {
                let before = std::mem::replace(is_in, false);
                returns(Value::boolean(before))
            }
            (Self::Element(is_in), Method::Contains) => returns(Value::boolean(*is_in)),
            (Self::Whole(set), Method::Add) => returns(Value::boolean(set.insert(argument.bits()))),
            (Self::Whole(set), Method::Remove) => returns(Value::boolean(set.remove(&argument.bits()))),
            (Self::Whole(set), Method::Contains) => returns(Value::boolean(set.contains(&argument.bits()))),
            (Self::Whole(set), Method::ReadAll) => {
                result.is_none()
                    || history.elements(result).iter().map(|element| element.bits()).collect::<BTreeSet<_>>() == *set
            }
            (Self::Held(held), Method::Lock | Method::Acquire) => {
                *held += 1;
                let capacity = if history.object() == Object::Mutex { 1 } else { history.capacity().unwrap_or(1) };
                *held <= capacity
            }
            (Self::Held(held), Method::TryLock) => {
                let is_free = *held == 0;
                *held = 1;
                returns(Value::boolean(is_free))
            }
            (Self::Held(held), Method::Unlock | Method::Release) => {
                let has_any = *held > 0;
                *held = held.saturating_sub(1);
                has_any
            }
            (Self::Copies(copies), Method::Add) => {
                *copies += 1;
                returns(Value::TRUE)
            }
            (Self::Copies(copies), Method::Remove) => {
                let has_any = *copies > 0;
                *copies -= i64::from(has_any);
                returns(Value::boolean(has_any))
            }
            (Self::Copies(copies), Method::Contains) => returns(Value::boolean(*copies > 0)),
            (Self::Copies(copies), Method::Count) => result.is_none() || result.as_integer() == Some(*copies),
            (Self::Tags(tags), Method::AcquireAs) => {
                *tags.entry(argument.bits()).or_insert(0) += 1;
                let capacity =
                    if history.object() == Object::TaggedMutex { 1 } else { history.capacity().unwrap_or(1) };
                tags.values().sum::<u64>() <= capacity
            }
            (Self::Tags(tags), Method::ReleaseAs) => {
                let Some(held) = tags.get_mut(&argument.bits()) else { return false };
                *held -= 1;
                if *held == 0 {
                    tags.remove(&argument.bits());
                }
                true
            }
            (Self::Number(sum), Method::Increase) => {
                let after = priority(history, argument).and_then(|more| sum.checked_add(more));
                *sum = after.unwrap_or(*sum);
                after.is_some()
            }
            (Self::Number(largest), Method::WriteMax) => {
                let Some(number) = priority(history, argument) else { return false };
                *largest = number.max(*largest);
                true
            }
            (Self::Number(number), Method::Get) => result.is_none() || priority(history, result) == Some(*number),
            (Self::Text(cell), Method::Put) => {
                *cell = text(history, argument);
                true
            }
            (Self::Text(cell), Method::Append) => {
                cell.push_str(&text(history, argument));
                true
            }
            (Self::Text(cell), Method::Get) => result.is_none() || *cell == text(history, result),
            _ => false,
        }
    }
}

/// Whether operations on different elements of the object are independent.
pub(super) const fn is_by_element(object: Object) -> bool {
    matches!(object, Object::Set | Object::Multiset)
}

/// Whether an operation of this method that returned `result` changes nothing.
pub(super) fn changes_nothing(method: Method, result: Value) -> bool {
    match method {
        Method::Read | Method::Contains | Method::ReadAll | Method::Count | Method::Get | Method::Peek => true,
        Method::Cas | Method::Add | Method::Remove | Method::TryLock => result == Value::FALSE,
        Method::Dequeue | Method::Pop | Method::DeleteMax => result == Value::EMPTY,
        _ => false,
    }
}

/// The text of a value. No value is the empty text.
pub(super) fn text(history: &History, value: Value) -> String {
    if value == Value::NULL { String::new() } else { history.show(value) }
}

/// A value as a priority, or as another number.
pub(super) fn priority(history: &History, value: Value) -> Option<i128> {
    match value.as_integer() {
        Some(n) => Some(i128::from(n)),
        None => history.show(value).parse().ok(),
    }
}

pub(super) fn verify(claim: Claim, orders: &[Linearization]) -> Result<(), Refusal> {
    let history = claim.history;
    let place = Place::Linearization;
    let mut seen = vec![false; history.operations().len()];
    let mut groups = HashSet::new();
    for linearization in orders {
        let Some(&first) = linearization.order.first() else {
            continue;
        };
        if !claim.may_have_happened(first) {
            return fault(place, format!("operation {} did not happen", first.0));
        }
        let group = claim.group(first);
        if !groups.insert(group) {
            return fault(place, "there are two orders of the operations on one object");
        }
        let results: HashMap<OperationId, Value> = linearization.results.iter().copied().collect();
        let mut state = State::new(claim, group.0);
        let mut called = 0;
        for &id in &linearization.order {
            if !claim.may_have_happened(id) {
                return fault(place, format!("operation {} did not happen", id.0));
            }
            if claim.group(id) != group {
                return fault(place, format!("operation {} is on another object", id.0));
            }
            if std::mem::replace(&mut seen[id.index()], true) {
                return fault(place, format!("operation {} takes effect twice", id.0));
            }
            if claim.ret(id) < called {
                let what = "returned before the call of an operation that stands before it";
                return fault(place, format!("operation {} {what}", id.0));
            }
            called = called.max(claim.call(id));
            let result = match results.get(&id) {
                Some(_) if claim.has_returned(id) => {
                    let what = "has returned, so the certificate must not choose its result";
                    return fault(place, format!("operation {} {what}", id.0));
                }
                Some(&result) => result,
                None => claim.result(id),
            };
            if !state.run(history, id, result) {
                return fault(place, format!("operation {} cannot return its result at its place in the order", id.0));
            }
        }
    }
    match claim.ids().find(|&id| claim.may_have_happened(id) && claim.has_returned(id) && !seen[id.index()]) {
        Some(id) => fault(place, format!("operation {} returned and is in no order", id.0)),
        None => Ok(()),
    }
}
