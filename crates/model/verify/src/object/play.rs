//! Plays linearizations on the sequential object, for a person to see: what each operation changes, and what the object
//! may hold while an operation is open.

use std::collections::BTreeMap;

use history::{History, Method, Object, OperationId, Value};

use super::again;
use super::claim;
use super::run::{State, priority, text};
use crate::replay::{Cell, Piece, Possible, ReplayAction, ReplayStep, StateChange};
use model::object::Linearization;

impl State {
    /// What an operation changes in this state, if it changes something.
    fn change(&self, history: &History, id: OperationId) -> Option<StateChange> {
        let operation = history.operation(id);
        let argument = Piece::Value(operation.argument);
        let number = || priority(history, operation.argument);
        let held = |count: u64| Some(StateChange::Set(Piece::Number(i128::from(count))));
        match (self, operation.method) {
            (Self::Register(_), Method::Write | Method::Rmw) => Some(StateChange::Set(argument)),
            (Self::Register(cell), Method::Cas) => {
                let succeeds = history.expected(id).is_some_and(|expected| expected.bits() == *cell);
                succeeds.then_some(StateChange::Set(argument))
            }
            (Self::Queue(_), Method::Enqueue) | (Self::Stack(_), Method::Push) => Some(StateChange::Append(argument)),
            (Self::Queue(items), Method::Dequeue) => (!items.is_empty()).then_some(StateChange::RemoveFirst),
            (Self::Stack(items), Method::Pop) => (!items.is_empty()).then_some(StateChange::RemoveLast),
            (Self::PriorityQueue(_), Method::Insert) => number().map(Piece::Number).map(StateChange::Insert),
            (Self::PriorityQueue(items), Method::DeleteMax) => {
                items.last_key_value().map(|(&largest, _)| StateChange::Delete(Piece::Number(largest)))
            }
            (Self::Element(is_in), Method::Add) => (!is_in).then_some(StateChange::Insert(argument)),
            (Self::Element(is_in), Method::Remove) => is_in.then_some(StateChange::Delete(argument)),
            (Self::Whole(set), Method::Add) => {
                (!set.contains(&operation.argument.bits())).then_some(StateChange::Insert(argument))
            }
            (Self::Whole(set), Method::Remove) => {
                set.contains(&operation.argument.bits()).then_some(StateChange::Delete(argument))
            }
            (Self::Copies(copies), Method::Remove) => (*copies > 0).then_some(StateChange::Delete(argument)),
            (Self::Held(count), Method::Lock | Method::Acquire) => held(count + 1),
            (Self::Held(0), Method::TryLock) => held(1),
            (Self::Held(count), Method::Unlock | Method::Release) => held(count.saturating_sub(1)),
            (Self::Copies(_), Method::Add) | (Self::Tags(_), Method::AcquireAs) => Some(StateChange::Insert(argument)),
            (Self::Tags(_), Method::ReleaseAs) => Some(StateChange::Delete(argument)),
            (Self::Number(sum), Method::Increase) => {
                number().and_then(|more| sum.checked_add(more)).map(Piece::Number).map(StateChange::Set)
            }
            (Self::Number(largest), Method::WriteMax) => {
                number().filter(|number| number > largest).map(Piece::Number).map(StateChange::Set)
            }
            (Self::Text(_), Method::Put) => Some(StateChange::Set(Piece::Text(text(history, operation.argument)))),
            (Self::Text(_), Method::Append) => {
                Some(StateChange::Append(Piece::Text(text(history, operation.argument))))
            }
            _ => None,
        }
    }
}

/// The steps of the linearizations of all objects, in one order that keeps the order in time. An operation takes effect
/// as soon as it was called and all operations before it have taken effect.
pub(crate) fn steps(history: &History, orders: &[Linearization]) -> Vec<ReplayStep> {
    let claim = claim(history);
    let mut steps: Vec<(u64, ReplayStep)> = Vec::new();
    for Linearization { order, results } in orders {
        let results: BTreeMap<OperationId, Value> = results.iter().copied().collect();
        let mut state: Option<State> = None;
        let mut called = 0;
        for &id in order.iter().filter(|&&id| claim.may_have_happened(id)) {
            called = called.max(claim.call(id));
            let key = claim.group(id).0;
            let state = state.get_or_insert_with(|| State::new(claim, key));
            let changes = state.change(history, id).map(|change| (Cell::Object(key), change)).into_iter().collect();
            state.run(history, id, results.get(&id).copied().unwrap_or(claim.result(id)));
            steps.push((called, ReplayStep { operation: id, action: ReplayAction::Perform, changes }));
        }
    }
    steps.sort_by_key(|&(moment, _)| moment);
    steps.into_iter().map(|(_, step)| step).collect()
}

/// All that the object of an operation may hold between the call and the return of the operation, before the operation
/// itself takes effect, in any order of the others that agrees with their results. Sorted, each once. None if there
/// are more than `most` orders to try, and for an exchanger, which holds nothing.
pub fn possible_contents(history: &History, id: OperationId, most: usize) -> Option<Vec<Possible>> {
    if !history.has_calls() || matches!(history.object(), Object::Exchanger | Object::Open) {
        return None;
    }
    let claim = claim(history);
    let element = history.operations().get(id.index())?.argument;
    let states = again::possible(claim, id, most)?;
    let mut all: Vec<(Vec<String>, Possible)> = states
        .into_iter()
        .map(|mut state| {
            let contents = state.contents(element);
            let shown = contents.iter().map(|piece| piece.show(history)).collect();
            (shown, Possible { contents, allows: state.run(history, id, claim.result(id)) })
        })
        .collect();
    all.sort_by(|(one, _), (other, _)| (one.len(), one).cmp(&(other.len(), other)));
    all.dedup_by(|(one, _), (other, _)| one == other);
    Some(all.into_iter().map(|(_, possible)| possible).collect())
}
