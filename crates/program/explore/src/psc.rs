//! Sequentially consistent accesses and fences: `psc` is acyclic.
//!
//! ```text
//! eco = (rf u mo u fr)+     po!= : po but for two accesses of one location
//! hb|loc : hb between accesses of one location
//! scb = po u po!=;hb;po!= u hb|loc u mo u fr
//! psc = ([SC] u [Fsc];hb?) ; scb ; ([SC] u hb?;[Fsc])   u   [Fsc] ; (hb u hb;eco;hb) ; [Fsc]
//! ```
//!
//! Only the sequentially consistent events are nodes; [`REACH`] is the closure of the edges among them. All that does
//! not depend on `mo` is known when an event arrives. What happens before an event is a beginning of each thread, so
//! each event keeps sets of what a beginning of its thread contains ([`SETS`]), and the sets of a few events give those
//! of the next. Two steps deserve a word:
//! - `x po!= y` holds for the first `y` after the accesses of `x`'s location around `x`, and then for all that follow.
//!   So `x` with `po!=;hb` to `z` are, in each thread, those before the run of accesses of one location that ends with
//!   the thread's last event before `z`;
//! - a fence comes after each access `b` that happens before it, so it gets every edge into `b`, and the edges of `mo`,
//!   `fr` and `eco` into it.
//!
//! What depends on `mo` is kept by write, in the rows of [`sets`]: `OUT` has the nodes from which an edge leads through
//! the write or its readers to any later write; `OUT_FENCES` the fences among them; `IN` has the nodes to which an edge
//! leads from any earlier write; `IN_FENCES` the fences after the write or its readers. A new pair of `less` joins
//! `OUT` with `IN` and `OUT_FENCES` with `IN_FENCES`. A pair of writes in no order joins nothing, so a cycle is a
//! refusal, and a graph without a cycle in which all pairs that matter are ordered is consistent.

use crate::bits::{insert, ones, unite};
use crate::graph::{Graph, HAPPENS, NONE, NOTHING, REACH, ROWS, last_within, less, sets};
use crate::program::Step;

/// The sets of an event: the sequentially consistent events of its thread up to itself; the fences among them; those
/// with an edge of `psc` that does not depend on `mo` into one of its thread's events up to itself, taken as an end of
/// `scb`; the sequentially consistent fences that happen before it; the sequentially consistent accesses of its
/// location in its thread up to itself.
pub(crate) const SETS: usize = 5;
const THREAD: usize = 0;
const FENCES: usize = 1;
const INTO: usize = 2;
const BEFORE: usize = 3;
const ROW: usize = 4;

/// The rows of a write.
const OUT: usize = 0;
const OUT_FENCES: usize = 1;
const IN: usize = 2;
const IN_FENCES: usize = 3;

const fn row(write: usize, which: usize) -> usize {
    write * ROWS + which
}

impl Graph {
    /// Makes room for the sets of all events up to the newest.
    pub(crate) fn push_event_sets(&mut self) {
        self.event_sets.resize(self.events.len() * SETS * self.set_words, 0);
    }

    fn event_set(&self, slot: usize, which: usize) -> &[u64] {
        &self.event_sets[(slot * SETS + which) * self.set_words..][..self.set_words]
    }

    fn add_to_event_set(&mut self, slot: usize, which: usize, set: &[u64]) {
        let words = self.set_words;
        for (word, more) in self.event_sets[(slot * SETS + which) * words..][..words].iter_mut().zip(set) {
            *word |= more;
        }
    }

    fn widen_event_sets(&mut self) {
        let (old, new) = (self.set_words, 2 * self.set_words);
        let mut words = vec![0; self.events.len() * SETS * new];
        for set in 0..self.events.len() * SETS {
            words[set * new..][..old].copy_from_slice(&self.event_sets[set * old..][..old]);
        }
        (self.event_sets, self.set_words) = (words, new);
    }

    /// The edges into a new event, and those through a new reader.
    pub(crate) fn extend_psc(&mut self, slot: usize) -> bool {
        let is_sequential = self.events[slot].order().is_sequential();
        if !is_sequential && self.sequential.is_empty() {
            return true;
        }
        if is_sequential {
            let number = self.sequential.len();
            if number == 64 * self.set_words {
                self.widen_event_sets();
            }
            self.sequential.push(slot as u32);
            if number == 0 {
                // The sets of all earlier events and writes are empty, and were left out.
                self.push_event_sets();
                (0..self.locations.len()).for_each(|location| self.push_set_rows(location));
            }
            self.events[slot].sequential = number as u32;
            self.relations.push_row(REACH);
        }
        let mut set = std::mem::take(&mut self.set_scratch);
        let is_allowed = self.extend_sets(slot, &mut set) && self.extend_reader(slot, &mut set);
        self.set_scratch = set;
        is_allowed
    }

