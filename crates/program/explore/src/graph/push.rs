//! Events are pushed on a graph, and popped.

use super::{
    Access, CARRIED, CAUSES, CLOCKS, Event, Graph, HAPPENS, INITIAL, NONE, NOTHING, OWN, PENDING, PUBLISHED, REACH,
    last_within, less,
};
use crate::bits::{ones, ones_of};
use crate::model::{Model, Synchronization, Together};
use crate::program::{Order, Step, Value};

impl Graph {
    #[inline]
    fn append(&mut self, thread: u32, step: &Step, stamp: u32) -> usize {
        self.admit_thread(thread);
        let slot = self.events.len();
        let previous = self.threads[thread as usize].last().map(|&slot| slot as usize);
        let index = self.threads[thread as usize].len() as u32 + 1;
        let twins = if self.kinds.is_empty() { 0 } else { self.twins_of_next(thread) };
        let (width, size) = (self.width, self.clock_count * self.width);
        // The last two clocks have a meaning for writes alone ([`Self::carry`]).
        match previous {
            Some(previous) => self.clocks.extend_from_within(previous * size..(previous + 1) * size),
            None => self.clocks.resize((slot + 1) * size, 0),
        }
        for which in [HAPPENS, CAUSES] {
            self.clocks[slot * size + which * width + thread as usize] = index;
        }
        let (mut run, mut run_location) = (index, step.location().unwrap_or(NONE));
        if let Some(previous) = previous.map(|slot| &self.events[slot])
            && (previous.run_location == run_location && run_location != NONE || matches!(step, Step::Choice(_)))
        {
            (run, run_location) = (previous.run, previous.run_location);
        }
        self.threads[thread as usize].push(slot as u32);
        self.events.push(Event {
            thread,
            index,
            step: *step,
            source: NOTHING,
            read: 0,
            written: 0,
            writes: false,
            write: NONE,
            stamps: [stamp, NONE],
            run,
            run_location,
            known: 0,
            sequential: NONE,
            twins,
            marks: [self.relations.mark() as u32; 2],
            races: [self.races.len() as u32; 2],
            was_unsettled: [self.is_unsettled; 2],
            has_row: false,
        });
        if self.clock_count > CLOCKS {
            self.order_after_twins(slot);
        }
        if !self.is_local() && self.straight.is_none() {
            match self.together {
                Together::Nothing => {}
                Together::Psc => self.push_event_sets(),
                Together::Order(_) => self.relations.push_row(REACH),
            }
        }
        slot
    }

    /// Takes the last event back.
    pub(crate) fn pop(&mut self) {
        let slot = self.events.len() - 1;
        if self.events[slot].writes {
            self.pop_write(slot);
        }
        let Some(event) = self.events.pop() else { return };
        self.relations.undo(event.marks[0] as usize);
        self.pairs.clear();
        self.races.truncate(event.races[0] as usize);
        self.is_unsettled &= event.was_unsettled[0];
        self.threads[event.thread as usize].pop();
        if event.has_row
            && let Some(location) = event.step.location()
        {
            let of = &mut self.locations[location as usize];
            let thread = event.thread as usize;
            if of.rows[thread].pop().is_some_and(|access| !access.is_atomic) {
                let last = of.rows[thread].iter().rfind(|access| !access.is_atomic);
                of.plain[thread] = last.map_or(0, |access| access.index);
            }
        }
        if let Step::Spawn(thread) = event.step {
            self.spawned[thread as usize] = NONE;
        }
        self.clocks.truncate(slot * self.clock_count * self.width);
        match self.together {
            Together::Nothing => {}
            Together::Psc => {
                self.event_sets.truncate(slot * crate::psc::SETS * self.set_words);
                if event.sequential != NONE {
                    self.sequential.pop();
                    self.relations.pop_row(REACH);
                }
            }
            Together::Order(_) => self.relations.pop_row(REACH),
        }
    }

