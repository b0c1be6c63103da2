//! The shortest path between two events, and the shortest cycle of a graph.
//!
//! Shortest means: with the fewest edges other than those of the chains; a walk along a chain, however long, is one hop
//! and costs nothing. The search goes backwards from the target. What it has reached of a chain is a prefix, so each
//! event is looked at once.

use std::collections::VecDeque;

/// One hop of a path.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Hop<L> {
    /// Along a chain.
    Chain(u32, u32),
    /// Along another edge, with its label.
    Edge(u32, u32, L),
}

/// A shortest path of at least one hop from `from` to `to`, which may be the same event. `incoming(event, edges)` puts
/// the sources of the edges into an event, other than the chain's, at the end of `edges`.
///
/// Among shortest paths the choice is determined by the order of chains and edges alone.
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
    // For each chain the prefixes that were reached: up to and including `event`, by the hop that leaves it.
    let mut entries: Vec<Vec<Entry<L>>> = (0..chains).map(|_| Vec::new()).collect();
    let mut edges = Vec::new();
    // The target is the first entry of its chain's history, but is itself not yet reached.
    let home = chain_of(to);
    let goal = chain_of(from);
    reached[home] = to;
    entries[home].push(Entry { event: to, next: None });

    // Reached, and its incoming edges not yet looked at: ranges of events of one chain, all as far from the target.
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
                entries[chain].push(Entry { event: source, next: Some((target, label)) });
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

/// A prefix of a chain that leads to the target, and the edge by which its last event does; none for the target.
struct Entry<L> {
    event: u32,
    next: Option<(u32, L)>,
}

fn assemble<L: Copy>(entries: &[Vec<Entry<L>>], chain_of: impl Fn(u32) -> usize, from: u32, to: u32) -> Vec<Hop<L>> {
    let mut hops = Vec::new();
    let mut event = from;
    loop {
        // The first prefix that holds the event was reached the soonest, so it is the shortest way on.
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

/// The shortest cycle through `begin` in a graph, given the successors of each vertex.
pub fn shortest_cycle(successors: &[Vec<u32>], begin: u32) -> Option<Vec<u32>> {
    let mut before = vec![u32::MAX; successors.len()];
    let mut queue = VecDeque::from([begin]);
    while before[begin as usize] == u32::MAX {
        let at = queue.pop_front()?;
        for &to in &successors[at as usize] {
            if before[to as usize] == u32::MAX {
                before[to as usize] = at;
                queue.push_back(to);
            }
        }
    }
    let mut cycle = vec![begin];
    let mut at = before[begin as usize];
    while at != begin {
        cycle.push(at);
        at = before[at as usize];
    }
    cycle.reverse();
    Some(cycle)
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
}
