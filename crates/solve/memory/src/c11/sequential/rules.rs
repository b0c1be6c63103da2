//! The rules under which the order of the [nodes](super::nodes) is closed.
//!
//! With the values v and w of accesses a and b of one location, where s enters through a and b exits to g:
//! - *from `psc`*: if g is before s in `psc+` or is s, then w is before v in `mo` (or is v): otherwise s would be
//!   before g;
//! - *to `psc`*: if v is before w in `mo`, then s is before g;
//! - *atomicity*, for an rmw u that reads v: if w is before u, it is before v (or is v); if v is before w, then u is
//!   before w (or is w);
//! - *facts*: coherence orders some writes from the start.
//!
//! The initial write is before all others. A write before it is a contradiction.
//!
//! Nodes enter in an order of `po u rf`. A rule is applied when the last of its nodes enters, and when a clock grows.

use history::execution::Kind;
use order::Saturation;
use order::saturation::{Derived, NONE, Rules};
use rustc_hash::FxHashMap;

use super::nodes::{Node, Nodes, Port, Value};

/// Why an edge holds.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// From or to `psc`, by the way of that number.
    Way(u32),
    /// The fact of that number.
    Fact(u32),
    /// The rmw reads the end of the edge, and its begin comes before the rmw.
    Source(u32),
    /// The begin of the edge is an rmw, and what it reads comes before the end.
    Update,
}

impl Reason {
    /// Greater numbers have no room in a reason.
    pub(super) const MOST: u32 = 1 << 30;

    fn number(self) -> u32 {
        match self {
            Self::Way(way) => way,
            Self::Fact(fact) => Self::MOST + fact,
            Self::Source(rmw) => 2 * Self::MOST + rmw,
            Self::Update => 3 * Self::MOST,
        }
    }

    /// The reason of an edge that a rule has derived.
    pub(super) fn of(edge: Derived) -> Self {
        let number = edge.reason % Self::MOST;
        match edge.reason / Self::MOST {
            0 => Self::Way(number),
            1 => Self::Fact(number),
            2 => Self::Source(number),
            _ => Self::Update,
        }
    }
}

/// Who enters through which access, and where which access exits to.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Way {
    pub(super) entry: Port,
    pub(super) exit: Port,
}

/// The last event of each thread that enters by a write, or by an earlier write of its chain; and the access.
#[derive(Clone, Debug, Default)]
struct Entrants {
    threads: usize,
    /// By value and thread. The node is greater by one, so that zero is none.
    ports: Vec<Port>,
}

impl Entrants {
    fn new(nodes: &Nodes, counts: impl Fn(&Port) -> bool) -> Self {
        let threads = nodes.threads();
        let values = nodes.updaters.len();
        let mut ports = vec![Port::default(); values * threads];
        let is_first = |value: usize| nodes.starts.binary_search(&(value as u32 + nodes.events)).is_ok();
        for value in 0..values {
            if value < nodes.writes as usize && !is_first(value) {
                ports.copy_within((value - 1) * threads..value * threads, value * threads);
            }
            for port in nodes.entries.of(value).iter().filter(|port| counts(port)) {
                let thread = nodes.steps.thread(nodes.event_of[port.node as usize]);
                let last = &mut ports[value * threads + thread];
                if last.node <= port.node {
                    *last = Port { node: port.node + 1, ..*port };
                }
            }
        }
        Self { threads, ports }
    }

    fn of(&self, value: Value) -> &[Port] {
        &self.ports[value as usize * self.threads..][..self.threads]
    }
}

/// The rules. See the [module](self).
#[derive(Clone)]
pub(super) struct PscRules<'a> {
    nodes: &'a Nodes,
    lanes: usize,
    /// By whom reads exit to fences: only fences; and by whom writes exit: all.
    entrants: [Entrants; 2],
    /// The ways that were taken, and their numbers.
    ways: Vec<Way>,
    numbers: FxHashMap<Way, u32>,
    /// By location and lane: what a clock must reach to know of the last event that has entered and to which a write of
    /// the location exits.
    last_exit: Vec<u32>,
}

impl<'a> PscRules<'a> {
    pub(super) fn new(nodes: &'a Nodes) -> Self {
        let lanes = order::lanes::lanes(nodes.threads());
        let is_fence = |port: &Port| nodes.steps.is_fence(nodes.event_of[port.node as usize]);
        let of_reads = if nodes.steps.has_fences { Entrants::new(nodes, is_fence) } else { Entrants::default() };
        Self {
            nodes,
            lanes,
            entrants: [of_reads, Entrants::new(nodes, |_| true)],
            ways: Vec::new(),
            numbers: FxHashMap::default(),
            last_exit: vec![0; lanes * nodes.steps.execution.location_count()],
        }
    }

    pub(super) fn way(&self, number: u32) -> Way {
        self.ways[number as usize]
    }

    fn by_way(&mut self, entry: Port, exit: Port) -> u32 {
        let (way, ways) = (Way { entry, exit }, &mut self.ways);
        let number = *self.numbers.entry(way).or_insert_with(|| {
            ways.push(way);
            ways.len() as u32 - 1
        });
        Reason::Way(number).number()
    }

