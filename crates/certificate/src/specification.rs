//! Objects of your own: a sequential specification, calls on the object, and the verifier of evidence about the calls.
//!
//! Calls are linearizable if all calls that returned, and some of the pending calls, can be put into an order such that
//! - each call comes after all calls that returned before it was called, and
//! - the [specification](Sequential) can run the order, with the results that were returned.
//!
//! The evidence is the same as for the built-in objects:
//! - for `consistent`, [`Evidence::Linearizations`]: one order for each [part](Sequential::part). The verifier runs it,
//!   call by call;
//! - for a violation, [`Core::Stuck`]: the call at whose return no order is left. The verifier decides again what
//!   happened up to that return, event by event, by the plainest search.
//!
//! The evidence names a call by its place in the list of calls. The verifier trusts only the specification and the
//! calls.
//!
//! ```
//! use certificate::object::Linearization;
//! use certificate::specification::{End, Sequential, Timed, verify};
//! use certificate::{Evidence, Verdict};
//! use history::OperationId;
//!
//! /// A counter: `Some(n)` adds n, `None` returns the sum.
//! struct Counter;
//!
//! impl Sequential for Counter {
//!     type State = i64;
//!     type Operation = Option<i64>;
//!     type Return = i64;
//!
//!     fn initial(&self) -> i64 {
//!         0
//!     }
//!
//!     fn steps(&self, sum: &i64, added: &Option<i64>) -> impl IntoIterator<Item = (i64, i64)> {
//!         [(sum + added.unwrap_or(0), if added.is_some() { 0 } else { *sum })]
//!     }
//! }
//!
//! // The call that adds 5 lasts from 0 to 3. The sum is asked for from 1 to 2, and is 5.
//! let calls = [Timed::returned(Some(5), [0, 3], 0), Timed::returned(None, [1, 2], 5)];
//! let order = |order: [u32; 2]| {
//!     let order = order.map(OperationId).to_vec();
//!     Evidence::Linearizations(vec![Linearization { order, results: Vec::new() }])
//! };
//! assert!(verify(&Counter, &calls, Verdict::Consistent, &order([0, 1])).is_ok());
//! assert!(verify(&Counter, &calls, Verdict::Consistent, &order([1, 0])).is_err());
//! ```

pub mod etcd;

use std::collections::HashSet;
use std::hash::Hash;

use history::{History, OperationId, Outcome};
use thiserror::Error;

