//! An order of nodes that stays topological while edges arrive (Pearce and Kelly 2006).
//!
//! Invariant: ranks are distinct, and every edge leads from a lower rank to a higher. Edges arrive in bundles, all into one
//! node. If all of them agree with the ranks there is nothing to do. Otherwise only nodes between the target and the
//! highest origin can be out of place: those that the target reaches and those that reach an origin. The former go
//! behind the latter, in the same ranks; if a node is both, there is a cycle.

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

/// An edge, and the next one of the lists that it is in; zero if there is none.
#[derive(Copy, Clone, Debug, Serialize, Deserialize)]
struct Link {
    from: u32,
    to: u32,
    next_out: u32,
    next_in: u32,
}

/// The nodes and their ranks. See the module.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Ranking {
    /// By node.
    ranks: Vec<u32>,
    /// By node: the last of its edges out of it, and into it; zero if there is none.
    outward: Vec<u32>,
    inward: Vec<u32>,
    /// The first stands for none.
    links: Vec<Link>,
    known: FxHashSet<[u32; 2]>,
    /// For searches: all false between them.
    reached: Vec<bool>,
    /// What a target reaches, as [`Self::contradicts`] has found; empty if its edges agree with the ranks.
    ahead: Vec<u32>,
    /// What reaches an origin.
    behind: Vec<u32>,
    free: Vec<u32>,
}

impl Ranking {
    pub(super) fn new() -> Self {
        Self {
            ranks: Vec::new(),
            outward: Vec::new(),
            inward: Vec::new(),
            links: vec![Link { from: 0, to: 0, next_out: 0, next_in: 0 }],
            known: FxHashSet::default(),
            reached: Vec::new(),
            ahead: Vec::new(),
            behind: Vec::new(),
            free: Vec::new(),
        }
    }

    pub(super) fn rank(&self, node: u32) -> u32 {
        self.ranks[node as usize]
    }

    /// A new node, with the highest rank.
    pub(super) fn add_node(&mut self) -> u32 {
        let node = self.ranks.len() as u32;
        self.ranks.push(node);
        self.outward.push(0);
        self.inward.push(0);
        self.reached.push(false);
        node
    }

    /// Which of `origins` is the first that cannot precede `to`, because `to` precedes it. None of them is `to`.
    pub(super) fn contradicts(&mut self, origins: &[u32], to: u32) -> Option<usize> {
        let Self { ranks, outward, links, reached, ahead, .. } = self;
        ahead.clear();
        let highest = origins.iter().map(|&origin| ranks[origin as usize]).max()?;
        if highest < ranks[to as usize] {
            return None;
        }
        ahead.push(to);
        reached[to as usize] = true;
        let mut at = 0;
        while let Some(&node) = ahead.get(at) {
            let mut edge = outward[node as usize];
            while edge != 0 {
                let link = links[edge as usize];
                if ranks[link.to as usize] <= highest && !std::mem::replace(&mut reached[link.to as usize], true) {
                    ahead.push(link.to);
                }
                edge = link.next_out;
            }
            at += 1;
        }
        let contradiction = origins.iter().position(|&origin| reached[origin as usize]);
        for &node in &*ahead {
            reached[node as usize] = false;
        }
        contradiction
    }

    /// Adds the edges from `origins` to `to`, of which [`Self::contradicts`] has just found that they can be added.
    pub(super) fn precede(&mut self, origins: &[u32], to: u32) {
        if !self.ahead.is_empty() {
            self.find_behind(origins, to);
            self.exchange();
        }
        for &from in origins {
            self.link(from, to);
        }
    }

    /// How many nodes there are.
    pub(super) fn len(&self) -> usize {
        self.ranks.len()
    }

    /// Calls `pull` for every edge, those out of a node after those out of all that it leads to.
    pub(super) fn pull(&self, mut pull: impl FnMut(u32, u32)) {
        let mut nodes = vec![0; self.ranks.len()];
        for (node, &rank) in (0..).zip(&self.ranks) {
            nodes[rank as usize] = node;
        }
        for &node in nodes.iter().rev() {
            let mut edge = self.outward[node as usize];
            while edge != 0 {
                let link = self.links[edge as usize];
                pull(node, link.to);
                edge = link.next_out;
            }
        }
    }

