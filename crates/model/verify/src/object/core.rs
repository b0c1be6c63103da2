//! Verifies the core of a violation: a few operations that no linearization can have together, whatever the others do.
//!
//! A core names what it is about, such as an insert and two removals of its value. What a core says of the rest of the
//! history, that nobody else inserts a value, say, is looked up in the whole history.

use std::collections::HashMap;

use history::{KeyId, Method, Object, OperationId, Value};

use super::super::{Place, Refusal, fault};
use super::run::priority;
use super::{Claim, END, again};
use model::object::{Core, Stay, Zone};

/// The moments of a stay. The value is certainly inside from the first return of its operations to their last call.
#[derive(Clone)]
struct Times {
    insert_call: u64,
    /// The first return.
    insert_return: u64,
    /// The last call.
    remove_call: u64,
    remove_return: u64,
    /// The first moment at which the value has certainly been in front: the first return of a peek or of the removal.
    next_return: u64,
    /// The calls and returns of its peeks, after the insert was called and before the removal returned.
    peeks: Vec<[u64; 2]>,
}

const fn is_insertion(method: Method) -> bool {
    matches!(method, Method::Enqueue | Method::Push | Method::Insert)
}

const fn is_removal(method: Method) -> bool {
    matches!(method, Method::Dequeue | Method::Pop | Method::DeleteMax)
}

/// Whether an operation of this method writes or inserts its argument.
const fn brings(method: Method) -> bool {
    is_insertion(method) || matches!(method, Method::Write | Method::Cas | Method::Rmw)
}

pub(super) fn verify(claim: Claim, core: &Core) -> Result<(), Refusal> {
    let checker = CoreCheck { claim };
    match core {
        Core::NeverInserted(id) => checker.never_inserted(*id),
        Core::RemovedTwice { insert, removes } => checker.removed_twice(*insert, *removes),
        Core::TooEarly { insert, remove } => checker.too_early(*insert, *remove),
        Core::TooLate { insert, remove, peek } => checker.too_late(*insert, *remove, *peek),
        Core::Circle(stays) => checker.circle(stays),
        Core::Overtaken { first, second } => checker.overtaken(first, second),
        Core::Covered { removal, by } => checker.covered(*removal, by),
        Core::Tangled(stays) => checker.tangled(stays),
        Core::Zones([first, second]) => checker.zones(first, second),
        Core::Unpaired(id) => checker.unpaired(*id),
        Core::Stuck(id) => again::stuck(claim, *id, again::MOST),
    }
}

fn bad<T>(what: impl Into<String>) -> Result<T, Refusal> {
    fault(Place::Core, what)
}

struct CoreCheck<'a> {
    claim: Claim<'a>,
}

