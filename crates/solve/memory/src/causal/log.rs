//! The writes of each location, in the order in which they are done.
//!
//! Events are done in an order that extends causality, and that is close to one in which they may have happened. So
//! mostly few writes of a location are done between a write and its readers.
//!
//! If the order is far from one in which events happened, there may be many. Then the caller asks for the last write of
//! each thread instead: there are no more of these than threads.

use history::Execution;
use history::execution::LocationId;

use crate::Limits;

/// A write in the log of its location.
#[derive(Copy, Clone, Debug)]
pub struct Logged {
    /// The write.
    pub event: u32,
    /// Its thread.
    thread: u32,
}

impl Logged {
    /// Whether the write is in the past of a clock.
    #[inline]
    pub fn is_in(self, clock: &[u32]) -> bool {
        self.event < clock[self.thread as usize]
    }
}

/// The logs of all locations.
pub struct Log {
    logs: Vec<Vec<Logged>>,
    /// The place of each write in its log, by its rank in the order in which writes are done.
    places: Vec<u32>,
    /// How many writes [`Self::after`] may return.
    limit: usize,
}

impl Log {
    /// No write is done yet.
    pub fn new(execution: &Execution, limits: &Limits) -> Self {
        let limit = limits.knobs.causal.look_back(execution.thread_count());
        // To reserve memory without using it costs nothing, but to move a vector does.
        let places = Vec::with_capacity(execution.len());
        Self { logs: vec![Vec::new(); execution.location_count()], places, limit }
    }

    /// Does a write: appends it to the log of its location.
    #[inline]
    pub fn push(&mut self, event: u32, thread: usize, location: LocationId) {
        let log = &mut self.logs[location.index()];
        self.places.push(log.len() as u32);
        log.push(Logged { event, thread: thread as u32 });
    }

    /// The writes of a location that were done after its write of that rank (`None`: the initial write). The answer is
    /// `None` if there are too many.
    #[inline]
    pub fn after(&self, location: LocationId, rank: Option<u32>) -> Option<&[Logged]> {
        let log = &self.logs[location.index()];
        let after = rank.map_or(0, |rank| self.places[rank as usize] as usize + 1);
        (log.len() - after <= self.limit).then(|| &log[after..])
    }
}
