//! Modification orders for all locations: what is forced first, then search.
//!
//! [`Graph::propagate`] refuses a graph only if no orders exist. It cannot accept one in which two chains of a location
//! are in no order, if their order matters. Here such pairs are ordered one after the other: first those of which one
//! order closes a cycle, then one by trial. What was tried is taken back afterwards, and the orders that were found are
//! the witness of the graph.

use crate::bits::ones;
use crate::graph::{Graph, NONE, less};
use crate::model::{Model, Together};
use crate::program::Value;

impl Graph {
    /// Whether there are modification orders with which the model allows the graph.
    pub(crate) fn holds(&mut self) -> bool {
        if self.together == Together::Nothing || !self.is_unsettled || self.is_straight() {
            return true;
        }
        // Without sequentially consistent events every coherent order will do.
        if self.together == Together::Psc && self.sequential.is_empty() {
            return true;
        }
        let mark = self.relations.mark();
        let answer = self.search();
        if answer {
            self.remember_witness();
            self.is_unsettled = false;
        }
        self.relations.undo(mark);
        answer
    }

    fn search(&mut self) -> bool {
        if !self.probe() {
            return false;
        }
        let Some((location, one, two)) = self.next_open(0, 0, 0) else { return true };
        let mark = self.relations.mark();
        for (first, second) in [(one, two), (two, one)] {
            if self.arrange(location, first, second) && self.search() {
                return true;
            }
            self.relations.undo(mark);
        }
        false
    }

    /// Orders every pair of chains of which one order closes a cycle at once. False if both do.
    fn probe(&mut self) -> bool {
        // The other models find these at each step.
        if self.together != Together::Psc {
            return true;
        }
        loop {
            let mut is_changed = false;
            let mut from = (0, 0, 0);
            while let Some((location, one, two)) = self.next_open(from.0, from.1, from.2) {
                from = (location, one, two + 1);
                let mark = self.relations.mark();
                let may_be_first = self.arrange(location, one, two);
                self.relations.undo(mark);
                let may_be_second = self.arrange(location, two, one);
                if may_be_first {
                    if may_be_second {
                        self.relations.undo(mark);
                        continue;
                    }
                    self.relations.undo(mark);
                    self.arrange(location, one, two);
                } else if !may_be_second {
                    return false;
                }
                is_changed = true;
            }
            if !is_changed {
                return true;
            }
        }
    }

    /// Two chains of a location that are in no order, although it matters: the next ones from this place on.
    fn next_open(&self, location: usize, one: usize, two: usize) -> Option<(usize, usize, usize)> {
        let (mut first, mut second) = (one, two);
        for location in location..self.locations.len() {
            let of = &self.locations[location];
            let is_top = |write: usize| of.tops[write] as usize == write;
            // The initial chain comes first.
            for one in first.max(1)..of.tops.len() {
                if !is_top(one) {
                    continue;
                }
                for two in second.max(one + 1)..of.tops.len() {
                    let is_open = is_top(two)
                        && !self.relations.has(less(location), one, two)
                        && !self.relations.has(less(location), two, one);
                    if is_open && (self.together != Together::Psc || self.matters_to_psc(location, one, two)) {
                        return Some((location, one, two));
                    }
                }
                second = 0;
            }
            (first, second) = (0, 0);
        }
        None
    }

    /// Puts one chain before another, with all that follows. False if this closes a cycle.
    fn arrange(&mut self, location: usize, first: usize, second: usize) -> bool {
        let Self { relations, locations, pairs, .. } = self;
        let end = locations[location].ends[first] as usize;
        relations.close(less(location), end, second, |one, two| {
            pairs.push((location as u32, one as u32, two as u32));
        });
        self.propagate()
    }

    /// Keeps modification orders that extend `less`. Of the writes that could come next, the first that arrived does.
    fn remember_witness(&mut self) {
        let Self { relations, locations, .. } = self;
        for (location, of) in locations.iter_mut().enumerate() {
            let count = of.writes.len();
            of.witness.clear();
            while of.witness.len() < count {
                let placed = |witness: &[u32], write: usize| witness.contains(&(write as u32));
                // A chain is not interrupted.
                let last = of.witness.last().map(|&last| of.updaters[last as usize]);
                let next = last.filter(|&next| next != NONE).map(|next| next as usize).or_else(|| {
                    (0..count).find(|&write| {
                        !placed(&of.witness, write)
                            && (0..count).all(|before| {
                                placed(&of.witness, before) || !relations.has(less(location), before, write)
                            })
                    })
                });
                let Some(next) = next else { break };
                of.witness.push(next as u32);
            }
        }
    }

    /// The memories with which the execution may end, of these locations: each is told once, in no special order.
    pub(crate) fn memories(&mut self, locations: &[u32], tell: &mut dyn FnMut(&[Value])) {
        let ends: Vec<Vec<u32>> = locations.iter().map(|&location| self.last_writes(location as usize)).collect();
        let mut chosen = vec![0; locations.len()];
        let mut told: Vec<Vec<Value>> = Vec::new();
        loop {
            let memory: Vec<Value> = (locations.iter().zip(&chosen).zip(&ends))
                .map(|((&location, &at), ends): ((&u32, &usize), &Vec<u32>)| {
                    self.value_of(location, self.locations[location as usize].writes[ends[at] as usize])
                })
                .collect();
            if !told.contains(&memory) && self.may_end(locations, &chosen, &ends) {
                tell(&memory);
                told.push(memory);
            }
            let Some(at) = (0..chosen.len()).find(|&at| chosen[at] + 1 < ends[at].len()) else { return };
            chosen[at] += 1;
            chosen[..at].fill(0);
        }
    }

    /// The writes of a location that may be its last.
    fn last_writes(&self, location: usize) -> Vec<u32> {
        let of = &self.locations[location];
        let writes = 0..of.writes.len();
        if self.is_straight() {
            return vec![of.writes.len() as u32 - 1];
        }
        if self.model() == Model::Wra {
            let is_over = |write: usize| {
                let slot = of.writes[write];
                (1..of.writes.len())
                    .any(|other| other != write && (write == 0 || self.is_before(slot, of.writes[other])))
            };
            return writes.filter(|&write| !is_over(write)).map(|write| write as u32).collect();
        }
        let is_last = |write: &usize| ones(self.relations.row(less(location), *write)).next().is_none();
        writes.filter(is_last).map(|write| write as u32).collect()
    }

    /// Whether there are modification orders that end with these writes.
    fn may_end(&mut self, locations: &[u32], chosen: &[usize], ends: &[Vec<u32>]) -> bool {
        if self.together == Together::Nothing || self.is_straight() {
            return true;
        }
        let mark = self.relations.mark();
        let mut is_allowed = true;
        for ((&location, &at), ends) in locations.iter().zip(chosen).zip(ends) {
            let location = location as usize;
            let last = self.locations[location].tops[ends[at] as usize] as usize;
            for top in 0..self.locations[location].tops.len() {
                let is_before = self.locations[location].tops[top] as usize != top
                    || top == last
                    || self.relations.has(less(location), top, last);
                is_allowed &= is_before || self.arrange(location, top, last);
                if !is_allowed {
                    break;
                }
            }
        }
        is_allowed = is_allowed && self.search();
        self.relations.undo(mark);
        is_allowed
    }
}
