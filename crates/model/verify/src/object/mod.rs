//! Verifies evidence about linearizability, against the history alone.
//!
//! A linearization is run on the sequential object ([`run`]), in linear time. A core is checked for what it claims
//! ([`core`]). Other operations hardly matter for a core: if a history is linearizable, it stays so without the
//! operations on some of the values. If only the operation at whose return no order is left is known, the verifier
//! decides again by the plainest search ([`again`]). Some objects are decided in a way of their own: a queue in
//! lockstep ([`lockstep`]), a stack level by level ([`levels`]), a set that only grows and is read as a whole block by
//! block ([`blocks`]), a max-register by ranks ([`largest`]), and strings and registers by the origins of what was seen
//! ([`origins`]). Stacks and priority queues are counted first ([`counts`]). What a linearization does step by step,
//! for a person to see, is in [`play`].

mod again;
mod blocks;
mod core;
mod counts;
mod largest;
mod levels;
mod lockstep;
mod origins;
pub(super) mod play;
mod run;

use std::collections::HashSet;

use history::{History, KeyId, Method, Object, OperationId, Outcome, Value};

use super::{Place, Refusal, fault};
use model::{Certificate, Evidence, Model, Verdict};

/// A moment after all others.
const END: u64 = u64::MAX - 2;

pub(super) fn verify(certificate: &Certificate, history: &History) -> Result<(), Refusal> {
    if !history.has_calls() && !history.operations().is_empty() {
        return fault(Place::Linearization, "the history has no calls and returns");
    }
    if model::specification::etcd::is_of(history) {
        let calls = model::specification::recorded(history, model::specification::etcd::read);
        let calls = calls.or_else(|error| fault(Place::Linearization, error.to_string()))?;
        let etcd = model::specification::etcd::Etcd::new(&calls);
        return crate::specification::verify(&etcd, &calls, certificate.verdict, &certificate.evidence);
    }
    if history.object() == Object::Open {
        return Err(Refusal::NotBuiltIn(history.object_name().to_owned()));
    }
    let claim = claim(history);
    match (certificate.verdict, &certificate.evidence) {
        (Verdict::Consistent, Evidence::Linearizations(orders)) if history.object() != Object::Exchanger => {
            run::verify(claim, orders)
        }
        (Verdict::Consistent, Evidence::Pairs(pairs)) if history.object() == Object::Exchanger => claim.pairs(pairs),
        (Verdict::Violation, Evidence::Core(core)) => core::verify(claim, core),
        (verdict, _) => Err(Refusal::WrongKind { model: Model::Linearizable, verdict }),
    }
}

/// A claim about a history with calls.
fn claim(history: &History) -> Claim<'_> {
    let reads_all = history.operations().iter().any(|operation| operation.method == Method::ReadAll);
    Claim { history, is_split: run::is_by_element(history.object()) && !reads_all }
}

/// The history that a certificate is about.
#[derive(Copy, Clone)]
struct Claim<'a> {
    history: &'a History,
    /// Whether each element of a set is an object of its own, because no operation reads the whole set.
    is_split: bool,
}

impl Claim<'_> {
    fn ids(self) -> impl Iterator<Item = OperationId> + use<> {
        (0..self.history.operations().len() as u32).map(OperationId)
    }

    /// Whether the operation exists and may have happened.
    fn may_have_happened(self, id: OperationId) -> bool {
        let operation = self.history.operations().get(id.index());
        operation.is_some_and(|operation| operation.outcome != Outcome::Fail && operation.method != Method::Fence)
    }

    fn has_returned(self, id: OperationId) -> bool {
        matches!(self.history.operation(id).outcome, Outcome::Ok | Outcome::Instant)
    }

    fn call(self, id: OperationId) -> u64 {
        2 * u64::from(self.history.moments()[id.index()][0])
    }

    /// The moment at which an operation returned; [`END`] if it has not. An operation that was recorded as one event
    /// lasts until the next event.
    fn ret(self, id: OperationId) -> u64 {
        match self.history.operation(id).outcome {
            Outcome::Ok => 2 * u64::from(self.history.moments()[id.index()][1]),
            Outcome::Instant => self.call(id) + 1,
            _ => END,
        }
    }

    /// The result of the operation; none if it is not known.
    fn result(self, id: OperationId) -> Value {
        if self.has_returned(id) { self.history.operation(id).result } else { Value::NONE }
    }

    /// The object that an operation is on: the key and, for a set that is not read as a whole, the element.
    fn group(self, id: OperationId) -> (KeyId, u64) {
        let operation = self.history.operation(id);
        let element = if self.is_split { operation.argument.bits() } else { 0 };
        (operation.key, element)
    }

    fn are_partners(self, one: OperationId, other: OperationId) -> bool {
        let agrees = |one: OperationId, other: OperationId| {
            !self.has_returned(one) || self.history.operation(one).result == self.history.operation(other).argument
        };
        one != other
            && self.history.operation(one).key == self.history.operation(other).key
            && agrees(one, other)
            && agrees(other, one)
            && self.call(one) < self.ret(other)
            && self.call(other) < self.ret(one)
    }

    fn pairs(self, pairs: &[[OperationId; 2]]) -> Result<(), Refusal> {
        let mut paired = HashSet::new();
        for &[one, other] in pairs {
            if !self.may_have_happened(one) || !self.may_have_happened(other) {
                return fault(Place::Linearization, "a pair has an operation that did not happen");
            }
            if !self.are_partners(one, other) {
                let what = format!("operations {} and {} cannot have exchanged their values", one.0, other.0);
                return fault(Place::Linearization, what);
            }
            if !paired.insert(one) || !paired.insert(other) {
                return fault(Place::Linearization, "an operation is in two pairs");
            }
        }
        let wants = |id: &OperationId| {
            self.may_have_happened(*id) && self.has_returned(*id) && self.history.operation(*id).result != Value::NULL
        };
        match self.ids().filter(wants).find(|id| !paired.contains(id)) {
            Some(id) => fault(Place::Linearization, format!("operation {} returned a value and is in no pair", id.0)),
            None => Ok(()),
        }
    }
}
