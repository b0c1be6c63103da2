//! The nodes of the order that is saturated, and how values, entries and exits belong to them.
//!
//! There is a node for each sequentially consistent event, and one for each write. They stand in layers
//! ([`order::Saturation::in_layers`]): the first layer has the events, with a chain for each thread; behind it, each
//! location has a layer with a chain of its writes for each thread. An edge of the first layer is one of `psc+`, an
//! edge of a location one of `mo`.
//!
//! The *value* of an access is the write that it makes or else reads. Two relations say how `mo` makes `psc`:
//! - an event s *enters* through an access a, if it is a or is a fence that happens before a;
//! - b *exits* to an event g, if b is g or happens before the fence g; only writes exit to all, reads exit to fences
//!   for the sake of entries of fences (`eco` may end with `rf`, `scb` may not).
//!
//! If s enters through a, b exits to g, and the value of a is before that of b in `mo`, then s is before g in `psc`.
//! Together with `psc` that does not depend on `mo` ([`super::fixed`]) this is all of `psc`, up to transitivity.
//!
//! Of the accesses of one thread and location by which a fence enters (exits), only the first (last) is listed, and it
//! only if the next (last) fence of the thread does not list it or a better one. By coherence the others follow.

use history::execution::{EventId, Kind};
use order::Rows;

use super::steps::{NONE, Steps};

/// A node: its number in the order.
pub(super) type Node = u32;
/// A write, by its node without the events, or the initial write of a location behind these.
pub(super) type Value = u32;

/// An event, as a node, and an access by which it enters or which exits to it.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Port {
    pub(super) node: Node,
    pub(super) access: u32,
}

/// Exits of the accesses of one thread and location to the events of one thread, in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Exits {
    /// Whether these are exits of reads, to fences.
    pub(super) of_reads: bool,
    pub(super) ports: Vec<Port>,
}

/// A pair of writes that coherence orders: the value of an access that happens before another one, and the target of
/// the latter, which is its source or else its write.
#[derive(Copy, Clone, Debug)]
pub(super) struct Fact {
    pub(super) before: u32,
    pub(super) after: u32,
}

pub(super) struct Nodes {
    pub(super) steps: Steps,
    /// Where each chain begins, and the number of all nodes.
    pub(super) starts: Vec<u32>,
    /// How many nodes stand for events, and how many for writes.
    pub(super) events: u32,
    pub(super) writes: u32,
    /// By node: its event. By event: its node in the first layer, and that of its write.
    pub(super) event_of: Vec<u32>,
    of_event: Vec<Node>,
    of_write: Vec<Node>,
    /// By value: the rmw that reads it.
    pub(super) updaters: Vec<u32>,
    /// By node of an event: the accesses by which it enters, and those that exit to it.
    pub(super) ins: Rows,
    pub(super) outs: Rows,
    /// By value: who enters by it, and where it exits to.
    pub(super) entries: Rows<Port>,
    pub(super) exits: Rows<Port>,
    /// By location and thread of the event: the lists of exits.
    exits_at: Rows,
    lists: Vec<Exits>,
    pub(super) facts: Vec<Fact>,
    /// By node: the facts that end in it and that are known when it enters; those that begin in it and are not.
    pub(super) facts_into: Rows,
    pub(super) facts_from: Rows,
}

impl Nodes {
    /// None if two rmws read one write: `rc20` forbids that.
    pub(super) fn new(steps: Steps) -> Option<Self> {
        let (execution, count) = (&steps.execution, steps.execution.len() as u32);
        let (threads, locations) = (execution.thread_count(), execution.location_count());
        let (mut starts, mut event_of) = (Vec::new(), Vec::new());
        let (mut of_event, mut of_write) = (vec![NONE; count as usize], vec![NONE; count as usize]);
        for thread in 0..threads {
            starts.push(event_of.len() as u32);
            for at in steps.events_of(thread).filter(|&at| steps.is_sequential[at as usize]) {
                of_event[at as usize] = event_of.len() as u32;
                event_of.push(at);
            }
        }
        let events = event_of.len() as u32;
        for location in 0..locations {
            let mut writes =
                steps.accesses.of(location).iter().copied().filter(|&at| steps.kind(at).writes()).peekable();
            for thread in 0..threads {
                starts.push(event_of.len() as u32);
                while let Some(at) = writes.next_if(|&at| steps.thread(at) == thread) {
                    of_write[at as usize] = event_of.len() as u32;
                    event_of.push(at);
                }
            }
        }
        starts.push(event_of.len() as u32);
        let writes = event_of.len() as u32 - events;
        let mut nodes = Self {
            steps,
            starts,
            events,
            writes,
            event_of,
            of_event,
            of_write,
            updaters: vec![NONE; writes as usize + locations],
            ins: Rows::default(),
            outs: Rows::default(),
            entries: Rows::default(),
            exits: Rows::default(),
            exits_at: Rows::default(),
            lists: Vec::new(),
            facts: Vec::new(),
            facts_into: Rows::default(),
            facts_from: Rows::default(),
        };
        for at in (0..count).filter(|&at| nodes.steps.kind(at) == Kind::Rmw).collect::<Vec<_>>() {
            let source = nodes.source(at) as usize;
            if std::mem::replace(&mut nodes.updaters[source], at) != NONE {
                return None;
            }
        }
        nodes.find_ports();
        nodes.find_facts();
        Some(nodes)
    }