    /// Whether a value is that of an initial write, or of a write that has entered.
    fn is_known(&self, order: &Saturation, value: Value) -> bool {
        self.nodes.write(value).is_none_or(|write| order.is_in(write))
    }

    /// From `psc`: of the events of one thread from `low` on that are before the node of an entry, the last exit.
    fn writes_before(
        &mut self,
        order: &Saturation,
        entry: Port,
        lane: usize,
        (low, high): (u32, u32),
        derived: &mut Vec<Derived>,
    ) {
        let nodes = self.nodes;
        let value = nodes.value(entry.access);
        let is_fence = nodes.steps.is_fence(nodes.event_of[entry.node as usize]);
        for exits in nodes.exits_at(nodes.steps.location(entry.access), lane) {
            if exits.of_reads && !is_fence {
                continue;
            }
            let at = exits.ports.partition_point(|exit| exit.node < high);
            let Some(&exit) = at.checked_sub(1).map(|at| &exits.ports[at]).filter(|exit| exit.node >= low) else {
                continue;
            };
            let from = nodes.value(exit.access) + nodes.events;
            match nodes.write(value) {
                None => derived.push(Derived { from, to: NONE, reason: self.by_way(entry, exit) }),
                Some(to) if !order.before(from, to) => {
                    derived.push(Derived { from, to, reason: self.by_way(entry, exit) });
                }
                Some(_) => {}
            }
        }
    }

    /// The same for all threads.
    fn all_writes_before(&mut self, order: &Saturation, entry: Port, derived: &mut Vec<Derived>) {
        for lane in 0..self.nodes.threads() {
            let clock = order.clock(entry.node)[lane];
            self.writes_before(order, entry, lane, (0, clock), derived);
        }
    }

    /// To `psc`, for an event that enters: the first event of each thread that it is before.
    fn events_after(&mut self, order: &Saturation, entry: Port, derived: &mut Vec<Derived>) {
        let nodes = self.nodes;
        let value = nodes.value(entry.access);
        let is_fence = nodes.steps.is_fence(nodes.event_of[entry.node as usize]);
        for lane in 0..nodes.threads() {
            for exits in nodes.exits_at(nodes.steps.location(entry.access), lane) {
                if exits.of_reads && !is_fence {
                    continue;
                }
                let entered = &exits.ports[..exits.ports.partition_point(|exit| exit.node < order.frontier(lane))];
                let is_after = |exit: &Port| {
                    let other = nodes.value(exit.access);
                    other != value && nodes.write(value).is_none_or(|value| order.before(value, other + nodes.events))
                };
                // Mostly none is.
                if !entered.last().is_some_and(is_after) {
                    continue;
                }
                let exit = entered[entered.partition_point(|exit| !is_after(exit))];
                if !order.before(entry.node, exit.node) {
                    derived.push(Derived { from: entry.node, to: exit.node, reason: self.by_way(entry, exit) });
                }
            }
        }
    }

    /// To `psc`, for an exit: from all that enter by the writes of one thread from `low` on that are before its write.
    fn events_before(&mut self, order: &Saturation, exit: Port, (low, high): (Node, Node), derived: &mut Vec<Derived>) {
        let nodes = self.nodes;
        let known = nodes.starts.binary_search(&low).is_err().then(|| low - 1 - nodes.events);
        self.entrants_before(order, exit, high - 1 - nodes.events, known, derived);
    }

    fn entrants_before(
        &mut self,
        order: &Saturation,
        exit: Port,
        value: Value,
        known: Option<Value>,
        derived: &mut Vec<Derived>,
    ) {
        let which = usize::from(self.nodes.steps.kind(exit.access).writes());
        for thread in 0..self.nodes.threads() {
            let entrants = &self.entrants[which];
            let mut entry = entrants.of(value)[thread];
            if entry.node == 0 || known.is_some_and(|known| entrants.of(known)[thread] == entry) {
                continue;
            }
            entry.node -= 1;
            if order.is_in(entry.node) && !order.before(entry.node, exit.node) {
                derived.push(Derived { from: entry.node, to: exit.node, reason: self.by_way(entry, exit) });
            }
        }
    }

    fn entered_event(&mut self, order: &Saturation, node: Node, derived: &mut Vec<Derived>) {
        let nodes = self.nodes;
        for &access in nodes.ins.of(node as usize) {
            let entry = Port { node, access };
            if self.is_known(order, nodes.value(access)) {
                self.all_writes_before(order, entry, derived);
                self.events_after(order, entry, derived);
            }
        }
        for &access in nodes.outs.of(node as usize) {
            let exit = Port { node, access };
            let (write, location) = (nodes.value(access) + nodes.events, nodes.steps.location(access));
            for lane in 0..nodes.threads() {
                let start = order.start(nodes.chain(location, lane));
                // What enters by the write itself is not before it.
                let high = order.clock(write)[lane] - u32::from(order.lane(write) == lane);
                if start < high {
                    self.events_before(order, exit, (start, high), derived);
                }
            }
            self.entrants_before(order, exit, nodes.writes + location as u32, None, derived);
            if nodes.steps.kind(access).writes() {
                self.last_exit[location * self.lanes + order.lane(node)] = node + 1;
            }
        }
    }

