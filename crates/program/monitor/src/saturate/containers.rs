//! Queue, stack and priority queue: ADDREM, EMPTY, and FIFO, LIFO or MAX.
//!
//! A value v is a pair of nodes: its insertion `a(v)` and its removal `r(v)`, with `b(a, r)`. A value without a known
//! removal has a removal node, too: any linearization can be continued by removing the values that are left. So every
//! axiom about two values is a clause without existential quantifiers:
//!
//! - FIFO: `b(a(u), a(v))` exactly if `b(r(u), r(v))`;
//! - LIFO: not all of `b(a(u), a(v))`, `b(a(v), r(u))`, `b(r(u), r(v))`;
//! - MAX, u smaller than v: not both of `b(a(v), r(u))`, `b(r(u), r(v))`;
//! - EMPTY, e a removal that returned `empty`: not both of `b(a(v), e)`, `b(e, r(v))`.
//!
//! An unknown removal is an open operation, or one that is still to be called. So an operation that returned is before
//! all unknown removals as soon as it is before all open removals. Then it is called settled. If an unknown removal is
//! before an operation that returned, it is one of the removals that are open now, and this stays so. If none of these
//! can be the removal, there is a contradiction. If only one can, it is the removal. An insertion that did not return
//! takes part once its value was removed. Before that, it may not have happened.
//!
//! Obsolete are a value whose insertion and removal both returned, and an `empty` whose order to every value is known,
//! once all open operations come after them.

use history::Method;
use object::ValueId;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::relation::{Nodes, Relation};
use super::{Engine, Invocation, PropagationEnd};

#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Discipline {
    Fifo,
    Lifo,
    Max,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Role {
    /// Not in use, or an open removal.
    Nothing,
    /// The insertion or the removal of that entry.
    Of(u32),
    /// A removal that returned `empty`.
    Empty,
}

/// How much is known of the removal of a value.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Removal {
    /// No operation is known to be it.
    Unknown,
    /// It must be this operation, which has not returned.
    Forced,
    /// It has returned.
    Returned,
}

/// A value that was inserted.
#[derive(Copy, Clone, Debug, Serialize, Deserialize)]
struct Inserted {
    value: ValueId,
    priority: i64,
    insert: u32,
    /// The removal; none while the insertion may not have happened.
    remove: Option<u32>,
    removal: Removal,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Containers {
    discipline: Discipline,
    relation: Relation,
    roles: Vec<Role>,
    entries: Vec<Option<Inserted>>,
    /// For an entry, the open removals of which one must be its own.
    among: FxHashMap<u32, Nodes>,
    free: Vec<u32>,
    by_value: FxHashMap<ValueId, u32>,
    open: FxHashMap<u32, u32>,
    returned: Nodes,
    settled: Nodes,
    open_removes: Nodes,
    empties: Vec<u32>,
    is_ambiguous: bool,
}

impl Containers {
    pub(super) fn new(discipline: Discipline) -> Self {
        Self {
            discipline,
            relation: Relation::default(),
            roles: Vec::new(),
            entries: Vec::new(),
            among: FxHashMap::default(),
            free: Vec::new(),
            by_value: FxHashMap::default(),
            open: FxHashMap::default(),
            returned: Nodes::default(),
            settled: Nodes::default(),
            open_removes: Nodes::default(),
            empties: Vec::new(),
            is_ambiguous: false,
        }
    }

    fn node(&mut self, earlier: &Nodes, role: Role) -> u32 {
        let node = self.relation.add(earlier);
        if self.roles.len() <= node as usize {
            self.roles.resize(node as usize + 1, Role::Nothing);
        }
        self.roles[node as usize] = role;
        node
    }

    fn forget(&mut self, node: u32) {
        self.relation.forget(node);
        self.roles[node as usize] = Role::Nothing;
        self.returned.remove(node);
        self.settled.remove(node);
    }

    /// The axiom FIFO, LIFO or MAX about two values, and the same with their places exchanged.
    fn compare(&mut self, u: Inserted, v: Inserted) {
        for (u, v) in [(u, v), (v, u)] {
            let (Some(ru), Some(rv)) = (u.remove, v.remove) else { return };
            let (au, av) = (u.insert, v.insert);
            let b = |x, y| self.relation.is_before(x, y);
            match self.discipline {
                Discipline::Fifo => {
                    if b(au, av) {
                        self.relation.order(ru, rv);
                    } else if b(ru, rv) {
                        self.relation.order(au, av);
                    }
                }
                Discipline::Lifo => {
                    let holds = [b(au, av), b(av, ru), b(ru, rv)];
                    match holds {
                        [true, true, _] => self.relation.order(rv, ru),
                        [true, _, true] => self.relation.order(ru, av),
                        [_, true, true] => self.relation.order(av, au),
                        _ => {}
                    }
                }
                Discipline::Max if u.priority < v.priority => {
                    if b(av, ru) {
                        self.relation.order(rv, ru);
                    } else if b(ru, rv) {
                        self.relation.order(ru, av);
                    }
                }
                Discipline::Max => {}
            }
        }
    }