    pub(super) fn count(&self) -> u32 {
        self.event_of.len() as u32
    }

    pub(super) fn threads(&self) -> usize {
        self.steps.execution.thread_count()
    }

    /// Whether a node stands for an event of `psc`, and not for a write.
    #[inline]
    pub(super) fn is_event(&self, node: Node) -> bool {
        node < self.events
    }

    /// The node of a sequentially consistent event, or [`NONE`].
    pub(super) fn of_event(&self, event: u32) -> Node {
        self.of_event[event as usize]
    }

    /// The node of a write, or [`NONE`].
    pub(super) fn of_write(&self, event: u32) -> Node {
        self.of_write[event as usize]
    }

    /// The location of the access of a node.
    #[inline]
    pub(super) fn location(&self, node: Node) -> usize {
        self.steps.location(self.event_of[node as usize])
    }

    /// The chain of a thread in the layer of a location.
    #[inline]
    pub(super) fn chain(&self, location: usize, thread: usize) -> usize {
        (1 + location) * self.threads() + thread
    }

    /// The value of an access.
    #[inline]
    pub(super) fn value(&self, access: u32) -> Value {
        let write = self.of_write[access as usize];
        if write == NONE { self.source(access) } else { write - self.events }
    }

    /// What a read reads.
    #[inline]
    pub(super) fn source(&self, read: u32) -> Value {
        let event = self.steps.execution.events()[read as usize];
        match event.source {
            EventId::INIT => self.writes + event.location.0,
            source => self.of_write[source.index()] - self.events,
        }
    }

    /// The node of a value. None for an initial write.
    #[inline]
    pub(super) fn write(&self, value: Value) -> Option<Node> {
        (value < self.writes).then_some(value + self.events)
    }

    /// What an access reads, or else writes: nothing is between it and what happened before.
    pub(super) fn target(&self, access: u32) -> Value {
        if self.steps.kind(access).reads() { self.source(access) } else { self.value(access) }
    }

    /// The lists of exits of accesses to a location, to events of a thread.
    pub(super) fn exits_at(&self, location: usize, thread: usize) -> impl Iterator<Item = &Exits> {
        self.exits_at.of(location * self.threads() + thread).iter().map(|&list| &self.lists[list as usize])
    }

    fn find_ports(&mut self) {
        let (mut ins, mut outs) = (Vec::new(), Vec::new());
        let mut seen = vec![[NONE; 2]; self.steps.execution.location_count()];
        let mut turn = 0;
        for node in 0..self.events {
            let event = self.event_of[node as usize];
            let port = Port { node, access: event };
            match self.steps.kind(event) {
                Kind::Fence => {
                    for thread in 0..self.threads() {
                        turn += 1;
                        self.find_ins(node, thread, |access, location| {
                            if std::mem::replace(&mut seen[location][0], turn) != turn {
                                ins.push(Port { node, access });
                            }
                        });
                        turn += 1;
                        // The last write counts, and the last access if it is another.
                        self.find_outs(node, thread, |access, location, writes| {
                            let [any, write] = &mut seen[location];
                            let is_first = if writes { *write != turn } else { *any != turn };
                            *any = turn;
                            if writes {
                                *write = turn;
                            }
                            outs.extend(is_first.then_some(Port { node, access }));
                        });
                    }
                }
                kind => {
                    ins.push(port);
                    outs.extend(kind.writes().then_some(port));
                }
            }
        }
        // The initial write exits to nothing: nothing is before it.
        outs.retain(|port| self.write(self.value(port.access)).is_some());
        let values = self.updaters.len();
        let by_node = |ports: &[Port]| {
            Rows::new(self.events as usize, ports.iter().map(|port| (port.node as usize, port.access)))
        };
        let by_value =
            |ports: &[Port]| Rows::new(values, ports.iter().map(|&port| (self.value(port.access) as usize, port)));
        let (ins_of, outs_of) = (by_node(&ins), by_node(&outs));
        let (entries, exits) = (by_value(&ins), by_value(&outs));
        let key = |port: &Port| {
            let steps = &self.steps;
            let row = steps.location(port.access) * self.threads() + steps.thread(self.event_of[port.node as usize]);
            (row, !steps.kind(port.access).writes(), steps.thread(port.access))
        };
        outs.sort_unstable_by_key(|port| (key(port), *port));
        let (mut rows, mut lists) = (Vec::new(), Vec::new());
        for list in outs.chunk_by(|one, two| key(one) == key(two)) {
            let (row, of_reads, _) = key(&list[0]);
            rows.push((row, lists.len() as u32));
            lists.push(Exits { of_reads, ports: list.to_vec() });
        }
        self.lists = lists;
        self.exits_at = Rows::new(self.steps.execution.location_count() * self.threads(), rows.iter().copied());
        (self.ins, self.outs, self.entries, self.exits) = (ins_of, outs_of, entries, exits);
    }

