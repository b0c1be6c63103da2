//! Frontiers: sets of operations. With each operation, a frontier contains all operations that returned before its
//! call.
//!
//! Let `event` be the first return of an operation that is not in the set. Then the set contains all operations that
//! returned earlier, and none that was called later. So a frontier is given by this event, and by the open operations
//! at this event that are in the set. Each open operation has a slot, and a set of slots is a few machine words. With
//! few processes there are few frontiers.

use std::hash::Hash;

use order::Rows;

use crate::view::{Call, Endpoint, ValueId};

/// The number of no operation.
pub const NONE: u32 = u32::MAX;

/// A set of slots.
pub trait Slots: Clone + Eq + Hash {
    /// The empty set, with room for `count` slots.
    fn none(count: usize) -> Self;
    /// Whether a slot is in the set.
    fn contains(&self, slot: u32) -> bool;
    /// Puts a slot in.
    fn insert(&mut self, slot: u32);
    /// Takes a slot out.
    fn remove(&mut self, slot: u32);
}

macro_rules! slots {
    ($($word:ty)*) => {$(
        impl Slots for $word {
            fn none(_: usize) -> Self {
                0
            }
            fn contains(&self, slot: u32) -> bool {
                self >> slot & 1 == 1
            }
            fn insert(&mut self, slot: u32) {
                *self |= 1 << slot;
            }
            fn remove(&mut self, slot: u32) {
                *self &= !(1 << slot);
            }
        }
    )*};
}
slots!(u64 u128);

impl Slots for Box<[u64]> {
    fn none(count: usize) -> Self {
        vec![0; count.div_ceil(64)].into_boxed_slice()
    }
    fn contains(&self, slot: u32) -> bool {
        self[slot as usize / 64].contains(slot % 64)
    }
    fn insert(&mut self, slot: u32) {
        self[slot as usize / 64].insert(slot % 64);
    }
    fn remove(&mut self, slot: u32) {
        self[slot as usize / 64].remove(slot % 64);
    }
}

/// The events of some operations in the order of time, and which operations are open before the event `position`.
#[derive(Clone, Debug)]
pub struct Timeline {
    events: Vec<Endpoint>,
    /// The slot of each operation. Operations that are open at the same time have different slots.
    slots: Vec<u32>,
    /// The operation in each slot before the event `position`.
    open: Vec<u32>,
    position: u32,
}

impl Timeline {
    /// The timeline of these events, of `count` operations.
    pub fn new(events: Vec<Endpoint>, count: usize) -> Self {
        let mut slots = vec![NONE; count];
        let mut free: Vec<u32> = Vec::new();
        let mut width = 0;
        for event in &events {
            match *event {
                Endpoint::Nothing => {}
                Endpoint::Call(at) => {
                    slots[at as usize] = free.pop().unwrap_or_else(|| {
                        width += 1;
                        width - 1
                    });
                }
                Endpoint::Return(at) => free.push(slots[at as usize]),
            }
        }
        Self { events, slots, open: vec![NONE; width as usize], position: 0 }
    }

    /// How many slots there are.
    pub fn width(&self) -> usize {
        self.open.len()
    }

    /// The slot of an operation.
    pub fn slot(&self, at: u32) -> u32 {
        self.slots[at as usize]
    }

    /// The event at a moment; none at the end.
    pub fn event(&self, event: u32) -> Option<Endpoint> {
        self.events.get(event as usize).copied()
    }

    /// Moves `position` to an event.
    pub fn move_to(&mut self, event: u32) {
        while self.position < event {
            match self.events[self.position as usize] {
                Endpoint::Nothing => {}
                Endpoint::Call(at) => self.open[self.slots[at as usize] as usize] = at,
                Endpoint::Return(at) => self.open[self.slots[at as usize] as usize] = NONE,
            }
            self.position += 1;
        }
        while self.position > event {
            self.position -= 1;
            match self.events[self.position as usize] {
                Endpoint::Nothing => {}
                Endpoint::Call(at) => self.open[self.slots[at as usize] as usize] = NONE,
                Endpoint::Return(at) => self.open[self.slots[at as usize] as usize] = at,
            }
        }
    }

