//! Shortest paths between events, shortest cycles of graphs, and a queue for searches in which some edges cost nothing.
//!
//! The shortest path between two events has the fewest edges other than those of the chains. A walk along a chain,
//! however long, is one hop and costs nothing. The search goes backwards from the target. The events of a chain that it
//! has reached are a prefix of the chain, so each event is looked at once.

use std::collections::VecDeque;

/// One hop of a path.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Hop<L> {
    /// Along a chain.
    Chain(u32, u32),
    /// Along another edge, with its label.
    Edge(u32, u32, L),
}

/// A shortest path of at least one hop from `from` to `to`, which may be the same event. `incoming(event, edges)`
/// appends to `edges` the edges into an event, except that of its chain, each as its source and its label.
///
/// Of several shortest paths, the order of the chains and edges alone determines which one is returned.
///
/// ```
/// use order::{Hop, path};
///
/// // Two chains, events 0 to 3 and events 4 to 7, and one edge from 1 to 6.
/// let incoming = |event: u32, edges: &mut Vec<(u32, &str)>| {
///     if event == 6 {
///         edges.push((1, "message"));
///     }
/// };
/// let hops = path(&[0, 4, 8], |event| event as usize / 4, 0, 7, incoming);
/// assert_eq!(hops, Some(vec![Hop::Chain(0, 1), Hop::Edge(1, 6, "message"), Hop::Chain(6, 7)]));
/// ```
pub fn path<L: Copy>(
    starts: &[u32],
    chain_of: impl Fn(u32) -> usize,
    from: u32,
    to: u32,
    mut incoming: impl FnMut(u32, &mut Vec<(u32, L)>),
) -> Option<Vec<Hop<L>>> {
    let chains = starts.len() - 1;
    // Events of chain `c` below `reached[c]` lead to the target.
    let mut reached = starts[..chains].to_vec();
    // For each chain, the prefixes that were reached. Each ends with the event at which a hop leaves the chain.
    let mut entries: Vec<Vec<ChainEnd<L>>> = (0..chains).map(|_| Vec::new()).collect();
    let mut edges = Vec::new();
    // The target is the first entry of its chain, but it is not reached itself yet.
    let home = chain_of(to);
    let goal = chain_of(from);
    reached[home] = to;
    entries[home].push(ChainEnd { event: to, next: None });

    // Ranges of events of one chain that are reached and whose incoming edges were not looked at. All have the same
    // distance from the target.
    let mut level: Vec<(usize, u32, u32)> = Vec::new();
    incoming(to, &mut edges);
    let mut found: Vec<(u32, u32, L)> = edges.drain(..).map(|(source, label)| (source, to, label)).collect();
    if to > starts[home] {
        level.push((home, starts[home], to));
    }
    loop {
        if reached[goal] > from {
            return Some(assemble(&entries, chain_of, from, to));
        }
        for (source, target, label) in found.drain(..) {
            let chain = chain_of(source);
            if source >= reached[chain] {
                level.push((chain, reached[chain], source + 1));
                reached[chain] = source + 1;
                entries[chain].push(ChainEnd { event: source, next: Some((target, label)) });
            }
        }
        if reached[goal] > from {
            return Some(assemble(&entries, chain_of, from, to));
        }
        if level.is_empty() {
            return None;
        }
        for (_, first, end) in level.drain(..) {
            for event in first..end {
                incoming(event, &mut edges);
                found.extend(edges.drain(..).map(|(source, label)| (source, event, label)));
            }
        }
    }
}

/// A prefix of a chain that leads to the target, and the edge by which its last event leads there. The target itself
/// has no edge.
struct ChainEnd<L> {
    event: u32,
    next: Option<(u32, L)>,
}

fn assemble<L: Copy>(entries: &[Vec<ChainEnd<L>>], chain_of: impl Fn(u32) -> usize, from: u32, to: u32) -> Vec<Hop<L>> {
    let mut hops = Vec::new();
    let mut event = from;
    loop {
        // The first prefix that has the event was reached first, so it is on a shortest path.
        let entry = entries[chain_of(event)]
            .iter()
            .find(|entry| if entry.next.is_some() { entry.event >= event } else { entry.event > event })
            .expect("a path stays in what was reached");
        if entry.event > event {
            hops.push(Hop::Chain(event, entry.event));
        }
        match entry.next {
            None => return hops,
            Some((target, label)) => {
                hops.push(Hop::Edge(entry.event, target, label));
                if target == to {
                    return hops;
                }
                event = target;
            }
        }
    }
}