    /// Takes the write of the last event back, and leaves its read if it is an rmw.
    fn pop_write(&mut self, slot: usize) {
        self.relations.undo(self.events[slot].marks[1] as usize);
        self.pairs.clear();
        let event = &mut self.events[slot];
        let Some(location) = event.step.location() else { return };
        let (number, thread, source) = (event.write, event.thread, event.source);
        (event.writes, event.write) = (false, NONE);
        self.write_count -= 1;
        let is_rmw = matches!(event.step, Step::Rmw { .. });
        let before = if is_rmw { self.write_number(source) } else { NONE };
        let of = &mut self.locations[location as usize];
        of.writes.pop();
        of.tops.pop();
        of.ends.pop();
        of.updaters.pop();
        of.witness.retain(|&write| write != number);
        if is_rmw {
            of.updaters[before as usize] = NONE;
            let top = of.tops[before as usize];
            of.ends[top as usize] = before;
            if let [earlier @ .., access] = &mut of.rows[thread as usize][..] {
                let wrote = earlier.last().map_or(NONE, |earlier| earlier.wrote);
                (access.value, access.writes, access.wrote) = (before, false, wrote);
            }
        }
        self.pop_write_rows(location as usize);
    }

    /// Takes the write of the last event back, which is an rmw.
    pub(crate) fn pop_update(&mut self) {
        let slot = self.events.len() - 1;
        self.pop_write(slot);
        self.races.truncate(self.events[slot].races[1] as usize);
        self.is_unsettled &= self.events[slot].was_unsettled[1];
    }

    /// A step without a value: a fence, the start of a thread, its end, a choice, an access that is only checked.
    pub(crate) fn push_plain(&mut self, thread: u32, step: &Step, chosen: Value, stamp: u32) {
        let slot = self.append(thread, step, stamp);
        self.events[slot].read = chosen;
        let learnt = match *step {
            Step::Begin => Some(self.spawned[thread as usize]).filter(|&spawn| spawn != NONE),
            Step::Join(child) => self.threads[child as usize].last().copied(),
            _ => None,
        };
        if let Some(from) = learnt {
            self.join((slot, HAPPENS), (from as usize, HAPPENS));
            self.join_causes(slot, from as usize);
        }
        match *step {
            Step::Spawn(child) => {
                self.admit_thread(child);
                self.spawned[child as usize] = slot as u32;
            }
            Step::Fence(order) if matches!(self.synchronization, Synchronization::Orders { .. }) => {
                if order.acquires() {
                    self.join((slot, HAPPENS), (slot, PENDING));
                }
                if order.releases() {
                    self.join((slot, PUBLISHED), (slot, HAPPENS));
                }
            }
            Step::Access { location, writes } => {
                let access = Access {
                    index: self.events[slot].index,
                    slot: slot as u32,
                    value: 0,
                    writes,
                    is_atomic: false,
                    wrote: NONE,
                };
                self.add_to_row(slot, location as usize, access);
            }
            _ => {}
        }
        if self.straight.is_some() {
            self.note_straight(slot);
        } else {
            let is_sequential = matches!(step, Step::Fence(Order::SequentiallyConsistent));
            let is_allowed = self.extend(slot, is_sequential) && self.propagate();
            debug_assert!(is_allowed, "a step without a value is always allowed");
        }
        if let Step::Access { location, .. } = *step {
            self.find_races(slot, location as usize, Order::NonAtomic);
        }
    }

    /// An await that waits. It has no effect on anything.
    pub(crate) fn push_waiting(&mut self, thread: u32, step: &Step, stamp: u32) {
        self.append(thread, step, stamp);
    }

    /// The event knows values of its location: their chains precede the chain of its target. False, and nothing is
    /// done, if it knows a value that the target must not be less than.
    #[inline]
    fn learn(&mut self, slot: usize, location: usize, target: u32) -> bool {
        if !self.relations.is_small(less(location)) {
            return self.learn_many(slot, location, target);
        }
        let known = self.known_word(location, self.clock(slot, HAPPENS));
        let is_write = self.events[slot].write == target;
        if !is_write && self.relations.word(less(location), target as usize) & known != 0 {
            return false;
        }
        self.order_known_word(slot, location, target, known | u64::from(is_write));
        true
    }

    /// The chains of these values, of at most 64, precede the chain of the event's target.
    #[inline]
    fn order_known_word(&mut self, slot: usize, location: usize, target: u32, known: u64) {
        let of = &self.locations[location];
        let top = of.tops[target as usize];
        let (mut chains, mut ends) = (0_u64, 0_u64);
        for value in ones_of(known) {
            let other = of.tops[value];
            if other != top {
                chains |= 1 << other;
                ends |= 1 << of.ends[other as usize];
            }
        }
        if ends != 0 {
            self.events[slot].known |= chains;
            let has_pairs = self.needs_pairs();
            let Self { relations, pairs, .. } = self;
            relations.close_words(less(location), ends, top as usize, |one, two| {
                if has_pairs {
                    pairs.push((location as u32, one as u32, two as u32));
                }
            });
        }
    }