    /// The operation in each slot before the event `position`; [`NONE`] if the slot is free.
    pub fn open(&self) -> &[u32] {
        &self.open
    }

    /// The operations of this timeline that can be next after a frontier. Moves `position` to the event of the
    /// frontier.
    pub fn free<M: Slots>(&mut self, frontier: &Frontier<M>) -> impl Iterator<Item = u32> {
        self.move_to(frontier.event);
        let is_free = |&(slot, &at): &(u32, &u32)| at != NONE && !frontier.taken.contains(slot);
        (0..).zip(&self.open).filter(is_free).map(|(_, &at)| at)
    }
}

/// A frontier of the operations of a [`Timeline`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Frontier<M> {
    /// The first return of an operation that is not in the frontier; the number of events if there is none.
    pub event: u32,
    /// The slots of the open operations that are in the frontier.
    pub taken: M,
}

impl<M: Slots> Frontier<M> {
    /// The empty frontier, with room for `width` slots.
    pub fn new(timeline: &Timeline, width: usize) -> Self {
        let mut frontier = Self { event: 0, taken: M::none(width) };
        frontier.go_on(timeline);
        frontier
    }

    fn go_on(&mut self, timeline: &Timeline) {
        while let Some(event) = timeline.event(self.event) {
            if let Endpoint::Return(at) = event {
                let slot = timeline.slot(at);
                if !self.taken.contains(slot) {
                    return;
                }
                self.taken.remove(slot);
            }
            self.event += 1;
        }
    }

    /// Adds an operation that is open.
    pub fn take(&mut self, timeline: &Timeline, at: u32) {
        self.taken.insert(timeline.slot(at));
        self.go_on(timeline);
    }

    /// Whether an operation is in the frontier.
    pub fn contains(&self, timeline: &Timeline, at: u32, call: &Call) -> bool {
        call.ret < self.event || (call.call < self.event && self.taken.contains(timeline.slot(at)))
    }
}

/// The operations of each value, sorted by their returns, the pending ones last.
#[derive(Clone, Debug)]
pub struct ByValue(Rows);

impl ByValue {
    /// Sorts the operations `of` by their values.
    pub fn new(values: usize, calls: &[Call], mut of: Vec<(ValueId, u32)>) -> Self {
        of.sort_unstable_by_key(|&(_, at)| (calls[at as usize].ret, at));
        Self(Rows::new(values, of.iter().map(|&(value, at)| (value.index(), at))))
    }

    /// The operations of a value.
    pub fn of(&self, value: ValueId) -> &[u32] {
        self.0.of(value.index())
    }

    /// The operation of a value that returns first, among those that are not in a frontier.
    pub fn first_left<M: Slots>(
        &self,
        calls: &[Call],
        timeline: &Timeline,
        value: ValueId,
        done: &Frontier<M>,
    ) -> Option<u32> {
        let places = self.of(value);
        let first = match places {
            [] => return None,
            [_] => 0,
            _ => places.partition_point(|&at| calls[at as usize].ret < done.event),
        };
        places[first..].iter().copied().find(|&at| !done.contains(timeline, at, &calls[at as usize]))
    }

    /// How many operations of a value are not in a frontier: all but those that returned, and those that are open and
    /// in the frontier. `is_of` says whether an open operation is one of this value.
    pub fn count_left<M: Slots>(
        &self,
        calls: &[Call],
        timeline: &mut Timeline,
        value: ValueId,
        done: &Frontier<M>,
        is_of: impl Fn(&Call) -> bool,
    ) -> usize {
        let places = self.of(value);
        let first = places.partition_point(|&at| calls[at as usize].ret < done.event);
        timeline.move_to(done.event);
        let taken = (0..).zip(timeline.open()).filter(|&(slot, _)| done.taken.contains(slot));
        places.len() - first - taken.filter(|&(_, &at)| is_of(&calls[at as usize])).count()
    }
}
