//! Histories in which the order of the versions of every key is known: lists, and registers whose writers read them
//! first. There `serializable`, `prefix` and `snapshot-isolation` are the question whether a graph has a cycle.
//!
//! With the order of versions `ww` total on each key, and rw = {(t3, t2): t3 reads the version before that of t2},
//! the graphs are, over the events of [`crate::frame`]:
//!
//! | level | edges |
//! | --- | --- |
//! | serializable | t → u for so, wr, ww, rw |
//! | prefix | R_t → W_t; W_t → R_u for so, wr; W_t → W_u for ww; R_t → W_u for rw |
//! | snapshot-isolation | R_t → W_t; W_t → R_u for so, wr, ww; R_t → W_u for rw |
//!
//! Appends that no read shows come after all that are shown, in any order. Nobody reads their versions, so
//! `serializable` and `prefix` need not know that order. Under `snapshot-isolation` two of them must not overlap: an
//! order is guessed in which each begins only when the other has ended. If the guess fails, the search decides.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use order::Rows;
use order::saturation::NONE;

use crate::graph::{CommitEdge, CommitGraph, EdgeReason};
use crate::view::{ExternalRead, INIT, TransactionView};
use crate::weak::{add_real_time, add_versions};
use crate::{Sessions, Strong};

/// What comes right after a version.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Next {
    Nothing,
    /// The version of this transaction.
    Version(u32),
    /// The appends that no read shows.
    Unseen,
}

/// The order of the versions of every key.
pub struct Versions {
    /// The number of the first write of each transaction.
    starts: Vec<u32>,
    /// By write: what comes right after it.
    next: Vec<Next>,
    /// By key: what comes right after the initial version.
    first: Vec<Next>,
}

/// Two transactions that read one version of a key and both write the key.
pub fn lost_update(view: &TransactionView) -> Option<[ExternalRead; 2]> {
    let children = Children::new(view);
    children.twice
}

/// By version: the first transaction that reads it and writes the key.
struct Children {
    starts: Vec<u32>,
    of_write: Vec<u32>,
    of_key: Vec<u32>,
    twice: Option<[ExternalRead; 2]>,
}

fn write_number(view: &TransactionView, starts: &[u32], t: u32, key: u32) -> usize {
    starts[t as usize] as usize + view.place_of_write(t, key).unwrap_or(0)
}

impl Children {
    fn new(view: &TransactionView) -> Self {
        let mut starts = Vec::with_capacity(view.len() + 1);
        starts.push(0u32);
        for t in view.all() {
            starts.push(starts[t as usize] + view.writes_of(t).len() as u32);
        }
        let mut of_write = vec![NONE; starts[view.len()] as usize];
        let mut of_key = vec![NONE; view.keys];
        let mut twice = None;
        for u in view.all() {
            for read in view.reads_of(u).iter().filter(|read| view.has_write(u, read.key)) {
                let child = match read.source {
                    INIT => &mut of_key[read.key as usize],
                    t => &mut of_write[write_number(view, &starts, t, read.key)],
                };
                if *child == NONE {
                    *child = u;
                } else if *child != u && twice.is_none() {
                    let other = view.reads_of(*child).iter().find(|other| other.key == read.key);
                    twice = other.map(|&other| [other, *read]);
                }
            }
        }
        Self { starts, of_write, of_key, twice }
    }
}

impl Versions {
    /// The order of the versions, if it is known for every key.
    pub fn new(view: &TransactionView) -> Option<Self> {
        let Children { starts, of_write, of_key, .. } = Children::new(view);
        let mut next = vec![Next::Nothing; of_write.len()];
        let mut first = vec![Next::Nothing; view.keys];
        let writers = view.writers();
        for key in 0..view.keys {
            let number = |t: u32| write_number(view, &starts, t, key as u32);
            if view.is_list[key] {
                let seen = view.seen.of(key);
                for pair in seen.windows(2) {
                    next[number(pair[0])] = Next::Version(pair[1]);
                }
                let last = if view.unseen.of(key).is_empty() { Next::Nothing } else { Next::Unseen };
                first[key] = seen.first().map_or(last, |&t| Next::Version(t));
                if let Some(&t) = seen.last() {
                    next[number(t)] = last;
                }
                continue;
            }
            let writers = writers.of(key);
            let reads = |t: u32| view.reads_of(t).iter().find(|read| read.key == key as u32);
            // The only writer that does not read the version of another is the first.
            let mut heads = writers.iter().filter(|&&t| reads(t).is_none_or(|read| read.source == INIT));
            let Some(&head) = heads.next() else {
                if writers.is_empty() {
                    continue;
                }
                return None;
            };
            first[key] = Next::Version(head);
            let mut at = head;
            for _ in 1..writers.len() {
                let child = of_write[number(at)];
                if child == NONE {
                    return None;
                }
                next[number(at)] = Next::Version(child);
                at = child;
            }
            if of_key[key] != NONE && of_key[key] != head {
                return None;
            }
        }
        Some(Self { starts, next, first })
    }

