//! Which conflict edges can be on a cycle.
//!
//! Events are done in an order that extends causality. So a cycle of causality and conflict edges has an edge against
//! the order: from a write to a write that was done before it. A cut is a place in the order that no such edge crosses.
//! A cycle cannot cross a cut, because it would have to come back. So only those conflict edges matter whose two ends
//! no cut separates. These are few if the order is close to one in which the events may have happened.
//!
//! A place is declared a cut some time after its events are done. If an edge that crosses the cut turns up later, the
//! caller has to decide without cuts.

/// The cuts in the order in which writes are done. Writes are named by their rank in it.
pub struct Cuts {
    /// For each write, how many edges against the order end there, less those that begin there; once the write is
    /// settled, how many cuts are before it.
    balance: Vec<i32>,
    /// How many writes are settled.
    settled: usize,
    /// How many edges cross the place after the last settled write.
    open: i32,
    /// How many cuts there are up to that place.
    count: i32,
}

impl Cuts {
    /// So many writes, without edges.
    pub fn new(writes: usize) -> Self {
        Self { balance: vec![0; writes], settled: 0, open: 0, count: 0 }
    }

    /// Adds an edge. The answer is `false` if the edge may cross a cut.
    #[inline]
    pub fn add(&mut self, from: u32, to: u32) -> bool {
        let (from, to) = (from as usize, to as usize);
        if to < from {
            if to < self.settled {
                return false;
            }
            self.balance[to] += 1;
            self.balance[from] -= 1;
        }
        true
    }

    /// Settles all cuts before the write of that rank.
    pub fn settle(&mut self, until: usize) {
        for balance in &mut self.balance[self.settled..until] {
            self.open += *balance;
            *balance = self.count;
            self.count += i32::from(self.open == 0);
        }
        self.settled = until;
    }

    /// Whether there is a cut between two settled writes.
    #[inline]
    pub fn separate(&self, a: u32, b: u32) -> bool {
        self.balance[a as usize] != self.balance[b as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_against_the_order_leave_no_cut() {
        let mut cuts = Cuts::new(8);
        for (from, to) in [(0, 7), (3, 1), (5, 3), (6, 6)] {
            assert!(cuts.add(from, to));
        }
        cuts.settle(4);
        assert!(cuts.add(7, 5) && !cuts.add(7, 3) && cuts.add(2, 7));
        cuts.settle(8);
        let separated: Vec<bool> = (0..7).map(|rank| cuts.separate(rank, rank + 1)).collect();
        assert_eq!(separated, [true, false, false, false, false, false, false]);
        let mut cuts = Cuts::new(4);
        assert!(cuts.add(2, 1));
        cuts.settle(4);
        assert!(cuts.separate(0, 1) && !cuts.separate(1, 2) && cuts.separate(2, 3) && cuts.separate(0, 3));
    }
}