    /// The first write of each thread that has entered and comes after another one.
    fn firsts_after(&self, order: &Saturation, value: Value, location: usize, mut found: impl FnMut(Node)) {
        let nodes = self.nodes;
        for lane in 0..nodes.threads() {
            let chain = nodes.chain(location, lane);
            let (start, end) = (order.start(chain), order.frontier(chain));
            let is_after =
                |write: Node| nodes.write(value).is_none_or(|value| value != write && order.before(value, write));
            if start == end || !is_after(end - 1) {
                continue;
            }
            let (mut low, mut high) = (start, end - 1);
            while low < high {
                let middle = u32::midpoint(low, high);
                if is_after(middle) { high = middle } else { low = middle + 1 }
            }
            found(low);
        }
    }

    fn entered_write(&mut self, order: &Saturation, node: Node, derived: &mut Vec<Derived>) {
        let nodes = self.nodes;
        let (location, event) = (nodes.location(node), nodes.event_of[node as usize]);
        for &fact in nodes.facts_from.of(node as usize) {
            let (from, to) = nodes.pair(fact);
            derived.push(Derived { from, to, reason: Reason::Fact(fact).number() });
        }
        for lane in 0..nodes.threads() {
            let high = order.clock(node)[lane] - u32::from(order.lane(node) == lane);
            if high > order.start(nodes.chain(location, lane)) {
                self.atomic(order, node, high - 1, derived);
            }
        }
        self.atomic_after(order, nodes.writes + location as u32, node, derived);
        if nodes.steps.kind(event) == Kind::Rmw {
            let source = nodes.source(event);
            self.firsts_after(order, source, location, |write| {
                if write != node && !order.before(node, write) {
                    derived.push(Derived { from: node, to: write, reason: Reason::Update.number() });
                }
            });
        }
        for at in 0..nodes.entries.of((node - nodes.events) as usize).len() {
            let entry = nodes.entries.of((node - nodes.events) as usize)[at];
            if order.is_in(entry.node) {
                self.all_writes_before(order, entry, derived);
            }
        }
    }

    /// Atomicity, for two writes of which the first is now before the second.
    fn atomic(&self, order: &Saturation, second: Node, first: Node, derived: &mut Vec<Derived>) {
        let nodes = self.nodes;
        let event = nodes.event_of[second as usize];
        if nodes.steps.kind(event) == Kind::Rmw {
            let reason = Reason::Source(event).number();
            match nodes.write(nodes.source(event)) {
                None => derived.push(Derived { from: first, to: NONE, reason }),
                Some(source) if !order.before(first, source) => {
                    derived.push(Derived { from: first, to: source, reason });
                }
                Some(_) => {}
            }
        }
        self.atomic_after(order, first - nodes.events, second, derived);
    }

    /// Atomicity, for a write that comes after a value.
    fn atomic_after(&self, order: &Saturation, value: Value, write: Node, derived: &mut Vec<Derived>) {
        let updater = self.nodes.updaters[value as usize];
        if updater == NONE {
            return;
        }
        let updater = self.nodes.of_write(updater);
        if updater != write && order.is_in(updater) && !order.before(updater, write) {
            derived.push(Derived { from: updater, to: write, reason: Reason::Update.number() });
        }
    }
}

impl Rules for PscRules<'_> {
    fn entered(&mut self, order: &Saturation, node: Node, derived: &mut Vec<Derived>) {
        if self.nodes.is_event(node) {
            self.entered_event(order, node, derived);
        } else {
            self.entered_write(order, node, derived);
        }
    }

    fn grown(&mut self, order: &Saturation, node: Node, lane: usize, old: u32, new: u32, derived: &mut Vec<Derived>) {
        let nodes = self.nodes;
        if nodes.is_event(node) {
            for &access in nodes.ins.of(node as usize) {
                if self.is_known(order, nodes.value(access)) {
                    self.writes_before(order, Port { node, access }, lane, (old, new), derived);
                }
            }
            return;
        }
        self.atomic(order, node, new - 1, derived);
        let low = old.max(order.start(nodes.chain(nodes.location(node), lane)));
        for &exit in nodes.exits.of((node - nodes.events) as usize) {
            if order.is_in(exit.node) {
                self.events_before(order, exit, (low, new), derived);
            }
        }
    }

    /// The clock of an access grows in vain if no write of its location exits to what is new.
    fn watched(&self, node: Node) -> Option<&[u32]> {
        if !self.nodes.is_event(node) || self.nodes.steps.is_fence(self.nodes.event_of[node as usize]) {
            return None;
        }
        Some(&self.last_exit[self.nodes.location(node) * self.lanes..][..self.lanes])
    }
}