    /// The accesses of a thread that a fence happens before, but not the next fence of its own thread, in their order.
    fn find_ins(&self, node: Node, thread: usize, mut found: impl FnMut(u32, usize)) {
        let (steps, fence) = (&self.steps, self.event_of[node as usize]);
        let own = steps.thread(fence);
        let next = (node + 1..self.starts[own + 1]).map(|next| self.event_of[next as usize]);
        let next = next.into_iter().find(|&next| steps.is_fence(next));
        let range = steps.events_of(thread);
        let first_after = |fence: u32| {
            let length = (range.end - range.start) as usize;
            let (mut low, mut high) = (0, length);
            while low < high {
                let middle = usize::midpoint(low, high);
                if steps.happens(fence, range.start + middle as u32) { high = middle } else { low = middle + 1 }
            }
            range.start + low as u32
        };
        let end = next.map_or(range.end, first_after);
        for access in (first_after(fence)..end).filter(|&at| !steps.is_fence(at)) {
            found(access, steps.location(access));
        }
    }

    /// The accesses of a thread that happen before a fence, but not before the last fence of its own thread, the last
    /// first.
    fn find_outs(&self, node: Node, thread: usize, mut found: impl FnMut(u32, usize, bool)) {
        let (steps, fence) = (&self.steps, self.event_of[node as usize]);
        let own = steps.thread(fence);
        let last = (self.starts[own]..node).rev().map(|last| self.event_of[last as usize]);
        let last = last.into_iter().find(|&last| steps.is_fence(last));
        let begin = steps.events_of(thread).start;
        let from = begin + last.map_or(0, |last| steps.clock(last)[thread]);
        for access in (from..begin + steps.clock(fence)[thread]).rev().filter(|&at| !steps.is_fence(at)) {
            found(access, steps.location(access), steps.kind(access).writes());
        }
    }

    /// For each access the last access of each thread that happens before it, unless the last access of its own thread
    /// knows of that one, too.
    fn find_facts(&mut self) {
        let steps = &self.steps;
        let mut facts = Vec::new();
        let (mut into, mut from) = (Vec::new(), Vec::new());
        for &after in steps.line.iter().filter(|&&after| !steps.is_fence(after)) {
            let own = Some(steps.previous[after as usize]).filter(|&own| own != NONE);
            let target = self.target(after);
            let news = |&before: &u32| own.is_none_or(|own| !steps.happens(before, own));
            for before in own.into_iter().chain(steps.before.of(after as usize).iter().copied().filter(news)) {
                let value = self.value(before);
                let Some(first) = self.write(value).filter(|_| value != target) else { continue };
                let second = self.write(target);
                let place = |node: Node| steps.places[self.event_of[node as usize] as usize];
                let fact = facts.len() as u32;
                match second.filter(|&second| place(first) < place(second)) {
                    Some(second) => into.push((second as usize, fact)),
                    None => from.push((first as usize, fact)),
                }
                facts.push(Fact { before, after });
            }
        }
        self.facts = facts;
        self.facts_into = Rows::new(self.event_of.len(), into.iter().copied());
        self.facts_from = Rows::new(self.event_of.len(), from.iter().copied());
    }

    /// The two writes of a fact. The second is [`NONE`] if it is the initial write, which cannot be.
    pub(super) fn pair(&self, fact: u32) -> (Node, Node) {
        let Fact { before, after } = self.facts[fact as usize];
        (self.value(before) + self.events, self.write(self.target(after)).unwrap_or(NONE))
    }
}
