//! A graph over transactions, or over their events, whose edges say why they hold: is there a cycle, and which is the
//! plainest?
//!
//! A vertex may be *auxiliary*: a moment in time, or a place where many edges meet. It stands for no transaction.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use order::saturation::NONE;
use order::{Rows, strong_components};

/// Why an edge holds. The number is a place in the reads or a key, as the kind asks for.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub enum EdgeReason {
    /// It is of no meaning by itself: it leads into, out of or between auxiliary vertices, or within a transaction.
    #[default]
    Aside,
    /// Session order.
    Session,
    /// From an auxiliary vertex of real time to a transaction.
    RealTime,
    /// Reads-from, by this read.
    Reads(u32),
    /// Two versions of this list.
    Version(u32),
    /// The axiom forces it: this read returns a version of its end, and its begin is before the reader in one step of
    /// session order.
    BySession(u32),
    /// The same, in real time. The edge comes from an auxiliary vertex.
    ByRealTime(u32),
    /// The axiom forces it: the second read returns a version of its end, the first returns one of its begin, and both
    /// are of one transaction.
    ByRead(u32, u32),
    /// The axiom forces it: this read returns a version of its end, and its begin is causally before the reader.
    ByCause(u32),
    /// Anti-dependency: this read, in its begin, returns the version right before that of its end.
    Next(u32),
}

/// An edge.
#[derive(Copy, Clone, Debug, Default)]
pub struct CommitEdge {
    /// Where it begins.
    pub from: u32,
    /// Where it ends.
    pub to: u32,
    /// Why it holds.
    pub why: EdgeReason,
}

/// A graph. See the [module](self).
#[derive(Clone, Debug, Default)]
pub struct CommitGraph {
    /// How many vertices there are.
    pub count: usize,
    /// All edges.
    pub edges: Vec<CommitEdge>,
}

impl CommitGraph {
    /// A graph of so many vertices.
    pub fn new(count: usize) -> Self {
        Self { count, edges: Vec::new() }
    }

    /// Adds an edge.
    #[inline]
    pub fn add(&mut self, from: u32, to: u32, why: EdgeReason) {
        self.edges.push(CommitEdge { from, to, why });
    }

    /// A new auxiliary vertex.
    pub fn vertex(&mut self) -> u32 {
        self.count += 1;
        self.count as u32 - 1
    }

    /// All vertices in an order that respects the edges; of those that may come next, one with the least `place`. If
    /// there is a cycle, the vertices that are not behind or before cycles are left out, and the rest is the error.
    pub fn order(&self, place: impl Fn(u32) -> u32) -> Result<Vec<u32>, Vec<bool>> {
        let successors = Rows::new(self.count, self.edges.iter().map(|edge| (edge.from as usize, edge.to)));
        let mut open = vec![0u32; self.count];
        for edge in &self.edges {
            open[edge.to as usize] += 1;
        }
        let first = (0..self.count as u32).filter(|&vertex| open[vertex as usize] == 0);
        let mut heap: BinaryHeap<Reverse<(u32, u32)>> = first.map(|vertex| Reverse((place(vertex), vertex))).collect();
        let mut line = Vec::with_capacity(self.count);
        while let Some(Reverse((_, vertex))) = heap.pop() {
            line.push(vertex);
            for &to in successors.of(vertex as usize) {
                open[to as usize] -= 1;
                if open[to as usize] == 0 {
                    heap.push(Reverse((place(to), to)));
                }
            }
        }
        if line.len() == self.count {
            return Ok(line);
        }
        let mut rest = vec![true; self.count];
        for vertex in line {
            rest[vertex as usize] = false;
        }
        Err(rest)
    }

