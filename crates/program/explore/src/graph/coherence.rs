//! Whether a read may read a write, without pushing it: where coherence alone decides.
//!
//! Without sequentially consistent events, `c20` and `rc11` ask for no more than coherence, and neither do the models
//! that know no such events. Then a read may read a write iff the write is less than none of the values that the read
//! would know, and an rmw besides only if no other one updates that write.

use super::{CARRIED, Graph, HAPPENS, INITIAL, NONE, last_within, less};
use crate::bits::has;
use crate::model::{Model, Synchronization, Together};
use crate::program::{Order, Step, Value};

impl Graph {
    /// Whether a read or rmw may be the next event of its thread with this source. None if coherence alone does not
    /// tell. (What makes an execution that is visited under another name may not be.)
    pub(crate) fn told_by_coherence(&self, thread: u32, step: &Step, source: u32) -> Option<bool> {
        if self.is_straight() {
            return Some(self.straight_may_read(thread, *step, source));
        }
        if self.is_renamed(thread, source) {
            return Some(false);
        }
        if let Some(known) = self.known_by(thread, step) {
            return Some(self.known_with(known, step, source).is_some());
        }
        let location = step.location()?;
        let (order, is_update) = order_and_update(step, self.value_of(location, source))?;
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

    /// The values of its location that a thread knows before a read or rmw, as bits. None if coherence alone does not
    /// tell what it may read, or there are too many writes.
    #[inline]
    pub(crate) fn known_by(&self, thread: u32, step: &Step) -> Option<u64> {
        let (location, is_sequential) = match *step {
            Step::Read { location, order, .. } => (location as usize, order.is_sequential()),
            Step::Rmw { location, order, failure, .. } => {
                (location as usize, order.is_sequential() || failure.is_sequential())
            }
            _ => return None,
        };
        let is_told = self.is_local() && !is_sequential && self.model != Model::Wra && !self.is_straight();
        (is_told && self.relations.is_small(less(location))).then(|| self.known_word(location, self.last_clock(thread)))
    }

    /// The writes of a location, by number, that are less than no value that a thread knows ([`Self::known_by`]).
    #[inline]
    pub(crate) fn not_less(&self, location: u32, known: u64) -> u64 {
        let words = self.relations.words(less(location as usize)).iter().rev();
        words.fold(0, |writes, &word| writes << 1 | u64::from(word & known == 0))
    }

    /// What a read or rmw with this source knows, given what its thread knows ([`Self::known_by`]). None if it may not
    /// have this source.
    #[inline]
    pub(crate) fn known_with(&self, known: u64, step: &Step, source: u32) -> Option<u64> {
        let location = step.location()?;
        let (order, is_update) = order_and_update(step, self.value_of(location, source))?;
        let target = self.write_number(source) as usize;
        if is_update && self.locations[location as usize].updaters[target] != NONE {
            return None;
        }
        let learnt = if source == INITIAL { &[][..] } else { self.learnt(source, order) };
        let known = if learnt.is_empty() { known } else { known | self.known_word(location as usize, learnt) };
        (self.relations.word(less(location as usize), target) & known == 0).then_some(known)
    }

    /// All that happens before the next event of a thread, as far as the thread tells.
    #[inline]
    fn last_clock(&self, thread: u32) -> &[u32] {
        self.threads[thread as usize].last().map_or(&[][..], |&last| self.clock(last as usize, HAPPENS))
    }

    /// What a read learns from a write of an event.
    #[inline]
    fn learnt(&self, source: u32, order: Order) -> &[u32] {
        match self.synchronization {
            Synchronization::All => self.clock(source as usize, HAPPENS),
            Synchronization::Orders { .. } if order.acquires() => self.clock(source as usize, CARRIED),
            _ => &[],
        }
    }

    fn is_coherent(&self, thread: u32, location: usize, source: u32, order: Order) -> bool {
        // What happens before the read: all that its thread knows, and what it learns from the write.
        let known = self.last_clock(thread);
        let learnt = if source == INITIAL { &[][..] } else { self.learnt(source, order) };
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

/// The order of a read or rmw that reads this value, and whether it writes.
#[inline]
fn order_and_update(step: &Step, value: Value) -> Option<(Order, bool)> {
    match *step {
        Step::Rmw { order, failure, update, .. } => match update.apply(value) {
            Some(_) => Some((order, true)),
            None => Some((failure, false)),
        },
        Step::Read { order, .. } => Some((order, false)),
        _ => None,
    }
}
