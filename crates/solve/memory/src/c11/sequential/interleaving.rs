//! An interleaving of the [nodes](super::nodes) that makes a modification order.
//!
//! Nodes go one after another. An event may go if all nodes of its layer before it have gone, and each write that exits
//! to it. A write may go if all before it have gone, everyone has gone who enters by the last write of its location,
//! and no other rmw reads that one. If all go, the order in which writes went is a modification order, and the order in
//! which events went shows that `psc` has no cycle: whoever enters by a write goes before the next write of the
//! location, and that goes before the events to which it exits.
//!
//! An event that may go, goes: it only lets others go. So does a write by which nobody enters any more: every
//! interleaving that can be completed can be completed with that write at this place. Of the other writes that may go,
//! the one goes by which others enter soonest, on average.
//!
//! If nothing may go, each location that is left waits for someone to enter by its last write, who waits, directly or
//! not, for the next write of a location: there is a cycle of such *waiters*.
//!
//! Not every modification order that is allowed has such an interleaving. A read exits to a fence for the sake of
//! entries of fences alone, and here the fence waits for the write that was read, whoever enters by those before it.
//!
//! Invariant: what has gone is closed under the order. Each chain whose next node may go is in the queue or among the
//! candidates of its location.

use order::Saturation;

use super::nodes::{Node, Nodes, Value};
use super::steps::NONE;

/// A write that may go when everyone has entered by the last write of its location; that write, or [`NONE`] for the
/// initial one.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Waiter {
    pub(super) current: Node,
    pub(super) write: Node,
}

pub(super) struct Interleaving<'a> {
    nodes: &'a Nodes,
    line: Vec<Node>,
    /// By node: its place in the line, or [`NONE`].
    places: Vec<u32>,
    /// By chain: the next node.
    next: Vec<Node>,
    /// By location: its last value. By write: the value before it.
    current: Vec<Value>,
    before: Vec<Value>,
    /// By value: how many ports are left by which someone enters.
    left: Vec<u32>,
    /// By chain, whether it is in the queue of chains to look at.
    queue: Vec<u32>,
    is_queued: Vec<bool>,
    /// By node: a chain that waits for it to go, and by chain another one.
    awaited: Vec<u32>,
    next_waiting: Vec<u32>,
    /// By location: the chains whose next write waits for the location alone; and the locations where such a write may
    /// go now.
    ready: Vec<Vec<u32>>,
    candidates: std::collections::BTreeSet<(u64, Node)>,
}

impl<'a> Interleaving<'a> {
    pub(super) fn new(nodes: &'a Nodes) -> Self {
        let (count, chains) = (nodes.count() as usize, nodes.starts.len() - 1);
        let locations = nodes.steps.execution.location_count();
        let values = nodes.updaters.len();
        let mut this = Self {
            nodes,
            line: Vec::with_capacity(count),
            places: vec![NONE; count],
            next: nodes.starts[..chains].to_vec(),
            current: (0..locations as u32).map(|location| nodes.writes + location).collect(),
            before: vec![NONE; nodes.writes as usize],
            left: (0..values).map(|value| nodes.entries.of(value).len() as u32).collect(),
            queue: Vec::new(),
            is_queued: vec![false; chains],
            awaited: vec![NONE; count],
            next_waiting: vec![NONE; chains],
            ready: vec![Vec::new(); locations],
            candidates: std::collections::BTreeSet::new(),
        };
        this.reset();
        this
    }

    pub(super) fn line(&self) -> &[Node] {
        &self.line
    }

    pub(super) fn is_complete(&self) -> bool {
        self.line.len() == self.places.len()
    }

    /// The place of a node, if it has gone.
    pub(super) fn place(&self, node: Node) -> Option<u32> {
        Some(self.places[node as usize]).filter(|&place| place != NONE)
    }

    /// Looks at all chains again.
    pub(super) fn reset(&mut self) {
        self.queue.clear();
        self.candidates.clear();
        self.ready.iter_mut().for_each(Vec::clear);
        self.awaited.fill(NONE);
        self.is_queued.fill(false);
        for chain in (0..self.next.len()).rev() {
            self.look_at(chain);
        }
    }