    /// [`Self::learn`] for any number of writes.
    #[cold]
    fn learn_many(&mut self, slot: usize, location: usize, target: u32) -> bool {
        let is_write = self.events[slot].write == target;
        self.known.clear();
        if is_write {
            self.known.push(0);
        }
        let clock = &self.clocks[(slot * self.clock_count + HAPPENS) * self.width..][..self.width];
        for (row, &limit) in self.locations[location].rows.iter().zip(clock) {
            if limit == 0 {
                continue;
            }
            let Some(access) = last_within(row, limit) else { continue };
            if !is_write && self.relations.has(less(location), target as usize, access.value as usize) {
                return false;
            }
            if !self.known.contains(&access.value) {
                self.known.push(access.value);
            }
        }
        self.order_known(slot, location, target);
        true
    }

    /// The values of a location that are known to whoever has this clock, of at most 64 writes.
    #[inline]
    pub(super) fn known_word(&self, location: usize, clock: &[u32]) -> u64 {
        let mut known = 0;
        for (row, &limit) in self.locations[location].rows.iter().zip(clock) {
            if limit > 0
                && let Some(access) = last_within(row, limit)
            {
                known |= 1 << access.value;
            }
        }
        known
    }

    /// Whether a write happens before a write that the event knows of, so that `wra` forbids to read it.
    fn is_overwritten(&self, slot: usize, location: usize, source: u32) -> bool {
        let clock = self.clock(slot, HAPPENS);
        self.locations[location].rows.iter().zip(clock).any(|(row, &limit)| {
            let last = row.iter().rev().find(|access| access.index <= limit && access.writes);
            last.is_some_and(|last| last.slot != source && (source == INITIAL || self.is_before(source, last.slot)))
        })
    }

    /// The chains of what the event knows precede the chain of its target.
    fn order_known(&mut self, slot: usize, location: usize, target: u32) {
        let has_pairs = self.needs_pairs();
        let Self { relations, locations, known, pairs, events, .. } = self;
        let of = &locations[location];
        let top = of.tops[target as usize];
        for &value in &*known {
            let other = of.tops[value as usize];
            if other != top {
                events[slot].known |= 1_u64.checked_shl(other).unwrap_or(0);
                relations.close(less(location), of.ends[other as usize] as usize, top as usize, |one, two| {
                    if has_pairs {
                        pairs.push((location as u32, one as u32, two as u32));
                    }
                });
            }
        }
    }

    /// Whether new pairs of `less` mean more than themselves.
    #[inline]
    fn needs_pairs(&self) -> bool {
        !self.is_local()
    }

    #[inline]
    fn add_to_row(&mut self, slot: usize, location: usize, access: Access) {
        let thread = self.events[slot].thread as usize;
        let of = &mut self.locations[location];
        if of.rows.len() <= thread {
            of.rows.resize_with(thread + 1, Vec::new);
            of.plain.resize(thread + 1, 0);
        }
        let wrote = if access.writes { access.value } else { of.rows[thread].last().map_or(NONE, |last| last.wrote) };
        of.rows[thread].push(Access { wrote, ..access });
        if !access.is_atomic {
            of.plain[thread] = access.index;
            of.has_plain = true;
        }
        self.events[slot].has_row = true;
    }

    fn add_reading(&mut self, slot: usize, location: usize, value: u32, order: Order) {
        let (index, is_atomic) = (self.events[slot].index, order != Order::NonAtomic);
        self.add_to_row(
            slot,
            location,
            Access { index, slot: slot as u32, value, writes: false, is_atomic, wrote: NONE },
        );
    }

    /// Pushes a read, or the read of an rmw. If the answer is false the graph is as before.
    pub(crate) fn push_read(&mut self, thread: u32, step: &Step, source: u32, stamp: u32) -> bool {
        self.push_read_knowing(thread, step, source, stamp, None)
    }

