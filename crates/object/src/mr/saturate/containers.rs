//! Queue, stack and priority queue: ADDREM, EMPTY, and FIFO, LIFO or MAX.
//!
//! A value v is a pair of nodes: its insertion `a(v)`, its removal `r(v)`, with `b(a, r)`. A value that nobody is known
//! to have removed has a removal too, which will come or, at the end of all time, would come: a linearization goes on
//! by removing what is left. So every axiom about two values is a clause without existentials:
//!
//! - FIFO: `b(a(u), a(v))` exactly if `b(r(u), r(v))`;
//! - LIFO: not all of `b(a(u), a(v))`, `b(a(v), r(u))`, `b(r(u), r(v))`;
//! - MAX, u smaller than v: not both of `b(a(v), r(u))`, `b(r(u), r(v))`;
//! - EMPTY, e a removal that returned `empty`: not both of `b(a(v), e)`, `b(e, r(v))`.
//!
//! A removal that is not known yet is one of those that are open, or one that is still to be called. So an operation
//! that returned is before all unknown removals as soon as it is before all open ones: it is called settled then. An
//! insertion that did not return takes part once its value was removed; before that it may not have happened.
//!
//! Obsolete: a value whose insertion and removal both returned; and an `empty` whose order to every value is known.

use history::Method;
use rustc_hash::FxHashMap;

use super::relation::{Nodes, Relation};
use super::{Engine, Stop};
use crate::mr::Invocation;
use crate::view::ValueId;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Discipline {
    Fifo,
    Lifo,
    Max,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Role {
    /// Not in use, or an open removal.
    Nothing,
    /// The insertion or the removal of that entry.
    Of(u32),
    /// A removal that returned `empty`.
    Empty,
}

/// A value that was inserted.
#[derive(Copy, Clone, Debug)]
struct Entry {
    value: ValueId,
    insert: u32,
    /// The removal; none while the insertion may not have happened.
    remove: Option<u32>,
    /// Whether the removal is an operation that returned.
    is_removed: bool,
}

#[derive(Debug)]
pub(super) struct Containers {
    discipline: Discipline,
    relation: Relation,
    roles: Vec<Role>,
    entries: Vec<Option<Entry>>,
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

    /// The axiom of the discipline about two values, and the same with their places changed.
    fn compare(&mut self, u: Entry, v: Entry) {
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
                Discipline::Max if u.value < v.value => {
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
    fn compare_empty(&mut self, empty: u32, v: Entry) {
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

    fn propagate(&mut self) -> Result<(), Stop> {
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
                Stop::unless(!self.relation.contradiction)?;
            }
            Stop::unless(!self.relation.contradiction)?;
            if !self.settle() {
                return Ok(());
            }
        }
    }

    /// Finds operations that became settled; whether that ordered something.
    fn settle(&mut self) -> bool {
        let is_settled = |&x: &u32| !self.settled.contains(x) && self.open_removes.is_subset(self.relation.after(x));
        let now: Vec<u32> = self.returned.iter().filter(is_settled).collect();
        for &x in &now {
            self.settled.insert(x);
            for at in 0..self.entries.len() {
                if let Some(Entry { remove: Some(remove), is_removed: false, .. }) = self.entries[at] {
                    self.relation.order(x, remove);
                }
            }
        }
        self.relation.contradiction || !self.relation.news.is_empty()
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

    fn remove_returns(&mut self, node: u32, value: ValueId) -> Result<(), Stop> {
        let entry = *self.by_value.get(&value).ok_or(Stop::Contradiction)?;
        let Some(mut this) = self.entries[entry as usize] else { return Err(Stop::Contradiction) };
        Stop::unless(!this.is_removed)?;
        self.open_removes.remove(node);
        self.returned.insert(node);
        self.roles[node as usize] = Role::Of(entry);
        let unknown = this.remove.replace(node);
        this.is_removed = true;
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
            let value = invocation.argument;
            self.entries[entry as usize] = Some(Entry { value, insert, remove: None, is_removed: false });
            self.is_ambiguous |= self.by_value.insert(value, entry).is_some();
            self.open.insert(number, insert);
        } else {
            let node = self.node(&earlier, Role::Nothing);
            self.open_removes.insert(node);
            self.open.insert(number, node);
        }
    }

    fn return_(&mut self, number: u32, result: ValueId) -> Result<(), Stop> {
        if self.is_ambiguous {
            return Err(Stop::NotUnique);
        }
        let Some(node) = self.open.get(&number).copied() else { return Ok(()) };
        if !self.open_removes.contains(node) {
            self.insert_returns(node);
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
        } else if result != ValueId::NONE {
            self.remove_returns(node, result)?;
        } else {
            // Nobody knows what it removed: it stays open.
            return Ok(());
        }
        self.open.remove(&number);
        self.propagate()
    }

    fn remove_matches(&mut self) {
        for at in 0..self.entries.len() {
            let Some(Entry { value, insert, remove: Some(remove), is_removed: true }) = self.entries[at] else {
                continue;
            };
            if self.returned.contains(insert) {
                self.entries[at] = None;
                self.free.push(at as u32);
                self.by_value.remove(&value);
                self.forget(insert);
                self.forget(remove);
            }
        }
        let is_decided = |&empty: &u32| {
            self.entries.iter().flatten().all(|entry| {
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
