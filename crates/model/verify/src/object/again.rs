//! Decides again whether an operation can return, given all that happened before. The search keeps the set of all
//! configurations, event by event.
//!
//! A configuration is the state of the object, and which of the open operations have taken effect. When an operation
//! returns, it must have taken effect. So the open operations take effect in all orders, until it has. Two rules save
//! time: an operation that changes nothing takes effect as soon as it can; and of two operations with the same method,
//! argument and result, the one that returns first takes effect first.

use std::collections::{BTreeSet, HashSet};

use history::{Method, Object, OperationId, Value};

use super::super::{Place, Refusal, fault};
use super::run::{State, changes_nothing};
use super::{Claim, blocks, counts, largest, levels, lockstep, origins};

/// The most states that are tried, in a search or at one return.
pub(super) const MOST: usize = 4_000_000;

pub(super) const TOO_MANY: &str = "there are too many orders to decide again whether the operation can return";
pub(super) const CAN_RETURN: &str = "the operation can return: there is an order of what happened up to there";

#[derive(Clone, PartialEq, Eq, Hash)]
struct Configuration {
    state: State,
    /// The open operations that have taken effect, sorted.
    taken: Vec<OperationId>,
}

/// Checks that no order is left when the blamed operation returns. Tries `most` states at most.
pub(super) fn stuck(claim: Claim, blamed: OperationId, most: usize) -> Result<(), Refusal> {
    if !claim.may_have_happened(blamed) || !claim.has_returned(blamed) {
        return fault(Place::Core, "the operation did not return");
    }
    match claim.history.object() {
        Object::Exchanger => return exchanges(claim, blamed),
        Object::Queue => return lockstep::stuck(claim, blamed, most),
        Object::Stack if counts::stack_has_no_order(claim, blamed) => return Ok(()),
        Object::Stack => return levels::stuck(claim, blamed, most),
        _ => {}
    }
    let group = claim.group(blamed);
    let limit = claim.ret(blamed);
    let mut members: Vec<OperationId> =
        claim.ids().filter(|&id| claim.may_have_happened(id) && claim.group(id) == group).collect();
    let decided = match claim.history.object() {
        Object::Set if !claim.is_split => blocks::have_no_order(claim, &members, limit),
        Object::MaxRegister => largest::have_no_order(claim, &members, limit),
        Object::PriorityQueue if counts::priority_queue_has_no_order(claim, &members, limit) => Some(true),
        _ => None,
    };
    match decided {
        Some(true) => return Ok(()),
        Some(false) => return fault(Place::Core, CAN_RETURN),
        None => {}
    }
    if claim.history.object() == Object::Set && !claim.is_split {
        let named = named(claim, &members);
        members.retain(|&id| claim.has_returned(id) || named.contains(&claim.history.operation(id).argument.bits()));
    }
    if origins::have_no_order(claim, &members, limit) == Some(true) {
        return Ok(());
    }
    let mut events: Vec<(u64, OperationId)> = Vec::new();
    for &id in &members {
        events.extend([(claim.call(id), id), (claim.ret(id), id)].into_iter().filter(|(moment, _)| *moment <= limit));
    }
    events.sort_unstable();
    let mut search = Again { claim, open: Vec::new(), most };
    let start = Configuration { state: State::new(claim, group.0), taken: Vec::new() };
    let mut configurations = HashSet::from([start]);
    for (moment, id) in events {
        configurations = if moment == claim.call(id) {
            search.open.push(id);
            search.open.sort_by_key(|&id| (claim.ret(id), id));
            let observed = configurations.into_iter().map(|configuration| search.observe(configuration));
            observed.collect()
        } else {
            let after = search.let_return(configurations, id)?;
            search.open.retain(|&open| open != id);
            after
        };
        if configurations.is_empty() {
            return Ok(());
        }
    }
    fault(Place::Core, CAN_RETURN)
}

