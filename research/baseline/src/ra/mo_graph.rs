//! C11Tester's graph of modification order (Luo and Demsky, *C11Tester: A Race Detector for C/C++ Atomics*, ASPLOS
//! 2021): an online check for `ra`.
//!
//! The nodes are the writes of a location. Each has a clock: for each thread, up to which of its events the writes of
//! the location reach the node. So the graph is always closed, and whether one write comes before another is one
//! comparison. A new edge joins clocks along all edges that follow, as far as they change.
//!
//! An access orders the writes of its *prior set* (for each thread, its last access of the location that happens
//! before, or what that one read) before the write that it reads or is. A read is refused if that write already reaches
//! one of them. An rmw comes right after what it reads: it takes over all edges that leave its source, and later edges
//! from the source leave from the end of the chain of rmws instead. (Here the ends of each chain are noted; C11Tester
//! walks along the chain.) One correction makes the check exact: an edge into an rmw goes to the top of its chain,
//! because what comes before an rmw, and is not its source, comes before the source, too.

use history::execution::Kind;
use rustc_hash::FxHashMap;

use super::{Online, Refused};

struct Node {
    /// The thread; zero is that of the initial writes.
    thread: u32,
    index: u32,
    clock: Vec<u32>,
    edges: Vec<u32>,
    /// The rmw that reads it.
    rmw: Option<u32>,
    /// The number of its chain of rmws.
    chain: u32,
}

/// The last access of a thread to a location, at a place in the thread: the write, or the write that was read.
#[derive(Copy, Clone)]
struct Access {
    index: u32,
    write: u32,
}

/// The graph: see the module.
#[derive(Default)]
pub struct MoGraph {
    nodes: Vec<Node>,
    /// By chain of rmws: its first and its last write.
    chains: Vec<[u32; 2]>,
    /// By thread: what happens before its next event. Thread numbers are one more than those of the caller.
    current: Vec<Vec<u32>>,
    /// By node: what happens before the write.
    happens: Vec<Vec<u32>>,
    initial: FxHashMap<u32, u32>,
    /// By location and thread: the accesses.
    accesses: FxHashMap<(u32, u32), Vec<Access>>,
    queue: Vec<u32>,
}

/// Joins clocks. The answer is whether the first has changed.
fn join(into: &mut Vec<u32>, from: &[u32]) -> bool {
    if into.len() < from.len() {
        into.resize(from.len(), 0);
    }
    let mut changed = false;
    for (lane, &count) in into.iter_mut().zip(from) {
        changed |= *lane < count;
        *lane = u32::max(*lane, count);
    }
    changed
}

fn lane(clock: &[u32], thread: u32) -> u32 {
    clock.get(thread as usize).copied().unwrap_or(0)
}

impl MoGraph {
    /// Nothing has happened.
    pub fn new() -> Self {
        Self::default()
    }

    fn reaches(&self, from: u32, to: u32) -> bool {
        let Node { thread, index, .. } = self.nodes[from as usize];
        lane(&self.nodes[to as usize].clock, thread) >= index
    }

    fn node(&mut self, thread: u32, index: u32, happens: Vec<u32>) -> u32 {
        let mut clock = vec![0; thread as usize + 1];
        clock[thread as usize] = index;
        let (number, chain) = (self.nodes.len() as u32, self.chains.len() as u32);
        self.nodes.push(Node { thread, index, clock, edges: Vec::new(), rmw: None, chain });
        self.chains.push([number; 2]);
        self.happens.push(happens);
        number
    }

    fn initial(&mut self, location: u32) -> u32 {
        if let Some(&node) = self.initial.get(&location) {
            return node;
        }
        let node = self.node(0, 1, Vec::new());
        self.initial.insert(location, node);
        node
    }

