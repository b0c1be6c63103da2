//! Register: READWRITE and READFROM.
//!
//! The initial value is a write before everything. A read returns the value of one write, its source (MATCH1). For any
//! other write w, not both of `b(source, w)` and `b(w, read)` hold. A compare-and-swap that succeeded is a read and a
//! write in one. A compare-and-swap that failed gives nothing to propagate. A write that did not return takes part once
//! its value was read.
//!
//! The initial value may be written once more. Then an operation that found it has two possible sources. It is the
//! write if another write is known to come before the operation, and the initial one if the write is known to come
//! after it. Otherwise the engine gives up.
//!
//! A write w, with its reads, is obsolete if w is before another write w' that returned, and no open operation that may
//! read was called before w' returned: all later reads come after w'. (MR asks that w' was read, too. That is not
//! needed, and without it, writes that nobody reads are forgotten like others.)

use history::Method;
use object::ValueId;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::relation::{Nodes, Relation};
use super::{Engine, Invocation, PropagationEnd};

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Node {
    invocation: Invocation,
    /// Whether the operation certainly happened and wrote.
    writes: bool,
    source: Option<u32>,
    readers: Vec<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Register {
    relation: Relation,
    nodes: Vec<Node>,
    by_value: FxHashMap<ValueId, u32>,
    initial_value: ValueId,
    /// The initial write, while it is remembered. `by_value` does not have it.
    initial: Option<u32>,
    open: FxHashMap<u32, u32>,
    returned: Nodes,
    writes: Nodes,
    open_reads: Nodes,
    is_ambiguous: bool,
}

impl Register {
    pub(super) fn new(initial: ValueId) -> Self {
        let mut register = Self {
            relation: Relation::default(),
            nodes: Vec::new(),
            by_value: FxHashMap::default(),
            initial_value: initial,
            initial: None,
            open: FxHashMap::default(),
            returned: Nodes::default(),
            writes: Nodes::default(),
            open_reads: Nodes::default(),
            is_ambiguous: false,
        };
        let write = Invocation { method: Method::Write, argument: initial, priority: 0, expected: ValueId::NONE };
        let node = register.node(write);
        register.initial = Some(node);
        register.returned.insert(node);
        register.write(node);
        register
    }

    fn node(&mut self, invocation: Invocation) -> u32 {
        let node = self.relation.add(&self.returned);
        let fresh = Node { invocation, writes: false, source: None, readers: Vec::new() };
        match self.nodes.get_mut(node as usize) {
            Some(place) => *place = fresh,
            None => self.nodes.push(fresh),
        }
        node
    }

    fn forget(&mut self, node: u32) {
        self.relation.forget(node);
        self.returned.remove(node);
        self.writes.remove(node);
    }

    /// Notes that an operation certainly happened, and wrote.
    fn write(&mut self, node: u32) {
        if std::mem::replace(&mut self.nodes[node as usize].writes, true) {
            return;
        }
        self.writes.insert(node);
        for x in self.relation.before(node).clone().iter() {
            self.compare(x, node);
        }
        for y in self.relation.after(node).clone().iter() {
            self.compare(node, y);
        }
    }

    /// The write that an operation found, which found this value.
    fn source(&self, node: u32, value: ValueId) -> Result<u32, PropagationEnd> {
        let written = self.by_value.get(&value).copied().filter(|&write| write != node);
        let initial = self.initial.filter(|_| value == self.initial_value);
        let (Some(written), Some(initial)) = (written, initial) else {
            return written.or(initial).ok_or(PropagationEnd::Contradiction);
        };
        let mut before = self.relation.before(node).iter();
        if before.any(|write| write != initial && self.writes.contains(write)) {
            Ok(written)
        } else if self.relation.is_before(node, written) {
            Ok(initial)
        } else {
            Err(PropagationEnd::NotUnique)
        }
    }

    /// Notes that an operation certainly happened, and found this value.
    fn read(&mut self, node: u32, value: ValueId) -> Result<(), PropagationEnd> {
        let source = self.source(node, value)?;
        self.nodes[node as usize].source = Some(source);
        self.nodes[source as usize].readers.push(node);
        self.relation.order(source, node);
        if !self.nodes[source as usize].writes {
            self.write(source);
            let Invocation { method, expected, .. } = self.nodes[source as usize].invocation;
            if method == Method::Cas && self.nodes[source as usize].source.is_none() && !self.returned.contains(source)
            {
                self.read(source, expected)?;
            }
        }
        for x in self.relation.before(node).clone().iter() {
            self.compare(x, node);
        }
        for y in self.relation.after(source).clone().iter() {
            self.compare(source, y);
        }
        Ok(())
    }

    /// Draws the consequences of x coming before y.
    fn compare(&mut self, x: u32, y: u32) {
        let (first, second) = (&self.nodes[x as usize], &self.nodes[y as usize]);
        if !first.writes {
            return;
        }
        let overtaken = second.writes.then(|| first.readers.clone());
        if let Some(source) = second.source.filter(|&source| source != x) {
            self.relation.order(x, source);
        }
        for read in overtaken.into_iter().flatten().filter(|&read| read != y) {
            self.relation.order(read, y);
        }
    }
}

impl Engine for Register {
    fn call(&mut self, number: u32, invocation: Invocation) {
        let node = self.node(invocation);
        self.open.insert(number, node);
        if invocation.method != Method::Write {
            self.open_reads.insert(node);
        }
        if invocation.method != Method::Read {
            self.is_ambiguous |= self.by_value.insert(invocation.argument, node).is_some();
        }
    }

    fn return_(&mut self, number: u32, result: ValueId) -> Result<(), PropagationEnd> {
        if self.is_ambiguous {
            return Err(PropagationEnd::NotUnique);
        }
        let Some(node) = self.open.get(&number).copied() else { return Ok(()) };
        let Invocation { method, argument, expected, .. } = self.nodes[node as usize].invocation;
        if method == Method::Cas && result == ValueId::NONE {
            // It is not known whether the operation wrote, so it stays open.
            return Ok(());
        }
        self.open.remove(&number);
        self.open_reads.remove(node);
        self.returned.insert(node);
        let is_known = self.nodes[node as usize].source.is_some();
        match method {
            Method::Write => self.write(node),
            Method::Read if result != ValueId::NONE => self.read(node, result)?,
            Method::Rmw => {
                self.write(node);
                if result != ValueId::NONE {
                    self.read(node, result)?;
                }
            }
            Method::Cas if result == ValueId::TRUE => {
                self.write(node);
                if !is_known {
                    self.read(node, expected)?;
                }
            }
            Method::Cas if result == ValueId::FALSE => {
                // If its value was read, it must have happened.
                PropagationEnd::unless(!self.nodes[node as usize].writes)?;
                self.by_value.remove(&argument);
            }
            _ => {}
        }
        while !self.relation.contradiction {
            let Some((x, y)) = self.relation.news.pop() else { break };
            self.compare(x, y);
        }
        PropagationEnd::unless(!self.relation.contradiction)
    }

    fn fail(&mut self, number: u32) -> Result<(), PropagationEnd> {
        let Some(node) = self.open.remove(&number) else { return Ok(()) };
        let Node { writes, invocation: Invocation { method, argument, .. }, .. } = self.nodes[node as usize];
        PropagationEnd::unless(!writes)?;
        if method != Method::Read {
            self.by_value.remove(&argument);
        }
        self.open_reads.remove(node);
        self.forget(node);
        Ok(())
    }

    fn remembers(&self, value: ValueId) -> bool {
        self.by_value.contains_key(&value) || (value == self.initial_value && self.initial.is_some())
    }

    fn remove_matches(&mut self, _at_once: bool) {
        let is_last = |&w: &u32| self.returned.contains(w) && self.open_reads.is_subset(self.relation.after(w));
        let mut last = Nodes::default();
        self.writes.iter().filter(is_last).for_each(|w| last.insert(w));
        let is_obsolete = |&w: &u32| self.returned.contains(w) && self.relation.after(w).meets(&last);
        let obsolete: Vec<u32> = self.writes.iter().filter(is_obsolete).collect();
        for write in obsolete {
            for reader in std::mem::take(&mut self.nodes[write as usize].readers) {
                self.nodes[reader as usize].source = None;
                if !self.nodes[reader as usize].writes {
                    self.forget(reader);
                }
            }
            if let Some(source) = self.nodes[write as usize].source {
                self.nodes[source as usize].readers.retain(|&reader| reader != write);
            }
            if self.initial == Some(write) {
                self.initial = None;
            } else {
                self.by_value.remove(&self.nodes[write as usize].invocation.argument);
            }
            self.forget(write);
        }
        // Operations that give nothing to propagate: a failed compare-and-swap, and a read whose result is not known.
        let says_nothing = |&x: &u32| !self.nodes[x as usize].writes && self.nodes[x as usize].source.is_none();
        let silent: Vec<u32> = self.returned.iter().filter(says_nothing).collect();
        for node in silent {
            self.forget(node);
        }
    }

    fn size(&self) -> usize {
        self.relation.live.iter().count()
    }
}
