//! Binary relations over a small set of nodes, as matrices of bits: the algebra in which the axioms are written.

use std::ops::BitOr;

/// A relation over nodes `0..size`, with one row of bits for each node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Relation {
    rows: Vec<u128>,
}

impl Relation {
    /// The most nodes of a relation.
    pub(crate) const MAX_NODES: usize = 128;

    /// The empty relation.
    pub(crate) fn empty(size: usize) -> Self {
        assert!(size <= Self::MAX_NODES, "the oracle takes at most 128 nodes");
        Self { rows: vec![0; size] }
    }

    /// The pairs for which `holds`.
    pub(crate) fn of(size: usize, holds: impl Fn(usize, usize) -> bool) -> Self {
        let mut relation = Self::empty(size);
        for a in 0..size {
            for b in 0..size {
                if holds(a, b) {
                    relation.insert(a, b);
                }
            }
        }
        relation
    }

    pub(crate) fn size(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn insert(&mut self, a: usize, b: usize) {
        self.rows[a] |= 1 << b;
    }

    pub(crate) fn has(&self, a: usize, b: usize) -> bool {
        self.rows[a] >> b & 1 == 1
    }

    /// Whether all pairs of this relation are in the other.
    pub(crate) fn is_subset(&self, of: &Self) -> bool {
        self.rows.iter().zip(&of.rows).all(|(row, of)| row & !of == 0)
    }

    /// The pairs of this relation for which `keeps`.
    pub(crate) fn filter(&self, keeps: impl Fn(usize, usize) -> bool) -> Self {
        Self::of(self.size(), |a, b| self.has(a, b) && keeps(a, b))
    }

    /// `R+`.
    pub(crate) fn closure(&self) -> Self {
        let mut rows = self.rows.clone();
        for via in 0..rows.len() {
            let reached = rows[via];
            for row in &mut rows {
                if *row >> via & 1 == 1 {
                    *row |= reached;
                }
            }
        }
        Self { rows }
    }

    /// `R?`: this relation and the identity.
    pub(crate) fn or_same(&self) -> Self {
        Self { rows: self.rows.iter().enumerate().map(|(at, row)| row | 1 << at).collect() }
    }

    /// `R;S`.
    pub(crate) fn then(&self, next: &Self) -> Self {
        let compose = |row: u128| (0..next.size()).filter(|&b| row >> b & 1 == 1).fold(0, |all, b| all | next.rows[b]);
        Self { rows: self.rows.iter().map(|&row| compose(row)).collect() }
    }

    /// `R^-1`.
    pub(crate) fn inverse(&self) -> Self {
        Self::of(self.size(), |a, b| self.has(b, a))
    }

    pub(crate) fn is_irreflexive(&self) -> bool {
        (0..self.size()).all(|a| !self.has(a, a))
    }

    pub(crate) fn is_acyclic(&self) -> bool {
        self.closure().is_irreflexive()
    }
}

impl BitOr for &Relation {
    type Output = Relation;
    fn bitor(self, other: Self) -> Relation {
        Relation { rows: self.rows.iter().zip(&other.rows).map(|(a, b)| a | b).collect() }
    }
}

impl BitOr<&Relation> for Relation {
    type Output = Relation;
    fn bitor(self, other: &Relation) -> Relation {
        &self | other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(size: usize, pairs: &[(usize, usize)]) -> Relation {
        Relation::of(size, |a, b| pairs.contains(&(a, b)))
    }

    #[test]
    fn algebra() {
        let path = pairs(4, &[(0, 1), (1, 2), (2, 3)]);
        assert_eq!(path.closure(), Relation::of(4, |a, b| a < b));
        assert_eq!(path.then(&path), pairs(4, &[(0, 2), (1, 3)]));
        assert_eq!(path.inverse(), pairs(4, &[(1, 0), (2, 1), (3, 2)]));
        assert_eq!(path.or_same().then(&path).then(&path.or_same()), path.closure());
        assert_eq!(path.filter(|a, b| a + b == 3), pairs(4, &[(1, 2)]));
        assert!(path.is_acyclic());
        assert!(!(&path | &pairs(4, &[(3, 1)])).is_acyclic());
        assert!(!pairs(4, &[(2, 2)]).is_irreflexive());
    }
}