    /// Computes the sets of an event. If it is sequentially consistent, it gets its edges.
    fn extend_sets(&mut self, slot: usize, set: &mut Vec<u64>) -> bool {
        let event = &self.events[slot];
        let (thread, index, run, number) = (event.thread as usize, event.index, event.run, event.sequential);
        let is_fence = matches!(event.step, Step::Fence(_));
        let place = event.step.location().map(|location| location as usize);
        let previous = (index >= 2).then(|| self.threads[thread][index as usize - 2] as usize);
        let at = |graph: &Self, thread: usize, index: u32| graph.threads[thread][index as usize - 1] as usize;

        // The fences that happen before it.
        set.clear();
        for other in 0..self.threads.len() {
            let limit = self.clock(slot, HAPPENS)[other] - u32::from(other == thread);
            if limit > 0 {
                unite(set, self.event_set(at(self, other, limit), FENCES));
            }
        }
        self.add_to_event_set(slot, BEFORE, set);

        // Where `scb` leads to it from, but for `mo` and `fr`: `po`,
        set.clear();
        if let Some(previous) = previous {
            unite(set, self.event_set(previous, THREAD));
            unite(set, self.event_set(previous, BEFORE));
        }
        // `po!=;hb;po!=`,
        if run >= 2 {
            let last = at(self, thread, run - 1);
            for other in 0..self.threads.len() {
                let limit = self.clock(last, HAPPENS)[other];
                if other == thread || limit == 0 {
                    continue;
                }
                let run = self.events[at(self, other, limit)].run;
                if run >= 2 {
                    let from = at(self, other, run - 1);
                    unite(set, self.event_set(from, THREAD));
                    unite(set, self.event_set(from, BEFORE));
                }
            }
        }
        // `hb|loc`.
        if let Some(place) = place {
            for (other, row) in self.locations[place].rows.iter().enumerate() {
                let limit = self.clock(slot, HAPPENS)[other];
                if other == thread || limit == 0 {
                    continue;
                }
                if let Some(access) = last_within(row, limit) {
                    unite(set, self.event_set(access.slot as usize, ROW));
                    unite(set, self.event_set(access.slot as usize, BEFORE));
                }
            }
        }
        self.add_to_event_set(slot, INTO, set);
        if number != NONE && !is_fence && !self.link_all(set, number) {
            return false;
        }

        for which in [THREAD, FENCES, INTO] {
            if let Some(previous) = previous {
                set.clear();
                unite(set, self.event_set(previous, which));
                self.add_to_event_set(slot, which, set);
            }
        }
        if let Some(place) = place {
            let rows = self.locations[place].rows.get(thread);
            let before = rows.and_then(|row| last_within(row, index - 1)).map(|access| access.slot as usize);
            if let Some(before) = before {
                set.clear();
                unite(set, self.event_set(before, ROW));
                self.add_to_event_set(slot, ROW, set);
            }
        }
        if number != NONE {
            set.clear();
            insert(set, number as usize);
            self.add_to_event_set(slot, THREAD, set);
            self.add_to_event_set(slot, if is_fence { FENCES } else { ROW }, set);
        }
        number == NONE || !is_fence || self.extend_fence(slot, number, set)
    }