/// The elements that matter in a set that is read as a whole: those that some operation saw, and the arguments of all
/// operations but pending additions. A pending addition of any other element can be ignored, since no operation would
/// notice it.
fn named(claim: Claim, members: &[OperationId]) -> HashSet<u64> {
    let history = claim.history;
    let mut named = HashSet::new();
    for &id in members {
        let operation = history.operation(id);
        if operation.method == Method::ReadAll && claim.has_returned(id) {
            named.extend(history.elements(operation.result).iter().map(|element| element.bits()));
        } else if operation.method != Method::Add || claim.has_returned(id) {
            named.insert(operation.argument.bits());
        }
    }
    named
}

/// All states of the object between the call and the return of an operation, before the operation itself takes effect.
/// The open operations take effect in all orders. None if there are more than `most` of them at one event.
pub(super) fn possible(claim: Claim, id: OperationId, most: usize) -> Option<Vec<State>> {
    let group = claim.group(id);
    let [begin, end] = [claim.call(id), claim.ret(id)];
    let mut events: Vec<(u64, OperationId)> = Vec::new();
    for other in claim.ids().filter(|&other| claim.may_have_happened(other) && claim.group(other) == group) {
        let both = [(claim.call(other), other), (claim.ret(other), other)];
        events.extend(both.into_iter().filter(|&(moment, _)| moment <= end && (moment, other) != (end, id)));
    }
    events.sort_unstable();
    let mut search = Again { claim, open: Vec::new(), most };
    let mut configurations = HashSet::from([Configuration { state: State::new(claim, group.0), taken: Vec::new() }]);
    let mut found: HashSet<State> = HashSet::new();
    for (moment, other) in events {
        if moment == claim.call(other) {
            // The operation itself never takes effect.
            search.open.extend((other != id).then_some(other));
            search.open.sort_by_key(|&id| (claim.ret(id), id));
        } else {
            configurations = search.let_return(configurations, other).ok()?;
            search.open.retain(|&open| open != other);
        }
        if moment >= begin {
            found.extend(search.reachable(&configurations)?);
        }
    }
    Some(found.into_iter().collect())
}

struct Again<'a> {
    claim: Claim<'a>,
    /// The open operations, sorted by their returns.
    open: Vec<OperationId>,
    most: usize,
}

impl Again<'_> {
    /// Whether the operation changes nothing, given what it returned.
    fn changes_nothing(&self, id: OperationId) -> bool {
        changes_nothing(self.claim.history.operation(id).method, self.claim.result(id))
    }

    fn observe(&self, mut configuration: Configuration) -> Configuration {
        for &id in &self.open {
            if self.changes_nothing(id) && configuration.taken.binary_search(&id).is_err() {
                let mut state = configuration.state.clone();
                if state.run(self.claim.history, id, self.claim.result(id)) {
                    let at = configuration.taken.partition_point(|&taken| taken < id);
                    configuration.taken.insert(at, id);
                }
            }
        }
        configuration
    }

    /// All states that the open operations can lead to.
    fn reachable(&self, configurations: &HashSet<Configuration>) -> Option<HashSet<State>> {
        let mut seen: HashSet<Configuration> = configurations.clone();
        let mut left: Vec<Configuration> = configurations.iter().cloned().collect();
        while let Some(configuration) = left.pop() {
            for &next in self.open.iter().filter(|id| configuration.taken.binary_search(id).is_err()) {
                let mut state = configuration.state.clone();
                if state.run(self.claim.history, next, self.claim.result(next)) {
                    let mut taken = configuration.taken.clone();
                    taken.insert(taken.partition_point(|&other| other < next), next);
                    let after = Configuration { state, taken };
                    if seen.insert(after.clone()) {
                        left.push(after);
                    }
                }
            }
            if seen.len() > self.most {
                return None;
            }
        }
        Some(seen.into_iter().map(|configuration| configuration.state).collect())
    }

    fn are_alike(&self, a: OperationId, b: OperationId) -> bool {
        let history = self.claim.history;
        let (one, other) = (history.operation(a), history.operation(b));
        one.method == other.method
            && one.argument == other.argument
            && history.expected(a) == history.expected(b)
            && self.claim.result(a) == self.claim.result(b)
    }

    fn let_return(
        &self,
        configurations: HashSet<Configuration>,
        id: OperationId,
    ) -> Result<HashSet<Configuration>, Refusal> {
        let mut after = HashSet::new();
        let mut seen = HashSet::new();
        let mut left: Vec<Configuration> = configurations.into_iter().collect();
        while let Some(mut configuration) = left.pop() {
            if let Ok(at) = configuration.taken.binary_search(&id) {
                configuration.taken.remove(at);
                after.insert(configuration);
                continue;
            }
            if seen.len() + after.len() > self.most {
                return fault(Place::Core, TOO_MANY);
            }
            if !seen.insert(configuration.clone()) {
                continue;
            }
            let free: Vec<OperationId> =
                self.open.iter().copied().filter(|id| configuration.taken.binary_search(id).is_err()).collect();
            for (at, &next) in free.iter().enumerate() {
                if free[..at].iter().any(|&earlier| self.are_alike(earlier, next)) {
                    continue;
                }
                let mut state = configuration.state.clone();
                if state.run(self.claim.history, next, self.claim.result(next)) {
                    let mut taken = configuration.taken.clone();
                    let at = taken.partition_point(|&other| other < next);
                    taken.insert(at, next);
                    left.push(self.observe(Configuration { state, taken }));
                }
            }
        }
        Ok(after)
    }
}

