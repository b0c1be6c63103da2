//! Whether a read may read a write, without pushing it: where coherence alone decides.
//!
//! Without sequentially consistent events, `c20` and `rc11` ask for no more than coherence, and neither do the models
//! that know no such events. Then a read may read a write iff the write is less than none of the values that the read
//! would know, and an rmw besides only if no other one updates that write.

use super::{CARRIED, Graph, HAPPENS, INITIAL, NONE, last_within, less};
use crate::bits::has;
use crate::model::{Model, Synchronization, Together};
use crate::program::{Order, Step};

impl Graph {
    /// Whether a read or rmw may be the next event of its thread with this source. None if coherence alone does not
    /// tell.
    pub(crate) fn told_by_coherence(&self, thread: u32, step: &Step, source: u32) -> Option<bool> {
        if self.is_straight() {
            return Some(self.straight_may_read(thread, *step, source));
        }
        let location = step.location()?;
        let value = self.value_of(location, source);
        let (order, is_update) = match *step {
            Step::Rmw { order, failure, update, .. } => match update.apply(value) {
                Some(_) => (order, true),
                None => (failure, false),
            },
            Step::Read { order, .. } => (order, false),
            _ => return None,
        };
        let is_enough = match self.together {
            Together::Nothing => self.model != Model::Wra,
            Together::Psc => self.sequential.is_empty() && !order.is_sequential(),
            Together::Order(_) => false,
        };
        is_enough.then(|| {
            let updaters = &self.locations[location as usize].updaters;
            let is_updated = is_update && updaters[self.write_number(source) as usize] != NONE;
            !is_updated && self.is_coherent(thread, location as usize, source, order)
        })
    }

    fn is_coherent(&self, thread: u32, location: usize, source: u32, order: Order) -> bool {
        // What happens before the read: all that its thread knows, and what it learns from the write.
        let known = self.threads[thread as usize].last().map_or(&[][..], |&last| self.clock(last as usize, HAPPENS));
        let learnt = match self.synchronization {
            Synchronization::All if source != INITIAL => self.clock(source as usize, HAPPENS),
            Synchronization::Orders { .. } if source != INITIAL && order.acquires() => {
                self.clock(source as usize, CARRIED)
            }
            _ => &[],
        };
        let target = self.write_number(source) as usize;
        let later = self.relations.row(less(location), target);
        // Nothing comes after the last write.
        if later.iter().all(|&word| word == 0) {
            return true;
        }
        for (at, row) in self.locations[location].rows.iter().enumerate() {
            let lane = |clock: &[u32]| clock.get(at).copied().unwrap_or(0);
            let limit = lane(known).max(lane(learnt));
            if limit > 0
                && let Some(access) = last_within(row, limit)
                && has(later, access.value as usize)
            {
                return false;
            }
        }
        true
    }
}
