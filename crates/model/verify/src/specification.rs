//! Objects of your own: the verifier of evidence about calls on them.
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
//! use model::object::Linearization;
//! use model::specification::{End, Sequential, Timed};
//! use model::{Evidence, Verdict};
//! use verify::specification::verify;
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

use history::{History, OperationId};
use model::object::{Core, Linearization};
use model::specification::{Calls, End, Recorded, Sequential, Timed, recorded};
use model::{Certificate, Evidence, Model, Verdict, digest};

use crate::{Place, Refusal, fault};

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