    fn after(&self, view: &TransactionView, read: &ExternalRead) -> Next {
        match read.source {
            INIT => self.first[read.key as usize],
            t => self.next[write_number(view, &self.starts, t, read.key)],
        }
    }
}

/// The graph of a level. Reads are repeatable.
pub fn graph(view: &TransactionView, versions: &Versions, level: Strong, sessions: Sessions) -> CommitGraph {
    let split = level.is_split();
    let r = |t: u32| if split { 2 * t } else { t };
    let w = |t: u32| if split { 2 * t + 1 } else { t };
    let anchor = |t: u32| if level == Strong::Snapshot { r(t) } else { w(t) };
    let mut graph = CommitGraph::new(view.len() << u32::from(split));
    graph.edges.reserve(view.len() * 8);
    for t in view.all() {
        if split {
            graph.add(r(t), w(t), EdgeReason::Aside);
        }
        let before = view.before[t as usize];
        if sessions != Sessions::None && before != NONE {
            graph.add(w(before), r(t), EdgeReason::Session);
        }
    }
    if sessions == Sessions::RealTime {
        add_real_time(view, &mut graph, |t| [r(t), w(t)]);
    }
    add_versions(view, &mut graph, |t| [anchor(t), w(t)]);
    // By key: where the readers of the last version that is shown meet.
    let mut hubs = vec![NONE; view.keys];
    for t in view.all() {
        let mut last = INIT;
        for read in view.reads_of(t) {
            if read.source != last && read.source != INIT {
                graph.add(w(read.source), r(t), EdgeReason::Reads(read.operation));
                last = read.source;
            }
            match versions.after(view, read) {
                Next::Nothing => {}
                Next::Version(next) if next == t => {}
                Next::Version(next) => graph.add(r(t), w(next), EdgeReason::Next(read.operation)),
                Next::Unseen if !split && view.has_write(t, read.key) => {
                    for &next in view.unseen.of(read.key as usize).iter().filter(|&&next| next != t) {
                        graph.add(t, next, EdgeReason::Next(read.operation));
                    }
                }
                Next::Unseen => {
                    if hubs[read.key as usize] == NONE {
                        hubs[read.key as usize] = graph.vertex();
                        for &next in view.unseen.of(read.key as usize) {
                            graph.add(hubs[read.key as usize], w(next), EdgeReason::Aside);
                        }
                    }
                    graph.add(r(t), hubs[read.key as usize], EdgeReason::Next(read.operation));
                }
            }
        }
    }
    graph
}

/// Whether two appends to one list are shown by no read.
pub fn has_unseen_pairs(view: &TransactionView) -> bool {
    (0..view.keys).any(|key| view.unseen.of(key).len() > 1)
}

/// An order of the graph of `snapshot-isolation` in which no two transactions overlap that append to one list and are
/// shown by no read. There may be one even if the answer is `None`.
pub fn guess(view: &TransactionView, graph: &CommitGraph, place: impl Fn(u32) -> u32) -> Option<Vec<u32>> {
    let successors = Rows::new(graph.count, graph.edges.iter().map(|edge: &CommitEdge| (edge.from as usize, edge.to)));
    let mut open = vec![0u32; graph.count];
    for edge in &graph.edges {
        open[edge.to as usize] += 1;
    }
    let shared = (0..view.keys).filter(|&key| view.unseen.of(key).len() > 1);
    let locks = shared.flat_map(|key| view.unseen.of(key).iter().map(move |&t| (t as usize, key as u32)));
    let locks = Rows::new(view.len(), locks);
    // By key: the transaction that has begun and not ended, and those that wait for it.
    let mut holders = vec![NONE; view.keys];
    let mut waiting: Vec<Vec<u32>> = vec![Vec::new(); view.keys];
    let events = 2 * view.len() as u32;
    let first = (0..graph.count as u32).filter(|&vertex| open[vertex as usize] == 0);
    let mut heap: BinaryHeap<Reverse<(u32, u32)>> = first.map(|vertex| Reverse((place(vertex), vertex))).collect();
    let mut line = Vec::with_capacity(graph.count);
    while let Some(Reverse((_, vertex))) = heap.pop() {
        if vertex < events {
            let t = vertex / 2;
            let keys = locks.of(t as usize);
            if vertex.is_multiple_of(2) {
                if let Some(&key) = keys.iter().find(|&&key| holders[key as usize] != NONE) {
                    waiting[key as usize].push(vertex);
                    continue;
                }
                for &key in keys {
                    holders[key as usize] = t;
                }
            } else {
                for &key in keys {
                    holders[key as usize] = NONE;
                    let waiting = waiting[key as usize].drain(..);
                    heap.extend(waiting.map(|vertex| Reverse((place(vertex), vertex))));
                }
            }
        }
        line.push(vertex);
        for &to in successors.of(vertex as usize) {
            open[to as usize] -= 1;
            if open[to as usize] == 0 {
                heap.push(Reverse((place(to), to)));
            }
        }
    }
    (line.len() == graph.count).then_some(line)
}