    /// The plainest cycle among vertices, as numbers of edges: with the fewest anti-dependencies, then the fewest steps
    /// in real time, of session order, and of other kinds. If there are many vertices, only some are tried.
    pub fn cycle(&self, rest: &[bool]) -> Vec<u32> {
        /// After so many edges, the best cycle so far is taken.
        const MOST_EDGES: usize = 1 << 20;
        let inside = |edge: &CommitEdge| rest[edge.from as usize] && rest[edge.to as usize];
        let edges = || (0u32..).zip(&self.edges).filter(|(_, edge)| inside(edge));
        let outgoing = Rows::new(self.count, edges().map(|(number, edge)| (edge.from as usize, number)));
        let successor =
            |vertex: u32, at: usize| outgoing.of(vertex as usize).get(at).map(|&edge| self.edges[edge as usize].to);
        let components = strong_components(self.count, successor);
        let mut best: Option<(u64, Vec<u32>)> = None;
        let mut costs = vec![u64::MAX; self.count];
        let mut by = vec![NONE; self.count];
        let mut looked_at = 0;
        for begin in (0..self.count as u32).filter(|&vertex| rest[vertex as usize]) {
            let component = components[begin as usize];
            let is_in_cycle = outgoing
                .of(begin as usize)
                .iter()
                .any(|&edge| components[self.edges[edge as usize].to as usize] == component);
            if looked_at > MOST_EDGES && best.is_some() {
                break;
            }
            if !is_in_cycle {
                continue;
            }
            let mut touched = Vec::new();
            let mut heap = BinaryHeap::from([Reverse((0u64, begin))]);
            let mut found = None;
            while let Some(Reverse((cost, vertex))) = heap.pop() {
                if cost > costs[vertex as usize] || best.as_ref().is_some_and(|(most, _)| cost >= *most) {
                    continue;
                }
                if vertex == begin && cost > 0 {
                    found = Some(cost);
                    break;
                }
                if looked_at > MOST_EDGES && best.is_some() {
                    break;
                }
                looked_at += outgoing.of(vertex as usize).len();
                for &number in outgoing.of(vertex as usize) {
                    let edge = &self.edges[number as usize];
                    let cost = cost + weight(edge.why);
                    if components[edge.to as usize] == component && cost < costs[edge.to as usize] {
                        costs[edge.to as usize] = cost;
                        by[edge.to as usize] = number;
                        touched.push(edge.to);
                        heap.push(Reverse((cost, edge.to)));
                    }
                }
            }
            if let Some(cost) = found {
                let mut cycle = Vec::new();
                let mut at = begin;
                loop {
                    cycle.push(by[at as usize]);
                    at = self.edges[by[at as usize] as usize].from;
                    if at == begin {
                        break;
                    }
                }
                cycle.reverse();
                best = Some((cost, cycle));
            }
            for vertex in touched {
                costs[vertex as usize] = u64::MAX;
            }
        }
        best.map_or_else(Vec::new, |(_, cycle)| cycle)
    }
}

/// What an edge costs in a search for the plainest cycle.
fn weight(why: EdgeReason) -> u64 {
    match why {
        EdgeReason::Aside => 1,
        EdgeReason::Reads(_) | EdgeReason::Version(_) => 1 << 4,
        EdgeReason::Session => 1 << 20 | 1 << 4,
        EdgeReason::RealTime => 1 << 32 | 1 << 4,
        EdgeReason::BySession(_)
        | EdgeReason::ByRealTime(_)
        | EdgeReason::ByRead(..)
        | EdgeReason::ByCause(_)
        | EdgeReason::Next(_) => 1 << 44,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plainest_cycle_has_the_fewest_anti_dependencies() {
        let mut graph = CommitGraph::new(5);
        for (from, to, why) in [
            (0, 1, EdgeReason::Reads(0)),
            (1, 0, EdgeReason::Next(0)),
            (1, 2, EdgeReason::Session),
            (2, 3, EdgeReason::Reads(0)),
            (3, 1, EdgeReason::Reads(0)),
            (3, 4, EdgeReason::Session),
        ] {
            graph.add(from, to, why);
        }
        let rest = graph.order(|vertex| vertex).unwrap_err();
        let cycle: Vec<u32> = graph.cycle(&rest).iter().map(|&edge| graph.edges[edge as usize].to).collect();
        assert_eq!(cycle.len(), 3);
        assert!(!cycle.contains(&0) && !cycle.contains(&4));
        graph.edges.retain(|edge| edge.to != 1);
        assert_eq!(graph.order(|vertex| 9 - vertex).unwrap(), [1, 2, 3, 4, 0]);
    }
}
