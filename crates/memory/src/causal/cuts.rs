//! Which conflict edges can be on a cycle.
//!
//! Events are done in an order that extends causality. So a cycle of causality and conflict edges goes against the
//! order somewhere: along an edge from a write to one that was done before it. A cut is a place in the order that no
//! such edge leads across. A cycle that leads across a cut would have to come back. So there is none, and of all
//! conflict edges only those matter whose ends no cut separates. Where the order is close to one in which the events
//! may have happened, these are few.
//!
//! Whether there is a cut is settled a while after the events are done. An edge that leads across may turn up later:
//! then the caller has to do without cuts.

/// The cuts in the order in which writes are done. Writes are named by their rank in it.
pub struct Cuts {
    /// For each write, how many edges against the order end there, less those that begin there; and once that is
    /// settled, how many cuts are before it.
    balance: Vec<i32>,
    /// For how many writes that is.
    settled: usize,
    /// How many edges lead across the place after the last of these.
    open: i32,
    /// How many cuts there are up to there.
    count: i32,
}

impl Cuts {
    /// No edges between so many writes.
    pub fn new(writes: usize) -> Self {
        Self { balance: vec![0; writes], settled: 0, open: 0, count: 0 }
    }

    /// Adds an edge. `false` if it may lead across a cut.
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

    /// Whether there is a cut between two writes for which it is settled.
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