    /// Forgets nodes, and the edges at them; the others get new numbers, by their old ones. No path between others may lead
    /// through what is forgotten.
    pub(super) fn retain(&mut self, is_kept: &[bool]) -> Vec<u32> {
        let mut ranked: Vec<u32> = (0..self.ranks.len() as u32).filter(|&node| is_kept[node as usize]).collect();
        let mut numbers = vec![u32::MAX; self.ranks.len()];
        for (&node, number) in ranked.iter().zip(0..) {
            numbers[node as usize] = number;
        }
        ranked.sort_unstable_by_key(|&node| self.ranks[node as usize]);
        let links = std::mem::take(&mut self.links);
        *self = Self::new();
        for _ in &ranked {
            self.add_node();
        }
        for (&node, rank) in ranked.iter().zip(0..) {
            self.ranks[numbers[node as usize] as usize] = rank;
        }
        for link in &links[1..] {
            let (from, to) = (numbers[link.from as usize], numbers[link.to as usize]);
            if from != u32::MAX && to != u32::MAX {
                self.link(from, to);
            }
        }
        numbers
    }

    fn link(&mut self, from: u32, to: u32) {
        if self.known.insert([from, to]) {
            let edge = self.links.len() as u32;
            let next_out = std::mem::replace(&mut self.outward[from as usize], edge);
            let next_in = std::mem::replace(&mut self.inward[to as usize], edge);
            self.links.push(Link { from, to, next_out, next_in });
        }
    }

    /// What reaches an origin and is not below `to`.
    fn find_behind(&mut self, origins: &[u32], to: u32) {
        let Self { ranks, inward, links, reached, behind, .. } = self;
        behind.clear();
        let mut reach = |node: u32, behind: &mut Vec<u32>| {
            if ranks[node as usize] > ranks[to as usize] && !std::mem::replace(&mut reached[node as usize], true) {
                behind.push(node);
            }
        };
        for &origin in origins {
            reach(origin, behind);
        }
        let mut at = 0;
        while let Some(&node) = behind.get(at) {
            let mut edge = inward[node as usize];
            while edge != 0 {
                let link = links[edge as usize];
                reach(link.from, behind);
                edge = link.next_in;
            }
            at += 1;
        }
        for &node in &*behind {
            reached[node as usize] = false;
        }
    }

    /// Gives the nodes behind and then those ahead, each in the order that they have, the ranks that all have together.
    fn exchange(&mut self) {
        let Self { ranks, ahead, behind, free, .. } = self;
        behind.sort_unstable_by_key(|&node| ranks[node as usize]);
        ahead.sort_unstable_by_key(|&node| ranks[node as usize]);
        let nodes = || behind.iter().chain(&*ahead);
        free.clear();
        free.extend(nodes().map(|&node| ranks[node as usize]));
        free.sort_unstable();
        for (&node, &rank) in nodes().zip(&*free) {
            ranks[node as usize] = rank;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Edges at random, each compared with reachability in a matrix.
    #[test]
    fn ranks_stay_topological_and_contradictions_are_cycles() {
        let mut state = 7u64;
        let mut below = |limit: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % u64::from(limit)) as u32
        };
        let mut refused = 0;
        for _ in 0..300 {
            const NODES: u32 = 12;
            let mut ranks = Ranking::new();
            let mut reaches = [[false; NODES as usize]; NODES as usize];
            for node in 0..NODES {
                assert_eq!(ranks.add_node(), node);
                reaches[node as usize][node as usize] = true;
            }
            for _ in 0..25 {
                let to = below(NODES);
                let origins: Vec<u32> = (0..=below(3)).map(|_| below(NODES)).filter(|&origin| origin != to).collect();
                let cycle = origins.iter().position(|&origin| reaches[to as usize][origin as usize]);
                assert_eq!(ranks.contradicts(&origins, to), cycle);
                if cycle.is_some() {
                    refused += 1;
                    continue;
                }
                ranks.precede(&origins, to);
                for &origin in &origins {
                    let gained = reaches[to as usize];
                    for row in reaches.iter_mut().filter(|row| row[origin as usize]) {
                        for (reached, gained) in row.iter_mut().zip(gained) {
                            *reached |= gained;
                        }
                    }
                }
                for from in 0..NODES {
                    for to in (0..NODES).filter(|&to| to != from && reaches[from as usize][to as usize]) {
                        assert!(ranks.rank(from) < ranks.rank(to));
                    }
                }
            }
        }
        assert!(refused > 500);
    }
}
