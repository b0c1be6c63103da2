//! The reduction of Theorem 1.7 of RF: an execution without rmws that `wra`, `ra` and `sra` allow if and only if a
//! graph has no triangle.
//!
//! No way is known to find a triangle among e edges in less than e^(3/2) steps without fast multiplication of matrices.
//! So nothing that decides one of these models can be linear. The executions have a thread for each part of the
//! reduction, as many as there are nodes and edges, so an algorithm that takes n k steps shows the square here.
//!
//! Nodes are 0, 1, ..., and every edge (a, b) has a < b. Each line below is a thread. `m`, `j`, `k`, `l` and `n` are
//! *messages*: locations with one write, by which one event happens before another.
//!
//! ```text
//! each node a       w_a       write y_a; write m_a
//! each edge (a, b)  w_a^b     read m_a; write y_a; write n_ab
//! each node b       wjxn_b    read n_ab for each edge (a, b); write j_b
//! each edge (a, b)  e_ab      read j_b; write k_ab
//! each node a       rjxn_a    read k_ab for each edge (a, b); write l_a
//! each edge (a, b)  r_b^a     read l_a; read y_b, the value of w_b
//! ```
//!
//! If a, b, c with a < b < c is a triangle, the write of y_b in `w_b^c` happens before `wjxn_c`, this before `e_ac`,
//! this before `rjxn_a`, and this before the last read of `r_b^a`. That read still returns the overwritten value of
//! `w_b`.

use history::execution::{Execution, Kind};
use history::{History, MemoryOrder};

use crate::memory::{MemoryStep, history_of};
use crate::random::SplitMix64;
use crate::rings;

/// What to generate.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct TriangleConfig {
    /// How many nodes the graph has.
    pub nodes: u32,
    /// How many edges it has. If that many do not fit, it has fewer.
    pub edges: u32,
    /// Whether three edges form a triangle. Otherwise none do.
    pub violating: bool,
    /// Where the random choices start.
    pub seed: u64,
}

impl TriangleConfig {
    /// What is wrong with the configuration, if anything.
    pub fn fault(&self) -> Option<&'static str> {
        if self.nodes < 3 {
            Some("a triangle needs three nodes")
        } else if self.nodes > 1 << 24 || self.edges > 1 << 26 {
            Some("more than 16 million nodes or 67 million edges")
        } else {
            None
        }
    }
}

/// The edges of the graph, each from the smaller to the larger node. The graph is bipartite: the even nodes and the odd
/// ones. With a triangle, three of its edges are replaced.
///
/// # Panics
/// If the configuration has a [fault](TriangleConfig::fault).
pub fn graph(config: &TriangleConfig) -> Vec<(u32, u32)> {
    assert_eq!(config.fault(), None);
    let mut random = SplitMix64::new(config.seed);
    let (even, odd) = (config.nodes.div_ceil(2), config.nodes / 2);
    let possible = u64::from(even) * u64::from(odd);
    let wanted = u64::from(config.edges).min(possible);
    let mut edges = Vec::with_capacity(wanted as usize + 3);
    // Selects the wanted number of pairs, each set of pairs alike, in one pass or, if there are few, by lot.
    let edge = |at: u64| {
        let (one, other) = (2 * (at / u64::from(odd)) as u32, 2 * (at % u64::from(odd)) as u32 + 1);
        (one.min(other), one.max(other))
    };
    if wanted * 4 < possible {
        while (edges.len() as u64) < wanted {
            let missing = wanted - edges.len() as u64;
            edges.extend((0..missing).map(|_| edge(random.below(possible))));
            edges.sort_unstable();
            edges.dedup();
        }
    } else {
        let mut left = wanted;
        for at in 0..possible {
            if random.below(possible - at) < left {
                edges.push(edge(at));
                left -= 1;
            }
        }
        edges.sort_unstable();
    }
    if config.violating {
        let a = random.between(0, config.nodes - 3);
        edges.truncate(edges.len().saturating_sub(3));
        edges.extend([(a, a + 1), (a + 1, a + 2), (a, a + 2)]);
        edges.sort_unstable();
        edges.dedup();
    }
    edges
}

