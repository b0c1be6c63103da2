//! The writes of each location, in the order in which they are done.
//!
//! Events are done in an order that extends causality, and that is close to one in which they may have happened. So of the
//! writes of a location, those that a write does not know of, or that do not know of it, stand near to it in the log. A
//! write is *solid* if all that stand before it in the log are causally before it: whoever knows of it need look no further
//! back.
//!
//! Where the order is far from one in which events happened, a look may have to go far. It then ends at a limit, and the caller
//! asks for the last write of each thread instead, of which there are never more than threads.

use history::Execution;
use history::execution::LocationId;

/// A write in the log of its location.
#[derive(Copy, Clone, Debug)]
pub struct Logged {
    /// The write.
    pub event: u32,
    /// Its thread, and [`SOLID`] if it is.
    thread_and_solid: u32,
}

const SOLID: u32 = 1 << 31;

impl Logged {
    /// Its thread.
    #[inline]
    pub fn thread(self) -> usize {
        (self.thread_and_solid & !SOLID) as usize
    }

    /// Whether it knows of all before it.
    #[inline]
    pub fn is_solid(self) -> bool {
        self.thread_and_solid & SOLID != 0
    }

    /// Whether it is in the past of a clock.
    #[inline]
    pub fn is_in(self, clock: &[u32]) -> bool {
        self.event < clock[self.thread()]
    }
}

/// The logs of all locations.
pub struct Log {
    logs: Vec<Vec<Logged>>,
    /// The place of each write in its log, by its rank in the order of doing.
    places: Vec<u32>,
    /// How many writes a look may go over.
    limit: usize,
}

impl Log {
    /// Nothing is done yet.
    pub fn new(execution: &Execution) -> Self {
        // Tests want the other case, too.
        let limit = if cfg!(test) { 2 } else { 16 + 4 * execution.thread_count() };
        Self { logs: vec![Vec::new(); execution.location_count()], places: Vec::new(), limit }
    }

    /// Does a write; `clock` is what it knows of. It is called solid only if a look shows it.
    #[inline]
    pub fn push(&mut self, event: u32, thread: usize, location: LocationId, clock: &[u32]) {
        let log = &mut self.logs[location.index()];
        let mut solid = if log.len() <= self.limit { SOLID } else { 0 };
        for logged in log.iter().rev().take(self.limit) {
            if !logged.is_in(clock) {
                solid = 0;
                break;
            }
            if logged.is_solid() {
                solid = SOLID;
                break;
            }
        }
        self.places.push(log.len() as u32);
        log.push(Logged { event, thread_and_solid: thread as u32 | solid });
    }

    /// Does a write of which nobody will ask who stands before it.
    #[inline]
    pub fn push_plain(&mut self, event: u32, thread: usize, location: LocationId) {
        let log = &mut self.logs[location.index()];
        self.places.push(log.len() as u32);
        log.push(Logged { event, thread_and_solid: thread as u32 });
    }

    /// The writes of a location that were done after its write of that rank (`None`: the initial write). `None` if they are
    /// too many.
    #[inline]
    pub fn after(&self, location: LocationId, rank: Option<u32>) -> Option<&[Logged]> {
        let log = &self.logs[location.index()];
        let after = rank.map_or(0, |rank| self.places[rank as usize] as usize + 1);
        (log.len() - after <= self.limit).then(|| &log[after..])
    }

    /// The write of that rank; the writes of its location that were done before it, the last first, up to the limit; and whether that
    /// is all of them.
    #[inline]
    pub fn before(&self, location: LocationId, rank: u32) -> (&Logged, impl Iterator<Item = &Logged>, bool) {
        let log = &self.logs[location.index()];
        let place = self.places[rank as usize] as usize;
        (&log[place], log[..place].iter().rev().take(self.limit), place <= self.limit)
    }
}