/// Checks that the exchanges that returned no later than the blamed one cannot all have partners. When an exchange
/// returns without a partner, it takes one of the open exchanges that fit. All of these offer the same value, and those
/// with a result return the same value. The first of them to return is taken, since it would have the fewest partners
/// later; a pending exchange, which needs no partner, is taken last.
fn exchanges(claim: Claim, blamed: OperationId) -> Result<(), Refusal> {
    let key = claim.history.operation(blamed).key;
    let wants = |id: OperationId| !claim.has_returned(id) || claim.history.operation(id).result != Value::NULL;
    let here = |id: &OperationId| claim.may_have_happened(*id) && claim.history.operation(*id).key == key && wants(*id);
    let limit = claim.ret(blamed);
    let mut events: Vec<(u64, OperationId)> = Vec::new();
    for id in claim.ids().filter(here) {
        events.extend([(claim.call(id), id), (claim.ret(id), id)].into_iter().filter(|(moment, _)| *moment <= limit));
    }
    events.sort_unstable();
    let mut open: BTreeSet<(u64, OperationId)> = BTreeSet::new();
    for (moment, id) in events {
        let one = (claim.ret(id), id);
        if moment == claim.call(id) {
            open.insert(one);
        } else if open.remove(&one) {
            let Some(&other) = open.iter().find(|&&(_, other)| claim.are_partners(id, other)) else {
                return Ok(());
            };
            open.remove(&other);
        }
    }
    fault(Place::Core, "the exchanges up to there can all have partners")
}

#[cfg(test)]
mod tests {
    use format::{ReadOptions, read};

    use super::*;

    /// Three processes insert at once. Then one removes a value that nobody inserted. So all orders are tried.
    fn outcome(object: &str, insert: &str, remove: &str, most: usize) -> Result<(), String> {
        let mut text = format!("# @object {object}\n");
        text.extend((0..3).map(|process| format!("[{process}] call {insert} {process}\n")));
        text.extend([format!("[3] call {remove}\n"), "[3] return 7\n".to_owned()]);
        let mut histories = read(Box::new(std::io::Cursor::new(text.into_bytes())), &ReadOptions::default());
        let history = histories.next().expect("a history").expect("a history that can be read");
        let claim = Claim { history: &history, is_split: false };
        // Counts would show at once that nobody inserted the value.
        let stuck = if object == "stack" { levels::stuck } else { stuck };
        stuck(claim, OperationId(3), most).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn more_states_than_allowed_are_not_tried() {
        let objects = [("counter", "add", "read"), ("queue", "enqueue", "dequeue"), ("stack", "push", "pop")];
        for (object, insert, remove) in objects {
            assert_eq!(outcome(object, insert, remove, MOST), Ok(()), "{object}");
            assert_eq!(outcome(object, insert, remove, 3), Err(format!("the operations: {TOO_MANY}")), "{object}");
        }
    }
}