    fn look_at(&mut self, chain: usize) {
        if self.next[chain] < self.nodes.starts[chain + 1] && !std::mem::replace(&mut self.is_queued[chain], true) {
            self.queue.push(chain as u32);
        }
    }

    /// Takes a node back, and all that went after it. [`Self::reset`] must follow.
    pub(super) fn rewind(&mut self, to: Node) {
        let Some(place) = self.place(to) else { return };
        while self.line.len() > place as usize
            && let Some(node) = self.line.pop()
        {
            self.places[node as usize] = NONE;
            let nodes = self.nodes;
            if nodes.is_event(node) {
                self.next[nodes.steps.thread(nodes.event_of[node as usize])] = node;
                for &access in nodes.ins.of(node as usize) {
                    self.left[nodes.value(access) as usize] += 1;
                }
            } else {
                let location = nodes.location(node);
                self.next[nodes.chain(location, nodes.steps.thread(nodes.event_of[node as usize]))] = node;
                self.current[location] = self.before[(node - nodes.events) as usize];
            }
        }
    }

    fn has_gone(&self, node: Node) -> bool {
        self.places[node as usize] != NONE
    }

    /// The first chain of the layer of a node.
    fn layer(&self, node: Node) -> usize {
        if self.nodes.is_event(node) { 0 } else { self.nodes.chain(self.nodes.location(node), 0) }
    }

    /// The nodes of its layer that have to go before a node: of each thread the next one.
    fn missing<'b>(&'b self, order: &'b Saturation, node: Node) -> impl Iterator<Item = Node> + 'b {
        let (layer, own) = (self.layer(node), order.lane(node));
        let clock = &order.clock(node)[..self.nodes.threads()];
        let next = &self.next[layer..];
        clock
            .iter()
            .zip(next)
            .enumerate()
            .filter(move |&(lane, (end, next))| lane != own && next < end)
            .map(|(_, (_, &next))| next)
    }

