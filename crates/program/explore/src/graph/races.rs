//! Data races.

use super::{CAUSES, Graph, HAPPENS};
use crate::program::{Order, Step};

impl Graph {
    /// Two accesses of one location race if they are in different threads, at least one writes, at least one is not
    /// atomic, and neither happens before the other. Nothing happens after the newest event.
    ///
    /// In a model that has no happens-before, accesses whose values the graph does not know must have an order all the
    /// same: one is among the causes of the other.
    #[inline]
    pub(super) fn find_races(&mut self, slot: usize, location: usize, order: Order) {
        if order == Order::NonAtomic || self.locations[location].has_plain {
            self.look_for_races(slot, location, order);
        }
    }

    fn look_for_races(&mut self, slot: usize, location: usize, order: Order) {
        let event = &self.events[slot];
        let (writes, is_checked) = match event.step {
            Step::Access { writes, .. } => (writes, true),
            _ => (event.writes, false),
        };
        if !self.model.has_races() && !is_checked {
            return;
        }
        let which = if self.model.has_races() { HAPPENS } else { CAUSES };
        let is_atomic = order != Order::NonAtomic;
        let clock = self.clock(slot, which);
        let of = &self.locations[location];
        for (thread, (row, &limit)) in of.rows.iter().zip(clock).enumerate() {
            if thread == event.thread as usize || is_atomic && of.plain[thread] <= limit {
                continue;
            }
            let mut later = row.iter().rev().take_while(|access| access.index > limit);
            let race = later.find(|access| (access.writes || writes) && !(access.is_atomic && is_atomic));
            if let Some(race) = race {
                self.races.push((race.slot, slot as u32));
                return;
            }
        }
    }
}