    /// The same, where it may be known already what the event knows ([`Self::known_with`]).
    pub(crate) fn push_read_knowing(
        &mut self,
        thread: u32,
        step: &Step,
        source: u32,
        stamp: u32,
        known: Option<u64>,
    ) -> bool {
        let Some(place) = step.location() else { return false };
        let location = place as usize;
        let read = self.value_of(place, source);
        let (order, is_sequential, written) = match *step {
            Step::Rmw { order, failure, update, .. } => {
                // With another value it would have the other order.
                let is_sequential = order.is_sequential() || failure.is_sequential();
                let written = update.apply(read);
                (if written.is_some() { order } else { failure }, is_sequential, written)
            }
            Step::Read { order, .. } => (order, order.is_sequential(), None),
            _ => return false,
        };
        let slot = self.append(thread, step, stamp);
        let event = &mut self.events[slot];
        (event.source, event.read) = (source, read);
        if matches!(step, Step::Rmw { .. }) {
            event.written = written.unwrap_or(read);
        }
        let Event { twins, index, .. } = self.events[slot];
        if twins != 0 && self.is_renamed_at(twins, index, source) {
            self.pop();
            return false;
        }
        if source != INITIAL {
            let from = source as usize;
            self.join_causes(slot, from);
            match self.synchronization {
                Synchronization::None => {}
                Synchronization::All => self.join((slot, HAPPENS), (from, HAPPENS)),
                Synchronization::Orders { .. } if order == Order::NonAtomic => {}
                Synchronization::Orders { .. } => {
                    let into = if order.acquires() { HAPPENS } else { PENDING };
                    self.join((slot, into), (from, CARRIED));
                }
            }
        }
        let target = self.write_number(source);
        if self.straight.is_some() {
            self.add_reading(slot, location, target, order);
            // An rmw is noted when it has written.
            if written.is_none() {
                self.note_straight(slot);
                self.find_races(slot, location, order);
            }
            return true;
        }
        let is_allowed = match known {
            _ if self.model == Model::Wra => !self.is_overwritten(slot, location, source),
            Some(known) => {
                self.order_known_word(slot, location, target, known);
                true
            }
            None => self.learn(slot, location, target),
        };
        if !is_allowed {
            self.pop();
            return false;
        }
        self.add_reading(slot, location, target, order);
        self.is_unsettled |= self.locations[location].witness.last() != Some(&target);
        if !(self.extend(slot, is_sequential) && self.propagate()) {
            self.pop();
            return false;
        }
        self.find_races(slot, location, order);
        true
    }

    /// Whether the last event is an rmw that is to write.
    #[inline]
    pub(crate) fn last_updates(&self) -> bool {
        let Some(Event { step: Step::Rmw { update, .. }, read, .. }) = self.events.last() else { return false };
        update.apply(*read).is_some()
    }

    /// Adds the write of the last event, an rmw. If the answer is false the graph is as before.
    pub(crate) fn push_update(&mut self, stamp: u32) -> bool {
        let slot = self.events.len() - 1;
        let Event { ref step, source, .. } = self.events[slot];
        let Some(location) = step.location() else { return false };
        let before = self.write_number(source);
        if self.straight.is_some() {
            self.push_straight_write(slot, location as usize, Some(source), stamp);
            return true;
        }
        let of = &mut self.locations[location as usize];
        if of.updaters[before as usize] != NONE {
            return false;
        }
        let was_unsettled = self.is_unsettled;
        self.is_unsettled |= of.witness.last() != Some(&before);
        let number = of.writes.len() as u32;
        of.writes.push(slot as u32);
        of.tops.push(of.tops[before as usize]);
        of.ends.push(NONE);
        of.updaters.push(NONE);
        of.updaters[before as usize] = number;
        let top = of.tops[before as usize];
        of.ends[top as usize] = number;
        if let Some(at) = of.witness.iter().position(|&write| write == before) {
            of.witness.insert(at + 1, number);
        }
        let event = &mut self.events[slot];
        event.marks[1] = self.relations.mark() as u32;
        event.races[1] = self.races.len() as u32;
        event.was_unsettled[1] = was_unsettled;
        (event.writes, event.write, event.stamps[1]) = (true, number, stamp);
        if let Some(access) = of.rows[event.thread as usize].last_mut() {
            (access.value, access.writes, access.wrote) = (number, true, number);
        }
        self.write_count += 1;
        self.push_write_rows(location as usize);
        self.carry(slot, Some(source));
        let has_pairs = self.needs_pairs();
        let Self { relations, pairs, .. } = self;
        // What follows the source follows the rmw, too.
        let relation = less(location as usize);
        let mut new = |one: usize, two: usize| {
            if has_pairs {
                pairs.push((location, one as u32, two as u32));
            }
        };
        if relations.is_small(relation) {
            let after = relations.word(relation, before as usize);
            relations.close_words(relation, 1 << before, number as usize, &mut new);
            ones_of(after).for_each(|after| relations.close_words(relation, 1 << number, after, &mut new));
        } else {
            self.known.clear();
            self.known.extend(ones(relations.row(relation, before as usize)).map(|after| after as u32));
            relations.close(relation, before as usize, number as usize, &mut new);
            for &after in &self.known {
                relations.close(relation, number as usize, after as usize, &mut new);
            }
        }
        if !(self.extend_write(slot) && self.propagate()) {
            self.pop_update();
            return false;
        }
        self.find_races(slot, location as usize, self.events[slot].order());
        true
    }