    /// The writes that have to go before an event because they exit to it.
    fn missing_writes(&self, node: Node) -> impl Iterator<Item = Node> + '_ {
        let accesses = if self.nodes.is_event(node) { self.nodes.outs.of(node as usize) } else { &[] };
        let writes = accesses.iter().map(|&access| self.nodes.value(access) + self.nodes.events);
        writes.filter(|&write| !self.has_gone(write))
    }

    /// Lets nodes go until all wait.
    pub(super) fn advance(&mut self, order: &Saturation) {
        loop {
            while let Some(chain) = self.queue.pop() {
                self.is_queued[chain as usize] = false;
                self.try_next(order, chain);
            }
            let Some((_, write)) = self.candidates.pop_first() else { return };
            if !self.has_gone(write) && self.may_go(write) {
                self.go(write);
            }
        }
    }

    fn try_next(&mut self, order: &Saturation, chain: u32) {
        let node = self.next[chain as usize];
        if node == self.nodes.starts[chain as usize + 1] {
            return;
        }
        let missing = self.missing(order, node).next();
        let missing = missing.or_else(|| self.missing_writes(node).next());
        if let Some(missing) = missing {
            self.next_waiting[chain as usize] = std::mem::replace(&mut self.awaited[missing as usize], chain);
        } else if self.nodes.is_event(node) {
            self.go(node);
        } else {
            let location = self.nodes.location(node);
            if self.may_go(node) && self.is_harmless(node) {
                self.go(node);
                return;
            }
            self.ready[location].push(chain);
            if self.may_go(node) {
                self.candidates.insert((self.key(order, node), node));
            }
        }
    }

    /// Whether a write may go, of which all before it have gone.
    fn may_go(&self, write: Node) -> bool {
        let current = self.current[self.nodes.location(write)];
        let updater = self.nodes.updaters[current as usize];
        self.left[current as usize] == 0 && (updater == NONE || self.nodes.of_write(updater) == write)
    }

    fn is_harmless(&self, write: Node) -> bool {
        let value = (write - self.nodes.events) as usize;
        self.left[value] == 0 && self.nodes.updaters[value] == NONE
    }

    /// How much is before those who enter by a write, on average.
    fn key(&self, order: &Saturation, write: Node) -> u64 {
        let entries = self.nodes.entries.of((write - self.nodes.events) as usize);
        let sum: u64 = entries.iter().map(|entry| order.sum(entry.node)).sum();
        sum / entries.len().max(1) as u64
    }

    fn go(&mut self, node: Node) {
        let nodes = self.nodes;
        self.places[node as usize] = self.line.len() as u32;
        self.line.push(node);
        let thread = nodes.steps.thread(nodes.event_of[node as usize]);
        let chain = if nodes.is_event(node) { thread } else { nodes.chain(nodes.location(node), thread) };
        self.next[chain] += 1;
        self.look_at(chain);
        let mut waiting = std::mem::replace(&mut self.awaited[node as usize], NONE);
        while waiting != NONE {
            self.look_at(waiting as usize);
            waiting = self.next_waiting[waiting as usize];
        }
        if nodes.is_event(node) {
            for &access in nodes.ins.of(node as usize) {
                let value = nodes.value(access);
                self.left[value as usize] -= 1;
                let location = nodes.steps.location(access);
                if self.left[value as usize] == 0 && self.current[location] == value {
                    self.look_at_location(location);
                }
            }
        } else {
            let (location, value) = (nodes.location(node), node - nodes.events);
            self.before[value as usize] = std::mem::replace(&mut self.current[location], value);
            self.look_at_location(location);
        }
    }

    fn look_at_location(&mut self, location: usize) {
        for chain in std::mem::take(&mut self.ready[location]) {
            self.look_at(chain as usize);
        }
    }

    /// When all wait: the waiters, and for each those that it waits for.
    pub(super) fn waiters(&self, order: &Saturation) -> (Vec<Waiter>, Vec<Vec<u32>>) {
        let nodes = self.nodes;
        let threads = nodes.threads();
        let mut number = vec![NONE; self.next.len()];
        let mut waiters = Vec::new();
        for (location, ready) in self.ready.iter().enumerate() {
            for &chain in ready {
                number[chain as usize] = waiters.len() as u32;
                let current = nodes.write(self.current[location]).unwrap_or(NONE);
                waiters.push(Waiter { current, write: self.next[chain as usize] });
            }
        }
        // By event that is the next of its thread: the waiters that it waits for, over all paths through such events.
        let heads: Vec<Option<Node>> = (0..threads)
            .map(|thread| Some(self.next[thread]).filter(|&node| node < nodes.starts[thread + 1]))
            .collect();
        let direct: Vec<Vec<u32>> = heads
            .iter()
            .map(|head| {
                let mut found = Vec::new();
                for write in head.iter().flat_map(|&head| self.missing_writes(head)) {
                    let own = nodes.chain(nodes.location(write), order.lane(write));
                    let firsts =
                        self.missing(order, write).map(|node| nodes.chain(nodes.location(node), order.lane(node)));
                    found.extend(firsts.chain([own]).map(|chain| number[chain]).filter(|&number| number != NONE));
                }
                found
            })
            .collect();
        let lanes = |node: Node| {
            let own = (!self.has_gone(node)).then(|| order.lane(node));
            self.missing(order, node).map(|node| order.lane(node)).chain(own)
        };
        let reached: Vec<Vec<u32>> = (0..threads)
            .map(|thread| {
                let mut seen = vec![false; threads];
                let mut todo = vec![thread];
                let mut found = Vec::new();
                while let Some(thread) = todo.pop() {
                    if !std::mem::replace(&mut seen[thread], true)
                        && let Some(head) = heads[thread]
                    {
                        found.extend_from_slice(&direct[thread]);
                        todo.extend(lanes(head));
                    }
                }
                found.sort_unstable();
                found.dedup();
                found
            })
            .collect();
        let waits = waiters
            .iter()
            .map(|waiter| {
                let value = self.current[nodes.location(waiter.write)];
                let entries = nodes.entries.of(value as usize).iter().filter(|entry| !self.has_gone(entry.node));
                let mut found: Vec<u32> = entries
                    .flat_map(|entry| lanes(entry.node))
                    .flat_map(|lane| reached[lane].iter().copied())
                    .collect();
                found.sort_unstable();
                found.dedup();
                found
            })
            .collect();
        (waiters, waits)
    }
}
