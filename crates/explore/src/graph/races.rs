//! Data races.

use super::{CAUSES, Graph, HAPPENS};
use crate::program::{Order, Step};

impl Graph {
    /// Two accesses of one location race if they are in different threads, at least one writes, at least one is not
    /// atomic, and neither happens before the other. Nothing happens after the newest event.
    ///
    /// In a model that has no happens-before, accesses whose values the graph does not know must have an order all the
    /// same: one is among the causes of the other.
    pub(super) fn find_races(&mut self, slot: usize) {
        let event = &self.events[slot];
        let Some(location) = event.step.location() else { return };
        let (writes, is_checked) = match event.step {
            Step::Access { writes, .. } => (writes, true),
            _ => (event.writes, false),
        };
        if !self.model.has_races() && !is_checked {
            return;
        }
        let which = if self.model.has_races() { HAPPENS } else { CAUSES };
        let is_atomic = event.order() != Order::NonAtomic;
        if is_atomic && !self.locations[location as usize].has_plain {
            return;
        }
        let clock = self.clock(slot, which);
        for (thread, (row, &limit)) in self.locations[location as usize].rows.iter().zip(clock).enumerate() {
            let of = &self.locations[location as usize];
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
