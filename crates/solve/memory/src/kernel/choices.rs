//! The pairs of writes that a partial store order leaves open, as a graph with choices.
//!
//! If w1 is chosen to come before w2, the choice adds the edge w1 -> w2, and an edge r -> w2 for each reader r of w1. A
//! store order exists exactly if all pairs can be chosen such that the frame, the fixed edges and the edges of the
//! choices have no cycle. Then the writes of each location are totally ordered, and any topological order explains all
//! reads.

use std::collections::hash_map::Entry;

use history::execution::EventId;
use model::GaveUp;
use order::ZeroOneQueue;
use order::lanes::Lane;
use order::saturation::NONE;
use rustc_hash::FxHashMap;

use crate::store::frame::Frame;
use crate::store::saturate::Saturated;

/// The most open pairs that are listed.
const MAX_OPEN_PAIRS: usize = 20_000_000;

/// The label of an edge that does not depend on a choice.
pub const FIXED: u32 = NONE;

/// A frame with fixed edges and open pairs.
#[derive(Clone, Debug)]
pub struct Choices<'a> {
    frame: &'a Frame<'a>,
    /// The pairs of writes of one location that are not ordered.
    pub pairs: Vec<(u32, u32)>,
    fixed: Vec<(u32, u32)>,
    readers: Vec<Vec<u32>>,
}

impl<'a> Choices<'a> {
    fn new(frame: &'a Frame<'a>) -> Self {
        let execution = frame.execution();
        let mut readers = vec![Vec::new(); execution.len()];
        for id in execution.ids() {
            let source = frame.source(id.0);
            if source != NONE {
                readers[source as usize].push(id.0);
            }
        }
        Self { frame, pairs: Vec::new(), fixed: Vec::new(), readers }
    }

    fn writes(&self) -> Vec<Vec<u32>> {
        let execution = self.frame.execution();
        let mut writes = vec![Vec::new(); execution.location_count()];
        for id in execution.ids() {
            let event = execution.event(id);
            if event.kind.writes() {
                writes[event.location.index()].push(id.0);
            }
        }
        writes
    }

    /// The pairs that the saturated order leaves open.
    pub fn after_saturation<L: Lane>(frame: &'a Frame<'a>, saturated: &Saturated<'_, L>) -> Result<Self, GaveUp> {
        let order = &saturated.order;
        let mut this = Self::new(frame);
        this.fixed = (0..order.edge_count() as u32).map(|n| (order.edge(n).from, order.edge(n).to)).collect();
        this.collect(|a, b| order.before(a, b), false)?;
        Ok(this)
    }

    /// The pairs that a partial store order leaves open.
    #[cfg(any(test, feature = "research"))]
    pub fn after(frame: &'a Frame<'a>, before: impl Fn(u32, u32) -> bool) -> Result<Self, GaveUp> {
        let execution = frame.execution();
        let mut this = Self::new(frame);
        for read in execution.ids() {
            if execution.event(read).source == EventId::INIT {
                let location = execution.event(read).location;
                let others = execution.ids().filter(|&id| id != read);
                let writes =
                    others.filter(|&id| execution.event(id).kind.writes() && execution.event(id).location == location);
                this.fixed.extend(writes.map(|write| (read.0, write.0)));
            }
        }
        this.collect(before, true)?;
        Ok(this)
    }

    /// The pairs that the chains leave open: all pairs but those within one chain.
    #[cfg(any(test, feature = "research"))]
    pub fn all(frame: &'a Frame<'a>) -> Result<Self, GaveUp> {
        let chains = frame.execution().threads();
        Self::after(frame, |a, b| a < b && chains[a as usize] == chains[b as usize])
    }

    fn collect(&mut self, before: impl Fn(u32, u32) -> bool, fix: bool) -> Result<(), GaveUp> {
        for writes in self.writes() {
            for (at, &second) in writes.iter().enumerate() {
                for &first in &writes[..at] {
                    let (forth, back) = (before(first, second), before(second, first));
                    if fix && forth {
                        self.add_fixed(first, second);
                    }
                    if fix && back {
                        self.add_fixed(second, first);
                    }
                    if !forth && !back {
                        self.pairs.push((first, second));
                    }
                }
                if self.pairs.len() + self.fixed.len() > MAX_OPEN_PAIRS {
                    return Err(GaveUp::Pairs);
                }
            }
        }
        Ok(())
    }

    fn add_fixed(&mut self, first: u32, second: u32) {
        self.fixed.push((first, second));
        let Self { fixed, readers, .. } = self;
        fixed.extend(readers[first as usize].iter().filter(|&&read| read != second).map(|&read| (read, second)));
    }

    /// The graph in which pair `n` is chosen as listed if `chosen(n)` is `Some(true)`, the other way round if
    /// `Some(false)`, and not at all if `None`.
    pub fn graph(&self, chosen: impl Fn(usize) -> Option<bool>) -> Graph {
        let execution = self.frame.execution();
        let count = execution.len();
        let mut graph = Graph { successors: vec![Vec::new(); count] };
        for id in 0..count as u32 {
            if execution.position(EventId(id)) > 0 {
                graph.successors[id as usize - 1].push((id, FIXED));
            }
            for predecessor in self.frame.predecessors(id) {
                graph.successors[predecessor as usize].push((id, FIXED));
            }
        }
        for &(from, to) in &self.fixed {
            graph.successors[from as usize].push((to, FIXED));
        }
        for (number, &(first, second)) in self.pairs.iter().enumerate() {
            if let Some(forth) = chosen(number) {
                let (first, second) = if forth { (first, second) } else { (second, first) };
                self.choose(&mut graph, number as u32, first, second);
            }
        }
        graph
    }