    /// The axiom EMPTY.
    fn compare_empty(&mut self, empty: u32, v: Inserted) {
        let Some(remove) = v.remove else { return };
        if self.relation.is_before(v.insert, empty) {
            self.relation.order(remove, empty);
        } else if self.relation.is_before(empty, remove) {
            self.relation.order(empty, v.insert);
        }
    }

    fn compare_with_all(&mut self, entry: u32) {
        let Some(this) = self.entries[entry as usize] else { return };
        for other in 0..self.entries.len() {
            if let Some(that) = self.entries[other].filter(|_| other != entry as usize) {
                self.compare(this, that);
            }
        }
        for at in 0..self.empties.len() {
            self.compare_empty(self.empties[at], this);
        }
    }

    fn propagate(&mut self) -> Result<(), PropagationEnd> {
        loop {
            while let Some((x, y)) = self.relation.news.pop() {
                match (self.roles[x as usize], self.roles[y as usize]) {
                    (Role::Of(u), Role::Of(v)) if u != v => {
                        if let (Some(u), Some(v)) = (self.entries[u as usize], self.entries[v as usize]) {
                            self.compare(u, v);
                        }
                    }
                    (Role::Of(v), Role::Empty) => {
                        self.entries[v as usize].into_iter().for_each(|v| self.compare_empty(y, v));
                    }
                    (Role::Empty, Role::Of(v)) => {
                        self.entries[v as usize].into_iter().for_each(|v| self.compare_empty(x, v));
                    }
                    _ => {}
                }
                PropagationEnd::unless(!self.relation.contradiction)?;
            }
            PropagationEnd::unless(!self.relation.contradiction)?;
            if !self.settle() {
                return Ok(());
            }
        }
    }

    /// Finds operations that became settled, and removals that became known. Returns whether new pairs were ordered.
    fn settle(&mut self) -> bool {
        let is_settled = |&x: &u32| !self.settled.contains(x) && self.open_removes.is_subset(self.relation.after(x));
        let now: Vec<u32> = self.returned.iter().filter(is_settled).collect();
        let mut has_forced = false;
        for at in 0..self.entries.len() {
            let Some(Inserted { remove: Some(remove), removal: Removal::Unknown, .. }) = self.entries[at] else {
                continue;
            };
            for &x in &now {
                self.relation.order(x, remove);
            }
            has_forced |= self.narrow(at as u32, remove);
        }
        for x in now {
            self.settled.insert(x);
        }
        has_forced || self.relation.contradiction || !self.relation.news.is_empty()
    }

    /// Finds the open operations that can be the unknown removal of an entry, if it must be one of these. Returns
    /// whether only one operation is left.
    fn narrow(&mut self, entry: u32, remove: u32) -> bool {
        if !self.among.contains_key(&entry) && !self.relation.after(remove).meets(&self.returned) {
            return false;
        }
        let mut among = Nodes::default();
        let known = self.among.get(&entry).unwrap_or(&self.open_removes);
        let can_be = |&p: &u32| {
            self.open_removes.contains(p) && !self.relation.is_before(remove, p) && !self.relation.is_before(p, remove)
        };
        known.iter().filter(can_be).for_each(|p| among.insert(p));
        let mut candidates = among.iter();
        match (candidates.next(), candidates.next()) {
            (None, _) => self.relation.contradiction = true,
            (Some(p), None) => {
                drop(candidates);
                self.identify(entry, p, Removal::Forced);
                return true;
            }
            _ => {
                drop(candidates);
                let is_earlier = |&x: &u32| x != remove && among.is_subset(self.relation.after(x));
                let earlier: Vec<u32> = self.relation.live.iter().filter(is_earlier).collect();
                for x in earlier {
                    self.relation.order(x, remove);
                }
                self.among.insert(entry, among);
            }
        }
        false
    }

    /// Notes that the removal of an entry is this operation.
    fn identify(&mut self, entry: u32, node: u32, removal: Removal) {
        let Some(mut this) = self.entries[entry as usize] else { return };
        self.among.remove(&entry);
        self.open_removes.remove(node);
        self.roles[node as usize] = Role::Of(entry);
        let before = this.removal;
        let unknown = this.remove.replace(node).filter(|_| before == Removal::Unknown);
        this.removal = removal;
        self.entries[entry as usize] = Some(this);
        if let Some(unknown) = unknown {
            for x in self.relation.before(unknown).clone().iter() {
                self.relation.order(x, node);
            }
            for y in self.relation.after(unknown).clone().iter() {
                self.relation.order(node, y);
            }
            self.relation.news.retain(|&(x, y)| x != unknown && y != unknown);
            self.forget(unknown);
        }
        self.relation.order(this.insert, node);
        self.compare_with_all(entry);
    }