    /// The edges into a fence.
    fn extend_fence(&mut self, slot: usize, number: u32, set: &mut Vec<u64>) -> bool {
        set.clear();
        unite(set, self.event_set(slot, BEFORE));
        for other in 0..self.threads.len() {
            let limit = self.clock(slot, HAPPENS)[other];
            if limit > 0 {
                unite(set, self.event_set(self.threads[other][limit as usize - 1] as usize, INTO));
            }
        }
        if !self.link_all(set, number) {
            return false;
        }
        for location in 0..self.locations.len() {
            for other in 0..self.locations[location].rows.len() {
                let limit = self.clock(slot, HAPPENS)[other];
                let row = &self.locations[location].rows[other];
                let Some(&last) = last_within(row, limit) else { continue };
                // The last write: edges of `mo` and `fr` into it.
                if let Some(write) = Some(last.wrote).filter(|&write| write != NONE)
                    && !self.extend_in(location, write, [OUT, IN], number, set)
                {
                    return false;
                }
                // The last access: edges of `eco` into its value, and if it only reads, from the write that it reads.
                if !self.extend_in(location, last.value, [OUT_FENCES, IN_FENCES], number, set) {
                    return false;
                }
                if !last.writes && last.value != 0 {
                    set.clear();
                    let write = self.locations[location].writes[last.value as usize] as usize;
                    unite(set, self.event_set(write, BEFORE));
                    if !self.link_all(set, number) {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// A node comes after a write: it gets edges from what goes out of all earlier writes.
    fn extend_in(
        &mut self,
        location: usize,
        write: u32,
        [out, into]: [usize; 2],
        number: u32,
        set: &mut Vec<u64>,
    ) -> bool {
        if !self.relations.insert(sets(location), row(write as usize, into), number as usize) {
            return true;
        }
        set.clear();
        for before in 0..self.locations[location].writes.len() {
            if self.relations.has(less(location), before, write as usize) {
                unite(set, self.relations.row(sets(location), row(before, out)));
            }
        }
        self.link_all(set, number)
    }

    /// An access goes out of its value: edges to what comes after all later writes.
    fn extend_reader(&mut self, slot: usize, set: &mut Vec<u64>) -> bool {
        let event = &self.events[slot];
        if event.writes || event.source == NOTHING {
            return true;
        }
        let Some(location) = event.step.location() else { return true };
        let value = self.write_number(event.source);
        self.extend_out(slot, location as usize, value, set)
    }

    fn extend_out(&mut self, slot: usize, location: usize, value: u32, set: &mut Vec<u64>) -> bool {
        let number = self.events[slot].sequential;
        for (out, into) in [(OUT_FENCES, IN_FENCES), (OUT, IN)] {
            set.clear();
            unite(set, self.event_set(slot, BEFORE));
            if out == OUT && number != NONE {
                insert(set, number as usize);
            }
            if !self.relations.unite(sets(location), row(value as usize, out), set) {
                continue;
            }
            for after in 0..self.locations[location].writes.len() {
                if self.relations.has(less(location), value as usize, after)
                    && !self.link_sets(set, location, row(after, into))
                {
                    return false;
                }
            }
        }
        true
    }

    /// The edges through a new write.
    pub(crate) fn extend_psc_write(&mut self, slot: usize) -> bool {
        if self.sequential.is_empty() {
            return true;
        }
        let event = &self.events[slot];
        let (write, number) = (event.write, event.sequential);
        let Some(location) = event.step.location() else { return true };
        let mut set = std::mem::take(&mut self.set_scratch);
        let is_allowed = self.extend_out(slot, location as usize, write, &mut set)
            && (number == NONE || self.extend_in(location as usize, write, [OUT, IN], number, &mut set));
        self.set_scratch = set;
        is_allowed
    }

    /// The edges that follow from the new pairs of `less`.
    pub(crate) fn propagate_psc(&mut self) -> bool {
        if self.sequential.is_empty() {
            return true;
        }
        let mut set = std::mem::take(&mut self.set_scratch);
        let mut is_allowed = true;
        for at in 0..self.pairs.len() {
            let (location, one, two) = self.pairs[at];
            for (out, into) in [(OUT_FENCES, IN_FENCES), (OUT, IN)] {
                set.clear();
                unite(&mut set, self.relations.row(sets(location as usize), row(one as usize, out)));
                is_allowed &= self.link_sets(&set, location as usize, row(two as usize, into));
            }
            if !is_allowed {
                break;
            }
        }
        self.set_scratch = set;
        is_allowed
    }

    /// Whether an order of these two writes can make an edge of `psc`.
    pub(crate) fn matters_to_psc(&self, location: usize, one: usize, two: usize) -> bool {
        if self.sequential.is_empty() {
            return false;
        }
        let is_empty = |write: usize, which: usize| {
            self.relations.row(sets(location), row(write, which)).iter().all(|&word| word == 0)
        };
        let of = &self.locations[location];
        let chain = |top: usize| std::iter::successors(Some(top), |&write| next(&of.updaters, write));
        let goes_out = |top: usize| chain(top).any(|write| !is_empty(write, OUT));
        let comes_in = |top: usize| chain(top).any(|write| !is_empty(write, IN) || !is_empty(write, IN_FENCES));
        goes_out(one) && comes_in(two) || goes_out(two) && comes_in(one)
    }

    fn link_sets(&mut self, from: &[u64], location: usize, to: usize) -> bool {
        for at in 0..self.relations.row(sets(location), to).len() {
            for bit in crate::bits::ones_of(self.relations.row(sets(location), to)[at]) {
                if !self.link_all(from, (64 * at + bit) as u32) {
                    return false;
                }
            }
        }
        true
    }

    /// Adds edges from all nodes of a set. False if this closes a cycle. (An edge from a node to itself comes from an
    /// rmw, which reads what its write overwrites, and is none.)
    fn link_all(&mut self, from: &[u64], to: u32) -> bool {
        let to = to as usize;
        let reached = self.relations.row(REACH, to);
        if from.iter().zip(reached).enumerate().any(|(at, (from, word))| from & word & !of_word(to, at) != 0) {
            return false;
        }
        if self.relations.is_small(REACH) {
            let from = from.first().map_or(0, |word| word & !of_word(to, 0));
            self.relations.close_words(REACH, from, to, |_, _| ());
            return true;
        }
        // Most edges follow from others.
        if ones(from).all(|from| from == to || self.relations.has(REACH, from, to)) {
            return true;
        }
        let mut from = from.to_vec();
        if let Some(word) = from.get_mut(to / 64) {
            *word &= !of_word(to, to / 64);
        }
        self.relations.close_all(REACH, &from, to);
        true
    }
}

/// The bit of a number, if it is in this word of a row.
fn of_word(number: usize, at: usize) -> u64 {
    if number / 64 == at { 1 << (number % 64) } else { 0 }
}

fn next(updaters: &[u32], write: usize) -> Option<usize> {
    Some(updaters[write]).filter(|&next| next != NONE).map(|next| next as usize)
}