    /// Adds an edge. An edge into a new node is forced: its clock already counts earlier writes of its thread, which do
    /// not reach it yet.
    fn add_edge(&mut self, from: u32, to: u32, is_forced: bool) {
        let [of, other] = [from, to].map(|node| self.nodes[node as usize].chain);
        if of == other {
            return;
        }
        let (from, to) = (self.chains[of as usize][1], self.chains[other as usize][0]);
        if is_forced || !self.reaches(from, to) {
            self.link(from, to);
        }
    }

    fn link(&mut self, from: u32, to: u32) {
        self.nodes[from as usize].edges.push(to);
        self.propagate(from);
    }

    /// Joins the clock of a node to those that follow it, as far as they change.
    fn propagate(&mut self, from: u32) {
        self.queue.push(from);
        while let Some(at) = self.queue.pop() {
            let clock = std::mem::take(&mut self.nodes[at as usize].clock);
            let edges = std::mem::take(&mut self.nodes[at as usize].edges);
            for next in edges.iter().copied().chain(self.nodes[at as usize].rmw) {
                if join(&mut self.nodes[next as usize].clock, &clock) {
                    self.queue.push(next);
                }
            }
            self.nodes[at as usize].clock = clock;
            self.nodes[at as usize].edges = edges;
        }
    }

    /// The prior set of an access of this thread.
    fn prior(&self, thread: u32, location: u32) -> Vec<u32> {
        let clock = &self.current[thread as usize];
        let last = |other: u32| {
            let list = self.accesses.get(&(location, other))?;
            let known = list.partition_point(|access| access.index <= lane(clock, other));
            Some(list[..known].last()?.write)
        };
        (1..self.current.len() as u32).filter_map(last).collect()
    }

    fn tick(&mut self, thread: u32) -> u32 {
        let clock = &mut self.current[thread as usize];
        clock.resize(clock.len().max(thread as usize + 1), 0);
        clock[thread as usize] += 1;
        clock[thread as usize]
    }

    fn note(&mut self, thread: u32, location: u32, index: u32, write: u32) {
        self.accesses.entry((location, thread)).or_default().push(Access { index, write });
    }
}

impl Online for MoGraph {
    fn push(&mut self, thread: u32, kind: Kind, location: u32, source: Option<u32>) -> Result<Option<u32>, Refused> {
        let thread = thread + 1;
        if self.current.len() <= thread as usize {
            self.current.resize(thread as usize + 1, Vec::new());
        }
        if kind == Kind::Fence {
            return Ok(None);
        }
        let initial = self.initial(location);
        let prior = self.prior(thread, location);
        if kind == Kind::Write {
            let index = self.tick(thread);
            let node = self.node(thread, index, self.current[thread as usize].clone());
            self.add_edge(initial, node, true);
            for before in prior {
                self.add_edge(before, node, true);
            }
            self.note(thread, location, index, node);
            return Ok(Some(node));
        }
        let read = source.unwrap_or(initial);
        let is_overwritten = prior.iter().any(|&before| before != read && self.reaches(read, before));
        if is_overwritten || (kind == Kind::Rmw && self.nodes[read as usize].rmw.is_some()) {
            return Err(Refused);
        }
        for before in prior {
            self.add_edge(before, read, false);
        }
        let index = self.tick(thread);
        join(&mut self.current[thread as usize], &self.happens[read as usize]);
        let write = if kind == Kind::Rmw {
            let node = self.node(thread, index, self.current[thread as usize].clone());
            self.nodes[node as usize].edges = std::mem::take(&mut self.nodes[read as usize].edges);
            self.nodes[read as usize].rmw = Some(node);
            // The chain that was made for the node alone is not used.
            let chain = self.nodes[read as usize].chain;
            self.nodes[node as usize].chain = chain;
            self.chains[chain as usize][1] = node;
            let clock = self.nodes[read as usize].clock.clone();
            join(&mut self.nodes[node as usize].clock, &clock);
            // The rmw reaches what its source reached.
            self.propagate(node);
            node
        } else {
            read
        };
        self.note(thread, location, index, write);
        Ok((kind == Kind::Rmw).then_some(write))
    }
}
