//! Models in which the modification orders are part of one order of all events: `sc`, `tso`, `pso`, `sra`.
//!
//! [`REACH`] is the closure of what every such order has: the edges of the model's frame, `mo` and `fr` as far as they
//! are known. The set of a write ([`sets`]) is its *tail*: the write itself and, where `fr` counts, its readers. If one
//! write is less than another, all of its tail precedes the other. If a write precedes one of the tail of another
//! chain's last write, that chain cannot precede it, so its own chain comes first: this is how `less` grows.
//!
//! - `sc`: the frame is `po u rf`.
//! - `tso`: `ppo u rfe`, where a read does not wait for earlier writes. A thread is two chains, its writes and all its
//!   other events. The accesses of one location are coherent besides (see [`graph`](super::graph)).
//! - `pso`: the same, but a write or rmw waits only for the earlier writes of its location.
//! - `sra`: `po u rf`, and `fr` does not count: what `ra` asks of it is in `less` already.
//!
//! Under `tso` and `pso` a sequentially consistent fence orders everything, and so do the start and the end of a
//! thread; other fences order nothing.

use crate::bits::{meet, ones_of};
use crate::graph::{Graph, INITIAL, NONE, NOTHING, REACH, less, sets};
use crate::model::Frame;
use crate::program::{Order, Step};

impl Graph {
    /// The edges of the frame into a new event, and `fr` out of it.
    pub(crate) fn extend_order(&mut self, slot: usize, frame: Frame) -> bool {
        let event = &self.events[slot];
        let (thread, index, step, source) = (event.thread as usize, event.index as usize, event.step, event.source);
        match frame {
            Frame::Sc | Frame::Sra => {
                if index >= 2 {
                    self.precedes(self.threads[thread][index - 2], slot);
                }
            }
            Frame::Tso | Frame::Pso => {
                self.extend_buffered(slot, frame);
            }
        }
        match step {
            Step::Begin if self.spawned[thread] != NONE => self.precedes(self.spawned[thread], slot),
            Step::Join(child) => {
                for at in 0..self.threads[child as usize].len() {
                    self.precedes(self.threads[child as usize][at], slot);
                }
            }
            _ => {}
        }
        if source == NOTHING {
            return true;
        }
        let Some(location) = step.location() else { return true };
        let is_internal = source != INITIAL && self.events[source as usize].thread as usize == thread;
        if source != INITIAL && !(is_internal && matches!(frame, Frame::Tso | Frame::Pso)) {
            self.precedes(source, slot);
        }
        if frame == Frame::Sra {
            return true;
        }
        let value = self.write_number(source) as usize;
        self.relations.insert(sets(location as usize), value, slot);
        for after in 0..self.locations[location as usize].writes.len() {
            if self.relations.has(less(location as usize), value, after) {
                let after = self.locations[location as usize].writes[after] as usize;
                if after != slot && !self.link(slot, after) {
                    return false;
                }
            }
        }
        true
    }

    /// The events that a buffered event waits for. An rmw is a read until it writes.
    fn extend_buffered(&mut self, slot: usize, frame: Frame) -> bool {
        let event = &self.events[slot];
        let (thread, step) = (event.thread as usize, event.step);
        let is_full = matches!(step, Step::Fence(Order::SequentiallyConsistent) | Step::Spawn(_) | Step::Join(_));
        let (for_writes, location) = match step {
            Step::Write { location, .. } | Step::Rmw { location, .. } if event.writes => (true, Some(location)),
            Step::Read { .. } | Step::Rmw { .. } | Step::Begin => (false, None),
            // Other fences and choices order nothing.
            _ if !is_full => return true,
            _ => (true, None),
        };
        let (mut is_ordered, mut is_written) = (false, !for_writes);
        for at in (0..self.threads[thread].len() - 1).rev() {
            let before = self.threads[thread][at] as usize;
            let is_waited_for = match self.events[before].step {
                // The writes of a thread are a chain under `tso`; those of each location are under `pso`.
                Step::Write { location: other, .. } => {
                    let counts = frame == Frame::Tso || location.is_none_or(|location| location == other);
                    let is_new = for_writes && counts && (frame == Frame::Pso || !is_written);
                    is_written |= counts;
                    is_new
                }
                Step::Fence(Order::SequentiallyConsistent) => return is_ordered || self.link(before, slot),
                Step::Fence(_) | Step::Choice(_) | Step::Access { .. } => false,
                _ => !std::mem::replace(&mut is_ordered, true),
            };
            if is_waited_for && !self.link(before, slot) {
                return false;
            }
            if is_ordered && is_written && frame == Frame::Tso {
                return true;
            }
        }
        true
    }

    /// The tail of a new write.
    pub(crate) fn extend_order_write(&mut self, slot: usize, frame: Frame) -> bool {
        let event = &self.events[slot];
        let is_rmw = matches!(event.step, Step::Rmw { .. });
        let Some(location) = event.step.location() else { return true };
        self.relations.insert(sets(location as usize), event.write as usize, slot);
        !is_rmw || !matches!(frame, Frame::Tso | Frame::Pso) || self.extend_buffered(slot, frame)
    }

    /// An edge into the newest event, which nothing follows yet.
    fn precedes(&mut self, before: u32, slot: usize) {
        self.relations.close(REACH, before as usize, slot, |_, _| ());
    }

    fn link(&mut self, from: usize, to: usize) -> bool {
        if self.relations.has(REACH, to, from) {
            return false;
        }
        self.relations.close(REACH, from, to, |_, _| ());
        true
    }

    /// The edges that follow from the new pairs of `less`, and then the pairs that follow from the edges.
    pub(crate) fn propagate_order(&mut self, _: Frame) -> bool {
        loop {
            for at in 0..self.pairs.len() {
                let (location, one, two) = self.pairs[at];
                let to = self.locations[location as usize].writes[two as usize] as usize;
                for word in 0..self.relations.row(sets(location as usize), one as usize).len() {
                    let tail = self.relations.row(sets(location as usize), one as usize)[word];
                    for bit in ones_of(tail) {
                        let from = 64 * word + bit;
                        if from != to && !self.link(from, to) {
                            return false;
                        }
                    }
                }
            }
            self.pairs.clear();
            if !self.find_forced() {
                return true;
            }
        }
    }

    /// Finds the pairs of chains of which one must come first. The answer is whether there is any.
    fn find_forced(&mut self) -> bool {
        let Self { relations, locations, pairs, .. } = self;
        for (location, of) in locations.iter().enumerate() {
            for one in 1..of.tops.len() {
                if of.tops[one] as usize != one {
                    continue;
                }
                for two in 1..of.tops.len() {
                    if of.tops[two] as usize != two || one == two || relations.has(less(location), one, two) {
                        continue;
                    }
                    let end = of.ends[two] as usize;
                    let reached = relations.row(REACH, of.writes[one] as usize);
                    if meet(reached, relations.row(sets(location), end)) {
                        // If the other order is known already there is a cycle, which the edges will show.
                        relations.close(less(location), of.ends[one] as usize, two, |from, to| {
                            pairs.push((location as u32, from as u32, to as u32));
                        });
                    }
                }
            }
        }
        !pairs.is_empty()
    }
}
