//! Threads that are alike: of the executions that differ in the names of such threads alone, few are visited, and most
//! often one.
//!
//! Threads of one [kind](crate::Program::kind) take the same steps when they have read the same. Two of them are
//! *twins* before their n-th events if all their events before had the same sources and the same choices. The *order*
//! is the closure of the causes (po, rf, spawn and join) and of the pairs (n-th event of t, n-th event of u), for twins
//! t < u before their n-th events. An execution is *kept* if
//!
//! 1. the order has no cycle;
//! 2. where twins t < u read, the source of u is not before that of t: in the same chain, or by happens-before, or as
//!    the initial write; an await of u waits if that of t does; and what u chooses is no more than what t chooses.
//!
//! *Every execution has names under which it is kept.* Twins that part at their n-th events part by their sources. What
//! the second calls before is before among the causes, too, and so is a reader's source that another twin's event leads
//! to. So the sources have an order that agrees with the causes, and the threads are named by it: at each parting,
//! those with the lower source get the lower names. While they are twins they have the same causes but for each other's
//! events, so an event of one is no cause of an event of the other at the same place or before.
//!
//! *The exploration may take what is kept for what is consistent.* It needs three things of consistency (see
//! [`exploration`](crate::exploration)), with the order in place of the causes. The order has no cycle. What is left of
//! a kept execution is kept, if with an event all stays that is before it in the order: whether two threads are twins
//! before an event is told by what is before it. And every event can be added: a new event is the last one in the
//! order; of the sources, the last write of a modification order is before no other; and waiting and 0 are always
//! allowed. The lowest thread goes on first, so a thread is never ahead of a twin with a lower number. That the
//! canonical source of [`revisits`](crate::exploration) is kept follows in the same way.

use super::{CAUSES, CLOCKS, Event, Graph, INITIAL, NONE, NOTHING, ORDERED};
use crate::bits::ones_of;

impl Graph {
    /// Says of which kind a thread is that has no events. Only the first 64 threads can have one.
    pub(crate) fn set_kind(&mut self, thread: u32, kind: Option<u32>) {
        let kind = kind.filter(|_| thread < u64::BITS).unwrap_or(NONE);
        if kind == NONE && self.kinds.len() <= thread as usize {
            return;
        }
        if self.kinds.len() <= thread as usize {
            self.kinds.resize(thread as usize + 1, NONE);
        }
        self.kinds[thread as usize] = kind;
        self.keep_order();
    }

    /// Threads are of the same kinds as in another graph. There are no events yet.
    pub(crate) fn copy_kinds(&mut self, from: &Self) {
        self.kinds.clone_from(&from.kinds);
        if !self.kinds.is_empty() {
            self.keep_order();
        }
    }

    /// Gives all events the clock of the order. So far it is that of the causes.
    fn keep_order(&mut self) {
        if self.clock_count > CLOCKS {
            return;
        }
        let mut clocks = Vec::with_capacity(self.events.len() * (CLOCKS + 1) * self.width);
        for of_event in self.clocks.chunks(CLOCKS * self.width) {
            clocks.extend_from_slice(of_event);
            clocks.extend_from_slice(&of_event[CAUSES * self.width..][..self.width]);
        }
        (self.clocks, self.clock_count) = (clocks, CLOCKS + 1);
    }

    /// Whether an event must stay as long as another one does: it is before it in the order, or the same.
    #[inline]
    pub(crate) fn stays_for(&self, slot: usize, of: usize) -> bool {
        let event = &self.events[slot];
        let which = if self.clock_count > CLOCKS { ORDERED } else { CAUSES };
        self.clock(of, which)[event.thread as usize] >= event.index
    }

    /// The twins of a thread with lower numbers, before its next event: bits, by the number of the thread.
    pub(super) fn twins_of_next(&self, thread: u32) -> u64 {
        let Some(&kind) = self.kinds.get(thread as usize).filter(|&&kind| kind != NONE) else { return 0 };
        let Some(&last) = self.threads[thread as usize].last() else {
            let others = self.kinds[..thread as usize].iter().zip(&self.threads).enumerate();
            let twins = others.filter(|&(_, (&other, events))| other == kind && !events.is_empty());
            return twins.fold(0, |bits, (twin, _)| bits | 1 << twin);
        };
        let event = &self.events[last as usize];
        let is_same = |&twin: &usize| {
            self.event_at(twin, event.index).is_some_and(|other| {
                other.step == event.step && other.source == event.source && other.read == event.read
            })
        };
        ones_of(event.twins).filter(is_same).fold(0, |bits, twin| bits | 1 << twin)
    }

    /// The event of a thread at a place, from 1.
    fn event_at(&self, thread: usize, index: u32) -> Option<&Event> {
        self.threads[thread].get(index as usize - 1).map(|&slot| &self.events[slot as usize])
    }

    /// The newest event comes after those of its twins at the same place.
    pub(super) fn order_after_twins(&mut self, slot: usize) {
        let Event { thread, index, twins, .. } = self.events[slot];
        self.clocks[(slot * self.clock_count + ORDERED) * self.width + thread as usize] = index;
        for twin in ones_of(twins) {
            if let Some(&other) = self.threads[twin].get(index as usize - 1) {
                self.join((slot, ORDERED), (other as usize, ORDERED));
            }
        }
    }

    /// An event has another one among its causes.
    #[inline]
    pub(super) fn join_causes(&mut self, slot: usize, from: usize) {
        self.join((slot, CAUSES), (from, CAUSES));
        if self.clock_count > CLOCKS {
            self.join((slot, ORDERED), (from, ORDERED));
        }
    }

    /// Whether the execution is not kept if the next event of a thread reads from this source.
    pub(super) fn is_renamed(&self, thread: u32, source: u32) -> bool {
        !self.kinds.is_empty() && !self.is_free && {
            let index = self.threads[thread as usize].len() as u32 + 1;
            self.is_renamed_at(self.twins_of_next(thread), index, source)
        }
    }

    /// The same of the event at this place, whose twins are known.
    pub(super) fn is_renamed_at(&self, twins: u64, index: u32, source: u32) -> bool {
        let sources = ones_of(twins).filter_map(|twin| self.event_at(twin, index)).map(|event| event.source);
        !self.is_free && sources.into_iter().any(|theirs| theirs == NOTHING || self.is_lower(source, theirs))
    }

    /// Whether a source is before another one of the same location, in every modification order.
    fn is_lower(&self, one: u32, other: u32) -> bool {
        if one == other || other == INITIAL || one == INITIAL {
            return one != other && one == INITIAL;
        }
        let tops = |slot: u32| {
            let event = &self.events[slot as usize];
            let tops = &self.locations[event.step.location()? as usize].tops;
            tops.get(event.write as usize).copied()
        };
        let number = |slot: u32| self.events[slot as usize].write;
        tops(one) == tops(other) && number(one) < number(other) || self.is_before(one, other)
    }

    /// How many numbers the next event of a thread may choose among, if it is a choice among so many.
    pub(crate) fn choices(&self, thread: u32, count: u32) -> u32 {
        if self.kinds.is_empty() {
            return count;
        }
        let index = self.threads.get(thread as usize).map_or(0, |events| events.len() as u32) + 1;
        let twins = ones_of(self.twins_of_next(thread)).filter_map(|twin| self.event_at(twin, index));
        twins.fold(count, |most, event| most.min(event.read as u32 + 1))
    }

    /// Lets events be added that make an execution which is not kept, or not any more.
    pub(crate) fn set_free(&mut self, is_free: bool) {
        self.is_free = is_free;
    }
}
