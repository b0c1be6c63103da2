//! A strict partial order on a few nodes that come and go. It is kept closed under transitivity.
//!
//! Invariant: `after[x]` holds y exactly if `before[y]` holds x. Both hold only live nodes. The order has no cycle.
//! When a node is forgotten, the order of the other nodes stays as it is, even if it was derived through that node.

use serde::{Deserialize, Serialize};

/// A set of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Nodes(Vec<u64>);

impl Nodes {
    pub(super) fn contains(&self, node: u32) -> bool {
        self.0.get(node as usize / 64).is_some_and(|word| word >> (node % 64) & 1 == 1)
    }

    pub(super) fn insert(&mut self, node: u32) {
        let word = node as usize / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (node % 64);
    }

    pub(super) fn remove(&mut self, node: u32) {
        if let Some(word) = self.0.get_mut(node as usize / 64) {
            *word &= !(1 << (node % 64));
        }
    }

    pub(super) fn union(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (word, &more) in self.0.iter_mut().zip(&other.0) {
            *word |= more;
        }
    }

    pub(super) fn is_subset(&self, other: &Self) -> bool {
        self.0.iter().enumerate().all(|(at, &word)| word & !other.word(at) == 0)
    }

    pub(super) fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(&word, &more)| word & more != 0)
    }

    /// The word of the 64 nodes that begin with `64 * at`.
    pub(super) fn word(&self, at: usize) -> u64 {
        self.0.get(at).copied().unwrap_or(0)
    }

    pub(super) fn words(&self) -> usize {
        self.0.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.iter().enumerate().flat_map(|(at, &word)| bits(word).map(move |bit| at as u32 * 64 + bit))
    }
}

/// The places of the ones of a word.
pub(super) fn bits(word: u64) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(word), |word| Some(word & (word.wrapping_sub(1))))
        .take_while(|&word| word != 0)
        .map(u64::trailing_zeros)
}

/// The partial order: see the module.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Relation {
    before: Vec<Nodes>,
    after: Vec<Nodes>,
    free: Vec<u32>,
    /// The nodes that are there.
    pub(super) live: Nodes,
    /// The pairs that were ordered since the list was last emptied.
    pub(super) news: Vec<(u32, u32)>,
    /// Whether some node had to come before itself.
    pub(super) contradiction: bool,
}

impl Relation {
    /// Adds a node after all nodes of `earlier`, and after those before them. These pairs are not added to `news`.
    pub(super) fn add(&mut self, earlier: &Nodes) -> u32 {
        let node = self.free.pop().unwrap_or_else(|| {
            self.before.push(Nodes::default());
            self.after.push(Nodes::default());
            self.before.len() as u32 - 1
        });
        let mut before = earlier.clone();
        for x in earlier.iter() {
            before.union(&self.before[x as usize]);
        }
        for x in before.iter() {
            self.after[x as usize].insert(node);
        }
        self.before[node as usize] = before;
        self.live.insert(node);
        node
    }

    /// Forgets a node.
    pub(super) fn forget(&mut self, node: u32) {
        for x in std::mem::take(&mut self.before[node as usize]).iter() {
            self.after[x as usize].remove(node);
        }
        for y in std::mem::take(&mut self.after[node as usize]).iter() {
            self.before[y as usize].remove(node);
        }
        self.live.remove(node);
        self.free.push(node);
    }

    pub(super) fn is_before(&self, x: u32, y: u32) -> bool {
        self.after[x as usize].contains(y)
    }

    pub(super) fn before(&self, x: u32) -> &Nodes {
        &self.before[x as usize]
    }

    pub(super) fn after(&self, x: u32) -> &Nodes {
        &self.after[x as usize]
    }

    /// Orders x before y, and all that follows from it.
    pub(super) fn order(&mut self, x: u32, y: u32) {
        if self.contradiction || self.is_before(x, y) {
            return;
        }
        if x == y || self.is_before(y, x) {
            self.contradiction = true;
            return;
        }
        let mut later = self.after[y as usize].clone();
        later.insert(y);
        let mut earlier = self.before[x as usize].clone();
        earlier.insert(x);
        for p in earlier.iter() {
            for at in 0..later.words() {
                for bit in bits(later.word(at) & !self.after[p as usize].word(at)) {
                    let s = at as u32 * 64 + bit;
                    self.after[p as usize].insert(s);
                    self.before[s as usize].insert(p);
                    self.news.push((p, s));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_closed_and_outlives_what_is_forgotten() {
        let mut relation = Relation::default();
        let [a, b, c] = std::array::from_fn(|_| relation.add(&Nodes::default()));
        relation.order(a, b);
        relation.order(b, c);
        assert!(relation.is_before(a, c));
        assert_eq!(relation.news, [(a, b), (a, c), (b, c)]);
        relation.forget(b);
        assert!(relation.is_before(a, c) && !relation.live.contains(b));
        let mut earlier = Nodes::default();
        earlier.insert(c);
        let d = relation.add(&earlier);
        assert_eq!(d, b);
        assert!(relation.is_before(a, d) && !relation.is_before(d, c));
        relation.order(d, a);
        assert!(relation.contradiction);
    }
}
