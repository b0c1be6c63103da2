//! Objects of one's own: a sequential specification, calls on it, and the verifier of what is claimed of them.
//!
//! Calls are linearizable if those that returned, and some of the pending ones, can be put into an order in which each comes
//! after all that returned before its call, and which the [specification](Sequential) can run with the results that were
//! returned. The evidence is the same as for the objects that are built in:
//! - for `consistent`, [`Evidence::Linearizations`]: one order for each [part](Sequential::part). It is run, call by call;
//! - for a violation, [`Core::Stuck`]: the call at whose return no order is left. What happened up to there is decided again,
//!   event by event, by the plainest search.
//!
//! In both, a call is named by its place in the list of calls. Specification and calls are all that the verifier trusts.
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

use std::collections::HashSet;
use std::hash::Hash;

use history::{History, OperationId, Outcome};
use thiserror::Error;

use crate::object::{Core, Linearization};
use crate::verify::{Place, fault};
use crate::{Certificate, Evidence, Model, Refusal, Verdict, digest};

/// What an object may do when nothing overlaps. This is all that one writes to have an object of one's own checked.
pub trait Sequential {
    /// What the object remembers.
    type State: Clone + Eq + Hash;
    /// What is called, with its arguments.
    type Operation: Eq + Hash;
    /// What comes back.
    type Return: Eq + Hash;

    /// The state before any call.
    fn initial(&self) -> Self::State;

    /// Every state that the operation may lead to from `state`, with what it returns then: one for a deterministic object
    /// (`Some(…)` will do), none if it cannot happen now (it would wait), several if the object may choose.
    fn steps(
        &self,
        state: &Self::State,
        operation: &Self::Operation,
    ) -> impl IntoIterator<Item = (Self::State, Self::Return)>;

    /// Which of several independent objects the operation is on. Each begins in the initial state, and no operation on
    /// one is seen by another: so each is checked alone, which is much faster.
    fn part(&self, operation: &Self::Operation) -> impl Eq + Hash {
        let _ = operation;
    }

    /// Whether an operation that returned this changes no state, whatever the state was. The search is faster if it is told.
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
    /// It did not return, or nobody knows how it ended: it may have taken effect at any time after its call, or never.
    Pending,
    /// It is known not to have happened.
    Failed,
}

/// A call with its moments. Moments are compared, nothing else: equal ones overlap.
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

    /// Whether it happened, or may have.
    pub const fn may_have_happened(&self) -> bool {
        !matches!(self.end, End::Failed)
    }
}

/// The calls of a specification.
pub type Calls<S> = [Timed<<S as Sequential>::Operation, <S as Sequential>::Return>];

/// One operation of a recorded history, as plain data: `[0] call deposit 5` and `[0] return ok` are the method `deposit`, the
/// argument `5` and the result `ok`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Recorded<'a> {
    /// The name of the method; of an object that is built in, the name that is printed.
    pub method: &'a str,
    /// The arguments.
    pub arguments: &'a [&'a str],
    /// The key, where the history has several objects.
    pub key: Option<&'a str>,
    /// What it returned; none if that is nothing, or it has not returned.
    pub result: Option<&'a str>,
}

/// Why a recorded history is not one of the calls of an object.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NotRead {
    /// No operation has a call and a return.
    #[error("linearizability speaks of calls and returns, and this history has none")]
    NoCalls,
    /// The reader does not know this operation, or what it returned.
    #[error("operation {}, on line {line}, is not one of the object: {text}", .operation.0)]
    Operation {
        /// Which.
        operation: OperationId,
        /// Its line in the file.
        line: u32,
        /// The operation as text.
        text: String,
    },
}

/// The calls of a recorded history: `read` tells what an operation is and, if it returned, what its result is, and none if it
/// is not one of the object. Calls stand in the places of their operations.
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
        // An operation without call and return lasts until right after its moment.
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

/// [`verify`] of a certificate about a recorded history: it must be of this history, and its calls are what `read` reads.
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

/// Whether the evidence proves the verdict about these calls.
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

/// What a certificate speaks of.
struct Claim<'a, S: Sequential> {
    specification: &'a S,
    calls: &'a Calls<S>,
}

/// A state, and which of the open calls have taken effect, sorted.
type Configuration<State> = (State, Vec<usize>);

/// More configurations than this at one return are not tried.
const MOST: usize = 4_000_000;

impl<S: Sequential> Claim<'_, S> {
    /// All states to which a call may lead, if it returns what it returned.
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
                    return fault(place, format!("call {} returned before an earlier one was called", id.0));
                }
                called = called.max(call.call);
                states = states.iter().flat_map(|state| self.run(state, id.index())).collect();
                if states.is_empty() {
                    return fault(place, format!("call {} cannot return what it returned there", id.0));
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
        // Calls come before the returns of the same moment: these overlap.
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

    /// Two calls that do and return the same. The one that returns first can go first.
    fn are_alike(&self, a: usize, b: usize) -> bool {
        let (one, other) = (&self.calls[a], &self.calls[b]);
        one.operation == other.operation && one.result() == other.result()
    }

    /// The open calls take effect in all orders until `at` has.
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
