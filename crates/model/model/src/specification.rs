//! Objects of your own: a sequential specification, and calls on the object.
//!
//! Calls are linearizable if all calls that returned, and some of the pending calls, can be put into an order such that
//! - each call comes after all calls that returned before it was called, and
//! - the [specification](Sequential) can run the order, with the results that were returned.
//!
//! The crate `object` decides whether they are. The crate `verify` verifies the evidence.

pub mod etcd;

use std::hash::Hash;

use history::{History, OperationId, Outcome};
use thiserror::Error;

/// What an object may do if no two calls overlap. This is all that you write to have an object of your own checked.
pub trait Sequential {
    /// What the object remembers.
    type State: Clone + Eq + Hash;
    /// An operation: the method, with its arguments.
    type Operation: Eq + Hash;
    /// The result of an operation.
    type Return: Eq + Hash;

    /// The state before any call.
    fn initial(&self) -> Self::State;

    /// Every state that the operation may lead to from `state`, each with the result that it then returns. A
    /// deterministic object has one such step (`Some(…)` will do). There is none if the operation cannot happen in this
    /// state, because it would wait. There are several if the object may choose.
    fn steps(
        &self,
        state: &Self::State,
        operation: &Self::Operation,
    ) -> impl IntoIterator<Item = (Self::State, Self::Return)>;

    /// Which of several independent objects the operation is on. Each object begins in the initial state, and an
    /// operation on one does not change another. So each object is checked alone, which is much faster.
    fn part(&self, operation: &Self::Operation) -> impl Eq + Hash {
        let _ = operation;
    }

    /// Whether an operation that returned this result changes no state, whatever the state was. This is only a hint,
    /// which makes the search faster.
    fn observes(&self, operation: &Self::Operation, returned: &Self::Return) -> bool {
        let _ = (operation, returned);
        false
    }
}

/// How a call ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum End<R> {
    /// It returned at this moment, with this result.
    Returned(u64, R),
    /// It did not return, or it is not known how it ended. It may have taken effect at any time after its call, or
    /// never.
    Pending,
    /// It is known not to have happened.
    Failed,
}

/// A call with the moments at which it was called and returned. Moments are only compared with each other. Two calls
/// overlap if one is called at the moment at which the other returns.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Timed<O, R> {
    /// What was called.
    pub operation: O,
    /// When it was called.
    pub call: u64,
    /// How it ended.
    pub end: End<R>,
}

impl<O, R> Timed<O, R> {
    /// A call that returned.
    pub const fn returned(operation: O, [call, ret]: [u64; 2], result: R) -> Self {
        Self { operation, call, end: End::Returned(ret, result) }
    }

    /// A call that did not return.
    pub const fn pending(operation: O, call: u64) -> Self {
        Self { operation, call, end: End::Pending }
    }

    /// When it returned.
    pub const fn ret(&self) -> Option<u64> {
        match self.end {
            End::Returned(ret, _) => Some(ret),
            End::Pending | End::Failed => None,
        }
    }

    /// What it returned.
    pub const fn result(&self) -> Option<&R> {
        match &self.end {
            End::Returned(_, result) => Some(result),
            End::Pending | End::Failed => None,
        }
    }

    /// Whether the call happened, or may have happened.
    pub const fn may_have_happened(&self) -> bool {
        !matches!(self.end, End::Failed)
    }
}

/// The calls of a specification.
pub type Calls<S> = [Timed<<S as Sequential>::Operation, <S as Sequential>::Return>];

/// One operation of a recorded history, as plain data: the lines `[0] call deposit 5` and `[0] return ok` give the
/// method `deposit`, the argument `5` and the result `ok`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Recorded<'a> {
    /// The name of the method. For a built-in object, it is the name that is printed.
    pub method: &'a str,
    /// The arguments.
    pub arguments: &'a [&'a str],
    /// The key of the object, if the history has several objects.
    pub key: Option<&'a str>,
    /// The result; none if the operation returned nothing, or has not returned.
    pub result: Option<&'a str>,
}

/// Why the calls of an object cannot be read from a recorded history.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NotRead {
    /// No operation has a call and a return.
    #[error("linearizability is about calls and returns, and this history has none")]
    NoCalls,
    /// The reader does not know this operation, or what it returned.
    #[error("operation {}, on line {line}, is not one of the object: {text}", .operation.0)]
    Operation {
        /// The operation.
        operation: OperationId,
        /// Its line in the file.
        line: u32,
        /// The operation as text.
        text: String,
    },
}

/// The calls of a recorded history. `read` turns a recorded operation into an operation of the specification and, if it
/// returned, its result. `read` gives none for an operation that the object does not have. The calls are in the order
/// of the recorded operations.
pub fn recorded<O, R>(
    history: &History,
    mut read: impl FnMut(&Recorded) -> Option<(O, Option<R>)>,
) -> Result<Vec<Timed<O, R>>, NotRead> {
    if !history.has_calls() && !history.operations().is_empty() {
        return Err(NotRead::NoCalls);
    }
    let words = history.words();
    let mut calls = Vec::with_capacity(history.operations().len());
    for (at, operation) in history.operations().iter().enumerate() {
        let id = OperationId(at as u32);
        let texts: Vec<String> = history.arguments(id).map(|argument| words.canonical(argument)).collect();
        let key = history.key_name(operation.key);
        let result = words.canonical(operation.result);
        let recorded = Recorded {
            method: history.method_name(id),
            arguments: &texts.iter().map(String::as_str).collect::<Vec<_>>(),
            key: Some(&*key).filter(|_| operation.key != history::KeyId::NONE),
            result: Some(&*result).filter(|_| operation.result.is_some()),
        };
        let unknown = || NotRead::Operation {
            operation: id,
            line: operation.line,
            text: [&[history.method_name(id)], &*texts.iter().map(String::as_str).collect::<Vec<_>>()]
                .concat()
                .join(" "),
        };
        let (operation_read, result) = read(&recorded).ok_or_else(unknown)?;
        // An operation without call and return lasts from its moment until right after it.
        let [call, ret] = history.moments()[at].map(|moment| 2 * u64::from(moment));
        let end = match operation.outcome {
            Outcome::Ok => End::Returned(ret, result.ok_or_else(unknown)?),
            Outcome::Instant => End::Returned(call + 1, result.ok_or_else(unknown)?),
            Outcome::Info | Outcome::Pending => End::Pending,
            Outcome::Fail => End::Failed,
        };
        calls.push(Timed { operation: operation_read, call, end });
    }
    Ok(calls)
}