    /// The events that come right before `second` if `first` is chosen to come before it: `first`, and the readers of
    /// `first` other than `second`.
    pub fn before(&self, first: u32, second: u32) -> impl Iterator<Item = u32> + '_ {
        let readers = self.readers[first as usize].iter().copied();
        std::iter::once(first).chain(readers.filter(move |&read| read != second))
    }

    /// Adds the edges of a choice.
    pub fn choose(&self, graph: &mut Graph, label: u32, first: u32, second: u32) {
        for event in self.before(first, second) {
            graph.successors[event as usize].push((second, label));
        }
    }

    /// Takes the edges of the last choice back.
    pub fn unchoose(&self, graph: &mut Graph, first: u32, second: u32) {
        for event in self.before(first, second) {
            graph.successors[event as usize].pop();
        }
    }
}

/// A graph. The label of an edge is the number of the pair whose choice added it, or [`FIXED`].
#[derive(Clone, Debug)]
pub struct Graph {
    successors: Vec<Vec<(u32, u32)>>,
}

impl Graph {
    /// All events in an order that respects the edges, if there is no cycle.
    pub fn topological_order(&self) -> Option<Vec<u32>> {
        let count = self.successors.len();
        let mut open = vec![0u32; count];
        for &(to, _) in self.successors.iter().flatten() {
            open[to as usize] += 1;
        }
        let mut line: Vec<u32> = (0..count as u32).filter(|&event| open[event as usize] == 0).collect();
        let mut at = 0;
        while at < line.len() {
            for &(to, _) in &self.successors[line[at] as usize] {
                open[to as usize] -= 1;
                if open[to as usize] == 0 {
                    line.push(to);
                }
            }
            at += 1;
        }
        (line.len() == count).then_some(line)
    }

    /// By event, the number of its strong component: an edge is on a cycle exactly if it stays within one.
    pub fn components(&self) -> Vec<u32> {
        let successor = |event: u32, at: usize| self.successors[event as usize].get(at).map(|&(to, _)| to);
        order::strong_components(self.successors.len(), successor)
    }

    /// The labels of a cycle through an edge from `from` to `to` with this label. Of all cycles among the events for
    /// which `inside` holds, it has the fewest labelled edges.
    pub fn cycle(&self, from: u32, to: u32, label: u32, inside: impl Fn(u32) -> bool) -> Option<Vec<u32>> {
        let mut back: FxHashMap<u32, (u32, u32)> = FxHashMap::default();
        let mut nearest = ZeroOneQueue::new((to, to, FIXED));
        while let Some((event, by, through)) = nearest.take() {
            let Entry::Vacant(entry) = back.entry(event) else { continue };
            entry.insert((by, through));
            if event == from {
                let mut labels = vec![label];
                let mut at = from;
                while at != to {
                    let (before, through) = back[&at];
                    labels.push(through);
                    at = before;
                }
                labels.retain(|&label| label != FIXED);
                labels.sort_unstable();
                labels.dedup();
                return Some(labels);
            }
            for &(next, through) in &self.successors[event as usize] {
                if inside(next) && !back.contains_key(&next) {
                    nearest.add((next, event, through), through == FIXED || through == label);
                }
            }
        }
        None
    }

    /// The edges out of an event.
    pub fn successors(&self, event: u32) -> &[(u32, u32)] {
        &self.successors[event as usize]
    }

    /// How many events there are.
    pub fn event_count(&self) -> usize {
        self.successors.len()
    }
}

#[cfg(test)]
mod tests {
    use workload::random::SplitMix64;

    use super::{FIXED, Graph};

    /// An order of all events is found exactly if every component is one event without an edge to itself.
    #[test]
    fn a_graph_has_an_order_exactly_if_it_has_no_cycle() {
        let mut random = SplitMix64::new(5);
        let mut cyclic = 0;
        for _ in 0..1000 {
            let count = 1 + random.below(9) as usize;
            let mut successors = vec![Vec::new(); count];
            for _ in 0..random.below(2 * count as u64) {
                let [from, to] = [0; 2].map(|_| random.below(count as u64) as usize);
                successors[from].push((to as u32, FIXED));
            }
            let graph = Graph { successors };
            let mut components = graph.components();
            let is_loop = |from: u32| graph.successors(from).iter().any(|&(to, _)| to == from);
            let has_loop = (0..count as u32).any(is_loop);
            components.sort_unstable();
            components.dedup();
            let is_acyclic = components.len() == count && !has_loop;
            assert_eq!(graph.topological_order().is_some(), is_acyclic);
            cyclic += u32::from(!is_acyclic);
        }
        assert!((100..900).contains(&cyclic), "{cyclic}");
    }
}