impl CoreCheck<'_> {
    fn object(&self, wanted: Object) -> Result<(), Refusal> {
        let object = self.claim.history.object();
        let fits = object == wanted || (object == Object::Memory && wanted == Object::Register);
        if fits { Ok(()) } else { bad(format!("such a core proves nothing about a {}", object.name())) }
    }

    fn key(&self, id: OperationId) -> KeyId {
        self.claim.history.operation(id).key
    }

    /// The value that an operation returned. The operation read, saw or removed it.
    fn returned(&self, id: OperationId) -> Result<Value, Refusal> {
        if !self.claim.may_have_happened(id) || !self.claim.has_returned(id) {
            return bad(format!("operation {} did not return", id.0));
        }
        let operation = self.claim.history.operation(id);
        let reads = matches!(operation.method, Method::Read | Method::Rmw);
        let sees = is_removal(operation.method) || operation.method == Method::Peek;
        if (sees && operation.result != Value::EMPTY) || reads {
            Ok(operation.result)
        } else {
            bad(format!("operation {} returned no value", id.0))
        }
    }

    /// The operations that write or insert a value. (The initial value of a register needs none.)
    fn sources(&self, key: KeyId, value: Value) -> impl Iterator<Item = OperationId> {
        let claim = self.claim;
        claim.ids().filter(move |&id| {
            let operation = claim.history.operation(id);
            operation.argument == value
                && operation.key == key
                && claim.may_have_happened(id)
                && brings(operation.method)
        })
    }

    fn is_initial(&self, key: KeyId, value: Value) -> bool {
        let history = self.claim.history;
        matches!(history.object(), Object::Memory | Object::Register) && history.initial_value(key) == value
    }

    /// Checks that only `insert` writes or inserts the value.
    fn only_source(&self, key: KeyId, value: Value, insert: OperationId) -> Result<(), Refusal> {
        if self.is_initial(key, value) || !self.sources(key, value).eq([insert]) {
            return bad(format!("operation {} is not the only source of its value", insert.0));
        }
        Ok(())
    }

    fn never_inserted(&self, id: OperationId) -> Result<(), Refusal> {
        let value = self.returned(id)?;
        let key = self.key(id);
        if self.is_initial(key, value) || self.sources(key, value).any(|source| source != id) {
            return bad("the value has a source");
        }
        Ok(())
    }

    fn removed_twice(&self, insert: OperationId, removes: [OperationId; 2]) -> Result<(), Refusal> {
        let value = self.returned(removes[0])?;
        let key = self.key(removes[0]);
        if self.returned(removes[1])? != value || self.key(removes[1]) != key || removes[0] == removes[1] {
            return bad("these are not two removals of one value");
        }
        if !removes.iter().all(|&id| is_removal(self.claim.history.operation(id).method)) {
            return bad("these are not both removals");
        }
        self.only_source(key, value, insert)
    }

    fn too_early(&self, insert: OperationId, remove: OperationId) -> Result<(), Refusal> {
        let value = self.returned(remove)?;
        self.only_source(self.key(remove), value, insert)?;
        if self.claim.ret(remove) < self.claim.call(insert) {
            Ok(())
        } else {
            bad("the value was not returned too early")
        }
    }

    fn too_late(&self, insert: OperationId, remove: OperationId, peek: OperationId) -> Result<(), Refusal> {
        let value = self.returned(peek)?;
        let key = self.key(peek);
        if self.returned(remove)? != value || self.key(remove) != key {
            return bad("these are not operations on one value");
        }
        let methods = [remove, peek].map(|id| self.claim.history.operation(id).method);
        if !is_removal(methods[0]) || methods[1] != Method::Peek {
            return bad("these are not a removal and a peek");
        }
        self.only_source(key, value, insert)?;
        if self.claim.ret(remove) < self.claim.call(peek) { Ok(()) } else { bad("the value was not seen too late") }
    }

    /// The moments of stays. Checks that they are stays of different values in one container.
    fn times(&self, key: KeyId, stays: &[Stay]) -> Result<Vec<Times>, Refusal> {
        let claim = self.claim;
        let mut values: HashMap<Value, usize> = HashMap::new();
        for (at, stay) in stays.iter().enumerate() {
            let may_be = claim.may_have_happened(stay.insert);
            let operation = claim.history.operations().get(stay.insert.index()).filter(|_| may_be);
            let Some(operation) = operation.filter(|operation| is_insertion(operation.method) && operation.key == key)
            else {
                return bad(format!("operation {} is not an insertion into this object", stay.insert.0));
            };
            if values.insert(operation.argument, at).is_some() {
                return bad("two stays have the same value");
            }
            for (id, is_peek) in stay.peeks.iter().map(|&id| (id, true)).chain(stay.remove.map(|id| (id, false))) {
                let is_on_value = self.returned(id)? == operation.argument && self.key(id) == key;
                let method = claim.history.operation(id).method;
                if !is_on_value || (method == Method::Peek) != is_peek {
                    return bad(format!("operation {} does not remove or see the value of its stay", id.0));
                }
            }
            if stay.remove.is_none() && stay.peeks.is_empty() && !claim.has_returned(stay.insert) {
                return bad(format!("operation {} is pending, and nobody returned its value", stay.insert.0));
            }
        }
        let mut pending = END;
        for id in claim.ids().filter(|&id| claim.may_have_happened(id)) {
            let operation = claim.history.operation(id);
            if operation.key != key {
                continue;
            }
            if is_insertion(operation.method) {
                if values.get(&operation.argument).is_some_and(|&at| stays[at].insert != id) {
                    return bad("a value is inserted more than once");
                }
            } else if is_removal(operation.method) && !claim.has_returned(id) {
                pending = pending.min(claim.call(id));
            } else if is_removal(operation.method)
                && values.get(&operation.result).is_some_and(|&at| stays[at].remove.is_none())
            {
                return bad(format!("operation {} removes a value that is said to stay", id.0));
            }
        }
        let times = |stay: &Stay| {
            let insert_call = claim.call(stay.insert);
            let (remove_call, remove_return) =
                stay.remove.map_or((pending, END + 1), |remove| (claim.call(remove), claim.ret(remove)));
            let peeks = || stay.peeks.iter().map(|&id| [claim.call(id), claim.ret(id)]);
            let next_return = peeks().map(|[_, ret]| ret).fold(remove_return, u64::min);
            Times {
                insert_call,
                insert_return: claim.ret(stay.insert).min(next_return),
                remove_call: peeks().map(|[call, _]| call).fold(remove_call.max(insert_call), u64::max),
                remove_return,
                next_return,
                peeks: peeks().map(|[call, ret]| [call.max(insert_call), ret.min(remove_return)]).collect(),
            }
        };
        Ok(stays.iter().map(times).collect())
    }

    fn overtaken(&self, first: &Stay, second: &Stay) -> Result<(), Refusal> {
        self.object(Object::Queue)?;
        if !self.claim.may_have_happened(first.insert) {
            return bad("the first insertion did not happen");
        }
        let times = self.times(self.key(first.insert), &[first.clone(), second.clone()])?;
        let (a, b) = (&times[0], &times[1]);
        if a.insert_return < b.insert_call && b.next_return < a.remove_call {
            Ok(())
        } else {
            bad("the second value does not overtake the first")
        }
    }

    fn circle(&self, stays: &[Stay]) -> Result<(), Refusal> {
        self.object(Object::Queue)?;
        let Some(first) = stays.first().filter(|stay| stays.len() > 1 && self.claim.may_have_happened(stay.insert))
        else {
            return bad("a circle needs at least two values that were inserted");
        };
        let times = self.times(self.key(first.insert), stays)?;
        let comes_before = |a: &Times, b: &Times| a.insert_return < b.insert_call || a.next_return < b.remove_call;
        if times.iter().zip(times.iter().cycle().skip(1)).all(|(a, b)| comes_before(a, b)) {
            Ok(())
        } else {
            bad("a value need not come before the next")
        }
    }

    fn covered(&self, removal: OperationId, by: &[Stay]) -> Result<(), Refusal> {
        let (claim, history) = (self.claim, self.claim.history);
        if !claim.may_have_happened(removal) || !claim.has_returned(removal) {
            return bad("the removal did not return");
        }
        let operation = history.operation(removal);
        let (mut reached, mut end) = (claim.call(removal), claim.ret(removal));
        if !is_removal(operation.method) && operation.method != Method::Peek {
            return bad("the operation is not a removal or a peek");
        }
        if operation.result != Value::EMPTY {
            self.object(Object::PriorityQueue)?;
            let largest = |stay: &Stay| {
                let argument = history.operations().get(stay.insert.index()).map(|operation| operation.argument);
                argument.and_then(|value| priority(history, value)) > priority(history, operation.result)
            };
            if !by.iter().all(largest) {
                return bad("a value that is not larger cannot cover the removal");
            }
            // The removal cannot take effect before the value can have been inserted.
            let sources: Vec<OperationId> = self.sources(operation.key, operation.result).collect();
            reached = reached.max(sources.iter().map(|&id| claim.call(id)).min().unwrap_or(0));
            // The value was inserted once, so no peek of it comes after its removal.
            let others = claim.ids().filter(|&id| {
                let other = history.operation(id);
                sources.len() == 1
                    && other.key == operation.key
                    && other.result == operation.result
                    && claim.may_have_happened(id)
                    && claim.has_returned(id)
                    && (other.method == Method::Peek) != (operation.method == Method::Peek)
            });
            for other in others {
                match operation.method {
                    Method::Peek => end = end.min(claim.ret(other)),
                    _ => reached = reached.max(claim.call(other)),
                }
            }
        }
        for times in self.times(operation.key, by)? {
            if times.insert_return >= reached || times.remove_call <= reached {
                return bad("there is a moment at which none of the values is certainly inside");
            }
            reached = times.remove_call;
        }
        if reached >= end { Ok(()) } else { bad("the values do not cover the whole time of the removal") }
    }

    /// Checks that the stays cannot be nested. This is the plainest form of the algorithm: it looks at all gaps and all
    /// values again, as long as something changes.
    fn tangled(&self, stays: &[Stay]) -> Result<(), Refusal> {
        self.object(Object::Stack)?;
        let Some(first) = stays.first().filter(|stay| self.claim.may_have_happened(stay.insert)) else {
            return bad("there is no value that was inserted");
        };
        let mut left = self.times(self.key(first.insert), stays)?;
        let mut moments: Vec<u64> = left
            .iter()
            .flat_map(|times| {
                let ends = [times.insert_call, times.insert_return, times.remove_call, times.remove_return];
                ends.into_iter().chain(times.peeks.iter().flatten().copied())
            })
            .chain([END + 1])
            .collect();
        moments.sort_unstable();
        moments.dedup();
        // Gap `g` is between the moments `g` and `g + 1`.
        let at = |moment: u64| moments.partition_point(|&other| other < moment);
        loop {
            let mut change = vec![0_i64; moments.len() + 1];
            for times in left.iter().filter(|times| times.insert_return < times.remove_call) {
                change[at(times.insert_return)] += 1;
                change[at(times.remove_call)] -= 1;
            }
            // For each moment: how many gaps before it have no value certainly inside, and how many only one.
            let mut before: [Vec<u32>; 2] = Default::default();
            let (mut counts, mut depth) = ([0; 2], 0);
            for (gap, _) in moments.iter().enumerate() {
                depth += change[gap];
                for (inside, count) in counts.iter_mut().enumerate() {
                    before[inside].push(*count);
                    *count += u32::from(depth == inside as i64);
                }
            }
            let has =
                |inside: usize, from: u64, to: u64| from < to && before[inside][at(to)] > before[inside][at(from)];
            // When a value is seen, it is inside itself, so one value inside is allowed.
            let can_be_seen = |times: &Times, &[from, to]: &[u64; 2]| {
                let (enter, leave) = (times.insert_return, times.remove_call.max(times.insert_return));
                has(0, from, to.min(enter)) || has(0, from.max(leave), to) || has(1, from.max(enter), to.min(leave))
            };
            let before = left.len();
            left.retain(|times| {
                let can_go = has(0, times.insert_call, times.insert_return)
                    && has(0, times.remove_call, times.remove_return)
                    && times.peeks.iter().all(|peek| can_be_seen(times, peek));
                !can_go
            });
            if left.iter().all(|times| times.insert_return > times.remove_call) {
                return bad("the values can be nested");
            }
            if left.len() == before {
                return Ok(());
            }
        }
    }

    /// The value of a zone, the moment at which one of its operations returned, and the moment at which one was called.
    fn zone(&self, key: KeyId, zone: &Zone) -> Result<(Value, i128, i128), Refusal> {
        let (claim, history) = (self.claim, self.claim.history);
        let value = match zone.write {
            // A compare-and-swap may have written nothing.
            Some(write)
                if claim.may_have_happened(write)
                    && self.key(write) == key
                    && history.operation(write).method == Method::Write =>
            {
                let value = history.operation(write).argument;
                self.only_source(key, value, write)?;
                value
            }
            Some(write) => return bad(format!("operation {} is not a write of this register", write.0)),
            None => {
                let value = history.initial_value(key);
                if self.sources(key, value).next().is_some() {
                    return bad("the initial value is also written");
                }
                value
            }
        };
        let is_on_value = |id: OperationId| {
            claim.may_have_happened(id)
                && self.key(id) == key
                && (Some(id) == zone.write || self.returned(id).is_ok_and(|returned| returned == value))
        };
        let returned = match zone.returned {
            Some(id) if is_on_value(id) => i128::from(claim.ret(id)),
            None if zone.write.is_none() => -1,
            _ => return bad("the operation that returned first is not on the value"),
        };
        if !is_on_value(zone.called) {
            return bad("the operation that was called last is not on the value");
        }
        // A pending write that nobody read need not have happened.
        let ids = [zone.returned, Some(zone.called)];
        let is_read = ids.into_iter().flatten().any(|id| Some(id) != zone.write);
        if !is_read && zone.write.is_some_and(|write| !claim.has_returned(write)) {
            return bad("the write is pending, and nobody read it");
        }
        Ok((value, returned, i128::from(claim.call(zone.called))))
    }

    fn zones(&self, first: &Zone, second: &Zone) -> Result<(), Refusal> {
        self.object(Object::Register)?;
        if !self.claim.may_have_happened(first.called) {
            return bad("the operation that was called last did not happen");
        }
        let key = self.key(first.called);
        let (a, a_returned, a_called) = self.zone(key, first)?;
        let (b, b_returned, b_called) = self.zone(key, second)?;
        if a != b && a_returned < b_called && b_returned < a_called {
            Ok(())
        } else {
            bad("the values can stand one after the other")
        }
    }

    fn unpaired(&self, id: OperationId) -> Result<(), Refusal> {
        self.object(Object::Exchanger)?;
        let claim = self.claim;
        if !claim.may_have_happened(id) || !claim.has_returned(id) || claim.history.operation(id).result == Value::NULL
        {
            return bad("the exchange did not return a value");
        }
        if claim.ids().any(|other| claim.may_have_happened(other) && claim.are_partners(id, other)) {
            return bad("there is an exchange that can be the partner");
        }
        Ok(())
    }
}