    pub(crate) fn push_write(&mut self, thread: u32, step: &Step, stamp: u32) {
        let Step::Write { location, order, value } = *step else { return };
        let slot = self.append(thread, step, stamp);
        if self.straight.is_some() {
            self.events[slot].written = value;
            self.add_reading(slot, location as usize, 0, order);
            self.push_straight_write(slot, location as usize, None, stamp);
            return;
        }
        let of = &mut self.locations[location as usize];
        let number = of.writes.len() as u32;
        of.writes.push(slot as u32);
        of.tops.push(number);
        of.ends.push(number);
        of.updaters.push(NONE);
        of.witness.push(number);
        let event = &mut self.events[slot];
        (event.writes, event.write, event.written) = (true, number, value);
        event.stamps = [NONE, stamp];
        let index = event.index;
        self.write_count += 1;
        self.push_write_rows(location as usize);
        self.carry(slot, None);
        if self.model != Model::Wra {
            self.learn(slot, location as usize, number);
        }
        let is_atomic = order != Order::NonAtomic;
        let access = Access { index, slot: slot as u32, value: number, writes: true, is_atomic, wrote: number };
        self.add_to_row(slot, location as usize, access);
        let is_allowed = self.extend(slot, order.is_sequential()) && self.extend_write(slot) && self.propagate();
        debug_assert!(is_allowed, "a write is always allowed");
        self.find_races(slot, location as usize, order);
    }

    /// Adds the write of an event, the last one of its location.
    fn push_straight_write(&mut self, slot: usize, location: usize, source: Option<u32>, stamp: u32) {
        let of = &mut self.locations[location];
        let number = of.writes.len() as u32;
        of.writes.push(slot as u32);
        let event = &mut self.events[slot];
        (event.writes, event.write, event.stamps[1]) = (true, number, stamp);
        if let Some(access) = of.rows[event.thread as usize].last_mut() {
            (access.value, access.writes, access.wrote) = (number, true, number);
        }
        self.write_count += 1;
        self.carry(slot, source);
        self.note_straight(slot);
        self.find_races(slot, location, self.events[slot].order());
    }

    /// Finds what a reader of this write will learn.
    #[inline]
    fn carry(&mut self, slot: usize, source: Option<u32>) {
        let Synchronization::Orders { longer } = self.synchronization else { return };
        let event = &self.events[slot];
        let order = event.order();
        let size = self.clock_count * self.width;
        let (start, width) = (slot * size, self.width);
        if order == Order::NonAtomic {
            self.clocks[start + CARRIED * width..][..2 * width].fill(0);
            return;
        }
        let carried = if order.releases() { HAPPENS } else { PUBLISHED };
        if longer {
            self.clocks[start + CARRIED * width..][..2 * width].fill(0);
            // The release sequences of this thread's earlier writes go on; those of the rmw's source do not.
            let location = event.step.location().map_or(0, |location| location as usize);
            let (thread, index) = (event.thread as usize, event.index);
            let row = self.locations[location].rows.get(thread);
            let before = row.and_then(|row| row.iter().rev().find(|access| access.index < index && access.writes));
            if let Some(before) = before.map(|before| before.slot as usize) {
                self.join((slot, OWN), (before, OWN));
            }
            self.join((slot, OWN), (slot, carried));
            self.join((slot, CARRIED), (slot, OWN));
        } else {
            self.clocks.copy_within(start + carried * width..start + (carried + 1) * width, start + CARRIED * width);
        }
        if let Some(source) = source
            && source != INITIAL
        {
            self.join((slot, CARRIED), (source as usize, CARRIED));
        }
    }
}