/// The operations of the reduction for these edges of so many nodes, thread by thread.
pub fn steps(nodes: u32, edges: &[(u32, u32)]) -> Vec<MemoryStep> {
    let mut threads = Threads { steps: Vec::new(), thread: 0, written: 0 };
    let count = edges.len() as u32;
    // The locations: y, m, j and l for each node, then n and k for each edge.
    let of_node = |kind: u32, node: u32| kind * nodes + node;
    let of_edge = |kind: u32, edge: u32| 4 * nodes + kind * count + edge;
    let [y, m, j, l] = [0, 1, 2, 3];
    let [n, k] = [0, 1];
    let mut first = vec![0; nodes as usize];
    let mut known = vec![0; nodes as usize];
    for a in 0..nodes {
        first[a as usize] = threads.write(of_node(y, a));
        known[a as usize] = threads.write(of_node(m, a));
        threads.next();
    }
    let mut told = Vec::with_capacity(edges.len());
    for (at, &(a, _)) in (0..).zip(edges) {
        threads.read(of_node(m, a), known[a as usize]);
        threads.write(of_node(y, a));
        told.push(threads.write(of_edge(n, at)));
        threads.next();
    }
    let mut into: Vec<Vec<u32>> = vec![Vec::new(); nodes as usize];
    let mut out: Vec<Vec<u32>> = vec![Vec::new(); nodes as usize];
    for (at, &(a, b)) in (0..).zip(edges) {
        into[b as usize].push(at);
        out[a as usize].push(at);
    }
    let mut joined = Vec::with_capacity(nodes as usize);
    for b in 0..nodes {
        for &at in &into[b as usize] {
            threads.read(of_edge(n, at), told[at as usize]);
        }
        joined.push(threads.write(of_node(j, b)));
        threads.next();
    }
    let mut passed = Vec::with_capacity(edges.len());
    for (at, &(_, b)) in (0..).zip(edges) {
        threads.read(of_node(j, b), joined[b as usize]);
        passed.push(threads.write(of_edge(k, at)));
        threads.next();
    }
    let mut left = Vec::with_capacity(nodes as usize);
    for a in 0..nodes {
        for &at in &out[a as usize] {
            threads.read(of_edge(k, at), passed[at as usize]);
        }
        left.push(threads.write(of_node(l, a)));
        threads.next();
    }
    for &(a, b) in edges {
        threads.read(of_node(l, a), left[a as usize]);
        threads.read(of_node(y, b), first[b as usize]);
        threads.next();
    }
    threads.steps
}

/// The history of the reduction.
///
/// # Panics
/// If the configuration has a [fault](TriangleConfig::fault).
pub fn history(config: &TriangleConfig) -> History {
    let steps = steps(config.nodes, &graph(config));
    let threads = steps.iter().map(|step| step.thread + 1).max().unwrap_or(1);
    let locations = steps.iter().map(|step| step.location + 1).max().unwrap_or(1);
    history_of(threads, locations, steps.into_iter())
}

/// The execution of the reduction.
///
/// # Panics
/// If the configuration has a [fault](TriangleConfig::fault).
pub fn execution(config: &TriangleConfig) -> Execution {
    rings::execution(&steps(config.nodes, &graph(config)))
}

/// The threads, one after the other.
struct Threads {
    steps: Vec<MemoryStep>,
    thread: u32,
    written: u32,
}

impl Threads {
    fn push(&mut self, kind: Kind, location: u32, read: u32, written: u32) {
        let order = MemoryOrder::Plain;
        self.steps.push(MemoryStep { thread: self.thread, location, kind, order, read, written });
    }

    fn read(&mut self, location: u32, value: u32) {
        self.push(Kind::Read, location, value, 0);
    }

    fn write(&mut self, location: u32) -> u32 {
        self.written += 1;
        self.push(Kind::Write, location, 0, self.written);
        self.written
    }

    fn next(&mut self) {
        self.thread += 1;
    }
}