use crate::object::{Core, Linearization};
use crate::verify::{Place, fault};
use crate::{Certificate, Evidence, Model, Refusal, Verdict, digest};

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
    let mut calls = Vec::with_capacity(history.operations().len());
    for (at, operation) in history.operations().iter().enumerate() {
        let id = OperationId(at as u32);
        let texts: Vec<String> = history.arguments(id).map(|argument| history.show(argument)).collect();
        let key = history.key_name(operation.key);
        let result = history.show(operation.result);
        let recorded = Recorded {
            method: history.method_name(id),
            arguments: &texts.iter().map(String::as_str).collect::<Vec<_>>(),
            key: Some(&*key).filter(|_| operation.key != history::KeyId::NONE),
            result: Some(&*result).filter(|_| operation.result.is_some()),
        };
        let unknown = || NotRead::Operation {
            operation: id,
            line: operation.line,
            text: history::format::render_operation(history, id),
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

/// Verifies a certificate about a recorded history. The certificate must be about this history. `read` reads its calls,
/// as in [`recorded`].
pub fn verify_recorded<S: Sequential>(
    specification: &S,
    read: impl FnMut(&Recorded) -> Option<(S::Operation, Option<S::Return>)>,
    certificate: &Certificate,
    history: &History,
) -> Result<(), Refusal> {
    let actual = digest(history);
    if certificate.digest != actual {
        return Err(Refusal::OtherHistory { claimed: certificate.digest.clone(), actual });
    }
    let Certificate { model, verdict, ref evidence, .. } = *certificate;
    if model != Model::Linearizable {
        return Err(Refusal::WrongKind { model, verdict });
    }
    let calls = recorded(history, read).or_else(|error| fault(Place::Linearization, error.to_string()))?;
    verify(specification, &calls, verdict, evidence)
}

/// Verifies that the evidence proves the verdict about these calls.
pub fn verify<S: Sequential>(
    specification: &S,
    calls: &Calls<S>,
    verdict: Verdict,
    evidence: &Evidence,
) -> Result<(), Refusal> {
    let claim = Claim { specification, calls };
    match (verdict, evidence) {
        (Verdict::Consistent, Evidence::Linearizations(orders)) => claim.orders(orders),
        (Verdict::Violation, Evidence::Core(Core::Stuck(blamed))) => claim.stuck(*blamed),
        (verdict, _) => Err(Refusal::WrongKind { model: Model::Linearizable, verdict }),
    }
}

/// The specification and the calls that the evidence is about.
struct Claim<'a, S: Sequential> {
    specification: &'a S,
    calls: &'a Calls<S>,
}

/// A configuration: a state, and the open calls that have taken effect, sorted.
type Configuration<State> = (State, Vec<usize>);

/// The most configurations that are tried at one return.
const MOST: usize = 4_000_000;

impl<S: Sequential> Claim<'_, S> {
    /// All states to which a call may lead with the result that it returned.
    fn run(&self, state: &S::State, at: usize) -> impl Iterator<Item = S::State> {
        let Timed { operation, end, .. } = &self.calls[at];
        let fits = move |returned: &S::Return| match end {
            End::Returned(_, result) => result == returned,
            End::Pending | End::Failed => true,
        };
        self.specification.steps(state, operation).into_iter().filter(move |(_, returned)| fits(returned)).map(|s| s.0)
    }

    fn orders(&self, orders: &[Linearization]) -> Result<(), Refusal> {
        let place = Place::Linearization;
        let mut seen = vec![false; self.calls.len()];
        let mut parts = HashSet::new();
        for Linearization { order, results } in orders {
            let Some(first) = order.first().and_then(|id| self.calls.get(id.index())) else { continue };
            let part = || self.specification.part(&first.operation);
            if !parts.insert(part()) {
                return fault(place, "there are two orders of the calls on one object");
            }
            if !results.is_empty() {
                return fault(place, "the results of calls on an object of one's own are not to choose");
            }
            let mut states = HashSet::from([self.specification.initial()]);
            let mut called = 0;
            for id in order {
                let Some(call) = self.calls.get(id.index()).filter(|call| call.may_have_happened()) else {
                    return fault(place, format!("call {} did not happen", id.0));
                };
                if self.specification.part(&call.operation) != part() {
                    return fault(place, format!("call {} is on another object", id.0));
                }
                if std::mem::replace(&mut seen[id.index()], true) {
                    return fault(place, format!("call {} takes effect twice", id.0));
                }
                if call.ret().is_some_and(|ret| ret < called) {
                    let what = "returned before the call of an operation that stands before it";
                    return fault(place, format!("call {} {what}", id.0));
                }
                called = called.max(call.call);
                states = states.iter().flat_map(|state| self.run(state, id.index())).collect();
                if states.is_empty() {
                    return fault(place, format!("call {} cannot return its result at its place in the order", id.0));
                }
            }
        }
        match (0..seen.len()).find(|&at| !seen[at] && self.calls[at].ret().is_some()) {
            Some(at) => fault(place, format!("call {at} returned and is in no order")),
            None => Ok(()),
        }
    }

    fn stuck(&self, blamed: OperationId) -> Result<(), Refusal> {
        let Some((call, limit)) = self.calls.get(blamed.index()).and_then(|call| Some((call, call.ret()?))) else {
            return fault(Place::Core, "the call did not return");
        };
        let part = self.specification.part(&call.operation);
        // Calls come before the returns of the same moment, because the two overlap.
        let mut events: Vec<(u64, bool, usize)> = Vec::new();
        for (at, call) in self.calls.iter().enumerate() {
            if call.may_have_happened() && call.call <= limit && self.specification.part(&call.operation) == part {
                events.push((call.call, false, at));
                events.extend(call.ret().filter(|&ret| ret <= limit).map(|ret| (ret, true, at)));
            }
        }
        events.sort_unstable();
        let mut open: Vec<usize> = Vec::new();
        let mut configurations = HashSet::from([(self.specification.initial(), Vec::new())]);
        for (_, is_return, at) in events {
            if is_return {
                configurations = self.let_return(configurations, &open, at)?;
                open.retain(|&other| other != at);
            } else {
                open.push(at);
            }
            if configurations.is_empty() {
                return Ok(());
            }
        }
        fault(Place::Core, "the call can return: there is an order of what happened up to there")
    }

    /// Whether two calls have the same operation and result. Then the one that returns first can take effect first.
    fn are_alike(&self, a: usize, b: usize) -> bool {
        let (one, other) = (&self.calls[a], &self.calls[b]);
        one.operation == other.operation && one.result() == other.result()
    }

    /// Lets the open calls take effect in all orders, until the call `at` has.
    fn let_return(
        &self,
        configurations: HashSet<Configuration<S::State>>,
        open: &[usize],
        at: usize,
    ) -> Result<HashSet<Configuration<S::State>>, Refusal> {
        let key = |at: usize| (self.calls[at].ret().unwrap_or(u64::MAX), at);
        let (mut after, mut seen) = (HashSet::new(), HashSet::new());
        let mut left: Vec<Configuration<S::State>> = configurations.into_iter().collect();
        while let Some((state, mut taken)) = left.pop() {
            if let Ok(place) = taken.binary_search(&at) {
                taken.remove(place);
                after.insert((state, taken));
                continue;
            }
            if seen.len() + after.len() > MOST {
                return fault(Place::Core, "there are too many orders to decide again whether the call can return");
            }
            if !seen.insert((state.clone(), taken.clone())) {
                continue;
            }
            let free: Vec<usize> = open.iter().copied().filter(|at| taken.binary_search(at).is_err()).collect();
            let is_behind = |at: usize| free.iter().any(|&other| key(other) < key(at) && self.are_alike(other, at));
            for &next in free.iter().filter(|&&at| !is_behind(at)) {
                let mut taken = taken.clone();
                taken.insert(taken.partition_point(|&other| other < next), next);
                left.extend(self.run(&state, next).map(|state| (state, taken.clone())));
            }
        }
        Ok(after)
    }
}