/// Searches for cycles of one graph. The memory of one search is used again for the next.
///
/// ```
/// let successors = [vec![1], vec![2, 0], vec![0]];
/// let mut cycles = order::Cycles::new(3);
/// assert_eq!(cycles.shortest(0, |vertex| &successors[vertex as usize]), Some(vec![1, 0]));
/// ```
#[derive(Clone, Debug)]
pub struct Cycles {
    /// By vertex: the last search that reached it, and from which vertex.
    reached: Vec<(u32, u32)>,
    queue: VecDeque<u32>,
    searches: u32,
}

impl Cycles {
    /// The searches in a graph with so many vertices.
    pub fn new(count: usize) -> Self {
        Self { reached: vec![(0, 0); count], queue: VecDeque::new(), searches: 0 }
    }

    /// A shortest cycle through `begin`, if there is one. The list ends with `begin`. `successors` tells the successors
    /// of a vertex.
    ///
    /// Of several shortest cycles, the order of the successors alone determines which one is returned.
    pub fn shortest<'a>(&mut self, begin: u32, successors: impl Fn(u32) -> &'a [u32]) -> Option<Vec<u32>> {
        self.searches += 1;
        self.queue.clear();
        self.queue.push_back(begin);
        while self.reached[begin as usize].0 != self.searches {
            let at = self.queue.pop_front()?;
            for &to in successors(at) {
                let (search, before) = &mut self.reached[to as usize];
                if *search != self.searches {
                    (*search, *before) = (self.searches, at);
                    self.queue.push_back(to);
                }
            }
        }
        let mut cycle = vec![begin];
        let mut at = self.reached[begin as usize].1;
        while at != begin {
            cycle.push(at);
            at = self.reached[at as usize].1;
        }
        cycle.reverse();
        Some(cycle)
    }

    /// A shortest of the cycles through one of `begins`, the first of them. It is empty if there is none. Once one is
    /// found, no more than `most` begins are tried, and none if it has two vertices. Those who call it have no edge
    /// from a vertex to itself.
    pub fn shortest_of_all<'a>(
        &mut self,
        begins: impl Iterator<Item = u32>,
        most: usize,
        successors: impl Fn(u32) -> &'a [u32],
    ) -> Vec<u32> {
        let mut shortest: Vec<u32> = Vec::new();
        for (tried, begin) in begins.enumerate() {
            if shortest.len() == 2 || (tried >= most && !shortest.is_empty()) {
                break;
            }
            if let Some(cycle) = self.shortest(begin, &successors)
                && (shortest.is_empty() || cycle.len() < shortest.len())
            {
                shortest = cycle;
            }
        }
        shortest
    }
}

/// The queue of a 0-1 breadth-first search: an edge costs nothing or one, and the nearest item comes first.
///
/// Invariant: each item in the queue is as far from the begin as the first item, or one further. Nearer items come
/// first.
///
/// ```
/// let mut queue = order::ZeroOneQueue::new("begin");
/// assert_eq!(queue.take(), Some("begin"));
/// queue.add("one step away", false);
/// queue.add("here for free", true);
/// assert_eq!(queue.take(), Some("here for free"));
/// assert_eq!(queue.take(), Some("one step away"));
/// assert_eq!(queue.take(), None);
/// ```
#[derive(Clone, Debug)]
pub struct ZeroOneQueue<T> {
    queue: VecDeque<T>,
}

impl<T> ZeroOneQueue<T> {
    /// The queue at the begin of a search.
    pub fn new(begin: T) -> Self {
        Self { queue: VecDeque::from([begin]) }
    }

    /// Adds an item to which an edge leads from the item that was taken last. The edge is free, or costs one.
    #[inline]
    pub fn add(&mut self, item: T, free: bool) {
        if free {
            self.queue.push_front(item);
        } else {
            self.queue.push_back(item);
        }
    }