    fn insert_returns(&mut self, node: u32) {
        self.returned.insert(node);
        let Role::Of(entry) = self.roles[node as usize] else { return };
        let Some(mut this) = self.entries[entry as usize].filter(|this| this.remove.is_none()) else { return };
        let mut earlier = self.settled.clone();
        earlier.insert(node);
        this.remove = Some(self.node(&earlier, Role::Of(entry)));
        self.entries[entry as usize] = Some(this);
        self.compare_with_all(entry);
    }

    fn remove_returns(&mut self, node: u32, value: ValueId) -> Result<(), PropagationEnd> {
        let entry = *self.by_value.get(&value).ok_or(PropagationEnd::Contradiction)?;
        let is_free = |this: &Inserted| this.removal == Removal::Unknown || this.remove == Some(node);
        PropagationEnd::unless(self.entries[entry as usize].as_ref().is_some_and(is_free))?;
        PropagationEnd::unless(self.among.get(&entry).is_none_or(|among| among.contains(node)))?;
        self.returned.insert(node);
        self.identify(entry, node, Removal::Returned);
        Ok(())
    }
}

impl Engine for Containers {
    fn call(&mut self, number: u32, invocation: Invocation) {
        let earlier = self.returned.clone();
        if matches!(invocation.method, Method::Enqueue | Method::Push | Method::Insert) {
            let entry = self.free.pop().unwrap_or_else(|| {
                self.entries.push(None);
                self.entries.len() as u32 - 1
            });
            let insert = self.node(&earlier, Role::Of(entry));
            let Invocation { argument: value, priority, .. } = invocation;
            let this = Inserted { value, priority, insert, remove: None, removal: Removal::Unknown };
            self.entries[entry as usize] = Some(this);
            self.is_ambiguous |= self.by_value.insert(value, entry).is_some();
            self.open.insert(number, insert);
        } else {
            let node = self.node(&earlier, Role::Nothing);
            self.open_removes.insert(node);
            self.open.insert(number, node);
        }
    }

    fn return_(&mut self, number: u32, result: ValueId) -> Result<(), PropagationEnd> {
        if self.is_ambiguous {
            return Err(PropagationEnd::NotUnique);
        }
        let Some(node) = self.open.get(&number).copied() else { return Ok(()) };
        let entry = match self.roles[node as usize] {
            Role::Of(entry) => self.entries[entry as usize],
            _ => None,
        };
        if entry.is_some_and(|entry| entry.insert == node) {
            self.insert_returns(node);
        } else if result == ValueId::NONE {
            // It is not known which value it removed, so it stays open.
            return Ok(());
        } else if entry.is_some_and(|entry| entry.value != result) {
            return Err(PropagationEnd::Contradiction);
        } else if result == ValueId::EMPTY {
            self.open_removes.remove(node);
            self.returned.insert(node);
            self.roles[node as usize] = Role::Empty;
            self.empties.push(node);
            for at in 0..self.entries.len() {
                if let Some(entry) = self.entries[at] {
                    self.compare_empty(node, entry);
                }
            }
        } else {
            self.remove_returns(node, result)?;
        }
        self.open.remove(&number);
        self.propagate()
    }

    fn fail(&mut self, number: u32) -> Result<(), PropagationEnd> {
        let Some(node) = self.open.remove(&number) else { return Ok(()) };
        if let Role::Of(at) = self.roles[node as usize] {
            // It must have happened if its value was removed, or if it must have removed a value.
            let entry = self.entries[at as usize].filter(|entry| entry.insert == node && entry.remove.is_none());
            let Some(entry) = entry else { return Err(PropagationEnd::Contradiction) };
            self.entries[at as usize] = None;
            self.free.push(at);
            self.by_value.remove(&entry.value);
        }
        self.open_removes.remove(node);
        self.forget(node);
        self.propagate()
    }

    fn remembers(&self, value: ValueId) -> bool {
        self.by_value.contains_key(&value)
    }

    fn remove_matches(&mut self, at_once: bool) {
        let mut open = Nodes::default();
        self.open.values().for_each(|&node| open.insert(node));
        for at in 0..self.entries.len() {
            let Some(Inserted { value, insert, remove: Some(remove), removal: Removal::Returned, .. }) =
                self.entries[at]
            else {
                continue;
            };
            if self.returned.contains(insert) && (at_once || open.is_subset(self.relation.after(remove))) {
                self.entries[at] = None;
                self.free.push(at as u32);
                self.by_value.remove(&value);
                self.forget(insert);
                self.forget(remove);
            }
        }
        let is_decided = |&empty: &u32| {
            let is_last = at_once || open.is_subset(self.relation.after(empty));
            is_last
                && self.entries.iter().flatten().all(|entry| {
                    self.relation.is_before(empty, entry.insert)
                        || entry.remove.is_some_and(|remove| self.relation.is_before(remove, empty))
                })
        };
        let (decided, kept): (Vec<u32>, Vec<u32>) = self.empties.iter().partition(|empty| is_decided(empty));
        self.empties = kept;
        for empty in decided {
            self.forget(empty);
        }
    }

    fn size(&self) -> usize {
        self.relation.live.iter().count()
    }
}
