//! The writes of each location, in the order in which they are done.
//!
//! Events are done in an order that extends causality, and that is close to one in which they may have happened. So of the
//! writes of a location, those that a write does not know of, or that do not know of it, stand near to it in the log: the
//! few between its *floor* and the end. All writes below the floor are causally before it.
//!
//! Where the order is far from that, a window may be long. A caller then asks for the last write of each thread instead, of
//! which there are never more than threads ([`crate::writes::Cursors`]); [`Log::window`] says when.

use history::Execution;
use history::execution::LocationId;

/// A write in the log of its location.
#[derive(Copy, Clone, Debug)]
pub struct Logged {
    /// The write.
    pub event: u32,
    /// Its thread.
    pub thread: u32,
    /// All writes of the log at smaller places are causally before this one.
    floor: u32,
}

impl Logged {
    /// Whether it is in the past of a clock.
    #[inline]
    pub fn is_in(&self, clock: &[u32]) -> bool {
        self.event < clock[self.thread as usize]
    }
}

/// The logs of all locations.
pub struct Log {
    logs: Vec<Vec<Logged>>,
    /// The place of each write in its log, by its rank in the order of doing.
    places: Vec<u32>,
    /// A window that is longer than this is not looked at.
    limit: usize,
}

impl Log {
    /// Nothing is done yet.
    pub fn new(execution: &Execution) -> Self {
        let limit = 16 + 4 * execution.thread_count();
        Self { logs: vec![Vec::new(); execution.location_count()], places: Vec::new(), limit }
    }

    /// Does a write. Its floor is nothing.
    #[inline]
    pub fn push(&mut self, event: u32, thread: usize, location: LocationId) {
        let log = &mut self.logs[location.index()];
        self.places.push(log.len() as u32);
        log.push(Logged { event, thread: thread as u32, floor: 0 });
    }

    /// Does a write and finds its floor; `clock` is what it knows of.
    #[inline]
    pub fn push_with_floor(&mut self, event: u32, thread: usize, location: LocationId, clock: &[u32]) {
        let log = &mut self.logs[location.index()];
        // What is below the floor of a write that it knows of, it knows of, too.
        let recent = &log[log.len().saturating_sub(self.limit)..];
        let known = recent.iter().rev().find(|logged| logged.is_in(clock));
        let floor = known.map_or(0, |known| known.floor) as usize;
        let more = log[floor..].iter().take(self.limit).take_while(|logged| logged.is_in(clock)).count();
        self.places.push(log.len() as u32);
        log.push(Logged { event, thread: thread as u32, floor: (floor + more) as u32 });
    }

    /// The writes of a location that were done after its source of that rank (`None`: the initial write), and those since its floor that
    /// were done before: `(before, after)`. `None` if they are too many.
    #[inline]
    pub fn window(&self, location: LocationId, source: Option<u32>) -> Option<(&[Logged], &[Logged])> {
        let log = &self.logs[location.index()];
        let Some(rank) = source else { return (log.len() <= self.limit).then_some((&[], log)) };
        let place = self.places[rank as usize] as usize;
        let floor = log[place].floor as usize;
        (log.len() - floor <= self.limit).then(|| (&log[floor..place], &log[place + 1..]))
    }

    /// The writes of a location that were done after its source of that rank (`None`: the initial write); `None` if they are
    /// too many.
    #[inline]
    pub fn after(&self, location: LocationId, source: Option<u32>) -> Option<&[Logged]> {
        let log = &self.logs[location.index()];
        let after = source.map_or(0, |rank| self.places[rank as usize] as usize + 1);
        (log.len() - after <= self.limit).then(|| &log[after..])
    }
}