    /// Takes the nearest item. Of several, it is the one that a free edge has added last, or else the one that was
    /// added first.
    #[inline]
    pub fn take(&mut self) -> Option<T> {
        self.queue.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STARTS: [u32; 4] = [0, 4, 8, 12];

    fn find(edges: &[(u32, u32)], from: u32, to: u32) -> Option<Vec<Hop<()>>> {
        path(
            &STARTS,
            |event| (event / 4) as usize,
            from,
            to,
            |event, into| {
                into.extend(edges.iter().filter(|&&(_, target)| target == event).map(|&(source, _)| (source, ())));
            },
        )
    }

    #[test]
    fn a_chain_is_one_hop() {
        assert_eq!(find(&[], 0, 3), Some(vec![Hop::Chain(0, 3)]));
        assert_eq!(find(&[], 3, 0), None);
        assert_eq!(find(&[], 0, 0), None);
    }

    #[test]
    fn the_shortest_is_taken() {
        let edges = [(1, 5), (6, 9), (2, 10)];
        assert_eq!(find(&edges, 0, 11), Some(vec![Hop::Chain(0, 2), Hop::Edge(2, 10, ()), Hop::Chain(10, 11)]));
        assert_eq!(find(&edges, 1, 9), Some(vec![Hop::Edge(1, 5, ()), Hop::Chain(5, 6), Hop::Edge(6, 9, ())]));
    }

    #[test]
    fn a_cycle_is_a_path_to_itself() {
        assert_eq!(
            find(&[(5, 1), (2, 4)], 1, 1),
            Some(vec![Hop::Chain(1, 2), Hop::Edge(2, 4, ()), Hop::Chain(4, 5), Hop::Edge(5, 1, ())])
        );
        assert_eq!(find(&[(1, 1)], 1, 1), Some(vec![Hop::Edge(1, 1, ())]));
    }

    /// A graph of few vertices, from the bits of a number: the bit `n * from + to` is an edge.
    fn graph(n: u32, bits: u32) -> Vec<Vec<u32>> {
        let has = |from: u32, to: u32| bits >> (n * from + to) & 1 == 1;
        (0..n).map(|from| (0..n).filter(|&to| has(from, to)).collect()).collect()
    }

    /// The lengths of shortest walks of at least one edge, by trying all of them; an edge costs what `cost` says.
    fn distances(graph: &[Vec<u32>], begin: u32, cost: impl Fn(u32, u32) -> u32) -> Vec<Option<u32>> {
        let mut best = vec![None; graph.len()];
        let mut left: Vec<(u32, u32)> = vec![(begin, 0)];
        while let Some((from, so_far)) = left.pop() {
            for &to in &graph[from as usize] {
                let length = so_far + cost(from, to);
                if best[to as usize].is_none_or(|best| best > length) {
                    best[to as usize] = Some(length);
                    left.push((to, length));
                }
            }
        }
        best
    }

    #[test]
    fn shortest_cycles_of_all_small_graphs() {
        for bits in 0..1 << 9 {
            let graph = graph(3, bits);
            let mut cycles = Cycles::new(3);
            for begin in 0..3 {
                let cycle = cycles.shortest(begin, |at| &graph[at as usize]);
                let length = distances(&graph, begin, |_, _| 1)[begin as usize];
                assert_eq!(cycle.as_ref().map(|cycle| cycle.len() as u32), length);
                if let Some(cycle) = cycle {
                    assert_eq!(cycle.last(), Some(&begin));
                    let before = cycle.iter().cycle().skip(cycle.len() - 1);
                    assert!(before.zip(&cycle).all(|(&from, to)| graph[from as usize].contains(to)));
                }
            }
        }
    }

    #[test]
    fn what_is_nearest_comes_first() {
        for bits in 0..1 << 16 {
            let graph = graph(4, bits);
            let cost = |from: u32, to: u32| (from + to) % 2;
            let mut nearest = ZeroOneQueue::new((0, 0));
            let mut found = [None; 4];
            while let Some((at, length)) = nearest.take() {
                if found[at as usize].is_some() {
                    continue;
                }
                found[at as usize] = Some(length);
                for &to in &graph[at as usize] {
                    nearest.add((to, length + cost(at, to)), cost(at, to) == 0);
                }
            }
            let mut expected = distances(&graph, 0, cost);
            expected[0] = Some(0);
            assert_eq!(found.to_vec(), expected);
        }
    }
}
